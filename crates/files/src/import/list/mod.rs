//! Lists: files of edges, or of vertices, one a line, whose columns have no header.
//!
//! ```text
//! file ──> reader ──> line, all threads ──> graph
//!   header: what the first lines of DIMACS and Matrix Market files say
//! ```

pub mod file;
pub mod graph;
pub mod header;
pub mod line;
pub mod reader;
