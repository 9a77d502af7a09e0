//! Types: GraphML's names for the types of properties, and the text form of their values.
//!
//! ```text
//! attr.type  boolean int long float double string     are bool int long float double string
//! attr.type  string, evergraph.type NAME               any other type, under our own name for it
//! attr.type  vector_double, vector_string ...          lists as graph-tool writes them: `1, 2, 3`
//! attr.list  string, long ...                          lists as Neo4j's APOC writes them, in JSON
//! ```
//!
//! Readers that don't know `evergraph.type` find the value as a string (yEd extends keys the same way,
//! by `yfiles.type`). Scalars stand in the form of `Value::parse`, lists, sets and maps as GraphSON 3.
//! Names of ours are also taken from `attr.type`, since Gephi writes `short` or `bigdecimal` there. A type
//! that nobody knows here is text.
//!
//! Blanks around a value don't count, but for strings and chars. A boolean may also be 0 or 1, an infinite
//! number `INF`, as XML Schema has them, and a float hexadecimal, as graph-tool writes it (`0x1.8p+1`). An
//! `int` past 32 bits is a `long`: programs without limits call all of their whole numbers `int`.

use evergraph_graph::value::collection::List;
use evergraph_graph::value::shortened::Shortened;
use evergraph_graph::value::{Value, ValueType};

use crate::graphson::value_read;
use crate::graphson::value_write;
use crate::json::read::JsonReader;
use crate::xml::tokens::{Tag, is_blank};

/// The attribute of a key that says which of our types its values have.
pub const TYPE_ATTRIBUTE: &str = "evergraph.type";

/// The attribute of a key or of data that says in which form the key's name or the value stands.
pub const FORM_ATTRIBUTE: &str = "evergraph.form";
/// GraphSON: for texts with characters that XML can't hold, which JSON escapes.
pub const GRAPHSON_FORM: &str = "graphson";

/// What stands before the name of an element's type where graph-tool calls a type of lists.
const VECTOR: &str = "vector_";

/// What the values of a key are, and how they stand there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyType {
    /// Values of this type.
    Of(ValueType),
    /// Lists of values of this type, with `, ` between them.
    Vector(ValueType),
    /// Lists in JSON.
    JsonList,
    /// Text, since the type that is named isn't known.
    Unknown,
}

/// GraphML's name for `value_type`, if it has one.
#[must_use]
pub fn graphml_name(value_type: ValueType) -> Option<&'static str> {
    match value_type {
        ValueType::Bool => Some("boolean"),
        ValueType::I32 => Some("int"),
        ValueType::I64 => Some("long"),
        ValueType::F32 => Some("float"),
        ValueType::F64 => Some("double"),
        ValueType::String => Some("string"),
        _ => None,
    }
}

/// The type that the attributes of a key's tag name.
///
/// # Errors
/// A text for people, if it is `any`, or if our own attribute names no type.
pub fn read_key_type(tag: &Tag) -> Result<KeyType, String> {
    let named = |name: &str| match name.parse() {
        Ok(ValueType::Any) => Err("a key cannot have the type any".to_owned()),
        Ok(value_type) => Ok(value_type),
        Err(error) => Err(error.to_string()),
    };
    if let Some(own) = tag.attribute(TYPE_ATTRIBUTE) {
        return named(own).map(KeyType::Of);
    }
    if tag.attribute("attr.list").is_some() {
        return Ok(KeyType::JsonList);
    }
    let name = tag.attribute("attr.type").unwrap_or("string");
    match name.parse::<ValueType>() {
        Ok(_) => named(name).map(KeyType::Of),
        Err(_) => Ok(match name.strip_prefix(VECTOR).map(named) {
            Some(Ok(element)) => KeyType::Vector(element),
            _ => KeyType::Unknown,
        }),
    }
}

/// Reads `text` as a value of a key of `key_type`; `None` for a blank text that stands for no value, as it
/// does wherever a value has characters.
///
/// # Errors
/// As [`read_value`].
pub fn read_key_value(text: &str, key_type: KeyType) -> Result<Option<Value>, String> {
    let is_text = matches!(key_type, KeyType::Of(ValueType::String | ValueType::Char) | KeyType::Unknown);
    if !is_text && text.trim_matches(is_blank).is_empty() {
        // A vector without elements looks the same.
        return if matches!(key_type, KeyType::Vector(_)) { list(Vec::new()).map(Some) } else { Ok(None) };
    }
    match key_type {
        KeyType::Of(ValueType::I32) => {
            let narrow = read_value(text, ValueType::I32);
            narrow.or_else(|error| read_value(text, ValueType::I64).map_err(|_| error))
        }
        KeyType::Of(value_type) => read_value(text, value_type),
        KeyType::Unknown => Ok(Value::from(text)),
        KeyType::JsonList => read_value(text, ValueType::List),
        KeyType::Vector(ValueType::String) => {
            list(text.split(", ").map(|piece| Value::from(plain_text(piece))).collect())
        }
        KeyType::Vector(element) => {
            let elements = text.split(',').map(|piece| read_value(piece, element));
            list(elements.collect::<Result<_, _>>()?)
        }
    }
    .map(Some)
}

