//! Mapped view: reads the mapped engine at one timestamp.
//!
//! A read resolves: group, segment, version for the timestamp, body, hub if the row is one, for as many items as lie
//! together; then the body in place, and the few records on top of each.

use crate::index_table::{StoredIndexState, StoredIndexes};
use crate::version::ALL_KEYS;
use crate::view::layer::Layer;
use crate::view::source::{SegmentSource, VERTICES, edges, type_and_side};
use crate::view::{list, values};
use evergraph_graph::column::ValueSink;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::index::entry_range::EntryOrder;
use evergraph_storage::index::index_item::IndexItem;
use evergraph_storage::record::{Operation, RecordKey};
use evergraph_storage::view::{GroupBits, IndexAnswer, IndexSize, View, runs};
use std::ops::ControlFlow;

/// The graph as a snapshot sees it.
#[derive(Clone, Copy, Debug)]
pub struct MappedView<'a> {
    source: &'a dyn SegmentSource,
    timestamp: Timestamp,
    indexes: Option<&'a StoredIndexes>,
}

impl<'a> MappedView<'a> {
    /// Reads `source` at `timestamp`, for as long as the caller keeps what that needs.
    #[must_use]
    pub fn new(source: &'a dyn SegmentSource, timestamp: Timestamp) -> Self {
        Self { source, timestamp, indexes: None }
    }

    /// The same, which answers for `indexes`: those that there were when the snapshot began.
    #[must_use]
    #[inline]
    pub fn with_indexes(self, indexes: &'a StoredIndexes) -> Self {
        Self { indexes: Some(indexes), ..self }
    }

    /// The number of an index that it answers for.
    pub(super) fn index_number(&self, index: IndexId) -> Option<u32> {
        let stored = self.indexes?.get(&index)?;
        let answers = match stored.state {
            StoredIndexState::Building => false,
            StoredIndexState::Filled => true,
            // The names that a snapshot has may be ahead of it.
            StoredIndexState::Ready(since) => since.visible_at(self.timestamp),
        };
        answers.then_some(stored.number)
    }

    /// Where segments are found.
    #[must_use]
    pub(crate) fn source(&self) -> &'a dyn SegmentSource {
        self.source
    }

    fn vertices(&self, group: GroupId) -> Result<Option<Layer<'a>>> {
        self.source.layer(group, VERTICES, self.timestamp)
    }

    fn segment(&self, group: GroupId, edge_type: TypeId, side: Direction) -> Result<Option<Layer<'a>>> {
        self.source.layer(group, edges(edge_type, side), self.timestamp)
    }

    /// The layer that has the edges of `row`: this one, or its hub's.
    fn with_row(&self, layer: Layer<'a>, row: u16) -> Result<Layer<'a>> {
        Ok(self.source.hub(&layer, row, self.timestamp)?.unwrap_or(layer))
    }

    /// The layer that has the edges of `vertex`.
    fn edges(&self, vertex: VertexId, edge_type: TypeId, side: Direction) -> Result<Option<Layer<'a>>> {
        let layer = self.segment(vertex.group(), edge_type, side)?;
        layer.map(|layer| self.with_row(layer, vertex.row())).transpose()
    }

    /// Calls `read` with each run of `items` that ask about lists of one layer, that layer and their answers. Items
    /// without a segment keep the answers that they have.
    fn for_each_layer<T, A>(
        &self,
        side: Direction,
        items: &[T],
        answers: &mut [A],
        list_of: impl Fn(&T) -> (VertexId, TypeId),
        mut read: impl FnMut(&Layer<'_>, &[T], &mut [A]) -> Result<()>,
    ) -> Result<()> {
        let segment_of = |item: &T| {
            let (vertex, edge_type) = list_of(item);
            (vertex.group(), edge_type)
        };
        for (items, answers) in runs(items, answers, |a, b| segment_of(a) == segment_of(b)) {
            let (group, edge_type) = segment_of(&items[0]);
            let Some(layer) = self.segment(group, edge_type, side)? else { continue };
            if layer.hubs().is_none() {
                read(&layer, items, answers)?;
                continue;
            }
            for (items, answers) in runs(items, answers, |a, b| list_of(a) == list_of(b)) {
                let row = list_of(&items[0]).0.row();
                read(&self.with_row(layer.clone(), row)?, items, answers)?;
            }
        }
        Ok(())
    }
}

