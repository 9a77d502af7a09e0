//! K-cores: how deep in the graph each vertex is, by peeling it level after level.
//!
//! The k-core is the largest part of the graph in which everybody has at least k neighbours in the
//! part. The core number of a vertex is the highest k whose core it is in.
//!
//! ```text
//! active = all vertices, degree(v) = neighbours
//! for k = lowest degree of the active:
//!     frontier = the active with degree k; they leave
//!     until it is empty:
//!         each neighbour u of the frontier with degree(u) > k:  degree(u) -= 1
//!         frontier = those that came to k
//! core(v) = degree(v), where it stopped
//! ```
//!
//! Frontiers follow each other in one array, in the order in which vertices leave. A small one is taken vertex by vertex:
//! what comes to k goes to its end at once. Threads share a large one and take what it leads to as the next.
//!
//! The reading is simple and undirected: parallel edges and edges both ways count once, loops never,
//! as in NetworkX and igraph after `simplify`.
//!
//! Cost: each list is read once to sort it and once to peel; the active are looked at once a level,
//! which sums to no more than the core numbers do, and so to less than the edges. Memory: 8 bytes an
//! edge, and 28 a vertex. Where the budget refuses that, `semi_external_cores` finds the same cores by passes over the
//! lists.
//!
//! Source: Dasari, Desh, Zubair: ParK (Big Data 2014). Differs: the active are kept in a list that
//! shrinks, and levels without vertices are skipped, as in Kabir and Madduri: PKC (IPDPSW 2017).

use crate::control::Control;
use crate::parts::share_out;
use crate::scope::Scope;
use crate::semi_external_cores::core_numbers;
use crate::undirected::Undirected;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::Topology;
use evergraph_graph::view::Freeze;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// The core number of each vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KCore {
    cores: Vec<u32>,
    degeneracy: u32,
}

impl KCore {
    /// In [`KCore::cores`]: the id isn't in scope.
    pub const OUT_OF_SCOPE: u32 = u32::MAX;

    /// The highest k whose core `vertex` is in; `None` if `vertex` isn't in scope.
    #[must_use]
    pub fn core(&self, vertex: VertexId) -> Option<u32> {
        self.cores.get(vertex.0 as usize).copied().filter(|core| *core != Self::OUT_OF_SCOPE)
    }

    /// A core number for each vertex id below the topology's bound.
    #[must_use]
    pub fn cores(&self) -> &[u32] {
        &self.cores
    }

    /// The highest core number, also called the degeneracy of the graph; zero without vertices.
    #[must_use]
    pub fn degeneracy(&self) -> u32 {
        self.degeneracy
    }
}

/// The core numbers in the part of `view` in `scope`: freezes both sides. Memory comes from the
/// budget of `view`.
///
/// # Errors
/// Those of [`kcore`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(view: &V, scope: &Scope, control: &Control<'_>) -> Result<KCore> {
    let topology = scope.freeze(view, Direction::Both, None, control)?;
    kcore(&topology, &control.on_budget(view.budget()))
}

/// The core numbers in `topology`, which must hold both sides.
///
/// # Errors
/// `invalid` for a side that wasn't frozen; `limit` if not even the state of passes fits into the budget, some 8 bytes a
/// vertex; `cancelled`; errors of reading.
pub fn kcore<T: Topology>(topology: &T, control: &Control<'_>) -> Result<KCore> {
    control.check()?;
    control.report(PHASE, 0.0);
    let mut found = match peel(topology, control) {
        Err(error) if error.kind() == ErrorKind::Limit => {
            let cores = core_numbers(topology, control)?;
            let degeneracy = cores.iter().copied().max().unwrap_or(0);
            KCore { cores, degeneracy }
        }
        peeled => peeled?,
    };
    control.report(PHASE, 1.0);
    if !topology.vertices().is_full() {
        for (vertex, core) in (0..).zip(&mut found.cores) {
            if !topology.vertices().contains(vertex) {
                *core = KCore::OUT_OF_SCOPE;
            }
        }
    }
    Ok(found)
}

/// The core numbers by sorted lists in memory; zero out of scope.
fn peel<T: Topology>(topology: &T, control: &Control<'_>) -> Result<KCore> {
    let _state = control.reserve("degrees and frontiers of k-cores", topology.bound(), STATE_BYTES)?;
    let lists = Undirected::new(topology, control)?;
    Peeling::of(&lists, topology.vertices().len() as usize, control).run(topology.vertices().iter().collect())
}

