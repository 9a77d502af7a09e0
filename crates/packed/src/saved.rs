//! Saved vertex array: what a shutdown writes, so that opening need not scan the edge array.
//!
//! ```text
//! vertices | sections | edges | plan number      a word each
//! vertex     start | in array, in log, log head  two words
//! section    records in its log | generation     one word
//! tombstones one bit a vertex
//! ```
//!
//! The root names the region and the checksum of its words.
//!
//! Source: DGAP (SC 2023), section 3.1.5.

use crate::array::PackedArray;
use crate::memory::region::{Memory, Region};
use crate::memory::site::Site;
use crate::rebalance::undo::PLANS_WITHOUT_UNDO;
use crate::root::{Root, Saved, checksum};
use crate::vertex::{TombstoneBits, Vertex};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};

const HEADER_WORDS: usize = 4;

impl<M: Memory> PackedArray<M> {
    /// Saves what is in memory, and names it in the root.
    ///
    /// # Errors
    /// Errors of allocation; the graph can go on.
    pub(crate) fn save(&mut self) -> Result<()> {
        let number = self.root.region + 1;
        let words: Vec<u64> = self.saved_words().collect();
        let region = self.medium.memory.allocate(number, words.len())?;
        for (at, word) in words.iter().enumerate() {
            region.store(at, *word);
        }
        self.medium.write_back(Site::SavedVertices, &region, 0..words.len());
        self.medium.fence(Site::SavedVertices);
        let saved = Saved { region: number, checksum: checksum(words) };
        let root = Root { sequence: self.root.sequence + 1, saved: Some(saved), ..self.root };
        root.store(&mut self.medium, &self.root_region);
        self.root = root;
        Ok(())
    }

    fn saved_words(&self) -> impl Iterator<Item = u64> + '_ {
        let (_, edges) = self.totals();
        let header =
            [self.vertices.len() as u64, self.sections.len() as u64, edges, u64::from(self.plan_number)];
        let vertices = self.vertices.iter().flat_map(Vertex::words);
        let sections = self
            .sections
            .iter()
            .map(|section| section.lock())
            .map(|section| u64::from(section.log_count) << 32 | u64::from(section.log_generation));
        header.into_iter().chain(vertices).chain(sections).chain(self.tombstones.words())
    }

    /// Takes over what a shutdown saved.
    ///
    /// # Errors
    /// `corrupt` if it is not what the shutdown wrote; errors of reading.
    pub(crate) fn load_saved(&mut self, saved: Saved) -> Result<()> {
        let region = self.medium.memory.open(saved.region)?;
        let name = self.medium.memory.name_of(saved.region);
        let damaged = |problem: String| {
            let text = format!(
                "{name}: the saved vertex array is damaged: {problem}; open the graph with `Reopening::Scan` to rebuild it \
                 from the edge array"
            );
            Error::new(ErrorKind::Corrupt, text)
        };
        let words = region.words();
        let found = checksum((0..words).map(|at| region.load(at)));
        if found != saved.checksum {
            return Err(damaged(format!("its checksum is {found:#010x}, not {:#010x}", saved.checksum)));
        }
        if words < HEADER_WORDS {
            return Err(damaged(format!("it has {words} words")));
        }
        let [vertices, sections] = [0, 1].map(|at| region.load(at) as usize);
        let expected = vertices
            .checked_mul(2)
            .and_then(|places| places.checked_add(HEADER_WORDS + vertices.div_ceil(64)))
            .and_then(|words| words.checked_add(sections));
        let is_of_array =
            sections == self.layout().sections() && vertices as u64 <= self.layout().vertices_max();
        if expected != Some(words) || !is_of_array {
            return Err(damaged(format!("{vertices} vertices and {sections} sections in {words} words")));
        }
        (self.edges, self.plan_number) = (region.load(2), region.load(3) as u32);
        if planted(Bug::PackedNoUndoAfterReopening) {
            self.plan_number |= PLANS_WITHOUT_UNDO;
        }
        self.vertices = (0..vertices)
            .map(|at| Vertex::of_words([0, 1].map(|word| region.load(HEADER_WORDS + 2 * at + word))))
            .collect();
        let mut end = 0;
        for (at, vertex) in self.vertices.iter().enumerate() {
            let room = self.layout().slots().checked_sub(vertex.start);
            let fits = vertex.start >= end && room.is_some_and(|room| vertex.array_slots() <= room);
            if !fits || u32::from(vertex.in_log) > self.layout().log_records() {
                return Err(damaged(format!("vertex {at} lies at {vertex:?}")));
            }
            end = vertex.array_end();
        }
        self.count_sections();
        let logs = HEADER_WORDS + 2 * vertices;
        for (at, section) in self.sections.iter().enumerate() {
            let word = region.load(logs + at);
            let mut section = section.lock();
            (section.log_count, section.log_generation) = ((word >> 32) as u32, word as u32);
        }
        self.tombstones = TombstoneBits::of_words((logs + sections..words).map(|at| region.load(at)));
        Ok(())
    }
}
