//! Merge errors: a source that failed, or one whose records contradict what was written.

use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::VertexId;
use std::fmt;

/// Why a merge ended.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MergeError<E> {
    /// A source could not be read.
    Source {
        /// Its number: 0 is the newest.
        source: usize,
        /// What it says.
        error: E,
    },
    /// A source does not ascend: it is damaged, or was written wrongly.
    Disordered {
        /// Its number: 0 is the newest.
        source: usize,
        /// The subject in which it descends.
        subject: Subject,
    },
    /// Two records of one key exclude each other, such as two Inserts: one of the sources is damaged, or a
    /// source is missing.
    Inexact {
        /// The subject.
        subject: Subject,
        /// The vertex of the list; of an index, 0.
        vertex: VertexId,
        /// The vertex at the other end; of an index, 0.
        neighbor: VertexId,
        /// What the older records come to, if there are any.
        before: Option<RecordOperation>,
        /// The record that cannot follow them.
        later: RecordOperation,
    },
}

impl<E: fmt::Display> fmt::Display for MergeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source { source, error } => write!(f, "source {source} of a merge: {error}"),
            Self::Disordered { source, subject } => {
                write!(f, "source {source} of a merge does not ascend in {subject}")
            }
            Self::Inexact { subject, vertex, neighbor, before: Some(before), later } => {
                write!(f, "{subject} of {vertex}, {neighbor}: {later:?} cannot follow {before:?}")
            }
            Self::Inexact { subject, vertex, neighbor, before: None, later } => {
                write!(f, "{subject} of {vertex}, {neighbor}: {later:?} is no record of an index")
            }
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for MergeError<E> {}

/// A failed source says so itself; everything else means that files do not hold what was written.
impl From<MergeError<Error>> for Error {
    fn from(error: MergeError<Error>) -> Self {
        match error {
            MergeError::Source { error, .. } => error,
            other @ (MergeError::Disordered { .. } | MergeError::Inexact { .. }) => {
                Self::new(ErrorKind::Corrupt, other.to_string())
            }
        }
    }
}