const PHASE: &str = "kcore";

/// Bytes for each vertex besides the lists: its degree, and its places among the active, in the order, and in what a task
/// found.
const STATE_BYTES: usize = 4 * size_of::<u32>();

/// Vertices that one task looks at, and whose lists one task reads.
const SCAN_CHUNK: usize = 16 * 1024;
const FRONTIER_CHUNK: usize = 256;

/// Neighbours whose degrees a thread reads before it changes them.
const NEIGHBORS_AHEAD: usize = 256;

struct Peeling<'a> {
    lists: &'a Undirected,
    /// Neighbours that are left; once peeled, the core number. Relaxed: who brings a degree to the
    /// level takes the vertex over alone, and rayon orders the frontiers.
    degrees: Vec<AtomicU32>,
    /// Vertices in the order in which they leave, and one place more: what isn't taken is written behind the last.
    order: Vec<u32>,
    /// How many are in the order.
    reached: usize,
    /// How many of those have left.
    peeled: usize,
    control: &'a Control<'a>,
}

/// Active vertices, divided by a level.
struct LevelSplit {
    /// How many are above it.
    above: usize,
    /// How many are at it.
    frontier: usize,
    /// The lowest degree above it.
    lowest: u32,
}

impl<'a> Peeling<'a> {
    fn of(lists: &'a Undirected, count: usize, control: &'a Control<'a>) -> Self {
        let degrees = lists.lengths().iter().map(|degree| AtomicU32::new(*degree)).collect();
        Self { lists, degrees, order: vec![0; count + 1], reached: 0, peeled: 0, control }
    }

    /// The cores of the `active`, and zero for others.
    fn run(mut self, mut active: Vec<u32>) -> Result<KCore> {
        let count = active.len();
        let (mut level, mut degeneracy) = (0, 0);
        while self.reached < count {
            self.control.check()?;
            let lowest = self.scan(&mut active, level)?;
            if self.peeled == self.reached {
                level = lowest;
                continue;
            }
            degeneracy = level;
            self.peel(level)?;
            level += 1;
            self.control.report(PHASE, self.reached as f64 / count as f64);
        }
        Ok(KCore { cores: self.degrees.into_iter().map(AtomicU32::into_inner).collect(), degeneracy })
    }

    #[inline]
    fn degree(&self, vertex: u32) -> u32 {
        self.degrees[vertex as usize].load(Relaxed)
    }

    /// Moves those of `active` that are at `level` to the order, and drops what was peeled at a lower one; returns the
    /// lowest degree that is left.
    fn scan(&mut self, active: &mut Vec<u32>, level: u32) -> Result<u32> {
        if rayon::current_num_threads() == 1 || active.len() <= SCAN_CHUNK {
            let split = split(&self.degrees, active, &mut self.order[self.reached..], level);
            active.truncate(split.above);
            self.reached += split.frontier;
            return Ok(split.lowest);
        }
        let chunks = share_out(self.control, active.chunks_mut(SCAN_CHUNK), |chunk, _| {
            let mut frontier = vec![0; chunk.len()];
            let split = split(&self.degrees, chunk, &mut frontier, level);
            frontier.truncate(split.frontier);
            Ok((split, frontier))
        })?;
        let (mut kept, mut lowest) = (0, u32::MAX);
        for (at, (split, frontier)) in chunks.into_iter().enumerate() {
            active.copy_within(at * SCAN_CHUNK..at * SCAN_CHUNK + split.above, kept);
            kept += split.above;
            lowest = lowest.min(split.lowest);
            self.append(&frontier);
        }
        active.truncate(kept);
        Ok(lowest)
    }

    fn append(&mut self, frontier: &[u32]) {
        self.order[self.reached..self.reached + frontier.len()].copy_from_slice(frontier);
        self.reached += frontier.len();
    }

