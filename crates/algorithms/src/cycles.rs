//! Cycles: the simple cycles up to a number of edges, in the whole graph or through one vertex.
//!
//! ```text
//! root ──> a ──> b ──> c ──> root      each step only to vertices from which the root can still be
//!   └─── at most length_max edges      reached in the edges that are left
//! ```
//!
//! Definition. A cycle of length L is L different vertices, each with an edge to the next and the last
//! with one to the first, along the edges' own direction. It is one cycle however many parallel edges
//! there are, and is reported once, from its lowest vertex on. A loop is a cycle of length 1.
//!
//! Approach: from every vertex, its root, a depth-first search among higher vertices. Before it, the
//! vertices that matter are found by two breadth-first searches: forwards for half of the length, and
//! backwards for the rest; beyond its own half the second one stays within what the first found. It
//! gives each the distance to the root, and the search follows an edge only if distance and depth
//! together fit. So it turns back only where the path itself is in the way.
//!
//! Cost: for each root the edges within half of the length both ways, and the cycles: there can be
//! exponentially many, which `limit` is for. Memory: proportional to what a root's searches visit, for
//! each thread, and the answer. In the whole graph, roots are shared out to threads; through a vertex,
//! one thread searches a view as it stands.
//!
//! Source: Johnson, Finding all the elementary circuits of a directed graph (SIAM J. Computing 1975):
//! roots in order, each among higher vertices; bounded as in Gupta, Suzumura: Finding all bounded-length
//! simple cycles in a directed graph (2021). Differs: distances to the root in place of locks, which
//! prune what cannot come back for its length, but not what the path blocks.

use crate::control::Control;
use crate::live::Live;
use crate::parts::{Parts, share_out_with};
use crate::reached::Reached;
use crate::scope::Scope;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{PieceBuffer, Topology, Visit};
use evergraph_graph::view::{Freeze, GraphView};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Which cycles are looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CyclesParameters {
    /// The fewest edges: at least 1, which is a loop.
    pub length_min: u32,
    /// The most edges: at most [`CyclesParameters::LENGTH_LIMIT`].
    pub length_max: u32,
    /// The most cycles: at least 1.
    pub limit: usize,
}

impl CyclesParameters {
    /// The longest length that may be asked for.
    pub const LENGTH_LIMIT: u32 = 100;

    fn check(&self) -> Result<()> {
        let Self { length_min, length_max, limit } = *self;
        if length_min < 1 || length_max < length_min || length_max > Self::LENGTH_LIMIT {
            let most = Self::LENGTH_LIMIT;
            let text = format!("lengths are {length_min} to {length_max}, but must be 1 to at most {most}");
            return Err(Error::invalid(text));
        }
        if limit == 0 {
            return Err(Error::invalid("limit is 0, but must be at least 1"));
        }
        Ok(())
    }
}

impl Default for CyclesParameters {
    /// 2 to 6 edges, at most a million cycles.
    fn default() -> Self {
        Self { length_min: 2, length_max: 6, limit: 1_000_000 }
    }
}

/// Cycles, one after the other in one array.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cycles {
    vertices: Vec<u32>,
    ends: Vec<usize>,
    complete: bool,
}

impl Cycles {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether the limit left none out.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The vertices of each cycle, from its lowest on; the cycles ascend.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.vertices[start..*end])
    }
}

/// The cycles of the part of `view` in `scope`: freezes both sides. Memory comes from the budget of
/// `view`.
///
/// # Errors
/// Those of [`cycles`], and of [`Scope::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    parameters: &CyclesParameters,
    control: &Control<'_>,
) -> Result<Cycles> {
    parameters.check()?;
    let topology = scope.freeze(view, Direction::Both, None, control)?;
    cycles(&topology, parameters, &control.on_budget(view.budget()))
}

