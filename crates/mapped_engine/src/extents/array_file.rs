//! Array file: one file of extents, allocated whole, mapped whole, and synced when extents in it are to be named.
//!
//! ```text
//! create    zeros that occupy space, file and name synced, then mapped     a full disk shows here
//! writes    1 2 3 4 5                 numbered as they begin
//! synced    ~~~~~ through 3           a sync covers the writes that ended before it began
//! failed    a sync failed: nothing more is written here, and what was not synced before never counts as durable
//! ```

use crate::extents::free_space::FreeSpace;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::{Directory, File, LockGuard, OpenMode};
use evergraph_storage::io::mapping::ByteMapping;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use evergraph_storage::sync::{Mutex, MutexGuard};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The name of the array file with this number.
#[must_use]
pub fn file_name(number: u64) -> String {
    format!("array-{number:016x}")
}

/// The number of the array file with this name, if it is the name of one.
#[must_use]
pub fn file_number(name: &str) -> Option<u64> {
    let number = u64::from_str_radix(name.strip_prefix("array-")?, 16).ok()?;
    (file_name(number) == name).then_some(number)
}

/// A file of extents.
///
/// # Concurrency
/// Any thread writes what it claimed. `space` is a leaf: nothing is locked within it.
#[derive(Debug)]
pub struct ArrayFile {
    number: u64,
    file: Arc<dyn File>,
    mapping: Arc<ByteMapping>,
    space: Mutex<FreeSpace>,
    /// The number of the write that ended last, and that of the last one that is durable. Release when a write or a sync
    /// ended, Acquire before a sync begins or something is named.
    written: AtomicU64,
    synced: AtomicU64,
    /// Release when a sync failed, Acquire before anything is written.
    has_failed: AtomicBool,
    /// Whether its free bytes may be written: not while readers of an earlier writer may need them. Under the table's lock.
    may_reuse: AtomicBool,
    /// What tells a later writer that somebody reads here, once this one is closed. Held by whoever has an extent.
    pub(crate) in_use: Arc<OnceLock<LockGuard>>,
}

impl ArrayFile {
    /// Makes a file of `bytes` bytes, durably.
    ///
    /// # Errors
    /// What the system says; the file is removed then, as far as the system lets it.
    pub fn create(directory: &dyn Directory, number: u64, bytes: u64) -> Result<Self, CheckpointError> {
        let name = file_name(number);
        let made = directory.create(&name).and_then(|file| {
            directory.allocate(&name, bytes)?;
            file.sync_data()?;
            directory.sync_directory()?;
            Ok((file, directory.map(&name)?))
        });
        match made {
            Ok((file, mapping)) => Ok(Self::new(number, file, mapping, FreeSpace::of_length(bytes), true)),
            Err(error) => {
                // The first error tells more than a second one. A file that stays is named by nothing, and the next opening
                // removes it.
                let _ = directory.remove(&name);
                Err(error.into())
            }
        }
    }

    /// Opens a file that exists; all of it is free until extents of it are taken.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`] if it is empty; `NotFound`, and what the system says.
    pub fn open(
        directory: &dyn Directory,
        number: u64,
        mode: OpenMode,
        may_reuse: bool,
    ) -> Result<Self, CheckpointError> {
        let name = file_name(number);
        let file = directory.open(&name, mode)?;
        if file.is_empty()? {
            let problem = "extents expected, and the file is empty".to_owned();
            return Err(CheckpointError::Corrupt { file: file.path().to_owned(), offset: 0, problem });
        }
        let mapping = directory.map(&name)?;
        let length = mapping.length();
        // Bytes behind the last whole unit are no extent's.
        let space = FreeSpace::of_length(length - length % directory.write_unit().bytes());
        Ok(Self::new(number, file, mapping, space, may_reuse))
    }

    fn new(
        number: u64,
        file: Arc<dyn File>,
        mapping: ByteMapping,
        space: FreeSpace,
        may_reuse: bool,
    ) -> Self {
        Self {
            number,
            file,
            mapping: Arc::new(mapping),
            space: Mutex::new(space),
            written: AtomicU64::new(0),
            synced: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            may_reuse: AtomicBool::new(may_reuse),
            in_use: Arc::default(),
        }
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The open file.
    #[must_use]
    pub fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// The file's bytes.
    #[must_use]
    pub fn mapping(&self) -> &Arc<ByteMapping> {
        &self.mapping
    }

    /// Which bytes are free.
    pub fn space(&self) -> MutexGuard<'_, FreeSpace> {
        self.space.lock()
    }

