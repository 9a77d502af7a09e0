//! Header: what an extent says of itself, with the checksum of its payload.
//!
//! ```text
//! OFFSET  SIZE   FIELD            (little-endian)
//!      0     4   magic            "EvXt"
//!      4     2   kind             1 body, 2 column, 3 index body, 4 batch of runs
//!      6     2   version          1
//!      8     8   payload bytes
//!     16     8   segment          the number of what it belongs to, by its writer; 0 of a batch
//!     24     8   base             timestamp through which it has every commit
//!     32     4   payload crc      CRC32C of the payload; of the blocks' checksums, if there are any
//!     36     4   header crc       CRC32C of file number, offset (8 bytes each) and the 36 bytes before
//!     40         zeros to 64; then the payload
//!  64+P   4 n    blocks           if the payload has more than 65,536 bytes: CRC32C of each block of so many
//!                zeros to the unit
//! ```
//!
//! File and offset are part of the checksum, so that an extent in the wrong place is none. Blocks have checksums of their
//! own, so that damage is found to 64 KiB, and what is sound beside it can be saved.

use crc32c::{crc32c, crc32c_append};
use evergraph_graph::timestamp::Timestamp;
use std::ops::Range;

/// Bytes before the payload.
pub const HEADER_BYTES: usize = 64;

const MAGIC: [u8; 4] = *b"EvXt";
const VERSION: u16 = 1;
const CHECKED_BYTES: usize = 36;
/// Bytes of a payload that have one checksum.
pub const BLOCK_BYTES: usize = 1 << 16;
const CRC_BYTES: usize = 4;

/// Bytes of the checksums behind a payload: none if it is one block.
fn checksums_bytes(payload_bytes: u64) -> u64 {
    if payload_bytes <= BLOCK_BYTES as u64 {
        return 0;
    }
    payload_bytes.div_ceil(BLOCK_BYTES as u64) * CRC_BYTES as u64
}

/// Bytes of an extent with a payload of so many: header, payload, checksums; `None` beyond 2^64.
#[must_use]
pub fn extent_bytes(payload_bytes: u64) -> Option<u64> {
    payload_bytes.checked_add(HEADER_BYTES as u64)?.checked_add(checksums_bytes(payload_bytes))
}

/// What an extent holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtentKind {
    /// The body of a segment, without its columns.
    Body,
    /// A column of properties.
    Column,
    /// The body of an index's segment.
    IndexBody,
    /// Runs of segments.
    Batch,
}

impl ExtentKind {
    const ALL: [Self; 4] = [Self::Body, Self::Column, Self::IndexBody, Self::Batch];

    fn code(self) -> u16 {
        self as u16 + 1
    }
}

/// What the owner of an extent knows of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtentHeader {
    /// What it holds.
    pub kind: ExtentKind,
    /// What it belongs to: a number that its writer chose; 0 if it is of several.
    pub segment: u64,
    /// It has every commit through this one.
    pub base: Timestamp,
}

/// Where an extent lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExtentPlace {
    /// The number of the array file.
    pub file: u64,
    /// Where the header begins, in bytes; a multiple of the unit.
    pub offset: u64,
    /// Bytes of the payload.
    pub payload_bytes: u64,
}

/// An offset in one word is in units of this.
const LINE_BYTES: u64 = 64;
const LINE_BITS: u32 = 40;

impl ExtentPlace {
    /// File and offset in one word, as versions in `live` have them; `None` if the file's number is not below 2^24, or the
    /// offset no multiple of 64 below 2^46.
    #[must_use]
    pub fn packed(self) -> Option<u64> {
        let line = self.offset / LINE_BYTES;
        let fits = self.offset.is_multiple_of(LINE_BYTES)
            && line >> LINE_BITS == 0
            && self.file >> (64 - LINE_BITS) == 0;
        fits.then_some(self.file << LINE_BITS | line)
    }

