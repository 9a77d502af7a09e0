//! Upkeep: starts checkpoints when due or requested, tidies indexes, and fills those of partitions, while a database is open.
//!
//! ```text
//! due     commits in the log beyond a limit in bytes, or the log itself on disk, in bytes or files; or the
//!         engine says so
//! horizon of a store that has one: only what is older counts as due, since no checkpoint covers more or frees it
//! closing many small log files of a run that was too short for the thread
//! failed  tried again after some 10 seconds; `stats` says why
//! ```

use crate::checkpoint::contract::{CheckpointOutcome, CheckpointSources, OnCheckpointProgress};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::manifest::StoredGroup;
use crate::durable_engine::DurableEngine;
use crate::planted::{Bug, planted};
use crate::store::Store;
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::note::Notes;
use evergraph_graph::timestamp::Timestamp;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

/// How often the checkpoint thread looks whether one is due.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Looks after a failed checkpoint before the next try: about 10 seconds.
const LOOKS_AFTER_FAILURE: u32 = 50;
/// Log on disk at which a checkpoint is due even if its payload is small.
const LOG_DISK_BYTES_MAX: u64 = 1 << 30;
/// More log files than these, which together are larger than so many bytes, make a checkpoint due: they are
/// the small ones of many openings.
const LOG_FILES_MAX: u64 = 16;
const LOG_FILES_BYTES_MIN: u64 = 16 << 20;
/// Vertex groups that a look puts into new indexes even if a checkpoint is due.
const FILLED_GROUPS_MIN: u32 = 16;
/// Marks of the log, at most; then every other one goes.
const LOG_MARKS_MAX: usize = 1024;
/// Marks between two checkpoints whose horizon follows, about.
const LOG_MARKS_A_CHECKPOINT: u64 = 64;

/// What the checkpoint thread did, for `stats`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckpointState {
    /// Checkpoints made since opening, asked for or not.
    pub checkpoints: u64,
    /// C of the newest one.
    pub covered_through: Timestamp,
    /// Why the last attempt in the background failed, if it did.
    pub failure: Option<String>,
}

/// Makes the checkpoints of an open database.
pub struct Upkeep<E: DurableEngine> {
    store: Store<E>,
    limits: UpkeepLimits,
    /// Bytes of frames in the log that the newest checkpoint covers, as far as is known. Relaxed: a hint.
    frames_at_checkpoint: AtomicU64,
    /// Of a store with a horizon.
    marks: Mutex<LogMarks>,
    state: Mutex<CheckpointState>,
    /// Looks for a due checkpoint that are still to be skipped after one failed. Relaxed: one thread's.
    looks_to_skip: AtomicU32,
    closing: AtomicBool,
    wake: (Mutex<()>, Condvar),
}

/// When a checkpoint is due.
#[derive(Clone, Copy, Debug)]
pub struct UpkeepLimits {
    /// Bytes of commits in the log.
    pub checkpoint_after_bytes: u64,
    /// Bytes that a log file grows to: four of them are always allowed.
    pub log_file_bytes: u64,
}

impl<E: DurableEngine> Upkeep<E> {
    /// Of `store`, whose newest checkpoint is that of `covered_through`.
    #[must_use]
    pub fn new(store: Store<E>, covered_through: Timestamp, limits: UpkeepLimits) -> Self {
        let (frames, published) = (store.log().frame_bytes(), store.timeline().published());
        let marks = LogMarks::new(published, frames, limits.checkpoint_after_bytes / LOG_MARKS_A_CHECKPOINT);
        Self {
            store,
            limits,
            // The log counts what was replayed: a database that crashes often still gets its checkpoints.
            frames_at_checkpoint: AtomicU64::new(0),
            marks: Mutex::new(marks),
            state: Mutex::new(CheckpointState { covered_through, ..CheckpointState::default() }),
            looks_to_skip: AtomicU32::new(0),
            closing: AtomicBool::new(false),
            wake: (Mutex::new(()), Condvar::new()),
        }
    }

    /// What happened so far.
    #[must_use]
    pub fn state(&self) -> CheckpointState {
        self.state.lock().clone()
    }

