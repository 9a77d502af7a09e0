//! Power cuts and failing disks at every operation of a checkpoint: the one before stays valid, no
//! acknowledged commit is lost, and a full disk heals.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::options::Durability;

use crate::support::{Database, crash, files};

fn commit_some(database: &Database, count: usize, random: &mut SplitMix64) -> bool {
    (0..count).all(|_| {
        let mutations = database.model().random_commit(random);
        let appended = database.append(&mutations);
        let done = appended.is_ok_and(|timestamp| database.log.acknowledge(timestamp.0).is_ok());
        database.log.step_preparer();
        done
    })
}

/// Commits, checkpoints, commits, checkpoints. Whether the disk let it.
fn two_checkpoints(database: &Database) -> bool {
    let mut random = SplitMix64::new(4);
    commit_some(database, 20, &mut random)
        && database.checkpoint().is_ok()
        && commit_some(database, 8, &mut random)
        && database.checkpoint().is_ok_and(|made| made.left_over.is_none())
        && commit_some(database, 3, &mut random)
}

fn every_crash_point(durability: Durability) {
    let mut stopped = 0;
    for changes in 1.. {
        let directory = MemoryDirectory::new("db");
        drop(Database::open(Arc::new(directory.clone()), durability).unwrap());
        let failing = FailingDirectory::new(Arc::new(directory.clone()));
        failing.plan(Fault::any_change(ErrorKind::Other).nth(changes).lasting());
        let Ok(database) = Database::open(Arc::new(failing), durability) else { continue };
        let whole = two_checkpoints(&database);
        let durable = database.log.durable();
        for seed in 0..2 {
            let image = crash(&directory, seed);
            for _ in 0..2 {
                let reopened = Database::open(Arc::new(image.clone()), durability)
                    .unwrap_or_else(|error| panic!("operation {changes}, image {seed}: {error}"));
                let found = reopened.published();
                assert!(found >= Timestamp(durable), "operation {changes}, image {seed}: lost {durable}");
                let model = database.model_at(found);
                assert_eq!(reopened.model(), model, "operation {changes}, image {seed}");
                reopened.checkpoint().unwrap();
            }
        }
        if whole {
            break;
        }
        stopped += 1;
    }
    assert!(stopped > 25, "only {stopped} operations failed");
}

#[test]
fn a_crash_at_any_operation_loses_nothing_in_mode_sync() {
    every_crash_point(Durability::Sync);
}

#[test]
fn a_crash_at_any_operation_loses_no_synced_commit_without_syncs() {
    every_crash_point(Durability::None);
}

/// Makes the `nth` operation of a kind on files with `prefix` find a full disk during a second
/// checkpoint. Whether that made it fail.
fn full_disk(operation: Operation, prefix: &str, nth: u64) -> bool {
    let directory = MemoryDirectory::new("db");
    let failing = FailingDirectory::new(Arc::new(directory.clone()));
    let database = Database::open(Arc::new(failing.clone()), Durability::None).unwrap();
    let mut random = SplitMix64::new(nth);
    assert!(commit_some(&database, 10, &mut random));
    database.checkpoint().unwrap();
    assert!(commit_some(&database, 10, &mut random));
    let manifest = || directory.read_all("manifest", 1 << 20).unwrap();
    let files = || files(&directory);
    let (manifest_before, files_before) = (manifest(), files());
    failing.plan(Fault::new(operation, prefix, ErrorKind::StorageFull).nth(nth));
    let failed = match database.checkpoint() {
        Ok(made) => made.left_over.is_some(),
        Err(CheckpointError::Io(error)) => {
            assert_eq!(error.kind(), ErrorKind::StorageFull);
            if !matches!(operation, Operation::Rename | Operation::SyncDirectory) {
                assert_eq!(manifest(), manifest_before);
                assert_eq!(files(), files_before, "what was written is removed");
            }
            true
        }
        Err(error) => panic!("{operation} {nth} of {prefix}: {error}"),
    };
    failing.heal();
    for _ in 0..2 {
        let reopened = Database::open(Arc::new(directory.power_cut()), Durability::None).unwrap();
        assert_eq!(reopened.model(), database.model_at(reopened.published()));
        let made = database.checkpoint().unwrap();
        assert!(made.left_over.is_none());
        assert_eq!(made.covered_through, database.published());
        let bodies = files().iter().filter(|name| name.starts_with("bodies-")).count();
        assert!(bodies <= 2 && !files().contains(&"manifest.new".to_owned()), "{:?}", files());
    }
    failed
}

