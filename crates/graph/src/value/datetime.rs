//! Datetime: a point in time to the nanosecond, with the offset from UTC that it was written in.
//!
//! ```text
//! OFFSET  SIZE   FIELD (encoded form)
//!      0     8   seconds          since 1970-01-01T00:00:00Z, without leap seconds
//!      8     4   nanoseconds      0 to 999,999,999, always forward from `seconds`
//!     12     4   offset_seconds   local time minus UTC, at most 18 hours either way
//! ```
//!
//! Order is that of the moments; the same moment at two offsets is two values, the western first.
//! There is no datetime without an offset: a text without one means UTC.

use std::fmt;
use std::str::FromStr;

use crate::value::date::Date;
use crate::value::temporal_text::{Scanner, TemporalError, check_range, write_fraction};

const EXAMPLE: &str = "2024-02-29T12:00:00.5+01:00";
const SECONDS_PER_DAY: i64 = 86_400;

/// A moment and an offset from UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DateTime {
    // The derived order reads these from the top.
    seconds: i64,
    nanoseconds: u32,
    offset_seconds: i32,
}

impl DateTime {
    /// The greatest distance from 1970 in seconds: one day less than a [`Date`] reaches, so that
    /// every datetime has a local date.
    pub const SECONDS_MAX: i64 = (i32::MAX as i64 - 1) * SECONDS_PER_DAY;

    /// The greatest offset from UTC in seconds, as in Java.
    pub const OFFSET_SECONDS_MAX: i32 = 18 * 3600;

    /// The moment `nanoseconds` (below 10^9) after `seconds` since 1970, seen `offset_seconds` east
    /// of UTC.
    ///
    /// # Errors
    /// [`TemporalError::OutOfRange`] beyond [`Self::SECONDS_MAX`] or [`Self::OFFSET_SECONDS_MAX`].
    pub fn new(seconds: i64, nanoseconds: u32, offset_seconds: i32) -> Result<Self, TemporalError> {
        let offset_max = i64::from(Self::OFFSET_SECONDS_MAX);
        check_range("second since 1970", seconds, -Self::SECONDS_MAX, Self::SECONDS_MAX)?;
        check_range("nanosecond", nanoseconds, 0, 999_999_999)?;
        check_range("offset in seconds", offset_seconds, -offset_max, offset_max)?;
        Ok(Self { seconds, nanoseconds, offset_seconds })
    }

    /// The moment `milliseconds` after 1970, in UTC.
    ///
    /// # Errors
    /// [`TemporalError::OutOfRange`] beyond [`Self::SECONDS_MAX`].
    pub fn from_epoch_milliseconds(milliseconds: i64) -> Result<Self, TemporalError> {
        let nanoseconds = milliseconds.rem_euclid(1000) * 1_000_000;
        let fits = "less than a second";
        Self::new(milliseconds.div_euclid(1000), u32::try_from(nanoseconds).expect(fits), 0)
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
    #[must_use]
    #[inline]
    pub const fn seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds after [`Self::seconds`], below 10^9.
    #[must_use]
    #[inline]
    pub const fn nanoseconds(self) -> u32 {
        self.nanoseconds
    }

    /// Seconds that local time is ahead of UTC.
    #[must_use]
    #[inline]
    pub const fn offset_seconds(self) -> i32 {
        self.offset_seconds
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, rounded down.
    #[must_use]
    #[inline]
    pub fn epoch_milliseconds(self) -> i64 {
        self.seconds * 1000 + i64::from(self.nanoseconds / 1_000_000)
    }

    /// The day on the calendar at this offset.
    #[must_use]
    pub fn local_date(self) -> Date {
        let days = self.local_seconds().div_euclid(SECONDS_PER_DAY);
        Date::from_days(i32::try_from(days).expect("SECONDS_MAX leaves a day to either side"))
    }

    /// Whole seconds since midnight at this offset, below 86,400.
    #[must_use]
    pub fn local_second_of_day(self) -> u32 {
        u32::try_from(self.local_seconds().rem_euclid(SECONDS_PER_DAY)).expect("less than a day")
    }

    fn local_seconds(self) -> i64 {
        self.seconds + i64::from(self.offset_seconds)
    }
}

impl fmt::Display for DateTime {
    /// Writes `2024-02-29T12:00:00.5+01:00`; `Z` at UTC, and as many digits of the fraction as say
    /// anything.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let second = self.local_second_of_day();
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(formatter, "{}T{hour:02}:{minute:02}:{second:02}", self.local_date())?;
        write_fraction(formatter, self.nanoseconds)?;
        if self.offset_seconds == 0 {
            return formatter.write_str("Z");
        }
        let sign = if self.offset_seconds < 0 { '-' } else { '+' };
        let offset = self.offset_seconds.unsigned_abs();
        write!(formatter, "{sign}{:02}:{:02}", offset / 3600, offset / 60 % 60)?;
        if offset.is_multiple_of(60) { Ok(()) } else { write!(formatter, ":{:02}", offset % 60) }
    }
}

impl FromStr for DateTime {
    type Err = TemporalError;

