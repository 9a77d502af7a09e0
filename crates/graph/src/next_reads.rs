//! Next reads: what a reader announces before it reads items one by one.

use crate::id::{Direction, EdgeId, KeyId, TypeId, VertexId};
use crate::index::IndexId;
use crate::value::Value;

/// What is read next of several items, one after the other: see [`GraphView::ahead`](crate::view::GraphView::ahead).
#[derive(Clone, Copy, Debug)]
pub enum NextReads<'a> {
    /// The label of each vertex.
    Labels(&'a [VertexId]),
    /// The edge types of the groups of these vertices, on each side of the direction.
    EdgeTypes(&'a [VertexId], Direction),
    /// All edges of each vertex, on each side of the direction.
    EdgesOf(&'a [VertexId], Direction),
    /// The edges of one type of each vertex, on each side of the direction.
    EdgesOfType(&'a [VertexId], TypeId, Direction),
    /// How many edges each vertex has on each side of the direction: of one type, or of every type (`None`).
    Degrees(&'a [VertexId], Option<TypeId>, Direction),
    /// One property of each vertex.
    VertexProperties(&'a [VertexId], KeyId),
    /// All properties of each vertex.
    VertexPropertyMaps(&'a [VertexId]),
    /// Whether each edge is there.
    Edges(&'a [EdgeId]),
    /// One property of each edge.
    EdgeProperties(&'a [EdgeId], KeyId),
    /// All properties of each edge.
    EdgePropertyMaps(&'a [EdgeId]),
    /// The first items with each value by an index, in the order of the values. These have the type of the property.
    ItemsOfValues(IndexId, &'a [Value]),
}
