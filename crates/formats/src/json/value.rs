//! JSON value: plain JSON as a value, for files that don't state types.
//!
//! ```text
//! true, "x"   bool, string         null          no value
//! 1           long, else bigint    [1, null]     a list without it
//! 1.0, 1e3    double               {"a": 1}      a map without members that are null
//! ```

use evergraph_graph::value::collection::{DEPTH_MAX, List, Map};
use evergraph_graph::value::{Value, ValueType};

use crate::json::read::{JsonError, JsonReader, Kind};

/// Reads the value that comes next; `None` for null.
///
/// # Errors
/// If it isn't sound JSON, or is nested more than 128 deep.
pub fn read_value(reader: &mut JsonReader<'_>) -> Result<Option<Value>, JsonError> {
    read_within(reader, 0)
}

/// As [`read_value`], inside of `level` others.
fn read_within(reader: &mut JsonReader<'_>, level: usize) -> Result<Option<Value>, JsonError> {
    if level == DEPTH_MAX {
        return Err(reader.error(format!("values are nested more than {DEPTH_MAX} deep")));
    }
    Ok(Some(match reader.peek()? {
        Kind::Null => {
            reader.read_null()?;
            return Ok(None);
        }
        Kind::Bool => Value::Bool(reader.read_bool()?),
        Kind::String => Value::from(reader.read_string()?.into_owned()),
        Kind::Number => read_number(reader)?,
        Kind::Array => {
            reader.begin_array()?;
            let mut values = Vec::new();
            while reader.next_element()? {
                values.extend(read_within(reader, level + 1)?);
            }
            Value::List(List::new(values).map_err(|error| reader.error(error.to_string()))?)
        }
        Kind::Object => {
            reader.begin_object()?;
            let mut entries = Vec::new();
            while let Some(key) = reader.next_key()? {
                let key = Value::from(key.into_owned());
                entries.extend(read_within(reader, level + 1)?.map(|value| (key, value)));
            }
            Value::Map(Map::new(entries).map_err(|error| reader.error(error.to_string()))?)
        }
    }))
}

fn read_number(reader: &mut JsonReader<'_>) -> Result<Value, JsonError> {
    let offset = reader.offset();
    let text = reader.read_number()?;
    if let Ok(number) = text.parse() {
        return Ok(Value::I64(number));
    }
    let value_type = if text.contains(['.', 'e', 'E']) { ValueType::F64 } else { ValueType::BigInteger };
    Value::parse(text, value_type).map_err(|error| JsonError { offset, reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_a_value_and_null_is_none() {
        let read = |text: &str| read_value(&mut JsonReader::new(text.as_bytes()));
        assert_eq!(read("null").unwrap(), None);
        let map = read(r#"{"a": [1, null, 2.5], "b": null, "c": 18446744073709551616}"#).unwrap().unwrap();
        assert_eq!(map.to_string(), r#"{"a": [1, 2.5], "c": 18446744073709551616}"#);
        assert!(read(&"[".repeat(200)).unwrap_err().reason.contains("nested more than 128 deep"));
    }
}
