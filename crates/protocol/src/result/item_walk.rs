//! Item walk: writes an item with the elements in it, in any format, within limits of depth and size.
//!
//! Items share what they contain: a short query can make an item whose text would fill any memory. So the size is
//! compared with its limit at every part that is written.

use std::sync::Arc;

use evergraph_graph::id::{Direction, EdgeId, KeyId, VertexId};
use evergraph_query::stack::deeper;
use evergraph_query::value::item::{Item, Owner, Property, Token};
use evergraph_query::value::path::Path;
use evergraph_query::value::subgraph::Subgraph;
use evergraph_query::value::tree::Tree;

use crate::error::EncodeError;
use crate::request::operation::MaterializeProperties;
use crate::result::element_reader::{ElementReader, PropertyView};
use crate::result::property_id::write_property_id;
use crate::result::result_writer::{
    Collection, EdgeView, ElementContext, EndView, ResultWriter, VertexPropertyView, Word,
};

/// Collections, paths and levels of trees around a value. Items are nested 256 deep, and a value in one 128 more.
pub(crate) const DEPTH_MAX: usize = 512;

/// The labels of elements that no longer exist, as TinkerPop names those without a label.
const VERTEX_LABEL: &str = "vertex";

/// Writes items.
pub(crate) struct ItemWalk<'a, W, E: ?Sized> {
    pub(crate) writer: &'a mut W,
    pub(crate) elements: &'a E,
    pub(crate) properties: MaterializeProperties,
    /// Bytes that the writer may have in all.
    pub(crate) size_max: usize,
    /// Bytes that one result may have, for the error.
    pub(crate) result_bytes_max: usize,
}

