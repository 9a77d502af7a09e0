//! Id runs: the ids of edges that memory doesn't hold all at once, in temporary files.
//!
//! ```text
//! ids     7 3 9 7 | 8 3          memory was full at the bar: rows are counted anew behind it
//! edges   0-1 2-0 | 0-1          by the rows of their run
//! run 0   3:1 7:0 9:2            sorted, id and row                 run 1   3:1 8:0
//! all     3   7   8   9          merged: each id once, and its end in edges, which the caller gives
//!         a   b   c   d
//! ends    run 0  b a d           by row                             run 1   c a
//! ```
//!
//! Memory: the ids of a run while it is written, a piece of each of 64 runs while they are merged, then 4 bytes an id of a
//! run.
//!
//! Source: Knuth, The Art of Computer Programming, volume 3, section 5.4 (merge sort of runs).

use crate::import::staging::number_file::{Cursor, NumberFile};
use crate::import::staging::spill::Staging;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::load::BLOCK_ROWS;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Runs that are merged at once; of more, as many become one first.
const FAN_IN: usize = 64;
/// Ids that are written at once.
const PIECE_IDS: usize = 1 << 12;

/// How 64 bits of ids are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdOrder {
    /// With a sign.
    Signed,
    /// Without.
    Unsigned,
}

impl IdOrder {
    /// A number that ascends as ids do.
    #[must_use]
    #[inline]
    pub fn rank(self, id: u64) -> u64 {
        match self {
            Self::Signed => id ^ (1 << 63),
            Self::Unsigned => id,
        }
    }
}

/// Runs of ids.
#[derive(Debug)]
pub struct IdRuns {
    staging: Arc<Staging>,
    file: Arc<NumberFile>,
    runs: Vec<Run>,
}

/// Ids in files, and the edges that name their rows.
#[derive(Debug)]
pub struct SpilledRuns {
    /// The ids.
    pub ids: IdRuns,
    /// For each run, how many edges each table had at its end.
    pub edges: Vec<Vec<u64>>,
}

/// Where the ids of one run lie in the file, in order, and their rows, in the same.
#[derive(Clone, Copy, Debug)]
struct Run {
    ids: u64,
    rows: u64,
    count: u32,
}

/// Ids in order, in a file.
struct Sequence {
    file: Arc<NumberFile>,
    offset: u64,
    count: u64,
}

/// All ids in order, and what edges call each.
pub struct NumberedIds {
    ids: Sequence,
    ends: NumberFile,
}

impl IdRuns {
    /// None yet, in a file where `staging` has its own.
    ///
    /// # Errors
    /// As [`NumberFile::new`].
    pub fn new(staging: &Arc<Staging>) -> Result<Self> {
        let file = Arc::new(NumberFile::new(staging)?);
        Ok(Self { staging: Arc::clone(staging), file, runs: Vec::new() })
    }

    /// Adds a run of the ids `by_row`, each of which is there once. On all threads of the current pool.
    ///
    /// # Errors
    /// As [`NumberFile::append`].
    ///
    /// # Panics
    /// If ids are being numbered.
    pub fn push(&mut self, by_row: &[u64], order: IdOrder) -> Result<()> {
        let mut rows: Vec<u32> = (0..by_row.len() as u32).collect();
        rows.par_sort_unstable_by_key(|row| order.rank(by_row[*row as usize]));
        let file = Arc::get_mut(&mut self.file).expect("runs are merged when all are there");
        let run =
            Run { ids: file.bytes(), rows: file.bytes() + by_row.len() as u64 * 8, count: rows.len() as u32 };
        let mut ids = Vec::with_capacity(PIECE_IDS.min(rows.len()));
        for piece in rows.chunks(PIECE_IDS) {
            ids.clear();
            ids.extend(piece.iter().map(|row| by_row[*row as usize]));
            file.append(&ids)?;
        }
        file.append(&rows)?;
        self.runs.push(run);
        Ok(())
    }

    /// Hands all ids out in `order`, each once, and keeps the end that `number` gives to each of some.
    ///
    /// Cost: all ids read and written once, and once more for each factor of 64 runs.
    ///
    /// # Errors
    /// What the files meet; `cancelled`; what `number` says.
    pub fn number(
        &self,
        order: IdOrder,
        cancel: &CancelFlag,
        mut number: impl FnMut(&[u64]) -> Result<Vec<u32>>,
    ) -> Result<NumberedIds> {
        let mut sequences: Vec<Sequence> = self.runs.iter().map(|run| self.sequence(run)).collect();
        while sequences.len() > 1 {
            let mut merged = NumberFile::new(&self.staging)?;
            let mut places = Vec::with_capacity(sequences.len().div_ceil(FAN_IN));
            for some in sequences.chunks(FAN_IN) {
                let offset = merged.bytes();
                merge(some, order, cancel, &mut merged)?;
                places.push((offset, (merged.bytes() - offset) / 8));
            }
            let file = Arc::new(merged);
            let sequence = |(offset, count)| Sequence { file: Arc::clone(&file), offset, count };
            sequences = places.into_iter().map(sequence).collect();
        }
        let none = Sequence { file: Arc::clone(&self.file), offset: 0, count: 0 };
        let ids = sequences.pop().unwrap_or(none);
        let mut ends = NumberFile::new(&self.staging)?;
        let mut some = Vec::new();
        for first in (0..ids.count).step_by(BLOCK_ROWS) {
            cancel.check()?;
            some.clear();
            let count = (ids.count - first).min(BLOCK_ROWS as u64) as usize;
            ids.file.read_into(ids.offset + first * 8, count, &mut some)?;
            ends.append(&number(&some)?)?;
        }
        Ok(NumberedIds { ids, ends })
    }

