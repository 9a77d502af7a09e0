//! Reader: the messages of the log in order, and whether it is still the log that was applied.
//!
//! ```text
//! applied   ... m m m m m m m m m m m m m m m m|
//! stream         └──── read again: same? ─────┘ new new new ...     at each beginning, and every second
//!           └─────────── read again ──────────┘                     when somebody claims another log
//! ```
//!
//! The log is not trusted. Whoever applies its messages keeps a digest of them ([`DigestWindow`]); the reader compares with
//! it:
//!
//! - Reading begins with the newest [`OVERLAP`] messages that were applied, and begins anew after an error and once a
//!   second. Each of them must come again, the same, at its position, and none beside them.
//! - The log must reach the newest message that was applied.
//! - A message says which log its author had seen. If that is another one, one of the two is wrong: the whole window is
//!   read again. If it is not reproduced, this node is; else the author is.
//! - So it is when an append is answered with a position where something else was applied.
//!
//! So a loss is found at once if its log breaks off its streams, and within a second if fewer than 16 messages follow.
//! A loss that the log itself does not notice, and that more messages follow by then, is found as soon as a node reads those
//! that took the place of others: its own messages name another digest. Until then nodes agree on what the log had.
//!
//! A log that fails is named, [`ReadError::LogChanged`], and the node stops: nodes never serve two histories. A log that
//! passes though somebody claimed otherwise gives an alarm, and reading goes on.
//!
//! A message that is in the log twice is read twice. Certification recognises its records, and counts the message: a reader
//! that left it out would move the floor on one node and not on the others.
//!
//! Cost: 16 messages a second, and a node that saw another log costs each reader one pass over its window. Source: the
//! model of the cluster's protocol, which showed that overlap, digests and positions are all needed.

use crate::digest::{DigestWindow, LogComparison, OVERLAP, SeenLog};
use crate::key_hash::graph_salt::GraphSalt;
use crate::log::shared_log::{LogError, LogMessage, SharedLog};
use crate::log_position::LogPosition;
use crate::record::message::Message;
use crate::record_id::Author;
use evergraph_graph::bytes::DecodeError;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long the log is read before its newest messages are read again.
pub const REREAD_INTERVAL: Duration = Duration::from_secs(1);

/// How long a reader waits after the log failed.
const RECONNECT_WAIT: Duration = Duration::from_millis(50);

/// What comes out of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadEvent {
    /// The next message, which is applied before anything else is read.
    Message(ReadMessage),
    /// Somebody claimed another log, and this one was read again and found to be the one that was applied.
    Alarm(LogAlarm),
}

/// A message that nobody applied here yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadMessage {
    /// Where it lies.
    pub position: LogPosition,
    /// What it says.
    pub message: Message,
    /// Its bytes, which go into the digest.
    pub bytes: Arc<[u8]>,
}

/// Who claimed another log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogAlarm {
    /// The author of a message: its transactions are refused.
    OtherAuthor {
        /// The message.
        position: LogPosition,
        /// Who wrote it.
        author: Author,
        /// What it had seen.
        seen: SeenLog,
    },
    /// The log itself, which answered an append with a position where it has another message, or none: it lost the
    /// message after it had acknowledged it.
    LostAppend {
        /// The position of the answer.
        position: LogPosition,
    },
}

/// How a log differs from the one that was applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LogChange {
    /// It has another message there.
    Replaced,
    /// It has no message there.
    Missing,
    /// It has a message where none was.
    Inserted,
    /// It ends before.
    Shorter {
        /// Where it ends.
        end: LogPosition,
    },
}

/// Why a node can't go on reading.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The log is not the one that was applied: it lost messages that it had given, or was restored from an older copy. The
    /// node stops; its data is not in the log.
    LogChanged {
        /// A position that was applied.
        position: LogPosition,
        /// How the log differs there.
        change: LogChange,
    },
    /// Messages that were not applied here were trimmed: the node copies its partitions from another one.
    Behind {
        /// The first position that was not read.
        next: LogPosition,
        /// Where the log begins.
        first: LogPosition,
    },
    /// The log has something that is no message.
    Corrupt {
        /// Where.
        position: LogPosition,
        /// What is wrong with it.
        cause: DecodeError,
    },
    /// The log has a message where none can be: at 0, or behind [`LogPosition::MAX`].
    InvalidPosition {
        /// Where.
        position: LogPosition,
    },
}

