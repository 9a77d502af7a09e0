//! `Snapshot`: a view of one moment, shared between threads until it is closed or collected.

use crate::algorithms::{self, AlgorithmCall};
use crate::arrow_out::{TableBuilder, into_pyarrow};
use crate::csr::{CsrPiece, Lists};
use crate::error::{OrRaise, exception};
use crate::handle::{OpenDatabase, ProcessLocal};
use crate::long_call;
use crate::names::{EdgeTuple, ScopeArgument, WeightName, direction, vertex, weight};
use crate::query::{OpenCheck, PythonQuery, QueryInput, QuerySettings, Results};
use crate::read::{self, ItemName};
use crate::reserved::{ReservedMemory, keep_with};
use crate::shared_snapshot::SharedSnapshot;
use crate::tables;
use evergraph::algorithms::control::Control;
use evergraph::graph::topology::Projection;
use evergraph::{Error, Freeze, Freshness, GraphView, ReadByName, VertexId};
use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, PoisonError, RwLock};

/// A read-only view of one moment.
///
/// Concurrency: whoever reads has a share of it, so that closing never takes it away under a reader.
#[pyclass(frozen, module = "evergraph._native")]
pub struct Snapshot {
    taken: ProcessLocal<RwLock<Option<Arc<SharedSnapshot>>>>,
}

/// Offsets, neighbours and, if asked for, weights.
type CsrArrays<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>, Option<Bound<'py, PyArray1<f64>>>);

/// Names with how many there are.
type Counts = Vec<(String, u64)>;

/// Vertices, offsets, neighbours as a table of one column, and whether they are shared.
type CsrPieceArrays<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyAny>, bool);

impl Snapshot {
    /// Takes one that has at least what `freshness` says.
    ///
    /// # Errors
    /// As [`GraphView::check_begun`].
    pub fn take(open: Arc<OpenDatabase>, freshness: Freshness) -> evergraph::Result<Self> {
        let taken = SharedSnapshot::new(open, freshness);
        taken.snapshot().check_begun()?;
        Ok(Self { taken: ProcessLocal::new(RwLock::new(Some(taken))) })
    }

    /// One that is shared with others.
    #[must_use]
    pub fn of(open: Arc<OpenDatabase>, snapshot: Arc<evergraph::Snapshot>) -> Self {
        Self { taken: ProcessLocal::new(RwLock::new(Some(SharedSnapshot::of(open, snapshot)))) }
    }

    /// A share of it.
    ///
    /// # Errors
    /// `SnapshotClosed`.
    pub fn share(&self, py: Python<'_>) -> PyResult<Arc<SharedSnapshot>> {
        let taken = self.taken.get(py)?.read().unwrap_or_else(PoisonError::into_inner);
        taken
            .clone()
            .ok_or_else(|| exception(py, "SnapshotClosed", "the snapshot was closed: take another one"))
    }
}

