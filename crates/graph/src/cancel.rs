//! Cancellation: one flag that asks a long operation to stop, on any thread; and to let others work meanwhile.

use crate::error::{Error, ErrorKind, Result};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long considerate work may run before it counts as long.
const SHORT_TIME: Duration = Duration::from_millis(1);
/// How long a thread with considerate long work works at a stretch.
const STRETCH: Duration = Duration::from_micros(100);

thread_local! {
    /// When this thread let others work last.
    static LET_OTHERS_WORK: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Asks running work to stop. Clones share one flag; a flag without clones is never set.
///
/// Concurrency: any thread sets it, all threads of the work read it.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag {
    /// Relaxed: it publishes nothing but itself, and only ever becomes true.
    cancelled: Arc<AtomicBool>,
    /// When it asks by itself.
    deadline: Option<Instant>,
    /// When work began that lets others work meanwhile.
    considerate_since: Option<Instant>,
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
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// After when it counts as set, if there is a deadline.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The same flag for work that begins now, and that lets others work: who checks it after the first millisecond gives
    /// other threads that wait for its processor their turn, every tenth of a millisecond. Other clones are not affected.
    ///
    /// Some systems take the processor from a thread that computes only at their next tick, up to 4 ms later: so long do
    /// small requests wait beside heavy ones, which a p99 shows. Cost: a look at the clock for each check, and a call of the
    /// system for each turn, about a hundredth of the time.
    #[must_use]
    pub fn considerate(&self) -> Self {
        Self { considerate_since: Some(Instant::now()), ..self.clone() }
    }

    /// Whether the flag is set or the deadline has passed. Cost: a look at the clock, if there is a deadline.
    #[must_use]
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        if let Some(since) = self.considerate_since {
            let_others_work(since);
        }
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

/// Gives other threads their turn, if the work that began at `since` is long and this thread has not done so lately.
fn let_others_work(since: Instant) {
    let now = Instant::now();
    if now.saturating_duration_since(since) < SHORT_TIME {
        return;
    }
    let last = LET_OTHERS_WORK.get();
    if last.is_none_or(|last| now.saturating_duration_since(last) >= STRETCH) {
        thread::yield_now();
        LET_OTHERS_WORK.set(Some(Instant::now()));
    }
}

#[cold]
fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "cancelled on request; nothing was changed")
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

    #[test]
    fn considerate_work_lets_others_work_once_it_is_long() {
        let flag = CancelFlag::default();
        // However busy the machine is, no time has passed.
        let in_an_hour = Some(Instant::now() + Duration::from_secs(3600));
        let short = CancelFlag { considerate_since: in_an_hour, ..flag.clone() };
        assert!(!short.is_cancelled() && LET_OTHERS_WORK.get().is_none(), "it is short");
        let considerate = flag.considerate();
        thread::sleep(SHORT_TIME);
        assert!(!flag.is_cancelled() && LET_OTHERS_WORK.get().is_none(), "other clones are not considerate");
        assert!(!considerate.is_cancelled());
        let first = LET_OTHERS_WORK.get().expect("it is long");
        thread::sleep(STRETCH);
        assert!(!considerate.until(Instant::now() + Duration::from_secs(3600)).is_cancelled());
        assert!(LET_OTHERS_WORK.get() > Some(first));
        flag.cancel();
        assert!(considerate.is_cancelled());
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
