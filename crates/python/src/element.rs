//! Elements: results with labels and properties, for callers that want objects.

use evergraph::graph::id::KeyId;
use evergraph::gremlin::argument::IntoArgument;
use evergraph::query::gremlin::bindings::Bindings;
use evergraph::query::value::item::Owner;
use evergraph::query::value::tree::Tree;
use evergraph::{EdgeId, Item, Result, Value, VertexId};
use std::collections::HashMap;
use std::sync::Arc;

/// Collections inside collections, so deep at most: a tree is as deep as the longest path.
pub const DEPTH_MAX: usize = 500;

/// What is known of an element.
#[derive(Debug, Default)]
pub struct Known {
    /// Its label; of an edge the ends have theirs, and it its type.
    pub label: String,
    /// Its properties as queries give them, a value each, if they are wanted.
    pub properties: Vec<(KeyId, Value)>,
}

/// What is known of the elements within some results.
#[derive(Debug, Default)]
pub struct Elements {
    vertices: HashMap<VertexId, Known>,
    edges: HashMap<EdgeId, Known>,
}

impl Elements {
    /// What is known of the elements within `items`; `ask` runs a query where these came from.
    ///
    /// # Errors
    /// What `ask` says.
    pub fn of(
        items: &[Item],
        properties: bool,
        mut ask: impl FnMut(&'static str, Bindings) -> Result<Vec<Item>>,
    ) -> Result<Self> {
        let mut elements = Self::default();
        items.iter().for_each(|item| elements.find(item, 0));
        let vertices: Vec<Item> = elements.vertices.keys().copied().map(Item::Vertex).collect();
        let edges: Vec<Item> = elements.edges.keys().copied().map(Item::Edge).collect();
        let texts = if properties {
            [
                "g.V(all).project('e', 'l', 'p').by().by(T.label).by(__.properties().fold())",
                "g.E(all).project('e', 'l', 'p').by().by(T.label).by(__.properties().fold())",
            ]
        } else {
            ["g.V(all).project('e', 'l').by().by(T.label)", "g.E(all).project('e', 'l').by().by(T.label)"]
        };
        for (text, all) in texts.into_iter().zip([vertices, edges]) {
            if all.is_empty() {
                continue;
            }
            let mut bindings = Bindings::new();
            bindings.bind_argument("all".to_owned(), Item::List(all.into()).into_argument()?);
            for row in ask(text, bindings)? {
                elements.learn(&row);
            }
        }
        Ok(elements)
    }

    /// What is known of a vertex: nothing of one that is gone.
    #[must_use]
    pub fn vertex(&self, vertex: VertexId) -> Option<&Known> {
        self.vertices.get(&vertex)
    }

    /// What is known of an edge: nothing of one that is gone.
    #[must_use]
    pub fn edge(&self, edge: EdgeId) -> Option<&Known> {
        self.edges.get(&edge)
    }

    fn vertex_found(&mut self, vertex: VertexId) {
        self.vertices.entry(vertex).or_default();
    }

    /// Both ends of it are elements, too.
    fn edge_found(&mut self, edge: EdgeId) {
        self.edges.entry(edge).or_default();
        self.vertex_found(edge.source);
        self.vertex_found(edge.target);
    }

    /// What is deeper than results may be is left out: whoever makes objects of it refuses it.
    fn find(&mut self, item: &Item, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        let mut below = |item: &Item| self.find(item, depth + 1);
        match item {
            Item::Vertex(vertex) => self.vertex_found(*vertex),
            Item::Edge(edge) => self.edge_found(*edge),
            Item::Property(property) => match &property.owner {
                Owner::Vertex(vertex) => self.vertex_found(*vertex),
                Owner::Edge(edge) => self.edge_found(*edge),
                Owner::Property(of) => below(&Item::Property(Arc::clone(of))),
            },
            Item::List(items) => items.iter().for_each(below),
            Item::Set(items) => items.iter().for_each(below),
            Item::Path(path) => path.items().for_each(below),
            Item::Map(map) => map.entries().iter().flat_map(|(key, value)| [key, value]).for_each(below),
            Item::Entry(entry) => {
                below(&entry.0);
                below(&entry.1);
            }
            Item::Tree(tree) => self.find_in_tree(tree, depth),
            Item::Graph(graph) => {
                graph.vertices().for_each(|vertex| self.vertex_found(vertex));
                graph.edges().for_each(|edge| self.edge_found(edge));
            }
            Item::Null | Item::Value(_) | Item::Token(_) | Item::Direction(_) => {}
        }
    }

    fn find_in_tree(&mut self, tree: &Tree, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        for (item, below) in tree.branches() {
            self.find(item, depth + 1);
            self.find_in_tree(below, depth + 1);
        }
    }

    /// Takes a row of one of the queries above.
    fn learn(&mut self, row: &Item) {
        let Item::Map(map) = row else { return };
        let known = match map.get_text("e") {
            Some(Item::Vertex(vertex)) => self.vertices.get_mut(vertex),
            Some(Item::Edge(edge)) => self.edges.get_mut(edge),
            _ => None,
        };
        let Some(known) = known else { return };
        if let Some(label) = map.get_text("l").and_then(Item::as_str) {
            known.label = label.to_owned();
        }
        if let Some(Item::List(properties)) = map.get_text("p") {
            let properties = properties.iter().filter_map(|item| match item {
                Item::Property(property) => Some((property.key, property.value.clone())),
                _ => None,
            });
            known.properties = properties.collect();
        }
    }
}
