//! Reads values from GraphSON exactly: no number is converted through another type.
//!
//! ```text
//! JSON                            VALUE       JSON                              VALUE
//! true, "text"                    bool string gx:BigInteger  number or string   bigint
//! 29                              the first   gx:BigDecimal  number or string   decimal, scale kept
//!                of int, long, bigint that    gx:Char        "x"                char
//!                holds it                     gx:ByteBuffer  base64             bytes
//! 0.5, 5e-1                       double      gx:LocalDate   "2016-01-01"       date
//! [1, "a"]                        list        gx:OffsetDateTime, gx:Instant     datetime
//! {"a": 1}                        map         gx:LocalDateTime                  datetime, as if UTC
//! g:Int32, g:Int64                int, long   gx:ZonedDateTime ...[Zone]        datetime; its offset
//! gx:Byte, gx:Int16               byte, short                                   stays, not the zone
//! g:Float, g:Double               float,      g:Date, g:Timestamp  ms of 1970   datetime
//!     also "NaN", "-Infinity"     double      gx:Duration    "PT5H"             duration
//! g:List, g:Set                   list, set   gx:Period      "P1Y2M"            duration
//! g:Map  [key, value, ...]        map         g:UUID         "41d2..."          uuid
//! g:T, g:Direction                string, such as "id" or "OUT"
//! ```
//!
//! `null` is no value: a property that is null is absent (see `line_read`), and a null inside a list
//! is refused. So is a key that stands twice in a map, every other type, by its name, and what is
//! nested deeper than 128 levels. Memory: at most about 24 bytes for each two of the text, twice while
//! a list grows.
//!
//! Source: TinkerPop's GraphSON reference, sections "Core" and "Extended" of version 3.0. Differs:
//! Python's driver writes big numbers as strings, and JavaScript's longs, which are read too.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use evergraph_graph::value::collection::{DEPTH_MAX, List, Map, Set};
use evergraph_graph::value::{Value, ValueType};

use crate::graphson::typed::read_typed;
use crate::json::read::{JsonError, JsonReader, Kind};

/// Why collections can be made: none is opened inside of [`DEPTH_MAX`] others.
const LEVELS_COUNTED: &str = "levels are counted while a value is read";

/// Reads the value that comes next.
///
/// # Errors
/// If the JSON isn't sound, or has no value as the caption of this file says.
pub fn read_value(reader: &mut JsonReader<'_>) -> Result<Value, JsonError> {
    read_at(reader, 0)
}

/// Reads the JSON that comes next as a value of the GraphSON type `name`, whose `@value` it is.
///
/// # Errors
/// As [`read_value`]; a `name` that stands for no value is named.
pub fn read_typed_value(name: &str, reader: &mut JsonReader<'_>) -> Result<Value, JsonError> {
    read_named(name, reader, 0)
}

/// Reads a value inside of `level` collections.
fn read_at(reader: &mut JsonReader<'_>, level: usize) -> Result<Value, JsonError> {
    match reader.peek()? {
        Kind::Null => Err(reader.error("null is not a value")),
        Kind::Bool => reader.read_bool().map(Value::Bool),
        Kind::Number => read_untyped_number(reader),
        Kind::String => Ok(Value::String(reader.read_string()?.into())),
        Kind::Array => read_list(reader, level),
        Kind::Object => match read_typed(reader, |name, reader| read_named(name, reader, level))? {
            Some(value) => Ok(value),
            None => read_untyped_map(reader, level),
        },
    }
}

