//! DDL: reads a schema in SQL as a catalogue, so that mappings are tested without a server.
//!
//! It knows what dumps of the data sets and these tests have: tables, partitions, domains, enums, keys, unique indexes and
//! replica identities. Functions, views, data and everything else are skipped.

use evergraph_replica::pgoutput::relation::{Oid, RelationIdentity};
use evergraph_replica::source::catalogue::{
    Catalogue, Column, ForeignKey, Key, Table, TableKind, TableRights, TypeEntry, TypeKind,
};

/// The first number of tables and types that the schema makes.
const OID_FIRST: Oid = 20_000;

/// The catalogue of a database that ran `sql`.
pub fn catalogue(sql: &str) -> Catalogue {
    let mut reader = Reader { catalogue: Catalogue::default(), next_oid: OID_FIRST, names: Vec::new() };
    for statement in statements(sql) {
        reader.statement(&statement);
    }
    let mut catalogue = reader.catalogue;
    catalogue.tables.iter_mut().for_each(set_identity);
    catalogue.tables.sort_by(|one, other| (&one.schema, &one.name).cmp(&(&other.schema, &other.name)));
    catalogue
}

/// The columns that UPDATE and DELETE log.
fn set_identity(table: &mut Table) {
    let usable = |key: &&Key| !key.is_deferrable;
    table.identity_columns = match table.identity {
        RelationIdentity::Full => table.columns.iter().map(|column| column.name.clone()).collect(),
        RelationIdentity::PrimaryKey => {
            table.primary_key.as_ref().filter(usable).map_or(Vec::new(), |key| key.columns.clone())
        }
        RelationIdentity::Nothing => Vec::new(),
        RelationIdentity::Index => table.identity_columns.clone(),
    };
}

/// Words, names, texts in quotes and signs of each statement.
fn statements(sql: &str) -> Vec<Vec<String>> {
    let mut statements = vec![Vec::new()];
    let mut rest = sql;
    while let Some(letter) = rest.chars().next() {
        let (token, length) = if letter.is_whitespace() {
            (None, letter.len_utf8())
        } else if rest.starts_with("--") || rest.starts_with('\\') {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (None, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if rest.starts_with("$$") || rest.starts_with("$_$") {
            let mark = if rest.starts_with("$$") { "$$" } else { "$_$" };
            let end = rest[mark.len()..].find(mark).map_or(rest.len(), |end| end + 2 * mark.len());
            (Some("$$".to_owned()), end)
        } else if letter == '\'' {
            let (text, length) = quoted(rest, '\'');
            (Some(format!("'{text}")), length)
        } else if letter == '"' {
            let (name, length) = quoted(rest, '"');
            (Some(name), length)
        } else if letter == ';' {
            statements.push(Vec::new());
            (None, 1)
        } else if letter.is_alphanumeric() || letter == '_' {
            let length =
                rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
            (Some(rest[..length].to_lowercase()), length)
        } else {
            (Some(letter.to_string()), letter.len_utf8())
        };
        rest = &rest[length..];
        let Some(token) = token else { continue };
        statements.last_mut().unwrap().push(token);
        // The rows behind COPY ... FROM stdin;
        let tokens = statements.last().unwrap();
        if tokens.first().is_some_and(|first| first == "copy")
            && tokens.last().is_some_and(|last| last == "stdin")
        {
            rest = rest.find("\n\\.").map_or("", |end| &rest[end + 3..]);
            statements.push(Vec::new());
        }
    }
    statements
}

/// What stands between quotes at the beginning, and the bytes of all.
fn quoted(rest: &str, quote: char) -> (String, usize) {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            _ if letter != quote => text.push(letter),
            _ if letters.next_if(|(_, next)| *next == quote).is_some() => text.push(quote),
            _ => return (text, at + 1),
        }
    }
    panic!("a quote is never closed: {}", &rest[..rest.len().min(40)]);
}

struct Reader {
    catalogue: Catalogue,
    next_oid: Oid,
    /// Types by name.
    names: Vec<(String, Oid)>,
}

