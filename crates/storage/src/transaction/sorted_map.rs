//! Sorted map: one entry in place, a few or ascending ones in a sorted vector, many in a tree.
//!
//! ```text
//! one     the entry itself             no memory of its own
//! flat    [ entry | entry | ... ]      any number, as long as each insertion or removal moves few of them
//! tree    a B-tree                     from the first one on that would move more
//! ```
//!
//! Most transactions write one item, and a batch of edges comes sorted: neither pays for a tree.

use std::collections::{BTreeMap, btree_map};
use std::ops::{Bound, RangeBounds};
use std::slice;

/// How many entries of the vector an insertion or a removal may move.
const MOVED_MAX: usize = 32;

/// A map whose entries are read in the order of their keys.
///
/// Cost: a look-up is a binary search; an insertion behind all others moves nothing.
#[derive(Clone, Debug)]
pub struct SortedMap<K, V>(MapForm<K, V>);

#[derive(Clone, Debug)]
enum MapForm<K, V> {
    One([(K, V); 1]),
    Flat(Vec<(K, V)>),
    Tree(BTreeMap<K, V>),
}

impl<K, V> Default for SortedMap<K, V> {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> SortedMap<K, V> {
    /// An empty map, which owns no memory.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self(MapForm::Flat(Vec::new()))
    }

    /// How many entries there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            MapForm::One(_) => 1,
            MapForm::Flat(flat) => flat.len(),
            MapForm::Tree(tree) => tree.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// A map of entries that ascend strictly by key. Cost: linear.
    #[must_use]
    pub fn from_ascending(entries: impl Iterator<Item = (K, V)>) -> Self {
        let flat: Vec<(K, V)> = entries.collect();
        debug_assert!(flat.is_sorted_by(|one, next| one.0 < next.0));
        Self(MapForm::Flat(flat))
    }

    /// The entries, unless they are in a tree.
    #[inline]
    fn flat(&self) -> Result<&[(K, V)], &BTreeMap<K, V>> {
        match &self.0 {
            MapForm::One(one) => Ok(one),
            MapForm::Flat(flat) => Ok(flat),
            MapForm::Tree(tree) => Err(tree),
        }
    }

    #[inline]
    fn flat_mut(&mut self) -> Result<&mut [(K, V)], &mut BTreeMap<K, V>> {
        match &mut self.0 {
            MapForm::One(one) => Ok(one),
            MapForm::Flat(flat) => Ok(flat),
            MapForm::Tree(tree) => Err(tree),
        }
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        match self.flat() {
            Ok(flat) => Some(&flat[place(flat, key).ok()?].1),
            Err(tree) => tree.get(key),
        }
    }

    /// The value of `key`, to be changed.
    #[must_use]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match self.flat_mut() {
            Ok(flat) => {
                let at = place(flat, key).ok()?;
                Some(&mut flat[at].1)
            }
            Err(tree) => tree.get_mut(key),
        }
    }

    /// Gives `key` a value; the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let at = match self.flat_mut() {
            Err(tree) => return tree.insert(key, value),
            Ok(flat) => match place(flat, &key) {
                Ok(at) => return Some(std::mem::replace(&mut flat[at].1, value)),
                Err(at) => at,
            },
        };
        self.0 = match std::mem::replace(&mut self.0, MapForm::Flat(Vec::new())) {
            MapForm::Flat(flat) if flat.capacity() == 0 => MapForm::One([(key, value)]),
            MapForm::One([first]) => {
                let mut flat = Vec::with_capacity(4);
                flat.push(first);
                flat.insert(at, (key, value));
                MapForm::Flat(flat)
            }
            MapForm::Flat(mut flat) if flat.len() - at <= MOVED_MAX => {
                flat.insert(at, (key, value));
                MapForm::Flat(flat)
            }
            MapForm::Flat(flat) => {
                let mut tree: BTreeMap<K, V> = flat.into_iter().collect();
                tree.insert(key, value);
                MapForm::Tree(tree)
            }
            MapForm::Tree(_) => unreachable!("trees insert by themselves"),
        };
        None
    }

    /// Takes `key` out; the value that it had.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let at = match self.flat_mut() {
            Err(tree) => return tree.remove(key),
            Ok(flat) => place(flat, key).ok()?,
        };
        match std::mem::replace(&mut self.0, MapForm::Flat(Vec::new())) {
            MapForm::One([(_, value)]) => Some(value),
            MapForm::Flat(mut flat) if flat.len() - at <= MOVED_MAX + 1 => {
                let (_, value) = flat.remove(at);
                self.0 = MapForm::Flat(flat);
                Some(value)
            }
            MapForm::Flat(flat) => {
                let mut tree: BTreeMap<K, V> = flat.into_iter().collect();
                let value = tree.remove(key);
                self.0 = MapForm::Tree(tree);
                value
            }
            MapForm::Tree(_) => unreachable!("trees remove by themselves"),
        }
    }

    /// All entries, by key.
    #[inline]
    pub fn iter(&self) -> SortedMapIter<'_, K, V> {
        match self.flat() {
            Ok(flat) => SortedMapIter::Flat(flat.iter()),
            Err(tree) => SortedMapIter::Tree(tree.range(..)),
        }
    }

    /// The entries with keys in `keys`, whose start is not behind its end, by key. Cost: a look if they begin behind all.
    pub fn range(&self, keys: impl RangeBounds<K>) -> SortedMapIter<'_, K, V> {
        let flat = match self.flat() {
            Ok(flat) => flat,
            Err(tree) => return SortedMapIter::Tree(tree.range(keys)),
        };
        let from = match keys.start_bound() {
            Bound::Included(first) | Bound::Excluded(first)
                if flat.last().is_none_or(|last| last.0 < *first) =>
            {
                return SortedMapIter::Flat([].iter());
            }
            Bound::Included(first) => flat.partition_point(|entry| entry.0 < *first),
            Bound::Excluded(before) => flat.partition_point(|entry| entry.0 <= *before),
            Bound::Unbounded => 0,
        };
        let count = match keys.end_bound() {
            Bound::Included(last) => flat[from..].partition_point(|entry| entry.0 <= *last),
            Bound::Excluded(end) => flat[from..].partition_point(|entry| entry.0 < *end),
            Bound::Unbounded => flat.len() - from,
        };
        SortedMapIter::Flat(flat[from..from + count].iter())
    }
}

