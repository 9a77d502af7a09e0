//! Queries on a database: they read a snapshot, or write in a transaction of their own.

use crate::database::Database;
use crate::gremlin::graph::DatabaseTarget;
use crate::gremlin::host::QueryHost;
use crate::gremlin::query::{Query, QuerySource};
use crate::gremlin::task::Task;
use crate::snapshot::Snapshot;
use evergraph_graph::budget::Budget;
use evergraph_graph::error::Result;
use evergraph_graph::transaction::{Committed, Freshness, TransactionOptions};
use evergraph_query::plan::io::Io;
use evergraph_query::write::Writer;

impl Database {
    /// A query in Gremlin: on a snapshot if it only reads, else in a transaction of its own, committed when the
    /// query is through and begun again after a conflict. See [`crate::gremlin`].
    pub fn gremlin<'q>(&'q self, text: &'q str) -> Query<'q, DatabaseTarget<'q>> {
        Query::new(DatabaseTarget::new(self), text)
    }

    /// The same, said as text or as bytecode.
    pub fn ask<'q>(&'q self, said: impl Into<QuerySource<'q>>) -> Query<'q, DatabaseTarget<'q>> {
        Query::new(DatabaseTarget::new(self), said)
    }
}

impl QueryHost for Database {
    fn snapshot_with(&self, freshness: Freshness) -> Snapshot {
        Database::snapshot_with(self, freshness)
    }

    fn budget(&self) -> &dyn Budget {
        &**self.store().budget()
    }

    fn check_writable(&self) -> Result<()> {
        self.store().check_writable()
    }

    fn transact(
        &self,
        options: TransactionOptions,
        attempt: &mut dyn FnMut(&mut dyn Writer) -> Result<()>,
    ) -> Result<Committed> {
        self.retrying(options, |mut transaction| {
            attempt(transaction.by_id())?;
            transaction.commit()
        })
    }

    #[cfg(feature = "files")]
    fn transfer(&self, io: &Io, task: &Task) -> Result<()> {
        crate::gremlin::io::transfer(self, io, task)
    }

    #[cfg(not(feature = "files"))]
    fn transfer(&self, io: &Io, _: &Task) -> Result<()> {
        Err(evergraph_graph::error::Error::invalid(format!(
            "this query {} the file {}, and this program was built without the feature `files` of the crate evergraph: \
             it needs default features, or `features = [\"files\"]`, at evergraph in Cargo.toml",
            io.verb(),
            io.path
        )))
    }
}