impl Reader {
    fn statement(&mut self, tokens: &[String]) {
        let words: Vec<&str> = tokens.iter().map(String::as_str).collect();
        match &words[..] {
            ["create", "table", rest @ ..] => self.create_table(rest),
            ["create", "domain", rest @ ..] => {
                let (name, rest) = name(rest);
                let base = self.type_of(&rest[1..]).0;
                self.add_type(&name.1, TypeKind::Domain { base });
            }
            ["create", "type", rest @ ..] => {
                let (name, rest) = name(rest);
                if let ["as", "enum", "(", labels @ ..] = rest {
                    let labels =
                        labels.iter().filter_map(|label| label.strip_prefix('\'')).map(Box::from).collect();
                    self.add_type(&name.1, TypeKind::Enum { labels });
                }
            }
            ["create", "unique", "index", index, "on", rest @ ..] => {
                let (table, rest) = name(rest);
                let rest = rest.strip_prefix(&["using", "btree"]).unwrap_or(rest);
                // An index of a view is no matter of ours.
                if let (columns, []) = column_list(rest)
                    && let Some(table) = self.find(&table)
                {
                    table.unique_keys.push(Key { name: (*index).into(), columns, is_deferrable: false });
                }
            }
            ["alter", "table", rest @ ..] => {
                let (table, rest) = name(rest.strip_prefix(&["only"]).unwrap_or(rest));
                self.alter_table(&table, rest);
            }
            _ => {}
        }
    }

    fn add_type(&mut self, name: &str, kind: TypeKind) -> Oid {
        let oid = self.next_oid;
        self.next_oid += 1;
        self.names.push((name.to_owned(), oid));
        self.catalogue.types.insert(oid, TypeEntry { name: name.into(), kind });
        oid
    }

    fn find(&mut self, name: &(String, String)) -> Option<&mut Table> {
        self.catalogue.tables.iter_mut().find(|table| *table.schema == *name.0 && *table.name == *name.1)
    }

    fn create_table(&mut self, rest: &[&str]) {
        let (table, rest) = name(rest.strip_prefix(&["if", "not", "exists"]).unwrap_or(rest));
        let id = self.next_oid;
        self.next_oid += 1;
        let mut created = Table {
            id,
            schema: table.0.as_str().into(),
            name: table.1.as_str().into(),
            kind: TableKind::Plain,
            partition_of: None,
            child_tables: Vec::new(),
            columns: Vec::new(),
            primary_key: None,
            unique_keys: Vec::new(),
            foreign_keys: Vec::new(),
            identity: RelationIdentity::PrimaryKey,
            identity_columns: Vec::new(),
            rows_estimate: None,
            rights: TableRights::default(),
        };
        if let ["partition", "of", rest @ ..] = rest {
            let (root, _) = name(rest);
            let root = self.find(&root).expect("the root comes first").clone();
            created.partition_of = Some(root.id);
            created.columns = root.columns;
            created.primary_key = root.primary_key;
            self.catalogue.tables.push(created);
            return;
        }
        let (parts, rest) = brackets(rest);
        if let ["partition", "by", ..] = rest {
            created.kind = TableKind::Partitioned;
        }
        self.catalogue.tables.push(created);
        for part in parts {
            match part {
                ["primary" | "unique" | "foreign" | "constraint", ..] => self.add_constraint(&table, part),
                ["check", ..] => {}
                [column, rest @ ..] => self.add_column(&table, column, rest),
                [] => {}
            }
        }
    }

