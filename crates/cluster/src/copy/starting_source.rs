//! Starting source: what a node gives others while it is starting, and lacks something itself.
//!
//! ```text
//!                     what follows from the log      a partition that it keeps
//! begins              its checkpoint is no use yet   "starting": whoever asks waits
//! has its state       its checkpoint                 "starting", until it has opened its partitions
//! has opened them     its checkpoint                 given if it can be used and has what is wanted; "lacking" if it cannot be
//!                                                    used; "starting" if it has less: the node applies as much once it has joined
//! ```
//!
//! So two nodes that lack something of each other need not wait until one of them has joined without it.
//!
//! # Why nobody waits in a circle
//!
//! A node says "starting" in two cases. It opens its own files: for that it waits for nobody but those that give it what follows from
//! the log, which no node holds back. Or it has less of the log than is wanted: then its checkpoint is older than that of whoever asks,
//! and so on along whoever waits for whom, so that nobody comes round to itself.
//!
//! # What is not proved
//!
//! A partition that is ahead of its node's checkpoint has not been compared with the log yet. It is given all the same: whoever gets it
//! compares it before anybody reads it ([`crate::node::kept_partition`]).

use crate::copy::fetch::GiveCopies;
use crate::copy::message::{CopyMessage, CopyRefusal, CopySubject};
use crate::copy::outgoing::OutgoingCopies;
use crate::log_position::LogPosition;
use crate::node::peer_loop::ALIVE_SILENCE_MAX;
use crate::record_id::NodeId;
use evergraph_graph::id::PartitionId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::open::OpenStore;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Gives what a node has that is starting.
pub struct StartingSource<E: DurableEngine> {
    copies: OutgoingCopies,
    /// From where on this node needs the log, once it has its state.
    needed_from: Option<LogPosition>,
    /// The partitions that it keeps, once it has opened all that it can.
    kept: Option<BTreeSet<PartitionId>>,
    /// Those that it can use.
    usable: BTreeMap<PartitionId, UsablePartition<E>>,
    /// When each node said last how far it is.
    heard: BTreeMap<NodeId, Duration>,
    /// Who has asked for a partition, and lacks it.
    askers: BTreeMap<PartitionId, BTreeSet<NodeId>>,
}

struct UsablePartition<E: DurableEngine> {
    store: Arc<OpenStore<E>>,
    /// How much it has installed.
    through: Timestamp,
}

impl<E: DurableEngine> StartingSource<E> {
    /// Of a node that has nothing yet, and gives by `copies`.
    #[must_use]
    pub fn new(copies: OutgoingCopies) -> Self {
        Self {
            copies,
            needed_from: None,
            kept: None,
            usable: BTreeMap::new(),
            heard: BTreeMap::new(),
            askers: BTreeMap::new(),
        }
    }

    /// The node has its state, and needs the log from `needed_from` on.
    pub fn has_state(&mut self, needed_from: LogPosition) {
        self.needed_from = Some(needed_from);
    }

    /// The node can use a partition, which has installed everything through a timestamp.
    pub fn has_partition(&mut self, partition: PartitionId, store: Arc<OpenStore<E>>, through: Timestamp) {
        self.usable.insert(partition, UsablePartition { store, through });
    }

    /// The node keeps these partitions, and has opened those that it can use.
    pub fn has_opened(&mut self, kept: impl IntoIterator<Item = PartitionId>) {
        self.kept = Some(kept.into_iter().collect());
    }

    /// The nodes that have asked for a partition: they lack it.
    #[must_use]
    pub fn askers(&self, partition: PartitionId) -> BTreeSet<NodeId> {
        self.askers.get(&partition).cloned().unwrap_or_default()
    }

    /// What gives copies from now on: the node has what it lacked.
    #[must_use]
    pub fn into_copies(self) -> OutgoingCopies {
        self.copies
    }

    /// The store of a partition that has everything through `at_least`; or why it is not given.
    fn find(
        &self,
        partition: PartitionId,
        at_least: LogPosition,
    ) -> Result<Option<&Arc<OpenStore<E>>>, CopyRefusal> {
        let kept = self.kept.as_ref().ok_or(CopyRefusal::Starting)?;
        match self.usable.get(&partition) {
            Some(usable) if usable.through >= at_least.end() => Ok(Some(&usable.store)),
            Some(_) => Err(CopyRefusal::Starting),
            None if kept.contains(&partition) => Err(CopyRefusal::Lacking),
            None => Err(CopyRefusal::NotServed),
        }
    }

    fn is_alive(&self, now: Duration, node: NodeId) -> bool {
        self.heard.get(&node).is_some_and(|heard_at| now < heard_at.saturating_add(ALIVE_SILENCE_MAX))
    }
}

impl<E: DurableEngine> GiveCopies for StartingSource<E> {
    fn heard(&mut self, now: Duration, from: NodeId) {
        self.heard.insert(from, now);
    }

    fn take(&mut self, now: Duration, from: NodeId, message: CopyMessage) {
        let store = match message {
            CopyMessage::Begin { subject: CopySubject::Partition { partition, at_least }, .. } => {
                self.askers.entry(partition).or_default().insert(from);
                self.find(partition, at_least)
            }
            CopyMessage::Begin { subject: CopySubject::State, .. } if self.is_alive(now, from) => {
                Err(CopyRefusal::AskerAlive)
            }
            // Its own may be of no use: two that wait for each other's would wait for ever.
            CopyMessage::Begin { subject: CopySubject::State, .. } if self.needed_from.is_none() => {
                Err(CopyRefusal::NotServed)
            }
            _ => Ok(None),
        };
        let needed_from = self.needed_from.unwrap_or(LogPosition::START);
        self.copies.take_message(now, from, message, store, needed_from);
    }

    fn next_reply(&mut self, now: Duration) -> Option<(NodeId, CopyMessage)> {
        self.copies.take_reply(now)
    }

    fn is_giving(&self) -> bool {
        self.copies.count() > 0
    }
}

impl<E: DurableEngine> fmt::Debug for StartingSource<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartingSource")
            .field("copies", &self.copies)
            .field("usable", &self.usable.keys())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
