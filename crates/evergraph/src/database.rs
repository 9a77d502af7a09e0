//! `Database`: opens a path, begins transactions and snapshots, and maintains the files.

use crate::file_work::FileWork;
use crate::import_progress::reporting;
use crate::index::{IndexInfo, IndexOptions};
use crate::opened::Opened;
use crate::options::Options;
use crate::path::{DatabasePath, existing};
use crate::transaction::Transaction;
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_engines::persistent_memory::placed;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_graph::index::IndexKind;
use evergraph_graph::load::Load;
use evergraph_graph::transaction::{Committed, Freshness, TransactionOptions};
use evergraph_storage::bulk::load::LoadSummary;
use evergraph_storage::indexing::{IndexProgress, OwnerName};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::OpenStore;
use evergraph_storage::store::Store;
use std::path::{Path, PathBuf};
use std::sync::Arc;

// Users know them by this path.
pub use crate::import_progress::ImportProgress;
pub use crate::snapshot::Snapshot;

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
    pub(crate) open: Opened,
    pub(crate) path: Option<PathBuf>,
}

impl Database {
    /// Opens the database in the directory `path`, and creates it if there is none. A path `cluster:FOLDER` opens the graph of a
    /// cluster, by the node that has this folder: see [`crate::cluster`].
    ///
    /// # Errors
    /// `busy` if another process has it open, naming its pid ([`Database::open_reader`] reads meanwhile, with the mapped
    /// engine); `invalid` for a directory with something
    /// else in it, or a newer format; `corrupt`, naming file and offset; `io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &Options::default())
    }

    /// As [`Database::open`], with [`Options`].
    ///
    /// # Errors
    /// As [`Database::open`]; `not_found` if there is none and `create` is off; `invalid` if it has another engine than
    /// `engine`, the memory limit is too low for its engine, or persistent memory is asked for with another engine than the
    /// mapped one; `io`, naming MAP_SYNC, if it is needed and not there.
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let path = match DatabasePath::of(path.as_ref())? {
            DatabasePath::Folder(path) => path,
            DatabasePath::Node(folder) => return Self::open_cluster_with(folder, options),
        };
        options.check_new(path)?;
        let directory = match options.create {
            true => DiskDirectory::open_or_create(path)?,
            false => existing(path)?,
        };
        Self::of(placed(directory, options.persistent_memory)?, options, Some(path.to_owned()))
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
        let open = OpenStore::<AnyEngine>::open(directory, &options.to_open_options())?;
        Ok(Self { open: Opened::ToWrite(Arc::new(open)), path })
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
    /// power cut. In a database that only reads: the newest one of the process that writes. On a cluster: the newest one that this
    /// node has applied.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.store().snapshot()
    }

    /// As [`Database::snapshot`], with at least what `freshness` says. It makes a difference on a cluster, where a commit is there on
    /// one node before it is on another. If that isn't there in time, each read of the snapshot says so, as `busy`.
    #[must_use]
    pub fn snapshot_with(&self, freshness: Freshness) -> Snapshot {
        self.store().snapshot_with(freshness)
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

    /// All indexes with their sizes, including those that are being built. In a database that only reads: those that look-ups
    /// use here.
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
        let open = self.open.files(FileWork::Load)?;
        reporting(progress, cancel, |building, writing| {
            open.load_within(memory_bytes, load, building, writing)
        })
    }

    /// Waits for the checkpoints, loads, backups and checks of other threads, syncs the log and ends background
    /// work; commits are refused from here on, in all clones. On a cluster: ends the node of this process; its open snapshots and
    /// transactions cannot be read any more.
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
    ///
    /// # Errors
    /// `invalid` in a database that only reads, naming the process that writes, and on a cluster.
    pub fn open_store(&self) -> Result<&OpenStore<AnyEngine>> {
        self.open.files(FileWork::OpenStore)
    }
}
