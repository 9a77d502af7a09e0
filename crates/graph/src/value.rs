//! Value: the value of a property, one of nineteen types, in 24 bytes.
//!
//! ```text
//! truth and numbers   bool · i8 i16 i32 i64 · f32 f64 · big integer · decimal
//! text and bytes      char · string · bytes
//! time                date · datetime · duration
//! identity            uuid
//! collections         list · set · map   (of any values, at most 128 deep)
//! ```
//!
//! There is no null: a property that is absent has no value at all.
//!
//! Widths are kept and count: the `i32` 1 and the `i64` 1 are two values, neighbours in the order.
//! Within one type equality is the mathematical one: -0.0 equals 0.0, the decimal 1.0 equals 1.00,
//! and NaN equals itself. Equality, order and hash agree (see [`order`]).
//!
//! Every value has bounded depth and, but for the length of its texts and collections, bounded
//! size; the constructors of [`number`] and [`collection`] see to it.

pub mod binary;
pub mod collection;
pub mod date;
pub mod datetime;
mod display;
pub mod duration;
pub mod number;
mod number_order;
pub mod order;
pub mod order_bytes;
pub mod parse;
pub mod shortened;
#[cfg(any(test, feature = "strategy"))]
pub mod strategy;
pub mod temporal_text;
mod value_type;

use uuid::Uuid;

use crate::value::collection::{List, Map, Set};
use crate::value::date::Date;
use crate::value::datetime::DateTime;
use crate::value::duration::Duration;
use crate::value::number::{BigInteger, Decimal};

// One path for the pair that nearly every user of values imports together.
pub use crate::value::value_type::{UnknownTypeError, ValueType};

/// What a property holds.
#[derive(Clone, Debug)]
pub enum Value {
    /// True or false.
    Bool(bool),
    /// A signed integer of 8 bits.
    I8(i8),
    /// A signed integer of 16 bits.
    I16(i16),
    /// A signed integer of 32 bits.
    I32(i32),
    /// A signed integer of 64 bits.
    I64(i64),
    /// A binary floating-point number of 32 bits.
    F32(f32),
    /// A binary floating-point number of 64 bits.
    F64(f64),
    /// An integer of up to 157,826 digits.
    BigInteger(BigInteger),
    /// A decimal number: an integer and the place of its point.
    Decimal(Decimal),
    /// One Unicode scalar value.
    Char(char),
    /// UTF-8 text.
    String(Box<str>),
    /// Bytes.
    Bytes(Box<[u8]>),
    /// A day of the calendar.
    Date(Date),
    /// A moment, with the offset from UTC that it was written in.
    DateTime(DateTime),
    /// An amount of time: months, days, seconds and nanoseconds.
    Duration(Duration),
    /// A universally unique identifier.
    Uuid(Uuid),
    /// Values in the order given.
    List(List),
    /// Different values, sorted.
    Set(Set),
    /// Values by key, sorted by key.
    Map(Map),
}

// Columns of values and buffered writes count on it.
const _: () = assert!(size_of::<Value>() == 24 && size_of::<Option<Value>>() == 24);

impl Value {
    /// The value's type; never [`ValueType::Any`].
    #[must_use]
    #[inline]
    pub const fn value_type(&self) -> ValueType {
        match self {
            Value::Bool(_) => ValueType::Bool,
            Value::I8(_) => ValueType::I8,
            Value::I16(_) => ValueType::I16,
            Value::I32(_) => ValueType::I32,
            Value::I64(_) => ValueType::I64,
            Value::F32(_) => ValueType::F32,
            Value::F64(_) => ValueType::F64,
            Value::BigInteger(_) => ValueType::BigInteger,
            Value::Decimal(_) => ValueType::Decimal,
            Value::Char(_) => ValueType::Char,
            Value::String(_) => ValueType::String,
            Value::Bytes(_) => ValueType::Bytes,
            Value::Date(_) => ValueType::Date,
            Value::DateTime(_) => ValueType::DateTime,
            Value::Duration(_) => ValueType::Duration,
            Value::Uuid(_) => ValueType::Uuid,
            Value::List(_) => ValueType::List,
            Value::Set(_) => ValueType::Set,
            Value::Map(_) => ValueType::Map,
        }
    }

