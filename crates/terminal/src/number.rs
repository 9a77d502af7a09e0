//! Numbers as people read them: thousands apart, sizes and times in a fitting unit.
//!
//! ```text
//! 1,234,567   2.7 %   4.1 MiB   830 ms   12.4 s   3 min 20 s   1.3 M rows/s
//! ```

use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::count::{self, Count};
use std::time::Duration;

/// A count with its thousands apart: `1,234,567`.
#[must_use]
pub fn count(number: u64) -> String {
    Count(number).to_string()
}

/// A count and what is counted, which is `one` or `many`: `1 row`, `2,000 rows`.
#[must_use]
pub fn counted(number: u64, one: &str, many: &str) -> String {
    count::counted(number, one, many)
}

/// A size in bytes, in a binary unit: `4.1 MiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    ByteSize(bytes).to_string()
}

/// A time in the unit that fits: `830 ms`, `12.4 s`, `3 min 20 s`, `2 h 5 min`.
#[must_use]
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 0.000_999_5 {
        format!("{} µs", time.as_micros())
    } else if seconds < 0.9995 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 99.95 {
        format!("{seconds:.1} s")
    } else if seconds < 3600.0 {
        format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
    } else {
        format!("{} h {} min", time.as_secs() / 3600, time.as_secs() / 60 % 60)
    }
}

/// How many a second: `950/s`, `12.5 k/s`, `1.3 M/s`, with `what` before the stroke.
#[must_use]
pub fn rate(number: u64, time: Duration, what: &str) -> String {
    let rate = number as f64 / time.as_secs_f64().max(1e-9);
    if rate < 999.5 {
        format!("{rate:.0} {what}/s")
    } else if rate < 999_950.0 {
        format!("{:.1} k {what}/s", rate / 1e3)
    } else {
        format!("{:.1} M {what}/s", rate / 1e6)
    }
}

/// As [`rate`], where it says more than noise: at least 1,000 of them, or a second.
#[must_use]
pub fn telling_rate(number: u64, time: Duration, what: &str) -> Option<String> {
    (number >= 1000 || time >= Duration::from_secs(1)).then(|| rate(number, time, what))
}

/// A part of a whole, 0 to 1, in percent: `2.7 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_one_or_many() {
        assert_eq!((counted(1, "row", "rows"), counted(0, "row", "rows")), ("1 row".into(), "0 rows".into()));
        assert_eq!(counted(2000, "row", "rows"), "2,000 rows");
    }

    #[test]
    fn times_and_rates_are_in_the_unit_that_fits() {
        let texts = [0.000_25, 0.0304, 0.9999, 12.44, 99.99, 200.0, 7500.0]
            .map(|seconds| time(Duration::from_secs_f64(seconds)));
        assert_eq!(texts, ["250 µs", "30 ms", "1.0 s", "12.4 s", "1 min 39 s", "3 min 20 s", "2 h 5 min"]);
        let texts = [95, 12_500, 1_300_000].map(|number| rate(number, Duration::from_secs(1), "rows"));
        assert_eq!(texts, ["95 rows/s", "12.5 k rows/s", "1.3 M rows/s"]);
        assert_eq!(percent(0.0269), "2.7 %");
        let telling = |number, ms| telling_rate(number, Duration::from_millis(ms), "rows");
        assert_eq!(telling(999, 999), None);
        assert_eq!(telling(5, 1000).as_deref(), Some("5 rows/s"));
        assert_eq!(telling(1000, 500).as_deref(), Some("2.0 k rows/s"));
    }
}
