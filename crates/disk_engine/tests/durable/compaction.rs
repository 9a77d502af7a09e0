//! Compactions of a database: readers see what they saw, inputs stay until a manifest without them is durable, a power cut
//! or a failing disk at any operation loses nothing.

use crate::support::{Database, cut_at_every_operation, dump, files, open};
use evergraph_disk_engine::compactor::BegunCompaction;
use evergraph_disk_engine::durable::background::step;
use evergraph_disk_engine::durable::section::file_parts;
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_graph::error::Error;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory, Unsynced};
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::BackgroundStep;
use std::collections::BTreeSet;
use std::io::ErrorKind as IoKind;
use std::sync::Arc;

/// Two files of L0 are due, and every level below has more than it should.
const LIMITS: PickLimits =
    PickLimits { flushed_runs: 2, flushed_bytes_max: 1 << 30, size_ratio: 2, base_bytes: 1 };

/// Flushes what was committed, without a manifest that names it.
fn flush(database: &Database) -> Result<(), Error> {
    let engine = database.open.store().engine();
    engine.freeze_open()?;
    while engine.flush_oldest()? {}
    Ok(())
}

/// Compacts until nothing is due; how many compactions that took.
fn compact(database: &Database) -> Result<usize, Error> {
    let engine = database.open.store().engine();
    for count in 0.. {
        if !engine.compact_by(&LIMITS)? {
            return Ok(count);
        }
        assert!(count < 50, "compactions come to an end");
    }
    Ok(0)
}

/// The names of all files of the set, ascending.
fn names_in_set(database: &Database) -> Vec<String> {
    let set = Arc::clone(&database.open.store().engine().tree().current().set);
    let names = set.iter().flat_map(|file| file_parts(file.stored()).map(|(name, _)| name.to_string()));
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

/// Commits, checkpoints and compactions: of files that a manifest names, and of one that none names yet.
fn work(database: &mut Database) -> bool {
    for commits in [8, 6, 5] {
        if !(database.commit_some(commits) && database.checkpoint().is_ok()) {
            return false;
        }
    }
    let compacted = database.commit_some(4) && flush(database).is_ok() && compact(database).is_ok();
    compacted
        && database.commit_some(4)
        && database.checkpoint().is_ok_and(|made| made.left_over.is_none())
        && compact(database).is_ok()
        && database.commit_some(2)
        && database.checkpoint().is_ok_and(|made| made.left_over.is_none())
}

#[test]
fn what_is_compacted_reads_as_before_and_inputs_go_with_the_next_manifest() {
    let directory = MemoryDirectory::new("db");
    let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, 3).unwrap();
    let mut readers = Vec::new();
    let mut named = Vec::new();
    for round in 0..6 {
        // A reader amid the commits of a generation needs the stamps of its file.
        assert!(database.commit_some(5));
        readers.push(database.open.store().snapshot());
        assert!(database.commit_some(5));
        if round % 2 == 0 {
            database.checkpoint().unwrap();
        } else {
            flush(&database).unwrap();
        }
        if round % 2 == 0 {
            named = files(&directory);
        }
        let compacted = compact(&database).unwrap();
        assert_eq!(compacted > 0, round % 2 == 1, "round {round}: two files of L0 are due");
        let after = files(&directory);
        assert!(named.iter().all(|name| after.contains(name)), "round {round}: what a manifest names stays");
        let in_set = names_in_set(&database);
        let is_needed = |name: &String| named.contains(name) || in_set.contains(name);
        assert!(after.iter().all(is_needed), "round {round}: what none named goes at once, {after:?}");
        assert_eq!(&dump(&database.open.store().snapshot()), database.newest(), "round {round}");
        database.checkpoint().unwrap();
        named = files(&directory);
        assert_eq!(named, names_in_set(&database), "round {round}");
        for reader in &readers {
            assert_eq!(dump(reader), database.graphs[&reader.timestamp()], "round {round}");
        }
    }
    drop(readers);
    let image: Arc<dyn Directory> = Arc::new(directory.power_cut());
    database.check_image(&image, Durability::Sync, database.acknowledged, "after all");
}

#[test]
fn a_compaction_is_not_done_again_when_the_database_is_opened_again() {
    let directory = MemoryDirectory::new("db");
    let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, 9).unwrap();
    for _ in 0..3 {
        assert!(database.commit_some(10));
        database.checkpoint().unwrap();
    }
    let in_l0 = |database: &Database| database.open.store().engine().tree().current().set.flushed().len();
    assert_eq!(in_l0(&database), 3);
    assert!(compact(&database).unwrap() > 0);
    assert_eq!(in_l0(&database), 0);
    let newest = database.newest().clone();
    database.open.close().unwrap();
    drop(database);
    let database = Database::open(Arc::new(directory.clone()), Durability::Sync, 9).unwrap();
    assert_eq!(in_l0(&database), 0, "closing made it durable");
    assert_eq!(database.newest(), &newest);
    assert_eq!(files(&directory), names_in_set(&database));
}

