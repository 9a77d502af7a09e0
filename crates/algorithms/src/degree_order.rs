//! Degree order: vertices ranked from hubs down, each with its higher neighbours; finds triangles.
//!
//! ```text
//! rank       0 = the vertex with the most edges; ties by id
//! list(u)    the neighbours of u with a lower rank, by their ranks, sorted
//!
//! for u, for v in list(u):  each w both in list(v) and in list(u) is a triangle u, v, w
//! ```
//!
//! If no vertex has many edges, the rank is the id: that saves the sort, and lists lie near those of their neighbours.
//!
//! Every triangle is found once, from its vertex of lowest degree. No list is longer than the root
//! of twice the edges, hubs have the shortest ones, and all that is looked at often lies together
//! at the low ranks.
//!
//! A list is intersected with others by marking its members once in an array of all ranks, and reading
//! the other lists. (Searching lists by halves that are 4 to 32 times as long as what is before v in
//! this one took 33 to 3 % more time on a skewed graph.)
//!
//! The count of a vertex may be of triangles, or of the arcs opposite to it in them: 1 or 2 each.

use crate::control::Control;
use crate::parts::{Parts, ranges_by_length, share_out_with};
use crate::undirected::{PURPOSE, Undirected};
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// If no vertex has more edges than this, both sides counted, an order by degree saves less than making it takes.
const EVEN_DEGREE_MAX: u32 = 64;

/// The vertices of a topology in order of their degrees, and lists of the neighbours before each.
pub(crate) struct DegreeOrder {
    /// The vertices in scope; the place in here is the rank. `None` if the rank of each vertex is its id.
    vertices: Option<Vec<u32>>,
    /// By rank.
    lists: Undirected,
    _memory: Option<Reservation>,
}

impl DegreeOrder {
    /// Orders `topology` by the edges of both sides, parallel ones included; by id if nobody has many.
    ///
    /// # Errors
    /// `invalid` if `topology` hasn't both sides; `limit`; `cancelled`; errors of reading.
    pub(crate) fn new<T: Topology>(topology: &T, with_arcs: bool, control: &Control<'_>) -> Result<Self> {
        if topology.scratch().is_some() {
            // Each edge but loops is in one list. What is certain to be refused costs no pass over the lists.
            let bytes = size_of::<u32>() as u64 + u64::from(with_arcs);
            drop(control.reserve_bytes(PURPOSE, topology.edge_count() * bytes)?);
        }
        let parts = Parts::of(topology);
        let sizes = parts.map_ranges(control, |range, _| {
            let mut degrees = vec![0; range.len()];
            topology.degrees(Direction::Both, range, &mut degrees)?;
            let even = degrees.iter().all(|degree| *degree <= EVEN_DEGREE_MAX);
            Ok(even.then(|| degrees.iter().map(|degree| *degree as usize).sum()))
        })?;
        if let Some(sizes) = sizes.into_iter().collect() {
            let lists = Undirected::lower(topology, control, with_arcs, &parts, sizes)?;
            return Ok(Self { vertices: None, lists, _memory: None });
        }
        Self::ranked(topology, with_arcs, control)
    }

    /// As [`DegreeOrder::new`], by degree in any case.
    ///
    /// Cost: a sort of the vertices by degree, and what [`Undirected::choose`] costs.
    fn ranked<T: Topology>(topology: &T, with_arcs: bool, control: &Control<'_>) -> Result<Self> {
        let bound = topology.bound();
        // The order, what it is sorted by, and the ranks.
        let memory = control.reserve("degree order", bound, 4 * size_of::<u32>())?;
        let parts = Parts::of(topology);
        let mut degrees = vec![0; bound as usize];
        parts.map(control, parts.split(&mut degrees), |range, degrees, _| {
            topology.degrees(Direction::Both, range, degrees)
        })?;
        let mut vertices: Vec<u32> = topology.vertices().iter().collect();
        vertices.par_sort_unstable_by_key(|vertex| (Reverse(degrees[*vertex as usize]), *vertex));
        let mut ranks = degrees;
        for (rank, vertex) in (0..).zip(&vertices) {
            ranks[*vertex as usize] = rank;
        }
        let before = |vertex, neighbor| {
            let (rank, neighbor) = (ranks[vertex as usize], ranks[neighbor as usize]);
            (neighbor < rank).then_some(neighbor)
        };
        let lists = Undirected::choose(topology, control, with_arcs, before)?.reordered(&vertices);
        Ok(Self { vertices: Some(vertices), lists, _memory: Some(memory) })
    }

