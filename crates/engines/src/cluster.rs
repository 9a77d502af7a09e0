//! Cluster: the store of a graph whose partitions lie on the nodes of a cluster, by one of them.

use crate::engine::{AnyEngine, AnyPin, of_another_engine};
use crate::reader::{random_of, store_options};
use evergraph_cluster::engine::cluster_engine::cluster_parts;
use evergraph_cluster::engine::cluster_pin::graph_log as log_of_cluster;
use evergraph_cluster::engine::graph_node::GraphNode;
use evergraph_graph::error::Result;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::open::OpenOptions;
use evergraph_storage::store::Store;
use evergraph_storage::transaction::graph_log::GraphLog;
use std::sync::Arc;

/// The store of the graph that `node` coordinates transactions on. Its transactions may write as much as a record of the log takes.
///
/// Queries take their memory from `budget`. Of `options` it takes the environment, and what transactions have by default. It keeps
/// the node, and ends nothing of it.
///
/// Cost: none; nothing is read.
///
/// # Errors
/// `io` if the system has no random numbers.
pub fn cluster_store(
    node: Arc<dyn GraphNode>,
    budget: Arc<MemoryBudget>,
    options: &OpenOptions,
) -> Result<Store<AnyEngine>> {
    let clock = options.environment.clock();
    let (random, options) = (random_of(options)?, store_options(options));
    let parts =
        cluster_parts(node, clock, budget, random, options, |engine| Arc::new(AnyEngine::Cluster(engine)));
    Ok(Store::assemble_coordinator(parts, graph_log))
}

fn graph_log(pin: &AnyPin) -> &dyn GraphLog {
    match pin {
        AnyPin::Cluster(pin) => log_of_cluster(pin),
        _ => of_another_engine(),
    }
}
