//! Fresh lists: the lists of rows that records change on top of a body.
//!
//! ```text
//! only additions   the body's list stands, the new neighbours are a second piece
//! any other        the whole list, merged anew, stands for the body's
//! ```
//!
//! A visit tests one bit a row. Without weights it is enough to know by how many edges each key's records change the
//! list: no property is looked at, which would be a miss a record.

use crate::edge_lists::{EdgeLists, ROWS};
use evergraph_graph::topology::Piece;
use evergraph_storage::record::RecordKey;
use evergraph_storage::view::GroupBits;
use std::ops::Range;

/// Lists on top of a body.
#[derive(Debug)]
pub struct FreshLists {
    /// Rows with a list here.
    touched: GroupBits,
    /// Rows whose list here stands for the body's too.
    replaced: GroupBits,
    /// Whether there are such rows.
    replaces_any: bool,
    /// How many touched rows come before each word of `touched`: a list is found by counting bits.
    ranks: [u16; 64],
    /// Where the list of each touched row ends, ascending by row.
    ends: Vec<u32>,
    /// The neighbours of all lists, sorted in each.
    pub(crate) neighbors: Vec<u32>,
    /// One for each neighbour; empty if weights weren't asked for.
    pub(crate) weights: Vec<f64>,
    /// Edges of the body that lists here stand for.
    covered: u64,
}

#[inline]
fn has(bits: &GroupBits, row: u16) -> bool {
    bits[usize::from(row) / 64] >> (row % 64) & 1 == 1
}

fn set(bits: &mut GroupBits, row: u16) {
    bits[usize::from(row) / 64] |= 1 << (row % 64);
}

impl FreshLists {
    /// The lists of edges that came on top of a body, whose keys ascend; none if there are no edges.
    #[must_use]
    pub fn of_inserted(keys: &[RecordKey]) -> Option<Box<Self>> {
        let last = keys.last()?;
        let mut fresh = Self::new();
        fresh.neighbors = keys.iter().map(|key| key.neighbor()).collect();
        // Without a branch that depends on where a row ends, which nobody could predict.
        let (mut ends, mut lists) = (vec![0; keys.len()], 0);
        for (at, pair) in keys.windows(2).enumerate() {
            ends[lists] = at as u32 + 1;
            lists += usize::from(pair[0].row() != pair[1].row());
        }
        ends.truncate(lists);
        // Bits are collected in a register: to read back what was just written takes longer than all else here.
        let (mut word, mut bits) = (0, 0);
        for end in &ends {
            let row = usize::from(keys[*end as usize - 1].row());
            bits = if row / 64 == word { bits } else { 0 } | 1 << (row % 64);
            word = row / 64;
            fresh.touched[word] = bits;
        }
        fresh.ends = ends;
        fresh.finish_row(last.row());
        fresh.finish()
    }

    /// The lists that `differences` make of those of `body`: by how many edges each key's records change it, 1 or -1, ascending
    /// by key. None if they change nothing.
    ///
    /// # Errors
    /// The first difference that the body cannot have: of a row that there isn't, or an edge taken away that is not there.
    pub fn of_differences(
        body: EdgeLists<'_>,
        differences: &[(RecordKey, i64)],
    ) -> Result<Option<Box<Self>>, String> {
        if let Some((key, _)) = differences.last()
            && usize::from(key.row()) >= ROWS
        {
            return Err(format!("a record of a row below {ROWS} expected, found row {}", key.row()));
        }
        let mut fresh = Self::new();
        fresh.neighbors.reserve(differences.len());
        for of_row in differences.chunk_by(|a, b| a.0.row() == b.0.row()) {
            let row = of_row[0].0.row();
            if of_row.iter().any(|(_, difference)| *difference < 0) {
                let range = body.range(row);
                fresh.merge(body, range.clone(), of_row)?;
                fresh.replace_row(row, range.len());
            } else {
                fresh.neighbors.extend(of_row.iter().map(|(key, _)| key.neighbor()));
                fresh.finish_row(row);
            }
        }
        Ok(fresh.finish())
    }

    /// Appends the edges at `range` of `body` without those that went, and those that came.
    fn merge(
        &mut self,
        body: EdgeLists<'_>,
        range: Range<usize>,
        differences: &[(RecordKey, i64)],
    ) -> Result<(), String> {
        let mut from = range.start;
        for (key, difference) in differences {
            let to = body.lower_bound(*key, &range, from);
            self.neighbors.extend_from_slice(&body.neighbors()[from..to]);
            from = to;
            if *difference >= 0 {
                self.neighbors.push(key.neighbor());
            } else if to < range.end && body.is_at(*key, to) {
                from += 1;
            } else {
                let (row, neighbor) = (key.row(), key.neighbor());
                return Err(format!(
                    "a record deletes an edge from row {row} to v{neighbor}, which is not there"
                ));
            }
        }
        self.neighbors.extend_from_slice(&body.neighbors()[from..range.end]);
        Ok(())
    }

