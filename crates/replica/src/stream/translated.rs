//! `Translated`: what a pipeline gives out, in the order of commits.

use crate::lsn::Lsn;
use crate::source::error::SourceError;
use crate::stream::event::TransactionEnd;
use crate::stream::row_translator::RowTranslator;

/// What a pipeline gives out next.
#[derive(Debug)]
pub enum Translated<C> {
    /// More of what the transaction changes that commits next.
    Changes(C),
    /// A transaction commits: its changes are those since the commit before.
    Commit(TransactionEnd),
    /// As [`StreamEvent::Idle`](crate::stream::event::StreamEvent::Idle).
    Idle {
        /// The position.
        position: Lsn,
    },
}

/// Why a pipeline cannot go on. Everything before was given out, of the transaction itself perhaps some changes.
#[derive(Debug)]
pub enum PipelineError<D, H> {
    /// The stream failed, or a temporary file.
    Source(SourceError),
    /// A table changed in a way that the rules do not allow.
    Drift {
        /// The first transaction that cannot be applied.
        end: TransactionEnd,
        /// Why.
        drift: D,
    },
    /// The rules do not allow a row.
    Halt {
        /// The transaction.
        end: TransactionEnd,
        /// Why.
        halt: H,
    },
}

/// The error of a pipeline with this translator.
pub type ErrorOf<T> = PipelineError<<T as RowTranslator>::Drift, <T as RowTranslator>::Halt>;

/// What a pipeline with this translator gives out.
pub type OutcomeOf<T> = Result<Translated<<T as RowTranslator>::Changes>, ErrorOf<T>>;
