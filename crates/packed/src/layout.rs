//! Layout: where undo slots, plan, logs and edge array lie in the region that they share.
//!
//! ```text
//! undo slot 0 | undo slot 1   a line of place and checksum, then the words that a chunk overwrites
//! plan                        a line of state and window, two words a vertex, one a section
//! journal                     with an ablation alone: lines of owner and transaction, then 32 bytes an entry
//! placed vertices, sections   with an ablation alone: two words a vertex, four a section
//! log of section 0, 1, …      a word of generation, then records of 12 bytes; 2 KB with 170 of them
//! edge array                  slots of 4 bytes, two a word
//! ```
//!
//! A section holds the lists of `section_vertices` vertices, however long they are: its slots vary (VCSR). All parts
//! begin on a line.

use crate::ablation::{Ablation, Placement, UndoKind};
use crate::memory::region::LINE_WORDS;
use crate::options::{LOG_RECORDS_MAX, Options, UNDO_BYTES_MAX};

/// Slots of a line.
const LINE_SLOTS: u64 = 16;

/// Slots for each expected element: one over the lowest density of the root, 0.50.
const SLOTS_PER_ELEMENT: u64 = 2;

/// Words of an entry of the journal: two lie in a line.
pub(crate) const JOURNAL_ENTRY_WORDS: usize = LINE_WORDS / 2;

/// Words of a section whose densities are kept in the file: two lie in a line.
const PLACED_SECTION_WORDS: usize = LINE_WORDS / 2;

/// Sizes from which all places follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sizes {
    /// Slots of the edge array, a multiple of a line's.
    pub(crate) slots: u64,
    /// A power of two.
    pub(crate) sections: u32,
    pub(crate) section_vertices: u32,
    pub(crate) log_records: u32,
    /// Slots that an undo slot holds, a multiple of a line's.
    pub(crate) undo_slots: u32,
    /// Decides which parts there are.
    pub(crate) ablation: Ablation,
}

impl Sizes {
    /// Of a new array, for checked `options`.
    fn new(options: &Options) -> Self {
        let vertices = options.vertices.max(1);
        let section_vertices = (u32::BITS - (vertices - 1).leading_zeros()).max(1);
        let sections = vertices.div_ceil(section_vertices).next_power_of_two();
        let elements = options.edges + u64::from(options.vertices);
        Self {
            slots: (elements * SLOTS_PER_ELEMENT).max(LINE_SLOTS).next_multiple_of(LINE_SLOTS),
            sections,
            section_vertices,
            log_records: options.log_records,
            undo_slots: options.undo_bytes / 4,
            ablation: options.ablation,
        }
    }

    /// Whether these may be those of an array, so that no place in it overflows.
    pub(crate) fn are_valid(&self) -> bool {
        let Self { slots, sections, section_vertices, log_records, undo_slots, ablation: _ } = *self;
        sections.is_power_of_two()
            && section_vertices > 0
            && u64::from(sections) * u64::from(section_vertices) <= 1 << 34
            && (LINE_SLOTS..=1 << 46).contains(&slots)
            && slots.is_multiple_of(LINE_SLOTS)
            && (2..=LOG_RECORDS_MAX).contains(&log_records)
            && (1..=UNDO_BYTES_MAX / 4).contains(&undo_slots)
            && u64::from(undo_slots).is_multiple_of(LINE_SLOTS)
    }
}

/// Where the parts of a region lie. What every insertion needs is computed once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(crate) sizes: Sizes,
    /// (2^64 - 1) over the vertices of a section, rounded down.
    section_inverse: u64,
    plan: usize,
    journal: usize,
    placed_vertices: usize,
    placed_sections: usize,
    first_log: usize,
    log_words: usize,
    array: usize,
}

fn whole_lines(words: u64) -> u64 {
    words.next_multiple_of(LINE_WORDS as u64)
}

impl Layout {
    /// Of a new array, for checked `options`.
    pub(crate) fn new(options: &Options) -> Self {
        Self::of(Sizes::new(options))
    }

    /// Of valid sizes.
    pub(crate) fn of(sizes: Sizes) -> Self {
        let vertices_max = u64::from(sizes.sections) * u64::from(sizes.section_vertices);
        let undo_words = LINE_WORDS + sizes.undo_slots as usize / 2;
        let plan_words = LINE_WORDS + whole_lines(2 * vertices_max + u64::from(sizes.sections)) as usize;
        let log_words = whole_lines((8 + 12 * u64::from(sizes.log_records)).div_ceil(8)) as usize;
        let plan = 2 * undo_words;
        let journal = plan + plan_words;
        let journal_words = match sizes.ablation.undo {
            UndoKind::Slots => 0,
            UndoKind::Journal => 2 * LINE_WORDS + sizes.undo_slots as usize / 2 * JOURNAL_ENTRY_WORDS,
        };
        let placed_vertices = journal + journal_words;
        let (vertices_words, sections_words) = match sizes.ablation.placement {
            Placement::Memory => (0, 0),
            Placement::File => (2 * vertices_max, u64::from(sizes.sections) * PLACED_SECTION_WORDS as u64),
        };
        let placed_sections = placed_vertices + whole_lines(vertices_words) as usize;
        let first_log = placed_sections + whole_lines(sections_words) as usize;
        Self {
            sizes,
            section_inverse: u64::MAX / u64::from(sizes.section_vertices),
            plan,
            journal,
            placed_vertices,
            placed_sections,
            first_log,
            log_words,
            array: first_log + sizes.sections as usize * log_words,
        }
    }

