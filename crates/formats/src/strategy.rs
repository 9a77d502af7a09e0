//! Random vertices and edges for property tests: few, with values of all kinds.

use std::collections::BTreeMap;

use proptest::prelude::*;

use evergraph_graph::value::Value;
use evergraph_graph::value::strategy::any_value;

use crate::element::{Edge, Vertex, VertexProperty};

fn properties() -> impl Strategy<Value = Vec<(String, Value)>> {
    proptest::collection::btree_map("[a-c]|.{1,4}", any_value(), 0..3)
        .prop_map(|properties| properties.into_iter().collect())
}

fn vertex_property() -> impl Strategy<Value = VertexProperty> {
    (proptest::option::of(any_value()), any_value(), properties())
        .prop_map(|(id, value, properties)| VertexProperty { id, value, properties })
}

/// A few vertices with different ids, labels and properties of all kinds, and edges between them.
pub fn any_graph() -> impl Strategy<Value = (Vec<Vertex>, Vec<Edge>)> {
    let labels = proptest::collection::vec(".{0,4}", 0..3);
    let keys = proptest::collection::btree_map(
        "[a-c]|.{1,4}",
        proptest::collection::vec(vertex_property(), 1..3),
        0..3,
    );
    let vertices = proptest::collection::btree_map(any_value(), (labels, keys), 1..5);
    let vertices = vertices.prop_map(|vertices| {
        let vertex = |(id, (labels, properties)): (Value, (Vec<String>, BTreeMap<_, _>))| Vertex {
            id,
            labels,
            properties: properties.into_iter().collect(),
        };
        vertices.into_iter().map(vertex).collect::<Vec<_>>()
    });
    vertices.prop_flat_map(|vertices| {
        let end =
            proptest::sample::select(vertices.iter().map(|vertex| vertex.id.clone()).collect::<Vec<_>>());
        let edge = (proptest::option::of(any_value()), "[a-b]|.{0,3}", end.clone(), end, properties());
        let edge = edge.prop_map(|(id, edge_type, source, target, properties)| Edge {
            id,
            edge_type,
            source,
            target,
            properties,
        });
        (Just(vertices), proptest::collection::vec(edge, 0..6))
    })
}
