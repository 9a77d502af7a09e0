//! View: reads the memory engine at one timestamp.
//!
//! A read resolves: group (two loads), segment, layer for the timestamp, hub if the row is one, for as many items
//! as lie together; then body and the few records on top of each. Nothing here fails: all is in memory.

use crate::group::{Group, GroupTable};
use crate::segment::version::{Layer, Segment};
use crate::{list, values};
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::net::{Effect, changed, effect_of, nets};
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::column::{Column, ValueSink};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::look_up::OrderedMatches;
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::record::RecordKey;
use evergraph_storage::view::{GroupBits, View, runs};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The memory engine as a snapshot sees it.
#[derive(Debug)]
pub struct MemoryView<'a> {
    groups: &'a GroupTable,
    timestamp: Timestamp,
}

impl<'a> MemoryView<'a> {
    /// Reads `groups` at `timestamp`, which the caller has registered.
    pub(super) fn new(groups: &'a GroupTable, timestamp: Timestamp) -> Self {
        Self { groups, timestamp }
    }

    #[inline]
    pub(super) fn group(&self, group: GroupId) -> Option<&'a Arc<Group>> {
        self.groups.get(group)
    }

    fn segment(&self, group: GroupId, edge_type: TypeId, side: Direction) -> Option<Arc<Segment<EdgeBody>>> {
        self.group(group)?.edge_segment(EdgeSubject::new(edge_type, side))
    }

    /// Calls `read` with the layer that has the edges of `vertex`.
    fn edges<T>(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        read: impl FnOnce(&Layer<EdgeBody>) -> T,
    ) -> Option<T> {
        let segment = self.segment(vertex.group(), edge_type, side)?;
        let version = segment.load();
        let layer = version.layer_at(self.timestamp);
        Some(match layer.hub(vertex.row()) {
            Some(hub) => read(hub.load().layer_at(self.timestamp)),
            None => read(layer),
        })
    }

    /// Calls `read` with each run of `items` that ask about lists of one layer, that layer and their answers. Items
    /// without a segment keep the answers that they have.
    fn for_each_layer<T, A>(
        &self,
        side: Direction,
        items: &[T],
        answers: &mut [A],
        list_of: impl Fn(&T) -> (VertexId, TypeId),
        mut read: impl FnMut(&Layer<EdgeBody>, &[T], &mut [A]),
    ) {
        let segment_of = |item: &T| {
            let (vertex, edge_type) = list_of(item);
            (vertex.group(), edge_type)
        };
        for (items, answers) in runs(items, answers, |a, b| segment_of(a) == segment_of(b)) {
            let (group, edge_type) = segment_of(&items[0]);
            let Some(group) = self.group(group) else { continue };
            group.with_edge_segment(EdgeSubject::new(edge_type, side), |segment| {
                let version = segment.load();
                let layer = version.layer_at(self.timestamp);
                if layer.hubs.is_empty() {
                    return read(layer, items, answers);
                }
                for (items, answers) in runs(items, answers, |a, b| list_of(a) == list_of(b)) {
                    match layer.hub(list_of(&items[0]).0.row()) {
                        Some(hub) => read(hub.load().layer_at(self.timestamp), items, answers),
                        None => read(layer, items, answers),
                    }
                }
            });
        }
    }

    fn vertex_effect<T>(
        &self,
        vertex: VertexId,
        read: impl FnOnce(Option<Effect>, &VertexBody) -> T,
    ) -> Option<T> {
        let version = self.group(vertex.group())?.vertices.load();
        let layer = version.layer_at(self.timestamp);
        let records = layer.newest_first(RecordKey::vertex(vertex.row()), self.timestamp);
        Some(read(effect_of(records), &layer.body))
    }
}

