//! I/O error: the failed operation, the file, the byte offset, and the system's message.

use crate::io::open_files::Remedy;
use crate::io::process::process_exists;
use nix::errno::Errno;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What was asked of a directory or file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Create the database's directory itself.
    CreateDirectory,
    /// Open a file that exists.
    Open,
    /// Create a file that does not exist.
    Create,
    /// Ask whether a name exists.
    Exists,
    /// Ask for a file's length.
    Length,
    /// Read bytes.
    Read,
    /// Write bytes.
    Write,
    /// Change a file's length.
    SetLength,
    /// Grow a file by zeros that occupy space.
    Allocate,
    /// Map a file into the address space, or use a part of what is mapped.
    Map,
    /// Bring a file's bytes to stable storage.
    Sync,
    /// Give a file another name.
    Rename,
    /// Remove a name.
    Remove,
    /// List the names.
    List,
    /// Bring the names to stable storage.
    SyncDirectory,
    /// Take or give back the directory's lock.
    Lock,
}

impl Operation {
    /// Whether the operation can change what is stored, or promises that a change is stable.
    #[must_use]
    pub fn changes(self) -> bool {
        match self {
            Self::CreateDirectory
            | Self::Create
            | Self::Write
            | Self::SetLength
            | Self::Allocate
            | Self::Sync
            | Self::Rename
            | Self::Remove
            | Self::SyncDirectory => true,
            Self::Open | Self::Exists | Self::Length | Self::Read | Self::Map | Self::List | Self::Lock => {
                false
            }
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::CreateDirectory => "create directory",
            Self::Open => "open",
            Self::Create => "create",
            Self::Exists => "look for",
            Self::Length => "get the length of",
            Self::Read => "read",
            Self::Write => "write",
            Self::SetLength => "change the length of",
            Self::Allocate => "allocate space for",
            Self::Map => "map",
            Self::Sync => "sync",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::List => "list",
            Self::SyncDirectory => "sync directory",
            Self::Lock => "lock",
        })
    }
}

/// Why an operation on a directory or file did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The system refused; nothing is promised about how much of a write happened.
    #[error(
        "{operation} {}{}: {source}{}{}{}",
        path.display(),
        AtOffset(*offset),
        Remedy(source),
        MapRemedy(*operation, source),
        GoneFolder(*operation, source)
    )]
    Failed {
        /// What was asked.
        operation: Operation,
        /// The file or directory.
        path: PathBuf,
        /// The first byte of the read or write, if it had one.
        offset: Option<u64>,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another process holds the directory's lock.
    #[error(
        "database {} is open in {}; close it there, or work through that process",
        directory.display(),
        LockHolder(*holder)
    )]
    Locked {
        /// The database's directory.
        directory: PathBuf,
        /// The process that holds the lock, if it left its id.
        holder: Option<u32>,
    },
    /// A file is longer than its reader is willing to keep in memory.
    #[error("read {}: the file has {found} bytes, at most {limit} were expected", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that was expected, in bytes.
        limit: u64,
        /// The file's length, in bytes.
        found: u64,
    },
}

impl IoError {
    /// An operation without an offset that failed.
    #[must_use]
    pub fn new(operation: Operation, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Failed { operation, path: path.into(), offset: None, source }
    }

    /// A read or write at byte `offset` that failed.
    #[must_use]
    pub fn at(operation: Operation, path: impl Into<PathBuf>, offset: u64, source: std::io::Error) -> Self {
        Self::Failed { operation, path: path.into(), offset: Some(offset), source }
    }

    /// The system's kind, to decide by: `NotFound`, `StorageFull`, `PermissionDenied`,
    /// `ReadOnlyFilesystem`, `AlreadyExists`, `UnexpectedEof` (a read past the end), ...
    /// A held lock is `ResourceBusy`.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Failed { source, .. } => source.kind(),
            Self::Locked { .. } => ErrorKind::ResourceBusy,
            Self::TooLarge { .. } => ErrorKind::FileTooLarge,
        }
    }

    /// The file or directory that the error is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Failed { path, .. } | Self::TooLarge { path, .. } => path,
            Self::Locked { directory, .. } => directory,
        }
    }
}

struct AtOffset(Option<u64>);

impl fmt::Display for AtOffset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |offset| write!(formatter, " at byte {offset}"))
    }
}

/// What a user can do about a file system without files that processes share in memory; nothing for other errors.
struct MapRemedy<'a>(Operation, &'a std::io::Error);

impl fmt::Display for MapRemedy<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refusals = [Errno::ENODEV, Errno::ENOSYS].map(|errno| Some(errno as i32));
        if self.0 != Operation::Map || !refusals.contains(&self.1.raw_os_error()) {
            return Ok(());
        }
        formatter.write_str(": this file system maps no files, which the engine `mapped` needs; ")?;
        formatter.write_str("use a local file system, or the engine `memory` or `disk`")
    }
}

/// What it means that a file can't be made since something is not there: directories are open when they are used.
struct GoneFolder<'a>(Operation, &'a std::io::Error);

impl fmt::Display for GoneFolder<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 != Operation::Create || self.1.kind() != ErrorKind::NotFound {
            return Ok(());
        }
        formatter.write_str(": the folder was removed while it was in use")
    }
}

struct LockHolder(Option<u32>);

impl fmt::Display for LockHolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(process) if process == std::process::id() => {
                write!(formatter, "this process ({process}) already")
            }
            // One that was killed leaves its id, and the next holder may leave none.
            Some(process) if process_exists(process) => write!(formatter, "process {process}"),
            _ => formatter.write_str("another process"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_where_and_why() {
        let error = IoError::at(Operation::Read, "db/log-1", 4096, ErrorKind::UnexpectedEof.into());
        assert_eq!(error.to_string(), "read db/log-1 at byte 4096: unexpected end of file");
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_refusal_names_the_holder_of_a_lock_unless_that_has_ended() {
        let told = |holder| IoError::Locked { directory: "db".into(), holder }.to_string();
        let parent = std::os::unix::process::parent_id();
        let text = told(Some(parent));
        let expected =
            format!("database db is open in process {parent}; close it there, or work through that process");
        assert_eq!(text, expected);
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        for holder in [Some(ended.id()), Some(0), Some(u32::MAX), None] {
            let text = told(holder);
            assert!(text.contains("is open in another process; "), "{holder:?}: {text}");
        }
    }

    #[test]
    fn a_file_system_that_maps_no_files_is_told_with_what_to_do() {
        let told = |operation, errno: Errno| {
            let source = std::io::Error::from_raw_os_error(errno as i32);
            IoError::new(operation, "db/live", source).to_string()
        };
        let text = told(Operation::Map, Errno::ENODEV);
        assert!(text.starts_with("map db/live: "), "{text}");
        assert!(text.ends_with("use a local file system, or the engine `memory` or `disk`"), "{text}");
        for other in [told(Operation::Open, Errno::ENODEV), told(Operation::Map, Errno::EIO)] {
            assert!(!other.contains("maps no files"), "{other}");
        }
    }
}
