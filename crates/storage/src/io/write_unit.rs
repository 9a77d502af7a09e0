//! Write unit: how many bytes around a write a power cut may harm.
//!
//! A write of whole units puts no byte beside it at risk, whatever a power cut leaves of it.

use crate::io::page::ALIGNMENT_BYTES;
use std::ops::Range;

/// How many bytes a write may put at risk around it: a power of two from a cache line to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteUnit(u32);

impl WriteUnit {
    /// Of files that the system caches, in pages: 4,096 bytes.
    pub const PAGE: Self = Self(ALIGNMENT_BYTES as u32);
    /// Of persistent memory that the processor caches, in lines: 64 bytes.
    pub const LINE: Self = Self(64);

    /// The unit of so many bytes, if there is one.
    #[must_use]
    pub fn of_bytes(bytes: u32) -> Option<Self> {
        let is_unit = bytes.is_power_of_two() && (Self::LINE.0..=Self::PAGE.0).contains(&bytes);
        is_unit.then_some(Self(bytes))
    }

    /// Its size in bytes.
    #[must_use]
    #[inline]
    pub const fn bytes(self) -> u64 {
        self.0 as u64
    }

    /// `bytes`, or the next multiple of the unit.
    #[must_use]
    #[inline]
    pub const fn round_up(self, bytes: u64) -> u64 {
        bytes.next_multiple_of(self.bytes())
    }

    /// The units that have one of these bytes, by number.
    #[must_use]
    #[inline]
    pub fn units_of(self, bytes: &Range<u64>) -> Range<u64> {
        bytes.start / self.bytes()..bytes.end.div_ceil(self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_a_power_of_two_from_a_line_to_a_page() {
        for bytes in [64, 128, 4096] {
            assert_eq!(WriteUnit::of_bytes(bytes).map(WriteUnit::bytes), Some(u64::from(bytes)));
        }
        for bytes in [0, 1, 32, 100, 8192, u32::MAX] {
            assert_eq!(WriteUnit::of_bytes(bytes), None, "{bytes}");
        }
        assert_eq!([0, 1, 64, 65].map(|bytes| WriteUnit::LINE.round_up(bytes)), [0, 64, 64, 128]);
    }
}
