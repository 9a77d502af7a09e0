//! `Translated`: what a pipeline gives out, in the order of commits.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::lsn::Lsn;
use crate::source::error::SourceError;
use crate::stream::event::TransactionEnd;
use crate::stream::piece::Piece;
use crate::stream::row_translator::RowTranslator;

/// What a pipeline gives out next.
#[derive(Debug)]
pub enum Translated<T: RowTranslator> {
    /// More of what the transaction changes that commits next.
    Changes(T::Changes),
    /// The transaction that commits next, some of whose pieces were handed out early: all of its changes are in these.
    Early(EarlyTransaction<T>),
    /// A transaction commits: its changes are those since the commit before.
    Commit(TransactionEnd),
    /// As [`StreamEvent::Idle`](crate::stream::event::StreamEvent::Idle).
    Idle {
        /// The position.
        position: Lsn,
    },
}

/// A transaction that commits, and some of whose pieces were handed out before.
#[derive(Debug)]
pub struct EarlyTransaction<T: RowTranslator> {
    /// Its end.
    pub end: TransactionEnd,
    /// All of its pieces.
    pub pieces: Vec<Piece>,
    /// How many of these, the first ones, were handed out early.
    pub early_pieces: usize,
    /// With the tables as they were described before the transaction.
    pub translator: Arc<T>,
}

impl<T: RowTranslator> EarlyTransaction<T> {
    /// The changes of all pieces but the first `skipped`, piece by piece, until `take` says that it is enough.
    ///
    /// # Errors
    /// Those of `take`; that of the translator, or of the file that has a piece.
    pub fn changes<E: From<ErrorOf<T>>>(
        &self,
        skipped: usize,
        mut take: impl FnMut(T::Changes) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let mut translator = T::clone(&self.translator);
        for (number, piece) in self.pieces.iter().enumerate() {
            for relation in piece.relations() {
                let described = translator.describe(relation);
                described.map_err(|drift| PipelineError::Drift { end: self.end, drift })?;
            }
            if number < skipped {
                continue;
            }
            let messages = piece.copy_messages().map_err(PipelineError::Source)?;
            let mut changes = T::Changes::default();
            for message in messages.decode() {
                let translated = translator.translate(&message, &mut changes);
                translated.map_err(|halt| PipelineError::Halt { end: self.end, halt })?;
            }
            if take(changes)?.is_break() {
                break;
            }
        }
        Ok(())
    }
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
pub type OutcomeOf<T> = Result<Translated<T>, ErrorOf<T>>;
