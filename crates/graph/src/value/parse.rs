//! Parses scalars from text, as in CSV files.
//!
//! ```text
//! bool       true or false, in any case
//! integers   digits with an optional sign, never by way of a float
//! floats     digits with optional point and exponent; inf, infinity, nan in any case; nothing that
//!            would round to infinity
//! bigint     digits with an optional sign
//! decimal    digits with optional point and exponent; the scale is kept
//! char       one Unicode scalar value
//! string     the text as it is
//! bytes      hexadecimal digits after \x or 0x; the prefix is required, since base64 without one
//!            would often be read as something else than was meant
//! date       2024-02-29
//! datetime   2024-02-29T12:00:00.5+01:00; or an integer: milliseconds since 1970, in UTC
//! duration   P1M2DT3.5S
//! uuid       with or without hyphens, braces, or urn:uuid:
//! ```
//!
//! Blanks around the text belong to it: who reads a file knows whether to trim. Collections have no
//! form here, since each kind of file has its own; nor has `any`, which says nothing about the text.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

use thiserror::Error;
use uuid::Uuid;

use crate::value::datetime::DateTime;
use crate::value::number::{BigInteger, Decimal};
use crate::value::shortened::Shortened;
use crate::value::{Value, ValueType};

/// A text is no value of the type that was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{text} is not a valid {expected}: {reason}")]
pub struct ParseValueError {
    /// The type that was asked for.
    pub expected: ValueType,
    /// The beginning of the text.
    pub text: Shortened,
    /// What is wrong with it.
    pub reason: String,
}

impl Value {
    /// Reads a scalar of type `value_type` from `text`; the caption of [`crate::value::parse`] has
    /// the forms.
    ///
    /// # Errors
    /// [`ParseValueError`] if the text doesn't have the form or is out of range, and always for
    /// collections and [`ValueType::Any`].
    pub fn parse(text: &str, value_type: ValueType) -> Result<Value, ParseValueError> {
        parse(text, value_type).map_err(|reason| ParseValueError {
            expected: value_type,
            text: Shortened::new(text),
            reason,
        })
    }
}

/// Reads a value, or says why not.
fn parse(text: &str, value_type: ValueType) -> Result<Value, String> {
    match value_type {
        ValueType::Bool if text.eq_ignore_ascii_case("true") => Ok(Value::Bool(true)),
        ValueType::Bool if text.eq_ignore_ascii_case("false") => Ok(Value::Bool(false)),
        ValueType::Bool => Err("expected true or false".to_owned()),
        ValueType::I8 => parse_integer(text, i8::MIN, i8::MAX).map(Value::I8),
        ValueType::I16 => parse_integer(text, i16::MIN, i16::MAX).map(Value::I16),
        ValueType::I32 => parse_integer(text, i32::MIN, i32::MAX).map(Value::I32),
        ValueType::I64 => parse_integer(text, i64::MIN, i64::MAX).map(Value::I64),
        ValueType::F32 => parse_float(text, f32::is_infinite).map(Value::F32),
        ValueType::F64 => parse_float(text, f64::is_infinite).map(Value::F64),
        ValueType::BigInteger => parse_by::<BigInteger>(text).map(Value::BigInteger),
        ValueType::Decimal => parse_by::<Decimal>(text).map(Value::Decimal),
        ValueType::Char => parse_by::<char>(text).map(Value::Char),
        ValueType::String => Ok(Value::from(text)),
        ValueType::Bytes => parse_bytes(text).map(Value::from),
        ValueType::Date => parse_by(text).map(Value::Date),
        ValueType::DateTime => parse_datetime(text).map(Value::DateTime),
        ValueType::Duration => parse_by(text).map(Value::Duration),
        ValueType::Uuid => parse_by::<Uuid>(text).map(Value::Uuid),
        ValueType::List | ValueType::Set | ValueType::Map => Err("collections have no text form".to_owned()),
        ValueType::Any => Err("the type of a text must be stated".to_owned()),
    }
}

fn parse_by<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn parse_integer<T>(text: &str, least: T, greatest: T) -> Result<T, String>
where
    T: FromStr<Err = ParseIntError> + std::fmt::Display,
{
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => format!("outside {least} to {greatest}"),
        _ => "expected digits with an optional sign".to_owned(),
    })
}

fn parse_float<T: FromStr + Copy>(text: &str, is_infinite: fn(T) -> bool) -> Result<T, String> {
    let number: T =
        text.parse().map_err(|_| "expected digits with an optional point and exponent".to_owned())?;
    // The standard library rounds 1e999 to infinity; only a text that says so may mean it.
    if is_infinite(number) && text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err("too large for this type".to_owned());
    }
    Ok(number)
}

