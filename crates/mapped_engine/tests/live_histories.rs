//! Live histories: random commits, merges and snapshots in one process, beside a naive history.
//!
//! After each step every open snapshot reads again what it read first, by the versions that it found first and by those
//! that it finds now. At the end nothing is left that nobody needs.

#![cfg(not(any(shuttle, loom)))]

mod naive;

use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::GroupId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::claimed_slots::OpenSlot;
use evergraph_mapped_engine::group::SegmentSubject;
use evergraph_mapped_engine::live::{Live, WriterPresence};
use evergraph_mapped_engine::live_snapshot::LiveSnapshot;
use evergraph_mapped_engine::live_writer::CommitPart;
use evergraph_mapped_engine::merge::LiveMergeOutcome;
use evergraph_mapped_engine::shared_record::SharedRecord;
use evergraph_mapped_engine::slots::SnapshotNeeds;
use evergraph_mapped_engine::version::{ALL_KEYS, SegmentVersion};
use evergraph_mapped_engine::words::LineNumber;
use evergraph_storage::record::{Operation, RecordKey, Stamp};
use evergraph_storage::sync::atomic::Ordering;
use naive::{Change, NaiveDatabase, Place};
use proptest::prelude::*;
use std::sync::Arc;

const PLACES: [Place; 3] =
    [(GroupId(0), SegmentSubject(1)), (GroupId(0), SegmentSubject(0)), (GroupId(2000), SegmentSubject(5))];

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<(usize, u64, Option<Vec<u8>>)>),
    MakeReadable,
    MergeRuns(usize),
    MergeBody(usize),
    Reclaim,
    Begin,
    End(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let value = proptest::option::weighted(
        0.7,
        prop_oneof![Just(Vec::new()), proptest::collection::vec(any::<u8>(), 1..30)],
    );
    let commit = |most: usize| {
        proptest::collection::vec((0..PLACES.len(), 0u64..150, value.clone()), 1..most).prop_map(Step::Commit)
    };
    prop_oneof![
        8 => commit(6),
        2 => commit(150),
        4 => Just(Step::MakeReadable),
        3 => (0..PLACES.len()).prop_map(Step::MergeRuns),
        2 => (0..PLACES.len()).prop_map(Step::MergeBody),
        2 => Just(Step::Reclaim),
        3 => Just(Step::Begin),
        3 => (0usize..16).prop_map(Step::End),
    ]
}

type Snapshot = (OpenSlot, Vec<(Place, SegmentVersion)>);

fn check(database: &NaiveDatabase, (slot, versions): &Snapshot) {
    let timestamp = slot.timestamp();
    let expected = database.state(timestamp);
    let read = |versions: &[_]| database.read(timestamp, versions).expect("nothing is damaged");
    assert_eq!(read(versions), expected, "at {timestamp}, by the versions found first");
    assert_eq!(read(&database.versions(timestamp)), expected, "at {timestamp}, by the versions of now");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_snapshot_reads_its_commit_while_others_go_on(steps in proptest::collection::vec(step(), 1..90)) {
        let database = NaiveDatabase::new(&PLACES, 14, 1 << 30);
        let fresh = database.writer.arena().used_bytes();
        let mut open: Vec<Snapshot> = Vec::new();
        for step in steps {
            match step {
                Step::Commit(changes) => {
                    let change = |(place, key, value): (usize, u64, Option<Vec<u8>>)| -> Change {
                        (PLACES[place], key, value)
                    };
                    database.commit(&changes.into_iter().map(change).collect::<Vec<_>>());
                }
                Step::MakeReadable => database.make_readable(),
                Step::MergeRuns(place) => {
                    database.merge_runs(PLACES[place]);
                }
                Step::MergeBody(place) => {
                    database.merge_body(PLACES[place]);
                }
                Step::Reclaim => database.reclaim(),
                Step::Begin if open.len() < 16 => {
                    let slot = database.begin();
                    let versions = database.versions(slot.timestamp());
                    open.push((slot, versions));
                }
                Step::Begin => {}
                Step::End(at) if at < open.len() => drop(open.swap_remove(at)),
                Step::End(_) => {}
            }
            open.iter().for_each(|snapshot| check(&database, snapshot));
        }
        // Nobody reads, and all is merged: one version of each segment is left, and its body.
        open.clear();
        database.make_readable();
        for place in PLACES {
            database.merge_body(place);
        }
        let present = database.writer.live().published();
        let expected = database.state(present);
        prop_assert_eq!(database.read(present, &database.versions(present)).unwrap(), expected);
        database.reclaim();
        // The lines of older versions: nobody can be on the way over them any more.
        database.reclaim();
        prop_assert_eq!(database.writer.retired_count(), 0);
        prop_assert!(database.bodies() <= PLACES.len());
        for place in PLACES {
            prop_assert_eq!(database.merge_body(place), LiveMergeOutcome::Nothing);
        }
        prop_assert_eq!(database.writer.arena().used_bytes(), fresh);
    }
}

