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

use crate::log::shared_log::{AppendId, EndId, LogAnswer, LogError, LogMessage, SharedLog};
use crate::log_position::LogPosition;
use crate::record::message::MESSAGE_BYTES_MAX;
use crate::seeded::{EventQueue, OneIn, SeededChance};
use evergraph_storage::sync::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

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
    client: u64,
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
    now: Duration,
    kept: KeptMessages,
    events: EventQueue<LogEvent>,
    clients: BTreeMap<u64, Client>,
    clients_connected: u64,
}

#[derive(Debug, Default)]
struct Client {
    answers: VecDeque<LogAnswer>,
    stream: Option<Stream>,
    waker: Option<Waker>,
}

impl Client {
    /// Something has come for it.
    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

#[derive(Debug)]
enum Stream {
    /// The next message is the first one from here on.
    At(LogPosition),
    /// It ends with this.
    Broken(LogError),
}

#[derive(Debug)]
enum LogEvent {
    /// A message is put into the log; its client is told, unless it no longer waits.
    Append {
        message: Arc<[u8]>,
        waiting: Option<(u64, AppendId)>,
    },
    End {
        client: u64,
        id: EndId,
    },
    Trim {
        client: u64,
        first: LogPosition,
    },
    Answer {
        client: u64,
        answer: LogAnswer,
    },
    /// What a stream did not show is there now.
    Shown {
        client: u64,
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
            now: Duration::ZERO,
            kept,
            events: EventQueue::default(),
            clients: BTreeMap::new(),
            clients_connected: 0,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// One more connection.
    #[must_use]
    pub fn connect(&self) -> MemoryLogClient {
        self.connect_client(Client::default())
    }

    /// The same, of a node that sleeps: `waker` is woken when there is an answer, a message, or the end of a stream. It must not
    /// reach the log.
    #[must_use]
    pub fn connect_waking(&self, waker: Waker) -> MemoryLogClient {
        self.connect_client(Client { waker: Some(waker), ..Client::default() })
    }

    fn connect_client(&self, connected: Client) -> MemoryLogClient {
        let mut state = self.state.lock();
        state.clients_connected += 1;
        let client = state.clients_connected;
        state.clients.insert(client, connected);
        MemoryLogClient { state: Arc::clone(&self.state), client }
    }

    /// From now on other things go wrong. What is under way stays as it was planned.
    pub fn set_faults(&self, faults: LogFaults) {
        self.state.lock().faults = faults;
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

    fn plan_answer(&mut self, at: Duration, client: u64, answer: LogAnswer) {
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
                self.clients.values().for_each(Client::wake);
                if let Some((client, id)) = waiting {
                    let at = at + self.delay();
                    self.plan_answer(at, client, LogAnswer::Append { id, result: Ok(position) });
                }
            }
            LogEvent::End { client, id } => {
                let (at, end) = (at + self.delay(), self.kept.end);
                self.plan_answer(at, client, LogAnswer::End { id, result: Ok(end) });
            }
            LogEvent::Trim { client, first } => {
                self.kept.trim(first);
                let at = at + self.delay();
                self.plan_answer(at, client, LogAnswer::Trim { first, result: Ok(()) });
            }
            LogEvent::Answer { client, answer } => {
                if let Some(client) = self.clients.get_mut(&client) {
                    client.answers.push_back(answer);
                    client.wake();
                }
            }
            LogEvent::Shown { client } => {
                if let Some(client) = self.clients.get(&client) {
                    client.wake();
                }
            }
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
    fn hide(&mut self, client: u64, hidden: Option<LogMessage>) -> Option<LogMessage> {
        if hidden.is_some() && self.client(client).waker.is_some() {
            let at = self.now + self.delay();
            self.events.plan(at, LogEvent::Shown { client });
        }
        None
    }

    fn client(&mut self, client: u64) -> &mut Client {
        self.clients.get_mut(&client).expect("a client is there until it is dropped")
    }

    fn cut(&mut self) {
        for client in self.clients.values_mut() {
            // One that has failed already says why.
            if let Some(Stream::At(_)) = client.stream {
                client.stream = Some(Stream::Broken(unavailable("the connection broke")));
                client.wake();
            }
        }
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
        self.state.lock().clients.get_mut(&self.client)?.answers.pop_front()
    }

    fn read_from(&mut self, first: LogPosition, seen: LogPosition) {
        let mut state = self.state.lock();
        let stream = state.kept.stream_from(first, seen);
        state.client(self.client).stream = Some(stream);
    }

    fn next_message(&mut self) -> Result<Option<LogMessage>, LogError> {
        let mut state = self.state.lock();
        let faults = state.faults;
        let at = match state.client(self.client).stream.take() {
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
        state.client(self.client).stream = Some(Stream::At(goes_on));
        Ok(next)
    }
}

impl Drop for MemoryLogClient {
    fn drop(&mut self) {
        self.state.lock().clients.remove(&self.client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::CountingBell;

    const DELAYED: LogFaults = LogFaults {
        delay_max: Duration::from_millis(20),
        refused: OneIn(0),
        lost: OneIn(0),
        unanswered: OneIn(0),
        late: OneIn(0),
        doubled: OneIn(0),
        gap: OneIn(0),
        lag: OneIn(0),
        cut: OneIn(0),
    };

    fn bytes(text: &str) -> Arc<[u8]> {
        text.as_bytes().into()
    }

    fn texts(log: &MemoryLog) -> Vec<String> {
        let messages = log.messages();
        messages.iter().map(|message| String::from_utf8_lossy(&message.bytes).into_owned()).collect()
    }

    /// The answers to appends that have come, by number; `None`: nobody can say.
    fn positions(client: &mut MemoryLogClient) -> Vec<(u64, Option<u64>)> {
        let mut positions = Vec::new();
        while let Some(answer) = client.next_answer() {
            match answer {
                LogAnswer::Append { id, result: Ok(position) } => positions.push((id.0, Some(position.0))),
                LogAnswer::Append { id, result: Err(LogError::UnknownOutcome) } => {
                    positions.push((id.0, None));
                }
                other => panic!("{other:?}"),
            }
        }
        positions
    }

    fn read(client: &mut MemoryLogClient) -> Vec<(u64, String)> {
        let mut read = Vec::new();
        while let Some(message) = client.next_message().unwrap() {
            read.push((message.position.0, String::from_utf8_lossy(&message.bytes).into_owned()));
        }
        read
    }

    #[test]
    fn without_faults_everything_happens_at_once() {
        let log = MemoryLog::new(1, LogFaults::default());
        let (mut writer, mut reader) = (log.connect(), log.connect());
        writer.append(AppendId(5), bytes("a"));
        writer.append(AppendId(6), bytes("b"));
        assert_eq!(positions(&mut writer), [(5, Some(1)), (6, Some(2))]);
        assert_eq!(reader.next_message(), Ok(None), "nothing was asked for");
        reader.read_from(LogPosition(2), LogPosition::START);
        assert_eq!(read(&mut reader), [(2, "b".to_owned())]);
        writer.append(AppendId(7), bytes("c"));
        assert_eq!(read(&mut reader), [(3, "c".to_owned())], "a stream goes on");
        reader.end(EndId(1));
        let end = LogAnswer::End { id: EndId(1), result: Ok(LogPosition(3)) };
        assert_eq!((reader.next_answer(), reader.next_answer()), (Some(end), None));
    }

    #[test]
    fn what_was_trimmed_is_named_to_new_streams_and_to_old_ones() {
        let log = MemoryLog::new(1, LogFaults::default());
        let (mut client, mut slow) = (log.connect(), log.connect());
        slow.read_from(LogPosition(1), LogPosition::START);
        (1..=3).for_each(|id| client.append(AppendId(id), bytes("m")));
        assert_eq!(positions(&mut client).len(), 3);
        client.trim(LogPosition(3));
        let trimmed = LogAnswer::Trim { first: LogPosition(3), result: Ok(()) };
        assert_eq!(client.next_answer(), Some(trimmed));
        let begins_later = Err(LogError::Trimmed { first: LogPosition(3) });
        client.read_from(LogPosition(2), LogPosition(3));
        assert_eq!(client.next_message(), begins_later);
        assert_eq!(client.next_message(), Ok(None), "the stream has ended");
        assert_eq!(slow.next_message(), begins_later);
        client.read_from(LogPosition(3), LogPosition(3));
        assert_eq!(read(&mut client), [(3, "m".to_owned())]);
        // Behind the end is the place behind the end.
        client.trim(LogPosition(9));
        client.append(AppendId(4), bytes("n"));
        client.read_from(LogPosition(4), LogPosition(3));
        assert_eq!(read(&mut client), [(4, "n".to_owned())]);
    }

    #[test]
    fn an_append_may_be_refused_or_its_outcome_unknown_whether_it_happens_or_not() {
        let one = OneIn(1);
        let refused = LogFaults { refused: one, ..LogFaults::default() };
        let lost = LogFaults { lost: one, ..LogFaults::default() };
        let unanswered = LogFaults { unanswered: one, ..LogFaults::default() };
        let late = LogFaults { late: one, ..LogFaults::default() };
        let (answers_itself, much_later) = (ANSWER_WAIT, ANSWER_WAIT + LATENESS_MAX);

        let log = MemoryLog::new(1, refused);
        let mut client = log.connect();
        client.append(AppendId(1), bytes("a"));
        let answer = client.next_answer();
        assert!(
            matches!(answer, Some(LogAnswer::Append { result: Err(LogError::Unavailable { .. }), .. })),
            "{answer:?}"
        );
        log.advance_to(much_later);
        assert_eq!(texts(&log), [""; 0]);

        // What the log has before the client answers itself, then, and in the end.
        for (faults, expected) in [(lost, [0, 0, 0]), (unanswered, [1, 1, 1]), (late, [0, 0, 1])] {
            let log = MemoryLog::new(2, faults);
            let mut client = log.connect();
            client.append(AppendId(1), bytes("a"));
            let mut counts = [log.messages().len(), 0, 0];
            assert_eq!(client.next_answer(), None);
            log.advance_to(answers_itself);
            assert_eq!(positions(&mut client), [(1, None)]);
            counts[1] = log.messages().len();
            log.advance_to(much_later);
            counts[2] = log.messages().len();
            assert_eq!(counts, expected, "{faults:?}");
            assert_eq!(client.next_answer(), None, "every request is answered once");
        }
    }

    #[test]
    fn an_append_may_happen_twice_and_positions_may_stay_empty() {
        let log = MemoryLog::new(3, LogFaults { doubled: OneIn(1), ..LogFaults::default() });
        let mut client = log.connect();
        client.append(AppendId(1), bytes("a"));
        assert_eq!(positions(&mut client), [(1, Some(1))]);
        assert_eq!(texts(&log), ["a", "a"]);

        let log = MemoryLog::new(3, LogFaults { gap: OneIn(1), ..LogFaults::default() });
        let mut client = log.connect();
        client.append(AppendId(1), bytes("a"));
        let position = log.messages()[0].position;
        assert!(position > LogPosition(1));
        client.read_from(LogPosition(1), LogPosition::START);
        assert_eq!(read(&mut client), [(position.0, "a".to_owned())]);
    }

    #[test]
    fn a_stream_may_show_a_prefix_or_break_off() {
        let log = MemoryLog::new(4, LogFaults { lag: OneIn(2), ..LogFaults::default() });
        let mut client = log.connect();
        (1..=20).for_each(|id| client.append(AppendId(id), bytes("m")));
        client.read_from(LogPosition(1), LogPosition::START);
        let prefix = read(&mut client).len();
        assert!(prefix < 20, "{prefix}");
        let rest: usize = (0..99).map(|_| read(&mut client).len()).sum();
        assert_eq!(prefix + rest, 20);

        log.set_faults(LogFaults { cut: OneIn(1), ..LogFaults::default() });
        assert!(matches!(client.next_message(), Err(LogError::Unavailable { .. })));
        assert_eq!(client.next_message(), Ok(None));
    }

    #[test]
    fn one_seed_gives_one_history_and_appends_under_way_at_once_change_their_order() {
        let history = |seed| {
            let log = MemoryLog::new(seed, DELAYED);
            let mut client = log.connect();
            (0..30).for_each(|id| client.append(AppendId(id), Arc::from([id as u8])));
            let mut answers = Vec::new();
            for at in 0..=40 {
                log.advance_to(Duration::from_millis(at));
                answers.push(positions(&mut client));
            }
            (log.messages(), answers)
        };
        assert_eq!(history(7), history(7));
        assert_ne!(history(7), history(8));
        let order: Vec<u8> = history(7).0.iter().map(|message| message.bytes[0]).collect();
        assert!(!order.is_sorted(), "{order:?}");
        assert_eq!(history(7).1.concat().len(), 30);
    }

    #[test]
    fn an_append_after_an_answer_lies_behind_it() {
        let log = MemoryLog::new(5, DELAYED);
        let mut client = log.connect();
        let (mut now, mut last) = (Duration::ZERO, 0);
        for id in 0..50 {
            client.append(AppendId(id), bytes("m"));
            let position = loop {
                now += Duration::from_millis(1);
                log.advance_to(now);
                if let [(_, Some(position))] = positions(&mut client)[..] {
                    break position;
                }
            };
            assert!(position > last);
            last = position;
        }
    }

    #[test]
    fn a_log_may_lose_what_it_acknowledged_and_a_new_stream_says_so() {
        let log = MemoryLog::new(6, LogFaults::default());
        let (mut client, mut other) = (log.connect(), log.connect());
        (1..=3).for_each(|id| client.append(AppendId(id), bytes("m")));
        client.read_from(LogPosition(1), LogPosition::START);
        other.read_from(LogPosition(1), LogPosition::START);
        assert_eq!((read(&mut client).len(), read(&mut other).len()), (3, 3));
        log.lose_suffix(2, OpenStreams::GoOn);
        client.append(AppendId(4), bytes("x"));
        assert!(read(&mut client).is_empty(), "position 2 was read before");
        client.read_from(LogPosition(2), LogPosition(3));
        let shorter = LogError::LostSuffix { position: LogPosition(3), end: LogPosition(2) };
        assert_eq!(client.next_message(), Err(shorter));
        log.lose_suffix(9, OpenStreams::BreakOff);
        assert!(matches!(other.next_message(), Err(LogError::Unavailable { .. })));
        client.append(AppendId(5), bytes("y"));
        assert_eq!(log.messages()[0].position, LogPosition(1));
    }

    #[test]
    fn a_restored_log_goes_on_from_its_copy() {
        let log = MemoryLog::new(6, LogFaults::default());
        let mut client = log.connect();
        client.append(AppendId(1), bytes("a"));
        let copy = log.copy();
        client.append(AppendId(2), bytes("b"));
        client.read_from(LogPosition(3), LogPosition(2));
        log.restore(&copy);
        assert!(matches!(client.next_message(), Err(LogError::Unavailable { .. })));
        client.append(AppendId(3), bytes("c"));
        assert_eq!(texts(&log), ["a", "c"]);
        assert_eq!(positions(&mut client), [(1, Some(1)), (2, Some(2)), (3, Some(2))]);
    }

    #[test]
    fn a_node_that_sleeps_is_woken_for_everything_that_comes() {
        let faults = LogFaults { lag: OneIn(1), ..DELAYED };
        let log = MemoryLog::new(6, faults);
        let bell = Arc::new(CountingBell::default());
        let mut client = log.connect_waking(Waker::from(Arc::clone(&bell)));
        client.read_from(LogPosition(1), LogPosition::START);
        assert_eq!((client.next_message(), log.next_event_at()), (Ok(None), None), "nothing is hidden");
        log.connect().append(AppendId(1), bytes("a"));
        log.advance_to(Duration::from_millis(40));
        assert_eq!(bell.rung(), 1, "a message of somebody else");
        assert_eq!(client.next_message(), Ok(None), "it is not shown yet");
        log.advance_to(Duration::from_millis(60));
        assert_eq!(bell.rung(), 1, "it is now");
        log.set_faults(LogFaults::default());
        assert_eq!(read(&mut client).len(), 1);
        client.append(AppendId(2), bytes("b"));
        assert_eq!(bell.rung(), 2, "a message and an answer");
        log.cut();
        assert_eq!(bell.rung(), 1, "the stream has ended");
    }

    #[test]
    fn what_a_dropped_client_asked_for_happens() {
        let log = MemoryLog::new(6, DELAYED);
        let mut client = log.connect();
        client.append(AppendId(1), bytes("a"));
        drop(client);
        assert!(log.next_event_at().is_some() || !log.messages().is_empty());
        log.advance_to(Duration::from_millis(50));
        assert_eq!(texts(&log), ["a"]);
        assert_eq!(log.next_event_at(), None);
    }
}
