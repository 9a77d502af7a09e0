//! `GraphView`: the interface through which any reader accesses a graph as of one commit, in batches.
//!
//! One virtual call takes a slice of vertices or a cursor and fills columns, so that a reader pays
//! dispatch once a batch and a remote graph pays one message. Every scan resumes from its cursor,
//! inside a hub too. Every method can fail: pages may be read, machines may be away.
//! Nothing here assumes that all vertices are local.

use crate::budget::Budget;
use crate::cancel::CancelFlag;
use crate::catalogue::Catalogue;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use crate::index::IndexStatistics;
use crate::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use crate::newest::{NewestEdges, Stamped, rank};
use crate::next_reads::NextReads;
use crate::owner::Owner;
use crate::timestamp::Timestamp;
use crate::topology::{Projection, Topology};
use crate::travel::Travels;
use crate::value::{Value, ValueType};
use std::sync::Arc;

/// Where a vertex scan continues; [`VertexCursor::default`] is the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VertexCursor {
    /// The lowest vertex id not yet looked at.
    pub next: u32,
    /// Whether the scan is over.
    pub done: bool,
}

/// Where an edge scan continues; [`EdgeCursor::default`] is the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EdgeCursor {
    /// The lowest source not yet done with.
    pub source: u32,
    /// The last of its edges handed out.
    pub after: Option<EdgeId>,
    /// Whether the scan is over.
    pub done: bool,
}

/// Where an expansion of rows continues; the default is before the first neighbour of row 0.
///
/// It names the edge where it stands, so that a transaction may delete what it was handed, or add edges, and go on:
/// each edge that was there from the beginning is handed out once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NeighborCursor {
    /// The row being expanded.
    pub row: usize,
    /// The last edge of it handed out, and on which side of the vertex.
    pub after: Option<(Direction, EdgeId)>,
    /// Whether every row is expanded.
    pub done: bool,
}

/// Neighbours with the row that each belongs to: columns of equal length.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NeighborBatch {
    /// Index of the row in the slice that was expanded.
    pub rows: Vec<u32>,
    /// The vertex at the other end.
    pub neighbors: Vec<VertexId>,
    /// The edge between them, in its own direction.
    pub edges: Vec<EdgeId>,
}

impl NeighborBatch {
    /// Empties the batch, and keeps its memory.
    #[inline]
    pub fn clear(&mut self) {
        self.rows.clear();
        self.neighbors.clear();
        self.edges.clear();
    }

    /// Neighbours in the batch.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Counts for planners and people. Exact at the view's timestamp.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Number of vertices of each label.
    pub vertices: Vec<(LabelId, u64)>,
    /// Number of edges of each type.
    pub edges: Vec<(TypeId, u64)>,
}

/// Vertices whose edges a scan of edges asks for at once.
const SOURCES: usize = 4096;

/// Edges of one vertex read at once where all are read.
const NEIGHBORS: usize = 4096;

/// The error of a look-up in a view without indexes.
fn no_index(catalogue: &Catalogue, owner: Owner, key: KeyId) -> Error {
    let property = catalogue.property_name(owner, key);
    Error::invalid(format!("this view has no index on {property}"))
}

/// A graph as it was at one timestamp (and, inside a transaction, with its own writes).
///
/// Unless said otherwise: a vertex that isn't there yields nothing, never an error; answers come in
/// the order of the questions; out-vectors are appended to, not cleared. A view without indexes, of a file
/// or a selection, leaves look-ups as they are here.
///
/// # Errors
/// Every read may fail where an engine or a view reads files: `corrupt`, naming file and offset, or `io`. Methods
/// name what may happen besides.
pub trait GraphView: Send + Sync {
    /// The timestamp of the view.
    fn timestamp(&self) -> Timestamp;

    /// The names of this graph. Where none are known, those that were known last: see [`GraphView::names`].
    fn catalogue(&self) -> Arc<Catalogue>;

