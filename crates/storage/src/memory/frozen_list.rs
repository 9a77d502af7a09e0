//! One frozen list a segment: a shared body, its weights, and what is fresh on top of it.

use crate::memory::fresh::{Fresh, has};
use crate::segment::edge_body::EdgeBody;
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::topology::{Piece, Visit};
use std::sync::Arc;

/// The lists of one segment.
pub(super) struct FrozenList {
    pub(super) body: Arc<EdgeBody>,
    pub(super) weights: Weights,
    pub(super) fresh: Option<Box<Fresh>>,
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

    /// Calls `visitor` with the pieces of `row`; what it said last.
    #[inline]
    pub(super) fn visit<F: FnMut(Piece<'_>) -> Visit>(&self, row: u16, mut visitor: F) -> Visit {
        let range = self.body.range(row);
        let weights = self.body_weights().map_or(&[][..], |weights| &weights[range.clone()]);
        let body = Piece { neighbors: &self.body.neighbors()[range], weights, sorted: true };
        let (mut piece, mut more) = match &self.fresh {
            Some(fresh) if has(&fresh.touched, row) => fresh.pieces(row, body),
            _ => (body, None),
        };
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

    pub(super) fn degree(&self, row: u16) -> u32 {
        let fresh = self.fresh.as_ref().filter(|fresh| has(&fresh.touched, row));
        let body = match fresh {
            Some(fresh) if has(&fresh.replaced, row) => 0,
            _ => self.body.range(row).len(),
        };
        (body + fresh.map_or(0, |fresh| fresh.range(row).len())) as u32
    }

    pub(super) fn edge_count(&self) -> u64 {
        let Some(fresh) = &self.fresh else { return self.body.neighbors().len() as u64 };
        let replaced = fresh.rows().filter(|row| has(&fresh.replaced, *row));
        let gone: usize = replaced.map(|row| self.body.range(row).len()).sum();
        (self.body.neighbors().len() - gone + fresh.neighbors.len()) as u64
    }
}
