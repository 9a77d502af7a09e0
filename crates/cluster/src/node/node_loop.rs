//! Node loop: the log of a node, its reader, its packer and what it applies, as one thread of the node drives them.
//!
//! ```text
//! step   answers of the log ──> packer, reader
//!        reader ──> messages ──> apply ──> events      at most so many a step; none while a partition is stalled
//!        packer ──> messages ──> log
//!
//! joining ── its own record of joining is accepted ──> member ── its node joins elsewhere, or leaves ──> stopped
//!    └─────────── another process is this node, or was: refused ───────────────────────────────────────────┘
//! ```
//!
//! It has neither a thread nor a clock: whoever owns it passes the time, and calls it when the log has news or
//! [`NodeLoop::next_step_at`] comes. So a simulation drives a whole cluster from one thread.
//!
//! Records are read in order, each once; the newest messages again and again ([`crate::log::reader`]). When the log is found to
//! have changed, the node says so to those who applied the same, and stops.
//!
//! A node that starts reads and applies; when the log has nothing more at hand it asks to join. A log that comes over a network
//! may only be late: then the record comes too old, or its incarnation is found to be known, and nothing is harmed. Until the log has accepted that, it
//! writes nothing else: another process may be the same node, and ids of records would be given twice. The record is written
//! again, under another id, if the node was so far behind that it came too old, or if the log has taken and lost it, as one does that is
//! restored from an older copy. Who has joined goes on until its node joins
//! with a later incarnation, wherever that runs. A process that is starting does not take the place of one that joined after it began
//! ([`NodeLoop::having_begun_at`]): of two the younger goes on, however long the older takes to start, and however often it tries.
//!
//! A member says of itself which indexes its stores have filled (`index_reports.rs`).
//!
//! While a partition is stalled ([`crate::node::kept_partition`]) no message is read. The node asks the partition again after
//! 10 ms, later after up to a second; all else goes on.

use crate::log::packer::{AppendedMessage, Packer, PackerLimits};
use crate::log::reader::{LogAlarm, LogReader, ReadEvent};
use crate::log::shared_log::{EndId, LogAnswer, LogError, SharedLog};
use crate::log_position::LogPosition;
use crate::node::apply::{AppliedMessage, Applier};
use crate::node::apply_error::ApplyError;
use crate::node::checkpoint_steps::{BegunCheckpoint, SaveError, WrittenCheckpoint};
use crate::node::end_questions::EndQuestions;
use crate::node::incarnation::NodeStart;
use crate::node::index_reports::{IndexReports, REPEAT_AFTER};
use crate::node::kept_partition::PartitionEvent;
use crate::node::node_error::{NodeError, NodePushError};
use crate::node::partition_store::PartitionStore;
use crate::node::replicated_state::RecordResult;
use crate::planted::{Bug, planted};
use crate::record::body::{ADDRESS_BYTES_MAX, Record, RecordBody};
use crate::record_id::{Author, NodeId, RecordId};
use crate::tables::cluster_tables::TableAnswer;
use evergraph_graph::id::PartitionId;
use evergraph_storage::io::directory::Directory;
use std::time::Duration;

/// Messages that a step applies, so that what waits to be sent does not wait for a long log.
const MESSAGES_PER_STEP: usize = 64;

/// How long a stalled partition is left alone after the first time that it had no room; each further time twice as long.
const RESUME_WAIT: Duration = Duration::from_millis(10);

/// The longest that a stalled partition is left alone.
const RESUME_WAIT_MAX: Duration = Duration::from_secs(1);

/// What happened in a step, in the order in which it happened.
#[derive(Clone, Debug)]
pub enum NodeEvent {
    /// The node has joined: its records are taken from here on.
    Joined,
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
    /// A partition of the node has no room, has room again, or is out of use.
    Partition(PartitionEvent),
}

