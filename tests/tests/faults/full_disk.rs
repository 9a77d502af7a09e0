//! A disk that fills up: commits are refused before they happen, with what to do; readers go on; with
//! space again everything goes on, and nothing was lost or half done.

use crate::database::{Faulty, contents};
use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::error::Operation;
use evergraph::storage::io::failing::{FailingDirectory, Fault};
use evergraph::{EngineKind, ErrorKind};
use std::io;

fn fill(faults: &FailingDirectory) {
    // The bytes of a log file are taken when it is made: what is there can still be written.
    for operation in [Operation::Create, Operation::SetLength] {
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
        assert!(error.to_string().contains("no space"), "{error}");
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
