//! Travelling: stages of queries on three nodes, over a network in memory that delays, loses, doubles and turns round.
//!
//! ```text
//! nodes       a cluster in this process, on a log and a network in memory
//! cluster     three of them that run stages of queries, on a network with faults
//! gates       programs that stop where a test says
//! graphs      random graphs, on the cluster and in one store
//! questions   random queries
//! answers     all three ways give the same: one store, the remote view, travelling stages
//! ends        a query ends with its asker, its time, its memory, and with a node that is lost
//! horizon     what a query reads is kept for as long as it runs
//! counts      how many messages and bytes rows take
//! ```
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod answers;
mod cluster;
mod counts;
mod ends;
mod gates;
mod graphs;
mod horizon;
#[path = "../../../../tests/src/cluster/nodes.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod nodes;
mod questions;