/// A node on its log.
#[derive(Debug)]
pub struct NodeLoop<P, L> {
    author: Author,
    /// Where other nodes reach it.
    address: Box<str>,
    phase: MemberPhase,
    /// Where the log ended when the process began: it does not take the place of one that joined behind that.
    began_at: Option<LogPosition>,
    /// An earlier try of the same process to start.
    earlier: Option<NodeStart>,
    /// The newest message by which another process joined as this node, of those that were read.
    overtaken_at: Option<LogPosition>,
    start: NodeStart,
    /// The number of the next record that asks to join.
    joining_number: u64,
    /// Numbers that it gave to records as a member.
    records: u64,
    /// Numbers that it gave to questions for the end.
    questions: u64,
    log: L,
    packer: Packer,
    reader: LogReader,
    applier: Applier<P>,
    stall: Option<Stall>,
    index_reports: IndexReports,
    ends: EndQuestions,
    /// Whether somebody who claimed another log is still to learn which one there is.
    owes_barrier: bool,
    /// Whether the last step ended before the log did.
    has_more: bool,
}

/// Whether the node may write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MemberPhase {
    /// It has asked to join by this record, at this time, or will once the log has nothing more at hand.
    Joining(Option<(RecordId, Duration)>),
    Member,
    Stopped,
}

/// A partition is stalled.
#[derive(Clone, Copy, Debug)]
struct Stall {
    /// When it is asked again.
    ends_at: Duration,
    /// How long it is left alone after that.
    wait: Duration,
}

impl<P: PartitionStore, L: SharedLog> NodeLoop<P, L> {
    /// A node that goes on after what `applier` has applied, and joins as `start`, at `address`.
    ///
    /// # Panics
    /// If `limits` allow no message under way, or the address has not 1 to [`ADDRESS_BYTES_MAX`] bytes: nobody could read what
    /// the node writes.
    #[must_use]
    pub fn new(
        start: NodeStart,
        address: Box<str>,
        limits: PackerLimits,
        applier: Applier<P>,
        log: L,
    ) -> Self {
        let length = address.len();
        assert!((1..=ADDRESS_BYTES_MAX).contains(&length), "an address has {length} bytes");
        let mut reader = LogReader::new(applier.state().salt());
        if let Some(seen) = applier.furthest_ahead() {
            reader.expect(seen);
        }
        Self {
            author: start.author,
            address,
            phase: MemberPhase::Joining(None),
            began_at: None,
            earlier: None,
            overtaken_at: None,
            start,
            joining_number: start.first_number(),
            records: 0,
            questions: 0,
            log,
            packer: Packer::new(start.author, limits),
            reader,
            applier,
            stall: None,
            index_reports: IndexReports::default(),
            ends: EndQuestions::default(),
            owes_barrier: false,
            has_more: false,
        }
    }

    /// The process began when the log ended at `end`: it yields to one that joins as this node behind that, unless that is the process
    /// itself, which tried to start as `earlier`.
    #[must_use]
    pub fn having_begun_at(self, end: LogPosition, earlier: Option<NodeStart>) -> Self {
        Self { began_at: Some(end), earlier, ..self }
    }

    /// Which node it is, and which start of it.
    #[must_use]
    pub fn author(&self) -> Author {
        self.author
    }

