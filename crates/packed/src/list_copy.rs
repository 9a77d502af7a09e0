//! List copy: the targets of lists, copied word by word from the edge array, and record by record from a log.
//!
//! ```text
//! edge array   | 4 -8 | 3 9 | 7 . |      the words that hold the list of vertex 7, whole
//! buffer       | ? ?  | 2 8 | 6 ? |      one less each: targets; a list begins and ends within a word
//!                                ^       records of the log follow here
//! ```
//!
//! Whole words, so that the loop has no branch for the ends of a list, and takes both targets of a word at a time.
//!
//! Of a run of neighbouring vertices everything between the first list and the last is copied at once, gaps included, if
//! there are few; if there are many, the words in which lists begin and end are loaded first, one load behind the
//! other, so that the cache misses overlap. The logs of the run are read from the beginning, and each record goes to its
//! place: that is faster than the links of each list, which are there for single ones. A visitor that takes records by
//! themselves gets them as they stand in the log, in no place of a list.

use crate::array::PackedArray;
use crate::memory::region::{Memory, Region};
use crate::section_log::{each_record, newest_word};
use crate::slot::{target, targets_of_word};
use crate::vertex::Vertex;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::hint::black_box;
use std::ops::Range;

/// Lists of a run.
pub(crate) const RUN_LISTS: usize = 128;

/// Gaps for each list that has elements, up to which all that lies between the first and the last list of a run is copied
/// at once: that is one loop, and the processor loads ahead. A list by itself costs about as much as so many gaps.
const GAPS_PER_LIST: u64 = 32;

/// Where the copy of a list is.
#[derive(Clone, Default)]
pub(crate) struct CopiedList {
    /// What is in the array.
    pub(crate) array: Range<u32>,
    /// What is in the log.
    pub(crate) log: Range<u32>,
}

/// Copies of lists, one behind the other.
pub(crate) struct ListCopies {
    /// As long as it ever was: what is behind the copies is of copies before.
    buffer: Vec<u32>,
    /// An even number of places that are taken.
    used: usize,
}

impl ListCopies {
    /// No copies yet, in `buffer`.
    pub(crate) fn new(buffer: Vec<u32>) -> Self {
        Self { buffer, used: 0 }
    }

    pub(crate) fn into_buffer(self) -> Vec<u32> {
        self.buffer
    }

    /// Forgets all copies.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    #[inline]
    pub(crate) fn targets(&self, list: Range<usize>) -> &[u32] {
        &self.buffer[list]
    }

    /// Adds a list.
    pub(crate) fn push(&mut self, targets: &[u32]) -> Range<usize> {
        let list = self.make_room(targets.len() as u32);
        let list = list.start as usize..list.end as usize;
        self.buffer[list.clone()].copy_from_slice(targets);
        list
    }

    /// Makes sure that so many places follow.
    #[inline]
    fn reserve(&mut self, places: usize) {
        let needed = self.used + places;
        if self.buffer.len() < needed {
            self.grow(needed);
        }
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        self.buffer.resize(needed.next_power_of_two(), 0);
    }

    /// Takes so many places, to be filled.
    fn make_room(&mut self, places: u32) -> Range<u32> {
        self.reserve(places as usize + 1);
        let start = self.used;
        self.used = (start + places as usize).next_multiple_of(2);
        start as u32..start as u32 + places
    }

    /// Copies the targets of words of the edge array; where they begin.
    #[inline]
    fn copy_words<R: Region>(&mut self, region: &R, word: usize, words: usize) -> u32 {
        self.reserve(2 * words);
        let begin = self.used;
        if words > 0 {
            let (pairs, _) = self.buffer[begin..begin + 2 * words].as_chunks_mut::<2>();
            region.load_pairs(word, pairs, targets_of_word);
        }
        self.used = begin + 2 * words;
        begin as u32
    }
}

