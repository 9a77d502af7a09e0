//! Disk view: storage's `View` over sources of records and the group table.
//!
//! ```text
//! groups, labels, edge types   group table, in memory
//! everything else              sources, in batches of items
//! ```
//!
//! A slice of one item becomes a question about one item, on the stack; longer ones are asked in batches, so that what
//! they hold beside the answers is bounded.
//!
//! Source: disk-engine, section 5.

use crate::file::csr_file::CsrFile;
use crate::format::subject::{EdgeSide, Subject};
use crate::format::tree_key::{ItemKey, ListId};
use crate::groups::GroupTable;
use crate::index_table::{StoredIndexState, StoredIndexes};
use crate::source::PropertyAnswer;
use crate::view::merged_records::{MergedRecords, to_count};
use crate::view::read_source::ReadSources;
use crate::view::view_sources::ViewSources;
use evergraph_graph::column::ValueSink;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::index::entry_range::EntryOrder;
use evergraph_storage::index::index_item::IndexItem;
use evergraph_storage::view::{GroupBits, IndexAnswer, IndexSize, View, runs};
use std::sync::Arc;

/// Items that sources are asked about at once.
const BATCH_ITEMS_MAX: usize = 4096;
/// Vertices of one group, on average, from which all live bits of their groups are read instead of each vertex.
const LIVE_VERTICES_MIN: usize = 64;

/// A disk engine's graph at one timestamp.
///
/// # Concurrency
/// As every view. What it reads lives as long as the view holds the sources.
#[derive(Debug)]
pub struct DiskView<'a, L = ViewSources<'a, CsrFile>> {
    groups: &'a GroupTable,
    sources: L,
    timestamp: Timestamp,
    indexes: Option<Arc<StoredIndexes>>,
}

impl<'a, L: ReadSources> DiskView<'a, L> {
    /// Reads `sources` at `timestamp`. Cost: nothing; sources are looked at when something is read.
    #[must_use]
    #[inline]
    pub const fn new(groups: &'a GroupTable, sources: L, timestamp: Timestamp) -> Self {
        Self { groups, sources, timestamp, indexes: None }
    }

    /// The same, which answers for `indexes`: the engine's as of a moment after the snapshot began, and before an index
    /// is chosen.
    #[must_use]
    #[inline]
    pub fn with_indexes(self, indexes: Arc<StoredIndexes>) -> Self {
        Self { indexes: Some(indexes), ..self }
    }

    /// Where the entries of an index lie, if the scan that it was built from is in the files.
    fn subject_of(&self, index: IndexId) -> Option<Subject> {
        let stored = self.indexes.as_ref()?.get(&index);
        stored.filter(|index| index.state != StoredIndexState::Building).map(|index| index.subject)
    }

    #[inline]
    pub(super) fn records(&self) -> MergedRecords<'_, L> {
        MergedRecords::new(&self.sources, self.timestamp)
    }

    /// Puts the property `key` of each item.
    fn put_properties<T>(
        &self,
        items: &[T],
        place: impl Fn(&T) -> (ListId, ItemKey),
        key: KeyId,
        values: &mut dyn ValueSink,
    ) -> Result<()> {
        let ask =
            |places: &[_], answers: &mut [PropertyAnswer]| self.records().property(places, key, answers);
        in_batches(items, place, ask, |_, answer| {
            values.put(value_of(answer));
            Ok(())
        })
    }

    fn property(&self, (list, item): (ListId, ItemKey), key: KeyId) -> Result<Option<Value>> {
        let mut answer = [PropertyAnswer::Undecided];
        self.records().property(&[(list, item)], key, &mut answer)?;
        let [answer] = answer;
        Ok(value_of(answer))
    }
}

/// What is undecided after all sources is not there.
#[inline]
fn value_of(answer: PropertyAnswer) -> Option<Value> {
    match answer {
        PropertyAnswer::Value(value) => Some(value),
        PropertyAnswer::Absent | PropertyAnswer::Undecided => None,
    }
}

