//! Who can't open a database to read it: each error names its cause.

use crate::history::{graph_at, open_writer, write};
use crate::model::dump;
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::reader::{OpenReader, engine_of, open_reader, processes};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
use evergraph_storage::io::network_file_system::refusal;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::sync::Arc;

fn refused(directory: &Arc<dyn Directory>, kind: ErrorKind) -> String {
    let opened: Result<OpenReader, Error> = open_reader(Arc::clone(directory), &OpenOptions::default());
    let error = opened.err().expect("it can't be opened");
    assert_eq!(error.kind(), kind, "{error}");
    error.to_string()
}

#[test]
fn a_directory_without_a_database_or_of_another_engine() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    assert!(refused(&directory, ErrorKind::NotFound).contains("no database in db"));
    assert_eq!(processes(&directory).unwrap_err().kind(), ErrorKind::NotFound);
    for engine in ["memory", "disk"] {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        let options = OpenOptions { engine: Some(engine), ..OpenOptions::default() };
        let open = OpenStore::<AnyEngine>::open(Arc::clone(&directory), &options);
        let open = open.unwrap();
        for _ in 0..2 {
            let said = refused(&directory, ErrorKind::Invalid);
            let convert = "evergraph convert db NEW --engine mapped";
            assert!(said.contains(&format!("the engine `{engine}`")) && said.contains(convert), "{said}");
            assert_eq!(engine_of(&*directory).unwrap().name(), engine);
            open.close().unwrap();
        }
    }
}

#[test]
fn more_processes_than_there_can_be() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let writer = open_writer(&directory);
    write(&writer, 2);
    let open = || open_reader(Arc::clone(&directory), &OpenOptions::default());
    let mut readers: Vec<_> = (0..64).map(|_| open().unwrap()).collect();
    assert!(refused(&directory, ErrorKind::Limit).contains("64 processes read database db"));
    drop(readers.pop());
    assert!(open().is_ok());
    writer.close().unwrap();
}

#[test]
fn a_process_without_permission_is_told_the_file() {
    let failing = Arc::new(FailingDirectory::new(Arc::new(MemoryDirectory::new("db"))));
    let directory: Arc<dyn Directory> = Arc::<FailingDirectory>::clone(&failing);
    let writer = open_writer(&directory);
    write(&writer, 2);
    for (operation, name) in [(Operation::Lock, "reader-"), (Operation::Open, "live")] {
        failing.plan(Fault::new(operation, name, std::io::ErrorKind::PermissionDenied).lasting());
        let said = refused(&directory, ErrorKind::Io);
        assert!(said.contains(name) && said.contains("needs permission to write this file"), "{said}");
        failing.heal();
    }
    // As a killed process of another user left it: the next one is free.
    failing.plan(Fault::new(Operation::Lock, "reader-0", std::io::ErrorKind::PermissionDenied).lasting());
    assert!(open_reader(Arc::clone(&directory), &OpenOptions::default()).is_ok());
    failing.heal();
    writer.close().unwrap();
}

/// As on a network file system, whose files processes of several machines would not share. How one is recognised is tested where
/// that is done; here the refusal of it goes its way to whoever opens the database.
#[test]
fn a_process_that_cannot_map_live_is_told_so() {
    let failing = Arc::new(FailingDirectory::new(Arc::new(MemoryDirectory::new("db"))));
    let directory: Arc<dyn Directory> = Arc::<FailingDirectory>::clone(&failing);
    let writer = open_writer(&directory);
    write(&writer, 2);
    let refusal = refusal("NFS");
    let fault = Fault::new(Operation::Map, "live", refusal.kind()).lasting().saying(refusal.to_string());
    let check = |said: &str| {
        let advice = "choose a folder on a local disk, or a database of another engine than mapped";
        let is_whole = said.contains("map db/live") && said.contains("it is on NFS, a network file system");
        assert!(is_whole && said.contains(advice), "{said}");
    };
    failing.plan(fault.clone());
    check(&refused(&directory, ErrorKind::Io));
    failing.heal();
    assert!(open_reader(Arc::clone(&directory), &OpenOptions::default()).is_ok());
    writer.close().unwrap();
    drop(writer);
    // Nor can anybody write it there, and nothing is left of the attempt.
    let before = directory.list().unwrap();
    failing.plan(fault);
    let opened = OpenStore::<AnyEngine>::open(Arc::clone(&directory), &OpenOptions::default());
    let error = opened.err().expect("it can't be opened");
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    check(&error.to_string());
    assert_eq!(directory.list().unwrap(), before);
    failing.heal();
    open_writer(&directory).close().unwrap();
}