impl<M: Memory> PackedArray<M> {
    /// Copies the targets of these elements of a list, none of which is a tombstone; where they are.
    ///
    /// # Errors
    /// `corrupt`, naming the record, if the log is damaged.
    #[inline]
    pub(crate) fn copy_targets(
        &self,
        vertex: u32,
        elements: Range<u32>,
        copies: &mut ListCopies,
    ) -> Result<Range<usize>> {
        let Vertex { start, in_array, .. } = self.vertices.at(vertex as usize);
        let from_array = elements.start.min(in_array)..elements.end.min(in_array);
        let slot = start + 1 + u64::from(from_array.start);
        copies.reserve(elements.len() + 2);
        let words = ((slot % 2) as usize + from_array.len()).div_ceil(2);
        let begin = copies.copy_words(&self.region, self.layout().word_of(slot), words);
        let list_start = begin as usize + (slot % 2) as usize;
        let (rest, list_end) = (list_start + from_array.len(), list_start + elements.len());
        if list_end > rest {
            let records = elements.start.max(in_array) - in_array..elements.end - in_array;
            self.copy_logged(vertex, records, &mut copies.buffer[rest..list_end])?;
            copies.used = list_end.next_multiple_of(2);
        }
        Ok(list_start..list_end)
    }

    /// Copies the lists of a run of at most [`RUN_LISTS`] vertices, so many `elements` of each; where they are in `lists`.
    /// Tombstones become some target.
    ///
    /// # Errors
    /// `corrupt`, naming the log, if one is damaged.
    pub(crate) fn copy_run(
        &self,
        first: u32,
        elements: &[u32],
        copies: &mut ListCopies,
        lists: &mut [CopiedList],
    ) -> Result<()> {
        let is_logged = self.touch_logs(first, elements);
        self.copy_arrays(first, elements, copies, lists);
        if is_logged { self.copy_logs(first, elements, copies, lists) } else { Ok(()) }
    }

    /// Has the cache lines of the newest records of lists loaded; whether a log has something of the `elements` of a run.
    fn touch_logs(&self, first: u32, elements: &[u32]) -> bool {
        let layout = self.layout();
        let mut section = layout.section_of(first);
        let mut section_end = layout.first_vertex(section + 1);
        let (mut is_logged, mut touched) = (false, 0);
        let places = first as usize..first as usize + elements.len();
        for ((place, vertex), elements) in places.clone().zip(self.vertices.range(places)).zip(elements) {
            if place == section_end {
                section += 1;
                section_end = layout.first_vertex(section + 1);
            }
            if *elements > vertex.in_array {
                is_logged = true;
                touched ^= newest_word(&self.region, layout, section, vertex.log_head);
            }
        }
        black_box(touched);
        is_logged
    }

    /// Copies what the edge array has of the lists of a run of at most [`RUN_LISTS`] vertices, of which so many `elements` are
    /// wanted; where it is in `lists`. Tombstones become some target.
    pub(crate) fn copy_arrays(
        &self,
        first: u32,
        elements: &[u32],
        copies: &mut ListCopies,
        lists: &mut [CopiedList],
    ) {
        let Some(last) = elements.len().checked_sub(1) else { return };
        let first_place = first as usize;
        let vertices = || self.vertices.range(first_place..first_place + elements.len()).zip(elements);
        let front = self.vertices.at(first_place).start / 2 * 2;
        let span = self.vertices.at(first_place + last).array_end() - front;
        let (mut lists_count, mut used) = (0, 0);
        for (place, elements) in vertices() {
            lists_count += u64::from(*elements > 0);
            used += place.array_slots();
        }
        if span <= used + lists_count * GAPS_PER_LIST {
            let words = span.div_ceil(2) as usize;
            let begin = copies.copy_words(&self.region, self.layout().word_of(front), words);
            for ((place, elements), list) in vertices().zip(&mut *lists) {
                let start = begin + (place.start - front) as u32 + 1;
                *list = CopiedList { array: start..start + (*elements).min(place.in_array), log: 0..0 };
            }
        } else {
            self.touch(vertices());
            for ((place, elements), list) in vertices().zip(&mut *lists) {
                let slot = place.start + 1;
                let count = (*elements).min(place.in_array);
                let words = ((slot % 2) as usize + count as usize).div_ceil(2);
                let begin = copies.copy_words(&self.region, self.layout().word_of(slot), words);
                let start = begin + (slot % 2) as u32;
                *list = CopiedList { array: start..start + count, log: 0..0 };
            }
        }
    }

