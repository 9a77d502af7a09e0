//! `PartitionStore`: what a node asks of the store that keeps one partition.
//!
//! ```text
//! message m   commit m.0 ── apply ──┐
//!             commit m.3 ── apply ──┤ after a crash: any of these moments that is not before the last checkpoint
//!             nothing else ── publish_through(m) ──┤
//!                                        begin_sync ─┴──> sync, in any thread: no crash takes it from here on
//! ```
//!
//! The store keeps, with each of these moments, which log it is of: a commit and the digest of the log through its message
//! are there together, or neither is.

use crate::digest::SeenLog;
use crate::log_position::LogPosition;
use evergraph_graph::error::Result;
use evergraph_graph::index::IndexId;
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
/// one of [`PartitionSync::sync`] it goes on, and its files hold what they held before, or more.
pub trait PartitionStore {
    /// Makes durable what was installed at a moment.
    type PendingSync: PartitionSync;

    /// What it has installed; of one that was opened, what its files hold.
    fn installed(&self) -> Installed;

    /// Whether a look-up in `index` needs no scan: the store has it, and has filled it with what was there before.
    fn has_filled(&self, index: IndexId) -> bool;

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

    /// What is installed now is made durable by [`PartitionSync::sync`]. Waits for nothing.
    fn begin_sync(&self) -> Self::PendingSync;

    /// Makes durable what is installed, and waits for it.
    ///
    /// # Errors
    /// As the trait says.
    fn sync(&self) -> Result<()> {
        self.begin_sync().sync()
    }
}

/// Makes durable what a store had installed at a moment, in whatever thread: beside that of its node, which installs more.
pub trait PartitionSync {
    /// Waits until no crash takes it any more. So it is, too, if the store was closed meanwhile.
    ///
    /// # Errors
    /// What the store says. Its files hold what they held before, or more.
    fn sync(self) -> Result<()>;
}

/// Of a store without files.
impl PartitionSync for () {
    fn sync(self) -> Result<()> {
        Ok(())
    }
}
