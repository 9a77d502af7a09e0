//! The engine alone, behind `Engine`: commits beside a model while graphs are frozen, flushed and freed.
//!
//! ```text
//! histories    graphs of a few commits, held snapshots, and conflict checks of each of them
//! hand-over    a commit that was prepared for a graph that is frozen by then
//! pacing       who waits, who is refused, and what the refusal says
//! replay       the log of a history makes the same graph
//! ```

#![cfg(not(shuttle))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

use evergraph_disk_engine::durable::background::step;
use evergraph_disk_engine::durable::files::DatabaseFiles;
use evergraph_disk_engine::engine::{DiskEngine, EngineParts};
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::file_set::FileSet;
use evergraph_disk_engine::groups::GroupTable;
use evergraph_disk_engine::index_table::IndexTable;
use evergraph_disk_engine::pacing::{Backlog, PacingLimits};
use evergraph_disk_engine::statistics::GraphUse;
use evergraph_disk_engine::tuning::Tuning;
use evergraph_graph::budget::Budget;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::engine::{ChangedSince, Engine, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use evergraph_storage::view::{PointReads, View};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind as IoKind;
use std::sync::Arc;
use std::time::Duration;

const TYPE: TypeId = TypeId(0);
const KEY: KeyId = KeyId(0);
const VERTICES: u32 = 6;

fn timeline() -> Arc<Timeline> {
    Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published))
}

fn edge(source: u32, target: u32, discriminator: u16) -> EdgeId {
    EdgeId { source: VertexId(source), edge_type: TYPE, target: VertexId(target), discriminator }
}

fn insert_edge(source: u32, target: u32) -> Mutation {
    Mutation::InsertEdge { edge: edge(source, target, 0), properties: Properties::EMPTY }
}

fn insert_vertex(vertex: u32) -> Mutation {
    Mutation::InsertVertex { vertex: VertexId(vertex), label: LabelId(0), properties: Properties::EMPTY }
}

fn value(value: i64) -> Properties {
    Properties::new(vec![(KEY, Some(Value::from(value)))])
}

/// Prepares and appends a commit, as the front does.
fn commit(engine: &DiskEngine, mutations: &[Mutation]) -> Result<Timestamp> {
    let prepared = engine.prepare(mutations, &IndexChanges::NONE, Duration::ZERO)?;
    let timeline = engine.timeline();
    let mut latch = timeline.latch();
    let timestamp = timeline.published().next();
    let displaced = engine.append(timestamp, prepared);
    timeline.publish(timestamp, &mut latch);
    drop(latch);
    drop(displaced);
    Ok(timestamp)
}

fn engine_with(graph_bytes: u64) -> DiskEngine {
    let engine = DiskEngine::with_graph_bytes(timeline(), graph_bytes);
    engine.open_group(GroupId(0), LabelId(0));
    engine
}

/// An engine whose writers wait for a background that there isn't.
fn unattended(budget_bytes: u64, graph_bytes: Option<u64>) -> DiskEngine {
    unattended_in(&(Arc::new(MemoryDirectory::new("disk")) as Arc<dyn Directory>), budget_bytes, graph_bytes)
}

fn unattended_in(directory: &Arc<dyn Directory>, budget_bytes: u64, graph_bytes: Option<u64>) -> DiskEngine {
    let budget = Arc::new(MemoryBudget::new(budget_bytes));
    let engine = DiskEngine::open_parts(EngineParts {
        timeline: timeline(),
        reader: PageReader::start(&budget, Background::Stepped).unwrap(),
        budget,
        files: DatabaseFiles::empty(directory),
        set: FileSet::new(),
        groups: GroupTable::new(),
        indexes: IndexTable::new([], 1 << 24),
        background: Background::Threads,
        compaction_threads: 1,
        graph_bytes,
        limits: PacingLimits::default(),
        tuning: Tuning::default(),
    })
    .unwrap();
    engine.open_group(GroupId(0), LabelId(0));
    engine
}

/// The graph of one moment: vertices, edges and their values.
#[derive(Clone, PartialEq, Debug, Default)]
struct Graph {
    vertices: BTreeSet<u32>,
    edges: BTreeMap<(u32, u32), Option<i64>>,
}

