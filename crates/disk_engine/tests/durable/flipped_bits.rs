//! A flipped bit anywhere in a database's files: the right answer, or an error that names file and place; a check finds it.

use crate::support::{Database, Graph, files, go_on, open};
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, GraphView, NeighborBatch, NeighborCursor, VertexCursor};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::Report;
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const HEAD_BYTES: u64 = 4096;
const PAGE_BYTES: u64 = 16 << 10;
const LIMITS: PickLimits =
    PickLimits { flushed_runs: 2, flushed_bytes_max: 1 << 30, size_ratio: 2, base_bytes: 1 };

const NAME: IndexRequest<'static> =
    IndexRequest { owner: OwnerName::Label("Person"), key: "name", kind: IndexKind::Hash, unique: false };
const WEIGHT: IndexRequest<'static> = IndexRequest {
    owner: OwnerName::EdgeType("KNOWS"),
    key: "weight",
    kind: IndexKind::Ordered,
    unique: false,
};

/// The holders of each name, and of one that nobody has.
type Holders = Vec<Vec<VertexId>>;
/// Edges in the order of weights.
type Weighted = Vec<(Value, EdgeId)>;

/// What indexes say.
#[derive(PartialEq, Debug)]
struct LookUps {
    named: Holders,
    weighted: Weighted,
}

/// Names of `graph` in order, and one that nobody has.
fn names(graph: &Graph) -> Vec<Value> {
    let names: BTreeSet<Value> = graph.vertices.values().flatten().map(|(_, value)| value.clone()).collect();
    names.into_iter().chain([Value::from("nobody")]).collect()
}

/// What the indexes must say, by `graph` alone.
fn found_by_hand(graph: &Graph) -> LookUps {
    let holds = |values: &[(_, Value)], name: &Value| values.iter().any(|(_, value)| value == name);
    let holders = |name: &Value| {
        let holders = graph.vertices.iter().filter(|(_, values)| holds(values, name));
        holders.map(|(vertex, _)| *vertex).collect()
    };
    let mut weighted: Vec<_> = graph
        .edges
        .iter()
        .flat_map(|(edge, values)| values.iter().map(|(_, weight)| (weight.clone(), *edge)))
        .collect();
    weighted.sort();
    LookUps { named: names(graph).iter().map(holders).collect(), weighted }
}

/// What the indexes say, or the first error of each of the two.
fn look_up(view: &impl GraphView, names: &[Value]) -> (Result<Holders>, Result<Weighted>) {
    let catalogue = view.catalogue();
    let (label, name) = (catalogue.label("Person").unwrap(), catalogue.key("name").unwrap());
    let (edge_type, weight) = (catalogue.edge_type("KNOWS").unwrap(), catalogue.key("weight").unwrap());
    let holders = |value: &Value| {
        let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
        let values = std::slice::from_ref(value);
        view.look_up_vertices(label, name, values, &mut cursor, usize::MAX, &mut found)?;
        Ok(found.items)
    };
    let weighted = || {
        let (mut found, mut cursor) = (OrderedMatches::default(), RangeCursor::default());
        while !cursor.done {
            view.range_edges(edge_type, weight, &ValueRange::ALL, &mut cursor, 20, &mut found)?;
        }
        Ok(found.values.into_iter().zip(found.items).collect())
    };
    (names.iter().map(holders).collect(), weighted())
}

/// What a view shows, or its first error.
fn read<V: GraphView>(view: &V) -> Result<Graph> {
    let (mut vertices, mut cursor) = (Vec::new(), VertexCursor::default());
    while !cursor.done {
        view.scan_vertices(None, &mut cursor, 50, &mut vertices)?;
    }
    let (mut edges, mut cursor) = (Vec::new(), EdgeCursor::default());
    while !cursor.done {
        view.scan_edges(None, &mut cursor, 50, &mut edges)?;
    }
    let (mut batch, mut cursor) = (NeighborBatch::default(), NeighborCursor::default());
    view.neighbors(&vertices, None, Direction::In, &mut cursor, usize::MAX, &mut batch)?;
    let mut arriving = batch.edges;
    arriving.sort_unstable();
    assert_eq!(arriving, edges, "both sides have the same edges");
    let mut graph = Graph { vertices: BTreeMap::new(), edges: BTreeMap::new() };
    for vertex in vertices {
        graph.vertices.insert(vertex, view.vertex_property_map(vertex)?);
    }
    for edge in edges {
        graph.edges.insert(edge, view.edge_property_map(edge)?);
    }
    Ok(graph)
}

