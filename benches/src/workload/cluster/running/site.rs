//! Site: a cluster that was created in a folder, whose nodes listen on ports of this machine.

use crate::free_ports::free_ports;
use crate::workload::cluster::running::log_servers::LogServers;
use evergraph_cluster::running::create::NewCluster;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::partition::PartitionCount;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a cluster is made.
#[derive(Clone, Copy, Debug)]
pub struct SitePlan {
    /// How many nodes it has.
    pub nodes: usize,
    /// Into how many partitions its graph is divided.
    pub partitions: u16,
    /// Copies of each, where there are as many nodes.
    pub copies: usize,
    /// How long a request to the log's servers may take; the log's default if it is not chosen.
    pub log_time_limit: Option<Duration>,
}

/// Folders of nodes.
#[derive(Clone, Debug)]
pub struct Site {
    /// By number.
    pub folders: Vec<PathBuf>,
    /// Under which key their log is kept.
    pub log_key: String,
}

impl Site {
    /// Creates a cluster in `folder`, whose log is kept by `servers`.
    ///
    /// # Errors
    /// `invalid` for what no cluster can be; `io`.
    pub fn create(servers: &LogServers, folder: &Path, plan: SitePlan) -> Result<Self> {
        let partitions = PartitionCount::new(plan.partitions)
            .ok_or_else(|| Error::invalid(format!("no graph has {} partitions", plan.partitions)))?;
        let addresses = free_ports(plan.nodes).into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let copies = u16::try_from(plan.copies).map_err(|_| Error::invalid("so many copies"))?;
        let log = servers.access(0, plan.log_time_limit)?;
        let new = NewCluster {
            partitions,
            copies: copies.min(plan.nodes as u16),
            ..NewCluster::new("bench", addresses, log)
        };
        let created = new.write(folder)?;
        Ok(Self { folders: created.nodes, log_key: created.description.log_key() })
    }
}