impl Graph {
    /// What turns the vertex or edge around that `choice` names, and applies it.
    fn turn(&mut self, choice: (u8, u32, u32)) -> Mutation {
        let (action, source, target) = choice;
        match (action % 3, self.edges.get(&(source, target))) {
            (0, _) if !self.vertices.contains(&source) => {
                self.vertices.insert(source);
                insert_vertex(source)
            }
            (0, _) => {
                let number = i64::from(target);
                let vertex = VertexId(source);
                Mutation::SetVertexProperties { vertex, properties: value(number) }
            }
            (_, None) => {
                self.edges.insert((source, target), None);
                insert_edge(source, target)
            }
            (1, Some(_)) => {
                self.edges.remove(&(source, target));
                Mutation::DeleteEdge { edge: edge(source, target, 0) }
            }
            (_, Some(_)) => {
                self.edges.insert((source, target), Some(i64::from(action)));
                let properties = value(i64::from(action));
                Mutation::SetEdgeProperties { edge: edge(source, target, 0), properties }
            }
        }
    }
}

fn read(view: &impl View) -> Graph {
    let mut graph = Graph::default();
    let live = view.live(GroupId(0)).unwrap();
    for source in 0..VERTICES {
        if live[0] >> source & 1 == 1 {
            graph.vertices.insert(source);
        }
        let (mut out, vertex) = (Vec::new(), VertexId(source));
        view.all_neighbors(vertex, TYPE, Direction::Out, &mut out).unwrap();
        assert_eq!(view.degree(vertex, TYPE, Direction::Out).unwrap(), out.len() as u64);
        for (target, discriminator) in out {
            let found = view.edge_property(edge(source, target.0, discriminator), KEY).unwrap();
            let number = found.map(|found| {
                (0..256).find(|number| Value::from(*number) == found).expect("what was written is read")
            });
            graph.edges.insert((source, target.0), number);
            let mut back = Vec::new();
            view.all_neighbors(target, TYPE, Direction::In, &mut back).unwrap();
            assert!(back.contains(&(vertex, discriminator)), "both sides have an edge");
        }
    }
    assert_eq!(view.group_edge_count(GroupId(0), TYPE).unwrap(), graph.edges.len() as u64);
    graph
}

/// A snapshot that is held while others commit.
struct Held {
    timestamp: Timestamp,
    access: Access,
    pin: <DiskEngine as Engine>::Pin,
}

/// One step of a history.
#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<(u8, u32, u32)>),
    Begin(bool),
    End(usize),
    Freeze,
    Flush,
}

fn any_step() -> impl Strategy<Value = Step> {
    let choice = (any::<u8>(), 0..VERTICES, 0..VERTICES);
    prop_oneof![
        8 => proptest::collection::vec(choice, 1..4).prop_map(Step::Commit),
        2 => any::<bool>().prop_map(Step::Begin),
        1 => (0..4usize).prop_map(Step::End),
        1 => Just(Step::Freeze),
        1 => Just(Step::Flush),
    ]
}

