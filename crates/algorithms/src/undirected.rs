//! Undirected: a topology's simple undirected reading as sorted lists in memory.
//!
//! ```text
//! topology   7: out [ 9 3 ] [ 3 7 ]  in [ 4 9 ]      pieces, unsorted, parallel edges, loops
//! here       7: [ 3 4 9 ]                            ascending, each neighbour once, no loops
//!               [ . . 2 ]                            arcs of each pair, if wanted: 1, or 2 for both ways
//! ```
//!
//! What an algorithm keeps of a list, and under which number, it says itself: all of it under the
//! ids (k-cores), or only the neighbours of higher degree under their rank (triangles).
//!
//! Cost: two visits of every list (one if all is kept), and a sort of what is kept. Memory: 4 bytes for each neighbour
//! kept (before parallel edges and loops are dropped), one more with arcs, and 12 a vertex.

use crate::control::Control;
use crate::parts::Parts;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{PieceBuffer, Topology, Visit};
use std::ops::Range;

/// What these lists are called in a budget.
pub(crate) const PURPOSE: &str = "sorted undirected lists";

/// Sorted lists without duplicates, one for each number below their count.
pub(crate) struct Undirected {
    /// Where each list begins.
    starts: Vec<u64>,
    lengths: Vec<u32>,
    /// Some places between the lists of two parts aren't used.
    neighbors: Vec<u32>,
    /// As long as `neighbors`, or empty: directed edges between the two, 1 or 2, parallel ones once.
    arcs: Vec<u8>,
    _memory: Reservation,
}

impl Undirected {
    /// Every neighbour of every vertex, under their ids, without arcs.
    ///
    /// # Errors
    /// As [`Undirected::choose`].
    pub(crate) fn new<T: Topology>(topology: &T, control: &Control<'_>) -> Result<Self> {
        // What is certain to be refused later is refused before any list is read.
        drop(control.reserve_bytes(PURPOSE, topology.edge_count() * 2 * size_of::<u32>() as u64)?);
        let parts = Parts::of(topology);
        // Loops are counted too: degrees cost less than a look at every neighbour.
        let sizes = parts.map_ranges(control, |range, _| {
            let mut degrees = vec![0; range.len()];
            topology.degrees(Direction::Both, range, &mut degrees)?;
            Ok(degrees.into_iter().map(|degree| degree as usize).sum())
        })?;
        let (vertices, whole) = (topology.vertices(), topology.vertices().is_full());
        Self::build(topology, control, &parts, sizes, false, |vertex, neighbors, names| {
            if whole && !neighbors.contains(&vertex) {
                names.extend_from_slice(neighbors);
            } else {
                let kept = |neighbor: &u32| *neighbor != vertex && vertices.contains(*neighbor);
                names.extend(neighbors.iter().copied().filter(kept));
            }
        })
    }

