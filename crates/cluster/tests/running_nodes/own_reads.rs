//! Own reads: readers read the partitions of their node themselves, without its thread, and see the same.

use crate::cluster::{Cluster, PARTITIONS, PATIENCE, coordinators};
use crate::judge::Judge;
use crate::shown::Shown;
use crate::writer::Writer;
use evergraph_cluster::engine::graph_node::GraphNode;
use evergraph_cluster::log::memory::LogFaults;
use evergraph_cluster::remote::remote_snapshot::{GraphMap as _, RemoteLimits};
use evergraph_cluster::remote::remote_view::RemoteView;
use evergraph_cluster::seeded::OneIn;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{GroupId, PartitionId};
use evergraph_storage::index::directory::{IndexDirectory, Indexes};
use evergraph_storage::snapshot::reader::Reader;
use evergraph_storage::transaction::writes::Writes;
use evergraph_storage::view::View as _;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

static NO_WRITES: Writes = Writes::new();

const LIMITS: RemoteLimits = RemoteLimits { answer_bytes_max: 4 << 20, kept_bytes_max: 64 << 20 };

/// Reads the whole graph on a node, and compares it with what the log says.
fn read_beside(cluster: &Cluster, judge: &mut Judge, node: usize) {
    let (moment, snapshot) = cluster.nodes[node].snapshot_beside(LIMITS);
    let indexes = IndexDirectory::new(Indexes::default());
    let reader = Reader::new(RemoteView::new(&snapshot), &NO_WRITES, moment.catalogue(), &indexes);
    let shown = Shown::of(&reader);
    judge.read(&cluster.log);
    let at = moment.seen().position;
    assert_eq!(shown, *judge.graph_at(at.end()), "node {node} at message {at}");
}

#[test]
fn readers_of_own_partitions_see_the_graph_of_their_moment_while_commits_and_merges_go_on() {
    let faults = LogFaults { delay_max: Duration::from_millis(1), lag: OneIn(5), ..LogFaults::default() };
    let cluster = Cluster::start(2, faults);
    let (mut judge, mut writer) = (Judge::new(), Writer::new(&cluster, 3));
    let (reads, begun) = sync_channel(1);
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || begun.iter().for_each(|()| (0..3).for_each(|_| writer.write())));
        for round in 0..30 {
            reads.send(()).expect("somebody writes");
            read_beside(&cluster, &mut judge, round % 3);
            cluster.nodes[round % 3].merge();
        }
        drop(reads);
        writing.join().expect("somebody writes");
    });
    // Nobody writes any more: what a node keeps its thread does not answer, though many partitions have published less.
    judge.read(&cluster.log);
    let end = judge.state.seen().position;
    cluster.wait_until("a node does not come to the end of the log", || {
        cluster.nodes.iter().all(|node| node.applied() >= end)
    });
    for node in 0..3 {
        let answered =
            |cluster: &Cluster| cluster.nodes.iter().map(|node| node.answered()).collect::<Vec<_>>();
        let before = answered(&cluster);
        read_beside(&cluster, &mut judge, node);
        let after = answered(&cluster);
        assert_eq!(after[node], before[node], "the thread of node {node} answers");
        let others = after.iter().sum::<u64>() - before.iter().sum::<u64>();
        assert!(others > 0, "{PARTITIONS} partitions have two copies on three nodes");
    }
}

/// A snapshot whose asker forgets what its node keeps shows the same, by messages: no other test finds it.
#[test]
fn a_snapshot_of_a_coordinator_reads_what_its_node_keeps_where_it_lies() {
    let cluster = Cluster::start(6, LogFaults::default());
    let mut writer = Writer::new(&cluster, 7);
    (0..20).for_each(|_| writer.write());
    drop(writer);
    for (node, coordinator) in cluster.nodes.iter().zip(coordinators(&cluster, PATIENCE)) {
        let begun = GraphNode::begin_now(&*coordinator).unwrap();
        let at = begun.moment.seen().position;
        let partitions = || (0..PARTITIONS).map(PartitionId);
        let own: Vec<bool> = partitions().map(|partition| node.own.reader(partition, at).is_some()).collect();
        let read: Vec<bool> =
            partitions().map(|partition| begun.asker.own_view(partition).is_some()).collect();
        assert_eq!(read, own);
        assert!(own.contains(&true) && own.contains(&false), "{own:?}: two copies on three nodes");
    }
}

/// What it has opened shows the same as ever, but nobody vouches any more that the log is the one that was applied.
#[test]
fn a_snapshot_reads_nothing_more_of_its_node_once_that_has_stopped() {
    let mut cluster = Cluster::start(4, LogFaults::default());
    let mut writer = Writer::new(&cluster, 5);
    (0..40).for_each(|_| writer.write());
    drop(writer);
    let (moment, snapshot) = cluster.nodes[0].snapshot_beside(LIMITS);
    let (own, at) = (cluster.nodes[0].own.clone(), moment.seen().position);
    let groups = (0..moment.group_count()).map(GroupId).filter(|group| moment.group_label(*group).is_some());
    let is_own = |group: &GroupId| own.reader(moment.partitions().of_group(*group), at).is_some();
    let groups: Vec<GroupId> = groups.filter(is_own).collect();
    assert!(!groups.is_empty(), "nothing was written");
    let view = RemoteView::new(&snapshot);
    for group in &groups {
        view.live(*group).unwrap();
    }
    drop(cluster.nodes.remove(0));
    for group in groups {
        let stopped = view.live(group).unwrap_err();
        assert_eq!(stopped.kind(), ErrorKind::Io, "{stopped}");
    }
}
