//! Algorithms: runs those of the table by name, with a dictionary of parameters, and returns Arrow tables.

use crate::arrow_out::TableBuilder;
use crate::error::{OrRaise, exception, invalid};
use crate::long_call::ProgressWatch;
use crate::names::{direction, vertex};
use crate::reserved::TableMemory;
use crate::tables::{label_owners, numbers, push_vertex_property};
use arrow_array::RecordBatch;
use evergraph::algorithms::control::{Control, Progress};
use evergraph::algorithms::scope::Scope;
use evergraph::analysis::algorithm::Algorithm;
use evergraph::analysis::answer::{Answer, Figure};
use evergraph::analysis::arguments::{Argument, Arguments};
use evergraph::analysis::column::{Column, ColumnKind};
use evergraph::analysis::input::{Caller, Input};
use evergraph::analysis::lists::PackedView;
use evergraph::analysis::names::ScopeNames;
use evergraph::analysis::parameter::{DefaultValue, Kind, Parameter, direction_name};
use evergraph::analysis::table::{ALGORITHMS, by_name};
use evergraph::graph::budget::{Budget, Unlimited};
use evergraph::graph::catalogue::Catalogue;
use evergraph::graph::id::KeyId;
use evergraph::{Error, ErrorKind, Freeze, GraphView, Result, Snapshot, VertexId};
use evergraph_arrow::answer_array::{answer_array, type_name, value_bytes};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// An algorithm and what was chosen about it.
#[derive(Debug)]
pub struct AlgorithmCall {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// Its parameters.
    pub arguments: Arguments,
}

impl AlgorithmCall {
    /// The algorithm `name` with `parameters`; `None` among them, and one that isn't there, chooses nothing.
    ///
    /// # Errors
    /// `NotFoundError` if no algorithm is called so; `InvalidError` for a parameter that it doesn't have, of another
    /// type than it should be, or out of range.
    pub fn new(py: Python<'_>, name: &str, parameters: &Bound<'_, PyDict>) -> PyResult<Self> {
        let Some(algorithm) = by_name(name) else {
            return Err(exception(py, "NotFoundError", &format!("no algorithm is called {name}")));
        };
        let kind = |name: &str| {
            algorithm
                .parameters
                .iter()
                .find(|parameter| parameter.name == name)
                .map(|parameter| parameter.kind)
        };
        let mut given = Vec::with_capacity(parameters.len());
        for (key, value) in parameters {
            let key: String = key.extract()?;
            let argument = match kind(&key) {
                Some(kind) if !value.is_none() => argument(&key, kind, &value)?,
                _ => Argument::Nothing,
            };
            given.push((key, argument));
        }
        Ok(Self { algorithm, arguments: Arguments::new(algorithm.parameters, given).or_raise(py)? })
    }
}

/// The `value` of the parameter `name`.
fn argument(name: &str, kind: Kind, value: &Bound<'_, PyAny>) -> PyResult<Argument> {
    let py = value.py();
    Ok(match kind {
        Kind::Boolean => Argument::Boolean(taken(name, value)?),
        Kind::Whole(range) => Argument::Whole(range.check(name, taken(name, value)?).or_raise(py)?),
        Kind::Real(_) => Argument::Real(taken(name, value)?),
        Kind::Direction(_) => Argument::Direction(direction(py, &taken::<String>(name, value)?)?),
        Kind::Vertex => Argument::Vertex(vertex(py, taken(name, value)?)?),
        Kind::Vertices => {
            let numbers: Vec<u64> = taken(name, value)?;
            Argument::Vertices(numbers.into_iter().map(|number| vertex(py, number)).collect::<PyResult<_>>()?)
        }
        Kind::EdgeProperty => Argument::Property(taken(name, value)?),
    })
}

fn taken<'py, T: FromPyObjectOwned<'py>>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<T> {
    let py = value.py();
    value.extract::<T>().map_err(Into::into).map_err(|error: PyErr| {
        if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py)
            || error.is_instance_of::<pyo3::exceptions::PyOverflowError>(py)
        {
            return invalid(py, format!("{name}: {}", error.value(py)));
        }
        error
    })
}

/// How the package names things.
struct Package<'a> {
    catalogue: &'a Catalogue,
    watch: &'a ProgressWatch,
}

impl Caller for Package<'_> {
    fn key(&self, name: &str) -> Result<KeyId> {
        crate::names::key(self.catalogue, name)
    }

    fn freezing(&self) {
        self.watch.tell("freeze", None, String::new);
    }
}

/// Runs what was `chosen` on the part of `snapshot` that `scope` names. `keys` are properties of vertices to put
/// beside them.
///
/// # Errors
/// `not_found` for names that there aren't; those of the algorithm.
pub fn run(
    snapshot: &Snapshot,
    chosen: &AlgorithmCall,
    scope: &ScopeNames,
    keys: &[String],
    watch: &ProgressWatch,
) -> Result<RecordBatch> {
    let catalogue = snapshot.names()?;
    let progress = |now: Progress| watch.tell(now.phase, Some(now.fraction), String::new);
    let control = Control::new(snapshot.budget()).with_cancel(&watch.cancel).with_progress(&progress);
    let keys = keys
        .iter()
        .map(|name| Ok((name, crate::names::key(&catalogue, name)?)))
        .collect::<Result<Vec<_>>>()?;
    let part = scope.scope(&catalogue)?;
    let package = Package { catalogue: &catalogue, watch };
    let input = Input::new(snapshot, &part, &package);
    let AlgorithmCall { algorithm, arguments } = chosen;
    let Answer { vertices, columns, figures, .. } = algorithm.run(&input, arguments, &control)?;
    let (mut table, mut memory) = table_of(algorithm, &vertices, columns, snapshot.budget())?;
    let owners = label_owners(&catalogue, &scope.labels)?;
    for (name, key) in keys {
        watch.tell("keys", None, || name.clone());
        push_vertex_property(&mut table, &mut memory, name, snapshot, &owners, &vertices, key, watch)?;
    }
    table.hold(memory);
    finished(table, figures, &input)
}

