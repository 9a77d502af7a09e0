//! One frozen list a segment: a shared body, its weights, and what is fresh on top of it.

use crate::engine::GroupBits;
use crate::segment::column::StoredColumn;
use crate::segment::edge_body::EdgeBody;
use evergraph_graph::id::GROUP_SIZE;
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
    /// How many touched rows come before each word of `touched`: a list is found by counting bits.
    ranks: [u16; 64],
    /// Where the list of each touched row ends, ascending by row.
    ends: Vec<u32>,
    /// Sorted in each list.
    pub(super) neighbors: Vec<u32>,
    pub(super) weights: Vec<f64>,
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
            ranks: [0; 64],
            ends: Vec::new(),
            neighbors: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Where the list of a touched row lies.
    #[inline]
    pub(super) fn range(&self, row: u16) -> Range<usize> {
        let word = usize::from(row) / 64;
        let before = self.touched[word] & ((1 << (row % 64)) - 1);
        let at = usize::from(self.ranks[word]) + before.count_ones() as usize;
        at.checked_sub(1).map_or(0, |last| self.ends[last] as usize)..self.ends[at] as usize
    }

    /// The rows with a list here, ascending.
    pub(super) fn rows(&self) -> impl Iterator<Item = u16> + '_ {
        (0..GROUP_SIZE as u16).filter(|row| has(&self.touched, *row))
    }

    /// Ends the list of `row`, which follows the rows before it.
    pub(super) fn finish_row(&mut self, row: u16, replaced: bool) {
        set(&mut self.touched, row);
        if replaced {
            set(&mut self.replaced, row);
        }
        self.ends.push(self.neighbors.len() as u32);
    }

    /// Ready to be read, if it has any list.
    pub(super) fn finish(mut self) -> Option<Box<Self>> {
        let mut rank = 0;
        for (at, word) in self.touched.iter().enumerate() {
            self.ranks[at] = rank;
            rank += word.count_ones() as u16;
        }
        (rank > 0).then(|| Box::new(self))
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
            return visitor(Piece { neighbors: &fresh.neighbors[range], weights, sorted: true });
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
        let replaced = fresh.rows().filter(|row| has(&fresh.replaced, *row));
        let gone: usize = replaced.map(|row| self.body.range(row).len()).sum();
        (self.body.neighbors().len() - gone + fresh.neighbors.len()) as u64
    }
}
