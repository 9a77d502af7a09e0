//! What a query that writes asks of a transaction: as [`Transaction`], without the end of it, and as an object.

use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::transaction::Transaction;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;

/// The writes of a transaction that the caller begins and ends. Each is as [`Transaction`] says.
#[expect(clippy::missing_errors_doc, reason = "each is as Transaction says")]
pub trait Writer: Send {
    /// The graph with the writes so far.
    fn view(&self) -> &dyn GraphView;
    /// The label called `name`.
    fn label(&mut self, name: &str) -> Result<LabelId>;
    /// The edge type called `name`.
    fn edge_type(&mut self, name: &str) -> Result<TypeId>;
    /// The property key called `name`.
    fn key(&mut self, name: &str) -> Result<KeyId>;
    /// Declares the type of a vertex property.
    fn declare_vertex_property(&mut self, label: LabelId, key: KeyId, value_type: ValueType) -> Result<()>;
    /// Adds a vertex.
    fn add_vertex(&mut self, label: LabelId, properties: &[(KeyId, Value)]) -> Result<VertexId>;
    /// Deletes a vertex with its edges.
    fn delete_vertex(&mut self, vertex: VertexId) -> Result<()>;
    /// Sets or removes a property.
    fn set_vertex_property(&mut self, vertex: VertexId, key: KeyId, value: Option<Value>) -> Result<()>;
    /// Adds an edge.
    fn add_edge(
        &mut self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        properties: &[(KeyId, Value)],
    ) -> Result<EdgeId>;
    /// Deletes an edge.
    fn delete_edge(&mut self, edge: EdgeId) -> Result<()>;
    /// Sets or removes a property.
    fn set_edge_property(&mut self, edge: EdgeId, key: KeyId, value: Option<Value>) -> Result<()>;
}

/// A writer that a query owns while it runs. Its drop decides what becomes of the transaction behind it.
pub trait WriterLease: Send {
    /// The writer, for reading.
    fn writer(&self) -> &dyn Writer;
    /// The writer.
    fn writer_mut(&mut self) -> &mut dyn Writer;
}

macro_rules! as_the_transaction {
    ($(fn $name:ident(&mut self $(, $argument:ident: $type:ty)*) -> $answer:ty;)*) => {$(
        fn $name(&mut self $(, $argument: $type)*) -> $answer {
            Transaction::$name(self $(, $argument)*)
        }
    )*};
}

impl<T: Transaction + GraphView> Writer for T {
    fn view(&self) -> &dyn GraphView {
        self
    }

    as_the_transaction! {
        fn label(&mut self, name: &str) -> Result<LabelId>;
        fn edge_type(&mut self, name: &str) -> Result<TypeId>;
        fn key(&mut self, name: &str) -> Result<KeyId>;
        fn declare_vertex_property(&mut self, label: LabelId, key: KeyId, value_type: ValueType) -> Result<()>;
        fn add_vertex(&mut self, label: LabelId, properties: &[(KeyId, Value)]) -> Result<VertexId>;
        fn delete_vertex(&mut self, vertex: VertexId) -> Result<()>;
        fn set_vertex_property(&mut self, vertex: VertexId, key: KeyId, value: Option<Value>) -> Result<()>;
        fn add_edge(&mut self, source: VertexId, edge_type: TypeId, target: VertexId, properties: &[(KeyId, Value)]) -> Result<EdgeId>;
        fn delete_edge(&mut self, edge: EdgeId) -> Result<()>;
        fn set_edge_property(&mut self, edge: EdgeId, key: KeyId, value: Option<Value>) -> Result<()>;
    }
}
