//! Recovery: a node that lost its disk, lost partitions, or was away for longer than the log is kept has everything again from the
//! others.

use crate::graph::{count, store, write_path};
use crate::lives::{all_see, is_complete, three_nodes};
use crate::members::{Members, open as open_log};
use crate::real_log::RealLog as _;
use crate::real_log::test_log::wait_until;
use crate::site::{Site, open, open_hearing};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::running::cluster_node::{ClusterNode, ClusterNodeOptions};
use evergraph_cluster::running::create::renew_certificate;
use evergraph_cluster::running::report::NodeReport;
use evergraph_graph::error::ErrorKind;
use evergraph_storage::sync::Mutex;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The log begins behind everything that was written before.
pub fn trim(etcd: &Members, site: &Site, first: LogPosition) {
    let mut options = etcd.options(&[]);
    options.key = site.created.description.log_key();
    open_log(options).trim(first).unwrap();
}

/// The folder of node 1 is lost, and made again as the guide says: from that of another node, with a certificate by the key of the CA.
pub fn make_folder_again(site: &Site) {
    let (like, folder) = (site.folder(0), site.folder(1));
    fs::remove_dir_all(folder).unwrap();
    fs::create_dir(folder).unwrap();
    for name in ["cluster.toml", "node.toml", "ca.pem"] {
        fs::copy(like.join(name), folder.join(name)).unwrap();
    }
    let settings = fs::read_to_string(folder.join("node.toml")).unwrap();
    assert!(settings.contains("node = 0"), "{settings}");
    fs::write(folder.join("node.toml"), settings.replace("node = 0", "node = 1")).unwrap();
    renew_certificate(site.created.authority_key.parent().unwrap(), folder).unwrap();
}

