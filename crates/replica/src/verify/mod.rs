//! Verify: compares the graph at one position with what SQL's rows say it must be.
//!
//! ```text
//!                    vertices, then edges, of each rule
//! source ──COPY──> entities ──┐
//!                             ├──> counts and sums of hashes, by key ranges ──> ranges that differ ──> keys that differ
//! graph  ──scan──> entities ──┘                                                                       first ones, whole
//! ```
//!
//! Equal sides are read once. Memory: a kilobyte for each key range of each rule, and hashes of the entities in ranges that
//! differ, up to a limit.
//!
//! Which edge must exist depends on whether its ends do, by the source. After vertices were compared that is known of the
//! graph: a vertex is there if it is in the graph, but for those that were found to differ.

pub mod consumer;
pub mod difference;
pub mod entity;
pub mod graph_side;
pub mod run;
pub mod source_side;
pub mod subject;
