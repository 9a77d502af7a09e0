//! `TableBuilder`: columns with their names become a table.

use crate::column_array::to_arrow;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Columns with their names, all of one length.
#[derive(Default)]
pub struct TableBuilder {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
    metadata: HashMap<String, String>,
}

impl TableBuilder {
    /// Adds an array without nulls.
    pub fn push(&mut self, name: &str, array: impl Array + 'static) {
        self.fields.push(Field::new(name, array.data_type().clone(), array.null_count() > 0));
        self.arrays.push(Arc::new(array));
    }

    /// Adds a property.
    ///
    /// # Errors
    /// Those of [`to_arrow`].
    pub fn push_column(&mut self, name: &str, column: &Column) -> Result<()> {
        let made = to_arrow(column).map_err(|error| error.context(format!("property {name}")))?;
        self.fields.push(made.field(name));
        self.arrays.push(made.array);
        Ok(())
    }

    /// Says something about all of it.
    pub fn note(&mut self, name: &str, what: impl ToString) {
        self.metadata.insert(name.to_owned(), what.to_string());
    }

    /// The columns so far.
    pub fn arrays_mut(&mut self) -> &mut [ArrayRef] {
        &mut self.arrays
    }

    /// The table.
    ///
    /// # Errors
    /// `invalid` if columns are of different lengths.
    pub fn finish(self) -> Result<RecordBatch> {
        let schema = Arc::new(Schema::new_with_metadata(self.fields, self.metadata));
        RecordBatch::try_new(schema, self.arrays).map_err(|error| Error::invalid(error.to_string()))
    }
}
