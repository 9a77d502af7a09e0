//! Apply: the messages of the log in order, into what follows from them and into the partitions that a node keeps.
//!
//! ```text
//!                 checkpoint C          partition's files          now
//! state           ───────┼──────────────────────┼───────────────────┼──> every record from C on
//! partition              ┊   has this already   ┊      installs     ┊
//!                        └┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┘ proved here: is its digest that of the log?
//! ```
//!
//! A checkpoint makes each partition durable, then what follows from the log ([`crate::node::checkpoint_steps`]). So partitions are ahead of the rest after a crash,
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
//!
//! # Checkpoints wait for a partition that is out of use
//!
//! A store that failed, or whose files were refused at the start, may open at the next start, and catch up: if that goes on behind
//! the checkpoint before. The decisions that the partition lacks follow from the state of then, so it isn't enough that the log is
//! kept. While the placement says that the node serves such a partition, no checkpoint is made; what the node needs of the log,
//! and tells others, stays. That ends at [`HELD_BYTES_MAX`] of messages, or when the partition is placed elsewhere, or given up.
//! Then checkpoints go on without it, and it is copied. One that holds another log, or is behind the state already, cannot catch up:
//! nothing waits for it.
//!
//! Price: a start meanwhile reads up to that much of the log, which takes minutes.

use crate::digest::SeenLog;
use crate::log::reader::{LogReader, ReadMessage};
use crate::log_position::LogPosition;
use crate::node::apply_error::ApplyError;
use crate::node::checkpoint_steps::{BegunCheckpoint, CheckpointMoment, SaveError, WrittenCheckpoint};
use crate::node::kept_partition::{KeptPartition, PartitionCondition, PartitionEvent, PartitionSave};
use crate::node::log_needs::LOG_BYTES_MAX;
use crate::node::partition_store::PartitionStore;
use crate::node::replicated_state::{AppliedRecord, DecidedMessage, ReplicatedState};
use crate::planted::{Bug, planted};
use crate::record_id::{Author, NodeId};
use crate::tables::placement::CopyState;
use evergraph_graph::id::PartitionId;
use evergraph_graph::index::IndexId;
use evergraph_storage::io::directory::Directory;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of messages after a checkpoint for which the next one waits for a partition that is out of use, unless chosen otherwise.
/// Fewer than others keep for this node: its checkpoint is made before they trim without it.
pub const HELD_BYTES_MAX: u64 = LOG_BYTES_MAX / 8 * 7;

/// A message, applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppliedMessage {
    /// The log through it.
    pub seen: SeenLog,
    /// Who wrote it.
    pub author: Author,
    /// What became of its records.
    pub records: Vec<AppliedRecord>,
    /// How many bytes it has in the log.
    pub bytes: usize,
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
    /// The newest message of the newest checkpoint, and the changes until then.
    saved: Option<(LogPosition, u64)>,
    /// Bytes of messages that were applied since this start.
    applied_bytes: u64,
    /// How many of them the newest checkpoint has.
    saved_bytes: u64,
    /// For how many a checkpoint waits for a partition.
    held_bytes_max: u64,
    /// Partitions that no start finds as the newest checkpoint needs them.
    lost: BTreeSet<PartitionId>,
    /// What the node had noted before it started, beside its checkpoint: it had applied the log up to there.
    noted: Option<SeenLog>,
    /// Partitions that came from other nodes since this start: what they have says nothing of what this node had applied.
    copied: BTreeSet<PartitionId>,
}

impl<P: PartitionStore> Applier<P> {
    /// Goes on after `state`, as a checkpoint has it, or as the cluster was created with. No partition is kept yet.
    #[must_use]
    pub fn new(state: ReplicatedState) -> Self {
        let needed_from = LogReader::needed_from(state.certifier().digests());
        Self {
            state,
            partitions: BTreeMap::new(),
            events: Vec::new(),
            needed_from,
            changes: 0,
            saved: None,
            applied_bytes: 0,
            saved_bytes: 0,
            held_bytes_max: HELD_BYTES_MAX,
            lost: BTreeSet::new(),
            noted: None,
            copied: BTreeSet::new(),
        }
    }

    /// Before it started the node had applied the log up to `noted`, as a file of its directory says ([`crate::node::seen_file`]).
    #[must_use]
    pub fn having_noted(self, noted: Option<SeenLog>) -> Self {
        Self { noted, ..self }
    }

