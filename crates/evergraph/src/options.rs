//! Options: how a database is opened.

use crate::path::DatabasePath;
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_engines::persistent_memory::PersistentMemory;
use evergraph_graph::error::Result;
use evergraph_graph::transaction::Isolation;
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Options for opening a database. None of them changes stored data; `engine` is recorded when one is created.
///
/// ```
/// use evergraph::{Database, EngineKind, Options};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("graph");
///
/// let options = Options { engine: Some(EngineKind::Disk), memory_limit_bytes: 256 << 20, ..Options::default() };
/// let db = Database::open_with(&path, &options)?;
/// assert_eq!(db.engine(), EngineKind::Disk);
/// db.close()?;
/// // From here on the database says so itself.
/// assert_eq!(Database::open(&path)?.engine(), EngineKind::Disk);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// Create the database if there is none. Default: true.
    pub create: bool,
    /// Storage engine. A new database gets it, by default [`EngineKind::DEFAULT`]. A database that is there must have it;
    /// by default it is opened with whichever engine it has.
    pub engine: Option<EngineKind>,
    /// Whether a database of the mapped engine lies in persistent memory, where its files are written by stores. Default:
    /// [`PersistentMemory::AsCreated`].
    pub persistent_memory: PersistentMemory,
    /// When a commit is acknowledged. Default: [`Durability::Sync`].
    pub durability: Durability,
    /// Isolation level of transactions that do not choose one. Default: [`Isolation::Snapshot`].
    pub isolation: Isolation,
    /// Timeout of transactions that do not choose one: see
    /// [`TransactionOptions::timeout`](evergraph_graph::transaction::TransactionOptions). Default: no timeout.
    pub transaction_timeout: Duration,
    /// Memory for the writes of one transaction, in bytes; a write beyond it is refused. Default: 1 GiB, about
    /// what the log accepts at once; with the disk engine an eighth of the memory limit, if that is less.
    pub transaction_bytes_max: u64,
    /// How long a commit may wait for merges that fell behind, before it is refused with `limit`. Default: 10 seconds.
    /// Overdue merges in the commit's own segments come first and are not limited by it.
    pub stall_max: Duration,
    /// Memory in bytes. In the memory and mapped engines, what algorithms and queries may reserve beside the graph, and in the
    /// mapped engine builds of indexes; default: unlimited. In the disk engine, what everything may take: newest commits, page
    /// cache, compactions, algorithms and queries, at least 64 MiB; default: half of what the machine or the control group has.
    /// [`u64::MAX`] stands for the default.
    pub memory_limit_bytes: u64,
    /// Threads that read pages for others, in the disk engine; at least one. Default: 8.
    pub io_threads: usize,
    /// Threads that merge files, in the disk engine: 1 to 16. Default: 1. More of them keep up with faster writers, on
    /// machines with cores and a disk to spare.
    pub compaction_threads: usize,
    /// Bytes of commits in the log after which a checkpoint is made in the background. Default: 32 MiB.
    pub checkpoint_after_bytes: u64,
    /// Size that log files grow to, in bytes. Default: 64 MiB.
    pub log_file_bytes: u64,
    /// Memory of changes that no merge has taken in yet, and of old versions that open snapshots of any process need, in the
    /// mapped engine, in bytes; a commit beyond it is refused. From 16 MiB to 256 GiB. Default: 4 GiB.
    pub live_bytes_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        let open = OpenOptions::default();
        Self {
            create: open.create,
            engine: None,
            persistent_memory: PersistentMemory::default(),
            durability: open.durability,
            isolation: open.isolation,
            transaction_timeout: open.transaction_timeout,
            transaction_bytes_max: open.transaction_bytes_max,
            stall_max: open.stall_max,
            memory_limit_bytes: open.memory_limit_bytes,
            io_threads: open.io_threads,
            compaction_threads: open.compaction_threads,
            checkpoint_after_bytes: open.checkpoint_after_bytes,
            log_file_bytes: open.log_file_bytes,
            live_bytes_max: open.live_bytes_max,
        }
    }
}

impl Options {
    /// Refuses what a database at `path` would refuse if it had to be created, so that no directory is left behind, and
    /// no long work is done before.
    ///
    /// # Errors
    /// `invalid` if the memory limit is too low for the engine, `live_bytes_max` or a number of threads out of its range, or
    /// persistent memory asked for with another engine than the mapped one.
    pub fn check_new(&self, path: &Path) -> Result<()> {
        self.to_open_options().check()?;
        if self.would_create(path) {
            self.memory_limit_of_new()?;
            self.persistent_memory.check_engine(self.engine.unwrap_or(EngineKind::DEFAULT))?;
        }
        Ok(())
    }

    /// Whether opening `path` creates a database: there is no directory, or an empty one.
    #[must_use]
    pub fn would_create(&self, path: &Path) -> bool {
        let Ok(DatabasePath::Folder(path)) = DatabasePath::of(path) else { return false };
        let is_empty = match path.read_dir() {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        self.create && is_empty
    }

    /// The memory limit, in bytes, of a database that is created with these options.
    ///
    /// # Errors
    /// `invalid` if it is too low for the engine.
    pub fn memory_limit_of_new(&self) -> Result<u64> {
        AnyEngine::memory_limit(self.engine.unwrap_or(EngineKind::DEFAULT).name(), self.memory_limit_bytes)
    }

    pub(crate) fn to_open_options(&self) -> OpenOptions {
        OpenOptions {
            create: self.create,
            engine: self.engine.map(EngineKind::name),
            durability: self.durability,
            isolation: self.isolation,
            transaction_timeout: self.transaction_timeout,
            transaction_bytes_max: self.transaction_bytes_max,
            stall_max: self.stall_max,
            memory_limit_bytes: self.memory_limit_bytes,
            io_threads: self.io_threads,
            compaction_threads: self.compaction_threads,
            checkpoint_after_bytes: self.checkpoint_after_bytes,
            log_file_bytes: self.log_file_bytes,
            live_bytes_max: self.live_bytes_max,
            ..OpenOptions::default()
        }
    }
}
