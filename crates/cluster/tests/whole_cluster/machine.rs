//! Machine: one life of a node on its disks, its log and its network: what `running::opening` puts together, stepped.
//!
//! What the threads of a process do beside that of the node is done in steps: answers, background work of stores, checkpoints, the
//! note of what was applied.

use crate::answer_work::AnswerWork;
use crate::disks::{Disks, LiveDisks};
use crate::first_state::{SALT, address, own_groups};
use crate::simulation::traced_transport::{SharedTrace, TracedTransport};
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::log::memory::{MemoryLog, MemoryLogClient};
use evergraph_cluster::log::packer::PackerLimits;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::apply::Applier;
use evergraph_cluster::node::checkpoint;
use evergraph_cluster::node::checkpoint_steps::{BegunCheckpoint, SaveError};
use evergraph_cluster::node::horizon::HorizonOptions;
use evergraph_cluster::node::incarnation::count_start;
use evergraph_cluster::node::kept_partition::PartitionEvent;
use evergraph_cluster::node::node_error::NodeError;
use evergraph_cluster::node::node_loop::{NodeEvent, NodeLoop};
use evergraph_cluster::node::node_thread::{NodeStep, ThreadedNode as _};
use evergraph_cluster::node::owned_node::{NodeListener, OwnedNode};
use evergraph_cluster::node::partition_store::PartitionStore as _;
use evergraph_cluster::node::peer_loop::{PeerLoop, PeerOptions};
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::node::seen_file;
use evergraph_cluster::node::store_partition::{StorePartition, StoreSync};
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_cluster::transport::memory::MemoryNetwork;
use evergraph_graph::id::PartitionId;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::failing::FailingDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{BackgroundStep, OpenOptions, OpenStore};
use evergraph_storage::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// How long a node may be silent here.
pub const SILENCE_MAX: Duration = Duration::from_secs(1);
/// How often it notes what it has applied.
const NOTE_INTERVAL: Duration = Duration::from_millis(500);

pub type Partition = StorePartition<MemoryEngine>;
pub type Node = OwnedNode<Partition, MemoryLogClient, TracedTransport, AnswerWork>;

/// What a life needs beside disks.
pub struct Surroundings<'a> {
    /// What the cluster was created with.
    pub first: &'a ReplicatedState,
    pub log: &'a MemoryLog,
    pub network: &'a MemoryNetwork,
    pub frames: &'a SharedTrace,
}

/// What its listener has heard.
#[derive(Default)]
pub struct Heard {
    pub stalled: u32,
    pub resumed: u32,
    pub failed: u32,
    pub alarms: u32,
    pub held: u32,
    pub checkpoints: u32,
    pub stopped: Option<NodeError>,
}

#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Heard>>);

impl NodeListener for Listener {
    fn node_event(&mut self, event: NodeEvent) {
        let mut heard = self.0.lock();
        match event {
            NodeEvent::Alarm(_) => heard.alarms += 1,
            NodeEvent::Partition(PartitionEvent::Stalled { .. }) => heard.stalled += 1,
            NodeEvent::Partition(PartitionEvent::Resumed { .. }) => heard.resumed += 1,
            NodeEvent::Partition(PartitionEvent::Failed { .. }) => heard.failed += 1,
            _ => {}
        }
    }

    fn horizon_rose(&mut self, _: LogPosition) {}

    fn other_log(&mut self, _: NodeId, _: LogPosition) {
        self.0.lock().alarms += 1;
    }

    fn left_behind(&mut self, _: NodeId) {}

    fn checkpoint_ended(&mut self, result: Result<LogPosition, &SaveError>) {
        let mut heard = self.0.lock();
        match result {
            Ok(_) => heard.checkpoints += 1,
            Err(SaveError::Held { .. }) => heard.held += 1,
            Err(_) => {}
        }
    }

    fn stopped(&mut self, error: NodeError) {
        self.0.lock().stopped = Some(error);
    }
}

/// A node that has started.
struct Started {
    node: Node,
    listener: Listener,
    ahead: u32,
    is_restored: bool,
    noted: SeenLog,
}

pub struct Machine {
    pub node: Node,
    pub disks: LiveDisks,
    /// Partitions that were ahead of the checkpoint when it started.
    pub ahead: u32,
    /// Whether it started from a checkpoint.
    pub is_restored: bool,
    listener: Listener,
    begun: Option<BegunCheckpoint<StoreSync<MemoryEngine>>>,
    note_at: Duration,
    noted: SeenLog,
}

impl Machine {
    /// Starts a node from its disks.
    ///
    /// # Errors
    /// What stands in its way, and whether its power has failed meanwhile.
    pub fn start(
        node: NodeId,
        disks: &Disks,
        around: &Surroundings<'_>,
        may_fail: bool,
        chance: &mut SeededChance,
    ) -> Result<Self, (String, bool)> {
        let mut live = disks.live();
        if may_fail {
            live.plan_power_cut(chance);
        }
        match Self::start_on(node, &live, around, chance) {
            Ok(Started { node, listener, ahead, is_restored, noted }) => {
                let (begun, note_at) = (None, Duration::ZERO);
                Ok(Self { node, disks: live, ahead, is_restored, listener, begun, note_at, noted })
            }
            Err(wrong) => Err((wrong, live.have_failed())),
        }
    }