fn read_named(name: &str, reader: &mut JsonReader<'_>, level: usize) -> Result<Value, JsonError> {
    match name {
        "g:Int32" => read_number(reader, ValueType::I32),
        "g:Int64" => read_big(reader, ValueType::I64),
        "gx:Byte" => read_number(reader, ValueType::I8),
        "gx:Int16" => read_number(reader, ValueType::I16),
        "g:Float" => read_float(reader, ValueType::F32),
        "g:Double" => read_float(reader, ValueType::F64),
        "gx:BigInteger" => read_big(reader, ValueType::BigInteger),
        "gx:BigDecimal" => read_big(reader, ValueType::Decimal),
        "g:UUID" => read_text(reader, ValueType::Uuid),
        "g:Date" | "g:Timestamp" => read_number(reader, ValueType::DateTime),
        "gx:Char" => read_text(reader, ValueType::Char),
        "gx:LocalDate" => read_text(reader, ValueType::Date),
        "gx:OffsetDateTime" | "gx:Instant" | "gx:LocalDateTime" | "gx:ZonedDateTime" => read_moment(reader),
        "gx:Duration" => read_text(reader, ValueType::Duration),
        "gx:Period" => read_period(reader),
        "gx:ByteBuffer" => read_bytes(reader),
        "g:List" => read_list(reader, level),
        "g:Set" => read_set(reader, level),
        "g:Map" => read_map(reader, level),
        "g:T" => read_word(reader, &["id", "label", "key", "value"]),
        "g:Direction" => read_word(reader, &["OUT", "IN", "BOTH"]),
        _ => Err(reader.error(format!("values of the type `{name}` are not supported"))),
    }
}

/// Turns `text` into a value; an error is at `offset`.
fn parse(text: &str, value_type: ValueType, offset: usize) -> Result<Value, JsonError> {
    Value::parse(text, value_type).map_err(|error| JsonError { offset, reason: error.to_string() })
}

fn read_untyped_number(reader: &mut JsonReader<'_>) -> Result<Value, JsonError> {
    let offset = reader.offset();
    let text = reader.read_number()?;
    if text.contains(['.', 'e', 'E']) {
        return parse(text, ValueType::F64, offset);
    }
    if let Ok(number) = text.parse() {
        return Ok(Value::I32(number));
    }
    match text.parse() {
        Ok(number) => Ok(Value::I64(number)),
        Err(_) => parse(text, ValueType::BigInteger, offset),
    }
}

fn read_number(reader: &mut JsonReader<'_>, value_type: ValueType) -> Result<Value, JsonError> {
    let offset = reader.offset();
    parse(reader.read_number()?, value_type, offset)
}

fn read_text(reader: &mut JsonReader<'_>, value_type: ValueType) -> Result<Value, JsonError> {
    let offset = reader.offset();
    parse(&reader.read_string()?, value_type, offset)
}

fn read_float(reader: &mut JsonReader<'_>, value_type: ValueType) -> Result<Value, JsonError> {
    if reader.peek()? != Kind::String {
        return read_number(reader, value_type);
    }
    let offset = reader.offset();
    let text = reader.read_string()?;
    if !matches!(&*text, "NaN" | "Infinity" | "-Infinity") {
        let reason = "expected a number, \"NaN\", \"Infinity\" or \"-Infinity\"".to_owned();
        return Err(JsonError { offset, reason });
    }
    parse(&text, value_type, offset)
}

fn read_big(reader: &mut JsonReader<'_>, value_type: ValueType) -> Result<Value, JsonError> {
    match reader.peek()? {
        Kind::String => read_text(reader, value_type),
        _ => read_number(reader, value_type),
    }
}

fn read_moment(reader: &mut JsonReader<'_>) -> Result<Value, JsonError> {
    let offset = reader.offset();
    let text = reader.read_string()?;
    // Java writes the zone's name behind the offset that it has at the moment.
    let moment = match text.split_once('[') {
        Some((moment, zone)) if zone.ends_with(']') => moment,
        _ => &text,
    };
    // The reader of values would take a number for milliseconds.
    if !moment.contains('T') {
        let reason = format!("expected a moment such as 2016-12-14T16:14:36+02:00, found {moment:?}");
        return Err(JsonError { offset, reason });
    }
    parse(moment, ValueType::DateTime, offset)
}

fn read_period(reader: &mut JsonReader<'_>) -> Result<Value, JsonError> {
    let offset = reader.offset();
    let value = read_text(reader, ValueType::Duration)?;
    match value {
        Value::Duration(duration) if (duration.seconds(), duration.nanoseconds()) == (0, 0) => Ok(value),
        _ => Err(JsonError { offset, reason: "a period has years, months and days only".to_owned() }),
    }
}

fn read_bytes(reader: &mut JsonReader<'_>) -> Result<Value, JsonError> {
    let offset = reader.offset();
    let text = reader.read_string()?;
    let bytes = STANDARD.decode(&*text);
    bytes.map(Value::from).map_err(|error| JsonError { offset, reason: format!("bytes in base64: {error}") })
}

