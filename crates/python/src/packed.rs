//! `PackedGraph` and its views: raw edges in one array on persistent memory, beside databases.
//!
//! ```text
//! PackedGraph   both sides of the graph, until it is shut down
//! PackedView    a moment of it, until it is closed or collected: lists, degrees, algorithms by name
//! ```

use crate::algorithms::{self, AlgorithmCall};
use crate::arrow_out::into_pyarrow;
use crate::error::{OrRaise, exception, invalid};
use crate::handle::ProcessLocal;
use crate::long_call;
use crate::names::{ScopeArgument, direction};
use evergraph::analysis::lists::PackedView as Lists;
use evergraph::analysis::names::ScopeNames;
use evergraph::graph::count::Count;
use evergraph::graph::topology::{PieceBuffer, Topology as _, Visit};
use evergraph::storage::io::dax::Emulation;
use evergraph::storage::io::memory::MemoryDirectory;
use evergraph::storage::io::write_unit::WriteUnit;
use evergraph::{Error, ErrorKind, Result};
use evergraph_packed::both_sides::BothSides;
use evergraph_packed::graph::Statistics;
use evergraph_packed::memory::file::FileMemory;
use evergraph_packed::memory::region::{Domain, Memory as _};
use evergraph_packed::options::Options;
use evergraph_packed::recovery::{Found, Reopening};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// Edges between looks for Ctrl-C.
const EDGES_AT_ONCE: usize = 1 << 14;

/// How a packed graph is opened.
#[derive(FromPyObject)]
pub struct PackedSettings {
    #[pyo3(item)]
    create: bool,
    #[pyo3(item)]
    vertices: u32,
    #[pyo3(item)]
    edges: u64,
    #[pyo3(item)]
    log_records: u32,
    #[pyo3(item)]
    emulate_dax: bool,
    #[pyo3(item)]
    caches_persist: bool,
    #[pyo3(item)]
    scan: bool,
}

/// A packed graph that is open.
///
/// Concurrency: calls share it; a shutdown waits for those that run.
#[pyclass(frozen, module = "evergraph._native")]
pub struct PackedGraph {
    open: ProcessLocal<RwLock<Option<BothSides<FileMemory>>>>,
    /// How it was found.
    #[pyo3(get)]
    found: &'static str,
}

/// A view of a packed graph.
#[pyclass(frozen, module = "evergraph._native")]
pub struct PackedView {
    open: ProcessLocal<RwLock<Option<Arc<Lists>>>>,
}

/// Opens or creates the packed graph in a folder, or one in memory.
///
/// # Errors
/// `NotFoundError` if there is none and it shall not be created; `BusyError` if another process has it;
/// `IoError` if the folder is not on persistent memory and its emulation isn't demanded; `CorruptionError`.
#[pyfunction]
pub fn packed_graph(
    py: Python<'_>,
    path: Option<PathBuf>,
    settings: PackedSettings,
) -> PyResult<PackedGraph> {
    let (graph, found) = long_call::run(py, None, |_| open(path.as_deref(), &settings))?;
    Ok(PackedGraph { open: ProcessLocal::new(RwLock::new(Some(graph))), found })
}

fn open(path: Option<&Path>, settings: &PackedSettings) -> Result<(BothSides<FileMemory>, &'static str)> {
    let domain = if settings.caches_persist { Domain::Eadr } else { Domain::Adr };
    let emulation = if settings.emulate_dax { Emulation::Demanded } else { Emulation::Refused };
    let options = Options {
        vertices: settings.vertices,
        edges: settings.edges,
        log_records: settings.log_records,
        ..Options::default()
    };
    let side = |name: &str| match path {
        None => {
            let memory = MemoryDirectory::new(name).with_unit(WriteUnit::LINE);
            FileMemory::on(Arc::new(memory), domain)
        }
        Some(path) if settings.create => FileMemory::create(&path.join(name), emulation, domain),
        Some(path) => FileMemory::open(&path.join(name), emulation, domain),
    };
    let (out, incoming) = (side("out")?, side("in")?);
    // A creation that was interrupted left no side out.
    if settings.create && out.numbers()?.is_empty() {
        return Ok((BothSides::create(out, incoming, &options)?, "created"));
    }
    let reopening = if settings.scan { Reopening::Scan } else { Reopening::Saved };
    match BothSides::open(out, incoming, reopening)? {
        (graph, Found::ShutDown) => Ok((graph, "shut down")),
        (graph, _) => Ok((graph, "scanned")),
    }
}

