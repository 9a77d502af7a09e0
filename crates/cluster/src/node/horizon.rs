//! Horizon: the oldest moment that a node keeps readable, from what nodes tell each other with their heartbeats.
//!
//! ```text
//! node 1 ──heartbeat: applied 90, oldest 70──┐
//! node 2 ──heartbeat: applied 88, oldest 85──┼──> least of those who have a say, own readers, own applied = 70
//! node 3 ──────────── silent for 10 s ───────┘    never back ──> merges go up to there; who reads below is refused
//! ```
//!
//! The horizon is each node's own: nobody agrees on it. It decides what merges may take away and whom the node refuses,
//! so nobody is ever answered from a state that was merged away. Heartbeats only see to it that few are refused.
//!
//! # Who has a say
//!
//! - A member that was heard within [`HorizonOptions::silence_max`]. One that is silent for longer loses its say: its readers
//!   are refused. When it speaks again it is counted again; what it says below the horizon holds the horizon where it is.
//! - A member that has said nothing yet, since it or this node has just started, holds the horizon where it is, for as long as
//!   one that falls silent: from when this node first knows of it, or learns that it has joined again, with another
//!   incarnation. Most speak within an interval.
//! - Nobody for more than [`HorizonOptions::snapshot_age_max`]: readers that are older are refused, wherever they run. So a
//!   snapshot that somebody forgets does not fill the memory of all nodes; what it has opened on its own node is closed
//!   (`opened_partitions`). The time counts from the message behind the one that a
//!   snapshot was of; without one, the snapshot is the newest, holds nothing, and is as old as it likes.
//!
//! # Heartbeats that come late, twice, or out of order
//!
//! What a node says never goes back ([`crate::node::readers`]), over its starts as well. So what says less than what came
//! before is older, and is dropped whole: it neither lowers what the node holds, nor shows that the node lives. One that
//! says the same may be a double and counts as a sign of life, as far as a network may delay it.
//!
//! # Heartbeats of another log
//!
//! A heartbeat says which log its sender has applied. If that is another one it is not counted, and an alarm is raised: one of
//! the two has read a log that lost messages. A sender that is ahead is compared as soon as this node has applied as much. One
//! that is so far behind that its log cannot be compared is not counted: its transactions are refused as too old in any case.
//!
//! # Interval
//!
//! [`HEARTBEAT_INTERVAL`] is 250 ms. The horizon trails the log by as much, and by a delay of the network: at 18 MB/s of records,
//! the most that a log carries, that is 5 MB that cannot be merged yet, next to nothing beside what a store keeps unmerged
//! anyway. A second would be 18 MB on every node; a tenth would wake each node for every other one ten times a second, for
//! nothing. Forty heartbeats have room in the 10 s after which a node counts as silent, so that a network that loses some
//! takes nobody's say.

use crate::digest::{DigestWindow, LogComparison, SeenLog};
use crate::log_position::LogPosition;
use crate::node::readers::Readers;
use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use crate::transport::frame::Heartbeat;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How often a node tells each other one how far it is.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(250);

/// Moments that are remembered of the time in which snapshots grow too old.
const AGES_MAX: u32 = 64;

/// How long others are waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HorizonOptions {
    /// How long a node may say nothing before it loses its say.
    pub silence_max: Duration,
    /// How long a snapshot is kept: one 64th more at most. Whoever reads at an older one is refused.
    pub snapshot_age_max: Duration,
}

impl Default for HorizonOptions {
    fn default() -> Self {
        Self { silence_max: Duration::from_secs(10), snapshot_age_max: Duration::from_secs(3600) }
    }
}

/// The horizon of one node.
#[derive(Debug)]
pub struct Horizon {
    own: NodeId,
    options: HorizonOptions,
    readers: Readers,
    /// The other members.
    peers: BTreeMap<NodeId, Peer>,
    /// How much the node had applied, and when, oldest first: what is too old now, then later moments.
    ages: VecDeque<(Duration, LogPosition)>,
    /// The newest that it has applied, and when.
    newest: Option<(Duration, LogPosition)>,
}

#[derive(Clone, Copy, Debug)]
struct Peer {
    /// The one that joined last; `None` if it has not started since the cluster was created.
    incarnation: Option<u32>,
    /// When it spoke last, or was first known in this incarnation.
    heard_at: Duration,
    /// The newest that it said.
    said: Option<Heartbeat>,
    /// What it had applied when it was ahead of this node, until this node has applied as much.
    unproved: Option<SeenLog>,
    /// It had applied another log up to here.
    other_log_at: Option<LogPosition>,
}

/// A node has applied another log than this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherLogHeard {
    /// Which node.
    pub node: NodeId,
    /// What it has applied.
    pub seen: SeenLog,
}

