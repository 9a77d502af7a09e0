//! Breadth-first search: the distance in edges of each vertex from a source, direction-optimising.
//!
//! ```text
//! few vertices in the frontier     top-down    each looks at its edges, claims who is new
//! many                             bottom-up   each vertex not reached yet looks for any parent
//!                                              among the edges towards it, and stops at the first
//! ```
//!
//! In graphs with hubs most edges of the middle levels lead to vertices that are reached already;
//! bottom-up leaves nearly all of those unread. It needs the lists against the direction of the
//! search; if only those along it are frozen, the search is top-down throughout.
//!
//! Cost: top-down alone reads every reachable edge once. Memory: at most 17 bytes a vertex: a level,
//! a degree, a frontier and its making, some bits.
//!
//! Source: Beamer, Asanovic, Patterson: Direction-Optimizing Breadth-First Search (SC 2012), with
//! the parameters of the GAP benchmark suite. Differs: levels instead of parents, which makes the
//! answer the same for any number of threads; frontiers are visited in id order.

use crate::control::Control;
use crate::frontier::{Ordering, push_members};
use crate::parts::{Parts, share_out};
use crate::scope::{Scope, covers, source_in};
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{PieceBuffer, Topology, Visit};
use evergraph_graph::view::Freeze;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// What may be chosen about a breadth-first search.
#[derive(Clone, PartialEq, Debug)]
pub struct BfsParameters {
    /// Along which edges it goes: `Out` from source to target, `In` against them, `Both` ways.
    pub direction: Direction,
    /// Goes bottom-up once the frontier has more than 1/alpha of the edges that are left: at least 1.
    pub alpha: u32,
    /// Goes top-down again once a shrinking frontier has less than 1/beta of the vertices: at least 1.
    pub beta: u32,
}

impl Default for BfsParameters {
    /// From source to target; alpha 15, beta 18.
    fn default() -> Self {
        Self { direction: Direction::Out, alpha: 15, beta: 18 }
    }
}

impl BfsParameters {
    fn check(&self) -> Result<()> {
        for (name, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if value == 0 {
                return Err(Error::invalid(format!("{name} is 0, but must be at least 1")));
            }
        }
        Ok(())
    }
}

/// The level of each vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bfs {
    levels: Vec<u32>,
    reached: u64,
    depth: u32,
}

impl Bfs {
    /// Edges on a shortest path from the source to `vertex`; `None` if there is no path, or
    /// `vertex` isn't in scope.
    #[must_use]
    pub fn level(&self, vertex: VertexId) -> Option<u32> {
        self.levels.get(vertex.0 as usize).copied().filter(|level| *level != Self::UNREACHED)
    }

    /// In [`Bfs::levels`]: there is no path, or the id isn't in scope.
    pub const UNREACHED: u32 = u32::MAX;

    /// A level for each vertex id below the topology's bound.
    #[must_use]
    pub fn levels(&self) -> &[u32] {
        &self.levels
    }

    /// Vertices with a level, the source among them.
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// The highest level.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth
    }
}

/// Searches the part of `view` in `scope` from `source`: freezes both sides. Memory comes from the
/// budget of `view`.
///
/// # Errors
/// Those of [`bfs`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    source: VertexId,
    parameters: &BfsParameters,
    control: &Control<'_>,
) -> Result<Bfs> {
    parameters.check()?;
    let topology = scope.freeze(view, Direction::Both, None, control)?;
    bfs(&topology, source, parameters, &control.on_budget(view.budget()))
}

/// Searches `topology` from `source`. It must hold the lists along the direction of the search;
/// with those against it too, the search may be several times faster.
///
/// # Errors
/// `not_found` if `source` isn't in scope; `invalid` for a parameter out of range or a side that
/// wasn't frozen; `limit` if the state doesn't fit into the budget; `cancelled`; errors
/// of reading.
pub fn bfs<T: Topology>(
    topology: &T,
    source: VertexId,
    parameters: &BfsParameters,
    control: &Control<'_>,
) -> Result<Bfs> {
    parameters.check()?;
    control.check()?;
    let source = source_in(topology, source)?;
    let search = Search::new(topology, parameters, control)?;
    search.run(source)
}

const PHASE: &str = "bfs";

/// While a search runs, in place of the level of a vertex that must not be claimed.
const OUT_OF_SCOPE: u32 = u32::MAX - 1;

