//! Dax: a directory on persistent memory, whose files are written by stores to their mappings.
//!
//! ```text
//! write_at    copy into the mapping, write back its lines, fence     durable when it returns; no system call
//! sync_data   nothing, but for a file that grew                      its length is the file system's
//! names       as on a disk                                           sync_directory
//! unit        a cache line: 64 bytes
//! counts      lines written back and fences, by kind of file
//! ```
//!
//! The file system must accept `MAP_SYNC` (ext4 and XFS mounted with `dax`): then a line that was written back stays, with
//! the blocks that it lies in. One that does not is refused by name. [`Emulation::Demanded`] takes it anyway: all works as on
//! persistent memory, bytes and instructions can be counted, and a power cut loses what the system has not written yet.
//!
//! Where the system says that a power cut spares the processor's caches (eADR), no line is written back; the fence stays.
//!
//! A fence waits for the lines of its own thread only. So each write has its own, and any thread may sync.
//!
//! Source: DGAP (SC 2023), section 2.1; mmap(2), `MAP_SYNC`.

use crate::io::cache_line::{CacheLines, LINE_BYTES};
use crate::io::directory::{Directory, File, LockGuard, LockState, OpenMode, check_alignment};
use crate::io::disk::{DiskDirectory, allocate};
use crate::io::error::{IoError, Operation};
use crate::io::mapping::{ByteMapping, StoreOrder, WORD_BYTES, WordMapping};
use crate::io::write_unit::WriteUnit;
use crate::planted::{Bug, planted};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, RwLock};
#[cfg(target_os = "linux")]
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fmt::Debug;
#[cfg(target_os = "linux")]
use std::fs;
use std::fs::File as SystemFile;
use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the file that tells whether the file system is one of persistent memory.
#[cfg(target_os = "linux")]
const PROBE_BYTES: u64 = 4096;

/// Where the system says what it knows of devices.
#[cfg(target_os = "linux")]
const SYSTEM: &str = "/sys";

/// Words of a cache line.
const LINE_WORDS: usize = LINE_BYTES / WORD_BYTES;

/// What becomes of a directory that is not on persistent memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emulation {
    /// It is refused.
    Refused,
    /// It is used as if it were, and nothing is durable before the system writes it.
    Demanded,
}

/// What brings stored lines of a file out of the caches: the processor, or a model of it that says what a power cut leaves.
pub trait LineInstructions: Clone + Send + Sync + Debug + 'static {
    /// The same for one file, when that is opened.
    ///
    /// # Errors
    /// What the system says of the file.
    fn for_file(&self, file: &SystemFile) -> Result<Self, Error>;

    /// Begins to write back every line that holds one of `words`, the first of which is the file's word `first`.
    fn write_back(&self, words: &[AtomicU64], first: usize);

    /// Waits until every line that this thread wrote back before is durable.
    fn fence(&self);

    /// Makes the length of the file durable, which the file system keeps and no line holds.
    ///
    /// # Errors
    /// What the system says.
    fn sync_length(&self, file: &SystemFile) -> Result<(), Error>;
}

impl LineInstructions for CacheLines {
    fn for_file(&self, _: &SystemFile) -> Result<Self, Error> {
        Ok(*self)
    }

    #[inline]
    fn write_back(&self, words: &[AtomicU64], _first: usize) {
        Self::write_back(*self, words);
    }

    #[inline]
    fn fence(&self) {
        Self::fence(*self);
    }

    fn sync_length(&self, file: &SystemFile) -> Result<(), Error> {
        file.sync_all()
    }
}

/// A directory on persistent memory.
///
/// Concurrency: as of a directory on disk; a file's mapping is replaced under a lock of its own when the file grows.
#[derive(Debug)]
pub struct DaxDirectory<L = CacheLines> {
    inner: DiskDirectory,
    access: Access<L>,
    /// By kind of file: locked where one is opened, never where one is written.
    counters: Mutex<BTreeMap<String, Arc<WriteBackCounters>>>,
}

/// What was written back to files of one kind since the directory was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteBackCounts {
    /// Cache lines; a line counts each time. None where caches survive a power cut.
    pub lines: u64,
    /// Fences: one a write.
    pub fences: u64,
}

impl WriteBackCounts {
    /// Bytes of the lines.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.lines * LINE_BYTES as u64
    }
}

