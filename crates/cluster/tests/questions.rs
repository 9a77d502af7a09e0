//! Questions over a network that loses, doubles, delays and cuts: whoever asks gets one outcome, and no answer but that of the
//! snapshot and the log that were asked for.
//!
//! Three nodes have applied one log to different extents and go on; one of them has read another log from some message on.
//! Each asks the others as of what it has applied, and gives some questions up. An answer says what the holder knows of the
//! snapshot, so that the asker can compare it with what the log has there.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

#[path = "simulation/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod simulation;

use evergraph_cluster::digest::{DigestWindow, SeenLog};
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::remote::admission::{Admitted, ReadableLog, WaitingLimits, WaitingQuestions};
use evergraph_cluster::remote::open_questions::{OpenQuestions, QuestionOutcome};
use evergraph_cluster::remote::question::{Answer, Question, QuestionId, QuestionRefusal, RefusalReason};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_cluster::transport::frame::Frame;
use evergraph_cluster::transport::interface::Transport;
use evergraph_cluster::transport::memory::{MemoryNetwork, MemoryTransport, NetworkFaults};
use evergraph_graph::id::PartitionId;
use simulation::seeds::Seeds;
use simulation::tally::{Counted as _, tally};
use simulation::trace::{Trace, assert_repeats};
use std::collections::BTreeMap;
use std::time::Duration;

const NODES: u16 = 3;
const SALT: GraphSalt = GraphSalt([7; 16]);
/// From this message on the last node has read another log.
const PARTS_AT: u64 = 40;
const MESSAGES: u64 = 120;

/// A node: how far it is, what it asks and what it is asked.
struct Node {
    id: NodeId,
    applied: DigestWindow,
    transport: MemoryTransport,
    open: OpenQuestions,
    waiting: WaitingQuestions,
}

tally! {
    /// What happened, by kind.
    struct Tally {
        asked: u64,
        answered: u64,
        silent: u64,
        too_old: u64,
        other_log: u64,
        too_late: u64,
        busy: u64,
        waited: u64,
        given_up: u64,
        forgotten: u64,
        /// Frames that came, and outcomes.
        trace: Trace,
    }
}

/// What was asked of whom, as of which moment; and whether the asker gave it up.
struct Asked {
    node: NodeId,
    at: SeenLog,
    is_given_up: bool,
}

