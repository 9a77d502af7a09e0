//! Own partitions: which of them a reader gets, and what becomes of them as the node applies, stalls and stops.

use super::*;
use crate::certification::certifier::CertifierLimits;
use crate::digest::SeenLog;
use crate::key_hash::graph_salt::GraphSalt;
use crate::log::reader::ReadMessage;
use crate::node::own_partitions::tests::counting_reader::{CountingReader, empty_store};
use crate::node::partition_store::Installed;
use crate::node::replicated_state::ReplicatedState;
use crate::node::snapshot_partitions::SnapshotPartitions;
use crate::planted::assert_found;
use crate::record::body::{Record, RecordBody};
use crate::record::message::{Message, MessageBuilder};
use crate::record_id::{Author, NodeId};
use crate::tables::cluster_tables::ClusterTables;
use crate::tables::members::Members;
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::PartitionCount;

pub(in crate::node) mod counting_reader;

struct Echo;

impl PartitionReader for Echo {
    fn answer(&self, _at: LogPosition, asked: &[u8], _check_time: CheckTime<'_>) -> Result<Vec<u8>> {
        Ok(asked.to_vec())
    }

    fn open_stage_view(&self, _at: LogPosition) -> Result<Box<dyn GraphView>> {
        panic!("no query comes here")
    }

    fn open_partition_view(&self, _at: LogPosition) -> Result<Box<dyn PartitionView>> {
        panic!("no view comes here")
    }
}

/// A store of nothing.
struct ToyStore {
    installed: Installed,
    /// Opens its views, if some are opened.
    counting: Option<Arc<CountingReader>>,
}

impl ToyStore {
    fn through(seen: &SeenLog) -> Self {
        Self { installed: Installed::all(seen), counting: None }
    }
}

impl ReadableStore for ToyStore {
    fn reader(&self) -> Option<Arc<dyn PartitionReader>> {
        Some(match &self.counting {
            Some(counting) => Arc::clone(counting) as Arc<dyn PartitionReader>,
            None => Arc::new(Echo),
        })
    }
}

impl PartitionStore for ToyStore {
    type PendingSync = ();

    fn installed(&self) -> Installed {
        self.installed
    }

    fn has_filled(&self, _: IndexId) -> bool {
        true
    }

    fn apply(&mut self, _: Timestamp, _: Vec<Mutation>, _: &SeenLog) -> Result<()> {
        panic!("nothing is committed")
    }

    fn publish_through(&mut self, _: &SeenLog) -> Result<()> {
        panic!("nobody asks the thread of the node")
    }

    fn begin_sync(&self) {}
}

const KEPT: PartitionId = PartitionId(0);
const AHEAD: PartitionId = PartitionId(1);

fn applier() -> Applier<ToyStore> {
    let members = Members::new([(NodeId(0), "a:1".into())]);
    let tables = ClusterTables::new(PartitionCount::new(2).unwrap(), members, 1);
    let mut applier =
        Applier::new(ReplicatedState::new(GraphSalt([7; 16]), CertifierLimits::default(), tables));
    applier.keep(KEPT, ToyStore::through(&SeenLog::START)).unwrap();
    let ahead = SeenLog { position: LogPosition(9), ..SeenLog::START };
    applier.keep(AHEAD, ToyStore::through(&ahead)).unwrap();
    applier
}

/// Applies a message that concerns no partition.
fn apply(applier: &mut Applier<ToyStore>, position: u64) {
    let mut builder = MessageBuilder::new(Author { node: NodeId(0), incarnation: 0 });
    assert!(builder.push(&Record { number: position, body: RecordBody::Barrier }));
    let bytes = builder.finish(&applier.state().seen());
    let message = Message::decode(&bytes).unwrap();
    applier.apply(ReadMessage { position: LogPosition(position), message, bytes: bytes.into() });
}

fn readers_get_what_has_been_applied() {
    let (mut applier, mut publisher) = (applier(), OwnPublisher::new());
    let own = publisher.own().clone();
    let has = |partition, at| own.reader(partition, LogPosition(at)).is_some();
    assert!(!has(KEPT, 0), "nothing is published yet");
    publisher.publish(&applier);
    assert!(has(KEPT, 0) && !has(KEPT, 1), "its snapshot is not applied");
    apply(&mut applier, 1);
    assert!(!has(KEPT, 1));
    publisher.publish(&applier);
    assert!(has(KEPT, 0) && has(KEPT, 1) && !has(KEPT, 2) && !has(PartitionId(2), 0));
    assert!(!has(AHEAD, 0) && !has(AHEAD, 1), "one that is ahead is not proved");
}

#[test]
fn a_partition_is_read_as_far_as_its_node_has_applied_the_log() {
    readers_get_what_has_been_applied();
}

#[test]
fn what_is_given_up_or_belongs_to_a_node_that_has_stopped_is_read_no_more() {
    let (mut applier, mut publisher) = (applier(), OwnPublisher::new());
    let own = publisher.own().clone();
    publisher.publish(&applier);
    let before = own.reader(KEPT, LogPosition::START).unwrap();
    let store = applier.give_up(KEPT).unwrap();
    publisher.publish(&applier);
    assert!(own.reader(KEPT, LogPosition::START).is_none());
    assert_eq!(before.answer(LogPosition::START, &[5], &|| Ok(())).unwrap(), [5], "who reads goes on");
    // Another store of the same partition, between two looks.
    applier.keep(KEPT, store).unwrap();
    publisher.publish(&applier);
    let store = applier.give_up(KEPT).unwrap();
    let before = own.reader(KEPT, LogPosition::START).unwrap();
    applier.keep(KEPT, store).unwrap();
    publisher.publish(&applier);
    let now = own.reader(KEPT, LogPosition::START).unwrap();
    assert!(!Arc::ptr_eq(&before, &now), "it is the store that was given up");
    drop(publisher);
    assert!(own.reader(KEPT, LogPosition::START).is_none(), "the node has stopped");
}

