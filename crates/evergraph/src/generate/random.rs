//! Random: seeded streams of random numbers, one for each task of a generator.
//!
//! A stream is named by the seed, what it is for, and its index among those: tasks may run on any
//! thread in any order, each draws from its own.

use evergraph_graph::split_mix::mix;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(Pcg64);

impl Random {
    /// The stream `index` of those for `purpose`.
    #[must_use]
    pub fn new(seed: u64, purpose: u64, index: u64) -> Self {
        let mixed = mix(mix(mix(seed) ^ purpose) ^ index);
        Self(Pcg64::seed_from_u64(mixed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `end`, without `end`. Biased by less than `end` in 2^64.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// A number from 0 to 1, without 1: one of 2^53.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The numbers from 0 to `count`, without `count`, in random order.
    pub fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..count).collect();
        for place in (1..numbers.len()).rev() {
            let other = self.below(place as u64 + 1) as usize;
            numbers.swap(place, other);
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_fixed_for_all_time_and_differs_from_its_neighbours() {
        let first = |seed, purpose, index| Random::new(seed, purpose, index).bits();
        // Graphs that people have measured depend on these.
        assert_eq!(first(1, 0, 0), FIRST_BITS);
        let others = [first(2, 0, 0), first(1, 1, 0), first(1, 0, 1), first(0, 1, 0)];
        assert!(others.iter().all(|bits| *bits != first(1, 0, 0)));
    }

    const FIRST_BITS: u64 = 15_369_011_713_582_544_606;

    #[test]
    fn numbers_stay_in_range_and_reach_its_ends() {
        let mut random = Random::new(7, 0, 0);
        let mut seen = [0u32; 5];
        for _ in 0..1000 {
            seen[random.below(5) as usize] += 1;
            assert!((0.0..1.0).contains(&random.unit()));
        }
        assert!(seen.iter().all(|count| (150..250).contains(count)), "{seen:?}");
    }

    #[test]
    fn a_permutation_has_every_number_once() {
        let mut numbers = Random::new(7, 0, 0).permutation(1000);
        assert!(!numbers.is_sorted());
        numbers.sort_unstable();
        assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
    }
}
