//! Drivers: gremlinpython, unmodified, against the server.

#![allow(clippy::unwrap_used)]

use evergraph::Database;
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// What the environment must have installed.
const REQUIREMENTS: &str = include_str!("requirements.txt");

#[test]
fn gremlinpython_queries_writes_and_meets_errors_as_with_any_server() {
    let Some(python) = python() else {
        return skip(
            "there is no Python with gremlinpython: run `make test`, which makes one in target/gremlin-python (by \
             python3 with venv and pip, and a way to a package index), or let EVERGRAPH_GREMLIN_PYTHON name one",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    let database = Arc::new(Database::open(folder.path().join("social.eg")).unwrap());
    let address = "127.0.0.1:0".parse().unwrap();
    let server = Server::start(Arc::clone(&database), "social", address, ServerOptions::default()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers/python_checks.py");
    let mut command = Command::new(&python);
    command.arg(&script).arg(format!("ws://{}/gremlin", server.address()));
    command.env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH");
    let ran = command.output().unwrap_or_else(|error| panic!("run {}: {error}", python.display()));
    let (out, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{}\n{out}\n{errors}", ran.status);
    assert!(out.ends_with("passed\n"), "{out}");
    server.stop();
    database.close().unwrap();
}

/// The Python that a variable names, or that `make test` made from the requirements as they are now.
fn python() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("EVERGRAPH_GREMLIN_PYTHON") {
        return Some(path.into());
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("gremlin-python");
    let installed = std::fs::read_to_string(folder.join("requirements.txt")).ok()?;
    (installed == REQUIREMENTS).then(|| folder.join("bin/python"))
}

/// Says that the test can't run, and why. In CI nothing may be missing.
fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    let thread = std::thread::current();
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("a test"));
    // Not by `println!`, which a passing test keeps to itself.
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