    /// The integer, if this is one (of any width) and 64 bits hold it.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::I8(number) => Some(i64::from(*number)),
            Value::I16(number) => Some(i64::from(*number)),
            Value::I32(number) => Some(i64::from(*number)),
            Value::I64(number) => Some(*number),
            Value::BigInteger(number) => i64::try_from(number.as_inner()).ok(),
            _ => None,
        }
    }

    /// The floating-point number nearest to this number, if this is one.
    ///
    /// Integers past 2^53 and decimals are rounded; big ones may become infinite.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::I8(number) => Some(f64::from(*number)),
            Value::I16(number) => Some(f64::from(*number)),
            Value::I32(number) => Some(f64::from(*number)),
            Value::I64(number) => Some(*number as f64),
            Value::F32(number) => Some(f64::from(*number)),
            Value::F64(number) => Some(*number),
            Value::BigInteger(number) => Some(number.to_f64()),
            Value::Decimal(number) => Some(number.to_f64()),
            _ => None,
        }
    }

    /// The text, if this is a string.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth, if this is a bool.
    #[must_use]
    #[inline]
    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// Bytes on the heap that the value owns, about: what a memory budget counts beside
    /// `size_of::<Value>()`. Allocators' own bytes are left out.
    ///
    /// Cost: one visit to everything inside.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Value::BigInteger(number) => number.heap_bytes(),
            Value::Decimal(number) => number.heap_bytes(),
            Value::String(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::List(list) => heap_bytes_of(list.as_slice()),
            Value::Set(set) => heap_bytes_of(set.as_slice()),
            Value::Map(map) => heap_bytes_of(map.as_slice().iter().flat_map(|(key, value)| [key, value])),
            _ => 0,
        }
    }
}

impl ValueType {
    /// Whether a property declared so may hold `value`: its type is this one, or this is `Any`.
    ///
    /// Nothing is converted: an `int` is not accepted where a `long` is declared.
    #[must_use]
    #[inline]
    pub fn accepts(self, value: &Value) -> bool {
        self == ValueType::Any || self == value.value_type()
    }
}

fn heap_bytes_of<'a>(values: impl IntoIterator<Item = &'a Value>) -> usize {
    values.into_iter().map(|value| size_of::<Value>() + value.heap_bytes()).sum()
}

macro_rules! value_from {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl From<$source> for Value {
            fn from(source: $source) -> Self {
                Value::$variant(source.into())
            }
        }
    )*};
}

value_from! {
    bool => Bool,
    i8 => I8,
    i16 => I16,
    i32 => I32,
    i64 => I64,
    f32 => F32,
    f64 => F64,
    BigInteger => BigInteger,
    Decimal => Decimal,
    char => Char,
    &str => String,
    String => String,
    Box<str> => String,
    &[u8] => Bytes,
    Vec<u8> => Bytes,
    Box<[u8]> => Bytes,
    Date => Date,
    DateTime => DateTime,
    Duration => Duration,
    Uuid => Uuid,
    List => List,
    Set => Set,
    Map => Map,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_every_width_are_read_as_i64() {
        for value in [Value::I8(-7), Value::I16(-7), Value::I32(-7), Value::I64(-7)] {
            assert_eq!((value.as_i64(), value.as_f64()), (Some(-7), Some(-7.0)));
        }
        assert_eq!(Value::from(BigInteger::from(-7)).as_i64(), Some(-7));
        assert_eq!(Value::from(BigInteger::from(u64::MAX)).as_i64(), None);
        assert_eq!(Value::from(7.0).as_i64(), None);
        assert_eq!(Value::from("7").as_i64(), None);
    }

    #[test]
    fn numbers_of_every_type_are_read_as_f64() {
        assert_eq!(Value::from(0.5_f32).as_f64(), Some(0.5));
        assert_eq!(Value::from("0.1".parse::<Decimal>().unwrap()).as_f64(), Some(0.1));
        assert_eq!(Value::from(BigInteger::from(u64::MAX)).as_f64(), Some(18_446_744_073_709_551_616.0));
        assert_eq!(Value::from(true).as_f64(), None);
    }

    #[test]
    fn heap_bytes_count_what_is_inside() {
        assert_eq!(Value::from(1_i64).heap_bytes(), 0);
        assert_eq!(Value::from("four").heap_bytes(), 4);
        let list = List::new(vec!["four".into(), 1_i64.into()]).unwrap();
        assert_eq!(Value::from(list).heap_bytes(), 2 * 24 + 4);
        let map = Map::new(vec![("four".into(), vec![0_u8; 8].into())]).unwrap();
        assert_eq!(Value::from(map).heap_bytes(), 2 * 24 + 4 + 8);
        let wide = Value::from("1e-99".parse::<Decimal>().unwrap()).heap_bytes();
        assert!((40..80).contains(&wide), "{wide}");
    }
}
