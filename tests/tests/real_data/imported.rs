//! Imported: a database on disk made of a data set's files, and which vertex has which id there.

use crate::peak::{LIMIT_BYTES, run_again};
use evergraph::graph::column::ColumnData;
use evergraph::graph::{column::Column, value::ValueType};
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, Durability, EngineKind, GraphView, Options, ReadByName, Snapshot, VertexId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tempfile::TempDir;

/// Set in a child process, to the folder of the database that it reads.
const READ: &str = "EVERGRAPH_TEST_READ";

/// A database in a folder that goes with it.
pub struct Imported {
    pub db: Database,
    /// The vertices by their ids in the files.
    pub ids: BTreeMap<i64, VertexId>,
    folder: TempDir,
}

/// The disk engine with the least memory that it has.
fn options(engine: EngineKind) -> Options {
    let memory_limit_bytes = if engine == EngineKind::Disk { LIMIT_BYTES } else { u64::MAX };
    // What survives a power cut is tested elsewhere; here the sync would only cost time.
    let durability = Durability::None;
    Options { engine: Some(engine), durability, memory_limit_bytes, ..Options::default() }
}

/// The ids of the vertices that a snapshot sees.
pub fn ids_of(snapshot: &Snapshot) -> BTreeMap<i64, VertexId> {
    let vertices = snapshot.vertices(None).unwrap();
    let mut column = Column::new(ValueType::I64);
    let key = snapshot.catalogue().key("id").unwrap();
    snapshot.vertex_properties(&vertices, key, &mut column).unwrap();
    let ColumnData::Integers(ids) = column.data else { panic!("ids are whole numbers") };
    ids.into_iter().map(|id| id.unwrap()).zip(vertices).collect()
}

/// In a child of [`Imported::read_in_child`]: the database that its parent writes, opened to be read.
pub fn database_of_parent() -> Option<Database> {
    std::env::var_os(READ).map(|folder| Database::open_reader(folder).unwrap())
}

/// Imports `files` with the default options.
pub fn options_for(files: impl IntoIterator<Item = PathBuf>) -> ImportOptions {
    ImportOptions::new(files.into_iter().map(InputFile::new))
}

impl Imported {
    /// An empty database.
    pub fn empty(engine: EngineKind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open_with(folder.path(), &options(engine)).unwrap();
        Self { db, ids: BTreeMap::new(), folder }
    }

    /// What `options` read: vertices of one label.
    pub fn new(engine: EngineKind, options: &ImportOptions) -> Self {
        let mut imported = Self::without_ids(engine, options);
        imported.read_ids();
        imported
    }

    /// What `options` read, without the ids: those of different labels may be the same.
    pub fn without_ids(engine: EngineKind, options: &ImportOptions) -> Self {
        let imported = Self::empty(engine);
        let report = imported.db.import(options, &|_| ()).unwrap();
        assert_eq!(report.files.bad_rows.count, 0);
        let mut ignored = report.files.ignored_files.iter();
        let beside = |path: &PathBuf| path.ends_with("README.md") || path.ends_with("expected-counts.json");
        assert!(ignored.all(beside), "{:?}", report.files.ignored_files);
        imported
    }

    /// Reads the ids again: of the vertices that are there now.
    pub fn read_ids(&mut self) {
        self.ids = ids_of(&self.db.snapshot());
    }

    /// The same folder, opened to be read beside the database that writes it; `None` if its engine lets nobody.
    pub fn reader(&self) -> Option<Database> {
        let has_readers = self.db.engine() == EngineKind::Mapped;
        has_readers.then(|| Database::open_reader(self.folder.path()).unwrap())
    }

    /// A snapshot, and one of a [reader](Imported::reader) if there can be one, which outlives its reader.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        let of_reader = self.reader().map(|reader| reader.snapshot());
        [Some(self.db.snapshot()), of_reader].into_iter().flatten().collect()
    }

    /// Runs the test `name` in a process of its own, which reads this database beside this process: see
    /// [`database_of_parent`].
    pub fn read_in_child(&self, name: &str) {
        run_again(name, READ, self.folder.path());
    }

    /// Makes a checkpoint, closes the database and opens it from its files.
    pub fn reopened_from_checkpoint(self) -> Self {
        let covered = self.db.checkpoint().unwrap().covered_through;
        let reopened = self.reopened();
        let recovery = reopened.db.open_store().unwrap().recovery().clone();
        assert_eq!((recovery.created, recovery.commits), (false, 0), "the checkpoint holds everything");
        assert_eq!(reopened.db.snapshot().timestamp(), covered);
        reopened
    }

    /// Closes the database and opens it again.
    pub fn reopened(self) -> Self {
        let Self { db, ids, folder } = self;
        let engine = db.engine();
        db.close().unwrap();
        drop(db);
        let db = Database::open_with(folder.path(), &options(engine)).unwrap();
        Self { db, ids, folder }
    }

    /// Whether some of the newest commits are in memory and the log alone: in no body of the memory engine, in no file of
    /// the disk engine.
    pub fn has_fresh_records(&self) -> bool {
        let statistics = self.db.statistics().unwrap();
        match statistics.tree {
            None => statistics.store.engine.fresh_edge_records > 0,
            Some(tree) => tree.covered_through < self.db.snapshot().timestamp(),
        }
    }

    /// Holds the database's own check against the graph.
    pub fn assert_healthy(&self) {
        evergraph_tests::store::assert_healthy(self.db.open_store().unwrap());
    }
}
