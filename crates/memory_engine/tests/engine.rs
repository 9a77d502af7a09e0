//! The memory engine against a naive graph that keeps every state: random commits, merges, pins.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

use evergraph_graph::budget::{Budget, Unlimited};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::column::Column;
use evergraph_graph::filter::{Comparison, Condition, Filter};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{Piece, PieceBuffer, Projection, Topology, Turn, Visit, Weight};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::engine::{ChangedSince, Engine, FreezeRequest, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use evergraph_storage::view::{PointReads, View};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Of each group.
const LABELS: [LabelId; 2] = [LabelId(0), LabelId(1)];
const KEY: KeyId = KeyId(3);
/// A property that no edge has, as the catalogue knows.
const ABSENT: KeyId = KeyId(4);

type EdgeKey = (u32, u16, u32, u16);

#[derive(Clone, Default)]
struct Model {
    vertices: BTreeMap<u32, Option<i64>>,
    edges: BTreeMap<EdgeKey, Option<f64>>,
}

/// What to do (0..10), an edge key whose source may be meant as a vertex, a value.
type Wish = (u8, u32, u16, u32, u16, Option<i64>);

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<Wish>),
    Merge,
    Begin(bool),
    End(usize),
}

/// Two groups with a few vertices each, one of them with its rows at the end.
fn vertex() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..4, 4090u32..4100]
}

fn step() -> impl Strategy<Value = Step> {
    let discriminator = prop_oneof![5 => Just(0u16), 1 => 1u16..3];
    let wish = (0u8..10, vertex(), 0u16..2, vertex(), discriminator, proptest::option::of(0i64..9));
    prop_oneof![
        6 => proptest::collection::vec(wish, 1..30).prop_map(Step::Commit),
        3 => Just(Step::Merge),
        2 => any::<bool>().prop_map(Step::Begin),
        2 => (0usize..8).prop_map(Step::End),
    ]
}

fn id(key: EdgeKey) -> EdgeId {
    let (source, edge_type, target, discriminator) = key;
    EdgeId { source: VertexId(source), edge_type: TypeId(edge_type), target: VertexId(target), discriminator }
}

fn of(value: Option<Value>) -> Properties {
    value.map(|value| (KEY, Some(value))).into_iter().collect()
}

/// Turns wishes into exact mutations against `model`, which becomes the state after them.
fn resolve(model: &mut Model, wishes: &[Wish]) -> Vec<Mutation> {
    let mut mutations = Vec::new();
    let mut touched = BTreeSet::new();
    for &(what, s, t, d, discriminator, value) in wishes {
        let key = (s, t, d, discriminator);
        if !touched.insert(if what < 2 { (s, u16::MAX, 0, 0) } else { key }) {
            continue;
        }
        let vertex = VertexId(s);
        let number = value.map(|value| value as f64);
        let isolated = model.edges.keys().all(|edge| edge.0 != s && edge.2 != s);
        let (there, edge) = (model.edges.contains_key(&key), id(key));
        mutations.push(match what {
            0 if model.vertices.contains_key(&s) && isolated => {
                model.vertices.remove(&s);
                Mutation::DeleteVertex { vertex }
            }
            0 | 1 => {
                let old = model.vertices.insert(s, value);
                match old {
                    None => {
                        let properties = of(value.map(Value::I64));
                        Mutation::InsertVertex { vertex, label: label(s), properties }
                    }
                    Some(_) => {
                        let properties = Properties::new(vec![(KEY, value.map(Value::I64))]);
                        Mutation::SetVertexProperties { vertex, properties }
                    }
                }
            }
            2..5 if there => {
                model.edges.remove(&key);
                Mutation::DeleteEdge { edge }
            }
            _ => {
                model.edges.insert(key, number);
                match (there, what) {
                    (false, _) => Mutation::InsertEdge { edge, properties: of(number.map(Value::F64)) },
                    (true, 5..8) => Mutation::ReplaceEdge { edge, properties: of(number.map(Value::F64)) },
                    (true, _) => {
                        let properties = Properties::new(vec![(KEY, number.map(Value::F64))]);
                        Mutation::SetEdgeProperties { edge, properties }
                    }
                }
            }
        });
    }
    mutations
}

