//! Peer loop: two nodes on a network in memory, step by step.

use super::*;
use crate::digest::LogDigest;
use crate::key_hash::graph_salt::GraphSalt;
use crate::node::answering::AskedQuestion;
use crate::node::horizon::HorizonHolder;
use crate::planted::assert_found;
use crate::record::body::RecordBody;
use crate::record_id::RecordId;
use crate::remote::question::{Question, QuestionId};
use crate::seeded::{OneIn, SeededChance};
use crate::tables::cluster_tables::ClusterTables;
use crate::tables::members::Members;
use crate::transport::frame::BATCH_BYTES_MAX;
use crate::transport::memory::{MemoryNetwork, MemoryTransport, NetworkFaults};
use crate::travel::stage_view::{OpenStageViews, StageView};
use crate::travel::travel_options::TravelOptions;
use evergraph_graph::budget::Unlimited;
use evergraph_graph::error::Error;
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::stage_programs::{StageLimits, StagePrograms, StageRunner};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::clock::ManualClock;
use std::sync::Arc;
use std::task::Waker;

mod silences;

const PARTITION: PartitionId = PartitionId(0);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

const PARTITIONS: u16 = 4;

/// What each message counts.
const MESSAGE_BYTES: usize = 1 << 20;

/// Both nodes have joined, and keep all partitions.
fn tables() -> ClusterTables {
    tables_of(2)
}

fn tables_of(nodes: u16) -> ClusterTables {
    let members = Members::new((0..nodes).map(|node| (NodeId(node), Box::<str>::from("a:1"))));
    let mut tables =
        ClusterTables::new(PartitionCount::new(PARTITIONS).unwrap(), members, usize::from(nodes));
    for node in 0..nodes {
        let id = RecordId { author: author(node), number: 1 };
        tables.apply(id, Timestamp(u64::from(node) + 1), RecordBody::Join { address: "a:1".into() });
    }
    tables
}

fn author(node: u16) -> Author {
    Author { node: NodeId(node), incarnation: 3 }
}

/// What a node has applied; its store is its number.
struct ToyNode {
    applied: DigestWindow,
    tables: ClusterTables,
    store: Option<u16>,
    /// It does not keep this one.
    lacks: Option<PartitionId>,
    needed_from: LogPosition,
    /// Another process is this node, too, and it is that one which has joined.
    is_other_process: bool,
}

impl ServedPartitions for ToyNode {
    type Store = u16;

    fn applied(&self) -> &DigestWindow {
        &self.applied
    }

    fn tables(&self) -> &ClusterTables {
        &self.tables
    }

    fn proved(&mut self, partition: PartitionId) -> Option<&u16> {
        self.store.as_ref().filter(|_| self.lacks != Some(partition))
    }

    fn needed_from(&self) -> LogPosition {
        self.needed_from
    }

    fn has_joined(&self, author: Author) -> bool {
        !self.is_other_process && self.tables.members().is_current(author)
    }
}

/// Answers at once with the store's number and what was asked.
#[derive(Debug, Default)]
struct Echo {
    answered: VecDeque<(QuestionId, Result<Vec<u8>, RefusalReason>)>,
}

impl AnswerQuestions<u16> for Echo {
    fn begin(&mut self, store: &u16, question: AskedQuestion) {
        let answered = [&store.to_le_bytes()[..], &question.asked[..]].concat();
        self.answered.push_back((question.id, Ok(answered)));
    }

    fn forget(&mut self, _id: QuestionId) {}

    fn next_answer(&mut self) -> Option<(QuestionId, Result<Vec<u8>, RefusalReason>)> {
        self.answered.pop_front()
    }
}

/// Counts what is sent, but for heartbeats.
#[derive(Debug)]
struct CountingTransport {
    transport: MemoryTransport,
    sent: Vec<usize>,
}

impl Transport for CountingTransport {
    fn send(&mut self, to: NodeId, frame: &Frame) -> Result<(), SendError> {
        let sent = self.transport.send(to, frame);
        if sent.is_ok() && !matches!(frame, Frame::Heartbeat(_)) {
            self.sent.push(frame.count());
        }
        sent
    }

    fn receive(&mut self) -> Option<ReceivedFrame> {
        self.transport.receive()
    }
}

