//! Broken and full disks: a failed write or sync poisons for good, a full disk refuses and heals.

use std::io::ErrorKind;
use std::sync::Arc;

use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::options::{Durability, LogOptions};

use crate::support::{append, commit, log_files, open, small_files, stepped, timestamps};

fn failing() -> (MemoryDirectory, FailingDirectory) {
    let memory = MemoryDirectory::new("db");
    (memory.clone(), FailingDirectory::new(Arc::new(memory)))
}

#[test]
fn a_failed_write_or_sync_poisons_and_is_never_tried_again() {
    for operation in [Operation::Write, Operation::Sync] {
        let (memory, directory) = failing();
        let log = open(&directory, stepped(LogOptions::default())).unwrap();
        commit(&log, 1).unwrap();
        append(&log, 2).unwrap();
        let space = log.reserve(10).unwrap();
        directory.plan(Fault::new(operation, "log-0000000000000001", ErrorKind::Other));
        let error = log.acknowledge(2).unwrap_err();
        assert!(matches!(error, LogError::OutcomeUnknown { ts: 2, .. }), "{error}");
        assert!(log.is_poisoned());
        let count = directory.count(operation);

        assert!(matches!(log.acknowledge(2), Err(LogError::OutcomeUnknown { ts: 2, .. })));
        let error = log.reserve(10).unwrap_err();
        assert!(matches!(error, LogError::Poisoned { .. }), "{error}");
        assert!(error.to_string().contains("log-0000000000000001"), "{error}");
        log.append(space, 3, b"", evergraph_storage::log::frame::payload_crc(b""));
        assert!(matches!(log.wait_durable(3), Err(LogError::OutcomeUnknown { ts: 3, .. })));
        assert!(log.acknowledge(1).is_ok(), "commit 1 was durable before");
        assert!(log.close().is_err());
        assert_eq!(log.durable(), 1);
        assert_eq!(directory.count(operation), count, "the disk was not asked again");
        assert_eq!(timestamps(&memory.power_cut())[0], 1);
    }
}

#[test]
fn a_failed_sync_is_told_to_those_who_hold_no_thread() {
    for panicking in [false, true] {
        let (memory, directory) = failing();
        let log = open(&directory, LogOptions::default()).unwrap();
        commit(&log, 1).unwrap();
        for ts in 2..=4 {
            append(&log, ts).unwrap();
        }
        let fault = Fault::new(Operation::Sync, "log-", ErrorKind::Other);
        directory.plan(if panicking { fault.panicking() } else { fault });
        let (sender, receiver) = std::sync::mpsc::channel();
        for ts in [3, 1, 2, 4] {
            let sender = sender.clone();
            log.when_acknowledged(ts, Box::new(move |outcome| sender.send((ts, outcome)).unwrap()));
        }
        for _ in 1..=4 {
            let (ts, outcome) = receiver.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
            match outcome {
                Ok(()) => assert_eq!(ts, 1, "it was durable before"),
                Err(LogError::OutcomeUnknown { ts: of, .. }) => assert_eq!(of, ts),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(log.is_poisoned() && log.durable() == 1);
        // Whoever comes later learns it, too.
        log.when_acknowledged(2, Box::new(move |outcome| sender.send((2, outcome)).unwrap()));
        assert!(receiver.recv_timeout(std::time::Duration::from_secs(60)).unwrap().1.is_err());
        assert!(log.close().is_err());
        assert_eq!(timestamps(&memory.power_cut())[0], 1);
    }
}

#[test]
fn a_leader_that_panics_leaves_nobody_waiting() {
    let (_, directory) = failing();
    let log = open(&directory, stepped(LogOptions::default())).unwrap();
    commit(&log, 1).unwrap();
    append(&log, 2).unwrap();
    directory.plan(Fault::new(Operation::Sync, "log-", ErrorKind::Other).panicking());
    let led = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| log.acknowledge(2)));
    assert!(led.is_err(), "the panic reaches the caller");
    let error = log.wait_durable(2).unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    assert!(log.is_poisoned() && log.durable() == 1);
}

#[test]
fn a_full_disk_refuses_commits_before_they_start_and_heals() {
    let (memory, directory) = failing();
    let log = open(&directory, small_files(Durability::Sync)).unwrap();
    directory.plan(Fault::new(Operation::Write, "log-", ErrorKind::StorageFull).lasting());
    let error = commit(&log, 1).unwrap_err();
    assert!(matches!(error, LogError::Full { needed_bytes: 12288, .. }), "{error}");
    directory.heal();

    let mut ts = 0;
    for round in 0..5 {
        // What is prepared can still be filled; then it is full, and stays so.
        let mut refused = 0;
        directory.plan(Fault::new(Operation::Create, "log-", ErrorKind::StorageFull).lasting());
        while refused < 3 {
            match commit(&log, ts + 1) {
                Ok(()) => ts += 1,
                Err(LogError::Full { .. }) => refused += 1,
                Err(error) => panic!("round {round}: {error}"),
            }
        }
        assert!(!log.is_poisoned());
        directory.heal();
        ts += 1;
        commit(&log, ts).unwrap();
    }
    assert_eq!(timestamps(&memory.power_cut()), (1..=ts).collect::<Vec<_>>());
    log.close().unwrap();
}

#[test]
fn opening_and_closing_works_on_a_full_disk_and_so_do_commits_while_the_last_file_has_room() {
    let (memory, directory) = failing();
    let log = open(&directory, stepped(small_files(Durability::Sync))).unwrap();
    commit(&log, 1).unwrap();
    log.close().unwrap();
    directory.plan(Fault::new(Operation::Create, "", ErrorKind::StorageFull).lasting());
    let writes = directory.count(Operation::Write);
    open(&directory, LogOptions::default()).unwrap().close().unwrap();
    assert_eq!(directory.count(Operation::Write), writes);
    let log = open(&directory, LogOptions::default()).unwrap();
    let mut ts = 1;
    let refused = loop {
        match commit(&log, ts + 1) {
            Ok(()) => ts += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, LogError::Full { .. }), "{refused}");
    // The seal finds no room either, and nothing else is missing.
    assert!(matches!(log.close(), Ok(()) | Err(LogError::Full { .. })));
    assert_eq!(timestamps(&memory), (1..=ts).collect::<Vec<_>>());
}

#[test]
fn a_file_that_cannot_be_made_refuses_with_the_systems_words() {
    let (_, directory) = failing();
    let log = open(&directory, LogOptions::default()).unwrap();
    directory.plan(Fault::new(Operation::SyncDirectory, "", ErrorKind::PermissionDenied));
    let error = commit(&log, 1).unwrap_err();
    assert!(matches!(&error, LogError::Io(cause) if cause.kind() == ErrorKind::PermissionDenied), "{error}");
    assert_eq!(log_files(&directory), [""; 0]);
    commit(&log, 1).unwrap();
}
