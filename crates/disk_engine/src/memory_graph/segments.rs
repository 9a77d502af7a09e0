//! Segments: what a memory graph knows of a vertex group and one subject as a whole.
//!
//! ```text
//! (subject, group) ──> Segment { changed, members changed, inserts - deletes, entries }
//!                                                                              └─> Entry ─sibling─> Entry ...
//! (vertices, group) ─sibling─> Segment of edges ─sibling─> ...                   the subjects of the group
//! ```
//!
//! They answer whether anything of a group changed, name the rows that were touched, and order the flush: segments are
//! sorted, then the few rows of each. A chain of entries takes 4 bytes a touched row; a bitmap would take 512 a
//! segment, most of it zeros where writes are spread over many groups.
//!
//! Source: disk-engine, section 4; whole-segment timestamps are those of core-protocol, section 2.

use crate::format::subject::Subject;
use crate::format::tree_key::ListId;
use crate::memory_graph::arenas::{Arenas, Entry, NONE, Segment};
use crate::memory_graph::lists::StoredList;
use evergraph_graph::id::GroupId;
use evergraph_storage::sync::atomic::{AtomicU32, Ordering};

/// What a commit did to a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct SegmentChange {
    /// Inserts minus deletes.
    pub difference: i64,
    /// Whether there was an insert or a delete.
    pub of_members: bool,
}

/// A segment where it lies.
///
/// # Concurrency
/// The holder of the latch notes a commit after it appended the records: `changed` (Release) first, then the
/// difference (Release). A reader that loads the difference (Acquire) and then a `changed` that it sees has a
/// difference without anything newer.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredSegment<'g> {
    arenas: &'g Arenas,
    segment: &'g Segment,
}

impl<'g> StoredSegment<'g> {
    pub(super) fn subject(self) -> Subject {
        Subject::numbered(self.segment.subject.load(Ordering::Relaxed))
    }

    pub(super) fn group(self) -> GroupId {
        GroupId(self.segment.group.load(Ordering::Relaxed))
    }

    /// The offset of the newest commit here.
    pub(super) fn changed(self) -> Option<u64> {
        self.segment.changed.load(Ordering::Acquire).checked_sub(1)
    }

    /// The offset of the newest commit that inserted or deleted here.
    pub(super) fn members_changed(self) -> Option<u64> {
        self.segment.members_changed.load(Ordering::Acquire).checked_sub(1)
    }

    /// How many lists the segment has.
    pub(super) fn entry_count(self) -> u32 {
        self.segment.entry_count.load(Ordering::Relaxed)
    }

    /// The lists of the segment, in no order.
    pub(super) fn lists(self) -> impl Iterator<Item = StoredList<'g>> {
        // Acquire: the fields of the entry and of all behind it.
        let first = self.segment.entries.load(Ordering::Acquire);
        let of = |at: u32| (at != NONE).then_some(at);
        let sibling = move |at: &u32| of(self.arenas.entries.get(*at).sibling.load(Ordering::Relaxed));
        std::iter::successors(of(first), sibling).map(move |at| self.arenas.list_at(at))
    }

    /// Inserts minus deletes until `limit`. Cost: nothing if the segment did not change since, else a block of each
    /// list.
    pub(super) fn difference(self, limit: u64) -> i64 {
        let difference = self.segment.difference.load(Ordering::Acquire) as i64;
        match self.changed() {
            Some(changed) if changed > limit => self.lists().map(|list| list.difference(limit)).sum(),
            _ => difference,
        }
    }
}

