//! Asking: which of the nodes that keep a partition is asked, when another one is asked as well, and what comes of it.
//!
//! ```text
//! ask ──> own copy, or one copy in turn ── silent for 200 ms ──> the next one as well ── ... ──> first answer: the others forget
//!              │                                   ▲
//!              └ not kept, busy, failed ───────────┘ at once           nobody left: those again, after a moment
//! ```
//!
//! - A node that says nothing for [`AskingOptions::hedge_after`] is suspected, and another copy is asked as well. From then on
//!   others are asked first, at once, until the node answers something or [`AskingOptions::suspect_for`] has passed. So the loss
//!   of a node costs each asker 200 ms once, and then once in 5 s.
//! - A question that got neither answer nor refusal is sent again, the same one, after a second, and then at twice the
//!   interval: a network may lose it, and a holder that still works on it drops the double.
//! - Whoever refused for a reason that passes is asked again after a moment, even while another one is silent: that one may be
//!   lost.
//! - `TooOld` of one holder may be its own affair: it has started, or copied the partition, later than the snapshot. So the
//!   others are asked, for a second at most, unless one of those that work on the question has been heard of within a second: a
//!   heartbeat will do. If none answers, the transaction began too long ago, and runs again.
//! - `OtherLog` raises an alarm, one a node: one of the two has read a log that lost messages, and the asker reads its own again.
//!   Others are asked; if all say so, nobody answers.
//! - Everything ends at the deadline.
//!
//! It has no clock and sends nothing: who owns it passes the time, and sends what it says.
//!
//! Source: hedged requests of "The Tail at Scale" (Dean and Barroso, 2013). Differs: what is refused goes elsewhere at once.

use crate::digest::SeenLog;
use crate::planted::{Bug, planted};
use crate::record_id::{Author, NodeId};
use crate::remote::open_questions::{OpenQuestions, QuestionOutcome};
use crate::remote::question::{
    Answer, CONTENT_BYTES_MAX, Question, QuestionId, QuestionRefusal, RefusalReason,
};
use crate::tables::placement::Placement;
use evergraph_graph::id::PartitionId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// How nodes are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AskingOptions {
    /// How long a node may say nothing before another one is asked as well.
    pub hedge_after: Duration,
    /// How long a node that said nothing is asked after all others.
    pub suspect_for: Duration,
    /// When a question that got no answer is sent again for the first time; and how long others are waited for that say nothing,
    /// after one holder said that the snapshot is too old.
    pub resend_after: Duration,
    /// How long to wait after every holder has refused, the first time; then twice as long each time, up to a second.
    pub retry_after: Duration,
    /// Asks that may be open at once.
    pub asks_max: usize,
    /// Bytes of what they ask, once each.
    pub bytes_max: usize,
}

impl Default for AskingOptions {
    fn default() -> Self {
        Self {
            hedge_after: Duration::from_millis(200),
            suspect_for: Duration::from_secs(5),
            resend_after: Duration::from_secs(1),
            retry_after: Duration::from_millis(20),
            asks_max: 16_384,
            bytes_max: 256 << 20,
        }
    }
}

/// The longest wait before every holder is asked again.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(1);

/// Questions that one ask may have open at once, on average.
const QUESTIONS_PER_ASK: usize = 4;

/// What is asked of whoever keeps a partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ask {
    /// The partition.
    pub partition: PartitionId,
    /// The snapshot: everything through this message, of the log with this digest. An own reader holds it meanwhile.
    pub at: SeenLog,
    /// How long the asker waits.
    pub patience: Duration,
    /// What is asked: at most [`CONTENT_BYTES_MAX`] bytes.
    pub asked: Vec<u8>,
}

/// An ask, by its number: never given twice by one [`Asking`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AskId(pub u64);

/// What came of an ask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskOutcome {
    /// What a holder answered.
    Answered(Vec<u8>),
    /// The snapshot began too long ago: the transaction runs again.
    TooOld,
    /// Every holder has applied another log than this node, which must not go on before it has read its own again.
    OtherLog,
    /// Nobody answered in time.
    NotAnswered {
        /// The last refusal, if there was one.
        reason: Option<RefusalReason>,
    },
}

