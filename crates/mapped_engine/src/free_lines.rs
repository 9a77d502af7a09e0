//! Free lines: what the arena can give again of `live`, after blocks were freed.
//!
//! ```text
//! small blocks   a list for each size, with little in it   the next block of that size takes one: mostly all that happens
//! all else       ranges, region by region                  neighbours are joined, and the shortest that fits is cut
//! ```
//!
//! So what blocks of one size give back serves all others, and `live` grows with what is in use. With lists alone each size would
//! keep the most that it ever had in use.

use crate::extents::free_space::FreeSpace;
use crate::words::{LineNumber, RegionSizes};
use std::collections::BTreeMap;

/// Lines of the largest blocks that have a list.
const SMALL_LINES: u32 = 32;
/// Lines of the blocks in one list at most: a quarter of a mebibyte.
const LISTED_LINES: usize = 4096;

/// Lines that are free. No block crosses from one region into the next.
#[derive(Debug)]
pub struct FreeLines {
    sizes: RegionSizes,
    /// By the lines of the blocks.
    small: BTreeMap<u32, Vec<LineNumber>>,
    /// By the number of the region.
    regions: Vec<FreeSpace>,
}

impl FreeLines {
    /// None are free of a `live` with such regions.
    #[must_use]
    pub fn new(sizes: RegionSizes) -> Self {
        Self { sizes, small: BTreeMap::new(), regions: Vec::new() }
    }

    /// Takes `lines` lines in one piece, if there are so many. Cost: mostly that of a list's end.
    pub fn take(&mut self, lines: u32) -> Option<LineNumber> {
        if let Some(line) = self.small.get_mut(&lines).and_then(Vec::pop) {
            return Some(line);
        }
        let taken = self.regions.iter_mut().find_map(|region| region.take(lines.into()))?;
        Some(LineNumber(taken as u32))
    }

    /// Gives back the `lines` lines from `line` on, which lie in one region.
    pub fn give_back(&mut self, line: LineNumber, lines: u32) {
        if lines <= SMALL_LINES {
            let listed = self.small.entry(lines).or_default();
            if listed.len() * (lines as usize) < LISTED_LINES {
                listed.push(line);
                return;
            }
        }
        self.join(line, lines);
    }

    /// Joins what the lists have with its neighbours; whether there was anything.
    pub fn join_small(&mut self) -> bool {
        let small = std::mem::take(&mut self.small);
        let mut has_any = false;
        for (lines, listed) in small {
            has_any |= !listed.is_empty();
            listed.into_iter().for_each(|line| self.join(line, lines));
        }
        has_any
    }

    fn join(&mut self, line: LineNumber, lines: u32) {
        let number = self.sizes.region_of(line);
        if self.regions.len() <= number {
            self.regions.resize_with(number + 1, FreeSpace::default);
        }
        let first = u64::from(line.0);
        self.regions[number].give_back(first..first + u64::from(lines));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_one_size_are_joined_for_larger_ones_within_their_region() {
        // Regions of 8, 8, 16 lines.
        let mut free = FreeLines::new(RegionSizes::new(6, 10).unwrap());
        (4..20).for_each(|line| free.give_back(LineNumber(line), 1));
        assert_eq!(free.take(5), None, "blocks of a list are not joined before there is need");
        assert!(free.join_small() && !free.join_small());
        assert_eq!(free.take(9), None, "a block crosses into another region");
        assert_eq!(free.take(4), Some(LineNumber(4)));
        assert_eq!(free.take(5), Some(LineNumber(8)));
        assert_eq!(
            (free.take(3), free.take(4), free.take(1)),
            (Some(LineNumber(13)), Some(LineNumber(16)), None)
        );
    }

    #[test]
    fn a_list_keeps_little_and_the_rest_serves_all() {
        let mut free = FreeLines::new(RegionSizes::new(20, 20).unwrap());
        (0..3 * LISTED_LINES as u32).for_each(|line| free.give_back(LineNumber(line), 1));
        let left = 2 * LISTED_LINES as u32;
        assert_eq!(free.take(left + 1), None);
        assert_eq!(free.take(left), Some(LineNumber(LISTED_LINES as u32)));
        assert!(free.take(1).is_some());
    }
}
