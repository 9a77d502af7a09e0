//! Table cuts: large tables cut into ranges of pages, to be copied side by side.
//!
//! ```text
//! table          0 .. 9999     ──>   0 .. 4999   5000 ..
//! partitioned    a: 0 .. 9999  ──>   0 .. 4999   5000 ..     the same bounds for each partition
//!                b: 0 .. 4999        0 .. 4999
//! ```
//!
//! The bounds only share the work out: the first range begins with page 0, each other one where the one before ends, and the
//! last has no end. So all together have each row once, however wrong the counts of pages are.

use crate::source::error::SourceResult;

/// Pages of a table, where its rows lie, by their numbers; of a partitioned table, those of each partition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PageRange {
    /// The first one.
    pub first: u32,
    /// The one behind the last; `None` for all that follow.
    pub end: Option<u32>,
}

impl PageRange {
    /// All pages.
    pub const ALL: Self = Self { first: 0, end: None };
}

/// How tables are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CutRules {
    /// How many ranges a table has at most.
    pub parts_max: usize,
    /// How many pages a range has at least.
    pub part_pages_min: u64,
}

impl CutRules {
    /// Ranges of about as many pages each, of a table whose parts have so many `pages`.
    #[must_use]
    pub fn ranges(self, pages: &[u64]) -> Vec<PageRange> {
        let total: u64 = pages.iter().sum();
        let parts = (total / self.part_pages_min.max(1)).min(self.parts_max as u64).max(1);
        let before = |bound: u32| pages.iter().map(|pages| (*pages).min(u64::from(bound))).sum::<u64>();
        let bound = |part: u64| {
            let (mut low, mut high) = (0, u32::MAX);
            while low < high {
                let middle = low + (high - low) / 2;
                match before(middle) * parts < total * part {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            low
        };
        let mut bounds: Vec<u32> = (1..parts).map(bound).collect();
        // Many small partitions: a bound cannot lie within a page.
        bounds.dedup();
        let firsts = std::iter::once(0).chain(bounds.iter().copied());
        let ends = bounds.iter().copied().map(Some).chain([None]);
        firsts.zip(ends).map(|(first, end)| PageRange { first, end }).collect()
    }
}

/// Tables cut into ranges of pages. Rows stay where they are until [`TableCuts::end`]: copies of ranges have each row once only
/// then.
pub struct TableCuts {
    /// Of each table, ranges that together have all pages.
    pub ranges: Vec<Vec<PageRange>>,
    /// What keeps rows where they are, if they could move.
    keeper: Option<Box<dyn RowKeeper>>,
}

/// Keeps rows in their pages as long as it lives.
pub trait RowKeeper: Send {
    /// Says whether they stayed there until now.
    ///
    /// # Errors
    /// If they may have moved: the source ended the connection that holds their lock.
    fn check(&mut self) -> SourceResult<()>;
}

impl TableCuts {
    /// `tables` tables, each in one piece.
    #[must_use]
    pub fn whole(tables: usize) -> Self {
        Self::new(vec![vec![PageRange::ALL]; tables], None)
    }

    /// Tables cut into `ranges`, whose rows stay where they are as long as `keeper` lives, or anyway if there is none.
    #[must_use]
    pub fn new(ranges: Vec<Vec<PageRange>>, keeper: Option<Box<dyn RowKeeper>>) -> Self {
        Self { ranges, keeper }
    }

    /// All ranges were copied: rows may move from here on.
    ///
    /// # Errors
    /// If they may have moved before; what was copied is not the tables then.
    pub fn end(self) -> SourceResult<()> {
        self.keeper.map_or(Ok(()), |mut keeper| keeper.check())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_share_pages_out_and_leave_none_out() {
        let found = |pages: &[u64], parts_max| -> Vec<(u32, Option<u32>)> {
            let rules = CutRules { parts_max, part_pages_min: 4096 };
            rules.ranges(pages).iter().map(|range| (range.first, range.end)).collect()
        };
        assert_eq!(found(&[], 4), [(0, None)]);
        assert_eq!(found(&[0, 8191], 4), [(0, None)]);
        assert_eq!(found(&[8192], 4), [(0, Some(4096)), (4096, None)]);
        assert_eq!(found(&[8192], 1), [(0, None)]);
        assert_eq!(found(&[40_000], 2), [(0, Some(20_000)), (20_000, None)]);
        // Half of all pages: 15,000 of the first partition, and all of the second one.
        assert_eq!(found(&[40_000, 10_000], 2), [(0, Some(15_000)), (15_000, None)]);
        assert_eq!(found(&[40_000, 0, 40_000], 2), [(0, Some(20_000)), (20_000, None)]);
        assert_eq!(found(&[1; 50_000], 4), [(0, Some(1)), (1, None)]);
        let many = found(&[1_000_000_000], 7);
        assert_eq!((many.len(), many[6].1), (7, None));
        assert!(many.windows(2).all(|pair| pair[0].1 == Some(pair[1].0) && pair[0].0 < pair[1].0));
        // A table may have as many pages as there are numbers.
        assert_eq!(found(&[u64::from(u32::MAX)], 2)[1].1, None);
    }
}
