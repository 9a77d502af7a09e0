//! Batch: an extent of runs, which one checkpoint wrote, of as many segments as had records that no file held.
//!
//! ```text
//! OFFSET  SIZE   ITEM, at a multiple of 8 of the batch's payload    (little-endian)
//!      0     8   segment   its number
//!      8     4   bytes     of the run, n
//!     12     4   crc       CRC32C of the batch's base and the item's offset (8 bytes each), the 12 bytes before, and the
//!                          n bytes
//!     16     n   run       run_form.rs: a multiple of 8
//! ```
//!
//! Each item has a checksum of its own, so that reading one reads no other. Where items lie is the manifest's knowledge.

use crate::extents::header::{ExtentHeader, ExtentKind, HEADER_BYTES};
use crate::extents::stored_extent::StoredExtent;
use crate::extents::table::Extents;
use crate::files::run_form::{check_records, decode_run};
use crate::files::segment_id::SegmentId;
use crate::shared_record::SharedRecord;
use crc32c::{crc32c, crc32c_append};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::planted::{Bug, planted};
use std::sync::Arc;

/// Bytes of a batch's payload, but for an item that is longer.
pub const BATCH_BYTES: usize = 1 << 20;
/// Bytes before an item's own.
pub const ITEM_HEAD_BYTES: u64 = 16;
/// Items lie at multiples of it.
pub const ITEM_UNIT_BYTES: u64 = 8;

/// Where an item lies in its batch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ItemRange {
    /// Where its head begins in the payload.
    pub offset: u64,
    /// Bytes of the run.
    pub bytes: u64,
}

impl ItemRange {
    /// Head and run; `None` beyond 2^64.
    #[must_use]
    pub fn occupied(self) -> Option<u64> {
        self.bytes.checked_add(ITEM_HEAD_BYTES)
    }

    /// Where it ends; `None` beyond 2^64.
    #[must_use]
    pub fn end(self) -> Option<u64> {
        self.occupied()?.checked_add(self.offset)
    }
}

/// The crc of an item of a batch of this base, of which this is the head.
#[must_use]
pub fn item_crc(base: Timestamp, offset: u64, head: &[u8], bytes: &[u8]) -> u32 {
    let place = crc32c_append(crc32c(&base.0.to_le_bytes()), &offset.to_le_bytes());
    crc32c_append(crc32c_append(place, &head[..12]), bytes)
}

/// The run of `segment` at `range`, which lies in a batch of this base.
///
/// # Errors
/// Where in the extent, what should be there, and what is.
pub fn item_bytes(
    batch: &[u8],
    base: Timestamp,
    segment: SegmentId,
    range: ItemRange,
) -> Result<&[u8], (u64, String)> {
    let from = HEADER_BYTES + range.offset as usize;
    let (head, rest) = batch[from..].split_at(ITEM_HEAD_BYTES as usize);
    let bytes = &rest[..range.bytes as usize];
    let wrong = |offset: usize, expected: String, found: String| {
        Err(((from + offset) as u64, format!("{segment}: {expected} expected, found {found}")))
    };
    let (number, length, crc) = (u64_at(head, 0), u32_at(head, 8), u32_at(head, 12));
    let found = item_crc(base, range.offset, head, bytes);
    if crc != found && !planted(Bug::ExtentUnverified) {
        return wrong(0, format!("a run with crc {crc:#010x}"), format!("{found:#010x}"));
    }
    if number != segment.number() {
        return wrong(0, format!("segment {:#x}", segment.number()), format!("{number:#x}"));
    }
    if u64::from(length) != range.bytes {
        return wrong(8, format!("{} bytes", range.bytes), length.to_string());
    }
    Ok(bytes)
}

/// A run that is stored.
#[derive(Clone, Debug)]
pub struct StoredRun {
    batch: Arc<StoredExtent>,
    segment: SegmentId,
    range: ItemRange,
}

impl StoredRun {
    /// The run of `segment` at `range`, which lies in the batch.
    #[must_use]
    pub fn new(batch: Arc<StoredExtent>, segment: SegmentId, range: ItemRange) -> Self {
        debug_assert!(batch.header().kind == ExtentKind::Batch);
        debug_assert!(range.end().is_some_and(|end| end <= batch.place().payload_bytes));
        Self { batch, segment, range }
    }