/// Runs what was `chosen` on a view of a packed graph, all of it.
///
/// # Errors
/// `invalid` for an algorithm that needs properties or look-ups; those of the algorithm.
pub fn run_packed(
    view: &Arc<PackedView>,
    chosen: &AlgorithmCall,
    watch: &ProgressWatch,
) -> Result<RecordBatch> {
    let progress = |now: Progress| watch.tell(now.phase, Some(now.fraction), String::new);
    let control = Control::new(&Unlimited).with_cancel(&watch.cancel).with_progress(&progress);
    let everything = Scope::default();
    let input = Input::of_packed(view, &everything, &PackedNames);
    let AlgorithmCall { algorithm, arguments } = chosen;
    let Answer { vertices, columns, figures, .. } = algorithm.run(&input, arguments, &control)?;
    let (mut table, memory) = table_of(algorithm, &vertices, columns, &Unlimited)?;
    table.hold(memory);
    finished(table, figures, &input)
}

/// How a packed graph names things: not at all.
struct PackedNames;

impl Caller for PackedNames {
    fn key(&self, name: &str) -> Result<KeyId> {
        Err(Error::new(
            ErrorKind::NotFound,
            format!("property {name}: edges of a packed graph have no properties"),
        ))
    }
}

/// The columns of an answer, and the memory that is reserved for them.
fn table_of<'a>(
    algorithm: &Algorithm,
    vertices: &[VertexId],
    columns: Vec<Column>,
    budget: &'a dyn Budget,
) -> Result<(TableBuilder, TableMemory<'a>)> {
    let mut table = TableBuilder::default();
    let mut memory = TableMemory::new(budget, "an algorithm's table");
    let row_bytes = size_of::<u64>() + columns.iter().map(value_bytes).sum::<usize>();
    memory.keep(vertices.len() as u64 * row_bytes as u64)?;
    let mut columns = columns.into_iter();
    for column in algorithm.columns {
        match column.kind {
            ColumnKind::Vertex => table.push(column.name, numbers(vertices)),
            _ => columns.next().into_iter().for_each(|found| table.push(column.name, answer_array(found))),
        }
    }
    Ok((table, memory))
}

/// The table, with figures and times as its notes.
fn finished(
    mut table: TableBuilder,
    figures: Vec<(&'static str, Figure)>,
    input: &Input<'_>,
) -> Result<RecordBatch> {
    let figures = figures.into_iter().filter(|(_, figure)| *figure != Figure::Nothing);
    figures.for_each(|(name, figure)| table.note(name, figure));
    table.note("freeze_seconds", input.freezing_time().as_secs_f64());
    table.note("kernel_seconds", input.kernel_time().as_secs_f64());
    table.finish()
}

/// All algorithms as the table has them, a dictionary each: what tests and tools hold the package's methods against.
#[pyfunction]
pub fn algorithms(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    ALGORITHMS.iter().map(|algorithm| described(py, algorithm)).collect()
}

fn described<'py>(py: Python<'py>, algorithm: &Algorithm) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("name", algorithm.name)?;
    dictionary.set_item("group", algorithm.group.title())?;
    dictionary.set_item("summary", algorithm.summary)?;
    dictionary.set_item("details", algorithm.details)?;
    let parameters = algorithm.parameters.iter().map(|parameter| described_parameter(py, parameter));
    dictionary.set_item("parameters", parameters.collect::<PyResult<Vec<_>>>()?)?;
    let columns = algorithm.columns.iter().map(|column| (column.name, type_name(column.kind)));
    dictionary.set_item("columns", columns.collect::<Vec<_>>())?;
    dictionary.set_item("figures", algorithm.figures)?;
    dictionary.set_item("time", algorithm.cost.time)?;
    dictionary.set_item("memory", algorithm.cost.memory)?;
    Ok(dictionary)
}

fn described_parameter<'py>(py: Python<'py>, parameter: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("name", parameter.name)?;
    dictionary.set_item("summary", parameter.summary)?;
    dictionary.set_item("required", parameter.default == DefaultValue::Required)?;
    match parameter.default {
        DefaultValue::Required | DefaultValue::Nothing(_) => dictionary.set_item("default", py.None())?,
        DefaultValue::Boolean(value) => dictionary.set_item("default", value)?,
        DefaultValue::Whole(number) => dictionary.set_item("default", number)?,
        DefaultValue::Real(number) => dictionary.set_item("default", number)?,
        DefaultValue::Direction(direction) => dictionary.set_item("default", direction_name(direction))?,
        DefaultValue::Property(name) => dictionary.set_item("default", name)?,
    }
    Ok(dictionary)
}
