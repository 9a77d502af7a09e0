//! Deployment: where the graph of a test is: in this process, with each engine, or on three nodes, with one partition and with several.
//!
//! Clients of a cluster are on different nodes: those that race, and those that take turns.

use evergraph::graph::transaction::Transaction as _;
use evergraph::{Database, EngineKind, Freshness, Isolation, Snapshot, Transaction, TransactionOptions};
use evergraph_tests::cluster::databases::{Databases, travelling};
use evergraph_tests::cluster::nodes::{ClusterSetup, PARTITIONS};
use evergraph_tests::store::in_memory;

/// Where a graph is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deployment {
    /// In this process.
    Embedded(EngineKind),
    /// On three nodes, divided into so many partitions.
    Cluster(u16),
}

impl Deployment {
    pub const ALL: [Self; 5] = [
        Self::Embedded(EngineKind::Memory),
        Self::Embedded(EngineKind::Disk),
        Self::Embedded(EngineKind::Mapped),
        Self::Cluster(1),
        Self::Cluster(PARTITIONS),
    ];

    /// Each with each level.
    pub fn cases() -> impl Iterator<Item = (Self, Isolation)> {
        let levels = [Isolation::Snapshot, Isolation::Serializable];
        Self::ALL.into_iter().flat_map(move |deployment| levels.map(|isolation| (deployment, isolation)))
    }

    /// Whether several nodes have the graph.
    pub fn is_cluster(self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// A graph there, without anything in it.
    pub fn start(self) -> DeployedGraph {
        match self {
            Self::Embedded(engine) => DeployedGraph::Embedded(in_memory(engine)),
            Self::Cluster(partitions) => {
                let setup = ClusterSetup { partitions, stages: travelling(), ..ClusterSetup::default() };
                DeployedGraph::Cluster(Box::new(Databases::start(&setup)))
            }
        }
    }
}

/// A graph, and how clients get at it.
pub enum DeployedGraph {
    Embedded(Database),
    Cluster(Box<Databases>),
}

impl DeployedGraph {
    /// The database of a client.
    pub fn of(&self, client: usize) -> &Database {
        match self {
            Self::Embedded(database) => database,
            Self::Cluster(databases) => databases.of_client(client),
        }
    }

    /// Begins a transaction of a client that sees all that was committed before.
    pub fn begin(&self, client: usize, isolation: Isolation) -> Transaction {
        let options = TransactionOptions::from(isolation).freshness(Freshness::Fresh);
        self.of(client).begin_with(options)
    }

    /// All that was committed before.
    pub fn snapshot(&self) -> Snapshot {
        self.of(0).snapshot_with(Freshness::Fresh)
    }

    /// From here on all clients see what was committed before.
    pub fn wait(&self) {
        if let Self::Cluster(databases) = self {
            databases.wait();
        }
    }

    /// Names edge types ahead: who reads by a name that there isn't is told so.
    pub fn name_types(&self, types: &[&str]) {
        let named =
            self.of(0).transact(|tx| types.iter().try_for_each(|name| tx.by_id().edge_type(name).map(drop)));
        named.unwrap();
        self.wait();
    }
}

impl Drop for DeployedGraph {
    fn drop(&mut self) {
        match self {
            Self::Cluster(databases) if !std::thread::panicking() => databases.check(),
            _ => {}
        }
    }
}
