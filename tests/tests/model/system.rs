//! System: a database on files in memory that takes the reference's steps and is compared with it
//! after each: every open snapshot, every open transaction, and the newest commit.
//!
//! Beside the mapped engine a reader has the database open as another process would: it sees the newest commit after each step, holds
//! the snapshots that are open here, goes on with the next writer after a reopening, and ends when the power fails.
//!
//! It runs in mode sync, so that a power cut may lose nothing that was committed.

use crate::graph::{Edge, Graph, Key, Label, Values};
use crate::reference::{BURST, Reference, Step};
use evergraph::engines::engine::AnyEngine;
use evergraph::engines::reader::{OpenReader, open_reader};
use evergraph::graph::id::{KeyId, LabelId, TypeId};
use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::memory::MemoryDirectory;
use evergraph::storage::open::{OpenOptions, OpenStore};
use evergraph::storage::store::Store;
use evergraph::transaction::TransactionById;
use evergraph::{EdgeId, EngineKind, GraphView, Snapshot, Value, VertexId};
use evergraph_tests::contents::{self, Contents};
use evergraph_tests::store::{assert_healthy, checkpoint, crash, open_synced};
use proptest::prelude::*;
use proptest_state_machine::{StateMachineTest, prop_state_machine};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What the model's labels, keys and types are in the database.
struct Names {
    labels: BTreeMap<Label, LabelId>,
    keys: BTreeMap<Key, KeyId>,
    knows: TypeId,
    likes: TypeId,
}

/// A transaction, its writes, and the parallel edges that it added: they may get other ids at commit.
struct Open {
    transaction: TransactionById,
    writes: Vec<Step>,
    added: Vec<u32>,
}

impl Open {
    fn begin(store: &Store<AnyEngine>) -> Self {
        Self { transaction: store.begin(), writes: Vec::new(), added: Vec::new() }
    }
}

pub struct System {
    engine: EngineKind,
    directory: MemoryDirectory,
    /// `None` only between closing and opening.
    open: Option<OpenStore<AnyEngine>>,
    names: Names,
    vertices: BTreeMap<u32, VertexId>,
    /// The ids of parallel edges, by number.
    edges: BTreeMap<u32, EdgeId>,
    slots: [Option<Open>; 3],
    snapshots: BTreeMap<u32, Snapshot>,
    /// With the mapped engine.
    reader: Option<OpenReader>,
    snapshots_of_reader: BTreeMap<u32, Snapshot>,
}

/// What a commit says that must run again since the records of its time are gone.
const FORGOTTEN: &str = "began too long ago";

fn number(value: u8) -> Value {
    Value::I64(i64::from(value))
}

impl System {
    fn new(engine: EngineKind) -> Self {
        let directory = MemoryDirectory::new("db");
        let open = open_synced(engine, &directory).unwrap();
        open.store().create_unique_index("Person", "name").unwrap();
        let mut setup = open.store().begin();
        let labels = [(Label::Person, "Person"), (Label::Post, "Post")];
        let keys = [(Key::Name, "name"), (Key::Age, "age")];
        let names = Names {
            labels: labels.into_iter().map(|(label, name)| (label, setup.label(name).unwrap())).collect(),
            keys: keys.into_iter().map(|(key, name)| (key, setup.key(name).unwrap())).collect(),
            knows: setup.edge_type("KNOWS").unwrap(),
            likes: setup.declare_simple_type("LIKES").unwrap(),
        };
        setup.commit().unwrap();
        let mut system = Self {
            engine,
            directory,
            open: Some(open),
            names,
            vertices: BTreeMap::new(),
            edges: BTreeMap::new(),
            slots: Default::default(),
            snapshots: BTreeMap::new(),
            reader: None,
            snapshots_of_reader: BTreeMap::new(),
        };
        system.open_reader();
        system
    }

    /// Opens the database to read it beside its writer, where there can be readers and none is there.
    fn open_reader(&mut self) {
        if self.engine == EngineKind::Mapped && self.reader.is_none() {
            let reader = open_reader(Arc::new(self.directory.clone()), &OpenOptions::default());
            self.reader = Some(reader.unwrap());
        }
    }

    fn open(&self) -> &OpenStore<AnyEngine> {
        self.open.as_ref().expect("open between steps")
    }

    fn store(&self) -> &Store<AnyEngine> {
        self.open().store()
    }

    fn edge(&self, edge: Edge) -> EdgeId {
        let [source, target] = edge.ends().map(|end| self.vertices[&end]);
        match edge {
            Edge::Parallel { number, .. } => self.edges[&number],
            Edge::Simple { .. } => EdgeId { source, edge_type: self.names.likes, target, discriminator: 0 },
        }
    }

    fn properties(&self, key: Key, value: Option<u8>) -> Vec<(KeyId, Value)> {
        value.map(|value| (self.names.keys[&key], number(value))).into_iter().collect()
    }

