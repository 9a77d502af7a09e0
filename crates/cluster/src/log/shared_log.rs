//! `SharedLog`: what a node asks of an ordered, replicated log of an existing engine.
//!
//! ```text
//! append(id, message)  ─┐                      ┌─> Append { id, position }
//! end(id)              ─┼─> requests ─ answers ┼─> End { id, position }         next_answer
//! trim(first)          ─┘                      └─> Trim { first }
//! read_from(first, seen) ──> one stream ─────────> messages in order, or an error   next_message
//! ```
//!
//! Nothing more is asked of a log: no conditional append, no fencing, no append exactly once. Certification recognises a
//! record that comes twice, and one that comes late.

use crate::log_position::LogPosition;
use std::fmt;
use std::sync::Arc;

/// An append, as its caller numbers it: each attempt has a number of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AppendId(pub u64);

/// A question for the end of the log, as its caller numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EndId(pub u64);

/// A message of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogMessage {
    /// Where it lies: 1 or higher.
    pub position: LogPosition,
    /// Its bytes, as they were appended.
    pub bytes: Arc<[u8]>,
}

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogAnswer {
    /// To an append: where the message lies.
    Append {
        /// Which append.
        id: AppendId,
        /// [`LogError::Unavailable`] if the message is not in the log and will not be, [`LogError::UnknownOutcome`] if nobody
        /// can say.
        result: Result<LogPosition, LogError>,
    },
    /// To a question for the end: a position that is at or behind every message whose append was answered before the question
    /// was asked, whoever appended it.
    End {
        /// Which question.
        id: EndId,
        /// [`LogError::Unavailable`] if the log did not answer, [`LogError::BarrierNeeded`] from a log that never does.
        result: Result<LogPosition, LogError>,
    },
    /// To a trim.
    Trim {
        /// The first message that should stay.
        first: LogPosition,
        /// [`LogError::Unavailable`] if the log did not answer: it may have trimmed. The next checkpoint trims again.
        result: Result<(), LogError>,
    },
}

/// What a log cannot do, or what it does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LogError {
    /// The append may have happened, may happen later, or never will.
    UnknownOutcome,
    /// Messages before `first` were trimmed.
    Trimmed {
        /// Where reading can begin. Perhaps no message lies there, or none yet.
        first: LogPosition,
    },
    /// The log ends before a position that it had reached: it lost messages, or was restored from an older copy.
    LostSuffix {
        /// The position that it had reached.
        position: LogPosition,
        /// Where it ends now.
        end: LogPosition,
    },
    /// The log does not tell its end, as its replicas agree on it: whoever needs it appends a message, and waits until it comes.
    BarrierNeeded,
    /// The log cannot be reached, has no leader, or refuses.
    Unavailable {
        /// What it says, or what the network says.
        reason: String,
    },
}

