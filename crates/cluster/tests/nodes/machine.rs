//! Machine: a node with its directory and the files of its partitions, whose power fails where a plan says.

use crate::fuse::Fuse;
use crate::node_log::NodeLog;
use crate::script::{NODE, SALT, Script, first_state, partitions};
use crate::simulation::tally::tally;
use crate::simulation::trace::Trace;
use crate::toy_partition::{SharedToyFile, ToyPartition, ToySync};
use evergraph_cluster::log::memory::{LogFaults, MemoryLog, MemoryLogClient};
use evergraph_cluster::log::packer::PackerLimits;
use evergraph_cluster::log::shared_log::{AppendId, SharedLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::apply::{Applier, HELD_BYTES_MAX};
use evergraph_cluster::node::checkpoint;
use evergraph_cluster::node::checkpoint_steps::{
    BegunCheckpoint, SaveError, SyncedCheckpoint, WrittenCheckpoint,
};
use evergraph_cluster::node::incarnation::{NodeStart, count_start};
use evergraph_cluster::node::kept_partition::PartitionEvent;
use evergraph_cluster::node::node_error::NodeError;
use evergraph_cluster::node::node_loop::{NodeEvent, NodeLoop};
use evergraph_cluster::node::partition_store::{Installed, PartitionStore};
use evergraph_cluster::node::seen_file;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::OwnGroups;
use evergraph_storage::io::directory::Directory as _;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
use evergraph_storage::io::random::SplitMix64;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::mem::discriminant;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Longer than a reader waits after its stream broke off.
const TICK: Duration = Duration::from_millis(60);
/// Ticks in which a node must have read what there is.
const TICKS_MAX: usize = 300;

pub type ToyNode = NodeLoop<ToyPartition, NodeLog>;

/// How often a step finds no room that finds none.
pub const FULL_TIMES: u32 = 3;

/// Where the power fails, or room is short.
#[derive(Clone, Copy, Debug)]
pub enum Crash {
    /// Before the step with this number that a partition takes, from 0.
    InPartition(u64),
    /// At the change with this number of the node's directory, from 1.
    OnDisk(u64),
    /// None: but the step with this number finds no room the first times.
    Full(u64),
    /// None: but the change with this number of the node's directory, from 1, and the others of the same checkpoint fail.
    DiskFull(u64),
}

/// So many steps of checkpoints come after the message with this number.
pub type Schedule = fn(usize, &mut SeededChance) -> u64;

/// Some messages between any two steps of a checkpoint, or none; more than are read again between the beginnings of two, and
/// between a beginning and its end.
pub fn spread(number: usize, _: &mut SeededChance) -> u64 {
    match number {
        0..=3 | 20 | 30 | 38 | 39 | 42.. => 1,
        40 | 41 => 4,
        _ => 0,
    }
}

/// Any number.
pub fn random(_: usize, chance: &mut SeededChance) -> u64 {
    chance.below(6)
}

/// A checkpoint between two of its steps.
enum UnderWay {
    Nothing,
    Begun(BegunCheckpoint<ToySync>),
    Synced(SyncedCheckpoint<ToySync>),
    Written(WrittenCheckpoint),
}

tally! {
    /// What came of a plan.
    pub struct Outcome {
        pub crashes: usize,
        /// Steps of partitions after the last crash.
        pub steps: u64,
        /// Times that a partition found no room for a commit.
        pub stalls: usize,
        /// Checkpoints that were written.
        pub checkpoints: usize,
        /// Checkpoints that failed without a crash.
        pub failures: usize,
        /// Messages of the log, what the node did with them, and its files after each crash.
        pub trace: Trace,
    }
}

/// A log, and a node that reads it.
pub struct Machine {
    pub log: MemoryLog,
    writer: MemoryLogClient,
    appended: u64,
    pub now: Duration,
    chance: SeededChance,
    random: SplitMix64,
    directory: MemoryDirectory,
    files: BTreeMap<PartitionId, SharedToyFile>,
    /// Of partitions whose disks fail apart from the others.
    pub fuses: BTreeMap<PartitionId, Fuse>,
    /// Bytes of messages for which a checkpoint waits for a partition that has failed.
    pub held_bytes_max: u64,
    /// A partition whose files cannot be read.
    pub left_out: Option<PartitionId>,
}

pub fn own(partition: PartitionId) -> OwnGroups {
    OwnGroups::new(partition, partitions()).unwrap()
}

impl Machine {
    /// A new node, and a log without messages whose streams break off and lag now and then.
    pub fn new(seed: u64) -> Self {
        let faults = LogFaults { lag: OneIn(3), cut: OneIn(25), ..LogFaults::default() };
        let log = MemoryLog::new(seed, faults);
        let created = first_state();
        let kept = created.tables().placement().kept_by(NODE);
        let files = kept.map(|(partition, _)| (partition, SharedToyFile::default())).collect();
        Self {
            writer: log.connect(),
            log,
            appended: 0,
            now: Duration::ZERO,
            chance: SeededChance::new(seed),
            random: SplitMix64::new(seed),
            directory: MemoryDirectory::new("node"),
            files,
            fuses: BTreeMap::new(),
            held_bytes_max: HELD_BYTES_MAX,
            left_out: None,
        }
    }

    /// A node that keeps no partition, and has read nothing. It does not write.
    pub fn start_empty(&self) -> ToyNode {
        let start = NodeStart { author: Author { node: NodeId(9), incarnation: 0 }, nonce: 9 };
        let (applier, log) = (Applier::new(first_state()), NodeLog::mute(self.log.connect()));
        NodeLoop::new(start, "node-9:1".into(), PackerLimits::default(), applier, log)
    }

    /// Starts the node from its checkpoint. It does not write.
    ///
    /// # Errors
    /// What is wrong with what it finds.
    pub fn start(&mut self, fuse: &Fuse) -> Result<ToyNode, String> {
        let log = NodeLog::mute(self.log.connect());
        self.start_on(log, fuse)
    }

    /// Starts the node from its checkpoint, and lets time pass until it has joined. It writes.
    ///
    /// # Errors
    /// As [`Machine::start`], and why it does not join.
    pub fn start_and_join(&mut self) -> Result<ToyNode, String> {
        self.join(NodeLog::writing(self.log.connect()))
    }

    /// As [`Machine::start_and_join`], on such a connection to its log.
    ///
    /// # Errors
    /// As there.
    pub fn join(&mut self, log: NodeLog) -> Result<ToyNode, String> {
        let mut node = self.begin(log)?;
        let mut events = Vec::new();
        for _ in 0..TICKS_MAX {
            self.tick(&mut node, &mut events).map_err(|error| error.to_string())?;
            if node.is_member() {
                return Ok(node);
            }
        }
        Err("the node does not join".to_owned())
    }

    /// Starts the node from its checkpoint, on such a connection to its log.
    ///
    /// # Errors
    /// As [`Machine::start`].
    pub fn begin(&mut self, log: NodeLog) -> Result<ToyNode, String> {
        self.start_on(log, &Fuse::new(None))
    }

    fn start_on(&mut self, log: NodeLog, fuse: &Fuse) -> Result<ToyNode, String> {
        let counted = count_start(&self.directory, NODE, &mut self.random);
        let start = counted.map_err(|error| error.to_string())?;
        let state = checkpoint::read(&self.directory, SALT).map_err(|error| error.to_string())?;
        let noted = seen_file::read(&self.directory, SALT).map_err(|error| error.to_string())?;
        let applier = Applier::new(state.unwrap_or_else(first_state)).having_noted(noted);
        let applier = applier.holding_at_most(self.held_bytes_max);
        let mut node = NodeLoop::new(start, "node-1:2".into(), PackerLimits::default(), applier, log);
        for (partition, file) in self.files.iter().filter(|(partition, _)| self.left_out != Some(**partition))
        {
            let fuse = self.fuses.get(partition).unwrap_or(fuse);
            let store = ToyPartition::open(own(*partition), file, fuse);
            node.keep(*partition, store).map_err(|error| error.to_string())?;
        }
        Ok(node)
    }

    /// A copy of a partition as the node has it now.
    pub fn copy(&self, node: &mut ToyNode, partition: PartitionId, fuse: &Fuse) -> ToyPartition {
        assert!(node.proved(partition).is_some(), "it is published");
        let file = self.files[&partition].borrow().clone();
        ToyPartition::open(own(partition), &Rc::new(RefCell::new(file)), fuse)
    }

    /// The log gets another message.
    pub fn append(&mut self, bytes: &Arc<[u8]>) {
        self.appended += 1;
        self.writer.append(AppendId(self.appended), Arc::clone(bytes));
    }

    /// Lets time pass until the node has applied everything that the log has, and its partitions have installed that.
    ///
    /// # Errors
    /// Why the node stops.
    pub fn read_all(&mut self, node: &mut ToyNode) -> Result<Vec<NodeEvent>, NodeError> {
        let mut events = Vec::new();
        for _ in 0..TICKS_MAX {
            let end = self.log.messages().last().map_or(LogPosition::START, |message| message.position);
            if node.applier().state().seen().position >= end && !node.applier().is_stalled() {
                return Ok(events);
            }
            self.tick(node, &mut events)?;
        }
        panic!("a node reads a short log in some seconds");
    }

    /// A tick passes.
    ///
    /// # Errors
    /// Why the node stops.
    pub fn tick(&mut self, node: &mut ToyNode, events: &mut Vec<NodeEvent>) -> Result<(), NodeError> {
        self.now += TICK;
        self.log.advance_to(self.now);
        node.step(self.now, events)
    }

    /// Makes a checkpoint; the change of the node's directory with this number and all behind it fail.
    ///
    /// # Errors
    /// Why there is none.
    pub fn checkpoint(&self, node: &mut ToyNode, fails_at: Option<u64>) -> Result<(), SaveError> {
        node.checkpoint(&self.failing(fails_at))
    }

    fn failing(&self, fails_at: Option<u64>) -> FailingDirectory {
        let failing = FailingDirectory::new(Arc::new(self.directory.clone()));
        if let Some(nth) = fails_at {
            failing.plan(Fault::any_change(ErrorKind::StorageFull).nth(nth).lasting());
        }
        failing
    }

    /// The log loses what the node does not need any more.
    pub fn trim(&mut self, node: &ToyNode) {
        self.writer.trim(node.applier().needed_from());
    }

    /// Says on disk how far the node is, as it does twice a second.
    pub fn note(&self, node: &ToyNode) {
        seen_file::write(&self.directory, SALT, &node.applier().state().seen()).unwrap();
    }

    /// The power fails: of what was not synced, any part is there at the next start.
    pub fn cut_power(&mut self) {
        let chance = &mut self.chance;
        self.directory = self.directory.crash(|_| match chance.happens(OneIn(2)) {
            true => CrashOutcome::Kept,
            false => CrashOutcome::Lost,
        });
        self.files.values().for_each(|file| file.borrow_mut().cut_power(chance));
    }

    /// Appends the script, message by message, to a node that crashes as planned, makes checkpoints by a schedule, trims the log
    /// after each message as far as they allow, and starts anew after each crash. Compares what comes of it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn run(mut self, script: &Script, plan: &[Crash], schedule: Schedule) -> Result<Outcome, String> {
        let mut plan = plan.iter().copied();
        let mut outcome = Outcome::default();
        let mut life = Life::new(plan.next());
        let mut node = self.start(&life.fuse)?;
        let mut waiting = script.messages.iter().enumerate();
        let mut next = waiting.next();
        while let Some((number, bytes)) = next {
            if self.appended <= number as u64 {
                self.append(bytes);
            }
            let events = self.read_all(&mut node).map_err(|error| error.to_string())?;
            let taken = (life.fuse.taken(), self.now, bytes);
            outcome.trace.add(&taken);
            events.iter().for_each(|event| trace_event(event, &mut outcome.trace));
            let is_stall =
                |event: &&NodeEvent| matches!(event, NodeEvent::Partition(PartitionEvent::Stalled { .. }));
            outcome.stalls += events.iter().filter(is_stall).count();
            if !life.fuse.has_blown() {
                is_sound(&node)?;
                for _ in 0..schedule(number, &mut self.chance) {
                    self.step_checkpoint(&mut node, &mut life, &mut outcome)?;
                }
                self.trim(&node);
            }
            if life.has_crashed || life.fuse.has_blown() {
                outcome.crashes += 1;
                self.cut_power();
                self.trace_files(&mut outcome.trace);
                life = Life::new(plan.next());
                node = self.start(&life.fuse)?;
            } else {
                next = waiting.next();
            }
        }
        outcome.steps = life.fuse.taken();
        life.fuse.mend();
        self.compare(node, script)?;
        Ok(outcome)
    }

    /// What is on the node's disks goes into the trace.
    fn trace_files(&self, trace: &mut Trace) {
        for name in self.directory.list().unwrap() {
            let bytes = self.directory.read_all(&name, u64::MAX).unwrap();
            trace.add(&(name, bytes));
        }
        self.files.values().for_each(|file| trace.add(&file.borrow().history()));
    }

    /// Takes the next step of a checkpoint, unless the power has failed.
    ///
    /// # Errors
    /// If it fails, and nothing was planned that explains it.
    fn step_checkpoint(
        &self,
        node: &mut ToyNode,
        life: &mut Life,
        outcome: &mut Outcome,
    ) -> Result<(), String> {
        if life.has_crashed {
            return Ok(());
        }
        let stepped = match std::mem::replace(&mut life.under_way, UnderWay::Nothing) {
            UnderWay::Nothing => node.begin_checkpoint().map(UnderWay::Begun),
            UnderWay::Begun(begun) => begun.sync_partitions().map(UnderWay::Synced),
            UnderWay::Synced(synced) => {
                let written = synced.write(&self.failing(life.disk_fails_at));
                let left = life.disk_fails_at.and_then(|nth| nth.checked_sub(CHANGES_OF_A_CHECKPOINT));
                life.disk_fails_at = left.filter(|nth| *nth > 0);
                outcome.checkpoints += usize::from(written.is_ok());
                written.map(UnderWay::Written)
            }
            UnderWay::Written(written) => {
                node.end_checkpoint(written);
                Ok(UnderWay::Nothing)
            }
        };
        let error = match stepped {
            Ok(under_way) => {
                outcome.trace.add(&discriminant(&under_way));
                life.under_way = under_way;
                return Ok(());
            }
            Err(error) => error,
        };
        match (&error, life.crash) {
            _ if life.fuse.has_blown() => life.has_crashed = true,
            (SaveError::State(_), Some(Crash::OnDisk(_))) => life.has_crashed = true,
            (SaveError::State(_), Some(Crash::DiskFull(_))) => outcome.failures += 1,
            (SaveError::Stalled { .. } | SaveError::Store(_), Some(Crash::Full(_))) => outcome.failures += 1,
            _ => return Err(error.to_string()),
        }
        Ok(())
    }

    /// Whether the node has what follows from the script, and has it again when it starts anew.
    fn compare(&mut self, mut node: ToyNode, script: &Script) -> Result<(), String> {
        same(&mut node, script)?;
        is_sound(&node)?;
        drop(node);
        let mut again = self.start(&Fuse::new(None))?;
        let mut events = Vec::new();
        for tick in 1..TICKS_MAX as u32 {
            again.step(self.now + TICK * tick, &mut events).map_err(|error| error.to_string())?;
        }
        let found = same(&mut again, script).and_then(|()| is_sound(&again));
        found.map_err(|wrong| format!("started anew, {wrong}"))
    }
}

