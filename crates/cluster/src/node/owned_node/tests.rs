//! Owned node: one node in a thread of its own, on a log and a network in memory.

use super::*;
use crate::certification::certifier::CertifierLimits;
use crate::digest::SeenLog;
use crate::key_hash::graph_salt::GraphSalt;
use crate::log::memory::{LogFaults, MemoryLog, MemoryLogClient, OpenStreams};
use crate::log::packer::PackerLimits;
use crate::node::answering::AskedQuestion;
use crate::node::apply::Applier;
use crate::node::checkpoint;
use crate::node::checkpoint_writer::{CheckpointOptions, CheckpointWriter};
use crate::node::incarnation::NodeStart;
use crate::node::kept_partition::PartitionCondition;
use crate::node::node_asker::NodeAsker;
use crate::node::node_status::MemberStatus;
use crate::node::node_thread::{NodeBell, NodeThread};
use crate::node::opened_partitions::OpenedPartitions;
use crate::node::own_partitions::{OwnPartitions, PartitionReader};
use crate::node::partition_store::{Installed, PartitionSync};
use crate::node::peer_loop::PeerOptions;
use crate::node::readers::Readers;
use crate::node::replicated_state::ReplicatedState;
use crate::record::body::RecordBody;
use crate::record_id::Author;
use crate::remote::question::{QuestionId, RefusalReason};
use crate::remote::view_asking::PartitionAsker;
use crate::tables::cluster_tables::ClusterTables;
use crate::tables::members::Members;
use crate::tables::placement::CopyState;
use crate::transport::memory::{MemoryNetwork, MemoryTransport, NetworkFaults};
use evergraph_graph::error::{ErrorKind, Result as GraphResult};
use evergraph_graph::id::PartitionId;
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::clock::SystemClock;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::sync::thread::spawn;
use evergraph_storage::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Waker;

/// A store of nothing, which tells how far it may merge, and becomes durable when its gate is open.
struct ToyStore {
    installed: Installed,
    horizon: Arc<Mutex<LogPosition>>,
    gate: Gate,
}

/// Holds up whoever makes a store durable, while it is closed.
#[derive(Clone, Default)]
struct Gate {
    shared: Arc<(Mutex<GateState>, Condvar)>,
}

#[derive(Default)]
struct GateState {
    is_closed: bool,
    waiting: usize,
}

impl Gate {
    fn set_closed(&self, is_closed: bool) {
        self.shared.0.lock().is_closed = is_closed;
        self.shared.1.notify_all();
    }

    /// How many it holds up.
    fn waiting(&self) -> usize {
        self.shared.0.lock().waiting
    }
}

impl PartitionSync for Gate {
    fn sync(self) -> GraphResult<()> {
        let mut state = self.shared.0.lock();
        state.waiting += 1;
        while state.is_closed {
            state = self.shared.1.wait(state);
        }
        state.waiting -= 1;
        Ok(())
    }
}

impl PartitionStore for ToyStore {
    type PendingSync = Gate;

    fn installed(&self) -> Installed {
        self.installed
    }

    fn has_filled(&self, _: IndexId) -> bool {
        true
    }

    fn apply(&mut self, timestamp: Timestamp, _mutations: Vec<Mutation>, seen: &SeenLog) -> GraphResult<()> {
        self.installed = Installed { through: timestamp, seen: *seen };
        Ok(())
    }

    fn publish_through(&mut self, seen: &SeenLog) -> GraphResult<()> {
        self.installed = Installed::all(seen);
        Ok(())
    }

    fn begin_sync(&self) -> Gate {
        self.gate.clone()
    }
}

impl ReadableStore for ToyStore {
    fn reader(&self) -> Option<Arc<dyn PartitionReader>> {
        None
    }
}

impl MergingStore for ToyStore {
    fn set_horizon(&self, oldest: LogPosition) {
        *self.horizon.lock() = oldest;
    }
}

/// Answers at once with what was asked.
#[derive(Default)]
struct Echo {
    answered: VecDeque<(QuestionId, std::result::Result<Vec<u8>, RefusalReason>)>,
}

