//! Fresh: the lists of rows that records on top of a body change.
//!
//! ```text
//! only additions   the body's list stands, the new neighbours are a second piece
//! any other        the whole list, merged anew, stands for the body's
//! ```
//!
//! Without weights it is enough to know by how many edges each key's records change the list: no property
//! is looked at, which would be a miss a record.

use crate::engine::GroupBits;
use crate::segment::edge_body::EdgeBody;
use crate::segment::record::RecordKey;
use evergraph_graph::id::GROUP_SIZE;
use evergraph_graph::topology::Piece;
use std::ops::Range;

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

fn set(bits: &mut GroupBits, row: u16) {
    bits[usize::from(row) / 64] |= 1 << (row % 64);
}

impl Fresh {
    /// The lists that `differences`, as [`crate::segment::version::Layer::differences`], make of those of
    /// `body`; none if they change nothing.
    pub(super) fn of_differences(body: &EdgeBody, differences: &[(RecordKey, i64)]) -> Option<Box<Self>> {
        let mut fresh = Self::new();
        for of_row in differences.chunk_by(|a, b| a.0.row() == b.0.row()) {
            let row = of_row[0].0.row();
            let replaced = of_row.iter().any(|(_, difference)| *difference < 0);
            if replaced {
                fresh.merge(body, body.range(row), of_row);
            } else {
                fresh.neighbors.extend(of_row.iter().map(|(key, _)| key.neighbor()));
            }
            fresh.finish_row(row, replaced);
        }
        fresh.finish()
    }

    /// Appends the edges at `range` of `body` without those that went, and those that came.
    fn merge(&mut self, body: &EdgeBody, range: Range<usize>, differences: &[(RecordKey, i64)]) {
        let mut from = range.start;
        for (key, difference) in differences {
            let to = body.lower_bound(*key, &range, from);
            self.neighbors.extend_from_slice(&body.neighbors()[from..to]);
            from = to;
            if *difference < 0 {
                from += 1;
            } else {
                self.neighbors.push(key.neighbor());
            }
        }
        self.neighbors.extend_from_slice(&body.neighbors()[from..range.end]);
    }

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
