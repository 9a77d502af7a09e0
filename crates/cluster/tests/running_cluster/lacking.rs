//! Lacking: nodes that lack partitions of each other start together, and partitions that all of them have lost; a process that copies what
//! it lacks, and another one that joins as the same node meanwhile.

use crate::graph::{count, store, write_path};
use crate::lives::{all_see, three_nodes};
use crate::members::Members;
use crate::real_log::RealLog as _;
use crate::real_log::test_log::wait_until;
use crate::recovery::{go_on, has_report, make_folder_again, partition_folders, trim};
use crate::site::{Site, open_hearing};
use evergraph_cluster::node::kept_partition::PartitionCondition;
use evergraph_cluster::running::cluster_node::{ClusterNode, ClusterNodeOptions};
use evergraph_cluster::running::report::NodeReport;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_storage::sync::Mutex;
use std::fs;
use std::sync::Arc;

/// Both of two nodes start at once.
fn open_together(site: &Site) -> [Result<ClusterNode>; 2] {
    std::thread::scope(|scope| {
        let other = scope.spawn(|| ClusterNode::open(site.folder(1), ClusterNodeOptions::default()));
        let one = ClusterNode::open(site.folder(0), ClusterNodeOptions::default());
        [one, other.join().unwrap()]
    })
}

/// Two nodes that were closed, each with all partitions; what is in them.
fn two_closed(etcd: &Members) -> Site {
    let site = Site::at(etcd.port(0), 2);
    let [first, second] = [0, 1].map(|node| site.open(node));
    write_path(&store(&first), 40);
    all_see(&[&first, &second], 40, 1);
    [&first, &second].iter().for_each(|node| node.close().unwrap());
    site
}

fn remove_partitions(site: &Site, node: usize, partitions: &[usize]) {
    let folders = partition_folders(site.folder(node));
    assert_eq!(folders.len(), 6, "both nodes keep all partitions");
    partitions.iter().for_each(|partition| fs::remove_dir_all(&folders[*partition]).unwrap());
}

fn complete(node: &ClusterNode) -> usize {
    let status = node.status();
    let partitions = status.node.partitions.iter();
    partitions.filter(|status| matches!(status.condition, Some(PartitionCondition::Complete))).count()
}

#[test]
fn two_nodes_that_lack_partitions_of_each_other_start_together_and_have_all_of_them() {
    let Some(etcd) = Members::start(1) else { return };
    let site = two_closed(&etcd);
    remove_partitions(&site, 0, &[0, 2, 4]);
    remove_partitions(&site, 1, &[1, 3, 5]);
    let [first, second] = open_together(&site).map(Result::unwrap);
    for node in [&first, &second] {
        assert_eq!(node.status().unusable, [], "it started without");
    }
    wait_until("partitions are proved", || complete(&first) == 6 && complete(&second) == 6);
    all_see(&[&first, &second], 40, 1);
    // Each has what it has copied, and does not ask the other one.
    drop(first);
    all_see(&[&second], 40, 1);
    let first = site.open(0);
    drop(second);
    all_see(&[&first], 40, 1);
}

#[test]
fn partitions_that_every_node_has_lost_are_named_and_a_node_that_starts_alone_goes_on_without_them() {
    let Some(etcd) = Members::start(1) else { return };
    let site = two_closed(&etcd);
    remove_partitions(&site, 0, &[0, 2, 4]);
    remove_partitions(&site, 1, &[1, 2, 5]);
    for opened in open_together(&site) {
        let error = opened.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        let said = error.to_string();
        assert!(said.contains("partition 2: ") && said.contains("nobody has what is in them"), "{said}");
        assert!(!said.contains("partition 1: ") && !said.contains("partition 4: "), "{said}");
    }
    let first = open_hearing(site.folder(0), &Arc::default()).unwrap();
    let second = open_hearing(site.folder(1), &Arc::default()).unwrap();
    for node in [&first, &second] {
        let unusable: Vec<u16> = node.status().unusable.iter().map(|unusable| unusable.partition.0).collect();
        assert!(unusable.contains(&2), "{unusable:?}");
    }
}

#[test]
fn a_process_that_copied_what_it_lacks_yields_to_one_that_joined_meanwhile() {
    let Some(etcd) = Members::start(1) else { return };
    let (site, [first, second, third]) = three_nodes(&etcd);
    let end = go_on(&[&first, &second, &third]);
    second.close().unwrap();
    drop(second);
    let copy = site.copy_of(1, "copy");
    trim(&etcd, &site, end);
    make_folder_again(&site);

    let younger = Arc::new(Mutex::new(None));
    let reports = Arc::<Mutex<Vec<NodeReport>>>::default();
    let (opened, heard) = (Arc::clone(&younger), Arc::clone(&reports));
    let options = ClusterNodeOptions {
        on_report: Some(Arc::new(move |report: &NodeReport| {
            heard.lock().push(report.clone());
            if report.text.contains("(4 of 4) is copied") {
                let node = ClusterNode::open(&copy, ClusterNodeOptions::default());
                *opened.lock() = Some(node.unwrap());
            }
        })),
        ..ClusterNodeOptions::default()
    };
    let error = ClusterNode::open(site.folder(1), options).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("that one goes on, and this one ends"), "{error}");
    assert!(!has_report(&reports, &["starts once more"]), "{reports:?}");
    let younger = younger.lock().take().unwrap();
    write_path(&store(&first), 20);
    all_see(&[&first, &younger, &third], 120, 3);
    assert_eq!(younger.status().stopped, None);
    assert_eq!(count(&store(&younger)).unwrap().0, 120);
}
