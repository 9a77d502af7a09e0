//! Admission: whether a node may answer a question at a snapshot, and the questions that wait until it may.
//!
//! ```text
//!        merged away        can be read           not applied yet
//! log ────────────────┼──────────────────────┼──────────────────────
//!                  horizon                applied
//!   S here: too old        S here: now           S here: later
//! ```
//!
//! A holder answers as of S, from the log that the asker has read, or not at all. It waits until it has applied S; it refuses if
//! it cannot read at S any more, and if its digest at S is another one: then one of the two has read a log that lost
//! messages. Questions that wait are limited, all of them and those of one asker, and each only waits as long as its asker does.

use crate::digest::{DigestWindow, LogComparison, SeenLog};
use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use crate::remote::question::{CONTENT_BYTES_MAX, Question, QuestionId, RefusalReason};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a node may answer from.
#[derive(Clone, Copy, Debug)]
pub struct ReadableLog<'a> {
    /// The log that it has applied.
    pub applied: &'a DigestWindow,
    /// The oldest message whose end can still be read: merges went as far.
    pub horizon: LogPosition,
}

/// Whether a question is answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Now.
    Now,
    /// When the node has applied more.
    Later,
    /// Never.
    Refused(RefusalReason),
}

impl ReadableLog<'_> {
    /// Whether a question that reads at `at` is answered.
    #[must_use]
    pub fn admit(&self, at: &SeenLog) -> Admission {
        if at.position < self.horizon && !planted(Bug::AnsweredTooLate) {
            return Admission::Refused(RefusalReason::TooOld);
        }
        if at.position > self.applied.last().position {
            return if planted(Bug::AnsweredTooSoon) { Admission::Now } else { Admission::Later };
        }
        match self.applied.compare(at) {
            LogComparison::Same => Admission::Now,
            LogComparison::Other if planted(Bug::AnsweredOfOtherLog) => Admission::Now,
            // The horizon may be behind what is remembered: nobody can tell which log that is.
            LogComparison::Other | LogComparison::Forgotten => Admission::Refused(RefusalReason::OtherLog),
        }
    }
}

/// How many questions wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitingLimits {
    /// Questions that wait at once.
    pub questions_max: usize,
    /// Bytes of what they ask.
    pub bytes_max: usize,
    /// Questions of one node that wait at once, so that none fills the queue for all.
    pub asker_questions_max: usize,
    /// Bytes of what these ask. The largest question has to have room.
    pub asker_bytes_max: usize,
}

impl Default for WaitingLimits {
    fn default() -> Self {
        Self {
            questions_max: 4096,
            bytes_max: 128 << 20,
            asker_questions_max: 1024,
            asker_bytes_max: CONTENT_BYTES_MAX,
        }
    }
}

/// A question that came, and what becomes of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Admitted {
    /// It is answered now.
    Now(Question),
    /// It is refused.
    Refused(Question, RefusalReason),
}

/// Questions that wait until their node has applied more.
#[derive(Debug)]
pub struct WaitingQuestions {
    limits: WaitingLimits,
    /// By what they wait for, then as they came.
    waiting: BTreeMap<WaitingPlace, WaitingQuestion>,
    /// Where each of them is.
    places: BTreeMap<QuestionId, WaitingPlace>,
    /// What waits of each node that has something waiting.
    askers: BTreeMap<NodeId, WaitingLoad>,
    all: WaitingLoad,
    taken: u64,
}

/// What a question waits for, and its number among those that came.
type WaitingPlace = (LogPosition, u64);

#[derive(Debug)]
struct WaitingQuestion {
    question: Question,
    ends_at: Duration,
}

/// Questions that wait, and bytes of what they ask.
#[derive(Clone, Copy, Debug, Default)]
struct WaitingLoad {
    questions: usize,
    bytes: usize,
}

impl WaitingLoad {
    fn has_room(self, bytes: usize, questions_max: usize, bytes_max: usize) -> bool {
        self.questions < questions_max && self.bytes + bytes <= bytes_max
    }

    fn add(&mut self, bytes: usize) {
        self.questions += 1;
        self.bytes += bytes;
    }

    fn remove(&mut self, bytes: usize) {
        self.questions -= 1;
        self.bytes -= bytes;
    }
}

impl WaitingQuestions {
    /// None yet.
    #[must_use]
    pub fn new(limits: WaitingLimits) -> Self {
        Self {
            limits,
            waiting: BTreeMap::new(),
            places: BTreeMap::new(),
            askers: BTreeMap::new(),
            all: WaitingLoad::default(),
            taken: 0,
        }
    }

