//! Closeness centrality: how short the paths between a vertex and all others are.
//!
//! ```text
//! r = others that have a way, s = sum of their distances, n = vertices
//! closeness(v) = r / s  *  r / (n - 1)          zero if nobody has a way
//! ```
//!
//! The second factor is that of Wasserman and Faust: who is near to few is not central. With fewer
//! pivots than vertices, r and s count pivots only, and n - 1 becomes the number of pivots other
//! than v: an estimate for everybody, at the cost of the pivots.
//!
//! Distances come from searches from 64 pivots at once, one bit each:
//!
//! ```text
//! seen[v]    the pivots that reached v           front[v]   those that did in the last round
//! each v in the frontier, each neighbour u:   next[u] |= front[v] & !seen[u]
//! each u that got bits:   seen[u] |= next[u];   s(u) += round * bits;   front = next
//! ```
//!
//! In graphs with hubs the searches share nearly all visits of lists. Threads take other pivots;
//! all sums are of integers, so nobody needs to wait for an order.
//!
//! Edges count without weight; parallel ones and loops change nothing.
//!
//! Cost: for each 64 pivots about as many visits of an edge as the graph has levels, at most 64.
//! Memory: 24 bytes a vertex, and 40 for each thread.
//!
//! Source: Wasserman, Faust: Social Network Analysis (1994), as in NetworkX; sampled as in Eppstein,
//! Wang: Fast approximation of centrality (2004); Then et al.: The More the Merrier: Efficient
//! Multi-Source Graph Traversal (PVLDB 8(4), 2014).

use crate::control::Control;
use crate::frontier::Ordering;
use crate::parts::share_out_with;
use crate::scope::{Scope, covers};
use crate::sources::Sources;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{PieceBuffer, Topology, Visit};
use evergraph_graph::view::Freeze;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// What may be chosen about closeness.
#[derive(Clone, PartialEq, Debug)]
pub struct ClosenessParameters {
    /// The others whose distances are taken. All give the exact answer, a sample an estimate.
    pub pivots: Sources,
    /// Along which edges ways go: `In` from the others to the vertex, `Out` from the vertex to the
    /// others, `Both` either way.
    pub direction: Direction,
}

impl Default for ClosenessParameters {
    /// Exact, by the ways to the vertex, as in NetworkX.
    fn default() -> Self {
        Self { pivots: Sources::All, direction: Direction::In }
    }
}

/// The score of each vertex.
#[derive(Clone, PartialEq, Debug)]
pub struct Closeness {
    /// A score from 0 to 1 for each vertex id below the topology's bound; zero out of scope.
    pub scores: Vec<f64>,
    /// How many pivots there were.
    pub pivots: u64,
}

impl Closeness {
    /// The score of `vertex`; `None` above the bound.
    #[must_use]
    pub fn score(&self, vertex: VertexId) -> Option<f64> {
        self.scores.get(vertex.0 as usize).copied()
    }
}

/// Closeness in the part of `view` in `scope`: freezes the side that the searches read. Memory comes
/// from the budget of `view`.
///
/// # Errors
/// Those of [`closeness`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    parameters: &ClosenessParameters,
    control: &Control<'_>,
) -> Result<Closeness> {
    parameters.pivots.check()?;
    let topology = scope.freeze(view, parameters.direction.reversed(), None, control)?;
    closeness(&topology, parameters, &control.on_budget(view.budget()))
}

