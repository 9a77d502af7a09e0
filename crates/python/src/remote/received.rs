//! Received: results of a server as Python objects, and as items of a table.
//!
//! They are what `item` makes of the same results of a database in this process, but for properties of edges, whose edge
//! a server does not send.

use crate::error::exception;
use crate::item::{Names, classes};
use evergraph::graph::catalogue::Catalogue;
use evergraph::graph::schema_change::SchemaChange;
use evergraph::gremlin::elements::DEPTH_MAX;
use evergraph::protocol::result::result_value::{DetachedEdge, DetachedTree, DetachedVertex, ResultValue};
use evergraph::query::gremlin::token::{Enumeration, T, Token};
use evergraph::query::value::element_id::edge_of_text;
use evergraph::query::value::item;
use evergraph::query::value::ordered_map::OrderedMap;
use evergraph::{Direction, EdgeId, Error, Item, Result, Value, VertexId};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The edge types that a server has sent, by the numbers that they have there.
#[derive(Default)]
pub struct SeenTypes(Mutex<Catalogue>);

impl SeenTypes {
    /// The types so far.
    pub fn catalogue(&self) -> Catalogue {
        self.lock().clone()
    }

    fn see(&self, edge: &DetachedEdge) -> Option<EdgeId> {
        let id = edge_of_text(edge.id.as_str()?)?;
        let mut seen = self.lock();
        if seen.edge_type(&edge.label).is_none() && seen.edge_type_definition(id.edge_type).is_none() {
            let change =
                SchemaChange::AddEdgeType { id: id.edge_type, name: (&*edge.label).into(), simple: false };
            // What does not fit is left out: its name is known where it came.
            let _ = seen.replay(&change);
        }
        Some(id)
    }

    fn lock(&self) -> MutexGuard<'_, Catalogue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes objects of results.
pub struct ReceivedObjects<'py, 'c> {
    py: Python<'py>,
    names: Names<'py, 'c>,
    types: &'c SeenTypes,
}

impl<'py, 'c> ReceivedObjects<'py, 'c> {
    /// With the types of edges that were sent so far. `none` is an empty catalogue.
    ///
    /// # Errors
    /// What importing raises.
    pub fn new(py: Python<'py>, none: &'c Catalogue, types: &'c SeenTypes) -> PyResult<Self> {
        Ok(Self { py, names: Names::new(py, none, None)?, types })
    }

    /// `value` as Python has it.
    ///
    /// # Errors
    /// `LimitError` for what Python cannot have: a date beyond its years, what is nested too deeply. `InvalidError` for
    /// elements that no server of Evergraph sends.
    pub fn object(&self, value: &ResultValue) -> PyResult<Bound<'py, PyAny>> {
        self.value(value, false, 0)
    }

    fn value(&self, value: &ResultValue, hashable: bool, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        if depth > DEPTH_MAX {
            let text = format!("a result is nested more than {DEPTH_MAX} deep");
            return Err(exception(py, "LimitError", &text));
        }
        let below = |value: &ResultValue| self.value(value, hashable, depth + 1);
        let key = |value: &ResultValue| self.value(value, true, depth + 1);
        Ok(match value {
            ResultValue::Null => py.None().into_bound(py),
            ResultValue::Value(value) => self.names.value(value, hashable)?,
            ResultValue::List(values) => self.names.list(values.iter().map(below), hashable)?,
            ResultValue::Set(values) => self.names.set(values.iter().map(key), hashable)?,
            ResultValue::Path(steps) => {
                self.names.list(steps.iter().map(|step| below(&step.value)), hashable)?
            }
            ResultValue::Map(entries) => {
                let has = |name: &str| entries.iter().any(|(key, _)| key.as_str() == Some(name));
                let entries = entries.iter().map(|(at, value)| {
                    let at = match at {
                        ResultValue::Token(token) => PyString::new(py, &key_name(*token, &has)).into_any(),
                        at => key(at)?,
                    };
                    Ok((at, below(value)?))
                });
                self.names.map(entries, hashable)?
            }
            ResultValue::Token(token) => PyString::new(py, word(*token)).into_any(),
            ResultValue::Vertex(vertex) => self.vertex(vertex)?,
            ResultValue::Edge(edge) => self.edge(edge)?,
            ResultValue::VertexProperty(property) => {
                let owner = property.id.as_str().and_then(|id| id.split_once('-')?.0.parse::<u32>().ok());
                let value = below(&property.value)?;
                classes(py)?.property.bind(py).call1((owner, &*property.key, value))?
            }
            ResultValue::Property(property) => {
                let value = below(&property.value)?;
                classes(py)?.property.bind(py).call1((py.None(), &*property.key, value))?
            }
            ResultValue::Tree(tree) => self.tree(tree, hashable, depth)?,
            ResultValue::Graph(graph) => {
                let vertices =
                    graph.vertices.iter().map(|vertex| self.vertex(vertex)).collect::<PyResult<Vec<_>>>()?;
                let edges = graph.edges.iter().map(|edge| self.edge(edge)).collect::<PyResult<Vec<_>>>()?;
                let parts = (PyList::new(py, vertices)?, PyList::new(py, edges)?);
                classes(py)?.subgraph.bind(py).call1(parts)?
            }
        })
    }

