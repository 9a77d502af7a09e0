//! Own graph: the stores of a node's partitions at one moment, as one graph that has nothing else.
//!
//! ```text
//! vertices, in any order ──> runs of one partition ──> the snapshot of its store ──> appended, in the same order
//! ```
//!
//! Lists, properties and order of edges lie where a view of the whole graph asks for them: out-lists and properties with the
//! partition of the source, in-lists with that of the target. Scans find the vertices of these partitions alone, so that each is
//! found on one node. Indexes are none here: a node's tables may be newer than the moment, and whoever asked looks up.

use crate::remote::remote_snapshot::GraphMap;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{
    Direction, EdgeId, GROUP_SIZE, GroupId, KeyId, LabelId, PartitionId, TypeId, VertexId,
};
use evergraph_graph::look_up::{OrderedMatches, RangeCursor};
use evergraph_graph::newest::NewestEdges;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor, Statistics, VertexCursor};
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Stores of partitions, read as one graph. Cost of a read: that of the stores, and a look at the partition of each vertex.
pub struct OwnGraph {
    timestamp: Timestamp,
    map: Arc<dyn GraphMap>,
    catalogue: Arc<Catalogue>,
    stores: BTreeMap<PartitionId, Box<dyn GraphView>>,
    /// Relaxed: it is a count, and says nothing of anything else.
    edges_read: AtomicU64,
}

impl OwnGraph {
    /// The snapshots in `stores`, which were taken at `timestamp`. The groups of the whole graph, and its names, may be those of
    /// a later moment.
    #[must_use]
    pub fn new(
        timestamp: Timestamp,
        map: Arc<dyn GraphMap>,
        catalogue: Arc<Catalogue>,
        stores: BTreeMap<PartitionId, Box<dyn GraphView>>,
    ) -> Self {
        Self { timestamp, map, catalogue, stores, edges_read: AtomicU64::new(0) }
    }

    /// Edges of adjacency lists that were read so far. Degrees read none.
    #[must_use]
    pub fn edges_read(&self) -> u64 {
        self.edges_read.load(Ordering::Relaxed)
    }

    fn count_edges(&self, read: usize) {
        self.edges_read.fetch_add(read as u64, Ordering::Relaxed);
    }

    /// Which groups the whole graph has.
    #[must_use]
    pub fn map(&self) -> &dyn GraphMap {
        &*self.map
    }

    fn partition_of(&self, vertex: VertexId) -> PartitionId {
        self.map.partitions().of_group(vertex.group())
    }

    fn store_of(&self, vertex: VertexId) -> Result<&dyn GraphView> {
        let partition = self.partition_of(vertex);
        self.stores.get(&partition).map(|store| &**store).ok_or_else(|| not_here(partition))
    }

    /// Reads `items` by runs that lie in one store, that of the vertex which `place` says.
    fn by_run<T>(
        &self,
        items: &[T],
        place: impl Fn(&T) -> VertexId,
        mut read: impl FnMut(&dyn GraphView, &[T]) -> Result<()>,
    ) -> Result<()> {
        let is_together =
            |one: &T, other: &T| self.partition_of(place(one)) == self.partition_of(place(other));
        for run in items.chunk_by(is_together) {
            read(self.store_of(place(&run[0]))?, run)?;
        }
        Ok(())
    }

    /// The first group from `group` on whose vertices are here and have one of `labels`.
    fn next_group(&self, group: GroupId, labels: Option<&[LabelId]>) -> Option<GroupId> {
        (group.0..self.map.group_count()).map(GroupId).find(|group| {
            let label = self.map.group_label(*group);
            let is_wanted = label.is_some_and(|label| labels.is_none_or(|labels| labels.contains(&label)));
            is_wanted && self.stores.contains_key(&self.map.partitions().of_group(*group))
        })
    }
}

/// The error of a partition that is read where it is not.
#[cold]
pub(super) fn not_here(partition: PartitionId) -> Error {
    let text = format!("partition {} cannot be read on the node that was to", partition.0);
    Error::new(ErrorKind::Busy, text)
}

impl GraphView for OwnGraph {
    fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    fn scan_vertices(
        &self,
        labels: Option<&[LabelId]>,
        cursor: &mut VertexCursor,
        limit: usize,
        vertices: &mut Vec<VertexId>,
    ) -> Result<()> {
        let end = vertices.len().saturating_add(limit);
        while !cursor.done && vertices.len() < end {
            let from = VertexId(cursor.next);
            let Some(group) = self.next_group(from.group(), labels) else {
                cursor.done = true;
                break;
            };
            let last = VertexId(group.first().0 + (GROUP_SIZE - 1));
            let mut within = VertexCursor { next: from.0.max(group.first().0), done: false };
            let before = vertices.len();
            // A store goes on with its next group, before which one of another store comes.
            self.store_of(last)?.scan_vertices(labels, &mut within, end - before, vertices)?;
            let in_group = vertices[before..].partition_point(|vertex| *vertex <= last);
            vertices.truncate(before + in_group);
            let next = if within.done { last.0.checked_add(1) } else { Some(within.next) };
            match next.map(|next| next.min(last.0.saturating_add(1))) {
                Some(next) if next > from.0 => cursor.next = next,
                _ => cursor.done = true,
            }
        }
        Ok(())
    }

