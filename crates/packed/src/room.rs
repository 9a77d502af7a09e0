//! Room: what an insertion does when its section is full: it spreads a window, or replaces the array by a larger one.
//!
//! A new array is a region of its own. It is written and fenced, then the root names it, then the old region is freed:
//! a power cut leaves one of the two, and the other is freed when the graph is opened. Neither plan nor undo slot is
//! needed.
//!
//! Source: DGAP (SC 2023), sections 2.3, 3.1.1 and 3.1.4.

use crate::array::PackedArray;
use crate::cancellation::to_targets;
use crate::density::{Section, window};
use crate::layout::{Layout, Sizes, with_half};
use crate::memory::region::{Memory, Region};
use crate::memory::site::Site;
use crate::rebalance::carry_out::carry_out;
use crate::rebalance::moves::Moves;
use crate::rebalance::plan::{Motion, OldPlace, Plan, PlannedLog};
use crate::root::Root;
use crate::slot::{edge, pivot};
use crate::spread::starts;
use crate::vertex::{TombstoneBits, Vertex};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::Ordering;
use std::ops::Range;

impl<M: Memory> PackedArray<M> {
    /// Makes room in `section`, whose log is empty afterwards.
    ///
    /// # Errors
    /// Errors of allocation; `corrupt` if a log is damaged. The graph is as it was.
    pub(crate) fn make_room(&mut self, section: usize) -> Result<()> {
        match window(&self.sections, section) {
            Some(window) => self.rebalance(window),
            None => self.resize(false),
        }
    }

    /// Spreads the lists of a window.
    ///
    /// # Errors
    /// `corrupt` if a log of the window does not have the records that it had. Nothing was moved.
    pub(crate) fn rebalance(&mut self, window: Range<usize>) -> Result<()> {
        let plan = self.plan(window.clone());
        let layout = self.root.layout;
        let first = plan.first_vertex as usize;
        let rows = first..first + plan.old.len();
        let has_all_records = |moves: &Moves| {
            let mut vertices = self.vertices.range(rows.clone()).enumerate();
            vertices.all(|(row, vertex)| moves.in_log(row) == u32::from(vertex.in_log))
        };
        let moves = Moves::new(&self.region, &layout, &plan).filter(has_all_records).ok_or_else(|| {
            let place = self.place(self.layout().log(window.start));
            let text = format!("{place}: a log of sections {window:?} has lost records");
            Error::new(ErrorKind::Corrupt, text)
        })?;
        self.plan_number = plan.number;
        carry_out(&mut self.medium, &self.region, &layout, &plan, &moves);
        for (row, place) in rows.clone().enumerate() {
            let in_array = self.vertices.at(place).in_array + moves.in_log(row);
            self.vertices
                .set(place, Vertex { start: moves.new_starts[row], in_array, in_log: 0, log_head: 0 });
        }
        for section in window.clone() {
            let mut state = self.sections[section].lock();
            state.log_count = 0;
            state.log_generation = plan.generation_after(section - window.start);
        }
        self.measure(window.clone());
        self.counts.rebalances += 1;
        self.keep_in_file(rows, window);
        Ok(())
    }

    fn plan(&self, window: Range<usize>) -> Plan {
        let layout = self.layout();
        let first = layout.first_vertex(window.start);
        let end = layout.first_vertex(window.end).min(self.vertices.len());
        let vertices = self.vertices.range(first.min(end)..end);
        let old = vertices.map(|vertex| OldPlace { start: vertex.start, in_array: vertex.in_array });
        let log = |section: &Mutex<Section>| {
            let section = section.lock();
            PlannedLog { generation: section.log_generation, has_records: section.log_count > 0 }
        };
        Plan {
            number: self.plan_number.wrapping_add(1),
            first_section: window.start,
            slots: self.section_start(window.start)..self.section_start(window.end),
            first_vertex: first as u32,
            coming: self.coming(window.end),
            motion: Motion::Spread,
            old: old.collect(),
            logs: self.sections[window].iter().map(log).collect(),
        }
    }

    /// Vertices that have a section before `section_end` and do not exist yet.
    fn coming(&self, section_end: usize) -> u64 {
        self.layout().first_vertex(section_end).saturating_sub(self.vertices.len()) as u64
    }

