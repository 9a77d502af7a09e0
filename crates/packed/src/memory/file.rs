//! File memory: regions as mapped files of a directory on persistent memory.
//!
//! ```text
//! packed-00000000       the root                    one file a region: its words, little-endian, and nothing else
//! packed-00000007       what the root names
//! packed-00000008.new   a region that is allocated; removed when the directory is opened
//! packed.lock           locked by the process that has the graph open
//! ```
//!
//! A file gets its name when its whole length is durable, so that a short one is damaged and not young.
//!
//! The directory is a [`DaxDirectory`]: its file system accepts `MAP_SYNC`, or the emulation is demanded by name. Emulated
//! memory survives the end of the process, however it ends, but not that of the system.
//!
//! # Concurrency
//! Files are mapped whole. Nobody else may shorten one while the graph is open: the system ends a process that touches
//! what is gone (SIGBUS).
//!
//! Source: DGAP (SC 2023), sections 2.1 and 3.1.5.

use crate::memory::heap::missing;
use crate::memory::region::{Domain, Memory, Region, load_pairs};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::cache_line::CacheLines;
use evergraph_storage::io::dax::{DaxDirectory, Emulation};
use evergraph_storage::io::directory::{Directory, LockGuard, OpenMode};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::error::IoError;
use evergraph_storage::io::mapping::{WORD_BYTES, WordMapping};
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::sync::atomic::Ordering;
use std::io::ErrorKind as IoErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

const PREFIX: &str = "packed-";
/// What the name of a region ends with until the region is whole.
const UNFINISHED: &str = ".new";
const LOCK: &str = "packed.lock";

fn file_name(number: u64) -> String {
    format!("{PREFIX}{number:08}")
}

/// The region that a file of this name is.
fn number_of(name: &str) -> Option<u64> {
    let number = name.strip_prefix(PREFIX)?.parse().ok()?;
    // No sign, no other number of zeros: one name a region.
    (file_name(number) == name).then_some(number)
}

/// Regions as files of a directory, which no other process uses meanwhile.
#[derive(Debug)]
pub struct FileMemory {
    directory: Arc<dyn Directory>,
    lines: CacheLines,
    domain: Domain,
    _lock: LockGuard,
}

impl FileMemory {
    /// The memory of a directory that exists. `domain` is that of the machine: [`Domain::Adr`] is right everywhere,
    /// [`Domain::Eadr`] where `/sys/bus/nd/devices/region*/persistence_domain` says `cpu_cache`.
    ///
    /// # Errors
    /// `not_found` if there is no directory; `busy`, naming the process, if another one has it open; `io`, naming
    /// MAP_SYNC, if it is not on persistent memory and `emulation` is refused.
    pub fn open(location: &Path, emulation: Emulation, domain: Domain) -> Result<Self> {
        // Before anything in the directory is touched.
        let lock = lock(&DiskDirectory::open(location)?)?;
        Self::locked(Arc::new(DaxDirectory::open(location, emulation)?), lock, domain)
    }

    /// As [`FileMemory::open`], but a directory that is missing is created.
    ///
    /// # Errors
    /// As [`FileMemory::open`].
    pub fn create(location: &Path, emulation: Emulation, domain: Domain) -> Result<Self> {
        DiskDirectory::open_or_create(location)?;
        Self::open(location, emulation, domain)
    }

    /// The memory of `directory`, whose files are written by stores.
    ///
    /// # Errors
    /// `invalid` if its unit is not a cache line, so that stores to it would not be durable; else as
    /// [`FileMemory::open`].
    pub fn on(directory: Arc<dyn Directory>, domain: Domain) -> Result<Self> {
        let lock = lock(&*directory)?;
        Self::locked(directory, lock, domain)
    }

    fn locked(directory: Arc<dyn Directory>, lock: LockGuard, domain: Domain) -> Result<Self> {
        let location = directory.location().display();
        if directory.write_unit() != WriteUnit::LINE {
            let text = format!(
                "open a packed graph in {location}: it is written in units of {} bytes, so it is not persistent memory",
                directory.write_unit().bytes()
            );
            return Err(Error::invalid(text));
        }
        let lines = CacheLines::of_processor()
            .map_err(|cause| Error::invalid(format!("open a packed graph in {location}: {cause}")))?;
        for name in directory.list()? {
            if name.strip_suffix(UNFINISHED).is_some_and(|name| number_of(name).is_some()) {
                directory.remove(&name)?;
            }
        }
        Ok(Self { directory, lines, domain, _lock: lock })
    }

    /// Makes the file of a region, whole, under a name that nobody looks for.
    fn make(&self, name: &str, bytes: u64) -> std::result::Result<WordMapping, IoError> {
        self.directory.create(name)?;
        self.directory.allocate(name, bytes)?;
        self.directory.map_words(name, 0..bytes)
    }
}

fn lock(directory: &dyn Directory) -> Result<LockGuard> {
    directory.lock_exclusive(LOCK).map_err(|error| match error {
        IoError::Locked { directory, holder } => {
            let holder = holder.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
            let text = format!(
                "the packed graph in {} is open in {holder}; close it there first",
                directory.display()
            );
            Error::new(ErrorKind::Busy, text)
        }
        error => error.into(),
    })
}

/// The mapped words of a file.
#[derive(Debug)]
pub struct MappedRegion {
    mapping: WordMapping,
    lines: CacheLines,
}

impl Region for MappedRegion {
    #[inline]
    fn words(&self) -> usize {
        self.mapping.words().len()
    }

    #[inline]
    fn load(&self, index: usize) -> u64 {
        self.mapping.words()[index].load(Ordering::Relaxed)
    }

    #[inline]
    fn load_pairs(&self, first: usize, pairs: &mut [[u32; 2]], decode: impl Fn(u64) -> u64) {
        load_pairs(&self.mapping.words()[first..first + pairs.len()], pairs, decode);
    }

