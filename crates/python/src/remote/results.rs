//! `RemoteResults`: results of a query on a server, fetched as they come.

use crate::arrow_out::into_pyarrow;
use crate::error::{OrRaise, exception};
use crate::handle::ProcessLocal;
use crate::remote::received::{ReceivedObjects, SeenTypes, item_of};
use crate::remote::signals::Signals;
use evergraph::graph::catalogue::Catalogue;
use evergraph::protocol::result::result_value::ResultValue;
use evergraph::{Item, Result};
use evergraph_arrow::result_table::table;
use evergraph_client::results::Results;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Arc, Mutex, TryLockError};

/// Where results come from.
enum Source {
    /// A server, which sends them as they are read.
    Server(Box<Results<'static>>),
    /// A query that was run.
    Made(std::vec::IntoIter<ResultValue>),
    /// They were all fetched, or there was an error.
    Ended,
    /// Nobody wants more.
    Closed,
}

struct Fetching {
    source: Source,
    signals: Signals,
}

/// The results of a query on a server.
///
/// Concurrency: the lock is only tried, as that of results of a database in this process.
#[pyclass(frozen, module = "evergraph._native")]
pub struct RemoteResults {
    fetching: ProcessLocal<Mutex<Fetching>>,
    types: Arc<SeenTypes>,
    notes: Mutex<Vec<String>>,
}

impl RemoteResults {
    /// Results that the server sends as they are read.
    #[must_use]
    pub fn streaming(mut results: Results<'static>, signals: Signals, types: Arc<SeenTypes>) -> Self {
        let notes = results.take_warnings();
        Self::new(Source::Server(Box::new(results)), notes, signals, types)
    }

    /// Results that all came.
    #[must_use]
    pub fn made(results: Vec<ResultValue>, notes: Vec<String>, types: Arc<SeenTypes>) -> Self {
        Self::new(Source::Made(results.into_iter()), notes, Signals::new(), types)
    }

    fn new(source: Source, notes: Vec<String>, signals: Signals, types: Arc<SeenTypes>) -> Self {
        let fetching = Fetching { source, signals };
        // The first line says it; below it stands the text.
        let first_line = |note: String| note.lines().next().unwrap_or_default().to_owned();
        let notes = Mutex::new(notes.into_iter().map(first_line).collect());
        Self { fetching: ProcessLocal::new(Mutex::new(fetching)), types, notes }
    }

    fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&mut Fetching) -> PyResult<T>) -> PyResult<T> {
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
}

impl Fetching {
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        match self.source {
            Source::Closed => {
                Err(exception(py, "ClosedError", "these results were closed: run the query again"))
            }
            _ => Ok(()),
        }
    }

    /// The next results, at most `most`; fewer are the last ones.
    fn fetch(&mut self, py: Python<'_>, most: usize) -> PyResult<Vec<ResultValue>> {
        let found = match &mut self.source {
            Source::Made(results) => Ok(results.by_ref().take(most).collect()),
            Source::Ended | Source::Closed => return Ok(Vec::new()),
            Source::Server(results) => self.signals.run(py, || results.next_values(most)),
        };
        let has_ended = found.as_ref().map_or(true, |found: &Vec<ResultValue>| found.len() < most);
        if has_ended {
            self.end(py, Source::Ended);
        }
        found
    }

    /// Gives the connection back.
    fn end(&mut self, py: Python<'_>, end: Source) {
        let before = std::mem::replace(&mut self.source, end);
        py.detach(|| drop(before));
    }
}

#[pymethods]
impl RemoteResults {
    /// The next results, at most `most`; `None` after the last one.
    fn fetch<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Option<Bound<'py, PyList>>> {
        self.with(py, |fetching| {
            fetching.check(py)?;
            let values = fetching.fetch(py, most)?;
            if values.is_empty() {
                return Ok(None);
            }
            objects(py, &values, &self.types).map(Some)
        })
    }

    /// The next results, at most `most`, if they came already; they stay the next ones. `None` if a server would be asked.
    fn peek<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Option<Bound<'py, PyList>>> {
        self.with(py, |fetching| {
            let Source::Made(values) = &fetching.source else { return Ok(None) };
            let values = values.as_slice();
            objects(py, &values[..most.min(values.len())], &self.types).map(Some)
        })
    }

    /// All results as a table.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.with(py, |fetching| {
            fetching.check(py)?;
            let values = fetching.fetch(py, usize::MAX)?;
            let types = &self.types;
            let table = py.detach(|| {
                let items = values.into_iter().map(|value| item_of(value, types, 0));
                let items = items.collect::<Result<Vec<Item>>>()?;
                table(&items, &types.catalogue())
            });
            into_pyarrow(py, table.or_raise(py)?)
        })
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |fetching| {
            fetching.end(py, Source::Closed);
            Ok(())
        })
    }

    /// What stands beside the results; the next time nothing.
    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    #[getter]
    fn is_open(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |fetching| Ok(!matches!(fetching.source, Source::Closed)))
    }
}

fn objects<'py>(py: Python<'py>, values: &[ResultValue], types: &SeenTypes) -> PyResult<Bound<'py, PyList>> {
    let none = Catalogue::default();
    let objects = ReceivedObjects::new(py, &none, types)?;
    PyList::new(py, values.iter().map(|value| objects.object(value)).collect::<PyResult<Vec<_>>>()?)
}
