//! Medium: a memory together with a count of the lines written back to it and of the fences.

use crate::memory::region::{Domain, LINE_BYTES, LINE_WORDS, Memory, Region as _};
use crate::memory::site::{Site, Step};
use std::ops::Range;

/// What the array has written back since it was opened or created.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Cache lines written back; a line counts each time.
    pub lines_written_back: u64,
    /// Fences.
    pub fences: u64,
}

impl Traffic {
    pub(crate) fn add(&mut self, more: Self) {
        self.lines_written_back += more.lines_written_back;
        self.fences += more.fences;
    }

    /// Bytes written back: whole lines.
    #[must_use]
    pub fn bytes_written_back(&self) -> u64 {
        self.lines_written_back * LINE_BYTES
    }
}

/// A memory, and what was written back to it.
pub(crate) struct Medium<M: Memory> {
    pub(crate) memory: M,
    pub(crate) traffic: Traffic,
}

impl<M: Memory> Medium<M> {
    pub(crate) fn new(memory: M) -> Self {
        Self { memory, traffic: Traffic::default() }
    }

    /// Writes back the lines of `words`, unless stores are durable without it.
    #[inline]
    pub(crate) fn write_back(&mut self, site: Site, region: &M::Region, words: Range<usize>) {
        if words.is_empty() || self.memory.domain() == Domain::Eadr {
            return;
        }
        if !self.memory.takes(site, Step::WriteBack) {
            return;
        }
        let lines = (words.end - 1) / LINE_WORDS - words.start / LINE_WORDS + 1;
        self.traffic.lines_written_back += lines as u64;
        region.write_back(words);
    }

    /// Waits for what was written back.
    #[inline]
    pub(crate) fn fence(&mut self, site: Site) {
        if !self.memory.takes(site, Step::Fence) {
            return;
        }
        self.traffic.fences += 1;
        self.memory.fence();
    }

    /// Stores one word, durably.
    pub(crate) fn store_durably(&mut self, site: Site, region: &M::Region, word: usize, value: u64) {
        region.store(word, value);
        self.write_back(site, region, word..word + 1);
        self.fence(site);
    }
}
