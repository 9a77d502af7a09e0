//! Kept partition: how far one partition of a node is, and what becomes of it when its store refuses.
//!
//! ```text
//!          the message where it ends       a commit: limit
//! ahead ──────────────────────────> follows ───────────> stalled: its node reads no further
//!   │ another log                      │   <───────────     │   the same commit, again
//!   └──────────────> failed <──────────┴────────────────────┘
//!                    out of use, alone: the node goes on
//! ```
//!
//! A store has no room while the disk of its log is full, or while what it holds in memory cannot be merged, since somebody
//! reads at an old snapshot. That passes, and the message is decided: the partition keeps what is left of it, and its node asks
//! again, and again. Meanwhile nothing is read there.
//!
//! Any other error does not pass. The partition is not read and gets nothing from there on, until the node is started again: then
//! it opens, or is copied from another node. For the former checkpoints wait, up to a bound.

use crate::digest::SeenLog;
use crate::log_position::LogPosition;
use crate::node::apply_error::ApplyError;
use crate::node::partition_store::{Installed, PartitionStore};
use crate::node::replicated_state::DecidedMessage;
use crate::planted::{Bug, planted};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::PartitionId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;
use std::collections::VecDeque;
use std::sync::Arc;

/// What an operator of a node hears of its partitions.
#[derive(Clone, Debug)]
pub enum PartitionEvent {
    /// A store has no room for what was decided. The node asks it again; nothing is read there until it has.
    Stalled {
        /// Which partition.
        partition: PartitionId,
        /// What its store says.
        cause: Arc<Error>,
    },
    /// It has room again, and has installed what was left.
    Resumed {
        /// Which partition.
        partition: PartitionId,
    },
    /// The partition is out of use on this node.
    Failed {
        /// Which partition.
        partition: PartitionId,
        /// Why.
        cause: Arc<ApplyError>,
    },
    /// It was out of use for so long that the node goes on without it: what it lacks is in the log no more.
    Lost {
        /// Which partition.
        partition: PartitionId,
    },
}

/// How a partition is at present.
#[derive(Clone, Debug)]
pub enum PartitionCondition {
    /// It has everything that its node has applied, and can be read.
    Complete,
    /// It has more than its node has applied, and is not read before the node has as much.
    Ahead {
        /// Where it ends.
        installed: LogPosition,
    },
    /// Its store has no room at present.
    Stalled,
    /// It is out of use.
    Failed {
        /// Why.
        cause: Arc<ApplyError>,
    },
}

/// What a checkpoint makes of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PartitionSave<S> {
    /// Once this is durable, a node that starts with everything that was applied can use it.
    Begun(S),
    /// It had failed before: nobody can use it.
    OutOfUse,
    /// It lacks something, and has no room for it at present.
    Stalled,
    /// It has failed just now.
    Failed,
}

/// A partition that a node keeps.
#[derive(Debug)]
pub(super) struct KeptPartition<P> {
    partition: PartitionId,
    pub(super) store: P,
    /// What it has installed, until the node has applied as much.
    ahead: Option<Installed>,
    /// What it has not installed of the newest message, in order.
    waiting: VecDeque<(Timestamp, Vec<Mutation>)>,
    /// Whether somebody was told that it has no room.
    is_stalled: bool,
    failure: Option<Arc<ApplyError>>,
    /// How many changes of what its node keeps there were with it.
    pub(super) kept_by: u64,
}

impl<P: PartitionStore> KeptPartition<P> {
    pub(super) fn new(partition: PartitionId, store: P, ahead: Option<Installed>, kept_by: u64) -> Self {
        Self { partition, store, ahead, waiting: VecDeque::new(), is_stalled: false, failure: None, kept_by }
    }

    /// Why it is out of use.
    pub(super) fn failure(&self) -> Option<&ApplyError> {
        self.failure.as_deref()
    }

    /// The log up to where it ends, if its node has not applied as much.
    pub(super) fn ahead(&self) -> Option<SeenLog> {
        self.ahead.map(|installed| installed.seen)
    }

    /// How it is.
    pub(super) fn condition(&self) -> PartitionCondition {
        match (&self.failure, &self.ahead) {
            (Some(cause), _) => PartitionCondition::Failed { cause: Arc::clone(cause) },
            (None, Some(ahead)) => PartitionCondition::Ahead { installed: ahead.position() },
            (None, None) if self.is_stalled => PartitionCondition::Stalled,
            (None, None) => PartitionCondition::Complete,
        }
    }

