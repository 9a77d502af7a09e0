//! `BackOff`: how long to wait before asking a source again after a failure.
//!
//! ```text
//! failure  1        2        3    ...  9 and later
//! at most  100 ms   200      400       30 s            a random half of it at least
//! ```
//!
//! Random waits keep many replicas from coming back at once. Source: Brooker, "Exponential Backoff And Jitter" (AWS
//! Architecture Blog, 2015); "equal jitter", so that nobody hammers a source that is starting.

use std::time::Duration;

use evergraph_storage::io::random::Random;

const WAIT_MAX: Duration = Duration::from_secs(30);
/// Failures after which a wait grows no more.
const DOUBLINGS_MAX: u32 = 9;

/// Waits between attempts.
#[derive(Debug)]
pub struct BackOff {
    first: Duration,
    random: Box<dyn Random>,
    failures: u32,
}

impl BackOff {
    /// Waits `first` at first, at most; takes its jitter from `random`.
    #[must_use]
    pub fn new(first: Duration, random: Box<dyn Random>) -> Self {
        Self { first, random, failures: 0 }
    }

    /// The wait after one more failure.
    pub fn failed(&mut self) -> Duration {
        let most = self.first.saturating_mul(1 << self.failures.min(DOUBLINGS_MAX)).min(WAIT_MAX);
        self.failures = self.failures.saturating_add(1);
        let half = most.as_micros() as u64 / 2;
        Duration::from_micros(half + self.random.next_u64() % (half + 1))
    }

    /// The source answered.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::io::random::SplitMix64;

    #[test]
    fn waits_double_up_to_half_a_minute_and_begin_anew_after_a_success() {
        let mut back_off = BackOff::new(Duration::from_millis(100), Box::new(SplitMix64::new(1)));
        for most_ms in [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000] {
            let wait = back_off.failed();
            let most = Duration::from_millis(most_ms);
            assert!(wait >= most / 2 && wait <= most, "{wait:?} of {most:?}");
        }
        back_off.succeeded();
        assert!(back_off.failed() <= Duration::from_millis(100));
    }
}
