//! Shared words: the file `live` as memory, in 64-bit words, in regions that never move.
//!
//! ```text
//! region    0        1        2                 3                                  k
//! words     [F)      [F)      [2F)              [4F)                               as many as all before it,
//!           ^ 0      ^ F      ^ 2F              ^ 4F                               at most L
//! line      64 bytes, eight words; everything in `live` has the number of its first line
//! ```
//!
//! A region is made when the first line in it is used, and stays where it is until the last user of the memory is gone:
//! a slice is valid for as long as the memory is borrowed. No slice crosses from one region into the next.
//!
//! Whoever may write to the file can put anything there. So every line number that was read from it is checked here, and
//! what lies outside is an error that names the place.

use evergraph_graph::error::{DamagedSharedState, Error, ErrorKind, Result};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Bytes of a line, which no two blocks share.
pub const LINE_BYTES: u64 = 64;
/// Words of a line.
pub const LINE_WORDS: usize = 8;

/// Regions of one file at most: those of [`RegionSizes::STANDARD`] are fewer, and hold 256 GiB.
const REGIONS_MAX: usize = 1024;

/// A line of `live`, by its number: byte offset / 64. Zero, the file's first line, stands for "none".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LineNumber(pub u32);

impl LineNumber {
    /// What a reference to nothing holds.
    pub const NONE: Self = Self(0);

    /// Whether it refers to nothing.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Bytes from the beginning of `live`.
    #[must_use]
    pub const fn byte_offset(self) -> u64 {
        self.0 as u64 * LINE_BYTES
    }
}

/// One region, on the heap or mapped.
pub trait Region: Send + Sync + Debug {
    /// Its words, always at the same place.
    fn words(&self) -> &[AtomicU64];
}

/// Where regions come from: a file or the heap.
pub trait RegionSource: Send + Sync + Debug {
    /// Where `live` lies, for error messages.
    fn path(&self) -> &Path;

    /// The region of `words` words, from word `first` on. Who writes the database allocates it, zeroed, if it is new.
    ///
    /// # Errors
    /// `corrupt` to a reader if the file ends before; `io` if the disk is full, and what the system says.
    fn region(&self, first: u64, words: usize) -> Result<Arc<dyn Region>>;

    /// Refuses if what processes share by now is not this any more.
    ///
    /// # Errors
    /// `busy` if a process opened the database since; what the system says.
    fn check_current(&self) -> Result<()> {
        Ok(())
    }
}

/// How large the regions are. All processes of one database have the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionSizes {
    /// Words of the first region, a power of two.
    first: u64,
    /// Words of the largest region, a power of two, not below the first.
    largest: u64,
}

impl RegionSizes {
    /// Those of a database: 1 MiB, doubled up to 1 GiB.
    pub const STANDARD: Self = Self { first: 1 << 17, largest: 1 << 27 };

    /// Regions from `1 << first` to `1 << largest` words.
    ///
    /// # Errors
    /// `invalid` if the first is below a line or above the largest, or the largest above 2^32 words.
    pub fn new(first: u32, largest: u32) -> Result<Self> {
        if !(LINE_WORDS.ilog2()..=largest).contains(&first) || largest > 32 {
            let text = format!("regions of 2^{first} to 2^{largest} words: 2^3 to 2^32 are possible");
            return Err(Error::invalid(text));
        }
        Ok(Self { first: 1 << first, largest: 1 << largest })
    }

    /// The exponents that [`RegionSizes::new`] takes.
    #[must_use]
    pub fn exponents(self) -> (u32, u32) {
        (self.first.ilog2(), self.largest.ilog2())
    }

    /// Lines of the largest region: no block has more.
    #[must_use]
    pub fn largest_lines(self) -> u32 {
        (self.largest / LINE_WORDS as u64) as u32
    }

    /// The number of the region that has `line`.
    #[must_use]
    pub fn region_of(self, line: LineNumber) -> usize {
        self.of_word(u64::from(line.0) * LINE_WORDS as u64).0
    }

    /// The number, first word and length of the region with `word`.
    fn of_word(self, word: u64) -> (usize, u64, u64) {
        if word < self.first {
            return (0, 0, self.first);
        }
        let doubled = u64::from((self.largest / self.first).ilog2());
        if word < self.largest {
            let begin = 1 << word.ilog2();
            return (1 + (begin / self.first).ilog2() as usize, begin, begin);
        }
        let number = word / self.largest;
        ((doubled + number) as usize, number * self.largest, self.largest)
    }

    /// How many regions there can be.
    fn count(self) -> usize {
        (self.of_word(u64::from(u32::MAX) * LINE_WORDS as u64).0 + 1).min(REGIONS_MAX)
    }
}

