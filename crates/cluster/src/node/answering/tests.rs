//! Answering: what becomes of each question, step by step.

use super::*;
use crate::digest::LogDigest;
use crate::key_hash::graph_salt::GraphSalt;
use crate::planted::{Bug, assert_found};
use crate::record_id::Author;
use crate::tables::members::Members;
use evergraph_graph::partition::PartitionCount;
use std::collections::VecDeque;

const KEPT: PartitionId = PartitionId(0);
const UNPROVED: PartitionId = PartitionId(1);
const ASKER: NodeId = NodeId(3);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn log(messages: u64) -> DigestWindow {
    let mut window = DigestWindow::new(SeenLog::START);
    for number in 1..=messages {
        window.push(GraphSalt([7; 16]), LogPosition(number), &number.to_le_bytes());
    }
    window
}

/// A node whose stores are numbers.
struct ToyNode {
    applied: DigestWindow,
    tables: ClusterTables,
}

impl ServedPartitions for ToyNode {
    type Store = u32;

    fn applied(&self) -> &DigestWindow {
        &self.applied
    }

    fn tables(&self) -> &ClusterTables {
        &self.tables
    }

    fn proved(&mut self, partition: PartitionId) -> Option<&u32> {
        (partition == KEPT).then_some(&77)
    }

    fn needed_from(&self) -> LogPosition {
        LogPosition::START
    }
}

/// Somebody who works until a test says that it is done.
#[derive(Default)]
struct Work {
    begun: Vec<(u32, AskedQuestion)>,
    forgotten: Vec<u64>,
    done: VecDeque<(QuestionId, Result<Vec<u8>, RefusalReason>)>,
}

impl AnswerQuestions<u32> for Work {
    fn begin(&mut self, store: &u32, question: AskedQuestion) {
        self.begun.push((*store, question));
    }

    fn forget(&mut self, id: QuestionId) {
        self.forgotten.push(id.number);
    }

    fn next_answer(&mut self) -> Option<(QuestionId, Result<Vec<u8>, RefusalReason>)> {
        self.done.pop_front()
    }
}

/// A node with its questions, which has applied a log and can be read from message 5 on.
struct Desk {
    node: ToyNode,
    readers: Readers,
    answering: Answering<Work>,
    replies: Vec<Reply>,
}

impl Desk {
    fn new(applied: u64, limits: AnsweringLimits) -> Self {
        let members = Members::new([(NodeId(0), "a:1".into())]);
        let tables = ClusterTables::new(PartitionCount::new(4).unwrap(), members, 1);
        let node = ToyNode { applied: log(applied), tables };
        let readers = Readers::new(log(5).last());
        readers.applied(node.applied.last());
        let answering = Answering::new(limits, readers.clone(), Work::default());
        Self { node, readers, answering, replies: Vec::new() }
    }

    fn take(&mut self, now: u64, question: Question) {
        let applied = self.node.applied.clone();
        let log = ReadableLog { applied: &applied, horizon: self.readers.horizon() };
        self.answering.take(ms(now), question, &log, &mut self.node, &mut self.replies);
    }

    fn step(&mut self, now: u64) {
        let applied = self.node.applied.clone();
        let log = ReadableLog { applied: &applied, horizon: self.readers.horizon() };
        self.answering.step(ms(now), &log, &mut self.node, &mut self.replies);
    }

    fn apply(&mut self, applied: u64) {
        self.node.applied = log(applied);
        self.readers.applied(self.node.applied.last());
    }

    /// Work on a question ends, and the answer is taken.
    fn work(&mut self, now: u64, number: u64, result: Result<Vec<u8>, RefusalReason>) {
        self.answering.work_mut().done.push_back((id(number), result));
        self.step(now);
    }

    /// What was replied to which questions since.
    fn replied(&mut self) -> Vec<(u64, Result<Vec<u8>, RefusalReason>)> {
        let said = self.replies.drain(..).map(|reply| {
            assert_eq!(reply.to, ASKER);
            match reply.frame {
                Frame::Answer(answer) => (answer.id.number, Ok(answer.answered)),
                Frame::Refusal(refusal) => (refusal.id.number, Err(refusal.reason)),
                other => panic!("{other:?}"),
            }
        });
        said.collect()
    }

    fn begun(&mut self) -> Vec<u64> {
        self.answering.work_mut().begun.iter().map(|(_, question)| question.id.number).collect()
    }
}

fn id(number: u64) -> QuestionId {
    QuestionId { asker: Author { node: ASKER, incarnation: 1 }, number }
}

/// A question that its asker waits for 100 ms.
fn question(number: u64, partition: PartitionId, position: u64) -> Question {
    let at = SeenLog { position: LogPosition(position), digest: log(99).at(LogPosition(position)).unwrap() };
    Question { id: id(number), partition, at, patience: ms(100), asked: vec![4; 3] }
}

#[test]
fn a_question_is_answered_from_a_proved_partition_or_refused() {
    let mut desk = Desk::new(20, AnsweringLimits::default());
    desk.take(0, question(1, KEPT, 15));
    let at = question(1, KEPT, 15).at;
    let asked = AskedQuestion { id: id(1), partition: KEPT, at, ends_at: ms(100), asked: vec![4; 3] };
    assert_eq!(desk.answering.work_mut().begun, [(77, asked)]);
    desk.take(0, question(2, UNPROVED, 15));
    desk.take(0, question(3, KEPT, 4));
    let mut other = question(4, KEPT, 15);
    other.at.digest = LogDigest([1; 16]);
    desk.take(0, other);
    let reasons = [RefusalReason::NotKept, RefusalReason::TooOld, RefusalReason::OtherLog];
    let refused: Vec<(u64, Result<Vec<u8>, _>)> = (2..).zip(reasons.map(Err)).collect();
    assert_eq!(desk.replied(), refused);
    desk.work(1, 1, Ok(vec![8]));
    assert_eq!(desk.replied(), [(1, Ok(vec![8]))]);
    let counts = desk.answering.counts();
    assert_eq!((counts.answered, counts.not_kept, counts.too_old, counts.other_log), (1, 1, 1, 1));
    assert_eq!((desk.answering.open(), desk.answering.next_step_at()), ((0, 0), None));
}

