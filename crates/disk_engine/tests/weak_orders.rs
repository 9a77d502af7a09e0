//! Weak orders: what the counts, blocks and links of a memory graph publish, in every order of memory that the
//! language allows, by loom.
//!
//! The writer has the first thread, as in the memory engine's tests of the same name: of a reader that comes first loom
//! would not try the orders in which a load of the writer's stands before its store.
//! `EVERGRAPH_PLANTED=length-relaxed` fails the first of them.
//!
//! Run with `RUSTFLAGS="--cfg loom"`.

#![cfg(loom)]

use evergraph_disk_engine::format::subject::EdgeSide;
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use std::sync::Arc;

const VERTEX: VertexId = VertexId(3);

/// Runs `body` in all orders in which a thread is interrupted three times at most.
fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

fn properties(timestamp: u64) -> Properties {
    Properties::new(vec![(KeyId(0), Some(Value::I64(timestamp as i64)))])
}

/// A graph after the first `commits` of a history that sets a property of one vertex again and again.
fn graph(commits: u64) -> Arc<MemoryGraph> {
    let graph = MemoryGraph::open(64, &Promises::new()).expect("nothing was promised");
    (1..=commits).for_each(|timestamp| append(&graph, timestamp));
    Arc::new(graph)
}

fn append(graph: &MemoryGraph, timestamp: u64) {
    let properties = properties(timestamp);
    let mutation = match timestamp {
        1 => Mutation::InsertVertex { vertex: VERTEX, label: LabelId(0), properties },
        _ => Mutation::SetVertexProperties { vertex: VERTEX, properties },
    };
    let commit = SortedCommit::new(&[mutation]).expect("one mutation");
    let prepared = graph.prepare(commit, Vec::new()).expect("the graph has room");
    drop(graph.append(Timestamp(timestamp), prepared));
}

/// Inserts the edge to a target, or deletes it, by turns.
fn turn(graph: &MemoryGraph, timestamp: u64) {
    let (source, target) = (VERTEX, VertexId(8));
    let edge = EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 };
    let mutation = match timestamp % 2 {
        1 => Mutation::InsertEdge { edge, properties: Properties::EMPTY },
        _ => Mutation::DeleteEdge { edge },
    };
    let commit = SortedCommit::new(&[mutation]).expect("one mutation");
    let prepared = graph.prepare(commit, Vec::new()).expect("the graph has room");
    drop(graph.append(Timestamp(timestamp), prepared));
}

/// How many records are found, each whole.
fn whole_records(graph: &MemoryGraph, at: Timestamp) -> u64 {
    let Some(list) = graph.at(at).list(ListId::vertex(VERTEX)) else { return 0 };
    let mut count = 0;
    for record in list.newest_first() {
        assert_eq!(record.item, ItemKey::VERTEX, "half a record is seen");
        assert_eq!(*record.payload, properties(record.timestamp.0), "a payload of another record is seen");
        count += 1;
    }
    count
}

#[test]
fn who_sees_a_count_sees_its_records_and_their_payloads() {
    for before in [0, 2] {
        model(move || {
            let graph = graph(before);
            let reader = {
                let graph = Arc::clone(&graph);
                loom::thread::spawn(move || {
                    assert!(whole_records(&graph, Timestamp::MAX) >= before);
                })
            };
            append(&graph, before + 1);
            append(&graph, before + 2);
            reader.join().expect("the reader doesn't panic");
        });
    }
}

#[test]
fn who_sees_that_a_list_has_links_finds_each_record_by_them() {
    model(|| {
        let graph = Arc::new(MemoryGraph::open(64, &Promises::new()).expect("nothing was promised"));
        (1..=3).for_each(|timestamp| turn(&graph, timestamp));
        let reader = {
            let graph = Arc::clone(&graph);
            loom::thread::spawn(move || {
                let list = graph.at(Timestamp(3)).list(ListId::edges(VERTEX, TypeId(0), EdgeSide::Out));
                let list = list.expect("the first commits are there");
                let found: Vec<_> = list.between(VertexId(8)).map(|record| record.timestamp.0).collect();
                assert_eq!(found, [3, 2, 1]);
                assert_eq!(list.difference(), 1);
            })
        };
        turn(&graph, 4);
        reader.join().expect("the reader doesn't panic");
    });
}

#[test]
fn who_begins_at_a_commit_sees_its_records() {
    model(|| {
        let (graph, timeline) = (graph(0), Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published)));
        let reader = {
            let (graph, timeline) = (Arc::clone(&graph), Arc::clone(&timeline));
            loom::thread::spawn(move || {
                let (since, ()) = timeline.begin(Access::Read, |_| ());
                assert_eq!(whole_records(&graph, since), since.0, "a snapshot misses a commit");
            })
        };
        for timestamp in 1..=2 {
            let mut latch = timeline.latch();
            append(&graph, timestamp);
            timeline.publish(Timestamp(timestamp), &mut latch);
        }
        reader.join().expect("the reader doesn't panic");
    });
}
