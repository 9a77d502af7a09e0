//! Recovery: opens a graph, whether it was shut down or the power failed.
//!
//! ```text
//! shut down      the saved vertex array is read; the root no longer names it before anything changes
//! power cut      1  the interrupted plan is carried out to its end
//!                2  the edge array is scanned: pivots and edges give the vertex array
//!                3  the logs are read: counts and links of their records
//! both           regions that the root does not name are freed
//! ```
//!
//! Source: DGAP (SC 2023), section 3.1.5. Differs: the plan comes before the scan, which would meet lists that are half
//! moved; the published program reads no undo log, links no records and leaves the flag of a shutdown set.

use crate::array::{Counts, PackedArray};
use crate::density::Tally;
use crate::layout::{Layout, half};
use crate::memory::medium::Medium;
use crate::memory::region::{Memory, Region};
use crate::memory::site::Site;
use crate::options::Options;
use crate::rebalance::carry_out::resume;
use crate::room::SlotWriter;
use crate::root::{ROOT_REGION, Root};
use crate::section_log::{generation, records};
use crate::slot::{Slot, is_tombstone, pivot};
use crate::spread::starts;
use crate::vertex::{TombstoneBits, Vertex, Vertices};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::atomic::AtomicUsize;

/// How a graph is opened that was shut down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reopening {
    /// From the saved vertex array. The edge array is taken as it is.
    #[default]
    Saved,
    /// From the edge array and the logs, as after a power cut: every slot and every record is checked.
    Scan,
}

/// What an opening found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Found {
    /// The graph was shut down, and its vertex array was saved.
    ShutDown,
    /// The graph was not shut down, or its saved vertex array was to be ignored: the edge array was scanned.
    Scanned,
}

impl<M: Memory> PackedArray<M> {
    /// A new graph of `options`.
    ///
    /// # Errors
    /// `invalid` if an option is out of range or a graph is there; errors of allocation.
    pub(crate) fn create(memory: M, options: &Options) -> Result<Self> {
        options.check()?;
        if Root::is_there(&memory)? {
            return Err(Error::invalid("create a packed graph: there is one already; open it"));
        }
        // What a creation that was interrupted left.
        for number in memory.numbers()? {
            memory.free(number)?;
        }
        let mut medium = Medium::new(memory);
        let layout = Layout::new(options);
        let coming = layout.vertices_max() - u64::from(options.vertices);
        let lengths = vec![1; options.vertices as usize];
        let starts =
            starts(&(0..layout.slots()), &lengths, coming).expect("an array has more slots than it uses");
        let number = ROOT_REGION + 1;
        let region = medium.memory.allocate(number, layout.words())?;
        let mut writer = SlotWriter::new(&region, &layout);
        for (vertex, start) in (0u32..).zip(&starts) {
            writer.start_at(*start);
            writer.push(pivot(vertex));
        }
        writer.end();
        medium.write_back(Site::CreatedArray, &region, layout.array()..layout.words());
        medium.fence(Site::CreatedArray);
        let root = Root { sequence: 1, region: number, layout, saved: None };
        let root_region = root.create(&mut medium)?;
        let mut array = Self::unread(medium, root_region, root, region);
        array.vertices = starts.into_iter().map(|start| Vertex { start, ..Vertex::default() }).collect();
        array.tombstones = TombstoneBits::new(array.vertices.len());
        array.count_sections();
        array.keep_all_in_file();
        Ok(array)
    }

    fn unread(medium: Medium<M>, root_region: M::Region, root: Root, region: M::Region) -> Self {
        Self {
            medium,
            root_region,
            root,
            region,
            vertices: Vertices::default(),
            sections: Vec::new(),
            tombstones: TombstoneBits::default(),
            edges: 0,
            tally: Tally::default(),
            plan_number: 0,
            open_views: AtomicUsize::new(0),
            counts: Counts::default(),
        }
    }

