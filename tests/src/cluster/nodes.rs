//! Nodes: a cluster in this process, whose nodes are threads, on a log and a network in memory, with stores of the memory engine.
//!
//! Nothing wakes a node but what comes to it and its own timers: one that overlooks either stands still.
//!
//! Tests of crates that this one depends on have no dependency on it, and include the file by its path.

use evergraph_cluster::certification::certifier::CertifierLimits;
use evergraph_cluster::copy::outgoing::{CopyLimits, OutgoingCopies};
use evergraph_cluster::engine::cluster_engine::{ClusterEngine, cluster_store};
use evergraph_cluster::engine::graph_node::GraphNode;
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
use evergraph_cluster::node::node_error::NodeError;
use evergraph_cluster::node::node_loop::{NodeEvent, NodeLoop};
use evergraph_cluster::node::node_thread::{NodeBell, NodeThread};
use evergraph_cluster::node::own_partitions::OwnPartitions;
use evergraph_cluster::node::owned_node::{NodeListener, OwnedNode, StageEnvironment};
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
use evergraph_storage::open::{BackgroundStep, OpenOptions, OpenStore};
use evergraph_storage::store::{Store, StoreOptions};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::thread::{JoinHandle, spawn};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A partition of a node.
pub type Partition = StorePartition<MemoryEngine>;
/// What the thread of a node owns.
pub type Node = OwnedNode<Partition, MemoryLogClient, MemoryTransport, AnswerWorkers>;
/// The graph of a cluster, by one of its nodes.
pub type ClusterStore = Store<ClusterEngine>;

/// Partitions of a graph, if nobody says otherwise: two copies each, on three nodes.
pub const PARTITIONS: u16 = 6;
/// How long readers wait for an answer, and tests for what has to come.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How often time goes on for log and network.
const TICK: Duration = Duration::from_micros(300);

/// What a cluster is made of.
#[derive(Clone)]
pub struct ClusterSetup {
    /// Of the faults of log and network.
    pub seed: u64,
    /// How many.
    pub nodes: u16,
    /// Of the graph.
    pub partitions: u16,
    /// Of each partition, on different nodes.
    pub copies: usize,
    /// What goes wrong with the log.
    pub log_faults: LogFaults,
    /// What goes wrong between nodes.
    pub network_faults: NetworkFaults,
    /// How its nodes deal with each other.
    pub peers: PeerOptions,
    /// How its coordinators wait and read.
    pub coordinator: CoordinatorOptions,
    /// What runs stages of queries where the vertices lie; without it whoever asks fetches them.
    pub stages: Option<Arc<dyn StagePrograms>>,
    /// How they run there.
    pub travel: TravelOptions,
}

impl Default for ClusterSetup {
    fn default() -> Self {
        Self {
            seed: 1,
            nodes: 3,
            partitions: PARTITIONS,
            copies: 2,
            log_faults: LogFaults::default(),
            network_faults: NetworkFaults { delay_max: TICK, ..NetworkFaults::default() },
            peers: PeerOptions::default(),
            coordinator: waiting(PATIENCE),
            stages: None,
            // On a machine that is busy a thread may stand still for longer than 0.4 s.
            travel: TravelOptions { suspect_after: Duration::from_secs(3), ..TravelOptions::default() },
        }
    }
}

/// Coordinators that wait so long for the log and for others.
#[must_use]
pub fn waiting(patience: Duration) -> CoordinatorOptions {
    CoordinatorOptions { patience, read_patience: patience, ..CoordinatorOptions::default() }
}

impl ClusterSetup {
    /// How many partitions the graph has.
    ///
    /// # Panics
    /// If there may not be as many.
    #[must_use]
    pub fn partition_count(&self) -> PartitionCount {
        PartitionCount::new(self.partitions).unwrap()
    }

    /// The state that the cluster is created with.
    #[must_use]
    pub fn first_state(&self) -> ReplicatedState {
        let members = Members::new((0..self.nodes).map(|node| (NodeId(node), address(node))));
        let tables = ClusterTables::new(self.partition_count(), members, self.copies);
        ReplicatedState::new(GraphSalt(*b"salt of a graph."), CertifierLimits::default(), tables)
    }

    /// An empty store of a partition.
    ///
    /// # Panics
    /// If there are fewer partitions.
    #[must_use]
    pub fn open(&self, partition: PartitionId) -> Partition {
        self.open_in(partition, MemoryDirectory::new("part")).unwrap()
    }

    /// The store of a partition in a directory.
    ///
    /// # Errors
    /// Those of the store.
    ///
    /// # Panics
    /// If there are fewer partitions.
    pub fn open_in(
        &self,
        partition: PartitionId,
        directory: MemoryDirectory,
    ) -> evergraph_graph::error::Result<Partition> {
        let options = OpenOptions {
            durability: Durability::None,
            environment: Environment::simulated(7),
            own_groups: Some(OwnGroups::new(partition, self.partition_count()).unwrap()),
            ..OpenOptions::default()
        };
        StorePartition::new(OpenStore::open(Arc::new(directory), &options)?)
    }
}

