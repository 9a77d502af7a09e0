//! Host: what a query on a whole database needs of it, as a trait.

use crate::gremlin::task::Task;
use crate::snapshot::Snapshot;
use evergraph_graph::budget::Budget;
use evergraph_graph::error::Result;
use evergraph_graph::transaction::{Committed, Freshness, TransactionOptions};
use evergraph_query::plan::io::Io;
use evergraph_query::write::Writer;

/// What a query needs of the database that it runs on.
pub trait QueryHost: Sync {
    /// The newest readable moment, with at least what `freshness` says.
    fn snapshot_with(&self, freshness: Freshness) -> Snapshot;

    /// Where queries take their memory from.
    fn budget(&self) -> &dyn Budget;

    /// Refuses a query that writes, before it begins.
    ///
    /// # Errors
    /// `invalid` where the database is only read.
    fn check_writable(&self) -> Result<()>;

    /// Calls `attempt` with a transaction and commits it; again, after a short random wait, when another
    /// transaction was first.
    ///
    /// # Errors
    /// What `attempt` or the commit says; `conflict` only after many attempts.
    fn transact(
        &self,
        options: TransactionOptions,
        attempt: &mut dyn FnMut(&mut dyn Writer) -> Result<()>,
    ) -> Result<Committed>;

    /// Reads the file that `io` names into the database, or writes the newest readable moment to it, within the limits
    /// of `task`: all of it, or nothing.
    ///
    /// # Errors
    /// `invalid` where `task` may not do that, where the program was built without the feature `files`, or for what is
    /// wrong with the file or doesn't fit its format; what loading or writing meets.
    fn transfer(&self, io: &Io, task: &Task) -> Result<()>;
}