/// The same while it is counted. Relaxed: they are for people, and nobody decides by them.
#[derive(Debug, Default)]
struct WriteBackCounters {
    lines: AtomicU64,
    fences: AtomicU64,
}

/// How its files are written.
#[derive(Debug)]
struct Access<L> {
    lines: L,
    order: StoreOrder,
    /// Whether caches survive a power cut as well (eADR): then no line is written back.
    caches_persist: bool,
}

impl DaxDirectory {
    /// Opens a directory that exists. Cost: a small file without a name, for a moment.
    ///
    /// # Errors
    /// `Unsupported` if the processor cannot write back lines of 64 bytes, or the file system refuses `MAP_SYNC` and
    /// no emulation is demanded; as [`DiskDirectory::open`]; and what the system says.
    pub fn open(location: impl Into<PathBuf>, emulation: Emulation) -> Result<Self, IoError> {
        Self::of(DiskDirectory::open(location)?, emulation)
    }

    /// The same directory, whose files are written by stores.
    ///
    /// # Errors
    /// As [`DaxDirectory::open`].
    pub fn of(inner: DiskDirectory, emulation: Emulation) -> Result<Self, IoError> {
        let failed = |source| IoError::new(Operation::Open, inner.location(), source);
        let lines = CacheLines::of_processor().map_err(failed)?;
        let order = match (has_persistent_memory(&inner)?, emulation) {
            #[cfg(target_os = "linux")]
            (true, _) => StoreOrder::Durable,
            (_, Emulation::Demanded) => StoreOrder::PageCache,
            (_, Emulation::Refused) => {
                let problem = "it is on a file system without MAP_SYNC, so no persistent memory; mount one with `dax`, or \
                               open it with `--persistent-memory emulated` (in a program `emulated`), where a power cut \
                               loses commits";
                return Err(failed(Error::new(ErrorKind::Unsupported, problem)));
            }
        };
        let caches_persist = order != StoreOrder::PageCache && caches_persist(&inner)?;
        Ok(Self { inner, access: Access { lines, order, caches_persist }, counters: Mutex::default() })
    }
}

impl<L: LineInstructions> DaxDirectory<L> {
    /// A directory on any file system, where `lines` say what a power cut leaves: for tests.
    #[must_use]
    pub fn modelled(inner: DiskDirectory, lines: L) -> Self {
        let access = Access { lines, order: StoreOrder::PageCache, caches_persist: false };
        Self { inner, access, counters: Mutex::default() }
    }

    /// The same of a machine on which a power cut spares the processor's caches (eADR): for tests.
    #[must_use]
    pub fn modelled_with_lasting_caches(inner: DiskDirectory, lines: L) -> Self {
        let mut directory = Self::modelled(inner, lines);
        directory.access.caches_persist = true;
        directory
    }

    /// Whether a power cut spares the processor's caches (eADR), as the system says of the device. Then a store is durable as soon
    /// as others see it, and no line is written back.
    #[must_use]
    pub fn caches_persist(&self) -> bool {
        self.access.caches_persist
    }

    /// Whether the memory is emulated: every figure that is measured is one of DRAM, and a power cut loses commits.
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        self.access.order == StoreOrder::PageCache
    }

    /// What was written back so far, by kind of file: the part of a name ahead of its number, `log` of `log-7`. A file that was
    /// renamed counts as what it was opened as. Stores to shared words, which promise nothing, are not counted.
    #[must_use]
    pub fn write_backs(&self) -> BTreeMap<String, WriteBackCounts> {
        let counted = |counters: &WriteBackCounters| WriteBackCounts {
            lines: counters.lines.load(Ordering::Relaxed),
            fences: counters.fences.load(Ordering::Relaxed),
        };
        self.counters.lock().iter().map(|(kind, counters)| (kind.clone(), counted(counters))).collect()
    }

    fn counters_of(&self, name: &str) -> Arc<WriteBackCounters> {
        let kind = name.split('-').next().unwrap_or(name);
        Arc::clone(self.counters.lock().entry(kind.to_owned()).or_default())
    }

    fn file(&self, operation: Operation, name: &str, mode: OpenMode) -> Result<Arc<dyn File>, IoError> {
        let (path, file) = self.inner.open_system_file(operation, name, mode)?;
        let (mapping, is_grown) = (RwLock::new(None), AtomicBool::new(false));
        let counters = self.counters_of(name);
        let failed = |source| IoError::new(operation, &path, source);
        let lines = self.access.lines.for_file(&file).map_err(failed)?;
        let Access { order, caches_persist, .. } = self.access;
        let access = Access { lines, order, caches_persist };
        Ok(Arc::new(DaxFile { path, file, mode, access, counters, mapping, is_grown }))
    }
}