impl AnswerQuestions<ToyStore> for Echo {
    fn begin(&mut self, _store: &ToyStore, question: AskedQuestion) {
        self.answered.push_back((question.id, Ok(question.asked)));
    }

    fn forget(&mut self, _id: QuestionId) {}

    fn next_answer(&mut self) -> Option<(QuestionId, std::result::Result<Vec<u8>, RefusalReason>)> {
        self.answered.pop_front()
    }
}

/// What a listener heard.
#[derive(PartialEq, Eq, Debug)]
enum Heard {
    Joined,
    Rose(LogPosition),
    Checkpoint(Result<LogPosition, String>),
    Stopped,
}

struct Listener {
    heard: Sender<Heard>,
}

impl Listener {
    fn tell(&self, heard: Heard) {
        // Whoever listened may have gone.
        let _ = self.heard.send(heard);
    }
}

impl NodeListener for Listener {
    fn node_event(&mut self, event: NodeEvent) {
        if matches!(event, NodeEvent::Joined) {
            self.tell(Heard::Joined);
        }
    }

    fn horizon_rose(&mut self, horizon: LogPosition) {
        self.tell(Heard::Rose(horizon));
    }

    fn other_log(&mut self, _node: NodeId, _position: LogPosition) {}

    fn left_behind(&mut self, _node: NodeId) {}

    fn checkpoint_ended(&mut self, result: Result<LogPosition, &SaveError>) {
        self.tell(Heard::Checkpoint(result.map_err(ToString::to_string)));
    }

    fn stopped(&mut self, _error: NodeError) {
        self.tell(Heard::Stopped);
    }
}

type ToyNode = OwnedNode<ToyStore, MemoryLogClient, MemoryTransport, Echo>;

struct Started {
    thread: NodeThread<ToyNode>,
    waker: Waker,
    heard: Receiver<Heard>,
    readers: Readers,
    horizon: Arc<Mutex<LogPosition>>,
    gate: Gate,
    log: MemoryLog,
}

const SALT: GraphSalt = GraphSalt([7; 16]);

fn started() -> Started {
    let author = Author { node: NodeId(0), incarnation: 0 };
    let members = Members::new([(author.node, "a:1".into())]);
    let tables = ClusterTables::new(PartitionCount::new(2).unwrap(), members, 1);
    let state = ReplicatedState::new(SALT, CertifierLimits::default(), tables);
    let applied = state.certifier().digests().clone();
    let (log, network) =
        (MemoryLog::new(1, LogFaults::default()), MemoryNetwork::new(1, NetworkFaults::default(), 9));
    let (start, applier) = (NodeStart { author, nonce: 5 }, Applier::new(state));
    let mut node = NodeLoop::new(start, "a:1".into(), PackerLimits::default(), applier, log.connect());
    let (horizon, gate) = (Arc::new(Mutex::new(LogPosition::START)), Gate::default());
    for partition in [0, 1].map(PartitionId) {
        let (installed, horizon) = (Installed::all(&SeenLog::START), Arc::clone(&horizon));
        node.keep(partition, ToyStore { installed, horizon, gate: gate.clone() }).unwrap();
    }
    let (transport, work) = (network.connect(author.node), Echo::default());
    let peers = PeerLoop::new(author, PeerOptions::default(), &applied, transport, work);
    let readers = peers.readers().clone();
    let (told, heard) = channel();
    let bell = NodeBell::new();
    let waker = bell.waker();
    let node = OwnedNode::new(node, peers, Box::new(Listener { heard: told }));
    let thread = bell.start("node-0", Arc::new(SystemClock::new()), node).unwrap();
    Started { thread, waker, heard, readers, horizon, gate, log }
}

impl Started {
    /// Waits until the listener hears something that fits. The log in memory wakes nobody.
    fn wait_for(&self, fits: impl Fn(&Heard) -> bool) {
        for _ in 0..6000 {
            self.waker.wake_by_ref();
            if self.heard.recv_timeout(Duration::from_millis(10)).is_ok_and(|heard| fits(&heard)) {
                return;
            }
        }
        panic!("a minute has passed");
    }

    /// Waits until it has joined, and readers may begin.
    fn wait_until_joined(&self) {
        self.wait_for(|heard| *heard == Heard::Joined);
        // Readers may begin once the network's side has looked at that, too.
        self.wait_for(|heard| matches!(heard, Heard::Rose(_)));
    }

