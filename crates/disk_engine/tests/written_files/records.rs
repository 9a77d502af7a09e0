//! Records: random ones in file order, and the file that the writer makes of them.

use crate::read_back::{FileRecord, ReadFile, read_back, rows_of};
use evergraph_disk_engine::format::entries::entry::EntryRecord;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::format::lists::record::ListRecord;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject, SubjectKind};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::format::vertices::VertexRecord;
use evergraph_disk_engine::stored_file::StoredFile;
use evergraph_disk_engine::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use evergraph_graph::value::strategy::any_value;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const FIRST_TS: u64 = 1 << 33;
pub const LAST_TS: u64 = FIRST_TS + 1000;

pub fn new_file(stamps: FileStamps) -> NewFile {
    let (first_ts, last_ts) = (Timestamp(FIRST_TS), Timestamp(LAST_TS));
    NewFile { number: FileNumber(7), level: 3, stamps, first_ts, last_ts }
}

pub fn push(writer: &mut FileWriter, record: &FileRecord) -> CheckpointResult<()> {
    match record {
        FileRecord::List { list, item, operation, stamp, properties } => {
            let (operation, stamp) = (*operation, *stamp);
            if list.subject == Subject::VERTICES {
                return writer
                    .push_vertex(&VertexRecord { vertex: list.vertex, operation, stamp }, properties);
            }
            let (neighbor, discriminator) = (item.neighbor(), item.discriminator());
            let edge = ListRecord { vertex: list.vertex, neighbor, discriminator, operation, stamp };
            writer.push_edge(list.subject, &edge, properties)
        }
        FileRecord::Entry { subject, value, item, operation, stamp } => {
            let entry = EntryRecord { value, item: *item, operation: *operation, stamp: *stamp };
            writer.push_entry(*subject, &entry)
        }
    }
}

pub fn write(
    directory: &Arc<dyn Directory>,
    new: &NewFile,
    records: &[FileRecord],
) -> CheckpointResult<StoredFile> {
    let mut writer = FileWriter::create(directory, new)?;
    records.iter().try_for_each(|record| push(&mut writer, record))?;
    writer.finish()
}

/// Writes records and reads them back.
pub fn through_a_file(stamps: FileStamps, records: &[FileRecord]) -> (StoredFile, ReadFile) {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let file = write(&directory, &new_file(stamps), records).unwrap();
    let read = read_back(&*directory, &file);
    (file, read)
}

/// What in sides keep: nothing.
pub fn stored(record: &FileRecord) -> FileRecord {
    let mut stored = record.clone();
    if let FileRecord::List { list, properties, .. } = &mut stored
        && matches!(list.subject.kind(), SubjectKind::Edges { side: EdgeSide::In, .. })
    {
        *properties = Properties::EMPTY;
    }
    stored
}

fn any_operation() -> impl Strategy<Value = RecordOperation> {
    prop_oneof![3 => Just(0u8), 2 => 0u8..4].prop_map(RecordOperation::from_low_bits)
}

/// Of some keys one type is frequent; some values are long.
fn any_change() -> impl Strategy<Value = (KeyId, Option<Value>)> {
    let text = |length: std::ops::Range<usize>| length.prop_map(|length| Value::from("text ".repeat(length)));
    let value = prop_oneof![
        6 => any::<i64>().prop_map(Value::from),
        3 => any_value(),
        2 => text(0..420),
        1 => text(420..8000),
    ];
    (prop_oneof![0u16..4, any::<u16>()].prop_map(KeyId), proptest::option::weighted(0.9, value))
}

fn any_properties() -> impl Strategy<Value = Properties> {
    let some = proptest::collection::vec(any_change(), 1..5).prop_map(Properties::new);
    prop_oneof![2 => Just(Properties::EMPTY), 1 => some]
}

fn any_vertex() -> impl Strategy<Value = VertexId> {
    prop_oneof![4 => 0u32..6, 2 => 4090u32..4100, 1 => any::<u32>()].prop_map(VertexId)
}

