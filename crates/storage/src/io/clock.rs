//! Clock: monotonic time for measuring, and calendar time for people.

use std::fmt::Debug;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::sync::Mutex;

/// Tells the time.
pub trait Clock: Send + Sync + Debug {
    /// Time since the clock was started. Never goes back.
    fn now(&self) -> Duration;

    /// Nanoseconds since 1970 (UTC), negative before; ends in the year 2262. May jump.
    fn wall(&self) -> i64;
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Starts at zero now.
    #[expect(clippy::disallowed_methods, reason = "this file is what the rule points to")]
    #[expect(clippy::new_without_default, reason = "starting a clock is something that happens")]
    #[must_use]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "this file is what the rule points to")]
    fn wall(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => nanoseconds(after),
            Err(before) => -nanoseconds(before.duration()),
        }
    }
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// A clock that a test sets; it stands still in between.
#[derive(Debug)]
pub struct ManualClock {
    start_wall: i64,
    now: Mutex<Duration>,
}

impl ManualClock {
    /// At zero, with the calendar at `wall` nanoseconds since 1970.
    #[must_use]
    pub fn new(wall: i64) -> Self {
        Self { start_wall: wall, now: Mutex::new(Duration::ZERO) }
    }

    /// Moves both times on.
    pub fn advance(&self, by: Duration) {
        *self.now.lock() += by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        *self.now.lock()
    }

    fn wall(&self) -> i64 {
        self.start_wall.saturating_add(nanoseconds(self.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::new(1_000);
        assert_eq!((clock.now(), clock.wall()), (Duration::ZERO, 1_000));
        clock.advance(Duration::from_nanos(5));
        assert_eq!((clock.now(), clock.wall()), (Duration::from_nanos(5), 1_005));
    }

    #[test]
    fn the_system_clock_never_goes_back_and_knows_the_century() {
        let clock = SystemClock::new();
        let first = clock.now();
        assert!(clock.now() >= first);
        assert!(clock.wall() > 1_600_000_000_000_000_000, "later than 2020");
    }
}
