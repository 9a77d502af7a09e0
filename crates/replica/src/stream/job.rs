//! `Job`: pieces and ends of transactions, which one thread translates at a time.

use std::sync::Arc;

use crate::lsn::Lsn;
use crate::stream::event::TransactionEnd;
use crate::stream::piece::Piece;
use crate::stream::row_translator::RowTranslator;
use crate::stream::translated::{EarlyTransaction, ErrorOf, OutcomeOf, PipelineError, Translated};

/// A step of a job, which has one outcome.
#[derive(Debug)]
pub enum Task<T: RowTranslator> {
    /// Rows to translate.
    Piece {
        /// The transaction that they belong to.
        end: TransactionEnd,
        /// The rows.
        piece: Piece,
    },
    /// A transaction of which some was handed out early, to be given out as it is.
    Early(Box<EarlyTransaction<T>>),
    /// The transaction ends.
    Commit(TransactionEnd),
    /// Nothing is under way.
    Idle {
        /// The position.
        position: Lsn,
    },
    /// The pipeline ends here.
    Failure(ErrorOf<T>),
}

/// Tasks in their order, and what was described before them.
#[derive(Debug)]
pub struct Job<T: RowTranslator> {
    /// With the tables as all pieces of the job mean them.
    pub translator: Arc<T>,
    /// What is to be done.
    pub tasks: Vec<Task<T>>,
}

impl<T: RowTranslator> Task<T> {
    /// Bytes of messages.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Piece { piece, .. } => piece.size_bytes(),
            Self::Early(early) => early.pieces.iter().map(Piece::size_bytes).sum(),
            Self::Commit(_) | Self::Idle { .. } | Self::Failure(_) => 0,
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// That of the translator, or of the file that has the piece.
    pub fn run(self, translator: &T) -> OutcomeOf<T> {
        match self {
            Self::Piece { end, piece } => {
                let messages = piece.read().map_err(PipelineError::Source)?;
                let mut changes = T::room(messages.len());
                for message in messages.decode() {
                    let translated = translator.translate(&message, &mut changes);
                    translated.map_err(|halt| PipelineError::Halt { end, halt })?;
                }
                Ok(Translated::Changes(changes))
            }
            Self::Early(early) => Ok(Translated::Early(*early)),
            Self::Commit(end) => Ok(Translated::Commit(end)),
            Self::Idle { position } => Ok(Translated::Idle { position }),
            Self::Failure(error) => Err(error),
        }
    }
}

impl<T: RowTranslator> Job<T> {
    /// Does all of it; the first error is the last outcome.
    #[must_use]
    pub fn run(self) -> Vec<OutcomeOf<T>> {
        let mut outcomes = Vec::with_capacity(self.tasks.len());
        for task in self.tasks {
            let outcome = task.run(&self.translator);
            let is_last = outcome.is_err();
            outcomes.push(outcome);
            if is_last {
                break;
            }
        }
        outcomes
    }
}