    /// What edges call the vertex of each row of a run.
    ///
    /// Cost: all ids and ends read once.
    ///
    /// # Errors
    /// `io`.
    ///
    /// # Panics
    /// If there is no such run, or `all` is not of these.
    pub fn ends(&self, run: usize, all: &NumberedIds) -> Result<Vec<u32>> {
        let run = &self.runs[run];
        let NumberedIds { ids, ends } = all;
        let mut all_ids = ids.cursor();
        let mut all_ends = ends.cursor::<u32>(0, ids.count);
        let mut ids = self.file.cursor::<u64>(run.ids, u64::from(run.count));
        let mut rows = self.file.cursor::<u32>(run.rows, u64::from(run.count));
        let mut found = vec![0; run.count as usize];
        while let (Some(id), Some(row)) = (ids.read_next()?, rows.read_next()?) {
            loop {
                let (Some(other), Some(end)) = (all_ids.read_next()?, all_ends.read_next()?) else {
                    panic!("each id of a run is among all");
                };
                if other == id {
                    found[row as usize] = end;
                    break;
                }
            }
        }
        Ok(found)
    }

    fn sequence(&self, run: &Run) -> Sequence {
        Sequence { file: Arc::clone(&self.file), offset: run.ids, count: u64::from(run.count) }
    }
}

impl Sequence {
    fn cursor(&self) -> Cursor<'_, u64> {
        self.file.cursor(self.offset, self.count)
    }
}

/// Appends the ids of `sequences` to `merged`, each once.
fn merge(sequences: &[Sequence], order: IdOrder, cancel: &CancelFlag, merged: &mut NumberFile) -> Result<()> {
    let mut cursors: Vec<Cursor<'_, u64>> = sequences.iter().map(Sequence::cursor).collect();
    let mut next: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::with_capacity(cursors.len());
    for (at, cursor) in cursors.iter_mut().enumerate() {
        next.extend(cursor.read_next()?.map(|id| Reverse((order.rank(id), at))));
    }
    let mut piece: Vec<u64> = Vec::with_capacity(PIECE_IDS);
    let mut last = None;
    while let Some(mut lowest) = next.peek_mut() {
        let Reverse((rank, at)) = *lowest;
        match cursors[at].read_next()? {
            Some(id) => *lowest = Reverse((order.rank(id), at)),
            None => drop(std::collections::binary_heap::PeekMut::pop(lowest)),
        }
        if last == Some(rank) {
            continue;
        }
        last = Some(rank);
        if piece.len() == PIECE_IDS {
            cancel.check()?;
            merged.append(&piece)?;
            piece.clear();
        }
        // A rank is its own inverse.
        piece.push(order.rank(rank));
    }
    merged.append(&piece)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn check(runs: &[Vec<u64>], order: IdOrder) {
        let mut ours = IdRuns::new(&Arc::new(Staging::new(0, std::env::temp_dir()))).unwrap();
        runs.iter().for_each(|run| ours.push(run, order).unwrap());
        let mut all: Vec<u64> = runs.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
        all.sort_by_key(|id| order.rank(*id));
        let mut seen = Vec::new();
        let number = |ids: &[u64]| {
            seen.extend_from_slice(ids);
            Ok(ids.iter().map(|id| (*id as u32).wrapping_mul(3)).collect())
        };
        let numbered = ours.number(order, &CancelFlag::default(), number).unwrap();
        assert_eq!(seen, all);
        for (at, run) in runs.iter().enumerate() {
            let wanted: Vec<u32> = run.iter().map(|id| (*id as u32).wrapping_mul(3)).collect();
            assert_eq!(ours.ends(at, &numbered).unwrap(), wanted);
        }
    }

    proptest! {
        #[test]
        fn ids_come_in_order_and_lead_back_to_the_rows_of_their_runs(
            runs in prop::collection::vec(
                prop::collection::hash_set(prop_oneof![0u64..60, any::<u64>()], 0..40), 0..8),
            order in prop_oneof![Just(IdOrder::Signed), Just(IdOrder::Unsigned)],
        ) {
            let runs: Vec<Vec<u64>> = runs.into_iter().map(|run| run.into_iter().collect()).collect();
            check(&runs, order);
        }
    }

    #[test]
    fn more_runs_than_are_merged_at_once_are_merged_again() {
        let runs: Vec<Vec<u64>> =
            (0..FAN_IN as u64 * 2 + 3).map(|run| vec![run * 7 % 50, 100 + run]).collect();
        check(&runs, IdOrder::Signed);
    }

    #[test]
    fn ids_beyond_a_piece_are_read_and_numbered_piece_by_piece() {
        let count = BLOCK_ROWS as u64 * 3 / 2;
        check(&[(0..count).rev().collect(), (0..count).map(|id| id * 2).collect()], IdOrder::Unsigned);
    }
}
