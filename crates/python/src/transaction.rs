//! `Transaction`: buffered writes and reads of them, used by one thread at a time.

use crate::bulk;
use crate::error::{OrRaise, exception, invalid};
use crate::handle::{OpenDatabase, ProcessLocal};
use crate::long_call::{self, beside_python};
use crate::names::{EdgeTuple, direction, edge_tuple, vertex};
use crate::query::{PythonQuery, QueryInput, QuerySettings, Results};
use crate::read::{self, Item, ItemName};
use crate::value::from_python;
use evergraph::graph::catalogue::Owner;
use evergraph::graph::id::KeyId;
use evergraph::graph::timestamp::Timestamp;
use evergraph::graph::transaction::Transaction as _;
use evergraph::graph::value::ValueType;
use evergraph::gremlin::elements::Elements;
use evergraph::{Error, GraphView, TransactionOptions, Value, VertexId};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, OnceLock, TryLockError};

/// A transaction and the database that it keeps open.
struct OpenTransaction {
    transaction: evergraph::Transaction,
    open: Arc<OpenDatabase>,
}

/// A read-write transaction.
///
/// Concurrency: the lock is only tried, so that a second thread gets an error instead of waiting with the GIL.
#[pyclass(frozen, module = "evergraph._native")]
pub struct Transaction {
    begun: ProcessLocal<Mutex<Option<OpenTransaction>>>,
    /// Where it has committed.
    committed_at: OnceLock<Timestamp>,
}

impl Transaction {
    /// Begins one.
    ///
    /// # Errors
    /// As [`GraphView::check_begun`].
    pub fn begin(open: Arc<OpenDatabase>, options: TransactionOptions) -> evergraph::Result<Self> {
        let transaction = open.database().begin_with(options);
        transaction.by_id_ref().check_begun()?;
        Ok(Self::of(open, transaction))
    }

    /// The same for one that a retry began.
    pub fn of(open: Arc<OpenDatabase>, transaction: evergraph::Transaction) -> Self {
        let begun = ProcessLocal::new(Mutex::new(Some(OpenTransaction { transaction, open })));
        Self { begun, committed_at: OnceLock::new() }
    }

    fn slot<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Option<OpenTransaction>) -> PyResult<T>,
    ) -> PyResult<T> {
        match self.begun.get(py)?.try_lock() {
            Ok(mut slot) => work(&mut slot),
            Err(TryLockError::Poisoned(_)) => Err(exception(
                py,
                "TransactionClosed",
                "an internal error ended this transaction: its writes are gone",
            )),
            Err(TryLockError::WouldBlock) => {
                let text = "another thread is using this transaction: one belongs to one thread at a time";
                Err(exception(py, "BusyError", text))
            }
        }
    }

    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut evergraph::Transaction) -> PyResult<T>,
    ) -> PyResult<T> {
        self.slot(py, |slot| match slot {
            Some(begun) => work(&mut begun.transaction),
            None => Err(ended(py)),
        })
    }
}

fn ended(py: Python<'_>) -> PyErr {
    exception(py, "TransactionClosed", "the transaction was committed or rolled back: begin another one")
}

/// Does `work`, which writes: where the graph lies on other machines, a new name, an id or a value may wait for these or for the
/// log, and the GIL is released.
fn write<T: Send>(
    py: Python<'_>,
    transaction: &mut evergraph::Transaction,
    work: impl FnOnce(&mut evergraph::Transaction) -> evergraph::Result<T> + Send,
) -> PyResult<T> {
    beside_python(py, transaction.by_id_ref().is_remote(), || work(transaction)).or_raise(py)
}

/// What is written to an item, by name. `None` removes.
type Changes = Vec<(String, Option<Value>)>;

/// What a vertex or an edge is to have.
type Properties = Vec<(KeyId, Value)>;

fn changes(properties: &Bound<'_, PyDict>) -> PyResult<Changes> {
    let mut changes = Vec::with_capacity(properties.len());
    for (name, value) in properties {
        let value = if value.is_none() { None } else { Some(from_python(&value)?) };
        changes.push((name.extract()?, value));
    }
    Ok(changes)
}

/// The keys of `changes`, which are named if they are new: those that are set, with their values, and those that are removed.
fn with_keys(
    transaction: &mut evergraph::Transaction,
    changes: Changes,
) -> evergraph::Result<(Properties, Vec<KeyId>)> {
    let (mut set, mut removed) = (Vec::with_capacity(changes.len()), Vec::new());
    for (name, value) in changes {
        let key = transaction.by_id().key(&name)?;
        match value {
            Some(value) => set.push((key, value)),
            None => removed.push(key),
        }
    }
    Ok((set, removed))
}

