//! Certifier: decides every record of the log, in its order, from what it decided before.
//!
//! ```text
//! log      ... | older generation | newer generation | next record
//!             floor             current
//! ```
//!
//! It remembers two generations. When the newer one is full, the older one is forgotten and *floor* moves to where
//! the other began: a fact of the log, never of a node's memory. A transaction whose snapshot S sees everything before
//! the floor is compared with all that committed after S; an older one is refused. So is a record of a table (rows, name,
//! index, member, place), by what its author had applied. S lies before the record itself, so a double whose id was
//! forgotten is refused.
//!
//! An author is *fenced* if it is not the incarnation of a member that joined last ([`GraphRules::is_member`]). Its
//! transactions would be decided rightly. But a process that goes on after its node started elsewhere must not say what its
//! node serves; and once the new one has joined, whatever the old one has under way is settled: it never happens.
//!
//! Every node makes the same of the same log, whether it read it at once or began from a saved state. Nothing here
//! depends on a clock, on chance, or on the order of a hash table.
//!
//! Memory: about 70 MiB a generation of the default size when it is full, 140 at worst (several tables that have just
//! grown). The record that fills a generation may exceed that: a transaction of 64 MiB touches up to 8 Mi subjects, whose
//! table takes 272 MiB, and 408 while it grows, until the generation is forgotten. Two generations, and parts up to their
//! limit. Cost of a record: a look into two tables for each check, into one for each touch; for a range, a look at each
//! value that entered its index after S. What would commit is read once, on every node, before it is remembered
//! ([`GraphRules::read_payloads`]): what cannot be installed must be refused by all.
//!
//! Source: G-Tran (VLDB 2022), section 4.3: read sets are compared with the write sets of its recent-commits table. Differs:
//! the log decides, not a coordinator at commit times of its clocks, so that no outcome is in doubt and nothing waits for
//! another transaction. The protocol was model-checked; `tests/histories` plays the model's histories.

use crate::certification::generation::{
    ENTERED_SLOTS, Generation, MESSAGE_SLOTS, OUTCOME_SLOTS, TOUCH_SLOTS,
};
use crate::certification::graph_rules::{GraphRules, NoRules};
use crate::certification::outcome::{CancelAnswer, DecidedRecord, Decision, FailedCheck, Outcome, Refusal};
use crate::certification::pending_parts::{PendingParts, SentPart, part_slots};
use crate::digest::{DigestWindow, LogComparison, LogDigest, SeenLog};
use crate::key_hash::graph_salt::{GraphSalt, KeyHash};
use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use crate::record::body::{Record, RecordBody};
use crate::record::large_transaction::assembled;
use crate::record::message::Message;
use crate::record::payload::Payload;
use crate::record::transaction_part::TransactionPart;
use crate::record_id::{Author, RecordId};
use evergraph_graph::timestamp::Timestamp;

/// How much is remembered. The same on every node of a graph, since decisions depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CertifierLimits {
    /// Slots of a generation; a touched subject takes one.
    pub generation_slots: u64,
    /// Bytes of parts whose transactions are not decided. Parts count towards the generation, too.
    pub parts_bytes: usize,
}

impl Default for CertifierLimits {
    /// So many slots fill a table of 4 Mi places. The parts that come in two generations take 224 MiB: what is abandoned
    /// is forgotten before it could fill the limit.
    fn default() -> Self {
        Self { generation_slots: (4 << 20) / 8 * 7, parts_bytes: 256 << 20 }
    }
}

/// What a graph's log decides.
#[derive(Clone, Debug)]
pub struct Certifier {
    pub(super) salt: GraphSalt,
    pub(super) limits: CertifierLimits,
    /// The first timestamp that is remembered: everything from here on is.
    pub(super) floor: Timestamp,
    /// Where the newer generation begins.
    pub(super) current: Timestamp,
    /// Slots of the newer generation that are used.
    pub(super) used_slots: u64,
    pub(super) older: Generation,
    pub(super) newer: Generation,
    pub(super) parts: PendingParts,
    pub(super) digests: DigestWindow,
}

