//! Merge queue: segments that wait to be merged, and what whoever merges them remembers.

use crate::segment::LiveSegment;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use evergraph_storage::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

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
    /// Why the last merge that failed did.
    pub(crate) failed: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
pub(crate) struct MergeQueue {
    pub(crate) jobs: VecDeque<Arc<LiveSegment>>,
    pub(crate) closing: bool,
}

/// What whoever merges remembers from one round to the next.
#[derive(Debug)]
pub(crate) struct MergeRounds {
    /// Segments whose records weren't readable yet.
    pub(crate) delayed: Vec<Arc<LiveSegment>>,
    /// What was readable when nothing happened the last time: what hasn't changed since is idle.
    pub(crate) idle_since: Timestamp,
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
            rounds: Mutex::new(MergeRounds { delayed: Vec::new(), idle_since: readable }),
            paused_until: AtomicU64::new(0),
            failed: Mutex::default(),
        }
    }

    /// Queues a segment, once.
    pub(crate) fn push(&self, segment: &Arc<LiveSegment>) {
        if segment.enqueue() {
            self.queue.lock().jobs.push_back(Arc::clone(segment));
            self.work.notify_one();
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