impl PackedGraph {
    /// Does something without the GIL.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&BothSides<FileMemory>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let open = self.open.get(py)?;
        let done = py.detach(|| open.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(work));
        done.ok_or_else(|| shut_down(py))?.or_raise(py)
    }
}

fn shut_down(py: Python<'_>) -> PyErr {
    exception(py, "DatabaseClosed", "the packed graph was shut down: open it again")
}

/// The error of an insertion, with how many came before it.
fn so_far(error: Error, done: usize, total: usize) -> Error {
    error.context(format!("{} of {} edges are inserted", Count(done as u64), Count(total as u64)))
}

fn statistics_dictionary<'py>(
    py: Python<'py>,
    [out, incoming]: [Statistics; 2],
) -> PyResult<Bound<'py, PyDict>> {
    let sum = |field: fn(&Statistics) -> u64| field(&out) + field(&incoming);
    let dictionary = PyDict::new(py);
    dictionary.set_item("vertices", out.vertices)?;
    dictionary.set_item("edges", out.edges)?;
    dictionary.set_item("bytes", sum(|side| side.bytes))?;
    dictionary.set_item("slots", sum(|side| side.slots))?;
    dictionary.set_item("used_slots", sum(|side| side.used_slots))?;
    dictionary.set_item("inserted_into_gaps", sum(|side| side.inserted_into_gaps))?;
    dictionary.set_item("inserted_into_logs", sum(|side| side.inserted_into_logs))?;
    dictionary.set_item("rebalances", sum(|side| side.rebalances))?;
    dictionary.set_item("resizes", sum(|side| side.resizes))?;
    dictionary.set_item("bytes_written_back", sum(|side| side.traffic.bytes_written_back()))?;
    dictionary.set_item("fences", sum(|side| side.traffic.fences))?;
    Ok(dictionary)
}

#[pymethods]
impl PackedGraph {
    #[getter]
    fn is_open(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.open.get(py)?.read().unwrap_or_else(PoisonError::into_inner).is_some())
    }

    fn insert_edge(&self, py: Python<'_>, source: u32, target: u32) -> PyResult<()> {
        self.with(py, |graph| graph.insert_edge(source, target))
    }

    fn delete_edge(&self, py: Python<'_>, source: u32, target: u32) -> PyResult<bool> {
        self.with(py, |graph| graph.delete_edge(source, target))
    }

    fn insert_vertex(&self, py: Python<'_>, vertex: u32) -> PyResult<()> {
        self.with(py, |graph| graph.insert_vertex(vertex))
    }

    /// Inserts edges in the order of the arrays.
    fn insert_edges(
        &self,
        py: Python<'_>,
        sources: PyReadonlyArray1<'_, u32>,
        targets: PyReadonlyArray1<'_, u32>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        // Copied, since Python may change an array meanwhile.
        let (sources, targets) = (sources.as_array().to_vec(), targets.as_array().to_vec());
        if sources.len() != targets.len() {
            let text =
                format!("{} sources and {} targets: an edge has one of each", sources.len(), targets.len());
            return Err(invalid(py, text));
        }
        let open = self.open.get(py)?;
        let inserted = long_call::run(py, progress, |watch| {
            let graph = open.read().unwrap_or_else(PoisonError::into_inner);
            let Some(graph) = graph.as_ref() else { return Ok(false) };
            let total = sources.len();
            let vertices = graph.statistics()[0].vertices;
            // Before anything is inserted.
            if let Some(highest) =
                sources.iter().chain(&targets).max().filter(|highest| **highest >= vertices)
            {
                return Err(Error::invalid(format!(
                    "vertex {highest} does not exist: there are {vertices}; add it by `insert_vertex({highest})` first"
                )));
            }
            let mut done = 0;
            for (sources, targets) in sources.chunks(EDGES_AT_ONCE).zip(targets.chunks(EDGES_AT_ONCE)) {
                watch.cancel.check().map_err(|error| so_far(error, done, total))?;
                for (source, target) in sources.iter().zip(targets) {
                    graph.insert_edge(*source, *target).map_err(|error| so_far(error, done, total))?;
                    done += 1;
                }
                watch.tell("insert", long_call::fraction(done as u64, total as u64), String::new);
            }
            Ok(true)
        });
        if inserted? { Ok(()) } else { Err(shut_down(py)) }
    }

    fn view(&self, py: Python<'_>) -> PyResult<PackedView> {
        let view = self.with(py, |graph| graph.consistent_view().map(Arc::new))?;
        Ok(PackedView { open: ProcessLocal::new(RwLock::new(Some(view))) })
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        statistics_dictionary(py, self.with(py, |graph| Ok(graph.statistics()))?)
    }

    /// Ends it; nothing if it has ended.
    fn shutdown(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.get(py)?;
        py.detach(|| {
            let mut open = open.write().unwrap_or_else(PoisonError::into_inner);
            let views = open.as_ref().map_or(0, BothSides::open_views);
            if views > 0 {
                let text =
                    format!("{views} views of the packed graph are open: close them before it is shut down");
                return Err(Error::new(ErrorKind::Busy, text));
            }
            open.take().map_or(Ok(()), BothSides::shutdown)
        })
        .or_raise(py)
    }
}

