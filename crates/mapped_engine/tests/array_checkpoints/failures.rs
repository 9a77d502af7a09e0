//! Failures that heal: a full disk, a failed sync, a cancelled checkpoint, a manifest whose renaming failed; and a checkpoint that
//! is interrupted.

use crate::crash::{changes, crash};
use crate::naive::{Graph, NaiveDatabase, apply, read_manifest, segment_ids};
use evergraph_mapped_engine::checkpoint::copy::PinnedExtents;
use evergraph_mapped_engine::files::section::Section;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::manifest::FILE_NAME;
use evergraph_storage::durable_engine::PinnedFiles;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory, Unsynced};
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::io::write_unit::WriteUnit;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::sync::Arc;

struct Case {
    memory: MemoryDirectory,
    failing: FailingDirectory,
    database: NaiveDatabase,
    random: SplitMix64,
    graph: Graph,
}

impl Case {
    fn new(seed: u64) -> Self {
        Self::in_units_of(WriteUnit::PAGE, seed)
    }

    fn in_units_of(unit: WriteUnit, seed: u64) -> Self {
        let memory = MemoryDirectory::new("db").with_unit(unit);
        let failing = FailingDirectory::new(Arc::new(memory.clone()));
        let database = NaiveDatabase::open(Arc::new(failing.clone())).unwrap();
        Self { memory, failing, database, random: SplitMix64::new(seed), graph: Graph::new() }
    }

    /// With a checkpoint, and with bodies since then that are all others than its manifest names.
    fn after_checkpoint(unit: WriteUnit, seed: u64) -> Self {
        let mut case = Self::in_units_of(unit, seed);
        case.commit(60);
        case.merge_all();
        case.database.checkpoint().unwrap();
        case.commit(60);
        case.merge_all();
        case
    }

    fn commit(&mut self, count: usize) {
        for _ in 0..count {
            let changes = changes(&mut self.random);
            self.database.commit(&changes).unwrap();
            apply(&mut self.graph, &changes);
        }
    }

    fn merge_all(&self) {
        segment_ids().into_iter().for_each(|id| self.database.merge(id).unwrap());
    }

    /// What a power cut leaves is the graph.
    #[track_caller]
    fn check(&self) {
        assert_eq!(self.database.graph().unwrap(), self.graph);
        let found = NaiveDatabase::open(Arc::new(self.memory.power_cut())).unwrap();
        assert_eq!(found.graph().unwrap(), self.graph);
    }
}

#[test]
fn a_failed_step_of_a_checkpoint_leaves_the_one_before_and_the_next_one_heals() {
    let operations = [
        Operation::Create,
        Operation::Allocate,
        Operation::Write,
        Operation::Sync,
        Operation::Rename,
        Operation::SyncDirectory,
    ];
    for (seed, operation) in (0..).zip(operations) {
        for prefix in ["array-", "manifest", ""] {
            let mut case = Case::new(seed);
            case.commit(20);
            case.merge_all();
            case.database.checkpoint().unwrap();
            case.commit(60);
            case.merge_all();
            case.commit(20);
            case.failing.plan(match operation {
                // For smaller files, too.
                Operation::Allocate => Fault::new(operation, prefix, ErrorKind::StorageFull).lasting(),
                _ => Fault::new(operation, prefix, ErrorKind::Other),
            });
            let failed = case.database.checkpoint().is_err();
            case.failing.heal();
            if case.database.log.is_poisoned() {
                // The log's own sync was hit: nothing goes on, and nothing is lost.
                case.check();
                continue;
            }
            case.check();
            case.commit(5);
            case.merge_all();
            case.database.checkpoint().unwrap_or_else(|error| panic!("{operation} {prefix}: {error}"));
            case.check();
            assert!(failed || prefix.is_empty() || operation != Operation::Sync, "{operation} {prefix}");
        }
    }
}

