//! Counts: a stage takes at most a message from each node to each other one and 64 thousand rows, and a row at most 16 bytes; the edges
//! that nodes read together are those that one node would read.

use crate::cluster::{start, stores, trusting};
use crate::graphs::Described;
use crate::nodes::{Cluster, Node, PATIENCE};
use crate::questions::{Way, ask, plan};
use evergraph_cluster::seeded::SeededChance;
use evergraph_cluster::transport::memory::NetworkFaults;
use evergraph_cluster::travel::travel_options::{TravelCounts, TravelOptions};
use evergraph_graph::stage_programs::StagePrograms;
use evergraph_query::travel::runner::QueryStages;
use evergraph_storage::io::clock::Clock as _;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

fn counts(cluster: &Cluster) -> TravelCounts {
    cluster.nodes.iter().map(|node| node.queries().counts()).fold(TravelCounts::default(), |sum, of| {
        TravelCounts {
            runs_asked: sum.runs_asked + of.runs_asked,
            rows_messages: sum.rows_messages + of.rows_messages,
            rows: sum.rows + of.rows,
            rows_bytes: sum.rows_bytes + of.rows_bytes,
            again: sum.again + of.again,
            others: sum.others + of.others,
            edges_read: sum.edges_read + of.edges_read,
        }
    })
}

#[test]
fn messages_and_bytes_of_rows_are_few() {
    let faults = NetworkFaults { delay_max: Duration::from_micros(300), ..NetworkFaults::default() };
    let programs: Arc<dyn StagePrograms> = Arc::new(QueryStages);
    // Nobody asks twice, however slow the machine is.
    let options = TravelOptions { want_after: Duration::from_secs(30), ..trusting() };
    let cluster = start(31, faults, &programs, options);
    let stores = stores(&cluster);
    let described = Described::random(&mut SeededChance::new(31), 300, 3000);
    described.on_cluster(&stores[0]);
    for (text, exchanges) in [
        (".V().out().count()", 0),
        (".V().out().out().count()", 1),
        (".V().out().out().out().count()", 2),
        (".V().out().out().out().out().dedup().count()", 4),
    ] {
        let before = counts(&cluster);
        let (_, notes) = ask(&plan(text, Way::Travelling), &stores[0].snapshot()).unwrap();
        assert_eq!(notes.len(), 3, "{notes:?}");
        let after = counts(&cluster);
        let messages = after.rows_messages - before.rows_messages;
        let (rows, bytes) = (after.rows - before.rows, after.rows_bytes - before.rows_bytes);
        // Six ways between nodes a stage, and results of two others.
        assert_eq!((messages, after.again), (6 * exchanges + 2, 0), "{text}: {rows} rows, {notes:?}");
        assert!(bytes <= 16 * rows + 16 * messages, "{text}: {bytes} bytes of {rows} rows");
        if exchanges > 0 {
            assert!(rows > 100 && bytes < 5 * rows, "{text}: {bytes} bytes of {rows} rows");
        }
        // Rows that were merged: not more than vertices on each way.
        assert!(rows <= exchanges * 300 * 3 + 4, "{text}: {rows} rows");
    }
}

/// Edges that the note of a node says its stages have read, and which node it is.
fn told_edges(note: &str) -> (usize, u64) {
    let (node, stages) = note.strip_prefix("node ").unwrap().split_once(": ").unwrap();
    let of_stages = stages.split("; ").map(|stage| {
        let before = stage.split_once(" edges, ").expect("each stage tells them").0;
        before.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()
    });
    (node.parse().unwrap(), of_stages.sum())
}

#[test]
fn every_edge_is_read_by_one_node_which_tells_it() {
    let programs: Arc<dyn StagePrograms> = Arc::new(QueryStages);
    let cluster = start(33, NetworkFaults::default(), &programs, trusting());
    let stores = stores(&cluster);
    let described = Described::random(&mut SeededChance::new(33), 300, 3000);
    described.on_cluster(&stores[0]);
    let ends: Vec<(usize, usize)> = described.ends().collect();
    let reached: BTreeSet<usize> = ends.iter().map(|(_, target)| *target).collect();
    let (all, of_reached) = (ends.len(), ends.iter().filter(|(source, _)| reached.contains(source)).count());
    let read = || Vec::from_iter(cluster.nodes.iter().map(|node| node.queries().counts().edges_read));
    for (text, expected) in [
        // Degrees say how many there are, and no list is read.
        (".V().out().count()", 0),
        (".V().out().out().count()", all),
        (".V().in().in().count()", all),
        // By then each vertex is one row, however often it was reached.
        (".V().out().out().out().count()", all + of_reached),
        (".V().outE().has('w', 1L).count()", all),
    ] {
        let before = read();
        let (_, notes) = ask(&plan(text, Way::Travelling), &stores[0].snapshot()).unwrap();
        let edges: Vec<u64> = read().iter().zip(&before).map(|(after, before)| after - before).collect();
        assert_eq!(edges.iter().sum::<u64>(), expected as u64, "{text}: {notes:?}");
        assert!(expected == 0 || edges.iter().all(|edges| *edges > 0), "{text}: {edges:?}");
        let mut told: Vec<(usize, u64)> = notes.iter().map(|note| told_edges(note)).collect();
        told.sort_unstable();
        assert_eq!(told, Vec::from_iter(edges.into_iter().enumerate()), "{text}: {notes:?}");
    }
}

/// Bytes that nodes have sent of questions and answers, and of queries that travel.
fn sent_bytes(cluster: &Cluster) -> (u64, u64) {
    let of = |node: &crate::nodes::RunningNode| {
        let (told, heard) = channel();
        let call = move |node: &mut Node, now: Duration| {
            let sent = node.peers().status(now).sent;
            told.send((sent.questions.bytes + sent.answers.bytes, sent.travels.bytes)).unwrap();
        };
        node.thread.handle().call(call).unwrap();
        heard.recv_timeout(PATIENCE).unwrap()
    };
    cluster.nodes.iter().map(of).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
}

/// On a graph with many more edges than vertices: rows are merged by vertex, and the remote view reads lists.
#[test]
fn three_hops_and_a_count_take_a_third_of_the_remote_views_bytes() {
    let faults = NetworkFaults { delay_max: Duration::from_micros(300), ..NetworkFaults::default() };
    let programs: Arc<dyn StagePrograms> = Arc::new(QueryStages);
    let cluster = start(32, faults, &programs, trusting());
    let stores = stores(&cluster);
    Described::random(&mut SeededChance::new(32), 250, 15_000).on_cluster(&stores[0]);
    let text = ".V().out().out().out().count()";
    let asked = |way| {
        let (before, began) = (sent_bytes(&cluster), cluster.clock.now());
        let (found, _) = ask(&plan(text, way), &stores[0].snapshot()).unwrap();
        let (took, after) = (cluster.clock.now() - began, sent_bytes(&cluster));
        (found, after.0 - before.0 + after.1 - before.1, took)
    };
    let ((remote, remote_bytes, remote_time), (found, bytes, time)) =
        (asked(Way::Remote), asked(Way::Travelling));
    println!(
        "remote view: {remote_bytes} bytes, {remote_time:?}; stages that travel: {bytes} bytes, {time:?}"
    );
    assert_eq!(found, remote);
    assert!(3 * bytes <= remote_bytes, "{bytes} bytes, and {remote_bytes} by the remote view");
}
