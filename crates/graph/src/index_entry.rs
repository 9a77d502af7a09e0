//! Index entry: the item of an entry, and an entry that leaves an index, as an engine stores them.
//!
//! ```text
//! item    OFFSET  SIZE   FIELD (big-endian, so that bytes sort as items do)
//! vertex       0     4   vertex
//! edge         0     4   source
//!              4     2   edge type
//!              6     4   target
//!             10     2   discriminator
//! ```
//!
//! An index is on vertices or on edges, so that all items of one index have the same length.

use crate::id::{EdgeId, TypeId, VertexId};
use crate::value::order_bytes::value_bytes::ValueBytes;

/// Bytes of a vertex as an item.
pub const VERTEX_ITEM_BYTES: usize = 4;
/// Bytes of an edge as an item.
pub const EDGE_ITEM_BYTES: usize = 12;

/// The id of a vertex or of an edge: what an entry of an index finds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ItemId {
    /// A vertex.
    Vertex(VertexId),
    /// An edge.
    Edge(EdgeId),
}

impl ItemId {
    /// Appends the bytes of the item, which sort as items of its kind do.
    #[inline]
    pub fn put_order_bytes(&self, out: &mut Vec<u8>) {
        match self {
            Self::Vertex(vertex) => out.extend_from_slice(&vertex.0.to_be_bytes()),
            Self::Edge(edge) => {
                out.extend_from_slice(&edge.source.0.to_be_bytes());
                out.extend_from_slice(&edge.edge_type.0.to_be_bytes());
                out.extend_from_slice(&edge.target.0.to_be_bytes());
                out.extend_from_slice(&edge.discriminator.to_be_bytes());
            }
        }
    }

    /// The item of these bytes: a vertex if there are 4, an edge if there are 12.
    #[must_use]
    #[inline]
    pub fn from_order_bytes(bytes: &[u8]) -> Option<Self> {
        let vertex = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes).map(VertexId);
        let number = |at: usize| bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes);
        match bytes.len() {
            VERTEX_ITEM_BYTES => Some(Self::Vertex(vertex(0)?)),
            EDGE_ITEM_BYTES => {
                let (source, edge_type, target) = (vertex(0)?, TypeId(number(4)?), vertex(6)?);
                Some(Self::Edge(EdgeId { source, edge_type, target, discriminator: number(10)? }))
            }
            _ => None,
        }
    }
}

/// An entry that a commit takes out of an index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeavingEntry {
    /// The number that the engine gave the index.
    pub subject: u32,
    /// The place of the value that the item had.
    pub value: ValueBytes,
    /// The item.
    pub item: ItemId,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_item() -> impl Strategy<Value = ItemId> {
        let few = || prop_oneof![0..3_u32, any::<u32>()];
        let edge = (few(), 0..300_u16, few(), 0..300_u16);
        (few(), proptest::option::of(edge)).prop_map(|(vertex, edge)| match edge {
            None => ItemId::Vertex(VertexId(vertex)),
            Some((source, edge_type, target, discriminator)) => ItemId::Edge(EdgeId {
                source: VertexId(source),
                edge_type: TypeId(edge_type),
                target: VertexId(target),
                discriminator,
            }),
        })
    }

    proptest! {
        #[test]
        fn items_come_back_and_sort_as_their_bytes(left in any_item(), right in any_item()) {
            let bytes = |item: ItemId| {
                let mut bytes = Vec::new();
                item.put_order_bytes(&mut bytes);
                bytes
            };
            prop_assert_eq!(ItemId::from_order_bytes(&bytes(left)), Some(left));
            if bytes(left).len() == bytes(right).len() {
                prop_assert_eq!(bytes(left).cmp(&bytes(right)), left.cmp(&right));
            }
            prop_assert_eq!(ItemId::from_order_bytes(&bytes(left)[1..]), None);
        }
    }
}
