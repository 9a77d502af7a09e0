//! `Database`: opening, transactions, snapshots, indexes, imports and upkeep.

use crate::bulk;
use crate::error::{OrRaise, exception, raised};
use crate::export;
use crate::handle::{OpenDatabase, ProcessLocal};
use crate::import;
use crate::long_call::{self, fraction};
use crate::open_settings::{self, OpenSettings};
use crate::query::{PythonQuery, QueryInput, QuerySettings, Results};
use crate::shared_snapshot::SharedSnapshot;
use crate::snapshot::Snapshot;
use crate::statistics::statistics;
use crate::transaction::Transaction;
use crate::transaction_options::{freshness, transaction_options};
use evergraph::graph::cancel::CancelFlag;
use evergraph::graph::count::Count;
use evergraph::graph::index::IndexState;
use evergraph::gremlin::elements::Elements;
use evergraph::gremlin::query::Limits;
use evergraph::query::execute::limits::Charge;
use evergraph::{
    Error, ErrorKind, Freeze as _, Freshness, GraphView, IndexKind, IndexOptions, OwnerName, VertexId,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A handle of an open database.
#[pyclass(frozen, module = "evergraph._native")]
pub struct Database {
    open: ProcessLocal<Mutex<Option<Arc<OpenDatabase>>>>,
}

impl Database {
    /// A handle.
    #[must_use]
    pub fn of(open: Arc<OpenDatabase>) -> Self {
        Self { open: ProcessLocal::new(Mutex::new(Some(open))) }
    }

    fn open(&self, py: Python<'_>) -> PyResult<Arc<OpenDatabase>> {
        let open = self.open.get(py)?.lock().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| exception(py, "DatabaseClosed", "this handle of the database was closed"))
    }
}

/// A new database in memory, or the one at a path.
///
/// # Errors
/// Those of opening.
#[pyfunction]
pub fn open(
    py: Python<'_>,
    path: Option<PathBuf>,
    settings: OpenSettings,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Database> {
    let options = settings.options(py)?;
    let settings = settings.in_words();
    let open = long_call::run(py, progress, |watch| {
        let Some(path) = path else { return OpenDatabase::in_memory(&options, settings) };
        watch.tell("open", None, String::new);
        OpenDatabase::at(&path, &options, settings)
    })?;
    Ok(Database::of(open))
}

/// Checks the files of a database that is not open, then its graph.
///
/// # Errors
/// Those of opening. Damage is a finding.
#[pyfunction]
pub fn check_files<'py>(
    py: Python<'py>,
    path: PathBuf,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let found = long_call::run(py, progress, |watch| {
        evergraph::Database::check_files(&path, &mut |what, done, total| told(watch, what, done, total))
    })?;
    report(py, &found)
}

/// Writes the verified data of a damaged database, which must not be open, to a new one.
///
/// # Errors
/// Those of [`evergraph::Database::salvage`].
#[pyfunction]
pub fn salvage<'py>(
    py: Python<'py>,
    path: PathBuf,
    target: PathBuf,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let saved = long_call::run(py, progress, |watch| {
        let mut tell = |what: &str, done, total| told(watch, what, done, total);
        evergraph::Database::salvage(&path, &target, &mut tell)
    })?;
    let report = PyDict::new(py);
    report.set_item("complete", saved.is_complete())?;
    report.set_item("vertices", saved.vertices_count)?;
    report.set_item("edges", saved.edges_count)?;
    report.set_item("bytes_written", saved.bytes_written)?;
    report.set_item("through", saved.through.0)?;
    let losses: Vec<&str> = saved.losses.iter().map(|loss| loss.problem.as_str()).collect();
    report.set_item("losses", losses)?;
    report.set_item("commits_left", saved.left.count)?;
    Ok(report)
}

/// The kind of index with this name.
///
/// # Errors
/// `InvalidError` for another name.
pub fn index_kind(py: Python<'_>, name: &str) -> PyResult<IndexKind> {
    name.parse().map_err(|text: String| raised(py, &Error::invalid(text)))
}

