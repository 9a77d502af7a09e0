//! DGAP: Efficient Dynamic Graph Analysis on Persistent Memory (Islam, Dai, SC 2023): analysis on a
//! view that stays while edges are inserted, and what a crash leaves of a merge.

use crate::lists::{add_edges, before_and_after_merging, neighbors, vertices};
use evergraph::algorithms::control::Control;
use evergraph::algorithms::pagerank::{self, PageRankParameters};
use evergraph::algorithms::scope::Scope;
use evergraph::engines::engine::AnyEngine;
use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::environment::Environment;
use evergraph::storage::io::failing::{FailingDirectory, Fault};
use evergraph::storage::io::memory::{CrashOutcome, MemoryDirectory};
use evergraph::storage::io::write_unit::WriteUnit;
use evergraph::storage::open::{OpenOptions, OpenStore};
use evergraph::{Direction, Durability, EngineKind, GraphView, Result, Snapshot, VertexId};
use evergraph_tests::contents::Contents;
use evergraph_tests::store::{assert_healthy, checkpoint, crash, in_memory, open_synced, small_files};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// The engine that keeps records apart from bodies as DGAP does its logs, in memory, and the one that does so in mapped files.
const ENGINES: [EngineKind; 2] = [EngineKind::Memory, EngineKind::Mapped];

/// Sections 3.1.2 and 3.1.3, figure 3: 8 -> 9 goes to a gap of the edge array, 6 -> 1 and 6 -> 4 to the
/// section's edge log; a task that called `consistent_view()` before keeps reading the degrees of that
/// moment, and "future reads from the same task bypass the newly added data".
///
/// Differs: the view is a timestamp, not a copy of all degrees: begun in constant time, and nothing has
/// to hold updates meanwhile.
#[test]
fn a_consistent_view_bypasses_edges_inserted_later() {
    ENGINES.into_iter().for_each(bypass_edges);
}

fn bypass_edges(engine: EngineKind) {
    let db = in_memory(engine);
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
    ENGINES.into_iter().for_each(bypass_tombstones);
}

fn bypass_tombstones(engine: EngineKind) {
    let db = in_memory(engine);
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

/// Sections 3.1.2 and 3.1.4, the promise behind figures 3 and 4: an insertion is durable and visible when it returns, and a merge
/// that a crash interrupts anywhere leaves the old state or the new.
///
/// Differs: nothing is moved, so that nothing is undone. A merge writes bodies beside those that a manifest names, and what it
/// took stays in the log until a checkpoint has named them.
#[test]
fn a_merge_that_is_interrupted_anywhere_leaves_the_old_state_or_the_new() {
    // Of a disk, and of persistent memory.
    for unit in [WriteUnit::PAGE, WriteUnit::LINE] {
        let interrupted = (1..).take_while(|nth| is_interrupted_at(*nth, unit)).count();
        assert!(interrupted >= 10, "{unit:?}: only {interrupted} changes of the disk");
    }
}

/// Lets a disk of this unit stop at a change of it, counted from a merge on, behind which come a checkpoint, an insertion and
/// another merge. Whether there were so many changes.
fn is_interrupted_at(nth: u64, unit: WriteUnit) -> bool {
    let disk = MemoryDirectory::new("db").with_unit(unit);
    let faults = FailingDirectory::new(Arc::new(disk.clone()));
    // Nothing goes on beside the caller: the changes have one order.
    let options = OpenOptions {
        environment: Environment::simulated(1),
        ..small_files(EngineKind::Mapped, Durability::Sync)
    };
    let open = OpenStore::<AnyEngine>::open(Arc::new(faults.clone()), &options).unwrap();
    let AnyEngine::Mapped(engine) = &**open.store().engine() else {
        panic!("it was made with the mapped engine")
    };
    let vertices: Result<Vec<VertexId>> = open.store().transact(|tx| {
        let label = tx.label("V")?;
        (0..10).map(|_| tx.add_vertex(label, &[])).collect()
    });
    let vertices = vertices.unwrap();
    let mut before = BTreeSet::new();
    let mut insert_all = |edges: &[(usize, usize)]| {
        insert(&open, &vertices, edges).unwrap();
        before.extend(edges.iter().copied());
    };
    insert_all(&[(6, 7), (6, 9), (7, 2), (7, 6), (7, 8), (9, 6)]);
    engine.graph().merge_everything().unwrap();
    checkpoint(&open).unwrap();
    [(8, 9), (6, 1), (6, 4)].iter().for_each(|edge| insert_all(&[*edge]));

    faults.plan(Fault::any_change(io::ErrorKind::Other).nth(nth).lasting());
    let mut is_whole = engine.graph().merge_everything().is_ok();
    assert_eq!(edges_of(&open, &vertices), before, "change {nth}: it is read as before");
    is_whole &= checkpoint(&open).is_ok_and(|made| made.left_over.is_none());
    let inserted = insert(&open, &vertices, &[(8, 3)]);
    let mut after = before.clone();
    after.insert((8, 3));
    if inserted.is_ok() {
        assert_eq!(
            edges_of(&open, &vertices),
            after,
            "change {nth}: an insertion is visible when it returns"
        );
    }
    is_whole &= inserted.is_ok() && engine.graph().merge_everything().is_ok();
    let images = [disk.crash(|_| CrashOutcome::Kept), disk.power_cut(), crash(&disk, nth)];
    for (image, what) in images.iter().zip(["a kill", "a power cut", "one that keeps some writes"]) {
        let found = open_synced(EngineKind::Mapped, image);
        let found = found.unwrap_or_else(|error| panic!("{what} at change {nth}, {unit:?}: {error}"));
        assert_healthy(&found);
        let edges = edges_of(&found, &vertices);
        let is_either = edges == after || inserted.is_err() && edges == before;
        assert!(is_either, "{what} at change {nth}, {unit:?}, leaves {edges:?}");
    }
    !is_whole
}

/// Inserts edges between numbered vertices, in one transaction.
fn insert(open: &OpenStore<AnyEngine>, vertices: &[VertexId], edges: &[(usize, usize)]) -> Result<()> {
    open.store().transact(|tx| {
        let edge_type = tx.edge_type("E")?;
        for (source, target) in edges {
            tx.add_edge(vertices[*source], edge_type, vertices[*target], &[])?;
        }
        Ok(())
    })
}

/// The edges that a snapshot shows, on both sides, between numbered vertices.
fn edges_of(open: &OpenStore<AnyEngine>, vertices: &[VertexId]) -> BTreeSet<(usize, usize)> {
    let number = |vertex: VertexId| vertices.iter().position(|id| *id == vertex).unwrap();
    let contents = Contents::of(&open.store().snapshot(), 100);
    contents.edges.keys().map(|edge| (number(edge.source), number(edge.target))).collect()
}
