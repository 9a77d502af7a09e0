//! Mapped: what `evergraph stats` shows of the files of a database of the mapped engine.

use evergraph_report::mapped::MappedEntry;
use evergraph_report::statistics::StatisticsReport;
use evergraph_terminal::number::{counted, percent, size};
use evergraph_terminal::table::{Side, Table};

/// What the database of `report` takes, a row a use.
#[must_use]
pub fn sizes_table(mapped: &MappedEntry, report: &StatisticsReport) -> Table {
    let StatisticsReport { memory, engine, disk, .. } = report;
    let mut table = Table::new(&[("what it takes", Side::Left), ("size", Side::Right), ("", Side::Left)]);
    let mut row = |what: &str, bytes: u64, note: String| table.row([what.to_owned(), size(bytes), note]);
    let per_edge = mapped.topology_bytes_per_edge;
    let per_edge = per_edge.map(|bytes| format!("{bytes:.1} bytes an edge, both directions"));
    row("files: edges", mapped.topology_bytes, per_edge.unwrap_or_default());
    row("files: properties", mapped.property_bytes, String::new());
    row("files: indexes", mapped.index_bytes, counted(engine.index_entries, "entry", "entries"));
    let free = format!("{} of them free", size(mapped.free_bytes));
    row(
        "files: all arrays",
        mapped.file_bytes,
        format!("{}, {free}", counted(mapped.files, "file", "files")),
    );
    let fresh = counted(engine.fresh_edge_records, "change of an edge", "changes of edges");
    let fresh = format!("{fresh}, {} of the edges", percent(engine.fresh_share));
    row("memory: not merged yet", mapped.live_bytes, fresh);
    let most = format!("the file `live`; {} may be in use", size(mapped.live_limit_bytes));
    row("memory: room for it", mapped.live_file_bytes, most);
    row("memory: indexes", memory.index_bytes, String::new());
    row("memory: all", memory.total_bytes, String::new());
    row("disk: log", disk.log_bytes, counted(disk.log_files, "file", "files"));
    row("disk: all files", disk.bytes, String::new());
    table
}

/// The same where another process writes the files, which knows what lies in them.
#[must_use]
pub fn sizes_table_of_reader(report: &StatisticsReport) -> Table {
    let disk = &report.disk;
    let mut table = Table::new(&[("what it takes", Side::Left), ("size", Side::Right), ("", Side::Left)]);
    let files = counted(disk.log_files, "file", "files");
    table.row(["disk: log".to_owned(), size(disk.log_bytes), files]);
    table.row(["disk: all files".to_owned(), size(disk.bytes), String::new()]);
    table
}
