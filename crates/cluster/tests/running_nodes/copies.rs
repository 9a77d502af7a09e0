//! Copies: what a node has lost comes from the others, while all write: then it has what they have.

use crate::cluster::{Cluster, ClusterSetup, PATIENCE, Partition};
use crate::shown::Shown;
use crate::writer::Writer;
use evergraph_cluster::copy::fetch::{Fetch, FetchProgress, Fetched, WakeSignal};
use evergraph_cluster::copy::message::{CopyId, CopySubject};
use evergraph_cluster::copy::received_files::ReceivedFiles;
use evergraph_cluster::log::memory::LogFaults;
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::apply::Applier;
use evergraph_cluster::node::checkpoint;
use evergraph_cluster::node::kept_partition::PartitionCondition;
use evergraph_cluster::node::partition_store::PartitionStore as _;
use evergraph_cluster::record::message::Message;
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::transport::memory::MemoryTransport;
use evergraph_graph::id::PartitionId;
use evergraph_storage::io::memory::MemoryDirectory;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The node that has lost everything: one that nobody hears of, with the partitions of node 2.
const COPYING: NodeId = NodeId(7);
const LOST: NodeId = NodeId(2);

fn copy(
    fetch: &mut Fetch<'_, MemoryTransport>,
    subject: CopySubject,
    sources: Vec<NodeId>,
) -> (MemoryDirectory, FetchProgress) {
    let target = MemoryDirectory::new("copy");
    let mut files = ReceivedFiles::begin(Arc::new(target.clone())).unwrap();
    let fetched = fetch.copy(subject, sources, PATIENCE, &mut files, &mut |_| ()).unwrap();
    let Fetched::Copied(progress) = fetched else { panic!("{fetched:?}") };
    // It is durable as it is.
    (target.power_cut(), progress)
}

/// What is in a partition as of a message.
fn shown(store: &Partition, at: LogPosition) -> Shown {
    Shown::of(&store.snapshot_at(at).unwrap())
}

#[test]
fn a_node_that_has_lost_everything_has_what_others_have_while_they_write() {
    let cluster = Cluster::start(31, LogFaults::default());
    let mut writer = Writer::new(&cluster, 8);
    (0..30).for_each(|_| writer.write());
    let saved = cluster.nodes[0].checkpoint();
    let has_copied = AtomicBool::new(false);
    let setup = ClusterSetup::default();
    let salt = setup.first_state().salt();
    let mut applier = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Not for ever: vertices that it may insert come to an end.
            let until_copied = (0..200).take_while(|_| !has_copied.load(Ordering::Relaxed));
            until_copied.for_each(|_| writer.write());
            (0..10).for_each(|_| writer.write());
        });
        let signal = Arc::new(WakeSignal::default());
        let transport = cluster.network.connect_waking(COPYING, signal.waker());
        let mut fetch = Fetch::new(transport, COPYING, signal, &*cluster.clock, CopyId(900));
        fetch.set_members(setup.first_state().tables().members());

        let (files, _) = copy(&mut fetch, CopySubject::State, vec![NodeId(0)]);
        let state = checkpoint::read(&files, salt).unwrap().unwrap();
        assert_eq!(state.seen().position, saved);
        let kept: Vec<PartitionId> = state.tables().placement().kept_by(LOST).map(|kept| kept.0).collect();
        assert_eq!(kept.len(), 4, "two copies of six partitions on three nodes");
        let mut applier = Applier::new(state);
        for partition in kept {
            let serving = applier.state().tables().placement().serving(partition);
            let sources = serving.filter(|node| *node != LOST).collect();
            let subject = CopySubject::Partition { partition, at_least: saved };
            let (files, progress) = copy(&mut fetch, subject, sources);
            assert!(progress.bytes_done > 0 && progress.bytes_done <= progress.bytes_total, "{progress:?}");
            let store = setup.open_in(partition, files).unwrap();
            assert!(store.installed().position() >= saved, "it is behind");
            applier.keep_copy(partition, store).unwrap();
        }
        has_copied.store(true, Ordering::Relaxed);
        applier
    });
    cluster.check();

    // It reads the log from the state on, and proves each copy where that ends.
    let is_ahead = |applier: &Applier<Partition>| {
        applier.conditions().any(|(_, condition)| matches!(condition, PartitionCondition::Ahead { .. }))
    };
    assert!(is_ahead(&applier), "nobody wrote meanwhile");
    for read in cluster.log.messages_from(saved.next()) {
        let message = Message::decode(&read.bytes).unwrap();
        applier.apply(ReadMessage { position: read.position, message, bytes: read.bytes });
    }
    assert!(applier.take_events().is_empty() && !is_ahead(&applier));
    let end = applier.state().seen().position;
    cluster.wait_until("a node does not come to the end", || {
        cluster.nodes.iter().all(|node| node.applied() >= end)
    });
    let kept: Vec<PartitionId> = applier.kept().collect();
    let (tells, told) = std::sync::mpsc::channel();
    let asked = kept.clone();
    let look = move |node: &mut crate::cluster::Node, _| {
        let all = asked.iter().map(|partition| shown(node.node().proved(*partition).unwrap(), end));
        tells.send(all.collect::<Vec<Shown>>()).unwrap();
    };
    cluster.nodes[usize::from(LOST.0)].thread.handle().call(look).unwrap();
    let mut vertices = 0;
    for (partition, known) in kept.into_iter().zip(told.recv_timeout(PATIENCE).unwrap()) {
        let copied = shown(applier.proved(partition).unwrap(), end);
        assert_eq!(copied, known, "partition {}", partition.0);
        vertices += known.vertices.len();
    }
    assert!(vertices > 0, "there is nothing to compare");
}
