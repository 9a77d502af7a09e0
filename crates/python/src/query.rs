//! Queries: Gremlin on a snapshot, in a transaction or on the database, and fetching the results.
//!
//! ```text
//! reads    begun, and then run for as many results as are asked for, on a share of the snapshot
//! writes   run to its end at once: what it writes must not depend on who looks at the results
//! ```
//!
//! In a transaction every query is run to its end, so that a loop over its results may write.

use crate::argument;
use crate::arrow_out::into_pyarrow;
use crate::error::{OrRaise, exception};
use crate::handle::ProcessLocal;
use crate::item::{Names, ObjectFactory};
use crate::long_call;
use crate::service::{ServiceDescription, services as services_of};
use crate::shared_snapshot::SharedSnapshot;
use crate::transaction_options::{seconds, transaction_options};
use evergraph::graph::cancel::CancelFlag;
use evergraph::graph::catalogue::Catalogue;
use evergraph::gremlin::elements::{ElementDetail, Elements};
use evergraph::gremlin::graph::DatabaseTarget;
use evergraph::gremlin::note::Notes;
use evergraph::gremlin::query::{self, Limits, Query};
use evergraph::gremlin::results;
use evergraph::protocol::graph_binary::bytecode_read::parse;
use evergraph::query::gremlin::bindings::Bindings;
use evergraph::query::gremlin::bytecode::Bytecode;
use evergraph::query::gremlin::parser::ParseLimits;
use evergraph::query::service::Services;
use evergraph::{Error, GraphView, Item, TransactionOptions};
use evergraph_arrow::result_table;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyList};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

/// Who makes objects of the elements in results, as [`ObjectFactory`] says, and whether with their properties.
#[derive(FromPyObject)]
pub struct ElementFactory(Py<PyAny>, bool);

/// What a query says: a text, or bytecode as GraphBinary.
#[derive(FromPyObject)]
pub enum QueryInput {
    /// Gremlin as text.
    Text(String),
    /// The instructions that gremlinpython wrote.
    Bytes(PyBackedBytes),
}

/// What a call says beside the query and its variables; what is `None` is as it is by default.
#[derive(FromPyObject)]
pub struct QuerySettings {
    #[pyo3(item)]
    timeout: Option<f64>,
    #[pyo3(item)]
    memory_limit: Option<u64>,
    #[pyo3(item)]
    services: Vec<ServiceDescription>,
    #[pyo3(item)]
    files: bool,
    #[pyo3(item)]
    isolation: Option<String>,
    #[pyo3(item)]
    making: Option<ElementFactory>,
    #[pyo3(item)]
    strict: bool,
}

/// A query as Python asks it.
pub struct PythonQuery {
    said: Read,
    bindings: Bindings,
    limits: Limits,
    services: Services,
    files: bool,
    /// Of the transaction of its own that it may have.
    options: TransactionOptions,
    making: Option<ElementFactory>,
    strict: bool,
    notes: Notes,
}

/// What a query says, once bytes are calls.
enum Read {
    Text(String),
    Bytecode(Bytecode),
}

impl PythonQuery {
    /// The query that says `said`.
    ///
    /// # Errors
    /// `InvalidError` for what no variable can be, for a setting that there isn't, and for bytes that are no bytecode;
    /// `LimitError` for those that pass a limit.
    pub fn new(
        said: QueryInput,
        variables: &Bound<'_, PyDict>,
        settings: QuerySettings,
        catalogue: &Catalogue,
    ) -> PyResult<Self> {
        let py = variables.py();
        let QuerySettings { timeout, memory_limit, services, files, isolation, making, strict } = settings;
        let mut limits = Limits::default();
        if let Some(timeout) = timeout {
            let endless = timeout == f64::INFINITY;
            limits.timeout = if endless { Duration::MAX } else { seconds(py, "timeout", timeout)? };
        }
        if let Some(bytes) = memory_limit {
            limits.memory_bytes = bytes;
        }
        let said = match said {
            QueryInput::Text(text) => Read::Text(text),
            QueryInput::Bytes(bytes) => {
                // These bytes aren't a stranger's, and large values lie in them, which a text has as variables.
                let limits = ParseLimits { text_bytes_max: usize::MAX, ..ParseLimits::default() };
                let bytecode = parse(&bytes, &limits).map_err(Error::from);
                Read::Bytecode(bytecode.or_raise(py)?)
            }
        };
        let bindings = argument::bindings(variables, catalogue)?;
        let services = services_of(py, &services)?;
        let options = transaction_options(py, isolation.as_deref(), None)?;
        let notes = Notes::default();
        Ok(Self { said, bindings, limits, services, files, options, making, strict, notes })
    }

