//! Early work: translates and folds the rows of streamed transactions that have not committed yet, while nothing else waits.
//!
//! ```text
//! TransactionReader ──a whole piece──> translator of the transaction ──some rows at a time──> EarlyRows
//!        │                                                                                       │
//!        └──commit: all pieces──> Pipeline ──> EarlyTransaction: what was not done yet ──────────┤
//!                                                                                                ▼
//!                                                             applied as it is, or all of it anew from the pieces
//! ```
//!
//! PostgreSQL streams a large transaction while it runs. What is done with its rows before the commit does not have to be done
//! after it: rows are decoded, folded, and if they are only inserted, put together as a bulk load up to the edges whose ends are
//! not there yet. A transaction describes its tables itself, so that its rows mean the same at its commit.
//!
//! Nothing rests on it. The messages stay with the reader until the commit, and early work is dropped, to be done anew in the
//! ordinary way, when rows of it are rolled back with a savepoint, when a table changed as the rules do not allow, and when a row is
//! none that a load takes. It rests while all of it takes its part of a transaction's memory.
//!
//! A step is some hundred rows, a millisecond, and comes only when every committed transaction that is here is applied. One
//! transaction at a time has a filling, whose memory is that of a bulk load.
//!
//! Memory: a fourth of a transaction's for what was made of all open ones, a bulk load's for the filling, and a copy of one piece.
//! The messages count among the reader's, which go to a file beyond its limit. Those of a transaction that commits stay where they
//! are until it is applied, and nothing is read meanwhile.
//!
//! Known limit: where early work proves to be of no use at the commit alone, the thread that applies translates all rows anew,
//! without the pipeline's workers. What is dropped earlier, or makes up less than half of the transaction, goes to these.

use std::collections::BTreeMap;

use evergraph::ownership::Ownership;
use evergraph_graph::error::Error;

use crate::apply::applier::Applier;
use crate::apply::bulk_plan::BulkPlan;
use crate::apply::early_rows::EarlyRows;
use crate::apply::limits::TransactionLimits;
use crate::follow::failure::FollowFailure;
use crate::follow::known_translator::KnownTranslator;
use crate::metrics::{EarlyStep, ReplicaMetrics};
use crate::pgoutput::message::Xid;
use crate::stream::event::StreamEvent;
use crate::stream::piece::PieceMessages;
use crate::stream::row_translator::RowTranslator as _;
use crate::stream::transaction_reader::{EarlyPiece, TransactionReader};
use crate::translate::row_change::RowChanges;

/// Messages of a step, and rows of a fold that a step moves.
const STEP_ROWS: usize = 512;
/// Rows that are moved at once when the transaction commits.
const END_ROWS: usize = 8192;
/// Of the memory of a transaction, the part that all early work takes.
const MEMORY_PART: usize = 4;

/// Early work on all open transactions.
pub struct EarlyWork<'p> {
    plan: &'p BulkPlan,
    /// Knows no description.
    translator: KnownTranslator,
    limits: TransactionLimits,
    metrics: ReplicaMetrics,
    transactions: BTreeMap<Xid, OpenRows<'p>>,
}

/// What was made of an open transaction.
pub struct OpenRows<'p> {
    translator: KnownTranslator,
    rows: EarlyRows<'p>,
    /// Changes of rows that were added.
    count: u64,
    /// The piece that was handed out last, and how many of its messages were translated.
    piece: Option<(PieceMessages, usize)>,
    has_committed: bool,
}

impl<'p> EarlyWork<'p> {
    /// None yet, on streams that `translator` translates.
    #[must_use]
    pub fn new(
        plan: &'p BulkPlan,
        translator: &KnownTranslator,
        limits: TransactionLimits,
        metrics: &ReplicaMetrics,
    ) -> Self {
        let (translator, metrics) = (translator.undescribed(), metrics.clone());
        Self { plan, translator, limits, metrics, transactions: BTreeMap::new() }
    }

    /// Takes notice of what the reader brought: of what committed, work goes on in the order of commits; what was rolled back
    /// is dropped.
    pub fn look(&mut self, reader: &TransactionReader, events: &[StreamEvent]) {
        if self.transactions.is_empty() {
            return;
        }
        for event in events {
            let StreamEvent::Transaction(transaction) = event else { continue };
            if let Some(open) = self.transactions.get_mut(&transaction.end.xid) {
                open.has_committed = transaction.early_pieces > 0;
            }
        }
        let before = self.transactions.len();
        self.transactions.retain(|xid, open| open.has_committed || reader.is_early_good(*xid));
        (self.transactions.len()..before).for_each(|_| self.metrics.early(EarlyStep::Dropped));
    }

