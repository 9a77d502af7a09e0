//! Chance: random numbers and identifiers, new in each run or from a seed.

use std::f64::consts::TAU;
use std::hash::{BuildHasher, RandomState};
use uuid::{Builder, Uuid};

/// Numbers by chance: others at each run, or of a seed.
///
/// Those of a seed are those of Java's `java.util.Random`, whose documentation says how they come: a linear congruential
/// generator of 48 bits. So coins fall as in TinkerPop's `SeedStrategy`.
#[derive(Clone, Debug)]
pub struct Chance(Source);

#[derive(Clone, Debug)]
enum Source {
    /// How many were drawn, hashed.
    Counted(RandomState, u64),
    /// The 48 bits that the next number is made of.
    Seeded(u64),
}

impl Default for Chance {
    fn default() -> Self {
        Self(Source::Counted(RandomState::new(), 0))
    }
}

impl Chance {
    const FACTOR: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;

    /// The numbers of `seed`, the same at each run.
    #[must_use]
    pub fn seeded(seed: i64) -> Self {
        Self(Source::Seeded((seed as u64 ^ Self::FACTOR) & Self::MASK))
    }

    /// Whether the numbers are the same at each run.
    #[must_use]
    pub fn is_seeded(&self) -> bool {
        matches!(self.0, Source::Seeded(_))
    }

    /// The next number, from 0 to below 1, each as probable as another.
    pub fn draw(&mut self) -> f64 {
        let bits = match &mut self.0 {
            Source::Counted(random, drawn) => {
                *drawn += 1;
                random.hash_one(*drawn) >> 11
            }
            Source::Seeded(state) => (Self::bits(state, 26) << 27) + Self::bits(state, 27),
        };
        bits as f64 / (1_u64 << 53) as f64
    }

    /// The next whole number below `bound`, which isn't 0, each as probable as another.
    pub fn below(&mut self, bound: usize) -> usize {
        let (Source::Seeded(state), Ok(bound)) = (&mut self.0, u32::try_from(bound)) else {
            return ((self.draw() * bound as f64) as usize).min(bound.saturating_sub(1));
        };
        let bound = u64::from(bound);
        if bound.is_power_of_two() {
            return ((bound * Self::bits(state, 31)) >> 31) as usize;
        }
        loop {
            // What is left above the last whole multiple would come too often.
            let drawn = Self::bits(state, 31);
            let first = drawn - drawn % bound;
            if first + bound <= 1 << 31 {
                return (drawn % bound) as usize;
            }
        }
    }

    fn bits(state: &mut u64, count: u32) -> u64 {
        *state = state.wrapping_mul(Self::FACTOR).wrapping_add(0xB) & Self::MASK;
        *state >> (48 - count)
    }

    /// An identifier that nobody else has.
    pub fn uuid(&mut self) -> Uuid {
        let mut word = || match &mut self.0 {
            Source::Counted(random, drawn) => {
                *drawn += 1;
                random.hash_one(*drawn)
            }
            Source::Seeded(state) => Self::bits(state, 32) << 32 | Self::bits(state, 32),
        };
        let bits = u128::from(word()) << 64 | u128::from(word());
        Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
    }

    /// How long until something that comes `rate` times a second on average; never if it doesn't come.
    pub fn wait(&mut self, rate: f64) -> f64 {
        if rate > 0.0 { -(1.0 - self.draw()).ln() / rate } else { f64::INFINITY }
    }

    /// How many of `tosses` fall on the side whose probability is `probability`.
    pub fn tossed(&mut self, tosses: u64, probability: f64) -> u64 {
        // Beyond this nobody sees the difference from a normal distribution, and nobody waits for the tosses.
        const COUNTED_MAX: u64 = 1 << 16;
        if tosses <= COUNTED_MAX {
            return (0..tosses).filter(|_| self.draw() < probability).count() as u64;
        }
        let (mean, deviation) =
            (tosses as f64 * probability, (tosses as f64 * probability * (1.0 - probability)).sqrt());
        let normal = (2.0 * self.wait(1.0)).sqrt() * (TAU * self.draw()).cos();
        ((mean + deviation * normal).round().max(0.0) as u64).min(tosses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_numbers_that_java_gives() {
        // What `new java.util.Random(42)` gives: three times nextDouble(), then nextInt(10), nextInt(8) of new ones.
        let mut chance = Chance::seeded(42);
        for expected in [0.727_563_680_032_868_1, 0.683_223_471_759_845_4, 0.308_719_455_332_659_76] {
            assert_eq!(chance.draw().to_bits(), f64::to_bits(expected));
        }
        let mut chance = Chance::seeded(42);
        assert_eq!([0; 5].map(|_| chance.below(10)), [0, 3, 8, 4, 0]);
        let mut chance = Chance::seeded(42);
        assert_eq!([0; 5].map(|_| chance.below(8)), [5, 0, 5, 0, 2]);
    }

    #[test]
    fn a_coin_is_fair_for_one_and_for_many() {
        let mut chance = Chance::default();
        for tosses in [1 << 16, 1 << 40] {
            let (heads, expected) = (chance.tossed(tosses, 0.25) as f64, tosses as f64 / 4.0);
            let deviation = (expected * 0.75).sqrt();
            assert!((heads - expected).abs() < 7.0 * deviation, "{heads} of {tosses}");
        }
        assert_eq!((chance.tossed(1000, 0.0), chance.tossed(1000, 1.0)), (0, 1000));
    }
}
