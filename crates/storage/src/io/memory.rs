//! Memory directory: files in memory that can lose power, for tests and temporary graphs.
//!
//! ```text
//! write_at --> bytes (what everybody reads) ... sync_data -----> durable bytes
//!          \-> unsynced changes, in order ......................... |
//!                                \--- crash(keep): sector by sector-+--> the image found afterwards
//! names: the same, with sync_directory, name by name
//! ```
//!
//! A crash leaves the running directory alone and returns what a machine would find at its next
//! start, so that threads that still run cannot reach into the future.
//! Sectors have 512 bytes, the least that a disk writes in one piece; a torn one holds the
//! beginning of the new bytes and the end of the old. Where the unit is a cache line, as of persistent memory, the lines
//! take the place of sectors, and of a torn one whole words of 8 bytes have arrived.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::directory::{Directory, File, LockGuard, LockState, OpenMode, check_alignment, check_name};
use crate::io::error::{IoError, Operation};
use crate::io::mapping::{ByteMapping, HeapBytes, WORD_BYTES, WordMapping};
use crate::io::write_unit::WriteUnit;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, RwLock};

/// The bytes that a disk writes in one piece.
pub const SECTOR_BYTES: usize = 512;

/// A directory in memory. Clones are handles to the same files.
///
/// Concurrency: locks, outermost first: power, names, one a file. Every change of a file's bytes
/// holds `power` to read, a crash to write: it is one moment for all files.
#[derive(Debug, Clone)]
pub struct MemoryDirectory {
    location: PathBuf,
    unit: WriteUnit,
    power: Arc<RwLock<()>>,
    disk: Arc<Mutex<Disk>>,
}

/// Something that a power cut may lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced<'a> {
    /// A part of one write, inside one sector or cache line.
    Sector {
        /// The name under which the file was created.
        file: &'a str,
        /// The part's first byte in the file.
        offset: u64,
        /// The part's length in bytes, at most [`SECTOR_BYTES`].
        length: usize,
    },
    /// A change of a file's length.
    Length {
        /// The name under which the file was created.
        file: &'a str,
    },
    /// The creation, renaming or removal of a name.
    Name(&'a str),
}

/// What becomes of something unsynced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashOutcome {
    /// It reached the disk.
    Kept,
    /// It did not.
    Lost,
    /// So many bytes of the sector reached the disk; lengths and names are lost.
    Torn(usize),
}

#[derive(Debug, Default)]
struct Disk {
    names: BTreeMap<String, Arc<Mutex<Node>>>,
    durable_names: BTreeMap<String, Arc<Mutex<Node>>>,
    unsynced: Vec<NameChange>,
    /// Who holds the lock of a name, by the number of its taking: as that of a file, it is gone with the name.
    locks: BTreeMap<String, u64>,
    locks_taken: u64,
}

#[derive(Debug, Clone)]
enum NameChange {
    Link(String, Arc<Mutex<Node>>),
    Rename(String, String, Arc<Mutex<Node>>),
    Unlink(String, Arc<Mutex<Node>>),
}

#[derive(Debug, Default)]
struct Node {
    created_as: String,
    bytes: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Change>,
    /// What mappings read: follows `bytes`. One of a file that grew is replaced, as the file is mapped again.
    mapped: Option<Arc<HeapBytes>>,
    /// What mappings share as words, by the number of the first: `bytes` follows them, and a power cut loses them.
    words: BTreeMap<usize, Arc<[AtomicU64]>>,
}

#[derive(Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

impl MemoryDirectory {
    /// An empty directory that calls itself `location` in error messages.
    #[must_use]
    pub fn new(location: impl Into<PathBuf>) -> Self {
        let (location, unit) = (location.into(), WriteUnit::PAGE);
        Self { location, unit, power: Arc::default(), disk: Arc::default() }
    }

    /// The same with another unit, for a directory that has no files yet: [`WriteUnit::LINE`] is that of persistent memory.
    #[must_use]
    pub fn with_unit(self, unit: WriteUnit) -> Self {
        Self { unit, ..self }
    }

    /// What is found after the power failed now and nothing unsynced was kept.
    #[must_use]
    pub fn power_cut(&self) -> Self {
        self.crash(|_| CrashOutcome::Lost)
    }

