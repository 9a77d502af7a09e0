//! GraphSON: files of vertices with their edges, split on one thread and parsed on all.
//!
//! A text that is no vertex is a bad row of the line where it is wrong. At the end of all files the
//! edges of both sides are compared: a file that lost a line is not loaded as if it were whole.

use crate::import::assembly::graph::Assembly;
use crate::import::bad_row::Fault;
use crate::import::bytes::source::Source;
use crate::import::context::Context;
use crate::import::elements::element_file::ElementFile;
use crate::import::elements::element_graph::ElementGraph;
use crate::import::elements::rows::{ElementBlock, ElementRows};
use crate::import::pipeline;
use evergraph_formats::element::Position;
use evergraph_formats::error::ReadError;
use evergraph_formats::graphson::documents::Documents;
use evergraph_formats::graphson::line_read::parse_line;
use evergraph_formats::graphson::sides::{Side, SideSums};
use evergraph_formats::graphson::stream::StreamOptions;
use evergraph_graph::error::{Error, Result};
use std::io::{BufRead, BufReader};

/// Texts of some vertices, one behind the other.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    /// Where each begins in the file, and where it ends in `bytes`.
    ends: Vec<(Position, usize)>,
}

/// Reads the vertices of `file` into `assembly`, its edges into `graph`.
///
/// # Errors
/// As reading; `invalid` or `limit` if the file can't be cut into vertices; a bad row, if it stops the
/// import.
pub fn read_graphson(
    graph: &mut ElementGraph,
    file: &ElementFile,
    assembly: &mut Assembly,
    context: &mut Context<'_>,
) -> Result<()> {
    let source = file.input.open()?;
    let (name, bytes) = (source.name().to_owned(), source.bytes_read());
    let mut entered = graph.enter(&name, file, assembly, context.options)?;
    let vertex_bytes_max = StreamOptions::default().vertex_bytes_max;
    let mut documents = Documents::new(BufReader::new(source), vertex_bytes_max);
    let (rules, fault_rules, block_bytes) = (entered.rules(), context.faults.rules(), context.block_bytes);
    let (meter, collector) = (&context.meter, &mut context.faults);
    let (mut sums, mut has_gaps, mut rows_read) = (SideSums::default(), false, 0);
    let parse = |texts: Texts| -> (ElementBlock, SideSums, bool) {
        let mut rows = ElementRows::new(&rules, fault_rules);
        let (mut sums, mut has_gaps, mut start) = (SideSums::default(), false, 0);
        for (position, end) in texts.ends {
            // A place behind the line's end would be one of the next line.
            let text = texts.bytes[start..end].trim_ascii_end();
            start = end;
            match parse_line(text, Side::Out) {
                Ok(parsed) => {
                    sums.merge(&parsed.sums);
                    rows.push_vertex(position.line, parsed.vertex);
                    parsed.edges.into_iter().for_each(|edge| rows.push_edge(position.line, edge));
                }
                Err(error) => {
                    has_gaps = true;
                    let before = usize::try_from(error.column - 1).unwrap_or(text.len()).min(text.len());
                    let at = position.after(&text[..before]);
                    let why = format!("byte {}: {}", at.column, error.reason);
                    rows.push_fault(at.line, Fault::of_row(why, text));
                }
            }
        }
        (rows.finish(), sums, has_gaps)
    };
    pipeline::run(
        context.pool,
        || next_texts(&mut documents, block_bytes, &name),
        parse,
        |(block, block_sums, block_has_gaps)| {
            sums.merge(&block_sums);
            has_gaps |= block_has_gaps;
            graph.add(&mut entered, block, assembly, collector)
        },
        |rows| {
            rows_read = rows;
            meter.tick(&name, &bytes, rows)
        },
    )?;
    context.meter.finish_file(&bytes, rows_read);
    graph.leave(&entered);
    graph.add_sides(&name, &sums, has_gaps);
    Ok(())
}

/// Texts of about `block_bytes`, one at least; `None` at the end of the file.
fn next_texts<R: BufRead>(
    documents: &mut Documents<R>,
    block_bytes: usize,
    name: &str,
) -> Result<Option<Texts>> {
    let mut texts = Texts::default();
    while texts.bytes.len() < block_bytes {
        let Some((position, text)) = documents.next_document().map_err(|error| read_error(name, error))?
        else {
            break;
        };
        texts.bytes.extend_from_slice(text);
        texts.ends.push((position, texts.bytes.len()));
    }
    Ok((!texts.ends.is_empty()).then_some(texts))
}

/// The error of a file that can't be read further.
pub(super) fn read_error(name: &str, error: ReadError) -> Error {
    match error {
        // What the source says names the file already.
        ReadError::Io { source, .. } => Source::error(source),
        error => Error::from(error).context(name),
    }
}