fn label(vertex: u32) -> LabelId {
    LABELS[VertexId(vertex).group().0 as usize]
}

fn check_vertex(view: &impl View, model: &Model, vertex: u32) {
    let id = VertexId(vertex);
    let alive = model.vertices.contains_key(&vertex);
    assert_eq!(view.label(id).unwrap(), alive.then_some(label(vertex)));
    let live = view.live(id.group()).unwrap()[usize::from(id.row()) / 64];
    assert_eq!(live >> (id.row() % 64) & 1 == 1, alive);
    let value = model.vertices.get(&vertex).copied().flatten().map(Value::I64);
    assert_eq!(view.vertex_property(id, KEY).unwrap(), value);
    let all: Vec<_> = value.map(|value| (KEY, value)).into_iter().collect();
    assert_eq!(view.vertex_property_map(id).unwrap(), all);
    for t in 0..2u16 {
        let list_of = |side| {
            let mut list = Vec::new();
            view.all_neighbors(id, TypeId(t), side, &mut list).unwrap();
            assert_eq!(view.degree(id, TypeId(t), side).unwrap(), list.len() as u64);
            let absent =
                list.iter().map(|(neighbor, discriminator)| (VertexId(neighbor.0 + 1), *discriminator));
            let places = absent.chain(list.iter().copied()).map(Some).chain([None]);
            for (after, limit) in places.zip([1, usize::MAX, 2].into_iter().cycle()) {
                let mut part = Vec::new();
                view.neighbors(id, TypeId(t), side, after, limit, &mut part).unwrap();
                let behind = list.iter().copied().filter(|entry| after.is_none_or(|after| *entry > after));
                assert_eq!(part, behind.take(limit).collect::<Vec<_>>());
            }
            list.iter().map(|(neighbor, discriminator)| (neighbor.0, *discriminator)).collect::<Vec<_>>()
        };
        let edges = || model.edges.keys().filter(|key| key.1 == t);
        let out: Vec<_> = edges().filter(|key| key.0 == vertex).map(|key| (key.2, key.3)).collect();
        let mut into: Vec<_> = edges().filter(|key| key.2 == vertex).map(|key| (key.0, key.3)).collect();
        into.sort_unstable();
        assert_eq!(list_of(Direction::Out), out);
        assert_eq!(list_of(Direction::In), into);
    }
}

