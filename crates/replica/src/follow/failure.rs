//! `FollowFailure`: why a stream ended, and whether another one may help.

use std::fmt;

use evergraph_graph::error::{Error, ErrorKind};

use crate::apply::error::ApplyError;
use crate::follow::known_translator::DescriptionDrift;
use crate::follow::pause::Pause;
use crate::pgoutput::relation::Relation;
use crate::source::error::SourceError;
use crate::stream::event::TransactionEnd;
use crate::stream::translated::PipelineError;
use crate::translate::pause::Halt;

/// Why a stream ended.
#[derive(Debug)]
pub enum FollowFailure {
    /// The source, or the way to it.
    Source(SourceError),
    /// The database here.
    Database(Error),
    /// A person has to do something.
    Pause(Pause),
    /// A table has columns of which the plan knows nothing yet.
    NewColumns(Box<Relation>),
    /// The source has more than is known, and has to be compared with it.
    LookAgain,
    /// The source is not what it will be after a while.
    NotYet(String),
    /// Somebody asked to stop.
    Stopped,
}

/// What comes next.
#[derive(Debug)]
pub enum NextStep {
    /// Another stream, after a while.
    TryAgain(String),
    /// Nothing, until a person has done something.
    Pause(Pause),
    /// Another stream at once, with a plan that knows these columns.
    LearnColumns(Box<Relation>),
    /// Another stream at once.
    LookAgain,
    /// Nothing any more.
    Stop,
}

impl FollowFailure {
    /// What comes next.
    #[must_use]
    pub fn next_step(self) -> NextStep {
        match self {
            Self::Source(SourceError::Local(error)) => Self::Database(error).next_step(),
            Self::Source(error) if error.is_transient() => NextStep::TryAgain(error.to_string()),
            Self::Source(SourceError::Cancelled { .. }) | Self::Stopped => NextStep::Stop,
            Self::Source(error) => NextStep::Pause(Pause::of_source(&error)),
            Self::Database(error) if is_transient(&error) => NextStep::TryAgain(error.to_string()),
            Self::Database(error) => NextStep::Pause(Pause::of_database(&error)),
            Self::Pause(pause) => NextStep::Pause(pause),
            Self::NewColumns(relation) => NextStep::LearnColumns(relation),
            Self::LookAgain => NextStep::LookAgain,
            Self::NotYet(cause) => NextStep::TryAgain(cause),
        }
    }
}

/// Whether the same may succeed after a while: somebody builds an index, the disk is full.
fn is_transient(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Busy) || error.is_full_disk()
}

impl fmt::Display for FollowFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Database(error) => error.fmt(f),
            Self::Pause(pause) => pause.fmt(f),
            Self::NewColumns(relation) => write!(f, "the table {} has new columns", relation.name),
            Self::NotYet(cause) => f.write_str(cause),
            Self::LookAgain => f.write_str("the source has more than is known of it"),
            Self::Stopped => f.write_str("stopped on request"),
        }
    }
}

impl From<SourceError> for FollowFailure {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<Error> for FollowFailure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<Pause> for FollowFailure {
    fn from(pause: Pause) -> Self {
        Self::Pause(pause)
    }
}

impl FollowFailure {
    /// Why the transaction that ends with `end` was not applied.
    #[must_use]
    pub fn of_apply(error: ApplyError, end: Option<TransactionEnd>) -> Self {
        match error {
            ApplyError::Halt(halt) => Self::Pause(Pause::of_halt(&halt, end)),
            ApplyError::Graph(error) => Self::Database(error),
        }
    }
}

impl From<ApplyError> for FollowFailure {
    fn from(error: ApplyError) -> Self {
        Self::of_apply(error, None)
    }
}

impl From<Halt> for FollowFailure {
    fn from(halt: Halt) -> Self {
        Self::Pause(Pause::of_halt(&halt, None))
    }
}

impl From<PipelineError<DescriptionDrift, Halt>> for FollowFailure {
    fn from(error: PipelineError<DescriptionDrift, Halt>) -> Self {
        match error {
            PipelineError::Source(error) => Self::Source(error),
            PipelineError::Drift { drift: DescriptionDrift::NewColumns(relation), .. } => {
                Self::NewColumns(relation)
            }
            PipelineError::Drift { end, drift: DescriptionDrift::Drift(drift) } => {
                Self::Pause(Pause::of_drift(&drift, end))
            }
            PipelineError::Halt { end, halt } => Self::Pause(Pause::of_halt(&halt, Some(end))),
        }
    }
}

impl From<FollowFailure> for Error {
    fn from(failure: FollowFailure) -> Self {
        match failure {
            FollowFailure::Source(error) => error.into(),
            FollowFailure::Database(error) => error,
            FollowFailure::Stopped => Error::new(ErrorKind::Cancelled, "stopped on request"),
            other => Error::invalid(other.to_string()),
        }
    }
}
