//! Snapshot partitions: what one snapshot reads of the partitions of its node, each opened by its first read.
//!
//! A store that is open shows the same for as long as that: see [`crate::node::own_partitions`]. What cannot be opened, or was
//! closed (`opened_partitions`), reads by messages, which find whoever can answer then, or say why nobody can.

use crate::log_position::LogPosition;
use crate::node::opened_partitions::OpenedPartitions;
use crate::node::own_partitions::{OpenedKey, OwnPartitions};
use crate::remote::partition_view::PartitionView;
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::PartitionCount;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The partitions of a node for one snapshot.
///
/// # Concurrency
/// Any thread reads.
pub struct SnapshotPartitions {
    partitions: OwnPartitions,
    at: LogPosition,
    count: PartitionCount,
    registered: OnceLock<RegisteredPartitions>,
    are_all: OnceLock<bool>,
}

/// Since the first read.
struct RegisteredPartitions {
    opened: Arc<OpenedPartitions>,
    /// `None`: the horizon had passed the snapshot.
    key: Option<OpenedKey>,
}

impl SnapshotPartitions {
    /// Nothing is open yet. Of a graph with `count` partitions; the snapshot shows the log through the message at `at`.
    #[must_use]
    pub fn new(partitions: OwnPartitions, at: LogPosition, count: PartitionCount) -> Self {
        Self { partitions, at, count, registered: OnceLock::new(), are_all: OnceLock::new() }
    }

    /// Whether they are all partitions of the graph, when this is first asked. It opens none.
    #[must_use]
    pub fn are_all(&self) -> bool {
        *self.are_all.get_or_init(|| self.partitions.len() == usize::from(self.count.get()))
    }

    /// A partition, if it can be read here.
    ///
    /// Cost: a lock that only readers of the same snapshot and partition share; the first time a snapshot of the store.
    #[must_use]
    pub fn view(&self, partition: PartitionId) -> Option<Arc<dyn PartitionView>> {
        let registered = self.registered.get_or_init(|| {
            let opened = Arc::new(OpenedPartitions::new(self.count));
            let key = self.partitions.register(self.at, &opened);
            RegisteredPartitions { opened, key }
        });
        let key = registered.key?;
        registered.opened.view(partition, || {
            let reader = self.partitions.reader_to_keep(partition, key)?;
            reader.open_partition_view(self.at).ok().map(Arc::from)
        })
    }
}

impl Drop for SnapshotPartitions {
    fn drop(&mut self) {
        if let Some(key) = self.registered.get().and_then(|registered| registered.key) {
            self.partitions.unregister(key);
        }
    }
}

impl fmt::Debug for SnapshotPartitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let opened = self.registered.get().map_or(0, |registered| registered.opened.count());
        f.debug_struct("SnapshotPartitions").field("opened", &opened).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
