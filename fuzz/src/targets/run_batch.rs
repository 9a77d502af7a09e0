//! Run batch: an extent of runs, as a checkpoint of the mapped engine writes it and every opening reads it. Any bytes are refused at
//! a place in the file or read without a panic; what is damaged is never read; records that are read are written in the same bytes.
//!
//! Input: a byte of flags, then the extent from its header on. Its runs follow each other from the payload's beginning.

use crate::golden_arrays::GoldenDatabase;
use crate::samples;
use crate::target::{Memory, Target};
use crate::targets::manifest::assert_told;
use crc32c::{crc32c, crc32c_append};
use evergraph_graph::id::{Direction, GroupId, KeyId, TypeId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_mapped_engine::extents::array_file::file_name;
use evergraph_mapped_engine::extents::header::{
    BLOCK_BYTES, ExtentHeader, ExtentKind, ExtentPlace, HEADER_BYTES, extent_bytes,
};
use evergraph_mapped_engine::extents::table::{ExtentOptions, Extents, Reuse};
use evergraph_mapped_engine::files::batch::{
    BatchWriter, ITEM_HEAD_BYTES, ITEM_UNIT_BYTES, ItemRange, StoredRun,
};
use evergraph_mapped_engine::files::run_form::encode_run;
use evergraph_mapped_engine::files::segment_id::SegmentId;
use evergraph_mapped_engine::shared_record::SharedRecord;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::record::{Operation, Record, RecordKey, Stamp};
use std::sync::Arc;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 2 << 20, per_byte: 256 } };

/// Lengths and checksums of header, payload and runs are made those of what is there.
const MENDED: u8 = 1;
/// Zeros follow the payload, so that it has more than one block.
const LONG: u8 = 2;
/// Of what was mended, the last byte of the payload is changed behind it.
const DAMAGED: u8 = 4;

/// Where the extent lies: behind the first line of its file.
const FILE: u64 = 1;
const OFFSET: u64 = 64;
/// The commit that the bodies beside the runs are exact at.
const AFTER: Timestamp = Timestamp::ZERO;

fn seeds() -> Vec<Vec<u8>> {
    let golden = GoldenDatabase::all().into_iter().flat_map(|database| {
        let batches = database.section.batches.iter();
        batches.map(|batch| database.extent(batch.place).to_vec()).collect::<Vec<_>>()
    });
    let flags = [MENDED, MENDED | LONG, MENDED | DAMAGED, MENDED | LONG | DAMAGED, 0];
    let with_flags = |extent: Vec<u8>| flags.map(|flags| [&[flags], &extent[..]].concat());
    golden.chain([written()]).flat_map(with_flags).collect()
}

/// A batch of our own writer, of a group's vertices, edges of both sides, and those of a hub.
fn written() -> Vec<u8> {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let opened = Extents::open(directory, ExtentOptions::default(), [], Reuse::Allowed);
    let extents = opened.expect("an empty folder opens").0;
    let record = |key, at, operation, values: &[Value]| {
        let keyed = values.iter().zip(0..).map(|(value, key)| (KeyId(key), Some(value.clone())));
        let payload: Properties = keyed.collect();
        SharedRecord::of(&Record { key, stamp: Stamp::new(Timestamp(at), operation), payload })
    };
    let values = samples::values();
    let edges = |side| SegmentId::edges(GroupId(1), TypeId(3), side);
    let own = |row| {
        vec![
            record(RecordKey::edge(row, 5, 0), 7, Operation::Insert, &values[..4]),
            record(RecordKey::edge(row, 5, 1), 9, Operation::Delete, &[]),
            record(RecordKey::edge(row, 4096, 0), 8, Operation::Replace, &[]),
        ]
    };
    let runs = [
        (
            SegmentId::vertices(GroupId(1)),
            vec![
                record(RecordKey::vertex(0), 7, Operation::Insert, &values),
                record(RecordKey::vertex(0), 9, Operation::Set, &values[..1]),
                record(RecordKey::vertex(4095), 8, Operation::Delete, &[]),
            ],
        ),
        (edges(Direction::Out), own(3)),
        (edges(Direction::Out).hub(4), own(4)),
        (edges(Direction::In), vec![record(RecordKey::edge(5, 3, 0), 7, Operation::Insert, &[])]),
    ];
    let mut writer = BatchWriter::new(&extents, Timestamp(9));
    let tickets = runs.map(|(segment, records)| {
        let run = encode_run(&records).expect("a few records");
        writer.push(segment, &run).expect("a short run")
    });
    let run = writer.finish().expect("memory has room").run(&tickets[0]);
    let length = extent_bytes(run.batch().place().payload_bytes).expect("it is short");
    run.batch().unverified()[..length as usize].to_vec()
}

