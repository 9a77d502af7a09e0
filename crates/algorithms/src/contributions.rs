//! Contributions: what each vertex of a random walk sends to its neighbours, and in which precision.
//!
//! Contributions are read at random. On a graph larger than the cache these reads dominate, and single precision fits
//! twice as many into it. So on large graphs a vertex sends the *change* of its contribution in single precision,
//! and adds the rounding error to the next change. Sums are in double precision:
//!
//! ```text
//! score[v] += change of base(v) + d * sum(v)
//! exact    = change of score[v] * inverse_degree[v] + kept_back[v]
//! next[v]  = exact, rounded;      kept_back[v] = exact - next[v]
//! ```
//!
//! What is kept back comes a round too late. So the scores differ from those in double precision by what was kept back,
//! times the damping for each round behind, or less. This is summed up, as what rounding keeps back on average; a round
//! for which the sum would pass [`ERROR_MAX`] sends scores in double precision instead. These are the first rounds of a
//! short walk, and of one with a tolerance, which may end after any round. On R-MAT of 2^20 vertices scores differed by
//! 1e-12 of all, on a grid by 7e-11: errors of both signs meet.
//!
//! Source: sending later what rounding kept back is the error feedback of quantised gradients (Seide et al.,
//! Interspeech 2014).

use crate::parts::Parts;
use std::ops::Range;

/// How far scores may be from those in double precision, summed, as a part of all scores: by rounding on average. At worst
/// it is three times as far.
pub(crate) const ERROR_MAX: f64 = 3e-9;

/// Mean relative error of rounding to single precision: a quarter of an epsilon, times 0.72, the mean of 1/m for
/// mantissas m spread evenly by logarithm.
const ROUNDING_ERROR_MEAN: f64 = f32::EPSILON as f64 / 4.0 * 0.72;

/// All scores summed, if they may be rounded: single precision can't hold much less than the lower end, once it is
/// divided by vertices and edges, nor more than the upper one.
const ROUNDED_TOTALS: Range<f64> = 1e-15..1e30;

/// The error that rounding may cause in a walk, and has caused.
pub(crate) struct Rounding {
    allowed: bool,
    damping: f64,
    /// Whether the walk may end after any round.
    may_end_early: bool,
    error: f64,
    error_max: f64,
}

impl Rounding {
    /// No error yet. Nothing is rounded unless `wanted`, and unless single precision holds parts of `total`, the sum of
    /// all scores.
    pub(crate) fn new(wanted: bool, damping: f64, may_end_early: bool, total: f64) -> Self {
        let allowed = wanted && ROUNDED_TOTALS.contains(&total);
        Self { allowed, damping, may_end_early, error: 0.0, error_max: ERROR_MAX * total }
    }

    /// How far the scores will be from those in double precision when the walk ends, summed: by rounding on average.
    #[cfg(test)]
    pub(crate) fn error(&self) -> f64 {
        self.error
    }

    /// Whether the contributions of scores that change by at most `change` may be rounded, if at most `left` more rounds
    /// come.
    pub(crate) fn may(&self, left: u32, change: f64) -> bool {
        let budget = self.error_max - self.error;
        // A walk that may end after any round must not spend all of it at once, and turn back to double precision.
        // Changes shrink by the damping, and so with this part of it the rounds behind may round, too.
        let part = if self.may_end_early { 1.0 - self.damping } else { 1.0 };
        self.allowed && self.error_of(left, change) <= part * budget
    }

    /// Notes that the contributions of scores that changed by `change` were rounded.
    pub(crate) fn note(&mut self, left: u32, change: f64) {
        self.error += self.error_of(left, change);
    }

    /// What remains of the error at the end of the walk if a `change` is rounded and at most `left` more rounds come.
    fn error_of(&self, left: u32, change: f64) -> f64 {
        let rounds = if self.may_end_early { left.min(1) } else { left };
        if rounds == 0 { 0.0 } else { ROUNDING_ERROR_MEAN * change * self.damping.powf(f64::from(rounds)) }
    }
}

/// What each vertex sends to its neighbours, and where the next round's is made.
pub(crate) enum Contributions {
    Double { now: Vec<f64>, next: Vec<f64> },
    Single { now: Vec<f32>, next: Vec<f32>, kept_back: Vec<f32> },
}

/// A part's contributions to the next round, while they are made.
pub(crate) trait NextContributions: Send {
    /// Notes what the vertex `at` sends along each edge, whose `score` is new, and by how much it changed.
    fn send(&mut self, at: usize, score: f64, change: f64, inverse_degree: f64);
}

/// Contributions of scores.
pub(crate) struct Scores<'a>(&'a mut [f64]);

impl<'a> Scores<'a> {
    /// Those of each part.
    pub(crate) fn of(parts: &Parts, next: &'a mut [f64]) -> Vec<Self> {
        parts.split(next).into_iter().map(Self).collect()
    }
}

impl NextContributions for Scores<'_> {
    #[inline]
    fn send(&mut self, at: usize, score: f64, _: f64, inverse_degree: f64) {
        self.0[at] = score * inverse_degree;
    }
}

/// Contributions of what has changed and what was kept back.
pub(crate) struct Changes<'a> {
    next: &'a mut [f32],
    kept_back: &'a mut [f32],
}

impl<'a> Changes<'a> {
    /// Those of each part.
    pub(crate) fn of(parts: &Parts, next: &'a mut [f32], kept_back: &'a mut [f32]) -> Vec<Self> {
        let slices = parts.split(next).into_iter().zip(parts.split(kept_back));
        slices.map(|(next, kept_back)| Self { next, kept_back }).collect()
    }
}

impl NextContributions for Changes<'_> {
    #[inline]
    fn send(&mut self, at: usize, _: f64, change: f64, inverse_degree: f64) {
        let exact = change * inverse_degree + f64::from(self.kept_back[at]);
        let sent = exact as f32;
        self.next[at] = sent;
        self.kept_back[at] = (exact - f64::from(sent)) as f32;
    }
}
