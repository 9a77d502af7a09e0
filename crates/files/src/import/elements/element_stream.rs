//! Element stream: formats whose elements come one after the other (GraphML, GEXF, GML, Pajek, node-link
//! JSON), read on one thread and turned into rows on all.
//!
//! Such a file can't be read behind the place where it is broken: that place is the error, whatever options
//! say about bad rows.

use crate::import::assembly::graph::Assembly;
use crate::import::bytes::source::Source;
use crate::import::context::Context;
use crate::import::elements::element_file::{ElementFile, ElementFormat};
use crate::import::elements::element_graph::ElementGraph;
use crate::import::elements::graphson::read_error;
use crate::import::elements::rows::{ElementBlock, ElementRows};
use crate::import::pipeline;
use evergraph_formats::element::Element;
use evergraph_formats::element_source::{ElementSource, SourceOptions};
use evergraph_formats::error::ReadError;
use evergraph_formats::gexf::reader::GexfReader;
use evergraph_formats::gml::reader::GmlReader;
use evergraph_formats::graphml::options::GraphmlOptions;
use evergraph_formats::graphml::reader::GraphmlReader;
use evergraph_formats::node_link::reader::NodeLinkReader;
use evergraph_formats::pajek::reader::PajekReader;
use evergraph_graph::error::Result;
use evergraph_storage::io::machine_memory::available_bytes;
use std::io::BufReader;

/// Bytes of a file that an element has, about.
const ELEMENT_BYTES: usize = 128;
/// Memory of a vertex with nothing but an id, while it is loaded, about.
const ANNOUNCED_BYTES: u64 = 64;

/// Reads the vertices of `file` into `assembly`, its edges into `graph`.
///
/// # Errors
/// As reading; `invalid` or `limit` for the first thing in the file that its format doesn't know; a bad row,
/// if it stops the import.
pub fn read_one_by_one(
    graph: &mut ElementGraph,
    file: &ElementFile,
    assembly: &mut Assembly,
    context: &mut Context<'_>,
) -> Result<()> {
    let source = file.input.open()?;
    let (name, bytes) = (source.name().to_owned(), source.bytes_read());
    let mut entered = graph.enter(&name, file, assembly, context.options)?;
    let (rules, fault_rules) = (entered.rules(), context.faults.rules());
    let edge_type = file.rule.edge_type.as_ref().unwrap_or(&context.options.lists.edge_type);
    let mut reader = reader(file.format, source, &rules.vertex_label, edge_type)
        .map_err(|error| read_error(&name, error))?;
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
        || next_elements(&mut *reader, elements_max, &name),
        parse,
        |block| graph.add(&mut entered, block, assembly, collector),
        |rows| {
            rows_read = rows;
            meter.tick(&name, &bytes, rows)
        },
    )?;
    context.meter.finish_file(&bytes, rows_read);
    graph.leave(&entered);
    for (remark, count) in reader.summary().remarks() {
        graph.notes.push(format!("{name}: {}", remark.sentence(count)));
    }
    Ok(())
}

/// What reads a file of `format`, whose elements are of `label` and `edge_type` where it says neither.
fn reader(
    format: ElementFormat,
    source: Source,
    label: &str,
    edge_type: &str,
) -> std::result::Result<Box<dyn ElementSource + Send>, ReadError> {
    let bytes = BufReader::new(source);
    let options = SourceOptions {
        default_label: label.to_owned(),
        default_edge_type: edge_type.to_owned(),
        announced_max: available_bytes() / ANNOUNCED_BYTES,
        ..SourceOptions::default()
    };
    Ok(match format {
        ElementFormat::Gexf => Box::new(GexfReader::new(bytes, options)?),
        ElementFormat::Gml => Box::new(GmlReader::new(bytes, options)),
        ElementFormat::Pajek => Box::new(PajekReader::new(bytes, options)),
        ElementFormat::NodeLink => Box::new(NodeLinkReader::new(bytes, options)),
        // GraphSON has a reader of its own and never comes here.
        ElementFormat::GraphMl | ElementFormat::GraphSon => {
            let SourceOptions { default_label, default_edge_type, .. } = options;
            let options = GraphmlOptions { default_label, default_edge_type, ..GraphmlOptions::default() };
            Box::new(GraphmlReader::new(bytes, options)?)
        }
    })
}

/// Some elements and the lines where they begin; `None` at the end of the file.
fn next_elements(
    reader: &mut (dyn ElementSource + Send),
    elements_max: usize,
    name: &str,
) -> Result<Option<Vec<(u64, Element)>>> {
    let mut elements = Vec::new();
    while elements.len() < elements_max {
        let Some(element) = reader.next() else { break };
        let element = element.map_err(|error| read_error(name, error))?;
        elements.push((ElementSource::position(reader).line, element));
    }
    Ok((!elements.is_empty()).then_some(elements))
}
