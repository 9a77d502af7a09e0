//! Control: how a caller stops a kernel, watches it, and bounds its memory.
//!
//! The number of threads isn't here: kernels run on rayon's current pool, so a caller chooses with
//! `ThreadPool::install`.

use evergraph_graph::budget::{Budget, Reservation, Unlimited};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

/// Progress of a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// What it is doing, say "pagerank".
    pub phase: &'static str,
    /// How much of the phase is done, from 0 to 1. Where the end can't be known, as in a search,
    /// it is the part of the vertices that were reached.
    pub fraction: f64,
}

/// What a kernel gets from its caller: a memory budget, a progress callback, and a cancel flag.
pub struct Control<'a> {
    cancel: CancelFlag,
    progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    budget: &'a dyn Budget,
    /// The thousandths that were last told, so that a search of a million levels makes no million
    /// calls. Relaxed: only the thread that runs the kernel touches it.
    told: AtomicU32,
}

impl<'a> Control<'a> {
    /// Takes memory from `budget`; reports no progress, and cannot be cancelled.
    #[must_use]
    pub fn new(budget: &'a dyn Budget) -> Self {
        Self { cancel: CancelFlag::default(), progress: None, budget, told: AtomicU32::new(0) }
    }

    /// Stops when `cancel` is set.
    #[must_use]
    pub fn with_cancel(mut self, cancel: &CancelFlag) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Calls `progress` at each beginning and end of a phase and at most once every thousandth in
    /// between, on the thread that runs the kernel. The callback should return quickly.
    #[must_use]
    pub fn with_progress(mut self, progress: &'a (dyn Fn(Progress) + Sync)) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Where memory comes from.
    #[must_use]
    pub fn budget(&self) -> &'a dyn Budget {
        self.budget
    }

    /// Whether to stop.
    #[must_use]
    pub fn cancel(&self) -> &CancelFlag {
        &self.cancel
    }

    /// The same flag and progress with another budget: that of the view that is read.
    #[must_use]
    pub fn on_budget<'b>(&self, budget: &'b dyn Budget) -> Control<'b>
    where
        'a: 'b,
    {
        Control { cancel: self.cancel.clone(), progress: self.progress, budget, told: AtomicU32::new(0) }
    }

    /// The same flag and budget for a kernel within a kernel, whose progress is not the caller's.
    pub(crate) fn without_progress(&self) -> Self {
        Self { cancel: self.cancel.clone(), progress: None, budget: self.budget, told: AtomicU32::new(0) }
    }

    /// What stops it.
    pub(crate) fn cancel_flag(&self) -> &CancelFlag {
        &self.cancel
    }

    /// Returns an error if cancellation was requested.
    ///
    /// # Errors
    /// `cancelled`.
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Reports the progress of `phase`.
    pub(crate) fn report(&self, phase: &'static str, fraction: f64) {
        let Some(progress) = self.progress else { return };
        let fraction = fraction.clamp(0.0, 1.0);
        let thousandths = (fraction * 1000.0) as u32;
        if fraction == 0.0 || thousandths != self.told.swap(thousandths, Ordering::Relaxed) {
            self.told.store(thousandths, Ordering::Relaxed);
            progress(Progress { phase, fraction });
        }
    }

    /// Reserves `count` things of `each` bytes for `purpose`, before they are allocated.
    pub(crate) fn reserve(&self, purpose: &str, count: u32, each: usize) -> Result<Reservation> {
        self.reserve_bytes(purpose, u64::from(count) * each as u64)
    }

    /// Reserves `bytes` for `purpose`, before they are allocated.
    ///
    /// # Errors
    /// `limit` if the budget refuses.
    pub fn reserve_bytes(&self, purpose: &str, bytes: u64) -> Result<Reservation> {
        self.budget.reserve(purpose, bytes)
    }
}

impl Default for Control<'_> {
    /// No memory limit, no progress reports, no cancellation.
    fn default() -> Self {
        Self::new(&Unlimited)
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;
    use std::sync::Mutex;

    #[test]
    fn a_clone_of_the_flag_stops_the_kernel() {
        let flag = CancelFlag::default();
        let control = Control::default().with_cancel(&flag);
        assert!(control.check().is_ok());
        flag.clone().cancel();
        assert_eq!(control.check().unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(control.on_budget(&Unlimited).check().is_err());
    }

    #[test]
    fn progress_is_told_by_thousandths_and_at_both_ends() {
        let told = Mutex::new(Vec::new());
        let watch = |progress: Progress| told.lock().unwrap().push(progress.fraction);
        let control = Control::default().with_progress(&watch);
        for step in 0..=1_000_000 {
            control.report("search", f64::from(step) / 1e6);
        }
        control.report("next", 0.0);
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 1 + 1000 + 1);
        assert_eq!((told[0], told[1000], told[1001]), (0.0, 1.0, 0.0));
    }
}
