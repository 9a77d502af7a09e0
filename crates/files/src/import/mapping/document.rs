//! Document: a mapping file in TOML, which describes how files, or tables of a database, become a graph.
//!
//! ```toml
//! [defaults]                       # for every file that doesn't say otherwise
//! delimiter = "|"
//!
//! [[file]]
//! path = "people_*.csv"            # `*` and `?` in a name, `**` for any folders; the first match counts
//! label = "Person"
//! id = "pid"                       # unique in its label, if no space is named
//! types = { born = "int", seen = "datetime{epoch:milliseconds}" }
//!
//! [[file]]
//! path = "knows.csv"               # no header: its columns, as words of one
//! type = "KNOWS"
//! header = false
//! columns = [":START_ID(Person)", ":END_ID(Person)", "since:date"]
//! undirected = true                # a pair of vertices has one edge, whichever way round
//! ```
//!
//! A rule for a table of a database is a `[[table]]`: see [`table`](crate::import::mapping::table).
//!
//! An error names the mapping file, the line, the key, and what is allowed there.

use crate::import::bytes::source::{Source, is_standard_input};
use crate::import::csv::header::check_word;
use crate::import::mapping::column::{Column, End};
use crate::import::mapping::glob::{is_pattern, matches};
use crate::import::mapping::misuse::{Misuse, check, span_of};
use crate::import::mapping::origin::Lines;
use crate::import::mapping::rule::{FileFormat, FileRule};
use crate::import::mapping::table::{MissingEnd, TableRule, UnfitValue};
use crate::import::mapping::table_entry::{TableDefaults, TableEntry};
use evergraph_graph::error::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// A larger file is no mapping.
const BYTES_MAX: u64 = 1 << 24;

/// What a mapping file says.
#[derive(Clone, PartialEq, Debug)]
pub struct Mapping {
    /// The folder that it lies in: its paths begin there if no files are named.
    pub folder: PathBuf,
    /// Where it was read from; `None` for standard input and texts.
    pub file: Option<PathBuf>,
    /// The rules for files, the first ones first.
    pub rules: Vec<MappedRule>,
    /// The rules for tables of a database, in the order of the text.
    pub tables: Vec<TableRule>,
}

/// A rule and the files that it is for.
#[derive(Clone, PartialEq, Debug)]
pub struct MappedRule {
    /// The path or pattern, below the folder that is imported.
    pub pattern: String,
    /// How they are read.
    pub rule: FileRule,
}

impl Mapping {
    /// Reads the mapping file at `path`.
    ///
    /// # Errors
    /// `not_found` or `io`; `invalid` for everything that is wrong in it.
    pub fn read(path: &Path) -> Result<Self> {
        let source = Source::open(path)?;
        let name = source.name().to_owned();
        let mut text = Vec::new();
        source.take(BYTES_MAX + 1).read_to_end(&mut text).map_err(Source::error)?;
        if text.len() as u64 > BYTES_MAX {
            return Err(Error::invalid(format!("{name}: has more than 16 MiB: this is no mapping")));
        }
        let text = String::from_utf8(text)
            .map_err(|_| Error::invalid(format!("{name}: is not UTF-8: this is no mapping")))?;
        let is_file = !is_standard_input(path);
        let folder = path.parent().filter(|folder| is_file && !folder.as_os_str().is_empty());
        let mapping = Self::parse(&name, &text, folder.unwrap_or(Path::new(".")))?;
        Ok(Self { file: is_file.then(|| path.to_owned()), ..mapping })
    }

    /// Reads a mapping from `text`, which errors call `name`.
    ///
    /// # Errors
    /// `invalid`, with line, key and what is allowed.
    pub fn parse(name: &str, text: &str, folder: &Path) -> Result<Self> {
        let lines = Lines::new(name, text);
        let document: Document = toml::from_str(text).map_err(|error| {
            let place = error.span().map_or(name.to_owned(), |at| lines.place(at.start));
            let mut error = error;
            error.set_input(None);
            // Without the text, the error shows the key.
            let said = error.to_string();
            let said: Vec<&str> = said.lines().map(str::trim).collect();
            Error::invalid(format!("{place}: {}", said.join(" ").trim()))
        })?;
        let Document { defaults, file, table } = document;
        if file.is_empty() && table.is_empty() {
            return Err(Error::invalid(format!(
                "{name}: there is no [[file]] in it, which says how one is read"
            )));
        }
        let error =
            |Misuse { at, key, why }| Error::invalid(format!("{}: {key}: {why}", lines.place(at.start)));
        let rule = |entry: Spanned<FileEntry>| {
            let origin = lines.place(entry.span().start);
            entry.into_inner().into_rule(&defaults, origin).map_err(error)
        };
        let rules = file.into_iter().map(rule).collect::<Result<Vec<MappedRule>>>()?;
        let table_rule = |entry: Spanned<TableEntry>| {
            let at = entry.span();
            entry.into_inner().into_rule(defaults.of_tables(), &lines, at).map_err(error)
        };
        let tables = table.into_iter().map(table_rule).collect::<Result<Vec<TableRule>>>()?;
        Ok(Self { folder: folder.to_owned(), file: None, rules, tables })
    }

