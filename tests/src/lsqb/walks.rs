//! Walks: what the queries read of a view, in batches: members of a part, degrees, lists, and counts
//! carried over edges.
//!
//! ```text
//! Counts::carried   counts[v] = sum of counts[n] over the neighbours n of v       (SpMV, no list kept)
//! Lists             the neighbours of each row, sorted, in one array               (for intersections)
//! ```
//!
//! What is kept for a vertex lies at its id: ids are dense enough, 4,096 of one label to a group.

use crate::lsqb::names;
use evergraph::graph::id::TypeId;
use evergraph::graph::view::{NeighborBatch, NeighborCursor};
use evergraph::{Direction, GraphView, VertexId};
use std::cmp::Ordering;

/// Neighbours asked for at once.
const BATCH: usize = 4096;

/// A number for each vertex; 0 unless one was counted.
#[derive(Clone, Debug, Default)]
pub struct Counts(Vec<u64>);

impl Counts {
    /// 1 for each of `vertices`.
    #[must_use]
    pub fn ones(vertices: &[VertexId]) -> Self {
        let mut counts = Self::for_each_of(vertices);
        vertices.iter().for_each(|vertex| counts.0[vertex.0 as usize] = 1);
        counts
    }

    /// For each of `rows`, the sum of `next` over its neighbours: how many ways lead on from it, if
    /// `next` says so of the neighbours.
    ///
    /// Cost: one pass over the rows' lists; memory: 8 bytes a vertex id.
    #[must_use]
    pub fn carried<V: GraphView>(
        view: &V,
        rows: &[VertexId],
        edge_type: &str,
        direction: Direction,
        next: &Self,
    ) -> Self {
        let mut counts = Self::for_each_of(rows);
        for_each_neighbor(view, rows, edge_type, direction, |row, neighbor| {
            counts.0[row.0 as usize] += next.of(neighbor);
        });
        counts
    }

    fn for_each_of(vertices: &[VertexId]) -> Self {
        Self(vec![0; bound(vertices)])
    }

    /// The number of `vertex`.
    #[must_use]
    pub fn of(&self, vertex: VertexId) -> u64 {
        self.0.get(vertex.0 as usize).copied().unwrap_or(0)
    }
}

/// Sorted lists of neighbours.
#[derive(Clone, Debug)]
pub struct Lists {
    /// By vertex id: where its list ends; it begins where that of the id before ends.
    ends: Vec<usize>,
    neighbors: Vec<VertexId>,
}

impl Lists {
    /// The neighbours of each of `rows` (ascending) that `keep` says yes to.
    ///
    /// Cost: one pass over the rows' lists.
    #[must_use]
    pub fn read<V: GraphView>(
        view: &V,
        rows: &[VertexId],
        edge_type: &str,
        direction: Direction,
        keep: impl Fn(VertexId, VertexId) -> bool,
    ) -> Self {
        let mut ends = vec![0; bound(rows)];
        let mut neighbors = Vec::new();
        for_each_neighbor(view, rows, edge_type, direction, |row, neighbor| {
            if keep(row, neighbor) {
                neighbors.push(neighbor);
                ends[row.0 as usize] = neighbors.len();
            }
        });
        let mut start = 0;
        for end in &mut ends {
            *end = (*end).max(start);
            // Out and in neighbours come one after the other.
            neighbors[start..*end].sort_unstable();
            start = *end;
        }
        Self { ends, neighbors }
    }

    /// The neighbours of `vertex`, sorted; none if it was no row.
    #[must_use]
    pub fn of(&self, vertex: VertexId) -> &[VertexId] {
        let row = vertex.0 as usize;
        let Some(end) = self.ends.get(row) else { return &[] };
        &self.neighbors[row.checked_sub(1).map_or(0, |before| self.ends[before])..*end]
    }
}

/// Vertices that are in both of two sorted lists.
pub fn common<'a>(one: &'a [VertexId], other: &'a [VertexId]) -> impl Iterator<Item = VertexId> + 'a {
    let (mut at, mut there) = (0, 0);
    std::iter::from_fn(move || {
        while at < one.len() && there < other.len() {
            match one[at].cmp(&other[there]) {
                Ordering::Less => at += 1,
                Ordering::Greater => there += 1,
                Ordering::Equal => {
                    (at, there) = (at + 1, there + 1);
                    return Some(one[at - 1]);
                }
            }
        }
        None
    })
}

/// The number of edges of each of `rows`. Cost: no list is read.
///
/// # Panics
/// If reading fails.
#[must_use]
pub fn degrees<V: GraphView>(view: &V, rows: &[VertexId], edge_type: &str, direction: Direction) -> Vec<u64> {
    let mut degrees = Vec::with_capacity(rows.len());
    view.degrees(rows, Some(&types(view, edge_type)), direction, &mut degrees).unwrap();
    degrees
}

/// How many edges there are between the two of each pair, in either direction, all together.
///
/// # Panics
/// If reading fails.
#[must_use]
pub fn edges_between<V: GraphView>(view: &V, pairs: &[(VertexId, VertexId)], edge_type: &str) -> u64 {
    let Some(edge_type) = names::edge_type(view, edge_type) else { return 0 };
    let mut counts = Vec::new();
    for batch in pairs.chunks(BATCH) {
        let back: Vec<_> = batch.iter().map(|(source, target)| (*target, *source)).collect();
        view.count_edges_between(batch, edge_type, &mut counts).unwrap();
        view.count_edges_between(&back, edge_type, &mut counts).unwrap();
    }
    counts.into_iter().map(u64::from).sum()
}

fn for_each_neighbor<V: GraphView>(
    view: &V,
    rows: &[VertexId],
    edge_type: &str,
    direction: Direction,
    mut visit: impl FnMut(VertexId, VertexId),
) {
    let types = types(view, edge_type);
    let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    while !cursor.done {
        batch.clear();
        view.neighbors(rows, Some(&types), direction, &mut cursor, BATCH, &mut batch).unwrap();
        for (row, neighbor) in batch.rows.iter().zip(&batch.neighbors) {
            visit(rows[*row as usize], *neighbor);
        }
    }
}

/// The type as the views take it; empty if there is none of this name.
fn types<V: GraphView>(view: &V, edge_type: &str) -> Vec<TypeId> {
    names::edge_type(view, edge_type).into_iter().collect()
}

fn bound(vertices: &[VertexId]) -> usize {
    vertices.iter().map(|vertex| vertex.0 as usize + 1).max().unwrap_or(0)
}
