//! Betweenness centrality: how many shortest paths between other vertices pass through a vertex.
//!
//! ```text
//! betweenness(v) = sum over s, t of  shortest paths from s to t through v / shortest paths from s to t
//!                  s, t and v differ
//! ```
//!
//! For each source, with the levels of a breadth-first search (Brandes):
//!
//! ```text
//! forward    level by level    paths(v) = sum of paths(u) over edges u -> v from the level before
//! backward   from the last     share(w) = (1 + dependency(w)) / paths(w)
//!                              dependency(v) = paths(v) * sum of share(w) over edges v -> w to the level behind
//! betweenness(v) += dependency(v)
//! ```
//!
//! Both are sums over whole lists of an array that is zero everywhere but on the level at hand, so
//! that no edge asks which level its end is on. Vertices of a level are independent: each sum is made
//! by one thread in the order of its list.
//!
//! Several sources run side by side, and all levels that are wide enough in parallel. Dependencies
//! are added in the order of the sources. How many sources run together depends on the graph's size
//! alone, and so the answer is the same for any number of threads.
//!
//! Edges count without weight. A parallel edge is another path; so is the second of two edges both
//! ways if edges are walked both ways. Loops are on no shortest path.
//!
//! Cost: each source reads every reachable edge twice and what the search reads. Memory: 8 bytes a
//! vertex, and 49 for each source that runs at once: as many as have 2 million vertices together, at
//! most 64.
//!
//! Source: Brandes: A faster algorithm for betweenness centrality (J. Math. Sociol. 2001); sampled
//! as in Brandes and Pich: Centrality estimation in large networks (2007) and the GAP benchmark
//! suite. Differs: counts are pulled instead of pushed, without atomics or lists of predecessors.

use crate::bfs::{Bfs, BfsParameters, bfs};
use crate::control::Control;
use crate::gather::sum_of;
use crate::parts::{Parts, share_out};
use crate::scope::Scope;
use crate::sources::Sources;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{PieceBuffer, Topology, Visit};
use evergraph_graph::view::Freeze;
use rayon::prelude::*;

/// What may be chosen about betweenness.
#[derive(Clone, PartialEq, Debug)]
pub struct BetweennessParameters {
    /// From which vertices paths start. With fewer than all, scores are scaled up to all, which
    /// makes a random sample an estimate without bias.
    pub sources: Sources,
    /// Along which edges paths go: `Out` from source to target, `In` against them (the same
    /// scores, if all are sources), `Both` ways. With `Both`, a path and its reverse are one.
    pub direction: Direction,
    /// Divides by the number of pairs that a vertex could be between, so that scores of graphs of
    /// different size compare.
    pub normalized: bool,
}

impl Default for BetweennessParameters {
    /// Exact, from source to target, normalised.
    fn default() -> Self {
        Self { sources: Sources::All, direction: Direction::Out, normalized: true }
    }
}

/// The score of each vertex.
#[derive(Clone, PartialEq, Debug)]
pub struct Betweenness {
    /// A score for each vertex id below the topology's bound; zero out of scope. From 0 to 1 if
    /// normalised (a sample may estimate more), else in numbers of pairs.
    pub scores: Vec<f64>,
    /// How many sources there were.
    pub sources: u64,
}

impl Betweenness {
    /// The score of `vertex`; `None` above the bound.
    #[must_use]
    pub fn score(&self, vertex: VertexId) -> Option<f64> {
        self.scores.get(vertex.0 as usize).copied()
    }
}

/// Betweenness in the part of `view` in `scope`: freezes both sides. Memory comes from the budget of
/// `view`.
///
/// # Errors
/// Those of [`betweenness`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    parameters: &BetweennessParameters,
    control: &Control<'_>,
) -> Result<Betweenness> {
    parameters.sources.check()?;
    let topology = scope.freeze(view, Direction::Both, None, control)?;
    betweenness(&topology, parameters, &control.on_budget(view.budget()))
}