    /// Has checkpoints wait for partitions that are out of use for so many bytes of messages.
    #[must_use]
    pub fn holding_at_most(self, held_bytes_max: u64) -> Self {
        Self { held_bytes_max, ..self }
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
        // Refused, it cannot catch up at another start either.
        self.lost.insert(partition);
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
        self.changes += 1;
        self.lost.remove(&partition);
        self.partitions.insert(partition, KeptPartition::new(partition, store, ahead, self.changes));
        Ok(())
    }

    /// As [`Applier::keep`], a partition that another node gave at this start: if that node has more than the log, that partition
    /// alone is out of use, and not this node.
    ///
    /// # Errors
    /// As [`Applier::keep`].
    pub fn keep_copy(&mut self, partition: PartitionId, store: P) -> Result<(), ApplyError> {
        self.keep(partition, store)?;
        self.copied.insert(partition);
        Ok(())
    }

    /// Keeps a partition no longer. This is how one that has failed is taken away: its copy may be kept then.
    pub fn give_up(&mut self, partition: PartitionId) -> Option<P> {
        self.changes += 1;
        self.lost.insert(partition);
        self.copied.remove(&partition);
        self.partitions.remove(&partition).map(|kept| kept.store)
    }

    /// What follows from the log.
    #[must_use]
    pub fn state(&self) -> &ReplicatedState {
        &self.state
    }

