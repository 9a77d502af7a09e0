//! Latch: held so that a panic under it poisons the store.
//!
//! A panic between installing a commit and publishing it would leave memory and log in disagreement;
//! nobody may build on that. Reads go on, commits are refused, reopening replays the log.

use crate::planted::{Bug, planted};
use crate::sync::MutexGuard;
use crate::timeline::clock::{LatchState, Timeline};
use evergraph_graph::error::{Error, ErrorKind, Result};

/// Runs `body` under the commit latch.
pub fn under_latch<R>(timeline: &Timeline, body: impl FnOnce(&mut MutexGuard<'_, LatchState>) -> R) -> R {
    let mut held = HeldLatch { state: timeline.latch(), finished: false };
    let result = body(&mut held.state);
    held.finished = true;
    result
}

struct HeldLatch<'a> {
    state: MutexGuard<'a, LatchState>,
    finished: bool,
}

impl Drop for HeldLatch<'_> {
    fn drop(&mut self) {
        if !self.finished {
            let cause = "a commit panicked half-way: reopen the database, and please report this";
            self.state.poisoned.get_or_insert_with(|| cause.to_owned());
        }
    }
}

/// Returns an error if commits are refused.
///
/// # Errors
/// `io`, with what poisoned the store.
pub fn check_healthy(state: &LatchState) -> Result<()> {
    match &state.poisoned {
        None => Ok(()),
        Some(cause) => Err(Error::new(ErrorKind::Io, format!("the store is read-only: {cause}"))),
    }
}

/// Keeps commits out while a bulk load runs; they are refused as `busy`. Ends when dropped.
#[must_use = "the gate opens when it is dropped"]
#[derive(Debug)]
pub struct LoadingGate<'a>(&'a Timeline);

impl<'a> LoadingGate<'a> {
    /// Closes the gate.
    ///
    /// # Errors
    /// `busy` if a load has closed it or indexes are being built, `io` if the store is poisoned.
    pub fn close(timeline: &'a Timeline) -> Result<Self> {
        let mut state = timeline.latch();
        check_healthy(&state)?;
        check_open(&state)?;
        if state.index_builds > 0 {
            let text = "an index is being built: load after it is ready";
            return Err(Error::new(ErrorKind::Busy, text));
        }
        state.loading = true;
        Ok(Self(timeline))
    }
}

impl Drop for LoadingGate<'_> {
    fn drop(&mut self) {
        self.0.latch().loading = false;
    }
}

/// Refuses while the gate is closed.
///
/// # Errors
/// `busy`.
#[inline]
pub fn check_open(state: &LatchState) -> Result<()> {
    if state.loading && !planted(Bug::CommitsWithinLoads) {
        let text = "a bulk load is running: nothing was written, try again when it is done";
        return Err(Error::new(ErrorKind::Busy, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::clock::Readable;
    use evergraph_graph::timestamp::Timestamp;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_panic_under_the_latch_poisons_and_a_return_does_not() {
        let timeline = Timeline::new(Timestamp(0), Readable::Published);
        assert_eq!(under_latch(&timeline, |_| 7), 7);
        assert!(check_healthy(&timeline.latch()).is_ok());
        let panicked = catch_unwind(AssertUnwindSafe(|| under_latch(&timeline, |_| panic!("planted"))));
        assert!(panicked.is_err());
        assert_eq!(check_healthy(&timeline.latch()).unwrap_err().kind(), ErrorKind::Io);
    }

    #[test]
    fn one_gate_at_a_time_and_it_opens_when_dropped() {
        let timeline = Timeline::new(Timestamp(0), Readable::Published);
        let gate = LoadingGate::close(&timeline).unwrap();
        assert_eq!(LoadingGate::close(&timeline).unwrap_err().kind(), ErrorKind::Busy);
        drop(gate);
        assert!(check_open(&timeline.latch()).is_ok());
    }
}
