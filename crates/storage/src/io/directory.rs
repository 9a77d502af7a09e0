//! Directory: the files of one database, by flat names and byte offsets.
//!
//! What is durable, and when:
//! ```text
//! bytes of a file                    after File::sync_data
//! a created, renamed, removed name   after Directory::sync_directory
//! ```
//! Until then a power cut may keep any part of it, sector by sector and name by name.
//!
//! There is no current position and no append: a read or write says where, so that
//! threads share a file without a lock and a simulation can replay each call. Files are mapped to be read, or as words
//! that processes share ([`mapping`](crate::io::mapping)); no other bytes are written by a mapping.
//!
//! A write of whole [`WriteUnit`]s puts no byte beside it at risk, whatever a power cut leaves of it. So what is durable
//! and what is still written have no unit in common.
//!
//! Direct I/O bypasses the system's page cache, for callers that have a cache of their own. It moves whole
//! blocks of [`ALIGNMENT_BYTES`] between the disk and an [`AlignedBuffer`](crate::io::page::AlignedBuffer).

use std::any::Any;
use std::fmt::Debug;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::error::{IoError, Operation};
use crate::io::mapping::{ByteMapping, WordMapping};
use crate::io::page::ALIGNMENT_BYTES;
use crate::io::write_unit::WriteUnit;

/// For what a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Reads and syncs only.
    Read,
    /// Reads and writes.
    ReadWrite,
    /// As [`OpenMode::Read`], by direct I/O.
    ReadDirect,
    /// As [`OpenMode::ReadWrite`], by direct I/O.
    WriteDirect,
}

impl OpenMode {
    /// Whether the file may be changed.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::ReadWrite | Self::WriteDirect)
    }

    /// Whether direct I/O is requested. The file says whether it is used: [`File::is_direct`].
    #[must_use]
    pub fn is_direct(self) -> bool {
        matches!(self, Self::ReadDirect | Self::WriteDirect)
    }
}

/// Whether somebody holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockState {
    /// Nobody does.
    Free,
    /// A process does: this one, if it left its id.
    Held(Option<u32>),
}

/// The files of one database.
///
/// Names are flat: one file name each, without separators; anything else is refused
/// ([`ErrorKind::InvalidInput`]), since names are also read back from disk.
pub trait Directory: Send + Sync + Debug {
    /// Where the directory lies, for error messages.
    fn location(&self) -> &Path;

    /// Where `name` lies, for error messages; the file need not exist.
    fn path(&self, name: &str) -> PathBuf {
        self.location().join(name)
    }

    /// Opens a file that exists. One that [`Directory::create`] made is opened again for direct I/O.
    ///
    /// # Errors
    /// `NotFound` if it does not exist, and what the system says.
    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>, IoError>;

    /// Creates an empty file, to read and write. The name is durable after
    /// [`Directory::sync_directory`].
    ///
    /// # Errors
    /// `AlreadyExists` if there is one, and what the system says.
    fn create(&self, name: &str) -> Result<Arc<dyn File>, IoError>;

    /// Whether the file exists.
    ///
    /// # Errors
    /// What the system says when it cannot tell.
    fn exists(&self, name: &str) -> Result<bool, IoError>;

    /// Gives the file `from` the name `to`, replacing what has that name, in one step.
    ///
    /// # Errors
    /// `NotFound` if `from` does not exist, and what the system says.
    fn rename(&self, from: &str, to: &str) -> Result<(), IoError>;

    /// Removes a file. Open handles can still be used.
    ///
    /// # Errors
    /// `NotFound` if it does not exist, and what the system says.
    fn remove(&self, name: &str) -> Result<(), IoError>;

    /// The names of all files, sorted.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self) -> Result<Vec<String>, IoError>;

    /// Makes every creation, renaming and removal so far durable.
    ///
    /// # Errors
    /// What the system says; after an error nothing is known about those names.
    fn sync_directory(&self) -> Result<(), IoError>;

    /// What a write of files here puts at risk around it.
    fn write_unit(&self) -> WriteUnit;

    /// Grows a file that exists to `bytes`, with zeros that occupy space, so that no later write into them finds the disk
    /// full; nothing if it is as long. Durable as other bytes are.
    ///
    /// Cost: a system call; where the file system cannot allocate, the zeros are written.
    ///
    /// # Errors
    /// `StorageFull`, `NotFound`, and what the system says; the file may have grown.
    fn allocate(&self, name: &str, bytes: u64) -> Result<(), IoError>;

