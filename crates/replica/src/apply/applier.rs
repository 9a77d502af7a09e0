//! `Applier`: brings a graph from one position of the source to the next, a transaction at a time.

use crate::apply::attempt::Attempt;
pub use crate::apply::attempt::{AppliedFigures, ApplyTimes};
use crate::apply::error::{ApplyError, ApplyResult};
use crate::apply::fold::TransactionFold;
use crate::apply::kept_rows::KeptRows;
use crate::apply::schema::GraphSchema;
use crate::count_note::{COUNT_NOTE, CountNote};
use crate::mapping::plan::Plan;
use crate::planted::{Bug, planted};
use crate::position::{POSITION_NOTE, Position};
use crate::translate::loss::LossCounts;
use crate::translate::rules::Rules;
use evergraph::ownership::Ownership;
use evergraph_graph::cancel::CancelFlag;
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
    pub(super) schema: GraphSchema,
    pub(super) rows: KeptRows,
    /// What the note of counts says.
    noted: CountNote,
    /// What became neither vertex, edge nor property: that, and what the next commit adds to it.
    losses: LossCounts,
    /// Ends a bulk load before it is installed.
    pub(super) cancel: CancelFlag,
}

/// A transaction that is in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The commit's place in the order of commits.
    pub timestamp: Timestamp,
    /// How often it was tried: more than once if a unique index became ready meanwhile.
    pub tries: usize,
    /// What it changed.
    pub figures: AppliedFigures,
    /// How long that took.
    pub times: ApplyTimes,
}

/// What became of a transaction that is for a bulk load.
pub(super) enum BulkOutcome {
    /// It is in the graph.
    Loaded(Applied),
    /// Something in the graph waits for its rows, or may wait for vertices that they create. Nothing has happened.
    Awaited,
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
        let notes = ownership.database().snapshot().notes();
        let noted = CountNote::of(&notes)?;
        let rows = KeptRows::read(&rules, &notes, &noted.waiting)?;
        let losses = noted.losses.clone();
        Ok(Self { rules, schema, rows, noted, losses, cancel: CancelFlag::default() })
    }

    /// The same, whose bulk loads end with `cancelled` once the flag is set. Nothing of them is in the graph then.
    #[must_use]
    pub fn cancelled_by(self, cancel: CancelFlag) -> Self {
        Self { cancel, ..self }
    }

    /// Whether what it does may go on.
    ///
    /// # Errors
    /// `cancelled`.
    pub fn check_cancelled(&self) -> evergraph_graph::error::Result<()> {
        self.cancel.check()
    }

    /// The rules, by the numbers that changes have.
    #[must_use]
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// Applies a transaction, and sets the position: one commit, visible at once.
    ///
    /// Cost: some microseconds a row: a look-up for the row and for each end, and the writes. Many rows that were inserted are
    /// loaded in bulk, which ends with a checkpoint of the database.
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
        fold.check_size()?;
        let applied = self.apply_sized(ownership, fold, position);
        applied.map_err(|error| self.of_transaction(error, ownership, fold))
    }

    /// Counts what a transaction lost that changes nothing else: the next commit says so, with a position behind it.
    pub fn count_losses(&mut self, losses: &LossCounts) {
        self.losses.add(losses);
    }

    fn apply_sized(
        &mut self,
        ownership: &mut Ownership,
        fold: &TransactionFold,
        position: &Position,
    ) -> ApplyResult<Applied> {
        if fold.is_for_bulk_load() {
            match self.load(ownership, fold, position)? {
                BulkOutcome::Loaded(applied) => return Ok(applied),
                BulkOutcome::Awaited if fold.is_spilled() => {
                    return Err(fold.too_large_for_one_by_one().into());
                }
                BulkOutcome::Awaited => {}
            }
        }
        self.commit(ownership, Some(fold), position)
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
        for tries_left in (0..TRIES_MAX).rev() {
            match self.try_commit(ownership, fold, position) {
                Ok((mut applied, counts)) => {
                    applied.tries = TRIES_MAX - tries_left;
                    self.rows.keep();
                    self.keep_counts(counts);
                    return Ok(applied);
                }
                Err(error) => {
                    self.rows.take_back();
                    let is_conflict = matches!(&error, ApplyError::Graph(error) if error.is_conflict());
                    if !is_conflict || tries_left == 0 {
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
    ) -> ApplyResult<(Applied, Option<CountNote>)> {
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
        let counts = self.changed_counts(fold.map(TransactionFold::losses));
        if let Some(counts) = &counts {
            transaction.set_note(COUNT_NOTE, &counts.encode())?;
        }
        let committed = transaction.commit()?;
        times.commit = began.elapsed();
        Ok((Applied { timestamp: committed.timestamp, tries: 1, figures, times }, counts))
    }

    /// What `counts` says is in the graph now.
    pub(super) fn keep_counts(&mut self, counts: Option<CountNote>) {
        if let Some(counts) = counts {
            self.losses.clone_from(&counts.losses);
            self.noted = counts;
        }
    }

    /// The counts after a transaction that lost `more`, if they are others than the note's.
    pub(super) fn changed_counts(&self, more: Option<&LossCounts>) -> Option<CountNote> {
        let mut losses = self.losses.clone();
        losses.add(more.unwrap_or(&LossCounts::default()));
        let counts = CountNote { losses, waiting: self.rows.waiting_links() };
        (counts != self.noted).then_some(counts)
    }

    /// How many rows and foreign keys wait for an end, by their rule's place in the mapping.
    pub fn waiting(&self) -> impl Iterator<Item = (usize, u64)> {
        let count = |rule| (self.rules.rule(rule).place(), self.rows.waiting_count(rule));
        (0..self.rules.len()).map(count).filter(|(_, count)| *count > 0)
    }

    /// What became neither vertex, edge nor property since the copy.
    #[must_use]
    pub fn losses(&self) -> &LossCounts {
        &self.losses
    }
}
