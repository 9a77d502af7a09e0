//! Density: how full sections are, and the window that makes one of them less full.
//!
//! ```text
//! level    0 (one section)   …   height (all sections)
//! bound    1.00              …   0.75                     of pivots, edges and tombstones to slots, logs included
//! ```
//!
//! A window is 2^level neighbouring sections. The smallest one around a section that is below the bound of its level is
//! spread anew; if even all of them are not, the array is replaced. Lists shrink only then, so the lower bounds (0.25 at
//! a leaf, 0.50 at the root) decide about sizes alone: a new array has two slots for each element, and one that is
//! replaced has twice the slots of the old one, or as many if less than half of those are needed.
//!
//! Source: Bender and Hu, An adaptive packed-memory array (TODS 2007); DGAP (SC 2023), section 2.3.

use crate::memory::medium::Traffic;
use evergraph_storage::sync::Mutex;
use std::ops::Range;

/// What a section holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Section {
    /// Pivots, edges and tombstones of its vertices, in the array and in the log.
    pub(crate) used: u64,
    /// Slots from its first vertex' pivot to that of the next section.
    pub(crate) slots: u64,
    /// Records in its log.
    pub(crate) log_count: u32,
    /// Generation of its log.
    pub(crate) log_generation: u32,
    /// What was inserted since sections were counted last.
    pub(crate) tally: Tally,
}

/// What was inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) into_gaps: u64,
    pub(crate) into_logs: u64,
    /// Edges less tombstones.
    pub(crate) edges: i64,
    pub(crate) traffic: Traffic,
}

impl Tally {
    pub(crate) fn add(&mut self, more: &Self) {
        self.into_gaps += more.into_gaps;
        self.into_logs += more.into_logs;
        self.edges += more.edges;
        self.traffic.add(more.traffic);
    }
}

impl Section {
    /// As a section is kept in the file, if it is.
    pub(crate) fn words(&self) -> [u64; 3] {
        [self.used, self.slots, u64::from(self.log_count) << 32 | u64::from(self.log_generation)]
    }

    /// Whether an insertion has to make room first: no slot is left, or 90 % of the log are used.
    #[inline]
    pub(crate) fn is_due(&self, log_records: u32) -> bool {
        self.log_count * 10 >= log_records * 9 || self.used >= self.slots
    }
}

/// Whether a window of this level is sparse enough to be spread.
fn is_below_bound(used: u64, slots: u64, level: u32, height: u32) -> bool {
    let (numerator, denominator) = if height == 0 { (3, 4) } else { (4 * height - level, 4 * height) };
    u128::from(used) * u128::from(denominator) < u128::from(slots) * u128::from(numerator)
}

/// The smallest window around `section` that may be spread, or `None` if the array is full.
pub(crate) fn window(sections: &[Mutex<Section>], section: usize) -> Option<Range<usize>> {
    let height = sections.len().trailing_zeros();
    let mut window = section..section + 1;
    let (mut used, mut slots) = (0, 0);
    let mut add = |section: usize| {
        let section = sections[section].lock();
        used += section.used;
        slots += section.slots;
        (used, slots)
    };
    let mut sums = add(section);
    for level in 0..=height {
        if level > 0 {
            let width = 1 << level;
            let start = section / width * width;
            let wider = start..start + width;
            for added in (wider.start..window.start).chain(window.end..wider.end) {
                sums = add(added);
            }
            window = wider;
        }
        if is_below_bound(sums.0, sums.1, level, height) {
            return Some(window);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(used: &[u64]) -> Vec<Mutex<Section>> {
        let section = |used: &u64| Mutex::new(Section { used: *used, slots: 100, ..Section::default() });
        used.iter().map(section).collect()
    }

    #[test]
    fn the_smallest_window_below_its_bound_is_spread() {
        // Bounds: 1.00, 0.875, 0.75.
        assert_eq!(window(&sections(&[99, 0, 0, 0]), 0), Some(0..1));
        assert_eq!(window(&sections(&[100, 74, 0, 0]), 0), Some(0..2));
        assert_eq!(window(&sections(&[100, 75, 0, 0]), 0), Some(0..4));
        assert_eq!(window(&sections(&[0, 0, 90, 100]), 3), Some(0..4));
        assert_eq!(window(&sections(&[100, 75, 75, 49]), 0), Some(0..4));
        assert_eq!(window(&sections(&[100, 75, 75, 50]), 0), None);
    }

    #[test]
    fn one_section_alone_has_the_bound_of_the_root() {
        assert_eq!(window(&sections(&[74]), 0), Some(0..1));
        assert_eq!(window(&sections(&[75]), 0), None);
    }

    #[test]
    fn a_section_is_due_at_90_percent_of_its_log_and_when_it_is_full() {
        let section = |log_count, used| Section { used, slots: 100, log_count, ..Section::default() };
        assert!(!section(152, 99).is_due(170));
        assert!(section(153, 99).is_due(170));
        assert!(section(0, 100).is_due(170));
        assert!(section(2, 1).is_due(2) && !section(1, 1).is_due(2));
    }
}
