//! Sparse list: a frozen list with entries for rows with edges alone, resolved for visits of many rows.
//!
//! ```text
//! row            2    700    701    900
//! body           ##   ###    #              one loop over the entries
//! fresh               +             +
//!
//! visit          2 700 700+ 701 900+        no row in between is looked at
//! visit_pieces   700+ 900+, then 2 700 701
//! ```
//!
//! Few vertices of a group may have edges of a type, such as those to posts that somebody likes: to ask each row took several times as
//! long as a visit of those that have some.

use crate::frozen::resolved_list::{ResolvedList, visit_pieces};
use evergraph_graph::id::GroupId;
use evergraph_graph::topology::{Piece, Visit};
use std::ops::Range;

/// The lists of one group, of one type and side, visited.
#[derive(Clone, Copy)]
pub(crate) struct SparseList<'a> {
    /// The vertex of row 0.
    first: u32,
    /// The row of each entry, ascending.
    rows: &'a [u16],
    list: ResolvedList<'a>,
}

impl<'a> SparseList<'a> {
    /// The list of `group`, if it is sparse.
    #[inline]
    pub(crate) fn of(list: ResolvedList<'a>, group: GroupId) -> Option<Self> {
        Some(Self { first: group.first().0, rows: list.lists.rows?, list })
    }

    /// The stored list of an entry.
    #[inline]
    fn stored(&self, entry: usize) -> Piece<'a> {
        self.list.piece(self.list.lists.list_at(entry))
    }

    /// Visits `rows` in order.
    #[inline]
    pub(crate) fn visit<F>(self, rows: Range<u16>, visitor: &mut F) -> Visit
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let changed = self
            .list
            .fresh
            .into_iter()
            .flat_map(|fresh| fresh.lists(rows.clone()).map(move |(row, own)| (row, (fresh, row, own))));
        self.merge(rows.clone(), changed, |vertex, stored, changed| match changed {
            Some((fresh, row, own)) => {
                visit_pieces(fresh.pieces_at(row, own, stored), |piece| visitor(vertex, piece))
            }
            None => visitor(vertex, stored),
        })
    }

    /// Visits the lists of `rows` in order, without what only adds to them.
    #[inline]
    pub(crate) fn visit_without_additions<F>(self, rows: Range<u16>, visitor: &mut F)
    where
        F: FnMut(u32, Piece<'_>),
    {
        let fresh = self.list.fresh.filter(|fresh| fresh.replaces_any());
        let replaced = fresh.into_iter().flat_map(|fresh| {
            let rows = fresh.replaced(rows.clone());
            rows.map(move |row| (row, fresh.list(row)))
        });
        self.merge(rows.clone(), replaced, |vertex, stored, own| {
            visitor(vertex, own.unwrap_or(stored));
            Visit::Continue
        });
    }

    /// Calls `visit` with the vertex and the stored list of each entry among `rows` and of each row of `changed`, which ascend, in
    /// order, and with what `changed` says of it; what it said last.
    #[inline]
    fn merge<T>(
        self,
        rows: Range<u16>,
        mut changed: impl Iterator<Item = (u16, T)>,
        mut visit: impl FnMut(u32, Piece<'a>, Option<T>) -> Visit,
    ) -> Visit {
        let entry_of = |row: u16| self.rows.partition_point(|before| *before < row);
        let (mut entry, end) = (entry_of(rows.start), entry_of(rows.end));
        loop {
            // A stretch of entries that nothing is said of: nearly always all.
            let next = changed.next();
            let stop = match &next {
                Some((row, _)) => entry + self.rows[entry..end].partition_point(|before| before < row),
                None => end,
            };
            for at in entry..stop {
                let vertex = self.first + u32::from(self.rows[at]);
                if visit(vertex, self.stored(at), None) == Visit::Stop {
                    return Visit::Stop;
                }
            }
            let Some((row, change)) = next else { return Visit::Continue };
            let has_entry = stop < end && self.rows[stop] == row;
            let stored = if has_entry { self.stored(stop) } else { self.list.piece(0..0) };
            if visit(self.first + u32::from(row), stored, Some(change)) == Visit::Stop {
                return Visit::Stop;
            }
            entry = stop + usize::from(has_entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge_lists::tests::{Arrays, any_edges};
    use crate::frozen::dense_list::DenseList;
    use crate::frozen::fresh_lists::FreshLists;
    use crate::frozen::resolved_list::ResolvedWeights;
    use proptest::prelude::*;

    type Pieces = Vec<(u32, Vec<u32>)>;

    /// Notes the pieces that are not empty; says `said` of each.
    fn note(pieces: &mut Pieces, said: Visit) -> impl FnMut(u32, Piece<'_>) -> Visit {
        move |vertex, piece| {
            if !piece.neighbors.is_empty() {
                pieces.push((vertex, piece.neighbors.to_vec()));
            }
            said
        }
    }

    proptest! {
        #[test]
        fn a_visit_finds_what_one_of_all_rows_does(
            edges in any_edges(),
            changes in proptest::collection::btree_map(
                prop_oneof![0u16..25, 3990u16..4096],
                (proptest::collection::btree_set(0u32..50, 1..4), any::<bool>()),
                0..12,
            ),
            (one, other) in (0u16..4096, 0u16..4096),
        ) {
            let mut fresh = FreshLists::new();
            for (row, (neighbors, replaces)) in &changes {
                // Some rows lose all that they had.
                if !replaces || !neighbors.contains(&0) {
                    fresh.neighbors.extend(neighbors);
                }
                if *replaces {
                    fresh.replace_row(*row, edges.iter().filter(|edge| edge.0 == *row).count());
                } else {
                    fresh.finish_row(*row);
                }
            }
            let (fresh, group) = (fresh.finish(), GroupId(2));
            let arrays = [true, false].map(|is_sparse| Arrays::of(&edges, is_sparse));
            let [sparse, dense] = [&arrays[0], &arrays[1]].map(|arrays| ResolvedList {
                lists: arrays.lists(),
                weights: ResolvedWeights::None,
                fresh: fresh.as_deref(),
            });
            let (sparse, dense) = (SparseList::of(sparse, group).unwrap(), DenseList::of(dense, group).unwrap());
            for rows in [0..4096, one.min(other)..one.max(other)] {
                for said in [Visit::Continue, Visit::NextVertex, Visit::Stop] {
                    let (mut found, mut want) = (Pieces::new(), Pieces::new());
                    sparse.visit(rows.clone(), &mut note(&mut found, said));
                    dense.visit(rows.clone(), &mut note(&mut want, said));
                    prop_assert_eq!(found, want, "{:?} of {:?}", said, rows);
                }
                let (mut found, mut want) = (Pieces::new(), Pieces::new());
                sparse.visit_without_additions(rows.clone(), &mut |vertex, piece| {
                    note(&mut found, Visit::Continue)(vertex, piece);
                });
                dense.visit_without_additions(rows, &mut |vertex, piece| {
                    note(&mut want, Visit::Continue)(vertex, piece);
                });
                prop_assert_eq!(found, want);
            }
        }
    }

    #[test]
    fn dense_lists_are_none() {
        let arrays = Arrays::of(&[(1, 2, 0)].into(), false);
        let list = ResolvedList { lists: arrays.lists(), weights: ResolvedWeights::None, fresh: None };
        assert!(SparseList::of(list, GroupId(0)).is_none());
    }
}
