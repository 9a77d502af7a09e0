//! Random walk: the rounds of PageRank, whose walk may begin again anywhere, and of its personalised form.
//!
//! ```text
//! score'(v) = restart(v) * ( (1 - d) * total  +  d * sum over u without edges of score(u) )
//!           + d * sum over edges u -> v of score(u) / degree(u)
//! ```
//!
//! where restart(v) is the same at each vertex at which the walk begins again, and sums to 1. One round is
//! one pass. Nobody writes what another reads, and a part is finished while its lines are in cache:
//!
//! ```text
//! for each part, in parallel
//!     next[v]  = sum of contributions[u] over v's lists            (piece by piece)
//!     score[v] = base(v) + d * next[v];   next[v] = score[v] * inverse_degree[v]
//! sum the parts' dangling scores and changes, in order;   swap(contributions, next)
//! ```
//!
//! Source: the pull form of the GAP benchmark suite. Differs: double precision, and the contributions of
//! the next round are made in this one instead of in a pass of their own.

use crate::control::Control;
use crate::gather::sum_of;
use crate::parts::Parts;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Topology, Visit};
use std::ops::Range;

/// What may be chosen about a walk, besides where it begins.
pub(crate) struct Walk {
    /// The probability of following an edge rather than beginning again: from 0 to 1.
    pub(crate) damping: f64,
    /// Rounds at most.
    pub(crate) iterations: u32,
    /// The walk ends after a round in which the scores changed by less than this, summed.
    pub(crate) change_max: Option<f64>,
    /// Along which edges it goes.
    pub(crate) direction: Direction,
    /// Its name in progress reports.
    pub(crate) phase: &'static str,
}

/// The scores, and how they were reached.
pub(crate) struct Walked {
    /// A score for each vertex id; zero out of scope.
    pub(crate) scores: Vec<f64>,
    /// Rounds that were run.
    pub(crate) iterations: u32,
    /// How much the last round changed the scores, summed. Zero before the first.
    pub(crate) change: f64,
    /// Whether the last change was small enough; false if nothing was said of it.
    pub(crate) converged: bool,
}

/// Bytes for each vertex, which the caller reserves.
pub(crate) const BYTES: usize = 4 * size_of::<f64>();

/// Where the walk begins again, with equal chances.
pub(crate) struct Restarts {
    /// Ids of these vertices: ascending ranges, apart from each other. Those out of scope don't count.
    ranges: Vec<Range<u32>>,
    /// How many vertices these are.
    count: u64,
}

impl Restarts {
    /// At every vertex of `topology`.
    pub(crate) fn anywhere<T: Topology>(topology: &T) -> Self {
        Self { ranges: std::iter::once(0..topology.bound()).collect(), count: topology.vertices().len() }
    }

    /// At these `sources`, which ascend and are in scope.
    pub(crate) fn at(sources: &[u32]) -> Self {
        let runs = sources.chunk_by(|one, next| one + 1 == *next);
        let ranges = runs.map(|run| run[0]..run[0] + run.len() as u32).collect();
        Self { ranges, count: sources.len() as u64 }
    }

    /// `part`, cut where the walk stops or starts to begin again: each piece, with whether it does there.
    fn cut(&self, part: Range<u32>) -> impl Iterator<Item = (Range<u32>, bool)> + '_ {
        let first = self.ranges.partition_point(|range| range.end <= part.start);
        let mut within =
            self.ranges[first..].iter().map(move |range| range.start.max(part.start)..range.end).peekable();
        let mut start = part.start;
        std::iter::from_fn(move || {
            if start == part.end {
                return None;
            }
            let range = within.peek().map_or(part.end..part.end, Range::clone);
            let begins_here = range.start == start;
            let end =
                if begins_here { within.next().map_or(part.end, |range| range.end) } else { range.start };
            let piece = start..end.min(part.end);
            start = piece.end;
            Some((piece, begins_here))
        })
    }
}

