//! Tail: the newest records of one segment, in commit order; at most 64.
//!
//! ```text
//! slots     [ key stamp | key stamp | ... ]   16 bytes a record, grown 4 -> 16 -> 64; 64 after a full one
//! payloads  [ properties | - | ... ]          only once a record of this tail carries properties
//! length    how many slots are readable
//! ```
//!
//! Concurrency: the holder of the commit latch pushes; anybody reads without a lock. A push writes
//! the slot (Relaxed), then the length (Release); a reader loads the length (Acquire) and looks at
//! no slot beyond it. Slots never change once readable. Under its timestamp a reader ignores what
//! is newer, so a length that grows meanwhile is harmless.
//!
//! Source: LiveGraph (VLDB 2020, sections 3 and 4), the transactional edge log; DGAP (SC 2023,
//! sections 3 and 3.1.2), a log for a section instead of a vertex. Differs: one stamp a record, bounded length, and
//! no scan of it is needed to know what a record did.

use evergraph_graph::properties::Properties;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::{NO_PROPERTIES, Record, RecordKey, RecordRef, Stamp};
use evergraph_storage::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::ops::RangeInclusive;
use std::sync::OnceLock;

/// The most records a tail holds.
#[cfg(not(shuttle))]
pub const TAIL_CAPACITY: usize = 64;
/// The most records a tail holds: few, so that schedules of a few commits fill it.
#[cfg(shuttle)]
pub const TAIL_CAPACITY: usize = 2;
const SMALLEST: usize = if TAIL_CAPACITY < 4 { 1 } else { 4 };

/// The newest records of one segment.
#[derive(Debug)]
pub struct Tail {
    slots: Box<[Slot]>,
    payloads: OnceLock<Box<[OnceLock<Properties>]>>,
    /// How many slots are readable. Release after the slot's words; Acquire before they are read.
    length: AtomicUsize,
}

#[derive(Debug, Default)]
struct Slot {
    key: AtomicU64,
    stamp: AtomicU64,
}

impl Tail {
    /// An empty tail without memory for records.
    #[must_use]
    pub fn none() -> Self {
        Self::with_capacity(0)
    }

    /// The tail that follows this one when its records go into the run: as large at once if this one was full,
    /// since who writes here so much will again, and each step of growth is a version more.
    #[must_use]
    pub fn successor(&self) -> Self {
        if self.slots.len() == TAIL_CAPACITY { Self::with_capacity(TAIL_CAPACITY) } else { Self::none() }
    }

    fn with_capacity(capacity: usize) -> Self {
        let slots = (0..capacity).map(|_| Slot::default()).collect();
        Self { slots, payloads: OnceLock::new(), length: AtomicUsize::new(0) }
    }

    /// A tail with the same records and room for `more`, or `None` if no tail is so large.
    #[must_use]
    pub fn grown(&self, more: usize) -> Option<Self> {
        let needed = self.len() + more;
        if needed > TAIL_CAPACITY {
            return None;
        }
        let mut capacity = SMALLEST;
        while capacity < needed {
            capacity = (capacity * 4).min(TAIL_CAPACITY);
        }
        let larger = Self::with_capacity(capacity);
        for record in self.iter() {
            larger.push(record.to_record());
        }
        Some(larger)
    }

    /// Records that still fit.
    #[must_use]
    pub fn room(&self) -> usize {
        self.slots.len() - self.len()
    }