/// Asks about all items, a batch at a time, and passes each with its answer to `take`, in order. One item allocates
/// nothing.
fn in_batches<T, P, A: Clone + Default>(
    items: &[T],
    place: impl Fn(&T) -> P,
    ask: impl Fn(&[P], &mut [A]) -> Result<()>,
    mut take: impl FnMut(&T, A) -> Result<()>,
) -> Result<()> {
    if let [item] = items {
        let mut answer = [A::default()];
        ask(&[place(item)], &mut answer)?;
        let [answer] = answer;
        return take(item, answer);
    }
    let (mut places, mut answers) = (Vec::new(), Vec::new());
    for items in items.chunks(BATCH_ITEMS_MAX) {
        places.clear();
        places.extend(items.iter().map(&place));
        answers.resize(items.len(), A::default());
        ask(&places, &mut answers)?;
        for (item, answer) in items.iter().zip(answers.drain(..)) {
            take(item, answer)?;
        }
    }
    Ok(())
}

#[inline]
const fn side_of(side: Direction) -> EdgeSide {
    match side {
        Direction::In => EdgeSide::In,
        // A side is never `Both`.
        Direction::Out | Direction::Both => EdgeSide::Out,
    }
}

#[inline]
fn key_of_vertex(vertex: &VertexId) -> (ListId, ItemKey) {
    (ListId::vertex(*vertex), ItemKey::VERTEX)
}

#[inline]
fn key_of_edge(edge: &EdgeId) -> (ListId, ItemKey) {
    (ListId::out_list(edge), ItemKey::edge(edge.target, edge.discriminator))
}

fn is_alive(live: &GroupBits, vertex: VertexId) -> bool {
    live[usize::from(vertex.row() / 64)] & 1 << (vertex.row() % 64) != 0
}

