//! The binary form of values in files, format version 1.
//!
//! ```text
//! value      code (1 byte, see `value_type`), payload
//!
//! PAYLOAD OF           BYTES
//! bool                 1      0 or 1
//! byte short int long  1 2 4 8
//! float double         4 8    NaN only as 7fc00000, 7ff8000000000000
//! bigint               n      varint length, then two's complement, the fewest bytes that hold it
//! decimal              n      scale (4), then its digits like a bigint
//! char                 4      the scalar value
//! string bytes         n      varint length, then UTF-8 or the bytes
//! date                 4      days since 1970-01-01
//! datetime             16     seconds (8), nanoseconds (4), offset in seconds (4)
//! duration             20     months (4), days (4), seconds (8), nanoseconds (4)
//! uuid                 16     in the order that its text has
//! list set             n      varint count, then values; a set's ascend
//! map                  n      varint count, then key, value, key, value, ...; the keys ascend
//! ```
//!
//! All integers are little-endian. Every value has one form, and bytes of any other are refused:
//! what was read is written back as the same bytes. Two equal values may differ in form
//! nevertheless, since -0.0 and the decimal 1.00 are written as they are: compare values, not bytes.
//!
//! Reading trusts nothing: lengths are checked before memory is taken, and depth is bounded.

use std::fmt::Display;

use bigdecimal::BigDecimal;
use num_bigint::BigInt;
use uuid::Uuid;

use crate::bytes::{Decoded, Reader, put_bytes, put_varint};
use crate::value::collection::{DEPTH_MAX, List, Map, Set};
use crate::value::date::Date;
use crate::value::datetime::DateTime;
use crate::value::duration::Duration;
use crate::value::number::{BigInteger, Decimal};
use crate::value::{Value, ValueType};

impl Value {
    /// Appends the value's code and payload to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.value_type().code());
        self.encode_payload(out);
    }

    /// Appends the value's payload to `out`, for columns whose type is written once.
    ///
    /// A column of type [`ValueType::Any`] needs [`Value::encode`] for each value.
    pub fn encode_payload(&self, out: &mut Vec<u8>) {
        match self {
            Value::Bool(truth) => out.push(u8::from(*truth)),
            Value::I8(number) => out.extend(number.to_le_bytes()),
            Value::I16(number) => out.extend(number.to_le_bytes()),
            Value::I32(number) => out.extend(number.to_le_bytes()),
            Value::I64(number) => out.extend(number.to_le_bytes()),
            Value::F32(number) => out.extend(canonical_f32(*number).to_le_bytes()),
            Value::F64(number) => out.extend(canonical_f64(*number).to_le_bytes()),
            Value::BigInteger(number) => put_bytes(out, &number.as_inner().to_signed_bytes_le()),
            Value::Decimal(number) => {
                let (digits, scale) = number.as_parts();
                let scale = i32::try_from(scale).expect("a decimal's scale is within SCALE_MAX");
                out.extend(scale.to_le_bytes());
                put_bytes(out, &digits.to_signed_bytes_le());
            }
            Value::Char(char) => out.extend(u32::from(*char).to_le_bytes()),
            Value::String(text) => put_bytes(out, text.as_bytes()),
            Value::Bytes(bytes) => put_bytes(out, bytes),
            Value::Date(date) => out.extend(date.days().to_le_bytes()),
            Value::DateTime(moment) => {
                out.extend(moment.seconds().to_le_bytes());
                out.extend(moment.nanoseconds().to_le_bytes());
                out.extend(moment.offset_seconds().to_le_bytes());
            }
            Value::Duration(duration) => {
                out.extend(duration.months().to_le_bytes());
                out.extend(duration.days().to_le_bytes());
                out.extend(duration.seconds().to_le_bytes());
                out.extend(duration.nanoseconds().to_le_bytes());
            }
            Value::Uuid(uuid) => out.extend(uuid.as_bytes()),
            Value::List(list) => encode_values(list.as_slice(), out),
            Value::Set(set) => encode_values(set.as_slice(), out),
            Value::Map(map) => {
                put_varint(out, map.as_slice().len() as u64);
                for (key, value) in map.as_slice() {
                    key.encode(out);
                    value.encode(out);
                }
            }
        }
    }

    /// Reads what [`Value::encode`] wrote.
    ///
    /// Cost: one pass; memory of at most some thirty times the bytes read.
    ///
    /// # Errors
    /// If the bytes end too early, have an unknown type code, are no value's one form, or hold
    /// collections nested deeper than [`DEPTH_MAX`]. `reader` then stands somewhere within.
    #[inline]
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Value> {
        decode_at(ValueType::Any, reader, 0)
    }

    /// Reads what [`Value::encode_payload`] wrote of a value of `value_type`, or for
    /// [`ValueType::Any`] what [`Value::encode`] wrote.
    ///
    /// # Errors
    /// As [`Value::decode`].
    pub fn decode_payload(value_type: ValueType, reader: &mut Reader<'_>) -> Decoded<Value> {
        decode_at(value_type, reader, 0)
    }
}