    /// Takes away what is in the order, and all that comes down to `level` by it.
    fn peel(&mut self, level: u32) -> Result<()> {
        let one_thread = rayon::current_num_threads() == 1;
        while self.peeled < self.reached {
            let frontier = self.peeled..self.reached;
            if one_thread || frontier.len() <= FRONTIER_CHUNK {
                if self.peeled.is_multiple_of(FRONTIER_CHUNK) {
                    self.control.check()?;
                }
                self.peel_next(level);
            } else {
                self.peeled = frontier.end;
                let chunks = self.order[frontier].chunks(FRONTIER_CHUNK);
                let next =
                    share_out(self.control, chunks, |chunk, _| Ok(self.peel_beside_others(chunk, level)))?;
                next.iter().for_each(|frontier| self.append(frontier));
            }
        }
        Ok(())
    }

    /// Takes the next of the order away, while no other thread takes any.
    #[inline]
    fn peel_next(&mut self, level: u32) {
        let vertex = self.order[self.peeled];
        self.peeled += 1;
        let mut reached = self.reached;
        for neighbor in self.lists.list(vertex) {
            let degree = &self.degrees[*neighbor as usize];
            let before = degree.load(Relaxed);
            // Nobody can predict which neighbours are above the level: sums cost less than branches. No other thread
            // changes the degree: an atomic subtraction would cost several times as much as the rest.
            degree.store(before - u32::from(before > level), Relaxed);
            self.order[reached] = *neighbor;
            reached += usize::from(before == level + 1);
        }
        self.reached = reached;
    }

    /// Takes `chunk` away while other threads take other vertices; returns what comes down to `level` by it.
    fn peel_beside_others(&self, chunk: &[u32], level: u32) -> Vec<u32> {
        let mut next = Vec::new();
        let mut above = [0; NEIGHBORS_AHEAD];
        for vertex in chunk {
            for neighbors in self.lists.list(*vertex).chunks(NEIGHBORS_AHEAD) {
                // An atomic subtraction waits for its degree: all are read before, many at a time.
                let mut end = 0;
                for neighbor in neighbors {
                    above[end] = *neighbor;
                    end += usize::from(self.degree(*neighbor) > level);
                }
                next.extend(above[..end].iter().filter(|neighbor| self.comes_down(**neighbor, level)));
            }
        }
        next
    }

    /// Takes a neighbour from `vertex`, which was above `level`; whether that brings it there.
    #[inline]
    fn comes_down(&self, vertex: u32, level: u32) -> bool {
        let degree = &self.degrees[vertex as usize];
        let before = degree.fetch_sub(1, Relaxed);
        if before <= level {
            // Others brought it to the level since it was looked at.
            degree.fetch_add(1, Relaxed);
        }
        before == level + 1
    }
}

