//! Section log: insertions whose place in the array is taken, until they are merged into it.
//!
//! ```text
//! log      generation: u64 | records of 12 bytes
//! record   source + 1 | slot (edge or tombstone) | tag of the generation: 21 bits, back-pointer: 11 bits
//! ```
//!
//! Records of one source are linked from the newest back: a back-pointer is one more than the index of the record of
//! that source before, or zero. A record is one of the log if its tag is that of the log's generation, so that a log
//! is emptied by one store: the next generation. The tag is stored last. A record lies in two words; one of eight
//! lies in two lines, and the first is fenced before the second is stored.
//!
//! Source: DGAP (SC 2023), section 3, "Per-section Edge Log". Differs: the tag; the published program ends a log at the
//! first field that is zero.

use crate::layout::Layout;
use crate::memory::medium::Medium;
use crate::memory::region::{LINE_WORDS, Memory, Region};
use crate::memory::site::Site;
use evergraph_storage::planted::{Bug, planted};

const LINK_BITS: u32 = 11;
/// Tags are below this; zero is that of memory which was never written.
const TAGS: u32 = 1 << (u32::BITS - LINK_BITS);

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) source: u32,
    pub(crate) slot: u32,
    /// One more than the index of the record of this source before, or zero.
    pub(crate) link: u16,
}

/// The generation that follows.
pub(crate) fn next_generation(generation: u32) -> u32 {
    (generation + 1) % (TAGS - 1)
}

fn tag_and_link(generation: u32, link: u16) -> u32 {
    (generation + 1) << LINK_BITS | u32::from(link)
}

/// First word of a record, and whether the record begins in the upper half of it.
#[inline]
fn place(layout: &Layout, section: usize, index: usize) -> (usize, bool) {
    let cell = 2 + 3 * index;
    (layout.log(section) + cell / 2, !cell.is_multiple_of(2))
}

/// Reads the three fields of a record, whatever they say.
#[inline]
fn fields<R: Region>(region: &R, layout: &Layout, section: usize, index: usize) -> [u32; 3] {
    let (word, is_upper) = place(layout, section, index);
    let (first, second) = (region.load(word), region.load(word + 1));
    if is_upper {
        [(first >> 32) as u32, second as u32, (second >> 32) as u32]
    } else {
        [first as u32, (first >> 32) as u32, second as u32]
    }
}

/// A record that is known to be there.
#[inline]
pub(crate) fn record<R: Region>(region: &R, layout: &Layout, section: usize, index: usize) -> Record {
    let [source, slot, last] = fields(region, layout, section, index);
    Record { source: source.wrapping_sub(1), slot, link: (last & ((1 << LINK_BITS) - 1)) as u16 }
}

/// Calls `visit` with source and slot of each record, oldest first, until it says false or there is no room for another;
/// whoever calls it knows how many there are.
#[inline]
pub(crate) fn each_record<R: Region>(
    region: &R,
    layout: &Layout,
    section: usize,
    mut visit: impl FnMut(u32, u32) -> bool,
) {
    let mut word = layout.log(section) + 1;
    let count = layout.log_records();
    // Three words are two records.
    for pair in 0..count.div_ceil(2) {
        let (first, second) = (region.load(word), region.load(word + 1));
        if !visit((first as u32).wrapping_sub(1), (first >> 32) as u32) || 2 * pair + 1 >= count {
            return;
        }
        if !visit(((second >> 32) as u32).wrapping_sub(1), region.load(word + 2) as u32) {
            return;
        }
        word += 3;
    }
}

/// A word of the record to which a head points, so that its cache line is loaded; of the log's first if it points to none.
#[inline]
pub(crate) fn newest_word<R: Region>(region: &R, layout: &Layout, section: usize, head: u16) -> u64 {
    let index = usize::from(head).saturating_sub(1).min(layout.log_records() as usize - 1);
    region.load(place(layout, section, index).0)
}

/// The generation of a log; `None` if what is stored is none.
pub(crate) fn generation<R: Region>(region: &R, layout: &Layout, section: usize) -> Option<u32> {
    checked_generation(region.load(layout.log(section)))
}

/// The generation that a word holds; `None` if it holds none.
pub(crate) fn checked_generation(word: u64) -> Option<u32> {
    u32::try_from(word).ok().filter(|generation| *generation < TAGS - 1)
}

/// The records of a log, oldest first, as they are found in memory.
pub(crate) fn records<R: Region>(
    region: &R,
    layout: &Layout,
    section: usize,
    generation: u32,
) -> impl Iterator<Item = Record> {
    let is_there = move |index: &usize| {
        let fields = fields(region, layout, section, *index);
        if planted(Bug::PackedLogEndsAtZero)
            && (fields[0] == 0 || fields[1] == 0 || fields[2] << (32 - LINK_BITS) == 0)
        {
            return false;
        }
        fields[2] >> LINK_BITS == generation + 1
    };
    let all = (0..layout.log_records() as usize).take_while(is_there);
    let count = if planted(Bug::PackedLogOneShort) {
        (0..layout.log_records() as usize).take_while(is_there).count().saturating_sub(1)
    } else {
        usize::MAX
    };
    all.take(count).map(move |index| record(region, layout, section, index))
}

