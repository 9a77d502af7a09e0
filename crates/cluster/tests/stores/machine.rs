//! Machine: a node with its directory and a store for each partition, each on a disk of its own, whose power fails.
//!
//! ```text
//! life      a start from the node's checkpoint, messages, checkpoints, merges, horizons ... until the power fails:
//!           at a planned change of one disk, behind which nothing reaches it any more, or between two steps
//! power     of what was not synced, any part of any disk is there at the next start
//! ```

use crate::script::{PERSON, SALT, Script, WEIGHT, WEIGHTS, first_state, partitions};
use crate::shown::Shown;
use crate::simulation::tally::tally;
use crate::simulation::trace::Trace;
use evergraph_cluster::digest::{SeenLog, take_seen};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::apply::Applier;
use evergraph_cluster::node::checkpoint;
use evergraph_cluster::node::partition_store::{Installed, PartitionStore as _};
use evergraph_cluster::node::store_partition::{SEEN_NOTE, StorePartition};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_graph::bytes::Reader;
use evergraph_graph::id::{PartitionId, VertexId};
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory, SECTOR_BYTES};
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{BackgroundStep, OpenOptions, OpenStore};
use evergraph_storage::snapshot::handle::Snapshot;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::sync::Arc;

pub type Partition = StorePartition<MemoryEngine>;
pub type Node = Applier<Partition>;

/// Messages before the newest whose ends are read.
const READ_BACK: u64 = 7;
/// Power cuts between two steps, at most.
const CUTS_MAX: u32 = 3;

/// A change from which on a disk fails: that of a partition, or else the node's; from 1.
pub type DiskFault = (Option<PartitionId>, u64);

tally! {
    /// What happened, by kind.
    pub struct Tally {
        pub disk_failures: u32,
        pub cuts: u32,
        /// Partitions that were ahead of their node's checkpoint at a start, and those that had begun a message.
        pub ahead: u32,
        pub begun: u32,
        /// Snapshots that were compared, and those that were too old.
        pub compared: u32,
        pub refused: u32,
        pub store_checkpoints: u64,
        /// Messages, how often each disk had changed after them, and the files after each power cut.
        pub trace: Trace,
    }
}

/// How a life of the node ended, if nothing was wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// With all messages applied.
    Whole,
    Cut,
}

/// The disks of one life.
struct Disks {
    node: FailingDirectory,
    stores: BTreeMap<PartitionId, FailingDirectory>,
    planned: Option<(FailingDirectory, u64)>,
}

pub struct Machine<'a> {
    script: &'a Script,
    chance: SeededChance,
    node: MemoryDirectory,
    stores: BTreeMap<PartitionId, MemoryDirectory>,
    pub tally: Tally,
}

impl Disks {
    fn all(&self) -> impl Iterator<Item = &FailingDirectory> {
        self.stores.values().chain([&self.node])
    }

    fn have_failed(&self) -> bool {
        self.planned.as_ref().is_some_and(|(disk, nth)| disk.changes_count() >= *nth)
    }
}

impl<'a> Machine<'a> {
    /// A machine without files.
    pub fn new(seed: u64, script: &'a Script) -> Self {
        let stores = partitions().map(|own| (own.partition(), MemoryDirectory::new("store"))).collect();
        let (chance, node) = (SeededChance::new(seed), MemoryDirectory::new("node"));
        Self { script, chance, node, stores, tally: Tally::default() }
    }

    /// Any fault of any disk.
    pub fn any_fault(&mut self) -> DiskFault {
        let disks: Vec<_> = self.stores.keys().copied().map(Some).chain([None]).collect();
        let disk = disks[self.chance.below(disks.len() as u64) as usize];
        (disk, 1 + self.chance.below(if disk.is_some() { 60 } else { 30 }))
    }

    /// Applies the script, in as many lives as it takes; the first ones have a disk that fails. Then compares, loses power
    /// right after a checkpoint, and compares again.
    ///
    /// # Errors
    /// What is wrong.
    pub fn run(&mut self, faults: Vec<DiskFault>) -> Result<(), String> {
        let mut faults = faults.into_iter();
        loop {
            let disks = self.disks(faults.next());
            let ended = self.live(&disks);
            match ended {
                _ if disks.have_failed() => self.tally.disk_failures += 1,
                Ok(Ended::Whole) => break,
                Ok(Ended::Cut) => self.tally.cuts += 1,
                Err(wrong) => return Err(wrong),
            }
        }
        let disks = self.disks(None);
        let mut node = self.start(&disks)?;
        self.apply_all(&mut node)?;
        node.checkpoint(&disks.node).map_err(|error| error.to_string())?;
        self.node = self.node.power_cut();
        self.stores.values_mut().for_each(|store| *store = store.power_cut());
        drop(node);
        let mut node =
            self.start(&self.disks(None)).map_err(|wrong| format!("after a checkpoint: {wrong}"))?;
        self.compare_all(&mut node)
    }

