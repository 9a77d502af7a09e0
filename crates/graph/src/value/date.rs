//! Date: a day of the calendar, counted from 1970-01-01.
//!
//! ```text
//! -719162  0001-01-01          0  1970-01-01          19782  2024-02-29
//! ```
//!
//! The calendar is the Gregorian one, carried back before 1582 as ISO 8601 does; year 0 is 1 BC.
//! Years of more than four digits, and those before year 0, carry a sign: `+12024-01-01`.
//!
//! Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".

use std::fmt;
use std::str::FromStr;

use crate::value::temporal_text::{Scanner, TemporalError, check_range};

const EXAMPLE: &str = "2024-02-29";
const DAYS_PER_ERA: i64 = 146_097; // 400 years, after which the calendar repeats
const DAYS_BEFORE_1970: i64 = 719_468; // from 0000-03-01

/// A day of the proleptic Gregorian calendar; any of the ±2^31 days around 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Date {
    days: i32,
}

impl Date {
    /// The day `days` after 1970-01-01.
    #[must_use]
    #[inline]
    pub const fn from_days(days: i32) -> Self {
        Self { days }
    }

    /// The day of a year (0 is 1 BC), month (1 to 12) and day of the month (from 1).
    ///
    /// # Errors
    /// [`TemporalError::OutOfRange`] if there is no such day, or if it isn't within 2^31 days of 1970
    /// (years -5,877,641 to 5,881,580).
    pub fn from_calendar(year: i32, month: u8, day: u8) -> Result<Self, TemporalError> {
        check_range("month", month, 1, 12)?;
        check_range("day", day, 1, i64::from(days_in_month(year, month)))?;
        // Years begin in March here, so that the leap day is the last.
        let (month, day) = (i64::from(month), i64::from(day));
        let year = i64::from(year) - i64::from(month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * DAYS_PER_ERA + day_of_era - DAYS_BEFORE_1970;
        check_range("day since 1970", days, i64::from(i32::MIN), i64::from(i32::MAX))?;
        Ok(Self { days: i32::try_from(days).expect("the range was checked") })
    }

    /// Days since 1970-01-01.
    #[must_use]
    #[inline]
    pub const fn days(self) -> i32 {
        self.days
    }

    /// Year (0 is 1 BC), month (1 to 12) and day of the month (from 1).
    #[must_use]
    pub fn to_calendar(self) -> (i32, u8, u8) {
        let days = i64::from(self.days) + DAYS_BEFORE_1970;
        let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = (month_from_march + 2) % 12 + 1;
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        let fits = "2^31 days are less than 2^31 years, and months and days are small";
        (i32::try_from(year).expect(fits), u8::try_from(month).expect(fits), u8::try_from(day).expect(fits))
    }

    /// Reads a date and leaves `scanner` behind it.
    pub(super) fn scan(scanner: &mut Scanner<'_>) -> Result<Self, TemporalError> {
        let year = match scanner.take_sign() {
            Some(true) => -scanner.digits(4, 7, "a year of 4 to 7 digits")?,
            Some(false) => scanner.digits(4, 7, "a year of 4 to 7 digits")?,
            None => scanner.digits(4, 4, "a year of 4 digits (longer ones have a sign)")?,
        };
        scanner.require(b'-', "- after the year")?;
        let month = scanner.two_digits("a month of 2 digits")?;
        scanner.require(b'-', "- after the month")?;
        let day = scanner.two_digits("a day of 2 digits")?;
        let fits = "so few digits were read";
        Self::from_calendar(
            i32::try_from(year).expect(fits),
            u8::try_from(month).expect(fits),
            u8::try_from(day).expect(fits),
        )
    }
}

impl fmt::Display for Date {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.to_calendar();
        match year {
            0..=9999 => write!(formatter, "{year:04}-{month:02}-{day:02}"),
            // The width counts the sign.
            _ => write!(formatter, "{year:+05}-{month:02}-{day:02}"),
        }
    }
}

impl FromStr for Date {
    type Err = TemporalError;

    /// Reads `YYYY-MM-DD`, or a signed year of 4 to 7 digits.
    fn from_str(text: &str) -> Result<Self, TemporalError> {
        let mut scanner = Scanner::new(text, EXAMPLE);
        let date = Self::scan(&mut scanner)?;
        scanner.finish()?;
        Ok(date)
    }
}

fn days_in_month(year: i32, month: u8) -> u8 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn days_agree_with_another_calendar_from_year_minus_9999_to_9999() {
        let mut theirs = jiff::civil::Date::MIN;
        let mut ours = Date::from_calendar(-9999, 1, 1).unwrap();
        loop {
            let calendar = (i32::from(theirs.year()), theirs.month() as u8, theirs.day() as u8);
            assert_eq!(ours.to_calendar(), calendar);
            assert_eq!(Date::from_calendar(calendar.0, calendar.1, calendar.2), Ok(ours));
            let Ok(next) = theirs.tomorrow() else { break };
            theirs = next;
            ours = Date::from_days(ours.days() + 1);
        }
        assert_eq!(ours.to_string(), "9999-12-31");
    }

    #[test]
    fn the_epoch_is_day_zero() {
        assert_eq!("1970-01-01".parse(), Ok(Date::from_days(0)));
        assert_eq!("2024-02-29".parse(), Ok(Date::from_days(19_782)));
        assert_eq!("0001-01-01".parse(), Ok(Date::from_days(-719_162)));
    }

    #[test]
    fn the_outermost_days_have_a_calendar_date() {
        assert_eq!(Date::from_days(i32::MIN).to_string(), "-5877641-06-23");
        assert_eq!("+5881580-07-11".parse(), Ok(Date::from_days(i32::MAX)));
        let error = "+5881580-07-12".parse::<Date>().unwrap_err().to_string();
        assert_eq!(error, "day since 1970 2147483648 is outside -2147483648 to 2147483647");
        assert!(Date::from_calendar(i32::MAX, 1, 1).is_err());
        assert!(Date::from_calendar(i32::MIN, 1, 1).is_err());
    }

    #[test]
    fn days_that_do_not_exist_are_refused() {
        let error = "2023-02-29".parse::<Date>().unwrap_err();
        assert_eq!(error.to_string(), "day 29 is outside 1 to 28");
        for text in ["1900-02-29", "2024-13-01", "2024-00-01", "2024-04-31", "2024-01-00"] {
            assert!(matches!(text.parse::<Date>(), Err(TemporalError::OutOfRange { .. })), "{text}");
        }
    }

    #[test]
    fn other_forms_are_refused_with_the_place() {
        let error = "2024-2-29".parse::<Date>().unwrap_err();
        assert_eq!(error.to_string(), "expected a month of 2 digits at byte 6, as in 2024-02-29");
        for text in [
            "",
            "24-01-01",
            "20240101",
            "2024-01-01 ",
            "12024-01-01",
            "2024-01-011",
            "2024/01/01",
            "+99999999-01-01",
        ] {
            assert!(matches!(text.parse::<Date>(), Err(TemporalError::Malformed { .. })), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_date_is_read_back_from_its_text(days in any::<i32>()) {
            let date = Date::from_days(days);
            prop_assert_eq!(date.to_string().parse(), Ok(date));
        }
    }
}
