//! Parquet answer: the rows of an answer in typed columns, compressed, in row groups.
//!
//! | column | type |
//! |---|---|
//! | path, position | Int64 |
//! | label | Utf8 |
//! | key | Int64 if all keys in scope are whole numbers, else Utf8; null where a vertex has none |
//! | value, or what rings have | Int64 or Float64 |
//!
//! An infinite distance is an infinite Float64; a level without a path is the largest Int64, as in CSV.
//! Memory: one row group, compressed as it grows.

use crate::command::run::answer::{Amount, Kind};
use crate::command::run::answer_rows::{AnswerWriter, Columns, Row};
use crate::command::run::keys::KeyKind;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_report::vertex_names::VertexName;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::result_file::{ResultFile, failure};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::io;
use std::sync::Arc;

/// Rows of a row group: readers share them out, and one is a few megabytes.
const ROW_GROUP: usize = 256 * 1024;

/// A Parquet file that is being written.
pub struct ParquetAnswer {
    columns: Columns,
    schema: Arc<Schema>,
    file: ArrowWriter<ResultFile>,
    name: String,
}

impl ParquetAnswer {
    /// Begins `file` with the types of `columns`.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn begin(file: ResultFile, columns: Columns) -> Result<Self, Failure> {
        let field = |name| match name {
            "label" => Field::new(name, DataType::Utf8, false),
            "key" if columns.key == KeyKind::Text => Field::new(name, DataType::Utf8, true),
            "key" => Field::new(name, DataType::Int64, true),
            _ if columns.values.contains(&(name, Kind::Real)) => Field::new(name, DataType::Float64, false),
            _ => Field::new(name, DataType::Int64, false),
        };
        let schema = Arc::new(Schema::new(columns.names().map(field).collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .build();
        let name = file.name().to_owned();
        let file = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))
            .map_err(|error| failed(error, &name))?;
        Ok(Self { columns, schema, file, name })
    }
}

/// What a write to the file `name` that failed with `error` means.
fn failed(error: ParquetError, name: &str) -> Failure {
    let doing = format!("write {name}");
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => failure(&doing, *cause),
            Err(cause) => Error::new(ErrorKind::Io, format!("{doing}: {cause}")).into(),
        },
        error => Error::new(ErrorKind::Io, format!("{doing}: {error}")).because(error).into(),
    }
}

impl AnswerWriter for ParquetAnswer {
    fn write(&mut self, rows: &[Row], names: &[VertexName]) -> Result<(), Failure> {
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        if self.columns.place {
            let places = || rows.iter().filter_map(|row| row.place);
            arrays.push(Arc::new(Int64Array::from_iter_values(places().map(|place| place.0 as i64))));
            arrays.push(Arc::new(Int64Array::from_iter_values(places().map(|place| place.1 as i64))));
        }
        if self.columns.label {
            arrays.push(Arc::new(StringArray::from_iter_values(names.iter().map(|name| &*name.label))));
        }
        arrays.push(match self.columns.key {
            KeyKind::Whole => Arc::new(names.iter().map(|name| name.key.whole()).collect::<Int64Array>()),
            KeyKind::Text => Arc::new(names.iter().map(|name| name.key.text()).collect::<StringArray>()),
        });
        for (at, (_, kind)) in self.columns.values.iter().enumerate() {
            let values = rows.iter().filter_map(|row| row.values[at]);
            arrays.push(match kind {
                Kind::Whole => Arc::new(Int64Array::from_iter_values(values.map(whole))),
                Kind::Real => Arc::new(Float64Array::from_iter_values(values.map(real))),
            });
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .map_err(|error| Error::invalid(format!("write {}: {error}", self.name)).because(error))?;
        self.file.write(&batch).map_err(|error| failed(error, &self.name))
    }

    fn finish(self) -> Result<(), Failure> {
        // Writes the rest and the footer.
        self.file.into_inner().map_err(|error| failed(error, &self.name))?.finish()
    }
}

fn whole(amount: Amount) -> i64 {
    match amount {
        Amount::Whole(number) => i64::try_from(number).expect("whole amounts are at most the largest i64"),
        Amount::Real(number) => number as i64,
    }
}

fn real(amount: Amount) -> f64 {
    match amount {
        Amount::Whole(number) => number as f64,
        Amount::Real(number) => number,
    }
}
