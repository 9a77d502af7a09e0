//! Results of queries: items as Python objects.
//!
//! | result |
//! |---|---|
//! | null |
//! | a value |
//! | a vertex |
//! | an edge |
//! | a property |
//! | a list, a set, a path |
//! | a map |
//! | an entry of a map |
//! | a tree |
//! | a graph |
//! | `T.id`, `OUT` |
//!
//! What is in a set or is a key must be hashable: a list becomes a `tuple`, a set a `frozenset`, a map a `tuple` of its
//! entries.

use crate::error::exception;
use crate::names::edge_tuple;
use crate::value::to_python;
use evergraph::graph::catalogue::Catalogue;
use evergraph::gremlin::elements::{DEPTH_MAX, ElementData, Elements};
use evergraph::query::step::meta_property::owner_of;
use evergraph::query::value::item::Owner;
use evergraph::query::value::tree::Tree;
use evergraph::{EdgeId, Item, Value, VertexId};
use evergraph_arrow::result_table::{direction, key_name, token};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PySet, PyString, PyTuple};

/// The classes of `evergraph.values` that results are made of.
pub struct Classes {
    /// `EdgeId`.
    pub edge: Py<PyAny>,
    /// `VertexId`.
    pub vertex: Py<PyAny>,
    /// `Property`.
    pub property: Py<PyAny>,
    /// `Subgraph`.
    pub subgraph: Py<PyAny>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

/// Those classes.
///
/// # Errors
/// What importing raises.
pub fn classes(py: Python<'_>) -> PyResult<&Classes> {
    CLASSES.get_or_try_init(py, || {
        let values = py.import("evergraph.values")?;
        let class = |name: &str| Ok::<_, PyErr>(values.getattr(name)?.unbind());
        Ok(Classes {
            edge: class("EdgeId")?,
            vertex: class("VertexId")?,
            property: class("Property")?,
            subgraph: class("Subgraph")?,
        })
    })
}

/// Who makes objects of elements, properties and paths that aren't as above: a Python object with these methods.
///
/// ```text
/// vertex(number, label, properties)       properties is a list of pairs of key and value, or None
/// edge(id, source, target, properties)    the ends as `vertex` made them
/// property(of, key, value)                of a vertex, an edge or a property as made by these
/// path(labels, items)                     a list of sets of names, and what was there
/// ```
pub struct ObjectFactory<'py, 'c> {
    /// That object.
    pub object: Bound<'py, PyAny>,
    /// What is known of the elements.
    pub elements: &'c Elements,
}

/// What makes objects of items.
pub struct Names<'py, 'c> {
    py: Python<'py>,
    classes: &'py Classes,
    catalogue: &'c Catalogue,
    maker: Option<ObjectFactory<'py, 'c>>,
    /// Whether a vertex is a `VertexId` and no plain number.
    vertex_ids: bool,
}

impl<'py, 'c> Names<'py, 'c> {
    /// With the names of `catalogue`; elements are made by the maker, if there is one.
    ///
    /// # Errors
    /// What importing raises.
    pub fn new(
        py: Python<'py>,
        catalogue: &'c Catalogue,
        maker: Option<ObjectFactory<'py, 'c>>,
    ) -> PyResult<Self> {
        Ok(Self { py, classes: classes(py)?, catalogue, maker, vertex_ids: false })
    }

    /// With the names of `catalogue`; vertices are told from numbers, for code whose answers become items again.
    ///
    /// # Errors
    /// What importing raises.
    pub fn with_vertex_ids(py: Python<'py>, catalogue: &'c Catalogue) -> PyResult<Self> {
        Ok(Self { vertex_ids: true, ..Self::new(py, catalogue, None)? })
    }

    /// `item` as Python has it.
    ///
    /// # Errors
    /// `LimitError` for what Python can't have: a date beyond its years, what is nested too deeply.
    pub fn object(&self, item: &Item) -> PyResult<Bound<'py, PyAny>> {
        self.item(item, false, 0)
    }

