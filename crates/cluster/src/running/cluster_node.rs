//! Cluster node: a node of a cluster in this process, from the folder that [`crate::running::create`] made for it.
//!
//! ```text
//! open     as in `opening.rs`; the node has joined, and takes part in everything
//! runs     threads: the node's own; answers; network; etcd; checkpoints; merges of its partitions; events of connections
//! close    a last checkpoint, so that the next start reads little of the log; threads end; stores are closed
//! drop     the same without the checkpoint, as after a crash of the process
//! ```

use crate::engine::graph_node::GraphNode;
use crate::log_position::LogPosition;
use crate::node::node_status::NodeStatus;
use crate::node::node_thread::NodeHandle;
use crate::record_id::Author;
use crate::running::description::ClusterDescription;
use crate::running::monitor::{NodeMonitor, StopReason};
use crate::running::node_description::NodeDescription;
use crate::running::opening::{Node, NodeThreads, NodeWork, OpenedNode, ask_status, open};
use crate::running::report::OnReport;
use crate::running::status::{ClusterStatus, LastAnswer, UnusablePartition};
use crate::transaction::coordinator::CoordinatorOptions;
use crate::transport::tcp::monitor::NetworkMonitor;
use evergraph_graph::error::Result;
use evergraph_graph::stage_programs::StagePrograms;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::Mutex;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How a node is opened, beside what its folder says.
#[derive(Clone)]
pub struct ClusterNodeOptions {
    /// How long the log may do nothing for it before opening fails, and others give it nothing of what it lacks before it goes on
    /// without. Default: 30 seconds.
    pub join_patience: Duration,
    /// How its transactions wait and read.
    pub coordinator: CoordinatorOptions,
    /// What stages of queries are that run on it. Default: none do, and queries read from other nodes.
    pub stages: Option<Arc<dyn StagePrograms>>,
    /// Hears what happens to it. Default: nobody.
    pub on_report: Option<OnReport>,
}

impl Default for ClusterNodeOptions {
    fn default() -> Self {
        Self {
            join_patience: Duration::from_secs(30),
            coordinator: CoordinatorOptions::default(),
            stages: None,
            on_report: None,
        }
    }
}

/// A node that runs in this process.
///
/// # Concurrency
///
/// Any thread calls any method. Transactions of its graph node wait in the threads of those who use them.
pub struct ClusterNode {
    description: ClusterDescription,
    own: NodeDescription,
    author: Author,
    clock: Arc<dyn Clock>,
    budget: Arc<MemoryBudget>,
    monitor: NodeMonitor,
    network: NetworkMonitor,
    graph: Arc<dyn GraphNode>,
    handle: NodeHandle<Node>,
    unusable: Vec<UnusablePartition>,
    status: LastAnswer<NodeStatus>,
    /// None once it is closed. Locked while it is being closed.
    threads: Mutex<Option<NodeThreads>>,
}

impl ClusterNode {
    /// Opens the node of `folder`, and waits until it has joined its cluster.
    ///
    /// What it lacks is copied from other nodes first: partitions that are missing, damaged, or too old; and what follows from the
    /// log, if that begins later than this node needs it. [`ClusterNodeOptions::on_report`] hears how far that is.
    ///
    /// Cost: its partitions are read, and what the log has got since the node's last checkpoint.
    ///
    /// # Errors
    /// `not_found` if `folder` is that of no node, or a file is missing that its settings name. `invalid` for settings that cannot
    /// work, by file and line; for a description of the cluster that was edited; for certificates that the other nodes would
    /// refuse. `busy` if another process runs this node, here or from a copy of the folder, or listens at its address. `io` if
    /// the log cannot be reached, or begins later than this node needs it and no other node gives what it lacks. `limit` if a
    /// partition has no room for what the log has, or the disk none for a copy. `corrupt` for damaged files, and if the log is not the one that this node has applied.
    pub fn open(folder: &Path, options: ClusterNodeOptions) -> Result<Self> {
        let ClusterNodeOptions { join_patience, coordinator, stages, on_report } = options;
        let opened = open(folder, join_patience, NodeWork { coordinator, stages }, on_report)?;
        let OpenedNode { description, own, author, clock, budget, monitor, network, graph, handle, .. } =
            opened;
        let (unusable, threads) = (opened.unusable, opened.threads);
        let status = LastAnswer::new(opened.status, clock.now());
        Ok(Self {
            description,
            own,
            author,
            clock,
            budget,
            monitor,
            network,
            graph,
            handle,
            unusable,
            status,
            threads: Mutex::new(Some(threads)),
        })
    }