    /// Of each vertex' list what `name` gives a name, under that name; with the number of arcs of
    /// each pair if `with_arcs`. Lists are by vertex id. `name` is never asked about a neighbour out
    /// of scope.
    ///
    /// # Errors
    /// `invalid` if `topology` hasn't both sides; `limit`; `cancelled`; errors of reading.
    pub(crate) fn choose<T, N>(topology: &T, control: &Control<'_>, with_arcs: bool, name: N) -> Result<Self>
    where
        T: Topology,
        N: Fn(u32, u32) -> Option<u32> + Sync,
    {
        let vertices = topology.vertices();
        let whole = vertices.is_full();
        let name = |vertex, neighbor| {
            if whole || vertices.contains(neighbor) { name(vertex, neighbor) } else { None }
        };
        let parts = Parts::of(topology);
        let sizes = parts.map_ranges(control, |range, buffer| {
            let mut size = 0;
            topology.visit(Direction::Both, range, buffer, |vertex, piece| {
                size += piece.neighbors.iter().filter(|neighbor| name(vertex, **neighbor).is_some()).count();
                Visit::Continue
            })?;
            Ok(size)
        })?;
        Self::build(topology, control, &parts, sizes, with_arcs, |vertex, neighbors, names| {
            names.extend(neighbors.iter().filter_map(|neighbor| name(vertex, *neighbor)));
        })
    }

    /// Of each vertex' list the neighbours with a lower id; with the number of arcs of each pair if `with_arcs`. Made for
    /// short lists. `sizes` has the edges of both sides of each part.
    ///
    /// # Errors
    /// As [`Undirected::choose`].
    pub(crate) fn lower<T: Topology>(
        topology: &T,
        control: &Control<'_>,
        with_arcs: bool,
        parts: &Parts,
        sizes: Vec<usize>,
    ) -> Result<Self> {
        if with_arcs {
            return Self::choose(topology, control, true, |vertex, other| (other < vertex).then_some(other));
        }
        let vertices = topology.vertices();
        let whole = vertices.is_full();
        Self::fill(topology, control, parts, sizes, false, |range, slot, buffer| {
            let first = range.start;
            // The list that is being made is the last.
            let (mut current, mut start, mut end) = (0, 0, 0);
            topology.visit(Direction::Both, range, buffer, |vertex, piece| {
                let at = (vertex - first) as usize;
                if at != current {
                    slot.end_list(current, start..end);
                    (current, start) = (at, end);
                }
                for neighbor in piece.neighbors {
                    if *neighbor >= vertex {
                        if piece.sorted { break } else { continue }
                    }
                    if whole || vertices.contains(*neighbor) {
                        end = insert(slot.neighbors, start..end, *neighbor);
                    }
                }
                Visit::Continue
            })?;
            slot.end_list(current, start..end);
            Ok(())
        })
    }

    /// The lists of what `keep` adds to its last argument when it is given a vertex and some of its neighbours; for a part
    /// no more than its entry of `sizes`.
    fn build<T, K>(
        topology: &T,
        control: &Control<'_>,
        parts: &Parts,
        sizes: Vec<usize>,
        with_arcs: bool,
        keep: K,
    ) -> Result<Self>
    where
        T: Topology,
        K: Fn(u32, &[u32], &mut Vec<u32>) + Sync,
    {
        Self::fill(topology, control, parts, sizes, with_arcs, |range, slot, buffer| {
            let out = SideLists::read(topology, Direction::Out, range.clone(), buffer, &keep)?;
            let incoming = SideLists::read(topology, Direction::In, range, buffer, &keep)?;
            slot.merge(&out, &incoming);
            Ok(())
        })
    }

    /// The lists that `fill` makes of the vertices of each part, whose neighbours are no more than its entry of `sizes`.
    fn fill<T, F>(
        topology: &T,
        control: &Control<'_>,
        parts: &Parts,
        sizes: Vec<usize>,
        with_arcs: bool,
        fill: F,
    ) -> Result<Self>
    where
        T: Topology,
        F: Fn(Range<u32>, &mut Slot<'_>, &mut PieceBuffer) -> Result<()> + Sync,
    {
        let total: usize = sizes.iter().sum();
        let arcs_total = if with_arcs { total } else { 0 };
        let bound = topology.bound() as usize;
        let bytes = total * size_of::<u32>() + arcs_total + bound * (size_of::<u64>() + size_of::<u32>());
        let memory = control.reserve_bytes(PURPOSE, bytes as u64)?;
        let mut lists = Self {
            starts: vec![0; bound],
            lengths: vec![0; bound],
            neighbors: vec![0; total],
            arcs: vec![0; arcs_total],
            _memory: memory,
        };
        let mut slots = Vec::with_capacity(sizes.len());
        let (mut neighbors, mut arcs, mut base) = (&mut lists.neighbors[..], &mut lists.arcs[..], 0);
        let by_part = parts.split(&mut lists.starts).into_iter().zip(parts.split(&mut lists.lengths));
        for ((starts, lengths), size) in by_part.zip(sizes) {
            let neighbors = neighbors.split_off_mut(..size).expect("sizes sum to the total");
            let arcs = arcs.split_off_mut(..size.min(arcs.len())).expect("no longer than what is left");
            slots.push(Slot { base, starts, lengths, neighbors, arcs });
            base += size as u64;
        }
        parts.map(control, slots, |range, mut slot, buffer| fill(range, &mut slot, buffer))?;
        Ok(lists)
    }

    /// The lists of `order`, in that order: list `i` is now that of `order[i]`.
    pub(crate) fn reordered(mut self, order: &[u32]) -> Self {
        self.starts = order.iter().map(|vertex| self.starts[*vertex as usize]).collect();
        self.lengths = order.iter().map(|vertex| self.lengths[*vertex as usize]).collect();
        self
    }

    /// Where the list of `vertex` is in [`Undirected::neighbors`] and [`Undirected::arcs`].
    #[inline]
    pub(crate) fn place(&self, vertex: u32) -> Range<usize> {
        let start = self.starts[vertex as usize] as usize;
        start..start + self.lengths[vertex as usize] as usize
    }

    /// The neighbours of `vertex`, ascending.
    #[inline]
    pub(crate) fn list(&self, vertex: u32) -> &[u32] {
        &self.neighbors[self.place(vertex)]
    }

    /// How many neighbours each has.
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// All lists.
    #[inline]
    pub(crate) fn neighbors(&self) -> &[u32] {
        &self.neighbors
    }

    /// Directed edges between each pair, 1 or 2; empty if they weren't asked for.
    #[inline]
    pub(crate) fn arcs(&self) -> &[u8] {
        &self.arcs
    }
}

/// Where a part's lists go.
struct Slot<'a> {
    /// Neighbours that are before this part.
    base: u64,
    starts: &'a mut [u64],
    lengths: &'a mut [u32],
    neighbors: &'a mut [u32],
    arcs: &'a mut [u8],
}

impl Slot<'_> {
    /// Merges the two sides of each vertex.
    fn merge(&mut self, out: &SideLists, incoming: &SideLists) {
        let mut end = 0;
        for (at, (start, length)) in self.starts.iter_mut().zip(&mut *self.lengths).enumerate() {
            *start = self.base + end as u64;
            let arcs = self.arcs.get_mut(end..).unwrap_or_default();
            *length = merge(out.list(at), incoming.list(at), &mut self.neighbors[end..], arcs) as u32;
            end += *length as usize;
        }
    }