fn promise(input: &[u8]) {
    let Some((flags, extent)) = input.split_first() else { return };
    let Some((header, payload)) = extent.split_first_chunk::<HEADER_BYTES>() else { return };
    let (mut header, mut payload) = (*header, payload.to_vec());
    let (is_mended, mut is_damaged) = (flags & MENDED != 0, false);
    let base = Timestamp(u64_at(&header, 24));
    let ranges = ranges(&payload);
    if is_mended {
        ranges.iter().for_each(|range| mend_run(&mut payload, *range, base));
    }
    if flags & LONG != 0 {
        payload.resize(payload.len() + BLOCK_BYTES, 0);
    }
    let blocks = payload.chunks(BLOCK_BYTES).filter(|_| payload.len() > BLOCK_BYTES);
    let blocks: Vec<u8> = blocks.flat_map(|block| crc32c(block).to_le_bytes()).collect();
    let place = ExtentPlace { file: FILE, offset: OFFSET, payload_bytes: payload.len() as u64 };
    if is_mended {
        mend_header(&mut header, place, if blocks.is_empty() { &payload } else { &blocks });
    }
    if is_mended
        && flags & DAMAGED != 0
        && let Some(last) = payload.last_mut()
    {
        *last ^= 1;
        is_damaged = true;
    }
    let mut file = [&[0; OFFSET as usize], &header[..], &payload, &blocks].concat();
    file.resize(file.len().next_multiple_of(WriteUnit::LINE.bytes() as usize), 0);

    let directory = MemoryDirectory::new("db").with_unit(WriteUnit::LINE);
    directory.write_all_new(&file_name(FILE), &file).expect("a new name");
    let known = ExtentHeader { kind: ExtentKind::Batch, segment: 0, base };
    let options = ExtentOptions::default();
    let opened = Extents::open(Arc::new(directory), options, [(place, known)], Reuse::OnlyRead);
    let (_, found) = opened.expect("the extent lies within its file");
    let batch = Arc::new(found.into_iter().next().expect("one extent was named"));

    let sound = known.sound_blocks(place, batch.unverified());
    assert!(sound.is_sorted_by(|a, b| a.end < b.start), "{sound:?}");
    let behind = payload.len() + usize::from(!is_damaged);
    assert!(sound.last().is_none_or(|last| last.end < behind), "{sound:?} of {} bytes", payload.len());
    match batch.payload() {
        Ok(found) => {
            assert!(found == payload && !is_damaged, "a damaged byte is never read");
            assert_eq!(sound.iter().map(|range| range.len()).sum::<usize>(), payload.len());
        }
        Err(error) => assert_told(&error, file.len()),
    }
    for range in ranges {
        let head = &payload[range.offset as usize..];
        let segment = SegmentId::numbered(u64_at(head, 0));
        let is_whole = segment.is_some() && u64::from(u32_at(head, 8)) == range.bytes;
        let is_hit = is_damaged && range.end() == Some(place.payload_bytes);
        let segment = segment.unwrap_or(SegmentId::vertices(GroupId(0)));
        let run = StoredRun::new(Arc::clone(&batch), segment, range);
        match run.bytes() {
            Ok(bytes) => {
                assert!(is_whole && !is_hit, "another run, or a damaged one, is never read");
                match run.records(AFTER, base) {
                    Ok(records) => check(segment, base, &records, bytes),
                    Err(error) => assert_told(&error, file.len()),
                }
            }
            Err(error) => {
                assert!(!is_mended || !is_whole || is_hit, "{error}");
                assert_told(&error, file.len());
            }
        }
    }
}

/// Records are those that may stand beside a body that is exact at [`AFTER`], and these bytes again when they are written.
fn check(segment: SegmentId, base: Timestamp, records: &[SharedRecord], bytes: &[u8]) {
    for record in records {
        assert!((AFTER.0 + 1..=base.0).contains(&record.stamp.timestamp().0), "{record:?}");
        // Salvage reads their properties; those of indexes are entries.
        if segment.index_number().is_none()
            && let Err(problem) = record.decoded()
        {
            assert!(!problem.is_empty(), "an error says what is wrong");
        }
    }
    assert_eq!(encode_run(records).ok().as_deref(), Some(bytes), "a run has one form");
}

/// Where runs lie that follow each other, each as long as its head says, less what is no whole number of words.
fn ranges(payload: &[u8]) -> Vec<ItemRange> {
    let (mut ranges, mut rest) = (Vec::new(), payload);
    while rest.len() as u64 >= ITEM_HEAD_BYTES {
        let bytes = u64::from(u32_at(rest, 8));
        let offset = (payload.len() - rest.len()) as u64;
        let range = ItemRange { offset, bytes: bytes - bytes % ITEM_UNIT_BYTES };
        let Some((_, behind)) = rest.split_at_checked((ITEM_HEAD_BYTES + range.bytes) as usize) else {
            break;
        };
        ranges.push(range);
        rest = behind;
    }
    ranges
}

fn mend_run(payload: &mut [u8], range: ItemRange, base: Timestamp) {
    let item = &mut payload[range.offset as usize..][..(ITEM_HEAD_BYTES + range.bytes) as usize];
    let (head, bytes) = item.split_at_mut(ITEM_HEAD_BYTES as usize);
    let place = crc32c_append(crc32c(&base.0.to_le_bytes()), &range.offset.to_le_bytes());
    let crc = crc32c_append(crc32c_append(place, &head[..12]), bytes);
    head[12..].copy_from_slice(&crc.to_le_bytes());
}

/// `checked` is what the payload's crc is of.
fn mend_header(header: &mut [u8; HEADER_BYTES], place: ExtentPlace, checked: &[u8]) {
    header[8..16].copy_from_slice(&place.payload_bytes.to_le_bytes());
    header[32..36].copy_from_slice(&crc32c(checked).to_le_bytes());
    let of_place = crc32c_append(crc32c(&place.file.to_le_bytes()), &place.offset.to_le_bytes());
    let crc = crc32c_append(of_place, &header[..36]);
    header[36..40].copy_from_slice(&crc.to_le_bytes());
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("the range has eight bytes"))
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("the range has four bytes"))
}
