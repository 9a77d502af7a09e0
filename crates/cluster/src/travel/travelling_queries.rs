//! Travelling queries: all queries whose stages run on this node, and those that were asked here.
//!
//! ```text
//! query's thread ── ask, send, next_results, end ──┐
//! thread of the node ── take, step, next_message ──┼──> one lock ──> messages for other nodes
//! workers ── next_work, send, worked ──────────────┘        └──> whoever waits is woken
//! ```
//!
//! What goes to the node itself takes no network. Messages that come before their query begins are kept for a moment: networks
//! may turn the order round.

use crate::digest::SeenLog;
use crate::record_id::NodeId;
use crate::remote::admission::ReadableLog;
use crate::tables::cluster_tables::ClusterTables;
use crate::travel::journey::{Journey, Running, StageInput, StageWork};
use crate::travel::message::{BeginTravel, TravelFailure, TravelId, TravelMessage};
use crate::travel::open_queries::{AskedState, OpenQueries, ended};
use crate::travel::silence::TakenFrames;
use crate::travel::travel_options::{OpenTravels, TravelCounts, TravelParts};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::stage_programs::StageProgress;
use evergraph_graph::travel::{EncodedRows, PROGRAM_BYTES_MAX, RowsTarget, STAGES_MAX, TravelProgram};
use evergraph_storage::sync::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// All queries of a node. Clones are the same.
///
/// # Concurrency
///
/// One lock orders everything. Inside it readers of the node are locked and budgets are asked, and nothing waits; graphs are opened
/// and closed and stages run outside of it.
#[derive(Clone)]
pub struct TravellingQueries {
    shared: Arc<Shared>,
}

struct Shared {
    parts: TravelParts,
    state: Mutex<OpenQueries>,
    /// A worker has something to do, or the end has come.
    work: Condvar,
    /// A query has news for whoever asked.
    results: Condvar,
}

impl TravellingQueries {
    /// None yet.
    #[must_use]
    pub fn new(parts: TravelParts) -> Self {
        let state = Mutex::new(OpenQueries::new(parts.clone()));
        let (work, results) = (Condvar::new(), Condvar::new());
        Self { shared: Arc::new(Shared { parts, state, work, results }) }
    }

    /// What it needs of the node.
    #[must_use]
    pub fn parts(&self) -> &TravelParts {
        &self.shared.parts
    }

    /// What the node has sent and read.
    #[must_use]
    pub fn counts(&self) -> TravelCounts {
        self.shared.state.lock().counts
    }

    /// Queries that have not ended.
    #[must_use]
    pub fn open(&self) -> OpenTravels {
        let state = self.shared.state.lock();
        OpenTravels { asked: state.asked.len(), running: state.journeys.len() }
    }

    /// Nothing runs from here on: workers end, and whoever waits hears of it.
    pub fn end_all(&self) {
        let mut state = self.shared.state.lock();
        state.has_ended = true;
        let gone = (std::mem::take(&mut state.journeys), std::mem::take(&mut state.later));
        let ended = std::mem::take(&mut state.gone);
        drop(state);
        drop((gone, ended));
        self.shared.work.notify_all();
        self.shared.results.notify_all();
    }

    // ---- whoever asks

    /// Asks for a program to be run at the snapshot `at`, which somebody holds.
    ///
    /// # Errors
    /// `invalid` for a program past the limits; `busy` if too many run.
    pub fn ask(&self, at: SeenLog, program: TravelProgram) -> Result<TravelId> {
        let fits = (1..=STAGES_MAX).contains(&program.stages) && program.bytes.len() <= PROGRAM_BYTES_MAX;
        if !fits {
            return Err(Error::invalid("a program that travels has too many stages or bytes"));
        }
        let mut state = self.shared.state.lock();
        if state.has_ended {
            return Err(Error::new(ErrorKind::Io, "the node has stopped"));
        }
        if state.asked.len() >= self.shared.parts.options.queries_max {
            return Err(Error::new(
                ErrorKind::Busy,
                "too many queries run on several nodes: try again in a moment",
            ));
        }
        state.numbers += 1;
        state.counts.runs_asked += 1;
        let id = TravelId { asker: self.shared.parts.author, number: state.numbers };
        state.asked.insert(id, AskedState::Requested);
        state.requests.push_back((id, at, program));
        drop(state);
        self.shared.parts.waker.wake_by_ref();
        Ok(id)
    }

    /// Looks; if `look` finds nothing, waits until a query has news, for `time` at most, and looks once more.
    pub(super) fn wait<T>(
        &self,
        time: Duration,
        look: impl Fn(&Self, &mut OpenQueries) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.shared.state.lock();
        if let Some(found) = look(self, &mut state) {
            return Some(found);
        }
        let (mut state, _) = self.shared.results.wait_timeout(state, time);
        look(self, &mut state)
    }

