//! Spelled: results of two databases with one graph, each with ids of its own, in the same words.
//!
//! Vertices have their numbers in the graph, edges the value of their property `e`. What a step gathered in any order is
//! sorted: entries and keys of maps, sets, lists that are values of maps.

use evergraph::graph::id::EdgeId;
use evergraph::query::value::element_id::edge_of_text;
use evergraph::query::value::item::{Item, Token};
use evergraph::{GraphView as _, ReadByName as _, Snapshot, Value, VertexId};
use std::collections::HashMap;

/// The words for one database.
pub struct Speller {
    vertices: HashMap<VertexId, usize>,
    /// Before anything was changed: the graph's elements and names are there.
    graph: Snapshot,
}

impl Speller {
    /// For the graph of a snapshot, whose vertices have these ids.
    pub fn new(ids: &[VertexId], graph: Snapshot) -> Self {
        Self { vertices: ids.iter().enumerate().map(|(number, id)| (*id, number)).collect(), graph }
    }

    /// The words of a result.
    pub fn spell(&self, item: &Item) -> String {
        match item {
            Item::Null => "null".to_owned(),
            Item::Value(value) => format!("{value:?}"),
            Item::Vertex(vertex) => self.vertex(*vertex),
            Item::Edge(edge) => self.edge(*edge),
            Item::Property(property) => {
                let key = self.graph.catalogue().key_name(property.key).to_owned();
                format!("p({key}, {:?})", property.value)
            }
            Item::List(items) => format!("[{}]", self.all(items.iter()).join(", ")),
            Item::Set(items) => format!("set{{{}}}", sorted(self.all(items.iter()))),
            Item::Path(path) => format!("path[{}]", self.all(path.items()).join(", ")),
            Item::Map(map) => {
                let entries = map.entries().iter().map(|(key, value)| self.entry(key, value));
                format!("{{{}}}", sorted(entries.collect()))
            }
            Item::Entry(entry) => self.entry(&entry.0, &entry.1),
            other => format!("{other:?}"),
        }
    }

    fn all<'i>(&self, items: impl Iterator<Item = &'i Item>) -> Vec<String> {
        items.map(|item| self.spell(item)).collect()
    }

    fn vertex(&self, vertex: VertexId) -> String {
        self.vertices.get(&vertex).map_or_else(|| format!("v? {vertex}"), |number| format!("v{number}"))
    }

    fn edge(&self, edge: EdgeId) -> String {
        match self.graph.get_edge(edge, "e") {
            Ok(Some(number)) => format!("e{number}"),
            other => format!("e? {edge} {other:?}"),
        }
    }

    fn entry(&self, key: &Item, value: &Item) -> String {
        let value = match (key, value) {
            (Item::Token(Token::Id), Item::Value(id)) => self.id(id),
            (_, Item::List(items)) => format!("[{}]", sorted(self.all(items.iter()))),
            _ => self.spell(value),
        };
        let key = match key {
            // One that was gathered, too.
            Item::List(items) => sorted(self.all(items.iter())),
            _ => self.spell(key),
        };
        format!("({key}: {value})")
    }

    /// The element of an id.
    fn id(&self, id: &Value) -> String {
        if let Some(edge) = id.as_str().and_then(edge_of_text) {
            return self.edge(edge);
        }
        let vertex = id.as_i64().and_then(|id| u32::try_from(id).ok());
        vertex.map_or_else(|| format!("id? {id:?}"), |id| self.vertex(VertexId(id)))
    }
}

fn sorted(mut words: Vec<String>) -> String {
    words.sort();
    words.join(", ")
}
