//! The newest edges of a vertex against a model that sorts: short and long lists, own writes, old
//! snapshots, merges, declared from the start, later, or never, with an index and without.

use crate::keeps::Keeps;
use crate::naive_engine::NaiveEngine;
use crate::test_store::{TestEngine, empty, on_every_engine, options};
use evergraph_bodies::edge_body::HUB_DEGREE;
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::column::Column;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::index::{IndexId, IndexKind};
use evergraph_graph::look_up::{OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::newest::NewestEdges;
use evergraph_graph::transaction::{Isolation, Transaction as _};
use evergraph_graph::value::datetime::DateTime;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use evergraph_storage::engine::Engine;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::store::Store;
use evergraph_storage::transaction::handle::Transaction;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Vertices that edges start at, and all that there are: enough for lists that are kept sorted by value.
const SOURCES: u32 = 2;
const VERTICES: u32 = 150;

/// Every edge, and its value.
type Model = BTreeMap<EdgeId, Option<Value>>;

#[derive(Clone, Copy, Debug)]
struct Names {
    edge_type: TypeId,
    /// What edges are ordered by, once that was declared.
    at: KeyId,
    other: KeyId,
    /// A property of every edge: the number of its target.
    target: KeyId,
    value_type: ValueType,
}

impl Names {
    fn value(&self, number: u32) -> Value {
        let number = i64::from(number % 90);
        match self.value_type {
            ValueType::I64 => Value::I64(number - 40),
            // Some share their moment and differ in their offset.
            _ => DateTime::new(number / 3, 0, (number % 3) as i32).unwrap().into(),
        }
    }
}

fn prepare<E: Engine>(store: &Store<E>, value_type: ValueType) -> Names {
    let mut setup = store.begin();
    let node = setup.label("Node").unwrap();
    let edge_type = setup.edge_type("SENT").unwrap();
    let [at, other, target] = ["at", "other", "target"].map(|name| setup.key(name).unwrap());
    setup.declare_edge_property(edge_type, at, value_type).unwrap();
    (0..VERTICES).for_each(|number| assert_eq!(setup.add_vertex(node, &[]).unwrap(), VertexId(number)));
    setup.commit().unwrap();
    Names { edge_type, at, other, target, value_type }
}

fn declare<E: Engine>(store: &Store<E>, names: &Names) {
    store.transact(|transaction| transaction.declare_newest_first(names.edge_type, names.at)).unwrap();
}

const OWNER: OwnerName<'static> = OwnerName::EdgeType("SENT");

/// Whether there is an index then: an engine whose lists have the order themselves is only told to keep it.
fn index<E: Engine>(store: &Store<E>) -> bool {
    let request = IndexRequest { owner: OWNER, key: "at", kind: IndexKind::Newest, unique: false };
    store.create_index(&request, &mut |_| Ok(())).unwrap();
    assert!(
        store
            .catalogue()
            .edge_type("SENT")
            .is_some_and(|sent| store.catalogue().newest_first(sent).is_some())
    );
    !store.indexes().is_empty()
}

fn wanted(model: &Model, asked: &NewestEdges) -> Vec<(Value, EdgeId)> {
    let edges = model.iter().filter(|(edge, _)| edge.source == asked.source);
    let with = edges.filter_map(|(edge, value)| Some((value.clone()?, *edge)));
    let mut found: Vec<_> = with.filter(|(value, _)| asked.range.contains(value)).collect();
    found.sort_by(|one, other| other.cmp(one));
    found
}

/// At most `limit` edges, `page` of them at once; with their properties they are the same.
fn pages(
    view: &impl GraphView,
    names: &Names,
    asked: &NewestEdges,
    page: usize,
    limit: usize,
) -> Vec<(Value, EdgeId)> {
    let (mut cursor, mut found) = (RangeCursor::default(), OrderedMatches::default());
    let (mut with_cursor, mut with) = (RangeCursor::default(), OrderedMatches::default());
    let (keys, types) = ([names.target, names.at], [ValueType::I64, ValueType::Any]);
    let mut columns = types.map(Column::new);
    while !cursor.done && found.items.len() < limit {
        let before = found.items.len();
        let room = page.min(limit - before);
        view.newest(asked, &mut cursor, room, &mut found).unwrap();
        view.newest_with_properties(asked, &mut with_cursor, room, &mut with, &keys, &mut columns).unwrap();
        assert_eq!(with_cursor, cursor);
        assert!(found.items.len() - before <= room);
        assert_eq!(found.values.len(), found.items.len());
    }
    assert_eq!(with, found);
    for (row, (value, edge)) in found.values.iter().zip(&found.items).enumerate() {
        let target = Some(Value::I64(edge.target.0.into()));
        let stamp = (asked.key == names.at).then(|| value.clone());
        let [carried, own] = [0, 1].map(|column: usize| columns[column].get(row));
        assert_eq!(carried, target);
        assert!(stamp.is_none() || own == stamp, "{own:?}, not {stamp:?}");
    }
    found.values.into_iter().zip(found.items).collect()
}

fn check(view: &impl GraphView, model: &Model, names: &Names, random: u32) {
    for source in 0..=SOURCES {
        let [from, to] = [random / 7, random / 11].map(|number| names.value(number));
        let (from, to) = match random % 5 {
            0 => (Bound::Unbounded, Bound::Unbounded),
            1 => (Bound::Included(from), Bound::Unbounded),
            2 => (Bound::Unbounded, Bound::Included(to)),
            3 => (Bound::Excluded(from), Bound::Excluded(to)),
            _ => (Bound::Included(from), Bound::Included(to)),
        };
        let asked = NewestEdges::new(VertexId(source), names.edge_type, names.at);
        let asked = asked.within(ValueRange::new(from, to));
        let wanted = wanted(model, &asked);
        let limit = (random / 13) as usize % 30;
        assert_eq!(
            pages(view, names, &asked, usize::MAX, limit),
            wanted[..limit.min(wanted.len())],
            "{asked:?}"
        );
        // Without an order each page sorts the list.
        let page = 1 + random as usize % 40 + wanted.len() / 6;
        assert_eq!(pages(view, names, &asked, page, usize::MAX), wanted, "{asked:?}");
        let (mut cursor, mut found) = (RangeCursor::default(), OrderedMatches::default());
        let mut nothing = [Column::new(ValueType::I64)];
        view.newest_with_properties(&asked, &mut cursor, 7, &mut found, &[names.other], &mut nothing)
            .unwrap();
        assert!((0..found.items.len()).all(|row| nothing[0].get(row).is_none()));
        assert_eq!(nothing[0].len(), found.items.len());
        let unset = NewestEdges { key: names.other, ..asked };
        assert!(pages(view, names, &unset, 5, 5).is_empty());
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many edges at once.
    Add(u8, u8, u32),
    Put(u8, u8, u32),
    Set(u8, u32),
    Unset(u8),
    Delete(u8),
    DeleteVertex(u8),
    Commit,
    RollBack,
    Snapshot,
    Maintain,
    Declare,
    /// Creates the index, or drops it.
    ToggleIndex,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => any::<(u8, u8, u32)>().prop_map(|(source, count, random)| Step::Add(source, count, random)),
        4 => any::<(u8, u8, u32)>().prop_map(|(source, target, random)| Step::Put(source, target, random)),
        4 => any::<(u8, u32)>().prop_map(|(at, random)| Step::Set(at, random)),
        2 => any::<u8>().prop_map(Step::Unset),
        3 => any::<u8>().prop_map(Step::Delete),
        1 => any::<u8>().prop_map(Step::DeleteVertex),
        4 => Just(Step::Commit),
        1 => Just(Step::RollBack),
        1 => Just(Step::Snapshot),
        4 => Just(Step::Maintain),
        1 => Just(Step::Declare),
        1 => Just(Step::ToggleIndex),
    ]
}

struct World<E: TestEngine> {
    store: Store<E>,
    names: Names,
    head: Model,
    open: Option<(Transaction<E>, Model)>,
    snapshots: Vec<(Snapshot<E>, Model)>,
}

fn pick(model: &Model, at: u8) -> Option<EdgeId> {
    model.keys().copied().nth(usize::from(at) * model.len() / 256)
}

impl<E: TestEngine> World<E> {
    fn step(&mut self, step: Step, random: u32) {
        match step {
            Step::Commit => {
                if let Some((transaction, model)) = self.open.take() {
                    transaction.commit().unwrap();
                    self.head = model;
                }
            }
            Step::RollBack => self.open = None,
            Step::Snapshot => self.snapshots.push((self.store.snapshot(), self.head.clone())),
            Step::Maintain => self.store.engine().maintain(),
            Step::Declare => declare(&self.store, &self.names),
            Step::ToggleIndex if self.open.is_none() => self.toggle_index(),
            Step::ToggleIndex => {}
            _ => {
                let open = self.open.get_or_insert_with(|| (self.store.begin(), self.head.clone()));
                write(&mut open.0, &mut open.1, &self.names, step);
            }
        }
        if let Some((transaction, model)) = &self.open {
            check(transaction, model, &self.names, random);
        }
        check(&self.store.snapshot(), &self.head, &self.names, random.rotate_left(9));
    }
}

impl<E: TestEngine> World<E> {
    fn toggle_index(&self) {
        if self.store.catalogue().index(IndexId::newest(self.names.edge_type, self.names.at)).is_some() {
            self.store.drop_index(OWNER, "at", Some(IndexKind::Newest)).unwrap();
        } else {
            index(&self.store);
        }
    }
}

fn write<E: TestEngine>(transaction: &mut Transaction<E>, model: &mut Model, names: &Names, step: Step) {
    let source = |at: u8| VertexId(u32::from(at) % SOURCES);
    match step {
        Step::Add(at, count, random) => {
            let mut random = SplitMix64::new(u64::from(random));
            for _ in 0..=count {
                let drawn = random.next_u64() as u32;
                // A vertex that was deleted takes no edges.
                let target = VertexId(drawn % VERTICES);
                let value = (!drawn.is_multiple_of(17)).then(|| names.value(drawn / 256));
                let mut properties = vec![(names.target, Value::I64(target.0.into()))];
                properties.extend(value.clone().map(|value| (names.at, value)));
                if let Ok(edge) = transaction.add_edge(source(at), names.edge_type, target, &properties) {
                    model.insert(edge, value);
                }
            }
        }
        Step::Put(at, target, random) => {
            let (value, target) = (names.value(random), VertexId(u32::from(target) % VERTICES));
            let properties = [(names.at, value.clone()), (names.target, Value::I64(target.0.into()))];
            if let Ok(edge) = transaction.put_edge(source(at), names.edge_type, target, &properties) {
                model.insert(edge, Some(value));
            }
        }
        Step::Set(at, random) => {
            let Some(edge) = pick(model, at) else { return };
            let value = names.value(random);
            transaction.set_edge_property(edge, names.at, Some(value.clone())).unwrap();
            model.insert(edge, Some(value));
        }
        Step::Unset(at) => {
            let Some(edge) = pick(model, at) else { return };
            transaction.set_edge_property(edge, names.at, None).unwrap();
            model.insert(edge, None);
        }
        Step::Delete(at) => {
            let Some(edge) = pick(model, at) else { return };
            transaction.delete_edge(edge).unwrap();
            model.remove(&edge);
        }
        Step::DeleteVertex(at) => {
            let vertex = VertexId(SOURCES + u32::from(at) % (VERTICES - SOURCES));
            if transaction.delete_vertex(vertex).is_ok() {
                model.retain(|edge, _| edge.target != vertex);
            }
        }
        _ => unreachable!("{step:?} is no write"),
    }
}

/// What an edge type has from the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    None,
    Declared,
    Indexed,
}

