//! Opening: from the folder of a node to its threads.
//!
//! ```text
//! cluster.toml, node.toml ──> lock ──> certificate, access to the log        what an operator can get wrong, first
//!   checkpoint, or the first state ──> starts + 1 ──> partitions/NNNN        the files of the node; what it lacks, from others
//!   log, network, workers ──> thread of the node ──> checkpoints, steps      threads; wait until it has joined
//! ```
//!
//! A partition whose files are damaged, or that has less than the checkpoint, is copied from another node ([`crate::running::recovery`]),
//! and left out if none gives it. Whatever else keeps a partition from being opened is of this machine, and ends the start.

use crate::copy::fetch::{Fetch, WakeSignal};
use crate::copy::log_probe::probe_log;
use crate::copy::message::CopyId;
use crate::copy::outgoing::{CopyLimits, OutgoingCopies};
use crate::engine::graph_node::GraphNode;
use crate::log::packer::PackerLimits;
use crate::node::answer_workers::{AnswerWorkers, AnswerWorkersOptions};
use crate::node::apply::Applier;
use crate::node::checkpoint_writer::{CheckpointOptions, CheckpointWriter};
use crate::node::incarnation::{count_start, skip_to};
use crate::node::node_loop::NodeLoop;
use crate::node::node_status::NodeStatus;
use crate::node::node_thread::{NodeBell, NodeHandle, NodeThread};
use crate::node::owned_node::{OwnedNode, StageEnvironment};
use crate::node::peer_loop::{PeerLoop, PeerOptions};
use crate::node::store_partition::StorePartition;
use crate::node::store_steps::StoreSteps;
use crate::record_id::{Author, NodeId};
use crate::running::description::ClusterDescription;
use crate::running::join_failure::join_failure;
use crate::running::link_reports::LinkReports;
use crate::running::log_access::AnyLog;
use crate::running::monitor::{JoinOutcome, NodeMonitor};
use crate::running::node_description::NodeDescription;
use crate::running::partition_folders::PartitionFolders;
use crate::running::recovery::{CopiedPartition, Recovery, StartState};
use crate::running::report::{NodeReport, OnReport};
use crate::running::status::UnusablePartition;
use crate::running::watched_node::WatchedNode;
use crate::transaction::coordinator::{Coordinator, CoordinatorOptions};
use crate::transaction::one_answer::{Waited, one_answer};
use crate::transport::interface::Transport;
use crate::transport::tcp::identity::NodeIdentity;
use crate::transport::tcp::monitor::NetworkMonitor;
use crate::transport::tcp::options::TcpOptions;
use crate::transport::tcp::transport::TcpTransport;
use crate::travel::travel_options::TravelOptions;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::stage_programs::StagePrograms;
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
use std::collections::{BTreeMap, BTreeSet};
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

/// How long the log may take to say where it begins: if it takes longer, the node finds out when it reads.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

/// Partitions that are opened at a time.
const OPENING_THREADS_MAX: usize = 8;

/// A partition.
type Partition = StorePartition<MemoryEngine>;

/// A node, as its thread owns it.
pub(super) type Node = OwnedNode<Partition, Box<dyn AnyLog>, TcpTransport, AnswerWorkers>;

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

/// What a node does for those who use it, beside keeping partitions.
#[derive(Clone)]
pub(super) struct NodeWork {
    /// How its transactions wait and read.
    pub(super) coordinator: CoordinatorOptions,
    /// What runs stages of queries here; without it none travel.
    pub(super) stages: Option<Arc<dyn StagePrograms>>,
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
    work: NodeWork,
    on_report: Option<OnReport>,
) -> Result<OpenedNode> {
    let opening = begin(folder, on_report.clone())?;
    match opening.start(join_patience, work.clone()) {
        Ok(opened) => Ok(opened),
        Err((error, false)) => Err(error),
        // Once: what it lacked then came from other nodes, or is copied now.
        Err((_, true)) => begin(folder, on_report)?.start(join_patience, work).map_err(|(error, _)| error),
    }
}

/// Takes the folder.
fn begin(folder: &Path, on_report: Option<OnReport>) -> Result<Opening<'_>> {
    // Before the lock, whose file would be the first thing of ours in somebody else's folder.
    let (description, own) = (ClusterDescription::read(folder)?, NodeDescription::read(folder)?);
    let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open(folder)?);
    let lock = directory.lock_exclusive(LOCK_NAME).map_err(|error| {
        let error = Error::from(error);
        Error::new(error.kind(), format!("run node {} here: {error}", own.node.0)).because(error)
    })?;
    Ok(Opening {
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
    })
}

