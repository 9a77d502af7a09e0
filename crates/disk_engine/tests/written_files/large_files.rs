//! Large files: lists, columns, long values and filters of many pages.

use crate::read_back::{FileRecord, read_back, rows_of, topology_kinds};
use crate::records::{FIRST_TS, new_file, push, through_a_file};
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::page::PageKind;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::writer::file_writer::FileWriter;
use evergraph_graph::id::{KeyId, TypeId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use std::sync::Arc;

const OUT: Subject = Subject::edges(TypeId(0), EdgeSide::Out);
const IN: Subject = Subject::edges(TypeId(0), EdgeSide::In);

fn count(kinds: &[PageKind], kind: PageKind) -> usize {
    kinds.iter().filter(|found| **found == kind).count()
}

fn insert(list: ListId, item: ItemKey, stamp: Timestamp, properties: Properties) -> FileRecord {
    FileRecord::List { list, item, operation: RecordOperation::Insert, stamp, properties }
}

fn edge(subject: Subject, vertex: u32, neighbor: u32) -> FileRecord {
    let list = ListId { subject, vertex: VertexId(vertex) };
    insert(list, ItemKey::edge(VertexId(neighbor), 0), Timestamp::ZERO, Properties::EMPTY)
}

#[test]
fn whole_lists_and_single_records_become_the_same_file() {
    let hub: Vec<u32> = (0..60_000).map(|at| at * 5000 + at % 3).collect();
    let lists = [(OUT, 3, &hub[..7]), (OUT, 9, &hub[..]), (OUT, 5000, &hub[..1]), (IN, 1, &hub[..20_000])];
    let mut records = Vec::new();
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let mut writer = FileWriter::create(&directory, &new_file(FileStamps::Unstamped)).unwrap();
    let mut bytes = writer.bytes();
    for (subject, vertex, neighbors) in lists {
        records.extend(neighbors.iter().map(|neighbor| edge(subject, vertex, *neighbor)));
        // In two pieces, and nothing.
        let (left, right) = neighbors.split_at(neighbors.len() / 3);
        for part in [left, &[], right] {
            writer.push_list(subject, VertexId(vertex), part).unwrap();
            assert!(writer.bytes() >= bytes);
            bytes = writer.bytes();
        }
    }
    let file = writer.finish().unwrap();
    let read = read_back(&*directory, &file);
    assert!(read.records == records);
    assert_eq!(read.rows, rows_of(&records));
    assert!(count(&read.kinds, PageKind::Lists) > 3 && file.columns.is_none());
    assert!(bytes + (1 << 16) > file.bytes() && bytes <= file.bytes());
    let (other, _) = through_a_file(FileStamps::Unstamped, &records);
    assert_eq!(other, file, "footers have the same checksums");
}

#[test]
fn filters_are_written_in_runs() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let mut writer = FileWriter::create(&directory, &new_file(FileStamps::Unstamped)).unwrap();
    let neighbors: Vec<u32> = (0..10_000).map(|at| at * 3).collect();
    for vertex in 0..120 {
        writer.push_list(OUT, VertexId(vertex), &neighbors).unwrap();
    }
    let file = writer.finish().unwrap();
    let kinds = topology_kinds(&*directory, &file);
    let runs: Vec<_> = kinds.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    let filters: Vec<_> =
        runs.iter().filter(|(kind, _)| *kind == PageKind::Filter).map(|run| run.1).collect();
    // 1,200,000 keys, 9,890 a page.
    assert_eq!(filters, [64, 58]);
}

