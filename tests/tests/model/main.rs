//! A naive graph that keeps every snapshot, beside a database on files in memory: whatever is done to
//! both in whatever order, through merges, checkpoints, reopenings and power cuts, they stay alike.
//!
//! ```text
//! graph      plain maps, and which two writes conflict
//! reference  what may happen next, and what the naive graph is then
//! system     the same done to a database, which is compared after every step
//! hubs       what the random graphs are too small for: lists of more than 16,384 edges
//! ```

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod graph;
mod hubs;
mod reference;
mod system;