    fn item(&self, item: &Item, hashable: bool, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        if depth > DEPTH_MAX {
            let text = format!("a result is nested more than {DEPTH_MAX} deep");
            return Err(exception(py, "LimitError", &text));
        }
        let below = |item: &Item| self.item(item, hashable, depth + 1);
        let key = |item: &Item| self.item(item, true, depth + 1);
        Ok(match item {
            Item::Null => py.None().into_bound(py),
            Item::Value(value) => self.value(value, hashable)?,
            Item::Vertex(vertex) => self.vertex(*vertex)?,
            Item::Edge(edge) => self.edge(*edge)?,
            Item::Property(property) => {
                let owner = match &property.owner {
                    Owner::Vertex(vertex) => self.vertex(*vertex)?,
                    Owner::Edge(edge) => self.edge(*edge)?,
                    Owner::Property(_) => below(&owner_of(property))?,
                };
                let name = self.catalogue.key_name(property.key);
                let value = self.value(&property.value, hashable)?;
                match &self.maker {
                    None => self.classes.property.bind(py).call1((owner, &*name, value))?,
                    Some(maker) => maker.object.call_method1("property", (owner, &*name, value))?,
                }
            }
            Item::List(items) => self.list(items.iter().map(below), hashable)?,
            Item::Path(path) => {
                // A path that somebody makes is hashable whatever is in it.
                let hashable = hashable && self.maker.is_none();
                let items = path.items().map(|item| self.item(item, hashable, depth + 1));
                let items = self.list(items, hashable)?;
                let Some(maker) = &self.maker else { return Ok(items) };
                let labels = path.steps().iter().map(|(_, labels)| {
                    let labels = labels.iter().flat_map(|labels| labels.iter());
                    PySet::new(py, labels.map(|label| PyString::new(py, label)))
                });
                maker.object.call_method1("path", (labels.collect::<PyResult<Vec<_>>>()?, items))?
            }
            Item::Set(items) => self.set(items.iter().map(key), hashable)?,
            Item::Map(map) => {
                let name = |key: &Item| key_name(key, |name| map.get_text(name).is_some());
                let entries = map.entries().iter().map(|(at, value)| {
                    let at =
                        name(at).map_or_else(|| key(at), |name| Ok(PyString::new(py, &name).into_any()))?;
                    Ok((at, below(value)?))
                });
                self.map(entries, hashable)?
            }
            Item::Entry(entry) => PyTuple::new(py, [key(&entry.0)?, below(&entry.1)?])?.into_any(),
            Item::Tree(tree) => self.tree(tree, hashable, depth)?,
            Item::Graph(graph) => {
                let vertices =
                    graph.vertices().map(|vertex| self.vertex(vertex)).collect::<PyResult<Vec<_>>>()?;
                let edges = graph.edges().map(|edge| self.edge(edge)).collect::<PyResult<Vec<_>>>()?;
                self.classes.subgraph.bind(py).call1((PyList::new(py, vertices)?, PyList::new(py, edges)?))?
            }
            Item::Token(name) => PyString::new(py, token(*name)).into_any(),
            Item::Direction(name) => PyString::new(py, direction(*name)).into_any(),
        })
    }

