//! Export: whatever graph is written, an import of it gives it back.

#![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod edge_lists;
mod graphs;
mod keys;
mod places;
mod report;
mod round_trip;
mod values;
