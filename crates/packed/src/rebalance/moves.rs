//! Moves: what every slot of a window is to hold, and the order in which its chunks are moved.
//!
//! ```text
//! lists that move right (or stay)   runs of neighbours, from the last slot to the first
//! lists that move left              then, runs of neighbours, from the first slot to the last
//! ```
//!
//! The room of a list, from its new start to that of the next, is written whole: pivot, edges, records of the log, gaps.
//! No chunk overwrites what a later one reads. A list that moves right reads slots before those that it writes, and
//! its room reaches into old lists behind it only if these move right as well, and so have moved already; a list that
//! moves left reads slots behind those that it writes, and its room reaches into old lists that move right, which have
//! moved before, or into lists before it that move left, which have moved before it.

use crate::layout::{Layout, half};
use crate::memory::region::Region;
use crate::rebalance::plan::{Motion, Plan};
use crate::section_log::records;
use crate::slot::GAP;
use crate::spread::starts;
use std::ops::Range;

/// What a plan does to its window.
pub(crate) struct Moves {
    slots: Range<u64>,
    /// Old start and length in the array of each list.
    old: Vec<(u64, u64)>,
    /// New start of each list, and the end of the window.
    pub(crate) new_starts: Vec<u64>,
    /// Where the records of each list end in `log_slots`; one more, for the first.
    log_ends: Vec<usize>,
    log_slots: Vec<u32>,
}

impl Moves {
    /// What `plan` does; its logs are read. `None` if lists and logs do not fit into the window.
    pub(crate) fn new<R: Region>(region: &R, layout: &Layout, plan: &Plan) -> Option<Self> {
        let vertices = plan.old.len();
        let row = |source: u32| (source.wrapping_sub(plan.first_vertex) as usize).min(vertices);
        let logs = plan.logs.iter().enumerate().filter(|(_, log)| log.has_records);
        let logged: Vec<(usize, u32)> = logs
            .flat_map(|(at, log)| records(region, layout, plan.first_section + at, log.generation))
            .map(|record| (row(record.source), record.slot))
            .filter(|(row, _)| *row < vertices)
            .collect();
        let mut log_ends = vec![0; vertices + 1];
        logged.iter().for_each(|(row, _)| log_ends[row + 1] += 1);
        (0..vertices).for_each(|at| log_ends[at + 1] += log_ends[at]);
        let mut next = log_ends.clone();
        let mut log_slots = vec![GAP; logged.len()];
        for (row, slot) in logged {
            log_slots[next[row]] = slot;
            next[row] += 1;
        }
        let old: Vec<(u64, u64)> =
            plan.old.iter().map(|place| (place.start, 1 + u64::from(place.in_array))).collect();
        let lengths: Vec<u64> = old
            .iter()
            .zip(log_ends.windows(2))
            .map(|((_, length), ends)| length + (ends[1] - ends[0]) as u64)
            .collect();
        let mut new_starts = match plan.motion {
            Motion::Spread => starts(&plan.slots, &lengths, plan.coming)?,
            Motion::ShiftRight => shifted(&old, 1, plan.slots.end)?,
            Motion::ShiftLeft => shifted(&old, -1, plan.slots.end)?,
        };
        new_starts.push(plan.slots.end);
        Some(Self { slots: plan.slots.clone(), old, new_starts, log_ends, log_slots })
    }

    /// Records in the log of the list at `row`.
    pub(crate) fn in_log(&self, row: usize) -> u32 {
        (self.log_ends[row + 1] - self.log_ends[row]) as u32
    }

    /// The chunks in their order: slots, at most `chunk_slots` each, which begin and end between words but for the ends of
    /// runs.
    pub(crate) fn chunks(&self, chunk_slots: u64) -> Vec<Range<u64>> {
        let moves_left = |row: usize| self.new_starts[row] < self.old[row].0;
        let mut runs: Vec<(Range<u64>, bool)> = Vec::new();
        for row in 0..self.old.len() {
            let room = self.new_starts[row]..self.new_starts[row + 1];
            match runs.last_mut() {
                Some((run, is_left)) if *is_left == moves_left(row) => run.end = room.end,
                _ => runs.push((room, moves_left(row))),
            }
        }
        let mut chunks = Vec::new();
        for (run, _) in runs.iter().rev().filter(|(_, is_left)| !is_left) {
            let mut end = run.end;
            while end > run.start {
                let start = ((end - 1) / chunk_slots * chunk_slots).max(run.start);
                chunks.push(start..end);
                end = start;
            }
        }
        for (run, _) in runs.iter().filter(|(_, is_left)| *is_left) {
            let mut start = run.start;
            while start < run.end {
                let end = ((start / chunk_slots + 1) * chunk_slots).min(run.end);
                chunks.push(start..end);
                start = end;
            }
        }
        chunks
    }

    /// The words that hold the slots of a chunk, as they are to be; slots beside the chunk stay as they are.
    pub(crate) fn words<R: Region>(&self, region: &R, layout: &Layout, chunk: &Range<u64>) -> Vec<u64> {
        let load = |slot: u64| half(region.load(layout.word_of(slot)), slot);
        let mut slots = Vec::with_capacity((chunk.end - chunk.start) as usize + 2);
        if chunk.start % 2 == 1 {
            slots.push(load(chunk.start - 1));
        }
        let mut row = self.new_starts.partition_point(|start| *start <= chunk.start) - 1;
        let mut slot = chunk.start;
        while slot < chunk.end {
            // The part of a list's room that is in the chunk: pivot and edges, records, gaps.
            let end = self.new_starts[row + 1].min(chunk.end);
            let (new_start, (old_start, length)) = (self.new_starts[row], self.old[row]);
            let (log_start, log_slots) =
                (new_start + length, &self.log_slots[self.log_ends[row]..self.log_ends[row + 1]]);
            let array_end = log_start.clamp(slot, end);
            slots.extend((slot..array_end).map(|slot| load(old_start + (slot - new_start))));
            let log_end = (log_start + log_slots.len() as u64).clamp(array_end, end);
            if array_end < log_end {
                let in_log = |slot: u64| (slot - log_start) as usize;
                slots.extend_from_slice(&log_slots[in_log(array_end)..in_log(log_end)]);
            }
            slots.resize(slots.len() + (end - log_end) as usize, GAP);
            slot = end;
            row += 1;
        }
        if chunk.end % 2 == 1 {
            slots.push(load(chunk.end));
        }
        let (pairs, _) = slots.as_chunks::<2>();
        let words = pairs.iter().map(|[lower, upper]| u64::from(*lower) | u64::from(*upper) << 32).collect();
        debug_assert!(
            self.slots.start <= chunk.start && chunk.end <= self.slots.end,
            "chunks are in the window"
        );
        words
    }
}

/// The starts of lists of which all but the first, by `slots`, are shifted; `None` if they do not fit before `end` then.
fn shifted(old: &[(u64, u64)], slots: i64, end: u64) -> Option<Vec<u64>> {
    let (first, others) = old.split_first()?;
    let mut starts = vec![first.0];
    for (start, _) in others {
        starts.push(start.checked_add_signed(slots)?);
    }
    let ends = starts.iter().skip(1).copied().chain([end]);
    let fits = starts.iter().zip(old).zip(ends).all(|((start, (_, length)), end)| start + length <= end);
    fits.then_some(starts)
}
