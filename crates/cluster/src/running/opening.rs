//! Opening: from the folder of a node to its threads.
//!
//! ```text
//! cluster.toml, node.toml ──> lock ──> certificate, access to the log        what an operator can get wrong, first
//!   checkpoint, or the first state ──> starts + 1 ──> partitions/NNNN        the files of the node; what it lacks, from others
//!   log, network, workers ──> thread of the node ──> checkpoints, steps      threads; wait until it has joined
//! ```
//!
//! A partition whose files are damaged, or that has less than the checkpoint, is copied from another node ([`crate::running::recovery`]),
//! and left out if none gives it; the start ends if all who keep it lack it. Whatever else keeps a partition from being opened is of
//! this machine, and ends the start, too.
//!
//! A start that fails since it lacked something, or had the number of an earlier one, is tried once more. It does not take the place of
//! a process that joined as the same node after this one began.

mod partitions;

use crate::copy::fetch::{Fetch, WakeSignal};
use crate::copy::log_probe::probe_log;
use crate::copy::message::CopyId;
use crate::copy::outgoing::{CopyLimits, OutgoingCopies};
use crate::copy::starting_source::StartingSource;
use crate::digest::SeenLog;
use crate::engine::graph_node::GraphNode;
use crate::log::packer::PackerLimits;
use crate::log_position::LogPosition;
use crate::node::answer_workers::{AnswerWorkers, AnswerWorkersOptions};
use crate::node::apply::Applier;
use crate::node::checkpoint_writer::{CheckpointOptions, CheckpointWriter};
use crate::node::incarnation::{NodeStart, count_start, skip_to};
use crate::node::node_loop::NodeLoop;
use crate::node::node_status::NodeStatus;
use crate::node::node_thread::{NodeBell, NodeHandle, NodeThread};
use crate::node::owned_node::{OwnedNode, StageEnvironment};
use crate::node::peer_loop::{PeerLoop, PeerOptions};
use crate::node::seen_file;
use crate::node::store_partition::StorePartition;
use crate::node::store_steps::StoreSteps;
use crate::record_id::Author;
use crate::running::description::ClusterDescription;
use crate::running::join_failure::join_failure;
use crate::running::link_reports::report_links;
use crate::running::log_access::AnyLog;
use crate::running::monitor::{JoinOutcome, NodeMonitor};
use crate::running::node_description::NodeDescription;
use crate::running::periodic_thread::PeriodicThread;
use crate::running::recovery::{Recovery, StartState, TELL_INTERVAL};
use crate::running::report::{NodeReport, OnReport};
use crate::running::seen_writer::write_seen;
use crate::running::status::UnusablePartition;
use crate::running::watched_node::WatchedNode;
use crate::transaction::coordinator::{Coordinator, CoordinatorOptions};
use crate::transaction::one_answer::{Waited, one_answer};
use crate::transport::tcp::identity::NodeIdentity;
use crate::transport::tcp::monitor::NetworkMonitor;
use crate::transport::tcp::options::TcpOptions;
use crate::transport::tcp::transport::TcpTransport;
use crate::travel::travel_options::TravelOptions;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::stage_programs::StagePrograms;
use evergraph_graph::wait_limit::WaitLimit;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::clock::{Clock, SystemClock};
use evergraph_storage::io::directory::{Directory, LockGuard};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::random::{Random as _, SplitMix64};
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::unfinished_directory::LOCK_NAME;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long the thread of a node may take to say how it is.
pub(super) const STATUS_PATIENCE: Duration = Duration::from_secs(5);

/// How long the log may take to say where it begins: if it takes longer, the node finds out when it reads.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

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
    _links: PeriodicThread,
    _seen: PeriodicThread,
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
    let mut attempt = StartAttempt::default();
    let opening = begin(folder, on_report.clone())?;
    let error = match opening.start(join_patience, work.clone(), &mut attempt) {
        Ok(opened) => return Ok(opened),
        Err(error) if !attempt.again => return Err(error),
        Err(error) => error,
    };
    if let Some(on_report) = &on_report {
        on_report(&NodeReport::notice(format!("the node starts once more: {error}")));
    }
    // Once: what it lacked then came from other nodes, or is copied now.
    attempt.began_at.get_or_insert(LogPosition::START);
    attempt.again = false;
    begin(folder, on_report)?.start(join_patience, work, &mut attempt)
}

