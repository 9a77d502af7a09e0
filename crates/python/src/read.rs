//! Reading by name: one item at a time, for snapshots and transactions.

use crate::error::OrRaise;
use crate::long_call::beside_python;
use crate::names::{self, EdgeTuple, edge_tuple, vertex};
use crate::value::{from_python, to_python};
use evergraph::{Direction, EdgeId, GraphView, ReadByName, Value, ValueRange, VertexId};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};
use std::ops::Bound as End;

/// A vertex by its number, or an edge by its tuple.
#[derive(Clone, Debug)]
pub enum ItemName {
    /// A vertex.
    Vertex(u64),
    /// An edge.
    Edge(EdgeTuple),
}

impl<'py> FromPyObject<'_, 'py> for ItemName {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.cast::<PyInt>().is_ok() {
            return object.extract().map(Self::Vertex).or(Ok(Self::Vertex(u64::MAX)));
        }
        if let Ok(edge) = object.extract() {
            return Ok(Self::Edge(edge));
        }
        // NumPy's integers say that they are one.
        let index = object.call_method0("__index__").and_then(|index| index.extract());
        index.map(Self::Vertex).map_err(|_| {
            let shown = object.repr().map(|text| text.to_string()).unwrap_or_default();
            let text = format!("{shown} is neither a vertex (an int) nor an edge (an EdgeId)");
            crate::error::invalid(object.py(), text)
        })
    }
}

/// A vertex or an edge.
#[derive(Clone, Copy, Debug)]
pub enum Item {
    /// A vertex.
    Vertex(VertexId),
    /// An edge.
    Edge(EdgeId),
}

impl ItemName {
    /// What it names in `view`.
    ///
    /// # Errors
    /// `NotFoundError` for numbers and names that there aren't.
    pub fn item(&self, py: Python<'_>, view: &(impl GraphView + ?Sized)) -> PyResult<Item> {
        match self {
            Self::Vertex(number) => Ok(Item::Vertex(vertex(py, *number)?)),
            Self::Edge(tuple) => {
                let catalogue = view.names().or_raise(py)?;
                Ok(Item::Edge(names::edge(py, &catalogue, tuple)?))
            }
        }
    }
}

/// One property, or `None`.
///
/// # Errors
/// Errors of reading.
pub fn get<'py>(
    py: Python<'py>,
    view: &(impl GraphView + ?Sized),
    item: &ItemName,
    key: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let item = item.item(py, view)?;
    let value = beside_python(py, view.is_remote(), || match item {
        Item::Vertex(vertex) => ReadByName::get(view, vertex, key),
        Item::Edge(edge) => ReadByName::get_edge(view, edge, key),
    });
    value.or_raise(py)?.map(|value| to_python(py, &value)).transpose()
}

/// All properties by name.
///
/// # Errors
/// Errors of reading.
pub fn properties<'py>(
    py: Python<'py>,
    view: &(impl GraphView + ?Sized),
    item: &ItemName,
) -> PyResult<Bound<'py, PyDict>> {
    let item = item.item(py, view)?;
    let found = beside_python(py, view.is_remote(), || match item {
        Item::Vertex(vertex) => view.properties(vertex),
        Item::Edge(edge) => view.edge_property_list(edge),
    });
    let properties = PyDict::new(py);
    for (key, value) in found.or_raise(py)? {
        properties.set_item(key, to_python(py, &value)?)?;
    }
    Ok(properties)
}

/// Whether the vertex or edge is there.
///
/// # Errors
/// Errors of reading.
pub fn has(py: Python<'_>, view: &(impl GraphView + ?Sized), item: &ItemName) -> PyResult<bool> {
    match item {
        ItemName::Vertex(number) if *number > u64::from(u32::MAX) => return Ok(false),
        ItemName::Edge(tuple) if view.names().or_raise(py)?.edge_type(&tuple.1).is_none() => {
            return Ok(false);
        }
        _ => {}
    }
    let item = item.item(py, view)?;
    let found = beside_python(py, view.is_remote(), || match item {
        Item::Vertex(vertex) => {
            let mut labels = Vec::with_capacity(1);
            view.labels(&[vertex], &mut labels)?;
            Ok(labels[0].is_some())
        }
        Item::Edge(edge) => {
            let mut found = Vec::with_capacity(1);
            view.has_edges(&[edge], &mut found)?;
            Ok(found[0])
        }
    });
    found.or_raise(py)
}

/// The label of a vertex, if it is there.
///
/// # Errors
/// `NotFoundError` for a number that none can have; errors of reading.
pub fn label(py: Python<'_>, view: &(impl GraphView + ?Sized), of: u64) -> PyResult<Option<String>> {
    let of = vertex(py, of)?;
    beside_python(py, view.is_remote(), || view.label_of(of)).or_raise(py)
}

