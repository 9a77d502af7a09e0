//! `RemoteView`: a graph whose partitions other nodes keep, as readers and transactions see any engine's.
//!
//! ```text
//! READ                            ASKED
//! groups and their labels         nobody: every node knows them
//! vertices, their lists, degrees  the partition of the vertex
//! edges, their properties, order  the partition of the source
//! rows of a group, edge types     the partition of the group, and those of the next groups of a scan
//! an index                        every partition, or the one where the value may be; merged in order
//! ```
//!
//! A partition that the reader's own node keeps is not asked but read ([`crate::remote::partition_view`]).
//!
//! Own writes, watched reads, look-ups and Gremlin stand above it unchanged. Holders check what their indexes say, so that
//! look-ups are exact here; a holder whose index does not serve the snapshot scans instead. Of the newest edges of a vertex the
//! holder knows the order, by its lists, by an index or by sorting, so that nobody sorts here.

use crate::planted::{Bug, planted};
use crate::remote::announcement::ANNOUNCED_LIST_ENTRIES;
use crate::remote::entry_merge::{EntryQuestion, merge_entries};
use crate::remote::item_form::ListEntry;
use crate::remote::item_reads::{
    CountsRead, DegreesRead, EdgeMapsRead, EdgeValuesRead, EdgesRead, ItemQuestion as _, LabelsRead,
    ListsRead, VertexMapsRead, VertexValuesRead,
};
use crate::remote::kept_answers::map_page;
use crate::remote::partition_view::PartitionView;
use crate::remote::remote_snapshot::RemoteSnapshot;
use crate::remote::view_answer::{AnswerPage, GroupFacts, NewestPage, ViewAnswer};
use crate::remote::view_asking::{check_progress, nothing_answered};
use crate::remote::view_question::ViewQuestion;
use evergraph_graph::column::{Column, ValueSink};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, PartitionId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::look_up::{OrderedMatches, ValueRange};
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::travel::Travels;
use evergraph_graph::value::Value;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::index::index_item::IndexItem;
use evergraph_storage::view::{GroupBits, IndexAnswer, IndexSize, View};
use std::sync::Arc;

/// Entries of a list that are asked for at once.
const LIST_PAGE_ENTRIES: usize = 1 << 18;
/// Newest edges that are asked for at once.
const NEWEST_PAGE_EDGES: usize = 1 << 12;

/// A remote snapshot, as the view of an engine. Made for each call of a reader; what was read stays in the snapshot.
#[derive(Clone, Copy, Debug)]
pub struct RemoteView<'a> {
    snapshot: &'a RemoteSnapshot,
}

impl<'a> RemoteView<'a> {
    /// Reads `snapshot`.
    #[must_use]
    pub fn new(snapshot: &'a RemoteSnapshot) -> Self {
        Self { snapshot }
    }

    fn facts(&self, group: GroupId) -> Result<Arc<GroupFacts>> {
        self.snapshot.check_begun()?;
        if self.snapshot.map().group_label(group).is_none() {
            return Ok(Arc::default());
        }
        self.snapshot.facts(group)
    }

    fn merged<Q: EntryQuestion>(
        &self,
        asked: &Q,
        partitions: Vec<PartitionId>,
        limit: usize,
    ) -> Result<Vec<Q::Entry>> {
        merge_entries(asked, partitions.into_iter(), limit, |questions| {
            let answered = self.snapshot.ask(questions)?.into_iter();
            Ok(answered.map(|(_, answer)| answer).collect())
        })
    }

