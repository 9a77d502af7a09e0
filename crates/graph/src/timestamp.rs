//! Commit timestamps, and the rule that decides what a snapshot sees.

use std::fmt;

/// The place of a transaction in the order of commits. A count from 1, not a time; 0 is "before
/// the first commit".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Before the first commit.
    pub const ZERO: Self = Self(0);
    /// After every commit.
    pub const MAX: Self = Self(u64::MAX);

    /// Whether a snapshot at `snapshot` sees what was committed at `self`.
    ///
    /// The one visibility rule: every engine, every reader and every conflict check uses it
    /// ("newer than S" is its negation).
    #[must_use]
    #[inline]
    pub const fn visible_at(self, snapshot: Timestamp) -> bool {
        self.0 <= snapshot.0
    }

    /// The timestamp of the commit after this one.
    #[must_use]
    #[inline]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_sees_its_own_timestamp_and_nothing_newer() {
        assert!(Timestamp(4).visible_at(Timestamp(4)));
        assert!(Timestamp(3).visible_at(Timestamp(4)));
        assert!(!Timestamp(5).visible_at(Timestamp(4)));
    }
}
