//! Running nodes: three nodes in threads of their own, with stores of the memory engine, on a log and a network in memory.
//!
//! ```text
//! cluster        nodes, each a thread and its workers; a thread for which time passes, for log and network
//! copies         what a node has lost comes from the others, while all write: it is what they have
//! indexes        built by the stores of all nodes, while all nodes write
//! judge          reads the log by itself: the graph after each commit
//! look_ups       a read of all partitions is a frame to each node, and a few back
//! own_reads      the same of readers that read the partitions of their node themselves
//! reads          what any node reads of all partitions at S is the graph at S, while commits and merges go on
//! writer         transactions that fit the graph, by hand: each is decided before the next
//! stores         what the front of a store promises, over a graph of all nodes
//! transactions   stores of all nodes: what they read, committed and were refused is right in the order of the log
//! settling       a commit ends with its time, and any node says later what became of it
//! vertex_ids     an id that the log has, or may have, is given to nobody else; any other is
//! ```
//!
//! What is asked and written comes from a seed; when it happens, and what happens at once, does not. Whatever happens, the log
//! says what must come of it.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

#[path = "../../../../tests/src/cluster/nodes.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod cluster;
mod copies;
mod indexes;
mod judge;
mod look_ups;
mod own_reads;
mod reads;
#[path = "../stores/script.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod script;
mod settling;
#[path = "../../../memory_engine/tests/partitions/shown.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod shown;
#[path = "../simulation/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod simulation;
mod stores;
mod transactions;
mod vertex_ids;
mod writer;
