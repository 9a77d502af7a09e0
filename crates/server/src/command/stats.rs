//! `evergraph stats`: what is in a database, and what it takes.

use crate::context::Context;
use crate::loading::disk_bytes;
use crate::open::open;
use crate::terminal::failure::Failure;
use crate::terminal::number::{count, counted, percent, size};
use crate::terminal::table::{Side, Table, visible};
use clap::Args;
use evergraph::Statistics;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::view::GraphView;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  evergraph stats social.eg
  evergraph stats social.eg --json | jq .edges_count";

/// What `evergraph stats` is told.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct StatsArguments {
    /// The database.
    pub database: PathBuf,
}

/// Counts and prints.
///
/// # Errors
/// Those of opening.
pub fn execute(arguments: &StatsArguments, context: &Context) -> Result<(), Failure> {
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let database = open(&arguments.database)?;
    let snapshot = database.snapshot();
    let counts = snapshot.statistics()?;
    let catalogue = snapshot.catalogue();
    let statistics = database.statistics()?;
    let timestamp = snapshot.timestamp().0;
    drop(snapshot);
    database.close()?;
    drop(meter);

    let vertices: HashMap<_, u64> = counts.vertices.iter().copied().collect();
    let edges: HashMap<_, u64> = counts.edges.iter().copied().collect();
    let (vertices_count, edges_count) = (vertices.values().sum(), edges.values().sum());
    let labels = catalogue.labels().map(|(id, name)| LabelEntry {
        label: name.to_string(),
        vertices: vertices.get(&id).copied().unwrap_or(0),
        properties: properties(&catalogue, Owner::Label(id)),
    });
    let edge_types = catalogue.edge_types().map(|(id, definition)| TypeEntry {
        edge_type: definition.name.to_string(),
        edges: edges.get(&id).copied().unwrap_or(0),
        joins: catalogue
            .joins(id)
            .map(|(source, target)| Join {
                source_label: catalogue.label_name(source).to_string(),
                target_label: catalogue.label_name(target).to_string(),
            })
            .collect(),
        properties: properties(&catalogue, Owner::EdgeType(id)),
    });
    let Statistics { store, .. } = &statistics;
    let engine = &store.engine;
    let fresh_share =
        engine.fresh_edge_records as f64 / (engine.body_edges + engine.fresh_edge_records).max(1) as f64;
    let report = StatsReport {
        database: arguments.database.display().to_string(),
        timestamp,
        vertices_count,
        edges_count,
        labels: labels.collect(),
        edge_types: edge_types.collect(),
        memory: Memory {
            topology_bytes: engine.topology_bytes,
            property_bytes: engine.property_bytes,
            record_bytes: engine.record_bytes,
            retained_bytes: engine.retained_bytes,
            index_bytes: store.index_bytes,
            topology_bytes_per_edge: (edges_count > 0)
                .then(|| engine.topology_bytes as f64 / edges_count as f64),
        },
        engine: EngineEntry {
            groups: engine.groups,
            segments: engine.segments,
            hubs: engine.hubs,
            fresh_edge_records: engine.fresh_edge_records,
            fresh_share,
            index_entries: store.index_entries,
        },
        disk: Disk {
            bytes: disk_bytes(&arguments.database)?,
            log_files: store.log.files_count,
            log_bytes: store.log.disk_bytes,
        },
    };
    context.console.result(&report)
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

/// What is in a database, and what it takes.
#[derive(Debug, Serialize)]
struct StatsReport {
    database: String,
    timestamp: u64,
    vertices_count: u64,
    edges_count: u64,
    labels: Vec<LabelEntry>,
    edge_types: Vec<TypeEntry>,
    memory: Memory,
    engine: EngineEntry,
    disk: Disk,
}

#[derive(Debug, Serialize)]
struct LabelEntry {
    label: String,
    vertices: u64,
    properties: Vec<Property>,
}

#[derive(Debug, Serialize)]
struct TypeEntry {
    #[serde(rename = "type")]
    edge_type: String,
    edges: u64,
    joins: Vec<Join>,
    properties: Vec<Property>,
}

#[derive(Debug, Serialize)]
struct Join {
    source_label: String,
    target_label: String,
}

#[derive(Debug, Serialize)]
struct Property {
    key: String,
    #[serde(rename = "type")]
    value_type: String,
    unique: bool,
}

#[derive(Debug, Serialize)]
struct Memory {
    topology_bytes: u64,
    property_bytes: u64,
    record_bytes: u64,
    retained_bytes: u64,
    index_bytes: u64,
    topology_bytes_per_edge: Option<f64>,
}

#[derive(Debug, Serialize)]
struct EngineEntry {
    groups: u64,
    segments: u64,
    hubs: u64,
    fresh_edge_records: u64,
    fresh_share: f64,
    index_entries: u64,
}

#[derive(Debug, Serialize)]
struct Disk {
    bytes: u64,
    log_files: u64,
    log_bytes: u64,
}

impl fmt::Display for StatsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vertices = counted(self.vertices_count, "vertex", "vertices");
        let edges = counted(self.edges_count, "edge", "edges");
        writeln!(
            f,
            "{}: {vertices}, {edges}, as of commit {}\n",
            visible(&self.database),
            count(self.timestamp)
        )?;
        let mut labels = Table::new(&[("label", Side::Left), ("vertices", Side::Right)]);
        let mut types = Table::new(&[("type", Side::Left), ("edges", Side::Right), ("joins", Side::Left)]);
        let mut properties = Table::new(&[("property", Side::Left), ("type", Side::Left), ("", Side::Left)]);
        let mut add_properties = |owner: &str, entries: &[Property]| {
            for Property { key, value_type, unique } in entries {
                let unique = if *unique { "unique" } else { "" };
                properties.row([format!("{owner}.{key}"), value_type.clone(), unique.to_owned()]);
            }
        };
        for entry in &self.labels {
            labels.row([entry.label.clone(), count(entry.vertices)]);
            add_properties(&entry.label, &entry.properties);
        }
        for entry in &self.edge_types {
            let joins: Vec<String> = entry
                .joins
                .iter()
                .map(|join| format!("{} -> {}", join.source_label, join.target_label))
                .collect();
            types.row([entry.edge_type.clone(), count(entry.edges), joins.join(", ")]);
            add_properties(&entry.edge_type, &entry.properties);
        }
        writeln!(f, "{labels}\n{types}\n{properties}")?;
        self.write_sizes(f)
    }
}

impl StatsReport {
    fn write_sizes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, engine, disk, .. } = self;
        let mut sizes = Table::new(&[("what it takes", Side::Left), ("size", Side::Right), ("", Side::Left)]);
        let per_edge =
            memory.topology_bytes_per_edge.map(|bytes| format!("{bytes:.1} bytes an edge, both directions"));
        let merges_due = format!(
            "{} ({} of the edges) that merges will take in",
            counted(engine.fresh_edge_records, "edge record", "edge records"),
            percent(engine.fresh_share)
        );
        let rows = [
            ("memory: edges", memory.topology_bytes, per_edge.unwrap_or_default()),
            ("memory: properties", memory.property_bytes, String::new()),
            ("memory: fresh records", memory.record_bytes, merges_due),
            ("memory: indexes", memory.index_bytes, counted(engine.index_entries, "entry", "entries")),
            ("disk: all files", disk.bytes, String::new()),
            ("disk: log", disk.log_bytes, counted(disk.log_files, "file", "files")),
        ];
        for (what, bytes, note) in rows {
            sizes.row([what.to_owned(), size(bytes), note]);
        }
        write!(f, "{sizes}")
    }
}