/// A message while its records are decided: where it lies, who wrote it, and what its author had applied.
#[derive(Clone, Copy, Debug)]
pub struct MessageHead {
    position: LogPosition,
    author: Author,
    /// The snapshot after what its author had applied.
    snapshot: Timestamp,
    /// Whether that was this log.
    is_of_this_log: bool,
}

/// A record's transaction, without its last part.
#[derive(Clone, Copy)]
struct TransactionHead {
    id: RecordId,
    since: Timestamp,
    parts: u16,
    /// Whether its author saw this log, at least up to `since`.
    is_of_this_log: bool,
    is_member: bool,
}

/// What is known of a record beside its body.
#[derive(Clone, Copy)]
struct RecordHead {
    id: RecordId,
    at: Timestamp,
    /// The snapshot after what its author had applied when it was sent.
    snapshot: Timestamp,
    /// Whether that was this log.
    is_of_this_log: bool,
    is_member: bool,
}

impl Certifier {
    /// Decides what follows after `start` in the log of the graph with `salt`.
    #[must_use]
    pub fn new(salt: GraphSalt, limits: CertifierLimits, start: SeenLog) -> Self {
        let floor = start.position.end().next();
        Self {
            salt,
            limits,
            floor,
            current: floor,
            used_slots: 0,
            older: Generation::default(),
            newer: Generation::default(),
            parts: PendingParts::default(),
            digests: DigestWindow::new(start),
        }
    }

    /// Begins to decide `message` at `position`, the next one of the log. Each of its records follows in order
    /// ([`Certifier::decide`]), then its end ([`Certifier::end`]).
    ///
    /// A message whose author saw another log ([`Certifier::compare`]) is decided as well: a caller that finds its own log
    /// changed stops instead.
    ///
    /// # Panics
    /// If `position` is not above that of the message before, or above [`LogPosition::MAX`].
    #[must_use]
    pub fn begin(&self, position: LogPosition, message: &Message) -> MessageHead {
        let before = self.digests.last().position;
        assert!(position > before, "message {position} is decided after message {before}");
        assert!(position <= LogPosition::MAX, "message {position} has no timestamps");
        MessageHead {
            position,
            author: message.author,
            snapshot: message.seen.position.end(),
            is_of_this_log: self.compare(&message.seen) == LogComparison::Same,
        }
    }

    /// Decides the record in `place` of a message, by `rules` as they stand before it.
    pub fn decide<R: GraphRules>(
        &mut self,
        message: &MessageHead,
        place: usize,
        record: Record,
        rules: &R,
    ) -> DecidedRecord<R::Commit> {
        let MessageHead { position, author, snapshot, is_of_this_log } = *message;
        let id = RecordId { author, number: record.number };
        let timestamp = position.timestamp(place);
        let is_member = rules.is_member(author);
        let head = RecordHead { id, at: timestamp, snapshot, is_of_this_log, is_member };
        let decision = self.decision(head, record.body, rules);
        DecidedRecord { id, timestamp, decision }
    }

    /// Ends a message, whose bytes are `bytes`: all of its records are decided.
    pub fn end(&mut self, message: MessageHead, bytes: &[u8]) {
        self.digests.push(self.salt, message.position, bytes);
        self.count(MESSAGE_SLOTS, message.position.end());
    }

    /// Decides a whole message, by no rules but its own: payloads are not read, and everybody is a member.
    ///
    /// # Panics
    /// As [`Certifier::begin`].
    pub fn apply(&mut self, position: LogPosition, message: Message, bytes: &[u8]) -> Vec<DecidedRecord> {
        let head = self.begin(position, &message);
        let records = message.records.into_iter().enumerate();
        let decided = records.map(|(place, record)| self.decide(&head, place, record, &NoRules)).collect();
        self.end(head, bytes);
        decided
    }

    /// Compares the log that somebody saw with the one that was applied here.
    #[must_use]
    pub fn compare(&self, seen: &SeenLog) -> LogComparison {
        match self.digests.compare(seen) {
            LogComparison::Other if planted(Bug::OtherLogAccepted) => LogComparison::Same,
            comparison => comparison,
        }
    }

