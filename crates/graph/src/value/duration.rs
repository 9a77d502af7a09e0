//! Duration: an amount of time in months, days, and seconds with nanoseconds.
//!
//! The three parts are kept apart because a month has no fixed number of days, nor a day of hours:
//! adding `P1M` to a date is not adding `P30D`. Java's `Duration` leaves months and days zero.
//!
//! ```text
//! OFFSET  SIZE   FIELD (encoded form)
//!      0     4   months
//!      4     4   days
//!      8     8   seconds
//!     16     4   nanoseconds   0 to 999,999,999, always forward: -0.5 s is -1 s + 500,000,000 ns
//! ```
//!
//! Durations are ordered by their mean length, for which a day has 24 hours and a month the twelfth
//! of a mean Gregorian year (2,629,746 s), and then part by part. So P30D < P1M < P31D, and P1D and
//! PT24H are neighbours but not equal. (PostgreSQL orders by 30-day months, and finds P1D and PT24H
//! equal.)

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::value::temporal_text::{Scanner, TemporalError, check_range, write_fraction};

const EXAMPLE: &str = "P1M2DT3.5S";
const NANOSECONDS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_MONTH_MEAN: i128 = 2_629_746;
const SECONDS_PER_DAY: i128 = 86_400;

/// An amount of time, of either sign in each part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Duration {
    months: i32,
    days: i32,
    // The seconds lie in two halves: with the alignment of an i64 a duration would take 24 bytes,
    // and a value 32 instead of 24.
    seconds_high: i32,
    seconds_low: u32,
    nanoseconds: u32,
}

impl Duration {
    /// The sum of the parts; `nanoseconds` is below 10^9 and counts forward from `seconds`.
    ///
    /// # Errors
    /// [`TemporalError::OutOfRange`] if `nanoseconds` is 10^9 or more.
    #[inline]
    pub fn new(months: i32, days: i32, seconds: i64, nanoseconds: u32) -> Result<Self, TemporalError> {
        check_range("nanosecond", nanoseconds, 0, 999_999_999)?;
        let fits = "each half of 64 bits has 32";
        Ok(Self {
            months,
            days,
            seconds_high: i32::try_from(seconds >> 32).expect(fits),
            seconds_low: u32::try_from(seconds & 0xffff_ffff).expect(fits),
            nanoseconds,
        })
    }

    /// Months; twelve to a year.
    #[must_use]
    #[inline]
    pub const fn months(self) -> i32 {
        self.months
    }

    /// Days; seven to a week.
    #[must_use]
    #[inline]
    pub const fn days(self) -> i32 {
        self.days
    }

    /// Whole seconds, rounded down.
    #[must_use]
    #[inline]
    pub const fn seconds(self) -> i64 {
        (self.seconds_high as i64) << 32 | self.seconds_low as i64
    }

    /// Nanoseconds after [`Self::seconds`], below 10^9.
    #[must_use]
    #[inline]
    pub const fn nanoseconds(self) -> u32 {
        self.nanoseconds
    }

    /// Nanoseconds of the seconds' part.
    fn clock_nanoseconds(self) -> i128 {
        i128::from(self.seconds()) * NANOSECONDS_PER_SECOND + i128::from(self.nanoseconds)
    }

    /// Nanoseconds in all, with mean months: within 2^94 of zero.
    pub(super) fn mean_nanoseconds(self) -> i128 {
        calendar_nanoseconds(self.months, self.days) + self.clock_nanoseconds()
    }

    /// The duration of so many nanoseconds in all, of which months and days take their part, if there is one.
    pub(super) fn of_mean(mean_nanoseconds: i128, months: i32, days: i32) -> Option<Self> {
        let clock = mean_nanoseconds - calendar_nanoseconds(months, days);
        let seconds = i64::try_from(clock.div_euclid(NANOSECONDS_PER_SECOND)).ok()?;
        let nanoseconds = clock.rem_euclid(NANOSECONDS_PER_SECOND);
        Self::new(months, days, seconds, u32::try_from(nanoseconds).ok()?).ok()
    }
}

