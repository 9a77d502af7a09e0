//! Arrow out: tables for Python, with the memory that was reserved for them.

use crate::reserved::{TableMemory, with_memory};
use arrow_array::{Array, RecordBatch};
use evergraph::Result;
use evergraph::graph::budget::Reservation;
use evergraph::graph::column::Column;
use evergraph_arrow::table_builder;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

/// Columns with their names, all of one length.
#[derive(Default)]
pub struct TableBuilder {
    columns: table_builder::TableBuilder,
    memory: Vec<Reservation>,
}

impl TableBuilder {
    /// Adds an array without nulls.
    pub fn push(&mut self, name: &str, array: impl Array + 'static) {
        self.columns.push(name, array);
    }

    /// Adds a property.
    ///
    /// # Errors
    /// Those of [`table_builder::TableBuilder::push_column`].
    pub fn push_column(&mut self, name: &str, column: &Column) -> Result<()> {
        self.columns.push_column(name, column)
    }

    /// Keeps what was reserved for it until Python frees it.
    pub fn hold(&mut self, memory: TableMemory<'_>) {
        self.memory.extend(memory.into_kept());
    }

    /// Says something about all of it.
    pub fn note(&mut self, name: &str, what: impl ToString) {
        self.columns.note(name, what);
    }

    /// The table.
    ///
    /// # Errors
    /// `invalid` if columns are of different lengths.
    pub fn finish(mut self) -> Result<RecordBatch> {
        if let Some(first) = self.columns.arrays_mut().first_mut() {
            *first = with_memory(first, self.memory)?;
        }
        self.columns.finish()
    }
}

/// `batch` as a `pyarrow.Table`, without a copy.
///
/// # Errors
/// What pyarrow raises.
pub fn into_pyarrow(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyAny>> {
    let schema = batch.schema();
    PyTable::try_new(vec![batch], schema)?.into_pyarrow(py)
}