/// The vertex of `label` whose unique `key` is `value`, with `changes` for all other properties; it is added if there is none.
fn put_vertex(
    transaction: &mut evergraph::Transaction,
    (name, key, value): (&str, &str, Value),
    changes: Changes,
) -> evergraph::Result<VertexId> {
    let (label, unique) = (transaction.by_id().label(name)?, transaction.by_id().key(key)?);
    let catalogue = transaction.by_id_ref().catalogue();
    if !catalogue.is_unique(Owner::Label(label), unique) {
        let text = format!("put_vertex finds the vertex by a unique key, and {name}.{key} is none");
        return Err(Error::invalid(text));
    }
    let (mut set, _) = with_keys(transaction, changes)?;
    set.retain(|(other, _)| *other != unique);
    let Some(found) = transaction.find(name, key, value.clone())? else {
        set.push((unique, value));
        return transaction.by_id().add_vertex(label, &set);
    };
    let old = transaction.by_id_ref().vertex_property_map(found)?;
    for (other, _) in old {
        if other != unique && set.iter().all(|(key, _)| *key != other) {
            transaction.by_id().set_vertex_property(found, other, None)?;
        }
    }
    for (key, value) in set {
        transaction.by_id().set_vertex_property(found, key, Some(value))?;
    }
    Ok(found)
}

#[pymethods]
impl Transaction {
    fn add_vertex(&self, py: Python<'_>, label: &str, properties: &Bound<'_, PyDict>) -> PyResult<u64> {
        let changes = changes(properties)?;
        self.with(py, |transaction| {
            let added = write(py, transaction, |transaction| {
                let label = transaction.by_id().label(label)?;
                let (set, _) = with_keys(transaction, changes)?;
                transaction.by_id().add_vertex(label, &set)
            });
            Ok(added?.0.into())
        })
    }

    fn put_vertex(
        &self,
        py: Python<'_>,
        label: &str,
        key: &str,
        value: &Bound<'_, PyAny>,
        properties: &Bound<'_, PyDict>,
    ) -> PyResult<u64> {
        let (value, changes) = (from_python(value)?, changes(properties)?);
        self.with(py, |transaction| {
            let put =
                write(py, transaction, |transaction| put_vertex(transaction, (label, key, value), changes));
            Ok(put?.0.into())
        })
    }

    fn add_edge(
        &self,
        py: Python<'_>,
        source: u64,
        edge_type: &str,
        target: u64,
        properties: &Bound<'_, PyDict>,
        put: bool,
    ) -> PyResult<EdgeTuple> {
        let changes = changes(properties)?;
        self.with(py, |transaction| {
            let (source, target) = (vertex(py, source)?, vertex(py, target)?);
            let edge = write(py, transaction, |transaction| {
                let edge_type = transaction.by_id().edge_type(edge_type)?;
                let (set, _) = with_keys(transaction, changes)?;
                match put {
                    true => transaction.by_id().put_edge(source, edge_type, target, &set),
                    false => transaction.by_id().add_edge(source, edge_type, target, &set),
                }
            });
            Ok(edge_tuple(&transaction.by_id_ref().catalogue(), edge?))
        })
    }

    fn set(&self, py: Python<'_>, item: ItemName, properties: &Bound<'_, PyDict>) -> PyResult<()> {
        let changes = changes(properties)?;
        self.with(py, |transaction| {
            let found = item.item(py, transaction.by_id_ref())?;
            write(py, transaction, |transaction| {
                let (set, removed) = with_keys(transaction, changes)?;
                let set = set.into_iter().map(|(key, value)| (key, Some(value)));
                for (key, value) in set.chain(removed.into_iter().map(|key| (key, None))) {
                    match found {
                        Item::Vertex(vertex) => transaction.by_id().set_vertex_property(vertex, key, value),
                        Item::Edge(edge) => transaction.by_id().set_edge_property(edge, key, value),
                    }?;
                }
                Ok(())
            })
        })
    }

    fn delete(&self, py: Python<'_>, item: ItemName) -> PyResult<()> {
        self.with(py, |transaction| {
            let found = item.item(py, transaction.by_id_ref())?;
            write(py, transaction, |transaction| match found {
                Item::Vertex(vertex) => transaction.delete_vertex(vertex),
                Item::Edge(edge) => transaction.delete_edge(edge),
            })
        })
    }

