//! Visible records: what a snapshot sees of a memory graph.
//!
//! ```text
//! graph.at(S) ──> VisibleRecords ──> list(id) ──> VisibleList: newest of an item, between two vertices,
//!                       |                          difference, sorted
//!                       └─> rows and sum of a segment, index entries, scan in key order
//! ```
//!
//! The newest record of a key decides in this graph whether its item exists; older generations and files are asked
//! about it only if there is no record. Counts are differences to what lies below (rule D5).

use crate::format::entries::visible_entry::VisibleEntry;
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::memory_graph::arenas::Arenas;
use crate::memory_graph::graph::MemoryGraph;
use crate::memory_graph::lists::StoredList;
use crate::memory_graph::record::GraphRecord;
use crate::memory_graph::segments::StoredSegment;
use crate::memory_graph::slot::StoredRecord;
use crate::source::EntriesSize;
use evergraph_graph::id::{GroupId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::index::entry_range::{BytesBound, EntryOrder};
use std::ops::RangeInclusive;
use std::sync::Arc;

impl MemoryGraph {
    /// What a snapshot at `timestamp` sees of the graph. Cost: a load.
    #[must_use]
    #[inline]
    pub fn at(&self, timestamp: Timestamp) -> VisibleRecords<'_> {
        let first = self.first();
        let limit = first.and_then(|first| timestamp.0.checked_sub(first.0));
        VisibleRecords { graph: self, horizon: Horizon { first: first.map_or(0, |first| first.0), limit } }
    }
}

/// A record of an index in a memory graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommittedIndexRecord {
    /// The value, in bytes.
    pub value: Arc<[u8]>,
    /// The item.
    pub item: ItemId,
    /// When it was committed.
    pub timestamp: Timestamp,
    /// `Insert` if the pair entered the index, `Delete` if it left.
    pub operation: RecordOperation,
}

/// The timestamps of a graph, as its records hold them.
#[derive(Clone, Copy, Debug)]
struct Horizon {
    /// The first commit.
    first: u64,
    /// The offset of the newest commit that is visible; none if the graph is newer than the snapshot.
    limit: Option<u64>,
}

impl Horizon {
    #[inline]
    fn record<'g>(self, arenas: &'g Arenas, record: StoredRecord) -> GraphRecord<'g> {
        GraphRecord {
            item: record.item,
            timestamp: Timestamp(self.first + record.stamp.offset()),
            operation: record.stamp.operation(),
            payload: arenas.payload(record.payload),
        }
    }
}

/// A memory graph at one timestamp.
#[derive(Clone, Copy, Debug)]
pub struct VisibleRecords<'g> {
    pub(super) graph: &'g MemoryGraph,
    horizon: Horizon,
}

impl<'g> VisibleRecords<'g> {
    /// Whether the graph has lists of a group and subject, perhaps none that is visible. Cost: a look-up in a table that
    /// is small beside that of lists.
    pub(super) fn has_lists(&self, subject: Subject, group: GroupId) -> bool {
        let segment = self.horizon.limit.and_then(|_| self.graph.arenas.segment(subject, group));
        segment.is_some_and(|segment| segment.entry_count() > 0)
    }

