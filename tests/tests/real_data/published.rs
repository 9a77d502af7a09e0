//! Graphs with published or computed answers, analysed while they change.

use crate::answers::{Answered, PUBLISHED};
use crate::imported::{Imported, database_of_parent, ids_of, options_for};
use crate::peak::{PeakMemory, alone};
use evergraph::graph::cancel::CancelFlag;
use evergraph::graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable};
use evergraph::graph::packed_column::PackedColumnBuilder;
use evergraph::graph::transaction::Transaction as _;
use evergraph::graph::value::ValueType;
use evergraph::import::read::read;
use evergraph::{Database, Direction, EdgeId, EngineKind, Snapshot, Value, VertexId};
use evergraph_tests::data_folder::data_set;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Adds edges between any two vertices and deletes stored ones, until told to stop; how many.
fn churn(db: &Database, vertices: u32, stop: &AtomicBool) -> u64 {
    let mut commits = 0;
    let mut state = 1_u32;
    let mut any = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        VertexId((state >> 8) % vertices)
    };
    while !stop.load(Ordering::Relaxed) {
        let mut tx = db.store().begin();
        let edge_type = tx.edge_type("EDGE").unwrap();
        for _ in 0..10 {
            let (source, target) = (any(), any());
            let mut list = Vec::new();
            let edge = EdgeId { source, edge_type, target, discriminator: 0 };
            evergraph::GraphView::has_edges(&tx, &[edge], &mut list).unwrap();
            match list[0] {
                true => tx.delete_edge(edge).unwrap(),
                false => drop(tx.add_edge(source, edge_type, target, &[]).unwrap()),
            }
        }
        tx.commit().unwrap();
        commits += 1;
    }
    commits
}

fn twitter_has_the_computed_answers_while_others_write_on(engine: EngineKind) {
    let Some(folder) = data_set("twitter-ego") else { return };
    let imported =
        Imported::new(engine, &options_for([folder.join("twitter.v.gz"), folder.join("twitter.e.gz")]));
    assert_eq!(imported.db.statistics().unwrap().edges_count(), 1_768_135);
    assert_eq!(imported.ids.len(), 81_307);
    // Both from before whatever is written.
    let snapshots = imported.snapshots();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| churn(&imported.db, 81_307, &stop));
        let reader = scope.spawn(|| {
            let file = |name: &str| folder.join(format!("twitter-{name}.gz"));
            let answered =
                |snapshot| Answered { snapshot, ids: &imported.ids, source: 4, direction: Direction::Out };
            snapshots.iter().for_each(|snapshot| answered(snapshot).check_all(file));
        });
        // The writer ends whatever became of the reader.
        let read = reader.join();
        stop.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 100, "somebody wrote meanwhile");
        read.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

#[test]
fn twitter_has_the_computed_answers_while_others_write() {
    twitter_has_the_computed_answers_while_others_write_on(EngineKind::Memory);
}

#[test]
fn twitter_has_the_computed_answers_while_others_write_on_disk() {
    alone("published::twitter_has_the_computed_answers_while_others_write_on_disk", || {
        let peak = PeakMemory::begin();
        twitter_has_the_computed_answers_while_others_write_on(EngineKind::Disk);
        if let Some(peak) = peak {
            peak.assert_within_limit();
        }
    });
}

#[test]
fn twitter_has_the_computed_answers_while_others_write_in_mapped_files() {
    twitter_has_the_computed_answers_while_others_write_on(EngineKind::Mapped);
}

