//! Features: what a program builds that leaves the feature `files` or `cluster` of the crate `evergraph` off, or the feature
//! `network` of the crate `evergraph-cluster`; and the program `evergraph` itself without the feature `nats`.

use crate::tree::Finding;

/// The manifest that has the features `files` and `cluster`.
pub const MANIFEST: &str = "crates/evergraph/Cargo.toml";
/// The manifest that has the feature `network`.
pub const NETWORK_MANIFEST: &str = "crates/cluster/Cargo.toml";

/// The manifest of the program, which has the feature `nats`.
pub const PROGRAM_MANIFEST: &str = "crates/cli/Cargo.toml";

/// Crates that stand behind the feature `files`, by the beginnings of their names.
const OF_FILES: &[&str] = &["arrow", "parquet", "csv", "flate2", "zstd", "toml", "evergraph-files"];
/// Crates that stand behind the features `network` and `etcd`, by the beginnings of their names.
const OF_NETWORK: &[&str] = &["hyper", "prost", "rustls", "ring", "tokio", "tonic"];

/// Those of the crates of `tree`, a line each, name first, that no program without the feature `files` should build.
pub fn behind_files(tree: &str) -> Vec<Finding> {
    behind(tree, OF_FILES, "files", MANIFEST)
}

/// As [`behind_files`], for the feature `cluster`.
pub fn behind_cluster(tree: &str) -> Vec<Finding> {
    let all: Vec<_> = OF_NETWORK.iter().chain(&["evergraph-cluster"]).copied().collect();
    behind(tree, &all, "cluster", MANIFEST)
}

/// As [`behind_files`], for the feature `network`.
pub fn behind_network(tree: &str) -> Vec<Finding> {
    behind(tree, OF_NETWORK, "network", NETWORK_MANIFEST)
}

/// As [`behind_files`], for the feature `nats`, in a program with all that it has by default.
pub fn behind_nats(tree: &str) -> Vec<Finding> {
    behind(tree, &["async-nats", "nkeys"], "nats", PROGRAM_MANIFEST)
}

fn behind(tree: &str, starts: &[&str], feature: &str, manifest: &str) -> Vec<Finding> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    let found = names.filter(|name| starts.iter().any(|start| name.starts_with(start)));
    let message = |name| format!("without the feature `{feature}` {name} is built all the same");
    found.map(|name| Finding::new(manifest, 1, message(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_behind_the_feature_network_is_found() {
        let tree = "evergraph-cluster v0.1.0 (/here)\ncrc32c v0.6.8\ntokio v1.54.1\n";
        let found: Vec<_> = behind_network(tree).into_iter().map(|finding| finding.to_string()).collect();
        let expected =
            "crates/cluster/Cargo.toml:1: without the feature `network` tokio is built all the same";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_crate_behind_the_feature_cluster_is_found() {
        let tree =
            "evergraph v0.1.0 (/here)\nevergraph-cluster v0.1.0 (/here)\ntonic v0.14.2\nrayon v1.12.0\n";
        let found: Vec<_> = behind_cluster(tree).into_iter().map(|finding| finding.to_string()).collect();
        let expected = ["evergraph-cluster", "tonic"].map(|name| {
            format!(
                "crates/evergraph/Cargo.toml:1: without the feature `cluster` {name} is built all the same"
            )
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_crate_behind_the_feature_nats_is_found() {
        let tree = "evergraph-cli v0.1.0 (/here)\nasync-nats v0.51.0\ntokio v1.54.1\n";
        let found: Vec<_> = behind_nats(tree).into_iter().map(|finding| finding.to_string()).collect();
        let expected = "crates/cli/Cargo.toml:1: without the feature `nats` async-nats is built all the same";
        assert_eq!(found, [expected]);
    }

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