    /// Runs `step` in the transaction of its slot.
    fn write(&mut self, slot: usize, step: &Step) {
        let mut open = self.slots[slot].take().expect("the reference has it open");
        let transaction = &mut open.transaction;
        match *step {
            Step::AddVertex { vertex, label, name, .. } => {
                let (label, properties) = (self.names.labels[&label], self.properties(Key::Name, name));
                let id = transaction.add_vertex(label, &properties).unwrap();
                assert!(self.vertices.insert(vertex, id).is_none());
            }
            Step::SetVertex { vertex, key, value, .. } => {
                let (vertex, key) = (self.vertices[&vertex], self.names.keys[&key]);
                transaction.set_vertex_property(vertex, key, value.map(number)).unwrap();
            }
            Step::DeleteVertex { vertex, .. } => transaction.delete_vertex(self.vertices[&vertex]).unwrap(),
            Step::AddEdge { edge: Edge::Parallel { source, target, number }, age, .. } => {
                let properties = self.properties(Key::Age, age);
                let (source, target) = (self.vertices[&source], self.vertices[&target]);
                let id = transaction.add_edge(source, self.names.knows, target, &properties).unwrap();
                self.edges.insert(number, id);
                open.added.push(number);
            }
            Step::AddEdge { edge: Edge::Simple { source, target }, age, .. } => {
                let properties = self.properties(Key::Age, age);
                let (source, target) = (self.vertices[&source], self.vertices[&target]);
                transaction.add_edge(source, self.names.likes, target, &properties).unwrap();
            }
            Step::AddEdges { source, target, first, .. } => {
                let (source, target) = (self.vertices[&source], self.vertices[&target]);
                for number in first..first + BURST {
                    let id = transaction.add_edge(source, self.names.knows, target, &[]).unwrap();
                    self.edges.insert(number, id);
                    open.added.push(number);
                }
            }
            Step::PutEdge { source, target, age, .. } => {
                let properties = self.properties(Key::Age, age);
                let (source, target) = (self.vertices[&source], self.vertices[&target]);
                transaction.put_edge(source, self.names.likes, target, &properties).unwrap();
            }
            Step::SetEdge { edge, key, value, .. } => {
                let (edge, key) = (self.edge(edge), self.names.keys[&key]);
                transaction.set_edge_property(edge, key, value.map(number)).unwrap();
            }
            Step::DeleteEdge { edge, .. } => transaction.delete_edge(self.edge(edge)).unwrap(),
            _ => unreachable!("{step:?} is no write"),
        }
        open.writes.push(step.clone());
        self.slots[slot] = Some(open);
    }

    fn commit(&mut self, slot: usize, accepted: bool) {
        let Open { transaction, writes, added } = self.slots[slot].take().expect("the reference has it open");
        match transaction.commit() {
            Ok(committed) => {
                assert!(accepted, "a conflict was overlooked");
                for number in added {
                    let id = self.edges.get_mut(&number).expect("added edges have ids");
                    if let Some((_, to)) = committed.renamed.iter().find(|(from, _)| from == id) {
                        *id = *to;
                    }
                }
            }
            // A flush of the disk engine's own may drop what shows that there was no conflict.
            Err(error)
                if accepted && self.engine == EngineKind::Disk && error.to_string().contains(FORGOTTEN) =>
            {
                self.slots[slot] = Some(Open::begin(self.store()));
                for step in writes {
                    if let Step::AddVertex { vertex, .. } = step {
                        self.vertices.remove(&vertex);
                    }
                    self.write(slot, &step);
                }
                self.commit(slot, accepted);
            }
            Err(error) => assert!(error.is_conflict() && !accepted, "{error}"),
        }
    }

    /// Goes on with what `found` holds.
    fn restart(&mut self, found: MemoryDirectory) {
        self.slots = Default::default();
        self.snapshots.clear();
        self.snapshots_of_reader.clear();
        self.open = None;
        self.directory = found;
        let open = open_synced(self.engine, &self.directory)
            .unwrap_or_else(|error| panic!("after a restart: {error}"));
        assert!(!open.recovery().created, "the database was there");
        assert_healthy(&open);
        self.open = Some(open);
        self.open_reader();
    }

    /// Goes on with what a power cut left. No reader outlives it.
    fn restart_without_reader(&mut self, found: MemoryDirectory) {
        self.snapshots_of_reader.clear();
        self.reader = None;
        self.restart(found);
    }

    fn expected(&self, graph: &Graph) -> Contents {
        let values = |values: &Values| -> contents::Values {
            values.iter().map(|(key, value)| (self.names.keys[key], number(*value))).collect()
        };
        let vertices = graph
            .vertices
            .iter()
            .map(|(vertex, (label, own))| (self.vertices[vertex], (self.names.labels[label], values(own))));
        let edges = graph.edges.iter().map(|(edge, own)| (self.edge(*edge), values(own)));
        Contents { vertices: vertices.collect(), edges: edges.collect() }
    }

    fn compare<V: GraphView>(&self, view: &V, graph: &Graph, what: &str) {
        let (found, expected) = (Contents::of(view, 7), self.expected(graph));
        assert!(found == expected, "{what} shows\n{found:?}\nand not\n{expected:?}");
    }
}

