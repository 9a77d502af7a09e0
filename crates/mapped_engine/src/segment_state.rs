//! Segment state: of which blocks the present version of a segment consists, in the heap of the process that writes.
//!
//! What readers find in `live` says where things are; how large their blocks are, and so how they are freed, is known here
//! alone.

use crate::arena::{Arena, ArenaBlock};
use crate::live::Live;
use crate::retired::{RetiredContent, RetiredList};
use crate::run::PlacedRun;
use crate::shared_record::PlacedRecord;
use crate::tail::{TAIL_CAPACITY, clear_tail, push, tail_capacity, tail_words};
use crate::version::{RUNS_MAX, SegmentVersion};
use crate::words::{LINE_WORDS, LineNumber};
use crate::{run, tail};
use evergraph_storage::record::RecordKey;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// What segments share: the memory that they lie in.
#[derive(Debug)]
pub struct SegmentMemory<'a> {
    /// The head, and the time in it.
    pub live: &'a Live,
    /// Blocks.
    pub arena: &'a Arena,
    /// What waits to be freed.
    pub retired: &'a RetiredList,
}

/// A run and what is in it.
#[derive(Debug)]
pub(crate) struct RunBlock {
    pub(crate) block: ArenaBlock,
    pub(crate) records: usize,
    /// Blocks of properties.
    pub(crate) properties: Vec<ArenaBlock>,
}

impl RunBlock {
    /// A run of records, sorted by (key, stamp), in `block`.
    pub(crate) fn stored(
        arena: &Arena,
        block: ArenaBlock,
        records: &[PlacedRecord],
        properties: Vec<ArenaBlock>,
    ) -> Arc<Self> {
        run::store_run(arena.words_of(block), records);
        Arc::new(Self { block, records: records.len(), properties })
    }

    /// Its records.
    pub(crate) fn placed<'a>(&self, arena: &'a Arena) -> impl Iterator<Item = PlacedRecord> + use<'a> {
        PlacedRun::new(arena.words_of(self.block), self.records).all()
    }

    /// Those of these keys.
    pub(crate) fn placed_in<'a>(
        &self,
        arena: &'a Arena,
        keys: &RangeInclusive<RecordKey>,
    ) -> impl Iterator<Item = PlacedRecord> + use<'a> {
        PlacedRun::new(arena.words_of(self.block), self.records).range(keys)
    }
}

/// A tail and what is in it.
#[derive(Clone, Debug)]
pub(crate) struct TailBlock {
    pub(crate) block: ArenaBlock,
    pub(crate) capacity: usize,
    pub(crate) length: usize,
    /// Blocks of properties.
    pub(crate) properties: Vec<ArenaBlock>,
}

impl TailBlock {
    pub(crate) fn empty(arena: &Arena, block: ArenaBlock, capacity: usize) -> Self {
        clear_tail(arena.words_of(block));
        Self { block, capacity, length: 0, properties: Vec::new() }
    }

    /// Pushes `records`, which fit, with the blocks of their properties.
    pub(crate) fn append(
        &mut self,
        arena: &Arena,
        records: impl IntoIterator<Item = PlacedRecord>,
        properties: Vec<ArenaBlock>,
    ) {
        let words = arena.words_of(self.block);
        for record in records {
            push(words, self.length, record);
            self.length += 1;
        }
        if self.properties.is_empty() {
            self.properties = properties;
        } else {
            self.properties.extend(properties);
        }
    }

    /// Its records, oldest first.
    pub(crate) fn placed<'a>(
        &self,
        arena: &'a Arena,
    ) -> impl DoubleEndedIterator<Item = PlacedRecord> + use<'a> {
        tail::placed(arena.words_of(self.block), self.length)
    }
}

/// What waits on top of a segment's body, and what decides when that is merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitingRecords {
    /// Records in runs and tail.
    pub records: usize,
    /// Items in the body.
    pub items: usize,
    /// Runs.
    pub runs: usize,
    /// How many of the newest runs are to become one.
    pub due_runs: usize,
}

/// Which of runs, with these sizes, the oldest first, are to become one: so many of the newest. None if they are in order.
#[must_use]
pub fn due_runs(sizes: &[usize]) -> usize {
    let Some((newest, older)) = sizes.split_last() else { return 0 };
    let (mut total, mut count) = (*newest, 1);
    for size in older.iter().rev() {
        // Six in order: the two newest make room for the next.
        let makes_room = count == 1 && sizes.len() == RUNS_MAX;
        if *size >= 4 * total && !makes_room {
            break;
        }
        (total, count) = (total + size, count + 1);
    }
    if count == 1 { 0 } else { count }
}

/// What an append does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AppendStep {
    /// The records fit into the tail.
    Push,
    /// They fit into a larger one, for so many.
    Grow(usize),
    /// They become a run, with those of the tail, and of the last run if there are six.
    Sort,
}

/// What the present version consists of.
#[derive(Clone, Debug)]
pub(crate) struct SegmentState {
    pub(crate) line: ArenaBlock,
    pub(crate) version: SegmentVersion,
    /// Oldest first, as in the version.
    pub(crate) runs: Vec<Arc<RunBlock>>,
    pub(crate) tail: Option<TailBlock>,
    pub(crate) hub_table: Option<ArenaBlock>,
    /// The version with an older base, if one is kept.
    pub(crate) older: LineNumber,
    /// Edges in the body, those of hubs apart, or vertices.
    pub(crate) items: usize,
    /// Records in runs. Every commit asks for it and the next one, so it is counted when runs change.
    in_runs: usize,
    /// How many of the newest runs are to become one.
    due_runs: usize,
}