/// The memory that the processes of one open database share.
///
/// Concurrency: any thread reads and writes words; what orders them says whoever lays out the words. Regions are opened
/// one at a time, behind a lock that nobody takes who meets an open one.
#[derive(Debug)]
pub struct SharedWords {
    source: Arc<dyn RegionSource>,
    sizes: RegionSizes,
    regions: Box<[OnceLock<Arc<dyn Region>>]>,
    opening: Mutex<Opening>,
}

/// Whether regions may still be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Opening {
    #[default]
    Allowed,
    /// Whoever opens the database next makes a `live` of its own, by the same name.
    Over,
}

impl SharedWords {
    /// The memory of `source`; its regions are opened when they are used.
    #[must_use]
    pub fn new(source: Arc<dyn RegionSource>, sizes: RegionSizes) -> Self {
        let regions = (0..sizes.count()).map(|_| OnceLock::new()).collect();
        Self { source, sizes, regions, opening: Mutex::default() }
    }

    /// Memory on the heap, for one process.
    #[must_use]
    pub fn on_heap(sizes: RegionSizes) -> Self {
        Self::new(Arc::new(HeapRegions { path: PathBuf::from("live") }), sizes)
    }

    /// Where `live` lies, for error messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.source.path()
    }

    /// As [`RegionSource::check_current`].
    ///
    /// # Errors
    /// As there.
    pub fn check_current(&self) -> Result<()> {
        self.source.check_current()
    }

    /// How large the regions are.
    #[must_use]
    pub fn sizes(&self) -> RegionSizes {
        self.sizes
    }

    /// `count` words from the beginning of `line` on.
    ///
    /// # Errors
    /// `corrupt` if they don't lie in one region, or for a reader not in the file; `invalid` if no region may be opened any more;
    /// what opening one fails with.
    #[inline]
    pub fn slice(&self, line: LineNumber, count: usize) -> Result<&[AtomicU64]> {
        let word = u64::from(line.0) * LINE_WORDS as u64;
        let (number, first, length) = self.sizes.of_word(word);
        let cell = self.regions.get(number);
        let cell = cell.ok_or_else(|| self.damaged(line, "no region is so far behind"))?;
        let region = match cell.get() {
            Some(region) => region,
            None => self.open(cell, first, length)?,
        };
        let from = (word - first) as usize;
        let words = from.checked_add(count).and_then(|to| region.words().get(from..to));
        words.ok_or_else(|| self.damaged(line, format_args!("{count} words do not lie in one region")))
    }

    /// Bytes of all regions that were opened. Cost: a look at each.
    #[must_use]
    pub fn open_bytes(&self) -> u64 {
        let regions = self.regions.iter().filter_map(OnceLock::get);
        regions.map(|region| region.words().len() as u64 * 8).sum()
    }

    /// The eight words of `line`.
    ///
    /// # Errors
    /// As [`SharedWords::slice`].
    #[inline]
    pub fn line(&self, line: LineNumber) -> Result<&[AtomicU64; LINE_WORDS]> {
        let words = self.slice(line, LINE_WORDS)?;
        Ok(words.try_into().expect("a slice of so many words"))
    }

    /// Whether the region that has `line` is open: then nothing has to be allocated or mapped to use the line.
    #[must_use]
    pub fn is_open(&self, line: LineNumber) -> bool {
        let (number, ..) = self.sizes.of_word(u64::from(line.0) * LINE_WORDS as u64);
        self.regions.get(number).is_some_and(|cell| cell.get().is_some())
    }

    /// The first line behind the region that has `line`; `None` if there can't be one.
    #[must_use]
    pub fn region_end(&self, line: LineNumber) -> Option<LineNumber> {
        let (number, first, length) = self.sizes.of_word(u64::from(line.0) * LINE_WORDS as u64);
        let end = u32::try_from((first + length) / LINE_WORDS as u64).ok()?;
        (number + 1 < self.regions.len()).then_some(LineNumber(end))
    }

    /// Opens no region from here on: those that are open stay. Waits for one that is being opened.
    pub fn close_regions(&self) {
        *self.opening.lock() = Opening::Over;
    }

    /// The error of what `line` holds, or is.
    #[must_use]
    pub fn damaged(&self, line: LineNumber, what: impl std::fmt::Display) -> Error {
        let (path, byte) = (self.path().display(), line.byte_offset());
        let text = format!("{path} is damaged at byte {byte}: {what}; {DamagedSharedState}");
        Error::new(ErrorKind::Corrupt, text).because(DamagedSharedState)
    }

    #[cold]
    fn open<'a>(
        &self,
        cell: &'a OnceLock<Arc<dyn Region>>,
        first: u64,
        length: u64,
    ) -> Result<&'a Arc<dyn Region>> {
        let opening = self.opening.lock();
        if let Some(open) = cell.get() {
            return Ok(open);
        }
        if *opening == Opening::Over {
            return Err(Error::invalid("the database is closed"));
        }
        let region = self.source.region(first, length as usize)?;
        Ok(cell.get_or_init(|| region))
    }
}

