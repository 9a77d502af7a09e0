//! Tree: what `evergraph stats` shows of a database of the disk engine: its levels, its cache, and what its
//! background did.

use crate::command::stats::sizes::{Disk, Memory};
use evergraph::Statistics;
use evergraph::disk_engine::statistics::TreeStatistics;
use evergraph_terminal::number::{count, counted, percent, size, time};
use evergraph_terminal::table::{Side, Table};
use serde::Serialize;
use std::time::Duration;

/// The disk engine's numbers.
#[derive(Debug, Serialize)]
pub struct TreeEntry {
    /// The newest commit that is in files, with all before it.
    pub covered_through: u64,
    /// Conflicts with changes that are newer than this commit are known.
    pub conflict_floor: u64,
    /// From the newest files to the oldest.
    pub levels: Vec<LevelEntry>,
    /// Bytes of all levels.
    pub file_bytes: u64,
    /// Bytes of lists, vertices and filters in files, for each edge; `null` without edges.
    pub topology_bytes_per_edge: Option<f64>,
    /// Changes that are in no file yet, or that conflict checks need.
    pub memory_graphs: MemoryGraphs,
    /// The cache of pages.
    pub cache: Cache,
    /// Files that were merged into others, and that snapshots still read.
    pub pinned: Pinned,
    /// Memory graphs that became files, since opening.
    pub flushes: Flushes,
    /// Files that were merged into others, since opening.
    pub compactions: Compactions,
    /// Commits that waited for either, since opening.
    pub stalls: Stalls,
}

/// The files of a level.
#[derive(Debug, Serialize)]
pub struct LevelEntry {
    /// Which one, from 0.
    pub level: usize,
    /// How many files.
    pub files: u64,
    /// Bytes of lists, vertices and filters.
    pub topology_bytes: u64,
    /// Bytes of properties.
    pub property_bytes: u64,
    /// Bytes in memory for their indexes of pages.
    pub heap_bytes: u64,
}

/// Memory graphs.
#[derive(Debug, Serialize)]
pub struct MemoryGraphs {
    /// Those that wait for their flush.
    pub frozen: u64,
    /// Bytes of those and of the open one.
    pub bytes: u64,
    /// Those that have a file, and are kept because transactions that began before may conflict with them.
    pub retained: u64,
    /// Bytes of those.
    pub retained_bytes: u64,
}

/// The cache of pages.
#[derive(Debug, Serialize)]
pub struct Cache {
    /// Bytes of pages in it.
    pub bytes: u64,
    /// Pages that were there when they were needed.
    pub hits: u64,
    /// Pages that were read.
    pub misses: u64,
    /// Hits among both, 0 to 1; `null` if none was needed.
    pub hit_share: Option<f64>,
    /// Pages that made room.
    pub evictions: u64,
}

/// Files that snapshots alone need.
#[derive(Debug, Serialize)]
pub struct Pinned {
    /// How many.
    pub files: u64,
    /// Bytes on disk that are free when the snapshots end.
    pub bytes: u64,
}

/// Flushes.
#[derive(Debug, Serialize)]
pub struct Flushes {
    /// Files written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time that it took.
    pub seconds: f64,
}

/// Compactions.
#[derive(Debug, Serialize)]
pub struct Compactions {
    /// How many.
    pub count: u64,
    /// Bytes of their inputs.
    pub read_bytes: u64,
    /// Bytes of their outputs.
    pub written_bytes: u64,
    /// Time that they took.
    pub seconds: f64,
}

/// Commits that waited.
#[derive(Debug, Serialize)]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// Time that they lost together.
    pub seconds: f64,
    /// The longest of them.
    pub longest_seconds: f64,
}

impl TreeEntry {
    /// That of `tree`, in which the database has so many edges.
    #[must_use]
    pub fn new(tree: &TreeStatistics, edges_count: u64) -> Self {
        let levels = tree.levels.iter().enumerate().map(|(level, found)| LevelEntry {
            level,
            files: found.files,
            topology_bytes: found.topology_bytes,
            property_bytes: found.property_bytes,
            heap_bytes: found.heap_bytes,
        });
        let levels: Vec<LevelEntry> = levels.collect();
        let sum = |bytes: fn(&LevelEntry) -> u64| levels.iter().map(bytes).sum::<u64>();
        let (topology, properties) = (sum(|level| level.topology_bytes), sum(|level| level.property_bytes));
        let (cache, flushes, compactions, stalls) = (tree.cache, tree.flushes, tree.compactions, tree.stalls);
        let asked = cache.hits + cache.misses;
        Self {
            covered_through: tree.covered_through.0,
            conflict_floor: tree.conflict_floor.0,
            file_bytes: topology + properties,
            topology_bytes_per_edge: (edges_count > 0).then(|| topology as f64 / edges_count as f64),
            levels,
            memory_graphs: MemoryGraphs {
                frozen: tree.frozen_graphs,
                bytes: tree.graph_bytes,
                retained: tree.retained_graphs,
                retained_bytes: tree.retained_bytes,
            },
            cache: Cache {
                bytes: cache.bytes,
                hits: cache.hits,
                misses: cache.misses,
                hit_share: (asked > 0).then(|| cache.hits as f64 / asked as f64),
                evictions: cache.evictions,
            },
            pinned: Pinned { files: tree.pinned.files, bytes: tree.pinned.bytes },
            flushes: Flushes {
                files: flushes.files,
                bytes: flushes.bytes,
                seconds: flushes.flushing.as_secs_f64(),
            },
            compactions: Compactions {
                count: compactions.compactions,
                read_bytes: compactions.read_bytes,
                written_bytes: compactions.written_bytes,
                seconds: compactions.compacting.as_secs_f64(),
            },
            stalls: Stalls {
                count: stalls.stalls,
                seconds: stalls.stalled.as_secs_f64(),
                longest_seconds: stalls.stall_max.as_secs_f64(),
            },
        }
    }

