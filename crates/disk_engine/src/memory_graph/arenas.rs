//! Arenas: the memory of a memory graph: five arrays that only grow, and three hash tables over them.
//!
//! ```text
//! list heads ──> Entry { subject, vertex, next, sibling, newest, count, 2 records }   a list
//!                           └─ newest ──> slots: header | record | record | ...       its blocks, newest first
//! link heads ──> Link { entry, place, next }                                          a record of a long list
//! segment heads> Segment { subject, group, ..., entries }                             a vertex group's lists
//!                payloads: properties of records, each set once
//! ```
//!
//! An index of 0 ends a chain. Elements are plain words; what they mean, and in which order they are published, is
//! said where they are written: `lists.rs`, `neighbor_hash.rs`, `segments.rs`.
//!
//! Source: LSMGraph (SIGMOD 2024), section 4.1: a hash map from vertices to their first edges, an edge array and
//! properties apart. Differs: links in place of its skip list, one array for short and long lists, one entry for each
//! type and side.

use crate::memory_graph::chunks::Chunks;
use crate::memory_graph::record::NO_PROPERTIES;
use crate::memory_graph::slot::Slot;
use evergraph_graph::properties::Properties;
use evergraph_storage::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;
#[cfg(not(any(shuttle, loom)))]
use zerocopy::FromZeros as _;

/// Records in an entry itself.
pub(super) const INLINE_RECORDS: u32 = 2;
/// Records of the smallest block, unless a commit was promised less.
#[cfg(not(any(shuttle, loom)))]
pub(super) const BLOCK_RECORDS_MIN: u32 = 8;
/// Records of the largest block.
#[cfg(not(any(shuttle, loom)))]
pub(super) const BLOCK_RECORDS_MAX: u32 = 1024;
/// The records of a list that are looked through before it is worth links.
#[cfg(not(any(shuttle, loom)))]
pub(super) const UNLINKED_MAX: u32 = 64;
/// Bytes of a chunk, about.
#[cfg(not(any(shuttle, loom)))]
const CHUNK_BYTES: usize = 1 << 17;

// Small, so that schedules of a few commits fill blocks and link lists.
#[cfg(any(shuttle, loom))]
pub(super) const BLOCK_RECORDS_MIN: u32 = 1;
#[cfg(any(shuttle, loom))]
pub(super) const BLOCK_RECORDS_MAX: u32 = 2;
#[cfg(any(shuttle, loom))]
pub(super) const UNLINKED_MAX: u32 = 3;
#[cfg(any(shuttle, loom))]
const CHUNK_BYTES: usize = 0;

/// Elements of the smallest chunk: more than a block has slots.
#[cfg(not(any(shuttle, loom)))]
const CHUNK_BITS_MIN: u32 = 11;
#[cfg(any(shuttle, loom))]
const CHUNK_BITS_MIN: u32 = 3;
/// How far beyond its capacity a graph may grow for what writers were promised, as a factor.
#[cfg(not(any(shuttle, loom)))]
const OVERSHOOT: u64 = 4;
#[cfg(any(shuttle, loom))]
const OVERSHOOT: u64 = 64;
/// Bytes of a graph for each list that its tables expect: an entry, a share of the tables, and little else.
const LIST_BYTES: u64 = 96;

/// The end of a chain.
pub(super) const NONE: u32 = 0;

/// A list: what the graph knows of one vertex and one subject.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub subject: AtomicU32,
    pub vertex: AtomicU32,
    /// The next entry of the same hash.
    pub next: AtomicU32,
    /// The next entry of the same segment.
    pub sibling: AtomicU32,
    /// The header's slot of the newest block.
    pub newest: AtomicU32,
    /// Records, and in the highest bit whether each of them has a link.
    pub count: AtomicU32,
    pub inline: [Slot; INLINE_RECORDS as usize],
}

/// One record of a list that is found by its neighbour.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// The entry of the list.
    pub entry: AtomicU32,
    /// Where the record lies: in this slot, or if below [`INLINE_RECORDS`], in the entry.
    pub place: AtomicU32,
    /// The next link of the same hash, which is older if it is of the same list and neighbour.
    pub next: AtomicU32,
}

