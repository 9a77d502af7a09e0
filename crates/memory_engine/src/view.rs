//! View: reads the memory engine at one timestamp.
//!
//! A point read resolves: group (two loads), segment, layer for the timestamp, hub if the row is
//! one; then body and the few records on top. Nothing here fails: all is in memory.

use crate::group::{EdgeSubject, Group, GroupTable};
use crate::segment::edge_body::EdgeBody;
use crate::segment::net::{Effect, effect_of, nets};
use crate::segment::record::{RecordKey, is_there};
use crate::segment::version::{Layer, Segment};
use crate::{list, values};
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::look_up::Ranked;
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::engine::{GroupBits, View};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The memory engine as a snapshot sees it.
#[derive(Debug)]
pub struct MemoryView<'a> {
    groups: &'a GroupTable,
    timestamp: Timestamp,
}

fn out_key(edge: EdgeId) -> RecordKey {
    RecordKey::edge(edge.source.row(), edge.target.0, edge.discriminator)
}

/// Whether the out sides of two edges lie in one segment, or in hubs of one.
fn in_one_segment(a: &EdgeId, b: &EdgeId) -> bool {
    (a.source.group(), a.edge_type) == (b.source.group(), b.edge_type)
}

impl<'a> MemoryView<'a> {
    /// Reads `groups` at `timestamp`, which the caller has registered.
    pub(super) fn new(groups: &'a GroupTable, timestamp: Timestamp) -> Self {
        Self { groups, timestamp }
    }

    fn group(&self, group: GroupId) -> Option<&'a Arc<Group>> {
        self.groups.get(group)
    }

    /// The segment of an edge's out side.
    fn out_segment(&self, edge: &EdgeId) -> Option<Arc<Segment<EdgeBody>>> {
        self.group(edge.source.group())?.edge_segment(EdgeSubject::new(edge.edge_type, Direction::Out))
    }

    /// Calls `read` with the layer that has the edges of `vertex`.
    fn edges<T>(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        read: impl FnOnce(&Layer<EdgeBody>) -> T,
    ) -> Option<T> {
        let segment = self.group(vertex.group())?.edge_segment(EdgeSubject::new(edge_type, side))?;
        let version = segment.load();
        let layer = version.layer_at(self.timestamp);
        Some(match layer.hub(vertex.row()) {
            Some(hub) => read(hub.load().layer_at(self.timestamp)),
            None => read(layer),
        })
    }

    fn vertex_effect<T>(
        &self,
        vertex: VertexId,
        read: impl FnOnce(Option<Effect>, &crate::segment::vertex_body::VertexBody) -> T,
    ) -> Option<T> {
        let version = self.group(vertex.group())?.vertices.load();
        let layer = version.layer_at(self.timestamp);
        let records = layer.newest_first(RecordKey::vertex(vertex.row()), self.timestamp);
        Some(read(effect_of(records), &layer.body))
    }
}