    /// No lists yet: rows are added in ascending order, each with its neighbours pushed first.
    pub(crate) fn new() -> Self {
        Self {
            touched: [0; 64],
            replaced: [0; 64],
            replaces_any: false,
            ranks: [0; 64],
            ends: Vec::new(),
            neighbors: Vec::new(),
            weights: Vec::new(),
            covered: 0,
        }
    }

    /// Whether a row has a list here.
    #[inline]
    pub(crate) fn touches(&self, row: u16) -> bool {
        has(&self.touched, row)
    }

    /// Whether a row's list here stands for the body's too.
    #[inline]
    pub(crate) fn replaces(&self, row: u16) -> bool {
        self.replaces_any && has(&self.replaced, row)
    }

    /// Whether any row's list here stands for the body's too.
    #[inline]
    pub(crate) fn replaces_any(&self) -> bool {
        self.replaces_any
    }

    /// How many touched rows come before `row`.
    #[inline]
    fn rank(&self, row: u16) -> usize {
        let word = usize::from(row) / 64;
        let before = self.touched[word] & ((1 << (row % 64)) - 1);
        usize::from(self.ranks[word]) + before.count_ones() as usize
    }

    #[inline]
    fn end_before(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |last| self.ends[last] as usize)
    }

    /// The list of a touched row.
    #[inline]
    pub(crate) fn list(&self, row: u16) -> Piece<'_> {
        let at = self.rank(row);
        self.piece(self.end_before(at)..self.ends[at] as usize)
    }

    /// The lists of `rows` that only add to those of the body, ascending by row.
    #[inline]
    pub(crate) fn additions(&self, rows: Range<u16>) -> impl Iterator<Item = (u16, Piece<'_>)> {
        let (neighbors, weights, replaces_any) = (&self.neighbors[..], &self.weights[..], self.replaces_any);
        let lists = self.lists(rows).filter(move |(row, _)| !replaces_any || !has(&self.replaced, *row));
        lists.map(move |(row, range)| {
            let weights = if weights.is_empty() { weights } else { &weights[range.clone()] };
            (row, Piece { neighbors: &neighbors[range], weights, sorted: true })
        })
    }

    /// The list at `range`.
    #[inline]
    pub(crate) fn piece(&self, range: Range<usize>) -> Piece<'_> {
        let weights = if self.weights.is_empty() { &[][..] } else { &self.weights[range.clone()] };
        Piece { neighbors: &self.neighbors[range], weights, sorted: true }
    }

    /// The pieces of a touched row whose list in the body is `body`: one or two.
    #[inline]
    pub(crate) fn pieces<'a>(&'a self, row: u16, body: Piece<'a>) -> (Piece<'a>, Option<Piece<'a>>) {
        let own = self.list(row);
        if self.replaces(row) { (own, None) } else { (body, Some(own)) }
    }

    /// As [`FreshLists::pieces`], of a row whose list lies at `range`.
    #[inline]
    pub(crate) fn pieces_at<'a>(
        &'a self,
        row: u16,
        range: Range<usize>,
        body: Piece<'a>,
    ) -> (Piece<'a>, Option<Piece<'a>>) {
        let own = self.piece(range);
        if self.replaces(row) { (own, None) } else { (body, Some(own)) }
    }

    /// Those of `rows` whose lists here stand for the body's too, ascending.
    #[inline]
    pub(crate) fn replaced(&self, rows: Range<u16>) -> impl Iterator<Item = u16> + '_ {
        let end = usize::from(rows.end).div_ceil(64);
        let words = (usize::from(rows.start) / 64..end).filter(|word| self.replaced[*word] != 0);
        let rows_of = |word: usize| (0..64).map(move |bit| (word * 64 + bit) as u16);
        words.flat_map(rows_of).filter(move |row| rows.contains(row) && self.replaces(*row))
    }

    /// The touched rows among `rows`, ascending, and where their lists lie.
    #[inline]
    pub(crate) fn lists(&self, rows: Range<u16>) -> Lists<'_> {
        let word = usize::from(rows.start) / 64;
        let bits = self.touched[word] & (u64::MAX << (rows.start % 64));
        let at = self.rank(rows.start);
        let from = self.end_before(at);
        Lists { touched: &self.touched, ends: &self.ends, word, bits, at, from, end: rows.end }
    }

    /// The edges of all rows before `row`, a multiple of 64, here and in a body that has `of_body` of them;
    /// what lists here stand for counts twice. Cost: a look.
    #[inline]
    pub(crate) fn edges_before(&self, row: u16, of_body: usize) -> usize {
        let lists = self.ranks.get(usize::from(row) / 64).map_or(self.ends.len(), |rank| usize::from(*rank));
        of_body + self.end_before(lists)
    }

    /// Gives each edge the weight `number`.
    pub(crate) fn weigh_all(&mut self, number: f64) {
        self.weights = vec![number; self.neighbors.len()];
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.ends.len() * 4 + self.neighbors.len() * 4 + self.weights.len() * 8
    }

    /// The edges of a body that has `of_body`, with what is fresh.
    pub(crate) fn edge_count(&self, of_body: usize) -> u64 {
        of_body as u64 - self.covered + self.neighbors.len() as u64
    }

    /// Ends the list of `row`, which follows the rows before it and the body's list.
    pub(crate) fn finish_row(&mut self, row: u16) {
        set(&mut self.touched, row);
        self.ends.push(self.neighbors.len() as u32);
    }

    /// Ends the list of `row`, which follows the rows before it and stands for `covered` edges of the body.
    pub(crate) fn replace_row(&mut self, row: u16, covered: usize) {
        self.finish_row(row);
        set(&mut self.replaced, row);
        self.replaces_any = true;
        self.covered += covered as u64;
    }

    /// Ready to be read, if it has any list.
    pub(crate) fn finish(mut self) -> Option<Box<Self>> {
        let mut rank = 0;
        for (at, word) in self.touched.iter().enumerate() {
            self.ranks[at] = rank;
            rank += word.count_ones() as u16;
        }
        (rank > 0).then(|| Box::new(self))
    }
}