/// Nanoseconds of months and days, with mean months.
fn calendar_nanoseconds(months: i32, days: i32) -> i128 {
    let seconds = i128::from(months) * SECONDS_PER_MONTH_MEAN + i128::from(days) * SECONDS_PER_DAY;
    seconds * NANOSECONDS_PER_SECOND
}

impl Ord for Duration {
    fn cmp(&self, other: &Self) -> Ordering {
        // Equal sums, months and days leave no room for different seconds: this agrees with `Eq`.
        (self.mean_nanoseconds(), self.months, self.days).cmp(&(
            other.mean_nanoseconds(),
            other.months,
            other.days,
        ))
    }
}

impl PartialOrd for Duration {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Duration {
    /// Writes each unit that isn't zero, years to seconds, each with its own sign: `P1Y-2DT-0.5S`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = self.clock_nanoseconds();
        if (self.months, self.days, clock) == (0, 0, 0) {
            return formatter.write_str("PT0S");
        }
        formatter.write_str("P")?;
        for (count, unit) in [(self.months / 12, 'Y'), (self.months % 12, 'M'), (self.days, 'D')] {
            if count != 0 {
                write!(formatter, "{count}{unit}")?;
            }
        }
        if clock == 0 {
            return Ok(());
        }
        formatter.write_str("T")?;
        let sign = if clock < 0 { "-" } else { "" };
        let (seconds, fraction) =
            (clock.unsigned_abs() / 1_000_000_000, clock.unsigned_abs() % 1_000_000_000);
        for (count, unit) in [(seconds / 3600, 'H'), (seconds / 60 % 60, 'M')] {
            if count != 0 {
                write!(formatter, "{sign}{count}{unit}")?;
            }
        }
        if seconds % 60 != 0 || fraction != 0 {
            write!(formatter, "{sign}{}", seconds % 60)?;
            write_fraction(formatter, u32::try_from(fraction).expect("less than a second"))?;
            formatter.write_str("S")?;
        }
        Ok(())
    }
}

impl FromStr for Duration {
    type Err = TemporalError;

    /// Reads `PnYnMnWnDTnHnMn.nS` with at least one unit; each may have a sign, and one before the
    /// `P` turns them all.
    fn from_str(text: &str) -> Result<Self, TemporalError> {
        let mut scanner = Scanner::new(text, EXAMPLE);
        let sign = if scanner.take_sign() == Some(true) { -1 } else { 1 };
        scanner.require(b'P', "P")?;
        let (mut months, mut days, mut nanoseconds) = (0_i128, 0_i128, 0_i128);
        let mut units: &'static [u8] = b"YMWD";
        while scanner.peek().is_some_and(|next| !next.eq_ignore_ascii_case(&b'T')) {
            let (count, unit) = scan_amount(&mut scanner, &mut units)?;
            match unit {
                b'Y' => months += count.whole * 12,
                b'M' => months += count.whole,
                b'W' => days += count.whole * 7,
                _ => days += count.whole,
            }
        }
        if scanner.take(b'T') {
            units = b"HMS";
            if scanner.peek().is_none() {
                return Err(scanner.malformed("a number after T"));
            }
            while scanner.peek().is_some() {
                let (count, unit) = scan_amount(&mut scanner, &mut units)?;
                nanoseconds += match unit {
                    b'H' => count.whole * 3600 * NANOSECONDS_PER_SECOND,
                    b'M' => count.whole * 60 * NANOSECONDS_PER_SECOND,
                    _ => count.whole * NANOSECONDS_PER_SECOND + count.nanoseconds,
                };
            }
        } else if units.len() == 4 {
            return Err(scanner.malformed("a number or T after P"));
        }
        let (months, days, nanoseconds) = (months * sign, days * sign, nanoseconds * sign);
        let seconds = nanoseconds.div_euclid(NANOSECONDS_PER_SECOND);
        check_range("months", months, i64::from(i32::MIN), i64::from(i32::MAX))?;
        check_range("days", days, i64::from(i32::MIN), i64::from(i32::MAX))?;
        check_range("seconds", seconds, i64::MIN, i64::MAX)?;
        let fits = "the range was checked";
        Self::new(
            i32::try_from(months).expect(fits),
            i32::try_from(days).expect(fits),
            i64::try_from(seconds).expect(fits),
            u32::try_from(nanoseconds.rem_euclid(NANOSECONDS_PER_SECOND)).expect("less than a second"),
        )
    }
}

