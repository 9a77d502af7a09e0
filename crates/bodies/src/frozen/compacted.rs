//! Compacting: the lists of each vertex in one place, for algorithms that visit all of them round after round.
//!
//! ```text
//! a group's lists   one a type, fresh ones on top:  a visit looks at each of them, for each vertex
//! compacted         one, sorted:                    a visit is that of a static array
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
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GROUP_SIZE};
use evergraph_graph::topology::Visit;
use rayon::prelude::*;
use std::sync::Arc;

/// A copy is worth it if more than one in so many edges lie in groups with several lists.
const SHARED_LISTS_MAX: u64 = 4;

type GroupLists<S> = Box<[FrozenList<S>]>;

impl<S: StoredLists> FrozenGraph<S> {
    /// As [`evergraph_graph::topology::Topology::compacted`].
    pub(crate) fn compact(&self, direction: Direction, budget: &dyn Budget) -> Result<Option<Self>> {
        let (mut copied_edges, mut copied_groups, mut all_edges) = (0, 0, 0);
        let mut is_weighted = false;
        for side in direction.sides() {
            for lists in self.side(*side)? {
                let edges: u64 = lists.iter().map(FrozenList::edges_count).sum();
                all_edges += edges;
                if lists.len() > 1 {
                    copied_edges += edges;
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
        // Without memory for it the lists serve as they are.
        let Ok(reservation) = budget.reserve("lists in one place", bytes) else { return Ok(None) };
        let side = |side| -> Result<Vec<GroupLists<S>>> {
            match direction.sides().contains(&side) {
                true => self.side(side)?.par_iter().map(|lists| one_list(lists)).collect(),
                false => Ok(Vec::new()),
            }
        };
        let (out, into) = (side(Direction::Out)?, side(Direction::In)?);
        Ok(Some(self.with_sides(direction, out, into, reservation)))
    }
}

/// The lists of a group as one.
fn one_list<S: StoredLists>(lists: &[FrozenList<S>]) -> Result<GroupLists<S>> {
    if lists.len() <= 1 {
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
    for row in (0..GROUP_SIZE as u16).filter(|row| degrees[usize::from(*row)] > 0) {
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