    fn delete_edges_of(&self, py: Python<'_>, vertex: u32, limit: usize) -> PyResult<usize> {
        self.with(py, |transaction| {
            write(py, transaction, |transaction| transaction.delete_edges_of(VertexId(vertex), limit))
        })
    }

    fn declare_property(
        &self,
        py: Python<'_>,
        name: &str,
        of_edges: bool,
        key: &str,
        value_type: &str,
    ) -> PyResult<()> {
        let value_type = type_named(py, value_type)?;
        self.with(py, |transaction| {
            write(py, transaction, |transaction| {
                let by_id = transaction.by_id();
                let key = by_id.key(key)?;
                if of_edges {
                    let edge_type = by_id.edge_type(name)?;
                    return by_id.declare_edge_property(edge_type, key, value_type);
                }
                let label = by_id.label(name)?;
                by_id.declare_vertex_property(label, key, value_type)
            })
        })
    }

    fn declare_meta_properties(&self, py: Python<'_>, label: &str, key: &str) -> PyResult<()> {
        self.with(py, |transaction| {
            write(py, transaction, |transaction| transaction.declare_meta_properties(label, key))
        })
    }

    fn declare_simple(&self, py: Python<'_>, edge_type: &str) -> PyResult<()> {
        self.with(py, |transaction| {
            write(py, transaction, |transaction| transaction.by_id().declare_simple_type(edge_type)).map(drop)
        })
    }

    fn declare_newest_first(
        &self,
        py: Python<'_>,
        edge_type: &str,
        key: &str,
        value_type: &str,
    ) -> PyResult<()> {
        let value_type = type_named(py, value_type)?;
        self.with(py, |transaction| {
            write(py, transaction, |transaction| transaction.declare_newest_first(edge_type, key, value_type))
        })
    }

