//! Payload writer: an extent that is written part by part, as its payload comes.
//!
//! ```text
//! header payload ...      | payload ...  | payload ... checksums zeros
//! first part: kept, and   | next parts: written as they fill up
//! written at the end
//! ```
//!
//! The header has the checksum of all that follows, so the first part waits in memory, beside the one that is being filled. Most
//! extents are shorter than a part: they are one write.

use crate::extents::array_file::ArrayFile;
use crate::extents::header::{ExtentHeader, ExtentPlace, HEADER_BYTES, PayloadChecksums};
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::planted::{Bug, planted};
use std::ops::Range;

/// Bytes of a part: a multiple of every write unit.
const PART_BYTES: usize = 1 << 18;

/// Writes the payload of one extent.
#[derive(Debug)]
pub struct PayloadWriter<'a> {
    file: &'a ArrayFile,
    /// The extent, with zeros to the unit.
    range: Range<u64>,
    payload_bytes: u64,
    /// Bytes of the payload that have not come yet.
    left: u64,
    checksums: PayloadChecksums,
    /// The first part; empty until the second one begins.
    first: Vec<u8>,
    /// The part that is being filled, how many of its bytes are in the checksums or none of theirs, and where it begins.
    part: Vec<u8>,
    summed: usize,
    offset: u64,
    has_failed: bool,
}

impl<'a> PayloadWriter<'a> {
    /// Of an extent that takes `range`, which the caller claimed.
    pub(crate) fn new(file: &'a ArrayFile, range: Range<u64>, payload_bytes: u64) -> Self {
        let occupied = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut part = Vec::with_capacity(occupied.min(PART_BYTES));
        // For the header.
        part.resize(HEADER_BYTES, 0);
        let (left, offset, checksums) = (payload_bytes, range.start, PayloadChecksums::default());
        let (first, summed) = (Vec::new(), HEADER_BYTES);
        Self { file, range, payload_bytes, left, checksums, first, part, summed, offset, has_failed: false }
    }

