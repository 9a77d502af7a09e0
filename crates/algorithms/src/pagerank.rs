//! PageRank: how much of a random walk's time each vertex gets, by pull.
//!
//! Definition, with n vertices in scope, damping d and the edges in the chosen direction:
//!
//! ```text
//! score'(v) = (1 - d) / n  +  d * ( sum over edges u -> v of score(u) / degree(u)
//!                                 + sum over u without edges of score(u) / n )
//! ```
//!
//! from 1/n each, so that the scores sum to 1 in every round. Whoever begins with other scores, whose sum is s,
//! has (1 - d) s / n in place of (1 - d) / n, and scores that sum to s. A parallel edge counts as often as it
//! is there. On undirected graphs (direction `Both`) each edge is walked both ways, a self loop
//! counts twice on either side of the fraction.
//!
//! Cost: a round reads every edge once, at random in 8 bytes a vertex, or in 4 on large graphs. Memory: 32 bytes a
//! vertex. The scores are the same for any number of threads; they may differ in the last bits between
//! topologies that hold the same lists in other pieces, since the sums then run in another order. From 131,072
//! vertex ids on contributions are rounded (`contributions` says how): scores are then estimated to differ from those in
//! double precision by at most 3e-9 of their sum, and never by more than 1e-8; measured 1e-12 on R-MAT, 7e-11 on a grid.
//!
//! Source: Page, Brin et al. 1999; dangling vertices as LDBC Graphalytics 1.0 (section 2.3.2) has
//! them. `random_walk` has the rounds.

use crate::control::Control;
use crate::random_walk::{self, Walk, WalkScores};
use crate::restarts::Restarts;
use crate::scope::Scope;
use crate::vertex_numbers;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;
use evergraph_graph::view::Freeze;

/// What may be chosen about PageRank.
#[derive(Clone, PartialEq, Debug)]
pub struct PageRankParameters {
    /// The probability of following an edge rather than jumping anywhere: from 0 to 1.
    pub damping: f64,
    /// Rounds; with a tolerance, at most.
    pub iterations: u32,
    /// Stop after a round in which the scores changed by less than this a vertex on average
    /// (L1 norm below `n * tolerance`, as in NetworkX).
    pub tolerance: Option<f64>,
    /// Along which edges rank flows: `Out` from source to target, `In` against them, `Both` ways.
    pub direction: Direction,
    /// The first score of each vertex id below the topology's bound, not negative; `None` for 1/n each. Those out
    /// of scope are not looked at.
    pub start: Option<Vec<f64>>,
}

impl Default for PageRankParameters {
    /// Damping 0.85, 20 rounds, from source to target, all vertices alike to begin with.
    fn default() -> Self {
        Self { damping: 0.85, iterations: 20, tolerance: None, direction: Direction::Out, start: None }
    }
}

impl PageRankParameters {
    fn check(&self) -> Result<()> {
        Walk::check(self.damping, self.tolerance)
    }
}

/// The scores, and how they were reached.
#[derive(Clone, PartialEq, Debug)]
pub struct PageRank {
    /// A score for each vertex id below the topology's bound; they sum to what they began with, 1 if nothing is said.
    /// Zero out of scope.
    pub scores: Vec<f64>,
    /// Rounds that were run.
    pub iterations: u32,
    /// How much the last round changed the scores, summed (L1). Zero before the first.
    pub change: f64,
    /// Whether the tolerance was reached; false if none was given.
    pub converged: bool,
}

/// PageRank on the part of `view` in `scope`: freezes both sides, the lists of one to sum over, and
/// the degrees of the other. Memory comes from the budget of `view`.
///
/// # Errors
/// Those of [`pagerank`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    parameters: &PageRankParameters,
    control: &Control<'_>,
) -> Result<PageRank> {
    parameters.check()?;
    let topology = scope.freeze(view, Direction::Both, None, control)?;
    pagerank(&topology, parameters, &control.on_budget(view.budget()))
}

