//! Schedules: a writer, its merges, passes that free, and snapshots of its own process and in slots, driven by shuttle.
//!
//! Every snapshot must read its prefix of the history, first and again, by the versions that it found first; what is
//! freed is overwritten, and bodies are gone from their map. `tests/planted` runs the same with a bug each.
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`; `make test` does.

#![cfg(shuttle)]

mod naive;

use evergraph_graph::id::GroupId;
use evergraph_mapped_engine::group::SegmentSubject;
use naive::{NaiveDatabase, Place};
use std::sync::Arc;

const RUNS: usize = 100;
const PLACE: Place = (GroupId(0), SegmentSubject(1));
const OTHER: Place = (GroupId(0), SegmentSubject(2));

fn commit(database: &NaiveDatabase, round: u64) {
    // Two segments, and a key that comes and goes.
    let value = (round % 3 != 2).then(|| vec![round as u8; 3]);
    let changes = [(PLACE, round % 2, value), (OTHER, 7, Some(vec![round as u8]))];
    database.commit(&changes);
}

fn read(database: &NaiveDatabase) {
    let slot = database.begin();
    let timestamp = slot.timestamp();
    let versions = database.versions(timestamp);
    let expected = database.state(timestamp);
    for look in ["first", "again"] {
        let found = database.read(timestamp, &versions).expect("nothing is damaged");
        assert_eq!(found, expected, "a snapshot at {timestamp} {look} reads something else than its commits");
    }
}

/// Runs each of `bodies` in a thread.
fn run(bodies: &[fn(&NaiveDatabase)]) {
    let database = Arc::new(NaiveDatabase::new(&[PLACE, OTHER], 11, 1 << 20));
    let threads: Vec<_> = bodies
        .iter()
        .map(|body| {
            let (database, body) = (Arc::clone(&database), *body);
            shuttle::thread::spawn(move || body(&database))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    let present = database.writer.live().published();
    let found = database.read(present, &database.versions(present)).expect("nothing is damaged");
    assert_eq!(found, database.state(present), "the present is not the whole history");
}

fn check(bodies: &'static [fn(&NaiveDatabase)]) {
    shuttle::check_pct(move || run(bodies), RUNS, 3);
    shuttle::check_random(move || run(bodies), RUNS);
}

fn commit_and_show(database: &NaiveDatabase) {
    for round in 0..3 {
        commit(database, round);
        database.make_readable();
    }
}

fn merge_and_free(database: &NaiveDatabase) {
    for _ in 0..2 {
        database.merge_body(PLACE);
        database.reclaim();
    }
}

#[test]
fn a_reader_beside_merges_that_are_freed_reads_its_commits() {
    check(&[commit_and_show, merge_and_free, read]);
}

#[test]
fn a_reader_beside_a_commit_sees_all_of_it_or_nothing() {
    check(&[commit_and_show, read, read]);
}

/// Enough for a tail that fills twice.
fn commit_often(database: &NaiveDatabase) {
    for round in 0..7 {
        commit(database, round);
        database.make_readable();
    }
}

fn free_often(database: &NaiveDatabase) {
    (0..4).for_each(|_| database.reclaim());
}

#[test]
fn merges_of_runs_and_bodies_beside_commits_lose_nothing() {
    check(&[
        commit_often,
        |database| {
            for _ in 0..3 {
                database.merge_runs(PLACE);
            }
        },
        merge_and_free,
        read,
    ]);
}

fn read_own(database: &NaiveDatabase) {
    for _ in 0..3 {
        let snapshot = database.begin_own();
        let timestamp = snapshot.timestamp();
        let versions = database.own_versions(timestamp);
        let expected = database.state(timestamp);
        // So that what it found is replaced meanwhile.
        shuttle::thread::yield_now();
        database.reclaim();
        let found = database.read(timestamp, &versions).expect("nothing is damaged");
        assert_eq!(found, expected, "a snapshot at {timestamp} reads something else than its commits");
    }
}

#[test]
fn a_snapshot_of_the_writing_process_reads_its_commits_beside_versions_that_are_freed() {
    check(&[commit_often, free_often, read_own]);
}

#[test]
fn a_merge_beside_passes_that_free_reads_what_it_began_with() {
    check(&[
        commit_often,
        |database| {
            for _ in 0..2 {
                database.merge_body(PLACE);
            }
        },
        free_often,
    ]);
}