    /// Appends newest edges behind `after`, and their properties.
    fn append_newest(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
        (keys, columns): (&[KeyId], &mut [Column]),
    ) -> Result<()> {
        let partition = self.snapshot.partition_of(asked.source.group());
        // Its direction doesn't count.
        let asked = asked.clone().within(ValueRange { descending: false, ..asked.range.clone() });
        let (mut after, mut left) = (after.cloned(), limit);
        while left > 0 {
            let question = ViewQuestion::Newest {
                asked: asked.clone(),
                after: after.clone(),
                limit: left.min(NEWEST_PAGE_EDGES) as u32,
                keys: keys.to_vec(),
            };
            let NewestPage { edges: AnswerPage { entries, is_last }, columns: values } =
                self.snapshot.ask_one(partition, question)?.into_newest();
            if entries.is_empty() && !is_last {
                return Err(nothing_answered(partition));
            }
            check_progress(partition, after.as_ref(), &entries, |one, other| one > other)?;
            left -= entries.len();
            let before = ranked.items.len();
            after = entries.last().cloned();
            for (value, edge) in entries {
                ranked.values.push(value);
                ranked.items.push(edge);
            }
            match values {
                Some(values) => {
                    for (column, values) in columns.iter_mut().zip(values) {
                        values.into_iter().for_each(|value| column.push(value));
                    }
                }
                None => {
                    for (key, column) in keys.iter().zip(&mut *columns) {
                        self.edge_properties(&ranked.items[before..], *key, column)?;
                    }
                }
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }
}

impl View for RemoteView<'_> {
    fn timestamp(&self) -> Timestamp {
        self.snapshot.timestamp()
    }

    fn group_count(&self) -> u32 {
        self.snapshot.map().group_count()
    }

    fn group_label(&self, group: GroupId) -> Result<Option<LabelId>> {
        self.snapshot.check_begun()?;
        Ok(self.snapshot.map().group_label(group))
    }

    fn edge_types(&self, group: GroupId, side: Direction) -> Result<Vec<TypeId>> {
        if let Some(types) = self.snapshot.read_own(group, |own| own.edge_types(group, side)) {
            return Ok(types);
        }
        Ok(self.facts(group)?.types(side))
    }

    fn live(&self, group: GroupId) -> Result<GroupBits> {
        self.snapshot.check_begun()?;
        let Some(label) = self.snapshot.map().group_label(group) else { return Ok([0; 64]) };
        self.snapshot.rows(group, label)
    }

    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64> {
        if let Some(count) = self.snapshot.read_own(group, |own| own.group_edge_count(group, edge_type)) {
            return Ok(count);
        }
        let facts = self.facts(group)?;
        let found = facts.out.iter().find(|(of, _)| *of == edge_type);
        Ok(found.map_or(0, |(_, count)| *count))
    }

    fn labels(&self, vertices: &[VertexId], labels: &mut [Option<LabelId>]) -> Result<()> {
        labels.copy_from_slice(&self.snapshot.read(&LabelsRead, vertices)?);
        Ok(())
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        let found = self.snapshot.read(&VertexValuesRead(key), vertices)?;
        found.into_iter().for_each(|value| values.put(value));
        Ok(())
    }

    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        if let Some(map) = self.snapshot.read_own(vertex.group(), |own| own.vertex_property_map(vertex)) {
            return Ok(map);
        }
        if let Some(map) =
            self.snapshot.known(&VertexMapsRead, &[vertex], |kept| kept.vertex_maps.get(&vertex))
        {
            return Ok(map.to_vec());
        }
        let question = |after| ViewQuestion::VertexMaps { vertices: vec![vertex], after };
        let map = self.snapshot.read_map(self.snapshot.partition_of(vertex.group()), question)?;
        self.snapshot.keep(&question(None), map_page(&map));
        Ok(map)
    }

