//! Answer workers: the threads of a node that answer questions about its partitions.
//!
//! ```text
//! thread of the node   begin ── snapshot at S ──> waiting ──> worker: answers, and looks at the clock in between
//!                      next_answer <── answers <───────────────┤
//!                      forget ──> out of the queue, or: stop at the next look
//! ```
//!
//! - The snapshot is taken by the thread of the node, which knows that it can be taken then. It is held until the question is
//!   answered: the store of the partition may be closed meanwhile, or be given up.
//! - A worker begins nothing for whoever waits no longer, and stops at its next look at the clock; looks are as far apart as a
//!   few thousand items of a partition ([`answer_view`]).
//! - Queues have limits: more questions than may wait, of all or of one node, are refused as busy, and while many bytes of answers
//!   wait for the thread of the node no worker begins another question.
//! - Workers take a question of each asking node in turn, so that one that asks much does not go before all others; and one thread
//!   is left for others, however long the questions of one node take.
//! - One wake-up serves several answers. A worker goes on with the next question, and wakes the thread of the node when no question
//!   is left, before a long one ([`is_short`]), or when a finished answer has waited for [`TELL_AFTER`] at a look at the clock.
//!   So the questions of a reader about many partitions wake that thread a few times, not once each, and what it takes at once
//!   travels together ([`crate::node::outbox`]).
//! - Workers call each other: one is called for the first of several questions, and calls the next as it takes one.
//! - A panic ends one question, which has failed, and no thread.

use crate::node::answering::{AnswerQuestions, AskedQuestion};
use crate::node::store_partition::StorePartition;
use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use crate::remote::question::{CONTENT_BYTES_MAX, QuestionId, RefusalReason};
use crate::remote::short_questions::is_short;
use crate::remote::view_answering::answer_view;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::snapshot::index_entries::CheckTime;
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use evergraph_storage::sync::thread::{JoinHandle, spawn};
use evergraph_storage::sync::{Condvar, Mutex};
use std::cell::Cell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// Longest time, about, that a finished answer waits before its worker wakes the thread of the node. A worker answers a few look-ups
/// in this time.
pub const TELL_AFTER: Duration = Duration::from_micros(100);

/// How much a node answers at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerWorkersOptions {
    /// Threads.
    pub threads: usize,
    /// Questions that may wait for a thread.
    pub waiting_max: usize,
    /// Questions of one node that may wait: the rest is for others, who may come at any time.
    pub asker_waiting_max: usize,
    /// Bytes of answers that may wait for the thread of the node before workers wait for it. Each of them may add an answer.
    pub answers_bytes_max: usize,
}

impl Default for AnswerWorkersOptions {
    fn default() -> Self {
        Self { threads: 4, waiting_max: 1024, asker_waiting_max: 768, answers_bytes_max: 64 << 20 }
    }
}

/// An answer, or why there is none.
type Answered = std::result::Result<Vec<u8>, RefusalReason>;