/// Where the horizon is, and why it is not further.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HorizonStatus {
    /// The oldest message at whose end this node can be read.
    pub horizon: LogPosition,
    /// The newest message that it has applied.
    pub applied: LogPosition,
    /// Who holds it.
    pub holder: HorizonHolder,
    /// The other members, ascending.
    pub peers: Vec<PeerStatus>,
}

/// Who keeps the horizon from rising.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HorizonHolder {
    /// Nobody: it follows what is applied.
    Nobody,
    /// A transaction or a query of this node.
    OwnReader,
    /// A question that is being answered here.
    Answer,
    /// Another node, by what it said last, or because it has said nothing yet.
    Peer(NodeId),
}

/// Another member, as this node knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerStatus {
    /// Which node.
    pub node: NodeId,
    /// How long it has said nothing.
    pub silent_for: Duration,
    /// The newest that it said.
    pub said: Option<Heartbeat>,
    /// Whether it has a say.
    pub has_say: bool,
    /// Whether it has applied another log.
    pub is_of_other_log: bool,
}

impl Horizon {
    /// Of the node `own`, whose readers these are. It knows of no other member yet.
    #[must_use]
    pub fn new(own: NodeId, options: HorizonOptions, readers: Readers) -> Self {
        Self { own, options, readers, peers: BTreeMap::new(), ages: VecDeque::new(), newest: None }
    }

    /// The members of the cluster are these, as far as the node has applied, each with the incarnation that joined last. One that
    /// has joined again is waited for anew: what it said before was of readers that have ended.
    pub fn set_members(&mut self, now: Duration, members: impl IntoIterator<Item = (NodeId, Option<u32>)>) {
        let others: BTreeMap<NodeId, Option<u32>> =
            members.into_iter().filter(|(node, _)| *node != self.own).collect();
        self.peers.retain(|node, _| others.contains_key(node));
        for (node, incarnation) in others {
            let peer = self.peers.entry(node).or_insert(Peer {
                incarnation,
                heard_at: now,
                said: None,
                unproved: None,
                other_log_at: None,
            });
            if peer.incarnation != incarnation && !planted(Bug::JoinedAgainPassed) {
                // Whether it has this log is not answered by its start.
                *peer = Peer { incarnation, heard_at: now, said: None, ..*peer };
            }
        }
    }

    /// A heartbeat came at `now` from a node that is proved to be `from`. `applied` is the log that this node has applied.
    ///
    /// Returns an alarm if the sender has applied another log; the same one once, until it is found to have this one.
    pub fn heard(
        &mut self,
        now: Duration,
        from: NodeId,
        heartbeat: Heartbeat,
        applied: &DigestWindow,
    ) -> Option<OtherLogHeard> {
        // A node that joins later than this one has applied speaks again.
        let peer = self.peers.get_mut(&from)?;
        let seen = heartbeat.applied;
        let is_ahead = seen.position > applied.last().position;
        if !is_ahead {
            match applied.compare(&seen) {
                LogComparison::Same => {}
                LogComparison::Other if planted(Bug::OtherLogHeard) => {}
                LogComparison::Other => return peer.raise_alarm(from, seen),
                LogComparison::Forgotten => return None,
            }
        }
        let is_older =
            |said: Heartbeat| heartbeat.oldest < said.oldest || seen.position < said.applied.position;
        if peer.said.is_some_and(is_older) && !planted(Bug::LateHeartbeatCounts) {
            return None;
        }
        if is_ahead {
            peer.unproved.get_or_insert(seen);
            if peer.other_log_at.is_some() {
                return None;
            }
        } else if peer.other_log_at.is_some_and(|at| seen.position < at) {
            // Where both logs were the same.
            return None;
        } else {
            peer.other_log_at = None;
        }
        peer.said = Some(heartbeat);
        peer.heard_at = now;
        None
    }

    /// This node has applied `applied`: what others said ahead of it is compared now. Returns whoever has another log.
    pub fn applied(&mut self, now: Duration, applied: &DigestWindow) -> Vec<OtherLogHeard> {
        self.note_age(now, applied.last().position);
        let last = applied.last().position;
        let mut others = Vec::new();
        for (node, peer) in &mut self.peers {
            let Some(seen) = peer.unproved.filter(|seen| seen.position <= last) else { continue };
            peer.unproved = None;
            match applied.compare(&seen) {
                LogComparison::Same if peer.other_log_at.is_some_and(|at| seen.position >= at) => {
                    peer.other_log_at = None;
                }
                LogComparison::Same | LogComparison::Forgotten => {}
                LogComparison::Other => {
                    // What it said from there on was about another log.
                    peer.said = None;
                    others.extend(peer.raise_alarm(*node, seen));
                }
            }
        }
        others
    }

