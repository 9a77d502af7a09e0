//! Results of queries: items as Python objects, and as a table.
//!
//! | result | Python | column of a table |
//! |---|---|---|
//! | null | `None` | null |
//! | a value | as of a property | the same |
//! | a vertex | its number | uint64 |
//! | an edge | `EdgeId` | struct of source, target, type, discriminator |
//! | a property | `Property` | its value |
//! | a list, a set, a path | `list`, `set`, `list` | large_list of the one type that all items have |
//! | a map | `dict` | as of a property that holds one; a table of maps has a column a key |
//! | an entry of a map | `tuple` of two | |
//! | a tree | `dict` of what follows each | |
//! | a graph | `Subgraph` | |
//! | `T.id`, `OUT` | `"id"`, `"OUT"` | the same |
//!
//! What is in a set or is a key must be hashable: a list becomes a `tuple`, a set a `frozenset`, a map a `tuple` of its
//! entries.

use crate::arrow_out::TableBuilder;
use crate::error::exception;
use crate::names::edge_tuple;
use crate::value::to_python;
use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch, StructArray, UInt16Array, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Fields};
use evergraph::graph::catalogue::Catalogue;
use evergraph::graph::column::{Column, ColumnData};
use evergraph::graph::value::ValueType;
use evergraph::graph::value::collection::{List, Map, Set};
use evergraph::gremlin::elements::{DEPTH_MAX, ElementData, Elements};
use evergraph::query::step::meta_property::owner_of;
use evergraph::query::value::element_id::edge_id_text;
use evergraph::query::value::item::{Owner, Token};
use evergraph::query::value::tree::Tree;
use evergraph::{Direction, EdgeId, Error, Item, Result, Value, VertexId};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PySet, PyString, PyTuple};
use std::collections::HashMap;
use std::sync::Arc;

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

fn token(token: Token) -> &'static str {
    match token {
        Token::Id => "id",
        Token::Label => "label",
        Token::Key => "key",
        Token::Value => "value",
    }
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Out => "OUT",
        Direction::In => "IN",
        Direction::Both => "BOTH",
    }
}

/// What a key that is no text is called in a map with the text keys that `has` knows: a property may be called `id`.
fn key_name(key: &Item, has: impl Fn(&str) -> bool) -> Option<String> {
    let (name, class) = match key {
        Item::Token(key) => (token(*key), "T"),
        Item::Direction(key) => (direction(*key), "Direction"),
        _ => return None,
    };
    Some(if has(name) { format!("{class}.{name}") } else { name.to_owned() })
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

/// `items` as a table: a column a key if all are maps with names as keys, else the column `result`.
///
/// # Errors
/// `invalid` for what no column can hold; `limit` for moments beyond 64 bits of nanoseconds.
pub fn table(items: &[Item], catalogue: &Catalogue) -> Result<RecordBatch> {
    let mut table = TableBuilder::default();
    match by_key(items) {
        None => push(&mut table, "result", &items.iter().map(Some).collect::<Vec<_>>(), catalogue)?,
        Some(columns) => {
            for (name, column) in columns {
                push(&mut table, &name, &column, catalogue)?;
            }
        }
    }
    table.finish()
}

type Columns<'a> = Vec<(String, Vec<Option<&'a Item>>)>;

/// Columns in the order in which their keys came; `None` unless all are maps, and all keys names.
fn by_key(items: &[Item]) -> Option<Columns<'_>> {
    let (mut columns, mut places): (Columns<'_>, HashMap<String, usize>) = (Vec::new(), HashMap::new());
    for (row, item) in items.iter().enumerate() {
        let Item::Map(map) = item else { return None };
        for (key, value) in map.entries() {
            let name = match key.as_str() {
                Some(name) => name.to_owned(),
                None => key_name(key, |name| map.get_text(name).is_some())?,
            };
            let at = *places.entry(name.clone()).or_insert_with(|| {
                columns.push((name, vec![None; items.len()]));
                columns.len() - 1
            });
            columns[at].1[row] = Some(value);
        }
    }
    (!columns.is_empty()).then_some(columns)
}