    /// Asks [`Upkeep::look_after`] to return, and a checkpoint of its own to stop.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
        let _awake = self.wake.0.lock();
        self.wake.1.notify_all();
    }

    /// Makes a checkpoint now. `progress` may stop it.
    ///
    /// # Errors
    /// As [`DurableEngine::checkpoint`]: the checkpoint before stays valid.
    pub fn checkpoint(
        &self,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> Result<CheckpointOutcome, CheckpointError> {
        let store = &self.store;
        let (frames, published) = (store.log().frame_bytes(), store.timeline().published());
        let groups = || {
            let states = store.vertex_id_state();
            // A group whose ids were taken for a load that failed has no vertices and is not kept.
            let known = states.iter().filter(|state| store.engine().has_group(state.group));
            known.map(|s| StoredGroup { id: s.group, label: s.label, rows: s.rows }).collect()
        };
        // The manifest's are put together under the latch.
        drop(store.front().notes.fold(store.timeline()));
        let notes = |through| {
            let notes = store.front().notes.for_manifest(through);
            notes.map(|notes| if planted(Bug::NotesNotStored) { Notes::default() } else { notes })
        };
        let sources = CheckpointSources {
            log: store.log(),
            catalogue: &|| store.catalogue(),
            notes: &notes,
            groups: &groups,
        };
        let made = store.engine().checkpoint(&sources, progress)?;
        let covered = made.covered_through;
        if store.own_groups().is_some() {
            let known = self.marks.lock().forget_before(covered);
            // Beyond the horizon nothing is covered.
            let frames = if covered < published { known } else { frames };
            self.frames_at_checkpoint.store(frames, Ordering::Relaxed);
        } else {
            self.frames_at_checkpoint.store(frames, Ordering::Relaxed);
        }
        let mut state = self.state.lock();
        state.checkpoints += 1;
        state.covered_through = made.covered_through;
        state.failure = made.left_over.as_ref().map(ToString::to_string);
        Ok(made)
    }

    fn is_due(&self) -> bool {
        // A load makes its own: one in between would keep names of a load that may still fail.
        if self.store.timeline().latch().loading {
            return false;
        }
        let (log, timeline) = (self.store.log(), self.store.timeline());
        let (published, horizon) = (timeline.published(), timeline.horizon());
        let is_held = !published.visible_at(horizon) && !planted(Bug::HorizonNotDue);
        let frames = if is_held { self.marks.lock().through(horizon) } else { log.frame_bytes() };
        let since = frames.saturating_sub(self.frames_at_checkpoint.load(Ordering::Relaxed));
        let may_free = || since > 0 && (!is_held || log.prunable_bytes(horizon.0) > 0);
        since > self.limits.checkpoint_after_bytes
            || (may_free() && log.disk_bytes() > LOG_DISK_BYTES_MAX.max(4 * self.limits.log_file_bytes))
            || (may_free() && self.has_many_files())
            || self.store.engine().wants_checkpoint(false)
    }

    fn has_many_files(&self) -> bool {
        let log = self.store.log().statistics();
        log.files_count > LOG_FILES_MAX && log.disk_bytes > LOG_FILES_BYTES_MIN
    }

    /// Makes a checkpoint if commits of this run leave many log files, or the engine would do again what
    /// it did. A program that opens, commits and closes within a fifth of a second never gets one otherwise, however often
    /// it runs.
    ///
    /// If it fails the checkpoint before stays valid, and closing the next time tries again.
    pub fn checkpoint_before_closing(&self) {
        let log = self.store.log();
        let has_many_files = log.statistics().frames_count > 0 && self.has_many_files();
        if !log.is_poisoned() && (has_many_files || self.store.engine().wants_checkpoint(true)) {
            let made = self.checkpoint(&mut |_| ControlFlow::Continue(()));
            self.state.lock().failure = made.err().map(|error| error.to_string());
        }
    }

    /// Makes checkpoints when they are due and tidies indexes, until closing: the life of a thread.
    pub fn look_after(&self) {
        loop {
            {
                let guard = self.wake.0.lock();
                if !self.closing.load(Ordering::Acquire) {
                    drop(self.wake.1.wait_timeout(guard, LOOK_EVERY));
                }
            }
            if self.closing.load(Ordering::Acquire) {
                return;
            }
            self.look();
        }
    }

    /// Notes how far the log of a partition is.
    fn mark_log(&self) {
        // The log first: what is published then is no less, but for a commit that is being applied.
        let frames = self.store.log().frame_bytes();
        self.marks.lock().note(self.store.timeline().published(), frames);
    }

    /// Fills indexes that commits of a partition have created, until a checkpoint is due: but some groups each time.
    fn fill_indexes(&self) {
        let mut groups = 0;
        let mut goes_on = || {
            groups += 1;
            // A scan may take long, and whether a checkpoint is due is told by marks.
            self.mark_log();
            !self.closing.load(Ordering::Acquire) && (groups <= FILLED_GROUPS_MIN || !self.is_due())
        };
        loop {
            match self.store.fill_indexes(&mut goes_on) {
                Ok(true) if goes_on() => {}
                Ok(_) => return,
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.store.timeline().latch().poisoned.get_or_insert_with(|| error.to_string());
                    return;
                }
                Err(error) => {
                    self.state.lock().failure = Some(error.to_string());
                    return;
                }
            }
        }
    }

    /// One look: removals in indexes, new ones that are to be filled, and a checkpoint if it is due and the one before has not
    /// just failed.
    pub fn look(&self) {
        self.store.collect_indexes();
        if self.store.own_groups().is_some() {
            self.mark_log();
            self.fill_indexes();
        }
        let skip = self.looks_to_skip.load(Ordering::Relaxed).saturating_sub(1);
        self.looks_to_skip.store(skip, Ordering::Relaxed);
        if skip == 0 && !self.store.log().is_poisoned() && self.is_due() {
            let made = self.checkpoint(&mut |_| match self.closing.load(Ordering::Acquire) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            });
            if let Err(error) = made
                && !matches!(error, CheckpointError::Cancelled)
            {
                self.state.lock().failure = Some(error.to_string());
                self.looks_to_skip.store(LOOKS_AFTER_FAILURE, Ordering::Relaxed);
            }
        }
    }
}

