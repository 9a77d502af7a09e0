//! The part `cluster` on a small graph: the harness compares all edges of the stores, on both sides, with those of the log, and what
//! nodes on etcd have with what their clients were acknowledged.

use crate::{etcd, harness, harness_without_programs, results, skips};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A figure by its name and the peer beside it, if there is one.
type Figures = BTreeMap<(String, Option<String>), f64>;

/// Ratios and figures by name and peer, of these parts; what was told. `None` without etcd.
fn figures(folder: &Path, parts: &str, nodes: &str) -> Option<(Figures, String)> {
    if etcd::program().is_none() {
        skips::skip(etcd::HOW_TO_INSTALL);
        return None;
    }
    Some(figures_of(folder, &["--cluster-parts", parts, "--cluster-nodes", nodes]))
}

/// The same, of whatever is chosen.
fn figures_of(folder: &Path, chosen: &[&str]) -> (Figures, String) {
    let done = harness(folder, &[&["--only", "cluster"], chosen].concat(), None);
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{told}");
    let results = results(folder);
    let entries = results["entries"].as_array().expect("entries are a list");
    let figure = |entry: &Value| {
        let text = |name: &str| entry[name].as_str().map(str::to_owned);
        let of = if entry["peer"].is_string() { &entry["ratio"] } else { &entry["ours"] };
        Some(((text("name")?, text("peer")), of["median"].as_f64()?))
    };
    (entries.iter().filter_map(figure).collect(), told + &results["notes"].to_string())
}

/// Positive figures with these names.
fn expect_positive(figures: &Figures, expected: &[(&str, Option<&str>)]) {
    for (name, peer) in expected {
        let figure = figures.get(&((*name).to_owned(), peer.map(str::to_owned)));
        assert!(
            figure.is_some_and(|figure| *figure > 0.0),
            "{name} beside {peer:?}: {figure:?} of {figures:?}"
        );
    }
}

#[test]
fn nodes_on_etcd_commit_edges_and_one_of_them_starts_again() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let Some((figures, told)) = figures(folder.path(), "log", "1") else { return };
    let expected = [
        ("cluster.log.rate.clients_1", Some("one store")),
        ("cluster.log.p99.clients_4", Some("one store")),
        ("cluster.log.commit.clients_1", Some("append")),
        ("cluster.log.restart.applied", Some("cluster")),
        ("cluster.log.restart.whole", Some("without")),
    ];
    expect_positive(&figures, &expected);
    assert!(figures.contains_key(&("cluster.log.beyond_append.clients_4".to_owned(), None)), "{told}");
    assert!(told.contains("three members of etcd"), "{told}");
}

#[test]
fn a_node_and_the_leader_of_etcd_are_lost_while_clients_run_and_etcd_is_under_load() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let Some((figures, told)) = figures(folder.path(), "loss,load", "1") else { return };
    let losses = ["node", "leader"]
        .map(|loss| ["reads", "commits", "edges", "counts"].map(|of| format!("cluster.loss.{loss}.{of}")));
    for name in losses.as_flattened() {
        expect_positive(&figures, &[(name, Some("without"))]);
    }
    let load = [("cluster.load.rate", None), ("cluster.load.memory", None), ("cluster.load.files", None)];
    expect_positive(&figures, &load);
    assert!(told.contains("of load left"), "{told}");
}

/// Servers come by `make cluster-nats`; this test by
/// `cargo test -p evergraph-benches --features nats --test smoke -- nodes_on_nats`.
#[cfg(feature = "nats")]
#[test]
fn nodes_on_nats_commit_edges_and_lose_a_node_and_the_leader() {
    if crate::nats::program().is_none() {
        return skips::skip(crate::nats::HOW_TO_INSTALL);
    }
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let chosen = ["--cluster-parts", "log,loss", "--cluster-log", "nats"];
    let (figures, told) = figures_of(folder.path(), &chosen);
    let expected = [
        ("cluster.nats.log.rate.clients_1", Some("one store")),
        ("cluster.nats.log.commit.clients_4", Some("append")),
        ("cluster.nats.log.restart.applied", Some("cluster")),
        ("cluster.nats.loss.node.reads", Some("without")),
        ("cluster.nats.loss.leader.edges", Some("without")),
    ];
    expect_positive(&figures, &expected);
    assert!(figures.keys().all(|(name, _)| name.starts_with("cluster.nats.")), "{figures:?}");
    assert!(told.contains("three servers of NATS") && told.contains("the leader of NATS is lost"), "{told}");
}

#[test]
fn mixes_run_on_a_cluster_and_a_single_store() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let Some((figures, told)) = figures(folder.path(), "mix", "1,2") else { return };
    let store = Some("one store");
    let expected = [
        ("cluster.mix.rmat.nodes_1.writes_0.snapshot", store),
        ("cluster.mix.network.nodes_2.writes_80.serializable.p99", store),
        ("cluster.mix.rmat.nodes_2.check_ahead.snapshot", Some("without")),
    ];
    expect_positive(&figures, &expected);
    for name in [
        "cluster.mix.rmat.nodes_2.writes_50.snapshot.refused.log",
        "cluster.mix.rmat.nodes_2.writes_50.snapshot.refused.log_other",
        "cluster.mix.rmat.nodes_2.writes_50.snapshot.refused.ahead",
    ] {
        assert!(figures.contains_key(&(name.to_owned(), None)), "{name}: {told}");
    }
    assert!(figures.keys().any(|(name, _)| name == "cluster.refused.rmat.nodes_2.serializable"), "{told}");
}