    /// Maps a file that exists to be read in place, whole, as long as it is now.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` if it is empty; `Unsupported` on a big-endian machine; and what the system says.
    fn map(&self, name: &str) -> Result<ByteMapping, IoError>;

    /// Maps these bytes of a file that exists, as words that all mappings of them share; they begin with a page, and a last
    /// part of a word is filled up with bytes that nobody stores. Nothing makes them durable, unless the directory is one of persistent
    /// memory.
    ///
    /// # Errors
    /// `NotFound`; `UnexpectedEof` if the file ends before; `InvalidInput` if the range is empty or begins within a page;
    /// and what the system says.
    fn map_words(&self, name: &str, range: Range<u64>) -> Result<WordMapping, IoError>;

    /// Takes the lock `name` for this opening of the database, or says who has it.
    /// It is given back when the guard is dropped or the process ends, however it ends. Its file may be removed by whoever holds
    /// the lock: who takes it afterwards makes another one.
    ///
    /// # Errors
    /// [`IoError::Locked`] if it is taken, also by this process; and what the system says.
    fn lock_exclusive(&self, name: &str) -> Result<LockGuard, IoError>;

    /// Takes the lock `name` as [`Directory::lock_exclusive`] does, for somebody who only reads and must
    /// change nothing, not even the lock's file: if there is none, nobody has the database open, and the
    /// answer is `None`.
    ///
    /// # Errors
    /// As [`Directory::lock_exclusive`].
    fn lock_unchanged(&self, name: &str) -> Result<Option<LockGuard>, IoError>;

    /// Whether another directory has this one's path by now: somebody moved or removed this one, and put that in its place. False
    /// where the path leads to nothing, can't be looked up, or always leads here.
    ///
    /// # Errors
    /// What the system says.
    fn is_replaced(&self) -> Result<bool, IoError> {
        Ok(false)
    }

    /// Whether somebody holds the lock `name`. Nothing is changed, and nobody who takes the lock meanwhile is refused for it.
    ///
    /// # Errors
    /// What the system says.
    fn lock_state(&self, name: &str) -> Result<LockState, IoError>;

    /// The whole of a file.
    ///
    /// # Errors
    /// [`IoError::TooLarge`] before anything is allocated if it has more than `limit` bytes,
    /// and those of [`Directory::open`] and [`File::read_at`].
    fn read_all(&self, name: &str, limit: u64) -> Result<Vec<u8>, IoError> {
        let file = self.open(name, OpenMode::Read)?;
        let found = file.len()?;
        let path = || self.path(name);
        match usize::try_from(found) {
            Ok(length) if found <= limit => {
                let mut bytes = vec![0; length];
                file.read_at(&mut bytes, 0)?;
                Ok(bytes)
            }
            _ => Err(IoError::TooLarge { path: path(), limit, found }),
        }
    }

    /// Creates a file with these bytes and syncs them; the *name* is not yet durable.
    ///
    /// # Errors
    /// Those of [`Directory::create`], [`File::write_at`] and [`File::sync_data`]; the file may
    /// then exist with a part of the bytes.
    fn write_all_new(&self, name: &str, bytes: &[u8]) -> Result<(), IoError> {
        let file = self.create(name)?;
        file.write_at(bytes, 0)?;
        file.sync_data()
    }
}

/// One open file. Shared between threads; overlapping writes are the callers' own affair.
///
/// # Direct I/O
/// A file that was opened by a direct mode takes whole blocks only: the offset, the length and the address of the
/// bytes are multiples of [`ALIGNMENT_BYTES`]. Anything else is refused as `InvalidInput`, also where the file
/// system would allow it, so that a test in memory finds the mistake. A block that the file's end cuts short can't
/// be read.
pub trait File: Send + Sync + Debug {
    /// Where the file lies, for error messages.
    fn path(&self) -> &Path;

    /// Whether reads and writes bypass the system's page cache. False for a file that was opened by a direct mode
    /// on a file system without direct I/O: there the bytes pass through the cache.
    fn is_direct(&self) -> bool;

