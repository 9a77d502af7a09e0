//! Time array: times and durations as Arrow arrays, in the finest unit that holds all of them exactly.
//!
//! ```text
//! nanoseconds    292 years around 1970: what nearly all have        years 1678 to 2262
//! microseconds   where one lies beyond, and none has nanoseconds    292,000 years
//! milliseconds, seconds                                             further still
//! ```

use arrow_array::types::IntervalMonthDayNano;
use arrow_array::{
    ArrayRef, DurationMicrosecondArray, DurationMillisecondArray, DurationNanosecondArray,
    DurationSecondArray, IntervalMonthDayNanoArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray,
};
use arrow_schema::TimeUnit;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::value::Value;
use evergraph_graph::value::duration::Duration;
use std::sync::Arc;

/// Units, with how many of them a second has.
const UNITS: [(TimeUnit, i64); 4] = [
    (TimeUnit::Nanosecond, 1_000_000_000),
    (TimeUnit::Microsecond, 1_000_000),
    (TimeUnit::Millisecond, 1_000),
    (TimeUnit::Second, 1),
];

/// Seconds, and nanoseconds that go forward from them.
type Clock = (i64, u32);

/// `clock` in a unit of which a second has `per_second`, if that is exact and fits 64 bits.
fn counted((seconds, nanoseconds): Clock, per_second: i64) -> Option<i64> {
    let nanoseconds_each = 1_000_000_000 / per_second;
    let rest = i64::from(nanoseconds);
    let is_exact = rest % nanoseconds_each == 0;
    let count = i128::from(seconds) * i128::from(per_second) + i128::from(rest / nanoseconds_each);
    i64::try_from(count).ok().filter(|_| is_exact)
}

/// `clocks` in the first unit that has a count for each.
fn in_one_unit(clocks: &[Option<Clock>]) -> Option<(TimeUnit, Vec<Option<i64>>)> {
    UNITS.into_iter().find_map(|(unit, per_second)| {
        let count = |clock: &Option<Clock>| match clock {
            None => Some(None),
            Some(clock) => counted(*clock, per_second).map(Some),
        };
        Some((unit, clocks.iter().map(count).collect::<Option<Vec<_>>>()?))
    })
}

/// Datetimes as timestamps in UTC; null for what is none.
///
/// # Errors
/// `limit` if no unit holds all of them exactly.
pub fn moments(rows: &[Option<&Value>]) -> Result<ArrayRef> {
    let clock = |row: &Option<&Value>| match row {
        Some(Value::DateTime(moment)) => Some((moment.seconds(), moment.nanoseconds())),
        _ => None,
    };
    let clocks: Vec<Option<Clock>> = rows.iter().map(clock).collect();
    let (unit, counts) = in_one_unit(&clocks).ok_or_else(|| beyond("datetimes"))?;
    Ok(match unit {
        TimeUnit::Nanosecond => Arc::new(TimestampNanosecondArray::from(counts).with_timezone("UTC")),
        TimeUnit::Microsecond => Arc::new(TimestampMicrosecondArray::from(counts).with_timezone("UTC")),
        TimeUnit::Millisecond => Arc::new(TimestampMillisecondArray::from(counts).with_timezone("UTC")),
        TimeUnit::Second => Arc::new(TimestampSecondArray::from(counts).with_timezone("UTC")),
    })
}

/// Durations as such, or as intervals if one of them has months or days, which no number of seconds is; null for what is
/// none.
///
/// # Errors
/// `limit` if no unit holds all of them exactly.
pub fn durations(rows: &[Option<&Value>]) -> Result<ArrayRef> {
    let duration = |row: &Option<&Value>| match row {
        Some(Value::Duration(duration)) => Some(*duration),
        _ => None,
    };
    let rows: Vec<Option<Duration>> = rows.iter().map(duration).collect();
    let clocks: Vec<Option<Clock>> =
        rows.iter().map(|row| row.map(|row| (row.seconds(), row.nanoseconds()))).collect();
    if rows.iter().flatten().any(|row| row.months() != 0 || row.days() != 0) {
        let interval = |(row, clock): (&Option<Duration>, &Option<Clock>)| {
            let Some((row, clock)) = row.zip(*clock) else { return Ok(None) };
            let nanoseconds = counted(clock, 1_000_000_000).ok_or_else(|| beyond("durations with days"))?;
            Ok(Some(IntervalMonthDayNano::new(row.months(), row.days(), nanoseconds)))
        };
        let made = rows.iter().zip(&clocks).map(interval).collect::<Result<Vec<_>>>()?;
        return Ok(Arc::new(IntervalMonthDayNanoArray::from(made)));
    }
    let (unit, counts) = in_one_unit(&clocks).ok_or_else(|| beyond("durations"))?;
    Ok(match unit {
        TimeUnit::Nanosecond => Arc::new(DurationNanosecondArray::from(counts)),
        TimeUnit::Microsecond => Arc::new(DurationMicrosecondArray::from(counts)),
        TimeUnit::Millisecond => Arc::new(DurationMillisecondArray::from(counts)),
        TimeUnit::Second => Arc::new(DurationSecondArray::from(counts)),
    })
}

fn beyond(what: &str) -> Error {
    let text = format!(
        "no unit of time represents all {what} of this column exactly in 64 bits, as a table needs: read them one by one"
    );
    Error::new(ErrorKind::Limit, text)
}