/// What the owner of an [`Asking`] does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskingAction {
    /// Sends a question.
    Send(NodeId, Question),
    /// Tells a node that nobody waits for its answer any more.
    Forget(NodeId, QuestionId),
    /// Tells whoever asked.
    Done(AskId, AskOutcome),
    /// Reads the log of this node again: another one has applied another log up to this message.
    OtherLog(NodeId, SeenLog),
}

/// Why nothing is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AskRefusal {
    /// As much is asked as may be at once: ask again when something was answered.
    Full,
    /// It has more bytes than a question may have.
    TooLarge,
}

/// The asks of one node.
#[derive(Debug)]
pub struct Asking {
    own: NodeId,
    options: AskingOptions,
    questions: OpenQuestions,
    asked: u64,
    bytes: usize,
    asks: BTreeMap<AskId, OpenAsk>,
    /// When something is to be done about each of them.
    due: BTreeSet<(Duration, AskId)>,
    /// The ask of each open question, by its number.
    of_question: BTreeMap<u64, AskId>,
    nodes: BTreeMap<NodeId, NodeTrust>,
}

#[derive(Debug)]
struct OpenAsk {
    ask: Ask,
    ends_at: Duration,
    /// Its place in `due`.
    due_at: Duration,
    /// Questions that nobody has answered.
    sent: Vec<SentQuestion>,
    /// Who was asked in this round.
    tried: Vec<NodeId>,
    /// When those are asked again who have refused for a reason that passes.
    retry_at: Option<Duration>,
    retry_wait: Duration,
    /// When a holder first said that the snapshot is too old.
    too_old_at: Option<Duration>,
    /// Whether somebody has refused in this round for a reason that passes.
    may_retry: bool,
    /// The last refusal.
    reason: Option<RefusalReason>,
}

#[derive(Clone, Copy, Debug)]
struct SentQuestion {
    id: QuestionId,
    node: NodeId,
    sent_at: Duration,
    resend_at: Duration,
}

/// What is known of a node.
#[derive(Clone, Copy, Debug, Default)]
struct NodeTrust {
    /// When it last answered or refused something.
    heard_at: Option<Duration>,
    /// When it was last heard of, by whatever it said.
    alive_at: Option<Duration>,
    /// Until when others are asked first.
    suspected_until: Duration,
    /// It said so, and has answered nothing since.
    has_other_log: bool,
}

impl Asking {
    /// Of the node `asker`.
    #[must_use]
    pub fn new(asker: Author, options: AskingOptions) -> Self {
        let questions_max = options.asks_max.saturating_mul(QUESTIONS_PER_ASK);
        Self {
            own: asker.node,
            options,
            questions: OpenQuestions::new(asker, questions_max),
            asked: 0,
            bytes: 0,
            asks: BTreeMap::new(),
            due: BTreeSet::new(),
            of_question: BTreeMap::new(),
            nodes: BTreeMap::new(),
        }
    }

    /// Asks. The next [`Asking::step`] sends the first question.
    ///
    /// # Errors
    /// [`AskRefusal`]; nothing is asked.
    pub fn ask(&mut self, now: Duration, ask: Ask) -> Result<AskId, AskRefusal> {
        let bytes = ask.asked.len();
        if bytes > CONTENT_BYTES_MAX {
            return Err(AskRefusal::TooLarge);
        }
        if self.asks.len() >= self.options.asks_max || self.bytes + bytes > self.options.bytes_max {
            return Err(AskRefusal::Full);
        }
        self.asked += 1;
        self.bytes += bytes;
        let id = AskId(self.asked);
        let open = OpenAsk {
            ends_at: now.saturating_add(ask.patience),
            ask,
            due_at: now,
            sent: Vec::new(),
            tried: Vec::new(),
            retry_at: None,
            retry_wait: self.options.retry_after,
            too_old_at: None,
            may_retry: false,
            reason: None,
        };
        self.asks.insert(id, open);
        self.due.insert((now, id));
        Ok(id)
    }

