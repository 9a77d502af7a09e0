//! Equality, order and hash of values: one total order over all types.
//!
//! ```text
//! bool < numbers < char, string < bytes < date < datetime < duration < uuid < list < set < map
//! ```
//!
//! * Numbers of all widths are ordered by exact mathematical value, NaN last (see `number_order`).
//! * A char is ordered as the string of it alone. Strings and bytes are ordered by their bytes,
//!   which for strings is the order of Unicode scalar values.
//! * Lists, sets and maps are ordered by their first difference, a prefix before what it begins;
//!   sets and maps as the ascending lists of their values and entries.
//! * What is still equal is ordered by type: `i8` 1 < `i32` 1 < `f64` 1.0. So values are equal only
//!   if their types are, and [`Eq`], [`Ord`] and [`Hash`] agree. To ask whether two numbers are the
//!   same number whatever their types, use [`Value::compare_numbers`].

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::value::Value;
use crate::value::number_order::Number;

impl Value {
    /// The mathematical order of two numbers of any types: `Equal` for the `i32` 1 and the `f64`
    /// 1.0, or for two NaN. `None` unless both are numbers.
    ///
    /// Cost: constant for up to 64 bits, else that of the longer number's digits; nothing is rounded.
    #[must_use]
    pub fn compare_numbers(&self, other: &Value) -> Option<Ordering> {
        Some(self.as_number()?.compare(other.as_number()?))
    }

    /// The order without its last word, the type: `Equal` for the `i32` 1 and the `f64` 1.0, and for a
    /// char and the string of it. What ranges compare by.
    ///
    /// Cost: as [`Ord::cmp`].
    #[must_use]
    pub fn compare_content(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            (Value::Char(left), Value::Char(right)) => left.cmp(right),
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Char(left), Value::String(right)) => (*left.encode_utf8(&mut [0; 4])).cmp(right),
            (Value::String(left), Value::Char(right)) => (**left).cmp(right.encode_utf8(&mut [0; 4])),
            (Value::Bytes(left), Value::Bytes(right)) => left.cmp(right),
            (Value::Date(left), Value::Date(right)) => left.cmp(right),
            (Value::DateTime(left), Value::DateTime(right)) => left.cmp(right),
            (Value::Duration(left), Value::Duration(right)) => left.cmp(right),
            (Value::Uuid(left), Value::Uuid(right)) => left.cmp(right),
            (Value::List(left), Value::List(right)) => left.cmp(right),
            (Value::Set(left), Value::Set(right)) => left.cmp(right),
            (Value::Map(left), Value::Map(right)) => left.cmp(right),
            (left, right) => {
                left.compare_numbers(right).unwrap_or_else(|| class_of(left).cmp(&class_of(right)))
            }
        }
    }

    /// The order of two values of one kind: numbers by [`Value::compare_numbers`], a char as the string
    /// of it alone, everything else within its type. `None` if the kinds differ: a date is neither
    /// before nor after a number.
    ///
    /// Cost: that of the shorter text, or one visit to what is inside.
    #[must_use]
    #[inline]
    pub fn compare_alike(&self, other: &Value) -> Option<Ordering> {
        (class_of(self) == class_of(other)).then(|| self.compare_content(other))
    }

    pub(super) fn as_number(&self) -> Option<Number<'_>> {
        match self {
            Value::I8(number) => Some(Number::Integer(i64::from(*number))),
            Value::I16(number) => Some(Number::Integer(i64::from(*number))),
            Value::I32(number) => Some(Number::Integer(i64::from(*number))),
            Value::I64(number) => Some(Number::Integer(*number)),
            Value::F32(number) => Some(Number::Float(f64::from(*number))),
            Value::F64(number) => Some(Number::Float(*number)),
            Value::BigInteger(number) => Some(Number::BigInteger(number)),
            Value::Decimal(number) => Some(Number::Decimal(number)),
            _ => None,
        }
    }
}

/// Types whose values are compared with each other, in the order of the caption. Each is the byte that stands
/// for it in the order bytes of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Class {
    Bool = 0x08,
    Number = 0x10,
    Text = 0x18,
    Bytes = 0x20,
    Date = 0x28,
    DateTime = 0x30,
    Duration = 0x38,
    Uuid = 0x40,
    List = 0x48,
    Set = 0x50,
    Map = 0x58,
}

