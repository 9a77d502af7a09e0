//! Coalesced lists: the lists of each vertex in one place, for algorithms that visit all of them round after round.
//!
//! ```text
//! a group's lists   one a type and side, fresh ones on top:  a visit looks at each of them, for each vertex
//! coalesced         one, sorted, of both sides too:          a visit is that of a static array
//! ```
//!
//! A property graph has many types and short lists, a walk both ways has two sides, and then most of a visit is spent between the
//! lists. The copy costs about two visits. Groups that have one list are shared as they are, and so are those whose lists are long.
//!
//! Only whoever takes neighbours in any order, and does not ask of which side they are, may have lists in this form: an edge to a
//! vertex itself is there twice in the list of both sides, as it is in the two.

use crate::edge_body::EdgeBody;
use crate::frozen::frozen_graph::FrozenGraph;
use crate::frozen::frozen_list::{FrozenList, ListWeights};
use crate::frozen::resolved_list::RowCursor;
use crate::frozen::stored_lists::StoredLists;
use evergraph_graph::budget::Budget;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId};
use evergraph_graph::topology::{Topology as _, Visit};
use rayon::prelude::*;
use std::sync::Arc;

const PURPOSE: &str = "lists in one place";

/// A copy is worth it if more than one in so many edges lie in groups with several lists.
const SHARED_LISTS_MAX: u64 = 4;

/// A group is copied if it has at most so many edges for each look at another list that the copy saves in a visit. To copy an
/// edge takes about half as long as such a look, which is saved in some twenty rounds: an estimate, with room for the rest.
const EDGES_A_LOOK_MAX: u64 = 32;

/// Rows between two looks at whether to go on.
const ROWS_AT_ONCE: u16 = 64;

impl<S: StoredLists> FrozenGraph<S> {
    /// As [`evergraph_graph::topology::Topology::coalesced`].
    pub(crate) fn coalesce(
        &self,
        direction: Direction,
        budget: &dyn Budget,
        cancel: &CancelFlag,
    ) -> Result<Option<Self>> {
        let lists_of = self.of_direction(direction)?;
        // Of each side that is visited.
        let of_group = |group: u32| -> Vec<&FrozenList<S>> {
            let (lists, others) = lists_of(GroupId(group));
            lists.iter().chain(others).collect()
        };
        let groups = 0..self.bound().div_ceil(GROUP_SIZE);
        let (mut copied_edges, mut copied_groups, mut all_edges) = (0, 0, 0);
        let mut largest = 0;
        let mut is_weighted = false;
        for group in groups.clone() {
            let lists = of_group(group);
            let edges = edges_count(&lists);
            all_edges += edges;
            if is_copied(&lists) {
                copied_edges += edges;
                largest = edges.max(largest);
                copied_groups += 1;
                is_weighted |= lists[0].is_weighted();
            }
        }
        if copied_edges * SHARED_LISTS_MAX <= all_edges {
            return Ok(None);
        }
        let edge_bytes = if is_weighted { 12 } else { 4 };
        let bytes = copied_edges * edge_bytes + copied_groups * u64::from(GROUP_SIZE) * 4;
        // Sorting needs some of a group's edges twice more.
        let bytes = bytes + largest * edge_bytes * 2;
        // The lists serve as they are: nobody is refused memory for a copy, unless there was as much again.
        let Ok(twice) = budget.reserve(PURPOSE, bytes.saturating_mul(2)) else { return Ok(None) };
        drop(twice);
        let Ok(reservation) = budget.reserve(PURPOSE, bytes) else { return Ok(None) };
        let lists = groups.into_par_iter().map(|group| coalesced(&of_group(group), cancel));
        let lists: Vec<Box<[FrozenList<S>]>> = lists.collect::<Result<_>>()?;
        Ok(Some(self.with_lists(direction, lists, reservation)))
    }
}

fn edges_count<S: StoredLists>(lists: &[&FrozenList<S>]) -> u64 {
    lists.iter().map(|list| list.edges_count()).sum()
}

/// Whether a vertex of a group may have several lists, one list can have all of them, and it is worth making.
fn is_copied<S: StoredLists>(lists: &[&FrozenList<S>]) -> bool {
    let edges = edges_count(lists);
    let looks_saved = (lists.len() as u64).saturating_sub(1) * u64::from(GROUP_SIZE);
    lists.len() > 1 && edges <= u64::from(u32::MAX) && edges <= looks_saved * EDGES_A_LOOK_MAX
}

