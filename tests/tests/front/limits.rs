//! Limits of a transaction: its time, shared by all attempts, and the bytes that its writes take.

use crate::keeps::Keeps;
use crate::naive_engine::NaiveEngine;
use crate::test_store::{TestEngine, empty_with};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::transaction::{Transaction as _, TransactionOptions};
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::io::clock::ManualClock;
use evergraph_storage::store::{Store, StoreOptions};
use evergraph_storage::transaction::handle::Transaction;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn with_clock<E: TestEngine>(kind: E::Kind, options: StoreOptions) -> (Store<E>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(0));
    (empty_with(kind, options, clock.clone()), clock)
}

fn is_late(error: &Error) -> bool {
    error.kind() == ErrorKind::Limit && error.to_string().contains("its timeout is 2s")
}

fn a_late_transaction_neither_reads_nor_writes_nor_commits<E: TestEngine>(kind: E::Kind) {
    let (store, clock) = with_clock::<E>(kind, StoreOptions::default());
    let hurried = TransactionOptions::default().timeout(2 * SECOND);
    for what in 0..3 {
        let mut transaction = store.begin_with(hurried);
        let label = transaction.label("V").unwrap();
        let vertex = transaction.add_vertex(label, &[]).unwrap();
        clock.advance(2 * SECOND);
        let refused = match what {
            0 => transaction.commit().map(drop),
            1 => transaction.delete_vertex(vertex),
            _ => transaction.labels(&[vertex], &mut Vec::new()),
        };
        assert!(is_late(&refused.unwrap_err()), "{what}");
    }
    assert_eq!(store.snapshot().statistics().unwrap().vertices.iter().map(|count| count.1).sum::<u64>(), 0);
    let mut transaction = store.begin_with(hurried);
    let label = transaction.label("V").unwrap();
    transaction.add_vertex(label, &[]).unwrap();
    clock.advance(2 * SECOND - Duration::from_nanos(1));
    transaction.commit().unwrap();
}

fn attempts_share_their_time<E: TestEngine>(kind: E::Kind) {
    let options = StoreOptions { transaction_timeout: 2 * SECOND, ..StoreOptions::default() };
    let (store, clock) = with_clock::<E>(kind, options);
    let mut attempts = 0;
    let refused = store.transact(|_| -> Result<()> {
        attempts += 1;
        clock.advance(SECOND);
        Err(Error::conflict("planned"))
    });
    let error = refused.unwrap_err();
    assert_eq!((attempts, error.kind()), (2, ErrorKind::Conflict));
    assert!(error.to_string().contains("after 2 attempts and all of its time"), "{error}");
    let patient = TransactionOptions::default().timeout(Duration::MAX);
    attempts = 0;
    store
        .retrying(patient, |transaction| {
            attempts += 1;
            clock.advance(SECOND);
            if attempts < 9 { Err(Error::conflict("planned")) } else { transaction.commit().map(drop) }
        })
        .unwrap();
}

fn writes_beyond_their_bytes_are_refused_and_those_before_commit<E: TestEngine>(kind: E::Kind) {
    let options = StoreOptions { transaction_bytes_max: 100_000, ..StoreOptions::default() };
    let (store, _) = with_clock::<E>(kind, options);
    let mut transaction = store.begin();
    let (label, key) = (transaction.label("V").unwrap(), transaction.key("text").unwrap());
    let text = |letters: usize| Some(Value::from("x".repeat(letters)));
    let vertex = transaction.add_vertex(label, &[]).unwrap();
    let mut written = 0;
    let error = loop {
        match transaction.set_vertex_property(vertex, key, text(1000)) {
            Ok(()) if written < 1000 => written += 1,
            Ok(()) => panic!("a megabyte is buffered, where 100 KB are the limit"),
            Err(error) => break error,
        }
    };
    assert!((80..100).contains(&written), "{written} KB were buffered");
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("transaction_bytes_max is 97.7 KiB: commit in parts"), "{error}");
    transaction.commit().unwrap();
    let property = store.snapshot().vertex_property_map(vertex).unwrap();
    assert_eq!(property, [(key, text(1000).unwrap())]);
}

