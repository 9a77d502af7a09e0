//! Removals: outdated index entries, and the commits after which nobody needs them.
//!
//! ```text
//! queue    (ts, value, item)        oldest first
//! leaving  item, hash -> ts         the removal that counts; without it the queued one was called off
//! ```
//!
//! A commit that moves a value away queues the entry's removal. It is done once every open snapshot sees
//! that commit; an insertion of the same pair in between calls it off, and a later removal replaces
//! it. Model: without that last clause 15 % of histories missed hits.
//!
//! Two values whose hashes meet on one item may call each other's removal off: an entry too many then
//! stays, which readers pass over.
//!
//! Source: core-protocol section 6. Differs: the section re-reads the property before it removes;
//! calling off needs no read, and no order between the reader's view and the running commit.

use crate::index::change_list::spread;
use crate::index::item::Item;
use crate::planted::{Bug, planted};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use hashbrown::HashTable;
use std::collections::VecDeque;

/// What an entry is filed under.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryKey {
    /// The value's hash in its index.
    pub hash: u32,
    /// The value itself, in an ordered index.
    pub value: Option<Value>,
}

/// The removals that one index has to do.
#[derive(Debug)]
pub struct Removals<I> {
    queue: VecDeque<(Timestamp, EntryKey, I)>,
    leaving: HashTable<(u32, I, Timestamp)>,
}

impl<I> Default for Removals<I> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), leaving: HashTable::new() }
    }
}

/// Spreads the items of one value, which may be many.
fn place<I: Item>(hash: u32, item: I) -> u64 {
    spread(hash) ^ item.bits().wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(32)
}

impl<I: Item> Removals<I> {
    /// The pair left with commit `at`.
    pub fn queue(&mut self, at: Timestamp, key: EntryKey, item: I) {
        let hash = key.hash;
        let same = |entry: &(u32, I, Timestamp)| (entry.0, entry.1) == (hash, item);
        let entry = self.leaving.entry(place(hash, item), same, |entry| place(entry.0, entry.1));
        entry.and_modify(|entry| entry.2 = at).or_insert((hash, item, at));
        self.queue.push_back((at, key, item));
    }

    /// The pair is back.
    pub fn call_off(&mut self, hash: u32, item: I) {
        if self.leaving.is_empty() {
            return;
        }
        let same = |entry: &(u32, I, Timestamp)| (entry.0, entry.1) == (hash, item);
        if let Ok(entry) = self.leaving.find_entry(place(hash, item), same) {
            entry.remove();
        }
    }

    /// Whether the pair's removal waits.
    #[must_use]
    pub fn is_leaving(&self, hash: u32, item: I) -> bool {
        self.leaving.find(place(hash, item), |entry| (entry.0, entry.1) == (hash, item)).is_some()
    }

    /// The next removal of a commit visible at `oldest`, and whether it counts still.
    pub fn next_due(&mut self, oldest: Timestamp) -> Option<(EntryKey, I, bool)> {
        self.queue.front().filter(|(at, ..)| at.visible_at(oldest))?;
        let (at, key, item) = self.queue.pop_front()?;
        let found = self.leaving.find_entry(place(key.hash, item), |entry| *entry == (key.hash, item, at));
        let counts = found.is_ok_and(|entry| {
            entry.remove();
            true
        });
        Some((key, item, counts || planted(Bug::RemovalNotCalledOff)))
    }

    /// Entries that wait to be removed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.leaving.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes of what waits, about.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let queue = self.queue.capacity() * size_of::<(Timestamp, EntryKey, I)>();
        (queue + self.leaving.allocation_size()) as u64
    }
}
