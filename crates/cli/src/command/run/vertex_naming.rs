//! Vertex naming: what gives the vertices of an answer the names that are printed, and writes files with.

use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_report::vertex_names::VertexName;

/// What gives vertices their names.
pub trait VertexNaming {
    /// What each of `vertices` is called, all of which are in the answer.
    ///
    /// # Errors
    /// What reading may meet.
    fn names(&self, vertices: &[VertexId]) -> Result<Vec<VertexName>>;
}