fn check(directory: &MemoryDirectory) -> Report {
    let mut report = Report::default();
    let manifest = Manifest::read(directory, DiskEngine::opens).unwrap();
    DiskEngine::check_files(directory, &manifest, &mut report, &mut |_, _, _| go_on(())).unwrap();
    report
}

#[test]
fn a_flipped_bit_is_never_a_wrong_answer_and_is_found() {
    let directory = MemoryDirectory::new("db");
    let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, 12).unwrap();
    for request in [NAME, WEIGHT] {
        database.open.store().create_index(&request, &mut |_| Ok(())).unwrap();
    }
    for round in 0..4 {
        assert!(database.commit_some(50));
        database.checkpoint().unwrap();
        if round == 1 {
            while database.open.store().engine().compact_by(&LIMITS).unwrap() {}
            database.checkpoint().unwrap();
        }
    }
    let wanted = database.newest().clone();
    let (names, by_hand) = (names(&wanted), found_by_hand(&wanted));
    let (mut refused, mut failed, mut unfound, mut unseen) = (0, 0, 0, 0);
    for name in files(&directory) {
        let bytes = directory.open(&name, OpenMode::Read).unwrap().len().unwrap();
        let pages = (bytes - HEAD_BYTES) / PAGE_BYTES;
        // Of each page: checksum, kind, subject, rank, the beginning of its content, and the unused end.
        let places = (0..pages)
            .flat_map(|page| [0, 9, 25, 47, PAGE_BYTES - 1].map(|at| HEAD_BYTES + page * PAGE_BYTES + at));
        let end = HEAD_BYTES + pages * PAGE_BYTES;
        for (number, offset) in places.chain([0, 30, 4000]).chain((end..bytes).step_by(41)).enumerate() {
            let image = directory.power_cut();
            let file = image.open(&name, OpenMode::ReadWrite).unwrap();
            let mut byte = [0];
            file.read_at(&mut byte, offset).unwrap();
            file.write_at(&[byte[0] ^ 1 << (number % 8)], offset).unwrap();
            let at = format!("byte {offset} of {name}");
            let report = check(&image);
            let is_found = report.findings.iter().any(|finding| finding.problem.contains(&name));
            assert!(is_found, "{at}: {report:?}");
            let mut errors = Vec::new();
            match open(Arc::new(image), Durability::Sync) {
                Err(error) => {
                    refused += 1;
                    assert!(
                        offset < HEAD_BYTES || offset >= end,
                        "{at}: pages are read when they are asked for: {error}"
                    );
                    errors.push(error);
                }
                Ok(again) => {
                    let snapshot = again.store().snapshot();
                    match read(&snapshot) {
                        Ok(graph) => assert_eq!(graph, wanted, "{at}"),
                        Err(error) => {
                            failed += 1;
                            // It is not cached, and a second reader is told the same.
                            let second = read(&snapshot).unwrap_err();
                            assert_eq!(second.to_string(), error.to_string(), "{at}");
                            errors.push(error);
                        }
                    }
                    let of_graph = errors.len();
                    let (named, weighted) = look_up(&snapshot, &names);
                    match named {
                        Ok(named) => assert_eq!(named, by_hand.named, "{at}"),
                        Err(error) => errors.push(error),
                    }
                    match weighted {
                        Ok(weighted) => assert_eq!(weighted, by_hand.weighted, "{at}"),
                        Err(error) => errors.push(error),
                    }
                    unfound += u64::from(of_graph == 0 && !errors.is_empty());
                    unseen += u64::from(errors.is_empty());
                }
            }
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{at}: {error}");
                let text = error.to_string();
                assert!(text.contains(&name) && text.contains("corrupt at byte"), "{at}: {text}");
                if !(HEAD_BYTES..end).contains(&offset) {
                    continue;
                }
                let named: u64 = text
                    .split("corrupt at byte ")
                    .nth(1)
                    .unwrap()
                    .split(':')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap();
                assert_eq!(
                    (named - HEAD_BYTES) / PAGE_BYTES,
                    (offset - HEAD_BYTES) / PAGE_BYTES,
                    "{at}: {text}"
                );
            }
        }
    }
    let counts = format!("{refused} refused, {failed} failed, {unfound} in indexes alone, {unseen} unseen");
    assert!(refused > 20 && failed > 20 && unfound >= 20, "{counts}");
}