struct Peer {
    node: ToyNode,
    peers: PeerLoop<CountingTransport, Echo>,
    events: Vec<PeerEvent>,
}

impl Peer {
    fn new(node: u16, network: &MemoryNetwork) -> Self {
        let applied = DigestWindow::new(SeenLog::START);
        let options = PeerOptions::default();
        let transport = CountingTransport { transport: network.connect(NodeId(node)), sent: Vec::new() };
        let peers = PeerLoop::new(author(node), options, &applied, transport, Echo::default());
        let node = ToyNode {
            applied,
            tables: tables(),
            store: Some(node),
            lacks: None,
            needed_from: LogPosition::START,
            is_other_process: false,
        };
        Self { node, peers, events: Vec::new() }
    }

    fn apply(&mut self, message: u64) {
        self.node.applied.push(GraphSalt([7; 16]), LogPosition(message), &message.to_le_bytes());
        self.peers.applied(self.node.applied.last(), MESSAGE_BYTES);
    }

    fn step(&mut self, now: u64) -> Vec<PeerEvent> {
        self.peers.step(ms(now), &mut self.node, &mut self.events);
        std::mem::take(&mut self.events)
    }

    fn ask(&mut self, now: u64) -> AskId {
        self.ask_content(now, vec![9])
    }

    fn ask_content(&mut self, now: u64, asked: Vec<u8>) -> AskId {
        let at = self.node.applied.last();
        let ask = Ask { partition: PARTITION, at, patience: ms(1000), asked };
        self.peers.ask(ms(now), ask).unwrap()
    }

    fn ask_about(&mut self, now: u64, partition: PartitionId, asked: Vec<u8>) -> AskId {
        let at = self.node.applied.last();
        self.peers.ask(ms(now), Ask { partition, at, patience: ms(60_000), asked }).unwrap()
    }

    /// How many questions, answers and the like were in each frame that it has sent since this was asked last.
    fn sent(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.peers.transport.get_mut().sent)
    }
}

fn two(frames_max: usize) -> (MemoryNetwork, Peer, Peer) {
    let network = MemoryNetwork::new(1, NetworkFaults::default(), frames_max);
    let (a, b) = (Peer::new(0, &network), Peer::new(1, &network));
    (network, a, b)
}

#[test]
fn nodes_tell_each_other_how_far_they_are_and_their_horizons_follow() {
    let (_network, mut a, mut b) = two(99);
    (1..=20).for_each(|message| a.apply(message));
    (1..=10).for_each(|message| b.apply(message));
    assert_eq!(a.step(0), []);
    assert_eq!(b.step(0), [PeerEvent::HorizonRose(LogPosition(10))]);
    assert_eq!(a.step(1), [PeerEvent::HorizonRose(LogPosition(10))]);
    assert_eq!(a.peers.status(ms(1)).horizon.holder, HorizonHolder::Peer(NodeId(1)));
    assert_eq!(a.peers.next_step_at(), Some(ms(250)));
    let reader = b.peers.readers().begin().unwrap();
    (11..=20).for_each(|message| b.apply(message));
    assert_eq!((b.step(250), a.step(250)), (vec![], vec![]));
    drop(reader);
    assert_eq!(b.step(500), [PeerEvent::HorizonRose(LogPosition(20))]);
    assert_eq!(a.step(500), [PeerEvent::HorizonRose(LogPosition(20))]);
    // One that falls silent.
    a.apply(21);
    assert_eq!(a.step(10_499), []);
    assert_eq!(a.step(10_500), [PeerEvent::HorizonRose(LogPosition(21))]);
}

#[test]
fn a_node_that_has_not_joined_does_not_say_how_far_it_is_and_reads_nothing() {
    let (_network, mut a, mut b) = two(99);
    a.node.tables = {
        let members = Members::new((0..2).map(|node| (NodeId(node), Box::<str>::from("a:1"))));
        ClusterTables::new(PartitionCount::new(PARTITIONS).unwrap(), members, 2)
    };
    (1..=5).for_each(|message| a.apply(message));
    (1..=5).for_each(|message| b.apply(message));
    a.step(0);
    assert!(a.peers.readers().begin().is_err());
    assert_eq!((b.step(0), a.peers.next_step_at()), (vec![], Some(ms(1000))));
    // Another process has joined as this node, with the same incarnation.
    (a.node.tables, a.node.is_other_process) = (tables(), true);
    a.apply(6);
    a.step(5);
    assert!(a.peers.readers().begin().is_err());
    assert_eq!((b.step(5), a.peers.next_step_at()), (vec![], Some(ms(1000))));
    assert!(!b.peers.is_alive(ms(5), NodeId(0)));
    a.node.is_other_process = false;
    a.apply(7);
    a.step(10);
    assert_eq!(a.peers.readers().begin().unwrap().at().position, LogPosition(7));
    assert_eq!(b.step(10), [PeerEvent::HorizonRose(LogPosition(5))]);
}

