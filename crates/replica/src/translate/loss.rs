//! Losses: rows that became no vertex or edge, and values that became none, counted by rule and cause.

use std::collections::BTreeMap;
use std::fmt;

/// Why a row, or a value of it, is not in the graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LossCause {
    /// The rule's condition leaves the row out.
    Condition,
    /// The condition depends on a value that has no counterpart here (`on-unfit = "null"`).
    UnfitCondition,
    /// The row's key has no counterpart here (`on-unfit = "null"`).
    UnfitKey,
    /// An edge's row has a null in an end.
    NullEnd,
    /// An edge's end has no counterpart here (`on-unfit = "null"`): there is no edge.
    UnfitEnd,
    /// A value has no counterpart here (`on-unfit = "null"`): there is no property.
    UnfitValue,
}

impl LossCause {
    /// All, in the order of their codes.
    pub const ALL: [Self; 6] = [
        Self::Condition,
        Self::UnfitCondition,
        Self::UnfitKey,
        Self::NullEnd,
        Self::UnfitEnd,
        Self::UnfitValue,
    ];

    /// The number that stands for it in notes.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The cause that a number in a note stands for.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Its name in documents and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Condition => "condition",
            Self::UnfitCondition => "unfit_condition",
            Self::UnfitKey => "unfit_key",
            Self::NullEnd => "null_end",
            Self::UnfitEnd => "unfit_end",
            Self::UnfitValue => "unfit_value",
        }
    }
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Losses, counted by rule, which is its place in the mapping, and cause. A row counts each time that it changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LossCounts(BTreeMap<(usize, LossCause), u64>);

impl LossCounts {
    /// Counts one.
    pub fn count(&mut self, rule: usize, cause: LossCause) {
        self.count_many(rule, cause, 1);
    }

    /// Counts `count` of them.
    pub fn count_many(&mut self, rule: usize, cause: LossCause, count: u64) {
        *self.0.entry((rule, cause)).or_default() += count;
    }

    /// Counts those of `other`, too.
    pub fn add(&mut self, other: &Self) {
        for (of, count) in &other.0 {
            *self.0.entry(*of).or_default() += count;
        }
    }

    /// Whether nothing was lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many of one rule and cause.
    #[must_use]
    pub fn of(&self, rule: usize, cause: LossCause) -> u64 {
        self.0.get(&(rule, cause)).copied().unwrap_or_default()
    }

    /// All of them, by rule and cause.
    pub fn iter(&self) -> impl Iterator<Item = (usize, LossCause, u64)> {
        self.0.iter().map(|((rule, cause), count)| (*rule, *cause, *count))
    }

    /// Forgets them, for counting anew.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
