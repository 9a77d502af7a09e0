//! Directory: a simulated disk as the store sees it, with one fault of a plan, and everything recorded.
//!
//! ```text
//! store --> SimulatedDirectory --> is the fault due? --> Disk, list of changes, trace
//! ```
//!
//! The trace is a number that every operation is folded into: its kind, file, offset, a checksum of its
//! bytes and how it ended. Two runs with the same trace did the same.
//!
//! A directory can be abandoned, as a process that is killed leaves it: what the store still does to it
//! fails and changes nothing, and the disk goes on under a new handle.

use crate::simulated::disk::{Change, Disk, FileNumber, Synced};
use evergraph_storage::io::directory::{
    Directory, File, LockGuard, LockState, OpenMode, check_alignment, check_name,
};
use evergraph_storage::io::error::{IoError, Operation};
use evergraph_storage::io::mapping::{ByteMapping, HeapBytes, WORD_BYTES, WordMapping};
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use evergraph_storage::sync::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the files seem to lie: every error that is clear names it.
pub const LOCATION: &str = "simulated.db";

/// What a disk does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// A read fails.
    ReadError,
    /// A read succeeds with one bit turned.
    ReadFlip,
    /// A write or a change of length fails and does nothing.
    WriteError,
    /// A write fails when a part of it is done.
    ShortWrite,
    /// A sync of a file fails: see [`Synced::Failed`].
    SyncError,
    /// A sync of a file or of the names says that all is well and does nothing.
    LostSync,
    /// An operation on names fails: open, create, rename, remove, list, sync of the names.
    NameError,
    /// Files cannot grow by more than so many bytes together.
    Full { room: u64 },
}

/// A fault, when it begins, and when it is over, in operations of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    pub begins: u64,
    pub lasts: u64,
}

impl FaultKind {
    fn meets(self, operation: Operation) -> bool {
        match self {
            Self::ReadError | Self::ReadFlip => operation == Operation::Read,
            Self::WriteError => {
                matches!(operation, Operation::Write | Operation::SetLength | Operation::Allocate)
            }
            Self::ShortWrite => operation == Operation::Write,
            Self::SyncError => operation == Operation::Sync,
            Self::LostSync => matches!(operation, Operation::Sync | Operation::SyncDirectory),
            Self::NameError => matches!(
                operation,
                Operation::Open
                    | Operation::Create
                    | Operation::Rename
                    | Operation::Remove
                    | Operation::List
                    | Operation::Map
                    | Operation::SyncDirectory
            ),
            Self::Full { .. } => {
                matches!(
                    operation,
                    Operation::Write | Operation::SetLength | Operation::Allocate | Operation::Create
                )
            }
        }
    }
}

/// A directory on a simulated disk. Clones are handles to the same disk.
#[derive(Clone, Debug)]
pub struct SimulatedDirectory {
    state: Arc<Mutex<State>>,
    /// The life that this handle belongs to.
    life: u64,
}

#[derive(Debug, Default)]
struct State {
    disk: Disk,
    changes: Vec<Change>,
    trace: u64,
    fault: Option<Fault>,
    met: u64,
    /// The number of changes when the fault first did something.
    fired_at: Option<usize>,
    /// Bytes that were used when the disk became full.
    full_from: Option<u64>,
    life: u64,
    /// The names of the locks that are held.
    locked: BTreeSet<String>,
    /// What mappings read of files: follows the writes.
    mapped: BTreeMap<FileNumber, Arc<HeapBytes>>,
    /// Words that processes share, by file and first byte: no part of what is durable.
    words: BTreeMap<(FileNumber, u64), Arc<[AtomicU64]>>,
}

impl SimulatedDirectory {
    pub fn new(disk: Disk, fault: Option<Fault>) -> Self {
        Self { state: Arc::new(Mutex::new(State { disk, fault, ..State::default() })), life: 0 }
    }

    /// A handle for the next process; this one and its files do nothing any more.
    pub fn abandon(&self) -> Self {
        let mut state = self.state.lock();
        state.life += 1;
        state.locked.clear();
        state.mapped.clear();
        state.words.clear();
        Self { state: Arc::clone(&self.state), life: state.life }
    }

    /// How many changes there were.
    pub fn position(&self) -> usize {
        self.state.lock().changes.len()
    }

    /// What all operations came to, as one number.
    pub fn trace(&self) -> u64 {
        self.state.lock().trace
    }