    /// Slots of the edge array.
    #[inline]
    pub(crate) fn slots(&self) -> u64 {
        self.sizes.slots
    }

    pub(crate) fn sections(&self) -> usize {
        self.sizes.sections as usize
    }

    /// Records of a log.
    #[inline]
    pub(crate) fn log_records(&self) -> u32 {
        self.sizes.log_records
    }

    /// Vertices that have a section.
    pub(crate) fn vertices_max(&self) -> u64 {
        u64::from(self.sizes.sections) * u64::from(self.sizes.section_vertices)
    }

    /// The section of a vertex: every insertion needs it, so it is a product by the inverse, not a quotient. It is exact: the
    /// inverse, rounded down, makes the product smaller by at most 2^-32, and the vertex more makes it larger by one over the
    /// vertices of a section, which is more than that and leads no further than to the end of the section.
    #[inline]
    pub(crate) fn section_of(&self, vertex: u32) -> usize {
        let product = u128::from(self.section_inverse) * (u128::from(vertex) + 1);
        (product >> 64) as usize
    }

    /// The first vertex of a section.
    #[inline]
    pub(crate) fn first_vertex(&self, section: usize) -> usize {
        section * self.sizes.section_vertices as usize
    }

    /// First word of an undo slot, 0 or 1.
    pub(crate) fn undo(&self, which: usize) -> usize {
        which * (self.plan / 2)
    }

    /// First word of the plan.
    pub(crate) fn plan(&self) -> usize {
        self.plan
    }

    /// First word of the journal, if there is one: an entry for each word of the largest chunk.
    pub(crate) fn journal(&self) -> usize {
        self.journal
    }

    /// First word of a vertex that is kept in the file, if they are.
    pub(crate) fn placed_vertex(&self, vertex: usize) -> usize {
        self.placed_vertices + 2 * vertex
    }

    /// First word of a section whose densities are kept in the file, if they are.
    pub(crate) fn placed_section(&self, section: usize) -> usize {
        self.placed_sections + PLACED_SECTION_WORDS * section
    }

    /// First word of a section's log.
    #[inline]
    pub(crate) fn log(&self, section: usize) -> usize {
        self.first_log + section * self.log_words
    }

    /// First word of the edge array.
    #[inline]
    pub(crate) fn array(&self) -> usize {
        self.array
    }

    /// The word that holds a slot of the edge array.
    #[inline]
    pub(crate) fn word_of(&self, slot: u64) -> usize {
        self.array + (slot / 2) as usize
    }

    /// Words of the region.
    pub(crate) fn words(&self) -> usize {
        self.array + (self.sizes.slots / 2) as usize
    }
}

/// The slot's half of its word.
#[inline]
pub(crate) fn half(word: u64, slot: u64) -> u32 {
    (word >> (32 * (slot % 2))) as u32
}

/// The word with this value in the slot's half of it.
#[inline]
pub(crate) fn with_half(word: u64, slot: u64, value: u32) -> u64 {
    let shift = 32 * (slot % 2);
    word & !(u64::from(u32::MAX) << shift) | u64::from(value) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_begin_on_lines_and_a_log_of_170_records_has_2_kib() {
        for vertices in [0, 1, 2, 9, 1000, 65_537] {
            for ablation in [Ablation::NONE, Ablation::ALL] {
                let layout = Layout::new(&Options { vertices, edges: 10, ablation, ..Options::default() });
                let parts = [
                    layout.undo(1),
                    layout.plan(),
                    layout.journal(),
                    layout.placed_vertex(0),
                    layout.placed_section(0),
                    layout.log(0),
                    layout.array(),
                    layout.words(),
                ];
                assert!(parts.iter().all(|word| word % LINE_WORDS == 0), "{layout:?}");
                assert!(layout.sizes.are_valid() && parts.is_sorted());
                assert!(layout.vertices_max() >= u64::from(vertices));
                assert_eq!((layout.log(1) - layout.log(0)) * 8, 2048);
                assert!(
                    layout.placed_vertex(layout.vertices_max() as usize) <= layout.placed_section(0)
                        || ablation == Ablation::NONE
                );
                assert!(
                    layout.placed_section(layout.sections()) <= layout.log(0) || ablation == Ablation::NONE
                );
            }
        }
    }

    #[test]
    fn a_section_begins_with_every_multiple_of_its_vertices() {
        let sizes = Layout::new(&Options::default()).sizes;
        for section_vertices in [1, 2, 3, 5, 7, 18, 30, 31, 641, 65_537, u32::MAX] {
            let layout = Layout::of(Sizes { sections: 1, section_vertices, ..sizes });
            for section in [0, 1, 2, 99, u32::MAX / section_vertices] {
                let Some(first) = section.checked_mul(section_vertices) else { continue };
                for vertex in [Some(first), first.checked_sub(1), first.checked_add(section_vertices - 1)] {
                    let Some(vertex) = vertex else { continue };
                    let expected = (vertex / section_vertices) as usize;
                    assert_eq!(layout.section_of(vertex), expected, "{vertex} by {section_vertices}");
                }
            }
        }
    }

    #[test]
    fn a_half_of_a_word_changes_alone() {
        assert_eq!(with_half(0x1111_1111_2222_2222, 4, 7), 0x1111_1111_0000_0007);
        assert_eq!(with_half(0x1111_1111_2222_2222, 5, 7), 0x0000_0007_2222_2222);
        assert_eq!((half(0x0000_0007_2222_2222, 0), half(0x0000_0007_2222_2222, 3)), (0x2222_2222, 7));
    }
}
