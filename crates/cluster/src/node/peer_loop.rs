//! Peer loop: what a node does with its network: heartbeats, questions of others, and its own.
//!
//! ```text
//!            ┌─ heartbeat ──────> horizon ──> merges may go up to there
//! network ───┼─ question, forget ─> answering ──> work ──> answer, refusal ──┐
//!            └─ answer, refusal ──> asking ──> whoever asked                  ├──> outbox ──> network
//!                                      └──────────> question, forget ─────────┤
//!                                  readers ──> heartbeat, every 250 ms ───────┘
//! ```
//!
//! As [`crate::node::node_loop`] it has neither a thread nor a clock. Whoever owns both tells it of each message that was
//! applied, then steps it: when the network or the work has news, and when [`PeerLoop::next_step_at`] comes.
//!
//! A question to the node itself does not go over the network; all else is the same. What goes to another node in one step
//! travels together ([`crate::node::outbox`]), so that its questions about many partitions are one frame. Heartbeats go before everything that
//! waits: a node whose network is full is not silent for that.
//!
//! It keeps the digests of the log as far back as anybody may read, which may be further than the certifier's. So whoever reads
//! at an old snapshot for long is still known to have read this log. That is 24 bytes a message.

use crate::copy::message::{CopyMessage, NEED_INTERVAL};
use crate::digest::{DigestWindow, SeenLog};
use crate::log_position::LogPosition;
use crate::node::answering::{
    AnswerQuestions, Answering, AnsweringCounts, AnsweringLimits, Reply, ServedPartitions,
};
use crate::node::horizon::{HEARTBEAT_INTERVAL, Horizon, HorizonOptions, HorizonStatus, OtherLogHeard};
use crate::node::log_needs::{LOG_BYTES_MAX, LogNeeds};
use crate::node::outbox::{Outbox, OutboxLimits};
use crate::node::readers::Readers;
use crate::planted::{Bug, planted};
use crate::record_id::{Author, NodeId};
use crate::remote::admission::ReadableLog;
use crate::remote::asking::{Ask, AskId, AskOutcome, AskRefusal, Asking, AskingAction, AskingOptions};
use crate::remote::question::{Answer, QuestionRefusal, RefusalReason};
use crate::transport::frame::{Frame, Heartbeat};
use crate::transport::frame_counts::{CountedTransport, FrameCounts};
use crate::transport::interface::{ReceivedFrame, SendError, Transport};
use crate::travel::message::{TravelFailure, TravelMessage};
use crate::travel::silence::TakenFrames;
use crate::travel::travel_options::{OpenTravels, TravelCounts, TravelParts};
use crate::travel::travelling_queries::TravellingQueries;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Frames that a step takes, those of batches included, so that what waits to be sent does not wait for a long queue.
const FRAMES_PER_STEP: usize = 256;

/// How often a step takes what this node asks and answers itself. Each round asks, answers, or asks elsewhere.
const OWN_ROUNDS_PER_STEP: usize = 8;

/// When a heartbeat is tried again that had no room.
const HEARTBEAT_RETRY_WAIT: Duration = Duration::from_millis(5);

/// How long a frame waits that nobody has a deadline for.
const FORGET_PATIENCE: Duration = Duration::from_secs(1);

/// How long a frame of a copy waits.
const COPY_PATIENCE: Duration = Duration::from_secs(5);

/// After so long without a heartbeat, of which there are several a second, a node has ended that has not just lost its network.
pub const ALIVE_SILENCE_MAX: Duration = Duration::from_secs(3);

/// How a node deals with others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerOptions {
    /// How often it says how far it is.
    pub heartbeat_interval: Duration,
    /// How long it waits for what others say.
    pub horizon: HorizonOptions,
    /// How many bytes of messages the log keeps for a member.
    pub log_bytes_max: u64,
    /// How much it answers.
    pub answering: AnsweringLimits,
    /// How it asks.
    pub asking: AskingOptions,
    /// How much waits for its network.
    pub outbox: OutboxLimits,
}

