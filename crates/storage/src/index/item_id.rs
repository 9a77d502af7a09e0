//! Item id: the id of a vertex or of an edge, as indexes of both name it.

use evergraph_graph::id::{EdgeId, VertexId};
use std::fmt;

/// The id of a vertex or of an edge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ItemId {
    /// Of a vertex.
    Vertex(VertexId),
    /// Of an edge.
    Edge(EdgeId),
}

/// An id of the kind that one index finds: those of a label find a [`VertexId`], those of an edge type an [`EdgeId`].
pub trait IndexItem: Copy + Ord + fmt::Debug + Send + Sync + 'static {
    /// The same id beside those of the other kind.
    fn item_id(self) -> ItemId;

    /// `id`, if it is of this kind.
    fn from_item_id(id: ItemId) -> Option<Self>;
}

impl IndexItem for VertexId {
    #[inline]
    fn item_id(self) -> ItemId {
        ItemId::Vertex(self)
    }

    #[inline]
    fn from_item_id(id: ItemId) -> Option<Self> {
        match id {
            ItemId::Vertex(vertex) => Some(vertex),
            ItemId::Edge(_) => None,
        }
    }
}

impl IndexItem for EdgeId {
    #[inline]
    fn item_id(self) -> ItemId {
        ItemId::Edge(self)
    }

    #[inline]
    fn from_item_id(id: ItemId) -> Option<Self> {
        match id {
            ItemId::Edge(edge) => Some(edge),
            ItemId::Vertex(_) => None,
        }
    }
}
