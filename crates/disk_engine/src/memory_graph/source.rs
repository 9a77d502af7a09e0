//! Source: a memory graph as one of the sources that a view reads.
//!
//! ```text
//! items of one segment ──> does the graph have any of it? ──> items of one list ──> records of an item, newest first
//! first items of a list    one look at each record; only as many items are held as are asked for, twice
//! ```
//!
//! Records of a list lie in the order of commits, so the first items of a hub are selected, not found. Properties are
//! loaded of records that decide, and of no others.
//!
//! Source: disk-engine, section 5, rule D5.

use crate::format::entries::visible_entry::VisibleEntry;
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::memory_graph::arenas::UNLINKED_MAX;
use crate::memory_graph::slot::StoredRecord;
use crate::memory_graph::visible::{VisibleList, VisibleRecords};
use crate::source::{EntriesSize, ListedItem, PropertyAnswer, PropertyMap, RecordSource, keep_newest};
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, KeyId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_storage::index::entry_range::EntryRange;
use evergraph_storage::view::{GroupBits, runs};

/// Items of one short list that are looked for one by one, before it is worth sorting its records.
const SEARCHED_ITEMS_MAX: usize = 3;
/// Items that are gathered at least before they are sorted, so that a small limit does not sort often.
const GATHERED_ITEMS_MIN: usize = 256;

impl StoredRecord {
    #[inline]
    fn operation(&self) -> RecordOperation {
        self.stamp.operation()
    }

    #[inline]
    fn listed(&self) -> ListedItem {
        ListedItem { item: self.item, is_present: self.operation() != RecordOperation::Delete }
    }
}

impl VisibleRecords<'_> {
    #[inline]
    fn payload(&self, record: &StoredRecord) -> &Properties {
        self.graph.arenas.payload(record.payload)
    }

    /// Passes the records of each item whose answer is open, newest first, to `decide`, until it is not open any more.
    fn decide<A>(
        &self,
        items: &[(ListId, ItemKey)],
        answers: &mut [A],
        is_open: impl Fn(&A) -> bool,
        decide: impl Fn(&StoredRecord, &mut A),
    ) {
        let look = |records: &mut dyn Iterator<Item = StoredRecord>, answer: &mut A| {
            while is_open(answer) {
                let Some(record) = records.next() else { break };
                decide(&record, answer);
            }
        };
        let segment = |(list, _): &(ListId, ItemKey)| (list.subject, list.vertex.group());
        for (items, answers) in runs(items, answers, |a, b| segment(a) == segment(b)) {
            let (subject, group) = segment(&items[0]);
            // A graph mostly has edges of a group and none of its vertices; of one edge its list says as much.
            if (items.len() > 1 || subject == Subject::VERTICES) && !self.has_lists(subject, group) {
                continue;
            }
            for (items, answers) in runs(items, answers, |a, b| a.0 == b.0) {
                let Some(list) = self.list(items[0].0) else { continue };
                let is_short = list.record_count() <= UNLINKED_MAX as usize;
                if is_short && items.len() > SEARCHED_ITEMS_MAX {
                    let mut records: Vec<_> = list.stored_newest_first().collect();
                    // Stable: the records of an item stay newest first.
                    records.sort_by_key(|record| record.item);
                    for ((_, item), answer) in items.iter().zip(answers) {
                        let first = records.partition_point(|record| record.item < *item);
                        let same = |record: &&StoredRecord| record.item == *item;
                        look(&mut records[first..].iter().take_while(same).copied(), answer);
                    }
                } else {
                    for ((_, item), answer) in items.iter().zip(answers) {
                        look(&mut of_item(&list, *item), answer);
                    }
                }
            }
        }
    }
}

fn of_item(list: &VisibleList<'_>, item: ItemKey) -> impl Iterator<Item = StoredRecord> {
    list.stored_between(item.neighbor()).filter(move |record| record.item == item)
}

#[inline]
fn bit(vertex: VertexId) -> (usize, u64) {
    (usize::from(vertex.row() / 64), 1 << (vertex.row() % 64))
}