/// Where `key` is, or would be. Cost: a look if it is behind all others.
#[inline]
fn place<K: Ord, V>(flat: &[(K, V)], key: &K) -> Result<usize, usize> {
    if flat.last().is_none_or(|last| last.0 < *key) {
        return Err(flat.len());
    }
    flat.binary_search_by(|entry| entry.0.cmp(key))
}

/// Entries of a [`SortedMap`], by key.
#[derive(Clone, Debug)]
pub enum SortedMapIter<'a, K, V> {
    /// Of the entry itself, or of the vector.
    Flat(slice::Iter<'a, (K, V)>),
    /// Of the tree.
    Tree(btree_map::Range<'a, K, V>),
}

impl<'a, K, V> Iterator for SortedMapIter<'a, K, V> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Flat(flat) => flat.next().map(|(key, value)| (key, value)),
            Self::Tree(tree) => tree.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u16, u8),
        Append(u8),
        Remove(u16),
        RemoveLast,
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            2 => (0u16..300, any::<u8>()).prop_map(|(key, value)| Step::Insert(key, value)),
            3 => any::<u8>().prop_map(Step::Append),
            1 => (0u16..300).prop_map(Step::Remove),
            1 => Just(Step::RemoveLast),
        ]
    }

    fn collected(entries: SortedMapIter<'_, u16, u8>) -> Vec<(u16, u8)> {
        entries.map(|(key, value)| (*key, *value)).collect()
    }

    proptest! {
        #[test]
        fn it_answers_as_a_tree_in_all_its_forms(
            first in proptest::collection::btree_map(0u16..300, any::<u8>(), 0..100),
            steps in proptest::collection::vec(any_step(), 0..120),
            bounds in (0u16..300, 0u16..300),
        ) {
            let mut map = SortedMap::from_ascending(first.clone().into_iter());
            let mut tree = first;
            for step in steps {
                let last = tree.last_key_value().map_or(0, |(key, _)| *key);
                match step {
                    Step::Insert(key, value) => prop_assert_eq!(map.insert(key, value), tree.insert(key, value)),
                    Step::Append(value) => {
                        prop_assert_eq!(map.insert(last + 1, value), tree.insert(last + 1, value));
                    }
                    Step::Remove(key) => prop_assert_eq!(map.remove(&key), tree.remove(&key)),
                    Step::RemoveLast => prop_assert_eq!(map.remove(&last), tree.remove(&last)),
                }
                prop_assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
                prop_assert_eq!(map.get(&last), tree.get(&last));
                prop_assert_eq!(map.get_mut(&100), tree.get_mut(&100));
            }
            prop_assert_eq!(collected(map.iter()), tree.clone().into_iter().collect::<Vec<_>>());
            let (from, to) = (bounds.0.min(bounds.1), bounds.0.max(bounds.1));
            let within = |entry: &(u16, u8)| (from..=to).contains(&entry.0);
            let inside: Vec<_> = tree.into_iter().filter(within).collect();
            prop_assert_eq!(collected(map.range(from..=to)), inside.clone());
            let behind: Vec<_> = inside.into_iter().filter(|entry| entry.0 != from).collect();
            prop_assert_eq!(collected(map.range((Bound::Excluded(from), Bound::Included(to.max(from))))), behind);
        }
    }

    #[test]
    fn one_entry_owns_no_memory_and_a_sorted_batch_becomes_no_tree() {
        let mut map = SortedMap::new();
        map.insert(5, 'a');
        assert!(matches!(map.0, MapForm::One(_)));
        let mut map = SortedMap::from_ascending((0..1000).map(|key| (key, key)));
        map.insert(1000, 7);
        assert!(matches!(map.0, MapForm::Flat(_)));
        map.insert(-1, 7);
        assert!(matches!(map.0, MapForm::Tree(_)) && map.len() == 1002);
    }
}
