//! Mapping: a file's bytes in the process's address space, read in place or shared as words. Holds `unsafe`.
//!
//! ```text
//! ByteMapping   read-only     claim(range) -> Claim --(its bytes are written through the file)--> read() -> Extent: &[u8]
//!               a unit is claimed once: while an Extent lives, nobody gets its bytes to write
//! ReadMapping   the same of a file that this process never writes: extents need no claim
//! WordMapping   read, write   words() -> &[AtomicU64]: threads and processes see each other's stores
//! ```
//!
//! A slice of bytes may not change while it is borrowed. So bytes come by an [`Extent`] only, whose units have no other
//! claim, and who writes a file that is mapped claims what he writes first. A file is mapped in one of the two ways.
//! Bytes are little-endian, as those of all our files; other machines are refused.
//!
//! The compiler cannot check that nobody else writes an extent that is read (another process, another mapping of
//! the file, its bytes written without a claim), and that nobody cuts the file short: the system ends a process that
//! reads beyond a file's end (SIGBUS).
//!
//! Memory directories, Miri, shuttle and loom have a heap form of both, under the same rules: [`HeapBytes`] panics if bytes
//! are written that an extent reads, of whichever mapping.
//!
//! Source: DGAP (SC 2023), section 3: one structure, updated and analysed in place.

#![allow(unsafe_code, reason = "files in the address space: docs/decisions/0025")]

use crate::io::error::{IoError, Operation};
#[cfg(not(any(shuttle, loom)))]
use crate::io::network_file_system;
use crate::io::unit_claims::UnitClaims;
use crate::io::write_unit::WriteUnit;
use crate::sync::Mutex;
use crate::sync::atomic::AtomicU64;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fmt;
use std::io::ErrorKind;
use std::ops::{Deref, Range};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as PlainWord, Ordering};
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// The bytes of a word.
pub const WORD_BYTES: usize = 8;

/// A file's pages in the address space, until this is dropped.
#[derive(Debug)]
struct Pages {
    address: NonNull<u8>,
    length: usize,
}

// SAFETY: the pages belong to the process, not to a thread, and any thread may unmap them.
// Benefit: threads share a mapping; each with its own would be one more of the system's 65,530 a process.
unsafe impl Send for Pages {}
// SAFETY: as above; what a thread does to the bytes is restricted by the two types that hold pages.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps these bytes of `file`, which has them; they begin with a page.
    fn map(
        file: impl AsFd,
        range: Range<u64>,
        protection: ProtFlags,
        flags: MapFlags,
    ) -> std::io::Result<Self> {
        let length = range.end.saturating_sub(range.start);
        let length = usize::try_from(length).map_err(|_| ErrorKind::FileTooLarge)?;
        // SAFETY: the address is the system's choice, so that nothing of the process is replaced; the length is
        // not zero, or the call fails.
        // Benefit: bodies are read where they lie: opening reads none of them, and processes share one copy.
        let address = unsafe { mmap(std::ptr::null_mut(), length, protection, flags, file, range.start) }
            .map_err(std::io::Error::from)?;
        let address = NonNull::new(address.cast()).ok_or(ErrorKind::OutOfMemory)?;
        Ok(Self { address, length })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `map` made these pages, all of them; slices of them borrow the mapping, which is going.
        // Benefit: the address space and the file's space are given back.
        let unmapped = unsafe { munmap(self.address.as_ptr().cast(), self.length) };
        debug_assert!(unmapped.is_ok(), "pages that were mapped are unmapped");
    }
}

fn unsupported(path: &Path, problem: &str) -> IoError {
    IoError::new(Operation::Map, path, std::io::Error::new(ErrorKind::Unsupported, problem))
}

/// Bytes of a file that is in memory, for mappings that follow its writes.
#[derive(Debug)]
pub struct HeapBytes {
    words: Box<[PlainWord]>,
    length: usize,
    unit: WriteUnit,
    /// How many extents, of all mappings, read each unit.
    readers: Mutex<Vec<u32>>,
}

