//! Options: how a database is opened.

use evergraph_graph::transaction::Isolation;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::OpenOptions;
use std::time::Duration;

/// Choices for opening a database. None of them changes what is stored.
#[derive(Clone, Debug)]
pub struct Options {
    /// Make the database if there is none. Yes.
    pub create: bool,
    /// When a commit is acknowledged: [`Durability::Sync`].
    pub durability: Durability,
    /// How far transactions are kept apart that don't ask for something else: [`Isolation::Snapshot`].
    pub isolation: Isolation,
    /// How long a transaction may take that doesn't say: see
    /// [`TransactionOptions::timeout`](evergraph_graph::transaction::TransactionOptions). For ever.
    pub transaction_timeout: Duration,
    /// Bytes that the writes of one transaction may take in memory; a write beyond it is refused. 1 GiB, about
    /// what the log takes at once.
    pub transaction_bytes_max: u64,
    /// How long a commit may wait for merges that fell behind, before it is refused with `limit`. 10 seconds.
    /// Merging what is overdue in its own segments comes first, and takes what it takes.
    pub stall_max: Duration,
    /// Bytes that algorithms may reserve: unlimited.
    pub memory_limit_bytes: u64,
    /// Bytes of commits in the log after which a checkpoint is made in the background. 32 MiB.
    pub checkpoint_after_bytes: u64,
    /// Size that log files grow to, in bytes. 64 MiB.
    pub log_file_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        let open = OpenOptions::default();
        Self {
            create: open.create,
            durability: open.durability,
            isolation: open.isolation,
            transaction_timeout: open.transaction_timeout,
            transaction_bytes_max: open.transaction_bytes_max,
            stall_max: open.stall_max,
            memory_limit_bytes: open.memory_limit_bytes,
            checkpoint_after_bytes: open.checkpoint_after_bytes,
            log_file_bytes: open.log_file_bytes,
        }
    }
}

impl Options {
    pub(crate) fn to_open_options(&self) -> OpenOptions {
        OpenOptions {
            create: self.create,
            durability: self.durability,
            isolation: self.isolation,
            transaction_timeout: self.transaction_timeout,
            transaction_bytes_max: self.transaction_bytes_max,
            stall_max: self.stall_max,
            memory_limit_bytes: self.memory_limit_bytes,
            checkpoint_after_bytes: self.checkpoint_after_bytes,
            log_file_bytes: self.log_file_bytes,
            ..OpenOptions::default()
        }
    }
}
