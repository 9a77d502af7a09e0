//! Reader: an engine's view at S combined with own writes, as one `GraphView`.
//!
//! ```text
//! vertex   own insert  -> own label and properties       own delete -> nothing
//!          own set     -> changed keys, the others from the view
//! edge     own add, insert, replace -> own properties    own delete -> nothing
//! ```
//!
//! A snapshot reads with no writes. A transaction sees every own write at once, in scans that are
//! under way too; whoever writes while scanning collects first.

use crate::index::directory::IndexDirectory;
use crate::transaction::reads::Reads;
use crate::transaction::writes::{EdgeWrite, VertexWrite, Writes};
use crate::view::{GroupBits, PointReads, View};
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GROUP_SIZE, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexStatistics;
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::newest::NewestEdges;
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::travel::Travels;
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, GraphView, NeighborBatch, NeighborCursor, Statistics, VertexCursor};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reads one moment; cheap to make, so that its owner makes one a call.
pub struct Reader<'a, V> {
    pub(crate) view: V,
    pub(crate) writes: &'a Writes,
    pub(crate) catalogue: &'a Arc<Catalogue>,
    pub(crate) indexes: &'a IndexDirectory,
    /// Where look-ups are noted, if this is a serialisable transaction; `view` notes everything else.
    pub(crate) reads: Option<&'a Reads>,
}

impl<'a, V: View> Reader<'a, V> {
    /// Reads `view` with `writes` over it, by the names of `catalogue`.
    pub fn new(
        view: V,
        writes: &'a Writes,
        catalogue: &'a Arc<Catalogue>,
        indexes: &'a IndexDirectory,
    ) -> Self {
        Self { view, writes, catalogue, indexes, reads: None }
    }

    /// Also notes in `reads` what is looked up.
    #[must_use]
    pub fn noting(self, reads: Option<&'a Reads>) -> Self {
        Self { reads, ..self }
    }

    /// The label of a vertex, if it is there.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn label(&self, vertex: VertexId) -> Result<Option<LabelId>> {
        match self.writes.vertex(vertex) {
            Some(VertexWrite::Insert { label, .. }) => return Ok(Some(*label)),
            Some(VertexWrite::Delete) => return Ok(None),
            Some(VertexWrite::Set(_)) | None => {}
        }
        self.view.label(vertex)
    }

    /// Whether an edge is there.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn has_edge(&self, edge: EdgeId) -> Result<bool> {
        match self.writes.edge(edge) {
            Some(write) => Ok(*write != EdgeWrite::Delete),
            None => self.view.has_edge(edge),
        }
    }

    /// One property of a vertex.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn vertex_property(&self, vertex: VertexId, key: KeyId) -> Result<Option<Value>> {
        match self.writes.vertex(vertex) {
            Some(VertexWrite::Insert { properties, .. }) => Ok(properties.get(key).flatten().cloned()),
            Some(VertexWrite::Delete) => Ok(None),
            Some(VertexWrite::Set(changes)) => match changes.get(key) {
                Some(value) => Ok(value.cloned()),
                None => self.view.vertex_property(vertex, key),
            },
            None => self.view.vertex_property(vertex, key),
        }
    }

    /// One property of an edge.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Option<Value>> {
        use EdgeWrite::{Add, Delete, Insert, Replace, Set};
        match self.writes.edge(edge) {
            Some(Add(all) | Insert(all) | Replace(all)) => Ok(all.get(key).flatten().cloned()),
            Some(Delete) => Ok(None),
            Some(Set(changes)) => match changes.get(key) {
                Some(value) => Ok(value.cloned()),
                None => self.view.edge_property(edge, key),
            },
            None => self.view.edge_property(edge, key),
        }
    }

    /// Whether own writes say nothing of these vertices.
    fn wrote_no_vertex(&self, vertices: &[VertexId]) -> bool {
        !self.writes.has_vertices() || vertices.iter().all(|vertex| self.writes.vertex(*vertex).is_none())
    }

    /// Whether own writes say nothing of these edges.
    fn wrote_no_edge(&self, edges: &[EdgeId]) -> bool {
        !self.writes.has_edges() || edges.iter().all(|edge| self.writes.edge(*edge).is_none())
    }

    pub(crate) fn live(&self, group: GroupId) -> Result<GroupBits> {
        let mut bits = self.view.live(group)?;
        let last = VertexId(group.first().0 + (GROUP_SIZE - 1));
        for (vertex, write) in self.writes.vertices_between(group.first(), last) {
            let (word, bit) = (usize::from(vertex.row() / 64), 1 << (vertex.row() % 64));
            match write {
                VertexWrite::Insert { .. } => bits[word] |= bit,
                VertexWrite::Delete => bits[word] &= !bit,
                VertexWrite::Set(_) => {}
            }
        }
        Ok(bits)
    }
}

/// The rows of `bits` from `first` on, ascending.
#[inline]
pub(crate) fn rows_from(bits: &GroupBits, first: u16) -> impl Iterator<Item = u16> + '_ {
    let start = usize::from(first / 64);
    (start..bits.len()).flat_map(move |at| {
        let mut word = bits[at];
        if at == start {
            word &= u64::MAX << (first % 64);
        }
        std::iter::from_fn(move || {
            let row = (word != 0).then(|| at as u16 * 64 + word.trailing_zeros() as u16);
            word &= word.wrapping_sub(1);
            row
        })
    })
}