    /// Takes a question that came at `now`. `None`: it waits. A double of one that waits is dropped: it is answered once.
    pub fn take(&mut self, now: Duration, question: Question, log: &ReadableLog<'_>) -> Option<Admitted> {
        match log.admit(&question.at) {
            Admission::Now => Some(Admitted::Now(question)),
            Admission::Refused(reason) => Some(Admitted::Refused(question, reason)),
            Admission::Later => self.wait(now, question),
        }
    }

    fn wait(&mut self, now: Duration, question: Question) -> Option<Admitted> {
        if self.places.contains_key(&question.id) {
            return None;
        }
        let (asker, bytes, limits) = (question.id.asker.node, question.asked.len(), self.limits);
        let of_asker = self.askers.get(&asker).copied().unwrap_or_default();
        let has_room = self.all.has_room(bytes, limits.questions_max, limits.bytes_max)
            && (of_asker.has_room(bytes, limits.asker_questions_max, limits.asker_bytes_max)
                || planted(Bug::AskerUnlimited));
        if !has_room {
            return Some(Admitted::Refused(question, RefusalReason::Busy));
        }
        self.taken += 1;
        self.all.add(bytes);
        self.askers.entry(asker).or_default().add(bytes);
        let ends_at = now.saturating_add(question.patience);
        let place = (question.at.position, self.taken);
        self.places.insert(question.id, place);
        self.waiting.insert(place, WaitingQuestion { question, ends_at });
        None
    }

    /// Takes the question in `place` out.
    fn remove(&mut self, place: &WaitingPlace) -> Option<Question> {
        let WaitingQuestion { question, .. } = self.waiting.remove(place)?;
        let (asker, bytes) = (question.id.asker.node, question.asked.len());
        self.places.remove(&question.id);
        self.all.remove(bytes);
        if let Some(load) = self.askers.get_mut(&asker) {
            load.remove(bytes);
            if load.questions == 0 {
                self.askers.remove(&asker);
            }
        }
        Some(question)
    }

    /// The node `from` does not wait for an answer to the question any more: it is taken out if it waits, and returned. Nobody
    /// forgets a question of another node.
    pub fn forget(&mut self, from: NodeId, id: QuestionId) -> Option<Question> {
        let place = *self.places.get(&id).filter(|_| id.asker.node == from)?;
        if planted(Bug::ForgetIgnored) { None } else { self.remove(&place) }
    }

    /// The questions that wait no longer at `now`, when the node has applied `log`: first those whose askers have lost their
    /// patience, then those that it may answer.
    ///
    /// Cost: linear in the questions that wait.
    pub fn next(&mut self, now: Duration, log: &ReadableLog<'_>) -> Vec<Admitted> {
        let is_late = |waiting: &WaitingQuestion| waiting.ends_at <= now && !planted(Bug::DeadlineIgnored);
        let late = self.waiting.iter().filter(|(_, waiting)| is_late(waiting));
        let late: Vec<_> = late.map(|(place, _)| *place).collect();
        let late = late.iter().filter_map(|place| self.remove(place));
        let mut next: Vec<_> =
            late.map(|question| Admitted::Refused(question, RefusalReason::TooLate)).collect();
        let applied = log.applied.last().position;
        while let Some((&place, _)) = self.waiting.first_key_value()
            && place.0 <= applied
            && let Some(question) = self.remove(&place)
        {
            next.push(match log.admit(&question.at) {
                Admission::Refused(reason) => Admitted::Refused(question, reason),
                // What is applied is not waited for.
                Admission::Now | Admission::Later => Admitted::Now(question),
            });
        }
        next
    }