    /// Replaces the array by one with twice the slots, if it is at least half full, and with twice the sections, if they
    /// are needed for `more_vertices`. All logs are merged. Deleted edges and their tombstones are left out, unless a
    /// view is open, which counts them.
    ///
    /// # Errors
    /// `limit` if the array cannot grow; errors of allocation. The graph is as it was.
    pub(crate) fn resize(&mut self, more_vertices: bool) -> Result<()> {
        let old = self.root.layout.sizes;
        let drops_deleted = self.open_views.load(Ordering::Relaxed) == 0;
        let mut list = Vec::new();
        let mut lengths = Vec::with_capacity(self.vertices.len());
        for (vertex, place) in (0u32..).zip(self.vertices.iter()) {
            lengths.push(if drops_deleted && self.tombstones.contains(vertex) {
                self.copy_list(vertex, drops_deleted, &mut list)?;
                1 + list.len() as u64
            } else {
                place.used()
            });
        }
        let used: u64 = lengths.iter().sum();
        let slots = if used * 2 >= old.slots { old.slots.checked_mul(2) } else { Some(old.slots) };
        let sections = if more_vertices { old.sections.checked_mul(2) } else { Some(old.sections) };
        let (Some(slots), Some(sections)) = (slots, sections) else {
            let Sizes { slots, sections, .. } = old;
            let text =
                format!("the array has {slots} slots and {sections} sections; it cannot have twice as many");
            return Err(Error::new(ErrorKind::Limit, text));
        };
        let layout = Layout::of(Sizes { slots, sections, ..old });
        let coming = layout.vertices_max().saturating_sub(lengths.len() as u64);
        let starts =
            starts(&(0..layout.slots()), &lengths, coming).expect("an array has more slots than it uses");

        let number = self.root.region + 1;
        let region = self.medium.memory.allocate(number, layout.words())?;
        let mut writer = SlotWriter::new(&region, &layout);
        for (vertex, start) in (0u32..).zip(&starts) {
            writer.start_at(*start);
            writer.push(pivot(vertex));
            self.copy_list(vertex, drops_deleted, &mut list)?;
            list.iter().for_each(|slot| writer.push(*slot));
        }
        writer.end();
        self.medium.write_back(Site::ReplacedArray, &region, layout.array()..layout.words());
        if !planted(Bug::PackedNamedBeforeFence) {
            self.medium.fence(Site::ReplacedArray);
        }
        if planted(Bug::PackedFreedBeforeNaming) {
            self.medium.memory.free(self.root.region)?;
        }
        let root = Root { sequence: self.root.sequence + 1, region: number, layout, saved: None };
        root.store(&mut self.medium, &self.root_region);
        let freed = std::mem::replace(&mut self.root, root).region;
        self.region = region;
        for (place, (start, length)) in starts.into_iter().zip(lengths).enumerate() {
            self.vertices.set(place, Vertex { start, in_array: (length - 1) as u32, in_log: 0, log_head: 0 });
        }
        if drops_deleted {
            self.tombstones = TombstoneBits::new(self.vertices.len());
        }
        self.plan_number = 0;
        self.count_sections();
        self.counts.resizes += 1;
        self.keep_all_in_file();
        if planted(Bug::PackedFreedBeforeNaming) {
            return Ok(());
        }
        self.medium.memory.free(freed)
    }

    /// Replaces `list` by the slots of a vertex' list, without deleted edges if it `drops_deleted` ones.
    fn copy_list(&self, vertex: u32, drops_deleted: bool, list: &mut Vec<u32>) -> Result<()> {
        list.clear();
        self.append_slots(vertex, self.vertices.at(vertex as usize).elements(), list)?;
        if drops_deleted && self.tombstones.contains(vertex) {
            to_targets(list);
            list.iter_mut().for_each(|slot| *slot = edge(*slot));
        }
        Ok(())
    }

    /// Counts all sections anew, with empty logs of the first generation.
    pub(crate) fn count_sections(&mut self) {
        // What was inserted is counted once.
        let (_, edges) = self.totals();
        for section in &self.sections {
            self.tally.add(&section.lock().tally);
        }
        self.edges = edges;
        let sections = self.layout().sections();
        let mut used = vec![0; sections];
        for (vertex, place) in (0u32..).zip(self.vertices.iter()) {
            used[self.root.layout.section_of(vertex)] += place.used();
        }
        self.sections =
            used.into_iter().map(|used| Mutex::new(Section { used, ..Section::default() })).collect();
        self.measure(0..sections);
    }
}

/// Stores slots of a new array, whose words are zero, in ascending order.
pub(crate) struct SlotWriter<'a, R> {
    region: &'a R,
    layout: &'a Layout,
    slot: u64,
    word: u64,
}

impl<'a, R: Region> SlotWriter<'a, R> {
    pub(crate) fn new(region: &'a R, layout: &'a Layout) -> Self {
        Self { region, layout, slot: 0, word: 0 }
    }

    /// Goes on at a slot that lies behind those that were stored.
    pub(crate) fn start_at(&mut self, slot: u64) {
        debug_assert!(slot >= self.slot, "slots are stored in ascending order");
        if slot / 2 != self.slot / 2 {
            self.end();
        }
        self.slot = slot;
    }

    pub(crate) fn push(&mut self, value: u32) {
        self.word = with_half(self.word, self.slot, value);
        self.slot += 1;
        if self.slot.is_multiple_of(2) {
            self.region.store(self.layout.word_of(self.slot - 1), self.word);
            self.word = 0;
        }
    }

    /// Stores the last word, if it is half full.
    pub(crate) fn end(&mut self) {
        if self.word != 0 {
            self.region.store(self.layout.word_of(self.slot), self.word);
            self.word = 0;
        }
    }
}
