//! Hash entries: from the hash of a value to the items that may have it.
//!
//! ```text
//! shard   few    (hash, item)            a value with up to 8 items: 8 bytes and a tag for a vertex
//!         many   hash -> sorted items    a value with more: about 6 bytes for a vertex
//! ```
//!
//! Values that many items share would make a plain table's chains long, and each insertion as slow as
//! the chain; a sorted set also lets a look-up resume inside such a value.

use crate::index::change_list::spread;
use crate::index::item::Item;
use crate::sync::RwLock;
use hashbrown::HashTable;
use std::collections::BTreeSet;
use std::ops::Bound;

const SHARDS: usize = 64;
/// Items of one hash that lie in the table itself.
const FEW_MAX: usize = 8;

/// Pairs that enter a shard while it is locked: a tenth of a millisecond.
const ENTRIES_OF_LOCK: usize = 1024;

/// Items whose values have one hash: perhaps they are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meeting<I> {
    /// Those that are to come, at least one.
    pub new: Vec<I>,
    /// Those that are there.
    pub present: Vec<I>,
}

/// Pairs of hash and item, each once.
///
/// Concurrency: any thread reads and writes; one shard is locked at a time, for one answer or for a moment's writing.
#[derive(Debug)]
pub struct HashEntries<I>(Box<[RwLock<Shard<I>>]>);

#[derive(Debug)]
struct Shard<I> {
    few: HashTable<(u32, I)>,
    many: HashTable<(u32, BTreeSet<I>)>,
    /// Items in all sets of `many`.
    many_count: usize,
    distinct: u64,
}

impl<I> Default for Shard<I> {
    fn default() -> Self {
        Self { few: HashTable::new(), many: HashTable::new(), many_count: 0, distinct: 0 }
    }
}

impl<I: Item> Shard<I> {
    fn of_hash(&self, hash: u32) -> impl Iterator<Item = I> {
        self.few.iter_hash(spread(hash)).filter(move |entry| entry.0 == hash).map(|entry| entry.1)
    }

    fn insert(&mut self, hash: u32, item: I) {
        if let Some((_, set)) = self.many.find_mut(spread(hash), |entry| entry.0 == hash) {
            self.many_count += usize::from(set.insert(item));
            return;
        }
        let (mut count, mut known) = (0, false);
        for other in self.of_hash(hash) {
            count += 1;
            known |= other == item;
        }
        if known {
            return;
        }
        self.distinct += u64::from(count == 0);
        if count < FEW_MAX {
            self.few.insert_unique(spread(hash), (hash, item), |entry| spread(entry.0));
            return;
        }
        let mut set: BTreeSet<I> = self.of_hash(hash).collect();
        for other in &set {
            self.take(hash, *other);
        }
        set.insert(item);
        self.many_count += set.len();
        self.many.insert_unique(spread(hash), (hash, set), |entry| spread(entry.0));
    }

    fn take(&mut self, hash: u32, item: I) -> bool {
        let found = self.few.find_entry(spread(hash), |entry| *entry == (hash, item));
        found.is_ok_and(|entry| {
            entry.remove();
            true
        })
    }
}

impl<I: Item> Default for HashEntries<I> {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| RwLock::default()).collect())
    }
}

impl<I: Item> HashEntries<I> {
    /// Adds a pair, if it isn't there.
    pub fn insert(&self, hash: u32, item: I) {
        self.shard(hash).write().insert(hash, item);
    }

    /// Adds many pairs, as [`HashEntries::insert`] each. Cost: a fraction of that, since a shard fits a cache.
    pub fn insert_all(&self, entries: &[(u32, I)]) {
        for (shard, entries) in self.0.iter().zip(by_shard(entries)) {
            for some in entries.chunks(ENTRIES_OF_LOCK) {
                let mut shard = shard.write();
                some.iter().for_each(|(hash, item)| shard.insert(*hash, *item));
            }
        }
    }

