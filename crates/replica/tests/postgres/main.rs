//! The source beside a real PostgreSQL, which the tests start on a free port of this machine. Without PostgreSQL's programs they
//! say that they were skipped; with `CI` set they fail.
//!
//! Each trap of the design has a test that names it: `traps.rs`, `faults.rs`.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod catalogue;
mod copies;
mod copy;
#[path = "../../../../tests/src/data_folder.rs"]
mod data_folder;
mod data_sets;
#[path = "../recorded/describer.rs"]
mod describer;
mod fake_server;
mod faults;
mod follower;
mod logins;
mod mappings;
mod record;
#[path = "../recorded/recording.rs"]
mod recording;
mod server;
#[path = "../../../../tests/src/skips.rs"]
mod skips;
mod slots;
mod sql_graph;
mod streams;
mod traps;
mod values;
