//! Silence: when a node may find others silent: once it has taken what came from them, or after a moment.
//!
//! A node that was held up has frames of everybody in its queue, and takes some of them in each step. Those that are left may be
//! the signs of life that it misses.

use crate::planted::{Bug, planted};
use std::time::Duration;

/// How long frames that are left put off the judgement. Frames without end from one node must not hide that another one is lost.
const PUT_OFF_MAX: Duration = Duration::from_millis(100);

/// How many of the frames that came a step of a node has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakenFrames {
    /// All of them.
    All,
    /// As many as a step takes: others are left, perhaps.
    Part,
}

/// Whether nodes are found silent.
#[derive(Debug, Default)]
pub(super) struct SilenceJudgement {
    /// Since when each step has left frames.
    left_since: Option<Duration>,
}

impl SilenceJudgement {
    /// Whether nodes are found silent in a step at `now` that has taken these frames.
    pub(super) fn is_due(&mut self, now: Duration, taken: TakenFrames) -> bool {
        if taken == TakenFrames::All || planted(Bug::LeftFramesUnheard) {
            self.left_since = None;
            return true;
        }
        let left_since = *self.left_since.get_or_insert(now);
        left_since.saturating_add(PUT_OFF_MAX) <= now && !planted(Bug::SilencePutOffForEver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_are_left_put_silences_off_for_a_moment() {
        let (ms, mut judgement) = (Duration::from_millis, SilenceJudgement::default());
        assert!(judgement.is_due(ms(0), TakenFrames::All));
        // However long the step before is ago.
        let due = [500, 599, 600, 700].map(|now| judgement.is_due(ms(now), TakenFrames::Part));
        assert_eq!(due, [false, false, true, true]);
        assert!(judgement.is_due(ms(701), TakenFrames::All));
        assert!(!judgement.is_due(ms(800), TakenFrames::Part), "it begins anew");
    }
}
