//! Pacing: writers wait while the flush is behind, and are refused when it doesn't catch up.
//!
//! ```text
//! memory graphs that wait for their flush   2: wait, up to the patience of the commit; then `limit`
//! sorted runs in L0                         from `runs_slow` on each record is slowed, at `runs_max` it waits
//! ```
//!
//! Slowed commits share a timeline, on which each takes the delay of its records. A commit waits for its turn if that
//! is a millisecond or more away. So only some of the small commits wait: throughput falls, and the 99th percentile of
//! latency does not rise.
//!
//! A wait ends when something was flushed or freed. Where nobody flushes in the background, the writer does
//! (`commit_room.rs`), and waits for nothing.
//!
//! Source: disk-engine, section 4; RocksDB's write stalls, whose limits are likewise on memtables and files of L0.

use evergraph_storage::io::clock::Clock;
use evergraph_storage::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use evergraph_storage::sync::{Condvar, Mutex};
use std::time::Duration;

/// How long a writer sleeps before it looks for room again, if no flush wakes it.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long a record is slowed at the last number of runs before it has to wait; a quarter of that at each one before.
const SLOWED_MAX: Duration = Duration::from_micros(64);
/// The least wait of a commit that is slowed.
const SLOWED_AT_ONCE: Duration = Duration::from_millis(1);

/// How much may wait for the background before writers do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacingLimits {
    /// Memory graphs that wait for their flush.
    pub frozen_graphs_max: usize,
    /// Sorted runs in L0 from which on commits are slowed.
    pub runs_slow: usize,
    /// Sorted runs in L0 at which commits wait.
    pub runs_max: usize,
}

impl PacingLimits {
    /// Where nobody compacts in the background: two graphs, and any number of runs, since a wait would never end.
    pub const UNCOMPACTED: Self = Self { frozen_graphs_max: 2, runs_slow: usize::MAX, runs_max: usize::MAX };
}

impl Default for PacingLimits {
    /// Two graphs; 8 runs, 12 runs.
    fn default() -> Self {
        Self { frozen_graphs_max: 2, runs_slow: 8, runs_max: 12 }
    }
}

/// What writers have to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backlog {
    /// So many memory graphs wait for their flush.
    FrozenGraphs(usize),
    /// So many sorted runs are in L0.
    Runs(usize),
}

impl PacingLimits {
    /// What has to shrink before a commit goes on, with so many graphs and runs.
    #[must_use]
    #[inline]
    pub fn backlog(&self, frozen_graphs: usize, runs: usize) -> Option<Backlog> {
        if frozen_graphs >= self.frozen_graphs_max {
            return Some(Backlog::FrozenGraphs(frozen_graphs));
        }
        (runs >= self.runs_max).then_some(Backlog::Runs(runs))
    }

    /// How long each record of a commit is slowed with so many sorted runs in L0.
    #[must_use]
    #[inline]
    pub fn slowed(&self, runs: usize) -> Duration {
        let Some(above) = runs.checked_sub(self.runs_slow) else { return Duration::ZERO };
        let steps = self.runs_max.saturating_sub(self.runs_slow).max(1);
        let steps_left = steps.saturating_sub(above + 1);
        SLOWED_MAX / (1 << (2 * steps_left).min(30))
    }
}

/// Stalls since opening.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StallStatistics {
    /// Commits that were slowed, or waited.
    pub stalls: u64,
    /// Time that they lost, all together.
    pub stalled: Duration,
    /// The longest of those times.
    pub stall_max: Duration,
}

/// Where writers wait for the background, and the background for them.
///
/// # Concurrency
/// Any thread waits and wakes. The locks are held for a look at a number; [`Pacing::wake_background`] is called under
/// the commit latch, too.
#[derive(Debug, Default)]
pub struct Pacing {
    /// Counts what was flushed, compacted or freed; why the last flush and the last compaction failed, if they did.
    progress: (Mutex<Progress>, Condvar),
    /// Whether there may be work for the background.
    work: (Mutex<bool>, Condvar),
    /// Release when the engine closes; Acquire by who would wait.
    is_closed: AtomicBool,
    /// Up to where the timeline of slowed commits is taken, in nanoseconds of the clock. Relaxed: it orders nothing but
    /// waits.
    slowed_until: AtomicU64,
    stalls: Stalls,
}

#[derive(Debug, Default)]
struct Progress {
    steps: u64,
    failure: Option<String>,
    compaction_failure: Option<String>,
}

/// Relaxed: for statistics alone.
#[derive(Debug, Default)]
struct Stalls {
    count: AtomicU64,
    nanoseconds: AtomicU64,
    nanoseconds_max: AtomicU64,
}

