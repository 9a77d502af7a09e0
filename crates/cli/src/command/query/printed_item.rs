//! Printed item: a result as it is printed, as a line for people and as JSON.
//!
//! | | line | JSON |
//! |---|---|---|
//! | text | `Ada`, within something `"Ada"` | `"Ada"` |
//! | vertex | `Person[1]`; without a unique key `Person[v0]` | `{"vertex": 0, "label": "Person", "key": 1}` |
//! | edge | `Person[1]-KNOWS->Person[2]` | `{"edge": "0-0-1-0", "type": "KNOWS", "source": ..., "target": ...}` |
//! | property | `name: "Ada"` | `{"property": "name", "value": "Ada"}` |
//! | list, path | `[1, 2]` | `[1, 2]` |
//! | set | `{1, 2}` | `[1, 2]` |
//! | map | `{"a": 1, T.id: 0}` | `{"a": 1, "T.id": 0}`; `[["1", 2], ["1", 3]]` where two keys have one text |
//!
//! A number is one in JSON if it is finite and has 64 bits at most; others are texts, as all other values are.

use evergraph_graph::id::VertexId;
use evergraph_graph::value::Value;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// A result.
#[derive(Clone, PartialEq, Debug)]
pub enum PrintedItem {
    /// Null.
    Null,
    /// A value, no collection.
    Value(Value),
    /// A word of Gremlin's: `T.id`, `OUT`.
    Word(&'static str),
    /// Results in order; a path.
    List(Vec<PrintedItem>),
    /// Different results.
    Set(Vec<PrintedItem>),
    /// A map, an entry of one, a tree.
    Map(Vec<(PrintedItem, PrintedItem)>),
    /// A vertex.
    Vertex(VertexName),
    /// An edge.
    Edge(Box<EdgeName>),
    /// A property.
    Property {
        /// Its key.
        key: Arc<str>,
        /// Its value.
        value: Box<PrintedItem>,
    },
}

/// What people know a vertex by.
#[derive(Clone, PartialEq, Debug)]
pub struct VertexName {
    /// Its number.
    pub vertex: VertexId,
    /// Its label, if it is there.
    pub label: Option<Arc<str>>,
    /// The value of its label's unique key.
    pub key: Option<Box<PrintedItem>>,
}

/// What people know an edge by.
#[derive(Clone, PartialEq, Debug)]
pub struct EdgeName {
    /// Its id as Gremlin has it.
    pub edge: String,
    /// Its type.
    pub edge_type: Arc<str>,
    /// Where it starts.
    pub source: VertexName,
    /// Where it ends.
    pub target: VertexName,
}

impl PrintedItem {
    /// Whether it is a number, which stands at the right of a column.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(
            self,
            Self::Value(
                Value::I8(_)
                    | Value::I16(_)
                    | Value::I32(_)
                    | Value::I64(_)
                    | Value::F32(_)
                    | Value::F64(_)
                    | Value::BigInteger(_)
                    | Value::Decimal(_)
            )
        )
    }

    /// Whether it can be the name of a column.
    #[must_use]
    pub fn is_name(&self) -> bool {
        matches!(self, Self::Value(Value::String(_)) | Self::Word(_))
    }
}

/// A result within another: texts are quoted.
struct Inner<'a>(&'a PrintedItem);

impl fmt::Display for Inner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            PrintedItem::Value(Value::String(text)) => write!(f, "{text:?}"),
            PrintedItem::Value(Value::Char(char)) => write!(f, "{char:?}"),
            other => other.fmt(f),
        }
    }
}

impl fmt::Display for PrintedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Value(value) => value.fmt(f),
            Self::Word(word) => f.write_str(word),
            Self::List(items) => write_all(f, "[", items, "]"),
            Self::Set(items) => write_all(f, "{", items, "}"),
            Self::Map(entries) if entries.is_empty() => f.write_str("{:}"),
            Self::Map(entries) => {
                for (place, (key, value)) in entries.iter().enumerate() {
                    let before = if place == 0 { "{" } else { ", " };
                    write!(f, "{before}{}: {}", Inner(key), Inner(value))?;
                }
                f.write_str("}")
            }
            Self::Vertex(vertex) => vertex.fmt(f),
            Self::Edge(edge) => write!(f, "{}-{}->{}", edge.source, edge.edge_type, edge.target),
            Self::Property { key, value } => write!(f, "{key}: {}", Inner(value)),
        }
    }
}

impl fmt::Display for VertexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.label, &self.key) {
            (Some(label), Some(key)) => write!(f, "{label}[{key}]"),
            (Some(label), None) => write!(f, "{label}[{}]", self.vertex),
            (None, _) => self.vertex.fmt(f),
        }
    }
}

fn write_all(f: &mut fmt::Formatter<'_>, open: &str, items: &[PrintedItem], close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (place, item) in items.iter().enumerate() {
        let before = if place == 0 { "" } else { ", " };
        write!(f, "{before}{}", Inner(item))?;
    }
    f.write_str(close)
}

