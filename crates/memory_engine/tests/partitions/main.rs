//! Partitions of a graph: stores of some of its groups each, which apply commits that were decided elsewhere.
//!
//! - `random`: beside a store of the whole graph, which decides them
//! - `contract`: what is promised of a store of a partition, one by one
//! - `hubs`: lists that grow until they are taken apart, beside a horizon
//! - `shown`, `parts`: what a snapshot shows; a store of a partition, and how it goes on after it was opened

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod contract;
mod hubs;
mod parts;
mod random;
mod shown;