/// How far the log was at some commits: a checkpoint that stays at an older moment covers about so much of it.
///
/// Marks are as far apart as checkpoints need; while a horizon stands still they are thinned out.
#[derive(Debug)]
struct LogMarks {
    /// A commit, and the bytes of frames through it; both ascending.
    marks: VecDeque<(Timestamp, u64)>,
    /// Bytes from one to the next, at least.
    step_bytes: u64,
    /// The same, while there are few.
    step_bytes_min: u64,
}

impl LogMarks {
    fn new(published: Timestamp, frame_bytes: u64, step_bytes: u64) -> Self {
        let (marks, step_bytes) = (VecDeque::from([(published, frame_bytes)]), step_bytes.max(1));
        Self { marks, step_bytes, step_bytes_min: step_bytes }
    }

    /// The log has `frame_bytes` of frames, and these are published.
    fn note(&mut self, published: Timestamp, frame_bytes: u64) {
        let last = self.marks.back().map_or(0, |(_, bytes)| *bytes);
        if frame_bytes.saturating_sub(last) < self.step_bytes {
            return;
        }
        self.marks.push_back((published, frame_bytes));
        if self.marks.len() > LOG_MARKS_MAX {
            let mut is_kept = false;
            self.marks.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.step_bytes *= 2;
        }
    }

    /// Bytes of frames through `timestamp`, or fewer, by what comes between two marks.
    fn through(&self, timestamp: Timestamp) -> u64 {
        self.place(timestamp).map_or(0, |place| self.marks[place].1)
    }

    /// Forgets what lies before `timestamp`; as [`LogMarks::through`].
    fn forget_before(&mut self, timestamp: Timestamp) -> u64 {
        let Some(place) = self.place(timestamp) else { return 0 };
        self.marks.drain(..place);
        if self.marks.len() < LOG_MARKS_MAX / 4 {
            self.step_bytes = self.step_bytes_min;
        }
        self.marks[0].1
    }

    /// The last mark that `timestamp` sees.
    fn place(&self, timestamp: Timestamp) -> Option<usize> {
        self.marks.partition_point(|(at, _)| at.visible_at(timestamp)).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::timestamp::Timestamp as T;

    #[test]
    fn marks_say_how_much_of_the_log_lies_before_a_moment_or_somewhat_less() {
        let mut marks = LogMarks::new(T(10), 500, 100);
        for (at, bytes) in [(20, 599), (30, 650), (40, 700), (50, 1000)] {
            marks.note(T(at), bytes);
        }
        let through = |marks: &LogMarks, at| marks.through(T(at));
        assert_eq!(
            [9, 10, 29, 30, 49, 50, 99].map(|at| through(&marks, at)),
            [0, 500, 500, 650, 650, 1000, 1000],
            "99 bytes are no mark of their own, nor are 50"
        );
        assert_eq!((marks.forget_before(T(45)), through(&marks, 44), through(&marks, 29)), (650, 650, 0));
        assert_eq!(marks.forget_before(T(5)), 0, "nothing is known of it, and nothing is forgotten");
        assert_eq!(through(&marks, 50), 1000);
    }

    #[test]
    fn marks_of_a_horizon_that_stands_still_are_thinned_out() {
        let mut marks = LogMarks::new(T(0), 0, 1);
        let end = 10 * LOG_MARKS_MAX as u64;
        (1..=end).for_each(|at| marks.note(T(at), at));
        assert!(marks.marks.len() <= LOG_MARKS_MAX && marks.step_bytes == 16);
        for at in [0, 1, 17, end / 2, end] {
            let found = marks.through(T(at));
            assert!(found <= at && at - found <= 2 * marks.step_bytes, "{found} bytes through {at}");
        }
        marks.forget_before(T(end));
        assert_eq!((marks.marks.len(), marks.step_bytes), (1, 1), "few are close to each other again");
    }
}
