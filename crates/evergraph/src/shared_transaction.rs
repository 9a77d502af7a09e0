//! Shared transaction: a transaction whose queries own it in turn, for sessions that outlive a call.
//!
//! ```text
//!        ask, with                    end
//! open ─────────────> in use    open, in use ─────> ended
//!   ^                   │                             ^
//!   └── results drop ───┘       open ──── take ───────┘
//! ```
//!
//! A query takes the transaction out and brings it back when its results are dropped. So results borrow nothing, and two
//! queries never see one another half done.

use crate::gremlin::graph::LeasedTarget;
use crate::gremlin::query::{Query, QuerySource};
use crate::transaction::{Transaction, TransactionById};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_query::write::{Writer, WriterLease};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A transaction that queries use in turn. Copies share it; when the last one and all results are dropped, it is rolled
/// back.
///
/// ```
/// use evergraph::{Database, Item};
/// use evergraph::shared_transaction::SharedTransaction;
///
/// let db = Database::in_memory()?;
/// let transaction = SharedTransaction::new(db.begin());
/// transaction.ask("g.inject(1, 2).addV('Point')")?.run()?;
/// let mut results = transaction.ask("g.V()")?.iter()?;
/// assert_eq!(results.next_items(1)?.len(), 1);
/// assert!(transaction.ask("g.V()").is_err(), "it is in use");
/// drop(results);
/// transaction.take()?.commit()?;
/// assert_eq!(db.gremlin("g.V().count()").one::<i64>()?, 2);
/// # Ok::<(), evergraph::Error>(())
/// ```
///
/// Concurrency: the lock is held to move the transaction in or out, never while anything runs.
#[derive(Clone)]
pub struct SharedTransaction(Arc<Mutex<Slot>>);

/// Where the transaction is.
enum Slot {
    Open(Box<Transaction>),
    /// A query has it, or a call of [`SharedTransaction::with`].
    InUse,
    /// It was taken or rolled back.
    Ended,
}

impl SharedTransaction {
    /// Shares `transaction`.
    #[must_use]
    pub fn new(transaction: Transaction) -> Self {
        Self(Arc::new(Mutex::new(Slot::Open(Box::new(transaction)))))
    }

    /// A query in Gremlin, from text or bytecode: see [`Transaction::ask`]. The transaction is in use until the query or
    /// its results are dropped.
    ///
    /// # Errors
    /// `busy` while it is in use, `invalid` once it has ended.
    pub fn ask<'q>(&self, source: impl Into<QuerySource<'q>>) -> Result<Query<'q, LeasedTarget>> {
        Ok(Query::new(self.target()?, source))
    }

    /// The same for a query that was read before: see [`Streams`](crate::gremlin::graph::Streams).
    ///
    /// # Errors
    /// As [`SharedTransaction::ask`].
    pub fn target(&self) -> Result<LeasedTarget> {
        let lease = self.lease()?;
        let budget = lease.transaction().shared_budget();
        let refusal = lease.transaction().by_id_ref().check_writable().err();
        Ok(LeasedTarget::new(Box::new(lease), budget, refusal))
    }

    /// Does `work` with the transaction.
    ///
    /// # Errors
    /// As [`SharedTransaction::ask`]; what `work` says.
    pub fn with<T>(&self, work: impl FnOnce(&mut Transaction) -> Result<T>) -> Result<T> {
        work(self.lease()?.transaction_mut())
    }

    /// The transaction, to be committed; this one has ended then.
    ///
    /// # Errors
    /// As [`SharedTransaction::ask`].
    pub fn take(&self) -> Result<Transaction> {
        let mut lease = self.lease()?;
        let transaction = lease.transaction.take().expect("a lease has it until its drop");
        *self.slot() = Slot::Ended;
        Ok(*transaction)
    }

    /// Rolls it back, if it has not ended; whether it had not. If it is in use, it is rolled back by the end of that use,
    /// which the caller may hasten with the query's [`CancelFlag`](evergraph_graph::cancel::CancelFlag).
    pub fn end(&self) -> bool {
        // Dropped outside of the lock.
        let before = std::mem::replace(&mut *self.slot(), Slot::Ended);
        !matches!(before, Slot::Ended)
    }

    /// Whether it has neither been taken nor rolled back.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !matches!(*self.slot(), Slot::Ended)
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lease(&self) -> Result<TransactionLease> {
        let mut slot = self.slot();
        match std::mem::replace(&mut *slot, Slot::InUse) {
            Slot::Open(transaction) => {
                Ok(TransactionLease { transaction: Some(transaction), shared: self.clone() })
            }
            Slot::InUse => {
                let text = "a query of this transaction is not done: fetch all of its results, or close them";
                Err(Error::new(ErrorKind::Busy, text))
            }
            Slot::Ended => {
                *slot = Slot::Ended;
                Err(Error::invalid("the transaction was committed or rolled back: begin another one"))
            }
        }
    }
}

