//! Indexes of all kinds, on vertices and edges, beside random transactions: created, dropped, built while
//! others commit, asked by snapshots of all ages and inside transactions; always what a scan says.

use crate::keeps::Keeps;
use crate::naive_engine::NaiveEngine;
use crate::oracle::{check_indexes, contents, some_ranges};
use crate::test_store::{TestEngine, empty};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind, IndexState};
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::transaction::{NewEdge, Transaction as _};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{EdgeCursor, GraphView, VertexCursor};
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::store::Store;
use evergraph_storage::transaction::handle::Transaction;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    AddVertex(u8),
    SetVertex(u8, bool, u8),
    DeleteVertex(u8),
    AddEdge(u8, u8, u8),
    PutEdge(u8, u8, u8),
    PutEdges([(u8, u8, u8); 4]),
    SetEdge(u8, bool, u8),
    DeleteEdge(u8),
    Commit,
    RollBack,
    Snapshot,
    CloseSnapshot(u8),
    Maintain,
    Create(Wanted, Vec<(usize, Step)>),
    Drop(Wanted),
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    edges: bool,
    age: bool,
    kind: IndexKind,
    unique: bool,
}

impl Wanted {
    fn request(&self) -> IndexRequest<'static> {
        let owner = if self.edges { OwnerName::EdgeType("KNOWS") } else { OwnerName::Label("Person") };
        let key = if self.age { "age" } else { "name" };
        IndexRequest { owner, key, kind: self.kind, unique: self.unique }
    }

    fn definition(&self, names: &Names) -> IndexDefinition {
        let owner = if self.edges { Owner::EdgeType(names.edge_type) } else { Owner::Label(names.labels[0]) };
        let id = IndexId { owner, key: names.keys[usize::from(self.age)], kind: self.kind };
        IndexDefinition { id, unique: self.unique }
    }
}

fn any_wanted() -> impl Strategy<Value = Wanted> {
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(edges, age, ordered, unique)| {
        let kind = if ordered { IndexKind::Ordered } else { IndexKind::Hash };
        Wanted { edges, age, kind, unique }
    })
}

fn any_write() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => any::<u8>().prop_map(Step::AddVertex),
        4 => any::<(u8, bool, u8)>().prop_map(|(v, k, x)| Step::SetVertex(v, k, x)),
        1 => any::<u8>().prop_map(Step::DeleteVertex),
        4 => any::<(u8, u8, u8)>().prop_map(|(s, t, x)| Step::AddEdge(s, t, x)),
        2 => any::<(u8, u8, u8)>().prop_map(|(s, t, x)| Step::PutEdge(s, t, x)),
        1 => any::<[(u8, u8, u8); 4]>().prop_map(Step::PutEdges),
        4 => any::<(u8, bool, u8)>().prop_map(|(e, k, x)| Step::SetEdge(e, k, x)),
        1 => any::<u8>().prop_map(Step::DeleteEdge),
        6 => Just(Step::Commit),
        1 => Just(Step::RollBack),
        1 => Just(Step::Snapshot),
        1 => any::<u8>().prop_map(Step::CloseSnapshot),
        2 => Just(Step::Maintain),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let during = proptest::collection::vec((0usize..2, any_write()), 0..12);
    prop_oneof![
        20 => any_write(),
        2 => (any_wanted(), during).prop_map(|(wanted, during)| Step::Create(wanted, during)),
        1 => any_wanted().prop_map(Step::Drop),
    ]
}

/// A number in some width, or a short text; few, so that they meet.
fn any_age(at: u8) -> Value {
    match at % 9 {
        0 => Value::I32(1),
        1 => Value::I64(1),
        2 => Value::F64(1.5),
        3 => Value::I64(2),
        4 => Value::I8(3),
        5 => Value::from("a"),
        6 => Value::from("ab"),
        7 => Value::from("b"),
        _ => Value::I64(4),
    }
}

fn asked() -> Vec<Value> {
    (0..9).map(any_age).chain([Value::I64(99)]).collect()
}

fn name(at: u8) -> Value {
    Value::from(["a", "ab", "aba", "b", "ba", "", "z\u{10ffff}"][usize::from(at % 7)])
}

#[derive(Clone, Copy)]
struct Names {
    labels: [LabelId; 2],
    keys: [KeyId; 2],
    edge_type: TypeId,
}

impl Names {
    fn value(&self, age: bool, at: u8) -> Option<Value> {
        (at > 30).then(|| if age { any_age(at) } else { name(at) })
    }

