//! Lists: files of edges, or of vertices, one a line, whose columns have no header.
//!
//! ```text
//! file ──> reader ──> line, all threads ──> graph
//!   header: what the first lines of DIMACS and Matrix Market files say
//!   list_ids, id_runs: which row has an id, in memory or in temporary files; numbering: which one at last
//! ```

pub mod file;
pub mod graph;
pub mod header;
mod id_runs;
pub mod line;
mod list_ids;
mod numbering;
pub mod reader;
