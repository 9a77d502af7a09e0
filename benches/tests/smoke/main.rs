//! Smoke: the whole harness on a small graph. Every answer is checked by the harness itself; no time is.

mod cluster;
#[path = "../../../tests/src/etcd.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod etcd;
#[path = "../../../tests/src/guarded_process.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod guarded_process;
mod mapped;
#[cfg(feature = "nats")]
#[path = "../../../tests/src/nats.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod nats;
mod network;
mod relational;
mod replica;
mod server;
#[path = "../../../tests/src/skips.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod skips;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// The harness, with results in `folder`.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph-benches"));
    command.args(["--smoke", "--output"]).arg(folder).args(arguments);
    command
}

/// Runs the harness where no other program is found.
fn harness_without_programs(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = command(folder, arguments);
    command.env_remove("EVERGRAPH_ETCD").env_remove("EVERGRAPH_NATS").env("PATH", folder);
    command.output().expect("the harness starts")
}

/// Runs the harness with results in `folder`.
fn harness(folder: &Path, arguments: &[&str], gapbs: Option<&Path>) -> Output {
    let mut command = command(folder, arguments);
    match gapbs {
        Some(gapbs) => command.env("GAPBS_DIR", gapbs),
        None => command.env_remove("GAPBS_DIR"),
    };
    command.output().expect("the harness starts")
}

fn results(folder: &Path) -> Value {
    let results = fs::read_to_string(folder.join("results.json")).expect("results are there");
    serde_json::from_str(&results).expect("results are JSON")
}

#[test]
fn every_part_runs_on_every_engine_and_all_answers_are_right() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let list = folder.path().join("ring.e");
    let edges: String = (0..400)
        .map(|vertex| format!("{vertex} {}\n{vertex} {}\n", (vertex + 1) % 400, vertex * 7 % 400))
        .collect();
    fs::write(&list, edges).expect("a list of edges is written");
    let graph = format!("--graph=ring={}", list.display());
    let network = folder.path().join("network");
    network::write(&network);
    let interactive = format!("--interactive={}", network.display());
    let done = harness(folder.path(), &[&graph, &interactive], None);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}");
    let results = results(folder.path());
    let entries = results["entries"].as_array().expect("entries are a list");
    let texts =
        |name: &str| -> BTreeSet<&str> { entries.iter().filter_map(|entry| entry[name].as_str()).collect() };
    let mut peers = vec![
        "2 runs",
        "8 runs",
        "T = 16",
        "T = 4",
        "arrays",
        "bytes",
        "disk",
        "fjall",
        "graphs held",
        "lmdb",
        "lmdb_writemap",
        "loop",
        "memory engine",
        "no filters",
        "one client",
        "one skip list",
        "plain",
        "plain arrays",
        "records",
        "redb",
        "row by row",
        "serializable",
        "skip lists",
        "static",
        "transactions",
        "without",
    ];
    if cfg!(feature = "rocksdb") {
        peers.push("rocksdb");
    }
    peers.sort_unstable();
    assert_eq!(texts("peer").into_iter().collect::<Vec<_>>(), peers);
    assert_eq!(texts("section").len(), 26, "twenty parts, six of them on a graph of files too");
    for name in [
        "insert.batch_1000.random",
        "durable.clients_64.edges_1",
        "scan.degree_16",
        "memory.cold",
        "live.triangles.fresh_10.threads_2",
        "linkbench.tao.clients_2.p999",
        "restart.open",
        "held_snapshot.memory",
        "static.triangles.threads_2",
        "in_place.wcc.prepare.threads_2",
        "properties.vertices.read_4.columns",
        "properties.edges.write_1.columns",
        "layouts.read.edges.random_4",
        "layouts.write.vertices.random_1",
        "live.pagerank.fresh_1.threads_1.ring",
        "pagerank.by_scans.ring",
        "query.walks.hops_4.ring",
        "query.reached.hops_1.ring",
        "look_up.time.range",
        "look_up.time.edge",
        "look_up.bytes.unique",
        "interactive.is_7",
        "interactive.ic_4",
        "interactive.index.comment.build",
        "lbv.reads_20.clients_8.p99",
        "lbv.read_only.clients_1",
        "disk.insert.one.p99",
        "disk.load.bytes",
        "disk.open",
        "disk.insert.held",
        "disk.insert.batch_1000.checked",
        "disk.read.out_list.cold.pages",
        "disk.settled.scan",
        "disk.kernel.warm.leiden",
        "disk.kernel.sssp",
        "disk.kernel.sssp.writer",
        "disk.kernel.scan_share",
        "disk.ablation.insert.one.pages",
        "disk.ablation.write_amplification",
        "disk.ablation.no_edge.cold.pages",
        "disk.ablation.scan",
        "disk.ablation.readers.memory",
        "disk.ablation.bare.mixed.threads_2",
        "disk.ablation.memory_graph.scan",
        "disk.linkbench.tao.clients_2.mean",
        "disk.linkbench.writes_100.clients_24",
        "disk.newest_10.pages",
    ] {
        assert!(texts("name").contains(name), "{name} is missing");
    }
    assert!(entries.iter().all(|entry| entry["ours"]["median"].as_f64().is_some_and(f64::is_finite)));
    for entry in entries.iter().filter(|entry| entry["section"] == "LDBC's interactive reads") {
        assert_ne!(entry["settings"]["rows"], "0", "nothing was found, nothing was compared: {entry}");
    }
    let reads = entries.iter().filter(|entry| entry["section"] == "Reads by engine");
    for (entry, side) in reads.flat_map(|entry| [(entry, "ours_spent"), (entry, "theirs_spent")]) {
        let spent = entry[side].as_array().expect("each run says what it took");
        assert_eq!(Some(spent.len() as u64), entry["runs"].as_u64(), "{entry}");
        let positive = |time: &str| spent.iter().all(|run| run[time].as_f64().is_some_and(|time| time > 0.0));
        assert!(positive("wall") && positive("cpu"), "{entry}");
    }
    let tables = fs::read_to_string(folder.path().join("results.md")).expect("tables are there");
    assert_eq!(tables, String::from_utf8_lossy(&done.stdout).trim_end_matches('\n').to_owned() + "\n");
    for plot in ["live_beside_others.svg", "live.svg", "pagerank.svg", "inserts.svg", "linkbench.svg"] {
        assert!(folder.path().join(plot).exists(), "{plot} is missing");
    }
    // For who runs the test with --nocapture: what the short run said.
    println!("{told}");
}