    fn add_column(&mut self, table: &(String, String), column: &str, rest: &[&str]) {
        let (type_id, type_name, rest) = self.type_of(rest);
        let has = |words: &[&str]| rest.windows(words.len()).any(|window| window == words);
        let is_key = has(&["primary", "key"]);
        let added = Column {
            name: column.into(),
            type_id,
            type_name: type_name.into(),
            is_nullable: !is_key && !has(&["not", "null"]),
            is_generated: has(&["generated", "always", "as", "("]),
            is_nondeterministic: has(&["collate", "ignoring_case"]),
        };
        self.find(table).unwrap().columns.push(added);
        if is_key {
            self.add_constraint(table, &["primary", "key", "(", column, ")"]);
        }
        if has(&["unique"]) {
            self.add_constraint(table, &["unique", "(", column, ")"]);
        }
        if let Some(at) = rest.iter().position(|word| *word == "references") {
            let mut constraint = vec!["foreign", "key", "(", column, ")"];
            constraint.extend(&rest[at..]);
            self.add_constraint(table, &constraint);
        }
    }

    fn alter_table(&mut self, table: &(String, String), rest: &[&str]) {
        match rest {
            ["add", rest @ ..] => self.add_constraint(table, rest),
            ["attach", "partition", rest @ ..] => {
                let root = self.find(table).expect("the root is there").clone();
                let part = self.find(&name(rest).0).expect("the partition is there");
                part.partition_of = Some(root.id);
                part.primary_key = part.primary_key.take().or(root.primary_key);
            }
            ["replica", "identity", identity @ ..] => {
                let table = self.find(table).expect("the table is there");
                table.identity = match identity {
                    ["full"] => RelationIdentity::Full,
                    ["nothing"] => RelationIdentity::Nothing,
                    ["using", "index", index] => {
                        let keys = table.primary_key.iter().chain(&table.unique_keys);
                        let key =
                            keys.into_iter().find(|key| *key.name == **index).expect("the index is there");
                        table.identity_columns = key.columns.clone();
                        RelationIdentity::Index
                    }
                    _ => RelationIdentity::PrimaryKey,
                };
            }
            _ => {}
        }
    }

    fn add_constraint(&mut self, table: &(String, String), words: &[&str]) {
        let (given, words) = match words {
            ["constraint", name, rest @ ..] => (Some(*name), rest),
            words => (None, words),
        };
        let has = |word: &str| words.contains(&word);
        let is_deferrable =
            has("deferrable") && !words.windows(2).any(|window| window == ["not", "deferrable"]);
        let default = |end: &str| given.map_or_else(|| format!("{}_{end}", table.1), ToOwned::to_owned);
        match words {
            ["primary", "key", rest @ ..] => {
                let key = Key { name: default("pkey").into(), columns: column_list(rest).0, is_deferrable };
                let table = self.find(table).unwrap();
                for column in table.columns.iter_mut().filter(|column| key.columns.contains(&column.name)) {
                    column.is_nullable = false;
                }
                table.primary_key = Some(key);
            }
            ["unique", rest @ ..] => {
                let columns = column_list(rest).0;
                let key = Key {
                    name: default(&format!("{}_key", columns.join("_"))).into(),
                    columns,
                    is_deferrable,
                };
                self.find(table).unwrap().unique_keys.push(key);
            }
            ["foreign", "key", rest @ ..] => {
                let (columns, rest) = column_list(rest);
                let (target, rest) = name(&rest[1..]);
                let target = self.find(&target).unwrap_or_else(|| panic!("{target:?} comes first")).clone();
                let target_columns = match rest.first() {
                    Some(&"(") => column_list(rest).0,
                    _ => target.primary_key.as_ref().expect("a key to refer to").columns.clone(),
                };
                let key = ForeignKey {
                    name: default(&format!("{}_fkey", columns.join("_"))).into(),
                    columns,
                    target: target.id,
                    target_columns,
                    is_validated: !words.windows(2).any(|window| window == ["not", "valid"]),
                    is_deferrable,
                };
                self.find(table).unwrap().foreign_keys.push(key);
            }
            _ => {}
        }
    }