    /// What it says.
    pub fn said(&self) -> query::QuerySource<'_> {
        match &self.said {
            Read::Text(text) => query::QuerySource::Text(text),
            Read::Bytecode(bytecode) => query::QuerySource::Bytecode(bytecode),
        }
    }

    /// What whoever makes elements must know of them, if anybody does.
    #[must_use]
    pub fn element_detail(&self) -> Option<ElementDetail> {
        let ElementFactory(_, properties) = self.making.as_ref()?;
        Some(if *properties { ElementDetail::PropertiesOfEnds } else { ElementDetail::Labels })
    }

    /// `query` with the variables, limits and services of this, whose notes come with its results.
    pub fn on<'q, G>(&self, query: Query<'q, G>) -> Query<'q, G> {
        let query = query.bindings(self.bindings.clone()).limits(self.limits).services(&self.services);
        query.files(self.files).strict(self.strict).notes(&self.notes)
    }

    /// This on `database`, which decides by the query.
    pub fn on_database<'q>(&'q self, database: &'q evergraph::Database) -> Query<'q, DatabaseTarget<'q>> {
        self.on(database.ask(self.said())).transaction(self.options)
    }
}

/// A query that runs, beside what it reads.
struct StreamingQuery {
    // First: its share of the snapshot is dropped before the database may close.
    running: results::Results<'static>,
    taken: Arc<SharedSnapshot>,
    /// What must be known of elements.
    detail: Option<ElementDetail>,
}

/// Where results come from.
enum Source {
    /// A query that runs.
    Streaming(Box<StreamingQuery>),
    /// One that was run.
    Made(std::vec::IntoIter<Item>),
    /// They were all fetched, or there was an error.
    Ended,
    /// Nobody wants more.
    Closed,
}

/// What has results to give.
struct ResultState {
    source: Source,
    /// The names of what is in them.
    catalogue: Arc<Catalogue>,
    cancel: CancelFlag,
    /// Who makes their elements, if anybody does.
    maker: Option<Py<PyAny>>,
    /// What is known of the elements of all results that were made, or of those that were fetched last.
    elements: Elements,
}

/// Fails once the snapshot that results are read from was closed.
pub type OpenCheck = Box<dyn Fn(Python<'_>) -> PyResult<()> + Send + Sync>;

/// The results of a query.
///
/// Concurrency: the lock is only tried, as that of a transaction.
#[pyclass(frozen, module = "evergraph._native")]
pub struct Results {
    fetching: ProcessLocal<Mutex<ResultState>>,
    /// Whether the snapshot that they are read from is open, if it is somebody's: they end with it.
    still_open: Option<OpenCheck>,
    /// What stands beside them.
    notes: Notes,
}

impl Results {
    /// Begins a query on `taken`; `still_open` tells whether whoever has it has closed it, if it is anybody's but the
    /// results'.
    ///
    /// # Errors
    /// `InvalidError` or `LimitError` for the text, with its place, and for a query that writes.
    pub fn reading(
        py: Python<'_>,
        taken: Arc<SharedSnapshot>,
        asked: PythonQuery,
        still_open: Option<OpenCheck>,
    ) -> PyResult<Self> {
        let cancel = CancelFlag::default();
        let catalogue = taken.snapshot().catalogue();
        let notes = asked.notes.clone();
        let maker = asked.making.as_ref().map(|ElementFactory(maker, _)| maker.clone_ref(py));
        let begun = py.detach(|| {
            let query = Query::shared(taken.share(), asked.said());
            let running = asked.on(query).cancel(&cancel).iter()?;
            Ok(Box::new(StreamingQuery { running, taken, detail: asked.element_detail() }))
        });
        let source = Source::Streaming(begun.or_raise(py)?);
        let fetching = ResultState { source, catalogue, cancel, maker, elements: Elements::default() };
        Ok(Self { fetching: ProcessLocal::new(Mutex::new(fetching)), still_open, notes })
    }

    /// The results of a query that was run, with what [`PythonQuery::element_detail`] says of their elements.
    #[must_use]
    pub fn made(asked: PythonQuery, items: Vec<Item>, elements: Elements, catalogue: Arc<Catalogue>) -> Self {
        let source = Source::Made(items.into_iter());
        let maker = asked.making.map(|ElementFactory(maker, _)| maker);
        let fetching = ResultState { source, catalogue, cancel: CancelFlag::default(), maker, elements };
        Self { fetching: ProcessLocal::new(Mutex::new(fetching)), still_open: None, notes: asked.notes }
    }

    fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&mut ResultState) -> PyResult<T>) -> PyResult<T> {
        match self.fetching.get(py)?.try_lock() {
            Ok(mut fetching) => work(&mut fetching),
            Err(TryLockError::Poisoned(_)) => Err(exception(
                py,
                "ClosedError",
                "an internal error ended these results: run the query again",
            )),
            Err(TryLockError::WouldBlock) => {
                let text = "another thread is fetching these results: they belong to one thread at a time";
                Err(exception(py, "BusyError", text))
            }
        }
    }

    /// Ends them if the snapshot that they are read from was closed.
    fn check(&self, py: Python<'_>, fetching: &mut ResultState) -> PyResult<()> {
        if matches!(fetching.source, Source::Closed) {
            return Err(exception(py, "ClosedError", "these results were closed: run the query again"));
        }
        let Some(still_open) = &self.still_open else { return Ok(()) };
        if !matches!(fetching.source, Source::Streaming(_)) {
            return Ok(());
        }
        still_open(py).map_err(|_| {
            // The share of the results may be the last one.
            let _ = fetching.end(py, Source::Closed);
            let text = "the snapshot that these results are read from was closed: fetch them before, as with to_list()";
            exception(py, "SnapshotClosed", text)
        })
    }
}