    /// Whether the message at `position`, read again, is the one that was applied; `None` if that is forgotten.
    #[must_use]
    pub fn is_unchanged(&self, position: LogPosition, message: &[u8]) -> Option<bool> {
        self.digests.is_unchanged(self.salt, position, message)
    }

    /// The newest message that was applied, and the digest of the log up to it.
    #[must_use]
    pub fn seen(&self) -> SeenLog {
        self.digests.last()
    }

    /// The log that was applied, as far back as it is remembered: a reader compares with it.
    #[must_use]
    pub fn digests(&self) -> &DigestWindow {
        &self.digests
    }

    /// The digest of the log up to the message at `position`, unless it is forgotten.
    #[must_use]
    pub fn digest_at(&self, position: LogPosition) -> Option<LogDigest> {
        self.digests.at(position)
    }

    /// The first timestamp that is remembered: a transaction is decided if its snapshot sees everything before.
    #[must_use]
    pub fn floor(&self) -> Timestamp {
        self.floor
    }

    /// What is remembered of a record.
    #[must_use]
    pub fn outcome(&self, id: RecordId) -> Option<Outcome> {
        let older = || self.older.outcome(id).filter(|_| !planted(Bug::OutcomesForgottenEarly));
        self.newer.outcome(id).or_else(older)
    }

    /// The same, whatever bug is planted: slots are counted by it, so that a bug does not move the floor and shows
    /// itself by what it does.
    fn remembered(&self, id: RecordId) -> Option<Outcome> {
        self.newer.outcome(id).or_else(|| self.older.outcome(id))
    }

    /// Whether something that a snapshot does not see may be forgotten. The last snapshot before the floor misses nothing:
    /// all that it does not see is at the floor or behind it, and so are the ids and parts of transactions that read at it,
    /// since they come to the log after their snapshot.
    fn is_too_old(&self, snapshot: Timestamp) -> bool {
        snapshot.next() < self.floor
    }

    /// Why a transaction would be refused if its record came next, whose parts are all in `last`: asked before it is
    /// sent, so that few doomed ones reach the log.
    #[must_use]
    pub fn would_refuse(&self, since: Timestamp, last: &TransactionPart) -> Option<Refusal> {
        if self.is_too_old(since) {
            return Some(Refusal::TooOld { floor: self.floor });
        }
        self.conflict(since, last, None)
    }

    fn decision<R: GraphRules>(
        &mut self,
        head: RecordHead,
        body: RecordBody,
        rules: &R,
    ) -> Decision<R::Commit> {
        let RecordHead { id, at, .. } = head;
        let remembered = self.remembered(id);
        let known = if planted(Bug::OutcomesForgottenEarly) { self.outcome(id) } else { remembered };
        if let Some(known) = known
            && !planted(Bug::DoubleDecided)
        {
            return Decision::Double(known);
        }
        let is_double = remembered.is_some();
        let mut slots = 0;
        let decision = match body {
            RecordBody::Transaction { since, parts, last } => {
                let is_of_this_log = head.is_of_this_log && since <= head.snapshot;
                let head = TransactionHead { id, since, parts, is_of_this_log, is_member: head.is_member };
                self.transaction(at, head, last, rules, &mut slots)
            }
            RecordBody::Part { .. } | RecordBody::Cancel { .. } | RecordBody::Barrier if !head.is_member => {
                Decision::Refuse(Refusal::Fenced)
            }
            RecordBody::Part { of, place, part } => {
                slots += part_slots(&part);
                let of = RecordId { author: id.author, number: of };
                let is_late = self.outcome(of).is_some();
                let sent = SentPart { at, part };
                if !is_late && self.parts.keep(of, place, sent, self.limits.parts_bytes) {
                    Decision::KeepPart
                } else {
                    Decision::DropPart
                }
            }
            RecordBody::Cancel { of, since } => Decision::Answer(self.cancel(of, since, &mut slots)),
            RecordBody::Barrier => Decision::Accept(RecordBody::Barrier),
            body => self.table_record(head, body, &mut slots),
        };
        let outcome = match &decision {
            Decision::Commit(_) => Some(Outcome::Committed(at)),
            Decision::Refuse(refusal) => refusal.outcome(),
            _ => Some(Outcome::Done),
        };
        if outcome.is_some() {
            slots += OUTCOME_SLOTS;
        }
        let is_too_old = matches!(decision, Decision::Refuse(Refusal::TooOld { .. }));
        if let Some(outcome) =
            outcome.or((is_too_old && planted(Bug::TooOldKept)).then_some(Outcome::Conflict))
        {
            self.newer.decide(id, outcome);
        }
        self.count(if is_double { 0 } else { slots }, at);
        decision
    }

