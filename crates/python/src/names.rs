//! Names: labels, edge types, keys, directions and edges as Python writes them.

use crate::error::{OrRaise, exception, invalid};
use crate::value::from_python;
use evergraph::analysis::names::{PropertyCondition, ScopeNames, comparison};
use evergraph::graph::catalogue::Catalogue;
use evergraph::graph::filter::Condition;
use evergraph::graph::topology::Weight;
use evergraph::{Direction, EdgeId, Result, VertexId};
use pyo3::prelude::*;
use pyo3::types::PyString;

// The package knows all names from here.
pub use evergraph::analysis::names::{edge_type, edge_types, key, label, labels};

/// An edge as Python has it: source, name of its type, target, discriminator.
pub type EdgeTuple = (u64, String, u64, u16);

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
struct ConditionArgument(PropertyCondition);

impl<'py> FromPyObject<'_, 'py> for ConditionArgument {
    type Error = PyErr;

    /// A name, or a name, a comparison and a value.
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if let Ok(name) = object.cast::<PyString>() {
            let key = name.to_cow()?.into_owned();
            return Ok(Self(PropertyCondition { key, condition: Condition::Exists }));
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
        let condition = if sign == "in" {
            Condition::In(value.try_iter()?.map(|item| from_python(&item?)).collect::<PyResult<_>>()?)
        } else {
            Condition::Compare(comparison(&sign).or_raise(py)?, from_python(&value)?)
        };
        Ok(Self(PropertyCondition { key, condition }))
    }
}

/// A weight: the property, and what an edge without it weighs.
#[derive(Debug, FromPyObject)]
pub struct WeightName(pub String, pub Option<f64>);

/// The part of a graph that is meant: labels, edge types, conditions on vertices and on edges.
#[derive(Debug, Default)]
pub struct ScopeArgument(pub ScopeNames);

impl<'py> FromPyObject<'_, 'py> for ScopeArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        type Conditions = Vec<ConditionArgument>;
        let (labels, types, vertices, edges): (_, _, Conditions, Conditions) = object.extract()?;
        let [vertices, edges] =
            [vertices, edges].map(|conditions| conditions.into_iter().map(|argument| argument.0).collect());
        Ok(Self(ScopeNames { labels, types, vertices, edges }))
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
