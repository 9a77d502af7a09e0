//! Fetch: gets copies over a network, in the thread of the caller, who waits: a node that has not joined yet.
//!
//! ```text
//! network ──> what came ──> pieces ──> received files ──> what is due ──> frames to send ──> network
//!    ▲                                                         │
//!    └────────────── sleeps until it is woken, or something is due
//! ```
//!
//! Meanwhile it tells every member from where on it needs the log, each second: else they would trim it while it copies. And it gives
//! others what they copy ([`GiveCopies`]): two nodes that lack something of each other need not wait until one has joined. What others
//! ask or tell it beside is dropped: they ask elsewhere.

use crate::copy::incoming::{IncomingCopy, IncomingEvent};
use crate::copy::message::{CopyId, CopyMessage, CopyRefusal, CopySubject, NEED_INTERVAL};
use crate::copy::received_files::{ReceiveError, ReceivedFiles};
use crate::log_position::LogPosition;
use crate::node::outbox::{Outbox, OutboxLimits};
use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use crate::tables::members::Members;
use crate::transport::frame::Frame;
use crate::transport::interface::Transport;
use evergraph_graph::error::{Error, Result};
use evergraph_storage::io::clock::Clock;
use evergraph_storage::sync::{Condvar, Mutex};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

/// Frames that are taken before pieces are written.
const FRAMES_PER_STEP: usize = 64;

/// How long a frame waits for room in the network: what does not come is asked for again.
const FRAME_PATIENCE: Duration = Duration::from_secs(5);

/// How often it is looked whether work beside the network has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Wakes a thread that waits for its network or its log.
#[derive(Debug, Default)]
pub struct WakeSignal {
    is_rung: Mutex<bool>,
    news: Condvar,
    /// Woken, too: whoever has network and log later.
    next: Option<Waker>,
}

/// How far a copy is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FetchProgress {
    /// Who gives it.
    pub source: NodeId,
    /// Bytes that the source has read for it.
    pub bytes_done: u64,
    /// Bytes that there are to read, at most.
    pub bytes_total: u64,
}

/// What is told while a copy comes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FetchNews {
    /// So far it is.
    Copies(FetchProgress),
    /// A node does not give it yet, and is waited for.
    Waits {
        /// Which node.
        source: NodeId,
        /// Why.
        reason: CopyRefusal,
    },
}

/// What came of a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fetched {
    /// It is whole, from this node.
    Copied(FetchProgress),
    /// Nobody gave it.
    GivenUp {
        /// Why not, by node, in a sentence.
        reasons: String,
        /// Nodes that said nothing at all.
        silent: BTreeSet<NodeId>,
        /// Nodes that said that they lack it themselves.
        lacking: BTreeSet<NodeId>,
    },
}

/// Gives others copies while this node copies, and has not joined.
pub trait GiveCopies {
    /// Another node says how far it is: it runs.
    fn heard(&mut self, now: Duration, from: NodeId);

    /// Takes what another node asks about a copy.
    fn take(&mut self, now: Duration, from: NodeId, message: CopyMessage);

    /// What is to be sent next.
    fn next_reply(&mut self, now: Duration) -> Option<(NodeId, CopyMessage)>;

    /// Whether somebody gets a copy at present.
    fn is_giving(&self) -> bool;
}

/// Whoever only gets copies.
#[derive(Debug)]
pub struct GivesNothing;

impl GiveCopies for GivesNothing {
    fn heard(&mut self, _now: Duration, _from: NodeId) {}

    fn take(&mut self, _now: Duration, _from: NodeId, _message: CopyMessage) {}

    fn next_reply(&mut self, _now: Duration) -> Option<(NodeId, CopyMessage)> {
        None
    }

    fn is_giving(&self) -> bool {
        false
    }
}