/// A text of a vector, in which graph-tool escapes the backslash and the blank behind a comma.
fn plain_text(escaped: &str) -> String {
    escaped.replace(",\\ ", ", ").replace("\\\\", "\\")
}

fn list(elements: Vec<Value>) -> Result<Value, String> {
    List::new(elements).map(Value::List).map_err(|error| error.to_string())
}

/// Reads `text` as a value of `value_type`.
///
/// # Errors
/// A text for people, if it isn't one.
pub fn read_value(text: &str, value_type: ValueType) -> Result<Value, String> {
    let trimmed = text.trim_matches(is_blank);
    match value_type {
        ValueType::String => Ok(Value::from(text)),
        ValueType::Char => Value::parse(text, value_type).map_err(|error| error.to_string()),
        ValueType::Bool if trimmed == "1" => Ok(Value::Bool(true)),
        ValueType::Bool if trimmed == "0" => Ok(Value::Bool(false)),
        ValueType::List | ValueType::Set | ValueType::Map => read_graphson(trimmed, value_type),
        ValueType::F64 if is_hexadecimal(trimmed) => hexadecimal(trimmed).map(Value::F64),
        ValueType::F32 if is_hexadecimal(trimmed) => {
            hexadecimal(trimmed).map(|number| Value::F32(number as f32))
        }
        _ => Value::parse(trimmed, value_type).map_err(|error| error.to_string()),
    }
}

/// Reads `text`, which is GraphSON, as a value of `value_type`.
///
/// # Errors
/// A text for people, if it isn't one.
pub fn read_graphson(text: &str, value_type: ValueType) -> Result<Value, String> {
    let mut reader = JsonReader::new(text.as_bytes());
    let value = value_read::read_value(&mut reader).and_then(|value| {
        reader.finish()?;
        Ok(value)
    });
    let value = value.map_err(|error| format!("a {value_type} in GraphSON: {error}"))?;
    if value.value_type() != value_type {
        return Err(format!("expected a {value_type} in GraphSON, found a {}", value.value_type()));
    }
    Ok(value)
}

/// The text of `value` in GraphSON, without any character that XML can't hold.
#[must_use]
pub fn write_graphson(value: &Value) -> String {
    let mut json = String::new();
    value_write::write_value(&mut json, value);
    // JSON escapes the others, and these stand in strings only.
    json.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff")
}

fn is_hexadecimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with("0x") || digits.starts_with("0X")
}

