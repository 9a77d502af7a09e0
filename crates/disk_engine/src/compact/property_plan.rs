//! Property plan: where the properties of some consecutive records of an output come from.
//!
//! ```text
//! output positions   40 .. 45                 46                  47 .. 48
//! pieces             chain 1, 7 .. 12         chain 0, 9          chain 1, 13 .. 14
//! Sets on top                                 chain 0: 8, 7
//! ```
//!
//! A position is a rank of an out list, or a vertex. Vertices keep theirs.

use crate::compact::chain::{ChainRank, ListChain};
use crate::file::column_scan::ColumnPosition;
use crate::format::file_head::FileStamps;
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::merge::merged_run::{MergedRun, Origin};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::ops::Range;

/// Where properties of a record lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PropertySource {
    /// Number of the chain.
    pub(super) chain: usize,
    /// Number of the file in it.
    pub(super) file: usize,
    /// Where in the columns of the file.
    pub(super) place: ColumnPosition,
}

/// Consecutive records of the output whose properties are those of consecutive positions.
#[derive(Clone, Debug)]
pub(super) struct PropertyPiece {
    /// The first record's.
    pub(super) source: PropertySource,
    /// How many positions.
    pub(super) positions: u64,
    /// The first record's position in the output.
    pub(super) output: u64,
    /// Sets on top of it, by their places among the plan's, the newest first. Then it is of one position.
    pub(super) sets: Range<usize>,
    /// Whether removals stay: the record is a Set.
    pub(super) keeps_removals: bool,
}

/// A plan of at most some thousand records.
#[derive(Debug, Default)]
pub(super) struct PropertyPlan {
    pub(super) pieces: Vec<PropertyPiece>,
    pub(super) sets: Vec<PropertySource>,
    /// Records that were planned.
    pub(super) records: usize,
}

/// What of a run was planned.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct PlannedPart {
    /// Records.
    records: usize,
    /// Property runs, and records of the next one.
    runs: usize,
    of_run: usize,
    /// Later Sets.
    sets: usize,
}