/// What `begin` begins at `freshness`, without the GIL. In a cluster that may wait for the log until Ctrl-C.
fn begun<T: Send>(
    py: Python<'_>,
    open: Arc<OpenDatabase>,
    freshness: Freshness,
    begin: impl FnOnce(Arc<OpenDatabase>) -> evergraph::Result<T> + Send,
) -> PyResult<T> {
    match freshness != Freshness::Applied && open.database().is_on_cluster() {
        true => long_call::wait(py, || begin(open)),
        false => py.detach(|| begin(open)).or_raise(py),
    }
}

fn told(watch: &long_call::ProgressWatch, what: &str, done: u64, total: u64) -> ControlFlow<()> {
    watch.tell(what, fraction(done, total), String::new);
    if watch.cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn report<'py>(
    py: Python<'py>,
    found: &evergraph::storage::checkpoint::report::Report,
) -> PyResult<Bound<'py, PyDict>> {
    let report = PyDict::new(py);
    let findings: Vec<String> =
        found.findings.iter().map(|finding| format!("{}: {}", finding.place, finding.problem)).collect();
    report.set_item("findings", findings)?;
    report.set_item("findings_count", found.findings_count)?;
    report.set_item("vertices", found.vertices_count)?;
    report.set_item("edges", found.edges_count)?;
    report.set_item("bytes_read", found.bytes_count)?;
    report.set_item("indexed_values", found.indexed_values_count)?;
    Ok(report)
}

#[pymethods]
impl Database {
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<Option<PathBuf>> {
        Ok(self.open(py)?.database().path().map(ToOwned::to_owned))
    }

