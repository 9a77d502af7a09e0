//! One frozen list a segment: a shared body, its weights, and what is fresh on top of it.

use crate::engine::GroupBits;
use crate::segment::edge_body::EdgeBody;
use evergraph_graph::id::GROUP_SIZE;
use evergraph_graph::packed_column::PackedColumn;
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
    Column(Arc<PackedColumn>),
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

    /// The pieces of a touched row whose list in the body is `body`: one or two.
    #[inline]
    pub(super) fn pieces<'a>(&'a self, row: u16, body: Piece<'a>) -> (Piece<'a>, Option<Piece<'a>>) {
        let range = self.range(row);
        let weights = if self.weights.is_empty() { &[][..] } else { &self.weights[range.clone()] };
        let own = Piece { neighbors: &self.neighbors[range], weights, sorted: true };
        if has(&self.replaced, row) { (own, None) } else { (body, Some(own)) }
    }

    /// The first touched row at or after `row` and below `end`.
    #[inline]
    pub(super) fn next_touched(&self, row: usize, end: usize) -> Option<usize> {
        let mut word = row / 64;
        let mut bits = self.touched.get(word)? & (u64::MAX << (row % 64));
        while bits == 0 {
            word += 1;
            bits = *self.touched.get(word)?;
        }
        let next = word * 64 + bits.trailing_zeros() as usize;
        (next < end).then_some(next)
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
