//! Insert: one edge, tombstone or vertex, durable when it returns.
//!
//! ```text
//! the slot behind the list is a gap    one store of a word, one line, one fence
//! it is taken, or newer edges are      a record of the section's log: one line and one fence, for one record of
//! in the log already                   eight two
//! ```
//!
//! Room is made before an insertion, not after it, so that an insertion that fails has changed nothing. Making room takes
//! the whole array; an insertion that has room takes its section alone. Without section logs (see [`crate::ablation`]), an
//! insertion whose slot is taken takes the whole array as well.
//!
//! Source: DGAP (SC 2023), section 3.1.2 and figure 3.

use crate::ablation::TakenSlot;
use crate::array::PackedArray;
use crate::cancellation::to_targets;
use crate::density::Section;
use crate::layout::with_half;
use crate::memory::medium::Medium;
use crate::memory::region::{Memory, Region as _};
use crate::memory::site::Site;
use crate::options::LOG_RECORDS_MAX;
use crate::section_log::{Record, append};
use crate::slot::{VERTICES_MAX, is_tombstone, pivot, tombstone};
use crate::vertex::Vertex;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};

/// Elements of one list in the array, so that those of a full log are counted as well.
const ELEMENTS_MAX: u32 = u32::MAX - 2 * LOG_RECORDS_MAX;

#[cold]
fn full_list(source: u32) -> Error {
    let text = format!("the list of vertex {source} is full: it has {ELEMENTS_MAX} edges and tombstones");
    Error::new(ErrorKind::Limit, text)
}

/// What became of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Inserted,
    /// The section is full, or the slot is taken and there are no logs; nothing was inserted.
    NeedsRoom,
}

impl<M: Memory> PackedArray<M> {
    /// Appends a slot to the list of `source`, durably, whatever room that takes.
    ///
    /// # Errors
    /// `limit` if the list is full; errors of allocation. Nothing was inserted.
    pub(crate) fn insert(&mut self, source: u32, value: u32) -> Result<()> {
        let section = self.layout().section_of(source);
        let is_due = self.sections[section].lock().is_due(self.layout().log_records());
        if is_due {
            self.make_room(section)?;
        }
        if self.has_no_logs() {
            self.make_gap(source);
        }
        let mut state = self.sections[section].lock();
        let outcome = self.insert_with_room(source, value, section, &mut state)?;
        // In release builds as well: an edge that is not there must not be reported as durable.
        assert_eq!(outcome, Outcome::Inserted, "the section has room, and the list a gap without logs");
        if planted(Bug::PackedResizeLeavesLock) && !is_due {
            std::mem::forget(state);
        }
        Ok(())
    }

    /// Whether an edge may go into its slot alone.
    #[inline]
    pub(crate) fn has_no_logs(&self) -> bool {
        self.layout().sizes.ablation.taken_slot == TakenSlot::Shifted
    }

    /// Appends a slot to the list of `source`, durably, if its section has room.
    ///
    /// # Errors
    /// `limit` if the list is full; nothing was inserted.
    #[inline]
    pub(crate) fn try_insert(&self, source: u32, value: u32) -> Result<Outcome> {
        let section = self.layout().section_of(source);
        let mut state = self.sections[section].lock();
        self.insert_if_room(source, value, section, &mut state)
    }

    /// Appends a tombstone of `target` to the list of `source`, durably, if the section has room and the list such an
    /// edge; `None` if it has none.
    ///
    /// # Errors
    /// As [`Self::try_insert`]; `corrupt` if the log is damaged.
    pub(crate) fn try_delete(&self, source: u32, target: u32) -> Result<Option<Outcome>> {
        let section = self.layout().section_of(source);
        // Held from the look at the list on, so that no two delete one edge.
        let mut state = self.sections[section].lock();
        if !self.has_edge(source, target)? {
            return Ok(None);
        }
        self.insert_if_room(source, tombstone(target), section, &mut state).map(Some)
    }

    /// Appends a tombstone of `target` to the list of `source`, durably, whatever room that takes; false if the list has no such
    /// edge.
    ///
    /// # Errors
    /// As [`Self::insert`]; `corrupt` if the log is damaged.
    pub(crate) fn delete(&mut self, source: u32, target: u32) -> Result<bool> {
        if !self.has_edge(source, target)? {
            return Ok(false);
        }
        self.insert(source, tombstone(target))?;
        Ok(true)
    }

    fn has_edge(&self, source: u32, target: u32) -> Result<bool> {
        let mut targets = Vec::new();
        self.append_slots(source, self.vertices.at(source as usize).elements(), &mut targets)?;
        to_targets(&mut targets);
        Ok(targets.contains(&target))
    }