impl View for MemoryView<'_> {
    #[inline]
    fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    #[inline]
    fn group_count(&self) -> u32 {
        self.groups.end()
    }

    #[inline]
    fn group_label(&self, group: GroupId) -> Result<Option<LabelId>> {
        Ok(self.group(group).map(|group| group.label))
    }

    #[inline]
    fn edge_types(&self, group: GroupId, side: Direction) -> Result<Vec<TypeId>> {
        Ok(self.groups.edge_types(group, side))
    }

    fn live(&self, group: GroupId) -> Result<GroupBits> {
        let Some(group) = self.group(group) else { return Ok([0; 64]) };
        let version = group.vertices.load();
        let layer = version.layer_at(self.timestamp);
        let mut live = *layer.body.live();
        for net in nets(layer.all_records(self.timestamp).into_iter()) {
            let (word, bit) = (usize::from(net.key.row()) / 64, 1 << (net.key.row() % 64));
            match net.effect {
                Effect::Absent => live[word] &= !bit,
                Effect::Present(_) => live[word] |= bit,
                Effect::Changed(_) => {}
            }
        }
        Ok(live)
    }

    fn rows_with_edges(&self, group: GroupId, edge_type: TypeId, side: Direction) -> Result<GroupBits> {
        let mut rows = [0; 64];
        if let Some(segment) = self.segment(group, edge_type, side) {
            list::mark_rows(segment.load().layer_at(self.timestamp), &mut rows);
        }
        Ok(rows)
    }

    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64> {
        let Some(segment) = self.segment(group, edge_type, Direction::Out) else { return Ok(0) };
        let version = segment.load();
        let layer = version.layer_at(self.timestamp);
        let hubs = layer
            .hubs
            .iter()
            .map(|hub| list::edge_count(hub.segment.load().layer_at(self.timestamp), self.timestamp));
        Ok(list::edge_count(layer, self.timestamp) + hubs.sum::<u64>())
    }

    fn labels(&self, vertices: &[VertexId], labels: &mut [Option<LabelId>]) -> Result<()> {
        for (vertices, labels) in runs(vertices, labels, |a, b| a.group() == b.group() && a < b) {
            let Some(group) = self.group(vertices[0].group()) else {
                labels.fill(None);
                continue;
            };
            let version = group.vertices.load();
            let layer = version.layer_at(self.timestamp);
            let key = |vertex: &VertexId| RecordKey::vertex(vertex.row());
            let stored = |at: usize| layer.body.is_alive(vertices[at].row());
            let label = |is_there: bool| is_there.then_some(group.label);
            layer.are_there(vertices, key, self.timestamp, stored, label, labels);
        }
        Ok(())
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        for vertices in vertices.chunk_by(|a, b| a.group() == b.group()) {
            let Some(group) = self.group(vertices[0].group()) else {
                values.put_stored(None, 0..vertices.len());
                continue;
            };
            let version = group.vertices.load();
            let layer = version.layer_at(self.timestamp);
            values::of_vertices(layer, vertices, key, self.timestamp, values);
        }
        Ok(())
    }

    fn vertex_property(&self, vertex: VertexId, key: KeyId) -> Result<Option<Value>> {
        let Some(group) = self.group(vertex.group()) else { return Ok(None) };
        let version = group.vertices.load();
        Ok(values::of_vertex(version.layer_at(self.timestamp), vertex, key, self.timestamp))
    }

    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        let all = self.vertex_effect(vertex, |effect, body| match effect {
            None => body.property_map(vertex.row()),
            Some(Effect::Absent) => Vec::new(),
            Some(Effect::Present(all)) => changed(Vec::new(), all.as_slice()),
            Some(Effect::Changed(changes)) => changed(body.property_map(vertex.row()), changes.as_slice()),
        });
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
        let end = list.len().saturating_add(limit);
        let mut push = |neighbor, discriminator| {
            if list.len() == end {
                return ControlFlow::Break(());
            }
            list.push((VertexId(neighbor), discriminator));
            ControlFlow::Continue(())
        };
        let after =
            after.map(|(neighbor, discriminator)| RecordKey::edge(vertex.row(), neighbor.0, discriminator));
        // Whether the list or the limit ended it, the caller sees how many there are.
        let _ = self.edges(vertex, edge_type, side, |layer| {
            list::for_each_edge(layer, vertex.row(), self.timestamp, after, &mut push)
        });
        Ok(())
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
                *degree += list::degree(layer, vertex.row(), self.timestamp);
            }
        });
        Ok(())
    }

    fn newest(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<bool> {
        let mut ordered = true;
        self.edges(asked.source, asked.edge_type, Direction::Out, |layer| {
            ordered = list::append_newest(layer, asked, after, self.timestamp, limit, ranked);
        });
        Ok(ordered)
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
        let mut ordered = true;
        self.edges(asked.source, asked.edge_type, Direction::Out, |layer| {
            let before = ranked.items.len();
            let records = layer.records(&RecordKey::whole_row(asked.source.row()), self.timestamp);
            if !records.is_empty() {
                ordered = list::append_newest_of(&layer.body, &records, asked, after, limit, ranked);
                let edges = &ranked.items[before..];
                for (key, column) in keys.iter().zip(columns) {
                    values::of_list(&layer.body, &records, edges, *key, column);
                }
                return;
            }
            let Some(places) = list::append_newest_stored(&layer.body, asked, after, limit, ranked) else {
                ordered = false;
                return;
            };
            for (key, column) in keys.iter().zip(columns) {
                let stored = layer.body.column(*key).map(AsRef::as_ref);
                places.iter().for_each(|at| column.put_stored(stored, *at..*at + 1));
            }
        });
        Ok(ordered)
    }

    fn has_edges(&self, edges: &[EdgeId], found: &mut [bool]) -> Result<()> {
        found.fill(false);
        let list_of = |edge: &EdgeId| (edge.source, edge.edge_type);
        self.for_each_layer(Direction::Out, edges, found, list_of, |layer, edges, found| {
            for (edges, found) in runs(edges, found, |a, b| a < b) {
                let keys = edges.iter().map(RecordKey::of_edge);
                let in_body =
                    if edges.len() > 1 { layer.body.lists().contains_each(keys) } else { Vec::new() };
                let find = |at: usize| layer.body.find(RecordKey::of_edge(&edges[at])).is_some();
                let stored = |at: usize| in_body.get(at).copied().unwrap_or_else(|| find(at));
                layer.are_there(
                    edges,
                    RecordKey::of_edge,
                    self.timestamp,
                    stored,
                    |is_there| is_there,
                    found,
                );
            }
        });
        Ok(())
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
                *count = list::parallel_count(layer, source.row(), target.0, self.timestamp);
            }
        });
        Ok(())
    }

    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        let segment_of = |edge: &EdgeId| (edge.source.group(), edge.edge_type);
        for edges in edges.chunk_by(|a, b| segment_of(a) == segment_of(b)) {
            let (group, edge_type) = segment_of(&edges[0]);
            match self.segment(group, edge_type, Direction::Out) {
                None => values.put_stored(None, 0..edges.len()),
                Some(segment) => {
                    let version = segment.load();
                    let layer = version.layer_at(self.timestamp);
                    values::of_edges(layer, edges, key, self.timestamp, values);
                }
            }
        }
        Ok(())
    }

    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Option<Value>> {
        let record = RecordKey::of_edge(&edge);
        let read = |layer: &Layer<EdgeBody>| list::property(layer, record, key, self.timestamp);
        Ok(self.edges(edge.source, edge.edge_type, Direction::Out, read).flatten())
    }

    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        let read =
            |layer: &Layer<EdgeBody>| list::properties(layer, RecordKey::of_edge(&edge), self.timestamp);
        Ok(self.edges(edge.source, edge.edge_type, Direction::Out, read).flatten().unwrap_or_default())
    }
}