    /// Of rows, names, indexes, members and places: what came to a node's tables twice would be done twice, so age and log are
    /// checked as a transaction's are. Age comes before all that leaves an entry for the id.
    fn table_record<C>(&mut self, head: RecordHead, body: RecordBody, slots: &mut u64) -> Decision<C> {
        if self.is_too_old(head.snapshot) && !planted(Bug::LateRecordAccepted) {
            return Decision::Refuse(Refusal::TooOld { floor: self.floor });
        }
        if !head.is_of_this_log && !planted(Bug::LateRecordAccepted) {
            return Decision::Refuse(Refusal::OtherLog);
        }
        if !head.is_member && !matches!(body, RecordBody::Join { .. }) {
            return Decision::Refuse(Refusal::Fenced);
        }
        for subject in touches_of(&body) {
            self.newer.touch(*subject, head.at);
            *slots += TOUCH_SLOTS;
        }
        Decision::Accept(body)
    }

    fn cancel(&mut self, of: RecordId, since: Timestamp, slots: &mut u64) -> CancelAnswer {
        let known = self.outcome(of);
        let is_late = self.is_too_old(since);
        if self.remembered(of).is_none() && !is_late {
            *slots += OUTCOME_SLOTS;
        }
        if let Some(known) = known {
            return CancelAnswer::Decided(known);
        }
        // What could have been forgotten gets no entry: it would be taken for the outcome.
        if (!is_late || planted(Bug::LateCancelKept)) && !planted(Bug::CancelForgotten) {
            self.newer.decide(of, Outcome::Cancelled);
        }
        // Late or not, the transaction never commits from here on.
        self.parts.take(of);
        match is_late && !planted(Bug::LateCancelAnswered) {
            true => CancelAnswer::Unknown,
            false => CancelAnswer::Cancelled,
        }
    }

    fn transaction<R: GraphRules>(
        &mut self,
        at: Timestamp,
        head: TransactionHead,
        mut last: TransactionPart,
        rules: &R,
        slots: &mut u64,
    ) -> Decision<R::Commit> {
        let mut sent = self.parts.take(head.id);
        sent.retain(|(place, _)| *place < head.parts);
        let commit = match self.refusal(at, &head, &sent, &last) {
            Some(refusal) => Err(refusal),
            None => rules.read_payloads(take_payloads(&mut sent, &mut last)).map_err(Refusal::Malformed),
        };
        let is_remembered = match &commit {
            Ok(_) => true,
            Err(Refusal::Conflict { .. }) => planted(Bug::RefusedTouches),
            Err(Refusal::Malformed(_)) => planted(Bug::MalformedTouches),
            Err(_) => false,
        };
        if is_remembered {
            for part in all_parts(&sent, &last) {
                part.touches.iter().for_each(|subject| self.newer.touch(*subject, at));
                part.entered.iter().for_each(|key| self.newer.enter(*key, at));
            }
        }
        match commit {
            Err(refusal) => Decision::Refuse(refusal),
            Ok(commit) => {
                for part in all_parts(&sent, &last) {
                    *slots +=
                        TOUCH_SLOTS * part.touches.len() as u64 + ENTERED_SLOTS * part.entered.len() as u64;
                }
                Decision::Commit(commit)
            }
        }
    }

