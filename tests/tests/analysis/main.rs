//! Algorithms as they are described: every entry of the table of crates/analysis answers, costs and refuses what it says.
//!
//! They are here and not beside the code, since unit tests would compile every kernel once more.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod arguments;
mod convergence;
mod graph;
mod groups;
mod real_text;
mod table;
