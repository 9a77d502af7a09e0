//! What a node gives that is starting, step by step: real threads copy a store of the memory engine.

use super::*;
use crate::copy::fetch::WakeSignal;
use crate::copy::message::CopyId;
use crate::copy::outgoing::CopyLimits;
use crate::digest::{LogDigest, SeenLog};
use crate::node::partition_store::PartitionStore as _;
use crate::node::store_partition::StorePartition;
use evergraph_graph::partition::{OwnGroups, PartitionCount};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::clock::{Clock, SystemClock};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::OpenOptions;

const ASKER: NodeId = NodeId(2);
const GIVEN: PartitionId = PartitionId(0);
const LACKED: PartitionId = PartitionId(1);

/// A partition that has the log through message 9.
fn partition() -> StorePartition<MemoryEngine> {
    let options = OpenOptions {
        durability: Durability::None,
        environment: Environment::simulated(7),
        own_groups: OwnGroups::new(GIVEN, PartitionCount::new(2).unwrap()),
        ..OpenOptions::default()
    };
    let opened = OpenStore::open(Arc::new(MemoryDirectory::new("partition")), &options).unwrap();
    let mut store = StorePartition::new(opened).unwrap();
    store.publish_through(&SeenLog { position: LogPosition(9), digest: LogDigest([3; 16]) }).unwrap();
    store
}

struct Asked {
    source: StartingSource<MemoryEngine>,
    clock: Arc<SystemClock>,
    signal: Arc<WakeSignal>,
    copies: u64,
}

impl Asked {
    fn new() -> Self {
        let (clock, signal) = (Arc::new(SystemClock::new()), Arc::new(WakeSignal::default()));
        let shared: Arc<dyn Clock> = Arc::<SystemClock>::clone(&clock);
        let directory = Arc::new(MemoryDirectory::new("node"));
        let copies = OutgoingCopies::new("node", CopyLimits::default(), directory, shared, signal.waker());
        Self { source: StartingSource::new(copies), clock, signal, copies: 0 }
    }

    fn send(&mut self, message: CopyMessage) -> CopyMessage {
        self.source.take(self.clock.now(), ASKER, message);
        let ends_at = self.clock.now() + Duration::from_secs(20);
        loop {
            let now = self.clock.now();
            assert!(now < ends_at, "it does not answer");
            match self.source.next_reply(now) {
                Some((ASKER, message)) => return message,
                Some(other) => panic!("{other:?}"),
                None => self.signal.wait(now + Duration::from_millis(20), &*self.clock),
            }
        }
    }

    fn begin(&mut self, subject: CopySubject) -> CopyMessage {
        self.copies += 1;
        self.send(CopyMessage::Begin { copy: CopyId(self.copies), subject })
    }

    /// Why it is refused; `None` if it is given.
    fn refusal(&mut self, partition: PartitionId, at_least: u64) -> Option<CopyRefusal> {
        match self.begin(CopySubject::Partition { partition, at_least: LogPosition(at_least) }) {
            CopyMessage::Begun { needed_from, .. } => {
                assert_eq!(needed_from, LogPosition(4));
                None
            }
            CopyMessage::Refused { reason, .. } => Some(reason),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_node_that_starts_gives_what_it_has_and_says_what_it_lacks_once_it_knows() {
    let mut asked = Asked::new();
    assert_eq!(asked.refusal(GIVEN, 5), Some(CopyRefusal::Starting));
    asked.source.has_state(LogPosition(4));
    let store = partition();
    asked.source.has_partition(GIVEN, Arc::clone(store.opened()), store.installed().through);
    assert_eq!(asked.refusal(LACKED, 5), Some(CopyRefusal::Starting), "it has not opened all");
    asked.source.has_opened([GIVEN, LACKED]);
    assert_eq!(asked.refusal(LACKED, 5), Some(CopyRefusal::Lacking));
    assert_eq!(asked.refusal(PartitionId(7), 5), Some(CopyRefusal::NotServed));
    assert_eq!(
        asked.refusal(GIVEN, 10),
        Some(CopyRefusal::Starting),
        "it has applied as much once it has joined"
    );
    assert_eq!(asked.refusal(GIVEN, 9), None);
    let copy = CopyId(asked.copies);
    let first = asked.send(CopyMessage::More { copy, have: 0, up_to: 1, is_again: false });
    assert!(matches!(first, CopyMessage::Piece(_)), "{first:?}");
    // It has copied what it lacked.
    asked.source.has_partition(LACKED, Arc::clone(store.opened()), store.installed().through);
    assert_eq!(asked.refusal(LACKED, 5), None);
    assert_eq!(asked.source.askers(LACKED), BTreeSet::from([ASKER]));
    assert!(asked.source.askers(PartitionId(3)).is_empty());
    // What was begun goes on when the node has joined.
    assert_eq!(asked.source.into_copies().count(), 1);
}

#[test]
fn a_state_is_given_once_it_is_one_and_to_nobody_who_runs_elsewhere() {
    let mut asked = Asked::new();
    let refused = |message| match message {
        CopyMessage::Refused { reason, .. } => Some(reason),
        _ => None,
    };
    // Not "starting": two that need each other's would wait for ever.
    assert_eq!(refused(asked.begin(CopySubject::State)), Some(CopyRefusal::NotServed));
    asked.source.has_state(LogPosition(4));
    assert_eq!(refused(asked.begin(CopySubject::State)), None);
    let now = asked.clock.now();
    asked.source.heard(now, ASKER);
    // The thread of the copy that was begun says that there is none, before or after.
    let answers = [asked.begin(CopySubject::State), asked.send(CopyMessage::NeedsLog(LogPosition(1)))];
    let answers = answers.map(refused);
    assert!(answers.contains(&Some(CopyRefusal::AskerAlive)), "{answers:?}");
}
