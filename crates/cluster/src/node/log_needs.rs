//! Log needs: from where on the log is needed by any node, from what nodes tell each other with their heartbeats.
//!
//! ```text
//! this node   needed from 90 ┐
//! node 2      needed from 70 ├──> least of those who have a say = 70 ──> the log may be trimmed to there
//! node 3      2 GiB of log since 12 ┘    no say: the log goes on without it, and it copies what it lacks when it comes back
//! ```
//!
//! What a node needs grows with its checkpoints. A heartbeat that comes late says less, and only has the log kept for longer. One
//! counts whatever log its sender has applied, also if nobody can compare that any more: a node that far behind is the one that
//! needs the log most.
//!
//! # A member that is silent
//!
//! What it said last holds the trim, however long ago that was: a node that is away while little is written finds everything when it
//! comes back. The log must not grow for as long as a node is down, so there is a bound in bytes: a member loses its say once there
//! are [`LOG_BYTES_MAX`] of messages since what it needs, as this node has counted them. It has it again when it says something newer:
//! with a heartbeat, or before it has joined, each second: while it copies what it lacks, and then while it reads the log from there on.
//!
//! # A member that nobody here has heard
//!
//! It has not started yet, or it fell silent before this node started: what others say is not in a checkpoint. Perhaps it needs
//! everything that the log still has. So nothing is trimmed at all for it: not even up to what this node needed when it made its
//! checkpoint, which others may have been behind. Its bytes are counted from where this node joined, since it may have gone on up to
//! there. So it never loses its say too early; after a start of this node the log keeps what there was, and up to that many bytes
//! more. A node that has run all the while has counted from what the member said, and trims for all.
//!
//! A node that has not joined trims nothing: it reads what it has missed, and does not know yet who is a member.

use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Bytes of messages that the log keeps for a member, unless chosen otherwise. The quota of etcd is four times as much.
pub const LOG_BYTES_MAX: u64 = 2 << 30;

/// Steps in which bytes are counted, in a bound.
const STEPS_COUNT: u64 = 2048;

/// What the other members need of the log.
#[derive(Debug)]
pub struct LogNeeds {
    members: BTreeMap<NodeId, MemberNeed>,
    counted: CountedLog,
}

#[derive(Clone, Copy, Debug)]
struct MemberNeed {
    /// Behind what had been applied when it was first known.
    known_from: LogPosition,
    /// What it said last.
    needed_from: Option<LogPosition>,
    /// Whether somebody was told that it has no say.
    is_told: bool,
}

/// The bytes of messages that were applied, as far back as anybody has a say.
#[derive(Debug)]
struct CountedLog {
    bytes_max: u64,
    /// Bytes of all messages that were counted.
    total: u64,
    /// Messages at least a step apart, ascending, and the bytes of all that were counted before each.
    steps: VecDeque<(LogPosition, u64)>,
}

impl LogNeeds {
    /// Of nobody yet. The log keeps at most `bytes_max` for a member.
    #[must_use]
    pub fn new(bytes_max: u64) -> Self {
        let counted = CountedLog { bytes_max, total: 0, steps: VecDeque::new() };
        Self { members: BTreeMap::new(), counted }
    }

    /// The other members are these. This node has joined, and has applied everything through the message at `applied`.
    pub fn set_members(&mut self, applied: LogPosition, members: impl IntoIterator<Item = NodeId>) {
        let members: BTreeSet<NodeId> = members.into_iter().collect();
        self.members.retain(|node, _| members.contains(node));
        let unheard = MemberNeed { known_from: applied.next(), needed_from: None, is_told: false };
        for node in members {
            self.members.entry(node).or_insert(unheard);
        }
    }

    /// A message of so many bytes was applied.
    pub fn applied(&mut self, position: LogPosition, bytes: usize) {
        self.counted.push(position, bytes as u64);
    }

    /// A node that is proved to be `from` says from where on it needs the log.
    pub fn heard(&mut self, from: NodeId, needed_from: LogPosition) {
        if let Some(member) = self.members.get_mut(&from) {
            member.needed_from = Some(needed_from);
        }
    }

    /// The first message that anybody needs who has a say, of whom this node needs the log from `own` on; `None` if a member that
    /// has one has not said what it needs.
    #[must_use]
    pub fn least(&self, own: LogPosition) -> Option<LogPosition> {
        let with_say = self.members.values().filter(|member| self.counted.keeps(member));
        let mut needs = with_say.map(|member| member.needed_from);
        if planted(Bug::UnheardNeedsNothing) {
            return needs.flatten().chain([own]).min();
        }
        needs.try_fold(own, |least, needed| Some(least.min(needed?)))
    }

    /// The members that have lost their say since this was asked last, ascending.
    pub fn take_left_behind(&mut self) -> Vec<NodeId> {
        let mut left_behind = Vec::new();
        for (node, member) in &mut self.members {
            let has_say = self.counted.keeps(member);
            if !has_say && !member.is_told {
                left_behind.push(*node);
            }
            member.is_told = !has_say;
        }
        left_behind
    }
}

