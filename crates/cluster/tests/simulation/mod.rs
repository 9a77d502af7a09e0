//! Simulation: what the simulations of the cluster share.
//!
//! ```text
//! seeds   which of them are played, on all cores; how to play one again
//! trace   a number for everything that happened: the same seed gives the same one
//! ```
//!
//! Each simulates one layer, of which docs/testing.md has a table.

pub mod seeds;
pub mod trace;
