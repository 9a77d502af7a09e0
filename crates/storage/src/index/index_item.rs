//! Index item: a vertex id or an edge id, as the indexes of one kind of item find it.

use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::index_entry::ItemId;
use std::fmt;

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
