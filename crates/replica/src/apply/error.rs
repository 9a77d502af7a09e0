//! Errors of applying: the stream must pause, or the graph failed.

use crate::translate::pause::Halt;
use evergraph_graph::error::{Error, ErrorKind};
use std::fmt;

/// Why a transaction was not applied. Nothing of it is in the graph then.
#[derive(Debug)]
pub enum ApplyError {
    /// It must not be applied as it is, and what follows can't be applied without it.
    Halt(Box<Halt>),
    /// The graph failed.
    Graph(Error),
}

/// The result of applying.
pub type ApplyResult<T> = Result<T, ApplyError>;

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Halt(halt) => halt.fmt(f),
            Self::Graph(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ApplyError {}

impl From<Halt> for ApplyError {
    fn from(halt: Halt) -> Self {
        Self::Halt(Box::new(halt))
    }
}

impl From<Error> for ApplyError {
    /// A limit is one of the transaction, which is as it is: it halts. A full disk is none.
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Limit if !error.is_full_disk() => Self::from(too_large(error.to_string())),
            _ => Self::Graph(error),
        }
    }
}

impl From<ApplyError> for Error {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Halt(halt) => Error::invalid(halt.to_string()),
            ApplyError::Graph(error) => error,
        }
    }
}

/// A transaction that doesn't fit.
pub(super) fn too_large(cause: String) -> Halt {
    Halt {
        table: String::new(),
        column: None,
        cause: format!("one transaction of the source is too large: {cause}"),
        remedy:
            "copy the tables anew by `evergraph replica resync`, and write as much in several transactions"
                .to_owned(),
    }
}