    /// Whether there is anything to read. A view of a graph that another process or other machines keep may have none: it
    /// begins all the same, each of its reads fails as this does, and its names say nothing of the graph.
    ///
    /// # Errors
    /// Why the view could not begin: `busy`, `conflict` or `io` mostly.
    #[inline]
    fn check_begun(&self) -> Result<()> {
        Ok(())
    }

    /// As [`GraphView::catalogue`], for whoever takes an unknown name for an empty answer, or an error.
    ///
    /// # Errors
    /// As [`GraphView::check_begun`].
    #[inline]
    fn names(&self) -> Result<Arc<Catalogue>> {
        self.check_begun()?;
        Ok(self.catalogue())
    }

    /// Appends up to `limit` live vertices of `labels` (`None`: all), ascending, and moves `cursor`.
    fn scan_vertices(
        &self,
        labels: Option<&[LabelId]>,
        cursor: &mut VertexCursor,
        limit: usize,
        vertices: &mut Vec<VertexId>,
    ) -> Result<()>;

    /// Appends up to `limit` edges of `types` (`None`: all) in the order of their ids: by source, type,
    /// target, discriminator; moves `cursor`. Own writes between two calls neither hide an edge nor give one twice.
    /// Cost, unless a view knows better: a look at each vertex.
    fn scan_edges(
        &self,
        types: Option<&[TypeId]>,
        cursor: &mut EdgeCursor,
        limit: usize,
        edges: &mut Vec<EdgeId>,
    ) -> Result<()> {
        let end = edges.len().saturating_add(limit);
        let (mut sources, mut batch) = (Vec::new(), NeighborBatch::default());
        while !cursor.done && edges.len() < end {
            let mut next = VertexCursor { next: cursor.source, done: false };
            sources.clear();
            self.scan_vertices(None, &mut next, SOURCES, &mut sources)?;
            // The source that the cursor stopped in may be gone by an own write.
            let same = sources.first().is_some_and(|source| source.0 == cursor.source);
            let after = cursor.after.filter(|_| same).map(|edge| (Direction::Out, edge));
            let mut within = NeighborCursor { row: 0, after, done: false };
            batch.clear();
            let room = end - edges.len();
            self.neighbors(&sources, types, Direction::Out, &mut within, room, &mut batch)?;
            edges.append(&mut batch.edges);
            match sources.get(within.row) {
                Some(source) => {
                    (cursor.source, cursor.after) = (source.0, within.after.map(|(_, edge)| edge));
                }
                None => *cursor = EdgeCursor { source: next.next, after: None, done: next.done },
            }
        }
        Ok(())
    }

    /// Whether a read may wait: for another machine, or for what another thread of this one has still to apply.
    fn is_remote(&self) -> bool {
        false
    }

    /// Whether it gains by what is announced ([`GraphView::ahead`]): reads may take messages, which go together then. A
    /// reader that reads item by item announces its next reads only to such a view. A cluster's node that keeps every partition is
    /// remote, and gains nothing.
    fn heeds_ahead(&self) -> bool {
        false
    }

    /// Says what is read next, item by item: a view of other machines asks for all of it at once, when the first item is
    /// read; any other does nothing. What is announced need not be read, and answers are the same without it. No error:
    /// what can't be read is told to who reads it.
    fn ahead(&self, next: NextReads<'_>) {
        let _ = next;
    }

    /// What runs programs where the vertices lie, if that shows what this view shows, and whoever reads need not say what was
    /// read: a graph on several nodes, without own writes.
    fn travels(&self) -> Option<Arc<dyn Travels>> {
        None
    }

    /// The label of each vertex; `None` if it does not exist.
    fn labels(&self, vertices: &[VertexId], labels: &mut Vec<Option<LabelId>>) -> Result<()>;