/// What is asked of many at once is what each of them says, whether they are there or not, in any order.
fn check_batches(view: &impl View, model: &Model) {
    let vertices: Vec<VertexId> = (0..5).chain(4088..4101).chain([9000]).map(VertexId).collect();
    // Every edge that any model can have from a vertex to two others, and one from nowhere.
    let some = |vertex: &VertexId| vertex.0 % 3 < 2;
    let edges = vertices.iter().flat_map(|source| vertices.iter().map(|target| (source.0, 0, target.0, 0)));
    let mut edges: Vec<EdgeKey> = edges.filter(|key| some(&VertexId(key.2))).collect();
    edges.extend(model.edges.keys());
    edges.sort_unstable();
    edges.dedup();
    let value = |vertex: &VertexId| model.vertices.get(&vertex.0).copied().flatten().map(Value::I64);
    let weight = |key: &EdgeKey| model.edges.get(key).copied().flatten().map(Value::F64);
    for few in [1, 4, usize::MAX] {
        let (vertices, edges) =
            (vertices.chunks(few.min(vertices.len())), edges.chunks(few.min(edges.len())));
        let (vertices, edges) = (vertices.last().unwrap(), edges.last().unwrap());
        for reversed in [false, true] {
            let (mut vertices, mut edges) = (vertices.to_vec(), edges.to_vec());
            if reversed {
                vertices.reverse();
                edges.reverse();
            }
            let mut labels = vec![Some(LabelId(9)); vertices.len()];
            view.labels(&vertices, &mut labels).unwrap();
            let known = |vertex: &VertexId| model.vertices.get(&vertex.0).map(|_| label(vertex.0));
            assert!(vertices.iter().map(known).eq(labels));
            let mut column = Column::new(ValueType::I64);
            view.vertex_properties(&vertices, KEY, &mut column).unwrap();
            assert!(vertices.iter().map(value).eq((0..column.len()).map(|row| column.get(row))));
            let mut column = Column::new(ValueType::F64);
            let ids: Vec<EdgeId> = edges.iter().copied().map(id).collect();
            view.edge_properties(&ids, KEY, &mut column).unwrap();
            assert!(edges.iter().map(weight).eq((0..column.len()).map(|row| column.get(row))));
            let mut found = vec![true; ids.len()];
            view.has_edges(&ids, &mut found).unwrap();
            assert!(edges.iter().map(|key| model.edges.contains_key(key)).eq(found));
            let pairs: Vec<_> = edges.iter().map(|key| (VertexId(key.0), VertexId(key.2))).collect();
            let mut counts = vec![9; pairs.len()];
            view.count_edges_between(&pairs, TypeId(0), &mut counts).unwrap();
            let parallel = |key: &EdgeKey| (key.0, 0, key.2, 0)..=(key.0, 0, key.2, u16::MAX);
            assert!(edges.iter().map(|key| model.edges.range(parallel(key)).count() as u32).eq(counts));
            let mut degrees = vec![0; vertices.len()];
            for side in [Direction::Out, Direction::In] {
                view.degrees(&vertices, TypeId(1), side, &mut degrees).unwrap();
            }
            let ends = |key: &EdgeKey| [key.0, key.2].map(|end| (end, key.1));
            let touching = |vertex: &VertexId| {
                model.edges.keys().flat_map(ends).filter(|end| *end == (vertex.0, 1)).count()
            };
            assert!(vertices.iter().map(|vertex| touching(vertex) as u64).eq(degrees));
        }
    }
}

fn check(engine: &MemoryEngine, timestamp: Timestamp, model: &Model) {
    let view = engine.view(&(), timestamp);
    (0..5).chain(4088..4101).for_each(|vertex| check_vertex(&view, model, vertex));
    check_batches(&view, model);
    for (&key, weight) in &model.edges {
        let edge = id(key);
        assert!(view.has_edge(edge).unwrap());
        assert_eq!(view.edge_property(edge, KEY).unwrap(), weight.map(Value::F64));
        let all: Vec<_> = weight.map(|weight| (KEY, Value::F64(weight))).into_iter().collect();
        assert_eq!(view.edge_property_map(edge).unwrap(), all);
        let mut taken = Vec::new();
        engine.taken_discriminators(edge.source, edge.edge_type, edge.target, &mut taken).unwrap();
        if timestamp == engine.segments().timeline().published() {
            assert!(taken.contains(&key.3));
        }
    }
    for t in 0..2u16 {
        let of_group = |group| view.group_edge_count(GroupId(group), TypeId(t)).unwrap();
        let want = model.edges.keys().filter(|key| key.1 == t).count() as u64;
        assert_eq!(of_group(0) + of_group(1), want);
    }
    let all = || Projection::all(Direction::Both);
    let weight = Some(Weight { key: KEY, missing: Some(0.5) });
    check_frozen(engine, timestamp, model, &all());
    check_frozen(engine, timestamp, model, &Projection { weight: weight.clone(), ..all() });
    check_frozen(engine, timestamp, model, &Projection { types: Some(vec![TypeId(1)]), ..all() });
    let within = |label| Projection { labels: Some(vec![label]), ..all() };
    check_frozen(engine, timestamp, model, &within(LABELS[0]));
    check_frozen(engine, timestamp, model, &Projection { weight: weight.clone(), ..within(LABELS[1]) });
    let absent = || Some(Weight { key: ABSENT, missing: Some(3.5) });
    check_frozen(engine, timestamp, model, &Projection { weight: absent(), ..all() });
    check_frozen(engine, timestamp, model, &Projection { weight: absent(), ..within(LABELS[1]) });
    // What was converted for another weight of edges without the property doesn't serve.
    let other = Some(Weight { key: KEY, missing: Some(0.25) });
    check_frozen(engine, timestamp, model, &Projection { weight: other, ..all() });
    // Some that are there, some that are not, none of the last group's end.
    let mut some = VertexSet::empty(4098);
    [1, 3, 4091, 4092, 4095, 4097].into_iter().for_each(|vertex| assert!(some.insert(vertex)));
    let some = Projection { vertices: Some(Arc::new(some)), ..all() };
    let heavy = Condition::Compare(Comparison::GreaterOrEqual, Value::I32(4));
    let heavy = vec![Filter { key: KEY, condition: heavy }];
    check_frozen(engine, timestamp, model, &some);
    check_frozen(engine, timestamp, model, &Projection { edges: heavy.clone(), ..all() });
    check_frozen(engine, timestamp, model, &Projection { weight, edges: heavy, ..some });
}

