//! Eigenvector centrality: a vertex is as important as the vertices that point to it, together.
//!
//! ```text
//! x = 1/n each
//! each round   y(v) = x(v) + sum over edges u -> v of x(u) * weight        pull, part by part
//!              x    = y / |y|                                              Euclidean norm
//! until x changed by less than n * tolerance in sum, or the rounds are over
//! ```
//!
//! Adding `x(v)` itself shifts all eigenvalues by one: bipartite graphs, whose largest two differ
//! in sign alone, converge too. The eigenvector stays. It is unique if everybody reaches everybody;
//! else it depends on the start, and vertices that no cycle leads to fade to zero.
//!
//! A parallel edge counts as often as it is there.
//!
//! Every round computes its scores anew, so earlier rounding errors fade as fast as the start does. On large graphs rounds
//! read scores in single precision while they still change much; the last ones don't. If the largest eigenvalue
//! isn't unique, the start never fades, and about 1e-8 of a score may remain of rounding.
//!
//! Cost: a round reads every edge once, at random in 8 bytes a vertex, or in 4; the first counts them, where all
//! vertices are in scope. Memory: 20 bytes a vertex.
//! The scores are the same for any number of threads; they may differ in the last bits between
//! topologies that hold the same lists in other pieces.
//!
//! Source: Bonacich: Power and Centrality (1987); start, shift, norm and end as in NetworkX 3.

use crate::control::Control;
use crate::gather::{ROUNDING_BOUND_MIN, RoundLists, RoundVisits, sum_of, weighted_sum_of};
use crate::parts::Parts;
use crate::range::RealRange;
use crate::scope::Scope;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{Piece, Topology, Weight};
use evergraph_graph::view::Freeze;

/// What may be chosen about eigenvector centrality.
#[derive(Clone, PartialEq, Debug)]
pub struct EigenvectorParameters {
    /// Rounds at most.
    pub iterations: u32,
    /// Stop after a round in which the scores changed by less than this a vertex on average.
    pub tolerance: f64,
    /// Along which edges importance flows: `Out` from source to target, `In` against them, `Both`
    /// ways.
    pub direction: Direction,
}

impl Default for EigenvectorParameters {
    /// 100 rounds, tolerance 1e-6, from source to target.
    fn default() -> Self {
        Self { iterations: 100, tolerance: 1e-6, direction: Direction::Out }
    }
}

impl EigenvectorParameters {
    fn check(&self) -> Result<()> {
        RealRange::FiniteFromZero.check("tolerance", self.tolerance)
    }
}

/// The scores, and how they were reached.
#[derive(Clone, PartialEq, Debug)]
pub struct Eigenvector {
    /// A score for each vertex id below the topology's bound; their squares sum to 1, unless there
    /// was no round. Zero out of scope.
    pub scores: Vec<f64>,
    /// Rounds that were run.
    pub iterations: u32,
    /// How much the last round changed the scores, summed. Zero before the first.
    pub change: f64,
    /// Whether the tolerance was reached. If not, the scores are those of the last round.
    pub converged: bool,
}

impl Eigenvector {
    /// The score of `vertex`; `None` above the bound.
    #[must_use]
    pub fn score(&self, vertex: VertexId) -> Option<f64> {
        self.scores.get(vertex.0 as usize).copied()
    }
}

/// Eigenvector centrality in the part of `view` in `scope`, by `weight` if there is one: freezes the
/// side that is summed over. Memory comes from the budget of `view`.
///
/// # Errors
/// Those of [`eigenvector`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    weight: Option<&Weight>,
    parameters: &EigenvectorParameters,
    control: &Control<'_>,
) -> Result<Eigenvector> {
    parameters.check()?;
    let topology = scope.freeze(view, parameters.direction.reversed(), weight.cloned(), control)?;
    eigenvector(&topology, parameters, &control.on_budget(view.budget()))
}

