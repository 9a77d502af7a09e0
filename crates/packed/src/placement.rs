//! Placement: vertex array and densities in the file beside those in memory, written back and fenced at each change.
//!
//! Nothing reads them: after a power cut pivots and logs say the same, and the scan of them is needed anyway. So only what
//! they write is measured, not what reading them from persistent memory would take.
//!
//! Source: DGAP (SC 2023), section 3, "Vertex Array", and 4.4: what keeping them in DRAM saves. For measurements alone: see
//! [`crate::ablation`].

use crate::ablation::Placement;
use crate::array::PackedArray;
use crate::density::Section;
use crate::memory::medium::Medium;
use crate::memory::region::{Memory, Region as _};
use crate::memory::site::Site;
use crate::vertex::Vertex;
use std::ops::Range;

impl<M: Memory> PackedArray<M> {
    #[inline]
    fn is_in_file(&self) -> bool {
        self.layout().sizes.ablation.placement == Placement::File
    }

    /// Stores what an insertion changed, each durably: the vertex, then its section, locked as `state`.
    #[inline]
    pub(crate) fn keep_insertion_in_file(
        &self,
        medium: &mut Medium<&M>,
        vertex: u32,
        section: usize,
        state: &Section,
    ) {
        if self.is_in_file() {
            let vertex = vertex as usize;
            self.store_vertices(medium, vertex..vertex + 1);
            medium.fence(Site::Placement);
            self.store_section(medium, section, state);
            medium.fence(Site::Placement);
        }
    }

    /// Stores what these vertices and sections are now: durably the former, then durably the latter.
    pub(crate) fn keep_in_file(&mut self, vertices: Range<usize>, sections: Range<usize>) {
        if !self.is_in_file() {
            return;
        }
        let mut medium = Medium::new(&self.medium.memory);
        self.store_vertices(&mut medium, vertices);
        medium.fence(Site::Placement);
        for section in sections {
            self.store_section(&mut medium, section, &self.sections[section].lock());
        }
        medium.fence(Site::Placement);
        let traffic = medium.traffic;
        self.medium.traffic.add(traffic);
    }

    /// The same of all of them: in a new region, and when the graph is opened.
    pub(crate) fn keep_all_in_file(&mut self) {
        self.keep_in_file(0..self.vertices.len(), 0..self.sections.len());
    }

    fn store_vertices(&self, medium: &mut Medium<&M>, vertices: Range<usize>) {
        let first = self.layout().placed_vertex(vertices.start);
        let mut end = first;
        for word in self.vertices.range(vertices).flat_map(Vertex::words) {
            self.region.store(end, word);
            end += 1;
        }
        medium.write_back(Site::Placement, &self.region, first..end);
    }

    fn store_section(&self, medium: &mut Medium<&M>, section: usize, state: &Section) {
        let first = self.layout().placed_section(section);
        let words = state.words();
        for (at, word) in words.into_iter().enumerate() {
            self.region.store(first + at, word);
        }
        medium.write_back(Site::Placement, &self.region, first..first + words.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ablation::Ablation;
    use crate::memory::heap::HeapMemory;
    use crate::memory::region::Domain;
    use crate::options::Options;
    use crate::recovery::Reopening;
    use crate::slot::edge;

    fn assert_kept(array: &PackedArray<HeapMemory>) {
        let load = |first: usize, words: usize| -> Vec<u64> {
            (first..first + words).map(|word| array.region.load(word)).collect()
        };
        for (at, vertex) in array.vertices.iter().enumerate() {
            assert_eq!(load(array.layout().placed_vertex(at), 2), vertex.words(), "vertex {at}");
        }
        for (at, section) in array.sections.iter().enumerate() {
            assert_eq!(load(array.layout().placed_section(at), 3), section.lock().words(), "section {at}");
        }
    }

    #[test]
    fn the_file_has_what_memory_has_after_each_change() {
        for ablation in [Ablation { placement: Placement::File, ..Ablation::NONE }, Ablation::ALL] {
            let memory = HeapMemory::new(Domain::Adr);
            let options = Options { vertices: 9, edges: 20, log_records: 7, undo_bytes: 64, ablation };
            let mut array = PackedArray::create(memory.clone(), &options).unwrap();
            assert_kept(&array);
            for at in 0..300u32 {
                match at % 20 {
                    3 => array.append_vertex().unwrap(),
                    7 => assert!(array.delete(at / 20 % 9, 1).is_ok()),
                    _ => array.insert(at * at % 7, edge(at % 9)).unwrap(),
                }
                assert_kept(&array);
            }
            let counts = array.counts;
            assert!(counts.rebalances > 0 && counts.resizes > 0, "{counts:?}");
            assert_eq!(counts.shifts > 0, ablation == Ablation::ALL);
            drop(array);
            let (array, _) = PackedArray::open(memory, Reopening::Saved).unwrap();
            assert_kept(&array);
        }
    }
}
