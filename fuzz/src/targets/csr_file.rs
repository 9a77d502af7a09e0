//! CSR file: its head, footer, page indexes and directory. What is read, written again, is the same.

use crate::pages::{FILE, assert_place};
use crate::target::{Memory, Target};
use evergraph_disk_engine::format::directory::{DirectoryRow, decode_directory, encode_directory};
use evergraph_disk_engine::format::entries::entry::Separator;
use evergraph_disk_engine::format::file_head::{FileHead, FileHeadError, FileStamps};
use evergraph_disk_engine::format::file_name::FILE_HEAD_BYTES;
use evergraph_disk_engine::format::footer::{FOOTER_BYTES, Footer};
use evergraph_disk_engine::format::page::{PageHead, PageKind};
use evergraph_disk_engine::format::page_index::columns::{ColumnIndex, ColumnIndexBuilder};
use evergraph_disk_engine::format::page_index::topology::{TopologyIndex, TopologyIndexBuilder};
use evergraph_disk_engine::format::row_set::RowSet;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_graph::id::{GROUP_SIZE, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::view::GroupBits;

/// The target: the first byte of an input says which part the rest is.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 16, per_byte: 64 } };

const EDGES: Subject = Subject::edges(TypeId(2), EdgeSide::Out);

fn seeds() -> Vec<Vec<u8>> {
    let head = FileHead {
        name: FILE,
        level: 0,
        stamps: FileStamps::Stamped,
        first_ts: Timestamp(1000),
        last_ts: Timestamp(2000),
    };
    let mut topology = TopologyIndexBuilder::default();
    topology.push(&PageHead::new(PageKind::Vertices, Subject::VERTICES), VertexId(0));
    topology.push(&PageHead::new(PageKind::Lists, EDGES), VertexId(5));
    topology.push(&PageHead::new(PageKind::Filter, EDGES), VertexId(5));
    let index = Subject::index(1).expect("the number is small");
    topology.push_separated(&PageHead::new(PageKind::Entries, index), &Separator::FIRST);
    topology
        .push_separated(&PageHead::new(PageKind::Entries, index), &Separator { value: b"Ada", item: None });
    let mut columns = ColumnIndexBuilder::default();
    for (kind, subject, key) in [
        (PageKind::Column, Subject::VERTICES, 1),
        (PageKind::LongValues, EDGES, 2),
        (PageKind::Column, EDGES, 2),
    ] {
        columns.push(&PageHead { property_key: KeyId(key), ..PageHead::new(kind, subject) });
    }
    let rows = [
        (Subject::VERTICES, 0, 297, row_set(0..300), row_set([7, 9, 11])),
        (EDGES, 0, -3, row_set([4]), RowSet::default()),
        (EDGES, 9, 40_000, row_set(0..GROUP_SIZE as usize), RowSet::default()),
    ];
    let rows = rows.map(|(subject, group, difference, rows, deleted)| DirectoryRow {
        subject,
        group: GroupId(group),
        difference,
        rows,
        deleted,
    });
    let (topology, columns, directory) = (topology.finish(), columns.finish(), encode_directory(&rows));
    let (_, end) = Footer::encode(FILE, 5, &topology, &directory);
    let footer = &end[end.len() - FOOTER_BYTES..];
    [&head.encode()[..64], footer, &directory, &topology, &columns]
        .iter()
        .zip(0..)
        .map(|(part, number)| [&[number], *part].concat())
        .collect()
}

fn row_set(rows: impl IntoIterator<Item = usize>) -> RowSet {
    let mut bits: GroupBits = [0; _];
    rows.into_iter().for_each(|row| bits[row / 64] |= 1 << (row % 64));
    RowSet::of_bits(&bits)
}

fn promise(input: &[u8]) {
    let Some((part, bytes)) = input.split_first() else { return };
    match part % 5 {
        0 => head(bytes),
        1 => footer(bytes),
        2 => directory(bytes),
        3 => topology_index(bytes),
        _ => column_index(bytes),
    }
}

fn head(input: &[u8]) {
    let mut bytes = [0; FILE_HEAD_BYTES];
    let length = input.len().min(FILE_HEAD_BYTES);
    bytes[..length].copy_from_slice(&input[..length]);
    match FileHead::decode(&bytes, FILE) {
        Ok(head) => assert_eq!(FileHead::decode(&head.encode(), FILE), Ok(head)),
        Err(FileHeadError::Corrupt(error)) => assert_place(&error, FILE_HEAD_BYTES),
        Err(FileHeadError::NewerFormat { found, supported }) => assert!(found > supported),
    }
}

fn footer(input: &[u8]) {
    let Some((bytes, _)) = input.split_first_chunk::<FOOTER_BYTES>() else { return };
    for file_bytes in [8192, 90_112] {
        match Footer::decode(bytes, FILE, file_bytes) {
            Ok(footer) => assert!(footer.directory.offset + footer.directory.length < file_bytes),
            Err(error) => assert_place(&error, FOOTER_BYTES),
        }
    }
}

fn directory(input: &[u8]) {
    match decode_directory(input) {
        Ok(rows) => {
            assert!(rows.is_sorted_by(|a, b| (a.subject, a.group.0) < (b.subject, b.group.0)));
            assert_eq!(decode_directory(&encode_directory(&rows)), Ok(rows));
        }
        Err(error) => assert_place(&error, input.len()),
    }
}

/// As many pages as the input may have records of.
fn pages(input: &[u8]) -> u32 {
    u32::try_from(input.len() / 16).unwrap_or(u32::MAX)
}

fn topology_index(input: &[u8]) {
    for pages in [pages(input), pages(input) / 2, 5] {
        match TopologyIndex::decode(input, pages) {
            Ok(index) => {
                assert_eq!(index.pages().len() + index.filters().len(), pages as usize);
                for page in index.pages() {
                    let _ = index.separator(page);
                    let found = index.pages_of_vertex(page.subject, page.first_vertex());
                    assert!(found.len() <= pages as usize);
                }
                let _ = index.filter_of_edge(EDGES, VertexId(3), VertexId(9));
            }
            Err(error) => assert_place(&error, input.len()),
        }
    }
}

fn column_index(input: &[u8]) {
    for pages in [pages(input), 3] {
        match ColumnIndex::decode(input, pages) {
            Ok(index) => {
                for page in index.pages() {
                    let of_column = index.pages_of(page.subject, page.property_key);
                    assert!(of_column.contains(page), "a page is one of its column's");
                }
            }
            Err(error) => assert_place(&error, input.len()),
        }
    }
}
