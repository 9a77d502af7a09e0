//! Functions of dates and times: `asDate()`, `dateAdd()`, `dateDiff()`.

use crate::value::item::Item;
use crate::value::types::kind_name;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::Value;
use evergraph_graph::value::datetime::DateTime;

/// A unit of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// `DT.second`
    Second,
    /// `DT.minute`
    Minute,
    /// `DT.hour`
    Hour,
    /// `DT.day`: 24 hours.
    Day,
}

impl Unit {
    /// How long it is.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => 86_400,
        }
    }
}

/// The moment that `item` is or says: ISO 8601, or whole milliseconds since 1970. A day is its midnight in UTC.
///
/// # Errors
/// `invalid` of anything else.
pub fn as_date(item: &Item) -> Result<Item> {
    let moment = match item {
        Item::Value(Value::DateTime(moment)) => Some(*moment),
        Item::Value(Value::Date(day)) => DateTime::new(i64::from(day.days()) * 86_400, 0, 0).ok(),
        Item::Value(Value::String(text)) => text.parse().ok(),
        Item::Value(value) => {
            value.as_i64().and_then(|number| DateTime::from_epoch_milliseconds(number).ok())
        }
        _ => None,
    };
    let moment = moment.ok_or_else(|| {
        let what = match item {
            Item::Value(value) => value.to_string(),
            other => kind_name(other).to_owned(),
        };
        Error::invalid(format!("Can't parse {what} as Date."))
    })?;
    Ok(Item::from(moment))
}

/// `count` units later, with the same offset from UTC.
///
/// # Errors
/// `invalid` of what isn't a moment, and beyond the years that moments have.
pub fn add(item: &Item, unit: Unit, count: i64) -> Result<Item> {
    let moment = moment("dateAdd", item)?;
    let seconds = count.checked_mul(unit.seconds()).and_then(|more| moment.seconds().checked_add(more));
    let later = seconds
        .and_then(|seconds| DateTime::new(seconds, moment.nanoseconds(), moment.offset_seconds()).ok());
    later
        .map(Item::from)
        .ok_or_else(|| Error::invalid(format!("dateAdd() leaves the calendar from {moment}")))
}

/// Milliseconds from `other` to `item`; null stands for 1970.
///
/// # Errors
/// `invalid` of what isn't a moment.
pub fn difference(item: &Item, other: &Item) -> Result<Item> {
    let from = match other {
        Item::Null => 0,
        other => moment("dateDiff", other)?.epoch_milliseconds(),
    };
    Ok(Item::from(moment("dateDiff", item)?.epoch_milliseconds() - from))
}

fn moment(step: &str, item: &Item) -> Result<DateTime> {
    match item {
        Item::Value(Value::DateTime(moment)) => Ok(*moment),
        other => Err(Error::invalid(format!(
            "The {step}() step needs a DateTime, encountered {}.",
            kind_name(other)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Item {
        Item::from(text.parse::<DateTime>().unwrap())
    }

    #[test]
    fn texts_and_milliseconds_are_moments() {
        for (item, expected) in [
            (Item::from("2023-08-02T00:00:00Z"), "2023-08-02T00:00:00Z"),
            (Item::from("2023-08-02T00:00:00-07:00"), "2023-08-02T00:00:00-07:00"),
            (Item::from("1988-12-10"), "1988-12-10T00:00:00Z"),
            (Item::from(1_694_017_707_000_i64), "2023-09-06T16:28:27Z"),
            (Item::from(-1_i32), "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(as_date(&item).unwrap(), at(expected), "{item:?}");
        }
        for item in [Item::from(1_694_017_709_000.1), Item::Null, Item::from("no ISO 8601 date")] {
            assert!(as_date(&item).unwrap_err().to_string().starts_with("Can't parse"), "{item:?}");
        }
    }

    #[test]
    fn units_later_and_earlier() {
        let start = at("2023-08-02T00:00:00+02:00");
        for (unit, count, expected) in [
            (Unit::Hour, 2, "2023-08-02T02:00:00+02:00"),
            (Unit::Hour, -1, "2023-08-01T23:00:00+02:00"),
            (Unit::Minute, 10, "2023-08-02T00:10:00+02:00"),
            (Unit::Second, 20, "2023-08-02T00:00:20+02:00"),
            (Unit::Day, 31, "2023-09-02T00:00:00+02:00"),
        ] {
            let later = add(&start, unit, count).unwrap();
            assert_eq!(later.as_value().unwrap().to_string(), expected);
        }
        assert!(add(&start, Unit::Day, i64::MAX).is_err());
        assert!(add(&Item::from(1_i64), Unit::Day, 1).is_err());
    }

    #[test]
    fn the_time_between_two_moments_has_a_sign() {
        let [early, late] = ["2023-08-01T00:00:00Z", "2023-08-08T00:00:00Z"].map(at);
        assert_eq!(difference(&late, &early).unwrap(), Item::from(604_800_000_i64));
        assert_eq!(difference(&early, &late).unwrap(), Item::from(-604_800_000_i64));
        let since_1970 = difference(&at("2020-08-02T00:00:00Z"), &Item::Null).unwrap();
        assert_eq!(since_1970, Item::from(1_596_326_400_000_i64));
    }
}