/// Vertices of a frontier that one task visits.
const FRONTIER_CHUNK: usize = 256;

struct Search<'a, T> {
    topology: &'a T,
    parameters: &'a BfsParameters,
    control: &'a Control<'a>,
    /// Relaxed: who claims a vertex writes nothing but its level, and levels of one round are all
    /// the same; rayon orders the rounds.
    levels: Vec<AtomicU32>,
    /// Only if the search may go bottom-up.
    bottom_up: Option<BottomUp>,
    _state: Reservation,
}

/// Bytes that a search may need for each vertex.
const STATE_BYTES: usize = 17;

/// What bottom-up rounds need.
struct BottomUp {
    parts: Parts,
    /// Edges of each vertex along the direction of the search.
    degrees: Vec<u32>,
}

impl<'a, T: Topology> Search<'a, T> {
    fn new(topology: &'a T, parameters: &'a BfsParameters, control: &'a Control<'a>) -> Result<Self> {
        let state = control.reserve("bfs levels and frontiers", topology.bound(), STATE_BYTES)?;
        let both_ways = covers(topology.direction(), parameters.direction.reversed());
        let levels = if topology.vertices().is_full() {
            (0..topology.bound()).map(|_| AtomicU32::new(Bfs::UNREACHED)).collect()
        } else {
            let level = |vertex| {
                let within = topology.vertices().contains(vertex);
                AtomicU32::new(if within { Bfs::UNREACHED } else { OUT_OF_SCOPE })
            };
            (0..topology.bound()).map(level).collect()
        };
        let bottom_up = if both_ways { Some(BottomUp::new(topology, parameters, control)?) } else { None };
        Ok(Self { topology, parameters, control, levels, bottom_up, _state: state })
    }

    fn run(self, source: u32) -> Result<Bfs> {
        let count = self.topology.vertices().len();
        self.control.report(PHASE, 0.0);
        self.levels[source as usize].store(0, Relaxed);
        let mut ordering = Ordering::new(self.topology.bound());
        let (mut frontier, mut level, mut reached) = (vec![source], 0, 1_u64);
        let mut edges_left = self.directed_edges();
        while !frontier.is_empty() {
            self.control.check()?;
            let edges = self.edges_of(&frontier);
            if let Some(bottom_up) = &self.bottom_up
                && edges > edges_left / u64::from(self.parameters.alpha)
            {
                (frontier, level) = self.climb(bottom_up, &frontier, level, &mut reached)?;
            } else {
                edges_left = edges_left.saturating_sub(edges);
                frontier = self.top_down(&frontier, level + 1)?;
                reached += frontier.len() as u64;
                ordering.order(&mut frontier);
                level += u32::from(!frontier.is_empty());
            }
            self.control.report(PHASE, reached as f64 / count as f64);
        }
        self.control.report(PHASE, 1.0);
        let level_of = |level: AtomicU32| match level.into_inner() {
            OUT_OF_SCOPE => Bfs::UNREACHED,
            level => level,
        };
        let levels = self.levels.into_iter().map(level_of).collect();
        Ok(Bfs { levels, reached, depth: level })
    }

    /// List entries that a search may read.
    fn directed_edges(&self) -> u64 {
        self.topology.edge_count() * self.parameters.direction.sides().len() as u64
    }

    /// Edges that a top-down round would read; zero if there is no choice.
    fn edges_of(&self, frontier: &[u32]) -> u64 {
        let Some(bottom_up) = &self.bottom_up else { return 0 };
        frontier.iter().map(|vertex| u64::from(bottom_up.degrees[*vertex as usize])).sum()
    }

    /// One round from the frontier outwards: the vertices that are new, in any order.
    fn top_down(&self, frontier: &[u32], level: u32) -> Result<Vec<u32>> {
        let visit = |chunk: &[u32], buffer: &mut PieceBuffer| {
            let mut found = Vec::new();
            self.topology.visit_each(self.parameters.direction, chunk, buffer, |_, piece| {
                for neighbor in piece.neighbors {
                    let slot = &self.levels[*neighbor as usize];
                    if slot.load(Relaxed) == Bfs::UNREACHED
                        && slot.compare_exchange(Bfs::UNREACHED, level, Relaxed, Relaxed).is_ok()
                    {
                        found.push(*neighbor);
                    }
                }
                Visit::Continue
            })?;
            Ok(found)
        };
        if frontier.len() <= FRONTIER_CHUNK {
            return visit(frontier, &mut PieceBuffer::default());
        }
        Ok(share_out(self.control, frontier.chunks(FRONTIER_CHUNK), visit)?.concat())
    }