/// Whether the file system takes `MAP_SYNC`: asked with a file that has no name, so that nothing is there for others to see.
#[cfg(target_os = "linux")]
fn has_persistent_memory(directory: &DiskDirectory) -> Result<bool, IoError> {
    let path = directory.location();
    let failed = |source| IoError::new(Operation::Map, path, source);
    let file = match directory.folder().unnamed_file() {
        Ok(file) => file,
        // Nor does a file system of persistent memory refuse such a file.
        Err(source) if refuses_flag(&source) => return Ok(false),
        Err(source) => return Err(failed(source)),
    };
    allocate(&file, PROBE_BYTES).map_err(failed)?;
    match WordMapping::of_file(path, &file, 0..PROBE_BYTES, StoreOrder::Durable) {
        Ok(_) => Ok(true),
        Err(IoError::Failed { source, .. }) if refuses_flag(&source) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether this is the answer of a file system, or of an old kernel, that does not know `MAP_SYNC` or `O_TMPFILE`.
#[cfg(target_os = "linux")]
fn refuses_flag(error: &Error) -> bool {
    // A file without a name is a folder to those that do not know it.
    matches!(Errno::from_io_error(error), Some(Errno::OPNOTSUPP | Errno::INVAL | Errno::ISDIR))
}

#[cfg(not(target_os = "linux"))]
fn has_persistent_memory(_: &DiskDirectory) -> Result<bool, IoError> {
    Ok(false)
}

/// Whether the region that the directory's device lies in keeps caches.
#[cfg(target_os = "linux")]
fn caches_persist(directory: &DiskDirectory) -> Result<bool, IoError> {
    let device = directory.folder().device();
    let device = device.map_err(|source| IoError::new(Operation::Open, directory.location(), source))?;
    Ok(region_keeps_caches(Path::new(SYSTEM), device))
}

/// The same of a device, by what the system says below `system`. What is not said there is not so: a volume over several devices
/// has no region.
#[cfg(target_os = "linux")]
fn region_keeps_caches(system: &Path, (major, minor): (u32, u32)) -> bool {
    // A partition, then its disk, its namespace, its region.
    let Ok(device) = system.join(format!("dev/block/{major}:{minor}")).canonicalize() else { return false };
    let domain = device.ancestors().find_map(|at| fs::read_to_string(at.join("persistence_domain")).ok());
    domain.is_some_and(|domain| domain.trim() == "cpu_cache")
}

#[cfg(not(target_os = "linux"))]
fn caches_persist(_: &DiskDirectory) -> Result<bool, IoError> {
    Ok(false)
}

impl<L: LineInstructions> Directory for DaxDirectory<L> {
    fn location(&self) -> &Path {
        self.inner.location()
    }

    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>, IoError> {
        self.file(Operation::Open, name, mode)
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>, IoError> {
        self.inner.create(name)?;
        self.file(Operation::Create, name, OpenMode::ReadWrite)
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        self.inner.exists(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        self.inner.remove(name)
    }

    fn list(&self) -> Result<Vec<String>, IoError> {
        self.inner.list()
    }

    fn sync_directory(&self) -> Result<(), IoError> {
        self.inner.sync_directory()
    }

    fn write_unit(&self) -> WriteUnit {
        WriteUnit::LINE
    }

    /// The file's new length is durable when it returns.
    fn allocate(&self, name: &str, bytes: u64) -> Result<(), IoError> {
        self.inner.allocate(name, bytes)?;
        let (path, file) = self.inner.open_system_file(Operation::Sync, name, OpenMode::ReadWrite)?;
        let synced = self.access.lines.for_file(&file).and_then(|lines| lines.sync_length(&file));
        synced.map_err(|source| IoError::new(Operation::Sync, path, source))
    }

    fn map(&self, name: &str) -> Result<ByteMapping, IoError> {
        let (path, file) = self.inner.open_system_file(Operation::Map, name, OpenMode::Read)?;
        ByteMapping::of_file(&path, &file, self.write_unit())
    }

    fn map_words(&self, name: &str, range: Range<u64>) -> Result<WordMapping, IoError> {
        let (path, file) = self.inner.open_system_file(Operation::Map, name, OpenMode::ReadWrite)?;
        WordMapping::of_file(&path, &file, range, self.access.order)
    }

    fn lock_exclusive(&self, name: &str) -> Result<LockGuard, IoError> {
        self.inner.lock_exclusive(name)
    }

    fn lock_unchanged(&self, name: &str) -> Result<Option<LockGuard>, IoError> {
        self.inner.lock_unchanged(name)
    }

    fn is_replaced(&self) -> Result<bool, IoError> {
        self.inner.is_replaced()
    }

    fn lock_state(&self, name: &str) -> Result<LockState, IoError> {
        self.inner.lock_state(name)
    }
}

/// A file that is written by stores. Its bytes are read by system calls, which see them.
#[derive(Debug)]
struct DaxFile<L> {
    path: PathBuf,
    file: SystemFile,
    mode: OpenMode,
    access: Access<L>,
    counters: Arc<WriteBackCounters>,
    /// The file and its length in bytes when it was mapped last; none before it is written.
    mapping: RwLock<Option<(WordMapping, u64)>>,
    /// Whether its length may not be durable. Set after it changed (Release), taken before it is synced (Acquire).
    is_grown: AtomicBool,
}

impl<L: LineInstructions> DaxFile<L> {
    fn check(&self, operation: Operation, bytes: &[u8], offset: u64) -> Result<(), IoError> {
        match self.mode.is_direct() {
            true => check_alignment(operation, &self.path, bytes, offset),
            false => Ok(()),
        }
    }

    fn check_writable(&self, operation: Operation) -> Result<(), IoError> {
        if self.mode.writes() {
            return Ok(());
        }
        let cause = Error::new(ErrorKind::PermissionDenied, "the file is open to be read");
        Err(IoError::new(operation, &self.path, cause))
    }

    /// Maps the file, which has `end` bytes at least, or grows to that.
    fn map_through(&self, end: u64) -> Result<(WordMapping, u64), IoError> {
        let failed = |source| IoError::at(Operation::Write, &self.path, end, source);
        let mut length = self.file.metadata().map_err(failed)?.len();
        if length < end {
            allocate(&self.file, end).map_err(failed)?;
            self.is_grown.store(true, Ordering::Release);
            length = end;
        }
        Ok((WordMapping::of_file(&self.path, &self.file, 0..length, self.access.order)?, length))
    }

    /// Stores `bytes` in a mapping that holds them all, durably.
    fn store(&self, words: &[AtomicU64], bytes: &[u8], offset: usize) {
        let (first, end) = (offset / WORD_BYTES, (offset + bytes.len()).div_ceil(WORD_BYTES));
        let mut rest = bytes;
        for (at, word) in (first..end).zip(&words[first..end]) {
            let from = offset.saturating_sub(at * WORD_BYTES);
            let (part, behind) = rest.split_at((WORD_BYTES - from).min(rest.len()));
            // Of a word that is written in part the other bytes are nobody else's: writes that overlap in a unit are the
            // callers' own affair.
            let mut stored = word.load(Ordering::Relaxed).to_ne_bytes();
            stored[from..from + part.len()].copy_from_slice(part);
            word.store(u64::from_ne_bytes(stored), Ordering::Relaxed);
            rest = behind;
        }
        if !self.access.caches_persist && !planted(Bug::LinesNotWrittenBack) {
            // The mapping begins at a page, and so at a line.
            let last_line = (end - 1) / LINE_WORDS * LINE_WORDS;
            let written = if planted(Bug::LastLineNotWrittenBack) { last_line.max(first) } else { end };
            self.access.lines.write_back(&words[first..written], first);
            let lines = end.div_ceil(LINE_WORDS) - first / LINE_WORDS;
            self.counters.lines.fetch_add(lines as u64, Ordering::Relaxed);
        }
        if !planted(Bug::LineFenceLeftOut) {
            self.access.lines.fence();
        }
        self.counters.fences.fetch_add(1, Ordering::Relaxed);
    }
}

impl<L: LineInstructions> File for DaxFile<L> {
    fn path(&self) -> &Path {
        &self.path
    }

    fn is_direct(&self) -> bool {
        false
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.check(Operation::Read, buffer, offset)?;
        let failed = |source| IoError::at(Operation::Read, &self.path, offset, source);
        self.file.read_exact_at(buffer, offset).map_err(failed)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), IoError> {
        self.check_writable(Operation::Write)?;
        self.check(Operation::Write, bytes, offset)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let too_large = || IoError::at(Operation::Write, &self.path, offset, ErrorKind::FileTooLarge.into());
        let end = offset.checked_add(bytes.len() as u64).ok_or_else(too_large)?;
        let start = usize::try_from(offset).map_err(|_| too_large())?;
        {
            let mapping = self.mapping.read();
            if let Some((mapping, _)) = mapping.as_ref().filter(|(_, length)| end <= *length) {
                self.store(mapping.words(), bytes, start);
                return Ok(());
            }
        }
        let mut mapping = self.mapping.write();
        let (mapping, _) = mapping.insert(self.map_through(end)?);
        self.store(mapping.words(), bytes, start);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.check_writable(Operation::SetLength)?;
        // Nobody stores meanwhile, and a mapping beyond the end is gone.
        let mut mapping = self.mapping.write();
        *mapping = None;
        self.file.set_len(len).map_err(|source| IoError::new(Operation::SetLength, &self.path, source))?;
        self.is_grown.store(true, Ordering::Release);
        Ok(())
    }

    fn len(&self) -> Result<u64, IoError> {
        match self.file.metadata() {
            Ok(found) => Ok(found.len()),
            Err(source) => Err(IoError::new(Operation::Length, &self.path, source)),
        }
    }

    fn map_words(&self, range: Range<u64>) -> Result<WordMapping, IoError> {
        WordMapping::of_file(&self.path, &self.file, range, self.access.order)
    }

    /// What was written is durable already; a length that changed is made so.
    fn sync_data(&self) -> Result<(), IoError> {
        if !self.is_grown.swap(false, Ordering::AcqRel) || planted(Bug::GrownLengthNotSynced) {
            return Ok(());
        }
        self.access.lines.sync_length(&self.file).map_err(|source| {
            self.is_grown.store(true, Ordering::Release);
            IoError::new(Operation::Sync, &self.path, source)
        })
    }
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests {
    use super::*;
    use crate::io::memory::MemoryDirectory;
    use crate::io::random::{Random, SplitMix64};

    #[allow(clippy::unwrap_used, reason = "a test's helper fails as the test does")]
    fn emulated() -> (tempfile::TempDir, DaxDirectory) {
        let place = tempfile::tempdir().unwrap();
        let directory = DaxDirectory::open(place.path(), Emulation::Demanded).unwrap();
        (place, directory)
    }

    #[test]
    fn without_persistent_memory_the_directory_is_refused_by_name_and_left_as_it_was() {
        let (place, directory) = emulated();
        let refused = DaxDirectory::open(place.path(), Emulation::Refused);
        // On a machine with persistent memory under its temporary files both work.
        assert_eq!(refused.is_err(), directory.is_emulated());
        if let Err(error) = refused {
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            let text = error.to_string();
            assert!(
                text.contains("MAP_SYNC") && text.contains(&place.path().display().to_string()),
                "{text}"
            );
        }
        assert_eq!(directory.list().unwrap(), [""; 0]);
        let none = DaxDirectory::open(place.path().join("none"), Emulation::Demanded);
        assert_eq!(none.unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_region_says_whether_caches_persist_and_who_is_silent_does_not() {
        let system = tempfile::tempdir().unwrap();
        let path = |name: &str| system.path().join(name);
        for (region, domain, minor) in
            [("region0", "cpu_cache\n", 0), ("region1", "memory_controller\n", 1), ("region2", "", 2)]
        {
            let device = path(&format!("devices/{region}/namespace/block/pmem{minor}/pmem{minor}p1"));
            fs::create_dir_all(&device).unwrap();
            if !domain.is_empty() {
                fs::write(path(&format!("devices/{region}/persistence_domain")), domain).unwrap();
            }
            fs::create_dir_all(path("dev/block")).unwrap();
            std::os::unix::fs::symlink(&device, path(&format!("dev/block/259:{minor}"))).unwrap();
        }
        let found = [0, 1, 2, 3].map(|minor| region_keeps_caches(system.path(), (259, minor)));
        assert_eq!(found, [true, false, false, false]);
        // No machine on which this runs has such a device under its temporary files, or emulates one.
        let (_place, directory) = emulated();
        assert!(directory.caches_persist() <= !directory.is_emulated());
    }

    #[test]
    fn random_writes_are_those_of_a_directory_in_memory() {
        let (_place, directory) = emulated();
        let model = MemoryDirectory::new("memory");
        let mut random = SplitMix64::new(1);
        let mut below = |limit: u64| random.next_u64() % limit;
        let [mut file, model] = [&directory as &dyn Directory, &model].map(|it| it.create("log-1").unwrap());
        for step in 0..2000 {
            let (offset, length) = (below(9000), below(300));
            let bytes: Vec<u8> = (0..length).map(|at| (step + at) as u8).collect();
            for file in [&file, &model] {
                match step % 50 {
                    7 => file.set_len(offset).unwrap(),
                    _ => file.write_at(&bytes, offset).unwrap(),
                }
            }
            if step % 50 == 20 {
                file.sync_data().unwrap();
                file = directory.open("log-1", OpenMode::ReadWrite).unwrap();
            }
            if step % 10 == 0 {
                let length = model.len().unwrap();
                assert_eq!(file.len().unwrap(), length, "step {step}");
                let found = [&file, &model].map(|file| {
                    let mut bytes = vec![0; length as usize];
                    file.read_at(&mut bytes, 0).unwrap();
                    bytes
                });
                assert!(found[0] == found[1], "step {step}");
            }
        }
    }

    #[test]
    fn lines_and_fences_are_counted_by_kind_of_file() {
        let (_place, directory) = emulated();
        assert!(directory.write_backs().is_empty());
        let first = directory.create("log-1").unwrap();
        // A whole line; two that are touched; none.
        for (offset, length) in [(0, 64), (63, 2), (0, 0)] {
            first.write_at(&vec![1; length], offset).unwrap();
        }
        // Another file of the kind, by two handles.
        directory.create("log-2").unwrap().write_at(&[1; 8], 640).unwrap();
        directory.open("log-2", OpenMode::ReadWrite).unwrap().write_at(&[1; 65], 64).unwrap();
        let array = directory.create("array-1").unwrap();
        directory.allocate("array-1", 1 << 16).unwrap();
        array.write_at(&[1; 200], 100).unwrap();
        let manifest = directory.create("manifest").unwrap();
        // Neither reads nor syncs nor lengths write anything back.
        array.read_at(&mut [0; 8], 0).unwrap();
        manifest.set_len(100).unwrap();
        [&first, &array, &manifest].into_iter().for_each(|file| file.sync_data().unwrap());
        let expected = [("array", 4, 1), ("log", 1 + 2 + 1 + 2, 4), ("manifest", 0, 0)]
            .map(|(kind, lines, fences)| (kind.to_owned(), WriteBackCounts { lines, fences }));
        let found = directory.write_backs();
        assert_eq!(found, BTreeMap::from(expected));
        assert_eq!(found["array"].bytes(), 256);
    }

    #[test]
    fn a_file_grows_is_mapped_and_keeps_the_rules_of_its_mode() {
        let (_place, directory) = emulated();
        assert_eq!(directory.write_unit(), WriteUnit::LINE);
        let file = directory.create("array-1").unwrap();
        directory.allocate("array-1", 1 << 16).unwrap();
        let mapping = Arc::new(directory.map("array-1").unwrap());
        let claim = mapping.claim(64..192).unwrap();
        file.write_at(&[7; 128], 64).unwrap();
        assert_eq!(claim.read()[..], [7; 128]);
        let words = directory.map_words("array-1", 0..1 << 16).unwrap();
        words.words()[0].store(3, Ordering::Relaxed);
        let mut first = [0; 8];
        file.read_at(&mut first, 0).unwrap();
        assert_eq!(u64::from_le_bytes(first), 3);

        let reader = directory.open("array-1", OpenMode::Read).unwrap();
        for error in [reader.write_at(&[1], 0), reader.set_len(0)] {
            assert_eq!(error.unwrap_err().kind(), ErrorKind::PermissionDenied);
        }
        let direct = directory.open("array-1", OpenMode::WriteDirect).unwrap();
        assert!(!direct.is_direct());
        assert_eq!(direct.write_at(&[1], 0).unwrap_err().kind(), ErrorKind::InvalidInput);
        let error = file.write_at(&[1; 8], u64::MAX - 3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(file.read_at(&mut [0; 8], 1 << 16).is_err());
    }
}