/// A try to start, of which a process makes two at most.
#[derive(Debug, Default)]
struct StartAttempt {
    /// Where the log ended when the process began, if it said so: the process does not take the place of one that joined later as the
    /// same node. [`LogPosition::START`] if it did not, and this is the second try.
    began_at: Option<LogPosition>,
    /// What the process gave itself out for in the try before.
    earlier: Option<NodeStart>,
    /// After it has failed: whether there is a second one.
    again: bool,
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
    fn start(
        mut self,
        join_patience: Duration,
        NodeWork { coordinator: coordinator_options, stages }: NodeWork,
        attempt: &mut StartAttempt,
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
        let name = thread_name(&self.own);
        let copies = OutgoingCopies::new(
            &name,
            CopyLimits::default(),
            Arc::clone(&self.directory),
            Arc::clone(&clock),
            signal.waker(),
        );
        let fetch = Fetch::new(transport, self.own.node, Arc::clone(&signal), &*clock, first_copy);
        let mut recovery = Recovery {
            folder: self.folder,
            directory: &*directory,
            own: self.own.node,
            salt: self.description.salt,
            clock: &*clock,
            monitor: &monitor,
            patience: join_patience,
            fetch: fetch.giving(StartingSource::new(copies)),
            silent: BTreeSet::new(),
        };
        let StartState { state, is_copied } = recovery.state(
            || self.description.first_state(),
            |applied| {
                let probe = probe_log(&mut log, applied, &signal, &*clock, PROBE_PATIENCE);
                attempt.began_at = attempt.began_at.or(probe.end);
                probe.reach
            },
        )?;
        let start = count_start(&*self.directory, self.own.node, &mut random)?;
        let applied = state.certifier().digests().clone();
        recovery.starts_from(&state);
        let noted = seen_file::read(&*self.directory, self.description.salt)?;
        let mut applier = Applier::new(state).having_noted(noted);
        self.keep_partitions(&mut applier, &mut recovery)?;
        let (transport, source) = recovery.fetch.into_parts();
        let on_log = NodeLoop::new(start, address.into(), PackerLimits::default(), applier, log);
        let earlier = attempt.earlier.replace(start);
        let on_log = match attempt.began_at {
            Some(end) => on_log.having_begun_at(end, earlier),
            None => on_log,
        };
        let no_thread = |error: io::Error| no_thread(&self.own, error);
        let workers =
            AnswerWorkers::start(&name, AnswerWorkersOptions::default(), Arc::clone(&clock), bell.waker())
                .map_err(no_thread)?;
        let peers = PeerLoop::new(start.author, PeerOptions::default(), &applied, transport, workers);
        let readers = peers.readers().clone();
        let mut owned = OwnedNode::new(on_log, peers, self.monitor.listener())
            .giving_copies(Box::new(source.into_copies()));
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
        let shared_tables = tables.clone();
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
        let links = report_links(&format!("{name}-links"), network.clone(), self.monitor.clone());
        let links = links.map_err(no_thread)?;
        let seen = write_seen(
            &format!("{name}-seen"),
            Arc::clone(&self.directory),
            self.description.salt,
            shared_tables,
            noted.unwrap_or(SeenLog::START),
            self.monitor.clone(),
        );
        let seen = seen.map_err(no_thread)?;
        let joined = self.join(&handle, join_patience);
        if joined.is_err()
            && let Some(reason) = self.monitor.stopped()
        {
            // What another node saved may be older than the last start of this one. If nobody knows whether what joined is that, or a
            // process that began later, somebody has to look.
            let is_own = reason.known_incarnation.is_some() && !reason.is_overtaken;
            attempt.again = reason.is_behind || (is_copied && is_own && attempt.began_at.is_some());
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
                _seen: seen,
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

    /// Waits until the node has joined. A node that still reads what it has missed is waited for, however much that is.
    fn join(&self, handle: &NodeHandle<Node>, patience: Duration) -> Result<NodeStatus> {
        let mut applied: Option<LogPosition> = None;
        let mut ends_at = self.clock.now().saturating_add(patience);
        loop {
            let until = ends_at.min(self.clock.now().saturating_add(TELL_INTERVAL));
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
            let (position, now) = (status.log.applied.position, self.clock.now());
            let before = applied.replace(position);
            if before != Some(position) && status.log.failure.is_none() {
                ends_at = now.saturating_add(patience);
                if before.is_some() {
                    let end = status.log.end;
                    let text = format!("the log is read through {position}, of {end} at least");
                    self.monitor.report(&NodeReport::progress(text));
                }
            } else if now >= ends_at {
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
