//! Node asker: a toy node answers as the partitions that are asked say, and readers of own partitions as a test says.

use super::*;
use crate::certification::certifier::CertifierLimits;
use crate::key_hash::graph_salt::GraphSalt;
use crate::log_position::LogPosition;
use crate::node::node_thread::{NodeBell, NodeStep, NodeThread, ThreadedNode};
use crate::node::own_partitions::tests::counting_reader::CountingReader;
use crate::node::owned_node::AskCallback;
use crate::node::readers::Readers;
use crate::node::replicated_state::ReplicatedState;
use crate::node::shared_tables::TablesPublisher;
use crate::planted::assert_found;
use crate::record_id::NodeId;
use crate::tables::cluster_tables::ClusterTables;
use crate::tables::members::Members;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::view::GraphView;
use evergraph_storage::io::clock::SystemClock;
use evergraph_storage::snapshot::index_entries::CheckTime;
use std::collections::BTreeMap;

/// Answers in the next step: with what was asked, or as the partition says.
#[derive(Default)]
struct ToyNode {
    asked: Vec<(AskId, Ask)>,
    callbacks: BTreeMap<AskId, AskCallback>,
    count: u64,
    forgotten: Vec<AskId>,
}

const TOO_OLD: PartitionId = PartitionId(90);
const SILENT: PartitionId = PartitionId(91);
const FULL: PartitionId = PartitionId(92);
const STOPS: PartitionId = PartitionId(93);
const NEVER: PartitionId = PartitionId(94);

impl ThreadedNode for ToyNode {
    fn step(&mut self, _now: Duration) -> NodeStep {
        for (id, ask) in std::mem::take(&mut self.asked) {
            let outcome = match ask.partition {
                TOO_OLD => AskOutcome::TooOld,
                SILENT => AskOutcome::NotAnswered { reason: Some(RefusalReason::NotKept) },
                NEVER => continue,
                STOPS => return NodeStep::End,
                _ => AskOutcome::Answered(ask.asked),
            };
            self.callbacks.remove(&id).unwrap()(outcome);
        }
        NodeStep::Sleep(None)
    }
}

impl AskingNode for ToyNode {
    fn ask(&mut self, _now: Duration, ask: Ask) -> std::result::Result<AskId, AskRefusal> {
        assert_eq!(ask.at.position, LogPosition(7));
        assert!(ask.patience <= Duration::from_secs(9));
        if ask.partition == FULL {
            return Err(AskRefusal::Full);
        }
        self.count += 1;
        self.asked.push((AskId(self.count), ask));
        Ok(AskId(self.count))
    }

    fn when_ended(&mut self, id: AskId, callback: AskCallback) {
        self.callbacks.insert(id, callback);
    }

    fn forget(&mut self, _now: Duration, id: AskId) {
        self.forgotten.push(id);
    }
}

fn started() -> (NodeThread<ToyNode>, NodeAsker<ToyNode>) {
    let thread = NodeBell::new().start("toy", Arc::new(SystemClock::new()), ToyNode::default()).unwrap();
    let readers = Readers::new(SeenLog { position: LogPosition(7), ..SeenLog::START });
    readers.joined();
    let asker = NodeAsker::new(thread.handle(), readers.begin().unwrap(), Duration::from_secs(9));
    (thread, asker)
}

fn message(partition: PartitionId) -> (PartitionId, Vec<u8>) {
    (partition, vec![partition.0 as u8])
}

#[test]
fn answers_come_in_the_order_of_the_messages() {
    let (_thread, asker) = started();
    let messages: Vec<_> = (0..50).map(|partition| message(PartitionId(partition % 7))).collect();
    let expected: Vec<_> = messages.iter().map(|(_, asked)| asked.clone()).collect();
    assert_eq!(asker.ask(messages).unwrap(), expected);
    assert_eq!(asker.ask(Vec::new()).unwrap(), Vec::<Vec<u8>>::new());
    assert_eq!(asker.at().position, LogPosition(7));
}