/// Changes of the node's directory that a checkpoint makes: the old new file removed, created, written, synced, renamed, the
/// directory synced.
pub const CHANGES_OF_A_CHECKPOINT: u64 = 6;

/// A node from one start to the next.
struct Life {
    crash: Option<Crash>,
    fuse: Fuse,
    /// Counted from the next checkpoint on.
    disk_fails_at: Option<u64>,
    under_way: UnderWay,
    has_crashed: bool,
}

impl Life {
    fn new(crash: Option<Crash>) -> Self {
        let fuse = match crash {
            Some(Crash::InPartition(step)) => Fuse::new(Some(step)),
            Some(Crash::Full(step)) => Fuse::full_in_place(step, FULL_TIMES),
            Some(Crash::OnDisk(_) | Crash::DiskFull(_)) | None => Fuse::new(None),
        };
        let disk_fails_at = match crash {
            Some(Crash::OnDisk(nth) | Crash::DiskFull(nth)) => Some(nth),
            _ => None,
        };
        Self { crash, fuse, disk_fails_at, under_way: UnderWay::Nothing, has_crashed: false }
    }
}

/// What a node did goes into the trace.
fn trace_event(event: &NodeEvent, trace: &mut Trace) {
    match event {
        NodeEvent::Applied(applied) => trace.note(format_args!("{:?} {:?}", applied.seen, applied.records)),
        other => trace.note(format_args!("{other:?}")),
    }
}

/// Whether no partition has failed.
///
/// # Errors
/// Why one has.
fn is_sound(node: &ToyNode) -> Result<(), String> {
    node.applier().failed().next().map_or(Ok(()), |(_, error)| Err(error.to_string()))
}

/// Whether the node has what follows from the script; of partitions that have failed it is not asked.
///
/// # Errors
/// What differs.
pub fn same(node: &mut ToyNode, script: &Script) -> Result<(), String> {
    let state = node.applier().state();
    if state.seen() != script.seen {
        return Err("the node has read another log".to_owned());
    }
    if checkpoint::encode(state) != script.state {
        return Err("what follows from the log differs".to_owned());
    }
    let failed: Vec<_> = node.applier().failed().map(|(partition, _)| partition).collect();
    let kept: Vec<_> = node.applier().kept().filter(|partition| !failed.contains(partition)).collect();
    for partition in kept {
        let Some(store) = node.proved(partition) else {
            return Err(format!("{} is not proved", own(partition)));
        };
        let is_published = store.installed() == Installed::all(&script.seen);
        if store.history() != script.histories[&partition] || !is_published {
            return Err(format!("{} differs", own(partition)));
        }
    }
    Ok(())
}
