//! The disk engine: a graph larger than memory, in an LSM tree of CSR files.
//!
//! ```text
//! memory_graph   the newest commits, in memory
//! generation     a memory graph, then the file that it became
//! ```

pub mod generation;
pub mod memory_graph;
