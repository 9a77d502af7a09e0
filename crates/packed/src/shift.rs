//! Shift: how an edge whose slot is taken gets it without a section log: lists move by a slot, up to the nearest gap.
//!
//! ```text
//! to the right   -6 1 4 | -7 2 6 . | -8 9        lists behind, up to one with a gap
//!                -6 1 4 . | -7 2 6 | -8 9
//! to the left    -6 1 . | -7 2 6 | -8 9          the list itself and those before, down to one behind a gap
//!                -6 1 | -7 2 6 . | -8 9
//! ```
//!
//! A shift is carried out as a rebalance is, by a plan and undo, so that a power cut loses nothing. It takes the whole array,
//! for readers copy lists under no other lock.
//!
//! Source: DGAP (SC 2023), sections 3 ("Per-section Edge Log") and 4.4: the nearby shifts that section logs replace. For
//! measurements alone: see [`crate::ablation`].

use crate::array::PackedArray;
use crate::memory::region::Memory;
use crate::rebalance::carry_out::carry_out;
use crate::rebalance::moves::Moves;
use crate::rebalance::plan::{Motion, OldPlace, Plan};
use crate::vertex::Vertex;
use std::iter;

impl<M: Memory> PackedArray<M> {
    /// Makes sure that the slot behind the list of `source`, whose section is not full or was just given room, is a gap.
    pub(crate) fn make_gap(&mut self, source: u32) {
        let source = source as usize;
        if self.has_gap(source) {
            return;
        }
        let with_gap =
            self.nearest_gap(source).expect("who was given room has a gap in some section of its window");
        let (first, last, motion) = if with_gap > source {
            (source, with_gap, Motion::ShiftRight)
        } else {
            (with_gap, source, Motion::ShiftLeft)
        };
        let start = self.vertices.at(first).array_end() - 1;
        let end = self.vertices.at(last).array_end() + u64::from(motion == Motion::ShiftRight);
        let moved = self.vertices.range(first + 1..last + 1);
        let moved = moved.map(|vertex| OldPlace { start: vertex.start, in_array: vertex.in_array });
        let plan = Plan {
            number: self.plan_number.wrapping_add(1),
            first_section: 0,
            slots: start..end,
            first_vertex: first as u32,
            coming: 0,
            motion,
            old: iter::once(OldPlace { start, in_array: 0 }).chain(moved).collect(),
            logs: Vec::new(),
        };
        let layout = self.root.layout;
        let moves =
            Moves::new(&self.region, &layout, &plan).expect("lists that are shifted into a gap fit there");
        self.plan_number = plan.number;
        carry_out(&mut self.medium, &self.region, &layout, &plan, &moves);
        for (place, start) in (first + 1..last + 1).zip(&moves.new_starts[1..]) {
            self.vertices.set(place, Vertex { start: *start, ..self.vertices.at(place) });
        }
        let sections = layout.section_of(first as u32)..layout.section_of(last as u32) + 1;
        self.measure(sections.clone());
        self.counts.shifts += 1;
        self.keep_in_file(first + 1..last + 1, sections);
    }

    fn has_gap(&self, vertex: usize) -> bool {
        self.vertices.at(vertex).array_end() < self.room_end(vertex as u32)
    }

    /// The nearest list with a gap behind it: in the section of `source` if one has, and there rather to the right.
    fn nearest_gap(&self, source: usize) -> Option<usize> {
        let (layout, count) = (self.layout(), self.vertices.len());
        let section = layout.section_of(source as u32);
        let (start, end) = (layout.first_vertex(section), layout.first_vertex(section + 1).min(count));
        let in_section = (source..end).chain((start..source).rev());
        in_section.chain(end..count).chain((0..start).rev()).find(|vertex| self.has_gap(*vertex))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ablation::{Ablation, TakenSlot};
    use crate::memory::heap::HeapMemory;
    use crate::memory::region::Domain;
    use crate::options::Options;
    use crate::slot::edge;

    /// Nine vertices: sections of four.
    fn array() -> PackedArray<HeapMemory> {
        let ablation = Ablation { taken_slot: TakenSlot::Shifted, ..Ablation::NONE };
        let options = Options { vertices: 9, edges: 30, ablation, ..Options::default() };
        PackedArray::create(HeapMemory::new(Domain::Adr), &options).unwrap()
    }

    fn fill(array: &mut PackedArray<HeapMemory>, vertex: u32) {
        while array.has_gap(vertex as usize) {
            array.insert(vertex, edge(vertex)).unwrap();
        }
    }

    fn starts(array: &PackedArray<HeapMemory>) -> Vec<u64> {
        array.vertices.iter().map(|vertex| vertex.start).collect()
    }

    /// What is known of sections is what counting them gives.
    fn assert_sections_are_known(array: &mut PackedArray<HeapMemory>) {
        let sizes = |array: &PackedArray<HeapMemory>| -> Vec<_> {
            array.sections.iter().map(|section| section.lock()).map(|it| (it.used, it.slots)).collect()
        };
        let known = sizes(array);
        array.count_sections();
        assert_eq!(known, sizes(array));
    }

    #[test]
    fn lists_up_to_the_nearest_gap_are_shifted_by_a_slot() {
        let mut array = array();
        assert_eq!(array.layout().sizes.section_vertices, 4);
        // To the right: 1 is full and so is 2, but 3 has gaps.
        fill(&mut array, 1);
        fill(&mut array, 2);
        let mut expected = starts(&array);
        array.insert(1, edge(8)).unwrap();
        (2..4).for_each(|vertex: usize| expected[vertex] += 1);
        assert_eq!((starts(&array), array.counts.shifts), (expected.clone(), 1));
        // To the left: from 2 on the section is full, and 1 has no gap either.
        fill(&mut array, 3);
        array.insert(3, edge(0)).unwrap();
        (1..4).for_each(|vertex: usize| expected[vertex] -= 1);
        assert_eq!((starts(&array), array.counts.shifts), (expected, 2));
        let mut slots = Vec::new();
        for (vertex, newest) in [(1, 8), (3, 0)] {
            slots.clear();
            array.append_slots(vertex, array.vertices.at(vertex as usize).elements(), &mut slots).unwrap();
            let (last, others) = slots.split_last().unwrap();
            assert_eq!(*last, edge(newest));
            assert!(others.iter().all(|slot| *slot == edge(vertex)), "{slots:?}");
        }
        let (totals, _) = array.totals();
        assert_eq!((totals.into_logs, array.counts.rebalances), (0, 0));
        assert_sections_are_known(&mut array);
    }
}
