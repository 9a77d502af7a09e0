//! Opening: from the folder of a node to its threads.
//!
//! ```text
//! cluster.toml, node.toml ──> lock ──> certificate, access to the log        what an operator can get wrong, first
//!   starts + 1 ──> checkpoint, or the first state ──> partitions/NNNN        the files of the node
//!   log, network, workers ──> thread of the node ──> checkpoints, steps      threads; wait until it has joined
//! ```
//!
//! A partition whose files are damaged, or that has less than the checkpoint, is left out: others have copies of it. Whatever else
//! keeps a partition from being opened is of this machine, and ends the start.

use crate::engine::graph_node::GraphNode;
use crate::log::etcd::etcd_log::EtcdLog;
use crate::log::packer::PackerLimits;
use crate::node::answer_workers::{AnswerWorkers, AnswerWorkersOptions};
use crate::node::apply::Applier;
use crate::node::checkpoint;
use crate::node::checkpoint_writer::{CheckpointOptions, CheckpointWriter};
use crate::node::incarnation::{count_start, skip_to};
use crate::node::node_loop::NodeLoop;
use crate::node::node_status::NodeStatus;
use crate::node::node_thread::{NodeBell, NodeHandle, NodeThread};
use crate::node::owned_node::OwnedNode;
use crate::node::peer_loop::{PeerLoop, PeerOptions};
use crate::node::store_partition::StorePartition;
use crate::node::store_steps::StoreSteps;
use crate::record_id::Author;
use crate::running::description::ClusterDescription;
use crate::running::join_failure::join_failure;
use crate::running::link_reports::LinkReports;
use crate::running::monitor::{JoinOutcome, NodeMonitor};
use crate::running::node_description::NodeDescription;
use crate::running::report::{NodeReport, OnReport};
use crate::running::status::UnusablePartition;
use crate::running::watched_node::WatchedNode;
use crate::transaction::coordinator::{Coordinator, CoordinatorOptions};
use crate::transaction::one_answer::{Waited, one_answer};
use crate::transport::tcp::identity::NodeIdentity;
use crate::transport::tcp::monitor::NetworkMonitor;
use crate::transport::tcp::options::TcpOptions;
use crate::transport::tcp::transport::TcpTransport;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::wait_limit::WaitLimit;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::clock::{Clock, SystemClock};
use evergraph_storage::io::directory::{Directory, LockGuard};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::random::{Random as _, SplitMix64};
use evergraph_storage::log::options::Durability;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::sync::Mutex;
use evergraph_storage::unfinished_directory::LOCK_NAME;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The folder of the partitions' folders.
const PARTITIONS_FOLDER: &str = "partitions";

/// What the log file of a partition grows to: a node has dozens of them.
const LOG_FILE_BYTES: u64 = 8 << 20;

/// Bytes of commits in the log of a partition after which its bodies are written: dozens of them are replayed at a start.
const CHECKPOINT_AFTER_BYTES: u64 = 8 << 20;

/// How long the thread of a node may take to say how it is.
pub(super) const STATUS_PATIENCE: Duration = Duration::from_secs(5);

/// Partitions that are opened at a time.
const OPENING_THREADS_MAX: usize = 8;

/// A partition.
type Partition = StorePartition<MemoryEngine>;

/// A node, as its thread owns it.
pub(super) type Node = OwnedNode<Partition, EtcdLog, TcpTransport, AnswerWorkers>;

/// A node that was opened.
pub(super) struct OpenedNode {
    pub(super) description: ClusterDescription,
    pub(super) own: NodeDescription,
    pub(super) author: Author,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) budget: Arc<MemoryBudget>,
    pub(super) monitor: NodeMonitor,
    pub(super) network: NetworkMonitor,
    pub(super) graph: Arc<dyn GraphNode>,
    pub(super) handle: NodeHandle<Node>,
    pub(super) unusable: Vec<UnusablePartition>,
    pub(super) status: NodeStatus,
    pub(super) threads: NodeThreads,
}

/// The threads of a node, which end in this order, and the lock of its folder, which is given back at last.
pub(super) struct NodeThreads {
    pub(super) checkpoints: CheckpointWriter,
    _links: LinkReports,
    /// Ahead of the node: its stores are closed with it.
    _steps: StoreSteps,
    _node: NodeThread<Node>,
    _lock: LockGuard,
}

/// What belongs to a start alone.
struct Opening<'a> {
    folder: &'a Path,
    directory: Arc<dyn Directory>,
    description: ClusterDescription,
    own: NodeDescription,
    clock: Arc<dyn Clock>,
    budget: Arc<MemoryBudget>,
    monitor: NodeMonitor,
    steps: StoreSteps,
    unusable: Vec<UnusablePartition>,
    /// At last, as in [`NodeThreads`]: a start that fails ends the steps of its stores before it gives the folder back.
    lock: LockGuard,
}

