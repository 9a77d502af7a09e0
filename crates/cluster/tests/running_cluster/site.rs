//! Site: a cluster that was created, whose nodes listen on free ports of this machine.

use crate::folders::copy_folder;
use crate::free_ports::free_ports;
use evergraph_cluster::running::cluster_node::{ClusterNode, ClusterNodeOptions};
use evergraph_cluster::running::create::{CreatedCluster, NewCluster};
use evergraph_cluster::running::etcd_access::EtcdAccess;
use evergraph_cluster::running::log_access::LogAccess;
use evergraph_cluster::running::report::NodeReport;
use evergraph_graph::error::Result;
use evergraph_graph::partition::PartitionCount;
use evergraph_storage::sync::Mutex;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub struct Site {
    home: TempDir,
    pub created: CreatedCluster,
}

impl Site {
    /// A cluster of so many nodes on the member of etcd at this port, or whatever answers there.
    pub fn at(port: u16, nodes: usize) -> Self {
        let url = format!("http://127.0.0.1:{port}").parse().unwrap();
        Self::with(EtcdAccess::new(vec![url]), nodes)
    }

    /// The same, on whatever log.
    pub fn with(log: impl Into<LogAccess>, nodes: usize) -> Self {
        let home = tempfile::Builder::new().prefix("evergraph-cluster-").tempdir().unwrap();
        let addresses = free_ports(nodes).into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let partitions = PartitionCount::new(6).unwrap();
        let new = NewCluster { partitions, ..NewCluster::new("test", addresses, log) };
        let created = new.write(&home.path().join("test")).unwrap();
        Self { home, created }
    }

    /// The folder of a node.
    pub fn folder(&self, node: usize) -> &Path {
        &self.created.nodes[node]
    }

    /// Opens a node.
    pub fn open(&self, node: usize) -> ClusterNode {
        open(self.folder(node)).unwrap()
    }

    /// A copy of the folder of a node, that listens elsewhere.
    pub fn copy_of(&self, node: usize, name: &str) -> PathBuf {
        let copy = self.home.path().join(name);
        copy_folder(self.folder(node), &copy);
        let file = copy.join("node.toml");
        let text = fs::read_to_string(&file).unwrap();
        let port = free_ports(1)[0];
        fs::write(&file, format!("address = '127.0.0.1:{port}'\n{text}")).unwrap();
        copy
    }
}

/// Opens the node of a folder.
pub fn open(folder: &Path) -> Result<ClusterNode> {
    ClusterNode::open(folder, ClusterNodeOptions::default())
}

/// Opens the node of a folder that nobody waits for long; what it reports is put into `reports`.
pub fn open_hearing(folder: &Path, reports: &Arc<Mutex<Vec<NodeReport>>>) -> Result<ClusterNode> {
    let heard = Arc::clone(reports);
    let options = ClusterNodeOptions {
        join_patience: Duration::from_millis(1500),
        on_report: Some(Arc::new(move |report: &NodeReport| heard.lock().push(report.clone()))),
        ..ClusterNodeOptions::default()
    };
    ClusterNode::open(folder, options)
}
