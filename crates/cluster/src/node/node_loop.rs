//! Node loop: the log of a node, its reader, its packer and what it applies, as one thread of the node drives them.
//!
//! ```text
//! step   answers of the log ──> packer, reader
//!        reader ──> messages ──> apply ──> events      at most so many a step
//!        packer ──> messages ──> log
//! ```
//!
//! It has neither a thread nor a clock: whoever owns it passes the time, and calls it when the log has news or
//! [`NodeLoop::next_step_at`] comes. So a simulation drives a whole cluster from one thread.
//!
//! Records are read in order, each once; the newest messages again and again ([`crate::log::reader`]). When the log is found to
//! have changed, the node says so to those who applied the same, and stops.

use crate::log::packer::{AppendedMessage, Packer, PackerLimits, PushError};
use crate::log::reader::{LogAlarm, LogReader, ReadError, ReadEvent};
use crate::log::shared_log::{EndId, LogAnswer, LogError, SharedLog};
use crate::log_position::LogPosition;
use crate::node::apply::{AppliedMessage, Applier, SaveError};
use crate::node::apply_error::ApplyError;
use crate::node::partition_store::PartitionStore;
use crate::record::body::{Record, RecordBody};
use crate::record_id::{Author, RecordId};
use evergraph_graph::id::PartitionId;
use evergraph_storage::io::directory::Directory;
use std::fmt;
use std::time::Duration;

/// Messages that a step applies, so that what waits to be sent does not wait for a long log.
const MESSAGES_PER_STEP: usize = 64;

/// What happened in a step, in the order in which it happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeEvent {
    /// A message was applied.
    Applied(AppliedMessage),
    /// The log has a message of this node.
    Appended(AppendedMessage),
    /// The log said where it ends, or why not.
    End {
        /// The question.
        id: EndId,
        /// A position at or behind everything that was acknowledged before the question.
        result: Result<LogPosition, LogError>,
    },
    /// Somebody claimed another log, and this one is the one that was applied.
    Alarm(LogAlarm),
}

/// Why a node stops.
#[derive(Debug)]
#[non_exhaustive]
pub enum NodeError {
    /// The log cannot be read on.
    Read(ReadError),
    /// What was read cannot be applied.
    Apply(ApplyError),
    /// It has stopped before, by another error.
    Stopped,
}

/// A node on its log.
#[derive(Debug)]
pub struct NodeLoop<P, L> {
    author: Author,
    /// Numbers that it gave to records.
    records: u64,
    /// Numbers that it gave to questions for the end.
    questions: u64,
    log: L,
    packer: Packer,
    reader: LogReader,
    applier: Applier<P>,
    /// Whether somebody who claimed another log is still to learn which one there is.
    owes_barrier: bool,
    /// Whether the last step ended before the log did.
    has_more: bool,
    has_stopped: bool,
}

impl<P: PartitionStore, L: SharedLog> NodeLoop<P, L> {
    /// A node that writes as `author`, an incarnation of its own, and goes on after what `applier` has applied.
    ///
    /// # Panics
    /// If `limits` allow no message under way.
    #[must_use]
    pub fn new(author: Author, limits: PackerLimits, applier: Applier<P>, log: L) -> Self {
        Self {
            author,
            records: 0,
            questions: 0,
            log,
            packer: Packer::new(author, limits),
            reader: LogReader::new(applier.state().salt()),
            applier,
            owes_barrier: false,
            has_more: false,
            has_stopped: false,
        }
    }

    /// What it has applied.
    #[must_use]
    pub fn applier(&self) -> &Applier<P> {
        &self.applier
    }

    /// Why the log cannot be read at present.
    #[must_use]
    pub fn failure(&self) -> Option<&LogError> {
        self.reader.failure().or_else(|| self.packer.failure())
    }

    /// Sends a record, which reads at no later snapshot than what the node has applied. Its id: what becomes of it is told
    /// when it is applied.
    ///
    /// # Errors
    /// [`PushError`]. The record was not taken.
    pub fn push(&mut self, body: RecordBody, now: Duration) -> Result<RecordId, PushError> {
        let number = self.records + 1;
        self.packer.push(&Record { number, body }, now)?;
        self.records = number;
        Ok(RecordId { author: self.author, number })
    }

    /// Asks for the end of the log: an event tells it.
    pub fn ask_for_end(&mut self) -> EndId {
        self.questions += 1;
        let id = EndId(self.questions);
        self.log.end(id);
        id
    }