    /// Records of this start that the log has not taken yet.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.packer.unanswered().count()
    }

    /// What it has applied.
    #[must_use]
    pub fn applier(&self) -> &Applier<P> {
        &self.applier
    }

    /// Whether its records are taken.
    #[must_use]
    pub fn is_member(&self) -> bool {
        self.phase == MemberPhase::Member
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
    /// [`NodePushError`]. The record was not taken.
    pub fn push(&mut self, body: RecordBody, now: Duration) -> Result<RecordId, NodePushError> {
        let id = RecordId { author: self.author, number: self.records + 1 };
        self.push_reserved(id, body, now)?;
        self.records = id.number;
        Ok(id)
    }

    /// Gives an id to a record that is sent later: parts that are sent ahead of their transaction name its record.
    ///
    /// # Errors
    /// As [`NodeLoop::push`], but for those of the packer.
    pub fn reserve(&mut self) -> Result<RecordId, NodePushError> {
        self.check_writes()?;
        self.records += 1;
        Ok(RecordId { author: self.author, number: self.records })
    }

    /// As [`NodeLoop::push`], with an id that [`NodeLoop::reserve`] gave for this record.
    ///
    /// # Errors
    /// As there.
    pub fn push_reserved(
        &mut self,
        id: RecordId,
        body: RecordBody,
        now: Duration,
    ) -> Result<(), NodePushError> {
        self.check_writes()?;
        let record = Record { number: id.number, body };
        self.packer.push(&record, now).map_err(NodePushError::Packer)
    }

    /// Whether the node may write.
    fn check_writes(&self) -> Result<(), NodePushError> {
        match self.phase {
            MemberPhase::Member => Ok(()),
            MemberPhase::Joining(_) if planted(Bug::PushedBeforeJoined) => Ok(()),
            MemberPhase::Joining(_) => Err(NodePushError::Joining),
            MemberPhase::Stopped => Err(NodePushError::Stopped),
        }
    }

    /// Asks for the end of the log: an event tells it. Of a log that does not tell it, all who ask meanwhile share a barrier.
    pub fn ask_for_end(&mut self) -> EndId {
        self.questions += 1;
        let id = EndId(self.questions);
        self.log.end(id);
        id
    }

    /// Asks for messages before `first` to be dropped: the least that any node needs, this one
    /// ([`Applier::needed_from`]) included.
    pub fn trim(&mut self, first: LogPosition) {
        self.log.trim(first);
    }

    /// Another node says that up to `position` it has applied another log: the log is read again, and an event tells if it is the
    /// one that was applied; else the next steps fail.
    pub fn doubt(&mut self, node: NodeId, position: LogPosition, now: Duration) {
        self.reader.doubt(node, position, now);
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
    pub fn proved(&mut self, partition: PartitionId) -> Option<&P> {
        self.applier.proved(partition)
    }

    /// As [`Applier::begin_checkpoint`], unless a partition holds it ([`Applier::hold_checkpoint`]).
    ///
    /// # Errors
    /// As of both.
    pub fn begin_checkpoint(&mut self) -> Result<BegunCheckpoint<P::PendingSync>, SaveError> {
        self.applier.hold_checkpoint(self.author.node)?;
        self.applier.begin_checkpoint()
    }

    /// As [`Applier::end_checkpoint`].
    pub fn end_checkpoint(&mut self, written: WrittenCheckpoint) {
        self.applier.end_checkpoint(written);
    }

    /// As [`Applier::checkpoint`], unless a partition holds it.
    ///
    /// # Errors
    /// As of both.
    pub fn checkpoint(&mut self, directory: &dyn Directory) -> Result<(), SaveError> {
        self.applier.hold_checkpoint(self.author.node)?;
        self.applier.checkpoint(directory)
    }

    /// Does what is due at `now`, and appends what happened to `events`.
    ///
    /// # Errors
    /// [`NodeError`]. The node stops for good, after the events of this step.
    pub fn step(&mut self, now: Duration, events: &mut Vec<NodeEvent>) -> Result<(), NodeError> {
        if self.phase == MemberPhase::Stopped {
            return Err(NodeError::Stopped);
        }
        while let Some(answer) = self.log.next_answer() {
            self.answered(now, answer, events);
        }
        // What was found out between two steps, by whoever read or made a checkpoint.
        self.tell_of_partitions(events);
        let read = self.resume_and_read(now, events);
        let done = read.and_then(|()| self.ask_to_join(now));
        if done.is_err() {
            self.phase = MemberPhase::Stopped;
            return done;
        }
        self.report_indexes(now);
        self.send(now);
        Ok(())
    }

    /// When the node does something next, if the log has no news before.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        if self.phase == MemberPhase::Stopped {
            return None;
        }
        let reads_at = match self.stall {
            Some(stall) => Some(stall.ends_at),
            None if self.has_more => Some(Duration::ZERO),
            None => self.reader.next_step_at(),
        };
        let looks_at = self.index_reports.next_look_at().filter(|_| self.is_member());
        [reads_at, self.packer.next_step_at(), looks_at].into_iter().flatten().min()
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
            LogAnswer::End { id, result: Err(LogError::BarrierNeeded) } => self.ends.ask(id),
            LogAnswer::End { id, result } => events.push(NodeEvent::End { id, result }),
            // The next checkpoint trims again.
            LogAnswer::Trim { .. } => {}
        }
    }

    /// Reads on, unless a partition has no room for what was read.
    fn resume_and_read(&mut self, now: Duration, events: &mut Vec<NodeEvent>) -> Result<(), NodeError> {
        if let Some(Stall { ends_at, wait }) = self.stall {
            if now < ends_at {
                return Ok(());
            }
            let has_room = self.applier.resume();
            self.tell_of_partitions(events);
            if !has_room {
                self.stall = Some(Stall { ends_at: now + wait, wait: RESUME_WAIT_MAX.min(2 * wait) });
                return Ok(());
            }
            self.stall = None;
        }
        self.read(now, events)
    }

    fn read(&mut self, now: Duration, events: &mut Vec<NodeEvent>) -> Result<(), NodeError> {
        self.has_more = false;
        for _ in 0..MESSAGES_PER_STEP {
            let applied = self.applier.state().certifier().digests();
            match self.reader.read(now, applied, &mut self.log) {
                Ok(None) => return Ok(()),
                Ok(Some(ReadEvent::Message(read))) => {
                    self.packer.arrived(&read.message);
                    let (was_member, known) = (self.is_member(), self.known_incarnation());
                    let applied = self.applier.apply(read);
                    self.learn_of_joining(&applied);
                    if !self.is_member() && self.known_incarnation() != known && !self.is_earlier(&applied) {
                        self.overtaken_at = Some(applied.seen.position);
                    }
                    let has_joined = !was_member && self.is_member();
                    let ends = self.ends_at(&applied);
                    events.push(NodeEvent::Applied(applied));
                    events.extend(has_joined.then_some(NodeEvent::Joined));
                    events.extend(ends);
                    self.tell_of_partitions(events);
                    self.check_membership()?;
                    if self.applier.is_stalled() {
                        self.stall = Some(Stall { ends_at: now + RESUME_WAIT, wait: 2 * RESUME_WAIT });
                        return Ok(());
                    }
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

    fn tell_of_partitions(&mut self, events: &mut Vec<NodeEvent>) {
        events.extend(self.applier.take_events().into_iter().map(NodeEvent::Partition));
    }

    /// What the log says to the records by which the node asks to join. An earlier one may come after all.
    fn learn_of_joining(&mut self, applied: &AppliedMessage) {
        for record in applied.records.iter().filter(|record| self.start.asks_by(record.id)) {
            let MemberPhase::Joining(asked) = self.phase else { return };
            match record.result {
                RecordResult::Table(TableAnswer::Member(Ok(()))) => self.phase = MemberPhase::Member,
                // It came too old, and is asked anew; or another process was first, which is found then.
                _ if asked.is_some_and(|(newest, _)| newest == record.id) => {
                    self.phase = MemberPhase::Joining(None);
                }
                _ => {}
            }
        }
    }

    /// Whether the log has taken an own record long ago, and seems to have lost it: everything at hand was read, and it did not come. It
    /// may only be late.
    fn is_lost(&self, (record, appended_at): (RecordId, Duration), now: Duration) -> bool {
        now >= appended_at + REPEAT_AFTER
            && !self.is_behind()
            && self.packer.unanswered().all(|number| number != record.number)
            && !planted(Bug::LostRecordAwaited)
    }

    /// Whether more of the log is at hand, or there may be more that cannot be read.
    fn is_behind(&self) -> bool {
        self.has_more || self.stall.is_some() || self.reader.failure().is_some()
    }

    /// Answers to whoever waits for a barrier of this message.
    fn ends_at(&mut self, applied: &AppliedMessage) -> Vec<NodeEvent> {
        let end = applied.seen.position;
        let answered = applied.records.iter().flat_map(|record| self.ends.applied(record.id));
        answered.map(|id| NodeEvent::End { id, result: Ok(end) }).collect()
    }

    /// The incarnation of this node that joined last.
    fn known_incarnation(&self) -> Option<u32> {
        self.applier.state().tables().members().incarnation(self.author.node)
    }

    /// Whether a message has the record by which this process asked to join when it tried to start before.
    fn is_earlier(&self, applied: &AppliedMessage) -> bool {
        self.earlier.is_some_and(|start| applied.records.iter().any(|record| start.asks_by(record.id)))
    }

    /// Whether a member still is one.
    fn check_membership(&self) -> Result<(), NodeError> {
        let (author, members) = (self.author, self.applier.state().tables().members());
        if self.phase != MemberPhase::Member || members.is_current(author) {
            return Ok(());
        }
        match members.incarnation(author.node) {
            Some(known) if known > author.incarnation => Err(NodeError::Replaced { author, known }),
            _ => Err(NodeError::Left),
        }
    }

    /// Asks to join, once everything was read that the log has at hand: what the node has applied is mostly not too old then, and
    /// which incarnation has joined last is mostly known. If more of the log is under way, certification and the table of
    /// members refuse the record, and the node asks again or stops.
    fn ask_to_join(&mut self, now: Duration) -> Result<(), NodeError> {
        if let MemberPhase::Joining(Some(asked)) = self.phase
            && self.is_lost(asked, now)
        {
            self.phase = MemberPhase::Joining(None);
        }
        if self.phase != MemberPhase::Joining(None) || self.is_behind() {
            return Ok(());
        }
        let (author, number) = (self.author, self.joining_number);
        let known = self.known_incarnation();
        if let Some(known) = known
            && let (Some(began_at), Some(overtaken_at)) = (self.began_at, self.overtaken_at)
            && overtaken_at > began_at
            && !planted(Bug::YoungerFenced)
        {
            return Err(NodeError::Overtaken { author, known });
        }
        if let Some(known) = known.filter(|known| *known >= author.incarnation) {
            return Err(NodeError::NotJoined { author, known });
        }
        let body = RecordBody::Join { address: self.address.clone() };
        // A packer that is full has room later.
        if self.packer.push(&Record { number, body }, now).is_ok() {
            self.joining_number = NodeStart::number_after(number);
            self.phase = MemberPhase::Joining(Some((RecordId { author, number }, now)));
        }
        Ok(())
    }

    /// The node stops since its log has changed: those who applied the same read theirs again.
    fn say_what_was_read(&mut self) {
        if let Some(changed) = self.reader.changed_log() {
            // No other process gives such a number, whether this one has joined or not.
            let number = match self.phase {
                MemberPhase::Member => self.records + 1,
                MemberPhase::Joining(_) | MemberPhase::Stopped => self.joining_number,
            };
            let last = self.packer.last_append(number, &changed);
            self.log.append(last.id, last.message);
        }
    }

    /// Says which indexes its stores have filled.
    fn report_indexes(&mut self, now: Duration) {
        if !self.is_member() {
            return;
        }
        for report in self.index_reports.due(self.author.node, &self.applier, now) {
            // A packer that is full has room later.
            if self.push(report.clone(), now).is_ok() {
                self.index_reports.is_reported(&report, now);
            }
        }
    }

    fn send(&mut self, now: Duration) {
        if self.owes_barrier {
            // One that has not joined, or whose packer is full, says it later.
            self.owes_barrier = self.push(RecordBody::Barrier, now).is_err();
        }
        if self.ends.under_way().is_some_and(|barrier| self.is_lost(barrier, now)) {
            self.ends.seems_lost();
        }
        if self.ends.needs_barrier()
            && let Ok(barrier) = self.push(RecordBody::Barrier, now)
        {
            self.ends.begin(barrier, now);
        }
        while let Some(due) = self.packer.next_append(now, &self.applier.state().seen()) {
            self.log.append(due.id, due.message);
        }
    }
}
