//! Python: gremlinpython, unmodified, with user, password and TLS.

use crate::certificates::{Root, Validity};
use crate::{PASSWORD, site};
use evergraph_server::security::tls::TlsFiles;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the environment must have installed.
const REQUIREMENTS: &str = include_str!("../drivers/requirements.txt");

#[test]
fn gremlinpython_logs_in_by_tls_in_both_formats_and_meets_refusals() {
    let Some(python) = python() else {
        return skip(
            "there is no Python with gremlinpython: run `make test`, or let EVERGRAPH_GREMLIN_PYTHON name one",
        );
    };
    let root = Root::new("root");
    let mut site = site();
    let (certificate, key) = root.sign(&["localhost", "127.0.0.1"], Validity::Now).write(site.folder.path());
    site.security.tls = Some(TlsFiles { certificate, key, client_certificates: None });
    let path = site.folder.path().join("root.pem");
    std::fs::write(&path, root.pem()).unwrap();
    let server = site.serve();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/security/python_logins.py");
    let mut command = Command::new(&python);
    command.arg(&script).arg(format!("wss://{}/gremlin", server.address())).arg(PASSWORD).arg(&path);
    command.env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH");
    let ran = command.output().unwrap_or_else(|error| panic!("run {}: {error}", python.display()));
    let (out, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.ends_with("passed\n"), "{}\n{out}\n{errors}", ran.status);
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
