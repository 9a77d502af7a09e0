//! Segment id: a vertex group and what one of its segments is about, as one number.
//!
//! ```text
//! group:24 | subject:24 | hub:16      subject   0 the vertices, else 1 + 2 x type, and 1 more for the in side
//!                                     hub       0 the group's own segment, else 1 + row
//! 2^20     | number:24  | 0           the entries of an index
//! ```
//!
//! So a group's segments ascend by type and side, and the hubs of a segment follow it.

use crate::extents::header::ExtentKind;
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, TypeId, VertexId};
use std::fmt;

const HUB_BITS: u32 = 16;
const GROUP_SHIFT: u32 = 40;
const SUBJECTS: u64 = 2 * (u16::MAX as u64 + 1) + 1;
const HUB_MASK: u64 = (1 << HUB_BITS) - 1;

/// The segments of indexes belong to no vertices: their group has a number that no group of vertices has.
pub const INDEXES: GroupId = GroupId(GroupId::END);

/// Which segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SegmentId(u64);

impl SegmentId {
    /// The vertices of a group.
    #[must_use]
    pub fn vertices(group: GroupId) -> Self {
        Self(u64::from(group.0) << GROUP_SHIFT)
    }

    /// The edges of one type, on one side of a group.
    ///
    /// # Panics
    /// If `side` is `Both`: segments keep plain sides.
    #[must_use]
    pub fn edges(group: GroupId, edge_type: TypeId, side: Direction) -> Self {
        assert!(side != Direction::Both, "a segment keeps one side");
        let subject = 1 + (u64::from(edge_type.0) << 1 | u64::from(side == Direction::In));
        Self(Self::vertices(group).0 | subject << HUB_BITS)
    }

    /// The edges of one row of this segment.
    ///
    /// # Panics
    /// If it is a hub's, or has no edges.
    #[must_use]
    pub fn hub(self, row: u16) -> Self {
        assert!(
            self.hub_row().is_none() && self.type_and_side().is_some(),
            "a hub belongs to a group's edges"
        );
        Self(self.0 | (1 + u64::from(row)))
    }

    /// The entries of the index with this number, if an index can have it.
    #[must_use]
    pub fn index(number: u32) -> Option<Self> {
        let is_possible = number > 0 && number < 1 << (GROUP_SHIFT - HUB_BITS);
        is_possible.then(|| Self(Self::vertices(INDEXES).0 | u64::from(number) << HUB_BITS))
    }

    /// The number of the index whose entries these are, if it is about one.
    #[must_use]
    pub fn index_number(self) -> Option<u32> {
        (self.group() == INDEXES)
            .then_some((self.0 >> HUB_BITS) as u32 & ((1 << (GROUP_SHIFT - HUB_BITS)) - 1))
    }

    /// The kind of the extents of its bodies.
    #[must_use]
    pub fn body_kind(self) -> ExtentKind {
        if self.group() == INDEXES { ExtentKind::IndexBody } else { ExtentKind::Body }
    }

    /// The segment with this number, if it is one's.
    #[must_use]
    pub fn numbered(number: u64) -> Option<Self> {
        let (group, hub) = (number >> GROUP_SHIFT, number & HUB_MASK);
        let subject = (number >> HUB_BITS) & ((1 << (GROUP_SHIFT - HUB_BITS)) - 1);
        if group == u64::from(INDEXES.0) {
            return Self::index(subject as u32).filter(|_| hub == 0);
        }
        let is_segment = group < u64::from(GroupId::END)
            && subject < SUBJECTS
            && hub <= u64::from(GROUP_SIZE)
            && (subject > 0 || hub == 0);
        is_segment.then_some(Self(number))
    }

    /// Its number: segments are in the order of their numbers.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The group.
    #[must_use]
    pub fn group(self) -> GroupId {
        GroupId((self.0 >> GROUP_SHIFT) as u32)
    }

    /// Type and side, if it is about edges.
    #[must_use]
    pub fn type_and_side(self) -> Option<(TypeId, Direction)> {
        if self.group() == INDEXES {
            return None;
        }
        let subject = (self.0 >> HUB_BITS) & ((1 << (GROUP_SHIFT - HUB_BITS)) - 1);
        let subject = subject.checked_sub(1)?;
        let side = if subject & 1 == 0 { Direction::Out } else { Direction::In };
        Some((TypeId((subject >> 1) as u16), side))
    }

    /// The row, if it is a hub's.
    #[must_use]
    pub fn hub_row(self) -> Option<u16> {
        (self.0 & HUB_MASK).checked_sub(1).map(|row| row as u16)
    }

    /// The group's own segment, to which a hub belongs; of another, itself.
    #[must_use]
    pub fn of_group(self) -> Self {
        Self(self.0 & !HUB_MASK)
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.index_number() {
            return write!(f, "the entries of index {number}");
        }
        let group = self.group();
        let Some((edge_type, side)) = self.type_and_side() else {
            return write!(f, "the vertices of group {}", group.0);
        };
        let side = if side == Direction::Out { "out" } else { "in" };
        write!(f, "the {side} edges of type {} of ", edge_type.0)?;
        match self.hub_row() {
            None => write!(f, "group {}", group.0),
            Some(row) => write!(f, "hub {}", VertexId::new(group, row)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_tells_group_type_side_and_row_and_orders_them() {
        let (group, most) = (GroupId(GroupId::END - 1), TypeId(u16::MAX));
        let own = SegmentId::edges(group, most, Direction::In);
        let first = SegmentId::edges(group, TypeId(0), Direction::Out);
        let segments = [
            SegmentId::edges(GroupId(0), most, Direction::In),
            SegmentId::vertices(group),
            first,
            first.hub(0),
            first.hub(4095),
            SegmentId::edges(group, TypeId(0), Direction::In),
            SegmentId::edges(group, TypeId(1), Direction::Out),
            own,
            own.hub(7),
        ];
        assert!(segments.is_sorted_by(|a, b| a < b));
        for segment in segments {
            assert_eq!(SegmentId::numbered(segment.number()), Some(segment));
        }
        assert_eq!((own.group(), own.type_and_side()), (group, Some((most, Direction::In))));
        assert_eq!((own.hub_row(), own.hub(7).hub_row(), own.hub(7).of_group()), (None, Some(7), own));
        assert_eq!(SegmentId::vertices(group).type_and_side(), None);
        let index = SegmentId::index(0xff_ffff).unwrap();
        assert_eq!(SegmentId::numbered(index.number()), Some(index));
        assert_eq!(
            (index.index_number(), index.type_and_side(), own.index_number()),
            (Some(0xff_ffff), None, None)
        );
        assert_eq!(index.to_string(), "the entries of index 16777215");
        assert!(own.hub(7) < index && SegmentId::index(0).is_none() && SegmentId::index(1 << 24).is_none());
        for number in [
            index.0 | 1,
            u64::from(INDEXES.0) << GROUP_SHIFT,
            1,
            own.0 | 4097,
            1 << 60,
            SUBJECTS << HUB_BITS,
            u64::MAX,
        ] {
            assert_eq!(SegmentId::numbered(number), None, "{number:#x}");
        }
        let id = SegmentId::edges(GroupId(1), TypeId(3), Direction::In).hub(2);
        assert_eq!(id.to_string(), format!("the in edges of type 3 of hub {}", VertexId(4098)));
    }
}
