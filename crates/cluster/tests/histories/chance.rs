//! Chance: random numbers from a seed, so that a history can be played again.

use evergraph_graph::split_mix::{GAMMA, finish, mix};

/// A generator: SplitMix64.
pub struct Chance(u64);

impl Chance {
    /// The numbers of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        finish(self.0)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Yes, once in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}