    /// Whether its node must not read on before it has room.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether it has installed what concerns it of everything that its node has applied, and nothing more. It may not be
    /// published yet that nothing follows.
    pub(super) fn is_complete(&self) -> bool {
        self.failure.is_none() && self.ahead.is_none() && self.waiting.is_empty()
    }

    /// Takes what is its own of a message out of it, and installs as much as its store has room for.
    pub(super) fn install(&mut self, decided: &mut DecidedMessage, events: &mut Vec<PartitionEvent>) {
        if self.failure.is_some() {
            return;
        }
        let seen = decided.seen;
        let mut through = Timestamp::ZERO;
        if let Some(ahead) = self.ahead {
            if seen.position < ahead.position() {
                return;
            }
            // The message where it ends, or the first one behind it: then the log has none there.
            if seen != ahead.seen && !planted(Bug::PartitionUnproved) {
                let (partition, installed) = (self.partition, ahead.position());
                return self.fail(ApplyError::OtherLog { partition, installed }, events);
            }
            self.ahead = None;
            through = ahead.through;
        }
        if planted(Bug::PublishedFirst) {
            self.publish(&seen, events);
        }
        for commit in decided.commits.iter_mut().filter(|commit| commit.timestamp > through) {
            let mutations = commit.take_mutations_of(self.partition);
            if !mutations.is_empty() {
                self.waiting.push_back((commit.timestamp, mutations));
            }
        }
        self.install_waiting(&seen, events);
    }

    /// Installs what waits of the message at `seen`, as far as the store has room.
    pub(super) fn install_waiting(&mut self, seen: &SeenLog, events: &mut Vec<PartitionEvent>) {
        if self.waiting.is_empty() {
            return;
        }
        while let Some((timestamp, mutations)) = self.waiting.front() {
            // A copy of the list alone, which shares its properties: should there be no room, it is needed again.
            match self.store.apply(*timestamp, mutations.clone(), seen) {
                Ok(()) => drop(self.waiting.pop_front()),
                Err(cause) => return self.refused(cause, events),
            }
        }
        self.resumed(events);
    }

    /// Whether it has what the node has applied, the message at `seen` and all before it, and says so to its readers.
    pub(super) fn is_proved(&mut self, seen: &SeenLog, events: &mut Vec<PartitionEvent>) -> bool {
        if self.failure.is_some() {
            return planted(Bug::FailedPartitionAnswers);
        }
        self.is_complete() && self.publish(seen, events)
    }

    /// Begins to make durable what it has, for a node that has applied everything through the message at `seen`.
    pub(super) fn begin_sync(
        &mut self,
        seen: &SeenLog,
        events: &mut Vec<PartitionEvent>,
    ) -> PartitionSave<P::PendingSync> {
        if self.failure.is_some() {
            return PartitionSave::OutOfUse;
        }
        if planted(Bug::PartitionSavedBehind) {
            return PartitionSave::Begun(self.store.begin_sync());
        }
        // One that is ahead has all of this and more.
        let has_all = self.ahead.is_some() || self.is_proved(seen, events);
        if self.failure.is_some() {
            return PartitionSave::Failed;
        }
        match has_all || planted(Bug::StalledStateSaved) {
            true => PartitionSave::Begun(self.store.begin_sync()),
            false => PartitionSave::Stalled,
        }
    }

    /// Whether everything through the message at `seen` is published.
    fn publish(&mut self, seen: &SeenLog, events: &mut Vec<PartitionEvent>) -> bool {
        if self.store.installed() == Installed::all(seen) {
            return true;
        }
        match self.store.publish_through(seen) {
            Ok(()) => {
                self.resumed(events);
                true
            }
            Err(cause) => {
                self.refused(cause, events);
                false
            }
        }
    }

    fn refused(&mut self, cause: Error, events: &mut Vec<PartitionEvent>) {
        let partition = self.partition;
        if cause.kind() != ErrorKind::Limit {
            return self.fail(ApplyError::Store { partition, cause }, events);
        }
        if planted(Bug::StalledRestForgotten) {
            self.waiting.clear();
        }
        if !self.is_stalled {
            self.is_stalled = true;
            events.push(PartitionEvent::Stalled { partition, cause: Arc::new(cause) });
        }
    }

    fn resumed(&mut self, events: &mut Vec<PartitionEvent>) {
        if self.is_stalled {
            self.is_stalled = false;
            events.push(PartitionEvent::Resumed { partition: self.partition });
        }
    }

    fn fail(&mut self, cause: ApplyError, events: &mut Vec<PartitionEvent>) {
        let cause = Arc::new(cause);
        self.waiting.clear();
        self.failure = Some(Arc::clone(&cause));
        events.push(PartitionEvent::Failed { partition: self.partition, cause });
    }
}