#[test]
fn a_vertex_and_an_edge_may_have_versions_on_several_pages() {
    let mut records = Vec::new();
    let properties = |stamp| Properties::new(vec![(KeyId(2), Some(Value::from(i64::from(stamp))))]);
    let lists = (0..12).map(|vertex| (ListId::vertex(VertexId(vertex)), ItemKey::VERTEX));
    let edges = (0..40).map(|at| {
        (ListId { subject: OUT, vertex: VertexId(at / 20) }, ItemKey::edge(VertexId(at), at as u16 % 2))
    });
    for (list, item) in lists.chain(edges) {
        for stamp in (0..1000).rev() {
            records.push(insert(
                list,
                item,
                Timestamp(FIRST_TS + u64::from(stamp as u32)),
                properties(stamp),
            ));
        }
    }
    for at in 0..30 {
        for stamp in (0..1000).rev() {
            records.push(FileRecord::Entry {
                subject: Subject::index(0).unwrap(),
                value: vec![at / 10; 9],
                item: ItemId::Vertex(VertexId(at.into())),
                operation: RecordOperation::from_low_bits(stamp as u8 % 2),
                stamp: Timestamp(FIRST_TS + stamp),
            });
        }
    }
    let (_, read) = through_a_file(FileStamps::Stamped, &records);
    assert!(read.records == records);
    for kind in [PageKind::Vertices, PageKind::Lists, PageKind::Entries] {
        assert!(count(&read.kinds, kind) > 2, "{kind:?}: {:?}", read.kinds);
    }
    assert!(count(&read.column_kinds, PageKind::Column) > 10);
}

#[test]
fn long_values_of_several_properties_share_their_pages() {
    let text = |at: u32, length: usize| Value::from(format!("{at:09}").repeat(length / 9));
    let mut records = Vec::new();
    let mut long_bytes = 0;
    for at in 0..400u32 {
        let lengths =
            [(0, 3000), (1, 20), (2, if at == 77 { 200_000 } else { 2500 }), (3, 9 * (at as usize % 150))];
        long_bytes += if at == 77 { 203_000 } else { 5500 };
        let changes = lengths.map(|(key, length)| (KeyId(key), Some(text(at + u32::from(key), length))));
        let properties = Properties::new(changes.into());
        let stamp = Timestamp::ZERO;
        records.push(match at {
            0..100 => insert(ListId::vertex(VertexId(at * 3)), ItemKey::VERTEX, stamp, properties),
            _ => {
                let list = ListId { subject: OUT, vertex: VertexId(at / 50) };
                insert(list, ItemKey::edge(VertexId(at), 0), stamp, properties)
            }
        });
    }
    let (file, read) = through_a_file(FileStamps::Unstamped, &records);
    assert!(read.records == records);
    assert!(file.columns.unwrap().bytes > 2 << 20, "several spans");
    let pages = count(&read.column_kinds, PageKind::LongValues);
    assert!(pages <= long_bytes / 16_000 + 3, "{pages} pages of {long_bytes} bytes");
}

#[test]
fn a_file_of_vertices_alone_ends_with_its_last_vertex() {
    let vertex = |at| ListId::vertex(VertexId(at));
    let records =
        [3, 70_000].map(|at| insert(vertex(at), ItemKey::VERTEX, Timestamp::ZERO, Properties::EMPTY));
    let (file, read) = through_a_file(FileStamps::Unstamped, &records);
    assert!(read.records == records && file.columns.is_none());
    assert_eq!((file.first_key, file.last_key), (records[0].key(), records[1].key()));
}

#[test]
#[should_panic(expected = "subjects ascend")]
fn subjects_out_of_order_are_a_defect() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let mut writer = FileWriter::create(&directory, &new_file(FileStamps::Unstamped)).unwrap();
    push(&mut writer, &edge(IN, 1, 1)).unwrap();
    let _ = push(&mut writer, &edge(OUT, 1, 1));
}

#[test]
#[should_panic(expected = "a stamp is between")]
fn a_stamp_outside_of_the_file_is_a_defect() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let mut writer = FileWriter::create(&directory, &new_file(FileStamps::Stamped)).unwrap();
    let list = ListId::vertex(VertexId(1));
    let _ = push(&mut writer, &insert(list, ItemKey::VERTEX, Timestamp(FIRST_TS - 1), Properties::EMPTY));
}