#[test]
fn the_first_error_ends_it_and_the_others_are_forgotten() {
    let (thread, asker) = started();
    let kind_of = |partition| {
        let messages = [PartitionId(1), NEVER, partition].map(message).to_vec();
        asker.ask(messages).unwrap_err().kind()
    };
    let kinds = [TOO_OLD, SILENT, FULL].map(kind_of);
    assert_eq!(kinds, [ErrorKind::Conflict, ErrorKind::Busy, ErrorKind::Busy]);
    assert_eq!(told(&thread, forgotten), [1, 2, 3, 4, 5, 6, 7, 8], "two of the last were asked");
}

#[test]
fn whoever_waits_learns_that_the_node_has_stopped() {
    let (thread, asker) = started();
    let messages = [PartitionId(1), STOPS, PartitionId(2)].map(message).to_vec();
    assert_eq!(asker.ask(messages).unwrap_err().kind(), ErrorKind::Io);
    drop(thread);
    assert_eq!(asker.ask(vec![message(PartitionId(1))]).unwrap_err().kind(), ErrorKind::Io);
}

/// What the node says of itself.
fn told<T: Send + 'static>(
    thread: &NodeThread<ToyNode>,
    what: impl FnOnce(&mut ToyNode) -> T + Send + 'static,
) -> T {
    let (tells, told) = std::sync::mpsc::channel();
    let call = move |node: &mut ToyNode, _: Duration| tells.send(what(node)).unwrap();
    thread.handle().call(call).unwrap();
    told.recv().unwrap()
}

fn forgotten(node: &mut ToyNode) -> Vec<u64> {
    node.forgotten.iter().map(|AskId(id)| *id).collect()
}

#[test]
fn a_wait_ends_with_the_deadline_or_the_cancellation_of_its_thread() {
    let (thread, asker) = started();
    let flag = CancelFlag::default();
    let waits = WaitLimit::default().and(flag.clone()).enter();
    let cancelling = evergraph_storage::sync::thread::spawn("cancels", move || flag.cancel()).unwrap();
    assert_eq!(asker.ask(vec![message(NEVER)]).unwrap_err().kind(), ErrorKind::Cancelled);
    cancelling.join().unwrap();
    drop(waits);
    let waits = WaitLimit::default().for_at_most(Duration::from_millis(10)).enter();
    assert_eq!(asker.ask(vec![message(NEVER)]).unwrap_err().kind(), ErrorKind::Cancelled);
    let asked = told(&thread, |node| node.count);
    assert_eq!(asker.ask(vec![message(NEVER)]).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(told(&thread, |node| node.count), asked, "nothing is asked once it has ended");
    drop(waits);
    assert_eq!(asker.ask(vec![message(PartitionId(1))]).unwrap(), [[1]]);
    // The flag may have been set before the first was asked.
    let all: Vec<_> = (1..=asked).collect();
    assert_eq!(told(&thread, forgotten), all);
}

#[test]
fn nothing_is_asked_for_whoever_has_failed_meanwhile() {
    let (thread, mut asker) = started();
    let reader = Arc::new(OwnReader(Own::Answers)) as Arc<dyn PartitionReader>;
    let partitions = OwnPartitions::of(LogPosition(7), [(PartitionId(1), reader)]);
    asker.own = Some(OwnCopies { partitions, clock: Arc::new(SystemClock::new()) });
    asker.patience = Duration::ZERO;
    let (release, released) = std::sync::mpsc::channel::<()>();
    let blocks = move |_: &mut ToyNode, _: Duration| released.recv().unwrap();
    thread.handle().call(blocks).unwrap();
    // The first waits for the thread of the node, the second is too late.
    let late = asker.ask(vec![message(NEVER), message(PartitionId(1))]).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Busy);
    release.send(()).unwrap();
    assert_eq!(told(&thread, |node| node.callbacks.len()), 0, "an ask stays open");
    assert_eq!(told(&thread, forgotten), [1]);
}