    /// The payload in all of the bytes of the extent that lies here, not compared with anything.
    #[must_use]
    pub fn payload_of(self, extent: &[u8]) -> &[u8] {
        &extent[HEADER_BYTES..][..self.payload_bytes as usize]
    }

    /// The place of which [`ExtentPlace::packed`] made a word.
    #[must_use]
    pub fn unpacked(word: u64, payload_bytes: u64) -> Self {
        let line = word & ((1 << LINE_BITS) - 1);
        Self { file: word >> LINE_BITS, offset: line * LINE_BYTES, payload_bytes }
    }
}

impl ExtentHeader {
    /// The extent with this payload at `place`; what follows to the unit is zero.
    #[must_use]
    pub fn encode(&self, place: ExtentPlace, payload: &[u8]) -> Vec<u8> {
        let mut checksums = PayloadChecksums::default();
        checksums.add(payload);
        let (crc, of_blocks) = checksums.finish();
        [&self.encode_head(place, crc)[..], payload, &of_blocks].concat()
    }

    /// The bytes in front of a payload with this crc.
    pub(crate) fn encode_head(&self, place: ExtentPlace, crc: u32) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&self.kind.code().to_le_bytes());
        bytes[6..8].copy_from_slice(&VERSION.to_le_bytes());
        bytes[8..16].copy_from_slice(&place.payload_bytes.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.segment.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.base.0.to_le_bytes());
        bytes[32..36].copy_from_slice(&crc.to_le_bytes());
        let crc = header_crc(&bytes, place);
        bytes[CHECKED_BYTES..40].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Compares the bytes of an extent with what is known of it. Cost: the payload's checksum, about 0.1 ns a byte.
    ///
    /// # Errors
    /// Where in the extent, what should be there, and what is.
    pub fn verify(&self, place: ExtentPlace, extent: &[u8]) -> Result<(), (u64, String)> {
        let blocks = self.verify_front(place, extent)?;
        (0..blocks.count()).try_for_each(|number| blocks.verify(number))
    }

    /// Compares the header, and what its checksum is of: a payload of one block, or the checksums of several, which are left to
    /// be compared. Cost: four bytes a block.
    ///
    /// # Errors
    /// As [`ExtentHeader::verify`].
    pub(crate) fn verify_front<'e>(
        &self,
        place: ExtentPlace,
        extent: &'e [u8],
    ) -> Result<PayloadBlocks<'e>, (u64, String)> {
        let wrong = |offset, expected: String, found: String| {
            Err((offset, format!("{expected} expected, found {found}")))
        };
        let Some((header, rest)) = extent.split_first_chunk::<HEADER_BYTES>() else {
            return wrong(0, "an extent's header".to_owned(), format!("{} bytes", extent.len()));
        };
        if header[..4] != MAGIC {
            let (expected, found) = (MAGIC.escape_ascii(), header[..4].escape_ascii());
            return wrong(0, format!("an extent, which begins with `{expected}`,"), format!("`{found}`"));
        }
        let (found, expected) = (u32_at(header, CHECKED_BYTES), header_crc(header, place));
        if found != expected {
            return wrong(36, format!("header crc {expected:#010x}"), format!("{found:#010x}"));
        }
        let kind = u16::from_le_bytes([header[4], header[5]]);
        let version = u16::from_le_bytes([header[6], header[7]]);
        if version != VERSION {
            return wrong(6, format!("version {VERSION}"), version.to_string());
        }
        if kind != self.kind.code() {
            let found = ExtentKind::ALL.into_iter().find(|known| known.code() == kind);
            let found = found.map_or_else(|| format!("kind {kind}"), |kind| format!("{kind:?}"));
            return wrong(4, format!("{:?}", self.kind), found);
        }
        let known = [
            (8, "payload bytes", place.payload_bytes),
            (16, "as segment", self.segment),
            (24, "as base", self.base.0),
        ];
        for (offset, what, expected) in known {
            let found = u64_at(header, offset);
            if found != expected {
                return wrong(offset as u64, format!("{expected} {what}"), found.to_string());
            }
        }
        if header[40..].iter().any(|byte| *byte != 0) {
            return wrong(40, "zeros".to_owned(), "something else".to_owned());
        }
        let Some(blocks) = PayloadBlocks::found(place, extent) else {
            return wrong(64, format!("{} payload bytes", place.payload_bytes), rest.len().to_string());
        };
        let expected = u32_at(header, 32);
        if blocks.count() == 0 {
            let found = crc32c(blocks.payload);
            if found != expected {
                return wrong(64, format!("payload crc {expected:#010x}"), format!("{found:#010x}"));
            }
            return Ok(blocks);
        }
        let found = crc32c(blocks.checksums.as_flattened());
        if found != expected {
            let offset = 64 + place.payload_bytes;
            return wrong(offset, format!("blocks with crc {expected:#010x}"), format!("{found:#010x}"));
        }
        Ok(blocks)
    }

    /// The parts of the payload that are as they were written, as ranges of it, whatever the header says; for what is saved of
    /// a damaged file. All of a payload of one block, or nothing.
    #[must_use]
    pub fn sound_blocks(&self, place: ExtentPlace, extent: &[u8]) -> Vec<Range<usize>> {
        if self.verify(place, extent).is_ok() {
            return Vec::from_iter([whole(place)]);
        }
        let rest = extent.get(HEADER_BYTES..).unwrap_or_default();
        let Some((payload, checksums)) = split(place.payload_bytes, rest) else { return Vec::new() };
        if checksums.is_empty() {
            let crc = extent.first_chunk().map(|header| u32_at(header, 32));
            let is_sound = crc == Some(crc32c(payload));
            return is_sound.then(|| whole(place)).into_iter().collect();
        }
        let mut sound: Vec<Range<usize>> = Vec::new();
        for (at, (block, crc)) in payload.chunks(BLOCK_BYTES).zip(checksums.as_chunks().0).enumerate() {
            if crc32c(block) != u32::from_le_bytes(*crc) {
                continue;
            }
            let (from, to) = (at * BLOCK_BYTES, at * BLOCK_BYTES + block.len());
            match sound.last_mut().filter(|last| last.end == from) {
                Some(last) => last.end = to,
                None => sound.push(from..to),
            }
        }
        sound
    }
}

