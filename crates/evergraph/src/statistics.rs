//! Statistics: what is in a database, what it takes, and what happened since it was opened.

use crate::database::Database;
use evergraph_disk_engine::statistics::TreeStatistics;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::error::Result;
use evergraph_graph::view::GraphView as _;
use evergraph_mapped_engine::statistics::MappedStatistics;
use evergraph_storage::open::{OpenStore, Recovery};
use evergraph_storage::store::StoreStatistics;
use evergraph_storage::upkeep::CheckpointState;

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
    /// Commits, snapshots, memory by purpose, log, and what all engines count. On a cluster: those of this process, and of the
    /// graph its groups; records and bodies are counted where they lie.
    pub store: StoreStatistics,
    /// What the disk engine knows beside that: levels, memory graphs, flushes, compactions, page cache, pacing. `None`
    /// for the other engines.
    pub tree: Option<TreeStatistics>,
    /// Files of the mapped engine, and memory for what no merge has taken in yet. `None` for the other engines, and where
    /// another process writes the files.
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

impl Database {
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
            checkpoints: self.checkpoint_state(),
            recovery: self.recovery(),
        })
    }

    /// Checkpoints since opening, and whether the last one failed. In a database that only reads, and on a cluster: none.
    #[must_use]
    pub fn checkpoint_state(&self) -> CheckpointState {
        self.open_store().map(OpenStore::checkpoint_state).unwrap_or_default()
    }

    /// What opening found. In a database that only reads, and on a cluster: nothing.
    #[must_use]
    pub fn recovery(&self) -> Recovery {
        self.open_store().map(|open| open.recovery().clone()).unwrap_or_default()
    }
}
