//! `PostgresTime`: the time of a commit or of a message, as the replication protocol sends it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use evergraph_graph::value::datetime::DateTime;

/// Seconds from 1970-01-01 to 2000-01-01.
const SECONDS_TO_2000: i64 = 946_684_800;

/// A moment: microseconds since 2000-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PostgresTime(i64);

impl PostgresTime {
    /// The moment `microseconds` after 2000-01-01T00:00:00Z.
    #[must_use]
    #[inline]
    pub const fn new(microseconds: i64) -> Self {
        Self(microseconds)
    }

    /// The moment `microseconds` after 1970-01-01T00:00:00Z; the nearest one if that is out of range.
    #[must_use]
    pub const fn from_unix_microseconds(microseconds: i64) -> Self {
        Self(microseconds.saturating_sub(SECONDS_TO_2000 * 1_000_000))
    }

    /// Now, by the system's clock.
    #[must_use]
    pub fn now() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::from_unix_microseconds(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
    }

    /// Microseconds since 2000-01-01T00:00:00Z.
    #[must_use]
    #[inline]
    pub const fn microseconds(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is; nothing if it isn't after it.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        let microseconds = self.0.saturating_sub(earlier.0);
        Duration::from_micros(u64::try_from(microseconds).unwrap_or_default())
    }

    /// The moment as a value, in UTC.
    #[must_use]
    pub fn to_datetime(self) -> DateTime {
        let seconds = self.0.div_euclid(1_000_000) + SECONDS_TO_2000;
        let nanoseconds = u32::try_from(self.0.rem_euclid(1_000_000) * 1000).expect("less than a second");
        DateTime::new(seconds, nanoseconds, 0).expect("2^63 microseconds are less than 300,000 years")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_from_the_year_2000() {
        assert_eq!(PostgresTime::new(0).to_datetime().to_string(), "2000-01-01T00:00:00Z");
        assert_eq!(PostgresTime::new(-1).to_datetime().to_string(), "1999-12-31T23:59:59.999999Z");
        for end in [i64::MIN, i64::MAX] {
            assert_eq!(PostgresTime::new(end).to_datetime().offset_seconds(), 0);
        }
        let since = |later, earlier| PostgresTime::new(later).saturating_since(PostgresTime::new(earlier));
        assert_eq!((since(7, -3), since(-3, 7)), (Duration::from_micros(10), Duration::ZERO));
        assert_eq!(since(i64::MIN, i64::MAX), Duration::ZERO);
        assert_eq!(PostgresTime::from_unix_microseconds(946_684_800_000_001), PostgresTime::new(1));
    }
}
