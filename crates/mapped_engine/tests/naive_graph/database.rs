//! A mapped engine and the graph of each of its commits.

use super::graph::{Change, GROUPS, KEYS, NaiveGraph, TYPES, VERTICES, edge, vertex};
use evergraph_graph::budget::{Budget, Unlimited};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::Result;
use evergraph_graph::filter::{Condition, Filter};
use evergraph_graph::id::{Direction, EdgeId, GROUP_SIZE, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{PieceBuffer, Projection, Topology, Turn, Visit, Weight};
use evergraph_graph::value::ValueType;
use evergraph_graph::vertex_set::VertexSet;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::engine::mapped_engine::MappedPin;
use evergraph_mapped_engine::engine::options::MappedOptions;
use evergraph_mapped_engine::engine::prepared::PreparedCommit;
use evergraph_mapped_engine::freeze::frozen::FrozenGraph;
use evergraph_mapped_engine::view::mapped_view::MappedView;
use evergraph_storage::engine::{ChangedSince, Engine, FreezeRequest, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::sync::Mutex;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use evergraph_storage::view::{PointReads, View};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A property that no edge has, as the catalogue knows.
const ABSENT: KeyId = KeyId(9);

/// The engine, and what it should hold.
pub struct NaiveStore {
    pub engine: MappedEngine,
    timeline: Arc<Timeline>,
    /// The graph after each commit, and what that did; the first is empty.
    history: Mutex<Vec<(Arc<NaiveGraph>, Vec<Mutation>)>>,
}

/// A snapshot of both.
pub struct OpenSnapshot {
    pub timestamp: Timestamp,
    pub access: Access,
    pin: MappedPin,
    graph: Arc<NaiveGraph>,
}

fn has(bits: &[u64; 64], row: u16) -> bool {
    bits[usize::from(row) / 64] >> (row % 64) & 1 == 1
}

fn all_vertices() -> Vec<VertexId> {
    (0..VERTICES).map(vertex).collect()
}

impl NaiveStore {
    pub fn new(options: MappedOptions) -> Self {
        let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
        let engine = MappedEngine::in_memory(Arc::clone(&timeline), options).unwrap();
        for group in GROUPS.map(GroupId) {
            engine.open_group(group, super::graph::label(group));
        }
        let history = Mutex::new(vec![(Arc::default(), Vec::new())]);
        Self { engine, timeline, history }
    }

    pub fn vertex(&self, number: u8) -> VertexId {
        vertex(number)
    }

    fn newest(&self) -> Arc<NaiveGraph> {
        Arc::clone(&self.history.lock().last().unwrap().0)
    }

    /// A commit that is not installed.
    pub fn prepare(&self, changes: &[Change]) -> PreparedCommit {
        self.try_prepare(changes).unwrap()
    }

    pub fn try_prepare(&self, changes: &[Change]) -> Result<PreparedCommit> {
        let mutations = self.newest().resolve(changes);
        self.engine.prepare(&mutations, &IndexChanges::NONE, Duration::from_millis(1))
    }

    pub fn commit(&self, changes: &[Change]) {
        self.commit_mutations(self.newest().resolve(changes));
    }

    /// Parallel edges from one vertex to another.
    pub fn commit_parallel(&self, from: u8, to: u8, discriminators: Range<u16>) {
        let insert = |own| Mutation::InsertEdge { edge: edge(from, to, own), properties: Properties::EMPTY };
        self.commit_mutations(discriminators.map(insert).collect());
    }

    fn commit_mutations(&self, mutations: Vec<Mutation>) {
        let mut next = NaiveGraph::clone(&self.newest());
        assert!(mutations.iter().all(|mutation| next.apply(mutation)), "a resolved commit is possible");
        let prepared = self.engine.prepare(&mutations, &IndexChanges::NONE, Duration::ZERO).unwrap();
        let mut latch = self.timeline.latch();
        let timestamp = self.timeline.published().next();
        let displaced = self.engine.append(timestamp, prepared);
        self.history.lock().push((Arc::new(next), mutations));
        self.timeline.publish(timestamp, &mut latch);
        drop(latch);
        drop(displaced);
    }

    pub fn begin(&self, access: Access) -> OpenSnapshot {
        let (timestamp, pin) = self.timeline.begin(access, |timestamp| self.engine.pin(timestamp));
        let graph = Arc::clone(&self.history.lock()[timestamp.0 as usize].0);
        OpenSnapshot { timestamp, access, pin, graph }
    }

    pub fn end(&self, snapshot: OpenSnapshot) {
        if self.timeline.end(snapshot.timestamp, snapshot.access) {
            self.engine.snapshot_ended();
        }
    }

    /// Merges one segment.
    pub fn merge_one(&self, at: usize) {
        let mut segments = Vec::new();
        self.engine.graph().groups().for_each_segment(|segment| {
            segments.push(Arc::clone(segment));
            true
        });
        if let Some(segment) = segments.get(at % segments.len().max(1)) {
            self.engine.graph().merge(segment).unwrap();
        }
    }

    /// What a snapshot reads.
    pub fn view<'a>(&'a self, snapshot: &'a OpenSnapshot) -> MappedView<'a> {
        self.engine.view(&snapshot.pin, snapshot.timestamp)
    }

    /// Asks all that a reader may ask.
    pub fn check(&self, snapshot: &OpenSnapshot) {
        let (view, graph) = (self.engine.view(&snapshot.pin, snapshot.timestamp), &*snapshot.graph);
        let vertices = all_vertices();
        let mut labels = vec![None; vertices.len()];
        view.labels(&vertices, &mut labels).unwrap();
        for (vertex, label) in vertices.iter().zip(labels) {
            let expected = graph.vertices.get(vertex).map(|_| super::graph::label(vertex.group()));
            assert_eq!(label, expected, "{vertex} at {}", snapshot.timestamp);
            assert_eq!(view.label(*vertex).unwrap(), expected);
        }
        for group in (0..view.group_count()).map(GroupId) {
            let live = view.live(group).unwrap();
            let rows = (0..4096).filter(|row| has(&live, *row)).map(|row| VertexId::new(group, row));
            let expected = graph.vertices.keys().copied().filter(|vertex| vertex.group() == group);
            assert_eq!(rows.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
        for key in KEYS {
            let mut values = Vec::new();
            view.vertex_properties(&vertices, key, &mut values).unwrap();
            for (vertex, value) in vertices.iter().zip(values) {
                let expected = graph.vertices.get(vertex).and_then(|values| values.get(&key)).cloned();
                assert_eq!(value, expected, "{key:?} of {vertex} at {}", snapshot.timestamp);
                assert_eq!(view.vertex_property(*vertex, key).unwrap(), expected);
            }
        }
        for vertex in &vertices {
            let expected: Vec<_> =
                graph.vertices.get(vertex).cloned().unwrap_or_default().into_iter().collect();
            assert_eq!(view.vertex_property_map(*vertex).unwrap(), expected);
        }
        for edge_type in TYPES {
            for side in [Direction::Out, Direction::In] {
                self.check_lists(snapshot, edge_type, side);
            }
        }
        self.check_edges(snapshot);
    }

    fn check_lists(&self, snapshot: &OpenSnapshot, edge_type: TypeId, side: Direction) {
        let (view, graph) = (self.engine.view(&snapshot.pin, snapshot.timestamp), &*snapshot.graph);
        let vertices = all_vertices();
        let mut degrees = vec![1; vertices.len()];
        view.degrees(&vertices, edge_type, side, &mut degrees).unwrap();
        for (vertex, degree) in vertices.iter().zip(degrees) {
            let expected = graph.list(*vertex, edge_type, side);
            assert_eq!(degree, 1 + expected.len() as u64);
            let mut list = Vec::new();
            view.all_neighbors(*vertex, edge_type, side, &mut list).unwrap();
            assert_eq!(list, expected, "{side:?} of {vertex} at {}", snapshot.timestamp);
            let rows = view.rows_with_edges(vertex.group(), edge_type, side).unwrap();
            assert!(expected.is_empty() || has(&rows, vertex.row()));
            let types = view.edge_types(vertex.group(), side).unwrap();
            assert!(types.is_sorted() && (expected.is_empty() || types.contains(&edge_type)));
            // By pieces.
            let (mut pieces, step) = (Vec::new(), 1 + expected.len() / 3);
            loop {
                let before = pieces.len();
                let after = pieces.last().copied();
                view.neighbors(*vertex, edge_type, side, after, step, &mut pieces).unwrap();
                if pieces.len() == before {
                    break;
                }
            }
            assert_eq!(pieces, expected);
        }
        for group in GROUPS.map(GroupId) {
            let own = |edge: &&EdgeId| edge.source.group() == group && edge.edge_type == edge_type;
            let expected = graph.edges.keys().filter(own).count() as u64;
            assert_eq!(view.group_edge_count(group, edge_type).unwrap(), expected);
        }
    }

    fn check_edges(&self, snapshot: &OpenSnapshot) {
        let (view, graph) = (self.engine.view(&snapshot.pin, snapshot.timestamp), &*snapshot.graph);
        let mut asked = Vec::new();
        for edge_type in TYPES {
            for (source, target) in (0..VERTICES).flat_map(|from| (0..VERTICES).map(move |to| (from, to))) {
                let (source, target) = (vertex(source), vertex(target));
                asked.extend((0..5).map(|own| EdgeId { source, edge_type, target, discriminator: own }));
            }
        }
        // Of a hub's many some.
        asked.extend(graph.edges.keys().copied().step_by(1 + graph.edges.len() / 400));
        asked.sort_unstable_by_key(|edge| (edge.edge_type, edge.source, edge.target, edge.discriminator));
        asked.dedup();
        let mut found = vec![false; asked.len()];
        view.has_edges(&asked, &mut found).unwrap();
        for (edge, found) in asked.iter().zip(&found) {
            assert_eq!(*found, graph.edges.contains_key(edge), "{edge:?} at {}", snapshot.timestamp);
        }
        let mut pairs: BTreeMap<(TypeId, VertexId, VertexId), u32> = BTreeMap::new();
        for edge in graph.edges.keys() {
            *pairs.entry((edge.edge_type, edge.source, edge.target)).or_default() += 1;
        }
        for ((edge_type, source, target), count) in pairs {
            let mut counts = [0; 2];
            view.count_edges_between(&[(source, target), (target, source)], edge_type, &mut counts).unwrap();
            assert_eq!(counts[0], count);
        }
        for key in KEYS {
            let mut values = Vec::new();
            view.edge_properties(&asked, key, &mut values).unwrap();
            for (edge, value) in asked.iter().zip(values) {
                let expected = graph.edges.get(edge).and_then(|values| values.get(&key));
                assert_eq!(value.as_ref(), expected, "{key:?} of {edge:?} at {}", snapshot.timestamp);
            }
        }
        for edge in asked.iter().filter(|edge| graph.edges.contains_key(edge)).take(40) {
            assert!(view.has_edge(*edge).unwrap());
            let expected: Vec<_> = graph.edges[edge].clone().into_iter().collect();
            assert_eq!(view.edge_property_map(*edge).unwrap(), expected);
            for key in KEYS {
                assert_eq!(view.edge_property(*edge, key).unwrap().as_ref(), graph.edges[edge].get(&key));
            }
            let mut taken = Vec::new();
            let (source, target) = (edge.source, edge.target);
            self.engine.taken_discriminators(source, edge.edge_type, target, &mut taken).unwrap();
            let is_there_now = self.newest().edges.contains_key(edge);
            assert!(!is_there_now || taken.contains(&edge.discriminator), "{edge:?} in {taken:?}");
        }
    }

    /// A writer at `since` asks about one thing.
    pub fn check_newer(&self, since: Timestamp, kind: u8, number: u16) {
        let one = vertex((number % u16::from(VERTICES)) as u8);
        let other = vertex((number / 13 % u16::from(VERTICES)) as u8);
        let (edge_type, key) = (TYPES[usize::from(number / 200) % 2], KEYS[usize::from(number / 500) % 3]);
        let edge = EdgeId { source: one, edge_type, target: other, discriminator: number % 2 };
        let side = if number.is_multiple_of(3) { Direction::Out } else { Direction::In };
        let asked = match kind % 12 {
            0 => Key::Vertex(one),
            1 => Key::VertexProperty(one, key),
            2 => Key::VertexRecord(one),
            3 => Key::Adjacency(one),
            4 => Key::Edge(edge),
            5 => Key::EdgeProperty(edge, key),
            6 => Key::EdgeMember(edge),
            7 => Key::Members(one.group()),
            8 => Key::List(one, edge_type, side),
            9 => Key::ListProperty(one, edge_type, key),
            10 => Key::Between(one, edge_type, other),
            _ => Key::Edges(one.group(), edge_type, side),
        };
        let history = self.history.lock();
        let newer = &history[since.0 as usize + 1..];
        let must = newer.iter().flat_map(|commit| &commit.1).any(|mutation| changes(&asked, mutation));
        let found = self.engine.newer(&asked, since);
        // What deletes all edges may be told of more.
        let may = matches!(asked, Key::Adjacency(_) | Key::Edges(..)) && found == ChangedSince::Yes;
        let expected = if must || may { ChangedSince::Yes } else { ChangedSince::No };
        assert_eq!(found, expected, "{asked:?} since {since}");
    }

    /// Freezes a projection with a budget.
    pub fn freeze_within(
        &self,
        snapshot: &OpenSnapshot,
        projection: &Projection,
        budget: &Arc<dyn Budget>,
    ) -> Result<FrozenGraph> {
        let (catalogue, cancel) = (catalogue(), CancelFlag::default());
        let request = FreezeRequest { catalogue: &catalogue, projection, budget, cancel: &cancel };
        self.engine.freeze(&snapshot.pin, snapshot.timestamp, &request)
    }

    fn freeze(&self, snapshot: &OpenSnapshot, projection: &Projection) -> FrozenGraph {
        let budget: Arc<dyn Budget> = Arc::new(Unlimited);
        self.freeze_within(snapshot, projection, &budget).unwrap()
    }

    /// Freezes the graph in several ways, and visits it in all.
    pub fn check_frozen(&self, snapshot: &OpenSnapshot) {
        let weights = [None, Some((KEYS[2], 0.5)), Some((KEYS[0], -7.0))];
        let mut even = VertexSet::empty((GROUPS[GROUPS.len() - 1] + 1) * GROUP_SIZE);
        for vertex in snapshot.graph.vertices.keys().filter(|vertex| vertex.0 % 2 == 0) {
            even.insert(vertex.0);
        }
        let even = Arc::new(even);
        for side in [Direction::Out, Direction::In, Direction::Both] {
            for weight in weights {
                let weight = weight.map(|(key, missing)| Weight { key, missing: Some(missing) });
                let all = Projection { weight, ..Projection::all(side) };
                self.check_projection(snapshot, &all);
                self.check_projection(snapshot, &Projection { types: Some(vec![TYPES[1]]), ..all.clone() });
                self.check_projection(
                    snapshot,
                    &Projection { vertices: Some(Arc::clone(&even)), ..all.clone() },
                );
                let labels = Some(vec![super::graph::label(GroupId(GROUPS[0]))]);
                self.check_projection(snapshot, &Projection { labels, ..all.clone() });
                let exists = Filter { key: KEYS[1], condition: Condition::Exists };
                self.check_projection(snapshot, &Projection { edges: vec![exists], ..all });
            }
            let weight = Some(Weight { key: ABSENT, missing: Some(1.5) });
            self.check_projection(snapshot, &Projection { weight, ..Projection::all(side) });
        }
    }

    fn check_projection(&self, snapshot: &OpenSnapshot, projection: &Projection) {
        let graph = &*snapshot.graph;
        let frozen = self.freeze(snapshot, projection);
        let labels = projection.labels.as_ref();
        let in_scope = |vertex: &VertexId| {
            graph.vertices.contains_key(vertex)
                && labels.is_none_or(|labels| labels.contains(&super::graph::label(vertex.group())))
                && projection.vertices.as_ref().is_none_or(|vertices| vertices.contains(vertex.0))
        };
        let vertices: Vec<_> = frozen.vertices().iter().collect();
        let expected = graph.vertices.keys().filter(|vertex| in_scope(vertex)).map(|vertex| vertex.0);
        assert_eq!(vertices, expected.collect::<Vec<_>>());
        let mut count = 0;
        let mut expected: BTreeMap<u32, Vec<(u32, Option<u64>)>> = BTreeMap::new();
        for (edge, values) in &graph.edges {
            let is_wanted = in_scope(&edge.source)
                && in_scope(&edge.target)
                && projection.types.as_ref().is_none_or(|types| types.contains(&edge.edge_type))
                && projection.edges.iter().all(|filter| filter.holds(values.get(&filter.key)));
            if !is_wanted {
                continue;
            }
            count += 1;
            let weight_of = |weight: &Weight| {
                let stored = values.get(&weight.key).map(|value| value.as_f64().unwrap());
                stored.or(weight.missing).unwrap().to_bits()
            };
            let weight = projection.weight.as_ref().map(weight_of);
            if projection.direction != Direction::In {
                expected.entry(edge.source.0).or_default().push((edge.target.0, weight));
            }
            if projection.direction != Direction::Out {
                expected.entry(edge.target.0).or_default().push((edge.source.0, weight));
            }
        }
        assert_eq!(frozen.edge_count(), count, "{projection:?} at {}", snapshot.timestamp);
        expected.values_mut().for_each(|list| list.sort_unstable());
        check_visits(&frozen, projection.direction, &expected);
        let is_all =
            Projection { weight: None, ..projection.clone() } == Projection::all(projection.direction);
        if is_all {
            let coalesced =
                frozen.coalesced(projection.direction, &Unlimited, &CancelFlag::default()).unwrap();
            coalesced.iter().for_each(|lists| check_visits(lists, projection.direction, &expected));
        }
    }
}

/// Names of all labels and types, any of which may be joined, and what edges have.
fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    let labels = GROUPS.map(|group| super::graph::label(GroupId(group)));
    for (id, label) in (0..=labels[1].0).map(LabelId).map(|id| (id, format!("L{}", id.0))) {
        catalogue.apply(&SchemaChange::AddLabel { id, name: label.into() });
    }
    for id in (0..=TYPES[1].0).map(TypeId) {
        let name = format!("T{}", id.0).into();
        catalogue.apply(&SchemaChange::AddEdgeType { id, name, simple: false });
        for (source, target) in labels.iter().flat_map(|from| labels.map(|to| (*from, to))) {
            catalogue.apply(&SchemaChange::Join { edge_type: id, source, target });
        }
        for (key, value_type) in KEYS.into_iter().zip([ValueType::I64, ValueType::String, ValueType::F64]) {
            catalogue.apply(&SchemaChange::DefineProperty { owner: Owner::EdgeType(id), key, value_type });
        }
    }
    catalogue
}

fn check_visits(frozen: &FrozenGraph, side: Direction, expected: &BTreeMap<u32, Vec<(u32, Option<u64>)>>) {
    type Lists = BTreeMap<u32, Vec<(u32, Option<u64>)>>;
    let (mut buffer, bound) = (PieceBuffer::default(), frozen.bound());
    let add = |lists: &mut Lists, vertex: u32, neighbors: &[u32], weights: &[f64]| {
        assert!(neighbors.is_sorted() && (weights.is_empty() || weights.len() == neighbors.len()));
        let weights = weights.iter().map(|weight| Some(weight.to_bits())).chain(std::iter::repeat(None));
        if !neighbors.is_empty() {
            lists.entry(vertex).or_default().extend(neighbors.iter().copied().zip(weights));
        }
    };
    let sorted = |mut lists: Lists| {
        lists.values_mut().for_each(|list| list.sort_unstable());
        lists
    };
    let (mut whole, mut pieces) = (Lists::new(), Lists::new());
    let mut last = 0;
    frozen
        .visit(side, 0..bound, &mut buffer, |vertex, piece| {
            assert!(vertex >= last, "vertices come in order");
            last = vertex;
            add(&mut whole, vertex, piece.neighbors, piece.weights);
            Visit::Continue
        })
        .unwrap();
    assert_eq!(&sorted(whole), expected);
    let cuts = frozen.cuts(5);
    assert!(
        cuts.len() >= 2 && cuts[0] == 0 && cuts[cuts.len() - 1] == bound && cuts.is_sorted_by(|a, b| a < b)
    );
    for cut in cuts.windows(2) {
        frozen
            .visit_pieces(side, cut[0]..cut[1], &mut buffer, |vertex, piece, turn| {
                assert!(turn == Turn::Apart || (cut[0]..cut[1]).contains(&vertex));
                add(&mut pieces, vertex, piece.neighbors, piece.weights);
            })
            .unwrap();
    }
    assert_eq!(&sorted(pieces), expected);
    let chosen: Vec<u32> =
        all_vertices().into_iter().map(|vertex| vertex.0).filter(|id| *id < bound).collect();
    let mut each = Lists::new();
    frozen
        .visit_each(side, &chosen, &mut buffer, |vertex, piece| {
            add(&mut each, vertex, piece.neighbors, piece.weights);
            Visit::Continue
        })
        .unwrap();
    assert_eq!(&sorted(each), expected);
    // A visitor that has enough of a vertex gets no more of its pieces; one that stops gets nothing more.
    let mut firsts = Vec::new();
    frozen
        .visit_each(side, &chosen, &mut buffer, |vertex, piece| match piece.neighbors {
            [] => Visit::Continue,
            _ => {
                firsts.push(vertex);
                Visit::NextVertex
            }
        })
        .unwrap();
    assert_eq!(firsts, expected.keys().copied().collect::<Vec<_>>());
    let mut calls = 0;
    frozen
        .visit(side, 0..bound, &mut buffer, |_, piece| {
            calls += usize::from(!piece.neighbors.is_empty());
            if piece.neighbors.is_empty() { Visit::Continue } else { Visit::Stop }
        })
        .unwrap();
    assert_eq!(calls, expected.len().min(1));
    let mut degrees = vec![9; bound as usize - 1];
    frozen.degrees(side, 1..bound, &mut degrees).unwrap();
    for (at, degree) in degrees.iter().enumerate() {
        let list = expected.get(&(at as u32 + 1));
        assert_eq!(*degree as usize, list.map_or(0, Vec::len));
    }
}

/// Whether a mutation is what is asked about.
fn changes(key: &Key, mutation: &Mutation) -> bool {
    enum Did<'a> {
        Member,
        Whole,
        Set(&'a Properties),
    }
    let (vertex, edge, did) = match mutation {
        Mutation::InsertVertex { vertex, .. } | Mutation::DeleteVertex { vertex } => {
            (Some(*vertex), None, Did::Member)
        }
        Mutation::SetVertexProperties { vertex, properties } => (Some(*vertex), None, Did::Set(properties)),
        Mutation::InsertEdge { edge, .. } | Mutation::DeleteEdge { edge } => (None, Some(*edge), Did::Member),
        Mutation::ReplaceEdge { edge, .. } => (None, Some(*edge), Did::Whole),
        Mutation::SetEdgeProperties { edge, properties } => (None, Some(*edge), Did::Set(properties)),
        _ => return false,
    };
    let is_member = matches!(did, Did::Member);
    let mentions = |key| match did {
        Did::Set(properties) => properties.get(key).is_some(),
        Did::Member | Did::Whole => true,
    };
    let end = |edge: EdgeId, side| if side == Direction::In { edge.target } else { edge.source };
    match *key {
        Key::Vertex(asked) => vertex == Some(asked) && is_member,
        Key::VertexProperty(asked, key) => vertex == Some(asked) && mentions(key),
        Key::VertexRecord(asked) => vertex == Some(asked),
        Key::Adjacency(asked) => {
            edge.is_some_and(|edge| is_member && (edge.source == asked || edge.target == asked))
        }
        Key::Edge(asked) => edge == Some(asked),
        Key::EdgeProperty(asked, key) => edge == Some(asked) && mentions(key),
        Key::EdgeMember(asked) => edge == Some(asked) && is_member,
        Key::Members(group) => vertex.is_some_and(|vertex| vertex.group() == group) && is_member,
        Key::Vertices(group) => vertex.is_some_and(|vertex| vertex.group() == group),
        Key::List(asked, edge_type, side) => {
            edge.is_some_and(|edge| edge.edge_type == edge_type && is_member && end(edge, side) == asked)
        }
        Key::ListProperty(asked, edge_type, key) => {
            edge.is_some_and(|edge| edge.edge_type == edge_type && edge.source == asked && mentions(key))
        }
        Key::Between(source, edge_type, target) => edge.is_some_and(|edge| {
            edge.edge_type == edge_type && is_member && edge.source == source && edge.target == target
        }),
        Key::Edges(group, edge_type, side) => edge.is_some_and(|edge| {
            edge.edge_type == edge_type
                && end(edge, side).group() == group
                && (is_member || side == Direction::Out)
        }),
    }
}
