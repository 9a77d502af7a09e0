//! Certification: commit or refusal of every record, as a pure function of the log before it.
//!
//! ```text
//! for each record in order, also within a message:
//!   id known                      double: nothing happens
//!   S before the floor            too old: nothing is remembered of it
//!   author saw another log        refused
//!   author is no member           fenced
//!   a check or range newer than S conflict
//!   a part is missing             refused
//!   its payloads make no sense    malformed
//!   else                          commit: what it touches is remembered, its mutations are installed
//! ```
//!
//! Rows, names, indexes, members and places pass the first four of these, with what their author had applied as S; a record
//! that joins is never fenced. What they ask for is decided by [`crate::tables`] then. Parts, cancels and barriers have no S: of
//! them doubles are recognised, and those of an author who is no member are fenced.
//!
//! - [`outcome`]: what is decided of a record, and what is remembered of that
//! - [`graph_rules`]: what else decides: members, and whether a payload can be installed
//! - [`split_table`]: a hash table that is cheap to clone
//! - [`generation`]: touches, entries and outcomes of a stretch of the log
//! - [`pending_parts`]: parts of large transactions that were not decided yet
//! - [`certifier`]: the decisions
//! - [`saved_form`]: its state in a checkpoint

pub mod certifier;
pub mod generation;
pub mod graph_rules;
pub mod outcome;
pub mod pending_parts;
pub mod saved_form;
pub mod split_table;