/// A payload and the checksums of its blocks: none if it is one block, whose checksum is the header's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PayloadBlocks<'e> {
    payload: &'e [u8],
    checksums: &'e [[u8; CRC_BYTES]],
}

impl<'e> PayloadBlocks<'e> {
    /// Those of the extent at `place`, not compared with anything; `None` if there are fewer bytes.
    pub(crate) fn found(place: ExtentPlace, extent: &'e [u8]) -> Option<Self> {
        let (payload, checksums) = split(place.payload_bytes, extent.get(HEADER_BYTES..)?)?;
        Some(Self { payload, checksums: checksums.as_chunks().0 })
    }

    /// The payload.
    pub(crate) fn payload(&self) -> &'e [u8] {
        self.payload
    }

    /// How many blocks have a checksum of their own.
    pub(crate) fn count(&self) -> usize {
        self.checksums.len()
    }

    /// Compares the block with this number with its checksum.
    ///
    /// # Errors
    /// As [`ExtentHeader::verify`].
    pub(crate) fn verify(&self, number: usize) -> Result<(), (u64, String)> {
        let from = number * BLOCK_BYTES;
        let block = &self.payload[from..self.payload.len().min(from + BLOCK_BYTES)];
        let (expected, found) = (u32::from_le_bytes(self.checksums[number]), crc32c(block));
        if found == expected {
            return Ok(());
        }
        let problem = format!("block crc {expected:#010x} expected, found {found:#010x}");
        Err(((HEADER_BYTES + from) as u64, problem))
    }
}