    /// What is found after the power failed now; `keep` decides about each unsynced thing, the
    /// bytes of a file in the order of its writes, then the names in the order of their changes.
    #[must_use]
    pub fn crash(&self, mut keep: impl FnMut(Unsynced<'_>) -> CrashOutcome) -> Self {
        let _moment = self.power.write();
        let disk = self.disk.lock();
        let mut names = disk.durable_names.clone();
        for change in &disk.unsynced {
            if keep(Unsynced::Name(change.name())) == CrashOutcome::Kept {
                change.apply(&mut names);
            }
        }
        let found: BTreeMap<_, _> = names
            .into_iter()
            .map(|(name, node)| {
                let bytes = node.lock().after_crash(self.unit, &mut keep);
                let node =
                    Node { created_as: name.clone(), durable: bytes.clone(), bytes, ..Node::default() };
                (name, Arc::new(Mutex::new(node)))
            })
            .collect();
        let disk = Disk { durable_names: found.clone(), names: found, ..Disk::default() };
        let (location, unit) = (self.location.clone(), self.unit);
        Self { location, unit, power: Arc::default(), disk: Arc::new(Mutex::new(disk)) }
    }

    fn failed(&self, operation: Operation, name: &str, kind: ErrorKind) -> IoError {
        IoError::new(operation, self.path(name), kind.into())
    }

    /// The node of a file that is mapped or grown; one that is mapped is not empty.
    fn node(&self, operation: Operation, name: &str) -> Result<Arc<Mutex<Node>>, IoError> {
        check_name(operation, &self.location, name)?;
        let found = self.disk.lock().names.get(name).cloned();
        let node = found.ok_or_else(|| self.failed(operation, name, ErrorKind::NotFound))?;
        if operation == Operation::Map && node.lock().bytes.is_empty() {
            return Err(self.failed(operation, name, ErrorKind::InvalidInput));
        }
        Ok(node)
    }

    fn file(&self, name: &str, mode: OpenMode, node: Arc<Mutex<Node>>) -> Arc<dyn File> {
        Arc::new(MemoryFile { path: self.path(name), mode, power: self.power.clone(), node })
    }
}

impl NameChange {
    fn name(&self) -> &str {
        match self {
            Self::Link(name, _) | Self::Rename(_, name, _) | Self::Unlink(name, _) => name,
        }
    }

    /// Applies the change as far as the names allow it: an earlier one may have been lost.
    fn apply(&self, names: &mut BTreeMap<String, Arc<Mutex<Node>>>) {
        let unlink = |names: &mut BTreeMap<String, Arc<Mutex<Node>>>, name: &str, node| {
            if names.get(name).is_some_and(|found| Arc::ptr_eq(found, node)) {
                names.remove(name);
            }
        };
        match self {
            Self::Link(name, node) => {
                names.insert(name.clone(), node.clone());
            }
            Self::Rename(from, to, node) => {
                unlink(names, from, node);
                names.insert(to.clone(), node.clone());
            }
            Self::Unlink(name, node) => unlink(names, name, node),
        }
    }
}

impl Node {
    /// Takes over what was stored by mappings.
    fn follow_words(&mut self) {
        for (first, words) in &self.words {
            let rest = self.bytes.get_mut(first * WORD_BYTES..).unwrap_or_default();
            for (bytes, word) in rest.chunks_mut(WORD_BYTES).zip(words.iter()) {
                bytes.copy_from_slice(&word.load(Ordering::Acquire).to_ne_bytes()[..bytes.len()]);
            }
        }
    }

    /// Maps words of the file at `path`, which this is.
    fn map_words(&mut self, path: &Path, range: Range<u64>) -> Result<WordMapping, IoError> {
        let failed = |kind: ErrorKind| IoError::at(Operation::Map, path, range.start, kind.into());
        if range.end > self.bytes.len() as u64 {
            return Err(failed(ErrorKind::UnexpectedEof));
        }
        if range.start >= range.end || !range.start.is_multiple_of(WriteUnit::PAGE.bytes()) {
            return Err(failed(ErrorKind::InvalidInput));
        }
        self.follow_words();
        let (first, end) = (range.start as usize / WORD_BYTES, (range.end as usize).div_ceil(WORD_BYTES));
        if let Some(words) = self.words.get(&first).filter(|words| words.len() == end - first) {
            return Ok(WordMapping::of_heap(Arc::clone(words)));
        }
        // Words on the heap lie in one slice, which no other can share a part of.
        if self.words.iter().any(|(other, words)| *other < end && first < other + words.len()) {
            return Err(failed(ErrorKind::Unsupported));
        }
        let words: Arc<[AtomicU64]> =
            (first..end).map(|word| AtomicU64::new(word_at(&self.bytes, word))).collect();
        self.words.insert(first, Arc::clone(&words));
        Ok(WordMapping::of_heap(words))
    }

