//! Bridging the Gap between Relational OLTP and Graph-based OLAP (GART: Shen et al., ATC 2023): edges
//! of one epoch become visible together.

use crate::lists::{add_edges, before_and_after_merging, neighbors, vertices};
use evergraph::graph::topology::{PieceBuffer, Projection, Topology, Visit};
use evergraph::{Database, Direction, Freeze, GraphView, Snapshot, VertexId};

/// The neighbours of vertex 0 as a kernel visits them in a frozen snapshot, ascending.
fn frozen_neighbors(snapshot: &Snapshot, vertices: &[VertexId]) -> Vec<usize> {
    let topology = snapshot.freeze(&Projection::all(Direction::Out)).unwrap();
    let mut found = Vec::new();
    let row = vertices[0].0..vertices[0].0 + 1;
    let visit = topology.visit(Direction::Out, row, &mut PieceBuffer::default(), |_, piece| {
        found.extend(piece.neighbors.iter().map(|id| vertices.iter().position(|v| v.0 == *id).unwrap()));
        Visit::Continue
    });
    visit.unwrap();
    found.sort_unstable();
    found
}

/// Section 5.2, figure 7: "the 3rd to 5th edges of vertex 0 (offsets 2-4) are all inserted at epoch 3.
/// At epoch 4, the GAP worker will read all edges with the logical offset less than 5 at vertex 0."
///
/// Differs: an epoch is one transaction here, and its timestamp needs no table beside the list: bodies
/// carry none, and the records of a tail each have their own.
#[test]
fn the_edges_of_one_epoch_are_read_together() {
    let db = Database::in_memory().unwrap();
    let vertices = vertices(&db, 7);
    add_edges(&db, &vertices, &[(0, 1), (0, 2)]);
    let epoch_2 = db.snapshot();
    let mut epoch = db.begin();
    for target in [3, 4, 5] {
        epoch.add_edge(vertices[0], "E", vertices[target], &[]).unwrap();
        assert_eq!(neighbors(&db.snapshot(), &vertices, 0, Direction::Out), [1, 2], "none before the end");
    }
    let timestamp = epoch.commit().unwrap().timestamp;
    let epoch_3 = db.snapshot();
    assert_eq!(epoch_3.timestamp(), timestamp);
    // Something happens elsewhere, so that there is an epoch 4; then vertex 0 goes on.
    add_edges(&db, &vertices, &[(1, 4)]);
    let epoch_4 = db.snapshot();
    assert_eq!(epoch_4.timestamp(), timestamp.next());
    add_edges(&db, &vertices, &[(0, 6)]);

    before_and_after_merging(&db, |newest| {
        for (snapshot, list) in [
            (&epoch_2, &[1, 2][..]),
            (&epoch_3, &[1, 2, 3, 4, 5]),
            (&epoch_4, &[1, 2, 3, 4, 5]),
            (newest, &[1, 2, 3, 4, 5, 6]),
        ] {
            assert_eq!(neighbors(snapshot, &vertices, 0, Direction::Out), list);
            assert_eq!(frozen_neighbors(snapshot, &vertices), list);
        }
        assert_eq!(neighbors(&epoch_3, &vertices, 1, Direction::Out), [0_usize; 0]);
        assert_eq!(neighbors(&epoch_4, &vertices, 4, Direction::In), [0, 1]);
    });
}
