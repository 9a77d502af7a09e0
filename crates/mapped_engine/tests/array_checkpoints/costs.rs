//! Costs: a checkpoint writes what was committed, runs stay few, batches that are mostly dead are packed again.

use crate::naive::{Change, NaiveDatabase, key, read_manifest, segment_ids};
use evergraph_mapped_engine::files::section::{STORED_RUNS_MAX, Section};
use evergraph_storage::io::memory::MemoryDirectory;
use std::sync::Arc;

fn change(at: usize, number: u64, length: usize) -> Change {
    let id = segment_ids()[at];
    Change { id, key: key(id, number), value: Some(vec![number as u8; length]) }
}

fn section(directory: &MemoryDirectory) -> Section {
    Section::of(directory, &read_manifest(directory).unwrap()).unwrap()
}

#[test]
fn a_checkpoint_writes_what_was_committed_however_large_the_graph() {
    let memory = MemoryDirectory::new("db");
    let database = NaiveDatabase::open(Arc::new(memory.clone())).unwrap();
    for number in 0..20 {
        database.commit(&[change(0, number, 9000), change(1, number, 9000)]).unwrap();
    }
    segment_ids().into_iter().for_each(|id| database.merge(id).unwrap());
    let all = database.checkpoint().unwrap();
    assert_eq!((all.bytes_written, all.bodies_written), (0, 2), "bodies are written by merges");
    assert_eq!(database.checkpoint().unwrap().bytes_written, 0);
    database.commit(&[change(0, 3, 100)]).unwrap();
    let one = database.checkpoint().unwrap();
    assert!(one.bytes_written > 100 && one.bytes_written < 160, "{one:?}");
    assert_eq!(one.bodies_written, 0);
    assert_eq!(database.checkpoint().unwrap().bytes_written, 0);
}

#[test]
fn runs_stay_few_and_each_record_is_written_a_few_times() {
    let memory = MemoryDirectory::new("db");
    let database = NaiveDatabase::open(Arc::new(memory.clone())).unwrap();
    let (mut written, mut committed) = (0, 0);
    // Never so many that they are merged into a body.
    for number in 0..39 {
        database.commit(&[change(0, number, 500)]).unwrap();
        committed += 540;
        written += database.checkpoint().unwrap().bytes_written;
        let section = section(&memory);
        assert!(section.segments[0].runs.len() <= STORED_RUNS_MAX);
        let found = NaiveDatabase::open(Arc::new(memory.power_cut())).unwrap();
        assert_eq!(found.graph().unwrap(), database.graph().unwrap());
    }
    assert!(written < 4 * committed, "{written} bytes written for {committed}");
}

#[test]
fn what_is_alive_in_a_thin_batch_moves_and_space_is_used_again() {
    let memory = MemoryDirectory::new("db");
    let database = NaiveDatabase::open(Arc::new(memory.clone())).unwrap();
    // One small run beside large ones, which are merged away.
    database.commit(&[change(3, 1, 10), change(0, 1, 9000), change(1, 1, 9000)]).unwrap();
    database.checkpoint().unwrap();
    let first = section(&memory).batches[0];
    for round in 0..50 {
        for at in [0, 1] {
            database.commit(&[change(at, round, 9000)]).unwrap();
            database.merge(segment_ids()[at]).unwrap();
        }
        database.checkpoint().unwrap();
    }
    let section = section(&memory);
    assert!(!section.batches.contains(&first), "{section:?}");
    assert!(section.batches.len() == 1 && section.batches[0].place.payload_bytes < 200, "{section:?}");
    let statistics = database.segments.extents.statistics();
    assert!(statistics.file_bytes < 4 << 20, "{statistics:?}");
    let found = NaiveDatabase::open(Arc::new(memory.power_cut())).unwrap();
    assert_eq!(found.graph().unwrap(), database.graph().unwrap());
}
