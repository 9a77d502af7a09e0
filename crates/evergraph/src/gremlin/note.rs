//! Notes: unknown names in a query, reported beside its results.

use evergraph_graph::error::Error;
use evergraph_query::error::TextError;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A name that a query reads and the graph doesn't have, with its place, and the name that was probably meant.
///
/// Names that the query itself writes, or the transaction that it runs in wrote, are there. Of an empty graph there is one
/// note at most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    error: TextError,
    /// The same with the line of the text, if it is of a text.
    shown: Option<String>,
}

impl Note {
    pub(crate) fn new(error: TextError) -> Self {
        Self { error, shown: None }
    }

    pub(crate) fn in_text(error: TextError, text: &str) -> Self {
        Self { shown: Some(error.shown_in(text)), error }
    }

    /// What it says, and below it the line of the text with carets under the name.
    #[must_use]
    pub fn shown(&self) -> String {
        self.shown.clone().unwrap_or_else(|| self.to_string())
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

/// What a note is in a query that is strict.
impl From<Note> for Error {
    fn from(note: Note) -> Self {
        Error::new(note.error.kind, note.shown()).because(note.error)
    }
}

/// The notes of a query that runs. Copies share them.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<Note>>>);

impl Notes {
    /// The notes, in the order of the query; then there are none.
    #[must_use]
    pub fn take(&self) -> Vec<Note> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, notes: Vec<Note>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = notes;
    }
}
