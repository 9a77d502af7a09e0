//! Site: a cluster that was created in a folder, whose nodes listen on ports of this machine.

use crate::free_ports::free_ports;
use crate::workload::cluster::running::etcd_members::EtcdMembers;
use evergraph_cluster::running::create::NewCluster;
use evergraph_cluster::running::etcd_access::EtcdAccess;
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
    /// How long a request to etcd may take; the log's default if it is not chosen.
    pub log_time_limit: Option<Duration>,
}

/// Folders of nodes.
#[derive(Clone, Debug)]
pub struct Site {
    /// By number.
    pub folders: Vec<PathBuf>,
}

impl Site {
    /// Creates a cluster in `folder`, whose log is kept by `etcd`.
    ///
    /// # Errors
    /// `invalid` for what no cluster can be; `io`.
    pub fn create(etcd: &EtcdMembers, folder: &Path, plan: SitePlan) -> Result<Self> {
        let partitions = PartitionCount::new(plan.partitions)
            .ok_or_else(|| Error::invalid(format!("no graph has {} partitions", plan.partitions)))?;
        let endpoints = etcd.urls(0).iter().map(|url| url.parse()).collect::<Result<Vec<_>>>()?;
        let addresses = free_ports(plan.nodes).into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let copies = u16::try_from(plan.copies).map_err(|_| Error::invalid("so many copies"))?;
        let log = EtcdAccess { time_limit: plan.log_time_limit, ..EtcdAccess::new(endpoints) };
        let new = NewCluster {
            partitions,
            copies: copies.min(plan.nodes as u16),
            ..NewCluster::new("bench", addresses, log)
        };
        Ok(Self { folders: new.write(folder)?.nodes })
    }
}
