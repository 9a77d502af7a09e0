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
//! that threads may share them.

use crate::digest::SeenLog;
use crate::log::reader::{LogReader, ReadMessage};
use crate::log_position::LogPosition;
use crate::node::apply_error::ApplyError;
use crate::node::checkpoint;
use crate::node::partition_store::{Installed, PartitionStore};
use crate::node::replicated_state::{AppliedRecord, DecidedMessage, ReplicatedState};
use crate::planted::{Bug, planted};
use crate::record_id::Author;
use evergraph_graph::id::PartitionId;
use evergraph_graph::timestamp::Timestamp;
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
    /// The first message that a start from the newest checkpoint needs.
    needed_from: LogPosition,
    has_failed: bool,
}

#[derive(Debug)]
struct KeptPartition<P> {
    store: P,
    /// What it has installed, until the node has applied as much.
    ahead: Option<Installed>,
}

/// Why a checkpoint was not made: the one before is valid.
#[derive(Debug)]
#[non_exhaustive]
pub enum SaveError {
    /// The node, or the store of a partition.
    Apply(ApplyError),
    /// The file of what follows from the log.
    State(CheckpointError),
}

impl<P: PartitionStore> Applier<P> {
    /// Goes on after `state`, as a checkpoint has it, or as the cluster was created with. No partition is kept yet.
    #[must_use]
    pub fn new(state: ReplicatedState) -> Self {
        let needed_from = LogReader::needed_from(state.certifier().digests());
        Self { state, partitions: BTreeMap::new(), needed_from, has_failed: false }
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
        self.partitions.insert(partition, KeptPartition { store, ahead });
        Ok(())
    }

    /// Keeps a partition no longer.
    pub fn give_up(&mut self, partition: PartitionId) -> Option<P> {
        self.partitions.remove(&partition).map(|kept| kept.store)
    }

    /// What follows from the log.
    #[must_use]
    pub fn state(&self) -> &ReplicatedState {
        &self.state
    }

    /// The store of a partition, if it has what the node has applied, and no more: one that is ahead is not proved yet, and
    /// answers nothing. A snapshot may begin there at the end of any message that the node has applied.
    ///
    /// # Errors
    /// [`ApplyError::Store`], and nothing can be applied any more; [`ApplyError::Stopped`].
    pub fn proved(&mut self, partition: PartitionId) -> Result<Option<&P>, ApplyError> {
        if self.has_failed {
            return Err(ApplyError::Stopped);
        }
        let seen = self.state.seen();
        let Some(kept) = self.partitions.get_mut(&partition).filter(|kept| kept.ahead.is_none()) else {
            return Ok(None);
        };
        let published = kept.publish(partition, &seen);
        self.has_failed = published.is_err();
        published?;
        Ok(Some(&kept.store))
    }

    /// The partitions that are kept, ascending.
    pub fn kept(&self) -> impl ExactSizeIterator<Item = PartitionId> {
        self.partitions.keys().copied()
    }

    /// Where the log must begin for this node, should it start from its newest checkpoint.
    #[must_use]
    pub fn needed_from(&self) -> LogPosition {
        self.needed_from
    }

    /// Applies the next message of the log.
    ///
    /// # Errors
    /// [`ApplyError`]. Nothing can be applied any more: the node starts again from its checkpoint, without the partition that
    /// the error names, if it is behind or of another log.
    ///
    /// # Panics
    /// If the message does not lie behind all that were applied.
    pub fn apply(&mut self, read: ReadMessage) -> Result<AppliedMessage, ApplyError> {
        if self.has_failed {
            return Err(ApplyError::Stopped);
        }
        // Whatever fails, the state has gone on already.
        let applied = self.apply_whole(read);
        self.has_failed = applied.is_err();
        applied
    }

    fn apply_whole(&mut self, read: ReadMessage) -> Result<AppliedMessage, ApplyError> {
        let decided = self.state.apply(read)?;
        for (partition, kept) in &mut self.partitions {
            kept.install(*partition, &decided)?;
        }
        let DecidedMessage { seen, author, records, .. } = decided;
        Ok(AppliedMessage { seen, author, records })
    }

    /// Saves everything: a start from here goes on after what was applied now.
    ///
    /// # Errors
    /// [`SaveError`]. A start finds the state of the checkpoint before, and partitions as they were then or are now.
    pub fn checkpoint(&mut self, directory: &dyn Directory) -> Result<(), SaveError> {
        if self.has_failed {
            return Err(SaveError::Apply(ApplyError::Stopped));
        }
        if planted(Bug::StateSavedFirst) {
            checkpoint::write(directory, &self.state).map_err(SaveError::State)?;
        }
        let seen = self.state.seen();
        for (partition, kept) in &mut self.partitions {
            // One that is ahead has all of this and more.
            if kept.ahead.is_none() {
                let published = kept.publish(*partition, &seen);
                self.has_failed = published.is_err();
                published.map_err(SaveError::Apply)?;
            }
            let saved = kept.store.checkpoint();
            let of_partition = |cause| ApplyError::Store { partition: *partition, cause };
            saved.map_err(of_partition).map_err(SaveError::Apply)?;
        }
        checkpoint::write(directory, &self.state).map_err(SaveError::State)?;
        self.needed_from = LogReader::needed_from(self.state.certifier().digests());
        Ok(())
    }
}

impl<P: PartitionStore> KeptPartition<P> {
    fn install(&mut self, partition: PartitionId, decided: &DecidedMessage) -> Result<(), ApplyError> {
        let seen = &decided.seen;
        let mut through = Timestamp::ZERO;
        if let Some(ahead) = self.ahead {
            if seen.position < ahead.position() {
                return Ok(());
            }
            // The message where it ends, or the first one behind it: then the log has none there.
            if *seen != ahead.seen && !planted(Bug::PartitionUnproved) {
                return Err(ApplyError::OtherLog { partition, installed: ahead.position() });
            }
            self.ahead = None;
            through = ahead.through;
        }
        if planted(Bug::PublishedFirst) {
            self.publish(partition, seen)?;
        }
        for commit in decided.commits.iter().filter(|commit| commit.timestamp > through) {
            let mutations = commit.mutations_of(partition)?;
            if !mutations.is_empty() {
                let applied = self.store.apply(commit.timestamp, mutations, seen);
                applied.map_err(|cause| ApplyError::Store { partition, cause })?;
            }
        }
        Ok(())
    }

    fn publish(&mut self, partition: PartitionId, seen: &SeenLog) -> Result<(), ApplyError> {
        if self.store.installed() == Installed::all(seen) {
            return Ok(());
        }
        self.store.publish_through(seen).map_err(|cause| ApplyError::Store { partition, cause })
    }
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply(error) => write!(f, "{error}"),
            Self::State(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for SaveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Apply(error) => error.source(),
            Self::State(error) => error.source(),
        }
    }
}
