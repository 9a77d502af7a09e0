//! Shared log: stores whose graph lies elsewhere, and whose commits a log decides.
//!
//! - `builds`: indexes that the stores of such a graph build
//! - `log_engine`: such a graph, in a store of its only partition
//!
//! What a log of several nodes promises on top is judged in the crate of the cluster.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod builds;
mod log_engine;

use crate::log_engine::{LogEngine, SharedGraph};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Freshness, Isolation, NewEdge, Transaction as _, TransactionOptions};
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView, VertexCursor};
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::store::Store;
use evergraph_storage::transaction::handle::Transaction;
use std::sync::Arc;

fn person(store: &Store<LogEngine>) -> (LabelId, KeyId) {
    store.transact(|transaction| Ok((transaction.label("Person")?, transaction.key("age")?))).unwrap()
}

fn vertices(view: &impl GraphView) -> Vec<VertexId> {
    let (mut cursor, mut vertices) = (VertexCursor::default(), Vec::new());
    while !cursor.done {
        view.scan_vertices(None, &mut cursor, 100, &mut vertices).unwrap();
    }
    vertices
}

fn age(view: &impl GraphView, vertex: VertexId) -> Vec<Value> {
    view.vertex_property_map(vertex).unwrap().into_iter().map(|(_, value)| value).collect()
}

fn two(graph: &Arc<SharedGraph>) -> (Store<LogEngine>, Store<LogEngine>, KeyId, [VertexId; 2]) {
    let (one, other) = (graph.store(), graph.store());
    let (label, key) = person(&one);
    let vertices = one
        .transact(|transaction| {
            let mut add = || transaction.add_vertex(label, &[(key, Value::I64(0))]);
            Ok([add()?, add()?])
        })
        .unwrap();
    (one, other, key, vertices)
}

fn conflicts(transaction: Transaction<LogEngine>) -> bool {
    match transaction.commit() {
        Ok(_) => false,
        Err(error) => {
            assert!(error.is_conflict(), "{error}");
            true
        }
    }
}

#[test]
fn what_one_store_commits_others_see_in_one_order() {
    let graph = SharedGraph::new();
    let (one, other, key, [first, second]) = two(&graph);
    let before = other.snapshot();
    let mut transaction = other.begin();
    transaction.set_vertex_property(first, key, Some(Value::I64(1))).unwrap();
    let knows = transaction.edge_type("KNOWS").unwrap();
    let edges = [NewEdge::bare(first, second), NewEdge::bare(second, first)];
    transaction.put_edges(knows, &edges).unwrap();
    let edge = transaction.add_edge(first, knows, second, &[]).unwrap();
    assert_eq!((edge.discriminator, age(&transaction, first)), (1, vec![Value::I64(1)]), "own writes");
    let committed = transaction.commit().unwrap();
    assert_eq!(
        (age(&before, first), age(&one.snapshot(), first)),
        (vec![Value::I64(0)], vec![Value::I64(1)])
    );
    assert_eq!(one.snapshot().timestamp(), committed.timestamp);
    assert_eq!(committed.timestamp, graph.partition().timeline().published());
    // As of its own moment nobody has the edge: the same name, and one of two runs again.
    let (mut slow, mut fast) = (one.begin(), other.begin());
    for transaction in [&mut slow, &mut fast] {
        assert_eq!(transaction.add_edge(second, knows, first, &[]).unwrap().discriminator, 1);
    }
    assert_eq!((conflicts(fast), conflicts(slow)), (false, true));
    assert_eq!(one.delete_vertex_in_parts(first, &mut |_| Ok(())).unwrap(), 4);
    assert_eq!(vertices(&other.snapshot()), [second]);
    let numbers = one.statistics();
    assert_eq!((numbers.commits, numbers.conflicts, numbers.readers, numbers.log.frames_count), (2, 1, 0, 0));
    drop(before);
}

