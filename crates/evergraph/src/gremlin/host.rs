//! Host: what a query on a whole database needs of it, so that queries know databases by this trait alone.

use crate::export::options::ExportOptions;
use crate::import::options::ImportOptions;
use crate::snapshot::Snapshot;
use evergraph_graph::budget::Budget;
use evergraph_graph::error::Result;
use evergraph_graph::transaction::{Committed, TransactionOptions};
use evergraph_query::write::Writer;

/// What a query needs of the database that it runs on.
pub trait QueryHost: Sync {
    /// The newest readable moment.
    fn snapshot(&self) -> Snapshot;

    /// Where queries take their memory from.
    fn budget(&self) -> &dyn Budget;

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

    /// Imports files: all of them, or nothing.
    ///
    /// # Errors
    /// What is wrong with the files; what loading them meets.
    fn import(&self, options: &ImportOptions) -> Result<()>;

    /// Exports the newest readable moment: all of it, or nothing.
    ///
    /// # Errors
    /// What the format can't hold; what writing meets.
    fn export(&self, options: &ExportOptions) -> Result<()>;
}
