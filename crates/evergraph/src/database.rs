//! `Database`: opens a path, begins transactions and snapshots, and maintains the files.

use crate::import_progress::reporting;
use crate::index::{IndexInfo, IndexOptions};
use crate::options::Options;
use crate::transaction::Transaction;
use evergraph_disk_engine::statistics::TreeStatistics;
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::index::IndexKind;
use evergraph_graph::load::Load;
use evergraph_graph::transaction::{Committed, TransactionOptions};
use evergraph_graph::view::GraphView;
use evergraph_mapped_engine::statistics::MappedStatistics;
use evergraph_storage::backup::{BackupProgress, BackupSummary};
use evergraph_storage::bulk::load::LoadSummary;
use evergraph_storage::checkpoint::contract::CheckpointOutcome;
use evergraph_storage::checkpoint::report::{CheckProgress, Report};
use evergraph_storage::conversion::run::ConversionSummary;
use evergraph_storage::indexing::{IndexProgress, OwnerName};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenStore, Recovery, check_with, salvage};
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::store::{Store, StoreStatistics};
use evergraph_storage::upkeep::CheckpointState;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

// Users know them by this path.
pub use crate::import_progress::ImportProgress;
pub use crate::snapshot::Snapshot;

/// Counts and sizes of a database at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of vertices of each label, by name.
    pub vertices: Vec<(String, u64)>,
    /// Number of edges of each type, by name.
    pub edges: Vec<(String, u64)>,
    /// Which engine the database has.
    pub engine: EngineKind,
    /// Commits, snapshots, memory by purpose, log, and what all engines count.
    pub store: StoreStatistics,
    /// What the disk engine knows beside that: levels, memory graphs, flushes, compactions, page cache, pacing. `None`
    /// for the other engines.
    pub tree: Option<TreeStatistics>,
    /// Files of the mapped engine, and memory for what no merge has taken in yet. `None` for the other engines.
    pub mapped: Option<MappedStatistics>,
    /// The memory limit, in bytes; [`u64::MAX`] for none.
    pub memory_limit_bytes: u64,
    /// Checkpoints since opening.
    pub checkpoints: CheckpointState,
    /// What opening found.
    pub recovery: Recovery,
}

impl Statistics {
    /// All vertices.
    #[must_use]
    pub fn vertices_count(&self) -> u64 {
        self.vertices.iter().map(|entry| entry.1).sum()
    }

    /// All edges.
    #[must_use]
    pub fn edges_count(&self) -> u64 {
        self.edges.iter().map(|entry| entry.1).sum()
    }
}

/// What an import did.
#[cfg(feature = "files")]
#[derive(Debug)]
pub struct ImportReport {
    /// The place of the import in the order of commits.
    pub loaded: LoadSummary,
    /// Vertices added.
    pub vertices_count: u64,
    /// Edges added.
    pub edges_count: u64,
    /// Content of the files that was left out, and files that were not read. Its `load` is empty.
    pub files: evergraph_files::import::options::Imported,
}

/// An open graph database.
///
/// Clones share it; it closes with its last clone, or with [`Database::close`]. Any thread may begin
/// transactions and snapshots.
///
/// ```
/// use evergraph::{Database, Direction, ReadByName};
///
/// let db = Database::in_memory()?;
/// db.create_unique_index("Person", "name")?;
/// db.transact(|tx| {
///     let ada = tx.add_vertex("Person", &[("name", "Ada".into()), ("born", 1815i64.into())])?;
///     let charles = tx.add_vertex("Person", &[("name", "Charles".into())])?;
///     tx.add_edge(ada, "KNOWS", charles, &[("since", 1833i64.into())])
/// })?;
/// let snapshot = db.snapshot();
/// let ada = snapshot.find("Person", "name", "Ada")?.expect("just added");
/// let friends = snapshot.edges(ada, Direction::Out, &["KNOWS"])?;
/// assert_eq!(snapshot.get(friends[0].1, "name")?, Some("Charles".into()));
/// # Ok::<(), evergraph::Error>(())
/// ```
#[derive(Clone)]
pub struct Database {
    open: Arc<OpenStore<AnyEngine>>,
    path: Option<PathBuf>,
}

