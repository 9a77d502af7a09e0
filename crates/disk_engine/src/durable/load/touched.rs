//! Touched segments: what a load changed, for writers whose snapshots are older.
//!
//! A load leaves no records in a memory graph. Until no writer has a snapshot before it, conflict checks ask here, by
//! group and subject: who wrote or read anything in a segment that the load touched is told that something may have
//! changed.

use crate::format::subject::{EdgeSide, Subject};
use evergraph_graph::id::{Direction, GroupId, TypeId};
use evergraph_storage::engine::Key;
use std::collections::BTreeSet;

/// The segments that a load changed.
#[derive(Clone, Debug, Default)]
pub struct TouchedSegments {
    segments: BTreeSet<(GroupId, Subject)>,
}

impl TouchedSegments {
    pub(super) fn insert(&mut self, group: GroupId, subject: Subject) {
        self.segments.insert((group, subject));
    }

    /// Whether the load may have changed `key`. Cost: a search among the load's segments; no I/O, no wait.
    #[must_use]
    pub fn touches(&self, key: &Key) -> bool {
        let edges = |group, edge_type: TypeId, side| self.has(group, Subject::edges(edge_type, side));
        match *key {
            Key::Vertex(vertex) | Key::VertexProperty(vertex, _) | Key::VertexRecord(vertex) => {
                self.has(vertex.group(), Subject::VERTICES)
            }
            Key::Members(group) | Key::Vertices(group) => self.has(group, Subject::VERTICES),
            Key::Adjacency(vertex) => {
                let group = vertex.group();
                let first_edges = Subject::edges(TypeId(0), EdgeSide::Out);
                self.segments.range((group, first_edges)..).next().is_some_and(|next| next.0 == group)
            }
            Key::Edge(edge) | Key::EdgeProperty(edge, _) | Key::EdgeMember(edge) => {
                edges(edge.source.group(), edge.edge_type, EdgeSide::Out)
            }
            Key::List(vertex, edge_type, side) => self.has_sides(vertex.group(), edge_type, side),
            Key::Edges(group, edge_type, side) => self.has_sides(group, edge_type, side),
            Key::ListProperty(vertex, edge_type, _) | Key::Between(vertex, edge_type, _) => {
                edges(vertex.group(), edge_type, EdgeSide::Out)
            }
        }
    }

    /// The groups and subjects of edges, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (GroupId, Subject)> + '_ {
        self.segments.iter().copied()
    }

    fn has(&self, group: GroupId, subject: Subject) -> bool {
        self.segments.contains(&(group, subject))
    }

    fn has_sides(&self, group: GroupId, edge_type: TypeId, side: Direction) -> bool {
        EdgeSide::of(side).iter().any(|side| self.has(group, Subject::edges(edge_type, *side)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::{EdgeId, KeyId, VertexId};

    #[test]
    fn keys_of_other_segments_are_not_touched() {
        let (new, old, other) = (GroupId(7), GroupId(3), GroupId(4));
        let mut touched = TouchedSegments::default();
        touched.insert(new, Subject::VERTICES);
        touched.insert(old, Subject::edges(TypeId(2), EdgeSide::Out));
        let vertex = |group| VertexId::new(group, 9);
        for key in [
            Key::Vertex(vertex(new)),
            Key::Members(new),
            Key::Adjacency(vertex(old)),
            Key::List(vertex(old), TypeId(2), Direction::Out),
            Key::Between(vertex(old), TypeId(2), vertex(other)),
            Key::ListProperty(vertex(old), TypeId(2), KeyId(0)),
        ] {
            assert!(touched.touches(&key), "{key}");
        }
        let edge = |edge_type, source| {
            let (edge_type, target) = (TypeId(edge_type), vertex(other));
            Key::Edge(EdgeId { source: vertex(source), edge_type, target, discriminator: 0 })
        };
        assert!(touched.touches(&edge(2, old)) && !touched.touches(&edge(1, old)) && !touched.touches(&edge(2, other)));
        for key in [
            Key::Vertex(vertex(old)),
            Key::Adjacency(vertex(other)),
            Key::Adjacency(vertex(new)),
            Key::List(vertex(old), TypeId(2), Direction::In),
            Key::Edges(new, TypeId(2), Direction::Out),
        ] {
            assert!(!touched.touches(&key), "{key}");
        }
    }
}
