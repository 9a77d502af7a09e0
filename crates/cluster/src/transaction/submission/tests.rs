//! Submission: a toy node answers records at once as a test says, or not at all.

use super::*;
use crate::key_hash::graph_salt::KeyHash;
use crate::node::node_thread::{NodeBell, NodeStep, NodeThread, ThreadedNode};
use crate::node::owned_node::{AskCallback, AskingNode, EndCallback};
use crate::record::message::MESSAGE_BYTES_MAX;
use crate::record::payload::{Destination, Payload};
use crate::record_id::{Author, NodeId};
use crate::remote::asking::{Ask, AskId, AskRefusal};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::id::PartitionId;
use evergraph_graph::wait_limit::WaitScope;
use evergraph_storage::io::clock::SystemClock;
use evergraph_storage::sync::Mutex;

const SINCE: Timestamp = Timestamp(4);
const COMMITTED: Timestamp = Timestamp(9);
/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(60);
const SALT: GraphSalt = GraphSalt(*b"salt of a graph.");

/// What becomes of a record; of some nothing does.
type Log = fn(&RecordBody) -> Option<RecordResult>;

struct ToyNode {
    log: Log,
    refusal: Option<Refusal>,
    pushed: Arc<Mutex<Vec<(RecordId, RecordBody)>>>,
    numbers: u64,
    silent: Vec<DecisionCallback>,
    /// It stops with the first record of which nothing becomes.
    stops: bool,
}

impl ThreadedNode for ToyNode {
    fn step(&mut self, _now: Duration) -> NodeStep {
        if self.stops && !self.silent.is_empty() { NodeStep::End } else { NodeStep::Sleep(None) }
    }
}

impl AskingNode for ToyNode {
    fn ask(&mut self, _now: Duration, _ask: Ask) -> std::result::Result<AskId, AskRefusal> {
        Err(AskRefusal::Full)
    }

    fn when_ended(&mut self, _id: AskId, _callback: AskCallback) {}

    fn forget(&mut self, _now: Duration, _id: AskId) {}
}

impl CoordinatingNode for ToyNode {
    fn push(
        &mut self,
        now: Duration,
        body: RecordBody,
        callback: DecisionCallback,
    ) -> std::result::Result<RecordId, NodePushError> {
        let id = self.reserve()?;
        self.push_reserved(now, id, body, callback).map(|()| id)
    }

    fn reserve(&mut self) -> std::result::Result<RecordId, NodePushError> {
        self.numbers += 1;
        let author = Author { node: NodeId(0), incarnation: 0 };
        Ok(RecordId { author, number: self.numbers })
    }

    fn push_reserved(
        &mut self,
        _now: Duration,
        id: RecordId,
        body: RecordBody,
        callback: DecisionCallback,
    ) -> std::result::Result<(), NodePushError> {
        match (self.log)(&body) {
            Some(result) => callback(AppliedRecord { id, timestamp: COMMITTED, result }),
            None => self.silent.push(callback),
        }
        self.pushed.lock().push((id, body));
        Ok(())
    }

    fn forget_record(&mut self, _id: RecordId) {}

    fn would_refuse(&self, since: Timestamp, _part: &TransactionPart) -> Option<Refusal> {
        assert_eq!(since, SINCE);
        self.refusal
    }

    fn ask_for_end(&mut self, _callback: EndCallback) {}
}

struct Desk {
    thread: NodeThread<ToyNode>,
    pushed: Arc<Mutex<Vec<(RecordId, RecordBody)>>>,
}

impl Desk {
    fn new(log: Log) -> Self {
        Self::with(log, None, false)
    }

    fn with(log: Log, refusal: Option<Refusal>, stops: bool) -> Self {
        let pushed = Arc::new(Mutex::default());
        let silent = Vec::new();
        let node = ToyNode { log, refusal, pushed: Arc::clone(&pushed), numbers: 0, silent, stops };
        let started = NodeBell::new().start("toy", Arc::new(SystemClock::new()), node);
        Self { thread: started.expect("the system has a thread"), pushed }
    }

    fn submit(&self, bytes: usize) -> Result<Timestamp> {
        let destination = Destination::Partition(PartitionId(0));
        let payloads = vec![Payload { destination, mutations: vec![0; bytes] }];
        let part = TransactionPart { checks: vec![KeyHash(1)], payloads, ..TransactionPart::default() };
        let (node, clock) = (self.thread.handle(), SystemClock::new());
        Self::submitter(&node, &clock).submit(SINCE, part)
    }

    fn settle(&self, unknown: UnknownCommit) -> Result<Timestamp> {
        let (node, clock) = (self.thread.handle(), SystemClock::new());
        Self::submitter(&node, &clock).settle(unknown)
    }

    fn submitter<'a>(node: &'a NodeHandle<ToyNode>, clock: &'a SystemClock) -> Submitter<'a, ToyNode> {
        let (patience, limit) = (Duration::from_millis(100), WaitLimit::of_thread());
        Submitter { node, clock, patience, salt: SALT, ahead: AheadCheck::Asked, limit }
    }
}

/// The log takes what it is sent.
fn takes(body: &RecordBody) -> Option<RecordResult> {
    Some(match body {
        RecordBody::Part { .. } => RecordResult::PartKept,
        _ => RecordResult::Committed,
    })
}

/// Transactions get lost, and a cancel finds none.
fn loses(body: &RecordBody) -> Option<RecordResult> {
    matches!(body, RecordBody::Cancel { .. }).then_some(RecordResult::Cancel(CancelAnswer::Cancelled))
}

