//! Random transactions through the front, against the model: own reads after every write, conflicts
//! exactly where the rules say, and snapshots that stay what they were.

use crate::keeps::Keeps;
use crate::model::{Effects, Model, ModelTransaction, Values, dump};
use crate::naive_engine::NaiveEngine;
use crate::test_store::{TestEngine, empty};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::transaction::{NewEdge, Transaction as _};
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::store::Store;
use evergraph_storage::transaction::handle::Transaction;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    AddVertex {
        labelled: bool,
        value: u8,
    },
    DeleteVertex(u8),
    SetVertex(u8, u8, u8),
    AddEdge(u8, u8, u8),
    PutEdge(u8, u8, u8),
    /// Of the type that the first number chooses.
    PutEdges(u8, [(u8, u8, u8); 5]),
    DeleteEdge(u8),
    SetEdge(u8, u8, u8),
    Commit,
    RollBack,
    Snapshot,
    CloseSnapshot(u8),
    Maintain,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<bool>(), any::<u8>()).prop_map(|(labelled, value)| Step::AddVertex { labelled, value }),
        1 => any::<u8>().prop_map(Step::DeleteVertex),
        3 => any::<(u8, u8, u8)>().prop_map(|(v, k, x)| Step::SetVertex(v, k, x)),
        5 => any::<(u8, u8, u8)>().prop_map(|(s, t, kind)| Step::AddEdge(s, t, kind)),
        3 => any::<(u8, u8, u8)>().prop_map(|(s, t, kind)| Step::PutEdge(s, t, kind)),
        2 => any::<(u8, [(u8, u8, u8); 5])>().prop_map(|(kind, edges)| Step::PutEdges(kind, edges)),
        2 => any::<u8>().prop_map(Step::DeleteEdge),
        3 => any::<(u8, u8, u8)>().prop_map(|(e, k, x)| Step::SetEdge(e, k, x)),
        6 => Just(Step::Commit),
        1 => Just(Step::RollBack),
        1 => Just(Step::Snapshot),
        1 => any::<u8>().prop_map(Step::CloseSnapshot),
        1 => Just(Step::Maintain),
    ]
}

/// What the schema of these tests is made of.
struct Names {
    labels: [LabelId; 2],
    keys: [KeyId; 2],
    /// The second is simple.
    types: [TypeId; 2],
}

impl Names {
    /// `keys[0]` is unique among the vertices of `labels[0]`.
    fn unique(&self) -> (LabelId, KeyId) {
        (self.labels[0], self.keys[0])
    }
}

struct Open<E: TestEngine> {
    transaction: Transaction<E>,
    model: ModelTransaction,
    /// How many commits it sees.
    seen: usize,
}

struct World<E: TestEngine> {
    store: Store<E>,
    names: Names,
    head: Model,
    commits: Vec<Effects>,
    slots: [Option<Open<E>>; 3],
    snapshots: Vec<(Snapshot<E>, Model)>,
}

fn prepare_names<E: TestEngine>(store: &Store<E>) -> Names {
    let mut setup = store.begin();
    let labels = ["Person", "Post"].map(|name| setup.label(name).unwrap());
    let keys = ["name", "age"].map(|name| setup.key(name).unwrap());
    let types = [setup.edge_type("KNOWS").unwrap(), setup.declare_simple_type("LIKES").unwrap()];
    setup.commit().unwrap();
    store.create_unique_index("Person", "name").unwrap();
    Names { labels, keys, types }
}

/// A value from so few that transactions meet.
fn small(value: u8) -> Value {
    Value::I64(i64::from(value % 5))
}

fn pick<T: Copy>(items: impl Iterator<Item = T>, at: u8) -> Option<T> {
    let items: Vec<T> = items.collect();
    items.get(usize::from(at) % items.len().max(1)).copied()
}

impl<E: TestEngine> World<E> {
    fn new(kind: E::Kind) -> Self {
        let store = empty::<E>(kind);
        let names = prepare_names(&store);
        let (head, commits) = (Model::default(), Vec::new());
        Self { store, names, head, commits, slots: [None, None, None], snapshots: Vec::new() }
    }