impl SegmentState {
    /// The version in `line`, with neither runs nor a tail yet, over a body of so many items.
    pub(crate) fn new(line: ArenaBlock, version: SegmentVersion, items: usize) -> Self {
        let (hub_table, older) = (None, LineNumber::NONE);
        let (runs, tail, in_runs, due_runs) = (Vec::new(), None, 0, 0);
        Self { line, version, runs, tail, hub_table, older, items, in_runs, due_runs }
    }

    /// Records in runs and tail.
    pub(crate) fn records(&self) -> usize {
        self.in_runs + self.tail.as_ref().map_or(0, |tail| tail.length)
    }

    /// What waits to be merged.
    pub(crate) fn waiting(&self) -> WaitingRecords {
        let (records, runs) = (self.records(), self.runs.len());
        WaitingRecords { records, items: self.items, runs, due_runs: self.due_runs }
    }

    /// What appending `count` records does.
    pub(crate) fn step(&self, count: usize) -> AppendStep {
        let (length, capacity) = self.tail.as_ref().map_or((0, 0), |tail| (tail.length, tail.capacity));
        if length + count <= capacity {
            return AppendStep::Push;
        }
        tail_capacity(length + count).map_or(AppendStep::Sort, AppendStep::Grow)
    }

    /// The words of each block that appending `count` records takes.
    pub(crate) fn append_words(&self, count: usize) -> Vec<usize> {
        match self.step(count) {
            AppendStep::Push => Vec::new(),
            AppendStep::Grow(capacity) => vec![tail_words(capacity), LINE_WORDS],
            AppendStep::Sort => {
                let last = if self.runs.len() == RUNS_MAX { self.runs[RUNS_MAX - 1].records } else { 0 };
                let length = self.tail.as_ref().map_or(0, |tail| tail.length);
                // As large a tail follows a full one.
                let is_full = self.tail.as_ref().is_some_and(|tail| tail.capacity == TAIL_CAPACITY);
                let tail = is_full.then_some(tail_words(TAIL_CAPACITY));
                [run::run_words(length + count + last), LINE_WORDS].into_iter().chain(tail).collect()
            }
        }
    }

    /// Blocks of the properties of all records.
    pub(crate) fn properties(&self) -> impl Iterator<Item = ArenaBlock> + '_ {
        let of_runs = self.runs.iter().flat_map(|run| &run.properties);
        of_runs.chain(self.tail.iter().flat_map(|tail| &tail.properties)).copied()
    }

    /// All blocks but the version's line, and the body.
    pub(crate) fn content(&self) -> RetiredContent {
        let runs = self.runs.iter().map(|run| run.block);
        let tail = self.tail.iter().map(|tail| tail.block);
        let blocks = runs.chain(tail).chain(self.hub_table).chain(self.properties()).collect();
        RetiredContent { blocks, body: Some(self.version.body) }
    }

    /// These are its runs from now on.
    pub(crate) fn set_runs(&mut self, runs: Vec<Arc<RunBlock>>) {
        self.version.runs = [LineNumber::NONE; RUNS_MAX];
        let mut sizes = [0; RUNS_MAX];
        for ((line, size), run) in self.version.runs.iter_mut().zip(&mut sizes).zip(&runs) {
            *line = run.block.line;
            *size = run.records;
        }
        self.in_runs = sizes.iter().sum();
        self.due_runs = due_runs(&sizes[..runs.len()]);
        self.runs = runs;
    }

    /// This is its tail from now on.
    pub(crate) fn set_tail(&mut self, tail: Option<TailBlock>) {
        self.version.tail = tail.as_ref().map_or(LineNumber::NONE, |tail| tail.block.line);
        self.tail = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_grow_by_fours_and_are_six_at_most() {
        assert_eq!(due_runs(&[]), 0);
        assert_eq!(due_runs(&[64]), 0);
        assert_eq!(due_runs(&[256, 64]), 0);
        assert_eq!(due_runs(&[255, 64]), 2);
        assert_eq!(due_runs(&[1300, 255, 64]), 2);
        assert_eq!(due_runs(&[1000, 255, 64]), 3);
        let in_order = [1 << 20, 1 << 18, 1 << 15, 1 << 12, 1 << 9, 1 << 6];
        assert_eq!((due_runs(&in_order), due_runs(&in_order[1..])), (2, 0));
        // Runs of 64, one after the other. Merging the two newest alone, when six are in order, copied each 7,863 times.
        let (mut sizes, mut copied) = (Vec::new(), 0);
        for _ in 0..20_000 {
            sizes.push(64);
            let due = due_runs(&sizes);
            let merged: usize = sizes.drain(sizes.len() - due..).sum();
            copied += merged;
            sizes.extend((due > 0).then_some(merged));
            assert!(sizes.len() <= RUNS_MAX);
        }
        assert_eq!(sizes.iter().sum::<usize>(), 64 * 20_000);
        assert!(copied < 16 * 64 * 20_000, "{} copies of each", copied / (64 * 20_000));
    }
}