/// Transactions commit, and a cancel finds that.
fn is_slow(body: &RecordBody) -> Option<RecordResult> {
    let committed = CancelAnswer::Decided(Outcome::Committed(COMMITTED));
    matches!(body, RecordBody::Cancel { .. }).then_some(RecordResult::Cancel(committed))
}

/// Nothing comes back.
fn is_silent(_body: &RecordBody) -> Option<RecordResult> {
    None
}

#[test]
fn a_transaction_commits_by_one_record_or_by_parts_before_it() {
    let desk = Desk::new(takes);
    assert_eq!(desk.submit(10).expect("it commits"), COMMITTED);
    assert_eq!(desk.submit(10 * MESSAGE_BYTES_MAX).expect("it commits"), COMMITTED);
    let pushed = desk.pushed.lock();
    let ahead = pushed.len() - 2;
    assert!(ahead >= 10, "{ahead} parts");
    let (last_id, last) = pushed.last().expect("there are some");
    for (place, (_, body)) in pushed[1..=ahead].iter().enumerate() {
        let is_next = |of: u64, at: u16| of == last_id.number && usize::from(at) == place;
        assert!(matches!(body, RecordBody::Part { of, place, .. } if is_next(*of, *place)));
    }
    let RecordBody::Transaction { since, parts, .. } = last else { panic!("{last:?}") };
    assert_eq!((*since, usize::from(*parts)), (SINCE, ahead));
}

#[test]
fn what_would_be_refused_is_not_sent() {
    let refusal = Refusal::TooOld { floor: Timestamp(7) };
    let desk = Desk::with(takes, Some(refusal), false);
    assert!(desk.submit(10).is_err_and(|error| error.is_conflict()));
    assert!(desk.pushed.lock().is_empty());

    // Unless nobody asks the certifier of the node.
    let (node, clock) = (desk.thread.handle(), SystemClock::new());
    let submitter = Submitter { ahead: AheadCheck::Skipped, ..Desk::submitter(&node, &clock) };
    assert_eq!(submitter.submit(SINCE, TransactionPart::default()).expect("it commits"), COMMITTED);
    assert_eq!(desk.pushed.lock().len(), 1);
}

#[test]
fn without_an_answer_a_cancel_tells_what_became_of_it() {
    assert!(Desk::new(loses).submit(10).is_err_and(|error| error.is_conflict()), "it may run again");
    assert_eq!(Desk::new(is_slow).submit(10).expect("it has committed"), COMMITTED);
    let unknown = Desk::new(is_silent).submit(10).expect_err("nobody knows");
    assert_eq!(unknown.kind(), ErrorKind::Unknown, "nothing runs it again");
    let id = RecordId { author: Author { node: NodeId(0), incarnation: 0 }, number: 1 };
    assert_eq!(unknown.cause(), Some(&id.unknown_commit(SINCE, SALT)));
}

#[test]
fn a_node_that_stops_leaves_it_unknown() {
    let desk = Desk::with(is_silent, None, true);
    let unknown = desk.submit(10).expect_err("nobody knows");
    assert!(unknown.cause::<UnknownCommit>().is_some(), "{unknown}");
    let not_sent = desk.submit(10).expect_err("the node has stopped");
    assert!(not_sent.kind() == ErrorKind::Io && not_sent.cause::<UnknownCommit>().is_none(), "{not_sent}");
}

#[test]
fn a_transaction_waits_no_longer_than_its_thread_may() {
    let in_no_time = || WaitLimit::default().for_at_most(Duration::from_millis(5)).enter();
    let patient = |log, has_begun: fn() -> WaitScope| {
        let desk = Desk::new(log);
        let (node, clock) = (desk.thread.handle(), SystemClock::new());
        let _waits = has_begun();
        let submitter = Submitter { patience: LONG, ..Desk::submitter(&node, &clock) };
        let submitted = submitter.submit(SINCE, TransactionPart::default());
        (submitted, desk.pushed.lock().len())
    };
    // The record is called off, which says for certain what became of it.
    let (called_off, pushed) = patient(loses, in_no_time);
    assert_eq!((called_off.unwrap_err().kind(), pushed), (ErrorKind::Cancelled, 2));
    assert_eq!(patient(is_slow, in_no_time).0.expect("it has committed"), COMMITTED);
    // Nothing is sent for whoever may wait no longer.
    let ended = || {
        let flag = CancelFlag::default();
        flag.cancel();
        WaitLimit::default().and(flag).enter()
    };
    let (refused, pushed) = patient(takes, ended);
    assert_eq!((refused.unwrap_err().kind(), pushed), (ErrorKind::Cancelled, 0));
}

#[test]
fn what_a_commit_returned_is_settled_and_a_guess_calls_nothing_off() {
    let desk = Desk::new(is_slow);
    let id = RecordId { author: Author { node: NodeId(3), incarnation: 4 }, number: 5 };
    let known = id.unknown_commit(SINCE, SALT);
    let guess = UnknownCommit { number: 6, ..known };
    assert_eq!(desk.settle(guess).unwrap_err().kind(), ErrorKind::Invalid);
    assert!(desk.pushed.lock().is_empty(), "nothing is called off");
    assert_eq!(desk.settle(known).expect("it has committed"), COMMITTED);
    let pushed = desk.pushed.lock();
    assert_eq!(pushed[0].1, RecordBody::Cancel { of: id, since: SINCE });
}
