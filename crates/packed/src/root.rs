//! Root: the one line that names the region of the array, and whether it was shut down.
//!
//! ```text
//! region 0    line 0   magic and version, stored when everything else of a new graph is durable
//!             line 1, line 2   two roots; the one with the higher sequence number counts
//! root        sequence | region | slots | sections, vertices of one | records of a log, slots of an undo slot
//!             | region of the saved vertex array, or 0 | ablation, its checksum | checksum of the words before
//! ```
//!
//! A root is stored over the older of the two, so that a torn one leaves the other. The array's region is named here
//! before the one that it replaces is freed, and a graph that is opened again stores a root without a saved vertex array
//! before anything changes.
//!
//! Source: DGAP (SC 2023), sections 3.1.1 and 3.1.5 (NORMAL_SHUTDOWN). Differs: the flag and the array's place are one
//! line with a sequence number; the published program frees the old array before it names the new one.

use crate::ablation::Ablation;
use crate::layout::{Layout, Sizes};
use crate::memory::medium::Medium;
use crate::memory::region::{LINE_WORDS, Memory, Region};
use crate::memory::site::Site;
use evergraph_graph::error::{Error, ErrorKind, Result};

/// The number of the region that holds the root.
pub(crate) const ROOT_REGION: u64 = 0;

/// "EVPACKED" in little-endian order, with the version in the last byte.
const MAGIC: u64 = u64::from_le_bytes(*b"EVPACK\0\x01");

/// What the graph is at present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Root {
    pub(crate) sequence: u64,
    /// The region with undo slots, plan, logs and array.
    pub(crate) region: u64,
    pub(crate) layout: Layout,
    /// What a shutdown saved.
    pub(crate) saved: Option<Saved>,
}

/// The vertex array as a shutdown saved it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Saved {
    pub(crate) region: u64,
    pub(crate) checksum: u32,
}

/// CRC-32C of words, in little-endian order.
pub(crate) fn checksum(words: impl IntoIterator<Item = u64>) -> u32 {
    // By blocks: a call a word costs more than the words.
    let (mut crc, mut block, mut length) = (0, [0; 512], 0);
    for word in words {
        block[length..length + 8].copy_from_slice(&word.to_le_bytes());
        length += 8;
        if length == block.len() {
            crc = crc32c::crc32c_append(crc, &block);
            length = 0;
        }
    }
    crc32c::crc32c_append(crc, &block[..length])
}

/// Number of words of a root before its checksum.
const CHECKED: usize = LINE_WORDS - 1;

impl Root {
    fn words(&self) -> [u64; LINE_WORDS] {
        let Sizes { slots, sections, section_vertices, log_records, undo_slots, ablation } =
            self.layout.sizes;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let mut words = [
            self.sequence,
            self.region,
            slots,
            pair(sections, section_vertices),
            pair(log_records, undo_slots),
            self.saved.map_or(0, |saved| saved.region),
            pair(ablation.bits(), self.saved.map_or(0, |saved| saved.checksum)),
            0,
        ];
        words[CHECKED] = u64::from(checksum(words[..CHECKED].iter().copied()));
        words
    }

    /// The root that these words are; `None` if they are none or not whole.
    ///
    /// # Errors
    /// `invalid` for a whole root with components that this version does not know.
    fn of_words(words: [u64; LINE_WORDS]) -> Result<Option<Self>> {
        if words[0] == 0 || words[CHECKED] != u64::from(checksum(words[..CHECKED].iter().copied())) {
            return Ok(None);
        }
        let (high, low) = (|word: u64| (word >> 32) as u32, |word: u64| word as u32);
        let bits = high(words[6]);
        let ablation = Ablation::of_bits(bits).ok_or_else(|| {
            let known = Ablation::ALL.bits();
            Error::invalid(format!("the root has ablation bits {bits}, this version knows 0 to {known}"))
        })?;
        let sizes = Sizes {
            slots: words[2],
            sections: high(words[3]),
            section_vertices: low(words[3]),
            log_records: high(words[4]),
            undo_slots: low(words[4]),
            ablation,
        };
        Ok(sizes.are_valid().then(|| Self {
            sequence: words[0],
            region: words[1],
            layout: Layout::of(sizes),
            saved: (words[5] != 0).then_some(Saved { region: words[5], checksum: words[6] as u32 }),
        }))
    }

    /// Makes this the root, durably.
    pub(crate) fn store<M: Memory>(&self, medium: &mut Medium<M>, region: &M::Region) {
        let first = LINE_WORDS * (1 + (self.sequence % 2) as usize);
        for (at, word) in self.words().into_iter().enumerate() {
            region.store(first + at, word);
        }
        medium.write_back(Site::Root, region, first..first + LINE_WORDS);
        medium.fence(Site::Root);
    }

