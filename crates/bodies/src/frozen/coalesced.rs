//! Coalesced lists: the lists of each vertex in one place, for algorithms that visit all of them round after round.
//!
//! ```text
//! a group's lists   one a type, fresh ones on top:  a visit looks at each of them, for each vertex
//! coalesced         one, sorted:                    a visit is that of a static array
//! ```
//!
//! A property graph has many types and short lists, and then most of a visit is spent between the lists. The copy costs about
//! two visits. Groups that have one list are shared as they are.

use crate::edge_body::EdgeBody;
use crate::frozen::frozen_graph::FrozenGraph;
use crate::frozen::frozen_list::{FrozenList, ListWeights};
use crate::frozen::resolved_list::ResolvedList;
use crate::frozen::stored_lists::StoredLists;
use evergraph_graph::budget::Budget;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GROUP_SIZE};
use evergraph_graph::topology::Visit;
use rayon::prelude::*;
use std::sync::Arc;

const PURPOSE: &str = "lists in one place";

/// A copy is worth it if more than one in so many edges lie in groups with several lists.
const SHARED_LISTS_MAX: u64 = 4;

/// Rows between two looks at whether to go on.
const ROWS_AT_ONCE: u16 = 64;

/// The lists of a group on one side.
type FrozenGroup<S> = Box<[FrozenList<S>]>;

impl<S: StoredLists> FrozenGraph<S> {
    /// As [`evergraph_graph::topology::Topology::coalesced`].
    pub(crate) fn coalesce(
        &self,
        direction: Direction,
        budget: &dyn Budget,
        cancel: &CancelFlag,
    ) -> Result<Option<Self>> {
        let (mut copied_edges, mut copied_groups, mut all_edges) = (0, 0, 0);
        let mut largest = 0;
        let mut is_weighted = false;
        for side in direction.sides() {
            for lists in self.side(*side)? {
                let edges: u64 = lists.iter().map(FrozenList::edges_count).sum();
                all_edges += edges;
                if is_split(lists) {
                    copied_edges += edges;
                    largest = edges.max(largest);
                    copied_groups += 1;
                    is_weighted |= lists[0].is_weighted();
                }
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
        let side = |side| -> Result<Vec<FrozenGroup<S>>> {
            match direction.sides().contains(&side) {
                true => self.side(side)?.par_iter().map(|lists| coalesced(lists, cancel)).collect(),
                false => Ok(Vec::new()),
            }
        };
        let (out, into) = (side(Direction::Out)?, side(Direction::In)?);
        Ok(Some(self.with_sides(direction, out, into, reservation)))
    }
}

/// Whether a vertex of a group may have several lists, and one list can have all of them.
fn is_split<S: StoredLists>(lists: &[FrozenList<S>]) -> bool {
    let edges: u64 = lists.iter().map(FrozenList::edges_count).sum();
    lists.len() > 1 && edges <= u64::from(u32::MAX)
}

/// The lists of a group as one.
fn coalesced<S: StoredLists>(lists: &[FrozenList<S>], cancel: &CancelFlag) -> Result<FrozenGroup<S>> {
    if !is_split(lists) {
        return Ok(lists.into());
    }
    let edges: u64 = lists.iter().map(FrozenList::edges_count).sum();
    let is_weighted = lists[0].is_weighted();
    let lists = lists.iter().map(FrozenList::resolved).collect::<Result<Vec<ResolvedList<'_>>>>()?;
    let mut degrees = vec![0; GROUP_SIZE as usize];
    lists.iter().for_each(|list| list.add_degrees(0..GROUP_SIZE as u16, &mut degrees));
    let mut neighbors: Vec<u32> = Vec::with_capacity(edges as usize);
    let mut weights: Vec<f64> = Vec::with_capacity(if is_weighted { edges as usize } else { 0 });
    let mut pairs = Vec::new();
    cancel.check()?;
    for row in (0..GROUP_SIZE as u16).filter(|row| degrees[usize::from(*row)] > 0) {
        if row % ROWS_AT_ONCE == 0 {
            cancel.check()?;
        }
        let start = neighbors.len();
        let mut pieces = 0;
        for list in &lists {
            list.visit(row, |piece| {
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
    let weights = if is_weighted { ListWeights::Own(weights.into()) } else { ListWeights::None };
    Ok(Box::from([FrozenList::new(S::of_copy(Arc::new(body)), weights, None)?]))
}