#[test]
fn a_snapshot_is_in_use_while_its_question_is_being_answered() {
    let mut desk = Desk::new(20, AnsweringLimits::default());
    desk.take(0, question(1, KEPT, 12));
    desk.take(0, question(2, KEPT, 15));
    let rise = |desk: &Desk| desk.readers.raise(LogPosition(20), LogPosition::START).0;
    assert_eq!(rise(&desk), 12, "it is being read");
    desk.work(1, 1, Ok(vec![]));
    assert_eq!(rise(&desk), 15);
    // Nobody waits for the other one; work on it goes on until it says that it has stopped.
    desk.answering.forget::<u32>(ASKER, id(2));
    assert_eq!(rise(&desk), 15);
    desk.work(1, 2, Ok(vec![]));
    assert_eq!(rise(&desk), 20);
}

#[test]
fn a_question_waits_until_its_snapshot_is_applied() {
    let mut desk = Desk::new(20, AnsweringLimits::default());
    desk.take(0, question(1, KEPT, 22));
    desk.take(0, question(2, UNPROVED, 22));
    desk.step(10);
    assert_eq!((desk.begun(), desk.answering.open()), (vec![], (2, 0)));
    desk.apply(22);
    desk.step(20);
    assert_eq!((desk.begun(), desk.replied()), (vec![1], vec![(2, Err(RefusalReason::NotKept))]));
    // Its asker has waited meanwhile.
    assert_eq!(desk.answering.work_mut().begun[0].1.ends_at, ms(100));
}

#[test]
fn nothing_is_done_for_whoever_waits_no_longer() {
    let mut desk = Desk::new(20, AnsweringLimits::default());
    for (number, position) in [(1, 15), (2, 15), (3, 22), (4, 22)] {
        desk.take(0, question(number, KEPT, position));
    }
    desk.answering.forget::<u32>(NodeId(4), id(1));
    assert_eq!(desk.answering.work_mut().forgotten, [0; 0], "another node's question");
    for number in [1, 1, 3, 9] {
        desk.answering.forget::<u32>(ASKER, id(number));
    }
    assert_eq!(desk.answering.work_mut().forgotten, [1], "once");
    assert_eq!((desk.answering.open(), desk.answering.next_step_at()), ((1, 2), Some(ms(100))));
    desk.step(100);
    assert_eq!(desk.answering.work_mut().forgotten, [1, 2], "its time is over");
    assert_eq!((desk.answering.open(), desk.answering.next_step_at()), ((0, 2), None));
    desk.work(101, 1, Ok(vec![]));
    desk.work(101, 2, Err(RefusalReason::TooOld));
    assert_eq!(desk.replied(), [], "nobody waits for them");
    assert_eq!((desk.answering.counts().dropped, desk.readers.count()), (4, (0, 0)));
    // Work that ends twice, or was never begun.
    desk.work(102, 1, Ok(vec![]));
    assert_eq!(desk.replied(), []);
}

#[test]
fn a_double_is_dropped_while_the_first_one_is_open() {
    let mut desk = Desk::new(20, AnsweringLimits::default());
    for position in [15, 22] {
        let number = position;
        desk.take(0, question(number, KEPT, position));
        desk.take(5, question(number, KEPT, position));
    }
    assert_eq!((desk.begun(), desk.answering.open()), (vec![15], (1, 1)));
    desk.apply(22);
    desk.step(6);
    assert_eq!(desk.begun(), [15, 22]);
    desk.work(7, 15, Ok(vec![1]));
    desk.take(8, question(15, KEPT, 15));
    assert_eq!(desk.begun(), [15, 22, 15], "its answer may be lost");
}

#[test]
fn work_is_limited_and_so_is_patience() {
    let limits = AnsweringLimits { working_max: 1, patience_max: ms(50), ..AnsweringLimits::default() };
    let mut desk = Desk::new(20, limits);
    desk.take(0, question(1, KEPT, 15));
    desk.take(0, question(2, KEPT, 15));
    assert_eq!(desk.replied(), [(2, Err(RefusalReason::Busy))]);
    assert_eq!(desk.answering.next_step_at(), Some(ms(50)));
    let large = vec![0; CONTENT_BYTES_MAX + 1];
    desk.work(1, 1, Ok(large));
    assert!(matches!(desk.replied()[..], [(1, Err(RefusalReason::Failed { .. }))]));
    desk.take(2, question(3, KEPT, 15));
    assert_eq!(desk.begun(), [1, 3], "there is room again");
    desk.answering.refuse_as_busy(ms(2), &question(4, KEPT, 15), &mut desk.replies);
    assert_eq!((desk.replied(), desk.answering.counts().busy), (vec![(4, Err(RefusalReason::Busy))], 2));
}

#[test]
fn planted_bugs_are_found() {
    let in_use = a_snapshot_is_in_use_while_its_question_is_being_answered;
    assert_found(Bug::AnswerUnregistered, in_use, "it is being read");
}