impl View for MemoryView<'_> {
    fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    fn group_count(&self) -> u32 {
        self.groups.end()
    }

    fn group_label(&self, group: GroupId) -> Option<LabelId> {
        Some(self.group(group)?.label)
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

    fn is_alive(&self, vertex: VertexId) -> Result<bool> {
        let Some(group) = self.group(vertex.group()) else { return Ok(false) };
        let version = group.vertices.load();
        let layer = version.layer_at(self.timestamp);
        let mut last = [None];
        layer.last_operations(&[RecordKey::vertex(vertex.row())], self.timestamp, &mut last);
        Ok(is_there(last[0], || layer.body.is_alive(vertex.row())))
    }

    fn are_alive(&self, vertices: &[VertexId], alive: &mut Vec<bool>) -> Result<()> {
        let (mut keys, mut last) = (Vec::new(), Vec::new());
        for vertices in vertices.chunk_by(|a, b| a.group() == b.group()) {
            let Some(group) = self.group(vertices[0].group()) else {
                alive.resize(alive.len() + vertices.len(), false);
                continue;
            };
            let version = group.vertices.load();
            let layer = version.layer_at(self.timestamp);
            keys.clear();
            keys.extend(vertices.iter().map(|vertex| RecordKey::vertex(vertex.row())));
            last.clear();
            last.resize(keys.len(), None);
            layer.last_operations(&keys, self.timestamp, &mut last);
            let last = vertices.iter().zip(&last);
            alive.extend(last.map(|(vertex, last)| is_there(*last, || layer.body.is_alive(vertex.row()))));
        }
        Ok(())
    }

    fn vertex_property(&self, vertex: VertexId, key: KeyId) -> Result<Option<Value>> {
        let Some(group) = self.group(vertex.group()) else { return Ok(None) };
        let version = group.vertices.load();
        Ok(values::of_vertex(version.layer_at(self.timestamp), vertex, key, self.timestamp))
    }

    fn vertex_column(&self, vertices: &[VertexId], key: KeyId, column: &mut Column) -> Result<()> {
        for vertices in vertices.chunk_by(|a, b| a.group() == b.group()) {
            let Some(group) = self.group(vertices[0].group()) else {
                column.extend(None, 0..vertices.len());
                continue;
            };
            let version = group.vertices.load();
            let layer = version.layer_at(self.timestamp);
            values::of_vertices(layer, vertices, key, self.timestamp, column);
        }
        Ok(())
    }

    fn vertex_properties(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        let all = self.vertex_effect(vertex, |effect, body| match effect {
            None => body.properties(vertex.row()).collect(),
            Some(Effect::Absent) => Vec::new(),
            Some(Effect::Present(all)) => list::changed(Vec::new(), all.as_slice()),
            Some(Effect::Changed(changes)) => {
                list::changed(body.properties(vertex.row()).collect(), changes.as_slice())
            }
        });
        Ok(all.unwrap_or_default())
    }

    fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId> {
        self.groups.edge_types(group, side)
    }

    fn rows_with_edges(&self, group: GroupId, edge_type: TypeId, side: Direction) -> Result<GroupBits> {
        let mut rows = [0; 64];
        let subject = EdgeSubject::new(edge_type, side);
        if let Some(segment) = self.group(group).and_then(|group| group.edge_segment(subject)) {
            list::mark_rows(segment.load().layer_at(self.timestamp), &mut rows);
        }
        Ok(rows)
    }

    fn neighbors(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        self.neighbors_after(vertex, edge_type, side, None, usize::MAX, list)
    }

    fn neighbors_after(
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

    fn newest(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut Ranked<EdgeId>,
    ) -> Result<bool> {
        let mut ordered = true;
        self.edges(asked.source, asked.edge_type, Direction::Out, |layer| {
            ordered = list::append_newest(layer, asked, after, self.timestamp, limit, ranked);
        });
        Ok(ordered)
    }

    fn degree(&self, vertex: VertexId, edge_type: TypeId, side: Direction) -> Result<u64> {
        let degree = |layer: &Layer<EdgeBody>| list::degree(layer, vertex.row(), self.timestamp);
        Ok(self.edges(vertex, edge_type, side, degree).unwrap_or(0))
    }

    fn has_edge(&self, edge: EdgeId) -> Result<bool> {
        let found = |layer: &Layer<EdgeBody>| list::has_edge(layer, out_key(edge), self.timestamp);
        Ok(self.edges(edge.source, edge.edge_type, Direction::Out, found).unwrap_or(false))
    }

    fn has_edges(&self, edges: &[EdgeId], found: &mut Vec<bool>) -> Result<()> {
        let mut keys = Vec::new();
        for edges in edges.chunk_by(in_one_segment) {
            let Some(segment) = self.out_segment(&edges[0]) else {
                found.resize(found.len() + edges.len(), false);
                continue;
            };
            keys.clear();
            keys.extend(edges.iter().map(|edge| out_key(*edge)));
            let version = segment.load();
            let layer = version.layer_at(self.timestamp);
            if layer.hubs.is_empty() {
                list::has_edges(layer, &keys, self.timestamp, found);
                continue;
            }
            for keys in keys.chunk_by(|a, b| a.row() == b.row()) {
                match layer.hub(keys[0].row()) {
                    Some(hub) => {
                        list::has_edges(hub.load().layer_at(self.timestamp), keys, self.timestamp, found);
                    }
                    None => list::has_edges(layer, keys, self.timestamp, found),
                }
            }
        }
        Ok(())
    }

    fn edges_between(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        discriminators: &mut Vec<u16>,
    ) -> Result<()> {
        self.edges(source, edge_type, Direction::Out, |layer| {
            let body = &layer.body;
            let stored = body.parallel(source.row(), target.0).map(|at| body.discriminator(at));
            let records = layer.records(&RecordKey::parallel(source.row(), target.0), self.timestamp);
            let first = discriminators.len();
            discriminators.extend(stored);
            for net in nets(records.into_iter()) {
                let named = net.key.discriminator();
                let at = discriminators[first..].iter().position(|found| *found == named);
                match (at, net.effect) {
                    (Some(at), Effect::Absent) => {
                        discriminators.remove(first + at);
                    }
                    (None, Effect::Present(_) | Effect::Changed(_)) => discriminators.push(named),
                    _ => {}
                }
            }
            discriminators[first..].sort_unstable();
        });
        Ok(())
    }

    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        let subject = EdgeSubject::new(edge_type, Direction::Out);
        let Some(segment) = self.group(source.group()).and_then(|group| group.edge_segment(subject)) else {
            return Ok(());
        };
        // The present, not the snapshot's layer: what was deleted before is free unless a record
        // tells of it, and records stay findable as long as a writer may ask. One version: a row that
        // becomes a hub meanwhile is in it still, or its hub is.
        let version = segment.load_full();
        let version = match version.layer.hub(source.row()) {
            Some(hub) => hub.load_full(),
            None => version,
        };
        let keys = RecordKey::parallel(source.row(), target.0);
        let body = &version.layer.body;
        taken.extend(body.parallel(source.row(), target.0).map(|at| body.discriminator(at)));
        let records = version.layer.run.range(&keys).chain(version.history.range(&keys));
        taken.extend(records.map(|record| record.key.discriminator()));
        let tail = version.layer.tail.iter().filter(|record| keys.contains(&record.key));
        taken.extend(tail.map(|record| record.key.discriminator()));
        Ok(())
    }

    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Option<Value>> {
        let read = |layer: &Layer<EdgeBody>| list::property(layer, out_key(edge), key, self.timestamp);
        Ok(self.edges(edge.source, edge.edge_type, Direction::Out, read).flatten())
    }

    fn edge_column(&self, edges: &[EdgeId], key: KeyId, column: &mut Column) -> Result<()> {
        for edges in edges.chunk_by(in_one_segment) {
            match self.out_segment(&edges[0]) {
                None => column.extend(None, 0..edges.len()),
                Some(segment) => {
                    let version = segment.load();
                    let layer = version.layer_at(self.timestamp);
                    values::of_edges(layer, edges, key, self.timestamp, column);
                }
            }
        }
        Ok(())
    }

    fn edge_properties(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        let read = |layer: &Layer<EdgeBody>| list::properties(layer, out_key(edge), self.timestamp);
        Ok(self.edges(edge.source, edge.edge_type, Direction::Out, read).flatten().unwrap_or_default())
    }

    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64> {
        let subject = EdgeSubject::new(edge_type, Direction::Out);
        let Some(segment) = self.group(group).and_then(|group| group.edge_segment(subject)) else {
            return Ok(0);
        };
        let version = segment.load();
        let layer = version.layer_at(self.timestamp);
        let hubs = layer
            .hubs
            .iter()
            .map(|hub| list::edge_count(hub.segment.load().layer_at(self.timestamp), self.timestamp));
        Ok(list::edge_count(layer, self.timestamp) + hubs.sum::<u64>())
    }
}