    /// A list, if the graph has records of it; perhaps none that is visible. Cost: a look-up in a hash table.
    #[must_use]
    #[inline]
    pub fn list(&self, id: ListId) -> Option<VisibleList<'g>> {
        let limit = self.horizon.limit?;
        Some(VisibleList { list: self.graph.arenas.list(id)?, first: self.horizon.first, limit })
    }

    /// The lists of a group and subject that the graph has records of, in no order; perhaps none that is visible.
    pub fn rows(&self, subject: Subject, group: GroupId) -> impl Iterator<Item = VisibleList<'g>> + use<'g> {
        let horizon = self.horizon;
        let segment = horizon.limit.and_then(|_| self.graph.arenas.segment(subject, group));
        segment
            .into_iter()
            .flat_map(|segment| segment.lists())
            .filter_map(move |list| Some(VisibleList { list, first: horizon.first, limit: horizon.limit? }))
    }

    /// Inserts minus deletes of a group and subject. Cost: a look-up, if the segment did not change since the snapshot;
    /// else a block of each list.
    #[must_use]
    pub fn segment_difference(&self, subject: Subject, group: GroupId) -> i64 {
        let Some(limit) = self.horizon.limit else { return 0 };
        self.graph.arenas.segment(subject, group).map_or(0, |segment| segment.difference(limit))
    }

    /// Inserts minus deletes of every group and subject that the graph has records of, in the order of files: what the
    /// directory of a file holds. Cost: as [`VisibleRecords::segment_difference`] of each, and a sort.
    #[must_use]
    pub fn segment_differences(&self) -> Vec<(Subject, GroupId, i64)> {
        let Some(limit) = self.horizon.limit else { return Vec::new() };
        let segments = self.graph.arenas.sorted_segments();
        let difference =
            |segment: &StoredSegment<'_>| (segment.subject(), segment.group(), segment.difference(limit));
        segments.iter().map(difference).collect()
    }

    /// What happened last to a pair of an index: `Insert` if it entered, `Delete` if it left.
    #[must_use]
    pub fn index_entry(&self, index: Subject, value: &[u8], item: ItemId) -> Option<RecordOperation> {
        self.graph.indexes.newest(index, value, item, self.horizon.limit?)
    }

    /// Appends up to `count_max` pairs of an index that lie between two places, those excluded, from the first towards the
    /// second, each with what happened last to it. The last pair is where the next batch goes on, by `At`.
    ///
    /// Cost: a search, and a copy of the pairs.
    pub fn index_entries(
        &self,
        index: Subject,
        places: (&BytesBound<'_>, &BytesBound<'_>),
        order: EntryOrder,
        count_max: usize,
        entries: &mut Vec<VisibleEntry>,
    ) {
        if let Some(limit) = self.horizon.limit {
            self.graph.indexes.between(index, places, order, count_max, limit, entries);
        }
    }

    /// How much the graph has of an index, what is not visible included. Cost: a search.
    #[must_use]
    pub fn index_size(&self, index: Subject) -> EntriesSize {
        self.graph.indexes.size(index)
    }

    /// The indexes that the graph has records of, ascending.
    #[must_use]
    pub fn index_subjects(&self) -> Vec<Subject> {
        self.graph.indexes.subjects()
    }

    /// Appends the visible records of an index behind those of the pair `after`, or the first ones, by value, item and
    /// time, for the flush: about `count`, and all of each pair that is among them. None if there are no more.
    ///
    /// Cost: a search, and a copy of the records. Whoever changes the index waits meanwhile, so the graph should be
    /// frozen.
    pub fn index_records_after(
        &self,
        index: Subject,
        after: Option<(&[u8], ItemId)>,
        count: usize,
        records: &mut Vec<CommittedIndexRecord>,
    ) {
        let Horizon { first, limit: Some(limit) } = self.horizon else { return };
        let start = records.len();
        self.graph.indexes.visit_after(index, after, |entry| {
            let offset = entry.stamp.offset();
            if offset > limit {
                return true;
            }
            let is_same = |last: &CommittedIndexRecord| last.item == entry.item && last.value == entry.value;
            if records.len() - start >= count && !records.last().is_some_and(is_same) {
                return false;
            }
            records.push(CommittedIndexRecord {
                value: Arc::clone(&entry.value),
                item: entry.item,
                timestamp: Timestamp(first + offset),
                operation: entry.stamp.operation(),
            });
            true
        });
    }
}

/// A list at one timestamp.
#[derive(Clone, Copy, Debug)]
pub struct VisibleList<'g> {
    list: StoredList<'g>,
    first: u64,
    limit: u64,
}

impl<'g> VisibleList<'g> {
    /// Of another reader of the same graph.
    pub(super) fn of(visible: VisibleRecords<'g>, list: StoredList<'g>) -> Option<Self> {
        Some(Self { list, first: visible.horizon.first, limit: visible.horizon.limit? })
    }

    /// Which list it is.
    #[must_use]
    pub fn id(&self) -> ListId {
        self.list.id()
    }

    /// How many records the list has, visible or not: at most these are collected.
    #[must_use]
    pub fn record_count(&self) -> usize {
        self.list.count as usize
    }