    /// Appends up to `limit` neighbours of the rows in `vertices` over `types` (`None`: all), a row
    /// after the other, by type, then neighbour, then discriminator; moves `cursor`.
    fn neighbors(
        &self,
        vertices: &[VertexId],
        types: Option<&[TypeId]>,
        direction: Direction,
        cursor: &mut NeighborCursor,
        limit: usize,
        batch: &mut NeighborBatch,
    ) -> Result<()>;

    /// The number of edges of each vertex. Cost: a look at each segment, no list is read.
    fn degrees(
        &self,
        vertices: &[VertexId],
        types: Option<&[TypeId]>,
        direction: Direction,
        degrees: &mut Vec<u64>,
    ) -> Result<()>;

    /// Appends up to `limit` of the out-edges that are `asked` for with their values, the greatest value first,
    /// of one value the greatest id; moves `cursor`. Edges without a value are left out.
    ///
    /// Cost where the type was declared newest-first by this property
    /// ([`declare_newest_first`](crate::transaction::Transaction::declare_newest_first)): what is appended, and the
    /// changes to this list since the last merge; a list that is read so for the first time since the
    /// database was opened is sorted once. Otherwise the list is read and sorted in every call.
    fn newest(
        &self,
        asked: &NewestEdges,
        cursor: &mut RangeCursor<EdgeId>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<()> {
        newest_by_sorting(self, asked, cursor, limit, ranked)
    }

    /// As [`GraphView::newest`], and appends the values of each of `keys` of those edges to its column.
    ///
    /// Cost: as both reads; a list that is kept by value is looked up once for all of them.
    ///
    /// # Panics
    /// If there are not as many columns as keys.
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
        self.newest(asked, cursor, limit, ranked)?;
        assert_eq!(keys.len(), columns.len(), "a column for each key");
        let mut columns = keys.iter().zip(columns);
        columns.try_for_each(|(key, column)| self.edge_properties(&ranked.items[before..], *key, column))
    }

    /// For each pair, how many edges of `edge_type` go from the first vertex to the second.
    fn count_edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        edge_type: TypeId,
        counts: &mut Vec<u32>,
    ) -> Result<()>;

    /// Whether each edge exists.
    fn has_edges(&self, edges: &[EdgeId], found: &mut Vec<bool>) -> Result<()>;

    /// The values of `key` for each vertex.
    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, column: &mut Column) -> Result<()>;

    /// All properties of one vertex, by key, without meta-properties
    /// ([`Catalogue::meta_key`]). Empty if it isn't there.
    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>>;

    /// The values of `key` for each edge.
    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, column: &mut Column) -> Result<()>;

    /// All properties of one edge, by key. Empty if it isn't there.
    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>>;

    /// The vertex of `label` whose unique `key` has each value.
    ///
    /// # Errors
    /// `invalid` if no unique index is on (label, key); errors of reading.
    fn look_up(
        &self,
        label: LabelId,
        key: KeyId,
        values: &[Value],
        vertices: &mut Vec<Option<VertexId>>,
    ) -> Result<()>;

    /// Appends up to `limit` vertices of `label` whose `key` is one of `values`, a value after the other,
    /// ascending; moves `cursor`.
    ///
    /// Always right: where this view is older than the index, or the index was dropped meanwhile, the
    /// label is scanned instead. Cost otherwise: about a microsecond a value, and a read an entry.
    ///
    /// # Errors
    /// `invalid` if this view's catalogue names no index on (label, key); errors of reading.
    fn look_up_vertices(
        &self,
        label: LabelId,
        key: KeyId,
        _values: &[Value],
        _cursor: &mut MatchCursor<VertexId>,
        _limit: usize,
        _matches: &mut Matches<VertexId>,
    ) -> Result<()> {
        Err(no_index(&self.catalogue(), Owner::Label(label), key))
    }

    /// As [`GraphView::look_up_vertices`], for the edges of a type.
    ///
    /// # Errors
    /// As [`GraphView::look_up_vertices`].
    fn look_up_edges(
        &self,
        edge_type: TypeId,
        key: KeyId,
        _values: &[Value],
        _cursor: &mut MatchCursor<EdgeId>,
        _limit: usize,
        _matches: &mut Matches<EdgeId>,
    ) -> Result<()> {
        Err(no_index(&self.catalogue(), Owner::EdgeType(edge_type), key))
    }

    /// Appends up to `limit` vertices of `label` whose `key` lies in `range`, in its order, with their
    /// values; moves `cursor`.
    ///
    /// Always right, as [`GraphView::look_up_vertices`] is; a scan instead sorts all that the range holds
    /// once a call.
    ///
    /// # Errors
    /// `invalid` if this view's catalogue names no ordered index on (label, key); errors of reading.
    fn range_vertices(
        &self,
        label: LabelId,
        key: KeyId,
        _range: &ValueRange,
        _cursor: &mut RangeCursor<VertexId>,
        _limit: usize,
        _ranked: &mut OrderedMatches<VertexId>,
    ) -> Result<()> {
        Err(no_index(&self.catalogue(), Owner::Label(label), key))
    }

    /// As [`GraphView::range_vertices`], for the edges of a type.
    ///
    /// # Errors
    /// As [`GraphView::range_vertices`].
    fn range_edges(
        &self,
        edge_type: TypeId,
        key: KeyId,
        _range: &ValueRange,
        _cursor: &mut RangeCursor<EdgeId>,
        _limit: usize,
        _ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<()> {
        Err(no_index(&self.catalogue(), Owner::EdgeType(edge_type), key))
    }

    /// The indexes that answer this view without a scan, with their sizes as they are now: what a planner
    /// chooses from. Cost: a look at each.
    fn indexes(&self) -> Vec<IndexStatistics> {
        Vec::new()
    }

    /// Exact counts at this timestamp. Cost: a look at each segment.
    fn statistics(&self) -> Result<Statistics>;
}

