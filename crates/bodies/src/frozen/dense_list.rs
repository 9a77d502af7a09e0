//! Dense list: a frozen list with an entry for each row, resolved for the loops that algorithms spend their time in.
//!
//! ```text
//! row            0    1    2    3    4    5    6
//! body           ##   ###  #    ##   ####      #      one loop over `ends`
//! fresh               +         +              +      found by bits; most often one or two edges
//!
//! visit          0 1 1+ 2 3 3+ 4 6 6+                  row by row, a stretch without fresh lists at a time
//! visit_pieces   1+ 3+ 6+, then 0 1 2 3 4 6            no row is asked whether it has a fresh list
//! visit_each     0 1 1+ 4                              chosen rows; one is asked only if its body was not enough
//! ```
//!
//! All that a visit reads for each row is copied out of the list: the visitor may write anywhere, and so the compiler
//! would load it again for each row.

use crate::frozen::fresh_lists::FreshLists;
use crate::frozen::resolved_list::{ResolvedList, ResolvedWeights, visit_pieces};
use evergraph_graph::id::GroupId;
use evergraph_graph::topology::{Piece, Visit};
use std::ops::Range;

/// The lists of one group, of one type and side, visited.
#[derive(Clone, Copy)]
pub(crate) struct DenseList<'a> {
    /// The vertex of row 0.
    first: u32,
    /// Where the list of each row ends; rows behind the last have none.
    ends: &'a [u32],
    neighbors: &'a [u32],
    weights: ResolvedWeights<'a>,
    fresh: Option<&'a FreshLists>,
}

impl<'a> DenseList<'a> {
    /// The list of `group`, if it is dense.
    #[inline]
    pub(crate) fn of(list: ResolvedList<'a>, group: GroupId) -> Option<Self> {
        Some(Self {
            first: group.first().0,
            ends: list.lists.dense_ends()?,
            neighbors: list.lists.neighbors(),
            weights: list.weights,
            fresh: list.fresh,
        })
    }

