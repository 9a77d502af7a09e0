//! Segment history: what changed in a segment since an open writer began, also where merges took the records; in the heap.
//!
//! Under a merge the history is set first, then the body is replaced: whoever looks at the state and then at the history
//! meets each record at least once.
//!
//! Source: core-protocol section 2; the history itself is the memory engine's.

use evergraph_bodies::history::{ContinuedHistory, History};
use evergraph_bodies::run::Run;
use evergraph_graph::id::KeyId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::ChangedSince;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::{Operation, Record, RecordKey, Stamp};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use evergraph_storage::timeline::clock::Timeline;
use std::ops::RangeInclusive;

/// What a writer asks about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// Any record.
    Any,
    /// Whether there is one item more or less.
    Members,
    /// This property, or all of them.
    Property(KeyId),
}

impl ChangeKind {
    /// Whether a record is such a change; its properties are only read where they decide. `None` if they can't be.
    pub(crate) fn holds(self, stamp: Stamp, mentions: impl FnOnce(KeyId) -> Option<bool>) -> Option<bool> {
        match self {
            Self::Any => Some(true),
            Self::Members => Some(stamp.difference() != 0),
            Self::Property(_) if stamp.operation() != Operation::Set => Some(true),
            Self::Property(key) => mentions(key),
        }
    }
}

/// What the writing process knows of a segment's past.
#[derive(Debug)]
pub struct SegmentHistory {
    /// The newest record, those of its hubs included. Stored (Release) under the latch when records are appended, before
    /// they are published; loaded (Acquire) by conflict checks.
    changed: AtomicU64,
    /// Questions about what is newer than a timestamp below this one cannot be answered any more. Only grows; stored under
    /// the latch.
    floor: AtomicU64,
    merged: Mutex<History>,
}

impl SegmentHistory {
    /// Nothing is known of what was before `base`, and nobody asks.
    #[must_use]
    pub fn new(base: Timestamp) -> Self {
        Self { changed: AtomicU64::new(base.0), floor: AtomicU64::new(0), merged: Mutex::default() }
    }

    /// The newest record's timestamp, those of hubs included, or the base.
    #[must_use]
    pub fn changed(&self) -> Timestamp {
        Timestamp(self.changed.load(Ordering::Acquire))
    }

    /// Notes that there are records of `timestamp`. Under the latch.
    pub fn changed_at(&self, timestamp: Timestamp) {
        self.changed.fetch_max(timestamp.0, Ordering::AcqRel);
    }

    /// Something other than records changed the segment at `timestamp`: whoever is older cannot know what. Under the latch.
    pub fn forget_before(&self, timestamp: Timestamp) {
        self.floor.fetch_max(timestamp.0, Ordering::AcqRel);
        self.changed_at(timestamp);
    }

    /// Becomes that of one row of another segment.
    pub(crate) fn take_row_of(&self, other: &Self, row: u16) {
        *self.merged.lock() = other.merged.lock().of_row(row);
        self.floor.store(other.floor.load(Ordering::Acquire), Ordering::Release);
        self.changed_at(other.changed());
    }

    /// What it becomes by a merge of `records`, by (key, stamp). Off the latch: a writer that registers later begins at the
    /// base or after it and asks about none of these.
    #[must_use]
    pub(crate) fn followed_by(&self, timeline: &Timeline, records: &[Record]) -> ContinuedHistory {
        let oldest = timeline.registry().oldest_writer();
        let Some(oldest) = oldest.filter(|_| !planted(Bug::NoHistory)) else {
            return ContinuedHistory { history: History::default(), forgotten: None };
        };
        let asked = records.iter().filter(|record| !record.stamp.timestamp().visible_at(oldest));
        let asked = Run::from_sorted(asked.cloned().collect());
        let before = self.merged.lock().clone();
        let before = if planted(Bug::LastMergesHistory) { History::default() } else { before };
        before.followed_by(asked, oldest)
    }

    /// A merge is about to replace the body; what was known before, for the caller to drop after the latch. Under the latch.
    pub(crate) fn install(&self, next: ContinuedHistory) -> History {
        if let Some(forgotten) = next.forgotten {
            self.floor.fetch_max(forgotten.0, Ordering::AcqRel);
        }
        std::mem::replace(&mut *self.merged.lock(), next.history)
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.merged.lock().heap_bytes() as u64
    }

    /// The discriminators in records of these keys.
    pub(crate) fn discriminators(&self, keys: &RangeInclusive<RecordKey>, taken: &mut Vec<u16>) {
        taken.extend(self.merged.lock().range(keys).map(|record| record.key.discriminator()));
    }

    /// As [`LiveSegment::newer`](crate::segment::LiveSegment::newer), of what merges took.
    pub(crate) fn newer(
        &self,
        keys: &RangeInclusive<RecordKey>,
        since: Timestamp,
        kind: ChangeKind,
    ) -> ChangedSince {
        let merged = self.merged.lock();
        let is_newer = merged.range_after(keys, since).any(|record| {
            kind.holds(record.stamp, |key| Some(record.payload.get(key).is_some())) == Some(true)
        });
        match is_newer {
            true => ChangedSince::Yes,
            false if since.0 < self.floor.load(Ordering::Acquire) => ChangedSince::Forgotten,
            false => ChangedSince::No,
        }
    }
}
