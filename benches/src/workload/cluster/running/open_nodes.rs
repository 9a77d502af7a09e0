//! Open nodes: a cluster whose nodes all run in the process of the harness, on TCP with TLS, with their log on etcd or NATS.

use crate::workload::cluster::running::current_status::current_status;
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::site::{Site, SitePlan};
use evergraph::cluster::node_options;
use evergraph::{Database, Options};
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::running::cluster_node::{ClusterNode, ClusterNodeOptions};
use evergraph_cluster::running::status::ClusterStatus;
use evergraph_cluster::transaction::coordinator::CoordinatorOptions;
use evergraph_cluster::transaction::submission::AheadCheck;
use evergraph_cluster::transport::frame::{Frame, Heartbeat};
use evergraph_cluster::transport::frame_counts::FrameTotal;
use evergraph_graph::error::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// Nodes in this process.
pub struct OpenNodes {
    site: Site,
    /// The graph, by each node.
    pub databases: Vec<Database>,
}

impl OpenNodes {
    /// Creates a cluster in `folder` and opens its nodes.
    ///
    /// # Errors
    /// What creating and opening nodes meets.
    pub fn create(servers: &LogServers, folder: &Path, plan: SitePlan) -> Result<Self> {
        Self::open(Site::create(servers, folder, plan)?, AheadCheck::Asked)
    }

    fn open(site: Site, ahead: AheadCheck) -> Result<Self> {
        let databases = site.folders.iter().map(|folder| {
            let coordinator = CoordinatorOptions { ahead, ..CoordinatorOptions::default() };
            let options = ClusterNodeOptions { coordinator, ..node_options() };
            let node = Arc::new(ClusterNode::open(folder, options)?);
            Database::of_cluster_node(node, folder, &Options::default())
        });
        Ok(Self { databases: databases.collect::<Result<_>>()?, site })
    }

    /// Under which key their log is kept.
    #[must_use]
    pub fn log_key(&self) -> &str {
        &self.site.log_key
    }

    /// Closes the nodes and opens them again, with or without the check ahead of the append.
    ///
    /// # Errors
    /// What closing and opening nodes meets.
    pub fn reopen(self, ahead: AheadCheck) -> Result<Self> {
        self.databases.iter().try_for_each(Database::close)?;
        drop(self.databases);
        Self::open(self.site, ahead)
    }

    /// Transactions of these nodes that the log has refused since they were opened: since something that they checked had changed, and
    /// for any other reason, such as their age.
    ///
    /// # Errors
    /// `invalid` if a database has no node; `io` if one does not say in time how it is.
    pub fn refused_by_log(&self) -> Result<[u64; 2]> {
        let mut all = [0; 2];
        for number in 0..self.databases.len() {
            let records = self.status(number)?.node.own_records;
            all[0] += records.conflicts;
            all[1] += records.too_old + records.other_log + records.incomplete + records.malformed;
        }
        Ok(all)
    }

    /// What these nodes have sent each other since they were opened, but for heartbeats: bytes with all that frames have, before TLS.
    ///
    /// # Errors
    /// `invalid` if a database has no node; `io` if one does not say in time how it is.
    pub fn sent(&self) -> Result<FrameTotal> {
        let mut all = FrameTotal::default();
        for number in 0..self.databases.len() {
            let ClusterStatus { node, links, .. } = self.status(number)?;
            let sent = node.peers.sent;
            for (_, total) in sent.by_kind().into_iter().filter(|(kind, _)| *kind != "heartbeat") {
                all.frames += total.frames;
            }
            let carried: u64 = links.iter().map(|link| link.outgoing.carried.bytes).sum();
            all.bytes += carried.saturating_sub(sent.heartbeats.frames * heartbeat_bytes());
        }
        Ok(all)
    }

    /// Edges of adjacency lists that stages of queries have read on each of these nodes since they were opened.
    ///
    /// # Errors
    /// `invalid` if a database has no node; `io` if one does not say in time how it is.
    pub fn edges_read(&self) -> Result<Vec<u64>> {
        let read = |number| Ok(self.status(number)?.node.peers.travelled.edges_read);
        (0..self.databases.len()).map(read).collect()
    }

    fn status(&self, number: usize) -> Result<ClusterStatus> {
        let missing = || Error::invalid("a database of a cluster runs no node");
        current_status(self.databases[number].cluster_node().ok_or_else(missing)?)
    }
}

/// Bytes of a heartbeat on the network, whatever it says.
fn heartbeat_bytes() -> u64 {
    let (applied, oldest, needed_from) = (SeenLog::START, LogPosition(0), LogPosition(0));
    Frame::Heartbeat(Heartbeat { applied, oldest, needed_from }).encode().len() as u64
}
