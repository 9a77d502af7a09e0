//! Copies that a node gives, of a store of the memory engine: the node is stepped by the test, its threads are real.

use super::*;
use crate::certification::certifier::CertifierLimits;
use crate::copy::fetch::WakeSignal;
use crate::copy::received_files::ReceivedFiles;
use crate::digest::SeenLog;
use crate::key_hash::graph_salt::GraphSalt;
use crate::log::memory::{LogFaults, MemoryLog, MemoryLogClient};
use crate::log::packer::PackerLimits;
use crate::node::answer_workers::{AnswerWorkers, AnswerWorkersOptions};
use crate::node::apply::Applier;
use crate::node::checkpoint_steps::SaveError;
use crate::node::incarnation::NodeStart;
use crate::node::node_error::NodeError;
use crate::node::node_loop::{NodeEvent, NodeLoop};
use crate::node::node_thread::ThreadedNode as _;
use crate::node::owned_node::{NodeListener, OwnedNode};
use crate::node::partition_store::PartitionStore as _;
use crate::node::peer_loop::{PeerLoop, PeerOptions};
use crate::node::replicated_state::ReplicatedState;
use crate::planted::{Bug, assert_found};
use crate::record::body::RecordBody;
use crate::record_id::Author;
use crate::tables::cluster_tables::ClusterTables;
use crate::tables::members::Members;
use crate::transport::frame::{Frame, Heartbeat};
use crate::transport::interface::Transport as _;
use crate::transport::memory::{MemoryNetwork, MemoryTransport, NetworkFaults};
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::{OwnGroups, PartitionCount};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::clock::SystemClock;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};

type Store = StorePartition<MemoryEngine>;
type Node = OwnedNode<Store, MemoryLogClient, MemoryTransport, AnswerWorkers>;

const PARTITION: PartitionId = PartitionId(0);
const SALT: GraphSalt = GraphSalt([7; 16]);

struct Deaf;

impl NodeListener for Deaf {
    fn node_event(&mut self, _event: NodeEvent) {}
    fn horizon_rose(&mut self, _horizon: LogPosition) {}
    fn other_log(&mut self, _node: NodeId, _position: LogPosition) {}
    fn left_behind(&mut self, _node: NodeId) {}
    fn checkpoint_ended(&mut self, _result: std::result::Result<LogPosition, &SaveError>) {}
    fn stopped(&mut self, error: NodeError) {
        panic!("{error}");
    }
}

fn open(directory: &MemoryDirectory) -> Store {
    let options = OpenOptions {
        durability: Durability::None,
        environment: Environment::simulated(7),
        own_groups: OwnGroups::new(PARTITION, PartitionCount::new(1).unwrap()),
        ..OpenOptions::default()
    };
    StorePartition::new(OpenStore::open(Arc::new(directory.clone()), &options).unwrap()).unwrap()
}

/// Node 0, and the ends of nodes 1 and 2 of its network.
struct World {
    node: Node,
    askers: [MemoryTransport; 2],
    directory: MemoryDirectory,
    clock: Arc<SystemClock>,
    signal: Arc<WakeSignal>,
    log: MemoryLog,
    network: MemoryNetwork,
}

