//! Entry page: any bytes are refused or entries of an index; those of a sound page, written again, fit into one
//! page, and are found from any of them on.

use crate::pages::{FIRST_TS, input_of, page_of, sound};
use crate::target::{Memory, Target};
use evergraph_disk_engine::format::entries::builder::EntryPageBuilder;
use evergraph_disk_engine::format::entries::entry::{EntryRecord, ItemKind, Separator};
use evergraph_disk_engine::format::entries::page::{EntryCursor, EntryPage};
use evergraph_disk_engine::format::file_name::PAGE_BYTES;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::page::{PageBytes, PageFlags, Pushed};
use evergraph_disk_engine::format::subject::Subject;
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 4 << 20, per_byte: 0 } };

/// An entry that owns its value.
#[derive(Clone, PartialEq, Debug)]
struct Entry {
    value: Vec<u8>,
    item: ItemId,
    operation: RecordOperation,
    stamp: Timestamp,
}

impl Entry {
    fn of(record: &EntryRecord<'_>) -> Self {
        let EntryRecord { value, item, operation, stamp } = *record;
        Self { value: value.to_vec(), item, operation, stamp }
    }

    fn record(&self) -> EntryRecord<'_> {
        EntryRecord { value: &self.value, item: self.item, operation: self.operation, stamp: self.stamp }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let vertex = |value: &str, vertex, operation, stamp| Entry {
        value: value.as_bytes().to_vec(),
        item: ItemId::Vertex(VertexId(vertex)),
        operation,
        stamp: Timestamp(stamp),
    };
    let stamped = [
        vertex("", 7, RecordOperation::Insert, 1001),
        vertex("Ada", 1, RecordOperation::Delete, 1009),
        vertex("Ada", 1, RecordOperation::Insert, 1001),
        vertex("Ada", 4, RecordOperation::Insert, 1001),
        vertex("Adam", 2, RecordOperation::Insert, 1003),
    ];
    let edge = |at: u32| EdgeId {
        source: VertexId(at),
        edge_type: TypeId(3),
        target: VertexId(at + 1),
        discriminator: 0,
    };
    let edges: Vec<_> = (0..60)
        .map(|at| Entry {
            value: format!("https://example.org/{:03}", at / 3).into_bytes(),
            item: ItemId::Edge(edge(at)),
            operation: RecordOperation::Insert,
            stamp: Timestamp::ZERO,
        })
        .collect();
    vec![
        input_of(&written(&stamped, ItemKind::Vertices, Some(FIRST_TS))),
        input_of(&written(&edges, ItemKind::Edges, None)),
    ]
}

fn written(entries: &[Entry], items: ItemKind, first_ts: Option<Timestamp>) -> Box<PageBytes> {
    let subject = Subject::index(5).expect("the number is small");
    let mut builder = EntryPageBuilder::new(subject, items, first_ts);
    for entry in entries {
        let pushed = builder.push(&entry.record());
        assert_eq!(pushed, Pushed::Taken, "what was in one page fits into one: {entry:?}");
    }
    let mut page = Box::new([0; PAGE_BYTES]);
    let _ = builder.finish(0, &mut page);
    page
}

fn read(mut cursor: EntryCursor<'_>) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    while let Some(entry) = sound(cursor.next())? {
        entries.push(Entry::of(&entry));
    }
    Some(entries)
}

fn promise(input: &[u8]) {
    let page = page_of(input);
    let Some(opened) = sound(EntryPage::open(&page)) else { return };
    sound(opened.entries_from(&Separator { value: b"Ada", item: None }, FIRST_TS));
    let entries = sound(opened.entries(FIRST_TS)).and_then(read);
    if sound(opened.check(FIRST_TS)).is_none() {
        return;
    }
    let entries = entries.expect("a page that is sound can be read");
    for entry in entries.iter().take(40) {
        let from = Separator { value: &entry.value, item: Some(entry.item) };
        let from = opened.entries_from(&from, FIRST_TS).expect("the page is sound");
        let first = read(from).expect("the page is sound").first().cloned().expect("the entry is there");
        assert_eq!((first.value, first.item), (entry.value.clone(), entry.item));
    }
    let items =
        if opened.head().flags.has(PageFlags::EDGE_ITEMS) { ItemKind::Edges } else { ItemKind::Vertices };
    let again = written(&entries, items, opened.head().flags.has(PageFlags::STAMPS).then_some(FIRST_TS));
    let again = EntryPage::open(&again).expect("a page that is written can be read");
    assert_eq!(read(again.entries(FIRST_TS).expect("it has entries")), Some(entries));
}
