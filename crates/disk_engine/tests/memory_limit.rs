//! Memory limit: the process stays within the limit, a tenth and 64 MiB, with a graph of four times the limit: while it
//! is written, flushed and compacted, and while several threads read it. Alone in its process, whose peak it measures.
#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::sync::Arc;

const LIMIT_BYTES: u64 = 64 << 20;
/// Bytes of a vertex' property: 256 MiB together.
const VALUE_BYTES: usize = 8 << 10;
const VERTICES: usize = 32 << 10;
const BATCH_VERTICES: usize = 128;
const EDGES_OF_BATCH: usize = 1024;

/// The most memory that the process has had, in bytes; `None` where the system doesn't tell.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}

fn text(seed: usize) -> String {
    let mut random = SplitMix64::new(seed as u64);
    (0..VALUE_BYTES / 16).map(|_| format!("{:016x}", random.next_u64())).collect()
}

/// Vertices with a long property, and edges between those that are there so far.
fn write(open: &OpenStore<DiskEngine>) -> Result<Vec<VertexId>> {
    let (mut vertices, mut random) = (Vec::new(), SplitMix64::new(1));
    while vertices.len() < VERTICES {
        let added = open.store().transact(|tx| {
            let (label, key, edge_type) = (tx.label("Text")?, tx.key("text")?, tx.edge_type("CITES")?);
            let mut added = Vec::new();
            for at in 0..BATCH_VERTICES {
                let value = Value::from(text(vertices.len() + at).as_str());
                added.push(tx.add_vertex(label, &[(key, value)])?);
            }
            let known: usize = vertices.len();
            for _ in 0..if known == 0 { 0 } else { EDGES_OF_BATCH } {
                let mut any = || vertices[(random.next_u64() % known as u64) as usize];
                let (source, target) = (any(), any());
                tx.add_edge(source, edge_type, target, &[])?;
            }
            Ok(added)
        })?;
        vertices.extend(added);
    }
    Ok(vertices)
}

fn read(open: &OpenStore<DiskEngine>, vertices: &[VertexId], seed: u64) -> Result<usize> {
    let snapshot = open.store().snapshot();
    let key = snapshot.catalogue().key("text").unwrap();
    let mut random = SplitMix64::new(seed);
    let mut neighbors = 0;
    for _ in 0..24 {
        let rows: Vec<_> = (0..64).map(|_| (random.next_u64() % vertices.len() as u64) as usize).collect();
        let batch: Vec<_> = rows.iter().map(|row| vertices[*row]).collect();
        let mut column = Column::new(ValueType::String);
        snapshot.vertex_properties(&batch, key, &mut column)?;
        for (at, row) in rows.iter().enumerate().step_by(16) {
            assert_eq!(column.get(at), Some(Value::from(text(*row).as_str())));
        }
        let mut found = NeighborBatch::default();
        let mut cursor = NeighborCursor::default();
        snapshot.neighbors(&batch, None, Direction::Both, &mut cursor, usize::MAX, &mut found)?;
        neighbors += found.edges.len();
    }
    Ok(neighbors)
}

#[test]
fn the_process_stays_within_the_limit_while_it_writes_and_reads_four_times_as_much() {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions {
        durability: Durability::None,
        memory_limit_bytes: LIMIT_BYTES,
        ..OpenOptions::default()
    };
    let directory = || Arc::new(DiskDirectory::open_or_create(folder.path()).unwrap());
    let open = OpenStore::<DiskEngine>::open(directory(), &options).unwrap();
    let vertices = write(&open).unwrap();
    let written = peak_bytes();
    std::thread::scope(|scope| {
        let reads = (0..4).map(|seed| {
            scope.spawn({
                let (open, vertices) = (&open, &vertices);
                move || read(open, vertices, seed).unwrap()
            })
        });
        let reads: Vec<_> = reads.collect();
        assert!(reads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>() > 0);
    });
    let tree = open.store().engine().tree_statistics();
    let stored: u64 = tree.levels.iter().map(|level| level.topology_bytes + level.property_bytes).sum();
    let budget = open.store().budget();
    assert!(budget.used_bytes() <= LIMIT_BYTES, "{:?}", budget.reservations());
    let Some(peak) = peak_bytes() else { return };
    println!("written {written:?}, read {peak}, stored {stored}: {:?}", budget.reservations());
    assert!(stored + tree.graph_bytes > 7 * LIMIT_BYTES / 2, "{stored} bytes are several times the limit");
    assert!(peak <= LIMIT_BYTES + LIMIT_BYTES / 10 + (64 << 20), "{peak} bytes of memory");
}