    fn both(&self, at: u8) -> Vec<(KeyId, Value)> {
        let one = |age: bool, at: u8| Some((self.keys[usize::from(age)], self.value(age, at)?));
        [one(false, at), one(true, at.wrapping_mul(37))].into_iter().flatten().collect()
    }
}

struct World<E: TestEngine> {
    store: Store<E>,
    names: Names,
    slots: [Option<Transaction<E>>; 2],
    snapshots: Vec<Snapshot<E>>,
}

/// A refusal that uniqueness or a rival explains.
pub fn explained<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(error.is_conflict() || error.to_string().contains("is unique, and "), "{error}");
            None
        }
    }
}

fn pick<T: Copy>(items: &[T], at: u8) -> Option<T> {
    items.get(usize::from(at) % items.len().max(1)).copied()
}

fn vertices<G: GraphView>(view: &G) -> Vec<VertexId> {
    let (mut cursor, mut found) = (VertexCursor::default(), Vec::new());
    view.scan_vertices(None, &mut cursor, usize::MAX, &mut found).unwrap();
    found
}

fn edges<G: GraphView>(view: &G) -> Vec<EdgeId> {
    let (mut cursor, mut found) = (EdgeCursor::default(), Vec::new());
    while !cursor.done {
        view.scan_edges(None, &mut cursor, 2, &mut found).unwrap();
    }
    found
}

impl<E: TestEngine> World<E> {
    fn new(kind: E::Kind) -> Self {
        let store = empty::<E>(kind);
        let mut setup = store.begin();
        let labels = ["Person", "Post"].map(|name| setup.label(name).unwrap());
        let keys = ["name", "age"].map(|name| setup.key(name).unwrap());
        let edge_type = setup.edge_type("KNOWS").unwrap();
        for label in labels {
            setup.declare_vertex_property(label, keys[1], ValueType::Any).unwrap();
        }
        setup.declare_edge_property(edge_type, keys[1], ValueType::Any).unwrap();
        setup.commit().unwrap();
        let names = Names { labels, keys, edge_type };
        Self { store, names, slots: [None, None], snapshots: Vec::new() }
    }

    fn step(&mut self, slot: usize, step: &Step) {
        match step {
            Step::Commit => drop(self.slots[slot].take().map(|open| explained(open.commit()))),
            Step::RollBack => self.slots[slot] = None,
            Step::Snapshot => self.snapshots.push(self.store.snapshot()),
            Step::CloseSnapshot(at) => {
                if !self.snapshots.is_empty() {
                    self.snapshots.swap_remove(usize::from(*at) % self.snapshots.len());
                }
            }
            Step::Maintain => {
                self.store.engine().maintain();
                self.store.collect_indexes();
            }
            Step::Create(wanted, during) => self.create(*wanted, during),
            Step::Drop(wanted) => {
                let request = wanted.request();
                let known = self.store.catalogue().index(wanted.definition(&self.names).id);
                match self.store.drop_index(request.owner, request.key, Some(request.kind)) {
                    Ok(dropped) => assert_eq!(Some(dropped), known),
                    Err(error) => assert_eq!((error.kind(), known), (ErrorKind::NotFound, None)),
                }
            }
            write => {
                let mut open = self.slots[slot].take().unwrap_or_else(|| self.store.begin());
                self.write(&mut open, write);
                check_indexes(&open, &asked(), &[ValueRange::ALL, ValueRange::prefix("a")], 2);
                self.slots[slot] = Some(open);
            }
        }
    }

    /// Builds an index, with steps of transactions between its parts.
    fn create(&mut self, wanted: Wanted, during: &[(usize, Step)]) {
        let definition = wanted.definition(&self.names);
        let known = self.store.catalogue().index(definition.id);
        let store = self.store.clone();
        let mut steps = during.iter();
        let made = store.create_index(&wanted.request(), &mut |progress| {
            let share = during.len() / (progress.groups_count as usize + 1) + 1;
            steps.by_ref().take(share).for_each(|(slot, step)| self.step(*slot, step));
            Ok(())
        });
        let now = self.store.catalogue().index(definition.id);
        match made {
            Ok(new) => assert_eq!((new, now), (known.is_none(), Some(definition))),
            Err(error) if known.is_some() => {
                assert_eq!((error.kind(), now), (ErrorKind::Invalid, known), "{error}");
            }
            Err(error) => {
                assert!(wanted.unique && error.to_string().contains("can't be unique: "), "{error}");
                assert_eq!(now, None, "nothing is left of it");
                assert!(self.store.indexes().iter().all(|index| index.definition.id != definition.id));
            }
        }
    }

