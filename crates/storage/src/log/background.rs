//! Background: the log's work that nobody waits for, by threads or in steps.
//!
//! ```text
//! preparer   a quarter of the active file is used  -> prepares the next file
//! timer      mode Sync:     100 ms idle            -> seals the last batch, then sleeps
//!            mode Interval: one interval later     -> syncs; seals after an idle interval, then sleeps
//! acknowledger   mode Sync: callers that don't wait -> waits for the disk in their place, calls them
//! ```
//!
//! In a simulation there are no threads: a step does what a thread does when it wakes.
//!
//! Both sleep without a timeout until a commit rings their bell: an idle database wakes nobody.
//! What fails here is not lost: a failed sync poisons the log, and a file that could not be
//! prepared is tried again by the next commit that needs it, which gets the error.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::log::error::LogError;
use crate::log::group_commit::Shared;
use crate::log::options::{Durability, LogOptions};
use crate::planted::{Bug, planted};

/// How long the preparer leaves a full disk alone. Commits that need space try by themselves.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The preparer's life.
pub(crate) fn prepare_ahead(shared: &Shared) {
    while shared.preparer.wait() {
        if shared.prepare_next_if_due().is_err() && !shared.preparer.pause(RETRY_AFTER) {
            return;
        }
    }
}

/// The timer's life.
pub(crate) fn sync_and_seal(shared: &Shared) {
    let Some(period) = period(&shared.options) else { return };
    while shared.timer.wait() {
        let before = shared.last_ts();
        // If it fails the log is poisoned: nothing is ever to be done again.
        if !shared.timer.pause(period) || after_period(shared, before).is_err() {
            return;
        }
    }
}

/// The acknowledger's life.
pub(crate) fn acknowledge_waiting(shared: &Shared) {
    while shared.acknowledger.bell.wait() {
        acknowledge_all(shared);
    }
    acknowledge_all(shared);
}

/// Waits for the disk until nobody waits any more.
fn acknowledge_all(shared: &Shared) {
    loop {
        let waiting = shared.acknowledger.take();
        let Some(newest) = waiting.iter().map(|(ts, _)| *ts).max() else { return };
        // Each asks for itself what came of it: some may have been durable before a batch failed. A panic has poisoned
        // the log, which they learn as well.
        if !planted(Bug::CallbackBeforeSync) {
            let _ = catch_unwind(AssertUnwindSafe(|| shared.wait_durable(newest)));
        }
        for (ts, done) in waiting {
            let outcome = if planted(Bug::CallbackBeforeSync) { Ok(()) } else { shared.wait_durable(ts) };
            // Who panics here was told, and the others are to be told, too.
            let _ = catch_unwind(AssertUnwindSafe(|| done(outcome)));
        }
    }
}

/// The timer's life in steps: woken by the bell, it notes the newest commit in `before`; in the next step the
/// period has passed.
pub(crate) fn step_timer(shared: &Shared, before: &mut Option<u64>) {
    if period(&shared.options).is_none() {
        return;
    }
    *before = match before.take() {
        None => shared.timer.was_rung().then(|| shared.last_ts()),
        Some(before) => {
            // If it fails the log is poisoned, which tells everybody.
            let _ = after_period(shared, before);
            None
        }
    };
}

/// How long the timer waits after it was woken; nothing if it has nothing to do.
fn period(options: &LogOptions) -> Option<Duration> {
    match options.durability {
        Durability::Sync => Some(options.seal_after),
        Durability::Interval(interval) => Some(interval),
        Durability::None => None,
    }
}

/// What the timer does one period after the newest commit was `before`.
fn after_period(shared: &Shared, before: u64) -> Result<(), LogError> {
    let is_idle = shared.last_ts() == before;
    if !is_idle && shared.options.durability == Durability::Sync {
        shared.timer.ring();
        Ok(())
    } else if shared.durable() < shared.last_ts() {
        // Once more, to seal what is synced now.
        shared.timer.ring();
        shared.sync_all()
    } else {
        match shared.seal() {
            // A full disk leaves the batch unsealed; commits tell about the disk.
            Err(LogError::Full { .. }) => Ok(()),
            done => done,
        }
    }
}
