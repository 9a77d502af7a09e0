//! Free space: which bytes of one array file are free, and which of them fit.
//!
//! ```text
//! by_offset   0 -> 4096     12288 -> 8192 ...        neighbours are one range: what is given back joins them
//! by_length   (4096, 0)     (8192, 12288) ...        the shortest range that fits is taken, from its beginning
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Free ranges of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FreeSpace {
    /// Length by offset.
    by_offset: BTreeMap<u64, u64>,
    by_length: BTreeSet<(u64, u64)>,
    free_bytes: u64,
}

impl FreeSpace {
    /// Everything from 0 to `length` is free.
    #[must_use]
    pub fn of_length(length: u64) -> Self {
        let mut space = Self::default();
        space.insert(0, length);
        space
    }

    /// Bytes that are free.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    /// Takes `length` bytes, of the shortest range that has so many. Cost: logarithmic.
    pub fn take(&mut self, length: u64) -> Option<u64> {
        let (found, offset) = *self.by_length.range((length, 0)..).next()?;
        self.remove(offset, found);
        self.insert(offset + length, found - length);
        Some(offset)
    }

    /// Takes these bytes; whether all of them were free, otherwise none are taken.
    pub fn take_range(&mut self, range: &Range<u64>) -> bool {
        let Some((offset, length)) =
            self.by_offset.range(..=range.start).next_back().map(|(at, of)| (*at, *of))
        else {
            return false;
        };
        if range.start >= range.end || range.end > offset + length {
            return false;
        }
        self.remove(offset, length);
        self.insert(offset, range.start - offset);
        self.insert(range.end, offset + length - range.end);
        true
    }

    /// Gives back bytes that were taken.
    ///
    /// # Panics
    /// If one of them is free.
    pub fn give_back(&mut self, range: Range<u64>) {
        let (mut start, mut end) = (range.start, range.end);
        if let Some((offset, length)) = self.by_offset.range(..end).next_back().map(|(at, of)| (*at, *of)) {
            assert!(offset + length <= start, "bytes {range:?} are given back twice");
            if offset + length == start {
                self.remove(offset, length);
                start = offset;
            }
        }
        if let Some(length) = self.by_offset.get(&end).copied() {
            self.remove(end, length);
            end += length;
        }
        self.insert(start, end - start);
    }

    fn insert(&mut self, offset: u64, length: u64) {
        if length > 0 {
            self.by_offset.insert(offset, length);
            self.by_length.insert((length, offset));
            self.free_bytes += length;
        }
    }

    fn remove(&mut self, offset: u64, length: u64) {
        self.by_offset.remove(&offset);
        self.by_length.remove(&(length, offset));
        self.free_bytes -= length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_shortest_range_that_fits_is_taken() {
        let mut space = FreeSpace::of_length(100);
        assert!(space.take_range(&(10..20)) && space.take_range(&(25..90)));
        assert_eq!((space.take(6), space.take(5), space.take(4)), (Some(0), Some(20), Some(6)));
        assert_eq!((space.take(11), space.take(10), space.free_bytes()), (None, Some(90), 0));
        for taken in [0..10, 20..100, 10..20] {
            space.give_back(taken);
        }
        assert_eq!(space, FreeSpace::of_length(100));
    }

    #[test]
    #[should_panic(expected = "given back twice")]
    fn what_is_free_is_not_given_back() {
        let mut space = FreeSpace::of_length(100);
        assert!(space.take_range(&(10..20)));
        space.give_back(15..25);
    }

    proptest! {
        #[test]
        fn it_is_a_flag_a_byte(steps in prop::collection::vec((0_u8..3, 0_u64..130, 0_u64..60), 1..200)) {
            let (mut space, mut flags) = (FreeSpace::of_length(128), [true; 128]);
            let mut taken: Vec<Range<u64>> = Vec::new();
            let range = |range: &Range<u64>| range.start as usize..range.end as usize;
            for (step, number, length) in steps {
                match step {
                    0 => {
                        let length = length.max(1);
                        let longest = flags.split(|free| !free).map(<[bool]>::len).max().unwrap_or(0);
                        match space.take(length) {
                            Some(offset) => taken.push(offset..offset + length),
                            None => prop_assert!((longest as u64) < length),
                        }
                    }
                    1 => {
                        let wanted = number..number + length;
                        let is_free = length > 0
                            && flags.get(range(&wanted)).is_some_and(|flags| flags.iter().all(|free| *free));
                        prop_assert_eq!(space.take_range(&wanted), is_free);
                        if is_free {
                            taken.push(wanted);
                        }
                    }
                    _ => {
                        if !taken.is_empty() {
                            let back = taken.swap_remove(number as usize % taken.len());
                            flags[range(&back)].fill(true);
                            space.give_back(back);
                        }
                    }
                }
                for taken in &taken {
                    flags[range(taken)].fill(false);
                }
                prop_assert_eq!(space.free_bytes(), flags.iter().filter(|free| **free).count() as u64);
                prop_assert_eq!(taken.iter().map(|taken| taken.end - taken.start).sum::<u64>(), 128 - space.free_bytes());
            }
        }
    }
}