/// The checksums of a payload that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct PayloadChecksums {
    /// Of the blocks that are whole.
    of_blocks: Vec<u8>,
    block_crc: u32,
    block_bytes: usize,
}

impl PayloadChecksums {
    /// The payload goes on with these bytes.
    pub(crate) fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.block_bytes == BLOCK_BYTES {
                self.end_block();
            }
            let (now, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block_bytes));
            self.block_crc = crc32c_append(self.block_crc, now);
            self.block_bytes += now.len();
            bytes = rest;
        }
    }

    fn end_block(&mut self) {
        self.of_blocks.extend(self.block_crc.to_le_bytes());
        (self.block_crc, self.block_bytes) = (0, 0);
    }

    /// The payload's crc, as its header has it, and the bytes behind the payload: the checksums of its blocks if there are several.
    pub(crate) fn finish(mut self) -> (u32, Vec<u8>) {
        if self.of_blocks.is_empty() {
            return (self.block_crc, Vec::new());
        }
        self.end_block();
        (crc32c(&self.of_blocks), self.of_blocks)
    }
}

/// All of a payload.
fn whole(place: ExtentPlace) -> Range<usize> {
    0..place.payload_bytes as usize
}

/// Payload and checksums, of what follows a header; `None` if there is less.
fn split(payload_bytes: u64, rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (payload, rest) = rest.split_at_checked(usize::try_from(payload_bytes).ok()?)?;
    Some((payload, rest.get(..checksums_bytes(payload_bytes) as usize)?))
}

fn header_crc(header: &[u8; HEADER_BYTES], place: ExtentPlace) -> u32 {
    let seed = crc32c_append(crc32c(&place.file.to_le_bytes()), &place.offset.to_le_bytes());
    crc32c_append(seed, &header[..CHECKED_BYTES])
}

fn u32_at(bytes: &[u8; HEADER_BYTES], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes were taken"))
}