impl Pacing {
    /// Something was flushed or freed: writers look again. It clears the failure before.
    pub fn wake_writers(&self) {
        let mut progress = self.progress.0.lock();
        progress.steps += 1;
        progress.failure = None;
        self.progress.1.notify_all();
    }

    /// Notes why a flush failed, for writers who wait for it: they go on waiting, and say so if it is in vain.
    pub fn note_failure(&self, failure: String) {
        self.progress.0.lock().failure = Some(failure);
    }

    /// Why the last flush failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.progress.0.lock().failure.clone()
    }

    /// Why the last compaction failed, if none has succeeded since.
    #[must_use]
    pub fn compaction_failure(&self) -> Option<String> {
        self.progress.0.lock().compaction_failure.clone()
    }

    /// Files were compacted: writers look again. It clears the failure of the compaction before.
    pub fn note_compaction(&self) {
        let mut progress = self.progress.0.lock();
        progress.steps += 1;
        progress.compaction_failure = None;
        self.progress.1.notify_all();
    }

    /// Notes why a compaction failed. Flushes go on, and don't clear it: writers who wait for the compaction in the end
    /// say so.
    pub fn note_compaction_failure(&self, failure: String) {
        self.progress.0.lock().compaction_failure = Some(failure);
    }

    /// Why the last step that `backlog` waits for failed, if it did.
    #[must_use]
    pub fn failure_of(&self, backlog: Backlog) -> Option<String> {
        let progress = self.progress.0.lock();
        match backlog {
            Backlog::FrozenGraphs(_) => progress.failure.clone(),
            Backlog::Runs(_) => progress.compaction_failure.clone(),
        }
    }

    /// There is a graph to flush, or the engine closes.
    pub fn wake_background(&self) {
        *self.work.0.lock() = true;
        self.work.1.notify_all();
    }

    /// The engine closes: nobody waits any more.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.wake_background();
        self.progress.1.notify_all();
    }

    /// Whether the engine closes.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Waits until something is flushed or freed, or the engine closes, for at most `timeout`.
    pub fn wait_for_progress(&self, timeout: Duration) {
        let progress = self.progress.0.lock();
        if !self.is_closed() {
            drop(self.progress.1.wait_timeout(progress, timeout));
        }
    }

    /// Waits for [`Pacing::wake_background`], for at most `timeout`; returns whether it was called since the last wait.
    pub fn wait_for_work(&self, timeout: Duration) -> bool {
        let mut has_work = self.work.0.lock();
        if !*has_work {
            has_work = self.work.1.wait_timeout(has_work, timeout).0;
        }
        std::mem::take(&mut has_work)
    }

    /// Waits until `is_done`, which is asked after each step of the background, for at most `patience`; whether it is.
    /// Nothing is waited for if it is at once.
    pub fn wait_until(
        &self,
        clock: &dyn Clock,
        patience: Duration,
        mut is_done: impl FnMut() -> bool,
    ) -> bool {
        let mut seen = self.progress.0.lock().steps;
        if is_done() {
            return true;
        }
        let began = clock.now();
        let waited = || clock.now().saturating_sub(began);
        let done = loop {
            let left = patience.saturating_sub(waited());
            if left.is_zero() || self.is_closed() {
                break false;
            }
            let mut progress = self.progress.0.lock();
            // A step between the look and the lock is not slept through.
            if progress.steps == seen {
                progress = self.progress.1.wait_timeout(progress, left.min(LOOK_AGAIN)).0;
            }
            seen = progress.steps;
            drop(progress);
            if is_done() {
                break true;
            }
        };
        self.stalled(waited());
        done
    }

    /// Takes `time` on the timeline of slowed commits, and waits for its beginning, for at most `patience`, or until
    /// something was flushed.
    pub fn slow(&self, clock: &dyn Clock, time: Duration, patience: Duration) {
        if time.is_zero() {
            return;
        }
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (now, takes) = (nanoseconds(clock.now()), nanoseconds(time));
        let after = |until: u64| until.max(now).saturating_add(takes);
        let taken =
            self.slowed_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |until| Some(after(until)));
        let begins = taken.unwrap_or_else(|until| until).max(now);
        let wait = Duration::from_nanos(begins - now).min(patience);
        if wait >= SLOWED_AT_ONCE {
            drop(self.progress.1.wait_timeout(self.progress.0.lock(), wait));
            self.stalled(clock.now().saturating_sub(Duration::from_nanos(now)));
        }
    }

    /// Counts a commit that lost `time`.
    pub fn stalled(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.stalls.count.fetch_add(1, Ordering::Relaxed);
        self.stalls.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        self.stalls.nanoseconds_max.fetch_max(nanoseconds, Ordering::Relaxed);
    }

    /// The stalls so far.
    #[must_use]
    pub fn statistics(&self) -> StallStatistics {
        let time = |nanoseconds: &AtomicU64| Duration::from_nanos(nanoseconds.load(Ordering::Relaxed));
        StallStatistics {
            stalls: self.stalls.count.load(Ordering::Relaxed),
            stalled: time(&self.stalls.nanoseconds),
            stall_max: time(&self.stalls.nanoseconds_max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::io::clock::{ManualClock, SystemClock};
    use std::sync::Arc;

    #[test]
    fn commits_slow_down_run_by_run_and_then_wait() {
        let limits = PacingLimits::default();
        assert_eq!((limits.slowed(7), limits.slowed(8)), (Duration::ZERO, SLOWED_MAX / 64));
        assert_eq!(limits.slowed(10), SLOWED_MAX / 4);
        assert_eq!((limits.slowed(11), limits.slowed(50)), (SLOWED_MAX, SLOWED_MAX));
        assert_eq!((limits.backlog(1, 11), limits.backlog(1, 12)), (None, Some(Backlog::Runs(12))));
        assert_eq!(limits.backlog(2, 0), Some(Backlog::FrozenGraphs(2)));
        let unlimited = PacingLimits::UNCOMPACTED;
        assert_eq!((unlimited.backlog(0, 1 << 20), unlimited.slowed(1 << 20)), (None, Duration::ZERO));
    }

    #[test]
    fn slowed_commits_wait_now_and_then_for_all_of_their_time() {
        let pacing = Pacing::default();
        let clock = ManualClock::new(0);
        let slow = |times: u64| {
            (0..times).for_each(|_| pacing.slow(&clock, SLOWED_AT_ONCE / 10, Duration::from_micros(1)));
            pacing.statistics().stalls
        };
        // Without patience for a millisecond nobody waits, but the timeline is taken.
        assert_eq!((slow(10), pacing.slowed_until.load(Ordering::Relaxed)), (0, 1_000_000));
        pacing.slow(&clock, Duration::from_nanos(1), SLOWED_AT_ONCE);
        assert_eq!(pacing.statistics().stalls, 1, "its place comes after a millisecond");
        clock.advance(Duration::from_millis(5));
        pacing.slow(&clock, SLOWED_AT_ONCE, SLOWED_AT_ONCE);
        assert_eq!(pacing.statistics().stalls, 1, "what nobody took is not made up for");
        assert_eq!(pacing.slowed_until.load(Ordering::Relaxed), 6_000_000);
    }

    #[test]
    fn who_has_no_patience_does_not_wait() {
        let pacing = Pacing::default();
        let clock = ManualClock::new(0);
        assert!(pacing.wait_until(&clock, Duration::ZERO, || true));
        assert_eq!(pacing.statistics().stalls, 0);
        assert!(!pacing.wait_until(&clock, Duration::ZERO, || false));
        assert_eq!(pacing.statistics().stalls, 1);
    }

    #[test]
    fn a_failure_is_known_until_something_is_flushed_or_compacted() {
        let pacing = Pacing::default();
        pacing.note_failure("no space".to_owned());
        assert_eq!(pacing.failure().as_deref(), Some("no space"));
        pacing.wake_writers();
        assert_eq!(pacing.failure(), None);
        pacing.note_compaction_failure("csr-1 is corrupt".to_owned());
        pacing.wake_writers();
        let failures =
            || [Backlog::FrozenGraphs(2), Backlog::Runs(12)].map(|backlog| pacing.failure_of(backlog));
        assert_eq!(failures(), [None, Some("csr-1 is corrupt".to_owned())], "a flush doesn't clear it");
        pacing.note_compaction();
        assert_eq!(failures(), [None, None]);
        assert!(!pacing.wait_for_work(Duration::ZERO));
        pacing.wake_background();
        assert!(pacing.wait_for_work(Duration::MAX) && !pacing.wait_for_work(Duration::ZERO));
    }

    #[cfg(not(any(shuttle, loom)))]
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test outside of schedules")]
    fn a_writer_goes_on_when_something_was_flushed() {
        let pacing = Arc::new(Pacing::default());
        let waits = Arc::new(AtomicU64::new(0));
        let (other, looks) = (Arc::clone(&pacing), Arc::clone(&waits));
        let writer = std::thread::spawn(move || {
            other.wait_until(&SystemClock::new(), Duration::from_secs(3600), || {
                looks.fetch_add(1, Ordering::Relaxed) >= 3
            })
        });
        while !writer.is_finished() {
            pacing.wake_writers();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(writer.join().unwrap());
        assert_eq!(pacing.statistics().stalls, 1);
    }
}
