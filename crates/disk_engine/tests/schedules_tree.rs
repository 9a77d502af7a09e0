//! Schedules: the swaps of a tree beside snapshots that begin and conflict checks, driven by shuttle.
//!
//! ```text
//! swap against begin     a graph is switched and installed while snapshots begin: each sees its prefix, whole
//! drop against newer     flushed graphs are freed while writers ask what is newer: no change is denied
//! ```
//!
//! A file is a stretch of commits here; each commit inserts one vertex, which has its number.
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`. Nothing here yields, as in the memory engine's schedules.
//! `EVERGRAPH_PLANTED=begin-outside-registry` and `flush-before-sync` fail the first of them.

#![cfg(shuttle)]

use evergraph_disk_engine::file_set::FileSet;
use evergraph_disk_engine::format::subject::Subject;
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_disk_engine::tree::Tree;
use evergraph_disk_engine::tree_state::{Pin, SourceHandle};
use evergraph_graph::id::{GroupId, LabelId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::{ChangedSince, Key};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use std::ops::RangeInclusive;
use std::sync::Arc;

const RUNS: usize = 300;
const CAPACITY: u64 = 1 << 10;
const FITS: &str = "a few commits fit into a graph";

/// The commits of a file.
type Stretch = RangeInclusive<u64>;

/// Priority schedules find what random ones miss, and the other way round.
fn check(run: fn()) {
    for depth in [3, 5] {
        shuttle::check_pct(run, RUNS, depth);
    }
    shuttle::check_random(run, RUNS);
}

fn join(threads: Vec<shuttle::thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
}

struct Fixture {
    timeline: Arc<Timeline>,
    /// D.
    durable: Arc<AtomicU64>,
    promises: Arc<Promises>,
    tree: Tree<Stretch>,
    /// The flush lock.
    flushing: Mutex<()>,
}

impl Fixture {
    fn new() -> Arc<Self> {
        let durable = Arc::new(AtomicU64::new(0));
        let source = Arc::clone(&durable);
        let through = Arc::new(move || Timestamp(source.load(Ordering::Acquire)));
        let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Durable(through)));
        let promises = Promises::new();
        let open = MemoryGraph::open(CAPACITY, &promises).expect(FITS);
        let tree = Tree::new(Arc::clone(&timeline), FileSet::new(), Timestamp::ZERO, open);
        Arc::new(Self { timeline, durable, promises, tree, flushing: Mutex::default() })
    }

    fn next_graph(&self) -> MemoryGraph {
        MemoryGraph::open(CAPACITY, &self.promises).expect(FITS)
    }

    /// Commits once; the graph is switched before, or the commit brings its own.
    fn commit(&self, switches: bool, is_large: bool) {
        let insert = |vertex| Mutation::InsertVertex {
            vertex: VertexId(vertex),
            label: LabelId(0),
            properties: Properties::EMPTY,
        };
        // One thread commits, so its timestamp is known ahead.
        let timestamp = self.timeline.published().next();
        let commit = SortedCommit::new(&[insert(timestamp.0 as u32)]).expect("one mutation");
        if is_large {
            let large = Arc::new(MemoryGraph::of_commit(commit, Vec::new()).expect(FITS));
            let next = self.next_graph();
            let mut latch = self.timeline.latch();
            let attached = self.tree.attach(timestamp, large, next);
            self.timeline.publish(timestamp, &mut latch);
            drop(latch);
            drop(attached);
            return;
        }
        let next = switches.then(|| self.next_graph());
        let prepared = self.tree.open_graph().prepare(commit, Vec::new()).expect(FITS);
        let mut latch = self.timeline.latch();
        let is_due = self.tree.open_graph().last().is_some();
        let replaced = next.filter(|_| is_due).map(|next| self.tree.switch(next));
        let appended = self.tree.open_graph().append(timestamp, prepared);
        self.timeline.publish(timestamp, &mut latch);
        drop(latch);
        drop((replaced, appended));
    }

    /// Makes everything durable that was published, as the log's leader does.
    fn sync(&self) {
        self.durable.store(self.timeline.published().0, Ordering::Release);
    }

    /// Installs the oldest frozen generation, if it is readable.
    fn flush(&self) {
        let _place = self.flushing.lock();
        let oldest = self.tree.with_current(|current| current.frozen().first().cloned());
        if let Some(oldest) = oldest.filter(|oldest| self.tree.is_readable(oldest)) {
            let first = oldest.first().expect("a frozen graph has commits").0;
            let last = oldest.last().expect("a frozen graph has commits").0;
            drop(self.tree.install(&oldest, Some(Arc::new(first..=last)), |_| false));
        }
    }

    /// A snapshot at `timestamp` finds each commit up to it in one source, and in its set nothing that is newer.
    fn check_pin(pin: &Pin<Stretch>, timestamp: Timestamp) {
        for file in pin.set().iter() {
            assert!(*file.end() <= timestamp.0, "a set has commit {} at {timestamp}", file.end());
        }
        let count = |source| match source {
            SourceHandle::Graph(graph) => {
                let graph: Arc<MemoryGraph> = graph;
                graph.at(timestamp).segment_difference(Subject::VERTICES, GroupId(0))
            }
            SourceHandle::File(file) => {
                let file: Arc<Stretch> = file;
                (*file.start()..=*file.end().min(&timestamp.0)).count() as i64
            }
            SourceHandle::Generation(_) | SourceHandle::Level(_) => {
                unreachable!("neither asked for nor compacted")
            }
        };
        let found: i64 = pin.sources(timestamp).map(count).sum();
        assert_eq!(found, timestamp.0 as i64, "a snapshot sees its prefix, each commit once");
    }
}

fn swap_against_begin() {
    let fixture = Fixture::new();
    let mut threads = Vec::new();
    for access in [Access::Read, Access::Write] {
        let fixture = Arc::clone(&fixture);
        threads.push(shuttle::thread::spawn(move || {
            for _ in 0..2 {
                let (timestamp, pin) = fixture.timeline.begin(access, |_| fixture.tree.pin());
                (0..2).for_each(|_| Fixture::check_pin(&pin, timestamp));
                drop(pin);
                if fixture.timeline.end(timestamp, access) {
                    drop(fixture.tree.free_graphs());
                }
            }
        }));
    }
    let flush = Arc::clone(&fixture);
    threads.push(shuttle::thread::spawn(move || {
        for _ in 0..3 {
            // Before the sync only what is readable already may be installed.
            flush.flush();
            flush.sync();
            flush.flush();
            drop(flush.tree.free_graphs());
        }
    }));
    let writer = Arc::clone(&fixture);
    threads.push(shuttle::thread::spawn(move || {
        for commit in 0..5 {
            writer.commit(commit % 2 == 1, commit == 2);
        }
    }));
    join(threads);
    fixture.sync();
    let (timestamp, pin) = fixture.timeline.begin(Access::Read, |_| fixture.tree.pin());
    assert_eq!(timestamp, Timestamp(5));
    Fixture::check_pin(&pin, timestamp);
}

#[test]
fn a_snapshot_that_begins_beside_a_swap_sees_its_prefix() {
    check(swap_against_begin);
}

fn drop_against_newer() {
    let fixture = Fixture::new();
    (0..2).for_each(|_| fixture.commit(true, false));
    let mut threads = Vec::new();
    for _ in 0..2 {
        let fixture = Arc::clone(&fixture);
        threads.push(shuttle::thread::spawn(move || {
            let (since, ()) = fixture.timeline.begin(Access::Write, |_| ());
            for _ in 0..2 {
                // Under the latch nothing is published meanwhile.
                let latch = fixture.timeline.latch();
                let newest = fixture.timeline.published();
                for vertex in 1..=newest.0 {
                    let answer = fixture.tree.newer(&Key::Vertex(VertexId(vertex as u32)), since);
                    let unexpected = if vertex > since.0 { ChangedSince::No } else { ChangedSince::Yes };
                    assert_ne!(answer, unexpected, "vertex {vertex} since {since}, W {newest}");
                }
                drop(latch);
            }
            let moved = fixture.timeline.end(since, Access::Write);
            if moved {
                drop(fixture.tree.free_graphs());
            }
        }));
    }
    let flush = Arc::clone(&fixture);
    threads.push(shuttle::thread::spawn(move || {
        for _ in 0..3 {
            flush.sync();
            flush.flush();
            drop(flush.tree.free_graphs());
            // Memory that is short takes what writers might need, too.
            drop(flush.tree.current().retained.free_graphs(None));
        }
    }));
    let writer = Arc::clone(&fixture);
    threads.push(shuttle::thread::spawn(move || (0..3).for_each(|_| writer.commit(true, false))));
    join(threads);
}

#[test]
fn a_conflict_check_beside_swaps_and_freed_graphs_denies_nothing() {
    check(drop_against_newer);
}
