//! Restored: the log is an older one than a node had applied that was killed before a checkpoint.

use crate::graph::{store, write_path};
use crate::members::{Clusters, MemberOptions, Members};
use crate::real_log::RealLog as _;
use crate::real_log::test_log::wait_until;
use crate::site::{Site, open_hearing};
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::node::seen_file;
use evergraph_graph::error::ErrorKind;
use evergraph_storage::io::directory::Directory as _;
use evergraph_storage::io::disk::DiskDirectory;
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn noted(folder: &Path, salt: GraphSalt) -> u64 {
    let directory = DiskDirectory::open(folder).unwrap();
    seen_file::read(&directory, salt).unwrap().map_or(0, |seen| seen.position.0)
}

#[test]
fn a_node_that_was_killed_within_seconds_does_not_join_an_older_log_as_if_it_was_new() {
    let two = MemberOptions { count: 2, clusters: Clusters::OneEach, scheme: "http", flags: &[] };
    let Some(etcd) = Members::start_with(&two) else { return };
    let site = Site::at(etcd.port(0), 1);
    let salt = site.created.description.salt;
    // As a power cut leaves it: without anything that was not synced.
    let killed = site.copy_of(0, "killed");
    let node = site.open(0);
    write_path(&store(&node), 10);
    let applied = node.status().node.log.applied.position.0;
    assert!(applied > 5);
    wait_until("what it has applied is on disk", || noted(site.folder(0), salt) >= applied);
    drop(node);
    fs::copy(site.folder(0).join(seen_file::FILE_NAME), killed.join(seen_file::FILE_NAME)).unwrap();

    let settings = killed.join("node.toml");
    let [from, to] = [0, 1].map(|at| format!("127.0.0.1:{}", etcd.port(at)));
    let text = fs::read_to_string(&settings).unwrap();
    assert!(text.contains(&from), "{text}");
    fs::write(&settings, text.replace(&from, &to)).unwrap();
    // However often it starts.
    for _ in 0..2 {
        let error = open_hearing(&killed, &Arc::default()).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("the log is not the one that this node applied"), "{error}");
    }
    assert_eq!(noted(&killed, salt), noted(site.folder(0), salt));
    // Nothing else tells it from a new one.
    DiskDirectory::open(&killed).unwrap().remove(seen_file::FILE_NAME).unwrap();
    open_hearing(&killed, &Arc::default()).unwrap();
}
