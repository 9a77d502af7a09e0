//! Slot: 16 bytes of a memory graph that hold one record, or the header of a block of records.
//!
//! ```text
//! record   item:48 | stamp, high:16      stamp, low:32 | payload:32
//!          stamp    commits since the first one of the graph:46 | operation:2
//!          payload  where the properties lie; 0 if there are none
//! header   previous block:32 | capacity:32      records before the block:32 | inserts - deletes before it:32
//! ```
//!
//! Differs from disk-engine, section 4, where a stamp has 32 bits: the 16 that the item leaves free make the stamp
//! so wide that no graph runs out of timestamps, even if a stream numbers its commits with gaps.

use crate::format::operation::RecordOperation;
use crate::format::tree_key::ItemKey;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};

/// When, counted from the first commit of the graph, and what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct RelativeStamp(u64);

impl RelativeStamp {
    /// The highest offset of a commit.
    const OFFSET_MAX: u64 = (1 << 46) - 1;

    /// The stamp of `operation`, `offset` after the graph's first commit.
    #[inline]
    pub(super) const fn new(offset: u64, operation: RecordOperation) -> Self {
        assert!(offset <= Self::OFFSET_MAX, "one graph spans fewer timestamps");
        Self(offset << 2 | operation.code() as u64)
    }

    /// Timestamps since the first commit of the graph.
    #[inline]
    pub(super) const fn offset(self) -> u64 {
        self.0 >> 2
    }

    /// What was done.
    #[inline]
    pub(super) const fn operation(self) -> RecordOperation {
        RecordOperation::from_low_bits(self.0 as u8)
    }
}

/// A record as a slot holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StoredRecord {
    /// The item in its list.
    pub item: ItemKey,
    /// When and what.
    pub stamp: RelativeStamp,
    /// Where the properties lie, or 0.
    pub payload: u32,
}

/// The header of a block, in the slot before its first record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BlockHeader {
    /// The slot of the header of the block before, or 0.
    pub previous: u32,
    /// How many records the block holds when it is full.
    pub capacity: u32,
    /// How many records of the list lie before the block.
    pub before: u32,
    /// Inserts minus deletes among those.
    pub difference: i32,
}

/// Two words of a memory graph.
///
/// # Concurrency
/// The holder of the commit latch writes a slot once, Relaxed, and makes it reachable afterwards: a record by the
/// count of its list or by a link, a header by its entry's `newest`, each with Release. Readers come through one of
/// these, with Acquire. A slot that can be reached never changes.
#[derive(Debug, Default)]
pub(super) struct Slot {
    first: AtomicU64,
    second: AtomicU64,
}

impl Slot {
    /// Writes a record. Under the latch, once.
    #[inline]
    pub(super) fn write(&self, record: StoredRecord) {
        let stamp = record.stamp.0;
        self.first.store(record.item.bits() << 16 | stamp >> 32, Ordering::Relaxed);
        self.second.store(stamp << 32 | u64::from(record.payload), Ordering::Relaxed);
    }

    /// The record.
    #[inline]
    pub(super) fn record(&self) -> StoredRecord {
        let (first, second) = (self.first.load(Ordering::Relaxed), self.second.load(Ordering::Relaxed));
        let stamp = RelativeStamp((first & 0xffff) << 32 | second >> 32);
        StoredRecord { item: ItemKey::from_bits(first >> 16), stamp, payload: second as u32 }
    }

    /// Writes the header of a block. Under the latch, once.
    pub(super) fn write_header(&self, header: BlockHeader) {
        let first = u64::from(header.previous) << 32 | u64::from(header.capacity);
        let second = u64::from(header.before) << 32 | u64::from(header.difference as u32);
        self.first.store(first, Ordering::Relaxed);
        self.second.store(second, Ordering::Relaxed);
    }

    /// The header of a block.
    #[inline]
    pub(super) fn header(&self) -> BlockHeader {
        let (first, second) = (self.first.load(Ordering::Relaxed), self.second.load(Ordering::Relaxed));
        BlockHeader {
            previous: (first >> 32) as u32,
            capacity: first as u32,
            before: (second >> 32) as u32,
            difference: second as u32 as i32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::VertexId;

    #[test]
    fn a_slot_keeps_a_record_or_a_header() {
        let slot = Slot::default();
        assert_eq!(size_of::<Slot>(), 16);
        for offset in [0, 1, 1 << 31, RelativeStamp::OFFSET_MAX] {
            for operation in [
                RecordOperation::Insert,
                RecordOperation::Delete,
                RecordOperation::Replace,
                RecordOperation::Set,
            ] {
                let stamp = RelativeStamp::new(offset, operation);
                assert_eq!((stamp.offset(), stamp.operation()), (offset, operation));
                let item = ItemKey::edge(VertexId(u32::MAX - 3), 0xabcd);
                let record = StoredRecord { item, stamp, payload: u32::MAX - 9 };
                slot.write(record);
                assert_eq!(slot.record(), record);
            }
        }
        let header = BlockHeader { previous: 7, capacity: 1024, before: u32::MAX, difference: -12 };
        slot.write_header(header);
        assert_eq!(slot.header(), header);
    }
}