    /// Whoever asked does not wait any more: nothing is told about it.
    pub fn forget(&mut self, id: AskId, actions: &mut Vec<AskingAction>) {
        self.close(id, actions);
    }

    /// An answer came from a node.
    pub fn answered(&mut self, now: Duration, from: NodeId, answer: Answer, actions: &mut Vec<AskingAction>) {
        self.heard(now, from);
        let Some(QuestionOutcome { id, result: Some(Ok(answered)), .. }) =
            self.questions.answered(from, answer)
        else {
            return;
        };
        self.nodes.entry(from).or_default().has_other_log = false;
        if let Some(ask) = self.of_question.remove(&id.number) {
            self.finish(ask, AskOutcome::Answered(answered), actions);
        }
    }

    /// A refusal came from a node. The next [`Asking::step`] asks another one.
    pub fn refused(
        &mut self,
        now: Duration,
        from: NodeId,
        refusal: QuestionRefusal,
        actions: &mut Vec<AskingAction>,
    ) {
        self.heard(now, from);
        let Some(QuestionOutcome { id, result: Some(Err(reason)), .. }) =
            self.questions.refused(from, refusal)
        else {
            return;
        };
        let is_other_log = reason == RefusalReason::OtherLog;
        let trust = self.nodes.entry(from).or_default();
        let is_alarm = is_other_log && !std::mem::replace(&mut trust.has_other_log, is_other_log);
        let Some(open) = self.settle(now, id) else { return };
        match reason {
            RefusalReason::TooOld => {
                open.too_old_at.get_or_insert(now);
            }
            RefusalReason::OtherLog if is_alarm => {
                actions.push(AskingAction::OtherLog(from, open.ask.at));
            }
            RefusalReason::OtherLog => {}
            _ if planted(Bug::RefusalFinal) => open.ends_at = now,
            _ => open.may_retry = true,
        }
        open.reason = Some(reason);
    }

    /// A node was heard of otherwise, as by a heartbeat. It is trusted no more for that: others are asked as before.
    pub fn alive(&mut self, now: Duration, from: NodeId) {
        // One that was never asked is not remembered.
        if let Some(trust) = self.nodes.get_mut(&from) {
            trust.alive_at = Some(now);
        }
    }

    /// A question could not be sent. The next [`Asking::step`] asks another node.
    pub fn unsent(&mut self, now: Duration, id: QuestionId) {
        self.questions.forget(id);
        if let Some(open) = self.settle(now, id) {
            open.may_retry = true;
        }
    }

    /// Does what is due at `now`: sends questions to those who serve the partitions, and ends what has come to its deadline.
    pub fn step(&mut self, now: Duration, placement: &Placement, actions: &mut Vec<AskingAction>) {
        while let Some((_, id)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.ask_on(now, id, placement, actions);
        }
    }

    /// When something is to be done.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Asks that are open.
    #[must_use]
    pub fn count(&self) -> usize {
        self.asks.len()
    }

    /// Nodes that said nothing when they were asked, ascending: others are asked first.
    pub fn suspected(&self, now: Duration) -> impl Iterator<Item = NodeId> {
        self.nodes.iter().filter(move |(_, trust)| now < trust.suspected_until).map(|(node, _)| *node)
    }

