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
//! One slot a vertex holds its level, or its degree until it is reached, so claiming a vertex also counts the next
//! frontier's edges:
//!
//! ```text
//! reached        its level                    below 2^31
//! not reached    2^31 + its degree            u32::MAX if it must not be claimed
//! ```
//!
//! Later bottom-up rounds skip vertices that are reached or have no edges towards them.
//!
//! Cost: top-down alone reads every reachable edge once. Memory: at most 17 bytes a vertex: a level,
//! what bottom-up has still to look at, a frontier and its making, some bits.
//!
//! Source: Beamer, Asanovic, Patterson: Direction-Optimizing Breadth-First Search (SC 2012), with
//! the parameters of the GAP benchmark suite. Differs: levels instead of parents, which makes the
//! answer the same for any number of threads; frontiers are visited in id order.

use crate::control::Control;
use crate::frontier::{Ordering, push_members};
use crate::parts::{Parts, share_out};
use crate::range::WholeRange;
use crate::scope::{Scope, covers, source_in};
use crate::writers::Writers;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, ErrorKind, Result};
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
        WholeRange::FROM_ONE.check("alpha", self.alpha.into())?;
        WholeRange::FROM_ONE.check("beta", self.beta.into()).map(drop)
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

/// In a slot, in place of a level: the vertex is not reached, and the other bits are its degree.
const NOT_REACHED: u32 = 1 << 31;

/// In the slot of a vertex that must not be claimed.
const OUT_OF_SCOPE: u32 = u32::MAX;

/// Whether the vertex of this slot is still to be reached.
#[inline]
fn is_open(slot: u32) -> bool {
    slot >= NOT_REACHED && slot != OUT_OF_SCOPE
}

/// Vertices of a frontier that one task visits.
const FRONTIER_CHUNK: usize = 256;

struct Search<'a, T> {
    topology: &'a T,
    parameters: &'a BfsParameters,
    control: &'a Control<'a>,
    /// Relaxed: who claims a vertex writes nothing but its level, and levels of one round are all
    /// the same; rayon orders the rounds.
    slots: Vec<AtomicU32>,
    /// Only if the search may go bottom-up.
    parts: Option<Parts>,
    _state: Reservation,
}

/// Bytes that a search may need for each vertex.
const STATE_BYTES: usize = 17;

/// What a round top-down has reached.
#[derive(Default)]
struct NextFrontier {
    /// In any order.
    vertices: Vec<u32>,
    /// Their edges along the direction of the search; zero if the search has no choice.
    edges: u64,
}

/// The last frontier of some rounds bottom-up, and its level.
struct BottomUpEnd {
    frontier: Vec<u32>,
    level: u32,
}

impl<'a, T: Topology> Search<'a, T> {
    fn new(topology: &'a T, parameters: &'a BfsParameters, control: &'a Control<'a>) -> Result<Self> {
        let state = control.reserve("bfs levels and frontiers", topology.bound(), STATE_BYTES)?;
        let both_ways = covers(topology.direction(), parameters.direction.reversed());
        let parts = Parts::of_words(topology);
        let mut slots = vec![0; topology.bound() as usize];
        let scope = topology.vertices();
        parts.map(control, parts.split(&mut slots), |range, slots, _| {
            if both_ways {
                topology.degrees(parameters.direction, range.clone(), slots)?;
            }
            for (vertex, slot) in range.zip(slots) {
                let within = scope.is_full() || scope.contains(vertex);
                *slot = if within { NOT_REACHED + (*slot).min(NOT_REACHED - 2) } else { OUT_OF_SCOPE };
            }
            Ok(())
        })?;
        let slots = slots.into_iter().map(AtomicU32::new).collect();
        Ok(Self { topology, parameters, control, slots, parts: both_ways.then_some(parts), _state: state })
    }

