//! Who can't open a database to read it: each error names its cause.

use crate::history::{open_writer, write};
use evergraph_engines::reader::{OpenReader, engine_of, open_reader, processes};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
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
        let open = OpenStore::<evergraph_engines::engine::AnyEngine>::open(Arc::clone(&directory), &options);
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
    for (operation, name) in [(Operation::Lock, "reader-0"), (Operation::Open, "live")] {
        failing.plan(Fault::new(operation, name, std::io::ErrorKind::PermissionDenied));
        let said = refused(&directory, ErrorKind::Io);
        assert!(said.contains(name) && said.contains("needs permission to write this file"), "{said}");
    }
    assert!(open_reader(Arc::clone(&directory), &OpenOptions::default()).is_ok());
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