    /// The batch.
    #[must_use]
    pub fn batch(&self) -> &Arc<StoredExtent> {
        &self.batch
    }

    /// Where in it.
    #[must_use]
    pub fn range(&self) -> ItemRange {
        self.range
    }

    /// Its bytes, in place. Cost: its checksum.
    ///
    /// # Errors
    /// `Corrupt`, naming file and byte, if they are not what was written.
    pub fn bytes(&self) -> CheckpointResult<&[u8]> {
        let base = self.batch.header().base;
        let found = item_bytes(self.batch.unverified(), base, self.segment, self.range);
        found.map_err(|(offset, problem)| self.batch.corrupt(offset, problem))
    }

    /// Its records. Cost: as [`decode_run`].
    ///
    /// # Errors
    /// As [`StoredRun::bytes`], and if it isn't a run of records of the segment that are newer than `base` and no newer than
    /// `through`.
    pub fn records(&self, base: Timestamp, through: Timestamp) -> CheckpointResult<Vec<SharedRecord>> {
        let records =
            decode_run(self.bytes()?).map_err(|error| self.corrupt(error.offset, &error.expected))?;
        let checked = check_records(self.segment, (base, through), &records);
        checked.map_err(|problem| self.corrupt(0, &problem))?;
        Ok(records)
    }

    /// The error of a run that has the right checksum and is wrong at `offset`.
    pub fn corrupt(&self, offset: usize, problem: &str) -> CheckpointError {
        let offset = HEADER_BYTES as u64 + self.range.offset + ITEM_HEAD_BYTES + offset as u64;
        self.batch.corrupt(offset, format!("{}: {problem}", self.segment))
    }
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes were taken"))
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes were taken"))
}

/// A run that was given to a [`BatchWriter`].
#[derive(Clone, Copy, Debug)]
pub struct RunTicket {
    batch: usize,
    segment: SegmentId,
    range: ItemRange,
}

/// Collects runs into batches.
#[derive(Debug)]
pub struct BatchWriter<'a> {
    extents: &'a Extents,
    base: Timestamp,
    written: Vec<Arc<StoredExtent>>,
    payload: Vec<u8>,
}

/// The batches that a [`BatchWriter`] wrote.
#[derive(Debug, Default)]
pub struct WrittenBatches(Vec<Arc<StoredExtent>>);

impl<'a> BatchWriter<'a> {
    /// Batches that a checkpoint of `base` writes.
    #[must_use]
    pub fn new(extents: &'a Extents, base: Timestamp) -> Self {
        Self { extents, base, written: Vec::new(), payload: Vec::new() }
    }

    /// Adds the run of a segment, whose bytes are those of [`encode_run`](crate::files::run_form::encode_run). Cost: a copy;
    /// sometimes a write of [`BATCH_BYTES`].
    ///
    /// # Errors
    /// `limit` for a run of 4 GiB; those of writing an extent.
    pub fn push(&mut self, segment: SegmentId, bytes: &[u8]) -> CheckpointResult<RunTicket> {
        debug_assert!(bytes.len().is_multiple_of(ITEM_UNIT_BYTES as usize));
        let Ok(length) = u32::try_from(bytes.len()) else {
            let text = format!("{segment}: a run of {} bytes: commit less at once", bytes.len());
            return Err(CheckpointError::Refused(Error::new(ErrorKind::Limit, text)));
        };
        let occupied = ITEM_HEAD_BYTES as usize + bytes.len();
        if !self.payload.is_empty() && self.payload.len() + occupied > BATCH_BYTES {
            self.write()?;
        }
        let range = ItemRange { offset: self.payload.len() as u64, bytes: bytes.len() as u64 };
        let mut head = [0; ITEM_HEAD_BYTES as usize];
        head[..8].copy_from_slice(&segment.number().to_le_bytes());
        head[8..12].copy_from_slice(&length.to_le_bytes());
        let crc = item_crc(self.base, range.offset, &head, bytes);
        head[12..].copy_from_slice(&crc.to_le_bytes());
        self.payload.extend_from_slice(&head);
        self.payload.extend_from_slice(bytes);
        Ok(RunTicket { batch: self.written.len(), segment, range })
    }

