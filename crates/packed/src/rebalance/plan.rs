//! Plan: which window is rebalanced, and where its lists lay before, in persistent memory.
//!
//! ```text
//! line     state: number << 2 | idle, active or moved | first section << 32 | sections | first slot | end
//!          | first vertex << 32 | vertices | vertices that are expected behind the last one | motion
//! vertex   slot of its pivot | edges and tombstones behind it
//! section  generation of its log | 1 << 63 if the log has records
//! ```
//!
//! The state is stored after everything else is fenced, so that no plan is half there.

use crate::layout::Layout;
use crate::memory::medium::Medium;
use crate::memory::region::{LINE_WORDS, Memory, Region};
use crate::memory::site::Site;
use crate::section_log::{advance, checked_generation, next_generation};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use std::ops::Range;

/// How far a plan is carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PlanState {
    Idle,
    Active,
    Moved,
}

/// Where the lists of a plan go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Motion {
    /// All over the window, with gaps by their lengths.
    Spread,
    /// A slot to the right, but for the first, of which the plan has the last slot alone.
    ShiftRight,
    /// The same to the left.
    ShiftLeft,
}

/// Where a list lay before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OldPlace {
    pub(crate) start: u64,
    pub(crate) in_array: u32,
}

/// The log of a section of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PlannedLog {
    pub(crate) generation: u32,
    pub(crate) has_records: bool,
}

/// A rebalance of a window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// Counts the plans of a region from 1 on; undo slots name it.
    pub(crate) number: u32,
    pub(crate) first_section: usize,
    pub(crate) slots: Range<u64>,
    pub(crate) first_vertex: u32,
    /// Vertices expected behind the last one, if the window is at the end of the array.
    pub(crate) coming: u64,
    pub(crate) motion: Motion,
    /// One for each vertex.
    pub(crate) old: Vec<OldPlace>,
    /// One for each section; none of a shift, which has no logs to merge.
    pub(crate) logs: Vec<PlannedLog>,
}

const HAS_RECORDS: u64 = 1 << 63;

/// The number of the newest plan, and its state.
///
/// # Errors
/// `corrupt` for a state that is none.
pub(crate) fn state<R: Region>(region: &R, layout: &Layout) -> Result<(u32, PlanState)> {
    let word = region.load(layout.plan());
    let state = match word & 3 {
        0 => PlanState::Idle,
        1 => PlanState::Active,
        2 => PlanState::Moved,
        _ => return Err(damaged(layout.plan(), format!("its state is {word:#x}"))),
    };
    Ok(((word >> 2) as u32, state))
}

/// The plan that is stored is none of this array.
pub(crate) fn damaged(word: usize, problem: String) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the plan at byte {} is damaged: {problem}", 8 * word))
}

impl Plan {
    fn state_word(&self, state: PlanState) -> u64 {
        u64::from(self.number) << 2 | state as u64
    }

    /// Stores the plan, durably, and then that it is active.
    pub(crate) fn store<M: Memory>(&self, medium: &mut Medium<M>, region: &M::Region, layout: &Layout) {
        if planted(Bug::PackedNoPlan) {
            return;
        }
        let first = layout.plan();
        let pair = |high: usize, low: usize| (high as u64) << 32 | low as u64;
        let line = [
            pair(self.first_section, self.logs.len()),
            self.slots.start,
            self.slots.end,
            pair(self.first_vertex as usize, self.old.len()),
            self.coming,
        ];
        let places = self.old.iter().flat_map(|place| [place.start, u64::from(place.in_array)]);
        let logs = self
            .logs
            .iter()
            .map(|log| u64::from(log.generation) | if log.has_records { HAS_RECORDS } else { 0 });
        let mut end = first + 1;
        for word in line.into_iter().chain([self.motion as u64, 0]).chain(places).chain(logs) {
            region.store(end, word);
            end += 1;
        }
        medium.write_back(Site::Plan, region, first..end);
        if !planted(Bug::PackedPlanNotFenced) {
            medium.fence(Site::Plan);
        }
        self.store_state(medium, region, layout, PlanState::Active);
    }

