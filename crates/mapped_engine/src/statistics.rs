//! Statistics: what a mapped graph takes in its files and in `live`, beside what all engines count.

use crate::engine::graph::MappedGraph;

/// Files of a mapped graph.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MappedStatistics {
    /// Array files.
    pub files: u64,
    /// Their bytes.
    pub file_bytes: u64,
    /// Bytes in them that no extent takes: the next merges write there.
    pub free_bytes: u64,
    /// Bytes of records that no merge has taken in yet, of names and of versions, in `live`.
    pub live_bytes: u64,
    /// What those may be before commits wait for merges.
    pub live_limit_bytes: u64,
    /// Size of the file `live`, which has what is free between them as well, and never gets shorter while the database is open.
    pub live_file_bytes: u64,
}

impl MappedStatistics {
    /// Those of `graph` now. Cost: a look at each file, and at each region of `live`.
    #[must_use]
    pub fn of(graph: &MappedGraph) -> Self {
        let extents = graph.extents().statistics();
        Self {
            files: extents.files_count,
            file_bytes: extents.file_bytes,
            free_bytes: extents.free_bytes,
            live_bytes: graph.arena().used_bytes(),
            live_limit_bytes: graph.options().live_bytes_max,
            live_file_bytes: graph.arena().words().open_bytes(),
        }
    }
}