    /// Reads a date, then optionally `T` or a space and `HH:MM[:SS[.fraction]]` (midnight otherwise),
    /// then optionally `Z` or `±HH[[:]MM[[:]SS]]` (UTC otherwise).
    fn from_str(text: &str) -> Result<Self, TemporalError> {
        let mut scanner = Scanner::new(text, EXAMPLE);
        let date = Date::scan(&mut scanner)?;
        let (mut second_of_day, mut nanoseconds, mut offset) = (0, 0, 0);
        if scanner.peek().is_some() {
            if !scanner.take(b' ') {
                scanner.require(b'T', "T or a space before the time")?;
            }
            (second_of_day, nanoseconds) = scan_time(&mut scanner)?;
            offset = scan_offset(&mut scanner)?;
        }
        scanner.finish()?;
        let seconds = i64::from(date.days()) * SECONDS_PER_DAY + second_of_day - i64::from(offset);
        Self::new(seconds, nanoseconds, offset)
    }
}

/// Reads a time of day: its seconds since midnight, and nanoseconds.
fn scan_time(scanner: &mut Scanner<'_>) -> Result<(i64, u32), TemporalError> {
    let hour = scanner.two_digits("an hour of 2 digits")?;
    check_range("hour", hour, 0, 23)?;
    scanner.require(b':', ": after the hour")?;
    let minute = scanner.two_digits("a minute of 2 digits")?;
    check_range("minute", minute, 0, 59)?;
    if !scanner.take(b':') {
        return Ok((hour * 3600 + minute * 60, 0));
    }
    let second = scanner.two_digits("a second of 2 digits")?;
    check_range("second", second, 0, 59)?;
    Ok((hour * 3600 + minute * 60 + second, scanner.fraction()?))
}

/// Reads an offset in seconds; none means UTC.
fn scan_offset(scanner: &mut Scanner<'_>) -> Result<i32, TemporalError> {
    if scanner.take(b'Z') {
        return Ok(0);
    }
    let Some(negative) = scanner.take_sign() else { return Ok(0) };
    let hours = scanner.two_digits("an offset's hour of 2 digits")?;
    let mut offset = hours * 3600;
    for (field, unit) in [("an offset's minute of 2 digits", 60), ("an offset's second of 2 digits", 1)] {
        // The colon may be missing: the LDBC's data sets write +0000.
        if !scanner.take(b':') && scanner.peek().is_none() {
            break;
        }
        let number = scanner.two_digits(field)?;
        check_range("minute or second of an offset", number, 0, 59)?;
        offset += number * unit;
    }
    let offset = i32::try_from(offset).expect("99 hours fit");
    Ok(if negative { -offset } else { offset })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> DateTime {
        text.parse().expect(text)
    }

    #[test]
    fn the_usual_forms_mean_the_same_moment() {
        let noon = DateTime::new(1_709_208_000, 500_000_000, 0).unwrap();
        for text in [
            "2024-02-29T12:00:00.5Z",
            "2024-02-29t12:00:00.500000000z",
            "2024-02-29 12:00:00.5",
            "2024-02-29T12:00:00.500+0000",
            "2024-02-29T12:00:00.5+00:00",
            "2024-02-29T12:00:00.5-00",
        ] {
            assert_eq!(parse(text), noon, "{text}");
        }
        assert_eq!(parse("2024-02-29"), parse("2024-02-29T00:00Z"));
        assert_eq!(parse("2024-02-29T13:00:00.5+01:00"), DateTime { offset_seconds: 3600, ..noon });
        assert_eq!(parse("1969-12-31T23:59:59.75Z"), DateTime::new(-1, 750_000_000, 0).unwrap());
    }

    #[test]
    fn the_text_is_short_and_keeps_the_offset() {
        for text in [
            "2024-02-29T12:00:00.5+01:00",
            "1969-12-31T23:59:59Z",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999-18:00",
            "1890-01-01T00:00:00+00:53:28",
            "-0044-03-15T12:00:00Z",
        ] {
            assert_eq!(parse(text).to_string(), text);
        }
    }

    #[test]
    fn moments_come_before_offsets_in_the_order() {
        let utc = parse("2024-02-29T12:00:00Z");
        let berlin = parse("2024-02-29T13:00:00+01:00");
        let earlier = parse("2024-02-29T12:59:59+01:00");
        assert!(earlier < utc && utc < berlin);
        assert_eq!((berlin.seconds(), berlin.local_second_of_day()), (utc.seconds(), 13 * 3600));
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "2024-02-29T24:00:00Z",
            "2024-02-29T12:60:00Z",
            "2024-02-29T23:59:60Z",
            "2024-02-29T12",
            "2024-02-29T12:00:00.",
            "2024-02-29T12:00:00.1234567890Z",
            "2024-02-29T12:00:00+19:00",
            "2024-02-29T12:00:00+1",
            "2024-02-29T12:00:00+01:",
            "2024-02-29T12:00:00+01:60",
            "2024-02-29T12:00:00Z[Europe/Berlin]",
            "2024-02-29X12:00:00Z",
        ] {
            assert!(text.parse::<DateTime>().is_err(), "{text}");
        }
        let error = "2024-02-29T1200".parse::<DateTime>().unwrap_err().to_string();
        assert_eq!(error, "expected : after the hour at byte 13, as in 2024-02-29T12:00:00.5+01:00");
    }

