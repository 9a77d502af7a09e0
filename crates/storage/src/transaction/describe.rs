//! Descriptions: what a conflict is about, in the user's names; built only for an error.

use crate::engine::Key;
use crate::index::item::Item;
use crate::view::View;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::id::{EdgeId, VertexId};

/// "Person v7".
pub fn vertex<V: View>(view: &V, catalogue: &Catalogue, vertex: VertexId) -> String {
    // A group that cannot be read has no name here: the error is about something else.
    match view.group_label(vertex.group()).ok().flatten() {
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
        Key::Edge(id) | Key::EdgeMember(id) => edge(catalogue, *id),
        Key::EdgeProperty(id, key) => {
            let property = catalogue.property_name(Owner::EdgeType(id.edge_type), *key);
            format!("property {property} of {}", edge(catalogue, *id))
        }
        Key::Members(group) | Key::Vertices(group) => match view.group_label(*group).ok().flatten() {
            Some(label) => format!("the vertices of {}", catalogue.label_name(label)),
            None => "the vertices of a label".to_owned(),
        },
        Key::List(id, edge_type, _) => {
            format!("the {} edges of {}", catalogue.edge_type_name(*edge_type), vertex(view, catalogue, *id))
        }
        Key::ListProperty(id, edge_type, key) => {
            let property = catalogue.property_name(Owner::EdgeType(*edge_type), *key);
            format!("property {property} of the edges of {}", vertex(view, catalogue, *id))
        }
        Key::Between(source, edge_type, target) => {
            let name = catalogue.edge_type_name(*edge_type);
            format!("the {name} edges from {} to {target}", vertex(view, catalogue, *source))
        }
        Key::Edges(_, edge_type, _) => format!("the {} edges", catalogue.edge_type_name(*edge_type)),
    }
}
