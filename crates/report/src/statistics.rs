//! Statistics: what is in a database, how its edges are spread, and what it takes.

use crate::degrees::degrees;
use crate::disk_size::{disk_bytes, log_size};
use crate::mapped::MappedEntry;
use crate::schema::{LabelEntry, TypeEntry, edge_types, labels};
use crate::sizes::{Disk, Memory};
use crate::tree::{BudgetEntry, TreeEntry};
use evergraph::{Database, Statistics};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::view::GraphView;
use evergraph_storage::store::StoreStatistics;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What is in a database, and what it takes.
#[derive(Debug, Deserialize, Serialize)]
pub struct StatisticsReport {
    /// The database, as it is shown.
    pub database: String,
    /// The newest commit.
    pub timestamp: u64,
    /// All vertices.
    pub vertices_count: u64,
    /// All edges.
    pub edges_count: u64,
    /// By label.
    pub labels: Vec<LabelEntry>,
    /// By edge type.
    pub edge_types: Vec<TypeEntry>,
    /// What the disk engine has made of it; `null` for a database of another engine.
    pub tree: Option<TreeEntry>,
    /// What the mapped engine has in its files; `null` for a database of another engine, and where another process writes
    /// them.
    pub mapped: Option<MappedEntry>,
    /// Memory that is reserved below the limit.
    pub budget: BudgetEntry,
    /// Who reads and writes, in this process.
    pub readers: Readers,
    /// What it takes in memory while it is open.
    pub memory: Memory,
    /// What the engine has made of it.
    pub engine: EngineEntry,
    /// What it takes on disk.
    pub disk: Disk,
    /// How far files are ahead of the log; `null` where another process writes them.
    pub checkpoint: Option<Checkpoint>,
    /// How long this took.
    pub seconds: Seconds,
}

/// The open snapshots and transactions of this process.
#[derive(Debug, Deserialize, Serialize)]
pub struct Readers {
    /// How many snapshots.
    pub snapshots: u32,
    /// The commit that the oldest one shows; `null` without one.
    pub oldest_snapshot: Option<u64>,
    /// How long that has been open.
    pub oldest_snapshot_seconds: Option<f64>,
    /// How many transactions.
    pub transactions: u32,
    /// The commit that the oldest one began at; `null` without one.
    pub oldest_transaction: Option<u64>,
}

impl Readers {
    /// Those of `store`.
    #[must_use]
    pub fn new(store: &StoreStatistics) -> Self {
        Self {
            snapshots: store.readers,
            oldest_snapshot: store.oldest_reader.map(|(snapshot, _)| snapshot.0),
            oldest_snapshot_seconds: store.oldest_reader.map(|(_, age)| age.as_secs_f64()),
            transactions: store.writers,
            oldest_transaction: store.oldest_writer.map(|snapshot| snapshot.0),
        }
    }
}

/// What the engine has made of the graph.
#[derive(Debug, Deserialize, Serialize)]
pub struct EngineEntry {
    /// Its name: `memory`, `disk` or `mapped`.
    pub name: String,
    /// Groups of vertices.
    pub groups: u64,
    /// Segments of groups.
    pub segments: u64,
    /// Vertices with a segment of their own for one type.
    pub hubs: u64,
    /// Changes of edges that no merge has taken in yet.
    pub fresh_edge_records: u64,
    /// Those among all edges, 0 to 1.
    pub fresh_share: f64,
    /// Entries of indexes.
    pub index_entries: u64,
}

/// The newest checkpoint, and what opening had to read behind it.
#[derive(Debug, Deserialize, Serialize)]
pub struct Checkpoint {
    /// The last commit in it.
    pub covered_through: u64,
    /// Commits in the log after it.
    pub commits_since: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Whether a crash had torn the log's end, which held nothing that was acknowledged.
    pub torn_end: bool,
}

/// How long it took.
#[derive(Debug, Deserialize, Serialize)]
pub struct Seconds {
    /// To open the database; `null` if it was open.
    pub open: Option<f64>,
    /// To count.
    pub count: f64,
}

impl StatisticsReport {
    /// Counts everything in `database`, which is shown as `shown` and took `open` to open, if it was opened for this.
    /// `progress` is told of how many vertices degrees are counted, and of how many there are.
    ///
    /// Cost: a look at each segment; some tens of nanoseconds a vertex, edge type and side; memory for a quarter of a million
    /// vertices.
    ///
    /// # Errors
    /// `cancelled`; what reading may meet.
    pub fn count(
        database: &Database,
        shown: String,
        open: Option<Duration>,
        cancel: &CancelFlag,
        progress: &dyn Fn(u64, u64),
    ) -> Result<Self> {
        let began = Instant::now();
        let snapshot = database.snapshot();
        let counts = snapshot.statistics()?;
        let catalogue = snapshot.catalogue();
        let all: u64 = counts.vertices.iter().map(|(_, count)| count).sum();
        let degrees = degrees(&snapshot, &catalogue, cancel, &|done| progress(done, all))?;
        let timestamp = snapshot.timestamp().0;
        drop(snapshot);
        let statistics = database.statistics()?;
        let (labels, edge_types) = (labels(&catalogue, &counts), edge_types(&catalogue, &counts, degrees));
        let edges_count = edge_types.iter().map(|entry| entry.edges).sum();
        Ok(Self {
            database: shown,
            timestamp,
            vertices_count: labels.iter().map(|entry| entry.vertices).sum(),
            edges_count,
            labels,
            edge_types,
            tree: statistics.tree.as_ref().map(|tree| TreeEntry::new(tree, edges_count)),
            mapped: MappedEntry::new(&statistics, edges_count),
            budget: BudgetEntry::new(&statistics),
            readers: Readers::new(&statistics.store),
            memory: memory(&statistics, edges_count),
            engine: engine(&statistics),
            disk: disk(&statistics, database)?,
            checkpoint: database.has_own_log().then_some(Checkpoint {
                covered_through: statistics.checkpoints.covered_through.0,
                commits_since: statistics.recovery.commits,
                bytes: statistics.recovery.body_bytes,
                torn_end: statistics.recovery.torn_end,
            }),
            seconds: Seconds {
                open: open.map(|open| open.as_secs_f64()),
                count: began.elapsed().as_secs_f64(),
            },
        })
    }
}

