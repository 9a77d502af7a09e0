//! Statistics: what the tree consists of, level by level, and what it costs.

use crate::cache::CacheStatistics;
use crate::counters::{CompactionStatistics, FlushStatistics};
use crate::engine::DiskEngine;
use crate::file::csr_file::CsrFile;
use crate::file::page_reader::PinnedStatistics;
use crate::format::subject::{EdgeSide, SubjectKind};
use crate::generation::Generation;
use crate::memory_graph::graph::MemoryGraph;
use crate::pacing::StallStatistics;
use crate::tree_state::TreeState;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::EngineStatistics;
use std::sync::Arc;

/// The files of one level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LevelStatistics {
    /// How many there are.
    pub files: u64,
    /// Bytes of lists, vertices, entries and filters.
    pub topology_bytes: u64,
    /// Bytes of properties.
    pub property_bytes: u64,
    /// Bytes of memory for their page indexes and directories.
    pub memory_bytes: u64,
}

/// A disk engine's numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TreeStatistics {
    /// L0 first, up to the deepest level that has files; L0 is always there.
    pub levels: Vec<LevelStatistics>,
    /// F: every commit through it is in files.
    pub covered_through: Timestamp,
    /// Conflict checks know of every change that is newer than this commit.
    pub conflict_floor: Timestamp,
    /// Memory graphs that wait for their flush.
    pub frozen_graphs: u64,
    /// Bytes of those and of the open graph.
    pub graph_bytes: u64,
    /// Memory graphs that have a file, and are kept for conflict checks.
    pub retained_graphs: u64,
    /// Bytes of those.
    pub retained_bytes: u64,
    /// Files that compactions replaced, and that snapshots still read.
    pub pinned: PinnedStatistics,
    /// Flushes since opening.
    pub flushes: FlushStatistics,
    /// Why the last flush failed, if none has succeeded since.
    pub flush_failure: Option<String>,
    /// Compactions since opening.
    pub compactions: CompactionStatistics,
    /// Why the last compaction failed, if none has succeeded since.
    pub compaction_failure: Option<String>,
    /// Commits that were slowed or waited since opening.
    pub stalls: StallStatistics,
    /// The cache of pages.
    pub cache: CacheStatistics,
    /// Whether all files are read past the system's page cache; false on a file system without direct I/O.
    pub direct_io: bool,
}

fn level(files: &[Arc<CsrFile>]) -> LevelStatistics {
    let mut level = LevelStatistics { files: files.len() as u64, ..LevelStatistics::default() };
    for file in files {
        let stored = file.stored();
        level.topology_bytes += stored.topology.bytes;
        level.property_bytes += stored.columns.map_or(0, |columns| columns.bytes);
        level.memory_bytes += file.heap_bytes() as u64;
    }
    level
}

/// How many of the generations have a graph, and its bytes.
fn graphs<'a>(generations: impl Iterator<Item = &'a Arc<Generation<CsrFile>>>) -> (u64, u64) {
    let sizes = generations.filter_map(|generation| generation.graph()).map(|graph| size(&graph));
    sizes.fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes))
}

fn size(graph: &MemoryGraph) -> u64 {
    graph.size().total_bytes()
}

/// Inserts minus Deletes in out sides, by the directories of all files: edges of the set.
fn edges_in_files(current: &TreeState<CsrFile>) -> u64 {
    let is_out = |kind| matches!(kind, SubjectKind::Edges { side: EdgeSide::Out, .. });
    let rows = current.set.iter().flat_map(|file| file.directory_rows());
    let sum: i64 = rows.filter(|row| is_out(row.subject.kind())).map(|row| row.difference).sum();
    u64::try_from(sum).unwrap_or(0)
}

impl DiskEngine {
    /// Its numbers. Cost: a look at each file and graph.
    #[must_use]
    pub fn tree_statistics(&self) -> TreeStatistics {
        let current = self.tree().current();
        let mut levels: Vec<_> = current.set.levels().map(level).collect();
        let deepest = levels.iter().rposition(|level| level.files > 0).unwrap_or(0);
        levels.truncate(deepest + 1);
        let flushed = current.retained.as_slice().iter().filter(|generation| generation.file().is_some());
        let (retained_graphs, retained_bytes) = graphs(flushed);
        let (_, graph_bytes) = graphs(current.generations.iter());
        TreeStatistics {
            levels,
            covered_through: current.covered_through,
            conflict_floor: current.retained.floor(),
            frozen_graphs: current.frozen().len() as u64,
            graph_bytes,
            retained_graphs,
            retained_bytes,
            pinned: self.page_reader().pinned(),
            flushes: self.flushes().statistics(),
            flush_failure: self.pacing().failure(),
            compactions: self.compactions().statistics(),
            compaction_failure: self.pacing().compaction_failure(),
            stalls: self.pacing().statistics(),
            cache: self.page_reader().statistics(),
            direct_io: current.set.iter().all(|file| file.is_direct()),
        }
    }

    /// As [`DiskEngine::tree_statistics`], in the terms that all engines share: a body is a file, a record one in a
    /// memory graph, and a merge a flush. Fresh edges and hubs are not counted.
    pub(crate) fn shared_statistics(&self) -> EngineStatistics {
        let tree = self.tree_statistics();
        let mut statistics = EngineStatistics::default();
        statistics.groups = self.groups().iter().count() as u64;
        statistics.segments = self.groups().segment_count();
        statistics.body_edges = edges_in_files(&self.tree().current());
        statistics.topology_bytes = tree.levels.iter().map(|level| level.topology_bytes).sum();
        statistics.property_bytes = tree.levels.iter().map(|level| level.property_bytes).sum();
        statistics.record_bytes = tree.graph_bytes + tree.retained_bytes;
        statistics.retained_versions = tree.retained_graphs;
        statistics.retained_bytes = tree.retained_bytes;
        statistics.merges = tree.flushes.files;
        statistics.merging = tree.flushes.flushing;
        statistics.collected_versions = tree.flushes.freed_graphs;
        statistics.stalls = tree.stalls.stalls;
        statistics.stalled = tree.stalls.stalled;
        statistics.stall_max = tree.stalls.stall_max;
        statistics
    }
}