/// Appends a record at `index`, durably.
pub(crate) fn append<M: Memory>(
    medium: &mut Medium<M>,
    region: &M::Region,
    layout: &Layout,
    at: (usize, usize),
    generation: u32,
    record: Record,
) {
    let (section, index) = at;
    let (word, is_upper) = place(layout, section, index);
    let [source, slot, last] =
        [record.source + 1, record.slot, tag_and_link(generation, record.link)].map(u64::from);
    let (first, second) = if is_upper {
        (region.load(word) & u64::from(u32::MAX) | source << 32, slot | last << 32)
    } else {
        (source | slot << 32, region.load(word + 1) & !u64::from(u32::MAX) | last)
    };
    region.store(word, first);
    if (word + 1).is_multiple_of(LINE_WORDS) && !planted(Bug::PackedRecordTorn) {
        medium.write_back(Site::RecordHead, region, word..word + 1);
        medium.fence(Site::RecordHead);
    }
    region.store(word + 1, second);
    let from = if (word + 1).is_multiple_of(LINE_WORDS) && !planted(Bug::PackedRecordTorn) {
        word + 1
    } else {
        word
    };
    medium.write_back(Site::Record, region, from..word + 2);
    medium.fence(Site::Record);
}

/// Empties a log of `old` generation; durable after the next fence, but for what a repeated tag makes durable at once.
pub(crate) fn advance<M: Memory>(
    medium: &mut Medium<M>,
    region: &M::Region,
    layout: &Layout,
    section: usize,
    old: u32,
) {
    let header = layout.log(section);
    let next = next_generation(old);
    if next == 0 {
        // Tags begin anew, and records of long ago must not be taken for new ones.
        let words = header + 1..layout.log(section + 1);
        words.clone().for_each(|word| region.store(word, 0));
        medium.write_back(Site::LogZeros, region, words);
        medium.fence(Site::LogZeros);
    }
    region.store(header, u64::from(next));
    if !planted(Bug::PackedEmptiedLogNotWrittenBack) {
        medium.write_back(Site::LogGeneration, region, header..header + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::region::Domain;
    use crate::memory::simulated::SimulatedMemory;
    use crate::options::Options;

    fn medium() -> (Medium<SimulatedMemory>, SimulatedMemory, Layout) {
        let layout = Layout::new(&Options { vertices: 8, log_records: 20, ..Options::default() });
        let memory = SimulatedMemory::new(Domain::Adr);
        (Medium::new(memory.clone()), memory, layout)
    }

    fn sample(index: usize) -> Record {
        Record { source: index as u32 % 3, slot: 100 + index as u32, link: index.saturating_sub(2) as u16 }
    }

    #[test]
    fn a_power_cut_leaves_a_record_or_none_of_it() {
        let (mut medium, memory, layout) = medium();
        let region = memory.allocate(1, layout.words()).unwrap();
        for round in 0..3 {
            for index in 0..20 {
                memory.observe(move |memory| {
                    memory.for_each_image(100, 0, |image| {
                        let found: Vec<_> = records(&image.open(1).unwrap(), &layout, 1, round).collect();
                        let all: Vec<_> = (0..=index).map(sample).collect();
                        assert!(found == all || found == all[..index], "half a record: {found:?}");
                    });
                });
                append(&mut medium, &region, &layout, (1, index), round, sample(index));
                memory.ignore();
                let found: Vec<_> = records(&region, &layout, 1, round).collect();
                assert_eq!(found.len(), index + 1);
                assert_eq!(found[index], sample(index));
                assert_eq!(record(&region, &layout, 1, index), sample(index));
                let mut visited = Vec::new();
                each_record(&region, &layout, 1, |source, slot| {
                    visited.push((source, slot));
                    visited.len() <= index
                });
                assert!(visited.into_iter().eq(found.iter().map(|record| (record.source, record.slot))));
            }
            advance(&mut medium, &region, &layout, 1, round);
            medium.fence(Site::LogGeneration);
            assert_eq!(generation(&region, &layout, 1), Some(round + 1));
        }
        assert_eq!(records(&region, &layout, 0, 0).count(), 0, "the log beside it");
        assert_eq!(records(&region, &layout, 2, 0).count(), 0, "the log beside it");
    }

    #[test]
    fn records_of_long_ago_are_gone_when_tags_begin_anew() {
        let (mut medium, memory, layout) = medium();
        let region = memory.allocate(1, layout.words()).unwrap();
        for index in 0..20 {
            append(&mut medium, &region, &layout, (1, index), 0, sample(index));
        }
        advance(&mut medium, &region, &layout, 1, TAGS - 2);
        medium.fence(Site::LogGeneration);
        assert_eq!((generation(&region, &layout, 1), memory.pending_stores()), (Some(0), 0));
        assert_eq!(records(&region, &layout, 1, 0).count(), 0);
    }
}