fn read_word(reader: &mut JsonReader<'_>, words: &[&str]) -> Result<Value, JsonError> {
    let offset = reader.offset();
    let word = reader.read_string()?;
    if !words.contains(&&*word) {
        return Err(JsonError { offset, reason: format!("expected one of {}", words.join(", ")) });
    }
    Ok(Value::String(word.into()))
}

fn read_list(reader: &mut JsonReader<'_>, level: usize) -> Result<Value, JsonError> {
    Ok(Value::List(List::new(read_values(reader, level)?).expect(LEVELS_COUNTED)))
}

fn read_set(reader: &mut JsonReader<'_>, level: usize) -> Result<Value, JsonError> {
    Ok(Value::Set(Set::new(read_values(reader, level)?).expect(LEVELS_COUNTED)))
}

/// Reads the values of an array that is a collection inside of `level` others.
fn read_values(reader: &mut JsonReader<'_>, level: usize) -> Result<Vec<Value>, JsonError> {
    let level = deeper(reader, level)?;
    let mut values = Vec::new();
    reader.begin_array()?;
    while reader.next_element()? {
        values.push(read_at(reader, level)?);
    }
    Ok(values)
}

fn read_map(reader: &mut JsonReader<'_>, level: usize) -> Result<Value, JsonError> {
    let level = deeper(reader, level)?;
    let mut entries = Vec::new();
    reader.begin_array()?;
    while reader.next_element()? {
        let key = read_at(reader, level)?;
        if !reader.next_element()? {
            return Err(reader.error("the last key of a map has no value"));
        }
        entries.push((key, read_at(reader, level)?));
    }
    map_of(reader, entries)
}

fn read_untyped_map(reader: &mut JsonReader<'_>, level: usize) -> Result<Value, JsonError> {
    let level = deeper(reader, level)?;
    let mut entries = Vec::new();
    reader.begin_object()?;
    while let Some(key) = reader.next_key()? {
        if key == "@class" {
            return Err(reader.error("GraphSON 1 with embedded Java types (@class) is not read"));
        }
        entries.push((Value::String(key.into()), read_at(reader, level)?));
    }
    map_of(reader, entries)
}

fn map_of(reader: &mut JsonReader<'_>, entries: Vec<(Value, Value)>) -> Result<Value, JsonError> {
    let count = entries.len();
    let map = Map::new(entries).expect(LEVELS_COUNTED);
    if map.as_slice().len() < count {
        return Err(reader.error("the map before this place has a key twice"));
    }
    Ok(Value::Map(map))
}

