//! Maps of items: entries in the order they came, found by key.

use crate::value::extent::Extent;
use crate::value::item::Item;
use hashbrown::HashTable;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::OnceLock;

/// Items by key, in the order they came. Two are equal if they hold the same entries, in any order.
///
/// Keys are the same where grouping says so: the `i32` 1 and the `i64` 1 are two keys.
#[derive(Clone, Default)]
pub struct ItemMap {
    entries: Vec<(Item, Item)>,
    /// Places in `entries` by the hash of the key; empty below [`LINEAR_MAX`] entries.
    places: HashTable<u32>,
    hasher: foldhash::quality::RandomState,
    /// Once somebody asked, and until something changes.
    extent: OnceLock<Extent>,
}

/// So many entries are looked through one by one: most maps are results with a few names as keys.
const LINEAR_MAX: usize = 8;

impl ItemMap {
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
    pub fn entries(&self) -> &[(Item, Item)] {
        &self.entries
    }

    /// Gives the entries up, in their order.
    #[must_use]
    pub fn into_entries(self) -> Vec<(Item, Item)> {
        self.entries
    }

    /// What `key` leads to.
    #[must_use]
    pub fn get(&self, key: &Item) -> Option<&Item> {
        self.place(key).map(|at| &self.entries[at].1)
    }

    /// What the text `key` leads to.
    #[must_use]
    pub fn get_text(&self, key: &str) -> Option<&Item> {
        self.get(&Item::from(key))
    }

    /// Puts `value` at `key`: in its place if the key is there, else last.
    pub fn insert(&mut self, key: Item, value: Item) {
        *self.entry(key) = value;
    }

    /// What `key` leads to, to be changed; a new key leads to null and comes last.
    pub fn entry(&mut self, key: Item) -> &mut Item {
        self.extent.take();
        let at = self.place(&key).unwrap_or_else(|| self.append(key));
        &mut self.entries[at].1
    }

    /// How much the map holds, itself included, and how deep it is nested. Cost: the first time, a look at each entry.
    #[must_use]
    pub fn extent(&self) -> Extent {
        *self.extent.get_or_init(|| {
            let spare = (self.entries.capacity() - self.entries.len()) * size_of::<(Item, Item)>();
            let own = size_of::<Self>() + spare + self.places.allocation_size();
            Extent::of_all(self.entries.iter().flat_map(|(key, value)| [key, value])).plus(own).enclosed()
        })
    }

    fn place(&self, key: &Item) -> Option<usize> {
        if self.entries.len() <= LINEAR_MAX {
            return self.entries.iter().position(|(other, _)| other == key);
        }
        let same = |at: &u32| self.entries[*at as usize].0 == *key;
        self.places.find(self.hasher.hash_one(key), same).map(|at| *at as usize)
    }

    fn append(&mut self, key: Item) -> usize {
        let at = self.entries.len();
        self.entries.push((key, Item::Null));
        if self.entries.len() > LINEAR_MAX {
            let from = if self.places.is_empty() { 0 } else { at };
            let (entries, hasher) = (&self.entries, &self.hasher);
            let hash = |at: &u32| hasher.hash_one(&entries[*at as usize].0);
            for place in from..=at {
                self.places.insert_unique(hash(&(place as u32)), place as u32, hash);
            }
        }
        at
    }
}

impl FromIterator<(Item, Item)> for ItemMap {
    fn from_iter<I: IntoIterator<Item = (Item, Item)>>(entries: I) -> Self {
        let mut map = Self::new();
        entries.into_iter().for_each(|(key, value)| map.insert(key, value));
        map
    }
}

/// The entries alone: how they are found differs from map to map, by chance.
impl fmt::Debug for ItemMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries.iter().map(|(key, value)| (key, value))).finish()
    }
}

impl PartialEq for ItemMap {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.entries.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl Eq for ItemMap {}

#[cfg(test)]
mod tests {
    use super::*;

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
