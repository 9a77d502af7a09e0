//! Checks: a healthy database has no findings, and each planted fault is named.

use std::ops::ControlFlow;
use std::sync::Arc;

use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{Direction, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_memory_engine::group::{EdgeSegment, Group};
use evergraph_memory_engine::segment::version::Segment;
use evergraph_storage::checkpoint::check::check_files;
use evergraph_storage::checkpoint::check_graph::{check_graph, check_index};
use evergraph_storage::checkpoint::report::Report;
use evergraph_storage::engine::Engine;
use evergraph_storage::index::property_index::PropertyIndex;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::options::Durability;
use evergraph_storage::timeline::clock::{Readable, Timeline};

use crate::support::{Database, LABEL};

fn go_on(_what: &str, _done: u64, _total: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn of_files(directory: &MemoryDirectory) -> Report {
    check_files::<MemoryEngine>(directory, &mut go_on).unwrap()
}

/// A database with two checkpoints and commits behind the second.
fn healthy(directory: &MemoryDirectory) -> Database {
    let database = Database::open(Arc::new(directory.clone()), Durability::Sync).unwrap();
    let mut random = SplitMix64::new(5);
    for at in 0..60 {
        let timestamp = database.append(&database.model().random_commit(&mut random)).unwrap();
        database.log.acknowledge(timestamp.0).unwrap();
        if at == 20 || at == 40 {
            database.checkpoint().unwrap();
        }
    }
    database.log.close().unwrap();
    database
}

#[test]
fn a_healthy_database_has_no_findings_and_everything_is_counted() {
    let directory = MemoryDirectory::new("db");
    let database = healthy(&directory);
    let files = of_files(&directory);
    assert_eq!(files.findings, []);
    assert!(files.is_healthy() && files.bodies_count > 4 && files.bytes_count > 4096, "{files:?}");
    assert_eq!(files.commits_count, 19);
    let model = database.model();
    let graph = check_graph(&database.engine.view(&(), database.published()), None, &mut go_on).unwrap();
    assert_eq!(graph.findings, []);
    let counts = (graph.vertices_count, graph.edges_count);
    assert_eq!(counts, (model.vertices.len() as u64, model.edges.len() as u64));
    let mut both = files.clone();
    both.add(graph);
    assert!(both.is_healthy() && both.commits_count == 19 && both.edges_count == counts.1);
}

#[test]
fn flipped_bytes_and_a_lost_log_are_found() {
    let directory = MemoryDirectory::new("db");
    drop(healthy(&directory));
    let mut found_in_log = 0;
    for name in directory.list().unwrap() {
        let length = directory.read_all(&name, 1 << 24).unwrap().len();
        let is_log = name.starts_with("log-");
        for at in (0..length).step_by(if is_log { 101 } else { 7 }) {
            let damaged = directory.power_cut();
            let file = damaged.open(&name, OpenMode::ReadWrite).unwrap();
            let mut byte = [0];
            file.read_at(&mut byte, at as u64).unwrap();
            file.write_at(&[byte[0] ^ 0x20], at as u64).unwrap();
            // In the log there is padding, and commits that nobody needs any more; `log_end` has two pages.
            let found = of_files(&damaged).findings_count;
            assert!(found > 0 || is_log || name == "log_end", "{name}, byte {at}");
            found_in_log += if is_log { found } else { 0 };
        }
    }
    assert!(found_in_log > 10, "{found_in_log}");
    for name in directory.list().unwrap().iter().filter(|name| name.starts_with("log-")) {
        directory.remove(name).unwrap();
    }
    let report = of_files(&directory);
    assert!(
        report.findings[0].problem.contains("is missing: log_end says that it was taken into use"),
        "{report:?}"
    );
}

#[test]
fn a_check_can_be_cancelled_and_needs_a_database() {
    let directory = MemoryDirectory::new("db");
    drop(healthy(&directory));
    let error = check_files::<MemoryEngine>(&directory, &mut |_, _, _| ControlFlow::Break(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let error = check_files::<MemoryEngine>(&MemoryDirectory::new("x"), &mut go_on).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

/// An engine with one group, in which rows 0 to 3 live and have these edges.
fn planted(out: &[(u32, u32)], into: &[(u32, u32)]) -> MemoryEngine {
    let side = |edges: &[(u32, u32)]| {
        let mut degrees = [0; 8];
        edges.iter().for_each(|(row, _)| degrees[*row as usize] += 1);
        let neighbors = edges.iter().map(|(_, neighbor)| *neighbor).collect();
        Arc::new(Segment::new(Timestamp(1), EdgeBody::new(&degrees, neighbors, Box::default(), Vec::new())))
    };
    let mut live = Box::new([0; 64]);
    live[0] = 0b1111;
    let vertices = Segment::new(Timestamp(1), VertexBody::new(live, Vec::new()));
    let subject = |side| EdgeSubject::new(TypeId(0), side);
    let edges = vec![
        EdgeSegment { subject: subject(Direction::Out), segment: side(out) },
        EdgeSegment { subject: subject(Direction::In), segment: side(into) },
    ];
    let engine = MemoryEngine::new(Arc::new(Timeline::new(Timestamp(1), Readable::Published)));
    engine.segments().attach(Arc::new(Group::with_edges(GroupId(0), LABEL, vertices, edges)));
    engine
}

fn findings(engine: &MemoryEngine) -> Vec<String> {
    let report = check_graph(&engine.view(&(), Timestamp(1)), None, &mut go_on).unwrap();
    assert_eq!(report.findings_count, report.findings.len() as u64);
    report.findings.into_iter().map(|finding| format!("{}: {}", finding.place, finding.problem)).collect()
}

#[test]
fn an_edge_on_one_side_only_is_named() {
    assert_eq!(findings(&planted(&[(0, 1), (2, 3)], &[(1, 0), (3, 2)])), [""; 0]);
    let missing = findings(&planted(&[(0, 1), (2, 3)], &[(1, 0)]));
    assert_eq!(missing, ["v2-[0:0]->v3: missing in the in list of v3"]);
    let missing = findings(&planted(&[(0, 1)], &[(1, 0), (3, 2)]));
    assert_eq!(missing, ["v2-[0:0]->v3: missing in the out list of v2"]);
}

#[test]
fn an_edge_without_a_live_end_and_a_list_out_of_order_are_named() {
    let dangling = findings(&planted(&[(0, 7)], &[(7, 0)]));
    assert_eq!(dangling.len(), 2, "{dangling:?}");
    assert_eq!(dangling[0], "v0-[0:0]->v7: v7 is not alive");
    assert!(dangling[1].contains("1 edges, but the vertex is not alive"), "{dangling:?}");
    let unsorted = findings(&planted(&[(0, 2), (0, 1)], &[(1, 0), (2, 0)]));
    assert_eq!(unsorted, ["the out edges of type 0 of v0: not in ascending order, or one twice"]);
}

#[test]
fn a_value_that_is_there_twice_or_unknown_to_its_index_is_named() {
    let directory = MemoryDirectory::new("db");
    let database = Database::open(Arc::new(directory), Durability::None).unwrap();
    let insert = |row, name: &str| Mutation::InsertVertex {
        vertex: VertexId(row),
        label: LABEL,
        properties: Properties::new(vec![(KeyId(0), Some(Value::from(name)))]),
    };
    database.append(&[insert(0, "ada"), insert(1, "bob"), insert(2, "ada")]).unwrap();
    let view = database.engine.view(&(), database.published());
    let id = IndexId { owner: Owner::Label(LABEL), key: KeyId(0), kind: IndexKind::Hash };
    let index = PropertyIndex::new(IndexDefinition { id, unique: true }, Timestamp::ZERO, 1);
    for row in [0, 2, 7] {
        index.fill(index.key(&Value::from("ada")), VertexId(row));
    }
    let catalogue = Catalogue::default();
    let report = check_index(&view, &index, &catalogue, &mut go_on).unwrap();
    assert_eq!((report.indexed_values_count, report.findings_count), (3, 2));
    assert_eq!((report.index_entries_count, report.stale_entries_count), (3, 1), "v7 isn't there");
    assert!(report.findings[0].problem.contains("has no entry for v1, which has"), "{report:?}");
    assert!(report.findings[1].problem.contains("of v0 and v2"), "{report:?}");
}
