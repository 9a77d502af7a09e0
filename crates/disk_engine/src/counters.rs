//! Counters: what flushes and compactions have done and what they cost.
//!
//! Concurrency: numbers for statistics, each by itself; nobody takes two for one moment. So all are Relaxed.

use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What flushes have done since opening.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlushStatistics {
    /// Files that were flushed.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time that writing them took.
    pub flushing: Duration,
    /// Memory graphs that were freed behind them.
    pub freed_graphs: u64,
}

/// Counts flushes.
#[derive(Debug, Default)]
pub struct FlushCounters {
    files: AtomicU64,
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
    freed_graphs: AtomicU64,
}

impl FlushCounters {
    /// A file of so many bytes was flushed within `took`.
    pub fn flushed(&self, took: Duration, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// So many graphs were freed.
    pub fn freed(&self, graphs: usize) {
        self.freed_graphs.fetch_add(graphs as u64, Ordering::Relaxed);
    }

    /// The sums so far.
    #[must_use]
    pub fn statistics(&self) -> FlushStatistics {
        FlushStatistics {
            files: self.files.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            flushing: Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)),
            freed_graphs: self.freed_graphs.load(Ordering::Relaxed),
        }
    }
}

/// What compactions have done since opening.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompactionStatistics {
    /// Compactions that were installed; files that only moved to another level are not counted.
    pub compactions: u64,
    /// Bytes of their inputs.
    pub read_bytes: u64,
    /// Bytes of their outputs.
    pub written_bytes: u64,
    /// Records that their outputs gained by: Inserts less Deletes of vertices, edges a side, and entries.
    pub written_records: u64,
    /// Time that they took.
    pub compacting: Duration,
}

/// Counts compactions.
#[derive(Debug, Default)]
pub struct CompactionCounters {
    compactions: AtomicU64,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    written_records: AtomicU64,
    nanoseconds: AtomicU64,
}

impl CompactionCounters {
    /// A compaction of `read` bytes to `written` bytes with so many records took so long.
    pub fn compacted(&self, took: Duration, read: u64, written: u64, records: u64) {
        self.compactions.fetch_add(1, Ordering::Relaxed);
        self.read_bytes.fetch_add(read, Ordering::Relaxed);
        self.written_bytes.fetch_add(written, Ordering::Relaxed);
        self.written_records.fetch_add(records, Ordering::Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// The sums so far.
    #[must_use]
    pub fn statistics(&self) -> CompactionStatistics {
        CompactionStatistics {
            compactions: self.compactions.load(Ordering::Relaxed),
            read_bytes: self.read_bytes.load(Ordering::Relaxed),
            written_bytes: self.written_bytes.load(Ordering::Relaxed),
            written_records: self.written_records.load(Ordering::Relaxed),
            compacting: Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)),
        }
    }
}
