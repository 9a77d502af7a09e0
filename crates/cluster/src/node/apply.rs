//! Apply: the messages of the log in order, into what follows from them and into the partitions that a node keeps.
//!
//! ```text
//!                 checkpoint C          partition's files          now
//! state           ───────┼──────────────────────┼───────────────────┼──> every record from C on
//! partition              ┊   has this already   ┊      installs     ┊
//!                        └┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┘ proved here: is its digest that of the log?
//! ```
//!
//! A checkpoint makes each partition durable, then what follows from the log. So partitions are ahead of the rest after a crash,
//! each as far as its own files reach; and so is a copy that another node made. Such a partition skips what it has. When its
//! node comes to the message where it ends, its digest must be that of the log: else it holds what was lost, or was copied from
//! somebody who had read another log, and nobody may read it. Of this message it may lack some commits, which follow now.
//! A partition that is behind the state cannot be used: what it lacks may be trimmed.
//!
//! A partition that no commit of a message concerns is not touched by it. What it has installed is published when somebody
//! reads there, and at a checkpoint.
//!
//! Partitions are independent of each other. Here they install one after the other; each needs its own mutations only, so
//! that threads may share them. One that has no room, or fails, changes nothing for the others, nor for what the node decides
//! ([`crate::node::kept_partition`]). But no further message is applied while one has no room: what it waits for would grow.

use crate::digest::SeenLog;
use crate::log::reader::{LogReader, ReadMessage};
use crate::log_position::LogPosition;
use crate::node::apply_error::ApplyError;
use crate::node::checkpoint;
use crate::node::kept_partition::{KeptPartition, PartitionEvent, PartitionSave};
use crate::node::partition_store::PartitionStore;
use crate::node::replicated_state::{AppliedRecord, DecidedMessage, ReplicatedState};
use crate::planted::{Bug, planted};
use crate::record_id::Author;
use evergraph_graph::id::PartitionId;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::Directory;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// A message, applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppliedMessage {
    /// The log through it.
    pub seen: SeenLog,
    /// Who wrote it.
    pub author: Author,
    /// What became of its records.
    pub records: Vec<AppliedRecord>,
}

/// Applies the log of one graph on one node.
#[derive(Debug)]
pub struct Applier<P> {
    state: ReplicatedState,
    partitions: BTreeMap<PartitionId, KeptPartition<P>>,
    /// What happened to partitions, until somebody takes it.
    events: Vec<PartitionEvent>,
    /// The first message that a start from the newest checkpoint needs.
    needed_from: LogPosition,
    /// How often a partition was kept or given up.
    changes: u64,
}

/// Why a checkpoint was not made: the one before is valid.
#[derive(Debug)]
#[non_exhaustive]
pub enum SaveError {
    /// The store of a partition could not make durable what it has.
    Store(ApplyError),
    /// The store of a partition has no room for what the node has applied: a start from there would lack it. Once the partition
    /// has resumed a checkpoint can be made.
    Stalled {
        /// Which partition.
        partition: PartitionId,
    },
    /// A partition has failed meanwhile. If the node starts again now, from the checkpoint before, the partition may open and
    /// catch up; the next checkpoint goes on without it.
    Failed {
        /// Which partition.
        partition: PartitionId,
    },
    /// The file of what follows from the log.
    State(CheckpointError),
}

impl<P: PartitionStore> Applier<P> {
    /// Goes on after `state`, as a checkpoint has it, or as the cluster was created with. No partition is kept yet.
    #[must_use]
    pub fn new(state: ReplicatedState) -> Self {
        let needed_from = LogReader::needed_from(state.certifier().digests());
        Self { state, partitions: BTreeMap::new(), events: Vec::new(), needed_from, changes: 0 }
    }

    /// Keeps a partition from here on, which has installed as much of the log as this node has applied, or more: after a start,
    /// or as a copy from another node.
    ///
    /// # Errors
    /// [`ApplyError::Behind`], [`ApplyError::OtherLog`], [`ApplyError::Kept`]; it is not kept then.
    pub fn keep(&mut self, partition: PartitionId, store: P) -> Result<(), ApplyError> {
        if self.partitions.contains_key(&partition) {
            return Err(ApplyError::Kept { partition });
        }
        let (installed, applied) = (store.installed(), self.state.seen());
        if installed.through < applied.position.end() {
            let (installed, applied) = (installed.position(), applied.position);
            return Err(ApplyError::Behind { partition, installed, applied });
        }
        let ahead = match installed.position().cmp(&applied.position) {
            Ordering::Greater if !planted(Bug::PartitionAheadInstalled) => Some(installed),
            Ordering::Equal if installed.seen != applied && !planted(Bug::PartitionUnproved) => {
                return Err(ApplyError::OtherLog { partition, installed: installed.position() });
            }
            _ => None,
        };
        self.partitions.insert(partition, KeptPartition::new(partition, store, ahead));
        self.changes += 1;
        Ok(())
    }

    /// Keeps a partition no longer. This is how one that has failed is taken away: its copy may be kept then.
    pub fn give_up(&mut self, partition: PartitionId) -> Option<P> {
        self.changes += 1;
        self.partitions.remove(&partition).map(|kept| kept.store)
    }

