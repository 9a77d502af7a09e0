//! Checkpoint steps: a checkpoint of a node, whose thread is not held while disks are written.
//!
//! ```text
//! thread of the node   begin at C                                                end: C is what a start needs; the log is trimmed
//!                        │ partitions published through C, a clone of the state     ▲
//! another thread         └──> sync each partition ──> write the state under ────────┘
//!                             through C, or more      another name, sync, rename
//! meanwhile            the node applies what comes after C
//! ```
//!
//! The state is that of C, whatever is applied later: a clone of it shares what does not change, and copies of the rest are made
//! as it changes ([`crate::certification::split_table`]). Partitions go on, too: each makes durable what it had installed at C, and
//! perhaps more.
//!
//! # Why a crash at any step is safe
//!
//! A start reads the state of some checkpoint, and goes on behind its C. It needs that each partition has at least as much as the
//! state, and that the log has what comes after C, and before it what is read again. Both hold at every moment:
//!
//! | the power fails | a start finds | partitions | the log |
//! |---|---|---|---|
//! | after begin, while partitions are synced | the state before | as they were then, or ahead of it | was trimmed for that state: nothing changes before the end |
//! | while the state is written, or before it is renamed | the state before: the new file has another name, and is removed | ahead of it | as above |
//! | after the rename, before the directory is synced | one of both | have everything through C | has what both need |
//! | after that, before the end | the new one | have everything through C | has what the older one needed, and more |
//! | after the end, before the log is trimmed or while it is | the new one | as above | begins where this one needs it, or before |
//!
//! So nothing else depends on the order than this: partitions, then the state, then the log; types see to it. A partition that is
//! ahead skips what it has, and proves its log where it ends. One that the node begins to keep after C
//! has installed as much as was applied then, which is more than C, and whoever copied it has made it durable.
//!
//! A checkpoint that fails at any step leaves the one before in place, and what that needs of the log. A partition that fails
//! while it is begun ends it: from the checkpoint before, a start may open the partition, and catch up. One that fails later is
//! durable through C all the same.

use crate::log_position::LogPosition;
use crate::node::apply_error::ApplyError;
use crate::node::checkpoint;
use crate::node::partition_store::PartitionSync;
use crate::node::replicated_state::ReplicatedState;
use crate::planted::{Bug, planted};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::PartitionId;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::Directory;
use std::fmt;

/// What a checkpoint saves: which state, and of what the node keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointMoment {
    /// Everything through this message.
    pub position: LogPosition,
    /// The first message that a start from here needs.
    pub needed_from: LogPosition,
    /// How often a partition had been kept or given up.
    pub changes: u64,
    /// Bytes of messages that this start of the node had applied.
    pub applied_bytes: u64,
}

/// A checkpoint that has begun: nothing of it is on disk for certain.
#[derive(Debug)]
pub struct BegunCheckpoint<S> {
    pub(super) moment: CheckpointMoment,
    pub(super) state: ReplicatedState,
    pub(super) syncs: Vec<(PartitionId, S)>,
}

/// A checkpoint whose partitions are durable.
#[derive(Debug)]
pub struct SyncedCheckpoint<S> {
    moment: CheckpointMoment,
    state: ReplicatedState,
    /// None, unless a bug is planted.
    late: Vec<(PartitionId, S)>,
}

/// A checkpoint that a start finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "its node learns of it: the log is kept for the one before until then"]
pub struct WrittenCheckpoint {
    pub(super) moment: CheckpointMoment,
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
    /// The store of a partition has failed just now.
    Failed {
        /// Which partition.
        partition: PartitionId,
    },
    /// A partition that the node serves is out of use. If the node starts again now, from the checkpoint before, the partition may
    /// open and catch up. Once so much of the log came since as is kept for that, checkpoints go on without it.
    Held {
        /// Which partition.
        partition: PartitionId,
        /// Bytes of messages since the checkpoint before.
        bytes: u64,
        /// With so many, checkpoints go on.
        bytes_max: u64,
    },
    /// The file of what follows from the log.
    State(CheckpointError),
}