/// Closeness in `topology`, which must hold the lists from the pivots on: against the direction.
///
/// # Errors
/// `not_found` for a named pivot that isn't in scope; `invalid` for a parameter out of range or a
/// side that wasn't frozen; `limit` if the state doesn't fit into the budget; `cancelled`; errors
/// of reading.
pub fn closeness<T: Topology>(
    topology: &T,
    parameters: &ClosenessParameters,
    control: &Control<'_>,
) -> Result<Closeness> {
    parameters.pivots.check()?;
    control.check()?;
    let (bound, vertices) = (topology.bound(), topology.vertices());
    let outwards = parameters.direction.reversed();
    if !covers(topology.direction(), outwards) {
        let frozen = topology.direction();
        return Err(Error::invalid(format!("searches go {outwards:?}, but only {frozen:?} was frozen")));
    }
    let pivots = parameters.pivots.choose(vertices)?;
    let threads = rayon::current_num_threads();
    let _sums = control.reserve("closeness scores and sums", bound, SUM_BYTES)?;
    let _state = control.reserve("searches from many pivots", bound, threads * SEARCH_BYTES)?;
    control.report(PHASE, 0.0);
    let sums = Sums::new(bound);
    // Few pivots are shared out evenly; a search from fewer than 64 at once finds the same.
    let width = pivots.len().div_ceil(threads).clamp(1, WIDTH);
    let mut done = 0;
    for pivots_of_round in pivots.chunks(width * threads * SEARCHES_A_ROUND) {
        let batches = pivots_of_round.chunks(width);
        share_out_with(
            control,
            batches,
            || MultiSearch::new(bound),
            |batch, search| search.run(topology, outwards, batch, &sums, control),
        )?;
        done += pivots_of_round.len();
        control.report(PHASE, done as f64 / pivots.len() as f64);
    }
    let mut scores = sums.scores(pivots.len());
    for pivot in &pivots {
        scores[*pivot as usize] = sums.score(*pivot, pivots.len() - 1);
    }
    control.report(PHASE, 1.0);
    Ok(Closeness { scores, pivots: pivots.len() as u64 })
}

const PHASE: &str = "closeness";

/// Pivots of one search: the bits of a word.
const WIDTH: usize = 64;

/// Searches of each thread between two reports of progress.
const SEARCHES_A_ROUND: usize = 4;

/// Bytes for each vertex: its score, its sum of distances, its number of pivots.
const SUM_BYTES: usize = size_of::<f64>() + size_of::<u64>() + size_of::<u32>();

/// Bytes for each vertex and thread: three words of bits, a sum, places in two frontiers.
const SEARCH_BYTES: usize = 4 * size_of::<u64>() + 2 * size_of::<u32>();

/// Sums over all pivots. Relaxed: of integers, read when all are made.
struct Sums {
    distances: Vec<AtomicU64>,
    /// Pivots with a way, other than the vertex itself.
    reached: Vec<AtomicU32>,
}

