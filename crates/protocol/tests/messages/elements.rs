//! Elements of a small graph, for results to contain.

use std::sync::Arc;

use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::Map;
use evergraph_protocol::result::element_reader::{ElementReader, PropertyView};

/// Vertices 0 to 2, and edges; every other vertex no longer exists, and 9 cannot be read.
#[derive(Debug, Default)]
pub struct Elements;

/// A property of an element.
pub struct ElementProperty {
    pub key: KeyId,
    pub value: Value,
    pub nth: u32,
    pub properties: Option<Map>,
}

fn property(key: u16, value: impl Into<Value>, nth: u32) -> ElementProperty {
    ElementProperty { key: KeyId(key), value: value.into(), nth, properties: None }
}

/// The properties of a vertex. Key 1 has several values, two of which are equal.
pub fn properties_of_vertex(vertex: VertexId) -> Vec<ElementProperty> {
    let since = Map::new(vec![("since".into(), 2024_i32.into()), ("source".into(), "census".into())]);
    let known = Some(since.expect("two strings aren't deep"));
    match vertex.0 {
        1 => vec![property(0, "ann", 0)],
        2 => vec![
            ElementProperty { properties: known, ..property(0, "bob \"b\"", 0) },
            property(1, 1.5, 0),
            property(1, 2_i64, 0),
            property(1, 1.5, 1),
        ],
        _ => Vec::new(),
    }
}

/// The properties of an edge.
pub fn properties_of_edge(edge: EdgeId) -> Vec<ElementProperty> {
    if edge.edge_type.0 == 0 { Vec::new() } else { vec![property(0, "met", 0), property(2, true, 0)] }
}

/// The name of a key.
pub fn key_name(key: KeyId) -> &'static str {
    ["name", "weight", "trusted"].get(usize::from(key.0)).copied().unwrap_or("other")
}

/// The name of an edge type.
pub fn type_name(edge_type: TypeId) -> &'static str {
    if edge_type.0 == 0 { "knows" } else { "likes" }
}

/// The label of a vertex.
pub fn label(vertex: VertexId) -> Option<&'static str> {
    ["place", "person", "person"].get(vertex.0 as usize).copied()
}

impl ElementReader for Elements {
    fn vertex_label(&self, vertex: VertexId) -> Result<Option<Arc<str>>> {
        if vertex.0 == 9 {
            return Err(Error::conflict("vertex 9 was changed"));
        }
        Ok(label(vertex).map(Arc::from))
    }

    fn edge_type_name(&self, edge_type: TypeId) -> Arc<str> {
        type_name(edge_type).into()
    }

    fn key_name(&self, key: KeyId) -> Arc<str> {
        key_name(key).into()
    }

    fn vertex_properties(&self, vertex: VertexId, visit: &mut dyn FnMut(PropertyView<'_>)) -> Result<()> {
        visit_all(properties_of_vertex(vertex), visit);
        Ok(())
    }

    fn edge_properties(&self, edge: EdgeId, visit: &mut dyn FnMut(PropertyView<'_>)) -> Result<()> {
        visit_all(properties_of_edge(edge), visit);
        Ok(())
    }
}

fn visit_all(properties: Vec<ElementProperty>, visit: &mut dyn FnMut(PropertyView<'_>)) {
    for ElementProperty { key, value, nth, properties } in &properties {
        visit(PropertyView { key: *key, value, nth: *nth, properties: properties.as_ref() });
    }
}
