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
//! [`crate::node::answer_workers`]. Between two reads a snapshot keeps a store open only as long as the partition is published with
//! it and the horizon has not passed the snapshot: a forgotten one holds no memory ([`crate::node::snapshot_partitions`]).

use crate::log_position::LogPosition;
use crate::node::apply::Applier;
use crate::node::opened_partitions::OpenedPartitions;
use crate::node::partition_store::PartitionStore;
use crate::node::store_partition::StorePartition;
use crate::planted::{Bug, planted};
use crate::remote::partition_view::PartitionView;
use crate::remote::question::CONTENT_BYTES_MAX;
use crate::remote::view_answering::answer_view;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::view::GraphView;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::snapshot::index_entries::CheckTime;
use evergraph_storage::store::Store;
use evergraph_storage::sync::Mutex;
use std::collections::{BTreeMap, BTreeSet};
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
        let published = || self.store.timeline().published();
        begin_within(at.end(), published, |timestamp| self.store.snapshot_at(timestamp))
    }
}

/// Begins at `at`, or at the newest commit that a store has published: between the two nothing concerns it.
///
/// # Errors
/// Those of `begin`.
fn begin_within<T>(
    at: Timestamp,
    published: impl Fn() -> Timestamp,
    begin: impl Fn(Timestamp) -> Result<T>,
) -> Result<T> {
    let mut newest = published();
    loop {
        let begun = begin(newest.min(at));
        let is_gone = matches!(&begun, Err(error) if error.kind() == ErrorKind::Conflict);
        if !is_gone || newest >= at || planted(Bug::NewerCommitUnseen) {
            return begun;
        }
        // Something newer may have been published since: then the horizon counts that lies behind the commit before.
        let now = published();
        if now <= newest {
            return begun;
        }
        newest = now;
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
    readers: BTreeMap<PartitionId, Arc<dyn PartitionReader>>,
    /// Snapshots at older messages open nothing any more.
    horizon: LogPosition,
    /// What snapshots have opened of these partitions.
    opened: BTreeMap<OpenedKey, Arc<OpenedPartitions>>,
    /// Of the key that was given last.
    number: u64,
}

impl OwnPartitions {
    /// Registers what a snapshot at the message at `at` opens: each partition is given up when it is published otherwise, and all
    /// are closed when the horizon passes the snapshot. `None` if it has passed already.
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
        self.shared.lock().reader(partition, at)
    }

    /// How many are published.
    pub(super) fn len(&self) -> usize {
        self.shared.lock().readers.len()
    }

    /// The same for a snapshot that keeps it open; `None` also if the horizon has passed that.
    pub(super) fn reader_to_keep(
        &self,
        partition: PartitionId,
        key: OpenedKey,
    ) -> Option<Arc<dyn PartitionReader>> {
        let state = self.shared.lock();
        if !state.opened.contains_key(&key) {
            return None;
        }
        state.reader(partition, key.at)
    }
}

impl OwnState {
    fn reader(&self, partition: PartitionId, at: LogPosition) -> Option<Arc<dyn PartitionReader>> {
        let has_all = at <= self.through || planted(Bug::OwnPartitionUnapplied);
        self.readers.get(&partition).filter(|_| has_all).map(Arc::clone)
    }
}

/// Publishes the partitions of a node. Dropped, it publishes that there are none.
pub(super) struct OwnPublisher {
    own: OwnPartitions,
    /// What was published, as [`Applier::complete`] numbers it.
    complete: BTreeSet<(PartitionId, u64)>,
}

impl OwnPublisher {
    /// Without partitions.
    pub(super) fn new() -> Self {
        let own = OwnPartitions { shared: Arc::default() };
        Self { own, complete: BTreeSet::new() }
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
        let complete = || applier.complete().map(|(partition, kept_by, _)| (partition, kept_by));
        if complete().eq(self.complete.iter().copied()) {
            self.own.shared.lock().through = through;
            return;
        }
        let readers =
            applier.complete().filter_map(|(partition, _, store)| Some((partition, store.reader()?)));
        self.replace(through, complete().collect(), readers.collect());
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

    /// Publishes others, which are numbered so. Those that are no longer, or not as they were, are given up, and no others.
    fn replace(
        &mut self,
        through: LogPosition,
        complete: BTreeSet<(PartitionId, u64)>,
        readers: BTreeMap<PartitionId, Arc<dyn PartitionReader>>,
    ) {
        let (before, opened) = {
            let mut state = self.own.shared.lock();
            state.through = through;
            let before = std::mem::replace(&mut state.readers, readers);
            (before, state.opened.values().map(Arc::clone).collect::<Vec<_>>())
        };
        // Behind the lock: stores may go with them.
        drop(before);
        let before = std::mem::replace(&mut self.complete, complete);
        let changed: Vec<_> = match planted(Bug::OthersGivenUp) {
            true => before.union(&self.complete).collect(),
            false => before.symmetric_difference(&self.complete).collect(),
        };
        for opened in opened {
            changed.iter().for_each(|(partition, _)| opened.give_up(*partition));
        }
    }
}

impl Drop for OwnPublisher {
    fn drop(&mut self) {
        self.replace(LogPosition::default(), BTreeSet::new(), BTreeMap::new());
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
        let readers = readers.into_iter().collect();
        Self { shared: Arc::new(Mutex::new(OwnState { through, readers, ..OwnState::default() })) }
    }
}

#[cfg(test)]
impl OwnPublisher {
    /// Of what is published already.
    pub(super) fn of(own: OwnPartitions) -> Self {
        let complete = own.shared.lock().readers.keys().map(|partition| (*partition, 0)).collect();
        Self { own, complete }
    }
}

#[cfg(test)]
pub(super) mod tests;