    /// Has the cache lines of lists loaded that have elements.
    fn touch<'a>(&self, lists: impl Iterator<Item = (Vertex, &'a u32)>) {
        let layout = self.layout();
        let mut touched = 0;
        for (place, _) in lists.filter(|(_, elements)| **elements > 0) {
            touched ^= self.region.load(layout.word_of(place.start));
            touched ^= self.region.load(layout.word_of(place.start + u64::from(place.in_array)));
        }
        black_box(touched);
    }

    /// Copies what the logs have of the lists of a run of vertices, of which so many `elements` are wanted.
    fn copy_logs(
        &self,
        first: u32,
        elements: &[u32],
        copies: &mut ListCopies,
        lists: &mut [CopiedList],
    ) -> Result<()> {
        let layout = self.layout();
        // Where the records of each list go that are still to come.
        let mut rest: [Range<u32>; RUN_LISTS] = std::array::from_fn(|_| 0..0);
        let mut begin = first as usize;
        let end = begin + elements.len();
        while begin < end {
            let section = layout.section_of(begin as u32);
            let section_end = layout.first_vertex(section + 1).min(end);
            let mut missing = 0;
            for (place, vertex) in (begin..section_end).zip(self.vertices.range(begin..section_end)) {
                let at = place - first as usize;
                // What was inserted meanwhile may be in the array by now, and was not wanted.
                let count = elements[at].saturating_sub(vertex.in_array);
                if count > 0 {
                    lists[at].log = copies.make_room(count);
                    rest[at] = lists[at].log.clone();
                    missing += count;
                }
            }
            if missing > 0 {
                // Those that are wanted are older than what others append meanwhile.
                each_record(&self.region, layout, section, |source, slot| {
                    let place = rest.get_mut(source.wrapping_sub(first) as usize).and_then(Iterator::next);
                    if let Some(place) = place {
                        copies.buffer[place as usize] = target(slot);
                        missing -= 1;
                    }
                    missing > 0
                });
            }
            if missing > 0 {
                return Err(self.short_log(section, missing));
            }
            begin = section_end;
        }
        Ok(())
    }

    /// Copies source and target of each record that the logs have of a run of vertices, of which so many `elements` are
    /// wanted, as they stand in the logs; where these pairs are. No list of the run has a tombstone.
    ///
    /// # Errors
    /// `corrupt`, naming the log, if one is damaged.
    pub(crate) fn copy_records(
        &self,
        first: u32,
        elements: &[u32],
        copies: &mut ListCopies,
    ) -> Result<Range<usize>> {
        let layout = self.layout();
        let first_pair = copies.used;
        let mut begin = first as usize;
        let end = begin + elements.len();
        while begin < end {
            let section = layout.section_of(begin as u32);
            let section_end = layout.first_vertex(section + 1).min(end);
            let wanted = &elements[begin - first as usize..section_end - first as usize];
            let vertices = self.vertices.range(begin..section_end);
            let mut missing: u32 =
                vertices.zip(wanted).map(|(vertex, elements)| elements.saturating_sub(vertex.in_array)).sum();
            if missing > 0 {
                let sources = begin as u32..section_end as u32;
                let room = copies.make_room(2 * missing);
                let (pairs, _) = copies.buffer[room.start as usize..room.end as usize].as_chunks_mut::<2>();
                let mut pairs = pairs.iter_mut();
                // If one of them is in the log, no list of the section was merged since the view was made, and what is
                // wanted are the first records.
                each_record(&self.region, layout, section, |source, slot| {
                    if sources.contains(&source)
                        && let Some(pair) = pairs.next()
                    {
                        *pair = [source, target(slot)];
                        missing -= 1;
                    }
                    missing > 0
                });
            }
            if missing > 0 {
                return Err(self.short_log(section, missing));
            }
            begin = section_end;
        }
        Ok(first_pair..copies.used)
    }

    #[cold]
    fn short_log(&self, section: usize, missing: u32) -> Error {
        let place = self.place(self.layout().log(section));
        let text = format!("{place}: the log of section {section} has {missing} records too few");
        Error::new(ErrorKind::Corrupt, text)
    }

    /// Copies the targets of these of the records that a list has in the log, by the links, which lead from the newest
    /// back.
    fn copy_logged(&self, vertex: u32, records: Range<u32>, places: &mut [u32]) -> Result<()> {
        let mut place = places.iter_mut().rev();
        self.each_logged(vertex, records, |slot| {
            if let Some(place) = place.next() {
                *place = target(slot);
            }
        })
    }
}
