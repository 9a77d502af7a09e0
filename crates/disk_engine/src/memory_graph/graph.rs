//! Memory graph: the newest commits, in memory, until they are flushed.
//!
//! ```text
//! prepare ──> PreparedCommit { sorted records, promise }     ahead of the latch
//! append  ──> lists, segments, payloads, index entries       under it; then W is stored
//! at(S)   ──> VisibleRecords                                 any thread, at any time
//! freeze  ──> nothing is appended any more; the flush scans it
//! ```
//!
//! A commit of more than 128 Ki records is no guest in an open graph: it becomes a graph of its own ahead of the
//! latch, and gets its timestamp there. That is why the records of a graph hold their distance from its first commit.
//!
//! Source: LSMGraph (SIGMOD 2024), sections 3 and 4.1, MemGraph. Differs: exact stamped records in place of edges with
//! delete markers, one writer and no vertex locks.

use crate::memory_graph::arenas::{Arenas, Room};
use crate::memory_graph::index_entries::{IndexEntries, IndexRecord, bytes_of};
use crate::memory_graph::lists::{ListRoom, exact_room, list_room};
use crate::memory_graph::promises::{Promise, Promises};
use crate::memory_graph::reserved_memory::ReservedMemory;
use crate::memory_graph::segments::SegmentChange;
use crate::memory_graph::sorted_commit::{CommitList, SortedCommit};
use evergraph_graph::budget::Budget;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// A commit with memory for all that it appends. Dropped without being appended, it gives that back.
#[derive(Debug)]
pub struct PreparedCommit {
    commit: SortedCommit,
    /// Of each list.
    rooms: Vec<ListRoom>,
    index_records: Vec<IndexRecord>,
    /// Bytes of property values on the heap.
    values_bytes: u64,
    promise: Promise,
}

/// Room for one commit.
#[derive(Debug)]
pub(crate) struct PromisedRoom {
    /// Of each list.
    rooms: Vec<ListRoom>,
    promise: Promise,
}

impl PromisedRoom {
    /// The commit with its room, which was promised for it.
    pub(crate) fn filled(self, commit: SortedCommit, mut index_records: Vec<IndexRecord>) -> PreparedCommit {
        let Self { rooms, promise } = self;
        index_records.sort_unstable_by(|a, b| a.subject.cmp(&b.subject).then_with(|| a.value.cmp(&b.value)));
        let values_bytes = commit.payloads().0;
        PreparedCommit { commit, rooms, index_records, values_bytes, promise }
    }
}

/// What is left of a commit that was appended: dropped after the latch.
#[derive(Debug)]
pub struct AppendedCommit {
    _commit: SortedCommit,
    _rooms: Vec<ListRoom>,
    _promise: Promise,
}

/// Bytes of a memory graph, by what takes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryGraphSize {
    /// Hash tables and chunks of lists, records and segments; chunks count when they are allocated.
    pub chunk_bytes: u64,
    /// Property values on the heap.
    pub value_bytes: u64,
    /// Records of indexes, about.
    pub index_bytes: u64,
}

impl MemoryGraphSize {
    /// All of it.
    #[must_use]
    pub const fn total_bytes(&self) -> u64 {
        self.chunk_bytes + self.value_bytes + self.index_bytes
    }
}

/// The records of consecutive commits, by list.
///
/// # Concurrency
/// One thread at a time, the holder of the commit latch, calls [`MemoryGraph::append`], [`MemoryGraph::freeze`] and
/// [`MemoryGraph::set_timestamp`]; `append` only writes elements that were allocated before, and waits for nobody but
/// readers of the index part that it changes. Any thread reads and prepares at any time; readers of lists take no
/// lock. What a snapshot at S sees was appended before its commit was published, so it is complete; what is appended
/// meanwhile is newer than S, and its offset says so.
#[derive(Debug)]
pub struct MemoryGraph {
    pub(super) arenas: Arc<Arenas>,
    pub(super) indexes: IndexEntries,
    promises: Arc<Promises>,
    capacity_bytes: u64,
    /// The timestamp of the first commit, 0 before it. Stored (Release) under the latch before its records, or behind them
    /// in the graph of one commit; loaded (Acquire) by readers, to whom 0 says that they see nothing.
    first: AtomicU64,
    /// The timestamp of the newest commit. Stored (Release) under the latch after its records, loaded (Acquire) by
    /// conflict checks under the latch, and by the flush.
    last: AtomicU64,
    /// Bytes of property values. Relaxed: exact for the holder of the latch, who alone adds to it; a size to others.
    value_bytes: AtomicU64,
    memory: ReservedMemory,
}