/// A view whose adjacency can be frozen for algorithms.
pub trait Freeze: GraphView {
    /// Lists that kernels read.
    type Topology: Topology;

    /// Resolves each segment of `projection` once. Cost: a look at each segment, plus the records
    /// that are not in a body yet, plus, for weights, one pass over what isn't a plain number array.
    ///
    /// # Errors
    /// `invalid` for a name or a weight that doesn't fit, `limit` if the budget refuses.
    fn freeze(&self, projection: &Projection) -> Result<Self::Topology> {
        self.freeze_cancellable(projection, &CancelFlag::default())
    }

    /// As [`Freeze::freeze`], until `cancel` is set: an engine that keeps its graph in files may read and sort many edges.
    ///
    /// # Errors
    /// As [`Freeze::freeze`]; `cancelled`.
    fn freeze_cancellable(&self, projection: &Projection, cancel: &CancelFlag) -> Result<Self::Topology>;

    /// The budget that kernels on this view reserve their state from.
    fn budget(&self) -> &dyn Budget;
}

/// Answers [`GraphView::newest`] by reading the whole list: for views without an order by value.
///
/// Cost: the list and its values are read and sorted in every call.
///
/// # Errors
/// Errors of reading.
pub fn newest_by_sorting<V: GraphView + ?Sized>(
    view: &V,
    asked: &NewestEdges,
    cursor: &mut RangeCursor<EdgeId>,
    limit: usize,
    ranked: &mut OrderedMatches<EdgeId>,
) -> Result<()> {
    let mut found: Vec<Stamped> = Vec::new();
    let (mut within, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    while !within.done {
        batch.clear();
        let (source, types) = ([asked.source], [asked.edge_type]);
        view.neighbors(&source, Some(&types), Direction::Out, &mut within, NEIGHBORS, &mut batch)?;
        let mut values = Column::new(ValueType::Any);
        view.edge_properties(&batch.edges, asked.key, &mut values)?;
        for (row, edge) in batch.edges.iter().enumerate() {
            found.extend(values.get(row).map(|value| (value, *edge)));
        }
    }
    rank(found, asked, cursor, limit, ranked);
    Ok(())
}
