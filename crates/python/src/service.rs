//! Services: Python functions that a query calls by `call()`.
//!
//! ```text
//! the query's thread          has the view, which it may not give away: it carries out what is asked of it
//! a thread for the function   has the GIL, and a `Graph`, whose methods ask the first thread and wait
//! ```
//!
//! So a function reads what the query sees, the writes of its transaction included, and nothing outlives the call: a
//! `Graph` that somebody keeps is closed. While the first thread waits it does what else the pool has to do, so that the
//! function may run queries of its own on other snapshots.
//!
//! What the function raises is the error of the query, as it is.

use crate::error::{exception, invalid};
use crate::item::{Names, classes};
use crate::names::{EdgeTuple, direction, edge};
use crate::read::{self, ItemName};
use crate::value::from_python;
use evergraph::graph::catalogue::Catalogue;
use evergraph::query::service::{Kind, Request, Service, Services};
use evergraph::query::value::map::ItemMap;
use evergraph::{Error, ErrorKind, GraphView, Item, Result, VertexId};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PySet, PyTuple};
use self_cell::self_cell;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long the query's thread waits for the function before it looks for other work.
const TICK: Duration = Duration::from_millis(1);

/// Collections inside collections, so deep at most.
const DEPTH_MAX: usize = 100;

type Texts<'a> = Vec<(&'a str, &'a str)>;

self_cell!(
    /// Names of parameters with what they mean.
    struct Parameters {
        owner: Vec<(String, String)>,
        #[covariant]
        dependent: Texts,
    }
);

/// A service as Python describes it: name, function, summary, kinds, parameters.
#[derive(FromPyObject)]
pub struct ServiceDescription(String, Py<PyAny>, String, Vec<String>, Vec<(String, String)>);

/// What is called: it takes a [`Graph`] and a list of requests (input, parameters), and answers a list of results each.
struct Function {
    function: Py<PyAny>,
    summary: String,
    kinds: Vec<Kind>,
    parameters: Parameters,
}

/// All services of a query.
///
/// # Errors
/// `InvalidError` for a kind that there isn't.
pub fn services(py: Python<'_>, described: &[ServiceDescription]) -> PyResult<Services> {
    let mut services = Services::default();
    for ServiceDescription(name, function, summary, kinds, parameters) in described {
        let kind = |kind: &String| match kind.as_str() {
            "start" => Ok(Kind::Start),
            "streaming" => Ok(Kind::Streaming),
            _ => {
                let text = format!("service {name}: kind {kind:?}: expected \"start\" or \"streaming\"");
                Err(invalid(py, text))
            }
        };
        let service = Function {
            function: function.clone_ref(py),
            summary: summary.clone(),
            kinds: kinds.iter().map(kind).collect::<PyResult<_>>()?,
            parameters: Parameters::new(parameters.clone(), |parameters| {
                parameters.iter().map(|(name, says)| (name.as_str(), says.as_str())).collect()
            }),
        };
        services = services.with(name.as_str(), service);
    }
    Ok(services)
}

impl Service for Function {
    fn summary(&self) -> &str {
        &self.summary
    }

    fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    fn parameters(&self) -> &[(&str, &str)] {
        self.parameters.borrow_dependent()
    }

    fn call(&self, graph: &dyn GraphView, requests: &[Request], found: &mut Vec<(u32, Item)>) -> Result<()> {
        let catalogue = graph.catalogue();
        let (asking, asked) = channel();
        let answers = thread::scope(|scope| {
            let catalogue = &catalogue;
            let calling = scope.spawn(move || {
                Python::attach(|py| {
                    let graph = Py::new(py, Graph { jobs: Mutex::new(Some(asking)) })?;
                    let called = self.answers(py, &graph, requests, catalogue);
                    graph.get().close();
                    called
                })
            });
            carry_out(&asked, graph);
            calling.join().map_err(|_| Error::invalid("an internal error ended the service"))
        })?;
        // Whoever raised it is raised again: an error of the library only carries it.
        let answers: Vec<Vec<Item>> =
            answers.map_err(|raised| Error::new(ErrorKind::Invalid, raised.to_string()).because(raised))?;
        for (row, items) in (0..).zip(answers) {
            found.extend(items.into_iter().map(|item| (row, item)));
        }
        Ok(())
    }
}

