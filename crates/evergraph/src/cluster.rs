//! Clusters: a graph whose partitions lie on several machines, opened by one of its nodes in this process.
//!
//! `evergraph cluster create` makes a folder for each node. Opening that folder as `cluster:FOLDER` runs the node in this process:
//! it follows the cluster's log, keeps its partitions, answers the other nodes, and gives the whole graph as any database does.
//! Transactions, snapshots, queries, exports and statistics work as they do elsewhere. What needs the files of a database in one
//! place says so: bulk loads, checkpoints, backups, checks and conversions; algorithms need a graph in one process.
//!
//! A commit is durable when it returns. It is there on the node of the process at once, and on the others a moment later:
//! [`Freshness`](crate::Freshness) asks a transaction or a snapshot to wait for it. A commit may fail with the kind `unknown`: then
//! nobody knows yet whether it was written, and [`Database::settle`] finds out.
//!
//! The feature `cluster` of this crate has all this.
//!
//! ```no_run
//! use evergraph::{Database, Freshness, TransactionOptions};
//!
//! # fn main() -> evergraph::Result<()> {
//! let db = Database::open("cluster:node-0")?;
//! let (_, committed) = db.transact_committed(|tx| tx.add_vertex("Person", &[("name", "Ada".into())]))?;
//! // In another process, which got the timestamp with the request that it answers:
//! let other = Database::open("cluster:node-1")?;
//! let after = Freshness::After(committed.timestamp);
//! let tx = other.begin_with(TransactionOptions::default().freshness(after));
//! # Ok(())
//! # }
//! ```

use crate::database::Database;
#[cfg(feature = "cluster")]
use crate::open_cluster::{OpenCluster, OwnedNode};
use crate::opened::Opened;
use crate::options::Options;
use crate::path::DatabasePath;
#[cfg(feature = "cluster")]
use evergraph_cluster::engine::graph_node::GraphNode;
#[cfg(feature = "cluster")]
pub use evergraph_cluster::running::cluster_node::{ClusterNode, ClusterNodeOptions};
use evergraph_engines::persistent_memory::PersistentMemory;
use evergraph_graph::error::{Error, Result};
#[cfg(feature = "cluster")]
use evergraph_query::travel::runner::QueryStages;
use std::path::Path;
#[cfg(feature = "cluster")]
use std::sync::Arc;

/// Options of a node on which stages of queries run: each node runs those of its own vertices. A node without them has its part
/// read by the others.
#[cfg(feature = "cluster")]
#[must_use]
pub fn node_options() -> ClusterNodeOptions {
    ClusterNodeOptions { stages: Some(Arc::new(QueryStages)), ..ClusterNodeOptions::default() }
}

impl Database {
    /// Opens the graph of a cluster by the node that has `folder`, with [`Options`]: as [`Database::open_with`] of the path
    /// `cluster:FOLDER`.
    ///
    /// Of the options, the isolation level, the timeout, the bytes of a transaction and the memory limit count. A memory limit is
    /// for queries; without one they share the limit that the node's folder names for its partitions.
    ///
    /// Cost: the partitions of the node are read, and what the log has got since its last checkpoint.
    ///
    /// # Errors
    /// As `ClusterNode::open`: `not_found` if `folder` is that of no node; `invalid` for settings that cannot work; `busy` if another
    /// process runs the node; `io` if the log cannot be reached; `corrupt`. `invalid`, too, for an engine or persistent memory among
    /// the options, and in a program that was built without the feature `cluster`.
    pub fn open_cluster_with(folder: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let folder = folder.as_ref();
        let path = DatabasePath::Node(folder);
        if let Some(engine) = options.engine {
            return Err(Error::invalid(format!(
                "{path}: a cluster has its own engine, and not `{engine}`: leave it out"
            )));
        }
        if options.persistent_memory != PersistentMemory::default() {
            let memory = options.persistent_memory;
            return Err(Error::invalid(format!(
                "{path}: a cluster's partitions do not lie in persistent memory: leave `{memory}` out"
            )));
        }
        Self::open_node(folder, options)
    }

