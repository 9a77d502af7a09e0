//! Open cluster: the store of a graph that lies on the nodes of a cluster, and the node of this process.

use evergraph_cluster::engine::graph_node::GraphNode;
use evergraph_cluster::running::cluster_node::ClusterNode;
use evergraph_engines::cluster::cluster_store;
use evergraph_engines::engine::AnyEngine;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::open::OpenOptions;
use evergraph_storage::store::Store;
use std::fmt;
use std::sync::Arc;

/// Ends a node. It may be called again, and does nothing then.
pub type CloseNode = Box<dyn Fn() -> Result<()> + Send + Sync>;

/// A node of this process, and how it ends.
pub enum OwnedNode {
    /// One from a folder.
    Running(Arc<ClusterNode>),
    /// Any other.
    Other(Arc<dyn GraphNode>, CloseNode),
}

impl OwnedNode {
    fn graph(&self) -> Arc<dyn GraphNode> {
        match self {
            Self::Running(node) => node.graph_node(),
            Self::Other(graph, _) => Arc::clone(graph),
        }
    }
}

/// A graph by one node, which ends with the last clone of the database.
pub struct OpenCluster {
    store: Store<AnyEngine>,
    graph: Arc<dyn GraphNode>,
    node: OwnedNode,
}

impl OpenCluster {
    /// Assembles the store over `node`. Without a memory limit in `options` its queries share that of the node.
    ///
    /// # Errors
    /// `io` if the system has no random numbers.
    pub fn new(node: OwnedNode, options: &OpenOptions) -> Result<Self> {
        let budget = match &node {
            OwnedNode::Running(node) if options.memory_limit_bytes == u64::MAX => Arc::clone(node.budget()),
            _ => Arc::new(MemoryBudget::new(options.memory_limit_bytes)),
        };
        let graph = node.graph();
        Ok(Self { store: cluster_store(Arc::clone(&graph), budget, options)?, graph, node })
    }

    /// Transactions and snapshots.
    #[must_use]
    pub fn store(&self) -> &Store<AnyEngine> {
        &self.store
    }

    /// The node, if it is one from a folder.
    #[must_use]
    pub fn node(&self) -> Option<&ClusterNode> {
        match &self.node {
            OwnedNode::Running(node) => Some(node),
            OwnedNode::Other(..) => None,
        }
    }

    /// Whether the node runs.
    ///
    /// # Errors
    /// `io` if it has stopped.
    pub fn check_running(&self) -> Result<()> {
        match self.graph.tables().has_ended() {
            false => Ok(()),
            true => Err(Error::new(
                ErrorKind::Io,
                "the node of the cluster that ran in this process has stopped: open it again",
            )),
        }
    }

    /// Ends the node.
    ///
    /// # Errors
    /// Those of its last checkpoint.
    pub fn close(&self) -> Result<()> {
        match &self.node {
            OwnedNode::Running(node) => node.close(),
            OwnedNode::Other(_, close) => close(),
        }
    }
}

impl Drop for OpenCluster {
    fn drop(&mut self) {
        // Whoever wants to know closes it.
        drop(self.close());
    }
}

impl fmt::Debug for OpenCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenCluster").field("graph", &self.graph).finish_non_exhaustive()
    }
}