impl Function {
    /// What the function answers to each of `requests`.
    fn answers(
        &self,
        py: Python<'_>,
        graph: &Py<Graph>,
        requests: &[Request],
        catalogue: &Arc<Catalogue>,
    ) -> PyResult<Vec<Vec<Item>>> {
        let names = Names::with_vertex_ids(py, catalogue)?;
        let asked = requests.iter().map(|request| {
            let input = request.input.as_ref().map(|input| names.object(input)).transpose()?;
            let parameters = PyDict::new(py);
            for (key, value) in request.parameters.entries() {
                let name =
                    key.as_str().map_or_else(|| names.object(key), |name| name.into_bound_py_any(py))?;
                parameters.set_item(name, names.object(value)?)?;
            }
            Ok((input, parameters))
        });
        let asked = asked.collect::<PyResult<Vec<_>>>()?;
        let answers: Vec<Vec<Bound<'_, PyAny>>> = self.function.bind(py).call1((graph, asked))?.extract()?;
        let items = |all: &Vec<_>| all.iter().map(|object| item(object, catalogue, 0)).collect();
        answers.iter().map(items).collect()
    }
}

/// `object` as a query has it: a `VertexId` is a vertex, an `EdgeId` an edge.
fn item(object: &Bound<'_, PyAny>, catalogue: &Catalogue, depth: usize) -> PyResult<Item> {
    let py = object.py();
    if object.is_none() {
        return Ok(Item::Null);
    }
    if depth > DEPTH_MAX {
        return Err(invalid(py, format!("a result of a service is nested more than {DEPTH_MAX} deep")));
    }
    let inside = |object: Bound<'_, PyAny>| item(&object, catalogue, depth + 1);
    let classes = classes(py)?;
    if object.is_instance(classes.vertex.bind(py))? {
        return Ok(Item::Vertex(VertexId(object.extract()?)));
    }
    if object.is_instance(classes.edge.bind(py))? {
        return Ok(Item::Edge(edge(py, catalogue, &object.extract()?)?));
    }
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(Item::List(list.iter().map(inside).collect::<PyResult<Vec<_>>>()?.into()));
    }
    // Tuples with names are something else.
    if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        return Ok(Item::List(tuple.iter().map(inside).collect::<PyResult<Vec<_>>>()?.into()));
    }
    if object.cast::<PySet>().is_ok() || object.cast::<PyFrozenSet>().is_ok() {
        let items = object.try_iter()?.map(|object| inside(object?));
        return Ok(Item::Set(items.collect::<PyResult<Vec<_>>>()?.into()));
    }
    if let Ok(map) = object.cast::<PyDict>() {
        let mut made = ItemMap::default();
        for (key, value) in map {
            made.insert(inside(key)?, inside(value)?);
        }
        return Ok(Item::Map(Arc::new(made)));
    }
    from_python(object).map(Item::Value)
}

/// Something to do with the view.
type Job = Box<dyn FnOnce(&dyn GraphView) + Send>;

/// Does what is asked until nobody can ask any more.
fn carry_out(asked: &Receiver<Job>, view: &dyn GraphView) {
    loop {
        match asked.recv_timeout(TICK) {
            Ok(job) => job(view),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => _ = rayon::yield_now(),
        }
    }
}

/// What a service reads: the graph as its query sees it. Closed when the service returns.
#[pyclass(frozen, module = "evergraph._native")]
pub struct Graph {
    jobs: Mutex<Option<Sender<Job>>>,
}

fn closed(py: Python<'_>) -> PyErr {
    let text = "the service has returned, and with it the query may be over: use a snapshot instead";
    exception(py, "ClosedError", text)
}