    fn get<'py>(&self, py: Python<'py>, item: ItemName, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.with(py, |transaction| read::get(py, transaction.by_id_ref(), &item, key))
    }

    fn properties<'py>(&self, py: Python<'py>, item: ItemName) -> PyResult<Bound<'py, PyDict>> {
        self.with(py, |transaction| read::properties(py, transaction.by_id_ref(), &item))
    }

    fn has(&self, py: Python<'_>, item: ItemName) -> PyResult<bool> {
        self.with(py, |transaction| read::has(py, transaction.by_id_ref(), &item))
    }

    fn label(&self, py: Python<'_>, number: u64) -> PyResult<Option<String>> {
        self.with(py, |transaction| read::label(py, transaction.by_id_ref(), number))
    }

    fn find(
        &self,
        py: Python<'_>,
        label: &str,
        key: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Option<u64>> {
        self.with(py, |transaction| read::find(py, transaction.by_id_ref(), label, key, value))
    }

    fn find_all(
        &self,
        py: Python<'_>,
        label: &str,
        key: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<u64>> {
        self.with(py, |transaction| read::find_all(py, transaction.by_id_ref(), label, key, value))
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
        self.with(py, |transaction| read::range(py, transaction.by_id_ref(), label, key, &range, limit))
    }

    fn key_of<'py>(&self, py: Python<'py>, number: u64) -> PyResult<Option<(String, Bound<'py, PyAny>)>> {
        self.with(py, |transaction| read::key_of(py, transaction.by_id_ref(), number))
    }

    fn prefix<'py>(
        &self,
        py: Python<'py>,
        label: &str,
        key: &str,
        prefix: &str,
        limit: usize,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, u64)>> {
        self.with(py, |transaction| read::prefix(py, transaction.by_id_ref(), label, key, prefix, limit))
    }

    fn edges_with(
        &self,
        py: Python<'_>,
        edge_type: &str,
        key: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<EdgeTuple>> {
        self.with(py, |transaction| read::edges_with(py, transaction.by_id_ref(), edge_type, key, value))
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
        self.with(py, |transaction| {
            read::edges_in_range(py, transaction.by_id_ref(), edge_type, key, &range, limit)
        })
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
        self.with(py, |transaction| {
            read::newest_edges(py, transaction.by_id_ref(), number, edge_type, key, &range, limit)
        })
    }

    fn edges_of(
        &self,
        py: Python<'_>,
        number: u64,
        types: Vec<String>,
        side: &str,
    ) -> PyResult<Vec<(EdgeTuple, u64)>> {
        let side = direction(py, side)?;
        self.with(py, |transaction| read::edges_of(py, transaction.by_id_ref(), number, &types, side))
    }

    fn degree(&self, py: Python<'_>, number: u64, types: Vec<String>, side: &str) -> PyResult<u64> {
        let side = direction(py, side)?;
        self.with(py, |transaction| read::degree(py, transaction.by_id_ref(), number, &types, side))
    }

    fn add_vertices(&self, py: Python<'_>, label: &str, table: bulk::Table) -> PyResult<Vec<u64>> {
        self.with(py, |transaction| {
            long_call::run(py, None, |watch| bulk::add_vertices(transaction, label, &table, watch))
        })
    }

    fn write_edges(
        &self,
        py: Python<'_>,
        edge_type: &str,
        edges: bulk::EdgeColumns,
        put: bool,
    ) -> PyResult<u64> {
        self.with(py, |transaction| {
            long_call::run(py, None, |watch| bulk::write_edges(transaction, edge_type, &edges, put, watch))
        })
    }

    /// A query, run to its end.
    fn query(
        &self,
        py: Python<'_>,
        said: QueryInput,
        variables: &Bound<'_, PyDict>,
        settings: QuerySettings,
    ) -> PyResult<Results> {
        self.with(py, |transaction| {
            let catalogue = transaction.by_id_ref().catalogue();
            let asked = PythonQuery::new(said, variables, settings, &catalogue)?;
            let (items, elements) = long_call::run(py, None, |watch| {
                let query = asked.on(transaction.ask(asked.said())).cancel(&watch.cancel);
                match asked.element_detail() {
                    Some(detail) => query.items_with_elements(detail),
                    None => Ok((query.items()?, Elements::default())),
                }
            })?;
            // The query may have brought new names.
            Ok(Results::made(asked, items, elements, transaction.by_id_ref().catalogue()))
        })
    }

    /// What a query would do, as a table for people.
    fn explain(
        &self,
        py: Python<'_>,
        said: QueryInput,
        variables: &Bound<'_, PyDict>,
        settings: QuerySettings,
    ) -> PyResult<String> {
        self.with(py, |transaction| {
            let asked = PythonQuery::new(said, variables, settings, &transaction.by_id_ref().catalogue())?;
            let explained = py.detach(|| asked.on(transaction.ask(asked.said())).explain());
            Ok(explained.or_raise(py)?.to_string())
        })
    }

    /// What each step of a query did, which was run to its end, as a table for people.
    fn profile(
        &self,
        py: Python<'_>,
        said: QueryInput,
        variables: &Bound<'_, PyDict>,
        settings: QuerySettings,
    ) -> PyResult<String> {
        self.with(py, |transaction| {
            let asked = PythonQuery::new(said, variables, settings, &transaction.by_id_ref().catalogue())?;
            let run = |watch: &long_call::ProgressWatch| {
                asked.on(transaction.ask(asked.said())).cancel(&watch.cancel).profile()
            };
            Ok(long_call::run(py, None, run)?.to_string())
        })
    }

    /// The moment of the commit, and edges that got another discriminator: old, new.
    fn commit(&self, py: Python<'_>) -> PyResult<(u64, Vec<(EdgeTuple, EdgeTuple)>)> {
        self.slot(py, |slot| {
            let OpenTransaction { transaction, open } = slot.take().ok_or_else(|| ended(py))?;
            let committed = py.detach(|| transaction.commit()).or_raise(py)?;
            self.committed_at.get_or_init(|| committed.timestamp);
            let mut renamed = Vec::new();
            if !committed.renamed.is_empty() {
                let catalogue = open.database().store().catalogue();
                let tuple = |edge| edge_tuple(&catalogue, edge);
                renamed.extend(committed.renamed.into_iter().map(|(old, new)| (tuple(old), tuple(new))));
            }
            // Was it the last handle, closing may wait for the disk.
            if let Some(last) = Arc::into_inner(open) {
                py.detach(|| drop(last));
            }
            Ok((committed.timestamp.0, renamed))
        })
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.slot(py, |slot| {
            let begun = slot.take();
            py.detach(|| drop(begun));
            Ok(())
        })
    }

    #[getter]
    fn committed_at(&self) -> Option<u64> {
        self.committed_at.get().map(|timestamp| timestamp.0)
    }

    #[getter]
    fn is_open(&self, py: Python<'_>) -> PyResult<bool> {
        self.slot(py, |slot| Ok(slot.is_some()))
    }
}

/// The type that schemas call `name`.
///
/// # Errors
/// `InvalidError`, with those that there are.
pub fn type_named(py: Python<'_>, name: &str) -> PyResult<ValueType> {
    name.parse().map_err(|error| invalid(py, format!("{error}")))
}