impl World {
    fn new(limits: CopyLimits) -> Self {
        let clock = Arc::new(SystemClock::new());
        let shared: Arc<dyn Clock> = Arc::<SystemClock>::clone(&clock);
        let signal = Arc::new(WakeSignal::default());
        let author = Author { node: NodeId(0), incarnation: 0 };
        let members = Members::new((0..3).map(|node| (NodeId(node), format!("n:{node}").into())));
        let tables = ClusterTables::new(PartitionCount::new(1).unwrap(), members, 1);
        let state = ReplicatedState::new(SALT, CertifierLimits::default(), tables);
        let applied = state.certifier().digests().clone();
        let log = MemoryLog::new(1, LogFaults::default());
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 999);
        let start = NodeStart { author, nonce: 5 };
        let mut on_log =
            NodeLoop::new(start, "n:0".into(), PackerLimits::default(), Applier::new(state), log.connect());
        on_log.keep(PARTITION, open(&MemoryDirectory::new("partition"))).unwrap();
        let options = AnswerWorkersOptions { threads: 1, ..AnswerWorkersOptions::default() };
        let workers = AnswerWorkers::start("node", options, Arc::clone(&shared), signal.waker()).unwrap();
        let transport = network.connect_waking(author.node, signal.waker());
        let peers = PeerLoop::new(author, PeerOptions::default(), &applied, transport, workers);
        let directory = MemoryDirectory::new("node");
        let copies = OutgoingCopies::new("node", limits, Arc::new(directory.clone()), shared, signal.waker());
        let node = OwnedNode::new(on_log, peers, Box::new(Deaf)).giving_copies(Box::new(copies));
        let askers = [1, 2].map(|node| network.connect(NodeId(node)));
        let mut world = Self { node, askers, directory, clock, signal, log, network };
        // It joins.
        world.apply(LogPosition(1));
        world
    }

    /// Steps until everything through a message is applied: the packer waits a moment for more.
    fn apply(&mut self, position: LogPosition) {
        let ends_at = self.clock.now() + Duration::from_secs(20);
        while self.applied().position < position {
            assert!(self.clock.now() < ends_at, "message {position} does not come");
            self.step();
            self.signal.wait(self.clock.now() + Duration::from_millis(1), &*self.clock);
        }
        assert_eq!(self.applied().position, position);
    }

    fn applied(&mut self) -> SeenLog {
        self.node.node().applier().state().seen()
    }

    fn step(&mut self) {
        let now = self.clock.now();
        self.log.advance_to(now);
        self.network.advance_to(now);
        self.node.step(now);
    }

    fn write(&mut self) {
        let now = self.clock.now();
        let next = self.applied().position.next();
        self.node.node().push(RecordBody::Barrier, now).unwrap();
        self.apply(next);
    }

    fn send(&mut self, asker: usize, message: CopyMessage) {
        self.askers[asker - 1].send(NodeId(0), &Frame::Copy(message)).unwrap();
        self.step();
    }

    /// What an asker is told next; heartbeats are not counted, nor what the node said before it had joined.
    fn next(&mut self, asker: usize) -> CopyMessage {
        let ends_at = self.clock.now() + Duration::from_secs(20);
        while self.clock.now() < ends_at {
            self.step();
            while let Some(received) = self.askers[asker - 1].receive() {
                if let Frame::Copy(message) = received.frame
                    && !matches!(message, CopyMessage::NeedsLog(_))
                {
                    return message;
                }
            }
            self.signal.wait(self.clock.now() + Duration::from_millis(20), &*self.clock);
        }
        panic!("nothing comes");
    }

    fn begin(&mut self, asker: usize, copy: u64, subject: CopySubject) -> CopyMessage {
        self.send(asker, CopyMessage::Begin { copy: CopyId(copy), subject });
        self.next(asker)
    }

    fn more(&mut self, asker: usize, copy: u64, have: u64, is_again: bool) {
        let up_to = have + PIECES_AHEAD_MAX;
        self.send(asker, CopyMessage::More { copy: CopyId(copy), have, up_to, is_again });
    }

    /// Gets the pieces of a copy that was begun.
    fn get(&mut self, asker: usize, copy: u64, target: &MemoryDirectory) {
        let mut files = ReceivedFiles::begin(Arc::new(target.clone())).unwrap();
        self.more(asker, copy, 0, false);
        for number in 0.. {
            let CopyMessage::Piece(piece) = self.next(asker) else { panic!("a piece") };
            assert_eq!((piece.number, piece.copy), (number, CopyId(copy)));
            files.write(&piece.changes).unwrap();
            if piece.is_last {
                return self.send(asker, CopyMessage::End { copy: CopyId(copy) });
            }
            self.more(asker, copy, number + 1, false);
        }
    }
}

fn partition(at_least: u64) -> CopySubject {
    CopySubject::Partition { partition: PARTITION, at_least: LogPosition(at_least) }
}

fn begun(copy: u64) -> CopyMessage {
    CopyMessage::Begun { copy: CopyId(copy), needed_from: LogPosition(1) }
}

fn refused(copy: u64, reason: CopyRefusal) -> CopyMessage {
    CopyMessage::Refused { copy: CopyId(copy), reason }
}

#[test]
fn a_partition_comes_with_everything_that_its_node_has_applied() {
    let mut world = World::new(CopyLimits::default());
    (0..3).for_each(|_| world.write());
    assert_eq!(world.begin(1, 10, partition(4)), begun(10));
    // Asked twice, it is begun once.
    assert_eq!(world.begin(1, 10, partition(4)), begun(10));
    let target = MemoryDirectory::new("copy");
    world.get(1, 10, &target);
    let copied = open(&target.power_cut());
    assert_eq!(copied.installed().seen, world.applied());
    // Nobody knows it any more.
    world.more(1, 10, 0, true);
    assert_eq!(world.next(1), refused(10, CopyRefusal::Unknown));
}