impl System {
    fn apply(&mut self, reference: &Reference, step: Step) {
        let system = self;
        match step {
            Step::Begin(slot) => {
                system.slots[slot] = Some(Open::begin(system.store()));
            }
            Step::AddVertex { slot, .. }
            | Step::SetVertex { slot, .. }
            | Step::DeleteVertex { slot, .. }
            | Step::AddEdge { slot, .. }
            | Step::AddEdges { slot, .. }
            | Step::PutEdge { slot, .. }
            | Step::SetEdge { slot, .. }
            | Step::DeleteEdge { slot, .. } => system.write(slot, &step),
            Step::Commit(slot) => system.commit(slot, reference.accepted),
            Step::RollBack(slot) => system.slots[slot] = None,
            Step::OpenSnapshot(number) => {
                let snapshot = system.store().snapshot();
                system.snapshots.insert(number, snapshot);
                if let Some(reader) = &system.reader {
                    system.snapshots_of_reader.insert(number, reader.store().snapshot());
                }
            }
            Step::CloseSnapshot(number) => {
                system.snapshots.remove(&number);
                system.snapshots_of_reader.remove(&number);
            }
            Step::Merge => system.store().engine().merge_everything(),
            Step::CollectIndexes => system.store().collect_indexes(),
            Step::Checkpoint => {
                checkpoint(system.open()).unwrap();
            }
            Step::Reopen => {
                system.slots = Default::default();
                system.snapshots.clear();
                system.open().close().unwrap();
                let directory = system.directory.clone();
                system.restart(directory);
            }
            Step::CutPower { seed } => {
                let found = crash(&system.directory, seed);
                system.restart_without_reader(found);
            }
            Step::CutPowerInCheckpoint { groups, seed } => {
                let mut found = None;
                let made = system.open().checkpoint(&mut |progress| {
                    if progress.groups_done >= groups && found.is_none() {
                        found = Some(crash(&system.directory, seed));
                    }
                    ControlFlow::Continue(())
                });
                made.unwrap();
                let found = found.unwrap_or_else(|| crash(&system.directory, seed));
                system.restart_without_reader(found);
            }
        }
    }

    fn check(&self, reference: &Reference) {
        let system = self;
        let newest = system.store().snapshot();
        system.compare(&newest, &reference.head, "the newest snapshot");
        system.expected(&reference.head).check_frozen(&newest);
        for (number, snapshot) in &system.snapshots {
            system.compare(snapshot, &reference.snapshots[number], "an older snapshot");
            system.expected(&reference.snapshots[number]).check_frozen(snapshot);
        }
        if let Some(reader) = &system.reader {
            let seen = reader.store().snapshot();
            assert_eq!(seen.timestamp(), newest.timestamp(), "a reader does not see the newest commit");
            system.compare(&seen, &reference.head, "a reader");
        }
        // The one that keeps most; each takes as long as what it is compared beside.
        if let Some((number, snapshot)) = system.snapshots_of_reader.first_key_value() {
            system.compare(snapshot, &reference.snapshots[number], "an older snapshot of a reader");
            system.expected(&reference.snapshots[number]).check_frozen(snapshot);
        }
        for (open, model) in system.slots.iter().zip(&reference.slots) {
            assert_eq!(open.is_some(), model.is_some());
            if let (Some(open), Some(model)) = (open, model) {
                system.compare(&open.transaction, &model.now, "a transaction");
            }
        }
    }
}

/// A system with the memory engine.
struct InMemory;
/// One with the disk engine: a merge is a flush, and the compactions that are due.
struct OnDisk;
/// One with the mapped engine.
struct InMappedFiles;

impl StateMachineTest for InMemory {
    type SystemUnderTest = System;
    type Reference = Reference;

    fn init_test(_: &Reference) -> System {
        System::new(EngineKind::Memory)
    }

    fn apply(mut system: System, reference: &Reference, step: Step) -> System {
        system.apply(reference, step);
        system
    }

    fn check_invariants(system: &System, reference: &Reference) {
        system.check(reference);
    }
}

impl StateMachineTest for OnDisk {
    type SystemUnderTest = System;
    type Reference = Reference;

    fn init_test(_: &Reference) -> System {
        System::new(EngineKind::Disk)
    }

    fn apply(mut system: System, reference: &Reference, step: Step) -> System {
        system.apply(reference, step);
        system
    }

    fn check_invariants(system: &System, reference: &Reference) {
        system.check(reference);
    }
}

impl StateMachineTest for InMappedFiles {
    type SystemUnderTest = System;
    type Reference = Reference;

    fn init_test(_: &Reference) -> System {
        System::new(EngineKind::Mapped)
    }

    fn apply(mut system: System, reference: &Reference, step: Step) -> System {
        system.apply(reference, step);
        system
    }

    fn check_invariants(system: &System, reference: &Reference) {
        system.check(reference);
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn a_database_and_a_naive_graph_stay_alike(sequential 1..100 => InMemory);
}

prop_state_machine! {
    // Fewer, for time: more of them run below this (`tests/tests/front`).
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn a_database_on_disk_and_a_naive_graph_stay_alike(sequential 1..100 => OnDisk);

    #[test]
    fn a_database_in_mapped_files_and_a_naive_graph_stay_alike(sequential 1..100 => InMappedFiles);
}
