//! Options: how a database is opened.

use evergraph_graph::transaction::Isolation;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::OpenOptions;
use std::time::Duration;

/// Options for opening a database. None of them changes stored data.
#[derive(Clone, Debug)]
pub struct Options {
    /// Create the database if there is none. Default: true.
    pub create: bool,
    /// When a commit is acknowledged. Default: [`Durability::Sync`].
    pub durability: Durability,
    /// Isolation level of transactions that do not choose one. Default: [`Isolation::Snapshot`].
    pub isolation: Isolation,
    /// Timeout of transactions that do not choose one: see
    /// [`TransactionOptions::timeout`](evergraph_graph::transaction::TransactionOptions). Default: no timeout.
    pub transaction_timeout: Duration,
    /// Memory for the writes of one transaction, in bytes; a write beyond it is refused. Default: 1 GiB, about
    /// what the log accepts at once.
    pub transaction_bytes_max: u64,
    /// How long a commit may wait for merges that fell behind, before it is refused with `limit`. Default: 10 seconds.
    /// Overdue merges in the commit's own segments come first and are not limited by it.
    pub stall_max: Duration,
    /// Memory that algorithms and queries may reserve, in bytes. Default: unlimited.
    pub memory_limit_bytes: u64,
    /// Bytes of commits in the log after which a checkpoint is made in the background. Default: 32 MiB.
    pub checkpoint_after_bytes: u64,
    /// Size that log files grow to, in bytes. Default: 64 MiB.
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