impl ResultState {
    /// Lets go of what the results were read from.
    fn end(&mut self, py: Python<'_>, end: Source) -> PyResult<()> {
        let before = std::mem::replace(&mut self.source, end);
        py.detach(|| match before {
            Source::Streaming(streaming) => {
                let StreamingQuery { running, taken, .. } = *streaming;
                drop(running);
                taken.let_go()
            }
            _ => Ok(()),
        })
        .or_raise(py)
    }

    /// `items` as Python has them.
    fn objects<'py>(&self, py: Python<'py>, items: &[Item]) -> PyResult<Bound<'py, PyList>> {
        let elements = &self.elements;
        let maker =
            self.maker.as_ref().map(|maker| ObjectFactory { object: maker.bind(py).clone(), elements });
        let names = Names::new(py, &self.catalogue, maker)?;
        PyList::new(py, items.iter().map(|item| names.object(item)).collect::<PyResult<Vec<_>>>()?)
    }

    /// The next results, at most `most`; fewer are the last ones.
    fn fetch(&mut self, py: Python<'_>, most: usize) -> PyResult<Vec<Item>> {
        let found = match &mut self.source {
            Source::Made(items) => Ok(items.by_ref().take(most).collect()),
            Source::Ended | Source::Closed => return Ok(Vec::new()),
            Source::Streaming(streaming) => long_call::run_until(py, None, self.cancel.clone(), |_| {
                let StreamingQuery { running, detail, .. } = &mut **streaming;
                let items = running.next_items(most)?;
                let elements = detail.map(|detail| running.elements(&items, detail));
                Ok((items, elements.transpose()?.unwrap_or_default()))
            })
            .map(|(items, elements)| {
                self.elements = elements;
                items
            }),
        };
        let ended = found.as_ref().map_or(true, |found| found.len() < most);
        if ended {
            self.end(py, Source::Ended)?;
        }
        found
    }
}

#[pymethods]
impl Results {
    /// The next results, at most `most`; `None` after the last one.
    fn fetch<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Option<Bound<'py, PyList>>> {
        self.with(py, |fetching| {
            self.check(py, fetching)?;
            let items = fetching.fetch(py, most)?;
            if items.is_empty() {
                return Ok(None);
            }
            fetching.objects(py, &items).map(Some)
        })
    }

    /// The next results, at most `most`, if they were made already; they stay the next ones. `None` if something would
    /// have to run for them.
    fn peek<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Option<Bound<'py, PyList>>> {
        self.with(py, |fetching| {
            let Source::Made(items) = &fetching.source else { return Ok(None) };
            let items = items.as_slice();
            fetching.objects(py, &items[..most.min(items.len())]).map(Some)
        })
    }

    /// All results as a table.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.with(py, |fetching| {
            self.check(py, fetching)?;
            let items = fetching.fetch(py, usize::MAX)?;
            let catalogue = &fetching.catalogue;
            let table = long_call::run(py, None, |_| result_table::table(&items, catalogue))?;
            into_pyarrow(py, table)
        })
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |fetching| fetching.end(py, Source::Closed))
    }

    /// What stands beside the results; the next time nothing.
    fn notes(&self) -> Vec<String> {
        self.notes.take().iter().map(ToString::to_string).collect()
    }

    #[getter]
    fn is_open(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |fetching| Ok(!matches!(fetching.source, Source::Closed)))
    }
}
