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
    /// The newest step that found nodes silent.
    judged_at: Duration,
}

impl SilenceJudgement {
    /// Whether nodes are found silent in a step at `now` that has taken these frames.
    pub(super) fn is_due(&mut self, now: Duration, taken: TakenFrames) -> bool {
        if taken == TakenFrames::All || planted(Bug::LeftFramesUnheard) {
            self.left_since = None;
            self.judged_at = now;
            return true;
        }
        let left_since = *self.left_since.get_or_insert(now);
        let is_due = left_since.saturating_add(PUT_OFF_MAX) <= now && !planted(Bug::SilencePutOffForEver);
        if is_due {
            self.judged_at = now;
        }
        is_due
    }

    /// When nodes were found silent last: whoever was not silent then may have said something since.
    pub(super) fn judged_at(&self) -> Duration {
        self.judged_at
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
        let mut due = |now, taken| (judgement.is_due(ms(now), taken), judgement.judged_at());
        assert_eq!(due(500, TakenFrames::Part), (false, ms(0)));
        assert_eq!(due(599, TakenFrames::Part), (false, ms(0)));
        assert_eq!(due(600, TakenFrames::Part), (true, ms(600)));
        assert_eq!(due(700, TakenFrames::Part), (true, ms(700)));
        assert_eq!(due(701, TakenFrames::All), (true, ms(701)));
        assert_eq!(due(800, TakenFrames::Part), (false, ms(701)), "it begins anew");
    }
}