#[test]
fn a_partition_is_not_given_before_its_node_has_what_the_asker_has() {
    let mut world = World::new(CopyLimits::default());
    assert_eq!(world.begin(1, 10, partition(2)), refused(10, CopyRefusal::Behind), "it lacks a message");
    world.write();
    assert_eq!(world.begin(1, 11, partition(2)), begun(11));
    let other = CopySubject::Partition { partition: PartitionId(7), at_least: LogPosition(1) };
    assert_eq!(world.begin(1, 12, other), refused(12, CopyRefusal::NotServed));
}

#[test]
fn the_state_is_that_of_the_newest_checkpoint() {
    let mut world = World::new(CopyLimits::default());
    assert_eq!(world.begin(1, 10, CopySubject::State), begun(10));
    let CopyMessage::Refused { reason: CopyRefusal::Failed { reason }, .. } = world.next(1) else {
        panic!("there is no checkpoint")
    };
    assert!(reason.contains("has made no checkpoint yet"), "{reason}");
    let (now, directory) = (world.clock.now(), world.directory.clone());
    let position = world.node.checkpoint(now, &directory).unwrap();
    world.write();
    assert_eq!(world.begin(1, 11, CopySubject::State), begun(11));
    let target = MemoryDirectory::new("copy");
    world.get(1, 11, &target);
    let state = checkpoint::read(&target.power_cut(), SALT).unwrap().unwrap();
    assert_eq!(state.seen().position, position);
}

#[test]
fn a_node_that_runs_elsewhere_gets_no_state() {
    let mut world = World::new(CopyLimits::default());
    let (now, directory) = (world.clock.now(), world.directory.clone());
    world.node.checkpoint(now, &directory).unwrap();
    let (applied, oldest) = (world.applied(), LogPosition(1));
    let heartbeat = Frame::Heartbeat(Heartbeat { applied, oldest, needed_from: LogPosition(1) });
    world.askers[0].send(NodeId(0), &heartbeat).unwrap();
    world.step();
    assert_eq!(world.begin(1, 10, CopySubject::State), refused(10, CopyRefusal::AskerAlive));
    assert_eq!(world.begin(2, 10, CopySubject::State), begun(10), "this one was not heard of");
    assert_eq!(world.begin(1, 11, partition(1)), begun(11), "of partitions it may lack some");
}

#[test]
fn copies_are_limited_and_a_new_one_takes_the_place_of_the_one_before() {
    let mut world = World::new(CopyLimits { copies_max: 1, ..CopyLimits::default() });
    assert_eq!(world.begin(1, 10, partition(1)), begun(10));
    assert_eq!(world.begin(2, 20, partition(1)), refused(20, CopyRefusal::Busy));
    assert_eq!(world.begin(1, 11, partition(1)), begun(11));
    world.more(1, 10, 0, false);
    assert_eq!(world.next(1), refused(10, CopyRefusal::Unknown));
    world.send(1, CopyMessage::End { copy: CopyId(10) });
    assert_eq!(world.begin(2, 21, partition(1)), refused(21, CopyRefusal::Busy), "the new one goes on");
    world.send(1, CopyMessage::End { copy: CopyId(11) });
    assert_eq!(world.begin(2, 22, partition(1)), begun(22));
}

#[test]
fn pieces_come_again_and_a_copy_whose_asker_is_silent_ends() {
    let silence_max = Duration::from_millis(300);
    let mut world = World::new(CopyLimits { silence_max, ..CopyLimits::default() });
    assert_eq!(world.begin(1, 10, partition(1)), begun(10));
    world.more(1, 10, 0, false);
    let first = world.next(1);
    assert!(matches!(first, CopyMessage::Piece(_)), "{first:?}");
    world.more(1, 10, 0, true);
    assert_eq!(world.next(1), first, "the network has lost it");
    // It has been read, and waits for the asker alone.
    let until = world.clock.now() + silence_max * 2;
    while world.clock.now() < until {
        world.step();
        world.signal.wait(world.clock.now() + Duration::from_millis(20), &*world.clock);
    }
    world.more(1, 10, 1, true);
    assert_eq!(world.next(1), refused(10, CopyRefusal::Unknown));
}

#[test]
fn planted_bugs_are_found() {
    let test = a_partition_is_not_given_before_its_node_has_what_the_asker_has;
    assert_found(Bug::CopyBehind, test, "it lacks a message");
}
