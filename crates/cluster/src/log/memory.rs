//! A log in memory: the messages of one graph, for simulations, with faults from a seed.
//!
//! ```text
//! client ──request──> under way, up to delay_max ──> log ──> answer under way ──> client
//!                      │ refused, lost                │ doubled, late               │ unanswered
//!                      x                              +1                            x
//! ```
//!
//! Time stands still until [`MemoryLog::advance_to`]. The same seed, the same calls in the same order and the same times give
//! the same log, the same answers and the same errors.
//!
//! A node in a thread of its own connects with a waker ([`MemoryLog::connect_waking`]), and sleeps until that rings.
//!
//! Faults by chance are those that a log may have while it keeps to [`SharedLog`]. What no log may do is done on demand:
//! [`MemoryLog::lose_suffix`], [`MemoryLog::restore`].

use crate::log::memory::clients::{ClientId, Clients, Stream};
use crate::log::shared_log::{AppendId, EndId, LogAnswer, LogError, LogMessage, SharedLog};
use crate::log_position::LogPosition;
use crate::record::message::MESSAGE_BYTES_MAX;
use crate::seeded::{EventQueue, OneIn, SeededChance};
use evergraph_storage::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

mod clients;

/// How long a client waits for an answer, before it answers itself that nobody knows.
pub const ANSWER_WAIT: Duration = Duration::from_millis(500);

/// How much later than that an append may still happen.
const LATENESS_MAX: Duration = Duration::from_millis(2000);

/// What goes wrong by chance, and how often. By default nothing does, and everything happens at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogFaults {
    /// How long a request is under way, and its answer again, at most.
    pub delay_max: Duration,
    /// A request is refused: it does not happen.
    pub refused: OneIn,
    /// An append never happens, and its outcome is unknown.
    pub lost: OneIn,
    /// An append happens, and its outcome is unknown.
    pub unanswered: OneIn,
    /// An append happens after its outcome was called unknown.
    pub late: OneIn,
    /// An append happens twice.
    pub doubled: OneIn,
    /// Positions before a message stay empty.
    pub gap: OneIn,
    /// A stream does not show yet what is in the log: its reader sees a prefix.
    pub lag: OneIn,
    /// A stream breaks off.
    pub cut: OneIn,
}

/// Whether streams go on over a loss that the log itself does not notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenStreams {
    /// They do, at the position that they had reached.
    GoOn,
    /// They break off, as when brokers start again.
    BreakOff,
}

/// What a log says to whoever asks where it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndAnswers {
    /// Its end, as etcd does.
    Position,
    /// That a barrier is needed, as NATS does.
    BarrierNeeded,
}

/// A log in memory, which any number of clients use.
#[derive(Debug)]
pub struct MemoryLog {
    state: Arc<Mutex<LogState>>,
}

/// What a [`MemoryLog`] held at a moment.
#[derive(Clone, Debug)]
pub struct MemoryLogCopy {
    kept: KeptMessages,
}

/// A node's connection to a [`MemoryLog`]. What it asked for goes on after it is dropped.
#[derive(Debug)]
pub struct MemoryLogClient {
    state: Arc<Mutex<LogState>>,
    client: ClientId,
}

#[derive(Clone, Debug)]
struct KeptMessages {
    messages: BTreeMap<LogPosition, Arc<[u8]>>,
    /// Where it begins: what lay before was trimmed.
    first: LogPosition,
    /// The newest message that it ever had, trimmed or not.
    end: LogPosition,
}

#[derive(Debug)]
struct LogState {
    chance: SeededChance,
    faults: LogFaults,
    end_answers: EndAnswers,
    now: Duration,
    kept: KeptMessages,
    events: EventQueue<LogEvent>,
    clients: Clients,
}

#[derive(Debug)]
enum LogEvent {
    /// A message is put into the log; its client is told, unless it no longer waits.
    Append {
        message: Arc<[u8]>,
        waiting: Option<(ClientId, AppendId)>,
    },
    End {
        client: ClientId,
        id: EndId,
    },
    Trim {
        client: ClientId,
        first: LogPosition,
    },
    Answer {
        client: ClientId,
        answer: LogAnswer,
    },
    /// What a stream did not show is there now.
    Shown {
        client: ClientId,
    },
}