fn u64_at(bytes: &[u8; HEADER_BYTES], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes were taken"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: ExtentHeader = ExtentHeader { kind: ExtentKind::Body, segment: 77, base: Timestamp(9) };
    const PLACE: ExtentPlace = ExtentPlace { file: 3, offset: 8192, payload_bytes: 20 };

    fn extent() -> Vec<u8> {
        let payload = [5; 20];
        [&HEADER.encode(PLACE, &payload)[..], &[0; 44]].concat()
    }

    /// With a payload of three blocks, the last one short.
    fn long_extent() -> (ExtentPlace, Vec<u8>) {
        let payload: Vec<u8> = (0..2 * BLOCK_BYTES + 9).map(|at| (at % 251) as u8).collect();
        let place = ExtentPlace { payload_bytes: payload.len() as u64, ..PLACE };
        (place, HEADER.encode(place, &payload))
    }

    #[test]
    fn an_extent_is_verified_as_it_was_written() {
        assert_eq!(HEADER.verify(PLACE, &extent()), Ok(()));
    }

    #[test]
    fn a_place_is_a_word_and_its_length() {
        let last = ExtentPlace { file: (1 << 24) - 1, offset: (1 << 46) - 64, payload_bytes: 7 };
        for place in [PLACE, last, ExtentPlace { file: 1, offset: 0, payload_bytes: 0 }] {
            let word = place.packed().unwrap();
            assert_eq!(ExtentPlace::unpacked(word, place.payload_bytes), place);
        }
        for (file, offset) in [(1 << 24, 0), (1, 1 << 46), (1, 32)] {
            assert_eq!(ExtentPlace { file, offset, payload_bytes: 0 }.packed(), None);
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        for bit in 0..(HEADER_BYTES + 20) * 8 {
            let mut flipped = extent();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let (offset, problem) = HEADER.verify(PLACE, &flipped).unwrap_err();
            assert!(offset <= 64 && problem.contains("expected, found"), "bit {bit}: {problem}");
        }
    }

    #[test]
    fn damage_is_found_to_a_block_and_the_others_are_saved() {
        let (place, extent) = long_extent();
        assert_eq!(HEADER.verify(place, &extent), Ok(()));
        assert_eq!(extent_bytes(place.payload_bytes), Some(extent.len() as u64));
        let (end, all) = (place.payload_bytes as usize, Vec::from_iter([whole(place)]));
        assert_eq!(HEADER.sound_blocks(place, &extent), all);
        for (at, offset, sound) in [
            (64, 64, Vec::from_iter(Some(BLOCK_BYTES..end))),
            (64 + BLOCK_BYTES, 64 + BLOCK_BYTES, vec![0..BLOCK_BYTES, 2 * BLOCK_BYTES..end]),
            (64 + end - 1, 64 + 2 * BLOCK_BYTES, Vec::from_iter(Some(0..2 * BLOCK_BYTES))),
            (64 + end + 4, 64 + end, vec![0..BLOCK_BYTES, 2 * BLOCK_BYTES..end]),
            (0, 0, all.clone()),
            (33, 36, all),
        ] {
            let mut damaged = extent.clone();
            damaged[at] ^= 4;
            let (found, problem) = HEADER.verify(place, &damaged).unwrap_err();
            assert!(
                found == offset as u64 && problem.contains("expected, found"),
                "byte {at}: {found} {problem}"
            );
            assert_eq!(HEADER.sound_blocks(place, &damaged), sound, "byte {at}");
            // By blocks, the same is found where it lies and nowhere else.
            let by_blocks = HEADER.verify_front(place, &damaged).map(|blocks| {
                let wrong = (0..blocks.count()).filter_map(|number| blocks.verify(number).err());
                wrong.map(|(offset, _)| offset).collect::<Vec<_>>()
            });
            let is_in_block = (64..64 + end).contains(&at);
            let expected = if is_in_block { Ok(vec![offset as u64]) } else { Err((found, problem)) };
            assert_eq!(by_blocks, expected, "byte {at}");
        }
        let mut short = self::extent();
        short[8] ^= 1;
        assert_eq!(HEADER.sound_blocks(PLACE, &short), [whole(PLACE)], "the header alone is damaged");
        short[70] ^= 1;
        assert_eq!(HEADER.sound_blocks(PLACE, &short), []);
        assert_eq!(HEADER.sound_blocks(place, &extent[..end]), []);
        assert_eq!((extent_bytes(1 << 16), extent_bytes((1 << 16) + 1)), (Some(65_600), Some(65_609)));
        assert_eq!(extent_bytes(u64::MAX), None);
    }

    #[test]
    fn an_extent_of_another_owner_or_place_is_told() {
        let cases = [
            (ExtentHeader { kind: ExtentKind::Column, ..HEADER }, PLACE, 4, "Column expected, found Body"),
            (ExtentHeader { segment: 78, ..HEADER }, PLACE, 16, "78 as segment expected, found 77"),
            (ExtentHeader { base: Timestamp(8), ..HEADER }, PLACE, 24, "8 as base expected, found 9"),
            (HEADER, ExtentPlace { offset: 4096, ..PLACE }, 36, "header crc"),
            (HEADER, ExtentPlace { file: 4, ..PLACE }, 36, "header crc"),
            (HEADER, ExtentPlace { payload_bytes: 21, ..PLACE }, 8, "21 payload bytes expected, found 20"),
        ];
        for (header, place, expected, text) in cases {
            let (offset, problem) = header.verify(place, &extent()).unwrap_err();
            assert_eq!(offset, expected, "{problem}");
            assert!(problem.starts_with(text), "{problem}");
        }
        assert_eq!(HEADER.verify(PLACE, &extent()[..70]).unwrap_err().0, 64);
        assert_eq!(HEADER.verify(PLACE, &[]).unwrap_err().0, 0);
    }
}