/// What the graph knows of a vertex group and one subject, as a whole.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub subject: AtomicU32,
    pub group: AtomicU32,
    /// The next segment of the same hash.
    pub next: AtomicU32,
    /// The next segment of edges of the same group; the segment of its vertices begins the chain.
    pub sibling: AtomicU32,
    /// The newest of its entries, which chain by [`Entry::sibling`].
    pub entries: AtomicU32,
    /// How many entries there are.
    pub entry_count: AtomicU32,
    /// One more than the offset of the newest commit here; 0 if there is none.
    pub changed: AtomicU64,
    /// The same of the newest commit that inserted or deleted.
    pub members_changed: AtomicU64,
    /// Inserts minus deletes, as an `i64`.
    pub difference: AtomicU64,
}

/// How many elements of each array something takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Room {
    pub entries: u64,
    pub slots: u64,
    pub links: u64,
    pub segments: u64,
    pub payloads: u64,
}

impl Room {
    /// How many arrays there are.
    pub(super) const ARRAYS: usize = 5;

    /// The number of each array.
    pub(super) const fn counts(self) -> [u64; Self::ARRAYS] {
        [self.entries, self.slots, self.links, self.segments, self.payloads]
    }

    /// The room with the numbers that [`Room::counts`] returned.
    pub(super) const fn of_counts([entries, slots, links, segments, payloads]: [u64; Self::ARRAYS]) -> Self {
        Self { entries, slots, links, segments, payloads }
    }
}

/// The buckets of a hash table whose entries chain.
#[derive(Debug)]
pub(super) struct Heads(Box<[AtomicU32]>);

/// Heads without chains. Memory that the system gives zeroed is touched where lists begin, and nowhere else: an eighth of a
/// graph's capacity would be written whenever one is opened.
#[cfg(not(any(shuttle, loom)))]
fn empty_heads(count: usize) -> Box<[AtomicU32]> {
    const { assert!(NONE == 0, "zeros are heads without chains") };
    AtomicU32::new_vec_zeroed(count).expect("the process has memory for a table").into()
}

#[cfg(any(shuttle, loom))]
fn empty_heads(count: usize) -> Box<[AtomicU32]> {
    (0..count).map(|_| AtomicU32::new(NONE)).collect()
}

impl Heads {
    /// Buckets for about `entries`: twice as many, rounded up to a power of two.
    fn for_entries(entries: u64) -> Self {
        let count = (entries.max(4) * 2).next_power_of_two().min(1 << 31);
        Self(empty_heads(count as usize))
    }

    /// The bucket of two words.
    #[inline]
    pub(super) fn of(&self, high: u32, low: u32) -> &AtomicU32 {
        // Fibonacci hashing (Knuth, volume 3, section 6.4): the highest bits of a product depend on all of the key's.
        let product = (u64::from(high) << 32 | u64::from(low)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let product = (product ^ product >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.0[(product >> (64 - self.0.len().trailing_zeros())) as usize]
    }

    /// All buckets.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, AtomicU32> {
        self.0.iter()
    }

    fn bytes(&self) -> u64 {
        size_of_val(&*self.0) as u64
    }
}

/// The arrays and tables of one memory graph.
///
/// # Concurrency
/// As its parts: chunks are allocated ahead of the latch, elements written under it, and read by anybody.
#[derive(Debug)]
pub(super) struct Arenas {
    pub entries: Chunks<Entry>,
    pub slots: Chunks<Slot>,
    pub links: Chunks<Link>,
    pub segments: Chunks<Segment>,
    pub payloads: Chunks<OnceLock<Properties>>,
    pub list_heads: Heads,
    pub link_heads: Heads,
    pub segment_heads: Heads,
    /// Whether nothing is written any more. Stored (Release) under the latch, loaded (Acquire) by whoever allocates for
    /// promises: a graph that looks open still gets memory that nobody uses.
    frozen: AtomicBool,
}

fn chunks<T: Default>(elements: u64) -> Chunks<T> {
    let bits = (CHUNK_BYTES / size_of::<T>()).checked_ilog2().unwrap_or(0).max(CHUNK_BITS_MIN);
    // One more than what the elements fill, and one for what is skipped at the ends.
    let chunks_max = (elements >> bits).saturating_add(3).saturating_mul(OVERSHOOT);
    Chunks::new(bits, u32::try_from(chunks_max).unwrap_or(u32::MAX))
}

impl Arenas {
    /// Arrays that grow to about `bytes`, and tables for as many entries as fit there.
    pub(super) fn with_capacity(bytes: u64) -> Self {
        let elements = |size: usize| bytes / size as u64;
        let room = Room {
            entries: elements(size_of::<Entry>()),
            slots: elements(size_of::<Slot>()),
            links: elements(size_of::<Link>()),
            segments: elements(size_of::<Segment>()),
            payloads: elements(size_of::<OnceLock<Properties>>()),
        };
        // Lists are at least so large; few are long, and segments have several.
        let lists = bytes / LIST_BYTES;
        Self::new(room, [lists, lists / 4, lists / 8])
    }

