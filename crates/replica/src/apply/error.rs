//! Errors of applying: the stream must pause, or the graph failed.

use crate::translate::pause::{Halt, RESYNC, Recovery};
use evergraph_graph::error::Error;
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

/// What sets the memory of a transaction.
const OPTION: &str = "--transaction-memory (in settings transaction-memory, in Python transaction_memory)";
/// The sizes that are named are multiples of it.
const SIZE_STEP_BYTES: usize = 256 << 20;

/// Bytes that `evergraph serve` has for the writes of a transaction, whatever the option says.
const SERVED_WRITES_BYTES_MAX: usize = 1 << 30;

/// A transaction that doesn't fit; it takes `bytes` at least.
pub(super) fn too_large(cause: String, bytes: usize) -> Halt {
    let bytes = bytes.div_ceil(SIZE_STEP_BYTES).saturating_mul(SIZE_STEP_BYTES);
    let served = match bytes > SERVED_WRITES_BYTES_MAX {
        true => ", by evergraph replica run, as evergraph serve writes 1GiB of one transaction at most",
        false => "",
    };
    Halt {
        table: String::new(),
        column: None,
        cause: format!("one transaction of the source is too large: {cause}"),
        remedy: format!(
            "set {OPTION} to {}MiB or more{served}; or, if memory is short, {RESYNC}, and write as much in several transactions",
            bytes >> 20
        ),
        recovery: Recovery::Restart,
    }
}