/// Eigenvector centrality in `topology`, which must hold the lists against the direction. If it has
/// weights, they count; any finite ones will do.
///
/// # Errors
/// `invalid` for a parameter out of range, a side that wasn't frozen, or weights that lead to scores
/// that aren't finite; `limit` if 20 bytes a vertex don't fit into the budget; `cancelled`; errors
/// of reading.
pub fn eigenvector<T: Topology>(
    topology: &T,
    parameters: &EigenvectorParameters,
    control: &Control<'_>,
) -> Result<Eigenvector> {
    iterate(topology, parameters, topology.bound() >= ROUNDING_BOUND_MIN, control)
}

/// As [`eigenvector`]; the first rounds sum over rounded scores if `may_round`.
fn iterate<T: Topology>(
    topology: &T,
    parameters: &EigenvectorParameters,
    may_round: bool,
    control: &Control<'_>,
) -> Result<Eigenvector> {
    parameters.check()?;
    control.check()?;
    let (bound, vertices) = (topology.bound(), topology.vertices());
    let _state = control.reserve("eigenvector scores", bound, 2 * size_of::<f64>() + size_of::<f32>())?;
    control.report(PHASE, 0.0);
    let count = vertices.len() as f64;
    let mut found =
        Eigenvector { scores: vec![0.0; bound as usize], iterations: 0, change: 0.0, converged: false };
    vertices.iter().for_each(|vertex| found.scores[vertex as usize] = 1.0 / count);
    let parts = Parts::of(topology);
    let mut lists = RoundLists::new(topology, parameters.direction.reversed(), true);
    let mut next = vec![0.0; bound as usize];
    // The scores, rounded; empty if they don't change much any more, and on a small graph.
    let mut rounded = vec![0.0; if may_round { bound as usize } else { 0 }];
    let mut norm_before = 1.0 / count.sqrt();
    let change_min =
        (DOUBLE_PRECISION_FACTOR * count * parameters.tolerance).max(ROUNDED_CHANGE_MIN * count.sqrt());
    while found.iterations < parameters.iterations && !found.converged && !vertices.is_empty() {
        let visits = lists.after(found.iterations, parameters.iterations, control)?;
        found.iterations += 1;
        let reads_rounded =
            !rounded.is_empty() && found.iterations > 1 && found.iterations < parameters.iterations;
        let pull = Pull { visits, parts: &parts, control };
        let norm = if found.iterations == 1 && vertices.is_full() {
            // All neighbours have the same score, and none is out of scope: they needn't be looked at.
            pull.run(&found.scores, &mut next, |piece| weight_of(piece) / count)?
        } else if reads_rounded {
            round(&parts, &found.scores, &mut rounded, control)?;
            pull.run(&found.scores, &mut next, |piece| weighted_scores(&rounded, piece))?
        } else {
            pull.run(&found.scores, &mut next, |piece| weighted_scores(&found.scores, piece))?
        };
        if !norm.is_finite() {
            let round = found.iterations;
            return Err(Error::invalid(format!(
                "the scores of round {round} aren't finite: is there a weight that isn't, or a huge one?"
            )));
        }
        found.change = scale(&parts, norm, &mut found.scores, &next, control)?;
        // Negative weights may leave nothing but rounding errors of a score: with others a norm never falls.
        if found.change <= change_min || norm < norm_before {
            rounded = Vec::new();
        }
        norm_before = 1.0;
        found.converged = !reads_rounded && found.change < count * parameters.tolerance;
        control.report(PHASE, f64::from(found.iterations) / f64::from(parameters.iterations));
    }
    control.report(PHASE, 1.0);
    Ok(found)
}

const PHASE: &str = "eigenvector";

/// Scores that change by no more than so many times what the tolerance allows are not rounded.
const DOUBLE_PRECISION_FACTOR: f64 = 8.0;

/// Nor are scores of n vertices whose change is below this times the root of n: scores whose squares sum to 1 sum to at
/// most the root of n, and rounding changes each by at most 6e-8 of itself.
const ROUNDED_CHANGE_MIN: f64 = 1e-5;

