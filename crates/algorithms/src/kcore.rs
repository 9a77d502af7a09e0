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
//! One thread keeps all frontiers in one array, in the order in which vertices left, and takes from its front.
//!
//! The reading is simple and undirected: parallel edges and edges both ways count once, loops never,
//! as in NetworkX and igraph after `simplify`.
//!
//! Cost: each list is read twice to sort it and once to peel; the active are looked at once a level,
//! which sums to no more than the core numbers do, and so to less than the edges. Memory: 8 bytes an
//! edge, and 28 a vertex.
//!
//! Source: Dasari, Desh, Zubair: ParK (Big Data 2014). Differs: the active are kept in a list that
//! shrinks, and levels without vertices are skipped, as in Kabir and Madduri: PKC (IPDPSW 2017).

use crate::control::Control;
use crate::parts::share_out;
use crate::scope::Scope;
use crate::undirected::Undirected;
use evergraph_graph::error::Result;
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
/// `invalid` for a side that wasn't frozen; `limit` if the sorted lists don't fit into the budget;
/// `cancelled`; errors of reading.
pub fn kcore<T: Topology>(topology: &T, control: &Control<'_>) -> Result<KCore> {
    control.check()?;
    control.report(PHASE, 0.0);
    let _state = control.reserve("degrees and frontiers of k-cores", topology.bound(), STATE_BYTES)?;
    let lists = Undirected::new(topology, control)?;
    let active = topology.vertices().iter().collect();
    let peeled = if rayon::current_num_threads() == 1 {
        peel_alone(&lists, active, control)
    } else {
        Peeling::of(&lists, control).run(active)
    };
    let mut found = peeled?;
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

const PHASE: &str = "kcore";

/// Bytes for each vertex besides the lists: its degree, its place among the active of this level and
/// of the next, and one in the frontier and its making.
const STATE_BYTES: usize = 4 * size_of::<u32>();

/// Vertices that one task looks at, and whose lists one task reads.
const SCAN_CHUNK: usize = 16 * 1024;
const FRONTIER_CHUNK: usize = 256;

/// Peels on one thread: the cores of the `active`, and zero for others.
///
/// Whether a neighbour is still above the level, and whether it comes down to it, can't be foreseen: so degrees and the
/// end of the order are written each time, with sums in place of branches.
fn peel_alone(lists: &Undirected, mut active: Vec<u32>, control: &Control<'_>) -> Result<KCore> {
    let count = active.len();
    let mut degrees = lists.lengths().to_vec();
    // One more than there are vertices: what isn't taken is written behind the last.
    let mut order = vec![0; count + 1];
    let (mut peeled, mut reached) = (0, 0);
    let (mut level, mut degeneracy) = (0, 0);
    while reached < count {
        control.check()?;
        let (mut kept, mut lowest) = (0, u32::MAX);
        for at in 0..active.len() {
            let vertex = active[at];
            let degree = degrees[vertex as usize];
            active[kept] = vertex;
            kept += usize::from(degree > level);
            order[reached] = vertex;
            reached += usize::from(degree == level);
            lowest = lowest.min(if degree > level { degree } else { u32::MAX });
        }
        active.truncate(kept);
        if peeled == reached {
            level = lowest;
            continue;
        }
        degeneracy = level;
        while peeled < reached {
            if peeled.is_multiple_of(FRONTIER_CHUNK) {
                control.check()?;
            }
            for neighbor in lists.list(order[peeled]) {
                let degree = &mut degrees[*neighbor as usize];
                let before = *degree;
                *degree = before - u32::from(before > level);
                order[reached] = *neighbor;
                reached += usize::from(before == level + 1);
            }
            peeled += 1;
        }
        level += 1;
        control.report(PHASE, reached as f64 / count as f64);
    }
    Ok(KCore { cores: degrees, degeneracy })
}

/// What several threads peel.
struct Peeling<'a> {
    lists: &'a Undirected,
    /// Neighbours that are left; once peeled, the core number. Relaxed: who brings a degree to the
    /// level takes the vertex over alone, and rayon orders the frontiers.
    degrees: Vec<AtomicU32>,
    control: &'a Control<'a>,
}