#[test]
fn heartbeats_say_from_where_on_the_log_is_needed_and_it_may_be_trimmed_to_the_least() {
    let (_network, mut a, mut b) = two(99);
    (1..=20).for_each(|message| [&mut a, &mut b].into_iter().for_each(|peer| peer.apply(message)));
    b.node.needed_from = LogPosition(7);
    a.step(0);
    assert_eq!(a.peers.trims_to(LogPosition(15)), None, "the other one has said nothing yet");
    b.step(0);
    a.step(0);
    assert_eq!(a.peers.trims_to(LogPosition(15)), Some(LogPosition(7)));
    assert_eq!(a.peers.trims_to(LogPosition(3)), Some(LogPosition(3)));
    // However long the other one is silent.
    let day = 24 * 3_600_000;
    (21..2054).for_each(|message| a.apply(message));
    assert!(!a.step(day).contains(&PeerEvent::LeftBehind(NodeId(1))));
    assert_eq!(a.peers.trims_to(LogPosition(15)), Some(LogPosition(7)), "2047 MiB since");
    a.apply(2054);
    assert!(a.step(day).contains(&PeerEvent::LeftBehind(NodeId(1))));
    assert_eq!(a.peers.trims_to(LogPosition(15)), Some(LogPosition(15)), "2 GiB since");
}

#[test]
fn a_member_that_copies_says_what_it_needs_of_the_log_and_has_its_say_again() {
    let (network, mut a, _b) = two(99);
    let mut copying = network.connect(NodeId(1));
    (1..=20).for_each(|message| a.apply(message));
    let mut need = |a: &mut Peer, position| {
        let frame = Frame::Copy(CopyMessage::NeedsLog(LogPosition(position)));
        copying.send(NodeId(0), &frame).unwrap();
        a.step(0)
    };
    need(&mut a, 12);
    assert_eq!(a.peers.trims_to(LogPosition(15)), Some(LogPosition(12)));
    (21..=2100).for_each(|message| a.apply(message));
    assert!(need(&mut a, 12).contains(&PeerEvent::LeftBehind(NodeId(1))));
    assert_eq!(a.peers.trims_to(LogPosition(15)), Some(LogPosition(15)), "2 GiB since");
    need(&mut a, 2000);
    assert_eq!(a.peers.trims_to(LogPosition(2050)), Some(LogPosition(2000)));
    assert!(!a.peers.is_alive(ms(0), NodeId(1)), "it has not joined");
    // All else about copies goes on to whoever owns the node.
    let asked = CopyMessage::End { copy: crate::copy::message::CopyId(3) };
    copying.send(NodeId(0), &Frame::Copy(asked.clone())).unwrap();
    assert_eq!(a.step(1), [PeerEvent::Copy(NodeId(1), asked)]);
}

#[test]
fn the_log_is_kept_for_a_node_that_reads_what_it_has_missed_until_it_has_joined() {
    let (_network, mut a, mut b) = two(99);
    // It has copied what it lacked, and the others heard of it last when it was far behind.
    (a.node.is_other_process, a.node.needed_from) = (true, LogPosition(2000));
    b.peers.needs.set_members(LogPosition::START, [NodeId(0)]);
    b.peers.needs.heard(NodeId(0), LogPosition(3));
    (1..=2100).for_each(|message| b.apply(message));
    assert!(b.step(0).contains(&PeerEvent::LeftBehind(NodeId(0))));
    assert_eq!(b.peers.trims_to(LogPosition(2050)), Some(LogPosition(2050)), "2 GiB since");
    let mut now = 0;
    for message in 1..2090 {
        a.apply(message);
        a.step(now);
        now += 100;
        b.step(now);
        assert_eq!(
            b.peers.trims_to(LogPosition(2050)),
            Some(LogPosition(2000)),
            "it is trimmed at {message}"
        );
    }
    a.node.is_other_process = false;
    a.apply(2090);
    a.step(now);
    b.step(now);
    assert_eq!(b.peers.trims_to(LogPosition(2050)), Some(LogPosition(2000)));
    assert!(b.peers.is_alive(ms(now), NodeId(0)), "it says how far it is as soon as it has joined");
}