#[test]
fn a_long_reader_keeps_one_version_of_a_segment_and_everything_goes_when_it_ends() {
    let place = PLACES[0];
    let database = NaiveDatabase::new(&PLACES[..1], 16, 1 << 30);
    let fresh = database.writer.arena().used_bytes();
    let commit = |key: u64| {
        database.commit(&[(place, key % 50, Some(vec![key as u8; 9]))]);
        database.make_readable();
    };
    (0..70).for_each(commit);
    let slot = database.begin();
    let versions = database.versions(slot.timestamp());
    let snapshot = (slot, versions);
    for round in 0..50 {
        (0..20).for_each(|key| commit(round * 20 + key));
        assert!(matches!(database.merge_body(place), LiveMergeOutcome::Done { .. }));
        database.reclaim();
        check(&database, &snapshot);
        assert_eq!(database.bodies(), 1, "the present body; that of the snapshot is empty");
    }
    // Lines alone, of versions that the reader may be walking past.
    let kept = database.writer.arena().used_bytes() - fresh;
    assert!(kept < 36 << 10, "{kept} bytes");
    drop(snapshot);
    database.reclaim();
    database.reclaim();
    assert_eq!((database.writer.retired_count(), database.writer.arena().used_bytes()), (0, fresh));
}

#[test]
fn a_snapshot_of_the_writing_process_keeps_what_it_reads_without_a_slot() {
    let place = PLACES[0];
    let database = NaiveDatabase::new(&PLACES[..1], 16, 1 << 30);
    let commit = |key: u64| {
        database.commit(&[(place, key % 50, Some(vec![key as u8; 9]))]);
        database.make_readable();
    };
    (0..40).for_each(commit);
    database.merge_body(place);
    (40..60).for_each(commit);
    let own = database.writer.own_snapshots().begin(database.writer.live());
    let (timestamp, versions) = (own.timestamp(), database.versions(own.timestamp()));
    let expected = database.state(timestamp);
    for round in 0..10 {
        (0..20).for_each(|key| commit(round * 20 + key));
        database.merge_body(place);
        database.reclaim();
        assert_eq!(database.read(timestamp, &versions).unwrap(), expected);
        assert_eq!(database.read(timestamp, &database.versions(timestamp)).unwrap(), expected);
    }
    assert_eq!(database.bodies(), 2);
    drop(own);
    database.reclaim();
    database.reclaim();
    assert_eq!((database.bodies(), database.writer.retired_count()), (1, 0));
}

