//! The report of `evergraph stats` as tables for people, within 80 columns where names allow it.

use crate::command::stats::mapped;
use crate::command::stats::tree::{levels_table, sizes_table};
use evergraph::EngineKind;
use evergraph_report::degrees::Bin;
use evergraph_report::schema::{LabelEntry, Property, TypeEntry};
use evergraph_report::statistics::{Checkpoint, StatisticsReport};
use evergraph_terminal::number::{count, counted, percent, size, time};
use evergraph_terminal::table::{Side, Table, visible};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// Characters of a type's name beside its degrees.
const NAME: usize = 20;
/// Columns of a chart, from the least to the most.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Statistics that are shown.
#[derive(Serialize)]
#[serde(transparent)]
pub struct StatisticsText(pub StatisticsReport);

impl fmt::Display for StatisticsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = &self.0;
        let vertices = counted(report.vertices_count, "vertex", "vertices");
        let edges = counted(report.edges_count, "edge", "edges");
        writeln!(
            f,
            "{}: {vertices}, {edges}, as of commit {}{}\n",
            visible(&report.database),
            count(report.timestamp),
            if report.tree.is_some() || report.mapped.is_some() || report.checkpoint.is_none() {
                format!("; {} engine", visible(&report.engine.name))
            } else {
                String::new()
            },
        )?;
        if !report.labels.is_empty() {
            writeln!(f, "{}", labels_table(&report.labels))?;
        }
        if !report.edge_types.is_empty() {
            writeln!(f, "{}\n{}", types_table(&report.edge_types), self.degrees_table())?;
        }
        if let Some(properties) = properties_table(&report.labels, &report.edge_types) {
            writeln!(f, "{properties}")?;
        }
        match (&report.tree, &report.mapped) {
            (Some(tree), _) => {
                writeln!(f, "{}", levels_table(tree))?;
                writeln!(f, "{}", sizes_table(tree, report))?;
            }
            (None, Some(mapped)) => writeln!(f, "{}", mapped::sizes_table(mapped, report))?,
            (None, None) if is_on_cluster(report) => writeln!(f, "{}", sizes_table_of_node(report))?,
            (None, None) if report.checkpoint.is_none() => {
                writeln!(f, "{}", mapped::sizes_table_of_reader(report))?;
            }
            (None, None) => writeln!(f, "{}", self.sizes_table())?,
        }
        match &report.checkpoint {
            Some(Checkpoint { covered_through, commits_since, .. }) => {
                let since = counted(*commits_since, "commit", "commits");
                let covered = count(*covered_through);
                write!(f, "checkpoint through commit {covered}, {since} in the log since")?;
            }
            None if is_on_cluster(report) => {
                write!(f, "on a cluster, whose nodes make their own checkpoints")?
            }
            None => write!(f, "opened to be read only, without its checkpoints")?,
        }
        match report.seconds.open {
            Some(seconds) => writeln!(f, "; opened in {}", shown_seconds(seconds))?,
            None => writeln!(f)?,
        }
        if report.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.torn_end) {
            writeln!(f, "a crash had cut off the log's end; nothing in it had been acknowledged")?;
        }
        Ok(())
    }
}

fn is_on_cluster(report: &StatisticsReport) -> bool {
    report.engine.name == EngineKind::Cluster.name()
}

/// What a graph takes whose partitions have other nodes, too.
fn sizes_table_of_node(report: &StatisticsReport) -> Table {
    let mut table = Table::new(&[("what it takes", Side::Left), ("size", Side::Right)]);
    table.row(["disk: all files of this node".to_owned(), size(report.disk.bytes)]);
    table
}

impl StatisticsText {
    fn degrees_table(&self) -> Table {
        let numbers = ["min", "mean", "median", "p99", "max"].map(|name| (name, Side::Right));
        let (first, last) =
            ([("degrees of", Side::Left), ("", Side::Left)], [("0, 1, 2-3, 4-7 ...", Side::Left)]);
        let mut table = Table::new(&[&first[..], &numbers, &last].concat());
        for entry in &self.0.edge_types {
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
        let StatisticsReport { memory, engine, disk, .. } = &self.0;
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

/// A time that may come from a server: one that is none is shown as none.
fn shown_seconds(seconds: f64) -> String {
    time(Duration::try_from_secs_f64(seconds).unwrap_or_default())
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