/// Copies over a network.
pub struct Fetch<'a, T, G = GivesNothing> {
    transport: T,
    source: G,
    /// What others are told, until the network has room.
    outbox: Outbox,
    own: NodeId,
    signal: Arc<WakeSignal>,
    clock: &'a dyn Clock,
    next_copy: CopyId,
    others: Vec<NodeId>,
    /// From where on this node needs the log, once it knows.
    needed_from: Option<LogPosition>,
    tells_need_at: Duration,
}

impl WakeSignal {
    /// Of a thread that waits before `next` is somebody, who is woken as well.
    #[must_use]
    pub fn before(next: Waker) -> Self {
        Self { next: Some(next), ..Self::default() }
    }

    /// Wakes it, from any thread.
    #[must_use]
    pub fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    /// Waits until it is woken, or `clock` says `until`.
    pub fn wait(&self, until: Duration, clock: &dyn Clock) {
        let mut is_rung = self.is_rung.lock();
        while !std::mem::take(&mut *is_rung) {
            let left = until.saturating_sub(clock.now());
            if left.is_zero() {
                return;
            }
            (is_rung, _) = self.news.wait_timeout(is_rung, left);
        }
    }
}

impl Wake for WakeSignal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.is_rung.lock() = true;
        self.news.notify_one();
        self.next.iter().for_each(Waker::wake_by_ref);
    }
}

impl<'a, T: Transport> Fetch<'a, T> {
    /// Gets copies, and gives none.
    ///
    /// Of the node `own` over `transport`, which wakes `signal`. Its copies have the numbers from `first` on, which is random.
    #[must_use]
    pub fn new(
        transport: T,
        own: NodeId,
        signal: Arc<WakeSignal>,
        clock: &'a dyn Clock,
        first: CopyId,
    ) -> Self {
        Self {
            transport,
            source: GivesNothing,
            outbox: Outbox::new(OutboxLimits::default()),
            own,
            signal,
            clock,
            next_copy: first,
            others: Vec::new(),
            needed_from: None,
            tells_need_at: Duration::ZERO,
        }
    }

    /// Gives others what they ask `source` for.
    #[must_use]
    pub fn giving<G: GiveCopies>(self, source: G) -> Fetch<'a, T, G> {
        let Self {
            transport, outbox, own, signal, clock, next_copy, others, needed_from, tells_need_at, ..
        } = self;
        Fetch { transport, source, outbox, own, signal, clock, next_copy, others, needed_from, tells_need_at }
    }
}