    fn step(&mut self, slot: usize, step: Step) {
        match step {
            Step::Snapshot => self.snapshots.push((self.store.snapshot(), self.head.clone())),
            Step::CloseSnapshot(at) if !self.snapshots.is_empty() => {
                let (snapshot, model) = self.snapshots.swap_remove(usize::from(at) % self.snapshots.len());
                assert_eq!(dump(&snapshot, 3), model);
            }
            Step::CloseSnapshot(_) => {}
            Step::Maintain => {
                self.store.engine().maintain();
                self.store.collect_indexes();
            }
            Step::RollBack => self.slots[slot] = None,
            Step::Commit => self.commit(slot),
            _ => {
                let mut open = self.slots[slot].take().unwrap_or_else(|| Open {
                    transaction: self.store.begin(),
                    model: ModelTransaction::begin(&self.head),
                    seen: self.commits.len(),
                });
                open.write(&self.names, step);
                assert_eq!(dump(&open.transaction, 2), open.model.now, "own writes are read after {step:?}");
                open.check_look_up(&self.names);
                self.slots[slot] = Some(open);
            }
        }
    }

    fn commit(&mut self, slot: usize) {
        let Some(Open { transaction, model, seen }) = self.slots[slot].take() else { return };
        let effects = model.effects(self.names.unique());
        let unseen = &self.commits[seen..];
        let conflict = unseen.iter().any(|other| model.conflicts(&effects, other));
        match transaction.commit() {
            Ok(committed) => {
                assert!(!conflict, "a conflict was overlooked: {effects:?}");
                self.head = model.merge_into(&self.head, &effects, &committed.renamed);
                self.commits.push(effects.renamed(&committed.renamed));
            }
            Err(error) => {
                let is_forgotten =
                    self.store.engine().forgets() && error.to_string().contains("began too long ago");
                assert!((conflict || is_forgotten) && error.is_conflict(), "no conflict: {error}");
            }
        }
        assert_eq!(dump(&self.store.snapshot(), 7), self.head);
    }

    fn finish(mut self) {
        for slot in 0..self.slots.len() {
            self.commit(slot);
        }
        self.store.engine().maintain();
        for (snapshot, model) in &self.snapshots {
            assert_eq!(dump(snapshot, 4), *model, "a snapshot stays what it was");
        }
    }
}

