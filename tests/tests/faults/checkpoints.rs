//! A checkpoint that fails, at each of its operations on bodies and manifest: it says so, commits go on,
//! a power cut finds everything, and the next checkpoint succeeds.

use crate::database::{Faulty, contents};
use evergraph::storage::io::error::Operation;
use evergraph::storage::io::failing::Fault;
use evergraph::{EngineKind, ErrorKind};
use evergraph_tests::store::checkpoint;
use std::io;

/// Lets the `nth` operation of a kind on files with `prefix` fail in a second checkpoint. Whether the
/// checkpoint got so far.
fn fails_at(engine: EngineKind, operation: Operation, prefix: &str, nth: u64, kind: io::ErrorKind) -> bool {
    let faulty = Faulty::new(engine, 30);
    checkpoint(&faulty.open).unwrap();
    (0..10).for_each(|_| faulty.add_person().unwrap());
    faulty.faults.plan(Fault::new(operation, prefix, kind).nth(nth));
    let failed = match checkpoint(&faulty.open) {
        // What couldn't be removed behind a new checkpoint is left for the next one.
        Ok(made) => made.left_over.is_some(),
        Err(error) => {
            let expected = if kind == io::ErrorKind::StorageFull { ErrorKind::Limit } else { ErrorKind::Io };
            assert_eq!(error.kind(), expected, "{error}");
            assert!(error.to_string().contains("db/") || error.to_string().contains("db:"), "{error}");
            true
        }
    };
    faulty.faults.heal();
    let at = format!("{engine}, {operation} {nth} of {prefix}");
    assert!(contents(&faulty.after_a_power_cut()) == faulty.contents(), "{at}");
    faulty.add_person().unwrap_or_else(|error| panic!("{at}: commits go on: {error}"));
    assert!(contents(&faulty.after_a_power_cut()) == faulty.contents(), "{at}, and a commit");
    let made = checkpoint(&faulty.open).unwrap();
    assert!(made.left_over.is_none());
    let found = faulty.after_a_power_cut();
    assert_eq!(found.recovery().commits, 0, "{at}: the next checkpoint covers everything");
    assert!(contents(&found) == faulty.contents());
    failed
}

/// `least`: how many operations a checkpoint has at least, counted once for each of two causes.
fn fail_everywhere(engine: EngineKind, prefixes: &[&str], least: usize) {
    let mut failed = 0;
    for kind in [io::ErrorKind::Other, io::ErrorKind::StorageFull] {
        for operation in [Operation::Create, Operation::Write, Operation::Sync, Operation::Rename] {
            for prefix in prefixes {
                failed += (1..).take_while(|nth| fails_at(engine, operation, prefix, *nth, kind)).count();
            }
        }
    }
    assert!(failed >= least, "only {failed} operations failed");
}

#[test]
fn a_checkpoint_that_fails_leaves_the_one_before() {
    fail_everywhere(EngineKind::Memory, &["bodies-", "manifest"], 14);
}

#[test]
fn a_checkpoint_of_the_mapped_engine_that_fails_leaves_the_one_before() {
    // It writes one batch of runs into a file that is there.
    fail_everywhere(EngineKind::Mapped, &["array-", "manifest"], 12);
}

#[test]
fn a_flush_or_manifest_of_the_disk_engine_that_fails_leaves_the_one_before() {
    fail_everywhere(EngineKind::Disk, &["csr-", "col-", "manifest"], 14);
}
