//! End questions: those for the end of a log that does not tell it, which barriers answer.
//!
//! ```text
//! asked      a  b            c  d
//! barrier          1 under way ─────> applied: a, b    2 under way ─────> applied: c, d
//! ```
//!
//! A barrier that is appended after a question lies behind every message that was acknowledged before the question. So all that
//! have asked share one, and whoever asks while it is under way waits for the next one: one at a time, however many ask.

use crate::log::shared_log::EndId;
use crate::planted::{Bug, planted};
use crate::record_id::RecordId;

/// Questions that wait for a barrier.
#[derive(Debug, Default)]
pub(super) struct EndQuestions {
    /// Those that the next barrier answers.
    waiting: Vec<EndId>,
    /// The barrier that is under way, and those that it answers.
    under_way: Option<(RecordId, Vec<EndId>)>,
}

impl EndQuestions {
    /// A question, which the log did not answer.
    pub(super) fn ask(&mut self, id: EndId) {
        match &mut self.under_way {
            Some((_, asked)) if planted(Bug::EarlierBarrierTaken) => asked.push(id),
            _ => self.waiting.push(id),
        }
    }

    /// Whether a barrier is to be appended.
    pub(super) fn needs_barrier(&self) -> bool {
        self.under_way.is_none() && !self.waiting.is_empty()
    }

    /// A barrier is appended.
    pub(super) fn begin(&mut self, barrier: RecordId) {
        self.under_way = Some((barrier, std::mem::take(&mut self.waiting)));
    }

    /// A record was applied: the questions that it answers.
    pub(super) fn applied(&mut self, record: RecordId) -> Vec<EndId> {
        let answered = self.under_way.take_if(|(barrier, _)| *barrier == record);
        answered.map(|(_, asked)| asked).unwrap_or_default()
    }
}
