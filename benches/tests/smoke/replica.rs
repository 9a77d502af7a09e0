//! The part `replica`: a private PostgreSQL with small tables. The harness compares the graph with SQL's rows at its end.

use crate::{harness, relational, results};
use std::collections::BTreeSet;

#[test]
fn a_replica_is_measured_beside_a_plain_reader_and_has_sql_s_rows_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let network = folder.path().join("network");
    relational::write(&network);
    let interactive = format!("--interactive={}", network.display());
    let done = harness(folder.path(), &["--only", "replica", &interactive], None);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}");
    if told.contains("skipped: PostgreSQL's programs are not here") {
        assert!(std::env::var_os("CI").is_none(), "{told}");
        eprintln!("{told}");
        return;
    }
    let results = results(folder.path());
    let entries = results["entries"].as_array().expect("entries are a list");
    let names: BTreeSet<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
    let is_split = !told.contains("left out, the part split");
    for name in [
        "replica.copy",
        "replica.freshness.p50.rate_100",
        "replica.freshness.later.p99.rate_1000",
        "replica.freshness.max.highest",
        "replica.freshness.highest_rate",
        "replica.freshness.large",
        "replica.sustained.updates",
        "replica.sustained.edges",
        "replica.sustained.vertices",
        "replica.time.vertices.look_up",
        "replica.time.updates.commit",
        "replica.source.transactions",
        "replica.analytics.pagerank",
        "replica.analytics.wcc",
        "replica.analytics.sssp.cpu",
        "replica.epochs.applier",
        "replica.epochs.memory",
        "replica.split.transactions",
        "replica.split.pagerank",
        "replica.orders.also_bought",
        "replica.orders.lines",
        "replica.orders.pagerank",
        "replica.orders.wcc",
        "replica.network.bi_2",
        "replica.interactive.is_7",
        "replica.interactive.ic_14",
        "replica.interactive.sssp",
        "replica.interactive.complex.clients_8",
        "replica.interactive.mixed.clients_1",
        "replica.interactive.on_replica.mixed.clients_8",
    ] {
        let is_left_out = !is_split && name.starts_with("replica.split");
        assert!(is_left_out || names.contains(name), "{name} is missing: {told}");
    }
    let peers: BTreeSet<&str> = entries.iter().filter_map(|entry| entry["peer"].as_str()).collect();
    assert_eq!(
        peers.into_iter().collect::<Vec<_>>(),
        ["copy", "plain reader", "reload", "sql", "static", "without"]
    );
    assert!(entries.iter().all(|entry| entry["ours"]["median"].as_f64().is_some_and(f64::is_finite)));
    let notes = results["notes"]["Replica"].to_string();
    assert!(notes.contains("fsync=off") && notes.contains("load average before"), "{notes}");
    println!("{told}");
}
