//! Writes values as GraphSON 3; [`crate::graphson::value_read`] reads each back unchanged.
//!
//! ```text
//! bool, string           plain JSON                 date       gx:LocalDate
//! int, long              g:Int32, g:Int64           datetime   gx:OffsetDateTime
//! byte, short            gx:Byte, gx:Int16          duration   gx:Period without seconds,
//! float, double          g:Float, g:Double                     gx:Duration otherwise
//!     "NaN" "Infinity" "-Infinity" as strings       uuid       g:UUID
//! bigint, decimal        gx:BigInteger,             list, set  g:List, g:Set
//!                        gx:BigDecimal              map        g:Map
//! char, bytes            gx:Char, gx:ByteBuffer
//! ```
//!
//! Two of them mean less to Java's TinkerPop: its char is 16 bits wide, and its `Duration` has no
//! months and takes a day for 24 hours, so a duration with calendar parts *and* seconds, such as
//! `P1MT5S`, is read by nobody else.

use std::fmt::{Display, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use evergraph_graph::value::Value;
use evergraph_graph::value::duration::Duration;

use crate::json::write::write_string;

/// Appends `value` to `json`. Cost: linear, but the square of a big number's digits.
pub fn write_value(json: &mut String, value: &Value) {
    match value {
        Value::Bool(truth) => write_plain(json, truth),
        Value::String(text) => write_string(json, text),
        Value::I8(number) => write_typed(json, "gx:Byte", |json| write_plain(json, number)),
        Value::I16(number) => write_typed(json, "gx:Int16", |json| write_plain(json, number)),
        Value::I32(number) => write_typed(json, "g:Int32", |json| write_plain(json, number)),
        Value::I64(number) => write_typed(json, "g:Int64", |json| write_plain(json, number)),
        Value::F32(number) => write_float(json, "g:Float", f64::from(*number), value),
        Value::F64(number) => write_float(json, "g:Double", *number, value),
        Value::BigInteger(number) => write_typed(json, "gx:BigInteger", |json| write_plain(json, number)),
        Value::Decimal(number) => write_typed(json, "gx:BigDecimal", |json| write_plain(json, number)),
        Value::Char(character) => {
            write_typed(json, "gx:Char", |json| write_string(json, character.encode_utf8(&mut [0; 4])));
        }
        Value::Bytes(bytes) => write_typed(json, "gx:ByteBuffer", |json| {
            json.push('"');
            STANDARD.encode_string(bytes, json);
            json.push('"');
        }),
        Value::Date(date) => write_quoted(json, "gx:LocalDate", date),
        Value::DateTime(moment) => write_quoted(json, "gx:OffsetDateTime", moment),
        Value::Duration(duration) => write_duration(json, *duration),
        Value::Uuid(uuid) => write_quoted(json, "g:UUID", uuid),
        Value::List(list) => write_values(json, "g:List", list.as_slice().iter()),
        Value::Set(set) => write_values(json, "g:Set", set.as_slice().iter()),
        Value::Map(map) => {
            write_values(json, "g:Map", map.as_slice().iter().flat_map(|(key, value)| [key, value]));
        }
    }
}

fn write_typed(json: &mut String, name: &str, write: impl FnOnce(&mut String)) {
    json.push_str("{\"@type\":\"");
    json.push_str(name);
    json.push_str("\",\"@value\":");
    write(json);
    json.push('}');
}

fn write_plain(json: &mut String, text: impl Display) {
    write!(json, "{text}").expect("a string takes all that is written to it");
}

/// Writes a text that has nothing to escape.
fn write_quoted(json: &mut String, name: &str, text: impl Display) {
    write_typed(json, name, |json| write_plain(json, format_args!("\"{text}\"")));
}

fn write_float(json: &mut String, name: &str, number: f64, value: &Value) {
    if number.is_finite() {
        // The text of the value, not of `number`: the shortest that is read back, in its own width.
        write_typed(json, name, |json| write_plain(json, value));
    } else if number.is_nan() {
        write_quoted(json, name, "NaN");
    } else {
        write_quoted(json, name, if number > 0.0 { "Infinity" } else { "-Infinity" });
    }
}

fn write_duration(json: &mut String, duration: Duration) {
    let has_clock = (duration.seconds(), duration.nanoseconds()) != (0, 0);
    let has_calendar = (duration.months(), duration.days()) != (0, 0);
    write_quoted(json, if has_calendar && !has_clock { "gx:Period" } else { "gx:Duration" }, duration);
}

fn write_values<'a>(json: &mut String, name: &str, values: impl Iterator<Item = &'a Value>) {
    write_typed(json, name, |json| {
        json.push('[');
        for (place, value) in values.enumerate() {
            if place > 0 {
                json.push(',');
            }
            write_value(json, value);
        }
        json.push(']');
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphson::value_read::read_value;
    use crate::json::read::JsonReader;
    use evergraph_graph::value::ValueType;
    use evergraph_graph::value::collection::{List, Map};
    use evergraph_graph::value::strategy::any_value;
    use proptest::prelude::*;

    fn written(value: &Value) -> String {
        let mut json = String::new();
        write_value(&mut json, value);
        json
    }

    fn written_text(text: &str, value_type: ValueType) -> String {
        written(&Value::parse(text, value_type).expect(text))
    }

    #[test]
    fn values_are_written_as_tinkerpop_writes_them() {
        assert_eq!(written(&Value::from("a\"b")), r#""a\"b""#);
        assert_eq!(written(&Value::I32(29)), r#"{"@type":"g:Int32","@value":29}"#);
        assert_eq!(written(&Value::F64(1.0)), r#"{"@type":"g:Double","@value":1.0}"#);
        assert_eq!(written(&Value::F32(0.4)), r#"{"@type":"g:Float","@value":0.4}"#);
        assert_eq!(written(&Value::F64(f64::NEG_INFINITY)), r#"{"@type":"g:Double","@value":"-Infinity"}"#);
        assert_eq!(written_text("1.50", ValueType::Decimal), r#"{"@type":"gx:BigDecimal","@value":1.50}"#);
        let map =
            Map::new(vec![("a".into(), List::new(vec![Value::I8(1), true.into()]).unwrap().into())]).unwrap();
        assert_eq!(
            written(&map.into()),
            r#"{"@type":"g:Map","@value":["a",{"@type":"g:List","@value":[{"@type":"gx:Byte","@value":1},true]}]}"#
        );
        assert_eq!(written_text("0xff00", ValueType::Bytes), r#"{"@type":"gx:ByteBuffer","@value":"/wA="}"#);
    }

    #[test]
    fn durations_are_periods_where_java_has_periods() {
        for (text, name) in [
            ("P1M", "gx:Period"),
            ("P-3D", "gx:Period"),
            ("PT5S", "gx:Duration"),
            ("PT0S", "gx:Duration"),
            ("P1DT1S", "gx:Duration"),
        ] {
            assert_eq!(
                written_text(text, ValueType::Duration),
                format!(r#"{{"@type":"{name}","@value":"{text}"}}"#)
            );
        }
    }

    proptest! {
        #[test]
        fn every_value_is_read_back_as_it_was(value in any_value()) {
            let json = written(&value);
            let mut reader = JsonReader::new(json.as_bytes());
            let back = read_value(&mut reader).map_err(|error| TestCaseError::fail(format!("{error} {json}")))?;
            prop_assert!(reader.finish().is_ok());
            // The text also tells -0.0 from 0.0, and 1.0 from 1.00.
            prop_assert_eq!(back.to_string(), value.to_string());
            prop_assert_eq!(back, value);
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok());
        }

        #[test]
        fn a_cut_value_is_an_error(value in any_value()) {
            let json = written(&value);
            for end in (0..json.len()).filter(|end| json.is_char_boundary(*end)) {
                let mut reader = JsonReader::new(&json.as_bytes()[..end]);
                prop_assert!(read_value(&mut reader).is_err(), "{}", &json[..end]);
            }
        }
    }
}