    #[inline]
    fn piece(&self, range: Range<usize>) -> Piece<'a> {
        let weights = self.weights.of(range.clone());
        Piece { neighbors: &self.neighbors[range], weights, sorted: true }
    }

    /// Where the list of `row` begins, which is at most one behind the last.
    #[inline]
    fn start(&self, row: usize) -> usize {
        row.checked_sub(1).map_or(0, |before| self.ends[before] as usize)
    }

    /// Visits `rows` in order.
    #[inline]
    pub(crate) fn visit<F>(self, rows: Range<u16>, visitor: &mut F) -> Visit
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let mut row = usize::from(rows.start);
        let mut from = self.start(row.min(self.ends.len()));
        let mut fresh = self.fresh.map(|fresh| (fresh, fresh.lists(rows.clone())));
        loop {
            // A stretch of rows without fresh edges: one test for all of them, and a tight loop.
            let next = fresh.as_mut().and_then(|(fresh, lists)| Some((*fresh, lists.next()?)));
            let stop = next.as_ref().map_or(usize::from(rows.end), |(_, (next, _))| usize::from(*next));
            let plain = row.min(self.ends.len())..stop.min(self.ends.len());
            for (vertex, to) in (self.first + plain.start as u32..).zip(&self.ends[plain]) {
                let range = from..*to as usize;
                from = range.end;
                if !range.is_empty() && visitor(vertex, self.piece(range)) == Visit::Stop {
                    return Visit::Stop;
                }
            }
            let Some((fresh, (next, own))) = next else { return Visit::Continue };
            let vertex = self.first + u32::from(next);
            row = usize::from(next) + 1;
            // Rows beyond the body's last can have fresh lists.
            let range = from..self.ends.get(usize::from(next)).map_or(from, |to| *to as usize);
            from = range.end;
            let pieces = fresh.pieces_at(next, own, self.piece(range));
            if visit_pieces(pieces, |piece| visitor(vertex, piece)) == Visit::Stop {
                return Visit::Stop;
            }
        }
    }

    /// Visits the lists of `rows` in order, without what only adds to them.
    #[inline]
    pub(crate) fn visit_without_additions<F>(self, rows: Range<u16>, visitor: &mut F)
    where
        F: FnMut(u32, Piece<'_>),
    {
        let mut row = usize::from(rows.start);
        let mut replaced = self
            .fresh
            .filter(|fresh| fresh.replaces_any())
            .map(|fresh| fresh.replaced(rows.clone()).map(|row| (row, fresh.list(row))));
        loop {
            // A stretch of rows whose lists in the body stand: nearly always all.
            let next = replaced.as_mut().and_then(Iterator::next);
            let stop = next.as_ref().map_or(rows.end, |(next, _)| *next);
            let stretch = row.min(self.ends.len())..usize::from(stop).min(self.ends.len());
            let mut from = self.start(stretch.start);
            for (vertex, to) in (self.first + stretch.start as u32..).zip(&self.ends[stretch]) {
                let range = from..*to as usize;
                from = range.end;
                visitor(vertex, self.piece(range));
            }
            let Some((next, own)) = next else { break };
            visitor(self.first + u32::from(next), own);
            row = usize::from(next) + 1;
        }
    }

    /// Visits `vertices` of the group, ascending.
    #[inline]
    pub(crate) fn visit_each<F>(self, vertices: &[u32], visitor: &mut F) -> Visit
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        for vertex in vertices {
            let row = (vertex - self.first) as usize;
            let mut said = Visit::Continue;
            if !self.fresh.is_some_and(|fresh| fresh.replaces(row as u16)) {
                let body = match self.ends.get(row) {
                    Some(to) => self.start(row)..*to as usize,
                    None => 0..0,
                };
                said = visitor(*vertex, self.piece(body));
            }
            // Asked last: a search that has found what it looks for in the body, as nearly all do, leaves out a test
            // that nobody could predict.
            if said == Visit::Continue
                && let Some(fresh) = self.fresh.filter(|fresh| fresh.touches(row as u16))
            {
                said = visitor(*vertex, fresh.list(row as u16));
            }
            if said == Visit::Stop {
                return Visit::Stop;
            }
        }
        Visit::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge_body::EdgeBody;

    /// Two edges in the body for each of the rows 0, 1, 2, 4 and 5; one more for row 1, one instead of them for row 4, one
    /// for row 7, which is behind the body's last.
    fn lists() -> (EdgeBody, Option<Box<FreshLists>>) {
        let body = EdgeBody::new(&[2, 2, 2, 0, 2, 2], (0..10).collect(), Box::default(), Vec::new());
        let mut fresh = FreshLists::new();
        fresh.neighbors.push(20);
        fresh.finish_row(1);
        fresh.neighbors.push(21);
        fresh.replace_row(4, 2);
        fresh.neighbors.push(22);
        fresh.finish_row(7);
        (body, fresh.finish())
    }

    /// The rows and neighbours of each piece that isn't empty, if a visit of chosen rows says `said` to each of them.
    fn visited(said: Visit) -> Vec<(u32, Vec<u32>)> {
        let ((body, fresh), group) = (lists(), GroupId(3));
        let list =
            ResolvedList { lists: body.lists(), weights: ResolvedWeights::None, fresh: fresh.as_deref() };
        let vertices = [0, 1, 3, 4, 6, 7, 9].map(|row| group.first().0 + row);
        let mut pieces = Vec::new();
        let dense = DenseList::of(list, group).unwrap();
        dense.visit_each(&vertices, &mut |vertex, piece| {
            if piece.neighbors.is_empty() {
                return Visit::Continue;
            }
            pieces.push((vertex - group.first().0, piece.neighbors.to_vec()));
            said
        });
        pieces
    }

    #[test]
    fn chosen_rows_give_the_body_then_what_is_fresh() {
        let want = [(0, vec![0, 1]), (1, vec![2, 3]), (1, vec![20]), (4, vec![21]), (7, vec![22])];
        assert_eq!(visited(Visit::Continue), want);
    }

    #[test]
    fn what_is_fresh_is_left_out_when_the_body_was_enough() {
        let want = [(0, vec![0, 1]), (1, vec![2, 3]), (4, vec![21]), (7, vec![22])];
        assert_eq!(visited(Visit::NextVertex), want);
        assert_eq!(visited(Visit::Stop), [(0, vec![0, 1])]);
    }
}
