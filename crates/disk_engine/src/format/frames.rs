//! Frames: numbers in as few bits as the greatest of 128 needs.
//!
//! ```text
//! widths   u8 a frame: 0 to 32
//! frames   16 x width bytes each: 128 numbers of that width, the last frame filled up with zeros
//!
//! one frame, as four lanes of 32 bits (BitPacker4x): number i is in lane i mod 4, behind number i - 4
//! ```
//!
//! The numbers are gaps: running sums give back what lies between. Sums run across a whole page, modulo
//! 2^32, inside the unpacking, four lanes at once; a list is then its sums less the sum before it. A loop
//! of its own for the sums of each list took 1.1 to 1.8 ns a number, more than twice the unpacking.
//!
//! Source: Lemire and Boytsov, Decoding billions of integers per second through vectorization (2015).

use bitpacking::{BitPacker, BitPacker4x};
use evergraph_graph::bytes::{DecodeError, Decoded, Reader};
use std::ops::Range;

/// Numbers in a frame.
pub const FRAME_NUMBERS: usize = BitPacker4x::BLOCK_LEN;

/// Bytes that a frame takes for each bit of its width.
const WIDTH_BYTES: usize = FRAME_NUMBERS / 8;

/// Counts the bytes of frames while their numbers come.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameSizes {
    /// Of frames that are full, with their widths.
    full_bytes: usize,
    /// All numbers of the last frame, bit by bit.
    union: u32,
    /// How many there are: fewer than a frame has.
    numbers: usize,
}

impl FrameSizes {
    /// Bytes so far.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> usize {
        if self.numbers == 0 { self.full_bytes } else { self.full_bytes + frame_bytes(self.union) }
    }

    /// Bytes if `count` numbers were added to the last frame, whose union is `union`.
    #[must_use]
    #[inline]
    pub fn bytes_with(&self, union: u32, count: usize) -> usize {
        debug_assert!(count > 0 && count <= self.room(), "numbers of one frame");
        self.full_bytes + frame_bytes(self.union | union)
    }

    /// Numbers that the last frame still takes: 1 to 128.
    #[must_use]
    #[inline]
    pub fn room(&self) -> usize {
        FRAME_NUMBERS - self.numbers
    }

    /// Adds `count` numbers to the last frame, whose union is `union`.
    #[inline]
    pub fn push(&mut self, union: u32, count: usize) {
        self.union |= union;
        self.numbers += count;
        if self.numbers == FRAME_NUMBERS {
            *self = Self { full_bytes: self.full_bytes + frame_bytes(self.union), union: 0, numbers: 0 };
        }
    }
}

/// Bytes of a frame and its width.
#[inline]
fn frame_bytes(union: u32) -> usize {
    1 + WIDTH_BYTES * bits(union) as usize
}

#[inline]
fn bits(union: u32) -> u8 {
    (u32::BITS - union.leading_zeros()) as u8
}

/// Appends widths and frames. Cost: about 0.5 ns a number.
pub fn put_frames(numbers: &[u32], out: &mut Vec<u8>) {
    let packer = BitPacker4x::new();
    let widths_at = out.len();
    let unions =
        numbers.chunks(FRAME_NUMBERS).map(|frame| frame.iter().fold(0, |union, number| union | number));
    out.extend(unions.map(bits));
    let mut last = [0; FRAME_NUMBERS];
    for (at, numbers) in numbers.chunks(FRAME_NUMBERS).enumerate() {
        let width = out[widths_at + at];
        let start = out.len();
        out.resize(start + BitPacker4x::compressed_block_size(width), 0);
        let frame = if numbers.len() == FRAME_NUMBERS {
            numbers
        } else {
            last[..numbers.len()].copy_from_slice(numbers);
            &last
        };
        packer.compress(frame, &mut out[start..], width);
    }
}

/// Frames where they lie.
#[derive(Clone, Copy, Debug)]
pub struct Frames<'a> {
    widths: &'a [u8],
    bytes: &'a [u8],
    numbers: usize,
    /// Where the frames begin in the page.
    offset: usize,
}

impl<'a> Frames<'a> {
    /// Reads the frames of `numbers` numbers.
    ///
    /// Cost: a look at each width.
    ///
    /// # Errors
    /// If the page ends before, or a width is above 32.
    pub fn take(reader: &mut Reader<'a>, numbers: usize) -> Decoded<Self> {
        let start = reader.clone();
        let widths = reader.take(numbers.div_ceil(FRAME_NUMBERS))?;
        let (mut greatest, mut total) = (0, 0);
        for width in widths {
            greatest = greatest.max(*width);
            total += usize::from(*width);
        }
        if greatest > 32 {
            return Err(start.error(format!("widths of at most 32 bits expected, found {greatest}")));
        }
        let offset = reader.offset();
        Ok(Self { widths, bytes: reader.take(total * WIDTH_BYTES)?, numbers, offset })
    }

