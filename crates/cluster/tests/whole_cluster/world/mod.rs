//! World: machines, a log, a network and a judge, from a seed, and the time that passes for all of them.

mod rest;
pub mod trouble;

use crate::disks::Disks;
use crate::first_state::{NODES, PARTITIONS, first_state, own_groups};
use crate::judge::{Items, Judge, Sent};
use crate::machine::{Heard, Machine, Node, SILENCE_MAX, Surroundings};
use crate::shown::Shown;
use crate::simulation::traced_transport::SharedTrace;
use crate::tally::Tally;
use crate::world::trouble::{Trouble, log_faults, network_faults};
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::log::memory::{MemoryLog, MemoryLogCopy};
use evergraph_cluster::log::reader::ReadError;
use evergraph_cluster::node::node_error::NodeError;
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::record_id::{NodeId, RecordId};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_cluster::transport::memory::MemoryNetwork;
use evergraph_graph::id::PartitionId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::clock::ManualClock;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub const TICK: Duration = Duration::from_millis(10);
/// Ticks in which clients work.
pub const WORK_TICKS: u32 = 700;

struct NodeSlot {
    disks: Disks,
    machine: Option<Machine>,
    /// How often it started: whoever had begun something on it before has lost that.
    starts: u64,
    /// It stands still, or is down, until then.
    stands_until: Duration,
    /// The log has changed, and it has said so.
    has_stopped: bool,
    /// It had seen more than the log has since the loss.
    saw_more: bool,
    /// The disk of a partition is full until then.
    full: Option<(PartitionId, Duration)>,
}

pub struct World {
    trouble: Trouble,
    chance: SeededChance,
    pub clock: Arc<ManualClock>,
    pub now: Duration,
    pub tick: u32,
    log: MemoryLog,
    network: MemoryNetwork,
    frames: SharedTrace,
    first: ReplicatedState,
    slots: Vec<NodeSlot>,
    /// What the log has said, and before it lost something.
    histories: Vec<Judge>,
    copy: Option<MemoryLogCopy>,
    lost_at: Option<u32>,
    outage_until: Option<Duration>,
    /// What transactions that were sent rest on.
    sent: BTreeMap<RecordId, Sent>,
    /// What clients were told, in this history: at which timestamp they committed, or that they never will.
    told: Vec<(RecordId, Option<Timestamp>)>,
    /// The newest commit that somebody was told of.
    pub acknowledged: Timestamp,
    pub wrong: Option<String>,
    pub tally: Tally,
}

impl World {
    pub fn new(seed: u64, trouble: Trouble) -> Self {
        let mut chance = SeededChance::new(seed);
        let nodes = NODES.0 + chance.below(u64::from(NODES.1 - NODES.0) + 1) as u16;
        let delay_max = Duration::from_millis(chance.below(15));
        let first = first_state(nodes);
        let slot = |node| {
            let kept = first.tables().placement().kept_by(NodeId(node)).map(|(partition, _)| partition);
            NodeSlot {
                disks: Disks::new(kept),
                machine: None,
                starts: 0,
                stands_until: Duration::ZERO,
                has_stopped: false,
                saw_more: false,
                full: None,
            }
        };
        Self {
            trouble,
            chance,
            clock: Arc::new(ManualClock::new(0)),
            now: Duration::ZERO,
            tick: 0,
            log: MemoryLog::new(seed, log_faults(trouble)),
            network: MemoryNetwork::new(seed, network_faults(trouble, delay_max), 60),
            frames: SharedTrace::default(),
            slots: (0..nodes).map(slot).collect(),
            histories: vec![Judge::new(first.clone())],
            first,
            copy: None,
            lost_at: None,
            outage_until: None,
            sent: BTreeMap::new(),
            told: Vec::new(),
            acknowledged: Timestamp::ZERO,
            wrong: None,
            tally: Tally::default(),
        }
    }

    pub fn nodes(&self) -> u16 {
        self.slots.len() as u16
    }

