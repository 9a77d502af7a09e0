//! Resolved list: a frozen list as borrowed arrays, for the time of a visit.
//!
//! ```text
//! ResolvedList   one row, any          sparse lists are searched for it
//! RowCursor      rows that ascend      the entries of sparse lists are passed one by one
//! ```
//!
//! Most rows of a sparse list have no entry: a search for each of them took most of the time of a visit of all.

use crate::edge_lists::EdgeLists;
use crate::frozen::fresh_lists::FreshLists;
use evergraph_graph::id::GroupId;
use evergraph_graph::topology::{Piece, Visit};
use std::ops::Range;

/// The lists of one segment.
#[derive(Clone, Copy, Debug)]
pub struct ResolvedList<'a> {
    pub(crate) lists: EdgeLists<'a>,
    /// Of the stored edges.
    pub(crate) weights: ResolvedWeights<'a>,
    pub(crate) fresh: Option<&'a FreshLists>,
}

/// The weights of stored edges.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ResolvedWeights<'a> {
    /// None were asked for.
    None,
    /// One for each edge.
    Each(&'a [f64]),
    /// The same for all, as often as the longest list has edges, or more.
    Same(&'a [f64]),
}

impl<'a> ResolvedWeights<'a> {
    /// Those of the edges at `places`, which are of one row.
    #[inline]
    pub(crate) fn of(self, places: Range<usize>) -> &'a [f64] {
        match self {
            Self::None => &[],
            Self::Each(weights) => &weights[places],
            Self::Same(weights) => &weights[..places.len()],
        }
    }
}

impl<'a> ResolvedList<'a> {
    /// The edges at `range` of the stored lists, which are of one row.
    #[inline]
    pub(crate) fn piece(&self, range: Range<usize>) -> Piece<'a> {
        let weights = self.weights.of(range.clone());
        Piece { neighbors: &self.lists.neighbors()[range], weights, sorted: true }
    }

    /// Calls `visitor` with the pieces of `row`; what it said last.
    #[inline]
    pub fn visit<F: FnMut(Piece<'_>) -> Visit>(&self, row: u16, visitor: F) -> Visit {
        self.visit_at(row, self.lists.range(row), visitor)
    }

    /// As [`ResolvedList::visit`], of a row whose stored list lies at `range`.
    #[inline]
    fn visit_at<F: FnMut(Piece<'_>) -> Visit>(&self, row: u16, range: Range<usize>, visitor: F) -> Visit {
        let stored = self.piece(range);
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

/// A list whose rows are visited in ascending order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCursor<'a> {
    pub(crate) list: ResolvedList<'a>,
    /// Of sparse lists, the first entry that was not passed.
    entry: usize,
}

impl<'a> RowCursor<'a> {
    /// Before `row`.
    #[inline]
    pub(crate) fn at(list: ResolvedList<'a>, row: u16) -> Self {
        let entry = list.lists.rows.map_or(0, |rows| rows.partition_point(|before| *before < row));
        Self { list, entry }
    }

    /// Where the stored list of `row` lies, before which no row is asked for any more.
    #[inline]
    fn range(&mut self, row: u16) -> Range<usize> {
        let lists = self.list.lists;
        let Some(rows) = lists.rows else { return lists.list_at(usize::from(row)) };
        debug_assert!(self.entry == 0 || rows[self.entry - 1] < row, "a cursor has passed the row");
        while rows.get(self.entry).is_some_and(|before| *before < row) {
            self.entry += 1;
        }
        if rows.get(self.entry) == Some(&row) { lists.list_at(self.entry) } else { 0..0 }
    }

    /// As [`ResolvedList::visit`], of a row that is not before the last one.
    #[inline]
    pub(crate) fn visit<F: FnMut(Piece<'_>) -> Visit>(&mut self, row: u16, visitor: F) -> Visit {
        let range = self.range(row);
        self.list.visit_at(row, range, visitor)
    }

    /// The list of `row`, which is not before the last one, without what only adds to it.
    #[inline]
    pub(crate) fn without_additions(&mut self, row: u16) -> Piece<'a> {
        match self.list.fresh {
            Some(fresh) if fresh.replaces(row) => fresh.list(row),
            _ => {
                let range = self.range(row);
                self.list.piece(range)
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge_lists::tests::{Arrays, any_edges};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cursor_finds_what_a_search_for_each_row_finds(
            edges in any_edges(), is_sparse in any::<bool>(),
            rows in proptest::collection::btree_set(0u16..4096, 0..20),
            first in 0u16..4096,
        ) {
            let arrays = Arrays::of(&edges, is_sparse);
            let weights: Vec<f64> = (0..edges.len()).map(|at| at as f64).collect();
            let list = ResolvedList { lists: arrays.lists(), weights: ResolvedWeights::Each(&weights), fresh: None };
            // Some rows, those that have edges, and one of them twice.
            let rows = rows.into_iter().chain(edges.iter().map(|edge| edge.0)).filter(|row| *row >= first);
            let mut rows: Vec<u16> = rows.collect();
            rows.sort_unstable();
            let mut cursor = RowCursor::at(list, first);
            for row in rows {
                let (mut found, mut want) = (Vec::new(), Vec::new());
                cursor.visit(row, |piece| {
                    found.extend(piece.neighbors.iter().copied().zip(piece.weights.iter().copied()));
                    Visit::Continue
                });
                list.visit(row, |piece| {
                    want.extend(piece.neighbors.iter().copied().zip(piece.weights.iter().copied()));
                    Visit::Continue
                });
                prop_assert_eq!(&found, &want);
                let piece = cursor.without_additions(row);
                let whole = piece.neighbors.iter().copied().zip(piece.weights.iter().copied());
                prop_assert_eq!(whole.collect::<Vec<_>>(), want);
            }
        }
    }

    #[test]
    fn one_number_weighs_the_edges_of_any_row() {
        let (each, same) = ([1.0, 2.0, 3.0, 4.0], [0.5; 3]);
        assert_eq!(ResolvedWeights::Each(&each).of(1..3), [2.0, 3.0]);
        assert_eq!(ResolvedWeights::Same(&same).of(700..703), [0.5; 3]);
        assert!(ResolvedWeights::None.of(1..3).is_empty());
    }
}
