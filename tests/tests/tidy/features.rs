//! Features: what a program builds that leaves the feature `files` of the crate `evergraph` off.

use crate::tree::Finding;

/// The manifest that has the feature.
pub const MANIFEST: &str = "crates/evergraph/Cargo.toml";

/// Crates that stand behind the feature, by the beginnings of their names.
const OF_FILES: &[&str] = &["arrow", "parquet", "csv", "flate2", "zstd", "toml", "evergraph-files"];

/// Those of the crates of `tree`, a line each, name first, that no program without the feature should build.
pub fn behind_files(tree: &str) -> Vec<Finding> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    let found = names.filter(|name| OF_FILES.iter().any(|start| name.starts_with(start)));
    let message = |name| format!("without the feature `files` {name} is built all the same");
    found.map(|name| Finding::new(MANIFEST, 1, message(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_behind_the_feature_is_found() {
        let tree = "evergraph v0.1.0 (/here)\nrayon v1.12.0\narrow-array v59.3.0\nzstd-sys v2.0.1\n";
        let found: Vec<_> = behind_files(tree).into_iter().map(|finding| finding.to_string()).collect();
        assert_eq!(
            found,
            [
                "crates/evergraph/Cargo.toml:1: without the feature `files` arrow-array is built all the same",
                "crates/evergraph/Cargo.toml:1: without the feature `files` zstd-sys is built all the same",
            ]
        );
    }
}