#[test]
fn processors_of_the_log_are_those_of_its_leader_and_of_the_others() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let Some((figures, told)) = figures(folder.path(), "log-cpu", "1,2") else { return };
    expect_positive(
        &figures,
        &[("cluster.log_cpu.rate.nodes_1", None), ("cluster.log_cpu.rate.nodes_2", None)],
    );
    // Hundredths of a second: a run this short may have none.
    for name in ["leader.nodes_1", "leader.share.nodes_2", "follower.nodes_2", "follower.share.nodes_1"] {
        let figure = figures.get(&(format!("cluster.log_cpu.{name}"), None));
        assert!(figure.is_some_and(|figure| *figure >= 0.0), "{name}: {figure:?}: {told}");
    }
    let spent = |name: &str| figures[&(format!("cluster.log_cpu.{name}"), None)];
    assert!(
        cfg!(not(target_os = "linux")) || spent("leader.nodes_1") + spent("leader.nodes_2") > 0.0,
        "{told}"
    );
}

#[test]
fn refusals_are_told_apart_by_whether_the_log_had_what_was_missed() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let Some((figures, told)) = figures(folder.path(), "pre-read", "1,2") else { return };
    let mut refused = 0.0;
    for workload in ["mix", "refused"] {
        for nodes in [1, 2] {
            for level in ["snapshot", "serializable"] {
                let share = |what: &str| {
                    let name = format!("cluster.pre_read.{workload}.nodes_{nodes}.{level}.{what}");
                    *figures.get(&(name.clone(), None)).unwrap_or_else(|| panic!("{name} is missing: {told}"))
                };
                assert!((0.0..1.0).contains(&share("refused")), "{told}");
                assert!((0.0..=share("refused")).contains(&share("spared")), "{told}");
                refused += share("refused");
            }
        }
    }
    assert!(refused > 0.0, "nothing was refused: {told}");
}

#[test]
fn transactions_of_each_query_have_their_keys_in_the_log() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let Some((figures, told)) = figures(folder.path(), "sizes", "1") else { return };
    let size = |name: &str| {
        let figure = figures.get(&(format!("cluster.sizes.{name}"), None));
        *figure.unwrap_or_else(|| panic!("{name} is missing: {told}"))
    };
    for query in [2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21] {
        for graph in ["rmat", "network"] {
            let of = |level: &str, figure: &str| size(&format!("{graph}.q_{query}.{level}.{figure}"));
            // Each changes something; what was read is checked, too, where it has to be.
            assert!(of("snapshot", "touches") >= 1.0 && of("snapshot", "bytes") > 8.0, "Q{query}: {told}");
            assert!(of("serializable", "checks") >= 1.0, "Q{query}: {told}");
        }
    }
    let checks = |level: &str| size(&format!("rmat.q_16.{level}.checks"));
    assert!(checks("serializable") >= checks("snapshot"), "{told}");
}

#[test]
fn a_cluster_answers_the_reads_of_a_network_as_loops_do() {
    if etcd::program().is_none() {
        return skips::skip(etcd::HOW_TO_INSTALL);
    }
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let files = folder.path().join("network");
    crate::network::write(&files);
    let interactive = format!("--interactive={}", files.display());
    let chosen = ["--cluster-parts", "snb", "--cluster-nodes", "1,4", &interactive];
    let (figures, told) = figures_of(folder.path(), &chosen);
    let store = Some("one store");
    let expected = [
        ("cluster.snb.ic_1.nodes_1.plain.time", store),
        ("cluster.snb.ic_4.nodes_4.indexed.rate", store),
        ("cluster.snb.is_2.nodes_4.plain.rate", store),
        ("cluster.snb.is_4.nodes_4.indexed.time", store),
    ];
    expect_positive(&figures, &expected);
    assert!(told.contains("every answer is that of plain loops"), "{told}");
}

#[test]
fn hops_travel_or_are_asked_for_and_count_what_a_single_store_counts() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    // Both of two nodes would keep everything.
    let Some((figures, told)) = figures(folder.path(), "hops", "4") else { return };
    let view = Some("remote view");
    expect_positive(
        &figures,
        &[("cluster.hops_1.time.rmat", Some("one store")), ("cluster.hops_4.time.network", view)],
    );
    for what in ["messages", "bytes"] {
        let ratio = figures.get(&(format!("cluster.hops_3.{what}.network"), view.map(str::to_owned)));
        // As many, to the byte, is what a query has that does not travel.
        assert!(ratio.is_some_and(|ratio| *ratio > 0.0 && *ratio < 1.0), "nothing travels: {told}");
    }
    for graph in ["rmat", "network"] {
        let name = format!("cluster.hops_3.edges.nodes_4.{graph}");
        let ratio = figures.get(&(name, Some("its share".to_owned())));
        // All edges at one of four nodes would be 4.
        assert!(ratio.is_some_and(|ratio| *ratio >= 1.0 && *ratio < 3.5), "{ratio:?}: {told}");
    }
}

#[test]
fn without_etcd_and_nats_their_parts_are_left_out_by_name() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let done = harness_without_programs(
        folder.path(),
        &["--only", "cluster", "--cluster-parts", "commits,log,hops", "--cluster-log", "etcd,nats"],
    );
    let told = String::from_utf8_lossy(&done.stderr);
    let of_nats = match cfg!(feature = "nats") {
        true => "left out: log on NATS: the program nats-server is not here",
        false => "left out: log on NATS: this harness is built without NATS",
    };
    let notes = results(folder.path())["notes"].to_string();
    for text in ["left out: log, hops on etcd: the program etcd is not here", of_nats] {
        assert!(
            done.status.success() && told.contains(text) && notes.contains(text),
            "{text}: {told}, {notes}"
        );
    }
}

#[test]
fn a_log_is_decided_and_applied_and_a_node_keeps_its_share() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let done =
        harness(folder.path(), &["--only", "cluster", "--cluster-parts", "certify,apply,commits"], None);
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
