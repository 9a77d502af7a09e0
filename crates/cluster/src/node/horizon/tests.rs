//! The horizon beside a naive model that keeps everything that was ever said, and each of its rules alone.

use super::*;
use crate::digest::LogDigest;
use crate::key_hash::graph_salt::GraphSalt;
use crate::node::readers::OpenReader;
use crate::planted::assert_found;
use crate::seeded::{OneIn, SeededChance};
use std::sync::LazyLock;

const OWN: NodeId = NodeId(0);
const PEERS: u16 = 3;
const SILENCE: Duration = Duration::from_secs(10);

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The log of messages 1 to `messages`.
fn log(messages: u64) -> DigestWindow {
    let mut window = DigestWindow::new(SeenLog::START);
    for number in 1..=messages {
        window.push(GraphSalt([7; 16]), LogPosition(number), &number.to_le_bytes());
    }
    window
}

static LOG: LazyLock<DigestWindow> = LazyLock::new(|| log(200));

fn at(position: u64) -> SeenLog {
    let digest = LOG.at(LogPosition(position)).unwrap();
    SeenLog { position: LogPosition(position), digest }
}

fn other_at(position: u64) -> SeenLog {
    SeenLog { position: LogPosition(position), digest: LogDigest([1; 16]) }
}

fn heartbeat(applied: u64, oldest: u64) -> Heartbeat {
    says(at(applied), oldest)
}

fn says(applied: SeenLog, oldest: u64) -> Heartbeat {
    Heartbeat { applied, oldest: LogPosition(oldest), needed_from: LogPosition::START }
}

/// Members that have all started once.
fn members(nodes: impl IntoIterator<Item = u16>) -> impl Iterator<Item = (NodeId, Option<u32>)> {
    nodes.into_iter().map(|node| (NodeId(node), Some(0)))
}

/// A node that has applied a log, knows its peers since time zero, and started before the first message.
struct Node {
    readers: Readers,
    horizon: Horizon,
    applied: DigestWindow,
}

impl Node {
    fn new(applied: u64, peers: u16) -> Self {
        let readers = Readers::new(SeenLog::START);
        readers.joined();
        let mut horizon = Horizon::new(OWN, HorizonOptions::default(), readers.clone());
        horizon.set_members(Duration::ZERO, members(0..=peers));
        let mut node = Self { readers, horizon, applied: DigestWindow::new(SeenLog::START) };
        assert_eq!(node.apply(Duration::ZERO, applied), []);
        node
    }

    fn apply(&mut self, now: Duration, applied: u64) -> Vec<OtherLogHeard> {
        self.applied = log(applied);
        self.readers.applied(self.applied.last());
        self.horizon.applied(now, &self.applied)
    }

    fn hear(&mut self, now: Duration, from: u16, heartbeat: Heartbeat) -> Option<OtherLogHeard> {
        self.horizon.heard(now, NodeId(from), heartbeat, &self.applied)
    }

    fn rise(&mut self, now: Duration) -> u64 {
        self.horizon.rise(now).0
    }

    fn holder(&self, now: Duration) -> HorizonHolder {
        self.horizon.status(now, self.applied.last().position).holder
    }
}

#[test]
fn the_horizon_is_the_least_that_anybody_uses_and_says_who_holds_it() {
    let mut node = Node::new(50, 2);
    assert_eq!((node.rise(secs(1)), node.holder(secs(1))), (0, HorizonHolder::Peer(NodeId(1))));
    node.hear(secs(1), 1, heartbeat(48, 40));
    assert_eq!(node.rise(secs(1)), 0, "one has said nothing yet");
    node.hear(secs(1), 2, heartbeat(60, 45));
    assert_eq!((node.rise(secs(1)), node.holder(secs(1))), (40, HorizonHolder::Peer(NodeId(1))));
    let reader = node.readers.begin_at(at(42)).unwrap();
    node.hear(secs(2), 1, heartbeat(60, 60));
    assert_eq!((node.rise(secs(2)), node.holder(secs(2))), (42, HorizonHolder::OwnReader));
    drop(reader);
    assert_eq!((node.rise(secs(2)), node.holder(secs(2))), (45, HorizonHolder::Peer(NodeId(2))));
    let answer = node.readers.begin_answer(at(46)).unwrap();
    node.hear(secs(3), 2, heartbeat(60, 60));
    assert_eq!((node.rise(secs(3)), node.holder(secs(3))), (46, HorizonHolder::Answer));
    drop(answer);
    assert_eq!((node.rise(secs(3)), node.holder(secs(3))), (50, HorizonHolder::Nobody));
}

