//! Unique index: from a value's hash to the vertices that may hold it.
//!
//! ```text
//! shard    hash (32 bits)   vertex (32 bits)      8 bytes and a tag an entry, 10 to 21 in all
//! leaving  hash, vertex  -> the commit that moved the value away
//! queue    (ts, hash, vertex), oldest first
//! ```
//!
//! Entries have no timestamps and no values: they are a *superset*. Whoever looks up reads the
//! property of each candidate at its own snapshot and compares.
//!
//! - An entry is inserted under the commit latch, before the commit is published, so that whoever
//!   sees the commit finds it.
//! - A commit that moves a value away queues the entry's removal. It is done once every open
//!   snapshot sees that commit; an insertion of the same pair in between calls it off, and a later
//!   removal replaces it. Model: without that last clause 15 % of histories missed hits.
//! - [`ChangeList`] tells a writer whether a value gained a holder after its snapshot.
//!
//! Source: core-protocol section 6. Differs: the section re-reads the property before it removes;
//! calling off needs no read, and no order between the reader's view and the running commit.

use crate::engine::Newer;
use crate::index::change_list::{ChangeList, spread};
use crate::sync::{Mutex, RwLock};
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use hashbrown::HashTable;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

const SHARDS: usize = 64;
/// Changes remembered for writers: at most 24 bytes each.
const CHANGES_MAX: usize = 1 << 16;
/// Removals done before the queue's lock is given back.
const COLLECT_BATCH: usize = 256;

/// The values of one key among the vertices of one label.
///
/// Concurrency: readers and the collector at any time; `insert` and `remove_later` only under the
/// commit latch (or before the index is known to anybody). Locks: queue and change list, then shard;
/// no two at once.
#[derive(Debug)]
pub struct UniqueIndex {
    since: Timestamp,
    seed: u64,
    shards: Box<[RwLock<Shard>]>,
    removals: Mutex<VecDeque<(Timestamp, u32, VertexId)>>,
    changes: Mutex<ChangeList>,
}

#[derive(Debug, Default)]
struct Shard {
    entries: HashTable<(u32, VertexId)>,
    /// Entries whose value moved away, and when; the latest counts.
    leaving: HashTable<(u32, VertexId, Timestamp)>,
}

impl UniqueIndex {
    /// An empty index that will hold the state at `since` and every commit after it. `seed` keeps
    /// others from choosing values that collide.
    #[must_use]
    pub fn new(since: Timestamp, seed: u64) -> Self {
        Self {
            since,
            seed,
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            removals: Mutex::default(),
            changes: Mutex::new(ChangeList::new(since, CHANGES_MAX)),
        }
    }

    /// Whether a snapshot at `snapshot` finds all that it should.
    #[must_use]
    pub fn serves(&self, snapshot: Timestamp) -> bool {
        self.since.visible_at(snapshot)
    }

    /// The hash of `value` in this index: equal for equal values, stable while the process runs.
    #[must_use]
    pub fn hash(&self, value: &Value) -> u32 {
        let mut hasher = DefaultHasher::new();
        self.seed.hash(&mut hasher);
        value.hash(&mut hasher);
        hasher.finish() as u32
    }

    /// Appends the vertices that may hold a value of this hash now or at an open snapshot.
    pub fn candidates(&self, hash: u32, vertices: &mut Vec<VertexId>) {
        let shard = self.shard(hash).read();
        let entries = shard.entries.iter_hash(spread(hash));
        vertices.extend(entries.filter(|entry| entry.0 == hash).map(|entry| entry.1));
    }

    /// Whether a value of this hash gained a holder after `since`. Under the latch.
    #[must_use]
    pub fn newer(&self, hash: u32, since: Timestamp) -> Newer {
        self.changes.lock().newer(hash, since)
    }

    /// `vertex` holds a value of this hash from commit `at` on. Under the latch, before the commit is
    /// published.
    pub fn insert(&self, at: Timestamp, hash: u32, vertex: VertexId) {
        self.changes.lock().push(at, hash);
        self.fill(hash, vertex);
    }

    /// Adds an entry that was there at the index's beginning.
    pub fn fill(&self, hash: u32, vertex: VertexId) {
        let mut shard = self.shard(hash).write();
        let Shard { entries, leaving } = &mut *shard;
        let known = entries.entry(spread(hash), |entry| *entry == (hash, vertex), |entry| spread(entry.0));
        known.or_insert((hash, vertex));
        if let Ok(entry) = leaving.find_entry(spread(hash), |entry| (entry.0, entry.1) == (hash, vertex)) {
            entry.remove();
        }
    }

    /// `vertex` holds no value of this hash from commit `at` on. Under the latch.
    pub fn remove_later(&self, at: Timestamp, hash: u32, vertex: VertexId) {
        self.removals.lock().push_back((at, hash, vertex));
        let mut shard = self.shard(hash).write();
        let same = |entry: &(u32, VertexId, Timestamp)| (entry.0, entry.1) == (hash, vertex);
        let entry = shard.leaving.entry(spread(hash), same, |entry| spread(entry.0));
        entry.and_modify(|entry| entry.2 = at).or_insert((hash, vertex, at));
    }