impl RecordSource for VisibleRecords<'_> {
    /// Cost: a look-up of each list; then as [`VisibleList::of_item`].
    fn presence(&self, items: &[(ListId, ItemKey)], found: &mut [Option<bool>]) -> Result<()> {
        self.decide(items, found, Option::is_none, |record, found| *found = Some(record.listed().is_present));
        Ok(())
    }

    /// Cost: as [`VisibleRecords::presence`], and the newer Sets of other properties.
    fn property(
        &self,
        items: &[(ListId, ItemKey)],
        key: KeyId,
        answers: &mut [PropertyAnswer],
    ) -> Result<()> {
        let is_open = |answer: &PropertyAnswer| matches!(answer, PropertyAnswer::Undecided);
        self.decide(items, answers, is_open, |record, answer| {
            let named = match record.operation() {
                RecordOperation::Delete => None,
                _ => self.payload(record).get(key),
            };
            *answer = match (named, record.operation()) {
                (Some(Some(value)), _) => PropertyAnswer::Value(value.clone()),
                (None, RecordOperation::Set) => PropertyAnswer::Undecided,
                _ => PropertyAnswer::Absent,
            };
        });
        Ok(())
    }

    fn property_map(&self, list: ListId, item: ItemKey, map: &mut PropertyMap) -> Result<()> {
        let Some(list) = self.list(list).filter(|_| !map.is_complete) else { return Ok(()) };
        for record in of_item(&list, item) {
            for (key, value) in self.payload(&record).as_slice() {
                map.add(*key, value.clone());
            }
            if record.operation() != RecordOperation::Set {
                map.is_complete = true;
                break;
            }
        }
        Ok(())
    }

    /// Cost: a look at each record, a sort of those of at most twice `limit` items, again for each `limit` records that
    /// belong before all that were seen; memory for twice `limit` items.
    fn list(
        &self,
        list: ListId,
        after: Option<ItemKey>,
        limit: usize,
        items: &mut Vec<ListedItem>,
    ) -> Result<bool> {
        let Some(list) = self.list(list) else { return Ok(false) };
        let start = items.len();
        let full = start.saturating_add(limit.saturating_mul(2).max(GATHERED_ITEMS_MIN));
        let end = start.saturating_add(limit);
        let (mut last, mut has_more) = (ItemKey::LAST, false);
        for record in list.stored_newest_first() {
            if after.is_some_and(|after| record.item <= after) {
                continue;
            }
            if record.item > last {
                has_more = true;
                continue;
            }
            items.push(record.listed());
            if items.len() == full {
                keep_newest(items, start);
                if items.len() >= end {
                    has_more |= items.len() > end;
                    items.truncate(end);
                    // What was seen of these items is newer than what comes, and none of them is ever dropped.
                    last = items.last().map_or(last, |listed| listed.item);
                }
            }
        }
        keep_newest(items, start);
        has_more |= items.len() > end;
        items.truncate(end);
        Ok(has_more)
    }

    fn between(&self, list: ListId, neighbor: VertexId, items: &mut Vec<ListedItem>) -> Result<()> {
        let Some(list) = self.list(list) else { return Ok(()) };
        let start = items.len();
        items.extend(list.stored_between(neighbor).map(|record| record.listed()));
        keep_newest(items, start);
        Ok(())
    }

    /// Cost: a look-up of each list, and of the segment, if several of it are asked for; then as
    /// [`VisibleList::difference`].
    fn differences(&self, lists: &[ListId], differences: &mut [i64]) -> Result<()> {
        let segment = |list: &ListId| (list.subject, list.vertex.group());
        for (lists, differences) in runs(lists, differences, |a, b| segment(a) == segment(b)) {
            let (subject, group) = segment(&lists[0]);
            if lists.len() > 1 && !self.has_lists(subject, group) {
                continue;
            }
            for (list, difference) in lists.iter().zip(differences) {
                *difference += self.list(*list).map_or(0, |list| list.difference());
            }
        }
        Ok(())
    }

    fn group_difference(&self, subject: Subject, group: GroupId) -> Result<i64> {
        Ok(self.segment_difference(subject, group))
    }

    /// Cost: a look at each vertex of the group that the graph has records of.
    fn apply_live(&self, group: GroupId, live: &mut GroupBits) -> Result<()> {
        for list in self.rows(Subject::VERTICES, group) {
            // Whatever the newest record is, the vertex is alive unless it deletes it.
            let Some(newest) = list.stored_newest_first().next() else { continue };
            let (word, bit) = bit(list.id().vertex);
            match newest.operation() {
                RecordOperation::Delete => live[word] &= !bit,
                _ => live[word] |= bit,
            }
        }
        Ok(())
    }

    /// Cost: a look at each list. Rows whose records are all newer are marked, too.
    fn mark_rows(&self, subject: Subject, group: GroupId, rows: &mut GroupBits) -> Result<()> {
        for list in self.rows(subject, group) {
            let (word, bit) = bit(list.id().vertex);
            rows[word] |= bit;
        }
        Ok(())
    }

    fn index_size(&self, index: Subject) -> EntriesSize {
        VisibleRecords::index_size(self, index)
    }

    fn index_entries(
        &self,
        index: Subject,
        range: &EntryRange<'_>,
        count_max: usize,
        entries: &mut Vec<VisibleEntry>,
    ) -> Result<()> {
        let EntryRange { from, to, order } = range;
        VisibleRecords::index_entries(self, index, (from, to), *order, count_max, entries);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::subject::EdgeSide;
    use crate::memory_graph::graph::MemoryGraph;
    use crate::memory_graph::promises::Promises;
    use crate::memory_graph::sorted_commit::SortedCommit;
    use evergraph_graph::id::{EdgeId, TypeId};
    use evergraph_graph::mutation::Mutation;
    use evergraph_graph::timestamp::Timestamp;
    use std::collections::BTreeMap;

    const LIST: ListId = ListId::edges(VertexId(1), TypeId(0), EdgeSide::Out);

    /// Toggles edges to 600 neighbours, two parallel ones each, and calls `check` with what there is from time to time.
    fn toggle(
        order: impl Fn(u32) -> u32,
        mut check: impl FnMut(&MemoryGraph, u64, &BTreeMap<ItemKey, bool>),
    ) {
        let graph = MemoryGraph::open(1 << 20, &Promises::new()).unwrap();
        let mut listed = BTreeMap::new();
        for at in 0..2600 {
            let number = order(at) % 1200;
            let (target, discriminator) = (VertexId(number / 2), (number % 2) as u16);
            let edge = EdgeId { source: VertexId(1), edge_type: TypeId(0), target, discriminator };
            let is_present = listed.entry(ItemKey::edge(target, discriminator)).or_insert(false);
            *is_present = !*is_present;
            let mutation = match *is_present {
                true => Mutation::InsertEdge { edge, properties: Properties::EMPTY },
                false => Mutation::DeleteEdge { edge },
            };
            let prepared = graph.prepare(SortedCommit::new(&[mutation]).unwrap(), Vec::new()).unwrap();
            drop(graph.append(Timestamp(u64::from(at) + 1), prepared));
            if at % 650 == 649 {
                check(&graph, u64::from(at) + 1, &listed);
            }
        }
    }

    #[test]
    fn the_first_items_of_a_hub_are_those_of_the_whole_list_in_whichever_order_they_came() {
        // In the last one, the newest come from the smallest on, and one that belongs before the limit is the oldest.
        let orders: [fn(u32) -> u32; 4] = [
            |at| at,
            |at| 5_000_399 - at,
            |at| at * 7919,
            |at| match at {
                0 => 199,
                451.. => 649_u32.abs_diff(at),
                _ => 650 - at,
            },
        ];
        for order in orders {
            let mut past = Vec::new();
            toggle(order, |graph, now, listed| {
                past.push((now, listed.clone()));
                // What is newer than the snapshot is not there.
                for (at, listed) in &past {
                    for limit in [1, 2, 100, 128, 200, 400, usize::MAX] {
                        for after in [None, Some(ItemKey::edge(VertexId(7), 0)), Some(ItemKey::LAST)] {
                            let mut items = vec![ListedItem { item: ItemKey::LAST, is_present: true }];
                            let source = graph.at(Timestamp(*at));
                            let more = RecordSource::list(&source, LIST, after, limit, &mut items).unwrap();
                            let behind =
                                listed.iter().filter(|(item, _)| after.is_none_or(|after| **item > after));
                            let behind: Vec<_> = behind.map(|(item, there)| (*item, *there)).collect();
                            let found: Vec<_> =
                                items[1..].iter().map(|listed| (listed.item, listed.is_present)).collect();
                            assert_eq!(
                                found,
                                behind[..limit.min(behind.len())],
                                "{limit} after {after:?} at {at}"
                            );
                            assert_eq!(more, limit < behind.len());
                        }
                    }
                }
            });
        }
    }

    #[test]
    fn a_whole_slice_of_a_list_says_what_its_items_say_one_by_one() {
        for count in [3, 2600] {
            toggle(
                |at| at * 7919 % count,
                |graph, now, listed| {
                    let source = graph.at(Timestamp(now));
                    let items: Vec<_> = (0..1210)
                        .map(|number| ItemKey::edge(VertexId(number / 2), (number % 2) as u16))
                        .collect();
                    let items: Vec<_> = items.into_iter().map(|item| (LIST, item)).collect();
                    let mut found = vec![None; items.len()];
                    source.presence(&items, &mut found).unwrap();
                    for (item, found) in items.iter().zip(&found) {
                        assert_eq!(*found, listed.get(&item.1).copied());
                        let mut one = [None];
                        source.presence(&[*item], &mut one).unwrap();
                        assert_eq!(one[0], *found);
                    }
                    let mut decided = vec![Some(false); items.len()];
                    source.presence(&items, &mut decided).unwrap();
                    assert!(
                        decided.iter().all(|found| *found == Some(false)),
                        "newer sources were asked first"
                    );
                },
            );
        }
    }
}
