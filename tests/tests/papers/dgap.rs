//! DGAP: Efficient Dynamic Graph Analysis on Persistent Memory (Islam, Dai, SC 2023): analysis on a
//! view that stays while edges are inserted.

use crate::lists::{add_edges, before_and_after_merging, neighbors, vertices};
use evergraph::algorithms::control::Control;
use evergraph::algorithms::pagerank::{self, PageRankParameters};
use evergraph::algorithms::scope::Scope;
use evergraph::{Database, Direction, GraphView, Snapshot};

/// Sections 3.1.2 and 3.1.3, figure 3: 8 -> 9 goes to a gap of the edge array, 6 -> 1 and 6 -> 4 to the
/// section's edge log; a task that called `consistent_view()` before keeps reading the degrees of that
/// moment, and "future reads from the same task bypass the newly added data".
///
/// Differs: the view is a timestamp, not a copy of all degrees: begun in constant time, and nothing has
/// to hold updates meanwhile.
#[test]
fn a_consistent_view_bypasses_edges_inserted_later() {
    let db = Database::in_memory().unwrap();
    let vertices = vertices(&db, 10);
    add_edges(&db, &vertices, &[(6, 7), (6, 9), (7, 2), (7, 6), (7, 8), (9, 6)]);
    let ranks = |snapshot: &Snapshot| {
        let control = Control::new(evergraph::Freeze::budget(snapshot));
        pagerank::run(snapshot, &Scope::default(), &PageRankParameters::default(), &control).unwrap().scores
    };
    let view = db.snapshot();
    let first_ranks = ranks(&view);
    add_edges(&db, &vertices, &[(8, 9)]);
    let case_a = db.snapshot();
    add_edges(&db, &vertices, &[(6, 1)]);
    add_edges(&db, &vertices, &[(6, 4)]);

    before_and_after_merging(&db, |newest| {
        let expected =
            [(&view, &[7, 9][..], &[][..]), (&case_a, &[7, 9], &[9]), (newest, &[1, 4, 7, 9], &[9])];
        for (snapshot, of_6, of_8) in expected {
            assert_eq!(neighbors(snapshot, &vertices, 6, Direction::Out), of_6);
            assert_eq!(neighbors(snapshot, &vertices, 8, Direction::Out), of_8);
            let mut degrees = Vec::new();
            snapshot.degrees(&[vertices[6], vertices[8]], None, Direction::Out, &mut degrees).unwrap();
            assert_eq!(degrees, [of_6.len() as u64, of_8.len() as u64]);
        }
        assert_eq!(ranks(&view), first_ranks, "an analysis gives what it gave");
        assert_ne!(ranks(newest), first_ranks);
    });
}

/// Section 3.1.2: deleting an edge inserts it again with a tombstone, which a view from before bypasses
/// like any other later insertion.
#[test]
fn a_consistent_view_bypasses_tombstones_inserted_later() {
    let db = Database::in_memory().unwrap();
    let vertices = vertices(&db, 10);
    add_edges(&db, &vertices, &[(6, 7), (6, 9)]);
    let view = db.snapshot();
    db.transact(|tx| {
        let edges = tx.edges(vertices[6], Direction::Out, &["E"])?;
        let (edge, _) = edges.into_iter().find(|(_, target)| *target == vertices[7]).unwrap();
        tx.delete_edge(edge)
    })
    .unwrap();
    before_and_after_merging(&db, |newest| {
        assert_eq!(neighbors(&view, &vertices, 6, Direction::Out), [7, 9]);
        assert_eq!(neighbors(newest, &vertices, 6, Direction::Out), [9]);
    });
}
