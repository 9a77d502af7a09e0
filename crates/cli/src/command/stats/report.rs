//! The report of `evergraph stats`: tables for people, within 80 columns where names allow it, and a
//! document for programs.

use crate::command::stats::degrees::{Bin, Distribution};
use crate::command::stats::sizes::{Disk, Memory};
use crate::command::stats::tree::{BudgetEntry, TreeEntry};
use evergraph_storage::store::StoreStatistics;
use evergraph_terminal::number::{count, counted, percent, size, time};
use evergraph_terminal::table::{Side, Table, visible};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// Characters of a type's name beside its degrees.
const NAME: usize = 20;
/// Columns of a chart, from the least to the most.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What is in a database, and what it takes.
#[derive(Debug, Serialize)]
pub struct StatsReport {
    /// The database.
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
    /// What the disk engine has made of it; `null` for a database of the memory engine.
    pub tree: Option<TreeEntry>,
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
    /// How far files are ahead of the log.
    pub checkpoint: Checkpoint,
    /// How long this took.
    pub seconds: Seconds,
}

/// The open snapshots and transactions of this process.
#[derive(Debug, Serialize)]
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

/// What is known of a label.
#[derive(Debug, Serialize)]
pub struct LabelEntry {
    /// Its name.
    pub label: String,
    /// Its vertices.
    pub vertices: u64,
    /// Their properties.
    pub properties: Vec<Property>,
}

/// What is known of an edge type.
#[derive(Debug, Serialize)]
pub struct TypeEntry {
    /// Its name.
    #[serde(rename = "type")]
    pub edge_type: String,
    /// Its edges.
    pub edges: u64,
    /// What they have joined.
    pub joins: Vec<Join>,
    /// The property that it is newest-first by.
    pub newest_first: Option<String>,
    /// Their properties.
    pub properties: Vec<Property>,
    /// How they are spread over vertices, if that was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degrees: Option<SideDegrees>,
}

/// Labels that an edge has joined, now or before.
#[derive(Debug, Serialize)]
pub struct Join {
    /// Where it began.
    pub source_label: String,
    /// Where it ended.
    pub target_label: String,
}

/// A property of a label or a type.
#[derive(Debug, Serialize)]
pub struct Property {
    /// Its name.
    pub key: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub value_type: String,
    /// Whether no two vertices have the same value.
    pub unique: bool,
}

/// How edges are spread, on both sides; `null` where no vertex may have any.
#[derive(Debug, Default, Serialize)]
pub struct SideDegrees {
    /// Over the vertices that they leave.
    pub out: Option<Distribution>,
    /// Over the vertices that they reach.
    pub r#in: Option<Distribution>,
}

/// What the engine has made of the graph.
#[derive(Debug, Serialize)]
pub struct EngineEntry {
    /// Its name: `memory` or `disk`.
    pub name: &'static str,
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
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
pub struct Seconds {
    /// To open the database.
    pub open: f64,
    /// To count.
    pub count: f64,
}

impl fmt::Display for StatsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vertices = counted(self.vertices_count, "vertex", "vertices");
        let edges = counted(self.edges_count, "edge", "edges");
        writeln!(
            f,
            "{}: {vertices}, {edges}, as of commit {}{}\n",
            visible(&self.database),
            count(self.timestamp),
            if self.tree.is_some() { "; disk engine" } else { "" },
        )?;
        if !self.labels.is_empty() {
            writeln!(f, "{}", labels_table(&self.labels))?;
        }
        if !self.edge_types.is_empty() {
            writeln!(f, "{}\n{}", types_table(&self.edge_types), self.degrees_table())?;
        }
        if let Some(properties) = properties_table(&self.labels, &self.edge_types) {
            writeln!(f, "{properties}")?;
        }
        match &self.tree {
            Some(tree) => {
                writeln!(f, "{}", tree.levels_table())?;
                writeln!(f, "{}", tree.sizes_table(&self.memory, &self.budget, &self.disk))?;
            }
            None => writeln!(f, "{}", self.sizes_table())?,
        }
        let Checkpoint { covered_through, commits_since, torn_end, .. } = self.checkpoint;
        let since = counted(commits_since, "commit", "commits");
        let open = time(Duration::from_secs_f64(self.seconds.open));
        writeln!(
            f,
            "checkpoint through commit {}, {since} in the log since; opened in {open}",
            count(covered_through)
        )?;
        if torn_end {
            writeln!(f, "a crash had cut off the log's end; nothing in it had been acknowledged")?;
        }
        Ok(())
    }
}

