//! Errors of reading and writing files: the position, and what is wrong there.
//!
//! The name of the file is not among it, since readers are given bytes: the caller puts it in front.

use std::io;

use evergraph_graph::error::{Error, ErrorKind};
use thiserror::Error;

use crate::element::Position;

/// What is wrong with a line that was given on its own.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("column {column}: {reason}")]
pub struct LineError {
    /// The byte of the line, from 1.
    pub column: u64,
    /// What was expected, or what stands there.
    pub reason: String,
}

/// Why a file could not be read further. Nothing that was read before it is wrong because of it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes could not be had.
    #[error("{position}: read: {source}")]
    Io {
        /// How far reading had come.
        position: Position,
        /// What the source of the bytes said.
        source: io::Error,
    },
    /// The file breaks the rules of its format.
    #[error("{position}: {reason}")]
    Malformed {
        /// Where.
        position: Position,
        /// What was expected, and what stands there.
        reason: String,
    },
    /// The file follows the format, and uses a part of it that has no counterpart here.
    #[error("{position}: {what} cannot be read")]
    Unsupported {
        /// Where.
        position: Position,
        /// The part of the format.
        what: String,
    },
    /// The file announces more vertices than there is memory for.
    #[error("{position}: {announced} vertices are announced, and there is memory for {limit}")]
    TooMany {
        /// Where.
        position: Position,
        /// How many it announces.
        announced: u64,
        /// How many there may be.
        limit: u64,
    },
    /// Something is too long to be held in memory at once.
    #[error("{position}: {what} has more than {limit} bytes")]
    TooLong {
        /// Where it begins.
        position: Position,
        /// What it is.
        what: &'static str,
        /// How long it may be.
        limit: usize,
    },
}

impl ReadError {
    /// Where in the file.
    #[must_use]
    pub fn position(&self) -> Position {
        match self {
            Self::Io { position, .. }
            | Self::Malformed { position, .. }
            | Self::Unsupported { position, .. }
            | Self::TooMany { position, .. }
            | Self::TooLong { position, .. } => *position,
        }
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        let kind = match &error {
            ReadError::Io { .. } => ErrorKind::Io,
            ReadError::Malformed { .. } | ReadError::Unsupported { .. } => ErrorKind::Invalid,
            ReadError::TooMany { .. } | ReadError::TooLong { .. } => ErrorKind::Limit,
        };
        Error::new(kind, error.to_string()).because(error)
    }
}

/// Why an element could not be written. What was written before it is incomplete without it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The bytes could not be put down.
    #[error("write: {0}")]
    Io(#[from] io::Error),
    /// The format has no form for it.
    #[error("{element}: {reason}")]
    Unwritable {
        /// Which vertex, edge or declaration, and which part of it.
        element: String,
        /// What cannot be written, and why.
        reason: String,
    },
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        let kind = match &error {
            WriteError::Io(_) => ErrorKind::Io,
            WriteError::Unwritable { .. } => ErrorKind::Invalid,
        };
        Error::new(kind, error.to_string()).because(error)
    }
}
