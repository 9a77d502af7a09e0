//! End questions: those for the end of a log that does not tell it, which barriers answer.
//!
//! ```text
//! asked      a  b            c  d
//! barrier          1 under way ─────> applied: a, b    2 under way ─────> applied: c, d
//! ```
//!
//! A barrier that is appended after a question lies behind every message that was acknowledged before the question. So all that
//! have asked share one, and whoever asks while it is under way waits for the next one: one at a time, however many ask. One that the
//! log has taken and lost is followed by another.

use crate::log::shared_log::EndId;
use crate::planted::{Bug, planted};
use crate::record_id::RecordId;
use std::time::Duration;

/// Questions that wait for a barrier.
#[derive(Debug, Default)]
pub(super) struct EndQuestions {
    /// Those that the next barrier answers.
    waiting: Vec<EndId>,
    /// The barrier that is under way.
    under_way: Option<BarrierUnderWay>,
}

#[derive(Debug)]
struct BarrierUnderWay {
    record: RecordId,
    appended_at: Duration,
    /// The questions that it answers.
    asked: Vec<EndId>,
}

impl EndQuestions {
    /// A question, which the log did not answer.
    pub(super) fn ask(&mut self, id: EndId) {
        match &mut self.under_way {
            Some(barrier) if planted(Bug::EarlierBarrierTaken) => barrier.asked.push(id),
            _ => self.waiting.push(id),
        }
    }

    /// Whether a barrier is to be appended.
    pub(super) fn needs_barrier(&self) -> bool {
        self.under_way.is_none() && !self.waiting.is_empty()
    }

    /// A barrier is appended.
    pub(super) fn begin(&mut self, record: RecordId, appended_at: Duration) {
        self.under_way =
            Some(BarrierUnderWay { record, appended_at, asked: std::mem::take(&mut self.waiting) });
    }

    /// The barrier that is under way, and when it was appended.
    pub(super) fn under_way(&self) -> Option<(RecordId, Duration)> {
        self.under_way.as_ref().map(|barrier| (barrier.record, barrier.appended_at))
    }

    /// The log has lost the barrier: its questions wait for the next one, before all others.
    pub(super) fn is_lost(&mut self) {
        if let Some(BarrierUnderWay { mut asked, .. }) = self.under_way.take() {
            asked.append(&mut self.waiting);
            self.waiting = asked;
        }
    }

    /// A record was applied: the questions that it answers.
    pub(super) fn applied(&mut self, record: RecordId) -> Vec<EndId> {
        self.under_way
            .take_if(|barrier| barrier.record == record)
            .map(|barrier| barrier.asked)
            .unwrap_or_default()
    }
}