    /// As [`VisibleList::newest_first`], with properties where they lie.
    pub(super) fn stored_newest_first(&self) -> impl Iterator<Item = StoredRecord> + use<'g> {
        self.list.newest_first(self.limit)
    }

    /// As [`VisibleList::between`], with properties where they lie.
    pub(super) fn stored_between(&self, neighbor: VertexId) -> impl Iterator<Item = StoredRecord> + use<'g> {
        self.list.between(neighbor, self.limit)
    }

    fn to_record(self) -> impl Fn(StoredRecord) -> GraphRecord<'g> {
        let horizon = Horizon { first: self.first, limit: Some(self.limit) };
        move |record| horizon.record(self.list.arenas, record)
    }

    /// The records in the order of commits, the newest first. Cost: a look at each block that is newer.
    pub fn newest_first(&self) -> impl Iterator<Item = GraphRecord<'g>> + use<'g> {
        self.list.newest_first(self.limit).map(self.to_record())
    }

    /// The records of one item, the newest first: the first one says whether the item exists. Cost: a look at each record
    /// of a short list; in one of more than 64 at those of the same neighbour.
    pub fn of_item(&self, item: ItemKey) -> impl Iterator<Item = GraphRecord<'g>> + use<'g> {
        self.list.of_item(item, self.limit).map(self.to_record())
    }

    /// The records of all parallel edges to one neighbour, the newest first. Cost: as [`VisibleList::of_item`].
    pub fn between(&self, neighbor: VertexId) -> impl Iterator<Item = GraphRecord<'g>> + use<'g> {
        self.list.between(neighbor, self.limit).map(self.to_record())
    }

    /// Inserts minus deletes: how much longer the list is than what lies below. Cost: one block of records at most, and a
    /// look at each that is newer.
    #[must_use]
    pub fn difference(&self) -> i64 {
        self.list.difference(self.limit)
    }

    /// Replaces `records` by those of `items`, by item, then time. Cost: a look at each record, and a sort.
    pub fn sorted(&self, items: &RangeInclusive<ItemKey>, records: &mut Vec<GraphRecord<'g>>) {
        records.clear();
        records.extend(self.newest_first().filter(|record| items.contains(&record.item)));
        records.sort_unstable_by_key(|record| (record.item, record.timestamp));
    }

    /// Replaces `records` by the first ones behind `after`, by item, then time: about `count`, and all of each item that
    /// is among them. Returns whether there are more behind the last one.
    ///
    /// Cost: a look at each record, and a sort of those that are returned. So a reader takes a hub's list piece by piece.
    pub fn sorted_after(
        &self,
        after: Option<ItemKey>,
        count: usize,
        records: &mut Vec<GraphRecord<'g>>,
    ) -> bool {
        records.clear();
        records.extend(self.newest_first().filter(|record| after.is_none_or(|after| record.item > after)));
        let has_more = records.len() > count && {
            let key = |record: &GraphRecord<'_>| (record.item, record.timestamp);
            let cut = records.select_nth_unstable_by_key(count, key).1.item;
            // Items are not torn: the one at the cut waits for the next piece, unless nothing is before it.
            let last = records[..count].iter().map(|record| record.item).filter(|item| *item < cut).max();
            let last = last.unwrap_or(cut);
            let before = records.len();
            records.retain(|record| record.item <= last);
            records.len() < before
        };
        records.sort_unstable_by_key(|record| (record.item, record.timestamp));
        has_more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::subject::EdgeSide;
    use crate::memory_graph::promises::Promises;
    use crate::memory_graph::sorted_commit::SortedCommit;
    use evergraph_graph::id::{EdgeId, TypeId};
    use evergraph_graph::mutation::Mutation;
    use evergraph_graph::properties::Properties;

    #[test]
    fn a_hub_is_read_piece_by_piece_and_no_item_is_torn() {
        let graph = MemoryGraph::open(1 << 20, &Promises::new()).unwrap();
        let edge = |target, discriminator| EdgeId {
            source: VertexId(1),
            edge_type: TypeId(0),
            target: VertexId(target),
            discriminator,
        };
        for timestamp in 1..=3000u64 {
            let target = (timestamp * 7919 % 500) as u32;
            let mutation = match timestamp / 500 % 2 {
                0 => Mutation::InsertEdge { edge: edge(target, 0), properties: Properties::EMPTY },
                _ => Mutation::DeleteEdge { edge: edge(target, 0) },
            };
            let prepared = graph.prepare(SortedCommit::new(&[mutation]).unwrap(), Vec::new()).unwrap();
            drop(graph.append(Timestamp(timestamp), prepared));
        }
        let id = ListId::edges(VertexId(1), TypeId(0), EdgeSide::Out);
        for at in [700, 3000] {
            let list = graph.at(Timestamp(at)).list(id).unwrap();
            let (mut all, mut piece, mut pieces) = (Vec::new(), Vec::new(), Vec::new());
            list.sorted(&(ItemKey::VERTEX..=ItemKey::LAST), &mut all);
            assert_eq!(all.len(), at as usize);
            for count in [1, 10, 999] {
                let mut after = None;
                pieces.clear();
                while list.sorted_after(after, count, &mut piece) {
                    after = piece.last().map(|record| record.item);
                    pieces.append(&mut piece);
                }
                pieces.append(&mut piece);
                assert_eq!(pieces, all, "{count}");
            }
        }
    }
}