impl<E: TestEngine> Open<E> {
    fn write(&mut self, names: &Names, step: Step) {
        let Self { transaction, model, .. } = self;
        let vertex = |model: &ModelTransaction, at| pick(model.now.vertices.keys().copied(), at);
        let edge = |model: &ModelTransaction, at| pick(model.now.edges.keys().copied(), at);
        let (label, key) = names.unique();
        match step {
            Step::AddVertex { labelled, value } => {
                let chosen = names.labels[usize::from(labelled)];
                let properties: Vec<_> = (value > 50).then(|| (key, small(value))).into_iter().collect();
                let taken = properties
                    .iter()
                    .any(|(_, value)| chosen == label && model.holder(label, key, value).is_some());
                match transaction.add_vertex(chosen, &properties) {
                    Ok(vertex) => {
                        assert!(!taken);
                        model.add_vertex(vertex, chosen, properties.into_iter().collect());
                    }
                    Err(error) => assert!(taken && error.kind() == ErrorKind::Invalid, "{error}"),
                }
            }
            Step::DeleteVertex(at) => {
                let Some(vertex) = vertex(model, at) else { return };
                transaction.delete_vertex(vertex).unwrap();
                model.delete_vertex(vertex);
                assert_eq!(transaction.delete_vertex(vertex).unwrap_err().kind(), ErrorKind::NotFound);
            }
            Step::SetVertex(at, which, value) => {
                let Some(vertex) = vertex(model, at) else { return };
                let chosen = names.keys[usize::from(which % 2)];
                let value = (value > 50).then(|| small(value));
                let holder = value.as_ref().and_then(|value| model.holder(label, key, value));
                let unique = chosen == key && model.now.vertices[&vertex].0 == label;
                let taken = unique && holder.is_some_and(|holder| holder != vertex);
                match transaction.set_vertex_property(vertex, chosen, value.clone()) {
                    Ok(()) => {
                        assert!(!taken);
                        model.set_vertex(vertex, chosen, value);
                    }
                    Err(error) => assert!(taken && error.kind() == ErrorKind::Invalid, "{error}"),
                }
            }
            Step::AddEdge(source, target, kind) | Step::PutEdge(source, target, kind) => {
                let (Some(source), Some(target)) = (vertex(model, source), vertex(model, target)) else {
                    return;
                };
                let edge_type = names.types[usize::from(kind % 2)];
                let properties: Vec<_> =
                    (kind > 100).then(|| (names.keys[1], small(kind))).into_iter().collect();
                let values: Values = properties.iter().cloned().collect();
                let lowest = EdgeId { source, edge_type, target, discriminator: 0 };
                if let Step::PutEdge(..) = step {
                    assert_eq!(transaction.put_edge(source, edge_type, target, &properties).unwrap(), lowest);
                    model.put_edge(lowest, values);
                    return;
                }
                let simple = edge_type == names.types[1];
                match transaction.add_edge(source, edge_type, target, &properties) {
                    Ok(edge) => {
                        assert_eq!(EdgeId { discriminator: 0, ..edge }, lowest);
                        assert!(!simple || edge == lowest);
                        model.add_edge(edge, values, !simple);
                    }
                    Err(error) => {
                        assert!(simple && model.now.edges.contains_key(&lowest), "{error}");
                        assert_eq!(error.kind(), ErrorKind::Invalid);
                    }
                }
            }
            Step::PutEdges(kind, edges) => {
                let edge_type = names.types[usize::from(kind % 2)];
                let edges = edges.iter().filter_map(|(source, target, value)| {
                    let properties: Vec<_> =
                        (*value > 100).then(|| (names.keys[1], small(*value))).into_iter().collect();
                    Some((vertex(model, *source)?, vertex(model, *target)?, properties))
                });
                let edges: Vec<_> = edges.collect();
                let batch: Vec<_> = edges
                    .iter()
                    .map(|(source, target, properties)| NewEdge {
                        source: *source,
                        target: *target,
                        properties,
                    })
                    .collect();
                transaction.put_edges(edge_type, &batch).unwrap();
                for (source, target, properties) in edges {
                    let edge = EdgeId { source, edge_type, target, discriminator: 0 };
                    model.put_edge(edge, properties.into_iter().collect());
                }
            }
            Step::DeleteEdge(at) => {
                let Some(edge) = edge(model, at) else { return };
                transaction.delete_edge(edge).unwrap();
                model.delete_edge(edge);
                assert_eq!(transaction.delete_edge(edge).unwrap_err().kind(), ErrorKind::NotFound);
            }
            Step::SetEdge(at, which, value) => {
                let Some(edge) = edge(model, at) else { return };
                let (key, value) = (names.keys[usize::from(which % 2)], (value > 50).then(|| small(value)));
                transaction.set_edge_property(edge, key, value.clone()).unwrap();
                model.set_edge(edge, key, value);
            }
            _ => unreachable!("{step:?} is no write"),
        }
    }

    fn check_look_up(&self, names: &Names) {
        let (label, key) = names.unique();
        let values: Vec<Value> = (0..6).map(Value::I64).collect();
        let mut found: Vec<Option<VertexId>> = Vec::new();
        self.transaction.look_up(label, key, &values, &mut found).unwrap();
        let holders: Vec<_> = values.iter().map(|value| self.model.holder(label, key, value)).collect();
        assert_eq!(found, holders);
    }
}

fn run<E: TestEngine>(kind: E::Kind, steps: Vec<(usize, Step)>) {
    let mut world = World::<E>::new(kind);
    for (slot, step) in steps {
        world.step(slot, step);
    }
    world.finish();
}

fn any_program() -> impl Strategy<Value = Vec<(usize, Step)>> {
    proptest::collection::vec((0usize..3, any_step()), 1..80)
}

proptest! {
    #[test]
    fn random_transactions_do_what_the_model_does(program in any_program()) {
        run::<NaiveEngine>(Keeps::NoIndexes, program);
    }

    #[test]
    fn random_transactions_on_the_memory_engine_do_what_the_model_does(program in any_program()) {
        run::<AnyEngine>(EngineKind::Memory, program);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn random_transactions_on_the_disk_engine_do_what_the_model_does(program in any_program()) {
        run::<AnyEngine>(EngineKind::Disk, program);
    }

    #[test]
    fn random_transactions_on_the_mapped_engine_do_what_the_model_does(program in any_program()) {
        run::<AnyEngine>(EngineKind::Mapped, program);
    }
}