    #[inline]
    fn insert_if_room(
        &self,
        source: u32,
        value: u32,
        section: usize,
        state: &mut Section,
    ) -> Result<Outcome> {
        if state.is_due(self.layout().log_records()) {
            return Ok(Outcome::NeedsRoom);
        }
        self.insert_with_room(source, value, section, state)
    }

    /// Appends a slot to the list of `source`, whose section, locked as `state`, has room; without logs only if the list has
    /// a gap behind it.
    #[inline]
    fn insert_with_room(
        &self,
        source: u32,
        value: u32,
        section: usize,
        state: &mut Section,
    ) -> Result<Outcome> {
        let mut vertex = self.vertices.at(source as usize);
        if vertex.in_array > ELEMENTS_MAX {
            return Err(full_list(source));
        }
        let mut medium = Medium::new(&self.medium.memory);
        let slot = vertex.array_end();
        if vertex.in_log == 0 && slot < self.room_end(source) {
            self.store_slot(&mut medium, slot, value);
            vertex.in_array += 1;
            state.tally.into_gaps += 1;
        } else if self.has_no_logs() {
            return Ok(Outcome::NeedsRoom);
        } else {
            let (index, generation) = (state.log_count, state.log_generation);
            let record = Record { source, slot: value, link: vertex.log_head };
            append(&mut medium, &self.region, self.layout(), (section, index as usize), generation, record);
            vertex.in_log += 1;
            // A log has at most 1,365 records.
            vertex.log_head = index as u16 + 1;
            state.log_count += 1;
            state.tally.into_logs += 1;
        }
        self.vertices.set(source as usize, vertex);
        state.used += 1;
        self.keep_insertion_in_file(&mut medium, source, section, state);
        state.tally.traffic.add(medium.traffic);
        if is_tombstone(value) {
            self.tombstones.insert(source);
            state.tally.edges -= 1;
        } else {
            state.tally.edges += 1;
        }
        Ok(Outcome::Inserted)
    }

    /// Stores one slot, durably.
    #[inline]
    fn store_slot(&self, medium: &mut Medium<&M>, slot: u64, value: u32) {
        let word = self.layout().word_of(slot);
        self.region.store(word, with_half(self.region.load(word), slot, value));
        if !planted(Bug::PackedInsertNotWrittenBack) {
            medium.write_back(Site::Slot, &self.region, word..word + 1);
        }
        medium.fence(Site::Slot);
    }

    /// Adds the vertex with the next id, durably.
    ///
    /// # Errors
    /// `limit` if there are as many as may be; errors of allocation. Nothing was added.
    pub(crate) fn append_vertex(&mut self) -> Result<()> {
        let count = self.vertices.len();
        if count >= VERTICES_MAX as usize {
            let text = format!("a packed graph has at most {VERTICES_MAX} vertices");
            return Err(Error::new(ErrorKind::Limit, text));
        }
        if count as u64 >= self.layout().vertices_max() {
            self.resize(true)?;
        }
        let start = match self.end_room(count) {
            Some(start) => start,
            None => {
                self.make_room(self.layout().section_of(count as u32 - 1))?;
                if self.end_room(count).is_none() {
                    self.resize(true)?;
                }
                self.end_room(count).ok_or_else(|| {
                    Error::new(ErrorKind::Limit, "a new array has no slot behind its last list")
                })?
            }
        };
        let mut medium = Medium::new(&self.medium.memory);
        self.store_slot(&mut medium, start, pivot(count as u32));
        let traffic = medium.traffic;
        self.medium.traffic.add(traffic);
        self.vertices.push(Vertex { start, ..Vertex::default() });
        self.tombstones.grow(count + 1);
        let section = self.layout().section_of(count as u32);
        self.sections[section].lock().used += 1;
        let sections = section.saturating_sub(1)..section + 1;
        self.measure(sections.clone());
        self.keep_in_file(count..count + 1, sections);
        Ok(())
    }

    /// Where the pivot of the next vertex may go: behind the last list, which keeps as much room as lists have on
    /// average, if there is so much.
    fn end_room(&self, count: usize) -> Option<u64> {
        let Some(last) = self.vertices.last() else { return Some(0) };
        let free = self.layout().slots() - last.array_end();
        if free == 0 {
            return None;
        }
        let average = self.layout().slots() / (count as u64 + 1);
        Some(last.array_end() + average.saturating_sub(last.array_slots()).min(free / 2))
    }
}