    /// Why a transaction does not commit, whatever its payloads say.
    fn refusal(
        &self,
        at: Timestamp,
        head: &TransactionHead,
        sent: &[(u16, TransactionPart)],
        last: &TransactionPart,
    ) -> Option<Refusal> {
        // Age first: of a log that was seen so long ago the digest may be forgotten, and a double of what committed, too.
        if self.is_too_old(head.since) && !planted(Bug::FloorUnchecked) {
            return Some(Refusal::TooOld { floor: self.floor });
        }
        if !head.is_of_this_log && !planted(Bug::OtherLogAccepted) {
            return Some(Refusal::OtherLog);
        }
        if !head.is_member {
            return Some(Refusal::Fenced);
        }
        let conflict = all_parts(sent, last).find_map(|part| self.conflict(head.since, part, Some(at)));
        conflict.or_else(|| {
            // Places ascend, each once: the first that isn't its own number is missing.
            let missing =
                (0..head.parts).find(|at| sent.get(usize::from(*at)).is_none_or(|(place, _)| place != at));
            missing.filter(|_| !planted(Bug::PartsUnchecked)).map(|place| Refusal::Incomplete { place })
        })
    }

    /// The first check of `part` that fails for a transaction with the snapshot `since`, decided at `at`.
    fn conflict(&self, since: Timestamp, part: &TransactionPart, at: Option<Timestamp>) -> Option<Refusal> {
        let is_news = |changed: Timestamp| {
            let is_blind = planted(Bug::MessageBlind)
                && at.is_some_and(|at| LogPosition::of(at) == LogPosition::of(changed));
            !changed.visible_at(since) && !is_blind
        };
        let touched = |subject: KeyHash| self.newer.touched(subject).or_else(|| self.older.touched(subject));
        for subject in &part.checks {
            if let Some(changed) = touched(*subject).filter(|changed| is_news(*changed)) {
                return Some(Refusal::Conflict { check: FailedCheck::Subject(*subject), changed });
            }
        }
        for range in part.ranges.iter().filter(|_| !planted(Bug::RangesUnchecked)) {
            let mut entered =
                self.newer.entered_after(range, since).chain(self.older.entered_after(range, since));
            if let Some(changed) = entered.find(|changed| is_news(*changed)) {
                return Some(Refusal::Conflict { check: FailedCheck::Range(*range), changed });
            }
        }
        None
    }

    /// So many slots were used up to `at`: the next generation may begin behind it.
    fn count(&mut self, slots: u64, at: Timestamp) {
        self.used_slots += slots;
        if self.used_slots < self.limits.generation_slots {
            return;
        }
        std::mem::swap(&mut self.older, &mut self.newer);
        self.newer.clear(self.limits.generation_slots);
        (self.floor, self.current, self.used_slots) = (self.current, at.next(), 0);
        let parts_floor = if planted(Bug::PartsForgottenEarly) { self.current } else { self.floor };
        self.parts.forget_before(parts_floor);
        self.digests.forget_before(LogPosition::of(self.floor));
    }
}

/// The parts of a transaction, in their order.
fn all_parts<'a>(
    sent: &'a [(u16, TransactionPart)],
    last: &'a TransactionPart,
) -> impl Iterator<Item = &'a TransactionPart> {
    sent.iter().map(|(_, part)| part).chain([last])
}

/// Takes the payloads of a transaction out of its parts: whole, by ascending destination.
fn take_payloads(sent: &mut [(u16, TransactionPart)], last: &mut TransactionPart) -> Vec<Payload> {
    let of_last = std::mem::take(&mut last.payloads);
    if sent.is_empty() {
        // One part has each destination once.
        return of_last;
    }
    let ahead = sent.iter_mut().map(|(_, part)| std::mem::take(&mut part.payloads));
    assembled(ahead.chain([of_last]))
}

/// What a record touches that is no transaction.
fn touches_of(body: &RecordBody) -> &[KeyHash] {
    match body {
        RecordBody::Rows { touches, .. }
        | RecordBody::Name { touches, .. }
        | RecordBody::CreateIndex { touches, .. }
        | RecordBody::IndexReady { touches, .. }
        | RecordBody::UniqueIndex { touches, .. } => touches,
        RecordBody::Transaction { .. }
        | RecordBody::Part { .. }
        | RecordBody::Cancel { .. }
        | RecordBody::Barrier
        | RecordBody::Join { .. }
        | RecordBody::Leave { .. }
        | RecordBody::Place(_) => &[],
    }
}