impl HeapBytes {
    /// These bytes, at an address that is a multiple of 8.
    #[must_use]
    pub fn new(bytes: &[u8], unit: WriteUnit) -> Arc<Self> {
        let words = (0..bytes.len().div_ceil(WORD_BYTES)).map(|_| PlainWord::new(0)).collect();
        let readers = vec![0; unit.units_of(&(0..bytes.len() as u64)).end as usize];
        let heap = Self { words, length: bytes.len(), unit, readers: Mutex::new(readers) };
        heap.write(0, bytes);
        Arc::new(heap)
    }

    /// How many bytes there are.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Writes what of `bytes` lies before the end: a mapping does not grow.
    ///
    /// # Panics
    /// If one of the bytes is read as an [`Extent`].
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let end = (offset + bytes.len()).min(self.length);
        let Some(bytes) = bytes.get(..end.saturating_sub(offset)).filter(|bytes| !bytes.is_empty()) else {
            return;
        };
        // Held while it is written, so that nobody begins to read it meanwhile.
        let readers = self.readers.lock();
        let units = self.unit.units_of(&(offset as u64..end as u64));
        let is_read = readers[units.start as usize..units.end as usize].iter().any(|count| *count > 0);
        assert!(!is_read, "bytes {offset} to {end} of a mapped file are written while they are read");
        let mut done = 0;
        while done < bytes.len() {
            let (word, from) = ((offset + done) / WORD_BYTES, (offset + done) % WORD_BYTES);
            let count = (WORD_BYTES - from).min(bytes.len() - done);
            let mut stored = self.words[word].load(Ordering::Relaxed).to_ne_bytes();
            stored[from..from + count].copy_from_slice(&bytes[done..done + count]);
            self.words[word].store(u64::from_ne_bytes(stored), Ordering::Relaxed);
            done += count;
        }
    }

    fn count_readers(&self, range: &Range<u64>, change: impl Fn(&mut u32)) {
        let units = self.unit.units_of(range);
        self.readers.lock()[units.start as usize..units.end as usize].iter_mut().for_each(change);
    }
}

#[derive(Debug)]
enum ByteMemory {
    Pages(Pages),
    Heap(Arc<HeapBytes>),
}

/// A file whose bytes are read in place.
///
/// # Concurrency
/// Any thread claims and reads. One lock around the claims, a leaf, held for as long as a range's bits take.
pub struct ByteMapping {
    path: PathBuf,
    memory: ByteMemory,
    claims: Mutex<UnitClaims>,
}

impl fmt::Debug for ByteMapping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ByteMapping({}, {} bytes)", self.path.display(), self.length())
    }
}

impl ByteMapping {
    /// Maps an open file, whole, as long as it is now; it may not be empty. Cost: one system call; a page is read when
    /// it is touched first.
    ///
    /// # Errors
    /// `Unsupported` on a big-endian machine, and what the system says.
    pub(crate) fn of_file(path: &Path, file: &std::fs::File, unit: WriteUnit) -> Result<Self, IoError> {
        let failed = |source| IoError::new(Operation::Map, path, source);
        let length = file.metadata().map_err(failed)?.len();
        let pages = Pages::map(file, 0..length, ProtFlags::READ, MapFlags::SHARED).map_err(failed)?;
        Self::new(path, ByteMemory::Pages(pages), unit)
    }

    /// The heap form: `heap` follows the writes of the file.
    ///
    /// # Errors
    /// `Unsupported` on a big-endian machine.
    pub fn of_heap(path: &Path, heap: Arc<HeapBytes>) -> Result<Self, IoError> {
        let unit = heap.unit;
        Self::new(path, ByteMemory::Heap(heap), unit)
    }