#[test]
fn without_ldbc_s_files_its_reads_are_left_out_and_the_micro_benchmarks_make_a_graph() {
    let folder = tempfile::tempdir().expect("a folder for results");
    let done = harness(folder.path(), &["--only", "interactive,lbv"], None);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && told.contains("left out: --interactive names no folder"), "{told}");
    let results = results(folder.path());
    let entries = results["entries"].as_array().expect("entries are a list");
    assert!(entries.iter().all(|entry| entry["section"] == "LBV's micro-benchmarks"), "{told}");
    let notes = results["notes"]["LBV's micro-benchmarks"].to_string();
    assert!(notes.contains("R-MAT: 128 vertices of 2 labels"), "{notes}");
}

/// A program of GAPBS as far as the harness sees it: its converter keeps the lines as they are, the others read them,
/// check what they are told, and count what the harness counts in the ring of `ring`.
const FAKE: &str = r#"#!/bin/sh
program=${0##*/} file= trials=16 analysed= verified= source= converted= option= threads=$OMP_NUM_THREADS
while [ $# -gt 0 ]; do
    case $1 in
        -f) file=$2; shift ;;
        -n) trials=$2; shift ;;
        -r) source=$2; shift ;;
        -i|-t|-d) shift ;;
        -a) analysed=1 ;;
        -v) verified=1 ;;
        -b) converted=$2; shift ;;
        -s|-w) option=$1 ;;
        *) echo "unknown option $1"; exit 2 ;;
    esac
    shift
done
if [ "$program" = converter ]; then
    case $option$converted in -s*/undirected.sg|-w*/weighted.wsg|/*/plain.sg) ;; *) exit 6 ;; esac
    cp "$file" "$converted"
    exit
fi
[ -z "$option$converted" ] || exit 7
case $program in tc) form=undirected.sg ;; sssp) form=weighted.wsg ;; *) form=plain.sg ;; esac
[ "${file##*/}" = $form ] || exit 8
[ -n "$threads" ] || exit 3
case $program in sssp) fields=3 ;; *) fields=2 ;; esac
[ "$(awk '{ print NF }' "$file" | sort -u)" = "$fields" ] || exit 4
case $program in bfs|sssp|bc) [ -n "$source" ] || exit 5 ;; esac
echo "Read Time:           0.00100"
while [ "$trials" -gt 0 ]; do
    echo "Trial Time:          0.0$trials"
    trials=$((trials - 1))
done
if [ -n "$analysed" ]; then
    case $program in
        bfs) echo "BFS Tree has NODES nodes and 30 edges" ;;
        sssp) echo "SSSP Tree reaches NODES nodes" ;;
        cc) echo "There are 1 components" ;;
        tc) echo "TRIANGLES triangles" ;;
    esac
fi
[ -z "$verified" ] || echo "Verification:           PASS"
echo "Average Time:        0.02"
"#;

#[test]
fn programs_of_gapbs_are_told_the_same_graph_and_their_counts_are_compared() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    // A ring of 30 vertices with a loop, and edges across that close 30 triangles.
    let list = folder.path().join("ring.e");
    let edges: String = (0..30)
        .map(|vertex| format!("{vertex} {}\n{vertex} {}\n", (vertex + 1) % 30, (vertex + 2) % 30))
        .collect();
    fs::write(&list, edges + "0 0\n").expect("a list of edges is written");
    let programs = folder.path().join("programs");
    fs::create_dir(&programs).expect("a folder for programs");
    let install = |nodes: &str| {
        for name in ["converter", "pr", "bfs", "sssp", "cc", "bc", "tc"] {
            let path = programs.join(name);
            let text = FAKE.replace("NODES", nodes).replace("TRIANGLES", "30");
            fs::write(&path, text).expect("a program is written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it may be run");
        }
    };
    let graph = format!("--graph=ring={}", list.display());
    let arguments = ["--only", "static", "--files-only", &graph];

    install("30");
    let done = harness(folder.path(), &arguments, Some(&programs));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let results = results(folder.path());
    let entries = results["entries"].as_array().expect("entries are a list");
    assert_eq!(entries.len(), 12, "six kernels on one and two threads");
    for entry in entries {
        // Three trials of 0.03, 0.02 and 0.01 s in turn; of triangles, which take long, the last one alone.
        let is_triangles = entry["name"].as_str().is_some_and(|name| name.starts_with("static.triangles"));
        let median = if is_triangles { 0.01 } else { 0.02 };
        assert_eq!(
            (entry["peer"].as_str(), entry["theirs"]["median"].as_f64()),
            (Some("gapbs"), Some(median))
        );
        assert_eq!(entry["goal"], "at most 1.10 x", "{entry}");
        assert_eq!(entry["theirs_spent"].as_array().map(Vec::len), Some(0), "nobody knows its CPU time");
    }

    install("29");
    let done = harness(folder.path(), &arguments, Some(&programs));
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && told.contains("bfs gives another answer, its count"), "{told}");
}