impl MemoryGraph {
    /// An empty graph that is full at `capacity_bytes`, with memory for what `promises` promised. All graphs of one engine
    /// share their promises. Cost: an allocation of an eighth of the capacity, which takes memory as it is used.
    ///
    /// # Errors
    /// `limit` if writers were promised more than a graph of this capacity holds.
    pub fn open(capacity_bytes: u64, promises: &Arc<Promises>) -> Result<Self> {
        let graph = Self::new(Arenas::with_capacity(capacity_bytes), capacity_bytes, promises);
        promises.open(&graph.arenas)?;
        Ok(graph)
    }

    /// The graph of one large commit, frozen. It has no timestamp, and nobody sees it, until
    /// [`MemoryGraph::set_timestamp`]. Cost: as appending, and exactly as much memory as the commit takes.
    ///
    /// # Errors
    /// None, unless the commit has more than 2^32 records.
    pub fn of_commit(commit: SortedCommit, index_records: Vec<IndexRecord>) -> Result<Self> {
        let measure = |list: &CommitList| exact_room(list.id, list.records.len() as u32);
        let rooms: Vec<_> = commit.lists.iter().map(measure).collect();
        let room = room_of(&commit, &rooms);
        let graph = Self::new(Arenas::with_room(room), 0, &Promises::new());
        graph.promises.open(&graph.arenas)?;
        let promise = graph.promises.promise(room, 0)?;
        let values_bytes = commit.payloads().0;
        drop(graph.install(PreparedCommit { commit, rooms, index_records, values_bytes, promise }, 0));
        graph.arenas.freeze();
        Ok(graph)
    }

    fn new(arenas: Arenas, capacity_bytes: u64, promises: &Arc<Promises>) -> Self {
        Self {
            arenas: Arc::new(arenas),
            indexes: IndexEntries::default(),
            promises: Arc::clone(promises),
            capacity_bytes,
            first: AtomicU64::new(0),
            last: AtomicU64::new(0),
            value_bytes: AtomicU64::new(0),
            memory: ReservedMemory::default(),
        }
    }

    /// Reserves memory for a commit, in this graph and in any that follows it with the same promises. Cost: a look-up of
    /// each list, and at most an allocation for what is not there yet.
    ///
    /// # Errors
    /// `limit` if that is more than a graph holds, beside what other writers were promised.
    pub fn prepare(&self, commit: SortedCommit, index_records: Vec<IndexRecord>) -> Result<PreparedCommit> {
        let room = self.promise(&commit, &index_records)?;
        Ok(room.filled(commit, index_records))
    }

    /// The first half of [`MemoryGraph::prepare`]: the room alone.
    ///
    /// # Errors
    /// As [`MemoryGraph::prepare`].
    pub(crate) fn promise(
        &self,
        commit: &SortedCommit,
        index_records: &[IndexRecord],
    ) -> Result<PromisedRoom> {
        let measure =
            |list: &CommitList| list_room(list.id, self.arenas.list(list.id), list.records.len() as u32);
        let rooms: Vec<_> = commit.lists.iter().map(measure).collect();
        let promise = self.promises.promise(room_of(commit, &rooms), heap_bytes_of(commit, index_records))?;
        Ok(PromisedRoom { rooms, promise })
    }

    /// Appends a commit, newer than all before it. Under the latch, before it is published. The graph need not be the
    /// one that prepared it, if both have the same promises. Cost: 100 to 500 ns a record, mostly cache misses.
    ///
    /// # Panics
    /// If the graph is frozen or has other promises, or `timestamp` is not newer.
    pub fn append(&self, timestamp: Timestamp, prepared: PreparedCommit) -> AppendedCommit {
        assert!(!self.arenas.is_frozen(), "a frozen graph takes no commits");
        assert!(prepared.promise.is_of(&self.promises), "a commit goes where it was promised room");
        assert!(self.last.load(Ordering::Relaxed) < timestamp.0, "commits come in the order of time");
        if self.first.load(Ordering::Relaxed) == 0 {
            self.first.store(timestamp.0, Ordering::Release);
        }
        let offset = timestamp.0 - self.first.load(Ordering::Relaxed);
        let appended = self.install(prepared, offset);
        self.last.store(timestamp.0, Ordering::Release);
        appended
    }

