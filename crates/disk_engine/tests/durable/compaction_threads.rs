//! Compaction threads: a store with two of them under writers, a snapshot that is held, and a thread that panics.

use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, GraphView};
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::collections::BTreeSet;
use std::io::ErrorKind as IoKind;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const VERTICES: usize = 300;
/// Files of level 0 that are made.
const FLUSHES: usize = 60;

fn open(directory: &Arc<dyn Directory>, compaction_threads: usize) -> Result<OpenStore<DiskEngine>> {
    let options = OpenOptions {
        durability: Durability::None,
        memory_limit_bytes: 64 << 20,
        compaction_threads,
        ..OpenOptions::default()
    };
    OpenStore::open(Arc::clone(directory), &options)
}

struct Graph {
    open: OpenStore<DiskEngine>,
    vertices: Vec<VertexId>,
}

impl Graph {
    fn new(directory: &Arc<dyn Directory>) -> Self {
        let open = open(directory, 2).unwrap();
        let vertices = open.store().transact(|tx| {
            let (label, _, _) = (tx.label("Text")?, tx.key("round")?, tx.edge_type("NEXT")?);
            (0..VERTICES).map(|_| tx.add_vertex(label, &[])).collect::<Result<Vec<_>>>()
        });
        Self { vertices: vertices.unwrap(), open }
    }

    /// Sets the property of all vertices: a commit that changes vertices alone.
    fn set_round(&self, round: usize) -> Result<()> {
        self.open.store().transact(|tx| {
            let key = tx.key("round")?;
            let set = |vertex| tx.set_vertex_property(vertex, key, Some(Value::I64(round as i64)));
            self.vertices.iter().copied().try_for_each(set)
        })
    }

    /// Replaces the edge that leaves each vertex: a commit that changes edges alone.
    fn turn_edges(&self, round: usize) -> Result<()> {
        self.open.store().transact(|tx| {
            let edge_type = tx.edge_type("NEXT")?;
            for at in 0..VERTICES {
                let (source, target) = (self.vertices[at], |round| self.vertices[(at + round) % VERTICES]);
                if let Some(before) = round.checked_sub(1) {
                    tx.delete_edge(EdgeId { source, edge_type, target: target(before), discriminator: 0 })?;
                }
                tx.add_edge(source, edge_type, target(round), &[])?;
            }
            Ok(())
        })
    }

    /// The graph of one commit of either kind: all values, and all edges, are of one round each.
    fn check(&self, view: &impl GraphView) -> (Option<i64>, usize) {
        let (key, edge_type) = (view.catalogue().key("round").unwrap(), view.catalogue().edge_type("NEXT"));
        let value = |vertex: &VertexId| {
            let map = view.vertex_property_map(*vertex).unwrap();
            map.into_iter().find_map(|(of, value)| (of == key).then_some(value))
        };
        let values: Vec<Option<Value>> = self.vertices.iter().map(value).collect();
        assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
        let (mut edges, mut cursor) = (Vec::new(), EdgeCursor::default());
        while !cursor.done {
            view.scan_edges(None, &mut cursor, 50, &mut edges).unwrap();
        }
        assert!(edges.iter().all(|edge| Some(edge.edge_type) == edge_type));
        let distance = |edge: &EdgeId| {
            let place = |vertex| self.vertices.iter().position(|other| *other == vertex).unwrap();
            (place(edge.target) + VERTICES - place(edge.source)) % VERTICES
        };
        let distances: BTreeSet<usize> = edges.iter().map(distance).collect();
        assert!(distances.len() <= 1 && [0, VERTICES].contains(&edges.len()), "{distances:?}");
        let round = match values[0] {
            Some(Value::I64(round)) => Some(round),
            _ => None,
        };
        (round, distances.first().copied().unwrap_or(0))
    }
}

#[test]
fn two_threads_compact_beside_writers_and_a_held_snapshot_reads_what_it_read() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let graph = Graph::new(&directory);
    graph.set_round(1).unwrap();
    graph.turn_edges(0).unwrap();
    let held = graph.open.store().snapshot();
    assert_eq!(graph.check(&held), (Some(1), 0));
    let engine = graph.open.store().engine();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..FLUSHES {
                // In turn, so that level 0 has files that do not overlap.
                graph.set_round(round + 2).unwrap();
                engine.freeze_open().unwrap();
                engine.pacing().wake_background();
                graph.turn_edges(round + 1).unwrap();
                engine.freeze_open().unwrap();
                engine.pacing().wake_background();
            }
            is_done.store(true, Ordering::Release);
        });
        while !is_done.load(Ordering::Acquire) {
            graph.check(&graph.open.store().snapshot());
            let checkpointed = graph.open.checkpoint(&mut |_| ControlFlow::Continue(()));
            assert!(checkpointed.unwrap().left_over.is_none());
        }
    });
    engine.flush_all().unwrap();
    let (clock, patience) = (SystemClock::new(), Duration::from_secs(60));
    while engine.is_compaction_due() {
        assert!(clock.now() < patience, "{:?}", engine.pacing().compaction_failure());
        engine.pacing().wait_for_progress(Duration::from_millis(5));
    }
    assert!(engine.compactions().statistics().compactions >= 10);
    assert_eq!(engine.pacing().compaction_failure(), None);
    assert_eq!(graph.check(&held), (Some(1), 0));
    let newest = (Some(FLUSHES as i64 + 1), FLUSHES);
    assert_eq!(graph.check(&graph.open.store().snapshot()), newest);
    drop(held);
    assert!(graph.open.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap().is_healthy());
    graph.open.close().unwrap();
    let Graph { vertices, .. } = graph;
    let again = Graph { open: open(&directory, 16).unwrap(), vertices };
    assert_eq!(again.check(&again.open.store().snapshot()), newest);
}

#[test]
fn a_compaction_that_panics_stops_the_store_though_others_wait_for_work() {
    let memory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let failing = FailingDirectory::new(memory);
    let directory: Arc<dyn Directory> = Arc::new(failing.clone());
    let graph = Graph::new(&directory);
    let engine = graph.open.store().engine();
    let flush = |round| {
        graph.set_round(round).unwrap();
        engine.flush_all().unwrap();
    };
    (0..3).for_each(flush);
    // The fourth file of level 0 is created, and then the first output of a compaction.
    failing.plan(Fault::new(Operation::Create, "csr-", IoKind::Other).nth(2).panicking());
    flush(3);
    let (clock, patience) = (SystemClock::new(), Duration::from_secs(60));
    let refused = loop {
        match graph.set_round(4) {
            Err(refused) => break refused,
            Ok(()) => assert!(clock.now() < patience, "commits go on"),
        }
        engine.pacing().wait_for_progress(Duration::from_millis(1));
    };
    assert!(refused.to_string().contains("panicked"), "{refused}");
    graph.open.close().unwrap();
}

#[test]
fn a_number_of_threads_out_of_its_range_is_refused_and_nothing_is_made() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    for threads in [0, 17] {
        let refused = open(&directory, threads).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("from 1 to 16"), "{refused}");
        assert_eq!(directory.list().unwrap(), [""; 0]);
    }
}