impl Class {
    /// The class that `byte` stands for.
    pub(super) fn of_byte(byte: u8) -> Option<Self> {
        use Class::{Bool, Bytes, Date, DateTime, Duration, List, Map, Number, Set, Text, Uuid};
        let all = [Bool, Number, Text, Bytes, Date, DateTime, Duration, Uuid, List, Set, Map];
        all.into_iter().find(|class| *class as u8 == byte)
    }
}

pub(super) fn class_of(value: &Value) -> Class {
    match value {
        Value::Bool(_) => Class::Bool,
        Value::I8(_)
        | Value::I16(_)
        | Value::I32(_)
        | Value::I64(_)
        | Value::F32(_)
        | Value::F64(_)
        | Value::BigInteger(_)
        | Value::Decimal(_) => Class::Number,
        Value::Char(_) | Value::String(_) => Class::Text,
        Value::Bytes(_) => Class::Bytes,
        Value::Date(_) => Class::Date,
        Value::DateTime(_) => Class::DateTime,
        Value::Duration(_) => Class::Duration,
        Value::Uuid(_) => Class::Uuid,
        Value::List(_) => Class::List,
        Value::Set(_) => Class::Set,
        Value::Map(_) => Class::Map,
    }
}

impl Ord for Value {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare_content(other).then_with(|| self.value_type().cmp(&other.value_type()))
    }
}

impl PartialOrd for Value {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.value_type() == other.value_type() && self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value_type().hash(state);
        match self {
            Value::Bool(truth) => truth.hash(state),
            Value::I8(number) => number.hash(state),
            Value::I16(number) => number.hash(state),
            Value::I32(number) => number.hash(state),
            Value::I64(number) => number.hash(state),
            Value::F32(number) => hash_float(f64::from(*number), state),
            Value::F64(number) => hash_float(*number, state),
            Value::BigInteger(number) => number.hash(state),
            Value::Decimal(number) => number.hash(state),
            Value::Char(char) => char.hash(state),
            Value::String(text) => text.hash(state),
            Value::Bytes(bytes) => bytes.hash(state),
            Value::Date(date) => date.hash(state),
            Value::DateTime(moment) => moment.hash(state),
            Value::Duration(duration) => duration.hash(state),
            Value::Uuid(uuid) => uuid.hash(state),
            Value::List(list) => list.hash(state),
            Value::Set(set) => set.hash(state),
            Value::Map(map) => map.hash(state),
        }
    }
}