fn canonical_f32(number: f32) -> u32 {
    if number.is_nan() { 0x7fc0_0000 } else { number.to_bits() }
}

fn canonical_f64(number: f64) -> u64 {
    if number.is_nan() { 0x7ff8_0000_0000_0000 } else { number.to_bits() }
}

fn encode_values(values: &[Value], out: &mut Vec<u8>) {
    put_varint(out, values.len() as u64);
    for value in values {
        value.encode(out);
    }
}

/// Reads a value inside `depth` collections; one of unknown type begins with its code.
fn decode_at(value_type: ValueType, reader: &mut Reader<'_>, depth: usize) -> Decoded<Value> {
    // Errors point at the payload, or at the code of an unknown type.
    let start = reader.clone();
    let wrong = |reason: &dyn Display| start.error(format!("a {value_type} expected: {reason}"));
    let value = match value_type {
        ValueType::Any => {
            let code = reader.u8()?;
            return match ValueType::from_code(code) {
                Some(ValueType::Any) | None => {
                    Err(start.error(format!("a value's type code expected, not {code}")))
                }
                Some(value_type) => decode_at(value_type, reader, depth),
            };
        }
        ValueType::Bool => match reader.u8()? {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            byte => return Err(wrong(&format_args!("{byte} is neither 0 nor 1"))),
        },
        ValueType::I8 => Value::I8(i8::from_le_bytes(reader.array()?)),
        ValueType::I16 => Value::I16(i16::from_le_bytes(reader.array()?)),
        ValueType::I32 => Value::I32(i32::from_le_bytes(reader.array()?)),
        ValueType::I64 => Value::I64(i64::from_le_bytes(reader.array()?)),
        ValueType::F32 => {
            let number = f32::from_le_bytes(reader.array()?);
            if canonical_f32(number) != number.to_bits() {
                return Err(wrong(&"an unusual NaN"));
            }
            Value::F32(number)
        }
        ValueType::F64 => {
            let number = f64::from_le_bytes(reader.array()?);
            if canonical_f64(number) != number.to_bits() {
                return Err(wrong(&"an unusual NaN"));
            }
            Value::F64(number)
        }
        ValueType::BigInteger => {
            let number = BigInteger::new(decode_integer(reader)?);
            Value::BigInteger(number.map_err(|error| wrong(&error))?)
        }
        ValueType::Decimal => {
            let scale = i64::from(i32::from_le_bytes(reader.array()?));
            let number = Decimal::new(BigDecimal::new(decode_integer(reader)?, scale));
            Value::Decimal(number.map_err(|error| wrong(&error))?)
        }
        ValueType::Char => {
            let scalar = reader.u32()?;
            let char = char::from_u32(scalar);
            Value::Char(char.ok_or_else(|| wrong(&format_args!("{scalar:#x} is no scalar value")))?)
        }
        ValueType::String => Value::String(reader.text()?.into()),
        ValueType::Bytes => Value::Bytes(reader.bytes()?.into()),
        ValueType::Date => Value::Date(Date::from_days(i32::from_le_bytes(reader.array()?))),
        ValueType::DateTime => {
            let seconds = i64::from_le_bytes(reader.array()?);
            let nanoseconds = reader.u32()?;
            let offset_seconds = i32::from_le_bytes(reader.array()?);
            let moment = DateTime::new(seconds, nanoseconds, offset_seconds);
            Value::DateTime(moment.map_err(|error| wrong(&error))?)
        }
        ValueType::Duration => {
            let months = i32::from_le_bytes(reader.array()?);
            let days = i32::from_le_bytes(reader.array()?);
            let seconds = i64::from_le_bytes(reader.array()?);
            let duration = Duration::new(months, days, seconds, reader.u32()?);
            Value::Duration(duration.map_err(|error| wrong(&error))?)
        }
        ValueType::Uuid => Value::Uuid(Uuid::from_bytes(reader.array()?)),
        ValueType::List => Value::List(List::of_checked_depth(decode_items(reader, depth, 2, decode_inner)?)),
        ValueType::Set => {
            let set = Set::of_ascending(decode_items(reader, depth, 2, decode_inner)?);
            Value::Set(set.ok_or_else(|| wrong(&"its values don't ascend"))?)
        }
        ValueType::Map => {
            let map = Map::of_ascending(decode_items(reader, depth, 4, |reader, depth| {
                Ok((decode_inner(reader, depth)?, decode_inner(reader, depth)?))
            })?);
            Value::Map(map.ok_or_else(|| wrong(&"its keys don't ascend"))?)
        }
    };
    Ok(value)
}

