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
//!   second, when everything was read that has come. Each of them must come again, the same, at its position, and none
//!   beside them.
//! - A stream that breaks off while these come is followed by one that goes on behind what has come, but for the newest four, which
//!   come in one piece. So reading ends however often streams break, also if the whole window is read again.
//! - The log must reach the newest message that was applied.
//! - A message says which log its author had seen. If that is another one, one of the two is wrong: the whole window is
//!   read again. If it is not reproduced, this node is; else the author is.
//! - So it is when an append is answered with a position where something else was applied, and when another node says, in a
//!   heartbeat or to a question, that it has applied another log.
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
//! None of this needs that what is read again comes in one stream. What came in an earlier one was in the log then. A loss
//! since took the newest messages, and these come after it.
//!
//! A node that was killed starts from an older checkpoint, and is new to itself. Its partitions may know better: what they installed
//! is in the log, or the log has changed ([`LogReader::expect`]).
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

/// How long the log is read before its newest messages are read again, as soon as nothing new is there: a reader that is behind
/// would throw away what was fetched for it.
pub const REREAD_INTERVAL: Duration = Duration::from_secs(1);

/// How long a reader waits after the log failed, if the stream had given nothing before.
const RECONNECT_WAIT: Duration = Duration::from_millis(50);

/// The newest messages that are read again in one stream, if an earlier one broke off among those that are read again. One would
/// tell of a loss, unless it was written again at its old place.
const RESUMED_OVERLAP: usize = 4;

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
    /// Another node, outside of the log: it is not asked, and does not answer.
    OtherNode {
        /// Which node.
        node: NodeId,
        /// A message up to which it has applied another log.
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
    /// Messages that were not applied here were trimmed: the node copies what it lacks from others when it starts.
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
    /// After a stream that broke off before everything that is read again had come: up to here it has.
    resumes: Option<LogPosition>,
    /// Claims of another log, until the window has been read again.
    suspicions: Vec<LogAlarm>,
    /// Claims that were found wrong, until they are told.
    alarms: VecDeque<LogAlarm>,
    /// Authors whose claims were found wrong: their messages are read nevertheless. At most one incarnation of each node.
    refuted: BTreeMap<NodeId, RefutedAuthor>,
    /// The log up to the first message that was found to differ.
    changed_log: Option<SeenLog>,
    /// What the node had applied before it started, until it has applied as much again.
    expected: Option<SeenLog>,
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
    /// Whether something has come that had not come in an earlier stream, since this one has reached what was applied.
    has_news: bool,
    /// When it ends for another one, as soon as it has nothing more; `None` until everything that was applied has come.
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
            resumes: None,
            suspicions: Vec::new(),
            alarms: VecDeque::new(),
            refuted: BTreeMap::new(),
            changed_log: None,
            expected: None,
            failure: None,
        }
    }

    /// Before it started this node had applied the log up to `seen`, more than its checkpoint has: the log has as much, and the same.
    pub fn expect(&mut self, seen: SeenLog) {
        self.expected = Some(seen);
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
            self.check_expected(applied)?;
            if self.stream.is_none() && self.is_due(now) {
                self.begin_again(applied, log);
            }
            let Some(stream) = self.stream else { return Ok(None) };
            let last = applied.last().position;
            assert!(stream.compared <= last, "message {} was read and not applied", stream.compared);
            if stream.ends_at.is_none() && stream.compared == last {
                self.reproduced(now);
                continue;
            }
            match log.next_message() {
                Ok(None) if self.is_due(now) => self.begin_again(applied, log),
                Ok(None) => return Ok(None),
                Ok(Some(message)) => match self.take(message, applied, now) {
                    Ok(None) => {}
                    Ok(Some(message)) => return Ok(Some(ReadEvent::Message(message))),
                    Err(error) => {
                        (self.stream, self.resumes, self.begin_at) = (None, None, now);
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

    /// Another node says that up to `position` it has applied another log. As with an author that does so, one of the two is wrong.
    pub fn doubt(&mut self, node: NodeId, position: LogPosition, now: Duration) {
        self.suspect(LogAlarm::OtherNode { node, position }, now);
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

    /// What the log has at least.
    fn furthest(&self, applied: &DigestWindow) -> LogPosition {
        let last = applied.last().position;
        self.expected.map_or(last, |expected| last.max(expected.position))
    }

    fn check_expected(&mut self, applied: &DigestWindow) -> Result<(), ReadError> {
        let Some(expected) = self.expected else { return Ok(()) };
        if applied.last().position < expected.position {
            return Ok(());
        }
        if applied.compare(&expected) == LogComparison::Other {
            return Err(ReadError::LogChanged { position: expected.position, change: LogChange::Replaced });
        }
        self.expected = None;
        Ok(())
    }

    fn is_due(&self, now: Duration) -> bool {
        self.next_step_at().is_some_and(|at| at <= now)
    }

    /// Begins with what is read again: the newest messages, or all that are known if somebody claims another log; but for those
    /// that came before a stream broke off.
    fn begin_again<L: SharedLog + ?Sized>(&mut self, applied: &DigestWindow, log: &mut L) {
        let overlap = if planted(Bug::NothingReadAgain) { 0 } else { OVERLAP };
        let count = if self.suspicions.is_empty() { overlap } else { usize::MAX };
        let newest = applied.first_again(RESUMED_OVERLAP.min(count));
        let resumed = self.resumes.map_or(LogPosition::START, |reached| reached.next().min(newest));
        self.begin(applied.first_again(count).max(resumed), applied, log);
    }

    fn begin<L: SharedLog + ?Sized>(&mut self, first: LogPosition, applied: &DigestWindow, log: &mut L) {
        log.read_from(first, self.furthest(applied));
        self.changed_log = None;
        let before = LogPosition(first.0.saturating_sub(1));
        // Between two messages there may be gaps: those of the window count.
        let compared = if applied.next_after(before).is_none() { applied.last().position } else { before };
        self.stream = Some(Stream { first, compared, has_news: false, ends_at: None });
    }

    /// Everything that was applied is in the log.
    fn reproduced(&mut self, now: Duration) {
        if let Some(stream) = &mut self.stream {
            (stream.ends_at, stream.has_news) = (Some(now + REREAD_INTERVAL), false);
        }
        (self.failure, self.resumes) = (None, None);
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
            stream.has_news |= self.resumes.is_none_or(|reached| position > reached);
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
        let resumes = self.resumes.take();
        self.begin_at = now;
        match error {
            LogError::LostSuffix { end, .. } if !planted(Bug::LostSuffixIgnored) => {
                let (position, change) = (self.furthest(applied), LogChange::Shorter { end });
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
            // Streams end with the first two alone.
            LogError::LostSuffix { .. }
            | LogError::Unavailable { .. }
            | LogError::UnknownOutcome
            | LogError::BarrierNeeded => {}
        }
        if let Some(broken) = began {
            if broken.ends_at.is_none() {
                self.resumes = resumes.max(Some(broken.compared));
            }
            // What has come need not come again, so this ends.
            if broken.has_news {
                self.failure = Some(error);
                return Ok(());
            }
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
        self.resumes = None;
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
            Self::OtherNode { node, position } => {
                write!(f, "node {} has applied another log up to {position}", node.0)
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
mod tests;