    fn run(self, source: u32) -> Result<Bfs> {
        let count = self.topology.vertices().len();
        self.control.report(PHASE, 0.0);
        let mut edges = u64::from(self.slots[source as usize].swap(0, Relaxed) - NOT_REACHED);
        let mut ordering = Ordering::new(self.topology.bound());
        let (mut frontier, mut level, mut reached) = (vec![source], 0, 1_u64);
        let mut edges_left = self.directed_edges();
        while !frontier.is_empty() {
            self.control.check()?;
            if let Some(parts) = &self.parts
                && edges > edges_left / u64::from(self.parameters.alpha)
            {
                let climbed = self.climb(parts, &frontier, level, &mut reached)?;
                (frontier, level) = (climbed.frontier, climbed.level);
                // One round top-down follows in any case, as in GAPBS.
                edges = 0;
            } else {
                edges_left = edges_left.saturating_sub(edges);
                let found = self.top_down(&frontier, level + 1)?;
                (frontier, edges) = (found.vertices, found.edges);
                reached += frontier.len() as u64;
                ordering.order(&mut frontier);
                if !frontier.is_empty() {
                    level += 1;
                    check_level(level)?;
                }
            }
            self.control.report(PHASE, reached as f64 / count as f64);
        }
        self.control.report(PHASE, 1.0);
        let level_of = |slot: AtomicU32| match slot.into_inner() {
            NOT_REACHED.. => Bfs::UNREACHED,
            level => level,
        };
        let levels = self.slots.into_iter().map(level_of).collect();
        Ok(Bfs { levels, reached, depth: level })
    }

    /// List entries that a search may read.
    fn directed_edges(&self) -> u64 {
        self.topology.edge_count() * self.parameters.direction.sides().len() as u64
    }

    /// One round from the frontier outwards.
    fn top_down(&self, frontier: &[u32], level: u32) -> Result<NextFrontier> {
        let visit = |writers: Writers,
                     chunk: &[u32],
                     buffer: &mut PieceBuffer,
                     found: &mut NextFrontier|
         -> Result<()> {
            let mut edges = 0;
            self.topology.visit_each(self.parameters.direction, chunk, buffer, |_, piece| {
                for neighbor in piece.neighbors {
                    let slot = &self.slots[*neighbor as usize];
                    let open = slot.load(Relaxed);
                    if is_open(open) && writers.replace(slot, open, level).is_ok() {
                        found.vertices.push(*neighbor);
                        edges += u64::from(open - NOT_REACHED);
                    }
                }
                Visit::Continue
            })?;
            found.edges += edges;
            Ok(())
        };
        let chunks = frontier.chunks(FRONTIER_CHUNK);
        if frontier.len() <= FRONTIER_CHUNK || Writers::of_pool() == Writers::One {
            let (mut found, mut buffer) = (NextFrontier::default(), PieceBuffer::default());
            for chunk in chunks {
                self.control.check()?;
                visit(Writers::One, chunk, &mut buffer, &mut found)?;
            }
            return Ok(found);
        }
        let found = share_out(self.control, chunks, |chunk, buffer| {
            let mut found = NextFrontier::default();
            visit(Writers::Many, chunk, buffer, &mut found)?;
            Ok(found)
        })?;
        let edges = found.iter().map(|found| found.edges).sum();
        let lists: Vec<Vec<u32>> = found.into_iter().map(|found| found.vertices).collect();
        Ok(NextFrontier { vertices: lists.concat(), edges })
    }

