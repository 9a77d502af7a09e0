//! `ElementReader`: labels and properties of the elements in results, which items do not carry themselves.

use std::sync::Arc;

use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::Map;

/// Reads labels and properties of elements from the graph that the results came from.
///
/// An encoder asks for an element once for each time that it occurs in a result, so an implementation looks up what a
/// batch of results needs by column beforehand.
///
/// # Errors
/// Every method returns the errors of reading the graph. An element that no longer exists is no error.
pub trait ElementReader {
    /// The label of `vertex`; `None` if it no longer exists.
    fn vertex_label(&self, vertex: VertexId) -> Result<Option<Arc<str>>>;

    /// The name of an edge type.
    fn edge_type_name(&self, edge_type: TypeId) -> Arc<str>;

    /// The name of a property key.
    fn key_name(&self, key: KeyId) -> Arc<str>;

    /// Calls `visit` for each property of `vertex`; those of one key come one after the other.
    fn vertex_properties(&self, vertex: VertexId, visit: &mut dyn FnMut(PropertyView<'_>)) -> Result<()>;

    /// Calls `visit` for each property of `edge`.
    fn edge_properties(&self, edge: EdgeId, visit: &mut dyn FnMut(PropertyView<'_>)) -> Result<()>;
}

/// A property of an element.
#[derive(Clone, Copy, Debug)]
pub struct PropertyView<'a> {
    /// Its key.
    pub key: KeyId,
    /// Its value: of a key with several values, one of them.
    pub value: &'a Value,
    /// Its position among equal values that the vertex has of the key, from 0; as in
    /// [`Property`](evergraph_query::value::item::Property). 0 for properties of edges.
    pub nth: u32,
    /// Its own properties: values by name. `None` if it has none.
    pub properties: Option<&'a Map>,
}
