//! Session: one stream, from its beginning to its end: batches become transactions, and transactions commits.
//!
//! ```text
//! stream ──batch──> TransactionReader ──> Pipeline ──changes──> fold ──commit──> Applier ──> database, note
//!   ▲                                                                                            │
//!   └──────────────────── confirm: the end in the newest durable note ───────────────────────────┘
//! ```
//!
//! One thread does all of it but decoding, which the pipeline's workers do, and the socket, which the source's thread has.
//! Every step may be the last: what is not committed comes again.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use evergraph::ownership::Ownership;
use evergraph_graph::error::ErrorKind;
use evergraph_storage::planted::{Bug, planted};

use crate::apply::applier::{Applied, AppliedFigures, Applier};
use crate::apply::bulk_plan::BulkPlan;
use crate::apply::early_rows::EarlyRows;
use crate::apply::error::ApplyError;
use crate::apply::fold::TransactionFold;
use crate::follow::connect::{ConnectedSource, note_marks, write_note};
use crate::follow::early_work::{EarlyWork, OpenRows};
use crate::follow::failure::FollowFailure;
use crate::follow::known_marks::KnownMarks;
use crate::follow::known_translator::KnownTranslator;
use crate::follow::progress::{CommittedRows, FollowRequest};
use crate::follow::shared::Shared;
use crate::follow::slot_note::{SLOT_NOTE, SlotNote};
use crate::lsn::Lsn;
use crate::metrics::{BusyPart, EarlyStep};
use crate::position::Position;
use crate::source::batch::{Change, ChangeBatch};
use crate::source::contract::ChangeStream;
use crate::stream::event::{StreamEvent, TransactionEnd};
use crate::stream::pipeline::{Pipeline, PipelineOptions};
use crate::stream::transaction_reader::{ReaderOptions, TransactionReader};
use crate::stream::translated::{EarlyTransaction, Translated};
use crate::translate::row_change::RowChanges;

/// How long a wait for changes takes before it is looked what else there is to do.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often losses and waiting rows are counted.
const COUNT_INTERVAL: Duration = Duration::from_millis(500);

/// One stream, and what its changes go into.
pub struct Session<'a> {
    shared: &'a Shared,
    ownership: &'a mut Ownership,
    applier: &'a mut Applier,
    stream: Box<dyn ChangeStream>,
    reader: TransactionReader,
    pipeline: Pipeline<KnownTranslator>,
    fold: TransactionFold,
    early: EarlyWork<'a>,
    /// The transaction that commits next, if some of it was done early.
    early_transaction: Option<EarlyTransaction<KnownTranslator>>,
    /// Rows that were folded.
    rows: u64,
    /// What the note says.
    position: Position,
    /// The source's timeline.
    timeline: u32,
    /// From where on the slot needs the log, as its note says.
    slot: Option<Lsn>,
    /// What the watcher sees.
    marks: KnownMarks,
    /// A position beyond the note before which there is nothing for us.
    idle: Option<Lsn>,
    noted_at: Instant,
    counted_at: Instant,
    events: Vec<StreamEvent>,
    /// Whether the stream's end went into the pipeline.
    is_over: bool,
    /// Whether the end that the options name is reached: nothing is applied any more.
    is_held: bool,
    /// Whether all that came is applied.
    is_drained: bool,
    has_received: bool,
}