/// The edges come in random order; the last thousandth as transactions of one edge each.
fn rmat17_has_the_computed_answers_with_its_last_edges_just_inserted_on(engine: EngineKind) {
    const FRESH: usize = 2_097;
    let Some(folder) = data_set("rmat17") else { return };
    let options =
        options_for([folder.join("rmat17.e.gz")]).with(|options| options.lists.vertices = Some(0..131_072));
    let mut load = read(&options, &|_| ()).unwrap().load;
    let mut ends = load.edges[0].ends().unwrap();
    assert_eq!(ends.len(), 2_097_152);
    let weight = |source: u32, target: u32| {
        let (source, target) = (u64::from(source), u64::from(target));
        ((7919 * source + 104_729 * target) % 100 + 1) as f64
    };
    let fresh = ends.split_off(ends.len() - FRESH);
    // With a range of ids, row and id are one.
    let block = |ends: &[(u32, u32)]| {
        let mut weights = PackedColumnBuilder::default();
        ends.iter().for_each(|(source, target)| weights.push_f64(weight(*source, *target)));
        EdgeBlock { columns: vec![weights.finish()], ..EdgeBlock::bare(ends.iter().copied()) }
    };
    let properties = vec![("weight".to_owned(), ValueType::F64)];
    load.edges[0] = EdgeTable::new("EDGE", 0, 0, properties, ends.chunks(BLOCK_ROWS).map(block).collect());

    // From here on, beside what the test itself holds.
    let peak = PeakMemory::begin().filter(|_| engine == EngineKind::Disk);
    let mut imported = Imported::empty(engine);
    imported.db.load(&load, &|_| (), &CancelFlag::default()).unwrap();
    imported.read_ids();
    assert!(imported.ids.iter().all(|(id, vertex)| *id == i64::from(vertex.0)));
    for (source, target) in fresh {
        let mut tx = imported.db.store().begin();
        let (edge_type, key) = (tx.edge_type("EDGE").unwrap(), tx.key("weight").unwrap());
        let weight = Value::F64(weight(source, target));
        tx.add_edge(VertexId(source), edge_type, VertexId(target), &[(key, weight)]).unwrap();
        tx.commit().unwrap();
    }
    let statistics = imported.db.statistics().unwrap();
    assert_eq!((statistics.vertices_count(), statistics.edges_count()), (131_072, 2_097_152));
    assert!(imported.has_fresh_records(), "some edges are in no file yet");
    check_rmat17(&folder, &imported.db.snapshot(), &imported.ids);
    if engine == EngineKind::Mapped {
        imported.read_in_child("published::child_that_reads");
    }
    imported.assert_healthy();
    if let Some(peak) = peak {
        peak.assert_within_limit();
    }
}

fn check_rmat17(folder: &Path, snapshot: &Snapshot, ids: &BTreeMap<i64, VertexId>) {
    let answered = Answered { snapshot, ids, source: 72_080, direction: Direction::Out };
    answered.check_all(|name| folder.join(format!("rmat17-{name}.gz")));
}

/// No test but in a child of `rmat17` in mapped files, which has the database open.
#[test]
fn child_that_reads() {
    let (Some(reader), Some(folder)) = (database_of_parent(), data_set("rmat17")) else { return };
    assert!(reader.writer_process().is_some_and(|writer| writer != std::process::id()));
    let snapshot = reader.snapshot();
    check_rmat17(&folder, &snapshot, &ids_of(&snapshot));
}

#[test]
fn rmat17_has_the_computed_answers_with_its_last_edges_just_inserted() {
    rmat17_has_the_computed_answers_with_its_last_edges_just_inserted_on(EngineKind::Memory);
}

#[test]
fn rmat17_has_the_computed_answers_with_its_last_edges_just_inserted_on_disk() {
    alone("published::rmat17_has_the_computed_answers_with_its_last_edges_just_inserted_on_disk", || {
        rmat17_has_the_computed_answers_with_its_last_edges_just_inserted_on(EngineKind::Disk);
    });
}

#[test]
fn rmat17_has_the_computed_answers_with_its_last_edges_just_inserted_in_mapped_files() {
    rmat17_has_the_computed_answers_with_its_last_edges_just_inserted_on(EngineKind::Mapped);
}

fn the_graphalytics_examples_have_the_published_answers_on(engine: EngineKind) {
    let Some(folder) = data_set("graphalytics-validation") else { return };
    for (name, direction, source) in [("directed", Direction::Out, 1), ("undirected", Direction::Both, 2)] {
        let file = |ending: &str| folder.join(format!("example/example-{name}{ending}"));
        let imported = Imported::new(engine, &options_for([file(".v"), file(".e")]));
        for snapshot in &imported.snapshots() {
            let answered = Answered { snapshot, ids: &imported.ids, source, direction };
            answered.check_bfs(&file("-BFS"));
            answered.check_sssp(&file("-SSSP"));
            answered.check_wcc(&file("-WCC"));
            answered.check_pagerank(2, PUBLISHED, &file("-PR"));
        }
    }
}

#[test]
fn the_graphalytics_examples_have_the_published_answers() {
    the_graphalytics_examples_have_the_published_answers_on(EngineKind::Memory);
}

#[test]
fn the_graphalytics_examples_have_the_published_answers_on_disk() {
    the_graphalytics_examples_have_the_published_answers_on(EngineKind::Disk);
}

#[test]
fn the_graphalytics_examples_have_the_published_answers_in_mapped_files() {
    the_graphalytics_examples_have_the_published_answers_on(EngineKind::Mapped);
}