fn decode_inner(reader: &mut Reader<'_>, depth: usize) -> Decoded<Value> {
    decode_at(ValueType::Any, reader, depth)
}

/// Reads a count and as many items, each of which takes at least `item_bytes_min` bytes, inside one
/// more collection than `depth`.
fn decode_items<T>(
    reader: &mut Reader<'_>,
    depth: usize,
    item_bytes_min: usize,
    decode_item: impl Fn(&mut Reader<'_>, usize) -> Decoded<T>,
) -> Decoded<Vec<T>> {
    // The count is no greater than the bytes left allow, but a value in memory is larger than its
    // bytes, and 128 nested counts may all claim the same ones: room beyond this many items grows
    // with what is truly read.
    const ITEMS_AHEAD_MAX: usize = 64;
    if depth == DEPTH_MAX {
        return Err(reader.error(format!("a value nested at most {DEPTH_MAX} deep expected")));
    }
    let count = reader.count(item_bytes_min)?;
    let mut items = Vec::with_capacity(count.min(ITEMS_AHEAD_MAX));
    for _ in 0..count {
        items.push(decode_item(reader, depth + 1)?);
    }
    Ok(items)
}

/// Reads a length and an integer of so many bytes, in its shortest form.
fn decode_integer(reader: &mut Reader<'_>) -> Decoded<BigInt> {
    let start = reader.clone();
    let bytes = reader.bytes()?;
    // A highest byte that repeats the sign of the one below says nothing.
    let is_shortest = match bytes {
        [] => false,
        [.., below, 0x00] => *below >= 0x80,
        [.., below, 0xff] => *below < 0x80,
        _ => true,
    };
    if !is_shortest {
        return Err(start.error("an integer in the shortest form expected"));
    }
    Ok(BigInt::from_signed_bytes_le(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::strategy::any_value;
    use proptest::prelude::*;

    fn encoded(value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        value.encode(&mut out);
        out
    }

    fn decoded(bytes: &[u8]) -> Decoded<Value> {
        let mut reader = Reader::new(bytes);
        let value = Value::decode(&mut reader)?;
        assert!(reader.is_empty(), "{value:?} leaves bytes");
        Ok(value)
    }

    /// Format version 1. A change of any of these bytes makes old files unreadable.
    fn golden() -> Vec<(Value, &'static [u8])> {
        let parse = |text: &str, value_type| Value::parse(text, value_type).unwrap();
        vec![
            (Value::from(false), &[1, 0]),
            (Value::from(true), &[1, 1]),
            (Value::from(-2_i8), &[2, 0xfe]),
            (Value::from(0x0102_i16), &[3, 2, 1]),
            (Value::from(0x0102_0304_i32), &[4, 4, 3, 2, 1]),
            (Value::from(-1_i64), &[5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            (Value::from(1.5_f32), &[6, 0, 0, 0xc0, 0x3f]),
            (Value::from(f32::NAN), &[6, 0, 0, 0xc0, 0x7f]),
            (Value::from(-0.0_f64), &[7, 0, 0, 0, 0, 0, 0, 0, 0x80]),
            (Value::from(-f64::NAN), &[7, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f]),
            (Value::from(BigInteger::from(0)), &[8, 1, 0]),
            (Value::from(BigInteger::from(-128)), &[8, 1, 0x80]),
            (Value::from(BigInteger::from(128)), &[8, 2, 0x80, 0]),
            (Value::from(BigInteger::from(u64::MAX)), &[8, 9, 255, 255, 255, 255, 255, 255, 255, 255, 0]),
            (parse("-1.25", ValueType::Decimal), &[9, 2, 0, 0, 0, 1, 0x83]),
            (parse("1e5", ValueType::Decimal), &[9, 0xfb, 0xff, 0xff, 0xff, 1, 1]),
            (Value::from('€'), &[10, 0xac, 0x20, 0, 0]),
            (Value::from("aé"), &[11, 3, b'a', 0xc3, 0xa9]),
            (Value::from(""), &[11, 0]),
            (Value::from(vec![0_u8, 255]), &[12, 2, 0, 255]),
            (parse("2024-02-29", ValueType::Date), &[13, 0x46, 0x4d, 0, 0]),
            (
                parse("2024-02-29T13:00:00.5+01:00", ValueType::DateTime),
                &[14, 0xc0, 0x71, 0xe0, 0x65, 0, 0, 0, 0, 0, 0x65, 0xcd, 0x1d, 0x10, 0x0e, 0, 0],
            ),
            (
                parse("P1M-2DT3.5S", ValueType::Duration),
                &[15, 1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0x65, 0xcd, 0x1d],
            ),
            (
                parse("00112233-4455-6677-8899-aabbccddeeff", ValueType::Uuid),
                &[
                    16, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
                    0xee, 0xff,
                ],
            ),
            (List::new(vec![2_i8.into(), "a".into()]).unwrap().into(), &[17, 2, 2, 2, 11, 1, b'a']),
            (Set::new(vec![2_i8.into(), 1_i8.into()]).unwrap().into(), &[18, 2, 2, 1, 2, 2]),
            (
                Map::new(vec![("b".into(), true.into()), ("a".into(), List::default().into())])
                    .unwrap()
                    .into(),
                &[19, 2, 11, 1, b'a', 17, 0, 11, 1, b'b', 1, 1],
            ),
        ]
    }

    #[test]
    fn each_type_has_the_bytes_of_version_1() {
        let golden = golden();
        for (value, bytes) in &golden {
            assert_eq!(encoded(value), *bytes, "{value}");
            assert_eq!(decoded(bytes).as_ref(), Ok(value));
            let mut payload = Vec::new();
            value.encode_payload(&mut payload);
            assert_eq!(payload, bytes[1..]);
            let back = Value::decode_payload(value.value_type(), &mut Reader::new(&payload));
            assert_eq!(back.as_ref(), Ok(value));
        }
        for value_type in ValueType::all().filter(|value_type| *value_type != ValueType::Any) {
            assert!(golden.iter().any(|(value, _)| value.value_type() == value_type), "{value_type}");
        }
    }

    #[test]
    fn a_second_form_of_a_value_is_refused() {
        let other_forms: [(&str, &[u8]); 14] = [
            ("neither 0 nor 1", &[1, 2]),
            ("unusual NaN", &[6, 1, 0, 0xc0, 0x7f]),
            ("unusual NaN", &[7, 0, 0, 0, 0, 0, 0, 0xf8, 0xff]),
            ("shortest form", &[8, 0]),
            ("shortest form", &[8, 2, 1, 0]),
            ("shortest form", &[8, 2, 0x80, 0xff]),
            ("scale 131073", &[9, 1, 0, 2, 0, 1, 1]),
            ("0xd800 is no scalar", &[10, 0, 0xd8, 0, 0]),
            ("UTF-8 text expected", &[11, 1, 0xff]),
            ("shortest form", &[11, 0x80, 0]),
            ("nanosecond 1000000000", &[14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xca, 0x9a, 0x3b, 0, 0, 0, 0]),
            ("values don't ascend", &[18, 2, 2, 2, 2, 1]),
            ("values don't ascend", &[18, 2, 2, 1, 2, 1]),
            ("keys don't ascend", &[19, 2, 2, 1, 1, 0, 2, 1, 1, 1]),
        ];
        for (reason, bytes) in other_forms {
            let error = decoded(bytes).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn an_unknown_code_is_named_with_its_place() {
        for code in [0, 20, 255] {
            let error = decoded(&[17, 1, code, 0]).unwrap_err();
            assert_eq!(error.to_string(), format!("at byte 2: a value's type code expected, not {code}"));
        }
    }

    #[test]
    fn a_length_past_the_end_takes_no_memory() {
        let mut claims = vec![12];
        put_varint(&mut claims, u64::MAX);
        for value_type in [ValueType::Bytes, ValueType::List, ValueType::Map, ValueType::BigInteger] {
            claims[0] = value_type.code();
            assert_eq!(decoded(&claims).unwrap_err().offset, 1, "{value_type}");
        }
    }

    #[test]
    fn a_value_more_than_128_deep_is_refused() {
        let mut bytes = [17, 1].repeat(DEPTH_MAX - 1);
        bytes.extend([17, 0]);
        assert_eq!(decoded(&bytes).unwrap().depth(), DEPTH_MAX);
        let deeper = [17, 1].repeat(1_000_000);
        let error = decoded(&deeper).unwrap_err();
        assert_eq!(error.offset, 2 * DEPTH_MAX + 1);
        assert_eq!(error.expected, "a value nested at most 128 deep expected");
    }

    /// Decoding `bytes` gives an error, or a value whose one form they begin with.
    fn check_arbitrary(bytes: &[u8]) -> Result<(), TestCaseError> {
        let mut reader = Reader::new(bytes);
        match Value::decode(&mut reader) {
            Ok(value) => prop_assert_eq!(encoded(&value), &bytes[..reader.offset()]),
            Err(error) => prop_assert!(error.offset <= bytes.len()),
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn a_value_is_read_back_and_no_part_of_it_is_one(value in any_value()) {
            let bytes = encoded(&value);
            let back = decoded(&bytes);
            prop_assert_eq!(back.as_ref(), Ok(&value));
            for end in 0..bytes.len() {
                prop_assert!(Value::decode(&mut Reader::new(&bytes[..end])).is_err());
            }
        }

        #[test]
        fn damaged_bytes_give_an_error_or_another_value(
            value in any_value(),
            flips in proptest::collection::vec((any::<proptest::sample::Index>(), 0..8_u32), 1..4),
        ) {
            let mut bytes = encoded(&value);
            for (place, bit) in flips {
                let place = place.index(bytes.len());
                bytes[place] ^= 1 << bit;
            }
            check_arbitrary(&bytes)?;
        }

        #[test]
        fn random_bytes_give_an_error_or_a_value(
            code in 0..22_u8, bytes in proptest::collection::vec(prop_oneof![0..22_u8, any::<u8>()], 0..40),
        ) {
            check_arbitrary(&[&[code], bytes.as_slice()].concat())?;
        }
    }
}
