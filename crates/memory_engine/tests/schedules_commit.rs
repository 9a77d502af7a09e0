//! Schedules of the commit: the latch, publication and what readers and rivals see of it, driven by
//! shuttle on a whole store: front, memory engine, index and log.
//!
//! ```text
//! writers     move both vertices to the same new value, in one transaction each
//! readers     see both at the value of the newest commit up to their moment, and find both by it
//! keeper      merges and removes from the index what is due
//! skew        two serialisable transactions read what the other writes: one must have been first
//! counter     two transactions count up: no step is lost
//! unique      two transactions enter one unique value: one of them is told
//! owner       moves them with a note of the value, which snapshots see together; others commit before it or never
//! ```
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`; `make test` does.

#![cfg(shuttle)]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "../../storage/tests/scheduled_store/mod.rs"]
mod scheduled_store;

use crate::scheduled_store::scheduled_store;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Isolation, Transaction as _};
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::log::options::Durability;
use evergraph_storage::log::writer::Log;
use evergraph_storage::store::Store;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use evergraph_storage::sync::thread;
use evergraph_storage::sync::{Mutex, schedules};
use evergraph_storage::transaction::handle::Transaction;
use std::collections::BTreeMap;
use std::sync::Arc;

const RUNS: usize = 2000;

/// Priority schedules find more than random ones; each test runs both.
fn check(scenario: impl Fn() + Send + Sync + Clone + 'static) {
    for depth in [3, 5] {
        shuttle::check_pct(scenario.clone(), schedules(RUNS), depth);
    }
    shuttle::check_random(scenario, schedules(RUNS));
}

/// A store with two vertices of value 0, and the log that is to be closed.
struct Kernel {
    store: Store<MemoryEngine>,
    log: Arc<Log>,
    label: LabelId,
    key: KeyId,
    vertices: [VertexId; 2],
    next: AtomicU64,
    /// What commits wrote, and what snapshots saw.
    moved: Mutex<BTreeMap<Timestamp, i64>>,
    seen: Mutex<Vec<(Timestamp, i64)>>,
}

impl Kernel {
    fn new(durability: Durability, indexed: bool) -> Arc<Self> {
        let (store, log) = scheduled_store(durability, |timeline| MemoryEngine::new(Arc::clone(timeline)));
        let made = store.transact(|transaction| {
            let (label, key) = (transaction.label("Account")?, transaction.key("value")?);
            let mut add = || transaction.add_vertex(label, &[(key, Value::I64(0))]);
            Ok((label, key, [add()?, add()?]))
        });
        let (label, key, vertices) = made.unwrap();
        if indexed {
            let owner = OwnerName::Label("Account");
            let request = IndexRequest { owner, key: "value", kind: IndexKind::Hash, unique: false };
            store.create_index(&request, &mut |_| Ok(())).unwrap();
        }
        let (moved, seen) = (Mutex::new(BTreeMap::from([(Timestamp::ZERO, 0)])), Mutex::default());
        Arc::new(Self { store, log, label, key, vertices, next: AtomicU64::new(1), moved, seen })
    }

    fn value(&self, view: &impl GraphView, vertex: usize) -> i64 {
        let properties = view.vertex_property_map(self.vertices[vertex]).unwrap();
        match properties[..] {
            [(_, Value::I64(value))] => value,
            ref other => panic!("one value expected: {other:?}"),
        }
    }

    /// As [`Store::transact`], but it doesn't wait for a random time, which doesn't pass for shuttle.
    fn transact(
        &self,
        isolation: Isolation,
        body: impl Fn(&mut Transaction<MemoryEngine>) -> Result<()>,
    ) -> Result<Timestamp> {
        loop {
            let mut transaction = self.store.begin_with(isolation);
            let done = body(&mut transaction).and_then(|()| transaction.commit());
            match done {
                // Who is refused ahead of the latch met a rival that may still be under it.
                Err(error) if error.is_conflict() => drop(self.store.timeline().latch()),
                done => return done.map(|committed| committed.timestamp),
            }
        }
    }

    /// Moves both vertices to a value that nobody else writes.
    fn move_both(&self) {
        let value = self.next.fetch_add(1, Ordering::SeqCst) as i64;
        let moved = self.transact(Isolation::Snapshot, |transaction| {
            for vertex in self.vertices {
                transaction.set_vertex_property(vertex, self.key, Some(Value::I64(value)))?;
            }
            Ok(())
        });
        self.moved.lock().insert(moved.unwrap(), value);
    }

    fn read(&self) {
        let snapshot = self.store.snapshot();
        let value = self.value(&snapshot, 0);
        assert_eq!(self.value(&snapshot, 1), value, "half a commit is seen");
        self.seen.lock().push((snapshot.timestamp(), value));
        if !snapshot.catalogue().has_indexes() {
            return;
        }
        let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
        let values = [Value::I64(value)];
        snapshot.look_up_vertices(self.label, self.key, &values, &mut cursor, 9, &mut found).unwrap();
        assert_eq!(found.items, self.vertices, "the index doesn't find who has {value}");
    }

    /// Moves both as their owner, with a note that says where.
    fn follow_source(&self) {
        let mut ownership = self.store.own("a source", &mut || Ok(())).unwrap();
        for _ in 0..3 {
            let value = self.next.fetch_add(1, Ordering::SeqCst) as i64;
            let mut transaction = ownership.begin().unwrap();
            for vertex in self.vertices {
                transaction.set_vertex_property(vertex, self.key, Some(Value::I64(value))).unwrap();
            }
            transaction.set_note("position", &value.to_le_bytes()).unwrap();
            let moved = transaction.commit().unwrap().timestamp;
            self.moved.lock().insert(moved, value);
        }
    }

    /// Three snapshots, each open while the next ones are.
    fn read_notes(&self) {
        let snapshots = [(); 3].map(|()| {
            let snapshot = self.store.snapshot();
            self.seen.lock().push((snapshot.timestamp(), self.value(&snapshot, 0)));
            snapshot
        });
        for snapshot in &snapshots {
            let position = snapshot
                .note("position")
                .map_or(0, |bytes| i64::from_le_bytes(bytes[..].try_into().unwrap()));
            assert_eq!(position, self.value(snapshot, 1), "the note of another commit is seen");
        }
    }

    /// Becomes the owner and does nothing; what there is then.
    fn own(&self) {
        let ownership = self.store.own("a source", &mut || Ok(())).unwrap();
        let snapshot = self.store.snapshot();
        self.seen.lock().push((Timestamp::MAX, self.value(&snapshot, 0)));
        drop(ownership);
    }

    fn move_unless_owned(&self) {
        let mut transaction = self.store.begin();
        let value = self.next.fetch_add(1, Ordering::SeqCst) as i64;
        let set = transaction.set_vertex_property(self.vertices[0], self.key, Some(Value::I64(value)));
        match set.and_then(|()| transaction.commit()) {
            Ok(committed) => drop(self.moved.lock().insert(committed.timestamp, value)),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Invalid, "{error}"),
        }
    }

    fn keep(&self) {
        self.store.engine().merge_everything();
        self.store.collect_indexes();
    }

    /// Reads one vertex and writes the other, one more than it read.
    fn follow(&self, vertex: usize) {
        let followed = self.transact(Isolation::Serializable, |transaction| {
            let other = self.value(transaction, 1 - vertex);
            transaction.set_vertex_property(self.vertices[vertex], self.key, Some(Value::I64(other + 1)))
        });
        followed.unwrap();
    }

    /// Gives a vertex the name that both want.
    fn enter(&self, vertex: usize) {
        let entered = self.transact(Isolation::Snapshot, |transaction| {
            let name = transaction.key("name")?;
            transaction.set_vertex_property(self.vertices[vertex], name, Some(Value::I64(7)))
        });
        if let Err(error) = entered {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
    }

    fn count_up(&self) {
        let counted = self.transact(Isolation::Snapshot, |transaction| {
            let value = self.value(transaction, 0);
            transaction.set_vertex_property(self.vertices[0], self.key, Some(Value::I64(value + 1)))
        });
        counted.unwrap();
    }

    /// Runs each of `bodies` in a thread, then closes the log.
    fn run(self: &Arc<Self>, bodies: &[fn(&Self)]) {
        let threads: Vec<_> = bodies
            .iter()
            .map(|body| {
                let (kernel, body) = (Arc::clone(self), *body);
                thread::spawn("kernel", move || body(&kernel)).unwrap()
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        self.log.close().unwrap();
        let moved = self.moved.lock();
        for (timestamp, value) in self.seen.lock().iter() {
            let (_, newest) = moved.range(..=*timestamp).next_back().unwrap();
            assert_eq!(value, newest, "a snapshot at {timestamp} shows another commit than its newest");
        }
    }
}

#[test]
fn who_begins_beside_a_commit_sees_all_of_it_or_nothing() {
    check(|| Kernel::new(Durability::None, false).run(&[Kernel::move_both, Kernel::read, Kernel::keep]));
}

#[test]
fn who_begins_beside_a_commit_sees_all_of_it_or_nothing_in_mode_sync() {
    let read: fn(&Kernel) = |kernel| (0..3).for_each(|_| kernel.read());
    let bodies = [Kernel::move_both, Kernel::move_both, read];
    check(move || Kernel::new(Durability::Sync, false).run(&bodies));
}

#[test]
fn a_snapshot_sees_the_notes_of_its_commit() {
    let bodies = [Kernel::follow_source, Kernel::read_notes, Kernel::read_notes];
    for durability in [Durability::None, Durability::Sync] {
        check(move || Kernel::new(durability, false).run(&bodies));
    }
}

#[test]
fn a_commit_beside_who_becomes_the_owner_is_before_it_or_refused() {
    check(|| Kernel::new(Durability::None, false).run(&[Kernel::own, Kernel::move_unless_owned]));
}

#[test]
fn an_index_finds_what_a_snapshot_shows() {
    let twice: fn(&Kernel) = |kernel| (0..2).for_each(|_| kernel.move_both());
    let bodies = [twice, Kernel::move_both, Kernel::read, Kernel::read, Kernel::keep];
    check(move || Kernel::new(Durability::None, true).run(&bodies));
}

#[test]
fn of_two_serialisable_transactions_one_was_first() {
    check(|| {
        let kernel = Kernel::new(Durability::None, false);
        kernel.run(&[|kernel| kernel.follow(0), |kernel| kernel.follow(1)]);
        let snapshot = kernel.store.snapshot();
        let mut values = [0, 1].map(|vertex| kernel.value(&snapshot, vertex));
        values.sort_unstable();
        assert_eq!(values, [1, 2], "each read what the other overwrote");
    });
}

#[test]
fn one_of_two_gets_a_unique_value() {
    check(|| {
        let kernel = Kernel::new(Durability::None, false);
        kernel.store.create_unique_index("Account", "name").unwrap();
        let name = kernel.store.catalogue().key("name").unwrap();
        kernel.run(&[|kernel| kernel.enter(0), |kernel| kernel.enter(1)]);
        let snapshot = kernel.store.snapshot();
        let has_name = |vertex: &VertexId| {
            let properties = snapshot.vertex_property_map(*vertex).unwrap();
            properties.iter().any(|(key, _)| *key == name)
        };
        let holders = kernel.vertices.iter().filter(|vertex| has_name(vertex)).count();
        assert_eq!(holders, 1, "a unique value has {holders} holders");
    });
}

#[test]
fn no_step_of_a_counter_is_lost() {
    check(|| {
        let kernel = Kernel::new(Durability::None, false);
        kernel.run(&[Kernel::count_up, Kernel::count_up, Kernel::keep]);
        assert_eq!(kernel.value(&kernel.store.snapshot(), 0), 2, "a step is lost");
    });
}
