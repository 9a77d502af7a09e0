//! Databases: on each node of a cluster in memory, which ends its node when it is closed; or one that ends the whole cluster.
//!
//! Tests of crates that this one depends on have no dependency on it, and include the folder by its path.

use crate::cluster::nodes::{Cluster, ClusterSetup, RunningNode, coordinators_with};
use evergraph::graph::stage_programs::StagePrograms;
use evergraph::query::travel::runner::QueryStages;
use evergraph::{Database, Freshness, GraphView as _, Options};
use evergraph_cluster::engine::graph_node::GraphNode;
use evergraph_cluster::log::memory::MemoryLog;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::open::{BackgroundStep, OpenStore};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::thread::{JoinHandle, spawn};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Between two rounds of background work of all stores: merges, new indexes.
const STEP_PAUSE: Duration = Duration::from_millis(5);

/// What a [`ClusterSetup`] has for queries that travel, as those of users do.
#[must_use]
pub fn travelling() -> Option<Arc<dyn StagePrograms>> {
    Some(Arc::new(QueryStages))
}

/// The node of a database until it is closed, and how often it was.
type ClosedNode = (Option<RunningNode>, usize);

/// One on each node.
pub struct Databases {
    all: Vec<Database>,
    nodes: Vec<Arc<Mutex<ClosedNode>>>,
    _steps: StoreSteps,
    /// Log, network and time.
    cluster: Cluster,
}

impl Databases {
    /// On nodes that have joined.
    ///
    /// # Panics
    /// If one does not.
    #[must_use]
    pub fn start(setup: &ClusterSetup) -> Self {
        let mut cluster = Cluster::start_with(setup);
        let coordinators = coordinators_with(&cluster, setup.coordinator);
        let running = std::mem::take(&mut cluster.nodes).into_iter();
        let nodes: Vec<_> = running.map(|node| Arc::new(Mutex::new((Some(node), 0)))).collect();
        let all = coordinators.into_iter().zip(&nodes).map(|(coordinator, node)| {
            let (graph, node): (Arc<dyn GraphNode>, _) = (coordinator, Arc::clone(node));
            let close = move || {
                let ended = node.lock().0.take();
                node.lock().1 += usize::from(ended.is_some());
                // Its thread is waited for without the lock.
                drop(ended);
                Ok(())
            };
            Database::of_node(graph, &Options::default(), close).unwrap()
        });
        let all = all.collect();
        let stepped = nodes.clone();
        let steps =
            StoreSteps::start(move || stepped.iter().for_each(|node| node.lock().0.iter().for_each(step)));
        Self { all, nodes, _steps: steps, cluster }
    }

    /// All of them, by the numbers of their nodes.
    ///
    /// # Panics
    /// If there are not as many.
    #[must_use]
    pub fn all<const N: usize>(&self) -> [&Database; N] {
        assert_eq!(self.all.len(), N, "each node has one");
        std::array::from_fn(|number| &self.all[number])
    }

    /// That of a client: each client has one.
    #[must_use]
    pub fn of_client(&self, client: usize) -> &Database {
        &self.all[client % self.all.len()]
    }

    /// Waits until all nodes have what anybody has committed.
    ///
    /// # Panics
    /// If one has not, in time.
    pub fn wait(&self) {
        for db in &self.all {
            db.snapshot_with(Freshness::Fresh).check_begun().unwrap();
        }
    }

    /// That of all nodes.
    #[must_use]
    pub fn log(&self) -> &MemoryLog {
        &self.cluster.log
    }

    /// Nothing has gone wrong on any node.
    ///
    /// # Panics
    /// If something has.
    pub fn check(&self) {
        self.cluster.check();
    }

    /// That of a node, whose place is gone.
    #[must_use]
    pub fn take(&mut self, number: usize) -> Database {
        self.all.remove(number)
    }

    /// How often the node has been ended.
    #[must_use]
    pub fn closed(&self, number: usize) -> usize {
        self.nodes[number].lock().1
    }
}

/// A database on the first node of a cluster that ends with it.
///
/// # Panics
/// If a node does not join.
#[must_use]
pub fn of_whole_cluster(setup: &ClusterSetup) -> Database {
    let cluster = Cluster::start_with(setup);
    let coordinator = coordinators_with(&cluster, setup.coordinator).swap_remove(0);
    let stores: Vec<_> = cluster.nodes.iter().flat_map(|node| node.stores.clone()).collect();
    let steps = StoreSteps::start(move || stores.iter().for_each(|store| step_store(store)));
    let whole = Mutex::new(Some((steps, cluster)));
    let close = move || {
        let ended = whole.lock().take();
        drop(ended);
        Ok(())
    };
    Database::of_node(coordinator, &Options::default(), close).unwrap()
}

fn step(node: &RunningNode) {
    node.stores.iter().for_each(|store| step_store(store));
}

fn step_store(store: &OpenStore<MemoryEngine>) {
    store.step(BackgroundStep::Merge);
    store.step(BackgroundStep::LookAfter);
}

/// A thread that does what background threads of stores would do. Dropped, it ends.
struct StoreSteps {
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreSteps {
    fn start(step: impl Fn() + Send + 'static) -> Self {
        let (ends, ended) = channel();
        let run = move || {
            while ended.recv_timeout(STEP_PAUSE) == Err(RecvTimeoutError::Timeout) {
                step();
            }
        };
        Self { ends: Some(ends), thread: Some(spawn("steps", run).unwrap()) }
    }
}

impl Drop for StoreSteps {
    fn drop(&mut self) {
        drop(self.ends.take());
        // One that panicked has ended, too, and has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