/// PageRank on `topology`, which must hold both sides.
///
/// # Errors
/// `invalid` for a parameter out of range, first scores that aren't one for each id, or a side that wasn't
/// frozen; `limit` if 32 bytes a vertex don't fit into the budget; `cancelled`; errors of reading.
pub fn pagerank<T: Topology>(
    topology: &T,
    parameters: &PageRankParameters,
    control: &Control<'_>,
) -> Result<PageRank> {
    parameters.check()?;
    control.check()?;
    let count = topology.vertices().len();
    let _state =
        control.reserve("pagerank scores and contributions", topology.bound(), random_walk::BYTES)?;
    if count == 0 {
        let scores = vec![0.0; topology.bound() as usize];
        return Ok(PageRank { scores, iterations: 0, change: 0.0, converged: false });
    }
    let walk = Walk {
        damping: parameters.damping,
        iterations: parameters.iterations,
        change_max: parameters.tolerance.map(|tolerance| count as f64 * tolerance),
        direction: parameters.direction,
        phase: "pagerank",
    };
    let restarts = Restarts::anywhere(topology);
    let walked = match &parameters.start {
        None => walk.run(topology, &restarts, |_| 1.0 / count as f64, 1.0, control)?,
        Some(start) => {
            vertex_numbers::check(start, "first score", topology)?;
            let first = |vertex: u32| start[vertex as usize];
            let total = topology.vertices().iter().map(first).sum();
            walk.run(topology, &restarts, first, total, control)?
        }
    };
    Ok(walked.into())
}