    fn neighbors(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        mut after: Option<ListEntry>,
        limit: usize,
        list: &mut Vec<ListEntry>,
    ) -> Result<()> {
        let (begin, end) = (list.len(), list.len().saturating_add(limit));
        let read = |own: &dyn PartitionView| own.neighbors(vertex, (edge_type, side), after, limit, list);
        if self.snapshot.read_own(vertex.group(), read).is_some() {
            return Ok(());
        }
        list.truncate(begin);
        let beginning =
            ListsRead { edge_type, side, limit: limit.min(ANNOUNCED_LIST_ENTRIES as usize) as u32 };
        // Whoever goes on in the middle of a list has no use for its beginning.
        let begins: &[VertexId] = if after.is_none() { &[vertex] } else { &[] };
        let known =
            self.snapshot.known(&beginning, begins, |kept| kept.lists.get(&(vertex, edge_type, side)));
        if let Some(page) = known {
            let start = page.entries.partition_point(|entry| after.is_some_and(|after| *entry <= after));
            list.extend(page.entries[start..].iter().take(limit));
            if page.is_last {
                return Ok(());
            }
            after = after.max(page.entries.last().copied());
        }
        let partition = self.snapshot.partition_of(vertex.group());
        while list.len() < end {
            let limit = (end - list.len()).min(LIST_PAGE_ENTRIES) as u32;
            let question = ViewQuestion::Lists { vertices: vec![vertex], edge_type, side, after, limit };
            let answer = self.snapshot.ask_one(partition, question.clone())?;
            let page = answer.into_lists().pop().ok_or_else(|| nothing_answered(partition))?;
            if page.entries.is_empty() && !page.is_last {
                return Err(nothing_answered(partition));
            }
            check_progress(partition, after.as_ref(), &page.entries, |one, other| one < other)?;
            list.extend(&page.entries);
            let is_last = page.is_last;
            after = match page.entries[..] {
                [.., before, _] if planted(Bug::PageRepeated) => Some(before),
                [.., last] => Some(last),
                [] => after,
            };
            if page.entries.len() <= ANNOUNCED_LIST_ENTRIES as usize {
                // Kept if it is the beginning of the list.
                self.snapshot.keep(&question, ViewAnswer::Lists(vec![page]));
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// Even where the reader's node keeps all partitions: one may be behind.
    fn is_remote(&self) -> bool {
        true
    }

    fn heeds_ahead(&self) -> bool {
        self.snapshot.heeds_ahead()
    }

    /// Asks nothing yet: see [`NextReads`].
    fn read_ahead(&self, vertices: &[VertexId], edge_type: TypeId, side: Direction) {
        if self.heeds_ahead() {
            self.snapshot.announce_lists(vertices, edge_type, side);
        }
    }

    fn ahead(&self, next: NextReads<'_>) {
        if self.heeds_ahead() {
            self.snapshot.announce_next(next);
        }
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        self.snapshot.travels()
    }

    fn degrees(
        &self,
        vertices: &[VertexId],
        edge_type: TypeId,
        side: Direction,
        degrees: &mut [u64],
    ) -> Result<()> {
        let found = self.snapshot.read(&DegreesRead { edge_type, side }, vertices)?;
        for (degree, found) in degrees.iter_mut().zip(found) {
            // What came from elsewhere must not make the sum of a reader overflow.
            *degree = degree.checked_add(found).ok_or_else(too_many_edges)?;
        }
        Ok(())
    }

    fn newest(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<bool> {
        self.append_newest(asked, after, limit, ranked, (&[], &mut []))?;
        Ok(true)
    }

    fn newest_with_properties(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
        keys: &[KeyId],
        columns: &mut [Column],
    ) -> Result<bool> {
        self.append_newest(asked, after, limit, ranked, (keys, columns))?;
        Ok(true)
    }

    fn has_edges(&self, edges: &[EdgeId], found: &mut [bool]) -> Result<()> {
        found.copy_from_slice(&self.snapshot.read(&EdgesRead, edges)?);
        Ok(())
    }

    fn count_edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        edge_type: TypeId,
        counts: &mut [u32],
    ) -> Result<()> {
        counts.copy_from_slice(&self.snapshot.read(&CountsRead(edge_type), pairs)?);
        Ok(())
    }

    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        let found = self.snapshot.read(&EdgeValuesRead(key), edges)?;
        found.into_iter().for_each(|value| values.put(value));
        Ok(())
    }

    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        if let Some(map) =
            self.snapshot.read_own(EdgeMapsRead.group(&edge), |own| own.edge_property_map(edge))
        {
            return Ok(map);
        }
        if let Some(map) = self.snapshot.known(&EdgeMapsRead, &[edge], |kept| kept.edge_maps.get(&edge)) {
            return Ok(map.to_vec());
        }
        let question = |after| ViewQuestion::EdgeMaps { edges: vec![edge], after };
        let map = self.snapshot.read_map(self.snapshot.partition_of(EdgeMapsRead.group(&edge)), question)?;
        self.snapshot.keep(&question(None), map_page(&map));
        Ok(map)
    }

    /// Asks all partitions, once.
    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        // Without an answer nobody knows how large it is: a planner takes it for small.
        self.snapshot.index_sizes()?.get(&index).copied()
    }

