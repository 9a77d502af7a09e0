//! The disk engine: a graph larger than memory, in an LSM tree of CSR files. Under construction: no database has it yet.
//!
//! ```text
//! format         bytes of pages and files, without I/O
//! memory_graph   the newest commits, in memory
//! generation     a memory graph, then the file that it became
//! merge          several sorted sources of records become one, with one exact record a key
//! source         records as one reader sees them, in memory or in a file
//! stored_file    what a manifest says of a file
//! writer         records in file order become a file
//! flush          a memory graph becomes a file
//! cache          verified pages of files, in what nobody reserves of the memory budget
//! file           one file, read by items, lists and groups, or in key order
//! ```

pub mod cache;
pub mod file;
pub mod flush;
pub mod format;
pub mod generation;
pub mod memory_graph;
pub mod merge;
pub mod source;
pub mod stored_file;
pub mod writer;