/// The error said "commit in parts", and a delete had none.
fn a_vertex_with_more_edges_than_fit_is_deleted_in_parts<E: TestEngine>(kind: E::Kind) {
    let options = StoreOptions { transaction_bytes_max: 100_000, ..StoreOptions::default() };
    let (store, _) = with_clock::<E>(kind, options);
    let (hub, edge_type) = store
        .transact(|transaction| {
            let (label, edge_type) = (transaction.label("V")?, transaction.edge_type("E")?);
            let hub = transaction.add_vertex(label, &[])?;
            transaction.add_edge(hub, edge_type, hub, &[])?;
            Ok((hub, edge_type))
        })
        .unwrap();
    for _ in 0..6 {
        let add = |transaction: &mut Transaction<E>| -> Result<()> {
            for at in 0..150 {
                let label = transaction.label("V")?;
                let other = transaction.add_vertex(label, &[])?;
                let (source, target) = if at % 2 == 0 { (hub, other) } else { (other, hub) };
                transaction.add_edge(source, edge_type, target, &[])?;
                transaction.add_edge(source, edge_type, target, &[])?;
            }
            Ok(())
        };
        store.transact(add).unwrap();
    }
    let error = store.transact(|transaction| transaction.delete_vertex(hub)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let text = error.to_string();
    assert!(text.starts_with("V v0 has 1,801 edges, too many for one transaction"), "{text}");
    assert!(text.contains("delete_vertex_in_parts"), "{text}");
    let degree = || {
        let mut degrees = Vec::new();
        store.snapshot().degrees(&[hub], None, Direction::Both, &mut degrees).unwrap();
        degrees[0]
    };
    let mut transaction = store.begin();
    assert_eq!(transaction.delete_edges_of(hub, usize::MAX).unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(transaction.delete_edges_of(hub, 100).unwrap(), 100);
    assert_eq!(transaction.delete_edges_of(hub, 2).unwrap(), 2, "it sees what is gone already");
    transaction.commit().unwrap();
    assert_eq!(degree(), 1699, "the self loop went first");
    let (mut told, mut stopped) = (Vec::new(), Error::conflict("not asked"));
    for stops in [true, false] {
        let mut progress = |deleted| {
            told.push(deleted);
            if stops { Err(Error::invalid("stop")) } else { Ok(()) }
        };
        match store.delete_vertex_in_parts(hub, &mut progress) {
            Ok(deleted) => assert_eq!(deleted + told[0], 1699),
            Err(error) => stopped = error,
        }
    }
    assert_eq!(stopped.kind(), ErrorKind::Invalid, "ended where it was told to");
    assert!(told.len() >= 3 && told.iter().all(|deleted| *deleted > 300), "{told:?}");
    let gone = store.delete_vertex_in_parts(hub, &mut |_| Ok(())).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound);
    assert_eq!(store.snapshot().statistics().unwrap().vertices[0].1, 900);
    assert_eq!(degree(), 0);
}

#[test]
fn a_vertex_is_deleted_in_parts_on_both_engines() {
    a_vertex_with_more_edges_than_fit_is_deleted_in_parts::<AnyEngine>(EngineKind::Memory);
    a_vertex_with_more_edges_than_fit_is_deleted_in_parts::<AnyEngine>(EngineKind::Disk);
    a_vertex_with_more_edges_than_fit_is_deleted_in_parts::<AnyEngine>(EngineKind::Mapped);
    a_vertex_with_more_edges_than_fit_is_deleted_in_parts::<NaiveEngine>(Keeps::NoIndexes);
}

#[test]
fn a_transaction_has_its_time_on_both_engines() {
    a_late_transaction_neither_reads_nor_writes_nor_commits::<AnyEngine>(EngineKind::Memory);
    a_late_transaction_neither_reads_nor_writes_nor_commits::<AnyEngine>(EngineKind::Disk);
    a_late_transaction_neither_reads_nor_writes_nor_commits::<AnyEngine>(EngineKind::Mapped);
    a_late_transaction_neither_reads_nor_writes_nor_commits::<NaiveEngine>(Keeps::NoIndexes);
    attempts_share_their_time::<AnyEngine>(EngineKind::Memory);
    attempts_share_their_time::<AnyEngine>(EngineKind::Disk);
    attempts_share_their_time::<AnyEngine>(EngineKind::Mapped);
    attempts_share_their_time::<NaiveEngine>(Keeps::NoIndexes);
}

#[test]
fn a_transaction_has_its_bytes_on_both_engines() {
    writes_beyond_their_bytes_are_refused_and_those_before_commit::<AnyEngine>(EngineKind::Memory);
    writes_beyond_their_bytes_are_refused_and_those_before_commit::<AnyEngine>(EngineKind::Disk);
    writes_beyond_their_bytes_are_refused_and_those_before_commit::<AnyEngine>(EngineKind::Mapped);
    writes_beyond_their_bytes_are_refused_and_those_before_commit::<NaiveEngine>(Keeps::NoIndexes);
}