/// The lists of a group as one, if it is copied.
fn coalesced<S: StoredLists>(lists: &[&FrozenList<S>], cancel: &CancelFlag) -> Result<Box<[FrozenList<S>]>> {
    if !is_copied(lists) {
        return Ok(lists.iter().copied().cloned().collect());
    }
    let edges = edges_count(lists) as usize;
    let is_weighted = lists[0].is_weighted();
    let mut degrees = vec![0; GROUP_SIZE as usize];
    let mut cursors: Vec<RowCursor<'_>> = Vec::with_capacity(lists.len());
    for list in lists {
        let cursor = list.cursor(0)?;
        cursor.list.add_degrees(0..GROUP_SIZE as u16, &mut degrees);
        cursors.push(cursor);
    }
    let mut neighbors: Vec<u32> = Vec::with_capacity(edges);
    let mut weights: Vec<f64> = Vec::with_capacity(if is_weighted { edges } else { 0 });
    let mut pairs = Vec::new();
    for row in 0..GROUP_SIZE as u16 {
        if row.is_multiple_of(ROWS_AT_ONCE) {
            cancel.check()?;
        }
        if degrees[usize::from(row)] == 0 {
            continue;
        }
        let start = neighbors.len();
        let mut pieces = 0;
        for cursor in &mut cursors {
            cursor.visit(row, |piece| {
                neighbors.extend_from_slice(piece.neighbors);
                weights.extend_from_slice(piece.weights);
                pieces += 1;
                Visit::Continue
            });
        }
        if pieces > 1 && is_weighted {
            pairs.clear();
            pairs.extend(neighbors[start..].iter().copied().zip(weights[start..].iter().copied()));
            pairs.sort_by_key(|pair: &(u32, f64)| pair.0);
            for (at, (neighbor, weight)) in (start..).zip(&pairs) {
                (neighbors[at], weights[at]) = (*neighbor, *weight);
            }
        } else if pieces > 1 {
            // Sorted runs: the stable sort merges them.
            neighbors[start..].sort();
        }
    }
    let body = EdgeBody::new(&degrees, neighbors.into(), Box::default(), Vec::new());
    let weights = if is_weighted { ListWeights::Own(Arc::new(weights)) } else { ListWeights::None };
    Ok(Box::from([FrozenList::new(S::of_copy(Arc::new(body)), weights, None)?]))
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::frozen::test_source::{ReadWatch, TestEdge, TestSource, WatchedLists, frozen, visited};
    use evergraph_graph::budget::{Reservation, Unlimited};
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::topology::{PieceBuffer, Projection};
    use evergraph_graph::value::ValueType;
    use evergraph_storage::memory_budget::MemoryBudget;
    use rayon::ThreadPoolBuilder;

    fn lists(
        labels: &[u16],
        edges: &[TestEdge],
        watch: Option<&Arc<ReadWatch>>,
    ) -> FrozenGraph<WatchedLists> {
        let (source, budget) = (TestSource::new(labels, edges, watch), MemoryBudget::new(u64::MAX));
        frozen(&source, None, &Projection::all(Direction::Both), ValueType::I64, &budget)
            .expect("there is memory")
    }

    /// Edges of two types, there and back, parallel, and from a vertex to itself.
    fn few_edges() -> Vec<TestEdge> {
        let ends = [(0, 0, 1), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 1, 4100), (4100, 0, 1), (7, 1, 1)];
        ends.map(|(source, edge_type, target)| TestEdge::stored(source, edge_type, target)).to_vec()
    }

    #[test]
    fn both_sides_become_one_list_of_each_vertex_and_neither_is_left() {
        let mut edges = few_edges();
        edges[6].is_fresh = true;
        let graph = lists(&[0, 0], &edges, None);
        let coalesced = graph.coalesce(Direction::Both, &Unlimited, &CancelFlag::default()).unwrap().unwrap();
        let want = visited(&graph, Direction::Both);
        assert_eq!(want[&0].iter().map(|(neighbor, _)| *neighbor).collect::<Vec<_>>(), [0, 0, 1, 1, 1, 4100]);
        assert_eq!(visited(&coalesced, Direction::Both), want);
        let mut pieces = Vec::new();
        let buffer = &mut PieceBuffer::default();
        coalesced
            .visit(Direction::Both, 0..coalesced.bound(), buffer, |vertex, _| {
                pieces.push(vertex);
                Visit::Continue
            })
            .unwrap();
        assert_eq!(pieces, want.keys().copied().collect::<Vec<_>>(), "a list each");
        let (mut found, mut degrees) = (vec![0; 8192], vec![0; 8192]);
        coalesced.degrees(Direction::Both, 0..8192, &mut found).unwrap();
        graph.degrees(Direction::Both, 0..8192, &mut degrees).unwrap();
        assert_eq!((found, coalesced.edge_count()), (degrees, 7));
        for side in [Direction::Out, Direction::In] {
            let error = coalesced.degrees(side, 0..1, &mut [0]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(coalesced.visit(side, 0..1, buffer, |_, _| Visit::Continue).is_err());
            assert!(coalesced.visit_each(side, &[0], buffer, |_, _| Visit::Continue).is_err());
            assert!(coalesced.visit_pieces(side, 0..1, buffer, |_, _, _| ()).is_err());
        }
        let again = coalesced.coalesce(Direction::Both, &Unlimited, &CancelFlag::default()).unwrap();
        assert!(again.is_none(), "they lie so already");
    }

    #[test]
    fn a_side_of_one_list_a_group_is_not_copied_though_both_are() {
        let edges: Vec<TestEdge> = few_edges().into_iter().filter(|edge| edge.edge_type == 0).collect();
        let graph = lists(&[0, 0], &edges, None);
        let coalesce = |direction| graph.coalesce(direction, &Unlimited, &CancelFlag::default()).unwrap();
        assert!(coalesce(Direction::Out).is_none() && coalesce(Direction::In).is_none());
        assert_eq!(
            visited(&coalesce(Direction::Both).unwrap(), Direction::Both),
            visited(&graph, Direction::Both)
        );
    }

    #[test]
    fn long_lists_are_not_copied() {
        // Of so many edges to the rows of one group, from another one; in lists of two types.
        let edges = |each: u32| {
            let edge = |at: u32| TestEdge::stored(4096 + at / 64 % 64, (at % 2) as u16, at / 2 % 4096);
            (0..each * 4096).map(edge).collect::<Vec<_>>()
        };
        for (each, is_copied) in [(32, true), (33, false)] {
            let graph = lists(&[0, 0], &edges(each), None);
            let coalesced = graph.coalesce(Direction::In, &Unlimited, &CancelFlag::default()).unwrap();
            assert_eq!(coalesced.is_some(), is_copied, "{each} edges a row");
        }
    }

    #[test]
    fn a_copy_is_counted_while_it_is_there_and_not_made_without_twice_the_memory() {
        let graph = lists(&[0, 0], &few_edges(), None);
        let unlimited = MemoryBudget::new(u64::MAX);
        let coalesce =
            |budget: &MemoryBudget| graph.coalesce(Direction::Both, budget, &CancelFlag::default()).unwrap();
        let copy = coalesce(&unlimited);
        // A neighbour on either side of seven edges, ends in two groups; to sort those of the first, at most 12.
        let bytes = unlimited.used_bytes();
        assert_eq!(bytes, 14 * 4 + 2 * 4096 * 4 + 12 * 4 * 2);
        assert!(copy.is_some());
        drop(copy);
        assert_eq!(unlimited.used_bytes(), 0);
        assert!(coalesce(&MemoryBudget::new(2 * bytes - 1)).is_none());
        assert!(coalesce(&MemoryBudget::new(2 * bytes)).is_some());
    }

    /// Asks to stop as soon as somebody reserves memory.
    struct CancellingBudget(CancelFlag);

    impl Budget for CancellingBudget {
        fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation> {
            self.0.cancel();
            Unlimited.reserve(purpose, bytes)
        }
    }

    #[test]
    fn a_copy_stops_where_it_is_when_it_is_cancelled() {
        let flag = CancelFlag::default();
        let graph = lists(&[0, 0], &few_edges(), None);
        let error = graph.coalesce(Direction::Both, &CancellingBudget(flag.clone()), &flag).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");

        // Both lists of each of 50 groups are read once: the flag is set while the lists of the third are copied.
        let edges: Vec<TestEdge> = (0..50 * 2)
            .map(|at| TestEdge::stored(at / 2 * GROUP_SIZE, (at % 2) as u16, at / 2 * GROUP_SIZE + 1))
            .collect();
        let watch = Arc::new(ReadWatch::default());
        let graph = lists(&[0; 50], &edges, Some(&watch));
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let coalesce = || pool.install(|| graph.coalesce(Direction::Out, &Unlimited, &watch.flag));
        watch.cancel_at(0);
        assert!(coalesce().unwrap().is_some());
        assert_eq!(watch.reads(), 100);
        watch.cancel_at(6);
        let error = coalesce().err().unwrap();
        assert_eq!((error.kind(), watch.reads()), (ErrorKind::Cancelled, 6), "{error}");
    }
}