fn address(node: u16) -> Box<str> {
    format!("node-{node}:0").into()
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
    /// Its thread.
    pub thread: NodeThread<Node>,
    /// Who reads by it.
    pub readers: Readers,
    /// What it has applied.
    pub tables: SharedTables,
    /// Its partitions, for who reads them in threads of their own.
    pub own: OwnPartitions,
    queries: Option<TravellingQueries>,
    /// Of its partitions.
    pub stores: Vec<Arc<OpenStore<MemoryEngine>>>,
    /// Of the node itself.
    pub directory: MemoryDirectory,
    clock: Arc<dyn Clock>,
}

impl RunningNode {
    fn start(
        setup: &ClusterSetup,
        node: u16,
        clock: &Arc<SystemClock>,
        (log, network): (&MemoryLog, &MemoryNetwork),
        wrongs: &Wrongs,
    ) -> Self {
        let clock: Arc<dyn Clock> = Arc::<SystemClock>::clone(clock);
        let (author, first) = (Author { node: NodeId(node), incarnation: 0 }, setup.first_state());
        let kept: Vec<_> = first.tables().placement().kept_by(author.node).collect();
        let applied = first.certifier().digests().clone();
        let start = NodeStart { author, nonce: 5 + u64::from(node) };
        let (limits, applier) = (PackerLimits::default(), Applier::new(first));
        let bell = NodeBell::<Node>::new();
        let log = log.connect_waking(bell.waker());
        let mut on_log = NodeLoop::new(start, address(node), limits, applier, log);
        let mut stores = Vec::new();
        for (partition, _) in kept {
            let store = setup.open(partition);
            stores.push(Arc::clone(store.opened()));
            on_log.keep(partition, store).unwrap();
        }
        let options = AnswerWorkersOptions { threads: 2, ..AnswerWorkersOptions::default() };
        let workers = AnswerWorkers::start("node", options, Arc::clone(&clock), bell.waker()).unwrap();
        let transport = network.connect_waking(author.node, bell.waker());
        let peers = PeerLoop::new(author, setup.peers, &applied, transport, workers);
        let readers = peers.readers().clone();
        let directory = MemoryDirectory::new("node");
        let copies = OutgoingCopies::new(
            "node",
            CopyLimits::default(),
            Arc::new(directory.clone()),
            Arc::clone(&clock),
            bell.waker(),
        );
        let owned = OwnedNode::new(on_log, peers, Box::new(Listener(Arc::clone(wrongs))));
        let mut owned = owned.giving_copies(Box::new(copies));
        let queries = setup.stages.as_ref().map(|programs| {
            let environment = StageEnvironment {
                programs: Arc::clone(programs),
                budget: Arc::new(Unlimited),
                clock: Arc::clone(&clock),
                waker: bell.waker(),
                options: setup.travel,
            };
            owned.run_stages("node", environment).unwrap()
        });
        let (tables, own) = (owned.tables().clone(), owned.own_partitions().clone());
        let thread = bell.start("node", Arc::clone(&clock), owned).unwrap();
        Self { thread, readers, tables, own, queries, stores, directory, clock }
    }

    /// The graph as of everything that the node has applied, as its thread reads it.
    #[must_use]
    pub fn snapshot(&self, limits: RemoteLimits) -> (Arc<TablesMoment>, RemoteSnapshot) {
        self.snapshot_by(limits, |asker, _| asker)
    }

    /// The same, whose readers read the partitions of the node themselves.
    #[must_use]
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
    ///
    /// # Panics
    /// If the node has ended.
    pub fn merge(&self) {
        let merge = |node: &mut Node, _: Duration| {
            let stores = node.node().applier().stores();
            stores.for_each(|(_, store)| store.opened().store().engine().merge_everything());
        };
        self.thread.handle().call(merge).unwrap();
    }

    /// Makes a checkpoint. Which message it has.
    ///
    /// # Panics
    /// If it cannot.
    pub fn checkpoint(&self) -> LogPosition {
        let (told, made) = channel();
        let directory = self.directory.clone();
        let call = move |node: &mut Node, now: Duration| {
            told.send(node.checkpoint(now, &directory).unwrap()).unwrap();
        };
        self.thread.handle().call(call).unwrap();
        made.recv_timeout(PATIENCE).unwrap()
    }

    /// Questions that its thread has had answered.
    ///
    /// # Panics
    /// If the node has ended.
    #[must_use]
    pub fn answered(&self) -> u64 {
        let (told, answered) = channel();
        let call = move |node: &mut Node, now: Duration| {
            told.send(node.peers().status(now).answered.answered).unwrap();
        };
        self.thread.handle().call(call).unwrap();
        answered.recv_timeout(PATIENCE).unwrap()
    }

