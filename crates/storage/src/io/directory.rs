//! Directory: the files of one database, by flat names and byte offsets.
//!
//! What is durable, and when:
//! ```text
//! bytes of a file                    after File::sync_data
//! a created, renamed, removed name   after Directory::sync_directory
//! ```
//! Until then a power cut may keep any part of it, sector by sector and name by name.
//!
//! There is no current position, no append and no mapping: a read or write says where, so that
//! threads share a file without a lock and a simulation can replay each call.

use std::any::Any;
use std::fmt::Debug;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::error::{IoError, Operation};

/// For what a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Reads and syncs only.
    Read,
    /// Reads and writes.
    ReadWrite,
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

    /// Opens a file that exists.
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

    /// Takes the lock `name` for this opening of the database, or says who has it.
    /// It is given back when the guard is dropped or the process ends, however it ends.
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
pub trait File: Send + Sync + Debug {
    /// Where the file lies, for error messages.
    fn path(&self) -> &Path;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leaves_the_directory_is_refused() {
        for name in ["", ".", "..", "../other", "/etc/passwd", "a/b", "a\\b", "a\0b"] {
            let error = check_name(Operation::Open, Path::new("db"), name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name:?}");
        }
        assert!(check_name(Operation::Open, Path::new("db"), "log-0000000000000001").is_ok());
    }
}