    /// Puts the next bytes of the payload.
    ///
    /// # Errors
    /// What the system says; `Unsound` if there are more than the extent has.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or_else(|| self.unsound("more"))?;
        self.append(bytes)
    }

    fn append(&mut self, mut bytes: &[u8]) -> Result<(), CheckpointError> {
        while !bytes.is_empty() {
            if self.part.len() == PART_BYTES {
                self.end_part()?;
            }
            let (now, rest) = bytes.split_at(bytes.len().min(PART_BYTES - self.part.len()));
            self.part.extend_from_slice(now);
            bytes = rest;
        }
        Ok(())
    }

    /// Many bytes at a time: the payload may come in very small pieces.
    fn sum(&mut self) {
        self.checksums.add(&self.part[self.summed..]);
        self.summed = self.part.len();
    }

    fn end_part(&mut self) -> Result<(), CheckpointError> {
        if !planted(Bug::PartNotSummed) {
            self.sum();
        }
        self.summed = 0;
        let bytes = self.part.len() as u64;
        if self.offset == self.range.start {
            self.first = std::mem::take(&mut self.part);
        } else {
            let written = match planted(Bug::PartNotWritten) {
                true => Ok(()),
                false => self.file.write_part(&self.part, self.offset),
            };
            self.has_failed |= written.is_err();
            written?;
            self.part.clear();
        }
        self.offset += bytes;
        Ok(())
    }

    /// Writes the rest, when all of the payload was put; the number of the write.
    ///
    /// # Errors
    /// What the system says; `Unsound` if fewer bytes came.
    pub(crate) fn finish(
        &mut self,
        header: ExtentHeader,
        place: ExtentPlace,
    ) -> Result<u64, CheckpointError> {
        if self.left > 0 {
            return Err(self.unsound(&(self.payload_bytes - self.left).to_string()));
        }
        self.sum();
        let (crc, of_blocks) = std::mem::take(&mut self.checksums).finish();
        self.append(&of_blocks)?;
        let zeros = self.range.end - self.offset - self.part.len() as u64;
        self.append(&vec![0; zeros as usize])?;
        self.end_part()?;
        self.first[..HEADER_BYTES].copy_from_slice(&header.encode_head(place, crc));
        let first = self.range.start..self.range.start + self.first.len() as u64;
        let written = self.file.write(&self.first, &first);
        self.has_failed |= written.is_err();
        written
    }

    /// Whether a write failed: nobody knows then what lies there.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    #[cold]
    fn unsound(&self, found: &str) -> CheckpointError {
        let file = self.file.file().path().display();
        let what = format!("the payload of the extent at byte {} of {file}", self.range.start);
        let problem = format!("{} bytes expected, found {found}", self.payload_bytes);
        CheckpointError::Unsound { what, problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extents::header::{ExtentKind, extent_bytes};
    use crate::extents::table::{ExtentOptions, Extents, Reuse};
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_storage::io::error::Operation;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::MemoryDirectory;
    use std::io::ErrorKind;
    use std::sync::Arc;

    const HEADER: ExtentHeader = ExtentHeader { kind: ExtentKind::IndexBody, segment: 5, base: Timestamp(9) };

    fn payload(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at * 31 + at / 7001) as u8).collect()
    }

    #[test]
    fn an_extent_in_parts_is_what_it_is_as_a_whole() {
        let directory = Arc::new(MemoryDirectory::new("db"));
        let extents = Extents::open(directory, ExtentOptions::default(), [], Reuse::Allowed).unwrap().0;
        // Where a part ends within the header's, a block's and the checksums' bytes, or with them.
        let part = PART_BYTES - HEADER_BYTES;
        for bytes in
            [0, 1, part - 20, part - 16, part - 1, part, part + 1, 2 * part, 2 * PART_BYTES + part - 30]
        {
            let payload = payload(bytes);
            let written = extents.write_in_pieces(HEADER, bytes as u64, |writer| {
                payload.chunks(999).try_for_each(|now| writer.put(now))
            });
            let extent = written.unwrap();
            let mut expected = HEADER.encode(extent.place(), &payload);
            assert_eq!(expected.len() as u64, extent_bytes(bytes as u64).unwrap());
            expected.resize(expected.len().next_multiple_of(4096), 0);
            assert!(extent.unverified() == expected, "a payload of {bytes} bytes");
            assert_eq!(HEADER.verify(extent.place(), extent.unverified()), Ok(()));
            drop(extent);
            assert_eq!(extents.statistics().free_bytes, extents.statistics().file_bytes);
        }
    }

    #[test]
    fn a_payload_of_another_length_is_refused_and_its_place_is_free() {
        let directory = Arc::new(MemoryDirectory::new("db"));
        let extents = Extents::open(directory, ExtentOptions::default(), [], Reuse::Allowed).unwrap().0;
        for (bytes, found) in [(PART_BYTES, "found 262144"), (PART_BYTES + 2, "found more")] {
            let payload = payload(bytes);
            let written =
                extents.write_in_pieces(HEADER, PART_BYTES as u64 + 1, |writer| writer.put(&payload));
            let error = written.unwrap_err();
            let text = error.to_string();
            for part in ["at byte 0 of db/array-", "262145 bytes expected", found, "please report this"] {
                assert!(text.contains(part), "{text}");
            }
            assert_eq!(extents.statistics().free_bytes, extents.statistics().file_bytes);
        }
    }

    #[test]
    fn the_place_of_a_part_that_was_not_written_rests() {
        let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("db")));
        let directory = Arc::new(failing.clone());
        let extents = Extents::open(directory, ExtentOptions::default(), [], Reuse::Allowed).unwrap().0;
        failing.plan(Fault::new(Operation::Write, "array-", ErrorKind::Other));
        let error = extents.write(HEADER, &payload(3 * PART_BYTES)).unwrap_err();
        assert!(matches!(error, CheckpointError::Io(_)), "{error}");
        assert!(extents.statistics().free_bytes < extents.statistics().file_bytes);
        extents.write(HEADER, &payload(3 * PART_BYTES)).unwrap();
    }
}