#[test]
fn other_nodes_are_asked_before_own_work_is_done_and_waited_for_after_it() {
    let (thread, asker) = started();
    let mut works = 0;
    let mut own_work = |_: CheckTime<'_>| {
        works += 1;
        assert_eq!(told(&thread, |node| node.count), 1, "nobody was asked yet");
        Ok(())
    };
    assert_eq!(asker.ask_beside(vec![message(PartitionId(1))], &mut own_work).unwrap(), [[1]]);
    assert_eq!(works, 1);
    // What it fails by ends the wait.
    let mut fails = |_: CheckTime<'_>| Err(Error::new(ErrorKind::Cancelled, "on purpose"));
    let failed = asker.ask_beside(vec![message(NEVER)], &mut fails).unwrap_err();
    assert_eq!(failed.to_string(), "on purpose");
    assert_eq!(told(&thread, forgotten), [2]);
    let mut alone = 0;
    let mut own_work = |_: CheckTime<'_>| {
        alone += 1;
        Ok(())
    };
    asker.ask_beside(Vec::new(), &mut own_work).unwrap();
    assert_eq!((alone, told(&thread, |node| node.count)), (1, 2), "without messages");
}

fn own_work_ends_with_the_first_error() {
    let (thread, asker) = started();
    let mut own_work = |others: CheckTime<'_>| {
        // The node has asked for both, and one has failed.
        while told(&thread, |node| (node.count, node.callbacks.len())) != (2, 1) {}
        let heard = others().expect_err("own work goes on though nobody waits for it");
        assert_eq!(heard.kind(), ErrorKind::Conflict);
        Err(heard)
    };
    let failed = asker.ask_beside([TOO_OLD, NEVER].map(message).to_vec(), &mut own_work).unwrap_err();
    assert!(failed.kind() == ErrorKind::Conflict && failed.to_string().contains("too long ago"), "{failed}");
    assert_eq!(told(&thread, forgotten), [1, 2]);
}

#[test]
fn own_work_hears_the_errors_of_others() {
    own_work_ends_with_the_first_error();
}

fn partitions_of_the_readers_moment_are_read_where_they_lie() {
    let (thread, asker) = started();
    let members = Members::new([(NodeId(0), "a:1".into())]);
    let tables = ClusterTables::new(PartitionCount::new(2).unwrap(), members, 1);
    let state = ReplicatedState::new(GraphSalt([7; 16]), CertifierLimits::default(), tables);
    let moment = TablesPublisher::new(&state).tables().newest();
    let (here, elsewhere, counting) = (PartitionId(0), PartitionId(1), CountingReader::new());
    let reader = Arc::clone(&counting) as Arc<dyn PartitionReader>;
    let partitions = OwnPartitions::of(LogPosition(7), [(here, reader)]);
    let readers = Readers::new(moment.seen());
    readers.joined();
    let beside =
        |asker: NodeAsker<ToyNode>| asker.beside(partitions.clone(), &moment, Arc::new(SystemClock::new()));
    let patience = Duration::from_secs(9);
    let of_moment = beside(NodeAsker::new(thread.handle(), readers.begin().unwrap(), patience));
    assert!(of_moment.own_view(here).is_some(), "what is kept here is asked for");
    assert!(of_moment.own_view(here).is_some() && of_moment.own_view(elsewhere).is_none());
    assert_eq!((counting.opens(), counting.open()), (1, 1));
    assert!(!of_moment.keeps_all());
    drop(of_moment);
    assert_eq!(counting.open(), 0);
    // It begins where the node's tables are not.
    let other = beside(asker);
    assert!(other.own_view(here).is_none(), "it is of another log");
    assert_eq!(other.ask(vec![message(here)]).unwrap(), [[0]]);
    assert_eq!((counting.opens(), told(&thread, |node| node.count)), (1, 1), "its node asks");
    assert!(!other.keeps_all());
}

#[test]
fn a_node_that_keeps_all_partitions_says_so_before_one_is_opened() {
    let (thread, _asker) = started();
    let members = Members::new([(NodeId(0), "a:1".into())]);
    let tables = ClusterTables::new(PartitionCount::new(1).unwrap(), members, 1);
    let state = ReplicatedState::new(GraphSalt([7; 16]), CertifierLimits::default(), tables);
    let moment = TablesPublisher::new(&state).tables().newest();
    let counting = CountingReader::new();
    let reader = Arc::clone(&counting) as Arc<dyn PartitionReader>;
    let partitions = OwnPartitions::of(LogPosition(7), [(PartitionId(0), reader)]);
    let readers = Readers::new(moment.seen());
    readers.joined();
    let asker = NodeAsker::new(thread.handle(), readers.begin().unwrap(), Duration::from_secs(9));
    let asker = asker.beside(partitions, &moment, Arc::new(SystemClock::new()));
    assert!(asker.keeps_all() && counting.opens() == 0);
}

