//! Read: opens a file of vertices and edges with the reader of its format.

use crate::import::assembly::graph::Assembly;
use crate::import::context::Context;
use crate::import::elements::element_file::{ElementFile, ElementFormat};
use crate::import::elements::element_graph::ElementGraph;
use crate::import::elements::graphson::read_graphson;
use crate::import::elements::one_by_one::read_one_by_one;
use evergraph_graph::error::Result;

/// Reads the vertices of `file` into `assembly`, its edges into `graph`.
///
/// # Errors
/// As reading; a bad row, if it stops the import.
pub fn read_elements(
    graph: &mut ElementGraph,
    file: &ElementFile,
    assembly: &mut Assembly,
    context: &mut Context<'_>,
) -> Result<()> {
    match file.format {
        ElementFormat::GraphSon => read_graphson(graph, file, assembly, context),
        _ => read_one_by_one(graph, file, assembly, context),
    }
}