    /// Rounds of bottom-up while they pay, from the `frontier` at `level`; the last frontier and
    /// its level.
    fn climb(
        &self,
        bottom_up: &BottomUp,
        frontier: &[u32],
        mut level: u32,
        reached: &mut u64,
    ) -> Result<(Vec<u32>, u32)> {
        let count = self.topology.vertices().len();
        let mut current = vec![0_u64; (self.topology.bound() as usize).div_ceil(64)];
        for vertex in frontier {
            current[*vertex as usize / 64] |= 1 << (vertex % 64);
        }
        let mut next = vec![0; current.len()];
        let mut awake = frontier.len() as u64;
        loop {
            let before = awake;
            awake = self.bottom_up_round(&bottom_up.parts, &current, &mut next, level + 1)?;
            *reached += awake;
            level += u32::from(awake > 0);
            std::mem::swap(&mut current, &mut next);
            self.control.report(PHASE, *reached as f64 / count as f64);
            if awake == 0 || awake < before && awake <= count / u64::from(self.parameters.beta) {
                break;
            }
        }
        let mut frontier = Vec::with_capacity(awake as usize);
        for (base, word) in (0..).step_by(64).zip(current) {
            push_members(base, word, &mut frontier);
        }
        Ok((frontier, level))
    }

    /// One round in which every vertex that isn't reached looks for a neighbour in `current`;
    /// `next` becomes those that found one. Returns their number.
    fn bottom_up_round(&self, parts: &Parts, current: &[u64], next: &mut [u64], level: u32) -> Result<u64> {
        let against = self.parameters.direction.reversed();
        let found = parts.map(self.control, parts.split_words(next), |range, next, buffer| {
            next.fill(0);
            let unreached: Vec<u32> = range
                .clone()
                .filter(|vertex| self.levels[*vertex as usize].load(Relaxed) == Bfs::UNREACHED)
                .collect();
            let mut found = 0;
            self.topology.visit_each(against, &unreached, buffer, |vertex, piece| {
                let is_current =
                    |neighbor: &u32| current[*neighbor as usize / 64] >> (neighbor % 64) & 1 == 1;
                if !piece.neighbors.iter().any(is_current) {
                    return Visit::Continue;
                }
                self.levels[vertex as usize].store(level, Relaxed);
                next[(vertex - range.start) as usize / 64] |= 1 << (vertex % 64);
                found += 1;
                Visit::NextVertex
            })?;
            Ok(found)
        })?;
        Ok(found.iter().sum())
    }
}