    /// Does what is due for one ask, and plans what is due next.
    fn ask_on(&mut self, now: Duration, id: AskId, placement: &Placement, actions: &mut Vec<AskingAction>) {
        let Some(open) = self.asks.get_mut(&id) else { return };
        if open.gives_up_at(&self.nodes, self.options.resend_after) <= now && !planted(Bug::AskEndless) {
            let outcome = open.last_outcome();
            self.finish(id, outcome, actions);
            return;
        }
        if open.retry_at.is_some_and(|at| at <= now) {
            open.begin_round();
        }
        self.send_again(now, id, actions);
        let mut is_waiting = self.is_waiting(now, id);
        while !is_waiting && let Some(node) = self.next_holder(now, id, placement) {
            if !self.send(now, id, node, actions) {
                break;
            }
            is_waiting = self.is_waiting(now, id);
        }
        let is_untried = self.next_holder(now, id, placement).is_some();
        let options = self.options;
        let Some(open) = self.asks.get_mut(&id) else { return };
        // Everybody has refused, and nobody for a reason that passes.
        if open.sent.is_empty() && !is_untried && open.is_hopeless() {
            let outcome = open.last_outcome();
            self.finish(id, outcome, actions);
            return;
        }
        if !is_waiting && open.retry_at.is_none() && (open.sent.is_empty() || open.may_retry) {
            open.retry_at = Some(now.saturating_add(open.retry_wait));
            open.retry_wait = (open.retry_wait * 2).min(RETRY_WAIT_MAX);
        }
        let hedges = open.sent.iter().map(|sent| sent.sent_at.saturating_add(options.hedge_after));
        let resends = open.sent.iter().map(|sent| sent.resend_at);
        let next_at = hedges.filter(|at| *at > now).chain(resends).chain(open.retry_at).min();
        let ends_at = open.gives_up_at(&self.nodes, options.resend_after);
        let next_at = next_at.unwrap_or(ends_at).min(ends_at);
        // What is due now was done now.
        self.plan(id, next_at.max(now.saturating_add(Duration::from_nanos(1))));
    }

    /// Whether a node may still answer that was asked a moment ago. Those that have said nothing for longer are suspected.
    fn is_waiting(&mut self, now: Duration, id: AskId) -> bool {
        let Some(open) = self.asks.get(&id) else { return true };
        let mut is_waiting = false;
        for sent in &open.sent {
            let trust = self.nodes.entry(sent.node).or_default();
            let is_silent = trust.heard_at.is_none_or(|heard_at| heard_at < sent.sent_at);
            if now < sent.sent_at.saturating_add(self.options.hedge_after) {
                is_waiting |= trust.suspected_until <= now;
            } else if is_silent && !planted(Bug::SilenceForgotten) {
                trust.suspected_until = now.saturating_add(self.options.suspect_for);
            }
        }
        is_waiting || (planted(Bug::OneHolderAsked) && !open.sent.is_empty())
    }

    /// Who is asked next: of those that serve the partition and were not asked, nodes that answer, then this one, then each in
    /// turn.
    fn next_holder(&self, now: Duration, id: AskId, placement: &Placement) -> Option<NodeId> {
        let open = self.asks.get(&id)?;
        let holders: Vec<NodeId> = placement.serving(open.ask.partition).collect();
        let turn = |place: usize| (place as u64).wrapping_add(id.0) % holders.len() as u64;
        let untried = holders.iter().enumerate().filter(|(_, node)| !open.tried.contains(node));
        let first = untried.min_by_key(|(place, node)| {
            let trust = self.nodes.get(*node).copied().unwrap_or_default();
            (now < trust.suspected_until, **node != self.own, turn(*place))
        });
        first.map(|(_, node)| *node)
    }

    /// Sends the question to a node. Whether there is room for one more.
    fn send(&mut self, now: Duration, id: AskId, node: NodeId, actions: &mut Vec<AskingAction>) -> bool {
        let Some(open) = self.asks.get_mut(&id) else { return false };
        let patience = open.ends_at.saturating_sub(now);
        let about = (open.ask.partition, open.ask.at);
        let Some(question) = self.questions.ask(now, node, about, patience, open.ask.asked.clone()) else {
            return false;
        };
        let resend_at = now.saturating_add(self.options.resend_after);
        open.sent.push(SentQuestion { id: question.id, node, sent_at: now, resend_at });
        open.tried.push(node);
        self.of_question.insert(question.id.number, id);
        actions.push(AskingAction::Send(node, question));
        true
    }