impl Walk {
    /// Whether the parameters are in their ranges; `tolerance` is what the caller said of the change.
    ///
    /// # Errors
    /// `invalid`, naming the parameter.
    pub(crate) fn check(damping: f64, tolerance: Option<f64>) -> Result<()> {
        if !(0.0..=1.0).contains(&damping) {
            return Err(Error::invalid(format!("damping is {damping}, but must be from 0 to 1")));
        }
        match tolerance {
            Some(tolerance) if !(tolerance >= 0.0 && tolerance.is_finite()) => {
                Err(Error::invalid(format!("tolerance is {tolerance}, but must be finite and not negative")))
            }
            _ => Ok(()),
        }
    }

    /// Walks on `topology`, which has vertices in scope, from the scores `first`, whose sum is `total` in
    /// every round. Needs [`BYTES`] a vertex.
    ///
    /// # Errors
    /// `invalid` for a side that wasn't frozen; `cancelled`; errors of reading.
    pub(crate) fn run<T: Topology>(
        &self,
        topology: &T,
        restarts: &Restarts,
        first: impl Fn(u32) -> f64 + Sync,
        total: f64,
        control: &Control<'_>,
    ) -> Result<Walked> {
        control.report(self.phase, 0.0);
        let parts = Parts::of(topology);
        let mut round = Round::start(topology, self.direction, first, total, &parts, control)?;
        let (mut iterations, mut change, mut converged) = (0, 0.0, false);
        while iterations < self.iterations && !converged {
            change = round.run(topology, self, restarts, &parts, control)?;
            iterations += 1;
            converged = self.change_max.is_some_and(|change_max| change < change_max);
            control.report(self.phase, f64::from(iterations) / f64::from(self.iterations));
        }
        control.report(self.phase, 1.0);
        Ok(Walked { scores: round.scores, iterations, change, converged })
    }
}

/// In place of the inverse degree of a vertex out of scope.
const OUT_OF_SCOPE: f64 = -1.0;

/// What one round hands to the next.
struct Round {
    scores: Vec<f64>,
    /// score / degree of each vertex; zero for one without edges.
    contributions: Vec<f64>,
    /// Where the next contributions are made.
    next: Vec<f64>,
    /// 1 / degree of each vertex; zero for one without edges, [`OUT_OF_SCOPE`] outside.
    inverse_degrees: Vec<f64>,
    /// The scores of the vertices without edges, summed.
    dangling: f64,
    /// All scores, summed: the same in every round.
    total: f64,
}

impl Round {
    /// Everybody in scope has the score that `first` says.
    fn start<T: Topology>(
        topology: &T,
        direction: Direction,
        first: impl Fn(u32) -> f64 + Sync,
        total: f64,
        parts: &Parts,
        control: &Control<'_>,
    ) -> Result<Self> {
        let bound = topology.bound() as usize;
        let vertices = topology.vertices();
        let mut round = Self {
            scores: vec![0.0; bound],
            contributions: vec![0.0; bound],
            next: vec![0.0; bound],
            inverse_degrees: vec![OUT_OF_SCOPE; bound],
            dangling: 0.0,
            total,
        };
        let slices = zip3(
            parts.split(&mut round.scores),
            parts.split(&mut round.contributions),
            parts.split(&mut round.inverse_degrees),
        );
        let dangling = parts.map(control, slices, |range, (scores, contributions, inverse_degrees), _| {
            let mut degrees = vec![0; range.len()];
            topology.degrees(direction, range.clone(), &mut degrees)?;
            let mut dangling = 0.0;
            for vertex in vertices.range(range.clone()) {
                let at = (vertex - range.start) as usize;
                scores[at] = first(vertex);
                if degrees[at] == 0 {
                    inverse_degrees[at] = 0.0;
                    dangling += scores[at];
                } else {
                    inverse_degrees[at] = 1.0 / f64::from(degrees[at]);
                    contributions[at] = scores[at] * inverse_degrees[at];
                }
            }
            Ok(dangling)
        })?;
        round.dangling = dangling.iter().sum();
        Ok(round)
    }