#[derive(Debug)]
struct HeapRegions {
    path: PathBuf,
}

impl RegionSource for HeapRegions {
    fn path(&self) -> &Path {
        &self.path
    }

    fn region(&self, _first: u64, words: usize) -> Result<Arc<dyn Region>> {
        Ok(Arc::new(HeapRegion((0..words).map(|_| AtomicU64::new(0)).collect())))
    }
}

#[derive(Debug)]
struct HeapRegion(Box<[AtomicU64]>);

impl Region for HeapRegion {
    fn words(&self) -> &[AtomicU64] {
        &self.0
    }
}

/// Puts `bytes` into `words`, eight a word, little-endian; the rest of the last word is zero. What is read of them is
/// published by another word, later.
///
/// # Panics
/// If there are too few words: the caller counted them.
pub fn store_bytes(words: &[AtomicU64], bytes: &[u8]) {
    assert!(bytes.len() <= words.len() * 8, "room for {} bytes", bytes.len());
    for (word, chunk) in words.iter().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..chunk.len()].copy_from_slice(chunk);
        word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
    }
}

/// The bytes `range` of those that [`store_bytes`] put into `words`; `None` if they go beyond the words.
#[must_use]
pub fn load_bytes(words: &[AtomicU64], range: std::ops::Range<usize>) -> Option<Vec<u8>> {
    if range.start > range.end || range.end > words.len() * 8 {
        return None;
    }
    let covering = range.start / 8..range.end.div_ceil(8);
    let all = words[covering.clone()].iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
    Some(all.skip(range.start - covering.start * 8).take(range.len()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> SharedWords {
        SharedWords::on_heap(RegionSizes::new(4, 6).unwrap())
    }

    #[test]
    fn no_region_is_opened_once_they_are_closed_and_those_that_are_open_stay() {
        let words = small();
        let second = words.region_end(LineNumber(0)).unwrap();
        words.line(LineNumber(0)).unwrap();
        words.close_regions();
        assert!(words.line(LineNumber(0)).is_ok());
        let error = words.line(second).unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("closed"), "{error}");
    }

    #[test]
    fn every_word_lies_in_one_region_and_regions_follow_each_other() {
        for (first, largest) in [(4, 6), (3, 3), (3, 9), (17, 27)] {
            let sizes = RegionSizes::new(first, largest).unwrap();
            let (mut word, mut number) = (0, 0);
            while number < 20 {
                let (found, begin, length) = sizes.of_word(word);
                assert_eq!((found, begin), (number, word));
                assert_eq!(sizes.of_word(word + length - 1), (number, word, length));
                assert!(length >= 1 << first && length <= 1 << largest);
                (word, number) = (word + length, number + 1);
            }
            assert_eq!(sizes.exponents(), (first, largest));
        }
        assert_eq!(RegionSizes::STANDARD, RegionSizes::new(17, 27).unwrap());
        for (first, largest) in [(2, 5), (6, 5), (4, 33)] {
            assert_eq!(RegionSizes::new(first, largest).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }

    #[test]
    fn a_word_stays_where_it_is_while_regions_come() {
        let words = small();
        let first = words.slice(LineNumber(1), 8).unwrap();
        first[3].store(7, Ordering::Relaxed);
        for line in 0..200 {
            words.line(LineNumber(line)).unwrap()[0].store(u64::from(line), Ordering::Relaxed);
        }
        assert_eq!(words.slice(LineNumber(1), 4).unwrap()[3].load(Ordering::Relaxed), 7);
        assert!((0..200).all(|line| {
            words.line(LineNumber(line)).unwrap()[0].load(Ordering::Relaxed) == u64::from(line)
        }));
    }

    #[test]
    fn what_crosses_a_border_of_regions_is_an_error_that_names_its_place() {
        let words = small();
        assert_eq!(words.region_end(LineNumber(0)), Some(LineNumber(2)));
        assert_eq!(words.region_end(LineNumber(2)), Some(LineNumber(4)));
        for (line, count) in [(1, 9), (0, usize::MAX), (3, 9)] {
            let error = words.slice(LineNumber(line), count).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains(&format!("live is damaged at byte {}", line * 64)), "{error}");
        }
    }

    #[test]
    fn bytes_come_back_as_they_were_stored() {
        let words = small();
        let words = words.slice(LineNumber(8), 6).unwrap();
        let bytes: Vec<u8> = (1..=41).collect();
        store_bytes(words, &bytes);
        for (from, to) in [(0, 41), (0, 0), (7, 9), (8, 16), (40, 41), (41, 41), (3, 30)] {
            assert_eq!(load_bytes(words, from..to).unwrap(), bytes[from..to]);
        }
        assert_eq!(load_bytes(words, 41..48).unwrap(), [0; 7]);
        assert_eq!(load_bytes(words, 41..49), None);
        assert_eq!(load_bytes(words, std::ops::Range { start: 9, end: 3 }), None);
    }
}
