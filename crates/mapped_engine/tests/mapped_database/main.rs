//! The mapped engine as a database: the memory engine's histories and hubs, and what is this engine's own.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod damaged_runs;
mod golden;
#[path = "../../../memory_engine/tests/checkpoint/histories.rs"]
mod histories;
#[path = "../../../memory_engine/tests/checkpoint/hubs.rs"]
mod hubs;
mod index_upkeep;
mod indexes;
mod joining;
mod own;
mod persistent_lines;
mod stores;
#[path = "../../../memory_engine/tests/checkpoint/support.rs"]
mod support;
mod tested;