impl Serialize for PrintedItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Value(value) => serialize_value(value, serializer),
            Self::Word(word) => serializer.serialize_str(word),
            Self::List(items) | Self::Set(items) => serializer.collect_seq(items),
            Self::Map(entries) => serialize_map(entries, serializer),
            Self::Vertex(vertex) => vertex.serialize(serializer),
            Self::Edge(edge) => {
                let mut fields = serializer.serialize_struct("Edge", 4)?;
                fields.serialize_field("edge", &edge.edge)?;
                fields.serialize_field("type", &*edge.edge_type)?;
                fields.serialize_field("source", &edge.source)?;
                fields.serialize_field("target", &edge.target)?;
                fields.end()
            }
            Self::Property { key, value } => {
                let mut fields = serializer.serialize_struct("Property", 2)?;
                fields.serialize_field("property", &**key)?;
                fields.serialize_field("value", value)?;
                fields.end()
            }
        }
    }
}

impl Serialize for VertexName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Vertex", 3)?;
        fields.serialize_field("vertex", &self.vertex.0)?;
        fields.serialize_field("label", &self.label.as_deref())?;
        fields.serialize_field("key", &self.key)?;
        fields.end()
    }
}

fn serialize_value<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Value::Bool(truth) => serializer.serialize_bool(*truth),
        Value::I8(number) => serializer.serialize_i8(*number),
        Value::I16(number) => serializer.serialize_i16(*number),
        Value::I32(number) => serializer.serialize_i32(*number),
        Value::I64(number) => serializer.serialize_i64(*number),
        Value::F32(number) if number.is_finite() => serializer.serialize_f32(*number),
        Value::F64(number) if number.is_finite() => serializer.serialize_f64(*number),
        Value::F32(number) => serializer.serialize_str(not_finite(f64::from(*number))),
        Value::F64(number) => serializer.serialize_str(not_finite(*number)),
        other => serializer.collect_str(other),
    }
}

/// As Gremlin writes it.
fn not_finite(number: f64) -> &'static str {
    if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

fn serialize_map<S: Serializer>(
    entries: &[(PrintedItem, PrintedItem)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let keys: Vec<String> = entries.iter().map(|(key, _)| key.to_string()).collect();
    let keyed = keys.iter().zip(entries.iter().map(|(_, value)| value));
    if keys.iter().collect::<HashSet<_>>().len() == keys.len() {
        let mut object = serializer.serialize_map(Some(keys.len()))?;
        for (key, value) in keyed {
            object.serialize_entry(key, value)?;
        }
        return object.end();
    }
    let mut pairs = serializer.serialize_seq(Some(keys.len()))?;
    for pair in keyed {
        pairs.serialize_element(&pair)?;
    }
    pairs.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: impl Into<Value>) -> PrintedItem {
        PrintedItem::Value(value.into())
    }

    fn both(shown: &PrintedItem) -> (String, String) {
        (shown.to_string(), serde_json::to_string(shown).unwrap())
    }

    #[test]
    fn texts_are_quoted_within_something() {
        let list = PrintedItem::List(vec![value("a\"b"), PrintedItem::Null, value(1.0)]);
        assert_eq!(both(&list), ("[\"a\\\"b\", null, 1.0]".to_owned(), "[\"a\\\"b\",null,1.0]".to_owned()));
        assert_eq!(both(&value("a")), ("a".to_owned(), "\"a\"".to_owned()));
        let map = PrintedItem::Map(vec![
            (PrintedItem::Word("T.id"), value(7)),
            (value("id"), PrintedItem::Set(vec![])),
        ]);
        assert_eq!(both(&map), ("{T.id: 7, \"id\": {}}".to_owned(), "{\"T.id\":7,\"id\":[]}".to_owned()));
    }

    #[test]
    fn no_entry_of_a_map_is_lost_where_keys_have_one_text() {
        let map = PrintedItem::Map(vec![(value(1), value("a")), (value("1"), value("b"))]);
        assert_eq!(serde_json::to_string(&map).unwrap(), "[[\"1\",\"a\"],[\"1\",\"b\"]]");
        assert_eq!(both(&PrintedItem::Map(Vec::new())), ("{:}".to_owned(), "{}".to_owned()));
    }

    #[test]
    fn numbers_that_json_has_no_form_of_are_texts() {
        let infinite = PrintedItem::List([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(value).to_vec());
        assert_eq!(serde_json::to_string(&infinite).unwrap(), "[\"NaN\",\"Infinity\",\"-Infinity\"]");
        assert_eq!(serde_json::to_string(&value(0.1_f32)).unwrap(), "0.1");
        assert_eq!(serde_json::to_string(&value(i64::MIN)).unwrap(), "-9223372036854775808");
        assert!(value(1_i8).is_number() && !value(true).is_number());
    }

    #[test]
    fn a_vertex_is_called_by_its_key_or_its_number() {
        let named = |label: Option<&str>, key: Option<PrintedItem>| {
            let key = key.map(Box::new);
            both(&PrintedItem::Vertex(VertexName { vertex: VertexId(3), label: label.map(Arc::from), key }))
        };
        let (line, json) = named(Some("Person"), Some(value("Ada")));
        assert_eq!((&*line, &*json), ("Person[Ada]", r#"{"vertex":3,"label":"Person","key":"Ada"}"#));
        let (line, json) = named(Some("City"), None);
        assert_eq!((&*line, &*json), ("City[v3]", r#"{"vertex":3,"label":"City","key":null}"#));
        assert_eq!(named(None, None).0, "v3");
    }
}