    /// The log up to where the node had applied it before it started, as far as is known: where the partition ends that is furthest
    /// ahead, or what was noted. Copies say nothing of that. The digest of the further one has the log up to the other one in it.
    pub(super) fn furthest_ahead(&self) -> Option<SeenLog> {
        let own = self.partitions.iter().filter(|(partition, _)| !self.copied.contains(*partition));
        let noted = self.noted.filter(|_| !planted(Bug::SeenForgotten));
        own.filter_map(|(_, kept)| kept.ahead()).chain(noted).max_by_key(|seen| seen.position)
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
    /// follows. The number of each is another one once its partition is kept anew, with another store.
    pub(super) fn complete(&self) -> impl Iterator<Item = (PartitionId, u64, &P)> {
        let complete = self.partitions.iter().filter(|(_, kept)| kept.is_complete());
        complete.map(|(partition, kept)| (*partition, kept.kept_by, &kept.store))
    }

    /// How each partition is that is kept, ascending.
    pub fn conditions(&self) -> impl Iterator<Item = (PartitionId, PartitionCondition)> {
        self.partitions.iter().map(|(partition, kept)| (*partition, kept.condition()))
    }

    /// Whether the store of each partition that `node`, this one, serves has filled an index.
    #[must_use]
    pub fn has_filled(&self, node: NodeId, index: IndexId) -> bool {
        let kept = self.state.tables().placement().kept_by(node);
        let mut serves = kept.filter(|(_, state)| *state == CopyState::Serves);
        let is_filled = |(partition, _)| {
            let kept = self.partitions.get(&partition);
            kept.is_some_and(|kept| kept.is_complete() && kept.store.has_filled(index))
        };
        match planted(Bug::PartitionUnfilled) {
            true => serves.any(is_filled),
            false => serves.all(is_filled),
        }
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
        let bytes = read.bytes.len();
        self.applied_bytes += bytes as u64;
        let mut decided = self.state.apply(read);
        for kept in self.partitions.values_mut() {
            kept.install(&mut decided, &mut self.events);
        }
        let DecidedMessage { seen, author, records, .. } = decided;
        AppliedMessage { seen, author, records, bytes }
    }

    /// Asks stalled partitions again. Whether none is stalled any more.
    pub fn resume(&mut self) -> bool {
        let seen = self.state.seen();
        for kept in self.partitions.values_mut() {
            kept.install_waiting(&seen, &mut self.events);
        }
        !self.is_stalled()
    }

    /// Begins a checkpoint of what was applied now: a start from there goes on behind it. Partitions that had failed before are not
    /// part of it: from here on they lack what may be trimmed, and are copied.
    ///
    /// Cost: a commit of each partition that is not published as far, and a clone of the state, which copies the digests of
    /// messages that are remembered, 24 bytes each, and next to nothing else.
    ///
    /// # Errors
    /// [`SaveError::Stalled`], [`SaveError::Failed`].
    pub fn begin_checkpoint(&mut self) -> Result<BegunCheckpoint<P::PendingSync>, SaveError> {
        let seen = self.state.seen();
        let (mut syncs, mut stalled) = (Vec::with_capacity(self.partitions.len()), None);
        for (partition, kept) in &mut self.partitions {
            let partition = *partition;
            match kept.begin_sync(&seen, &mut self.events) {
                PartitionSave::Begun(sync) => syncs.push((partition, sync)),
                PartitionSave::OutOfUse => {}
                PartitionSave::Stalled => stalled = stalled.or(Some(partition)),
                PartitionSave::Failed => return Err(SaveError::Failed { partition }),
            }
        }
        if let Some(partition) = stalled {
            return Err(SaveError::Stalled { partition });
        }
        let needed_from = LogReader::needed_from(self.state.certifier().digests());
        if planted(Bug::NeededFromBegun) {
            self.needed_from = needed_from;
        }
        let applied_bytes = self.applied_bytes;
        let moment =
            CheckpointMoment { position: seen.position, needed_from, changes: self.changes, applied_bytes };
        Ok(BegunCheckpoint { moment, state: self.state.clone(), syncs })
    }

    /// A checkpoint was made: from here on a start goes on behind it.
    pub fn end_checkpoint(&mut self, written: WrittenCheckpoint) {
        let mut moment = written.moment();
        if planted(Bug::NeededFromOfEnd) {
            moment.needed_from = LogReader::needed_from(self.state.certifier().digests());
        }
        // One that was overtaken by another changes nothing.
        self.needed_from = self.needed_from.max(moment.needed_from);
        self.saved = self.saved.max(Some((moment.position, moment.changes)));
        self.saved_bytes = self.saved_bytes.max(moment.applied_bytes);
    }

    /// Whether a checkpoint may begin: not while a partition that `node`, this one, serves could catch up after a start from the one
    /// before. Those that have held it for long enough are lost, and hold it no more.
    ///
    /// # Errors
    /// [`SaveError::Held`].
    pub fn hold_checkpoint(&mut self, node: NodeId) -> Result<(), SaveError> {
        let served = self.state.tables().placement().kept_by(node);
        let served = served.filter(|(_, state)| *state == CopyState::Serves).map(|(partition, _)| partition);
        let is_out_of_use = |partition: &PartitionId| match self.partitions.get(partition) {
            // Its files were refused at the start.
            None => true,
            Some(kept) => matches!(kept.failure(), Some(ApplyError::Store { .. })),
        };
        let waiting = served.filter(|partition| !self.lost.contains(partition) && is_out_of_use(partition));
        let waiting: Vec<PartitionId> = waiting.collect();
        let Some(partition) = waiting.first().copied() else { return Ok(()) };
        let (bytes, bytes_max) = (self.applied_bytes - self.saved_bytes, self.held_bytes_max);
        if bytes < bytes_max && !planted(Bug::LostCopyNotHeld) {
            return Err(SaveError::Held { partition, bytes, bytes_max });
        }
        self.events.extend(waiting.iter().map(|partition| PartitionEvent::Lost { partition: *partition }));
        self.lost.extend(waiting);
        Ok(())
    }

    /// Makes a checkpoint in one go, and waits for disks.
    ///
    /// # Errors
    /// [`SaveError`]. A start finds the state of the checkpoint before, and partitions as they were then or are now.
    pub fn checkpoint(&mut self, directory: &dyn Directory) -> Result<(), SaveError> {
        let written = self.begin_checkpoint()?.write(directory)?;
        self.end_checkpoint(written);
        Ok(())
    }

    /// Whether the newest checkpoint of this start of the node lacks something that was applied or kept since.
    #[must_use]
    pub fn has_unsaved(&self) -> bool {
        self.saved != Some((self.state.seen().position, self.changes))
    }

    /// Whether a checkpoint of this start of the node has the partition: no crash takes it from here on.
    #[must_use]
    pub fn is_saved(&self, partition: PartitionId) -> bool {
        let saved = self.saved.map_or(0, |(_, changes)| changes);
        self.partitions.get(&partition).is_some_and(|kept| kept.kept_by <= saved)
    }
}
