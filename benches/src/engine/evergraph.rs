//! Evergraph: one label, one simple edge type, both directions kept; a vertex' number is its id.

use crate::engine::snapshot_reader::{SnapshotReader, simple_edge};
use crate::engine::store::{Commit, Edge, Reader, Store};
use evergraph::{Database, Durability, EngineKind, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::transaction::{NewEdge, Transaction as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How it is set up.
pub const SETTINGS: &[(&str, &str)] = &[
    ("directions", "both"),
    ("duplicates", "a simple edge type: at most one edge between two vertices, checked"),
    ("isolation", "snapshot"),
    ("unsynced", "durability none: the log is written, not synced"),
    ("durable", "durability sync: group commit"),
    ("checkpoints", "in the background, after 32 MiB of log (the default)"),
];

const LABEL: &str = "Vertex";
const EDGE: &str = "EDGE";
/// Everything is merged within this.
const PATIENCE: Duration = Duration::from_secs(60);

/// A database of ours.
pub struct EvergraphStore {
    database: Database,
    edge_type: TypeId,
}

impl EvergraphStore {
    /// Opens the database in `folder`; makes it with `vertices` vertices if there is none.
    ///
    /// # Errors
    /// What opening and loading meet.
    pub fn open(folder: &Path, vertices: u32, commit: Commit) -> Result<Self> {
        Self::open_on(EngineKind::DEFAULT, folder, vertices, commit)
    }

    /// As [`EvergraphStore::open`], on `engine`.
    ///
    /// # Errors
    /// Those of [`EvergraphStore::open`].
    pub fn open_on(engine: EngineKind, folder: &Path, vertices: u32, commit: Commit) -> Result<Self> {
        let durability = match commit {
            Commit::Unsynced => Durability::None,
            Commit::Durable => Durability::Sync,
        };
        let options = Options { durability, engine: Some(engine), ..Options::default() };
        let database = Database::open_with(folder.join("evergraph"), &options)?;
        if database.store().catalogue().edge_type(EDGE).is_none() {
            database.transact(|tx| tx.by_id().declare_simple_type(EDGE).map(drop))?;
            let table = VertexTable::new(LABEL, Vec::new(), vec![VertexBlock::bare(vertices as usize)]);
            let load = Load { vertices: vec![table], edges: Vec::new() };
            let loaded = database.load(&load, &|_| (), &Default::default())?;
            if loaded.first_vertices.first() != Some(&VertexId(0)) {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    "the first vertex of a new database isn't number 0",
                ));
            }
        }
        let edge_type = database.store().catalogue().edge_type(EDGE);
        let missing = || Error::new(ErrorKind::Corrupt, "the edge type was not declared");
        Ok(Self { edge_type: edge_type.ok_or_else(missing)?, database })
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    fn id(&self, edge: Edge) -> EdgeId {
        simple_edge(edge, self.edge_type)
    }
}

impl Store for EvergraphStore {
    fn put(&self, edges: &[Edge]) -> Result<()> {
        if let [(source, target)] = *edges {
            return self.database.transact(|tx| {
                tx.by_id().put_edge(VertexId(source), self.edge_type, VertexId(target), &[]).map(drop)
            });
        }
        let new = |(source, target): &Edge| NewEdge::bare(VertexId(*source), VertexId(*target));
        let edges: Vec<NewEdge<'_>> = edges.iter().map(new).collect();
        self.database.transact(|tx| tx.by_id().put_edges(self.edge_type, &edges))
    }

    /// Ours looks each edge up in any case.
    fn put_missing(&self, edges: &[Edge]) -> Result<()> {
        self.put(edges)
    }

    fn delete(&self, edges: &[Edge]) -> Result<()> {
        self.database.transact(|tx| edges.iter().try_for_each(|edge| tx.by_id().delete_edge(self.id(*edge))))
    }

    fn load(&self, edges: &[Edge]) -> Result<()> {
        let vertices = self.database.statistics()?.vertices_count() as u32;
        let table = VertexTable {
            existing: (0..vertices).map(VertexId).collect(),
            ..VertexTable::new(LABEL, Vec::new(), Vec::new())
        };
        // Vertices that are there are counted down from the last number: see `VertexTable::end`.
        let there = |(source, target): &Edge| (u32::MAX - source, u32::MAX - target);
        let blocks = edges.chunks(BLOCK_ROWS).map(|edges| EdgeBlock::bare(edges.iter().map(there)));
        let edges = EdgeTable::new(EDGE, 0, 0, Vec::new(), blocks.collect());
        let load = Load { vertices: vec![table], edges: vec![edges] };
        self.database.load(&load, &|_| (), &Default::default()).map(drop)
    }

    fn read(&self, body: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        body(&mut SnapshotReader::new(self.database.snapshot(), self.edge_type))
    }

    fn settle(&self) -> Result<()> {
        wait_until_merged(&self.database)
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.database.close()
    }
}

/// Waits until merges have taken in every edge.
///
/// # Errors
/// `limit` if that takes too long.
pub fn wait_until_merged(database: &Database) -> Result<()> {
    let began = Instant::now();
    while database.store().statistics().engine.fresh_edge_records > 0 {
        if began.elapsed() > PATIENCE {
            return Err(Error::new(ErrorKind::Limit, format!("not all is merged after {PATIENCE:?}")));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