#[test]
fn a_checkpoint_is_due_when_compactions_are_done() {
    let directory = MemoryDirectory::new("db");
    let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, 9).unwrap();
    for _ in 0..3 {
        assert!(database.commit_some(10));
        database.checkpoint().unwrap();
    }
    let is_due = |database: &Database| database.open.store().engine().wants_checkpoint(false);
    assert!(!is_due(&database), "nothing was done");
    assert!(compact(&database).unwrap() > 0);
    assert!(is_due(&database));
    database.open.step(BackgroundStep::LookAfter);
    assert!(!is_due(&database));
    assert_eq!(files(&directory), names_in_set(&database));
}

#[test]
fn cached_pages_of_inputs_go_with_the_last_reader_of_them() {
    let directory = MemoryDirectory::new("db");
    let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, 4).unwrap();
    for _ in 0..2 {
        assert!(database.commit_some(10));
        database.checkpoint().unwrap();
    }
    let cached = |database: &Database| database.open.store().engine().page_reader().statistics().bytes;
    let reader = database.open.store().snapshot();
    assert_eq!(&dump(&reader), database.newest());
    let before = cached(&database);
    assert!(before > 0);
    assert!(compact(&database).unwrap() > 0);
    database.checkpoint().unwrap();
    assert!(cached(&database) >= before, "a snapshot may read them again");
    drop(reader);
    step(database.open.store().engine());
    assert_eq!(cached(&database), 0, "nobody read what was compacted");
    assert_eq!(&dump(&database.open.store().snapshot()), database.newest());
}

/// Commits, flushes and compactions, of which two are under way at once whenever that is possible; then they are written,
/// and installed in one order or the other, with a checkpoint before, between or behind. How many pairs there were.
fn compact_in_pairs(database: &mut Database, rounds: usize) -> Result<usize, Error> {
    let mut pairs = 0;
    for round in 0..rounds {
        if !database.commit_some(3) {
            return Ok(pairs);
        }
        flush(database)?;
        let engine = database.open.store().engine();
        let first = engine.begin_compaction(&LIMITS)?;
        let second = engine.begin_compaction(&LIMITS)?;
        if let (Some(first), Some(second)) = (first, second) {
            let numbers = |begun: &BegunCompaction<'_>| -> BTreeSet<u64> {
                begun.picked().inputs.iter().map(|file| file.number().0).collect()
            };
            assert!(numbers(&first).is_disjoint(&numbers(&second)), "round {round}");
            let mut both = [first.write()?, second.write()?];
            if pairs % 2 == 1 {
                both.reverse();
            }
            for (at, written) in both.into_iter().enumerate() {
                if pairs % 3 == at {
                    database.checkpoint()?;
                }
                assert!(written.install()?, "round {round}: nobody else changes levels");
                assert_eq!(&dump(&database.open.store().snapshot()), database.newest(), "round {round}");
            }
            pairs += 1;
        } else {
            engine.compact_by(&LIMITS)?;
        }
    }
    Ok(pairs)
}

#[test]
fn two_compactions_that_were_under_way_at_once_are_installed_in_either_order() {
    let directory = MemoryDirectory::new("db");
    let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, 13).unwrap();
    assert!(database.commit_some(10));
    let reader = database.open.store().snapshot();
    let pairs = compact_in_pairs(&mut database, 40).unwrap();
    assert!(pairs >= 6, "only {pairs} pairs");
    assert_eq!(dump(&reader), database.graphs[&reader.timestamp()]);
    database.checkpoint().unwrap();
    assert_eq!(files(&directory), names_in_set(&database));
    let image: Arc<dyn Directory> = Arc::new(directory.power_cut());
    database.check_image(&image, Durability::Sync, database.acknowledged, "after all");
}

#[test]
fn a_power_cut_amid_two_compactions_loses_nothing() {
    let mut stopped = 0;
    // Each operation of some of the runs, so that all of them are met.
    for changes in (1..).step_by(5) {
        assert!(changes < 10_000, "without faults everything is done");
        let directory = MemoryDirectory::new("db");
        let failing = FailingDirectory::new(Arc::new(directory.clone()));
        failing.plan(Fault::any_change(IoKind::Other).nth(changes).lasting());
        let Ok(mut database) = Database::open(Arc::new(failing), Durability::Sync, 13) else { continue };
        let pairs = compact_in_pairs(&mut database, 12);
        let is_whole = pairs.is_ok_and(|pairs| pairs > 0) && database.checkpoint().is_ok();
        let image: Arc<dyn Directory> = Arc::new(directory.power_cut());
        let at = format!("operation {changes}");
        database.check_image(&image, Durability::Sync, database.acknowledged, &at);
        if is_whole {
            break;
        }
        stopped += 1;
    }
    assert!(stopped > 10, "only {stopped} operations failed");
}