impl Graph {
    fn close(&self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// What `work` answers on the thread that has the view.
    fn ask(
        &self,
        py: Python<'_>,
        work: impl FnOnce(Python<'_>, &dyn GraphView) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Py<PyAny>> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let jobs = jobs.ok_or_else(|| closed(py))?;
        let (answering, answered) = channel();
        let job = move |view: &dyn GraphView| {
            // Nobody waits if the thread that asked is gone.
            drop(answering.send(Python::attach(|py| work(py, view))));
        };
        let answer = py.detach(move || jobs.send(Box::new(job)).ok().and_then(|()| answered.recv().ok()));
        answer.unwrap_or_else(|| Err(closed(py)))
    }
}

#[pymethods]
impl Graph {
    #[getter]
    fn is_open(&self) -> bool {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn get(&self, py: Python<'_>, item: ItemName, key: String) -> PyResult<Py<PyAny>> {
        self.ask(py, move |py, view| read::get(py, view, &item, &key)?.into_py_any(py))
    }

    fn properties(&self, py: Python<'_>, item: ItemName) -> PyResult<Py<PyAny>> {
        self.ask(py, move |py, view| read::properties(py, view, &item)?.into_py_any(py))
    }

    fn has(&self, py: Python<'_>, item: ItemName) -> PyResult<Py<PyAny>> {
        self.ask(py, move |py, view| read::has(py, view, &item)?.into_py_any(py))
    }

    fn label(&self, py: Python<'_>, number: u64) -> PyResult<Py<PyAny>> {
        self.ask(py, move |py, view| read::label(py, view, number)?.into_py_any(py))
    }

    fn key_of(&self, py: Python<'_>, number: u64) -> PyResult<Py<PyAny>> {
        self.ask(py, move |py, view| read::key_of(py, view, number)?.into_py_any(py))
    }

    fn find(&self, py: Python<'_>, label: String, key: String, value: Py<PyAny>) -> PyResult<Py<PyAny>> {
        self.ask(py, move |py, view| read::find(py, view, &label, &key, value.bind(py))?.into_py_any(py))
    }

    fn find_all(&self, py: Python<'_>, label: String, key: String, value: Py<PyAny>) -> PyResult<Py<PyAny>> {
        self.ask(py, move |py, view| read::find_all(py, view, &label, &key, value.bind(py))?.into_py_any(py))
    }

    #[expect(clippy::too_many_arguments, reason = "what a range is, and how many of it")]
    fn range(
        &self,
        py: Python<'_>,
        label: String,
        key: String,
        start: Option<Bound<'_, PyAny>>,
        stop: Option<Bound<'_, PyAny>>,
        limit: usize,
        descending: bool,
    ) -> PyResult<Py<PyAny>> {
        let range = read::value_range(start.as_ref(), stop.as_ref(), descending)?;
        self.ask(py, move |py, view| read::range(py, view, &label, &key, &range, limit)?.into_py_any(py))
    }

    fn prefix(
        &self,
        py: Python<'_>,
        label: String,
        key: String,
        prefix: String,
        limit: usize,
    ) -> PyResult<Py<PyAny>> {
        self.ask(py, move |py, view| read::prefix(py, view, &label, &key, &prefix, limit)?.into_py_any(py))
    }

    fn edges_with(
        &self,
        py: Python<'_>,
        edge_type: String,
        key: String,
        value: Py<PyAny>,
    ) -> PyResult<Py<PyAny>> {
        self.ask(py, move |py, view| {
            read::edges_with(py, view, &edge_type, &key, value.bind(py))?.into_py_any(py)
        })
    }

    #[expect(clippy::too_many_arguments, reason = "what a range is, and how many of it")]
    fn edges_in_range(
        &self,
        py: Python<'_>,
        edge_type: String,
        key: String,
        start: Option<Bound<'_, PyAny>>,
        stop: Option<Bound<'_, PyAny>>,
        limit: usize,
        descending: bool,
    ) -> PyResult<Py<PyAny>> {
        let range = read::value_range(start.as_ref(), stop.as_ref(), descending)?;
        self.ask(py, move |py, view| {
            read::edges_in_range(py, view, &edge_type, &key, &range, limit)?.into_py_any(py)
        })
    }

    #[expect(clippy::too_many_arguments, reason = "what a range is, and how many of it")]
    fn newest_edges(
        &self,
        py: Python<'_>,
        number: u64,
        edge_type: String,
        key: String,
        start: Option<Bound<'_, PyAny>>,
        stop: Option<Bound<'_, PyAny>>,
        limit: usize,
    ) -> PyResult<Py<PyAny>> {
        let range = read::value_range(start.as_ref(), stop.as_ref(), false)?;
        self.ask(py, move |py, view| {
            read::newest_edges(py, view, number, &edge_type, &key, &range, limit)?.into_py_any(py)
        })
    }

    fn edges_of(&self, py: Python<'_>, number: u64, types: Vec<String>, side: &str) -> PyResult<Py<PyAny>> {
        let side = direction(py, side)?;
        self.ask(py, move |py, view| {
            let found: Vec<(EdgeTuple, u64)> = read::edges_of(py, view, number, &types, side)?;
            found.into_py_any(py)
        })
    }

    fn degree(&self, py: Python<'_>, number: u64, types: Vec<String>, side: &str) -> PyResult<Py<PyAny>> {
        let side = direction(py, side)?;
        self.ask(py, move |py, view| read::degree(py, view, number, &types, side)?.into_py_any(py))
    }
}