    /// Something is wrong: the first counts.
    pub fn fail(&mut self, wrong: String) {
        self.wrong.get_or_insert(wrong);
    }

    /// The node, and how often it has started, if it runs.
    pub fn running(&mut self, node: NodeId) -> Option<(u64, &mut Node)> {
        let slot = &mut self.slots[usize::from(node.0)];
        let machine = slot.machine.as_mut()?;
        Some((slot.starts, &mut machine.node))
    }

    /// That start of the node, if it still runs.
    pub fn start_of(&mut self, node: NodeId, start: u64) -> Option<&mut Node> {
        self.running(node).filter(|(starts, _)| *starts == start).map(|(_, node)| node)
    }

    /// Whether nothing fails in this world.
    pub fn is_calm(&self) -> bool {
        self.trouble == Trouble::None
    }

    pub fn judge(&self) -> &Judge {
        self.histories.last().unwrap()
    }

    /// The graph at a snapshot, and which history it is of.
    pub fn graph_at(&self, seen: &SeenLog) -> Option<(usize, Arc<Shown>)> {
        let place = self.histories.iter().rposition(|history| history.has(seen))?;
        Some((place, self.histories[place].graph_at(seen.position.end())))
    }

    /// The history that the log has now, by its number.
    pub fn history(&self) -> usize {
        self.histories.len() - 1
    }

    /// The record of a transaction is under way.
    pub fn sends(&mut self, id: RecordId, items: Items) {
        let history = self.history();
        self.sent.insert(id, Sent { items, history });
    }

    /// Somebody is told what became of a record: when it committed, or that it never will.
    pub fn tells(&mut self, id: RecordId, committed: Option<Timestamp>) {
        self.tally.trace.note(format_args!("{id} {committed:?}"));
        if let Some(at) = committed {
            let is_known = |history: &Judge| history.commits.get(&id) == Some(&at);
            if !self.histories.iter().any(is_known) {
                return self.fail(format!("{id} is said to have committed at {at}, and has not"));
            }
        }
        // What was sent before the log lost something may be decided otherwise since.
        let history = self.history();
        if self.sent.get(&id).is_some_and(|sent| sent.history == history) {
            self.acknowledged = self.acknowledged.max(committed.unwrap_or(Timestamp::ZERO));
            self.told.push((id, committed));
        }
    }

    /// Time passes, and everybody but clients does what is due.
    pub fn pass(&mut self) {
        if self.wrong.is_some() {
            return;
        }
        self.tick += 1;
        self.now += TICK;
        self.clock.advance(TICK);
        self.log.advance_to(self.now);
        self.network.advance_to(self.now);
        self.read_log();
        self.make_trouble();
        for node in 0..self.nodes() {
            self.step_node(node);
        }
        self.look_at_a_partition();
    }

    fn read_log(&mut self) {
        let judge = self.histories.last_mut().unwrap();
        for message in self.log.messages_from(judge.position().next()) {
            if let Err(wrong) = judge.read(message, &self.sent, &mut self.tally) {
                self.wrong.get_or_insert(wrong);
            }
        }
    }

    fn step_node(&mut self, node: u16) {
        let place = usize::from(node);
        if self.slots[place].has_stopped || self.now < self.slots[place].stands_until {
            return;
        }
        if self.slots[place].machine.is_none() {
            self.start(node);
        }
        let (now, slot) = (self.now, &mut self.slots[place]);
        let Some(machine) = &mut slot.machine else { return };
        if let Some((partition, until)) = slot.full
            && until <= now
        {
            machine.disks.make_room(partition);
            slot.full = None;
        }
        let goes_on = machine.step(now, &mut self.chance);
        let changes = machine.disks.changes();
        let (seen, has_failed) = (machine.seen(), machine.disks.have_failed());
        let heard = machine.heard();
        self.tally.trace.add(&(node, seen.position.0, changes));
        self.hear(node, heard);
        if !goes_on && self.slots[place].machine.is_some() && !self.slots[place].has_stopped {
            self.fail(format!("node {node} has stopped and did not say why"));
        }
        if has_failed && !self.slots[place].has_stopped {
            self.tally.cuts_in_steps += 1;
            self.cut_power(node);
        }
    }