    /// Complains about rules for tables, which a reader of files has no use for.
    ///
    /// # Errors
    /// `invalid`, with the place of the first one.
    pub fn expect_files(&self) -> Result<()> {
        let Some(rule) = self.tables.first() else { return Ok(()) };
        Err(Error::invalid(rule.blame(
            "table",
            "[[table]] is for a table of a database, and these are files, which [[file]] describes: keep rules for \
             tables in a mapping file of their own",
        )))
    }

    /// The index of the rule for `path`, relative to the folder that is imported.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<usize> {
        self.rules.iter().position(|mapped| mapped.pattern == path || matches(&mapped.pattern, path))
    }

    /// Complains about a rule for no file: `used` tells which ones were for some.
    ///
    /// # Errors
    /// `invalid`, with the place of the rule.
    pub fn check_used(&self, used: &[bool]) -> Result<()> {
        let Some((mapped, _)) = self.rules.iter().zip(used).find(|(_, used)| !**used) else { return Ok(()) };
        let MappedRule { pattern, rule } = mapped;
        let what = if is_pattern(pattern) { "matches" } else { "is" };
        Err(Error::invalid(rule.blame(format!(
            "path: no file that is imported {what} {pattern:?} (a rule before may have taken it); paths begin \
             at the folder that is imported"
        ))))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    defaults: Defaults,
    #[serde(default)]
    file: Vec<Spanned<FileEntry>>,
    #[serde(default)]
    table: Vec<Spanned<TableEntry>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Defaults {
    delimiter: Option<Spanned<String>>,
    quote: Option<Spanned<String>>,
    escape: Option<Spanned<String>>,
    null: Option<String>,
    array_delimiter: Option<Spanned<String>>,
    missing: Option<MissingEnd>,
    on_unfit: Option<UnfitValue>,
}

impl Defaults {
    fn of_tables(&self) -> TableDefaults {
        TableDefaults { missing: self.missing, on_unfit: self.on_unfit }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FileEntry {
    path: String,
    format: Option<Spanned<String>>,
    label: Option<Spanned<String>>,
    #[serde(rename = "type")]
    edge_type: Option<Spanned<String>>,
    header: Option<Spanned<bool>>,
    columns: Option<Spanned<Vec<Spanned<String>>>>,
    id: Option<Spanned<End>>,
    start: Option<Spanned<End>>,
    end: Option<Spanned<End>>,
    types: Option<Spanned<BTreeMap<String, Spanned<String>>>>,
    ignore: Option<Spanned<Vec<Column>>>,
    delimiter: Option<Spanned<String>>,
    quote: Option<Spanned<String>>,
    escape: Option<Spanned<String>>,
    comment: Option<Spanned<String>>,
    null: Option<Spanned<String>>,
    array_delimiter: Option<Spanned<String>>,
    undirected: Option<Spanned<bool>>,
}

impl FileEntry {
    fn into_rule(self, defaults: &Defaults, origin: String) -> std::result::Result<MappedRule, Misuse> {
        let format = self.format.as_ref().map_or(Ok(FileFormat::Csv), |format| {
            let known = FileFormat::ALL.into_iter().find(|known| known.name() == format.get_ref());
            known.ok_or_else(|| {
                let names = FileFormat::ALL.map(FileFormat::name).join(", ");
                Misuse {
                    at: format.span(),
                    key: "format",
                    why: format!("{:?} is unknown; known are {names}", format.get_ref()),
                }
            })
        })?;
        if let Some((key, at)) = self.keys().find(|(key, _)| !format.keys().contains(key)) {
            let known = format.keys().join(", ");
            let why =
                format!("files of format {} have no such thing; known of them are {known}", format.name());
            return Err(Misuse { at, key, why });
        }
        let array_delimiter =
            one_byte("array-delimiter", self.array_delimiter.as_ref().or(defaults.array_delimiter.as_ref()))?;
        let (columns, types) = (self.columns.map(Spanned::into_inner), self.types.map(Spanned::into_inner));
        for word in columns.iter().flatten() {
            check(word, "columns", check_word)?;
        }
        let types = types.unwrap_or_default();
        for value_type in types.values() {
            check(value_type, "types", |value_type| check_word(&format!("name:{value_type}")))?;
        }
        let rule = FileRule {
            format,
            label: self.label.map(Spanned::into_inner),
            edge_type: self.edge_type.map(Spanned::into_inner),
            header: self.header.is_none_or(Spanned::into_inner),
            columns: columns.map(|words| words.into_iter().map(Spanned::into_inner).collect()),
            id: self.id.map(|end| end.into_inner().0),
            start: self.start.map(|end| end.into_inner().0),
            end: self.end.map(|end| end.into_inner().0),
            types: types.into_iter().map(|(name, value)| (name, value.into_inner())).collect(),
            ignore: self
                .ignore
                .map(Spanned::into_inner)
                .into_iter()
                .flatten()
                .map(|Column(name)| name)
                .collect(),
            delimiter: one_byte("delimiter", self.delimiter.as_ref().or(defaults.delimiter.as_ref()))?,
            quote: quote(self.quote.as_ref().or(defaults.quote.as_ref()))?,
            escape: one_byte("escape", self.escape.as_ref().or(defaults.escape.as_ref()))?,
            comment: one_byte("comment", self.comment.as_ref())?,
            null: self.null.map(Spanned::into_inner).or_else(|| defaults.null.clone()),
            array_delimiter,
            undirected: self.undirected.is_some_and(Spanned::into_inner),
            origin: Some(origin),
        };
        Ok(MappedRule { pattern: self.path, rule })
    }

    /// The keys that are there beside `path` and `format`, and where their values stand.
    fn keys(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        let keys = [
            ("label", span_of(&self.label)),
            ("type", span_of(&self.edge_type)),
            ("header", span_of(&self.header)),
            ("columns", span_of(&self.columns)),
            ("id", span_of(&self.id)),
            ("start", span_of(&self.start)),
            ("end", span_of(&self.end)),
            ("types", span_of(&self.types)),
            ("ignore", span_of(&self.ignore)),
            ("delimiter", span_of(&self.delimiter)),
            ("quote", span_of(&self.quote)),
            ("escape", span_of(&self.escape)),
            ("comment", span_of(&self.comment)),
            ("null", span_of(&self.null)),
            ("array-delimiter", span_of(&self.array_delimiter)),
            ("undirected", span_of(&self.undirected)),
        ];
        keys.into_iter().filter_map(|(key, at)| Some((key, at?)))
    }
}

fn one_byte(key: &'static str, text: Option<&Spanned<String>>) -> std::result::Result<Option<u8>, Misuse> {
    let Some(text) = text else { return Ok(None) };
    match text.get_ref().as_bytes() {
        [byte] if *byte == b'\t' || *byte == b' ' || byte.is_ascii_punctuation() => Ok(Some(*byte)),
        _ => Err(Misuse {
            at: text.span(),
            key,
            why: format!(
                "{:?}: expected a tab (\"\\t\"), a blank or an ASCII punctuation character",
                text.get_ref()
            ),
        }),
    }
}

fn quote(text: Option<&Spanned<String>>) -> std::result::Result<Option<Option<u8>>, Misuse> {
    match text {
        Some(none) if none.get_ref() == "none" => Ok(Some(None)),
        text => {
            let byte = one_byte("quote", text)
                .map_err(|misuse| Misuse { why: format!("{}, or \"none\"", misuse.why), ..misuse })?;
            Ok(byte.map(Some))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::mapping::rule::{ColumnName, EndColumn};

    fn parse(text: &str) -> Result<Mapping> {
        Mapping::parse("m.toml", text, Path::new("."))
    }

    #[test]
    fn a_key_that_the_format_has_no_use_for_is_refused_by_its_line() {
        let error = |rest: &str| parse(&format!("[[file]]\npath = \"g\"\n{rest}")).unwrap_err().to_string();
        assert_eq!(
            error("format = \"graphson\"\nlabel = \"V\"\ndelimiter = \"|\"\n"),
            "m.toml:5: delimiter: files of format graphson have no such thing; known of them are label, type, \
             undirected"
        );
        for (format, key) in [
            ("graphml", "types = { a = \"int\" }"),
            ("graphml", "id = \"pid\""),
            ("graphson", "header = false"),
            ("graphson", "ignore = [\"a\"]"),
            ("parquet", "columns = [\"a\"]"),
            ("edge-list", "quote = \"none\""),
        ] {
            let found = error(&format!("format = \"{format}\"\n{key}\n"));
            let name = key.split(' ').next().unwrap();
            assert!(
                found.starts_with(&format!("m.toml:4: {name}: files of format {format} have")),
                "{found}"
            );
        }
        let shared = "[defaults]\ndelimiter = \"|\"\n[[file]]\npath = \"g\"\nformat = \"graphson\"\n";
        assert!(parse(shared).is_ok(), "what is said of all files is for those that need it");
    }

    #[test]
    fn every_key_is_read() {
        let mapping = parse(
            r#"
            [defaults]
            delimiter = "|"
            null = "NULL"

            [[file]]
            path = "people.csv"
            label = "Person"
            id = "pid"
            types = { born = "date{epoch:seconds}" }
            ignore = ["notes", 4]
            quote = "none"
            escape = "\\"

            [[file]]
            path = "**/knows.csv"
            type = "KNOWS"
            header = false
            columns = ["from", "to", "since:date"]
            start = { column = "from", space = "Person", type = "long", on-unknown = "create" }
            end = 2
            comment = "%"
            delimiter = "\t"
            null = ""
            array-delimiter = ","
            undirected = true
            "#,
        )
        .unwrap();
        let [people, knows] = &mapping.rules[..] else { panic!("two rules") };
        assert_eq!(
            (people.pattern.as_str(), people.rule.origin.as_deref()),
            ("people.csv", Some("m.toml:6"))
        );
        let expected = FileRule {
            label: Some("Person".to_owned()),
            id: Some(EndColumn::new(ColumnName::Name("pid".to_owned()))),
            types: BTreeMap::from([("born".to_owned(), "date{epoch:seconds}".to_owned())]),
            ignore: vec![ColumnName::Name("notes".to_owned()), ColumnName::Number(4)],
            delimiter: Some(b'|'),
            quote: Some(None),
            escape: Some(b'\\'),
            null: Some("NULL".to_owned()),
            origin: Some("m.toml:6".to_owned()),
            ..FileRule::new(FileFormat::Csv)
        };
        assert_eq!(people.rule, expected);
        let expected = FileRule {
            edge_type: Some("KNOWS".to_owned()),
            header: false,
            columns: Some(["from", "to", "since:date"].map(ToOwned::to_owned).to_vec()),
            start: Some(EndColumn {
                column: ColumnName::Name("from".to_owned()),
                space: Some("Person".to_owned()),
                id_type: Some("long".to_owned()),
                creates: true,
            }),
            end: Some(EndColumn::new(ColumnName::Number(2))),
            delimiter: Some(b'\t'),
            comment: Some(b'%'),
            null: Some(String::new()),
            array_delimiter: Some(b','),
            undirected: true,
            origin: knows.rule.origin.clone(),
            ..FileRule::new(FileFormat::Csv)
        };
        assert_eq!(knows.rule, expected);
        assert_eq!((mapping.find("people.csv"), mapping.find("a/b/knows.csv")), (Some(0), Some(1)));
        assert_eq!(mapping.find("other.csv"), None);
        let error = mapping.check_used(&[true, false]).unwrap_err().to_string();
        assert!(error.contains("path: no file that is imported matches \"**/knows.csv\""), "{error}");
    }

    #[test]
    fn rules_for_tables_stand_beside_those_for_files_and_an_import_of_files_refuses_them() {
        let mapping =
            parse("[[file]]\npath = 'a.csv'\nlabel = 'A'\n\n[[table]]\ntable = 'film'\nlabel = 'Film'\n")
                .unwrap();
        assert_eq!((mapping.rules.len(), mapping.tables.len()), (1, 1));
        assert_eq!(
            mapping.expect_files().unwrap_err().to_string(),
            "m.toml:6: table: [[table]] is for a table of a database, and these are files, which [[file]] \
             describes: keep rules for tables in a mapping file of their own"
        );
        assert!(parse("[[file]]\npath = 'a.csv'\n").unwrap().expect_files().is_ok());
    }

    #[test]
    fn what_is_wrong_is_named_by_line_and_key_with_what_is_allowed() {
        for (text, expected) in [
            ("", "m.toml: there is no [[file]] in it"),
            ("[[file]]\nlabel = 'A'\n", "m.toml:1: missing field `path`"),
            (
                "[[file]]\npath = 'a'\ncolums = []\n",
                "m.toml:3: unknown field `colums`, expected one of `path`",
            ),
            (
                "[[file]]\npath = 'a'\nheader = 'no'\n",
                "m.toml:3: invalid type: string \"no\", expected a boolean",
            ),
            (
                "[[file]]\npath = 'a'\nformat = 'cvs'\n",
                "m.toml:3: format: \"cvs\" is unknown; known are csv, edge-list",
            ),
            (
                "[[file]]\npath = 'a'\ncolumns = [\n  'id:ID',\n  'n:strin',\n]\n",
                "m.toml:5: columns: \"n:strin\": unknown type \"strin\"; known are bool",
            ),
            (
                "[[file]]\npath = 'a'\n[file.types]\nb = 'integr'\n",
                "m.toml:4: types: \"integr\": unknown type \"integr\"; known are bool",
            ),
            (
                "[[file]]\npath = 'a'\ndelimiter = '||'\n",
                "m.toml:3: delimiter: \"||\": expected a tab (\"\\t\"), a blank or an ASCII punctuation character",
            ),
            (
                "[[file]]\npath = 'a'\nid = 0\n",
                "m.toml:3: invalid value: integer `0`, expected the name of a column, or its number counted from 1",
            ),
            (
                "[[file]]\npath = 'a'\nstart = { colum = 'x' }\n",
                "m.toml:3: unknown field `colum`, expected one of `column`, `space`, `type`",
            ),
            ("[[file]\n", "m.toml:1: "),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}\n  got {error}\n  not {expected}");
        }
        let error = parse("[[file]]\npath = 'a'\nheader = 'no'\n").unwrap_err().to_string();
        assert!(error.ends_with("in `file.header`"), "{error}");
    }

    /// The keys that the parser expects where a key `zzz` stands in `text`, as its error lists them.
    fn expected_keys(text: &str) -> Vec<String> {
        let error = parse(text).unwrap_err().to_string();
        let (_, list) = error.split_once("unknown field `zzz`, expected ").expect(&error);
        let mut keys: Vec<String> = list.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect();
        // Behind the list the error names the key that it is about.
        if error.contains(" in `") {
            keys.pop();
        }
        keys.sort();
        keys
    }

    #[test]
    fn the_json_schema_has_the_keys_and_the_words_that_are_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mapping.schema.json");
        let schema: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let keys = |pointer: &str| {
            let object = schema.pointer(pointer).expect(pointer);
            assert_eq!(object["additionalProperties"], false, "{pointer}");
            let mut keys: Vec<String> = object["properties"].as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys
        };
        for (pointer, text) in [
            ("", "zzz = 1"),
            ("/properties/defaults", "[defaults]\nzzz = 1"),
            ("/definitions/file", "[[file]]\nzzz = 1"),
            ("/definitions/table", "[[table]]\nzzz = 1"),
            ("/definitions/foreign-key", "[[table]]\ntable = 't'\nedge = [{ zzz = 1 }]"),
            ("/definitions/file-end/anyOf/1", "[[file]]\npath = 'f'\nid = { zzz = 1 }"),
            ("/definitions/table-end/anyOf/1", "[[table]]\ntable = 't'\nstart = { zzz = 1 }"),
        ] {
            assert_eq!(keys(pointer), expected_keys(text), "{pointer}");
        }
        let words = |pointer: &str| -> Vec<String> {
            let words = schema.pointer(pointer).expect(pointer)["enum"].as_array().unwrap();
            words.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(words("/definitions/file/properties/format"), FileFormat::ALL.map(FileFormat::name));
        assert_eq!(
            words("/definitions/missing"),
            [MissingEnd::Wait, MissingEnd::Create, MissingEnd::Stop].map(MissingEnd::name)
        );
        assert_eq!(
            words("/definitions/on-unfit"),
            [UnfitValue::Stop, UnfitValue::Null].map(UnfitValue::name)
        );
    }
}
