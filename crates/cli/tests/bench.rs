//! The benchmark end to end, in small: all figures are there, under their names.

#![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]

use serde_json::Value;
use std::collections::HashMap;
use std::process::Command;

/// The values of all figures of `evergraph bench` by name: each has a unit, a range around its median, and
/// a section whose texts fit a terminal. Nothing is left in the folder.
fn figures(arguments: &[&str]) -> HashMap<String, f64> {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_evergraph"))
        .arg("bench")
        .args(arguments)
        .args(["--json", "--dir"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the benchmark leaves nothing behind");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut values = HashMap::new();
    for section in report["sections"].as_array().unwrap() {
        let notes = section["notes"].as_array().unwrap();
        for text in notes.iter().chain([&section["title"]]) {
            assert!(text.as_str().unwrap().chars().count() <= 98, "too long for a terminal: {text}");
        }
        for figure in section["figures"].as_array().unwrap() {
            let (name, value) = (figure["name"].as_str().unwrap(), figure["value"].as_f64().unwrap());
            let spread = &figure["spread"];
            assert!(spread["low"].as_f64().unwrap() <= value && value <= spread["high"].as_f64().unwrap());
            assert!(figure["unit"].is_string() && figure["runs"].as_u64().unwrap() > 0);
            assert!(values.insert(name.to_owned(), value).is_none(), "{name} is there twice");
        }
    }
    values
}

#[test]
fn every_figure_has_a_name_a_value_a_unit_and_a_spread() {
    let figures = figures(&["--quick", "--scale", "10"]);
    let value = |name: &str| *figures.get(name).unwrap_or_else(|| panic!("{name} is missing"));
    for name in [
        "commits.none.clients_1.edges_1",
        "commits.interval.clients_1.edges_1000",
        "commits.sync.clients_64.edges_1",
        "disk.write_4k_fdatasync",
        "scan.threads_1.hot.ratio",
        "pagerank.threads_2.cold.ratio",
        "pagerank.threads_1.hot.fresh_before",
        "memory.cold.topology",
        "look_up.unique",
        "look_up.range_100",
        "look_up.build_ordered",
        "import.edges_rate",
        "restart.checkpoint",
        "restart.log",
    ] {
        assert!(value(name) > 0.0, "{name}");
    }
    assert!(value("pagerank.difference") < 1e-12);
    // 1 % was just inserted, and on so small a graph 512 records, 3 % of it, wait before a merge is worth it.
    assert!(value("pagerank.threads_1.hot.fresh_after") <= 0.05);
}

#[test]
fn transactions_are_measured_at_both_levels_with_what_was_refused() {
    let figures = figures(&["transactions", "--quick"]);
    let value = |name: String| *figures.get(&name).unwrap_or_else(|| panic!("{name} is missing"));
    let contests = ["social.none.low", "social.interval.high", "half_writes.low", "half_writes.high"];
    for name in contests.iter().flat_map(|name| [1, 2, 8].map(|threads| format!("{name}.threads_{threads}")))
    {
        for level in ["snapshot", "serializable"] {
            assert!(value(format!("{name}.{level}")) > 0.0, "{name} {level}");
            assert!((0.0..1.0).contains(&value(format!("{name}.{level}.aborted"))), "{name} {level}");
        }
        assert!(value(format!("{name}.ratio")) > 0.0, "{name}");
    }
    for name in [
        "hub_look_ups.quiet.p99",
        "hub_look_ups.appends.appends",
        "hub_appends.threads_8.ratio",
        "held_snapshot.ratio",
        "recovery.edges_10000.per_commit_1000.rate",
        "checksums.per_commit_1.recovering",
    ] {
        assert!(value(name.to_owned()) > 0.0, "{name}");
    }
}
