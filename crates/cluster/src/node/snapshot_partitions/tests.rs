//! Snapshot partitions: how many snapshots of a store are open, and for how long.

use super::*;
use crate::node::own_partitions::tests::counting_reader::CountingReader;
use crate::node::own_partitions::{OwnPublisher, PartitionReader};
use evergraph_storage::sync::thread::spawn;

const HERE: PartitionId = PartitionId(0);
const ELSEWHERE: PartitionId = PartitionId(1);
const AT: LogPosition = LogPosition(7);

/// A node that keeps the store, and has applied enough.
fn kept(reader: &Arc<CountingReader>) -> (OwnPartitions, OwnPublisher) {
    let reader = Arc::clone(reader) as Arc<dyn PartitionReader>;
    let own = OwnPartitions::of(LogPosition(9), [(HERE, reader)]);
    (own.clone(), OwnPublisher::of(own))
}

fn snapshot(own: &OwnPartitions, at: LogPosition) -> SnapshotPartitions {
    SnapshotPartitions::new(own.clone(), at, PartitionCount::new(2).unwrap())
}

#[test]
fn a_partition_is_opened_by_its_first_read_until_the_snapshot_ends() {
    let reader = CountingReader::new();
    let (own, _publisher) = kept(&reader);
    let snapshot = snapshot(&own, AT);
    assert_eq!(reader.open(), 0);
    assert!((0..3).all(|_| snapshot.view(HERE).is_some()));
    assert_eq!((reader.open(), reader.opens()), (1, 1));
    drop(snapshot);
    assert_eq!(reader.open(), 0);
}

#[test]
fn whether_a_node_keeps_all_partitions_is_known_without_opening_one_and_stays() {
    let reader = CountingReader::new();
    let (own, publisher) = kept(&reader);
    assert!(!snapshot(&own, AT).are_all());
    let alone = SnapshotPartitions::new(own, AT, PartitionCount::new(1).unwrap());
    assert!(alone.are_all());
    assert_eq!(reader.opens(), 0);
    drop(publisher);
    assert!(alone.are_all(), "a query is told two things");
}

#[test]
fn a_forgotten_snapshot_holds_no_store_once_the_horizon_has_passed_it() {
    let reader = CountingReader::new();
    let (own, publisher) = kept(&reader);
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
    let reader = CountingReader::new();
    let (own, publisher) = kept(&reader);
    let snapshot = snapshot(&own, AT);
    assert!(snapshot.view(HERE).is_some());
    // The node has stopped, and keeps nothing.
    drop(publisher);
    assert_eq!(reader.open(), 0, "a store that was given up is held");
    assert!(snapshot.view(HERE).is_none());
}

#[test]
fn a_read_that_has_begun_goes_on_to_its_end() {
    let reader = CountingReader::new();
    let (own, publisher) = kept(&reader);
    let snapshot = snapshot(&own, AT);
    let reads = snapshot.view(HERE).unwrap();
    publisher.horizon_rose(LogPosition(9));
    assert_eq!(reader.open(), 1);
    assert!(reads.facts(&[]).unwrap().is_empty());
    drop(reads);
    assert_eq!(reader.open(), 0);
}

#[test]
fn nothing_stays_open_that_is_opened_while_it_is_closed() {
    let reader = CountingReader::new();
    for round in 0..200 {
        let (own, publisher) = kept(&reader);
        let snapshots = [AT, AT].map(|at| Arc::new(snapshot(&own, at)));
        let reading = snapshots.each_ref().map(|snapshot| {
            let snapshot = Arc::clone(snapshot);
            spawn("reads", move || drop((snapshot.view(HERE), snapshot.view(HERE)))).unwrap()
        });
        match round % 2 {
            0 => publisher.horizon_rose(LogPosition(8)),
            _ => drop(publisher),
        }
        reading.into_iter().for_each(|reads| reads.join().unwrap());
        assert_eq!(reader.open(), 0, "a snapshot that is closed holds the store, in round {round}");
        drop(snapshots);
    }
}

#[test]
fn what_its_node_has_not_applied_a_snapshot_does_not_open() {
    let reader = CountingReader::new();
    let (own, _publisher) = kept(&reader);
    assert!(snapshot(&own, LogPosition(9)).view(HERE).is_some());
    assert!(snapshot(&own, LogPosition(10)).view(HERE).is_none(), "it is not applied");
    assert_eq!(reader.opens(), 1);
}

#[test]
fn what_cannot_be_opened_is_tried_once() {
    let reader = CountingReader::refusing();
    let (own, _publisher) = kept(&reader);
    let snapshot = snapshot(&own, AT);
    assert!((0..3).all(|_| snapshot.view(HERE).is_none() && snapshot.view(ELSEWHERE).is_none()));
    assert_eq!(reader.opens(), 1, "it is tried again");
    assert!(snapshot.view(PartitionId(2)).is_none(), "a partition that the graph does not have");
}
