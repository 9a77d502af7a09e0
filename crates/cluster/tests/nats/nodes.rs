//! Nodes as a process runs them, with their log on NATS: they commit while a server and a node die, and all see the same at last.

use crate::graph::{count, store, write_path};
use crate::real_log::RealLog as _;
use crate::real_log::test_log::wait_until;
use crate::servers::Servers;
use crate::site::{Site, open_hearing};
use evergraph_cluster::running::cluster_node::ClusterNode;
use evergraph_cluster::running::nats_access::NatsAccess;
use std::time::Duration;

/// All nodes see this many vertices, and the edges of the paths that they are.
fn all_see(nodes: &[&ClusterNode], vertices: usize, paths: usize) {
    for node in nodes {
        let found = count(&store(node));
        let (found, number) = (found.unwrap(), node.author().node.0);
        assert_eq!(found, (vertices, vertices - paths), "node {number}");
    }
}

fn access(servers: &Servers) -> NatsAccess {
    let urls = (0..3).map(|at| servers.url(at).parse().unwrap()).collect();
    NatsAccess { time_limit: Some(Duration::from_secs(2)), ..NatsAccess::new(urls, servers.monitored()) }
}

#[test]
fn nodes_commit_while_servers_and_nodes_die_and_come_back() {
    let Some(mut servers) = Servers::start() else { return };
    let site = Site::with(access(&servers), 3);
    let (first, second, third) = (site.open(0), site.open(1), site.open(2));
    write_path(&store(&first), 40);
    // By a barrier in the log: whoever asks sees all that was acknowledged anywhere.
    all_see(&[&second, &third, &first], 40, 1);

    // A node dies, and the others go on.
    second.checkpoint().unwrap();
    drop(second);
    write_path(&store(&third), 20);
    all_see(&[&first, &third], 60, 2);

    // The server that leads the log's stream dies as well: commits wait for another one.
    let stream = format!("evergraph-{}", site.created.description.id());
    let leader = servers.leader_of(&stream);
    servers.kill(leader);
    write_path(&store(&first), 20);
    all_see(&[&third, &first], 80, 3);

    // Both come back.
    servers.start_and_wait(leader);
    let second = site.open(1);
    assert_eq!(second.author().incarnation, 1);
    all_see(&[&first, &second, &third], 80, 3);
    write_path(&store(&second), 20);
    all_see(&[&first, &second, &third], 100, 4);

    // All at once, from their folders and the log.
    [first, second, third].into_iter().for_each(drop);
    let (first, second, third) = (site.open(0), site.open(1), site.open(2));
    all_see(&[&first, &second, &third], 100, 4);
    wait_until("nodes say that they read the log", || {
        [&first, &second, &third].iter().all(|node| node.status().node.log.failure.is_none())
    });
    [&first, &second, &third].iter().for_each(|node| node.close().unwrap());
}

#[test]
fn a_node_whose_log_would_forget_says_what_to_set() {
    let unsynced = crate::servers::ServerOptions { sync_intervals: &["\"2m\""], ..crate::servers::THREE };
    let Some(servers) = Servers::start_with(&unsynced) else { return };
    let site = Site::with(access(&servers), 1);
    let error = open_hearing(site.folder(0), &Default::default()).map(drop).unwrap_err().to_string();
    assert!(error.contains("has not joined") && error.contains("NATS at nats://127.0.0.1:"), "{error}");
    assert!(error.contains("syncs every 120 s") && error.contains("set `sync_interval: always`"), "{error}");
}
