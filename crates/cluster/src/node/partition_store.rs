//! `PartitionStore`: what a node asks of the store that keeps one partition.
//!
//! ```text
//! message m   commit m.0 ── apply ──┐
//!             commit m.3 ── apply ──┤ after a crash: any of these moments that is not before the last checkpoint
//!             nothing else ── publish_through(m) ──┤
//!                                        checkpoint ─┘
//! ```
//!
//! The store keeps, with each of these moments, which log it is of: a commit and the digest of the log through its message
//! are there together, or neither is.

use crate::digest::SeenLog;
use crate::log_position::LogPosition;
use evergraph_graph::error::Result;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;

/// How much of which log a partition has installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Installed {
    /// Everything up to here is installed: a commit, or the end of a message.
    pub through: Timestamp,
    /// The log through the message that this lies in.
    pub seen: SeenLog,
}

impl Installed {
    /// Everything through the message at `seen`.
    #[must_use]
    pub fn all(seen: &SeenLog) -> Self {
        Self { through: seen.position.end(), seen: *seen }
    }

    /// The message that is installed, or begun.
    #[must_use]
    pub fn position(&self) -> LogPosition {
        self.seen.position
    }
}

/// The store of one partition.
///
/// It decides nothing: what it is given has committed, on every node that keeps the partition. A new one has installed the
/// log of which nothing was applied ([`SeenLog::START`]).
///
/// # Errors
/// Every method fails as the store below does. An error of kind `limit` says that there is no room, and that nothing was
/// installed: [`PartitionStore::apply`] and [`PartitionStore::publish_through`] are called again later, with the same. After any
/// other error of these two nothing follows: the partition is out of use on its node until it is opened again or copied. After
/// one of [`PartitionStore::checkpoint`] it goes on, and its files hold what they held before, or more.
pub trait PartitionStore {
    /// What it has installed; of one that was opened, what its files hold.
    fn installed(&self) -> Installed;

    /// Installs the commit at `timestamp`, behind all that it has installed, of the message at `seen`.
    ///
    /// Mutations of the catalogue come first. Of an edge each side is another partition's: the store installs its own.
    ///
    /// # Errors
    /// As the trait says.
    fn apply(&mut self, timestamp: Timestamp, mutations: Vec<Mutation>, seen: &SeenLog) -> Result<()>;

    /// Everything through the message at `seen` that concerns this partition is installed: a snapshot may begin at its end.
    ///
    /// # Errors
    /// As the trait says.
    fn publish_through(&mut self, seen: &SeenLog) -> Result<()>;

    /// Makes durable what is installed: no crash takes it from here on.
    ///
    /// # Errors
    /// As the trait says.
    fn checkpoint(&mut self) -> Result<()>;
}
