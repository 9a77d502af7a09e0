//! Random walk: the rounds of PageRank, whose walk may begin again anywhere, and of its personalised form.
//!
//! ```text
//! score'(v) = restart(v) * ( (1 - d) * total  +  d * sum over u without edges of score(u) )
//!           + d * sum over edges u -> v of score(u) / degree(u)
//! ```
//!
//! where restart(v) is the same at each vertex at which the walk begins again, and sums to 1. One round is
//! one pass, in which nobody writes what another reads:
//!
//! ```text
//! for each part, in parallel, for each v
//!     sum(v)   = sum of contributions[u] over v's lists            (piece by piece)
//!     score[v] = base(v) + d * sum(v);    next[v] = score[v] * inverse_degree[v]
//! sum the parts' dangling scores and changes, in order;   swap(contributions, next)
//! ```
//!
//! On large graphs contributions are rounded: `contributions` says how.
//!
//! Source: the pull form of the GAP benchmark suite. Differs: sums in double precision, and the contributions of
//! the next round are made in this one instead of in a pass of their own.

use crate::contributions::{Changes, Contributions, NextContributions, Rounding, Scores};
use crate::control::Control;
use crate::gather::{ROUNDING_BOUND_MIN, RoundLists, sum_of};
use crate::parts::Parts;
use crate::range::RealRange;
use crate::restarts::Restarts;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{PieceBuffer, Topology, Turn};
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
pub(crate) struct WalkScores {
    /// A score for each vertex id; zero out of scope.
    pub(crate) scores: Vec<f64>,
    /// Rounds that were run.
    pub(crate) iterations: u32,
    /// How much the last round changed the scores, summed. Zero before the first.
    pub(crate) change: f64,
    /// Whether the last change was small enough; false if nothing was said of it.
    pub(crate) converged: bool,
}

/// Bytes for each vertex, which the caller reserves: scores, inverse degrees, and two arrays of contributions.
pub(crate) const BYTES: usize = 4 * size_of::<f64>();

impl Walk {
    /// Whether the parameters are in their ranges; `tolerance` is what the caller said of the change.
    ///
    /// # Errors
    /// `invalid`, naming the parameter.
    pub(crate) fn check(damping: f64, tolerance: Option<f64>) -> Result<()> {
        RealRange::UpToOne.check("damping", damping)?;
        tolerance.map_or(Ok(()), |tolerance| RealRange::FiniteFromZero.check("tolerance", tolerance))
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
    ) -> Result<WalkScores> {
        control.report(self.phase, 0.0);
        let parts = Parts::of(topology);
        let mut lists = RoundLists::new(topology, self.direction.reversed(), self.change_max.is_some());
        let may_round = topology.bound() >= ROUNDING_BOUND_MIN;
        let mut round = Round::start(topology, self, may_round, first, total, &parts, control)?;
        let (mut iterations, mut converged) = (0, false);
        while iterations < self.iterations && !converged {
            let lists = lists.after(iterations, self.iterations, control)?.topology;
            iterations += 1;
            round.run(lists, self, restarts, self.iterations - iterations, &parts, control)?;
            converged = self.change_max.is_some_and(|change_max| round.change < change_max);
            control.report(self.phase, f64::from(iterations) / f64::from(self.iterations));
        }
        control.report(self.phase, 1.0);
        let change = if iterations == 0 { 0.0 } else { round.change };
        Ok(WalkScores { scores: round.scores, iterations, change, converged })
    }
}

/// In place of the inverse degree of a vertex out of scope.
const OUT_OF_SCOPE: f64 = -1.0;

/// What one round hands to the next.
struct Round {
    scores: Vec<f64>,
    contributions: Contributions,
    /// Whether contributions are those of the scores, and not of their changes.
    sends_scores: bool,
    /// 1 / degree of each vertex; zero for one without edges, [`OUT_OF_SCOPE`] outside.
    inverse_degrees: Vec<f64>,
    /// What each vertex at which the walk begins again had of the jumps in the last round.
    base: f64,
    /// The scores of the vertices without edges, summed.
    dangling: f64,
    /// All scores, summed: the same in every round.
    total: f64,
    /// How much the last round changed the scores, summed.
    change: f64,
    /// How much the next one changes them, at most.
    change_next: f64,
    rounding: Rounding,
}