    fn new(path: &Path, memory: ByteMemory, unit: WriteUnit) -> Result<Self, IoError> {
        if cfg!(target_endian = "big") {
            return Err(unsupported(path, "files are mapped on little-endian machines only"));
        }
        let claims = Mutex::new(UnitClaims::new(unit, memory.length()));
        Ok(Self { path: path.to_owned(), memory, claims })
    }

    /// The file's length in bytes when it was mapped.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.memory.length()
    }

    /// Takes bytes, to be written and read by nobody else; whole units.
    ///
    /// # Errors
    /// `InvalidInput`, naming file and offset, if they are not whole units, not inside of the mapping, or claimed.
    pub fn claim(self: &Arc<Self>, range: Range<u64>) -> Result<Claim, IoError> {
        self.check(&range)?;
        if !self.claims.lock().claim(&range) {
            return Err(self.refused(&range, "are in use"));
        }
        Ok(Claim { mapping: Arc::clone(self), range })
    }

    /// The same for a process that never writes the file: another one does, by a protocol that says what may be read.
    #[must_use]
    pub fn only_read(self) -> ReadMapping {
        ReadMapping(Arc::new(self))
    }

    /// Whether these are whole units inside of the mapping.
    fn check(&self, range: &Range<u64>) -> Result<(), IoError> {
        let unit = self.claims.lock().unit().bytes();
        let is_whole = range.start.is_multiple_of(unit) && range.end.is_multiple_of(unit);
        if !is_whole || range.start >= range.end {
            return Err(self.refused(range, &format!("are not whole units of {unit} bytes")));
        }
        if range.end > self.length() {
            return Err(self.refused(range, &format!("are beyond the {} that are mapped", self.length())));
        }
        Ok(())
    }

    fn refused(&self, range: &Range<u64>, problem: &str) -> IoError {
        let cause = std::io::Error::new(ErrorKind::InvalidInput, format!("bytes {range:?} {problem}"));
        IoError::at(Operation::Map, &self.path, range.start, cause)
    }
}

/// A file that another process writes, whose bytes this one reads in place. It has no claims, so that any number of
/// threads read the same bytes.
#[derive(Debug)]
pub struct ReadMapping(Arc<ByteMapping>);

impl ReadMapping {
    /// The file's length in bytes when it was mapped.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.0.length()
    }

    /// Whether somebody has an extent of it.
    #[must_use]
    pub fn is_read(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Bytes of the file, whole units, which the process that writes it leaves alone while the extent lives.
    ///
    /// # Errors
    /// `InvalidInput`, naming file and offset, if they are not whole units, or not inside of the mapping.
    pub fn read(&self, range: Range<u64>) -> Result<Extent, IoError> {
        self.0.check(&range)?;
        Ok(Extent::new(Arc::clone(&self.0), range, None))
    }
}

impl ByteMemory {
    fn length(&self) -> u64 {
        match self {
            Self::Pages(pages) => pages.length as u64,
            Self::Heap(heap) => heap.length as u64,
        }
    }

    /// The bytes of an extent.
    fn bytes(&self, range: &Range<u64>) -> &[u8] {
        assert!(range.start <= range.end && range.end <= self.length(), "a claim lies inside of its mapping");
        let (start, length) = (range.start as usize, (range.end - range.start) as usize);
        let base = match self {
            Self::Pages(pages) => pages.address.as_ptr().cast_const(),
            Self::Heap(heap) => heap.words.as_ptr().cast(),
        };
        // SAFETY: the range is inside of the memory, which lives as long as `self`, and any byte is a `u8`. Only
        // `Extent` calls this: its units are claimed, so nobody in this process who keeps to the claims writes them
        // until it is dropped, which ends the borrow; or the process writes nothing of the file. Pages are mapped to be
        // read only, so no store goes through them.
        // Benefit: no copy of a body, in any process.
        unsafe { std::slice::from_raw_parts(base.add(start), length) }
    }
}