    /// What vertices have, where `by_rank` is what ranks have: `bound` values, zero for a vertex without a rank.
    pub(crate) fn by_vertex<A: Copy + Default>(&self, by_rank: Vec<A>, bound: u32) -> Vec<A> {
        let Some(vertices) = &self.vertices else { return by_rank };
        let mut by_vertex = vec![A::default(); bound as usize];
        for (vertex, value) in vertices.iter().zip(by_rank) {
            by_vertex[*vertex as usize] = value;
        }
        by_vertex
    }

    /// The neighbours that each rank has, before it and behind it.
    pub(crate) fn degrees(&self, control: &Control<'_>) -> Result<Vec<u32>> {
        let degrees: Vec<AtomicU32> =
            self.lists.lengths().iter().map(|length| AtomicU32::new(*length)).collect();
        self.share_out(
            control,
            || (),
            |ranks, ()| {
                for rank in ranks {
                    for other in self.lists.list(rank) {
                        degrees[*other as usize].fetch_add(1, Relaxed);
                    }
                }
            },
        )?;
        Ok(degrees.into_iter().map(AtomicU32::into_inner).collect())
    }

    /// How many triangles each rank is in. Reserves and takes 8 bytes a vertex, and 4 for each
    /// thread.
    pub(crate) fn triangles(&self, phase: &'static str, control: &Control<'_>) -> Result<Vec<u64>> {
        self.count(phase, control, |_| 1)
    }

    /// How many directed edges there are between the neighbours of each rank, parallel ones counted
    /// once. The order must have been made with arcs.
    pub(crate) fn opposite_arcs(&self, phase: &'static str, control: &Control<'_>) -> Result<Vec<u64>> {
        let arcs = self.lists.arcs();
        self.count(phase, control, |place| u64::from(arcs[place]))
    }

    /// For each rank, the sum over its triangles of `worth` of the opposite edge, which is given by
    /// its place among all lists.
    fn count<W>(&self, phase: &'static str, control: &Control<'_>, worth: W) -> Result<Vec<u64>>
    where
        W: Fn(usize) -> u64 + Sync,
    {
        let count = self.lists.lengths().len();
        let threads = rayon::current_num_threads();
        let marks = if self.vertices.is_some() { count } else { 0 };
        let bytes = count * size_of::<AtomicU64>() + marks * threads * size_of::<u32>();
        let _memory = control.reserve_bytes(phase, bytes as u64)?;
        // Relaxed: sums that nobody reads before all are made.
        let counts: Vec<AtomicU64> = (0..count).map(|_| AtomicU64::new(0)).collect();
        self.share_out(
            control,
            || Marks::new(marks),
            |ranks, marks| {
                for rank in ranks {
                    if self.vertices.is_none() {
                        count_by_merging(&self.lists, rank, &counts, &worth);
                    } else {
                        marks.count(&self.lists, rank, &counts, &worth);
                    }
                }
            },
        )?;
        Ok(counts.into_iter().map(AtomicU64::into_inner).collect())
    }

    /// Runs `work` on ranges of ranks with about even lists.
    fn share_out<S>(
        &self,
        control: &Control<'_>,
        scratch: impl Fn() -> S + Sync,
        work: impl Fn(Range<u32>, &mut S) + Sync,
    ) -> Result<()> {
        let ranges = ranges_by_length(self.lists.lengths());
        share_out_with(control, ranges.into_iter(), scratch, |range, scratch| {
            work(range, scratch);
            Ok(())
        })?;
        Ok(())
    }
}

/// As [`Marks::count`], for short lists: no memory but theirs is looked at.
fn count_by_merging<W>(lists: &Undirected, rank: u32, counts: &[AtomicU64], worth: &W)
where
    W: Fn(usize) -> u64,
{
    let place = lists.place(rank);
    let list = &lists.neighbors()[place.clone()];
    let mut opposite = 0;
    for (at, second) in list.iter().enumerate().skip(1) {
        let mut own = 0;
        let others = lists.place(*second);
        let mut third_at = 0;
        for (others_at, other) in (others.start..).zip(&lists.neighbors()[others]) {
            while list[third_at] < *other {
                third_at += 1;
            }
            // No neighbour of `second` in these lists is above it, and so the end of `list` isn't come to.
            if list[third_at] == *other {
                opposite += worth(others_at);
                own += worth(place.start + third_at);
                counts[*other as usize].fetch_add(worth(place.start + at), Relaxed);
            }
        }
        if own > 0 {
            counts[*second as usize].fetch_add(own, Relaxed);
        }
    }
    if opposite > 0 {
        counts[rank as usize].fetch_add(opposite, Relaxed);
    }
}

