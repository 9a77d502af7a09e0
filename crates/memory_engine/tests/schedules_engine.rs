//! Schedules: committers, merges, the registry and readers on one segment, driven by shuttle.
//!
//! ```text
//! one kernel a hand-over   merge against begin; tail to run; history for a slow writer; two merges
//! all of them at once      the scenario of the protocol's model: two committers, one of which makes its
//!                          commits durable, a merger, a thread that only makes durable, two readers
//!                          and, in half of the runs, a writer that is slower than several merges
//! ```
//!
//! Afterwards every view must be the prefix of the history at its timestamp, and every refused commit
//! must have had a rival. `tests/planted` runs the same with a bug each: all ten of the model are caught.
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`; `make test` does. Nothing here yields, which would drop a
//! thread's priority and hide what priority scheduling finds; atomics are scheduling points enough.

#![cfg(shuttle)]

use evergraph_graph::id::{Direction, EdgeId, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_memory_engine::segment::tail::TAIL_CAPACITY;
use evergraph_storage::engine::{ChangedSince, Engine, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use evergraph_storage::sync::{Mutex, schedules};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use evergraph_storage::view::PointReads;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const RUNS: usize = 4000;
const TYPE: TypeId = TypeId(0);

struct Database {
    timeline: Arc<Timeline>,
    engine: MemoryEngine,
    durable: Arc<AtomicU64>,
    /// Commits in order: timestamp, target, whether it was added.
    history: Mutex<Vec<(u64, u32, bool)>>,
    /// Attempts: snapshot, target, timestamp if it was committed.
    attempts: Mutex<Vec<(u64, u32, Option<u64>)>>,
    /// What readers saw.
    views: Mutex<Vec<(u64, BTreeSet<u32>)>>,
}

fn edge(target: u32) -> EdgeId {
    EdgeId { source: VertexId(0), edge_type: TYPE, target: VertexId(target), discriminator: 0 }
}

impl Database {
    fn new() -> Self {
        let durable = Arc::new(AtomicU64::new(0));
        let source = Arc::clone(&durable);
        let through = Arc::new(move || Timestamp(source.load(Ordering::Acquire)));
        let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Durable(through)));
        let engine = MemoryEngine::new(Arc::clone(&timeline));
        engine.open_group(GroupId(0), LabelId(0));
        let (history, attempts, views) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { timeline, engine, durable, history, attempts, views }
    }

    fn targets(&self, timestamp: Timestamp) -> BTreeSet<u32> {
        let view = self.engine.view(&(), timestamp);
        let mut list = Vec::new();
        view.all_neighbors(VertexId(0), TYPE, Direction::Out, &mut list).expect("memory does not fail");
        let targets: BTreeSet<u32> = list.iter().map(|(target, _)| target.0).collect();
        assert_eq!(targets.len(), list.len(), "an edge twice");
        targets
    }

    /// Toggles the edge to `target` as of `since`: adds it if it wasn't there, else deletes it.
    fn commit(&self, since: Timestamp, target: u32) {
        let edge = edge(target);
        let was_there = self.targets(since).contains(&target);
        let mutation = match was_there {
            true => Mutation::DeleteEdge { edge },
            false => Mutation::InsertEdge { edge, properties: Properties::EMPTY },
        };
        let prepared =
            self.engine.prepare(&[mutation], &IndexChanges::NONE, Duration::ZERO).expect("the group is open");
        let committed = {
            let mut latch = self.timeline.latch();
            match self.engine.newer(&Key::Edge(edge), since) {
                ChangedSince::No => {
                    let timestamp = self.timeline.published().next();
                    let displaced = self.engine.append(timestamp, prepared);
                    self.history.lock().push((timestamp.0, target, !was_there));
                    self.timeline.publish(timestamp, &mut latch);
                    drop(latch);
                    drop(displaced);
                    Some(timestamp.0)
                }
                ChangedSince::Yes => None,
                ChangedSince::Forgotten => panic!("nothing was forgotten yet"),
            }
        };
        self.attempts.lock().push((since.0, target, committed));
    }

    fn make_durable(&self) {
        let published = self.timeline.published();
        self.durable.fetch_max(published.0, Ordering::AcqRel);
    }

    fn read(&self) {
        let (timestamp, ()) = self.timeline.begin(Access::Read, |_| ());
        let (first, second) = (self.targets(timestamp), self.targets(timestamp));
        assert_eq!(first, second, "the view moved");
        self.timeline.end(timestamp, Access::Read);
        self.engine.snapshot_ended();
        self.views.lock().push((timestamp.0, first));
    }

    fn write(&self, target: u32) {
        let (since, ()) = self.timeline.begin(Access::Write, |_| ());
        self.commit(since, target);
        self.timeline.end(since, Access::Write);
    }

    /// Records of edges that no merge took yet.
    fn records_waiting(&self) -> usize {
        let group = self.engine.segments().groups().get(GroupId(0)).expect("the group is open");
        let edges = group.edges();
        edges.iter().map(|edge| edge.segment.load().layer.record_count()).sum()
    }

    fn check(&self) {
        let history = self.history.lock();
        assert!(history.is_sorted_by_key(|commit| commit.0));
        let at = |timestamp: u64| {
            let mut targets = BTreeSet::new();
            for (_, target, added) in history.iter().take_while(|commit| commit.0 <= timestamp) {
                let changed = if *added { targets.insert(*target) } else { targets.remove(target) };
                assert!(changed, "an insert of what is there, or a delete of what isn't");
            }
            targets
        };
        for (timestamp, seen) in self.views.lock().iter() {
            assert_eq!(*seen, at(*timestamp), "a view at {timestamp} is not its prefix of the history");
        }
        let published = self.timeline.published();
        assert_eq!(self.targets(published), at(published.0), "the present is not the whole history");
        let attempts = self.attempts.lock();
        for (since, target, committed) in attempts.iter() {
            let rival = |until: u64| {
                let commits = attempts.iter().filter(|other| other.1 == *target);
                commits.filter_map(|other| other.2).any(|other| other > *since && other < until)
            };
            match committed {
                Some(timestamp) => assert!(!rival(*timestamp), "a lost update"),
                None => assert!(rival(u64::MAX), "refused without a rival"),
            }
        }
    }
}

/// Runs each of `bodies` in a thread, then looks at what everybody saw.
fn run(bodies: &[fn(&Database)]) {
    let database = Arc::new(Database::new());
    let threads: Vec<_> = bodies
        .iter()
        .map(|body| {
            let (database, body) = (Arc::clone(&database), *body);
            shuttle::thread::spawn(move || body(&database))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    database.check();
}

/// Priority schedules find what random ones miss, and the other way round.
fn check(bodies: &'static [fn(&Database)]) {
    for depth in [3, 5] {
        shuttle::check_pct(move || run(bodies), schedules(RUNS), depth);
    }
    shuttle::check_random(move || run(bodies), schedules(RUNS));
}

#[test]
fn a_merge_beside_a_begin_leaves_the_reader_its_layer() {
    check(&[
        |database| {
            for _ in 0..2 {
                database.write(0);
                database.make_durable();
            }
        },
        merge_twice,
        Database::read,
    ]);
}

#[test]
fn a_tail_that_fills_and_becomes_a_run_shows_each_reader_its_prefix() {
    check(&[
        |database| {
            for target in 0..TAIL_CAPACITY as u32 + 2 {
                database.write(target);
                database.make_durable();
            }
        },
        read_twice,
        Database::read,
    ]);
}

#[test]
fn a_writer_slower_than_two_merges_meets_its_rival() {
    check(&[
        |database| database.write(0),
        |database| {
            for target in [0, 1] {
                database.write(target);
                database.make_durable();
                database.engine.merge_everything();
            }
        },
    ]);
}

#[test]
fn two_merges_of_one_segment_lose_nothing() {
    check(&[
        |database| {
            for target in [0, 1] {
                database.write(target);
                database.make_durable();
            }
        },
        merge_twice,
        merge_twice,
    ]);
}

#[test]
fn merging_everything_beside_another_merge_leaves_nothing_waiting() {
    check(&[write_and_merge, merge_twice, merge_twice]);
}

/// A committer that makes its commits durable, and one that doesn't.
const COMMITTERS: [fn(&Database); 2] = [
    |database| {
        for round in 0..4 {
            database.write(round % 2);
            database.make_durable();
        }
    },
    |database| (0..4).for_each(|round| database.write((1 + round) % 2)),
];

fn slow_writer(database: &Database) {
    let (since, ()) = database.timeline.begin(Access::Write, |_| ());
    for _ in 0..3 {
        database.make_durable();
        database.engine.merge_everything();
    }
    database.commit(since, 0);
    database.timeline.end(since, Access::Write);
}

fn read_twice(database: &Database) {
    (0..2).for_each(|_| database.read());
}

fn write_and_merge(database: &Database) {
    database.write(0);
    database.make_durable();
    database.engine.merge_everything();
    assert_eq!(database.records_waiting(), 0, "another merge was not waited for");
}

fn merge_twice(database: &Database) {
    (0..2).for_each(|_| database.engine.merge_everything());
}

fn make_durable_often(database: &Database) {
    (0..3).for_each(|_| database.make_durable());
}

fn merge_often(database: &Database) {
    (0..4).for_each(|_| database.engine.merge_everything());
}

/// All at once, as in the protocol's model.
const ALL: [fn(&Database); 6] =
    [COMMITTERS[0], COMMITTERS[1], merge_often, make_durable_often, read_twice, read_twice];
const ALL_AND_SLOW: [fn(&Database); 7] =
    [COMMITTERS[0], COMMITTERS[1], slow_writer, merge_twice, make_durable_often, read_twice, read_twice];

#[test]
fn views_and_conflicts_hold_in_random_schedules() {
    shuttle::check_random(|| run(&ALL), schedules(RUNS));
    shuttle::check_random(|| run(&ALL_AND_SLOW), schedules(RUNS));
}

#[test]
fn views_and_conflicts_hold_in_priority_schedules() {
    shuttle::check_pct(|| run(&ALL), schedules(RUNS), 3);
    shuttle::check_pct(|| run(&ALL_AND_SLOW), schedules(RUNS), 3);
}