    fn start_on(
        node: NodeId,
        disks: &LiveDisks,
        around: &Surroundings<'_>,
        chance: &mut SeededChance,
    ) -> Result<Started, String> {
        let saved = checkpoint::read(&disks.node, SALT).map_err(|error| error.to_string())?;
        let is_restored = saved.is_some();
        let state = saved.unwrap_or_else(|| around.first.clone());
        let mut random = SplitMix64::new(chance.below(u64::MAX));
        let start = count_start(&disks.node, node, &mut random).map_err(|error| error.to_string())?;
        let noted = seen_file::read(&disks.node, SALT).map_err(|error| error.to_string())?;
        let (applied, position) = (state.certifier().digests().clone(), state.seen().position);
        let kept: Vec<PartitionId> = state.tables().placement().kept_by(node).map(|(id, _)| id).collect();
        let mut applier = Applier::new(state).having_noted(noted);
        let mut ahead = 0;
        for partition in kept {
            let store = open(partition, &disks.stores[&partition], chance)?;
            ahead += u32::from(store.installed().position() > position);
            applier.keep(partition, store).map_err(|error| error.to_string())?;
        }
        let limits = PackerLimits::default();
        let on_log = NodeLoop::new(start, address(node), limits, applier, around.log.connect());
        let options = PeerOptions {
            heartbeat_interval: Duration::from_millis(50),
            horizon: HorizonOptions { silence_max: SILENCE_MAX, ..HorizonOptions::default() },
            ..PeerOptions::default()
        };
        let transport = TracedTransport::new(node, around.network, SharedTrace::clone(around.frames));
        let peers =
            PeerLoop::new(start.author, options, &applied, transport, AnswerWork::new(chance.below(1 << 40)));
        let listener = Listener::default();
        let node = OwnedNode::new(on_log, peers, Box::new(listener.clone()));
        Ok(Started { node, listener, ahead, is_restored, noted: noted.unwrap_or(SeenLog::START) })
    }

    /// Does what is due. Whether the node goes on.
    pub fn step(&mut self, now: Duration, chance: &mut SeededChance) -> bool {
        self.node.peers().work_mut().now = now;
        if matches!(self.node.step(now), NodeStep::End) {
            return false;
        }
        self.look_after_stores(chance);
        self.make_checkpoint(now, chance);
        if now >= self.note_at {
            self.note_at = now + NOTE_INTERVAL;
            let seen = self.seen();
            // A failure is told by the next note; what was noted before is there.
            if seen != self.noted && seen_file::write(&self.disks.node, SALT, &seen).is_ok() {
                self.noted = seen;
            }
        }
        true
    }

    /// What the threads of stores do.
    fn look_after_stores(&mut self, chance: &mut SeededChance) {
        for (_, store) in self.node.node().applier().stores() {
            for (step, often) in [
                (BackgroundStep::Merge, 3),
                (BackgroundStep::MergeIdle, 40),
                (BackgroundStep::LookAfter, 20),
                (BackgroundStep::PrepareLog, 5),
            ] {
                if chance.happens(OneIn(often)) {
                    store.opened().step(step);
                }
            }
        }
    }

    /// A checkpoint begins, is written later, and perhaps ends later still.
    fn make_checkpoint(&mut self, now: Duration, chance: &mut SeededChance) {
        match self.begun.take() {
            None if chance.happens(OneIn(40)) => self.begun = self.node.begin_checkpoint(now).ok(),
            Some(begun) if chance.happens(OneIn(4)) => {
                let written = begun.write(&self.disks.node);
                // The one before is in place if it failed.
                let _ = self.node.end_checkpoint(now, written);
            }
            begun => self.begun = begun,
        }
    }

    /// The log that it has applied.
    pub fn seen(&mut self) -> SeenLog {
        self.node.node().applier().state().seen()
    }

    pub fn heard(&self) -> Heard {
        std::mem::take(&mut *self.listener.0.lock())
    }
}

/// Opens the store of a partition.
fn open(
    partition: PartitionId,
    disk: &FailingDirectory,
    chance: &mut SeededChance,
) -> Result<Partition, String> {
    let options = OpenOptions {
        durability: Durability::None,
        environment: Environment::simulated(chance.below(u64::MAX)),
        // Some messages: so that much is written and not synced, and checkpoints come often.
        log_spill_bytes: 256,
        log_file_bytes: 1 << 16,
        checkpoint_after_bytes: 3000,
        replay_batch_mutations: 3,
        own_groups: Some(own_groups(partition)),
        ..OpenOptions::default()
    };
    let directory: Arc<dyn Directory> = Arc::new(disk.clone());
    let open = OpenStore::open(directory, &options).map_err(|error| error.to_string())?;
    StorePartition::new(open).map_err(|error| error.to_string())
}