/// Reads the log of one graph.
#[derive(Debug)]
pub struct LogReader {
    salt: GraphSalt,
    stream: Option<Stream>,
    /// Without a stream: when the next one begins.
    begin_at: Duration,
    /// Claims of another log, until the window has been read again.
    suspicions: Vec<LogAlarm>,
    /// Claims that were found wrong, until they are told.
    alarms: VecDeque<LogAlarm>,
    /// The claim that was found wrong last: its message is read nevertheless.
    refuted: Option<LogAlarm>,
    failure: Option<LogError>,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Where it began.
    first: LogPosition,
    /// Everything up to here has come, and was what was applied, or was given to be applied.
    compared: LogPosition,
    /// When it ends for another one; `None` until everything that was applied has come.
    ends_at: Option<Duration>,
}

impl LogReader {
    /// A reader that has not begun.
    #[must_use]
    pub fn new(salt: GraphSalt) -> Self {
        Self {
            salt,
            stream: None,
            begin_at: Duration::ZERO,
            suspicions: Vec::new(),
            alarms: VecDeque::new(),
            refuted: None,
            failure: None,
        }
    }

    /// The first message that a node needs which starts from a checkpoint with `saved`: its next one, and before it those
    /// that are read again. The log may be trimmed to the first that any node needs.
    #[must_use]
    pub fn needed_from(saved: &DigestWindow) -> LogPosition {
        saved.first_again(OVERLAP)
    }

    /// The next message or alarm; `None` if the log has nothing more at present, or cannot be read ([`LogReader::failure`]).
    ///
    /// `applied` is what was applied of this log, with every message that this returned.
    ///
    /// # Errors
    /// [`ReadError`]. Who reads on begins anew, and gets the same error, unless the log has changed back.
    ///
    /// # Panics
    /// If a message was returned and not applied.
    pub fn read<L: SharedLog + ?Sized>(
        &mut self,
        now: Duration,
        applied: &DigestWindow,
        log: &mut L,
    ) -> Result<Option<ReadEvent>, ReadError> {
        loop {
            if let Some(alarm) = self.alarms.pop_front() {
                return Ok(Some(ReadEvent::Alarm(alarm)));
            }
            if self.is_due(now) {
                let count = if self.suspicions.is_empty() { OVERLAP } else { usize::MAX };
                self.begin(applied.first_again(count), applied, log);
            }
            let Some(stream) = self.stream else { return Ok(None) };
            let last = applied.last().position;
            assert!(stream.compared <= last, "message {} was read and not applied", stream.compared);
            if stream.ends_at.is_none() && stream.compared == last {
                self.reproduced(now);
                continue;
            }
            match log.next_message() {
                Ok(None) => return Ok(None),
                Ok(Some(message)) => match self.take(message, applied, now) {
                    Ok(None) => {}
                    Ok(Some(message)) => return Ok(Some(ReadEvent::Message(message))),
                    Err(error) => {
                        (self.stream, self.begin_at) = (None, now);
                        return Err(error);
                    }
                },
                Err(error) => self.failed(error, applied, now, log)?,
            }
        }
    }

    /// Compares the answer to an append, whose message has the bytes `message`, with what was applied at that position.
    pub fn check_answer(
        &mut self,
        position: LogPosition,
        message: &[u8],
        applied: &DigestWindow,
        now: Duration,
    ) {
        let is_applied = position <= applied.last().position;
        if is_applied && applied.is_unchanged(self.salt, position, message) != Some(true) {
            self.suspect(LogAlarm::LostAppend { position }, now);
        }
    }