/// What every round reads.
struct Pull<'a, T> {
    /// From a vertex to those that it sums over.
    visits: RoundVisits<'a, T>,
    parts: &'a Parts,
    control: &'a Control<'a>,
}

impl<T: Topology> Pull<'_, T> {
    /// Makes `next` from `scores` and what `sum` says of each piece, not normalised; returns its norm.
    fn run<F>(&self, scores: &[f64], next: &mut [f64], sum: F) -> Result<f64>
    where
        F: Fn(Piece<'_>) -> f64 + Sync,
    {
        let RoundVisits { topology, directions } = &self.visits;
        let squares = self.parts.map(self.control, self.parts.split(next), |range, next, buffer| {
            next.copy_from_slice(&scores[range.start as usize..range.end as usize]);
            for direction in *directions {
                topology.visit_pieces(*direction, range.clone(), buffer, |vertex, piece, _| {
                    next[(vertex - range.start) as usize] += sum(piece);
                })?;
            }
            Ok(next.iter().map(|score| score * score).sum::<f64>())
        })?;
        Ok(squares.into_iter().sum::<f64>().sqrt())
    }
}

/// The weights of a piece, summed; 1 for each edge without.
#[inline]
fn weight_of(piece: Piece<'_>) -> f64 {
    if piece.weights.is_empty() { piece.neighbors.len() as f64 } else { piece.weights.iter().sum() }
}

/// The `values` of the neighbours of a piece, each times its weight if it has one, summed.
#[inline]
fn weighted_scores<V: Copy + Into<f64>>(values: &[V], piece: Piece<'_>) -> f64 {
    if piece.weights.is_empty() {
        sum_of(values, piece.neighbors)
    } else {
        weighted_sum_of(values, piece.neighbors, piece.weights)
    }
}

/// Rounds `scores` into `rounded`.
fn round(parts: &Parts, scores: &[f64], rounded: &mut [f32], control: &Control<'_>) -> Result<()> {
    parts.map(control, parts.split(rounded), |range, rounded, _| {
        for (rounded, score) in rounded.iter_mut().zip(&scores[range.start as usize..range.end as usize]) {
            *rounded = *score as f32;
        }
        Ok(())
    })?;
    Ok(())
}

