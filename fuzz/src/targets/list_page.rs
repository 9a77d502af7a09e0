//! List page: any bytes are refused or lists; the records of a sound page, written again, fit into one page and
//! read back.

use crate::pages::{FIRST_TS, input_of, page_of, sound};
use crate::target::{Memory, Target};
use evergraph_disk_engine::format::file_name::PAGE_BYTES;
use evergraph_disk_engine::format::lists::buffer::ListBuffer;
use evergraph_disk_engine::format::lists::builder::ListPageBuilder;
use evergraph_disk_engine::format::lists::page::ListPage;
use evergraph_disk_engine::format::lists::record::ListRecord;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::page::{PageBytes, PageFlags, Pushed};
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_graph::id::{TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 6 << 20, per_byte: 0 } };

fn seeds() -> Vec<Vec<u8>> {
    let record = |vertex, neighbor, discriminator, operation, stamp| ListRecord {
        vertex: VertexId(vertex),
        neighbor: VertexId(neighbor),
        discriminator,
        operation,
        stamp: Timestamp(stamp),
    };
    let plain = |vertex, neighbor| ListRecord::insert(VertexId(vertex), VertexId(neighbor));
    let stamped = [
        record(3, 5, 0, RecordOperation::Delete, 1007),
        record(3, 5, 0, RecordOperation::Insert, 1003),
        record(3, 5, 1, RecordOperation::Insert, 1003),
        record(900, 1, 0, RecordOperation::Set, 1001),
        record(70_000, 1 << 30, 0, RecordOperation::Replace, 1002),
    ];
    let dense: Vec<_> = (0..40).flat_map(|vertex| [plain(vertex, vertex + 1), plain(vertex, 4000)]).collect();
    let sparse: Vec<_> = (0..200).map(|at| plain(at * at, at)).collect();
    let long: Vec<_> = (0..700).map(|at| plain(9, at * 3)).collect();
    [(&stamped[..], true), (&dense, false), (&sparse, false), (&long, false)]
        .map(|(records, has_stamps)| input_of(&written(records, has_stamps.then_some(FIRST_TS), 40)))
        .to_vec()
}

fn written(records: &[ListRecord], first_ts: Option<Timestamp>, rank: u64) -> Box<PageBytes> {
    let mut builder = ListPageBuilder::new(Subject::edges(TypeId(4), EdgeSide::Out), first_ts);
    for record in records {
        assert_eq!(builder.push(record), Pushed::Taken, "what was in one page fits into one: {record:?}");
    }
    let mut page = Box::new([0; PAGE_BYTES]);
    let _ = builder.finish(rank, &mut page);
    page
}

fn promise(input: &[u8]) {
    let page = page_of(input);
    let Some(lists) = sound(ListPage::open(&page)) else { return };
    let vertex = lists.head().first_vertex;
    if let Some(Some(range)) = sound(lists.find(vertex)) {
        let (mut neighbors, mut stamps) = (Vec::new(), Vec::new());
        sound(lists.neighbors_into(range.clone(), &mut neighbors));
        sound(lists.stamps_into(FIRST_TS, range.clone(), &mut stamps));
        if let Some(neighbor) = neighbors.last() {
            sound(lists.find_neighbor(range, VertexId(*neighbor)));
        }
    }
    let mut buffer = ListBuffer::default();
    let decoded = sound(lists.decode_lists(&mut buffer)).is_some();
    if sound(lists.check(FIRST_TS, &mut buffer)).is_none() {
        return;
    }
    assert!(decoded, "a page that is sound can be scanned");
    sound(lists.decode_records(FIRST_TS, &mut buffer)).expect("a page that is sound can be read");
    let records: Vec<_> = buffer.records().collect();
    for record in records.iter().take(50) {
        let range = lists.find(record.vertex).expect("the page is sound").expect("its lists are found");
        let found = lists.find_neighbor(range, record.neighbor).expect("the page is sound");
        assert!(found.map(|at| buffer.record(record.vertex, at)).any(|found| found == *record), "{record:?}");
    }
    let first_ts = lists.head().flags.has(PageFlags::STAMPS).then_some(FIRST_TS);
    let again = written(&records, first_ts, lists.head().rank);
    let again = ListPage::open(&again).expect("a page that is written can be read");
    let mut read = ListBuffer::default();
    again.decode_records(FIRST_TS, &mut read).expect("a page that is written can be read");
    assert!(read.records().eq(records), "the page reads back");
}
