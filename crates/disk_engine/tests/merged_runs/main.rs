//! Merged runs: merges of lists and of index entries beside their whole histories.
//!
//! ```text
//! history        random exact histories, the state at every time, and sources made from parts of them
//! lists          what merges of lists tell: state, properties, counts, order
//! entries        merges of index entries, with a scan that repeats what is above it
//! list_records   sources of lists, and the records that a merge gives
//! ```
//!
//! Expectations come from replaying a history, never from the rule that merges follow.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod entries;
mod history;
mod list_records;
mod lists;
