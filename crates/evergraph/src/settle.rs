//! Settling: what became of a transaction whose commit nobody knew the outcome of.

use crate::database::Database;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::unknown_commit::UnknownCommit;

impl Database {
    /// What became of a transaction of a cluster whose commit returned `unknown`: the timestamp of its commit, or `None` if it did
    /// not commit, and never will. One that is still under way is called off.
    ///
    /// A commit is `unknown` if the log or the node fails while it waits. Nothing runs such a transaction again by itself, since it
    /// may have committed. A client keeps the [`UnknownCommit`], the cause of the error, which is also a text in its message, and
    /// asks any node of the cluster:
    ///
    /// ```no_run
    /// use evergraph::graph::unknown_commit::UnknownCommit;
    /// use evergraph::{Database, Result};
    ///
    /// /// Adds an order, exactly once.
    /// fn add_order(db: &Database) -> Result<()> {
    ///     loop {
    ///         let mut tx = db.begin();
    ///         tx.add_vertex("Order", &[])?;
    ///         let Err(error) = tx.commit() else { return Ok(()) };
    ///         let Some(unknown) = error.cause::<UnknownCommit>() else { return Err(error) };
    ///         // If this fails as `unknown`, too: ask again, or another node.
    ///         if db.settle(*unknown)?.is_some() {
    ///             return Ok(());
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// Whoever knows its name may call a transaction off. The name cannot be guessed, so keep it as you keep what it writes.
    ///
    /// Cost: one record of the log, and the wait for it: milliseconds.
    ///
    /// # Errors
    /// `unknown` while the log does not answer, and for ever once the log has forgotten the transaction: look at the data
    /// then. `invalid` if no node of the cluster has given that name, or if the database is no cluster: there no commit is unknown in
    /// this sense.
    pub fn settle(&self, unknown: UnknownCommit) -> Result<Option<Timestamp>> {
        self.store().settle(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;

    #[test]
    fn a_database_that_decides_alone_has_nothing_to_settle() {
        let unknown: UnknownCommit = "2.7.143@57-00c0ffee00c0ffee".parse().unwrap();
        let refused = Database::in_memory().unwrap().settle(unknown).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("2.7.143@57-00c0ffee00c0ffee"), "{refused}");
    }
}
