//! Cluster: three nodes in threads of their own, with stores of the memory engine, whose threads run stages of queries.
//!
//! As in `running_nodes`, nothing wakes a node but what comes to it and its own timers. The network has faults.

use evergraph_cluster::certification::certifier::CertifierLimits;
use evergraph_cluster::engine::cluster_engine::{ClusterEngine, cluster_store};
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::log::memory::{LogFaults, MemoryLog, MemoryLogClient};
use evergraph_cluster::log::packer::PackerLimits;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::answer_workers::{AnswerWorkers, AnswerWorkersOptions};
use evergraph_cluster::node::apply::Applier;
use evergraph_cluster::node::checkpoint_steps::SaveError;
use evergraph_cluster::node::incarnation::NodeStart;
use evergraph_cluster::node::kept_partition::PartitionEvent;
use evergraph_cluster::node::node_error::NodeError;
use evergraph_cluster::node::node_loop::{NodeEvent, NodeLoop};
use evergraph_cluster::node::node_thread::{NodeBell, NodeThread};
use evergraph_cluster::node::own_partitions::OwnPartitions;
use evergraph_cluster::node::owned_node::{NodeListener, OwnedNode, StageEnvironment};
use evergraph_cluster::node::peer_loop::{PeerLoop, PeerOptions};
use evergraph_cluster::node::readers::Readers;
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::node::shared_tables::SharedTables;
use evergraph_cluster::node::store_partition::StorePartition;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::tables::cluster_tables::ClusterTables;
use evergraph_cluster::tables::members::Members;
use evergraph_cluster::transaction::coordinator::{Coordinator, CoordinatorOptions};
use evergraph_cluster::transport::memory::{MemoryNetwork, MemoryTransport, NetworkFaults};
use evergraph_cluster::travel::travel_options::TravelOptions;
use evergraph_cluster::travel::travelling_queries::TravellingQueries;
use evergraph_graph::budget::Unlimited;
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::{OwnGroups, PartitionCount};
use evergraph_graph::stage_programs::StagePrograms;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::clock::{Clock, SystemClock};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::options::Durability;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::store::{Store, StoreOptions};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::thread::{JoinHandle, spawn};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

pub type ClusterStore = Store<ClusterEngine>;
pub type Partition = StorePartition<MemoryEngine>;
pub type Node = OwnedNode<Partition, MemoryLogClient, MemoryTransport, AnswerWorkers>;

const NODES: u16 = 3;
/// Partitions of the graph: two copies each.
pub const PARTITIONS: u16 = 6;
/// How long readers wait for an answer, and tests for what has to come.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How often time goes on for log and network.
const TICK: Duration = Duration::from_micros(300);

pub fn partitions() -> PartitionCount {
    PartitionCount::new(PARTITIONS).unwrap()
}

/// The state that the cluster is created with.
pub fn first_state() -> ReplicatedState {
    let members = Members::new((0..NODES).map(|node| (NodeId(node), address(node))));
    let tables = ClusterTables::new(partitions(), members, 2);
    ReplicatedState::new(GraphSalt(*b"salt of a graph."), CertifierLimits::default(), tables)
}

fn address(node: u16) -> Box<str> {
    format!("node-{node}:0").into()
}

/// An empty store of a partition.
pub fn open(partition: PartitionId) -> Partition {
    let options = OpenOptions {
        durability: Durability::None,
        environment: Environment::simulated(7),
        own_groups: Some(OwnGroups::new(partition, partitions()).unwrap()),
        ..OpenOptions::default()
    };
    StorePartition::new(OpenStore::open(Arc::new(MemoryDirectory::new("part")), &options).unwrap()).unwrap()
}

/// Whatever went wrong on a node.
type Wrongs = Arc<Mutex<Vec<String>>>;

struct Listener(Wrongs);

impl NodeListener for Listener {
    fn node_event(&mut self, event: NodeEvent) {
        if let NodeEvent::Partition(PartitionEvent::Failed { partition, cause }) = event {
            self.0.lock().push(format!("partition {} has failed: {cause}", partition.0));
        }
    }

    fn horizon_rose(&mut self, _horizon: LogPosition) {}

    fn other_log(&mut self, node: NodeId, position: LogPosition) {
        self.0.lock().push(format!("node {} has another log at {position}", node.0));
    }

    fn left_behind(&mut self, node: NodeId) {
        self.0.lock().push(format!("the log is not kept for node {}", node.0));
    }

    fn checkpoint_ended(&mut self, result: Result<LogPosition, &SaveError>) {
        if let Err(error) = result {
            self.0.lock().push(format!("a checkpoint has failed: {error}"));
        }
    }

    fn stopped(&mut self, error: NodeError) {
        self.0.lock().push(format!("a node has stopped: {error}"));
    }
}

/// A node that runs.
pub struct RunningNode {
    pub thread: NodeThread<Node>,
    pub readers: Readers,
    pub tables: SharedTables,
    pub own: OwnPartitions,
    pub queries: TravellingQueries,
}

