//! Sizes: what a database takes in memory and on disk, whatever its engine.

use serde::{Deserialize, Serialize};

/// Bytes in memory.
#[derive(Debug, Deserialize, Serialize)]
pub struct Memory {
    /// Lists of edges, both directions.
    pub topology_bytes: u64,
    /// Properties.
    pub property_bytes: u64,
    /// Orders by value of newest-first edge types, as far as they were read.
    pub order_bytes: u64,
    /// Changes that no merge has taken in yet.
    pub record_bytes: u64,
    /// Older states that snapshots need.
    pub retained_bytes: u64,
    /// Indexes, but for what lies with the changes that no merge has taken in.
    pub index_bytes: u64,
    /// All of these.
    pub total_bytes: u64,
    /// Lists alone; `null` without edges.
    pub topology_bytes_per_edge: Option<f64>,
    /// All of it; `null` without edges.
    pub total_bytes_per_edge: Option<f64>,
}

/// Bytes on disk.
#[derive(Debug, Deserialize, Serialize)]
pub struct Disk {
    /// Of all files.
    pub bytes: u64,
    /// Files of the log.
    pub log_files: u64,
    /// Of those.
    pub log_bytes: u64,
}
