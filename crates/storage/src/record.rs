//! Records: timestamped changes that are not part of a body yet.
//!
//! ```text
//! key     row:16 | neighbour:32 | discriminator:16     an edge of vertex `row` of the group
//!         row:16 | 0                                   a vertex itself
//! stamp   commit timestamp:62 | operation:2
//! ```
//!
//! Records are exact: Insert only where nothing was, Delete, Replace and Set only where something
//! was, at most one for a key and timestamp. So degree = body + inserts - deletes, and nobody needs
//! the body to know what a record did.

use evergraph_graph::id::EdgeId;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use std::ops::RangeInclusive;

/// What a record is about, in the order of a segment's lists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RecordKey(pub u64);

impl RecordKey {
    /// An edge of the vertex in `row`.
    #[must_use]
    pub const fn edge(row: u16, neighbor: u32, discriminator: u16) -> Self {
        Self((row as u64) << 48 | (neighbor as u64) << 16 | discriminator as u64)
    }

    /// The vertex in `row` itself.
    #[must_use]
    pub const fn vertex(row: u16) -> Self {
        Self((row as u64) << 48)
    }

    /// The row of the vertex in its group.
    #[must_use]
    pub const fn row(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// The vertex at the other end.
    #[must_use]
    pub const fn neighbor(self) -> u32 {
        (self.0 >> 16) as u32
    }

    /// Which of parallel edges.
    #[must_use]
    pub const fn discriminator(self) -> u16 {
        self.0 as u16
    }

    /// Every key of `row`.
    #[must_use]
    pub const fn whole_row(row: u16) -> RangeInclusive<Self> {
        Self::vertex(row)..=Self((row as u64) << 48 | 0xffff_ffff_ffff)
    }

    /// Every key of the row behind this one.
    #[must_use]
    pub const fn rest_of_row(self) -> RangeInclusive<Self> {
        // Behind the last key of a row lies the first of the next, and the range is empty.
        Self(self.0.saturating_add(1))..=*Self::whole_row(self.row()).end()
    }

    /// The key of an edge in the list of its source.
    #[must_use]
    pub const fn of_edge(edge: &EdgeId) -> Self {
        Self::edge(edge.source.row(), edge.target.0, edge.discriminator)
    }

    /// Every edge from `row` to `neighbor`.
    #[must_use]
    pub const fn parallel(row: u16, neighbor: u32) -> RangeInclusive<Self> {
        Self::edge(row, neighbor, 0)..=Self::edge(row, neighbor, u16::MAX)
    }

    /// This key alone.
    #[must_use]
    pub const fn only(self) -> RangeInclusive<Self> {
        self..=self
    }
}

/// What a record did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Operation {
    /// It was not there; it is now, with the payload as its properties.
    Insert = 0,
    /// It was there; it isn't any more.
    Delete = 1,
    /// It is there still; the payload is all its properties.
    Replace = 2,
    /// It is there still; the payload changes some properties.
    Set = 3,
}

impl Operation {
    /// Whether a record of this operation may be the next one of a key after one of `before`: records are exact.
    #[must_use]
    pub const fn may_follow(self, before: Self) -> bool {
        matches!(self, Self::Insert) == matches!(before, Self::Delete)
    }
}

/// When, and what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stamp(pub u64);

impl Stamp {
    /// The highest timestamp that a stamp has room for.
    pub const TIMESTAMP_MAX: Timestamp = Timestamp(u64::MAX >> 2);

    /// The stamp of `operation` at `timestamp`.
    #[must_use]
    pub const fn new(timestamp: Timestamp, operation: Operation) -> Self {
        Self(timestamp.0 << 2 | operation as u64)
    }

    /// When.
    #[must_use]
    pub const fn timestamp(self) -> Timestamp {
        Timestamp(self.0 >> 2)
    }

    /// What.
    #[must_use]
    pub const fn operation(self) -> Operation {
        match self.0 & 3 {
            0 => Operation::Insert,
            1 => Operation::Delete,
            2 => Operation::Replace,
            _ => Operation::Set,
        }
    }

    /// What it does to the number of items: +1, -1 or 0.
    #[must_use]
    pub const fn difference(self) -> i64 {
        match self.operation() {
            Operation::Insert => 1,
            Operation::Delete => -1,
            Operation::Replace | Operation::Set => 0,
        }
    }
}

/// A record that is on its way into a tail or a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// What it is about.
    pub key: RecordKey,
    /// When, and what was done.
    pub stamp: Stamp,
    /// The properties that it carries.
    pub payload: Properties,
}

/// A record where it lies.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
    /// What it is about.
    pub key: RecordKey,
    /// When, and what was done.
    pub stamp: Stamp,
    /// The properties that it carries.
    pub payload: &'a Properties,
}

impl RecordRef<'_> {
    /// Whether a snapshot at `timestamp` sees it.
    #[must_use]
    pub fn visible_at(&self, timestamp: Timestamp) -> bool {
        self.stamp.timestamp().visible_at(timestamp)
    }

    /// A copy that lives on.
    #[must_use]
    pub fn to_record(self) -> Record {
        Record { key: self.key, stamp: self.stamp, payload: self.payload.clone() }
    }
}

/// What records without properties point to.
pub static NO_PROPERTIES: Properties = Properties::EMPTY;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_by_row_then_neighbor_then_discriminator() {
        let keys = [
            RecordKey::vertex(1),
            RecordKey::edge(1, 0, 1),
            RecordKey::edge(1, 7, 0),
            RecordKey::edge(1, u32::MAX, u16::MAX),
            RecordKey::edge(2, 0, 0),
        ];
        assert!(keys.is_sorted_by(|a, b| a < b));
        let key = RecordKey::edge(4095, u32::MAX, 9);
        assert_eq!((key.row(), key.neighbor(), key.discriminator()), (4095, u32::MAX, 9));
        assert!(RecordKey::whole_row(1).contains(&keys[3]) && !RecordKey::whole_row(1).contains(&keys[4]));
        assert!(
            RecordKey::parallel(1, 7).contains(&keys[2]) && !RecordKey::parallel(1, 7).contains(&keys[1])
        );
    }

    #[test]
    fn an_insert_follows_a_delete_alone_and_nothing_else_does() {
        use Operation::{Delete, Insert, Replace, Set};
        for before in [Insert, Replace, Set] {
            assert!([Delete, Replace, Set].iter().all(|after| after.may_follow(before)));
            assert!(!Insert.may_follow(before) && Insert.may_follow(Delete));
        }
        assert!(![Delete, Replace, Set].iter().any(|after| after.may_follow(Delete)));
    }

    #[test]
    fn a_stamp_keeps_its_timestamp_and_operation() {
        for operation in [Operation::Insert, Operation::Delete, Operation::Replace, Operation::Set] {
            let stamp = Stamp::new(Timestamp(1 << 40), operation);
            assert_eq!((stamp.timestamp(), stamp.operation()), (Timestamp(1 << 40), operation));
        }
    }
}