    /// Gives the graph of one commit its timestamp. Under the latch, before the commit is published.
    ///
    /// # Panics
    /// If it has one.
    pub fn set_timestamp(&self, timestamp: Timestamp) {
        assert!(
            self.arenas.is_frozen() && self.last().is_none(),
            "the graph of one commit gets its time once"
        );
        self.last.store(timestamp.0, Ordering::Release);
        self.first.store(timestamp.0, Ordering::Release);
    }

    fn install(&self, prepared: PreparedCommit, offset: u64) -> AppendedCommit {
        let PreparedCommit { mut commit, rooms, index_records, values_bytes, promise } = prepared;
        let SortedCommit { records, lists, .. } = &mut commit;
        let mut rooms_left = rooms.iter();
        for lists in lists.chunk_by(|a, b| a.segment() == b.segment()) {
            let (subject, group) = lists[0].segment();
            let segment = self.arenas.segment_or_new(subject, group);
            let mut change = SegmentChange::default();
            for (list, room) in lists.iter().zip(rooms_left.by_ref()) {
                let records = &mut records[list.records.clone()];
                change.of_members |= records.iter().any(|record| record.operation.difference() != 0);
                let entry = self.arenas.entry_or_new(segment, list.id);
                change.difference += self.arenas.append_records(entry, records, offset, *room);
            }
            self.arenas.note_change(segment, offset, change);
        }
        self.indexes.append(index_records, offset);
        self.value_bytes.fetch_add(values_bytes, Ordering::Relaxed);
        AppendedCommit { _commit: commit, _rooms: rooms, _promise: promise }
    }

    /// Ends appending, in O(1). Under the latch.
    pub fn freeze(&self) {
        self.arenas.freeze();
    }

    /// Whether nothing is appended any more.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.arenas.is_frozen()
    }

    /// The timestamp of the first commit, if there is one.
    #[must_use]
    pub fn first(&self) -> Option<Timestamp> {
        let first = self.first.load(Ordering::Acquire);
        (first > 0).then_some(Timestamp(first))
    }

    /// The timestamp of the newest commit, if there is one.
    #[must_use]
    pub fn last(&self) -> Option<Timestamp> {
        let last = self.last.load(Ordering::Acquire);
        (last > 0).then_some(Timestamp(last))
    }

    /// What the graph takes. Cost: a few loads.
    #[must_use]
    pub fn size(&self) -> MemoryGraphSize {
        MemoryGraphSize {
            chunk_bytes: self.arenas.bytes(),
            value_bytes: self.value_bytes.load(Ordering::Relaxed),
            index_bytes: self.indexes.bytes(),
        }
    }

    /// Reserves what the graph takes now from `budget`, until it is dropped. Ahead of the latch. Cost: as
    /// [`MemoryGraph::size`]; now and then a reservation of a thirty-second of the capacity.
    ///
    /// # Errors
    /// `limit`: the graph is as it was, and takes more than is reserved.
    pub fn reserve(&self, budget: &dyn Budget) -> Result<()> {
        self.memory.reserve(budget, self.size().total_bytes(), self.capacity_bytes / 32)
    }

    /// The same, and what commits bring that were promised room: for the graph that they are most likely to reach.
    ///
    /// # Errors
    /// As [`MemoryGraph::reserve`].
    pub(crate) fn reserve_with_promised(&self, budget: &dyn Budget) -> Result<()> {
        let bytes = self.size().total_bytes() + self.promises.heap_bytes();
        self.memory.reserve(budget, bytes, self.capacity_bytes / 32)
    }

    /// Reserves what the graph takes now, beyond the limit if it does not fit.
    pub(crate) fn reserve_anyway(&self, budget: &MemoryBudget) {
        self.memory.reserve_anyway(budget, self.size().total_bytes());
    }

    /// Whether the graph is to be frozen. It takes what was promised all the same.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.size().total_bytes() >= self.capacity_bytes
    }
}

