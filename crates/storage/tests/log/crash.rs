//! Power cuts after every operation, with sectors kept, lost and torn: no acknowledged commit is
//! lost, no part of one appears, and the log goes on from there.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use evergraph_storage::io::directory::Directory as _;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::log::options::{Durability, LogOptions};
use evergraph_storage::log::recovery::Replay;

use crate::support::{append, commit, open, read, small_files, timestamps};

/// A disk that keeps, loses and tears sectors as the seed says.
fn crash(directory: &MemoryDirectory, seed: u64) -> MemoryDirectory {
    let mut random = SplitMix64::new(seed);
    let piece = directory.write_unit().bytes().min(512);
    directory.crash(|_| match random.next_u64() % 4 {
        0 | 1 => CrashOutcome::Kept,
        2 => CrashOutcome::Lost,
        _ => CrashOutcome::Torn((random.next_u64() % piece) as usize),
    })
}

/// Commits until the disk stops after `changes` operations. Returns the last commit that was
/// acknowledged or durable.
fn run_until_the_disk_stops(
    directory: &MemoryDirectory,
    durability: Durability,
    changes: u64,
) -> Option<u64> {
    let failing = FailingDirectory::new(Arc::new(directory.clone()));
    failing.plan(Fault::any_change(ErrorKind::Other).nth(changes).lasting());
    // Modes that do not wait write several batches before they sync.
    let options = LogOptions { spill_bytes: 2000, ..small_files(durability) };
    let log = open(&failing, options).ok()?;
    let first = log.durable() + 1;
    for ts in first..first + 24 {
        // Every third commit shares its batch with the next one.
        let done = if ts % 3 == 0 { append(&log, ts) } else { commit(&log, ts) };
        if done.is_err() {
            return Some(log.durable());
        }
        if durability == Durability::None && ts % 7 == 0 && log.wait_durable(ts - 3).is_err() {
            return Some(log.durable());
        }
    }
    let done = log.close();
    let durable = log.durable();
    if done.is_ok() {
        assert_eq!(durable, first + 23);
    }
    Some(durable)
}

fn every_crash_point(
    durability: Durability,
    unit: WriteUnit,
    changes: impl Iterator<Item = u64>,
    images: u64,
) {
    for changes in changes {
        let directory = MemoryDirectory::new("db").with_unit(unit);
        let Some(durable) = run_until_the_disk_stops(&directory, durability, changes) else { continue };
        for seed in 0..images {
            let context = format!("{durability:?}, {unit:?}, {changes} changes, image {seed}");
            let image = if seed == 0 { directory.power_cut() } else { crash(&directory, seed) };
            let replay = Replay { after_ts: 0, need_ts: durable, ..Replay::default() };
            let (recovered, found) =
                read(&image, replay).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(found, (1..=recovered.last_ts).collect::<Vec<_>>(), "{context}: a prefix, in order");
            assert!(recovered.last_ts >= durable, "{context}: {durable} was durable");
            assert_eq!(timestamps(&image), found, "{context}: reading twice");

            // A second life, also cut off, on top of the first one's torn end.
            let again = run_until_the_disk_stops(&image, durability, 1 + (changes + seed * 7) % 40);
            let image = crash(&image, !seed);
            let last_ts = again.unwrap_or(recovered.last_ts).max(recovered.last_ts);
            let replay = Replay { after_ts: 0, need_ts: last_ts, ..Replay::default() };
            let (twice, found) =
                read(&image, replay).unwrap_or_else(|error| panic!("{context}, twice: {error}"));
            assert_eq!(found, (1..=twice.last_ts).collect::<Vec<_>>(), "{context}, twice");
            assert!(twice.last_ts >= last_ts, "{context}, twice: {last_ts} was durable");
        }
    }
}

#[test]
fn no_acknowledged_commit_is_lost_wherever_the_power_fails() {
    every_crash_point(Durability::Sync, WriteUnit::PAGE, 1..100, 24);
}

#[test]
fn where_lines_are_the_unit_no_acknowledged_commit_is_lost_either() {
    every_crash_point(Durability::Sync, WriteUnit::LINE, 1..100, 8);
    every_crash_point(Durability::None, WriteUnit::LINE, 1..60, 4);
}

#[test]
fn without_sync_a_power_cut_loses_an_end_and_never_the_middle() {
    every_crash_point(Durability::None, WriteUnit::PAGE, 1..60, 24);
    every_crash_point(Durability::Interval(Duration::from_micros(50)), WriteUnit::PAGE, 1..60, 24);
}

/// A killed process leaves its writes in the system's cache. Who recovers them must sync them
/// before building on them.
#[test]
fn what_recovery_read_from_the_cache_survives_the_next_power_cut() {
    let directory = MemoryDirectory::new("db");
    let failing = FailingDirectory::new(Arc::new(directory.clone()));
    let options = LogOptions { durability: Durability::None, ..LogOptions::default() };
    let log = open(&failing, options).unwrap();
    (1..=20).for_each(|ts| append(&log, ts).unwrap());
    // The file's first sync is that of its header, the second that of the batch.
    failing.plan(Fault::new(Operation::Sync, "log-", ErrorKind::Other).nth(2).lasting());
    assert!(log.wait_durable(20).is_err());
    drop(log);
    let found = timestamps(&directory);
    assert_eq!(found.len(), 20, "the writes are in the cache");
    assert_eq!(timestamps(&directory.power_cut()), [0; 0], "and only there");

    let second = open(&directory, small_files(Durability::Sync)).unwrap();
    assert_eq!(second.durable(), *found.last().unwrap());
    assert_eq!(timestamps(&directory.power_cut()), found);
    commit(&second, 100_000).unwrap();
    assert_eq!(timestamps(&directory.power_cut()).last(), Some(&100_000));
}