fn deeper(reader: &mut JsonReader<'_>, level: usize) -> Result<usize, JsonError> {
    if level == DEPTH_MAX {
        return Err(reader.error(format!("a value is nested more than {DEPTH_MAX} deep")));
    }
    Ok(level + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, JsonError> {
        let mut reader = JsonReader::new(text.as_bytes());
        let value = read_value(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }

    fn typed(name: &str, json: &str) -> Result<Value, JsonError> {
        read(&format!(r#"{{"@type": "{name}", "@value": {json}}}"#))
    }

    fn value(text: &str, value_type: ValueType) -> Value {
        Value::parse(text, value_type).expect(text)
    }

    #[test]
    fn json_without_types_has_the_types_that_java_gives_it() {
        assert_eq!(read("true"), Ok(Value::Bool(true)));
        assert_eq!(read("2147483647"), Ok(Value::I32(i32::MAX)));
        assert_eq!(read("2147483648"), Ok(Value::I64(2_147_483_648)));
        assert_eq!(read("-9223372036854775808"), Ok(Value::I64(i64::MIN)));
        assert_eq!(read("9223372036854775808"), Ok(value("9223372036854775808", ValueType::BigInteger)));
        assert_eq!(read("1.0"), Ok(Value::F64(1.0)));
        assert_eq!(read("1e2"), Ok(Value::F64(100.0)));
        assert_eq!(read(r#""1""#), Ok("1".into()));
        let list = List::new(vec![Value::I32(1), "a".into()]).unwrap();
        assert_eq!(read(r#"[1, "a"]"#), Ok(list.into()));
        let map = Map::new(vec![("a".into(), Value::I32(1)), ("@type".into(), Value::I32(2))]).unwrap();
        assert_eq!(read(r#"{"a": 1, "@type": 2}"#), Ok(map.into()));
    }

    #[test]
    fn the_samples_of_the_reference_are_read() {
        // From TinkerPop's IO reference, GraphSON 3.0, "Core" and "Extended".
        let moment = |text| value(text, ValueType::DateTime);
        for (name, json, expected) in [
            ("g:Date", "1481750076295", moment("2016-12-14T21:14:36.295Z")),
            ("g:Timestamp", "1481750076295", moment("2016-12-14T21:14:36.295Z")),
            ("g:Double", "100.0", Value::F64(100.0)),
            ("g:Float", "100.0", Value::F32(100.0)),
            ("g:Int32", "100", Value::I32(100)),
            ("g:Int64", "100", Value::I64(100)),
            (
                "g:UUID",
                r#""41d2e28a-20a4-4ab0-b379-d810dede3786""#,
                value("41d2e28a-20a4-4ab0-b379-d810dede3786", ValueType::Uuid),
            ),
            ("g:T", r#""label""#, "label".into()),
            ("g:Direction", r#""OUT""#, "OUT".into()),
            (
                "gx:BigDecimal",
                "123456789987654321123456789987654321",
                value("123456789987654321123456789987654321", ValueType::Decimal),
            ),
            (
                "gx:BigInteger",
                "123456789987654321123456789987654321",
                value("123456789987654321123456789987654321", ValueType::BigInteger),
            ),
            ("gx:Byte", "1", Value::I8(1)),
            ("gx:ByteBuffer", r#""c29tZSBieXRlcyBmb3IgeW91""#, b"some bytes for you".as_slice().into()),
            ("gx:Char", r#""x""#, 'x'.into()),
            ("gx:Duration", r#""PT120H""#, value("PT120H", ValueType::Duration)),
            ("gx:Instant", r#""2016-12-14T16:39:19.349Z""#, moment("2016-12-14T16:39:19.349Z")),
            ("gx:LocalDate", r#""2016-01-01""#, value("2016-01-01", ValueType::Date)),
            ("gx:LocalDateTime", r#""2016-01-01T12:30""#, moment("2016-01-01T12:30Z")),
            ("gx:OffsetDateTime", r#""2007-12-03T10:15:30+01:00""#, moment("2007-12-03T10:15:30+01:00")),
            ("gx:Period", r#""P1Y6M15D""#, value("P1Y6M15D", ValueType::Duration)),
            ("gx:Int16", "100", Value::I16(100)),
            (
                "gx:ZonedDateTime",
                r#""2016-12-23T12:12:24.000000036+02:00[GMT+02:00]""#,
                moment("2016-12-23T12:12:24.000000036+02:00"),
            ),
        ] {
            assert_eq!(typed(name, json), Ok(expected), "{name}");
        }
        let numbers = vec![Value::I32(1), "person".into(), Value::Bool(true)];
        let json = r#"[{"@type":"g:Int32","@value":1}, "person", true]"#;
        assert_eq!(typed("g:List", json), Ok(List::new(numbers.clone()).unwrap().into()));
        assert_eq!(typed("g:Set", json), Ok(Set::new(numbers).unwrap().into()));
        let map = Map::new(vec![
            (value("1970-01-01T00:00Z", ValueType::DateTime), "red".into()),
            (List::new(vec![Value::I32(1)]).unwrap().into(), Value::I32(2)),
        ]);
        let json = r#"[{"@type":"g:Date","@value":0}, "red", {"@type":"g:List","@value":[1]}, 2]"#;
        assert_eq!(typed("g:Map", json), Ok(map.unwrap().into()));
    }

    #[test]
    fn numbers_are_not_rounded_on_their_way() {
        assert_eq!(typed("g:Int64", "9007199254740993"), Ok(Value::I64(9_007_199_254_740_993)));
        assert_eq!(typed("g:Int64", "\"9007199254740993\""), Ok(Value::I64(9_007_199_254_740_993)));
        // A reader that rounds twice, or works with too few digits, misses these.
        for text in
            ["0.1", "2.2250738585072011e-308", "9007199254740993.0", "1.7976931348623157e308", "5e-324"]
        {
            assert_eq!(typed("g:Double", text), Ok(Value::F64(text.parse().unwrap())), "{text}");
        }
        assert_eq!(typed("g:Float", "0.1"), Ok(Value::F32(0.1)));
        assert_eq!(typed("gx:BigDecimal", "12.50").unwrap().to_string(), "12.50");
        assert_eq!(typed("gx:BigDecimal", "\"12.50\"").unwrap().to_string(), "12.50");
        assert_eq!(typed("g:Double", "\"-Infinity\""), Ok(Value::F64(f64::NEG_INFINITY)));
        assert_eq!(typed("g:Float", "\"NaN\""), Ok(Value::F32(f32::NAN)));
    }

    #[test]
    fn what_does_not_fit_its_type_is_refused_with_the_place() {
        for (name, json) in [
            ("g:Int32", "2147483648"),
            ("g:Int32", "1.0"),
            ("g:Int32", "\"1\""),
            ("g:Int64", "9223372036854775808"),
            ("g:Int64", "1e3"),
            ("gx:Byte", "128"),
            ("gx:Int16", "40000"),
            ("g:Double", "1e309"),
            ("g:Float", "1e39"),
            ("g:Double", "\"1.0\""),
            ("g:Double", "\"nan\""),
            ("g:UUID", "\"41d2\""),
            ("g:Date", "\"2016-01-01\""),
            ("g:Date", "9223372036854775807"),
            ("gx:Char", "\"xy\""),
            ("gx:ByteBuffer", "\"c29t*\""),
            ("gx:ByteBuffer", "\"c29tZ\""),
            ("gx:LocalDate", "\"2016-02-30\""),
            ("gx:Instant", "\"0\""),
            ("gx:OffsetDateTime", "\"2007-12-03\""),
            ("gx:Period", "\"P1DT1H\""),
            ("gx:Duration", "\"1h\""),
            ("gx:BigInteger", "1.5"),
            ("gx:BigDecimal", "1e999999"),
            ("g:T", "\"name\""),
            ("g:Direction", "\"out\""),
            ("g:List", "{}"),
            ("g:Map", "{}"),
        ] {
            let error = typed(name, json).expect_err(json);
            assert_eq!(error.offset, 24 + name.len(), "{name} {error}");
        }
    }

    #[test]
    fn types_without_a_value_are_named() {
        for name in ["gx:LocalTime", "gx:InetAddress", "g:BulkSet", "g:Vertex", "x:Own", ""] {
            assert_eq!(
                typed(name, "1").unwrap_err().reason,
                format!("values of the type `{name}` are not supported")
            );
        }
        assert_eq!(read("null").unwrap_err().reason, "null is not a value");
        assert_eq!(read("[1, null]").unwrap_err().offset, 4);
        assert!(read(r#"{"@class": "java.util.HashMap"}"#).unwrap_err().reason.contains("GraphSON 1"));
    }

    #[test]
    fn a_key_stands_once() {
        assert!(read(r#"{"a": 1, "a": 1}"#).is_err());
        assert!(typed("g:Map", r#"["a", 1, "a", 2]"#).is_err());
        assert!(typed("g:Map", r#"["a", 1, "b"]"#).is_err());
        assert!(typed("g:Map", r#"["a", 1, {"@type": "gx:Char", "@value": "a"}, 2]"#).is_ok());
    }

    #[test]
    fn values_are_at_most_128_deep_however_they_are_written() {
        let forms = [
            ("[", "]"),
            (r#"{"a":"#, "}"),
            (r#"{"@type":"g:List","@value":["#, "]}"),
            (r#"{"@value":["#, r#"],"@type":"g:Set"}"#),
        ];
        for (open, close) in forms {
            let nested = |depth: usize| read(&format!("{}1{}", open.repeat(depth), close.repeat(depth)));
            assert_eq!(nested(DEPTH_MAX).unwrap().depth(), DEPTH_MAX);
            assert!(nested(DEPTH_MAX + 1).unwrap_err().reason.contains("deep"), "{open}");
            assert!(nested(100_000).unwrap_err().reason.contains("deep"), "{open}");
        }
    }
}
