//! Held snapshot: while one is open for many commits, the disk keeps what it reads, which is reported, and the memory stays
//! within the limit, a tenth and 64 MiB. Alone in its process, whose peak it measures.
//!
//! EVERGRAPH_HELD_COMMITS sets the number of commits (10,000).
#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::file::page_reader::PinnedStatistics;
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

const LIMIT_BYTES: u64 = 64 << 20;
const VERTICES: usize = 2_000;
/// Bytes of the property that each commit sets anew, of one vertex after the other.
const VALUE_BYTES: usize = 16 << 10;

/// The most memory that the process has had, in bytes; `None` where the system doesn't tell.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}

fn commits() -> usize {
    let commits = std::env::var("EVERGRAPH_HELD_COMMITS");
    commits.map_or(10_000, |text| text.parse().expect("EVERGRAPH_HELD_COMMITS is a number"))
}

/// The property's value after so many rounds.
fn text(vertex: VertexId, round: usize) -> Value {
    let unit = format!("{:08x}{round:08x}", vertex.0);
    Value::from(unit.repeat(VALUE_BYTES / unit.len()).as_str())
}

struct Graph {
    open: OpenStore<DiskEngine>,
    vertices: Vec<VertexId>,
}

impl Graph {
    fn new(directory: DiskDirectory) -> Result<Self> {
        let options = OpenOptions {
            durability: Durability::None,
            memory_limit_bytes: LIMIT_BYTES,
            ..OpenOptions::default()
        };
        let open = OpenStore::<DiskEngine>::open(Arc::new(directory), &options)?;
        let vertices = open.store().transact(|tx| {
            let (label, _, _) = (tx.label("Text")?, tx.key("text")?, tx.edge_type("NEXT")?);
            (0..VERTICES).map(|_| tx.add_vertex(label, &[])).collect::<Result<Vec<_>>>()
        })?;
        let mut graph = Self { open, vertices };
        (0..VERTICES).try_for_each(|commit| graph.commit(commit))?;
        Ok(graph)
    }

    /// Sets the property of one vertex, and replaces the edge that leaves it.
    fn commit(&mut self, commit: usize) -> Result<()> {
        let (at, round) = (commit % VERTICES, commit / VERTICES);
        let vertex = self.vertices[at];
        let target = |round: usize| self.vertices[(at + round) % VERTICES];
        self.open.store().transact(|tx| {
            let (key, edge_type) = (tx.key("text")?, tx.edge_type("NEXT")?);
            tx.set_vertex_property(vertex, key, Some(text(vertex, round)))?;
            if let Some(before) = round.checked_sub(1) {
                let target = target(before);
                tx.delete_edge(EdgeId { source: vertex, edge_type, target, discriminator: 0 })?;
            }
            tx.add_edge(vertex, edge_type, target(round), &[]).map(drop)
        })
    }

    /// Holds some vertices against what they were after so many rounds.
    fn check(&self, view: &impl GraphView, round: usize) -> Result<()> {
        let key = view.catalogue().key("text").unwrap();
        for chunk in self.vertices.chunks(20).step_by(10) {
            let mut column = Column::new(ValueType::String);
            view.vertex_properties(chunk, key, &mut column)?;
            let mut degrees = Vec::new();
            view.degrees(chunk, None, Direction::Both, &mut degrees)?;
            for (row, vertex) in chunk.iter().enumerate() {
                assert_eq!(column.get(row), Some(text(*vertex, round)), "{vertex} after round {round}");
                assert_eq!(degrees[row], 2, "{vertex} after round {round}");
            }
        }
        Ok(())
    }

    fn pinned(&self) -> PinnedStatistics {
        self.open.store().engine().tree_statistics().pinned
    }

    fn checkpoint(&self) -> Result<()> {
        self.open.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop)
    }
}

#[test]
fn a_snapshot_that_is_held_for_many_commits_holds_disk_and_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut graph = Graph::new(DiskDirectory::open_or_create(folder.path()).unwrap()).unwrap();
    graph.checkpoint().unwrap();
    assert_eq!(graph.pinned(), PinnedStatistics::default());
    let held = graph.open.store().snapshot();
    graph.check(&held, 0).unwrap();
    let rounds = commits().div_ceil(VERTICES);
    for round in 1..=rounds {
        for commit in round * VERTICES..(round + 1) * VERTICES {
            graph.commit(commit).unwrap();
        }
        graph.check(&held, 0).unwrap();
        graph.check(&graph.open.store().snapshot(), round).unwrap();
    }
    let engine = graph.open.store().engine();
    engine.merge_everything();
    graph.checkpoint().unwrap();
    graph.check(&held, 0).unwrap();
    let pinned = graph.pinned();
    let values = (VERTICES * VALUE_BYTES) as u64;
    assert!(pinned.bytes >= values / 2, "the snapshot's files stay: {pinned:?}");
    let budget = graph.open.store().budget();
    assert!(budget.used_bytes() <= LIMIT_BYTES, "{:?}", budget.reservations());
    let peak = peak_bytes();
    println!("{} commits, peak {peak:?}, pinned {pinned:?}", rounds * VERTICES);
    if let Some(peak) = peak {
        assert!(peak <= LIMIT_BYTES + LIMIT_BYTES / 10 + (64 << 20), "{peak} bytes of memory");
    }

    drop(held);
    // What a thread still reads goes a moment later.
    for _ in 0..2_000 {
        if graph.pinned() == PinnedStatistics::default() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("nobody reads them any more: {:?}", graph.pinned());
}
