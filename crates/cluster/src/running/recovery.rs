//! Recovery: what a node lacks when it starts comes from other nodes, before it joins.
//!
//! ```text
//! the log begins behind what the node has applied     ──> the newest checkpoint of another node, C; all from there on as ever
//!   (its disk was lost, or it was away for too long)
//! a partition is missing, damaged, or behind C        ──> a copy of it, at C or later, from a node that serves it
//! ```
//!
//! Nothing has to be remembered between two starts: each looks at what there is. A start that was interrupted has left the state of C,
//! which makes partitions that are older lack something; and partitions that were copied are at C or later, and are not copied again.
//!
//! A copy is not believed: it says which log it has, and the node reads the log up to there before anybody reads the copy
//! ([`crate::node::kept_partition`]). So is the state: messages that it has are read again ([`crate::log::reader`]).
//!
//! Until it has joined, the node tells others from where on it needs the log ([`crate::copy::fetch`]). And it gives them what it has
//! itself ([`crate::copy::starting_source`]): nodes may lack something of each other.

use crate::copy::fetch::{Fetch, FetchNews, FetchProgress, Fetched, not_copied};
use crate::copy::log_probe::LogReach;
use crate::copy::message::{CopyRefusal, CopySubject};
use crate::copy::received_files::ReceivedFiles;
use crate::copy::starting_source::StartingSource;
use crate::digest::DigestWindow;
use crate::key_hash::graph_salt::GraphSalt;
use crate::log::reader::{LogReader, ReadError};
use crate::log_position::LogPosition;
use crate::node::checkpoint;
use crate::node::incarnation::skip_to;
use crate::node::replicated_state::ReplicatedState;
use crate::record_id::NodeId;
use crate::running::monitor::{AWAY_TOO_LONG, NodeMonitor};
use crate::running::partition_folders::PartitionFolders;
use crate::running::report::NodeReport;
use crate::transport::interface::Transport;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Where the state of another node comes.
const STATE_FOLDER: &str = "node_state.copy";

/// How often the log may be trimmed while the state comes before that is an error.
const STATES_MAX: usize = 3;

/// How often an operator is told how far a copy is.
pub(super) const TELL_INTERVAL: Duration = Duration::from_secs(10);

/// What a start gets from others.
pub(super) struct Recovery<'a, T> {
    pub(super) folder: &'a Path,
    pub(super) directory: &'a dyn Directory,
    pub(super) own: NodeId,
    pub(super) salt: GraphSalt,
    pub(super) clock: &'a dyn Clock,
    pub(super) monitor: &'a NodeMonitor,
    /// How long nothing may come before the node goes on without it.
    pub(super) patience: Duration,
    pub(super) fetch: Fetch<'a, T, StartingSource<MemoryEngine>>,
    /// Nodes that said nothing at all: nobody waits for them again.
    pub(super) silent: BTreeSet<NodeId>,
}

/// What became of a partition.
pub(super) enum CopiedPartition {
    /// The copy of this node is in its place.
    InPlace(NodeId),
    /// Nobody gave it.
    NotCopied(NotCopied),
}

/// Why nobody gave a partition.
pub(super) struct NotCopied {
    /// In words.
    pub(super) reason: String,
    /// Whether each of the nodes that serve it lacks it itself.
    pub(super) is_lost: bool,
}

/// What the node starts from.
pub(super) struct StartState {
    pub(super) state: ReplicatedState,
    /// Whether it came from another node.
    pub(super) is_copied: bool,
}