impl<'a> Session<'a> {
    /// Begins with `stream`, at the position of `connected`.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn new(
        shared: &'a Shared,
        ownership: &'a mut Ownership,
        applier: &'a mut Applier,
        connected: &ConnectedSource,
        plan: &'a BulkPlan,
        translator: KnownTranslator,
        stream: Box<dyn ChangeStream>,
    ) -> Result<Self, FollowFailure> {
        let options = &shared.options;
        let memory_bytes = usize::try_from(options.memory_bytes).unwrap_or(usize::MAX);
        let pipeline = PipelineOptions { threads: options.threads.max(1), ..PipelineOptions::default() };
        let reader = ReaderOptions { memory_bytes: memory_bytes / 4, folder: options.temporary.clone() };
        let now = Instant::now();
        Ok(Self {
            shared,
            ownership,
            applier,
            stream,
            reader: TransactionReader::new(reader),
            fold: TransactionFold::of_rules(translator.translator().rules(), options.transaction_limits()),
            early: EarlyWork::new(plan, &translator, options.transaction_limits(), &shared.progress.metrics),
            early_transaction: None,
            rows: 0,
            pipeline: Pipeline::new(translator, pipeline)?,
            position: connected.position,
            timeline: connected.identity.timeline,
            slot: None,
            marks: shared.followed().marks,
            idle: None,
            noted_at: now,
            counted_at: now,
            events: Vec::new(),
            is_over: false,
            is_held: false,
            is_drained: true,
            has_received: false,
        })
    }

    /// Goes on until the stream ends; why it did, and whether anything came that could be written.
    pub fn run(mut self) -> (FollowFailure, bool) {
        let failure = loop {
            if let Err(failure) = self.step() {
                break failure;
            }
        };
        self.count();
        let has_received = self.has_received && !self.shared.progress.is_unproven();
        let shared = self.shared;
        // A source that is gone cannot be told; whatever else ended this, it hears how far we are.
        if !matches!(failure, FollowFailure::Source(_))
            && let Err(error) = self.end()
        {
            shared.progress.note_error(&error.to_string());
        }
        (failure, has_received)
    }

    /// One step: what came is read, one piece of it is applied, what is durable is confirmed.
    fn step(&mut self) -> Result<(), FollowFailure> {
        let progress = &self.shared.progress;
        match progress.request() {
            Some(FollowRequest::Stop) => return Err(FollowFailure::Stopped),
            Some(FollowRequest::Pause(pause)) => return Err(pause.into()),
            Some(FollowRequest::LookAgain) => return Err(FollowFailure::LookAgain),
            None => {}
        }
        if self.is_held {
            progress.sleep(POLL_INTERVAL);
        } else {
            // Whose messages are held until it is applied; others would come on top.
            if self.early_transaction.is_none() {
                self.read();
            }
            let began = Instant::now();
            let translated = self.pipeline.take_next()?;
            if translated.is_some() {
                self.shared.progress.metrics.busy(BusyPart::Translate, began.elapsed());
            }
            match translated {
                Some(translated) => {
                    self.is_drained = false;
                    self.take(translated)?;
                }
                None => {
                    let began = Instant::now();
                    self.is_drained = !self.early.step(&mut self.reader, self.applier, self.ownership)?;
                    if !self.is_drained {
                        self.shared.progress.metrics.busy(BusyPart::Fold, began.elapsed());
                    }
                    self.shared.advance_epochs();
                }
            }
        }
        if self.noted_at.elapsed() >= self.shared.options.intervals.position {
            self.note_idle()?;
        }
        if self.counted_at.elapsed() >= COUNT_INTERVAL {
            self.count();
            self.note_slot()?;
            note_marks(&self.marks, self.ownership)?;
        }
        self.confirm();
        Ok(())
    }

    /// Reads what came, for as long as the pipeline takes more.
    fn read(&mut self) {
        while !self.is_over && self.pipeline.wants_more() {
            let wait = if self.is_drained { POLL_INTERVAL } else { Duration::ZERO };
            match self.stream.next_batch(wait) {
                Ok(Some(batch)) => {
                    self.is_drained = false;
                    self.has_received = true;
                    let began = Instant::now();
                    self.push(&batch);
                    self.shared.progress.metrics.busy(BusyPart::Read, began.elapsed());
                }
                Ok(None) => break,
                Err(error) => {
                    self.is_over = true;
                    self.pipeline.fail(error);
                }
            }
        }
    }

    fn push(&mut self, batch: &ChangeBatch) {
        let (mut log_end, mut sent_at) = (Lsn::ZERO, None);
        for change in batch.changes() {
            let (end, at) = match change {
                Change::Message { log_end, sent_at, .. } => (log_end, sent_at),
                Change::Keepalive { log_end, sent_at } => {
                    if planted(Bug::ConfirmInTransaction) {
                        self.stream.confirm(log_end);
                    }
                    (log_end, sent_at)
                }
            };
            (log_end, sent_at) = (log_end.max(end), Some(at));
        }
        self.shared.progress.source_end(log_end, sent_at.unwrap_or_default());
        let read = self.reader.push(batch, &mut self.events);
        self.early.look(&self.reader, &self.events);
        for event in self.events.drain(..) {
            self.pipeline.push(event);
        }
        if let Err(error) = read {
            self.is_over = true;
            self.pipeline.fail(error);
        }
    }

    fn take(&mut self, translated: Translated<KnownTranslator>) -> Result<(), FollowFailure> {
        match translated {
            Translated::Changes(changes) => {
                self.rows += changes.len() as u64;
                let began = Instant::now();
                self.fold.push(changes)?;
                self.shared.progress.metrics.busy(BusyPart::Fold, began.elapsed());
            }
            Translated::Early(transaction) => self.early_transaction = Some(transaction),
            Translated::Commit(end) => {
                match self.early_transaction.take() {
                    None => self.commit(end)?,
                    Some(transaction) => self.commit_early(&transaction)?,
                }
                self.rows = 0;
                self.fold.clear();
            }
            Translated::Idle { position } => self.reach(position),
        }
        Ok(())
    }

    /// Nothing before `position` is missing.
    fn reach(&mut self, position: Lsn) {
        let position = match self.shared.options.end {
            Some(end) if end < position => {
                self.is_held = true;
                end
            }
            _ => position,
        };
        if position > self.position.end {
            self.idle = Some(position);
            self.shared.progress.reach(position);
        }
    }

    /// Whether a transaction is to be applied: it did not come again, and lies before the end.
    fn is_next(&mut self, end: TransactionEnd) -> bool {
        let end_lsn = end.commit.end_lsn;
        if end_lsn <= self.position.end {
            return false;
        }
        if self.shared.options.end.is_some_and(|end| end < end_lsn) {
            self.reach(end_lsn);
            return false;
        }
        true
    }

    /// Applies a transaction of which some was done early: as it is, or all of it anew.
    fn commit_early(&mut self, transaction: &EarlyTransaction<KnownTranslator>) -> Result<(), FollowFailure> {
        let end = transaction.end;
        let open = self.early.take(end.xid);
        if !self.is_next(end) {
            return Ok(());
        }
        let has_begun = open.is_some();
        if let Some(open) = open
            && let Some((early, rows)) = self.end_early(open, transaction)?
        {
            self.rows = rows;
            match early.into_fold() {
                Ok(fold) => {
                    self.fold = fold;
                    self.shared.progress.metrics.early(EarlyStep::Folded);
                    return self.commit(end);
                }
                Err(early) => {
                    let position = self.position_of(end);
                    let applied = self.applier.apply_early(self.ownership, *early, &position);
                    if let Some(applied) = applied.map_err(|error| self.not_applied(error, end))? {
                        self.shared.progress.metrics.early(EarlyStep::Loaded);
                        if applied.figures.vertices_changed > 0 {
                            self.shared.progress.metrics.early(EarlyStep::Changed);
                        }
                        self.applied(end, position, &applied);
                        return Ok(());
                    }
                }
            }
        }
        if has_begun {
            self.shared.progress.metrics.early(EarlyStep::Dropped);
        }
        self.fold.clear();
        let (mut rows, progress) = (0, &self.shared.progress);
        transaction.changes(0, |changes: RowChanges| {
            if progress.is_stopping() {
                return Err(FollowFailure::Stopped);
            }
            rows += changes.len() as u64;
            self.fold.push(changes)?;
            Ok(ControlFlow::Continue(()))
        })?;
        self.rows = rows;
        self.commit(end)
    }

    /// Adds to what was done early of `transaction` what was not; `None` if that does not do.
    fn end_early(
        &self,
        mut open: OpenRows<'a>,
        transaction: &EarlyTransaction<KnownTranslator>,
    ) -> Result<Option<(EarlyRows<'a>, u64)>, FollowFailure> {
        let mut is_good = matches!(open.end(self.applier, self.ownership), Ok(true));
        if is_good {
            transaction.changes(transaction.early_pieces, |changes: RowChanges| {
                if self.shared.progress.is_stopping() {
                    return Err(FollowFailure::Stopped);
                }
                is_good = matches!(open.add(self.applier, self.ownership, changes), Ok(true));
                Ok(if is_good { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            })?;
        }
        Ok(is_good.then(|| open.into_rows()))
    }

    /// Applies the transaction whose changes were folded.
    fn commit(&mut self, end: TransactionEnd) -> Result<(), FollowFailure> {
        let commit = end.commit;
        if !self.is_next(end) {
            return Ok(());
        }
        if self.fold.is_empty() {
            self.idle = Some(commit.end_lsn);
            self.applier.count_losses(self.fold.losses());
            self.shared.progress.applied_transaction(commit.end_lsn, None);
            return Ok(());
        }
        if self.fold.is_for_bulk_load() {
            self.early.drop_filling(&mut self.reader);
        }
        let position = self.position_of(end);
        let applied = self.applier.apply(self.ownership, &self.fold, &position);
        let applied = applied.map_err(|error| self.not_applied(error, end))?;
        self.applied(end, position, &applied);
        Ok(())
    }

    fn position_of(&self, end: TransactionEnd) -> Position {
        let commit = end.commit;
        Position {
            timeline: self.timeline,
            end: commit.end_lsn,
            xid: end.xid,
            committed_at: commit.commit_time,
        }
    }

    fn not_applied(&self, error: ApplyError, end: TransactionEnd) -> FollowFailure {
        match error {
            ApplyError::Graph(error)
                if error.kind() == ErrorKind::Cancelled && self.shared.progress.is_stopping() =>
            {
                FollowFailure::Stopped
            }
            error => FollowFailure::of_apply(error, Some(end)),
        }
    }

    /// Takes notice of a transaction that was applied.
    fn applied(&mut self, end: TransactionEnd, position: Position, applied: &Applied) {
        let times = applied.times;
        for (part, time) in [
            (BusyPart::LookUp, times.look_up),
            (BusyPart::Vertices, times.vertices),
            (BusyPart::Edges, times.edges),
            (BusyPart::Commit, times.commit),
        ] {
            self.shared.progress.metrics.busy(part, time);
        }
        self.position = position;
        self.idle = None;
        self.noted_at = Instant::now();
        let committed = CommittedRows {
            timestamp: applied.timestamp,
            position,
            rows: self.rows,
            changes: changes_count(&applied.figures),
        };
        self.shared.progress.applied_transaction(end.commit.end_lsn, Some(committed));
        self.shared.advance_epochs();
    }

    /// Brings the note to the newest position before which there is nothing for us.
    fn note_idle(&mut self) -> Result<(), FollowFailure> {
        self.noted_at = Instant::now();
        let Some(end) = self.idle.take() else { return Ok(()) };
        let position = Position { timeline: self.timeline, end, ..self.position };
        let noted = self.applier.note_position(self.ownership, &position)?;
        self.position = position;
        self.shared.progress.noted_position(noted.timestamp, position);
        Ok(())
    }

    /// Notes how far the slot is, so that a source is found out whose slot goes back.
    fn note_slot(&mut self) -> Result<(), FollowFailure> {
        let Some(restart) = self.shared.progress.slot_settled() else { return Ok(()) };
        if self.slot.is_none_or(|slot| slot < restart) {
            let note = SlotNote { timeline: self.timeline, restart };
            write_note(self.ownership, SLOT_NOTE, &note.encode())?;
            self.slot = Some(restart);
        }
        Ok(())
    }

    /// Tells the source what is durable.
    fn confirm(&self) {
        if let Some(position) = self.shared.progress.confirm(self.shared.database.durable_through()) {
            self.stream.confirm(position);
        }
    }

    fn count(&mut self) {
        self.counted_at = Instant::now();
        self.shared.count(self.applier);
    }

    /// Makes durable and confirms what is here, and gives the slot up.
    fn end(mut self) -> Result<(), FollowFailure> {
        self.note_idle()?;
        self.shared.database.sync()?;
        self.confirm();
        self.stream.stop()?;
        Ok(())
    }
}

/// Vertices and edges that changed.
fn changes_count(figures: &AppliedFigures) -> u64 {
    figures.vertices_added
        + figures.vertices_changed
        + figures.vertices_deleted
        + figures.edges_added
        + figures.edges_changed
        + figures.edges_deleted
}
