//! Lists: what the papers' figures show of a vertex, read from a view.

use evergraph::{Database, Direction, GraphView, ReadByName, Snapshot, VertexId};

/// `count` vertices, numbered as in the figure.
pub fn vertices(db: &Database, count: usize) -> Vec<VertexId> {
    db.transact(|tx| (0..count).map(|_| tx.add_vertex("V", &[])).collect()).unwrap()
}

/// Adds edges between numbered vertices, all in one transaction.
pub fn add_edges(db: &Database, vertices: &[VertexId], edges: &[(usize, usize)]) {
    db.transact(|tx| {
        for (source, target) in edges {
            tx.add_edge(vertices[*source], "E", vertices[*target], &[])?;
        }
        Ok(())
    })
    .unwrap();
}

/// The numbers of the neighbours of a vertex, ascending.
pub fn neighbors<V: GraphView>(
    view: &V,
    vertices: &[VertexId],
    of: usize,
    direction: Direction,
) -> Vec<usize> {
    let number = |vertex| vertices.iter().position(|id| *id == vertex).unwrap();
    let edges = view.edges(vertices[of], direction, &[]).unwrap();
    let mut numbers: Vec<usize> = edges.into_iter().map(|(_, neighbor)| number(neighbor)).collect();
    numbers.sort_unstable();
    numbers
}

/// Runs `check` on what is there, and again when every record has been merged into a body.
pub fn before_and_after_merging(db: &Database, check: impl Fn(&Snapshot)) {
    check(&db.snapshot());
    db.store().engine().merge_everything();
    assert_eq!(db.store().statistics().engine.fresh_edge_records, 0, "everything is merged");
    check(&db.snapshot());
}
