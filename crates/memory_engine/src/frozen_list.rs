//! Frozen list: the shared body of one segment, its weights, and the fresh edges on top.

use crate::fresh::FreshLists;
use crate::segment::edge_body::EdgeBody;
use evergraph_graph::id::GroupId;
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::topology::{Piece, Visit};
use std::ops::Range;
use std::sync::Arc;

/// The lists of one segment.
pub(super) struct FrozenList {
    pub(super) body: Arc<EdgeBody>,
    pub(super) weights: Weights,
    pub(super) fresh: Option<Box<FreshLists>>,
}

pub(super) enum Weights {
    None,
    Column(Arc<PackedColumn>),
    Own(Box<[f64]>),
}

impl Weights {
    /// The weight of the body's edge at a place.
    pub(super) fn at(&self, at: usize) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Own(own) => own.get(at).copied(),
            Self::Column(column) => column.number(at),
        }
    }
}

impl FrozenList {
    /// The weights of the body's edges, if weights were asked for.
    #[inline]
    pub(super) fn body_weights(&self) -> Option<&[f64]> {
        match &self.weights {
            Weights::None => None,
            Weights::Own(weights) => Some(weights),
            Weights::Column(column) => Some(column.floats().expect("chosen because it is plain")),
        }
    }

    /// The edges at `range` of the body.
    #[inline]
    pub(super) fn body_piece(&self, range: Range<usize>) -> Piece<'_> {
        let weights = self.body_weights().map_or(&[][..], |weights| &weights[range.clone()]);
        Piece { neighbors: &self.body.neighbors()[range], weights, sorted: true }
    }

    /// Calls `visitor` with the pieces of `row`; what it said last.
    #[inline]
    pub(super) fn visit<F: FnMut(Piece<'_>) -> Visit>(&self, row: u16, visitor: F) -> Visit {
        let body = self.body_piece(self.body.range(row));
        let pieces = match &self.fresh {
            Some(fresh) if fresh.touches(row) => fresh.pieces(row, body),
            _ => (body, None),
        };
        visit_pieces(pieces, visitor)
    }

    /// Calls `visitor` with the pieces of `rows` of `group` that only add to the lists in the body.
    #[inline]
    pub(super) fn visit_additions<F>(&self, group: GroupId, rows: Range<u16>, mut visitor: F)
    where
        F: FnMut(u32, Piece<'_>),
    {
        let Some(fresh) = &self.fresh else { return };
        let first = group.first().0;
        fresh.additions(rows).for_each(|(row, piece)| visitor(first + u32::from(row), piece));
    }

    /// The list of `row` without what only adds to it.
    #[inline]
    pub(super) fn without_additions(&self, row: u16) -> Piece<'_> {
        match &self.fresh {
            Some(fresh) if fresh.replaces(row) => fresh.list(row),
            _ => self.body_piece(self.body.range(row)),
        }
    }

    /// Adds to `degrees` those of `rows`, as many.
    pub(super) fn add_degrees(&self, rows: Range<u16>, degrees: &mut [u32]) {
        let first = usize::from(rows.start);
        match self.body.dense_ends() {
            Some(ends) => {
                let mut from = self.body.edges_before(rows.start) as u32;
                for (degree, to) in degrees.iter_mut().zip(ends.get(first..).unwrap_or_default()) {
                    *degree += to - from;
                    from = *to;
                }
            }
            None => self.body.for_each_row(|row, range| {
                if rows.contains(&row) {
                    degrees[usize::from(row) - first] += range.len() as u32;
                }
            }),
        }
        let Some(fresh) = &self.fresh else { return };
        for (row, range) in fresh.lists(rows) {
            let degree = &mut degrees[usize::from(row) - first];
            if fresh.replaces(row) {
                *degree -= self.body.range(row).len() as u32;
            }
            *degree += range.len() as u32;
        }
    }

    /// About how many edges the rows before `row`, a multiple of 64, have: a row that was merged anew counts
    /// twice. Cost: a look at dense bodies, a search in sparse ones.
    pub(super) fn edges_before(&self, row: u16) -> usize {
        let of_body = self.body.edges_before(row);
        self.fresh.as_ref().map_or(of_body, |fresh| fresh.edges_before(row, of_body))
    }

    pub(super) fn edge_count(&self) -> u64 {
        let of_body = self.body.neighbors().len();
        self.fresh.as_ref().map_or(of_body as u64, |fresh| fresh.edge_count(of_body))
    }
}

/// Calls `visitor` with one or two pieces that are not empty; what it said last.
#[inline]
pub(super) fn visit_pieces<'a, F: FnMut(Piece<'a>) -> Visit>(
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