    /// Writes the running sums of all numbers, modulo 2^32, to the front of `out`, which grows if it is
    /// too short.
    ///
    /// What follows them in `out` has no meaning. Cost: about 0.5 ns a number.
    pub fn sums_into(&self, out: &mut Vec<u32>) {
        let packer = BitPacker4x::new();
        let room = self.widths.len() * FRAME_NUMBERS;
        if out.len() < room {
            out.resize(room, 0);
        }
        let (frames, _) = out.as_chunks_mut::<FRAME_NUMBERS>();
        let (mut bytes, mut sum) = (self.bytes, 0);
        for (width, frame) in self.widths.iter().zip(frames) {
            let taken = packer.decompress_sorted(sum, bytes, frame, *width);
            bytes = &bytes[taken..];
            sum = frame[FRAME_NUMBERS - 1];
        }
    }

    /// Appends the running sums of the numbers in `range` on their own.
    ///
    /// Cost: some 50 ns, a nanosecond for each frame before, and 100 ns for each frame of the range.
    ///
    /// # Errors
    /// If the range doesn't lie among the numbers, or a sum is above 32 bits.
    pub fn sums_of(&self, range: Range<usize>, out: &mut Vec<u32>) -> Decoded<()> {
        let mut left = self.check(&range)?;
        let (mut frames, mut skipped) =
            (self.frames_at(range.start / FRAME_NUMBERS), range.start % FRAME_NUMBERS);
        let start = out.len();
        let mut base = 0;
        while left > 0 {
            let sums = frames.next().expect("the range was checked");
            if skipped > 0 {
                base = sums[skipped - 1];
            }
            let count = left.min(FRAME_NUMBERS - skipped);
            out.extend_from_slice(&sums[skipped..skipped + count]);
            (left, skipped) = (left - count, 0);
        }
        if less_base(&mut out[start..], base) {
            return Ok(());
        }
        out.truncate(start);
        Err(self.too_great())
    }

    /// Where in `range`, whose numbers are a list's gaps, the running sum is `sum`: an empty range at the
    /// place where it would be if it isn't there.
    ///
    /// Cost: as [`Frames::sums_of`], through the frame in which the answer is.
    ///
    /// # Errors
    /// If the range doesn't lie among the numbers, or a sum is above 32 bits.
    pub fn find_sum(&self, range: Range<usize>, sum: u32) -> Decoded<Range<usize>> {
        let mut left = self.check(&range)?;
        let (mut frames, mut skipped) =
            (self.frames_at(range.start / FRAME_NUMBERS), range.start % FRAME_NUMBERS);
        let (mut base, mut before) = (0, 0);
        let mut found = range.start..range.start;
        while left > 0 {
            let sums = frames.next().expect("the range was checked");
            if skipped > 0 {
                base = sums[skipped - 1];
            }
            let count = left.min(FRAME_NUMBERS - skipped);
            let part = &mut sums[skipped..skipped + count];
            if !less_base(part, base) || part[0] < before {
                return Err(self.too_great());
            }
            before = part[count - 1];
            found.end += part.partition_point(|one| *one <= sum);
            found.start += part.partition_point(|one| *one < sum);
            if before > sum {
                break;
            }
            (left, skipped) = (left - count, 0);
        }
        Ok(found)
    }

    fn check(&self, range: &Range<usize>) -> Decoded<usize> {
        if range.start <= range.end && range.end <= self.numbers {
            return Ok(range.end - range.start);
        }
        let expected = format!("a list among {} values expected, found {range:?}", self.numbers);
        Err(DecodeError { offset: self.offset, expected })
    }

    fn too_great(&self) -> DecodeError {
        let expected = "gaps that add up to less than 2^32 expected".to_owned();
        DecodeError { offset: self.offset, expected }
    }

    /// Frames from `first` on, as running sums from its beginning.
    fn frames_at(&self, first: usize) -> FrameSums<'a> {
        let first = first.min(self.widths.len());
        let before: usize = self.widths[..first].iter().map(|width| usize::from(*width)).sum();
        FrameSums {
            packer: BitPacker4x::new(),
            widths: &self.widths[first..],
            bytes: &self.bytes[before * WIDTH_BYTES..],
            sums: [0; FRAME_NUMBERS],
            sum: 0,
        }
    }
}

/// Unpacks frame after frame.
struct FrameSums<'a> {
    packer: BitPacker4x,
    widths: &'a [u8],
    bytes: &'a [u8],
    sums: [u32; FRAME_NUMBERS],
    sum: u32,
}

impl FrameSums<'_> {
    /// The running sums of the next frame's numbers, the frames before it included.
    fn next(&mut self) -> Option<&mut [u32; FRAME_NUMBERS]> {
        let (width, widths) = self.widths.split_first()?;
        let taken = self.packer.decompress_sorted(self.sum, self.bytes, &mut self.sums, *width);
        (self.widths, self.bytes) = (widths, &self.bytes[taken..]);
        self.sum = self.sums[FRAME_NUMBERS - 1];
        Some(&mut self.sums)
    }
}

