//! Compaction memory: a compaction takes no more of the heap than it says for the caller to reserve, whatever the graph:
//! many properties in many sources, and large records. Alone in its process, whose heap it measures.
#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

use evergraph_disk_engine::compact::job::CompactionJob;
use evergraph_disk_engine::file::csr_file::CsrFile;
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::format::vertices::VertexRecord;
use evergraph_disk_engine::merge::delete_rule::{Below, DeleteRule};
use evergraph_disk_engine::source::{PropertyMap, RecordSource as _};
use evergraph_disk_engine::stored_file::StoredFile;
use evergraph_disk_engine::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::Mutex;
use peak_alloc::PeakAlloc;
use std::sync::{Arc, LazyLock};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;
/// One test at a time has the heap.
static TURN: LazyLock<Mutex<()>> = LazyLock::new(|| Mutex::new(()));

const LIMIT_BYTES: u64 = 64 << 20;

/// A vertex in `files` files, each of which has another part of the vertices.
#[derive(Clone, Copy)]
struct Shape {
    files: u32,
    vertices: u32,
    properties: u16,
    value: fn(u32, u16) -> Value,
}

impl Shape {
    fn properties_of(self, vertex: u32) -> Vec<(KeyId, Option<Value>)> {
        (0..self.properties).map(|key| (KeyId(key), Some((self.value)(vertex, key)))).collect()
    }

    /// Writes every `files`th vertex, from `file` on.
    fn write(self, file: u32, directory: &Arc<dyn Directory>) -> StoredFile {
        let stamp = Timestamp(1 + u64::from(file));
        let number = FileNumber(1 + u64::from(file));
        let new = NewFile { number, level: 0, stamps: FileStamps::Stamped, first_ts: stamp, last_ts: stamp };
        let mut writer = FileWriter::create(directory, &new).unwrap();
        for vertex in (file..self.vertices).step_by(self.files as usize) {
            let record = VertexRecord { vertex: VertexId(vertex), operation: RecordOperation::Insert, stamp };
            writer.push_vertex(&record, &Properties::new(self.properties_of(vertex))).unwrap();
        }
        writer.finish().unwrap()
    }

    fn check(self, vertex: u32, files: &[CsrFile]) {
        let mut found = PropertyMap::default();
        let list = ListId::vertex(VertexId(vertex));
        for file in files {
            file.at(Timestamp::MAX).property_map(list, ItemKey::VERTEX, &mut found).unwrap();
        }
        let wanted = self.properties_of(vertex).into_iter().map(|(key, value)| (key, value.unwrap()));
        assert!(found.into_present().into_iter().eq(wanted), "vertex {vertex}");
    }

    /// Compacts all files, and looks at some vertices; what the heap grew by, and what the compaction said it takes.
    fn compact(self) -> (u64, u64) {
        let _turn = TURN.lock();
        let folder = tempfile::tempdir().unwrap();
        let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open_or_create(folder.path()).unwrap());
        let budget = MemoryBudget::new(LIMIT_BYTES);
        let reader = PageReader::start(&budget, Background::Stepped).unwrap();
        let stored: Vec<_> = (0..self.files).rev().map(|file| self.write(file, &directory)).collect();
        let open = |stored: &StoredFile| CsrFile::open(&directory, stored, &reader).unwrap();
        let inputs = stored.iter().map(|stored| Arc::new(open(stored))).collect();
        let job = CompactionJob::new(inputs, 5, DeleteRule::new(Below::Nothing, [])).within(LIMIT_BYTES);
        let mut number = 100;
        let mut numbers = || {
            number += 1;
            FileNumber(number)
        };
        let before = HEAP.current_usage();
        HEAP.reset_peak_usage();
        let outputs = job.run(&directory, &mut numbers, &|| false).unwrap();
        let taken = HEAP.peak_usage().saturating_sub(before) as u64;
        let outputs: Vec<_> = outputs.iter().map(open).collect();
        (0..self.vertices).step_by(997).for_each(|vertex| self.check(vertex, &outputs));
        (taken, job.memory_bytes())
    }
}

/// Each of the many columns has a page that is decoded.
#[test]
fn many_properties_in_many_files_are_compacted_in_the_memory_that_was_reserved() {
    let value = |vertex: u32, key: u16| Value::from(i64::from(vertex) * 7919 + i64::from(key));
    let (taken, reserved) = Shape { files: 8, vertices: 6000, properties: 200, value }.compact();
    println!("{taken} bytes taken, {reserved} reserved");
    assert!(taken <= reserved, "{taken} bytes taken, {reserved} reserved");
}

/// Pages of columns wait for the end of their subject, or of the file.
#[test]
fn large_records_are_compacted_in_the_memory_that_was_reserved() {
    let value =
        |vertex: u32, key: u16| Value::from(format!("{vertex} {key} {}", "text ".repeat(300)).as_str());
    let (taken, reserved) = Shape { files: 2, vertices: 2000, properties: 25, value }.compact();
    println!("{taken} bytes taken, {reserved} reserved");
    assert!(taken <= reserved, "{taken} bytes taken, {reserved} reserved");
}

/// A long value is read, decoded and written again: some copies of it come on top.
#[test]
fn values_of_many_megabytes_are_compacted_in_a_few_times_their_memory() {
    let value = |vertex: u32, _| Value::from(format!("{vertex}").repeat(8 << 20).as_str());
    let (taken, reserved) = Shape { files: 2, vertices: 6, properties: 1, value }.compact();
    println!("{taken} bytes taken, {reserved} reserved");
    assert!(taken <= reserved + (24 << 20), "{taken} bytes taken, {reserved} reserved");
}