impl StatsReport {
    fn degrees_table(&self) -> Table {
        let numbers = ["min", "mean", "median", "p99", "max"].map(|name| (name, Side::Right));
        let (first, last) =
            ([("degrees of", Side::Left), ("", Side::Left)], [("0, 1, 2-3, 4-7 ...", Side::Left)]);
        let mut table = Table::new(&[&first[..], &numbers, &last].concat());
        for entry in &self.edge_types {
            let sides = entry.degrees.iter().flat_map(|sides| [("out", &sides.out), ("in", &sides.r#in)]);
            for (side, found) in sides {
                let Some(found) = found else { continue };
                table.row([
                    shortened(&entry.edge_type),
                    side.to_owned(),
                    count(found.min),
                    format!("{:.1}", found.mean),
                    count(found.median),
                    count(found.p99),
                    count(found.max),
                    chart(&found.powers_of_two),
                ]);
            }
        }
        table
    }

    fn sizes_table(&self) -> Table {
        let Self { memory, engine, disk, .. } = self;
        let mut sizes = Table::new(&[("what it takes", Side::Left), ("size", Side::Right), ("", Side::Left)]);
        let per_edge = |bytes: Option<f64>, what: &str| {
            bytes.map(|bytes| format!("{bytes:.1} bytes an edge{what}")).unwrap_or_default()
        };
        let fresh = counted(engine.fresh_edge_records, "change of an edge", "changes of edges");
        let rows = [
            (
                "memory: edges",
                memory.topology_bytes,
                per_edge(memory.topology_bytes_per_edge, ", both directions"),
            ),
            ("memory: properties", memory.property_bytes, String::new()),
            (
                "memory: not merged yet",
                memory.record_bytes,
                format!("{fresh}, {} of the edges", percent(engine.fresh_share)),
            ),
            ("memory: indexes", memory.index_bytes, counted(engine.index_entries, "entry", "entries")),
            ("memory: all", memory.total_bytes, per_edge(memory.total_bytes_per_edge, "")),
            ("disk: log", disk.log_bytes, counted(disk.log_files, "file", "files")),
            ("disk: all files", disk.bytes, String::new()),
        ];
        for (what, bytes, note) in rows {
            sizes.row([what.to_owned(), size(bytes), note]);
        }
        sizes
    }
}

/// How many vertices each label has.
#[must_use]
pub fn labels_table(labels: &[LabelEntry]) -> Table {
    let mut table = Table::new(&[("label", Side::Left), ("vertices", Side::Right)]);
    for entry in labels {
        table.row([entry.label.clone(), count(entry.vertices)]);
    }
    table
}

/// A row a join; what is about the type stands in its first.
#[must_use]
pub fn types_table(edge_types: &[TypeEntry]) -> Table {
    let mut types = Table::new(&[("type", Side::Left), ("edges", Side::Right), ("joins", Side::Left)]);
    for entry in edge_types {
        let joins = entry.joins.iter().map(|join| format!("{} -> {}", join.source_label, join.target_label));
        let joins: Vec<String> = joins.collect();
        let (first, others) = joins.split_first().map_or(("", &[][..]), |(first, others)| (first, others));
        types.row([entry.edge_type.clone(), count(entry.edges), first.to_owned()]);
        others.iter().for_each(|join| types.row([String::new(), String::new(), join.clone()]));
    }
    types
}

/// The properties of labels and types, if they have any.
#[must_use]
pub fn properties_table(labels: &[LabelEntry], edge_types: &[TypeEntry]) -> Option<Table> {
    let mut table = Table::new(&[("property", Side::Left), ("type", Side::Left), ("", Side::Left)]);
    let labels = labels.iter().map(|entry| (&entry.label, &entry.properties, None));
    let types = edge_types.iter();
    let types = types.map(|entry| (&entry.edge_type, &entry.properties, entry.newest_first.as_ref()));
    let mut is_empty = true;
    for (owner, properties, newest_first) in labels.chain(types) {
        for Property { key, value_type, unique } in properties {
            let words = [("unique", *unique), ("newest first", newest_first == Some(key))];
            let words: Vec<&str> = words.iter().filter(|word| word.1).map(|word| word.0).collect();
            table.row([format!("{owner}.{key}"), value_type.clone(), words.join(", ")]);
            is_empty = false;
        }
    }
    (!is_empty).then_some(table)
}

/// `name`, or its beginning.
fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_owned();
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
}

/// A column a bin: as high as its share of the largest one; a dot where nothing is.
fn chart(bins: &[Bin]) -> String {
    let most = bins.iter().map(|bin| bin.vertices).max().unwrap_or(0).max(1) as f64;
    let height = |bin: &Bin| match bin.vertices {
        0 => '·',
        vertices => HEIGHTS[((vertices as f64 / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    bins.iter().map(height).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_shows_little_as_little_and_nothing_as_a_dot() {
        let bins = [0, 1, 50, 100].map(|vertices| Bin { from: 0, to: 0, vertices });
        assert_eq!(chart(&bins), "·▁▄█");
        assert_eq!(chart(&[]), "");
    }

    #[test]
    fn long_names_are_cut_where_they_would_break_the_table() {
        assert_eq!(shortened("KNOWS"), "KNOWS");
        assert_eq!(shortened(&"ü".repeat(30)), format!("{}…", "ü".repeat(19)));
    }
}
