//! Arguments: variables of a query, from Python values.

use crate::error::{OrRaise, exception, invalid};
use crate::item::classes;
use crate::names::{EdgeTuple, edge};
use crate::value::from_python;
use evergraph::Item;
use evergraph::graph::catalogue::Catalogue;
use evergraph::gremlin::argument::IntoArgument;
use evergraph::query::gremlin::bindings::Bindings;
use evergraph::query::gremlin::call::{Argument, ArgumentKind};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PySet, PyTuple};

/// Collections inside collections, so deep at most: a list may hold itself.
const DEPTH_MAX: usize = 100;

/// The variables by name.
///
/// # Errors
/// `InvalidError` for what none can be, naming it; `NotFoundError` for an edge of a type that there isn't.
pub fn bindings(variables: &Bound<'_, PyDict>, catalogue: &Catalogue) -> PyResult<Bindings> {
    let mut bindings = Bindings::new();
    for (name, object) in variables {
        let name: String = name.extract()?;
        let value = argument(&object, catalogue, 0).map_err(|error| named(&object, &name, error))?;
        bindings.bind_argument(name, value);
    }
    Ok(bindings)
}

fn named(object: &Bound<'_, PyAny>, name: &str, error: PyErr) -> PyErr {
    let py = object.py();
    // What isn't ours, such as an interrupt, stays as it is.
    let class = error.get_type(py).name().map(|class| class.to_string()).unwrap_or_default();
    match class.as_str() {
        "InvalidError" | "NotFoundError" => {
            exception(py, &class, &format!("variable `{name}`: {}", error.value(py)))
        }
        _ => error,
    }
}

fn argument(object: &Bound<'_, PyAny>, catalogue: &Catalogue, depth: usize) -> PyResult<ArgumentKind> {
    let py = object.py();
    if object.is_none() {
        return Ok(ArgumentKind::Null);
    }
    if depth > DEPTH_MAX {
        return Err(invalid(py, format!("it is nested more than {DEPTH_MAX} deep")));
    }
    let inside = |object: Bound<'_, PyAny>| argument(&object, catalogue, depth + 1).map(Argument::from);
    if let Ok(list) = object.cast::<PyList>() {
        return list.iter().map(inside).collect::<PyResult<_>>().map(ArgumentKind::List);
    }
    // Tuples with names are something else.
    if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        return tuple.iter().map(inside).collect::<PyResult<_>>().map(ArgumentKind::List);
    }
    if let Ok(map) = object.cast::<PyDict>() {
        let entries = map.iter().map(|(key, value)| Ok((inside(key)?, inside(value)?)));
        return entries.collect::<PyResult<_>>().map(ArgumentKind::Map);
    }
    if object.cast::<PySet>().is_ok() || object.cast::<PyFrozenSet>().is_ok() {
        let items = object.try_iter()?.map(|item| inside(item?));
        return items.collect::<PyResult<_>>().map(ArgumentKind::Set);
    }
    let classes = classes(py)?;
    if object.is_instance(classes.edge.bind(py))? {
        let tuple: EdgeTuple = object.extract()?;
        return Item::Edge(edge(py, catalogue, &tuple)?).into_argument().or_raise(py);
    }
    if object.is_instance(classes.property.bind(py))? || object.is_instance(classes.subgraph.bind(py))? {
        let name = object.get_type().name()?.to_string();
        return Err(invalid(py, format!("a {name} can't be the value of a variable")));
    }
    from_python(object).map(ArgumentKind::from)
}