    /// How often a partition was kept or given up: if this is what it was, so are the stores.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// What follows from the log.
    #[must_use]
    pub fn state(&self) -> &ReplicatedState {
        &self.state
    }

    /// The store of a partition, if it has what the node has applied, and no more. One that is ahead is not proved yet; one that
    /// has no room lacks something; one that has failed is out of use: these answer nothing. A snapshot may begin there at
    /// the end of any message that the node has applied.
    pub fn proved(&mut self, partition: PartitionId) -> Option<&P> {
        let seen = self.state.seen();
        let kept = self.partitions.get_mut(&partition)?;
        kept.is_proved(&seen, &mut self.events).then_some(&kept.store)
    }

    /// The partitions that are kept, ascending, with those that have failed.
    pub fn kept(&self) -> impl ExactSizeIterator<Item = PartitionId> {
        self.partitions.keys().copied()
    }

    /// The stores of all partitions that are kept, ascending, whatever each has installed.
    pub fn stores(&self) -> impl ExactSizeIterator<Item = (PartitionId, &P)> {
        self.partitions.iter().map(|(partition, kept)| (*partition, &kept.store))
    }

    /// The stores that have installed what concerns them of everything that the node has applied, and nothing more, ascending.
    /// What such a store has published may end earlier, at its newest commit: [`Applier::proved`] says to it that nothing
    /// follows.
    pub fn complete(&self) -> impl Iterator<Item = (PartitionId, &P)> {
        let complete = self.partitions.iter().filter(|(_, kept)| kept.is_complete());
        complete.map(|(partition, kept)| (*partition, &kept.store))
    }

    /// The partitions that have failed, ascending, and why. Each is out of use until it is given up.
    pub fn failed(&self) -> impl Iterator<Item = (PartitionId, &ApplyError)> {
        self.partitions.iter().filter_map(|(partition, kept)| Some((*partition, kept.failure()?)))
    }

    /// Whether some partition has no room for what the newest message commits.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.partitions.values().any(KeptPartition::is_waiting)
    }

    /// What happened to partitions since this was asked last, in the order in which it happened.
    pub fn take_events(&mut self) -> Vec<PartitionEvent> {
        std::mem::take(&mut self.events)
    }

    /// Where the log must begin for this node, should it start from its newest checkpoint.
    #[must_use]
    pub fn needed_from(&self) -> LogPosition {
        self.needed_from
    }

    /// Applies the next message of the log. What follows from it is decided in any case; what a partition makes of it is told
    /// by [`Applier::take_events`].
    ///
    /// # Panics
    /// If the message does not lie behind all that were applied, or a partition is stalled ([`Applier::is_stalled`]).
    pub fn apply(&mut self, read: ReadMessage) -> AppliedMessage {
        assert!(!self.is_stalled(), "message {} is applied while a partition is stalled", read.position);
        let mut decided = self.state.apply(read);
        for kept in self.partitions.values_mut() {
            kept.install(&mut decided, &mut self.events);
        }
        let DecidedMessage { seen, author, records, .. } = decided;
        AppliedMessage { seen, author, records }
    }

    /// Asks stalled partitions again. Whether none is stalled any more.
    pub fn resume(&mut self) -> bool {
        let seen = self.state.seen();
        for kept in self.partitions.values_mut() {
            kept.install_waiting(&seen, &mut self.events);
        }
        !self.is_stalled()
    }

    /// Saves everything: a start from here goes on after what was applied now. Partitions that had failed before are not part of
    /// it: from here on they lack what may be trimmed, and are copied.
    ///
    /// # Errors
    /// [`SaveError`]. A start finds the state of the checkpoint before, and partitions as they were then or are now.
    pub fn checkpoint(&mut self, directory: &dyn Directory) -> Result<(), SaveError> {
        if planted(Bug::StateSavedFirst) {
            checkpoint::write(directory, &self.state).map_err(SaveError::State)?;
        }
        let seen = self.state.seen();
        let mut stalled = None;
        for (partition, kept) in &mut self.partitions {
            let partition = *partition;
            match kept.checkpoint(&seen, &mut self.events).map_err(SaveError::Store)? {
                PartitionSave::Whole => {}
                PartitionSave::Stalled => stalled = stalled.or(Some(partition)),
                PartitionSave::Failed => return Err(SaveError::Failed { partition }),
            }
        }
        if let Some(partition) = stalled
            && !planted(Bug::StalledStateSaved)
        {
            return Err(SaveError::Stalled { partition });
        }
        checkpoint::write(directory, &self.state).map_err(SaveError::State)?;
        self.needed_from = LogReader::needed_from(self.state.certifier().digests());
        Ok(())
    }
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "{error}"),
            Self::Stalled { partition } => {
                write!(f, "no checkpoint now: partition {} has no room for what was applied", partition.0)
            }
            Self::Failed { partition } => {
                write!(f, "no checkpoint now: partition {} has failed", partition.0)
            }
            Self::State(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for SaveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => error.source(),
            Self::Stalled { .. } | Self::Failed { .. } => None,
            Self::State(error) => error.source(),
        }
    }
}