    fn write(&self, open: &mut Transaction<E>, step: &Step) {
        let names = &self.names;
        match *step {
            Step::AddVertex(at) => {
                explained(open.add_vertex(names.labels[usize::from(at % 5 == 0)], &names.both(at)));
            }
            Step::SetVertex(at, age, value) => {
                let Some(vertex) = pick(&vertices(open), at) else { return };
                let key = names.keys[usize::from(age)];
                explained(open.set_vertex_property(vertex, key, names.value(age, value)));
            }
            Step::DeleteVertex(at) => {
                let Some(vertex) = pick(&vertices(open), at) else { return };
                open.delete_vertex(vertex).unwrap();
            }
            Step::AddEdge(source, target, at) | Step::PutEdge(source, target, at) => {
                let all = vertices(open);
                let (Some(source), Some(target)) = (pick(&all, source), pick(&all, target)) else { return };
                let (edge_type, properties) = (names.edge_type, names.both(at));
                explained(match step {
                    Step::AddEdge(..) => open.add_edge(source, edge_type, target, &properties),
                    _ => open.put_edge(source, edge_type, target, &properties),
                });
            }
            Step::PutEdges(list) => {
                let all = vertices(open);
                let list: Vec<_> = list
                    .iter()
                    .filter_map(|(source, target, at)| {
                        Some((pick(&all, *source)?, pick(&all, *target)?, names.both(*at)))
                    })
                    .collect();
                let batch: Vec<_> = list
                    .iter()
                    .map(|(source, target, properties)| NewEdge {
                        source: *source,
                        target: *target,
                        properties,
                    })
                    .collect();
                explained(open.put_edges(names.edge_type, &batch));
            }
            Step::SetEdge(at, age, value) => {
                let Some(edge) = pick(&edges(open), at) else { return };
                let key = names.keys[usize::from(age)];
                explained(open.set_edge_property(edge, key, names.value(age, value)));
            }
            Step::DeleteEdge(at) => {
                let Some(edge) = pick(&edges(open), at) else { return };
                open.delete_edge(edge).unwrap();
            }
            _ => unreachable!("{step:?} is no write"),
        }
    }

    fn check(&self) {
        let newest = self.store.snapshot();
        for view in self.snapshots.iter().chain([&newest]) {
            check_indexes(view, &asked(), &some_ranges(), 3);
        }
        for index in self.store.catalogue().indexes().filter(|index| index.unique) {
            assert!(!contents(&newest, &index).1, "a value is there twice in {index:?}");
        }
    }

    /// With nobody looking, an index has what a scan finds, and nothing else.
    fn finish(mut self) {
        self.slots = [None, None];
        self.snapshots.clear();
        self.store.collect_indexes();
        self.check();
        let newest = self.store.snapshot();
        for index in self.store.indexes() {
            if self.store.engine().keeps_index(index.definition.id) {
                continue;
            }
            let wanted = contents(&newest, &index.definition).0 as u64;
            assert_eq!(
                (index.entries, index.leaving, index.state),
                (wanted, 0, IndexState::Ready),
                "{index:?}"
            );
        }
    }
}

fn run<E: TestEngine>(kind: E::Kind, steps: &[(usize, Step)]) {
    let mut world = World::<E>::new(kind);
    for (slot, step) in steps {
        world.step(*slot, step);
        world.check();
    }
    world.finish();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn indexes_say_what_a_scan_says(program in proptest::collection::vec((0usize..2, any_step()), 1..60)) {
        run::<NaiveEngine>(Keeps::NoIndexes, &program);
    }

    #[test]
    fn indexes_that_the_engine_keeps_say_what_a_scan_says(
        program in proptest::collection::vec((0usize..2, any_step()), 1..60),
    ) {
        run::<NaiveEngine>(Keeps::Indexes, &program);
    }

    #[test]
    fn indexes_on_the_memory_engine_say_what_a_scan_says(
        program in proptest::collection::vec((0usize..2, any_step()), 1..60),
    ) {
        run::<AnyEngine>(EngineKind::Memory, &program);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn indexes_on_the_disk_engine_say_what_a_scan_says(
        program in proptest::collection::vec((0usize..2, any_step()), 1..60),
    ) {
        run::<AnyEngine>(EngineKind::Disk, &program);
    }

    #[test]
    fn indexes_on_the_mapped_engine_say_what_a_scan_says(
        program in proptest::collection::vec((0usize..2, any_step()), 1..60),
    ) {
        run::<AnyEngine>(EngineKind::Mapped, &program);
    }
}
