//! Schedules: readers, writers, a switch of graphs and freed memory around memory graphs, driven by shuttle.
//!
//! ```text
//! readers beside a writer   lists that grow out of their entry, into blocks, and get links; sums; index entries
//! writers and a switch      commits prepared for one graph and appended to the next, which is opened meanwhile
//! freed memory              conflict checks while a graph with a file is freed
//! ```
//!
//! Blocks of two records, links beyond three and parts of two entries make each of these happen within a few commits.
//! `EVERGRAPH_PLANTED=length-before-record` fails the first of them.
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`. Nothing here yields, as in the memory engine's schedules.

#![cfg(shuttle)]

use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::generation::{Generation, RetainedGenerations};
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::index_entries::IndexRecord;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::{ChangedSince, Key};
use evergraph_storage::index::entry_range::{BytesBound, EntryOrder};
use evergraph_storage::sync::{Mutex, schedules};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use std::collections::BTreeSet;
use std::sync::Arc;

const RUNS: usize = 1000;
const TYPE: TypeId = TypeId(0);
const CAPACITY: u64 = 1 << 10;
const INDEX: Subject = Subject::index(0).expect("few indexes have lower numbers");
const HUB: VertexId = VertexId(0);
const TARGETS: u32 = 3;
const FITS: &str = "a few commits fit into a graph";

fn edge(target: u32) -> EdgeId {
    EdgeId { source: HUB, edge_type: TYPE, target: VertexId(target), discriminator: 0 }
}

fn hub() -> ListId {
    ListId::edges(HUB, TYPE, EdgeSide::Out)
}

/// Priority schedules find what random ones miss, and the other way round.
fn check(run: fn()) {
    for depth in [3, 5] {
        shuttle::check_pct(run, schedules(RUNS), depth);
    }
    shuttle::check_random(run, schedules(RUNS));
}

fn join(threads: Vec<shuttle::thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
}

/// The targets that the edges of the hub lead to after `commits` commits, each of which turns one around.
fn targets_after(commits: u64) -> BTreeSet<u32> {
    let mut targets = BTreeSet::new();
    for commit in 1..=commits {
        let target = commit as u32 % TARGETS;
        if !targets.remove(&target) {
            targets.insert(target);
        }
    }
    targets
}

/// The change that makes the state of `timestamp` out of the one before, and its index entry.
fn turn(timestamp: u64) -> (Mutation, IndexRecord) {
    let target = timestamp as u32 % TARGETS;
    let (mutation, operation) = match targets_after(timestamp - 1).contains(&target) {
        true => (Mutation::DeleteEdge { edge: edge(target) }, RecordOperation::Delete),
        false => {
            let insert = Mutation::InsertEdge { edge: edge(target), properties: Properties::EMPTY };
            (insert, RecordOperation::Insert)
        }
    };
    let item = ItemId::Vertex(VertexId(target));
    (mutation, IndexRecord { subject: INDEX, value: [1u8].as_slice().into(), item, operation })
}

/// Everything that a reader may ask of one graph at `timestamp` says the same.
fn check_prefix(graph: &MemoryGraph, timestamp: Timestamp) {
    let wanted = targets_after(timestamp.0);
    let visible = graph.at(timestamp);
    let group = HUB.group();
    assert_eq!(visible.segment_difference(hub().subject, group), wanted.len() as i64, "a sum at {timestamp}");
    let mut entries = Vec::new();
    let all = (&BytesBound::Start, &BytesBound::End);
    visible.index_entries(INDEX, all, EntryOrder::Ascending, usize::MAX, &mut entries);
    let present = entries.iter().filter(|entry| entry.operation == RecordOperation::Insert).count();
    assert_eq!(present, wanted.len(), "index entries at {timestamp}");
    let Some(list) = visible.list(hub()) else {
        assert_eq!(timestamp, Timestamp::ZERO, "a list that is missing at {timestamp}");
        return;
    };
    assert_eq!(list.newest_first().count() as u64, timestamp.0, "a list is not its prefix of the history");
    assert_eq!(list.difference(), wanted.len() as i64, "a degree at {timestamp}");
    for target in 0..TARGETS {
        let newest = list.of_item(ItemKey::edge(VertexId(target), 0)).next();
        let exists = newest.is_some_and(|record| record.operation == RecordOperation::Insert);
        assert_eq!(exists, wanted.contains(&target), "an edge at {timestamp}");
    }
    let mut scan = visible.scan(..);
    let out = scan.next_list().map(|list| list.records.len() as u64);
    assert_eq!(out, Some(timestamp.0), "a scan at {timestamp}");
}

fn readers_beside_a_writer() {
    let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
    let graph = Arc::new(MemoryGraph::open(CAPACITY, &Promises::new()).expect(FITS));
    let mut threads = Vec::new();
    for _ in 0..2 {
        let (timeline, graph) = (Arc::clone(&timeline), Arc::clone(&graph));
        threads.push(shuttle::thread::spawn(move || {
            let (timestamp, ()) = timeline.begin(Access::Read, |_| ());
            (0..2).for_each(|_| check_prefix(&graph, timestamp));
            timeline.end(timestamp, Access::Read);
        }));
    }
    threads.push(shuttle::thread::spawn(move || {
        for timestamp in 1..=7 {
            let (mutation, entry) = turn(timestamp);
            let commit = SortedCommit::new(&[mutation]).expect("one mutation");
            let prepared = graph.prepare(commit, vec![entry]).expect(FITS);
            let mut latch = timeline.latch();
            let appended = graph.append(Timestamp(timestamp), prepared);
            timeline.publish(Timestamp(timestamp), &mut latch);
            drop(latch);
            drop(appended);
        }
        check_prefix(&graph, timeline.published());
    }));
    join(threads);
}

#[test]
fn a_reader_sees_its_prefix_while_a_list_grows_and_gets_links() {
    check(readers_beside_a_writer);
}

/// The graph that is written and those before it; one that waits to be written.
#[derive(Default)]
struct Graphs {
    all: Vec<Arc<MemoryGraph>>,
    next: Option<MemoryGraph>,
}

fn writers_and_a_switch() {
    let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
    let promises = Promises::new();
    let first = Arc::new(MemoryGraph::open(CAPACITY, &promises).expect(FITS));
    let graphs = Arc::new(Mutex::new(Graphs { all: vec![first], next: None }));
    let mut threads = Vec::new();
    for writer in 0..3u32 {
        let (timeline, graphs) = (Arc::clone(&timeline), Arc::clone(&graphs));
        threads.push(shuttle::thread::spawn(move || {
            for commit in 0..2u32 {
                // Each inserts five edges from one vertex, and drops one commit unused.
                let source = VertexId(writer % 2);
                let insert = |target| Mutation::InsertEdge {
                    edge: EdgeId { source, target: VertexId(target), ..edge(0) },
                    properties: Properties::EMPTY,
                };
                let first = writer * 100 + commit * 10;
                let mutations: Vec<_> = (first..first + 5).map(insert).collect();
                let graph = Arc::clone(graphs.lock().all.last().expect("one is written"));
                let prepare = || {
                    graph
                        .prepare(SortedCommit::new(&mutations).expect("few mutations"), Vec::new())
                        .expect(FITS)
                };
                drop(prepare());
                let prepared = prepare();
                let mut latch = timeline.latch();
                let timestamp = timeline.published().next();
                let current = {
                    let mut graphs = graphs.lock();
                    if let Some(next) = graphs.next.take() {
                        graphs.all.last().expect("one is written").freeze();
                        graphs.all.push(Arc::new(next));
                    }
                    Arc::clone(graphs.all.last().expect("one is written"))
                };
                // Panics if the graph has no memory for it.
                let appended = current.append(timestamp, prepared);
                timeline.publish(timestamp, &mut latch);
                drop(latch);
                drop(appended);
            }
        }));
    }
    let (of_switch, opened) = (Arc::clone(&graphs), Arc::clone(&promises));
    threads.push(shuttle::thread::spawn(move || {
        for _ in 0..2 {
            let next = MemoryGraph::open(CAPACITY, &opened).expect(FITS);
            of_switch.lock().next = Some(next);
        }
    }));
    join(threads);
    let mut records = 0;
    for graph in &graphs.lock().all {
        let mut scan = graph.at(Timestamp::MAX).scan(..ListId::edges(HUB, TYPE, EdgeSide::In));
        while let Some(list) = scan.next_list() {
            records += list.records.len();
        }
    }
    assert_eq!(records, 3 * 2 * 5, "each commit is in one graph");
}

#[test]
fn a_commit_finds_its_room_in_the_graph_that_was_opened_meanwhile() {
    check(writers_and_a_switch);
}

fn freed_memory() {
    let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
    let mut generations = RetainedGenerations::<()>::new(Timestamp::ZERO);
    for timestamp in 1..=3 {
        let graph = MemoryGraph::of_commit(
            SortedCommit::new(&[turn(timestamp).0]).expect("one mutation"),
            Vec::new(),
        )
        .expect(FITS);
        graph.set_timestamp(Timestamp(timestamp));
        timeline.publish(Timestamp(timestamp), &mut timeline.latch());
        generations.push(Arc::new(Generation::new(Arc::new(graph))));
    }
    let current = Arc::new(Mutex::new(generations));
    let retained = Arc::clone(&current);
    let flush = shuttle::thread::spawn(move || {
        for at in 0..3 {
            let generations = retained.lock().clone();
            generations.as_slice()[at].set_file(Arc::new(()));
        }
        let generations = retained.lock().clone();
        drop(generations.free_graphs(Some(Timestamp::ZERO)));
        retained.lock().prune();
        drop(generations.free_graphs(None));
    });
    let check = shuttle::thread::spawn(move || {
        for _ in 0..2 {
            let generations = current.lock().clone();
            // Changed by the first commit, of which nothing may be known any more; never "it wasn't".
            let answer = generations.newer(&Key::Edge(edge(1)), Timestamp::ZERO);
            assert_ne!(answer, ChangedSince::No, "a change is denied");
            assert_eq!(generations.newer(&Key::Edge(edge(1)), Timestamp(3)), ChangedSince::No);
            for generation in generations.as_slice() {
                let is_first = generation.last() == Some(Timestamp(1));
                assert!(
                    generation.first().is_some() && (is_first || generation.first() > Some(Timestamp(1)))
                );
                drop(generation.source());
            }
        }
    });
    join(vec![flush, check]);
}

#[test]
fn a_conflict_check_beside_the_freeing_of_a_graph_denies_nothing() {
    check(freed_memory);
}
