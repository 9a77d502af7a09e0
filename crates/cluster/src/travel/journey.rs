//! Journey: one query at one node that runs its stages.
//!
//! ```text
//! Rows ──> new? room? ──> waiting ──> worker: take, in pieces ──> rows by place ──> kept until the receiver has them, and sent
//!                                        └── all of stage n have come and were taken ──> worker: end of stage n
//! ```
//!
//! A worker has the runner while it runs: nobody else runs the query then, and nobody waits for it. A runner that pauses comes back
//! and waits for its turn, so that a long stage leaves its worker to other queries.

use crate::node::readers::OpenReader;
use crate::planted::{Bug, planted};
use crate::record_id::{Author, NodeId};
use crate::remote::question::CONTENT_BYTES_MAX;
use crate::travel::held_rows::HeldRows;
use crate::travel::message::{ASKED_STAGE, BeginTravel, Outgoing, TravelMessage, TravelRows};
use crate::travel::sent_rows::{RowsPlace, SentRows};
use crate::travel::stage_inbound::StageInbound;
use crate::travel::stage_view::StageView;
use evergraph_graph::budget::Budget;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::stage_programs::{StageLimits, StagePrograms, StageProgress, StageRunner};
use evergraph_graph::travel::{EncodedRows, RowsTarget, StageMeasure, TravelStart};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// From so many bytes of rows on a worker takes them before all of their stage have come. Of a small stage each node sends each
/// other one a short message: waking a worker for each costs more than what it does then.
const PILE_BYTES: usize = 16 << 10;
/// How often at most somebody is asked for what is missing.
const WANT_WAIT_MAX: Duration = Duration::from_secs(2);

/// A query at this node.
pub struct Journey {
    begin: Arc<BeginTravel>,
    /// The number of this node in it.
    place: u16,
    ends_at: Duration,
    /// Set when it ends.
    cancel: CancelFlag,
    runner: RunnerState,
    /// What the runner has paused with.
    paused: Option<StageInput>,
    inbound: Vec<StageInbound>,
    waiting: VecDeque<Arc<TravelRows>>,
    /// The stage that ends next.
    stage: u16,
    sent: SentRows,
    /// Rows that wait, and those that are kept.
    held: HeldRows,
    /// The most bytes of rows that wait.
    inbound_bytes_max: usize,
    inbound_bytes: usize,
    /// Whether more is known to be kept for this node: it had no room, or was not sent again yet.
    has_more: bool,
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
    /// Runs a stage.
    Run(Box<Running>, StageStep),
}

/// What a stage does next.
pub enum StageStep {
    /// Takes rows.
    Take(Arc<TravelRows>),
    /// Ends.
    End(u16),
    /// Goes on where it has paused.
    GoOn(StageInput),
}

/// What a stage works on: rows, or its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StageInput {
    /// Which stage.
    pub stage: u16,
    /// Whether it ends with that.
    pub is_end: bool,
}

impl StageStep {
    /// What it works on.
    #[must_use]
    pub fn input(&self) -> StageInput {
        match self {
            Self::Take(rows) => StageInput { stage: rows.stage, is_end: false },
            Self::End(stage) => StageInput { stage: *stage, is_end: true },
            Self::GoOn(input) => *input,
        }
    }
}

/// How much one query may hold and how it waits.
#[derive(Clone, Copy, Debug)]
pub struct JourneyLimits {
    /// The most bytes of rows that wait; a message that has no room is dropped, and wanted later. So many are sent again at
    /// once, too.
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
            held: HeldRows::new(begin.memory_bytes),
            begin,
            place,
            ends_at,
            cancel: CancelFlag::default(),
            runner: RunnerState::Unopened,
            paused: None,
            inbound,
            waiting: VecDeque::new(),
            stage: 0,
            sent: SentRows::default(),
            inbound_bytes_max: limits.inbound_bytes_max,
            inbound_bytes: 0,
            has_more: false,
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
    pub fn take(
        &mut self,
        now: Duration,
        from: NodeId,
        rows: Arc<TravelRows>,
        budget: &dyn Budget,
    ) -> Result<()> {
        // What goes from here to here always has room: nobody sends it again.
        let bytes_max =
            if from == self.own().node && rows.stage > 0 { usize::MAX } else { self.inbound_bytes_max };
        let Some(sender) = self.sender(from, &rows) else { return Ok(()) };
        let Some(stage) = self.inbound.get_mut(usize::from(rows.stage)) else { return Ok(()) };
        if !stage.is_new(sender, rows.number) {
            return Ok(());
        }
        let bytes = rows.rows.len();
        if self.inbound_bytes + bytes > bytes_max && !self.waiting.is_empty() {
            self.has_more = true;
            return Ok(());
        }
        stage.take(sender, rows.number, rows.is_last);
        if rows.is_last && rows.stage > 0 {
            // The sender ended the stage before, so that it has all rows for that.
            self.held.give_back(self.sent.forget(sender as u16, rows.stage));
        }
        self.has_news(now);
        if rows.count > 0 {
            self.held.take(bytes as u64, budget)?;
            self.inbound_bytes += bytes;
            self.waiting.push_back(rows);
        }
        Ok(())
    }

