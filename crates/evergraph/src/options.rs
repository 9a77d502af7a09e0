//! How a database is opened.

use evergraph_graph::transaction::Isolation;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::OpenOptions;

/// Choices for opening a database. None of them changes what is stored.
#[derive(Clone, Debug)]
pub struct Options {
    /// Make the database if there is none. Yes.
    pub create: bool,
    /// When a commit is acknowledged: [`Durability::Sync`].
    pub durability: Durability,
    /// How far transactions are kept apart that don't ask for something else: [`Isolation::Snapshot`].
    pub isolation: Isolation,
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
            memory_limit_bytes: self.memory_limit_bytes,
            checkpoint_after_bytes: self.checkpoint_after_bytes,
            log_file_bytes: self.log_file_bytes,
            ..OpenOptions::default()
        }
    }
}
