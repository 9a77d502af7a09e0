//! Ordered maps: entries in the order they came, found by key.

use crate::value::extent::{Extent, HasExtent};
use hashbrown::HashTable;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::OnceLock;

/// Values by key, in the order they came. Two are equal if they hold the same entries, in any order.
#[derive(Clone)]
pub struct OrderedMap<K, V> {
    entries: Vec<(K, V)>,
    /// Places in `entries` by the hash of the key; empty below [`LINEAR_MAX`] entries.
    places: HashTable<u32>,
    hasher: foldhash::quality::RandomState,
    /// Computed on first use, and kept until something changes.
    extent: OnceLock<Extent>,
}

/// So many entries are looked through one by one: most maps are results with a few names as keys.
const LINEAR_MAX: usize = 8;

impl<K, V> OrderedMap<K, V> {
    /// A map without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Entries in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, in their order.
    #[must_use]
    pub fn entries(&self) -> &[(K, V)] {
        &self.entries
    }

    /// Gives the entries up, in their order.
    #[must_use]
    pub fn into_entries(self) -> Vec<(K, V)> {
        self.entries
    }
}

impl<K: Eq + Hash, V> OrderedMap<K, V> {
    /// What `key` leads to.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.place(key).map(|at| &self.entries[at].1)
    }

    /// Puts `value` at `key`: in its place if the key is there, else last.
    pub fn insert(&mut self, key: K, value: V) {
        self.extent.take();
        match self.place(&key) {
            Some(at) => self.entries[at].1 = value,
            None => self.append(key, value),
        }
    }

    fn place(&self, key: &K) -> Option<usize> {
        if self.entries.len() <= LINEAR_MAX {
            return self.entries.iter().position(|(other, _)| other == key);
        }
        let same = |at: &u32| self.entries[*at as usize].0 == *key;
        self.places.find(self.hasher.hash_one(key), same).map(|at| *at as usize)
    }

    fn append(&mut self, key: K, value: V) {
        let at = self.entries.len();
        self.entries.push((key, value));
        if self.entries.len() > LINEAR_MAX {
            let from = if self.places.is_empty() { 0 } else { at };
            let (entries, hasher) = (&self.entries, &self.hasher);
            let hash = |at: &u32| hasher.hash_one(&entries[*at as usize].0);
            for place in from..=at {
                self.places.insert_unique(hash(&(place as u32)), place as u32, hash);
            }
        }
    }
}

impl<K: HasExtent, V: HasExtent> OrderedMap<K, V> {
    /// How much the map holds, itself included, and how deep it is nested. Cost: the first time, a look at each entry.
    #[must_use]
    pub fn extent(&self) -> Extent {
        *self.extent.get_or_init(|| {
            let spare = (self.entries.capacity() - self.entries.len()) * size_of::<(K, V)>();
            let own = size_of::<Self>() + spare + self.places.allocation_size();
            let keys = Extent::of_all(self.entries.iter().map(|(key, _)| key));
            let values = Extent::of_all(self.entries.iter().map(|(_, value)| value));
            keys.beside(values).plus(own).enclosed()
        })
    }
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            places: HashTable::new(),
            hasher: foldhash::quality::RandomState::default(),
            extent: OnceLock::new(),
        }
    }
}

impl<K: Eq + Hash, V> FromIterator<(K, V)> for OrderedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        entries.into_iter().for_each(|(key, value)| map.insert(key, value));
        map
    }
}

/// The entries alone: how they are found differs from map to map, by chance.
impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for OrderedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries.iter().map(|(key, value)| (key, value))).finish()
    }
}

impl<K: Eq + Hash, V: PartialEq> PartialEq for OrderedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.entries.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<K: Eq + Hash, V: Eq> Eq for OrderedMap<K, V> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::item::Item;
    use crate::value::map::ItemMap;

    fn map(entries: &[(i64, i64)]) -> ItemMap {
        entries.iter().map(|(key, value)| (Item::from(*key), Item::from(*value))).collect()
    }

    #[test]
    fn keys_are_found_whether_few_or_many_and_keep_their_order() {
        for count in [1, LINEAR_MAX as i64, LINEAR_MAX as i64 + 1, 100] {
            let entries: Vec<_> = (0..count).rev().map(|key| (key, key * 10)).collect();
            let mut found = map(&entries);
            for (key, value) in &entries {
                assert_eq!(found.get(&Item::from(*key)), Some(&Item::from(*value)), "{count}");
            }
            assert_eq!(found.get(&Item::from(count)), None);
            assert_eq!(found.get(&Item::from(0_i32)), None, "another width is another key");
            found.insert(Item::from(0_i64), Item::Null);
            assert_eq!(found.len(), entries.len());
            assert_eq!(found.entries().last(), Some(&(Item::from(0_i64), Item::Null)));
        }
    }

    #[test]
    fn maps_are_equal_in_any_order_of_their_entries() {
        let (one, other) = (map(&[(1, 2), (3, 4)]), map(&[(3, 4), (1, 2)]));
        assert_eq!(one, other);
        assert_ne!(one, map(&[(1, 2), (3, 5)]));
        assert_ne!(one, map(&[(1, 2)]));
    }
}
