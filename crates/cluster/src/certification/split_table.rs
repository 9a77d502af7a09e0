//! Split table: a hash table in pieces; a clone shares those pieces that neither side has changed since.
//!
//! ```text
//! table   piece 0   piece 1   piece 2 ...      a key lies in the piece of its hash
//!            │         │ └────── changed here since: a copy of its own
//! clone ─────┴─────────┘
//! ```
//!
//! A node's checkpoint writes what certification remembers while the node goes on. A clone costs a count for each of 256 pieces.
//! What follows pays for it, once for each piece that it changes: of a generation of the default size, some 0.3 MiB are copied.
//!
//! Keys are hashed by their one word, whose bits are random already.

use std::hash::{BuildHasher as _, BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

/// A power of two.
const PIECES: usize = 256;

/// Where in a hash the number of its piece begins. Tables look at its lowest bits and at the seven highest.
const PIECE_SHIFT: u32 = 48;

/// Hashes keys that are one word, and random already.
#[derive(Clone, Copy, Default, Debug)]
pub struct WordHasher(u64);

impl Hasher for WordHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("a key is one word");
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

type WordMap<K, V> = hashbrown::HashMap<K, V, BuildHasherDefault<WordHasher>>;

/// A hash table that is cheap to clone.
#[derive(Clone, Debug)]
pub struct SplitTable<K, V> {
    pieces: Box<[Arc<WordMap<K, V>>]>,
}

impl<K, V> Default for SplitTable<K, V> {
    /// Takes no memory for entries yet.
    fn default() -> Self {
        let empty = Arc::new(WordMap::default());
        Self { pieces: std::iter::repeat_n(empty, PIECES).collect() }
    }
}

impl<K: Eq + Hash, V> SplitTable<K, V> {
    /// The value of `key`.
    #[inline]
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.pieces[piece_of(key)].get(key)
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.pieces.iter().flat_map(|piece| piece.iter())
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|piece| piece.is_empty())
    }

    /// How many entries have room, if they spread evenly.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.pieces.iter().map(|piece| piece.capacity()).sum()
    }
}

impl<K: Eq + Hash + Clone, V: Clone> SplitTable<K, V> {
    /// `key` has `value` from here on.
    ///
    /// Cost: that of a hash table, and of a copy of one piece if a clone shares it.
    #[inline]
    pub fn insert(&mut self, key: K, value: V) {
        self.piece(&key).insert(key, value);
    }

    /// The value of `key`, which gets a default one if it has none.
    ///
    /// Cost: as of [`SplitTable::insert`].
    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.piece(&key).entry(key).or_default()
    }

    /// Removes everything, and keeps memory for `kept` entries at most. What clones share stays theirs.
    pub fn clear(&mut self, kept: usize) {
        let kept = kept.div_ceil(PIECES);
        for piece in &mut self.pieces {
            match Arc::get_mut(piece) {
                Some(piece) => {
                    piece.clear();
                    piece.shrink_to(kept);
                }
                None => *piece = Arc::default(),
            }
        }
    }

    #[inline]
    fn piece(&mut self, key: &K) -> &mut WordMap<K, V> {
        Arc::make_mut(&mut self.pieces[piece_of(key)])
    }
}

#[inline]
fn piece_of<K: Hash>(key: &K) -> usize {
    let hash = BuildHasherDefault::<WordHasher>::default().hash_one(key);
    (hash >> PIECE_SHIFT) as usize % PIECES
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::split_mix::mix;
    use std::collections::BTreeMap;

    fn contents(table: &SplitTable<u64, u64>) -> BTreeMap<u64, u64> {
        table.iter().map(|(key, value)| (*key, *value)).collect()
    }

    fn shared(one: &SplitTable<u64, u64>, other: &SplitTable<u64, u64>) -> usize {
        one.pieces.iter().zip(&other.pieces).filter(|(one, other)| Arc::ptr_eq(one, other)).count()
    }

    #[test]
    fn a_clone_stays_as_it_is_and_shares_what_does_not_change() {
        let (mut table, mut expected) = (SplitTable::default(), BTreeMap::new());
        let mut clones = Vec::new();
        for number in 0..2000 {
            let (key, value) = (mix(number % 700), number);
            match number % 3 {
                0 => *table.or_default(key) += value,
                _ => table.insert(key, value),
            }
            match number % 3 {
                0 => *expected.entry(key).or_default() += value,
                _ => drop(expected.insert(key, value)),
            }
            assert_eq!(table.get(&key), expected.get(&key));
            if number % 400 == 399 {
                clones.push((table.clone(), expected.clone()));
                assert_eq!(shared(&table, &clones.last().unwrap().0), PIECES);
            }
        }
        table.insert(mix(1), 0);
        assert_eq!(shared(&table, &clones.last().unwrap().0), PIECES - 1, "one piece was copied");
        assert_eq!((table.len(), table.get(&mix(700))), (700, None));
        table.clear(0);
        assert!(table.is_empty());
        for (clone, expected) in &clones {
            assert_eq!(contents(clone), *expected);
        }
    }

    #[test]
    fn random_keys_spread_over_all_pieces() {
        let mut table = SplitTable::default();
        (0..100_000).for_each(|number| table.insert(mix(number), ()));
        let (least, most) = table
            .pieces
            .iter()
            .fold((usize::MAX, 0), |(least, most), piece| (least.min(piece.len()), most.max(piece.len())));
        assert!(least > 250 && most < 550, "{least} to {most} of 390 on average");
    }

    #[test]
    fn memory_beyond_what_is_kept_is_given_back() {
        let mut table = SplitTable::default();
        let fill = |table: &mut SplitTable<u64, u64>, count: u64| {
            (0..count).for_each(|number| table.insert(mix(number), number));
        };
        fill(&mut table, 20_000);
        let usual = table.capacity();
        table.clear(20_000);
        assert!(table.is_empty() && table.capacity() * 2 > usual, "{} of {usual}", table.capacity());
        fill(&mut table, 400_000);
        table.clear(20_000);
        assert!(table.capacity() < 2 * usual, "{} of {usual}", table.capacity());
        table.clear(0);
        assert_eq!(table.capacity(), 0);
    }
}
