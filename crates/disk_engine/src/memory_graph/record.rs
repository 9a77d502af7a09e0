//! Record: one timestamped change of a vertex or of an edge, and the key that it has.
//!
//! ```text
//! list   subject:32 | vertex:32          a vertex itself (subject 0), or its edges of one type and side
//! item   neighbour:32 | discriminator:16 one edge of the list; zero in the list of a vertex itself
//! key    list | item                     the order of memory graphs and of CSR files
//! ```
//!
//! Records are exact: Insert only where nothing was, Delete, Replace and Set only where something was, and at most
//! one for a key and timestamp. So a degree is a sum of inserts and deletes, and the newest record of a key decides
//! whether its item exists.
//!
//! Source: invariant I2 of core-protocol; the keys are those of disk-engine, section 1. `Operation` repeats the one
//! of the memory engine, a crate that this one does not depend on.

use evergraph_graph::id::{Direction, EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use std::ops::RangeInclusive;

/// What a list, a page or a record is about: vertices, the edges of one type and side, or an index.
///
/// ```text
/// 0                        vertices: liveness and properties
/// 1 + 2 x type + (1: in)   edges of a type, on one side
/// 2^24 + n                 index n
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Subject(u32);

impl Subject {
    /// Liveness and properties of vertices.
    pub const VERTICES: Self = Self(0);
    /// The first subject of an index.
    const FIRST_INDEX: u32 = 1 << 24;

    /// The edges of `edge_type` on `side`.
    ///
    /// # Panics
    /// If `side` is `Both`: each side has its own lists.
    #[must_use]
    #[inline]
    pub const fn edges(edge_type: TypeId, side: Direction) -> Self {
        let side = match side {
            Direction::Out => 0,
            Direction::In => 1,
            Direction::Both => panic!("a list has one side"),
        };
        Self(1 + 2 * edge_type.0 as u32 + side)
    }

    /// The index with `number`, which is below 2^32 - 2^24.
    #[must_use]
    pub const fn index(number: u32) -> Self {
        Self(Self::FIRST_INDEX + number)
    }

    /// The number that files and sort keys hold.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The subject with a number that [`Subject::number`] returned.
    #[must_use]
    #[inline]
    pub const fn numbered(number: u32) -> Self {
        Self(number)
    }

    /// Edge type and side, if the subject has lists of edges.
    #[must_use]
    #[inline]
    pub const fn edge_list(self) -> Option<(TypeId, Direction)> {
        if self.0 == 0 || self.is_index() {
            return None;
        }
        let side = if (self.0 - 1) & 1 == 0 { Direction::Out } else { Direction::In };
        Some((TypeId(((self.0 - 1) >> 1) as u16), side))
    }

    /// Whether the subject is an index.
    #[must_use]
    #[inline]
    pub const fn is_index(self) -> bool {
        self.0 >= Self::FIRST_INDEX
    }
}

/// A list: what a graph knows of one vertex and one subject. Ordered as in files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ListId {
    /// The subject: vertices, or edges of one type and side.
    pub subject: Subject,
    /// The vertex.
    pub vertex: VertexId,
}

impl ListId {
    /// Before every other list.
    pub const FIRST: Self = Self { subject: Subject::VERTICES, vertex: VertexId(0) };

    /// The edges of `vertex`, of one type, on one plain side.
    #[must_use]
    #[inline]
    pub const fn edges(vertex: VertexId, edge_type: TypeId, side: Direction) -> Self {
        Self { subject: Subject::edges(edge_type, side), vertex }
    }

    /// The vertex itself: liveness and properties.
    #[must_use]
    #[inline]
    pub const fn vertex(vertex: VertexId) -> Self {
        Self { subject: Subject::VERTICES, vertex }
    }

    /// The out list of the source of `edge`, which has the edge and its properties.
    #[must_use]
    #[inline]
    pub const fn out_list(edge: &EdgeId) -> Self {
        Self::edges(edge.source, edge.edge_type, Direction::Out)
    }

    /// Whether records of the list carry properties: a vertex' own, and those of out lists.
    #[must_use]
    pub(super) const fn carries_properties(self) -> bool {
        !matches!(self.subject.edge_list(), Some((_, Direction::In)))
    }

    /// The in list of the target of `edge`.
    #[must_use]
    #[inline]
    pub const fn in_list(edge: &EdgeId) -> Self {
        Self::edges(edge.target, edge.edge_type, Direction::In)
    }
}

/// An item of a list: `neighbour:32 | discriminator:16`. In the order of lists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ItemKey(u64);

