//! Own partitions: what a node keeps, for readers on the same node, each of which reads in its own thread.
//!
//! ```text
//! thread of the node   message A ──> partitions ──> publish: these have everything through A
//! reader at S          S <= A? ──> snapshot of the store at S ──> answer          no hop through the thread of the node
//!                       │ no, stalled, failed, not kept, merged away
//!                       └────────> asks as for any other partition
//! ```
//!
//! Why it shows what an answer of the node shows:
//!
//! - *Nothing is missing.* A partition is published only while it has installed what concerns it of everything that the node has
//!   applied, and together with how far that is, under one lock. Its store may have published less, for its newest commit may
//!   lie before S; what is published then is what S shows.
//! - *Nothing is merged away.* The store decides so as it registers the snapshot, and refuses; until it is dropped it holds what
//!   it sees, as an own reader does on all nodes.
//! - *It is the same log.* Readers come with a moment of this node's tables, which follow from the messages that it has applied.
//!
//! What a reader began to read stays readable when the partition is given up, fails or is closed meanwhile, as with
//! [`crate::node::answer_workers`]. Between two reads a snapshot keeps stores open only as long as the set of partitions stays the
//! same and the horizon has not passed it: a forgotten snapshot holds no memory (`snapshot_partitions`).

use crate::log_position::LogPosition;
use crate::node::apply::Applier;
use crate::node::opened_partitions::OpenedPartitions;
use crate::node::partition_store::PartitionStore;
use crate::node::store_partition::StorePartition;
use crate::planted::{Bug, planted};
use crate::remote::partition_view::PartitionView;
use crate::remote::question::CONTENT_BYTES_MAX;
use crate::remote::view_answering::answer_view;
use evergraph_graph::error::Result;
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::view::GraphView;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::snapshot::index_entries::CheckTime;
use evergraph_storage::store::Store;
use evergraph_storage::sync::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A partition of this node, for any thread.
pub trait PartitionReader: Send + Sync {
    /// Answers as of the end of the message at `at`. The partition has everything that concerns it up to there.
    ///
    /// # Errors
    /// `conflict` or `busy` if the store cannot be read there: another copy may, or the thread of the node; what
    /// `check_time` says; errors of reading.
    fn answer(&self, at: LogPosition, asked: &[u8], check_time: CheckTime<'_>) -> Result<Vec<u8>>;

    /// What it has at the end of the message at `at`, for many reads. The partition has everything that concerns it up to there.
    ///
    /// # Errors
    /// `conflict` or `busy` if the store cannot be read there.
    fn open_stage_view(&self, at: LogPosition) -> Result<Box<dyn GraphView>>;

    /// The same for a coordinator's view.
    ///
    /// # Errors
    /// As [`PartitionReader::open_stage_view`].
    fn open_partition_view(&self, at: LogPosition) -> Result<Box<dyn PartitionView>>;
}

/// A store that can be read beside the thread of its node.
pub trait ReadableStore {
    /// Reads it. `None`: the thread of the node is asked.
    fn reader(&self) -> Option<Arc<dyn PartitionReader>>;
}

/// Reads the store of a partition.
struct StoreReader<E: DurableEngine> {
    store: Store<E>,
    own: OwnGroups,
}

impl<E: DurableEngine> StoreReader<E> {
    fn snapshot_at(&self, at: LogPosition) -> Result<Snapshot<E>> {
        // Between its newest commit and `at` nothing concerns it.
        self.store.snapshot_at(self.store.timeline().published().min(at.end()))
    }
}

impl<E: DurableEngine> PartitionReader for StoreReader<E> {
    fn answer(&self, at: LogPosition, asked: &[u8], check_time: CheckTime<'_>) -> Result<Vec<u8>> {
        answer_view(&self.snapshot_at(at)?, self.own, asked, CONTENT_BYTES_MAX, check_time)
    }

    fn open_stage_view(&self, at: LogPosition) -> Result<Box<dyn GraphView>> {
        Ok(Box::new(self.snapshot_at(at)?))
    }

    fn open_partition_view(&self, at: LogPosition) -> Result<Box<dyn PartitionView>> {
        Ok(Box::new(self.snapshot_at(at)?))
    }
}

impl<E: DurableEngine> ReadableStore for StorePartition<E> {
    fn reader(&self) -> Option<Arc<dyn PartitionReader>> {
        let (store, own) = (self.opened().store().clone(), self.own_groups());
        Some(Arc::new(StoreReader { store, own }))
    }
}

/// The partitions of a node, for its readers. Clones are the same.
///
/// # Concurrency
///
/// The thread of the node publishes, any thread takes a reader or registers what it opens. One lock orders them, inside which
/// nothing else is locked, and no store is dropped.
#[derive(Clone)]
pub struct OwnPartitions {
    shared: Arc<Mutex<OwnState>>,
}

/// What one snapshot has opened, by where it reads: those that the horizon passes come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OpenedKey {
    at: LogPosition,
    number: u64,
}