/// Betweenness in `topology`, which must hold both sides.
///
/// # Errors
/// `not_found` for a named source that isn't in scope; `invalid` for a parameter out of range or a
/// side that wasn't frozen; `limit` if the state doesn't fit into the budget; `cancelled`; errors
/// of reading.
pub fn betweenness<T: Topology>(
    topology: &T,
    parameters: &BetweennessParameters,
    control: &Control<'_>,
) -> Result<Betweenness> {
    parameters.sources.check()?;
    control.check()?;
    let bound = topology.bound();
    let sources = parameters.sources.choose(topology.vertices())?;
    let at_once = (VERTICES_AT_ONCE / bound.max(1)).clamp(1, SOURCES_AT_ONCE).min(sources.len() as u32);
    // A search reserves the rest itself.
    let _scores = control.reserve("betweenness scores", bound, size_of::<f64>())?;
    let _state =
        control.reserve("shortest paths from several sources", bound, at_once as usize * PASS_BYTES)?;
    control.report(PHASE, 0.0);
    let mut passes: Vec<Pass> = (0..at_once).map(|_| Pass::new(bound)).collect();
    let mut scores = vec![0.0; bound as usize];
    let parts = Parts::of(topology);
    let mut done = 0;
    for batch in sources.chunks(at_once.max(1) as usize) {
        control.check()?;
        let quiet = control.without_progress();
        let run =
            |(source, pass): (&u32, &mut Pass)| pass.run(topology, *source, parameters.direction, &quiet);
        let results: Vec<Result<()>> = batch.par_iter().zip(&mut passes).map(run).collect();
        results.into_iter().collect::<Result<()>>()?;
        parts.map(control, parts.split(&mut scores), |range, scores, _| {
            for pass in &passes[..batch.len()] {
                let dependencies = &pass.dependencies[range.start as usize..range.end as usize];
                scores.iter_mut().zip(dependencies).for_each(|(score, dependency)| *score += dependency);
            }
            Ok(())
        })?;
        done += batch.len();
        control.report(PHASE, done as f64 / sources.len() as f64);
    }
    control.report(PHASE, 1.0);
    let factor = factor(parameters, topology.vertices().len(), sources.len() as u64);
    scores.iter_mut().for_each(|score| *score *= factor);
    Ok(Betweenness { scores, sources: sources.len() as u64 })
}

const PHASE: &str = "betweenness";

/// What sums of dependencies on so many sources of `count` vertices are multiplied by.
fn factor(parameters: &BetweennessParameters, count: u64, sources: u64) -> f64 {
    if count < 3 || sources == 0 {
        // Nobody is between others.
        return 0.0;
    }
    let n = count as f64;
    let one_source_for_many = n / sources as f64;
    // Both ways, each path is seen from both its ends, and each pair may be in either order.
    let scale = match (parameters.normalized, parameters.direction) {
        (true, _) => 1.0 / ((n - 1.0) * (n - 2.0)),
        (false, Direction::Both) => 0.5,
        (false, _) => 1.0,
    };
    scale * one_source_for_many
}

/// Vertices that the states of all sources at once may have.
const VERTICES_AT_ONCE: u32 = 2 * 1024 * 1024;

/// Sources at once, however small the graph is.
const SOURCES_AT_ONCE: u32 = 64;

/// Bytes of a pass for each vertex: its level and place, and three numbers.
const PASS_BYTES: usize = 2 * size_of::<u32>() + 3 * size_of::<f64>();

/// Vertices of a level that one task sums for.
const CHUNK: usize = 256;

/// The shortest paths from one source.
struct Pass {
    /// How many lead to each vertex.
    paths: Vec<f64>,
    /// Zero but on one level: what the next level sums over.
    level_values: Vec<f64>,
    /// How much of the paths from the source to all others leads through each vertex.
    dependencies: Vec<f64>,
}

impl Pass {
    fn new(bound: u32) -> Self {
        let zeros = || vec![0.0; bound as usize];
        Self { paths: zeros(), level_values: zeros(), dependencies: zeros() }
    }

