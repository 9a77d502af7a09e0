//! Incoming copy: one copy that this node gets: from whom, what is asked for next, and what becomes of it. Without files, clock or
//! network.
//!
//! ```text
//!             refused, silent, damaged: the next node, and all pieces anew
//!          ┌───────────────────────────────────────────┐
//!        asks ──begun──> gets pieces, in order ──last──┴──> done
//!          └── nobody gives it for as long as whoever waits is patient ──> given up
//! ```
//!
//! Nodes are asked in turn, each a second after the one before at the earliest once all have been asked. A copy is that of one node
//! from its first piece to its last: pieces of two are never put together.
//!
//! Whoever waits is patient anew with each piece. So that this ends, a node that has given pieces and not all of them is asked
//! `ATTEMPTS_MAX` times: what it cannot read, it cannot read the next time either. A node that is starting is waited for as long as
//! it says so: it waits for nobody who waits for it.
//!
//! If every node says that it lacks the same itself, nobody is waited for: it is lost.

use crate::copy::message::{CopyId, CopyMessage, CopyPiece, CopyRefusal, CopySubject, PIECES_AHEAD_MAX};
use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// After so long without an answer the same is asked again: the network may have lost one or the other.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// After so long without an answer another node is asked.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// How long everybody is left alone once all have been asked.
const ROUND_WAIT: Duration = Duration::from_secs(1);

/// How often a node is asked that gives pieces, and not all of them.
const ATTEMPTS_MAX: usize = 3;

/// How long nodes are waited for that have not applied enough: longer than whoever waits is patient, since they come to it.
const BEHIND_MAX: Duration = Duration::from_secs(300);

/// What came of a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IncomingEvent {
    /// A node gives it: what came from another one is void.
    Begun {
        /// Which node.
        source: NodeId,
        /// Where the log must begin for the copy.
        needed_from: LogPosition,
    },
    /// The next piece.
    Piece(CopyPiece),
    /// That was the last piece.
    Complete,
    /// A node does not give it yet, and is waited for.
    Waits {
        /// Which node.
        source: NodeId,
        /// Why.
        reason: CopyRefusal,
    },
    /// Nobody gave it in time.
    GivenUp,
}

/// A copy that this node gets.
#[derive(Debug)]
pub struct IncomingCopy {
    subject: CopySubject,
    sources: Vec<NodeId>,
    /// Which of them is asked.
    at: usize,
    copy: CopyId,
    phase: Phase,
    /// Pieces that came before those that they follow.
    early: BTreeMap<u64, CopyPiece>,
    /// The next piece.
    next: u64,
    /// Behind those that were asked for.
    up_to: u64,
    /// When the node was asked, or said something.
    heard_at: Duration,
    asked_at: Duration,
    /// When something came last: whoever waits is patient from then on.
    progress_at: Duration,
    patience: Duration,
    /// Until then nodes that have not applied enough are waited for.
    behind_until: Duration,
    failures: BTreeMap<NodeId, String>,
    /// How often nodes have given pieces, and not all of them.
    broken_off: BTreeMap<NodeId, usize>,
    /// Nodes that have said something.
    heard: BTreeSet<NodeId>,
    /// Nodes that were given up since they said nothing, and have said nothing else.
    silent: BTreeSet<NodeId>,
    /// Nodes that said last that they lack it themselves.
    lacking: BTreeSet<NodeId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The node is to be asked at this time.
    Asks(Duration),
    /// It was asked.
    Asked,
    Gets,
    Ended,
}

impl IncomingCopy {
    /// From the first of `sources` that gives it; `patience` is how long nothing may come. The first copy has the number `first`,
    /// others the next ones.
    #[must_use]
    pub fn new(
        now: Duration,
        subject: CopySubject,
        sources: Vec<NodeId>,
        patience: Duration,
        first: CopyId,
    ) -> Self {
        Self {
            subject,
            sources,
            at: 0,
            copy: first,
            phase: Phase::Asks(now),
            early: BTreeMap::new(),
            next: 0,
            up_to: 0,
            heard_at: now,
            asked_at: now,
            progress_at: now,
            patience,
            behind_until: now.saturating_add(BEHIND_MAX),
            failures: BTreeMap::new(),
            broken_off: BTreeMap::new(),
            heard: BTreeSet::new(),
            silent: BTreeSet::new(),
            lacking: BTreeSet::new(),
        }
    }

    /// What is copied.
    #[must_use]
    pub fn subject(&self) -> CopySubject {
        self.subject
    }