#[test]
fn a_segment_has_six_runs_at_most_whether_they_are_merged_or_not() {
    for merges in [false, true] {
        let place = PLACES[0];
        let database = NaiveDatabase::new(&PLACES[..1], 16, 1 << 30);
        let run_sizes = || database.segment(place).run_sizes();
        let (mut largest, mut merged) = (0, 0);
        for round in 0..40_u64 {
            let change =
                |at: u64| (place, (round * 71 + at * 13) % 997, Some(vec![round as u8; at as usize % 5]));
            database.commit(&(0..70).map(change).collect::<Vec<Change>>());
            if merges && let LiveMergeOutcome::Done { records, .. } = database.merge_runs(place) {
                merged += records;
            }
            database.make_readable();
            database.reclaim();
            largest = largest.max(run_sizes().len());
            let snapshot = database.begin();
            check(&database, &(snapshot, database.versions(Timestamp(round + 1))));
        }
        let sizes = run_sizes();
        assert_eq!(sizes.iter().sum::<usize>(), 40 * 70);
        // Without merges the last run takes what comes when there are six; with them few are left, each copied seldom.
        assert_eq!(largest, if merges { 3 } else { 6 }, "{sizes:?}");
        assert!(merges == (merged > 0) && merged < 5 * 40 * 70, "{merged}");
    }
}

/// A body of many records takes long to build: what is committed meanwhile fills runs, which others merge.
#[test]
fn runs_stay_few_while_a_body_is_merged_and_only_its_records_go() {
    let place = PLACES[0];
    let database = NaiveDatabase::new(&PLACES[..1], 16, 1 << 30);
    let commit = |number: u64| {
        let change =
            |at: u64| (place, (number * 71 + at * 13) % 997, Some(vec![number as u8; 1 + at as usize % 5]));
        database.commit(&(0..70).map(change).collect::<Vec<Change>>());
        database.make_readable();
    };
    (0..10).for_each(commit);
    let (reader, mut largest) = (database.begin(), 0);
    let versions = database.versions(reader.timestamp());
    let snapshot = (reader, versions);
    let merged = database.merge_body_while(place, || {
        for number in 10..60 {
            commit(number);
            let merged = database.merge_runs(place);
            assert_ne!(merged, LiveMergeOutcome::Busy, "a merge of the body keeps nobody from merging runs");
            largest = largest.max(database.segment(place).run_sizes().len());
            database.reclaim();
            check(&database, &snapshot);
        }
    });
    assert_eq!(merged, LiveMergeOutcome::Done { records: 10 * 70, growth: 0 });
    assert!(largest < 6, "{largest} runs");
    assert_eq!(database.segment(place).records(), 50 * 70, "those that came meanwhile");
    check(&database, &snapshot);
    let now = database.begin();
    let versions = database.versions(now.timestamp());
    check(&database, &(now, versions));
    drop(snapshot);
    // The second takes the rest; nothing is left of properties.
    assert!(database.merge_body(place).is_done());
    database.reclaim();
    database.reclaim();
    assert_eq!((database.segment(place).records(), database.writer.retired_count()), (0, 0));
}

/// Commits that wait for their sync are there before any snapshot sees them. One waits when the merge begins, the next one comes
/// while the body is built.
#[test]
fn a_merge_takes_what_is_readable_and_leaves_what_waits_and_what_comes_meanwhile() {
    let place = PLACES[0];
    let database = NaiveDatabase::new(&PLACES[..1], 16, 1 << 30);
    let commit = |key: u64| database.commit(&[(place, key, Some(vec![key as u8; 9]))]);
    commit(1);
    database.make_readable();
    commit(2);
    let merged = database.merge_body_while(place, || commit(3));
    // A snapshot of commit 1 reads the same when all commits are readable and what the merge replaced has been looked through.
    let slot = database.begin();
    let versions = database.versions(slot.timestamp());
    let snapshot = (slot, versions);
    check(&database, &snapshot);
    database.make_readable();
    database.reclaim();
    check(&database, &snapshot);
    let now = database.begin();
    let versions = database.versions(now.timestamp());
    check(&database, &(now, versions));
    assert_eq!(merged, LiveMergeOutcome::Done { records: 1, growth: 0 });
    assert_eq!((database.segment(place).base(), database.segment(place).records()), (Timestamp(1), 2));
}