impl Sums {
    fn new(bound: u32) -> Self {
        Self {
            distances: (0..bound).map(|_| AtomicU64::new(0)).collect(),
            reached: (0..bound).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    fn scores(&self, others: usize) -> Vec<f64> {
        (0..self.reached.len() as u32).map(|vertex| self.score(vertex, others)).collect()
    }

    /// The score of a vertex, given how many other vertices are pivots.
    fn score(&self, vertex: u32, others: usize) -> f64 {
        let reached = f64::from(self.reached[vertex as usize].load(Relaxed));
        if reached == 0.0 {
            return 0.0;
        }
        let distances = self.distances[vertex as usize].load(Relaxed) as f64;
        reached / distances * (reached / others as f64)
    }
}

/// Breadth-first searches from up to 64 pivots at once.
struct MultiSearch {
    /// By vertex, one bit for each pivot.
    seen: Vec<u64>,
    front: Vec<u64>,
    next: Vec<u64>,
    /// Sums of distances of this search.
    distances: Vec<u64>,
    ordering: Ordering,
    buffer: PieceBuffer,
}

impl MultiSearch {
    fn new(bound: u32) -> Self {
        let zeros = || vec![0_u64; bound as usize];
        Self {
            seen: zeros(),
            front: zeros(),
            next: zeros(),
            distances: zeros(),
            ordering: Ordering::new(bound),
            buffer: PieceBuffer::default(),
        }
    }

    /// Searches from `pivots` and adds what is found to `sums`.
    fn run<T: Topology>(
        &mut self,
        topology: &T,
        direction: Direction,
        pivots: &[u32],
        sums: &Sums,
        control: &Control<'_>,
    ) -> Result<()> {
        self.seen.fill(0);
        self.distances.fill(0);
        for (bit, pivot) in pivots.iter().enumerate() {
            self.front[*pivot as usize] = 1 << bit;
            self.seen[*pivot as usize] = 1 << bit;
        }
        let mut frontier = pivots.to_vec();
        let mut distance = 0;
        while !frontier.is_empty() {
            distance += 1;
            let mut touched = self.spread(topology, direction, &frontier, control)?;
            self.ordering.order(&mut touched);
            frontier.iter().for_each(|vertex| self.front[*vertex as usize] = 0);
            for vertex in &touched {
                let vertex = *vertex as usize;
                let new = self.next[vertex];
                self.seen[vertex] |= new;
                self.distances[vertex] += distance * u64::from(new.count_ones());
            }
            // What was the front is all zero.
            std::mem::swap(&mut self.front, &mut self.next);
            frontier = touched;
        }
        // Nobody is a way to itself.
        for (bit, pivot) in pivots.iter().enumerate() {
            self.seen[*pivot as usize] ^= 1 << bit;
        }
        for (vertex, (seen, distance)) in self.seen.iter().zip(&self.distances).enumerate() {
            if *seen != 0 {
                sums.reached[vertex].fetch_add(seen.count_ones(), Relaxed);
                sums.distances[vertex].fetch_add(*distance, Relaxed);
            }
        }
        Ok(())
    }

    /// Hands the bits of `frontier`, ascending, to its neighbours; the vertices that got any.
    fn spread<T: Topology>(
        &mut self,
        topology: &T,
        direction: Direction,
        frontier: &[u32],
        control: &Control<'_>,
    ) -> Result<Vec<u32>> {
        let Self { seen, front, next, buffer, .. } = self;
        let mut touched = Vec::new();
        for chunk in frontier.chunks(CHUNK) {
            control.check()?;
            topology.visit_each(direction, chunk, buffer, |vertex, piece| {
                let bits = front[vertex as usize];
                for neighbor in piece.neighbors {
                    let new = bits & !seen[*neighbor as usize];
                    if new != 0 {
                        let next = &mut next[*neighbor as usize];
                        if *next == 0 {
                            touched.push(*neighbor);
                        }
                        *next |= new;
                    }
                }
                Visit::Continue
            })?;
        }
        Ok(touched)
    }
}

/// Vertices of a frontier between two looks at the cancel flag.
const CHUNK: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{
        Graph, any_direction, any_graph, assert_stops, karate, large_graph, same_for_any_threads,
    };
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;

    /// The definition, by all distances (Floyd and Warshall).
    fn by_definition(graph: &Graph, parameters: &ClosenessParameters) -> Vec<f64> {
        let bound = graph.vertices.bound() as usize;
        let mut distances = vec![vec![f64::INFINITY; bound]; bound];
        for (source, target, _) in graph.arcs(parameters.direction) {
            distances[source as usize][target as usize] = 1.0;
        }
        (0..bound).for_each(|vertex| distances[vertex][vertex] = 0.0);
        for middle in 0..bound {
            for source in 0..bound {
                for target in 0..bound {
                    let through = distances[source][middle] + distances[middle][target];
                    distances[source][target] = distances[source][target].min(through);
                }
            }
        }
        let pivots = parameters.pivots.choose(&graph.vertices).unwrap();
        let score = |vertex: u32| {
            let others = pivots.iter().filter(|pivot| **pivot != vertex);
            let ways: Vec<f64> = others
                .clone()
                .map(|pivot| distances[vertex as usize][*pivot as usize])
                .filter(|distance| distance.is_finite())
                .collect();
            let (reached, sum) = (ways.len() as f64, ways.iter().sum::<f64>());
            if reached == 0.0 { 0.0 } else { reached / sum * (reached / others.count() as f64) }
        };
        (0..bound as u32).map(score).collect()
    }

    fn scores(graph: &Graph, parameters: &ClosenessParameters) -> Vec<f64> {
        let control = Control::default();
        let found = closeness(&graph.csr(parameters.direction.reversed()), parameters, &control).unwrap();
        assert_eq!(closeness(&graph.pieced(Direction::Both), parameters, &control).unwrap(), found);
        found.scores
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn scores_are_those_of_the_definition(
            graph in any_graph(), direction in any_direction(),
            sample in prop::option::of((1_u32..100, any::<u64>())),
        ) {
            let pivots = sample.map_or(Sources::All, |(count, seed)| Sources::Sample { count, seed });
            let parameters = ClosenessParameters { pivots, direction };
            prop_assert_eq!(scores(&graph, &parameters), by_definition(&graph, &parameters));
        }
    }

    #[test]
    fn the_karate_club_has_the_scores_of_networkx() {
        let parameters = ClosenessParameters { direction: Direction::Both, ..Default::default() };
        let found = scores(&karate(), &parameters);
        for (vertex, want) in KARATE {
            assert!((found[vertex] - want).abs() < 1e-15, "{vertex}: {}", found[vertex]);
        }
    }

    /// `networkx.closeness_centrality(networkx.karate_club_graph())`.
    const KARATE: [(usize, f64); 6] = [
        (0, 0.568_965_517_241_379_3),
        (2, 0.559_322_033_898_305),
        (11, 0.366_666_666_666_666_64),
        (16, 0.284_482_758_620_689_68),
        (31, 0.540_983_606_557_377_1),
        (33, 0.55),
    ];

    #[test]
    fn who_is_reached_by_few_is_not_close_to_all() {
        // 0 -> 1 -> 2, and 3 alone.
        let path = Graph::new(4, &[(0, 1), (1, 2)]);
        let run = |direction| scores(&path, &ClosenessParameters { direction, ..Default::default() });
        let third = 1.0 / 3.0;
        assert_eq!(run(Direction::In), [0.0, third, 2.0 / 3.0 * (2.0 * third), 0.0]);
        assert_eq!(run(Direction::Out), [2.0 / 3.0 * (2.0 * third), third, 0.0, 0.0]);
    }

    #[test]
    fn a_sample_estimates_the_exact_scores() {
        // Without its long tail, of which a sample sees too much or too little.
        let mut graph = large_graph();
        graph.edges.retain(|edge| edge.0 < 39_000 && edge.1 < 39_000);
        graph.weights.truncate(graph.edges.len());
        let run = |count| {
            let pivots = Sources::Sample { count, seed: 1 };
            scores(&graph, &ClosenessParameters { pivots, direction: Direction::Both })
        };
        let (few, many) = (run(100), run(500));
        // Vertices with a way: from 0.05 on, since most of the graph is connected.
        let errors = few.iter().zip(&many).filter(|(_, many)| **many > 0.05);
        let errors: Vec<f64> = errors.map(|(few, many)| (few / many - 1.0).abs()).collect();
        assert!(errors.len() > 20_000, "{}", errors.len());
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean < 0.1, "{mean}");
    }