impl Default for PeerOptions {
    fn default() -> Self {
        Self {
            heartbeat_interval: HEARTBEAT_INTERVAL,
            horizon: HorizonOptions::default(),
            log_bytes_max: LOG_BYTES_MAX,
            answering: AnsweringLimits::default(),
            asking: AskingOptions::default(),
            outbox: OutboxLimits::default(),
        }
    }
}

/// What happened in a step, in the order in which it happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PeerEvent {
    /// An ask has ended.
    Asked(AskId, AskOutcome),
    /// Nobody begins to read before the end of this message any more: the stores of partitions may merge up to there
    /// ([`StorePartition::set_horizon`](crate::node::store_partition::StorePartition::set_horizon)).
    HorizonRose(LogPosition),
    /// Another node has applied another log than this one: this one reads its own again. At most once for a heartbeat and once
    /// for a refusal of the same node, until it is found to have the same.
    OtherLog {
        /// Which node.
        node: NodeId,
        /// Up to this message the logs differ.
        position: LogPosition,
    },
    /// The log is not kept for this member any more: it is [`PeerOptions::log_bytes_max`] behind.
    LeftBehind(NodeId),
    /// Another node says something about a copy.
    Copy(NodeId, CopyMessage),
}

/// What a node has done with its network, and what is under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerLoopStatus {
    /// Where its horizon is, who holds it, and what others said.
    pub horizon: HorizonStatus,
    /// Own readers, and questions that are being answered.
    pub readers: (usize, usize),
    /// Questions that wait for more of the log, and those that are being answered.
    pub answering: (usize, usize),
    /// What became of the others.
    pub answered: AnsweringCounts,
    /// What it has done for queries that travel, of all nodes.
    pub travelled: TravelCounts,
    /// Queries that travel and have not ended.
    pub travelling: OpenTravels,
    /// Own asks that are open.
    pub asking: usize,
    /// Nodes that said nothing when they were asked, ascending: others are asked first.
    pub suspected: Vec<NodeId>,
    /// Frames that wait for the network.
    pub waiting_frames: usize,
    /// Frames that had no room, or could not be sent.
    pub dropped_frames: u64,
    /// Frames of one node in the name of another.
    pub strange_frames: u64,
    /// Frames that the network took.
    pub sent: FrameCounts,
    /// Frames that came.
    pub received: FrameCounts,
}

/// A node on its network.
#[derive(Debug)]
pub struct PeerLoop<T, A> {
    author: Author,
    options: PeerOptions,
    transport: CountedTransport<T>,
    /// The log that was applied, as far back as anybody may read.
    digests: DigestWindow,
    readers: Readers,
    horizon: Horizon,
    needs: LogNeeds,
    answering: Answering<A>,
    asking: Asking,
    /// Queries whose stages run here, if any do.
    travelling: Option<TravellingQueries>,
    outbox: Outbox,
    /// Frames of this node to itself.
    own: VecDeque<Frame>,
    /// The other members.
    others: BTreeMap<NodeId, OtherMember>,
    has_joined: bool,
    /// Whether something was applied since the last step.
    has_applied: bool,
    /// The horizon that was told.
    told: LogPosition,
    /// Whether the last step left something to do.
    has_more: bool,
    dropped_frames: u64,
    strange_frames: u64,
}

/// Another member.
#[derive(Debug)]
struct OtherMember {
    /// Where it answers, as the network knows it.
    address: Box<str>,
    /// When it is told next how far this node is.
    heartbeat_at: Duration,
}

impl<T: Transport, A> PeerLoop<T, A> {
    /// The node `author`, which has applied `applied` and answers by `work`. Its partitions can be read from there on.
    #[must_use]
    pub fn new(author: Author, options: PeerOptions, applied: &DigestWindow, transport: T, work: A) -> Self {
        let readers = Readers::new(applied.last());
        Self {
            author,
            options,
            transport: CountedTransport::new(transport),
            digests: applied.clone(),
            horizon: Horizon::new(author.node, options.horizon, readers.clone()),
            needs: LogNeeds::new(options.log_bytes_max),
            answering: Answering::new(options.answering, readers.clone(), work),
            asking: Asking::new(author, options.asking),
            travelling: None,
            outbox: Outbox::new(options.outbox),
            own: VecDeque::new(),
            others: BTreeMap::new(),
            has_joined: false,
            has_applied: true,
            told: readers.horizon(),
            readers,
            has_more: false,
            dropped_frames: 0,
            strange_frames: 0,
        }
    }