impl Arenas {
    /// A segment, if any commit of the graph touched it.
    pub(super) fn segment(&self, subject: Subject, group: GroupId) -> Option<StoredSegment<'_>> {
        let at = self.find_segment(subject, group)?;
        Some(StoredSegment { arenas: self, segment: self.segments.get(at) })
    }

    fn find_segment(&self, subject: Subject, group: GroupId) -> Option<u32> {
        // Acquire: the segment's fields, and those of all segments behind it.
        let mut at = self.segment_heads.of(subject.number(), group.0).load(Ordering::Acquire);
        while at != NONE {
            let segment = self.segments.get(at);
            if segment.group.load(Ordering::Relaxed) == group.0
                && segment.subject.load(Ordering::Relaxed) == subject.number()
            {
                return Some(at);
            }
            at = segment.next.load(Ordering::Relaxed);
        }
        None
    }

    /// The segments of edges that a group has, in no order.
    pub(super) fn edge_segments(&self, group: GroupId) -> impl Iterator<Item = StoredSegment<'_>> {
        let vertices = self.find_segment(Subject::VERTICES, group);
        let sibling = |at: &u32| {
            // Acquire: the fields of the segment that was added first to the chain.
            let at = self.segments.get(*at).sibling.load(Ordering::Acquire);
            (at != NONE).then_some(at)
        };
        std::iter::successors(vertices, sibling)
            .skip(1)
            .map(|at| StoredSegment { arenas: self, segment: self.segments.get(at) })
    }

    /// Every segment that has lists, in the order of lists: by subject, then group. Cost: a look at each segment, and a
    /// sort. A walk through the hash table finds those that are published.
    pub(super) fn sorted_segments(&self) -> Vec<StoredSegment<'_>> {
        let mut found: Vec<_> = self
            .segment_heads
            .iter()
            .flat_map(|head| {
                let of = |at: u32| (at != NONE).then_some(at);
                let next = move |at: &u32| of(self.segments.get(*at).next.load(Ordering::Relaxed));
                std::iter::successors(of(head.load(Ordering::Acquire)), next)
            })
            .map(|at| StoredSegment { arenas: self, segment: self.segments.get(at) })
            .filter(|segment| segment.segment.entries.load(Ordering::Acquire) != NONE)
            .collect();
        found.sort_unstable_by_key(|segment| (segment.subject(), segment.group()));
        found
    }

    /// The index of a segment, which is made if need be, as is that of the group's vertices. Under the latch.
    pub(super) fn segment_or_new(&self, subject: Subject, group: GroupId) -> u32 {
        if let Some(at) = self.find_segment(subject, group) {
            return at;
        }
        let at = self.segments.take(1);
        let segment = self.segments.get(at);
        segment.subject.store(subject.number(), Ordering::Relaxed);
        segment.group.store(group.0, Ordering::Relaxed);
        if subject != Subject::VERTICES {
            let first = &self.segments.get(self.segment_or_new(Subject::VERTICES, group)).sibling;
            publish(&segment.sibling, first, at);
        }
        publish(&segment.next, self.segment_heads.of(subject.number(), group.0), at);
        at
    }

    /// The entry of a list, which is added to its segment if need be. Under the latch.
    pub(super) fn entry_or_new(&self, segment: u32, id: ListId) -> u32 {
        self.find_entry(id).unwrap_or_else(|| {
            let at = self.add_entry(id);
            let entry: &Entry = self.entries.get(at);
            let segment = self.segments.get(segment);
            publish(&entry.sibling, &segment.entries, at);
            let count = segment.entry_count.load(Ordering::Relaxed);
            segment.entry_count.store(count + 1, Ordering::Relaxed);
            at
        })
    }

    /// Notes a commit in a segment, after its records. Under the latch.
    pub(super) fn note_change(&self, segment: u32, offset: u64, change: SegmentChange) {
        let segment = self.segments.get(segment);
        segment.changed.store(offset + 1, Ordering::Release);
        if change.of_members {
            segment.members_changed.store(offset + 1, Ordering::Release);
        }
        let before = segment.difference.load(Ordering::Relaxed) as i64;
        segment.difference.store((before + change.difference) as u64, Ordering::Release);
    }
}

/// Puts the element `at` first in the chain that begins at `head`, and publishes what was stored in it (Release).
fn publish(next: &AtomicU32, head: &AtomicU32, at: u32) {
    next.store(head.load(Ordering::Relaxed), Ordering::Relaxed);
    head.store(at, Ordering::Release);
}