/// A signed number before a unit; both fields have its sign.
struct Amount {
    whole: i128,
    nanoseconds: i128,
}

/// Reads a number and its unit, which must be one of `units`; leaves the later ones there.
fn scan_amount(scanner: &mut Scanner<'_>, units: &mut &'static [u8]) -> Result<(Amount, u8), TemporalError> {
    let sign = if scanner.take_sign() == Some(true) { -1 } else { 1 };
    let whole = scanner.digits(1, 18, "a number of 1 to 18 digits")?;
    let has_fraction = scanner.peek() == Some(b'.');
    let nanoseconds = scanner.fraction()?;
    for (place, unit) in units.iter().enumerate() {
        if (!has_fraction || *unit == b'S') && scanner.take(*unit) {
            *units = &units[place + 1..];
            let (whole, nanoseconds) = (sign * i128::from(whole), sign * i128::from(nanoseconds));
            return Ok((Amount { whole, nanoseconds }, *unit));
        }
    }
    Err(scanner.malformed(if has_fraction {
        "S (only seconds have a fraction)"
    } else {
        "a unit (Y, M, W, D, then after T H, M, S; in this order)"
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Duration {
        text.parse().expect(text)
    }

    fn duration(months: i32, days: i32, seconds: i64, nanoseconds: u32) -> Duration {
        Duration::new(months, days, seconds, nanoseconds).expect("nanoseconds are below a second")
    }

    #[test]
    fn every_unit_is_read() {
        assert_eq!(parse("P1M2DT3.5S"), duration(1, 2, 3, 500_000_000));
        assert_eq!(parse("P1Y2M3W4DT5H6M7S"), duration(14, 25, 18_367, 0));
        assert_eq!(parse("-P1DT0.5S"), duration(0, -1, -1, 500_000_000));
        assert_eq!(parse("PT-0.5S"), duration(0, 0, -1, 500_000_000));
        assert_eq!(parse("-PT-1H"), duration(0, 0, 3600, 0));
        assert_eq!(parse("p1dt1s"), duration(0, 1, 1, 0));
        assert_eq!(parse("P0D"), duration(0, 0, 0, 0));
    }

    #[test]
    fn the_text_has_only_the_units_that_are_not_zero() {
        for text in ["PT0S", "P1Y", "P1M2DT3.5S", "PT-0.5S", "P-1Y-2M3DT-1H-0.000000001S", "PT25H1M"] {
            assert_eq!(parse(text).to_string(), text);
        }
        assert_eq!(duration(0, 0, i64::MIN, 0).to_string(), "PT-2562047788015215H-30M-8S");
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "", "P", "PT", "P1", "P1DT", "1D", "P1H", "PT1D", "P1D1M", "P1D1D", "P1.5D", "PT1.5H", "PT1.S",
            "P1 D", "P--1D",
        ] {
            assert!(matches!(text.parse::<Duration>(), Err(TemporalError::Malformed { .. })), "{text}");
        }
        for text in ["P2147483648M", "P178956971Y", "P2147483648D", "PT9999999999999999H"] {
            assert!(matches!(text.parse::<Duration>(), Err(TemporalError::OutOfRange { .. })), "{text}");
        }
    }

    #[test]
    fn durations_are_ordered_by_mean_length() {
        let ascending = [
            "-P1Y", "P-1D", "PT-0.5S", "PT0S", "PT24H", "P1D", "P1DT0.1S", "P30D", "P1M", "P31D", "P365D",
            "P1Y",
        ];
        for pair in ascending.windows(2) {
            assert!(parse(pair[0]) < parse(pair[1]), "{pair:?}");
        }
    }

    proptest! {
        #[test]
        fn a_duration_is_read_back_from_its_text(
            months in any::<i32>(),
            days in any::<i32>(),
            seconds in any::<i64>(),
            nanoseconds in 0..1_000_000_000_u32,
        ) {
            let duration = duration(months, days, seconds, nanoseconds);
            prop_assert_eq!((duration.seconds(), duration.nanoseconds()), (seconds, nanoseconds));
            prop_assert_eq!(parse(&duration.to_string()), duration);
        }
    }
}
