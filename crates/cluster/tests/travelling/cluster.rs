//! Cluster: three nodes that run stages of queries, on a network with faults, and stores of all of them.

use crate::nodes::{Cluster, ClusterSetup, ClusterStore, PATIENCE, coordinators};
use evergraph_cluster::node::peer_loop::PeerOptions;
use evergraph_cluster::transport::memory::NetworkFaults;
use evergraph_cluster::travel::travel_options::TravelOptions;
use evergraph_graph::stage_programs::StagePrograms;
use std::sync::Arc;
use std::time::Duration;

/// Options of nodes that suspect nobody: on a machine that is busy a thread may stand still for longer than a silence that is noticed.
pub fn trusting() -> TravelOptions {
    let patience = Duration::from_secs(30);
    TravelOptions { suspect_after: patience, silence_max: patience, ..TravelOptions::default() }
}

/// Nodes that have joined, on a network with faults, which run `programs`.
pub fn start(
    seed: u64,
    faults: NetworkFaults,
    programs: &Arc<dyn StagePrograms>,
    options: TravelOptions,
) -> Cluster {
    start_with(seed, faults, (programs, options), PeerOptions::default())
}

/// The same, which deal with each other so.
pub fn start_with(
    seed: u64,
    faults: NetworkFaults,
    (programs, options): (&Arc<dyn StagePrograms>, TravelOptions),
    peers: PeerOptions,
) -> Cluster {
    Cluster::start_with(&ClusterSetup {
        seed,
        network_faults: faults,
        peers,
        stages: Some(Arc::clone(programs)),
        travel: options,
        ..ClusterSetup::default()
    })
}

/// The stores of all nodes.
pub fn stores(cluster: &Cluster) -> Vec<ClusterStore> {
    crate::nodes::stores(cluster, &coordinators(cluster, PATIENCE))
}
