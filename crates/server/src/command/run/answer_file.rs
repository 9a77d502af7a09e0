//! Answer file: the value of every vertex in scope as CSV, in the order of vertex numbers.
//!
//! ```text
//! key,value            label,key,value
//! 17,0.000125          Person,17,0.000125
//! ```

use crate::command::run::answer::Answer;
use crate::command::run::keys::Keys;
use crate::result_file::ResultFile;
use crate::terminal::failure::Failure;
use crate::terminal::meter::Meter;
use crate::terminal::number::count;
use csv::{ErrorKind, Writer};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Error;
use evergraph_graph::id::VertexId;
use evergraph_graph::vertex_set::VertexSet;
use evergraph_graph::view::GraphView;
use std::io;

/// Vertices whose keys are read at once.
const BATCH: usize = 4096;

/// Writes what `answer` says of each of `vertices` to `file`, and completes it.
///
/// # Errors
/// What reading `view` or writing the file meets; `cancelled`. An unfinished file is not left behind.
pub fn write(
    file: ResultFile,
    view: &impl GraphView,
    vertices: &VertexSet,
    answer: &Answer,
    keys: &Keys,
    meter: &Meter,
    cancel: &CancelFlag,
) -> Result<(), Failure> {
    let phase = format!("write {}", file.name());
    let mut rows = Writer::from_writer(file);
    let header: &[&str] = if keys.need_label() { &["label", "key", "value"] } else { &["key", "value"] };
    put(&mut rows, header.iter().copied())?;
    let mut all = vertices.iter().map(VertexId);
    let mut written = 0;
    loop {
        cancel.check()?;
        let batch: Vec<VertexId> = all.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        for (vertex, name) in batch.iter().zip(keys.names(view, &batch)?) {
            let (key, value) = (name.key.to_string(), answer.value(*vertex).to_string());
            let label = keys.need_label().then_some(&*name.label);
            put(&mut rows, label.into_iter().chain([key.as_str(), value.as_str()]))?;
        }
        written += batch.len() as u64;
        let total = vertices.len();
        meter.tell(&phase, Some(written as f64 / total as f64), || format!("{} rows", count(written)));
    }
    let file = match rows.into_inner() {
        Ok(file) => file,
        Err(unfinished) => {
            let error = io::Error::from(unfinished.error().kind());
            return Err(unfinished.into_inner().get_ref().failed(error));
        }
    };
    file.finish()
}

fn put<'a>(rows: &mut Writer<ResultFile>, fields: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    rows.write_record(fields).map_err(|error| match error.into_kind() {
        ErrorKind::Io(error) => rows.get_ref().failed(error),
        // All rows have the header's length; texts are UTF-8.
        other => Error::invalid(format!("write CSV: {other:?}")).into(),
    })
}