    /// Counts paths from `source`, and then what depends on each vertex.
    fn run<T: Topology>(
        &mut self,
        topology: &T,
        source: u32,
        direction: Direction,
        control: &Control<'_>,
    ) -> Result<()> {
        let search =
            bfs(topology, VertexId(source), &BfsParameters { direction, ..Default::default() }, control)?;
        let levels = Levels::of(&search);
        drop(search);
        self.level_values.fill(0.0);
        self.dependencies.fill(0.0);
        self.paths[source as usize] = 1.0;
        for level in 1..levels.count() {
            self.show(levels.of_level(level - 1), |pass, vertex| pass.paths[vertex]);
            let vertices = levels.of_level(level);
            let sums = self.sums(topology, direction.reversed(), vertices, control)?;
            self.hide(levels.of_level(level - 1));
            for (vertex, paths) in vertices.iter().zip(sums.into_iter().flatten()) {
                self.paths[*vertex as usize] = paths;
            }
        }
        // The source itself is not between.
        for level in (1..levels.count().saturating_sub(1)).rev() {
            let share = |pass: &Self, vertex: usize| (1.0 + pass.dependencies[vertex]) / pass.paths[vertex];
            self.show(levels.of_level(level + 1), share);
            let vertices = levels.of_level(level);
            let sums = self.sums(topology, direction, vertices, control)?;
            self.hide(levels.of_level(level + 1));
            for (vertex, shares) in vertices.iter().zip(sums.into_iter().flatten()) {
                self.dependencies[*vertex as usize] = self.paths[*vertex as usize] * shares;
            }
        }
        Ok(())
    }

    /// Sets the values that are summed over.
    fn show(&mut self, vertices: &[u32], value: impl Fn(&Self, usize) -> f64) {
        for vertex in vertices {
            self.level_values[*vertex as usize] = value(self, *vertex as usize);
        }
    }

    /// Makes them zero again.
    fn hide(&mut self, vertices: &[u32]) {
        vertices.iter().for_each(|vertex| self.level_values[*vertex as usize] = 0.0);
    }

    /// For each of `vertices`, chunk by chunk, the sum of the shown values over its lists.
    fn sums<T: Topology>(
        &self,
        topology: &T,
        direction: Direction,
        vertices: &[u32],
        control: &Control<'_>,
    ) -> Result<Vec<Vec<f64>>> {
        let sum = |chunk: &[u32], buffer: &mut PieceBuffer| {
            let mut sums = vec![0.0; chunk.len()];
            let mut at = 0;
            topology.visit_each(direction, chunk, buffer, |vertex, piece| {
                while chunk[at] != vertex {
                    at += 1;
                }
                sums[at] += sum_of(&self.level_values, piece.neighbors);
                Visit::Continue
            })?;
            Ok(sums)
        };
        if vertices.len() <= CHUNK {
            control.check()?;
            return Ok(vec![sum(vertices, &mut PieceBuffer::default())?]);
        }
        share_out(control, vertices.chunks(CHUNK), sum)
    }
}

/// The vertices that a search reached, level by level, ascending within each.
struct Levels {
    vertices: Vec<u32>,
    /// Where each level begins; one more than there are.
    starts: Vec<usize>,
}

