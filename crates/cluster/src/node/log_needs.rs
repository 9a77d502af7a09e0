//! Log needs: from where on the log is needed by any node, from what nodes tell each other with their heartbeats.
//!
//! ```text
//! this node   needed from 90 ┐
//! node 2      needed from 70 ├──> least of those who are waited for = 70 ──> the log may be trimmed to there
//! node 3      silent for 10 min ┘    not waited for: it copies its partitions when it comes back too late
//! ```
//!
//! What a node needs grows with its checkpoints. A heartbeat that comes late says less, and only has the log kept for longer. One
//! counts whatever log its sender has applied, also if nobody can compare that any more: a node that far behind is the one that
//! needs the log most.
//!
//! A member that has said nothing yet may need everything. One that is silent for [`TRIM_SILENCE_MAX`] is not waited for any
//! more, or the log would grow for as long as a node is down. That is ten minutes: a restart, or a machine that is replaced
//! under the same name, takes less, and at 18 MB/s of records, the most that a log carries, they are 11 GB.

use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a member may say nothing before the log is trimmed without it, unless chosen otherwise.
pub const TRIM_SILENCE_MAX: Duration = Duration::from_secs(600);

/// What the other members need of the log.
#[derive(Debug)]
pub struct LogNeeds {
    silence_max: Duration,
    members: BTreeMap<NodeId, MemberNeed>,
}

#[derive(Clone, Copy, Debug)]
struct MemberNeed {
    /// When it spoke last, or was first known.
    heard_at: Duration,
    /// What it said last.
    needed_from: Option<LogPosition>,
}

impl LogNeeds {
    /// Of nobody yet. A member is waited for until it is silent for `silence_max`.
    #[must_use]
    pub fn new(silence_max: Duration) -> Self {
        Self { silence_max, members: BTreeMap::new() }
    }

    /// The other members are these.
    pub fn set_members(&mut self, now: Duration, members: impl IntoIterator<Item = NodeId>) {
        let members: BTreeSet<NodeId> = members.into_iter().collect();
        self.members.retain(|node, _| members.contains(node));
        for node in members {
            self.members.entry(node).or_insert(MemberNeed { heard_at: now, needed_from: None });
        }
    }

    /// A node that is proved to be `from` says from where on it needs the log.
    pub fn heard(&mut self, now: Duration, from: NodeId, needed_from: LogPosition) {
        if let Some(member) = self.members.get_mut(&from) {
            *member = MemberNeed { heard_at: now, needed_from: Some(needed_from) };
        }
    }

    /// The first message that anybody needs who is waited for, of whom this node needs the log from `own` on; `None` if a member
    /// has not said it yet.
    #[must_use]
    pub fn least(&self, now: Duration, own: LogPosition) -> Option<LogPosition> {
        let is_awaited = |member: &&MemberNeed| {
            now < member.heard_at.saturating_add(self.silence_max) || planted(Bug::SilentNodeKeepsLog)
        };
        let awaited = self.members.values().filter(is_awaited);
        awaited.map(|member| member.needed_from).try_fold(own, |least, needed| Some(least.min(needed?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_log_is_needed_from_the_least_that_anybody_says_who_is_not_silent_for_long() {
        let mut needs = LogNeeds::new(TRIM_SILENCE_MAX);
        let least = |needs: &LogNeeds, now| needs.least(secs(now), LogPosition(90)).map(|first| first.0);
        assert_eq!(least(&needs, 0), Some(90), "it is alone");
        needs.set_members(secs(0), [1, 2].map(NodeId));
        needs.heard(secs(1), NodeId(1), LogPosition(70));
        assert_eq!(least(&needs, 1), None, "one has said nothing yet");
        needs.heard(secs(100), NodeId(2), LogPosition(95));
        needs.heard(secs(100), NodeId(9), LogPosition(5));
        assert_eq!(least(&needs, 100), Some(70), "a stranger has no say");
        needs.heard(secs(200), NodeId(2), LogPosition(99));
        assert_eq!((least(&needs, 600), least(&needs, 601)), (Some(70), Some(90)), "it is silent");
        needs.heard(secs(602), NodeId(1), LogPosition(70));
        assert_eq!(least(&needs, 602), Some(70), "it is back");
        needs.set_members(secs(603), [1, 2, 3].map(NodeId));
        assert_eq!(least(&needs, 603), None, "one has joined");
        needs.set_members(secs(604), [2].map(NodeId));
        assert_eq!(least(&needs, 604), Some(90));
    }

    #[test]
    fn planted_bugs_are_found() {
        let silent = the_log_is_needed_from_the_least_that_anybody_says_who_is_not_silent_for_long;
        assert_found(Bug::SilentNodeKeepsLog, silent, "it is silent");
    }
}