impl Opening<'_> {
    /// # Errors
    /// With whether the node is to be started once more.
    fn start(
        self,
        join_patience: Duration,
        work: NodeWork,
    ) -> std::result::Result<OpenedNode, (Error, bool)> {
        let mut again = false;
        self.try_start(join_patience, work, &mut again).map_err(|error| (error, again))
    }

    fn try_start(
        mut self,
        join_patience: Duration,
        NodeWork { coordinator: coordinator_options, stages }: NodeWork,
        again: &mut bool,
    ) -> Result<OpenedNode> {
        let address = self.address()?;
        let identity = NodeIdentity::read(self.description.id(), self.own.node, &self.own.identity)?;
        let bell = NodeBell::<Node>::new();
        // Until the node has its thread, this one waits.
        let signal = Arc::new(WakeSignal::before(bell.waker()));
        let mut log = self.own.log.open(self.description.log_key(), signal.waker())?;
        let mut random = SplitMix64::from_system().map_err(|error| {
            Error::new(ErrorKind::Io, format!("ask the system for random bytes: {error}")).because(error)
        })?;
        let network_options = TcpOptions { seed: random.next_u64(), ..TcpOptions::default() };
        let listen = self.own.listen_at(&address);
        // Before the start is counted, so that what stands in its way is found first.
        let transport = TcpTransport::start(listen, identity, network_options, signal.waker())?;
        let network = transport.monitor();

        let (clock, directory, monitor) =
            (Arc::clone(&self.clock), Arc::clone(&self.directory), self.monitor.clone());
        let first_copy = CopyId(random.next_u64());
        let mut recovery = Recovery {
            folder: self.folder,
            directory: &*directory,
            own: self.own.node,
            salt: self.description.salt,
            clock: &*clock,
            monitor: &monitor,
            patience: join_patience,
            fetch: Fetch::new(transport, self.own.node, Arc::clone(&signal), &*clock, first_copy),
            silent: BTreeSet::new(),
        };
        let StartState { state, is_copied } = recovery.state(
            || self.description.first_state(),
            |applied| probe_log(&mut log, applied, &signal, &*clock, PROBE_PATIENCE),
        )?;
        let start = count_start(&*self.directory, self.own.node, &mut random)?;
        let applied = state.certifier().digests().clone();
        recovery.starts_from(&state);
        let mut applier = Applier::new(state);
        self.keep_partitions(&mut applier, &mut recovery)?;
        let transport = recovery.fetch.into_transport();
        let on_log = NodeLoop::new(start, address.into(), PackerLimits::default(), applier, log);
        let name = thread_name(&self.own);
        let no_thread = |error: io::Error| no_thread(&self.own, error);
        let workers =
            AnswerWorkers::start(&name, AnswerWorkersOptions::default(), Arc::clone(&clock), bell.waker())
                .map_err(no_thread)?;
        let peers = PeerLoop::new(start.author, PeerOptions::default(), &applied, transport, workers);
        let readers = peers.readers().clone();
        let copies = OutgoingCopies::new(
            &name,
            CopyLimits::default(),
            Arc::clone(&self.directory),
            Arc::clone(&clock),
            bell.waker(),
        );
        let mut owned =
            OwnedNode::new(on_log, peers, self.monitor.listener()).giving_copies(Box::new(copies));
        let environment = stages.map(|programs| StageEnvironment {
            programs,
            budget: Arc::<MemoryBudget>::clone(&self.budget),
            clock: Arc::clone(&clock),
            waker: bell.waker(),
            options: TravelOptions::default(),
        });
        let queries = environment.map(|environment| owned.run_stages(&name, environment)).transpose();
        let queries = queries.map_err(no_thread)?;
        let (tables, own_partitions) = (owned.tables().clone(), owned.own_partitions().clone());
        let node = bell.start(&name, Arc::clone(&clock), owned).map_err(no_thread)?;
        let handle = node.handle();
        let coordinator =
            Coordinator::new(handle.clone(), readers, tables, Arc::clone(&clock), coordinator_options)
                .reading_own(own_partitions);
        let coordinator = match queries {
            Some(queries) => coordinator.travelling(queries),
            None => coordinator,
        };
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
        let joined = self.join(&handle, join_patience);
        if joined.is_err()
            && let Some(reason) = self.monitor.stopped()
        {
            // What another node saved may be older than the last start of this one.
            *again = reason.is_behind || (is_copied && reason.known_incarnation.is_some());
        }
        let status = joined?;
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

    /// Has the node keep its partitions. Those that it cannot use are copied from others, or left out.
    fn keep_partitions<T: Transport>(
        &mut self,
        applier: &mut Applier<Partition>,
        recovery: &mut Recovery<'_, T>,
    ) -> Result<()> {
        let folders = PartitionFolders::new(self.folder.join(PARTITIONS_FOLDER));
        folders.clean()?;
        let kept = applier.state().tables().placement().kept_by(self.own.node);
        let kept: Vec<PartitionId> = kept.map(|(partition, _)| partition).collect();
        let mut lacking = BTreeMap::new();
        for (partition, opened) in self.open_partitions(&folders, &kept) {
            match self.keep(partition, opened, applier, false)? {
                Some(reason) => drop(lacking.insert(partition, reason)),
                // Of a start that was interrupted before it had opened its copy.
                None => folders.remove_old(partition)?,
            }
        }
        let count = lacking.len();
        for (number, (partition, reason)) in (1..).zip(lacking) {
            let what = format!("partition {} ({number} of {count})", partition.0);
            self.monitor.report(&NodeReport::warning(format!("{what} cannot be used: {reason}")));
            if let Some(why) = self.copy(&folders, partition, &what, applier, recovery)? {
                let reason = format!("{reason}, and no other node gave it: {why}");
                let text = format!("partition {} is left out: {reason}", partition.0);
                self.monitor.report(&NodeReport::failure(text));
                self.unusable.push(UnusablePartition { partition, reason });
            }
        }
        Ok(())
    }

    /// Has the node keep a partition; or says why it cannot be used.
    fn keep(
        &mut self,
        partition: PartitionId,
        opened: Result<Partition>,
        applier: &mut Applier<Partition>,
        is_copy: bool,
    ) -> Result<Option<String>> {
        match opened {
            Ok(store) => {
                let stepped = Arc::clone(store.opened());
                let kept = match is_copy {
                    true => applier.keep_copy(partition, store),
                    false => applier.keep(partition, store),
                };
                Ok(match kept {
                    Ok(()) => {
                        self.steps.add(partition, stepped);
                        None
                    }
                    Err(error) => Some(error.to_string()),
                })
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Some(error.to_string())),
            Err(error) => {
                let text = format!("open partition {}: {error}", partition.0);
                Err(Error::new(error.kind(), text).because(error))
            }
        }
    }

    /// Has the node keep a copy of a partition that it could not use; or says why nobody gave one.
    fn copy<T: Transport>(
        &mut self,
        folders: &PartitionFolders,
        partition: PartitionId,
        what: &str,
        applier: &mut Applier<Partition>,
        recovery: &mut Recovery<'_, T>,
    ) -> Result<Option<String>> {
        let at_least = applier.state().seen().position;
        let serving = applier.state().tables().placement().serving(partition);
        let mut sources: Vec<NodeId> = serving.filter(|node| *node != self.own.node).collect();
        // A node that has lost everything asks all the others for their share.
        let count = sources.len().max(1);
        sources.rotate_left(usize::from(partition.0) % count);
        let mut reasons = Vec::new();
        loop {
            match recovery.copy_partition(folders, partition, &sources, at_least, what)? {
                CopiedPartition::NotCopied(why) => {
                    folders.put_old_back(partition)?;
                    reasons.push(why);
                    return Ok(Some(reasons.join("; ")));
                }
                CopiedPartition::InPlace(source) => {
                    let unusable = match self.open_partition(folders, partition) {
                        // It is the copy's own fault, unless this machine says no.
                        Err(error) if !matches!(error.kind(), ErrorKind::Limit | ErrorKind::Io) => {
                            Some(error.to_string())
                        }
                        opened => self.keep(partition, opened, applier, true)?,
                    };
                    match unusable {
                        None => {
                            folders.remove_old(partition)?;
                            return Ok(None);
                        }
                        Some(reason) => {
                            reasons.push(format!("the copy of node {} cannot be used: {reason}", source.0));
                            sources.retain(|node| *node != source);
                        }
                    }
                }
            }
        }
    }

    /// Opens partitions, several at a time: each reads its bodies and its log by one thread.
    fn open_partitions(
        &self,
        folders: &PartitionFolders,
        partitions: &[PartitionId],
    ) -> Vec<(PartitionId, Result<Partition>)> {
        let threads =
            std::thread::available_parallelism().map_or(1, |count| count.get().min(OPENING_THREADS_MAX));
        let (next, opened) = (Mutex::new(partitions.iter()), Mutex::new(Vec::new()));
        let open = || {
            loop {
                let Some(partition) = next.lock().next().copied() else { return };
                let result = self.open_partition(folders, partition);
                opened.lock().push((partition, result));
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(open)));
            open();
        });
        std::mem::take(&mut *opened.lock())
    }

    fn open_partition(&self, folders: &PartitionFolders, partition: PartitionId) -> Result<Partition> {
        let own = OwnGroups::new(partition, self.description.partitions);
        let own = own.ok_or_else(|| Error::invalid("the cluster has fewer partitions"))?;
        let path = folders.path(partition);
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
        let log = &self.own.log;
        Error::new(
            kind,
            format!(
                "node {node} has not joined its cluster in {patience:?}: {why} ({} at {})",
                log.engine(),
                log.servers().join(", ")
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