    /// What was made of a transaction that commits now.
    pub fn take(&mut self, xid: Xid) -> Option<OpenRows<'p>> {
        self.transactions.remove(&xid)
    }

    /// Gives the memory of a filling up: another load begins.
    pub fn drop_filling(&mut self, reader: &mut TransactionReader) {
        let filling = self.transactions.iter().find(|(_, open)| open.rows.is_filling());
        if let Some(xid) = filling.map(|(xid, _)| *xid) {
            self.drop_open(reader, xid);
        }
    }

    /// Does a little; whether there was something to do.
    ///
    /// # Errors
    /// If a temporary file of the reader cannot be read.
    pub fn step(
        &mut self,
        reader: &mut TransactionReader,
        applier: &Applier,
        ownership: &Ownership,
    ) -> Result<bool, FollowFailure> {
        // What moves to a filling gives memory back, whatever else there is.
        let has_room = self.heap_bytes() <= self.limits.bytes_max / MEMORY_PART;
        let is_waiting = |open: &OpenRows<'_>| open.rows.is_moving() || has_room && open.piece.is_some();
        let mut open = self.transactions.iter().filter(|(_, open)| !open.has_committed);
        let waiting = open.find(|(_, open)| is_waiting(open)).map(|(xid, _)| *xid);
        if let Some(xid) = waiting {
            let open = self.transactions.get_mut(&xid).expect("just found");
            let before = open.count;
            let is_good = matches!(open.step(applier, ownership), Ok(true));
            self.metrics.add_early_rows(open.count - before);
            if !is_good {
                self.drop_open(reader, xid);
                return Ok(true);
            }
            let is_filling = self.transactions.values().any(|open| open.rows.is_filling());
            let open = self.transactions.get_mut(&xid).expect("just found");
            if !is_filling && open.piece.is_none() && open.rows.wants_filling() {
                self.metrics.early(EarlyStep::Filled);
                if open.rows.begin_filling(applier, self.plan, ownership).is_err() {
                    self.drop_open(reader, xid);
                }
            }
            return Ok(true);
        }
        if !has_room {
            return Ok(false);
        }
        let Some(EarlyPiece { xid, relations, messages }) = reader.next_early()? else { return Ok(false) };
        let new = || OpenRows {
            translator: self.translator.clone(),
            rows: EarlyRows::new(applier, self.limits.clone()),
            count: 0,
            piece: None,
            has_committed: false,
        };
        if !self.transactions.contains_key(&xid) {
            self.metrics.early(EarlyStep::Begun);
        }
        let open = self.transactions.entry(xid).or_insert_with(new);
        if relations.iter().try_for_each(|relation| open.translator.describe(relation)).is_err() {
            self.drop_open(reader, xid);
            return Ok(true);
        }
        open.piece = Some((messages, 0));
        Ok(true)
    }

    fn heap_bytes(&self) -> usize {
        self.transactions.values().map(|open| open.rows.heap_bytes()).sum()
    }

    fn drop_open(&mut self, reader: &mut TransactionReader, xid: Xid) {
        self.transactions.remove(&xid);
        self.metrics.early(EarlyStep::Dropped);
        reader.void_early(xid);
    }
}

impl<'p> OpenRows<'p> {
    /// Moves some rows, or translates some; whether work can go on.
    fn step(&mut self, applier: &Applier, ownership: &Ownership) -> Result<bool, Error> {
        if self.rows.is_moving() {
            return self.rows.move_rows(STEP_ROWS, ownership);
        }
        self.translate_some(applier, ownership, STEP_ROWS)
    }

    fn translate_some(
        &mut self,
        applier: &Applier,
        ownership: &Ownership,
        messages_max: usize,
    ) -> Result<bool, Error> {
        let Some((messages, done)) = self.piece.take() else { return Ok(true) };
        let mut changes = RowChanges::new();
        let mut count = 0;
        for message in messages.decode_from(done).take(messages_max) {
            count += 1;
            if self.translator.translate(&message, &mut changes).is_err() {
                return Ok(false);
            }
        }
        if count == messages_max {
            self.piece = Some((messages, done + count));
        }
        self.add(applier, ownership, changes)
    }

    /// Adds changes that come next; whether work can go on.
    ///
    /// # Errors
    /// As [`EarlyRows::push`].
    pub fn add(
        &mut self,
        applier: &Applier,
        ownership: &Ownership,
        changes: RowChanges,
    ) -> Result<bool, Error> {
        self.count += changes.len() as u64;
        self.rows.push(applier.rules(), ownership, changes)
    }

    /// Does what was left of the pieces that were handed out; whether work can go on.
    ///
    /// # Errors
    /// As [`EarlyRows::push`].
    pub fn end(&mut self, applier: &Applier, ownership: &Ownership) -> Result<bool, Error> {
        while self.rows.is_moving() {
            applier.check_cancelled()?;
            if !self.rows.move_rows(END_ROWS, ownership)? {
                return Ok(false);
            }
        }
        self.translate_some(applier, ownership, usize::MAX)
    }

    /// The rows, and how many changes they are.
    #[must_use]
    pub fn into_rows(self) -> (EarlyRows<'p>, u64) {
        (self.rows, self.count)
    }
}
