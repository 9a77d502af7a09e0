//! Element names: a result with the names that people know instead of numbers.
//!
//! A vertex is known by the unique key of its label, an edge by its ends, a property by its key. What a query gave and
//! deleted has its number alone.

use crate::command::query::printed_item::{EdgeName, PrintedItem, VertexName};
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, VertexId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use evergraph_query::value::element_id::edge_id_text;
use evergraph_query::value::item::{Item, Token};
use evergraph_query::value::tree::Tree;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The names of one moment.
pub struct ElementNames<'v> {
    view: &'v dyn GraphView,
    catalogue: Arc<Catalogue>,
    keys: BTreeMap<LabelId, KeyId>,
}

impl<'v> ElementNames<'v> {
    /// The names as `view` has them.
    #[must_use]
    pub fn new(view: &'v dyn GraphView) -> Self {
        let catalogue = view.catalogue();
        let labels = catalogue.labels().map(|(label, _)| label);
        let keys = labels.filter_map(|label| Some((label, catalogue.vertex_key(label)?))).collect();
        Self { view, catalogue, keys }
    }

    /// `item` by its names.
    ///
    /// # Errors
    /// What reading may meet.
    pub fn shown(&self, item: &Item) -> Result<PrintedItem> {
        Ok(match item {
            Item::Null => PrintedItem::Null,
            Item::Value(value) => stored(value),
            Item::Vertex(vertex) => PrintedItem::Vertex(self.vertex(*vertex)?),
            Item::Edge(edge) => self.edge(*edge)?,
            Item::Property(property) => PrintedItem::Property {
                key: self.catalogue.key_name(property.key),
                value: Box::new(stored(&property.value)),
            },
            Item::List(items) => PrintedItem::List(self.all(items.iter())?),
            Item::Set(items) => PrintedItem::Set(self.all(items.iter())?),
            Item::Map(map) => {
                PrintedItem::Map(map.entries().iter().map(|entry| self.entry(entry)).collect::<Result<_>>()?)
            }
            Item::Entry(entry) => PrintedItem::Map(vec![self.entry(entry)?]),
            Item::Path(path) => PrintedItem::List(self.all(path.items())?),
            Item::Tree(tree) => self.tree(tree)?,
            Item::Graph(graph) => {
                let vertices = graph.vertices().map(|vertex| Ok(PrintedItem::Vertex(self.vertex(vertex)?)));
                let edges = graph.edges().map(|edge| self.edge(edge));
                PrintedItem::Map(vec![
                    (PrintedItem::Word("vertices"), PrintedItem::List(vertices.collect::<Result<_>>()?)),
                    (PrintedItem::Word("edges"), PrintedItem::List(edges.collect::<Result<_>>()?)),
                ])
            }
            Item::Token(token) => PrintedItem::Word(match token {
                Token::Id => "T.id",
                Token::Label => "T.label",
                Token::Key => "T.key",
                Token::Value => "T.value",
            }),
            Item::Direction(direction) => PrintedItem::Word(match direction {
                Direction::Out => "OUT",
                Direction::In => "IN",
                Direction::Both => "BOTH",
            }),
        })
    }

    fn all<'i>(&self, items: impl Iterator<Item = &'i Item>) -> Result<Vec<PrintedItem>> {
        items.map(|item| self.shown(item)).collect()
    }

    fn entry(&self, (key, value): &(Item, Item)) -> Result<(PrintedItem, PrintedItem)> {
        Ok((self.shown(key)?, self.shown(value)?))
    }

    fn tree(&self, tree: &Tree) -> Result<PrintedItem> {
        let branch = |(item, below): &(Item, Tree)| Ok((self.shown(item)?, self.tree(below)?));
        Ok(PrintedItem::Map(tree.branches().iter().map(branch).collect::<Result<_>>()?))
    }

    fn vertex(&self, vertex: VertexId) -> Result<VertexName> {
        let mut labels = Vec::with_capacity(1);
        self.view.labels(&[vertex], &mut labels)?;
        let Some(label) = labels[0] else { return Ok(VertexName { vertex, label: None, key: None }) };
        let key = match self.keys.get(&label) {
            Some(key) => {
                let value_type = self.catalogue.property_type(Owner::Label(label), *key);
                let mut column = Column::new(value_type.unwrap_or(ValueType::Any));
                self.view.vertex_properties(&[vertex], *key, &mut column)?;
                column.get(0)
            }
            None => None,
        };
        let key = key.map(|value| Box::new(stored(&value)));
        Ok(VertexName { vertex, label: Some(self.catalogue.label_name(label)), key })
    }

    fn edge(&self, edge: EdgeId) -> Result<PrintedItem> {
        Ok(PrintedItem::Edge(Box::new(EdgeName {
            edge: edge_id_text(edge),
            edge_type: self.catalogue.edge_type_name(edge.edge_type),
            source: self.vertex(edge.source)?,
            target: self.vertex(edge.target)?,
        })))
    }
}

/// A value as properties hold it.
fn stored(value: &Value) -> PrintedItem {
    let all = |values: &[Value]| values.iter().map(stored).collect();
    match value {
        Value::List(list) => PrintedItem::List(all(list.as_slice())),
        Value::Set(set) => PrintedItem::Set(all(set.as_slice())),
        Value::Map(map) => {
            PrintedItem::Map(map.as_slice().iter().map(|(key, value)| (stored(key), stored(value))).collect())
        }
        value => PrintedItem::Value(value.clone()),
    }
}