impl View for MappedView<'_> {
    #[inline]
    fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    fn group_count(&self) -> u32 {
        self.source.group_count()
    }

    fn group_label(&self, group: GroupId) -> Result<Option<LabelId>> {
        self.source.label(group)
    }

    fn edge_types(&self, group: GroupId, side: Direction) -> Result<Vec<TypeId>> {
        let subjects = self.source.subjects(group)?.into_iter().filter_map(type_and_side);
        Ok(subjects.filter(|subject| subject.1 == side).map(|subject| subject.0).collect())
    }

    fn live(&self, group: GroupId) -> Result<GroupBits> {
        let mut live = [0; 64];
        let Some(layer) = self.vertices(group)? else { return Ok(live) };
        live.copy_from_slice(layer.body().vertices()?.live());
        for (key, stamp) in layer.stamps(&ALL_KEYS)? {
            let (word, bit) = (usize::from(key.row()) / 64 % 64, 1 << (key.row() % 64));
            match stamp.operation() {
                Operation::Delete => live[word] &= !bit,
                Operation::Insert | Operation::Replace | Operation::Set => live[word] |= bit,
            }
        }
        Ok(live)
    }

    fn rows_with_edges(&self, group: GroupId, edge_type: TypeId, side: Direction) -> Result<GroupBits> {
        let mut rows = [0; 64];
        let Some(layer) = self.segment(group, edge_type, side)? else { return Ok(rows) };
        let mut mark = |row: u16| rows[usize::from(row) / 64 % 64] |= 1 << (row % 64);
        layer.body().edges()?.for_each_row(|row, _| mark(row));
        layer.stamps(&ALL_KEYS)?.iter().for_each(|(key, _)| mark(key.row()));
        self.source.hub_rows(&layer)?.into_iter().for_each(mark);
        Ok(rows)
    }

    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64> {
        let Some(layer) = self.segment(group, edge_type, Direction::Out)? else { return Ok(0) };
        let count = |layer: &Layer<'_>| layer.count(&ALL_KEYS, layer.body().edges()?.edges_count());
        let mut sum = count(&layer)?;
        for row in self.source.hub_rows(&layer)? {
            sum += count(&self.with_row(layer.clone(), row)?)?;
        }
        Ok(sum)
    }

    fn labels(&self, vertices: &[VertexId], labels: &mut [Option<LabelId>]) -> Result<()> {
        for (vertices, labels) in runs(vertices, labels, |a, b| a.group() == b.group()) {
            let group = vertices[0].group();
            labels.fill(None);
            let Some(layer) = self.vertices(group)? else { continue };
            let of_group = self.source.label(group)?;
            let body = layer.body().vertices()?;
            for (vertex, label) in vertices.iter().zip(labels) {
                let row = vertex.row();
                let is_alive = layer.is_there(RecordKey::vertex(row), || Ok(body.is_alive(row)))?;
                *label = of_group.filter(|_| is_alive);
            }
        }
        Ok(())
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        for vertices in vertices.chunk_by(|a, b| a.group() == b.group()) {
            match self.vertices(vertices[0].group())? {
                None => values.put_stored(None, 0..vertices.len()),
                Some(layer) => values::of_vertices(&layer, vertices, key, values)?,
            }
        }
        Ok(())
    }

    fn vertex_property(&self, vertex: VertexId, key: KeyId) -> Result<Option<Value>> {
        let layer = self.vertices(vertex.group())?;
        layer.map_or(Ok(None), |layer| values::of_vertex(&layer, vertex, key))
    }

    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        let Some(layer) = self.vertices(vertex.group())? else { return Ok(Vec::new()) };
        let row = vertex.row();
        let all = list::properties(&layer, RecordKey::vertex(row), || Ok(Some(usize::from(row))))?;
        Ok(all.unwrap_or_default())
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
        let Some(layer) = self.edges(vertex, edge_type, side)? else { return Ok(()) };
        let end = list.len().saturating_add(limit);
        let mut push = |neighbor, discriminator| {
            if list.len() == end {
                return ControlFlow::Break(());
            }
            list.push((VertexId(neighbor), discriminator));
            ControlFlow::Continue(())
        };
        let row = vertex.row();
        let after = after.map(|(neighbor, discriminator)| RecordKey::edge(row, neighbor.0, discriminator));
        // Whether the list or the limit ended it, the caller sees how many there are.
        list::for_each_edge(&layer, row, after, &mut push).map(|_| ())
    }

    fn degrees(
        &self,
        vertices: &[VertexId],
        edge_type: TypeId,
        side: Direction,
        degrees: &mut [u64],
    ) -> Result<()> {
        let list_of = |vertex: &VertexId| (*vertex, edge_type);
        self.for_each_layer(side, vertices, degrees, list_of, |layer, vertices, degrees| {
            for (vertex, degree) in vertices.iter().zip(degrees) {
                *degree += list::degree(layer, vertex.row())?;
            }
            Ok(())
        })
    }

    fn has_edges(&self, edges: &[EdgeId], found: &mut [bool]) -> Result<()> {
        found.fill(false);
        let list_of = |edge: &EdgeId| (edge.source, edge.edge_type);
        self.for_each_layer(Direction::Out, edges, found, list_of, |layer, edges, found| {
            let keys = || edges.iter().map(RecordKey::of_edge);
            let lists = layer.body().edges()?;
            let in_body = if edges.len() > 1 { lists.contains_each(keys()) } else { Vec::new() };
            for (at, (key, found)) in keys().zip(found).enumerate() {
                let stored = || Ok(in_body.get(at).copied().unwrap_or_else(|| lists.find(key).is_some()));
                *found = layer.is_there(key, stored)?;
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
        counts.fill(0);
        let list_of = |(source, _): &(VertexId, VertexId)| (*source, edge_type);
        self.for_each_layer(Direction::Out, pairs, counts, list_of, |layer, pairs, counts| {
            for ((source, target), count) in pairs.iter().zip(counts) {
                *count = list::parallel_count(layer, source.row(), target.0)?;
            }
            Ok(())
        })
    }

    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        let segment_of = |edge: &EdgeId| (edge.source.group(), edge.edge_type);
        for edges in edges.chunk_by(|a, b| segment_of(a) == segment_of(b)) {
            let (group, edge_type) = segment_of(&edges[0]);
            match self.segment(group, edge_type, Direction::Out)? {
                None => values.put_stored(None, 0..edges.len()),
                Some(layer) if layer.hubs().is_none() => values::of_edges(&layer, edges, key, values)?,
                Some(layer) => {
                    for of_row in edges.chunk_by(|a, b| a.source == b.source) {
                        let layer = self.with_row(layer.clone(), of_row[0].source.row())?;
                        values::of_edges(&layer, of_row, key, values)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Option<Value>> {
        let layer = self.edges(edge.source, edge.edge_type, Direction::Out)?;
        layer.map_or(Ok(None), |layer| values::of_edge(&layer, RecordKey::of_edge(&edge), key))
    }

    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        let Some(layer) = self.edges(edge.source, edge.edge_type, Direction::Out)? else {
            return Ok(Vec::new());
        };
        let record = RecordKey::of_edge(&edge);
        let all = list::properties(&layer, record, || Ok(layer.body().edges()?.find(record)))?;
        Ok(all.unwrap_or_default())
    }

    fn answers_for(&self, index: IndexId) -> bool {
        self.index_number(index).is_some()
    }

    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        self.size_of_index(index)
    }

    fn candidates<I: IndexItem>(
        &self,
        index: IndexId,
        value: &Value,
        after: Option<I>,
        limit: usize,
        items: &mut Vec<I>,
    ) -> Result<IndexAnswer> {
        self.index_candidates(index, value, after, limit, items)
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
        self.index_pairs(index, places, order, limit, pairs)
    }
}