fn parse_bytes(text: &str) -> Result<Vec<u8>, String> {
    let Some(digits) = text.strip_prefix("\\x").or_else(|| text.strip_prefix("0x")) else {
        return Err("expected \\x or 0x before hexadecimal digits".to_owned());
    };
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else {
        return Err("odd number of hexadecimal digits".to_owned());
    };
    pairs
        .iter()
        .map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(|| "expected only hexadecimal digits after the prefix".to_owned())
}

fn parse_datetime(text: &str) -> Result<DateTime, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return parse_by(text);
    }
    let milliseconds = parse_integer(text, i64::MIN, i64::MAX)?;
    DateTime::from_epoch_milliseconds(milliseconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::strategy::any_scalar;
    use proptest::prelude::*;

    fn read(text: &str, value_type: ValueType) -> Value {
        Value::parse(text, value_type).expect(text)
    }

    fn reason(text: &str, value_type: ValueType) -> String {
        Value::parse(text, value_type).unwrap_err().reason
    }

    #[test]
    fn an_integer_is_not_rounded_on_its_way() {
        assert_eq!(read("9007199254740993", ValueType::I64), Value::I64(9_007_199_254_740_993));
        assert_eq!(read("-128", ValueType::I8), Value::I8(-128));
        assert_eq!(read("+7", ValueType::I16), Value::I16(7));
        assert_eq!(reason("128", ValueType::I8), "outside -128 to 127");
        for text in ["", "-", "1.0", "1e3", " 1", "1_000", "0x1"] {
            assert_eq!(reason(text, ValueType::I32), "expected digits with an optional sign", "{text:?}");
        }
    }

    #[test]
    fn a_float_past_the_range_is_refused_but_infinity_is_read() {
        assert_eq!(read("-1.5e3", ValueType::F64), Value::F64(-1500.0));
        assert_eq!(read("0.1", ValueType::F32), Value::F32(0.1));
        assert_eq!(read("-Infinity", ValueType::F64), Value::F64(f64::NEG_INFINITY));
        assert_eq!(read("NaN", ValueType::F32), Value::F32(f32::NAN));
        assert_eq!(reason("1e309", ValueType::F64), "too large for this type");
        assert_eq!(reason("-1e39", ValueType::F32), "too large for this type");
        assert_eq!(reason("1,5", ValueType::F64), "expected digits with an optional point and exponent");
    }

    #[test]
    fn other_scalars_are_read_in_their_forms() {
        assert_eq!(read("TRUE", ValueType::Bool), Value::Bool(true));
        assert_eq!(read("é", ValueType::Char), Value::Char('é'));
        assert_eq!(read("", ValueType::String), Value::from(""));
        assert_eq!(read("\\x00fF", ValueType::Bytes), Value::from(vec![0_u8, 255]));
        assert_eq!(read("0x", ValueType::Bytes), Value::from(vec![0_u8; 0]));
        let noon = read("2024-02-29T12:00:00.5Z", ValueType::DateTime);
        assert_eq!(read("1709208000500", ValueType::DateTime), noon);
        assert_eq!(read("-1", ValueType::DateTime).to_string(), "1969-12-31T23:59:59.999Z");
        assert_eq!(
            read("{550E8400-E29B-41D4-A716-446655440000}", ValueType::Uuid),
            read("550e8400e29b41d4a716446655440000", ValueType::Uuid)
        );
    }

    #[test]
    fn other_scalars_in_other_forms_are_refused() {
        for (text, value_type) in [
            ("yes", ValueType::Bool),
            ("1", ValueType::Bool),
            ("ab", ValueType::Char),
            ("", ValueType::Char),
            ("deadbeef", ValueType::Bytes),
            ("0xabc", ValueType::Bytes),
            ("0xzz", ValueType::Bytes),
            ("0x+1", ValueType::Bytes),
            ("29.02.2024", ValueType::Date),
            ("99999999999999999999", ValueType::DateTime),
            ("9223372036854775807", ValueType::DateTime),
            ("", ValueType::DateTime),
            ("-", ValueType::DateTime),
            ("1 day", ValueType::Duration),
            ("550e8400", ValueType::Uuid),
            ("[1]", ValueType::List),
            ("1", ValueType::Any),
        ] {
            assert!(Value::parse(text, value_type).is_err(), "{text:?} {value_type}");
        }
    }

    #[test]
    fn an_error_names_the_type_the_text_and_the_reason() {
        let error = Value::parse("2023-02-29", ValueType::Date).unwrap_err();
        assert_eq!(error.to_string(), r#""2023-02-29" is not a valid date: day 29 is outside 1 to 28"#);
        let error = Value::parse(&"9".repeat(500_000), ValueType::BigInteger).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("\"{}\"… is not a valid bigint: 500000 digits", "9".repeat(40))),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn a_scalar_is_read_back_from_its_text(value in any_scalar()) {
            prop_assert_eq!(Value::parse(&value.to_string(), value.value_type()), Ok(value));
        }
    }
}