/// Touched rows, ascending, with the places of their lists. It keeps what it reads for each of them, which the compiler
/// would load anew: whoever reads the lists may write anywhere.
pub(crate) struct Lists<'a> {
    touched: &'a GroupBits,
    ends: &'a [u32],
    word: usize,
    /// Of the word, those not yet handed out.
    bits: u64,
    /// Which list comes next, and where it begins.
    at: usize,
    from: usize,
    end: u16,
}

impl Iterator for Lists<'_> {
    type Item = (u16, Range<usize>);

    #[inline]
    fn next(&mut self) -> Option<(u16, Range<usize>)> {
        while self.bits == 0 {
            self.word += 1;
            self.bits = *self.touched.get(self.word)?;
        }
        let row = (self.word * 64) as u16 + self.bits.trailing_zeros() as u16;
        if row >= self.end {
            return None;
        }
        self.bits &= self.bits - 1;
        let range = self.from..self.ends[self.at] as usize;
        (self.at, self.from) = (self.at + 1, range.end);
        Some((row, range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn any_row() -> impl Strategy<Value = u16> {
        prop_oneof![0u16..3, 60u16..70, 2000u16..2002, Just(4095u16)]
    }

    proptest! {
        #[test]
        fn inserted_keys_make_the_lists_of_their_rows(
            keys in proptest::collection::btree_set((any_row(), 0u32..9, 0u16..2), 0..60),
        ) {
            let keys: Vec<RecordKey> = keys.into_iter().map(|(row, to, at)| RecordKey::edge(row, to, at)).collect();
            let mut want: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
            keys.iter().for_each(|key| want.entry(key.row()).or_default().push(key.neighbor()));
            let Some(fresh) = FreshLists::of_inserted(&keys) else {
                prop_assert!(keys.is_empty());
                return Ok(());
            };
            let found = fresh.lists(0..4096).map(|(row, range)| (row, fresh.neighbors[range].to_vec()));
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), want.clone());
            for row in 0..4096 {
                prop_assert_eq!(fresh.touches(row), want.contains_key(&row));
                if let Some(list) = want.get(&row) {
                    prop_assert_eq!(fresh.list(row).neighbors, &list[..]);
                }
            }
            prop_assert_eq!(fresh.replaced(0..4096).count(), 0);
        }

        #[test]
        fn replaced_rows_are_found_in_any_range(
            rows in proptest::collection::btree_set(any_row(), 0..9), start in any_row(), end in any_row(),
        ) {
            let mut fresh = FreshLists::new();
            rows.iter().for_each(|row| fresh.replace_row(*row, 1));
            let range = start.min(end)..end.max(start);
            let want: BTreeSet<u16> = rows.into_iter().filter(|row| range.contains(row)).collect();
            prop_assert_eq!(fresh.replaced(range).collect::<BTreeSet<_>>(), want);
        }
    }

    #[test]
    fn differences_that_the_body_cannot_have_are_refused() {
        let body = EdgeLists::new(None, &[2], &[5, 7], &[]).unwrap();
        let refused = |key, difference| FreshLists::of_differences(body, &[(key, difference)]).unwrap_err();
        let problem = refused(RecordKey::edge(0, 6, 0), -1);
        assert!(problem.contains("from row 0 to v6, which is not there"), "{problem}");
        assert!(refused(RecordKey::edge(0, 7, 1), -1).contains("v7"), "another of parallel edges");
        assert!(refused(RecordKey::edge(0, 9, 0), -1).contains("v9"), "behind the last");
        assert!(refused(RecordKey::edge(4096, 5, 0), 1).contains("found row 4096"));
        let sound = FreshLists::of_differences(body, &[(RecordKey::edge(0, 7, 0), -1)]).unwrap().unwrap();
        assert_eq!((sound.list(0).neighbors, sound.replaces(0)), (&[5][..], true));
    }
}
