//! The part `cluster` on a small graph: the harness compares all edges of the stores, on both sides, with those of the log.

use crate::{harness, results};
use std::collections::BTreeMap;

#[test]
fn a_log_is_decided_and_applied_and_a_node_keeps_its_share() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let done = harness(folder.path(), &["--only", "cluster"], None);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}");
    let results = results(folder.path());
    let entries = results["entries"].as_array().expect("entries are a list");
    let ratios: BTreeMap<_, _> = entries
        .iter()
        .filter_map(|entry| {
            Some(((entry["name"].as_str()?, entry["peer"].as_str()), &entry["ratio"]["median"]))
        })
        .collect();
    for name in [
        "cluster.certify.one",
        "cluster.certify.reads_60",
        "cluster.decide.one",
        "cluster.decide.reads_1000",
        "cluster.state.bytes",
    ] {
        assert!(ratios.contains_key(&(name, None)), "{name} is missing: {told}");
    }
    let beside = |name: &str, peer: &str| ratios.get(&(name, Some(peer))).and_then(|ratio| ratio.as_f64());
    for name in ["cluster.apply.nodes_1", "cluster.apply.nodes_2", "cluster.apply.nodes_4.cpu"] {
        assert!(beside(name, "one store").is_some_and(|ratio| ratio > 0.0), "{name}: {told}");
    }
    assert!(beside("cluster.store.commit", "serializable").is_some_and(|ratio| ratio > 0.0), "{told}");
    // Both of two nodes keep everything; of four the one that keeps most has more than its share.
    assert_eq!(beside("cluster.records.nodes_2", "its share"), Some(1.0), "{told}");
    let records = beside("cluster.records.nodes_4", "its share");
    assert!(records.is_some_and(|ratio| (1.0..1.5).contains(&ratio)), "{records:?}: {told}");
    for name in ["cluster.bytes.nodes_2", "cluster.logs.nodes_4", "cluster.memory.nodes_4"] {
        assert!(beside(name, "its share").is_some_and(|ratio| ratio > 0.0), "{name}: {told}");
    }
}

#[test]
fn parts_and_sizes_of_a_cluster_are_chosen() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let chosen = [
        "--only",
        "cluster",
        "--cluster-parts",
        "apply",
        "--cluster-nodes",
        "3",
        "--cluster-partitions",
        "5",
        "--cluster-transactions",
        "40",
    ];
    let done = harness(folder.path(), &chosen, None);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}");
    let results = results(folder.path());
    let entries = results["entries"].as_array().expect("entries are a list");
    let names: Vec<_> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
    let expected = [
        "cluster.apply.nodes_3",
        "cluster.apply.nodes_3.cpu",
        "cluster.records.nodes_3",
        "cluster.bytes.nodes_3",
        "cluster.logs.nodes_3",
        "cluster.memory.nodes_3",
        "cluster.state.bytes",
    ];
    assert_eq!(names, expected, "{told}");
    assert!(results["notes"].to_string().contains("40 measured behind"), "{told}");
    assert!(results["notes"].to_string().contains("5 partitions, 2 copies"), "{told}");
}
