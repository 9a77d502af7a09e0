//! Journey: one query at one node that runs its stages.
//!
//! ```text
//! Rows ──> new? room? ──> waiting ──> worker: take ──> rows by place ──> kept until the receiver has them, and sent
//!                                        └── all of stage n have come and were taken ──> worker: end of stage n
//! ```
//!
//! A worker has the runner while it runs: nobody else runs the query then, and nobody waits for it.

use crate::node::readers::OpenReader;
use crate::record_id::{Author, NodeId};
use crate::remote::question::CONTENT_BYTES_MAX;
use crate::travel::message::{ASKED_STAGE, BeginTravel, TravelMessage, TravelRows};
use crate::travel::own_view::StageView;
use crate::travel::stage_inbound::StageInbound;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::stage_programs::{StageLimits, StagePrograms, StageRunner};
use evergraph_graph::travel::{EncodedRows, RowsTarget, StageMeasure, TravelStart};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A message for a node.
pub type Outgoing = (NodeId, TravelMessage);

/// How often at most somebody is asked for what is missing.
const WANT_WAIT_MAX: Duration = Duration::from_secs(2);

/// Memory of rows is taken from the node's in pieces of so many bytes.
const PIECE_BYTES: u64 = 1 << 20;

/// A query at this node.
pub struct Journey {
    begin: Arc<BeginTravel>,
    /// The number of this node in it.
    place: u16,
    ends_at: Duration,
    /// Set when it ends.
    cancel: CancelFlag,
    runner: RunnerState,
    inbound: Vec<StageInbound>,
    waiting: VecDeque<(u16, TravelRows)>,
    /// The stage that ends next.
    stage: u16,
    sent: SentRows,
    /// Bytes of rows that wait, and of those that are kept.
    bytes: u64,
    reserved: Vec<Reservation>,
    /// The most bytes of rows that wait.
    inbound_bytes_max: usize,
    inbound_bytes: usize,
    /// Whether a message was dropped that had no room.
    has_dropped: bool,
    measures: Vec<StageMeasure>,
    want_at: Duration,
    want_wait: Duration,
    want_after: Duration,
    /// Its snapshot is in use.
    _reader: OpenReader,
}

/// What runs.
pub struct Running {
    /// The graph.
    pub view: Box<dyn StageView>,
    /// The program.
    pub runner: Box<dyn StageRunner>,
}

enum RunnerState {
    /// Nothing runs yet.
    Unopened,
    /// A worker has it.
    Busy,
    Idle(Box<Running>),
}

/// What a worker does next.
pub enum StageWork {
    /// Opens the graph and the program.
    Open,
    /// Takes rows of a stage.
    Take(Box<Running>, u16, TravelRows),
    /// Ends a stage.
    End(Box<Running>, u16),
}

/// Messages that were sent, by the stage that takes them and the place: their receivers may want them again.
#[derive(Default)]
pub(super) struct SentRows(BTreeMap<(u16, RowsPlace), Vec<Arc<TravelRows>>>);

/// Where rows of a message go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum RowsPlace {
    At(u16),
    Asker,
}

impl From<RowsTarget> for RowsPlace {
    fn from(target: RowsTarget) -> Self {
        match target {
            RowsTarget::Place(place) => Self::At(place),
            RowsTarget::Asker => Self::Asker,
        }
    }
}

impl SentRows {
    /// The number of the next message.
    pub(super) fn next_number(&self, stage: u16, place: RowsPlace) -> u32 {
        self.0.get(&(stage, place)).map_or(0, |sent| sent.len() as u32)
    }

    pub(super) fn keep(&mut self, place: RowsPlace, rows: Arc<TravelRows>) {
        self.0.entry((rows.stage, place)).or_default().push(rows);
    }

    /// Those from a number on.
    pub(super) fn wanted(&self, stage: u16, place: RowsPlace, from: u32) -> &[Arc<TravelRows>] {
        let sent = self.0.get(&(stage, place)).map_or(&[][..], Vec::as_slice);
        sent.get(from as usize..).unwrap_or(&[])
    }

    /// A place has all rows of the stages before `stage`. The bytes that are kept no more.
    pub(super) fn forget(&mut self, place: u16, stage: u16) -> u64 {
        let mut bytes = 0;
        self.0.retain(|(of_stage, of_place), sent| {
            let is_known = *of_stage < stage && *of_place == RowsPlace::At(place);
            if is_known {
                bytes += sent.iter().map(|rows| rows.rows.len() as u64).sum::<u64>();
            }
            !is_known
        });
        bytes
    }
}

