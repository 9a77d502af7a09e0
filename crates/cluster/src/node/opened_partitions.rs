//! Opened partitions: the stores that one snapshot keeps open between its reads.
//!
//! ```text
//! read ──> opened? ── no ──> can it be opened? ── yes ──> opened, until the snapshot ends, or it is given up
//!           │ yes             └ no: not tried again, until it is given up ──> asked by messages
//!           └──> read
//! thread of the node: the partition leaves, lacks something, comes back ──> given up: the next read tries again
//!                     the horizon passes the snapshot                   ──> all are closed, for good
//! ```
//!
//! A store keeps what an open snapshot sees. So the thread of the node closes what a snapshot has opened: one that somebody has
//! forgotten reads nothing more, and would hold the memory of its stores for as long as it lives. A read that has begun goes on to
//! its end. What becomes of one partition says nothing of the others, which stay open.

use crate::remote::partition_view::PartitionView;
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::PartitionCount;
use evergraph_storage::sync::Mutex;
use std::sync::{Arc, OnceLock};

/// Partitions whose slots are made together, by the first read of one of them: most snapshots read few of many.
const CHUNK_SLOTS: usize = 16;

/// What a snapshot has opened.
///
/// # Concurrency
/// Readers open, the thread of the node closes. A lock for each partition orders them: readers of different partitions do not
/// wait for each other. Inside it that of [`crate::node::own_partitions`] is taken, and those by which a store begins a snapshot.
///
/// Who closes sees every slot that may be open: whoever opens it asks for the partition inside the former lock, and so either
/// before the change that is the reason, in which case that lock hands the slot on, or after it, and gets what is there then.
pub(super) struct OpenedPartitions {
    count: PartitionCount,
    chunks: Box<[OnceLock<Box<SlotChunk>>]>,
}

type SlotChunk = [Mutex<OpenedSlot>; CHUNK_SLOTS];

#[derive(Default)]
enum OpenedSlot {
    #[default]
    Untried,
    Opened(Arc<dyn PartitionView>),
    /// It could not be opened, or the horizon has passed the snapshot.
    Closed,
}

impl OpenedPartitions {
    /// None of so many.
    pub(super) fn new(count: PartitionCount) -> Self {
        let chunks = usize::from(count.get()).div_ceil(CHUNK_SLOTS);
        Self { count, chunks: (0..chunks).map(|_| OnceLock::new()).collect() }
    }

    /// A partition, if it is open, or can be opened by `open`.
    pub(super) fn view(
        &self,
        partition: PartitionId,
        open: impl FnOnce() -> Option<Arc<dyn PartitionView>>,
    ) -> Option<Arc<dyn PartitionView>> {
        if partition.0 >= self.count.get() {
            return None;
        }
        let (chunk, slot) = place(partition);
        let made = || Box::new(std::array::from_fn(|_| Mutex::default()));
        let mut slot = self.chunks[chunk].get_or_init(made)[slot].lock();
        if let OpenedSlot::Untried = *slot {
            // What its node lacks now it lacks until the partition is published again, which gives this up.
            *slot = open().map_or(OpenedSlot::Closed, OpenedSlot::Opened);
        }
        match &*slot {
            OpenedSlot::Opened(view) => Some(Arc::clone(view)),
            OpenedSlot::Untried | OpenedSlot::Closed => None,
        }
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.slots().filter(|slot| matches!(*slot.lock(), OpenedSlot::Opened(_))).count()
    }

    /// Gives a partition up: another store has it, or none. Reads that have begun hold it to their end, the next one tries again.
    pub(super) fn give_up(&self, partition: PartitionId) {
        let (chunk, slot) = place(partition);
        if let Some(chunk) = self.chunks.get(chunk).and_then(OnceLock::get) {
            put(&chunk[slot], OpenedSlot::Untried);
        }
    }

    /// Gives up all that is open, of a snapshot for which nothing is opened any more. Reads that have begun hold it to their end.
    pub(super) fn close(&self) {
        self.slots().for_each(|slot| put(slot, OpenedSlot::Closed));
    }

    /// Those that somebody has looked at, and some beside them.
    fn slots(&self) -> impl Iterator<Item = &Mutex<OpenedSlot>> {
        self.chunks.iter().filter_map(OnceLock::get).flat_map(|chunk| chunk.iter())
    }
}

/// Its chunk, and its slot there.
fn place(partition: PartitionId) -> (usize, usize) {
    let partition = usize::from(partition.0);
    (partition / CHUNK_SLOTS, partition % CHUNK_SLOTS)
}

fn put(slot: &Mutex<OpenedSlot>, now: OpenedSlot) {
    let before = std::mem::replace(&mut *slot.lock(), now);
    // Behind the lock: its snapshot ends.
    drop(before);
}

#[cfg(test)]
impl OpenedPartitions {
    /// The bytes of it.
    pub(super) fn bytes(&self) -> usize {
        let chunks = self.chunks.iter().filter(|chunk| chunk.get().is_some()).count();
        size_of::<Self>() + size_of_val(&*self.chunks) + chunks * size_of::<SlotChunk>()
    }
}
