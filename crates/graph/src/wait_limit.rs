//! Wait limit: what ends the waits of a thread for other machines, on behalf of whoever asked it to work.
//!
//! ```text
//! query: its flag, its deadline ── enter ──> thread ── reads a view ──> asks another node ── of_thread ──> waits so long
//! ```
//!
//! A view does not know which query reads it, and those of a graph at hand wait for nobody. So the limit belongs to the thread,
//! and not to every method of a view. Whoever hands work to another thread hands its limit over, too.

use crate::cancel::CancelFlag;
use crate::error::{Error, ErrorKind, Result};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

/// How often whoever waits looks at its flags, which wake nobody.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How much longer than it is waited for an answer another machine works on it: the wait ends here first, and says why.
const WORK_LONGER: Duration = Duration::from_secs(1);

thread_local! {
    /// The limit that was entered last.
    static OF_THREAD: RefCell<WaitLimit> = const { RefCell::new(WaitLimit { first: None, more: Vec::new() }) };
}

/// Ends waits. The default never does.
#[derive(Clone, Debug, Default)]
pub struct WaitLimit {
    /// Mostly all there is: every query enters a limit, and shall not allocate for it.
    first: Option<CancelFlag>,
    more: Vec<CancelFlag>,
}

/// As long as it is there, waits of this thread have a [`WaitLimit`]; then the one before again.
#[must_use = "the limit ends when this is dropped"]
#[derive(Debug)]
pub struct WaitScope {
    before: WaitLimit,
    /// It stays on its thread.
    of_thread: PhantomData<*const ()>,
}

impl WaitLimit {
    /// The limit of this thread.
    #[must_use]
    pub fn of_thread() -> Self {
        OF_THREAD.with_borrow(Self::clone)
    }

    /// The same, which also ends when `flag` is set or its deadline has passed.
    #[must_use]
    pub fn and(mut self, flag: CancelFlag) -> Self {
        match self.first {
            None => self.first = Some(flag),
            Some(_) => self.more.push(flag),
        }
        self
    }

    /// The same, which also ends after so much time from now.
    #[must_use]
    pub fn for_at_most(self, time: Duration) -> Self {
        match Instant::now().checked_add(time) {
            Some(deadline) => self.and(CancelFlag::default().until(deadline)),
            None => self,
        }
    }

    /// Limits the waits of this thread by this, and by nothing else.
    pub fn enter(self) -> WaitScope {
        WaitScope { before: OF_THREAD.replace(self), of_thread: PhantomData }
    }

    fn flags(&self) -> impl Iterator<Item = &CancelFlag> {
        self.first.iter().chain(&self.more)
    }

    /// Whether waits end.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.flags().any(CancelFlag::is_cancelled)
    }

    /// Returns an error if waits end.
    ///
    /// # Errors
    /// `cancelled`. Whoever entered the limit knows a better text.
    pub fn check(&self) -> Result<()> {
        for flag in self.flags() {
            flag.check().map_err(|cancelled| match flag.deadline() {
                Some(deadline) if Instant::now() > deadline => Error::new(
                    ErrorKind::Cancelled,
                    "other machines have not answered in the time that there was",
                ),
                _ => cancelled,
            })?;
        }
        Ok(())
    }

    /// How long to sleep before the next look, of a wait that ends after `left`: all of it, unless there is a limit to look at.
    #[must_use]
    pub fn until_next_look(&self, left: Duration) -> Duration {
        if self.first.is_none() { left } else { left.min(LOOK_EVERY) }
    }

    /// How long another machine works on what is waited for here, `longest` at most: about as long as this may wait.
    #[must_use]
    pub fn patience(&self, longest: Duration) -> Duration {
        let Some(deadline) = self.flags().filter_map(CancelFlag::deadline).min() else { return longest };
        let left = deadline.saturating_duration_since(Instant::now());
        left.saturating_add(WORK_LONGER).min(longest)
    }
}

impl Drop for WaitScope {
    fn drop(&mut self) {
        let before = std::mem::take(&mut self.before);
        // The thread is about to end otherwise.
        let _ = OF_THREAD.try_with(|limit| limit.replace(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn has_ended() -> bool {
        WaitLimit::of_thread().has_ended()
    }

    #[test]
    fn waits_end_by_any_flag_of_the_scopes_around_and_by_none_behind_them() {
        let (outer, inner) = (CancelFlag::default(), CancelFlag::default());
        let scope = WaitLimit::of_thread().and(outer.clone()).enter();
        {
            let _scope = WaitLimit::of_thread().and(inner.clone()).enter();
            assert!(!has_ended());
            inner.cancel();
            assert!(has_ended());
            assert_eq!(WaitLimit::of_thread().check().unwrap_err().kind(), ErrorKind::Cancelled);
            // Work of another query on the same thread.
            let _other = WaitLimit::default().enter();
            assert!(!has_ended());
        }
        assert!(!has_ended() && WaitLimit::of_thread().check().is_ok());
        {
            let _scope = WaitLimit::of_thread().and(CancelFlag::default()).enter();
            outer.cancel();
            assert!(has_ended());
        }
        drop(scope);
        assert!(!has_ended());
    }

    #[test]
    fn a_limit_is_handed_to_another_thread() {
        let flag = CancelFlag::default();
        let limit = WaitLimit::default().and(flag.clone());
        flag.cancel();
        let elsewhere = std::thread::spawn(move || {
            let without = has_ended();
            let _scope = limit.enter();
            (without, has_ended())
        });
        assert_eq!(elsewhere.join().unwrap(), (false, true));
    }

    #[test]
    fn deadlines_shorten_sleeps_and_the_work_of_others() {
        let none = WaitLimit::default();
        assert_eq!((none.until_next_look(LONG), none.patience(LONG)), (LONG, LONG));
        let flagged = none.clone().and(CancelFlag::default());
        assert_eq!((flagged.until_next_look(LONG), flagged.patience(LONG)), (LOOK_EVERY, LONG));
        let short = flagged.for_at_most(Duration::ZERO);
        assert!(short.patience(LONG) <= WORK_LONGER);
        assert_eq!(short.patience(Duration::ZERO), Duration::ZERO);
        std::thread::sleep(Duration::from_millis(1));
        assert!(short.has_ended() && !none.for_at_most(Duration::MAX).has_ended());
    }
}
