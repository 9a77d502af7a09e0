//! Stage inbound: which messages of a stage have come, and whether all have.

use crate::planted::{Bug, planted};
use std::collections::BTreeSet;

/// How far a message may be ahead of the first that has not come: what is dropped is asked for later.
const AHEAD_MAX: u32 = 1 << 16;

/// What came for a stage, by sender.
#[derive(Clone, Debug)]
pub struct StageInbound {
    senders: Vec<SenderProgress>,
}

#[derive(Clone, Debug, Default)]
struct SenderProgress {
    /// All below have come.
    next: u32,
    /// Those above that have.
    later: BTreeSet<u32>,
    /// The number of the last one, once it is known.
    last: Option<u32>,
}

impl SenderProgress {
    fn is_complete(&self) -> bool {
        self.last.is_some_and(|last| self.next > last || planted(Bug::TravelEndsEarly))
    }
}

impl StageInbound {
    /// From so many senders.
    #[must_use]
    pub fn new(senders: usize) -> Self {
        Self { senders: vec![SenderProgress::default(); senders] }
    }

    /// Whether a message has not come before, and may come now.
    #[must_use]
    pub fn is_new(&self, sender: usize, number: u32) -> bool {
        let Some(progress) = self.senders.get(sender) else { return false };
        if planted(Bug::TravelDoubleTaken) {
            return true;
        }
        number >= progress.next
            && number - progress.next < AHEAD_MAX
            && !progress.later.contains(&number)
            && progress.last.is_none_or(|last| number <= last)
    }

    /// A message has come; whether it is new.
    pub fn take(&mut self, sender: usize, number: u32, is_last: bool) -> bool {
        if !self.is_new(sender, number) {
            return false;
        }
        let progress = &mut self.senders[sender];
        if is_last {
            progress.last = Some(number);
        }
        progress.later.insert(number);
        while progress.later.remove(&progress.next) {
            progress.next += 1;
        }
        true
    }

    /// Whether all messages of all senders have come.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.senders.iter().all(SenderProgress::is_complete)
    }

    /// The senders of whom something is missing, with the first number that is.
    pub fn missing(&self) -> impl Iterator<Item = (usize, u32)> {
        let of = self.senders.iter().enumerate().filter(|(_, progress)| !progress.is_complete());
        of.map(|(sender, progress)| (sender, progress.next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;

    #[test]
    fn a_stage_is_complete_when_every_number_of_every_sender_has_come_once() {
        let mut stage = StageInbound::new(2);
        assert!(stage.take(0, 2, true) && stage.take(0, 0, false) && !stage.take(0, 0, false));
        assert_eq!(stage.missing().collect::<Vec<_>>(), [(0, 1), (1, 0)]);
        assert!(!stage.take(0, 3, false), "nothing follows the last one");
        assert!(!stage.take(2, 0, true), "there is no such sender");
        assert!(stage.take(0, 1, false) && !stage.is_complete());
        assert!(stage.take(1, 0, true) && stage.is_complete());
        assert!(!stage.take(1, 0, true) && stage.missing().next().is_none());
        assert!(StageInbound::new(0).is_complete());
        let mut stage = StageInbound::new(1);
        assert!(!stage.take(0, AHEAD_MAX, true) && stage.take(0, 0, false) && stage.take(0, AHEAD_MAX, true));
    }

    #[test]
    fn planted_bugs_are_found() {
        let complete = a_stage_is_complete_when_every_number_of_every_sender_has_come_once;
        assert_found(Bug::TravelDoubleTaken, complete, "assertion");
        assert_found(Bug::TravelEndsEarly, complete, "assertion");
    }
}