    /// Fills `buffer` from byte `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof`, naming the offset, if the file ends before; and what the system says.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), IoError>;

    /// Writes all of `bytes` from byte `offset` on, growing the file if needed.
    ///
    /// # Errors
    /// What the system says; a part may be written then.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), IoError>;

    /// Cuts the file, or grows it by zeros that need not occupy space.
    ///
    /// # Errors
    /// What the system says.
    fn set_len(&self, len: u64) -> Result<(), IoError>;

    /// The file's length in bytes.
    ///
    /// # Errors
    /// What the system says.
    fn len(&self) -> Result<u64, IoError>;

    /// Whether the file has no bytes.
    ///
    /// # Errors
    /// What the system says.
    fn is_empty(&self) -> Result<bool, IoError> {
        Ok(self.len()? == 0)
    }

    /// As [`Directory::map_words`], of the file that was opened to read and write, whatever has its name by now.
    ///
    /// # Errors
    /// As there; `Unsupported` where files are mapped by their names only.
    fn map_words(&self, range: Range<u64>) -> Result<WordMapping, IoError> {
        let cause = std::io::Error::new(ErrorKind::Unsupported, "an open file can't be mapped here");
        Err(IoError::at(Operation::Map, self.path(), range.start, cause))
    }

    /// Makes every write so far durable, and the length that is needed to read it back.
    ///
    /// # Errors
    /// What the system says. Never call it again to "retry": the system may have dropped the
    /// bytes and would report success.
    fn sync_data(&self) -> Result<(), IoError>;
}

/// Holds a directory's lock; gives it back when dropped.
#[derive(Debug)]
#[must_use = "the lock is given back when the guard is dropped"]
pub struct LockGuard {
    _held: Box<dyn Any + Send + Sync>,
}

impl LockGuard {
    /// Wraps what gives the lock back when it is dropped.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self { _held: Box::new(held) }
    }
}

/// Refuses a name that is not one plain file name.
///
/// # Errors
/// `InvalidInput`, with the directory joined to the name as path.
pub fn check_name(operation: Operation, directory: &Path, name: &str) -> Result<(), IoError> {
    let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0']);
    if plain {
        return Ok(());
    }
    let cause = std::io::Error::new(ErrorKind::InvalidInput, "a file's name has no separators");
    Err(IoError::new(operation, directory.join(name.replace('\0', "?")), cause))
}

/// Refuses a read or write of a directly opened file that isn't of whole blocks.
///
/// # Errors
/// `InvalidInput`, naming file and offset.
pub fn check_alignment(operation: Operation, path: &Path, bytes: &[u8], offset: u64) -> Result<(), IoError> {
    let is_aligned = offset.is_multiple_of(ALIGNMENT_BYTES as u64)
        && bytes.len().is_multiple_of(ALIGNMENT_BYTES)
        && bytes.as_ptr().addr().is_multiple_of(ALIGNMENT_BYTES);
    if is_aligned {
        return Ok(());
    }
    let cause = format!("direct I/O takes whole blocks of {ALIGNMENT_BYTES} bytes");
    Err(IoError::at(operation, path, offset, std::io::Error::new(ErrorKind::InvalidInput, cause)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::page::AlignedBuffer;

    #[test]
    fn direct_io_takes_whole_blocks_at_aligned_addresses() {
        let bytes = AlignedBuffer::zeroed(3 * ALIGNMENT_BYTES);
        let check = |bytes, offset| check_alignment(Operation::Read, Path::new("db/csr-1"), bytes, offset);
        assert!(check(&bytes, 0).is_ok() && check(&bytes[ALIGNMENT_BYTES..], 1 << 40).is_ok());
        for (bytes, offset) in
            [(&bytes[..100], 0), (&bytes[..], 512), (&bytes[512..ALIGNMENT_BYTES + 512], 0)]
        {
            let error = check(bytes, offset).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains(&format!("csr-1 at byte {offset}")), "{error}");
        }
    }

    #[test]
    fn a_name_that_leaves_the_directory_is_refused() {
        for name in ["", ".", "..", "../other", "/etc/passwd", "a/b", "a\\b", "a\0b"] {
            let error = check_name(Operation::Open, Path::new("db"), name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name:?}");
        }
        assert!(check_name(Operation::Open, Path::new("db"), "log-0000000000000001").is_ok());
    }
}
