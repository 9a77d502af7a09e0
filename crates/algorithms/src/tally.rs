//! A tally: sums by key over the entries of one list, in a small reusable open-addressing table.
//!
//! An array of all keys would be faster for a graph that fits into a cache, but costs every thread
//! one for each vertex; this one is as large as the list at hand, and so stays in the first cache
//! for nearly all lists.

use std::ops::AddAssign;

/// A key that nothing is filed under.
const FREE: u32 = u32::MAX;

/// Places of the smallest table.
const PLACES_MIN: usize = 16;

/// Sums of `V` by key. Any key but `u32::MAX` may be used.
pub(crate) struct Tally<V> {
    /// A power of two of slots; the first `mask + 1` are in use.
    places: Vec<(u32, V)>,
    mask: usize,
    shift: u32,
    /// Different keys; no more than half of the places.
    keys: usize,
}

impl<V: Copy + Default + AddAssign> Tally<V> {
    pub(crate) fn new() -> Self {
        let mut tally = Self { places: Vec::new(), mask: 0, shift: 0, keys: 0 };
        tally.clear(0);
        tally
    }

    /// Forgets all, and makes room for `keys` different keys. The table grows for more, but better
    /// it doesn't have to.
    #[inline]
    pub(crate) fn clear(&mut self, keys: usize) {
        // Half of the places stay free, so that a search ends soon.
        let size = (2 * keys).next_power_of_two().max(PLACES_MIN);
        if self.places.len() < size {
            self.places.resize(size, (FREE, V::default()));
        }
        self.places[..size].fill((FREE, V::default()));
        self.mask = size - 1;
        self.shift = 32_u32.saturating_sub(size.trailing_zeros());
        self.keys = 0;
    }

    /// Adds `value` to the sum of `key` and returns it. Sums run in the order of the calls.
    #[inline]
    pub(crate) fn add(&mut self, key: u32, value: V) -> V {
        debug_assert_ne!(key, FREE);
        let mut at = self.place(key);
        if self.places[at].0 == FREE {
            if 2 * self.keys > self.mask {
                self.grow();
                at = self.place(key);
            }
            self.keys += 1;
            self.places[at].0 = key;
        }
        self.places[at].1 += value;
        self.places[at].1
    }

    /// All keys with their sums, in an order that means nothing.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, V)> + '_ {
        self.places[..=self.mask].iter().copied().filter(|(key, _)| *key != FREE)
    }

    /// Where `key` is or would be.
    #[inline]
    fn place(&self, key: u32) -> usize {
        let places = &self.places[..=self.mask];
        // By the top bits of a product with 2^32 / golden ratio (Knuth 6.4).
        let mut at = (key.wrapping_mul(0x9E37_79B9) >> self.shift) as usize & self.mask;
        while places[at].0 != key && places[at].0 != FREE {
            at = (at + 1) & self.mask;
        }
        at
    }

    /// Moves all to a table of twice the size.
    #[cold]
    fn grow(&mut self) {
        let sums: Vec<(u32, V)> = self.iter().collect();
        self.clear(self.mask + 1);
        for (key, sum) in sums {
            let at = self.place(key);
            self.places[at] = (key, sum);
            self.keys += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn sums_are_those_of_a_map_whatever_room_was_made(
            lists in prop::collection::vec(prop::collection::vec((0_u32..200, 1_u32..5), 0..300), 1..5),
            factor in prop::sample::select(vec![1_u32, 4096, 21_474_836]), room in 0_usize..300,
        ) {
            let mut tally = Tally::new();
            for list in lists {
                tally.clear(room);
                let mut want = BTreeMap::new();
                for (key, value) in list {
                    let sum = want.entry(key * factor).or_insert(0);
                    *sum += value;
                    prop_assert_eq!(tally.add(key * factor, value), *sum);
                }
                prop_assert_eq!(tally.iter().collect::<BTreeMap<_, _>>(), want);
            }
        }
    }
}