/// Bytes of a mapped file that nobody else has; they may be written through the file. Given back when dropped.
#[derive(Debug)]
pub struct Claim {
    mapping: Arc<ByteMapping>,
    range: Range<u64>,
}

impl Claim {
    /// Where in the file.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Reads them from here on; they are not written any more.
    #[must_use]
    pub fn read(self) -> Extent {
        Extent::new(Arc::clone(&self.mapping), self.range(), Some(self))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.mapping.claims.lock().give_back(&self.range);
    }
}

/// Bytes of a mapped file, which do not change while this lives.
#[derive(Debug)]
pub struct Extent {
    mapping: Arc<ByteMapping>,
    range: Range<u64>,
    /// Given back behind everything else; none in a process that only reads.
    _claim: Option<Claim>,
}

impl Extent {
    fn new(mapping: Arc<ByteMapping>, range: Range<u64>, claim: Option<Claim>) -> Self {
        if let ByteMemory::Heap(heap) = &mapping.memory {
            heap.count_readers(&range, |count| *count += 1);
        }
        Self { mapping, range, _claim: claim }
    }

    /// Where in the file.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// `count` numbers from byte `offset` of the extent on, where they lie; `None` if they are not inside of it or not
    /// aligned.
    #[must_use]
    pub fn array<T: FromBytes + Immutable + KnownLayout>(&self, offset: usize, count: usize) -> Option<&[T]> {
        let end = count.checked_mul(size_of::<T>())?.checked_add(offset)?;
        <[T]>::ref_from_bytes(self.get(offset..end)?).ok()
    }
}

impl Deref for Extent {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.mapping.memory.bytes(&self.range)
    }
}

impl Drop for Extent {
    fn drop(&mut self) {
        if let ByteMemory::Heap(heap) = &self.mapping.memory {
            heap.count_readers(&self.range, |count| *count -= 1);
        }
    }
}

/// What a store to a mapping waits for before it may count as stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoreOrder {
    /// Nothing: it is in the system's page cache, which writes it when it likes.
    PageCache,
    /// The file's blocks are allocated durably before the first store reaches them (`MAP_SYNC`), so that a cache line
    /// that is written back is durable.
    #[cfg(target_os = "linux")]
    Durable,
}

#[derive(Debug)]
enum WordMemory {
    #[cfg(not(any(shuttle, loom)))]
    Pages(Pages),
    Heap(Arc<[AtomicU64]>),
}

/// A file whose words threads and processes read and store.
///
/// # Concurrency
/// Each store and load names its order, as of any atomic.
pub struct WordMapping(WordMemory);

impl fmt::Debug for WordMapping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "WordMapping({} words)", self.words().len())
    }
}

impl WordMapping {
    /// Maps these bytes of an open file, which begin with a page, and are filled up to a whole word with bytes that nobody
    /// stores. Cost: one system call.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before; `InvalidInput` if the range is empty or begins within a page; `Unsupported`
    /// if the file system cannot keep `order` or is one of a network, or the build's atomics are simulated; and what the system says.
    #[cfg(not(any(shuttle, loom)))]
    pub(crate) fn of_file(
        path: &Path,
        file: &std::fs::File,
        range: Range<u64>,
        order: StoreOrder,
    ) -> Result<Self, IoError> {
        let failed = |source| IoError::at(Operation::Map, path, range.start, source);
        network_file_system::refuse(file).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        // Words beyond the end would end the process when they are touched.
        if range.end > length {
            let problem = format!("bytes {range:?} of a file of {length}");
            return Err(failed(std::io::Error::new(ErrorKind::UnexpectedEof, problem)));
        }
        let flags = match order {
            StoreOrder::PageCache => MapFlags::SHARED,
            #[cfg(target_os = "linux")]
            StoreOrder::Durable => MapFlags::SHARED_VALIDATE | MapFlags::SYNC,
        };
        // The page of the last byte is mapped whole.
        let words = range.start..range.end.next_multiple_of(WORD_BYTES as u64);
        let pages = Pages::map(file, words, ProtFlags::READ | ProtFlags::WRITE, flags);
        Ok(Self(WordMemory::Pages(pages.map_err(failed)?)))
    }

