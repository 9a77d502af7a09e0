//! Counting: opens a database and asks for everything that `evergraph stats` shows.

use crate::command::stats::degrees::{Degrees, degrees};
use crate::command::stats::report::{
    Checkpoint, EngineEntry, Join, LabelEntry, Property, Readers, Seconds, SideDegrees, StatsReport,
    TypeEntry,
};
use crate::command::stats::sizes::{Disk, Memory};
use crate::command::stats::tree::{BudgetEntry, TreeEntry};
use crate::context::Context;
use crate::target::FolderParser;
use clap::Args;
use evergraph::Statistics;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::view::{GraphView, Statistics as Counts};
use evergraph_measure::disk_size::disk_bytes;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::counted;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

const AFTER_HELP: &str = "\
Examples:
  evergraph stats social.eg
  evergraph stats social.eg --json | jq .edges_count
  evergraph stats social.eg --json | jq '.edge_types[0].degrees.out.powers_of_two'

With the disk engine, the tables show its levels of files, from the newest (L0) to the
oldest, and the memory reserved below --memory-limit by use. `--json` adds what this
process did since it opened the database: its cache, reads of each level and for each
list, flushes, compactions, write amplification and stalls; and the memory graphs, with
the reason why each is kept. A program that has the database open for longer tells the
same of itself: db.stats() in Python, Database::statistics in Rust.

Degrees:
  Degrees count the vertices of all labels that edges of a type leave (out) or
  reach (in), including vertices without an edge. 99 % of them have at most p99
  edges. The chart has a column for the vertices of degree 0, 1, 2 to 3, 4 to 7,
  and so on; the tallest column means the most vertices, a dot means none.";

/// Arguments of `evergraph stats`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct StatsArguments {
    /// The database.
    #[arg(value_parser = FolderParser)]
    pub database: PathBuf,
}

/// Counts and prints.
///
/// # Errors
/// Those of opening; `cancelled`.
pub fn execute(arguments: &StatsArguments, context: &Context) -> Result<(), Failure> {
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let began = Instant::now();
    let database = context.open(&arguments.database)?;
    let open = began.elapsed().as_secs_f64();
    context.cancel.check()?;

    let began = Instant::now();
    let snapshot = database.snapshot();
    let counts = snapshot.statistics()?;
    let catalogue = snapshot.catalogue();
    let all: u64 = counts.vertices.iter().map(|(_, count)| count).sum();
    let degrees = degrees(&snapshot, &catalogue, &context.cancel, &|done| {
        let share = done as f64 / all.max(1) as f64;
        meter.tell("count degrees", Some(share), || counted(done, "vertex", "vertices"));
    })?;
    let timestamp = snapshot.timestamp().0;
    drop(snapshot);
    let statistics = database.statistics()?;
    database.close()?;
    drop(meter);

    let (labels, edge_types) = (labels(&catalogue, &counts), edge_types(&catalogue, &counts, degrees));
    let edges_count = edge_types.iter().map(|entry| entry.edges).sum();
    context.console.result(&StatsReport {
        database: arguments.database.display().to_string(),
        timestamp,
        vertices_count: labels.iter().map(|entry| entry.vertices).sum(),
        edges_count,
        labels,
        edge_types,
        tree: statistics.tree.as_ref().map(|tree| TreeEntry::new(tree, edges_count)),
        budget: BudgetEntry::new(&statistics),
        readers: Readers::new(&statistics.store),
        memory: memory(&statistics, edges_count),
        engine: engine(&statistics),
        disk: disk(&statistics, &arguments.database)?,
        checkpoint: Checkpoint {
            covered_through: statistics.checkpoints.covered_through.0,
            commits_since: statistics.recovery.commits,
            bytes: statistics.recovery.body_bytes,
            torn_end: statistics.recovery.torn_end,
        },
        seconds: Seconds { open, count: began.elapsed().as_secs_f64() },
    })
}

/// What is known of each label.
pub fn labels(catalogue: &Catalogue, counts: &Counts) -> Vec<LabelEntry> {
    let vertices: HashMap<_, u64> = counts.vertices.iter().copied().collect();
    let entry = |(id, name): (_, &std::sync::Arc<str>)| LabelEntry {
        label: name.to_string(),
        vertices: vertices.get(&id).copied().unwrap_or(0),
        properties: properties(catalogue, Owner::Label(id)),
    };
    catalogue.labels().map(entry).collect()
}

/// What is known of each edge type; degrees of those that are in `degrees`.
pub fn edge_types(catalogue: &Catalogue, counts: &Counts, degrees: Vec<Degrees>) -> Vec<TypeEntry> {
    let edges: HashMap<_, u64> = counts.edges.iter().copied().collect();
    let mut degrees: HashMap<_, Degrees> =
        degrees.into_iter().map(|degrees| (degrees.edge_type, degrees)).collect();
    let join = |(source, target)| Join {
        source_label: catalogue.label_name(source).to_string(),
        target_label: catalogue.label_name(target).to_string(),
    };
    catalogue
        .edge_types()
        .map(|(id, definition)| TypeEntry {
            edge_type: definition.name.to_string(),
            edges: edges.get(&id).copied().unwrap_or(0),
            joins: catalogue.joins(id).map(join).collect(),
            newest_first: catalogue.newest_first(id).map(|key| catalogue.key_name(key).to_string()),
            properties: properties(catalogue, Owner::EdgeType(id)),
            degrees: degrees.remove(&id).map(|degrees| SideDegrees { out: degrees.out, r#in: degrees.r#in }),
        })
        .collect()
}

fn properties(catalogue: &Catalogue, owner: Owner) -> Vec<Property> {
    catalogue
        .properties_of(owner)
        .map(|(key, value_type)| Property {
            key: catalogue.key_name(key).to_string(),
            value_type: value_type.to_string(),
            unique: catalogue.is_unique(owner, key),
        })
        .collect()
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
        name: statistics.engine.name(),
        groups: engine.groups,
        segments: engine.segments,
        hubs: engine.hubs,
        fresh_edge_records: engine.fresh_edge_records,
        fresh_share: engine.fresh_edge_records as f64 / edges as f64,
        index_entries: statistics.store.index_entries,
    }
}

fn disk(statistics: &Statistics, path: &Path) -> Result<Disk, Failure> {
    let log = &statistics.store.log;
    Ok(Disk { bytes: disk_bytes(path)?, log_files: log.files_count, log_bytes: log.disk_bytes })
}