    /// Raises the horizon as far as everybody with a say allows at `now`. Returns where it is.
    pub fn rise(&mut self, now: Duration) -> LogPosition {
        let horizon = self.readers.horizon();
        let silence_max = self.options.silence_max;
        let with_say = self.peers.values().filter(|peer| peer.has_say(now, silence_max));
        let limit = with_say.filter_map(|peer| peer.limit(horizon)).min().unwrap_or(LogPosition::MAX);
        self.readers.raise(limit, self.age_limit(now))
    }

    /// How long another member has said nothing; `None` of one that has said nothing since it joined last, or this node started.
    #[must_use]
    pub fn silence(&self, now: Duration, node: NodeId) -> Option<Duration> {
        let peer = self.peers.get(&node).filter(|peer| peer.said.is_some())?;
        Some(now.saturating_sub(peer.heard_at))
    }

    /// Where the horizon is at `now`, and who holds it.
    #[must_use]
    pub fn status(&self, now: Duration, applied: LogPosition) -> HorizonStatus {
        let horizon = self.readers.horizon();
        let silence_max = self.options.silence_max;
        let (own, answer) = self.readers.oldest();
        let readers = [(own, HorizonHolder::OwnReader), (answer, HorizonHolder::Answer)];
        let readers = readers.into_iter().filter_map(|(at, holder)| Some((at?, holder)));
        let with_say = self.peers.iter().filter(|(_, peer)| peer.has_say(now, silence_max));
        let peers =
            with_say.filter_map(|(node, peer)| Some((peer.limit(horizon)?, HorizonHolder::Peer(*node))));
        let least = readers.chain(peers).min_by_key(|(at, _)| *at).filter(|(at, _)| *at < applied);
        let statuses = self.peers.iter().map(|(node, peer)| PeerStatus {
            node: *node,
            silent_for: now.saturating_sub(peer.heard_at),
            said: peer.said,
            has_say: peer.has_say(now, silence_max),
            is_of_other_log: peer.other_log_at.is_some(),
        });
        HorizonStatus {
            horizon,
            applied,
            holder: least.map_or(HorizonHolder::Nobody, |(_, holder)| holder),
            peers: statuses.collect(),
        }
    }

    /// Remembers how much is applied at `now`, now and then. Between messages nothing is: so what was the newest until now is
    /// remembered with its own time, however long ago that is.
    fn note_age(&mut self, now: Duration, applied: LogPosition) {
        let interval = self.options.snapshot_age_max / AGES_MAX;
        let last = |ages: &VecDeque<(Duration, LogPosition)>| ages.back().map(|(at, _)| *at);
        if let Some(newest) = self.newest
            && now >= newest.0.saturating_add(interval)
            && last(&self.ages) < Some(newest.0)
            && !planted(Bug::IdleAgesForgotten)
        {
            self.ages.push_back(newest);
        }
        if last(&self.ages).is_none_or(|at| now >= at.saturating_add(interval)) {
            self.ages.push_back((now, applied));
        }
        self.newest = Some((now, applied));
        // One that is too old already tells more than those before it.
        while let Some((at, _)) = self.ages.get(1)
            && at.saturating_add(self.options.snapshot_age_max) <= now
        {
            self.ages.pop_front();
        }
    }

    /// Whoever reads below it began too long before `now`.
    fn age_limit(&self, now: Duration) -> LogPosition {
        let is_old = |(at, _): &&(Duration, LogPosition)| {
            at.saturating_add(self.options.snapshot_age_max) <= now && !planted(Bug::SnapshotsAgeless)
        };
        let newest = self.newest.iter().filter(|_| !planted(Bug::IdleAgesForgotten));
        let old = self.ages.iter().chain(newest).take_while(is_old).last();
        old.map_or(LogPosition::START, |(_, applied)| *applied)
    }
}

impl Peer {
    fn has_say(&self, now: Duration, silence_max: Duration) -> bool {
        now < self.heard_at.saturating_add(silence_max) || planted(Bug::SilentNodeHolds)
    }

    /// How far it lets the horizon rise, which is at `horizon`.
    fn limit(&self, horizon: LogPosition) -> Option<LogPosition> {
        match self.said {
            Some(said) => Some(said.oldest),
            None if planted(Bug::UnheardPassed) => None,
            None => Some(horizon),
        }
    }

    fn raise_alarm(&mut self, node: NodeId, seen: SeenLog) -> Option<OtherLogHeard> {
        let is_known = self.other_log_at.is_some();
        self.other_log_at.get_or_insert(seen.position);
        (!is_known).then_some(OtherLogHeard { node, seen })
    }
}

#[cfg(test)]
mod tests;