    /// Rounds of bottom-up while they pay, from the `frontier` at `level`.
    fn climb(
        &self,
        parts: &Parts,
        frontier: &[u32],
        mut level: u32,
        reached: &mut u64,
    ) -> Result<BottomUpEnd> {
        let count = self.topology.vertices().len();
        let mut current = vec![0_u64; (self.topology.bound() as usize).div_ceil(64)];
        for vertex in frontier {
            current[*vertex as usize / 64] |= 1 << (vertex % 64);
        }
        let mut next = vec![0; current.len()];
        let mut waiting = None;
        let mut awake = frontier.len() as u64;
        loop {
            let before = awake;
            check_level(level + 1)?;
            let round;
            (awake, round) = self.bottom_up(parts, &current, &mut next, waiting, level + 1)?;
            waiting = Some(round);
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
        Ok(BottomUpEnd { frontier, level })
    }

    /// One round in which every vertex that waits looks for a neighbour in `current`; `next` becomes those that
    /// found one. `waiting` has them part by part, if a round has been before. Returns how many found one, and who
    /// waits on.
    fn bottom_up(
        &self,
        parts: &Parts,
        current: &[u64],
        next: &mut [u64],
        waiting: Option<Vec<Vec<u32>>>,
        level: u32,
    ) -> Result<(u64, Vec<Vec<u32>>)> {
        let against = self.parameters.direction.reversed();
        let first = waiting.is_none();
        let waiting = waiting.unwrap_or_else(|| parts.ranges().map(|_| Vec::new()).collect());
        let slices = parts.split_words(next).into_iter().zip(waiting).collect();
        let found = parts.map(self.control, slices, |range, (next, mut waiting), buffer| {
            next.fill(0);
            if first {
                waiting.reserve_exact(range.len());
                let open = |vertex: &u32| is_open(self.slots[*vertex as usize].load(Relaxed));
                waiting.extend(range.clone().filter(open));
            }
            let (mut found, mut wait_on) = (0, Vec::with_capacity(waiting.len()));
            self.topology.visit_each(against, &waiting, buffer, |vertex, piece| {
                let is_current =
                    |neighbor: &u32| current[*neighbor as usize / 64] >> (neighbor % 64) & 1 == 1;
                // Another piece of it may have been here.
                let waits = wait_on.last() == Some(&vertex);
                if piece.neighbors.iter().any(is_current) {
                    self.slots[vertex as usize].store(level, Relaxed);
                    next[(vertex - range.start) as usize / 64] |= 1 << (vertex % 64);
                    found += 1;
                    if waits {
                        wait_on.pop();
                    }
                    return Visit::NextVertex;
                }
                if !waits && !piece.neighbors.is_empty() {
                    wait_on.push(vertex);
                }
                Visit::Continue
            })?;
            wait_on.shrink_to_fit();
            Ok((found, wait_on))
        })?;
        let (found, waiting): (Vec<u64>, Vec<_>) = found.into_iter().unzip();
        Ok((found.iter().sum(), waiting))
    }
}

/// # Errors
/// `limit` for a level that a slot can't hold.
fn check_level(level: u32) -> Result<()> {
    if level < NOT_REACHED {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Limit, format!("a search can't go farther than {} edges", NOT_REACHED - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_direction, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::FrozenOnly;
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
        let (csr, pieced) = (graph.csr(Direction::Both), graph.pieced(Direction::Both));
        let first = bfs(&csr, source, &usual, &control).unwrap();
        let one_side = bfs(&graph.csr(direction), source, &usual, &control).unwrap();
        assert_eq!(first, one_side);
        for parameters in [usual, parameters(u32::MAX, u32::MAX), parameters(1, 1), parameters(u32::MAX, 1)] {
            assert_eq!(bfs(&csr, source, &parameters, &control).unwrap(), first);
            assert_eq!(bfs(&pieced, source, &parameters, &control).unwrap(), first);
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

    #[test]
    fn a_round_top_down_counts_the_edges_of_what_it_found() {
        let graph = large_graph();
        let csr = graph.csr(Direction::Both);
        let (parameters, control) = (BfsParameters::default(), Control::default());
        let mut degrees = vec![0; csr.bound() as usize];
        csr.degrees(Direction::Out, 0..csr.bound(), &mut degrees).unwrap();
        // One task, and several.
        for chosen in [1, 3 * FRONTIER_CHUNK] {
            let frontier: Vec<u32> = graph.vertices.iter().take(chosen).collect();
            let search = Search::new(&csr, &parameters, &control).unwrap();
            frontier.iter().for_each(|vertex| search.slots[*vertex as usize].store(0, Relaxed));
            let found = search.top_down(&frontier, 1).unwrap();
            let edges: u64 = found.vertices.iter().map(|vertex| u64::from(degrees[*vertex as usize])).sum();
            assert!(!found.vertices.is_empty() && edges > 0);
            assert_eq!(found.edges, edges);
        }
    }

    #[test]
    fn a_level_that_a_slot_cannot_hold_is_an_error() {
        assert!(check_level(NOT_REACHED - 1).is_ok());
        assert_eq!(check_level(NOT_REACHED).unwrap_err().kind(), ErrorKind::Limit);
    }
}