    #[getter]
    fn engine(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.open(py)?.database().engine().name())
    }

    #[getter]
    fn read_only(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.open(py)?.database().is_read_only())
    }

    #[getter]
    fn writer_process(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(self.open(py)?.database().writer_process())
    }

    #[getter]
    fn durability(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.open(py)?.setting("durability").to_owned())
    }

    #[getter]
    fn is_open(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.open.get(py)?.lock().unwrap_or_else(PoisonError::into_inner).is_some())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.get(py)?.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(open) = open else { return Ok(()) };
        py.detach(|| OpenDatabase::let_go(open)).or_raise(py)
    }

    fn begin(
        &self,
        py: Python<'_>,
        isolation: Option<&str>,
        timeout: Option<f64>,
        fresh: bool,
        after: Option<u64>,
    ) -> PyResult<Transaction> {
        let freshness = freshness(py, fresh, after)?;
        let options = transaction_options(py, isolation, timeout)?.freshness(freshness);
        begun(py, self.open(py)?, freshness, |open| Transaction::begin(open, options))
    }

    /// Calls `attempt(transaction)`, which commits it, again and again until it doesn't raise `ConflictError`.
    fn transact(
        &self,
        py: Python<'_>,
        attempt: Py<PyAny>,
        isolation: Option<&str>,
        timeout: Option<f64>,
        fresh: bool,
        after: Option<u64>,
    ) -> PyResult<Py<PyAny>> {
        let freshness = freshness(py, fresh, after)?;
        let options = transaction_options(py, isolation, timeout)?.freshness(freshness);
        let open = self.open(py)?;
        let conflict = py.import("evergraph.errors")?.getattr("ConflictError")?.unbind();
        let mut said = None;
        let done = py.detach(|| {
            open.database().retrying(options, |transaction| {
                Python::attach(|py| {
                    let transaction = Transaction::of(Arc::clone(&open), transaction);
                    let outcome =
                        Py::new(py, transaction).and_then(|transaction| attempt.call1(py, (transaction,)));
                    outcome.map_err(|error| {
                        let again = error.is_instance(py, conflict.bind(py));
                        said = Some(error);
                        let kind = if again { ErrorKind::Conflict } else { ErrorKind::Invalid };
                        Error::new(kind, "what was raised says more")
                    })
                })
            })
        });
        done.map_err(|error| said.unwrap_or_else(|| raised(py, &error)))
    }

    fn snapshot(&self, py: Python<'_>, fresh: bool, after: Option<u64>) -> PyResult<Snapshot> {
        let freshness = freshness(py, fresh, after)?;
        begun(py, self.open(py)?, freshness, |open| Snapshot::take(open, freshness))
    }

    /// What became of a transaction whose outcome was unknown: its commit, or nothing.
    fn settle(&self, py: Python<'_>, transaction: &str) -> PyResult<Option<u64>> {
        let open = self.open(py)?;
        let commit = transaction.parse().or_raise(py)?;
        let committed = long_call::wait(py, || open.database().settle(commit))?;
        Ok(committed.map(|timestamp| timestamp.0))
    }

    /// A query: on a snapshot that the results hold if it only reads, else in a transaction of its own, and committed.
    fn query(
        &self,
        py: Python<'_>,
        said: QueryInput,
        variables: &Bound<'_, PyDict>,
        settings: QuerySettings,
    ) -> PyResult<Results> {
        let open = self.open(py)?;
        let asked = PythonQuery::new(said, variables, settings, &open.database().store().catalogue())?;
        let plan = py.detach(|| asked.on_database(open.database()).plan()).or_raise(py)?;
        if !plan.writes && plan.io().is_none() {
            let taken = py.detach(|| SharedSnapshot::new(open, Freshness::Applied));
            return Results::reading(py, taken, asked, None);
        }
        let run = |watch: &long_call::ProgressWatch| {
            asked.on_database(open.database()).cancel(&watch.cancel).items()
        };
        let items = long_call::run(py, None, run)?;
        // It is committed: what others did since is seen, too.
        let elements = asked.element_detail().map(|detail| {
            py.detach(|| {
                let snapshot = open.database().snapshot();
                let mut charge = Charge::new(Limits::default(), CancelFlag::default(), snapshot.budget());
                Elements::read(&snapshot, &items, detail, &mut charge)
            })
        });
        let elements = elements.transpose().or_raise(py)?.unwrap_or_default();
        Ok(Results::made(asked, items, elements, open.database().store().catalogue()))
    }

    /// What a query would do, as a table for people.
    fn explain(
        &self,
        py: Python<'_>,
        said: QueryInput,
        variables: &Bound<'_, PyDict>,
        settings: QuerySettings,
    ) -> PyResult<String> {
        let open = self.open(py)?;
        let asked = PythonQuery::new(said, variables, settings, &open.database().store().catalogue())?;
        let explained = py.detach(|| asked.on_database(open.database()).explain());
        Ok(explained.or_raise(py)?.to_string())
    }

    /// What each step of a query did, as a table for people. One that writes is committed.
    fn profile(
        &self,
        py: Python<'_>,
        said: QueryInput,
        variables: &Bound<'_, PyDict>,
        settings: QuerySettings,
    ) -> PyResult<String> {
        let open = self.open(py)?;
        let asked = PythonQuery::new(said, variables, settings, &open.database().store().catalogue())?;
        let run = |watch: &long_call::ProgressWatch| {
            asked.on_database(open.database()).cancel(&watch.cancel).profile()
        };
        Ok(long_call::run(py, None, run)?.to_string())
    }

    #[expect(clippy::too_many_arguments, reason = "what an index is, and who watches")]
    fn create_index(
        &self,
        py: Python<'_>,
        name: &str,
        of_edges: bool,
        key: &str,
        kind: &str,
        unique: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let open = self.open(py)?;
        let kind = index_kind(py, kind)?;
        let mut options =
            if of_edges { IndexOptions::on_edges(name, key) } else { IndexOptions::on_label(name, key) };
        options = options.of_kind(kind);
        options = if unique { options.unique() } else { options };
        long_call::run(py, progress, |watch| {
            let told = |now: evergraph::storage::indexing::IndexProgress| {
                let part = fraction(now.groups_done.into(), now.groups_count.into());
                watch.tell("index", part, || format!("{} entries", now.entries));
            };
            open.database().create_index_with(&options, &told, &watch.cancel)
        })
    }

    fn delete_vertex_in_parts(
        &self,
        py: Python<'_>,
        vertex: u32,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let open = self.open(py)?;
        long_call::run(py, progress, |watch| {
            let told = |deleted| watch.tell("delete", None, || format!("{} edges", Count(deleted)));
            open.database().delete_vertex_in_parts_with(VertexId(vertex), &told, &watch.cancel)
        })
    }

    fn drop_index(
        &self,
        py: Python<'_>,
        name: &str,
        of_edges: bool,
        key: &str,
        kind: Option<&str>,
    ) -> PyResult<()> {
        let open = self.open(py)?;
        let kind = kind.map(|kind| index_kind(py, kind)).transpose()?;
        let owner = if of_edges { OwnerName::EdgeType(name) } else { OwnerName::Label(name) };
        long_call::run(py, None, |_| open.database().drop_index(owner, key, kind))
    }

    fn indexes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let open = self.open(py)?;
        let read = || -> evergraph::Result<_> {
            GraphView::check_begun(&open.database().snapshot())?;
            Ok(open.database().indexes())
        };
        let each = py.detach(read).or_raise(py)?.into_iter().map(|index| {
            let entry = PyDict::new(py);
            entry.set_item("name", index.owner)?;
            entry.set_item("of", if index.of_edges { "edges" } else { "vertices" })?;
            entry.set_item("key", index.key)?;
            entry.set_item("kind", index.kind.name())?;
            entry.set_item("unique", index.unique)?;
            entry.set_item("ready", index.state == IndexState::Ready)?;
            entry.set_item("entries", index.entries)?;
            entry.set_item("bytes", index.bytes)?;
            entry.set_item("file_bytes", index.file_bytes)?;
            Ok(entry)
        });
        each.collect()
    }

    fn add_vertices(
        &self,
        py: Python<'_>,
        label: &str,
        table: bulk::Table,
        unique_key: Option<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(u64, u64)> {
        let open = self.open(py)?;
        long_call::run(py, progress, |watch| {
            bulk::load_vertices(open.database(), label, &table, unique_key, watch)
        })
    }

    fn add_edges(
        &self,
        py: Python<'_>,
        edge_type: &str,
        edges: bulk::EdgeColumns,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let open = self.open(py)?;
        long_call::run(py, progress, |watch| bulk::load_edges(open.database(), edge_type, &edges, watch))
    }

    fn import_files<'py>(
        &self,
        py: Python<'py>,
        files: Vec<import::FileName>,
        settings: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let open = self.open(py)?;
        let wanted = import::ImportRequest::new(py, files, settings)?;
        let report = long_call::run(py, progress, |watch| wanted.import(open.database(), watch))?;
        import::report(py, &report)
    }

    /// The mapping file that says how files would be imported.
    fn propose_mapping(
        &self,
        py: Python<'_>,
        files: Vec<import::FileName>,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<String> {
        let open = self.open(py)?;
        let wanted = import::ImportRequest::new(py, files, settings)?;
        long_call::run(py, None, |_| wanted.propose(open.database()))
    }

    fn export<'py>(
        &self,
        py: Python<'py>,
        settings: export::ExportSettings,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let open = self.open(py)?;
        let options = settings.options(py)?;
        let written = long_call::run(py, progress, |watch| export::export(open.database(), options, watch))?;
        export::report(py, &written)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let open = self.open(py)?;
        let found = long_call::run(py, None, |_| open.database().statistics())?;
        statistics(py, &found)
    }

    fn check<'py>(
        &self,
        py: Python<'py>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let open = self.open(py)?;
        let found = long_call::run(py, progress, |watch| {
            open.database().check(&mut |what, done, total| told(watch, what, done, total))
        })?;
        report(py, &found)
    }

    fn backup<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let open = self.open(py)?;
        let made = long_call::run(py, progress, |watch| {
            open.database().backup(&path, &mut |now| told(watch, "copy", now.bytes_done, now.bytes_total))
        })?;
        let report = PyDict::new(py);
        report.set_item("vertices", made.vertices_count)?;
        report.set_item("edges", made.edges_count)?;
        report.set_item("bytes_written", made.bytes_written)?;
        Ok(report)
    }

    fn convert<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        engine: &str,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (open, engine) = (self.open(py)?, open_settings::engine(py, engine)?);
        let made = long_call::run(py, progress, |watch| {
            open.database().convert(&path, engine, &mut |what, done, total| told(watch, what, done, total))
        })?;
        let report = PyDict::new(py);
        report.set_item("vertices", made.vertices_count)?;
        report.set_item("edges", made.edges_count)?;
        report.set_item("bytes_written", made.bytes_written)?;
        Ok(report)
    }

    fn checkpoint(&self, py: Python<'_>) -> PyResult<u64> {
        let open = self.open(py)?;
        Ok(long_call::run(py, None, |_| open.database().checkpoint())?.bytes_written)
    }
}
