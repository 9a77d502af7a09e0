//! Simulation: what the simulations of the cluster share.
//!
//! ```text
//! seeds              which of them are played, on all cores; how to play one again
//! tally              how often something happened, by name
//! trace              a number for everything that happened: the same seed gives the same one
//! traced_transport   a node's connection to the network in memory, which notes each frame in a trace
//! written_log        the messages of a script, and the state after them
//! ```
//!
//! Each simulates one layer, `whole_cluster` all of them: docs/testing.md has a table.

pub mod seeds;
pub mod tally;
pub mod trace;
pub mod traced_transport;
pub mod written_log;
