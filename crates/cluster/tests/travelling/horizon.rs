//! Horizon: what a query reads is kept on every node for as long as it runs there, and one that is too old is refused.

use crate::cluster::{start_with, stores, trusting};
use crate::gates::{GatedStages, TestGate};
use crate::graphs::Described;
use crate::nodes::{Cluster, ClusterStore, pause};
use crate::questions::{Way, ask, plan};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::horizon::HorizonOptions;
use evergraph_cluster::node::peer_loop::PeerOptions;
use evergraph_cluster::seeded::SeededChance;
use evergraph_cluster::transport::memory::NetworkFaults;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::stage_programs::StagePrograms;
use evergraph_graph::transaction::Transaction as _;
use evergraph_storage::io::clock::Clock as _;
use std::sync::Arc;
use std::time::Duration;

const TEXT: &str = ".V().out().out().count()";
/// How long a snapshot holds what others may merge.
const AGE_MAX: Duration = Duration::from_secs(1);

/// Nodes that keep nothing for snapshots older than [`AGE_MAX`], and what the query finds at first.
fn aging(seed: u64) -> (Cluster, Vec<ClusterStore>, TestGate, Vec<String>) {
    let gate = TestGate::default();
    let programs: Arc<dyn StagePrograms> = Arc::new(GatedStages(Arc::clone(&gate.0)));
    let options = trusting();
    let horizon = HorizonOptions { snapshot_age_max: AGE_MAX, ..HorizonOptions::default() };
    let peers = PeerOptions { horizon, ..PeerOptions::default() };
    let cluster = start_with(seed, NetworkFaults::default(), (&programs, options), peers);
    let stores = stores(&cluster);
    let described = Described::random(&mut SeededChance::new(seed), 50, 200);
    described.on_cluster(&stores[0]);
    let (expected, _) = ask(&plan(TEXT, Way::Travelling), &described.in_one().store().snapshot()).unwrap();
    (cluster, stores, gate, expected)
}

fn horizons(cluster: &Cluster) -> Vec<LogPosition> {
    cluster.nodes.iter().map(|node| node.readers.horizon()).collect()
}

/// Another hop of two that a later query finds.
fn add_hops(store: &ClusterStore) {
    let added = store.transact(|to| {
        let (label, edge_type) = (to.label("person")?, to.edge_type("knows")?);
        let ends = [to.add_vertex(label, &[])?, to.add_vertex(label, &[])?, to.add_vertex(label, &[])?];
        to.add_edge(ends[0], edge_type, ends[1], &[])?;
        to.add_edge(ends[1], edge_type, ends[2], &[])
    });
    added.unwrap();
}

#[test]
fn what_a_query_reads_is_kept_on_every_node_for_as_long_as_it_runs() {
    let (cluster, stores, gate, expected) = aging(51);
    gate.close();
    std::thread::scope(|scope| {
        let _open_on_panic = gate.open_on_panic();
        let asked = scope.spawn(|| ask(&plan(TEXT, Way::Travelling), &stores[0].snapshot()));
        cluster.wait_until("no node begins", || gate.waiting() == 3);
        let reads = |node: usize| cluster.nodes[node].readers.oldest().1;
        let at = reads(0).unwrap();
        assert_eq!((reads(1), reads(2)), (Some(at), Some(at)), "the same snapshot everywhere");
        // The asker's own snapshot holds nobody any more: see the next test.
        let ends_at = cluster.clock.now() + 3 * AGE_MAX;
        while cluster.clock.now() < ends_at {
            add_hops(&stores[1]);
            pause(AGE_MAX / 20);
            assert!(horizons(&cluster).iter().all(|horizon| *horizon <= at), "{:?}", horizons(&cluster));
        }
        gate.open();
        let (found, notes) = asked.join().unwrap().unwrap();
        assert_eq!(found, expected, "what was there when it began");
        assert_eq!(notes.len(), 3, "{notes:?}");
        cluster.wait_until("the horizon stays where the query was", || {
            horizons(&cluster).iter().all(|horizon| *horizon > at)
        });
    });
    cluster.check();
}

#[test]
fn a_query_that_is_older_than_what_nodes_keep_is_refused_with_a_conflict() {
    let (cluster, stores, _gate, expected) = aging(52);
    let snapshot = stores[0].snapshot();
    let at = cluster.nodes[0].readers.oldest().0.unwrap();
    add_hops(&stores[1]);
    cluster
        .wait_until("the horizon does not rise", || horizons(&cluster).iter().all(|horizon| *horizon > at));
    for way in [Way::Travelling, Way::Remote] {
        let old = ask(&plan(TEXT, way), &snapshot).unwrap_err();
        assert_eq!(old.kind(), ErrorKind::Conflict, "{old}");
        assert!(old.to_string().contains("began too long ago"), "{old}");
        assert!(old.to_string().contains("run it again"), "{old}");
    }
    drop(snapshot);
    let (found, notes) = ask(&plan(TEXT, Way::Travelling), &stores[1].snapshot()).unwrap();
    assert!(found != expected && notes.len() == 3, "{found:?} {notes:?}");
}
