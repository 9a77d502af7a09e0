//! `coin()` and `sample()`: what goes on by chance.

use crate::batch::Batch;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::execute::waiting::Waiting;
use crate::step::by::Projection;
use crate::value::convert;
use crate::value::item::Item;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::{Value, ValueType};
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
    fn wait(&mut self, rate: f64) -> f64 {
        if rate > 0.0 { -(1.0 - self.draw()).ln() / rate } else { f64::INFINITY }
    }

    /// How many of `tosses` fall on the side whose probability is `probability`.
    fn tossed(&mut self, tosses: u64, probability: f64) -> u64 {
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

/// Each traverser with a probability.
pub struct Coin {
    probability: f64,
    chance: Chance,
}

impl Coin {
    /// Each with `probability`; none below 0, all from 1 on.
    #[must_use]
    pub fn new(probability: f64, chance: Chance) -> Self {
        Self { probability, chance }
    }
}

impl Step for Coin {
    fn process(&mut self, input: &mut Option<Batch>, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(mut batch) = input.take() else { return Ok(None) };
        if self.probability >= 1.0 {
            return Ok(Some(batch));
        }
        let bulks: Vec<u64> =
            (0..batch.len()).map(|row| self.chance.tossed(batch.bulk(row), self.probability)).collect();
        let keep: Vec<bool> = bulks.iter().map(|bulk| *bulk > 0).collect();
        batch.bulk = batch.bulk.is_some().then_some(bulks);
        Ok(Some(batch.filter(&keep)))
    }
}

/// So many of each origin by chance, without putting any back; the heavier the sooner.
///
/// Each traverser gets a moment at which it comes, as if it came `weight` times a second, and the first so many go on:
/// that draws one after the other, each by its weight among those left. Source: Efraimidis and Spirakis, "Weighted
/// random sampling with a reservoir" (2006).
pub struct Sample {
    count: u64,
    by: Option<Projection>,
    chance: Chance,
    waiting: Waiting,
    weights: Vec<f64>,
    origins: u32,
}

impl Sample {
    /// At most `count` of each origin, by the weight that `by` says.
    #[must_use]
    pub fn new(count: u64, by: Option<Projection>, chance: Chance) -> Self {
        Self { count, by, chance, waiting: Waiting::default(), weights: Vec::new(), origins: 1 }
    }

    /// How many of the traversers of each row of one origin go on: at most `count` in all.
    fn choose(&mut self, bulks: &[u64], weights: &[f64]) -> Vec<u64> {
        let all = bulks.iter().fold(0_u64, |sum, bulk| sum.saturating_add(*bulk));
        if all <= self.count {
            return bulks.to_vec();
        }
        let mut moments: Vec<(f64, usize)> = Vec::new();
        for (row, (bulk, weight)) in bulks.iter().zip(weights).enumerate() {
            let mut moment = 0.0;
            for left in (0..*bulk).rev().take(usize::try_from(self.count).unwrap_or(usize::MAX)) {
                // Of those that are left the next one comes this much later.
                moment += self.chance.wait(weight * (left + 1) as f64);
                moments.push((moment, row));
            }
        }
        moments.sort_by(|left, right| left.0.total_cmp(&right.0));
        let mut chosen = vec![0; bulks.len()];
        moments.iter().take(self.count as usize).for_each(|(_, row)| chosen[*row] += 1);
        chosen
    }
}

impl Step for Sample {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(mut batch) = input.take() else { return Ok(None) };
        match &mut self.by {
            None => self.weights.resize(self.weights.len() + batch.len(), 1.0),
            Some(by) => {
                let found = by.of(&batch, cx)?;
                let keep: Vec<bool> = found.iter().map(Option::is_some).collect();
                for item in found.iter().flatten() {
                    self.weights.push(weight(item)?);
                }
                batch = batch.filter(&keep);
            }
        }
        self.waiting.push(batch, &mut cx.charge)?;
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if self.waiting.is_empty() {
            return Ok(None);
        }
        let (mut all, _holding) = self.waiting.together(&mut cx.charge)?;
        let weights = std::mem::take(&mut self.weights);
        let mut bulks: Vec<u64> = (0..all.len()).map(|row| all.bulk(row)).collect();
        let mut start = 0;
        while start < all.len() {
            let same = all.origin[start..].iter().take_while(|origin| **origin == all.origin[start]);
            let end = start + same.count();
            let drawn = drawn(&bulks[start..end], self.count);
            let _moments = cx.charge.holding(drawn.saturating_mul(size_of::<(f64, usize)>()))?;
            let chosen = self.choose(&bulks[start..end], &weights[start..end]);
            bulks[start..end].copy_from_slice(&chosen);
            start = end;
        }
        let keep: Vec<bool> = bulks.iter().map(|bulk| *bulk > 0).collect();
        all.bulk = all.bulk.is_some().then_some(bulks);
        Ok(Some(all.filter(&keep)))
    }

    fn reset(&mut self, origins: u32) {
        self.origins = origins;
        self.waiting.clear();
        self.weights.clear();
    }
}

/// How many moments are drawn for rows of these bulks, if `count` go on.
fn drawn(bulks: &[u64], count: u64) -> usize {
    let all = bulks.iter().fold(0_u64, |sum, bulk| sum.saturating_add((*bulk).min(count)));
    usize::try_from(all).unwrap_or(usize::MAX)
}

fn weight(item: &Item) -> Result<f64> {
    let number = match item {
        Item::Value(Value::String(_) | Value::DateTime(_)) | Item::Null => None,
        item => convert::as_number(item, Some(ValueType::F64)).ok(),
    };
    number.as_ref().and_then(Item::as_value).and_then(Value::as_f64).ok_or_else(|| {
        Error::invalid(format!("sample() needs numbers as weights, and {} isn't one", item.kind()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heavier_come_sooner() {
        let mut sample = Sample::new(1, None, Chance::default());
        let mut came = [0; 3];
        for _ in 0..3000 {
            let chosen = sample.choose(&[1, 2, 1], &[1.0, 1.0, 3.0]);
            assert_eq!(chosen.iter().sum::<u64>(), 1);
            chosen.iter().zip(&mut came).for_each(|(times, came)| *came += times);
        }
        // 500, 1000 and 1500 are expected; 7 standard deviations are 190 at most.
        for (came, expected) in came.into_iter().zip([500, 1000, 1500]) {
            assert!(came.abs_diff(expected) < 190, "{came} and not about {expected}");
        }
    }

    #[test]
    fn nothing_is_drawn_twice_and_few_are_all_taken() {
        let mut sample = Sample::new(3, None, Chance::default());
        for _ in 0..100 {
            let chosen = sample.choose(&[1, 2, 1], &[1.0, 0.0, 100.0]);
            assert_eq!(chosen.iter().sum::<u64>(), 3);
            assert!(chosen.iter().zip([1, 2, 1]).all(|(chosen, bulk)| *chosen <= bulk), "{chosen:?}");
        }
        assert_eq!(sample.choose(&[1, 2], &[0.0, 0.0]), [1, 2]);
        let many = sample.choose(&[u64::MAX, u64::MAX], &[1.0, 1.0]);
        assert_eq!(many.iter().sum::<u64>(), 3);
    }

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
