//! Tree: what `evergraph stats` shows of a database of the disk engine: its levels, and what it takes.
//!
//! The text has no cache, reads, flushes and stalls: they are those of the process that opened the database to look, and
//! it has just begun. They are in the JSON, as those of a database that is open for long are in `Database::statistics`.

use evergraph_report::statistics::StatisticsReport;
use evergraph_report::tree::{BudgetPurpose, TreeEntry};
use evergraph_terminal::number::{count, counted, size};
use evergraph_terminal::table::{Side, Table};

/// Files of fewer bytes are mostly heads and half-empty pages: bytes an edge say nothing.
const BYTES_TOLD_AN_EDGE: u64 = 1 << 20;

/// A row a level.
#[must_use]
pub fn levels_table(tree: &TreeEntry) -> Table {
    let sizes = ["files", "topology", "properties", "in memory"].map(|name| (name, Side::Right));
    let mut table = Table::new(&[&[("level", Side::Left)][..], &sizes].concat());
    for level in &tree.levels {
        table.row([
            format!("L{}", level.level),
            count(level.files),
            size(level.topology_bytes),
            size(level.property_bytes),
            size(level.memory_bytes),
        ]);
    }
    table
}

/// What the database of `report` takes, a row a use.
#[must_use]
pub fn sizes_table(tree: &TreeEntry, report: &StatisticsReport) -> Table {
    let StatisticsReport { memory, budget, disk, .. } = report;
    let mut table = Table::new(&[("what it takes", Side::Left), ("size", Side::Right), ("", Side::Left)]);
    let mut row = |what: String, bytes: u64, note: String| table.row([what, size(bytes), note]);
    for BudgetPurpose { purpose, bytes } in &budget.by_purpose {
        row(format!("memory: {purpose}"), *bytes, String::new());
    }
    row("memory: indexes".to_owned(), memory.index_bytes, String::new());
    row("memory: all".to_owned(), memory.total_bytes, String::new());
    let per_edge = tree.topology_bytes_per_edge;
    let note = per_edge
        .filter(|_| tree.file_bytes >= BYTES_TOLD_AN_EDGE)
        .map(|bytes| format!("{bytes:.1} bytes an edge, both directions"))
        .unwrap_or_default();
    row("disk: levels".to_owned(), tree.file_bytes, note);
    row("disk: log".to_owned(), disk.log_bytes, counted(disk.log_files, "file", "files"));
    row("disk: all files".to_owned(), disk.bytes, String::new());
    table
}