    /// The number of changes before the fault did something, if it did.
    pub fn fired_at(&self) -> Option<usize> {
        self.state.lock().fired_at
    }

    /// Whether a failed sync left what no later one makes durable.
    pub fn forgot(&self) -> bool {
        self.state.lock().disk.forgot
    }

    /// From here on nothing fails.
    pub fn heal(&self) {
        self.state.lock().fault = None;
    }

    /// The recorded changes, which are forgotten here.
    pub fn take_changes(&self) -> Vec<Change> {
        std::mem::take(&mut self.state.lock().changes)
    }

    /// The state if this handle is alive, the fault that the operation meets, and the operation in the trace.
    fn begin(
        &self,
        operation: Operation,
        name: &str,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(MutexGuard<'_, State>, Option<FaultKind>), IoError> {
        let mut state = self.state.lock();
        if state.life != self.life {
            return Err(failed(operation, name, ErrorKind::BrokenPipe));
        }
        state.fold(operation as u64);
        state.fold(u64::from(crc32c::crc32c(name.as_bytes())));
        state.fold(offset);
        state.fold(u64::from(crc32c::crc32c(bytes)));
        let due = state.due(operation);
        Ok((state, due))
    }

    fn handle(&self, name: &str, mode: OpenMode, number: FileNumber) -> Arc<dyn File> {
        let path = Path::new(LOCATION).join(name);
        Arc::new(SimulatedFile { directory: self.clone(), name: name.to_owned(), path, mode, number })
    }
}

fn failed(operation: Operation, name: &str, kind: ErrorKind) -> IoError {
    IoError::new(operation, Path::new(LOCATION).join(name), kind.into())
}

/// What a broken device says: `EIO`.
fn broken(operation: Operation, name: &str) -> IoError {
    failed(operation, name, ErrorKind::Other)
}

impl State {
    fn fold(&mut self, number: u64) {
        self.trace = (self.trace.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// The fault, if this operation meets it.
    fn due(&mut self, operation: Operation) -> Option<FaultKind> {
        let fault = self.fault.filter(|fault| fault.kind.meets(operation))?;
        self.met += 1;
        if self.met <= fault.begins || self.met > fault.begins + fault.lasts {
            return None;
        }
        if !matches!(fault.kind, FaultKind::Full { .. }) {
            self.fire();
        }
        self.fold(self.met);
        Some(fault.kind)
    }

    fn fire(&mut self) {
        self.fired_at = self.fired_at.or(Some(self.changes.len()));
    }

    /// Bytes that a full disk still takes.
    fn room_left(&mut self, room: u64) -> u64 {
        let used = self.disk.used_bytes() as u64;
        (*self.full_from.get_or_insert(used) + room).saturating_sub(used)
    }

    fn apply(&mut self, change: Change) {
        self.disk.apply(&change);
        if let Change::Write { file, offset, bytes } = &change {
            if let Some(mapped) = self.mapped.get(file) {
                mapped.write(*offset, bytes);
            }
            for (first, word) in self.words_at(*file, *offset..offset + bytes.len()) {
                let mut stored = word.load(Ordering::Acquire).to_ne_bytes();
                copy_part(&mut stored, first, bytes, *offset);
                word.store(u64::from_ne_bytes(stored), Ordering::Release);
            }
        }
        self.changes.push(change);
    }

    /// Words that processes share are no part of what is durable, and none of the disk's: no power cut leaves any. `None` if the
    /// file ends before.
    fn map_words(&mut self, file: FileNumber, range: &Range<u64>) -> Option<WordMapping> {
        if range.end > self.disk.bytes(file).len() as u64 {
            return None;
        }
        let count = (range.end - range.start).div_ceil(WORD_BYTES as u64);
        let zeros = || (0..count).map(|_| AtomicU64::new(0)).collect();
        let words = self.words.entry((file, range.start)).or_insert_with(zeros);
        Some(WordMapping::of_heap(Arc::clone(words)))
    }

    /// The shared words that have one of these bytes, each with its first byte.
    fn words_at(&self, file: FileNumber, bytes: Range<usize>) -> impl Iterator<Item = (usize, &AtomicU64)> {
        let regions = self.words.range((file, 0)..=(file, u64::MAX));
        regions.flat_map(move |((_, first), words)| {
            let first = *first as usize;
            let from = bytes.start.saturating_sub(first) / WORD_BYTES;
            let end = bytes.end.saturating_sub(first).div_ceil(WORD_BYTES).min(words.len());
            (from..end).map(move |at| (first + at * WORD_BYTES, &words[at]))
        })
    }

    /// How many of the bytes from `offset` to `end` a disk with `room` takes.
    fn fit(&mut self, file: FileNumber, offset: usize, end: usize, room: u64) -> usize {
        let there = self.disk.bytes(file).len();
        let left = self.room_left(room) as usize;
        end.min(there + left).saturating_sub(offset)
    }
}

/// Copies what both have of a file: `into` from its byte `at` on, `bytes` from their byte `offset` on.
fn copy_part(into: &mut [u8], at: usize, bytes: &[u8], offset: usize) {
    let (start, end) = (at.max(offset), (at + into.len()).min(offset + bytes.len()));
    if start < end {
        into[start - at..end - at].copy_from_slice(&bytes[start - offset..end - offset]);
    }
}

impl Directory for SimulatedDirectory {
    fn location(&self) -> &Path {
        Path::new(LOCATION)
    }

    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>, IoError> {
        check_name(Operation::Open, self.location(), name)?;
        let (state, due) = self.begin(Operation::Open, name, 0, &[])?;
        match state.disk.file(name) {
            _ if due.is_some() => Err(broken(Operation::Open, name)),
            Some(number) => Ok(self.handle(name, mode, number)),
            None => Err(failed(Operation::Open, name, ErrorKind::NotFound)),
        }
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>, IoError> {
        check_name(Operation::Create, self.location(), name)?;
        let (mut state, due) = self.begin(Operation::Create, name, 0, &[])?;
        if state.disk.file(name).is_some() {
            return Err(failed(Operation::Create, name, ErrorKind::AlreadyExists));
        }
        match due {
            Some(FaultKind::Full { room }) if state.room_left(room) > 0 => {}
            Some(FaultKind::Full { .. }) => {
                state.fire();
                return Err(failed(Operation::Create, name, ErrorKind::StorageFull));
            }
            Some(_) => return Err(broken(Operation::Create, name)),
            None => {}
        }
        let number = state.disk.files_count();
        state.apply(Change::Create { name: name.to_owned() });
        Ok(self.handle(name, OpenMode::ReadWrite, number))
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        check_name(Operation::Exists, self.location(), name)?;
        Ok(self.begin(Operation::Exists, name, 0, &[])?.0.disk.file(name).is_some())
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        check_name(Operation::Rename, self.location(), from)?;
        check_name(Operation::Rename, self.location(), to)?;
        let (mut state, due) = self.begin(Operation::Rename, from, 0, to.as_bytes())?;
        if due.is_some() {
            return Err(broken(Operation::Rename, from));
        }
        if state.disk.file(from).is_none() {
            return Err(failed(Operation::Rename, from, ErrorKind::NotFound));
        }
        state.apply(Change::Rename { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        check_name(Operation::Remove, self.location(), name)?;
        let (mut state, due) = self.begin(Operation::Remove, name, 0, &[])?;
        if due.is_some() {
            return Err(broken(Operation::Remove, name));
        }
        if state.disk.file(name).is_none() {
            return Err(failed(Operation::Remove, name, ErrorKind::NotFound));
        }
        state.apply(Change::Remove { name: name.to_owned() });
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>, IoError> {
        let (state, due) = self.begin(Operation::List, "", 0, &[])?;
        if due.is_some() {
            return Err(broken(Operation::List, ""));
        }
        Ok(state.disk.names().map(str::to_owned).collect())
    }

    fn sync_directory(&self) -> Result<(), IoError> {
        let (mut state, due) = self.begin(Operation::SyncDirectory, "", 0, &[])?;
        let outcome = match due {
            None => Synced::Whole,
            Some(FaultKind::LostSync) => Synced::Nothing,
            Some(_) => Synced::Failed { seed: state.trace },
        };
        state.apply(Change::SyncNames { outcome });
        match outcome {
            Synced::Failed { .. } => Err(broken(Operation::SyncDirectory, "")),
            _ => Ok(()),
        }
    }

    fn write_unit(&self) -> WriteUnit {
        self.state.lock().disk.unit
    }

    fn allocate(&self, name: &str, bytes: u64) -> Result<(), IoError> {
        check_name(Operation::Allocate, self.location(), name)?;
        let (mut state, due) = self.begin(Operation::Allocate, name, bytes, &[])?;
        let Some(file) = state.disk.file(name) else {
            return Err(failed(Operation::Allocate, name, ErrorKind::NotFound));
        };
        let length = bytes as usize;
        if state.disk.bytes(file).len() >= length {
            return Ok(());
        }
        match due {
            None => {}
            Some(FaultKind::Full { room }) if state.fit(file, 0, length, room) == length => {}
            Some(FaultKind::Full { .. }) => {
                state.fire();
                return Err(failed(Operation::Allocate, name, ErrorKind::StorageFull));
            }
            Some(_) => return Err(broken(Operation::Allocate, name)),
        }
        state.apply(Change::Length { file, length });
        Ok(())
    }

    fn map(&self, name: &str) -> Result<ByteMapping, IoError> {
        check_name(Operation::Map, self.location(), name)?;
        let (mut state, due) = self.begin(Operation::Map, name, 0, &[])?;
        let Some(file) = state.disk.file(name) else {
            return Err(failed(Operation::Map, name, ErrorKind::NotFound));
        };
        if due.is_some() {
            return Err(broken(Operation::Map, name));
        }
        let (bytes, unit) = (state.disk.bytes(file), state.disk.unit);
        if bytes.is_empty() {
            return Err(failed(Operation::Map, name, ErrorKind::InvalidInput));
        }
        let known = state.mapped.get(&file).filter(|heap| heap.length() == bytes.len());
        let heap = known.cloned().unwrap_or_else(|| HeapBytes::new(bytes, unit));
        state.mapped.insert(file, Arc::clone(&heap));
        ByteMapping::of_heap(&self.path(name), heap)
    }

    fn map_words(&self, name: &str, range: Range<u64>) -> Result<WordMapping, IoError> {
        check_name(Operation::Map, self.location(), name)?;
        let (mut state, due) = self.begin(Operation::Map, name, range.start, &[])?;
        let Some(file) = state.disk.file(name) else {
            return Err(failed(Operation::Map, name, ErrorKind::NotFound));
        };
        if due.is_some() {
            return Err(broken(Operation::Map, name));
        }
        let mapped = state.map_words(file, &range);
        mapped.ok_or_else(|| failed(Operation::Map, name, ErrorKind::UnexpectedEof))
    }

    fn lock_unchanged(&self, name: &str) -> Result<Option<LockGuard>, IoError> {
        self.lock_exclusive(name).map(Some)
    }

    fn lock_state(&self, name: &str) -> Result<LockState, IoError> {
        check_name(Operation::Lock, self.location(), name)?;
        let (state, _) = self.begin(Operation::Lock, name, 0, &[])?;
        Ok(if state.locked.contains(name) { LockState::Held(None) } else { LockState::Free })
    }

    fn lock_exclusive(&self, name: &str) -> Result<LockGuard, IoError> {
        check_name(Operation::Lock, self.location(), name)?;
        let (mut state, _) = self.begin(Operation::Lock, name, 0, &[])?;
        if !state.locked.insert(name.to_owned()) {
            return Err(IoError::Locked { directory: self.location().to_owned(), holder: None });
        }
        drop(state);
        Ok(LockGuard::new(Held { directory: self.clone(), name: name.to_owned() }))
    }
}

struct Held {
    directory: SimulatedDirectory,
    name: String,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.directory.state.lock();
        if state.life == self.directory.life {
            state.locked.remove(&self.name);
        }
    }
}

#[derive(Debug)]
struct SimulatedFile {
    directory: SimulatedDirectory,
    name: String,
    path: PathBuf,
    mode: OpenMode,
    number: FileNumber,
}

impl SimulatedFile {
    fn error(&self, operation: Operation, offset: u64, kind: ErrorKind) -> IoError {
        IoError::at(operation, &self.path, offset, kind.into())
    }

    fn check_writable(&self, operation: Operation) -> Result<(), IoError> {
        if self.mode.writes() {
            return Ok(());
        }
        Err(failed(operation, &self.name, ErrorKind::PermissionDenied))
    }

    fn check_alignment(&self, operation: Operation, bytes: &[u8], offset: u64) -> Result<(), IoError> {
        if self.mode.is_direct() { check_alignment(operation, &self.path, bytes, offset) } else { Ok(()) }
    }
}

impl File for SimulatedFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn is_direct(&self) -> bool {
        self.mode.is_direct()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.check_alignment(Operation::Read, buffer, offset)?;
        let (mut state, due) = self.directory.begin(Operation::Read, &self.name, offset, &[])?;
        if due == Some(FaultKind::ReadError) {
            return Err(self.error(Operation::Read, offset, ErrorKind::Other));
        }
        let start = offset as usize;
        let bytes = state.disk.bytes(self.number).get(start..start + buffer.len());
        let Some(bytes) = bytes else {
            return Err(self.error(Operation::Read, offset, ErrorKind::UnexpectedEof));
        };
        buffer.copy_from_slice(bytes);
        if due == Some(FaultKind::ReadFlip) && !buffer.is_empty() {
            // One of the bytes that are not zero, mostly: large parts of files are empty.
            let at = state.trace as usize % buffer.len();
            let at = buffer[at..].iter().position(|byte| *byte != 0).map_or(at, |skipped| at + skipped);
            buffer[at] ^= 1 << (state.trace >> 61);
        }
        let crc = crc32c::crc32c(buffer);
        state.fold(u64::from(crc));
        // Not in the trace: each opening has a number there that no seed chooses.
        for (first, word) in state.words_at(self.number, start..start + buffer.len()) {
            copy_part(buffer, start, &word.load(Ordering::Acquire).to_ne_bytes(), first);
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), IoError> {
        self.check_writable(Operation::Write)?;
        self.check_alignment(Operation::Write, bytes, offset)?;
        let (mut state, due) = self.directory.begin(Operation::Write, &self.name, offset, bytes)?;
        let start = offset as usize;
        let (written, kind) = match due {
            None => (bytes.len(), ErrorKind::Other),
            Some(FaultKind::ShortWrite) => (state.trace as usize % (bytes.len() + 1), ErrorKind::Other),
            Some(FaultKind::Full { room }) => {
                let fits = state.fit(self.number, start, start + bytes.len(), room);
                if fits < bytes.len() {
                    state.fire();
                }
                (fits, ErrorKind::StorageFull)
            }
            Some(_) => (0, ErrorKind::Other),
        };
        if written > 0 {
            let bytes = Arc::from(&bytes[..written]);
            state.apply(Change::Write { file: self.number, offset: start, bytes });
        }
        let is_short = written < bytes.len() || due == Some(FaultKind::ShortWrite);
        if is_short { Err(self.error(Operation::Write, offset, kind)) } else { Ok(()) }
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.check_writable(Operation::SetLength)?;
        let (mut state, due) = self.directory.begin(Operation::SetLength, &self.name, len, &[])?;
        let length = len as usize;
        match due {
            None => {}
            Some(FaultKind::Full { room }) if state.fit(self.number, 0, length, room) == length => {}
            Some(FaultKind::Full { .. }) => {
                state.fire();
                return Err(failed(Operation::SetLength, &self.name, ErrorKind::StorageFull));
            }
            Some(_) => return Err(broken(Operation::SetLength, &self.name)),
        }
        state.apply(Change::Length { file: self.number, length });
        Ok(())
    }

    fn map_words(&self, range: Range<u64>) -> Result<WordMapping, IoError> {
        self.check_writable(Operation::Map)?;
        let (mut state, due) = self.directory.begin(Operation::Map, &self.name, range.start, &[])?;
        if due.is_some() {
            return Err(broken(Operation::Map, &self.name));
        }
        let mapped = state.map_words(self.number, &range);
        mapped.ok_or_else(|| failed(Operation::Map, &self.name, ErrorKind::UnexpectedEof))
    }

    fn len(&self) -> Result<u64, IoError> {
        let (state, _) = self.directory.begin(Operation::Length, &self.name, 0, &[])?;
        Ok(state.disk.bytes(self.number).len() as u64)
    }

    fn sync_data(&self) -> Result<(), IoError> {
        let (mut state, due) = self.directory.begin(Operation::Sync, &self.name, 0, &[])?;
        let outcome = match due {
            None => Synced::Whole,
            Some(FaultKind::LostSync) => Synced::Nothing,
            Some(_) => Synced::Failed { seed: state.trace },
        };
        state.apply(Change::Sync { file: self.number, outcome });
        match outcome {
            Synced::Failed { .. } => Err(broken(Operation::Sync, &self.name)),
            _ => Ok(()),
        }
    }
}
