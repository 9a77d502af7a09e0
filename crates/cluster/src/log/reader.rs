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
//! A log that fails is named, [`ReadError::LogChanged`], and the node stops: nodes never serve two histories. Before it stops
//! it appends what it read ([`LogReader::changed_log`]), so that others read again, too. A log that passes though somebody
//! claimed otherwise gives an alarm, and reading goes on; the node appends a barrier, so that whoever made the claim learns
//! of it.
//!
//! # How a loss is found
//!
//! A loss takes the messages from some position x on, and others may take their positions. A node is *old* if it had applied
//! one of them, and *new* if it reads the log as it is now.
//!
//! - If the stream of an old node breaks off, the node finds the loss before it gives another message: the newest 16 come
//!   first, and the lost ones are the newest. [`SharedLog`] demands that streams break off.
//! - If it goes on, and fewer than 16 messages follow, the node finds the loss within a second, for the same reason.
//! - If more follow, they are what is read again, and they are the same. Then claims tell. A digest contains the one
//!   before, so those of old and new nodes differ for good, and each message whose author had applied anything from x on
//!   claims one of the two. The first such message that a node of the other kind reads makes it read its window again; an
//!   old node stops, a new one gives an alarm and answers by a barrier, at which the old author stops. Only messages that were
//!   under way when x was lost come before. So two nodes that differ find out as soon as one reads the other.
//! - If every node is old, their claims agree, and what they commit is refused by whoever reads the log later. Here the
//!   answers tell: an append that took the position of a lost message is answered with it, its author reads its window again,
//!   stops, and says why. This fails if none of these appends is answered, or if the positions stay empty. Then the
//!   nodes go on until one starts from a checkpoint before x, and is new.
//!
//! A claim is not judged further back than the window and the log reach. Of two nodes that parted before, each finds its log
//! as it was, gives an alarm and refuses the other, and somebody must look at both.
//!
//! A message that is in the log twice is read twice. Certification recognises its records, and counts the message: a reader
//! that left it out would move the floor on one node and not on the others.
//!
//! # Cost
//!
//! 16 messages a second. An author who saw another log costs each reader one pass over its window, however much it writes:
//! once its claim was found wrong, later ones say nothing new.
//!
//! Source: the model of the cluster's protocol, which showed that overlap, digests and positions are all needed.

use crate::digest::{DigestWindow, LogComparison, OVERLAP, SeenLog};
use crate::key_hash::graph_salt::GraphSalt;
use crate::log::shared_log::{LogError, LogMessage, SharedLog};
use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use crate::record::message::Message;
use crate::record_id::{Author, NodeId};
use evergraph_graph::bytes::DecodeError;
use std::collections::{BTreeMap, VecDeque};
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
    /// Somebody claimed another log, and this one was read again and found to be the one that was applied. The node
    /// appends a barrier, so that its claim reaches the other.
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
    /// Authors whose claims were found wrong: their messages are read nevertheless. At most one incarnation of each node.
    refuted: BTreeMap<NodeId, RefutedAuthor>,
    /// The log up to the first message that was found to differ.
    changed_log: Option<SeenLog>,
    failure: Option<LogError>,
}