pub fn partition_folders(folder: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<_> =
        fs::read_dir(folder.join("partitions")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// Opens a node as whoever serves it does.
fn open_patiently(folder: &Path, reports: &Arc<Mutex<Vec<NodeReport>>>) -> ClusterNode {
    let heard = Arc::clone(reports);
    let options = ClusterNodeOptions {
        on_report: Some(Arc::new(move |report: &NodeReport| heard.lock().push(report.clone()))),
        ..ClusterNodeOptions::default()
    };
    ClusterNode::open(folder, options).unwrap()
}

pub fn has_report(reports: &Mutex<Vec<NodeReport>>, words: &[&str]) -> bool {
    reports.lock().iter().any(|report| words.iter().all(|word| report.text.contains(word)))
}

/// Writes more than is read again of what was applied, and makes checkpoints, which need nothing before.
pub fn go_on(nodes: &[&ClusterNode]) -> LogPosition {
    write_path(&store(nodes[0]), 60);
    let made: Vec<LogPosition> = nodes
        .iter()
        .map(|node| {
            count(&store(node)).unwrap();
            node.checkpoint().unwrap()
        })
        .collect();
    *made.iter().min().unwrap()
}

#[test]
fn a_node_whose_disk_was_lost_has_everything_from_the_others() {
    let Some(etcd) = Members::start(1) else { return };
    let (site, [first, second, third]) = three_nodes(&etcd);
    second.close().unwrap();
    drop(second);
    // Started often, so that its number is none that an empty folder gives.
    (0..3).for_each(|_| site.open(1).close().unwrap());
    trim(&etcd, &site, go_on(&[&first, &third]));
    // And once more than any checkpoint knows.
    let last = site.open(1).author().incarnation;
    make_folder_again(&site);
    let reports = Arc::<Mutex<Vec<NodeReport>>>::default();
    let second = open_patiently(site.folder(1), &reports);
    assert!(second.author().incarnation > last && last > 3, "{:?}", second.author());
    assert!(has_report(&reports, &["what follows from the log is copied from node"]), "{reports:?}");
    assert!(has_report(&reports, &["(4 of 4) is copied", "MiB from node"]), "{reports:?}");
    all_see(&[&first, &second, &third], 100, 2);
    wait_until("partitions are proved", || is_complete(&second));
    write_path(&store(&second), 20);
    all_see(&[&first, &second, &third], 120, 3);

    // It has taken the place of what was lost: the others may go, each in its turn.
    drop(third);
    all_see(&[&first, &second], 120, 3);
    let third = site.open(2);
    drop(first);
    all_see(&[&second, &third], 120, 3);
    // And from its folder it starts as ever.
    drop(second);
    let second = site.open(1);
    all_see(&[&second, &third], 120, 3);
    let left: Vec<PathBuf> = partition_folders(site.folder(1));
    assert!(left.iter().all(|path| path.extension().is_none()) && left.len() == 4, "{left:?}");
    assert!(!site.folder(1).join("node_state.copy").exists());
}

#[test]
fn a_node_that_was_away_for_longer_than_the_log_is_kept_catches_up_from_the_others() {
    let Some(etcd) = Members::start(1) else { return };
    let site = Site::at(etcd.port(0), 3);
    let (first, second, third) = (site.open(0), site.open(1), site.open(2));
    write_path(&store(&second), 40);
    second.close().unwrap();
    drop(second);
    trim(&etcd, &site, go_on(&[&first, &third]));

    // Nobody has what it lacks as long as the others do not run.
    let behind = site.copy_of(1, "alone");
    drop((first, third));
    let error = open_hearing(&behind, &Default::default()).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    let said = error.to_string();
    for word in ["the log begins at", "away for longer", "node 0 does not answer"] {
        assert!(said.contains(word), "{word}: {said}");
    }

    let (first, third) = (site.open(0), site.open(2));
    let second = site.open(1);
    all_see(&[&first, &second, &third], 100, 2);
    wait_until("partitions are proved", || is_complete(&second));
    write_path(&store(&second), 20);
    all_see(&[&first, &third], 120, 3);
}

#[test]
fn partitions_that_are_lost_or_damaged_are_copied_and_left_out_only_if_nobody_gives_them() {
    let Some(etcd) = Members::start(1) else { return };
    let (site, nodes) = three_nodes(&etcd);
    nodes.iter().for_each(|node| node.close().unwrap());
    drop(nodes);

    let mut folders = partition_folders(site.folder(0));
    let [lost, damaged] = [0, 0].map(|_| folders.pop().unwrap());
    fs::remove_dir_all(&lost).unwrap();
    fs::write(damaged.join("manifest"), "no manifest").unwrap();
    // A copy that was interrupted.
    fs::create_dir(damaged.with_extension("copy")).unwrap();
    fs::write(damaged.with_extension("copy").join("unfinished"), "half").unwrap();
    let first = open_hearing(site.folder(0), &Default::default()).unwrap();
    let unusable = first.status().unusable;
    assert_eq!(unusable.len(), 2, "{unusable:?}");
    for word in ["its node has applied", "manifest"] {
        let told = unusable.iter().any(|partition| partition.reason.contains(word));
        assert!(told, "{word}: {unusable:?}");
    }
    assert!(
        unusable.iter().all(|partition| partition.reason.contains("no other node gave it")),
        "{unusable:?}"
    );
    let (second, third) = (site.open(1), site.open(2));
    all_see(&[&first, &second, &third], 40, 1);
    // What it could not use is what it was.
    assert_eq!(fs::read(damaged.join("manifest")).unwrap(), b"no manifest");
    drop(first);
    write_path(&store(&second), 20);

    let reports = Arc::<Mutex<Vec<NodeReport>>>::default();
    let first = open_hearing(site.folder(0), &reports).unwrap();
    assert!(has_report(&reports, &["(1 of 2) is copied"]) && has_report(&reports, &["(2 of 2) is copied"]));
    all_see(&[&first, &second, &third], 60, 2);
    wait_until("partitions are proved", || is_complete(&first));
    assert!(open(site.folder(0)).is_err(), "it runs");
}
