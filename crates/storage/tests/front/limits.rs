//! Limits of a transaction: its time, shared by all attempts, and the bytes that its writes take.

use crate::naive_engine::NaiveEngine;
use crate::test_store::{TestEngine, empty_with};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::transaction::{Transaction as _, TransactionOptions};
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::io::clock::ManualClock;
use evergraph_storage::memory::engine::MemoryEngine;
use evergraph_storage::store::{Store, StoreOptions};
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn with_clock<E: TestEngine>(options: StoreOptions) -> (Store<E>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(0));
    (empty_with(options, clock.clone()), clock)
}

fn is_late(error: &Error) -> bool {
    error.kind() == ErrorKind::Limit && error.to_string().contains("its timeout is 2s")
}

fn a_late_transaction_neither_reads_nor_writes_nor_commits<E: TestEngine>() {
    let (store, clock) = with_clock::<E>(StoreOptions::default());
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

fn attempts_share_their_time<E: TestEngine>() {
    let options = StoreOptions { transaction_timeout: 2 * SECOND, ..StoreOptions::default() };
    let (store, clock) = with_clock::<E>(options);
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

fn writes_beyond_their_bytes_are_refused_and_those_before_commit<E: TestEngine>() {
    let options = StoreOptions { transaction_bytes_max: 100_000, ..StoreOptions::default() };
    let (store, _) = with_clock::<E>(options);
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

#[test]
fn a_transaction_has_its_time_on_both_engines() {
    a_late_transaction_neither_reads_nor_writes_nor_commits::<MemoryEngine>();
    a_late_transaction_neither_reads_nor_writes_nor_commits::<NaiveEngine>();
    attempts_share_their_time::<MemoryEngine>();
    attempts_share_their_time::<NaiveEngine>();
}

#[test]
fn a_transaction_has_its_bytes_on_both_engines() {
    writes_beyond_their_bytes_are_refused_and_those_before_commit::<MemoryEngine>();
    writes_beyond_their_bytes_are_refused_and_those_before_commit::<NaiveEngine>();
}
