//! Tables: what follows from the log beside the graph itself: names, groups and their rows, indexes that are being built, the
//! nodes of the cluster, and where partitions are kept.
//!
//! ```text
//! record accepted ──> cluster_tables ──┬─> names, index_builds ──> catalogue, of every node and partition
//!                                      ├─> groups                  ids of vertices, 256 at a time
//!                                      ├─> placement_keys          in which partition a value is
//!                                      └─> members, placement      who answers for which partition
//! ```
//!
//! Every node applies every record, so that all have the same tables, and a record gives all who ask the same. What a record
//! asks for may still be refused here, on every node alike: certification says only that it is new, of this log, and not too
//! old.
//!
//! - [`names`]: numbers of labels, edge types and keys
//! - [`index_builds`]: indexes that are not ready
//! - [`groups`]: vertex groups and their rows
//! - [`placement_keys`]: by which property vertices are divided among partitions
//! - [`members`]: nodes, and how often they started
//! - [`placement`]: copies of partitions
//! - [`cluster_tables`]: all of them, and what a record does to them
//! - [`payload_check`]: what a transaction commits, if every node can install it
//! - [`saved_form`]: their state in a checkpoint

pub mod cluster_tables;
pub mod groups;
pub mod index_builds;
pub mod members;
pub mod names;
pub mod payload_check;
pub mod placement;
pub mod placement_keys;
pub mod saved_form;
