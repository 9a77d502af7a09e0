//! Header: what the columns of a CSV file hold, in Neo4j's conventions.
//!
//! ```text
//! name                    a string                     :ID(Person)         the vertex's id, not kept
//! born:int                a typed property             id:ID(Person)       the vertex's id, kept as `id`
//! nicknames:string[]      an array, `;` between        :LABEL              the vertex's label
//! seen:datetime{epoch:seconds}                         :START_ID(Person)   where the edge begins
//! :IGNORE                 left out                     :END_ID(Person)     where it ends
//! :ATTRIBUTES{weight:double,kind:string}               a map of these properties, as Python writes it
//! id:ID(Person){id-type:long}                          :TYPE               the edge's type
//! :START_ID(Person){key:name}                          of vertices in the database: by which key
//! :START_ID(Person){on-unknown:create}                  a vertex that isn't there is created
//! any{form:graphson} behind a name: values of any type in GraphSON 3, so `"a"` and `""` are texts
//! ```
//!
//! The name in brackets is the *id space*: ids are unique in theirs, and the ends of edges are looked
//! up in theirs. Without brackets it is one space for all. Words are read in any case. A name that
//! holds one of these characters stands in quotes ([`quoted_name`]).
//!
//! Source: Neo4j Operations Manual, "Import": headers. Differs: the options in braces but `id-type`,
//! quoted names, and the types of
//! [`ValueType`] that Neo4j lacks are ours; a relationship's id is a property, if it has a name; points and
//! time zones of columns are refused; one label a vertex, the first one.

use crate::import::csv::quoted_name;
use crate::import::field::cell::CellType;
use crate::import::field::epoch::EpochUnit;
use crate::import::id_options::{IdOptions, IdRole, parse_id_options};
use crate::import::id_type::IdType;
use crate::import::role::Role;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::ValueType;
use evergraph_graph::value::shortened::Shortened;
use std::collections::HashMap;
use std::mem::Discriminant;

/// Arrays inside one another in a type: `long[][]` is 2 deep.
const ARRAY_DEPTH_MAX: u8 = 16;

/// The header of a CSV file.
#[derive(Clone, PartialEq, Debug)]
pub struct Header {
    /// The columns from left to right.
    pub fields: Vec<HeaderField>,
    /// Whether the file holds [`Role::Nodes`] or [`Role::Relationships`].
    pub role: Role,
}

/// What the header says of one column.
#[derive(Clone, PartialEq, Debug)]
pub struct HeaderField {
    /// The words of the header, for errors.
    pub text: String,
    /// What they mean.
    pub meaning: ColumnRole,
}

/// What a column holds.
#[derive(Clone, PartialEq, Debug)]
pub enum ColumnRole {
    /// The id of the vertex in `space`, kept as property `key` if there is one.
    Id {
        /// The property that keeps it.
        key: Option<String>,
        /// The space in which it is unique.
        space: String,
        /// Its type, if the header tells.
        id_type: Option<IdType>,
    },
    /// The id of the vertex where the edge begins.
    StartId(EndSpace),
    /// The id of the vertex where the edge ends.
    EndId(EndSpace),
    /// The vertex's label.
    Label,
    /// The edge's type.
    Type,
    /// Nothing of interest.
    Ignore,
    /// A map, each of whose values is a property: their keys, and what the values are.
    Attributes(Vec<(String, CellType)>),
    /// A property.
    Property {
        /// Its key.
        key: String,
        /// What the fields hold.
        cell_type: CellType,
    },
}

/// Where the ids of one end of edges are looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndSpace {
    /// The id space.
    pub space: String,
    /// The type of the ids, if the header tells.
    pub id_type: Option<IdType>,
    /// The unique key that the ids are of the database's vertices, if the header tells.
    pub key: Option<String>,
    /// Whether a vertex that isn't there is created, whatever the options say of unknown ones.
    pub creates: bool,
}