impl Database {
    /// Opens the database in the directory `path`, and creates it if there is none.
    ///
    /// # Errors
    /// `busy` if another process has it open, naming its pid; `invalid` for a directory with something
    /// else in it, or a newer format; `corrupt`, naming file and offset; `io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &Options::default())
    }

    /// As [`Database::open`], with [`Options`].
    ///
    /// # Errors
    /// As [`Database::open`]; `not_found` if there is none and `create` is off; `invalid` if it has another engine than
    /// `engine`, or the memory limit is too low for its engine.
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let path = path.as_ref();
        options.check_new(path)?;
        let directory = match options.create {
            true => DiskDirectory::open_or_create(path)?,
            false => existing(path)?,
        };
        Self::of(Arc::new(directory), options, Some(path.to_owned()))
    }

    /// A new database in memory, which is lost with its last clone. Nothing is synced.
    ///
    /// # Errors
    /// `io` if the system cannot start threads.
    pub fn in_memory() -> Result<Self> {
        Self::in_memory_with(&Options::default())
    }

    /// As [`Database::in_memory`], with [`Options`]: limits and the isolation level. Nothing
    /// is durable, and the database is always created, whatever the options say about that.
    ///
    /// # Errors
    /// As [`Database::in_memory`].
    ///
    /// ```
    /// use evergraph::{Database, ErrorKind, Options};
    ///
    /// let db = Database::in_memory_with(&Options { transaction_bytes_max: 1 << 10, ..Options::default() })?;
    /// let refused = db.transact(|tx| tx.add_vertex("Note", &[("text", "x".repeat(1 << 11).into())]));
    /// assert_eq!(refused.unwrap_err().kind(), ErrorKind::Limit);
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    pub fn in_memory_with(options: &Options) -> Result<Self> {
        let options = Options { create: true, durability: Durability::None, ..options.clone() };
        Self::of(Arc::new(MemoryDirectory::new("in memory")), &options, None)
    }

    /// As [`Database::open_with`], in a directory of another kind: for tests in which power fails.
    ///
    /// # Errors
    /// As [`Database::open_with`].
    #[doc(hidden)]
    pub fn open_in(directory: Arc<dyn Directory>, options: &Options) -> Result<Self> {
        Self::of(directory, options, None)
    }

    fn of(directory: Arc<dyn Directory>, options: &Options, path: Option<PathBuf>) -> Result<Self> {
        let open = Arc::new(OpenStore::<AnyEngine>::open(directory, &options.to_open_options())?);
        Ok(Self { open, path })
    }

    /// The directory of the database, if it is on disk.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Which engine it has, as recorded in it.
    #[must_use]
    pub fn engine(&self) -> EngineKind {
        self.store().engine().kind()
    }

    /// Begins a transaction at the newest commit, with the database's default options.
    #[must_use]
    pub fn begin(&self) -> Transaction {
        Transaction::new(self.store().begin(), self.store().budget())
    }

    /// Begins a transaction at the newest commit.
    #[must_use]
    pub fn begin_with(&self, options: impl Into<TransactionOptions>) -> Transaction {
        Transaction::new(self.store().begin_with(options), self.store().budget())
    }

    /// Runs `body` in a transaction and commits it. Repeats both, after a short random wait, if
    /// another transaction was first, so `body` must not have side effects that cannot be repeated.
    ///
    /// In mode `sync` even a body that only reads waits at its end until the data it read is on disk. To read only, use
    /// a [`snapshot`](Database::snapshot), which shows durable data and never waits.
    ///
    /// # Errors
    /// Errors of `body` or of the commit; `conflict` only after many attempts.
    pub fn transact<T>(&self, mut body: impl FnMut(&mut Transaction) -> Result<T>) -> Result<T> {
        Ok(self.transact_committed(&mut body)?.0)
    }

    /// As [`Database::transact`], with its own isolation level or timeout:
    ///
    /// ```
    /// use evergraph::{Database, Isolation, TransactionOptions};
    /// use std::time::Duration;
    ///
    /// let db = Database::in_memory()?;
    /// db.transact_with(Isolation::Serializable, |tx| tx.add_vertex("Person", &[]))?;
    /// let hurried = TransactionOptions::default().timeout(Duration::from_secs(2));
    /// db.transact_with(hurried, |tx| tx.add_vertex("Person", &[]))?;
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::transact`]; `limit` after the timeout.
    pub fn transact_with<T>(
        &self,
        options: impl Into<TransactionOptions>,
        mut body: impl FnMut(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        Ok(self.run(options.into(), &mut body)?.0)
    }

    /// Calls `attempt` with a transaction, which it commits or rolls back. Calls it again, after a short random wait,
    /// if it fails because another transaction was first.
    ///
    /// # Errors
    /// As [`Database::transact_with`].
    pub fn retrying<T>(
        &self,
        options: impl Into<TransactionOptions>,
        mut attempt: impl FnMut(Transaction) -> Result<T>,
    ) -> Result<T> {
        let budget = self.store().budget();
        self.store().retrying(options, |inner| attempt(Transaction::new(inner, budget)))
    }

    /// As [`Database::transact`], and returns what the commit did.
    ///
    /// # Errors
    /// As [`Database::transact`].
    pub fn transact_committed<T>(
        &self,
        mut body: impl FnMut(&mut Transaction) -> Result<T>,
    ) -> Result<(T, Committed)> {
        self.run(TransactionOptions::default(), &mut body)
    }

    fn run<T>(
        &self,
        options: TransactionOptions,
        body: &mut impl FnMut(&mut Transaction) -> Result<T>,
    ) -> Result<(T, Committed)> {
        self.retrying(options, |mut transaction| {
            let value = body(&mut transaction)?;
            Ok((value, transaction.commit()?))
        })
    }

    /// Deletes a vertex with all its edges in as many transactions as necessary; returns the number of edges. For a
    /// vertex
    /// with more edges than one transaction may change (a million), or than others should wait for.
    ///
    /// Meanwhile others see the vertex with its remaining edges, and may add some, which are deleted, too. If it fails
    /// half-way, the vertex and its remaining edges still exist; deleting it again continues.
    ///
    /// ```
    /// use evergraph::Database;
    ///
    /// let db = Database::in_memory()?;
    /// let hub = db.transact(|tx| {
    ///     let hub = tx.add_vertex("Account", &[])?;
    ///     let other = tx.add_vertex("Account", &[])?;
    ///     tx.add_edge(hub, "TRANSFER", other, &[])?;
    ///     Ok(hub)
    /// })?;
    /// assert_eq!(db.delete_vertex_in_parts(hub)?, 1);
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    ///
    /// # Errors
    /// `not_found` if the vertex isn't there; as [`Database::transact`].
    pub fn delete_vertex_in_parts(&self, vertex: VertexId) -> Result<u64> {
        self.delete_vertex_in_parts_with(vertex, &|_| {}, &CancelFlag::default())
    }

    /// As [`Database::delete_vertex_in_parts`], with a report of the deleted edges after each part; `cancel` stops it
    /// between two parts.
    ///
    /// # Errors
    /// As [`Database::delete_vertex_in_parts`]; `cancelled`.
    pub fn delete_vertex_in_parts_with(
        &self,
        vertex: VertexId,
        progress: &dyn Fn(u64),
        cancel: &CancelFlag,
    ) -> Result<u64> {
        self.store().delete_vertex_in_parts(vertex, &mut |deleted| {
            progress(deleted);
            cancel.check()
        })
    }

    /// A snapshot of the newest readable commit: with durability `sync`, the newest one that would survive a
    /// power cut.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.store().snapshot()
    }

    /// Builds an index while others read and write, and adds names that are new; returns whether
    /// the index is new.
    ///
    /// # Errors
    /// `invalid` if values of a unique index occur twice, naming five with their holders, or if
    /// such an index exists with other guarantees; `busy` while a load runs or another thread builds the
    /// same; errors of a commit. No index is left then.
    pub fn create_index(&self, options: &IndexOptions) -> Result<bool> {
        self.create_index_with(options, &|_| {}, &CancelFlag::default())
    }

    /// As [`Database::create_index`], with progress reports; `cancel` leaves no index.
    ///
    /// # Errors
    /// As [`Database::create_index`]; `cancelled`.
    pub fn create_index_with(
        &self,
        options: &IndexOptions,
        progress: &dyn Fn(IndexProgress),
        cancel: &CancelFlag,
    ) -> Result<bool> {
        self.open.create_index(&options.request(), &mut |now| {
            progress(now);
            cancel.check()
        })
    }

    /// Creates a unique hash index of vertices: `key` becomes unique for `label`, and can be looked up. Nothing
    /// happens if it is already.
    ///
    /// # Errors
    /// As [`Database::create_index`].
    pub fn create_unique_index(&self, label: &str, key: &str) -> Result<()> {
        self.create_index(&IndexOptions::on_label(label, key).unique()).map(drop)
    }

    /// Drops an index while others read and write. `kind` may be `None` if there is only one kind.
    /// Open snapshots keep their answers, by reading everything.
    ///
    /// # Errors
    /// `not_found` if there is no such index, `invalid` if there are two kinds and none is named.
    pub fn drop_index(&self, owner: OwnerName<'_>, key: &str, kind: Option<IndexKind>) -> Result<()> {
        self.store().drop_index(owner, key, kind).map(drop)
    }

    /// All indexes with their sizes, including those that are being built.
    #[must_use]
    pub fn indexes(&self) -> Vec<IndexInfo> {
        // First the indexes: a name is there before an index of it is ready.
        let indexes = self.store().indexes();
        let catalogue = self.store().catalogue();
        indexes.iter().map(|index| IndexInfo::new(&catalogue, index)).collect()
    }

    /// Adds a graph in tables of blocks, as one commit, and makes it durable by a checkpoint.
    ///
    /// # Errors
    /// `invalid` for tables that contradict each other or the database, such as a unique key that occurs
    /// twice; `busy`, `limit`, `io`, `cancelled`.
    pub fn load(
        &self,
        load: &Load,
        progress: &dyn Fn(&ImportProgress<'_>),
        cancel: &CancelFlag,
    ) -> Result<LoadSummary> {
        self.load_within(u64::MAX, load, progress, cancel)
    }

    /// As [`Database::load`]; sorting takes at most `memory_bytes` in addition to the tables and the finished
    /// graph, unless the edges of one type in one group of 4,096 vertices need more.
    ///
    /// # Errors
    /// As [`Database::load`].
    pub fn load_within(
        &self,
        memory_bytes: u64,
        load: &Load,
        progress: &dyn Fn(&ImportProgress<'_>),
        cancel: &CancelFlag,
    ) -> Result<LoadSummary> {
        reporting(progress, cancel, |building, writing| {
            self.open.load_within(memory_bytes, load, building, writing)
        })
    }

    /// Counts and sizes. Cost: a look at each segment.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn statistics(&self) -> Result<Statistics> {
        let snapshot = self.snapshot();
        let (catalogue, counts) = (snapshot.catalogue(), snapshot.statistics()?);
        drop(snapshot); // It is no reader to tell of.
        let (vertices, edges) = (counts.vertices.iter(), counts.edges.iter());
        Ok(Statistics {
            vertices: vertices.map(|(id, count)| (catalogue.label_name(*id).to_string(), *count)).collect(),
            edges: edges.map(|(id, count)| (catalogue.edge_type_name(*id).to_string(), *count)).collect(),
            engine: self.engine(),
            store: self.store().statistics(),
            tree: self.store().engine().tree_statistics(),
            mapped: self.store().engine().mapped_statistics(),
            memory_limit_bytes: self.store().budget().limit_bytes(),
            checkpoints: self.open.checkpoint_state(),
            recovery: self.open.recovery().clone(),
        })
    }

    /// Writes a checkpoint, so that opening does not need to replay a long log; others continue to write.
    ///
    /// # Errors
    /// `limit` on a full disk, `io`; the previous checkpoint stays valid.
    pub fn checkpoint(&self) -> Result<CheckpointOutcome> {
        self.open.checkpoint(&mut |_| ControlFlow::Continue(()))
    }

    /// Copies everything committed so far to the directory `path`, which is new or empty, while others continue
    /// to read, write and make checkpoints. The copy is a database: opening it restores it. `progress`
    /// may cancel.
    ///
    /// Cost: each file read, verified and written once; no checkpoint is made while files are opened.
    ///
    /// # Errors
    /// `invalid` if `path` is taken; `corrupt` if a file of this database is damaged; `limit` on
    /// a full disk, `io`, `cancelled`. Nothing is left at `path` then; what a crash leaves there is refused by
    /// [`Database::open`] and replaced by the next backup to `path`.
    pub fn backup(
        &self,
        path: impl AsRef<Path>,
        progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupSummary> {
        into_new(path.as_ref(), |target| self.open.backup(&**target, progress))
    }

    /// Checks the graph of a new snapshot, while others continue: lists sorted, both sides of every
    /// edge, its ends alive, indexes against a scan.
    ///
    /// # Errors
    /// `cancelled` if `progress` requests it; errors of reading. Damage is a finding, not an error.
    pub fn check(&self, progress: &mut CheckProgress<'_>) -> Result<Report> {
        self.open.check(progress)
    }

    /// Checks the database at `path`, which must not be open: its files, then the graph.
    ///
    /// # Errors
    /// As [`Database::open_with`] without `create`; `cancelled`. Damage is a finding, not an error.
    pub fn check_files(path: impl AsRef<Path>, progress: &mut CheckProgress<'_>) -> Result<Report> {
        Self::check_files_with(path, &Options::default(), progress)
    }

    /// As [`Database::check_files`], with [`Options`], such as a memory limit.
    ///
    /// # Errors
    /// As [`Database::check_files`].
    pub fn check_files_with(
        path: impl AsRef<Path>,
        options: &Options,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Report> {
        check_with::<AnyEngine>(Arc::new(existing(path.as_ref())?), options.to_open_options(), progress)
    }

    /// Writes the graph of a new snapshot to the directory `path`, which is new or empty, as a database of `engine`, while
    /// others continue to read and write: vertices and edges keep their ids, names and indexes are the same, and
    /// commits go on counting. So a graph that outgrows memory goes on as a database of the disk engine, and one in
    /// memory alone becomes one on disk. `progress` is told what is written, how far it is, and how far there is to
    /// go; it may cancel.
    ///
    /// Cost: one pass over the graph, each edge in both directions; memory for the properties of 64 MiB of files, or, to
    /// the memory and mapped engines, for a group of 4,096 vertices and its edges of one type. Indexes are built when the new database is opened.
    ///
    /// ```
    /// use evergraph::{Database, EngineKind};
    /// use std::ops::ControlFlow;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("social.eg");
    /// let db = Database::in_memory()?;
    /// let ada = db.transact(|tx| tx.add_vertex("Person", &[("name", "Ada".into())]))?;
    /// db.convert(&path, EngineKind::Disk, &mut |_, _, _| ControlFlow::Continue(()))?;
    ///
    /// let on_disk = Database::open(&path)?;
    /// assert_eq!(on_disk.engine(), EngineKind::Disk);
    /// assert_eq!(on_disk.snapshot().get(ada, "name")?, Some("Ada".into()));
    /// # use evergraph::ReadByName;
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    ///
    /// # Errors
    /// `invalid` if `path` is taken; `corrupt` if a file of this database is damaged; `limit` on a full disk, `io`,
    /// `cancelled`. Nothing is left at `path` then; what a crash leaves there is refused by [`Database::open`] and
    /// replaced by the next conversion to `path`.
    pub fn convert(
        &self,
        path: impl AsRef<Path>,
        engine: EngineKind,
        progress: &mut CheckProgress<'_>,
    ) -> Result<ConversionSummary> {
        into_new(path.as_ref(), |target| self.open.convert::<AnyEngine>(engine.name(), target, progress))
    }

    /// Reads the database at `path`, damaged or not, which must not be open, and writes the verified data to
    /// the directory `target`, which is new or empty: vertices and edges keep their ids, and names and
    /// indexes are the same. What is missing is listed. Not a byte at `path` is changed.
    ///
    /// # Errors
    /// `corrupt` if the names are lost; `not_found`; `busy`; `invalid` for another engine, a newer format
    /// or a target that is taken; `limit`, `io`, `cancelled`. Nothing is left at `target` then.
    pub fn salvage(
        path: impl AsRef<Path>,
        target: impl AsRef<Path>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Salvaged> {
        let damaged = existing(path.as_ref())?;
        into_new(target.as_ref(), |target| salvage::<AnyEngine>(&damaged, target, progress))
    }

    /// Waits for the checkpoints, loads, backups and checks of other threads, syncs the log and ends background
    /// work; commits are refused from here on, in all clones.
    ///
    /// # Errors
    /// Errors of the log's last sync; `invalid` from inside a checkpoint, load, backup
    /// or check of this database, for instance in its progress callback.
    pub fn close(&self) -> Result<()> {
        self.open.close()
    }

    /// The store underneath, for benchmarks and tools of this workspace.
    #[must_use]
    pub fn store(&self) -> &Store<AnyEngine> {
        self.open.store()
    }

    /// The open store underneath: recovery, checkpoints, files.
    #[must_use]
    pub fn open_store(&self) -> &OpenStore<AnyEngine> {
        &self.open
    }
}

/// Does `work` in the directory `path`, which is created if it does not exist, and removed again if that fails.
fn into_new<T>(path: &Path, work: impl FnOnce(&Arc<dyn Directory>) -> Result<T>) -> Result<T> {
    let was_there = path.exists();
    let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open_or_create(path)?);
    let done = work(&directory);
    if done.is_err() && !was_there {
        // Only if it is empty; what happened tells more than why this failed.
        let _ = std::fs::remove_dir(path);
    }
    done
}

/// The directory of a database that must exist.
fn existing(path: &Path) -> Result<DiskDirectory> {
    DiskDirectory::open(path).map_err(|error| {
        let error = Error::from(error);
        match error.kind() {
            ErrorKind::NotFound => {
                let text = format!("there is no database at {}", path.display());
                Error::new(ErrorKind::NotFound, text).because(error)
            }
            _ => error,
        }
    })
}
