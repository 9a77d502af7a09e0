//! Writes of a query: each is counted before it is made, because a transaction keeps all of them until it ends.

use crate::execute::limits::Charge;
use crate::write::Writer;
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;

/// What a transaction keeps of a write beside its values, about: the change itself, look-ups of own writes, its frame.
const WRITE_BYTES: usize = 256;
/// What it keeps of each property of a write beside its value.
const PROPERTY_BYTES: usize = 64;

/// The graph to write, within the limits of the query. Each write is as [`Writer`] says, or an error `limit`.
pub struct Writing<'c, 'a> {
    writer: &'c mut dyn Writer,
    charge: &'c mut Charge<'a>,
}

impl<'c, 'a> Writing<'c, 'a> {
    /// Writes by `writer`, counted by `charge`.
    #[must_use]
    pub fn new(writer: &'c mut dyn Writer, charge: &'c mut Charge<'a>) -> Self {
        Self { writer, charge }
    }

    /// Counts one write of `values`, to the end of the query.
    fn count<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) -> Result<()> {
        let property = |value: &Value| PROPERTY_BYTES + 2 * (size_of::<Value>() + value.heap_bytes());
        self.charge.check()?;
        self.charge.hold(WRITE_BYTES + values.into_iter().map(property).sum::<usize>())
    }
}

impl Writer for Writing<'_, '_> {
    fn view(&self) -> &dyn GraphView {
        self.writer.view()
    }

    fn label(&mut self, name: &str) -> Result<LabelId> {
        self.writer.label(name)
    }

    fn edge_type(&mut self, name: &str) -> Result<TypeId> {
        self.writer.edge_type(name)
    }

    fn key(&mut self, name: &str) -> Result<KeyId> {
        self.writer.key(name)
    }

    fn declare_vertex_property(&mut self, label: LabelId, key: KeyId, value_type: ValueType) -> Result<()> {
        self.writer.declare_vertex_property(label, key, value_type)
    }

    fn add_vertex(&mut self, label: LabelId, properties: &[(KeyId, Value)]) -> Result<VertexId> {
        self.count(properties.iter().map(|(_, value)| value))?;
        self.writer.add_vertex(label, properties)
    }

    fn delete_vertex(&mut self, vertex: VertexId) -> Result<()> {
        self.count([])?;
        self.writer.delete_vertex(vertex)
    }

    fn set_vertex_property(&mut self, vertex: VertexId, key: KeyId, value: Option<Value>) -> Result<()> {
        self.count(&value)?;
        self.writer.set_vertex_property(vertex, key, value)
    }

    fn add_edge(
        &mut self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        properties: &[(KeyId, Value)],
    ) -> Result<EdgeId> {
        self.count(properties.iter().map(|(_, value)| value))?;
        self.writer.add_edge(source, edge_type, target, properties)
    }

    fn delete_edge(&mut self, edge: EdgeId) -> Result<()> {
        self.count([])?;
        self.writer.delete_edge(edge)
    }

    fn set_edge_property(&mut self, edge: EdgeId, key: KeyId, value: Option<Value>) -> Result<()> {
        self.count(&value)?;
        self.writer.set_edge_property(edge, key, value)
    }
}