    /// The type at the beginning: its number, its name as PostgreSQL prints it, and what follows.
    fn type_of<'a>(&mut self, rest: &'a [&'a str]) -> (Oid, String, &'a [&'a str]) {
        const NAMES: [(&[&str], &str, Oid); 30] = [
            (&["character", "varying"], "character varying", 1043),
            (&["varchar"], "character varying", 1043),
            (&["character"], "character", 1042),
            (&["char"], "character", 1042),
            (&["double", "precision"], "double precision", 701),
            (&["timestamp", "with", "time", "zone"], "timestamp with time zone", 1184),
            (&["timestamptz"], "timestamp with time zone", 1184),
            (&["timestamp", "without", "time", "zone"], "timestamp without time zone", 1114),
            (&["timestamp"], "timestamp without time zone", 1114),
            (&["boolean"], "boolean", 16),
            (&["bytea"], "bytea", 17),
            (&["bigint"], "bigint", 20),
            (&["bigserial"], "bigint", 20),
            (&["smallint"], "smallint", 21),
            (&["integer"], "integer", 23),
            (&["int"], "integer", 23),
            (&["serial"], "integer", 23),
            (&["text"], "text", 25),
            (&["json"], "json", 114),
            (&["jsonb"], "jsonb", 3802),
            (&["real"], "real", 700),
            (&["date"], "date", 1082),
            (&["time"], "time without time zone", 1083),
            (&["interval"], "interval", 1186),
            (&["numeric"], "numeric", 1700),
            (&["uuid"], "uuid", 2950),
            (&["inet"], "inet", 869),
            (&["tsvector"], "tsvector", 3614),
            (&["point"], "point", 600),
            (&["xml"], "xml", 142),
        ];
        let known = NAMES.iter().find(|(words, ..)| rest.starts_with(words));
        let (mut oid, mut written, mut rest) = match known {
            Some((words, name, oid)) => (*oid, (*name).to_owned(), &rest[words.len()..]),
            None => {
                let (type_name, rest) = name(rest);
                let known = self.names.iter().find(|(known, _)| *known == type_name.1);
                let oid = known.unwrap_or_else(|| panic!("the type {type_name:?} is not known here")).1;
                (oid, type_name.1, rest)
            }
        };
        if matches!(oid, 600 | 869 | 3614) && self.catalogue.types.get(oid).is_none() {
            self.catalogue
                .types
                .insert(oid, TypeEntry { name: written.as_str().into(), kind: TypeKind::Base });
        }
        if let ["(", ..] = rest {
            let (parts, after) = brackets(rest);
            let numbers: Vec<String> = parts.iter().map(|part| part.concat()).collect();
            written = format!("{written}({})", numbers.join(","));
            rest = after;
        }
        while let ["[", "]", after @ ..] = rest {
            oid = self.add_type(&format!("_{written}"), TypeKind::Array { element: oid, delimiter: b',' });
            written += "[]";
            rest = after;
        }
        (oid, written, rest)
    }
}

/// Schema and name at the beginning, and what follows.
fn name<'a>(rest: &'a [&'a str]) -> ((String, String), &'a [&'a str]) {
    match rest {
        [schema, ".", name, rest @ ..] => (((*schema).to_owned(), (*name).to_owned()), rest),
        [name, rest @ ..] => (("public".to_owned(), (*name).to_owned()), rest),
        [] => panic!("a name expected"),
    }
}

/// What stands in brackets at the beginning, split at its commas, and what follows.
fn brackets<'a>(rest: &'a [&'a str]) -> (Vec<&'a [&'a str]>, &'a [&'a str]) {
    assert_eq!(rest.first(), Some(&"("), "{rest:?}");
    let (mut depth, mut start, mut parts) = (0, 1, Vec::new());
    for (at, word) in rest.iter().enumerate() {
        match *word {
            "(" => depth += 1,
            ")" if depth == 1 => {
                parts.push(&rest[start..at]);
                return (parts, &rest[at + 1..]);
            }
            ")" => depth -= 1,
            "," if depth == 1 => {
                parts.push(&rest[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    panic!("a bracket is never closed: {rest:?}");
}

fn column_list<'a>(rest: &'a [&'a str]) -> (Vec<Box<str>>, &'a [&'a str]) {
    let (parts, rest) = brackets(rest);
    (parts.into_iter().map(|part| part[0].into()).collect(), rest)
}
