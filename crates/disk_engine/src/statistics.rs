//! Statistics: what the tree consists of, level by level, and what it costs.

use crate::cache::CacheStatistics;
use crate::counters::{CompactionStatistics, FlushStatistics, ListReadStatistics};
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
    /// Pages of its files that were read since opening, by whomever: readers, scans, compactions.
    pub pages_read: u64,
}

/// Why a memory graph is in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphUse {
    /// Commits go to it.
    Open,
    /// It waits for its flush.
    Flush,
    /// It has a file; a transaction that began at this commit may conflict with its changes.
    Transaction(Timestamp),
    /// It has a file, and goes when something is flushed or a commit needs room.
    Nothing,
}

/// A memory graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GraphStatistics {
    /// Its newest commit; `None` if it has none.
    pub last: Option<Timestamp>,
    /// Its bytes.
    pub bytes: u64,
    /// Why it is there.
    pub used_for: GraphUse,
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
    /// All memory graphs, oldest first, and why each is there.
    pub graphs: Vec<GraphStatistics>,
    /// What single lists cost.
    pub lists: ListReadStatistics,
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

impl TreeStatistics {
    /// Bytes that flushes and compactions wrote for each byte of flushes, since opening; `None` if nothing was flushed.
    #[must_use]
    pub fn write_amplification(&self) -> Option<f64> {
        let written = self.flushes.bytes + self.compactions.written_bytes;
        (self.flushes.bytes > 0).then(|| written as f64 / self.flushes.bytes as f64)
    }

    /// Pages that were read and not cached for each list that was asked for, since opening; `None` if none was.
    #[must_use]
    pub fn page_reads_a_list(&self) -> Option<f64> {
        let ListReadStatistics { lists, pages } = self.lists;
        (lists > 0).then(|| pages as f64 / lists as f64)
    }
}

fn level(files: &[Arc<CsrFile>], pages_read: u64) -> LevelStatistics {
    let files_count = files.len() as u64;
    let mut level = LevelStatistics { files: files_count, pages_read, ..LevelStatistics::default() };
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

/// The graph of a generation, if it has one, where `oldest_writer` is the snapshot of the oldest transaction.
fn graph_of(generation: &Generation<CsrFile>, oldest_writer: Option<Timestamp>) -> Option<GraphStatistics> {
    let graph = generation.graph()?;
    let (last, has_file) = (graph.last(), generation.file().is_some());
    let needed_by = oldest_writer.filter(|oldest| last.is_some_and(|last| last > *oldest));
    let used_for = match needed_by {
        _ if !graph.is_frozen() => GraphUse::Open,
        _ if !has_file => GraphUse::Flush,
        Some(oldest) => GraphUse::Transaction(oldest),
        None => GraphUse::Nothing,
    };
    Some(GraphStatistics { last, bytes: size(&graph), used_for })
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
        let reads = self.page_reader().reads();
        let levels = current.set.levels().enumerate();
        let mut levels: Vec<_> = levels.map(|(at, files)| level(files, reads.pages_of_level(at))).collect();
        let deepest = levels.iter().rposition(|level| level.files > 0).unwrap_or(0);
        levels.truncate(deepest + 1);
        let flushed = current.retained.as_slice().iter().filter(|generation| generation.file().is_some());
        let (retained_graphs, retained_bytes) = graphs(flushed);
        let (_, graph_bytes) = graphs(current.generations.iter());
        let oldest_writer = self.tree().timeline().registry().oldest_writer();
        let all = current.retained.as_slice().iter();
        TreeStatistics {
            levels,
            covered_through: current.covered_through,
            conflict_floor: current.retained.floor(),
            frozen_graphs: current.frozen().len() as u64,
            graph_bytes,
            retained_graphs,
            retained_bytes,
            graphs: all.filter_map(|generation| graph_of(generation, oldest_writer)).collect(),
            lists: reads.lists(),
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