/// Makes `scores` from `next` by dividing it by `norm`; returns how much they changed, summed.
fn scale(parts: &Parts, norm: f64, scores: &mut [f64], next: &[f64], control: &Control<'_>) -> Result<f64> {
    // All is zero if weights cancel each other out.
    let norm = if norm == 0.0 { 1.0 } else { norm };
    let changes = parts.map(control, parts.split(scores), |range, scores, _| {
        let mut change = 0.0;
        for (score, next) in scores.iter_mut().zip(&next[range.start as usize..range.end as usize]) {
            let new = next / norm;
            change += (new - *score).abs();
            *score = new;
        }
        Ok(change)
    })?;
    Ok(changes.into_iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{
        Graph, any_direction, any_graph, assert_stops, karate, large_graph, same_for_any_threads,
    };
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::KeyId;
    use proptest::prelude::*;

    /// The definition, edge by edge.
    fn power_iteration(graph: &Graph, parameters: &EigenvectorParameters, weighted: bool) -> Eigenvector {
        let n = graph.vertices.len() as f64;
        let mut scores = vec![0.0; graph.vertices.bound() as usize];
        graph.vertices.iter().for_each(|vertex| scores[vertex as usize] = 1.0 / n);
        let mut found = Eigenvector { scores, iterations: 0, change: 0.0, converged: false };
        for _ in 0..parameters.iterations {
            let mut next = found.scores.clone();
            for (source, target, weight) in graph.arcs(parameters.direction) {
                next[target as usize] += found.scores[source as usize] * if weighted { weight } else { 1.0 };
            }
            let norm = next.iter().map(|score| score * score).sum::<f64>().sqrt();
            next.iter_mut().for_each(|score| *score /= norm);
            found.change = next.iter().zip(&found.scores).map(|(new, old)| (new - old).abs()).sum();
            found.scores = next;
            found.iterations += 1;
            if found.change < n * parameters.tolerance {
                found.converged = true;
                break;
            }
        }
        found
    }

    fn assert_close(found: &[f64], want: &[f64], tolerance: f64) {
        assert_eq!(found.len(), want.len());
        for (vertex, (found, want)) in found.iter().zip(want).enumerate() {
            assert!((found - want).abs() <= tolerance, "vertex {vertex}: {found}, not {want}");
        }
    }

    proptest! {
        #[test]
        fn scores_are_those_of_a_power_iteration(
            graph in any_graph(), direction in any_direction(), iterations in 0_u32..12, weighted: bool,
        ) {
            prop_assume!(!graph.vertices.is_empty());
            let parameters = EigenvectorParameters { iterations, tolerance: 1e-4, direction };
            let want = power_iteration(&graph, &parameters, weighted);
            let control = Control::default();
            let found = if weighted {
                let pieced = eigenvector(&graph.pieced(Direction::Both), &parameters, &control).unwrap();
                let plain = eigenvector(&graph.csr(Direction::Both), &parameters, &control).unwrap();
                assert_close(&pieced.scores, &plain.scores, 1e-12);
                plain
            } else {
                eigenvector(&graph.unweighted(direction.reversed()), &parameters, &control).unwrap()
            };
            assert_close(&found.scores, &want.scores, 1e-12);
            prop_assert_eq!((found.iterations, found.converged), (want.iterations, want.converged));
        }
    }

    #[test]
    fn the_karate_club_has_the_scores_of_networkx() {
        let parameters = EigenvectorParameters { direction: Direction::Both, ..Default::default() };
        let found =
            eigenvector(&karate().unweighted(Direction::Both), &parameters, &Control::default()).unwrap();
        assert!(found.converged);
        for (vertex, want) in KARATE {
            let score = found.score(VertexId(vertex)).unwrap();
            assert!((score - want).abs() < 1e-6, "{vertex}: {score}");
        }
    }

    /// `networkx.eigenvector_centrality(networkx.karate_club_graph(), weight=None)`.
    const KARATE: [(u32, f64); 5] = [
        (0, 0.355_483_494_185_194_2),
        (2, 0.317_189_389_684_455),
        (11, 0.052_854_169_453_366_48),
        (16, 0.023_634_794_260_596_87),
        (33, 0.373_371_213_013_235_05),
    ];

    #[test]
    fn a_bipartite_graph_converges_and_a_star_has_its_eigenvector() {
        let star = Graph::new(5, &[(0, 1), (0, 2), (0, 3), (0, 4)]).unweighted(Direction::Both);
        let parameters =
            EigenvectorParameters { direction: Direction::Both, tolerance: 1e-13, ..Default::default() };
        let found = eigenvector(&star, &parameters, &Control::default()).unwrap();
        assert!(found.converged);
        let leaf = 1.0 / 8_f64.sqrt();
        assert_close(&found.scores, &[0.5_f64.sqrt(), leaf, leaf, leaf, leaf], 1e-10);
    }

    #[test]
    fn it_says_that_the_rounds_did_not_suffice() {
        let csr = large_graph().csr(Direction::Both);
        let parameters = EigenvectorParameters { iterations: 2, tolerance: 0.0, ..Default::default() };
        let found = eigenvector(&csr, &parameters, &Control::default()).unwrap();
        assert!(!found.converged && found.iterations == 2 && found.change > 0.0);
        assert!((found.scores.iter().map(|score| score * score).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn graphs_without_vertices_or_edges_have_scores() {
        let run = |graph: Graph| {
            eigenvector(&graph.csr(Direction::In), &EigenvectorParameters::default(), &Control::default())
                .unwrap()
        };
        assert!(run(Graph::new(0, &[])).scores.is_empty());
        assert_eq!(run(Graph::new(2, &[]).without(&[0, 1])).scores, [0.0, 0.0]);
        assert_close(&run(Graph::new(5, &[(0, 4)]).without(&[4])).scores, &[0.5, 0.5, 0.5, 0.5, 0.0], 1e-12);
    }

    #[test]
    fn weights_that_are_not_finite_and_bad_tolerances_are_refused() {
        let refused = |graph: &Graph, tolerance| {
            let parameters = EigenvectorParameters { tolerance, ..Default::default() };
            let error = eigenvector(&graph.csr(Direction::In), &parameters, &Control::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        };
        let mut graph = Graph::new(2, &[(0, 1)]);
        for tolerance in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(&graph, tolerance).starts_with("tolerance is"));
        }
        for weight in [f64::NAN, f64::INFINITY] {
            graph.weights[0] = weight;
            assert!(refused(&graph, 0.1).starts_with("the scores of round 1 aren't finite"));
        }
    }

    /// A matching whose edges take from each vertex what it has: rounding errors must not stand for scores.
    #[test]
    fn scores_that_negative_weights_cancel_are_zero_though_others_are_rounded() {
        let mut graph = Graph::new(6, &[(0, 1), (2, 3), (4, 5)]);
        graph.weights = vec![-1.0; 3];
        let csr = graph.csr(Direction::Both);
        let parameters = EigenvectorParameters { direction: Direction::Both, ..Default::default() };
        let run = |may_round| iterate(&csr, &parameters, may_round, &Control::default()).unwrap();
        let (rounded, double) = (run(true), run(false));
        assert_eq!(double.scores, [0.0; 6]);
        assert_eq!(rounded.scores, double.scores);
    }

    #[test]
    fn rounds_in_single_precision_lead_to_the_same_scores() {
        let graph = large_graph();
        for (csr, direction) in
            [(graph.csr(Direction::Both), Direction::Both), (graph.unweighted(Direction::In), Direction::Out)]
        {
            // The second tolerance is below what rounding leaves: the end must be in double precision.
            for tolerance in [1e-6, 1e-14] {
                let parameters = EigenvectorParameters { iterations: 500, tolerance, direction };
                let run = |may_round| iterate(&csr, &parameters, may_round, &Control::default()).unwrap();
                let (rounded, double) = (run(true), run(false));
                assert!(rounded.converged && double.converged, "{direction:?} {tolerance:e}");
                // A round that reads rounded scores never ends it.
                let more = rounded.iterations - double.iterations;
                assert!(more <= 1, "{more} rounds more, {direction:?} {tolerance:e}");
                assert_close(&rounded.scores, &double.scores, tolerance.max(1e-9));
                assert_ne!(rounded.scores, double.scores, "the first rounds were rounded");
            }
        }
    }

    #[test]
    fn scores_are_bit_for_bit_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Both);
        let parameters = EigenvectorParameters::default();
        same_for_any_threads(|| eigenvector(&csr, &parameters, &Control::default()).unwrap());
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| eigenvector(&csr, &EigenvectorParameters::default(), control));
    }

    #[test]
    fn a_view_is_frozen_against_the_direction_and_its_budget_is_asked() {
        let (graph, scope) = (Graph::new(3, &[(0, 1), (1, 2)]), Scope::default());
        let parameters = EigenvectorParameters::default();
        let view = FrozenOnly::new(graph.clone(), 3 * 20);
        run(&view, &scope, None, &parameters, &Control::default()).unwrap();
        assert_eq!(view.asked(), scope.projection(Direction::In, None, None));
        let weight = Weight { key: KeyId(3), missing: Some(1.0) };
        let view = FrozenOnly::new(graph.clone(), 3 * 20);
        run(&view, &scope, Some(&weight), &parameters, &Control::default()).unwrap();
        assert_eq!(view.asked(), scope.projection(Direction::In, Some(weight), None));
        let poor = FrozenOnly::new(graph, 3 * 20 - 1);
        let error = run(&poor, &scope, None, &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
