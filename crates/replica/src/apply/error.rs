//! Errors of applying: the stream must pause, or the graph failed.

use crate::apply::limits::TransactionLimits;
use crate::translate::pause::{Halt, RESYNC, Recovery};
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
    fn from(error: Error) -> Self {
        Self::Graph(error)
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

impl ApplyError {
    /// The same of a transaction for which `limits` hold: what limits the database has, it has for one transaction, which is
    /// as it is. A full disk is none of them.
    pub(super) fn of_transaction(self, limits: &TransactionLimits) -> Self {
        match self {
            Self::Graph(error) if error.kind() == ErrorKind::Limit && !error.is_full_disk() => {
                too_large(error.to_string(), limits.bytes_max.saturating_mul(2)).into()
            }
            other => other,
        }
    }
}

/// What sets the memory of a transaction.
const OPTION: &str = "--transaction-memory (in settings transaction-memory, in Python transaction_memory)";
/// The sizes that are named are multiples of it.
const SIZE_STEP_BYTES: usize = 256 << 20;

/// A transaction that doesn't fit; `bytes` may be enough for it.
pub(super) fn too_large(cause: String, bytes: usize) -> Halt {
    let mebibytes = (bytes.div_ceil(SIZE_STEP_BYTES) * SIZE_STEP_BYTES) >> 20;
    Halt {
        table: String::new(),
        column: None,
        cause: format!("one transaction of the source is too large: {cause}"),
        remedy: format!(
            "set {OPTION} to {mebibytes}MiB; or, if memory is short, {RESYNC}, and write as much in several transactions"
        ),
        recovery: Recovery::Restart,
    }
}