    /// The graph that was created in `memory`.
    ///
    /// # Errors
    /// `not_found` if none was; `corrupt`, naming region and place, if it is damaged; `invalid` if something else lies there,
    /// or a graph of a newer version; errors of reading and of freeing.
    pub(crate) fn open(memory: M, reopening: Reopening) -> Result<(Self, Found)> {
        if !Root::is_there(&memory)? {
            let text = "open a packed graph: none was created here, or not to its end; create one";
            return Err(Error::new(ErrorKind::NotFound, text));
        }
        let root_region = memory.open(ROOT_REGION)?;
        let root = Root::load(&memory, &root_region)?;
        let region = memory.open(root.region)?;
        if region.words() != root.layout.words() {
            let (found, expected) = (8 * region.words(), 8 * root.layout.words());
            let name = memory.name_of(root.region);
            let text = format!("{name} ends at byte {found}; its root says at byte {expected}");
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        let mut array = Self::unread(Medium::new(memory), root_region, root, region);
        let found = match root.saved.filter(|_| reopening == Reopening::Saved) {
            Some(saved) => {
                array.load_saved(saved)?;
                Found::ShutDown
            }
            None => {
                let name = array.medium.memory.name_of(root.region);
                array.plan_number = resume(&mut array.medium, &array.region, &root.layout)
                    .map_err(|error| Error::new(error.kind(), format!("{name}: {error}")))?;
                array.scan()?;
                array.read_logs()?;
                Found::Scanned
            }
        };
        if root.saved.is_some() && !planted(Bug::PackedCleanFlagStays) {
            array.root = Root { sequence: root.sequence + 1, saved: None, ..root };
            array.root.store(&mut array.medium, &array.root_region);
        }
        for number in array.medium.memory.numbers()? {
            let is_saved =
                planted(Bug::PackedCleanFlagStays) && root.saved.is_some_and(|it| it.region == number);
            if number != ROOT_REGION && number != root.region && !is_saved {
                array.medium.memory.free(number)?;
            }
        }
        array.keep_all_in_file();
        Ok((array, found))
    }

    fn damaged(&self, word: usize, problem: &str) -> Error {
        Error::new(ErrorKind::Corrupt, format!("{}: {problem}", self.place(word)))
    }

    fn damaged_slot(&self, slot: u64, problem: &str) -> Error {
        let byte = 8 * self.layout().word_of(slot) as u64 + 4 * (slot % 2);
        let name = self.medium.memory.name_of(self.root.region);
        Error::new(ErrorKind::Corrupt, format!("{name} at byte {byte}: slot {slot}: {problem}"))
    }

    /// Reads the vertex array off the edge array.
    fn scan(&mut self) -> Result<()> {
        let (mut edges, mut highest) = (0i64, (0, 0));
        let (mut vertices, mut deleted): (Vec<Vertex>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut is_in_list = false;
        for slot in 0..self.layout().slots() {
            let value = half(self.region.load(self.layout().word_of(slot)), slot);
            let problem = match Slot::of(value) {
                Slot::Gap => {
                    is_in_list = false;
                    None
                }
                Slot::Pivot(vertex) if vertex as usize != vertices.len() => {
                    Some(format!("the list of vertex {vertex} is behind that of {} lists", vertices.len()))
                }
                Slot::Pivot(vertex) if u64::from(vertex) >= self.layout().vertices_max() => {
                    Some(format!("vertex {vertex} has no section"))
                }
                Slot::Pivot(_) => {
                    vertices.push(Vertex { start: slot, ..Vertex::default() });
                    is_in_list = true;
                    None
                }
                Slot::Edge(target) | Slot::Tombstone(target) => match vertices.last_mut() {
                    Some(vertex) if is_in_list => {
                        vertex.in_array += 1;
                        highest = highest.max((target, slot));
                        edges += if is_tombstone(value) { -1 } else { 1 };
                        if is_tombstone(value) {
                            deleted.push(vertices.len() as u32 - 1);
                        }
                        None
                    }
                    _ => Some(format!("an edge to {target} behind a gap")),
                },
                Slot::Damaged => Some(format!("{value:#010x} is no slot")),
            };
            if let Some(problem) = problem {
                return Err(self.damaged_slot(slot, &problem));
            }
        }
        let (target, slot) = highest;
        if slot > 0 && target as usize >= vertices.len() {
            let problem = format!("an edge to {target}, of {} vertices", vertices.len());
            return Err(self.damaged_slot(slot, &problem));
        }
        self.edges = u64::try_from(edges).map_err(|_| {
            self.damaged(self.layout().array(), "the edge array has more tombstones than edges")
        })?;
        self.tombstones = TombstoneBits::new(vertices.len());
        deleted.into_iter().for_each(|vertex| self.tombstones.insert(vertex));
        self.vertices = vertices.into_iter().collect();
        self.count_sections();
        Ok(())
    }

    /// Reads counts and links off the logs.
    fn read_logs(&mut self) -> Result<()> {
        let layout = self.root.layout;
        let mut edges = self.edges as i64;
        for section in 0..layout.sections() {
            let Some(log_generation) = generation(&self.region, &layout, section) else {
                let problem = format!("the log of section {section} has no generation");
                return Err(self.damaged(layout.log(section), &problem));
            };
            let found: Vec<_> = records(&self.region, &layout, section, log_generation).collect();
            if self.has_no_logs() && !found.is_empty() {
                let problem = format!("the log of section {section} has records, but the graph has no logs");
                return Err(self.damaged(layout.log(section), &problem));
            }
            for (index, record) in found.iter().enumerate() {
                let is_edge = match Slot::of(record.slot) {
                    Slot::Edge(target) | Slot::Tombstone(target) => (target as usize) < self.vertices.len(),
                    _ => false,
                };
                let head = self.vertices.get(record.source as usize).map(|vertex| vertex.log_head);
                let is_of_section = layout.section_of(record.source) == section;
                if planted(Bug::PackedLogUnlinked) {
                    continue;
                }
                if !is_edge || !is_of_section || head != Some(record.link) {
                    let problem = format!(
                        "record {index} of the log of section {section}: {record:?} with its source's newest at {head:?}"
                    );
                    return Err(self.damaged(layout.log(section), &problem));
                }
                if is_tombstone(record.slot) {
                    self.tombstones.insert(record.source);
                    edges -= 1;
                } else {
                    edges += 1;
                }
                let mut vertex = self.vertices.at(record.source as usize);
                vertex.in_log += 1;
                vertex.log_head = index as u16 + 1;
                self.vertices.set(record.source as usize, vertex);
            }
            let mut state = self.sections[section].lock();
            state.used += found.len() as u64;
            (state.log_count, state.log_generation) = (found.len() as u32, log_generation);
        }
        self.edges = u64::try_from(edges)
            .map_err(|_| self.damaged(layout.log(0), "the logs have more tombstones than edges"))?;
        Ok(())
    }
}