    /// When the reader does something next, if the log has nothing before.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        self.stream.map_or(Some(self.begin_at), |stream| stream.ends_at)
    }

    /// Why the log cannot be read, since it last could.
    #[must_use]
    pub fn failure(&self) -> Option<&LogError> {
        self.failure.as_ref()
    }

    fn is_due(&self, now: Duration) -> bool {
        self.next_step_at().is_some_and(|at| at <= now)
    }

    fn begin<L: SharedLog + ?Sized>(&mut self, first: LogPosition, applied: &DigestWindow, log: &mut L) {
        log.read_from(first, applied.last().position);
        let before = LogPosition(first.0.saturating_sub(1));
        // Between two messages there may be gaps: those of the window count.
        let compared = if applied.next_after(before).is_none() { applied.last().position } else { before };
        self.stream = Some(Stream { first, compared, ends_at: None });
    }

    /// Everything that was applied is in the log.
    fn reproduced(&mut self, now: Duration) {
        if let Some(stream) = &mut self.stream {
            stream.ends_at = Some(now + REREAD_INTERVAL);
        }
        self.failure = None;
        let is_of_a_message = |alarm: &&LogAlarm| matches!(alarm, LogAlarm::OtherAuthor { .. });
        self.refuted = self.suspicions.iter().rfind(is_of_a_message).copied().or(self.refuted);
        self.alarms.extend(self.suspicions.drain(..));
    }

    /// Compares a message with what was applied; returns one that is new.
    fn take(
        &mut self,
        message: LogMessage,
        applied: &DigestWindow,
        now: Duration,
    ) -> Result<Option<ReadMessage>, ReadError> {
        let LogMessage { position, bytes } = message;
        let Some(stream) = &mut self.stream else { return Ok(None) };
        if position == LogPosition::START || position > LogPosition::MAX {
            return Err(ReadError::InvalidPosition { position });
        }
        if let Some(expected) = applied.next_after(stream.compared)
            && position > expected
        {
            return Err(ReadError::LogChanged { position: expected, change: LogChange::Missing });
        }
        if position <= applied.last().position {
            let change = match applied.is_unchanged(self.salt, position, &bytes) {
                Some(true) => {
                    stream.compared = stream.compared.max(position);
                    return Ok(None);
                }
                Some(false) => LogChange::Replaced,
                None if applied.covers(position) => LogChange::Inserted,
                // Older than all that is remembered.
                None => return Ok(None),
            };
            return Err(ReadError::LogChanged { position, change });
        }
        let message = Message::decode(&bytes).map_err(|cause| ReadError::Corrupt { position, cause })?;
        let claim = LogAlarm::OtherAuthor { position, author: message.author, seen: message.seen };
        if applied.compare(&message.seen) == LogComparison::Other && self.refuted != Some(claim) {
            self.suspect(claim, now);
            return Ok(None);
        }
        stream.compared = position;
        Ok(Some(ReadMessage { position, message, bytes }))
    }

    fn failed<L: SharedLog + ?Sized>(
        &mut self,
        error: LogError,
        applied: &DigestWindow,
        now: Duration,
        log: &mut L,
    ) -> Result<(), ReadError> {
        let began = self.stream.take();
        self.begin_at = now;
        match error {
            LogError::LostSuffix { end, .. } => {
                let (position, change) = (applied.last().position, LogChange::Shorter { end });
                return Err(ReadError::LogChanged { position, change });
            }
            LogError::Trimmed { first } => {
                let next = applied.last().position.next();
                if first > next {
                    return Err(ReadError::Behind { next, first });
                }
                // Less can be read again. A log that says so for ever is as good as none.
                if began.is_some_and(|stream| first > stream.first) {
                    self.begin(first, applied, log);
                    return Ok(());
                }
            }
            LogError::Unavailable { .. } | LogError::UnknownOutcome => {}
        }
        self.begin_at = now + RECONNECT_WAIT;
        self.failure = Some(error);
        Ok(())
    }

    /// Somebody claims another log: the whole window is read again.
    fn suspect(&mut self, alarm: LogAlarm, now: Duration) {
        if !self.suspicions.contains(&alarm) {
            self.suspicions.push(alarm);
        }
        if self.stream.take().is_some() {
            self.begin_at = now;
        }
    }
}