impl RunningNode {
    fn start(
        node: u16,
        clock: &Arc<SystemClock>,
        (log, network): (&MemoryLog, &MemoryNetwork),
        (programs, options, peers): (&Arc<dyn StagePrograms>, TravelOptions, PeerOptions),
        wrongs: &Wrongs,
    ) -> Self {
        let clock: Arc<dyn Clock> = Arc::<SystemClock>::clone(clock);
        let (author, first) = (Author { node: NodeId(node), incarnation: 0 }, first_state());
        let kept: Vec<_> = first.tables().placement().kept_by(author.node).collect();
        let applied = first.certifier().digests().clone();
        let start = NodeStart { author, nonce: 5 + u64::from(node) };
        let (limits, applier) = (PackerLimits::default(), Applier::new(first));
        let bell = NodeBell::<Node>::new();
        let log = log.connect_waking(bell.waker());
        let mut on_log = NodeLoop::new(start, address(node), limits, applier, log);
        for (partition, _) in kept {
            on_log.keep(partition, open(partition)).unwrap();
        }
        let answering = AnswerWorkersOptions { threads: 2, ..AnswerWorkersOptions::default() };
        let workers = AnswerWorkers::start("node", answering, Arc::clone(&clock), bell.waker()).unwrap();
        let transport = network.connect_waking(author.node, bell.waker());
        let peers = PeerLoop::new(author, peers, &applied, transport, workers);
        let readers = peers.readers().clone();
        let mut owned = OwnedNode::new(on_log, peers, Box::new(Listener(Arc::clone(wrongs))));
        let environment = StageEnvironment {
            programs: Arc::clone(programs),
            budget: Arc::new(Unlimited),
            clock: Arc::clone(&clock),
            waker: bell.waker(),
            options,
        };
        let queries = owned.run_stages("node", environment).unwrap();
        let (tables, own) = (owned.tables().clone(), owned.own_partitions().clone());
        let thread = bell.start("node", clock, owned).unwrap();
        Self { thread, readers, tables, own, queries }
    }
}

pub struct Cluster {
    pub clock: Arc<SystemClock>,
    pub network: Arc<MemoryNetwork>,
    pub nodes: Vec<RunningNode>,
    wrongs: Wrongs,
    /// Dropped, it ends the thread for which time passes.
    _ends: Sender<()>,
    _ticks: JoinHandle<()>,
}

/// Options of nodes that suspect nobody: on a machine that is busy a thread may stand still for longer than a silence that is noticed.
pub fn trusting() -> TravelOptions {
    let patience = Duration::from_secs(30);
    TravelOptions { suspect_after: patience, silence_max: patience, ..TravelOptions::default() }
}

impl Cluster {
    /// Three nodes that have joined, on a network with faults, which run `programs`.
    pub fn start(
        seed: u64,
        faults: NetworkFaults,
        programs: &Arc<dyn StagePrograms>,
        options: TravelOptions,
    ) -> Self {
        Self::start_with(seed, faults, (programs, options), PeerOptions::default())
    }

    /// The same, which deal with each other so.
    pub fn start_with(
        seed: u64,
        faults: NetworkFaults,
        (programs, options): (&Arc<dyn StagePrograms>, TravelOptions),
        peers: PeerOptions,
    ) -> Self {
        let clock = Arc::new(SystemClock::new());
        let log = Arc::new(MemoryLog::new(seed, LogFaults::default()));
        let network = Arc::new(MemoryNetwork::new(seed, faults, 1000));
        let wrongs = Wrongs::default();
        let started = (0..NODES).map(|node| {
            RunningNode::start(node, &clock, (&log, &network), (programs, options, peers), &wrongs)
        });
        let nodes = started.collect();
        let (ends, ended) = channel();
        let (of_ticks, log_of_ticks) = (Arc::clone(&clock), Arc::clone(&log));
        let network_of_ticks = Arc::clone(&network);
        let pass = move || {
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                log_of_ticks.advance_to(of_ticks.now());
                network_of_ticks.advance_to(of_ticks.now());
            }
        };
        let ticks = spawn("time", pass).unwrap();
        let cluster = Self { clock, network, nodes, wrongs, _ends: ends, _ticks: ticks };
        cluster.wait_until("a node does not join", || {
            cluster.nodes.iter().all(|node| node.readers.begin().is_ok())
        });
        cluster
    }

    /// Waits until something holds.
    pub fn wait_until(&self, otherwise: &str, holds: impl Fn() -> bool) {
        let ends_at = self.clock.now() + PATIENCE;
        while !holds() {
            self.check();
            assert!(self.clock.now() < ends_at, "{otherwise}");
            pause(TICK);
        }
    }

    /// Nothing has gone wrong on any node.
    pub fn check(&self) {
        let wrongs = self.wrongs.lock();
        assert!(wrongs.is_empty(), "{wrongs:?}");
    }
}

/// A coordinator on each node.
fn coordinators(cluster: &Cluster, patience: Duration) -> Vec<Arc<Coordinator<Node>>> {
    let options = CoordinatorOptions { patience, read_patience: patience, ..CoordinatorOptions::default() };
    let nodes = cluster.nodes.iter().map(|node| {
        let (handle, clock) = (node.thread.handle(), Arc::clone(&cluster.clock));
        let (readers, tables) = (node.readers.clone(), node.tables.clone());
        let coordinator = Coordinator::new(handle, readers, tables, clock, options);
        Arc::new(coordinator.reading_own(node.own.clone()).travelling(node.queries.clone()))
    });
    nodes.collect()
}

/// The stores of all nodes.
pub fn stores(cluster: &Cluster) -> Vec<ClusterStore> {
    let of_node = |(number, coordinator): (u64, Arc<Coordinator<Node>>)| {
        let clock: Arc<dyn Clock> = cluster.clock.clone();
        let (budget, random) = (Arc::new(MemoryBudget::new(u64::MAX)), Box::new(SplitMix64::new(number)));
        cluster_store(coordinator, clock, budget, random, StoreOptions::default())
    };
    (0..).zip(coordinators(cluster, PATIENCE)).map(of_node).collect()
}

/// Lets time pass.
pub fn pause(time: Duration) {
    let (_silent, nothing) = channel::<()>();
    assert!(nothing.recv_timeout(time).is_err(), "nobody sends");
}
