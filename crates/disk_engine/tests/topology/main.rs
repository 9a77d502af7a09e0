//! Topologies of memory graphs and files beside a naive graph: every projection, direction and way of visiting.
//!
//! ```text
//! history      random commits: vertices, edges, properties; the state at every time
//! naive_file   a stretch of a history as a file: sorted records, with stamps or reduced to one an item
//! stored_files the same records as CSR files
//! edges        what a projection leaves of a state; what a topology visits
//! random       random histories, layers, projections and visits
//! hub          lists longer than every buffer; limits; what fails
//! in_sides     in lists with weights in temporary files
//! ```

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]
#![allow(clippy::single_range_in_vec_init, reason = "visits take any number of ranges, also one")]

mod edges;
mod history;
mod hub;
mod in_sides;
mod naive_file;
mod random;
mod stored_files;
