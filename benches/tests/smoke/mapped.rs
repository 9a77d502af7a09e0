//! The parts `mapped` and `mapped-engine` on a small graph: the harness compares all edges and answers itself.

use crate::{harness, results};
use std::collections::BTreeSet;

#[test]
fn stores_of_raw_edges_are_measured_beside_a_static_array() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let chosen = ["--only", "mapped", "--mapped-writers", "1,3", "--mapped-log-bytes", "32,2048"];
    let done = harness(folder.path(), &chosen, None);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}");
    let results = results(folder.path());
    let entries = results["entries"].as_array().expect("entries are a list");
    let names: BTreeSet<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
    for name in [
        "mapped.insert.degree_6.threads_1",
        "mapped.insert.degree_16.threads_3",
        "mapped.bytes.degree_16",
        "mapped.fences.degree_6",
        "mapped.space.degree_16",
        "mapped.pagerank.threads_1",
        "mapped.bfs.threads_2",
        "mapped.wcc.threads_1",
        "mapped.betweenness.threads_2",
        "mapped.open.shut_down",
        "mapped.open.dropped",
        "mapped.logs.insert.bytes_32",
        "mapped.logs.use.bytes_2048",
        "mapped.logs.space.bytes_2048",
        "mapped.ablations.insert",
        "mapped.ablations.bytes",
    ] {
        assert!(names.contains(name), "{name} is missing: {told}");
    }
    let fences = |name: &str| {
        entries.iter().find(|entry| entry["name"] == name).and_then(|entry| entry["ours"]["median"].as_f64())
    };
    assert!(fences("mapped.fences.degree_16").is_some_and(|fences| (1.0..1.5).contains(&fences)), "{told}");
    let beside = |name: &str, peer: &str| {
        let entry = entries.iter().find(|entry| entry["name"] == name && entry["peer"] == peer);
        entry.and_then(|entry| entry["ratio"]["median"].as_f64())
    };
    for name in ["mapped.insert.degree_16.threads_1", "mapped.pagerank.threads_1", "mapped.wcc.threads_2"] {
        assert!(beside(name, "blocked list").is_some_and(|ratio| ratio > 0.0), "{name}: {told}");
    }
    // What replaces a component of DGAP fences more often.
    for without in ["no section logs", "no undo slots", "metadata in the file", "none of the three"] {
        let ratio = beside("mapped.ablations.fences", without);
        assert!(ratio.is_some_and(|ratio| ratio < 1.0), "{without}: {ratio:?}: {told}");
    }
    assert!(results["notes"].to_string().contains("memory: DRAM, by --emulate-dax"), "{told}");
}

#[test]
fn the_mapped_engine_is_measured_beside_the_memory_engine_and_a_static_array() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let done = harness(folder.path(), &["--only", "mapped-engine"], None);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}");
    let results = results(folder.path());
    let entries = results["entries"].as_array().expect("entries are a list");
    let pairs: BTreeSet<_> =
        entries.iter().filter_map(|entry| Some((entry["name"].as_str()?, entry["peer"].as_str()?))).collect();
    for (name, peer) in [
        ("mapped_engine.insert.unsynced.edges_1", "memory engine"),
        ("mapped_engine.insert.durable.edges_1000", "memory engine"),
        ("mapped_engine.pagerank.threads_1", "static"),
        ("mapped_engine.betweenness.threads_2", "memory engine"),
        ("mapped_engine.open.id.loads_1", "memory engine"),
        ("mapped_engine.open.key.loads_1", "memory engine"),
        ("mapped_engine.readers.pagerank", "writing process"),
        ("mapped_engine.readers.commits.beside_4", "alone"),
    ] {
        assert!(pairs.contains(&(name, peer)), "{name} beside {peer} is missing: {told}");
    }
    for name in ["mapped_engine.open.id.loads_2", "mapped_engine.open.key.loads_2"] {
        let mut alone = entries.iter().filter(|entry| entry["name"] == name);
        assert!(alone.any(|entry| entry["peer"].is_null()), "{name} is missing: {told}");
        assert!(!pairs.iter().any(|pair| pair.0 == name), "{name} is measured alone: {told}");
    }
}
