//! Durability of a database: how much of it a power cut would leave, for programs that tell others.

use crate::database::Database;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;

impl Database {
    /// The newest commit that a power cut would leave, with all before it. It only grows: with durability `sync` up to the
    /// newest acknowledged commit, with `interval` a little later, with `none` when [`Database::sync`] or a checkpoint
    /// says so. In a database that only reads: the newest commit that snapshots see, which is durable if the process that
    /// writes has durability `sync`. On a cluster: the same, and its log has made it durable.
    ///
    /// Cost: two loads; on a cluster, a lock.
    #[must_use]
    pub fn durable_through(&self) -> Timestamp {
        let timeline = self.store().timeline();
        match self.store().own_log() {
            // A frame is written before its commit is published.
            Ok(log) => Timestamp(log.durable()).min(timeline.published()),
            Err(_) => timeline.readable(),
        }
    }

    /// Whether this process writes the log that makes commits durable: not in a database that only reads, nor on a cluster, whose
    /// log is a service of its own.
    #[must_use]
    pub fn has_own_log(&self) -> bool {
        self.store().own_log().is_ok()
    }

    /// Waits until everything committed so far is on disk, whatever the durability; returns the newest commit of it. On a cluster
    /// everything is that was acknowledged.
    ///
    /// # Errors
    /// `io` if a write or sync fails, or failed before: nothing is committed any more until the database is opened again.
    /// `invalid` in a database that only reads.
    pub fn sync(&self) -> Result<Timestamp> {
        self.store().check_writable()?;
        let Ok(log) = self.store().own_log() else { return Ok(self.durable_through()) };
        let newest = self.store().timeline().published();
        log.wait_durable(newest.0)?;
        Ok(newest)
    }
}