/// Turns running sums of a page into those of one list: subtracts `base`, the sum before it, from each.
/// False if the results don't ascend, which means that one is above 32 bits: a gap alone can't take a sum
/// past where it was.
#[inline]
#[must_use]
pub(crate) fn less_base(list: &mut [u32], base: u32) -> bool {
    let (mut ascending, mut before) = (true, 0);
    for sum in list {
        *sum = sum.wrapping_sub(base);
        ascending &= before <= *sum;
        before = *sum;
    }
    ascending
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of one width or of changing widths.
    fn any_numbers() -> impl Strategy<Value = Vec<u32>> {
        let number =
            (0u32..=32, any::<u32>()).prop_map(|(shift, number)| number.checked_shr(shift).unwrap_or(0));
        let narrow = (0u32..8, any::<u32>()).prop_map(|(width, number)| number & ((1 << width) - 1));
        let length = prop_oneof![0usize..10, Just(127), Just(128), Just(129), 0usize..600];
        length.prop_flat_map(move |length| {
            prop_oneof![
                proptest::collection::vec(number.clone().boxed(), length),
                proptest::collection::vec(narrow.clone().boxed(), length),
            ]
        })
    }

    fn sums(numbers: &[u32]) -> Vec<u32> {
        numbers
            .iter()
            .scan(0u32, |sum, number| {
                *sum = sum.wrapping_add(*number);
                Some(*sum)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn numbers_read_back_whole_and_in_part(
            numbers in any_numbers(), picked in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let mut sizes = FrameSizes::default();
            for number in &numbers {
                let size = sizes.bytes_with(*number, 1);
                sizes.push(*number, 1);
                prop_assert_eq!(sizes.bytes(), size);
            }
            let mut bytes = vec![9; 3];
            put_frames(&numbers, &mut bytes);
            prop_assert_eq!(bytes.len(), 3 + sizes.bytes());
            let mut reader = Reader::new(&bytes);
            reader.take(3).unwrap();
            let read = Frames::take(&mut reader, numbers.len()).unwrap();
            prop_assert!(reader.is_empty());
            let mut all = Vec::new();
            read.sums_into(&mut all);
            prop_assert_eq!(&all[..numbers.len()], &sums(&numbers)[..]);

            let (from, to) = (picked.0.index(numbers.len() + 1), picked.1.index(numbers.len() + 1));
            let range = from.min(to)..from.max(to);
            let part = &numbers[range.clone()];
            let total: u64 = part.iter().map(|number| u64::from(*number)).sum();
            let mut found = vec![1];
            let result = read.sums_of(range.clone(), &mut found);
            prop_assert_eq!(result.is_ok(), total <= u64::from(u32::MAX));
            if result.is_ok() {
                let expected = sums(part);
                prop_assert_eq!(&found[1..], &expected[..]);
                let probes = [0, u32::MAX].into_iter().chain(expected.iter().step_by(7).flat_map(|sum| [*sum, sum.saturating_add(1)]));
                for probe in probes {
                    let below = range.start + expected.partition_point(|sum| *sum < probe);
                    let through = range.start + expected.partition_point(|sum| *sum <= probe);
                    prop_assert_eq!(read.find_sum(range.clone(), probe), Ok(below..through));
                }
            } else {
                prop_assert!(read.find_sum(range, u32::MAX).is_err());
            }
        }

        #[test]
        fn frames_of_any_bytes_are_refused_or_can_be_read(
            bytes in proptest::collection::vec(any::<u8>(), 0..3000), numbers in 0usize..500, width in 0u8..40,
        ) {
            let mut bytes = bytes;
            bytes.iter_mut().take(numbers.div_ceil(128)).for_each(|byte| *byte %= width + 1);
            if let Ok(read) = Frames::take(&mut Reader::new(&bytes), numbers) {
                let mut out = Vec::new();
                read.sums_into(&mut out);
                out.clear();
                drop(read.sums_of(numbers / 3..numbers, &mut out));
                drop(read.find_sum(numbers / 3..numbers, 77));
                prop_assert!(read.sums_of(0..numbers + 1, &mut out).is_err());
            }
        }
    }

    #[test]
    fn number_i_of_a_frame_is_in_lane_i_mod_4() {
        let mut numbers = [0; FRAME_NUMBERS];
        numbers[5] = 0b11;
        let mut bytes = Vec::new();
        put_frames(&numbers, &mut bytes);
        let mut expected = [0; 32];
        // Lane 1, behind number 1: bits 2 and 3 of its first word.
        expected[4] = 0b1100;
        assert_eq!((bytes[0], &bytes[1..]), (2, &expected[..]));
    }
}