impl Round {
    /// Everybody in scope has the score that `first` says. Contributions are rounded if `may_round`, and if the error stays
    /// small.
    fn start<T: Topology>(
        topology: &T,
        walk: &Walk,
        may_round: bool,
        first: impl Fn(u32) -> f64 + Sync,
        total: f64,
        parts: &Parts,
        control: &Control<'_>,
    ) -> Result<Self> {
        let bound = topology.bound() as usize;
        let vertices = topology.vertices();
        let (mut scores, mut inverse_degrees) = (vec![0.0; bound], vec![OUT_OF_SCOPE; bound]);
        let slices = parts.split(&mut scores).into_iter().zip(parts.split(&mut inverse_degrees)).collect();
        let dangling = parts.map(control, slices, |range, (scores, inverse_degrees), _| {
            let mut degrees = vec![0; range.len()];
            topology.degrees(walk.direction, range.clone(), &mut degrees)?;
            let mut dangling = 0.0;
            for vertex in vertices.range(range.clone()) {
                let at = (vertex - range.start) as usize;
                scores[at] = first(vertex);
                if degrees[at] == 0 {
                    inverse_degrees[at] = 0.0;
                    dangling += scores[at];
                } else {
                    inverse_degrees[at] = 1.0 / f64::from(degrees[at]);
                }
            }
            Ok(dangling)
        })?;
        let mut rounding = Rounding::new(may_round, walk.damping, walk.change_max.is_some(), total);
        let single = rounding.may(walk.iterations, total);
        // Before the first round all scores are a change.
        let contributions = if single {
            let (mut now, mut kept_back) = (vec![0.0; bound], vec![0.0; bound]);
            send_first(
                parts,
                &scores,
                &inverse_degrees,
                Changes::of(parts, &mut now, &mut kept_back),
                control,
            )?;
            rounding.note(walk.iterations, total);
            Contributions::Single { now, next: vec![0.0; bound], kept_back }
        } else {
            let mut now = vec![0.0; bound];
            send_first(parts, &scores, &inverse_degrees, Scores::of(parts, &mut now), control)?;
            Contributions::Double { now, next: vec![0.0; bound] }
        };
        Ok(Self {
            scores,
            contributions,
            sends_scores: true,
            inverse_degrees,
            base: 0.0,
            dangling: dangling.iter().sum(),
            total,
            change: 0.0,
            // Any scores may become any others whose sum is the same.
            change_next: 2.0 * total,
            rounding,
        })
    }

    /// One round, after which at most `left` more come.
    fn run<T: Topology>(
        &mut self,
        topology: &T,
        walk: &Walk,
        restarts: &Restarts,
        left: u32,
        parts: &Parts,
        control: &Control<'_>,
    ) -> Result<()> {
        let damping = walk.damping;
        let single = self.rounding.may(left, self.change_next);
        let base = ((1.0 - damping) * self.total + damping * self.dangling) / restarts.count() as f64;
        let pass = PullPass {
            topology,
            direction: walk.direction.reversed(),
            restarts,
            inverse_degrees: &self.inverse_degrees,
            damping,
            adds: !self.sends_scores,
            base: if self.sends_scores { base } else { base - self.base },
            parts,
            control,
        };
        let scores = &mut self.scores;
        // What was read is dropped before more is allocated: never more than [`BYTES`] are needed.
        let sums = match (&mut self.contributions, single) {
            (Contributions::Double { now, next }, false) => {
                let sums = pass.run(now, scores, Scores::of(parts, next))?;
                std::mem::swap(now, next);
                sums
            }
            (Contributions::Double { now, next }, true) => {
                *next = Vec::new();
                let (mut changes, mut kept_back) = (vec![0.0; now.len()], vec![0.0; now.len()]);
                let sums = pass.run(now, scores, Changes::of(parts, &mut changes, &mut kept_back))?;
                *now = Vec::new();
                let next = vec![0.0; changes.len()];
                self.contributions = Contributions::Single { now: changes, next, kept_back };
                sums
            }
            (Contributions::Single { now, next, kept_back }, true) => {
                let sums = pass.run(now, scores, Changes::of(parts, next, kept_back))?;
                std::mem::swap(now, next);
                sums
            }
            (Contributions::Single { now, next, kept_back }, false) => {
                (*next, *kept_back) = (Vec::new(), Vec::new());
                let mut contributions = vec![0.0; now.len()];
                let sums = pass.run(now, scores, Scores::of(parts, &mut contributions))?;
                *now = Vec::new();
                let next = vec![0.0; contributions.len()];
                self.contributions = Contributions::Double { now: contributions, next };
                sums
            }
        };
        (self.sends_scores, self.base) = (!single, base);
        (self.dangling, self.change) = (0.0, 0.0);
        for part in sums {
            self.dangling += part.dangling;
            self.change += part.change;
        }
        self.change_next = damping * self.change;
        if single {
            self.rounding.note(left, self.change);
        }
        Ok(())
    }
}