/// Divides `active` by `level`: those above it come first, those at it are written to `frontier`, which has room for them
/// and, unless they are all, for one more.
fn split(degrees: &[AtomicU32], active: &mut [u32], frontier: &mut [u32], level: u32) -> LevelSplit {
    let mut split = LevelSplit { above: 0, frontier: 0, lowest: u32::MAX };
    for at in 0..active.len() {
        let vertex = active[at];
        let degree = degrees[vertex as usize].load(Relaxed);
        active[split.above] = vertex;
        split.above += usize::from(degree > level);
        frontier[split.frontier] = vertex;
        split.frontier += usize::from(degree == level);
        split.lowest = split.lowest.min(if degree > level { degree } else { u32::MAX });
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Progress;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::FrozenOnly;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::sync::{LazyLock, Mutex};

    const NONE: u32 = KCore::OUT_OF_SCOPE;

    /// The definition: for each k, remove vertices with too few neighbours until none is left.
    fn cores_by_dropping(graph: &Graph) -> Vec<u32> {
        let mut lists = vec![BTreeSet::new(); graph.vertices.bound() as usize];
        for (source, target, _) in graph.arcs(Direction::Both).into_iter().filter(|arc| arc.0 != arc.1) {
            lists[source as usize].insert(target);
        }
        let mut cores = vec![NONE; lists.len()];
        graph.vertices.iter().for_each(|vertex| cores[vertex as usize] = 0);
        let mut left: BTreeSet<u32> = graph.vertices.iter().collect();
        for k in 1.. {
            loop {
                let few = |vertex: &&u32| lists[**vertex as usize].intersection(&left).count() < k;
                let dropped: Vec<u32> = left.iter().filter(few).copied().collect();
                if dropped.is_empty() {
                    break;
                }
                dropped.iter().for_each(|vertex| assert!(left.remove(vertex)));
            }
            if left.is_empty() {
                break;
            }
            left.iter().for_each(|vertex| cores[*vertex as usize] = k as u32);
        }
        cores
    }

    fn cores(graph: &Graph) -> KCore {
        static ALONE: LazyLock<rayon::ThreadPool> =
            LazyLock::new(|| rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap());
        static SHARED: LazyLock<rayon::ThreadPool> =
            LazyLock::new(|| rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());
        let find = || kcore(&graph.csr(Direction::Both), &Control::default()).unwrap();
        let found = ALONE.install(find);
        assert_eq!(SHARED.install(find), found);
        assert_eq!(kcore(&graph.pieced(Direction::Both), &Control::default()).unwrap(), found);
        found
    }

    proptest! {
        #[test]
        fn cores_are_those_of_dropping_vertices(graph in any_graph()) {
            let (found, want) = (cores(&graph), cores_by_dropping(&graph));
            let highest = want.iter().copied().filter(|core| *core != NONE).max();
            prop_assert_eq!(found.degeneracy(), highest.unwrap_or(0));
            prop_assert_eq!(found.cores(), want);
        }
    }

    #[test]
    fn a_clique_with_a_tail_has_two_cores_and_the_levels_between_are_skipped() {
        let mut edges: Vec<_> = (0..50).flat_map(|low| (low + 1..50).map(move |high| (low, high))).collect();
        edges.extend([(49, 50), (50, 51), (51, 50), (51, 51)]);
        let found = cores(&Graph::new(53, &edges));
        assert_eq!(found.cores()[..50], [49; 50]);
        assert_eq!(found.cores()[50..], [1, 1, 0]);
        assert_eq!(found.degeneracy(), 49);
    }

    #[test]
    fn cores_are_the_same_for_any_number_of_threads() {
        let graph = large_graph();
        let csr = graph.csr(Direction::Both);
        let found = same_for_any_threads(|| kcore(&csr, &Control::default()).unwrap());
        assert_eq!(found, kcore(&graph.pieced(Direction::Both), &Control::default()).unwrap());
        assert_eq!((found.core(VertexId(5)), found.core(VertexId(40_000))), (None, None));
    }

    #[test]
    fn graphs_of_no_and_of_one_vertex_have_cores() {
        assert_eq!(cores(&Graph::new(0, &[])).degeneracy(), 0);
        assert_eq!(cores(&Graph::new(1, &[(0, 0)])).cores(), [0]);
        assert_eq!(cores(&Graph::new(2, &[(0, 1)]).without(&[0])).cores(), [NONE, 0]);
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| kcore(&csr, control));
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_stops(|control| alone.install(|| kcore(&csr, control)));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let (graph, scope) = (Graph::new(3, &[(1, 0), (1, 2)]), Scope::default());
        // The lists take more than the degrees: four neighbours and three places.
        let bytes = 4 * 4 + 3 * 12;
        let view = FrozenOnly::new(graph.clone(), bytes);
        assert_eq!(run(&view, &scope, &Control::default()).unwrap().cores(), [1, 1, 1]);
        assert_eq!(view.asked(), scope.projection(Direction::Both, None, None));
        // Bounds, supports and marks.
        let least = 3 * 8 + 8;
        let error = run(&FrozenOnly::new(graph, least - 1), &scope, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }

    #[test]
    fn what_a_budget_refuses_to_lists_is_found_by_passes_and_told() {
        let graph = Graph::new(4, &[(1, 0), (1, 2), (2, 0), (2, 2)]).without(&[3]);
        let phases = |bytes| {
            let told = Mutex::new(Vec::new());
            let watch = |progress: Progress| told.lock().unwrap().push(progress.phase);
            let control = Control::default().with_progress(&watch);
            let found = run(&FrozenOnly::new(graph.clone(), bytes), &Scope::default(), &control).unwrap();
            assert_eq!((found.cores(), found.degeneracy()), (&[2, 2, 2, NONE][..], 2));
            told.lock().unwrap().contains(&"kcore, out of core")
        };
        // Loops are counted in the lists' places.
        let bytes = 8 * 4 + 4 * 12;
        assert_eq!((phases(bytes), phases(bytes - 1)), (false, true));
    }
}
