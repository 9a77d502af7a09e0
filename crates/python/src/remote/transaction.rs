//! `RemoteTransaction`: queries on a server that are committed together, used by one thread at a time.

use crate::error::exception;
use crate::handle::ProcessLocal;
use crate::remote::query_settings::RemoteQuerySettings;
use crate::remote::received::SeenTypes;
use crate::remote::results::RemoteResults;
use crate::remote::signals::Signals;
use evergraph_client::transaction::Transaction;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, TryLockError};

/// A transaction on a server.
///
/// Concurrency: the lock is only tried, so that a second thread gets an error instead of waiting with the GIL.
#[pyclass(frozen, module = "evergraph._native")]
pub struct RemoteTransaction {
    begun: ProcessLocal<Mutex<Option<Transaction>>>,
    types: Arc<SeenTypes>,
}

impl RemoteTransaction {
    /// A transaction that was begun.
    #[must_use]
    pub fn new(transaction: Transaction, types: Arc<SeenTypes>) -> Self {
        Self { begun: ProcessLocal::new(Mutex::new(Some(transaction))), types }
    }

    fn slot<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Option<Transaction>) -> PyResult<T>,
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
}

fn ended(py: Python<'_>) -> PyErr {
    exception(py, "TransactionClosed", "the transaction was committed or rolled back: begin another one")
}

#[pymethods]
impl RemoteTransaction {
    #[getter]
    fn is_open(&self, py: Python<'_>) -> PyResult<bool> {
        self.slot(py, |slot| Ok(slot.is_some()))
    }

    /// Runs a query to its end.
    fn query(
        &self,
        py: Python<'_>,
        text: &str,
        variables: &Bound<'_, PyDict>,
        settings: RemoteQuerySettings,
    ) -> PyResult<RemoteResults> {
        self.slot(py, |slot| {
            let transaction = slot.as_mut().ok_or_else(|| ended(py))?;
            let signals = Signals::new();
            let query = settings.query(text, variables, &self.types, &signals)?;
            let (results, notes) = signals.run(py, || {
                let mut results = transaction.query(&query)?;
                let notes = results.take_warnings();
                Ok((results.collect()?, notes))
            })?;
            Ok(RemoteResults::made(results, notes, Arc::clone(&self.types)))
        })
    }

    /// Commits; the ids of edges that it changed, before and after.
    fn commit(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        self.slot(py, |slot| {
            let mut transaction = slot.take().ok_or_else(|| ended(py))?;
            let signals = Signals::new();
            transaction.set_cancel(&signals.interrupt);
            let committed = signals.run(py, || transaction.commit())?;
            Ok(committed.renamed_edges)
        })
    }

    /// Rolls back. Nothing if it has ended.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.slot(py, |slot| {
            if let Some(transaction) = slot.take() {
                py.detach(|| transaction.roll_back());
            }
            Ok(())
        })
    }
}
