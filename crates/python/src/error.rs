//! Errors: each kind of error as one exception of `evergraph.errors`.
//!
//! | kind | exception | is also a |
//! |---|---|---|
//! | `invalid` | `InvalidError` | `ValueError` |
//! | `not_found` | `NotFoundError` | `LookupError` |
//! | `conflict` | `ConflictError` | |
//! | `corrupt` | `CorruptionError` | |
//! | `limit` | `LimitError` | |
//! | `io` | `IoError` | `OSError` |
//! | `busy` | `BusyError` | |
//! | `unknown` | `UnknownOutcomeError` | `IoError` |
//! | `cancelled` | `CancelledError` | |
//!
//! The classes are Python's: two bases are one line there.

use evergraph::graph::unknown_commit::UnknownCommit;
use evergraph::{Error, ErrorKind};
use pyo3::prelude::*;

/// The module that defines the exceptions.
const MODULE: &str = "evergraph.errors";

fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Invalid => "InvalidError",
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::Conflict => "ConflictError",
        ErrorKind::Corrupt => "CorruptionError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::Io => "IoError",
        ErrorKind::Busy => "BusyError",
        ErrorKind::Unknown => "UnknownOutcomeError",
        ErrorKind::Cancelled => "CancelledError",
        _ => "EvergraphError",
    }
}

/// The exception called `class`, saying `text`.
pub fn exception(py: Python<'_>, class: &str, text: &str) -> PyErr {
    let made = || py.import(MODULE)?.getattr(class)?.call1((text,));
    match made() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// `error` as an exception: its text, and those of its causes that say something new. What code of Python raised within
/// the library is raised as it was.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let mut text = error.to_string();
    for cause in error.causes() {
        if let Some(raised) = cause.downcast_ref::<PyErr>() {
            return raised.clone_ref(py);
        }
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
    }
    let exception = exception(py, class_name(error.kind()), &text);
    match error.cause::<UnknownCommit>() {
        Some(commit) => naming(py, exception, *commit),
        None => exception,
    }
}

/// `exception` with the transaction whose outcome is unknown: what `Database.settle` takes.
fn naming(py: Python<'_>, exception: PyErr, commit: UnknownCommit) -> PyErr {
    match exception.value(py).setattr("transaction", commit.to_string()) {
        Ok(()) => exception,
        Err(error) => error,
    }
}

/// The request is wrong: `text` says how.
pub fn invalid(py: Python<'_>, text: impl AsRef<str>) -> PyErr {
    exception(py, class_name(ErrorKind::Invalid), text.as_ref())
}

/// A result of the library as Python's.
pub trait OrRaise<T> {
    /// The value, or the exception.
    ///
    /// # Errors
    /// What the result holds.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for evergraph::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error))
    }
}