    /// Refused: shuttle's and loom's atomics do not lie in a file.
    #[cfg(any(shuttle, loom))]
    pub(crate) fn of_file(
        path: &Path,
        _file: &std::fs::File,
        _range: Range<u64>,
        _order: StoreOrder,
    ) -> Result<Self, IoError> {
        Err(unsupported(path, "words of files are not mapped where atomics are simulated"))
    }

    /// The heap form: these words.
    #[must_use]
    pub fn of_heap(words: Arc<[AtomicU64]>) -> Self {
        Self(WordMemory::Heap(words))
    }

    /// All words, in the file's order.
    #[must_use]
    #[inline]
    pub fn words(&self) -> &[AtomicU64] {
        match &self.0 {
            #[cfg(not(any(shuttle, loom)))]
            // SAFETY: pages begin at a multiple of 8, hold so many whole words, live as long as `self`, and are mapped to
            // be read and written. Any 8 bytes are an `AtomicU64` of the standard library, which has no other size or
            // alignment on 64-bit machines and may change while it is borrowed, by whichever thread or process.
            // Benefit: processes share words without a system call.
            WordMemory::Pages(pages) => unsafe {
                std::slice::from_raw_parts(pages.address.as_ptr().cast(), pages.length / WORD_BYTES)
            },
            WordMemory::Heap(words) => words,
        }
    }
}

