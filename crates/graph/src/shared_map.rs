//! A sorted map whose versions share their common parts.
//!
//! ```text
//! chunks   [ first key | entries ]  [ first key | entries ] ...       at most 256 entries each, ascending
//! clone    one count; a change then copies the list of chunks and one chunk, or splits it
//! ```
//!
//! So a change of one entry costs about the square root of the map, where a copy of the map would cost all of
//! it: the catalogue changes with each new name while many transactions hold older ones.
//!
//! A map of which there is one version is changed in place.

use std::borrow::Borrow;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Entries of a chunk, at most: the square root of the most names that there can be.
const CHUNK_MAX: usize = 256;

/// A sorted map that is cheap to clone and to change after it.
pub struct SharedMap<K, V> {
    /// None is empty; first keys ascend.
    chunks: Arc<Vec<Chunk<K, V>>>,
    len: usize,
}

#[derive(Clone)]
struct Chunk<K, V> {
    /// That of the first entry, here too: a search reads one chunk's entries.
    first: K,
    entries: Arc<Vec<(K, V)>>,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self { chunks: Arc::default(), len: 0 }
    }
}

impl<K, V> Clone for SharedMap<K, V> {
    fn clone(&self) -> Self {
        Self { chunks: Arc::clone(&self.chunks), len: self.len }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K, V> SharedMap<K, V> {
    /// Entries in the map.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All entries, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.entries.iter()).map(|(key, value)| (key, value))
    }
}

impl<K: Ord, V> SharedMap<K, V> {
    /// The value of `key`. Cost: a binary search among the chunks and one in a chunk.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let entries = &self.chunks.get(self.chunk_of(key))?.entries;
        let at = entries.binary_search_by(|entry| entry.0.borrow().cmp(key)).ok()?;
        Some(&entries[at].1)
    }

    /// Whether `key` has a value. Cost: as [`SharedMap::get`].
    #[must_use]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The entries of these keys, by key. Cost: as [`SharedMap::get`], and the entries.
    pub fn range(&self, keys: RangeInclusive<K>) -> impl Iterator<Item = (&K, &V)> {
        let (from, to) = keys.into_inner();
        let chunk = self.chunk_of(&from);
        let skip =
            self.chunks.get(chunk).map_or(0, |chunk| chunk.entries.partition_point(|entry| entry.0 < from));
        let entries = self.chunks.iter().skip(chunk).flat_map(|chunk| chunk.entries.iter());
        entries.skip(skip).take_while(move |entry| entry.0 <= to).map(|(key, value)| (key, value))
    }

    /// The place of the chunk that has `key`, if the map has it.
    fn chunk_of<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        self.chunks.partition_point(|chunk| chunk.first.borrow() <= key).saturating_sub(1)
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// Gives `key` a value; the value that it had. Cost: linear in a chunk and in the number of chunks.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let at = self.chunk_of(&key);
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(chunk) = chunks.get_mut(at) else {
            chunks.push(Chunk { first: key.clone(), entries: Arc::new(vec![(key, value)]) });
            self.len = 1;
            return None;
        };
        let entries = Arc::make_mut(&mut chunk.entries);
        match entries.binary_search_by(|entry| entry.0.cmp(&key)) {
            Ok(known) => return Some(std::mem::replace(&mut entries[known].1, value)),
            Err(place) => entries.insert(place, (key, value)),
        }
        chunk.first = entries[0].0.clone();
        if entries.len() > CHUNK_MAX {
            let second = entries.split_off(CHUNK_MAX / 2);
            chunks.insert(at + 1, Chunk { first: second[0].0.clone(), entries: Arc::new(second) });
        }
        self.len += 1;
        None
    }

    /// Takes `key` out; the value that it had. Cost: as [`SharedMap::insert`].
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.chunk_of(key);
        let place = self.chunks.get(at)?.entries.binary_search_by(|entry| entry.0.borrow().cmp(key)).ok()?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let entries = Arc::make_mut(&mut chunks[at].entries);
        let (_, value) = entries.remove(place);
        match entries.first().map(|entry| entry.0.clone()) {
            Some(first) => chunks[at].first = first,
            None => drop(chunks.remove(at)),
        }
        self.len -= 1;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// How many chunks of `new` lie in `old` as well, and how many do not.
    fn shared<K: Ord, V>(old: &SharedMap<K, V>, new: &SharedMap<K, V>) -> (usize, usize) {
        let is_old =
            |chunk: &&Chunk<K, V>| old.chunks.iter().any(|known| Arc::ptr_eq(&known.entries, &chunk.entries));
        let kept = new.chunks.iter().filter(is_old).count();
        (kept, new.chunks.len() - kept)
    }

    #[test]
    fn a_change_of_a_clone_copies_one_chunk_and_leaves_the_others_shared() {
        let mut map = SharedMap::default();
        for number in 0..60_000u32 {
            map.insert(number.reverse_bits(), number);
        }
        let before = map.clone();
        let key = 7u32.reverse_bits();
        assert_eq!(map.insert(key, 8), Some(7));
        assert!(shared(&before, &map).0 > 200 && shared(&before, &map).1 == 1);
        assert_eq!(map.remove(&key), Some(8));
        assert_eq!(shared(&before, &map).1, 1);
        assert_eq!(map.insert(key + 1, 0), None);
        assert!(shared(&before, &map).1 <= 2, "at most a chunk that was split");
        assert_eq!((before.get(&key), before.len(), map.len()), (Some(&7), 60_000, 60_000));
    }

    proptest! {
        #[test]
        fn it_answers_as_an_ordinary_map_and_clones_stay_as_they_were(
            steps in proptest::collection::vec((0u16..1500, any::<u8>(), 0u8..4), 0..3000),
            from in 0u16..1500,
            length in 0u16..700,
        ) {
            let (mut map, mut model) = (SharedMap::default(), BTreeMap::new());
            let mut kept = Vec::new();
            for (at, (key, value, kind)) in steps.into_iter().enumerate() {
                match kind {
                    0 => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                    _ => prop_assert_eq!(map.insert(key, value), model.insert(key, value)),
                }
                if at % 700 == 0 {
                    kept.push((map.clone(), model.clone()));
                }
            }
            kept.push((map, model));
            for (map, model) in &kept {
                prop_assert!(map.iter().eq(model.iter()));
                prop_assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
                let range = from..=from + length;
                prop_assert!(map.range(range.clone()).eq(model.range(range)));
                prop_assert_eq!(map.get(&from), model.get(&from));
                prop_assert!(map.chunks.iter().all(|chunk| chunk.entries.len() <= CHUNK_MAX));
            }
        }
    }
}