impl<W: ResultWriter, E: ElementReader + ?Sized> ItemWalk<'_, W, E> {
    /// Writes `item`.
    ///
    /// # Errors
    /// If it passes a limit or the format has no form for a part of it, and errors of reading elements. A part of the
    /// item may be written then.
    pub(crate) fn item(&mut self, item: &Item, depth: usize) -> Result<(), EncodeError> {
        self.check(depth)?;
        match item {
            Item::Null => self.writer.null(),
            Item::Value(value) => self.writer.value(value)?,
            Item::Vertex(vertex) => self.vertex(*vertex, ElementContext::Value)?,
            Item::Edge(edge) => self.edge(*edge, ElementContext::Value)?,
            Item::Property(property) => self.property(property)?,
            Item::List(items) => self.items(Collection::List, items, depth)?,
            Item::Set(items) => self.items(Collection::Set, items, depth)?,
            Item::Map(map) => self.entries(map.entries(), depth)?,
            Item::Entry(entry) => self.entries(std::slice::from_ref(&**entry), depth)?,
            Item::Path(path) => deeper(|| self.path(path, depth))?,
            Item::Tree(tree) => self.tree(tree, depth, true)?,
            Item::Graph(graph) => self.graph(graph)?,
            Item::Token(token) => self.writer.word(Word::T(match token {
                Token::Id => "id",
                Token::Label => "label",
                Token::Key => "key",
                Token::Value => "value",
            }))?,
            Item::Direction(direction) => self.writer.word(Word::Direction(match direction {
                Direction::Out => "OUT",
                Direction::In => "IN",
                Direction::Both => "BOTH",
            }))?,
        }
        self.check(depth)
    }

    fn check(&self, depth: usize) -> Result<(), EncodeError> {
        if depth > DEPTH_MAX {
            return Err(EncodeError::TooDeep { limit: DEPTH_MAX });
        }
        if self.writer.size() > self.size_max {
            return Err(EncodeError::TooLarge { limit: self.result_bytes_max });
        }
        Ok(())
    }

    fn items(&mut self, collection: Collection, items: &[Item], depth: usize) -> Result<(), EncodeError> {
        self.writer.begin(collection, items.len())?;
        deeper(|| items.iter().try_for_each(|item| self.item(item, depth + 1)))?;
        self.writer.end();
        Ok(())
    }

    fn entries(&mut self, entries: &[(Item, Item)], depth: usize) -> Result<(), EncodeError> {
        self.writer.begin(Collection::Map, entries.len())?;
        deeper(|| {
            entries.iter().try_for_each(|(key, value)| {
                self.item(key, depth + 1)?;
                self.item(value, depth + 1)
            })
        })?;
        self.writer.end();
        Ok(())
    }

    fn path(&mut self, path: &Path<Item>, depth: usize) -> Result<(), EncodeError> {
        let steps = path.steps();
        self.writer.begin_path();
        self.writer.begin(Collection::List, steps.len())?;
        for (_, labels) in steps {
            let labels = labels.as_deref().unwrap_or_default();
            self.writer.begin(Collection::Set, labels.len())?;
            labels.iter().try_for_each(|label| self.writer.text(label))?;
            self.writer.end();
            self.check(depth)?;
        }
        self.writer.end();
        self.writer.path_objects();
        self.writer.begin(Collection::List, steps.len())?;
        steps.iter().try_for_each(|(item, _)| self.item(item, depth + 1))?;
        self.writer.end();
        self.writer.end_path();
        Ok(())
    }

    fn tree(&mut self, tree: &Tree, depth: usize, is_root: bool) -> Result<(), EncodeError> {
        self.check(depth)?;
        self.writer.begin_tree(tree.branches().len(), is_root)?;
        for (item, below) in tree.branches() {
            self.writer.begin_branch();
            self.item(item, depth + 1)?;
            self.writer.branch_tree();
            deeper(|| self.tree(below, depth + 1, false))?;
            self.writer.end_branch();
        }
        self.writer.end_tree();
        Ok(())
    }

    fn graph(&mut self, graph: &Subgraph) -> Result<(), EncodeError> {
        self.writer.begin_graph(graph.vertices().len())?;
        for vertex in graph.vertices() {
            self.vertex(vertex, ElementContext::Graph)?;
            self.check(0)?;
        }
        self.writer.graph_edges(graph.edges().len())?;
        for edge in graph.edges() {
            self.edge(edge, ElementContext::Graph)?;
            self.check(0)?;
        }
        self.writer.end_graph();
        Ok(())
    }

    fn vertex(&mut self, vertex: VertexId, context: ElementContext) -> Result<(), EncodeError> {
        let label = self.elements.vertex_label(vertex)?;
        self.writer.begin_vertex(vertex, label.as_deref().unwrap_or(VERTEX_LABEL), context)?;
        if self.properties == MaterializeProperties::All {
            let mut list = self.writer.begin_properties(context);
            let (mut id, mut outcome) = (String::new(), Ok(()));
            let mut key_name: Option<(KeyId, Arc<str>)> = None;
            let Self { writer, elements, .. } = &mut *self;
            elements.vertex_properties(vertex, &mut |PropertyView { key, value, nth, properties }| {
                if outcome.is_err() {
                    return;
                }
                write_property_id(&mut id, vertex, key, value, nth);
                let (_, key) = match &mut key_name {
                    Some(known) if known.0 == key => known,
                    other => other.insert((key, elements.key_name(key))),
                };
                let empty = Default::default();
                let properties = Some(properties.unwrap_or(&empty));
                let property = VertexPropertyView { id: &id, key, value, properties };
                outcome = writer.property_of_vertex(&mut list, property, context);
            })?;
            outcome?;
            self.writer.end_properties(list)?;
        } else {
            self.writer.no_properties(context);
        }
        self.writer.end_element();
        Ok(())
    }

    fn edge(&mut self, edge: EdgeId, context: ElementContext) -> Result<(), EncodeError> {
        let label = self.elements.edge_type_name(edge.edge_type);
        let source = self.elements.vertex_label(edge.source)?;
        let target = self.elements.vertex_label(edge.target)?;
        let end = |vertex, label| EndView { vertex, label };
        let view = EdgeView {
            edge,
            label: &label,
            source: end(edge.source, source.as_deref().unwrap_or(VERTEX_LABEL)),
            target: end(edge.target, target.as_deref().unwrap_or(VERTEX_LABEL)),
        };
        self.writer.begin_edge(view, context)?;
        if self.properties == MaterializeProperties::All {
            let mut list = self.writer.begin_properties(context);
            let mut outcome = Ok(());
            let Self { writer, elements, .. } = &mut *self;
            elements.edge_properties(edge, &mut |PropertyView { key, value, .. }| {
                if outcome.is_ok() {
                    outcome = writer.property_of_edge(&mut list, &elements.key_name(key), value);
                }
            })?;
            outcome?;
            self.writer.end_properties(list)?;
        } else {
            self.writer.no_properties(context);
        }
        self.writer.end_element();
        Ok(())
    }

    fn property(&mut self, property: &Property) -> Result<(), EncodeError> {
        let key = self.elements.key_name(property.key);
        let Owner::Vertex(vertex) = property.owner else {
            return self.writer.property(&key, &property.value);
        };
        let mut id = String::new();
        write_property_id(&mut id, vertex, property.key, &property.value, property.nth);
        let properties = (self.properties == MaterializeProperties::All).then_some(&property.known);
        let value = &property.value;
        self.writer.vertex_property(VertexPropertyView { id: &id, key: &key, value, properties })
    }
}