    fn disks(&self, fault: Option<DiskFault>) -> Disks {
        let failing = |disk: &MemoryDirectory| FailingDirectory::new(Arc::new(disk.clone()));
        let stores: BTreeMap<_, _> = self.stores.iter().map(|(id, disk)| (*id, failing(disk))).collect();
        let node = failing(&self.node);
        let planned = fault.map(|(disk, nth)| {
            let disk = disk.map_or(&node, |partition| &stores[&partition]).clone();
            disk.plan(Fault::any_change(ErrorKind::Other).nth(nth).lasting());
            (disk, nth)
        });
        Disks { node, stores, planned }
    }

    /// A life of the node, which ends without power.
    fn live(&mut self, disks: &Disks) -> Result<Ended, String> {
        let mut node = match self.start(disks) {
            Ok(node) => node,
            Err(wrong) => {
                // Stores that did open are closed and synced by now, as by a node that ends before its power fails.
                self.cut_power();
                return Err(wrong);
            }
        };
        let ended = self.play(&mut node, disks);
        // Before the stores are closed, which would sync them.
        self.cut_power();
        drop(node);
        ended
    }

    /// The power fails: of what was not synced, any part is there at the next start.
    fn cut_power(&mut self) {
        let chance = &mut self.chance;
        let mut crash = |disk: &MemoryDirectory| {
            disk.crash(|_| match chance.below(3) {
                0 => CrashOutcome::Kept,
                1 => CrashOutcome::Lost,
                _ => CrashOutcome::Torn(chance.below(SECTOR_BYTES as u64) as usize),
            })
        };
        self.node = crash(&self.node);
        for store in self.stores.values_mut() {
            *store = crash(store);
        }
        self.trace_files();
    }

    /// What is on all disks goes into the trace.
    fn trace_files(&mut self) {
        for disk in self.stores.values().chain([&self.node]) {
            for name in disk.list().unwrap() {
                let bytes = disk.read_all(&name, u64::MAX).unwrap();
                self.tally.trace.add(&(name, bytes));
            }
        }
    }

    /// Starts the node from its checkpoint.
    fn start(&mut self, disks: &Disks) -> Result<Node, String> {
        let state = checkpoint::read(&disks.node, SALT).map_err(|error| error.to_string())?;
        let mut node = Applier::new(state.unwrap_or_else(first_state));
        for own in partitions() {
            let store = self.open(&disks.stores[&own.partition()], own)?;
            let installed = store.installed();
            self.tally.ahead += u32::from(installed.position() > node.state().seen().position);
            self.tally.begun += u32::from(installed != Installed::all(&installed.seen));
            node.keep(own.partition(), store).map_err(|error| error.to_string())?;
        }
        Ok(node)
    }

    /// Opens the store of a partition; its note must be that of the script's log.
    fn open(&mut self, disk: &FailingDirectory, own: OwnGroups) -> Result<Partition, String> {
        let options = OpenOptions {
            durability: Durability::None,
            environment: Environment::simulated(self.chance.below(u64::MAX)),
            // Some messages: so that much is written and not synced, and checkpoints come often.
            log_spill_bytes: 256,
            log_file_bytes: 1 << 16,
            checkpoint_after_bytes: 1500,
            replay_batch_mutations: 3,
            own_groups: Some(own),
            ..OpenOptions::default()
        };
        let directory: Arc<dyn Directory> = Arc::new(disk.clone());
        let open = OpenStore::open(directory, &options).map_err(|error| error.to_string())?;
        let store = StorePartition::new(open).map_err(|error| error.to_string())?;
        self.check_note(&store)?;
        Ok(store)
    }

    /// Applies messages until the script or the power ends. A checkpoint begins at one of them, and is written behind another one,
    /// while its stores go on.
    fn play(&mut self, node: &mut Node, disks: &Disks) -> Result<Ended, String> {
        let mut begun = None;
        while node.state().seen().position < self.script.end() {
            if self.tally.cuts < CUTS_MAX && self.chance.happens(OneIn(25)) {
                return Ok(Ended::Cut);
            }
            let next = node.state().seen().position.next();
            node.apply(self.script.message(next));
            sound(node)?;
            for own in partitions() {
                self.look_after(node, own)?;
            }
            let changes: Vec<u64> = disks.all().map(FailingDirectory::changes_count).collect();
            self.tally.trace.add(&(next.0, changes));
            sound(node)?;
            if self.chance.happens(OneIn(3)) {
                let checkpoint = match begun.take() {
                    None => node.begin_checkpoint(),
                    Some(begun) => Ok(begun),
                };
                let checkpoint = checkpoint.map_err(|error| error.to_string())?;
                if self.chance.happens(OneIn(2)) {
                    begun = Some(checkpoint);
                } else {
                    let written = checkpoint.write(&disks.node).map_err(|error| error.to_string())?;
                    node.end_checkpoint(written);
                }
            }
        }
        Ok(Ended::Whole)
    }

