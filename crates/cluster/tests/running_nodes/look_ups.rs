//! Look-ups: what nodes ask each other for a row that may be in any partition, and how many frames carry it.

use crate::cluster::{Cluster, ClusterSetup, Node, PATIENCE, coordinators, pause, stores};
use evergraph_cluster::transport::frame_counts::FrameCounts;
use evergraph_graph::index::IndexKind;
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::transaction::{Freshness, Transaction as _};
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use std::ops::Bound;
use std::sync::mpsc::channel;
use std::time::Duration;

const NODES: u16 = 4;
const VERTICES: i64 = 64;
/// Reads of each kind.
const ROUNDS: i64 = 25;

/// What a node has sent.
fn sent(cluster: &Cluster, node: usize) -> FrameCounts {
    let (told, heard) = channel();
    let call = move |node: &mut Node, now: Duration| {
        told.send(node.peers().status(now).sent).unwrap();
    };
    cluster.nodes[node].thread.handle().call(call).unwrap();
    heard.recv_timeout(PATIENCE).unwrap()
}

/// What reads have sent: frames as the network has them, and questions and answers in them.
#[derive(Clone, Copy)]
struct Traffic {
    frames: u64,
    contents: u64,
}

/// What a node has sent so far.
fn traffic(cluster: &Cluster, node: usize) -> Traffic {
    let sent = sent(cluster, node);
    // Heartbeats travel alone.
    let frames = sent.network_frames - sent.heartbeats.frames;
    Traffic { frames, contents: sent.questions.frames + sent.answers.frames }
}

/// What the asker sends for a read, and what the others send.
fn traffic_of(cluster: &Cluster, read: impl FnOnce()) -> [Traffic; 2] {
    let all = || Vec::from_iter((0..usize::from(NODES)).map(|node| traffic(cluster, node)));
    let before = all();
    read();
    let mut sums = [Traffic { frames: 0, contents: 0 }; 2];
    for (node, (after, before)) in all().into_iter().zip(before).enumerate() {
        let sum = &mut sums[usize::from(node != 0)];
        sum.frames += after.frames - before.frames;
        sum.contents += after.contents - before.contents;
    }
    sums
}

/// Four nodes, 64 partitions, two copies of each: 32 partitions, or some more or less, are asked for of three nodes.
#[test]
fn a_read_of_all_partitions_is_one_frame_to_each_node_and_few_come_back() {
    let setup = ClusterSetup { nodes: NODES, partitions: 64, ..ClusterSetup::default() };
    let cluster = Cluster::start_with(&setup);
    let stores = stores(&cluster, &coordinators(&cluster, PATIENCE));
    let mut transaction = stores[0].begin();
    let (label, hashed) = (transaction.label("Person").unwrap(), transaction.key("uid").unwrap());
    let ordered = transaction.key("age").unwrap();
    for number in 0..VERTICES {
        let properties = [(hashed, Value::from(number)), (ordered, Value::from(number))];
        transaction.add_vertex(label, &properties).unwrap();
    }
    transaction.commit().unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                cluster.nodes.iter().for_each(|node| node.look_after());
                pause(Duration::from_millis(1));
            }
        });
        for (key, kind) in [("uid", IndexKind::Hash), ("age", IndexKind::Ordered)] {
            let request = IndexRequest { owner: OwnerName::Label("Person"), key, kind, unique: false };
            assert!(stores[0].create_index(&request, &mut |_| Ok(())).unwrap());
        }
        is_done.store(true, Ordering::Relaxed);
    });
    // Each node has applied the indexes: none waits for the log, and none is asked in place of another.
    let mut transaction = stores[0].begin();
    transaction.add_vertex(label, &[]).unwrap();
    let after = Freshness::After(transaction.commit().unwrap().timestamp);
    stores.iter().for_each(|store| drop(store.snapshot_with(after)));

    let look_up = |number: i64| {
        let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
        let snapshot = stores[0].snapshot();
        while !cursor.done {
            let values = [Value::from(number)];
            snapshot.look_up_vertices(label, hashed, &values, &mut cursor, 50, &mut found).unwrap();
        }
        assert_eq!(found.items.len(), 1);
    };
    let range = |number: i64| {
        let (mut cursor, mut found) = (RangeCursor::default(), OrderedMatches::default());
        let snapshot = stores[0].snapshot();
        let asked = ValueRange::new(Bound::Included(number.into()), Bound::Included(number.into()));
        while !cursor.done {
            snapshot.range_vertices(label, ordered, &asked, &mut cursor, 50, &mut found).unwrap();
        }
        assert_eq!(found.items.len(), 1);
    };
    let reads: [(&str, &dyn Fn(i64)); 2] = [("look-up", &look_up), ("range", &range)];
    for (what, read) in reads {
        let mut rounds = Vec::from_iter((0..ROUNDS).map(|number| traffic_of(&cluster, || read(number))));
        // On a machine that is busy a node may be asked in place of another one: not in half of the rounds.
        rounds.sort_unstable_by_key(|[asked, answered]| (asked.frames, answered.frames));
        let [asked, answered] = rounds[rounds.len() / 2];
        let told = format!(
            "{what}: {} questions in {} frames, {} answers in {}",
            asked.contents, asked.frames, answered.contents, answered.frames
        );
        println!("{told}");
        assert!(asked.frames <= u64::from(NODES - 1) && asked.contents > 20, "{told}");
        // Slow workers tell of an answer while the next one is made.
        assert!(answered.frames * 3 <= answered.contents * 2, "{told}");
    }
    cluster.check();
}