    /// Whether new extents may be put here.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        let may_reuse = self.may_reuse.load(Ordering::Acquire) || planted(Bug::OldReadersOverwritten);
        may_reuse && !self.has_failed()
    }

    /// Whether its free bytes may be written, if nothing failed.
    #[must_use]
    pub fn is_reusable(&self) -> bool {
        self.may_reuse.load(Ordering::Acquire)
    }

    /// Whether a sync failed: what was not durable before never is.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// From here on free bytes may be written.
    pub fn allow_reuse(&self) {
        self.may_reuse.store(true, Ordering::Release);
    }

    /// Writes bytes that the caller claimed, before others of the same extent are [written](ArrayFile::write).
    ///
    /// # Errors
    /// As [`ArrayFile::write`].
    pub fn write_part(&self, bytes: &[u8], offset: u64) -> Result<(), CheckpointError> {
        self.file.write_at(bytes, offset)?;
        Ok(())
    }

    /// Writes bytes that the caller claimed, of an extent the last ones; the number of the write.
    ///
    /// # Errors
    /// What the system says; a part may be written then.
    pub fn write(&self, bytes: &[u8], range: &Range<u64>) -> Result<u64, CheckpointError> {
        self.file.write_at(bytes, range.start)?;
        Ok(self.written.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// Whether the write with this number is durable. Zero is what was durable when the file was opened.
    #[must_use]
    pub fn is_durable(&self, write: u64) -> bool {
        write <= self.synced.load(Ordering::Acquire)
    }

    /// Makes all writes that ended durable; nothing if they are.
    ///
    /// # Errors
    /// What the system says, and then never again: what it lost cannot be synced, so the file takes no more extents.
    pub fn sync(&self) -> Result<(), CheckpointError> {
        let through = self.written.load(Ordering::Acquire);
        if self.is_durable(through) || self.has_failed() {
            return Ok(());
        }
        let synced = if planted(Bug::ExtentsNotSynced) { Ok(()) } else { self.file.sync_data() };
        if let Err(error) = synced {
            self.has_failed.store(!planted(Bug::FailedArraySyncForgotten), Ordering::Release);
            return Err(error.into());
        }
        self.synced.fetch_max(through, Ordering::AcqRel);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::io::error::Operation;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::MemoryDirectory;
    use std::io::ErrorKind;

    #[test]
    fn a_name_tells_the_number_and_nothing_else_does() {
        assert_eq!(
            (file_name(255), file_number("array-00000000000000ff")),
            ("array-00000000000000ff".to_owned(), Some(255))
        );
        for other in
            ["array-ff", "array-00000000000000FF", "bodies-00000000000000ff", "array-00000000000000ff.new"]
        {
            assert_eq!(file_number(other), None, "{other}");
        }
    }

    #[test]
    fn a_new_file_is_durable_and_one_that_was_not_finished_is_gone() {
        let memory = MemoryDirectory::new("db");
        ArrayFile::create(&memory, 1, 8192).unwrap();
        assert_eq!(memory.power_cut().read_all(&file_name(1), 8192).unwrap(), [0; 8192]);
        let directory = FailingDirectory::new(Arc::new(memory));
        for operation in [
            Operation::Create,
            Operation::Allocate,
            Operation::Sync,
            Operation::SyncDirectory,
            Operation::Map,
        ] {
            directory.plan(Fault::new(operation, "", ErrorKind::StorageFull));
            let error = ArrayFile::create(&directory, 2, 8192).unwrap_err();
            assert!(matches!(error, CheckpointError::Io(_)), "{error}");
            assert_eq!(directory.list().unwrap(), [file_name(1)], "{operation}");
        }
        ArrayFile::create(&directory, 2, 8192).unwrap();
    }

    #[test]
    fn what_a_failed_sync_left_is_never_durable() {
        let directory = FailingDirectory::new(Arc::new(MemoryDirectory::new("db")));
        let file = ArrayFile::create(&directory, 1, 8192).unwrap();
        let first = file.write(&[1; 4096], &(0..4096)).unwrap();
        assert!(file.is_durable(0) && !file.is_durable(first));
        file.sync().unwrap();
        let second = file.write(&[2; 4096], &(4096..8192)).unwrap();
        assert!(file.is_durable(first) && !file.is_durable(second) && file.is_writable());
        directory.plan(Fault::new(Operation::Sync, "array-", ErrorKind::Other));
        assert!(file.sync().is_err());
        // A second sync would succeed, and the system may have dropped the bytes.
        file.sync().unwrap();
        assert!(file.is_durable(first) && !file.is_durable(second) && !file.is_writable());
    }
}
