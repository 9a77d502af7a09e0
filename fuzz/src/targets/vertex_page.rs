//! Vertex page: any bytes are refused or records of vertices; those of a sound page, written again, fit into one
//! page and read back.

use crate::pages::{FIRST_TS, input_of, page_of, sound};
use crate::target::{Memory, Target};
use evergraph_disk_engine::format::file_name::PAGE_BYTES;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::page::{PageBytes, PageFlags, Pushed};
use evergraph_disk_engine::format::vertices::{VertexPage, VertexPageBuilder, VertexRecord};
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 8 << 20, per_byte: 0 } };

fn seeds() -> Vec<Vec<u8>> {
    let record = |vertex, operation, stamp| VertexRecord {
        vertex: VertexId(vertex),
        operation,
        stamp: Timestamp(stamp),
    };
    let stamped = [
        record(4, RecordOperation::Delete, 1009),
        record(4, RecordOperation::Insert, 1002),
        record(5, RecordOperation::Set, 1004),
        record(4096, RecordOperation::Insert, 1004),
    ];
    let insert = |vertex| record(vertex, RecordOperation::Insert, 0);
    let consecutive: Vec<_> = (8192..9000).map(insert).collect();
    let with_gaps: Vec<_> = (0..300).filter(|at| at % 7 != 0).map(insert).collect();
    [(&stamped[..], true), (&consecutive, false), (&with_gaps, false)]
        .map(|(records, has_stamps)| input_of(&written(records, has_stamps.then_some(FIRST_TS))))
        .to_vec()
}

fn written(records: &[VertexRecord], first_ts: Option<Timestamp>) -> Box<PageBytes> {
    let mut builder = VertexPageBuilder::new(first_ts);
    for record in records {
        assert_eq!(builder.push(record), Pushed::Taken, "what was in one page fits into one: {record:?}");
    }
    let mut page = Box::new([0; PAGE_BYTES]);
    let _ = builder.finish(0, &mut page);
    page
}

fn promise(input: &[u8]) {
    let page = page_of(input);
    let Some(vertices) = sound(VertexPage::open(&page)) else { return };
    let found = vertices.find(vertices.head().first_vertex);
    sound(vertices.stamps_into(FIRST_TS, found, &mut Vec::new()));
    let mut records = Vec::new();
    let decoded = sound(vertices.decode_into(FIRST_TS, &mut records)).is_some();
    if sound(vertices.check(FIRST_TS)).is_none() {
        return;
    }
    assert!(decoded, "a page that is sound can be read");
    for record in records.iter().take(50) {
        let found = vertices.find(record.vertex);
        assert!(found.map(|at| records[at]).any(|found| found == *record), "{record:?}");
    }
    let again = written(&records, vertices.head().flags.has(PageFlags::STAMPS).then_some(FIRST_TS));
    let again = VertexPage::open(&again).expect("a page that is written can be read");
    let mut read = Vec::new();
    again.decode_into(FIRST_TS, &mut read).expect("a page that is written can be read");
    assert_eq!(read, records);
}