#[derive(Default)]
struct OwnState {
    /// Those of `readers` have everything that concerns them up to this message.
    through: LogPosition,
    readers: Arc<BTreeMap<PartitionId, Arc<dyn PartitionReader>>>,
    /// Snapshots at older messages open nothing any more.
    horizon: LogPosition,
    /// What snapshots have opened of these partitions.
    opened: BTreeMap<OpenedKey, Arc<OpenedPartitions>>,
    /// Of the key that was given last.
    number: u64,
}

impl OwnPartitions {
    /// Registers what a snapshot at the message at `at` opens: it is closed when other partitions are published, or the horizon
    /// passes it. `None` if it has passed already.
    pub(super) fn register(&self, at: LogPosition, opened: &Arc<OpenedPartitions>) -> Option<OpenedKey> {
        let mut state = self.shared.lock();
        if at < state.horizon {
            return None;
        }
        state.number += 1;
        let key = OpenedKey { at, number: state.number };
        state.opened.insert(key, Arc::clone(opened));
        Some(key)
    }

    /// The snapshot has ended.
    pub(super) fn unregister(&self, key: OpenedKey) {
        let opened = self.shared.lock().opened.remove(&key);
        // Behind the lock: stores go with it.
        drop(opened);
    }

    /// A partition that has everything that concerns it through the message at `at`; `None` if it is not kept here, or lacks
    /// something.
    #[must_use]
    pub fn reader(&self, partition: PartitionId, at: LogPosition) -> Option<Arc<dyn PartitionReader>> {
        let state = self.shared.lock();
        let has_all = at <= state.through || planted(Bug::OwnPartitionUnapplied);
        state.readers.get(&partition).filter(|_| has_all).map(Arc::clone)
    }
}

/// Publishes the partitions of a node. Dropped, it publishes that there are none.
pub(super) struct OwnPublisher {
    own: OwnPartitions,
    /// What was published: after so many changes of what is kept, these partitions.
    changes: u64,
    complete: Vec<PartitionId>,
}

impl OwnPublisher {
    /// Without partitions.
    pub(super) fn new() -> Self {
        let own = OwnPartitions { shared: Arc::default() };
        Self { own, changes: 0, complete: Vec::new() }
    }

    /// What the other threads of the node read.
    pub(super) fn own(&self) -> &OwnPartitions {
        &self.own
    }

    /// Publishes what `applier` has applied, and which partitions have all of that.
    ///
    /// Cost: that of a look at each partition, unless others are kept or complete than before.
    pub(super) fn publish<P: PartitionStore + ReadableStore>(&mut self, applier: &Applier<P>) {
        let through = applier.state().seen().position;
        let is_same = self.changes == applier.changes()
            && applier.complete().map(|(partition, _)| partition).eq(self.complete.iter().copied());
        if is_same {
            self.own.shared.lock().through = through;
            return;
        }
        self.changes = applier.changes();
        self.complete = applier.complete().map(|(partition, _)| partition).collect();
        let readers = applier.complete().filter_map(|(partition, store)| Some((partition, store.reader()?)));
        self.replace(through, Arc::new(readers.collect()));
    }

    /// The horizon has risen: snapshots before it give up what they have opened.
    pub(super) fn horizon_rose(&self, horizon: LogPosition) {
        let passed = {
            let mut state = self.own.shared.lock();
            state.horizon = state.horizon.max(horizon);
            let first = OpenedKey { at: state.horizon, number: 0 };
            let left = state.opened.split_off(&first);
            std::mem::replace(&mut state.opened, left)
        };
        passed.values().for_each(|opened| opened.close());
    }

    fn replace(&self, through: LogPosition, readers: Arc<BTreeMap<PartitionId, Arc<dyn PartitionReader>>>) {
        let (before, opened) = {
            let mut state = self.own.shared.lock();
            state.through = through;
            (std::mem::replace(&mut state.readers, readers), std::mem::take(&mut state.opened))
        };
        // Behind the lock: stores may go with them.
        drop(before);
        opened.values().for_each(|opened| opened.close());
    }
}

impl Drop for OwnPublisher {
    fn drop(&mut self) {
        self.replace(LogPosition::default(), Arc::default());
    }
}

impl fmt::Debug for OwnPartitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        let partitions: Vec<_> = state.readers.keys().collect();
        f.debug_struct("OwnPartitions")
            .field("through", &state.through)
            .field("complete", &partitions)
            .field("opened", &state.opened.len())
            .finish()
    }
}

#[cfg(test)]
impl OwnPartitions {
    /// These, which have everything through the message at `through`.
    pub(super) fn of(
        through: LogPosition,
        readers: impl IntoIterator<Item = (PartitionId, Arc<dyn PartitionReader>)>,
    ) -> Self {
        let readers = Arc::new(readers.into_iter().collect());
        Self { shared: Arc::new(Mutex::new(OwnState { through, readers, ..OwnState::default() })) }
    }
}

#[cfg(test)]
impl OwnPublisher {
    /// Of what is published already.
    pub(super) fn of(own: OwnPartitions) -> Self {
        Self { own, changes: 0, complete: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
