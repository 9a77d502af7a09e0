//! Names: labels, edge types, keys, directions and edges as Python writes them.

use crate::error::{OrRaise, exception, invalid};
use crate::value::from_python;
use evergraph::algorithms::scope::Scope;
use evergraph::graph::catalogue::Catalogue;
use evergraph::graph::filter::{Comparison, Condition, Filter};
use evergraph::graph::id::{KeyId, LabelId, TypeId};
use evergraph::graph::topology::Weight;
use evergraph::{Direction, EdgeId, Error, ErrorKind, Result, VertexId};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// An edge as Python has it: source, name of its type, target, discriminator.
pub type EdgeTuple = (u64, String, u64, u16);

/// More names than this are not worth reading.
const NAMES_MAX: usize = 20;

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    let more = known.len().saturating_sub(NAMES_MAX);
    known.truncate(NAMES_MAX);
    let known = match (known.is_empty(), more) {
        (true, _) => "there is none".to_owned(),
        (false, 0) => format!("there are {}", known.join(", ")),
        (false, more) => format!("there are {} and {more} more", known.join(", ")),
    };
    Error::new(ErrorKind::NotFound, format!("{what} {name:?} isn't in the graph: {known}"))
}

/// The label `name`.
///
/// # Errors
/// `not_found`, with those that there are.
pub fn label(catalogue: &Catalogue, name: &str) -> Result<LabelId> {
    let known = || catalogue.labels().map(|(_, name)| name.as_ref());
    catalogue.label(name).ok_or_else(|| unknown("label", name, known()))
}

/// The edge type `name`.
///
/// # Errors
/// `not_found`, with those that there are.
pub fn edge_type(catalogue: &Catalogue, name: &str) -> Result<TypeId> {
    let known = || catalogue.edge_types().map(|(_, known)| known.name.as_ref());
    catalogue.edge_type(name).ok_or_else(|| unknown("edge type", name, known()))
}

/// The property key `name`.
///
/// # Errors
/// `not_found`, with those that there are.
pub fn key(catalogue: &Catalogue, name: &str) -> Result<KeyId> {
    let known = || catalogue.keys().map(|(_, name)| name.as_ref());
    catalogue.key(name).ok_or_else(|| unknown("property", name, known()))
}

/// The labels `names`; `None`, meaning all, for an empty list.
///
/// # Errors
/// As [`label`].
pub fn labels(catalogue: &Catalogue, names: &[String]) -> Result<Option<Vec<LabelId>>> {
    let found = names.iter().map(|name| label(catalogue, name)).collect::<Result<Vec<_>>>()?;
    Ok((!found.is_empty()).then_some(found))
}

/// The edge types `names`; `None`, meaning all, for an empty list.
///
/// # Errors
/// As [`edge_type`].
pub fn edge_types(catalogue: &Catalogue, names: &[String]) -> Result<Option<Vec<TypeId>>> {
    let found = names.iter().map(|name| edge_type(catalogue, name)).collect::<Result<Vec<_>>>()?;
    Ok((!found.is_empty()).then_some(found))
}

/// `"out"`, `"in"` or `"both"`.
///
/// # Errors
/// `InvalidError` for anything else.
pub fn direction(py: Python<'_>, name: &str) -> PyResult<Direction> {
    match name {
        "out" => Ok(Direction::Out),
        "in" => Ok(Direction::In),
        "both" => Ok(Direction::Both),
        _ => Err(invalid(py, format!("direction {name:?}: expected \"out\", \"in\" or \"both\""))),
    }
}

/// The vertex with this number.
///
/// # Errors
/// `NotFoundError` for a number that none can have.
pub fn vertex(py: Python<'_>, number: u64) -> PyResult<VertexId> {
    let none = |_| exception(py, "NotFoundError", &format!("no vertex has the number {number}"));
    u32::try_from(number).map(VertexId).map_err(none)
}

