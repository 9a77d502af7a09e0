//! `Confirmations`: which position a source may be told, so that it forgets nothing that a power cut here could take.
//!
//! ```text
//! commit 7 ── end 0/500 ─┐
//! commit 8 ── end 0/620 ─┼─ durable through 8 ──> 0/620        ends in notes alone: all that committed before is here
//! commit 9 ── end 0/700 ─┘
//! ```
//!
//! Invariant: what was returned is the end in the note of a commit that is durable. Then a source that says more was
//! confirmed than the note says was read by somebody else.

use std::collections::VecDeque;

use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};

use crate::lsn::Lsn;

/// Commits that wait for their sync, at most; beyond it every other one is forgotten, which confirms later, not too early.
const WAITING_MAX: usize = 4096;

/// Commits whose ends are not confirmed.
#[derive(Debug, Default)]
pub struct Confirmations {
    /// Both grow.
    waiting: VecDeque<(Timestamp, Lsn)>,
}

impl Confirmations {
    /// The commit `timestamp` brought the note to `end`.
    pub fn committed(&mut self, timestamp: Timestamp, end: Lsn) {
        debug_assert!(self.waiting.back().is_none_or(|newest| newest.0 < timestamp), "commits grow");
        if self.waiting.len() == WAITING_MAX {
            let mut keep = false;
            self.waiting.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.waiting.push_back((timestamp, end));
    }

    /// What may be confirmed now that all commits through `through` are durable; `None` if that is nothing new.
    pub fn take(&mut self, through: Timestamp) -> Option<Lsn> {
        let through = if planted(Bug::ConfirmBeforeSync) { Timestamp::MAX } else { through };
        let count = self.waiting.partition_point(|(timestamp, _)| *timestamp <= through);
        self.waiting.drain(..count).next_back().map(|(_, end)| end)
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ends_of_durable_commits_are_confirmed_and_each_once() {
        let mut confirmations = Confirmations::default();
        for (timestamp, end) in [(7, 0x500), (8, 0x620), (9, 0x700)] {
            confirmations.committed(Timestamp(timestamp), Lsn::new(end));
        }
        assert_eq!(confirmations.take(Timestamp(6)), None);
        assert_eq!(confirmations.take(Timestamp(8)), Some(Lsn::new(0x620)));
        assert_eq!(confirmations.take(Timestamp(8)), None);
        assert!(!confirmations.is_empty());
        assert_eq!(confirmations.take(Timestamp(20)), Some(Lsn::new(0x700)));
        assert!(confirmations.is_empty());
    }

    #[test]
    fn a_disk_that_never_syncs_takes_no_memory_and_confirms_nothing_early() {
        let mut confirmations = Confirmations::default();
        for timestamp in 1..100_000 {
            confirmations.committed(Timestamp(timestamp), Lsn::new(timestamp * 10));
            assert!(confirmations.waiting.len() <= WAITING_MAX);
        }
        let confirmed = confirmations.take(Timestamp(50_000)).unwrap();
        assert!(confirmed <= Lsn::new(500_000), "{confirmed}");
        assert_eq!(confirmations.take(Timestamp(99_999)), Some(Lsn::new(999_990)));
    }
}
