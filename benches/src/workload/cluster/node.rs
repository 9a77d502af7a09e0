//! Node: the stores of one node's partitions, each in a folder of its own, which apply a log.
//!
//! One thread does everything, the stores' merges included: they have no threads, and are stepped behind some messages.
//! There, too, the horizon rises to what was applied, as in a cluster in which nobody reads an old moment.

use crate::engine::store::Edge;
use crate::workload::cluster::graph_writer::GraphWriter;
use crate::workload::cluster::log_writer::{Messages, read_message};
use crate::workload::storage::visit;
use evergraph_cluster::node::apply::Applier;
use evergraph_cluster::node::checkpoint;
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::node::store_partition::StorePartition;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, PartitionId};
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::view::{GraphView as _, NeighborBatch, NeighborCursor};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::engine::EngineStatistics;
use evergraph_storage::io::clock::SystemClock;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{BackgroundStep, OpenOptions, OpenStore};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Behind so many messages the stores are stepped.
const STEPPED_AFTER: u32 = 16;
const STEPS: [BackgroundStep; 3] =
    [BackgroundStep::Merge, BackgroundStep::LookAfter, BackgroundStep::PrepareLog];
/// Neighbours that are read at once.
const READ_AT_ONCE: usize = 1 << 16;
/// What the names of a store's log files begin with.
const LOG_FILE: &str = "log-";

/// Bytes that stores keep of a graph.
#[derive(Clone, Copy, Default, Debug)]
pub struct KeptBytes {
    /// Blocks of files but logs: bodies, manifests.
    pub files: u64,
    /// Blocks of log files, whose space is taken ahead.
    pub logs: u64,
    /// Memory of lists, columns and records, as the engine counts it.
    pub memory: u64,
}

impl KeptBytes {
    /// Adds the files of a folder.
    ///
    /// # Errors
    /// `io`.
    pub fn add_files(&mut self, folder: &Path) -> Result<()> {
        visit(folder, &mut |file| {
            let bytes = fs::metadata(file)?.blocks() * 512;
            let is_log = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(LOG_FILE));
            *(if is_log { &mut self.logs } else { &mut self.files }) += bytes;
            Ok(())
        })
    }

    /// Adds the memory of a store.
    pub fn add_memory(&mut self, engine: &EngineStatistics) {
        self.memory += engine.topology_bytes + engine.property_bytes + engine.record_bytes;
    }
}

/// A node that has applied a log up to some message.
pub struct Node {
    applier: Applier<StorePartition<MemoryEngine>>,
}

impl Node {
    /// Makes a node in `folder` that keeps `partitions` from the first message on.
    ///
    /// # Errors
    /// What the stores say.
    pub fn create(folder: &Path, state: ReplicatedState, partitions: &[PartitionId]) -> Result<Self> {
        let count = state.tables().groups().partitions();
        let mut applier = Applier::new(state);
        for partition in partitions {
            let own = OwnGroups::new(*partition, count)
                .ok_or_else(|| Error::invalid(format!("the graph has no partition {}", partition.0)))?;
            let store = open(&folder.join(format!("partition-{}", partition.0)), own)?;
            applier.keep(*partition, store).map_err(|error| Error::invalid(error.to_string()))?;
        }
        Ok(Self { applier })
    }

    /// Applies messages, the next ones of the log, and publishes them.
    ///
    /// # Errors
    /// `corrupt` if a store refuses a commit, or has no room for it.
    pub fn apply(&mut self, messages: &Messages) -> Result<()> {
        let mut unstepped = 0;
        for (position, bytes) in messages.iter() {
            self.applier.apply(read_message(position, bytes)?);
            self.check()?;
            unstepped += 1;
            if unstepped == STEPPED_AFTER {
                self.step();
                unstepped = 0;
            }
        }
        let kept: Vec<_> = self.applier.kept().collect();
        for partition in kept {
            if self.applier.proved(partition).is_none() {
                return Err(failed(partition, "it is not proved"));
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Result<()> {
        if let Some((partition, error)) = self.applier.failed().next() {
            return Err(failed(partition, error));
        }
        if self.applier.is_stalled() {
            let kept = self.applier.kept().next().unwrap_or(PartitionId(0));
            return Err(failed(kept, "it or another one has no room"));
        }
        Ok(())
    }

    fn step(&self) {
        let applied = self.applier.state().seen().position;
        for (_, store) in self.applier.stores() {
            store.set_horizon(applied);
            STEPS.into_iter().for_each(|step| store.opened().step(step));
        }
    }

    /// All edges that the stores have on a side.
    ///
    /// # Errors
    /// What reading says.
    pub fn edges(&self, graph: &GraphWriter, side: Direction) -> Result<Vec<Edge>> {
        let (applied, types) = (self.applier.state().seen().position, [graph.edge_type()]);
        let mut edges = Vec::new();
        for (partition, store) in self.applier.stores() {
            let snapshot = store.snapshot_at(applied)?;
            let own =
                graph.vertices().iter().copied().filter(|vertex| graph.partition_of(*vertex) == partition);
            let (own, mut cursor) = (Vec::from_iter(own), NeighborCursor::default());
            let mut batch = NeighborBatch::default();
            while !cursor.done {
                batch.clear();
                snapshot.neighbors(&own, Some(&types), side, &mut cursor, READ_AT_ONCE, &mut batch)?;
                edges.extend(batch.edges.iter().map(|edge| (edge.source.0, edge.target.0)));
            }
        }
        Ok(edges)
    }

    /// Bytes of a checkpoint of what follows from the log, but for the graph itself.
    #[must_use]
    pub fn state_bytes(&self) -> usize {
        checkpoint::encode(self.applier.state()).len()
    }

    /// Makes a checkpoint of each store and closes it: what they keep, but for the files.
    ///
    /// # Errors
    /// What the stores say.
    pub fn close(self) -> Result<KeptBytes> {
        let (mut kept, applied) = (KeptBytes::default(), self.applier.state().seen().position);
        for (_, store) in self.applier.stores() {
            store.set_horizon(applied);
            store.opened().checkpoint(&mut |_| ControlFlow::Continue(()))?;
            kept.add_memory(&store.opened().store().statistics().engine);
            store.opened().close()?;
        }
        Ok(kept)
    }
}

fn open(folder: &Path, own: OwnGroups) -> Result<StorePartition<MemoryEngine>> {
    let options = OpenOptions {
        durability: Durability::None,
        environment: Environment::simulated(u64::from(own.partition().0))
            .with_clock(Arc::new(SystemClock::new())),
        own_groups: Some(own),
        ..OpenOptions::default()
    };
    StorePartition::new(OpenStore::open(Arc::new(DiskDirectory::open_or_create(folder)?), &options)?)
}

#[cold]
fn failed(partition: PartitionId, problem: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Corrupt, format!("partition {}: {problem}", partition.0))
}
