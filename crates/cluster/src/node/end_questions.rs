//! End questions: those for the end of a log that does not tell it, which barriers answer.
//!
//! ```text
//! asked      a  b            c  d
//! barrier          1 under way ─────> applied: a, b    2 under way ─────> applied: c, d
//! ```
//!
//! A barrier that is appended after a question lies behind every message that was acknowledged before the question. So all that
//! have asked share one, and whoever asks while it is under way waits for the next one: one at a time, however many ask. One that the
//! log seems to have lost is followed by another, which answers its questions, too. If it was only late, it answers them itself.

use crate::log::shared_log::EndId;
use crate::planted::{Bug, planted};
use crate::record_id::RecordId;
use std::time::Duration;

/// Questions that wait for a barrier.
#[derive(Debug, Default)]
pub(super) struct EndQuestions {
    /// All of them, in the order in which they were asked.
    asked: Vec<EndId>,
    /// Barriers that were appended and have not come, in that order: each answers as many of the first questions as the one before, or more.
    barriers: Vec<Barrier>,
    /// When the last of these was appended, unless the log seems to have lost it.
    appended_at: Option<Duration>,
}

#[derive(Debug)]
struct Barrier {
    record: RecordId,
    /// How many of the first questions it answers.
    answers: usize,
}

impl EndQuestions {
    /// A question, which the log did not answer.
    pub(super) fn ask(&mut self, id: EndId) {
        self.asked.push(id);
        if planted(Bug::EarlierBarrierTaken)
            && let Some(barrier) = self.barriers.last_mut()
        {
            barrier.answers = self.asked.len();
        }
    }

    /// Whether a barrier is to be appended.
    pub(super) fn needs_barrier(&self) -> bool {
        self.appended_at.is_none() && !self.asked.is_empty()
    }

    /// A barrier is appended.
    pub(super) fn begin(&mut self, record: RecordId, appended_at: Duration) {
        self.barriers.push(Barrier { record, answers: self.asked.len() });
        self.appended_at = Some(appended_at);
    }

    /// The barrier that is under way, and when it was appended.
    pub(super) fn under_way(&self) -> Option<(RecordId, Duration)> {
        Some((self.barriers.last()?.record, self.appended_at?))
    }

    /// The log seems to have lost the barrier that is under way: its questions wait for the next one, too.
    pub(super) fn seems_lost(&mut self) {
        self.appended_at = None;
        if planted(Bug::LateBarrierForgotten) {
            self.barriers.clear();
        }
    }

    /// A record was applied: the questions that it answers.
    pub(super) fn applied(&mut self, record: RecordId) -> Vec<EndId> {
        let Some(barrier) = self.barriers.iter().find(|barrier| barrier.record == record) else {
            return Vec::new();
        };
        let answers = barrier.answers;
        self.barriers.retain_mut(|barrier| {
            barrier.answers = barrier.answers.saturating_sub(answers);
            barrier.answers > 0
        });
        if self.barriers.is_empty() {
            self.appended_at = None;
        }
        self.asked.drain(..answers).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_id::{Author, NodeId};

    fn record(number: u64) -> RecordId {
        RecordId { author: Author { node: NodeId(1), incarnation: 0 }, number }
    }

    fn asked(questions: &mut EndQuestions, ids: &[u64]) {
        ids.iter().for_each(|id| questions.ask(EndId(*id)));
    }

    #[test]
    fn a_barrier_answers_what_was_asked_before_it_whichever_comes_first() {
        let second = Duration::from_secs;
        let begun = || {
            let mut questions = EndQuestions::default();
            asked(&mut questions, &[1, 2]);
            questions.begin(record(1), second(1));
            asked(&mut questions, &[3]);
            assert!(!questions.needs_barrier(), "one at a time");
            questions.seems_lost();
            assert!(questions.needs_barrier() && questions.under_way().is_none());
            questions
        };
        // Late, before the next one is appended.
        let mut questions = begun();
        assert_eq!(questions.applied(record(1)), [EndId(1), EndId(2)]);
        assert!(questions.needs_barrier(), "one question waits");
        // Late, while the next one is under way.
        let mut questions = begun();
        questions.begin(record(2), second(6));
        asked(&mut questions, &[4]);
        assert_eq!(questions.under_way(), Some((record(2), second(6))));
        assert_eq!(questions.applied(record(1)), [EndId(1), EndId(2)]);
        assert!(questions.applied(record(1)).is_empty(), "once");
        assert_eq!(questions.under_way(), Some((record(2), second(6))));
        assert_eq!(questions.applied(record(2)), [EndId(3)]);
        assert!(questions.needs_barrier(), "it was asked behind the second one");
        // Lost: the next one answers all, and nothing is left of the first.
        let mut questions = begun();
        questions.begin(record(2), second(6));
        assert_eq!(questions.applied(record(2)), [EndId(1), EndId(2), EndId(3)]);
        assert!(questions.applied(record(1)).is_empty());
        assert!(!questions.needs_barrier() && questions.under_way().is_none());
    }

    #[test]
    fn a_barrier_whose_questions_an_earlier_one_answers_is_waited_for_no_longer() {
        let mut questions = EndQuestions::default();
        asked(&mut questions, &[1]);
        questions.begin(record(1), Duration::ZERO);
        questions.seems_lost();
        questions.begin(record(2), Duration::from_secs(5));
        assert_eq!(questions.applied(record(1)), [EndId(1)]);
        assert_eq!(questions.under_way(), None);
        asked(&mut questions, &[2]);
        assert!(questions.needs_barrier(), "the second one may have been appended before it");
        assert!(questions.applied(record(2)).is_empty());
    }
}