#[test]
fn planted_bugs_of_needs_are_found() {
    let test = the_log_is_kept_for_a_node_that_reads_what_it_has_missed_until_it_has_joined;
    assert_found(Bug::NeedUntold, test, "it is trimmed at 1");
}

/// Runs no stages.
struct NoStages;

impl StagePrograms for NoStages {
    fn begin(&self, _: &[u8], _: StageLimits) -> evergraph_graph::error::Result<Box<dyn StageRunner>> {
        Err(Error::invalid("nobody runs"))
    }
}

impl OpenStageViews for NoStages {
    fn open(&self, _: SeenLog, _: &[PartitionId]) -> evergraph_graph::error::Result<Box<dyn StageView>> {
        Err(Error::invalid("nobody reads"))
    }
}

/// What the queries of a node hear.
fn queries_of(peer: &mut Peer) -> TravellingQueries {
    let (author, readers) = (peer.peers.author, peer.peers.readers().clone());
    peer.peers.run_stages(TravelParts {
        author,
        views: Arc::new(NoStages),
        readers,
        programs: Arc::new(NoStages),
        budget: Arc::new(Unlimited),
        clock: Arc::new(ManualClock::new(0)),
        waker: Waker::noop().clone(),
        options: TravelOptions::default(),
    })
}

#[test]
fn whatever_comes_from_a_node_but_copies_is_a_sign_of_life_for_queries() {
    let (_network, mut a, mut b) = two(99);
    let queries = queries_of(&mut b);
    let heard = |now: u64| (queries.heard_at(NodeId(0)) == Some(ms(now)), queries.heard_at(NodeId(1)));
    a.step(0);
    b.step(0);
    assert_eq!(heard(0), (true, None), "a heartbeat");
    let needs = CopyMessage::NeedsLog(LogPosition(5));
    a.peers.send_copy(ms(50), NodeId(1), needs);
    a.step(50);
    b.step(50);
    assert_eq!(heard(0), (true, None), "a node that starts says so, too");
    // A batch: it keeps no partition itself.
    a.node.store = None;
    (0..2).for_each(|_| {
        a.ask(100);
    });
    a.step(100);
    b.step(100);
    assert_eq!(b.peers.status(ms(100)).received.questions.frames, 2);
    assert_eq!(heard(100), (true, None), "questions");
}

#[test]
fn planted_bugs_of_signs_of_life_are_found() {
    let test = whatever_comes_from_a_node_but_copies_is_a_sign_of_life_for_queries;
    assert_found(Bug::CopyTakenForLife, test, "a node that starts says so, too");
    assert_found(Bug::HeartbeatsAloneHeard, test, "questions");
}

#[test]
fn a_node_is_suspected_after_a_late_heartbeat_and_within_half_a_second() {
    let (peers, options) = (PeerOptions::default(), TravelOptions::default());
    let heartbeat = peers.heartbeat_interval;
    assert!(options.suspect_after > heartbeat * 3 / 2, "{:?} {heartbeat:?}", options.suspect_after);
    assert!(options.suspect_after < ms(500), "{:?}", options.suspect_after);
    assert_eq!(options.with_heartbeats(heartbeat), options, "nodes raise it no further");
    let (_network, mut a, _) = two(99);
    a.peers.options.heartbeat_interval = ms(2000);
    assert_eq!(queries_of(&mut a).parts().options, options.with_heartbeats(ms(2000)));
}

