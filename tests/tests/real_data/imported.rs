//! Imported: a database on disk made of a data set's files, and which vertex has which id there.

use crate::peak::LIMIT_BYTES;
use evergraph::graph::column::ColumnData;
use evergraph::graph::{column::Column, value::ValueType};
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, Durability, EngineKind, GraphView, Options, ReadByName, VertexId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tempfile::TempDir;

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
        let snapshot = self.db.snapshot();
        let vertices = snapshot.vertices(None).unwrap();
        let mut column = Column::new(ValueType::I64);
        let key = snapshot.catalogue().key("id").unwrap();
        snapshot.vertex_properties(&vertices, key, &mut column).unwrap();
        let ColumnData::Integers(ids) = column.data else { panic!("ids are whole numbers") };
        self.ids = ids.into_iter().map(|id| id.unwrap()).zip(vertices).collect();
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
