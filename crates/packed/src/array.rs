//! Array: the state of a packed graph, and how a list of it is read.
//!
//! ```text
//! persistent   root | undo slots, plan, section logs, edge array        what is true
//! in memory    vertices | sections | tombstone bits | counts            follows from it
//! ```

use crate::density::{Section, Tally};
use crate::layout::{Layout, half};
use crate::memory::medium::Medium;
use crate::memory::region::{Memory, Region as _};
use crate::root::Root;
use crate::section_log::record;
use crate::vertex::{TombstoneBits, Vertex, Vertices};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::AtomicUsize;
use std::ops::Range;

/// How often the array made room since it was opened or created.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) rebalances: u64,
    pub(crate) resizes: u64,
    pub(crate) shifts: u64,
}

/// A packed graph that is open.
///
/// # Concurrency
/// One lock around all of it, and one a section within. Who inserts holds the first to read and that of the source's section,
/// so that writers of different sections go on beside each other. Who makes room, adds vertices, makes a view or shuts
/// down holds the first to write. Readers of views hold it to read, and no other: what a view shows is changed by
/// who makes room alone. Two sections never insert into one word: the slot of a pivot is between theirs.
///
/// The published program marks a section as being resized, and leaves it so, its writers asleep, if the resize proves
/// unneeded. No section has such a mark here: guards alone say who waits, and every way out of a function drops them.
pub(crate) struct PackedArray<M: Memory> {
    pub(crate) medium: Medium<M>,
    pub(crate) root_region: M::Region,
    pub(crate) root: Root,
    /// That of undo slots, plan, logs and edge array.
    pub(crate) region: M::Region,
    pub(crate) vertices: Vertices,
    pub(crate) sections: Vec<Mutex<Section>>,
    pub(crate) tombstones: TombstoneBits,
    /// Edges that were not deleted when sections were counted last.
    pub(crate) edges: u64,
    /// What was inserted before that.
    pub(crate) tally: Tally,
    /// That of the newest plan of the region.
    pub(crate) plan_number: u32,
    /// Views that read by the lengths that lists had. Changed by who holds the array's lock to read, read by who holds it
    /// to write: the lock orders both.
    pub(crate) open_views: AtomicUsize,
    pub(crate) counts: Counts,
}

impl<M: Memory> PackedArray<M> {
    #[inline]
    pub(crate) fn layout(&self) -> &Layout {
        &self.root.layout
    }

    /// Where the room of a vertex' list ends.
    #[inline]
    pub(crate) fn room_end(&self, vertex: u32) -> u64 {
        self.vertices.get(vertex as usize + 1).map_or(self.layout().slots(), |next| next.start)
    }

    /// Where the slots of a section begin; those of the one behind the last, where they end.
    pub(crate) fn section_start(&self, section: usize) -> u64 {
        let first = self.layout().first_vertex(section);
        if section == 0 {
            0
        } else {
            self.vertices.get(first).map_or(self.layout().slots(), |vertex| vertex.start)
        }
    }

    /// Counts the slots of these sections anew.
    pub(crate) fn measure(&mut self, sections: Range<usize>) {
        let mut start = self.section_start(sections.start);
        for section in sections {
            let end = self.section_start(section + 1);
            self.sections[section].lock().slots = end - start;
            start = end;
        }
    }

    /// Appends the first `count` edges and tombstones of a list, oldest first, as they are stored.
    ///
    /// # Errors
    /// `corrupt`, naming the record, if the log is damaged.
    pub(crate) fn append_slots(&self, vertex: u32, count: u32, slots: &mut Vec<u32>) -> Result<()> {
        let Vertex { start, in_array, .. } = self.vertices.at(vertex as usize);
        let in_array = count.min(in_array);
        let load = |slot: u64| half(self.region.load(self.layout().word_of(slot)), slot);
        slots.extend((start + 1..start + 1 + u64::from(in_array)).map(load));
        let first = slots.len();
        self.each_logged(vertex, 0..count - in_array, |slot| slots.push(slot))?;
        slots[first..].reverse();
        Ok(())
    }

    /// Calls `take` with these of the slots that a list has in the log, the newest first: links lead from there back.
    ///
    /// # Errors
    /// `corrupt`, naming the record, if the log is damaged.
    #[inline]
    pub(crate) fn each_logged(
        &self,
        vertex: u32,
        records: Range<u32>,
        mut take: impl FnMut(u32),
    ) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let Vertex { in_log, log_head, .. } = self.vertices.at(vertex as usize);
        let section = self.layout().section_of(vertex);
        let records_max = self.layout().log_records() as usize;
        let mut link = log_head;
        for number in (records.start..u32::from(in_log)).rev() {
            let index = usize::from(link).wrapping_sub(1);
            if index >= records_max {
                return Err(self.damaged_record(section, index, vertex));
            }
            let record = record(&self.region, self.layout(), section, index);
            if record.source != vertex || record.link >= link {
                return Err(self.damaged_record(section, index, vertex));
            }
            if number < records.end {
                take(record.slot);
            }
            link = record.link;
        }
        Ok(())
    }

    /// What was inserted since the array was opened or created, and how many edges there are.
    pub(crate) fn totals(&self) -> (Tally, u64) {
        let mut since = Tally::default();
        self.sections.iter().for_each(|section| since.add(&section.lock().tally));
        let edges = self.edges.saturating_add_signed(since.edges);
        since.add(&self.tally);
        since.traffic.add(self.medium.traffic);
        (since, edges)
    }

    /// A byte of the array's region, as errors name it.
    pub(crate) fn place(&self, word: usize) -> String {
        format!("{} at byte {}", self.medium.memory.name_of(self.root.region), word * 8)
    }

    #[cold]
    fn damaged_record(&self, section: usize, index: usize, vertex: u32) -> Error {
        let place = self.place(self.layout().log(section));
        let text =
            format!("{place}: record {index} of the log of section {section} is none of vertex {vertex}");
        Error::new(ErrorKind::Corrupt, text)
    }
}
