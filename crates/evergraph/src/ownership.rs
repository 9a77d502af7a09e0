//! `Ownership`: the right to write to a database that follows a source, for programs such as a replica.

use crate::database::Database;
use crate::file_work::FileWork;
use crate::import_progress::{ImportProgress, reporting};
use crate::transaction::Transaction;
use evergraph_engines::engine::AnyEngine;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::load::Load;
use evergraph_graph::transaction::Committed;
use evergraph_storage::bulk::load::LoadSummary;
pub use evergraph_storage::ownership::OwnerChanges;

/// The right of one holder to write to a database, which refuses everybody else's writes as `invalid`, naming the
/// source that it follows. Reading goes on, and so does creating and dropping indexes.
///
/// The database keeps its owner when this is dropped, and when it is closed: [`Database::own`] holds it again,
/// [`Ownership::release`] makes it an ordinary database.
///
/// An owner keeps *notes* beside the graph: named bytes that change in the commit of a transaction, such as the position
/// in the source that the transaction brings the graph to. A [`Snapshot`](crate::Snapshot) shows those of its moment.
///
/// ```
/// use evergraph::{Database, ErrorKind};
///
/// let db = Database::in_memory()?;
/// let mut ownership = db.own("a queue of orders")?;
/// let mut tx = ownership.begin()?;
/// tx.add_vertex("Order", &[("number", 17.into())])?;
/// tx.set_note("position", &17u64.to_le_bytes())?;
/// tx.commit()?;
/// assert_eq!(db.snapshot().note("position").as_deref(), Some(&17u64.to_le_bytes()[..]));
///
/// let refused = db.transact(|tx| tx.add_vertex("Order", &[])).unwrap_err();
/// assert_eq!(refused.kind(), ErrorKind::Invalid);
/// ownership.release()?;
/// db.transact(|tx| tx.add_vertex("Order", &[]))?;
/// # Ok::<(), evergraph::Error>(())
/// ```
pub struct Ownership {
    database: Database,
    inner: evergraph_storage::ownership::Ownership<AnyEngine>,
}

impl Database {
    /// What the database follows, as its owner called it; `None` if it has no owner.
    #[must_use]
    pub fn source(&self) -> Option<String> {
        self.store().source()
    }

    /// Makes the database follow `source`, a name for people, or holds one that does already. From here on it refuses
    /// all other writes; of transactions that are open, the commits.
    ///
    /// Versions that don't know notes refuse to open the database from here on.
    ///
    /// Cost: a checkpoint and a commit, if it does not follow `source` yet.
    ///
    /// # Errors
    /// `busy` if it is held already, or a load runs; `invalid` if it follows another source, or `source` is empty; `limit`
    /// on a full disk, `io`: it has no owner then.
    pub fn own(&self, source: &str) -> Result<Ownership> {
        Ok(Ownership { inner: self.open.files(FileWork::Ownership)?.own(source)?, database: self.clone() })
    }
}

impl Ownership {
    /// What the database follows.
    #[must_use]
    pub fn source(&self) -> &str {
        self.inner.source()
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Begins a transaction at the newest commit, without a timeout. One is open at a time.
    ///
    /// Nobody writes beside it, so it checks no keys and has no limit of a million writes; that of bytes holds. Its commit
    /// can be a `conflict` only by a unique index that becomes ready after its begin: run it again then.
    ///
    /// # Errors
    /// `busy` if another one is open.
    pub fn begin(&mut self) -> Result<Transaction> {
        Ok(Transaction::new(self.inner.begin()?, self.database.store().budget()))
    }

    /// As [`Database::load_within`], with notes that are set and properties of vertices that change with it: after a crash
    /// all of it is there, or nothing.
    ///
    /// # Errors
    /// As [`Database::load_within`]; `busy` if a transaction of this is open; as [`Transaction::set_note`]; `invalid` for a
    /// vertex that isn't there or comes twice, a property that has an index or another type, and for any vertex in a database
    /// of the disk engine.
    pub fn load_within(
        &mut self,
        memory_bytes: u64,
        load: &Load,
        changes: OwnerChanges<'_>,
        progress: &dyn Fn(&ImportProgress<'_>),
        cancel: &CancelFlag,
    ) -> Result<LoadSummary> {
        let open = self.database.open_store()?;
        reporting(progress, cancel, |building, writing| {
            open.load_owned(&mut self.inner, memory_bytes, load, changes, building, writing)
        })
    }

    /// Gives the database up: it has no owner and no notes any more, and anybody writes to it.
    ///
    /// # Errors
    /// `busy` if a transaction of this is open; as a commit: the database keeps its owner then.
    pub fn release(self) -> Result<Committed> {
        self.inner.release()
    }
}

#[cfg(test)]
mod tests {
    use crate::database::Database;
    use evergraph_graph::error::ErrorKind;

    #[test]
    fn queries_and_imports_by_others_are_refused_at_their_first_write() {
        let db = Database::in_memory().unwrap();
        db.gremlin("g.addV('Person').property('name', 'Ada')").run().unwrap();
        assert_eq!(db.source(), None);
        let ownership = db.own("postgres://example/shop").unwrap();
        assert_eq!(db.source().as_deref(), Some("postgres://example/shop"));
        for text in ["g.addV('Person')", "g.V().property('name', 'B')", "g.V().drop()", "g.addV('New')"] {
            let refused = db.gremlin(text).run().unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid, "{text}: {refused}");
            assert!(refused.to_string().contains("follows postgres://example/shop"), "{text}: {refused}");
        }
        assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 1, "reading goes on");
        db.create_unique_index("Person", "name").unwrap();
        drop(ownership);
        let mut ownership = db.own("postgres://example/shop").unwrap();
        let mut tx = ownership.begin().unwrap();
        tx.gremlin("g.addV('Person').property('name', 'B')").run().unwrap();
        tx.commit().unwrap();
        assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 2);
    }
}
