//! Types: what GraphML calls the types of properties, and how their values stand in text.
//!
//! ```text
//! attr.type  boolean int long float double string     are bool int long float double string
//! attr.type  string, evergraph.type NAME               any other type, under our own name for it
//! ```
//!
//! Readers that don't know `evergraph.type` find the value as a string (yEd extends keys the same way,
//! by `yfiles.type`). Scalars stand in the form of `Value::parse`, lists, sets and maps as GraphSON 3.
//! Names of ours are also taken from `attr.type`, since Gephi writes `short` or `bigdecimal` there.
//!
//! Blanks around a value don't count, but for strings and chars. A boolean may also be 0 or 1, and
//! an infinite number `INF`, as XML Schema has them.

use evergraph_graph::value::{Value, ValueType};

use crate::graphml::tokens::is_blank;
use crate::graphson::value_read;
use crate::graphson::value_write;
use crate::json::read::JsonReader;

/// The attribute of a key that says which of our types its values have.
pub const TYPE_ATTRIBUTE: &str = "evergraph.type";

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

/// The type that a key's attributes name.
///
/// # Errors
/// A text for people, if there is no such type, or if it is `any`.
pub fn read_type(attr_type: Option<&str>, own_type: Option<&str>) -> Result<ValueType, String> {
    let name = own_type.or(attr_type).unwrap_or("string");
    match name.parse() {
        Ok(ValueType::Any) => Err("a key cannot have the type any".to_owned()),
        Ok(value_type) => Ok(value_type),
        Err(error) => Err(error.to_string()),
    }
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
        ValueType::List | ValueType::Set | ValueType::Map => {
            let mut reader = JsonReader::new(trimmed.as_bytes());
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
        _ => Value::parse(trimmed, value_type).map_err(|error| error.to_string()),
    }
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

    #[test]
    fn types_go_by_graphml_s_names_and_ours() {
        assert_eq!(read_type(None, None), Ok(ValueType::String));
        assert_eq!(read_type(Some("boolean"), None), Ok(ValueType::Bool));
        assert_eq!(read_type(Some("bigdecimal"), None), Ok(ValueType::Decimal));
        assert_eq!(read_type(Some("string"), Some("datetime")), Ok(ValueType::DateTime));
        assert!(read_type(Some("liststring"), None).unwrap_err().contains("unknown type \"liststring\""));
        assert!(read_type(Some("string"), Some("any")).is_err());
        for value_type in ValueType::all() {
            if let Some(name) = graphml_name(value_type) {
                assert_eq!(read_type(Some(name), None), Ok(value_type));
            }
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