/// Answers a message, and asks now and then whether anybody still waits.
type Work = Box<dyn FnOnce(&[u8], CheckTime<'_>) -> Result<Vec<u8>> + Send>;

/// Threads that answer. Dropped, it stops them, and waits for that.
pub struct AnswerWorkers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// # Concurrency
///
/// The lock orders questions, answers and the end with the sleep of workers. Nothing else is locked inside, and neither work nor
/// its snapshot is dropped there.
struct Shared {
    options: AnswerWorkersOptions,
    /// Threads that the questions of one node may have at once.
    asker_threads_max: usize,
    tell_after: Duration,
    /// Whether the work on a message looks at the clock early and often.
    is_short: fn(&[u8]) -> bool,
    clock: Arc<dyn Clock>,
    /// Wakes the thread of the node.
    waker: Waker,
    state: Mutex<WorkersState>,
    /// There is a question, or room for its answer, or the end has come.
    news: Condvar,
}

#[derive(Default)]
struct WorkersState {
    waiting: WaitingWorks,
    /// What workers are at: each stops where its flag says so.
    working: BTreeMap<QuestionId, Arc<AtomicBool>>,
    answers: VecDeque<(QuestionId, Answered)>,
    answers_bytes: usize,
    /// A worker was called that has not looked yet: it calls the next one.
    is_called: bool,
    has_ended: bool,
}

/// Answers that a worker has finished since it last woke the thread of the node.
#[derive(Default)]
struct UnreportedAnswers {
    /// When the first of them was finished; `None` if there are none.
    since: Cell<Option<Duration>>,
}

impl UnreportedAnswers {
    /// One more is finished at `now`.
    fn add(&self, now: Duration) {
        self.since.set(self.since.get().or(Some(now)));
    }

    fn is_empty(&self) -> bool {
        self.since.get().is_none()
    }

    /// Whether there were any. Now there are none: the caller wakes the thread of the node.
    fn take(&self) -> bool {
        self.since.take().is_some()
    }

    /// As [`UnreportedAnswers::take`], if the first of them has waited for `wait` at `now`.
    fn take_late(&self, now: Duration, wait: Duration) -> bool {
        self.since.get().is_some_and(|since| now.saturating_sub(since) >= wait) && self.take()
    }
}

struct WaitingWork {
    id: QuestionId,
    ends_at: Duration,
    asked: Vec<u8>,
    work: Work,
}

/// What waits for a worker.
#[derive(Default)]
struct WaitingWorks {
    /// Of each node that has something waiting, as it came.
    askers: BTreeMap<NodeId, VecDeque<WaitingWork>>,
    count: usize,
    /// Whose question was taken last.
    served: Option<NodeId>,
    /// How many questions of each node are being answered.
    working: BTreeMap<NodeId, usize>,
}

impl WaitingWorks {
    fn has_room(&self, asker: NodeId, options: &AnswerWorkersOptions) -> bool {
        let of_asker = self.askers.get(&asker).map_or(0, VecDeque::len);
        // The last quarter is for others, who may come at any time.
        let is_within_share = of_asker < options.asker_waiting_max || planted(Bug::AskerUnlimited);
        self.count < options.waiting_max && is_within_share
    }

    fn push(&mut self, work: WaitingWork) {
        self.askers.entry(work.id.asker.node).or_default().push_back(work);
        self.count += 1;
    }

    /// The next one, which is begun: of each asker in turn that has not as many threads as it may.
    fn begin_next(&mut self, asker_threads_max: usize) -> Option<WaitingWork> {
        let asker = self.next_asker(asker_threads_max)?;
        self.served = Some(asker);
        *self.working.entry(asker).or_default() += 1;
        self.take(asker, 0)
    }

    /// Whose question is begun next.
    fn next_asker(&self, asker_threads_max: usize) -> Option<NodeId> {
        let after = self.served.map_or(Bound::Unbounded, Bound::Excluded);
        let in_turn = self.askers.range((after, Bound::Unbounded)).chain(&self.askers);
        let mut askers = in_turn.map(|(asker, _)| *asker);
        askers.find(|asker| self.working.get(asker).is_none_or(|threads| *threads < asker_threads_max))
    }

    /// A question that was begun has ended.
    fn ended(&mut self, asker: NodeId) {
        if let Entry::Occupied(mut threads) = self.working.entry(asker) {
            *threads.get_mut() -= 1;
            if *threads.get() == 0 {
                threads.remove();
            }
        }
    }

    fn remove(&mut self, id: QuestionId) -> Option<WaitingWork> {
        let asker = id.asker.node;
        let at = self.askers.get(&asker)?.iter().position(|waiting| waiting.id == id)?;
        self.take(asker, at)
    }

    fn take(&mut self, asker: NodeId, at: usize) -> Option<WaitingWork> {
        let queue = self.askers.get_mut(&asker)?;
        let taken = queue.remove(at)?;
        if queue.is_empty() {
            self.askers.remove(&asker);
        }
        self.count -= 1;
        Some(taken)
    }
}

impl AnswerWorkers {
    /// Starts the threads of the node `name`. `clock` is that of its thread, which `waker` wakes when there are answers.
    ///
    /// # Errors
    /// What the system says if it has no thread to give.
    ///
    /// # Panics
    /// If there shall be no thread.
    pub fn start(
        name: &str,
        options: AnswerWorkersOptions,
        clock: Arc<dyn Clock>,
        waker: Waker,
    ) -> io::Result<Self> {
        assert!(options.threads > 0, "nobody would answer");
        let (state, news) = (Mutex::default(), Condvar::new());
        let spared = if planted(Bug::AskerTakesAllThreads) { 0 } else { 1 };
        let asker_threads_max = (options.threads - spared).max(1);
        let tell_after = if planted(Bug::AnswersHeldBack) {
            Duration::MAX
        } else if planted(Bug::EachAnswerTold) {
            Duration::ZERO
        } else {
            TELL_AFTER
        };
        let is_short: fn(&[u8]) -> bool =
            if planted(Bug::LongQuestionFirst) { |_: &[u8]| true } else { is_short };
        let shared = Shared { options, asker_threads_max, tell_after, is_short, clock, waker, state, news };
        let shared = Arc::new(shared);
        // Dropped at an error, it ends those that have started.
        let mut workers = Self { shared, threads: Vec::with_capacity(options.threads) };
        for number in 0..options.threads {
            let shared = Arc::clone(&workers.shared);
            workers.threads.push(spawn(&format!("{name}-answers-{number}"), move || shared.run())?);
        }
        Ok(workers)
    }

    /// Questions that wait, and those that are being answered.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        let state = self.shared.state.lock();
        (state.waiting.count, state.working.len())
    }

    fn begin_work(&self, work: WaitingWork) {
        let mut state = self.shared.state.lock();
        if !state.waiting.has_room(work.id.asker.node, &self.shared.options) {
            state.put(work.id, Err(RefusalReason::Busy));
            drop(state);
            // The work goes here, and its snapshot with it.
            drop(work);
            return self.shared.waker.wake_by_ref();
        }
        state.waiting.push(work);
        if !std::mem::replace(&mut state.is_called, true) {
            self.shared.news.notify_one();
        }
    }

    fn refuse(&self, id: QuestionId, reason: RefusalReason) {
        self.shared.state.lock().put(id, Err(reason));
        self.shared.waker.wake_by_ref();
    }

    fn forget_work(&self, id: QuestionId) {
        if planted(Bug::ForgottenWorkGoesOn) {
            return;
        }
        let mut state = self.shared.state.lock();
        if let Some(stop) = state.working.get(&id) {
            return stop.store(true, Ordering::Relaxed);
        }
        let Some(forgotten) = state.waiting.remove(id) else { return };
        state.put(id, Err(RefusalReason::TooLate));
        drop(state);
        drop(forgotten);
        self.shared.waker.wake_by_ref();
    }

    fn take_answer(&self) -> Option<(QuestionId, Answered)> {
        let most = self.shared.options.answers_bytes_max;
        let mut state = self.shared.state.lock();
        let (id, answered) = state.answers.pop_front()?;
        let was_full = state.answers_bytes >= most;
        state.answers_bytes -= bytes_of(&answered);
        if was_full && state.answers_bytes < most {
            self.shared.news.notify_all();
        }
        Some((id, answered))
    }
}