    /// Does the removals that every open snapshot agrees with: those of commits visible at `oldest`,
    /// the oldest open snapshot (R if that is older or there is none). For a background thread; holds no lock for long.
    pub fn collect(&self, oldest: Timestamp) {
        self.changes.lock().forget_through(oldest);
        loop {
            let due: Vec<_> = {
                let mut queue = self.removals.lock();
                let count = queue.partition_point(|(at, ..)| at.visible_at(oldest)).min(COLLECT_BATCH);
                queue.drain(..count).collect()
            };
            if due.is_empty() {
                return;
            }
            for (at, hash, vertex) in due {
                let mut shard = self.shard(hash).write();
                let Shard { entries, leaving } = &mut *shard;
                if let Ok(entry) = leaving.find_entry(spread(hash), |entry| *entry == (hash, vertex, at)) {
                    entry.remove();
                    if let Ok(entry) = entries.find_entry(spread(hash), |entry| *entry == (hash, vertex)) {
                        entry.remove();
                    }
                }
            }
        }
    }

    /// Entries, stale ones included, and removals that wait.
    #[must_use]
    pub fn len(&self) -> (u64, u64) {
        let entries = self.shards.iter().map(|shard| shard.read().entries.len() as u64).sum();
        (entries, self.removals.lock().len() as u64)
    }

    /// Bytes of entries and of what waits, about.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let shards = self.shards.iter().map(|shard| {
            let shard = shard.read();
            (shard.entries.allocation_size() + shard.leaving.allocation_size()) as u64
        });
        shards.sum::<u64>()
            + self.removals.lock().capacity() as u64 * 16
            + self.changes.lock().len() as u64 * 36
    }

    /// By the top bits: the tables inside take their places from a product of all bits.
    fn shard(&self, hash: u32) -> &RwLock<Shard> {
        &self.shards[hash as usize >> (u32::BITS - SHARDS.trailing_zeros())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::timestamp::Timestamp as T;
    use proptest::prelude::*;

    fn found(index: &UniqueIndex, hash: u32) -> Vec<u32> {
        let mut vertices = Vec::new();
        index.candidates(hash, &mut vertices);
        vertices.sort();
        vertices.iter().map(|vertex| vertex.0).collect()
    }

    #[test]
    fn an_entry_stays_until_every_snapshot_sees_that_it_left() {
        let index = UniqueIndex::new(T(0), 7);
        let hash = index.hash(&Value::from("ada"));
        index.insert(T(1), hash, VertexId(5));
        index.remove_later(T(4), hash, VertexId(5));
        index.collect(T(3));
        assert_eq!(found(&index, hash), [5]);
        index.collect(T(4));
        assert_eq!(found(&index, hash), []);
        assert_eq!(index.len(), (0, 0));
    }

    #[test]
    fn a_value_that_comes_back_calls_its_removal_off() {
        let index = UniqueIndex::new(T(0), 7);
        index.insert(T(1), 9, VertexId(5));
        index.remove_later(T(2), 9, VertexId(5));
        index.insert(T(3), 9, VertexId(5));
        index.remove_later(T(6), 9, VertexId(5));
        index.collect(T(5));
        assert_eq!(found(&index, 9), [5], "the removal at 2 was called off, that at 6 isn't due");
        index.collect(T(6));
        assert_eq!(found(&index, 9), []);
    }

    #[test]
    fn a_row_costs_about_fourteen_bytes() {
        let index = UniqueIndex::new(T(0), 7);
        let rows = 200_000u32;
        for row in 0..rows {
            index.fill(index.hash(&Value::I64(row.into())), VertexId(row));
        }
        let bytes = index.heap_bytes() as f64 / f64::from(rows);
        assert!((9.0..21.5).contains(&bytes), "{bytes} bytes a row");
        let lone =
            (0..rows).filter(|row| found(&index, index.hash(&Value::I64((*row).into()))) == [*row]).count();
        assert!(lone > 199_900, "hashes spread over 32 bits: {lone} are alone");
    }

    proptest! {
        /// One vertex moves between values; at each moment every open snapshot must find its holder.
        #[test]
        fn every_open_snapshot_finds_the_holder_of_each_value(
            steps in proptest::collection::vec((0u32..3, 0u32..3, 0u8..4), 1..60),
        ) {
            let index = UniqueIndex::new(T(0), 1);
            let mut history: Vec<[Option<u32>; 3]> = vec![[None; 3]]; // by timestamp: value of each vertex
            let mut oldest = 0;
            for (vertex, value, action) in steps {
                let (at, mut state) = (T(history.len() as u64), *history.last().unwrap());
                let holder = &mut state[vertex as usize];
                if let Some(old) = holder.take_if(|old| action == 0 || *old != value) {
                    index.remove_later(at, old, VertexId(vertex));
                }
                if action > 0 && *holder != Some(value) {
                    *holder = Some(value);
                    index.insert(at, value, VertexId(vertex));
                }
                history.push(state);
                if action == 3 {
                    oldest = (oldest + history.len()) / 2;
                    index.collect(T(oldest as u64));
                }
                for state in &history[oldest..] {
                    for (vertex, value) in state.iter().enumerate() {
                        if let Some(value) = value {
                            prop_assert!(found(&index, *value).contains(&(vertex as u32)));
                        }
                    }
                }
            }
            index.collect(T(history.len() as u64));
            let live = history.last().unwrap().iter().flatten().count() as u64;
            prop_assert_eq!(index.len(), (live, 0), "nothing stale is left");
        }
    }
}