#[test]
fn a_node_that_is_silent_loses_its_say_and_speaks_again() {
    let mut node = Node::new(50, 2);
    node.hear(secs(0), 1, heartbeat(50, 20));
    node.hear(secs(1), 2, heartbeat(50, 50));
    assert_eq!(node.rise(secs(9)), 20);
    assert_eq!(node.rise(secs(10)), 50, "it is silent");
    let status = node.horizon.status(secs(10), LogPosition(50));
    let has_say: Vec<_> = status.peers.iter().map(|peer| (peer.node.0, peer.has_say)).collect();
    assert_eq!(has_say, [(1, false), (2, true)]);
    node.apply(secs(11), 80);
    node.hear(secs(11), 2, heartbeat(80, 80));
    node.hear(secs(11), 1, heartbeat(80, 20));
    assert_eq!(node.rise(secs(11)), 50, "it is heard again, and nothing goes back");
    node.hear(secs(12), 1, heartbeat(80, 70));
    assert_eq!(node.rise(secs(12)), 70);
}

#[test]
fn one_that_never_spoke_holds_the_horizon_as_long_as_one_that_falls_silent() {
    let mut node = Node::new(50, 1);
    assert_eq!(node.rise(secs(9)), 0, "it may have readers");
    assert_eq!(node.rise(secs(10)), 50);
    node.apply(secs(10), 90);
    node.horizon.set_members(secs(12), members([0, 1, 2]));
    assert_eq!(node.rise(secs(21)), 50, "it joined at 12");
    assert_eq!(node.rise(secs(22)), 90);
    node.horizon.set_members(secs(23), members([0, 1, 2, 3]));
    node.apply(secs(23), 99);
    assert_eq!((node.rise(secs(23)), node.holder(secs(23))), (90, HorizonHolder::Peer(NodeId(3))));
    node.horizon.set_members(secs(24), members([0, 1, 2]));
    assert_eq!(node.rise(secs(24)), 99, "who leaves has no say");
}

#[test]
fn one_that_joins_again_holds_the_horizon_until_it_speaks_or_is_silent_for_long() {
    let again = [(OWN, Some(0)), (NodeId(1), Some(1))];
    let mut node = Node::new(50, 1);
    node.hear(secs(1), 1, heartbeat(50, 20));
    assert_eq!(node.rise(secs(11)), 50, "it is silent");
    node.apply(secs(20), 80);
    node.horizon.set_members(secs(20), again);
    let holder = HorizonHolder::Peer(NodeId(1));
    assert_eq!((node.rise(secs(20)), node.holder(secs(20))), (50, holder), "it has readers again");
    node.horizon.set_members(secs(25), again);
    assert_eq!((node.rise(secs(29)), node.rise(secs(30))), (50, 80), "it joined at 20");
    node.apply(secs(31), 90);
    node.horizon.set_members(secs(31), [(OWN, Some(0)), (NodeId(1), Some(2))]);
    assert_eq!(node.rise(secs(31)), 80);
    node.hear(secs(32), 1, heartbeat(90, 85));
    assert_eq!(node.rise(secs(32)), 85);
}

#[test]
fn a_heartbeat_that_is_older_than_one_that_came_neither_lowers_nor_renews() {
    let mut node = Node::new(50, 1);
    node.hear(secs(1), 1, heartbeat(40, 30));
    assert_eq!(node.rise(secs(1)), 30);
    node.hear(secs(2), 1, heartbeat(45, 40));
    node.hear(secs(8), 1, heartbeat(40, 30));
    assert_eq!(node.rise(secs(8)), 40, "the older one lowers it");
    assert_eq!(node.rise(secs(12)), 50, "it shows no life");
    node.hear(secs(13), 1, heartbeat(45, 40));
    node.apply(secs(13), 60);
    assert_eq!(node.rise(secs(13)), 50, "a double of the newest does");
}

#[test]
fn a_heartbeat_of_another_log_raises_one_alarm_and_does_not_count() {
    let mut node = Node::new(50, 1);
    let other = says(other_at(40), 40);
    let alarm = OtherLogHeard { node: NodeId(1), seen: other_at(40) };
    assert_eq!(node.hear(secs(1), 1, other), Some(alarm), "an alarm");
    assert_eq!(node.hear(secs(2), 1, other), None, "one alarm");
    assert_eq!(node.rise(secs(2)), 0, "it does not count");
    assert_eq!(node.hear(secs(3), 1, heartbeat(39, 39)), None);
    assert_eq!(node.rise(secs(3)), 0, "there both logs were the same");
    assert!(node.horizon.status(secs(3), LogPosition(50)).peers[0].is_of_other_log);
    assert_eq!(node.hear(secs(4), 1, heartbeat(41, 41)), None);
    assert_eq!(node.rise(secs(4)), 41, "it has this log after all");
    assert!(node.hear(secs(5), 1, says(other_at(45), 45)).is_some());
    assert_eq!(node.hear(secs(5), 9, other), None, "a stranger");
}

