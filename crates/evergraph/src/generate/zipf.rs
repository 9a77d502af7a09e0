//! Zipf: draws ranks of which a few are frequent and most are rare.
//!
//! Weights are summed once; a draw is a binary search among the sums. Only division and square roots
//! make the weights, which every machine rounds alike.

use crate::generate::random::Random;

/// How fast weights fall with the rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Skew {
    /// Rank k has weight 1/k: the first of a hundred thousand is drawn in one case of twelve.
    Strong,
    /// Rank k has weight 1/sqrt(k).
    Mild,
}

/// Draws ranks from 0 on, the lowest most often.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// The sum of all weights up to each rank.
    sums: Vec<f64>,
}

impl Zipf {
    /// Draws from `ranks` ranks. Cost: 8 bytes a rank.
    #[must_use]
    pub fn new(ranks: u32, skew: Skew) -> Self {
        let mut sum = 0.0;
        let sums = (1..=ranks).map(|rank| {
            sum += match skew {
                Skew::Strong => 1.0 / f64::from(rank),
                Skew::Mild => 1.0 / f64::from(rank).sqrt(),
            };
            sum
        });
        Self { sums: sums.collect() }
    }

    /// A rank. Cost: a binary search.
    ///
    /// # Panics
    /// If there are no ranks.
    pub fn draw(&self, random: &mut Random) -> u32 {
        let total = self.sums.last().expect("there are ranks to draw from");
        let at = random.unit() * total;
        // Rounding may reach the total: then it is the last rank.
        let rank = self.sums.partition_point(|sum| *sum <= at).min(self.sums.len() - 1);
        rank as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_up_by_their_weight() {
        for (skew, first_share) in [(Skew::Strong, 0.3414), (Skew::Mild, 0.1992)] {
            let zipf = Zipf::new(10, skew);
            let mut random = Random::new(3, 0, 0);
            let mut seen = [0u32; 10];
            for _ in 0..100_000 {
                seen[zipf.draw(&mut random) as usize] += 1;
            }
            let share = f64::from(seen[0]) / 100_000.0;
            assert!((share - first_share).abs() < 0.01, "{skew:?} {share}");
            assert!(seen.is_sorted_by(|a, b| a > b), "{skew:?} {seen:?}");
        }
    }
}
