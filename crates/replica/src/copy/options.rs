//! Options of a copy, and its progress.

use crate::copy::missing_ends::MissingEnds;
use crate::source::slot_wait::SlotWait;
use evergraph_files::import::options::MemoryShares;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Connections that a copy reads from at a time.
const READERS: usize = 4;

/// Pages of 8 KiB below which another connection costs more than it saves: 32 MiB.
pub const PART_PAGES_MIN: u64 = 4096;

/// How tables are copied.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// Memory in addition to the finished graph, shared as [`MemoryShares`] says: rows and ids beyond their shares go to a
    /// temporary file. Each reader has some megabytes besides.
    pub memory_bytes: u64,
    /// The folder of the temporary file.
    pub temporary: PathBuf,
    /// How many tables, or parts of large ones, are read at a time, each on a connection of its own.
    pub readers: usize,
    /// Pages that a part of a table has at least.
    pub part_pages_min: u64,
    /// What becomes of edges whose ends are missing, where the plan says that they wait.
    pub missing: MissingEnds,
    /// How many rows will be read, about; `None` if nobody knows.
    pub rows_estimate: Option<u64>,
}

impl CopyOptions {
    /// Four readers, for a database that follows its source later.
    #[must_use]
    pub fn new(memory_bytes: u64, temporary: impl Into<PathBuf>) -> Self {
        Self {
            memory_bytes,
            temporary: temporary.into(),
            readers: READERS,
            part_pages_min: PART_PAGES_MIN,
            missing: MissingEnds::Kept,
            rows_estimate: None,
        }
    }

    /// How [`CopyOptions::memory_bytes`] is shared.
    #[must_use]
    pub fn memory_shares(&self) -> MemoryShares {
        MemoryShares::of(self.memory_bytes)
    }
}

/// What a copy is at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CopyStage {
    /// The source waits for transactions that were open before, and no row was read.
    Waiting,
    /// Rows become vertices, and edges wait for these.
    Vertices,
    /// All vertices are there: rows become edges.
    Edges,
    /// The graph is built from them.
    Building,
    /// It is written to disk.
    Writing,
}

/// How far a copy is.
#[derive(Clone, PartialEq, Debug)]
pub struct CopyProgress {
    /// What it is at.
    pub stage: CopyStage,
    /// The table that rows came from last.
    pub table: Arc<str>,
    /// Tables read to their end.
    pub tables_done: usize,
    /// Tables to be read.
    pub tables_total: usize,
    /// Rows that came so far.
    pub rows: u64,
    /// Bytes of text that came so far.
    pub bytes: u64,
    /// The part of the stage that is done, or of all reading, if that is known.
    pub fraction: Option<f64>,
    /// Time since the beginning.
    pub elapsed: Duration,
    /// What the source waits for before the first row.
    pub wait: Option<Arc<SlotWait>>,
}

impl CopyProgress {
    /// Of a copy whose source waits.
    #[must_use]
    pub fn waiting(wait: SlotWait) -> Self {
        Self {
            stage: CopyStage::Waiting,
            table: "".into(),
            tables_done: 0,
            tables_total: 0,
            rows: 0,
            bytes: 0,
            fraction: None,
            elapsed: Duration::ZERO,
            wait: Some(Arc::new(wait)),
        }
    }

    /// Rows that came a second, on average.
    #[must_use]
    pub fn rows_per_second(&self) -> f64 {
        self.rows as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}
