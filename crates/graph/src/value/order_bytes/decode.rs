//! Decode: the value that order bytes stand for.
//!
//! Order bytes are the same for values that are equal, so those of a decimal or of a float's zero do not tell the
//! scale or the sign. Those of a long value tell its beginning only.

use uuid::Uuid;

use crate::bytes::{Decoded, Reader};
use crate::value::Value;
use crate::value::collection::{List, Map, Set};
use crate::value::date::Date;
use crate::value::datetime::DateTime;
use crate::value::duration::Duration;
use crate::value::order::Class;
use crate::value::order_bytes::encode::{DURATION_BIAS, END, ESCAPE};
use crate::value::order_bytes::number::StoredNumber;
use crate::value::order_bytes::value_bytes::ValueBytes;
use crate::value::value_type::ValueType;

/// What order bytes tell of their value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecoveredValue {
    /// The value: every other one that equals it looks the same.
    Exact(Value),
    /// A value that equals it. The value itself may be -0.0 for 0.0, or the decimal 1.00 for 1, also inside a
    /// collection.
    Equal(Value),
    /// Nothing: the bytes are long, and only the item has the value.
    Unknown,
}

impl ValueBytes {
    /// The value that these are the bytes of, as far as they tell.
    ///
    /// Cost: reads the bytes, and encodes the value once more to compare.
    ///
    /// # Errors
    /// If they are whole and no value's. Long bytes may be anything.
    pub fn recover(&self) -> Decoded<RecoveredValue> {
        if self.is_long() {
            return Ok(RecoveredValue::Unknown);
        }
        let mut reader = Reader::new(self.as_slice());
        let mut is_exact = true;
        let value = take_value(&mut reader, &mut is_exact)?;
        if !reader.is_empty() || Self::of(&value) != *self {
            return Err(Reader::new(self.as_slice()).error("the order bytes of one value expected"));
        }
        Ok(if is_exact { RecoveredValue::Exact(value) } else { RecoveredValue::Equal(value) })
    }
}

/// Reads a value. At most 63 bytes nest fewer collections than a value may.
fn take_value(reader: &mut Reader<'_>, is_exact: &mut bool) -> Decoded<Value> {
    let start = reader.clone();
    let found = reader.u8()?;
    let class = Class::of_byte(found)
        .ok_or_else(|| start.error(format!("a class of values expected, found {found}")))?;
    let wrong = || start.error("the content of a value expected");
    let value = match class {
        Class::Bool => match reader.u8()? {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            _ => return Err(wrong()),
        },
        Class::Number => {
            let number = StoredNumber::take(reader)?;
            let value_type = next_type(reader)?;
            *is_exact &= number.has_one_form(value_type);
            number.to_value(value_type).ok_or_else(wrong)?
        }
        Class::Text => {
            let text = String::from_utf8(take_text(reader)?).map_err(|_| wrong())?;
            let mut chars = text.chars();
            match (next_type(reader)?, chars.next(), chars.next()) {
                (ValueType::Char, Some(char), None) => Value::Char(char),
                _ => Value::from(text),
            }
        }
        Class::Bytes => Value::from(take_text(reader)?),
        Class::Date => Value::Date(Date::from_days(take_i32(reader)?)),
        Class::DateTime => {
            let seconds = (u64::from_be_bytes(reader.array()?) ^ 1 << 63).cast_signed();
            let nanoseconds = u32::from_be_bytes(reader.array()?);
            let offset_seconds = take_i32(reader)?;
            Value::DateTime(DateTime::new(seconds, nanoseconds, offset_seconds).map_err(|_| wrong())?)
        }
        Class::Duration => {
            let mut mean = [0; 16];
            mean[4..].copy_from_slice(reader.take(12)?);
            let mean_nanoseconds = i128::from_be_bytes(mean) - DURATION_BIAS;
            let (months, days) = (take_i32(reader)?, take_i32(reader)?);
            Value::Duration(Duration::of_mean(mean_nanoseconds, months, days).ok_or_else(wrong)?)
        }
        Class::Uuid => Value::Uuid(Uuid::from_bytes(reader.array()?)),
        Class::List => Value::List(List::of_checked_depth(take_values(reader, is_exact)?)),
        Class::Set => Value::Set(Set::of_ascending(take_values(reader, is_exact)?).ok_or_else(wrong)?),
        Class::Map => {
            let mut values = take_values(reader, is_exact)?.into_iter();
            let mut entries = Vec::with_capacity(values.len() / 2);
            while let Some(key) = values.next() {
                entries.push((key, values.next().ok_or_else(wrong)?));
            }
            Value::Map(Map::of_ascending(entries).ok_or_else(wrong)?)
        }
    };
    if reader.u8()? == value.value_type().code() { Ok(value) } else { Err(wrong()) }
}

/// The type whose code comes next, which stays there.
fn next_type(reader: &Reader<'_>) -> Decoded<ValueType> {
    let found = reader.clone().u8()?;
    ValueType::from_code(found).ok_or_else(|| reader.error(format!("a value type expected, found {found}")))
}

fn take_i32(reader: &mut Reader<'_>) -> Decoded<i32> {
    Ok((u32::from_be_bytes(reader.array()?) ^ 1 << 31).cast_signed())
}

fn take_text(reader: &mut Reader<'_>) -> Decoded<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        let byte = reader.u8()?;
        if byte == END {
            let mut ahead = reader.clone();
            if ahead.u8()? != ESCAPE {
                return Ok(text);
            }
            *reader = ahead;
        }
        text.push(byte);
    }
}

