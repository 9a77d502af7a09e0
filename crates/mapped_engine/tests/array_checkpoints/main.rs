//! Checkpoints of array files over a naive graph: power cuts, failures, costs, damage, copies.
//!
//! What is under test is everything between the segments of the engine and the disk; the segments are maps here.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod costs;
mod crash;
mod damage;
mod failures;
mod naive;