/// Sends the contributions of `scores` to `now`, an entry a part: the first, before which all scores are zero.
fn send_first<N: NextContributions>(
    parts: &Parts,
    scores: &[f64],
    inverse_degrees: &[f64],
    now: Vec<N>,
    control: &Control<'_>,
) -> Result<()> {
    let send = |range: Range<u32>, mut now: N, _: &mut PieceBuffer| {
        for (at, vertex) in range.enumerate() {
            let score = scores[vertex as usize];
            now.send(at, score, score, inverse_degrees[vertex as usize]);
        }
        Ok(())
    };
    parts.map(control, now, send).map(drop)
}

/// Sums over a part.
struct PartSums {
    /// The scores of vertices without edges.
    dangling: f64,
    /// How much scores changed.
    change: f64,
}

/// What a round reads and doesn't write.
struct PullPass<'a, T> {
    topology: &'a T,
    /// From a vertex to those that send to it.
    direction: Direction,
    restarts: &'a Restarts,
    inverse_degrees: &'a [f64],
    damping: f64,
    /// Whether what a vertex gets is added to a score, and doesn't replace it.
    adds: bool,
    /// What is added to it where the walk begins again.
    base: f64,
    parts: &'a Parts,
    control: &'a Control<'a>,
}

impl<T: Topology> PullPass<'_, T> {
    /// Makes scores of the `contributions` to each vertex; each part's vertices then send theirs to its entry of `next`.
    fn run<C: Copy + Into<f64> + Sync, N: NextContributions>(
        &self,
        contributions: &[C],
        scores: &mut [f64],
        next: Vec<N>,
    ) -> Result<Vec<PartSums>> {
        let slices = self.parts.split(scores).into_iter().zip(next).collect();
        self.parts.map(self.control, slices, |range, (scores, next), buffer| {
            let inverse_degrees = &self.inverse_degrees[range.start as usize..range.end as usize];
            let sums = PartSums { dangling: 0.0, change: 0.0 };
            let (damping, adds) = (self.damping, self.adds);
            let mut part = PartPass { damping, adds, scores, inverse_degrees, next, sums };
            // What came before its vertex' turn; empty until something does.
            let mut apart: Vec<f64> = Vec::new();
            let sum_apart = |apart: &[f64], at: usize| if apart.is_empty() { 0.0 } else { apart[at] };
            for (piece, begins_here) in self.restarts.cut(range.clone()) {
                let base = if begins_here { self.base } else { 0.0 };
                // While a vertex's last values are on their way from memory, the next one's are asked for.
                let (mut current, mut sum) = (piece.start, 0.0);
                self.topology.visit_pieces(self.direction, piece.clone(), buffer, |vertex, list, turn| {
                    let of_list = sum_of(contributions, list.neighbors);
                    if turn == Turn::Apart {
                        apart.resize(range.len(), 0.0);
                        apart[(vertex - range.start) as usize] += of_list;
                        return;
                    }
                    while current < vertex {
                        let at = (current - range.start) as usize;
                        part.finish(at, base, sum + sum_apart(&apart, at));
                        (current, sum) = (current + 1, 0.0);
                    }
                    sum += of_list;
                })?;
                while current < piece.end {
                    let at = (current - range.start) as usize;
                    part.finish(at, base, sum + sum_apart(&apart, at));
                    (current, sum) = (current + 1, 0.0);
                }
            }
            Ok(part.sums)
        })
    }
}

