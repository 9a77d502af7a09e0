//! A log that breaks: the commit that met it doesn't know its outcome, later ones are refused and say
//! what to do, readers go on, and reopening finds everything that was acknowledged.

use crate::database::{Faulty, contents, persons};
use evergraph::storage::io::error::Operation;
use evergraph::storage::io::failing::Fault;
use evergraph::{EngineKind, ErrorKind};
use evergraph_tests::store::{checkpoint, crash, open_synced};
use std::io;

#[test]
fn a_broken_log_refuses_commits_and_readers_go_on() {
    EngineKind::ALL.into_iter().for_each(readers_go_on);
}

fn readers_go_on(engine: EngineKind) {
    for operation in [Operation::Write, Operation::Sync] {
        let faulty = Faulty::new(engine, 10);
        let held = faulty.open.store().snapshot();
        let before = faulty.contents();
        faulty.faults.plan(Fault::new(operation, "log-", io::ErrorKind::Other));

        let unknown = faulty.add_person().unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::Io);
        let text = unknown.to_string();
        assert!(text.contains("unknown") && text.contains("reopen the database"), "{text}");
        assert!(text.contains("db/log-"), "the file is named: {text}");

        // The disk would work again, but what it did with the failed bytes nobody knows.
        let refused = faulty.add_person().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Io);
        let text = refused.to_string();
        assert!(text.contains("no more commits") && text.contains("reopen the database"), "{text}");
        assert!(text.contains("db/log-"), "the file is named to whoever did not meet it: {text}");
        assert_eq!(checkpoint(&faulty.open).unwrap_err().kind(), ErrorKind::Io);

        assert!(faulty.contents() == before, "only what is durable is shown");
        assert!(evergraph_tests::contents::Contents::of(&held, 10) == before);
        assert!(faulty.open.close().is_err(), "closing tells it once more");
        assert!(faulty.contents() == before, "readers go on after closing");
    }
}

#[test]
fn reopening_after_a_broken_log_finds_every_acknowledged_commit_and_no_half_one() {
    EngineKind::ALL.into_iter().for_each(reopen);
}

fn reopen(engine: EngineKind) {
    for operation in [Operation::Write, Operation::Sync] {
        for (acknowledged, with_checkpoint) in [(1, false), (25, false), (40, true)] {
            let faulty = Faulty::new(engine, acknowledged);
            if with_checkpoint {
                checkpoint(&faulty.open).unwrap();
                (0..5).for_each(|_| faulty.add_person().unwrap());
            }
            let (count, before) = (faulty.persons(), faulty.contents());
            faulty.faults.plan(Fault::new(operation, "log-", io::ErrorKind::Other).lasting());
            faulty.add_person().unwrap_err();
            for seed in 0..10 {
                let found = open_synced(engine, &crash(&faulty.disk, seed)).unwrap();
                let there = persons(&found);
                assert!(there == count || there == count + 1, "{there} persons, {count} acknowledged");
                if there == count {
                    assert!(contents(&found) == before);
                }
            }
            drop(faulty.open);
            faulty.faults.heal();
            let again = open_synced(engine, &faulty.disk).unwrap();
            let there = persons(&again);
            assert!(there == count || there == count + 1);
        }
    }
}
