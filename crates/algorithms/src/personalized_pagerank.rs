//! Personalised PageRank: how much of a random walk's time each vertex gets if the walk begins again at
//! some sources: who is near to them, by many ways and short ones.
//!
//! Definition, with k sources, damping d and the edges in the chosen direction:
//!
//! ```text
//! score'(v) = restart(v) * ( (1 - d) + d * sum over u without edges of score(u) )
//!           + d * sum over edges u -> v of score(u) / degree(u)         restart(v) = 1/k at a source, else 0
//! ```
//!
//! from the restarts themselves, so that the scores sum to 1 in every round. A walk that comes to a vertex
//! without edges begins again at the sources. Who can't be reached from them has the score 0. If all
//! vertices are sources, it is PageRank.
//!
//! A parallel edge counts as often as it is there. In direction `Both` each edge is walked both ways, a
//! self loop counts twice on either side of the fraction.
//!
//! Each round leaves at most d times the error of the one before: 100 rounds with damping 0.85 are within
//! 1e-6 of the answer, all vertices together.
//!
//! Cost, memory and precision are PageRank's.
//!
//! Source: Page, Brin et al. 1999, section 6; as restarts from chosen pages Haveliwala: Topic-sensitive
//! PageRank (WWW 2002). Vertices without edges as in igraph. `random_walk` has the rounds.

use crate::control::Control;
use crate::pagerank::PageRank;
use crate::random_walk::{self, Walk};
use crate::restarts::Restarts;
use crate::scope::Scope;
use crate::sources::Sources;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::Topology;
use evergraph_graph::view::Freeze;

/// What may be chosen about personalised PageRank.
#[derive(Clone, PartialEq, Debug)]
pub struct PersonalizedPageRankParameters {
    /// The probability of following an edge rather than beginning again: from 0 to 1.
    pub damping: f64,
    /// Rounds; with a tolerance, at most.
    pub iterations: u32,
    /// Stop after a round in which the scores of all vertices together changed by less than this (L1
    /// norm). PageRank's is for each vertex: here most of them may have next to nothing.
    pub tolerance: Option<f64>,
    /// Along which edges the walk goes: `Out` from source to target, `In` against them, `Both` ways.
    pub direction: Direction,
}

impl Default for PersonalizedPageRankParameters {
    /// Damping 0.85, at most 100 rounds, tolerance 1e-6, from source to target.
    fn default() -> Self {
        Self { damping: 0.85, iterations: 100, tolerance: Some(1e-6), direction: Direction::Out }
    }
}

/// Personalised PageRank on the part of `view` in `scope`: freezes both sides, the lists of one to sum
/// over, and the degrees of the other. Memory comes from the budget of `view`.
///
/// # Errors
/// Those of [`personalized_pagerank`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    sources: &[VertexId],
    parameters: &PersonalizedPageRankParameters,
    control: &Control<'_>,
) -> Result<PageRank> {
    Walk::check(parameters.damping, parameters.tolerance)?;
    Sources::These(sources.to_vec()).check()?;
    let topology = scope.freeze(view, Direction::Both, None, control)?;
    personalized_pagerank(&topology, sources, parameters, &control.on_budget(view.budget()))
}

