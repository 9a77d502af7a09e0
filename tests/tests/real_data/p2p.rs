//! p2p-31: 147,892 weighted edges, of which 10,000 are added, 10,000 more were deleted and 10,000
//! weights set by 30,000 updates of a base graph: in memory each a transaction of its own, elsewhere ten at a time. In mapped
//! files a reader beside the writer has the same edges before and after, and another process the same answers.

use crate::answers::Answered;
use crate::imported::{Imported, database_of_parent, ids_of, options_for};
use evergraph::graph::column::Column;
use evergraph::graph::transaction::Transaction as _;
use evergraph::graph::value::ValueType;
use evergraph::import::options::{ImportOptions, InputFile, Role};
use evergraph::{Database, Direction, EdgeId, EngineKind, GraphView, Snapshot, Value, VertexId};
use evergraph_tests::contents::{Contents, for_each_edge};
use evergraph_tests::data::read_text;
use evergraph_tests::data_folder::data_set;
use std::collections::BTreeMap;
use std::path::Path;

type Pairs = BTreeMap<(VertexId, VertexId), f64>;

/// The edges and weights of a file, `source target weight` a line.
fn pairs(imported: &Imported, file: &Path) -> Pairs {
    let text = read_text(file);
    let pair = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let vertex = |at: usize| imported.ids[&words[at].parse().unwrap()];
        ((vertex(0), vertex(1)), words[2].parse().unwrap())
    };
    text.lines().map(pair).collect()
}

/// The edges and weights of a snapshot, as its out lists have them.
fn found(snapshot: &Snapshot) -> Pairs {
    let mut edges = Vec::new();
    for_each_edge(snapshot, |edge| edges.push(edge));
    weighted(snapshot, &edges)
}

/// The same, checked from every side: what takes longest here.
fn found_from_every_side(snapshot: &Snapshot) -> Pairs {
    let contents = Contents::of(snapshot, 10_000);
    contents.check_frozen(snapshot);
    let edges: Vec<EdgeId> = contents.edges.into_keys().collect();
    weighted(snapshot, &edges)
}

fn weighted(snapshot: &Snapshot, edges: &[EdgeId]) -> Pairs {
    let mut weights = Column::new(ValueType::F64);
    let key = snapshot.catalogue().key("weight").unwrap();
    snapshot.edge_properties(edges, key, &mut weights).unwrap();
    let weight = |row: usize| weights.get(row).unwrap().as_f64().unwrap();
    let pairs: Pairs =
        edges.iter().enumerate().map(|(row, edge)| ((edge.source, edge.target), weight(row))).collect();
    assert_eq!(pairs.len(), edges.len(), "no edge twice");
    pairs
}

/// Runs lines of the delta as one transaction.
fn update(imported: &Imported, lines: &[&str]) {
    let mut tx = imported.db.store().begin();
    let (edge_type, key) = (tx.edge_type("EDGE").unwrap(), tx.key("weight").unwrap());
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let vertex = |at: usize| imported.ids[&words[at].parse().unwrap()];
        let (source, target) = (vertex(1), vertex(2));
        let weight = || Value::F64(words[3].parse().unwrap());
        let edge = EdgeId { source, edge_type, target, discriminator: 0 };
        match words[0] {
            "a" => assert_eq!(tx.add_edge(source, edge_type, target, &[(key, weight())]).unwrap(), edge),
            "d" => tx.delete_edge(edge).unwrap(),
            "u" => tx.set_edge_property(edge, key, Some(weight())).unwrap(),
            other => panic!("an update of kind {other}"),
        }
    }
    tx.commit().unwrap();
}

fn check_answers(folder: &Path, snapshot: &Snapshot, ids: &BTreeMap<i64, VertexId>) {
    let undirected = Answered { snapshot, ids, source: 6, direction: Direction::Both };
    undirected.check_all(|name| folder.join(format!("p2p-31-{name}.gz")));
    let directed = Answered { direction: Direction::Out, ..undirected };
    let computed = folder.join("computed-here-directed");
    directed.check_all(|name| computed.join(format!("p2p-31-directed-{name}.gz")));
    directed.check_bfs(&folder.join("p2p-31-BFS-directed.gz"));
    directed.check_sssp(&folder.join("p2p-31-SSSP-directed.gz"));
}