    /// Appends a record. The caller holds the commit latch.
    ///
    /// # Panics
    /// If there is no room: the caller asked first.
    pub fn push(&self, record: Record) {
        let at = self.length.load(Ordering::Relaxed);
        let slot = &self.slots[at];
        if planted(Bug::LengthBeforeRecord) {
            self.length.store(at + 1, Ordering::Release);
        }
        slot.key.store(record.key.0, Ordering::Relaxed);
        slot.stamp.store(record.stamp.0, Ordering::Relaxed);
        if !record.payload.is_empty() {
            let make = || (0..self.slots.len()).map(|_| OnceLock::new()).collect();
            let fresh = self.payloads.get_or_init(make)[at].set(record.payload).is_ok();
            debug_assert!(fresh, "a slot is written once");
        }
        let order = if planted(Bug::LengthRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        self.length.store(at + 1, order);
    }

    /// Readable records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The readable records, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = RecordRef<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// The readable records of these keys, oldest first. Cost: a look at the key of each record.
    pub fn range(&self, keys: RangeInclusive<RecordKey>) -> impl DoubleEndedIterator<Item = RecordRef<'_>> {
        let slots = self.slots[..self.len()].iter().enumerate();
        let of_keys = move |slot: &Slot| keys.contains(&RecordKey(slot.key.load(Ordering::Relaxed)));
        slots.filter(move |(_, slot)| of_keys(slot)).map(|(at, _)| self.get(at))
    }

    fn get(&self, at: usize) -> RecordRef<'_> {
        let slot = &self.slots[at];
        RecordRef {
            key: RecordKey(slot.key.load(Ordering::Relaxed)),
            stamp: Stamp(slot.stamp.load(Ordering::Relaxed)),
            payload: self.payloads.get().and_then(|payloads| payloads[at].get()).unwrap_or(&NO_PROPERTIES),
        }
    }

    /// What and when of the readable records, oldest first; payloads aren't read.
    pub fn stamps(&self) -> impl Iterator<Item = (RecordKey, Stamp)> + '_ {
        let slots = self.slots[..self.len()].iter();
        slots.map(|slot| {
            (RecordKey(slot.key.load(Ordering::Relaxed)), Stamp(slot.stamp.load(Ordering::Relaxed)))
        })
    }

    /// The newest stamp of `key` that is `visible`; payloads aren't read. Cost: a look at the key of each record.
    #[must_use]
    pub fn newest_stamp(&self, key: RecordKey, visible: impl Fn(&Stamp) -> bool) -> Option<Stamp> {
        let of_key = |slot: &&Slot| slot.key.load(Ordering::Relaxed) == key.0;
        let newest_first = self.slots[..self.len()].iter().rev().filter(of_key);
        newest_first.map(|slot| Stamp(slot.stamp.load(Ordering::Relaxed))).find(visible)
    }

    /// Bytes on the heap, property values included.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let payloads = self.payloads.get().map_or(0, |payloads| {
            let values: usize = payloads.iter().filter_map(OnceLock::get).map(Properties::heap_bytes).sum();
            std::mem::size_of_val(&payloads[..]) + values
        });
        std::mem::size_of_val(&self.slots[..]) + payloads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::KeyId;
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_graph::value::Value;
    use evergraph_storage::record::Operation;

    fn record(ts: u64, payload: Properties) -> Record {
        let stamp = Stamp::new(Timestamp(ts), Operation::Insert);
        Record { key: RecordKey::edge(1, ts as u32, 0), stamp, payload }
    }

    #[test]
    fn a_tail_grows_in_steps_and_keeps_order_and_payloads() {
        let mut tail = Tail::none();
        let payload = Properties::new(vec![(KeyId(1), Some(Value::from("x")))]);
        for ts in 0..TAIL_CAPACITY as u64 {
            if tail.room() == 0 {
                tail = tail.grown(1).expect("not yet full");
            }
            tail.push(record(ts, if ts % 3 == 0 { payload.clone() } else { Properties::EMPTY }));
        }
        assert_eq!(tail.len(), TAIL_CAPACITY);
        assert!(tail.room() == 0 && tail.grown(1).is_none());
        assert_eq!(tail.successor().room(), TAIL_CAPACITY);
        let few = Tail::none().grown(2).unwrap();
        assert!(few.room() < TAIL_CAPACITY && few.successor().room() == 0);
        for (at, found) in tail.iter().enumerate() {
            assert_eq!(found.stamp.timestamp(), Timestamp(at as u64));
            assert_eq!(found.payload.is_empty(), at % 3 != 0);
        }
        assert!(tail.heap_bytes() > TAIL_CAPACITY * 16);
    }
}