    fn write(&mut self) -> CheckpointResult<()> {
        let header = ExtentHeader { kind: ExtentKind::Batch, segment: 0, base: self.base };
        self.written.push(Arc::new(self.extents.write(header, &self.payload)?));
        self.payload.clear();
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Those of writing an extent.
    pub fn finish(mut self) -> CheckpointResult<WrittenBatches> {
        if !self.payload.is_empty() {
            self.write()?;
        }
        Ok(WrittenBatches(self.written))
    }
}

impl WrittenBatches {
    /// The run that a ticket is of.
    #[must_use]
    pub fn run(&self, ticket: &RunTicket) -> StoredRun {
        StoredRun::new(Arc::clone(&self.0[ticket.batch]), ticket.segment, ticket.range)
    }

    /// Bytes of their payloads.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|batch| batch.place().payload_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extents::table::{ExtentOptions, Reuse};
    use evergraph_graph::id::GroupId;
    use evergraph_storage::io::directory::{Directory, OpenMode};
    use evergraph_storage::io::memory::MemoryDirectory;

    fn extents(directory: &Arc<dyn Directory>) -> Extents {
        Extents::open(Arc::clone(directory), ExtentOptions::default(), [], Reuse::Allowed).unwrap().0
    }

    fn segment(group: u32) -> SegmentId {
        SegmentId::vertices(GroupId(group))
    }

    fn run(group: u32) -> Vec<u8> {
        (0..group as usize * 4000 % 30_000 + 8).map(|at| (at as u32 * 7 + group) as u8).collect()
    }

    #[test]
    fn runs_read_back_from_several_batches() {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        let extents = extents(&directory);
        let mut writer = BatchWriter::new(&extents, Timestamp(7));
        let mut tickets: Vec<RunTicket> =
            (0..200).map(|group| writer.push(segment(group), &run(group)).unwrap()).collect();
        let long = vec![9; BATCH_BYTES + 8];
        tickets.push(writer.push(segment(200), &long).unwrap());
        let batches = writer.finish().unwrap();
        assert!(batches.0.len() > 3 && batches.bytes() > (BATCH_BYTES * 3) as u64);
        for (group, ticket) in (0..).zip(&tickets) {
            let expected = if group == 200 { long.clone() } else { run(group) };
            assert!(batches.run(ticket).bytes().unwrap() == expected, "group {group}");
        }
        assert!(BatchWriter::new(&extents, Timestamp(7)).finish().unwrap().0.is_empty());
    }

    #[test]
    fn a_damaged_run_is_named_and_the_others_are_read() {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        let first = extents(&directory);
        let mut writer = BatchWriter::new(&first, Timestamp(7));
        let tickets = [1, 2, 3].map(|group| writer.push(segment(group), &run(group)).unwrap());
        let batches = writer.finish().unwrap();
        let (place, header) = (batches.0[0].place(), batches.0[0].header());
        drop((batches, first));
        let read = |segment, range| {
            let named = [(place, header)];
            let opened =
                Extents::open(Arc::clone(&directory), ExtentOptions::default(), named, Reuse::Allowed)
                    .unwrap();
            let run = StoredRun::new(Arc::new(opened.1.into_iter().next().unwrap()), segment, range);
            let bytes = run.bytes().map(<[u8]>::to_vec);
            bytes.map_err(|error| error.to_string())
        };
        let range = tickets[1].range;
        let second = 64 + range.offset;
        for at in [second, second + 9, second + 12, second + 16, second + 15 + range.bytes] {
            let file = directory.open("array-0000000000000001", OpenMode::ReadWrite).unwrap();
            let mut byte = [0];
            file.read_at(&mut byte, place.offset + at).unwrap();
            file.write_at(&[byte[0] ^ 8], place.offset + at).unwrap();
            let found = tickets.map(|ticket| read(ticket.segment, ticket.range));
            assert_eq!((&found[0], &found[2]), (&Ok(run(1)), &Ok(run(3))));
            let problem = found[1].clone().unwrap_err();
            assert!(problem.contains("the vertices of group 2: a run with crc"), "{problem}");
            assert!(problem.contains(&format!("byte {}", place.offset + second)), "{problem}");
            file.write_at(&byte, place.offset + at).unwrap();
        }
        // What the manifest says of a run is compared too.
        assert!(read(segment(5), range).unwrap_err().contains("segment 0x50000000000 expected"));
        assert!(read(segment(2), ItemRange { bytes: range.bytes - 8, ..range }).is_err());
        assert_eq!(read(segment(2), range), Ok(run(2)));
    }
}
