//! Run: one store on a simulated disk, step by step, beside a model that keeps every committed state.
//!
//! ```text
//! disk + what is expected --open, compare--> Run --step--> ... --finish--> History
//! ```
//!
//! What may fail is written down here: without a fault only what a client does wrong, and conflicts; after
//! a fault what says clearly which file failed. A log that failed takes no commit any more.

use crate::front::model::{Model, ModelTransaction, dump};
use crate::simulated::client::{Open, VERTICES_MAX, index};
use crate::simulated::directory::{Fault, FaultKind, LOCATION, SimulatedDirectory};
use crate::simulated::disk::Disk;
use crate::simulated::history::{Expected, History, Life, State};
use crate::simulated::reader::Reader;
use crate::simulated::steps::{self, SLOTS, Step, Write};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::{KeyId, LabelId};
use evergraph_graph::note::Notes;
use evergraph_graph::transaction::{Isolation, Transaction as _, TransactionOptions};
use evergraph_storage::checkpoint::check::check_files;
use evergraph_storage::indexing::IndexRequest;
use evergraph_storage::io::clock::{Clock as _, ManualClock};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::ownership::Ownership;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::store::Store;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Rows that are read at once when two states are compared.
pub const ROWS: usize = 4096;
/// What no log may do: bytes that a disk refused once may be lost, whatever it says of later ones.
const FORGOTTEN: &str = "a store whose log failed goes on";

/// How a store is opened, and what its disk does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    pub engine: EngineKind,
    pub seed: u64,
    pub durability: Durability,
    pub log_file_bytes: u64,
    pub checkpoint_after_bytes: u64,
    pub log_spill_bytes: usize,
    pub fault: Option<Fault>,
    /// What the disk is: pages of files, or lines of persistent memory.
    pub unit: WriteUnit,
}

impl Settings {
    /// How long a transaction may take: in one history of eight some steps, of which each takes a millisecond.
    fn timeout(&self) -> Option<Duration> {
        self.seed.is_multiple_of(8).then_some(Duration::from_millis(20))
    }

    /// Some that go well with small graphs.
    pub fn choose(engine: EngineKind, random: &mut SplitMix64) -> Self {
        let mut pick = |choices: &[u64]| choices[random.next_u64() as usize % choices.len()];
        let durability = match pick(&[0, 0, 0, 1, 2]) {
            0 => Durability::Sync,
            1 => Durability::Interval(Duration::from_millis(10)),
            _ => Durability::None,
        };
        Self {
            engine,
            durability,
            log_file_bytes: pick(&[2, 3, 4, 8]) * 4096,
            checkpoint_after_bytes: pick(&[500, 3000, 1 << 20]),
            log_spill_bytes: pick(&[1, 1500, 1 << 20]) as usize,
            fault: None,
            unit: WriteUnit::PAGE,
            seed: pick(&[0]) + random.next_u64(),
        }
    }
}

pub struct Run {
    pub settings: Settings,
    pub directory: SimulatedDirectory,
    environment: Environment,
    clock: Arc<ManualClock>,
    pub store: Option<Arc<OpenStore<AnyEngine>>>,
    /// If the store follows a source.
    pub ownership: Option<Ownership<AnyEngine>>,
    pub slots: [Option<Open>; SLOTS],
    snapshots: Vec<(Snapshot<AnyEngine>, Arc<State>)>,
    /// Another process, if there can be one.
    pub reader: Option<Reader>,
    pub head: Arc<State>,
    pub history: History,
    /// Whether the history ends here: what a fault left is nothing to go on with.
    pub is_over: bool,
}

pub type Outcome = Result<(), String>;

impl Run {
    /// Opens what is on `disk` and compares it with what is expected.
    pub fn start(settings: Settings, disk: Disk, expected: &Expected) -> Result<Self, String> {
        let files_before = disk.files_count();
        let life = Life { from: 0, states: expected.states.clone(), loads: BTreeMap::new() };
        let history = History {
            changes: Vec::new(),
            required: vec![(0, expected.floor)],
            lives: vec![life],
            fault: settings.fault,
            fired_at: None,
            files_before,
            trace: 0,
            commits: 0,
            looks: 0,
            is_doubtful: expected.may_refuse || expected.is_doubtful,
        };
        let clock = Arc::new(ManualClock::new(0));
        let mut run = Self {
            directory: SimulatedDirectory::new(disk, settings.fault),
            environment: Environment::simulated_with(settings.seed, Arc::clone(&clock)),
            clock,
            settings,
            store: None,
            ownership: None,
            slots: [const { None }; SLOTS],
            snapshots: Vec::new(),
            reader: None,
            head: Arc::clone(&expected.states.values().next_back().expect("a disk has states")[0]),
            history,
            is_over: false,
        };
        run.open(expected)?;
        Ok(run)
    }