    /// Makes the neighbours at `place` the list of the vertex at `at`.
    #[inline]
    fn end_list(&mut self, at: usize, place: Range<usize>) {
        if !place.is_empty() {
            (self.starts[at], self.lengths[at]) = (self.base + place.start as u64, place.len() as u32);
        }
    }
}

/// Adds `number` to the `list` in `numbers`, which ascends, where it belongs, unless it is there; returns where the list ends.
#[inline]
fn insert(numbers: &mut [u32], list: Range<usize>, number: u32) -> usize {
    let mut at = list.end;
    while at > list.start && numbers[at - 1] > number {
        at -= 1;
    }
    if at > list.start && numbers[at - 1] == number {
        return list.end;
    }
    numbers.copy_within(at..list.end, at + 1);
    numbers[at] = number;
    list.end + 1
}

/// Writes each number in either list once to `merged`, ascending, and in how many of the two it is to `arcs` (unless that
/// is empty); returns how many there are. Both lists ascend without duplicates.
fn merge<'a>(mut left: &'a [u32], mut right: &'a [u32], merged: &mut [u32], arcs: &mut [u8]) -> usize {
    if left.first() > right.first() {
        (left, right) = (right, left);
    }
    let mut end = 0;
    // Nothing is in both if one list ends before the other begins: each edge of an undirected graph may be stored once,
    // from the smaller id.
    if left.last() >= right.first() {
        while let (Some(first), Some(second)) = (left.first(), right.first()) {
            // Nobody can predict which side comes next: sums cost less than branches.
            let (in_left, in_right) = (first <= second, second <= first);
            merged[end] = *first.min(second);
            if let Some(arcs) = arcs.get_mut(end) {
                *arcs = u8::from(in_left) + u8::from(in_right);
            }
            end += 1;
            left = &left[usize::from(in_left)..];
            right = &right[usize::from(in_right)..];
        }
    }
    for rest in [left, right] {
        let place = end..end + rest.len();
        end = place.end;
        if !arcs.is_empty() {
            arcs[place.clone()].fill(1);
        }
        merged[place].copy_from_slice(rest);
    }
    end
}

/// Calls `visitor` for each place in `range` with what `keep` adds of both lists of its vertex, ascending and each once, and
/// in how many of the two each is: 1 or 2.
///
/// Memory: 9 bytes for each neighbour that is kept in the range, before parallel edges are dropped.
pub(crate) fn visit_merged<T, K>(
    topology: &T,
    range: Range<u32>,
    buffer: &mut PieceBuffer,
    keep: &K,
    mut visitor: impl FnMut(usize, &[u32], &[u8]),
) -> Result<()>
where
    T: Topology,
    K: Fn(u32, &[u32], &mut Vec<u32>),
{
    let out = SideLists::read(topology, Direction::Out, range.clone(), buffer, keep)?;
    let incoming = SideLists::read(topology, Direction::In, range.clone(), buffer, keep)?;
    let (mut merged, mut arcs) = (Vec::new(), Vec::new());
    for at in 0..range.len() {
        let (out, incoming) = (out.list(at), incoming.list(at));
        merged.resize(out.len() + incoming.len(), 0);
        arcs.resize(merged.len(), 0);
        let length = merge(out, incoming, &mut merged, &mut arcs);
        visitor(at, &merged[..length], &arcs[..length]);
    }
    Ok(())
}

/// What is kept of one side's lists of a part, each ascending without duplicates.
struct SideLists {
    names: Vec<u32>,
    /// Where the list of each vertex of the part ends.
    ends: Vec<usize>,
}