    /// The newest root of an existing graph.
    ///
    /// # Errors
    /// `not_found` if no graph was created here, or not to its end; `corrupt` if neither root is whole; `invalid` if
    /// something else lies here, or a graph of a newer version.
    pub(crate) fn load<M: Memory>(memory: &M, region: &M::Region) -> Result<Self> {
        let name = memory.name_of(ROOT_REGION);
        if region.words() < 3 * LINE_WORDS {
            let text = format!("{name} ends at byte {}; a root has {}", 8 * region.words(), 24 * LINE_WORDS);
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        let magic = region.load(0);
        if magic == 0 {
            let text = "open a packed graph: none was created here, or not to its end; create one";
            return Err(Error::new(ErrorKind::NotFound, text));
        }
        if magic != MAGIC {
            let text = format!("{name} is no packed graph: it begins with {magic:#018x}, not {MAGIC:#018x}");
            return Err(Error::invalid(text));
        }
        let line = |line: usize| {
            let words = std::array::from_fn(|at| region.load(line * LINE_WORDS + at));
            Self::of_words(words).map_err(|error| error.context(format!("{name} at byte {}", 64 * line)))
        };
        let newest = line(1)?.into_iter().chain(line(2)?).max_by_key(|root| root.sequence);
        let regions = || memory.numbers().unwrap_or_default();
        newest.ok_or_else(|| {
            let text =
                format!("{name} at bytes 64 and 128: both roots are damaged; regions: {:?}", regions());
            Error::new(ErrorKind::Corrupt, text)
        })
    }

    /// Makes a new root region with this root.
    ///
    /// # Errors
    /// Errors of allocation.
    pub(crate) fn create<M: Memory>(&self, medium: &mut Medium<M>) -> Result<M::Region> {
        let region = medium.memory.allocate(ROOT_REGION, 3 * LINE_WORDS)?;
        self.store(medium, &region);
        medium.store_durably(Site::Magic, &region, 0, MAGIC);
        Ok(region)
    }

    /// Whether a graph was created here.
    ///
    /// # Errors
    /// Errors of reading.
    pub(crate) fn is_there<M: Memory>(memory: &M) -> Result<bool> {
        if !memory.numbers()?.contains(&ROOT_REGION) {
            return Ok(false);
        }
        let region = memory.open(ROOT_REGION)?;
        Ok(region.words() > 0 && region.load(0) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ablation::UndoKind;
    use crate::memory::region::Domain;
    use crate::memory::simulated::SimulatedMemory;
    use crate::options::Options;

    fn root(sequence: u64) -> Root {
        let ablation = Ablation { undo: UndoKind::Journal, ..Ablation::NONE };
        let layout = Layout::new(&Options { vertices: 5, ablation, ..Options::default() });
        let saved = sequence.is_multiple_of(3).then_some(Saved { region: sequence, checksum: 7 });
        Root { sequence, region: 10 + sequence, layout, saved }
    }

    #[test]
    fn a_power_cut_leaves_the_old_root_or_the_new_one() {
        let memory = SimulatedMemory::new(Domain::Adr);
        let mut medium = Medium::new(memory.clone());
        let region = root(1).create(&mut medium).unwrap();
        for sequence in 2..6 {
            memory.observe(move |memory| {
                memory.for_each_image(100, 0, |image| {
                    let found = Root::load(&image, &image.open(ROOT_REGION).unwrap()).unwrap();
                    assert!(found == root(sequence - 1) || found == root(sequence));
                });
            });
            root(sequence).store(&mut medium, &region);
            memory.ignore();
            assert_eq!(Root::load(&memory, &region).unwrap(), root(sequence));
        }
    }

    #[test]
    fn a_root_of_a_newer_version_is_refused_and_not_taken_for_a_torn_one() {
        let memory = SimulatedMemory::new(Domain::Adr);
        let mut medium = Medium::new(memory.clone());
        let region = root(1).create(&mut medium).unwrap();
        root(2).store(&mut medium, &region);
        let sum = |words: &[u64]| u64::from(checksum(words[..CHECKED].iter().copied()));
        let mut words = root(2).words();
        words[6] |= 8 << 32;
        words[CHECKED] = sum(&words);
        for (at, word) in words.into_iter().enumerate() {
            memory.damage(ROOT_REGION, LINE_WORDS + at, word);
        }
        let refusal = Root::load(&memory, &region).unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::Invalid);
        assert_eq!(
            refusal.to_string(),
            "region 0 at byte 64: the root has ablation bits 10, this version knows 0 to 7"
        );
        // The same bits, torn: the root before counts.
        memory.damage(ROOT_REGION, LINE_WORDS + CHECKED, sum(&words) ^ 1);
        assert_eq!(Root::load(&memory, &region).unwrap(), root(1));
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        let memory = SimulatedMemory::new(Domain::Adr);
        let region = memory.allocate(ROOT_REGION, 24).unwrap();
        let refusal = || Root::load(&memory, &region).unwrap_err();
        assert_eq!(refusal().kind(), ErrorKind::NotFound);
        memory.damage(ROOT_REGION, 0, 5);
        assert!(
            refusal().to_string().contains("region 0 is no packed graph: it begins with 0x0000000000000005")
        );
        memory.damage(ROOT_REGION, 0, MAGIC);
        assert_eq!(refusal().kind(), ErrorKind::Corrupt);
    }
}