    /// Sends first rows, or says to all places that no more follow.
    pub(super) fn send_first(&self, id: TravelId, rows: Option<(u16, EncodedRows)>) -> Result<()> {
        let budget = &*self.shared.parts.budget;
        let mut state = self.shared.state.lock();
        let mut out = Vec::new();
        let asked = match state.asked.get_mut(&id) {
            Some(AskedState::Begun(asked)) => asked,
            _ => return Err(ended()),
        };
        match rows {
            Some((place, rows)) => out.extend(asked.send(place, rows, false, budget)),
            None => {
                let places = asked.begun().places.len() as u16;
                let none = || EncodedRows { count: 0, bytes: Vec::new() };
                out.extend((0..places).filter_map(|place| asked.send(place, none(), true, budget)));
            }
        }
        let error = asked.error();
        state.put(out);
        self.wake_waiters(state);
        self.shared.parts.waker.wake_by_ref();
        error.map_or(Ok(()), Err)
    }

    /// Whoever asked waits no longer: the query ends everywhere.
    pub fn end(&self, id: TravelId) {
        let mut state = self.shared.state.lock();
        let mut out = Vec::new();
        state.requests.retain(|(request, ..)| *request != id);
        state.sent_before.retain(|(of, ..)| *of != id);
        state.drop_rows(id);
        if let Some(AskedState::Begun(asked)) = state.asked.remove(&id) {
            asked.end_everywhere(&mut out);
        }
        state.put(out);
        self.wake_waiters(state);
        self.shared.parts.waker.wake_by_ref();
    }

    /// Ends the lock, and wakes those who have something to do now. A node takes thousands of messages and steps a second, most of
    /// which are news for nobody, or for one worker.
    fn wake_waiters(&self, state: MutexGuard<'_, OpenQueries>) {
        let (with_work, has_news) = (state.count_with_work(), state.has_news());
        unlock(state);
        match with_work {
            0 => {}
            1 => self.shared.work.notify_one(),
            _ => self.shared.work.notify_all(),
        }
        if has_news {
            self.shared.results.notify_all();
        }
    }

    // ---- the thread of the node

    /// When something came from a node last.
    #[cfg(test)]
    pub(crate) fn heard_at(&self, node: NodeId) -> Option<Duration> {
        self.shared.state.lock().heard.get(&node).copied()
    }

    /// The nodes that run a query that was asked here.
    #[cfg(test)]
    pub(crate) fn nodes_of(&self, id: TravelId) -> BTreeSet<NodeId> {
        match self.shared.state.lock().asked.get(&id) {
            Some(AskedState::Begun(asked)) => asked.begun().places.iter().map(|place| place.node).collect(),
            _ => BTreeSet::new(),
        }
    }

    /// What a query that was asked here has failed by.
    #[cfg(test)]
    pub(crate) fn error_of(&self, id: TravelId) -> Option<Error> {
        match self.shared.state.lock().asked.get(&id) {
            Some(AskedState::Begun(asked)) => asked.error(),
            _ => None,
        }
    }

    /// Something came from a node: whoever takes frames says so of each that is a sign of life, those of queries included.
    pub fn heard(&self, now: Duration, from: NodeId) {
        self.shared.state.lock().heard.insert(from, now);
    }

    /// A message came from a node. `log` is what this one has applied.
    pub fn take(&self, now: Duration, from: NodeId, message: TravelMessage, log: &ReadableLog<'_>) {
        let mut state = self.shared.state.lock();
        state.take_in(now, from, message, log);
        self.wake_waiters(state);
    }

    /// Does what is due at `now`, when these of the frames that came have been taken. `log` and `tables` are those of this node.
    pub fn step(&self, now: Duration, taken: TakenFrames, log: &ReadableLog<'_>, tables: &ClusterTables) {
        let mut state = self.shared.state.lock();
        state.step(now, taken, log, tables);
        self.wake_waiters(state);
    }

    /// Queries that have ended here since this was asked last: their rows need not be sent any more.
    #[must_use]
    pub fn take_over(&self) -> BTreeSet<TravelId> {
        std::mem::take(&mut self.shared.state.lock().over)
    }

    /// The next message for another node, and until when it is of use.
    pub fn next_message(&self) -> Option<(NodeId, TravelMessage, Duration)> {
        self.shared.state.lock().messages.pop_front()
    }