/// The cycles of `topology`, which must hold both sides; if there are more than the limit, those with
/// the lowest vertices: the first in the order of the answer.
///
/// # Errors
/// `invalid` for a parameter out of range or a side that wasn't frozen; `limit` if what is visited or
/// found doesn't fit into the budget; `cancelled`; errors of reading.
pub fn cycles<T: Topology>(
    topology: &T,
    parameters: &CyclesParameters,
    control: &Control<'_>,
) -> Result<Cycles> {
    parameters.check()?;
    control.check()?;
    control.report(PHASE, 0.0);
    let parts = Parts::of(topology);
    // Relaxed: a part gives up only if those before it have found enough, and they never take back.
    let counts: Vec<AtomicUsize> = parts.ranges().map(|_| AtomicUsize::new(0)).collect();
    let search = || Search::new(Frozen::new(topology), parameters, control);
    let part = |(at, roots): (usize, Range<u32>), search: &mut Search<'_, Frozen<'_, T>>| {
        for (place, root) in topology.vertices().range(roots).enumerate() {
            control.check()?;
            if place.is_multiple_of(LOOK_EVERY) {
                let before: usize = counts[..at].iter().map(|count| count.load(Relaxed)).sum();
                // One more than the limit says that the answer isn't complete.
                if before > parameters.limit {
                    break;
                }
            }
            search.search_root(root, root)?;
            counts[at].store(search.found.len(), Relaxed);
            if search.found.len() > parameters.limit {
                break;
            }
        }
        Ok(search.take_found())
    };
    // In order, so that the limit is met by the first parts.
    let found = share_out_with(control, parts.ranges().enumerate(), search, part)?;
    let total: usize = found.iter().map(|(found, _)| found.len()).sum();
    let mut all = Cycles { complete: total <= parameters.limit, ..Cycles::default() };
    for (found, _reserved) in found {
        found.iter().take(parameters.limit - all.len()).for_each(|cycle| all.push(cycle));
    }
    control.report(PHASE, 1.0);
    Ok(all)
}

/// The cycles through `vertex` in the part of `view` in `scope`, which is not frozen: what a new edge
/// closes is found at the price of the neighbourhood. If there are more than the limit, which of them
/// are found depends on the order of lists alone.
///
/// # Errors
/// `not_found` if `vertex` isn't in scope; `invalid` for a parameter out of range; `limit` if what is
/// visited or found doesn't fit into the budget of `control`; `cancelled`; errors of reading.
pub fn through<V: GraphView + ?Sized>(
    view: &V,
    scope: &Scope,
    vertex: VertexId,
    parameters: &CyclesParameters,
    control: &Control<'_>,
) -> Result<Cycles> {
    parameters.check()?;
    control.check()?;
    let mut live = Live::new(view, scope, None, control);
    let root = live.member(vertex, "vertex")?;
    control.report(PHASE, 0.0);
    let mut search = Search::new(live, parameters, control);
    search.search_root(root, 0)?;
    let complete = search.found.len() <= parameters.limit;
    let rotated = |cycle: &[u32]| {
        let lowest = (0..cycle.len()).min_by_key(|at| cycle[*at]).unwrap_or(0);
        [&cycle[lowest..], &cycle[..lowest]].concat()
    };
    let mut found: Vec<Vec<u32>> = search.found.iter().take(parameters.limit).map(rotated).collect();
    found.sort_unstable();
    let mut all = Cycles { complete, ..Cycles::default() };
    found.iter().for_each(|cycle| all.push(cycle));
    control.report(PHASE, 1.0);
    Ok(all)
}

const PHASE: &str = "cycles";

/// Roots between two looks at how many cycles were found before them.
const LOOK_EVERY: usize = 256;

/// Steps between two looks at the cancel flag.
const CHECK_EVERY: u64 = 4096;

/// Vertices of found cycles for which memory is reserved at once.
const ROOM_STEP: usize = 16 * 1024;

impl Cycles {
    fn push(&mut self, cycle: &[u32]) {
        self.vertices.extend_from_slice(cycle);
        self.ends.push(self.vertices.len());
    }
}

/// Where a search reads neighbours: frozen lists, or a view's.
trait Lists {
    /// Calls `visitor` with the neighbours of `vertices`, ascending, in `direction`.
    fn visit(
        &mut self,
        direction: Direction,
        vertices: &[u32],
        visitor: impl FnMut(u32) -> Result<()>,
    ) -> Result<()>;
}

impl<V: GraphView + ?Sized> Lists for Live<'_, V> {
    fn visit(
        &mut self,
        direction: Direction,
        vertices: &[u32],
        mut visitor: impl FnMut(u32) -> Result<()>,
    ) -> Result<()> {
        self.hops(direction, vertices, |hop| visitor(hop.to).map(ControlFlow::Continue))
    }
}

struct Frozen<'a, T> {
    topology: &'a T,
    buffer: PieceBuffer,
}

impl<'a, T> Frozen<'a, T> {
    fn new(topology: &'a T) -> Self {
        Self { topology, buffer: PieceBuffer::default() }
    }
}