/// Hashes both zeros alike, and every NaN.
fn hash_float<H: Hasher>(number: f64, state: &mut H) {
    let representative = if number.is_nan() {
        f64::NAN
    } else if number == 0.0 {
        0.0
    } else {
        number
    };
    representative.to_bits().hash(state);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ValueType;
    use crate::value::number::{BigInteger, Decimal};
    use crate::value::parse::ParseValueError;
    use crate::value::strategy::{any_value, number};
    use proptest::prelude::*;
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    fn hash(value: &Value) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
    }

    fn value(text: &str, value_type: ValueType) -> Result<Value, ParseValueError> {
        Value::parse(text, value_type)
    }

    #[test]
    fn values_of_all_types_ascend_in_the_stated_order() -> Result<(), Box<dyn std::error::Error>> {
        use crate::value::collection::{List, Map, Set};
        let list = |values: &[Value]| List::new(values.to_vec()).map(Value::from);
        let set = |values: &[Value]| Set::new(values.to_vec()).map(Value::from);
        let ascending = [
            Value::from(false),
            Value::from(true),
            Value::from(f64::NEG_INFINITY),
            Value::from("-1e131072".parse::<Decimal>()?),
            Value::from(i64::MIN),
            Value::from(-1.5),
            Value::from(0_i8),
            Value::from(-0.0_f32),
            Value::from(0.0_f64),
            Value::from(BigInteger::from(0)),
            Value::from("0.00".parse::<Decimal>()?),
            Value::from("0.1".parse::<Decimal>()?),
            Value::from(0.1_f64),
            Value::from(0.1_f32), // widened, it is 0.100000001490116...
            Value::from(1_i8),
            Value::from(1_i64),
            Value::from(1.0_f32),
            Value::from(9_007_199_254_740_992.0),
            Value::from(9_007_199_254_740_993_i64),
            Value::from(i64::MAX),
            Value::from(9_223_372_036_854_775_808.0),
            Value::from(f64::INFINITY),
            Value::from(f32::NAN),
            Value::from(f64::NAN),
            Value::from(""),
            Value::from('a'),
            Value::from("a"),
            Value::from("aa"),
            Value::from('b'),
            Value::from("é"),
            Value::from(b"".as_slice()),
            Value::from(b"\xff".as_slice()),
            value("-0044-03-15", ValueType::Date)?,
            value("2024-02-29", ValueType::Date)?,
            value("1970-01-01T00:00:00Z", ValueType::DateTime)?,
            value("PT1S", ValueType::Duration)?,
            value("00000000-0000-0000-0000-000000000001", ValueType::Uuid)?,
            list(&[])?,
            list(&[1_i64.into()])?,
            list(&[1_i64.into(), 0_i64.into()])?,
            list(&[2_i64.into()])?,
            set(&[])?,
            set(&[1_i64.into(), 9_i64.into()])?,
            set(&[2_i64.into()])?,
            Map::new(vec![])?.into(),
            Map::new(vec![("a".into(), 2_i64.into())])?.into(),
            Map::new(vec![("b".into(), 1_i64.into())])?.into(),
        ];
        for (place, left) in ascending.iter().enumerate() {
            for (other_place, right) in ascending.iter().enumerate() {
                assert_eq!(left.cmp(right), place.cmp(&other_place), "{left:?} {right:?}");
            }
        }
        Ok(())
    }

    #[test]
    fn equal_numbers_of_one_type_have_one_hash() {
        let decimal = |text: &str| Value::from(text.parse::<Decimal>().unwrap());
        for (left, right) in [
            (Value::F64(0.0), Value::F64(-0.0)),
            (Value::F32(0.0), Value::F32(-0.0)),
            (Value::F64(f64::NAN), Value::F64(-f64::NAN)),
            (Value::F64(f64::NAN), Value::F64(f64::from_bits(0x7ff0_0000_0000_0001))),
            (decimal("1.0"), decimal("1.00")),
            (decimal("0"), decimal("0e7")),
            (decimal("-1200"), decimal("-12e2")),
        ] {
            assert_eq!(left, right);
            assert_eq!(hash(&left), hash(&right), "{left:?} {right:?}");
        }
    }

    #[test]
    fn the_same_number_in_two_types_is_two_values() {
        assert_ne!(Value::I32(1), Value::I64(1));
        assert_eq!(Value::I32(1).compare_numbers(&Value::I64(1)), Some(Ordering::Equal));
        assert_eq!(Value::I32(1).compare_numbers(&Value::F64(1.5)), Some(Ordering::Less));
        assert_eq!(Value::I32(1).compare_numbers(&Value::from("1")), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_order_is_antisymmetric_and_agrees_with_equality_and_hash(
            left in any_value(), right in any_value(),
        ) {
            prop_assert_eq!(left.cmp(&right), right.cmp(&left).reverse());
            prop_assert_eq!(left.cmp(&right) == Ordering::Equal, left == right);
            prop_assert!(left != right || hash(&left) == hash(&right));
            prop_assert_eq!(&left, &left.clone());
            prop_assert_eq!(hash(&left), hash(&left.clone()));
        }

        #[test]
        fn the_order_is_transitive(mut values in [any_value(), any_value(), any_value()]) {
            // Sorting by pairs that the sort happens to look at must order every pair.
            values.sort();
            prop_assert!(values[0] <= values[1] && values[1] <= values[2] && values[0] <= values[2]);
        }

        #[test]
        fn the_order_of_numbers_is_transitive(mut values in [number(), number(), number()]) {
            values.sort();
            prop_assert!(values[0] <= values[2]);
            prop_assert!(values[0] < values[2] || (values[0] == values[1] && values[1] == values[2]));
            let by_number = |left: usize, right: usize| values[left].compare_numbers(&values[right]).unwrap();
            prop_assert!(by_number(0, 2) != Ordering::Greater);
            prop_assert!(by_number(0, 1) == Ordering::Equal || by_number(0, 2) == Ordering::Less);
        }
    }
}
