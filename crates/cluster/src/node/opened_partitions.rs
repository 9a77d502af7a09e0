//! Opened partitions: the stores that one snapshot keeps open between its reads.
//!
//! ```text
//! read ──> opened? ── no ──> can it be opened? ── yes ──> opened, until the snapshot ends, or is closed
//!           │ yes             └ no: not tried again ──> asked by messages
//!           └──> read
//! thread of the node: other partitions are kept, one lacks something, the horizon passes the snapshot ──> closed
//! ```
//!
//! A store keeps what an open snapshot sees. So the thread of the node closes what a snapshot has opened: one that somebody has
//! forgotten reads nothing more, and would hold the memory of its stores for as long as it lives. A read that has begun goes on to
//! its end.

use crate::remote::partition_view::PartitionView;
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::PartitionCount;
use evergraph_storage::sync::Mutex;
use std::sync::Arc;

/// What a snapshot has opened.
///
/// # Concurrency
/// Readers open, the thread of the node closes. A lock for each partition orders them: readers of different partitions do not
/// wait for each other. Inside it that of [`crate::node::own_partitions`] is taken, and those by which a store begins a snapshot.
pub(super) struct OpenedPartitions {
    slots: Box<[Mutex<OpenedSlot>]>,
}

#[derive(Default)]
enum OpenedSlot {
    #[default]
    Untried,
    Opened(Arc<dyn PartitionView>),
    /// It could not be opened, or was closed.
    Closed,
}

impl OpenedPartitions {
    /// None of so many.
    pub(super) fn new(count: PartitionCount) -> Self {
        Self { slots: (0..count.get()).map(|_| Mutex::default()).collect() }
    }

    /// A partition, if it is open, or can be opened by `open`.
    pub(super) fn view(
        &self,
        partition: PartitionId,
        open: impl FnOnce() -> Option<Arc<dyn PartitionView>>,
    ) -> Option<Arc<dyn PartitionView>> {
        let mut slot = self.slots.get(usize::from(partition.0))?.lock();
        if let OpenedSlot::Untried = *slot {
            // What its node lacks now it lacks until other partitions are published, which closes this.
            *slot = open().map_or(OpenedSlot::Closed, OpenedSlot::Opened);
        }
        match &*slot {
            OpenedSlot::Opened(view) => Some(Arc::clone(view)),
            OpenedSlot::Untried | OpenedSlot::Closed => None,
        }
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.slots.iter().filter(|slot| matches!(*slot.lock(), OpenedSlot::Opened(_))).count()
    }

    /// Gives up what is open, and opens nothing more. Reads that have begun hold it to their end.
    pub(super) fn close(&self) {
        for slot in &self.slots {
            let before = std::mem::replace(&mut *slot.lock(), OpenedSlot::Closed);
            // Behind the lock: its snapshot ends.
            drop(before);
        }
    }
}

#[cfg(test)]
impl OpenedPartitions {
    /// Whether nothing is opened any more.
    pub(super) fn is_closed(&self) -> bool {
        self.slots.iter().all(|slot| matches!(*slot.lock(), OpenedSlot::Closed))
    }
}
