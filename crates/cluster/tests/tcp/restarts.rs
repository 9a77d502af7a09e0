//! Nodes that start again, here or elsewhere, and what is left when a network ends.

use crate::certificates::Site;
use crate::node::{Node, eventually, meet, options, reaches};
use evergraph_cluster::transport::tcp::options::{LinkTimes, TcpOptions};
use evergraph_graph::error::ErrorKind;
use std::net::TcpListener;
use std::time::Duration;

/// Starts node 2 where it was before. Somebody else may have the port for a moment.
fn start_again(site: &Site, listen: std::net::SocketAddr) -> Node {
    let mut started = None;
    eventually("node 2 starts again", || {
        started = Node::start_at(listen, site, 2, options()).ok();
        started.is_some()
    });
    started.unwrap()
}

#[test]
fn a_node_that_starts_again_is_reached_again() {
    let site = Site::new();
    let [mut a, mut b] = [1, 2].map(|node| Node::start(&site, node, options()));
    meet(&mut [&mut a, &mut b]);
    reaches(&mut a, &mut b);
    reaches(&mut b, &mut a);
    let address = b.transport.address();
    drop(b);
    eventually("both connections end", || {
        let statistics = a.of(2);
        !statistics.outgoing.is_connected && !statistics.incoming.is_connected
    });
    // What is sent meanwhile does not wait for long.
    eventually("what nobody takes is dropped", || {
        let _ = a.send(2, 1);
        a.of(2).dropped.frames > 0
    });
    let mut b = start_again(&site, address);
    b.knows(&a);
    reaches(&mut a, &mut b);
    reaches(&mut b, &mut a);
    let statistics = a.of(2);
    assert_eq!((statistics.outgoing.connects, statistics.incoming.connects), (2, 2));
    assert!(statistics.outgoing.failures >= 2 && statistics.outgoing.is_connected);
}

#[test]
fn a_node_that_moves_is_reached_there() {
    let site = Site::new();
    let [mut a, mut here] = [1, 2].map(|node| Node::start(&site, node, options()));
    meet(&mut [&mut a, &mut here]);
    reaches(&mut a, &mut here);
    let mut there = Node::start(&site, 2, options());
    there.knows(&a);
    a.knows(&there);
    reaches(&mut a, &mut there);
    eventually("the connection to the first address ends", || !here.of(1).incoming.is_connected);
    assert_eq!(a.of(2).address, there.transport.address().to_string());
    let connects = a.of(2).outgoing.connects;
    a.knows(&there);
    reaches(&mut a, &mut there);
    assert_eq!(a.of(2).outgoing.connects, connects, "the same address changes nothing");
}

#[test]
fn a_name_is_looked_up() {
    let site = Site::new();
    let [mut a, mut b] = [1, 2].map(|node| Node::start(&site, node, options()));
    b.knows(&a);
    a.knows_at(2, &format!("localhost:{}", b.transport.address().port()));
    reaches(&mut a, &mut b);
}

#[test]
fn pauses_grow_while_a_node_is_away() {
    let site = Site::new();
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let times = LinkTimes {
        pause_first: Duration::from_millis(50),
        pause_max: Duration::from_secs(20),
        ..options().times
    };
    let mut a = Node::start(&site, 1, TcpOptions { times, ..options() });
    a.knows_at(2, &unused.to_string());
    let began = std::time::Instant::now();
    eventually("six dials fail", || {
        let _ = a.send(2, 1);
        a.of(2).outgoing.failures >= 6
    });
    // At least half of 50, 100, 200, 400 and 800 ms.
    assert!(began.elapsed() >= Duration::from_millis(775), "{:?}", began.elapsed());
    let events = a.transport.monitor().take_events().events;
    assert_eq!(events.len(), 1, "a failure that repeats is told once: {events:?}");
}

/// Threads of this process with this name.
fn threads(name: &str) -> usize {
    let Ok(all) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let names = all.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|found| found.trim() == name).count()
}

#[test]
fn a_network_that_is_dropped_leaves_neither_threads_nor_ports() {
    let site = Site::new();
    // A number that no other test of this process has.
    let [mut a, mut b] = [901, 2].map(|node| Node::start(&site, node, options()));
    meet(&mut [&mut a, &mut b]);
    reaches(&mut a, &mut b);
    reaches(&mut b, &mut a);
    let address = a.transport.address();
    assert_eq!(threads("network-901") > 0, cfg!(target_os = "linux"));
    let busy = Node::start_at(address, &site, 3, options()).err().unwrap();
    assert_eq!(busy.kind(), ErrorKind::Busy, "{busy}");
    let monitor = a.transport.monitor();
    drop(a);
    eventually("the threads end", || threads("network-901") == 0);
    eventually("the port is free", || TcpListener::bind(address).is_ok());
    eventually("the connections end", || {
        let statistics = b.of(901);
        !statistics.outgoing.is_connected && !statistics.incoming.is_connected
    });
    assert_eq!(monitor.peers().len(), 1, "its figures can be looked at");
}

#[test]
fn a_network_may_be_dropped_by_a_thread_that_carries_tasks() {
    let site = Site::new();
    let node = Node::start(&site, 902, options());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move { drop(node) });
    eventually("the threads end", || threads("network-902") == 0);
}