    /// What is read on this node: transactions and queries begin here.
    #[must_use]
    pub fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Stages of queries run here, in threads that somebody else has. Nobody is suspected before a heartbeat is late.
    pub fn run_stages(&mut self, parts: TravelParts) -> TravellingQueries {
        let options = parts.options.with_heartbeats(self.options.heartbeat_interval);
        let queries = TravellingQueries::new(TravelParts { options, ..parts });
        self.travelling.insert(queries).clone()
    }

    /// The node has applied the next message of the log, of so many bytes.
    ///
    /// # Panics
    /// If it does not lie behind all that were applied.
    pub fn applied(&mut self, seen: SeenLog, bytes: usize) {
        self.digests.push_seen(seen);
        self.needs.applied(seen.position, bytes);
        self.readers.applied(seen);
        self.has_applied = true;
    }

    /// Asks whoever serves a partition. An event tells what comes of it; the next step sends the question.
    ///
    /// # Errors
    /// [`AskRefusal`]; nothing is asked.
    pub fn ask(&mut self, now: Duration, ask: Ask) -> Result<AskId, AskRefusal> {
        self.asking.ask(now, ask)
    }

    /// Whoever asked does not wait any more: no event tells of it.
    pub fn forget(&mut self, now: Duration, id: AskId) {
        let mut actions = Vec::new();
        self.asking.forget(id, &mut actions);
        self.act(now, actions, &mut Vec::new());
        self.has_more = true;
    }

    /// Does what is due at `now`, on the node `node`, and appends what happened to `events`.
    pub fn step<N>(&mut self, now: Duration, node: &mut N, events: &mut Vec<PeerEvent>)
    where
        N: ServedPartitions + ?Sized,
        A: AnswerQuestions<N::Store>,
    {
        if std::mem::take(&mut self.has_applied) {
            self.look_at_tables(now, node, events);
        }
        let taken = self.receive(now, node, events);
        self.has_more = taken == TakenFrames::Part;
        self.rise(now, node, events);
        for _ in 0..OWN_ROUNDS_PER_STEP {
            self.answer_on(now, node);
            self.ask_on(now, node, events);
            if self.own.is_empty() {
                break;
            }
            self.receive_own(now, node, events);
        }
        self.travel_on(now, taken, node);
        self.say_how_far(now, node.needed_from());
        self.send(now);
    }