    /// Asks for messages before `first` to be dropped: the least that any node needs ([`Applier::needed_from`]).
    pub fn trim(&mut self, first: LogPosition) {
        self.log.trim(first);
    }

    /// As [`Applier::keep`].
    ///
    /// # Errors
    /// As there.
    pub fn keep(&mut self, partition: PartitionId, store: P) -> Result<(), ApplyError> {
        self.applier.keep(partition, store)
    }

    /// As [`Applier::give_up`].
    pub fn give_up(&mut self, partition: PartitionId) -> Option<P> {
        self.applier.give_up(partition)
    }

    /// As [`Applier::proved`].
    ///
    /// # Errors
    /// As there.
    pub fn proved(&mut self, partition: PartitionId) -> Result<Option<&P>, ApplyError> {
        self.applier.proved(partition)
    }

    /// As [`Applier::checkpoint`].
    ///
    /// # Errors
    /// As there.
    pub fn checkpoint(&mut self, directory: &dyn Directory) -> Result<(), SaveError> {
        self.applier.checkpoint(directory)
    }

    /// Does what is due at `now`, and appends what happened to `events`.
    ///
    /// # Errors
    /// [`NodeError`]. The node stops for good, after the events of this step.
    pub fn step(&mut self, now: Duration, events: &mut Vec<NodeEvent>) -> Result<(), NodeError> {
        if self.has_stopped {
            return Err(NodeError::Stopped);
        }
        while let Some(answer) = self.log.next_answer() {
            self.answered(now, answer, events);
        }
        let read = self.read(now, events);
        self.has_stopped = read.is_err();
        read?;
        self.send(now);
        Ok(())
    }

    /// When the node does something next, if the log has no news before.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        if self.has_stopped {
            return None;
        }
        let more = self.has_more.then_some(Duration::ZERO);
        [more, self.packer.next_step_at(), self.reader.next_step_at()].into_iter().flatten().min()
    }

    fn answered(&mut self, now: Duration, answer: LogAnswer, events: &mut Vec<NodeEvent>) {
        match answer {
            LogAnswer::Append { id, result } => {
                if let Some(appended) = self.packer.answered(now, id, result) {
                    let applied = self.applier.state().certifier().digests();
                    self.reader.check_answer(appended.position, &appended.message, applied, now);
                    events.push(NodeEvent::Appended(appended));
                }
            }
            LogAnswer::End { id, result } => events.push(NodeEvent::End { id, result }),
            // The next checkpoint trims again.
            LogAnswer::Trim { .. } => {}
        }
    }

    fn read(&mut self, now: Duration, events: &mut Vec<NodeEvent>) -> Result<(), NodeError> {
        self.has_more = false;
        for _ in 0..MESSAGES_PER_STEP {
            let applied = self.applier.state().certifier().digests();
            match self.reader.read(now, applied, &mut self.log) {
                Ok(None) => return Ok(()),
                Ok(Some(ReadEvent::Message(read))) => {
                    self.packer.arrived(&read.message);
                    let applied = self.applier.apply(read).map_err(NodeError::Apply)?;
                    events.push(NodeEvent::Applied(applied));
                }
                Ok(Some(ReadEvent::Alarm(alarm))) => {
                    self.owes_barrier = true;
                    events.push(NodeEvent::Alarm(alarm));
                }
                Err(error) => {
                    self.say_what_was_read();
                    return Err(NodeError::Read(error));
                }
            }
        }
        self.has_more = true;
        Ok(())
    }

    /// The node stops since its log has changed: those who applied the same read theirs again.
    fn say_what_was_read(&mut self) {
        if let Some(changed) = self.reader.changed_log() {
            self.records += 1;
            let last = self.packer.last_append(self.records, &changed);
            self.log.append(last.id, last.message);
        }
    }

    fn send(&mut self, now: Duration) {
        if self.owes_barrier {
            // A packer that is full has room later.
            self.owes_barrier = self.push(RecordBody::Barrier, now).is_err();
        }
        while let Some(due) = self.packer.next_append(now, &self.applier.state().seen()) {
            self.log.append(due.id, due.message);
        }
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "{error}"),
            Self::Apply(error) => write!(f, "{error}"),
            Self::Stopped => f.write_str("the node has stopped: start it again"),
        }
    }
}

impl std::error::Error for NodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => error.source(),
            Self::Apply(error) => error.source(),
            Self::Stopped => None,
        }
    }
}
