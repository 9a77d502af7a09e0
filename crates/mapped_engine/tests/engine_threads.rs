//! Engine threads: writers, merges in the background, passes that free, and readers, all at once on one mapped engine.
//!
//! Each commit adds one edge, so that every snapshot knows how many there are: as many as commits, in every way of counting.

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

use evergraph_graph::budget::{Budget, Unlimited};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{PieceBuffer, Projection, Topology, Visit};
use evergraph_graph::value::Value;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::engine::options::MappedOptions;
use evergraph_storage::engine::{ChangedSince, Engine, FreezeRequest, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use evergraph_storage::view::View;
use std::sync::Arc;
use std::time::Duration;

const TYPE: TypeId = TypeId(3);
const NUMBER: KeyId = KeyId(1);
const VERTICES: u16 = 10;
const WRITERS: u16 = 2;
const COMMITS: u16 = 1500;

struct Database {
    engine: MappedEngine,
    timeline: Arc<Timeline>,
    is_done: AtomicBool,
}

fn vertex(number: u16) -> VertexId {
    VertexId::new(GroupId(u32::from(number % 2)), number * 100)
}

fn all() -> Vec<VertexId> {
    (0..VERTICES).map(vertex).collect()
}

impl Database {
    fn new() -> Self {
        let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
        let options =
            MappedOptions { records_worth_a_merge: 40, items_a_record: 4, ..MappedOptions::default() };
        let engine = MappedEngine::in_memory(Arc::clone(&timeline), options).unwrap();
        let database = Self { engine, timeline, is_done: AtomicBool::new(false) };
        [0, 1].into_iter().for_each(|group| database.engine.open_group(GroupId(group), LabelId(0)));
        let insert =
            |vertex| Mutation::InsertVertex { vertex, label: LabelId(0), properties: Properties::EMPTY };
        database.commit(&all().into_iter().map(insert).collect::<Vec<_>>());
        database
    }

    fn commit(&self, mutations: &[Mutation]) -> Timestamp {
        let patience = Duration::from_secs(60);
        let prepared = self.engine.prepare(mutations, &IndexChanges::NONE, patience).unwrap();
        let mut latch = self.timeline.latch();
        let timestamp = self.timeline.published().next();
        let displaced = self.engine.append(timestamp, prepared);
        self.timeline.publish(timestamp, &mut latch);
        drop(latch);
        drop(displaced);
        timestamp
    }

    fn write(&self, writer: u16) {
        for number in 0..COMMITS {
            let (since, pin) = self.timeline.begin(Access::Write, |timestamp| self.engine.pin(timestamp));
            let (source, target) = (vertex(writer), vertex(number % VERTICES));
            let edge = EdgeId { source, edge_type: TYPE, target, discriminator: number / VERTICES };
            let properties = Properties::new(vec![(NUMBER, Some(Value::I64(i64::from(number))))]);
            let timestamp = self.commit(&[Mutation::InsertEdge { edge, properties }]);
            // Whoever began before learns of it, also if a merge took it meanwhile.
            assert_eq!(self.engine.newer(&Key::Edge(edge), since), ChangedSince::Yes);
            assert_eq!(self.engine.newer(&Key::Edge(edge), timestamp), ChangedSince::No);
            drop(pin);
            if self.timeline.end(since, Access::Write) {
                self.engine.snapshot_ended();
            }
        }
    }

    fn read(&self) -> u64 {
        let mut reads = 0_u64;
        while !self.is_done.load(Ordering::Acquire) || reads < 2 {
            let (timestamp, pin) = self.timeline.begin(Access::Read, |timestamp| self.engine.pin(timestamp));
            // The first commit made the vertices.
            let expected = timestamp.0 - 1;
            for _ in 0..2 {
                let view = self.engine.view(&pin, timestamp);
                let count = |group| view.group_edge_count(GroupId(group), TYPE).unwrap();
                assert_eq!(count(0) + count(1), expected, "edges at {timestamp}");
                for side in [Direction::Out, Direction::In] {
                    let mut degrees = [0; VERTICES as usize];
                    view.degrees(&all(), TYPE, side, &mut degrees).unwrap();
                    assert_eq!(degrees.iter().sum::<u64>(), expected, "{side:?} degrees at {timestamp}");
                }
                let source = vertex(reads as u16 % WRITERS);
                let mut list = Vec::new();
                view.neighbors(source, TYPE, Direction::Out, None, 60, &mut list).unwrap();
                let edge = |(target, discriminator): &(VertexId, u16)| EdgeId {
                    source,
                    edge_type: TYPE,
                    target: *target,
                    discriminator: *discriminator,
                };
                let edges: Vec<EdgeId> = list.iter().map(edge).collect();
                let mut values = Vec::new();
                view.edge_properties(&edges, NUMBER, &mut values).unwrap();
                for (edge, value) in edges.iter().zip(values) {
                    let Some(Value::I64(number)) = value else {
                        panic!("{edge:?} has no number at {timestamp}")
                    };
                    assert_eq!(vertex(number as u16 % VERTICES), edge.target);
                }
            }
            if reads.is_multiple_of(8) {
                self.visit(&pin, timestamp, expected);
            }
            drop(pin);
            if self.timeline.end(timestamp, Access::Read) {
                self.engine.snapshot_ended();
            }
            reads += 1;
        }
        reads
    }

    fn visit(&self, pin: &<MappedEngine as Engine>::Pin, timestamp: Timestamp, expected: u64) {
        let (catalogue, projection) = (Catalogue::default(), Projection::all(Direction::Both));
        let (budget, cancel): (Arc<dyn Budget>, _) = (Arc::new(Unlimited), CancelFlag::default());
        let request = FreezeRequest {
            catalogue: &catalogue,
            projection: &projection,
            budget: &budget,
            cancel: &cancel,
        };
        let frozen = self.engine.freeze(pin, timestamp, &request).unwrap();
        assert_eq!(frozen.edge_count(), expected);
        for side in [Direction::Out, Direction::In] {
            let mut visited = 0;
            let mut buffer = PieceBuffer::default();
            let visit = |_, piece: evergraph_graph::topology::Piece<'_>| {
                visited += piece.neighbors.len() as u64;
                Visit::Continue
            };
            frozen.visit(side, 0..frozen.bound(), &mut buffer, visit).unwrap();
            assert_eq!(visited, expected, "{side:?} at {timestamp}");
        }
    }
}

