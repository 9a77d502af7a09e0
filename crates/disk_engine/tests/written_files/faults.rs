//! Faults: an error, a panic or a power cut at every call. No part of a file stays, or both do.

use crate::read_back::read_back;
use crate::records::new_file;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_disk_engine::format::vertices::VertexRecord;
use evergraph_disk_engine::stored_file::StoredFile;
use evergraph_disk_engine::writer::file_writer::FileWriter;
use evergraph_graph::id::{KeyId, TypeId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Two spans in the topology, two in the columns.
fn write(directory: &Arc<dyn Directory>) -> CheckpointResult<StoredFile> {
    let mut writer = FileWriter::create(directory, &new_file(FileStamps::Unstamped))?;
    let properties = Properties::new(vec![(KeyId(1), Some(Value::from("text".repeat(500))))]);
    for vertex in 0..700 {
        let record = VertexRecord {
            vertex: VertexId(vertex),
            operation: RecordOperation::Insert,
            stamp: Timestamp::ZERO,
        };
        writer.push_vertex(&record, &properties)?;
    }
    let neighbors: Vec<u32> = (0..8u32).map(|at| at * 500_000_000).collect();
    for vertex in 0..35_000 {
        writer.push_list(Subject::edges(TypeId(0), EdgeSide::In), VertexId(vertex), &neighbors)?;
    }
    writer.finish()
}

fn directories() -> (MemoryDirectory, FailingDirectory, Arc<dyn Directory>) {
    let memory = MemoryDirectory::new("db");
    let failing = FailingDirectory::new(Arc::new(memory.clone()));
    let directory: Arc<dyn Directory> = Arc::new(failing.clone());
    (memory, failing, directory)
}

#[test]
fn a_finished_file_survives_a_power_cut() {
    let (memory, failing, directory) = directories();
    let file = write(&directory).unwrap();
    assert_eq!((failing.count(Operation::Write), failing.count(Operation::Sync)), (4, 2));
    let found = memory.power_cut();
    assert_eq!(found.list().unwrap(), ["col-0000000000000007", "csr-0000000000000007"]);
    assert_eq!(read_back(&found, &file).records.len(), 280_700);
}

#[test]
fn an_error_at_any_call_leaves_no_file() {
    let (_, counted, directory) = directories();
    write(&directory).unwrap();
    let changes = counted.changes_count();
    assert_eq!(changes, 9, "two files created, four writes, two syncs, one of the directory");
    for nth in 1..=changes {
        let kind = if nth % 2 == 0 { ErrorKind::StorageFull } else { ErrorKind::Other };
        let (memory, failing, directory) = directories();
        failing.plan(Fault::any_change(kind).nth(nth));
        let error = write(&directory).unwrap_err().to_string();
        assert_eq!(memory.list().unwrap(), [""; 0], "change {nth}");

        // What fails first is reported, although the removal fails as well.
        let (_, failing, directory) = directories();
        failing.plan(Fault::any_change(kind).nth(nth).lasting());
        assert_eq!(write(&directory).unwrap_err().to_string(), error);

        let (memory, failing, directory) = directories();
        failing.plan(Fault::any_change(kind).nth(nth).panicking());
        assert!(catch_unwind(AssertUnwindSafe(|| write(&directory))).is_err());
        failing.heal();
        assert_eq!(memory.list().unwrap(), [""; 0], "panic at change {nth}");
    }
    for name in ["csr", "col"] {
        let (memory, failing, directory) = directories();
        failing.plan(Fault::new(Operation::Open, name, ErrorKind::Other));
        assert!(write(&directory).is_err());
        assert_eq!(memory.list().unwrap(), [""; 0]);
    }
}

#[test]
fn a_file_of_the_same_number_is_left_alone() {
    for name in ["csr-0000000000000007", "col-0000000000000007"] {
        let (memory, _, directory) = directories();
        memory.write_all_new(name, b"older").unwrap();
        assert!(write(&directory).is_err());
        assert_eq!(memory.list().unwrap(), [name]);
        assert_eq!(memory.read_all(name, 10).unwrap(), b"older");
    }
}

#[test]
fn a_writer_that_is_dropped_removes_what_it_wrote() {
    let (memory, _, directory) = directories();
    drop(FileWriter::create(&directory, &new_file(FileStamps::Stamped)).unwrap());
    assert_eq!(memory.list().unwrap(), [""; 0]);
}

#[test]
fn nothing_follows_a_failed_write() {
    let (memory, failing, directory) = directories();
    let mut writer = FileWriter::create(&directory, &new_file(FileStamps::Unstamped)).unwrap();
    failing.plan(Fault::new(Operation::Write, "csr", ErrorKind::StorageFull));
    let neighbors: Vec<u32> = (0..10_000u32).map(|at| at * 400_000).collect();
    let subject = Subject::edges(TypeId(0), EdgeSide::In);
    let failed = (0..100).find(|vertex| writer.push_list(subject, VertexId(*vertex), &neighbors).is_err());
    assert!(failed.is_some());
    assert!(catch_unwind(AssertUnwindSafe(|| writer.finish())).is_err(), "a part is missing");
    assert_eq!(memory.list().unwrap(), [""; 0]);
}