impl CountedLog {
    fn push(&mut self, position: LogPosition, bytes: u64) {
        let step = self.bytes_max / STEPS_COUNT;
        if self.steps.back().is_none_or(|(_, before)| self.total - before >= step) {
            self.steps.push_back((position, self.total));
        }
        self.total += bytes;
        // The first one has more behind it than anybody is given.
        while self.steps.get(1).is_some_and(|(_, before)| self.total - before >= self.bytes_max) {
            self.steps.pop_front();
        }
    }

    /// Whether the log is kept for a member.
    fn keeps(&self, member: &MemberNeed) -> bool {
        let first = member.needed_from.unwrap_or(member.known_from);
        self.bytes_since(first) < self.bytes_max || planted(Bug::SilentNodeKeepsLog)
    }

    /// Bytes of the messages from `first` on: up to a step fewer, so that nobody loses its say early.
    fn bytes_since(&self, first: LogPosition) -> u64 {
        let at = self.steps.partition_point(|(position, _)| *position < first);
        self.steps.get(at).map_or(0, |(_, before)| self.total - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;

    /// Bytes of each message.
    const MESSAGE: usize = 10;

    fn least(needs: &LogNeeds) -> Option<u64> {
        needs.least(LogPosition(90)).map(|first| first.0)
    }

    fn apply(needs: &mut LogNeeds, positions: std::ops::RangeInclusive<u64>) {
        positions.for_each(|position| needs.applied(LogPosition(position), MESSAGE));
    }

    #[test]
    fn what_a_member_said_last_holds_the_log_until_so_many_bytes_came_since() {
        let mut needs = LogNeeds::new(400);
        assert_eq!(least(&needs), Some(90), "it is alone");
        apply(&mut needs, 1..=100);
        needs.set_members(LogPosition(100), [1, 2].map(NodeId));
        needs.heard(NodeId(1), LogPosition(70));
        assert_eq!(least(&needs), None, "one has said nothing yet");
        needs.heard(NodeId(2), LogPosition(95));
        needs.heard(NodeId(9), LogPosition(5));
        assert_eq!(least(&needs), Some(70), "a stranger has no say");
        needs.heard(NodeId(2), LogPosition(99));
        apply(&mut needs, 101..=108);
        assert_eq!((least(&needs), needs.take_left_behind()), (Some(70), vec![]), "39 messages since");
        apply(&mut needs, 109..=109);
        assert_eq!(least(&needs), Some(90), "40 messages since");
        assert_eq!((needs.take_left_behind(), needs.take_left_behind()), (vec![NodeId(1)], vec![]));
        needs.heard(NodeId(1), LogPosition(71));
        assert_eq!((least(&needs), needs.take_left_behind()), (Some(71), vec![]), "it is back");
        apply(&mut needs, 110..=110);
        assert_eq!(needs.take_left_behind(), [NodeId(1)], "once more");
        needs.set_members(LogPosition(110), [2].map(NodeId));
        assert_eq!(least(&needs), Some(90), "it has left");
    }

    #[test]
    fn nothing_is_trimmed_for_a_member_that_was_never_heard_until_so_many_bytes_came_since_it_is_known() {
        let mut needs = LogNeeds::new(400);
        // Far more than the bound: it was read again at the start of this node, and says nothing about the other.
        apply(&mut needs, 1..=200);
        needs.set_members(LogPosition(200), [NodeId(1)]);
        apply(&mut needs, 201..=239);
        needs.set_members(LogPosition(239), [NodeId(1)]);
        assert_eq!(least(&needs), None, "it may need everything");
        apply(&mut needs, 240..=240);
        assert_eq!((least(&needs), needs.take_left_behind()), (Some(90), vec![NodeId(1)]));
        needs.heard(NodeId(1), LogPosition(30));
        assert_eq!((least(&needs), needs.take_left_behind()), (Some(90), vec![]), "it is too late");
        needs.heard(NodeId(1), LogPosition(220));
        assert_eq!(needs.least(LogPosition(230)), Some(LogPosition(220)), "it has its say again");
    }

    #[test]
    fn bytes_are_counted_in_steps_of_which_there_is_a_bounded_number() {
        let mut needs = LogNeeds::new(STEPS_COUNT * 100);
        apply(&mut needs, 1..=100_000);
        let steps = needs.counted.steps.len() as u64;
        assert!((STEPS_COUNT..=STEPS_COUNT + 2).contains(&steps), "{steps}");
        for behind in [1, 7, 1_000, 20_000] {
            let (bytes, since) = (behind * MESSAGE as u64, LogPosition(100_001 - behind));
            let counted = needs.counted.bytes_since(since);
            assert!(counted <= bytes && bytes - counted < 100, "{counted} of {bytes}");
        }
        assert!(needs.counted.bytes_since(LogPosition(5)) >= STEPS_COUNT * 100);
    }

    #[test]
    fn planted_bugs_are_found() {
        let silent = what_a_member_said_last_holds_the_log_until_so_many_bytes_came_since;
        assert_found(Bug::SilentNodeKeepsLog, silent, "40 messages since");
        let unheard =
            nothing_is_trimmed_for_a_member_that_was_never_heard_until_so_many_bytes_came_since_it_is_known;
        assert_found(Bug::UnheardNeedsNothing, unheard, "it may need everything");
    }
}