/// The vertex of `label` whose unique `key` is `value`.
///
/// # Errors
/// `InvalidError` without a unique index.
pub fn find(
    py: Python<'_>,
    view: &(impl GraphView + ?Sized),
    label: &str,
    key: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<u64>> {
    let value = from_python(value)?;
    let found = beside_python(py, view.is_remote(), || view.find(label, key, value)).or_raise(py)?;
    Ok(found.map(|vertex| vertex.0.into()))
}

/// The vertices of `label` whose `key` is `value`.
///
/// # Errors
/// `InvalidError` without an index.
pub fn find_all(
    py: Python<'_>,
    view: &(impl GraphView + ?Sized),
    label: &str,
    key: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<Vec<u64>> {
    let value = from_python(value)?;
    let found = py.detach(|| view.find_all(label, key, value)).or_raise(py)?;
    Ok(found.into_iter().map(|vertex| vertex.0.into()).collect())
}

/// From `start` on, below `stop`.
///
/// # Errors
/// `InvalidError` for what is no value.
pub fn value_range(
    start: Option<&Bound<'_, PyAny>>,
    stop: Option<&Bound<'_, PyAny>>,
    descending: bool,
) -> PyResult<ValueRange> {
    let from = start.map_or(Ok(End::Unbounded), |start| from_python(start).map(End::Included))?;
    let to = stop.map_or(Ok(End::Unbounded), |stop| from_python(stop).map(End::Excluded))?;
    let range = ValueRange::new(from, to);
    Ok(if descending { range.descending() } else { range })
}

/// Values with what has them.
type ValuedItems<'py, T> = Vec<(Bound<'py, PyAny>, T)>;

fn ranked<'py, T, U>(
    py: Python<'py>,
    found: Vec<(Value, T)>,
    shown: impl Fn(T) -> U,
) -> PyResult<ValuedItems<'py, U>> {
    found.into_iter().map(|(value, item)| Ok((to_python(py, &value)?, shown(item)))).collect()
}

/// The vertices of `label` whose `key` lies in `range`, with their values.
///
/// # Errors
/// `InvalidError` without an ordered index.
pub fn range<'py>(
    py: Python<'py>,
    view: &(impl GraphView + ?Sized),
    label: &str,
    key: &str,
    range: &ValueRange,
    limit: usize,
) -> PyResult<ValuedItems<'py, u64>> {
    let found = py.detach(|| view.range(label, key, range, limit)).or_raise(py)?;
    ranked(py, found, |vertex| vertex.0.into())
}

/// The vertices of `label` whose text `key` begins with `prefix`, with their texts.
///
/// # Errors
/// `InvalidError` without an ordered index.
pub fn prefix<'py>(
    py: Python<'py>,
    view: &(impl GraphView + ?Sized),
    label: &str,
    key: &str,
    prefix: &str,
    limit: usize,
) -> PyResult<ValuedItems<'py, u64>> {
    range(py, view, label, key, &ValueRange::prefix(prefix), limit)
}

/// The edges of a type whose `key` is `value`.
///
/// # Errors
/// `InvalidError` without an index.
pub fn edges_with(
    py: Python<'_>,
    view: &(impl GraphView + ?Sized),
    edge_type: &str,
    key: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<Vec<EdgeTuple>> {
    let value = from_python(value)?;
    let found = py.detach(|| view.edges_with(edge_type, key, value)).or_raise(py)?;
    let catalogue = view.catalogue();
    Ok(found.into_iter().map(|edge| edge_tuple(&catalogue, edge)).collect())
}

/// The edges of a type whose `key` lies in `range`, with their values.
///
/// # Errors
/// `InvalidError` without an ordered index.
pub fn edges_in_range<'py>(
    py: Python<'py>,
    view: &(impl GraphView + ?Sized),
    edge_type: &str,
    key: &str,
    range: &ValueRange,
    limit: usize,
) -> PyResult<ValuedItems<'py, EdgeTuple>> {
    let found = py.detach(|| view.edges_in_range(edge_type, key, range, limit)).or_raise(py)?;
    let catalogue = view.catalogue();
    ranked(py, found, |edge| edge_tuple(&catalogue, edge))
}

/// The first unique key that the vertex has a value of, and the value.
///
/// # Errors
/// Errors of reading.
pub fn key_of<'py>(
    py: Python<'py>,
    view: &(impl GraphView + ?Sized),
    of: u64,
) -> PyResult<Option<(String, Bound<'py, PyAny>)>> {
    let of = vertex(py, of)?;
    let found = beside_python(py, view.is_remote(), || view.key_of(of)).or_raise(py)?;
    found.map(|(key, value)| Ok((key, to_python(py, &value)?))).transpose()
}

/// The newest edges of a type from a vertex, with their values.
///
/// # Errors
/// Errors of reading.
pub fn newest_edges<'py>(
    py: Python<'py>,
    view: &(impl GraphView + ?Sized),
    from: u64,
    edge_type: &str,
    key: &str,
    range: &ValueRange,
    limit: usize,
) -> PyResult<ValuedItems<'py, EdgeTuple>> {
    let from = vertex(py, from)?;
    let found = py.detach(|| view.newest_edges(from, edge_type, key, range, limit)).or_raise(py)?;
    let catalogue = view.catalogue();
    ranked(py, found, |edge| edge_tuple(&catalogue, edge))
}

/// The edges of a vertex with their other ends.
///
/// # Errors
/// `NotFoundError` for unknown types.
pub fn edges_of(
    py: Python<'_>,
    view: &(impl GraphView + ?Sized),
    of: u64,
    types: &[String],
    direction: Direction,
) -> PyResult<Vec<(EdgeTuple, u64)>> {
    let of = vertex(py, of)?;
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let found = py.detach(|| view.edges(of, direction, &types)).or_raise(py)?;
    let catalogue = view.catalogue();
    Ok(found.into_iter().map(|(edge, other)| (edge_tuple(&catalogue, edge), other.0.into())).collect())
}

/// The number of edges of a vertex.
///
/// # Errors
/// `NotFoundError` for unknown types.
pub fn degree(
    py: Python<'_>,
    view: &(impl GraphView + ?Sized),
    of: u64,
    types: &[String],
    direction: Direction,
) -> PyResult<u64> {
    let of = vertex(py, of)?;
    let types = names::edge_types(&*view.names().or_raise(py)?, types).or_raise(py)?;
    let mut degrees = Vec::with_capacity(1);
    let degrees_of = || view.degrees(&[of], types.as_deref(), direction, &mut degrees);
    beside_python(py, view.is_remote(), degrees_of).or_raise(py)?;
    Ok(degrees[0])
}