    fn store_state<M: Memory>(
        &self,
        medium: &mut Medium<M>,
        region: &M::Region,
        layout: &Layout,
        state: PlanState,
    ) {
        let site = match state {
            PlanState::Active => Site::PlanActive,
            PlanState::Moved => Site::PlanMoved,
            PlanState::Idle => Site::PlanIdle,
        };
        if !planted(Bug::PackedNoPlan) {
            medium.store_durably(site, region, layout.plan(), self.state_word(state));
        }
    }

    /// Empties the logs, if the plan has some, once everything is moved, and ends the plan.
    pub(crate) fn end<M: Memory>(&self, medium: &mut Medium<M>, region: &M::Region, layout: &Layout) {
        if !self.logs.is_empty() {
            self.store_state(medium, region, layout, PlanState::Moved);
            self.advance_logs(medium, region, layout);
        }
        self.store_state(medium, region, layout, PlanState::Idle);
    }

    /// Gives the logs their next generation; the same again, if some have it.
    pub(crate) fn advance_logs<M: Memory>(
        &self,
        medium: &mut Medium<M>,
        region: &M::Region,
        layout: &Layout,
    ) {
        for (at, log) in self.logs.iter().enumerate().filter(|(_, log)| log.has_records) {
            advance(medium, region, layout, self.first_section + at, log.generation);
        }
        medium.fence(Site::LogGeneration);
    }

    /// The generation of a section's log when the plan has ended.
    pub(crate) fn generation_after(&self, at: usize) -> u32 {
        let PlannedLog { generation, has_records } = self.logs[at];
        if has_records { next_generation(generation) } else { generation }
    }

    /// The plan that is stored, with this number.
    ///
    /// # Errors
    /// `corrupt` if it is none of this array.
    pub(crate) fn load<R: Region>(region: &R, layout: &Layout, number: u32) -> Result<Self> {
        let first = layout.plan();
        let word = |at: usize| region.load(first + at);
        let halves = |word: u64| ((word >> 32) as usize, (word & u64::from(u32::MAX)) as usize);
        let ((first_section, sections), slots) = (halves(word(1)), word(2)..word(3));
        let (first_vertex, vertices) = halves(word(4));
        let vertices_end = layout.vertices_max() as usize;
        let motion = match word(6) {
            0 => Motion::Spread,
            1 => Motion::ShiftRight,
            2 => Motion::ShiftLeft,
            other => return Err(damaged(first, format!("its motion is {other}"))),
        };
        let is_of_sections = match motion {
            Motion::Spread => {
                first_vertex == layout.first_vertex(first_section)
                    && vertices <= sections * layout.sizes.section_vertices as usize
            }
            Motion::ShiftRight | Motion::ShiftLeft => sections == 0,
        };
        let is_inside = first_section + sections <= layout.sections()
            && is_of_sections
            && first_vertex + vertices <= vertices_end
            && slots.start <= slots.end
            && word(5) <= layout.vertices_max()
            && slots.end <= layout.slots();
        if !is_inside {
            let problem = format!(
                "sections {first_section} + {sections}, slots {slots:?}, vertices {first_vertex} + {vertices}"
            );
            return Err(damaged(first, problem));
        }
        let place = |at: usize| OldPlace {
            start: word(LINE_WORDS + 2 * at),
            in_array: word(LINE_WORDS + 2 * at + 1) as u32,
        };
        let old: Vec<OldPlace> = (0..vertices).map(place).collect();
        let log = |at: usize| {
            let word = word(LINE_WORDS + 2 * vertices + at);
            let generation = checked_generation(word & !HAS_RECORDS)
                .ok_or_else(|| damaged(first, format!("the log of section {at} has generation {word:#x}")))?;
            Ok(PlannedLog { generation, has_records: word & HAS_RECORDS != 0 })
        };
        let logs = (0..sections).map(log).collect::<Result<Vec<_>>>()?;
        let mut end = slots.start;
        for place in &old {
            if place.start < end
                || place.start >= slots.end
                || u64::from(place.in_array) >= slots.end - place.start
            {
                let problem = format!("a list of {} at slot {} of {slots:?}", place.in_array, place.start);
                return Err(damaged(first, problem));
            }
            end = place.start + 1 + u64::from(place.in_array);
        }
        Ok(Self {
            number,
            first_section,
            slots,
            first_vertex: first_vertex as u32,
            coming: word(5),
            motion,
            old,
            logs,
        })
    }
}
