//! Smoke: the whole harness on a small graph. Every answer is checked by the harness itself; no time is.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

#[test]
fn every_part_runs_on_every_engine_and_all_answers_are_right() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let done = Command::new(env!("CARGO_BIN_EXE_evergraph-benches"))
        .args(["--smoke", "--output"])
        .arg(folder.path())
        .output()
        .expect("the harness starts");
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}");
    let results = fs::read_to_string(folder.path().join("results.json")).expect("results are there");
    let results: serde_json::Value = serde_json::from_str(&results).expect("results are JSON");
    let entries = results["entries"].as_array().expect("entries are a list");
    let texts =
        |name: &str| -> BTreeSet<&str> { entries.iter().filter_map(|entry| entry[name].as_str()).collect() };
    let mut peers = vec!["bytes", "disk", "fjall", "lmdb", "redb", "static", "without"];
    if cfg!(feature = "rocksdb") {
        peers.push("rocksdb");
    }
    peers.sort_unstable();
    assert_eq!(texts("peer").into_iter().collect::<Vec<_>>(), peers);
    assert_eq!(texts("section").len(), 6);
    for name in [
        "insert.batch_1000.random",
        "durable.clients_64.edges_1",
        "scan.degree_16",
        "memory.cold",
        "live.triangles.fresh_10.threads_2",
        "linkbench.tao.clients_2.p999",
        "restart.open",
    ] {
        assert!(texts("name").contains(name), "{name} is missing");
    }
    assert!(entries.iter().all(|entry| entry["ours"]["median"].as_f64().is_some_and(f64::is_finite)));
    let reads = entries.iter().filter(|entry| entry["section"] == "Reads by engine");
    for (entry, side) in reads.flat_map(|entry| [(entry, "ours_spent"), (entry, "theirs_spent")]) {
        let spent = entry[side].as_array().expect("each run says what it took");
        assert_eq!(Some(spent.len() as u64), entry["runs"].as_u64(), "{entry}");
        let positive = |time: &str| spent.iter().all(|run| run[time].as_f64().is_some_and(|time| time > 0.0));
        assert!(positive("wall") && positive("cpu"), "{entry}");
    }
    let tables = fs::read_to_string(folder.path().join("results.md")).expect("tables are there");
    assert_eq!(tables, String::from_utf8_lossy(&done.stdout).trim_end_matches('\n').to_owned() + "\n");
    assert!(folder.path().join("live.svg").exists() && folder.path().join("linkbench.svg").exists());
    // For who runs the test with --nocapture: what the short run said.
    println!("{told}");
}
