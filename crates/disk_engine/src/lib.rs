//! The disk engine: a graph larger than memory, in an LSM tree of CSR files.
//!
//! ```text
//! format         bytes of pages and files, without I/O
//! memory_graph   the newest commits, in memory
//! generation     a memory graph, then the file that it became
//! merge          several sorted sources of records become one, with one exact record a key
//! source         records as one reader sees them, in memory or in a file
//! stored_file    what a manifest says of a file; key_range: which keys files have, and whether they overlap
//! writer, flush  files of sorted records; a memory graph becomes one
//! view           the graph as of one commit, out of all sources
//! cache          verified pages of files, in what nobody reserves of the memory budget
//! file           reading files
//! level          the files of one level as one sorted run: level_scan reads them in key order
//! pick           which files are compacted next; compaction_areas: beside those that are compacted now
//! compact        files of some levels become files of one
//! file_set       all files of one moment; tree_state: those and the generations; tree: replaced as a whole
//! groups         vertex groups, their labels and edge types
//! spill          temporary files without names: buckets, sorting, scratch space of algorithms
//! topology       the lists of a snapshot for algorithms, streamed
//! tuning         what measurements choose otherwise: T, runs in L0, filters
//! graph_supply   the memory graph that follows the open one; commit_room: what a commit needs ahead of the latch
//! pacing         writers wait while the flush is behind; flusher: writes the oldest frozen graph to a file
//! engine         its parts; transactions: all of it behind `Engine`; counters, statistics: its numbers
//! durable        the engine as a database in a directory: manifest, opening, checkpoints
//! ```

pub mod cache;
pub mod commit_room;
pub mod compact;
pub mod compaction_areas;
pub mod compactor;
pub mod counters;
pub mod durable;
pub mod engine;
pub mod file;
pub mod file_set;
pub mod flush;
pub mod flusher;
pub mod format;
pub mod generation;
pub mod graph_supply;
pub mod groups;
mod index_fill;
mod index_records;
pub mod index_table;
pub mod key_range;
pub mod level;
pub mod level_scan;
pub mod memory_graph;
pub mod merge;
pub mod pacing;
pub mod pick;
pub mod source;
pub mod spill;
pub mod statistics;
pub mod stored_file;
pub mod topology;
mod transactions;
pub mod tree;
pub mod tree_state;
pub mod tuning;
pub mod view;
pub mod writer;
