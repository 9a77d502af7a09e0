//! The disk engine: a graph larger than memory, in an LSM tree of CSR files. Under construction: no database has it yet.
//!
//! ```text
//! format         bytes of pages and files, without I/O
//! memory_graph   the newest commits, in memory
//! generation     a memory graph, then the file that it became
//! merge          several sorted sources of records become one, with one exact record a key
//! source         records as one reader sees them, in memory or in a file
//! cache          verified pages of files, in what nobody reserves of the memory budget
//! file_set, tree files and generations of one moment, replaced in one swap
//! writer, flush  files of sorted records; a memory graph becomes one
//! durable        the engine as a database in a directory: manifest, opening, checkpoints
//! ```

pub mod cache;
pub mod durable;
pub mod file_set;
pub mod flush;
pub mod format;
pub mod generation;
pub mod groups;
pub mod memory_graph;
pub mod merge;
pub mod pacing;
pub mod source;
pub mod stored_file;
pub mod tree;
pub mod writer;