impl Header {
    /// Reads the header `fields` of `file`. `array_delimiter` stands between elements of arrays.
    ///
    /// # Errors
    /// `invalid`, with file, column, its text and what is allowed.
    pub fn parse(file: &str, fields: &[String], array_delimiter: u8) -> Result<Self> {
        let mut parsed: Vec<HeaderField> = Vec::with_capacity(fields.len());
        // By what no two columns may say, the column that says it.
        let mut said: HashMap<UniqueClaim, usize> = HashMap::new();
        for (index, text) in fields.iter().enumerate() {
            let error = |why: String| {
                Error::invalid(format!(
                    "{file}: header column {} ({}): {why}",
                    index + 1,
                    Shortened::new(text)
                ))
            };
            let meaning = parse_meaning(text.trim(), array_delimiter).map_err(error)?;
            for what in meaning.says() {
                if let Some(other) = said.insert(what, index) {
                    let text = Shortened::new(&parsed[other].text);
                    return Err(error(format!("column {} ({text}) says the same", other + 1)));
                }
            }
            parsed.push(HeaderField { text: text.trim().to_owned(), meaning });
        }
        let role = find_role(&parsed).map_err(|why| Error::invalid(format!("{file}: header: {why}")))?;
        if role == Role::Relationships {
            parsed.iter_mut().for_each(|field| field.meaning = field.meaning.clone().of_edges());
        }
        Ok(Self { fields: parsed, role })
    }

    /// The index of the first column whose meaning is `wanted`.
    #[must_use]
    pub fn position(&self, wanted: impl Fn(&ColumnRole) -> bool) -> Option<usize> {
        self.fields.iter().position(|field| wanted(&field.meaning))
    }
}

impl ColumnRole {
    /// The key that the column fills, if it fills one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Property { key, .. } => Some(key),
            Self::Id { key, .. } => key.as_deref(),
            _ => None,
        }
    }

    /// The same in a file of edges: their ids are properties if they have a name, and nothing otherwise.
    fn of_edges(self) -> Self {
        match self {
            Self::Id { key: Some(key), id_type, .. } => {
                let value_type = id_type.map_or(ValueType::String, IdType::value_type);
                Self::Property { key, cell_type: CellType::Scalar(value_type) }
            }
            Self::Id { key: None, .. } => Self::Ignore,
            other => other,
        }
    }

    /// What only one column may say.
    fn says(&self) -> impl Iterator<Item = UniqueClaim> {
        let mut keys: Vec<UniqueClaim> =
            self.key().map(|key| UniqueClaim::Key(key.to_owned())).into_iter().collect();
        if let Self::Attributes(attributes) = self {
            keys.extend(attributes.iter().map(|(key, _)| UniqueClaim::Key(key.clone())));
        }
        let many = matches!(self, Self::Property { .. } | Self::Ignore | Self::Attributes(_));
        let role = (!many).then(|| UniqueClaim::Role(std::mem::discriminant(self)));
        keys.into_iter().chain(role)
    }
}

/// What no two columns may say.
#[derive(PartialEq, Eq, Hash)]
enum UniqueClaim {
    Key(String),
    Role(Discriminant<ColumnRole>),
}