impl ItemKey {
    /// The one item in the list of a vertex itself.
    pub const VERTEX: Self = Self(0);
    /// The last item that a list may have.
    pub const LAST: Self = Self::edge(VertexId(u32::MAX), u16::MAX);

    /// An edge to or from `neighbor`.
    #[must_use]
    #[inline]
    pub const fn edge(neighbor: VertexId, discriminator: u16) -> Self {
        Self((neighbor.0 as u64) << 16 | discriminator as u64)
    }

    /// Every edge to or from `neighbor`.
    #[must_use]
    pub const fn parallel(neighbor: VertexId) -> RangeInclusive<Self> {
        Self::edge(neighbor, 0)..=Self::edge(neighbor, u16::MAX)
    }

    /// The vertex at the other end.
    #[must_use]
    #[inline]
    pub const fn neighbor(self) -> VertexId {
        VertexId((self.0 >> 16) as u32)
    }

    /// The discriminator of parallel edges.
    #[must_use]
    #[inline]
    pub const fn discriminator(self) -> u16 {
        self.0 as u16
    }

    /// The 48 bits of the key.
    #[must_use]
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The key of 48 bits.
    #[must_use]
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits & ((1 << 48) - 1))
    }
}

/// What a record did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Operation {
    /// The item was absent and exists now, with the payload as its properties.
    Insert = 0,
    /// The item existed and is absent now.
    Delete = 1,
    /// The item still exists; the payload is all its properties.
    Replace = 2,
    /// The item still exists; the payload changes some properties.
    Set = 3,
}

impl Operation {
    /// The operation with these two bits.
    #[must_use]
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        match bits & 3 {
            0 => Self::Insert,
            1 => Self::Delete,
            2 => Self::Replace,
            _ => Self::Set,
        }
    }

    /// Its effect on the number of items: 1, -1 or 0.
    #[must_use]
    #[inline]
    pub const fn difference(self) -> i64 {
        match self {
            Self::Insert => 1,
            Self::Delete => -1,
            Self::Replace | Self::Set => 0,
        }
    }
}

/// A record of a commit that has no timestamp yet.
#[derive(Clone, PartialEq, Debug)]
pub struct PendingRecord {
    /// The item in its list.
    pub item: ItemKey,
    /// What happens to it.
    pub operation: Operation,
    /// The properties that the record carries.
    pub payload: Properties,
}

/// A record in a memory graph.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GraphRecord<'g> {
    /// The item in its list.
    pub item: ItemKey,
    /// When it was committed.
    pub timestamp: Timestamp,
    /// What was done.
    pub operation: Operation,
    /// The properties that the record carries.
    pub payload: &'g Properties,
}

impl GraphRecord<'_> {
    /// Whether the record adds or removes its item.
    #[must_use]
    #[inline]
    pub const fn changes_membership(&self) -> bool {
        self.operation.difference() != 0
    }

    /// Whether the value of `property` may differ since this record.
    #[must_use]
    pub fn changes_property(&self, property: KeyId) -> bool {
        self.operation != Operation::Set || self.payload.get(property).is_some()
    }
}

/// The payload of records without properties.
pub static NO_PROPERTIES: Properties = Properties::EMPTY;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_order_vertices_then_types_out_before_in_then_indexes() {
        let edges = |edge_type, side| Subject::edges(TypeId(edge_type), side);
        let subjects = [
            Subject::VERTICES,
            edges(0, Direction::Out),
            edges(0, Direction::In),
            edges(1, Direction::Out),
            edges(u16::MAX, Direction::In),
            Subject::index(0),
            Subject::index(7),
        ];
        assert!(subjects.is_sorted_by(|a, b| a < b));
        let lists: Vec<_> = subjects.iter().map(|subject| subject.edge_list()).collect();
        assert_eq!(lists[3], Some((TypeId(1), Direction::Out)));
        assert_eq!(lists[4], Some((TypeId(u16::MAX), Direction::In)));
        assert!(lists[0].is_none() && lists[5].is_none() && subjects[5].is_index());
        assert!(subjects.iter().all(|subject| Subject::numbered(subject.number()) == *subject));
    }

    #[test]
    fn items_order_by_neighbor_then_discriminator() {
        let items =
            [ItemKey::VERTEX, ItemKey::edge(VertexId(0), 1), ItemKey::edge(VertexId(7), 0), ItemKey::LAST];
        assert!(items.is_sorted_by(|a, b| a < b));
        assert_eq!((items[2].neighbor(), ItemKey::LAST.discriminator()), (VertexId(7), u16::MAX));
        assert!(items.iter().all(|item| ItemKey::from_bits(item.bits()) == *item));
        assert!(ItemKey::parallel(VertexId(7)).contains(&items[2]));
    }
}