fn run(steps: Vec<Step>, graph_bytes: u64) {
    let engine = engine_with(graph_bytes);
    let (mut graphs, mut held) = (vec![Graph::default()], Vec::<Held>::new());
    // The commits that changed a vertex or an edge from a vertex.
    let mut changed: Vec<BTreeSet<Key>> = vec![BTreeSet::new()];
    for step in steps {
        match step {
            Step::Commit(mut choices) => {
                // One write an item.
                let mut items = BTreeSet::new();
                choices.retain(|(action, source, target)| {
                    items.insert((*source, (action % 3 != 0).then_some(*target)))
                });
                let mut graph = graphs[graphs.len() - 1].clone();
                let mutations: Vec<_> = choices.iter().map(|choice| graph.turn(*choice)).collect();
                let keys = choices.iter().map(|(action, source, target)| match action % 3 {
                    0 => Key::VertexRecord(VertexId(*source)),
                    _ => Key::Edge(edge(*source, *target, 0)),
                });
                changed.push(keys.collect());
                let timestamp = commit(&engine, &mutations).unwrap();
                graphs.push(graph);
                assert_eq!(timestamp.0 as usize, graphs.len() - 1);
            }
            Step::Begin(writes) => {
                let access = if writes { Access::Write } else { Access::Read };
                let (timestamp, pin) = engine.timeline().begin(access, |timestamp| engine.pin(timestamp));
                held.push(Held { timestamp, access, pin });
            }
            Step::End(at) if at < held.len() => {
                let ended = held.remove(at);
                drop(ended.pin);
                if engine.timeline().end(ended.timestamp, ended.access) {
                    engine.snapshot_ended();
                }
            }
            Step::End(_) => {}
            Step::Freeze => drop(engine.freeze_open().unwrap()),
            Step::Flush => drop(engine.flush_oldest().unwrap()),
        }
        for snapshot in &held {
            let view = engine.view(&snapshot.pin, snapshot.timestamp);
            assert_eq!(read(&view), graphs[snapshot.timestamp.0 as usize]);
            if snapshot.access == Access::Write {
                check_newer(&engine, &changed, snapshot.timestamp);
            }
        }
    }
    let newest = engine.timeline().published();
    assert_eq!(read(&engine.view(&engine.pin(newest), newest)), graphs[graphs.len() - 1]);
}