/// Reads what stands behind source and target, or behind the id, in lists of edges or vertices.
///
/// A name alone is a `double` if it is `weight`, and otherwise a number of unstated type. `None` in
/// the result stands for `:IGNORE`.
///
/// # Errors
/// `invalid`, with the option's name `option`, the column and what is allowed.
pub fn parse_list_columns<'a>(
    option: &str,
    words: impl Iterator<Item = &'a str>,
) -> Result<Vec<Option<(String, CellType)>>> {
    let mut columns: Vec<Option<(String, CellType)>> = Vec::new();
    for (index, word) in words.map(str::trim).enumerate() {
        let error = |why: &str| Error::invalid(format!("{option}: column {} ({word:?}): {why}", index + 1));
        let column = match parse_meaning(word, b';').map_err(|why| error(&why))? {
            ColumnRole::Ignore => None,
            ColumnRole::Property { key, .. } if !word.contains(':') && key == "weight" => {
                Some((key, CellType::Scalar(ValueType::F64)))
            }
            ColumnRole::Property { key, .. } if !word.contains(':') => Some((key, CellType::Number)),
            ColumnRole::Property { key, cell_type } => Some((key, cell_type)),
            _ => return Err(error("a list has properties and :IGNORE only")),
        };
        if let Some((key, _)) = &column
            && columns.iter().flatten().any(|(other, _)| other == key)
        {
            return Err(error("another column has this name"));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// Whether `word` can stand in a header.
///
/// # Errors
/// What is wrong with it, and what is allowed.
pub fn check_word(word: &str) -> std::result::Result<(), String> {
    parse_meaning(word.trim(), b';').map(drop)
}

fn find_role(fields: &[HeaderField]) -> std::result::Result<Role, String> {
    let has = |wanted: fn(&ColumnRole) -> bool| fields.iter().any(|field| wanted(&field.meaning));
    let id = has(|meaning| matches!(meaning, ColumnRole::Id { .. }));
    let start = has(|meaning| matches!(meaning, ColumnRole::StartId(_)));
    let end = has(|meaning| matches!(meaning, ColumnRole::EndId(_)));
    let words = || {
        let words: Vec<&str> = fields.iter().map(|field| field.text.as_str()).collect();
        Shortened::new(&words.join(" "))
    };
    match (id, start, end) {
        (true, false, false) if has(|meaning| matches!(meaning, ColumnRole::Type)) => {
            Err("a file with :ID holds vertices, which have a :LABEL and no :TYPE".to_owned())
        }
        (true, false, false) => Ok(Role::Nodes),
        (_, true, true) if has(|meaning| matches!(meaning, ColumnRole::Label)) => {
            Err("a file with :START_ID holds edges, which have a :TYPE and no :LABEL".to_owned())
        }
        // Neo4j and Neptune give ids to edges, too.
        (_, true, true) => Ok(Role::Relationships),
        (_, true, false) => Err("there is :START_ID and no :END_ID".to_owned()),
        (_, false, true) => Err("there is :END_ID and no :START_ID".to_owned()),
        (false, false, false) => Err(format!(
            "neither :ID (vertices) nor :START_ID and :END_ID (edges) among {} column{}: {}; \
             is the delimiter right? A header can also be given as an option",
            fields.len(),
            if fields.len() == 1 { "" } else { "s" },
            words()
        )),
    }
}

/// The parts of `name:type(space){option:value}`.
fn parse_meaning(text: &str, array_delimiter: u8) -> std::result::Result<ColumnRole, String> {
    let (rest, options) = split_brackets(text, '{', '}')?;
    let (rest, space) = split_brackets(rest, '(', ')')?;
    let (name, kind) = match rest.rsplit_once(':') {
        Some((name, kind)) => (name.trim(), kind.trim()),
        None => (rest, ""),
    };
    let quoted = quoted_name::read(name);
    let is_nameless = name.is_empty();
    let name = quoted.as_deref().unwrap_or(name);
    if is_nameless && space.is_none() && kind.eq_ignore_ascii_case("ATTRIBUTES") {
        return parse_attributes(options.unwrap_or(""), array_delimiter).map(ColumnRole::Attributes);
    }
    let options = parse_options(options.unwrap_or(""))?;
    let kind_upper = kind.to_ascii_uppercase();
    let is_end = matches!(kind_upper.as_str(), "ID" | "START_ID" | "END_ID");
    if !is_end && space.is_some() {
        return Err("an id space in brackets belongs to ID, START_ID and END_ID".to_owned());
    }
    let space = space.unwrap_or("").trim().to_owned();
    let nameless = |meaning: ColumnRole| match (name, options.first()) {
        ("", None) => Ok(meaning),
        ("", Some((option, _))) => Err(format!("there is no option {option:?} here")),
        _ => Err(format!(":{kind_upper} takes no name before it")),
    };
    match kind_upper.as_str() {
        "ID" => {
            let IdOptions { id_type, .. } = parse_id_options(&options, IdRole::Vertex)?;
            Ok(ColumnRole::Id { key: (!name.is_empty()).then(|| name.to_owned()), space, id_type })
        }
        "START_ID" | "END_ID" if !name.is_empty() => Err(format!(":{kind_upper} takes no name before it")),
        "START_ID" | "END_ID" => {
            let IdOptions { id_type, key, creates } = parse_id_options(&options, IdRole::End)?;
            let end = EndSpace { space, id_type, key, creates };
            Ok(if kind_upper == "START_ID" { ColumnRole::StartId(end) } else { ColumnRole::EndId(end) })
        }
        "LABEL" => nameless(ColumnRole::Label),
        "TYPE" => nameless(ColumnRole::Type),
        // Neo4j lets a name stand before it.
        "IGNORE" => Ok(ColumnRole::Ignore),
        _ if is_nameless => Err("there is no name and no role".to_owned()),
        _ => {
            let cell_type = parse_cell_type(kind, &options, array_delimiter).map_err(|why| {
                let open = [('(', ')'), ('{', '}')]
                    .into_iter()
                    .find(|(open, close)| text.matches(*open).count() > text.matches(*close).count());
                open.map_or(why, |(open, close)| format!("{open:?} without {close:?} at the end"))
            })?;
            Ok(ColumnRole::Property { key: name.to_owned(), cell_type })
        }
    }
}

/// The properties in `weight:double,kind:string`.
fn parse_attributes(text: &str, array_delimiter: u8) -> std::result::Result<Vec<(String, CellType)>, String> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let attribute = |word: &str| match parse_meaning(word, array_delimiter)? {
        ColumnRole::Property { key, cell_type } => Ok((key, cell_type)),
        _ => Err(format!("{word:?} is no property: :ATTRIBUTES has name:type of each")),
    };
    words.map(attribute).collect()
}

/// The type that a word of a header states behind its name, such as `int`, `string[]` or
/// `any{form:graphson}`.
///
/// # Errors
/// What is allowed.
pub fn parse_type(word: &str, array_delimiter: u8) -> std::result::Result<CellType, String> {
    match parse_meaning(&format!("name:{word}"), array_delimiter)? {
        ColumnRole::Property { cell_type, .. } => Ok(cell_type),
        _ => Err(format!("{word:?} is no type of properties")),
    }
}

/// Splits `text{inside}` into `text` and `inside`.
fn split_brackets(text: &str, open: char, close: char) -> std::result::Result<(&str, Option<&str>), String> {
    let Some(body) = text.strip_suffix(close) else { return Ok((text, None)) };
    match body.split_once(open) {
        Some((rest, inside)) => Ok((rest.trim_end(), Some(inside))),
        None => Err(format!("{close:?} without {open:?} before it")),
    }
}

/// Reads `option:value, option:value`.
fn parse_options(text: &str) -> std::result::Result<Vec<(String, String)>, String> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| match pair.split_once(':') {
            Some((option, value)) => Ok((option.trim().to_ascii_lowercase(), value.trim().to_owned())),
            None => Err(format!("{pair:?} in braces is not of the form option:value")),
        })
        .collect()
}