    /// The number that the next copy of this node may have.
    #[must_use]
    pub fn next_id(&self) -> CopyId {
        CopyId(self.copy.0.wrapping_add(1))
    }

    /// The node that is asked, or gives it; `None` if there is none.
    #[must_use]
    pub fn source(&self) -> Option<NodeId> {
        self.sources.get(self.at).copied()
    }

    /// Why the nodes that were asked have not given it.
    #[must_use]
    pub fn failures(&self) -> &BTreeMap<NodeId, String> {
        &self.failures
    }

    /// The nodes that were asked for as long as nodes are, and have said nothing at all.
    #[must_use]
    pub fn silent(&self) -> &BTreeSet<NodeId> {
        &self.silent
    }

    /// The nodes that said last that they lack it themselves.
    #[must_use]
    pub fn lacking(&self) -> &BTreeSet<NodeId> {
        &self.lacking
    }

    /// Whoever gets the copy has written what came, for so long, and looked at nothing that nodes said meanwhile: that is not their
    /// silence.
    pub fn was_away(&mut self, time: Duration) {
        for since in [&mut self.heard_at, &mut self.progress_at] {
            *since = since.saturating_add(time);
        }
    }

    /// Does what is due at `now`: appends what is to be sent to `out`, and what came of it to `events`.
    pub fn step(
        &mut self,
        now: Duration,
        out: &mut Vec<(NodeId, CopyMessage)>,
        events: &mut Vec<IncomingEvent>,
    ) {
        let is_silent = now >= self.heard_at.saturating_add(SILENCE_MAX);
        match self.phase {
            Phase::Ended => return,
            Phase::Asked | Phase::Gets if is_silent => {
                let unheard = self.source().filter(|source| !self.heard.contains(source));
                self.silent.extend(unheard);
                self.go_on_elsewhere(now, "it does not answer".to_owned(), out);
            }
            Phase::Asks(_) | Phase::Asked | Phase::Gets => {}
        }
        let is_patient = now < self.progress_at.saturating_add(self.patience) && !self.is_lost();
        let Some(source) = self.source().filter(|_| is_patient) else {
            self.end(out);
            return events.push(IncomingEvent::GivenUp);
        };
        let is_due = now >= self.asks_again_at();
        match self.phase {
            Phase::Asks(at) if now >= at => {
                self.phase = Phase::Asked;
                (self.heard_at, self.asked_at) = (now, now);
                out.push((source, CopyMessage::Begin { copy: self.copy, subject: self.subject }));
            }
            Phase::Asked if is_due => {
                self.asked_at = now;
                out.push((source, CopyMessage::Begin { copy: self.copy, subject: self.subject }));
            }
            Phase::Gets if is_due => self.ask_for_more(now, true, out),
            _ => {}
        }
    }

    /// Takes what a node says.
    pub fn take(
        &mut self,
        now: Duration,
        from: NodeId,
        message: CopyMessage,
        out: &mut Vec<(NodeId, CopyMessage)>,
        events: &mut Vec<IncomingEvent>,
    ) {
        if matches!(message, CopyMessage::Begun { .. } | CopyMessage::Piece(_) | CopyMessage::Refused { .. })
        {
            self.heard.insert(from);
            self.silent.remove(&from);
        }
        let is_open = matches!(self.phase, Phase::Asked | Phase::Gets) && self.source() == Some(from);
        let is_of = |copy: CopyId| copy == self.copy || (planted(Bug::PiecesOfTwoCopies) && is_open);
        match message {
            CopyMessage::Begun { copy, needed_from } if is_open && is_of(copy) => {
                self.heard_at = now;
                self.lacking.remove(&from);
                if self.phase == Phase::Asked {
                    self.phase = Phase::Gets;
                    events.push(IncomingEvent::Begun { source: from, needed_from });
                    self.ask_for_more(now, false, out);
                }
            }
            CopyMessage::Piece(piece) if is_open && self.phase == Phase::Gets && is_of(piece.copy) => {
                self.take_piece(now, piece, out, events);
            }
            CopyMessage::Refused { copy, reason } if is_open && is_of(copy) => {
                // One that has begun a copy says so before its pieces, unless the network has lost it.
                let is_lost = reason == CopyRefusal::Unknown && self.phase == Phase::Asked;
                // It is there, and has time once others have what they wait for; or comes to what is wanted.
                let is_behind = reason == CopyRefusal::Behind && now < self.behind_until;
                let is_starting = reason == CopyRefusal::Starting;
                if reason == CopyRefusal::Busy || is_starting || is_behind {
                    self.progress_at = now;
                    events.push(IncomingEvent::Waits { source: from, reason: reason.clone() });
                }
                match reason {
                    CopyRefusal::Lacking => self.lacking.insert(from),
                    _ => self.lacking.remove(&from),
                };
                if !is_lost {
                    self.go_on_elsewhere(now, reason.to_string(), out);
                }
            }
            _ => {}
        }
    }

