//! Durability: in mode sync, what a snapshot showed or a commit acknowledged is there after the power
//! fails, however many threads share a sync.

use crate::at_once::{Work, checkpointing, repeat};
use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::memory::MemoryDirectory;
use evergraph::storage::io::random::{Random, SplitMix64};
use evergraph::{EngineKind, GraphView, ReadByName, Snapshot, Value, VertexId};
use evergraph_tests::store::{assert_healthy, crash, open_synced};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

const WRITERS: usize = 3;

/// The counters that a snapshot shows.
fn counters(snapshot: &Snapshot, vertices: &[VertexId]) -> Vec<i64> {
    let counter = |vertex: &VertexId| snapshot.get(*vertex, "count").unwrap().unwrap().as_i64().unwrap();
    vertices.iter().map(counter).collect()
}

#[test]
fn what_was_shown_or_acknowledged_survives_a_power_cut() {
    EngineKind::ALL.into_iter().for_each(count_and_cut);
}

fn count_and_cut(engine: EngineKind) {
    let directory = MemoryDirectory::new("db");
    let open = open_synced(engine, &directory).unwrap();
    let mut setup = open.store().begin();
    let (label, key) = (setup.label("Counter").unwrap(), setup.key("count").unwrap());
    let zero = [(key, Value::I64(0))];
    let vertices: Vec<_> = (0..WRITERS).map(|_| setup.add_vertex(label, &zero).unwrap()).collect();
    setup.commit().unwrap();
    let acknowledged: Vec<AtomicI64> = (0..WRITERS).map(|_| AtomicI64::new(0)).collect();

    let counting = |at: usize| -> Work<'_> {
        let (store, vertex, acknowledged) = (open.store(), vertices[at], &acknowledged[at]);
        Box::new(move |round| {
            let count = round as i64 + 1;
            let set = |tx: &mut evergraph::transaction::TransactionById| {
                tx.set_vertex_property(vertex, key, Some(Value::I64(count)))
            };
            store.transact(set).unwrap();
            acknowledged.store(count, Ordering::Release);
        })
    };
    let mut random = SplitMix64::new(5);
    let cutting: Work<'_> = Box::new(|_| {
        let snapshot = open.store().snapshot();
        let mut least = counters(&snapshot, &vertices);
        for (least, acknowledged) in least.iter_mut().zip(&acknowledged) {
            *least = acknowledged.load(Ordering::Acquire).max(*least);
        }
        let found = open_synced(engine, &crash(&directory, random.next_u64())).unwrap();
        let after = found.store().snapshot();
        assert!(after.timestamp() >= snapshot.timestamp());
        let counted = counters(&after, &vertices);
        assert!(counted.iter().zip(&least).all(|(after, least)| after >= least), "{counted:?} < {least:?}");
        assert_healthy(&found);
    });
    let mut works: Vec<Work<'_>> = (0..WRITERS).map(counting).collect();
    works.extend([cutting, checkpointing(&open)]);
    repeat(Duration::from_secs(1), works);
}