    /// When the thread of the node has something to do.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        let state = self.shared.state.lock();
        let has_more = !state.messages.is_empty() || !state.requests.is_empty();
        if has_more { Some(Duration::ZERO) } else { state.next_at }
    }

    // ---- workers

    /// Waits for something to do; `None` at the end.
    pub(super) fn wait_for_work(&self) -> Option<(TravelId, Arc<BeginTravel>, StageWork)> {
        let mut state = self.shared.state.lock();
        loop {
            if state.has_ended {
                return None;
            }
            if let Some(work) = state.next_work() {
                return Some(work);
            }
            state = self.shared.work.wait(state);
        }
    }

    /// Something to do, if there is.
    pub fn next_work(&self) -> Option<(TravelId, Arc<BeginTravel>, StageWork)> {
        self.shared.state.lock().next_work()
    }

    /// What ends the reads of a query; `None` if it has ended.
    pub(super) fn cancel_of(&self, id: TravelId) -> Option<CancelFlag> {
        self.shared.state.lock().journeys.get(&id).map(|journey| journey.cancel().clone())
    }

    /// Until when a query is waited for.
    pub(super) fn ends_at(&self, id: TravelId) -> Option<Duration> {
        self.shared.state.lock().journeys.get(&id).map(Journey::ends_at)
    }

    /// Where rows of a stage go.
    pub(super) fn targets(&self, id: TravelId, stage: u16) -> Vec<RowsTarget> {
        self.shared.state.lock().journeys.get(&id).map_or(Vec::new(), |journey| journey.targets(stage))
    }

    /// A stage has read so many edges.
    pub(super) fn count_edges(&self, id: TravelId, stage: u16, edges: u64) {
        if edges == 0 {
            return;
        }
        let mut state = self.shared.state.lock();
        state.counts.edges_read += edges;
        if let Some(journey) = state.journeys.get_mut(&id) {
            journey.count_edges(stage, edges);
        }
    }

    /// A stage has made rows for each of these targets; `is_last` says that they are its last ones there.
    ///
    /// # Errors
    /// `cancelled` if the query has ended; `limit` if more would be kept than may be.
    pub(super) fn send(
        &self,
        id: TravelId,
        stage: u16,
        rows: impl IntoIterator<Item = (RowsTarget, EncodedRows)>,
        is_last: bool,
    ) -> Result<()> {
        let (now, budget) = (self.shared.parts.clock.now(), &*self.shared.parts.budget);
        let mut state = self.shared.state.lock();
        let journey = state.journeys.get_mut(&id).ok_or_else(ended)?;
        let mut out = Vec::new();
        let sent = rows.into_iter().try_for_each(|rows| {
            out.extend(journey.send(now, stage, rows, is_last, budget)?);
            Ok(())
        });
        let is_for_others = !out.is_empty();
        state.put(out);
        if is_for_others {
            self.wake_waiters(state);
            self.shared.parts.waker.wake_by_ref();
        }
        sent
    }

    /// A worker is through. It looks for what is next itself.
    pub(super) fn worked(&self, id: TravelId, took: Duration, done: WorkDone) {
        let now = self.shared.parts.clock.now();
        let mut state = self.shared.state.lock();
        let mut unused = None;
        let is_for_others = match (state.journeys.get_mut(&id), done) {
            (Some(journey), WorkDone::Opened(running)) => {
                journey.opened(now, running);
                journey.lacks_rows()
            }
            (Some(journey), WorkDone::Ran { running, input, progress }) => {
                journey.worked(now, running, (input, progress), took);
                journey.lacks_rows()
            }
            // Its runner knows what time was left when it began: that is not what the query may take.
            (Some(journey), WorkDone::Failed(_)) if journey.ends_at() <= now => {
                let failure = TravelFailure::time_over(journey.begun().patience);
                state.forget(id, Some(failure));
                true
            }
            (Some(_), WorkDone::Failed(error)) => {
                state.fail(id, error);
                true
            }
            (None, done) => {
                unused = Some(done);
                false
            }
        };
        if is_for_others {
            self.wake_waiters(state);
            self.shared.parts.waker.wake_by_ref();
        } else {
            unlock(state);
        }
        // A view is closed outside of the lock.
        drop(unused);
    }
}

/// Ends the lock, then drops what has ended inside of it: a graph may be closed with it.
fn unlock(mut state: MutexGuard<'_, OpenQueries>) {
    let gone = std::mem::take(&mut state.gone);
    drop(state);
    drop(gone);
}

/// What a worker has done.
pub(super) enum WorkDone {
    Opened(Box<Running>),
    Ran { running: Box<Running>, input: StageInput, progress: StageProgress },
    Failed(Error),
}

impl fmt::Debug for TravellingQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpenTravels { asked, running } = self.open();
        f.debug_struct("TravellingQueries").field("asked", &asked).field("running", &running).finish()
    }
}

#[cfg(test)]
mod tests;
