//! Errors of checkpoints and of opening: damage, foreign files, failed steps.

use std::path::PathBuf;

use evergraph_graph::error::Error;

use crate::io::error::IoError;
use crate::log::error::LogError;

/// What a checkpoint or a manifest gives, or why not.
pub type CheckpointResult<T> = std::result::Result<T, CheckpointError>;

/// Why a checkpoint was not made, or a database not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The directory or a file refused. A checkpoint that fails so leaves the one before valid.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The log refused or is damaged.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Stored bytes are not what was written.
    #[error("{} is corrupt at byte {offset}: {problem}", file.display())]
    Corrupt {
        /// The file.
        file: PathBuf,
        /// Where what is wrong begins, in bytes; the beginning of a body whose parts don't fit.
        offset: u64,
        /// What was expected there, and what was found.
        problem: String,
    },
    /// There is no manifest.
    #[error("{} is not an Evergraph database: it has no manifest", directory.display())]
    NotADatabase {
        /// The directory.
        directory: PathBuf,
    },
    /// The database was written by an engine that this one isn't.
    #[error(
        "the database {} uses the engine `{engine}`, which this version does not know: open it with a \
         newer Evergraph",
        file.display()
    )]
    UnknownEngine {
        /// The manifest.
        file: PathBuf,
        /// The engine that the manifest names.
        engine: String,
    },
    /// The database uses something without which it can't be read rightly.
    #[error(
        "the database {} uses the feature `{feature}`, which this version does not know: open it with a \
         newer Evergraph",
        file.display()
    )]
    UnknownFeature {
        /// The manifest.
        file: PathBuf,
        /// The feature that the manifest names.
        feature: String,
    },
    /// A file has a later format than this version reads.
    #[error(
        "{} has format {found}, this version reads formats up to {supported}: open it with a newer Evergraph",
        file.display()
    )]
    NewerFormat {
        /// The file.
        file: PathBuf,
        /// The format that the file names.
        found: u32,
        /// The newest format that this version reads.
        supported: u32,
    },
    /// The store takes no more commits; what it holds may not be what the log has.
    #[error("no checkpoint, because the store accepts no more commits: {cause}; reopen the database")]
    Poisoned {
        /// What happened.
        cause: String,
    },
    /// What was about to be written breaks its own rules: a defect of ours, caught before it
    /// reached the disk.
    #[error("not written: {what}: {problem}; please report this")]
    Unsound {
        /// The segment, extent or part of the manifest.
        what: String,
        /// The rule that it breaks.
        problem: String,
    },
    /// The engine refused, for instance because the memory budget has no room for what it takes. It may work later.
    #[error(transparent)]
    Refused(Error),
    /// The caller asked to stop. The checkpoint before is valid.
    #[error("cancelled")]
    Cancelled,
    /// The system had no thread to read with.
    #[error("start a thread that reads bodies: {source}")]
    Thread {
        /// What the system said.
        source: std::io::Error,
    },
}
