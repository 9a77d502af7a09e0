//! Data folder: where the data sets lie, beside the project or where `EVERGRAPH_DATA` points.
//!
//! Included by its path as `skips.rs` is, and beside it.

use super::skips::skip;
use std::path::{Path, PathBuf};

/// The folder of the set `name`, or `None` where nobody has it: the test is skipped.
///
/// # Panics
/// If the set is missing and the environment has `CI`.
#[must_use]
pub fn data_set(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("EVERGRAPH_DATA").map_or_else(beside_project, PathBuf::from).join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    skip(&format!("there is no data set at {}: set EVERGRAPH_DATA", folder.display()));
    None
}

fn beside_project() -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let root = folders.find(|folder| folder.join("Cargo.lock").is_file());
    root.expect("a crate lies in a workspace").join("../shared/data")
}