fn take_values(reader: &mut Reader<'_>, is_exact: &mut bool) -> Decoded<Vec<Value>> {
    let mut values = Vec::new();
    loop {
        let mut ahead = reader.clone();
        if ahead.u8()? == END {
            *reader = ahead;
            return Ok(values);
        }
        values.push(take_value(reader, is_exact)?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::number::Decimal;
    use crate::value::order_bytes::lengths::WHOLE_BYTES_MAX;
    use crate::value::strategy::{any_scalar, any_value, number};
    use proptest::prelude::*;

    fn in_stable_form(value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        bytes
    }

    fn check(value: &Value) -> Result<(), TestCaseError> {
        let bytes = ValueBytes::of(value);
        prop_assert_eq!(ValueBytes::from_stored(bytes.as_slice()), Ok(bytes));
        match bytes.recover() {
            Ok(RecoveredValue::Exact(found)) => {
                prop_assert_eq!(in_stable_form(&found), in_stable_form(value));
            }
            Ok(RecoveredValue::Equal(found)) => prop_assert_eq!(&found, value),
            Ok(RecoveredValue::Unknown) => prop_assert!(bytes.is_long()),
            Err(error) => prop_assert!(false, "{value:?}, {bytes:?}: {error}"),
        }
        Ok(())
    }

    #[test]
    fn a_float_but_its_zero_is_exact_and_a_decimal_never() {
        let decimal = |text: &str| Value::from(text.parse::<Decimal>().unwrap());
        let recovered = |value: Value| ValueBytes::of(&value).recover().unwrap();
        assert_eq!(recovered(Value::from(0.1)), RecoveredValue::Exact(Value::from(0.1)));
        assert_eq!(recovered(Value::from(-0.0)), RecoveredValue::Equal(Value::from(0.0)));
        assert_eq!(recovered(decimal("1.50")), RecoveredValue::Equal(decimal("1.5")));
        assert_eq!(recovered(Value::from(0_i8)), RecoveredValue::Exact(Value::from(0_i8)));
        let list = |zero: f64| Value::from(List::new(vec![zero.into()]).unwrap());
        assert_eq!(recovered(list(-0.0)), RecoveredValue::Equal(list(0.0)));
    }

    #[test]
    fn decimals_at_the_limits_of_their_size_come_back() {
        let zeros = "0".repeat(150_000);
        for text in ["1e131072", "-1e-131072", &format!("1{zeros}e131072"), &format!("3{zeros}")] {
            let value = Value::from(text.parse::<Decimal>().unwrap());
            let recovered = ValueBytes::of(&value).recover().unwrap();
            assert!(recovered == RecoveredValue::Equal(value), "{}", &text[..text.len().min(20)]);
        }
        let power = num_bigint::BigInt::from(1) << (crate::value::number::BITS_MAX - 1);
        let decimal = Decimal::new(bigdecimal::BigDecimal::new(power.clone(), -27)).unwrap();
        let value = Value::from(decimal);
        assert!(ValueBytes::of(&value).recover() == Ok(RecoveredValue::Equal(value)));
        let value = Value::from(crate::value::number::BigInteger::new(power).unwrap());
        assert!(ValueBytes::of(&value).recover() == Ok(RecoveredValue::Exact(value)));
    }

    #[test]
    fn other_forms_of_a_value_are_refused() {
        let refused: [&[u8]; 10] = [
            &[0x08, 2, 1],                          // no truth
            &[0x08, 1, 2],                          // a bool of another type
            &[0x10, 0x80, 12],                      // a number that is bytes
            &[0x10, 0xa2, 0x01, 0x00, 5],           // an empty group more than needed
            &[0x10, 0xa2, 0x80, 5],                 // the integer 1.5
            &[0x10, 0xe3, 0, 5],                    // no exponent's place
            &[0x18, b'a', b'b', 0, 10],             // two chars in one
            &[0x18, 0xff, 0, 11],                   // no UTF-8
            &[0x50, 0x08, 1, 1, 0x08, 0, 1, 0, 18], // values of a set that descend
            &[0x58, 0x08, 1, 1, 0, 19],             // a key without a value
        ];
        for bytes in refused {
            assert!(ValueBytes::from_stored(bytes).unwrap().recover().is_err(), "{bytes:02x?}");
        }
        assert!(ValueBytes::from_stored(&[]).is_err() && ValueBytes::from_stored(&[0; 65]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn values_come_back(value in prop_oneof![any_value(), any_scalar(), number()]) {
            check(&value)?;
        }

        #[test]
        fn bytes_of_no_value_are_refused_or_are_its_one_form(
            value in any_value(),
            changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<proptest::sample::Index>(),
        ) {
            let mut bytes = ValueBytes::of(&value).as_slice().to_vec();
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            bytes.truncate(1 + cut.index(bytes.len()).min(WHOLE_BYTES_MAX - 1));
            let bytes = ValueBytes::from_stored(&bytes).unwrap();
            match bytes.recover() {
                Ok(RecoveredValue::Exact(found) | RecoveredValue::Equal(found)) => {
                    prop_assert_eq!(ValueBytes::of(&found), bytes);
                }
                Ok(RecoveredValue::Unknown) => prop_assert!(false, "63 bytes are whole"),
                Err(error) => prop_assert!(error.offset <= bytes.as_slice().len()),
            }
        }

        #[test]
        fn random_bytes_are_refused_or_are_a_values_one_form(
            class in proptest::sample::select(vec![8_u8, 0x10, 0x18, 0x20, 0x38, 0x48, 0x50, 0x58]),
            bytes in proptest::collection::vec(prop_oneof![0..20_u8, any::<u8>()], 1..50),
        ) {
            let bytes = ValueBytes::from_stored(&[&[class], &bytes[..]].concat()).unwrap();
            if let Ok(RecoveredValue::Exact(found) | RecoveredValue::Equal(found)) = bytes.recover() {
                prop_assert_eq!(ValueBytes::of(&found), bytes);
            }
        }
    }
}