impl<T: Transport> Recovery<'_, T> {
    /// What follows from the log as of the newest checkpoint that the log goes on from: that of this node, or of another one.
    /// `first` is that of a new cluster, and `reach` says whether the log goes on.
    ///
    /// # Errors
    /// `corrupt`, `io`, and `limit` if the disk is full. `io` if nobody gives what the log does not have.
    pub(super) fn state(
        &mut self,
        first: impl Fn() -> ReplicatedState,
        mut reach: impl FnMut(&DigestWindow) -> LogReach,
    ) -> Result<StartState> {
        let mut copied = 0;
        // What a start left that was interrupted.
        remove_folder(&self.folder.join(STATE_FOLDER))?;
        loop {
            let state = checkpoint::read(self.directory, self.salt)?.unwrap_or_else(&first);
            match reach(state.certifier().digests()) {
                LogReach::Enough | LogReach::Unknown => {
                    return Ok(StartState { state, is_copied: copied > 0 });
                }
                LogReach::Behind { next, first } => {
                    let behind = ReadError::Behind { next, first };
                    if copied == STATES_MAX {
                        let text = format!(
                            "{behind}: it was trimmed again and again while the node copied; start it again when less is written"
                        );
                        return Err(Error::new(ErrorKind::Io, text));
                    }
                    self.copy_state(&state, &behind, first)?;
                    copied += 1;
                }
            }
        }
    }

    /// Takes the newest checkpoint of another node, from which the log goes on.
    fn copy_state(&mut self, known: &ReplicatedState, behind: &ReadError, first: LogPosition) -> Result<()> {
        self.fetch.set_members(known.tables().members());
        let mut sources = self.fetch.others().to_vec();
        let mut why = String::new();
        self.monitor.report(&NodeReport::warning(format!(
            "{behind}: what follows from it is copied from another node, and partitions that lack something"
        )));
        let folder = self.folder.join(STATE_FOLDER);
        let copy: Arc<dyn Directory> = Arc::new(DiskDirectory::open_or_create(&folder)?);
        while !sources.is_empty() {
            let mut files = ReceivedFiles::begin(Arc::clone(&copy))?;
            let mut told = TellTimes::new(self.clock.now());
            let (monitor, clock) = (self.monitor, self.clock);
            let mut tell =
                |news: FetchNews| told.tell(monitor, clock.now(), "what follows from the log", news);
            let fetched =
                self.fetch.copy(CopySubject::State, sources.clone(), self.patience, &mut files, &mut tell)?;
            let source = match fetched {
                Fetched::GivenUp { reasons, .. } => {
                    why.push_str(&reasons);
                    break;
                }
                Fetched::Copied(progress) => progress.source,
            };
            match self.take_state(&*copy, known, first) {
                Ok(()) => {
                    drop(files);
                    remove_folder(&folder)?;
                    let text = format!("what follows from the log is copied from node {}", source.0);
                    self.monitor.report(&NodeReport::notice(text));
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    why.push_str(&format!("node {}: {error}; ", source.0));
                    sources.retain(|node| *node != source);
                }
                Err(error) => return Err(error),
            }
        }
        remove_folder(&folder)?;
        if self.fetch.others().is_empty() {
            why = "the cluster has no other node".to_owned();
        }
        Err(not_copied(format!("{behind}. {AWAY_TOO_LONG}, and what follows from it"), &why))
    }

    /// Makes a state that came the checkpoint of this node.
    fn take_state(&self, copy: &dyn Directory, known: &ReplicatedState, first: LogPosition) -> Result<()> {
        let read = checkpoint::read(copy, self.salt)?;
        let state = read.ok_or_else(|| Error::new(ErrorKind::Corrupt, "what it gives is no checkpoint"))?;
        let position = state.seen().position;
        if position.next() < first || position <= known.seen().position {
            let text =
                format!("its checkpoint has the log through {position} only, and the log begins at {first}");
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        // First: a start from this state must not have the number of one that the others know.
        if let Some(known) = state.tables().members().incarnation(self.own) {
            skip_to(self.directory, known)?;
        }
        Ok(checkpoint::write(self.directory, &state)?)
    }

    /// The node starts from `state`: others are where that says, and keep the log for it.
    pub(super) fn starts_from(&mut self, state: &ReplicatedState) {
        let needed_from = LogReader::needed_from(state.certifier().digests());
        self.fetch.set_members(state.tables().members());
        self.fetch.needs_log_from(needed_from);
        self.fetch.source_mut().has_state(needed_from);
    }

    /// Does `work` in a thread of its own, and attends to others meanwhile.
    pub(super) fn beside<R: Send>(&mut self, work: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| {
            let worker = scope.spawn(work);
            self.fetch.attend_while(|| !worker.is_finished());
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Copies a partition, which nobody has open, from one of `sources`, with everything through `at_least`. `what` is it, for an
    /// operator.
    ///
    /// # Errors
    /// `limit` if the disk is full; `io`. The partition is what it was.
    pub(super) fn copy_partition(
        &mut self,
        folders: &PartitionFolders,
        partition: PartitionId,
        sources: &[NodeId],
        at_least: LogPosition,
        what: &str,
    ) -> Result<CopiedPartition> {
        let answering: Vec<NodeId> =
            sources.iter().copied().filter(|source| !self.silent.contains(source)).collect();
        if answering.is_empty() && !sources.is_empty() {
            let reason =
                "the nodes that serve it did not answer when they were asked for another one".to_owned();
            let is_lost = self.is_lost(partition, sources, &BTreeSet::new());
            return Ok(CopiedPartition::NotCopied(NotCopied { reason, is_lost }));
        }
        let copied = self.copy_files(folders, partition, answering, at_least, what);
        let discard = !matches!(copied, Ok(Fetched::Copied(_)));
        // What is left is removed by the next start.
        let discarded = if discard { folders.discard_copy(partition) } else { Ok(()) };
        match copied.map_err(|error| {
            let text = format!("copy partition {} from another node: {error}", partition.0);
            Error::new(error.kind(), text).because(error)
        })? {
            Fetched::Copied(progress) => {
                folders.put_in_place(partition)?;
                Ok(CopiedPartition::InPlace(progress.source))
            }
            Fetched::GivenUp { reasons, silent, lacking } => {
                discarded?;
                self.silent.extend(silent);
                let is_lost = self.is_lost(partition, sources, &lacking);
                Ok(CopiedPartition::NotCopied(NotCopied { reason: reasons, is_lost }))
            }
        }
    }

    /// Whether each node that serves a partition lacks it: it said so, or it has asked this one for the partition and ended.
    fn is_lost(&mut self, partition: PartitionId, sources: &[NodeId], lacking: &BTreeSet<NodeId>) -> bool {
        let askers = self.fetch.source_mut().askers(partition);
        let lacks =
            |source| lacking.contains(source) || (askers.contains(source) && self.silent.contains(source));
        !sources.is_empty() && sources.iter().all(lacks)
    }

    fn copy_files(
        &mut self,
        folders: &PartitionFolders,
        partition: PartitionId,
        sources: Vec<NodeId>,
        at_least: LogPosition,
        what: &str,
    ) -> Result<Fetched> {
        let mut files = ReceivedFiles::begin(folders.begin_copy(partition)?)?;
        let begun_at = self.clock.now();
        let mut told = TellTimes::new(begun_at);
        let (monitor, clock) = (self.monitor, self.clock);
        let mut tell = |news: FetchNews| told.tell(monitor, clock.now(), what, news);
        let subject = CopySubject::Partition { partition, at_least };
        let fetched = self.fetch.copy(subject, sources, self.patience, &mut files, &mut tell)?;
        if let Fetched::Copied(FetchProgress { source, bytes_done, .. }) = fetched {
            let seconds = self.clock.now().saturating_sub(begun_at).as_secs_f64();
            self.monitor.report(&NodeReport::notice(format!(
                "{what} is copied: {:.1} MiB from node {} in {seconds:.1} s",
                mebibytes(bytes_done),
                source.0
            )));
        }
        Ok(fetched)
    }
}

/// When an operator was told how far a copy is.
struct TellTimes {
    tells_at: Duration,
    source: Option<NodeId>,
    /// Who is waited for, and why.
    waits: Option<(NodeId, CopyRefusal)>,
}

impl TellTimes {
    fn new(now: Duration) -> Self {
        Self { tells_at: now.saturating_add(TELL_INTERVAL), source: None, waits: None }
    }

    fn tell(&mut self, monitor: &NodeMonitor, now: Duration, what: &str, news: FetchNews) {
        let is_due = now >= self.tells_at;
        match news {
            FetchNews::Copies(FetchProgress { source, bytes_done, bytes_total }) => {
                self.waits = None;
                if self.source.replace(source) != Some(source) {
                    monitor.report(&NodeReport::progress(format!("copies {what} from node {}", source.0)));
                } else if is_due {
                    self.tells_at = now.saturating_add(TELL_INTERVAL);
                    monitor.report(&NodeReport::progress(format!(
                        "copies {what} from node {}: {:.1} of at most {:.1} MiB",
                        source.0,
                        mebibytes(bytes_done),
                        mebibytes(bytes_total)
                    )));
                }
            }
            FetchNews::Waits { source, reason } => {
                self.source = None;
                let waits = Some((source, reason));
                if is_due || self.waits.is_none() {
                    self.tells_at = now.saturating_add(TELL_INTERVAL);
                    let reason = waits.as_ref().map_or_else(String::new, |(_, reason)| reason.to_string());
                    let text = format!("{what} is not copied yet from node {}: {reason}", source.0);
                    monitor.report(&NodeReport::progress(text));
                }
                self.waits = waits;
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "for somebody who reads it")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::new(ErrorKind::Io, format!("remove {}: {error}", folder.display())).because(error))
        }
        _ => Ok(()),
    }
}