#[test]
fn bodies_that_a_failed_sync_lost_are_stored_again_elsewhere() {
    let mut case = Case::new(7);
    case.commit(60);
    case.merge_all();
    case.failing.plan(Fault::new(Operation::Sync, "array-", ErrorKind::Other));
    assert!(matches!(case.database.checkpoint().unwrap_err(), CheckpointError::Io(_)));
    case.database.checkpoint().unwrap();
    let manifest = read_manifest(&case.memory).unwrap();
    let section = Section::of(&case.memory, &manifest).unwrap();
    // The first file's sync failed.
    assert!(section.extents().count() > 5, "{section:?}");
    assert!(section.extents().all(|(place, _)| place.file > 1), "{section:?}");
    case.check();
}

#[test]
fn a_checkpoint_can_be_cancelled_in_every_step() {
    let mut case = Case::new(3);
    case.commit(60);
    case.database.checkpoint().unwrap();
    case.commit(60);
    let mut steps = 0;
    loop {
        let mut told = 0;
        let made = case.database.checkpoint_with(&mut |_| {
            told += 1;
            if told > steps { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        case.check();
        match made {
            Ok(_) => break,
            Err(error) => assert!(matches!(error, CheckpointError::Cancelled), "{error}"),
        }
        steps += 1;
    }
    assert!(steps >= 5, "{steps} steps");
}

#[test]
fn a_checkpoint_that_a_load_overtook_begins_anew() {
    let mut case = Case::new(4);
    case.commit(30);
    let mut beginnings = 0;
    case.database
        .checkpoint_with(&mut |progress| {
            if progress.groups_done == 0 {
                beginnings += 1;
            }
            if beginnings == 1 && progress.groups_done == 2 {
                case.database.segments.timeline.latch().loads += 1;
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(beginnings, 2);
    case.check();
}

#[test]
fn after_a_renaming_that_failed_either_manifest_is_whole() {
    for fault in [
        Fault::new(Operation::Rename, FILE_NAME, ErrorKind::Other),
        Fault::new(Operation::SyncDirectory, "", ErrorKind::Other),
    ] {
        for seed in 0..20 {
            let mut case = Case::after_checkpoint(WriteUnit::PAGE, seed);
            // New array files sync the directory, too: they are there before.
            case.failing.plan(fault.clone());
            assert!(case.database.checkpoint().is_err());
            case.failing.heal();
            case.check();
            // Merges take what is free: nothing that either manifest names.
            for _ in 0..10 {
                case.commit(10);
                case.merge_all();
                case.check();
                let found = NaiveDatabase::open(Arc::new(crash(&case.memory, &mut case.random))).unwrap();
                assert_eq!(found.graph().unwrap(), case.graph);
            }
            case.database.checkpoint().unwrap();
            case.check();
        }
    }
}

/// What is in `directory` is `graph`.
#[track_caller]
fn check_found(directory: MemoryDirectory, graph: &Graph, at: &str) -> NaiveDatabase {
    let found = NaiveDatabase::open(Arc::new(directory)).unwrap_or_else(|error| panic!("{at}: {error}"));
    let found_graph = found.graph().unwrap_or_else(|error| panic!("{at}: {error}"));
    assert!(found_graph == *graph, "{at}: another graph is found");
    found
}

/// Whether a checkpoint has so many changes; what is found after each way to end at the last of them.
fn is_interrupted_at(nth: u64, unit: WriteUnit) -> bool {
    let mut case = Case::after_checkpoint(unit, 9);
    // They become runs.
    case.commit(10);
    case.failing.plan(Fault::any_change(ErrorKind::Other).nth(nth).lasting());
    let made = case.database.checkpoint();
    let at = format!("change {nth} in units of {} bytes", unit.bytes());
    check_found(case.memory.crash(|_| CrashOutcome::Kept), &case.graph, &format!("a kill at {at}"));
    check_found(case.memory.power_cut(), &case.graph, &format!("a power cut at {at}"));
    if unit == WriteUnit::LINE {
        // A line keeps a beginning of its stores.
        for _ in 0..8 {
            let found = crash(&case.memory, &mut case.random);
            check_found(found, &case.graph, &format!("a power cut that keeps some lines, at {at}"));
        }
    }
    let is_made = made.is_ok_and(|made| made.left_over.is_none());
    !is_made
}

#[test]
fn a_checkpoint_that_is_interrupted_at_any_change_loses_nothing() {
    for unit in [WriteUnit::PAGE, WriteUnit::LINE] {
        let changes = (1..).take_while(|nth| is_interrupted_at(*nth, unit)).count();
        assert!(changes >= 10, "a checkpoint has only {changes} changes");
    }
}

/// Who opens the database finds the new manifest, but a power cut can still bring back the old one.
#[test]
fn what_is_opened_after_a_kill_amid_a_renaming_survives_the_next_power_cut() {
    let mut removed = 0;
    for seed in 0..5 {
        let mut case = Case::after_checkpoint(WriteUnit::PAGE, seed);
        case.commit(10);
        let mut is_planned = false;
        let made = case.database.checkpoint_with(&mut |progress| {
            // New array files sync the directory, too: they are there before.
            if progress.bytes_written > 0 && !std::mem::replace(&mut is_planned, true) {
                case.failing.plan(Fault::new(Operation::SyncDirectory, "", ErrorKind::Other));
            }
            ControlFlow::Continue(())
        });
        assert!(made.is_err() && is_planned, "seed {seed}");
        let Case { memory, database, graph, .. } = case;
        drop(database);
        let array_files = || memory.list().unwrap().iter().filter(|name| name.starts_with("array-")).count();
        let before = array_files();
        let next = check_found(memory.clone(), &graph, &format!("seed {seed}, after the kill"));
        removed += before - array_files();
        let check_cut = |at: &str| {
            let found = memory.crash(|unsynced| match unsynced {
                Unsynced::Name(FILE_NAME) => CrashOutcome::Lost,
                _ => CrashOutcome::Kept,
            });
            check_found(found, &graph, &format!("seed {seed}, {at}, after the power cut"));
        };
        check_cut("opened");
        // What only the old manifest names is free.
        segment_ids().into_iter().for_each(|id| next.merge(id).unwrap());
        check_cut("merged");
    }
    assert!(removed > 0, "no file is the old manifest's alone");
}

#[test]
fn a_copy_is_the_manifests_state_whatever_is_written_meanwhile() {
    let mut case = Case::new(5);
    case.commit(100);
    case.merge_all();
    case.commit(10);
    case.database.checkpoint().unwrap();
    let (directory, checkpointer) =
        (case.database.checkpointer.directory().clone(), &case.database.checkpointer);
    let target = MemoryDirectory::new("copy");
    let (manifest, pinned) = checkpointer.holding(|| {
        // The log is copied by somebody else.
        for name in directory.list().unwrap().iter().filter(|name| name.starts_with("log")) {
            target.write_all_new(name, &directory.read_all(name, 1 << 20).unwrap()).unwrap();
        }
        let manifest = read_manifest(&*directory).unwrap();
        let pinned = PinnedExtents::new(&directory, &manifest, checkpointer.named()).unwrap();
        (manifest, pinned)
    });
    let graph = case.graph.clone();
    // Everything is replaced, and its space taken.
    for _ in 0..10 {
        case.commit(20);
        case.merge_all();
        case.database.checkpoint().unwrap();
    }
    let mut told = 0;
    let copied = pinned.copy(&target, &mut |bytes| {
        told += bytes;
        Ok(())
    });
    assert_eq!((copied.unwrap(), told), (pinned.bytes(), pinned.bytes()));
    manifest.write(&target, || Ok(())).unwrap();
    let found = NaiveDatabase::open(Arc::new(target.power_cut()));
    assert_eq!(found.unwrap().graph().unwrap(), graph);
}