fn parse_cell_type(
    kind: &str,
    options: &[(String, String)],
    array_delimiter: u8,
) -> std::result::Result<CellType, String> {
    let element = kind.trim_end_matches("[]");
    let depth = (kind.len() - element.len()) / 2;
    if element == "map" && depth == 0 && options.is_empty() {
        return Ok(CellType::Map);
    }
    if let [(option, form)] = options
        && option == "form"
    {
        return match (form.as_str(), depth, element.parse::<ValueType>()) {
            ("graphson", 0, Ok(value_type)) => Ok(CellType::GraphSon(value_type)),
            ("graphson", ..) => Err(format!(
                "unknown type {kind:?}; in GraphSON there are {}",
                ValueType::all().map(ValueType::name).collect::<Vec<_>>().join(", ")
            )),
            _ => Err(format!("unknown form {form:?}; known is graphson")),
        };
    }
    let value_type = match element {
        "" if depth == 0 => Ok(ValueType::String),
        element => element.parse::<ValueType>(),
    };
    let no_text = [ValueType::Any, ValueType::List, ValueType::Set, ValueType::Map];
    let Some(value_type) = value_type.ok().filter(|value_type| !no_text.contains(value_type)) else {
        let names: Vec<&str> =
            ValueType::all().filter(|known| !no_text.contains(known)).map(ValueType::name).collect();
        return Err(format!(
            "unknown type {element:?}; known are {}, each also as an array (string[], long[][]), map, and \
             ID, START_ID, END_ID, LABEL, TYPE, IGNORE",
            names.join(", ")
        ));
    };
    let mut cell_type = match u8::try_from(depth) {
        Ok(0) => CellType::Scalar(value_type),
        Ok(1) => CellType::Array(value_type, array_delimiter),
        Ok(depth @ ..=ARRAY_DEPTH_MAX) => CellType::Nested(value_type, depth),
        _ => return Err(format!("arrays are at most {ARRAY_DEPTH_MAX} deep")),
    };
    for (option, value) in options {
        cell_type = match (option.as_str(), cell_type) {
            ("epoch", CellType::Scalar(ValueType::Date | ValueType::DateTime)) => {
                let known = || EpochUnit::ALL.map(EpochUnit::name).join(", ");
                let unit = EpochUnit::parse(value)
                    .ok_or_else(|| format!("unknown epoch {value:?}; known are {}", known()))?;
                CellType::Epoch(value_type, unit)
            }
            _ => {
                return Err(format!(
                    "there is no option {option:?} for {kind:?}; date and datetime have epoch"
                ));
            }
        };
    }
    Ok(cell_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(header: &str) -> Result<Header> {
        let fields: Vec<String> = header.split('|').map(ToOwned::to_owned).collect();
        Header::parse("a.csv", &fields, b';')
    }

    fn property(key: &str, cell_type: CellType) -> ColumnRole {
        ColumnRole::Property { key: key.to_owned(), cell_type }
    }

    #[test]
    fn names_in_quotes_hold_what_ends_a_name_elsewhere() {
        let header = parse(r#""a\u003aID"|:ID|"":int|" b""#).unwrap();
        let meanings: Vec<ColumnRole> = header.fields.into_iter().map(|field| field.meaning).collect();
        let text = CellType::Scalar(ValueType::String);
        assert_eq!(meanings[0], property("a:ID", text));
        assert_eq!(meanings[2], property("", CellType::Scalar(ValueType::I32)));
        assert_eq!(meanings[3], property(" b", text));
    }

    #[test]
    fn any_type_may_stand_in_graphson() {
        let header = parse(":ID|a:any{form:graphson}|b:Set{form:graphson}").unwrap();
        assert_eq!(header.fields[1].meaning, property("a", CellType::GraphSon(ValueType::Any)));
        assert_eq!(header.fields[2].meaning, property("b", CellType::GraphSon(ValueType::Set)));
        let error = |word: &str| parse(&format!(":ID|{word}")).unwrap_err().to_string();
        assert!(
            error("a:int[]{form:graphson}").contains("unknown type \"int[]\"; in GraphSON there are bool,")
        );
        assert!(error("a:int{form:xml}").ends_with("unknown form \"xml\"; known is graphson"));
    }

    #[test]
    fn a_header_of_vertices_is_read() {
        let header =
            parse("id:ID(Person){id-type: long}|name|born:Int|tags:string[]|:LABEL|x:IGNORE|seen:date{epoch:seconds}")
                .unwrap();
        assert_eq!(header.role, Role::Nodes);
        let meanings: Vec<ColumnRole> = header.fields.into_iter().map(|field| field.meaning).collect();
        assert_eq!(
            meanings,
            [
                ColumnRole::Id {
                    key: Some("id".to_owned()),
                    space: "Person".to_owned(),
                    id_type: Some(IdType::LONG)
                },
                property("name", CellType::Scalar(ValueType::String)),
                property("born", CellType::Scalar(ValueType::I32)),
                property("tags", CellType::Array(ValueType::String, b';')),
                ColumnRole::Label,
                ColumnRole::Ignore,
                property("seen", CellType::Epoch(ValueType::Date, EpochUnit::Seconds)),
            ]
        );
    }

    #[test]
    fn a_header_of_edges_is_read_in_any_case() {
        let header =
            parse(":start_id(A B){Key: Name}|:END_ID{id-type:long,on-unknown:create}|:type|since:long")
                .unwrap();
        assert_eq!(header.role, Role::Relationships);
        assert_eq!(
            header.fields[0].meaning,
            ColumnRole::StartId(EndSpace {
                space: "A B".to_owned(),
                id_type: None,
                key: Some("Name".to_owned()),
                creates: false,
            })
        );
        assert_eq!(
            header.fields[1].meaning,
            ColumnRole::EndId(EndSpace {
                space: String::new(),
                id_type: Some(IdType::LONG),
                key: None,
                creates: true,
            })
        );
        assert_eq!(header.position(|meaning| *meaning == ColumnRole::Type), Some(2));
    }

    #[test]
    fn a_map_may_hold_several_properties() {
        let header = parse(":START_ID|:END_ID|:ATTRIBUTES{Weight:double, kind:string}").unwrap();
        let attributes = [("Weight", ValueType::F64), ("kind", ValueType::String)];
        let attributes = attributes.map(|(key, of)| (key.to_owned(), CellType::Scalar(of)));
        assert_eq!(header.fields[2].meaning, ColumnRole::Attributes(attributes.to_vec()));
        let twice = parse(":ID|kind|:ATTRIBUTES{kind:string}").unwrap_err().to_string();
        assert!(twice.contains("column 2 (\"kind\") says the same"), "{twice}");
    }

    #[test]
    fn edges_may_have_ids_of_their_own() {
        let header = parse("eid:ID{id-type:long}|:START_ID|:END_ID").unwrap();
        assert_eq!(header.role, Role::Relationships);
        assert_eq!(header.fields[0].meaning, property("eid", CellType::Scalar(ValueType::I64)));
        assert_eq!(parse(":ID|:START_ID|:END_ID|:TYPE").unwrap().fields[0].meaning, ColumnRole::Ignore);
    }

    #[test]
    fn a_malformed_header_names_column_text_and_what_is_allowed() {
        let cases = [
            (
                "id:ID|born:integr",
                "a.csv: header column 2 (\"born:integr\"): unknown type \"integr\"; known are bool, byte, short, \
                 int, long, float, double, bigint, decimal, char, string, bytes, date, datetime, duration, uuid, \
                 each also as an array (string[], long[][]), map, and ID, START_ID, END_ID, LABEL, TYPE, IGNORE",
            ),
            ("id:ID|", "a.csv: header column 2 (\"\"): there is no name and no role"),
            ("id:ID|a|a:int", "a.csv: header column 3 (\"a:int\"): column 2 (\"a\") says the same"),
            ("a:ID|b:ID", "a.csv: header column 2 (\"b:ID\"): column 1 (\"a:ID\") says the same"),
            ("id:ID|id", "a.csv: header column 2 (\"id\"): column 1 (\"id:ID\") says the same"),
            ("id:ID(A", "a.csv: header column 1 (\"id:ID(A\"): '(' without ')' at the end"),
            (
                "id:ID|d:date{epoch:s",
                "a.csv: header column 2 (\"d:date{epoch:s\"): '{' without '}' at the end",
            ),
            ("id:IDA)", "a.csv: header column 1 (\"id:IDA)\"): ')' without '(' before it"),
            (
                "id:ID|name:string(A)",
                "a.csv: header column 2 (\"name:string(A)\"): an id space in brackets belongs to ID, START_ID and END_ID",
            ),
            (
                "id:ID{id-type:float}",
                "a.csv: header column 1 (\"id:ID{id-type:float}\"): unknown id-type \"float\"; known are byte, short,",
            ),
            (
                "id:ID|t:datetime{timezone:+01:00}",
                "a.csv: header column 2 (\"t:datetime{timezone:+01:00}\"): there is no option \"timezone\" for \
                 \"datetime\"; date and datetime have epoch",
            ),
            (
                "x:START_ID|:END_ID",
                "a.csv: header column 1 (\"x:START_ID\"): :START_ID takes no name before it",
            ),
            (":START_ID|a", "a.csv: header: there is :START_ID and no :END_ID"),
            (":ID|:TYPE", "a.csv: header: a file with :ID holds vertices, which have a :LABEL and no :TYPE"),
            (
                "a,b",
                "a.csv: header: neither :ID (vertices) nor :START_ID and :END_ID (edges) among 1 column: \"a,b\"; is \
                 the delimiter right? A header can also be given as an option",
            ),
        ];
        for (header, expected) in cases {
            let text = parse(header).unwrap_err().to_string();
            assert!(text.starts_with(expected), "{header}\n  got {text}\n  not {expected}");
        }
    }

    #[test]
    fn columns_of_a_list_are_numbers_unless_typed() {
        assert_eq!(
            parse_list_columns("columns", "weight, time, :IGNORE, note:string".split(',')).unwrap(),
            [
                Some(("weight".to_owned(), CellType::Scalar(ValueType::F64))),
                Some(("time".to_owned(), CellType::Number)),
                None,
                Some(("note".to_owned(), CellType::Scalar(ValueType::String))),
            ]
        );
        let error = parse_list_columns("columns", "weight,weight".split(',')).unwrap_err();
        assert_eq!(error.to_string(), "columns: column 2 (\"weight\"): another column has this name");
        let error = parse_list_columns("columns", ["a:ID"].into_iter()).unwrap_err();
        assert_eq!(error.to_string(), "columns: column 1 (\"a:ID\"): a list has properties and :IGNORE only");
    }
}