/// It is refused before it makes a new `live`: readers stay with the first one's.
#[test]
fn a_second_process_that_writes_is_told_of_the_first_and_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let directory = || -> Arc<dyn Directory> { Arc::new(DiskDirectory::open(place.path()).unwrap()) };
    let writer = open_writer(&directory());
    write(&writer, 20);
    let reader = open_reader(directory(), &OpenOptions::default()).unwrap();
    let old = reader.store().snapshot();
    for _ in 0..2 {
        let second = OpenStore::<AnyEngine>::open(directory(), &OpenOptions::default());
        let error = second.err().expect("one process writes");
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        let holder = format!("this process ({}) already", std::process::id());
        assert!(error.to_string().contains(&holder), "{error}");
    }
    write(&writer, 20);
    let newest = reader.store().snapshot();
    assert_eq!((old.timestamp(), newest.timestamp()), (Timestamp(20), Timestamp(40)));
    for snapshot in [old, newest] {
        assert!(dump(&snapshot, 7) == graph_at(snapshot.timestamp()), "it is not its commits");
    }
    writer.close().unwrap();
}

#[test]
fn what_another_version_shares_is_not_joined() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let writer = open_writer(&directory);
    write(&writer, 2);
    let live = directory.open("live", OpenMode::ReadWrite).unwrap();
    live.write_at(&7_u64.to_ne_bytes(), 8).unwrap();
    assert!(refused(&directory, ErrorKind::Invalid).contains("has format 7"));
    writer.close().unwrap();
    drop(writer);
    // What is left of it matters to nobody.
    assert!(open_reader(Arc::clone(&directory), &OpenOptions::default()).is_ok());
}

/// A writer was killed, and what it shared is of another version, damaged or none: nobody holds it, and the database is sound.
#[test]
fn a_live_that_nobody_writes_keeps_nobody_from_reading() {
    for (offset, bytes) in [(8, [9, 0, 0, 0, 0, 0, 0, 0]), (0, [0x55; 8]), (48, [0xff; 8])] {
        let memory = MemoryDirectory::new("db");
        let directory: Arc<dyn Directory> = Arc::new(memory.clone());
        let writer = open_writer(&directory);
        write(&writer, 20);
        // Everything that it did is there, only the process is gone; what it stored in words goes along by hand.
        let mut shared = vec![0; 1 << 13];
        directory.open("live", OpenMode::Read).unwrap().read_at(&mut shared, 0).unwrap();
        let left = memory.crash(|_| CrashOutcome::Kept);
        writer.close().unwrap();
        let directory: Arc<dyn Directory> = Arc::new(left);
        let live = directory.open("live", OpenMode::ReadWrite).unwrap();
        live.write_at(&shared, 0).unwrap();
        live.write_at(&bytes, offset).unwrap();
        let reader = open_reader(Arc::clone(&directory), &OpenOptions::default()).unwrap();
        for _ in 0..2 {
            let snapshot = reader.store().snapshot();
            assert_eq!(snapshot.timestamp(), Timestamp(20));
            assert!(dump(&snapshot, 7) == graph_at(Timestamp(20)), "it is not its commits");
        }
        let writer = open_writer(&directory);
        write(&writer, 10);
        assert_eq!(reader.store().snapshot().timestamp(), Timestamp(30), "the next writer is joined");
        writer.close().unwrap();
    }
}