/// The vertices of a part, on their way to the next round.
struct PartPass<'a, N> {
    damping: f64,
    adds: bool,
    scores: &'a mut [f64],
    inverse_degrees: &'a [f64],
    next: N,
    sums: PartSums,
}

impl<N: NextContributions> PartPass<'_, N> {
    /// Makes a vertex's score of the `sum` of what it got, and sends on what comes of it.
    #[inline]
    fn finish(&mut self, at: usize, base: f64, sum: f64) {
        let (old, inverse_degree) = (self.scores[at], self.inverse_degrees[at]);
        let new = if self.adds { old } else { 0.0 } + (base + self.damping * sum);
        let new = if inverse_degree == OUT_OF_SCOPE { 0.0 } else { new };
        self.sums.dangling += if inverse_degree == 0.0 { new } else { 0.0 };
        let change = new - old;
        self.sums.change += change.abs();
        self.scores[at] = new;
        self.next.send(at, new, change, inverse_degree);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contributions::ERROR_MAX;
    use crate::graphs::{Graph, any_direction, any_graph, large_graph, same_for_any_threads};
    use proptest::prelude::*;

    /// A walk, and where it begins.
    struct Case<'a> {
        graph: &'a Graph,
        walk: Walk,
        /// Where it begins again.
        sources: &'a [u32],
        first: Vec<f64>,
    }

    impl Case<'_> {
        /// The scores after each round by definition, in double precision.
        fn in_double_precision(&self) -> impl Iterator<Item = Vec<f64>> {
            let (arcs, damping) = (self.graph.arcs(self.walk.direction), self.walk.damping);
            let mut degrees = vec![0.0; self.first.len()];
            arcs.iter().for_each(|arc| degrees[arc.0 as usize] += 1.0);
            let (mut scores, total) = (self.first.clone(), self.first.iter().sum::<f64>());
            std::iter::repeat_with(move || {
                let dangling: f64 = degrees
                    .iter()
                    .zip(&scores)
                    .filter(|(degree, _)| **degree == 0.0)
                    .map(|(_, score)| score)
                    .sum();
                let base = ((1.0 - damping) * total + damping * dangling) / self.sources.len() as f64;
                let mut next = vec![0.0; scores.len()];
                self.sources.iter().for_each(|source| next[*source as usize] = base);
                for (source, target, _) in &arcs {
                    next[*target as usize] += damping * scores[*source as usize] / degrees[*source as usize];
                }
                scores.clone_from(&next);
                next
            })
        }

        /// How many of the rounds on `topology`, the same graph, read rounded numbers, and how far the scores are from
        /// those in double precision, as a part of all: at worst rounding keeps back three times as much as was noted.
        fn rounded<T: Topology>(&self, topology: &T) -> (u32, f64) {
            let (control, walk) = (Control::default(), &self.walk);
            let (parts, restarts) = (Parts::of(topology), Restarts::at(self.sources));
            let total = self.first.iter().sum();
            let start = |vertex: u32| self.first[vertex as usize];
            let mut round = Round::start(topology, walk, true, start, total, &parts, &control).unwrap();
            let (mut single, mut worst) = (0, 0.0_f64);
            for (done, want) in (1..=walk.iterations).zip(self.in_double_precision()) {
                single += u32::from(matches!(round.contributions, Contributions::Single { .. }));
                // What this round keeps back is missing in the next ones only.
                let error = round.rounding.error();
                round.run(topology, walk, &restarts, walk.iterations - done, &parts, &control).unwrap();
                // It may end after any round only if it was told that it might.
                if walk.change_max.is_some() || done == walk.iterations {
                    let apart: f64 =
                        round.scores.iter().zip(&want).map(|(found, want)| (found - want).abs()).sum();
                    assert!(apart <= 3.0 * error + 1e-13 * total, "{apart:e} apart, {error:e} noted");
                    worst = worst.max(apart / total);
                }
            }
            // Sums of scores are rounded themselves.
            assert!(round.rounding.error() <= 1.001 * ERROR_MAX * total);
            (single, worst)
        }
    }

    fn walk(damping: f64, iterations: u32, change_max: Option<f64>) -> Walk {
        Walk { damping, iterations, change_max, direction: Direction::Out, phase: "walk" }
    }

    proptest! {
        #[test]
        fn rounding_costs_no_more_than_is_noted(
            graph in any_graph(), direction in any_direction(), damping in 0.0..=1.0, iterations in 0_u32..40,
            ends_early: bool, salt in 1_u32.., step in 1_usize..5,
        ) {
            prop_assume!(!graph.vertices.is_empty());
            let score = |id: u32| {
                if graph.vertices.contains(id) { f64::from(id.wrapping_mul(salt) >> 20) } else { 0.0 }
            };
            let first: Vec<f64> = (0..graph.vertices.bound()).map(score).collect();
            let sources: Vec<u32> = graph.vertices.iter().step_by(step).collect();
            let walk = Walk { direction, ..walk(damping, iterations, ends_early.then_some(0.0)) };
            let case = Case { graph: &graph, walk, sources: &sources, first };
            case.rounded(&graph.csr(Direction::Both));
            case.rounded(&graph.pieced(Direction::Both));
        }
    }

    #[test]
    fn rounds_of_a_large_graph_read_numbers_of_four_bytes() {
        let graph = large_graph();
        let sources: Vec<u32> = graph.vertices.iter().collect();
        let mut first = vec![0.0; graph.vertices.bound() as usize];
        sources.iter().for_each(|vertex| first[*vertex as usize] = 1.0);
        for (change_max, single_min) in [(None, 18), (Some(0.0), 8)] {
            let case = Case {
                graph: &graph,
                walk: walk(0.85, 20, change_max),
                sources: &sources,
                first: first.clone(),
            };
            let (single, apart) = case.rounded(&graph.csr(Direction::Both));
            assert!(
                single >= single_min && apart > 0.0 && apart < ERROR_MAX,
                "{single} rounds, {apart:e} apart"
            );
        }
    }

    #[test]
    fn rounded_scores_are_bit_for_bit_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Both);
        let (walk, control) = (walk(0.85, 20, None), Control::default());
        same_for_any_threads(|| {
            let (parts, restarts) = (Parts::of(&csr), Restarts::anywhere(&csr));
            let mut round = Round::start(&csr, &walk, true, |_| 1.0, 40_000.0, &parts, &control).unwrap();
            (0..20).for_each(|done| round.run(&csr, &walk, &restarts, 19 - done, &parts, &control).unwrap());
            assert!(matches!(round.contributions, Contributions::Single { .. }));
            round.scores
        });
    }

    #[test]
    fn a_walk_whose_changes_never_shrink_sends_scores_again() {
        let graph = Graph::new(2, &[(0, 1), (1, 0)]);
        // Without jumps the two swap their scores for ever; what rounding takes adds up.
        let first = vec![0.501, 0.499 + 1e-9];
        let case = Case { graph: &graph, walk: walk(1.0, 50, None), sources: &[0, 1], first };
        let (single, _) = case.rounded(&graph.csr(Direction::Both));
        assert!(single > 0 && single < 40, "{single} of 50 rounds");
    }

    /// Single precision ends at 1e-45 and at 3e38.
    #[test]
    fn scores_that_single_precision_cannot_hold_are_not_rounded() {
        let graph = Graph::new(2, &[(0, 1), (1, 0)]);
        for score in [0.0, 1e-44, 1e39] {
            let case = Case {
                graph: &graph,
                walk: walk(0.85, 20, None),
                sources: &[0, 1],
                first: vec![score, score / 2.0],
            };
            assert_eq!(case.rounded(&graph.csr(Direction::Both)).0, 0);
        }
    }
}
