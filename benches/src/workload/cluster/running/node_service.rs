//! Node service: a node of a cluster as a process of its own, which does what a harness asks for by lines.

use crate::line_process::Requests;
use crate::workload::cluster::running::current_status::current_status;
use crate::workload::cluster::running::streams::{self, StreamPlan};
use evergraph::cluster::node_options;
use evergraph::{Database, Options, VertexId};
use evergraph_cluster::node::kept_partition::PartitionCondition;
use evergraph_cluster::running::cluster_node::ClusterNode;
use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The argument that makes a process a node, before the folder.
pub const ARGUMENT: &str = "--cluster-node";
/// How often is looked whether a node has caught up.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// How long it may take.
const CATCH_UP_TIME: Duration = Duration::from_secs(120);

/// What a node is asked to do.
#[derive(Debug, Serialize, Deserialize)]
pub enum NodeRequest {
    /// Says how long it took until the node had joined, in seconds.
    Opened,
    /// Makes so many vertices.
    Create(u32),
    /// Runs clients: a [`streams::StreamReport`] of each entry.
    Run(StreamPlan),
    /// How it is: [`NodeState`].
    State,
    /// Waits until the node has everything up to this position in all its partitions: [`CaughtUp`].
    CatchUp(u64),
    /// Makes a checkpoint.
    Checkpoint,
    /// Edges, and vertices that clients added.
    Count,
}

/// How a node is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NodeState {
    /// The newest message of the log that it has applied.
    pub applied: u64,
    /// Transactions that it has seen commit since it started.
    pub committed: u64,
    /// Messages that it has appended since.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A node that has caught up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CaughtUp {
    /// Transactions that it has applied since it started.
    pub committed: u64,
    /// From the beginning of its start, in seconds.
    pub seconds: f64,
}

struct OpenNode {
    database: Database,
    began: Instant,
    opened: Duration,
    /// Once they are needed.
    vertices: Vec<VertexId>,
}

/// Runs the node of `folder`, as the harness asks.
///
/// # Errors
/// `io` if nobody listens.
pub fn serve(folder: &Path) -> Result<()> {
    Requests::of_process().serve(|| OpenNode::open(folder), OpenNode::reply)
}

impl OpenNode {
    fn open(folder: &Path) -> Result<Self> {
        let began = Instant::now();
        let node = ClusterNode::open(folder, node_options())?;
        let database = Database::of_cluster_node(Arc::new(node), folder, &Options::default())?;
        Ok(Self { database, began, opened: began.elapsed(), vertices: Vec::new() })
    }

    fn reply(&mut self, request: NodeRequest) -> Result<Value> {
        match request {
            NodeRequest::Opened => json(self.opened.as_secs_f64()),
            NodeRequest::Create(vertices) => {
                streams::create(&self.database, vertices)?;
                json(())
            }
            NodeRequest::Run(plan) => {
                if self.vertices.is_empty() {
                    self.vertices = streams::vertices(&self.database)?;
                }
                json(streams::run(&self.database, &self.vertices, &plan)?)
            }
            NodeRequest::State => json(self.state()?),
            NodeRequest::CatchUp(position) => json(self.catch_up(position)?),
            NodeRequest::Checkpoint => {
                self.node()?.checkpoint()?;
                json(())
            }
            NodeRequest::Count => json(streams::count(&self.database)?),
        }
    }

    fn node(&self) -> Result<&ClusterNode> {
        let missing = || Error::invalid("the database runs no node");
        self.database.cluster_node().ok_or_else(missing)
    }

    fn state(&self) -> Result<NodeState> {
        let status = current_status(self.node()?)?;
        let (log, records) = (status.node.log, status.node.records);
        Ok(NodeState {
            applied: log.applied.position.0,
            committed: records.committed,
            messages: log.appended.messages,
            bytes: log.appended.bytes,
        })
    }

    fn catch_up(&self, position: u64) -> Result<CaughtUp> {
        loop {
            let status = self.node()?.status();
            let seconds = self.began.elapsed().as_secs_f64();
            if let Some(reason) = status.stopped {
                return Err(Error::new(ErrorKind::Io, format!("the node has stopped: {reason}")));
            }
            let is_complete = |condition: &Option<PartitionCondition>| {
                matches!(condition, Some(PartitionCondition::Complete))
            };
            let node = status.node;
            if node.log.applied.position.0 >= position
                && node.partitions.iter().all(|partition| is_complete(&partition.condition))
            {
                return Ok(CaughtUp { committed: node.records.committed, seconds });
            }
            if self.began.elapsed() > CATCH_UP_TIME {
                return Err(Error::new(ErrorKind::Io, format!("the node has not caught up: {:?}", node.log)));
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

fn json(reply: impl Serialize) -> Result<Value> {
    serde_json::to_value(reply).map_err(|error| Error::invalid(error.to_string()))
}