fn message(node: NodeId, number: u64) -> [u8; 9] {
    let is_other = node.0 == NODES - 1 && number >= PARTS_AT;
    let mut bytes = [u8::from(is_other); 9];
    bytes[1..].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// What is answered as of a snapshot: the snapshot itself.
fn content(at: &SeenLog) -> Vec<u8> {
    [&at.position.0.to_le_bytes()[..], &at.digest.0[..]].concat()
}

impl Node {
    fn new(id: NodeId, network: &MemoryNetwork) -> Self {
        let asker = Author { node: id, incarnation: 0 };
        let limits = WaitingLimits { questions_max: 3, asker_questions_max: 2, ..WaitingLimits::default() };
        Self {
            id,
            applied: DigestWindow::new(SeenLog::START),
            transport: network.connect(id),
            open: OpenQuestions::new(asker, 20),
            waiting: WaitingQuestions::new(limits),
        }
    }

    fn position(&self) -> u64 {
        self.applied.last().position.0
    }

    fn apply(&mut self) {
        let next = self.position() + 1;
        if next <= MESSAGES {
            self.applied.push(SALT, LogPosition(next), &message(self.id, next));
        }
    }

    /// Merges went up to a few messages behind what is applied.
    fn horizon(&self) -> LogPosition {
        LogPosition(self.position().saturating_sub(12))
    }

    fn ask(&mut self, now: Duration, chance: &mut SeededChance, asked: &mut BTreeMap<QuestionId, Asked>) {
        let to = NodeId(chance.below(u64::from(NODES)) as u16);
        let at = self.applied.last();
        let patience = Duration::from_millis(20 + chance.below(200));
        let partition = PartitionId(chance.below(8) as u16);
        if let Some(question) = self.open.ask(now, to, (partition, at), patience, vec![1; 9]) {
            let about = Asked { node: to, at, is_given_up: false };
            assert!(asked.insert(question.id, about).is_none(), "a number is given once");
            // One that is not sent is not answered: its deadline comes.
            let _ = self.transport.send(to, &Frame::Question(question));
        }
    }

    /// Waits no longer for the answer to one of its questions.
    fn give_up(&mut self, chance: &mut SeededChance, asked: &mut BTreeMap<QuestionId, Asked>) {
        let mut own: Vec<_> = asked.iter_mut().filter(|(id, _)| id.asker.node == self.id).collect();
        if own.is_empty() {
            return;
        }
        // One of the newest: most of the others have their outcome.
        let newest = own.len() - 1 - chance.below(own.len().min(3) as u64) as usize;
        let (id, about) = own.swap_remove(newest);
        let open = self.open.count();
        self.open.forget(*id);
        if self.open.count() < open {
            about.is_given_up = true;
            // One that is not sent costs the holder an answer that nobody takes.
            let _ = self.transport.send(about.node, &Frame::Forget(*id));
        }
    }

    /// Takes what came, and answers what it may.
    fn step(&mut self, now: Duration, tally: &mut Tally) -> Vec<QuestionOutcome> {
        let mut outcomes = Vec::new();
        let horizon = self.horizon();
        let mut admitted = self.waiting.next(now, &ReadableLog { applied: &self.applied, horizon });
        tally.waited += admitted.iter().filter(|it| matches!(it, Admitted::Now(_))).count() as u64;
        while let Some(received) = self.transport.receive() {
            tally.trace.add(&(self.id.0, received.from.0, received.frame.encode()));
            match received.frame {
                Frame::Question(question) => {
                    assert_eq!(question.id.asker.node, received.from);
                    let log = ReadableLog { applied: &self.applied, horizon };
                    admitted.extend(self.waiting.take(now, question, &log));
                }
                Frame::Answer(answer) => outcomes.extend(self.open.answered(received.from, answer)),
                Frame::Refusal(refusal) => outcomes.extend(self.open.refused(received.from, refusal)),
                Frame::Forget(id) => {
                    let forgotten = self.waiting.forget(received.from, id);
                    tally.forgotten += u64::from(forgotten.is_some());
                }
                Frame::Heartbeat(_) | Frame::Batch(_) | Frame::Copy(_) | Frame::Travel(_) => {
                    panic!("nobody sends it")
                }
            }
        }
        for admitted in admitted {
            // The refusal comes when who asked has given up: it is seen here alone.
            let is_too_late = matches!(&admitted, Admitted::Refused(_, RefusalReason::TooLate));
            tally.too_late += u64::from(is_too_late);
            self.answer(admitted);
        }
        outcomes.extend(self.open.overdue(now));
        outcomes
    }

    fn answer(&mut self, admitted: Admitted) {
        let (id, frame) = match admitted {
            Admitted::Now(Question { id, at, .. }) => {
                let digest = self.applied.at(at.position).expect("it is applied and remembered");
                let answered = content(&SeenLog { position: at.position, digest });
                (id, Frame::Answer(Answer { id, answered }))
            }
            Admitted::Refused(Question { id, .. }, reason) => {
                (id, Frame::Refusal(QuestionRefusal { id, reason }))
            }
        };
        // One that is not sent is lost: the asker's deadline comes.
        let _ = self.transport.send(id.asker.node, &frame);
    }
}

fn play(seed: u64) -> Tally {
    let mut tally = Tally::default();
    let mut chance = SeededChance::new(seed);
    let often = |chance: &mut SeededChance| OneIn(chance.below(12) as u32);
    let faults = NetworkFaults {
        delay_max: Duration::from_millis(chance.below(60)),
        lost: often(&mut chance),
        doubled: often(&mut chance),
        late: often(&mut chance),
    };
    let network = MemoryNetwork::new(seed, faults, 8);
    let mut nodes: Vec<_> = (0..NODES).map(|node| Node::new(NodeId(node), &network)).collect();
    let mut asked = BTreeMap::new();
    let mut outcomes: BTreeMap<QuestionId, QuestionOutcome> = BTreeMap::new();
    for tick in 0..400 {
        let now = Duration::from_millis(5 * tick);
        network.advance_to(now);
        let (from, to) = (NodeId(chance.below(3) as u16), NodeId(chance.below(3) as u16));
        match chance.below(40) {
            0 => network.cut(from, to),
            1..=7 => network.mend(from, to),
            _ => {}
        }
        for node in &mut nodes {
            if chance.happens(OneIn(3)) {
                node.apply();
            }
            // Nobody asks any more at the end, so that the last deadlines pass.
            if chance.happens(OneIn(4)) && tick < 300 {
                node.ask(now, &mut chance, &mut asked);
            }
            if chance.happens(OneIn(30)) {
                node.give_up(&mut chance, &mut asked);
            }
            for outcome in node.step(now, &mut tally) {
                tally.trace.note(format_args!("{outcome:?}"));
                assert_eq!(outcome.id.asker.node, node.id);
                assert!(outcomes.insert(outcome.id, outcome).is_none(), "one outcome a question");
            }
        }
    }
    tally.asked += asked.len() as u64;
    let given_up = asked.values().filter(|about| about.is_given_up).count();
    tally.given_up += given_up as u64;
    assert_eq!(outcomes.len() + given_up, asked.len(), "every question has an outcome, or is given up");
    for (id, QuestionOutcome { result, node, .. }) in outcomes {
        let Asked { at, is_given_up, .. } = asked[&id];
        assert!(!is_given_up, "{id:?} was given up");
        match result {
            None => tally.silent += 1,
            Some(Ok(answered)) => {
                assert_eq!(answered, content(&at), "{node:?} answered {id:?} from another log or moment");
                tally.answered += 1;
            }
            Some(Err(RefusalReason::TooOld)) => tally.too_old += 1,
            Some(Err(RefusalReason::TooLate)) => {}
            Some(Err(RefusalReason::Busy)) => tally.busy += 1,
            Some(Err(RefusalReason::OtherLog)) => {
                let is_of_last = |node: NodeId| node.0 == NODES - 1;
                let differ = is_of_last(node) != is_of_last(id.asker.node) && at.position.0 >= PARTS_AT;
                assert!(differ, "{node:?} and {id:?} have read the same");
                tally.other_log += 1;
            }
            Some(Err(reason)) => panic!("{reason}"),
        }
    }
    tally
}

#[test]
fn who_asks_gets_one_outcome_and_never_the_answer_of_another_moment_or_log() {
    let seeds = Seeds::of_environment(200);
    let tally = seeds.play(|seed| Ok(play(seed)));
    println!("{seeds:?}: {tally:?}");
    if !seeds.are_many() {
        return;
    }
    assert_eq!(tally.missing(&[]), [""; 0], "something never happened: {tally:?}");
    assert!(tally.answered > tally.asked / 20, "hardly anything is answered: {tally:?}");
}

#[test]
fn a_seed_asks_and_answers_the_same_again() {
    assert_repeats(|seed| play(seed).trace);
}