    /// Coordinates transactions over the whole graph: the node of a
    /// [`cluster_store`](crate::engine::cluster_engine::cluster_store). Once this node has stopped, each error says why.
    #[must_use]
    pub fn graph_node(&self) -> Arc<dyn GraphNode> {
        Arc::clone(&self.graph)
    }

    /// What all nodes of the cluster agree on.
    #[must_use]
    pub fn description(&self) -> &ClusterDescription {
        &self.description
    }

    /// What is this node's own.
    #[must_use]
    pub fn own(&self) -> &NodeDescription {
        &self.own
    }

    /// Which node it is, and which start of it.
    #[must_use]
    pub fn author(&self) -> Author {
        self.author
    }

    /// The memory that its partitions share, for whatever else shall fit below the same limit.
    #[must_use]
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// How it is. A node whose thread takes long, or has ended, is shown as it was when it answered last, with the age of that.
    ///
    /// Cost: linear in members and partitions, in the thread of the node; waits for that, 5 seconds at most.
    #[must_use]
    pub fn status(&self) -> ClusterStatus {
        let answered = ask_status(&self.handle, &*self.clock);
        let (node, silent_for) = self.status.after(answered, self.clock.now());
        ClusterStatus {
            node,
            silent_for,
            stopped: self.monitor.stopped().map(|reason| reason.to_string()),
            unusable: self.unusable.clone(),
            links: self.network.peers(),
            listener: self.network.listener(),
            last_failure: self.monitor.last_failure(),
        }
    }

    /// Makes a checkpoint now, and waits for it: everything that was applied before is in it. Up to which message that is.
    ///
    /// Cost: a sync of each partition, and a file of up to some hundred mebibytes.
    ///
    /// # Errors
    /// `limit` if a partition has no room, or the disk is full; `io`, also if the node has stopped. The checkpoint before is
    /// valid then.
    pub fn checkpoint(&self) -> Result<LogPosition> {
        let threads = self.threads.lock();
        match &*threads {
            Some(threads) => {
                let made = threads.checkpoints.checkpoint();
                made.map_err(|error| self.monitor.stopped().map_or(error, |reason| reason.error()))
            }
            None => Err(StopReason::closed().error()),
        }
    }

    /// Makes a last checkpoint and ends the node. Whoever waits for it learns that; what it has sent to the log may still commit.
    /// Again: nothing, but whoever calls it meanwhile waits, too.
    ///
    /// # Errors
    /// Those of the checkpoint. The node has ended all the same, and starts from the checkpoint before.
    pub fn close(&self) -> Result<()> {
        let mut threads = self.threads.lock();
        let Some(threads) = threads.take() else { return Ok(()) };
        let saved = match self.monitor.stopped() {
            // What it has may be of a log that nobody else has.
            Some(_) => Ok(()),
            None => threads.checkpoints.checkpoint().map(drop),
        };
        self.end(threads);
        saved
    }

    fn end(&self, threads: NodeThreads) {
        // The newest there will be.
        let _ = self.status();
        self.monitor.stop(StopReason::closed());
        drop(threads);
    }
}

impl Drop for ClusterNode {
    fn drop(&mut self) {
        let threads = self.threads.lock().take();
        if let Some(threads) = threads {
            self.end(threads);
        }
    }
}

impl fmt::Debug for ClusterNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterNode")
            .field("cluster", &self.description.id())
            .field("author", &self.author)
            .field("graph", &self.graph)
            .finish_non_exhaustive()
    }
}