#[test]
fn a_node_that_is_ahead_is_compared_when_this_one_has_applied_as_much() {
    let mut node = Node::new(10, 2);
    for peer in [1, 2] {
        assert_eq!(node.hear(secs(1), peer, heartbeat(10, 5)), None);
    }
    let other = says(other_at(20), 8);
    assert_eq!(node.hear(secs(2), 1, other), None, "nobody can tell yet");
    assert_eq!(node.hear(secs(2), 2, heartbeat(20, 9)), None);
    assert_eq!(node.rise(secs(2)), 8);
    // Later ones do not hide it.
    assert_eq!(node.hear(secs(3), 1, says(other_at(30), 9)), None);
    assert_eq!(node.apply(secs(3), 19), []);
    let alarm = OtherLogHeard { node: NodeId(1), seen: other_at(20) };
    assert_eq!(node.apply(secs(3), 25), [alarm]);
    assert_eq!(node.hear(secs(4), 1, says(other_at(40), 9)), None);
    assert_eq!(node.apply(secs(4), 50), []);
    node.hear(secs(5), 2, heartbeat(50, 50));
    assert_eq!((node.rise(secs(12)), node.rise(secs(13))), (8, 50), "its say ends as if it were silent");
}

#[test]
fn a_node_too_far_behind_to_be_compared_is_not_counted() {
    let mut node = Node::new(50, 1);
    node.applied.forget_before(LogPosition(45));
    assert_eq!(node.hear(secs(9), 1, heartbeat(20, 20)), None);
    assert_eq!(node.rise(secs(9)), 0);
    assert_eq!(node.rise(secs(10)), 50);
}

#[test]
fn no_snapshot_is_kept_for_longer_than_one_may_be() {
    let mut node = Node::new(10, 1);
    let age = HorizonOptions::default().snapshot_age_max;
    let reader = node.readers.begin().unwrap();
    for step in 0..=40 {
        let now = age / 20 * step;
        node.apply(now, 10 + u64::from(step));
        node.hear(now, 1, heartbeat(10 + u64::from(step), 10));
        let horizon = node.rise(now);
        match step {
            // Applied since: 11 and more.
            0..=20 => assert_eq!(horizon, 10, "after {step} twentieths"),
            _ => assert_eq!(horizon, 10 + u64::from(step) - 20, "what is too old holds it"),
        }
    }
    assert_eq!(node.readers.heartbeat(LogPosition::START).unwrap().oldest, LogPosition(30));
    drop(reader);
}

#[test]
fn so_it_is_on_a_node_that_had_nothing_to_apply_for_long() {
    let mut node = Node::new(10, 0);
    let age = HorizonOptions::default().snapshot_age_max;
    let old = node.readers.begin().unwrap();
    // Too close to the message before to be remembered beside the newest.
    node.apply(secs(1), 11);
    let later = node.readers.begin().unwrap();
    node.apply(secs(2), 12);
    let newest = node.readers.begin().unwrap();
    assert_eq!(node.rise(age + secs(1)), 10);
    assert_eq!(node.rise(age + secs(2)), 12, "two are too old, and no message comes");
    drop((old, later));
    // The newest was so until now.
    let comes = age * 9;
    node.apply(comes, 13);
    assert_eq!(node.rise(comes), 12, "the newest was the newest until now");
    assert_eq!(node.rise(comes + age - secs(1)), 12, "it is not too old yet");
    assert_eq!(node.rise(comes + age), 13, "it is too old");
    drop(newest);
    // A node that is not stepped while nothing comes.
    let mut node = Node::new(10, 0);
    let old = node.readers.begin().unwrap();
    node.apply(secs(1), 11);
    node.apply(comes, 12);
    assert_eq!(node.rise(comes), 11, "an old reader holds it after a while without messages");
    drop(old);
}

/// The definitions, word for word: everything that was heard is kept, and looked through each time.
struct Model {
    heard: Vec<(Duration, u16, Heartbeat)>,
    applied: u64,
    in_use: Vec<u64>,
    horizon: u64,
}

