//! `Applier`: brings a graph from one position of the source to the next, a transaction at a time.

use crate::apply::attempt::Attempt;
pub use crate::apply::attempt::{AppliedFigures, ApplyTimes};
use crate::apply::error::{ApplyError, ApplyResult};
use crate::apply::fold::TransactionFold;
use crate::apply::kept_rows::KeptRows;
use crate::apply::planted::{Bug, planted};
use crate::apply::schema::GraphSchema;
use crate::mapping::plan::Plan;
use crate::position::{POSITION_NOTE, Position};
use crate::translate::loss::LossCounts;
use crate::translate::rules::Rules;
use evergraph::ownership::Ownership;
use evergraph_graph::timestamp::Timestamp;
use std::sync::Arc;
use std::time::Instant;

/// How often a commit is tried that an index which becomes ready refuses.
const TRIES_MAX: usize = 100;

/// Applies transactions of a source to the database of an [`Ownership`].
///
/// Memory: some hundred bytes for each edge that waits and each vertex that edges created.
#[derive(Debug)]
pub struct Applier {
    rules: Arc<Rules>,
    schema: GraphSchema,
    rows: KeptRows,
    losses: LossCounts,
}

/// A transaction that is in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The commit's place in the order of commits.
    pub timestamp: Timestamp,
    /// What it changed.
    pub figures: AppliedFigures,
    /// How long that took.
    pub times: ApplyTimes,
}

impl Applier {
    /// Declares what `plan` names, with its indexes, so far as the database lacks it, and reads the notes of rows.
    ///
    /// Cost: building the indexes that are missing, and one pass over the notes.
    ///
    /// # Errors
    /// If a name has another type already, a note is damaged or none of the plan's, or the graph fails.
    pub fn open(ownership: &mut Ownership, plan: Arc<Plan>) -> ApplyResult<Self> {
        let rules = Arc::new(Rules::new(plan));
        let schema = GraphSchema::declare(ownership, &rules)?;
        let rows = KeptRows::read(&rules, &ownership.database().snapshot().notes())?;
        Ok(Self { rules, schema, rows, losses: LossCounts::default() })
    }

    /// The rules, by the numbers that changes have.
    #[must_use]
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// Applies a transaction, and sets the position: one commit, visible at once.
    ///
    /// Cost: some microseconds a row: a look-up for the row and for each end, and the writes.
    ///
    /// # Errors
    /// [`ApplyError::Halt`] if it can't be applied, naming table and row, or is larger than the database lets a transaction be;
    /// [`ApplyError::Graph`] if the graph fails. Nothing of it is in the graph then, unless its log failed.
    pub fn apply(
        &mut self,
        ownership: &mut Ownership,
        fold: &TransactionFold,
        position: &Position,
    ) -> ApplyResult<Applied> {
        let applied = self.commit(ownership, Some(fold), position)?;
        self.losses.add(&fold.losses());
        Ok(applied)
    }

    /// Sets the position in a commit without anything else: after transactions without rows of the mapping.
    ///
    /// # Errors
    /// [`ApplyError::Graph`].
    pub fn note_position(&mut self, ownership: &mut Ownership, position: &Position) -> ApplyResult<Applied> {
        self.commit(ownership, None, position)
    }

    fn commit(
        &mut self,
        ownership: &mut Ownership,
        fold: Option<&TransactionFold>,
        position: &Position,
    ) -> ApplyResult<Applied> {
        for last_try in (0..TRIES_MAX).rev() {
            match self.try_commit(ownership, fold, position) {
                Ok(applied) => {
                    self.rows.keep();
                    return Ok(applied);
                }
                Err(error) => {
                    self.rows.take_back();
                    let is_conflict = matches!(&error, ApplyError::Graph(error) if error.is_conflict());
                    if !is_conflict || last_try == 0 {
                        return Err(error);
                    }
                }
            }
        }
        unreachable!("the last try returns")
    }

    fn try_commit(
        &mut self,
        ownership: &mut Ownership,
        fold: Option<&TransactionFold>,
        position: &Position,
    ) -> ApplyResult<Applied> {
        let mut transaction = ownership.begin()?;
        let (mut figures, mut times) = (AppliedFigures::default(), ApplyTimes::default());
        if let Some(fold) = fold.filter(|fold| !fold.is_empty()) {
            (figures, times) = Attempt::new(transaction.by_id(), &self.schema, fold, &mut self.rows).run()?;
        }
        if planted(Bug::NoteApart) {
            transaction.commit()?;
            transaction = ownership.begin()?;
        }
        let began = Instant::now();
        transaction.set_note(POSITION_NOTE, &position.encode())?;
        let committed = transaction.commit()?;
        times.commit = began.elapsed();
        Ok(Applied { timestamp: committed.timestamp, figures, times })
    }

    /// How many rows wait for an end as notes, by their rule's place in the mapping. Foreign keys that wait are at their vertices,
    /// and are not counted.
    pub fn waiting(&self) -> impl Iterator<Item = (usize, usize)> {
        let count = |rule| (self.rules.rule(rule).place(), self.rows.waiting_count(rule));
        (0..self.rules.len()).map(count).filter(|(_, count)| *count > 0)
    }

    /// What became neither vertex, edge nor property since this was opened.
    #[must_use]
    pub fn losses(&self) -> &LossCounts {
        &self.losses
    }
}