impl<T: Transport, G: GiveCopies> Fetch<'_, T, G> {
    /// The members are these, as far as the node knows.
    pub fn set_members(&mut self, members: &Members) {
        for other in std::mem::take(&mut self.others) {
            if !members.has(other) {
                self.transport.set_peer(other, None);
            }
        }
        let own = self.own;
        for node in members.all().filter(|node| *node != own) {
            self.transport.set_peer(node, members.address(node));
            self.others.push(node);
        }
    }

    /// The network, which knows the members, and what gives others copies.
    #[must_use]
    pub fn into_parts(self) -> (T, G) {
        (self.transport, self.source)
    }

    /// What gives others copies.
    pub fn source_mut(&mut self) -> &mut G {
        &mut self.source
    }

    /// The other members, ascending.
    #[must_use]
    pub fn others(&self) -> &[NodeId] {
        &self.others
    }

    /// From here on the node needs the log, and tells it to every member while it copies.
    pub fn needs_log_from(&mut self, first: LogPosition) {
        self.needed_from = Some(first);
        self.tells_need_at = Duration::ZERO;
    }

    /// Copies `subject` from one of `sources` into `files`, as long as something comes within `patience`.
    ///
    /// Cost: what comes is written as it comes; 4 MiB of it are under way.
    ///
    /// # Errors
    /// Those of the disk that `files` are written to: `limit` if it is full, `io`. What was written is left.
    pub fn copy(
        &mut self,
        subject: CopySubject,
        sources: Vec<NodeId>,
        patience: Duration,
        files: &mut ReceivedFiles,
        tell: &mut dyn FnMut(FetchNews),
    ) -> Result<Fetched> {
        let mut incoming = IncomingCopy::new(self.clock.now(), subject, sources, patience, self.next_copy);
        let copied = self.run(&mut incoming, files, tell);
        self.next_copy = incoming.next_id();
        let mut out = Vec::new();
        incoming.end(&mut out);
        self.send(out);
        copied
    }

    /// Does for others what it does while it copies, as long as this node does something else beside.
    pub fn attend_while(&mut self, goes_on: impl Fn() -> bool) {
        while goes_on() {
            self.attend();
        }
    }

    /// The same before the node ends: until nobody has got a copy for as long as `quiet`.
    pub fn attend_until_quiet(&mut self, quiet: Duration) {
        let mut ends_at = self.clock.now().saturating_add(quiet);
        while self.clock.now() < ends_at {
            self.attend();
            if self.source.is_giving() {
                ends_at = self.clock.now().saturating_add(quiet);
            }
        }
    }

    fn attend(&mut self) {
        self.tell_need();
        let mut is_busy = true;
        for _ in 0..FRAMES_PER_STEP {
            let Some(received) = self.transport.receive() else {
                is_busy = false;
                break;
            };
            let from = received.from;
            received.frame.apart().into_iter().for_each(|frame| drop(self.take(from, frame)));
        }
        self.give();
        if !is_busy {
            self.signal.wait(self.clock.now().saturating_add(LOOK_INTERVAL), self.clock);
        }
    }

    fn run(
        &mut self,
        incoming: &mut IncomingCopy,
        files: &mut ReceivedFiles,
        tell: &mut dyn FnMut(FetchNews),
    ) -> Result<Fetched> {
        let mut now = FetchProgress { source: self.own, bytes_done: 0, bytes_total: 0 };
        loop {
            self.tell_need();
            let (mut out, mut events) = (Vec::new(), Vec::new());
            // First what has come: nobody is silent whose pieces wait here.
            let is_busy = self.receive(incoming, &mut out, &mut events);
            self.need_log_for(incoming.subject(), &events);
            self.send(out);
            self.give();
            let begun_at = self.clock.now();
            for event in events {
                match event {
                    IncomingEvent::Begun { source, .. } => {
                        files.begin_again().map_err(ReceiveError::of_disk)?;
                        now = FetchProgress { source, bytes_done: 0, bytes_total: 0 };
                        tell(FetchNews::Copies(now));
                    }
                    IncomingEvent::Waits { source, reason } => tell(FetchNews::Waits { source, reason }),
                    IncomingEvent::Piece(piece) => match files.write(&piece.changes) {
                        Ok(()) => {
                            (now.bytes_done, now.bytes_total) = (piece.bytes_done, piece.bytes_total);
                            tell(FetchNews::Copies(now));
                        }
                        Err(ReceiveError::Disk(error)) => return Err(ReceiveError::of_disk(error)),
                        Err(ReceiveError::Piece(error)) => {
                            let why = format!(
                                "what it gives is no copy: at byte {} of a piece: {}",
                                error.offset, error.expected
                            );
                            let mut out = Vec::new();
                            incoming.damaged(self.clock.now(), piece.copy, why, &mut out);
                            self.send(out);
                            // What came behind it is of the same copy.
                            break;
                        }
                    },
                    IncomingEvent::Complete => return Ok(Fetched::Copied(now)),
                    IncomingEvent::GivenUp => return Ok(given_up(incoming)),
                }
            }
            // A slow disk here says nothing of whoever gives the copy.
            incoming.was_away(self.clock.now().saturating_sub(begun_at));
            let (mut out, mut events) = (Vec::new(), Vec::new());
            incoming.step(self.clock.now(), &mut out, &mut events);
            self.send(out);
            if events.contains(&IncomingEvent::GivenUp) {
                return Ok(given_up(incoming));
            }
            if !is_busy && let Some(next) = incoming.next_step_at() {
                let next = self.outbox.next_step_at().into_iter().chain([next, self.tells_need_at]).min();
                next.into_iter().for_each(|next| self.signal.wait(next, self.clock));
            }
        }
    }

    /// Before a single byte of a state comes: from here on nobody trims what it needs.
    fn need_log_for(&mut self, subject: CopySubject, events: &[IncomingEvent]) {
        for event in events {
            if let IncomingEvent::Begun { needed_from, .. } = event
                && subject == CopySubject::State
                && !planted(Bug::CopyTrimmed)
            {
                self.needs_log_from(*needed_from);
                self.tell_need();
            }
        }
    }

    /// Whether more has come than was taken.
    fn receive(
        &mut self,
        incoming: &mut IncomingCopy,
        out: &mut Vec<(NodeId, CopyMessage)>,
        events: &mut Vec<IncomingEvent>,
    ) -> bool {
        for _ in 0..FRAMES_PER_STEP {
            let Some(received) = self.transport.receive() else { return false };
            let from = received.from;
            for frame in received.frame.apart() {
                if let Some(message) = self.take(from, frame) {
                    incoming.take(self.clock.now(), from, message, out, events);
                }
            }
        }
        true
    }

    /// Takes what another node says; returns what it says about a copy that this node gets.
    fn take(&mut self, from: NodeId, frame: Frame) -> Option<CopyMessage> {
        let now = self.clock.now();
        match frame {
            Frame::Copy(
                message @ (CopyMessage::Begun { .. } | CopyMessage::Piece(_) | CopyMessage::Refused { .. }),
            ) => return Some(message),
            Frame::Copy(message) if !planted(Bug::StartingGivesNothing) => {
                self.source.take(now, from, message);
            }
            Frame::Heartbeat(_) => self.source.heard(now, from),
            _ => {}
        }
        None
    }

    /// Sends what others copy, as far as the network has room.
    fn give(&mut self) {
        let now = self.clock.now();
        while let Some((to, message)) = self.source.next_reply(now) {
            // One without room is asked for again.
            let _ = self.outbox.push(to, Frame::Copy(message), now.saturating_add(FRAME_PATIENCE));
        }
        drop(self.outbox.flush(now, &mut self.transport));
    }

    /// Tells every member from where on this node needs the log, if that is due.
    pub fn tell_need(&mut self) {
        let now = self.clock.now();
        if now < self.tells_need_at {
            return;
        }
        self.tells_need_at = now.saturating_add(NEED_INTERVAL);
        if let Some(first) = self.needed_from {
            let need = |node: &NodeId| (*node, CopyMessage::NeedsLog(first));
            let all = self.others.iter().map(need).collect();
            self.send(all);
        }
    }

    /// What has no room, or does not come, is sent again when nothing comes of it.
    fn send(&mut self, messages: Vec<(NodeId, CopyMessage)>) {
        for (to, message) in messages {
            let _ = self.transport.send(to, &Frame::Copy(message));
        }
    }
}

fn given_up(incoming: &IncomingCopy) -> Fetched {
    let (silent, lacking) = (incoming.silent().clone(), incoming.lacking().clone());
    Fetched::GivenUp { reasons: reasons(incoming), silent, lacking }
}

fn reasons(incoming: &IncomingCopy) -> String {
    let reasons: Vec<String> =
        incoming.failures().iter().map(|(node, reason)| format!("node {}: {reason}", node.0)).collect();
    match (reasons.is_empty(), incoming.source()) {
        (false, _) => reasons.join("; "),
        (true, Some(source)) => format!("node {} does not answer", source.0),
        (true, None) => "no other node has it".to_owned(),
    }
}

/// The error of a copy that nobody gave.
#[must_use]
pub fn not_copied(what: impl fmt::Display, reasons: &str) -> Error {
    Error::new(
        evergraph_graph::error::ErrorKind::Io,
        format!("{what} cannot be copied from another node: {reasons}"),
    )
}

#[cfg(test)]
mod tests;