/// An author who applied another log: whatever it claims from there on differs as well, since digests are chained.
#[derive(Clone, Copy, Debug)]
struct RefutedAuthor {
    incarnation: u32,
    /// What it had applied when its claim was found wrong.
    position: LogPosition,
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
            refuted: BTreeMap::new(),
            changed_log: None,
            failure: None,
        }
    }

    /// The first message that a node needs which starts from a checkpoint with `saved`: its next one, and before it those
    /// that are read again. The log may be trimmed to the first that any node needs.
    #[must_use]
    pub fn needed_from(saved: &DigestWindow) -> LogPosition {
        let first = saved.first_again(OVERLAP);
        if planted(Bug::NeededFromTooHigh) { first.next() } else { first }
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
                let overlap = if planted(Bug::NothingReadAgain) { 0 } else { OVERLAP };
                let count = if self.suspicions.is_empty() { overlap } else { usize::MAX };
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
    ///
    /// A position that was not applied yet, or is forgotten, says nothing. Should the message not come, its records are
    /// cancelled by those who wait for them.
    pub fn check_answer(
        &mut self,
        position: LogPosition,
        message: &[u8],
        applied: &DigestWindow,
        now: Duration,
    ) {
        let is_other = || applied.is_unchanged(self.salt, position, message) != Some(true);
        if applied.covers(position) && is_other() && !planted(Bug::AnswerUncompared) {
            self.suspect(LogAlarm::LostAppend { position }, now);
        }
    }

    /// After [`ReadError::LogChanged`]: the log up to the message that differs, as it was read; `None` if it has none there.
    ///
    /// The node says so before it stops ([`Packer::last_append`](crate::log::packer::Packer::last_append)): whoever applied
    /// what this node did reads its own log again.
    #[must_use]
    pub fn changed_log(&self) -> Option<SeenLog> {
        self.changed_log
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
        self.changed_log = None;
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
        for alarm in self.suspicions.drain(..) {
            if let LogAlarm::OtherAuthor { author, seen, .. } = alarm {
                let refuted = RefutedAuthor { incarnation: author.incarnation, position: seen.position };
                self.refuted.insert(author.node, refuted);
            }
            self.alarms.push_back(alarm);
        }
    }

    /// Compares a message with what was applied; returns one that is new.
    fn take(
        &mut self,
        message: LogMessage,
        applied: &DigestWindow,
        now: Duration,
    ) -> Result<Option<ReadMessage>, ReadError> {
        let LogMessage { position, bytes } = message;
        let Some(Stream { compared, .. }) = self.stream else { return Ok(None) };
        if position == LogPosition::START || position > LogPosition::MAX {
            return Err(ReadError::InvalidPosition { position });
        }
        let changed = |position, change| Err(ReadError::LogChanged { position, change });
        // Everything up to `compared` is the same, and this is the next message, or one that came before.
        let before = compared.min(LogPosition(position.0 - 1));
        if let Some(expected) = applied.next_after(compared)
            && position > expected
            && !planted(Bug::MissingUnnoticed)
        {
            self.changed_log = applied.branch(self.salt, before, position, &bytes);
            return changed(expected, LogChange::Missing);
        }
        if position <= applied.last().position {
            let change = match applied.is_unchanged(self.salt, position, &bytes) {
                Some(true) => {
                    self.advance(position);
                    return Ok(None);
                }
                Some(false) => LogChange::Replaced,
                None if applied.covers(position) => LogChange::Inserted,
                // Older than all that is remembered.
                None => return Ok(None),
            };
            self.changed_log = applied.branch(self.salt, before, position, &bytes);
            return changed(position, change);
        }
        let message = Message::decode(&bytes).map_err(|cause| ReadError::Corrupt { position, cause })?;
        if !self.believes(position, &message, applied, now) {
            return Ok(None);
        }
        self.advance(position);
        Ok(Some(ReadMessage { position, message, bytes }))
    }

    /// Everything up to `position` has come.
    fn advance(&mut self, position: LogPosition) {
        if let Some(stream) = &mut self.stream {
            stream.compared = stream.compared.max(position);
        }
    }

    /// Whether a message may be given: its author saw this log, or was found wrong. If not, the window is read again, and the
    /// message after it.
    fn believes(
        &mut self,
        position: LogPosition,
        message: &Message,
        applied: &DigestWindow,
        now: Duration,
    ) -> bool {
        let (author, seen) = (message.author, message.seen);
        let is_same_author = |refuted: &RefutedAuthor| refuted.incarnation == author.incarnation;
        let refuted = self.refuted.get(&author.node).copied().filter(is_same_author);
        match applied.compare(&seen) {
            LogComparison::Other if refuted.is_none() && !planted(Bug::ClaimUncompared) => {
                self.suspect(LogAlarm::OtherAuthor { position, author, seen }, now);
                return false;
            }
            // It saw this log after all: the log had lost something, and got the same again.
            LogComparison::Same if refuted.is_some_and(|refuted| refuted.position <= seen.position) => {
                self.refuted.remove(&author.node);
            }
            LogComparison::Same | LogComparison::Other | LogComparison::Forgotten => {}
        }
        true
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
            LogError::LostSuffix { end, .. } if !planted(Bug::LostSuffixIgnored) => {
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
            LogError::LostSuffix { .. } | LogError::Unavailable { .. } | LogError::UnknownOutcome => {}
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
    use crate::log::memory::{LogFaults, MemoryLog, MemoryLogClient, OpenStreams};
    use crate::log::packer::{Packer, PackerLimits};
    use crate::log::shared_log::{AppendId, EndId, LogAnswer};
    use crate::planted::assert_found;
    use crate::record::body::{Record, RecordBody};
    use crate::record::message::MessageBuilder;
    use crate::record_id::NodeId;
    use crate::seeded::OneIn;

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

        fn add(&mut self, messages: &[LogMessage]) {
            self.says.extend(messages.iter().cloned().map(|message| Ok(Some(message))));
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
    fn an_author_of_another_log_costs_one_pass_however_much_it_writes() {
        let at = |number, seen| LogMessage { position: LogPosition(number), bytes: message(number, seen) };
        let other = |position| SeenLog { position: LogPosition(position), digest: LogDigest([9; 16]) };
        let applied: Vec<_> = (1..=20).map(|position| at(position, SeenLog::START)).collect();
        let claims: Vec<_> = (21..=25).map(|position| at(position, other(position - 1))).collect();
        let mut node = Node::of(&log_of(1..=20)).restarted();
        let mut log = ScriptedLog::default();
        // What is read again, and a claim; then the window, and what its author writes.
        for messages in [&applied[4..], &claims[..1], &applied[..], &claims[..]] {
            log.add(messages);
        }
        node.read(0, &mut log).unwrap();
        assert_eq!(log.reads, [(5, 20), (1, 20)]);
        assert_eq!((node.alarms.len(), &node.numbers[..]), (1, &[21, 22, 23, 24, 25][..]));

        // It saw this log after all: what it claims next counts again.
        let same = at(26, node.applied.last());
        let claim = [at(27, other(26))];
        let window = [&applied[..], &claims[..], &[same][..]].concat();
        for messages in [&window[25..], &claim[..], &window[..], &claim[..]] {
            log.add(messages);
        }
        node.read(0, &mut log).unwrap();
        assert_eq!(log.reads[2..], [(1, 26)]);
        assert_eq!((node.alarms.len(), node.numbers.last()), (2, Some(&27)));
    }

    #[test]
    fn a_loss_that_many_messages_follow_is_found_by_the_first_author_who_read_them() {
        let log = log_of(1..=25);
        let (mut node, mut client) = connected(&log);
        log.lose_suffix(2, OpenStreams::GoOn);
        append(&log, 26..=50);
        node.read(10, &mut client).unwrap();
        assert_eq!(node.read(1000, &mut client), Ok(()), "the newest 16 are the same");
        assert_eq!(node.numbers.last(), Some(&50));
        let author = Node::of(&log);
        log.connect().append(AppendId(1), message(51, author.applied.last()));
        assert_eq!(node.read(1001, &mut client), changed(24, LogChange::Replaced));
        let read = node.reader.changed_log().unwrap();
        assert_eq!((read.position, Some(read.digest)), (LogPosition(24), author.applied.at(read.position)));
    }

    #[test]
    fn a_node_that_finds_a_loss_by_an_answer_tells_those_who_had_applied_the_same() {
        let log = log_of(1..=25);
        let (mut node, mut client) = connected(&log);
        let (mut other, mut client_of_other) = connected(&log);
        log.lose_suffix(1, OpenStreams::GoOn);
        append(&log, 26..=50);
        node.read(10, &mut client).unwrap();
        other.read(10, &mut client_of_other).unwrap();
        assert_eq!(other.read(1000, &mut client_of_other), Ok(()), "nobody claims another log");
        let answered = message(26, SeenLog::START);
        node.reader.check_answer(LogPosition(25), &answered, &node.applied, ms(11));
        assert_eq!(node.read(11, &mut client), changed(25, LogChange::Replaced));
        let read = node.reader.changed_log().unwrap();
        let last = Packer::new(AUTHOR, PackerLimits::default()).last_append(51, &read);
        log.connect().append(last.id, last.message);
        assert_eq!(other.read(1001, &mut client_of_other), changed(25, LogChange::Replaced));
        assert!(Node::of(&log).alarms.is_empty(), "it is the log as it is");
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
        assert_eq!(node.reader.next_step_at(), Some(ms(10)), "another message is there");
        node.read(10, &mut client).unwrap();
        assert_eq!(node.alarms, [LogAlarm::LostAppend { position: LogPosition(7) }]);

        // Now the log is the one that changed.
        log.lose_suffix(1, OpenStreams::GoOn);
        append(&log, [99]);
        check(&mut node, 20, 99);
        assert_eq!(node.read(11, &mut client), changed(20, LogChange::Replaced));
    }

    #[test]
    fn an_answer_says_nothing_once_its_position_is_forgotten() {
        let mut node = Node::of(&log_of(1..=40));
        node.applied.forget_before(LogPosition::MAX);
        let other = message(99, SeenLog::START);
        for (position, step_at) in [(1, 1000), (23, 1000), (24, 1000), (25, 10)] {
            node.reader.check_answer(LogPosition(position), &other, &node.applied, ms(10));
            assert_eq!(node.reader.next_step_at(), Some(ms(step_at)), "{position}");
        }
    }

    #[test]
    fn planted_bugs_are_found() {
        let within_a_second = a_loss_that_no_connection_notices_is_found_within_a_second;
        let all_again = what_is_read_again_is_all_that_was_applied_and_nothing_else;
        let answer = an_answer_is_compared_with_what_was_applied_there;
        let author = an_author_of_another_log_is_told_from_a_log_that_changed;
        let restored = a_log_restored_from_an_older_copy_is_named;
        let checkpoint = a_checkpoint_needs_the_log_from_what_is_read_again;
        assert_found(Bug::NothingReadAgain, within_a_second, "Replaced");
        assert_found(Bug::MissingUnnoticed, all_again, "Missing");
        assert_found(Bug::AnswerUncompared, answer, "another message is there");
        assert_found(Bug::ClaimUncompared, author, "OtherAuthor");
        assert_found(Bug::LostSuffixIgnored, restored, "Shorter");
        assert_found(Bug::NeededFromTooHigh, checkpoint, "LogPosition(5)");
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
