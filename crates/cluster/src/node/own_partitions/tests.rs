//! Own partitions: which of them a reader gets, and what becomes of them as the node applies, stalls and stops.

use super::*;
use crate::certification::certifier::CertifierLimits;
use crate::digest::SeenLog;
use crate::key_hash::graph_salt::GraphSalt;
use crate::log::reader::ReadMessage;
use crate::node::partition_store::Installed;
use crate::node::replicated_state::ReplicatedState;
use crate::planted::assert_found;
use crate::record::body::{Record, RecordBody};
use crate::record::message::{Message, MessageBuilder};
use crate::record_id::{Author, NodeId};
use crate::tables::cluster_tables::ClusterTables;
use crate::tables::members::Members;
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::timestamp::Timestamp;

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
struct ToyStore(Installed);

impl ReadableStore for ToyStore {
    fn reader(&self) -> Option<Arc<dyn PartitionReader>> {
        Some(Arc::new(Echo))
    }
}

impl PartitionStore for ToyStore {
    type PendingSync = ();

    fn installed(&self) -> Installed {
        self.0
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
    applier.keep(KEPT, ToyStore(Installed::all(&SeenLog::START))).unwrap();
    let ahead = SeenLog { position: LogPosition(9), ..SeenLog::START };
    applier.keep(AHEAD, ToyStore(Installed::all(&ahead))).unwrap();
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
fn what_was_opened_is_closed_with_other_partitions_and_not_with_each_message() {
    let (mut applier, mut publisher) = (applier(), OwnPublisher::new());
    let own = publisher.own().clone();
    publisher.publish(&applier);
    let opened = Arc::new(OpenedPartitions::new(PartitionCount::new(2).unwrap()));
    let is_registered = || own.shared.lock().opened.values().any(|one| Arc::ptr_eq(one, &opened));
    let first = own.register(LogPosition::START, &opened).unwrap();
    apply(&mut applier, 1);
    publisher.publish(&applier);
    assert!(is_registered(), "the same partitions have applied more");
    applier.give_up(KEPT).unwrap();
    publisher.publish(&applier);
    assert!(!is_registered() && opened.is_closed());
    // Whoever ends later has nothing to end.
    own.unregister(first);
    let second = own.register(LogPosition::START, &opened).unwrap();
    assert_ne!(first, second);
    own.unregister(second);
    assert!(!is_registered(), "it has ended");
}

#[test]
fn planted_bugs_are_found() {
    let unapplied = readers_get_what_has_been_applied;
    assert_found(Bug::OwnPartitionUnapplied, unapplied, "its snapshot is not applied");
}