    /// Where the hash of one of `entries` is that of another one of them, or of an item here.
    #[must_use]
    pub fn meetings(&self, entries: &[(u32, I)]) -> Vec<Meeting<I>> {
        let mut meetings = Vec::new();
        for (shard, mut entries) in self.0.iter().zip(by_shard(entries)) {
            entries.sort_unstable();
            let shard = shard.read();
            for new in entries.chunk_by(|one, other| one.0 == other.0) {
                let hash = new[0].0;
                let many = shard.many.find(spread(hash), |entry| entry.0 == hash);
                let many = many.into_iter().flat_map(|(_, set)| set.iter().copied());
                let present: Vec<I> = shard.of_hash(hash).chain(many).collect();
                if new.len() + present.len() > 1 {
                    let new = new.iter().map(|(_, item)| *item).collect();
                    meetings.push(Meeting { new, present });
                }
            }
        }
        meetings
    }

    /// Removes a pair, if it is there.
    pub fn remove(&self, hash: u32, item: I) {
        let mut shard = self.shard(hash).write();
        let shard = &mut *shard;
        match shard.many.find_entry(spread(hash), |entry| entry.0 == hash) {
            Ok(mut entry) => {
                let set = &mut entry.get_mut().1;
                shard.many_count -= usize::from(set.remove(&item));
                if set.is_empty() {
                    entry.remove();
                    shard.distinct -= 1;
                }
            }
            Err(_) => {
                if shard.take(hash, item) && shard.of_hash(hash).next().is_none() {
                    shard.distinct -= 1;
                }
            }
        }
    }

    /// Appends up to `limit` items of `hash` that are greater than `after`, ascending.
    pub fn of(&self, hash: u32, after: Option<I>, limit: usize, items: &mut Vec<I>) {
        let shard = self.shard(hash).read();
        if let Some((_, set)) = shard.many.find(spread(hash), |entry| entry.0 == hash) {
            let from = after.map_or(Bound::Unbounded, Bound::Excluded);
            items.extend(set.range((from, Bound::Unbounded)).take(limit));
            return;
        }
        let start = items.len();
        items.extend(shard.of_hash(hash).filter(|item| after.is_none_or(|after| *item > after)));
        items[start..].sort_unstable();
        items.truncate(start.saturating_add(limit));
    }

    /// Visits all pairs, a shard after the other; what changes meanwhile is seen or not.
    pub fn for_each(&self, visit: &mut dyn FnMut(u32, I)) {
        for shard in &self.0 {
            let shard = shard.read();
            let few = shard.few.iter().copied();
            let many = shard.many.iter().flat_map(|(hash, set)| set.iter().map(|item| (*hash, *item)));
            let pairs: Vec<(u32, I)> = few.chain(many).collect();
            drop(shard);
            pairs.into_iter().for_each(|(hash, item)| visit(hash, item));
        }
    }

    /// Pairs, different hashes, and bytes, about.
    #[must_use]
    pub fn size(&self) -> (u64, u64, u64) {
        let mut size = (0, 0, 0);
        for shard in &self.0 {
            let shard = shard.read();
            size.0 += (shard.few.len() + shard.many_count) as u64;
            size.1 += shard.distinct;
            // A node of a set holds up to eleven items and is about two thirds full.
            let sets = shard.many_count * size_of::<I>() * 3 / 2;
            size.2 += (shard.few.allocation_size() + shard.many.allocation_size() + sets) as u64;
        }
        size
    }

    /// By the top bits: the tables inside take their places from a product of all bits.
    fn shard(&self, hash: u32) -> &RwLock<Shard<I>> {
        &self.0[shard_of(hash)]
    }
}

/// The entries of each shard.
fn by_shard<I: Item>(entries: &[(u32, I)]) -> Vec<Vec<(u32, I)>> {
    let room = entries.len() / SHARDS + entries.len() / (8 * SHARDS);
    let mut shards: Vec<Vec<(u32, I)>> = (0..SHARDS).map(|_| Vec::with_capacity(room)).collect();
    entries.iter().for_each(|entry| shards[shard_of(entry.0)].push(*entry));
    shards
}

