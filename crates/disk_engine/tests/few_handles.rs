//! Few handles: an engine with more files than may be open reads all of them, those that were merged and removed under a
//! snapshot too; a cached page is read without a handle.
#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

use evergraph_disk_engine::durable::files::DatabaseFiles;
use evergraph_disk_engine::engine::{DiskEngine, EngineParts};
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::file_set::FileSet;
use evergraph_disk_engine::format::file_name::{CsrFileName, FileContent, FileNumber};
use evergraph_disk_engine::groups::GroupTable;
use evergraph_disk_engine::index_table::IndexTable;
use evergraph_disk_engine::pacing::PacingLimits;
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_disk_engine::tuning::Tuning;
use evergraph_graph::id::{GroupId, KeyId, LabelId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::engine::Engine;
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::handle_table::HandleTable;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::view::View as _;
use std::io::ErrorKind as IoKind;
use std::sync::Arc;
use std::time::Duration;

const KEY: KeyId = KeyId(0);
const HANDLES_MAX: usize = 3;
const VERTICES: u32 = 12;

fn engine(directory: &Arc<dyn Directory>) -> DiskEngine {
    let budget = Arc::new(MemoryBudget::new(64 << 20));
    let handles = HandleTable::new(HANDLES_MAX);
    let engine = DiskEngine::open_parts(EngineParts {
        timeline: Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published)),
        reader: PageReader::start_with_handles(&budget, 1, Background::Stepped, handles).unwrap(),
        budget,
        files: DatabaseFiles::empty(directory),
        set: FileSet::new(),
        groups: GroupTable::new(),
        indexes: IndexTable::new([], 1 << 24),
        background: Background::Stepped,
        compaction_threads: 1,
        graph_bytes: Some(1 << 20),
        limits: PacingLimits::UNCOMPACTED,
        tuning: Tuning::default(),
    })
    .unwrap();
    engine.open_group(GroupId(0), LabelId(0));
    engine
}

fn value(of: u32) -> Properties {
    Properties::new(vec![(KEY, Some(Value::from(i64::from(of))))])
}

/// A commit that is flushed to files of its own, one of vertices and one of properties.
fn flush(engine: &DiskEngine, mutation: Mutation) {
    let prepared = engine.prepare(&[mutation], &IndexChanges::NONE, Duration::ZERO).unwrap();
    let timeline = engine.timeline();
    let mut latch = timeline.latch();
    let timestamp = timeline.published().next();
    let displaced = engine.append(timestamp, prepared);
    timeline.publish(timestamp, &mut latch);
    drop(latch);
    drop(displaced);
    engine.flush_all().unwrap();
}

fn insert(engine: &DiskEngine, vertex: u32) {
    let (vertex, properties) = (VertexId(vertex), value(vertex));
    flush(engine, Mutation::InsertVertex { vertex, label: LabelId(0), properties });
}

/// The values of all vertices as of `timestamp`.
fn values(
    engine: &DiskEngine,
    pin: &<DiskEngine as Engine>::Pin,
    timestamp: Timestamp,
) -> Vec<Option<Value>> {
    let view = engine.view(pin, timestamp);
    (0..VERTICES).map(|vertex| view.vertex_property(VertexId(vertex), KEY).unwrap()).collect()
}

fn expected(add: u32) -> Vec<Option<Value>> {
    (0..VERTICES).map(|vertex| Some(Value::from(i64::from(vertex + add)))).collect()
}

fn open_handles(engine: &DiskEngine) -> u64 {
    engine.page_reader().handles().statistics().open
}

#[test]
fn files_beyond_the_handles_are_read_and_removed_ones_too() {
    let memory = MemoryDirectory::new("disk");
    let directory: Arc<dyn Directory> = Arc::new(memory.clone());
    let engine = engine(&directory);
    (0..VERTICES).for_each(|vertex| insert(&engine, vertex));
    assert_eq!(memory.list().unwrap().len(), 2 * VERTICES as usize);
    let newest = engine.timeline().published();
    let held = engine.pin(newest);
    assert_eq!(values(&engine, &held, newest), expected(0));
    assert!(open_handles(&engine) <= HANDLES_MAX as u64);
    for vertex in 0..VERTICES {
        let (vertex, properties) = (VertexId(vertex), value(vertex + 100));
        flush(&engine, Mutation::SetVertexProperties { vertex, properties });
    }
    // Pages that the cache has would be read without their file.
    let before: Vec<_> = engine.tree().current().set.iter().map(|file| file.number()).collect();
    before.iter().for_each(|number| engine.page_reader().forget_file(*number));
    let limits = PickLimits { flushed_runs: 2, ..PickLimits::default() };
    while engine.compact_by(&limits).unwrap() {}
    let set = Arc::clone(&engine.tree().current().set);
    let is_merged = |number: &FileNumber| set.iter().all(|file| file.number() != *number);
    let merged: Vec<_> = before.into_iter().filter(is_merged).collect();
    assert!(merged.len() > 2 * HANDLES_MAX);
    let names = memory.list().unwrap();
    let is_gone =
        |number: &FileNumber| !names.contains(&CsrFileName::new(*number, FileContent::Topology).to_string());
    assert!(merged.iter().all(is_gone), "no manifest named them: {names:?}");
    assert_eq!(values(&engine, &held, newest), expected(0), "and they are read");
    let now = engine.timeline().published();
    assert_eq!(values(&engine, &engine.pin(now), now), expected(100));
    assert!(engine.page_reader().handles().statistics().opened_again > 0);
    assert!(open_handles(&engine) <= HANDLES_MAX as u64);
}

#[test]
fn a_cached_page_is_read_without_a_handle_and_a_failure_to_open_names_the_file() {
    let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("disk")));
    let directory: Arc<dyn Directory> = Arc::new(failing.clone());
    let engine = engine(&directory);
    (0..VERTICES).for_each(|vertex| insert(&engine, vertex));
    let newest = engine.timeline().published();
    let pin = engine.pin(newest);
    assert_eq!(values(&engine, &pin, newest), expected(0));
    let opened = failing.count(Operation::Open);
    failing.plan(Fault::new(Operation::Open, "", IoKind::Other).lasting());
    assert_eq!(values(&engine, &pin, newest), expected(0), "all pages are cached");
    assert_eq!(failing.count(Operation::Open), opened);
    engine.tree().current().set.iter().for_each(|file| engine.page_reader().forget_file(file.number()));
    let view = engine.view(&pin, newest);
    let failed = (0..VERTICES).find_map(|vertex| view.vertex_property(VertexId(vertex), KEY).err()).unwrap();
    assert!(failed.to_string().contains("open disk/c"), "{failed}");
    failing.heal();
    assert_eq!(values(&engine, &pin, newest), expected(0));
}
