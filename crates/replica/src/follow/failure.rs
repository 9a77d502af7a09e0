//! `FollowFailure`: why a stream ended, and whether another one may help.

use std::fmt;

use evergraph_graph::error::{Error, ErrorKind};

use crate::apply::error::ApplyError;
use crate::follow::known_translator::DescriptionDrift;
use crate::follow::pause::Pause;
use crate::follow::progress::FailurePlace;
use crate::lsn::Lsn;
use crate::pgoutput::relation::Relation;
use crate::source::error::SourceError;
use crate::stream::event::TransactionEnd;
use crate::stream::translated::PipelineError;
use crate::translate::pause::{Halt, Recovery};

/// Why a stream ended.
#[derive(Debug)]
pub enum FollowFailure {
    /// The source, or the way to it.
    Source(SourceError),
    /// The database here.
    Database(Error),
    /// A person has to do something.
    Pause(Pause),
    /// A person has to do something, for a reason that the source's catalogue may have.
    Parted(Pause),
    /// A table has columns of which the plan knows nothing yet.
    NewColumns {
        /// The table.
        relation: Box<Relation>,
        /// The end of the transaction that describes it so.
        end: Lsn,
    },
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
    /// The same, unless the source's catalogue has a better reason.
    PauseUnlessCatalogue(Pause),
    /// Another stream at once, with a plan that knows these columns.
    LearnColumns {
        /// The table.
        relation: Box<Relation>,
        /// The end of the transaction that describes it so.
        end: Lsn,
    },
    /// Another stream at once.
    LookAgain,
    /// Nothing any more.
    Stop,
}

impl FollowFailure {
    /// What comes next. A log-in that is refused ends nothing where the same one was accepted before, by this `has_followed`.
    #[must_use]
    pub fn next_step(self, has_followed: bool) -> NextStep {
        match self {
            Self::Source(SourceError::Local(error)) => Self::Database(error).next_step(has_followed),
            Self::Source(error) if error.is_transient() || (has_followed && error.is_refused_log_in()) => {
                NextStep::TryAgain(error.to_string())
            }
            Self::Source(SourceError::Cancelled { .. }) | Self::Stopped => NextStep::Stop,
            Self::Source(error) => NextStep::Pause(Pause::of_source(&error)),
            Self::Database(error) if is_transient(&error) => NextStep::TryAgain(error.to_string()),
            Self::Database(error) => NextStep::Pause(Pause::of_database(&error)),
            Self::Pause(pause) => NextStep::Pause(pause),
            Self::Parted(pause) => NextStep::PauseUnlessCatalogue(pause),
            Self::NewColumns { relation, end } => NextStep::LearnColumns { relation, end },
            Self::LookAgain => NextStep::LookAgain,
            Self::NotYet(cause) => NextStep::TryAgain(cause),
        }
    }

    /// Where it was.
    #[must_use]
    pub fn place(&self) -> FailurePlace {
        match self {
            Self::Database(_) | Self::Source(SourceError::Local(_)) => FailurePlace::Here,
            _ => FailurePlace::Source,
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
            Self::Pause(pause) | Self::Parted(pause) => pause.fmt(f),
            Self::NewColumns { relation, .. } => write!(f, "the table {} has new columns", relation.name),
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
            ApplyError::Halt(halt) => {
                let pause = Pause::of_halt(&halt, end);
                if halt.recovery == Recovery::ResyncParted { Self::Parted(pause) } else { Self::Pause(pause) }
            }
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
            PipelineError::Drift { end, drift: DescriptionDrift::NewColumns(relation) } => {
                Self::NewColumns { relation, end: end.commit.end_lsn }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::server_error::ServerError;

    #[test]
    fn a_log_in_that_is_refused_is_a_pause_unless_it_was_accepted_before() {
        let refused = |sqlstate: &str| {
            let error = ServerError { sqlstate: sqlstate.into(), ..ServerError::default() };
            SourceError::Server { doing: "log in to a server".into(), error: Box::new(error) }
        };
        let untrusted = || SourceError::Untrusted("connect to a server: the certificate is too old".into());
        for state in ["28P01", "28000"] {
            let NextStep::Pause(pause) = FollowFailure::Source(refused(state)).next_step(false) else {
                panic!()
            };
            assert!(pause.remedy.contains("password"), "{pause}");
            assert!(matches!(FollowFailure::Source(refused(state)).next_step(true), NextStep::TryAgain(_)));
        }
        let NextStep::Pause(pause) = FollowFailure::Source(untrusted()).next_step(false) else { panic!() };
        assert!(pause.remedy.contains("certificate"), "{pause}");
        assert!(matches!(FollowFailure::Source(untrusted()).next_step(true), NextStep::TryAgain(_)));
        assert!(matches!(FollowFailure::Source(refused("42704")).next_step(true), NextStep::Pause(_)));
    }
}