#[test]
fn lost_updates_are_refused_at_every_level_and_write_skew_at_the_highest() {
    for (isolation, is_refused) in [(Isolation::Snapshot, false), (Isolation::Serializable, true)] {
        let graph = SharedGraph::new();
        let (one, other, key, [first, second]) = two(&graph);
        let (mut left, mut right) = (one.begin_with(isolation), other.begin_with(isolation));
        assert_eq!((age(&left, first), age(&right, second)), (vec![Value::I64(0)], vec![Value::I64(0)]));
        left.set_vertex_property(second, key, Some(Value::I64(5))).unwrap();
        right.set_vertex_property(first, key, Some(Value::I64(5))).unwrap();
        assert_eq!((conflicts(left), conflicts(right)), (false, is_refused), "{isolation:?}: skew");

        let (mut left, mut right) = (one.begin_with(isolation), other.begin_with(isolation));
        for transaction in [&mut left, &mut right] {
            transaction.set_vertex_property(first, key, Some(Value::I64(7))).unwrap();
        }
        assert_eq!((conflicts(left), conflicts(right)), (false, true), "{isolation:?}: lost update");

        let (mut left, mut right) = (one.begin_with(isolation), other.begin_with(isolation));
        assert_eq!((vertices(&left).len(), vertices(&right).len()), (2, 2));
        for transaction in [&mut left, &mut right] {
            let label = transaction.label("Person").unwrap();
            transaction.add_vertex(label, &[]).unwrap();
        }
        assert_eq!((conflicts(left), conflicts(right)), (false, is_refused), "{isolation:?}: phantom");
    }
}

#[test]
fn names_are_the_logs_at_once_and_both_who_ask_get_the_same() {
    let graph = SharedGraph::new();
    let (one, other) = (graph.store(), graph.store());
    let (mut left, mut right) = (one.begin(), other.begin());
    let label = left.label("Person").unwrap();
    assert_eq!(right.label("Person").unwrap(), label);
    let simple = left.declare_simple_type("LIKES").unwrap();
    assert_eq!(right.edge_type("LIKES").unwrap(), simple, "it has the kind that the first one gave it");
    let error = other.begin().declare_simple_type("KNOWS").and_then(|_| {
        one.begin().edge_type("KNOWS")?;
        right.declare_simple_type("KNOWS")
    });
    assert_eq!(error.map(|_| ()).map_err(|error| error.kind()), Ok(()), "KNOWS is simple, too");
    let key = left.key("name").unwrap();
    left.declare_meta_properties(label, key).unwrap();
    drop(left);
    let catalogue = other.catalogue();
    assert_eq!(
        (catalogue.label("Person"), catalogue.key("name")),
        (Some(label), Some(key)),
        "it rolled back"
    );
    assert!(catalogue.meta_key_of(key).is_some());
    // What it learned travels with it.
    let vertex = right.add_vertex(label, &[]).unwrap();
    right.commit().unwrap();
    assert_eq!(vertices(&one.snapshot()), [vertex]);

    // Who has asked which names there are would get another answer now.
    let mut reader = one.begin_with(Isolation::Serializable);
    assert_eq!(reader.catalogue().label("City"), None);
    reader.add_vertex(label, &[]).unwrap();
    let mut stranger = one.begin_with(Isolation::Serializable);
    stranger.add_vertex(label, &[]).unwrap();
    other.begin().label("City").unwrap();
    assert_eq!((conflicts(reader), conflicts(stranger)), (true, false));
}

#[test]
fn ids_come_back_unless_they_are_used_or_may_be() {
    let graph = SharedGraph::new();
    let store = graph.store();
    let (label, _) = person(&store);
    let take = |end: &dyn Fn(Transaction<LogEngine>)| {
        let mut transaction = store.begin();
        let vertex = transaction.add_vertex(label, &[]).unwrap();
        end(transaction);
        vertex
    };
    let first = take(&drop);
    assert_eq!(take(&drop), first);
    *graph.is_next_unknown.lock() = true;
    let unknown = take(&|transaction| {
        assert_eq!(transaction.commit().unwrap_err().kind(), ErrorKind::Unknown);
    });
    let next = take(&|transaction| drop(transaction.commit().unwrap()));
    assert_eq!(unknown, first);
    assert_ne!(next, first);
    // Added and deleted again: nobody has it.
    let gone = take(&|mut transaction| {
        let all = vertices(&transaction);
        transaction.delete_vertex(*all.last().unwrap()).unwrap();
        transaction.label("Other").unwrap();
        drop(transaction.commit().unwrap());
    });
    assert_eq!(take(&drop), gone);
}