impl PackedView {
    fn share(&self, py: Python<'_>) -> PyResult<Arc<Lists>> {
        let open = self.open.get(py)?.read().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| exception(py, "SnapshotClosed", "the view was closed: take another one"))
    }
}

#[pymethods]
impl PackedView {
    #[getter]
    fn is_open(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.open.get(py)?.read().unwrap_or_else(PoisonError::into_inner).is_some())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let open = self.open.get(py)?.write().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(open));
        Ok(())
    }

    /// How many vertices and edges it has.
    fn counts(&self, py: Python<'_>) -> PyResult<(u32, u64)> {
        let view = self.share(py)?;
        Ok((view.bound(), view.edge_count()))
    }

    fn neighbors<'py>(
        &self,
        py: Python<'py>,
        vertex: u32,
        name: &str,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let (view, direction) = (self.share(py)?, direction(py, name)?);
        if vertex >= view.bound() {
            let text = format!("vertex {vertex} is not in the view, which has {} vertices", view.bound());
            return Err(exception(py, "NotFoundError", &text));
        }
        let found = py.detach(|| {
            let mut neighbors = Vec::new();
            view.visit_each(direction, &[vertex], &mut PieceBuffer::default(), |_, piece| {
                neighbors.extend_from_slice(piece.neighbors);
                Visit::Continue
            })?;
            Ok(neighbors)
        });
        Ok(found.or_raise(py)?.into_pyarray(py))
    }

    fn degrees<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let (view, direction) = (self.share(py)?, direction(py, name)?);
        let found = py.detach(|| {
            let mut degrees = vec![0; view.bound() as usize];
            view.degrees(direction, 0..view.bound(), &mut degrees)?;
            Ok(degrees)
        });
        Ok(found.or_raise(py)?.into_pyarray(py))
    }

    fn algorithm<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        parameters: &Bound<'py, PyDict>,
        scope: ScopeArgument,
        keys: Vec<String>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = self.share(py)?;
        let ScopeNames { labels, types, vertices, edges } = scope.0;
        let is_everything = labels.is_empty() && types.is_empty() && vertices.is_empty() && edges.is_empty();
        if !keys.is_empty() || !is_everything {
            return Err(invalid(py, "a packed graph has no labels, types or properties to choose by"));
        }
        let chosen = AlgorithmCall::new(py, name, parameters)?;
        let run = |watch: &long_call::ProgressWatch| algorithms::run_packed(&view, &chosen, watch);
        into_pyarrow(py, long_call::run(py, progress, run)?)
    }
}