    /// How it is, in its thread.
    fn status(&self) -> NodeStatus {
        let (told, status) = channel();
        let call = move |node: &mut ToyNode, now: Duration| told.send(node.status(now)).unwrap();
        self.thread.handle().call(call).unwrap();
        status.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    fn own_partitions(&self) -> OwnPartitions {
        let (told, own) = channel();
        let call = move |node: &mut ToyNode, _: Duration| told.send(node.own_partitions().clone()).unwrap();
        self.thread.handle().call(call).unwrap();
        own.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    /// Writes another message, and waits until the node has applied it.
    fn write(&self) {
        let before = self.status().log.applied.position;
        let push = |node: &mut ToyNode, now: Duration| {
            node.node().push(RecordBody::Barrier, now).unwrap();
        };
        self.thread.handle().call(push).unwrap();
        self.wait_for(|heard| matches!(heard, Heard::Rose(horizon) if *horizon > before));
    }

    fn checkpoints(&self, directory: Arc<dyn Directory>, options: CheckpointOptions) -> CheckpointWriter {
        let (handle, clock) = (self.thread.handle(), Arc::new(SystemClock::new()));
        CheckpointWriter::start("checkpoint", handle, directory, options, clock).unwrap()
    }

    fn asker(&self) -> NodeAsker<ToyNode> {
        NodeAsker::new(self.thread.handle(), self.readers.begin().unwrap(), Duration::from_secs(60))
    }
}

#[test]
fn a_node_joins_answers_merges_and_stops_with_its_log() {
    let node = started();
    node.wait_until_joined();
    let asker = node.asker();
    let messages = vec![(PartitionId(1), vec![4]), (PartitionId(0), vec![5, 6])];
    assert_eq!(asker.ask(messages).unwrap(), [vec![4], vec![5, 6]]);
    let at = asker.at().position;
    assert_eq!(*node.horizon.lock(), at);
    let write = |node: &mut ToyNode, now: Duration| {
        node.node().push(RecordBody::Barrier, now).unwrap();
    };
    node.thread.handle().call(write).unwrap();
    drop(asker);
    node.wait_for(|heard| matches!(heard, Heard::Rose(horizon) if *horizon > at));
    assert!(*node.horizon.lock() > at);
    let opened = Arc::new(OpenedPartitions::new(PartitionCount::new(2).unwrap()));
    let registered = node.own_partitions().register(at, &opened);
    assert_eq!(registered, None, "a snapshot before the horizon opens partitions");
    let asker = node.asker();
    node.log.lose_suffix(1, OpenStreams::BreakOff);
    node.wait_for(|heard| *heard == Heard::Stopped);
    assert!(asker.ask(vec![(PartitionId(0), vec![7])]).is_err());
}

/// Made when a test asks.
const RARELY: CheckpointOptions =
    CheckpointOptions { interval: Duration::from_secs(3600), retry_wait: Duration::from_secs(3600) };

#[test]
fn a_node_applies_and_answers_while_a_checkpoint_is_being_written() {
    let (node, directory) = (started(), MemoryDirectory::new("node"));
    node.wait_until_joined();
    let writer = node.checkpoints(Arc::new(directory.clone()), RARELY);
    node.gate.set_closed(true);
    let begun_at = node.status().log.applied;
    let (told, made) = channel();
    let asks = spawn("asks", move || told.send(writer.checkpoint()).unwrap()).unwrap();
    while node.gate.waiting() == 0 {
        node.waker.wake_by_ref();
    }
    for _ in 0..3 {
        node.write();
    }
    let asker = node.asker();
    assert_eq!(asker.ask(vec![(PartitionId(1), vec![4])]).unwrap(), [vec![4]]);
    let status = node.status();
    assert_eq!((status.log.applied.position.0, asker.at().position.0), (4, 4));
    assert!(status.checkpoint.is_being_written && status.checkpoint.newest.is_none());
    assert!(checkpoint::read(&directory, SALT).unwrap().is_none());
    node.gate.set_closed(false);
    assert_eq!(made.recv().unwrap().unwrap(), begun_at.position);
    asks.join().unwrap();
    let saved = checkpoint::read(&directory.power_cut(), SALT).unwrap().unwrap();
    assert_eq!(saved.seen(), begun_at, "the state of when it began");
    let status = node.status().checkpoint;
    assert_eq!((status.newest, status.made, status.is_being_written), (Some(begun_at.position), 1, false));
}

#[test]
fn a_checkpoint_that_fails_is_told_trims_nothing_and_is_made_later() {
    let (node, memory) = (started(), MemoryDirectory::new("node"));
    node.wait_until_joined();
    for _ in 0..20 {
        node.write();
    }
    let failing = FailingDirectory::new(Arc::new(memory.clone()));
    failing.plan(Fault::any_change(io::ErrorKind::StorageFull).nth(3));
    let writer = node.checkpoints(Arc::new(failing), RARELY);
    let needed_from = node.status().log.needed_from;
    let failed = writer.checkpoint().unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Limit, "{failed}");
    node.wait_for(|heard| matches!(heard, Heard::Checkpoint(Err(_))));
    let status = node.status();
    assert_eq!((status.log.needed_from, status.checkpoint.failed), (needed_from, 1));
    assert!(status.checkpoint.failure.is_some() && checkpoint::read(&memory, SALT).unwrap().is_none());
    assert_eq!(node.log.messages()[0].position, LogPosition(1));
    node.write();
    let position = writer.checkpoint().unwrap();
    node.wait_for(|heard| *heard == Heard::Checkpoint(Ok(position)));
    let status = node.status();
    assert_eq!((position, status.log.applied.position), (LogPosition(22), LogPosition(22)));
    assert_eq!((status.checkpoint.newest, status.checkpoint.failure), (Some(position), None));
    // The newest 16 are read again.
    assert_eq!((status.log.needed_from, node.log.messages()[0].position), (LogPosition(7), LogPosition(7)));
}

#[test]
fn checkpoints_are_made_while_something_is_applied_and_end_with_the_node() {
    let (node, directory) = (started(), MemoryDirectory::new("node"));
    node.wait_until_joined();
    let often = Duration::from_millis(1);
    let options = CheckpointOptions { interval: often, retry_wait: often };
    let writer = node.checkpoints(Arc::new(directory), options);
    node.wait_for(|heard| matches!(heard, Heard::Checkpoint(Ok(_))));
    let made = node.status().checkpoint;
    assert!(node.heard.recv_timeout(Duration::from_millis(50)).is_err(), "nothing has changed");
    node.write();
    node.wait_for(|heard| matches!(heard, Heard::Checkpoint(Ok(position)) if Some(*position) > made.newest));
    drop(node);
    assert!(writer.checkpoint().is_err());
}

#[test]
fn the_status_of_a_node_counts_what_it_applied_and_names_what_it_keeps() {
    let node = started();
    node.wait_until_joined();
    node.write();
    let status = node.status();
    assert!(status.is_member);
    assert_eq!((status.log.applied.position.0, status.log.lag()), (2, 0));
    assert_eq!((status.log.read, status.log.appended), (status.log.read, status.log.read));
    assert_eq!((status.log.read.messages, status.log.unanswered), (2, 0));
    assert!(status.log.read.bytes > 50, "{:?}", status.log.read);
    // It joined, and wrote a barrier.
    assert_eq!((status.records.tables_changed, status.own_records), (2, status.records));
    let member = MemberStatus { node: NodeId(0), address: "a:1".into(), incarnation: Some(0) };
    assert_eq!(status.members, [member]);
    assert_eq!(status.partitions.len(), 2);
    for (number, partition) in status.partitions.iter().enumerate() {
        assert_eq!(usize::from(partition.partition.0), number);
        assert_eq!(partition.copy, Some(CopyState::Serves));
        assert!(matches!(partition.condition, Some(PartitionCondition::Complete)), "{partition:?}");
    }
    let gives_up = |node: &mut ToyNode, _: Duration| drop(node.node().give_up(PartitionId(1)));
    node.thread.handle().call(gives_up).unwrap();
    assert!(node.status().partitions[1].condition.is_none());
}