/// A change is never denied, an unchanged key never called changed, and nothing is forgotten that the floor promises.
fn check_newer(engine: &DiskEngine, changed: &[BTreeSet<Key>], since: Timestamp) {
    let keys: BTreeSet<Key> = changed.iter().flatten().copied().collect();
    let floor = engine.tree_statistics().conflict_floor;
    let freed = engine.tree_statistics().flushes.freed_graphs;
    for key in keys {
        let truth = changed[since.0 as usize + 1..].iter().any(|commit| commit.contains(&key));
        match engine.newer(&key, since) {
            ChangedSince::Yes => assert!(truth, "{key} was not changed after {since}"),
            ChangedSince::No => assert!(!truth, "{key} was changed after {since}"),
            ChangedSince::Forgotten => {
                assert!(since < floor || freed > 0, "{key} is forgotten after {since}")
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_snapshot_sees_its_moment_whatever_is_flushed(
        steps in proptest::collection::vec(any_step(), 1..40),
        // Full after each commit, or never.
        graph_bytes in prop_oneof![Just(0u64), Just(1 << 24)],
    ) {
        run(steps, graph_bytes);
    }
}

#[test]
fn a_commit_that_was_prepared_before_a_freeze_goes_into_the_next_graph() {
    let engine = engine_with(1 << 20);
    commit(&engine, &[insert_vertex(1)]).unwrap();
    let prepare = |mutation| engine.prepare(&[mutation], &IndexChanges::NONE, Duration::ZERO).unwrap();
    let (first, second) = (prepare(insert_vertex(2)), prepare(insert_edge(1, 2)));
    engine.freeze_open().unwrap();
    let timeline = engine.timeline();
    for (timestamp, prepared) in [(2, first), (3, second)] {
        let mut latch = timeline.latch();
        let displaced = engine.append(Timestamp(timestamp), prepared);
        timeline.publish(Timestamp(timestamp), &mut latch);
        drop(latch);
        drop(displaced);
    }
    let current = engine.tree().current();
    let graphs: Vec<_> = current.generations.iter().map(|generation| generation.first()).collect();
    assert_eq!(graphs, [Some(Timestamp(1)), Some(Timestamp(2))]);
    assert_eq!(engine.newer(&Key::Edge(edge(1, 2, 0)), Timestamp(2)), ChangedSince::Yes);
    assert!(engine.flush_oldest().unwrap() && !engine.flush_oldest().unwrap());
    let pin = engine.pin(Timestamp(3));
    let graph = read(&engine.view(&pin, Timestamp(3)));
    assert_eq!((graph.vertices, graph.edges.len()), (BTreeSet::from([1, 2]), 1));
}

#[test]
fn a_commit_that_fills_a_graph_alone_brings_its_own() {
    let engine = engine_with(1 << 16);
    commit(&engine, &[insert_vertex(0)]).unwrap();
    let many: Vec<_> = (0..3000).map(|target| insert_edge(target % 4, target)).collect();
    commit(&engine, &many).unwrap();
    assert_eq!(engine.tree().current().generations.len(), 3);
    commit(&engine, &[insert_vertex(1)]).unwrap();
    while engine.flush_oldest().unwrap() {}
    let pin = engine.pin(Timestamp(3));
    let view = engine.view(&pin, Timestamp(3));
    let degree = |at: &<DiskEngine as Engine>::View<'_>| {
        (0..4).map(|vertex| at.degree(VertexId(vertex), TYPE, Direction::Out).unwrap()).sum::<u64>()
    };
    assert_eq!(degree(&view), 3000);
    assert_eq!(degree(&engine.view(&pin, Timestamp(2))), 3000);
    assert_eq!(engine.edge_types(GroupId(0), Direction::In), [TYPE]);
}

#[test]
fn writers_wait_for_two_frozen_graphs_and_are_refused_with_the_cause() {
    let engine = unattended(1 << 30, Some(1 << 20));
    for vertex in 0..2 {
        commit(&engine, &[insert_vertex(vertex)]).unwrap();
        engine.freeze_open().unwrap();
    }
    let refused = |cause: &str| {
        let error = commit(&engine, &[insert_vertex(9)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("2 memory graphs wait to be written"), "{error}");
        assert!(error.to_string().contains(cause), "{error}");
    };
    refused("the disk cannot keep up");
    engine.pacing().note_failure("no space left on device".to_owned());
    refused("no space left on device");
    assert!(engine.flush_oldest().unwrap());
    commit(&engine, &[insert_vertex(9)]).unwrap();
    let statistics = engine.statistics();
    assert_eq!((statistics.stalls, statistics.merges), (2, 1));
    assert!(statistics.topology_bytes > 0 && statistics.record_bytes > 0);
    let tree = engine.tree_statistics();
    assert_eq!((tree.levels.len(), tree.levels[0].files, tree.frozen_graphs), (1, 1, 1));
    assert_eq!((tree.covered_through, tree.flushes.freed_graphs), (Timestamp(1), 1));
    let uses: Vec<GraphUse> = tree.graphs.iter().map(|graph| graph.used_for).collect();
    assert_eq!(uses, [GraphUse::Flush, GraphUse::Open]);
    assert_eq!(tree.graphs.iter().map(|graph| graph.bytes).sum::<u64>(), tree.graph_bytes);
}

#[test]
fn a_compaction_that_cannot_read_lets_flushes_go_on_until_writers_are_refused_with_the_file() {
    let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("disk")));
    let directory: Arc<dyn Directory> = Arc::new(failing.clone());
    let engine = unattended_in(&directory, 1 << 30, Some(1 << 20));
    // The first vertex is in every file, so that all of them are compacted together.
    commit(&engine, &[insert_vertex(20)]).unwrap();
    let flush = |vertex: u32| {
        let set = Mutation::SetVertexProperties { vertex: VertexId(20), properties: value(vertex.into()) };
        commit(&engine, &[insert_vertex(vertex), set]).unwrap();
        engine.freeze_open().unwrap();
        assert!(engine.flush_oldest().unwrap());
    };
    (0..4).for_each(flush);
    failing.plan(Fault::new(Operation::Read, "csr-0000000000000002", IoKind::Other).lasting());
    step(&engine);
    assert!(engine.pacing().failure_of(Backlog::Runs(12)).is_some());
    (4..12).for_each(flush);
    let error = commit(&engine, &[insert_vertex(12)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let text = error.to_string();
    assert!(text.contains("12 sorted runs of level 0 wait for their compaction"), "{text}");
    assert!(text.contains("csr-0000000000000002"), "{text}");
    let pin = engine.pin(Timestamp(13));
    let view = engine.view(&pin, Timestamp(13));
    let of_second = || view.vertex_property(VertexId(1), KEY);
    let error = of_second().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("csr-0000000000000002"), "{error}");
    failing.heal();
    assert_eq!(of_second().unwrap(), None, "the failure is not cached");
    assert_eq!(view.live(GroupId(0)).unwrap()[0], 0xfff | 1 << 20);
    drop(view);
    drop(pin);
    step(&engine);
    commit(&engine, &[insert_vertex(12)]).unwrap();
}

#[test]
fn a_budget_that_is_used_up_refuses_commits_until_it_is_not() {
    let engine = unattended(64 << 20, None);
    commit(&engine, &[insert_vertex(0)]).unwrap();
    let used = engine.budget().used_bytes();
    let others = engine.budget().reserve("scores", (64 << 20) - used).unwrap();
    let many: Vec<_> = (0..60_000).map(|at| insert_edge(at % 15, at / 15)).collect();
    let error = commit(&engine, &many).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("no memory for new commits"), "{error}");
    drop(others);
    commit(&engine, &many).unwrap();
    drop(engine);
}

#[test]
fn discriminators_of_files_and_graphs_are_taken() {
    let engine = engine_with(1 << 20);
    let insert = |discriminator| {
        let edge = edge(1, 2, discriminator);
        commit(&engine, &[Mutation::InsertEdge { edge, properties: Properties::EMPTY }]).unwrap();
    };
    insert(0);
    engine.freeze_open().unwrap();
    while engine.flush_oldest().unwrap() {}
    insert(1);
    engine.freeze_open().unwrap();
    insert(2);
    commit(&engine, &[Mutation::DeleteEdge { edge: edge(1, 2, 0) }]).unwrap();
    let mut taken = Vec::new();
    engine.taken_discriminators(VertexId(1), TYPE, VertexId(2), &mut taken).unwrap();
    assert_eq!(taken.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from([0, 1, 2]));
    taken.clear();
    engine.taken_discriminators(VertexId(2), TYPE, VertexId(1), &mut taken).unwrap();
    engine.taken_discriminators(VertexId(1), TypeId(7), VertexId(2), &mut taken).unwrap();
    assert!(taken.is_empty());
}

#[test]
fn a_log_is_replayed_to_the_same_graph_and_leaves_few_frozen_graphs() {
    let mut graph = Graph::default();
    let mut log: Vec<(Timestamp, Mutation)> = Vec::new();
    for at in 0..200u32 {
        let choice = (at as u8, at * 7 % VERTICES, at * 5 % VERTICES);
        log.push((Timestamp(u64::from(at + 1)), graph.turn(choice)));
    }
    for batch in [1, 7, 1000] {
        let engine = DiskEngine::with_graph_bytes(timeline(), 0);
        let commits: Vec<_> = log.chunk_by(|a, b| a.0 == b.0).collect();
        for commits in commits.chunks(batch) {
            let mutations = commits.concat();
            engine.open_group(GroupId(0), LabelId(0));
            engine.replay(&mutations).unwrap();
            let timeline = engine.timeline();
            timeline.publish(mutations[mutations.len() - 1].0, &mut timeline.latch());
        }
        let newest = engine.timeline().published();
        assert_eq!(read(&engine.view(&engine.pin(newest), newest)), graph, "{batch}");
        assert!(engine.tree().current().frozen().len() <= 2);
    }
    let engine = DiskEngine::with_graph_bytes(timeline(), 0);
    engine.open_group(GroupId(0), LabelId(5));
    let error = engine.replay(&[(Timestamp(1), insert_vertex(1))]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let error = engine.replay(&[(Timestamp(1), insert_edge(1, 9000))]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[test]
fn a_log_is_replayed_on_a_full_disk_as_long_as_there_is_memory() {
    let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("disk")));
    let directory: Arc<dyn Directory> = Arc::new(failing.clone());
    let engine = unattended_in(&directory, 1 << 30, Some(0));
    failing.plan(Fault::new(Operation::Create, "csr-", IoKind::StorageFull).lasting());
    for vertex in 0..6 {
        let timestamp = Timestamp(u64::from(vertex) + 1);
        engine.replay(&[(timestamp, insert_vertex(vertex))]).unwrap();
        engine.timeline().publish(timestamp, &mut engine.timeline().latch());
    }
    assert!(engine.pacing().failure().is_some_and(|failure| failure.contains("csr-")));
    failing.heal();
    while engine.flush_oldest().unwrap() {}
    assert_eq!(engine.view(&engine.pin(Timestamp(6)), Timestamp(6)).live(GroupId(0)).unwrap()[0], 0b11_1111);
}