/// How much one query may hold and how it waits.
#[derive(Clone, Copy, Debug)]
pub struct JourneyLimits {
    /// The most bytes of rows that wait; a message that has no room is dropped, and wanted later.
    pub inbound_bytes_max: usize,
    /// How long it waits before it asks for what is missing.
    pub want_after: Duration,
}

impl Journey {
    /// The query `begin` at `now`, on the node with this place, whose snapshot `reader` holds.
    #[must_use]
    pub fn new(
        now: Duration,
        begin: Arc<BeginTravel>,
        place: u16,
        reader: OpenReader,
        limits: JourneyLimits,
    ) -> Self {
        let senders = |stage: u16| match (stage, begin.start) {
            (0, TravelStart::Everywhere) => 0,
            (0, TravelStart::Rows) => 1,
            _ => begin.places.len(),
        };
        let inbound = (0..begin.stages).map(|stage| StageInbound::new(senders(stage))).collect();
        let ends_at = now.saturating_add(begin.patience);
        let measures = vec![StageMeasure::default(); usize::from(begin.stages)];
        Self {
            begin,
            place,
            ends_at,
            cancel: CancelFlag::default(),
            runner: RunnerState::Unopened,
            inbound,
            waiting: VecDeque::new(),
            stage: 0,
            sent: SentRows::default(),
            bytes: 0,
            reserved: Vec::new(),
            inbound_bytes_max: limits.inbound_bytes_max,
            inbound_bytes: 0,
            has_dropped: false,
            measures,
            want_at: now.saturating_add(limits.want_after),
            want_wait: limits.want_after,
            want_after: limits.want_after,
            _reader: reader,
        }
    }

    /// What began.
    #[must_use]
    pub fn begun(&self) -> &Arc<BeginTravel> {
        &self.begin
    }

    /// Until when its asker waits.
    #[must_use]
    pub fn ends_at(&self) -> Duration {
        self.ends_at
    }

    /// What ends its reads.
    #[must_use]
    pub fn cancel(&self) -> &CancelFlag {
        &self.cancel
    }

    fn own(&self) -> Author {
        self.begin.places[usize::from(self.place)]
    }

    /// Which sender of a stage the node `from` is, if it is one.
    fn sender(&self, from: NodeId, rows: &TravelRows) -> Option<usize> {
        if rows.stage == 0 {
            let asker = self.begin.id.asker;
            let is_asker = from == asker.node && rows.incarnation == asker.incarnation;
            return is_asker.then_some(0);
        }
        let author = Author { node: from, incarnation: rows.incarnation };
        self.begin.places.iter().position(|place| *place == author)
    }

    /// Rows came from a node. Those that came before, and those that have no room, are dropped.
    ///
    /// # Errors
    /// `limit` if they are more than the query may hold here.
    pub fn take(&mut self, now: Duration, from: NodeId, rows: TravelRows, budget: &dyn Budget) -> Result<()> {
        let Some(sender) = self.sender(from, &rows) else { return Ok(()) };
        let Some(stage) = self.inbound.get_mut(usize::from(rows.stage)) else { return Ok(()) };
        if !stage.is_new(sender, rows.number) {
            return Ok(());
        }
        let bytes = rows.rows.len();
        if self.inbound_bytes + bytes > self.inbound_bytes_max && !self.waiting.is_empty() {
            self.has_dropped = true;
            return Ok(());
        }
        stage.take(sender, rows.number, rows.is_last);
        if rows.is_last && rows.stage > 0 {
            // The sender ended the stage before, so that it has all rows for that.
            let forgotten = self.sent.forget(sender as u16, rows.stage);
            self.bytes -= forgotten;
        }
        self.has_news(now);
        if rows.count > 0 {
            self.inbound_bytes += bytes;
            self.hold(bytes as u64, budget)?;
            self.waiting.push_back((rows.stage, rows));
        }
        Ok(())
    }