    fn candidates<I: IndexItem>(
        &self,
        index: IndexId,
        value: &Value,
        after: Option<I>,
        limit: usize,
        items: &mut Vec<I>,
    ) -> Result<IndexAnswer> {
        let (mut after, mut left) = (after.map(I::item_id), limit);
        let begins = after.is_none();
        let known = self.snapshot.items_of_value(index, value);
        if let Some(page) = &known {
            let start = page.entries.partition_point(|item| after.is_some_and(|after| *item <= after));
            let found = &page.entries[start..];
            append_items(&found[..found.len().min(left)], items)?;
            left -= found.len().min(left);
            if page.is_last || left == 0 {
                return Ok(IndexAnswer::Exact);
            }
            after = after.max(page.entries.last().copied());
        }
        let asked = ItemsOfValue { index, value, after };
        let found = self.merged(&asked, self.snapshot.partitions_of(index, value), left)?;
        append_items(&found, items)?;
        if begins && known.is_none() {
            let is_last = found.len() < left;
            self.snapshot.keep_items_of_value(index, value, AnswerPage { entries: found, is_last });
        }
        Ok(IndexAnswer::Exact)
    }

    fn between<I: IndexItem>(
        &self,
        index: IndexId,
        (after, until): (&EntryBound<I>, &EntryBound<I>),
        descending: bool,
        limit: usize,
        pairs: &mut Vec<(Value, I)>,
    ) -> Result<IndexAnswer> {
        let asked = PairsBetween { index, after: bound_of(after), until: bound_of(until), descending };
        let found = self.merged(&asked, self.snapshot.partitions().collect(), limit)?;
        for (value, item) in found {
            pairs.push((value, I::from_item_id(item).ok_or_else(|| of_another_kind(item))?));
        }
        Ok(IndexAnswer::Exact)
    }
}

fn append_items<I: IndexItem>(found: &[ItemId], items: &mut Vec<I>) -> Result<()> {
    for item in found {
        items.push(I::from_item_id(*item).ok_or_else(|| of_another_kind(*item))?);
    }
    Ok(())
}

/// What indexes have under a value.
struct ItemsOfValue<'a> {
    index: IndexId,
    value: &'a Value,
    after: Option<ItemId>,
}

impl EntryQuestion for ItemsOfValue<'_> {
    type Entry = ItemId;

    fn question(&self, after: Option<&ItemId>, limit: u32) -> ViewQuestion {
        let after = after.copied().or(self.after);
        ViewQuestion::ItemsOfValue { index: self.index, value: self.value.clone(), after, limit }
    }

    fn page(&self, answer: ViewAnswer) -> AnswerPage<ItemId> {
        answer.into_items()
    }

    fn is_behind_start(&self, entry: &ItemId) -> bool {
        self.after.is_none_or(|after| after < *entry)
    }

    fn comes_before(&self, one: &ItemId, other: &ItemId) -> bool {
        one < other
    }
}

/// What ordered indexes have between two places.
struct PairsBetween {
    index: IndexId,
    after: EntryBound<ItemId>,
    until: EntryBound<ItemId>,
    descending: bool,
}

impl EntryQuestion for PairsBetween {
    type Entry = (Value, ItemId);

    fn question(&self, after: Option<&(Value, ItemId)>, limit: u32) -> ViewQuestion {
        let after = match after {
            Some((value, item)) => EntryBound::At(value.clone(), Some(*item)),
            None => self.after.clone(),
        };
        let (index, until, descending) = (self.index, self.until.clone(), self.descending);
        ViewQuestion::PairsBetween { index, after, until, descending, limit }
    }

    fn page(&self, answer: ViewAnswer) -> AnswerPage<(Value, ItemId)> {
        answer.into_pairs()
    }

    fn is_behind_start(&self, (value, item): &(Value, ItemId)) -> bool {
        let start = self.after.cmp_entry(value, *item);
        if self.descending { start.is_gt() } else { start.is_lt() }
    }

    fn comes_before(&self, one: &(Value, ItemId), other: &(Value, ItemId)) -> bool {
        if self.descending { one > other } else { one < other }
    }
}

fn bound_of<I: IndexItem>(bound: &EntryBound<I>) -> EntryBound<ItemId> {
    match bound {
        EntryBound::Start => EntryBound::Start,
        EntryBound::Before(value) => EntryBound::Before(value.clone()),
        EntryBound::At(value, item) => EntryBound::At(value.clone(), item.map(I::item_id)),
        EntryBound::After(value) => EntryBound::After(value.clone()),
        EntryBound::End => EntryBound::End,
    }
}

#[cold]
fn of_another_kind(item: ItemId) -> Error {
    Error::new(ErrorKind::Io, format!("an index was asked, and {item:?} is of another kind than it is on"))
}

#[cold]
fn too_many_edges() -> Error {
    Error::new(ErrorKind::Io, "partitions were asked, and no vertex has as many edges as they say")
}
