//! Readers: which processes have a database open, as dictionaries.

use crate::long_call;
use evergraph::reading::DatabaseProcesses;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The process that writes the database at `path`, the newest commit that others see, and those that read it.
///
/// # Errors
/// Those of [`evergraph::Database::processes`].
#[pyfunction]
pub fn database_processes<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let found = long_call::run(py, None, |_| evergraph::Database::processes(&path))?;
    processes(py, &found)
}

fn processes<'py>(py: Python<'py>, found: &DatabaseProcesses) -> PyResult<Bound<'py, PyDict>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let readers = found.readers.iter().map(|reader| {
        let entry = PyDict::new(py);
        let oldest = reader.oldest.as_ref();
        entry.set_item("process", reader.process)?;
        entry.set_item("joined", reader.has_joined)?;
        entry.set_item("snapshots", reader.has_joined.then_some(reader.snapshots))?;
        entry.set_item("oldest_snapshot", oldest.map(|snapshot| snapshot.timestamp.0))?;
        let seconds = oldest.map(|snapshot| now.saturating_sub(snapshot.begun_unix_seconds.into()));
        entry.set_item("oldest_snapshot_seconds", seconds)?;
        entry.set_item("retained_bytes", reader.retained_bytes)?;
        Ok(entry)
    });
    let all = PyDict::new(py);
    all.set_item("writer", found.writer)?;
    all.set_item("newest_commit", found.readable.map(|timestamp| timestamp.0))?;
    all.set_item("readers", readers.collect::<PyResult<Vec<_>>>()?)?;
    Ok(all)
}