#[test]
fn a_disk_that_is_full_once_fails_the_checkpoint_and_heals() {
    use Operation::{Create, Remove, Rename, Sync, SyncDirectory, Write};
    let of_files = [Create, Write, Sync]
        .iter()
        .flat_map(|operation| ["bodies-", "manifest"].map(|prefix| (*operation, prefix)));
    for (operation, prefix) in of_files.chain([(Rename, ""), (Remove, ""), (SyncDirectory, "")]) {
        let failed = (1..9).take_while(|nth| full_disk(operation, prefix, *nth)).count();
        assert!(failed > 0, "{operation} {prefix} was never asked for");
    }
}

#[test]
fn a_checkpoint_beside_commits_and_merges_of_other_threads_is_one_state() {
    for round in 0..6 {
        let directory = MemoryDirectory::new("db");
        let durability = if round % 2 == 0 { Durability::None } else { Durability::Sync };
        let database = Database::open(Arc::new(directory.clone()), durability).unwrap();
        let stop = AtomicBool::new(false);
        let image = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut random = SplitMix64::new(round);
                while !stop.load(Ordering::Relaxed) {
                    assert!(commit_some(&database, 1, &mut random));
                }
            });
            let merger = scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    database.engine.merge_everything();
                }
            });
            for _ in 0..10 {
                database.checkpoint().unwrap();
            }
            let durable = database.log.durable();
            let image = crash(&directory, round);
            stop.store(true, Ordering::Relaxed);
            // The thread sanitizer knows what a join orders, and nothing of a scope's end.
            writer.join().unwrap();
            merger.join().unwrap();
            (durable, image)
        });
        let (durable, image) = image;
        let reopened = Database::open(Arc::new(image), durability).unwrap();
        assert!(reopened.published() >= Timestamp(durable));
        assert_eq!(reopened.model(), database.model_at(reopened.published()), "round {round}");
    }
}

#[test]
fn a_store_that_takes_no_more_commits_makes_no_checkpoint() {
    let directory = MemoryDirectory::new("db");
    let database = Database::open(Arc::new(directory.clone()), Durability::None).unwrap();
    let poison = || database.engine.segments().timeline().latch().poisoned = Some("a panic".to_owned());
    let made = database.checkpoint_with(&mut |_| {
        poison();
        ControlFlow::Continue(())
    });
    assert!(matches!(made, Err(CheckpointError::Poisoned { .. })), "poisoned beside it");
    assert!(matches!(database.checkpoint(), Err(CheckpointError::Poisoned { .. })));
}

#[test]
fn a_database_whose_log_failed_makes_no_checkpoint() {
    let directory = MemoryDirectory::new("db");
    let failing = FailingDirectory::new(Arc::new(directory.clone()));
    let database = Database::open(Arc::new(failing.clone()), Durability::Sync).unwrap();
    let mut random = SplitMix64::new(1);
    assert!(commit_some(&database, 5, &mut random));
    failing.plan(Fault::new(Operation::Sync, "log-", ErrorKind::Other));
    assert!(!commit_some(&database, 1, &mut random));
    assert!(matches!(database.checkpoint(), Err(CheckpointError::Log(LogError::Poisoned { .. }))));
}

#[test]
fn a_cancelled_checkpoint_leaves_nothing_behind() {
    let directory = MemoryDirectory::new("db");
    let database = Database::open(Arc::new(directory.clone()), Durability::None).unwrap();
    assert!(commit_some(&database, 20, &mut SplitMix64::new(3)));
    let before = files(&directory);
    for at in 1..5 {
        let mut told = 0;
        let made = database.checkpoint_with(&mut |_| {
            told += 1;
            if told == at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(made, Err(CheckpointError::Cancelled)), "{at}: {made:?}");
        assert_eq!(files(&directory), before);
    }
    database.checkpoint().unwrap();
}
