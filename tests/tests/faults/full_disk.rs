//! A disk that fills up: commits are refused before they happen, with what to do; readers go on; with
//! space again everything goes on, and nothing was lost or half done.

use crate::database::{Faulty, contents};
use evergraph::engines::engine::AnyEngine;
use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::error::Operation;
use evergraph::storage::io::failing::{FailingDirectory, Fault};
use evergraph::{EngineKind, ErrorKind};
use evergraph_tests::store::checkpoint;
use std::io;

fn fill(faults: &FailingDirectory) {
    // The bytes of log files, array files and regions of `live` are taken when these are made: what is there can still be
    // written.
    for operation in [Operation::Create, Operation::SetLength, Operation::Allocate] {
        faults.plan(Fault::new(operation, "", io::ErrorKind::StorageFull).lasting());
    }
}

/// Commits until one is refused.
fn commit_until_refused(faulty: &Faulty) -> evergraph::Error {
    let filler = "x".repeat(2000);
    for _ in 0..1000 {
        let added = faulty.open.store().transact(|tx| {
            let (label, key) = (tx.label("Filler")?, tx.key("text")?);
            tx.add_vertex(label, &[(key, filler.as_str().into())])
        });
        if let Err(error) = added {
            return error;
        }
    }
    panic!("a full disk takes 2 MB of commits");
}

#[test]
fn a_full_disk_refuses_commits_whole_and_heals() {
    EngineKind::ALL.into_iter().for_each(refuse_and_heal);
}

fn refuse_and_heal(engine: EngineKind) {
    let faulty = Faulty::new(engine, 20);
    for round in 0..3 {
        fill(&faulty.faults);
        let error = commit_until_refused(&faulty);
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        // Of the log, or of a region that processes share.
        let says = error.to_string();
        assert!(says.contains("no space") || says.contains("no storage space"), "{says}");
        let full = faulty.contents();
        assert_eq!(commit_until_refused(&faulty).kind(), ErrorKind::Limit);
        assert!(faulty.contents() == full, "a refused commit has not happened");
        assert!(contents(&faulty.after_a_power_cut()) == full, "round {round}");

        faulty.faults.heal();
        faulty.add_person().unwrap();
        assert_eq!(faulty.persons(), 21 + round);
        assert!(contents(&faulty.after_a_power_cut()) == faulty.contents());
    }
}

#[test]
fn a_store_that_failed_says_so_on_a_full_disk_too() {
    let faulty = Faulty::new(EngineKind::Memory, 1);
    fill(&faulty.faults);
    assert_eq!(commit_until_refused(&faulty).kind(), ErrorKind::Limit);
    let cause = "a bulk load could not be made durable: reopen the database";
    faulty.open.store().timeline().latch().poisoned = Some(cause.to_owned());
    let error = commit_until_refused(&faulty);
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("reopen the database"), "room alone would not help: {error}");
}

/// Fills the disk for files whose names begin with `prefix`; others have room.
fn fill_below(faulty: &Faulty, prefix: &str) {
    faulty.faults.plan(Fault::new(Operation::Allocate, prefix, io::ErrorKind::StorageFull).lasting());
}

/// `live` grows region by region. Whoever needs the next one is refused before anything is installed.
#[test]
fn a_full_disk_below_live_refuses_commits_whole_and_heals() {
    let faulty = Faulty::new(EngineKind::Mapped, 20);
    fill_below(&faulty, "live");
    let error = commit_until_refused(&faulty);
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("allocate space for db/live: no storage space"), "{error}");
    let full = faulty.contents();
    assert_eq!(commit_until_refused(&faulty).kind(), ErrorKind::Limit);
    assert!(faulty.contents() == full, "a refused commit has not happened");
    assert!(contents(&faulty.after_a_power_cut()) == full);

    faulty.faults.heal();
    faulty.add_person().unwrap();
    assert_eq!(faulty.persons(), 21);
    assert!(contents(&faulty.after_a_power_cut()) == faulty.contents());
}

#[test]
fn a_full_disk_in_a_merge_leaves_records_in_live_and_heals() {
    let faulty = Faulty::new(EngineKind::Mapped, 20);
    let AnyEngine::Mapped(engine) = &**faulty.open.store().engine() else {
        panic!("it was made with the mapped engine")
    };
    let merges = engine.graph().statistics().merges;
    // More bytes than the first array file has, and too few records for a writer to merge them.
    for round in 0..20 {
        let added = faulty.open.store().transact(|tx| {
            let (label, key) = (tx.label("Filler")?, tx.key("text")?);
            for number in 0..10 {
                tx.add_vertex(label, &[(key, format!("{:08000}", round * 10 + number).into())])?;
            }
            Ok(())
        });
        added.unwrap();
    }
    assert_eq!(engine.graph().statistics().merges, merges, "nothing is merged yet");
    assert!(engine.graph().records_waiting() >= 200, "every record waits");
    let all = faulty.contents();
    fill_below(&faulty, "array-");
    let error = engine.graph().merge_everything().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("allocate space for db/array-"), "{error}");
    let error = checkpoint(&faulty.open).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(faulty.contents() == all, "records stay where they are");
    faulty.add_person().unwrap();
    let all = faulty.contents();
    assert!(contents(&faulty.after_a_power_cut()) == all);

    faulty.faults.heal();
    engine.graph().merge_everything().unwrap();
    assert_eq!(engine.graph().records_waiting(), 0, "everything is merged");
    checkpoint(&faulty.open).unwrap();
    assert!(faulty.contents() == all);
    let found = faulty.after_a_power_cut();
    assert_eq!(found.recovery().commits, 0, "the checkpoint covers everything");
    assert!(contents(&found) == all);
}