    #[inline]
    fn store(&self, index: usize, value: u64) {
        self.mapping.words()[index].store(value, Ordering::Release);
    }

    #[inline]
    fn write_back(&self, words: Range<usize>) {
        self.lines.write_back(&self.mapping.words()[words]);
    }
}

impl Memory for FileMemory {
    type Region = MappedRegion;

    fn domain(&self) -> Domain {
        self.domain
    }

    fn name_of(&self, number: u64) -> String {
        self.directory.path(&file_name(number)).display().to_string()
    }

    fn allocate(&self, number: u64, words: usize) -> Result<MappedRegion> {
        let name = file_name(number);
        if self.directory.exists(&name)? {
            let text = format!("allocate region {number}: {} is there already", self.name_of(number));
            return Err(Error::invalid(text));
        }
        let unfinished = format!("{name}{UNFINISHED}");
        let made = self.make(&unfinished, words as u64 * WORD_BYTES as u64).and_then(|mapping| {
            self.directory.rename(&unfinished, &name)?;
            self.directory.sync_directory()?;
            Ok(mapping)
        });
        match made {
            Ok(mapping) => Ok(MappedRegion { mapping, lines: self.lines }),
            Err(error) => {
                // A disk that is full gets its space back, and the number can be tried again. What cannot be removed is
                // removed at the next opening.
                let _ = self.directory.remove(&unfinished);
                let _ = self.directory.remove(&name);
                Err(error.into())
            }
        }
    }

    fn open(&self, number: u64) -> Result<MappedRegion> {
        let name = file_name(number);
        let length = match self.directory.open(&name, OpenMode::Read) {
            Err(error) if error.kind() == IoErrorKind::NotFound => {
                return Err(missing("open", &self.name_of(number)));
            }
            file => file?.len()?,
        };
        if length == 0 || !length.is_multiple_of(WORD_BYTES as u64) {
            let text = format!(
                "{} ends at byte {length}: a region has whole words of 8 bytes",
                self.name_of(number)
            );
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        Ok(MappedRegion { mapping: self.directory.map_words(&name, 0..length)?, lines: self.lines })
    }

    fn free(&self, number: u64) -> Result<()> {
        match self.directory.remove(&file_name(number)) {
            Err(error) if error.kind() == IoErrorKind::NotFound => {
                Err(missing("free", &self.name_of(number)))
            }
            removed => {
                removed?;
                Ok(self.directory.sync_directory()?)
            }
        }
    }

    fn numbers(&self) -> Result<Vec<u64>> {
        let mut numbers: Vec<u64> =
            self.directory.list()?.iter().filter_map(|name| number_of(name)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    #[inline]
    fn fence(&self) {
        self.lines.fence();
    }
}

#[cfg(all(test, not(any(miri, shuttle, loom))))]
mod tests {
    use super::*;

    #[test]
    fn a_region_has_one_name() {
        assert_eq!(file_name(7), "packed-00000007");
        assert_eq!(number_of("packed-00000007"), Some(7));
        assert_eq!(number_of(&file_name(u64::MAX)), Some(u64::MAX));
        for other in
            ["packed-7", "packed-+0000007", "packed-00000007.new", "packed.lock", "packed-", "log-00000007"]
        {
            assert_eq!(number_of(other), None, "{other}");
        }
    }

    #[test]
    fn words_are_those_that_were_stored_before_the_memory_was_opened_again() {
        let place = tempfile::tempdir().unwrap();
        let open = || FileMemory::open(place.path(), Emulation::Demanded, Domain::Adr);
        let memory = open().unwrap();
        let region = memory.allocate(3, 20).unwrap();
        assert_eq!((region.words(), region.load(19)), (20, 0));
        region.store(19, 0x0807_0605_0403_0201);
        region.write_back(19..20);
        memory.fence();
        let mut pairs = [[0; 2]; 2];
        region.load_pairs(18, &mut pairs, |word| word + 1);
        assert_eq!(pairs, [[1, 0], [0x0403_0202, 0x0807_0605]]);
        assert_eq!(memory.numbers().unwrap(), [3]);
        assert!(memory.allocate(3, 20).unwrap_err().to_string().contains("packed-00000003 is there already"));
        let refusal = open().unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::Busy);
        let own = format!("is open in process {}; close it there first", std::process::id());
        assert!(refusal.to_string().ends_with(&own), "{refusal}");

        drop(memory);
        #[allow(clippy::disallowed_methods, reason = "what a process that was killed left")]
        std::fs::File::create(place.path().join("packed-00000004.new")).unwrap();
        let memory = open().unwrap();
        assert_eq!(memory.open(3).unwrap().load(19), 0x0807_0605_0403_0201);
        assert!(!place.path().join("packed-00000004.new").exists());
        assert_eq!(memory.open(4).unwrap_err().kind(), ErrorKind::NotFound);
        memory.free(3).unwrap();
        assert_eq!(
            (memory.numbers().unwrap(), memory.free(3).unwrap_err().kind()),
            (vec![], ErrorKind::NotFound)
        );
    }

    #[test]
    fn a_directory_that_stores_do_not_make_durable_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let disk = Arc::new(DiskDirectory::open(place.path()).unwrap());
        let refusal = FileMemory::on(disk, Domain::Adr).unwrap_err();
        assert!(
            refusal.to_string().contains("units of 4096 bytes, so it is not persistent memory"),
            "{refusal}"
        );
        let missing = place.path().join("none");
        let refusal = FileMemory::open(&missing, Emulation::Demanded, Domain::Adr).unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::NotFound);
        FileMemory::create(&missing, Emulation::Demanded, Domain::Adr).unwrap();
    }
}
