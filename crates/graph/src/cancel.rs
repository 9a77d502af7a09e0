//! Cancellation: one flag that asks a long operation to stop, on any thread.

use crate::error::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Asks running work to stop. Clones share one flag; a flag without clones is never set.
///
/// Concurrency: any thread sets it, all threads of the work read it.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag {
    /// Relaxed: it publishes nothing but itself, and only ever becomes true.
    cancelled: Arc<AtomicBool>,
    /// When it asks by itself.
    deadline: Option<Instant>,
}

impl CancelFlag {
    /// Asks to stop, for good. The work returns `cancelled` within a few milliseconds.
    #[inline]
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// The same flag, which also counts as set after `deadline`. Other clones are not affected by the deadline.
    #[must_use]
    #[inline]
    pub fn until(&self, deadline: Instant) -> Self {
        Self { cancelled: Arc::clone(&self.cancelled), deadline: Some(deadline) }
    }

    /// Whether the flag is set or the deadline has passed. Cost: a look at the clock, if there is a deadline.
    #[must_use]
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
            || self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    /// Returns an error if the flag is set or the deadline has passed.
    ///
    /// # Errors
    /// `cancelled`.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }
}

#[cold]
fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "cancelled on request; nothing was changed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn all_clones_hear_of_it() {
        let flag = CancelFlag::default();
        let other = flag.clone();
        assert!(other.check().is_ok());
        flag.cancel();
        assert_eq!(other.check().unwrap_err().kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn a_deadline_asks_for_whoever_has_it() {
        let flag = CancelFlag::default();
        let late = flag.until(Instant::now());
        let early = flag.until(Instant::now() + Duration::from_secs(3600));
        std::thread::sleep(Duration::from_millis(1));
        assert!(late.is_cancelled() && !early.is_cancelled() && !flag.is_cancelled());
        flag.cancel();
        assert!(early.is_cancelled());
    }
}