/// A log, as one node uses it: its connection. Each node has one of its own.
///
/// # What a log keeps to
///
/// - Positions grow with the order of the log, from 1, perhaps with gaps; nothing is ever inserted before a message that
///   somebody has read.
/// - Every request is answered once. A log that hears nothing within its time limit answers `UnknownOutcome` or
///   `Unavailable` itself, so that callers need no time limit of their own.
/// - A message whose append is answered with a position is in the log for good, until it is trimmed. Appends that are under
///   way at once may change their order. One that begins after another was answered lies behind it.
/// - A message may be in the log twice.
/// - A stream gives every message from its beginning on, in order, each once. It may end with an error at any time.
/// - A stream ends with `Unavailable` when its connection breaks, when another server takes it over, and when its server was
///   silent for longer than a request may take: servers without news say so. It never goes on by itself elsewhere, where
///   messages may be missing.
/// - `Unavailable` as the answer to an append means that it will never happen. Whoever cannot be certain answers
///   `UnknownOutcome`: an append that the network took and that nobody answered is one.
///
/// None of this is taken on trust where it would make nodes differ: see [`crate::log::reader`].
///
/// # Concurrency
///
/// No method waits. Requests are put into a queue, and what came is taken out of another, so that one thread can drive several
/// logs, and a simulation the whole cluster. A log over a network works in threads of its own, which do all waiting: they
/// take requests from the one queue and put answers and messages into the other.
///
/// - Its constructor takes a [`std::task::Waker`], which these threads wake after they have put something there. The thread
///   that owns the connection sleeps until then, or until the next step of packer or reader is due. A simulation needs no waker.
/// - Queues are bounded. Answers are at most as many as requests; of a stream few messages are fetched ahead, and no more
///   until they are taken.
/// - etcd: all messages are versions of one key. `append` is a put, whose revision is the position; `read_from` a watch, with
///   reads of what lies before it, after a linearizable read of the key, whose newest version is the end; `trim` compacts; `end` is that
///   linearizable read.
/// - NATS JetStream: the position is the sequence of the stream; `read_from` is a consumer, with reads by number of what lies
///   before it, `trim` a purge up to a sequence. It has no linearizable read: its `end` is answered by
///   [`LogError::BarrierNeeded`], and nodes append a barrier and wait for it.
pub trait SharedLog {
    /// Asks for `message` to be appended; at most [`crate::record::message::MESSAGE_BYTES_MAX`] bytes. No append of this
    /// connection had the number `id` before.
    fn append(&mut self, id: AppendId, message: Arc<[u8]>);

    /// Asks for the end of the log, as all replicas agree on it, not as one of them knows it.
    fn end(&mut self, id: EndId);

    /// Asks for messages before `first` to be dropped, for all nodes. Dropping fewer, or none, is no fault; `first` behind the
    /// end is taken as the place behind the end.
    fn trim(&mut self, first: LogPosition);

    /// The next answer to a request, in any order; `None` if there is none yet.
    fn next_answer(&mut self) -> Option<LogAnswer>;

    /// Begins to read at `first`, or at the first message behind it. The stream before this one ends.
    ///
    /// `seen` is the newest position that was read from the log before: the stream ends with [`LogError::LostSuffix`] if
    /// the log does not reach it. A log that asked a replica which may lag asks again before it says so.
    fn read_from(&mut self, first: LogPosition, seen: LogPosition);

    /// The next message of the stream; `None` if there is none yet, or no stream.
    ///
    /// # Errors
    /// [`LogError::Trimmed`], [`LogError::LostSuffix`] or [`LogError::Unavailable`]. The stream has ended: nothing comes until
    /// [`SharedLog::read_from`] begins another one.
    fn next_message(&mut self) -> Result<Option<LogMessage>, LogError>;
}

/// So that a node has one of whichever engine.
impl<L: SharedLog + ?Sized> SharedLog for Box<L> {
    fn append(&mut self, id: AppendId, message: Arc<[u8]>) {
        (**self).append(id, message);
    }

    fn end(&mut self, id: EndId) {
        (**self).end(id);
    }

    fn trim(&mut self, first: LogPosition) {
        (**self).trim(first);
    }

    fn next_answer(&mut self) -> Option<LogAnswer> {
        (**self).next_answer()
    }

    fn read_from(&mut self, first: LogPosition, seen: LogPosition) {
        (**self).read_from(first, seen);
    }

    fn next_message(&mut self) -> Result<Option<LogMessage>, LogError> {
        (**self).next_message()
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownOutcome => f.write_str("the log did not answer: the append may have happened"),
            Self::Trimmed { first } => write!(f, "the log was trimmed: it begins at position {first}"),
            Self::LostSuffix { position, end } => {
                write!(f, "the log ends at position {end}, and had reached {position}")
            }
            Self::BarrierNeeded => f.write_str("the log does not tell its end: a barrier is needed"),
            Self::Unavailable { reason } => write!(f, "the log is unavailable: {reason}"),
        }
    }
}

impl std::error::Error for LogError {}
