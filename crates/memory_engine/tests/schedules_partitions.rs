//! Schedules of partitions: commits that are applied, a horizon that rises, merges, and snapshots at exact moments, driven by
//! shuttle.
//!
//! ```text
//! applier   commit n at 10 n, which adds the edge to n
//! keeper    raises the horizon, and merges
//! merger    merges, whatever the horizon is
//! readers   begin at chosen moments, commits or not: each reads exactly what was there, twice, or is refused
//! ```
//!
//! What is there at a moment follows from the moment alone. A reader is refused only where R is older, or the horizon newer.
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`; `make test` does.

#![cfg(shuttle)]

use evergraph_graph::id::{Direction, EdgeId, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::engine::Engine;
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::sync::schedules;
use evergraph_storage::timeline::clock::{OutOfReach, Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use evergraph_storage::view::PointReads;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const RUNS: usize = 3000;
const TYPE: TypeId = TypeId(0);
/// From one commit to the next.
const GAP: u64 = 10;

struct Partition {
    timeline: Arc<Timeline>,
    engine: MemoryEngine,
}

impl Partition {
    /// With two commits.
    fn new() -> Self {
        let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
        timeline.keep_from_now();
        let engine = MemoryEngine::new(Arc::clone(&timeline));
        engine.open_group(GroupId(0), LabelId(0));
        let partition = Self { timeline, engine };
        (0..2).for_each(|_| partition.apply());
        partition
    }

    /// The next commit. One thread applies.
    fn apply(&self) {
        let timestamp = Timestamp(self.timeline.published().0 + GAP);
        let target = VertexId((timestamp.0 / GAP) as u32);
        let edge = EdgeId { source: VertexId(0), edge_type: TYPE, target, discriminator: 0 };
        let mutations = [Mutation::InsertEdge { edge, properties: Properties::EMPTY }];
        let prepared = self.engine.prepare(&mutations, &IndexChanges::NONE, Duration::ZERO);
        let mut latch = self.timeline.latch();
        let displaced = self.engine.append(timestamp, prepared.expect("the group is open"));
        self.timeline.publish(timestamp, &mut latch);
        drop(latch);
        drop(displaced);
    }

    fn targets(&self, at: Timestamp) -> BTreeSet<u64> {
        let view = self.engine.view(&(), at);
        let mut list = Vec::new();
        view.all_neighbors(VertexId(0), TYPE, Direction::Out, &mut list).expect("memory does not fail");
        list.iter().map(|(target, _)| u64::from(target.0)).collect()
    }

    fn read(&self, at: u64) {
        let at = Timestamp(at);
        match self.timeline.begin_exactly(at, Duration::ZERO, || ()) {
            Ok(()) => {
                for _ in 0..2 {
                    let expected: BTreeSet<u64> = (1..=at.0 / GAP).collect();
                    assert_eq!(self.targets(at), expected, "a snapshot at {at} shows another moment");
                }
                self.timeline.end_at(at, Access::Read, Some(Duration::ZERO));
                self.engine.snapshot_ended();
            }
            Err(OutOfReach::NotYet(newest)) => assert!(newest < at, "{at} is published, as {newest} is"),
            Err(OutOfReach::Gone(oldest)) => {
                assert!(at < oldest && oldest <= self.timeline.horizon(), "{at} is not older than {oldest}");
            }
        }
    }
}

/// Runs each of `bodies` in a thread; then the present must be whole.
fn run(bodies: &[fn(&Partition)]) {
    let partition = Arc::new(Partition::new());
    let threads: Vec<_> = bodies
        .iter()
        .map(|body| {
            let (partition, body) = (Arc::clone(&partition), *body);
            shuttle::thread::spawn(move || body(&partition))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    partition.read(partition.timeline.published().0);
}

/// Priority schedules find what random ones miss, and the other way round.
fn check(bodies: &'static [fn(&Partition)]) {
    for depth in [3, 5] {
        shuttle::check_pct(move || run(bodies), schedules(RUNS), depth);
    }
    shuttle::check_random(move || run(bodies), schedules(RUNS));
}

/// Raises the horizon commit by commit, and merges after each.
fn keep(partition: &Partition) {
    for commit in 1..=3 {
        partition.timeline.raise_horizon(Timestamp(commit * GAP));
        partition.engine.merge_everything();
    }
}

fn merge_twice(partition: &Partition) {
    (0..2).for_each(|_| partition.engine.merge_everything());
}

#[test]
fn a_snapshot_at_a_moment_shows_it_whatever_horizon_and_merges_do() {
    check(&[keep, |partition| [10, 15, 20].into_iter().for_each(|at| partition.read(at))]);
}

#[test]
fn moments_of_commits_that_are_being_applied_are_shown_or_not_reached_yet() {
    check(&[
        |partition| (0..3).for_each(|_| partition.apply()),
        keep,
        merge_twice,
        |partition| [10, 29, 30, 50].into_iter().for_each(|at| partition.read(at)),
        |partition| [40, 25].into_iter().for_each(|at| partition.read(at)),
    ]);
}