impl SideLists {
    fn read<T: Topology>(
        topology: &T,
        side: Direction,
        range: Range<u32>,
        buffer: &mut PieceBuffer,
        keep: &impl Fn(u32, &[u32], &mut Vec<u32>),
    ) -> Result<Self> {
        let mut lists = Self { names: Vec::new(), ends: vec![0; range.len()] };
        topology.visit(side, range.clone(), buffer, |vertex, piece| {
            keep(vertex, piece.neighbors, &mut lists.names);
            lists.ends[(vertex - range.start) as usize] = lists.names.len();
            Visit::Continue
        })?;
        let (mut start, mut kept) = (0, 0);
        for end in &mut lists.ends {
            // A vertex without edges may not have been visited.
            let list = start..start.max(*end);
            start = list.end;
            kept = keep_distinct(&mut lists.names, list, kept);
            *end = kept;
        }
        Ok(lists)
    }

    fn list(&self, at: usize) -> &[u32] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.names[start..self.ends[at]]
    }
}

/// Moves the numbers at `list` down to `to`, ascending and each once; returns where they end.
fn keep_distinct(numbers: &mut [u32], list: Range<usize>, to: usize) -> usize {
    // Nearly all lists do: all of a list is looked at, without a branch for each pair, which takes a fraction of the time.
    let ascends = |list: &[u32]| list.windows(2).fold(true, |ascends, pair| ascends & (pair[0] < pair[1]));
    if ascends(&numbers[list.clone()]) {
        if to < list.start {
            numbers.copy_within(list.clone(), to);
        }
        return to + list.len();
    }
    numbers[list.clone()].sort_unstable();
    let (mut end, mut last) = (to, None);
    for at in list {
        let number = numbers[at];
        numbers[end] = number;
        end += usize::from(last != Some(number));
        last = Some(number);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph};
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// The neighbours of each vertex, and in how many directions there is an edge.
    fn neighbors_by_map(graph: &Graph) -> Vec<BTreeMap<u32, u8>> {
        let arcs: BTreeSet<_> = graph.arcs(Direction::Out).iter().map(|arc| (arc.0, arc.1)).collect();
        let mut lists = vec![BTreeMap::new(); graph.vertices.bound() as usize];
        for (source, target) in arcs.into_iter().filter(|arc| arc.0 != arc.1) {
            *lists[source as usize].entry(target).or_insert(0) += 1;
            *lists[target as usize].entry(source).or_insert(0) += 1;
        }
        lists
    }

    fn check(graph: &Graph) {
        let control = Control::default();
        let want = neighbors_by_map(graph);
        let all = |vertex, neighbor| (vertex != neighbor).then_some(neighbor);
        let built = [
            Undirected::choose(&graph.csr(Direction::Both), &control, true, all).unwrap(),
            Undirected::choose(&graph.pieced(Direction::Both), &control, true, all).unwrap(),
        ];
        let plain = Undirected::new(&graph.pieced(Direction::Both), &control).unwrap();
        for (vertex, want) in (0..).zip(&want) {
            let neighbors: Vec<u32> = want.keys().copied().collect();
            let arcs: Vec<u8> = want.values().copied().collect();
            for lists in &built {
                assert_eq!(lists.list(vertex), neighbors);
                assert_eq!(lists.arcs()[lists.place(vertex)], arcs);
            }
            assert_eq!(plain.list(vertex), neighbors);
        }
        assert!(plain.arcs().is_empty());
    }

    proptest! {
        #[test]
        fn lists_hold_each_neighbour_once_ascending_with_its_arcs(graph in any_graph()) {
            check(&graph);
        }
    }

    #[test]
    fn lists_of_many_parts_do_not_run_into_each_other() {
        check(&large_graph());
    }

    #[test]
    fn only_what_is_named_is_kept_and_sorted_by_its_name() {
        let graph = Graph::new(4, &[(0, 1), (0, 2), (3, 0), (0, 3)]);
        // Higher ids only, named from the end.
        let name = |vertex, neighbor| (neighbor > vertex).then(|| 3 - neighbor);
        let lists = Undirected::choose(&graph.csr(Direction::Both), &Control::default(), true, name).unwrap();
        assert_eq!(lists.list(0), [0, 1, 2]);
        assert_eq!(lists.arcs()[lists.place(0)], [2, 1, 1]);
        assert_eq!(lists.lengths(), [3, 0, 0, 0]);
        let turned = lists.reordered(&[3, 0]);
        assert_eq!((turned.list(0), turned.list(1)), (&[][..], &[0, 1, 2][..]));
    }

    #[test]
    fn both_sides_are_needed() {
        let csr = Graph::new(2, &[(0, 1)]).csr(Direction::Out);
        let error = Undirected::new(&csr, &Control::default()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| {
            control.check()?;
            control.report("lists", 0.0);
            Undirected::new(&csr, control).map(|lists| lists.lengths().len())
        });
    }
}
