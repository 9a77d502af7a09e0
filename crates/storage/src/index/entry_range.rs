//! Entry range: where a read of an index whose entries are bytes begins and ends, and in which direction it goes.

use evergraph_graph::index_entry::ItemId;
use std::cmp::Ordering;

/// A bound between the pairs of an index, or at one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BytesBound<'a> {
    /// Before all.
    Start,
    /// Before every pair of this value, and of those above it.
    Before(&'a [u8]),
    /// At a pair.
    At(&'a [u8], ItemId),
    /// Behind every pair of this value, and of those below it.
    After(&'a [u8]),
    /// Behind all.
    End,
}

impl BytesBound<'_> {
    /// This bound, compared with that of a pair: equal at the pair alone.
    #[must_use]
    pub fn cmp_pair(&self, value: &[u8], item: ItemId) -> Ordering {
        match self {
            Self::Start => Ordering::Less,
            Self::End => Ordering::Greater,
            Self::Before(own) => (*own).cmp(value).then(Ordering::Less),
            Self::After(own) => (*own).cmp(value).then(Ordering::Greater),
            Self::At(own, at) => (*own).cmp(value).then_with(|| at.cmp(&item)),
        }
    }
}

/// The direction in which pairs are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryOrder {
    /// From the lowest value on.
    Ascending,
    /// From the highest value on.
    Descending,
}

/// A range of an index: from behind one bound up to another, neither of them an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryRange<'a> {
    /// Where reading begins: the higher bound, if it descends.
    pub from: BytesBound<'a>,
    /// Where it ends.
    pub to: BytesBound<'a>,
    /// Its direction.
    pub order: EntryOrder,
}

impl<'a> EntryRange<'a> {
    /// The lower bound and the higher one.
    #[must_use]
    pub const fn low_and_high(&self) -> (BytesBound<'a>, BytesBound<'a>) {
        match self.order {
            EntryOrder::Ascending => (self.from, self.to),
            EntryOrder::Descending => (self.to, self.from),
        }
    }

    /// The value, if the range has pairs of one value alone.
    #[must_use]
    pub fn only_value(&self) -> Option<&'a [u8]> {
        match self.low_and_high() {
            (BytesBound::Before(low) | BytesBound::At(low, _), BytesBound::After(high)) if low == high => {
                Some(high)
            }
            _ => None,
        }
    }
}

impl<'a> BytesBound<'a> {
    /// The value bytes of the bound: none before or behind all.
    #[must_use]
    pub const fn value(&self) -> Option<&'a [u8]> {
        match *self {
            Self::Start | Self::End => None,
            Self::Before(value) | Self::At(value, _) | Self::After(value) => Some(value),
        }
    }
}

impl EntryOrder {
    /// How two pairs compare in this order.
    #[must_use]
    pub fn compare(self, left: (&[u8], ItemId), right: (&[u8], ItemId)) -> Ordering {
        match self {
            Self::Ascending => left.cmp(&right),
            Self::Descending => right.cmp(&left),
        }
    }
}
