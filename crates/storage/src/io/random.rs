//! Random: random numbers that a seed replays, or that the operating system seeds.
//!
//! SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): one addition and a mix a number, every seed is
//! good, and it passes the usual statistical tests. It is no cipher: whoever sees one number
//! knows the next. Take salts and ids from it, no secrets.

use evergraph_graph::split_mix::{GAMMA, finish};
use std::fmt::Debug;

/// Returns random numbers, on whose values nothing may depend.
pub trait Random: Send + Debug {
    /// Any number, each as likely.
    fn next_u64(&mut self) -> u64;

    /// Fills `bytes`, each value as likely.
    fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.next_u64().to_le_bytes()[..piece.len()]);
        }
    }
}

/// The generator: the same seed gives the same numbers.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Replays the numbers of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Starts where the operating system says.
    ///
    /// # Errors
    /// What the system says when it has no randomness to give.
    pub fn from_system() -> std::io::Result<Self> {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed)?;
        Ok(Self::new(u64::from_le_bytes(seed)))
    }
}

impl Random for SplitMix64 {
    fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        finish(self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        // From the reference implementation of Vigna (splitmix64.c), seed 1234567.
        let mut random = SplitMix64::new(1_234_567);
        let numbers = [random.next_u64(), random.next_u64(), random.next_u64()];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn filling_takes_the_numbers_in_order_little_end_first() {
        let mut bytes = [0; 11];
        SplitMix64::new(7).fill(&mut bytes);
        let mut random = SplitMix64::new(7);
        assert_eq!(bytes[..8], random.next_u64().to_le_bytes());
        assert_eq!(bytes[8..], random.next_u64().to_le_bytes()[..3]);
    }

    #[test]
    fn two_seeds_of_the_system_differ() {
        let first = SplitMix64::from_system().unwrap().next_u64();
        assert_ne!(first, SplitMix64::from_system().unwrap().next_u64());
    }
}
