//! Schedules of a store on the mapped engine: commits, and who begins beside them in the same process, driven by shuttle.
//!
//! Each commit gives both vertices its number. Whoever begins beside it, to read at R or to write at W, sees both as the
//! newest commit up to that moment left them, first and again.
//!
//! Merges, what is freed and other processes: `schedules_live`. `EVERGRAPH_PLANTED=publish-before-install` makes it fail.
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`; `make test` does.

#![cfg(shuttle)]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "../../storage/tests/scheduled_store/mod.rs"]
mod scheduled_store;

use crate::scheduled_store::scheduled_store;
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::engine::options::MappedOptions;
use evergraph_mapped_engine::words::RegionSizes;
use evergraph_storage::log::options::Durability;
use evergraph_storage::log::writer::Log;
use evergraph_storage::store::Store;
use evergraph_storage::sync::thread;
use std::sync::Arc;

const RUNS: usize = 100;
const COMMITS: u64 = 3;

/// A store with two vertices, and the log that is to be closed.
struct Database {
    store: Store<MappedEngine>,
    log: Arc<Log>,
    key: KeyId,
    vertices: [VertexId; 2],
    /// The commit that made them, with the number zero.
    made_at: Timestamp,
}

impl Database {
    fn new() -> Self {
        // Words that shuttle schedules take much memory.
        let region_sizes = RegionSizes::new(11, 12).unwrap();
        let options = MappedOptions { region_sizes, slots: 16, ..MappedOptions::default() };
        let (store, log) = scheduled_store(Durability::None, |timeline| {
            MappedEngine::in_memory(Arc::clone(timeline), options).unwrap()
        });
        let made = store.transact(|transaction| {
            let (label, key) = (transaction.label("Account")?, transaction.key("number")?);
            let mut add = || transaction.add_vertex(label, &[(key, Value::I64(0))]);
            Ok((key, [add()?, add()?]))
        });
        let (key, vertices) = made.unwrap();
        let made_at = store.timeline().published();
        Self { store, log, key, vertices, made_at }
    }

    fn write(&self) {
        for number in 1..=COMMITS {
            let written = self.store.transact(|transaction| {
                for vertex in self.vertices {
                    let value = Value::I64(number as i64);
                    transaction.set_vertex_property(vertex, self.key, Some(value))?;
                }
                Ok(())
            });
            written.unwrap();
        }
    }

    fn check(&self, view: &impl GraphView) {
        let timestamp = view.timestamp();
        let newest = (timestamp.0 - self.made_at.0) as i64;
        for look in ["first", "again"] {
            let [one, other] = self.vertices.map(|vertex| {
                let properties = view.vertex_property_map(vertex).unwrap();
                match properties[..] {
                    [(_, Value::I64(number))] => number,
                    ref other => panic!("one number expected: {other:?}"),
                }
            });
            assert_eq!(one, other, "half a commit is seen {look}");
            assert_eq!(one, newest, "a snapshot at {timestamp} shows another commit than its newest {look}");
        }
    }

    fn read(&self) {
        self.check(&self.store.snapshot());
    }

    /// As a transaction does that writes later.
    fn begin_to_write(&self) {
        self.check(&self.store.begin());
    }
}

fn run() {
    let database = Arc::new(Database::new());
    let bodies: [fn(&Database); 3] = [Database::write, Database::read, Database::begin_to_write];
    let threads = bodies.map(|body| {
        let database = Arc::clone(&database);
        thread::spawn("database", move || body(&database)).unwrap()
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    database.log.close().unwrap();
    let snapshot = database.store.snapshot();
    assert_eq!(snapshot.timestamp().0 - database.made_at.0, COMMITS, "each commit is readable");
    database.check(&snapshot);
}

#[test]
fn who_begins_beside_a_commit_sees_all_of_it_or_nothing() {
    shuttle::check_pct(run, RUNS, 3);
    shuttle::check_random(run, RUNS);
}
