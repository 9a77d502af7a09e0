//! Reads a value of PostgreSQL from its text.

use std::str::FromStr;

use evergraph_graph::value::duration::Duration;
use evergraph_graph::value::number::Decimal;
use evergraph_graph::value::shortened::Shortened;
use evergraph_graph::value::{Value, ValueType};
use uuid::Uuid;

use crate::value::array;
use crate::value::column_type::ColumnType;
use crate::value::moment;
use crate::value::unfit::{UnfitCause, UnfitValue};

impl ColumnType {
    /// Reads the text of a value.
    ///
    /// Cost: one pass; for a numeric the square of its digits. Takes memory in proportion to the text.
    ///
    /// # Errors
    /// [`UnfitValue`].
    pub fn read(&self, text: &[u8]) -> Result<Value, UnfitValue> {
        self.read_or_cause(text).map_err(|cause| UnfitValue {
            column_type: self.clone(),
            text: Shortened::new(&String::from_utf8_lossy(&text[..text.len().min(200)])),
            cause,
        })
    }

    /// As [`ColumnType::read`] of the most frequent texts, whole numbers and UTF-8; `None` says nothing of others.
    ///
    /// Cost: some nanoseconds. The error of `read` is so large that moving results costs more than reading a number.
    #[inline]
    #[must_use]
    pub fn read_plain(&self, text: &[u8]) -> Option<Value> {
        match self {
            Self::I16 => read_integer(text)?.try_into().ok().map(Value::I16),
            Self::I32 => read_integer(text)?.try_into().ok().map(Value::I32),
            Self::I64 => read_integer(text).map(Value::I64),
            Self::Text => std::str::from_utf8(text).ok().map(Value::from),
            _ => None,
        }
    }

    pub(super) fn read_or_cause(&self, bytes: &[u8]) -> Result<Value, UnfitCause> {
        if let Self::Array { element, delimiter } = self {
            return array::read(bytes, element, *delimiter);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| UnfitCause::NotUtf8)?;
        Ok(match self {
            Self::Bool => match text {
                "t" => Value::Bool(true),
                "f" => Value::Bool(false),
                _ => return Err(UnfitCause::Malformed("t or f expected".to_owned())),
            },
            Self::I16 => Value::I16(parse(text, "a whole number of 16 bits expected")?),
            Self::I32 => Value::I32(parse(text, "a whole number of 32 bits expected")?),
            Self::I64 => Value::I64(parse(text, "a whole number of 64 bits expected")?),
            Self::F32 => Value::F32(parse(text, "a floating-point number expected")?),
            Self::F64 => Value::F64(parse(text, "a floating-point number expected")?),
            Self::Numeric => Value::Decimal(read_numeric(text)?),
            Self::Text => Value::from(text),
            Self::Bytes => Value::from(read_bytes(text)?),
            Self::Uuid => Value::Uuid(parse::<Uuid>(text, "a UUID expected")?),
            Self::Date => Value::Date(moment::read_date(text)?),
            Self::Timestamp | Self::TimestampTz => Value::DateTime(moment::read_timestamp(text)?),
            Self::Interval => Value::Duration(read_interval(text)?),
            Self::Array { .. } => unreachable!("an array returned above"),
        })
    }
}

fn parse<T: FromStr>(text: &str, expected: &str) -> Result<T, UnfitCause> {
    text.parse().map_err(|_| UnfitCause::Malformed(expected.to_owned()))
}

/// The number that at most 18 digits are, perhaps behind a minus.
#[inline]
fn read_integer(text: &[u8]) -> Option<i64> {
    /// So many digits fit, whichever they are.
    const DIGITS_MAX: usize = 18;
    let (digits, is_negative) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    if !(1..=DIGITS_MAX).contains(&digits.len()) {
        return None;
    }
    let mut number = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    Some(if is_negative { -number } else { number })
}

fn read_numeric(text: &str) -> Result<Decimal, UnfitCause> {
    match text {
        "NaN" => Err(UnfitCause::NotANumber),
        "Infinity" | "-Infinity" => Err(UnfitCause::Infinite),
        _ => text.parse().map_err(|error| UnfitCause::Malformed(format!("{error}"))),
    }
}

fn read_interval(text: &str) -> Result<Duration, UnfitCause> {
    match text {
        "infinity" | "-infinity" => Err(UnfitCause::Infinite),
        _ => text.parse().map_err(|error| UnfitCause::Malformed(format!("{error}"))),
    }
}

