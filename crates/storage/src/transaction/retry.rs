//! Retry: how long to wait before a transaction that conflicted runs again.
//!
//! ```text
//! attempt  2      3      4      5   ...  9 and later
//! at most  50 us  100    200    400      10 ms          a random part of it ("full jitter")
//! ```
//!
//! Random waits keep transactions that met once from meeting again; the cap keeps a hot key usable.
//!
//! Source: Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).

use crate::io::random::Random;
use crate::sync::{Condvar, Mutex};
use evergraph_graph::error::Result;
use std::time::Duration;

/// Attempts by default.
pub const ATTEMPTS_MAX: u32 = 100;

const FIRST_WAIT: Duration = Duration::from_micros(50);
const WAIT_MAX: Duration = Duration::from_millis(10);

/// Waits between attempts.
///
/// Concurrency: any thread; the lock guards the generator for one number.
#[derive(Debug)]
pub struct Retry {
    random: Mutex<Box<dyn Random>>,
    nobody: (Mutex<()>, Condvar),
}

impl Retry {
    /// Takes its jitter from `random`.
    #[must_use]
    pub fn new(random: Box<dyn Random>) -> Self {
        Self { random: Mutex::new(random), nobody: (Mutex::new(()), Condvar::new()) }
    }

    /// A random number, for seeds.
    pub fn next_u64(&self) -> u64 {
        self.random.lock().next_u64()
    }

    /// Calls `attempt` until it does something else than conflict, `attempts_max` times, with a wait in between; not
    /// again once `is_late`.
    ///
    /// # Errors
    /// Errors of `attempt`, at once unless it is `conflict`; `conflict` after the last attempt, or when it is late, with
    /// the number of attempts.
    pub fn retrying<T>(
        &self,
        attempts_max: u32,
        is_late: impl Fn() -> bool,
        mut attempt: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        let mut attempts = 0;
        loop {
            let error = match attempt() {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            attempts += 1;
            if !error.is_conflict() {
                return Err(error);
            }
            if attempts >= attempts_max {
                return Err(error.context(format!("after {attempts} attempts")));
            }
            self.wait(attempts);
            if is_late() {
                return Err(error.context(format!("after {attempts} attempts and all of its time")));
            }
        }
    }

    /// Sleeps after `attempts` that failed.
    pub fn wait(&self, attempts: u32) {
        let wait = self.jitter(attempts);
        // A wait for news that never come: sleeping through `sync`, where a test's scheduler sees it.
        drop(self.nobody.1.wait_timeout(self.nobody.0.lock(), wait));
    }

    fn jitter(&self, attempts: u32) -> Duration {
        let most = FIRST_WAIT.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(WAIT_MAX);
        let nanoseconds = most.as_nanos() as u64;
        Duration::from_nanos(self.next_u64() % (nanoseconds + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::random::SplitMix64;
    use evergraph_graph::error::{Error, ErrorKind};

    #[test]
    fn waits_grow_to_their_cap_and_differ() {
        let retry = Retry::new(Box::new(SplitMix64::new(1)));
        let longest = |attempts| (0..200).map(|_| retry.jitter(attempts)).max().unwrap();
        assert!(longest(1) <= FIRST_WAIT && longest(1) > FIRST_WAIT / 2);
        assert!(longest(3) <= FIRST_WAIT * 4 && longest(3) > FIRST_WAIT);
        assert!(longest(u32::MAX) <= WAIT_MAX && longest(u32::MAX) > WAIT_MAX / 2);
        assert_ne!(retry.jitter(9), retry.jitter(9));
    }

    #[test]
    fn a_conflict_is_tried_again_and_no_other_kind_is() {
        let retry = Retry::new(Box::new(SplitMix64::new(1)));
        for kind in ErrorKind::ALL {
            let mut attempts = 0;
            let error = retry.retrying::<()>(
                3,
                || false,
                || {
                    attempts += 1;
                    Err(Error::new(*kind, "no"))
                },
            );
            let expected = if *kind == ErrorKind::Conflict { 3 } else { 1 };
            assert_eq!((error.unwrap_err().kind(), attempts), (*kind, expected));
        }
    }
}