    fn labels(&self, vertices: &[VertexId], labels: &mut Vec<Option<LabelId>>) -> Result<()> {
        self.by_run(vertices, |vertex| *vertex, |store, run| store.labels(run, labels))
    }

    fn neighbors(
        &self,
        vertices: &[VertexId],
        types: Option<&[TypeId]>,
        direction: Direction,
        cursor: &mut NeighborCursor,
        limit: usize,
        batch: &mut NeighborBatch,
    ) -> Result<()> {
        let end = batch.len().saturating_add(limit);
        while let Some(first) = vertices.get(cursor.row)
            && batch.len() < end
        {
            let partition = self.partition_of(*first);
            let left = &vertices[cursor.row..];
            let run = left.iter().take_while(|vertex| self.partition_of(**vertex) == partition).count();
            let (before, row) = (batch.len(), cursor.row);
            let mut within = NeighborCursor { row: 0, after: cursor.after, done: false };
            let store = self.store_of(*first)?;
            store.neighbors(&left[..run], types, direction, &mut within, end - before, batch)?;
            self.count_edges(batch.len() - before);
            batch.rows[before..].iter_mut().for_each(|of| *of += row as u32);
            let (row, after) = if within.done { (row + run, None) } else { (row + within.row, within.after) };
            (cursor.row, cursor.after) = (row, after);
        }
        cursor.done = cursor.row >= vertices.len();
        Ok(())
    }

    fn degrees(
        &self,
        vertices: &[VertexId],
        types: Option<&[TypeId]>,
        direction: Direction,
        degrees: &mut Vec<u64>,
    ) -> Result<()> {
        self.by_run(vertices, |vertex| *vertex, |store, run| store.degrees(run, types, direction, degrees))
    }

    fn newest(
        &self,
        asked: &NewestEdges,
        cursor: &mut RangeCursor<EdgeId>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<()> {
        let before = ranked.items.len();
        self.store_of(asked.source)?.newest(asked, cursor, limit, ranked)?;
        self.count_edges(ranked.items.len() - before);
        Ok(())
    }

    fn newest_with_properties(
        &self,
        asked: &NewestEdges,
        cursor: &mut RangeCursor<EdgeId>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
        keys: &[KeyId],
        columns: &mut [Column],
    ) -> Result<()> {
        let before = ranked.items.len();
        let store = self.store_of(asked.source)?;
        store.newest_with_properties(asked, cursor, limit, ranked, keys, columns)?;
        self.count_edges(ranked.items.len() - before);
        Ok(())
    }

    fn count_edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        edge_type: TypeId,
        counts: &mut Vec<u32>,
    ) -> Result<()> {
        self.by_run(
            pairs,
            |(source, _)| *source,
            |store, run| store.count_edges_between(run, edge_type, counts),
        )
    }

    fn has_edges(&self, edges: &[EdgeId], found: &mut Vec<bool>) -> Result<()> {
        self.by_run(edges, |edge| edge.source, |store, run| store.has_edges(run, found))
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, column: &mut Column) -> Result<()> {
        self.by_run(vertices, |vertex| *vertex, |store, run| store.vertex_properties(run, key, column))
    }

    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        self.store_of(vertex)?.vertex_property_map(vertex)
    }

    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, column: &mut Column) -> Result<()> {
        self.by_run(edges, |edge| edge.source, |store, run| store.edge_properties(run, key, column))
    }

    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        self.store_of(edge.source)?.edge_property_map(edge)
    }

    fn look_up(&self, _: LabelId, _: KeyId, _: &[Value], _: &mut Vec<Option<VertexId>>) -> Result<()> {
        Err(Error::invalid("a node looks nothing up for a query that travels"))
    }

    fn statistics(&self) -> Result<Statistics> {
        let (mut vertices, mut edges) = (BTreeMap::new(), BTreeMap::new());
        for store in self.stores.values() {
            let counts = store.statistics()?;
            counts
                .vertices
                .into_iter()
                .for_each(|(label, count)| *vertices.entry(label).or_default() += count);
            counts.edges.into_iter().for_each(|(of, count)| *edges.entry(of).or_default() += count);
        }
        Ok(Statistics { vertices: vertices.into_iter().collect(), edges: edges.into_iter().collect() })
    }
}
