//! Positions: which vertices, or which ranks, the items of a page belong to.
//!
//! ```text
//! FLAGS   FORM          (a position is a distance from the page's first vertex or rank)
//!  0      consecutive   nothing: item i is at position i
//!  1      narrow        u16 an item
//! 32      bits          u16: words; u64 a word, lowest bit first: bit p is set if an item is at position p
//! 33      wide          u32 an item
//! ```
//!
//! Positions ascend. In files with stamps a position may repeat, in the forms narrow and wide. A page
//! takes the form that is shortest for its items.
//!
//! Differs from the design, which has consecutive and narrow alone: with narrow positions a page ends
//! 65,536 vertices behind its first, so that a rare edge type in a large graph had pages of one edge
//! each; and one missing vertex would cost every other one 2 bytes.

use crate::format::page::PageFlags;
use evergraph_graph::bytes::{DecodeError, Decoded, Reader};
use std::ops::Range;

const NARROW: u8 = 1;
const BITS: u8 = 32;
const WIDE: u8 = 33;
/// The flags that say which form positions have.
pub(crate) const FORM_FLAGS: u8 = 33;

/// Most words of the form `bits`: its count has 16 bits, and a page has room for fewer.
const WORDS_MAX: usize = 2000;

/// Gathers the positions of a page.
#[derive(Clone, Debug, Default)]
pub struct PositionsBuilder {
    /// What positions count from.
    first: u64,
    distances: Vec<u32>,
    repeats: bool,
}

impl PositionsBuilder {
    /// Items so far.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.distances.len()
    }

    /// Whether there is no item yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.distances.is_empty()
    }

    /// The vertex or rank that positions count from; 0 if there is no item yet.
    #[must_use]
    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Bytes of the array.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> usize {
        let last = self.distances.last().copied().unwrap_or(0);
        shortest(self.distances.len(), last, self.repeats).1
    }

    /// Bytes of the array if an item at vertex or rank `next` were added; `None` if `next` is too far
    /// from the first.
    ///
    /// # Panics
    /// If `next` is below an item that was added.
    #[must_use]
    #[inline]
    pub fn bytes_with(&self, next: u64) -> Option<usize> {
        let Some(last) = self.distances.last() else { return Some(0) };
        let distance = next.checked_sub(self.first).expect("items come in ascending order");
        let distance = u32::try_from(distance).ok()?;
        assert!(*last <= distance, "items come in ascending order");
        Some(shortest(self.distances.len() + 1, distance, self.repeats || *last == distance).1)
    }

    /// Adds an item at vertex or rank `next`, for which [`PositionsBuilder::bytes_with`] gave a size.
    ///
    /// # Panics
    /// If it gave none.
    #[inline]
    pub fn push(&mut self, next: u64) {
        if self.distances.is_empty() {
            self.first = next;
        }
        let distance = u32::try_from(next - self.first).expect("the size with this item was asked for");
        self.repeats |= self.distances.last() == Some(&distance);
        self.distances.push(distance);
    }

    /// Appends the array; the flags that say which form it has.
    #[must_use]
    pub fn put(&self, out: &mut Vec<u8>) -> PageFlags {
        let last = self.distances.last().copied().unwrap_or(0);
        let (form, _) = shortest(self.distances.len(), last, self.repeats);
        match form {
            NARROW => out.extend(self.distances.iter().flat_map(|distance| (*distance as u16).to_le_bytes())),
            WIDE => out.extend(self.distances.iter().flat_map(|distance| distance.to_le_bytes())),
            BITS => {
                let mut words = vec![0u64; last as usize / 64 + 1];
                self.distances.iter().for_each(|at| words[*at as usize / 64] |= 1 << (at % 64));
                out.extend_from_slice(&(words.len() as u16).to_le_bytes());
                out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            }
            _ => {}
        }
        PageFlags(form)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.first = 0;
        self.distances.clear();
        self.repeats = false;
    }
}

/// The shortest form of `items` positions up to `last`, and its bytes.
fn shortest(items: usize, last: u32, repeats: bool) -> (u8, usize) {
    if items == 0 || (!repeats && last as usize == items - 1) {
        return (0, 0);
    }
    let listed = if last <= u32::from(u16::MAX) { (NARROW, 2 * items) } else { (WIDE, 4 * items) };
    let words = last as usize / 64 + 1;
    if !repeats && words <= WORDS_MAX && 2 + 8 * words < listed.1 { (BITS, 2 + 8 * words) } else { listed }
}