    /// Queries whose stages run on it.
    ///
    /// # Panics
    /// If none do.
    #[must_use]
    pub fn queries(&self) -> &TravellingQueries {
        self.queries.as_ref().expect("the setup has what runs them")
    }

    /// The newest message that it has applied.
    #[must_use]
    pub fn applied(&self) -> LogPosition {
        self.tables.newest().seen().position
    }
}

/// A cluster that runs.
pub struct Cluster {
    /// Of all nodes.
    pub clock: Arc<SystemClock>,
    /// The log of all nodes.
    pub log: Arc<MemoryLog>,
    /// Of all nodes.
    pub network: Arc<MemoryNetwork>,
    /// By their numbers.
    pub nodes: Vec<RunningNode>,
    wrongs: Wrongs,
    /// Dropped, it ends the thread for which time passes.
    _ends: Sender<()>,
    _ticks: JoinHandle<()>,
}

impl Cluster {
    /// Three nodes that have joined.
    #[must_use]
    pub fn start(seed: u64, log_faults: LogFaults) -> Self {
        Self::start_with(&ClusterSetup { seed, log_faults, ..ClusterSetup::default() })
    }

    /// Nodes that have joined.
    ///
    /// # Panics
    /// If one does not.
    #[must_use]
    pub fn start_with(setup: &ClusterSetup) -> Self {
        let clock = Arc::new(SystemClock::new());
        let log = Arc::new(MemoryLog::new(setup.seed, setup.log_faults));
        let network = Arc::new(MemoryNetwork::new(setup.seed, setup.network_faults, 1000));
        let wrongs = Wrongs::default();
        let start = |node| RunningNode::start(setup, node, &clock, (&log, &network), &wrongs);
        let nodes = (0..setup.nodes).map(start).collect();
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
        let cluster = Self { clock, log, network, nodes, wrongs, _ends: ends, _ticks: ticks };
        cluster.wait_until("a node does not join", || {
            cluster.nodes.iter().all(|node| node.readers.begin().is_ok())
        });
        cluster
    }

    /// Waits until something holds.
    ///
    /// # Panics
    /// If it does not, in time.
    pub fn wait_until(&self, otherwise: &str, holds: impl Fn() -> bool) {
        let ends_at = self.clock.now() + PATIENCE;
        while !holds() {
            self.check();
            assert!(self.clock.now() < ends_at, "{otherwise}");
            pause(TICK);
        }
    }

    /// Nothing has gone wrong on any node.
    ///
    /// # Panics
    /// If something has.
    pub fn check(&self) {
        let wrongs = self.wrongs.lock();
        assert!(wrongs.is_empty(), "{wrongs:?}");
    }
}

/// A coordinator on each node, which waits so long.
#[must_use]
pub fn coordinators(cluster: &Cluster, patience: Duration) -> Vec<Arc<Coordinator<Node>>> {
    coordinators_with(cluster, waiting(patience))
}

/// A coordinator on each node.
#[must_use]
pub fn coordinators_with(cluster: &Cluster, options: CoordinatorOptions) -> Vec<Arc<Coordinator<Node>>> {
    let nodes = cluster.nodes.iter().map(|node| {
        let (handle, clock) = (node.thread.handle(), Arc::clone(&cluster.clock));
        let (readers, tables) = (node.readers.clone(), node.tables.clone());
        let coordinator = Coordinator::new(handle, readers, tables, clock, options);
        let coordinator = coordinator.reading_own(node.own.clone());
        Arc::new(match &node.queries {
            Some(queries) => coordinator.travelling(queries.clone()),
            None => coordinator,
        })
    });
    nodes.collect()
}

/// The store of the graph on each node.
#[must_use]
pub fn stores(cluster: &Cluster, coordinators: &[Arc<Coordinator<Node>>]) -> Vec<ClusterStore> {
    let stores = (0..).zip(coordinators);
    stores.map(|(number, coordinator)| store_of(cluster, coordinator.clone(), number)).collect()
}

/// A store by `node`; its random waits come from `seed`.
#[must_use]
pub fn store_of(cluster: &Cluster, node: Arc<dyn GraphNode>, seed: u64) -> ClusterStore {
    let clock: Arc<dyn Clock> = cluster.clock.clone();
    let (budget, random) = (Arc::new(MemoryBudget::new(u64::MAX)), Box::new(SplitMix64::new(seed)));
    cluster_store(node, clock, budget, random, StoreOptions::default())
}

/// Lets time pass.
pub fn pause(time: Duration) {
    let (_silent, nothing) = channel::<()>();
    assert!(nothing.recv_timeout(time).is_err(), "nobody sends");
}
