//! Threads that write, read, merge and make checkpoints at once: what must hold whoever is first.
//!
//! ```text
//! bank         transfers: the sum of all balances is the same in every snapshot
//! churn        vertices and edges come and go: every snapshot agrees with itself; a held one stays, and
//!              its end gives memory back
//! durability   what a snapshot of mode sync showed is there after a power cut
//! at_once      (support) threads that run until a time is up
//! ```
//!
//! Each runs for a stated time, so that a slow machine tests less and fails no more.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod at_once;
mod bank;
mod churn;
mod durability;
