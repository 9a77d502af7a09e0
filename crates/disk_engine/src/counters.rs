//! Counters: what flushes and compactions have done and what they cost.
//!
//! Concurrency: numbers for statistics, each by itself; nobody takes two for one moment. So all are Relaxed.

use crate::format::file_head::BOTTOMMOST_LEVEL;
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

/// Levels of files.
const LEVELS: usize = BOTTOMMOST_LEVEL as usize + 1;

/// Counts pages that are read, and what they are read for.
#[derive(Debug, Default)]
pub struct ReadCounters {
    by_level: [AtomicU64; LEVELS],
    lists: AtomicU64,
    list_pages: AtomicU64,
}

/// Lists that were looked at one by one since opening, and what that read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ListReadStatistics {
    /// Lists that somebody asked for, or for an edge or the length of, while there were files.
    pub lists: u64,
    /// Pages of lists that were read for them, and were not in the cache. Scans read others.
    pub pages: u64,
}

impl ReadCounters {
    /// A page of a file of `level` was read.
    #[inline]
    pub fn read_page(&self, level: u8) {
        let at = usize::from(level).min(LEVELS - 1);
        self.by_level[at].fetch_add(1, Ordering::Relaxed);
    }

    /// So many lists were asked for.
    #[inline]
    pub fn asked_for_lists(&self, lists: usize) {
        self.lists.fetch_add(lists as u64, Ordering::Relaxed);
    }

    /// A page of lists was read into the cache.
    #[inline]
    pub fn read_list_page(&self) {
        self.list_pages.fetch_add(1, Ordering::Relaxed);
    }

    /// The pages of files of `level` that were read so far.
    #[must_use]
    pub fn pages_of_level(&self, level: usize) -> u64 {
        self.by_level.get(level).map_or(0, |pages| pages.load(Ordering::Relaxed))
    }

    /// What was read for single lists so far.
    #[must_use]
    pub fn lists(&self) -> ListReadStatistics {
        let (lists, pages) = (&self.lists, &self.list_pages);
        ListReadStatistics { lists: lists.load(Ordering::Relaxed), pages: pages.load(Ordering::Relaxed) }
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