    /// Shows mappings what was written through the file.
    fn show_mappings(&self, offset: usize, bytes: &[u8]) {
        if let Some(mapped) = &self.mapped {
            mapped.write(offset, bytes);
        }
        let touched = offset / WORD_BYTES..(offset + bytes.len()).div_ceil(WORD_BYTES);
        for (first, words) in &self.words {
            let touched = touched.start.max(*first)..touched.end.min(first + words.len());
            for at in touched {
                words[at - first].store(word_at(&self.bytes, at), Ordering::Release);
            }
        }
    }

    fn after_crash(&self, unit: WriteUnit, keep: &mut impl FnMut(Unsynced<'_>) -> CrashOutcome) -> Vec<u8> {
        let piece_bytes = SECTOR_BYTES.min(unit.bytes() as usize);
        let mut found = self.durable.clone();
        let file = self.created_as.as_str();
        for change in &self.unsynced {
            match change {
                Change::Length(length) => {
                    if keep(Unsynced::Length { file }) == CrashOutcome::Kept {
                        found.resize(*length, 0);
                    }
                }
                Change::Write { offset, bytes } => {
                    let mut start = 0;
                    while start < bytes.len() {
                        let at = offset + start;
                        let length = (piece_bytes - at % piece_bytes).min(bytes.len() - start);
                        let kept = match keep(Unsynced::Sector { file, offset: at as u64, length }) {
                            CrashOutcome::Kept => length,
                            CrashOutcome::Lost => 0,
                            CrashOutcome::Torn(arrived) if arrived >= length => length,
                            CrashOutcome::Torn(arrived) if unit == WriteUnit::LINE => {
                                arrived.saturating_sub((at + arrived) % WORD_BYTES)
                            }
                            CrashOutcome::Torn(arrived) => arrived,
                        };
                        if kept > 0 {
                            write(&mut found, at, &bytes[start..start + kept]);
                        }
                        start += length;
                    }
                }
            }
        }
        found
    }
}

/// The word with this number; zeros fill up the last one.
fn word_at(bytes: &[u8], word: usize) -> u64 {
    let start = (word * WORD_BYTES).min(bytes.len());
    let end = (start + WORD_BYTES).min(bytes.len());
    let mut filled = [0; WORD_BYTES];
    filled[..end - start].copy_from_slice(&bytes[start..end]);
    u64::from_ne_bytes(filled)
}

fn write(into: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if into.len() < end {
        into.resize(end, 0);
    }
    into[offset..end].copy_from_slice(bytes);
}

impl Directory for MemoryDirectory {
    fn location(&self) -> &Path {
        &self.location
    }

    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>, IoError> {
        check_name(Operation::Open, &self.location, name)?;
        match self.disk.lock().names.get(name) {
            Some(node) => Ok(self.file(name, mode, node.clone())),
            None => Err(self.failed(Operation::Open, name, ErrorKind::NotFound)),
        }
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>, IoError> {
        check_name(Operation::Create, &self.location, name)?;
        let mut disk = self.disk.lock();
        if disk.names.contains_key(name) {
            return Err(self.failed(Operation::Create, name, ErrorKind::AlreadyExists));
        }
        let node = Arc::new(Mutex::new(Node { created_as: name.to_owned(), ..Node::default() }));
        disk.names.insert(name.to_owned(), node.clone());
        disk.unsynced.push(NameChange::Link(name.to_owned(), node.clone()));
        Ok(self.file(name, OpenMode::ReadWrite, node))
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        check_name(Operation::Exists, &self.location, name)?;
        Ok(self.disk.lock().names.contains_key(name))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        check_name(Operation::Rename, &self.location, from)?;
        check_name(Operation::Rename, &self.location, to)?;
        let mut disk = self.disk.lock();
        let Some(node) = disk.names.remove(from) else {
            return Err(self.failed(Operation::Rename, from, ErrorKind::NotFound));
        };
        disk.names.insert(to.to_owned(), node.clone());
        disk.unsynced.push(NameChange::Rename(from.to_owned(), to.to_owned(), node));
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        check_name(Operation::Remove, &self.location, name)?;
        let mut disk = self.disk.lock();
        disk.locks.remove(name);
        let Some(node) = disk.names.remove(name) else {
            return Err(self.failed(Operation::Remove, name, ErrorKind::NotFound));
        };
        disk.unsynced.push(NameChange::Unlink(name.to_owned(), node));
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>, IoError> {
        Ok(self.disk.lock().names.keys().cloned().collect())
    }

    fn sync_directory(&self) -> Result<(), IoError> {
        let mut disk = self.disk.lock();
        disk.durable_names = disk.names.clone();
        disk.unsynced.clear();
        Ok(())
    }

    fn write_unit(&self) -> WriteUnit {
        self.unit
    }

    fn allocate(&self, name: &str, bytes: u64) -> Result<(), IoError> {
        let node = self.node(Operation::Allocate, name)?;
        let file =
            MemoryFile { path: self.path(name), mode: OpenMode::ReadWrite, power: self.power.clone(), node };
        if file.len()? < bytes { file.set_len(bytes) } else { Ok(()) }
    }

    fn map(&self, name: &str) -> Result<ByteMapping, IoError> {
        let node = self.node(Operation::Map, name)?;
        let mut node = node.lock();
        let is_whole = |heap: &Arc<HeapBytes>| heap.length() == node.bytes.len();
        let heap = match node.mapped.clone().filter(is_whole) {
            Some(heap) => heap,
            None => HeapBytes::new(&node.bytes, self.write_unit()),
        };
        node.mapped = Some(Arc::clone(&heap));
        ByteMapping::of_heap(&self.path(name), heap)
    }

    fn map_words(&self, name: &str, range: Range<u64>) -> Result<WordMapping, IoError> {
        self.node(Operation::Map, name)?.lock().map_words(&self.path(name), range)
    }

    fn lock_exclusive(&self, name: &str) -> Result<LockGuard, IoError> {
        check_name(Operation::Lock, &self.location, name)?;
        let mut disk = self.disk.lock();
        if disk.locks.contains_key(name) {
            let holder = Some(std::process::id());
            return Err(IoError::Locked { directory: self.location.clone(), holder });
        }
        disk.locks_taken += 1;
        let number = disk.locks_taken;
        disk.locks.insert(name.to_owned(), number);
        drop(disk);
        Ok(LockGuard::new(MemoryLock { name: name.to_owned(), number, disk: self.disk.clone() }))
    }

    fn lock_unchanged(&self, name: &str) -> Result<Option<LockGuard>, IoError> {
        self.lock_exclusive(name).map(Some)
    }

    fn lock_state(&self, name: &str) -> Result<LockState, IoError> {
        check_name(Operation::Lock, &self.location, name)?;
        Ok(match self.disk.lock().locks.contains_key(name) {
            true => LockState::Held(Some(std::process::id())),
            false => LockState::Free,
        })
    }
}

struct MemoryLock {
    name: String,
    number: u64,
    disk: Arc<Mutex<Disk>>,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut disk = self.disk.lock();
        // Where the name was removed meanwhile, another one may hold its lock by now.
        if disk.locks.get(&self.name) == Some(&self.number) {
            disk.locks.remove(&self.name);
        }
    }
}

#[derive(Debug)]
struct MemoryFile {
    path: PathBuf,
    mode: OpenMode,
    power: Arc<RwLock<()>>,
    node: Arc<Mutex<Node>>,
}

impl MemoryFile {
    fn check_writable(&self, operation: Operation) -> Result<(), IoError> {
        if self.mode.writes() {
            return Ok(());
        }
        Err(IoError::new(operation, &self.path, ErrorKind::PermissionDenied.into()))
    }

