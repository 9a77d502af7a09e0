//! Epoch: dates and times written as a count of seconds or smaller units since 1970, UTC.
//!
//! ```text
//! 1289241911.72836   seconds          1289241911 s  728,360,000 ns
//! 628646400000       milliseconds      628646400 s
//! -1                 microseconds             -1 s  999,999,000 ns
//! ```
//!
//! The count may have a fraction, which is read digit by digit and never as a float. What is finer than
//! a nanosecond is refused unless it is zero.

use crate::import::field::integer::{parse_i64, parse_u64};
use evergraph_graph::value::date::Date;
use evergraph_graph::value::datetime::DateTime;
use evergraph_graph::value::{Value, ValueType};

const NANOSECONDS_PER_SECOND: i128 = 1_000_000_000;
const NANOSECONDS_PER_DAY: i128 = 86_400 * NANOSECONDS_PER_SECOND;

/// The unit of a count since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EpochUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl EpochUnit {
    /// All units, the longest first.
    pub const ALL: [Self; 4] = [Self::Seconds, Self::Milliseconds, Self::Microseconds, Self::Nanoseconds];

    /// What headers call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        }
    }

    /// The unit that `word` names, in full or short: `s`, `ms`, `us`, `ns`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let short = ["s", "ms", "us", "ns"];
        Self::ALL
            .into_iter()
            .zip(short)
            .find(|(unit, short)| unit.name() == word || *short == word)
            .map(|(unit, _)| unit)
    }

    /// The power of ten of the nanoseconds that it has.
    const fn exponent(self) -> u32 {
        match self {
            Self::Seconds => 9,
            Self::Milliseconds => 6,
            Self::Microseconds => 3,
            Self::Nanoseconds => 0,
        }
    }
}

/// Reads a count of `unit` as a date or datetime.
///
/// # Errors
/// Why it is none.
pub fn read_epoch(text: &[u8], value_type: ValueType, unit: EpochUnit) -> Result<Value, String> {
    let nanoseconds = nanoseconds(text, unit.exponent())?;
    if value_type == ValueType::Date {
        if nanoseconds % NANOSECONDS_PER_DAY != 0 {
            return Err("it is not the beginning of a day".to_owned());
        }
        let days = i32::try_from(nanoseconds / NANOSECONDS_PER_DAY).map_err(|_| "out of range")?;
        return Ok(Value::Date(Date::from_days(days)));
    }
    let seconds =
        i64::try_from(nanoseconds.div_euclid(NANOSECONDS_PER_SECOND)).map_err(|_| "out of range")?;
    let rest = nanoseconds.rem_euclid(NANOSECONDS_PER_SECOND) as u32;
    DateTime::new(seconds, rest, 0).map(Value::DateTime).map_err(|error| error.to_string())
}

/// The number of 10^-`exponent`ths that `text` is.
fn nanoseconds(text: &[u8], exponent: u32) -> Result<i128, &'static str> {
    const WANTED: &str = "expected a number of 64 bits, perhaps with a fraction";
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b"0"[..]),
    };
    let count = parse_i64(whole).map_err(|_| WANTED)?;
    let (counted, finer) = fraction.split_at(fraction.len().min(exponent as usize));
    if fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return Err(WANTED);
    }
    if finer.iter().any(|digit| *digit != b'0') {
        return Err("it is finer than a nanosecond");
    }
    let digits = if counted.is_empty() { 0 } else { parse_u64(counted).map_err(|_| WANTED)? };
    let fraction = i128::from(digits) * 10i128.pow(exponent - counted.len() as u32);
    let whole_part = i128::from(count) * 10i128.pow(exponent);
    Ok(if whole.first() == Some(&b'-') { whole_part - fraction } else { whole_part + fraction })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, unit: EpochUnit) -> Result<String, String> {
        read_epoch(text.as_bytes(), ValueType::DateTime, unit).map(|value| value.to_string())
    }

    #[test]
    fn counts_of_every_unit_are_exact() {
        for (text, unit, expected) in [
            ("1709208000", EpochUnit::Seconds, "2024-02-29T12:00:00Z"),
            ("1289241911.72836", EpochUnit::Seconds, "2010-11-08T18:45:11.72836Z"),
            ("1289241911.1234567890000", EpochUnit::Seconds, "2010-11-08T18:45:11.123456789Z"),
            ("1709208000001.5", EpochUnit::Milliseconds, "2024-02-29T12:00:00.0015Z"),
            ("-1", EpochUnit::Microseconds, "1969-12-31T23:59:59.999999Z"),
            ("-0.5", EpochUnit::Seconds, "1969-12-31T23:59:59.5Z"),
            ("1709208000000000001", EpochUnit::Nanoseconds, "2024-02-29T12:00:00.000000001Z"),
        ] {
            assert_eq!(shown(text, unit).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_count_is_refused() {
        for text in ["", ".", "1.", ".5", "1e9", "1.-5", "1.5.5", "99999999999999999999"] {
            assert!(shown(text, EpochUnit::Seconds).unwrap_err().starts_with("expected a number"), "{text}");
        }
        assert_eq!(shown("0.0000000001", EpochUnit::Seconds).unwrap_err(), "it is finer than a nanosecond");
        assert!(shown("9223372036854775807", EpochUnit::Seconds).is_err());
        let day = |text: &str| read_epoch(text.as_bytes(), ValueType::Date, EpochUnit::Milliseconds);
        assert_eq!(day("558921600000").unwrap().to_string(), "1987-09-18");
        assert_eq!(day("558921600000.0").unwrap().to_string(), "1987-09-18");
        assert_eq!(day("558921600001").unwrap_err(), "it is not the beginning of a day");
    }

    #[test]
    fn units_have_long_and_short_names() {
        assert_eq!(EpochUnit::parse("us"), Some(EpochUnit::Microseconds));
        assert_eq!(EpochUnit::parse("milliseconds"), Some(EpochUnit::Milliseconds));
        assert_eq!(EpochUnit::parse("minutes"), None);
    }
}