#[test]
fn a_partition_that_was_ahead_is_read_once_its_node_has_applied_as_much() {
    let (mut applier, mut publisher) = (applier(), OwnPublisher::new());
    applier.give_up(AHEAD).unwrap();
    let ahead = {
        let mut other = self::applier();
        (1..=2).for_each(|position| apply(&mut other, position));
        other.state().seen()
    };
    applier.keep(AHEAD, ToyStore::through(&ahead)).unwrap();
    let own = publisher.own().clone();
    let is_read = || [KEPT, AHEAD].map(|partition| own.reader(partition, LogPosition::START).is_some());
    publisher.publish(&applier);
    assert_eq!(is_read(), [true, false]);
    for (position, is_proved) in [(1, false), (2, true), (3, true)] {
        apply(&mut applier, position);
        publisher.publish(&applier);
        assert_eq!(is_read(), [true, is_proved], "after message {position}");
    }
}

const OTHER: PartitionId = PartitionId(2);

fn others_stay_open_when_a_partition_leaves() {
    let (mut applier, mut publisher) = (applier(), OwnPublisher::new());
    applier.give_up(KEPT).unwrap();
    let readers = [KEPT, OTHER].map(|partition| {
        let counting = CountingReader::new();
        let store = ToyStore { counting: Some(Arc::clone(&counting)), ..ToyStore::through(&SeenLog::START) };
        applier.keep(partition, store).unwrap();
        counting
    });
    publisher.publish(&applier);
    let count = PartitionCount::new(4).unwrap();
    let snapshot = SnapshotPartitions::new(publisher.own().clone(), LogPosition::START, count);
    let views = || [KEPT, OTHER].map(|partition| snapshot.view(partition).is_some());
    let (open, opens) =
        (|| [readers[0].open(), readers[1].open()], || [readers[0].opens(), readers[1].opens()]);
    assert_eq!((views(), open()), ([true, true], [1, 1]));
    apply(&mut applier, 1);
    publisher.publish(&applier);
    assert_eq!(open(), [1, 1], "the same partitions have applied more");
    let store = applier.give_up(KEPT).unwrap();
    publisher.publish(&applier);
    assert_eq!(open(), [0, 1], "one is given up, and the other stays");
    assert_eq!((views(), views(), opens()), ([false, true], [false, true], [1, 1]));
    // It comes back: what it is now is opened, once.
    let installed = Installed::all(&applier.state().seen());
    applier.keep(KEPT, ToyStore { installed, ..store }).unwrap();
    publisher.publish(&applier);
    assert_eq!((views(), views(), open(), opens()), ([true, true], [true, true], [1, 1], [2, 1]));
    // Between two looks it is kept anew: what was opened is another store's.
    let store = applier.give_up(KEPT).unwrap();
    applier.keep(KEPT, store).unwrap();
    publisher.publish(&applier);
    assert_eq!((open(), views(), opens()), ([0, 1], [true, true], [3, 1]));
    drop(snapshot);
    assert_eq!(open(), [0, 0]);
}

#[test]
fn what_becomes_of_one_partition_closes_no_other() {
    others_stay_open_when_a_partition_leaves();
}

#[test]
fn a_snapshot_that_reads_one_partition_of_many_is_small() {
    let opened = OpenedPartitions::new(PartitionCount::new(4096).unwrap());
    let before = opened.bytes();
    assert!(opened.view(PartitionId(4095), || None).is_none());
    let after = opened.bytes();
    assert!(before < after && after < 8 << 10, "{before} bytes, and {after} after one read");
}

/// The newest commit that a store has published is read first; then another one comes, and the horizon lies between both.
fn a_commit_may_come_while_a_snapshot_begins() {
    let store = empty_store();
    let store = store.store();
    store.publish_through(Timestamp(5)).unwrap();
    store.set_horizon(Timestamp(8)).unwrap();
    let begin = |at: u64| {
        let published = || store.timeline().published();
        begin_within(Timestamp(at), published, |timestamp| {
            store.publish_through(Timestamp(20))?;
            store.snapshot_at(timestamp)
        })
    };
    let begun = begin(9).map(|snapshot| snapshot.timestamp());
    assert_eq!(begun.ok(), Some(Timestamp(9)), "a snapshot that is kept does not begin");
    assert_eq!(begin(7).map(drop).unwrap_err().kind(), ErrorKind::Conflict, "it is too old");
}

#[test]
fn a_commit_that_comes_while_a_snapshot_begins_does_not_end_it() {
    a_commit_may_come_while_a_snapshot_begins();
}

#[test]
fn planted_bugs_are_found() {
    let unapplied = readers_get_what_has_been_applied;
    assert_found(Bug::OwnPartitionUnapplied, unapplied, "its snapshot is not applied");
    assert_found(Bug::OthersGivenUp, others_stay_open_when_a_partition_leaves, "and the other stays");
    assert_found(Bug::NewerCommitUnseen, a_commit_may_come_while_a_snapshot_begins, "is kept does not begin");
}