/// The positions of a page.
#[derive(Clone, Copy, Debug)]
pub struct Positions<'a> {
    form: Form<'a>,
    items: usize,
    /// Where they begin in the page.
    offset: usize,
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Consecutive,
    Narrow(&'a [[u8; 2]]),
    Bits(&'a [[u8; 8]]),
    Wide(&'a [[u8; 4]]),
}

impl<'a> Positions<'a> {
    /// Reads the positions of `items` items in the form that `flags` say.
    ///
    /// Cost: nothing an item; in the form `bits`, a count of them.
    ///
    /// # Errors
    /// If the page ends before, or another number of bits is set than there are items.
    pub fn take(reader: &mut Reader<'a>, flags: PageFlags, items: usize) -> Decoded<Self> {
        let offset = reader.offset();
        let form = match flags.0 & FORM_FLAGS {
            NARROW => Form::Narrow(reader.take(2 * items)?.as_chunks().0),
            WIDE => Form::Wide(reader.take(4 * items)?.as_chunks().0),
            BITS => {
                let start = reader.clone();
                let words = usize::from(reader.u16()?);
                let words = reader.take(8 * words)?.as_chunks().0;
                let bits: usize =
                    words.iter().map(|word| u64::from_le_bytes(*word).count_ones() as usize).sum();
                if bits != items {
                    return Err(start.error(format!("{items} positions expected, found {bits}")));
                }
                Form::Bits(words)
            }
            _ => Form::Consecutive,
        };
        Ok(Self { form, items, offset })
    }

    /// Number of items.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.items
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// How many items are at positions below `position`.
    ///
    /// Cost: a binary search; in the form `bits`, a pass over the words before.
    #[must_use]
    pub fn count_below(&self, position: u64) -> usize {
        let Ok(position) = u32::try_from(position) else { return self.items };
        match self.form {
            Form::Consecutive => self.items.min(position as usize),
            Form::Narrow(list) => {
                list.partition_point(|bytes| u32::from(u16::from_le_bytes(*bytes)) < position)
            }
            Form::Wide(list) => list.partition_point(|bytes| u32::from_le_bytes(*bytes) < position),
            Form::Bits(words) => {
                let (word, bit) = (position as usize / 64, position % 64);
                let whole =
                    words.iter().take(word).map(|word| u64::from_le_bytes(*word).count_ones() as usize);
                let part = words.get(word).map_or(0, |word| u64::from_le_bytes(*word) & ((1 << bit) - 1));
                whole.sum::<usize>() + part.count_ones() as usize
            }
        }
    }

    /// The items at `position`: none, one, or several in a file with stamps.
    #[must_use]
    pub fn items_at(&self, position: u64) -> Range<usize> {
        let from = self.count_below(position);
        match self.form {
            Form::Narrow(_) | Form::Wide(_) => from..self.count_below(position.saturating_add(1)).max(from),
            Form::Consecutive => from..from + usize::from(position < self.items as u64),
            Form::Bits(words) => {
                let word = usize::try_from(position / 64).ok().and_then(|word| words.get(word));
                let is_set = word.is_some_and(|word| u64::from_le_bytes(*word) >> (position % 64) & 1 == 1);
                from..from + usize::from(is_set)
            }
        }
    }

    /// The position of item `at`; `None` beyond the last.
    ///
    /// Cost: in the form `bits`, a pass over the words before.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<u32> {
        match self.form {
            Form::Consecutive => (at < self.items).then_some(at as u32),
            Form::Narrow(list) => list.get(at).map(|bytes| u16::from_le_bytes(*bytes).into()),
            Form::Wide(list) => list.get(at).map(|bytes| u32::from_le_bytes(*bytes)),
            Form::Bits(words) => {
                let mut left = at;
                for (word_at, word) in words.iter().enumerate() {
                    let word = u64::from_le_bytes(*word);
                    let bits = word.count_ones() as usize;
                    if left < bits {
                        return bits_of(word).nth(left).map(|bit| word_at as u32 * 64 + bit);
                    }
                    left -= bits;
                }
                None
            }
        }
    }

    /// Calls `visit` with the position of each item, in order. Cost: about a nanosecond an item.
    #[inline]
    pub fn for_each(&self, mut visit: impl FnMut(u32)) {
        match self.form {
            Form::Consecutive => (0..self.items as u32).for_each(visit),
            Form::Narrow(list) => list.iter().for_each(|bytes| visit(u16::from_le_bytes(*bytes).into())),
            Form::Wide(list) => list.iter().for_each(|bytes| visit(u32::from_le_bytes(*bytes))),
            Form::Bits(words) => {
                for (at, word) in words.iter().enumerate() {
                    bits_of(u64::from_le_bytes(*word)).for_each(|bit| visit(at as u32 * 64 + bit));
                }
            }
        }
    }

    /// Replaces the content of `out` by `first` + the position of each item. Cost: about a nanosecond an
    /// item.
    ///
    /// # Errors
    /// If a sum is above 32 bits.
    pub fn vertices_into(&self, first: u32, out: &mut Vec<u32>) -> Decoded<()> {
        out.clear();
        out.reserve(self.items);
        let mut highest = 0;
        self.for_each(|position| {
            highest = highest.max(position);
            out.push(first.wrapping_add(position));
        });
        match first.checked_add(highest) {
            Some(_) => Ok(()),
            None => {
                out.clear();
                let expected = format!("vertices below 2^32 expected, found {first} + {highest}");
                Err(DecodeError { offset: self.offset, expected })
            }
        }
    }

    /// Whether positions ascend, and where one repeats, whether it may.
    #[must_use]
    pub fn are_sorted(&self, may_repeat: bool) -> bool {
        let (mut sorted, mut before) = (true, None);
        self.for_each(|position| {
            sorted &= before.is_none_or(|before| before < position || (may_repeat && before == position));
            before = Some(position);
        });
        sorted
    }
}

fn bits_of(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Ascending distances of all densities, now and then with repetitions.
    fn any_distances() -> impl Strategy<Value = Vec<u32>> {
        let gaps = prop_oneof![
            Just(1u32..2).boxed(),
            Just(1u32..3).boxed(),
            Just(1u32..40).boxed(),
            Just(0u32..3).boxed(),
            Just(1u32..9000).boxed(),
            Just(1u32..1 << 24).boxed(),
        ];
        gaps.prop_flat_map(|gaps| proptest::collection::vec(gaps, 0..200)).prop_map(|gaps| {
            let mut sum = 0;
            gaps.iter()
                .enumerate()
                .map(|(at, gap)| {
                    sum += if at == 0 { 0 } else { *gap };
                    sum
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn positions_read_back_and_are_found(distances in any_distances(), first in 0u64..1 << 40, probe in any::<u32>()) {
            let mut builder = PositionsBuilder::default();
            let mut size = 0;
            for distance in &distances {
                let next = first + u64::from(*distance);
                size = builder.bytes_with(next).unwrap();
                builder.push(next);
                prop_assert_eq!(builder.bytes(), size);
            }
            let mut bytes = Vec::new();
            let flags = builder.put(&mut bytes);
            prop_assert_eq!(bytes.len(), size);
            prop_assert_eq!(builder.first(), if distances.is_empty() { 0 } else { first });
            let mut reader = Reader::new(&bytes);
            let read = Positions::take(&mut reader, flags, distances.len()).unwrap();
            prop_assert!(reader.is_empty());
            let mut found = Vec::new();
            read.for_each(|position| found.push(position));
            prop_assert_eq!(&found, &distances);
            prop_assert!(read.are_sorted(true));
            prop_assert_eq!(read.are_sorted(false), distances.is_sorted_by(|a, b| a < b));
            let last = distances.last().copied().unwrap_or(0);
            for probe in distances.iter().copied().chain([0, 1, last + 1, u32::MAX, probe, probe % (last + 1)]) {
                let below = distances.partition_point(|distance| *distance < probe);
                let through = distances.partition_point(|distance| *distance <= probe);
                prop_assert_eq!(read.count_below(probe.into()), below, "probe {}", probe);
                prop_assert_eq!(read.items_at(probe.into()), below..through, "probe {}", probe);
            }
            prop_assert_eq!(read.count_below(1 << 32), distances.len());
            for at in 0..distances.len() + 2 {
                prop_assert_eq!(read.get(at), distances.get(at).copied());
            }
        }

        #[test]
        fn positions_of_any_bytes_are_refused_or_can_be_read(
            bytes in proptest::collection::vec(any::<u8>(), 0..200), flags in any::<u8>(), items in 0usize..100,
            probe in any::<u64>(), first in any::<u32>(),
        ) {
            if let Ok(read) = Positions::take(&mut Reader::new(&bytes), PageFlags(flags), items) {
                prop_assert!(read.count_below(probe) <= items);
                let found = read.items_at(probe % 300);
                prop_assert!(found.start <= found.end && found.end <= items);
                let _ = read.get(items / 2);
                let mut out = Vec::new();
                if read.vertices_into(first, &mut out).is_ok() {
                    prop_assert_eq!(out.len(), items);
                }
            }
        }
    }

    #[test]
    fn the_form_is_the_shortest_one() {
        let form = |distances: &[u32]| {
            let mut builder = PositionsBuilder::default();
            distances.iter().for_each(|distance| builder.push(u64::from(*distance) + 9));
            builder.put(&mut Vec::new()).0
        };
        assert_eq!(form(&[]), 0);
        assert_eq!(form(&[5, 6, 7]), 0, "counted from the first");
        assert_eq!(form(&[0, 2]), NARROW);
        assert_eq!(form(&[0, 0]), NARROW, "repeated");
        assert_eq!(form(&(0..100).filter(|at| *at != 50).collect::<Vec<_>>()), BITS);
        assert_eq!(form(&[0, 65_535]), NARROW);
        assert_eq!(form(&[0, 65_536]), WIDE);
    }

    #[test]
    fn an_item_more_than_32_bits_away_does_not_fit() {
        let mut builder = PositionsBuilder::default();
        assert_eq!(builder.bytes_with(1 << 50), Some(0));
        builder.push(7);
        assert_eq!(builder.bytes_with(7 + (1 << 32)), None);
        assert_eq!(builder.bytes_with(7 + u64::from(u32::MAX)), Some(8));
    }
}
