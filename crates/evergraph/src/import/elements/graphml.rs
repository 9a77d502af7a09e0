//! GraphML: one file read on one thread, its elements turned into rows on all.
//!
//! XML that is broken can't be read behind the place where it is: that place is the error, whatever
//! options say about bad rows.

use crate::import::assembly::graph::Assembly;
use crate::import::context::Context;
use crate::import::elements::element_graph::{ElementFile, ElementGraph};
use crate::import::elements::graphson::read_error;
use crate::import::elements::rows::{ElementBlock, ElementRows};
use crate::import::pipeline;
use evergraph_formats::element::Element;
use evergraph_formats::graphml::reader::{GraphmlOptions, GraphmlReader};
use evergraph_graph::error::Result;
use std::io::{BufRead, BufReader};

/// Bytes of a file that an element has, about.
const ELEMENT_BYTES: usize = 128;

/// Reads the vertices of `file` into `assembly`, its edges into `graph`.
///
/// # Errors
/// As reading; `invalid` or `limit` for the first thing in the file that is no GraphML; a bad row, if
/// it stops the import.
pub fn read_graphml(
    graph: &mut ElementGraph,
    file: &ElementFile,
    assembly: &mut Assembly,
    context: &mut Context<'_>,
) -> Result<()> {
    let source = file.input.open()?;
    let (name, bytes) = (source.name().to_owned(), source.bytes_read());
    let mut entered = graph.enter(&name, file, assembly, context.options)?;
    let (rules, fault_rules) = (entered.rules(), context.faults.rules());
    let edge_type = file.rule.edge_type.as_ref().unwrap_or(&context.options.edge_type);
    let options = GraphmlOptions {
        default_label: rules.vertex_label.clone(),
        default_edge_type: edge_type.clone(),
        ..GraphmlOptions::default()
    };
    let mut reader =
        GraphmlReader::new(BufReader::new(source), options).map_err(|error| read_error(&name, error))?;
    let elements_max = (context.block_bytes / ELEMENT_BYTES).max(1);
    let (meter, collector) = (&context.meter, &mut context.faults);
    let mut rows_read = 0;
    let parse = |elements: Vec<(u64, Element)>| -> ElementBlock {
        let mut rows = ElementRows::new(&rules, fault_rules);
        elements.into_iter().for_each(|(line, element)| rows.push(line, element));
        rows.finish()
    };
    pipeline::run(
        context.pool,
        || next_elements(&mut reader, elements_max, &name),
        parse,
        |block| graph.add(&mut entered, block, assembly, collector),
        |rows| {
            rows_read = rows;
            meter.tick(&name, &bytes, rows)
        },
    )?;
    context.meter.finish_file(&bytes, rows_read);
    graph.leave(&entered);
    let summary = reader.summary();
    let (undirected, skipped) = (summary.undirected_edges_count, summary.skipped_data_count);
    graph.note(
        &name,
        undirected,
        "edge has",
        "edges have",
        "no direction there: stored once, from source to target",
    );
    graph.note(
        &name,
        skipped,
        "data tag was",
        "data tags were",
        "left out: drawings, or of the graph itself",
    );
    Ok(())
}

/// Some elements and the lines where they begin; `None` at the end of the file.
fn next_elements<R: BufRead>(
    reader: &mut GraphmlReader<R>,
    elements_max: usize,
    name: &str,
) -> Result<Option<Vec<(u64, Element)>>> {
    let mut elements = Vec::new();
    while elements.len() < elements_max {
        let Some(element) = reader.next() else { break };
        let element = element.map_err(|error| read_error(name, error))?;
        elements.push((GraphmlReader::position(reader).line, element));
    }
    Ok((!elements.is_empty()).then_some(elements))
}
