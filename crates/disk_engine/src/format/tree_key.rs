//! Tree key: where a record of a vertex or an edge stands in the order of the tree: its list, and its item there.
//!
//! ```text
//! list   subject:32 | vertex:32          a vertex itself (subject 0), or its edges of one type and side
//! item   neighbour:32 | discriminator:16 one edge of the list; zero in the list of a vertex itself
//! key    list | item                     the order of memory graphs and of CSR files
//! ```
//!
//! Entries of an index are ordered by (subject, value bytes, item): see `entries`.
//!
//! Source: the design's disk-engine, section 1.

use crate::format::subject::{EdgeSide, Subject, SubjectKind};
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use std::ops::RangeInclusive;

/// A list: the records of one vertex and one subject. Ordered as in files.
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

    /// The edges of `vertex`, of one type, on one side.
    #[must_use]
    #[inline]
    pub const fn edges(vertex: VertexId, edge_type: TypeId, side: EdgeSide) -> Self {
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
        Self::edges(edge.source, edge.edge_type, EdgeSide::Out)
    }

    /// Whether records of the list carry properties: a vertex' own, and those of out lists.
    #[must_use]
    pub(crate) const fn carries_properties(self) -> bool {
        !matches!(self.subject.kind(), SubjectKind::Edges { side: EdgeSide::In, .. })
    }

    /// The in list of the target of `edge`.
    #[must_use]
    #[inline]
    pub const fn in_list(edge: &EdgeId) -> Self {
        Self::edges(edge.target, edge.edge_type, EdgeSide::In)
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
    /// Behind every item that a list may have; no record has it.
    pub(crate) const END: Self = Self(u64::MAX);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_order_by_neighbor_then_discriminator() {
        let items =
            [ItemKey::VERTEX, ItemKey::edge(VertexId(0), 1), ItemKey::edge(VertexId(7), 0), ItemKey::LAST];
        assert!(items.is_sorted_by(|a, b| a < b) && ItemKey::LAST < ItemKey::END);
        assert_eq!((items[2].neighbor(), ItemKey::LAST.discriminator()), (VertexId(7), u16::MAX));
        assert!(items.iter().all(|item| ItemKey::from_bits(item.bits()) == *item));
        assert!(ItemKey::parallel(VertexId(7)).contains(&items[2]));
    }

    #[test]
    fn lists_order_by_subject_then_vertex() {
        let edges = |vertex, side| ListId::edges(VertexId(vertex), TypeId(3), side);
        let lists = [
            ListId::FIRST,
            ListId::vertex(VertexId(u32::MAX)),
            edges(1, EdgeSide::Out),
            edges(2, EdgeSide::Out),
            edges(0, EdgeSide::In),
        ];
        assert!(lists.is_sorted_by(|a, b| a < b));
        assert_eq!(lists.map(ListId::carries_properties), [true, true, true, true, false]);
    }
}