type Lists = BTreeMap<u32, Vec<(u32, Option<u64>)>>;

/// Edges of two types between any vertices, with numbers.
fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    catalogue.apply(&SchemaChange::AddKey { id: KEY, name: "weight".into() });
    for (edge_type, name) in [(TypeId(0), "A"), (TypeId(1), "B")] {
        catalogue.apply(&SchemaChange::AddEdgeType { id: edge_type, name: name.into(), simple: false });
        let (owner, value_type) = (Owner::EdgeType(edge_type), ValueType::F64);
        catalogue.apply(&SchemaChange::DefineProperty { owner, key: KEY, value_type });
        for (source, target) in LABELS.iter().flat_map(|source| LABELS.map(|target| (*source, target))) {
            catalogue.apply(&SchemaChange::Join { edge_type, source, target });
        }
    }
    catalogue
}

fn check_frozen(engine: &MemoryEngine, timestamp: Timestamp, model: &Model, projection: &Projection) {
    let catalogue = catalogue();
    let budget: Arc<dyn Budget> = Arc::new(Unlimited);
    let weighted = projection.weight.is_some();
    let cancel = CancelFlag::default();
    let request = FreezeRequest { catalogue: &catalogue, projection, budget: &budget, cancel: &cancel };
    let frozen = engine.freeze(&(), timestamp, &request).unwrap();
    let has_label =
        |vertex: u32| projection.labels.as_ref().is_none_or(|labels| labels.contains(&label(vertex)));
    let chosen = |vertex: u32| {
        has_label(vertex) && projection.vertices.as_ref().is_none_or(|all| all.contains(vertex))
    };
    let alive: Vec<u32> = model.vertices.keys().copied().filter(|vertex| chosen(*vertex)).collect();
    // The front lets no edge outlive its ends, these steps do: a choice looks at ends, all doesn't.
    let chooses = projection.vertices.is_some() || !projection.edges.is_empty();
    let end = |vertex: &u32| has_label(*vertex) && (!chooses || alive.contains(vertex));
    let kept = |key: &EdgeKey, weight: &Option<f64>| {
        let value = weight.map(Value::F64);
        projection.types.as_ref().is_none_or(|types| types.contains(&TypeId(key.1)))
            && end(&key.0)
            && end(&key.2)
            && projection.edges.iter().all(|filter| filter.holds(value.as_ref()))
    };
    let edges = || model.edges.iter().filter(|(key, weight)| kept(key, weight));
    let weight_of = |weight: Option<f64>| {
        let asked = projection.weight.as_ref()?;
        weight.filter(|_| asked.key == KEY).or(asked.missing).map(f64::to_bits)
    };
    assert_eq!(frozen.vertices().iter().collect::<Vec<_>>(), alive);
    for side in [Direction::Out, Direction::In, Direction::Both] {
        let mut want = Lists::new();
        for (key, weight) in edges() {
            let weight = weight_of(*weight);
            if side != Direction::In {
                want.entry(key.0).or_default().push((key.2, weight));
            }
            if side != Direction::Out {
                want.entry(key.2).or_default().push((key.0, weight));
            }
        }
        want.values_mut().for_each(|list| list.sort_unstable());
        // In two ranges, and as vertices that were chosen.
        for middle in [Some(0), Some(2), Some(4092), Some(4097), None] {
            let mut found = Lists::new();
            let mut last = None;
            let mut add = |vertex: u32, piece: Piece<'_>| {
                assert!(last.is_none_or(|last| last <= vertex), "ids ascend");
                last = Some(vertex);
                assert!(!piece.sorted || piece.neighbors.is_sorted());
                assert_eq!(piece.weights.len(), if weighted { piece.neighbors.len() } else { 0 });
                let weights = piece.weights.iter().map(|weight| Some(weight.to_bits()));
                let weights = weights.chain(std::iter::repeat(None));
                found.entry(vertex).or_default().extend(piece.neighbors.iter().copied().zip(weights));
                Visit::Continue
            };
            let mut buffer = PieceBuffer::default();
            if let Some(middle) = middle {
                frozen.visit(side, 0..middle, &mut buffer, &mut add).unwrap();
                frozen.visit(side, middle..frozen.bound(), &mut buffer, &mut add).unwrap();
            } else {
                let chosen: Vec<u32> = (0..frozen.bound()).collect();
                frozen.visit_each(side, &chosen, &mut buffer, &mut add).unwrap();
            }
            found.retain(|_, list| !list.is_empty());
            found.values_mut().for_each(|list| list.sort_unstable());
            assert_eq!(found, want, "{side:?} of {projection:?}");
        }
        // In one place, if there are several types or sides. A group's only list stays, and may have fresh edges apart.
        if let Some(coalesced) = frozen.coalesced(side, &Unlimited, &cancel).unwrap() {
            let (mut found, mut pieces) = (Lists::new(), BTreeMap::<u32, usize>::new());
            let lists_count = |vertex: u32| -> usize {
                let of_side =
                    |side: &Direction| &frozen.side(*side).unwrap()[VertexId(vertex).group().0 as usize];
                side.sides().iter().map(|side| of_side(side).len()).sum()
            };
            let add = |vertex: u32, piece: Piece<'_>| {
                assert!(piece.sorted && piece.neighbors.is_sorted());
                let weights = piece.weights.iter().map(|weight| Some(weight.to_bits()));
                let weights = weights.chain(std::iter::repeat(None));
                found.entry(vertex).or_default().extend(piece.neighbors.iter().copied().zip(weights));
                *pieces.entry(vertex).or_default() += 1;
                Visit::Continue
            };
            coalesced.visit(side, 0..coalesced.bound(), &mut PieceBuffer::default(), add).unwrap();
            found.values_mut().for_each(|list| list.sort_unstable());
            assert_eq!(found, want, "{side:?} of {projection:?}, coalesced");
            for (vertex, count) in pieces {
                assert!(count == 1 || lists_count(vertex) == 1, "{count} pieces of {vertex}, {side:?}");
            }
            assert_eq!(coalesced.edge_count(), frozen.edge_count());
            let mut degrees = vec![0; coalesced.bound() as usize];
            coalesced.degrees(side, 0..coalesced.bound(), &mut degrees).unwrap();
            for (vertex, degree) in (0..).zip(degrees) {
                assert_eq!(degree as usize, want.get(&vertex).map_or(0, Vec::len));
            }
        }
        // Piece by piece, in ranges that end inside a word of bits.
        let (mut found, mut turn) = (Lists::new(), None);
        for range in [0..3, 3..4093, 4093..frozen.bound()] {
            let add = |vertex: u32, piece: Piece<'_>, when: Turn| {
                assert!(range.contains(&vertex));
                match when {
                    Turn::InOrder => {
                        assert!(turn <= Some(vertex), "{vertex} after {turn:?}");
                        turn = Some(vertex);
                    }
                    Turn::Apart => assert!(turn < Some(vertex), "the turn of {vertex} has come"),
                }
                let weights = piece.weights.iter().map(|weight| Some(weight.to_bits()));
                let weights = weights.chain(std::iter::repeat(None));
                found.entry(vertex).or_default().extend(piece.neighbors.iter().copied().zip(weights));
            };
            frozen.visit_pieces(side, range.clone(), &mut PieceBuffer::default(), add).unwrap();
        }
        found.retain(|_, list| !list.is_empty());
        found.values_mut().for_each(|list| list.sort_unstable());
        assert_eq!(found, want, "{side:?} of {projection:?}, piece by piece");
        let mut degrees = vec![0; frozen.bound() as usize];
        let (before, behind) = degrees.split_at_mut(4093);
        frozen.degrees(side, 0..4093, before).unwrap();
        frozen.degrees(side, 4093..frozen.bound(), behind).unwrap();
        for (vertex, degree) in degrees.iter().enumerate() {
            assert_eq!(*degree as usize, want.get(&(vertex as u32)).map_or(0, Vec::len));
        }
    }
    assert_eq!(frozen.edge_count(), edges().count() as u64);
    let cuts = frozen.cuts(7);
    assert!(cuts.is_sorted() && cuts[0] == 0 && *cuts.last().unwrap() == frozen.bound());
}

