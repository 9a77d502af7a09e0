//! Resolved list: a frozen list as borrowed arrays, for the time of a visit.

use crate::edge_lists::EdgeLists;
use crate::frozen::fresh_lists::FreshLists;
use evergraph_graph::id::GroupId;
use evergraph_graph::topology::{Piece, Visit};
use std::ops::Range;

/// The lists of one segment.
#[derive(Clone, Copy, Debug)]
pub struct ResolvedList<'a> {
    pub(crate) lists: EdgeLists<'a>,
    /// Of the stored edges; empty if weights weren't asked for.
    pub(crate) weights: &'a [f64],
    pub(crate) fresh: Option<&'a FreshLists>,
}

impl<'a> ResolvedList<'a> {
    /// The edges at `range` of the stored lists.
    #[inline]
    fn piece(&self, range: Range<usize>) -> Piece<'a> {
        let weights = if self.weights.is_empty() { self.weights } else { &self.weights[range.clone()] };
        Piece { neighbors: &self.lists.neighbors()[range], weights, sorted: true }
    }

    /// Calls `visitor` with the pieces of `row`; what it said last.
    #[inline]
    pub fn visit<F: FnMut(Piece<'_>) -> Visit>(&self, row: u16, visitor: F) -> Visit {
        let stored = self.piece(self.lists.range(row));
        let pieces = match self.fresh {
            Some(fresh) if fresh.touches(row) => fresh.pieces(row, stored),
            _ => (stored, None),
        };
        visit_pieces(pieces, visitor)
    }

    /// Calls `visitor` with the pieces of `rows` of `group` that only add to the stored lists.
    #[inline]
    pub(crate) fn visit_additions<F>(&self, group: GroupId, rows: Range<u16>, mut visitor: F)
    where
        F: FnMut(u32, Piece<'_>),
    {
        let Some(fresh) = self.fresh else { return };
        let first = group.first().0;
        fresh.additions(rows).for_each(|(row, piece)| visitor(first + u32::from(row), piece));
    }

    /// The list of `row` without what only adds to it.
    #[inline]
    pub(crate) fn without_additions(&self, row: u16) -> Piece<'a> {
        match self.fresh {
            Some(fresh) if fresh.replaces(row) => fresh.list(row),
            _ => self.piece(self.lists.range(row)),
        }
    }

    /// Adds to `degrees` those of `rows`, as many.
    pub(crate) fn add_degrees(&self, rows: Range<u16>, degrees: &mut [u32]) {
        let first = usize::from(rows.start);
        match self.lists.dense_ends() {
            Some(ends) => {
                let mut from = self.lists.edges_before(rows.start) as u32;
                for (degree, to) in degrees.iter_mut().zip(ends.get(first..).unwrap_or_default()) {
                    *degree += to - from;
                    from = *to;
                }
            }
            None => self.lists.for_each_row(|row, range| {
                if rows.contains(&row) {
                    degrees[usize::from(row) - first] += range.len() as u32;
                }
            }),
        }
        let Some(fresh) = self.fresh else { return };
        for (row, range) in fresh.lists(rows) {
            let degree = &mut degrees[usize::from(row) - first];
            if fresh.replaces(row) {
                *degree -= self.lists.range(row).len() as u32;
            }
            *degree += range.len() as u32;
        }
    }
}

/// Calls `visitor` with one or two pieces that are not empty; what it said last.
#[inline]
pub(crate) fn visit_pieces<'a, F: FnMut(Piece<'a>) -> Visit>(
    (mut piece, mut more): (Piece<'a>, Option<Piece<'a>>),
    mut visitor: F,
) -> Visit {
    loop {
        if !piece.neighbors.is_empty() {
            let said = visitor(piece);
            if said != Visit::Continue {
                return said;
            }
        }
        match more.take() {
            Some(next) => piece = next,
            None => return Visit::Continue,
        }
    }
}