/// An array that is about to be written all over. NumPy takes large ones in large pages, and doesn't clear them first.
fn unwritten<T: Element>(py: Python<'_>, length: usize) -> PyResult<Bound<'_, PyArray1<T>>> {
    let array = py.import("numpy")?.call_method1("empty", (length, T::get_dtype(py)))?;
    Ok(array.cast_into()?)
}

fn ids(py: Python<'_>, vertices: &PyReadonlyArray1<'_, u64>) -> PyResult<Vec<VertexId>> {
    vertices.as_array().iter().map(|number| vertex(py, *number)).collect()
}

#[pymethods]
impl Snapshot {
    #[getter]
    fn timestamp(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.share(py)?.snapshot().timestamp().0)
    }

    #[getter]
    fn is_open(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.taken.get(py)?.read().unwrap_or_else(PoisonError::into_inner).is_some())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let taken = self.taken.get(py)?.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some(taken) = taken else { return Ok(()) };
        py.detach(|| taken.let_go()).or_raise(py)
    }

    /// Labels with counts, edge types with counts.
    fn counts(&self, py: Python<'_>) -> PyResult<(Counts, Counts)> {
        let taken = self.share(py)?;
        let catalogue = taken.snapshot().catalogue();
        let counts = py.detach(|| taken.snapshot().statistics()).or_raise(py)?;
        let vertices =
            counts.vertices.iter().map(|(id, count)| (catalogue.label_name(*id).to_string(), *count));
        let edges =
            counts.edges.iter().map(|(id, count)| (catalogue.edge_type_name(*id).to_string(), *count));
        Ok((vertices.collect(), edges.collect()))
    }

    /// Names of the properties, with their types, of a label or an edge type.
    fn schema(&self, py: Python<'_>, name: &str, of_edges: bool) -> PyResult<Vec<(String, String)>> {
        let taken = self.share(py)?;
        let catalogue = taken.snapshot().names().or_raise(py)?;
        let owner = match of_edges {
            true => evergraph::graph::catalogue::Owner::EdgeType(
                crate::names::edge_type(&catalogue, name).or_raise(py)?,
            ),
            false => {
                evergraph::graph::catalogue::Owner::Label(crate::names::label(&catalogue, name).or_raise(py)?)
            }
        };
        let properties = catalogue.properties_of(owner);
        Ok(properties
            .map(|(key, kind)| (catalogue.key_name(key).to_string(), kind.name().to_owned()))
            .collect())
    }

    fn get<'py>(&self, py: Python<'py>, item: ItemName, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        read::get(py, self.share(py)?.snapshot(), &item, key)
    }

    fn properties<'py>(&self, py: Python<'py>, item: ItemName) -> PyResult<Bound<'py, PyDict>> {
        read::properties(py, self.share(py)?.snapshot(), &item)
    }

    fn has(&self, py: Python<'_>, item: ItemName) -> PyResult<bool> {
        read::has(py, self.share(py)?.snapshot(), &item)
    }

    fn label(&self, py: Python<'_>, number: u64) -> PyResult<Option<String>> {
        read::label(py, self.share(py)?.snapshot(), number)
    }

    fn find(
        &self,
        py: Python<'_>,
        label: &str,
        key: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Option<u64>> {
        read::find(py, self.share(py)?.snapshot(), label, key, value)
    }

    fn find_all(
        &self,
        py: Python<'_>,
        label: &str,
        key: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<u64>> {
        read::find_all(py, self.share(py)?.snapshot(), label, key, value)
    }

    #[expect(clippy::too_many_arguments, reason = "what a range is, and how many of it")]
    fn range<'py>(
        &self,
        py: Python<'py>,
        label: &str,
        key: &str,
        start: Option<&Bound<'py, PyAny>>,
        stop: Option<&Bound<'py, PyAny>>,
        limit: usize,
        descending: bool,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, u64)>> {
        let range = read::value_range(start, stop, descending)?;
        read::range(py, self.share(py)?.snapshot(), label, key, &range, limit)
    }

    fn key_of<'py>(&self, py: Python<'py>, number: u64) -> PyResult<Option<(String, Bound<'py, PyAny>)>> {
        read::key_of(py, self.share(py)?.snapshot(), number)
    }

    fn prefix<'py>(
        &self,
        py: Python<'py>,
        label: &str,
        key: &str,
        prefix: &str,
        limit: usize,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, u64)>> {
        read::prefix(py, self.share(py)?.snapshot(), label, key, prefix, limit)
    }

    fn edges_with(
        &self,
        py: Python<'_>,
        edge_type: &str,
        key: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<EdgeTuple>> {
        read::edges_with(py, self.share(py)?.snapshot(), edge_type, key, value)
    }

    #[expect(clippy::too_many_arguments, reason = "what a range is, and how many of it")]
    fn edges_in_range<'py>(
        &self,
        py: Python<'py>,
        edge_type: &str,
        key: &str,
        start: Option<&Bound<'py, PyAny>>,
        stop: Option<&Bound<'py, PyAny>>,
        limit: usize,
        descending: bool,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, EdgeTuple)>> {
        let range = read::value_range(start, stop, descending)?;
        read::edges_in_range(py, self.share(py)?.snapshot(), edge_type, key, &range, limit)
    }

    #[expect(clippy::too_many_arguments, reason = "what a range is, and how many of it")]
    fn newest_edges<'py>(
        &self,
        py: Python<'py>,
        number: u64,
        edge_type: &str,
        key: &str,
        start: Option<&Bound<'py, PyAny>>,
        stop: Option<&Bound<'py, PyAny>>,
        limit: usize,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, EdgeTuple)>> {
        let range = read::value_range(start, stop, false)?;
        read::newest_edges(py, self.share(py)?.snapshot(), number, edge_type, key, &range, limit)
    }

    fn edges_of(
        &self,
        py: Python<'_>,
        number: u64,
        types: Vec<String>,
        side: &str,
    ) -> PyResult<Vec<(EdgeTuple, u64)>> {
        read::edges_of(py, self.share(py)?.snapshot(), number, &types, direction(py, side)?)
    }

    fn degree(&self, py: Python<'_>, number: u64, types: Vec<String>, side: &str) -> PyResult<u64> {
        read::degree(py, self.share(py)?.snapshot(), number, &types, direction(py, side)?)
    }

    fn vertices<'py>(
        &self,
        py: Python<'py>,
        labels: Vec<String>,
        properties: Option<Vec<String>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let taken = self.share(py)?;
        let read = |watch: &long_call::ProgressWatch| {
            tables::vertices(taken.snapshot(), &labels, properties.as_deref(), watch)
        };
        into_pyarrow(py, long_call::run(py, progress, read)?)
    }

    fn properties_of<'py>(
        &self,
        py: Python<'py>,
        vertices: PyReadonlyArray1<'py, u64>,
        properties: Option<Vec<String>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let taken = self.share(py)?;
        let vertices = ids(py, &vertices)?;
        let owners = tables::label_owners(&*taken.snapshot().names().or_raise(py)?, &[]).or_raise(py)?;
        let read = |watch: &long_call::ProgressWatch| {
            tables::of_vertices(taken.snapshot(), &vertices, &owners, properties.as_deref(), watch)
        };
        into_pyarrow(py, long_call::run(py, progress, read)?)
    }

    fn edges<'py>(
        &self,
        py: Python<'py>,
        types: Vec<String>,
        properties: Option<Vec<String>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let taken = self.share(py)?;
        let read = |watch: &long_call::ProgressWatch| {
            tables::edges(taken.snapshot(), &types, properties.as_deref(), watch)
        };
        into_pyarrow(py, long_call::run(py, progress, read)?)
    }

    fn neighbors<'py>(
        &self,
        py: Python<'py>,
        vertices: PyReadonlyArray1<'py, u64>,
        types: Vec<String>,
        side: &str,
        properties: Option<Vec<String>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let taken = self.share(py)?;
        let (of, side) = (ids(py, &vertices)?, direction(py, side)?);
        let read = |watch: &long_call::ProgressWatch| {
            tables::neighbors(taken.snapshot(), &of, &types, side, properties.as_deref(), watch)
        };
        into_pyarrow(py, long_call::run(py, progress, read)?)
    }

    fn degrees<'py>(
        &self,
        py: Python<'py>,
        vertices: PyReadonlyArray1<'py, u64>,
        types: Vec<String>,
        side: &str,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let taken = self.share(py)?;
        let (of, side) = (ids(py, &vertices)?, direction(py, side)?);
        let found = long_call::run(py, None, |watch| {
            let types = crate::names::edge_types(&*taken.snapshot().names()?, &types)?;
            let mut degrees = Vec::with_capacity(of.len());
            for batch in of.chunks(tables::BATCH) {
                watch.cancel.check()?;
                taken.snapshot().degrees(batch, types.as_deref(), side, &mut degrees)?;
            }
            Ok(degrees)
        })?;
        Ok(found.into_pyarray(py))
    }

    fn csr<'py>(
        &self,
        py: Python<'py>,
        scope: ScopeArgument,
        side: &str,
        weight_name: Option<WeightName>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<CsrArrays<'py>> {
        let taken = self.share(py)?;
        let side = direction(py, side)?;
        let weighted = weight_name.is_some();
        let (mut lists, memory) = long_call::run(py, progress, |watch| {
            let snapshot = taken.snapshot();
            let catalogue = snapshot.names()?;
            let weight = weight(&catalogue, weight_name.as_ref())?;
            let control = Control::new(snapshot.budget()).with_cancel(&watch.cancel);
            let topology = scope.0.scope(&catalogue)?.freeze(snapshot, side, weight, &control)?;
            Lists::of(topology, side, weighted, snapshot.budget())
        })?;
        let neighbors = unwritten(py, lists.edges_count())?;
        keep_with(&neighbors, memory.neighbors)?;
        let weights = unwritten(py, if weighted { lists.edges_count() } else { 0 })?;
        keep_with(&weights, memory.weights)?;
        {
            let (mut neighbors, mut weights) = (neighbors.readwrite(), weights.readwrite());
            let (neighbors, weights) = (neighbors.as_slice_mut()?, weights.as_slice_mut()?);
            let budget = taken.snapshot().budget();
            long_call::run(py, progress, |watch| lists.copy(neighbors, weights, budget, watch))?;
        }
        let offsets = std::mem::take(&mut lists.offsets).into_pyarray(py);
        keep_with(&offsets, memory.offsets)?;
        py.detach(|| drop(lists));
        Ok((offsets, neighbors, weighted.then_some(weights)))
    }

    /// Memory for what Python makes of this snapshot, below the database's limit.
    fn reserve(&self, py: Python<'_>, purpose: &str, size: u64) -> PyResult<ReservedMemory> {
        ReservedMemory::new(py, self.share(py)?.snapshot().budget(), purpose, size)
    }

    /// The pieces: vertices, offsets, neighbours, and whether the last are the database's own array.
    fn csr_pieces<'py>(
        &self,
        py: Python<'py>,
        edge_type: &str,
        side: &str,
    ) -> PyResult<Vec<CsrPieceArrays<'py>>> {
        let taken = self.share(py)?;
        let side = direction(py, side)?;
        let pieces = long_call::run(py, None, |_| {
            let snapshot = taken.snapshot();
            let types = Some(vec![crate::names::edge_type(&*snapshot.names()?, edge_type)?]);
            let topology = snapshot.freeze(&Projection { types, ..Projection::all(side) })?;
            let lists = topology.shared_lists(side)?.ok_or_else(|| {
                Error::invalid(
                    "pieces are the memory engine's own arrays, which the other engines have none of: use csr()",
                )
            })?;
            Ok(lists.into_iter().map(CsrPiece::new).collect::<Vec<_>>())
        })?;
        let arrays = pieces.into_iter().map(|piece| {
            let mut table = TableBuilder::default();
            table.push("neighbor", piece.neighbors);
            let neighbors = into_pyarrow(py, table.finish().or_raise(py)?)?;
            let (vertices, offsets) = (piece.vertices.into_pyarray(py), piece.offsets.into_pyarray(py));
            Ok((vertices, offsets, neighbors, piece.shared))
        });
        arrays.collect()
    }

    /// A query that only reads; its results end with this snapshot.
    fn query(
        slf: &Bound<'_, Self>,
        said: QueryInput,
        variables: &Bound<'_, PyDict>,
        settings: QuerySettings,
    ) -> PyResult<Results> {
        let py = slf.py();
        let taken = slf.get().share(py)?;
        let catalogue = taken.snapshot().catalogue();
        let asked = PythonQuery::new(said, variables, settings, &catalogue)?;
        let snapshot = slf.clone().unbind();
        let still_open: OpenCheck = Box::new(move |py| snapshot.get().share(py).map(drop));
        Results::reading(py, taken, asked, Some(still_open))
    }

    /// What a query would do, as a table for people.
    fn explain(
        &self,
        py: Python<'_>,
        said: QueryInput,
        variables: &Bound<'_, PyDict>,
        settings: QuerySettings,
    ) -> PyResult<String> {
        let taken = self.share(py)?;
        let asked = PythonQuery::new(said, variables, settings, &taken.snapshot().catalogue())?;
        let explained = py.detach(|| asked.on(taken.snapshot().ask(asked.said())).explain());
        Ok(explained.or_raise(py)?.to_string())
    }

    /// What each step of a query did, as a table for people.
    fn profile(
        &self,
        py: Python<'_>,
        said: QueryInput,
        variables: &Bound<'_, PyDict>,
        settings: QuerySettings,
    ) -> PyResult<String> {
        let taken = self.share(py)?;
        let asked = PythonQuery::new(said, variables, settings, &taken.snapshot().catalogue())?;
        let run = |watch: &long_call::ProgressWatch| {
            asked.on(taken.snapshot().ask(asked.said())).cancel(&watch.cancel).profile()
        };
        Ok(long_call::run(py, None, run)?.to_string())
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
        let taken = self.share(py)?;
        let chosen = AlgorithmCall::new(py, name, parameters)?;
        let run = |watch: &long_call::ProgressWatch| {
            algorithms::run(taken.snapshot(), &chosen, &scope.0, &keys, watch)
        };
        into_pyarrow(py, long_call::run(py, progress, run)?)
    }
}
