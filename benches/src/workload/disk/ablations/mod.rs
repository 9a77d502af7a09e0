//! Ablations: what choices of the disk engine are worth, each beside the engine as it is.
//!
//! ```text
//! tunings          no filters; T; runs in L0            inserts, pages, bytes, write amplification, reads, scan
//! held_graphs      readers that hold memory graphs      memory, inserts
//! bare_engine      no log and no look-up                inserts, by one thread and two    beside RocksDB without its log
//! memory_graph     skip lists, arrays in place of it     inserts, scan
//! ```
//!
//! What would make the figures lie is the same as for the other parts, and a run of inserts that the time ends before the
//! others': a note says how many edges each had.

pub mod bare_engine;
pub mod held_graphs;
pub mod memory_graph;
pub mod part;
pub mod tunings;
