//! `coin()` and `sample()`: random selection.

use crate::batch::Batch;
use crate::chance::Chance;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::execute::waiting::Waiting;
use crate::step::by::Projection;
use crate::value::convert;
use crate::value::item::Item;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::{Value, ValueType};

/// Lets each traverser go on with a probability.
pub struct Coin {
    probability: f64,
    chance: Chance,
}

impl Coin {
    /// With `probability`: none below 0, all from 1 on.
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
}
