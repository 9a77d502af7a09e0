//! Entry bound: a place between the entries of an ordered index, or at one of them.
//!
//! Places order by *content*, then by type, then by item: bounds fall between contents, so that `> 1` steps over
//! the 1 of every width.

use evergraph_graph::look_up::ValueRange;
use evergraph_graph::value::Value;
use std::cmp::Ordering;
use std::ops::Bound;

/// A place in the order of entries; only `At` with an item can be an entry's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EntryBound<I> {
    /// Before all.
    Start,
    /// Before everything of this content.
    Before(Value),
    /// At this value, of its type: at this item, or before all of them.
    At(Value, Option<I>),
    /// Behind everything of this content.
    After(Value),
    /// Behind all.
    End,
}

impl<I> EntryBound<I> {
    /// As the lower end of a range of values, which may have more than what lies behind this place.
    #[must_use]
    pub fn as_lower(&self) -> Bound<&Value> {
        match self {
            Self::Start | Self::End => Bound::Unbounded,
            Self::Before(value) | Self::At(value, _) => Bound::Included(value),
            Self::After(value) => Bound::Excluded(value),
        }
    }

    /// The same for the upper end.
    #[must_use]
    pub fn as_upper(&self) -> Bound<&Value> {
        match self {
            Self::Start | Self::End => Bound::Unbounded,
            Self::After(value) | Self::At(value, _) => Bound::Included(value),
            Self::Before(value) => Bound::Excluded(value),
        }
    }
}

impl<I: Copy + Ord> EntryBound<I> {
    /// The places between which the values of `range` lie, the lower one first; no entry is at either.
    #[must_use]
    pub fn around(range: &ValueRange) -> (Self, Self) {
        let from = match &range.from {
            Bound::Unbounded => Self::Start,
            Bound::Included(value) => Self::Before(value.clone()),
            Bound::Excluded(value) => Self::After(value.clone()),
        };
        let to = match &range.to {
            Bound::Unbounded => Self::End,
            Bound::Included(value) => Self::After(value.clone()),
            Bound::Excluded(value) => Self::Before(value.clone()),
        };
        (from, to)
    }

    /// Where this place is, seen from the entry of `item` with `value`.
    pub fn cmp_entry(&self, value: &Value, item: I) -> Ordering {
        match self {
            Self::Start => Ordering::Less,
            Self::End => Ordering::Greater,
            Self::Before(own) => own.compare_content(value).then(Ordering::Less),
            Self::After(own) => own.compare_content(value).then(Ordering::Greater),
            Self::At(own, of) => own.cmp(value).then_with(|| of.cmp(&Some(item))),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Start | Self::Before(_) => 0,
            Self::At(..) => 1,
            Self::After(_) | Self::End => 2,
        }
    }
}

impl<I: Copy + Ord> Ord for EntryBound<I> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::At(left, of_left), Self::At(right, of_right)) => {
                left.cmp(right).then_with(|| of_left.cmp(of_right))
            }
            (Self::Start, Self::Start) | (Self::End, Self::End) => Ordering::Equal,
            (Self::Start, _) | (_, Self::End) => Ordering::Less,
            (_, Self::Start) | (Self::End, _) => Ordering::Greater,
            (
                Self::Before(left) | Self::At(left, _) | Self::After(left),
                Self::Before(right) | Self::At(right, _) | Self::After(right),
            ) => left.compare_content(right).then_with(|| self.rank().cmp(&other.rank())),
        }
    }
}

impl<I: Copy + Ord> PartialOrd for EntryBound<I> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
