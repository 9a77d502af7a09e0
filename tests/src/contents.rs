//! Contents: everything that a view shows, asked for in every way, each held against the others.
//!
//! ```text
//! scan, by label too ─┐
//! out lists ──────────┼── in lists, both, degrees, counts between, has_edges, statistics: all agree
//! property maps ──────┘   unique index = scan;  frozen lists = lists
//! ```
//!
//! This is the tests' own check of a view; `evergraph check` looks at what is stored.

use evergraph::graph::id::{KeyId, LabelId, TypeId};
use evergraph::graph::topology::{PieceBuffer, Projection, Topology, Visit};
use evergraph::graph::view::{NeighborBatch, NeighborCursor, VertexCursor};
use evergraph::{Direction, EdgeId, Freeze, GraphView, Value, VertexId};
use std::collections::{BTreeMap, BTreeSet};

/// Rows asked for at once where nothing else is wanted.
const BATCH: usize = 4096;

/// Properties by key.
pub type Values = BTreeMap<KeyId, Value>;

/// A graph as plain maps.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Contents {
    /// Label and properties of each vertex.
    pub vertices: BTreeMap<VertexId, (LabelId, Values)>,
    /// Properties of each edge.
    pub edges: BTreeMap<EdgeId, Values>,
}

impl Contents {
    /// Reads all of `view`, `limit` rows at a time. Cost: several reads of everything.
    ///
    /// # Panics
    /// If two ways of asking give different answers, or reading fails.
    pub fn of<V: GraphView>(view: &V, limit: usize) -> Self {
        let ids = scan(view, None, limit);
        let mut contents = Self::default();
        let mut labels = Vec::new();
        view.labels(&ids, &mut labels).unwrap();
        for (vertex, label) in ids.iter().zip(labels) {
            let values = view.vertex_property_map(*vertex).unwrap().into_iter().collect();
            contents.vertices.insert(*vertex, (label.expect("a scanned vertex has a label"), values));
        }
        contents.read_edges(view, &ids, limit);
        contents.check_labels(view, limit);
        contents.check_edges(view);
        contents.check_unique(view);
        contents
    }

    fn read_edges<V: GraphView>(&mut self, view: &V, ids: &[VertexId], limit: usize) {
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            let rows = expand(view, ids, direction, limit);
            let edges: BTreeSet<EdgeId> = rows.iter().map(|row| row.2).collect();
            let times = direction.sides().len();
            assert_eq!(rows.len(), times * edges.len(), "{direction:?}: an edge is listed once a side");
            if direction == Direction::Out {
                let values = |edge| view.edge_property_map(edge).unwrap().into_iter().collect();
                self.edges = edges.into_iter().map(|edge| (edge, values(edge))).collect();
            } else {
                let surplus = edges.iter().find(|edge| !self.edges.contains_key(edge));
                assert_eq!(surplus, None, "{direction:?} lists have an edge that out lists lack");
                let lost = self.edges.keys().find(|edge| !edges.contains(edge));
                assert_eq!(lost, None, "{direction:?} lists lack an edge of out lists");
            }
            let mut degrees = Vec::new();
            view.degrees(ids, None, direction, &mut degrees).unwrap();
            let mut counted = vec![0; ids.len()];
            for (row, neighbor, edge) in &rows {
                counted[*row] += 1;
                let (here, there) = (ids[*row], *neighbor);
                let out = (edge.source, edge.target) == (here, there);
                let inward = (edge.target, edge.source) == (here, there);
                let fits = match direction {
                    Direction::Out => out,
                    Direction::In => inward,
                    Direction::Both => out || inward,
                };
                assert!(fits, "{edge} in the {direction:?} list of {here}, leading to {there}");
            }
            let differs = (0..ids.len()).find(|row| degrees[*row] != counted[*row]);
            let told = differs.map(|row| (ids[row], degrees[row], counted[row]));
            assert_eq!(told, None, "{direction:?}: a vertex, its degree, and the length of its list");
        }
    }

    fn check_labels<V: GraphView>(&self, view: &V, limit: usize) {
        let statistics = view.statistics().unwrap();
        let of = |counts: &[(LabelId, u64)], label| {
            counts.iter().filter(|entry| entry.0 == label).map(|entry| entry.1).sum::<u64>()
        };
        for (label, name) in view.catalogue().labels() {
            let found = scan(view, Some(label), limit);
            let members = self.vertices.iter().filter(|(_, (own, _))| *own == label).map(|entry| *entry.0);
            assert!(members.eq(found.iter().copied()), "a scan of {name} gives its vertices");
            assert_eq!(of(&statistics.vertices, label), found.len() as u64, "the count of {name}");
        }
        let mut types: BTreeMap<TypeId, u64> = BTreeMap::new();
        self.edges.keys().for_each(|edge| *types.entry(edge.edge_type).or_default() += 1);
        let counted: BTreeMap<_, _> = statistics.edges.into_iter().filter(|entry| entry.1 > 0).collect();
        assert_eq!(counted, types, "the counts of edges");
    }

    fn check_edges<V: GraphView>(&self, view: &V) {
        let edges: Vec<EdgeId> = self.edges.keys().copied().collect();
        let mut found = Vec::new();
        view.has_edges(&edges, &mut found).unwrap();
        assert!(found.iter().all(|found| *found), "every listed edge is found");
        let mut between: BTreeMap<TypeId, BTreeMap<(VertexId, VertexId), u32>> = BTreeMap::new();
        for edge in edges {
            let of_type = between.entry(edge.edge_type).or_default();
            *of_type.entry((edge.source, edge.target)).or_default() += 1;
        }
        for (edge_type, pairs) in between {
            let (pairs, wanted): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let mut counts = Vec::new();
            view.count_edges_between(&pairs, edge_type, &mut counts).unwrap();
            assert_eq!(counts, wanted, "parallel edges of type {}", edge_type.0);
        }
    }

    fn check_unique<V: GraphView>(&self, view: &V) {
        for (label, key) in view.catalogue().unique_keys() {
            let holders = self.vertices.iter().filter(|(_, (own, _))| *own == label);
            let holders = holders.filter_map(|(vertex, (_, values))| Some((values.get(&key)?, *vertex)));
            let holders: Vec<(&Value, VertexId)> = holders.collect();
            let values: Vec<Value> = holders.iter().map(|(value, _)| (*value).clone()).collect();
            let mut found = Vec::new();
            view.look_up(label, key, &values, &mut found).unwrap();
            let wanted: Vec<_> = holders.iter().map(|(_, vertex)| Some(*vertex)).collect();
            assert_eq!(found, wanted, "the unique index finds whom a scan finds: {values:?}");
        }
    }

    /// Holds the frozen lists of `view` against these contents, which must be its own.
    ///
    /// # Panics
    /// If they differ, or freezing fails.
    pub fn check_frozen<V: Freeze>(&self, view: &V) {
        let topology = view.freeze(&Projection::all(Direction::Both)).unwrap();
        let vertices: Vec<u32> = self.vertices.keys().map(|vertex| vertex.0).collect();
        assert!(topology.vertices().iter().eq(vertices.iter().copied()), "frozen vertices");
        assert_eq!(topology.edge_count(), self.edges.len() as u64, "frozen edges");
        for direction in [Direction::Out, Direction::In] {
            let mut frozen: Vec<(u32, u32)> = Vec::new();
            let mut buffer = PieceBuffer::default();
            let visited = topology.visit(direction, 0..topology.bound(), &mut buffer, |vertex, piece| {
                assert!(!piece.sorted || piece.neighbors.is_sorted(), "a piece is as sorted as it says");
                frozen.extend(piece.neighbors.iter().map(|neighbor| (vertex, *neighbor)));
                Visit::Continue
            });
            visited.unwrap();
            frozen.sort_unstable();
            let ends = self.edges.keys().map(|edge| match direction {
                Direction::In => (edge.target.0, edge.source.0),
                _ => (edge.source.0, edge.target.0),
            });
            let mut wanted: Vec<_> = ends.collect();
            wanted.sort_unstable();
            assert_eq!(frozen, wanted, "frozen {direction:?} lists");
            let mut degrees = vec![0; topology.bound() as usize];
            topology.degrees(direction, 0..topology.bound(), &mut degrees).unwrap();
            wanted.iter().for_each(|(vertex, _)| degrees[*vertex as usize] -= 1);
            assert!(degrees.iter().all(|left| *left == 0), "frozen {direction:?} degrees");
        }
    }
}

