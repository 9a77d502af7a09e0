//! Readers: databases that are read beside the process that writes them, by the mapped engine.
//!
//! - `history`: commits that anybody can compute by their timestamps
//! - `beside`: what a reader sees in the course of time, in one process
//! - `between_writers`: snapshots that begin while one writer has ended and the next one comes
//! - `shared_files`: which files processes share, and when they go
//! - `refusals`: who can't open a database to read it, and what is said then
//! - `other_user`: processes of another user, and what real modes keep them from
//! - `processes`: real processes, killed at random

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

// What it compiled of the front for any engine is linked, not compiled once more.
use evergraph as _;

mod beside;
mod between_writers;
mod history;
#[path = "../front/model.rs"]
#[allow(dead_code, reason = "the model of conflicts is for other tests")]
mod model;
mod other_user;
mod processes;
mod refusals;
mod shared_files;