    /// When the node does something next, if its network and its work have no news before.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        let more = (self.has_more || self.has_applied || !self.own.is_empty()).then_some(Duration::ZERO);
        let heartbeat = self.others.values().map(|other| other.heartbeat_at).min();
        let travelling = self.travelling.as_ref().and_then(TravellingQueries::next_step_at);
        let others = [self.answering.next_step_at(), self.asking.next_step_at(), self.outbox.next_step_at()];
        others.into_iter().chain([travelling]).chain([more, heartbeat]).flatten().min()
    }

    /// Sends what another node is told about a copy. What has no room, or finds nobody, is asked for again.
    pub fn send_copy(&mut self, now: Duration, to: NodeId, message: CopyMessage) {
        let sent = self.put(to, Frame::Copy(message), now.saturating_add(COPY_PATIENCE));
        self.dropped_frames += u64::from(sent.is_err());
        self.has_more = true;
    }

    /// Whether another node has said how far it is a moment ago.
    #[must_use]
    pub fn is_alive(&self, now: Duration, node: NodeId) -> bool {
        self.horizon.silence(now, node).is_some_and(|silence| silence < ALIVE_SILENCE_MAX)
    }

    /// To which message the log may be trimmed: the first that any member needs, of whom this one needs it from `own` on. `None` if
    /// a member has not said it yet, or this one has not joined. A member that is [`PeerOptions::log_bytes_max`] behind has no say,
    /// and copies what it lacks if it comes back.
    #[must_use]
    pub fn trims_to(&self, own: LogPosition) -> Option<LogPosition> {
        self.needs.least(own).filter(|_| self.has_joined)
    }

    /// How the node and its network are at `now`.
    #[must_use]
    pub fn status(&self, now: Duration) -> PeerLoopStatus {
        PeerLoopStatus {
            horizon: self.horizon.status(now, self.digests.last().position),
            readers: self.readers.count(),
            answering: self.answering.open(),
            answered: self.answering.counts(),
            travelled: self.travelling.as_ref().map(TravellingQueries::counts).unwrap_or_default(),
            travelling: self.travelling.as_ref().map(TravellingQueries::open).unwrap_or_default(),
            asking: self.asking.count(),
            suspected: self.asking.suspected(now).collect(),
            waiting_frames: self.outbox.count(),
            dropped_frames: self.dropped_frames,
            strange_frames: self.strange_frames,
            sent: self.transport.sent(),
            received: self.transport.received(),
        }
    }

    /// Who answers questions.
    pub fn work_mut(&mut self) -> &mut A {
        self.answering.work_mut()
    }

    /// Something was applied: members may have changed, and claims can be compared.
    fn look_at_tables<N>(&mut self, now: Duration, node: &N, events: &mut Vec<PeerEvent>)
    where
        N: ServedPartitions + ?Sized,
    {
        let members = node.tables().members();
        let incarnations = members.all().map(|node| (node, members.incarnation(node)));
        self.horizon.set_members(now, incarnations);
        let own = self.author.node;
        let transport = &mut self.transport;
        self.others.retain(|other, _| {
            let is_member = members.has(*other);
            if !is_member {
                transport.set_peer(*other, None);
            }
            is_member
        });
        for other in members.all().filter(|other| *other != own) {
            let Some(address) = members.address(other) else { continue };
            if self.others.get(&other).is_none_or(|known| *known.address != *address) {
                self.transport.set_peer(other, Some(address));
                self.others.insert(other, OtherMember { address: address.into(), heartbeat_at: now });
            }
        }
        if node.has_joined(self.author) && !std::mem::replace(&mut self.has_joined, true) {
            self.readers.joined();
            self.others.values_mut().for_each(|other| other.heartbeat_at = now);
        }
        if self.has_joined {
            let applied = self.digests.last().position;
            self.needs.set_members(applied, members.all().filter(|other| *other != own));
            events.extend(self.needs.take_left_behind().into_iter().map(PeerEvent::LeftBehind));
        }
        let others = self.horizon.applied(now, &self.digests);
        events.extend(others.into_iter().map(other_log));
    }

    fn receive<N>(&mut self, now: Duration, node: &mut N, events: &mut Vec<PeerEvent>) -> TakenFrames
    where
        N: ServedPartitions + ?Sized,
        A: AnswerQuestions<N::Store>,
    {
        self.receive_own(now, node, events);
        let mut taken = 0;
        while taken < FRAMES_PER_STEP {
            let Some(received) = self.transport.receive() else { return TakenFrames::All };
            let ReceivedFrame { from, frame } = received;
            taken += frame.count();
            if let Some(queries) = self.travelling.as_ref().filter(|_| frame.is_sign_of_life()) {
                queries.heard(now, from);
            }
            self.take(now, from, frame, node, events);
        }
        TakenFrames::Part
    }

    fn receive_own<N>(&mut self, now: Duration, node: &mut N, events: &mut Vec<PeerEvent>)
    where
        N: ServedPartitions + ?Sized,
        A: AnswerQuestions<N::Store>,
    {
        for _ in 0..FRAMES_PER_STEP {
            let Some(frame) = self.own.pop_front() else { return };
            self.take(now, self.author.node, frame, node, events);
        }
    }

    /// Takes a frame of the node `from`.
    fn take<N>(
        &mut self,
        now: Duration,
        from: NodeId,
        frame: Frame,
        node: &mut N,
        events: &mut Vec<PeerEvent>,
    ) where
        N: ServedPartitions + ?Sized,
        A: AnswerQuestions<N::Store>,
    {
        let (mut replies, mut actions) = (Vec::new(), Vec::new());
        match frame {
            Frame::Question(question) if question.id.asker.node != from => self.strange_frames += 1,
            Frame::Question(question) if !self.outbox.has_room(from, 0) => {
                self.answering.refuse_as_busy(now, &question, &mut replies);
            }
            Frame::Question(question) => {
                let log = ReadableLog { applied: &self.digests, horizon: self.readers.horizon() };
                self.answering.take(now, question, &log, node, &mut replies);
            }
            Frame::Forget(id) if id.asker.node != from => self.strange_frames += 1,
            Frame::Forget(id) => {
                self.answering.forget::<N::Store>(from, id);
                self.outbox.forget(from, id);
            }
            Frame::Answer(answer) => self.asking.answered(now, from, answer, &mut actions),
            Frame::Refusal(refusal) => self.asking.refused(now, from, refusal, &mut actions),
            Frame::Heartbeat(heartbeat) => self.hear(now, from, heartbeat, events),
            // Of a member that has not joined: it says how far it is only once it has.
            Frame::Copy(CopyMessage::NeedsLog(first)) => self.needs.heard(from, first),
            Frame::Copy(message) => events.push(PeerEvent::Copy(from, message)),
            Frame::Travel(message) => self.take_travel(now, from, message),
            // Each for itself: one may be refused while the others are answered.
            Frame::Batch(frames) => {
                frames.into_iter().for_each(|frame| self.take(now, from, frame, node, events));
            }
        }
        self.reply(replies);
        self.act(now, actions, events);
    }

    /// Takes a message of a query whose stages travel.
    fn take_travel(&mut self, now: Duration, from: NodeId, message: TravelMessage) {
        let log = ReadableLog { applied: &self.digests, horizon: self.readers.horizon() };
        match (&self.travelling, message) {
            (Some(queries), message) => queries.take(now, from, message, &log),
            (None, TravelMessage::Begin(begin)) => {
                let failure = TravelFailure::busy("no stages of queries run on the node");
                let incarnation = self.author.incarnation;
                let failed = Frame::Travel(TravelMessage::Failed { id: begin.id, incarnation, failure });
                // By then it begins again, and hears so again.
                let put = self.put(from, failed, now.saturating_add(begin.patience.min(FORGET_PATIENCE)));
                self.dropped_frames += u64::from(put.is_err());
            }
            (None, _) => self.strange_frames += 1,
        }
    }

    /// Goes on with queries whose stages travel, and takes their messages. One without room is lost: whoever misses it asks again.
    fn travel_on<N>(&mut self, now: Duration, taken: TakenFrames, node: &N)
    where
        N: ServedPartitions + ?Sized,
    {
        let Some(queries) = self.travelling.clone() else { return };
        let log = ReadableLog { applied: &self.digests, horizon: self.readers.horizon() };
        queries.step(now, taken, &log, node.tables());
        self.outbox.forget_rows(&queries.take_over());
        while let Some((to, message, ends_at)) = queries.next_message() {
            self.dropped_frames += u64::from(self.put(to, Frame::Travel(message), ends_at).is_err());
        }
    }

    fn hear(&mut self, now: Duration, from: NodeId, heartbeat: Heartbeat, events: &mut Vec<PeerEvent>) {
        self.asking.alive(now, from);
        self.needs.heard(from, heartbeat.needed_from);
        let other = self.horizon.heard(now, from, heartbeat, &self.digests);
        events.extend(other.map(other_log));
    }

    /// The horizon rises as far as everybody allows, and digests before it are forgotten, if the certifier has, too: nodes that
    /// are so far behind are compared by these.
    fn rise<N>(&mut self, now: Duration, node: &N, events: &mut Vec<PeerEvent>)
    where
        N: ServedPartitions + ?Sized,
    {
        let horizon = self.horizon.rise(now);
        if horizon != self.told {
            self.told = horizon;
            events.push(PeerEvent::HorizonRose(horizon));
            self.digests.forget_before(horizon.min(node.applied().first_again(usize::MAX)));
        }
    }

    fn answer_on<N>(&mut self, now: Duration, node: &mut N)
    where
        N: ServedPartitions + ?Sized,
        A: AnswerQuestions<N::Store>,
    {
        let mut replies = Vec::new();
        let log = ReadableLog { applied: &self.digests, horizon: self.readers.horizon() };
        self.answering.step(now, &log, node, &mut replies);
        self.reply(replies);
    }

    fn ask_on<N>(&mut self, now: Duration, node: &N, events: &mut Vec<PeerEvent>)
    where
        N: ServedPartitions + ?Sized,
    {
        let mut actions = Vec::new();
        self.asking.step(now, node.tables().placement(), &mut actions);
        self.act(now, actions, events);
    }

    /// Does what asking says.
    fn act(&mut self, now: Duration, actions: Vec<AskingAction>, events: &mut Vec<PeerEvent>) {
        for action in actions {
            match action {
                AskingAction::Send(to, question) => {
                    let (id, ends_at) = (question.id, now.saturating_add(question.patience));
                    if self.put(to, Frame::Question(question), ends_at).is_err() {
                        self.asking.unsent(now, id);
                    }
                }
                AskingAction::Forget(to, id) => {
                    self.outbox.forget(to, id);
                    let forgotten = self.put(to, Frame::Forget(id), now.saturating_add(FORGET_PATIENCE));
                    self.dropped_frames += u64::from(forgotten.is_err());
                }
                AskingAction::Done(id, outcome) => events.push(PeerEvent::Asked(id, outcome)),
                AskingAction::OtherLog(node, seen) => events.push(other_log(OtherLogHeard { node, seen })),
            }
        }
    }

    /// Puts answers and refusals into the outbox. An answer that has no room there is refused instead.
    fn reply(&mut self, replies: Vec<Reply>) {
        for Reply { to, frame, ends_at } in replies {
            let Err(frame) = self.put(to, frame, ends_at) else { continue };
            self.dropped_frames += 1;
            if let Frame::Answer(Answer { id, .. }) = frame {
                let refusal = QuestionRefusal { id, reason: RefusalReason::Busy };
                // Where that has no room either, the asker asks again.
                let _ = self.put(to, Frame::Refusal(refusal), ends_at);
            }
        }
    }

    fn put(&mut self, to: NodeId, frame: Frame, ends_at: Duration) -> Result<(), Frame> {
        if to == self.author.node {
            self.own.push_back(frame);
            return Ok(());
        }
        self.outbox.push(to, frame, ends_at)
    }

    /// Tells others how far the node is, if that is due. One that has not joined says only from where on it needs the log: it reads
    /// what it has missed, perhaps for long, and others trim no more than that.
    fn say_how_far(&mut self, now: Duration, needed_from: LogPosition) {
        if self.others.values().all(|other| other.heartbeat_at > now) {
            return;
        }
        let heartbeat = self.readers.heartbeat(needed_from).filter(|_| self.has_joined);
        let (frame, interval) = match heartbeat {
            Some(heartbeat) => (Frame::Heartbeat(heartbeat), self.options.heartbeat_interval),
            None if self.has_joined || planted(Bug::NeedUntold) => return,
            None => (Frame::Copy(CopyMessage::NeedsLog(needed_from)), NEED_INTERVAL),
        };
        for (node, other) in self.others.iter_mut().filter(|(_, other)| other.heartbeat_at <= now) {
            let wait = match self.transport.send(*node, &frame) {
                Err(SendError::Full) => HEARTBEAT_RETRY_WAIT,
                // Who is not known yet, or cannot be reached, is told the next time.
                Ok(()) | Err(_) => interval,
            };
            other.heartbeat_at = now.saturating_add(wait);
        }
    }

    fn send(&mut self, now: Duration) {
        for unsent in self.outbox.flush(now, &mut self.transport) {
            match unsent.frame {
                Frame::Question(question) => {
                    self.asking.unsent(now, question.id);
                    self.has_more = true;
                }
                _ => self.dropped_frames += 1,
            }
        }
    }
}

fn other_log(heard: OtherLogHeard) -> PeerEvent {
    PeerEvent::OtherLog { node: heard.node, position: heard.seen.position }
}

#[cfg(test)]
mod tests;