    /// Sends questions again which may be lost.
    fn send_again(&mut self, now: Duration, id: AskId, actions: &mut Vec<AskingAction>) {
        let Some(open) = self.asks.get_mut(&id) else { return };
        let (Ask { partition, at, asked, .. }, ends_at) = (&open.ask, open.ends_at);
        for sent in open.sent.iter_mut().filter(|sent| sent.resend_at <= now) {
            sent.resend_at = now.saturating_add(now.saturating_sub(sent.sent_at));
            let patience = ends_at.saturating_sub(now);
            let (id, partition, at, asked) = (sent.id, *partition, *at, asked.clone());
            actions.push(AskingAction::Send(sent.node, Question { id, partition, at, patience, asked }));
        }
    }

    /// A question is answered by a refusal, or was never sent: the next step looks for another node.
    fn settle(&mut self, now: Duration, id: QuestionId) -> Option<&mut OpenAsk> {
        let ask = self.of_question.remove(&id.number)?;
        self.plan(ask, now);
        let open = self.asks.get_mut(&ask)?;
        open.sent.retain(|sent| sent.id != id);
        Some(open)
    }

    fn plan(&mut self, id: AskId, at: Duration) {
        if let Some(open) = self.asks.get_mut(&id) {
            self.due.remove(&(open.due_at, id));
            open.due_at = at;
            self.due.insert((at, id));
        }
    }

    fn heard(&mut self, now: Duration, from: NodeId) {
        let trust = self.nodes.entry(from).or_default();
        (trust.heard_at, trust.alive_at) = (Some(now), Some(now));
        trust.suspected_until = Duration::ZERO;
    }

    fn finish(&mut self, id: AskId, outcome: AskOutcome, actions: &mut Vec<AskingAction>) {
        self.close(id, actions);
        actions.push(AskingAction::Done(id, outcome));
    }

    /// Takes an ask out. Who still works for it stops.
    fn close(&mut self, id: AskId, actions: &mut Vec<AskingAction>) {
        let Some(open) = self.asks.remove(&id) else { return };
        self.due.remove(&(open.due_at, id));
        self.bytes -= open.ask.asked.len();
        for SentQuestion { id, node, .. } in open.sent {
            // The one that was answered is none of them any more.
            if self.of_question.remove(&id.number).is_some() {
                self.questions.forget(id);
                actions.push(AskingAction::Forget(node, id));
            }
        }
    }
}

impl OpenAsk {
    /// When it ends: at its deadline, or once the snapshot is too old for one holder and nobody who was asked besides has been
    /// heard of for `wait`.
    fn gives_up_at(&self, nodes: &BTreeMap<NodeId, NodeTrust>, wait: Duration) -> Duration {
        let Some(too_old_at) = self.too_old_at else { return self.ends_at };
        let alive_at = self.sent.iter().filter_map(|sent| nodes.get(&sent.node)?.alive_at);
        let alive_at = alive_at.filter(|_| !planted(Bug::WorkingHolderLeft)).max();
        let heard_at = alive_at.map_or(too_old_at, |alive_at| alive_at.max(too_old_at));
        self.ends_at.min(heard_at.saturating_add(wait))
    }

    /// Everybody may be asked again who is not being asked.
    fn begin_round(&mut self) {
        (self.retry_at, self.may_retry) = (None, false);
        self.tried.clear();
        self.tried.extend(self.sent.iter().map(|sent| sent.node));
    }

    /// Whether nobody answers who was asked in this round, however often they are asked.
    fn is_hopeless(&self) -> bool {
        let has_other_log = self.reason == Some(RefusalReason::OtherLog);
        !self.may_retry && (self.too_old_at.is_some() || has_other_log)
    }

    /// What comes of it if nobody answers.
    fn last_outcome(&self) -> AskOutcome {
        match &self.reason {
            _ if self.too_old_at.is_some() => AskOutcome::TooOld,
            Some(RefusalReason::OtherLog) => AskOutcome::OtherLog,
            reason => AskOutcome::NotAnswered { reason: reason.clone() },
        }
    }
}

impl fmt::Display for AskRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the node asks as much as it may at once: ask again in a moment",
            Self::TooLarge => "the question is too large",
        })
    }
}

impl std::error::Error for AskRefusal {}

#[cfg(test)]
mod tests;