impl BottomUp {
    fn new<T: Topology>(topology: &T, parameters: &BfsParameters, control: &Control<'_>) -> Result<Self> {
        let parts = Parts::of_words(topology);
        let mut degrees = vec![0; topology.bound() as usize];
        parts.map(control, parts.split(&mut degrees), |range, degrees, _| {
            topology.degrees(parameters.direction, range, degrees)
        })?;
        Ok(Self { parts, degrees })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_direction, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const NONE: u32 = Bfs::UNREACHED;

    /// The definition: a queue.
    fn levels_by_queue(graph: &Graph, source: u32, direction: Direction) -> Vec<u32> {
        let mut lists = vec![Vec::new(); graph.vertices.bound() as usize];
        graph.arcs(direction).iter().for_each(|arc| lists[arc.0 as usize].push(arc.1));
        let mut levels = vec![NONE; lists.len()];
        levels[source as usize] = 0;
        let mut queue = VecDeque::from([source]);
        while let Some(vertex) = queue.pop_front() {
            for neighbor in &lists[vertex as usize] {
                if levels[*neighbor as usize] == NONE {
                    levels[*neighbor as usize] = levels[vertex as usize] + 1;
                    queue.push_back(*neighbor);
                }
            }
        }
        levels
    }

    /// The search on every topology that allows it, with eager, normal and no bottom-up rounds.
    fn search(graph: &Graph, source: u32, direction: Direction) -> Bfs {
        let control = Control::default();
        let source = VertexId(source);
        let parameters = |alpha, beta| BfsParameters { direction, alpha, beta };
        let usual = parameters(15, 18);
        let first = bfs(&graph.csr(Direction::Both), source, &usual, &control).unwrap();
        let one_side = bfs(&graph.csr(direction), source, &usual, &control).unwrap();
        assert_eq!(first, one_side);
        for parameters in [usual, parameters(u32::MAX, u32::MAX), parameters(1, 1), parameters(u32::MAX, 1)] {
            assert_eq!(bfs(&graph.csr(Direction::Both), source, &parameters, &control).unwrap(), first);
            assert_eq!(bfs(&graph.pieced(Direction::Both), source, &parameters, &control).unwrap(), first);
        }
        first
    }

    proptest! {
        #[test]
        fn levels_are_those_of_a_queue(graph in any_graph(), direction in any_direction(), pick: prop::sample::Index) {
            prop_assume!(!graph.vertices.is_empty());
            let source = graph.vertices.iter().nth(pick.index(graph.vertices.len() as usize)).unwrap();
            let found = search(&graph, source, direction);
            let want = levels_by_queue(&graph, source, direction);
            let reached = want.iter().copied().filter(|level| *level != NONE);
            prop_assert_eq!(found.depth(), reached.clone().max().unwrap());
            prop_assert_eq!(found.reached(), reached.count() as u64);
            prop_assert_eq!(found.levels(), want);
        }
    }

    #[test]
    fn a_large_graph_with_a_long_tail_has_the_levels_of_a_queue() {
        let graph = large_graph();
        for direction in [Direction::Out, Direction::Both] {
            let want = levels_by_queue(&graph, 0, direction);
            assert!(search(&graph, 0, direction).levels() == want);
        }
    }

    #[test]
    fn levels_are_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Both);
        let parameters = BfsParameters { direction: Direction::Both, ..Default::default() };
        same_for_any_threads(|| bfs(&csr, VertexId(0), &parameters, &Control::default()).unwrap());
    }

    #[test]
    fn what_is_unreached_or_out_of_scope_or_beyond_the_bound_has_no_level() {
        // 0 -> 1 -> 2, with 3 a hole on the way to 4; 5 is alone.
        let graph = Graph::new(6, &[(0, 0), (0, 1), (0, 1), (1, 2), (2, 3), (3, 4)]).without(&[3]);
        let found = search(&graph, 0, Direction::Out);
        assert_eq!(found.levels(), [0, 1, 2, NONE, NONE, NONE]);
        assert_eq!((found.level(VertexId(2)), found.level(VertexId(3))), (Some(2), None));
        assert_eq!(found.level(VertexId(99)), None);
        assert_eq!((found.reached(), found.depth()), (3, 2));
    }

    #[test]
    fn a_graph_of_one_vertex_has_one_level() {
        assert_eq!(search(&Graph::new(1, &[(0, 0)]), 0, Direction::Both).levels(), [0]);
    }

    #[test]
    fn a_source_that_is_not_there_is_named() {
        let csr = Graph::new(3, &[]).without(&[1]).csr(Direction::Out);
        for source in [1, 3, u32::MAX] {
            let error =
                bfs(&csr, VertexId(source), &BfsParameters::default(), &Control::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert!(error.to_string().contains(&format!("v{source} ")), "{error}");
        }
    }

    #[test]
    fn bad_parameters_and_missing_sides_are_invalid() {
        let check = |parameters: BfsParameters| {
            let csr = Graph::new(1, &[]).csr(Direction::Out);
            let error = bfs(&csr, VertexId(0), &parameters, &Control::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        };
        let default = BfsParameters::default;
        assert_eq!(check(BfsParameters { alpha: 0, ..default() }), "alpha is 0, but must be at least 1");
        assert_eq!(check(BfsParameters { beta: 0, ..default() }), "beta is 0, but must be at least 1");
        assert!(
            check(BfsParameters { direction: Direction::Both, ..default() }).contains("In was asked for")
        );
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| bfs(&csr, VertexId(0), &BfsParameters::default(), control));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let (graph, scope, parameters) =
            (Graph::new(2, &[(0, 1)]), Scope::default(), BfsParameters::default());
        let view = FrozenOnly::new(graph.clone(), 2 * 17);
        let found = run(&view, &scope, VertexId(0), &parameters, &Control::default()).unwrap();
        assert_eq!(found.levels(), [0, 1]);
        assert_eq!(view.asked(), scope.projection(Direction::Both, None, None));
        let poor = FrozenOnly::new(graph, 2 * 17 - 1);
        let error = run(&poor, &scope, VertexId(0), &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