/// An open writer hears of everything that changed since it began.
fn check_conflicts(engine: &MemoryEngine, since: Timestamp, then: &Model, now: &Model) {
    for key in then.edges.keys().chain(now.edges.keys()) {
        if then.edges.get(key) != now.edges.get(key) {
            assert_eq!(engine.newer(&Key::Edge(id(*key)), since), ChangedSince::Yes);
        }
        if then.edges.contains_key(key) != now.edges.contains_key(key) {
            for end in [key.0, key.2] {
                assert_eq!(engine.newer(&Key::Adjacency(VertexId(end)), since), ChangedSince::Yes);
            }
        }
    }
    for vertex in then.vertices.keys().chain(now.vertices.keys()) {
        let (id, before, after) = (VertexId(*vertex), then.vertices.get(vertex), now.vertices.get(vertex));
        if before.is_some() != after.is_some() {
            assert_eq!(engine.newer(&Key::Vertex(id), since), ChangedSince::Yes);
        }
        if before != after {
            assert_eq!(engine.newer(&Key::VertexRecord(id), since), ChangedSince::Yes);
            assert_eq!(engine.newer(&Key::VertexProperty(id, KEY), since), ChangedSince::Yes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_open_snapshot_sees_its_own_graph(steps in proptest::collection::vec(step(), 1..40)) {
        let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
        let engine = MemoryEngine::new(Arc::clone(&timeline));
        [0, 1].into_iter().for_each(|group| engine.open_group(GroupId(group), LABELS[group as usize]));
        let mut models = vec![Model::default()];
        let mut open: Vec<(Timestamp, Access)> = Vec::new();
        for step in steps {
            match step {
                Step::Commit(wishes) => {
                    let mut model = models.last().unwrap().clone();
                    let prepared = engine.prepare(&resolve(&mut model, &wishes), &IndexChanges::NONE, Duration::ZERO).unwrap();
                    let mut latch = timeline.latch();
                    let timestamp = timeline.published().next();
                    let displaced = engine.append(timestamp, prepared);
                    timeline.publish(timestamp, &mut latch);
                    drop(latch);
                    drop(displaced);
                    models.push(model);
                }
                Step::Merge => engine.merge_everything(),
                Step::Begin(writes) => {
                    let access = if writes { Access::Write } else { Access::Read };
                    open.push((timeline.begin(access, |_| ()).0, access));
                }
                Step::End(at) if !open.is_empty() => {
                    let (timestamp, access) = open.remove(at % open.len());
                    timeline.end(timestamp, access);
                }
                Step::End(_) => {}
            }
        }
        let now = models.last().unwrap();
        for (timestamp, access) in open.iter().chain(&[(timeline.published(), Access::Read)]) {
            let then = &models[timestamp.0 as usize];
            check(&engine, *timestamp, then);
            if *access == Access::Write {
                check_conflicts(&engine, *timestamp, then, now);
            }
        }
        for key in now.edges.keys() {
            prop_assert_eq!(engine.newer(&Key::Edge(id(*key)), timeline.published()), ChangedSince::No);
        }
        for (timestamp, access) in open {
            timeline.end(timestamp, access);
        }
        engine.merge_everything();
        prop_assert_eq!(engine.statistics().retained_versions, 0);
        prop_assert_eq!(engine.statistics().fresh_edge_records, 0);
        check(&engine, timeline.published(), now);
    }
}

/// Weights of stored edges are read before the records on top of them: an edge without one, which isn't there any more or has
/// one by now, refused every weighted freeze until the next merge.
#[test]
fn an_edge_that_had_no_weight_when_it_was_merged_refuses_nothing_once_it_has_one_or_is_gone() {
    let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
    let engine = MemoryEngine::new(Arc::clone(&timeline));
    engine.open_group(GroupId(0), LABELS[0]);
    let commit = |mutations: &[Mutation]| {
        let prepared = engine.prepare(mutations, &IndexChanges::NONE, Duration::ZERO).unwrap();
        let mut latch = timeline.latch();
        let timestamp = timeline.published().next();
        let displaced = engine.append(timestamp, prepared);
        timeline.publish(timestamp, &mut latch);
        drop((latch, displaced));
    };
    let weights = || {
        let (catalogue, memory) = (catalogue(), MemoryBudget::new(u64::MAX));
        let budget: Arc<dyn Budget> = Arc::new(memory.clone());
        let weight = Some(Weight { key: KEY, missing: None });
        let projection = &Projection { weight, ..Projection::all(Direction::Out) };
        let cancel = CancelFlag::default();
        let request = FreezeRequest { catalogue: &catalogue, projection, budget: &budget, cancel: &cancel };
        let frozen = engine.freeze(&(), timeline.published(), &request)?;
        let mut weights = Vec::new();
        frozen.visit(Direction::Out, 0..frozen.bound(), &mut PieceBuffer::default(), |_, piece| {
            weights.extend_from_slice(piece.weights);
            Visit::Continue
        })?;
        let is_reserved = memory.reservations().iter().any(|(purpose, _)| &**purpose == "edge weights");
        assert!(!is_reserved, "weights lie in the copy's column, and none were converted");
        evergraph_graph::error::Result::Ok(weights)
    };
    let insert = |vertex| Mutation::InsertVertex {
        vertex: VertexId(vertex),
        label: LABELS[0],
        properties: Properties::EMPTY,
    };
    commit(&[insert(0), insert(1), insert(2)]);
    let edges = [id((0, 0, 1, 0)), id((0, 0, 2, 0))];
    let without = |edge| Mutation::InsertEdge { edge, properties: Properties::EMPTY };
    commit(&edges.map(without));
    engine.merge_everything();
    assert!(weights().unwrap_err().to_string().contains("has no value"));
    let properties = Properties::new(vec![(KEY, Some(Value::F64(2.5)))]);
    commit(&[Mutation::SetEdgeProperties { edge: edges[0], properties }]);
    assert!(weights().is_err(), "the other edge is there");
    commit(&[Mutation::DeleteEdge { edge: edges[1] }]);
    assert_eq!(weights().unwrap(), [2.5]);
}