/// Reads `\x` and hexadecimal digits, as `bytea_output = hex` writes them.
fn read_bytes(text: &str) -> Result<Vec<u8>, UnfitCause> {
    match Value::parse(text, ValueType::Bytes) {
        Ok(Value::Bytes(bytes)) if text.starts_with("\\x") => Ok(bytes.into_vec()),
        _ => Err(UnfitCause::Malformed("\\x and pairs of hexadecimal digits expected".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(column_type: &ColumnType, text: &str) -> String {
        match column_type.read(text.as_bytes()) {
            Ok(value) => format!("{value:?}"),
            Err(error) => format!("{:?}", error.cause),
        }
    }

    #[test]
    fn scalars_are_read_as_their_type_says() {
        for (oid, text, value) in [
            (16, "t", Value::from(true)),
            (21, "-32768", Value::from(i16::MIN)),
            (23, "2147483647", Value::from(i32::MAX)),
            (20, "-9223372036854775808", Value::from(i64::MIN)),
            (26, "4294967295", Value::from(4_294_967_295_i64)),
            (700, "0.1", Value::from(0.1_f32)),
            (701, "1e-300", Value::from(1e-300)),
            (701, "Infinity", Value::from(f64::INFINITY)),
            (701, "NaN", Value::from(f64::NAN)),
            (1700, "12.50", Value::Decimal("12.50".parse().unwrap())),
            (25, "t", Value::from("t")),
            (1042, "ab ", Value::from("ab ")),
            (3802, "{\"a\": 1}", Value::from("{\"a\": 1}")),
            (17, "\\x00ff", Value::from(vec![0_u8, 255])),
            (17, "\\x", Value::from(Vec::<u8>::new())),
            (1186, "P1Y-2M3DT-4H5M-6.5S", Value::Duration("P1Y-2M3DT-4H5M-6.5S".parse().unwrap())),
            (1186, "PT0S", Value::Duration("PT0S".parse().unwrap())),
        ] {
            let column_type = ColumnType::built_in(oid).unwrap();
            let found = column_type.read(text.as_bytes()).unwrap();
            assert_eq!(found, value, "{text}");
            assert_eq!(found.value_type(), column_type.value_type());
        }
        assert_eq!(ColumnType::built_in(600), None);
    }

    proptest! {
        #[test]
        fn plain_texts_are_read_as_all_are(text in prop_oneof![
            "[-+]?[0-9]{0,20}", "[0-9]{1,5}", "[-0-9a-zé ]{0,8}", (any::<i64>(), -9..9_i64).prop_map(|(number, near)| {
                let edge = [0, i64::from(i16::MAX), i64::from(i32::MIN), 999_999_999_999_999_999, number][number as usize % 5];
                edge.saturating_add(near).to_string()
            }),
        ]) {
            for column_type in [ColumnType::I16, ColumnType::I32, ColumnType::I64, ColumnType::Text, ColumnType::Bool] {
                if let Some(value) = column_type.read_plain(text.as_bytes()) {
                    prop_assert_eq!(column_type.read(text.as_bytes()), Ok(value));
                }
            }
        }
    }

    #[test]
    fn the_most_frequent_texts_are_plain() {
        for (column_type, text) in [
            (ColumnType::I16, "-7"),
            (ColumnType::I32, "2147483647"),
            (ColumnType::I64, "0"),
            (ColumnType::Text, ""),
        ] {
            assert!(column_type.read_plain(text.as_bytes()).is_some(), "{text}");
        }
        assert_eq!(ColumnType::Text.read_plain(b"\xff"), None);
    }

    #[test]
    fn what_has_no_counterpart_names_its_cause() {
        use ColumnType::{Bool, Bytes, F64, I16, Numeric, Text, TimestampTz};
        assert_eq!(Numeric.read(b"NaN").unwrap_err().cause, UnfitCause::NotANumber);
        assert_eq!(Numeric.read(b"-Infinity").unwrap_err().cause, UnfitCause::Infinite);
        assert_eq!(Text.read(b"\xff").unwrap_err().cause, UnfitCause::NotUtf8);
        for (column_type, text) in
            [(Bool, "true"), (I16, "32768"), (I16, ""), (F64, "1,5"), (Bytes, "abc"), (Bytes, "0x00")]
        {
            let error = column_type.read(text.as_bytes()).unwrap_err();
            assert!(matches!(error.cause, UnfitCause::Malformed(_)), "{text}: {error}");
        }
        let error = TimestampTz.read(b"infinity").unwrap_err().to_string();
        assert_eq!(error, "\"infinity\" of type timestamptz has no counterpart: it is infinite");
        assert!(read(&Numeric, &"9".repeat(200_000)).starts_with("Malformed"));
    }
}