    #[cfg(feature = "cluster")]
    fn open_node(folder: &Path, options: &Options) -> Result<Self> {
        let node = ClusterNode::open(folder, node_options())?;
        Self::of_cluster_node(Arc::new(node), folder, options)
    }

    #[cfg(not(feature = "cluster"))]
    fn open_node(folder: &Path, _: &Options) -> Result<Self> {
        Err(Error::invalid(format!(
            "{}: this program was built without the feature `cluster` of the crate evergraph: it needs `features = \
             [\"cluster\"]` at evergraph in Cargo.toml",
            DatabasePath::Node(folder)
        )))
    }

    /// The graph of a cluster by a node that this process has opened already from `folder`, for a program that has its own options
    /// for nodes, or hears their reports. Closing the database closes the node. Without a memory limit in `options` queries share
    /// that of the node.
    ///
    /// # Errors
    /// `io` if the system has no random numbers.
    #[cfg(feature = "cluster")]
    pub fn of_cluster_node(node: Arc<ClusterNode>, folder: &Path, options: &Options) -> Result<Self> {
        Self::in_cluster(OwnedNode::Running(node), Some(folder), options)
    }

    /// The graph that `node` coordinates transactions on, wherever its log and its partitions are; `close` ends the node, with the
    /// database or before, and may be called again. For nodes that no folder has, such as those of tests.
    ///
    /// # Errors
    /// As [`Database::of_cluster_node`].
    #[cfg(feature = "cluster")]
    pub fn of_node(
        node: Arc<dyn GraphNode>,
        options: &Options,
        close: impl Fn() -> Result<()> + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::in_cluster(OwnedNode::Other(node, Box::new(close)), None, options)
    }

    #[cfg(feature = "cluster")]
    fn in_cluster(node: OwnedNode, folder: Option<&Path>, options: &Options) -> Result<Self> {
        let open = Arc::new(OpenCluster::new(node, &options.to_open_options())?);
        Ok(Self { open: Opened::InCluster(open), path: folder.map(ToOwned::to_owned) })
    }

    /// The node of the cluster that runs in this process, if the database was opened by its folder: how it is, and what it can do
    /// beside the graph.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn cluster_node(&self) -> Option<&ClusterNode> {
        self.cluster().and_then(OpenCluster::node)
    }

    /// Whether its graph lies on the nodes of a cluster.
    #[must_use]
    pub fn is_on_cluster(&self) -> bool {
        self.cluster().is_some()
    }

    /// Refuses a database whose node, in this process, has stopped: nothing is committed by it any more, and little can be read. Other
    /// databases have no node.
    ///
    /// # Errors
    /// `io` if it has stopped.
    pub fn check_node(&self) -> Result<()> {
        match self.cluster() {
            #[cfg(feature = "cluster")]
            Some(open) => open.check_running(),
            _ => Ok(()),
        }
    }

    #[cfg(feature = "cluster")]
    fn cluster(&self) -> Option<&OpenCluster> {
        match &self.open {
            Opened::InCluster(open) => Some(open),
            Opened::ToWrite(_) | Opened::ToRead(_) => None,
        }
    }

    #[cfg(not(feature = "cluster"))]
    fn cluster(&self) -> Option<&std::convert::Infallible> {
        match &self.open {
            Opened::ToWrite(_) | Opened::ToRead(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_engines::kind::EngineKind;
    use evergraph_graph::error::ErrorKind;

    #[test]
    fn what_a_cluster_does_not_take_is_refused_before_its_node_starts() {
        let folder = tempfile::tempdir().unwrap();
        let path = DatabasePath::Node(folder.path()).in_folder(folder.path());
        let disk = Options { engine: Some(EngineKind::Disk), ..Options::default() };
        let required = Options { persistent_memory: PersistentMemory::Required, ..Options::default() };
        for (options, part) in [(&disk, "`disk`"), (&required, "`required`")] {
            let refused = Database::open_with(&path, options).map(drop).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid);
            assert!(refused.to_string().contains(part), "{refused}");
        }
        assert!(!Options::default().would_create(&path));
    }
}