/// Room for `count` more answers at the end of `answers`.
pub(crate) fn appended<A: Clone + Default>(answers: &mut Vec<A>, count: usize) -> &mut [A] {
    let start = answers.len();
    answers.resize(start + count, A::default());
    &mut answers[start..]
}

/// The error of a vertex with fewer edges than a transaction found there and deleted: counts and lists contradict each other.
#[cold]
pub(crate) fn fewer_than_deleted(vertex: VertexId) -> Error {
    let text =
        format!("vertex {vertex} has fewer edges than were found and deleted: what is stored is damaged");
    Error::new(ErrorKind::Corrupt, text)
}

/// `stored` with `changes` made, by key.
fn changed(stored: Vec<(KeyId, Value)>, changes: &Properties) -> Vec<(KeyId, Value)> {
    let stored: Properties = stored.into_iter().map(|(key, value)| (key, Some(value))).collect();
    values(&stored.followed_by(changes))
}

#[inline]
fn values(properties: &Properties) -> Vec<(KeyId, Value)> {
    properties.as_slice().iter().filter_map(|(key, value)| Some((*key, value.clone()?))).collect()
}

impl<V: View> GraphView for Reader<'_, V> {
    fn timestamp(&self) -> Timestamp {
        self.view.timestamp()
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        // A store that decides itself refuses after any new name.
        if let Some(reads) = self.reads.filter(|reads| reads.look_ups_elsewhere().is_some()) {
            reads.note_names();
        }
        Arc::clone(self.catalogue)
    }

    fn scan_vertices(
        &self,
        labels: Option<&[LabelId]>,
        cursor: &mut VertexCursor,
        limit: usize,
        vertices: &mut Vec<VertexId>,
    ) -> Result<()> {
        let mut left = limit;
        while !cursor.done && left > 0 {
            let from = VertexId(cursor.next);
            let group = from.group();
            if group.0 >= self.view.group_count() {
                cursor.done = true;
                break;
            }
            let label = self.view.group_label(group)?;
            if label.is_some_and(|label| labels.is_none_or(|labels| labels.contains(&label))) {
                let live = self.live(group)?;
                let before = vertices.len();
                let rows = rows_from(&live, from.row()).take(left);
                vertices.extend(rows.map(|row| VertexId::new(group, row)));
                left -= vertices.len() - before;
            }
            let last = VertexId(group.first().0 + (GROUP_SIZE - 1));
            let seen = if left == 0 { vertices[vertices.len() - 1] } else { last };
            match seen.0.checked_add(1) {
                Some(next) => cursor.next = next,
                None => cursor.done = true,
            }
        }
        Ok(())
    }

    fn scan_edges(
        &self,
        types: Option<&[TypeId]>,
        cursor: &mut EdgeCursor,
        limit: usize,
        edges: &mut Vec<EdgeId>,
    ) -> Result<()> {
        self.edges_from(types, cursor, limit, edges)
    }

    #[inline]
    fn is_remote(&self) -> bool {
        self.view.is_remote()
    }

    #[inline]
    fn heeds_ahead(&self) -> bool {
        self.view.heeds_ahead()
    }

    /// What own writes answer is announced, too: nobody asks about it more than once.
    #[inline]
    fn ahead(&self, next: NextReads<'_>) {
        self.view.ahead(next);
    }

    /// Not where own writes would be missed, nor where reads are noted.
    #[inline]
    fn travels(&self) -> Option<Arc<dyn Travels>> {
        if self.writes.is_empty() && self.reads.is_none() { self.view.travels() } else { None }
    }

    fn labels(&self, vertices: &[VertexId], labels: &mut Vec<Option<LabelId>>) -> Result<()> {
        if self.wrote_no_vertex(vertices) {
            return self.view.labels(vertices, appended(labels, vertices.len()));
        }
        self.view.ahead(NextReads::Labels(vertices));
        for vertex in vertices {
            labels.push(self.label(*vertex)?);
        }
        Ok(())
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
        self.expand(vertices, types, direction, cursor, limit, batch)
    }

    fn newest(
        &self,
        asked: &NewestEdges,
        cursor: &mut RangeCursor<EdgeId>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<()> {
        self.newest_edges(asked, cursor, limit, ranked)
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
        self.newest_edges_with_properties(asked, cursor, limit, ranked, keys, columns)
    }

    fn degrees(
        &self,
        vertices: &[VertexId],
        types: Option<&[TypeId]>,
        direction: Direction,
        degrees: &mut Vec<u64>,
    ) -> Result<()> {
        self.count(vertices, types, direction, degrees)
    }

    fn count_edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        edge_type: TypeId,
        counts: &mut Vec<u32>,
    ) -> Result<()> {
        let counts = appended(counts, pairs.len());
        self.view.count_edges_between(pairs, edge_type, counts)?;
        for ((source, target), count) in pairs.iter().zip(counts) {
            let own = self.writes.edges_between(*source, edge_type, *target);
            let balance: i64 = own.map(|(_, write)| write.balance()).sum();
            let sum = i64::from(*count) + balance;
            *count = u32::try_from(sum).map_err(|_| fewer_than_deleted(*source))?;
        }
        Ok(())
    }

    fn has_edges(&self, edges: &[EdgeId], found: &mut Vec<bool>) -> Result<()> {
        if self.wrote_no_edge(edges) {
            return self.view.has_edges(edges, appended(found, edges.len()));
        }
        self.view.ahead(NextReads::Edges(edges));
        for edge in edges {
            found.push(self.has_edge(*edge)?);
        }
        Ok(())
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, column: &mut Column) -> Result<()> {
        if self.wrote_no_vertex(vertices) {
            return self.view.vertex_properties(vertices, key, column);
        }
        self.view.ahead(NextReads::VertexProperties(vertices, key));
        for vertex in vertices {
            column.push(self.vertex_property(*vertex, key)?);
        }
        Ok(())
    }

    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        let mut all = match self.writes.vertex(vertex) {
            Some(VertexWrite::Insert { properties, .. }) => values(properties),
            Some(VertexWrite::Delete) => Vec::new(),
            Some(VertexWrite::Set(changes)) => changed(self.view.vertex_property_map(vertex)?, changes),
            None => self.view.vertex_property_map(vertex)?,
        };
        if self.catalogue.has_meta_keys() {
            all.retain(|(key, _)| !self.catalogue.is_meta_key(*key));
        }
        Ok(all)
    }

    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, column: &mut Column) -> Result<()> {
        if self.wrote_no_edge(edges) {
            return self.view.edge_properties(edges, key, column);
        }
        self.view.ahead(NextReads::EdgeProperties(edges, key));
        for edge in edges {
            column.push(self.edge_property(*edge, key)?);
        }
        Ok(())
    }

    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        use EdgeWrite::{Add, Delete, Insert, Replace, Set};
        match self.writes.edge(edge) {
            Some(Add(all) | Insert(all) | Replace(all)) => Ok(values(all)),
            Some(Delete) => Ok(Vec::new()),
            Some(Set(changes)) => Ok(changed(self.view.edge_property_map(edge)?, changes)),
            None => self.view.edge_property_map(edge),
        }
    }

    /// A number finds its equal in the key's type; any other value of another type finds nothing.
    fn look_up(
        &self,
        label: LabelId,
        key: KeyId,
        values: &[Value],
        vertices: &mut Vec<Option<VertexId>>,
    ) -> Result<()> {
        self.holders((Owner::Label(label), key), values, vertices)
    }

    fn look_up_vertices(
        &self,
        label: LabelId,
        key: KeyId,
        values: &[Value],
        cursor: &mut MatchCursor<VertexId>,
        limit: usize,
        matches: &mut Matches<VertexId>,
    ) -> Result<()> {
        self.matches((Owner::Label(label), key), values, cursor, limit, matches)
    }

    fn look_up_edges(
        &self,
        edge_type: TypeId,
        key: KeyId,
        values: &[Value],
        cursor: &mut MatchCursor<EdgeId>,
        limit: usize,
        matches: &mut Matches<EdgeId>,
    ) -> Result<()> {
        self.matches((Owner::EdgeType(edge_type), key), values, cursor, limit, matches)
    }

    fn range_vertices(
        &self,
        label: LabelId,
        key: KeyId,
        range: &ValueRange,
        cursor: &mut RangeCursor<VertexId>,
        limit: usize,
        ranked: &mut OrderedMatches<VertexId>,
    ) -> Result<()> {
        self.range((Owner::Label(label), key), range, cursor, limit, ranked)
    }

    fn range_edges(
        &self,
        edge_type: TypeId,
        key: KeyId,
        range: &ValueRange,
        cursor: &mut RangeCursor<EdgeId>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<()> {
        self.range((Owner::EdgeType(edge_type), key), range, cursor, limit, ranked)
    }

    fn indexes(&self) -> Vec<IndexStatistics> {
        self.index_statistics()
    }

    fn statistics(&self) -> Result<Statistics> {
        let mut vertices: BTreeMap<LabelId, u64> = BTreeMap::new();
        let mut edges: BTreeMap<TypeId, i64> = BTreeMap::new();
        for group in (0..self.view.group_count()).map(GroupId) {
            let Some(label) = self.view.group_label(group)? else { continue };
            let live = self.live(group)?;
            let count: u64 = live.iter().map(|word| u64::from(word.count_ones())).sum();
            *vertices.entry(label).or_default() += count;
            for edge_type in self.view.edge_types(group, Direction::Out)? {
                let count = self.view.group_edge_count(group, edge_type)?;
                *edges.entry(edge_type).or_default() += count as i64;
            }
        }
        for (edge, write) in self.writes.edges() {
            *edges.entry(edge.edge_type).or_default() += write.balance();
        }
        Ok(Statistics {
            vertices: vertices.into_iter().filter(|(_, count)| *count > 0).collect(),
            edges: edges
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(id, count)| (id, count as u64))
                .collect(),
        })
    }
}