impl Levels {
    fn of(search: &Bfs) -> Self {
        let depth = search.depth() as usize;
        let reached = || (0..).zip(search.levels()).filter(|(_, level)| **level != Bfs::UNREACHED);
        let mut starts = vec![0; depth + 2];
        reached().for_each(|(_, level)| starts[*level as usize + 1] += 1);
        for level in 0..=depth {
            starts[level + 1] += starts[level];
        }
        let mut next = starts.clone();
        let mut vertices = vec![0; search.reached() as usize];
        for (vertex, level) in reached() {
            let place = &mut next[*level as usize];
            vertices[*place] = vertex;
            *place += 1;
        }
        Self { vertices, starts }
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn of_level(&self, level: usize) -> &[u32] {
        &self.vertices[self.starts[level]..self.starts[level + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{
        Graph, any_direction, any_graph, assert_stops, karate, large_graph, same_for_any_threads,
    };
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// The definition: distances and numbers of paths from everybody, and all pairs.
    fn by_definition(graph: &Graph, parameters: &BetweennessParameters) -> Vec<f64> {
        let bound = graph.vertices.bound() as usize;
        let mut lists = vec![Vec::new(); bound];
        graph.arcs(parameters.direction).iter().for_each(|arc| lists[arc.0 as usize].push(arc.1 as usize));
        let from = |source: usize| {
            let mut distances = vec![usize::MAX; bound];
            let mut paths = vec![0.0; bound];
            (distances[source], paths[source]) = (0, 1.0);
            let mut queue = VecDeque::from([source]);
            while let Some(vertex) = queue.pop_front() {
                for next in &lists[vertex] {
                    if distances[*next] == usize::MAX {
                        distances[*next] = distances[vertex] + 1;
                        queue.push_back(*next);
                    }
                    if distances[*next] == distances[vertex] + 1 {
                        paths[*next] += paths[vertex];
                    }
                }
            }
            (distances, paths)
        };
        let all: Vec<_> = (0..bound).map(from).collect();
        let mut scores = vec![0.0; bound];
        let sources = parameters.sources.choose(&graph.vertices).unwrap();
        for source in sources.iter().map(|source| *source as usize) {
            for target in
                (0..bound).filter(|target| *target != source && all[source].0[*target] != usize::MAX)
            {
                for between in (0..bound).filter(|between| *between != source && *between != target) {
                    let (first, second) = (all[source].0[between], all[between].0[target]);
                    if first != usize::MAX && second != usize::MAX && first + second == all[source].0[target]
                    {
                        scores[between] +=
                            all[source].1[between] * all[between].1[target] / all[source].1[target];
                    }
                }
            }
        }
        let n = graph.vertices.len() as f64;
        let scale = if parameters.normalized {
            1.0 / ((n - 1.0) * (n - 2.0))
        } else if parameters.direction == Direction::Both {
            0.5
        } else {
            1.0
        };
        if n < 3.0 {
            return vec![0.0; bound];
        }
        scores.iter().map(|score| score * scale * n / sources.len() as f64).collect()
    }

    fn assert_close(found: &[f64], want: &[f64]) {
        assert_eq!(found.len(), want.len());
        for (vertex, (found, want)) in found.iter().zip(want).enumerate() {
            assert!((found - want).abs() <= 1e-9 * want.abs(), "vertex {vertex}: {found}, not {want}");
        }
    }

    fn scores(graph: &Graph, parameters: &BetweennessParameters) -> Vec<f64> {
        let control = Control::default();
        let found = betweenness(&graph.csr(Direction::Both), parameters, &control).unwrap();
        let pieced = betweenness(&graph.pieced(Direction::Both), parameters, &control).unwrap();
        assert_close(&pieced.scores, &found.scores);
        found.scores
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn scores_are_those_of_the_definition(
            graph in any_graph(), direction in any_direction(), normalized: bool,
            sample in prop::option::of((1_u32..20, any::<u64>())),
        ) {
            let sources = sample.map_or(Sources::All, |(count, seed)| Sources::Sample { count, seed });
            let parameters = BetweennessParameters { sources, direction, normalized };
            assert_close(&scores(&graph, &parameters), &by_definition(&graph, &parameters));
        }
    }

    #[test]
    fn the_karate_club_has_the_scores_of_networkx() {
        let mut parameters = BetweennessParameters { direction: Direction::Both, ..Default::default() };
        let normalized = scores(&karate(), &parameters);
        parameters.normalized = false;
        let plain = scores(&karate(), &parameters);
        for (vertex, want, want_plain) in KARATE {
            assert!((normalized[vertex] - want).abs() < 1e-12, "{vertex}: {}", normalized[vertex]);
            assert!((plain[vertex] - want_plain).abs() < 1e-9, "{vertex}: {}", plain[vertex]);
        }
    }

    /// `networkx.betweenness_centrality(networkx.karate_club_graph())`, normalised and not.
    const KARATE: [(usize, f64, f64); 5] = [
        (0, 0.437_635_281_385_281_46, 231.071_428_571_428_6),
        (2, 0.143_656_806_156_806_18, 75.850_793_650_793_66),
        (11, 0.0, 0.0),
        (31, 0.138_275_613_275_613_25, 73.009_523_809_523_78),
        (33, 0.304_074_975_949_975_96, 160.551_587_301_587_3),
    ];

    #[test]
    fn the_middle_of_a_path_is_between_and_its_ends_are_not() {
        let path = Graph::new(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        let run = |direction| {
            let parameters = BetweennessParameters { direction, normalized: false, ..Default::default() };
            scores(&path, &parameters)
        };
        assert_eq!(run(Direction::Out), [0.0, 3.0, 4.0, 3.0, 0.0]);
        assert_eq!(run(Direction::In), [0.0, 3.0, 4.0, 3.0, 0.0]);
        assert_eq!(run(Direction::Both), [0.0, 3.0, 4.0, 3.0, 0.0]);
    }

    #[test]
    fn a_few_sources_count_for_all() {
        let path = Graph::new(4, &[(0, 1), (1, 2), (2, 3)]);
        let sources = Sources::These(vec![VertexId(0)]);
        let parameters = BetweennessParameters { sources, direction: Direction::Out, normalized: false };
        // From 0, two paths lead through 1 and one through 2.
        assert_eq!(scores(&path, &parameters), [0.0, 8.0, 4.0, 0.0]);
    }

    #[test]
    fn graphs_of_fewer_than_three_vertices_have_nobody_between() {
        let parameters = BetweennessParameters::default();
        assert!(scores(&Graph::new(0, &[]), &parameters).is_empty());
        assert_eq!(scores(&Graph::new(2, &[(0, 1), (1, 0)]), &parameters), [0.0; 2]);
        assert_eq!(scores(&Graph::new(3, &[(0, 1), (1, 2)]).without(&[1]), &parameters), [0.0; 3]);
    }

    fn sampled() -> BetweennessParameters {
        let sources = Sources::Sample { count: 70, seed: 3 };
        BetweennessParameters { sources, ..Default::default() }
    }

    #[test]
    fn scores_are_bit_for_bit_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Both);
        let found = same_for_any_threads(|| betweenness(&csr, &sampled(), &Control::default()).unwrap());
        assert_eq!(found.sources, 70);
    }

    #[test]
    fn bad_sources_and_missing_sides_are_refused() {
        let csr = Graph::new(2, &[(0, 1)]).csr(Direction::Both);
        let refused = |csr, sources| {
            let parameters = BetweennessParameters { sources, ..Default::default() };
            betweenness(csr, &parameters, &Control::default()).unwrap_err().kind()
        };
        assert_eq!(refused(&csr, Sources::Sample { count: 0, seed: 0 }), ErrorKind::Invalid);
        assert_eq!(refused(&csr, Sources::These(vec![VertexId(2)])), ErrorKind::NotFound);
        let one_side = Graph::new(2, &[(0, 1)]).csr(Direction::Out);
        assert_eq!(refused(&one_side, Sources::All), ErrorKind::Invalid);
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| betweenness(&csr, &sampled(), control));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let (graph, scope) = (Graph::new(3, &[(0, 1), (1, 2)]), Scope::default());
        let parameters = BetweennessParameters { normalized: false, ..Default::default() };
        let bytes = 3 * 3 * PASS_BYTES as u64;
        let view = FrozenOnly::new(graph.clone(), bytes);
        let found = run(&view, &scope, &parameters, &Control::default()).unwrap();
        assert_eq!((found.scores.clone(), found.score(VertexId(1))), (vec![0.0, 1.0, 0.0], Some(1.0)));
        assert_eq!(view.asked(), scope.projection(Direction::Both, None, None));
        let poor = FrozenOnly::new(graph, bytes - 1);
        let error = run(&poor, &scope, &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