#[test]
fn own_partitions_are_asked_in_the_same_step_and_others_over_the_network() {
    let (_network, mut a, mut b) = two(99);
    let own = a.ask(0);
    let answered = |id, store| PeerEvent::Asked(id, AskOutcome::Answered(vec![store, 0, 9]));
    assert_eq!(a.step(0), [answered(own, 0)]);
    a.node.store = None;
    let other = a.ask(1);
    let mut events = Vec::new();
    for _ in 0..3 {
        events.extend(a.step(1));
        assert_eq!(b.step(1), []);
    }
    assert_eq!(events, [answered(other, 1)], "this node does not keep it");
    let status = (a.peers.status(ms(1)), b.peers.status(ms(1)));
    assert_eq!((status.0.answered.not_kept, status.1.answered.answered, status.0.asking), (1, 1, 0));
}

#[test]
fn a_full_network_holds_frames_back_and_heartbeats_go_first() {
    let (_network, mut a, mut b) = two(3);
    a.node.store = None;
    for _ in 0..6 {
        // Too large to travel together.
        a.ask_content(0, vec![9; BATCH_BYTES_MAX / 2 + 1]);
    }
    // The own copy refuses, then the other one is asked.
    (0..3).for_each(|_| assert_eq!(a.step(0), []));
    assert_eq!(a.peers.status(ms(0)).waiting_frames, 4, "two questions and the heartbeat have gone");
    assert_eq!(a.peers.next_step_at(), Some(ms(5)));
    let mut answered = 0;
    for now in 1..40 {
        b.step(5 * now);
        answered += a.step(5 * now).len();
    }
    assert_eq!((answered, a.peers.status(ms(200)).waiting_frames), (6, 0));
}

#[test]
fn what_goes_to_one_node_in_a_step_is_one_frame_there_and_back() {
    let (_network, mut a, mut b) = two(99);
    a.node.store = None;
    let asked: Vec<_> = (0..100).map(|number| a.ask_content(0, vec![number])).collect();
    assert_eq!(a.step(0), []);
    b.step(0);
    let answered = |(number, id)| PeerEvent::Asked(id, AskOutcome::Answered(vec![1, 0, number]));
    let expected: Vec<_> = (0..100).zip(asked).map(answered).collect();
    assert_eq!(a.step(0), expected);
    assert_eq!((a.sent(), b.sent()), (vec![100], vec![100]), "frames beside heartbeats");
    // Who does not keep one of several partitions answers about the others.
    b.node.lacks = Some(PartitionId(2));
    (0..PARTITIONS).for_each(|partition| {
        a.ask_about(1, PartitionId(partition), vec![7]);
    });
    a.step(1);
    b.step(1);
    assert_eq!((a.step(1).len(), a.peers.status(ms(1)).asking), (3, 1));
    let refused = b.peers.status(ms(1)).answered.not_kept;
    assert_eq!((a.sent()[0], b.sent()[0], refused), (4, 4, 1));
    // It is asked again by itself.
    b.node.lacks = None;
    a.step(40);
    b.step(40);
    assert_eq!((a.step(40).len(), a.sent(), b.sent()), (1, vec![1], vec![1]));
}

#[test]
fn batches_that_are_lost_doubled_and_late_answer_each_question_once() {
    let faults = NetworkFaults { delay_max: ms(10), lost: OneIn(4), doubled: OneIn(4), late: OneIn(10) };
    let (mut questions, mut frames) = (0, 0);
    for seed in 0..10 {
        let network = MemoryNetwork::new(seed, faults, 5);
        let (mut a, mut b) = (Peer::new(0, &network), Peer::new(1, &network));
        a.node.store = None;
        let (mut asked, mut chance) = (BTreeMap::new(), SeededChance::new(seed));
        for now in (0..40_000).step_by(10) {
            network.advance_to(ms(now));
            if now == 20_000 {
                network.set_faults(NetworkFaults::default());
            }
            // A reader asks about several partitions at once.
            let count = if now < 1000 && chance.happens(OneIn(3)) { 1 + chance.below(20) } else { 0 };
            for _ in 0..count {
                let content = (asked.len() as u32).to_le_bytes();
                let partition = PartitionId(chance.below(u64::from(PARTITIONS)) as u16);
                let id = a.ask_about(now, partition, content.to_vec());
                assert!(asked.insert(id, Some(content)).is_none(), "a number is given once");
            }
            b.node.lacks = chance.happens(OneIn(9)).then_some(PartitionId(1));
            b.step(now);
            for event in a.step(now) {
                let PeerEvent::Asked(id, outcome) = event else { continue };
                let content = asked.get_mut(&id).and_then(Option::take).expect("it ends once");
                let AskOutcome::Answered(answered) = outcome else { panic!("{outcome:?}") };
                assert_eq!(answered[2..], content, "the answer to another question");
            }
        }
        assert!(asked.values().all(Option::is_none), "seed {seed}: a question is not answered");
        let statuses = [&a, &b].map(|peer| peer.peers.status(ms(40_000)));
        assert!(statuses.iter().all(|status| status.asking == 0 && status.answering == (0, 0)));
        assert!(statuses.iter().all(|status| status.waiting_frames == 0 && status.readers == (0, 0)));
        let sent = a.sent();
        (questions, frames) = (questions + sent.iter().sum::<usize>(), frames + sent.len());
    }
    assert!(frames * 4 < questions, "{frames} frames for {questions} questions");
}