/// A transaction that is in use.
struct TransactionLease {
    /// Taken when dropped or committed, and only then.
    transaction: Option<Box<Transaction>>,
    shared: SharedTransaction,
}

impl TransactionLease {
    fn transaction(&self) -> &Transaction {
        self.transaction.as_deref().expect("a lease has it until its drop")
    }

    fn transaction_mut(&mut self) -> &mut Transaction {
        self.transaction.as_deref_mut().expect("a lease has it until its drop")
    }
}

impl WriterLease for TransactionLease {
    fn writer(&self) -> &dyn Writer {
        let by_id: &TransactionById = self.transaction().by_id_ref();
        by_id
    }

    fn writer_mut(&mut self) -> &mut dyn Writer {
        self.transaction_mut().by_id()
    }
}

impl Drop for TransactionLease {
    fn drop(&mut self) {
        let Some(transaction) = self.transaction.take() else { return };
        let mut slot = self.shared.slot();
        if !matches!(*slot, Slot::InUse) {
            // Ended meanwhile; rolled back outside of the lock.
            drop(slot);
            return drop(transaction);
        }
        // A panic may have left half a write.
        *slot = if std::thread::panicking() { Slot::Ended } else { Slot::Open(transaction) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;
    use crate::gremlin::graph::{SharedSnapshotTarget, Streams as _};
    use crate::gremlin::results::Results;
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_query::value::item::Item;

    fn points(db: &Database, count: usize) {
        db.transact(|tx| {
            (0..count).try_for_each(|at| tx.add_vertex("Point", &[("at", (at as i64).into())]).map(drop))
        })
        .unwrap();
    }

    fn at_of(items: Vec<Item>) -> Vec<i64> {
        items.into_iter().map(|item| item.as_value().and_then(|value| value.as_i64()).unwrap()).collect()
    }

    #[test]
    fn results_own_their_snapshot_and_go_on_in_any_thread() {
        fn is_movable(_: &(impl Send + 'static)) {}
        let db = Database::in_memory().unwrap();
        points(&db, 5000);
        let text = String::from("g.V().hasLabel('Point').values('at').order()");
        let mut results = Query::shared(Arc::new(db.snapshot()), &*text).iter().unwrap();
        is_movable(&results);
        drop(text);
        let mut found = at_of(results.next_items(10).unwrap());
        db.gremlin("g.V().drop()").run().unwrap();
        for _ in 0..3 {
            let more = std::thread::spawn(move || {
                let items = results.next_items(2000);
                (items, results)
            });
            let (items, rest) = more.join().unwrap();
            found.extend(at_of(items.unwrap()));
            results = rest;
        }
        assert_eq!(found, (0..5000).collect::<Vec<_>>());
        assert!(results.next().is_none());
        drop(db);
    }

    #[test]
    fn one_task_runs_on_several_targets_and_knows_whether_it_writes() {
        let db = Database::in_memory().unwrap();
        points(&db, 3);
        let task = db.gremlin("g.V().count()").task().unwrap();
        assert!(!task.writes());
        let count = |mut results: Results<'_>| at_of(results.next_items(9).unwrap())[0];
        let snapshot = Arc::new(db.snapshot());
        let transaction = SharedTransaction::new(db.begin());
        transaction.ask("g.addV('Point')").unwrap().run().unwrap();
        assert_eq!(count(SharedSnapshotTarget::new(Arc::clone(&snapshot)).results(&task).unwrap()), 3);
        assert_eq!(count(transaction.target().unwrap().results(&task).unwrap()), 4);
        let writes = db.gremlin("g.addV('Point')").task().unwrap();
        assert!(writes.writes());
        assert!(SharedSnapshotTarget::new(snapshot).results(&writes).is_err());
    }

    #[test]
    fn a_transaction_returns_when_its_results_are_dropped_also_after_an_error() {
        let db = Database::in_memory().unwrap();
        let transaction = SharedTransaction::new(db.begin());
        transaction.ask("g.inject(1, 2, 3).addV('Point')").unwrap().run().unwrap();
        let kind = |result: Result<Query<'_, LeasedTarget>>| result.err().map(|error| error.kind());
        let query = transaction.ask("g.V()").unwrap();
        assert_eq!(kind(transaction.ask("g.V()")), Some(ErrorKind::Busy));
        assert_eq!(transaction.take().err().map(|error| error.kind()), Some(ErrorKind::Busy));
        let mut results = query.iter().unwrap();
        assert_eq!(results.next_items(2).unwrap().len(), 2);
        assert_eq!(kind(transaction.ask("g.V()")), Some(ErrorKind::Busy));
        drop(results);
        assert!(transaction.ask("g.V(").unwrap().iter().is_err(), "no query");
        assert!(transaction.ask("g.V().fail()").unwrap().run().is_err());
        assert_eq!(transaction.with(|tx| tx.gremlin("g.V().count()").one::<i64>()).unwrap(), 3);
        transaction.take().unwrap().commit().unwrap();
        assert!(!transaction.is_open());
        assert_eq!(kind(transaction.ask("g.V()")), Some(ErrorKind::Invalid));
        assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 3);
    }

    #[test]
    fn a_transaction_that_ends_in_use_is_rolled_back_by_the_end_of_that_use() {
        let db = Database::in_memory().unwrap();
        let transaction = SharedTransaction::new(db.begin());
        let cancel = CancelFlag::default();
        let mut results =
            transaction.ask("g.inject(1, 2, 3).addV('Point')").unwrap().cancel(&cancel).iter().unwrap();
        assert_eq!(results.next_items(1).unwrap().len(), 1);
        assert!(transaction.end() && !transaction.end() && !transaction.is_open());
        cancel.cancel();
        drop(results);
        assert!(transaction.take().is_err());
        assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 0);
    }

    #[test]
    fn a_panic_in_a_transaction_ends_it() {
        let db = Database::in_memory().unwrap();
        let transaction = SharedTransaction::new(db.begin());
        let copy = transaction.clone();
        let panicked = std::thread::spawn(move || copy.with::<()>(|_| panic!("planned")));
        assert!(panicked.join().is_err());
        assert!(!transaction.is_open());
    }

    #[test]
    fn traversers_come_with_their_bulk_and_a_batch_at_most_a_call() {
        let db = Database::in_memory().unwrap();
        let sink = db
            .transact(|tx| {
                let [hub, sink] = [tx.add_vertex("Hub", &[])?, tx.add_vertex("Sink", &[])?];
                tx.add_edge(hub, "TO", sink, &[])?;
                for _ in 0..3 {
                    let from = tx.add_vertex("Point", &[])?;
                    tx.add_edge(from, "TO", hub, &[])?;
                }
                Ok(sink)
            })
            .unwrap();
        let text = "g.V().repeat(__.out()).times(2)";
        let mut results = Query::shared(Arc::new(db.snapshot()), text).iter().unwrap();
        let mut all = Vec::new();
        loop {
            let some = results.next_traversers(1).unwrap();
            if some.is_empty() {
                break;
            }
            all.extend(some.into_iter().map(|traverser| (traverser.item, traverser.bulk)));
        }
        assert_eq!(all, [(Item::Vertex(sink), 3)]);
    }
}