    /// What came of this copy is none: another node is asked, unless one is already.
    pub fn damaged(
        &mut self,
        now: Duration,
        copy: CopyId,
        why: String,
        out: &mut Vec<(NodeId, CopyMessage)>,
    ) {
        if copy == self.copy {
            self.go_on_elsewhere(now, why, out);
        }
    }

    /// When something is due.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        let gives_up_at = self.progress_at.saturating_add(self.patience);
        match self.phase {
            Phase::Ended => None,
            Phase::Asks(at) => Some(at.min(gives_up_at)),
            Phase::Asked | Phase::Gets => {
                let again_at = self.asks_again_at();
                Some(again_at.min(self.heard_at.saturating_add(SILENCE_MAX)).min(gives_up_at))
            }
        }
    }

    /// Nobody waits for it any more.
    pub fn end(&mut self, out: &mut Vec<(NodeId, CopyMessage)>) {
        self.end_copy(out);
        self.phase = Phase::Ended;
    }

    /// Whether every node that may have it says that it lacks it: none has given a part, and failed later.
    fn is_lost(&self) -> bool {
        let all_lack = self.sources.iter().all(|source| self.lacking.contains(source));
        all_lack && self.broken_off.is_empty() && !self.sources.is_empty()
    }

    /// When the node is asked the same again: if it says nothing, not while it still sends what it was asked for.
    fn asks_again_at(&self) -> Duration {
        self.asked_at.max(self.heard_at).saturating_add(ASK_AGAIN)
    }

    fn take_piece(
        &mut self,
        now: Duration,
        piece: CopyPiece,
        out: &mut Vec<(NodeId, CopyMessage)>,
        events: &mut Vec<IncomingEvent>,
    ) {
        self.heard_at = now;
        // What nobody asked for is not kept.
        if piece.number < self.next || piece.number >= self.up_to {
            return;
        }
        self.early.insert(piece.number, piece);
        while let Some(piece) = self.early.remove(&self.next) {
            self.next += 1;
            self.progress_at = now;
            let is_last = piece.is_last;
            events.push(IncomingEvent::Piece(piece));
            if is_last {
                self.end(out);
                return events.push(IncomingEvent::Complete);
            }
        }
        // Half of what may be under way is asked for at a time.
        if self.up_to - self.next <= PIECES_AHEAD_MAX / 2 {
            self.ask_for_more(now, false, out);
        }
    }

    fn ask_for_more(&mut self, now: Duration, is_again: bool, out: &mut Vec<(NodeId, CopyMessage)>) {
        let Some(source) = self.source() else { return };
        self.asked_at = now;
        self.up_to = self.next + PIECES_AHEAD_MAX;
        let (copy, have, up_to) = (self.copy, self.next, self.up_to);
        out.push((source, CopyMessage::More { copy, have, up_to, is_again }));
    }

    fn go_on_elsewhere(&mut self, now: Duration, why: String, out: &mut Vec<(NodeId, CopyMessage)>) {
        let Some(source) = self.source() else { return };
        self.end_copy(out);
        self.failures.insert(source, why);
        if self.has_broken_off(source) {
            self.sources.remove(self.at);
        } else {
            self.at += 1;
        }
        let is_round = self.at == self.sources.len();
        if is_round {
            self.at = 0;
        }
        let wait = if is_round { ROUND_WAIT } else { Duration::ZERO };
        self.phase = Phase::Asks(now.saturating_add(wait));
        if planted(Bug::PiecesOfTwoCopies) {
            return;
        }
        self.copy = self.next_id();
        (self.next, self.up_to) = (0, 0);
        self.early.clear();
    }

    /// Counts that the node has given pieces, if it has, and not all of them: whether it is not asked any more.
    fn has_broken_off(&mut self, source: NodeId) -> bool {
        if self.next == 0 {
            return false;
        }
        let count = self.broken_off.entry(source).or_default();
        *count += 1;
        *count >= ATTEMPTS_MAX
    }

    fn end_copy(&mut self, out: &mut Vec<(NodeId, CopyMessage)>) {
        if matches!(self.phase, Phase::Asked | Phase::Gets)
            && let Some(source) = self.source()
        {
            out.push((source, CopyMessage::End { copy: self.copy }));
        }
    }
}

#[cfg(test)]
mod tests;
