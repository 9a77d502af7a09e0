//! Site: a cluster that was created, whose nodes listen on free ports of this machine.

use crate::members::Members;
use evergraph_cluster::running::cluster_node::{ClusterNode, ClusterNodeOptions};
use evergraph_cluster::running::create::{CreatedCluster, NewCluster};
use evergraph_cluster::running::etcd_access::EtcdAccess;
use evergraph_cluster::running::report::NodeReport;
use evergraph_graph::error::Result;
use evergraph_graph::partition::PartitionCount;
use evergraph_storage::io::random::{Random as _, SplitMix64};
use evergraph_storage::sync::Mutex;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub struct Site {
    home: TempDir,
    pub created: CreatedCluster,
}

impl Site {
    /// A cluster of so many nodes on a member of etcd.
    pub fn on(etcd: &Members, nodes: usize) -> Self {
        Self::at(etcd.port(0), nodes)
    }

    /// The same, with whatever answers at this port.
    pub fn at(port: u16, nodes: usize) -> Self {
        let home = tempfile::Builder::new().prefix("evergraph-cluster-").tempdir().unwrap();
        let addresses = (0..nodes).map(|_| format!("127.0.0.1:{}", free_port())).collect();
        let log = EtcdAccess::new(vec![format!("http://127.0.0.1:{port}").parse().unwrap()]);
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
        let port = free_port();
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

/// A port that nobody listens at, and that the system gives to no connection by itself.
pub fn free_port() -> u16 {
    let mut random = SplitMix64::from_system().unwrap();
    let port = || (20_000 + random.next_u64() % 12_000) as u16;
    std::iter::repeat_with(port).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