impl fmt::Display for LogAlarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherAuthor { position, author, seen } => {
                let seen = seen.position;
                write!(f, "{author} had read another log up to {seen} when it wrote message {position}")
            }
            Self::LostAppend { position } => {
                write!(f, "the log acknowledged a message at {position}, and has another one or none there")
            }
        }
    }
}

impl fmt::Display for LogChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced => f.write_str("another message"),
            Self::Missing => f.write_str("no message"),
            Self::Inserted => f.write_str("a message where none was"),
            Self::Shorter { end } => write!(f, "no message, since it ends at {end}"),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LogChanged { position, change } => write!(
                f,
                "the log is not the one that this node applied: at {position} it has {change}. It lost messages, or was \
                 restored from an older copy"
            ),
            Self::Behind { next, first } => {
                write!(f, "the log begins at {first}, and this node needs it from {next}")
            }
            Self::Corrupt { position, cause } => {
                write!(f, "what the log has at {position} is no message: {cause}")
            }
            Self::InvalidPosition { position } => write!(f, "the log has a message at position {position}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Corrupt { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::LogDigest;
    use crate::log::memory::{LogFaults, MemoryLog, MemoryLogClient, OneIn, OpenStreams};
    use crate::log::shared_log::{AppendId, EndId, LogAnswer};
    use crate::record::body::{Record, RecordBody};
    use crate::record::message::MessageBuilder;
    use crate::record_id::NodeId;

    const SALT: GraphSalt = GraphSalt([7; 16]);
    const AUTHOR: Author = Author { node: NodeId(3), incarnation: 2 };

    /// A message of one record, by an author who saw `seen`.
    fn message(number: u64, seen: SeenLog) -> Arc<[u8]> {
        let mut builder = MessageBuilder::new(AUTHOR);
        assert!(builder.push(&Record { number, body: RecordBody::Barrier }));
        builder.finish(&seen).into()
    }

    /// A log of messages with these numbers, by an author who saw nothing.
    fn log_of(numbers: impl IntoIterator<Item = u64>) -> MemoryLog {
        let log = MemoryLog::new(1, LogFaults::default());
        append(&log, numbers);
        log
    }

    fn append(log: &MemoryLog, numbers: impl IntoIterator<Item = u64>) {
        let mut client = log.connect();
        for number in numbers {
            client.append(AppendId(number), message(number, SeenLog::START));
        }
    }

    /// A log that says what a test wants it to.
    #[derive(Default)]
    struct ScriptedLog {
        says: VecDeque<Result<Option<LogMessage>, LogError>>,
        reads: Vec<(u64, u64)>,
    }

    impl ScriptedLog {
        fn says(messages: &[(u64, u64)]) -> Self {
            let says = messages.iter().map(|(position, number)| {
                let bytes = message(*number, SeenLog::START);
                Ok(Some(LogMessage { position: LogPosition(*position), bytes }))
            });
            Self { says: says.collect(), reads: Vec::new() }
        }
    }

    impl SharedLog for ScriptedLog {
        fn append(&mut self, _: AppendId, _: Arc<[u8]>) {
            unreachable!("a reader appends nothing");
        }
        fn end(&mut self, _: EndId) {
            unreachable!("a reader asks for no end");
        }
        fn trim(&mut self, _: LogPosition) {
            unreachable!("a reader trims nothing");
        }
        fn next_answer(&mut self) -> Option<LogAnswer> {
            None
        }
        fn read_from(&mut self, first: LogPosition, seen: LogPosition) {
            self.reads.push((first.0, seen.0));
        }
        fn next_message(&mut self) -> Result<Option<LogMessage>, LogError> {
            self.says.pop_front().unwrap_or(Ok(None))
        }
    }

    /// A node that applies what it reads.
    #[derive(Debug)]
    struct Node {
        reader: LogReader,
        applied: DigestWindow,
        numbers: Vec<u64>,
        alarms: Vec<LogAlarm>,
    }

    impl Node {
        fn new() -> Self {
            let applied = DigestWindow::new(SeenLog::START);
            Self { reader: LogReader::new(SALT), applied, numbers: Vec::new(), alarms: Vec::new() }
        }

        /// One that has applied all of `log`.
        fn of(log: &MemoryLog) -> Self {
            let mut node = Self::new();
            node.read(0, &mut log.connect()).unwrap();
            node
        }

        /// Applies everything that is there, at a time in milliseconds.
        fn read(&mut self, now: u64, log: &mut impl SharedLog) -> Result<(), ReadError> {
            while let Some(event) = self.reader.read(ms(now), &self.applied, log)? {
                match event {
                    ReadEvent::Message(read) => {
                        self.numbers.extend(read.message.records.iter().map(|record| record.number));
                        self.applied.push(SALT, read.position, &read.bytes);
                    }
                    ReadEvent::Alarm(alarm) => self.alarms.push(alarm),
                }
            }
            Ok(())
        }

        /// The same state, read again by a process that starts.
        fn restarted(&self) -> Self {
            Self { applied: self.applied.clone(), ..Self::new() }
        }
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn changed(position: u64, change: LogChange) -> Result<(), ReadError> {
        Err(ReadError::LogChanged { position: LogPosition(position), change })
    }

    fn connected(log: &MemoryLog) -> (Node, MemoryLogClient) {
        let (mut node, mut client) = (Node::new(), log.connect());
        node.read(0, &mut client).unwrap();
        (node, client)
    }

    #[test]
    fn every_message_is_given_once_however_often_the_stream_breaks_off() {
        let log = log_of(1..=20);
        log.set_faults(LogFaults { lag: OneIn(3), cut: OneIn(9), ..LogFaults::default() });
        let (mut node, mut client) = (Node::new(), log.connect());
        for now in 0..60 {
            append(&log, [21 + now]);
            node.read(now * 100, &mut client).unwrap();
        }
        log.set_faults(LogFaults::default());
        node.read(9_000, &mut client).unwrap();
        node.read(9_100, &mut client).unwrap();
        assert_eq!(node.numbers, (1..=80).collect::<Vec<_>>());
        assert!(node.alarms.is_empty());
    }

    #[test]
    fn reading_begins_with_the_newest_messages_and_begins_anew_every_second() {
        let mut node = Node::of(&log_of(1..=20)).restarted();
        let again: Vec<(u64, u64)> = (5..=20).map(|number| (number, number)).collect();
        let mut log = ScriptedLog::says(&again);
        node.read(100, &mut log).unwrap();
        assert_eq!(log.reads, [(5, 20)]);
        assert_eq!(node.reader.next_step_at(), Some(ms(1100)));
        node.read(1099, &mut log).unwrap();
        assert_eq!(log.reads.len(), 1);
        node.read(1100, &mut log).unwrap();
        assert_eq!(log.reads, [(5, 20), (5, 20)]);
        // No other one begins until these have come.
        node.read(9000, &mut log).unwrap();
        assert_eq!(log.reads.len(), 2);
        assert!(node.numbers.is_empty());
    }

    #[test]
    fn a_log_restored_from_an_older_copy_is_named() {
        let log = log_of(1..=3);
        let copy = log.copy();
        append(&log, 4..=5);
        let (mut node, mut client) = connected(&log);
        log.restore(&copy);
        node.read(10, &mut client).unwrap();
        assert!(matches!(node.reader.failure(), Some(LogError::Unavailable { .. })));
        let shorter = changed(5, LogChange::Shorter { end: LogPosition(3) });
        assert_eq!(node.read(60, &mut client), shorter);
        assert_eq!(node.read(60, &mut client), shorter, "it stays so");
        append(&log, 6..=9);
        assert_eq!(node.read(70, &mut client), changed(4, LogChange::Replaced));
        assert_eq!(node.numbers, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_loss_that_no_connection_notices_is_found_within_a_second() {
        let log = log_of(1..=5);
        let (mut node, mut client) = connected(&log);
        log.lose_suffix(2, OpenStreams::GoOn);
        append(&log, 6..=7);
        node.read(999, &mut client).unwrap();
        assert_eq!(node.read(1000, &mut client), changed(4, LogChange::Replaced));
    }

    #[test]
    fn what_is_read_again_is_all_that_was_applied_and_nothing_else() {
        let applied = Node::of(&log_of(1..=3));
        let says = |messages: &[(u64, u64)]| {
            let mut node = applied.restarted();
            (node.read(0, &mut ScriptedLog::says(messages)), node.numbers)
        };
        assert_eq!(says(&[(1, 1), (2, 2), (3, 3), (7, 4)]), (Ok(()), vec![4]));
        assert_eq!(says(&[(1, 1), (1, 1), (2, 2), (1, 1), (3, 3), (2, 2), (4, 4)]), (Ok(()), vec![4]));
        assert_eq!(says(&[(1, 1), (3, 3)]).0, changed(2, LogChange::Missing));
        assert_eq!(says(&[(1, 1), (2, 2), (4, 4)]).0, changed(3, LogChange::Missing));
        assert_eq!(says(&[(1, 1), (2, 9)]).0, changed(2, LogChange::Replaced));
        assert_eq!(says(&[(1, 1), (2, 2), (3, 3), (2, 9)]).0, changed(2, LogChange::Replaced));
        for position in [0, LogPosition::MAX.0 + 1] {
            let invalid = ReadError::InvalidPosition { position: LogPosition(position) };
            assert_eq!(says(&[(1, 1), (position, 2)]).0, Err(invalid));
        }

        // Positions 2 and 4, as in a log with gaps.
        let mut gaps = Node::new();
        gaps.read(0, &mut ScriptedLog::says(&[(2, 1), (4, 2)])).unwrap();
        let mut node = gaps.restarted();
        let mut log = ScriptedLog::says(&[(2, 1), (3, 9)]);
        assert_eq!(node.read(0, &mut log), changed(3, LogChange::Inserted));
        // Who reads on begins anew.
        assert_eq!(node.read(0, &mut ScriptedLog::says(&[(3, 9)])), changed(2, LogChange::Missing));
        node.read(0, &mut ScriptedLog::says(&[(2, 1), (4, 2), (5, 3)])).unwrap();
        assert_eq!(node.numbers, [3]);
    }

    #[test]
    fn what_is_no_message_is_named_with_its_position() {
        let (mut node, mut log) = (Node::new(), ScriptedLog::default());
        let bytes: Arc<[u8]> = Arc::from(*b"EGML");
        log.says.push_back(Ok(Some(LogMessage { position: LogPosition(4), bytes })));
        match node.read(0, &mut log) {
            Err(ReadError::Corrupt { position, cause }) => {
                assert_eq!((position, cause.offset), (LogPosition(4), 4));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_trimmed_log_is_read_from_where_it_begins_unless_something_is_missing() {
        let log = log_of(1..=10);
        let behind = Node::of(&log);
        append(&log, 11..=20);
        let mut node = Node::of(&log).restarted();
        log.connect().trim(LogPosition(15));
        append(&log, [21]);
        let first = LogPosition(15);
        let missing = Err(ReadError::Behind { next: LogPosition(11), first });
        assert_eq!(behind.restarted().read(0, &mut log.connect()), missing);
        node.read(0, &mut log.connect()).unwrap();
        assert_eq!(node.numbers, [21]);

        // To be read, it may begin right behind what was applied; what is left is compared.
        log.connect().trim(LogPosition(22));
        append(&log, [22]);
        let mut next = node.restarted();
        next.read(0, &mut log.connect()).unwrap();
        assert_eq!(next.numbers, [22]);
        let mut log = ScriptedLog::says(&[(20, 20), (21, 9)]);
        log.says.push_front(Err(LogError::Trimmed { first: LogPosition(20) }));
        assert_eq!(node.restarted().read(0, &mut log), changed(21, LogChange::Replaced));
        assert_eq!(log.reads, [(6, 21), (20, 21)]);
    }

    #[test]
    fn a_checkpoint_needs_the_log_from_what_is_read_again() {
        let log = log_of(1..=20);
        let saved = Node::of(&log);
        let needed = LogReader::needed_from(&saved.applied);
        assert_eq!(needed, LogPosition(5));
        log.connect().trim(needed);
        log.lose_suffix(1, OpenStreams::BreakOff);
        append(&log, [99]);
        assert_eq!(saved.restarted().read(0, &mut log.connect()), changed(20, LogChange::Replaced));
    }

    #[test]
    fn an_author_of_another_log_is_told_from_a_log_that_changed() {
        // They differ before what is read again in any case.
        let ours = log_of((1..=20).chain([30]));
        let theirs = log_of([1, 9].into_iter().chain(3..=20).chain([30]));
        let seen = Node::of(&theirs).applied.last();
        let (mut node, mut client) = connected(&ours);
        let mut misled = node.restarted();

        ours.connect().append(AppendId(1), message(31, seen));
        append(&ours, [32]);
        node.read(10, &mut client).unwrap();
        let claim = LogAlarm::OtherAuthor { position: LogPosition(22), author: AUTHOR, seen };
        assert_eq!((&node.alarms[..], node.numbers.last()), (&[claim][..], Some(&32)));

        let mut client = theirs.connect();
        assert_eq!(misled.read(0, &mut client), Ok(()), "the newest are the same");
        theirs.connect().append(AppendId(1), message(31, seen));
        assert_eq!(misled.read(10, &mut client), changed(2, LogChange::Replaced));
        assert_eq!(misled.read(10, &mut client), changed(2, LogChange::Replaced), "it stays so");
        assert!(misled.numbers.is_empty() && misled.alarms.is_empty());
    }

    #[test]
    fn a_log_that_an_author_saw_further_than_it_is_other() {
        let log = log_of([1]);
        let (mut node, mut client) = connected(&log);
        let seen = SeenLog { position: LogPosition(9), digest: LogDigest([1; 16]) };
        log.connect().append(AppendId(1), message(2, seen));
        node.read(10, &mut client).unwrap();
        assert_eq!((node.alarms.len(), &node.numbers[..]), (1, &[1, 2][..]));
    }

    #[test]
    fn an_answer_is_compared_with_what_was_applied_there() {
        let log = log_of(1..=20);
        let (mut node, mut client) = connected(&log);
        let check = |node: &mut Node, position, number| {
            let bytes = message(number, SeenLog::START);
            node.reader.check_answer(LogPosition(position), &bytes, &node.applied, ms(10));
        };
        check(&mut node, 7, 7);
        check(&mut node, 21, 7);
        assert_ne!(node.reader.next_step_at(), Some(ms(10)), "nothing is wrong");
        check(&mut node, 7, 8);
        check(&mut node, 7, 8);
        assert_eq!(node.reader.next_step_at(), Some(ms(10)));
        node.read(10, &mut client).unwrap();
        assert_eq!(node.alarms, [LogAlarm::LostAppend { position: LogPosition(7) }]);

        // Now the log is the one that changed.
        log.lose_suffix(1, OpenStreams::GoOn);
        append(&log, [99]);
        check(&mut node, 20, 99);
        assert_eq!(node.read(11, &mut client), changed(20, LogChange::Replaced));
    }

    #[test]
    fn a_log_that_fails_is_asked_again_a_little_later() {
        let (mut node, mut log) = (Node::new(), ScriptedLog::default());
        let unavailable = LogError::Unavailable { reason: "no leader".to_owned() };
        log.says.push_back(Err(unavailable.clone()));
        node.read(10, &mut log).unwrap();
        assert_eq!(node.reader.failure(), Some(&unavailable));
        assert_eq!(node.reader.next_step_at(), Some(ms(60)));
        node.read(59, &mut log).unwrap();
        assert_eq!(log.reads.len(), 1);
        node.read(60, &mut log).unwrap();
        assert_eq!((log.reads.len(), node.reader.failure()), (2, None));

        // Nor does a log that was always trimmed keep anybody busy.
        let mut node = Node::of(&log_of(1..=3)).restarted();
        let mut log = ScriptedLog::default();
        log.says.push_back(Err(LogError::Trimmed { first: LogPosition(1) }));
        node.read(10, &mut log).unwrap();
        assert_eq!((log.reads.len(), node.reader.next_step_at()), (1, Some(ms(60))));
    }
}
