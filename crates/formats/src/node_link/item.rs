//! Item: one node or link as keys and values.
//!
//! ```text
//! true, "x"   bool, string         null          no value
//! 1           long, else bigint    [1, null]     a list without it
//! 1.0, 1e3    double               {"a": 1}      a map
//! ```
//!
//! Values in `attributes`, `metadata`, `properties` and `data` are those of the item itself.

use evergraph_graph::value::collection::{DEPTH_MAX, List, Map};
use evergraph_graph::value::{Value, ValueType};

use crate::json::read::{JsonError, JsonReader, Kind};

/// The keys whose objects hold values of the item.
const WRAPPINGS: [&str; 4] = ["attributes", "metadata", "properties", "data"];

/// A node or a link.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Item {
    /// Keys and values in the file's order.
    pub entries: Vec<(String, Value)>,
    /// Whether some of them stood in `data`, as Cytoscape has them.
    pub has_data: bool,
    /// How many members stood beside `data`.
    pub beside_data: usize,
}

impl Item {
    /// Reads the item that comes next.
    ///
    /// # Errors
    /// If it isn't sound JSON, or neither an object nor an array.
    pub fn read(reader: &mut JsonReader<'_>) -> Result<Self, JsonError> {
        let mut item = Self::default();
        if reader.peek()? == Kind::Array {
            // A link as a pair of its ends.
            reader.begin_array()?;
            let mut place = 0;
            while reader.next_element()? {
                let key = ["source", "target"].get(place).copied();
                let key = key.ok_or_else(|| reader.error("expected the two ends of a link, found more"))?;
                if let Some(value) = read_value(reader, 0)? {
                    item.entries.push((key.to_owned(), value));
                }
                place += 1;
            }
            return Ok(item);
        }
        reader.begin_object()?;
        let mut beside = Vec::new();
        while let Some(key) = reader.next_key()? {
            if WRAPPINGS.contains(&&*key) && reader.peek()? == Kind::Object {
                item.has_data |= key == "data";
                reader.begin_object()?;
                while let Some(key) = reader.next_key()? {
                    if let Some(value) = read_value(reader, 0)? {
                        item.entries.push((key.into_owned(), value));
                    }
                }
            } else if let Some(value) = read_value(reader, 0)? {
                beside.push((key.into_owned(), value));
            }
        }
        item.beside_data = beside.len();
        // Ids and ends first: they are the item's, whatever its values are called.
        beside.append(&mut item.entries);
        item.entries = beside;
        Ok(item)
    }

    /// Takes the first value of `key` out.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        let at = self.entries.iter().position(|(known, _)| known == key)?;
        Some(self.entries.remove(at).1)
    }

    /// Whether there is a value of `key`.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(known, _)| known == key)
    }
}

/// Reads the value that comes next, inside of `level` others; `None` for null.
fn read_value(reader: &mut JsonReader<'_>, level: usize) -> Result<Option<Value>, JsonError> {
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
                values.extend(read_value(reader, level + 1)?);
            }
            Value::List(List::new(values).map_err(|error| reader.error(error.to_string()))?)
        }
        Kind::Object => {
            reader.begin_object()?;
            let mut entries = Vec::new();
            while let Some(key) = reader.next_key()? {
                let key = Value::from(key.into_owned());
                entries.extend(read_value(reader, level + 1)?.map(|value| (key, value)));
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

    fn read(text: &str) -> Result<Vec<String>, JsonError> {
        let item = Item::read(&mut JsonReader::new(text.as_bytes()))?;
        Ok(item.entries.iter().map(|(key, value)| format!("{key}={value}")).collect())
    }

    #[test]
    fn values_are_those_of_json_and_null_is_none() {
        assert_eq!(
            read(r#"{"a":1,"b":1.0,"c":[1,null,"x"],"d":{"e":true,"f":null},"g":null,"h":18446744073709551616}"#)
                .unwrap(),
            ["a=1", "b=1.0", "c=[1, \"x\"]", "d={\"e\": true}", "h=18446744073709551616"]
        );
        assert_eq!(read(r#"["a", 2]"#).unwrap(), ["source=a", "target=2"]);
    }

    #[test]
    fn what_is_wrapped_is_the_items_own_and_stands_behind() {
        let text = r#"{"data":{"id":"inner","w":1},"position":{"x":1},"attributes":{"c":2},"metadata":7}"#;
        let item = Item::read(&mut JsonReader::new(text.as_bytes())).unwrap();
        let keys: Vec<&str> = item.entries.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["position", "metadata", "id", "w", "c"]);
        assert_eq!((item.has_data, item.beside_data), (true, 2));
    }

    #[test]
    fn what_is_no_item_is_an_error() {
        assert!(read("7").is_err() && read("[1,2,3]").is_err() && read("{\"a\":}").is_err());
        let deep = format!("{{\"a\":{}", "[".repeat(200));
        assert!(read(&deep).unwrap_err().reason.contains("nested more than 128 deep"));
    }
}