    /// Arrays and tables for `room`.
    pub(super) fn with_room(room: Room) -> Self {
        Self::new(room, [room.entries, room.links, room.segments])
    }

    fn new(room: Room, [lists, links, segments]: [u64; 3]) -> Self {
        Self {
            entries: chunks(room.entries),
            slots: chunks(room.slots),
            links: chunks(room.links),
            segments: chunks(room.segments),
            payloads: chunks(room.payloads),
            list_heads: Heads::for_entries(lists),
            link_heads: Heads::for_entries(links),
            segment_heads: Heads::for_entries(segments),
            frozen: AtomicBool::new(false),
        }
    }

    /// Allocates what `promised` takes; whether it fits. By one thread at a time.
    #[must_use]
    pub(super) fn make_ready(&self, promised: Room) -> bool {
        self.entries.make_ready(promised.entries, 1)
            && self.slots.make_ready(promised.slots, 1 + BLOCK_RECORDS_MAX)
            && self.links.make_ready(promised.links, 1)
            && self.segments.make_ready(promised.segments, 1)
            && self.payloads.make_ready(promised.payloads, 1)
    }

    /// Ends writing. Under the latch.
    pub(super) fn freeze(&self) {
        self.frozen.store(true, Ordering::Release);
    }

    /// Whether writing ended.
    pub(super) fn is_frozen(&self) -> bool {
        self.frozen.load(Ordering::Acquire)
    }

    /// Takes a slot for `payload`; its index, or 0 for none. Under the latch.
    pub(super) fn put_payload(&self, payload: Properties) -> u32 {
        if payload.is_empty() {
            return NONE;
        }
        let at = self.payloads.take(1);
        let fresh = self.payloads.get(at).set(payload).is_ok();
        debug_assert!(fresh, "a payload's slot is set once");
        at
    }

    /// The payload with an index that a record holds.
    #[inline]
    pub(super) fn payload(&self, at: u32) -> &Properties {
        match at {
            NONE => &NO_PROPERTIES,
            at => self.payloads.get(at).get().expect("a payload is set before its record is reachable"),
        }
    }

    /// Bytes of the arrays' chunks and of the tables; properties on the heap are not counted.
    pub(super) fn bytes(&self) -> u64 {
        let arrays = self.entries.bytes()
            + self.slots.bytes()
            + self.links.bytes()
            + self.segments.bytes()
            + self.payloads.bytes();
        arrays + self.list_heads.bytes() + self.link_heads.bytes() + self.segment_heads.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_takes_56_bytes_a_link_12_and_a_segment_48() {
        assert_eq!((size_of::<Entry>(), size_of::<Link>(), size_of::<Segment>()), (56, 12, 48));
    }

    #[test]
    fn buckets_of_consecutive_vertices_and_of_powers_of_two_spread() {
        let heads = Heads::for_entries(2048);
        let bucket_of = |high: u32, low: u32| std::ptr::from_ref(heads.of(high, low)) as usize;
        let used = |keys: &mut dyn Iterator<Item = (u32, u32)>| {
            let buckets: std::collections::BTreeSet<_> =
                keys.map(|(high, low)| bucket_of(high, low)).collect();
            buckets.len()
        };
        // Random hashing of 2,048 keys into 4,096 buckets uses about 1,611 of them.
        assert!(used(&mut (0..2048).map(|vertex| (1, vertex))) > 1500);
        assert!(used(&mut (0..2048).map(|vertex| (1, vertex << 20))) > 1500);
        assert!(used(&mut (0..2048).map(|subject| (subject, 77))) > 1500);
    }

    #[test]
    fn a_small_graph_takes_little() {
        let arenas = Arenas::with_capacity(1 << 20);
        assert!(arenas.make_ready(Room { entries: 1, slots: 9, links: 1, segments: 2, payloads: 1 }));
        assert!(arenas.bytes() < 1 << 20, "{} bytes", arenas.bytes());
    }
}
