//! Trouble: what goes wrong in a world, and its end.

use super::World;
use crate::first_state::PARTITIONS;
use crate::machine::SILENCE_MAX;
use evergraph_cluster::log::memory::{LogFaults, OpenStreams};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::seeded::OneIn;
use evergraph_cluster::transport::memory::NetworkFaults;
use evergraph_graph::id::PartitionId;
use evergraph_graph::timestamp::Timestamp;
use std::time::Duration;

/// Ticks before anything goes wrong but what is under way.
const CALM_TICKS: u32 = 60;
/// When a log may lose something.
const LOSS_TICKS: (u32, u32) = (350, 550);

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// Log and network are slow, and some appends happen twice; nothing else.
    None,
    /// Everything but the next.
    All,
    /// Everything; then the log loses what it had acknowledged, and after that nothing else fails.
    Loss,
}

impl Trouble {
    /// That of a seed, mostly everything.
    pub fn of(seed: u64) -> Self {
        match seed % 6 {
            0 => Self::None,
            1 => Self::Loss,
            _ => Self::All,
        }
    }
}

/// What goes wrong with the log.
pub fn log_faults(trouble: Trouble) -> LogFaults {
    let delay_max = Duration::from_millis(8);
    match trouble {
        Trouble::None => LogFaults { delay_max, lag: OneIn(5), doubled: OneIn(30), ..LogFaults::default() },
        _ => LogFaults {
            delay_max,
            refused: OneIn(60),
            lost: OneIn(80),
            unanswered: OneIn(80),
            late: OneIn(80),
            doubled: OneIn(30),
            gap: OneIn(30),
            lag: OneIn(5),
            cut: OneIn(100),
        },
    }
}

/// What goes wrong with the network.
pub fn network_faults(trouble: Trouble, delay_max: Duration) -> NetworkFaults {
    match trouble {
        Trouble::None => NetworkFaults { delay_max, ..NetworkFaults::default() },
        _ => NetworkFaults { delay_max, lost: OneIn(40), doubled: OneIn(12), late: OneIn(50) },
    }
}

impl World {
    /// Something goes wrong, perhaps.
    pub(super) fn make_trouble(&mut self) {
        if let Some(until) = self.outage_until
            && until <= self.now
        {
            self.outage_until = None;
            self.log.set_faults(log_faults(self.trouble));
        }
        if self.trouble == Trouble::None || self.tick < CALM_TICKS || !self.is_working() {
            return;
        }
        if self.trouble == Trouble::Loss && self.lose() {
            return;
        }
        let nodes = u64::from(self.nodes());
        let node = self.chance.below(nodes) as u16;
        let other = NodeId((node + 1 + self.chance.below(nodes - 1) as u16) % nodes as u16);
        let (until, place) = (self.now + self.chance.up_to(2 * SILENCE_MAX), usize::from(node));
        let of_partitions = self.chance.below(u64::from(PARTITIONS));
        match self.chance.below(360) {
            0 => {
                self.network.cut(NodeId(node), other);
                self.tally.cut_routes += 1;
            }
            1..=3 => self.network.mend(NodeId(node), other),
            4 => {
                self.slots[place].stands_until = until;
                self.tally.pauses += 1;
            }
            5 if self.slots[place].machine.is_some() => {
                self.tally.cuts += 1;
                self.cut_power(node);
            }
            6 | 7 => {
                if let Some(machine) = &mut self.slots[place].machine {
                    machine.disks.plan_power_cut(&mut self.chance);
                }
            }
            8..=10 => self.fill(place, of_partitions, until + SILENCE_MAX),
            11 => {
                let Some(machine) = &self.slots[place].machine else { return };
                let kept: Vec<PartitionId> = machine.disks.stores.keys().copied().collect();
                let partition = kept[of_partitions as usize % kept.len()];
                machine.disks.plan_failure(partition, &mut self.chance);
            }
            12 if self.outage_until.is_none() => {
                self.tally.log_outages += 1;
                self.outage_until = Some(self.now + 2 * self.chance.up_to(2 * SILENCE_MAX));
                let refused = OneIn(1);
                self.log.set_faults(LogFaults { refused, ..log_faults(self.trouble) });
            }
            _ => {}
        }
    }

    /// A disk is full for a while.
    fn fill(&mut self, place: usize, which: u64, until: Duration) {
        let slot = &mut self.slots[place];
        if let Some(machine) = &slot.machine
            && slot.full.is_none()
        {
            let kept: Vec<PartitionId> = machine.disks.stores.keys().copied().collect();
            let partition = kept[which as usize % kept.len()];
            machine.disks.fill(partition);
            slot.full = Some((partition, until));
        }
    }

    /// The log loses messages. Whether it has: from then on nothing else fails.
    fn lose(&mut self) -> bool {
        if self.lost_at.is_some() {
            return true;
        }
        if self.tick >= LOSS_TICKS.0 && self.copy.is_none() {
            self.copy = Some(self.log.copy());
        }
        let is_due = self.tick >= LOSS_TICKS.1 || self.chance.happens(OneIn(60));
        if self.tick < LOSS_TICKS.0 || !is_due {
            return false;
        }
        self.lost_at = Some(self.tick);
        self.tally.losses += 1;
        let count = self.log.messages().len();
        match &self.copy {
            Some(copy) if self.chance.happens(OneIn(2)) => self.log.restore(copy),
            _ => {
                let lost = 1 + self.chance.below(40) as usize;
                self.log.lose_suffix(lost.min(count - 1), OpenStreams::BreakOff);
            }
        }
        let end = self.log.messages().last().map_or(LogPosition::START, |message| message.position);
        match self.judge().through(self.first.clone(), end) {
            Ok(judge) => self.histories.push(judge),
            Err(wrong) => self.fail(wrong),
        }
        for slot in &mut self.slots {
            let Some(machine) = &mut slot.machine else { continue };
            slot.saw_more = machine.seen().position > end;
            // What was planned would let it forget what it has seen.
            machine.disks.node.heal();
            machine.disks.stores.values().for_each(|disk| disk.heal());
            if let Some((partition, _)) = slot.full.take() {
                machine.disks.make_room(partition);
            }
        }
        // It was told of the other history.
        self.told.clear();
        self.acknowledged = Timestamp::ZERO;
        self.end_trouble();
        true
    }

    /// Nothing goes wrong any more.
    pub fn end_trouble(&mut self) {
        self.outage_until = None;
        self.log.set_faults(log_faults(Trouble::None));
        self.network.set_faults(NetworkFaults::default());
        for from in (0..self.nodes()).map(NodeId) {
            (0..self.nodes()).map(NodeId).for_each(|to| self.network.mend(from, to));
        }
    }

    /// Disks are whole, and nodes that have lost the use of a partition start again.
    pub fn mend(&mut self) {
        self.end_trouble();
        for node in 0..self.nodes() {
            let slot = &mut self.slots[usize::from(node)];
            slot.stands_until = self.now;
            let Some(machine) = &mut slot.machine else { continue };
            machine.disks.node.heal();
            machine.disks.stores.values().for_each(|disk| disk.heal());
            slot.full = None;
            if machine.disks.have_failed() || machine.node.node().applier().failed().count() > 0 {
                self.cut_power(node);
                self.slots[usize::from(node)].stands_until = self.now;
            }
        }
    }
}
