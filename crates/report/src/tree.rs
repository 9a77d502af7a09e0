//! Tree: what the disk engine has made of a database: its levels of files, and what it did since opening.

use evergraph::Statistics;
use evergraph::disk_engine::statistics::{GraphStatistics, GraphUse, TreeStatistics};
use serde::{Deserialize, Serialize};

/// The disk engine's numbers.
#[derive(Debug, Deserialize, Serialize)]
pub struct TreeEntry {
    /// The newest commit that is in files, with all before it.
    pub covered_through: u64,
    /// Conflicts with changes that are newer than this commit are known.
    pub conflict_floor: u64,
    /// From the newest files to the oldest.
    pub levels: Vec<LevelEntry>,
    /// Bytes of all levels.
    pub file_bytes: u64,
    /// Bytes of lists, vertices, index entries and filters in files, for each edge; `null` without edges.
    pub topology_bytes_per_edge: Option<f64>,
    /// Changes that are in no file yet, or that conflict checks need.
    pub memory_graphs: MemoryGraphs,
    /// The cache of pages.
    pub cache: Cache,
    /// Lists that were looked at one by one, since opening.
    pub lists: Lists,
    /// Files that were merged into others, and that snapshots still read.
    pub pinned: Pinned,
    /// Memory graphs that became files, since opening.
    pub flushes: Flushes,
    /// Files that were merged into others, since opening.
    pub compactions: Compactions,
    /// Bytes that flushes and compactions wrote for each byte of flushes, since opening; `null` if there was none.
    pub write_amplification: Option<f64>,
    /// Commits that waited for either, since opening.
    pub stalls: Stalls,
    /// Whether files are read past the system's page cache.
    pub direct_io: bool,
}

/// The files of a level.
#[derive(Debug, Deserialize, Serialize)]
pub struct LevelEntry {
    /// Which one, from 0.
    pub level: usize,
    /// How many files.
    pub files: u64,
    /// Bytes of lists, vertices, index entries and filters.
    pub topology_bytes: u64,
    /// Bytes of properties.
    pub property_bytes: u64,
    /// Bytes in memory for their page indexes and directories.
    pub memory_bytes: u64,
    /// Pages that were read, since opening, by readers, scans and compactions.
    pub pages_read: u64,
}

/// Memory graphs.
#[derive(Debug, Deserialize, Serialize)]
pub struct MemoryGraphs {
    /// Those that wait for their flush.
    pub frozen: u64,
    /// Bytes of those and of the open one.
    pub bytes: u64,
    /// Those that have a file, and are kept because transactions that began before may conflict with them.
    pub retained: u64,
    /// Bytes of those.
    pub retained_bytes: u64,
    /// Each of them, oldest first.
    pub graphs: Vec<MemoryGraph>,
}

/// A memory graph.
#[derive(Debug, Deserialize, Serialize)]
pub struct MemoryGraph {
    /// Its newest commit; `null` if it has none.
    pub last_commit: Option<u64>,
    /// Its bytes.
    pub bytes: u64,
    /// Why it is there: `commits` go to it, it waits for its `flush`, a `transaction` may conflict with it, or `nothing`:
    /// it goes next.
    pub kept_for: String,
    /// The snapshot of that transaction, the oldest one that is open.
    pub transaction: Option<u64>,
}

impl From<&GraphStatistics> for MemoryGraph {
    fn from(graph: &GraphStatistics) -> Self {
        let (kept_for, transaction) = match graph.used_for {
            GraphUse::Open => ("commits", None),
            GraphUse::Flush => ("flush", None),
            GraphUse::Transaction(snapshot) => ("transaction", Some(snapshot.0)),
            GraphUse::Nothing => ("nothing", None),
        };
        Self {
            last_commit: graph.last.map(|last| last.0),
            bytes: graph.bytes,
            kept_for: kept_for.to_owned(),
            transaction,
        }
    }
}

/// Lists that were looked at.
#[derive(Debug, Deserialize, Serialize)]
pub struct Lists {
    /// How many, for an edge, their length or all of them, while there were files.
    pub count: u64,
    /// Pages of lists that were read for them and were not in the cache.
    pub pages_read: u64,
    /// Pages for each list; `null` if none was looked at.
    pub pages_a_list: Option<f64>,
}

/// The cache of pages.
#[derive(Debug, Deserialize, Serialize)]
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
#[derive(Debug, Deserialize, Serialize)]
pub struct Pinned {
    /// How many.
    pub files: u64,
    /// Bytes on disk that are free when the snapshots end.
    pub bytes: u64,
}

/// Flushes.
#[derive(Debug, Deserialize, Serialize)]
pub struct Flushes {
    /// Files written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time that it took.
    pub seconds: f64,
    /// Why the last one failed; `null` if it didn't.
    pub failure: Option<String>,
}

/// Compactions.
#[derive(Debug, Deserialize, Serialize)]
pub struct Compactions {
    /// How many.
    pub count: u64,
    /// Bytes of their inputs.
    pub read_bytes: u64,
    /// Bytes of their outputs.
    pub written_bytes: u64,
    /// Time that they took.
    pub seconds: f64,
    /// Why the last one failed; `null` if it didn't.
    pub failure: Option<String>,
}

/// Commits that waited.
#[derive(Debug, Deserialize, Serialize)]
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
            memory_bytes: found.memory_bytes,
            pages_read: found.pages_read,
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
                graphs: tree.graphs.iter().map(MemoryGraph::from).collect(),
            },
            lists: Lists {
                count: tree.lists.lists,
                pages_read: tree.lists.pages,
                pages_a_list: tree.page_reads_a_list(),
            },
            write_amplification: tree.write_amplification(),
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
                failure: tree.flush_failure.clone(),
            },
            compactions: Compactions {
                count: compactions.compactions,
                read_bytes: compactions.read_bytes,
                written_bytes: compactions.written_bytes,
                seconds: compactions.compacting.as_secs_f64(),
                failure: tree.compaction_failure.clone(),
            },
            stalls: Stalls {
                count: stalls.stalls,
                seconds: stalls.stalled.as_secs_f64(),
                longest_seconds: stalls.stall_max.as_secs_f64(),
            },
            direct_io: tree.direct_io,
        }
    }
}

/// Memory that is reserved below a limit.
#[derive(Debug, Deserialize, Serialize)]
pub struct BudgetEntry {
    /// The limit; `null` if there is none.
    pub limit_bytes: Option<u64>,
    /// All that is reserved.
    pub used_bytes: u64,
    /// By purpose.
    pub by_purpose: Vec<BudgetPurpose>,
}

/// What one purpose has of the budget.
#[derive(Debug, Deserialize, Serialize)]
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