    #[test]
    fn graphs_of_no_and_of_one_vertex_have_scores() {
        let parameters = ClosenessParameters::default();
        assert!(scores(&Graph::new(0, &[]), &parameters).is_empty());
        assert_eq!(scores(&Graph::new(1, &[(0, 0)]), &parameters), [0.0]);
        assert_eq!(scores(&Graph::new(3, &[(0, 1), (1, 2)]).without(&[1]), &parameters), [0.0; 3]);
    }

    fn sampled() -> ClosenessParameters {
        ClosenessParameters { pivots: Sources::Sample { count: 200, seed: 9 }, ..Default::default() }
    }

    #[test]
    fn scores_are_bit_for_bit_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Both);
        let found = same_for_any_threads(|| closeness(&csr, &sampled(), &Control::default()).unwrap());
        assert_eq!(found.pivots, 200);
        assert_eq!(found.score(VertexId(40_000)), None);
    }

    #[test]
    fn bad_pivots_and_missing_sides_are_refused() {
        let csr = Graph::new(2, &[(0, 1)]).csr(Direction::In);
        let refused = |pivots, direction| {
            let parameters = ClosenessParameters { pivots, direction };
            closeness(&csr, &parameters, &Control::default()).unwrap_err().kind()
        };
        assert_eq!(refused(Sources::Sample { count: 0, seed: 0 }, Direction::Out), ErrorKind::Invalid);
        assert_eq!(refused(Sources::These(vec![VertexId(2)]), Direction::Out), ErrorKind::NotFound);
        assert_eq!(refused(Sources::All, Direction::In), ErrorKind::Invalid);
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| closeness(&csr, &sampled(), control));
    }

    #[test]
    fn a_view_is_frozen_for_the_searches_and_its_budget_is_asked() {
        let (graph, scope) = (Graph::new(3, &[(0, 1), (1, 2)]), Scope::default());
        let parameters = ClosenessParameters::default();
        let bytes = 3 * (rayon::current_num_threads() * SEARCH_BYTES) as u64;
        let view = FrozenOnly::new(graph.clone(), bytes);
        run(&view, &scope, &parameters, &Control::default()).unwrap();
        assert_eq!(view.asked(), scope.projection(Direction::Out, None, None));
        let poor = FrozenOnly::new(graph, bytes - 1);
        let error = run(&poor, &scope, &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
