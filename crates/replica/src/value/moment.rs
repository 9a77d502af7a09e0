//! Dates and timestamps as PostgreSQL writes them: `DateStyle` ISO, in UTC.
//!
//! ```text
//! 2024-02-29      12345-06-07      0044-03-15 BC      infinity  -infinity
//! 2024-02-29 12:00:00.5            2024-02-29 12:00:00.5+00         0044-03-15 12:00:00+00 BC
//! ```
//!
//! Years have four digits or more and no sign; 1 BC is the year 0. This is not the ISO 8601 of our own texts, whose years of
//! five digits have a sign.

use evergraph_graph::value::date::Date;
use evergraph_graph::value::datetime::DateTime;

use crate::value::unfit::UnfitCause;

const SECONDS_PER_DAY: i64 = 86_400;

/// Reads a `date`.
pub(super) fn read_date(text: &str) -> Result<Date, UnfitCause> {
    check_finite(text)?;
    let mut scanner = Scanner::new(text);
    let date = scanner.date()?;
    scanner.finish("a date as in 2024-02-29 or 0044-03-15 BC")?;
    Ok(date)
}

/// Reads a `timestamp` or a `timestamptz`.
pub(super) fn read_timestamp(text: &str) -> Result<DateTime, UnfitCause> {
    const FORM: &str = "a moment as in 2024-02-29 12:00:00.5+00";
    check_finite(text)?;
    let mut scanner = Scanner::new(text);
    let date = scanner.date()?;
    let (hour, minute) = (scanner.two_digits(b' ', FORM)?, scanner.two_digits(b':', FORM)?);
    let second = scanner.two_digits(b':', FORM)?;
    let nanoseconds = scanner.fraction(FORM)?;
    let offset = scanner.offset(FORM)?;
    scanner.finish(FORM)?;
    if hour > 24 || minute > 59 || second > 60 {
        return Err(malformed(FORM));
    }
    let seconds = i64::from(date.days()) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset;
    DateTime::new(seconds, nanoseconds, 0).map_err(|error| UnfitCause::OutOfRange(error.to_string()))
}

fn check_finite(text: &str) -> Result<(), UnfitCause> {
    match text {
        "infinity" | "-infinity" => Err(UnfitCause::Infinite),
        _ => Ok(()),
    }
}

fn malformed(form: &str) -> UnfitCause {
    UnfitCause::Malformed(format!("{form} expected"))
}

/// Reads a text from the front, without its era.
struct Scanner<'a> {
    rest: &'a [u8],
    is_before_christ: bool,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        match text.strip_suffix(" BC") {
            Some(rest) => Self { rest: rest.as_bytes(), is_before_christ: true },
            None => Self { rest: text.as_bytes(), is_before_christ: false },
        }
    }

    fn date(&mut self) -> Result<Date, UnfitCause> {
        const FORM: &str = "a date as in 2024-02-29 or 0044-03-15 BC";
        let digits = self.digits_ahead();
        if !(4..=7).contains(&digits) {
            return Err(malformed(FORM));
        }
        let year = self.rest[..digits].iter().fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'));
        self.rest = &self.rest[digits..];
        let (month, day) = (self.two_digits(b'-', FORM)?, self.two_digits(b'-', FORM)?);
        let year = if self.is_before_christ { 1 - year } else { year };
        let fits = "two digits";
        let (month, day) = (u8::try_from(month).expect(fits), u8::try_from(day).expect(fits));
        Date::from_calendar(year, month, day).map_err(|error| UnfitCause::OutOfRange(error.to_string()))
    }

    /// Reads `separator` and two digits.
    fn two_digits(&mut self, separator: u8, form: &str) -> Result<i64, UnfitCause> {
        match *self.rest {
            [first, tens @ b'0'..=b'9', ones @ b'0'..=b'9', ref rest @ ..] if first == separator => {
                self.rest = rest;
                Ok(i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
            }
            _ => Err(malformed(form)),
        }
    }

    /// Reads a point and up to nine digits, in nanoseconds; zero without a point.
    fn fraction(&mut self, form: &str) -> Result<u32, UnfitCause> {
        let Some(rest) = self.rest.strip_prefix(b".") else { return Ok(0) };
        self.rest = rest;
        let digits = self.digits_ahead();
        if !(1..=9).contains(&digits) {
            return Err(malformed(form));
        }
        let number = self.rest[..digits].iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
        self.rest = &self.rest[digits..];
        Ok(number * 10_u32.pow(9 - u32::try_from(digits).expect("at most nine")))
    }

    /// Reads an offset from UTC in seconds: hours, and perhaps minutes and seconds. The session's zone is UTC, so it is
    /// zero, unless somebody changed the zone.
    fn offset(&mut self, form: &str) -> Result<i64, UnfitCause> {
        let Some(sign @ (b'+' | b'-')) = self.rest.first().copied() else { return Ok(0) };
        let mut offset = self.two_digits(sign, form)? * 3600;
        for unit in [60, 1] {
            if self.rest.first() == Some(&b':') {
                offset += self.two_digits(b':', form)? * unit;
            }
        }
        Ok(if sign == b'-' { -offset } else { offset })
    }

    fn digits_ahead(&self) -> usize {
        self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    fn finish(&self, form: &str) -> Result<(), UnfitCause> {
        if self.rest.is_empty() { Ok(()) } else { Err(malformed(form)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eras_long_years_and_fractions_are_read() {
        for (text, ours) in [
            ("2024-02-29", "2024-02-29"),
            ("12345-06-07", "+12345-06-07"),
            ("5874897-12-31", "+5874897-12-31"),
            ("0001-01-01 BC", "0000-01-01"),
            ("4714-11-24 BC", "-4713-11-24"),
        ] {
            assert_eq!(read_date(text).unwrap().to_string(), ours);
        }
        for (text, ours) in [
            ("2024-02-29 12:00:00", "2024-02-29T12:00:00Z"),
            ("2024-02-29 12:00:00.000001+00", "2024-02-29T12:00:00.000001Z"),
            ("294276-12-31 23:59:59.999999+00", "+294276-12-31T23:59:59.999999Z"),
            ("0044-03-15 12:00:00.5+00 BC", "-0043-03-15T12:00:00.5Z"),
            ("2024-02-29 12:00:00+05:30", "2024-02-29T06:30:00Z"),
            ("1890-01-01 00:00:00-00:53:28", "1890-01-01T00:53:28Z"),
        ] {
            assert_eq!(read_timestamp(text).unwrap().to_string(), ours);
        }
    }

    #[test]
    fn infinity_has_its_own_cause_and_other_texts_are_malformed() {
        for text in ["infinity", "-infinity"] {
            assert_eq!(read_date(text), Err(UnfitCause::Infinite));
            assert_eq!(read_timestamp(text), Err(UnfitCause::Infinite));
        }
        for text in ["", "24-02-29", "2024-02", "2024-02-29 ", "2024-02-29x", "2024-02-29 BCE", "29.02.2024"]
        {
            assert!(matches!(read_date(text), Err(UnfitCause::Malformed(_))), "{text}");
        }
        assert!(matches!(read_date("2023-02-29"), Err(UnfitCause::OutOfRange(_))));
        for text in [
            "2024-02-29",
            "2024-02-29 12:00",
            "2024-02-29 12:00:00.",
            "2024-02-29 12:00:00+1",
            "2024-02-29 12:61:00",
        ] {
            assert!(matches!(read_timestamp(text), Err(UnfitCause::Malformed(_))), "{text}");
        }
    }
}
