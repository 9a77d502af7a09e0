//! Errors of the log: full, poisoned, corrupt; with file, offset, expected and found.

use std::path::PathBuf;
use std::sync::Arc;

use crate::io::error::IoError;

/// Why the log could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The directory or a file refused; the log's content is as before.
    #[error(transparent)]
    Io(#[from] IoError),
    /// No space for the next log file. Nothing was committed; try again when there is space.
    #[error("no space for {needed_bytes} bytes of log in {}: free some and commit again", directory.display())]
    Full {
        /// The database's directory.
        directory: PathBuf,
        /// The size of the log file that could not be prepared, in bytes.
        needed_bytes: u64,
        /// What the system said.
        #[source]
        cause: IoError,
    },
    /// One commit is larger than a frame can be.
    #[error("a commit of {payload_bytes} bytes; the log takes at most {limit} at once")]
    TooLarge {
        /// The commit's payload, in bytes.
        payload_bytes: u64,
        /// The most that a frame holds, in bytes.
        limit: u64,
    },
    /// An earlier write or sync failed: nothing more is committed until the database is reopened.
    /// The refused commit has not happened.
    #[error("the log accepts no more commits, because it failed to {cause}; reopen the database")]
    Poisoned {
        /// The failure.
        cause: Arc<IoError>,
    },
    /// The write or sync of a commit failed: it may or may not be there after reopening.
    #[error(
        "the outcome of commit {ts} is unknown: the log failed to {cause}; reopen the database to learn it"
    )]
    OutcomeUnknown {
        /// The commit's timestamp.
        ts: u64,
        /// The failure.
        cause: Arc<IoError>,
    },
    /// The log was closed; the refused commit has not happened.
    #[error("the log is closed")]
    Closed,
    /// The system had no thread for the log's background work.
    #[error("start a thread of the log: {source}")]
    Thread {
        /// What the system said.
        source: std::io::Error,
    },
    /// Bytes that were synced are not what was written.
    #[error("{} is corrupt at byte {offset}: expected {expected}, found {found}", file.display())]
    Corrupt {
        /// The log file.
        file: PathBuf,
        /// Where what is wrong begins, in bytes.
        offset: u64,
        /// What should be there.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A log file that later ones build on is not there.
    #[error(
        "log file {} is missing: {} continues it, and commits after {after_ts} through {through_ts} are needed",
        missing.display(), successor.display()
    )]
    Missing {
        /// The file that is not there.
        missing: PathBuf,
        /// The file that names it as its predecessor.
        successor: PathBuf,
        /// What is known without the log: commits through this timestamp.
        after_ts: u64,
        /// The last commit before the successor.
        through_ts: u64,
    },
    /// A file that was in use is not there.
    #[error(
        "{} is missing: {witness}; put it back, restore a backup, or salvage what is left",
        missing.display()
    )]
    Lost {
        /// The file that is not there.
        missing: PathBuf,
        /// Who says that it was in use.
        witness: String,
    },
    /// The log ends before a commit that is known to have been synced.
    #[error("the log in {} ends with commit {last_ts} ({end}), but commit {need_ts} was synced", directory.display())]
    EndsBefore {
        /// The database's directory.
        directory: PathBuf,
        /// Where the log ends: file, byte and what was expected there and found.
        end: String,
        /// The last commit that can be read.
        last_ts: u64,
        /// The commit that must be there.
        need_ts: u64,
    },
    /// The log was written by another version of the format.
    #[error("{} has log format {found}, this version reads formats up to {supported}: open it with a newer Evergraph", file.display())]
    UnsupportedVersion {
        /// The log file.
        file: PathBuf,
        /// The format that the file names.
        found: u32,
        /// The newest format that this version reads.
        supported: u32,
    },
}