    fn check_alignment(&self, operation: Operation, bytes: &[u8], offset: u64) -> Result<(), IoError> {
        if self.mode.is_direct() { check_alignment(operation, &self.path, bytes, offset) } else { Ok(()) }
    }

    fn position(&self, operation: Operation, offset: u64) -> Result<usize, IoError> {
        usize::try_from(offset)
            .map_err(|_| IoError::at(operation, &self.path, offset, ErrorKind::FileTooLarge.into()))
    }
}

impl File for MemoryFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn is_direct(&self) -> bool {
        self.mode.is_direct()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.check_alignment(Operation::Read, buffer, offset)?;
        let start = self.position(Operation::Read, offset)?;
        let mut node = self.node.lock();
        node.follow_words();
        let bytes = start.checked_add(buffer.len()).and_then(|end| node.bytes.get(start..end));
        match bytes {
            Some(bytes) => {
                buffer.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(IoError::at(Operation::Read, &self.path, offset, ErrorKind::UnexpectedEof.into())),
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), IoError> {
        self.check_writable(Operation::Write)?;
        self.check_alignment(Operation::Write, bytes, offset)?;
        let offset = self.position(Operation::Write, offset)?;
        let _powered = self.power.read();
        let mut node = self.node.lock();
        node.follow_words();
        write(&mut node.bytes, offset, bytes);
        node.show_mappings(offset, bytes);
        node.unsynced.push(Change::Write { offset, bytes: bytes.to_vec() });
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.check_writable(Operation::SetLength)?;
        let length = self.position(Operation::SetLength, len)?;
        let _powered = self.power.read();
        let mut node = self.node.lock();
        node.bytes.resize(length, 0);
        node.unsynced.push(Change::Length(length));
        Ok(())
    }

    fn len(&self) -> Result<u64, IoError> {
        Ok(self.node.lock().bytes.len() as u64)
    }

    fn map_words(&self, range: Range<u64>) -> Result<WordMapping, IoError> {
        self.check_writable(Operation::Map)?;
        self.node.lock().map_words(&self.path, range)
    }

    fn sync_data(&self) -> Result<(), IoError> {
        let _powered = self.power.read();
        let mut node = self.node.lock();
        for change in std::mem::take(&mut node.unsynced) {
            match change {
                Change::Write { offset, bytes } => write(&mut node.durable, offset, &bytes),
                Change::Length(length) => node.durable.resize(length, 0),
            }
        }
        debug_assert!(!node.words.is_empty() || node.durable == node.bytes, "a synced file is as it is read");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::page::{ALIGNMENT_BYTES, AlignedBuffer};

    fn directory_with(name: &str, bytes: &[u8]) -> (MemoryDirectory, Arc<dyn File>) {
        let directory = MemoryDirectory::new("memory");
        directory.write_all_new(name, bytes).unwrap();
        directory.sync_directory().unwrap();
        let file = directory.open(name, OpenMode::ReadWrite).unwrap();
        (directory, file)
    }

    #[test]
    fn a_power_cut_takes_what_was_not_synced() {
        let (directory, file) = directory_with("a", b"first");
        file.write_at(b"FIRST, longer", 0).unwrap();
        directory.write_all_new("b", b"synced bytes, unsynced name").unwrap();
        let found = directory.power_cut();
        assert_eq!(found.list().unwrap(), ["a"]);
        assert_eq!(found.read_all("a", 99).unwrap(), b"first");
        assert_eq!(directory.read_all("a", 99).unwrap(), b"FIRST, longer", "the running one goes on");

        file.sync_data().unwrap();
        directory.sync_directory().unwrap();
        let found = directory.power_cut();
        assert_eq!(found.list().unwrap(), ["a", "b"]);
        assert_eq!(found.read_all("a", 99).unwrap(), b"FIRST, longer");
    }

    #[test]
    fn each_sector_of_an_unsynced_write_has_its_own_fate() {
        let (directory, file) = directory_with("a", &[0; 2000]);
        file.write_at(&[1; 1500], 100).unwrap();
        let mut sectors = Vec::new();
        let found = directory.crash(|unsynced| {
            let Unsynced::Sector { offset, length, .. } = unsynced else { panic!("{unsynced:?}") };
            sectors.push((offset, length));
            match offset {
                512 => CrashOutcome::Lost,
                1024 => CrashOutcome::Torn(10),
                _ => CrashOutcome::Kept,
            }
        });
        assert_eq!(sectors, [(100, 412), (512, 512), (1024, 512), (1536, 64)]);
        let mut expected = vec![0; 2000];
        expected[100..512].fill(1);
        expected[1024..1034].fill(1);
        expected[1536..1600].fill(1);
        assert_eq!(found.read_all("a", 2000).unwrap(), expected);
    }

    #[test]
    fn a_line_keeps_whole_words_where_lines_are_the_unit() {
        let directory = MemoryDirectory::new("memory").with_unit(WriteUnit::LINE);
        directory.write_all_new("a", &[0; 200]).unwrap();
        directory.sync_directory().unwrap();
        let file = directory.open("a", OpenMode::ReadWrite).unwrap();
        file.write_at(&[1; 130], 60).unwrap();
        let mut lines = Vec::new();
        let found = directory.crash(|unsynced| {
            let Unsynced::Sector { offset, length, .. } = unsynced else { panic!("{unsynced:?}") };
            lines.push((offset, length));
            CrashOutcome::Torn(if offset == 60 { 4 } else { 30 })
        });
        assert_eq!(lines, [(60, 4), (64, 64), (128, 62)]);
        let mut expected = vec![0; 200];
        [60..64, 64..88, 128..152].into_iter().for_each(|words| expected[words].fill(1));
        assert_eq!(found.read_all("a", 200).unwrap(), expected);
        assert_eq!(found.write_unit(), WriteUnit::LINE);
    }

    #[test]
    fn a_renaming_survives_only_a_synced_directory() {
        let (directory, _) = directory_with("manifest", b"old");
        directory.write_all_new("manifest.new", b"new").unwrap();
        directory.rename("manifest.new", "manifest").unwrap();
        assert_eq!(directory.read_all("manifest", 9).unwrap(), b"new");
        assert_eq!(directory.power_cut().read_all("manifest", 9).unwrap(), b"old");
        let only_renamed = directory.crash(|unsynced| match unsynced {
            Unsynced::Name("manifest") => CrashOutcome::Kept,
            _ => CrashOutcome::Lost,
        });
        assert_eq!(only_renamed.read_all("manifest", 9).unwrap(), b"new");
        directory.sync_directory().unwrap();
        assert_eq!(directory.power_cut().read_all("manifest", 9).unwrap(), b"new");
    }

    #[test]
    fn a_removed_file_can_come_back_and_stays_usable_while_open() {
        let (directory, file) = directory_with("a", b"bytes");
        directory.remove("a").unwrap();
        let mut bytes = [0; 5];
        file.read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"bytes");
        assert!(!directory.exists("a").unwrap());
        assert!(directory.power_cut().exists("a").unwrap());
        directory.sync_directory().unwrap();
        assert!(!directory.power_cut().exists("a").unwrap());
    }

    #[test]
    fn a_file_opened_for_direct_io_takes_whole_blocks_only() {
        let (directory, _) = directory_with("a", &[7; 2 * ALIGNMENT_BYTES]);
        let file = directory.open("a", OpenMode::WriteDirect).unwrap();
        let mut buffer = AlignedBuffer::zeroed(ALIGNMENT_BYTES);
        assert!(file.is_direct() && !directory.open("a", OpenMode::ReadWrite).unwrap().is_direct());
        file.read_at(&mut buffer, ALIGNMENT_BYTES as u64).unwrap();
        assert_eq!(&buffer[..], [7; ALIGNMENT_BYTES]);
        assert_eq!(file.write_at(&buffer, 512).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(file.read_at(&mut buffer[..512], 0).unwrap_err().kind(), ErrorKind::InvalidInput);
        file.write_at(&buffer, 2 * ALIGNMENT_BYTES as u64).unwrap();
        let reader = directory.open("a", OpenMode::ReadDirect).unwrap();
        assert_eq!(reader.len().unwrap(), 3 * ALIGNMENT_BYTES as u64);
        assert_eq!(reader.write_at(&buffer, 0).unwrap_err().kind(), ErrorKind::PermissionDenied);
    }

    #[test]
    fn errors_have_the_kinds_of_a_real_directory() {
        let (directory, file) = directory_with("a", b"bytes");
        assert_eq!(directory.create("a").unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(directory.open("b", OpenMode::Read).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(file.read_at(&mut [0; 6], 0).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(file.read_at(&mut [0; 1], u64::MAX).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        let held = directory.lock_exclusive("lock").unwrap();
        assert_eq!(directory.clone().lock_exclusive("lock").unwrap_err().kind(), ErrorKind::ResourceBusy);
        drop(held);
        assert_eq!(directory.lock_state("lock").unwrap(), LockState::Free);
        assert!(directory.lock_exclusive("lock").is_ok());
    }
}