impl WorkersState {
    fn put(&mut self, id: QuestionId, answered: Answered) {
        self.answers_bytes += bytes_of(&answered);
        self.answers.push_back((id, answered));
    }
}

fn bytes_of(answered: &Answered) -> usize {
    answered.as_ref().map_or(0, Vec::len)
}

impl Shared {
    /// What a worker does until the end.
    fn run(&self) {
        let unreported = UnreportedAnswers::default();
        while let Some((next, stop)) = self.next_work(&unreported) {
            let id = next.id;
            let answered = self.answer(next, &stop, &unreported);
            unreported.add(self.clock.now());
            let mut state = self.state.lock();
            state.working.remove(&id);
            state.waiting.ended(id.asker.node);
            state.put(id, answered);
        }
    }

    /// Takes a question, or wakes the thread of the node for all finished answers and waits for one; `None` at the end.
    fn next_work(&self, unreported: &UnreportedAnswers) -> Option<(WaitingWork, Arc<AtomicBool>)> {
        let mut state = self.state.lock();
        loop {
            if state.has_ended {
                return None;
            }
            if state.answers_bytes < self.options.answers_bytes_max
                && let Some(next) = state.waiting.begin_next(self.asker_threads_max)
            {
                let stop = Arc::new(AtomicBool::new(false));
                state.working.insert(next.id, Arc::clone(&stop));
                state.is_called = state.waiting.next_asker(self.asker_threads_max).is_some();
                if state.is_called {
                    self.news.notify_one();
                }
                return Some((next, stop));
            }
            state.is_called = false;
            if unreported.take() && !state.answers.is_empty() {
                drop(state);
                self.waker.wake_by_ref();
                state = self.state.lock();
                continue;
            }
            state = self.news.wait(state);
        }
    }