/// What one thread needs to intersect one list with others.
struct Marks {
    /// For each rank in the present list, its place there plus one; zero for all others.
    places: Vec<u32>,
    /// What was found for each place of the present list.
    found: Vec<u64>,
}

impl Marks {
    fn new(count: usize) -> Self {
        Self { places: vec![0; count], found: Vec::new() }
    }

    /// Adds the triangles whose highest rank is `rank` to the `counts` of their corners.
    fn count<W>(&mut self, lists: &Undirected, rank: u32, counts: &[AtomicU64], worth: &W)
    where
        W: Fn(usize) -> u64,
    {
        let place = lists.place(rank);
        let list = &lists.neighbors()[place.clone()];
        if list.len() < 2 {
            return;
        }
        for (at, other) in (1..).zip(list) {
            self.places[*other as usize] = at;
        }
        self.found.clear();
        self.found.resize(list.len(), 0);
        let mut opposite = 0;
        for (at, second) in list.iter().enumerate().skip(1) {
            let (mut own, worth_of_pair) = (0, worth(place.start + at));
            let others = lists.place(*second);
            for (others_at, other) in (others.start..).zip(&lists.neighbors()[others]) {
                let third = self.places[*other as usize] as usize;
                if third != 0 {
                    opposite += worth(others_at);
                    own += worth(place.start + third - 1);
                    self.found[third - 1] += worth_of_pair;
                }
            }
            self.found[at] += own;
        }
        for (other, found) in list.iter().zip(&self.found) {
            self.places[*other as usize] = 0;
            // One addition a member of the list, not one a triangle.
            if *found > 0 {
                counts[*other as usize].fetch_add(*found, Relaxed);
            }
        }
        counts[rank as usize].fetch_add(opposite, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn one_hub_suffices_for_an_order_by_degree() {
        let star = |leaves| {
            let edges: Vec<_> = (0..leaves).map(|leaf| (leaves, leaf)).collect();
            Graph::new(leaves + 1, &edges).csr(Direction::Both)
        };
        let by_id = |csr| DegreeOrder::new(&csr, false, &Control::default()).unwrap().vertices.is_none();
        assert!(by_id(star(EVEN_DEGREE_MAX)) && !by_id(star(EVEN_DEGREE_MAX + 1)));
    }

    #[test]
    fn hubs_come_first_and_lists_lead_to_them() {
        let graph = Graph::new(5, &[(4, 0), (2, 4), (3, 4), (3, 2), (3, 3)]).without(&[1]);
        let order = DegreeOrder::ranked(&graph.csr(Direction::Both), true, &Control::default()).unwrap();
        // A loop counts twice for the order, and not at all in a list.
        assert_eq!(order.vertices.as_deref(), Some(&[3, 4, 2, 0][..]));
        let lists: Vec<&[u32]> = (0..4).map(|rank| order.lists.list(rank)).collect();
        assert_eq!(lists, [&[][..], &[0], &[0, 1], &[1]]);
        assert_eq!(order.degrees(&Control::default()).unwrap(), [2, 3, 2, 1]);
    }

    proptest! {
        #[test]
        fn degrees_are_numbers_of_different_neighbours(graph in any_graph()) {
            let control = Control::default();
            let pieced = graph.pieced(Direction::Both);
            let plain = DegreeOrder::new(&pieced, false, &control);
            let ranked = DegreeOrder::ranked(&pieced, false, &control);
            let mut neighbors = vec![BTreeSet::new(); graph.vertices.bound() as usize];
            for (source, target, _) in graph.arcs(Direction::Both).into_iter().filter(|arc| arc.0 != arc.1) {
                neighbors[source as usize].insert(target);
            }
            let want: Vec<_> = neighbors.iter().map(|neighbors| neighbors.len() as u32).collect();
            for order in [plain.unwrap(), ranked.unwrap()] {
                prop_assert_eq!(&order.by_vertex(order.degrees(&control).unwrap(), graph.vertices.bound()), &want);
            }
        }

        #[test]
        fn an_order_by_id_finds_the_triangles_and_arcs_of_one_by_degree(graph in any_graph()) {
            let (control, pieced) = (Control::default(), graph.pieced(Direction::Both));
            let bound = graph.vertices.bound();
            let plain = DegreeOrder::new(&pieced, true, &control).unwrap();
            let ranked = DegreeOrder::ranked(&pieced, true, &control).unwrap();
            prop_assert!(plain.vertices.is_none());
            let all = |order: &DegreeOrder| {
                let (triangles, arcs) = (order.triangles("test", &control), order.opposite_arcs("test", &control));
                [triangles, arcs].map(|counts| order.by_vertex(counts.unwrap(), bound))
            };
            prop_assert_eq!(all(&plain), all(&ranked));
        }
    }
}