fn memory(statistics: &Statistics, edges_count: u64) -> Memory {
    let store = &statistics.store;
    let engine = &store.engine;
    let per_edge = |bytes: u64| (edges_count > 0).then(|| bytes as f64 / edges_count as f64);
    if let Some(tree) = &statistics.tree {
        let reserved: u64 = store.reservations.iter().map(|(_, bytes)| bytes).sum();
        let total_bytes = reserved + store.index_bytes;
        return Memory {
            topology_bytes: 0,
            property_bytes: 0,
            order_bytes: 0,
            record_bytes: tree.graph_bytes,
            retained_bytes: tree.retained_bytes,
            index_bytes: store.index_bytes,
            total_bytes,
            topology_bytes_per_edge: None,
            total_bytes_per_edge: per_edge(total_bytes),
        };
    }
    if let Some(mapped) = &statistics.mapped {
        // What is merged lies in files; the system caches their pages, and takes that memory back when others need it.
        let total_bytes = mapped.live_bytes + store.index_bytes;
        return Memory {
            topology_bytes: 0,
            property_bytes: 0,
            order_bytes: 0,
            record_bytes: engine.record_bytes,
            retained_bytes: 0,
            index_bytes: store.index_bytes,
            total_bytes,
            topology_bytes_per_edge: None,
            total_bytes_per_edge: per_edge(total_bytes),
        };
    }
    if !statistics.engine.keeps_graph_in_memory() {
        // Another process writes its files, and has what waits for merges in its memory.
        return Memory {
            topology_bytes: 0,
            property_bytes: 0,
            order_bytes: 0,
            record_bytes: 0,
            retained_bytes: 0,
            index_bytes: store.index_bytes,
            total_bytes: store.index_bytes,
            topology_bytes_per_edge: None,
            total_bytes_per_edge: per_edge(store.index_bytes),
        };
    }
    let total_bytes = engine.topology_bytes
        + engine.property_bytes
        + engine.order_bytes
        + engine.record_bytes
        + engine.retained_bytes
        + store.index_bytes;
    Memory {
        topology_bytes: engine.topology_bytes,
        property_bytes: engine.property_bytes,
        order_bytes: engine.order_bytes,
        record_bytes: engine.record_bytes,
        retained_bytes: engine.retained_bytes,
        index_bytes: store.index_bytes,
        total_bytes,
        topology_bytes_per_edge: per_edge(engine.topology_bytes),
        total_bytes_per_edge: per_edge(total_bytes),
    }
}

fn engine(statistics: &Statistics) -> EngineEntry {
    let engine = &statistics.store.engine;
    let edges = (engine.body_edges + engine.fresh_edge_records).max(1);
    EngineEntry {
        name: statistics.engine.name().to_owned(),
        groups: engine.groups,
        segments: engine.segments,
        hubs: engine.hubs,
        fresh_edge_records: engine.fresh_edge_records,
        fresh_share: engine.fresh_edge_records as f64 / edges as f64,
        index_entries: statistics.store.index_entries,
    }
}

/// Nothing for a database in memory.
fn disk(statistics: &Statistics, database: &Database) -> Result<Disk> {
    let log = &statistics.store.log;
    let (log_files, log_bytes) = match database.path().filter(|_| database.is_read_only()) {
        // Of the process that writes.
        Some(path) => log_size(path)?,
        None => (log.files_count, log.disk_bytes),
    };
    let bytes = database.path().map_or(Ok(0), disk_bytes)?;
    Ok(Disk { bytes, log_files, log_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_counted_of_a_database_that_is_open() {
        let database = Database::in_memory().unwrap();
        database.gremlin("g.addV('Person').as('a').addE('KNOWS').to('a')").run().unwrap();
        let report =
            StatisticsReport::count(&database, "social".to_owned(), None, &CancelFlag::default(), &|_, _| {});
        let report = serde_json::to_value(report.unwrap()).unwrap();
        assert_eq!(
            (&report["database"], &report["seconds"]["open"]),
            (&"social".into(), &serde_json::Value::Null)
        );
        assert_eq!((&report["vertices_count"], &report["edges_count"]), (&1.into(), &1.into()));
        assert_eq!(report["edge_types"][0]["degrees"]["out"]["max"], 1);
        let cancel = CancelFlag::default();
        cancel.cancel();
        let cancelled = StatisticsReport::count(&database, String::new(), None, &cancel, &|_, _| {});
        assert_eq!(cancelled.unwrap_err().kind(), evergraph::ErrorKind::Cancelled);
    }
}
