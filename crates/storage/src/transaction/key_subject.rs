//! Key subject: the part of the graph that a key is in, most of which tell by one look whether they changed.

use crate::engine::{ChangedSince, Engine, Key};
use evergraph_graph::id::{Direction, GroupId, TypeId};
use evergraph_graph::timestamp::Timestamp;

/// A part of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeySubject {
    /// The vertices of a group themselves.
    Vertices(GroupId),
    /// The edges of one type on a plain side of a group's vertices.
    Edges(GroupId, TypeId, Direction),
    /// Edges of all types of a group's vertices: no look tells.
    Adjacency(GroupId),
}

impl KeySubject {
    /// The one that `key` is in.
    #[must_use]
    pub fn of(key: &Key) -> Self {
        match *key {
            Key::Vertex(vertex) | Key::VertexProperty(vertex, _) | Key::VertexRecord(vertex) => {
                Self::Vertices(vertex.group())
            }
            Key::Members(group) | Key::Vertices(group) => Self::Vertices(group),
            Key::Edge(edge) | Key::EdgeMember(edge) | Key::EdgeProperty(edge, _) => {
                Self::Edges(edge.source.group(), edge.edge_type, Direction::Out)
            }
            Key::ListProperty(vertex, edge_type, _) => Self::Edges(vertex.group(), edge_type, Direction::Out),
            Key::Between(source, edge_type, _) => Self::Edges(source.group(), edge_type, Direction::Out),
            Key::List(vertex, edge_type, side) => Self::Edges(vertex.group(), edge_type, side),
            Key::Edges(group, edge_type, side) => Self::Edges(group, edge_type, side),
            Key::Adjacency(vertex) => Self::Adjacency(vertex.group()),
        }
    }

    /// The key of all that is in it; `None` if there is none.
    #[must_use]
    #[inline]
    pub fn whole(self) -> Option<Key> {
        match self {
            Self::Vertices(group) => Some(Key::Vertices(group)),
            Self::Edges(group, edge_type, side) => Some(Key::Edges(group, edge_type, side)),
            Self::Adjacency(_) => None,
        }
    }

    /// Whether one look tells that nothing in it changed after `since`.
    pub fn is_unchanged<E: Engine>(self, engine: &E, since: Timestamp) -> bool {
        self.whole().is_some_and(|whole| engine.newer(&whole, since) == ChangedSince::No)
    }
}
