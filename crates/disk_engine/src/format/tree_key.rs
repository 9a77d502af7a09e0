//! Tree key: where a record of a vertex or an edge stands in the order of the tree.
//!
//! ```text
//! (subject, vertex, neighbour, discriminator)     an edge, in the list of `vertex`
//! (vertices, vertex, 0, 0)                        a vertex
//! ```
//!
//! Entries of an index are ordered by (subject, value bytes, item): see `entries`.

use crate::format::subject::Subject;
use evergraph_graph::id::VertexId;

/// The place of a record in the order of the tree. Ordered by its fields, from first to last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TreeKey {
    /// What the record is about.
    pub subject: Subject,
    /// The vertex, or the one that has the list.
    pub vertex: VertexId,
    /// The vertex at the other end; zero in a vertex's key.
    pub neighbor: VertexId,
    /// Which of parallel edges; zero in a vertex's key.
    pub discriminator: u16,
}

impl TreeKey {
    /// The key of a vertex.
    #[must_use]
    #[inline]
    pub const fn vertex(vertex: VertexId) -> Self {
        Self { subject: Subject::VERTICES, vertex, neighbor: VertexId(0), discriminator: 0 }
    }

    /// The key of an edge in the list of `vertex`.
    #[must_use]
    #[inline]
    pub const fn edge(subject: Subject, vertex: VertexId, neighbor: VertexId, discriminator: u16) -> Self {
        Self { subject, vertex, neighbor, discriminator }
    }

    /// The lowest key of the list of `vertex`.
    #[must_use]
    pub const fn list_start(subject: Subject, vertex: VertexId) -> Self {
        Self::edge(subject, vertex, VertexId(0), 0)
    }

    /// The highest key of the list of `vertex`.
    #[must_use]
    pub const fn list_end(subject: Subject, vertex: VertexId) -> Self {
        Self::edge(subject, vertex, VertexId(u32::MAX), u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::subject::EdgeSide;
    use evergraph_graph::id::TypeId;

    #[test]
    fn keys_order_by_subject_then_vertex_then_neighbor_then_discriminator() {
        let out = Subject::edges(TypeId(3), EdgeSide::Out);
        let keys = [
            TreeKey::vertex(VertexId(u32::MAX)),
            TreeKey::list_start(out, VertexId(1)),
            TreeKey::edge(out, VertexId(1), VertexId(0), 1),
            TreeKey::edge(out, VertexId(1), VertexId(7), 0),
            TreeKey::list_end(out, VertexId(1)),
            TreeKey::list_start(out, VertexId(2)),
            TreeKey::list_start(Subject::edges(TypeId(3), EdgeSide::In), VertexId(0)),
        ];
        assert!(keys.is_sorted_by(|a, b| a < b));
    }
}