fn any_item() -> impl Strategy<Value = (ListId, ItemKey)> {
    let subject = (0u16..3, any::<bool>()).prop_map(|(edge_type, is_out)| {
        Subject::edges(TypeId(edge_type * 700), if is_out { EdgeSide::Out } else { EdgeSide::In })
    });
    let discriminator = prop_oneof![4 => Just(0u16), 2 => 0u16..4, 1 => any::<u16>()];
    let edge = (subject, any_vertex(), any_vertex(), discriminator).prop_map(
        |(subject, vertex, neighbor, discriminator)| {
            (ListId { subject, vertex }, ItemKey::edge(neighbor, discriminator))
        },
    );
    prop_oneof![1 => any_vertex().prop_map(|vertex| (ListId::vertex(vertex), ItemKey::VERTEX)), 3 => edge]
}

fn any_entry() -> impl Strategy<Value = (Subject, Vec<u8>, ItemId)> {
    let value = prop_oneof![any_value(), (0i64..5).prop_map(Value::from), ".{40,80}".prop_map(Value::from)];
    (0u32..3, value, any_vertex(), any_vertex(), 0u16..3).prop_map(
        |(index, value, source, target, discriminator)| {
            let edge = EdgeId { source, edge_type: TypeId(700), target, discriminator };
            let item = if index == 1 { ItemId::Edge(edge) } else { ItemId::Vertex(source) };
            (Subject::index(index).unwrap(), ValueBytes::of(&value).as_slice().to_vec(), item)
        },
    )
}

/// Stamps of one item's versions.
fn any_stamps() -> impl Strategy<Value = Vec<u64>> {
    let few = proptest::collection::vec(FIRST_TS..=LAST_TS, 1..3);
    prop_oneof![12 => few, 1 => proptest::collection::vec(FIRST_TS..=LAST_TS, 1..60)]
}

/// Records in file order. In a file without stamps, one a key.
fn any_records(stamps: FileStamps) -> impl Strategy<Value = Vec<FileRecord>> {
    let version = move |stamp: u64| match stamps {
        FileStamps::Stamped => Reverse(Timestamp(stamp)),
        FileStamps::Unstamped => Reverse(Timestamp::ZERO),
    };
    let payloads = || proptest::collection::vec((any_operation(), any_properties()), 5);
    let lists = proptest::collection::vec((any_item(), any_stamps(), payloads()), 0..250);
    let entries = proptest::collection::vec((any_entry(), any_stamps(), any_operation()), 0..250);
    (lists, entries).prop_filter_map("a file has records", move |(lists, entries)| {
        let mut sorted = BTreeMap::new();
        for ((list, item), stamps, payloads) in lists {
            for (stamp, payload) in stamps.into_iter().zip(payloads.into_iter().cycle()) {
                sorted.insert((list, item, version(stamp)), payload);
            }
        }
        let mut sorted_entries = BTreeMap::new();
        for ((subject, value, item), stamps, operation) in entries {
            for stamp in stamps {
                sorted_entries.insert((subject, value.clone(), item, version(stamp)), operation);
            }
        }
        let lists = sorted.into_iter().map(|((list, item, stamp), (operation, properties))| {
            FileRecord::List { list, item, operation, stamp: stamp.0, properties }
        });
        let entries = sorted_entries.into_iter().map(|((subject, value, item, stamp), operation)| {
            FileRecord::Entry { subject, value, item, operation, stamp: stamp.0 }
        });
        let records: Vec<_> = lists.chain(entries).collect();
        (!records.is_empty()).then_some(records)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn records_with_stamps_come_back_from_their_file(records in any_records(FileStamps::Stamped)) {
        check(FileStamps::Stamped, &records)?;
    }

    #[test]
    fn records_without_stamps_come_back_from_their_file(records in any_records(FileStamps::Unstamped)) {
        check(FileStamps::Unstamped, &records)?;
    }
}

fn check(stamps: FileStamps, records: &[FileRecord]) -> Result<(), TestCaseError> {
    let (file, read) = through_a_file(stamps, records);
    let expected: Vec<_> = records.iter().map(stored).collect();
    prop_assert_eq!(&read.records, &expected);
    prop_assert_eq!(read.rows, rows_of(&expected));
    let has_properties =
        |record: &FileRecord| matches!(record, FileRecord::List { properties, .. } if !properties.is_empty());
    prop_assert_eq!(file.columns.is_some(), expected.iter().any(has_properties));
    Ok(())
}