    /// Counts bytes that are kept.
    fn hold(&mut self, bytes: u64, budget: &dyn Budget) -> Result<()> {
        self.bytes += bytes;
        if self.bytes > self.begin.memory_bytes {
            let text = format!(
                "rows of the query that travel between nodes need more than its {} of memory on a node: narrow it, or raise the \
                 limit",
                ByteSize(self.begin.memory_bytes)
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let reserved: u64 = self.reserved.iter().map(Reservation::bytes).sum();
        if self.bytes > reserved {
            let piece = (self.bytes - reserved).max(PIECE_BYTES);
            self.reserved.push(budget.reserve("rows of queries that travel", piece)?);
        }
        Ok(())
    }

    fn has_news(&mut self, now: Duration) {
        self.want_wait = self.want_after;
        self.want_at = now.saturating_add(self.want_wait);
    }

    /// What a worker does next, if nobody is at it.
    pub fn next_work(&mut self) -> Option<StageWork> {
        match std::mem::replace(&mut self.runner, RunnerState::Busy) {
            RunnerState::Busy => None,
            RunnerState::Unopened => Some(StageWork::Open),
            RunnerState::Idle(running) => {
                let work = self.next_of(running);
                match work {
                    Ok(work) => Some(work),
                    Err(running) => {
                        self.runner = RunnerState::Idle(running);
                        None
                    }
                }
            }
        }
    }

    fn next_of(&mut self, running: Box<Running>) -> std::result::Result<StageWork, Box<Running>> {
        let is_complete = self.inbound.get(usize::from(self.stage)).is_some_and(StageInbound::is_complete);
        if is_complete && !self.waiting.iter().any(|(stage, _)| *stage == self.stage) {
            return Ok(StageWork::End(running, self.stage));
        }
        let Some((stage, rows)) = self.waiting.pop_front() else { return Err(running) };
        self.inbound_bytes -= rows.rows.len();
        self.bytes -= rows.rows.len() as u64;
        self.measures[usize::from(stage)].rows += u64::from(rows.count);
        Ok(StageWork::Take(running, stage, rows))
    }

    /// Whether a worker has something to do.
    #[must_use]
    pub fn has_work(&self) -> bool {
        match self.runner {
            RunnerState::Busy => false,
            RunnerState::Unopened => true,
            RunnerState::Idle(_) => {
                !self.waiting.is_empty()
                    || self.inbound.get(usize::from(self.stage)).is_some_and(StageInbound::is_complete)
            }
        }
    }

    /// A runner of its program, as `programs` make it.
    ///
    /// # Errors
    /// As [`StagePrograms::begin`]; `busy` if the program has other stages than it says.
    pub fn runner(
        begin: &BeginTravel,
        limits: StageLimits,
        programs: &dyn StagePrograms,
    ) -> Result<Box<dyn StageRunner>> {
        let runner = programs.begin(&begin.program, limits)?;
        if runner.stages() != begin.stages {
            return Err(Error::new(ErrorKind::Busy, "a program has other stages than its query says"));
        }
        Ok(runner)
    }

    /// A worker is through with what it did, which took so long; if that was the end of a stage, with this one.
    pub fn worked(&mut self, now: Duration, running: Box<Running>, stage: u16, took: Duration, is_end: bool) {
        self.runner = RunnerState::Idle(running);
        if let Some(measure) = self.measures.get_mut(usize::from(stage)) {
            measure.time += took;
        }
        if is_end {
            self.stage = stage + 1;
        }
        self.has_news(now);
    }

    /// A worker has opened it.
    pub fn opened(&mut self, now: Duration, running: Box<Running>) {
        self.runner = RunnerState::Idle(running);
        self.has_news(now);
    }

    /// A stage has made rows. The message with them, if it goes to another node; what goes to this one is taken.
    ///
    /// # Errors
    /// `limit` if more would be kept than may be.
    pub fn send(
        &mut self,
        now: Duration,
        stage: u16,
        (target, rows): (RowsTarget, EncodedRows),
        is_last: bool,
        budget: &dyn Budget,
    ) -> Result<Option<Outgoing>> {
        let next = stage + 1;
        let place = RowsPlace::from(target);
        let own = self.own();
        let is_result = next == self.begin.stages;
        let message = Arc::new(TravelRows {
            id: self.begin.id,
            incarnation: own.incarnation,
            stage: next,
            number: self.sent.next_number(next, place),
            is_last,
            count: rows.count,
            measures: if is_last && is_result { self.measured(stage, &rows) } else { Vec::new() },
            rows: rows.bytes,
        });
        let to = match target {
            RowsTarget::Place(place) => self.begin.places.get(usize::from(place)).map(|author| author.node),
            RowsTarget::Asker => Some(self.begin.id.asker.node),
        };
        let to = to.filter(|_| is_result == (target == RowsTarget::Asker));
        let to =
            to.ok_or_else(|| Error::invalid(format!("rows of stage {stage} go to no place {target:?}")))?;
        if to == own.node && !is_result {
            // Its number counts, and nobody wants it again.
            let empty = TravelRows { rows: Vec::new(), ..(*message).clone() };
            self.sent.keep(place, Arc::new(empty));
            self.take_own(now, Arc::unwrap_or_clone(message), budget)?;
            return Ok(None);
        }
        if to != own.node && message.rows.len() > CONTENT_BYTES_MAX {
            let text = format!(
                "a row of the query takes {} and cannot go to another node: at most {} can",
                ByteSize(message.rows.len() as u64),
                ByteSize(CONTENT_BYTES_MAX as u64)
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        self.hold(message.rows.len() as u64, budget)?;
        if to != own.node {
            let measure = &mut self.measures[usize::from(stage)];
            measure.sent_rows += u64::from(message.count);
            measure.sent_bytes += message.rows.len() as u64;
            measure.sent_messages += 1;
        }
        self.sent.keep(place, Arc::clone(&message));
        Ok(Some((to, TravelMessage::Rows(Arc::unwrap_or_clone(message)))))
    }

    /// Rows from here for here: they always have room, since nobody sends them again.
    fn take_own(&mut self, now: Duration, rows: TravelRows, budget: &dyn Budget) -> Result<()> {
        let most = std::mem::replace(&mut self.inbound_bytes_max, usize::MAX);
        let taken = self.take(now, self.own().node, rows, budget);
        self.inbound_bytes_max = most;
        taken
    }

    /// What was done so far, with what is sent now.
    fn measured(&self, stage: u16, rows: &EncodedRows) -> Vec<StageMeasure> {
        let mut measures = self.measures.clone();
        if self.begin.id.asker.node != self.own().node
            && let Some(measure) = measures.get_mut(usize::from(stage))
        {
            measure.sent_rows += u64::from(rows.count);
            measure.sent_bytes += rows.bytes.len() as u64;
            measure.sent_messages += 1;
        }
        measures
    }

    /// Where rows of a stage go, each once at least: the last message to each says that it is.
    pub fn targets(&self, stage: u16) -> Vec<RowsTarget> {
        match stage + 1 == self.begin.stages {
            true => vec![RowsTarget::Asker],
            false => (0..self.begin.places.len() as u16).map(RowsTarget::Place).collect(),
        }
    }

    /// The node `from` wants rows of a stage again.
    pub fn wanted(&self, from: NodeId, stage: u16, number: u32, out: &mut Vec<Outgoing>) {
        let place = match stage == self.begin.stages {
            true if from == self.begin.id.asker.node => Some(RowsPlace::Asker),
            true => None,
            false => {
                let place = self.begin.places.iter().position(|place| place.node == from);
                place.map(|place| RowsPlace::At(place as u16))
            }
        };
        let Some(place) = place else { return };
        let again = self.sent.wanted(stage, place, number).iter();
        out.extend(again.map(|rows| (from, TravelMessage::Rows((**rows).clone()))));
    }

    /// Asks for what is missing, if that is due at `now`.
    pub fn want(&mut self, now: Duration, out: &mut Vec<Outgoing>) {
        let is_idle = matches!(self.runner, RunnerState::Idle(_)) && !self.has_work();
        if !is_idle {
            self.has_news(now);
            return;
        }
        let is_due = self.want_at <= now || std::mem::take(&mut self.has_dropped);
        if !is_due {
            return;
        }
        self.want_wait = (self.want_wait * 2).min(WANT_WAIT_MAX);
        self.want_at = now.saturating_add(self.want_wait);
        let (id, asker) = (self.begin.id, self.begin.id.asker.node);
        if let Some(stage) = self.inbound.get(usize::from(self.stage)) {
            for (sender, from) in stage.missing() {
                let node = if self.stage == 0 { asker } else { self.begin.places[sender].node };
                out.push((node, TravelMessage::Want { id, stage: self.stage, from }));
            }
        }
        // The end may have been lost.
        out.push((asker, TravelMessage::Want { id, stage: ASKED_STAGE, from: 0 }));
    }
}

impl fmt::Debug for Journey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Journey");
        out.field("id", &self.begin.id).field("stage", &self.stage).field("waiting", &self.waiting.len());
        out.field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Drop for Journey {
    fn drop(&mut self) {
        // A worker may be at it.
        self.cancel.cancel();
    }
}