    /// What happens beside the log: background work, readers, horizons.
    fn look_after(&mut self, node: &mut Node, own: OwnGroups) -> Result<(), String> {
        let applied = node.state().seen().position;
        if !self.chance.happens(OneIn(2)) {
            return Ok(());
        }
        let Some(store) = node.proved(own.partition()) else { return Ok(()) };
        for step in [
            BackgroundStep::Merge,
            BackgroundStep::MergeIdle,
            BackgroundStep::LookAfter,
            BackgroundStep::PrepareLog,
        ] {
            if self.chance.happens(OneIn(3)) {
                store.opened().step(step);
            }
        }
        self.compare(store, applied)?;
        if self.chance.happens(OneIn(3)) {
            let behind = self.chance.below(READ_BACK);
            store.set_horizon(LogPosition(applied.0.saturating_sub(behind)));
        }
        let made = store.opened().checkpoint_state().checkpoints;
        self.tally.store_checkpoints = self.tally.store_checkpoints.max(made);
        Ok(())
    }

    fn apply_all(&mut self, node: &mut Node) -> Result<(), String> {
        while node.state().seen().position < self.script.end() {
            let next = node.state().seen().position.next();
            node.apply(self.script.message(next));
            sound(node)?;
        }
        self.compare_all(node)
    }

    /// Whether the node has all messages, and each of its partitions is proved and shows what the script says.
    fn compare_all(&mut self, node: &mut Node) -> Result<(), String> {
        let end = self.script.end();
        if node.state().seen() != self.script.seen[end.0 as usize] {
            return Err(format!("the node has applied {}", node.state().seen().position));
        }
        let names = node.state().tables().catalogue().clone();
        for own in partitions() {
            let store = node.proved(own.partition()).ok_or_else(|| format!("{own} is not proved"))?;
            self.compare(store, end)?;
            if *store.opened().store().catalogue() != names {
                return Err(format!("{own} knows other names"));
            }
            let checked = store.opened().check(&mut go_on);
            let report = checked.map_err(|error| error.to_string())?;
            if !report.is_healthy() {
                return Err(format!("{own}: {report:?}"));
            }
        }
        Ok(())
    }

    /// Compares a partition with the script at the ends of the newest messages, of which `applied` is the last.
    fn compare(&mut self, store: &Partition, applied: LogPosition) -> Result<(), String> {
        self.check_note(store)?;
        let own = store.own_groups();
        let horizon = store.opened().store().timeline().horizon();
        for position in (applied.0.saturating_sub(READ_BACK)..=applied.0).map(LogPosition) {
            let snapshot = match store.snapshot_at(position) {
                Ok(snapshot) => snapshot,
                Err(error) if error.is_conflict() && position.end() < horizon => {
                    self.tally.refused += 1;
                    continue;
                }
                Err(error) => return Err(format!("{own} at message {position}: {error}")),
            };
            self.tally.compared += 1;
            let (found, wanted) = (Shown::of(&snapshot), self.script.part_at(position, own));
            if found != wanted {
                return Err(format!("{own} differs at message {position}: {found:?}, and not {wanted:?}"));
            }
            if holders(&snapshot).is_some_and(|found| found != wanted.holders(PERSON, WEIGHT)) {
                return Err(format!("{own} finds others by its index at message {position}"));
            }
            let noted = seen_of(&snapshot)?;
            if noted.position > position || noted != self.script.seen[noted.position.0 as usize] {
                return Err(format!("{own} notes {noted:?} at message {position}"));
            }
        }
        Ok(())
    }

    /// Whether what is published and the newest note agree, and the note is that of the script's log.
    fn check_note(&self, store: &Partition) -> Result<(), String> {
        let (own, published) = (store.own_groups(), store.opened().store().timeline().published());
        let noted = seen_of(&store.opened().store().snapshot())?;
        let expected = Installed { through: published, seen: noted };
        let is_known = noted == self.script.seen[noted.position.0 as usize];
        if store.installed() != expected || LogPosition::of(published) != noted.position || !is_known {
            return Err(format!("{own} has published {published}, and notes {noted:?}"));
        }
        Ok(())
    }
}

/// Whether no partition has failed.
fn sound(node: &Node) -> Result<(), String> {
    node.failed().next().map_or(Ok(()), |(_, error)| Err(error.to_string()))
}

/// What the note of a snapshot says.
fn seen_of(snapshot: &Snapshot<MemoryEngine>) -> Result<SeenLog, String> {
    let note = snapshot.note(SEEN_NOTE).ok_or("no note of the log")?;
    take_seen(&mut Reader::new(&note)).map_err(|error| error.to_string())
}

/// The weights of persons that the index finds, and their vertices; nothing, if there is no index.
fn holders(snapshot: &Snapshot<MemoryEngine>) -> Option<BTreeSet<(i64, VertexId)>> {
    let names = snapshot.catalogue();
    names.indexes_on(Owner::Label(PERSON), WEIGHT).next()?;
    let values: Vec<Value> = (0..WEIGHTS).map(Value::I64).collect();
    let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
    while !cursor.done {
        snapshot.look_up_vertices(PERSON, WEIGHT, &values, &mut cursor, 5, &mut found).unwrap();
    }
    Some(found.rows.into_iter().map(i64::from).zip(found.items).collect())
}

fn go_on(_: &str, _: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
