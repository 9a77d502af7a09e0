//! Unit claims: which units of a mapped file somebody has, a bit each.

use crate::io::write_unit::WriteUnit;
use std::ops::Range;

/// Which units are claimed.
#[derive(Debug)]
pub(super) struct UnitClaims {
    unit: WriteUnit,
    claimed: Vec<u64>,
}

impl UnitClaims {
    /// None, of a file of so many bytes.
    pub(super) fn new(unit: WriteUnit, length: u64) -> Self {
        let words = length.div_ceil(unit.bytes()).div_ceil(64);
        Self { unit, claimed: vec![0; words as usize] }
    }

    /// What is claimed at once.
    pub(super) fn unit(&self) -> WriteUnit {
        self.unit
    }

    /// The words that hold the bits of `range`, and the bits in each.
    fn masks(&self, range: &Range<u64>) -> impl Iterator<Item = (usize, u64)> + use<> {
        let units = self.unit.units_of(range);
        (units.start / 64..units.end.div_ceil(64)).map(move |word| {
            let from = units.start.saturating_sub(word * 64);
            let to = (units.end - word * 64).min(64);
            let below = |bits: u64| if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
            (word as usize, below(to) & !below(from))
        })
    }

    /// Claims the units of these bytes; whether none of them was claimed, otherwise none is.
    pub(super) fn claim(&mut self, range: &Range<u64>) -> bool {
        let is_free = self.masks(range).all(|(word, mask)| self.claimed[word] & mask == 0);
        if is_free {
            self.masks(range).for_each(|(word, mask)| self.claimed[word] |= mask);
        }
        is_free
    }

    /// They are free again.
    pub(super) fn give_back(&mut self, range: &Range<u64>) {
        self.masks(range).for_each(|(word, mask)| self.claimed[word] &= !mask);
    }
}