impl<T: Topology> Lists for Frozen<'_, T> {
    fn visit(
        &mut self,
        direction: Direction,
        vertices: &[u32],
        mut visitor: impl FnMut(u32) -> Result<()>,
    ) -> Result<()> {
        let mut said = Ok(());
        self.topology.visit_each(direction, vertices, &mut self.buffer, |_, piece| {
            said = piece.neighbors.iter().try_for_each(|neighbor| visitor(*neighbor));
            if said.is_ok() { Visit::Continue } else { Visit::Stop }
        })?;
        said
    }
}

/// The searches from roots, one after the other.
struct Search<'a, L> {
    lists: L,
    parameters: &'a CyclesParameters,
    control: &'a Control<'a>,
    /// Edges from the root, for half of the length.
    ahead: Reached<'a, u32>,
    /// Edges to the root.
    back: Reached<'a, u32>,
    /// The vertices from the root on.
    path: Vec<u32>,
    /// For each vertex of the path the neighbours not tried yet, the lowest last, and where they begin.
    choices: Vec<u32>,
    choices_from: Vec<usize>,
    found: Cycles,
    /// What holds the found ones.
    reserved: Vec<Reservation>,
    room: usize,
    steps: u64,
}

impl<'a, L: Lists> Search<'a, L> {
    fn new(lists: L, parameters: &'a CyclesParameters, control: &'a Control<'a>) -> Self {
        // The frontiers, and choices of the search.
        let reached = |purpose| Reached::new(control, purpose, 2 * size_of::<u32>());
        Self {
            lists,
            parameters,
            control,
            ahead: reached("vertices ahead of a cycle's root"),
            back: reached("vertices on the way back to a cycle's root"),
            path: Vec::new(),
            choices: Vec::new(),
            choices_from: Vec::new(),
            found: Cycles::default(),
            reserved: Vec::new(),
            room: 0,
            steps: 0,
        }
    }

    /// Adds the cycles through `root` among vertices from `lowest` on, up to one past the limit.
    fn search_root(&mut self, root: u32, lowest: u32) -> Result<()> {
        if !self.find_ways_back(root, lowest)? {
            return Ok(());
        }
        self.path.clear();
        self.enter(root)?;
        while let Some(from) = self.choices_from.last() {
            if self.choices.len() == *from {
                self.path.pop();
                self.choices_from.pop();
                continue;
            }
            let next = self.choices.pop().expect("there are more than where they begin");
            if next == root {
                if self.path.len() >= self.parameters.length_min as usize {
                    self.report()?;
                    if self.found.len() > self.parameters.limit {
                        self.choices.clear();
                        self.choices_from.clear();
                    }
                }
            } else if !self.path.contains(&next) {
                self.enter(next)?;
            }
        }
        Ok(())
    }

