//! Churn: vertices and edges come and go on several threads, beside merges and checkpoints. Every
//! snapshot agrees with itself however it is asked; one that is held stays what it was, and when it
//! ends the versions that were kept for it go.

use crate::at_once::{Work, checkpointing, merging, repeat};
use evergraph::engines::engine::AnyEngine;
use evergraph::graph::id::{KeyId, LabelId, TypeId};
use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::memory::MemoryDirectory;
use evergraph::storage::io::random::{Random, SplitMix64};
use evergraph::storage::open::OpenStore;
use evergraph::transaction::TransactionById;
use evergraph::{Direction, EngineKind, ErrorKind, ReadByName, Result, Snapshot, Value, VertexId};
use evergraph_tests::contents::Contents;
use evergraph_tests::store::{assert_healthy, crash, open_synced};
use std::time::{Duration, Instant};

/// Vertices that stay about as many.
const VERTICES: usize = 150;

struct Graph {
    open: OpenStore<AnyEngine>,
    label: LabelId,
    types: [TypeId; 2],
    name: KeyId,
    weight: KeyId,
}

impl Graph {
    fn new(engine: EngineKind, directory: &MemoryDirectory) -> Self {
        let open = open_synced(engine, directory).unwrap();
        open.store().create_unique_index("V", "name").unwrap();
        let mut setup = open.store().begin();
        let (label, name) = (setup.label("V").unwrap(), setup.key("name").unwrap());
        let types = [setup.edge_type("MANY").unwrap(), setup.declare_simple_type("ONE").unwrap()];
        let weight = setup.key("weight").unwrap();
        for number in 0..VERTICES {
            setup.add_vertex(label, &[(name, Value::I64(number as i64))]).unwrap();
        }
        setup.commit().unwrap();
        Self { open, label, types, name, weight }
    }

    /// One random transaction; if another was first, it is left at that.
    fn change(&self, random: &mut SplitMix64) {
        let mut tx = self.open.store().begin();
        let vertices = tx.vertices(None).unwrap();
        for _ in 0..1 + random.next_u64() % 6 {
            if let Err(error) = self.write(&mut tx, &vertices, random) {
                // Deleted, or there already, by an own write.
                assert!(matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Invalid), "{error}");
            }
        }
        if let Err(error) = tx.commit() {
            assert!(error.is_conflict(), "{error}");
        }
    }

    fn write(&self, tx: &mut TransactionById, vertices: &[VertexId], random: &mut SplitMix64) -> Result<()> {
        let mut any = |below: usize| (random.next_u64() % below as u64) as usize;
        let (one, other) = (vertices[any(vertices.len())], vertices[any(vertices.len())]);
        let edge_type = self.types[any(2)];
        let value = Value::I64(any(1000) as i64);
        match any(20) {
            0 if vertices.len() > VERTICES => tx.delete_vertex(one),
            0..=2 if vertices.len() <= VERTICES => tx.add_vertex(self.label, &[(self.name, value)]).map(drop),
            0..=3 => tx.set_vertex_property(one, self.name, Some(value)),
            4..=9 => tx.add_edge(one, edge_type, other, &[(self.weight, value)]).map(drop),
            10..=12 => tx.put_edge(one, edge_type, other, &[(self.weight, value)]).map(drop),
            _ => {
                let edges = tx.edges(one, Direction::Both, &[])?;
                let Some((edge, _)) = edges.get(any(edges.len().max(1))) else { return Ok(()) };
                match any(2) {
                    0 => tx.set_edge_property(*edge, self.weight, Some(value)),
                    _ => tx.delete_edge(*edge),
                }
            }
        }
    }

    fn changing(&self, seed: u64) -> Work<'_> {
        let mut random = SplitMix64::new(seed);
        Box::new(move |_| self.change(&mut random))
    }

    fn contents(&self) -> Contents {
        Contents::of(&self.open.store().snapshot(), 500)
    }
}

#[test]
fn every_snapshot_agrees_with_itself_while_vertices_and_edges_come_and_go() {
    EngineKind::ALL.into_iter().for_each(come_and_go);
}

fn come_and_go(engine: EngineKind) {
    let directory = MemoryDirectory::new("db");
    let graph = Graph::new(engine, &directory);
    let reading = || -> Work<'_> {
        Box::new(|_| {
            let snapshot = graph.open.store().snapshot();
            let contents = Contents::of(&snapshot, 50);
            contents.check_frozen(&snapshot);
        })
    };
    // Checkpoints run beside commits, so bodies that a machine finds are newer than some of its log.
    let cutting: Work<'_> = Box::new(|round| {
        let found = open_synced(engine, &crash(&directory, round)).unwrap();
        let snapshot = found.store().snapshot();
        Contents::of(&snapshot, 500).check_frozen(&snapshot);
        assert_healthy(&found);
    });
    let works = vec![
        graph.changing(1),
        graph.changing(2),
        reading(),
        cutting,
        merging(&graph.open),
        checkpointing(&graph.open),
    ];
    repeat(Duration::from_millis(1500), works);
    assert_healthy(&graph.open);
    let found = open_synced(engine, &directory.power_cut()).unwrap();
    assert!(Contents::of(&found.store().snapshot(), 500) == graph.contents(), "after a power cut");
    assert_healthy(&found);
}

#[test]
fn a_held_snapshot_stays_what_it_was() {
    hold_and_change(EngineKind::Disk);
    hold_and_change(EngineKind::Mapped);
}

#[test]
fn a_held_snapshot_stays_what_it_was_and_its_end_gives_memory_back() {
    let (graph, held) = hold_and_change(EngineKind::Memory);
    let engine = || graph.open.store().statistics().engine;
    assert!(engine().retained_versions > 0, "something is kept for the snapshot");

    drop(held);
    // The merge thread is told, and needs a moment.
    let deadline = Instant::now() + Duration::from_secs(60);
    while engine().retained_versions > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let left = engine();
    assert!(left.collected_versions > 0 && !left.merging.is_zero(), "what it took is told: {left:?}");
    assert_eq!((left.retained_versions, left.retained_bytes), (0, 0), "nobody needs them any more");
}

/// A graph that changed much since the snapshot beside it.
fn hold_and_change(engine: EngineKind) -> (Graph, Snapshot) {
    let graph = Graph::new(engine, &MemoryDirectory::new("db"));
    let mut random = SplitMix64::new(7);
    (0..300).for_each(|_| graph.change(&mut random));
    let held = graph.open.store().snapshot();
    let before = Contents::of(&held, 500);
    let looking: Work<'_> = Box::new(|_| {
        assert!(Contents::of(&held, 100) == before, "the held snapshot changed");
        before.check_frozen(&held);
    });
    let works =
        vec![graph.changing(1), graph.changing(2), looking, merging(&graph.open), checkpointing(&graph.open)];
    repeat(Duration::from_secs(1), works);
    (0..50).for_each(|_| graph.change(&mut random));
    graph.open.store().engine().merge_everything();
    assert!(graph.contents() != before, "the graph went on");
    assert!(Contents::of(&held, 100) == before, "and the held snapshot didn't");
    (graph, held)
}