impl From<WalkScores> for PageRank {
    fn from(walked: WalkScores) -> Self {
        let WalkScores { scores, iterations, change, converged } = walked;
        Self { scores, iterations, change, converged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_direction, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::LabelId;
    use proptest::prelude::*;

    /// The definition, over a dense matrix of transition probabilities.
    fn power_iteration(graph: &Graph, parameters: &PageRankParameters) -> Vec<f64> {
        let bound = graph.vertices.bound() as usize;
        let n = graph.vertices.len() as f64;
        let mut matrix = vec![vec![0.0; bound]; bound];
        for (source, target, _) in graph.arcs(parameters.direction) {
            matrix[source as usize][target as usize] += 1.0;
        }
        for source in graph.vertices.iter() {
            let row = &mut matrix[source as usize];
            let degree: f64 = row.iter().sum();
            for target in graph.vertices.iter() {
                let entry = &mut row[target as usize];
                *entry = if degree == 0.0 { 1.0 / n } else { *entry / degree };
            }
        }
        let mut scores = vec![0.0; bound];
        let first = |vertex: u32| parameters.start.as_ref().map_or(1.0 / n, |start| start[vertex as usize]);
        graph.vertices.iter().for_each(|vertex| scores[vertex as usize] = first(vertex));
        let total: f64 = scores.iter().sum();
        for _ in 0..parameters.iterations {
            let walked =
                |target: usize| (0..bound).map(|source| scores[source] * matrix[source][target]).sum::<f64>();
            let mut next = vec![0.0; bound];
            for vertex in graph.vertices.iter() {
                next[vertex as usize] =
                    (1.0 - parameters.damping) * total / n + parameters.damping * walked(vertex as usize);
            }
            scores = next;
        }
        scores
    }

    fn assert_close(found: &[f64], want: &[f64]) {
        assert_eq!(found.len(), want.len());
        for (vertex, (found, want)) in found.iter().zip(want).enumerate() {
            assert!((found - want).abs() <= 1e-12 * want.abs(), "vertex {vertex}: {found}, not {want}");
        }
    }

    /// The scores on a CSR, which those on a topology in pieces must be close to.
    fn scores(graph: &Graph, parameters: &PageRankParameters) -> Vec<f64> {
        let control = Control::default();
        let plain = pagerank(&graph.csr(Direction::Both), parameters, &control).unwrap();
        let pieced = pagerank(&graph.pieced(Direction::Both), parameters, &control).unwrap();
        assert_close(&pieced.scores, &plain.scores);
        plain.scores
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn scores_are_those_of_a_power_iteration(
            graph in any_graph(), direction in any_direction(), iterations in 0_u32..12, damping in 0.0..=1.0,
            salt in 1_u32..,
        ) {
            let parameters = PageRankParameters { damping, iterations, direction, ..Default::default() };
            assert_close(&scores(&graph, &parameters), &power_iteration(&graph, &parameters));
            let first = (0..graph.vertices.bound()).map(|id| f64::from(id.wrapping_mul(salt) >> 29));
            let parameters = PageRankParameters { start: Some(first.collect()), ..parameters };
            assert_close(&scores(&graph, &parameters), &power_iteration(&graph, &parameters));
        }
    }

    #[test]
    fn scores_sum_to_one_whatever_is_dangling() {
        let graph = large_graph();
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            let parameters = PageRankParameters { direction, ..Default::default() };
            let sum: f64 = scores(&graph, &parameters).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        }
    }

    #[test]
    fn scores_are_bit_for_bit_the_same_for_any_number_of_threads() {
        let (csr, parameters) = (large_graph().csr(Direction::Both), PageRankParameters::default());
        same_for_any_threads(|| pagerank(&csr, &parameters, &Control::default()).unwrap());
    }

    #[test]
    fn graphs_of_no_and_of_one_vertex_have_scores() {
        let parameters = PageRankParameters::default();
        assert!(scores(&Graph::new(0, &[]), &parameters).is_empty());
        assert_eq!(scores(&Graph::new(3, &[]).without(&[0, 1, 2]), &parameters), [0.0; 3]);
        assert_close(&scores(&Graph::new(1, &[]), &parameters), &[1.0]);
        assert_close(&scores(&Graph::new(1, &[(0, 0)]), &parameters), &[1.0]);
    }

    #[test]
    fn vertices_out_of_scope_have_no_score_and_take_none() {
        let graph = Graph::new(6, &[(0, 1), (1, 5), (5, 0), (1, 0)]).without(&[2, 5]);
        let parameters = PageRankParameters::default();
        let found = scores(&graph, &parameters);
        assert_eq!((found[2], found[5]), (0.0, 0.0));
        assert_close(&found, &power_iteration(&graph, &parameters));
    }

    #[test]
    fn a_tolerance_ends_the_rounds_as_soon_as_the_change_is_below_it() {
        let csr = large_graph().csr(Direction::Both);
        let run = |iterations, tolerance| {
            let parameters = PageRankParameters { iterations, tolerance, ..Default::default() };
            pagerank(&csr, &parameters, &Control::default()).unwrap()
        };
        let converged = run(100, Some(1e-9));
        assert!(converged.converged && converged.iterations < 100);
        let count = csr.vertices().len() as f64;
        assert!(converged.change < count * 1e-9);
        let before = run(converged.iterations - 1, None);
        assert!(before.change >= count * 1e-9 && !before.converged);
        assert_eq!(run(converged.iterations, None).scores, converged.scores);
        let cut_short = run(2, Some(0.0));
        assert!(!cut_short.converged && cut_short.iterations == 2);
    }

    #[test]
    fn a_bad_parameter_is_named_with_its_range() {
        let check = |parameters: PageRankParameters| {
            let csr = Graph::new(1, &[]).csr(Direction::Both);
            let error = pagerank(&csr, &parameters, &Control::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        };
        let default = PageRankParameters::default;
        for damping in [-0.1, 1.1, f64::NAN] {
            assert!(check(PageRankParameters { damping, ..default() }).ends_with("but must be from 0 to 1"));
        }
        for tolerance in [-1.0, f64::NAN, f64::INFINITY].map(Some) {
            assert!(check(PageRankParameters { tolerance, ..default() }).starts_with("tolerance is"));
        }
        for score in [-1.0, f64::NAN, f64::INFINITY] {
            let error = check(PageRankParameters { start: Some(vec![score]), ..default() });
            assert!(error.starts_with("the first score of vertex 0 is"), "{error}");
        }
        let error = check(PageRankParameters { start: Some(vec![1.0; 2]), ..default() });
        assert_eq!(error, "found 2 numbers (first score) for vertex ids below 1");
    }

    #[test]
    fn it_needs_the_lists_of_one_side_and_the_degrees_of_the_other() {
        for side in [Direction::Out, Direction::In] {
            let csr = Graph::new(2, &[(0, 1)]).csr(side);
            let error = pagerank(&csr, &PageRankParameters::default(), &Control::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| pagerank(&csr, &PageRankParameters::default(), control));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let graph = Graph::new(3, &[(0, 1), (1, 2)]);
        let scope = Scope { labels: Some(vec![LabelId(4)]), ..Scope::default() };
        let parameters = PageRankParameters::default();
        let view = FrozenOnly::new(graph.clone(), 3 * 32);
        let ranks = run(&view, &scope, &parameters, &Control::default()).unwrap();
        assert_eq!(ranks.scores, scores(&graph, &parameters));
        assert_eq!(view.asked(), scope.projection(Direction::Both, None, None));
        let poor = FrozenOnly::new(graph, 3 * 32 - 1);
        let error = run(&poor, &scope, &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
