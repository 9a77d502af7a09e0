//! The benchmark end to end, in small: all figures are there, under their names.

#![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]

use serde_json::Value;
use std::process::Command;

#[test]
fn every_figure_has_a_name_a_value_a_unit_and_a_spread() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_evergraph"))
        .args(["bench", "--quick", "--scale", "10", "--json", "--dir"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the benchmark leaves nothing behind");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sections = report["sections"].as_array().unwrap();
    let figures: Vec<&Value> =
        sections.iter().flat_map(|section| section["figures"].as_array().unwrap()).collect();
    for figure in &figures {
        let (value, spread) = (figure["value"].as_f64().unwrap(), &figure["spread"]);
        assert!(spread["low"].as_f64().unwrap() <= value && value <= spread["high"].as_f64().unwrap());
        assert!(figure["unit"].is_string() && figure["runs"].as_u64().unwrap() > 0);
    }
    for section in sections {
        let notes = section["notes"].as_array().unwrap();
        for text in notes.iter().chain([&section["title"]]) {
            assert!(text.as_str().unwrap().chars().count() <= 98, "too long for a terminal: {text}");
        }
    }
    let value = |name: &str| {
        let figure = figures.iter().find(|figure| figure["name"] == name);
        figure.unwrap_or_else(|| panic!("{name} is missing"))["value"].as_f64().unwrap()
    };
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
    assert!(value("pagerank.threads_1.hot.fresh_after") <= 0.02);
}