    /// Goes on to `vertex`, and chooses where it may go on from there.
    fn enter(&mut self, vertex: u32) -> Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(CHECK_EVERY) {
            self.control.check()?;
        }
        self.path.push(vertex);
        let from = self.choices.len();
        self.choices_from.push(from);
        let (back, choices) = (&self.back, &mut self.choices);
        let left = self.parameters.length_max - self.path.len() as u32;
        self.lists.visit(Direction::Out, &[vertex], |neighbor| {
            if back.get(neighbor).is_some_and(|distance| *distance <= left) {
                choices.push(neighbor);
            }
            Ok(())
        })?;
        // Lists come in any order and parallel edges repeat.
        self.choices[from..].sort_unstable_by(|a, b| b.cmp(a));
        let mut kept = from;
        for at in from..self.choices.len() {
            if kept == from || self.choices[kept - 1] != self.choices[at] {
                self.choices[kept] = self.choices[at];
                kept += 1;
            }
        }
        self.choices.truncate(kept);
        Ok(())
    }

    /// What was found since the last time, and its memory.
    fn take_found(&mut self) -> (Cycles, Vec<Reservation>) {
        self.room = 0;
        (std::mem::take(&mut self.found), std::mem::take(&mut self.reserved))
    }

    fn report(&mut self) -> Result<()> {
        if self.found.vertices.len() + self.path.len() > self.room {
            // An end and, later, a place in the whole answer besides.
            let each = 2 * size_of::<u32>() + size_of::<usize>();
            self.reserved.push(self.control.reserve("cycles found", ROOM_STEP as u32, each)?);
            self.room += ROOM_STEP;
        }
        self.found.push(&self.path);
        Ok(())
    }

    /// Finds the distance to `root` of every vertex, from `lowest` on, that a cycle may go through;
    /// whether there may be any cycle.
    fn find_ways_back(&mut self, root: u32, lowest: u32) -> Result<bool> {
        let mut any = false;
        self.lists.visit(Direction::In, &[root], |neighbor| {
            any |= neighbor >= lowest;
            Ok(())
        })?;
        if !any {
            return Ok(false);
        }
        let length_max = self.parameters.length_max;
        let half = length_max.div_ceil(2);
        self.ahead.clear();
        self.back.clear();
        self.ahead.insert(root, 0)?;
        let mut frontier = vec![root];
        for distance in 1..=half {
            let mut next = Vec::new();
            let ahead = &mut self.ahead;
            self.lists.visit(Direction::Out, &frontier, |neighbor| {
                if neighbor >= lowest && ahead.get(neighbor).is_none() {
                    ahead.insert(neighbor, distance)?;
                    next.push(neighbor);
                }
                Ok(())
            })?;
            next.sort_unstable();
            frontier = next;
        }
        self.back.insert(root, 0)?;
        frontier = vec![root];
        let mut comes_back = false;
        for distance in 1..=length_max {
            if frontier.is_empty() {
                break;
            }
            let mut next = Vec::new();
            let (ahead, back) = (&self.ahead, &mut self.back);
            self.lists.visit(Direction::In, &frontier, |neighbor| {
                comes_back |= neighbor == root;
                if neighbor < lowest || back.get(neighbor).is_some() {
                    return Ok(());
                }
                let from_root = ahead.get(neighbor);
                // In its own half any vertex may be on a cycle; beyond, only one not too far ahead.
                if distance <= length_max - half || from_root.is_some_and(|at| at + distance <= length_max) {
                    back.insert(neighbor, distance)?;
                    next.push(neighbor);
                }
                Ok(())
            })?;
            next.sort_unstable();
            frontier = next;
        }
        Ok(comes_back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::{FrozenOnly, Limit};
    use crate::walkable::{LABELS, Walkable};
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The definition: every path of different vertices, by trying.
    fn by_trying(graph: &Graph, parameters: &CyclesParameters) -> Vec<Vec<u32>> {
        fn extend(
            arcs: &BTreeSet<(u32, u32)>,
            p: &CyclesParameters,
            path: &mut Vec<u32>,
            all: &mut Vec<Vec<u32>>,
        ) {
            let last = *path.last().unwrap();
            for (_, next) in arcs.range((last, 0)..=(last, u32::MAX)) {
                if *next == path[0] && path.len() >= p.length_min as usize {
                    all.push(path.clone());
                } else if *next > path[0] && !path.contains(next) && path.len() < p.length_max as usize {
                    path.push(*next);
                    extend(arcs, p, path, all);
                    path.pop();
                }
            }
        }
        let arcs = graph.arcs(Direction::Out).iter().map(|arc| (arc.0, arc.1)).collect();
        let mut all = Vec::new();
        graph.vertices.iter().for_each(|root| extend(&arcs, parameters, &mut vec![root], &mut all));
        all
    }

    fn rows(cycles: &Cycles) -> Vec<Vec<u32>> {
        cycles.iter().map(<[u32]>::to_vec).collect()
    }

    fn find(graph: &Graph, parameters: &CyclesParameters) -> Cycles {
        let control = Control::default();
        let plain = cycles(&graph.csr(Direction::Both), parameters, &control).unwrap();
        assert_eq!(cycles(&graph.pieced(Direction::Both), parameters, &control).unwrap(), plain);
        plain
    }

    proptest! {
        #[test]
        fn cycles_are_those_that_trying_finds(
            graph in any_graph(), length_min in 1_u32..4, more in 0_u32..5, limit in 1_usize..30,
            pick: prop::sample::Index,
        ) {
            let length_max = length_min + more;
            let all = CyclesParameters { length_min, length_max, limit: usize::MAX - 1 };
            let want = by_trying(&graph, &all);
            let found = find(&graph, &all);
            prop_assert_eq!(rows(&found), want.clone());
            prop_assert!(found.is_complete());

            let some = CyclesParameters { limit, ..all.clone() };
            let found = find(&graph, &some);
            prop_assert_eq!(rows(&found), want[..limit.min(want.len())].to_vec());
            prop_assert_eq!(found.is_complete(), want.len() <= limit);

            prop_assume!(!graph.vertices.is_empty());
            let members: Vec<u32> = graph.vertices.iter().collect();
            let vertex = *pick.get(&members);
            let want: Vec<_> = want.into_iter().filter(|cycle| cycle.contains(&vertex)).collect();
            let view = Walkable::new(graph);
            let through = |parameters| {
                through(&view, &Scope::default(), VertexId(vertex), parameters, &Control::default()).unwrap()
            };
            prop_assert_eq!(rows(&through(&all)), want.clone());
            let cut = through(&some);
            prop_assert_eq!(cut.len(), limit.min(want.len()));
            prop_assert_eq!(cut.is_complete(), want.len() <= limit);
            prop_assert!(rows(&cut).iter().all(|cycle| want.contains(cycle)));
        }
    }

    #[test]
    fn a_complete_graph_has_the_cycles_that_counting_gives() {
        let edges: Vec<_> = (0..7).flat_map(|from| (0..7).map(move |to| (from, to))).collect();
        let parameters = CyclesParameters { length_min: 1, length_max: 7, ..Default::default() };
        let found = find(&Graph::new(7, &edges), &parameters);
        // Choose k of 7, in (k - 1)! circular orders.
        let want = [(1, 7), (2, 21), (3, 70), (4, 210), (5, 504), (6, 840), (7, 720)];
        for (length, count) in want {
            assert_eq!(found.iter().filter(|cycle| cycle.len() == length).count(), count, "length {length}");
        }
    }

    #[test]
    fn parallel_edges_and_loops_make_no_cycle_twice() {
        let graph = Graph::new(4, &[(0, 1), (0, 1), (1, 0), (1, 1), (1, 1), (1, 2), (2, 0), (3, 2)]);
        assert_eq!(rows(&find(&graph, &CyclesParameters::default())), [vec![0, 1], vec![0, 1, 2]]);
        let loops = CyclesParameters { length_min: 1, length_max: 1, limit: 9 };
        assert_eq!(rows(&find(&graph, &loops)), [[1]]);
    }

    #[test]
    fn cycles_through_a_vertex_stay_within_the_scope() {
        let view = Walkable::new(Graph::new(6, &[(4, 2), (2, 0), (0, 4), (4, 1), (1, 4)]));
        let even = Scope { labels: Some(vec![LABELS[0]]), ..Scope::default() };
        let find = |scope: &Scope, vertex| {
            through(&view, scope, VertexId(vertex), &CyclesParameters::default(), &Control::default())
        };
        assert_eq!(rows(&find(&even, 4).unwrap()), [[0, 4, 2]]);
        assert_eq!(rows(&find(&Scope::default(), 4).unwrap()), [vec![0, 4, 2], vec![1, 4]]);
        assert_eq!(find(&even, 1).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn the_first_cycles_are_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Both);
        let parameters = CyclesParameters { length_max: 3, limit: 5000, ..Default::default() };
        let found = same_for_any_threads(|| cycles(&csr, &parameters, &Control::default()).unwrap());
        assert_eq!((found.len(), found.is_complete()), (5000, false));
        assert!(rows(&found).is_sorted());
    }

    #[test]
    fn bad_parameters_a_small_budget_and_cancelling_end_it() {
        let csr = large_graph().csr(Direction::Both);
        let text = |length_min, length_max, limit| {
            let parameters = CyclesParameters { length_min, length_max, limit };
            cycles(&csr, &parameters, &Control::default()).unwrap_err().to_string()
        };
        assert_eq!(text(0, 3, 1), "lengths are 0 to 3, but must be 1 to at most 100");
        assert!(text(4, 3, 1).contains("4 to 3") && text(1, 101, 1).contains("1 to 101"));
        assert_eq!(text(1, 3, 0), "limit is 0, but must be at least 1");
        let poor = Limit(1000);
        let refused = cycles(&csr, &CyclesParameters::default(), &Control::new(&poor)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Limit);
        assert_stops(|control| cycles(&csr, &CyclesParameters::default(), control));
    }

    #[test]
    fn a_view_is_frozen_both_ways() {
        let (view, scope) = (FrozenOnly::new(Graph::new(2, &[(0, 1), (1, 0)]), 1 << 20), Scope::default());
        let found = run(&view, &scope, &CyclesParameters::default(), &Control::default()).unwrap();
        assert_eq!(rows(&found), [[0, 1]]);
        assert_eq!(view.asked(), scope.projection(Direction::Both, None, None));
    }
}