impl Model {
    fn rise(&mut self, now: Duration) -> u64 {
        let mut limit = self.in_use.iter().copied().min().unwrap_or(u64::MAX).min(self.applied);
        for peer in 1..=PEERS {
            let (mut spoke, mut newest) = (Duration::ZERO, None::<Heartbeat>);
            for (at, _, heartbeat) in self.heard.iter().filter(|(_, from, _)| *from == peer) {
                let is_newer = |newest: Heartbeat| {
                    heartbeat.oldest >= newest.oldest && heartbeat.applied.position >= newest.applied.position
                };
                if newest.is_none_or(is_newer) {
                    (spoke, newest) = (*at, Some(*heartbeat));
                }
            }
            if now < spoke + SILENCE {
                limit = limit.min(newest.map_or(self.horizon, |newest| newest.oldest.0));
            }
        }
        self.horizon = self.horizon.max(limit);
        self.horizon
    }
}

/// A peer, which applies the log and reads: what it says never goes back.
#[derive(Default)]
struct Sender {
    applied: u64,
    oldest: u64,
    said: Vec<Heartbeat>,
}

fn play(seed: u64) {
    let mut chance = SeededChance::new(seed);
    let mut node = Node::new(0, PEERS);
    let mut model = Model { heard: Vec::new(), applied: 0, in_use: Vec::new(), horizon: 0 };
    let mut senders: Vec<Sender> = (0..PEERS).map(|_| Sender::default()).collect();
    let mut readers: Vec<OpenReader> = Vec::new();
    let mut now = Duration::ZERO;
    for step in 0..120 {
        let pause = if chance.happens(OneIn(15)) { 12_000 } else { 600 };
        now += Duration::from_millis(chance.below(pause));
        match chance.below(8) {
            0 | 1 => {
                model.applied = (model.applied + chance.below(4)).min(200);
                assert_eq!(node.apply(now, model.applied), []);
            }
            2 => {
                let reader = match chance.happens(OneIn(2)) {
                    true => node.readers.begin().ok(),
                    false => node.readers.begin_answer(at(chance.below(model.applied + 1))),
                };
                readers.extend(reader);
            }
            3 if !readers.is_empty() => {
                readers.swap_remove(chance.below(readers.len() as u64) as usize);
            }
            _ => {
                let peer = chance.below(u64::from(PEERS)) as u16;
                let sender = &mut senders[usize::from(peer)];
                sender.applied = (sender.applied + chance.below(4)).min(200);
                sender.oldest += chance.below(sender.applied - sender.oldest + 1);
                sender.said.push(heartbeat(sender.applied, sender.oldest));
                // Some are lost, some come twice, some late.
                let back = if chance.happens(OneIn(3)) { chance.below(sender.said.len() as u64) } else { 0 };
                let heartbeat = sender.said[sender.said.len() - 1 - back as usize];
                assert_eq!(node.hear(now, peer + 1, heartbeat), None);
                model.heard.push((now, peer + 1, heartbeat));
            }
        }
        model.in_use = readers.iter().map(|reader| reader.at().position.0).collect();
        let expected = model.rise(now);
        assert_eq!(node.rise(now), expected, "seed {seed}, step {step}: not the horizon of the model");
    }
}

#[test]
fn the_horizon_is_that_of_a_naive_model() {
    (0..150).for_each(play);
}

#[test]
fn planted_bugs_are_found() {
    for bug in [
        Bug::SilentNodeHolds,
        Bug::LateHeartbeatCounts,
        Bug::UnheardPassed,
        Bug::ReadersPassed,
        Bug::HorizonGoesBack,
        Bug::HorizonUnapplied,
    ] {
        assert_found(bug, the_horizon_is_that_of_a_naive_model, "not the horizon of the model");
    }
    let silent = a_node_that_is_silent_loses_its_say_and_speaks_again;
    let unheard = one_that_never_spoke_holds_the_horizon_as_long_as_one_that_falls_silent;
    let late = a_heartbeat_that_is_older_than_one_that_came_neither_lowers_nor_renews;
    let other = a_heartbeat_of_another_log_raises_one_alarm_and_does_not_count;
    let ageless = no_snapshot_is_kept_for_longer_than_one_may_be;
    assert_found(Bug::SilentNodeHolds, silent, "it is silent");
    assert_found(Bug::UnheardPassed, unheard, "it may have readers");
    let again = one_that_joins_again_holds_the_horizon_until_it_speaks_or_is_silent_for_long;
    assert_found(Bug::JoinedAgainPassed, again, "it has readers again");
    assert_found(Bug::LateHeartbeatCounts, late, "the older one lowers it");
    assert_found(Bug::OtherLogHeard, other, "an alarm");
    assert_found(Bug::SnapshotsAgeless, ageless, "what is too old holds it");
    let idle = so_it_is_on_a_node_that_had_nothing_to_apply_for_long;
    assert_found(Bug::IdleAgesForgotten, idle, "two are too old");
}
