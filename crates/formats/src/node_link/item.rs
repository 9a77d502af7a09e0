//! Item: one node or link as keys and values, which are read as [`crate::json::value`] has it.
//!
//! Values in `attributes`, `metadata`, `properties` and `data` are those of the item itself.

use evergraph_graph::value::Value;

use crate::json::read::{JsonError, JsonReader, Kind};
use crate::json::value::read_value;

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
                if let Some(value) = read_value(reader)? {
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
                    if let Some(value) = read_value(reader)? {
                        item.entries.push((key.into_owned(), value));
                    }
                }
            } else if let Some(value) = read_value(reader)? {
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
