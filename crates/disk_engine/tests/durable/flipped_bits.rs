//! A flipped bit anywhere in a database's files: the right answer, or an error that names file and place; a check finds it.

use crate::support::{Database, Graph, files, go_on, open};
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::view::{EdgeCursor, GraphView, NeighborBatch, NeighborCursor, VertexCursor};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::Report;
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use std::collections::BTreeMap;
use std::sync::Arc;

const HEAD_BYTES: u64 = 4096;
const PAGE_BYTES: u64 = 16 << 10;
const LIMITS: PickLimits =
    PickLimits { flushed_runs: 2, flushed_bytes_max: 1 << 30, size_ratio: 2, base_bytes: 1 };

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
    for round in 0..4 {
        assert!(database.commit_some(50));
        database.checkpoint().unwrap();
        if round == 1 {
            while database.open.store().engine().compact_by(&LIMITS).unwrap() {}
            database.checkpoint().unwrap();
        }
    }
    let wanted = database.newest().clone();
    let (mut refused, mut failed, mut unseen) = (0, 0, 0);
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
            let error = match open(Arc::new(image), Durability::Sync) {
                Err(error) => {
                    refused += 1;
                    assert!(
                        offset < HEAD_BYTES || offset >= end,
                        "{at}: pages are read when they are asked for: {error}"
                    );
                    error
                }
                Ok(again) => {
                    let snapshot = again.store().snapshot();
                    match read(&snapshot) {
                        Ok(graph) => {
                            unseen += 1;
                            assert_eq!(graph, wanted, "{at}");
                            continue;
                        }
                        Err(error) => {
                            failed += 1;
                            // It is not cached, and a second reader is told the same.
                            let second = read(&snapshot).unwrap_err();
                            assert_eq!(second.to_string(), error.to_string(), "{at}");
                            error
                        }
                    }
                }
            };
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{at}: {error}");
            let text = error.to_string();
            assert!(text.contains(&name) && text.contains("corrupt at byte"), "{at}: {text}");
            if (HEAD_BYTES..end).contains(&offset) {
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
    assert!(refused > 20 && failed > 20, "{refused} refused, {failed} failed, {unseen} unseen");
}
