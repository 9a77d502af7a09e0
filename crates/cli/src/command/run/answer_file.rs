//! Answer file: the whole answer, a row for each vertex, as CSV or Parquet.
//!
//! ```text
//! values   key,value               label,key,value             several labels in scope
//! paths    path,position,key       path,position,key,value     value: the length up to there
//! rings    path,position,key,amount,time
//! ```
//!
//! Keys are read in batches while the file is written, so that no answer is in memory twice. A file
//! appears whole or not at all.

use crate::command::run::answer::{AnswerRows, Kind};
use crate::command::run::answer_rows::{AnswerWriter, Columns, Row};
use crate::command::run::csv_answer::CsvAnswer;
use crate::command::run::keys::Keys;
use crate::command::run::parquet_answer::ParquetAnswer;
use crate::command::run::vertex_naming::VertexNaming;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::id::VertexId;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::count;
use evergraph_terminal::result_file::ResultFile;
use std::path::Path;

/// Vertices whose keys are read at once.
const BATCH: usize = 4096;

/// Whether a file of this name is written as Parquet.
#[must_use]
pub fn is_parquet(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"))
}

/// Writes all rows of `found` to `file`, and completes it.
///
/// # Errors
/// What `naming` or writing the file meets; `cancelled`. An unfinished file is not left behind.
pub fn write(
    file: ResultFile,
    naming: &dyn VertexNaming,
    found: AnswerRows,
    keys: &Keys,
    meter: &Meter,
    cancel: &CancelFlag,
) -> Result<(), Failure> {
    let mut columns =
        Columns { place: false, label: keys.need_label(), key: keys.kind(), values: Vec::new() };
    let progress = Progress { phase: format!("write {}", file.name()), meter, cancel };
    match found {
        AnswerRows::Values(values) => {
            columns.values.push(("value", values.kind));
            let row = |(vertex, value)| Row { place: None, vertex, values: [Some(value), None] };
            write_rows(file, naming, columns, values.rows().map(row), values.count(), &progress)
        }
        AnswerRows::Paths(paths) => {
            columns.place = true;
            columns.values.extend(paths.column_names().map(|name| (name, Kind::Real)));
            let places = paths.iter().zip(1..).flat_map(|(path, number)| {
                let vertices = path.vertices.iter().zip(0..);
                vertices.map(move |(vertex, position)| (*vertex, (number, position)))
            });
            let rows = places.enumerate().map(|(at, (vertex, place))| Row {
                place: Some(place),
                vertex,
                values: paths.amounts(at),
            });
            write_rows(file, naming, columns, rows, paths.vertex_count(), &progress)
        }
    }
}

/// Who watches, and who stops.
struct Progress<'a> {
    phase: String,
    meter: &'a Meter,
    cancel: &'a CancelFlag,
}

fn write_rows(
    file: ResultFile,
    naming: &dyn VertexNaming,
    columns: Columns,
    rows: impl Iterator<Item = Row>,
    total: u64,
    progress: &Progress<'_>,
) -> Result<(), Failure> {
    if is_parquet(file.name()) {
        return write_all(ParquetAnswer::begin(file, columns)?, naming, rows, total, progress);
    }
    write_all(CsvAnswer::begin(file, columns)?, naming, rows, total, progress)
}

fn write_all(
    mut file: impl AnswerWriter,
    naming: &dyn VertexNaming,
    mut rows: impl Iterator<Item = Row>,
    total: u64,
    progress: &Progress<'_>,
) -> Result<(), Failure> {
    let mut written = 0;
    loop {
        progress.cancel.check()?;
        let batch: Vec<Row> = rows.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            return file.finish();
        }
        let vertices: Vec<VertexId> = batch.iter().map(|row| row.vertex).collect();
        file.write(&batch, &naming.names(&vertices)?)?;
        written += batch.len() as u64;
        let share = written as f64 / total as f64;
        progress.meter.tell(&progress.phase, Some(share), || format!("{} rows", count(written)));
    }
}