/// Calls `visit` with every edge of `view`, by source, from out lists alone. Memory: a batch.
///
/// # Panics
/// If reading fails.
pub fn for_each_edge<V: GraphView>(view: &V, mut visit: impl FnMut(EdgeId)) {
    for ids in scan(view, None, BATCH).chunks(BATCH) {
        expand_in_batches(view, ids, Direction::Out, BATCH, |batch| {
            batch.edges.iter().copied().for_each(&mut visit);
        });
    }
}

fn scan<V: GraphView>(view: &V, label: Option<LabelId>, limit: usize) -> Vec<VertexId> {
    let (mut cursor, mut found) = (VertexCursor::default(), Vec::new());
    while !cursor.done {
        let before = found.len();
        view.scan_vertices(label.as_ref().map(std::slice::from_ref), &mut cursor, limit, &mut found).unwrap();
        let rows = found.len() - before;
        assert!(rows <= limit && (cursor.done || rows == limit), "{rows} rows, asked for {limit}");
    }
    assert!(found.is_sorted_by(|a, b| a < b), "a scan ascends");
    found
}

/// Index of the row in `ids`, the vertex at the other end, the edge.
fn expand<V: GraphView>(
    view: &V,
    ids: &[VertexId],
    direction: Direction,
    limit: usize,
) -> Vec<(usize, VertexId, EdgeId)> {
    let mut rows = Vec::new();
    expand_in_batches(view, ids, direction, limit, |batch| {
        rows.extend((0..batch.len()).map(|at| {
            let row = batch.rows[at] as usize;
            (row, batch.neighbors[at], batch.edges[at])
        }));
    });
    assert!(rows.is_sorted_by_key(|row| row.0), "a row after the other");
    rows
}

fn expand_in_batches<V: GraphView>(
    view: &V,
    ids: &[VertexId],
    direction: Direction,
    limit: usize,
    mut visit: impl FnMut(&NeighborBatch),
) {
    let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    while !cursor.done {
        batch.clear();
        view.neighbors(ids, None, direction, &mut cursor, limit, &mut batch).unwrap();
        assert!(batch.len() <= limit && (cursor.done || batch.len() == limit));
        visit(&batch);
    }
}
