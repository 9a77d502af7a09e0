//! Power cuts and failing disks at every operation of a checkpoint: the one before stays valid, no acknowledged
//! commit is lost, and a full disk heals.

use crate::support::{Database, dump, files, go_on, open};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::options::Durability;
use std::io::ErrorKind as IoKind;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Of what was not synced, any part reached the disk.
fn crash(directory: &MemoryDirectory, seed: u64) -> Arc<dyn Directory> {
    let mut random = SplitMix64::new(seed);
    let keep = |_: evergraph_storage::io::memory::Unsynced<'_>| match random.next_u64() % 4 {
        0 | 1 => CrashOutcome::Kept,
        2 => CrashOutcome::Lost,
        _ => CrashOutcome::Torn((random.next_u64() % 512) as usize),
    };
    Arc::new(if seed == 0 { directory.power_cut() } else { directory.crash(keep) })
}

/// Commits, checkpoints, commits, checkpoints. Whether the disk let it.
fn two_checkpoints(database: &mut Database) -> bool {
    database.commit_some(12)
        && database.checkpoint().is_ok()
        && database.commit_some(6)
        && database.checkpoint().is_ok_and(|made| made.left_over.is_none())
        && database.commit_some(3)
}

fn every_crash_point(durability: Durability) {
    let mut stopped = 0;
    for changes in 1.. {
        let directory = MemoryDirectory::new("db");
        drop(open(Arc::new(directory.clone()), durability).unwrap());
        let failing = FailingDirectory::new(Arc::new(directory.clone()));
        failing.plan(Fault::any_change(IoKind::Other).nth(changes).lasting());
        let Ok(mut database) = Database::open(Arc::new(failing), durability, 4) else { continue };
        let is_whole = two_checkpoints(&mut database);
        let promised = match durability {
            Durability::Sync => database.acknowledged,
            _ => evergraph_graph::timestamp::Timestamp(database.open.store().log().durable()),
        };
        for seed in 0..2 {
            let at = format!("operation {changes}, image {seed}");
            database.check_image(&crash(&directory, seed), durability, promised, &at);
        }
        if is_whole {
            break;
        }
        stopped += 1;
    }
    assert!(stopped > 30, "only {stopped} operations failed");
}

#[test]
fn a_crash_at_any_operation_loses_nothing_in_mode_sync() {
    every_crash_point(Durability::Sync);
}

#[test]
fn a_crash_at_any_operation_loses_no_synced_commit_without_syncs() {
    every_crash_point(Durability::None);
}

/// Makes the `nth` operation of a kind on files with `prefix` fail once during a second checkpoint. Whether that made
/// it fail.
fn failing_once(operation: Operation, prefix: &str, nth: u64, kind: IoKind) -> bool {
    let directory = MemoryDirectory::new("db");
    let failing = FailingDirectory::new(Arc::new(directory.clone()));
    let mut database = Database::open(Arc::new(failing.clone()), Durability::None, nth).unwrap();
    assert!(database.commit_some(10));
    database.checkpoint().unwrap();
    assert!(database.commit_some(10));
    let reader = database.open.store().snapshot();
    let manifest = || directory.read_all("manifest", 1 << 20).unwrap();
    let (manifest_before, files_before) = (manifest(), files(&directory));
    failing.plan(Fault::new(operation, prefix, kind).nth(nth));
    let at = format!("{operation} {nth} of `{prefix}`, {kind}");
    let failed = match database.checkpoint() {
        Ok(made) => made.left_over.is_some(),
        Err(error) => {
            let wanted = if kind == IoKind::StorageFull { ErrorKind::Limit } else { ErrorKind::Io };
            assert_eq!(error.kind(), wanted, "{at}: {error}");
            if !matches!(operation, Operation::Rename | Operation::SyncDirectory) {
                assert_eq!(manifest(), manifest_before, "{at}");
            }
            // A graph that was flushed stays so: the next manifest names its file.
            if prefix.starts_with('c') {
                assert_eq!(files(&directory), files_before, "{at}: what was written is removed");
            }
            true
        }
    };
    failing.heal();
    assert_eq!(&dump(&reader), database.newest(), "{at}: readers see what they saw");
    database.check_image(
        &crash(&directory, 0),
        Durability::None,
        evergraph_graph::timestamp::Timestamp(0),
        &at,
    );
    if !database.open.store().log().is_poisoned() {
        assert!(database.commit_some(3), "{at}");
        let made = database.checkpoint().unwrap();
        assert!(made.left_over.is_none(), "{at}");
        let present = files(&directory);
        assert_eq!(&dump(&database.open.store().snapshot()), database.newest(), "{at}");
        assert_eq!(dump(&reader), database.graphs[&reader.timestamp()], "{at}: after the next checkpoint");
        let durable = made.covered_through;
        database.check_image(&crash(&directory, 0), Durability::None, durable, &at);
        let named = made.segments_count as usize;
        assert!((named..=2 * named).contains(&present.len()), "{at}: {named} named, {present:?} present");
    }
    failed
}

#[test]
fn a_disk_that_fails_at_any_operation_changes_nothing_and_heals() {
    use Operation::{Create, Open, Read, Rename, Sync, SyncDirectory, Write};
    for kind in [IoKind::StorageFull, IoKind::Other] {
        for operation in [Create, Open, Write, Sync, SyncDirectory, Rename, Read] {
            // That of a directory has no name.
            let prefixes =
                if operation == SyncDirectory { [""; 1].as_slice() } else { &["csr-", "col-", "manifest"] };
            for prefix in prefixes {
                let failures = (1..40).take_while(|nth| failing_once(operation, prefix, *nth, kind)).count();
                let is_used = match operation {
                    Rename => *prefix == "manifest",
                    Open | Read => *prefix != "manifest",
                    _ => true,
                };
                assert!(failures < 39, "{operation} of {prefix} fails for ever");
                assert!(failures > 0 || !is_used, "{operation} of {prefix} never failed");
            }
        }
    }
}

#[test]
fn a_checkpoint_that_is_stopped_leaves_the_manifest_as_it_was_and_files_that_the_next_one_names() {
    let directory = MemoryDirectory::new("db");
    let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, 1).unwrap();
    assert!(database.commit_some(10));
    let manifest = || directory.read_all("manifest", 1 << 20).unwrap();
    let manifest_before = manifest();
    for questions in 0.. {
        let mut left = questions;
        let made = database.open.checkpoint(&mut |progress| {
            left -= 1;
            if left < 0 { ControlFlow::Break(()) } else { go_on(progress) }
        });
        match made {
            Ok(_) => {
                assert!(questions > 1, "it asks more than once");
                break;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
        }
        assert_eq!(manifest(), manifest_before, "after {questions} questions");
        assert_eq!(files(&directory).is_empty(), questions == 0, "after {questions} questions");
        assert_eq!(&dump(&database.open.store().snapshot()), database.newest());
        database.check_image(&crash(&directory, 0), Durability::Sync, database.acknowledged, "stopped");
        assert!(database.commit_some(2));
    }
    let present = files(&directory);
    let image = crash(&directory, 0);
    drop(open(Arc::clone(&image), Durability::Sync).unwrap());
    assert_eq!(files(&*image), present, "all of them are named");
    database.check_image(&crash(&directory, 0), Durability::Sync, database.acknowledged, "at the end");
}
