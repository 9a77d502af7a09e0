//! Durability of a database: how much of it a power cut would leave, for programs that tell others.

use crate::database::Database;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;

impl Database {
    /// The newest commit that a power cut would leave, with all before it. It only grows: with durability `sync` up to the
    /// newest acknowledged commit, with `interval` a little later, with `none` when [`Database::sync`] or a checkpoint
    /// says so. In a database that only reads: the newest commit that snapshots see, which is durable if the process that
    /// writes has durability `sync`.
    ///
    /// Cost: two loads.
    #[must_use]
    pub fn durable_through(&self) -> Timestamp {
        if self.is_read_only() {
            return self.store().timeline().readable();
        }
        // A frame is written before its commit is published.
        Timestamp(self.store().log().durable()).min(self.store().timeline().published())
    }

    /// Waits until everything committed so far is on disk, whatever the durability; returns the newest commit of it.
    ///
    /// # Errors
    /// `io` if a write or sync fails, or failed before: nothing is committed any more until the database is opened again.
    /// `invalid` in a database that only reads.
    pub fn sync(&self) -> Result<Timestamp> {
        self.store().check_writable()?;
        let newest = self.store().timeline().published();
        self.store().log().wait_durable(newest.0)?;
        Ok(newest)
    }
}
