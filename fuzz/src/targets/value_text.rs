//! Value text: every text is a value or none of each type, and a value's own text means that value.

use crate::samples;
use crate::target::{Memory, Target};
use evergraph_formats::graphson::value_read::read_value;
use evergraph_formats::graphson::value_write::write_value;
use evergraph_formats::json::read::JsonReader;
use evergraph_graph::bytes::Reader;
use evergraph_graph::value::{Value, ValueType};

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 64 } };

fn seeds() -> Vec<Vec<u8>> {
    samples::TEXTS.map(|(_, text)| text.as_bytes().to_vec()).to_vec()
}

fn promise(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    for value_type in ValueType::all() {
        let value = match Value::parse(text, value_type) {
            Ok(value) => value,
            Err(error) => {
                assert!(!error.reason.is_empty(), "{text:?} is not a valid {value_type} without a reason");
                continue;
            }
        };
        assert_eq!(value.value_type(), value_type);
        assert_eq!(Value::parse(&value.to_string(), value_type).as_ref(), Ok(&value), "by its text");
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        assert_eq!(Value::decode(&mut Reader::new(&bytes)).as_ref(), Ok(&value), "by its bytes");
        let mut json = String::new();
        write_value(&mut json, &value);
        assert_eq!(read_value(&mut JsonReader::new(json.as_bytes())).as_ref(), Ok(&value), "by {json}");
    }
}