    fn answer(&self, next: WaitingWork, stop: &AtomicBool, unreported: &UnreportedAnswers) -> Answered {
        let WaitingWork { ends_at, asked, work, .. } = next;
        if !unreported.is_empty() && !(self.is_short)(&asked) {
            // Its first look at the clock may come late.
            unreported.take();
            self.waker.wake_by_ref();
        }
        let check_time = || {
            let now = self.clock.now();
            if unreported.take_late(now, self.tell_after) {
                self.waker.wake_by_ref();
            }
            // Relaxed: the flag says nothing of anything else.
            match stop.load(Ordering::Relaxed) || now >= ends_at {
                true => Err(Error::new(ErrorKind::Cancelled, "nobody waits for the answer any more")),
                false => Ok(()),
            }
        };
        let answer = || check_time().and_then(|()| work(&asked, &check_time));
        // What unwinds was this question's alone: its snapshot only reads.
        match catch_unwind(AssertUnwindSafe(answer)) {
            Ok(answered) => answered.map_err(|error| reason_of(&error)),
            Err(_) => Err(RefusalReason::Failed { reason: "the work on the answer panicked".to_owned() }),
        }
    }
}

/// What the asker hears of an error.
fn reason_of(error: &Error) -> RefusalReason {
    match error.kind() {
        ErrorKind::Conflict => RefusalReason::TooOld,
        ErrorKind::Cancelled => RefusalReason::TooLate,
        _ => RefusalReason::Failed { reason: error.to_string() },
    }
}

impl<E: DurableEngine> AnswerQuestions<StorePartition<E>> for AnswerWorkers {
    fn begin(&mut self, store: &StorePartition<E>, question: AskedQuestion) {
        let AskedQuestion { id, at, ends_at, asked, .. } = question;
        let own = store.own_groups();
        match store.snapshot_at(at.position) {
            Ok(snapshot) => {
                let work = move |asked: &[u8], check_time: CheckTime<'_>| {
                    answer_view(&snapshot, own, asked, CONTENT_BYTES_MAX, check_time)
                };
                self.begin_work(WaitingWork { id, ends_at, asked, work: Box::new(work) });
            }
            Err(error) => self.refuse(id, reason_of(&error)),
        }
    }

    fn forget(&mut self, id: QuestionId) {
        self.forget_work(id);
    }

    fn next_answer(&mut self) -> Option<(QuestionId, Answered)> {
        self.take_answer()
    }
}

impl Drop for AnswerWorkers {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.has_ended = true;
        state.working.values().for_each(|stop| stop.store(true, Ordering::Relaxed));
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
        self.shared.news.notify_all();
        for thread in self.threads.drain(..) {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for AnswerWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waiting, working) = self.count();
        let mut out = f.debug_struct("AnswerWorkers");
        out.field("threads", &self.threads.len())
            .field("waiting", &waiting)
            .field("working", &working)
            .finish()
    }
}

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;