/// The edge that `tuple` names; its type is one of `catalogue`.
///
/// # Errors
/// `NotFoundError` for names and numbers that there aren't.
pub fn edge(py: Python<'_>, catalogue: &Catalogue, tuple: &EdgeTuple) -> PyResult<EdgeId> {
    let (source, kind, target, discriminator) = tuple;
    let edge_type = edge_type(catalogue, kind).or_raise(py)?;
    let (source, target) = (vertex(py, *source)?, vertex(py, *target)?);
    Ok(EdgeId { source, edge_type, target, discriminator: *discriminator })
}

/// `edge` as Python has it.
pub fn edge_tuple(catalogue: &Catalogue, edge: EdgeId) -> EdgeTuple {
    let name = catalogue.edge_type_name(edge.edge_type).to_string();
    (edge.source.0.into(), name, edge.target.0.into(), edge.discriminator)
}

/// A condition on a property, with its comparison: `exists`, `in`, or a sign.
#[derive(Debug)]
pub struct Wanted {
    key: String,
    condition: Condition,
}

impl<'py> FromPyObject<'_, 'py> for Wanted {
    type Error = PyErr;

    /// A name, or a name, a comparison and a value.
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if let Ok(name) = object.cast::<PyString>() {
            return Ok(Self { key: name.to_cow()?.into_owned(), condition: Condition::Exists });
        }
        let parts: PyResult<(String, String, Bound<'py, PyAny>)> = object.extract();
        let Ok((key, sign, value)) = parts else {
            let shown = object.repr()?;
            let text = format!(
                "condition {shown}: expected a property's name, or (name, comparison, value), such as (\"age\", \
                 \">=\", 18)"
            );
            return Err(invalid(py, text));
        };
        let comparison = match sign.as_str() {
            "in" => {
                let values = value.try_iter()?.map(|item| from_python(&item?)).collect::<PyResult<_>>()?;
                return Ok(Self { key, condition: Condition::In(values) });
            }
            "=" | "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => {
                let text = format!("comparison {sign:?}: expected one of = != < <= > >= in");
                return Err(invalid(py, text));
            }
        };
        Ok(Self { key, condition: Condition::Compare(comparison, from_python(&value)?) })
    }
}

/// A weight: the property, and what an edge without it weighs.
#[derive(Debug, FromPyObject)]
pub struct WeightName(pub String, pub Option<f64>);

/// The part of a graph that is meant, by names.
#[derive(Debug, Default)]
pub struct ScopeNames {
    /// Labels; all if there are none.
    pub labels: Vec<String>,
    /// Edge types; all if there are none.
    pub types: Vec<String>,
    /// Conditions on vertices.
    pub vertices: Vec<Wanted>,
    /// Conditions on edges.
    pub edges: Vec<Wanted>,
}

impl<'py> FromPyObject<'_, 'py> for ScopeNames {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (labels, types, vertices, edges) = object.extract()?;
        Ok(Self { labels, types, vertices, edges })
    }
}

impl ScopeNames {
    /// The same in numbers.
    ///
    /// # Errors
    /// `not_found` for names that there aren't.
    pub fn scope(&self, catalogue: &Catalogue) -> Result<Scope> {
        let filters = |wanted: &[Wanted]| {
            let filter = |one: &Wanted| {
                Ok(Filter { key: key(catalogue, &one.key)?, condition: one.condition.clone() })
            };
            wanted.iter().map(filter).collect::<Result<Vec<_>>>()
        };
        Ok(Scope {
            labels: labels(catalogue, &self.labels)?,
            types: edge_types(catalogue, &self.types)?,
            vertex_filters: filters(&self.vertices)?,
            edge_filters: filters(&self.edges)?,
        })
    }
}

/// The weight that is named.
///
/// # Errors
/// `not_found` for an unknown property.
pub fn weight(catalogue: &Catalogue, named: Option<&WeightName>) -> Result<Option<Weight>> {
    let weight = |name: &WeightName| Ok(Weight { key: key(catalogue, &name.0)?, missing: name.1 });
    named.map(weight).transpose()
}