impl<S: PartitionSync> BegunCheckpoint<S> {
    /// What it saves.
    #[must_use]
    pub fn moment(&self) -> CheckpointMoment {
        self.moment
    }

    /// Makes the partitions durable, one after the other. In any thread.
    ///
    /// # Errors
    /// [`SaveError::Store`].
    pub fn sync_partitions(self) -> Result<SyncedCheckpoint<S>, SaveError> {
        let Self { moment, state, syncs } = self;
        if planted(Bug::StateSavedFirst) {
            return Ok(SyncedCheckpoint { moment, state, late: syncs });
        }
        sync_all(syncs)?;
        Ok(SyncedCheckpoint { moment, state, late: Vec::new() })
    }

    /// All that is left to do beside the thread of the node: syncs the partitions, and writes the state.
    ///
    /// # Errors
    /// As of both.
    pub fn write(self, directory: &dyn Directory) -> Result<WrittenCheckpoint, SaveError> {
        self.sync_partitions()?.write(directory)
    }
}

impl<S: PartitionSync> SyncedCheckpoint<S> {
    /// Writes the state, and has a start of the node find it. In any thread, one checkpoint of a directory at a time.
    ///
    /// Cost: for a full certifier some 120 MB that are sorted, written and synced, in seconds, and up to four times as much memory.
    ///
    /// # Errors
    /// [`SaveError::State`]: a start finds the checkpoint before, or this one.
    pub fn write(self, directory: &dyn Directory) -> Result<WrittenCheckpoint, SaveError> {
        checkpoint::write(directory, &self.state).map_err(SaveError::State)?;
        sync_all(self.late)?;
        Ok(WrittenCheckpoint { moment: self.moment })
    }
}

impl WrittenCheckpoint {
    /// What it has saved.
    #[must_use]
    pub fn moment(&self) -> CheckpointMoment {
        self.moment
    }
}

fn sync_all<S: PartitionSync>(syncs: Vec<(PartitionId, S)>) -> Result<(), SaveError> {
    syncs.into_iter().try_for_each(|(partition, pending)| {
        pending.sync().map_err(|cause| SaveError::Store(ApplyError::Store { partition, cause }))
    })
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "{error}"),
            Self::Stalled { partition } => {
                write!(f, "no checkpoint now: partition {} has no room for what was applied", partition.0)
            }
            Self::Failed { partition } => {
                write!(f, "no checkpoint now: the store of partition {} has failed", partition.0)
            }
            Self::Held { partition, bytes, bytes_max } => {
                let mebibytes = |bytes: &u64| bytes.div_ceil(1 << 20);
                write!(
                    f,
                    "no checkpoint now, so that partition {}, which is out of use, can catch up from the one before: see to its disk, \
                     and start the node again. {} of at most {} MiB of the log came since; then checkpoints go on without it, and it \
                     is copied from another node at a start",
                    partition.0,
                    mebibytes(bytes),
                    mebibytes(bytes_max)
                )
            }
            Self::State(error) => write!(f, "{error}"),
        }
    }
}

impl From<SaveError> for Error {
    fn from(error: SaveError) -> Self {
        let kind = match error {
            // Its own kind and cause.
            SaveError::State(cause) => return Self::from(cause).context("make a checkpoint of the node"),
            SaveError::Store(ApplyError::Store { ref cause, .. }) => cause.kind(),
            SaveError::Store(_) => ErrorKind::Corrupt,
            SaveError::Stalled { .. } => ErrorKind::Limit,
            SaveError::Failed { .. } | SaveError::Held { .. } => ErrorKind::Io,
        };
        Self::new(kind, error.to_string()).because(error)
    }
}

impl std::error::Error for SaveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => error.source(),
            Self::Stalled { .. } | Self::Failed { .. } | Self::Held { .. } => None,
            Self::State(error) => error.source(),
        }
    }
}
