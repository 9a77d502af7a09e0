//! Lives of nodes: they are closed, or dropped as in a crash of their process, and opened again from their folders.

use crate::graph::{count, store, write_path};
use crate::members::Members;
use crate::real_log::RealLog as _;
use crate::real_log::test_log::wait_until;
use crate::site::{Site, open};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::kept_partition::PartitionCondition;
use evergraph_cluster::running::cluster_node::ClusterNode;
use evergraph_graph::error::ErrorKind;

/// All nodes see this many vertices, and the edges of the paths that they are.
pub fn all_see(nodes: &[&ClusterNode], vertices: usize, paths: usize) {
    for node in nodes {
        let found = count(&store(node));
        let (found, number) = (found.unwrap(), node.author().node.0);
        assert_eq!(found, (vertices, vertices - paths), "node {number}");
    }
}

/// Three nodes that run, and all see a path of 40 vertices; by the first one it was written.
pub fn three_nodes(etcd: &Members) -> (Site, [ClusterNode; 3]) {
    let site = Site::at(etcd.port(0), 3);
    let nodes = [0, 1, 2].map(|node| site.open(node));
    write_path(&store(&nodes[0]), 40);
    all_see(&nodes.each_ref(), 40, 1);
    (site, nodes)
}

/// Whether every partition that the node keeps has everything that it has applied.
pub fn is_complete(node: &ClusterNode) -> bool {
    let status = node.status();
    assert!(status.stopped.is_none() && status.unusable.is_empty(), "{status:?}");
    let partitions = &status.node.partitions;
    assert_eq!(partitions.len(), 4, "two copies of six partitions on three nodes");
    partitions.iter().all(|partition| matches!(partition.condition, Some(PartitionCondition::Complete)))
}

#[test]
fn nodes_come_back_from_their_folders_with_everything_that_was_acknowledged() {
    let Some(etcd) = Members::start(1) else { return };
    let (site, [first, second, third]) = three_nodes(&etcd);
    let error = open(site.folder(0)).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");

    // Closed: the others go on with their copies, and what it missed is in the log.
    let kept = second.checkpoint().unwrap();
    second.close().unwrap();
    second.close().unwrap();
    assert!(second.checkpoint().unwrap_err().to_string().contains("was closed"));
    assert!(count(&store(&second)).unwrap_err().to_string().contains("was closed"));
    assert_eq!(second.status().stopped.as_deref(), Some("the node was closed"));
    write_path(&store(&third), 20);
    let second = site.open(1);
    assert_eq!(second.author().incarnation, 1);
    assert!(kept > LogPosition::START && second.status().node.log.needed_from > LogPosition::START);
    all_see(&[&first, &second, &third], 60, 2);

    // Dropped: its files hold more than its checkpoint says.
    third.checkpoint().unwrap();
    write_path(&store(&first), 20);
    all_see(&[&third], 80, 3);
    drop(third);
    write_path(&store(&second), 20);
    let third = site.open(2);
    all_see(&[&first, &second, &third], 100, 4);
    wait_until("partitions catch up", || [&first, &second, &third].into_iter().all(is_complete));

    // All at once, and all reach each other again.
    [first, second, third].into_iter().for_each(drop);
    let (first, second, third) = (site.open(0), site.open(1), site.open(2));
    all_see(&[&first, &second, &third], 100, 4);
    write_path(&store(&third), 20);
    all_see(&[&first, &second, &third], 120, 5);
    wait_until("links are there", || {
        let links = first.status().links;
        links.len() == 2 && links.iter().all(|link| link.outgoing.is_connected && link.incoming.is_connected)
    });
    [&first, &second, &third].iter().for_each(|node| node.close().unwrap());
}
