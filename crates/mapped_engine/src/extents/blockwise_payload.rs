//! Blockwise payload: the payload of an extent whose blocks are compared with their checksums as they are touched.
//!
//! A look-up in an index of many gigabytes touches some thirty places of its body: it need not read the rest.

use crate::extents::checked_blocks::CheckedBlocks;
use crate::extents::header::{BLOCK_BYTES, ExtentHeader, ExtentPlace, PayloadBlocks};
use std::fmt::{Display, Formatter};
use std::ops::Range;

/// Why bytes of a payload cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PayloadDamage {
    /// They are not of the form that they should have.
    Form(String),
    /// A block is not what was written.
    Checksum {
        /// Where it begins in the extent, in bytes.
        offset: u64,
        /// The checksum that was expected, and the one that was found.
        problem: String,
    },
}

impl From<String> for PayloadDamage {
    fn from(problem: String) -> Self {
        Self::Form(problem)
    }
}

impl Display for PayloadDamage {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Form(problem) => formatter.write_str(problem),
            Self::Checksum { offset, problem } => write!(formatter, "byte {offset} of its extent: {problem}"),
        }
    }
}

/// Bytes of a payload, from its beginning.
#[derive(Clone, Copy, Debug)]
pub struct BlockwisePayload<'a> {
    bytes: &'a [u8],
    /// `None` if nothing is left to compare.
    unknown: Option<UnknownBlocks<'a>>,
}

/// Blocks that may not have been compared.
#[derive(Clone, Copy, Debug)]
struct UnknownBlocks<'a> {
    blocks: PayloadBlocks<'a>,
    /// `None` if nothing that was compared counts as known.
    checked: Option<&'a CheckedBlocks>,
}

impl<'a> BlockwisePayload<'a> {
    /// No bytes.
    pub const EMPTY: Self = Self { bytes: &[], unknown: None };

    /// Bytes that were compared with their checksums, or have none.
    #[must_use]
    pub const fn verified(bytes: &'a [u8]) -> Self {
        Self { bytes, unknown: None }
    }

    /// The payload of an extent of which so much is known; `checked` is `None` if nothing that was compared may count as known.
    ///
    /// Cost: four bytes a block, unless those are known.
    ///
    /// # Errors
    /// As [`ExtentHeader::verify`], of the header and of what its checksum is of.
    pub(crate) fn new(
        (place, header): (ExtentPlace, ExtentHeader),
        extent: &'a [u8],
        checked: Option<&'a CheckedBlocks>,
    ) -> Result<Self, (u64, String)> {
        if checked.is_some_and(CheckedBlocks::is_whole) {
            return Ok(Self::verified(place.payload_of(extent)));
        }
        let has_front = checked.is_some_and(CheckedBlocks::has_front);
        let found = if has_front { PayloadBlocks::found(place, extent) } else { None };
        let blocks = match found {
            Some(found) => found,
            None => header.verify_front(place, extent)?,
        };
        let bytes = blocks.payload();
        if blocks.count() == 0 {
            checked.iter().for_each(|checked| checked.note_whole());
            return Ok(Self::verified(bytes));
        }
        if let Some(checked) = checked.filter(|_| !has_front) {
            checked.note_front(blocks.count());
        }
        Ok(Self { bytes, unknown: Some(UnknownBlocks { blocks, checked }) })
    }

    /// Whether nothing is left to compare.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.unknown.is_none()
    }

    /// How many there are.
    #[must_use]
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// The first of them.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn first(self, bytes: usize) -> Self {
        Self { bytes: &self.bytes[..bytes], ..self }
    }

    /// Bytes, once the blocks in which they lie are known; `None` if there are fewer.
    ///
    /// # Errors
    /// [`PayloadDamage::Checksum`] if one of these blocks is not what was written.
    #[inline]
    pub fn get(&self, range: Range<usize>) -> Result<Option<&'a [u8]>, PayloadDamage> {
        let Some(bytes) = self.bytes.get(range.clone()) else { return Ok(None) };
        if let Some(unknown) = &self.unknown {
            unknown.touch(range)?;
        }
        Ok(Some(bytes))
    }
}