    /// When the next asker loses its patience.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        self.waiting.values().map(|waiting| waiting.ends_at).min()
    }

    /// How many questions wait.
    #[must_use]
    pub fn count(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::LogDigest;
    use crate::key_hash::graph_salt::GraphSalt;
    use crate::planted::assert_found;
    use crate::record_id::Author;
    use evergraph_graph::id::PartitionId;

    /// The log of messages 1 to `messages`.
    fn applied(messages: u64) -> DigestWindow {
        let mut window = DigestWindow::new(SeenLog::START);
        for number in 1..=messages {
            window.push(GraphSalt([7; 16]), LogPosition(number), &number.to_le_bytes());
        }
        window
    }

    fn at(position: u64) -> SeenLog {
        let digest = applied(99).at(LogPosition(position)).unwrap();
        SeenLog { position: LogPosition(position), digest }
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// A question that its asker gives so many milliseconds.
    fn question(number: u64, position: u64, patience: u64) -> Question {
        question_of(3, number, position, patience)
    }

    fn question_of(node: u16, number: u64, position: u64, patience: u64) -> Question {
        let id = QuestionId { asker: Author { node: NodeId(node), incarnation: 1 }, number };
        let (at, patience) = (at(position), ms(patience));
        Question { id, partition: PartitionId(5), at, patience, asked: vec![1; 10] }
    }

    /// The numbers of questions that are answered, and of those that are refused.
    fn numbers(admitted: Vec<Admitted>) -> (Vec<u64>, Vec<(u64, RefusalReason)>) {
        let (mut now, mut refused) = (Vec::new(), Vec::new());
        for admitted in admitted {
            match admitted {
                Admitted::Now(question) => now.push(question.id.number),
                Admitted::Refused(question, reason) => refused.push((question.id.number, reason)),
            }
        }
        (now, refused)
    }

    #[test]
    fn a_question_is_answered_as_of_its_snapshot_or_not_at_all() {
        let window = applied(20);
        let log = ReadableLog { applied: &window, horizon: LogPosition(10) };
        assert_eq!(log.admit(&at(9)), Admission::Refused(RefusalReason::TooOld), "it was merged away");
        assert_eq!(log.admit(&at(10)), Admission::Now);
        assert_eq!(log.admit(&at(20)), Admission::Now);
        assert_eq!(log.admit(&at(21)), Admission::Later, "it is not applied yet");
        let other = SeenLog { digest: LogDigest([1; 16]), ..at(15) };
        assert_eq!(log.admit(&other), Admission::Refused(RefusalReason::OtherLog), "of another log");
    }

    #[test]
    fn what_is_too_old_to_be_compared_is_refused() {
        let mut window = applied(40);
        window.forget_before(LogPosition::MAX);
        let log = ReadableLog { applied: &window, horizon: LogPosition::START };
        assert_eq!(log.admit(&at(5)), Admission::Refused(RefusalReason::OtherLog));
        assert_eq!(log.admit(&at(30)), Admission::Now);
    }

    #[test]
    fn a_question_waits_until_its_snapshot_is_applied_or_its_asker_loses_patience() {
        let (before, after) = (applied(5), applied(8));
        let before = ReadableLog { applied: &before, horizon: LogPosition(1) };
        let after = ReadableLog { applied: &after, horizon: LogPosition(1) };
        let mut waiting = WaitingQuestions::new(WaitingLimits::default());
        assert!(matches!(waiting.take(ms(0), question(1, 5, 50), &before), Some(Admitted::Now(_))));
        for (number, position, patience) in [(2, 8, 50), (3, 7, 500), (4, 7, 20), (5, 9, 500), (6, 7, 500)] {
            assert_eq!(waiting.take(ms(0), question(number, position, patience), &before), None);
        }
        assert_eq!(waiting.next_step_at(), Some(ms(20)));
        assert!(waiting.next(ms(19), &before).is_empty());
        let late = numbers(waiting.next(ms(20), &before));
        assert_eq!(late, (vec![], vec![(4, RefusalReason::TooLate)]), "its asker waits no longer");
        assert_eq!(numbers(waiting.next(ms(30), &after)), (vec![3, 6, 2], vec![]), "by their snapshots");
        assert_eq!(waiting.count(), 1);
        let late = numbers(waiting.next(ms(500), &after));
        assert_eq!((late, waiting.next_step_at()), ((vec![], vec![(5, RefusalReason::TooLate)]), None));
    }

    #[test]
    fn what_waits_is_limited_and_compared_again_when_its_turn_comes() {
        let (before, after) = (applied(5), applied(8));
        let before = ReadableLog { applied: &before, horizon: LogPosition(1) };
        let after = ReadableLog { applied: &after, horizon: LogPosition(8) };
        let mut waiting =
            WaitingQuestions::new(WaitingLimits { questions_max: 2, ..WaitingLimits::default() });
        assert_eq!(waiting.take(ms(0), question(1, 7, 50), &before), None);
        let mut other = question(2, 8, 50);
        other.at.digest = LogDigest([1; 16]);
        assert_eq!(waiting.take(ms(0), other, &before), None);
        let third = waiting.take(ms(0), question(3, 7, 50), &before);
        assert!(matches!(third, Some(Admitted::Refused(_, RefusalReason::Busy))), "{third:?}");
        let refused = numbers(waiting.next(ms(1), &after)).1;
        assert_eq!(refused, [(1, RefusalReason::TooOld), (2, RefusalReason::OtherLog)]);
        let mut waiting = WaitingQuestions::new(WaitingLimits { bytes_max: 15, ..WaitingLimits::default() });
        assert_eq!(waiting.take(ms(0), question(1, 7, 50), &before), None);
        let second = waiting.take(ms(0), question(2, 7, 50), &before);
        assert!(matches!(second, Some(Admitted::Refused(_, RefusalReason::Busy))), "{second:?}");
        waiting.next(ms(1), &after);
        assert_eq!(waiting.take(ms(0), question(3, 9, 50), &after), None, "there is room again");
    }

    #[test]
    fn one_asker_does_not_fill_the_queue_for_all() {
        let (before, after) = (applied(5), applied(8));
        let before = ReadableLog { applied: &before, horizon: LogPosition(1) };
        let after = ReadableLog { applied: &after, horizon: LogPosition(1) };
        let limits = WaitingLimits { questions_max: 4, asker_questions_max: 2, ..WaitingLimits::default() };
        let mut waiting = WaitingQuestions::new(limits);
        let is_busy =
            |admitted: Option<Admitted>| matches!(admitted, Some(Admitted::Refused(_, RefusalReason::Busy)));
        assert_eq!(waiting.take(ms(0), question_of(3, 1, 7, 50), &before), None);
        assert_eq!(waiting.take(ms(0), question_of(3, 2, 8, 50), &before), None);
        assert_eq!(waiting.take(ms(0), question_of(3, 2, 8, 50), &before), None, "a double takes no room");
        assert_eq!(waiting.count(), 2);
        assert!(is_busy(waiting.take(ms(0), question_of(3, 3, 7, 50), &before)), "a third of node 3");
        assert_eq!(waiting.take(ms(0), question_of(4, 1, 7, 50), &before), None, "node 4 has room");
        assert_eq!(numbers(waiting.next(ms(1), &after)), (vec![1, 1, 2], vec![]), "each once");
        assert_eq!(waiting.take(ms(1), question_of(3, 4, 9, 50), &after), None, "there is room again");
        let limits = WaitingLimits { asker_bytes_max: 15, ..WaitingLimits::default() };
        let mut waiting = WaitingQuestions::new(limits);
        assert_eq!(waiting.take(ms(0), question_of(3, 1, 7, 50), &before), None);
        assert!(is_busy(waiting.take(ms(0), question_of(3, 2, 7, 50), &before)), "20 bytes of node 3");
        assert_eq!(waiting.take(ms(0), question_of(4, 2, 7, 50), &before), None);
    }

    #[test]
    fn a_question_that_its_asker_forgets_is_taken_out_and_makes_room() {
        let (before, after) = (applied(5), applied(8));
        let before = ReadableLog { applied: &before, horizon: LogPosition(1) };
        let after = ReadableLog { applied: &after, horizon: LogPosition(1) };
        let limits = WaitingLimits { questions_max: 2, bytes_max: 20, ..WaitingLimits::default() };
        let mut waiting = WaitingQuestions::new(limits);
        let (first, second) = (question(1, 7, 50), question(2, 8, 50));
        assert_eq!(waiting.take(ms(0), first.clone(), &before), None);
        assert_eq!(waiting.take(ms(0), second.clone(), &before), None);
        assert_eq!(waiting.forget(NodeId(4), first.id), None, "another node's question");
        assert_eq!(waiting.forget(NodeId(3), first.id), Some(first.clone()), "it waits on");
        assert_eq!(waiting.forget(NodeId(3), first.id), None, "a double");
        assert_eq!(waiting.take(ms(0), question(3, 7, 90), &before), None, "there is room again");
        assert_eq!((waiting.count(), waiting.next_step_at()), (2, Some(ms(50))));
        assert_eq!(numbers(waiting.next(ms(1), &after)), (vec![3, 2], vec![]), "the others are answered");
        assert_eq!(waiting.forget(NodeId(3), second.id), None, "it is answered");
        assert!(waiting.askers.is_empty() && waiting.places.is_empty() && waiting.all.bytes == 0);
    }

    #[test]
    fn planted_bugs_are_found() {
        assert_found(Bug::AskerUnlimited, one_asker_does_not_fill_the_queue_for_all, "a third of node 3");
        let forgotten = a_question_that_its_asker_forgets_is_taken_out_and_makes_room;
        assert_found(Bug::ForgetIgnored, forgotten, "it waits on");
        let snapshot = a_question_is_answered_as_of_its_snapshot_or_not_at_all;
        let waits = a_question_waits_until_its_snapshot_is_applied_or_its_asker_loses_patience;
        assert_found(Bug::AnsweredTooLate, snapshot, "it was merged away");
        assert_found(Bug::AnsweredTooSoon, snapshot, "it is not applied yet");
        assert_found(Bug::AnsweredOfOtherLog, snapshot, "of another log");
        assert_found(Bug::DeadlineIgnored, waits, "its asker waits no longer");
    }
}
