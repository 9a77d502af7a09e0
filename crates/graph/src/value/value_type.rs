//! Value type: the names and codes of the nineteen types that a property can have.
//!
//! ```text
//! CODE  NAME      ALSO WRITTEN                     CODE  NAME      ALSO WRITTEN
//!    1  bool      boolean                            11  string    text
//!    2  byte      i8, int8                           12  bytes     bytearray
//!    3  short     i16, int16                         13  date      localdate
//!    4  int       i32, int32, integer                14  datetime  localdatetime, zoneddatetime, ...
//!    5  long      i64, int64                         15  duration  interval
//!    6  float     f32, float32                       16  uuid
//!    7  double    f64, float64                       17  list
//!    8  bigint    biginteger                         18  set
//!    9  decimal   bigdecimal, numeric                19  map
//!   10  char      character                          20  any
//! ```
//!
//! Codes are part of the file format: none is ever given a second meaning, and 0 never becomes one,
//! so that zeroed bytes hold no type. No value has type `any`: its code stands in schemas only.
//!
//! Names are read in any case; those of Neo4j's CSV headers and of Java are among them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::value::shortened::Shortened;

/// The type of a value, or `Any`: the declared type of a property that may hold values of all types.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum ValueType {
    /// True or false.
    Bool = 1,
    /// A signed integer of 8 bits.
    I8 = 2,
    /// A signed integer of 16 bits.
    I16 = 3,
    /// A signed integer of 32 bits.
    I32 = 4,
    /// A signed integer of 64 bits.
    I64 = 5,
    /// A binary floating-point number of 32 bits.
    F32 = 6,
    /// A binary floating-point number of 64 bits.
    F64 = 7,
    /// An integer of up to 157,826 digits.
    BigInteger = 8,
    /// A decimal number: an integer and the place of its point.
    Decimal = 9,
    /// One Unicode scalar value.
    Char = 10,
    /// UTF-8 text.
    String = 11,
    /// Bytes.
    Bytes = 12,
    /// A day of the calendar.
    Date = 13,
    /// A moment, with the offset from UTC that it was written in.
    DateTime = 14,
    /// An amount of time: months, days, seconds and nanoseconds.
    Duration = 15,
    /// A universally unique identifier.
    Uuid = 16,
    /// Values in the order given.
    List = 17,
    /// Different values, sorted.
    Set = 18,
    /// Values by key, sorted by key.
    Map = 19,
    /// A value of any type. No value has it; a property may be declared so.
    Any = 20,
}

/// Every type at the place of its code minus one, with its names: the first is the one we write.
const TYPES: [(ValueType, &[&str]); 20] = [
    (ValueType::Bool, &["bool", "boolean"]),
    (ValueType::I8, &["byte", "i8", "int8"]),
    (ValueType::I16, &["short", "i16", "int16"]),
    (ValueType::I32, &["int", "i32", "int32", "integer"]),
    (ValueType::I64, &["long", "i64", "int64"]),
    (ValueType::F32, &["float", "f32", "float32"]),
    (ValueType::F64, &["double", "f64", "float64"]),
    (ValueType::BigInteger, &["bigint", "biginteger"]),
    (ValueType::Decimal, &["decimal", "bigdecimal", "numeric"]),
    (ValueType::Char, &["char", "character"]),
    (ValueType::String, &["string", "text"]),
    (ValueType::Bytes, &["bytes", "bytearray"]),
    (ValueType::Date, &["date", "localdate"]),
    (ValueType::DateTime, &["datetime", "localdatetime", "zoneddatetime", "offsetdatetime", "timestamp"]),
    (ValueType::Duration, &["duration", "interval"]),
    (ValueType::Uuid, &["uuid"]),
    (ValueType::List, &["list"]),
    (ValueType::Set, &["set"]),
    (ValueType::Map, &["map"]),
    (ValueType::Any, &["any"]),
];

impl ValueType {
    /// Every type in the order of codes, `Any` last.
    pub fn all() -> impl Iterator<Item = ValueType> {
        TYPES.iter().map(|row| row.0)
    }

    /// The byte that stands for the type in files, never 0.
    #[must_use]
    #[inline]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The type that `code` stands for, if it stands for one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<ValueType> {
        TYPES.get(usize::from(code).checked_sub(1)?).map(|row| row.0)
    }

    /// The name as schemas and CSV headers write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        TYPES[self as usize - 1].1[0]
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for ValueType {
    type Err = UnknownTypeError;

    /// Reads a name or one of its aliases, in any case.
    fn from_str(name: &str) -> Result<ValueType, UnknownTypeError> {
        TYPES
            .iter()
            .find(|row| row.1.iter().any(|known| known.eq_ignore_ascii_case(name)))
            .map(|row| row.0)
            .ok_or_else(|| UnknownTypeError { found: Shortened::new(name) })
    }
}

/// A name that is no type's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("unknown type {found}; known are {}", known_names())]
pub struct UnknownTypeError {
    /// The name that was given.
    pub found: Shortened,
}

fn known_names() -> String {
    TYPES.iter().map(|row| row.1[0]).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn every_code_leads_back_to_its_type() {
        for value_type in ValueType::all() {
            assert_eq!(ValueType::from_code(value_type.code()), Some(value_type));
        }
        assert_eq!(ValueType::from_code(0), None);
        assert_eq!(ValueType::from_code(21), None);
        // Files hold these.
        assert_eq!(ValueType::I64.code(), 5);
        assert_eq!(ValueType::String.code(), 11);
        assert_eq!(ValueType::Map.code(), 19);
    }

    #[test]
    fn names_are_read_in_any_case_and_with_their_aliases() {
        for value_type in ValueType::all() {
            assert_eq!(value_type.to_string().to_uppercase().parse(), Ok(value_type));
        }
        for (alias, value_type) in [
            ("Boolean", ValueType::Bool),
            ("i8", ValueType::I8),
            ("integer", ValueType::I32),
            ("I64", ValueType::I64),
            ("f32", ValueType::F32),
            ("Double", ValueType::F64),
            ("LocalDateTime", ValueType::DateTime),
            ("zoneddatetime", ValueType::DateTime),
        ] {
            assert_eq!(alias.parse(), Ok(value_type), "{alias}");
        }
    }

    #[test]
    fn no_name_stands_for_two_types() {
        let mut names: Vec<_> = TYPES.iter().flat_map(|row| row.1).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "strnig".parse::<ValueType>().unwrap_err().to_string();
        assert!(error.starts_with("unknown type \"strnig\"; known are bool, byte, short,"), "{error}");
    }

    #[test]
    fn only_any_accepts_another_width() {
        assert!(ValueType::I32.accepts(&Value::I32(1)));
        assert!(!ValueType::I64.accepts(&Value::I32(1)));
        assert!(ValueType::Any.accepts(&Value::I32(1)));
    }
}
