//! Cancellation: one flag that asks long work to stop, whoever does it.

use crate::error::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks running work to stop. Clones are one flag; one that nobody keeps never asks.
///
/// Concurrency: any thread sets it, all threads of the work read it.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag {
    /// Relaxed: it publishes nothing but itself, and only ever becomes true.
    cancelled: Arc<AtomicBool>,
}

impl CancelFlag {
    /// Asks to stop, for good. The work returns `cancelled` within a few milliseconds.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked to stop.
    #[must_use]
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Goes on unless somebody asked to stop.
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
    Error::new(ErrorKind::Cancelled, "cancelled, as asked; nothing was changed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clones_hear_of_it() {
        let flag = CancelFlag::default();
        let other = flag.clone();
        assert!(other.check().is_ok());
        flag.cancel();
        assert_eq!(other.check().unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
