//! Deadline: how long a transaction may run, and how long it may wait for background work.
//!
//! ```text
//! begin ── reads, writes ── commit: checks, waits for merges ── its place in the order ── waits for disk
//! |<------------------------------ timeout ------------------------------>|
//! |                                 |<- stall ->|
//! ```
//!
//! Attempts of one transaction share a deadline. Whoever misses it has written nothing; once a commit has its
//! place in the order, no deadline takes it back.

use crate::io::clock::Clock;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::wait_limit::{WaitLimit, WaitScope};
use std::sync::Arc;
use std::time::Duration;

/// A moment on a clock, or never.
#[derive(Clone, Debug)]
pub struct Deadline {
    clock: Arc<dyn Clock>,
    begun: Duration,
    timeout: Duration,
    stall_max: Duration,
}

impl Deadline {
    /// Begins now: `timeout` from here, and at most `stall_max` of it waiting. [`Duration::MAX`] is for ever.
    #[must_use]
    pub fn after(clock: &Arc<dyn Clock>, timeout: Duration, stall_max: Duration) -> Self {
        let begun = if timeout == Duration::MAX { Duration::ZERO } else { clock.now() };
        Self { clock: Arc::clone(clock), begun, timeout, stall_max }
    }

    /// How long it took so far, of a transaction that has a timeout.
    fn taken(&self) -> Duration {
        self.clock.now().saturating_sub(self.begun)
    }

    /// Whether it has passed. Cost: nothing without a timeout, else a look at the clock.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.timeout != Duration::MAX && self.taken() >= self.timeout
    }

    /// Refuses if it has passed.
    ///
    /// # Errors
    /// `limit`, with both times.
    pub fn check(&self) -> Result<()> {
        if self.has_passed() {
            let text = format!(
                "the transaction has taken {:.1?}, and its timeout is {:?}: nothing was written; split it \
                 into several transactions, or raise the timeout",
                self.taken(),
                self.timeout
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        Ok(())
    }

    /// Ends waits of this thread with the transaction, for a graph that lies on other machines: as long as the scope is there.
    pub fn limit_waits(&self) -> WaitScope {
        let limit = WaitLimit::of_thread();
        match self.timeout {
            Duration::MAX => limit.enter(),
            timeout => limit.for_at_most(timeout.saturating_sub(self.taken())).enter(),
        }
    }

    /// What was done; if a wait was ended, why.
    ///
    /// # Errors
    /// The error of `done`; `limit` in place of `cancelled`, if the deadline has passed.
    pub fn explained<T>(&self, done: Result<T>) -> Result<T> {
        match done {
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(self.check().err().unwrap_or(error)),
            done => done,
        }
    }

    /// How long a commit may wait for background work.
    #[must_use]
    pub fn patience(&self) -> Duration {
        match self.timeout {
            Duration::MAX => self.stall_max,
            timeout => timeout.saturating_sub(self.taken()).min(self.stall_max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::clock::ManualClock;

    #[test]
    fn it_passes_when_its_time_is_over_and_shortens_waits_before() {
        let manual = Arc::new(ManualClock::new(0));
        let clock: Arc<dyn Clock> = manual.clone();
        manual.advance(Duration::from_secs(7));
        let deadline = Deadline::after(&clock, Duration::from_secs(5), Duration::from_secs(3));
        manual.advance(Duration::from_secs(1));
        assert_eq!((deadline.has_passed(), deadline.patience()), (false, Duration::from_secs(3)));
        manual.advance(Duration::from_secs(3));
        assert_eq!((deadline.has_passed(), deadline.patience()), (false, Duration::from_secs(1)));
        manual.advance(Duration::from_secs(1));
        let error = deadline.check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("its timeout is 5s"), "{error}");
        assert_eq!(deadline.patience(), Duration::ZERO);
    }

    #[test]
    fn waits_end_with_it_and_it_says_so() {
        let manual = Arc::new(ManualClock::new(0));
        let clock: Arc<dyn Clock> = manual.clone();
        let deadline = Deadline::after(&clock, Duration::from_secs(5), Duration::from_secs(3));
        let scope = deadline.limit_waits();
        assert!(!WaitLimit::of_thread().has_ended());
        drop(scope);
        let cancelled = || Err::<(), _>(Error::new(ErrorKind::Cancelled, "the wait was ended"));
        assert_eq!(deadline.explained(cancelled()).unwrap_err().kind(), ErrorKind::Cancelled, "by others");
        manual.advance(Duration::from_secs(5));
        let scope = deadline.limit_waits();
        // The next moment of the system's clock.
        while !WaitLimit::of_thread().has_ended() {}
        drop(scope);
        assert!(!WaitLimit::of_thread().has_ended());
        assert_eq!(deadline.explained(cancelled()).unwrap_err().kind(), ErrorKind::Limit);
        let conflict = Error::conflict("another one was first");
        assert!(deadline.explained(Err::<(), _>(conflict)).unwrap_err().is_conflict());
    }

    #[test]
    fn without_a_timeout_it_never_passes() {
        let manual = Arc::new(ManualClock::new(0));
        let clock: Arc<dyn Clock> = manual.clone();
        let deadline = Deadline::after(&clock, Duration::MAX, Duration::from_secs(3));
        manual.advance(Duration::from_secs(1 << 40));
        assert!(deadline.check().is_ok());
        assert_eq!(deadline.patience(), Duration::from_secs(3));
    }
}