/// Opens the node of `folder`, and waits until it has joined.
///
/// # Errors
/// As [`ClusterNode::open`](crate::running::cluster_node::ClusterNode::open).
pub(super) fn open(
    folder: &Path,
    join_patience: Duration,
    coordinator: CoordinatorOptions,
    on_report: Option<OnReport>,
) -> Result<OpenedNode> {
    // Before the lock, whose file would be the first thing of ours in somebody else's folder.
    let (description, own) = (ClusterDescription::read(folder)?, NodeDescription::read(folder)?);
    let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open(folder)?);
    let lock = directory.lock_exclusive(LOCK_NAME).map_err(|error| {
        let error = Error::from(error);
        Error::new(error.kind(), format!("run node {} here: {error}", own.node.0)).because(error)
    })?;
    let opening = Opening {
        folder,
        directory,
        clock: Arc::new(SystemClock::new()),
        budget: Arc::new(MemoryBudget::new(own.memory_limit_bytes)),
        monitor: NodeMonitor::new(on_report),
        steps: StoreSteps::start(&thread_name(&own)).map_err(|error| no_thread(&own, error))?,
        unusable: Vec::new(),
        description,
        own,
        lock,
    };
    opening.start(join_patience, coordinator)
}

impl Opening<'_> {
    fn start(
        mut self,
        join_patience: Duration,
        coordinator_options: CoordinatorOptions,
    ) -> Result<OpenedNode> {
        let address = self.address()?;
        let identity = NodeIdentity::read(self.description.id(), self.own.node, &self.own.identity)?;
        let log_options = self.own.etcd.options(self.description.log_key())?;
        let bell = NodeBell::<Node>::new();
        let log = EtcdLog::open(log_options, bell.waker())?;
        let mut random = SplitMix64::from_system().map_err(|error| {
            Error::new(ErrorKind::Io, format!("ask the system for random bytes: {error}")).because(error)
        })?;
        let network_options = TcpOptions { seed: random.next_u64(), ..TcpOptions::default() };
        let listen = self.own.listen_at(&address);
        // Before the start is counted, so that what stands in its way is found first.
        let transport = TcpTransport::start(listen, identity, network_options, bell.waker())?;
        let network = transport.monitor();

        let start = count_start(&*self.directory, self.own.node, &mut random)?;
        let state = checkpoint::read(&*self.directory, self.description.salt)?;
        let state = state.unwrap_or_else(|| self.description.first_state());
        let applied = state.certifier().digests().clone();
        let kept = state.tables().placement().kept_by(self.own.node);
        let kept: Vec<PartitionId> = kept.map(|(partition, _)| partition).collect();
        let mut on_log =
            NodeLoop::new(start, address.into(), PackerLimits::default(), Applier::new(state), log);
        for (partition, opened) in self.open_partitions(&kept) {
            self.keep(partition, opened, &mut on_log)?;
        }
        let (name, clock) = (thread_name(&self.own), Arc::clone(&self.clock));
        let no_thread = |error: io::Error| no_thread(&self.own, error);
        let workers =
            AnswerWorkers::start(&name, AnswerWorkersOptions::default(), Arc::clone(&clock), bell.waker())
                .map_err(no_thread)?;
        let peers = PeerLoop::new(start.author, PeerOptions::default(), &applied, transport, workers);
        let readers = peers.readers().clone();
        let owned = OwnedNode::new(on_log, peers, self.monitor.listener());
        let (tables, own_partitions) = (owned.tables().clone(), owned.own_partitions().clone());
        let node = bell.start(&name, Arc::clone(&clock), owned).map_err(no_thread)?;
        let handle = node.handle();
        let coordinator =
            Coordinator::new(handle.clone(), readers, tables, Arc::clone(&clock), coordinator_options)
                .reading_own(own_partitions);
        let checkpoint_options =
            CheckpointOptions { interval: self.own.checkpoint_interval, ..CheckpointOptions::default() };
        let checkpoints = CheckpointWriter::start(
            &format!("{name}-state"),
            handle.clone(),
            Arc::clone(&self.directory),
            checkpoint_options,
            Arc::clone(&clock),
        )
        .map_err(no_thread)?;
        let links = LinkReports::start(&format!("{name}-links"), network.clone(), self.monitor.clone())
            .map_err(no_thread)?;
        let status = self.join(&handle, join_patience)?;
        let monitor = self.monitor.clone();
        Ok(OpenedNode {
            description: self.description,
            own: self.own,
            author: start.author,
            clock: self.clock,
            budget: self.budget,
            monitor: self.monitor,
            network,
            graph: Arc::new(WatchedNode { coordinator, monitor }),
            handle,
            unusable: self.unusable,
            status,
            threads: NodeThreads {
                checkpoints,
                _links: links,
                _steps: self.steps,
                _node: node,
                _lock: self.lock,
            },
        })
    }

    /// Where the others reach the node.
    fn address(&self) -> Result<String> {
        let own = &self.own;
        let address = own.address.as_deref().or_else(|| self.description.address(own.node));
        address.map(str::to_owned).ok_or_else(|| {
            Error::invalid(format!(
                "the cluster was not created with node {}: say by `address` in {} where the others reach it",
                own.node.0,
                self.folder.join(crate::running::node_description::NODE_FILE).display()
            ))
        })
    }

    /// Has the node keep a partition, or leaves it out.
    fn keep(
        &mut self,
        partition: PartitionId,
        opened: Result<Partition>,
        node: &mut NodeLoop<Partition, EtcdLog>,
    ) -> Result<()> {
        let reason = match opened {
            Ok(store) => {
                let stepped = Arc::clone(store.opened());
                match node.keep(partition, store) {
                    Ok(()) => {
                        self.steps.add(partition, stepped);
                        return Ok(());
                    }
                    Err(error) => error.to_string(),
                }
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => error.to_string(),
            Err(error) => {
                let text = format!("open partition {}: {error}", partition.0);
                return Err(Error::new(error.kind(), text).because(error));
            }
        };
        self.monitor.report(&NodeReport::failure(format!("partition {} is left out: {reason}", partition.0)));
        self.unusable.push(UnusablePartition { partition, reason });
        Ok(())
    }

    /// Opens partitions, several at a time: each reads its bodies and its log by one thread.
    fn open_partitions(&self, partitions: &[PartitionId]) -> Vec<(PartitionId, Result<Partition>)> {
        let threads =
            std::thread::available_parallelism().map_or(1, |count| count.get().min(OPENING_THREADS_MAX));
        let (next, opened) = (Mutex::new(partitions.iter()), Mutex::new(Vec::new()));
        let open = || {
            loop {
                let Some(partition) = next.lock().next().copied() else { return };
                let result = self.open_partition(partition);
                opened.lock().push((partition, result));
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(open)));
            open();
        });
        std::mem::take(&mut *opened.lock())
    }

    fn open_partition(&self, partition: PartitionId) -> Result<Partition> {
        let own = OwnGroups::new(partition, self.description.partitions);
        let own = own.ok_or_else(|| Error::invalid("the cluster has fewer partitions"))?;
        let path = self.folder.join(PARTITIONS_FOLDER).join(format!("{:04}", partition.0));
        let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open_or_create(path)?);
        let options = OpenOptions {
            // The log that all nodes share has what is not synced here.
            durability: Durability::None,
            environment: Environment::stepped(Arc::clone(&self.clock)),
            shared_budget: Some((*self.budget).clone()),
            log_file_bytes: LOG_FILE_BYTES,
            checkpoint_after_bytes: CHECKPOINT_AFTER_BYTES,
            own_groups: Some(own),
            ..OpenOptions::default()
        };
        StorePartition::new(OpenStore::open(directory, &options)?)
    }

    /// Waits until the node has joined. A node that still reads what it has missed is waited for, however much that is.
    fn join(&self, handle: &NodeHandle<Node>, patience: Duration) -> Result<NodeStatus> {
        let mut applied = None;
        loop {
            let until = self.clock.now().saturating_add(patience);
            let outcome = self.monitor.wait_for_joining(until, &*self.clock);
            if let JoinOutcome::Stopped(reason) = &outcome {
                if let Some(known) = reason.known_incarnation {
                    // Once no other process is this node, the next start is not refused for that.
                    skip_to(&*self.directory, known)?;
                }
                return Err(reason.error());
            }
            let Some(status) = ask_status(handle, &*self.clock) else {
                let busy = Error::new(ErrorKind::Busy, "the thread of the node does not answer");
                return self.monitor.explain(Err(busy));
            };
            if outcome == JoinOutcome::Joined {
                return Ok(status);
            }
            let position = status.log.applied.position;
            if applied.replace(position) == Some(position) || status.log.failure.is_some() {
                return Err(self.not_joined(&status, patience));
            }
        }
    }

    fn not_joined(&self, status: &NodeStatus, patience: Duration) -> Error {
        let node = self.own.node.0;
        let (kind, why) = join_failure(status, self.monitor.last_failure().as_deref());
        let endpoints: Vec<String> = self.own.etcd.endpoints.iter().map(ToString::to_string).collect();
        Error::new(
            kind,
            format!(
                "node {node} has not joined its cluster in {patience:?}: {why} (etcd at {})",
                endpoints.join(", ")
            ),
        )
    }
}

/// How the node is, if its thread says so in time.
pub(super) fn ask_status(handle: &NodeHandle<Node>, clock: &dyn Clock) -> Option<NodeStatus> {
    let (teller, waiter) = one_answer();
    // Refused, the teller is dropped.
    let _ = handle.call(move |node, now| teller.tell(node.status(now)));
    match waiter.wait(clock.now().saturating_add(STATUS_PATIENCE), clock, &WaitLimit::default()) {
        Waited::Came(status) => Some(status),
        Waited::Never | Waited::TimedOut => None,
    }
}

fn thread_name(own: &NodeDescription) -> String {
    format!("node-{}", own.node.0)
}

fn no_thread(own: &NodeDescription, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("start the threads of node {}: {error}", own.node.0)).because(error)
}
