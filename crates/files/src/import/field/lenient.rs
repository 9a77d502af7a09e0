//! Lenient: forms of values that other systems write and the strict parser refuses.
//!
//! ```text
//! date       1950-7-23                       no zeros in front
//! datetime   2011-08-20 11:25:30Z+00:00      an offset behind Z, as Kuzu writes it
//! duration   3 years 2 days 13:02:00         numbers and units, as DuckDB, Kuzu and PostgreSQL write it
//! uuid       a0ee-bc99-9c0b-...              hyphens anywhere, as PostgreSQL reads it
//! ```
//!
//! They are tried where the strict form doesn't fit, so that they cost nothing where it does.

use evergraph_graph::value::duration::Duration;
use evergraph_graph::value::{Value, ValueType};

/// Reads `text` as a `value_type` in one of these forms; `None` if it has none of them.
#[must_use]
pub fn read(text: &str, value_type: ValueType) -> Option<Value> {
    let strict = |text: String| Value::parse(&text, value_type).ok();
    match value_type {
        ValueType::Date => strict(zeros_in_front(text)?),
        ValueType::DateTime => {
            let text = zeros_in_front(text)?;
            strict(text.replacen("Z+", "+", 1).replacen("Z-", "-", 1))
        }
        ValueType::Duration => interval(text).map(Value::Duration),
        ValueType::Uuid => {
            let digits: String = text.chars().filter(|letter| !matches!(letter, '-' | '{' | '}')).collect();
            strict(digits)
        }
        _ => None,
    }
}

/// `text` with month and day of the date at its beginning in two digits.
fn zeros_in_front(text: &str) -> Option<String> {
    let (date, rest) = text.split_at(text.find([' ', 'T', 't']).unwrap_or(text.len()));
    let (sign, date) = date.strip_prefix('-').map_or(("", date), |date| ("-", date));
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then(|| format!("{sign}{year}-{month:0>2}-{day:0>2}{rest}"))
}

/// An amount of time in words: numbers with units, and a time of day.
fn interval(text: &str) -> Option<Duration> {
    let mut sum = Sum::default();
    let mut words = text.split_ascii_whitespace().peekable();
    words.peek()?;
    while let Some(word) = words.next() {
        if word.contains(':') {
            sum.add_clock(word)?;
            continue;
        }
        // The unit may stand at the number or behind it.
        let end = word.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(word.len());
        let (number, unit) = word.split_at(end);
        let unit = if unit.is_empty() { words.next()? } else { unit };
        sum.add(number, unit)?;
    }
    Duration::new(
        sum.months.try_into().ok()?,
        sum.days.try_into().ok()?,
        sum.nanoseconds.div_euclid(NANOSECONDS_PER_SECOND).try_into().ok()?,
        sum.nanoseconds.rem_euclid(NANOSECONDS_PER_SECOND) as u32,
    )
    .ok()
}

const NANOSECONDS_PER_SECOND: i128 = 1_000_000_000;

#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    nanoseconds: i128,
}

impl Sum {
    fn add(&mut self, number: &str, unit: &str) -> Option<()> {
        let unit = unit.to_ascii_lowercase();
        let months = match unit.as_str() {
            "millennium" | "millennia" | "millenniums" => Some(12_000),
            "century" | "centuries" => Some(1200),
            "decade" | "decades" => Some(120),
            "year" | "years" | "yr" | "yrs" | "y" => Some(12),
            "quarter" | "quarters" => Some(3),
            "month" | "months" | "mon" | "mons" => Some(1),
            _ => None,
        };
        if let Some(months) = months {
            self.months = self.months.checked_add(number.parse::<i64>().ok()?.checked_mul(months)?)?;
            return Some(());
        }
        let days = match unit.as_str() {
            "week" | "weeks" | "w" => Some(7),
            "day" | "days" | "d" => Some(1),
            _ => None,
        };
        if let Some(days) = days {
            self.days = self.days.checked_add(number.parse::<i64>().ok()?.checked_mul(days)?)?;
            return Some(());
        }
        let nanoseconds = match unit.as_str() {
            "hour" | "hours" | "hr" | "hrs" | "h" => 3600 * NANOSECONDS_PER_SECOND,
            "minute" | "minutes" | "min" | "mins" | "m" => 60 * NANOSECONDS_PER_SECOND,
            "second" | "seconds" | "sec" | "secs" | "s" => NANOSECONDS_PER_SECOND,
            "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => 1_000_000,
            "microsecond" | "microseconds" | "usec" | "usecs" | "us" => 1000,
            "nanosecond" | "nanoseconds" | "ns" => 1,
            _ => return None,
        };
        self.nanoseconds = self.nanoseconds.checked_add(scaled(number, nanoseconds)?)?;
        Some(())
    }