    /// One round; returns how much the scores changed, summed.
    fn run<T: Topology>(
        &mut self,
        topology: &T,
        walk: &Walk,
        restarts: &Restarts,
        parts: &Parts,
        control: &Control<'_>,
    ) -> Result<f64> {
        let damping = walk.damping;
        let base = ((1.0 - damping) * self.total + damping * self.dangling) / restarts.count as f64;
        let (contributions, inverse_degrees) = (&self.contributions[..], &self.inverse_degrees[..]);
        let slices: Vec<_> =
            parts.split(&mut self.scores).into_iter().zip(parts.split(&mut self.next)).collect();
        let sums = parts.map(control, slices, |range, (scores, next), buffer| {
            next.fill(0.0);
            topology.visit(walk.direction.reversed(), range.clone(), buffer, |vertex, piece| {
                next[(vertex - range.start) as usize] += sum_of(contributions, piece.neighbors);
                Visit::Continue
            })?;
            let (mut dangling, mut change) = (0.0, 0.0);
            for (piece, begins_here) in restarts.cut(range.clone()) {
                let within = (piece.start - range.start) as usize..(piece.end - range.start) as usize;
                let base = if begins_here { base } else { 0.0 };
                let inverse_degrees = &inverse_degrees[piece.start as usize..piece.end as usize];
                let (scores, next) = (&mut scores[within.clone()], &mut next[within]);
                let sums = finish(base, damping, scores, next, inverse_degrees);
                dangling += sums.0;
                change += sums.1;
            }
            Ok((dangling, change))
        })?;
        std::mem::swap(&mut self.contributions, &mut self.next);
        let (mut dangling, mut change) = (0.0, 0.0);
        for part in sums {
            dangling += part.0;
            change += part.1;
        }
        self.dangling = dangling;
        Ok(change)
    }
}

/// Scores that are finished side by side: what the compiler needs to vectorise their sums.
const WIDTH: usize = 4;

/// Turns the sums of a piece in `next` into scores, and these into the next contributions. Returns
/// the piece's dangling score and its change. The two sums run in [`WIDTH`] lanes.
fn finish(
    base: f64,
    damping: f64,
    scores: &mut [f64],
    next: &mut [f64],
    inverse_degrees: &[f64],
) -> (f64, f64) {
    let (mut dangling, mut change) = ([0.0; WIDTH], [0.0; WIDTH]);
    let mut finish_one = |lane: usize, score: &mut f64, next: &mut f64, inverse_degree: f64| {
        let new = if inverse_degree == OUT_OF_SCOPE { 0.0 } else { base + damping * *next };
        dangling[lane] += if inverse_degree == 0.0 { new } else { 0.0 };
        change[lane] += (new - *score).abs();
        *score = new;
        *next = new * inverse_degree;
    };
    let (score_groups, score_rest) = scores.as_chunks_mut::<WIDTH>();
    let (next_groups, next_rest) = next.as_chunks_mut::<WIDTH>();
    let (inverse_groups, inverse_rest) = inverse_degrees.as_chunks::<WIDTH>();
    for ((scores, next), inverse) in score_groups.iter_mut().zip(next_groups).zip(inverse_groups) {
        for lane in 0..WIDTH {
            finish_one(lane, &mut scores[lane], &mut next[lane], inverse[lane]);
        }
    }
    for ((score, next), inverse) in score_rest.iter_mut().zip(next_rest).zip(inverse_rest) {
        finish_one(0, score, next, *inverse);
    }
    (dangling.iter().sum(), change.iter().sum())
}

fn zip3<A, B, C>(first: Vec<A>, second: Vec<B>, third: Vec<C>) -> Vec<(A, B, C)> {
    first.into_iter().zip(second).zip(third).map(|((first, second), third)| (first, second, third)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_cut_where_the_walk_begins_again() {
        let cut = |sources: &[u32], part| Restarts::at(sources).cut(part).collect::<Vec<_>>();
        assert_eq!(
            cut(&[3, 4, 7], 0..10),
            [(0..3, false), (3..5, true), (5..7, false), (7..8, true), (8..10, false)]
        );
        assert_eq!(cut(&[3, 4, 7], 4..8), [(4..5, true), (5..7, false), (7..8, true)]);
        assert_eq!(cut(&[3, 4, 7], 5..7), [(5..7, false)]);
        assert_eq!(cut(&[3, 4, 7], 8..9), [(8..9, false)]);
        assert_eq!(cut(&[3, 4, 5, 6], 4..6), [(4..6, true)]);
        assert_eq!(cut(&[], 0..2), [(0..2, false)]);
        assert_eq!(cut(&[1], 2..2), []);
    }
}
