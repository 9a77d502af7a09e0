//! A tally: sums by key for the entries of one list, in a small open table that is used again.
//!
//! An array of all keys would be faster for a graph that fits into a cache, but costs every thread
//! one for each vertex; this one is as large as the list at hand, and so stays in the first cache
//! for nearly all lists.

/// A key that nothing is filed under.
const FREE: u32 = u32::MAX;

/// Sums of `V` by key. Any key but `u32::MAX` may be used.
pub(crate) struct Tally<V> {
    /// A power of two of places, of which the first `mask + 1` are in use.
    places: Vec<(u32, V)>,
    mask: usize,
    shift: u32,
}

impl<V: Copy + Default + std::ops::AddAssign> Tally<V> {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), mask: 0, shift: 0 }
    }

    /// Forgets all, and makes room for `entries` different keys.
    #[inline]
    pub(crate) fn clear(&mut self, entries: usize) {
        // Half of the places stay free, so that a search ends soon.
        let size = (2 * entries).next_power_of_two().max(16);
        if self.places.len() < size {
            self.places.resize(size, (FREE, V::default()));
        }
        self.places[..size].fill((FREE, V::default()));
        self.mask = size - 1;
        self.shift = 32 - size.trailing_zeros().min(31);
    }

    /// Adds `value` to the sum of `key` and returns it. Sums run in the order of the calls.
    ///
    /// There must be room for `key`.
    #[inline]
    pub(crate) fn add(&mut self, key: u32, value: V) -> V {
        debug_assert_ne!(key, FREE);
        let place = self.place(key);
        place.0 = key;
        place.1 += value;
        place.1
    }

    /// The sum of `key`; the default if nothing was added.
    #[inline]
    pub(crate) fn get(&mut self, key: u32) -> V {
        self.place(key).1
    }

    /// Where `key` is or would be.
    #[inline]
    fn place(&mut self, key: u32) -> &mut (u32, V) {
        let places = &mut self.places[..=self.mask];
        // By the top bits of a product with 2^32 / golden ratio (Knuth 6.4).
        let mut at = (key.wrapping_mul(0x9E37_79B9) >> self.shift) as usize & self.mask;
        while places[at].0 != key && places[at].0 != FREE {
            at = (at + 1) & self.mask;
        }
        &mut places[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn sums_are_those_of_a_map(
            lists in prop::collection::vec(prop::collection::vec((0_u32..200, 1_u32..5), 0..300), 1..5),
            factor in prop::sample::select(vec![1_u32, 4096, 21_474_836]),
        ) {
            let mut tally = Tally::new();
            for list in lists {
                tally.clear(list.len());
                let mut want = HashMap::new();
                for (key, value) in list {
                    let sum = want.entry(key * factor).or_insert(0);
                    *sum += value;
                    prop_assert_eq!(tally.add(key * factor, value), *sum);
                }
                for key in 0..200 {
                    prop_assert_eq!(tally.get(key * factor), want.get(&(key * factor)).copied().unwrap_or(0));
                }
            }
        }
    }
}
