//! Owned node: one node in a thread of its own, on a log and a network in memory.

use super::*;
use crate::certification::certifier::CertifierLimits;
use crate::digest::SeenLog;
use crate::key_hash::graph_salt::GraphSalt;
use crate::log::memory::{LogFaults, MemoryLog, MemoryLogClient, OpenStreams};
use crate::log::packer::PackerLimits;
use crate::node::answering::AskedQuestion;
use crate::node::apply::Applier;
use crate::node::incarnation::NodeStart;
use crate::node::node_asker::NodeAsker;
use crate::node::node_thread::{NodeBell, NodeThread};
use crate::node::own_partitions::PartitionReader;
use crate::node::partition_store::Installed;
use crate::node::peer_loop::PeerOptions;
use crate::node::readers::Readers;
use crate::node::replicated_state::ReplicatedState;
use crate::record::body::RecordBody;
use crate::record_id::Author;
use crate::remote::question::{QuestionId, RefusalReason};
use crate::remote::view_asking::PartitionAsker;
use crate::tables::cluster_tables::ClusterTables;
use crate::tables::members::Members;
use crate::transport::memory::{MemoryNetwork, MemoryTransport, NetworkFaults};
use evergraph_graph::error::Result as GraphResult;
use evergraph_graph::id::PartitionId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::clock::SystemClock;
use evergraph_storage::sync::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Waker;

/// A store of nothing, which tells how far it may merge.
struct ToyStore {
    installed: Installed,
    horizon: Arc<Mutex<LogPosition>>,
}

impl PartitionStore for ToyStore {
    fn installed(&self) -> Installed {
        self.installed
    }

    fn apply(&mut self, timestamp: Timestamp, _mutations: Vec<Mutation>, seen: &SeenLog) -> GraphResult<()> {
        self.installed = Installed { through: timestamp, seen: *seen };
        Ok(())
    }

    fn publish_through(&mut self, seen: &SeenLog) -> GraphResult<()> {
        self.installed = Installed::all(seen);
        Ok(())
    }

    fn checkpoint(&mut self) -> GraphResult<()> {
        Ok(())
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
    log: MemoryLog,
}

fn started() -> Started {
    let author = Author { node: NodeId(0), incarnation: 0 };
    let members = Members::new([(author.node, "a:1".into())]);
    let tables = ClusterTables::new(PartitionCount::new(2).unwrap(), members, 1);
    let state = ReplicatedState::new(GraphSalt([7; 16]), CertifierLimits::default(), tables);
    let applied = state.certifier().digests().clone();
    let (log, network) =
        (MemoryLog::new(1, LogFaults::default()), MemoryNetwork::new(1, NetworkFaults::default(), 9));
    let (start, applier) = (NodeStart { author, nonce: 5 }, Applier::new(state));
    let mut node = NodeLoop::new(start, "a:1".into(), PackerLimits::default(), applier, log.connect());
    let horizon = Arc::new(Mutex::new(LogPosition::START));
    for partition in [0, 1].map(PartitionId) {
        let (installed, horizon) = (Installed::all(&SeenLog::START), Arc::clone(&horizon));
        node.keep(partition, ToyStore { installed, horizon }).unwrap();
    }
    let (transport, work) = (network.connect(author.node), Echo::default());
    let peers = PeerLoop::new(author, PeerOptions::default(), &applied, transport, work);
    let readers = peers.readers().clone();
    let (told, heard) = channel();
    let bell = NodeBell::new();
    let waker = bell.waker();
    let node = OwnedNode::new(node, peers, Box::new(Listener { heard: told }));
    let thread = bell.start("node-0", Arc::new(SystemClock::new()), node).unwrap();
    Started { thread, waker, heard, readers, horizon, log }
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

    fn asker(&self) -> NodeAsker<ToyNode> {
        NodeAsker::new(self.thread.handle(), self.readers.begin().unwrap(), Duration::from_secs(60))
    }
}

#[test]
fn a_node_joins_answers_merges_and_stops_with_its_log() {
    let node = started();
    node.wait_for(|heard| *heard == Heard::Joined);
    // Readers may begin once the network's side has looked at that, too.
    node.wait_for(|heard| matches!(heard, Heard::Rose(_)));
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
    let asker = node.asker();
    node.log.lose_suffix(1, OpenStreams::BreakOff);
    node.wait_for(|heard| *heard == Heard::Stopped);
    assert!(asker.ask(vec![(PartitionId(0), vec![7])]).is_err());
}