#[test]
fn nobody_asks_or_forgets_in_the_name_of_another() {
    let (network, mut a, _b) = two(99);
    let mut stranger = network.connect(NodeId(1));
    let id = QuestionId { asker: author(0), number: 1 };
    let (at, patience) = (SeenLog::START, ms(100));
    let question = Question { id, partition: PARTITION, at, patience, asked: Vec::new() };
    stranger.send(NodeId(0), &Frame::Question(question)).unwrap();
    stranger.send(NodeId(0), &Frame::Forget(id)).unwrap();
    a.step(0);
    let status = a.peers.status(ms(0));
    assert_eq!((status.strange_frames, status.answering, status.answered.answered), (2, (0, 0), 0));
}

#[test]
fn an_ask_that_is_forgotten_ends_where_it_is_being_answered() {
    let (network, mut a, _b) = two(99);
    let mut holder = network.connect(NodeId(1));
    a.node.store = None;
    let id = a.ask(0);
    (0..3).for_each(|_| assert_eq!(a.step(0), []));
    let frames: Vec<_> = std::iter::from_fn(|| holder.receive()).map(|received| received.frame).collect();
    let asked = frames.iter().find_map(|frame| match frame {
        Frame::Question(question) => Some(question.id),
        _ => None,
    });
    a.peers.forget(ms(1), id);
    assert_eq!(a.step(1), []);
    let forgotten = holder.receive().map(|received| received.frame);
    assert_eq!(forgotten, asked.map(Frame::Forget));
    assert_eq!(a.peers.status(ms(1)).asking, 0);
}

#[test]
fn a_node_of_another_log_raises_an_alarm() {
    let (network, mut a, _b) = two(99);
    (1..=5).for_each(|message| a.apply(message));
    let mut other = network.connect(NodeId(1));
    let seen = SeenLog { position: LogPosition(4), digest: LogDigest([1; 16]) };
    let heartbeat = Frame::Heartbeat(Heartbeat {
        applied: seen,
        oldest: LogPosition(4),
        needed_from: LogPosition::START,
    });
    for _ in 0..2 {
        other.send(NodeId(0), &heartbeat).unwrap();
    }
    let alarm = PeerEvent::OtherLog { node: NodeId(1), position: LogPosition(4) };
    assert_eq!(a.step(0), [alarm]);
    assert_eq!(a.peers.status(ms(0)).horizon.horizon, LogPosition::START);
}

#[test]
fn an_old_snapshot_is_still_known_to_be_of_this_log() {
    let (_network, mut a, mut b) = two(99);
    (1..=5).for_each(|message| [&mut a, &mut b].into_iter().for_each(|peer| peer.apply(message)));
    a.step(0);
    b.step(0);
    let reader = a.peers.readers().begin().unwrap();
    (6..=80).for_each(|message| [&mut a, &mut b].into_iter().for_each(|peer| peer.apply(message)));
    // The certifier remembers less.
    a.node.applied.forget_before(LogPosition(60));
    b.node.applied.forget_before(LogPosition(60));
    for now in [250, 500] {
        a.step(now);
        b.step(now);
    }
    a.node.store = None;
    let ask = Ask { partition: PARTITION, at: reader.at(), patience: ms(100), asked: vec![] };
    let id = a.peers.ask(ms(500), ask).unwrap();
    let mut events = Vec::new();
    for _ in 0..3 {
        events.extend(a.step(500));
        b.step(500);
    }
    assert_eq!(events, [PeerEvent::Asked(id, AskOutcome::Answered(vec![1, 0]))]);
}