    /// A row a level.
    #[must_use]
    pub fn levels_table(&self) -> Table {
        let sizes = ["files", "edges", "properties", "in memory"].map(|name| (name, Side::Right));
        let mut table = Table::new(&[&[("level", Side::Left)][..], &sizes].concat());
        for level in &self.levels {
            table.row([
                format!("L{}", level.level),
                count(level.files),
                size(level.topology_bytes),
                size(level.property_bytes),
                size(level.heap_bytes),
            ]);
        }
        table
    }

    /// What it takes, a row a use.
    #[must_use]
    pub fn sizes_table(&self, memory: &Memory, budget: &BudgetEntry, disk: &Disk) -> Table {
        let mut table = Table::new(&[("what it takes", Side::Left), ("size", Side::Right), ("", Side::Left)]);
        let mut row = |what: String, bytes: u64, note: String| table.row([what, size(bytes), note]);
        for BudgetPurpose { purpose, bytes } in &budget.by_purpose {
            row(format!("memory: {purpose}"), *bytes, String::new());
        }
        row("memory: indexes".to_owned(), memory.index_bytes, String::new());
        let limit = budget.limit_bytes.map(|limit| format!("limit {}", size(limit))).unwrap_or_default();
        row("memory: all".to_owned(), memory.total_bytes, limit);
        let per_edge = self.topology_bytes_per_edge;
        let note =
            per_edge.map(|bytes| format!("{bytes:.1} bytes an edge, both directions")).unwrap_or_default();
        row("disk: levels".to_owned(), self.file_bytes, note);
        row("disk: log".to_owned(), disk.log_bytes, counted(disk.log_files, "file", "files"));
        row("disk: all files".to_owned(), disk.bytes, String::new());
        table
    }

    /// What the cache and the background did, a sentence a line.
    #[must_use]
    pub fn activity(&self) -> Vec<String> {
        let Self { memory_graphs, cache, pinned, flushes, compactions, stalls, .. } = self;
        let seconds = |seconds: f64| time(Duration::from_secs_f64(seconds));
        let mut lines = Vec::new();
        if let Some(share) = cache.hit_share {
            let (hits, all) = (percent(share), counted(cache.hits + cache.misses, "page", "pages"));
            lines.push(format!("cache: {hits} of {all} were in it, {} made room", count(cache.evictions)));
        }
        if memory_graphs.frozen + memory_graphs.retained > 0 {
            lines.push(format!(
                "memory graphs: {} to be flushed, {} kept for conflict checks",
                count(memory_graphs.frozen),
                count(memory_graphs.retained)
            ));
        }
        if pinned.files > 0 {
            let files = counted(pinned.files, "file", "files");
            lines.push(format!("open snapshots keep {files} ({}) that were replaced", size(pinned.bytes)));
        }
        if flushes.files + compactions.count > 0 {
            lines.push(format!(
                "since opening: {} ({}) in {}, {} ({} read, {} written) in {}",
                counted(flushes.files, "flush", "flushes"),
                size(flushes.bytes),
                seconds(flushes.seconds),
                counted(compactions.count, "compaction", "compactions"),
                size(compactions.read_bytes),
                size(compactions.written_bytes),
                seconds(compactions.seconds),
            ));
        }
        if stalls.count > 0 {
            let commits = counted(stalls.count, "commit", "commits");
            let (all, longest) = (seconds(stalls.seconds), seconds(stalls.longest_seconds));
            lines.push(format!("{commits} waited for these, {all} together, {longest} at most"));
        }
        lines
    }
}

/// Memory that is reserved below a limit.
#[derive(Debug, Serialize)]
pub struct BudgetEntry {
    /// The limit; `null` if there is none.
    pub limit_bytes: Option<u64>,
    /// All that is reserved.
    pub used_bytes: u64,
    /// By purpose.
    pub by_purpose: Vec<BudgetPurpose>,
}

/// What one purpose has of the budget.
#[derive(Debug, Serialize)]
pub struct BudgetPurpose {
    /// What it is for.
    pub purpose: String,
    /// Bytes reserved.
    pub bytes: u64,
}

impl BudgetEntry {
    /// That of `statistics`.
    #[must_use]
    pub fn new(statistics: &Statistics) -> Self {
        let store = &statistics.store;
        let purpose = |(purpose, bytes): &(std::sync::Arc<str>, u64)| BudgetPurpose {
            purpose: purpose.to_string(),
            bytes: *bytes,
        };
        Self {
            limit_bytes: (statistics.memory_limit_bytes < u64::MAX).then_some(statistics.memory_limit_bytes),
            used_bytes: store.reservations.iter().map(|(_, bytes)| bytes).sum(),
            by_purpose: store.reservations.iter().map(purpose).collect(),
        }
    }
}