    /// Adds `[-]HH:MM[:SS[.fraction]]`.
    fn add_clock(&mut self, text: &str) -> Option<()> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
        let mut parts = text.split(':');
        let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next().unwrap_or("0"));
        let below_60 = |part: &str| part.parse::<f64>().is_ok_and(|part| (0.0..60.0).contains(&part));
        if parts.next().is_some() || hours.starts_with('+') || !below_60(minutes) || !below_60(seconds) {
            return None;
        }
        let hours = hours.parse::<u32>().ok()?;
        let minutes = minutes.parse::<u32>().ok()?;
        let sum = i128::from(hours) * 3600 * NANOSECONDS_PER_SECOND
            + i128::from(minutes) * 60 * NANOSECONDS_PER_SECOND
            + scaled(seconds, NANOSECONDS_PER_SECOND)?;
        self.nanoseconds = self.nanoseconds.checked_add(if negative { -sum } else { sum })?;
        Some(())
    }
}

/// `number`, which may have a fraction, times `unit`; `None` if a part of a nanosecond is left.
fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let negative = whole.starts_with('-');
    if number.ends_with('.') || !fraction.bytes().all(|byte| byte.is_ascii_digit()) || fraction.len() > 18 {
        return None;
    }
    let whole = i128::from(whole.parse::<i64>().ok()?).checked_mul(unit)?;
    let digits = if fraction.is_empty() { 0 } else { fraction.parse::<i128>().ok()? };
    let scale = 10i128.pow(fraction.len() as u32);
    let part = digits.checked_mul(unit)?;
    (part % scale == 0).then(|| if negative { whole - part / scale } else { whole + part / scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duration(text: &str) -> Option<String> {
        read(text, ValueType::Duration).map(|value| value.to_string())
    }

    #[test]
    fn durations_are_sums_of_numbers_and_units() {
        for (text, same) in [
            ("3 years 2 days 13 hours 2 minutes", "P36M2DT13H2M"),
            ("3 years 2 days 13:02:00", "P36M2DT13H2M"),
            ("10 years 5 months 13 hours 24 us", "P125MT13H0.000024S"),
            ("18 minutes 24 milliseconds", "PT18M0.024S"),
            ("20 years 30 days 48 hours", "P240M30DT48H"),
            ("1 mon -2 days -00:00:01.5", "P1M-2DT-1.5S"),
            ("1.5h", "PT5400S"),
            ("2 weeks", "P14D"),
            ("-0.5 seconds", "PT-0.5S"),
        ] {
            let strict = Value::parse(same, ValueType::Duration).unwrap();
            assert_eq!(read(text, ValueType::Duration), Some(strict), "{text}");
        }
        for text in [
            "",
            "5",
            "five days",
            "5 parsecs",
            "13:62",
            "13:02:00:00",
            "1.5 years",
            "1. s",
            "99999999999 years",
        ] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn dates_and_moments_are_completed() {
        let shown = |text: &str, value_type| read(text, value_type).map(|value| value.to_string());
        assert_eq!(shown("1950-7-23", ValueType::Date).as_deref(), Some("1950-07-23"));
        assert_eq!(shown("1950-7-23-1", ValueType::Date), None);
        let moment = |text| shown(text, ValueType::DateTime);
        assert_eq!(moment("2011-08-20 11:25:30Z+00:00").as_deref(), Some("2011-08-20T11:25:30Z"));
        assert_eq!(moment("1976-12-23 11:21:42Z+06:40").as_deref(), Some("1976-12-23T11:21:42+06:40"));
        assert_eq!(moment("2011-8-2T11:25").as_deref(), Some("2011-08-02T11:25:00Z"));
        assert_eq!(moment("soon"), None);
    }

    #[test]
    fn hyphens_and_braces_of_a_uuid_may_stand_anywhere() {
        let strict = Value::parse("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a15", ValueType::Uuid).unwrap();
        for text in ["{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a15}", "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a15"] {
            assert_eq!(read(text, ValueType::Uuid).as_ref(), Some(&strict), "{text}");
        }
        assert_eq!(read("a0eebc99", ValueType::Uuid), None);
    }
}