fn push(table: &mut TableBuilder, name: &str, rows: &[Option<&Item>], catalogue: &Catalogue) -> Result<()> {
    let present = || rows.iter().flatten().filter(|item| !matches!(item, Item::Null));
    if present().next().is_some() {
        if present().all(|item| item.as_vertex().is_some()) {
            let numbers =
                rows.iter().map(|row| row.and_then(Item::as_vertex).map(|vertex| u64::from(vertex.0)));
            table.push(name, numbers.collect::<UInt64Array>());
            return Ok(());
        }
        if present().all(|item| item.as_edge().is_some()) {
            let edges: Vec<_> = rows.iter().map(|row| row.and_then(Item::as_edge)).collect();
            table.push(name, edge_structs(&edges, catalogue)?);
            return Ok(());
        }
    }
    let values = rows.iter().map(|row| row.map_or(Ok(None), |item| plain(item, 0)));
    let values =
        values.collect::<Result<_>>().map_err(|error| error.context(format_args!("column {name}")))?;
    table.push_column(name, &Column { value_type: ValueType::Any, data: ColumnData::Values(values) })
}

fn edge_structs(edges: &[Option<EdgeId>], catalogue: &Catalogue) -> Result<StructArray> {
    let number =
        |of: fn(&EdgeId) -> u32| edges.iter().map(move |edge| edge.as_ref().map(|edge| u64::from(of(edge))));
    let types =
        edges.iter().map(|edge| edge.map(|edge| catalogue.edge_type_name(edge.edge_type).to_string()));
    let discriminators = edges.iter().map(|edge| edge.map(|edge| edge.discriminator));
    let arrays: [(&str, ArrayRef); 4] = [
        ("source", Arc::new(number(|edge| edge.source.0).collect::<UInt64Array>())),
        ("target", Arc::new(number(|edge| edge.target.0).collect::<UInt64Array>())),
        ("type", Arc::new(types.collect::<LargeStringArray>())),
        ("discriminator", Arc::new(discriminators.collect::<UInt16Array>())),
    ];
    let fields: Fields =
        arrays.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let nulls: NullBuffer = edges.iter().map(Option::is_some).collect::<Vec<bool>>().into();
    let columns = arrays.into_iter().map(|(_, array)| array).collect();
    StructArray::try_new(fields, columns, Some(nulls)).map_err(|error| Error::invalid(error.to_string()))
}

/// `item` as a value, elements by their ids; `None` for null.
fn plain(item: &Item, depth: usize) -> Result<Option<Value>> {
    if depth > DEPTH_MAX {
        return Err(Error::invalid(format!("a result is nested more than {DEPTH_MAX} deep")));
    }
    let inside = |item: &Item| {
        let null = || Error::invalid("a table can't hold a collection with a null in it: use to_list()");
        plain(item, depth + 1)?.ok_or_else(null)
    };
    let all = |items: &mut dyn Iterator<Item = &Item>| items.map(inside).collect::<Result<Vec<_>>>();
    let too_deep = |error| Error::invalid("a result is nested too deeply for a table").because(error);
    Ok(Some(match item {
        Item::Null => return Ok(None),
        Item::Value(value) => value.clone(),
        Item::Vertex(vertex) => Value::I64(vertex.0.into()),
        Item::Edge(edge) => Value::from(edge_id_text(*edge)),
        Item::Property(property) => property.value.clone(),
        Item::List(items) => Value::List(List::new(all(&mut items.iter())?).map_err(too_deep)?),
        Item::Path(path) => Value::List(List::new(all(&mut path.items())?).map_err(too_deep)?),
        Item::Set(items) => Value::Set(Set::new(all(&mut items.iter())?).map_err(too_deep)?),
        Item::Map(map) => {
            let entry = |(key, value): &(Item, Item)| Ok((inside(key)?, inside(value)?));
            let entries = map.entries().iter().map(entry).collect::<Result<Vec<_>>>()?;
            Value::Map(Map::new(entries).map_err(too_deep)?)
        }
        Item::Token(name) => Value::from(token(*name)),
        Item::Direction(name) => Value::from(direction(*name)),
        Item::Entry(_) | Item::Tree(_) | Item::Graph(_) => {
            let text = format!("a table can't hold {}: use to_list()", item.kind());
            return Err(Error::invalid(text));
        }
    }))
}