/// Personalised PageRank on `topology`, which must hold both sides: the walk begins again at `sources`,
/// with equal chances. A source named twice counts once.
///
/// # Errors
/// `not_found` for a source that isn't in scope; `invalid` for a parameter out of range, no source, or a
/// side that wasn't frozen; `limit` if 32 bytes a vertex don't fit into the budget; `cancelled`; errors
/// of reading.
pub fn personalized_pagerank<T: Topology>(
    topology: &T,
    sources: &[VertexId],
    parameters: &PersonalizedPageRankParameters,
    control: &Control<'_>,
) -> Result<PageRank> {
    Walk::check(parameters.damping, parameters.tolerance)?;
    let sources = Sources::These(sources.to_vec());
    sources.check()?;
    control.check()?;
    let sources = sources.choose(topology.vertices())?;
    let bytes = random_walk::BYTES;
    let _state =
        control.reserve("personalised pagerank scores and contributions", topology.bound(), bytes)?;
    let walk = Walk {
        damping: parameters.damping,
        iterations: parameters.iterations,
        change_max: parameters.tolerance,
        direction: parameters.direction,
        phase: "personalized pagerank",
    };
    let restart = 1.0 / sources.len() as f64;
    let first = |vertex| if sources.binary_search(&vertex).is_ok() { restart } else { 0.0 };
    Ok(walk.run(topology, &Restarts::at(&sources), first, 1.0, control)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_direction, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::pagerank::{PageRankParameters, pagerank};
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::LabelId;
    use proptest::prelude::*;

    /// Rounds until nothing changes.
    fn exact(damping: f64, direction: Direction) -> PersonalizedPageRankParameters {
        PersonalizedPageRankParameters { damping, iterations: 10_000, tolerance: Some(1e-13), direction }
    }

    fn ids(sources: &[u32]) -> Vec<VertexId> {
        sources.iter().copied().map(VertexId).collect()
    }

    /// The scores on a CSR, which those on a topology in pieces must be close to.
    fn scores(graph: &Graph, sources: &[u32], parameters: &PersonalizedPageRankParameters) -> Vec<f64> {
        let (sources, control) = (ids(sources), Control::default());
        let csr = graph.csr(Direction::Both);
        let plain = personalized_pagerank(&csr, &sources, parameters, &control).unwrap();
        let pieced = graph.pieced(Direction::Both);
        let pieced = personalized_pagerank(&pieced, &sources, parameters, &control).unwrap();
        assert_close(&pieced.scores, &plain.scores, 1e-12);
        plain.scores
    }

    fn assert_close(found: &[f64], want: &[f64], error_max: f64) {
        assert_eq!(found.len(), want.len());
        for (vertex, (found, want)) in found.iter().zip(want).enumerate() {
            assert!((found - want).abs() <= error_max, "vertex {vertex}: {found}, not {want}");
        }
    }

    /// The scores that one more round leaves as they are, by the definition: the solution of
    /// `x = (1 - d) r + d P x` with a dense matrix, by Gauss and Jordan.
    fn solved(graph: &Graph, sources: &[u32], parameters: &PersonalizedPageRankParameters) -> Vec<f64> {
        let bound = graph.vertices.bound() as usize;
        let restart =
            |vertex: usize| f64::from(u8::from(sources.contains(&(vertex as u32)))) / sources.len() as f64;
        let mut walked = vec![vec![0.0; bound]; bound];
        for (source, target, _) in graph.arcs(parameters.direction) {
            walked[target as usize][source as usize] += 1.0;
        }
        for source in 0..bound {
            let degree: f64 = walked.iter().map(|row| row[source]).sum();
            for (target, row) in walked.iter_mut().enumerate() {
                row[source] = if degree == 0.0 { restart(target) } else { row[source] / degree };
            }
        }
        let mut rows: Vec<Vec<f64>> = (0..bound)
            .map(|target| {
                let unit = |source| f64::from(u8::from(source == target));
                let left =
                    (0..bound).map(|source| unit(source) - parameters.damping * walked[target][source]);
                left.chain([(1.0 - parameters.damping) * restart(target)]).collect()
            })
            .collect();
        for pivot in 0..bound {
            let largest = (pivot..bound)
                .max_by(|one, other| rows[*one][pivot].abs().total_cmp(&rows[*other][pivot].abs()));
            rows.swap(pivot, largest.unwrap());
            let row = rows[pivot].clone();
            for (_, other) in rows.iter_mut().enumerate().filter(|(at, _)| *at != pivot) {
                let factor = other[pivot] / row[pivot];
                other.iter_mut().zip(&row).skip(pivot).for_each(|(entry, pivot)| *entry -= factor * pivot);
            }
        }
        (0..bound).map(|at| rows[at][bound] / rows[at][at]).collect()
    }

    /// Those of `wanted` in scope, at least one.
    fn chosen(graph: &Graph, wanted: &[prop::sample::Index]) -> Option<Vec<u32>> {
        let vertices: Vec<u32> = graph.vertices.iter().collect();
        (!vertices.is_empty()).then(|| wanted.iter().map(|index| *index.get(&vertices)).collect())
    }

    proptest! {
        #[test]
        fn scores_are_those_of_a_dense_solution_and_sum_to_one(
            graph in any_graph(), direction in any_direction(), damping in 0.0..0.95,
            wanted in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        ) {
            let Some(sources) = chosen(&graph, &wanted) else { return Ok(()) };
            let parameters = exact(damping, direction);
            let found = scores(&graph, &sources, &parameters);
            let mut once = sources;
            once.sort_unstable();
            once.dedup();
            assert_close(&found, &solved(&graph, &once, &parameters), 1e-11);
            prop_assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }

        #[test]
        fn it_is_pagerank_if_all_vertices_are_sources(
            graph in any_graph(), direction in any_direction(), iterations in 0_u32..12, damping in 0.0..=1.0,
        ) {
            let sources: Vec<u32> = graph.vertices.iter().collect();
            if sources.is_empty() {
                return Ok(());
            }
            let parameters =
                PersonalizedPageRankParameters { damping, iterations, tolerance: None, direction };
            let found = scores(&graph, &sources, &parameters);
            let parameters = PageRankParameters { damping, iterations, direction, ..Default::default() };
            let want = pagerank(&graph.csr(Direction::Both), &parameters, &Control::default()).unwrap().scores;
            assert_close(&found, &want, 1e-15);
            if sources.len() as u32 == graph.vertices.bound() {
                prop_assert_eq!(found, want);
            }
        }
    }

    #[test]
    fn a_walk_stays_where_it_can_get_to_and_comes_back_from_dead_ends() {
        // 0 -> 1 -> 2, which is a dead end; 3 and 4 can't be reached.
        let graph = Graph::new(5, &[(0, 1), (1, 2), (3, 0), (3, 4)]);
        let d = 0.5_f64;
        // Each round trip is 0, 1, 2 with chances 1, d, d^2; what leaves 2 is at 0 again.
        let sum = 1.0 + d + d * d;
        let found = scores(&graph, &[0], &exact(d, Direction::Out));
        assert_close(&found, &[1.0 / sum, d / sum, d * d / sum, 0.0, 0.0], 1e-12);
        let alone = scores(&graph, &[2], &exact(d, Direction::Out));
        assert_eq!(alone, [0.0, 0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn damping_zero_is_the_sources_alone() {
        let graph = Graph::new(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]).without(&[1]);
        assert_eq!(scores(&graph, &[3, 0, 3], &exact(0.0, Direction::Out)), [0.5, 0.0, 0.0, 0.5]);
    }

    #[test]
    fn a_tolerance_is_for_all_vertices_together() {
        let csr = large_graph().csr(Direction::Both);
        let run = |iterations, tolerance| {
            let parameters = PersonalizedPageRankParameters { iterations, tolerance, ..Default::default() };
            personalized_pagerank(&csr, &ids(&[17]), &parameters, &Control::default()).unwrap()
        };
        let converged = run(1000, Some(1e-9));
        assert!(converged.converged && converged.iterations < 1000 && converged.change < 1e-9);
        let before = run(converged.iterations - 1, None);
        assert!(before.change >= 1e-9 && !before.converged);
        let default = run(100, Some(1e-6));
        let apart: f64 =
            default.scores.iter().zip(&converged.scores).map(|(one, other)| (one - other).abs()).sum();
        assert!(apart < 1e-5, "{apart}");
    }

    #[test]
    fn scores_are_bit_for_bit_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Both);
        let (sources, parameters) = (ids(&[39_500, 1, 2, 3, 17]), PersonalizedPageRankParameters::default());
        same_for_any_threads(|| {
            personalized_pagerank(&csr, &sources, &parameters, &Control::default()).unwrap()
        });
    }

    #[test]
    fn bad_parameters_and_sources_are_refused() {
        let refused = |sources: &[u32], parameters: PersonalizedPageRankParameters| {
            let csr = Graph::new(3, &[(0, 1)]).without(&[2]).csr(Direction::Both);
            let error =
                personalized_pagerank(&csr, &ids(sources), &parameters, &Control::default()).unwrap_err();
            (error.kind(), error.to_string())
        };
        let default = PersonalizedPageRankParameters::default;
        for damping in [-0.1, 1.1, f64::NAN] {
            let (kind, text) = refused(&[0], PersonalizedPageRankParameters { damping, ..default() });
            assert!(kind == ErrorKind::Invalid && text.ends_with("but must be from 0 to 1"), "{text}");
        }
        for tolerance in [-1.0, f64::NAN, f64::INFINITY].map(Some) {
            let (kind, text) = refused(&[0], PersonalizedPageRankParameters { tolerance, ..default() });
            assert!(kind == ErrorKind::Invalid && text.starts_with("tolerance is"), "{text}");
        }
        assert_eq!(refused(&[], default()).0, ErrorKind::Invalid);
        for missing in [2, 7] {
            let (kind, text) = refused(&[0, missing], default());
            assert!(kind == ErrorKind::NotFound && text.contains(&missing.to_string()), "{text}");
        }
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        let parameters = PersonalizedPageRankParameters::default();
        assert_stops(|control| personalized_pagerank(&csr, &ids(&[1]), &parameters, control));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let graph = Graph::new(3, &[(0, 1), (1, 2)]);
        let scope = Scope { labels: Some(vec![LabelId(4)]), ..Scope::default() };
        let (parameters, sources) = (PersonalizedPageRankParameters::default(), ids(&[1]));
        let view = FrozenOnly::new(graph.clone(), 3 * 32);
        let ranks = run(&view, &scope, &sources, &parameters, &Control::default()).unwrap();
        assert_eq!(ranks.scores, scores(&graph, &[1], &parameters));
        assert_eq!(view.asked(), scope.projection(Direction::Both, None, None));
        let poor = FrozenOnly::new(graph, 3 * 32 - 1);
        let error = run(&poor, &scope, &sources, &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