impl MemoryLog {
    /// A log without messages, at time zero.
    #[must_use]
    pub fn new(seed: u64, faults: LogFaults) -> Self {
        let first = LogPosition::START.next();
        let kept = KeptMessages { messages: BTreeMap::new(), first, end: LogPosition::START };
        let state = LogState {
            chance: SeededChance::new(seed),
            faults,
            end_answers: EndAnswers::Position,
            now: Duration::ZERO,
            kept,
            events: EventQueue::default(),
            clients: Clients::default(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// One more connection.
    #[must_use]
    pub fn connect(&self) -> MemoryLogClient {
        self.connect_client(None)
    }

    /// The same, of a node that sleeps: `waker` is woken when there is an answer, a message, or the end of a stream. It must not
    /// reach the log.
    #[must_use]
    pub fn connect_waking(&self, waker: Waker) -> MemoryLogClient {
        self.connect_client(Some(waker))
    }

    fn connect_client(&self, waker: Option<Waker>) -> MemoryLogClient {
        let client = self.state.lock().clients.connect(waker);
        MemoryLogClient { state: Arc::clone(&self.state), client }
    }

    /// From now on other things go wrong. What is under way stays as it was planned.
    pub fn set_faults(&self, faults: LogFaults) {
        self.state.lock().faults = faults;
    }

    /// What is said to whoever asks for the end from now on. At first it is the end.
    pub fn set_end_answers(&self, answers: EndAnswers) {
        self.state.lock().end_answers = answers;
    }

    /// Moves the time on: what is due by then happens. An earlier time changes nothing.
    pub fn advance_to(&self, now: Duration) {
        let mut state = self.state.lock();
        state.now = state.now.max(now);
        state.settle();
    }

    /// When something happens next, without a new request.
    #[must_use]
    pub fn next_event_at(&self) -> Option<Duration> {
        self.state.lock().events.next_at()
    }

    /// What is in the log now, in order.
    #[must_use]
    pub fn messages(&self) -> Vec<LogMessage> {
        self.messages_from(LogPosition::START)
    }

    /// The same, from `first` on.
    #[must_use]
    pub fn messages_from(&self, first: LogPosition) -> Vec<LogMessage> {
        self.state.lock().kept.messages.range(first..).map(message_of).collect()
    }

    /// Breaks off all streams.
    pub fn cut(&self) {
        self.state.lock().cut();
    }

    /// Loses the newest `count` messages, though they were acknowledged. Their positions are given again.
    pub fn lose_suffix(&self, count: usize, streams: OpenStreams) {
        let mut state = self.state.lock();
        let kept = &mut state.kept;
        for _ in 0..count {
            kept.messages.pop_last();
        }
        // Of a log without messages the end is known by where it begins.
        let before_first = LogPosition(kept.first.0 - 1);
        kept.end = kept.messages.last_key_value().map_or(before_first, |(position, _)| *position);
        if streams == OpenStreams::BreakOff {
            state.cut();
        }
    }

    /// A copy of what is in the log now, as a backup of it would have.
    #[must_use]
    pub fn copy(&self) -> MemoryLogCopy {
        MemoryLogCopy { kept: self.state.lock().kept.clone() }
    }

    /// Puts a copy in place of what is in the log. All streams break off; requests that are under way arrive.
    pub fn restore(&self, copy: &MemoryLogCopy) {
        let mut state = self.state.lock();
        state.kept = copy.kept.clone();
        state.cut();
    }
}

impl LogState {
    /// How long a message to the log, or from it, is under way.
    fn delay(&mut self) -> Duration {
        self.chance.up_to(self.faults.delay_max)
    }

    fn plan_answer(&mut self, at: Duration, client: ClientId, answer: LogAnswer) {
        self.events.plan(at, LogEvent::Answer { client, answer });
    }

    /// Everything that is due happens.
    fn settle(&mut self) {
        while let Some((at, event)) = self.events.take_due(self.now) {
            self.happen(at, event);
        }
    }

    fn happen(&mut self, at: Duration, event: LogEvent) {
        match event {
            LogEvent::Append { message, waiting } => {
                let position = self.put(message);
                self.clients.wake_all();
                if let Some((client, id)) = waiting {
                    let at = at + self.delay();
                    self.plan_answer(at, client, LogAnswer::Append { id, result: Ok(position) });
                }
            }
            LogEvent::End { client, id } => {
                let at = at + self.delay();
                let result = match self.end_answers {
                    EndAnswers::Position => Ok(self.kept.end),
                    EndAnswers::BarrierNeeded => Err(LogError::BarrierNeeded),
                };
                self.plan_answer(at, client, LogAnswer::End { id, result });
            }
            LogEvent::Trim { client, first } => {
                self.kept.trim(first);
                let at = at + self.delay();
                self.plan_answer(at, client, LogAnswer::Trim { first, result: Ok(()) });
            }
            LogEvent::Answer { client, answer } => self.clients.answer(client, answer),
            LogEvent::Shown { client } => self.clients.wake(client),
        }
    }

    fn put(&mut self, message: Arc<[u8]>) -> LogPosition {
        let skipped = if self.chance.happens(self.faults.gap) { 1 + self.chance.below(3) } else { 0 };
        let position = LogPosition(self.kept.end.0 + 1 + skipped);
        self.kept.end = position;
        self.kept.messages.insert(position, message);
        position
    }

    /// A message does not come yet. Whoever asks again sees it; whoever sleeps is woken a little later.
    fn hide(&mut self, client: ClientId, hidden: Option<LogMessage>) -> Option<LogMessage> {
        if hidden.is_some() && self.clients.sleeps(client) {
            let at = self.now + self.delay();
            self.events.plan(at, LogEvent::Shown { client });
        }
        None
    }

    fn cut(&mut self) {
        self.clients.cut(&unavailable("the connection broke"));
    }
}

impl KeptMessages {
    fn trim(&mut self, first: LogPosition) {
        let first = first.min(self.end.next());
        if first > self.first {
            self.messages = self.messages.split_off(&first);
            self.first = first;
        }
    }

    fn stream_from(&self, first: LogPosition, seen: LogPosition) -> Stream {
        if self.end < seen {
            Stream::Broken(LogError::LostSuffix { position: seen, end: self.end })
        } else if first < self.first {
            Stream::Broken(LogError::Trimmed { first: self.first })
        } else {
            Stream::At(first)
        }
    }
}

fn message_of((position, bytes): (&LogPosition, &Arc<[u8]>)) -> LogMessage {
    LogMessage { position: *position, bytes: Arc::clone(bytes) }
}

fn unavailable(reason: &str) -> LogError {
    LogError::Unavailable { reason: reason.to_owned() }
}

impl SharedLog for MemoryLogClient {
    fn append(&mut self, id: AppendId, message: Arc<[u8]>) {
        assert!(message.len() <= MESSAGE_BYTES_MAX, "a message of {} bytes is appended", message.len());
        let (mut state, client) = (self.state.lock(), self.client);
        let (faults, arrives) = (state.faults, state.now + state.delay());
        let answers_itself = state.now + ANSWER_WAIT;
        let unknown = LogAnswer::Append { id, result: Err(LogError::UnknownOutcome) };
        if state.chance.happens(faults.refused) {
            let result = Err(unavailable("the log has no leader"));
            state.plan_answer(arrives, client, LogAnswer::Append { id, result });
        } else if state.chance.happens(faults.lost) {
            state.plan_answer(answers_itself, client, unknown);
        } else if state.chance.happens(faults.unanswered) {
            state.events.plan(arrives, LogEvent::Append { message, waiting: None });
            state.plan_answer(answers_itself, client, unknown);
        } else if state.chance.happens(faults.late) {
            let late = answers_itself + state.chance.up_to(LATENESS_MAX);
            state.plan_answer(answers_itself, client, unknown);
            state.events.plan(late, LogEvent::Append { message, waiting: None });
        } else {
            let again = state.chance.happens(faults.doubled).then(|| Arc::clone(&message));
            state.events.plan(arrives, LogEvent::Append { message, waiting: Some((client, id)) });
            if let Some(message) = again {
                let at = arrives + state.delay();
                state.events.plan(at, LogEvent::Append { message, waiting: None });
            }
        }
        state.settle();
    }

    fn end(&mut self, id: EndId) {
        let (mut state, client) = (self.state.lock(), self.client);
        let (faults, arrives) = (state.faults, state.now + state.delay());
        if state.chance.happens(faults.refused) {
            let result = Err(unavailable("the log has no leader"));
            state.plan_answer(arrives, client, LogAnswer::End { id, result });
        } else {
            state.events.plan(arrives, LogEvent::End { client, id });
        }
        state.settle();
    }

    fn trim(&mut self, first: LogPosition) {
        let (mut state, client) = (self.state.lock(), self.client);
        let (faults, arrives) = (state.faults, state.now + state.delay());
        if state.chance.happens(faults.refused) {
            let result = Err(unavailable("the log has no leader"));
            state.plan_answer(arrives, client, LogAnswer::Trim { first, result });
        } else {
            state.events.plan(arrives, LogEvent::Trim { client, first });
        }
        state.settle();
    }

    fn next_answer(&mut self) -> Option<LogAnswer> {
        self.state.lock().clients.take_answer(self.client)
    }

    fn read_from(&mut self, first: LogPosition, seen: LogPosition) {
        let mut state = self.state.lock();
        let stream = state.kept.stream_from(first, seen);
        state.clients.set_stream(self.client, stream);
    }

    fn next_message(&mut self) -> Result<Option<LogMessage>, LogError> {
        let mut state = self.state.lock();
        let faults = state.faults;
        let at = match state.clients.take_stream(self.client) {
            None => return Ok(None),
            Some(Stream::Broken(error)) => return Err(error),
            Some(Stream::At(at)) => at,
        };
        if at < state.kept.first {
            return Err(LogError::Trimmed { first: state.kept.first });
        }
        if state.chance.happens(faults.cut) {
            return Err(unavailable("the connection broke"));
        }
        let is_hidden = state.chance.happens(faults.lag);
        let next = state.kept.messages.range(at..).next().map(message_of);
        let next = if is_hidden { state.hide(self.client, next) } else { next };
        let goes_on = next.as_ref().map_or(at, |message| message.position.next());
        state.clients.set_stream(self.client, Stream::At(goes_on));
        Ok(next)
    }
}

impl Drop for MemoryLogClient {
    fn drop(&mut self) {
        self.state.lock().clients.drop_client(self.client);
    }
}

#[cfg(test)]
mod tests;
