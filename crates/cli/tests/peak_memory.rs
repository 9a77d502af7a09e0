//! Peak memory: with the disk engine and a limit of 64 MiB, each process that works with a graph of more than twice as much
//! stays within the limit, a tenth and 64 MiB. Alone in its process: the system keeps one peak of all of its children.
#![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]

use nix::sys::resource::{UsageWho, getrusage};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const LIMIT_BYTES: u64 = 64 << 20;
/// Texts of 1 KiB: 128 MiB.
const TEXTS: usize = 128 << 10;
/// Their ids take more than 100 MiB in memory.
const LISTED_EDGES: u64 = 5 << 18;
/// They take more than 80 MiB in memory.
const WAITING_EDGES: u64 = 3 << 19;

/// The most memory that any child had so far, in bytes.
fn peak_bytes() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    // Kilobytes, but on Apple's systems.
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1 << 10 };
    u64::try_from(usage.max_rss()).unwrap() * unit
}

/// Runs the program in `folder`; it does well, and takes no more memory than it may.
fn run(folder: &Path, arguments: &[&str]) -> String {
    let began = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("EVERGRAPH_MEMORY_LIMIT", LIMIT_BYTES.to_string());
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?} ended with {}: {error}", output.status);
    let peak = peak_bytes();
    println!("{:4} MiB after {:.1?} of {}", peak >> 20, began.elapsed(), arguments.join(" "));
    assert!(peak <= LIMIT_BYTES + LIMIT_BYTES / 10 + (64 << 20), "{arguments:?}: {peak} bytes of memory");
    String::from_utf8(output.stdout).unwrap()
}

/// Vertices with a text of 1 KiB each.
fn write_texts(path: &Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let filler = "evergraph ".repeat(1 << 10).into_bytes();
    writeln!(file, "id:ID(Text),text:string,:LABEL").unwrap();
    for text in 0..TEXTS {
        write!(file, "t{text},{text:08}").unwrap();
        // Not all alike, so that no column of distinct values holds them.
        file.write_all(&filler[text % 4096..][..1016]).unwrap();
        writeln!(file, ",Text").unwrap();
    }
    file.flush().unwrap();
}

/// Edges between vertices that each have one of them, whose ids are far apart: more than 2.6 million ids.
fn write_edge_list(path: &Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for edge in 0..LISTED_EDGES {
        // An odd factor keeps ids apart.
        let [source, target] = [2 * edge, 2 * edge + 1].map(|id| id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1);
        writeln!(file, "{source} {target}").unwrap();
    }
    file.flush().unwrap();
}

/// A graph of few vertices and many edges, all of which wait for the vertices behind them.
fn write_graphml(path: &Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    writeln!(file, "<graphml><graph edgedefault=\"directed\">").unwrap();
    for edge in 0..WAITING_EDGES {
        writeln!(file, "<edge source=\"n{}\" target=\"n{}\"/>", edge % 1000, edge % 997).unwrap();
    }
    (0..1000).for_each(|vertex| writeln!(file, "<node id=\"n{vertex}\"/>").unwrap());
    writeln!(file, "</graph></graphml>").unwrap();
    file.flush().unwrap();
}

#[test]
fn every_process_stays_within_the_limit_with_a_graph_of_more_than_twice_as_much() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rmat = ["--scale", "15", "--edge-factor", "12", "--ids", "texts"];
    run(folder, &[&["generate", "rmat", "--out", "csv"], &rmat[..]].concat());
    write_texts(&folder.join("csv/Text.csv"));
    run(folder, &["import", "large.eg", "csv", "--engine", "disk"]);
    run(folder, &["run", "large.eg", "pagerank", "--top", "5"]);
    let found =
        run(folder, &["query", "large.eg", "g.V().has('text', TextP.containing('00001234')).values('id')"]);
    assert!(found.contains("t1234"), "{found}");
    run(folder, &["query", "large.eg", "g.V().hasLabel('Vertex').out().out().count()"]);
    run(folder, &["check", "large.eg"]);
    run(folder, &["backup", "large.eg", "copy.eg", "--no-check"]);
    // Without the texts: 20 MiB more are taken where rows of a Parquet file are so long, and the memory engine holds
    // what it has, whatever the limit.
    let edges = ["--label", "Vertex", "--type", "EDGE", "--format", "parquet", "--output", "tables"];
    run(folder, &[&["export", "large.eg"], &edges[..]].concat());
    run(folder, &["import", "tables.eg", "tables", "--engine", "disk"]);
    let counts = |database: &str| run(folder, &["query", database, "g.E().count()"]);
    assert_eq!(counts("tables.eg"), counts("large.eg"));
    write_edge_list(&folder.join("list.e"));
    run(folder, &["import", "list.eg", "list.e", "--engine", "disk"]);
    assert!(counts("list.eg").contains(&LISTED_EDGES.to_string()));
    write_graphml(&folder.join("waiting.graphml"));
    run(folder, &["import", "waiting.eg", "waiting.graphml", "--engine", "disk"]);
    assert!(counts("waiting.eg").contains(&WAITING_EDGES.to_string()));
    run(folder, &["convert", "tables.eg", "memory.eg", "--engine", "memory", "--no-check"]);
    run(folder, &["convert", "memory.eg", "disk.eg", "--engine", "disk", "--no-check"]);
}
