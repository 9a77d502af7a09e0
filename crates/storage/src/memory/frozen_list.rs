//! One frozen list a segment: a shared body, its weights, and what is fresh on top of it.

use crate::engine::GroupBits;
use crate::segment::column::StoredColumn;
use crate::segment::edge_body::EdgeBody;
use evergraph_graph::topology::{Piece, Visit};
use std::ops::Range;
use std::sync::Arc;

/// The lists of one segment.
pub(super) struct FrozenList {
    pub(super) body: Arc<EdgeBody>,
    pub(super) weights: Weights,
    pub(super) fresh: Option<Box<Fresh>>,
}

pub(super) enum Weights {
    None,
    Column(Arc<StoredColumn>),
    Own(Box<[f64]>),
}

/// Lists on top of a body.
pub(super) struct Fresh {
    /// Rows with a list here.
    pub(super) touched: GroupBits,
    /// Rows whose list here stands for the body's too.
    pub(super) replaced: GroupBits,
    /// The touched rows, ascending, and where the list of each ends.
    pub(super) rows: Vec<u16>,
    pub(super) ends: Vec<u32>,
    pub(super) neighbors: Vec<u32>,
    pub(super) weights: Vec<f64>,
    pub(super) sorted: bool,
}

pub(super) fn has(bits: &GroupBits, row: u16) -> bool {
    bits[usize::from(row) / 64] >> (row % 64) & 1 == 1
}

pub(super) fn set(bits: &mut GroupBits, row: u16) {
    bits[usize::from(row) / 64] |= 1 << (row % 64);
}

impl Fresh {
    pub(super) fn new() -> Self {
        Self {
            touched: [0; 64],
            replaced: [0; 64],
            rows: Vec::new(),
            ends: Vec::new(),
            neighbors: Vec::new(),
            weights: Vec::new(),
            sorted: true,
        }
    }

    pub(super) fn range(&self, row: u16) -> Range<usize> {
        match self.rows.binary_search(&row) {
            Ok(at) => {
                at.checked_sub(1).map_or(0, |before| self.ends[before] as usize)..self.ends[at] as usize
            }
            Err(_) => 0..0,
        }
    }

    pub(super) fn finish_row(&mut self, row: u16, replaced: bool) {
        set(&mut self.touched, row);
        if replaced {
            set(&mut self.replaced, row);
        }
        self.rows.push(row);
        self.ends.push(self.neighbors.len() as u32);
    }
}

impl FrozenList {
    pub(super) fn piece<'a>(&'a self, range: Range<usize>) -> Piece<'a> {
        let weights = match &self.weights {
            Weights::None => &[][..],
            Weights::Own(weights) => &weights[range.clone()],
            Weights::Column(column) => &column.floats().expect("chosen because it is plain")[range.clone()],
        };
        Piece { neighbors: &self.body.neighbors()[range], weights, sorted: true }
    }

    /// Calls `visitor` with the pieces of `row`; what it said last.
    #[inline]
    pub(super) fn visit<F: FnMut(Piece<'_>) -> Visit>(&self, row: u16, mut visitor: F) -> Visit {
        if let Some(fresh) = &self.fresh
            && has(&fresh.touched, row)
        {
            if !has(&fresh.replaced, row) {
                let said = visitor(self.piece(self.body.range(row)));
                if said != Visit::Continue {
                    return said;
                }
            }
            let range = fresh.range(row);
            let weights = if fresh.weights.is_empty() { &[][..] } else { &fresh.weights[range.clone()] };
            return visitor(Piece { neighbors: &fresh.neighbors[range], weights, sorted: fresh.sorted });
        }
        let range = self.body.range(row);
        if range.is_empty() { Visit::Continue } else { visitor(self.piece(range)) }
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
        let gone: usize = fresh
            .rows
            .iter()
            .filter(|row| has(&fresh.replaced, **row))
            .map(|row| self.body.range(*row).len())
            .sum();
        (self.body.neighbors().len() - gone + fresh.neighbors.len()) as u64
    }
}
