//! Canonical: one text for each value, the same as `canonical.py` writes, which has the table.

use evergraph::Value;
use std::fmt::Write;

/// The text of a value, or of none.
pub fn text(value: Option<&Value>) -> String {
    match value {
        None => "-".to_owned(),
        Some(Value::F32(number)) => float(f64::from(*number)),
        Some(Value::F64(number)) => float(*number),
        Some(Value::Char(letter)) => format!("s:{letter}"),
        Some(Value::String(text)) => format!("s:{text}"),
        Some(Value::Bytes(bytes)) => format!("b:{}", hex(bytes)),
        Some(Value::DateTime(moment)) => {
            let nanoseconds = i128::from(moment.seconds()) * 1_000_000_000 + i128::from(moment.nanoseconds());
            format!("t:{nanoseconds}")
        }
        Some(Value::Decimal(number)) => format!("d:{number}"),
        Some(Value::Uuid(id)) => format!("u:{}", id.simple()),
        Some(Value::List(list)) => {
            let elements: Vec<String> = list.as_slice().iter().map(|element| text(Some(element))).collect();
            format!("[{}]", elements.join(","))
        }
        Some(Value::Map(map)) => {
            let entry =
                |(key, value): &(Value, Value)| format!("{}={}", key.as_str().unwrap(), text(Some(value)));
            let mut entries: Vec<String> = map.as_slice().iter().map(entry).collect();
            entries.sort();
            format!("{{{}}}", entries.join(","))
        }
        Some(other) => other.to_string(),
    }
}

fn float(number: f64) -> String {
    format!("f:{:016x}", number.to_bits())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}
