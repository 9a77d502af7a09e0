//! Options of the log: when a commit is acknowledged, and how large log files are.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crate::io::environment::Background;
use crate::log::frame::PAGE_BYTES;

/// When a commit may be acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When it is on stable storage. Concurrent commits share one sync.
    Sync,
    /// At once; a background thread writes and syncs at this interval. A power cut, or a process that is killed, loses at most
    /// what was committed since about that long, never the middle.
    Interval(Duration),
    /// At once; the system writes when it likes. A power cut, or a process that is killed, loses the newest commits, an end
    /// of the log, never the middle.
    None,
}

/// Who hears of it when more commits are durable.
pub trait DurableListener: Send + Sync + Debug {
    /// More commits are durable. Called by the leader, which holds no lock, before any of them is acknowledged. It must not wait
    /// for a commit; a panic in it poisons the log.
    fn durable_grew(&self);
}

/// How a log works; the defaults are those of the database.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// When a commit may be acknowledged; [`Durability::Sync`] by default.
    pub durability: Durability,
    /// Size of the first log file after opening, in bytes; each next one doubles. 1 MiB.
    pub first_file_bytes: u64,
    /// Size that log files grow to, in bytes. 64 MiB.
    pub log_file_bytes: u64,
    /// Idle time after which the last batch is sealed in mode `Sync`. 100 ms.
    pub seal_after: Duration,
    /// Buffered bytes at which a committer writes them out in the modes that do not wait. 1 MiB;
    /// at sixteen times as much committers wait for the disk.
    pub spill_bytes: usize,
    /// Whether threads prepare files and sync, or whoever opened the log steps it.
    pub background: Background,
    /// Who hears of it when more commits are durable. Nobody.
    pub durable_listener: Option<Arc<dyn DurableListener>>,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            first_file_bytes: 1 << 20,
            log_file_bytes: 64 << 20,
            seal_after: Duration::from_millis(100),
            spill_bytes: 1 << 20,
            background: Background::Threads,
            durable_listener: None,
        }
    }
}

impl LogOptions {
    /// Sizes as they can be: whole pages, room for a header and a batch, the first not above the
    /// largest.
    pub(crate) fn rounded(mut self) -> Self {
        // Of any unit, since none is larger.
        let page = PAGE_BYTES as u64;
        let whole = |bytes: u64| (bytes.min(1 << 40).next_multiple_of(page)).max(2 * page);
        self.log_file_bytes = whole(self.log_file_bytes);
        self.first_file_bytes = whole(self.first_file_bytes).min(self.log_file_bytes);
        self
    }
}
