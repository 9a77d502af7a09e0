//! Id type: the types that ids in files can have, and which values and texts are ids.
//!
//! | type | ids are kept and compared as |
//! |---|---|
//! | `byte`, `short`, `int`, `long` | whole numbers: an edge's `long` finds a vertex whose id is an `int` |
//! | `string` | text |
//! | `bigint`, `char`, `bytes`, `date`, `datetime`, `duration`, `uuid` | values of this one type |
//!
//! Ids are compared by their bytes. So numbers that may equal others of another form (0.0 and -0.0, the
//! decimals 1.0 and 1.00) are no ids, nor are collections, nor `bool`, which tells two vertices apart.

use crate::import::field::cell::read_scalar;
use evergraph_graph::value::{Value, ValueType};
use std::fmt;

/// The type of ids in a file of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdType(ValueType);

/// As what ids are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdKind {
    /// Whole numbers of up to 64 bits.
    Integers,
    /// Texts.
    Strings,
    /// Values of this type, which is none of the others.
    Typed(ValueType),
    /// Values of any types: an `int` 1 and a `long` 1 are two ids.
    Values,
}

impl IdType {
    /// Text: `007` and `7` differ.
    pub const STRING: Self = Self(ValueType::String);
    /// Whole numbers of 64 bits with sign.
    pub const LONG: Self = Self(ValueType::I64);

    /// Ids of `value_type`; `None` if ids can't be of it.
    #[must_use]
    pub fn new(value_type: ValueType) -> Option<Self> {
        let is_one = matches!(
            value_type,
            ValueType::I8
                | ValueType::I16
                | ValueType::I32
                | ValueType::I64
                | ValueType::BigInteger
                | ValueType::Char
                | ValueType::String
                | ValueType::Bytes
                | ValueType::Date
                | ValueType::DateTime
                | ValueType::Duration
                | ValueType::Uuid
        );
        is_one.then_some(Self(value_type))
    }

    /// The type that a header calls `name`, in any case. `integer` is `long`, as the option has it.
    ///
    /// # Errors
    /// The types that there are.
    pub fn parse(name: &str) -> Result<Self, String> {
        if name.eq_ignore_ascii_case("integer") {
            return Ok(Self::LONG);
        }
        name.parse().ok().and_then(Self::new).ok_or_else(|| {
            let known: Vec<&str> =
                ValueType::all().filter(|known| Self::new(*known).is_some()).map(ValueType::name).collect();
            format!("unknown id-type {name:?}; known are {}", known.join(", "))
        })
    }

    /// The type of the property that keeps such ids.
    #[must_use]
    pub fn value_type(self) -> ValueType {
        self.0
    }

    /// As what such ids are compared.
    #[must_use]
    pub fn kind(self) -> IdKind {
        match self.0 {
            ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64 => IdKind::Integers,
            ValueType::String => IdKind::Strings,
            other => IdKind::Typed(other),
        }
    }

    /// The id `number`, if this is a type of whole numbers and holds it.
    #[must_use]
    pub fn of_number(self, number: i64) -> Option<Value> {
        match self.0 {
            ValueType::I8 => number.try_into().ok().map(Value::I8),
            ValueType::I16 => number.try_into().ok().map(Value::I16),
            ValueType::I32 => number.try_into().ok().map(Value::I32),
            ValueType::I64 => Some(Value::I64(number)),
            _ => None,
        }
    }

    /// Whether this is a type of whole numbers and holds `number`.
    #[must_use]
    #[inline]
    pub fn holds(self, number: i64) -> bool {
        match self.0 {
            ValueType::I8 => i8::try_from(number).is_ok(),
            ValueType::I16 => i16::try_from(number).is_ok(),
            ValueType::I32 => i32::try_from(number).is_ok(),
            ValueType::I64 => true,
            _ => false,
        }
    }

    /// The id that `value` is, if it is one: whole numbers fit any width that holds them and are texts as
    /// well, and a text is whatever it reads as.
    #[must_use]
    pub fn of_value(self, value: &Value) -> Option<Value> {
        match (self.0, value) {
            (_, Value::String(text)) if text.is_empty() => None,
            (own, value) if own == value.value_type() => Some(value.clone()),
            (ValueType::String, number) => number.as_i64().map(|number| Value::from(number.to_string())),
            (_, Value::String(text)) => self.read(text.as_bytes()).ok(),
            (_, number) => self.of_number(number.as_i64()?),
        }
    }

    /// The id that `text` is.
    ///
    /// # Errors
    /// Why it is none.
    pub fn read(self, text: &[u8]) -> Result<Value, String> {
        if text.is_empty() {
            return Err("the id is missing".to_owned());
        }
        read_scalar(text, self.0)
    }
}

impl fmt::Display for IdType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for IdKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integers => f.write_str("whole numbers"),
            Self::Strings => f.write_str("strings"),
            Self::Typed(value_type) => write!(f, "of type {value_type}"),
            Self::Values => f.write_str("values of any type"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_may_state_each_type_that_has_one_form_a_value() {
        for (name, value_type) in [
            ("INT", ValueType::I32),
            ("long", ValueType::I64),
            ("integer", ValueType::I64),
            ("uuid", ValueType::Uuid),
        ] {
            assert_eq!(IdType::parse(name).unwrap().value_type(), value_type);
        }
        assert_eq!(
            IdType::parse("double").unwrap_err(),
            "unknown id-type \"double\"; known are byte, short, int, long, bigint, char, string, bytes, date, \
             datetime, duration, uuid"
        );
    }

    #[test]
    fn values_become_ids_of_a_type_where_nothing_is_lost() {
        let [short, day] = ["short", "date"].map(|name| IdType::parse(name).unwrap());
        assert_eq!(short.of_value(&Value::I64(300)), Some(Value::I16(300)));
        assert_eq!(short.of_value(&Value::I64(40_000)), None);
        assert_eq!(short.of_value(&Value::from("300")), Some(Value::I16(300)));
        for number in [300, 32_767, 32_768, -32_768, -32_769, i64::MAX] {
            assert_eq!(short.holds(number), short.of_number(number).is_some());
            assert!(IdType::LONG.holds(number) && !day.holds(number));
        }
        assert_eq!(IdType::STRING.of_value(&Value::I8(7)), Some(Value::from("7")));
        assert_eq!(IdType::STRING.of_value(&Value::from("")), None);
        let date = day.of_value(&Value::from("2024-02-29")).unwrap();
        assert_eq!((date.value_type(), date.to_string().as_str()), (ValueType::Date, "2024-02-29"));
        assert_eq!(day.of_value(&Value::I64(7)), None);
    }
}