#[test]
fn readers_beside_writers_and_merges_count_the_commits_of_their_snapshot() {
    let database = Database::new();
    let graph = database.engine.graph();
    let reads: u64 = std::thread::scope(|scope| {
        let merges = scope.spawn(|| graph.run_merges());
        let frees = scope.spawn(|| {
            while !database.is_done.load(Ordering::Acquire) {
                graph.reclaim();
                std::thread::yield_now();
            }
        });
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(|| database.read())).collect();
        let database = &database;
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || database.write(writer))).collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        database.is_done.store(true, Ordering::Release);
        graph.merger().close();
        merges.join().unwrap();
        frees.join().unwrap();
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    let statistics = database.engine.statistics();
    assert!(reads > 2 && statistics.merges > 10, "{reads} reads, {} merges", statistics.merges);
    graph.merge_everything().unwrap();
    graph.reclaim();
    graph.reclaim();
    assert_eq!(graph.records_waiting(), 0);
    let statistics = database.engine.statistics();
    assert_eq!(statistics.body_edges, u64::from(WRITERS * COMMITS));
    // Both sides: what decides how many records may wait.
    let counted = graph.counters().body_edges.load(Ordering::Relaxed);
    assert_eq!(counted, 2 * u64::from(WRITERS * COMMITS));
    assert_eq!((statistics.retained_versions, graph.writer().retired_count()), (0, 0));
    assert!(graph.bodies().count() as u64 <= statistics.segments);
}

#[test]
fn merging_everything_beside_another_merge_leaves_nothing_waiting() {
    let database = Database::new();
    let graph = database.engine.graph();
    std::thread::scope(|scope| {
        let merges = scope.spawn(|| {
            while !database.is_done.load(Ordering::Acquire) {
                graph.groups().for_each_segment(|segment| graph.merge(segment).is_ok());
            }
        });
        let mut left = 0;
        for number in 0..500 {
            let (source, target) = (vertex(0), vertex(number % VERTICES));
            let edge = EdgeId { source, edge_type: TYPE, target, discriminator: number / VERTICES };
            database.commit(&[Mutation::InsertEdge { edge, properties: Properties::EMPTY }]);
            graph.merge_everything().unwrap();
            graph.groups().for_each_segment(|segment| {
                left += segment.records();
                true
            });
        }
        database.is_done.store(true, Ordering::Release);
        merges.join().unwrap();
        assert_eq!(left, 0, "records that no merge took");
    });
}