/// Another process may store anywhere in `live`.
#[test]
fn a_stray_store_into_a_tails_length_is_no_panic_of_the_writer() {
    let place = PLACES[0];
    let database = NaiveDatabase::new(&PLACES[..1], 16, 1 << 30);
    let commit = |key: u64| database.commit(&[(place, key, Some(vec![1; 3]))]);
    (0..2).for_each(commit);
    let tail = database.segment(place).version().tail;
    let words = database.writer.live().words();
    words.slice(tail, 1).unwrap()[0].store(u64::MAX, Ordering::Relaxed);
    commit(2);
    database.make_readable();
    let now = database.begin();
    let versions = database.versions(now.timestamp());
    check(&database, &(now, versions));
}

#[test]
fn a_commit_without_room_changes_nothing_and_names_the_oldest_reader() {
    let place = PLACES[0];
    let database = NaiveDatabase::new(&PLACES[..1], 16, 256 << 10);
    let oldest = database.begin();
    let versions = database.versions(oldest.timestamp());
    let snapshot = (oldest, versions);
    let part = |timestamp: u64| CommitPart {
        segment: database.segment(place),
        records: vec![SharedRecord {
            key: RecordKey(timestamp),
            stamp: Stamp::new(Timestamp(timestamp), Operation::Insert),
            properties: vec![7; 1000],
        }],
    };
    let mut timestamp = 0;
    let error = loop {
        timestamp += 1;
        let parts = [part(timestamp)];
        match database.writer.reserve(&parts) {
            Ok(mut reserved) => {
                let _latch = database.timeline.latch();
                database.writer.commit(Timestamp(timestamp), &mut reserved, &mut |_, _| {});
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Limit);
    let says = format!("snapshot 0 of process {}, 0 s old, is the oldest", std::process::id());
    assert!(error.to_string().contains(&says), "{error}");
    assert!(timestamp > 64 && database.writer.live().published().0 == timestamp - 1);
    check(&database, &snapshot);
    assert_eq!(database.segment(place).records(), timestamp as usize - 1);
    // It had tails and runs of its own to read.
    drop(snapshot);
    database.reclaim();
    let parts = [part(timestamp)];
    assert!(database.writer.reserve(&parts).is_ok(), "there is room again");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whoever may write `live` can put anything there: wrong answers and errors, but no panic and no end that never comes.
    #[test]
    fn no_damage_of_live_makes_a_reader_panic_or_go_on_for_ever(
        commits in 1u64..200,
        damage in proptest::collection::vec((any::<u16>(), 0u8..3, any::<u64>()), 1..60),
    ) {
        let database = NaiveDatabase::new(&PLACES, 14, 1 << 30);
        let live = Arc::clone(database.writer.live());
        let slot = database.begin();
        for round in 0..commits {
            let place = PLACES[round as usize % PLACES.len()];
            database.commit(&[(place, round % 70, Some(vec![round as u8; round as usize % 20]))]);
            database.make_readable();
            if round % 50 == 49 {
                database.merge_body(place);
            }
        }
        let words = live.words().slice(LineNumber(0), 1 << 11).unwrap();
        for (at, kind, value) in damage {
            let word = &words[usize::from(at) % words.len()];
            let value = match kind {
                // Anything; a line that there is; two of them.
                0 => value,
                1 => value % 400,
                _ => (value % 400) << 32 | value >> 32 & 0x1ff,
            };
            word.store(value, Ordering::Relaxed);
        }
        let _ = SnapshotNeeds::scan(live.slot_words(), &[], live.readable());
        let _ = Live::join(Arc::clone(live.words()), 7, WriterPresence::Present(None));
        for timestamp in [Timestamp::ZERO, slot.timestamp(), Timestamp(commits / 2), Timestamp::MAX] {
            let snapshot = LiveSnapshot::new(&live, timestamp);
            for (group, subject) in PLACES {
                let _ = snapshot.label(group);
                if let Ok(Some(version)) = snapshot.version(group, subject) {
                    let _ = snapshot.records(&version, &ALL_KEYS);
                }
            }
        }
    }
}