/// The active vertices, divided by a level.
struct LevelSplit {
    /// Those above it.
    active: Vec<u32>,
    /// Those at it.
    frontier: Vec<u32>,
    /// The lowest degree above it.
    lowest: u32,
}

impl<'a> Peeling<'a> {
    fn of(lists: &'a Undirected, control: &'a Control<'a>) -> Self {
        let degrees = lists.lengths().iter().map(|degree| AtomicU32::new(*degree)).collect();
        Self { lists, degrees, control }
    }

    /// The cores of the `active`, and zero for others.
    fn run(self, mut active: Vec<u32>) -> Result<KCore> {
        let count = active.len();
        let (mut degeneracy, mut level) = (0, 0);
        while !active.is_empty() {
            let scanned = self.scan(active, level)?;
            active = scanned.active;
            if scanned.frontier.is_empty() {
                level = scanned.lowest;
            } else {
                degeneracy = level;
                self.peel(scanned.frontier, level)?;
                level += 1;
            }
            self.control.report(PHASE, 1.0 - active.len() as f64 / count as f64);
        }
        Ok(KCore { cores: self.degrees.into_iter().map(AtomicU32::into_inner).collect(), degeneracy })
    }

    #[inline]
    fn degree(&self, vertex: u32) -> u32 {
        self.degrees[vertex as usize].load(Relaxed)
    }

    /// Divides `active` by `level`, and drops what was peeled at a lower one.
    fn scan(&self, active: Vec<u32>, level: u32) -> Result<LevelSplit> {
        let scan = |chunk: &[u32]| {
            let mut scanned = LevelSplit { active: Vec::new(), frontier: Vec::new(), lowest: u32::MAX };
            for vertex in chunk {
                let degree = self.degree(*vertex);
                if degree == level {
                    scanned.frontier.push(*vertex);
                } else if degree > level {
                    scanned.active.push(*vertex);
                    scanned.lowest = scanned.lowest.min(degree);
                }
            }
            scanned
        };
        if active.len() <= SCAN_CHUNK {
            self.control.check()?;
            return Ok(scan(&active));
        }
        let chunks = share_out(self.control, active.chunks(SCAN_CHUNK), |chunk, _| Ok(scan(chunk)))?;
        let mut all = LevelSplit { active: Vec::new(), frontier: Vec::new(), lowest: u32::MAX };
        for chunk in chunks {
            all.active.extend(chunk.active);
            all.frontier.extend(chunk.frontier);
            all.lowest = all.lowest.min(chunk.lowest);
        }
        Ok(all)
    }

    /// Takes `frontier` away, and all that comes down to `level` by it.
    fn peel(&self, mut frontier: Vec<u32>, level: u32) -> Result<()> {
        let peel = |chunk: &[u32], alone: bool| {
            let mut next = Vec::new();
            for vertex in chunk {
                let neighbors = self.lists.list(*vertex).iter().copied();
                next.extend(neighbors.filter(|neighbor| self.comes_down(*neighbor, level, alone)));
            }
            next
        };
        while !frontier.is_empty() {
            frontier = if frontier.len() <= FRONTIER_CHUNK {
                self.control.check()?;
                peel(&frontier, true)
            } else {
                let chunks = frontier.chunks(FRONTIER_CHUNK);
                share_out(self.control, chunks, |chunk, _| Ok(peel(chunk, false)))?.concat()
            };
        }
        Ok(())
    }

    /// Takes a neighbour from `vertex`, if it is above `level`; whether that brings it there. `alone`
    /// if no other thread does the same now: then the degree needs no atomic subtraction, which costs
    /// several times as much as the rest.
    #[inline]
    fn comes_down(&self, vertex: u32, level: u32, alone: bool) -> bool {
        let before = self.degree(vertex);
        if before <= level {
            return false;
        }
        let degree = &self.degrees[vertex as usize];
        if alone {
            degree.store(before - 1, Relaxed);
            return before == level + 1;
        }
        let before = degree.fetch_sub(1, Relaxed);
        if before <= level {
            // Others brought it to the level since it was looked at.
            degree.fetch_add(1, Relaxed);
        }
        before == level + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::sync::LazyLock;

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
        let error = run(&FrozenOnly::new(graph, bytes - 1), &scope, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
