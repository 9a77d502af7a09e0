//! Disks: those of one machine, which outlive its process: one of the node, and one of each partition.
//!
//! ```text
//! life     a process writes through disks that fail at a planned change, or are full for a while
//! power    of what was not synced, any part of any disk is there at the next start
//! ```

use crate::simulation::trace::Trace;
use evergraph_cluster::seeded::SeededChance;
use evergraph_graph::id::PartitionId;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory, SECTOR_BYTES};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

/// What is on the disks of a machine.
pub struct Disks {
    node: MemoryDirectory,
    stores: BTreeMap<PartitionId, MemoryDirectory>,
}

/// The same, as a process has them.
pub struct LiveDisks {
    pub node: FailingDirectory,
    pub stores: BTreeMap<PartitionId, FailingDirectory>,
    /// With which change the power fails, and of which disk.
    power_cut: Option<(FailingDirectory, u64)>,
}

impl Disks {
    /// Empty ones.
    pub fn new(partitions: impl Iterator<Item = PartitionId>) -> Self {
        let stores = partitions.map(|partition| (partition, MemoryDirectory::new("store"))).collect();
        Self { node: MemoryDirectory::new("node"), stores }
    }

    /// For a process.
    pub fn live(&self) -> LiveDisks {
        let failing = |disk: &MemoryDirectory| FailingDirectory::new(Arc::new(disk.clone()));
        let stores = self.stores.iter().map(|(partition, disk)| (*partition, failing(disk))).collect();
        LiveDisks { node: failing(&self.node), stores, power_cut: None }
    }

    /// The power fails. What the process still writes reaches no disk.
    pub fn cut_power(&mut self, chance: &mut SeededChance, trace: &mut Trace) {
        for disk in self.stores.values_mut().chain([&mut self.node]) {
            *disk = disk.crash(|_| match chance.below(3) {
                0 => CrashOutcome::Kept,
                1 => CrashOutcome::Lost,
                _ => CrashOutcome::Torn(chance.below(SECTOR_BYTES as u64) as usize),
            });
            for name in disk.list().unwrap() {
                let bytes = disk.read_all(&name, u64::MAX).unwrap();
                trace.add(&(name, bytes));
            }
        }
    }
}

impl LiveDisks {
    /// The power fails at a change from now on: nothing reaches this disk from there on.
    pub fn plan_power_cut(&mut self, chance: &mut SeededChance) {
        if self.power_cut.is_some() {
            return;
        }
        let disk = self.any_disk(chance);
        let nth = 1 + chance.below(40);
        let at = disk.changes_count() + nth;
        disk.plan(Fault::any_change(ErrorKind::Other).nth(nth).lasting());
        self.power_cut = Some((disk, at));
    }

    /// Whether it has failed so.
    pub fn have_failed(&self) -> bool {
        self.power_cut.as_ref().is_some_and(|(disk, at)| disk.changes_count() >= *at)
    }

    /// A change of the disk of a partition fails, and it alone.
    pub fn plan_failure(&self, partition: PartitionId, chance: &mut SeededChance) {
        let fault = Fault::any_change(ErrorKind::Other).nth(1 + chance.below(10));
        self.stores[&partition].plan(fault);
    }

    /// The disk of a partition is full from now on: what lies within the files that are there can be written.
    pub fn fill(&self, partition: PartitionId) {
        self.stores[&partition].plan(Fault::new(Operation::Create, "", ErrorKind::StorageFull).lasting());
    }

    /// There is room again; what else was planned for that disk does not happen.
    pub fn make_room(&mut self, partition: PartitionId) {
        self.stores[&partition].heal();
        // The power cut may have been planned for it.
        self.power_cut = None;
    }

    /// How often each disk has changed.
    pub fn changes(&self) -> Vec<u64> {
        self.stores.values().chain([&self.node]).map(FailingDirectory::changes_count).collect()
    }

    fn any_disk(&self, chance: &mut SeededChance) -> FailingDirectory {
        let place = chance.below(self.stores.len() as u64 + 1) as usize;
        self.stores.values().nth(place).unwrap_or(&self.node).clone()
    }
}