impl<L: ReadSources> View for DiskView<'_, L> {
    fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    fn group_count(&self) -> u32 {
        self.groups.count()
    }

    fn group_label(&self, group: GroupId) -> Result<Option<LabelId>> {
        Ok(self.groups.label(group))
    }

    fn edge_types(&self, group: GroupId, side: Direction) -> Result<Vec<TypeId>> {
        Ok(self.groups.edge_types(group, side))
    }

    fn live(&self, group: GroupId) -> Result<GroupBits> {
        self.records().live(group)
    }

    fn rows_with_edges(&self, group: GroupId, edge_type: TypeId, side: Direction) -> Result<GroupBits> {
        self.records().rows(Subject::edges(edge_type, side_of(side)), group)
    }

    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64> {
        self.records().group_count(Subject::edges(edge_type, EdgeSide::Out), group)
    }

    fn labels(&self, vertices: &[VertexId], labels: &mut [Option<LabelId>]) -> Result<()> {
        let same_group = |a: &VertexId, b: &VertexId| a.group() == b.group();
        if vertices.len() >= LIVE_VERTICES_MIN
            && vertices.len() / LIVE_VERTICES_MIN >= vertices.chunk_by(same_group).count()
        {
            for (vertices, labels) in runs(vertices, labels, same_group) {
                let group = vertices[0].group();
                let Some(label) = self.groups.label(group) else {
                    labels.fill(None);
                    continue;
                };
                let live = self.live(group)?;
                for (vertex, found) in vertices.iter().zip(labels) {
                    *found = is_alive(&live, *vertex).then_some(label);
                }
            }
            return Ok(());
        }
        let mut labels = labels.iter_mut();
        let ask = |places: &[_], found: &mut [_]| self.records().presence(places, found);
        in_batches(vertices, key_of_vertex, ask, |vertex, is_present: Option<bool>| {
            let found = is_present.filter(|is_present| *is_present);
            if let Some(label) = labels.next() {
                *label = found.and_then(|_| self.groups.label(vertex.group()));
            }
            Ok(())
        })
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        self.put_properties(vertices, key_of_vertex, key, values)
    }

    fn vertex_property(&self, vertex: VertexId, key: KeyId) -> Result<Option<Value>> {
        self.property(key_of_vertex(&vertex), key)
    }

    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        let (list, item) = key_of_vertex(&vertex);
        self.records().properties(list, item)
    }

    fn neighbors(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        after: Option<(VertexId, u16)>,
        limit: usize,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        let side = side_of(side);
        if !self.groups.has_edge_type(vertex.group(), side, edge_type) {
            return Ok(());
        }
        let after = after.map(|(neighbor, discriminator)| ItemKey::edge(neighbor, discriminator));
        if after.is_none() {
            self.sources.note_lists(1);
        }
        self.records().neighbors(ListId::edges(vertex, edge_type, side), after, limit, list)
    }

    fn read_ahead(&self, vertices: &[VertexId], edge_type: TypeId, side: Direction) {
        let list = |vertex: &VertexId| ListId::edges(*vertex, edge_type, side_of(side));
        self.records().read_ahead(&vertices.iter().map(list).collect::<Vec<_>>());
    }

    fn degrees(
        &self,
        vertices: &[VertexId],
        edge_type: TypeId,
        side: Direction,
        degrees: &mut [u64],
    ) -> Result<()> {
        let place = |vertex: &VertexId| ListId::edges(*vertex, edge_type, side_of(side));
        self.sources.note_lists(vertices.len());
        let mut degrees = degrees.iter_mut();
        let ask = |lists: &[_], counts: &mut [i64]| self.records().degrees(lists, counts);
        in_batches(vertices, place, ask, |vertex, count| {
            let count = to_count(count, || format!("edges of type {} of {vertex}, {side:?}", edge_type.0))?;
            if let Some(degree) = degrees.next() {
                *degree += count;
            }
            Ok(())
        })
    }

    fn has_edges(&self, edges: &[EdgeId], found: &mut [bool]) -> Result<()> {
        self.sources.note_lists(edges.len());
        let mut found = found.iter_mut();
        let ask = |places: &[_], found: &mut [_]| self.records().presence(places, found);
        in_batches(edges, key_of_edge, ask, |_, is_present: Option<bool>| {
            if let Some(found) = found.next() {
                *found = is_present == Some(true);
            }
            Ok(())
        })
    }

    fn count_edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        edge_type: TypeId,
        counts: &mut [u32],
    ) -> Result<()> {
        let place = |(source, target): &(VertexId, VertexId)| {
            (ListId::edges(*source, edge_type, EdgeSide::Out), *target)
        };
        self.sources.note_lists(pairs.len());
        let mut counts = counts.iter_mut();
        let ask = |places: &[_], found: &mut [u32]| self.records().count_between(places, found);
        in_batches(pairs, place, ask, |_, found| {
            if let Some(count) = counts.next() {
                *count = found;
            }
            Ok(())
        })
    }

    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        self.put_properties(edges, key_of_edge, key, values)
    }

    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Option<Value>> {
        self.property(key_of_edge(&edge), key)
    }

    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        let (list, item) = key_of_edge(&edge);
        self.records().properties(list, item)
    }

    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        let size = self.records().index_size(self.subject_of(index)?);
        let entries = u64::try_from(size.difference).unwrap_or(0);
        Some(IndexSize { entries, bytes: size.bytes, file_bytes: size.file_bytes })
    }

    fn candidates<I: IndexItem>(
        &self,
        index: IndexId,
        value: &Value,
        after: Option<I>,
        limit: usize,
        items: &mut Vec<I>,
    ) -> Result<IndexAnswer> {
        let Some(subject) = self.subject_of(index) else { return Ok(IndexAnswer::No) };
        self.items_of_value((subject, index.key), value, after, limit, items)
    }

    fn between<I: IndexItem>(
        &self,
        index: IndexId,
        places: (&EntryBound<I>, &EntryBound<I>),
        descending: bool,
        limit: usize,
        pairs: &mut Vec<(Value, I)>,
    ) -> Result<IndexAnswer> {
        let order = if descending { EntryOrder::Descending } else { EntryOrder::Ascending };
        let Some(subject) = self.subject_of(index) else { return Ok(IndexAnswer::No) };
        self.pairs_between((subject, index.key), places, order, limit, pairs)
    }
}
