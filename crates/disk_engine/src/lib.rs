//! The disk engine: a graph larger than memory, in an LSM tree of CSR files. Under construction: no database has it yet.
//!
//! ```text
//! format         bytes of pages and files, without I/O
//! memory_graph   the newest commits, in memory
//! generation     a memory graph, then the file that it became
//! file_set       all files of one moment; tree: those and the generations, replaced as a whole
//! groups         vertex groups, their labels and edge types
//! merge          several sorted sources of records become one, with one exact record a key
//! source         records as one reader sees them, in memory or in a file
//! topology       the lists of a snapshot for algorithms, streamed
//! view           the graph as of one commit, out of all sources
//! cache          verified pages of files, in what nobody reserves of the memory budget
//! stored_file    what a manifest says of one file
//! file           one file, read by items, lists and groups, or in key order
//! ```

pub mod cache;
pub mod file;
pub mod file_set;
pub mod format;
pub mod generation;
pub mod groups;
pub mod memory_graph;
pub mod merge;
pub mod source;
pub mod stored_file;
pub mod topology;
pub mod tree;
pub mod view;
