//! Values as text for people.
//!
//! ```text
//! 42   1.0   NaN   12.50   some text   \x00ff   2024-02-29   [1, "a", 'b']   {1, 2}   {"k": 1}
//! ```
//!
//! A scalar's text is read back by [`Value::parse`] as an equal value, given its type. Within
//! collections strings and chars are quoted. An empty map is `{:}`, an empty set `{}`.

use std::fmt;

use crate::value::Value;

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(truth) => fmt::Display::fmt(truth, formatter),
            Value::I8(number) => fmt::Display::fmt(number, formatter),
            Value::I16(number) => fmt::Display::fmt(number, formatter),
            Value::I32(number) => fmt::Display::fmt(number, formatter),
            Value::I64(number) => fmt::Display::fmt(number, formatter),
            // The debug form marks a float by its point: 1.0, not 1.
            Value::F32(number) => fmt::Debug::fmt(number, formatter),
            Value::F64(number) => fmt::Debug::fmt(number, formatter),
            Value::BigInteger(number) => fmt::Display::fmt(number, formatter),
            Value::Decimal(number) => fmt::Display::fmt(number, formatter),
            Value::Char(char) => fmt::Display::fmt(char, formatter),
            Value::String(text) => fmt::Display::fmt(text, formatter),
            Value::Bytes(bytes) => {
                formatter.write_str("\\x")?;
                bytes.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
            }
            Value::Date(date) => fmt::Display::fmt(date, formatter),
            Value::DateTime(moment) => fmt::Display::fmt(moment, formatter),
            Value::Duration(duration) => fmt::Display::fmt(duration, formatter),
            Value::Uuid(uuid) => fmt::Display::fmt(uuid, formatter),
            Value::List(list) => write_values('[', list.as_slice(), ']', formatter),
            Value::Set(set) => write_values('{', set.as_slice(), '}', formatter),
            Value::Map(map) if map.as_slice().is_empty() => formatter.write_str("{:}"),
            Value::Map(map) => {
                let mut separator = "{";
                for (key, value) in map.as_slice() {
                    write!(formatter, "{separator}{}: {}", Inner(key), Inner(value))?;
                    separator = ", ";
                }
                formatter.write_str("}")
            }
        }
    }
}

fn write_values(
    open: char,
    values: &[Value],
    close: char,
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(formatter, "{open}")?;
    let mut separator = "";
    for value in values {
        write!(formatter, "{separator}{}", Inner(value))?;
        separator = ", ";
    }
    write!(formatter, "{close}")
}

/// A value within a collection: text is quoted.
struct Inner<'a>(&'a Value);

impl fmt::Display for Inner<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Char(char) => fmt::Debug::fmt(char, formatter),
            Value::String(text) => fmt::Debug::fmt(text, formatter),
            value => fmt::Display::fmt(value, formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::collection::{List, Map, Set};

    #[test]
    fn text_is_quoted_only_within_collections() {
        let list = List::new(vec![1_i64.into(), "a \"b\"".into(), 'c'.into(), 1.0.into()]).unwrap();
        let map = Map::new(vec![("k".into(), list.into()), (2_i8.into(), Set::default().into())]).unwrap();
        assert_eq!(Value::from(map).to_string(), r#"{2: {}, "k": [1, "a \"b\"", 'c', 1.0]}"#);
        assert_eq!(Value::from(Set::new(vec![2_i8.into(), 1_i8.into()]).unwrap()).to_string(), "{1, 2}");
        assert_eq!(Value::from(Map::default()).to_string(), "{:}");
        assert_eq!(Value::from("a \"b\"").to_string(), "a \"b\"");
        assert_eq!(Value::from('c').to_string(), "c");
        assert_eq!(Value::from(vec![0_u8, 255]).to_string(), "\\x00ff");
        assert_eq!(Value::from(f64::NAN).to_string(), "NaN");
    }
}