    #[test]
    fn the_outermost_moments_have_a_text_at_every_offset() {
        for seconds in [-DateTime::SECONDS_MAX, DateTime::SECONDS_MAX] {
            for offset in [-DateTime::OFFSET_SECONDS_MAX, 0, DateTime::OFFSET_SECONDS_MAX] {
                let moment = DateTime::new(seconds, 1, offset).unwrap();
                assert_eq!(parse(&moment.to_string()), moment);
            }
            assert!(DateTime::new(seconds + seconds.signum(), 0, 0).is_err());
        }
        assert!(DateTime::new(0, 1_000_000_000, 0).is_err());
        assert!(DateTime::from_epoch_milliseconds(i64::MAX).is_err());
    }

    proptest! {
        #[test]
        fn a_datetime_is_read_back_from_its_text(
            seconds in -DateTime::SECONDS_MAX..=DateTime::SECONDS_MAX,
            nanoseconds in 0..1_000_000_000_u32,
            offset in -DateTime::OFFSET_SECONDS_MAX..=DateTime::OFFSET_SECONDS_MAX,
        ) {
            let moment = DateTime::new(seconds, nanoseconds, offset).unwrap();
            prop_assert_eq!(parse(&moment.to_string()), moment);
        }

        #[test]
        fn the_text_agrees_with_another_library(
            milliseconds in -62_135_596_800_000..253_402_300_799_999_i64,
        ) {
            let ours = DateTime::from_epoch_milliseconds(milliseconds).unwrap();
            let theirs = jiff::Timestamp::from_millisecond(milliseconds);
            // Theirs ends some hours before the year 10000.
            if let Ok(theirs) = theirs {
                prop_assert_eq!(ours.to_string(), theirs.to_string());
                prop_assert_eq!(ours.epoch_milliseconds(), milliseconds);
            }
        }
    }
}
