//! The part `server`: the real program, on a small graph. Its peers need a JVM, and are left out.

use crate::{harness, network, results};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program `evergraph`, as this test was built: beside the harness.
fn program() -> PathBuf {
    let built =
        Path::new(env!("CARGO_BIN_EXE_evergraph-benches")).parent().expect("a program is in a folder");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // By a test of its own, with the features that all tests are built with: nothing is compiled twice.
    cargo.args(["test", "--no-run", "--locked", "--quiet", "--workspace", "--test", "peak_memory"]);
    // What cargo tells a test of its package, it would take for a change: some crates are compiled again when it differs.
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy();
        if told.starts_with("CARGO_MANIFEST_") || told.starts_with("CARGO_PKG_") {
            cargo.env_remove(name);
        }
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    cargo
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--target-dir")
        .arg(built.parent().expect("a target folder"));
    assert!(cargo.status().expect("cargo starts").success(), "the program is built");
    built.join("evergraph")
}

#[test]
fn a_server_answers_right_under_every_load_and_every_figure_of_it_is_there() {
    let folder = tempfile::tempdir().expect("a folder for stores and results");
    let program = format!("--server-program={}", program().display());
    let network = folder.path().join("network");
    network::write(&network);
    let interactive = format!("--interactive={}", network.display());
    let done = harness(folder.path(), &["--only", "server", &program, &interactive], None);
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}");
    let results = results(folder.path());
    let entries = results["entries"].as_array().expect("entries are a list");
    let names: BTreeSet<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
    for name in [
        "server.rate.look_up.id.clients_1",
        "server.p99.look_up.index.clients_64",
        "server.p50.two_hops.clients_64",
        "server.rate.rows.clients_8",
        "server.rate.writes.none.clients_64",
        "server.rate.writes.interval.clients_1",
        "server.rate.writes.sync.clients_64",
        "server.rate.tx.clients_64",
        "server.logins",
        "server.idle.plain",
        "server.idle.tls",
        "server.start",
        "server.p99.heavy.rows",
        "server.p99.heavy.count",
        "server.p99.heavy.order",
        "server.p99.snb.is_4.clients_1",
        "server.rate.snb.ic_3.clients_8",
        "server.memory.snb",
        "server.rate.mix.read_only.clients_1",
        "server.p99.mix.reads_80.clients_8",
        "server.memory.mix.reads_20.clients_8",
        "server.refused.evergraph.mix.reads_20.clients_8",
        "server.refused.serializable.mix.reads_20.clients_8",
    ] {
        assert!(names.contains(name), "{name} is missing");
    }
    let peers: BTreeSet<&str> = entries.iter().filter_map(|entry| entry["peer"].as_str()).collect();
    assert_eq!(
        peers.into_iter().collect::<Vec<_>>(),
        ["alone", "by http", "constant answers", "embedded", "one client", "serializable", "without"]
    );
    assert!(entries.iter().all(|entry| entry["ours"]["median"].as_f64().is_some_and(f64::is_finite)));
}