#[test]
fn own_partitions_are_read_at_the_moment_of_the_reader() {
    partitions_of_the_readers_moment_are_read_where_they_lie();
}

#[test]
fn planted_bugs_are_found() {
    let leak = nothing_is_asked_for_whoever_has_failed_meanwhile;
    assert_found(Bug::AskedAfterTheEnd, leak, "an ask stays open");
    assert_found(Bug::OwnWorkDeaf, own_work_ends_with_the_first_error, "own work goes on");
    let own_views = partitions_of_the_readers_moment_are_read_where_they_lie;
    assert_found(Bug::OwnViewsUnread, own_views, "what is kept here is asked for");
    assert_found(Bug::OwnViewsOfOtherLog, own_views, "it is of another log");
}

/// What the reader of an own partition does.
#[derive(Clone, Copy)]
enum Own {
    /// Says where it reads and what was asked.
    Answers,
    Refuses(ErrorKind),
    Panics,
}

struct OwnReader(Own);

impl PartitionReader for OwnReader {
    fn answer(&self, at: LogPosition, asked: &[u8], check_time: CheckTime<'_>) -> Result<Vec<u8>> {
        check_time()?;
        match self.0 {
            Own::Answers => Ok([&[at.0 as u8], asked].concat()),
            Own::Refuses(kind) => Err(Error::new(kind, "not here")),
            Own::Panics => panic!("on purpose"),
        }
    }

    fn open_stage_view(&self, _: LogPosition) -> Result<Box<dyn GraphView>> {
        panic!("no query comes here")
    }

    fn open_partition_view(&self, _: LogPosition) -> Result<Box<dyn PartitionView>> {
        panic!("no view comes here")
    }
}

#[test]
fn own_partitions_are_read_without_the_thread_and_what_fails_there_goes_to_it() {
    let (thread, mut asker) = started();
    let refuses = Own::Refuses;
    let readers = [
        (1, Own::Answers),
        (2, refuses(ErrorKind::Conflict)),
        (3, refuses(ErrorKind::Busy)),
        (4, refuses(ErrorKind::Corrupt)),
        (6, Own::Panics),
    ];
    let readers = readers.map(|(partition, own)| {
        (PartitionId(partition), Arc::new(OwnReader(own)) as Arc<dyn PartitionReader>)
    });
    let partitions = OwnPartitions::of(LogPosition(7), readers.clone());
    asker.own = Some(OwnCopies { partitions, clock: Arc::new(SystemClock::new()) });
    let ask = |asker: &NodeAsker<ToyNode>, partitions: &[u16]| {
        asker.ask(partitions.iter().map(|partition| message(PartitionId(*partition))).collect())
    };
    let answers = ask(&asker, &[5, 1, 2, 1, 3, 4, 6]).unwrap();
    assert_eq!(answers, [vec![5], vec![7, 1], vec![2], vec![7, 1], vec![3], vec![4], vec![6]]);
    assert_eq!(told(&thread, |node| node.count), 5, "two are answered here");
    // A failure elsewhere ends it all the same.
    assert_eq!(ask(&asker, &[1, TOO_OLD.0]).unwrap_err().kind(), ErrorKind::Conflict);
    // The node has not applied as much.
    let partitions = OwnPartitions::of(LogPosition(6), readers.clone());
    asker.own = Some(OwnCopies { partitions, clock: Arc::new(SystemClock::new()) });
    assert_eq!(ask(&asker, &[1]).unwrap(), [[1]]);
    // Whoever waits no longer is told so.
    let partitions = OwnPartitions::of(LogPosition(7), readers);
    asker.own = Some(OwnCopies { partitions, clock: Arc::new(SystemClock::new()) });
    asker.patience = Duration::ZERO;
    assert_eq!(ask(&asker, &[1]).unwrap_err().kind(), ErrorKind::Busy);
    asker.patience = Duration::from_secs(9);
    // What needs nobody else needs no thread.
    drop(thread);
    assert_eq!(ask(&asker, &[1]).unwrap(), [[7, 1]]);
    assert_eq!(ask(&asker, &[1, 2]).unwrap_err().kind(), ErrorKind::Io);
}