    fn vertex(&self, vertex: &DetachedVertex) -> PyResult<Bound<'py, PyAny>> {
        let number = vertex_id(vertex).map_err(|error| self.strange(&error))?;
        Ok(number.0.into_pyobject(self.py)?.into_any())
    }

    fn edge(&self, edge: &DetachedEdge) -> PyResult<Bound<'py, PyAny>> {
        let Some(id) = self.types.see(edge) else {
            return Err(self.strange(&Error::invalid("an edge has an id that is none of Evergraph's")));
        };
        let parts = (id.source.0, &*edge.label, id.target.0, id.discriminator);
        classes(self.py)?.edge.bind(self.py).call1(parts)
    }

    fn tree(&self, tree: &DetachedTree, hashable: bool, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        if depth > DEPTH_MAX {
            let text = format!("a tree is more than {DEPTH_MAX} deep");
            return Err(exception(self.py, "LimitError", &text));
        }
        let entries = tree.branches.iter().map(|(key, below)| {
            Ok((self.value(key, true, depth + 1)?, self.tree(below, hashable, depth + 1)?))
        });
        if hashable {
            let entries = entries.collect::<PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>>>()?;
            return Ok(PyTuple::new(self.py, entries)?.into_any());
        }
        self.names.map(entries, false)
    }

    fn strange(&self, error: &Error) -> PyErr {
        exception(self.py, "InvalidError", &error.to_string())
    }
}

fn vertex_id(vertex: &DetachedVertex) -> Result<VertexId> {
    let number = match &vertex.id {
        ResultValue::Value(id) => id.as_i64().and_then(|id| u32::try_from(id).ok()),
        _ => None,
    };
    number.map(VertexId).ok_or_else(|| Error::invalid("a vertex has an id that is none of Evergraph's"))
}

fn word(token: Token) -> &'static str {
    match direction(token) {
        Some(Direction::Out) => "OUT",
        Some(Direction::In) => "IN",
        Some(Direction::Both) => "BOTH",
        None => token.word(),
    }
}

/// What a key that is no text is called in a map with the text keys that `has` knows.
fn key_name(token: Token, has: &impl Fn(&str) -> bool) -> String {
    let name = word(token);
    match token.enumeration() {
        Enumeration::T if has(name) => format!("T.{name}"),
        Enumeration::Direction if has(name) => format!("Direction.{name}"),
        _ => name.to_owned(),
    }
}

fn direction(token: Token) -> Option<Direction> {
    if token.enumeration() != Enumeration::Direction {
        return None;
    }
    match token.word() {
        "OUT" => Some(Direction::Out),
        "IN" => Some(Direction::In),
        _ => Some(Direction::Both),
    }
}

/// `value` as an item of a table, which has no more of properties than their values.
///
/// # Errors
/// `invalid` for what no column can hold; `limit` for what is nested too deeply.
pub fn item_of(value: ResultValue, types: &SeenTypes, depth: usize) -> Result<Item> {
    if depth > DEPTH_MAX {
        return Err(Error::invalid(format!("a result is nested more than {DEPTH_MAX} deep")));
    }
    let below = |value: ResultValue| item_of(value, types, depth + 1);
    let all = |values: Vec<ResultValue>| values.into_iter().map(below).collect::<Result<Vec<Item>>>();
    Ok(match value {
        ResultValue::Null => Item::Null,
        ResultValue::Value(value) => Item::Value(value),
        ResultValue::List(values) => Item::List(all(values)?.into()),
        ResultValue::Set(values) => Item::Set(all(values)?.into()),
        ResultValue::Path(steps) => {
            Item::List(all(steps.into_iter().map(|step| step.value).collect())?.into())
        }
        ResultValue::Map(entries) => {
            let mut map = OrderedMap::new();
            for (key, value) in entries {
                map.insert(below(key)?, below(value)?);
            }
            Item::Map(Arc::new(map))
        }
        ResultValue::Token(Token::T(token)) => Item::Token(match token {
            T::Id => item::Token::Id,
            T::Label => item::Token::Label,
            T::Key => item::Token::Key,
            T::Value => item::Token::Value,
        }),
        ResultValue::Token(token) => match direction(token) {
            Some(direction) => Item::Direction(direction),
            None => Item::Value(Value::from(token.word())),
        },
        ResultValue::Vertex(vertex) => Item::Vertex(vertex_id(&vertex)?),
        ResultValue::Edge(edge) => match types.see(&edge) {
            Some(id) => Item::Edge(id),
            None => return Err(Error::invalid("an edge has an id that is none of Evergraph's")),
        },
        ResultValue::VertexProperty(property) => below(property.value)?,
        ResultValue::Property(property) => below(property.value)?,
        ResultValue::Tree(_) => return Err(Error::invalid("a table can't hold a tree: use to_list()")),
        ResultValue::Graph(_) => return Err(Error::invalid("a table can't hold a graph: use to_list()")),
    })
}
