//! Mapped: what a database of the mapped engine has in its files, and what waits to be merged into them.

use evergraph::Statistics;
use serde::{Deserialize, Serialize};

/// Files of the mapped engine, and the memory beside them.
#[derive(Debug, Deserialize, Serialize)]
pub struct MappedEntry {
    /// Array files.
    pub files: u64,
    /// Their bytes.
    pub file_bytes: u64,
    /// Bytes in them that nothing takes: the next merges write there.
    pub free_bytes: u64,
    /// Lists of edges in them, both directions.
    pub topology_bytes: u64,
    /// Properties in them.
    pub property_bytes: u64,
    /// Entries of indexes in them.
    pub index_bytes: u64,
    /// Lists alone; `null` without edges.
    pub topology_bytes_per_edge: Option<f64>,
    /// Bytes of what no merge has taken in yet, in the memory that the file `live` maps.
    pub live_bytes: u64,
    /// What those may be before commits wait for merges.
    pub live_limit_bytes: u64,
    /// Size of the file `live`.
    pub live_file_bytes: u64,
}

impl MappedEntry {
    /// That of a database in which there are so many edges; `None` for one of another engine.
    #[must_use]
    pub fn new(statistics: &Statistics, edges_count: u64) -> Option<Self> {
        let (mapped, engine) = (statistics.mapped?, &statistics.store.engine);
        let topology_bytes = engine.topology_bytes;
        Some(Self {
            files: mapped.files,
            file_bytes: mapped.file_bytes,
            free_bytes: mapped.free_bytes,
            topology_bytes,
            property_bytes: engine.property_bytes,
            index_bytes: statistics.store.index_file_bytes,
            topology_bytes_per_edge: (edges_count > 0).then(|| topology_bytes as f64 / edges_count as f64),
            live_bytes: mapped.live_bytes,
            live_limit_bytes: mapped.live_limit_bytes,
            live_file_bytes: mapped.live_file_bytes,
        })
    }
}