    /// As [`to_python`], and hashable if that is asked for. The model limits how deep collections lie in each other.
    ///
    /// # Errors
    /// As [`to_python`].
    pub fn value(&self, value: &Value, hashable: bool) -> PyResult<Bound<'py, PyAny>> {
        let below = |value: &Value| self.value(value, hashable);
        let key = |value: &Value| self.value(value, true);
        match value {
            Value::List(list) => self.list(list.as_slice().iter().map(below), hashable),
            Value::Set(set) => self.set(set.as_slice().iter().map(key), hashable),
            Value::Map(map) => {
                self.map(map.as_slice().iter().map(|(at, value)| Ok((key(at)?, below(value)?))), hashable)
            }
            scalar => to_python(self.py, scalar),
        }
    }

    fn vertex(&self, vertex: VertexId) -> PyResult<Bound<'py, PyAny>> {
        let mut number = vertex.0.into_pyobject(self.py)?.into_any();
        if self.vertex_ids {
            number = self.classes.vertex.bind(self.py).call1((number,))?;
        }
        let Some(maker) = &self.maker else { return Ok(number) };
        let known = maker.elements.vertex(vertex);
        let label = known.map_or("", |known| &known.label);
        maker.object.call_method1("vertex", (number, label, self.properties(known)?))
    }

    fn edge(&self, edge: EdgeId) -> PyResult<Bound<'py, PyAny>> {
        let id = self.classes.edge.bind(self.py).call1(edge_tuple(self.catalogue, edge))?;
        let Some(maker) = &self.maker else { return Ok(id) };
        let ends = (self.vertex(edge.source)?, self.vertex(edge.target)?);
        let properties = self.properties(maker.elements.edge(edge))?;
        maker.object.call_method1("edge", (id, ends.0, ends.1, properties))
    }

    fn properties(
        &self,
        known: Option<&ElementData>,
    ) -> PyResult<Vec<(Bound<'py, PyString>, Bound<'py, PyAny>)>> {
        let all = known.map_or(&[][..], |known| &known.properties).iter();
        let all = all
            .map(|property| Ok((PyString::new(self.py, &property.key), self.value(&property.value, false)?)));
        all.collect()
    }

    /// `items` as a list, or a tuple if it must be hashable.
    ///
    /// # Errors
    /// Those of the items.
    pub fn list(
        &self,
        items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
        hashable: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let items = items.collect::<PyResult<Vec<_>>>()?;
        Ok(if hashable {
            PyTuple::new(self.py, items)?.into_any()
        } else {
            PyList::new(self.py, items)?.into_any()
        })
    }

    /// `items`, which are hashable, as a set, frozen if it must be hashable itself.
    ///
    /// # Errors
    /// Those of the items.
    pub fn set(
        &self,
        items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
        hashable: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let items = items.collect::<PyResult<Vec<_>>>()?;
        Ok(if hashable {
            PyFrozenSet::new(self.py, items)?.into_any()
        } else {
            PySet::new(self.py, items)?.into_any()
        })
    }

    /// `entries`, whose keys are hashable, as a dict, or a tuple of them if it must be hashable itself.
    ///
    /// # Errors
    /// Those of the entries; `InvalidError` if two keys are equal in Python.
    pub fn map(
        &self,
        entries: impl Iterator<Item = PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)>>,
        hashable: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if hashable {
            return Ok(PyTuple::new(self.py, entries.collect::<PyResult<Vec<_>>>()?)?.into_any());
        }
        let (made, mut count) = (PyDict::new(self.py), 0);
        for entry in entries {
            let (key, value) = entry?;
            made.set_item(key, value)?;
            count += 1;
        }
        if made.len() < count {
            let text = "a map has keys that are equal in Python, such as the int 1, the long 1 and the double 1.0: \
                        unfold() it into entries, or make its keys alike, as with asNumber(GType.LONG)";
            return Err(exception(self.py, "InvalidError", text));
        }
        Ok(made.into_any())
    }

    fn tree(&self, tree: &Tree, hashable: bool, depth: usize) -> PyResult<Bound<'py, PyAny>> {
        if depth > DEPTH_MAX {
            let text = format!("a tree is more than {DEPTH_MAX} deep");
            return Err(exception(self.py, "LimitError", &text));
        }
        let branches = tree.branches().iter();
        let entries = branches.map(|(item, below)| {
            Ok((self.item(item, true, depth + 1)?, self.tree(below, hashable, depth + 1)?))
        });
        self.map(entries, hashable)
    }
}
