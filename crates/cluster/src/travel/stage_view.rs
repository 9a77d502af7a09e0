//! Stage view: what stages of a query read on this node, the stores of its partitions at one moment.
//!
//! They are opened before the first stage runs, and read in the worker's thread, which waits for nobody.

use crate::digest::SeenLog;
use crate::node::own_partitions::OwnPartitions;
use crate::node::shared_tables::SharedTables;
use crate::travel::own_graph::{OwnGraph, not_here};
use evergraph_graph::error::Result;
use evergraph_graph::id::PartitionId;
use evergraph_graph::view::GraphView;
use std::sync::Arc;

/// A graph that stages read.
pub trait StageView: Send + Sync {
    /// Calls `read` with it.
    fn with(&self, read: &mut dyn FnMut(&dyn GraphView));

    /// How many groups of vertices the graph has, on all nodes.
    fn group_count(&self) -> u32;

    /// Edges of adjacency lists that were read of it so far.
    fn edges_read(&self) -> u64;
}

/// Opens graphs for stages.
pub trait OpenStageViews: Send + Sync {
    /// These partitions, at a moment that is in use until the view is dropped.
    ///
    /// # Errors
    /// `busy` if one of them is not here, or lacks something; `conflict` if the moment is too old to be read.
    fn open(&self, at: SeenLog, partitions: &[PartitionId]) -> Result<Box<dyn StageView>>;
}

/// The partitions that a node keeps.
#[derive(Clone, Debug)]
pub struct StoreStageViews {
    /// Its partitions.
    pub own: OwnPartitions,
    /// Its tables.
    pub tables: SharedTables,
}

impl OpenStageViews for StoreStageViews {
    fn open(&self, at: SeenLog, partitions: &[PartitionId]) -> Result<Box<dyn StageView>> {
        let store = |partition: &PartitionId| match self.own.reader(*partition, at.position) {
            Some(reader) => Ok((*partition, reader.open_stage_view(at.position)?)),
            None => Err(not_here(*partition)),
        };
        let stores = partitions.iter().map(store).collect::<Result<_>>()?;
        let moment = self.tables.newest();
        let catalogue = Arc::clone(moment.catalogue());
        Ok(Box::new(OwnGraph::new(at.position.end(), moment, catalogue, stores)))
    }
}

impl StageView for OwnGraph {
    fn with(&self, read: &mut dyn FnMut(&dyn GraphView)) {
        read(self);
    }

    fn group_count(&self) -> u32 {
        self.map().group_count()
    }

    fn edges_read(&self) -> u64 {
        Self::edges_read(self)
    }
}