/// Reads a float as C's `%a` writes it: `-0x1.8p+1` is -3.
fn hexadecimal(text: &str) -> Result<f64, String> {
    let wrong = || format!("{} is not a valid hexadecimal float, such as 0x1.8p+1", Shortened::new(text));
    let (is_negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let rest = rest.get(2..).ok_or_else(wrong)?;
    let (digits, exponent) = rest.split_once(['p', 'P']).unwrap_or((rest, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| wrong())?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // A double has at most 14 digits; more than 15 would be rounded twice.
    if whole.len() + fraction.len() > 15 || whole.is_empty() || !(-2000..=2000).contains(&exponent) {
        return Err(wrong());
    }
    let bits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).map_err(|_| wrong())?;
    let exponent = exponent - 4 * fraction.len() as i32;
    // In two steps, since the first alone may leave the range of a double's exponents.
    let half = exponent / 2;
    let number = bits as f64 * 2_f64.powi(half) * 2_f64.powi(exponent - half);
    Ok(if is_negative { -number } else { number })
}

/// The text of `value`, which [`read_value`] reads back. Not escaped yet.
#[must_use]
pub fn write_value(value: &Value) -> String {
    match value {
        Value::List(_) | Value::Set(_) | Value::Map(_) => {
            let mut json = String::new();
            value_write::write_value(&mut json, value);
            json
        }
        Value::F32(number) if number.is_infinite() => infinity(f64::from(*number)),
        Value::F64(number) if number.is_infinite() => infinity(*number),
        _ => value.to_string(),
    }
}

/// Java's text, which Python reads as well.
fn infinity(number: f64) -> String {
    if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::strategy::any_value;
    use proptest::prelude::*;

    fn key_type(attributes: &[(&str, &str)]) -> Result<KeyType, String> {
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let (name, position) = ("key".to_owned(), crate::element::Position::START);
        read_key_type(&Tag { name, attributes: attributes.collect(), position })
    }

    #[test]
    fn types_go_by_graphml_s_names_and_ours_and_those_of_others() {
        let named = |name| key_type(&[("attr.type", name)]);
        let own = |name| key_type(&[("attr.type", "string"), (TYPE_ATTRIBUTE, name)]);
        assert_eq!(key_type(&[]), Ok(KeyType::Of(ValueType::String)));
        assert_eq!(named("boolean"), Ok(KeyType::Of(ValueType::Bool)));
        assert_eq!(named("bigdecimal"), Ok(KeyType::Of(ValueType::Decimal)));
        assert_eq!(named("vector_double"), Ok(KeyType::Vector(ValueType::F64)));
        assert_eq!(named("python_object"), Ok(KeyType::Unknown));
        assert_eq!(key_type(&[("attr.type", "string"), ("attr.list", "long")]), Ok(KeyType::JsonList));
        assert_eq!(own("datetime"), Ok(KeyType::Of(ValueType::DateTime)));
        assert!(own("liststring").unwrap_err().contains("unknown type \"liststring\""));
        assert!(own("any").is_err() && named("any").is_err());
        for value_type in ValueType::all() {
            if let Some(name) = graphml_name(value_type) {
                assert_eq!(named(name), Ok(KeyType::Of(value_type)));
            }
        }
    }

    #[test]
    fn values_of_keys_may_be_absent_lists_or_wide() {
        let read = |text: &str, key_type| {
            read_key_value(text, key_type).map(|value| value.map(|value| value.to_string()))
        };
        let some = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(read(" ", KeyType::Of(ValueType::F64)), Ok(None));
        assert_eq!(read_key_value("", KeyType::Of(ValueType::String)), Ok(Some("".into())));
        assert_eq!(read("1, 2.5", KeyType::Vector(ValueType::F64)), some("[1.0, 2.5]"));
        assert_eq!(read("", KeyType::Vector(ValueType::F64)), some("[]"));
        assert_eq!(
            read("a, b,\\ c, d\\\\", KeyType::Vector(ValueType::String)),
            some("[\"a\", \"b, c\", \"d\\\\\"]")
        );
        assert_eq!(read("[1, 2]", KeyType::JsonList), some("[1, 2]"));
        assert_eq!(
            read_key_value("3000000000", KeyType::Of(ValueType::I32)),
            Ok(Some(Value::I64(3_000_000_000)))
        );
        assert!(read("x", KeyType::Of(ValueType::I32)).unwrap_err().contains("not a valid int"));
        assert!(read("1, x", KeyType::Vector(ValueType::I32)).is_err());
    }

    #[test]
    fn hexadecimal_floats_are_exact() {
        let read = |text: &str| read_value(text, ValueType::F64);
        assert_eq!(read("0x1.8p+1"), Ok(Value::F64(3.0)));
        assert_eq!(read("-0x1.999999999999ap-4"), Ok(Value::F64(-0.1)));
        assert_eq!(read("0x0p+0"), Ok(Value::F64(0.0)));
        assert_eq!(read("0x1.fffffffffffffp+1023"), Ok(Value::F64(f64::MAX)));
        assert_eq!(read("0x0.0000000000001p-1022"), Ok(Value::F64(5e-324)));
        for wrong in ["0x", "0x1.8p", "0xg", "0x1p99999", "0x1.23456789abcdef012p0"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_of_other_programs_are_read() {
        assert_eq!(read_value(" 29\n", ValueType::I32), Ok(Value::I32(29)));
        assert_eq!(read_value("1", ValueType::Bool), Ok(Value::Bool(true)));
        assert_eq!(read_value("False", ValueType::Bool), Ok(Value::Bool(false)));
        assert_eq!(read_value("-INF", ValueType::F64), Ok(Value::F64(f64::NEG_INFINITY)));
        assert_eq!(read_value(" a ", ValueType::String), Ok(" a ".into()));
        assert_eq!(read_value(" ", ValueType::Char), Ok(' '.into()));
        for (text, value_type) in [
            ("", ValueType::I32),
            ("1.0", ValueType::I64),
            ("yes", ValueType::Bool),
            ("[1", ValueType::List),
            ("[1] 2", ValueType::List),
            ("[1]", ValueType::Set),
        ] {
            assert!(read_value(text, value_type).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_value_is_read_back_from_its_text(value in any_value()) {
            let back = read_value(&write_value(&value), value.value_type());
            prop_assert_eq!(back.as_ref().map(ToString::to_string), Ok(value.to_string()));
            prop_assert_eq!(back, Ok(value));
        }
    }
}
