//! GraphSON: one file, a line a vertex with its edges on both sides, as TinkerPop reads and writes it.
//!
//! Each edge stands twice, as TinkerPop wants it: in the list of its source and in that of its target.
//! A vertex is put together in memory with all of its edges.

use crate::export::elements::ElementReader;
use crate::export::meter::Meter;
use crate::export::options::{ExportOptions, ExportedFile};
use crate::export::packed_file::PackedFile;
use crate::export::pages;
use crate::export::survey::Survey;
use crate::export::target::{FileTarget, write_failed};
use evergraph_formats::error::WriteError;
use evergraph_formats::graphson::line_write::{Layout, VertexWriter};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::view::GraphView;

/// Writes everything that `survey` found in `view`, as `reader` gives it.
///
/// # Errors
/// Errors of reading; `invalid`, `io` or `limit` from the target; `cancelled`.
pub fn write(
    view: &dyn GraphView,
    survey: &Survey,
    reader: &ElementReader<'_>,
    options: &ExportOptions,
    meter: &Meter<'_>,
) -> Result<Vec<ExportedFile>> {
    let target = FileTarget::create(options)?;
    let name = target.name();
    let failed = |error: std::io::Error| write_failed(&options.output, error);
    let unwritable = |error: WriteError| match error {
        WriteError::Io(error) => failed(error),
        error => Error::from(error).context(options.output.display()),
    };
    let packed = PackedFile::new(target, options.packing()).map_err(failed)?;
    let mut writer = VertexWriter::new(packed, Layout::Lines);
    for label in &survey.labels {
        pages::vertices(view, label.label, |page| {
            for (vertex, id) in reader.vertices(label, page)?.iter().zip(page) {
                let out = reader.edges(&reader.adjacent(*id, Direction::Out)?)?;
                let incoming = reader.edges(&reader.adjacent(*id, Direction::In)?)?;
                writer.write_vertex(vertex, &out, &incoming).map_err(unwritable)?;
                meter.tick(&name, 1 + out.len())?;
            }
            Ok(())
        })?;
    }
    let (target, bytes) = writer.finish().and_then(PackedFile::finish).map_err(failed)?;
    target.finish(options.overwrite)?;
    Ok(vec![ExportedFile { name, rows: survey.vertices_count() + survey.edges_count(), bytes }])
}
