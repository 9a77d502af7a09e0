//! Describing: what a conflict is about, in the user's names. Built on the way to an error only.

use crate::engine::{Key, View};
use crate::index::item::Item;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::id::{EdgeId, VertexId};

/// "Person v7".
pub fn vertex<V: View>(view: &V, catalogue: &Catalogue, vertex: VertexId) -> String {
    match view.group_label(vertex.group()) {
        Some(label) => format!("{} {vertex}", catalogue.label_name(label)),
        None => format!("vertex {vertex}"),
    }
}

/// `edge v7-[KNOWS]->v9`, with the discriminator unless it is zero.
#[must_use]
pub fn edge(catalogue: &Catalogue, edge: EdgeId) -> String {
    format!("edge {}", edge.name(catalogue))
}

/// What a key is about: "property `age` of Person v7".
pub fn key<V: View>(view: &V, catalogue: &Catalogue, key: &Key) -> String {
    match key {
        Key::Vertex(id) | Key::VertexRecord(id) => vertex(view, catalogue, *id),
        Key::VertexProperty(id, key) => {
            let name = catalogue.key_name(*key);
            format!("property `{name}` of {}", vertex(view, catalogue, *id))
        }
        Key::Adjacency(id) => format!("the edges of {}", vertex(view, catalogue, *id)),
        Key::Edge(id) => edge(catalogue, *id),
        Key::EdgeProperty(id, key) => {
            let property = catalogue.property_name(Owner::EdgeType(id.edge_type), *key);
            format!("property {property} of {}", edge(catalogue, *id))
        }
    }
}