fn run<E: TestEngine>(kind: E::Kind, program: &[(Step, u32)], order: Order, value_type: ValueType) {
    let store = empty::<E>(kind);
    let names = prepare(&store, value_type);
    match order {
        Order::None => {}
        Order::Declared => declare(&store, &names),
        Order::Indexed => _ = index(&store),
    }
    let mut world = World { store, names, head: Model::new(), open: None, snapshots: Vec::new() };
    for (step, random) in program {
        world.step(*step, *random);
    }
    for (snapshot, model) in &world.snapshots {
        check(snapshot, model, &world.names, 35);
    }
}

fn any_program() -> impl Strategy<Value = Vec<(Step, u32)>> {
    proptest::collection::vec((any_step(), any::<u32>()), 1..40)
}

fn any_order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::None), Just(Order::Declared), Just(Order::Indexed)]
}

fn any_type() -> impl Strategy<Value = ValueType> {
    prop_oneof![Just(ValueType::I64), Just(ValueType::DateTime)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn the_newest_come_first(program in any_program(), order in any_order(), value_type in any_type()) {
        run::<AnyEngine>(EngineKind::Memory, &program, order, value_type);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn the_newest_come_first_where_an_engine_keeps_no_order(program in any_program(), order in any_order()) {
        run::<NaiveEngine>(Keeps::NoIndexes, &program, order, ValueType::I64);
    }

    #[test]
    fn the_newest_come_first_on_the_disk_engine(
        program in any_program(), order in any_order(), value_type in any_type()
    ) {
        run::<AnyEngine>(EngineKind::Disk, &program, order, value_type);
    }

    #[test]
    fn the_newest_come_first_on_the_mapped_engine(
        program in any_program(), order in any_order(), value_type in any_type()
    ) {
        run::<AnyEngine>(EngineKind::Mapped, &program, order, value_type);
    }
}

/// Edges from vertex 0 with values that come in no order.
fn add_many<E: Engine>(store: &Store<E>, names: &Names, model: &mut Model, count: u32) {
    let mut random = SplitMix64::new(u64::from(count));
    store
        .transact(|transaction| {
            for number in 0..count {
                let value = Value::I64(random.next_u64() as i64 >> 40);
                let target = VertexId(1 + number % (VERTICES - 1));
                let properties = [(names.at, value.clone()), (names.target, Value::I64(target.0.into()))];
                let edge = transaction.add_edge(VertexId(0), names.edge_type, target, &properties)?;
                model.insert(edge, Some(value));
            }
            Ok(())
        })
        .unwrap();
}

fn check_ends(view: &impl GraphView, model: &Model, names: &Names) {
    let asked = NewestEdges::new(VertexId(0), names.edge_type, names.at);
    let wanted = wanted(model, &asked);
    assert_eq!(pages(view, names, &asked, 10, 30), wanted[..30]);
    let (middle, end) = (&wanted[wanted.len() / 2].0, &wanted[wanted.len() / 2 + 50].0);
    let range = ValueRange::new(Bound::Included(end.clone()), Bound::Excluded(middle.clone()));
    let within: Vec<_> = wanted.iter().filter(|(value, _)| range.contains(value)).cloned().collect();
    assert!(within.len() >= 40, "about fifty lie between them");
    assert_eq!(pages(view, names, &asked.within(range), 17, usize::MAX), within);
}

/// Whether the engine has hubs.
fn hubs_are_read_newest_first<E: TestEngine>(kind: E::Kind, counts: &[u32], indexed: bool) -> bool {
    let store = empty::<E>(kind);
    let names = prepare(&store, ValueType::I64);
    declare(&store, &names);
    assert!(!indexed || index(&store));
    // A list that has a body to itself isn't taken out of it.
    store
        .transact(|transaction| transaction.add_edge(VertexId(5), names.edge_type, VertexId(6), &[]))
        .unwrap();
    let (mut model, mut kept) = (Model::new(), Vec::new());
    for count in counts {
        add_many(&store, &names, &mut model, *count);
        check_ends(&store.snapshot(), &model, &names);
        store.engine().maintain();
        check_ends(&store.snapshot(), &model, &names);
        kept.push((store.snapshot(), model.clone()));
    }
    let has_hubs = store.statistics().engine.hubs > 0;
    let gone: Vec<EdgeId> = model.keys().copied().step_by(3).collect();
    store.transact(|transaction| gone.iter().try_for_each(|edge| transaction.delete_edge(*edge))).unwrap();
    model.retain(|edge, _| gone.binary_search(edge).is_err());
    check_ends(&store.snapshot(), &model, &names);
    store.engine().maintain();
    check_ends(&store.snapshot(), &model, &names);
    for (snapshot, model) in &kept {
        check_ends(snapshot, model, &names);
    }
    has_hubs
}

#[test]
fn hubs_are_read_newest_first_as_they_become_hubs_grow_and_shrink() {
    // More edges than 16 bits count.
    let hub = HUB_DEGREE as u32;
    assert!(hubs_are_read_newest_first::<AnyEngine>(EngineKind::Memory, &[hub / 2, hub, 41_000, 60], false));
    // Files cut long lists. The front sorts a list for each of its pages, so this one is shorter.
    assert!(!hubs_are_read_newest_first::<AnyEngine>(EngineKind::Disk, &[500, 2_000, 60], false));
    assert!(!hubs_are_read_newest_first::<AnyEngine>(EngineKind::Disk, &[1_000, 4_000, 60], true));
    // Neither does it keep an order.
    assert!(!hubs_are_read_newest_first::<AnyEngine>(EngineKind::Mapped, &[500, 2_000, 60], false));
}

on_every_engine! {
    fn an_index_by_source_is_on_edges_and_not_unique<E: TestEngine>(kind: E::Kind) {
        let store = empty::<E>(kind);
        prepare(&store, ValueType::I64);
        for (owner, unique) in [(OwnerName::Label("Node"), false), (OWNER, true)] {
            let request = IndexRequest { owner, key: "at", kind: IndexKind::Newest, unique };
            let error = store.create_index(&request, &mut |_| Ok(())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("on edges, and never unique"), "{error}");
        }
        let untyped = IndexRequest { owner: OWNER, key: "other", kind: IndexKind::Newest, unique: false };
        let error = store.create_index(&untyped, &mut |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("declare it"), "{error}");
        assert!(store.indexes().is_empty());
    }
}

#[test]
fn orders_are_made_by_the_first_read_and_counted() {
    let store = empty::<AnyEngine>(EngineKind::Memory);
    let names = prepare(&store, ValueType::I64);
    let mut model = Model::new();
    add_many(&store, &names, &mut model, 1000);
    store.engine().maintain();
    let order_bytes = || store.statistics().engine.order_bytes;
    check_ends(&store.snapshot(), &model, &names);
    assert_eq!(order_bytes(), 0, "not declared, nothing is kept");
    declare(&store, &names);
    assert_eq!(order_bytes(), 0, "a declaration costs nothing");
    check_ends(&store.snapshot(), &model, &names);
    let bytes = order_bytes();
    assert!((2000..3000).contains(&bytes), "{bytes}: two for each of 1,000 edges");
    add_many(&store, &names, &mut model, 500);
    store.engine().maintain();
    assert!((3000..4000).contains(&order_bytes()), "a merge carries them along");
}

on_every_engine! {
    fn a_list_that_was_read_newest_first_conflicts_by_that_property_only<E: TestEngine>(kind: E::Kind) {
        for (touched, commits) in [(0, false), (1, true)] {
            let store = empty::<E>(kind);
            let names = prepare(&store, ValueType::I64);
            declare(&store, &names);
            let mut model = Model::new();
            add_many(&store, &names, &mut model, 5);
            let mut reader = store.begin_with(Isolation::Serializable);
            let asked = NewestEdges::new(VertexId(0), names.edge_type, names.at);
            assert_eq!(pages(&reader, &names, &asked, 1, 1).len(), 1);
            reader.add_edge(VertexId(9), names.edge_type, VertexId(8), &[]).unwrap();
            let edge = *model.keys().next().unwrap();
            let key = [names.at, names.other][touched];
            store.transact(|rival| rival.set_edge_property(edge, key, Some(Value::I64(7)))).unwrap();
            match reader.commit() {
                Ok(_) => assert!(commits),
                Err(error) => {
                    let text = error.to_string();
                    assert!(!commits && text.contains("property SENT.at of the edges of Node"), "{text}");
                }
            }
        }
    }
}

on_every_engine! {
    fn one_order_is_declared_and_stays<E: TestEngine>(kind: E::Kind) {
        let store = empty::<E>(kind);
        let names = prepare(&store, ValueType::I64);
        let refused = |key| {
            let error = store.begin().declare_newest_first(names.edge_type, key).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        };
        refused(names.other);
        // Of two that declare different orders at once, and of one that rolls back, one is heard.
        let mut model = Model::new();
        add_many(&store, &names, &mut model, 200);
        store.engine().maintain();
        let mut rivals = [names.other, names.at].map(|key| {
            let mut transaction = store.begin();
            if key == names.other {
                transaction.declare_edge_property(names.edge_type, key, ValueType::DateTime).unwrap();
            }
            transaction.declare_newest_first(names.edge_type, key).unwrap();
            let asked = NewestEdges::new(VertexId(0), names.edge_type, key);
            let of_key = if key == names.at { model.len() } else { 0 };
            assert_eq!(pages(&transaction, &names, &asked, 9, usize::MAX).len(), of_key);
            transaction
        });
        rivals.reverse();
        let [winner, loser] = rivals;
        winner.commit().unwrap();
        let error = loser.commit().unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("SENT newest-first by at"), "{error}");
        declare(&store, &names);
        refused(names.other);
        check_ends(&store.snapshot(), &model, &names);
    }
}

/// Bytes of orders that the engine keeps in the end.
fn an_order_survives<E: TestEngine>(kind: E::Kind) -> u64 {
    let directory = MemoryDirectory::new("db");
    let options = OpenOptions { durability: Durability::Sync, ..options::<E>(kind) };
    let open =
        |directory: &MemoryDirectory| OpenStore::<E>::open(Arc::new(directory.clone()), &options).unwrap();
    let opened = open(&directory);
    let names = prepare(opened.store(), ValueType::I64);
    let mut model = Model::new();
    add_many(opened.store(), &names, &mut model, 300);
    declare(opened.store(), &names);
    let crashed = open(&directory.power_cut());
    assert_eq!(crashed.store().catalogue().newest_first(names.edge_type), Some(names.at));
    check_ends(&crashed.store().snapshot(), &model, &names);
    opened.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    let after = directory.power_cut();
    drop(opened);
    let opened = open(&after);
    assert_eq!(opened.store().catalogue().newest_first(names.edge_type), Some(names.at));
    check_ends(&opened.store().snapshot(), &model, &names);
    add_many(opened.store(), &names, &mut model, 40);
    check_ends(&opened.store().snapshot(), &model, &names);
    opened.store().statistics().engine.order_bytes
}

#[test]
fn an_order_is_there_after_a_crash_and_after_a_checkpoint() {
    assert!(an_order_survives::<AnyEngine>(EngineKind::Memory) > 0, "it is read by its order");
    assert_eq!(an_order_survives::<AnyEngine>(EngineKind::Disk), 0, "the front sorts");
    assert_eq!(an_order_survives::<AnyEngine>(EngineKind::Mapped), 0, "here too");
}
