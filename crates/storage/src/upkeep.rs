//! Upkeep: starts checkpoints when due or requested, and tidies indexes, while a database is open.
//!
//! ```text
//! due     commits in the log beyond a limit in bytes, or the log itself on disk, in bytes or files; or the
//!         engine says so
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
use evergraph_graph::note::Notes;
use evergraph_graph::timestamp::Timestamp;
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
    /// Bytes of frames in the log when the newest checkpoint began. Relaxed: a hint.
    frames_at_checkpoint: AtomicU64,
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
        Self {
            store,
            limits,
            // The log counts what was replayed: a database that crashes often still gets its checkpoints.
            frames_at_checkpoint: AtomicU64::new(0),
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
        let frames = store.log().frame_bytes();
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
        self.frames_at_checkpoint.store(frames, Ordering::Relaxed);
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
        let log = self.store.log();
        let since = log.frame_bytes().wrapping_sub(self.frames_at_checkpoint.load(Ordering::Relaxed));
        since > self.limits.checkpoint_after_bytes
            || (since > 0 && log.disk_bytes() > LOG_DISK_BYTES_MAX.max(4 * self.limits.log_file_bytes))
            || (since > 0 && self.has_many_files())
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

    /// One look: removals in indexes, and a checkpoint if it is due and the one before has not just failed.
    pub fn look(&self) {
        self.store.collect_indexes();
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