    /// What a check of the files alone says of them, before they are opened.
    pub fn check_files(disk: &Disk) -> Outcome {
        let directory = SimulatedDirectory::new(disk.clone(), None);
        let report = check_files::<AnyEngine>(&directory, &mut |_, _, _| ControlFlow::Continue(()));
        match report {
            Ok(report) if report.is_healthy() => Ok(()),
            Ok(report) => Err(format!("check of the files: {:?}", report.findings)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(format!("check of the files: {error}")),
        }
    }

    pub fn options(&self) -> OpenOptions {
        OpenOptions {
            engine: Some(self.settings.engine.name()),
            durability: self.settings.durability,
            log_file_bytes: self.settings.log_file_bytes,
            checkpoint_after_bytes: self.settings.checkpoint_after_bytes,
            log_spill_bytes: self.settings.log_spill_bytes,
            // A recovery of many batches, of some, or of one.
            replay_batch_mutations: [1, 7, OpenOptions::default().replay_batch_mutations]
                [self.settings.seed as usize % 3],
            environment: self.environment.clone(),
            ..OpenOptions::default()
        }
    }

    /// Opens the store; once more, with the disk in order, if a fault is to blame.
    fn open(&mut self, expected: &Expected) -> Outcome {
        let open = |run: &Self| OpenStore::<AnyEngine>::open(Arc::new(run.directory.clone()), &run.options());
        let opened = match open(self) {
            Err(error) if self.fault_fired() => {
                self.check_clear(&error)?;
                if self.directory.forgot() {
                    self.is_over = true;
                    return Ok(());
                }
                self.directory.heal();
                self.directory = self.directory.abandon();
                open(self)
            }
            opened => opened,
        };
        let store = match opened {
            Ok(store) => store,
            Err(error) if expected.may_refuse => {
                self.is_over = true;
                return match error.kind() {
                    ErrorKind::Corrupt | ErrorKind::NotFound | ErrorKind::Io => self.check_text(&error),
                    kind => Err(format!("a broken disk is refused as {kind:?}: {error}")),
                };
            }
            Err(error) => return Err(format!("open: {error}")),
        };
        let turned = self.settings.fault.is_some_and(|fault| fault.kind == FaultKind::ReadFlip);
        let floor = if turned && self.fault_fired() { expected.proven } else { expected.floor };
        let expected = Expected { floor, ..expected.clone() };
        let found = store.store().timeline().published().0;
        let graph = dump(&store.store().begin(), ROWS);
        let notes = store.store().snapshot().notes();
        self.head = expected.admit(found, &graph, &notes, &store.store().catalogue())?;
        self.store = Some(Arc::new(store));
        self.hold(expected.may_refuse || expected.is_doubtful)?;
        let mut states = expected.states;
        if turned && self.fault_fired() {
            // What a turned bit hid comes back if the power fails before a new commit took its place.
            self.history.required = vec![(0, 0)];
            // Of the states that this commit may have left, what is seen from here on is the one that was found.
            states.entry(found).or_default().push(Arc::clone(&self.head));
        } else {
            states.retain(|timestamp, _| *timestamp < found);
            states.insert(found, vec![Arc::clone(&self.head)]);
        }
        let from = self.directory.position();
        self.history.lives.push(Life { from, states, loads: BTreeMap::new() });
        self.require_durable();
        Ok(())
    }

    pub fn store(&self) -> &Store<AnyEngine> {
        self.store.as_ref().expect("a run has a store until it is over").store()
    }

    pub fn published(&self) -> u64 {
        self.store().timeline().published().0
    }

    fn fault_fired(&self) -> bool {
        self.directory.fired_at().is_some()
    }

    /// Whether commits are still possible.
    pub fn is_healthy(&self) -> bool {
        let store = self.store();
        !store.log().is_poisoned() && store.timeline().latch().poisoned.is_none()
    }

    /// An error that nothing but the disk can be blamed for, and that says which file.
    pub fn check_clear(&self, error: &Error) -> Outcome {
        if !self.fault_fired() {
            return Err(format!("nothing was wrong with the disk, and yet: {error}"));
        }
        let full = matches!(self.settings.fault, Some(Fault { kind: FaultKind::Full { .. }, .. }));
        let turned = matches!(self.settings.fault, Some(Fault { kind: FaultKind::ReadFlip, .. }));
        match error.kind() {
            ErrorKind::Io => self.check_text(error),
            ErrorKind::Limit if full => self.check_text(error),
            ErrorKind::Corrupt if turned => self.check_text(error),
            kind => Err(format!("a fault of the disk is told as {kind:?}: {error}")),
        }
    }

    fn check_text(&self, error: &Error) -> Outcome {
        let text = error.to_string();
        if text.contains(LOCATION) { Ok(()) } else { Err(format!("this names no file: {text}")) }
    }

    pub fn require(&mut self, timestamp: u64) {
        let required = self.history.required.last().map_or(0, |(_, required)| *required);
        if timestamp > required {
            self.history.required.push((self.directory.position(), timestamp));
        }
    }

    /// From here on what the log says to be durable must be there.
    fn require_durable(&mut self) {
        let durable = self.store().log().durable().min(self.published());
        self.require(durable);
    }

    /// The graph is sound: lists, both sides, indexes. It takes as long as all the rest, so each store is
    /// checked once, at its end.
    fn check_graph(&self) -> Outcome {
        let store = self.store.as_ref().expect("open");
        let report = store.check(&mut |_, _, _| ControlFlow::Continue(()));
        match report {
            Ok(report) if report.is_healthy() => Ok(()),
            Ok(report) => Err(format!("check: {:?}", report.findings)),
            Err(error) => Err(format!("check: {error}")),
        }
    }

    /// Does `step`, and checks what holds after every step.
    pub fn step(&mut self, step: Step) -> Outcome {
        if self.is_over {
            return Ok(());
        }
        let (healthy, before) = (self.is_healthy(), self.published());
        self.clock.advance(Duration::from_millis(1));
        match step {
            Step::Write { slot, write } => self.write(self.slot_of(usize::from(slot)), write)?,
            Step::Commit { slot } => self.commit(self.slot_of(usize::from(slot)))?,
            Step::RollBack { slot } => self.slots[usize::from(slot)] = None,
            Step::Name { number } => self.name(number)?,
            Step::Snapshot => {
                let snapshot = self.store().snapshot();
                let at = evergraph_graph::view::GraphView::timestamp(&snapshot).0;
                let state = &self.history.lives.last().expect("open").states[&at];
                self.snapshots.push((snapshot, Arc::clone(state.last().expect("a commit has a state"))));
            }
            Step::CloseSnapshot { at } if !self.snapshots.is_empty() => {
                let (snapshot, state) = self.snapshots.swap_remove(usize::from(at) % self.snapshots.len());
                check_snapshot(&snapshot, &state)?;
            }
            Step::CloseSnapshot { .. } => {}
            Step::Own => self.own()?,
            Step::Release => self.release()?,
            Step::CreateIndex { which } => self.create_index(which)?,
            Step::DropIndex { which } => self.drop_index(which)?,
            Step::Load { seed } => self.load(seed, false)?,
            Step::LoadHub { seed } => self.load(seed, true)?,
            Step::Background(step) => self.store.as_ref().expect("open").step(step),
            Step::Checkpoint { beside } => self.checkpoint(beside)?,
            Step::WaitDurable => match self.store().log().wait_durable(before) {
                Ok(()) => self.require(before),
                Err(_) if self.is_healthy() => return Err(FORGOTTEN.to_owned()),
                Err(error) if healthy => self.check_clear(&error.into())?,
                Err(_) => {}
            },
            Step::Reopen | Step::Kill => return self.reopen(step == Step::Kill),
        }
        if !healthy && self.published() > before {
            return Err("a store that failed took a commit".to_owned());
        }
        let (readable, durable) = (self.store().timeline().readable().0, self.store().log().durable());
        if self.settings.durability == Durability::Sync && readable > durable {
            return Err(format!("snapshots see commit {readable}, and {durable} is the newest durable one"));
        }
        self.require_durable();
        self.look(step, before)
    }

    /// A checkpoint, with steps between its own.
    fn checkpoint(&mut self, beside: u16) -> Outcome {
        let (healthy, store) = (self.is_healthy(), Arc::clone(self.store.as_ref().expect("open")));
        let mut random = SplitMix64::new(u64::from(beside));
        let mut done = Ok(());
        let made = store.checkpoint(&mut |_| {
            while done.is_ok() && beside > 0 && random.next_u64().is_multiple_of(2) {
                done = self.step(steps::beside(&mut random));
            }
            ControlFlow::Continue(())
        });
        done?;
        match made {
            Err(error) if healthy && self.is_healthy() => self.check_clear(&error),
            _ => Ok(()),
        }
    }

    fn write(&mut self, slot: usize, write: Write) -> Outcome {
        let is_new = self.slots[slot].is_none();
        if is_new && self.ownership.is_some() {
            self.slots[slot] = Some(self.begin_owned()?);
        }
        let mut open = self.slots[slot].take().unwrap_or_else(|| {
            let levels = [Isolation::Snapshot, Isolation::Serializable];
            let mut options = TransactionOptions::from(levels[(self.history.commits as usize + slot) % 2]);
            options.timeout = self.settings.timeout();
            Open {
                transaction: self.store().begin_with(options),
                model: ModelTransaction::begin(&self.head.graph),
                deadline: options.timeout.map(|timeout| self.clock.now() + timeout),
                is_owners: false,
            }
        });
        let (done, late) = (open.write(write), open.is_late(self.clock.now()));
        self.slots[slot] = Some(open);
        match done {
            Err(error) if late && error.kind() == ErrorKind::Limit => Ok(()),
            // A unique value, a simple edge: the client's own affair.
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(()),
            Err(error) => Err(format!("{write:?}: {error}")),
            Ok(()) => Ok(()),
        }
    }

    fn commit(&mut self, slot: usize) -> Outcome {
        let Some(open) = self.slots[slot].take() else { return Ok(()) };
        let (before, healthy) = (self.published(), self.is_healthy());
        let late = open.is_late(self.clock.now());
        let Open { mut transaction, model, is_owners, .. } = open;
        let notes = if is_owners { self.set_notes(&mut transaction)? } else { self.head.notes.clone() };
        let is_strange = self.is_owned() && !is_owners;
        match transaction.commit() {
            Err(error) if is_strange && error.kind() == ErrorKind::Invalid => self.check_not_owner(&error),
            Ok(_) if is_strange && self.published() > before => {
                Err("a store that follows a source takes another one's commit".to_owned())
            }
            Err(error) if is_owners && error.is_conflict() && !error.to_string().contains("unique") => {
                Err(format!("nobody conflicts with the owner, and yet: {error}"))
            }
            Err(error) if late && self.published() == before => match error.kind() {
                // What it read is looked at first.
                ErrorKind::Limit | ErrorKind::Conflict => Ok(()),
                ErrorKind::Io if !healthy => Ok(()),
                kind => Err(format!("a commit after its deadline is refused as {kind:?}: {error}")),
            },
            _ if late => Err("a transaction that is late was committed".to_owned()),
            Ok(committed) if self.published() > before => {
                let nothing_unique = (LabelId(u16::MAX), KeyId(u16::MAX));
                let effects = model.effects(nothing_unique);
                let graph = model.merge_into(&self.head.graph, &effects, &committed.renamed);
                self.committed(before, graph, notes, committed.timestamp.0)
            }
            Ok(_) => Ok(()),
            Err(error) => self.refused(before, healthy, notes, &error),
        }
    }

    /// Notes the newest commit, which is acknowledged.
    fn committed(&mut self, before: u64, graph: Model, notes: Notes, timestamp: u64) -> Outcome {
        if timestamp != before + 1 || self.published() != timestamp {
            return Err(format!(
                "commit {timestamp} follows {before}, and {} is the newest",
                self.published()
            ));
        }
        self.note(graph, notes, timestamp);
        if self.settings.durability == Durability::Sync {
            self.require(timestamp);
        }
        self.history.commits += 1;
        Ok(())
    }

    /// Puts a state into the history.
    pub fn note(&mut self, graph: Model, notes: Notes, timestamp: u64) {
        self.head = Arc::new(State { graph, notes, catalogue: Some(self.store().catalogue()) });
        let head = Arc::clone(&self.head);
        self.life().states.entry(timestamp).or_default().push(head);
    }

    pub fn life(&mut self) -> &mut Life {
        self.history.lives.last_mut().expect("open")
    }

    /// A commit that was not acknowledged: it may be there if the log failed, and then as it is seen now.
    fn refused(&mut self, before: u64, healthy: bool, notes: Notes, error: &Error) -> Outcome {
        if self.published() > before {
            if self.is_healthy() {
                return Err(FORGOTTEN.to_owned());
            }
            let graph = dump(&self.store().begin(), ROWS);
            let newest = self.published();
            self.note(graph, notes, newest);
            return self.check_clear(error);
        }
        match error.kind() {
            ErrorKind::Conflict => Ok(()),
            _ if healthy => self.check_clear(error),
            ErrorKind::Io => Ok(()),
            kind => Err(format!("a store that failed refuses as {kind:?}: {error}")),
        }
    }

    /// A transaction that learns a name of each kind.
    fn name(&mut self, number: u8) -> Outcome {
        let (before, healthy) = (self.published(), self.is_healthy());
        let (mut transaction, is_owners) = match self.ownership.is_some() {
            true if self.slots.iter().flatten().any(|open| open.is_owners) => return Ok(()),
            true => (self.begin_owned()?.transaction, true),
            false => (self.store().begin(), false),
        };
        let named = transaction
            .label(&format!("label {number}"))
            .and_then(|_| transaction.key(&format!("key {number}")))
            .and_then(|_| transaction.edge_type(&format!("type {number}")));
        named.map_err(|error| format!("name: {error}"))?;
        let notes = if is_owners { self.set_notes(&mut transaction)? } else { self.head.notes.clone() };
        match transaction.commit() {
            Ok(committed) if self.published() > before => {
                self.committed(before, self.head.graph.clone(), notes, committed.timestamp.0)
            }
            Ok(_) => Ok(()),
            Err(error) => self.refused(before, healthy, notes, &error),
        }
    }

    fn create_index(&mut self, which: u8) -> Outcome {
        let (owner, key, kind, unique) = index(which);
        let request = IndexRequest { owner, key, kind, unique };
        self.schema_step(|store| store.create_index(&request, &mut |_| Ok(())).map(drop))
    }

    fn drop_index(&mut self, which: u8) -> Outcome {
        let (owner, key, kind, _) = index(which);
        self.schema_step(|store| store.drop_index(owner, key, Some(kind)).map(drop))
    }

    /// What makes any number of commits that leave the graph as it is.
    fn schema_step(&mut self, step: impl FnOnce(&Store<AnyEngine>) -> Result<(), Error>) -> Outcome {
        let (before, healthy) = (self.published(), self.is_healthy());
        let done = step(self.store());
        let newest = self.published();
        let between = Arc::new(State { catalogue: None, ..State::clone(&self.head) });
        for timestamp in before + 1..newest {
            self.life().states.entry(timestamp).or_default().push(Arc::clone(&between));
        }
        if newest > before {
            self.note(self.head.graph.clone(), self.head.notes.clone(), newest);
        }
        match done {
            Ok(()) => {
                if self.settings.durability == Durability::Sync {
                    self.require(newest);
                }
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound) => Ok(()),
            Err(error) if healthy => self.check_clear(&error),
            Err(_) => Ok(()),
        }
    }

    fn reopen(&mut self, kill: bool) -> Outcome {
        let healthy = self.is_healthy();
        self.slots = [const { None }; SLOTS];
        self.ownership = None;
        for (snapshot, state) in self.snapshots.drain(..) {
            check_snapshot(&snapshot, &state)?;
        }
        let newest = self.published();
        let (store, reader) = (self.store.take().expect("open"), self.reader.take());
        if kill {
            self.directory = self.directory.abandon();
        } else {
            match store.close() {
                Ok(()) => self.require(newest),
                Err(error) if healthy => self.check_clear(&error)?,
                Err(_) => {}
            }
        }
        drop((store, reader));
        if self.directory.forgot() {
            // Until the power is cut, everything looks as if it were there: see the table of promises.
            self.is_over = true;
            return Ok(());
        }
        self.history.fired_at = self.directory.fired_at();
        // The disk as it is read, not as a power cut leaves it: nothing that was written is missing.
        let expected = Expected { may_refuse: false, ..self.history.expected(self.directory.position()) };
        self.open(&expected)
    }

    /// Ends the run: with the disk in order, a store that has not failed takes one more commit.
    pub fn finish(mut self) -> Result<History, String> {
        self.directory.heal();
        if !self.is_over {
            let healthy = self.is_healthy();
            let before = self.published();
            for step in [
                Step::RollBack { slot: 0 },
                Step::Write { slot: 0, write: Write::AddVertex { label: 1, value: 0 } },
                Step::Commit { slot: 0 },
            ] {
                self.step(step)?;
            }
            if healthy && self.published() == before && self.head.graph.vertices.len() < VERTICES_MAX {
                return Err("a healthy store on a healthy disk takes no commit".to_owned());
            }
            self.check_graph()?;
            if self.settings.seed.is_multiple_of(2) {
                self.step(Step::Reopen)?;
            }
        }
        // Nothing is closed: what comes after is no part of the history.
        self.history.fired_at = self.directory.fired_at();
        self.history.trace = self.directory.trace();
        self.history.changes = self.directory.take_changes();
        self.directory.abandon();
        Ok(self.history)
    }
}

/// What a snapshot shows is what it showed when it was taken.
fn check_snapshot(snapshot: &Snapshot<AnyEngine>, state: &State) -> Outcome {
    if dump(snapshot, ROWS) == state.graph && snapshot.notes() == state.notes {
        return Ok(());
    }
    Err("a snapshot changed".to_owned())
}