fn shard_of(hash: u32) -> usize {
    hash as usize >> (u32::BITS - SHARDS.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::VertexId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_lone_vertex_costs_ten_to_twenty_bytes_and_one_of_many_about_six() {
        let lone = HashEntries::default();
        let shared = HashEntries::default();
        let rows = 200_000u32;
        for row in 0..rows {
            lone.insert(row.wrapping_mul(0x9e37_79b9), VertexId(row));
            shared.insert(7, VertexId(row));
        }
        let each = |entries: &HashEntries<VertexId>| entries.size().2 as f64 / f64::from(rows);
        assert!((9.0..21.5).contains(&each(&lone)), "{} bytes", each(&lone));
        assert!((5.0..8.0).contains(&each(&shared)), "{} bytes", each(&shared));
        assert_eq!((lone.size().1, shared.size().1), (200_000, 1));
        let at_once = HashEntries::default();
        at_once.insert_all(&(0..rows).map(|row| (7, VertexId(row))).collect::<Vec<_>>());
        assert!((5.0..8.0).contains(&each(&at_once)), "{} bytes", each(&at_once));
    }

    proptest! {
        #[test]
        fn many_pairs_at_once_are_as_each_of_them_and_meet_where_hashes_are_equal(
            present in proptest::collection::btree_set((0u32..6, 0u32..40), 0..60),
            new in proptest::collection::btree_set((0u32..8, 40u32..80), 0..60),
        ) {
            // Hashes of several shards.
            let pair = |(hash, item): &(u32, u32)| (*hash << 29 | *hash, VertexId(*item));
            let (present, new): (Vec<_>, Vec<_>) = (present.iter().map(pair).collect(), new.iter().map(pair).collect());
            let (one_by_one, at_once) = (HashEntries::default(), HashEntries::default());
            present.iter().for_each(|(hash, item)| at_once.insert(*hash, *item));
            let mut expected: Vec<Meeting<VertexId>> = Vec::new();
            for hash in 0..8 {
                let hash = hash << 29 | hash;
                let of_hash = |all: &[(u32, VertexId)]| -> Vec<VertexId> {
                    let mut items: Vec<VertexId> = all.iter().filter(|pair| pair.0 == hash).map(|pair| pair.1).collect();
                    items.sort_unstable();
                    items
                };
                let meeting = Meeting { new: of_hash(&new), present: of_hash(&present) };
                if !meeting.new.is_empty() && meeting.new.len() + meeting.present.len() > 1 {
                    expected.push(meeting);
                }
            }
            let mut found = at_once.meetings(&new);
            found.iter_mut().for_each(|meeting| meeting.present.sort_unstable());
            found.sort_by_key(|meeting| meeting.new[0]);
            expected.sort_by_key(|meeting| meeting.new[0]);
            prop_assert_eq!(found, expected);
            at_once.insert_all(&new);
            present.iter().chain(&new).for_each(|(hash, item)| one_by_one.insert(*hash, *item));
            let all = |entries: &HashEntries<VertexId>| {
                let mut all = Vec::new();
                entries.for_each(&mut |hash, item| all.push((hash, item)));
                all.sort_unstable();
                (all, entries.size().0, entries.size().1)
            };
            prop_assert_eq!(all(&at_once), all(&one_by_one));
        }

        #[test]
        fn pairs_are_found_in_order_from_any_place(
            steps in proptest::collection::vec((0u32..4, 0u32..30, any::<bool>()), 0..200),
            after in proptest::option::of(0u32..30), limit in 0usize..20,
        ) {
            let (entries, mut model) = (HashEntries::default(), BTreeMap::<u32, BTreeSet<VertexId>>::new());
            for (hash, item, add) in steps {
                let (hash, item) = (hash << 30, VertexId(item));
                if add {
                    entries.insert(hash, item);
                    model.entry(hash).or_default().insert(item);
                } else {
                    entries.remove(hash, item);
                    model.entry(hash).or_default().remove(&item);
                }
            }
            let after = after.map(VertexId);
            for (hash, items) in &model {
                let mut found = Vec::new();
                entries.of(*hash, after, limit, &mut found);
                let wanted = items.iter().filter(|item| after.is_none_or(|after| **item > after)).take(limit);
                prop_assert!(wanted.eq(found.iter()));
            }
            let mut all = BTreeSet::new();
            entries.for_each(&mut |hash, item| assert!(all.insert((hash, item)), "each once"));
            let wanted: BTreeSet<_> =
                model.iter().flat_map(|(hash, items)| items.iter().map(|item| (*hash, *item))).collect();
            prop_assert_eq!(&all, &wanted);
            let distinct = model.values().filter(|items| !items.is_empty()).count() as u64;
            prop_assert_eq!((entries.size().0, entries.size().1), (wanted.len() as u64, distinct));
        }
    }
}
