//! Level sizes: how large each level should be, and which one is the most overfull.
//!
//! ```text
//! L0      3 runs       of 4 from which on they are compacted
//! L1-2    empty        would be smaller than the base level
//! L3      200 MiB      of 256 MiB: the base level, which L0 is compacted into
//! L4      3 GiB        of 2.5 GiB, a tenth of L5: compacted into L5
//! L5      25 GiB       the largest level keeps its size
//! ```
//!
//! Sizes are set from the bottom up: the largest level keeps its size, each level above it a tenth of the one below.
//! Levels that would be smaller than a compaction of L0 are left out, so that small graphs have one level and each byte
//! is written once or twice; L0 goes to the first one that is left, the *base level*.
//!
//! Source: RocksDB, `level_compaction_dynamic_level_bytes` (Dong et al., CIDR 2017, section 3).

use crate::file_set::{DEEPER_LEVELS, FileSet};
use crate::pick::limits::PickLimits;
use crate::stored_file::KeyedFile;
use std::cmp::Ordering;

/// The level below which there is none.
pub(super) const BOTTOMMOST: usize = DEEPER_LEVELS;

/// The size of each level that the shape of the tree asks for. By level; nothing of L0.
#[derive(Debug)]
pub(super) struct LevelSizes {
    pub(super) bytes: [u64; BOTTOMMOST + 1],
    /// Of the bottommost level and of levels above the base: no bound.
    pub(super) targets: [u64; BOTTOMMOST + 1],
    /// Where L0 is compacted to; no level above it has files.
    pub(super) base: usize,
}

impl LevelSizes {
    /// As RocksDB's `CalculateBaseBytes`.
    pub(super) fn of<F: KeyedFile>(set: &FileSet<F>, limits: &PickLimits) -> Self {
        let ratio = limits.size_ratio.max(2);
        let mut bytes = [0_u64; BOTTOMMOST + 1];
        for (level, size) in bytes.iter_mut().enumerate().skip(1) {
            *size = set.level(level).iter().map(|file| file.stored().bytes()).sum();
        }
        let mut targets = [u64::MAX; BOTTOMMOST + 1];
        let Some(first) = (1..=BOTTOMMOST).find(|level| !set.level(*level).is_empty()) else {
            return Self { bytes, targets, base: BOTTOMMOST };
        };
        // The bottommost level may be smaller than another level for a while.
        let largest = bytes.iter().copied().max().unwrap_or(0);
        let mut size = (first..BOTTOMMOST).fold(largest, |size, _| size / ratio);
        let mut base = first;
        while base > 1 && size > limits.base_bytes {
            base -= 1;
            size /= ratio;
        }
        let mut size = size.min(limits.base_bytes);
        for target in &mut targets[base..BOTTOMMOST] {
            *target = size.max(limits.base_bytes);
            size = size.max(limits.base_bytes / ratio).saturating_mul(ratio);
        }
        Self { bytes, targets, base }
    }
}

/// How much a level has, beside how much it should have: a compaction score.
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelScore {
    pub(super) level: usize,
    /// Files of L0, bytes of another level.
    pub(super) has: u64,
    pub(super) wants: u64,
}

impl LevelScore {
    /// The most overfull first; of equal ones L0, which every read looks at file by file. Twice as many files as it takes
    /// slow writers: then L0 comes first, whatever the others have.
    pub(super) fn by_urgency(&self, other: &Self) -> Ordering {
        other
            .is_urgent()
            .cmp(&self.is_urgent())
            .then_with(|| other.overfull(self))
            .then(self.level.cmp(&other.level))
    }

    fn is_urgent(&self) -> bool {
        self.level == 0 && self.has >= self.wants.saturating_mul(2)
    }

    /// Compares has / wants.
    fn overfull(&self, other: &Self) -> Ordering {
        let cross = |a: u64, b: u64| u128::from(a) * u128::from(b);
        cross(self.has, other.wants).cmp(&cross(other.has, self.wants))
    }
}
