//! Databases: one on each node of a cluster in memory, which ends its node when it is closed.

use crate::cluster::{Cluster, RunningNode, coordinators, pause};
use evergraph::{Database, Options};
use evergraph_cluster::engine::graph_node::GraphNode;
use evergraph_cluster::log::memory::LogFaults;
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// The node of a database until it is closed, and how often it was.
type ClosedNode = (Option<RunningNode>, usize);

pub struct Databases {
    all: Vec<Database>,
    nodes: Vec<Arc<Mutex<ClosedNode>>>,
    /// Log, network and time.
    _cluster: Cluster,
}

impl Databases {
    /// On three nodes, which wait so long for others.
    pub fn start(seed: u64, patience: Duration) -> Self {
        let mut cluster = Cluster::start(seed, LogFaults::default());
        let coordinators = coordinators(&cluster, patience);
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
        Self { all: all.collect(), nodes, _cluster: cluster }
    }

    pub fn all(&self) -> [&Database; 3] {
        [0, 1, 2].map(|number| &self.all[number])
    }

    /// Does `work` while the partitions of all nodes fill their indexes, as background threads would.
    pub fn filling<T>(&self, work: impl FnOnce() -> T) -> T {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    self.nodes.iter().for_each(|node| {
                        let node = node.lock();
                        node.0.iter().for_each(RunningNode::look_after);
                    });
                    pause(Duration::from_millis(1));
                }
            });
            let done = work();
            is_done.store(true, Ordering::Relaxed);
            done
        })
    }

    /// That of a node, whose place is gone.
    pub fn take(&mut self, number: usize) -> Database {
        self.all.remove(number)
    }

    /// How often the node has been ended.
    pub fn closed(&self, number: usize) -> usize {
        self.nodes[number].lock().1
    }
}