fn a_base_and_its_updates_are_the_published_graph_on(engine: EngineKind, updates_at_once: usize) {
    let Some(folder) = data_set("p2p-31") else { return };
    let vertices = InputFile::new(folder.join("p2p-31.v.gz"));
    let base_file = folder.join("p2p-31.e.mutable_base.gz");
    let base = InputFile::new(&base_file).role(Role::EdgeList);
    let imported = Imported::new(engine, &ImportOptions::new([vertices, base]));
    assert_eq!(imported.ids.len(), 62_586);
    let before = imported.db.snapshot();
    let reader = imported.reader();
    let seen_before = reader.as_ref().map(Database::snapshot);

    let delta = read_text(&folder.join("p2p-31.e.mutable_delta.gz"));
    let delta: Vec<&str> = delta.lines().collect();
    assert_eq!(delta.len(), 30_000);
    delta.chunks(updates_at_once).for_each(|lines| update(&imported, lines));
    let commits = (delta.len() / updates_at_once) as u64;
    let statistics = imported.db.store().statistics();
    assert_eq!((statistics.commits, statistics.conflicts), (commits, 0));
    assert!(imported.has_fresh_records(), "some of it is in no file yet");
    let after = imported.db.snapshot();
    check_answers(&folder, &after, &imported.ids);
    let wanted = pairs(&imported, &folder.join("p2p-31.e.gz"));
    assert_eq!(wanted.len(), 147_892);
    assert!(found_from_every_side(&after) == wanted);
    let base = pairs(&imported, &base_file);
    assert!(found(&before) == base, "the snapshot from before the updates");
    if let (Some(reader), Some(seen_before)) = (&reader, &seen_before) {
        assert!(found(&reader.snapshot()) == wanted, "what a reader sees of the updates");
        assert!(found(seen_before) == base, "a reader's snapshot from before the updates");
        imported.read_in_child("p2p::child_that_reads");
    }
    drop((before, after, seen_before, reader));

    // From the log alone, then from a checkpoint alone.
    let imported = imported.reopened();
    assert_eq!(imported.db.open_store().unwrap().recovery().commits, commits);
    assert!(found(&imported.db.snapshot()) == wanted);
    let imported = imported.reopened_from_checkpoint();
    let snapshot = imported.db.snapshot();
    assert!(found(&snapshot) == wanted);
    // The others are asked for above, and right after an import.
    let undirected =
        Answered { snapshot: &snapshot, ids: &imported.ids, source: 6, direction: Direction::Both };
    undirected.check_sssp(&folder.join("p2p-31-SSSP.gz"));
    undirected.check_wcc(&folder.join("p2p-31-WCC.gz"));
    imported.assert_healthy();
}

/// No test but in a child of the one in mapped files, which has the database open.
#[test]
fn child_that_reads() {
    let (Some(reader), Some(folder)) = (database_of_parent(), data_set("p2p-31")) else { return };
    assert!(reader.writer_process().is_some_and(|writer| writer != std::process::id()));
    let snapshot = reader.snapshot();
    let ids = ids_of(&snapshot);
    assert_eq!(ids.len(), 62_586);
    check_answers(&folder, &snapshot, &ids);
}

#[test]
fn a_base_and_its_updates_are_the_published_graph() {
    a_base_and_its_updates_are_the_published_graph_on(EngineKind::Memory, 1);
}

#[test]
fn a_base_and_its_updates_are_the_published_graph_on_disk() {
    a_base_and_its_updates_are_the_published_graph_on(EngineKind::Disk, 10);
}

#[test]
fn a_base_and_its_updates_are_the_published_graph_in_mapped_files() {
    a_base_and_its_updates_are_the_published_graph_on(EngineKind::Mapped, 10);
}

fn the_published_graph_has_the_published_answers_right_after_its_import_on(engine: EngineKind) {
    let Some(folder) = data_set("p2p-31") else { return };
    let imported =
        Imported::new(engine, &options_for([folder.join("p2p-31.v.gz"), folder.join("p2p-31.e.gz")]));
    check_answers(&folder, &imported.db.snapshot(), &imported.ids);
    imported.assert_healthy();
}

#[test]
fn the_published_graph_has_the_published_answers_right_after_its_import() {
    the_published_graph_has_the_published_answers_right_after_its_import_on(EngineKind::Memory);
}

#[test]
fn the_published_graph_has_the_published_answers_right_after_its_import_on_disk() {
    the_published_graph_has_the_published_answers_right_after_its_import_on(EngineKind::Disk);
}

#[test]
fn the_published_graph_has_the_published_answers_right_after_its_import_in_mapped_files() {
    the_published_graph_has_the_published_answers_right_after_its_import_on(EngineKind::Mapped);
}