impl UnknownBlocks<'_> {
    fn touch(&self, range: Range<usize>) -> Result<(), PayloadDamage> {
        if range.is_empty() {
            return Ok(());
        }
        for number in range.start / BLOCK_BYTES..=(range.end - 1) / BLOCK_BYTES {
            if !self.checked.is_some_and(|checked| checked.is_known(number)) {
                self.compare(number)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn compare(&self, number: usize) -> Result<(), PayloadDamage> {
        let compared = self.blocks.verify(number);
        compared.map_err(|(offset, problem)| PayloadDamage::Checksum { offset, problem })?;
        self.checked.iter().for_each(|checked| checked.note(number));
        Ok(())
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::extents::header::{ExtentKind, HEADER_BYTES};
    use evergraph_graph::timestamp::Timestamp;

    const HEADER: ExtentHeader = ExtentHeader { kind: ExtentKind::IndexBody, segment: 7, base: Timestamp(9) };

    fn extent(payload_bytes: usize) -> (ExtentPlace, Vec<u8>) {
        let payload: Vec<u8> = (0..payload_bytes).map(|at| (at % 251) as u8).collect();
        let place = ExtentPlace { file: 1, offset: 4096, payload_bytes: payload_bytes as u64 };
        (place, HEADER.encode(place, &payload))
    }

    #[test]
    fn only_the_blocks_that_are_touched_are_compared_each_once() {
        let (place, mut extent) = extent(3 * BLOCK_BYTES + 9);
        let checked = CheckedBlocks::default();
        let damaged = HEADER_BYTES + BLOCK_BYTES + 5;
        extent[damaged] ^= 1;
        let payload = BlockwisePayload::new((place, HEADER), &extent, Some(&checked)).unwrap();
        assert_eq!((payload.length(), checked.count()), (3 * BLOCK_BYTES + 9, 0));
        assert_eq!(payload.get(0..4), Ok(Some(&[0, 1, 2, 3][..])));
        assert_eq!(checked.count(), 1);
        let last = 3 * BLOCK_BYTES - 1..3 * BLOCK_BYTES + 1;
        assert_eq!(payload.get(last.clone()), Ok(Some(&extent[HEADER_BYTES..][last])));
        assert_eq!(checked.count(), 3, "a range over a border touches both blocks");
        for range in [BLOCK_BYTES - 1..BLOCK_BYTES + 1, 2 * BLOCK_BYTES - 1..2 * BLOCK_BYTES] {
            let damage = payload.get(range).unwrap_err();
            let PayloadDamage::Checksum { offset, problem } = damage else { panic!("{damage}") };
            assert_eq!(offset as usize, HEADER_BYTES + BLOCK_BYTES);
            assert!(problem.starts_with("block crc"), "{problem}");
        }
        let at = damaged - HEADER_BYTES;
        assert_eq!(payload.get(at..at), Ok(Some(&[][..])), "no bytes are in no block");
        assert_eq!(payload.get(7..3 * BLOCK_BYTES + 10), Ok(None));
        assert_eq!(payload.first(10).get(9..11), Ok(None));
        assert_eq!((checked.count(), checked.is_whole()), (3, false));
        extent[damaged] ^= 1;
        let payload = BlockwisePayload::new((place, HEADER), &extent, Some(&checked)).unwrap();
        payload.get(at..at + 1).unwrap();
        assert!(checked.is_whole());
    }

    #[test]
    fn what_is_known_is_not_compared_again_unless_nothing_may_count_as_known() {
        let (place, mut extent) = extent(2 * BLOCK_BYTES);
        let checked = CheckedBlocks::default();
        let payload = BlockwisePayload::new((place, HEADER), &extent, Some(&checked)).unwrap();
        payload.get(0..1).unwrap();
        extent[HEADER_BYTES] ^= 1;
        let known = BlockwisePayload::new((place, HEADER), &extent, Some(&checked)).unwrap();
        assert!(known.get(0..1).is_ok() && known.get(BLOCK_BYTES..BLOCK_BYTES + 1).is_ok());
        let lost = BlockwisePayload::new((place, HEADER), &extent, None).unwrap();
        for _ in 0..2 {
            assert!(lost.get(0..1).is_err() && lost.get(BLOCK_BYTES..BLOCK_BYTES + 1).is_ok());
        }
    }

    #[test]
    fn the_header_and_the_checksums_are_compared_before_any_block_and_a_single_block_with_them() {
        let (place, long) = extent(2 * BLOCK_BYTES);
        for at in [0, 33, HEADER_BYTES + 2 * BLOCK_BYTES + 5] {
            let mut damaged = long.clone();
            damaged[at] ^= 1;
            let checked = CheckedBlocks::default();
            let front = BlockwisePayload::new((place, HEADER), &damaged, Some(&checked));
            assert_eq!(front.unwrap_err(), HEADER.verify(place, &damaged).unwrap_err(), "byte {at}");
            assert!(!checked.has_front());
        }
        let (place, mut short) = extent(20);
        let checked = CheckedBlocks::default();
        BlockwisePayload::new((place, HEADER), &short, Some(&checked)).unwrap();
        assert!(checked.is_whole());
        short[HEADER_BYTES + 3] ^= 1;
        let checked = CheckedBlocks::default();
        let front = BlockwisePayload::new((place, HEADER), &short, Some(&checked));
        assert_eq!(front.unwrap_err().0, HEADER_BYTES as u64);
    }
}