impl PropertyPlan {
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.sets.clear();
        self.records = 0;
    }

    /// Adds the next `count` records of `run`, behind those of `done`. The first of them is `first_rank` of the output;
    /// vertices need no rank.
    ///
    /// # Errors
    /// `Corrupt` for a file whose ranks contradict each other.
    pub(super) fn add(
        &mut self,
        chains: &[ListChain],
        run: &MergedRun<'_>,
        done: &mut PlannedPart,
        count: usize,
        first_rank: u64,
    ) -> CheckpointResult<()> {
        let (start, end) = (done.records, done.records + count);
        self.records += count;
        while done.records < end {
            let planned = run.property_runs[done.runs];
            let rank = planned.first.rank + done.of_run as u64;
            let base = Origin { source: planned.first.source, rank };
            let next_set = run.later_sets.get(done.sets).map_or(usize::MAX, |set| set.record);
            let taken = if next_set == done.records {
                1
            } else {
                (planned.count - done.of_run).min(end - done.records).min(next_set - done.records)
            };
            let records = done.records..done.records + taken;
            let output = first_rank + (done.records - start) as u64;
            if run.list.subject == Subject::VERTICES {
                self.add_vertices(chains, run, base, records)?;
            } else {
                self.add_edges(run, base, records, output);
            }
            if next_set == done.records {
                self.add_sets(chains, run, done)?;
            }
            done.records += taken;
            done.of_run += taken;
            if done.of_run == planned.count {
                (done.runs, done.of_run) = (done.runs + 1, 0);
            }
        }
        Ok(())
    }

    fn add_edges(&mut self, run: &MergedRun<'_>, base: Origin, records: Range<usize>, output: u64) {
        let ChainRank { file, rank } = ChainRank::of_merge(base.rank);
        let place = ColumnPosition { position: rank, stamp: Timestamp::ZERO };
        let source = PropertySource { chain: base.source, file, place };
        let keeps_removals = is_set(run, records.start);
        let positions = records.len() as u64;
        self.push(PropertyPiece { source, positions, output, sets: 0..0, keeps_removals });
    }

    fn add_vertices(
        &mut self,
        chains: &[ListChain],
        run: &MergedRun<'_>,
        base: Origin,
        records: Range<usize>,
    ) -> CheckpointResult<()> {
        let chain = &chains[base.source];
        let ChainRank { file, .. } = ChainRank::of_merge(base.rank);
        let vertices = &run.neighbors[records.clone()];
        let piece = |first: u32, last: u32, stamp: Timestamp, at: usize| {
            let position = u64::from(first);
            let place = ColumnPosition { position, stamp };
            let source = PropertySource { chain: base.source, file, place };
            let (positions, sets, keeps_removals) = (u64::from(last - first) + 1, 0..0, is_set(run, at));
            PropertyPiece { source, positions, output: position, sets, keeps_removals }
        };
        if chain.files()[file].stored().stamps == FileStamps::Stamped {
            for (at, vertex) in vertices.iter().enumerate() {
                let stamp = chain.vertex_stamp(*vertex, base.rank + at as u64)?;
                self.push(piece(*vertex, *vertex, stamp, records.start + at));
            }
        } else if let (Some(first), Some(last)) = (vertices.first(), vertices.last()) {
            // Consecutive ranks are consecutive records: the file has no other vertex between them.
            self.push(piece(*first, *last, Timestamp::ZERO, records.start));
        }
        Ok(())
    }

    /// Adds the Sets of the next record to its piece, which was pushed last.
    fn add_sets(
        &mut self,
        chains: &[ListChain],
        run: &MergedRun<'_>,
        done: &mut PlannedPart,
    ) -> CheckpointResult<()> {
        let rest = &run.later_sets[done.sets..];
        let count = rest.iter().take_while(|set| set.record == done.records).count();
        let first = self.sets.len();
        for set in rest[..count].iter().rev() {
            let ChainRank { file, rank } = ChainRank::of_merge(set.origin.rank);
            let place = if run.list.subject == Subject::VERTICES {
                let vertex = run.neighbors[done.records];
                let stamp = chains[set.origin.source].vertex_stamp(vertex, set.origin.rank)?;
                ColumnPosition { position: vertex.into(), stamp }
            } else {
                ColumnPosition { position: rank, stamp: Timestamp::ZERO }
            };
            self.sets.push(PropertySource { chain: set.origin.source, file, place });
        }
        done.sets += count;
        // It may have been joined with the piece before.
        let piece = self.pieces.last_mut().expect("the piece of the record was pushed");
        if piece.positions > 1 {
            let mut last = piece.clone();
            piece.positions -= 1;
            last.source.place.position += piece.positions;
            last.output += piece.positions;
            last.positions = 1;
            self.pieces.push(last);
        }
        let piece = self.pieces.last_mut().expect("the piece of the record was pushed");
        piece.sets = first..self.sets.len();
        piece.keeps_removals = is_set(run, done.records);
        Ok(())
    }

    /// Adds a piece, or makes the last one longer.
    fn push(&mut self, piece: PropertyPiece) {
        if let Some(last) = self.pieces.last_mut() {
            let (from, to) = (last.source, piece.source);
            let follows = (from.chain, from.file) == (to.chain, to.file)
                && from.place.position + last.positions == to.place.position
                && last.output + last.positions == piece.output
                && from.place.stamp == Timestamp::ZERO
                && to.place.stamp == Timestamp::ZERO;
            if follows && last.sets.is_empty() {
                last.positions += piece.positions;
                return;
            }
        }
        self.pieces.push(piece);
    }
}

fn is_set(run: &MergedRun<'_>, at: usize) -> bool {
    run.operations.get(at) == Some(&RecordOperation::Set)
}
