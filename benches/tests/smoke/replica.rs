//! The part `replica`: a private PostgreSQL with small tables. The harness compares the graph with SQL's rows at its end.

use crate::{harness, relational, results};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn a_replica_is_measured_beside_a_plain_reader_and_has_sql_s_rows_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let network = folder.path().join("network");
    relational::write(&network);
    let interactive = format!("--interactive={}", network.display());
    let exported = folder.path().join("exported");
    let export = format!("--replica-export={}", exported.display());
    let done = harness(folder.path(), &["--only", "replica", &interactive, &export], None);
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
        "replica.network.is_3",
        "replica.network.bi_2",
        "replica.network.bi_3",
        "replica.interactive.is_7.copies_4",
        "replica.interactive.ic_14.copies_4",
        "replica.interactive.sssp.copies_4",
        "replica.interactive.complex.clients_8.copies_4",
        "replica.interactive.mixed.clients_1.copies_4",
        "replica.interactive.on_replica.mixed.clients_8.copies_4",
    ] {
        let is_left_out = !is_split && name.starts_with("replica.split");
        assert!(is_left_out || names.contains(name), "{name} is missing: {told}");
    }
    for entry in entries {
        let name = entry["name"].as_str().unwrap_or_default();
        if name.starts_with("replica.network.") {
            let rows = entry["settings"]["rows"].as_str().and_then(|rows| rows.parse::<u64>().ok());
            assert!(rows > Some(0), "{name} has {rows:?} rows: {told}");
        }
    }
    let peers: BTreeSet<&str> = entries.iter().filter_map(|entry| entry["peer"].as_str()).collect();
    assert_eq!(
        peers.into_iter().collect::<Vec<_>>(),
        ["copy", "plain reader", "reload", "sql", "static", "without"]
    );
    assert!(entries.iter().all(|entry| entry["ours"]["median"].as_f64().is_some_and(f64::is_finite)));
    let notes = results["notes"]["Replica"].to_string();
    assert!(notes.contains("fsync=off") && notes.contains("load average before"), "{notes}");
    for part in ["network", "persons and posts"] {
        let mut each = results["notes"]["Replica"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let is_of_part = |note: &str| note.starts_with(&format!("{part}: "));
        let is_noted = each.any(|note| is_of_part(note) && note.contains("posts were changed at the source"));
        assert!(is_noted, "{part}: {notes}");
    }
    expect_exported(&exported.join("copies_4"));
    println!("{told}");
}

/// Another database gets every row of the tables, and an answer for each set of parameters.
fn expect_exported(folder: &Path) {
    let text = fs::read_to_string(folder.join("reads.json")).expect("the reads were exported");
    let exported: Value = serde_json::from_str(&text).expect("reads are JSON");
    let list = |of: &Value, name: &str| of[name].as_array().expect(name).clone();
    let tables = list(&exported, "tables");
    assert_eq!(tables.len(), 6);
    for table in tables {
        let name = table["name"].as_str().expect("a table has a name");
        let lines = fs::read_to_string(folder.join(format!("{name}.csv"))).expect("its rows were exported");
        let rows = table["rows"].as_u64().expect("a table has rows");
        assert_eq!(lines.lines().count() as u64, 1 + rows, "{name}");
        assert_eq!(lines.lines().next().expect("names").split(',').count(), list(&table, "columns").len());
        assert!(!list(&table, "indexes").is_empty(), "{name} has its primary key");
    }
    let reads = list(&exported, "reads");
    assert_eq!(reads.len(), 8);
    for read in reads {
        assert_eq!(list(&read, "parameters").len(), list(&read, "answers").len(), "{read}");
        assert_eq!(list(&read, "ours").len(), list(&read, "of_sql").len(), "{read}");
    }
}
