//! Python: runs a script that lies beside this file, and takes its answer.

use evergraph_tests::skips::skip;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the environment must have installed.
const REQUIREMENTS: &str = include_str!("../../requirements.txt");

/// The JSON that `script`, without its ending, prints when it is run with `arguments`; `None` where nobody
/// made an environment for it.
///
/// # Panics
/// If the script fails; if there is no environment and the environment variables have `CI`.
pub fn answer(script: &str, arguments: &[&OsStr]) -> Option<Value> {
    let Some(python) = python() else {
        skip(
            "there is no Python with what tests/requirements.txt lists: run `make test`, which makes one in \
             target/python (by python3 with venv and pip, and a way to a package index), or let \
             EVERGRAPH_PYTHON name one",
        );
        return None;
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/independent/{script}.py"));
    let mut command = Command::new(&python);
    command.arg(&path).args(arguments).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH");
    let ran = command.output().unwrap_or_else(|error| panic!("run {}: {error}", python.display()));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{}: {}: {said}", path.display(), ran.status);
    Some(serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{script}: {error}: {said}")))
}

/// The Python that a variable names, or that `make test` made from the requirements as they are now.
fn python() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("EVERGRAPH_PYTHON") {
        return Some(path.into());
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("python");
    let installed = std::fs::read_to_string(folder.join("requirements.txt")).ok()?;
    (installed == REQUIREMENTS).then(|| folder.join("bin/python"))
}