    /// A sender of this stage keeps more than it has sent again.
    pub fn more(&mut self, stage: u16) {
        self.has_more |= stage == self.stage;
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
        if let Some(input) = self.paused.take() {
            return Ok(StageWork::Run(running, StageStep::GoOn(input)));
        }
        let is_complete = self.inbound.get(usize::from(self.stage)).is_some_and(StageInbound::is_complete);
        if is_complete && !self.waiting.iter().any(|rows| rows.stage == self.stage) {
            return Ok(StageWork::Run(running, StageStep::End(self.stage)));
        }
        let Some(rows) = self.waiting.pop_front() else { return Err(running) };
        self.inbound_bytes -= rows.rows.len();
        self.held.give_back(rows.rows.len() as u64);
        self.measures[usize::from(rows.stage)].rows += u64::from(rows.count);
        Ok(StageWork::Run(running, StageStep::Take(rows)))
    }

    /// Whether a worker has something to do.
    #[must_use]
    pub fn has_work(&self) -> bool {
        match self.runner {
            RunnerState::Busy => false,
            RunnerState::Unopened => true,
            RunnerState::Idle(_) => {
                self.paused.is_some()
                    || self.is_piled_up()
                    || self.inbound.get(usize::from(self.stage)).is_some_and(StageInbound::is_complete)
            }
        }
    }

    /// Whether rows are taken although their stage lacks some: there are many, or one had no room.
    fn is_piled_up(&self) -> bool {
        let is_urgent = self.has_more || planted(Bug::RowsTakenOneByOne);
        self.inbound_bytes >= PILE_BYTES || (is_urgent && !self.waiting.is_empty())
    }

    /// Whether it has nothing to do, and more is known to be kept for this node: it is wanted at once.
    #[must_use]
    pub fn lacks_rows(&self) -> bool {
        self.has_more && matches!(self.runner, RunnerState::Idle(_)) && !self.has_work()
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

    /// A worker has run a stage for so long, and this is how far it came with its input.
    pub fn worked(
        &mut self,
        now: Duration,
        running: Box<Running>,
        (input, progress): (StageInput, StageProgress),
        took: Duration,
    ) {
        self.runner = RunnerState::Idle(running);
        if let Some(measure) = self.measures.get_mut(usize::from(input.stage)) {
            measure.time += took;
        }
        match progress {
            StageProgress::Paused => self.paused = Some(input),
            StageProgress::Done if input.is_end => self.stage = input.stage + 1,
            StageProgress::Done => {}
        }
        self.has_news(now);
    }

    /// A worker has opened it.
    pub fn opened(&mut self, now: Duration, running: Box<Running>) {
        self.runner = RunnerState::Idle(running);
        self.has_news(now);
    }

    /// A stage has read so many edges.
    pub fn count_edges(&mut self, stage: u16, edges: u64) {
        if let Some(measure) = self.measures.get_mut(usize::from(stage)) {
            measure.edges += edges;
        }
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
            self.sent.keep(place, Arc::new(message.without_rows()));
            self.take(now, own.node, message, budget)?;
            return Ok(None);
        }
        if to == own.node {
            // So are results for whoever asked here.
            self.sent.keep(place, Arc::new(message.without_rows()));
            return Ok(Some((to, TravelMessage::Rows(message))));
        }
        if message.rows.len() > CONTENT_BYTES_MAX {
            let text = format!(
                "a row of the query takes {} and cannot go to another node: at most {} can",
                ByteSize(message.rows.len() as u64),
                ByteSize(CONTENT_BYTES_MAX as u64)
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        self.held.take(message.rows.len() as u64, budget)?;
        let measure = &mut self.measures[usize::from(stage)];
        measure.sent_rows += u64::from(message.count);
        measure.sent_bytes += message.rows.len() as u64;
        measure.sent_messages += 1;
        self.sent.keep(place, Arc::clone(&message));
        Ok(Some((to, TravelMessage::Rows(message))))
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

    /// The node `from` wants rows of a stage again. It is sent as much as it has room for, if it has as much as this one.
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
        let rows = (self.begin.id, stage, place, number);
        self.sent.send_again(from, rows, self.inbound_bytes_max, out);
    }

    /// Asks for what is missing, if that is due at `now`.
    pub fn want(&mut self, now: Duration, out: &mut Vec<Outgoing>) {
        let is_idle = matches!(self.runner, RunnerState::Idle(_)) && !self.has_work();
        if !is_idle {
            self.has_news(now);
            return;
        }
        let has_more = std::mem::take(&mut self.has_more);
        if self.want_at > now && !has_more {
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
        out.field("bytes", &self.held.bytes()).finish_non_exhaustive()
    }
}

impl Drop for Journey {
    fn drop(&mut self) {
        // A worker may be at it.
        self.cancel.cancel();
    }
}