    fn hear(&mut self, node: u16, heard: Heard) {
        self.tally.stalled += u64::from(heard.stalled);
        self.tally.resumed += u64::from(heard.resumed);
        self.tally.failed += u64::from(heard.failed);
        self.tally.alarms += u64::from(heard.alarms);
        self.tally.checkpoints += u64::from(heard.checkpoints);
        self.tally.checkpoints_held += u64::from(heard.held);
        if heard.alarms > 0 && self.lost_at.is_none() {
            self.fail(format!("node {node} is alarmed, and the log has lost nothing"));
        }
        let Some(error) = heard.stopped else { return };
        let slot = &mut self.slots[usize::from(node)];
        slot.has_stopped = true;
        // Nobody is answered from it any more.
        slot.machine = None;
        let is_change = matches!(error, NodeError::Read(ReadError::LogChanged { .. }));
        if !is_change || self.lost_at.is_none() {
            self.fail(format!("node {node} stops: {error}"));
        }
        self.tally.stopped += 1;
    }

    fn start(&mut self, node: u16) {
        let may_fail = self.trouble != Trouble::None
            && self.lost_at.is_none()
            && self.is_working()
            && self.chance.happens(OneIn(6));
        let around =
            Surroundings { first: &self.first, log: &self.log, network: &self.network, frames: &self.frames };
        let slot = &mut self.slots[usize::from(node)];
        let started = Machine::start(NodeId(node), &slot.disks, &around, may_fail, &mut self.chance);
        match started {
            Ok(machine) => {
                self.tally.starts += 1;
                self.tally.ahead += u64::from(machine.ahead);
                self.tally.restored_starts += u64::from(machine.is_restored);
                slot.starts += 1;
                slot.machine = Some(machine);
            }
            Err((_, true)) => {
                self.tally.cuts_in_starts += 1;
                self.cut_power(node);
            }
            Err((wrong, false)) => self.fail(format!("node {node} does not start: {wrong}")),
        }
    }

    /// The power of a node fails, and it starts again after a while.
    fn cut_power(&mut self, node: u16) {
        let slot = &mut self.slots[usize::from(node)];
        // Before the stores are closed, which would sync them.
        slot.disks.cut_power(&mut self.chance, &mut self.tally.trace);
        slot.machine = None;
        slot.full = None;
        slot.stands_until = self.now + self.chance.up_to(2 * SILENCE_MAX);
    }

    fn is_working(&self) -> bool {
        self.tick < WORK_TICKS
    }

    /// Compares any partition of any node with the graph.
    fn look_at_a_partition(&mut self) {
        let place = self.chance.below(self.slots.len() as u64) as usize;
        if self.now < self.slots[place].stands_until || !self.chance.happens(OneIn(3)) {
            return;
        }
        let which = self.chance.below(u64::from(PARTITIONS)) as usize;
        let Some(machine) = &mut self.slots[place].machine else { return };
        let seen = machine.seen();
        let kept: Vec<PartitionId> = machine.node.node().applier().kept().collect();
        let partition = kept[which % kept.len()];
        let Some(store) = machine.node.node().proved(partition) else { return };
        let found = store.snapshot_at(seen.position).map(|snapshot| Shown::of(&snapshot));
        self.tally.compared += 1;
        let wrong = match (found, self.graph_at(&seen)) {
            (_, None) => Some("a history that there is not".to_owned()),
            (Err(error), _) => Some(error.to_string()),
            (Ok(found), Some((_, graph))) => {
                let expected = graph.part(own_groups(partition));
                (found != expected).then(|| format!("{found:?}, and not {expected:?}"))
            }
        };
        if let Some(wrong) = wrong {
            let at = seen.position;
            self.fail(format!("node {place} has in partition {} at message {at}: {wrong}", partition.0));
        }
    }
}
