//! Merge queue: segments that wait to be merged, and what whoever merges them remembers.

use crate::segment::LiveSegment;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use evergraph_storage::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Segments that wake a thread which would look at them before long: waking it costs as much as a commit.
const JOBS_THAT_WAKE: usize = 16;

/// When a segment that is queued is merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MergeUrgency {
    /// When the thread looks at the queue, which may be after a pause.
    CanWait,
    /// At once: its writer would soon merge it.
    Urgent,
}

/// The queue and what its thread remembers.
#[derive(Debug)]
pub struct Merger {
    pub(crate) queue: Mutex<MergeQueue>,
    pub(crate) work: Condvar,
    /// Told after each merge: a writer that waits for room looks again.
    pub(crate) progress: Condvar,
    /// Whether what was replaced is to be looked through.
    pub(crate) reclaim: AtomicBool,
    /// When the last pass was, in nanoseconds on the timeline's clock. Relaxed.
    pub(crate) passed: AtomicU64,
    /// Merges since the last pass. Relaxed.
    pub(crate) merges: AtomicU64,
    pub(crate) rounds: Mutex<MergeRounds>,
    /// Until when no merge is tried after one that failed, in nanoseconds on the timeline's clock. Relaxed.
    pub(crate) paused_until: AtomicU64,
    /// Why the last merge that failed did; none once one succeeded after it.
    pub(crate) failed: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
pub(crate) struct MergeQueue {
    pub(crate) jobs: VecDeque<Arc<LiveSegment>>,
    /// Whether its thread looks at the queue before long, though nobody wakes it.
    pub(crate) dozing: bool,
    pub(crate) closing: bool,
}

/// What whoever merges remembers from one round to the next.
#[derive(Debug)]
pub(crate) struct MergeRounds {
    /// Segments whose records weren't readable yet.
    pub(crate) delayed: Vec<Arc<LiveSegment>>,
    /// Segments whose turn came while no merge is tried, because one failed.
    pub(crate) paused: Vec<Arc<LiveSegment>>,
    /// Segments whose merges failed. They come behind those of `paused`: one that fails always stops no other.
    pub(crate) failed: Vec<Arc<LiveSegment>>,
    /// Whether the last round took a segment from the queue.
    pub(crate) took_job: bool,
    /// How long nothing happened but merges that fail again.
    pub(crate) undisturbed: Duration,
    /// What was readable when nothing happened the last time: what hasn't changed since is idle.
    pub(crate) idle_since: Timestamp,
}

impl MergeRounds {
    fn new(idle_since: Timestamp) -> Self {
        let (delayed, paused, failed) = (Vec::new(), Vec::new(), Vec::new());
        Self { delayed, paused, failed, took_job: false, undisturbed: Duration::ZERO, idle_since }
    }

    /// Whether segments wait until merges are tried again.
    pub(crate) fn is_resting(&self) -> bool {
        !self.paused.is_empty() || !self.failed.is_empty()
    }
}

impl Merger {
    /// An empty queue; `readable` is R.
    #[must_use]
    pub fn new(readable: Timestamp) -> Self {
        Self {
            queue: Mutex::default(),
            work: Condvar::new(),
            progress: Condvar::new(),
            reclaim: AtomicBool::new(false),
            passed: AtomicU64::new(0),
            merges: AtomicU64::new(0),
            rounds: Mutex::new(MergeRounds::new(readable)),
            paused_until: AtomicU64::new(0),
            failed: Mutex::default(),
        }
    }

    /// Queues a segment, once. One that is urgent wakes the thread.
    pub(crate) fn push(&self, segment: &Arc<LiveSegment>, urgency: MergeUrgency) {
        if segment.enqueue() {
            let mut queue = self.queue.lock();
            queue.jobs.push_back(Arc::clone(segment));
            let is_soon_seen = queue.dozing && queue.jobs.len() < JOBS_THAT_WAKE;
            drop(queue);
            if urgency == MergeUrgency::Urgent || !is_soon_seen {
                self.work.notify_one();
            }
        }
    }

    /// There is other work than merges.
    pub(crate) fn wake(&self) {
        // Its thread looks for that with the queue locked, before it sleeps.
        drop(self.queue.lock());
        self.work.notify_one();
    }

    /// What was replaced is looked through soon.
    pub(crate) fn reclaim_soon(&self) {
        if !self.reclaim.swap(true, Ordering::AcqRel) {
            self.work.notify_one();
        }
    }

    /// Asks `MappedGraph::run_merges` to return.
    pub fn close(&self) {
        self.queue.lock().closing = true;
        self.work.notify_all();
    }
}
