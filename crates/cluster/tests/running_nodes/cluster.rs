//! Cluster: three nodes in threads of their own, on a log and a network in memory, with stores of the memory engine.
//!
//! Nothing wakes a node but what comes to it and its own timers: one that overlooks either stands still.

use evergraph_cluster::certification::certifier::CertifierLimits;
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::log::memory::{LogFaults, MemoryLog, MemoryLogClient};
use evergraph_cluster::log::packer::PackerLimits;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::answer_workers::{AnswerWorkers, AnswerWorkersOptions};
use evergraph_cluster::node::apply::Applier;
use evergraph_cluster::node::checkpoint_steps::SaveError;
use evergraph_cluster::node::incarnation::NodeStart;
use evergraph_cluster::node::kept_partition::PartitionEvent;
use evergraph_cluster::node::node_asker::NodeAsker;
use evergraph_cluster::node::node_loop::{NodeError, NodeEvent, NodeLoop};
use evergraph_cluster::node::node_thread::{NodeBell, NodeThread};
use evergraph_cluster::node::own_partitions::OwnPartitions;
use evergraph_cluster::node::owned_node::{NodeListener, OwnedNode};
use evergraph_cluster::node::peer_loop::{PeerLoop, PeerOptions};
use evergraph_cluster::node::readers::Readers;
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::node::shared_tables::{SharedTables, TablesMoment};
use evergraph_cluster::node::store_partition::StorePartition;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::remote::remote_snapshot::{RemoteLimits, RemoteSnapshot};
use evergraph_cluster::tables::cluster_tables::ClusterTables;
use evergraph_cluster::tables::members::Members;
use evergraph_cluster::transaction::coordinator::{Coordinator, CoordinatorOptions};
use evergraph_cluster::transport::memory::{MemoryNetwork, MemoryTransport, NetworkFaults};
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::{OwnGroups, PartitionCount};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::clock::{Clock, SystemClock};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{BackgroundStep, OpenOptions, OpenStore};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::thread::{JoinHandle, spawn};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

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
    clock: Arc<dyn Clock>,
}

impl RunningNode {
    fn start(
        node: u16,
        clock: &Arc<SystemClock>,
        (log, network): (&MemoryLog, &MemoryNetwork),
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
        let options = AnswerWorkersOptions { threads: 2, ..AnswerWorkersOptions::default() };
        let workers = AnswerWorkers::start("node", options, Arc::clone(&clock), bell.waker()).unwrap();
        let transport = network.connect_waking(author.node, bell.waker());
        let peers = PeerLoop::new(author, PeerOptions::default(), &applied, transport, workers);
        let readers = peers.readers().clone();
        let owned = OwnedNode::new(on_log, peers, Box::new(Listener(Arc::clone(wrongs))));
        let (tables, own) = (owned.tables().clone(), owned.own_partitions().clone());
        let thread = bell.start("node", Arc::clone(&clock), owned).unwrap();
        Self { thread, readers, tables, own, clock }
    }

    /// The graph as of everything that the node has applied, as its thread reads it.
    pub fn snapshot(&self, limits: RemoteLimits) -> (Arc<TablesMoment>, RemoteSnapshot) {
        self.snapshot_by(limits, |asker, _| asker)
    }

    /// The same, whose readers read the partitions of the node themselves.
    pub fn snapshot_beside(&self, limits: RemoteLimits) -> (Arc<TablesMoment>, RemoteSnapshot) {
        let clock = &self.clock;
        self.snapshot_by(limits, |asker, moment| asker.beside(self.own.clone(), moment, Arc::clone(clock)))
    }

    fn snapshot_by(
        &self,
        limits: RemoteLimits,
        reads: impl Fn(NodeAsker<Node>, &TablesMoment) -> NodeAsker<Node>,
    ) -> (Arc<TablesMoment>, RemoteSnapshot) {
        loop {
            let moment = self.tables.newest();
            // It may have applied more since, and said so.
            let Ok(reader) = self.readers.begin_at(moment.seen()) else { continue };
            let timestamp = reader.at().position.end();
            let asker = Arc::new(reads(NodeAsker::new(self.thread.handle(), reader, PATIENCE), &moment));
            let map = Arc::<TablesMoment>::clone(&moment);
            return (moment, RemoteSnapshot::new(timestamp, map, asker, limits));
        }
    }

    /// Does what its stores' background threads would do: they fill new indexes.
    pub fn look_after(&self) {
        let look_after = |node: &mut Node, _: Duration| {
            let stores = node.node().applier().stores();
            stores.for_each(|(_, store)| store.opened().step(BackgroundStep::LookAfter));
        };
        // One that is busy does it later.
        let _ = self.thread.handle().call(look_after);
    }

    /// Merges as much as nobody reads any more.
    pub fn merge(&self) {
        let merge = |node: &mut Node, _: Duration| {
            let stores = node.node().applier().stores();
            stores.for_each(|(_, store)| store.opened().store().engine().merge_everything());
        };
        self.thread.handle().call(merge).unwrap();
    }

    /// Questions that its thread has had answered.
    pub fn answered(&self) -> u64 {
        let (told, answered) = channel();
        let call = move |node: &mut Node, now: Duration| {
            told.send(node.peers().status(now).answered.answered).unwrap();
        };
        self.thread.handle().call(call).unwrap();
        answered.recv_timeout(PATIENCE).unwrap()
    }

    /// The newest message that it has applied.
    pub fn applied(&self) -> LogPosition {
        self.tables.newest().seen().position
    }
}

pub struct Cluster {
    pub clock: Arc<SystemClock>,
    pub log: Arc<MemoryLog>,
    pub nodes: Vec<RunningNode>,
    wrongs: Wrongs,
    /// Dropped, it ends the thread for which time passes.
    _ends: Sender<()>,
    _ticks: JoinHandle<()>,
}

impl Cluster {
    /// Three nodes that have joined.
    pub fn start(seed: u64, faults: LogFaults) -> Self {
        let clock = Arc::new(SystemClock::new());
        let delays = NetworkFaults { delay_max: TICK, ..NetworkFaults::default() };
        let (log, network) = (Arc::new(MemoryLog::new(seed, faults)), MemoryNetwork::new(seed, delays, 1000));
        let wrongs = Wrongs::default();
        let started = (0..NODES).map(|node| RunningNode::start(node, &clock, (&log, &network), &wrongs));
        let nodes = started.collect();
        let (ends, ended) = channel();
        let (of_ticks, log_of_ticks) = (Arc::clone(&clock), Arc::clone(&log));
        let pass = move || {
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                log_of_ticks.advance_to(of_ticks.now());
                network.advance_to(of_ticks.now());
            }
        };
        let ticks = spawn("time", pass).unwrap();
        let cluster = Self { clock, log, nodes, wrongs, _ends: ends, _ticks: ticks };
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
pub fn coordinators(cluster: &Cluster, patience: Duration) -> Vec<Arc<Coordinator<Node>>> {
    let options = CoordinatorOptions { patience, read_patience: patience, ..CoordinatorOptions::default() };
    let nodes = cluster.nodes.iter().map(|node| {
        let (handle, clock) = (node.thread.handle(), Arc::clone(&cluster.clock));
        let (readers, tables) = (node.readers.clone(), node.tables.clone());
        let coordinator = Coordinator::new(handle, readers, tables, clock, options);
        Arc::new(coordinator.reading_own(node.own.clone()))
    });
    nodes.collect()
}

/// Lets time pass.
pub fn pause(time: Duration) {
    let (_silent, nothing) = channel::<()>();
    assert!(nothing.recv_timeout(time).is_err(), "nobody sends");
}