#[cfg(not(any(shuttle, loom)))]
const _: () = assert!(size_of::<AtomicU64>() == WORD_BYTES && align_of::<AtomicU64>() <= 4096);

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::io::directory::{Directory, OpenMode};
    use crate::io::disk::DiskDirectory;
    use crate::io::memory::MemoryDirectory;
    use proptest::prelude::*;

    const UNIT: u64 = WriteUnit::PAGE.bytes();

    /// A directory of the file system, and one in memory; Miri has no file system.
    #[allow(clippy::unwrap_used, reason = "a test's helper fails as the test does")]
    fn directories() -> Vec<(Option<tempfile::TempDir>, Arc<dyn Directory>)> {
        let mut all: Vec<(Option<tempfile::TempDir>, Arc<dyn Directory>)> =
            vec![(None, Arc::new(MemoryDirectory::new("memory")))];
        if cfg!(not(miri)) {
            let place = tempfile::tempdir().unwrap();
            let directory = DiskDirectory::open(place.path()).unwrap();
            all.push((Some(place), Arc::new(directory)));
        }
        all
    }

    #[allow(clippy::unwrap_used, reason = "a test's helper fails as the test does")]
    fn mapped(
        directory: &dyn Directory,
        units: u64,
    ) -> (Arc<dyn crate::io::directory::File>, Arc<ByteMapping>) {
        let file = directory.create("array-1").unwrap();
        directory.allocate("array-1", units * UNIT).unwrap();
        (file, Arc::new(directory.map("array-1").unwrap()))
    }

    #[test]
    fn an_extent_is_what_was_written_through_the_file() {
        for (_place, directory) in directories() {
            let (file, mapping) = mapped(&*directory, 4);
            assert_eq!(mapping.length(), 4 * UNIT);
            let claim = mapping.claim(UNIT..3 * UNIT).unwrap();
            let numbers: Vec<u64> = (0..2 * UNIT / 8).map(|number| number * 7).collect();
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            file.write_at(&bytes, claim.range().start).unwrap();
            let extent = claim.read();
            assert_eq!(extent.range(), UNIT..3 * UNIT);
            assert_eq!(&extent[..], bytes);
            assert_eq!(extent.array::<u64>(0, numbers.len()), Some(&numbers[..]));
            assert_eq!(extent.array::<u64>(16, 2), Some(&[14, 21][..]));
            assert_eq!(extent.array::<u64>(4, 2), None, "not aligned");
            assert_eq!(extent.array::<u64>(8, numbers.len()), None, "beyond the extent");
            assert_eq!(extent.array::<u64>(8, usize::MAX / 8), None, "beyond all memory");
            // Others are written meanwhile.
            let beside = mapping.claim(0..UNIT).unwrap();
            file.write_at(&[9; UNIT as usize], 0).unwrap();
            assert!(beside.read().iter().all(|byte| *byte == 9) && extent[..] == bytes);
        }
    }

    #[test]
    fn a_unit_has_one_claim_until_it_is_dropped() {
        for (_place, directory) in directories() {
            let (_file, mapping) = mapped(&*directory, 4);
            let extent = mapping.claim(UNIT..3 * UNIT).unwrap().read();
            for range in [0..2 * UNIT, 2 * UNIT..4 * UNIT, UNIT..3 * UNIT, 0..4 * UNIT] {
                let error = mapping.claim(range.clone()).unwrap_err();
                let expected = format!("array-1 at byte {}: bytes {range:?} are in use", range.start);
                assert!(error.to_string().ends_with(&expected), "{error}");
            }
            let around = [0..UNIT, 3 * UNIT..4 * UNIT].map(|range| mapping.claim(range).unwrap());
            drop((extent, around));
            mapping.claim(0..4 * UNIT).unwrap();
        }
    }

    #[test]
    fn a_process_that_only_reads_has_the_same_bytes_as_often_as_it_likes() {
        for (_place, directory) in directories() {
            let (file, _mapping) = mapped(&*directory, 4);
            file.write_at(&[7; UNIT as usize], UNIT).unwrap();
            let mapping = directory.map("array-1").unwrap().only_read();
            let [one, other] = [UNIT..2 * UNIT, UNIT..3 * UNIT].map(|range| mapping.read(range).unwrap());
            assert_eq!((mapping.length(), &one[..]), (4 * UNIT, &other[..UNIT as usize]));
            drop(one);
            assert!(other[..UNIT as usize].iter().all(|byte| *byte == 7));
            assert_eq!(mapping.read(8..UNIT).unwrap_err().kind(), ErrorKind::InvalidInput);
            assert_eq!(mapping.read(0..5 * UNIT).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn what_is_no_part_of_the_file_is_refused() {
        for (_place, directory) in directories() {
            let (_file, mapping) = mapped(&*directory, 2);
            #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
            let refused =
                [0..100, 8..UNIT, UNIT..UNIT, 2 * UNIT..UNIT, UNIT..3 * UNIT, 0..u64::MAX - UNIT + 1];
            for range in refused {
                let error = mapping.claim(range).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            }
            directory.create("empty").unwrap();
            let error = directory.map("empty").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains("map ") && error.to_string().contains("empty"), "{error}");
            assert_eq!(directory.map("none").unwrap_err().kind(), ErrorKind::NotFound);
        }
    }

    #[test]
    #[should_panic(expected = "written while they are read")]
    fn the_heap_form_notices_a_write_under_a_reader() {
        let directory = MemoryDirectory::new("memory");
        let (file, mapping) = mapped(&directory, 2);
        let _extent = mapping.claim(0..UNIT).unwrap().read();
        let _ = file.write_at(&[1], UNIT - 1);
    }

    #[test]
    fn two_mappings_of_words_see_each_others_stores() {
        for (_place, directory) in directories() {
            directory.create("live").unwrap();
            directory.allocate("live", 3 * UNIT).unwrap();
            let file = directory.open("live", OpenMode::ReadWrite).unwrap();
            file.write_at(&7_u64.to_ne_bytes(), UNIT + 8).unwrap();
            let map = |range| directory.map_words("live", range).unwrap();
            let [one, other] = [(), ()].map(|()| map(UNIT..3 * UNIT));
            assert_eq!(
                (one.words().len() as u64, other.words()[1].load(Ordering::Relaxed)),
                (2 * UNIT / 8, 7)
            );
            // A file grows beside the mappings of what was there.
            directory.allocate("live", 5 * UNIT - 4).unwrap();
            let grown = map(3 * UNIT..5 * UNIT - 4);
            assert_eq!(
                (grown.words().len() as u64, map(0..UNIT).words().len() as u64),
                (2 * UNIT / 8, UNIT / 8)
            );
            grown.words()[0].store(9, Ordering::Relaxed);
            #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
            let refused = [
                (UNIT..6 * UNIT, ErrorKind::UnexpectedEof),
                (UNIT..UNIT, ErrorKind::InvalidInput),
                (2 * UNIT..UNIT, ErrorKind::InvalidInput),
                (8..UNIT, ErrorKind::InvalidInput),
            ];
            for (range, kind) in refused {
                assert_eq!(directory.map_words("live", range).unwrap_err().kind(), kind);
            }
            let beside = crate::sync::thread::spawn("test", move || {
                one.words()[700].store(5, Ordering::Relaxed);
                one.words()[1].store(8, Ordering::Release);
            });
            while other.words()[1].load(Ordering::Acquire) == 7 {
                std::thread::yield_now();
            }
            assert_eq!(other.words()[700].load(Ordering::Relaxed), 5);
            beside.unwrap().join().unwrap();
            let mut found = [0; 8];
            for (offset, value) in [(UNIT + 5600, 5), (3 * UNIT, 9)] {
                file.read_at(&mut found, offset).unwrap();
                assert_eq!(u64::from_ne_bytes(found), value, "the file's reads see stores, too");
            }
        }
    }

    #[test]
    fn extents_are_read_by_threads_while_others_are_written() {
        for (_place, directory) in directories() {
            let (file, mapping) = mapped(&*directory, 8);
            let threads: Vec<_> = (0..4_u64)
                .map(|thread| {
                    let (file, mapping) = (Arc::clone(&file), Arc::clone(&mapping));
                    crate::sync::thread::spawn("test", move || {
                        for round in 0..if cfg!(miri) { 3 } else { 200 } {
                            let at = 2 * thread * UNIT;
                            let claim = mapping.claim(at..at + 2 * UNIT).unwrap();
                            let fill = (10 * thread + round % 10) as u8;
                            file.write_at(&[fill; 2 * UNIT as usize], at).unwrap();
                            let extent = claim.read();
                            assert!(extent.iter().all(|byte| *byte == fill));
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.unwrap().join().unwrap());
        }
    }

    proptest! {
        /// Ranges that are claimed and dropped in any order, beside a flag a unit.
        #[test]
        fn claims_are_those_of_a_flag_a_unit(ranges in prop::collection::vec((0_u64..200, 1_u64..90), 1..60)) {
            let heap = HeapBytes::new(&vec![0; 200 * 64], WriteUnit::LINE);
            let mapping = Arc::new(ByteMapping::of_heap(Path::new("array-1"), heap).unwrap());
            let (mut taken, mut flags) = (Vec::new(), [false; 200]);
            for (first, count) in ranges {
                let units = first as usize..(first + count).min(200) as usize;
                let range = units.start as u64 * 64..units.end as u64 * 64;
                let is_free = !flags[units.clone()].contains(&true);
                let claim = mapping.claim(range);
                prop_assert_eq!(claim.is_ok(), is_free);
                if let Ok(claim) = claim {
                    flags[units.clone()].fill(true);
                    taken.push((units, claim));
                } else {
                    let (units, claim) = taken.swap_remove(first as usize % taken.len());
                    flags[units].fill(false);
                    drop(claim);
                }
            }
        }
    }
}
