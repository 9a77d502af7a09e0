//! Folder: an open directory of the file system, in which names are looked up whatever its path leads to by now.
//!
//! Who moves the folder of an open database and puts another one in its place has two: a process goes on in the one that it
//! locked, and never writes into the other.

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::CStr;
use std::fs::File as SystemFile;
use std::io::{ErrorKind, Result};
use std::path::Path;

/// What files are made with, as far as the process' mask lets it.
const MODE: Mode = Mode::from_raw_mode(0o666);

/// An open directory.
///
/// Concurrency: any thread may call anything.
#[derive(Debug)]
pub(crate) struct Folder(SystemFile);

impl Folder {
    /// Opens a directory.
    #[expect(clippy::disallowed_methods, reason = "this file is what the rule points to")]
    pub(crate) fn open(location: &Path) -> Result<Self> {
        let handle = SystemFile::open(location)?;
        match handle.metadata()?.is_dir() {
            true => Ok(Self(handle)),
            false => Err(ErrorKind::NotADirectory.into()),
        }
    }

    /// Opens a file, with `flags` beyond those that everything here is opened with.
    pub(crate) fn open_file(&self, name: &str, writes: bool, flags: OFlags) -> Result<SystemFile> {
        let access = if writes { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = access | OFlags::CLOEXEC | flags;
        Ok(retry_on_intr(|| rustix::fs::openat(&self.0, name, flags, MODE))?.into())
    }

    /// Makes a file; `AlreadyExists` if there is one.
    pub(crate) fn create_file(&self, name: &str) -> Result<SystemFile> {
        self.open_file(name, true, OFlags::CREATE | OFlags::EXCL)
    }

    /// A file to read and write that has no name, and is gone with its handle.
    #[cfg(target_os = "linux")]
    pub(crate) fn unnamed_file(&self) -> Result<SystemFile> {
        self.open_file(".", true, OFlags::TMPFILE)
    }

    /// Its number in the system's lists of devices, of the file system that it is on: major and minor.
    #[cfg(target_os = "linux")]
    pub(crate) fn device(&self) -> Result<(u32, u32)> {
        let number = rustix::fs::fstat(&self.0)?.st_dev;
        Ok((rustix::fs::major(number), rustix::fs::minor(number)))
    }

    /// Opens a file to read and write, made if there is none.
    pub(crate) fn open_or_create_file(&self, name: &str) -> Result<SystemFile> {
        self.open_file(name, true, OFlags::CREATE)
    }

    /// Whether there is something of this name.
    pub(crate) fn exists(&self, name: &str) -> Result<bool> {
        match rustix::fs::statat(&self.0, name, AtFlags::empty()) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether `file` is the one of this name.
    pub(crate) fn has(&self, name: &str, file: &SystemFile) -> Result<bool> {
        let open = rustix::fs::fstat(file)?;
        match rustix::fs::statat(&self.0, name, AtFlags::empty()) {
            Ok(named) => Ok((named.st_dev, named.st_ino) == (open.st_dev, open.st_ino)),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether `path` leads to another directory. A path that can't be looked up does not: it says nothing of this one.
    pub(crate) fn is_elsewhere(&self, path: &Path) -> Result<bool> {
        let open = rustix::fs::fstat(&self.0)?;
        let Ok(found) = rustix::fs::stat(path) else { return Ok(false) };
        let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        Ok(is_folder && (found.st_dev, found.st_ino) != (open.st_dev, open.st_ino))
    }

    /// Gives a file another name; what had that is gone.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// The names of its files, in no order. Directories, and names that are not UTF-8, are left out.
    pub(crate) fn files(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let is_file = match entry.file_type() {
                // Not every file system says it with the name.
                FileType::Unknown => self.is_file(entry.file_name())?,
                found => found == FileType::RegularFile,
            };
            if is_file {
                names.extend(entry.file_name().to_str().ok().map(ToOwned::to_owned));
            }
        }
        Ok(names)
    }

    /// Not of a link to one, as a directory's entry says it.
    fn is_file(&self, name: &CStr) -> Result<bool> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(FileType::from_raw_mode(found.st_mode) == FileType::RegularFile),
            // Removed meanwhile.
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes durable which names there are.
    pub(crate) fn sync(&self) -> Result<()> {
        self.0.sync_all()
    }
}
