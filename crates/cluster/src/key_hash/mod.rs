//! Key hashes: what certification compares instead of the graph.
//!
//! ```text
//! mutations ──conflict_table──> subjects ──touches──┐
//! keys read or written ──conflict_table──> subjects ─┴─checks──> hashes of 64 bits, in a record
//! ```
//!
//! - [`graph_salt`]: hashes, and what keeps those of two graphs apart
//! - [`subject`]: the parts of a graph that are compared, and their hashes
//! - [`conflict_table`]: what a mutation touches, and what each key checks
//! - [`sort_key`]: the places of values in ordered indexes, and ranges of them
//! - [`touches`]: all that a transaction touches
//! - [`checks`]: all that must not have changed since its snapshot

pub mod checks;
pub mod conflict_table;
pub mod graph_salt;
pub mod sort_key;
pub mod subject;
pub mod touches;