#[test]
fn a_power_cut_at_any_operation_loses_nothing() {
    let stopped = cut_at_every_operation(5, work);
    assert!(stopped > 20, "only {stopped} operations failed");
}

/// Kills a process between the renaming of a manifest, which no longer names the inputs of a compaction, and the sync of
/// the directory; `None` if the directory is synced fewer than `syncs` times.
fn killed_at_sync(syncs: u64) -> Option<(Database, MemoryDirectory, bool)> {
    let directory = MemoryDirectory::new("db");
    let failing = FailingDirectory::new(Arc::new(directory.clone()));
    let mut database = Database::open(Arc::new(failing.clone()), Durability::Sync, 6).unwrap();
    for _ in 0..2 {
        assert!(database.commit_some(8));
        database.checkpoint().unwrap();
    }
    assert!(compact(&database).unwrap() > 0);
    let renamed = failing.count(Operation::Rename);
    failing.plan(Fault::new(Operation::SyncDirectory, "", IoKind::Other).nth(syncs).lasting());
    database.checkpoint().err()?;
    failing.plan(Fault::any_change(IoKind::Other).lasting());
    let renamed = failing.count(Operation::Rename) > renamed;
    // A killed process leaves its lock: the store goes, and what is known of its graph stays.
    database.open = open(Arc::new(MemoryDirectory::new("other")), Durability::Sync).unwrap();
    Some((database, directory, renamed))
}

/// The next process opens what is in the system's cache. When the power fails, the removals of the inputs may have reached
/// the disk, and the renaming not: the manifest before names them.
#[test]
fn what_is_opened_after_a_kill_amid_a_checkpoint_survives_the_next_power_cut() {
    let mut removed = 0;
    for syncs in 1.. {
        let Some((database, directory, renamed)) = killed_at_sync(syncs) else { break };
        if !renamed {
            continue;
        }
        let mut left = files(&directory).len();
        for changes in 1.. {
            let failing = FailingDirectory::new(Arc::new(directory.clone()));
            failing.plan(Fault::any_change(IoKind::Other).nth(changes).lasting());
            let opened = open(Arc::new(failing), Durability::Sync);
            removed += left - files(&directory).len();
            left = files(&directory).len();
            let image = directory.crash(|what| match what {
                Unsynced::Name(name) if name != "manifest" => CrashOutcome::Kept,
                _ => CrashOutcome::Lost,
            });
            let at = format!("sync {syncs} of the directory, operation {changes} of opening");
            let image: Arc<dyn Directory> = Arc::new(image);
            database.check_image(&image, Durability::Sync, database.acknowledged, &at);
            if opened.is_ok() {
                break;
            }
        }
    }
    assert!(removed > 0, "no opening removed what was compacted");
}

#[test]
fn a_disk_that_fails_in_a_compaction_changes_nothing_and_heals() {
    use Operation::{Create, Open, Read, Sync, SyncDirectory, Write};
    for (operation, prefix) in [
        (Create, "csr-"),
        (Write, "csr-"),
        (Write, "col-"),
        (Sync, "csr-"),
        (SyncDirectory, ""),
        (Open, "csr-"),
        (Read, "csr-"),
    ] {
        let directory = MemoryDirectory::new("db");
        let failing = FailingDirectory::new(Arc::new(directory.clone()));
        let mut database = Database::open(Arc::new(failing.clone()), Durability::Sync, 8).unwrap();
        for _ in 0..2 {
            assert!(database.commit_some(10));
            database.checkpoint().unwrap();
        }
        let reader = database.open.store().snapshot();
        let before = files(&directory);
        failing.plan(Fault::new(operation, prefix, IoKind::StorageFull));
        let at = format!("{operation} of `{prefix}`");
        compact(&database).expect_err(&at);
        assert_eq!(files(&directory), before, "{at}: what was written is removed");
        assert_eq!(&dump(&reader), database.newest(), "{at}");
        failing.heal();
        assert!(compact(&database).unwrap() > 0, "{at}");
        database.checkpoint().unwrap();
        assert_eq!(dump(&reader), database.graphs[&reader.timestamp()], "{at}");
        let image: Arc<dyn Directory> = Arc::new(directory.power_cut());
        database.check_image(&image, Durability::Sync, Timestamp(1), &at);
    }
}