#[test]
fn a_store_says_what_the_log_knows_of_an_unknown_commit() {
    let store = SharedGraph::new().store();
    let unknown = |proof| UnknownCommit { node: 1, incarnation: 0, number: 5, since: Timestamp(9), proof };
    assert_eq!(store.settle(unknown(2)).unwrap(), Some(Timestamp(9)));
    assert_eq!(store.settle(unknown(3)).unwrap(), None, "it may run again");
}

#[test]
fn what_only_the_owner_of_a_log_does_is_refused_and_writes_are_not() {
    let graph = SharedGraph::new();
    let (store, _, _, [first, _]) = two(&graph);
    store.check_writable().unwrap();
    store.begin().check_writable().unwrap();
    assert_eq!(store.writer_process(), None);
    let refused = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("a log that all share decides"), "{error}");
    };
    let owner = OwnerName::Label("Person");
    let request = IndexRequest { owner, key: "age", kind: IndexKind::Hash, unique: false };
    refused(store.create_index(&request, &mut |_| Ok(())).unwrap_err());
    refused(store.apply(Timestamp(99), &[]).unwrap_err());
    refused(store.snapshot_at(Timestamp(1)).map(drop).unwrap_err());
    let error = store.own_log().map(drop).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("ask the nodes"), "{error}");
    // An owner is a note, which nobody here keeps: it would have been dropped.
    let error = store.own("a source", &mut || panic!("nothing is made durable")).map(drop).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("of its own"), "{error}");
    store.check_unowned().unwrap();
    assert_eq!(age(&store.snapshot(), first), [Value::I64(0)]);
    // Nothing was written: nobody is asked.
    let empty = store.begin().commit().unwrap();
    assert_eq!(empty.timestamp, store.snapshot().timestamp());
}

#[test]
fn a_session_asks_for_what_it_has_to_see_and_begins_in_any_case() {
    let graph = SharedGraph::new();
    let store = graph.store();
    let (label, _) = person(&store);
    graph.freshness.lock().clear();
    let after = Freshness::After(Timestamp(3));
    drop((store.snapshot(), store.snapshot_with(Freshness::Fresh)));
    drop(store.begin_with(TransactionOptions::default().freshness(after)));
    let asked = [Freshness::Applied, Freshness::Fresh, after];
    assert_eq!(std::mem::take(&mut *graph.freshness.lock()), asked);

    *graph.refusal.lock() = Some("not yet".to_owned());
    let refused = store.snapshot();
    assert_eq!(refused.catalogue().label("Person"), Some(label), "names are those that were known last");
    *graph.refusal.lock() = None;
    assert!(store.snapshot().timestamp() >= refused.timestamp());
}

/// A name that nobody has is told without a read, and an empty commit asks nobody: both said nothing of a begin that was refused.
#[test]
fn a_session_that_could_not_begin_says_so_before_it_reads_anything() {
    let graph = SharedGraph::new();
    let store = graph.store();
    person(&store);
    *graph.refusal.lock() = Some("not yet".to_owned());
    let refused = |result: Result<(), Error>| {
        let error = result.expect_err("a refused begin passes");
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Busy, "not yet".to_owned()));
    };
    let snapshot = store.snapshot();
    assert_eq!(snapshot.catalogue().label("Nobody"), None);
    refused(snapshot.check_begun());
    refused(snapshot.names().map(drop));
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        let transaction = store.begin_with(isolation);
        refused(transaction.check_begun());
        refused(transaction.commit().map(drop));
    }
    let mut attempts = 0;
    refused(store.transact(|_| {
        attempts += 1;
        Ok(())
    }));
    assert_eq!(attempts, 0, "nothing is done that can't be committed");

    *graph.refusal.lock() = None;
    store.snapshot().check_begun().unwrap();
    drop(store.begin().commit().unwrap());
    refused(snapshot.check_begun());
    drop(snapshot);
    let numbers = store.statistics();
    assert_eq!((numbers.readers, numbers.writers), (0, 0));
}
