//! Cached pages: a file's pages, read through a cache that shares its memory with reservations.

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

use evergraph_disk_engine::file::csr_file::CsrFile;
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::file_name::{
    CsrFileName, FileContent, FileNumber, PAGE_BYTES, PageNumber,
};
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_disk_engine::format::tree_key::ListId;
use evergraph_disk_engine::source::RecordSource as _;
use evergraph_disk_engine::stored_file::StoredFile;
use evergraph_disk_engine::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::budget::Budget as _;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::{TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use std::sync::Arc;

const LISTS: u32 = 8000;
const SUBJECT: Subject = Subject::edges(TypeId(0), EdgeSide::In);
const NEIGHBORS: [u32; 8] = [0, 1 << 28, 2 << 28, 3 << 28, 4 << 28, 5 << 28, 6 << 28, 7 << 28];

/// Some ten pages of lists of eight edges.
fn write(directory: &Arc<dyn Directory>, number: u64) -> StoredFile {
    let (first_ts, last_ts) = (Timestamp(1), Timestamp(9));
    let stamps = FileStamps::Unstamped;
    let new = NewFile { number: FileNumber(number), level: 1, stamps, first_ts, last_ts };
    let mut writer = FileWriter::create(directory, &new).unwrap();
    (0..LISTS).for_each(|vertex| writer.push_list(SUBJECT, VertexId(vertex), &NEIGHBORS).unwrap());
    writer.finish().unwrap()
}

fn opened(directory: &Arc<dyn Directory>, stored: &StoredFile, budget: &MemoryBudget) -> Arc<CsrFile> {
    let reader = PageReader::start(budget, Background::Stepped).unwrap();
    Arc::new(CsrFile::open(directory, stored, &reader).unwrap())
}

/// The neighbours of `vertex`, in a file.
fn list(file: &CsrFile, vertex: u32) -> Result<Vec<u32>, Error> {
    let (mut items, id) = (Vec::new(), ListId { subject: SUBJECT, vertex: VertexId(vertex) });
    assert!(!file.at(Timestamp(9)).list(id, None, 99, &mut items)?);
    Ok(items.iter().map(|listed| listed.item.neighbor().0).collect())
}

#[test]
fn a_full_cache_gives_its_memory_to_whoever_reserves() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let stored = write(&directory, 7);
    let budget = MemoryBudget::new(6 * PAGE_BYTES as u64);
    let file = opened(&directory, &stored, &budget);
    assert!(file.topology_index().pages().len() > 8, "the cache has room for fewer");
    let read_all = || (0..LISTS).step_by(50).all(|vertex| list(&file, vertex).unwrap() == NEIGHBORS);
    assert!(read_all());
    assert!(budget.used_bytes() > 4 * PAGE_BYTES as u64, "the cache takes what nobody reserves");
    let index_bytes = file.heap_bytes() as u64;
    let scores = budget.reserve("scores", budget.limit_bytes() - index_bytes).expect("the cache gives way");
    assert!(read_all(), "without a cache");
    assert_eq!(budget.used_bytes(), budget.limit_bytes());
    drop(scores);
    assert!(read_all() && budget.used_bytes() > 4 * PAGE_BYTES as u64, "it grows again");
}

#[test]
fn a_page_of_another_place_or_another_file_is_damage() {
    let name = |number| CsrFileName::new(FileNumber(number), FileContent::Topology).to_string();
    for (from, place) in [(7, 2), (8, 1)] {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        let [stored, _] = [7, 8].map(|number| write(&directory, number));
        // Page 1 is now what a disk would return that writes or reads at a wrong place.
        let mut page = vec![0; PAGE_BYTES];
        let source = directory.open(&name(from), OpenMode::Read).unwrap();
        source.read_at(&mut page, PageNumber(place).offset()).unwrap();
        let damaged = directory.open(&name(7), OpenMode::ReadWrite).unwrap();
        damaged.write_at(&page, PageNumber(1).offset()).unwrap();
        let file = opened(&directory, &stored, &MemoryBudget::new(1 << 20));
        assert_eq!(list(&file, 0).unwrap(), NEIGHBORS, "page 0 is sound");
        let (first, end) = (file.topology_index().pages()[1].first_vertex(), LISTS);
        let error = (first.0 + 1..end).find_map(|vertex| list(&file, vertex).err());
        let error = error.expect("a page of elsewhere has another checksum");
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        let text = error.to_string();
        assert!(text.contains(&name(7)) && text.contains(&PageNumber(1).offset().to_string()), "{text}");
    }
}
