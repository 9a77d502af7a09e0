//! Snapshot partitions: how many snapshots of a store are open, and for how long.

use super::*;
use crate::node::own_partitions::{OwnPublisher, PartitionReader};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::view::GraphView;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::snapshot::index_entries::CheckTime;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};

const HERE: PartitionId = PartitionId(0);
const ELSEWHERE: PartitionId = PartitionId(1);
const AT: LogPosition = LogPosition(7);

/// Reads a store, or refuses to.
struct CountingReader {
    store: OpenStore<MemoryEngine>,
    is_refusing: bool,
    opens: AtomicU64,
}

impl CountingReader {
    fn new(is_refusing: bool) -> Arc<Self> {
        let options = OpenOptions {
            durability: Durability::None,
            environment: Environment::simulated(7),
            own_groups: Some(OwnGroups::new(HERE, PartitionCount::new(2).unwrap()).unwrap()),
            ..OpenOptions::default()
        };
        let store = OpenStore::open(Arc::new(MemoryDirectory::new("part")), &options).unwrap();
        Arc::new(Self { store, is_refusing, opens: AtomicU64::new(0) })
    }

    /// How many snapshots of the store are open.
    fn open(&self) -> u32 {
        self.store.store().statistics().readers
    }

    /// A node that keeps its store, and has applied enough.
    fn kept(self: &Arc<Self>) -> (OwnPartitions, OwnPublisher) {
        let own = OwnPartitions::of(LogPosition(9), [(HERE, Arc::clone(self) as Arc<dyn PartitionReader>)]);
        (own.clone(), OwnPublisher::of(own))
    }
}

impl PartitionReader for CountingReader {
    fn answer(&self, _: LogPosition, _: &[u8], _: CheckTime<'_>) -> Result<Vec<u8>> {
        panic!("no message comes here")
    }

    fn open_stage_view(&self, _: LogPosition) -> Result<Box<dyn GraphView>> {
        panic!("no query comes here")
    }

    fn open_partition_view(&self, _: LogPosition) -> Result<Box<dyn PartitionView>> {
        self.opens.fetch_add(1, Ordering::Relaxed);
        match self.is_refusing {
            true => Err(Error::conflict("it is merged away")),
            false => Ok(Box::new(self.store.store().snapshot_at(Timestamp::ZERO)?)),
        }
    }
}

fn snapshot(own: &OwnPartitions, at: LogPosition) -> SnapshotPartitions {
    SnapshotPartitions::new(own.clone(), at, PartitionCount::new(2).unwrap())
}

#[test]
fn a_partition_is_opened_by_its_first_read_until_the_snapshot_ends() {
    let reader = CountingReader::new(false);
    let (own, _publisher) = reader.kept();
    let snapshot = snapshot(&own, AT);
    assert_eq!(reader.open(), 0);
    assert!((0..3).all(|_| snapshot.view(HERE).is_some()));
    assert_eq!((reader.open(), reader.opens.load(Ordering::Relaxed)), (1, 1));
    drop(snapshot);
    assert_eq!(reader.open(), 0);
}

#[test]
fn a_forgotten_snapshot_holds_no_store_once_the_horizon_has_passed_it() {
    let reader = CountingReader::new(false);
    let (own, publisher) = reader.kept();
    let (forgotten, newer) = (snapshot(&own, AT), snapshot(&own, LogPosition(8)));
    assert!(forgotten.view(HERE).is_some() && newer.view(HERE).is_some());
    publisher.horizon_rose(AT);
    assert_eq!(reader.open(), 2, "the horizon is where it reads");
    publisher.horizon_rose(LogPosition(8));
    assert_eq!(reader.open(), 1, "a forgotten snapshot holds the store");
    assert!(forgotten.view(HERE).is_none(), "it is asked by messages, which say why it is too old");
    assert!(newer.view(HERE).is_some());
    let late = snapshot(&own, AT);
    assert!(late.view(HERE).is_none());
    assert_eq!(reader.open(), 1, "the horizon had passed it before its first read");
}

#[test]
fn a_snapshot_holds_no_store_once_other_partitions_are_published() {
    let reader = CountingReader::new(false);
    let (own, publisher) = reader.kept();
    let snapshot = snapshot(&own, AT);
    assert!(snapshot.view(HERE).is_some());
    // The node has stopped, and keeps nothing.
    drop(publisher);
    assert_eq!(reader.open(), 0, "a store that was given up is held");
    assert!(snapshot.view(HERE).is_none());
}

#[test]
fn a_read_that_has_begun_goes_on_to_its_end() {
    let reader = CountingReader::new(false);
    let (own, publisher) = reader.kept();
    let snapshot = snapshot(&own, AT);
    let reads = snapshot.view(HERE).unwrap();
    publisher.horizon_rose(LogPosition(9));
    assert_eq!(reader.open(), 1);
    assert!(reads.facts(&[]).unwrap().is_empty());
    drop(reads);
    assert_eq!(reader.open(), 0);
}

#[test]
fn what_cannot_be_opened_is_tried_once() {
    let reader = CountingReader::new(true);
    let (own, _publisher) = reader.kept();
    let snapshot = snapshot(&own, AT);
    assert!((0..3).all(|_| snapshot.view(HERE).is_none() && snapshot.view(ELSEWHERE).is_none()));
    assert_eq!(reader.opens.load(Ordering::Relaxed), 1, "it is tried again");
    assert!(snapshot.view(PartitionId(2)).is_none(), "a partition that the graph does not have");
}