/// What a commit brings beside its room in the arrays: values, and entries of indexes, about.
pub(crate) fn heap_bytes_of(commit: &SortedCommit, index_records: &[IndexRecord]) -> u64 {
    commit.payloads().0 + bytes_of(index_records)
}

/// What a commit takes of each array at most, with the segments that it may make.
fn room_of(commit: &SortedCommit, rooms: &[ListRoom]) -> Room {
    Room {
        entries: commit.lists.len() as u64,
        slots: rooms.iter().map(|room| u64::from(room.slots)).sum(),
        links: rooms.iter().map(|room| u64::from(room.links)).sum(),
        // That of the group's vertices begins the chain of its edges', and is made with the first of them.
        segments: 2 * commit.segments().count() as u64,
        payloads: commit.payloads().1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::subject::EdgeSide;
    use crate::format::tree_key::ListId;
    use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
    use evergraph_graph::mutation::Mutation;
    use evergraph_graph::properties::Properties;
    use evergraph_graph::value::Value;

    fn commit(edges: impl Iterator<Item = (u32, u32)>, properties: &Properties) -> SortedCommit {
        let edge = |(source, target)| EdgeId {
            source: VertexId(source),
            edge_type: TypeId(0),
            target: VertexId(target),
            discriminator: 0,
        };
        let insert = |ends| Mutation::InsertEdge { edge: edge(ends), properties: properties.clone() };
        SortedCommit::new(&edges.map(insert).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_graph_is_full_when_its_chunks_values_and_index_entries_take_its_capacity() {
        let graph = MemoryGraph::open(1 << 21, &Promises::new()).unwrap();
        let text = Properties::new(vec![(KeyId(0), Some(Value::from("x".repeat(1000).as_str())))]);
        let mut timestamp = 0;
        while !graph.is_full() {
            timestamp += 1;
            let ends = (timestamp as u32 * 3, timestamp as u32 * 7);
            let prepared = graph.prepare(commit(std::iter::once(ends), &text), Vec::new()).unwrap();
            drop(graph.append(Timestamp(timestamp), prepared));
        }
        let size = graph.size();
        assert!((700..2000).contains(&timestamp), "full after {timestamp} commits: {size:?}");
        assert!(size.value_bytes > 1000 * timestamp && size.index_bytes == 0);
        assert_eq!((graph.first(), graph.last()), (Some(Timestamp(1)), Some(Timestamp(timestamp))));
    }

    #[test]
    fn a_commit_that_is_dropped_unused_leaves_no_trace() {
        let graph = MemoryGraph::open(1 << 21, &Promises::new()).unwrap();
        let prepare = || graph.prepare(commit((0..5000).map(|at| (at, at)), &Properties::EMPTY), Vec::new());
        drop(prepare().unwrap());
        let size = graph.size();
        (0..10).for_each(|_| drop(prepare().unwrap()));
        assert_eq!(graph.size(), size, "the second one uses what the first one gave back");
        assert_eq!((graph.first(), graph.last()), (None, None));
        assert!(graph.at(Timestamp::MAX).scan(..).next_list().is_none());
    }

    #[test]
    fn the_graph_of_one_commit_is_as_large_as_the_commit_and_appears_with_its_timestamp() {
        let commit = commit((0..200_000).map(|at| (at % 1000, at)), &Properties::EMPTY);
        assert!(commit.is_large());
        let records = commit.len() as u64;
        let graph = MemoryGraph::of_commit(commit, Vec::new()).unwrap();
        let each = graph.size().total_bytes() / records;
        assert!(each < 72, "{each} bytes a record");
        let hub = ListId::edges(VertexId(7), TypeId(0), EdgeSide::Out);
        let degree = |at| graph.at(Timestamp(at)).list(hub).map(|list| list.difference());
        assert_eq!(degree(u64::MAX), None);
        graph.set_timestamp(Timestamp(77));
        assert_eq!((degree(76), degree(77)), (None, Some(200)));
        assert!(graph.is_frozen() && graph.first() == graph.last());
    }

    #[test]
    #[should_panic(expected = "a frozen graph takes no commits")]
    fn a_frozen_graph_takes_no_commits() {
        let graph = MemoryGraph::open(1 << 16, &Promises::new()).unwrap();
        let prepared = graph.prepare(SortedCommit::default(), Vec::new()).unwrap();
        graph.freeze();
        drop(graph.append(Timestamp(1), prepared));
    }
}
