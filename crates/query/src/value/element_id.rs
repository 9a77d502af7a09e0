//! Ids of elements as users see them: the number of a vertex, the text of an edge.

use crate::value::item::Item;
use evergraph_graph::id::{EdgeId, TypeId, VertexId};

/// The id of an edge as users see it: its source, type, target and discriminator, `"17-0-4-0"`.
#[must_use]
#[inline]
pub fn edge_id_text(edge: EdgeId) -> String {
    format!("{}-{}-{}-{}", edge.source.0, edge.edge_type.0, edge.target.0, edge.discriminator)
}

/// The edge that [`edge_id_text`] wrote so.
#[must_use]
pub fn edge_of_text(text: &str) -> Option<EdgeId> {
    let mut parts = text.split('-');
    let edge = EdgeId {
        source: VertexId(parts.next()?.parse().ok()?),
        edge_type: TypeId(parts.next()?.parse().ok()?),
        target: VertexId(parts.next()?.parse().ok()?),
        discriminator: parts.next()?.parse().ok()?,
    };
    // One edge has one name: no signs, no zeros in front, nothing behind.
    (parts.next().is_none() && edge_id_text(edge) == text).then_some(edge)
}

/// The id of an element as users see it: a vertex' number, an edge's text.
#[must_use]
pub fn element_id(item: &Item) -> Option<Item> {
    match item {
        Item::Vertex(vertex) => Some(Item::from(i64::from(vertex.0))),
        Item::Edge(edge) => Some(Item::from(edge_id_text(*edge))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_text_of_an_edge_names_it(source: u32, edge_type: u16, target: u32, discriminator: u16) {
            let edge = EdgeId {
                source: VertexId(source),
                edge_type: TypeId(edge_type),
                target: VertexId(target),
                discriminator,
            };
            prop_assert_eq!(edge_of_text(&edge_id_text(edge)), Some(edge));
        }
    }

    #[test]
    fn other_texts_name_no_edge() {
        for text in
            ["", "1", "1-2-3", "1-2-3-4-5", "01-2-3-4", "+1-2-3-4", "1-2-3-65536", "1-2-3-", "a-b-c-d"]
        {
            assert_eq!(edge_of_text(text), None, "{text}");
        }
    }
}
