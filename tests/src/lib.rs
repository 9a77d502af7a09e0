//! Support for the behaviour tests: data sets, a view's whole contents, the LSQB queries, stores that can lose
//! power, clusters in one process, and turns of processes.
//!
//! What disagrees or cannot be read panics, as an assertion in the test itself would.

#![allow(clippy::unwrap_used, reason = "a test's support fails as the test does")]

pub mod cluster;
pub mod contents;
pub mod data;
pub mod data_folder;
pub mod lsqb;
pub mod skips;
pub mod store;
pub mod turns;
