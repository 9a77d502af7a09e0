//! Memory graph against a naive map: random commits, every answer at every past timestamp, across switches of graphs.
//!
//! ```text
//! steps    commit, prepare and drop, switch to the next graph, a commit that brings its own graph
//! pending  up to three commits are prepared before the first of them is appended, perhaps into the next graph
//! check    each graph answers for the records of its own commits: lists, items, sums, conflicts, order of the flush
//! ```

#![cfg(not(any(shuttle, loom)))]

use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::memory_graph::graph::{MemoryGraph, PreparedCommit};
use evergraph_disk_engine::memory_graph::index_entries::IndexRecord;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::record::GraphRecord;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_disk_engine::memory_graph::visible::CommittedIndexRecord;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::engine::Key;
use evergraph_storage::index::entry_range::{BytesBound, EntryOrder};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

const CAPACITY: u64 = 1 << 18;
const FITS: &str = "a few commits fit into a graph";
const INDEX: Subject = Subject::index(5).expect("few indexes have lower numbers");
const DIRECTIONS: [Direction; 3] = [Direction::Out, Direction::In, Direction::Both];
/// In three groups; the first one is a hub.
const VERTICES: [u32; 6] = [0, 1, 4095, 4096, 4097, 9000];

/// What a record says, and when.
#[derive(Clone, PartialEq, Debug)]
struct ModelRecord {
    timestamp: u64,
    operation: RecordOperation,
    payload: Properties,
}

/// Every record by list and item, oldest first.
#[derive(Default)]
struct Model(BTreeMap<(ListId, ItemKey), Vec<ModelRecord>>);

/// A change that somebody wants: of a vertex, or of an edge of a type with a discriminator.
#[derive(Clone, Debug)]
struct Action {
    source: usize,
    edge: Option<(u32, u16, u16)>,
    choice: u8,
    property: u16,
}

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<Action>),
    Drop(Vec<Action>),
    Switch,
    Large(Vec<Action>),
}

fn any_action() -> impl Strategy<Value = Action> {
    let source = prop_oneof![3 => Just(0usize), 2 => 0..VERTICES.len()];
    let edge = prop_oneof![
        6 => (0u32..40, 0u16..2, 0u16..2).prop_map(Some),
        1 => (0u32..100_000, Just(0u16), Just(0u16)).prop_map(Some),
        1 => Just(None),
    ];
    (source, edge, any::<u8>(), 0u16..3).prop_map(|(source, edge, choice, property)| Action {
        source,
        edge,
        choice,
        property,
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let actions = |count| proptest::collection::vec(any_action(), 1..count);
    prop_oneof![
        12 => actions(4).prop_map(Step::Commit),
        6 => actions(60).prop_map(Step::Commit),
        2 => actions(60).prop_map(Step::Drop),
        1 => Just(Step::Switch),
        1 => actions(300).prop_map(Step::Large),
    ]
}

impl Model {
    fn exists(&self, list: ListId, item: ItemKey) -> bool {
        let last = self.0.get(&(list, item)).and_then(|records| records.last());
        last.is_some_and(|record| record.operation != RecordOperation::Delete)
    }

    fn add(&mut self, list: ListId, item: ItemKey, record: ModelRecord) {
        self.0.entry((list, item)).or_default().push(record);
    }

    /// The mutations that actions come to, one an item, noted at `timestamp`.
    fn resolve(&mut self, actions: &[Action], timestamp: u64) -> Vec<Mutation> {
        let mut touched = BTreeSet::new();
        let mut mutations = Vec::new();
        for action in actions {
            let vertex = VertexId(VERTICES[action.source]);
            let (list, item) = match action.edge {
                None => (ListId::vertex(vertex), ItemKey::VERTEX),
                Some((target, edge_type, discriminator)) => (
                    ListId::edges(vertex, TypeId(edge_type), EdgeSide::Out),
                    ItemKey::edge(VertexId(target), discriminator),
                ),
            };
            if !touched.insert((list, item)) {
                continue;
            }
            let value = Value::I64(timestamp as i64);
            let properties = match action.property {
                0 => Properties::EMPTY,
                key => Properties::new(vec![(KeyId(key), Some(value))]),
            };
            let operation = match (self.exists(list, item), action.choice % 4) {
                (false, _) => RecordOperation::Insert,
                (true, 0 | 1) => RecordOperation::Delete,
                (true, 2) if action.edge.is_some() => RecordOperation::Replace,
                (true, _) => RecordOperation::Set,
            };
            let payload = if operation == RecordOperation::Delete { Properties::EMPTY } else { properties };
            let record = ModelRecord { timestamp, operation, payload: payload.clone() };
            self.add(list, item, record.clone());
            mutations.push(match action.edge {
                None => match operation {
                    RecordOperation::Insert => {
                        Mutation::InsertVertex { vertex, label: LabelId(0), properties: payload }
                    }
                    RecordOperation::Delete => Mutation::DeleteVertex { vertex },
                    _ => Mutation::SetVertexProperties { vertex, properties: payload },
                },
                Some((target, edge_type, discriminator)) => {
                    let target = VertexId(target);
                    let edge = EdgeId { source: vertex, edge_type: TypeId(edge_type), target, discriminator };
                    if matches!(operation, RecordOperation::Insert | RecordOperation::Delete) {
                        let item = ItemKey::edge(vertex, discriminator);
                        self.add(
                            ListId::in_list(&edge),
                            item,
                            ModelRecord { payload: Properties::EMPTY, ..record },
                        );
                    }
                    match operation {
                        RecordOperation::Insert => Mutation::InsertEdge { edge, properties: payload },
                        RecordOperation::Delete => Mutation::DeleteEdge { edge },
                        RecordOperation::Replace => Mutation::ReplaceEdge { edge, properties: payload },
                        RecordOperation::Set => Mutation::SetEdgeProperties { edge, properties: payload },
                    }
                }
            });
        }
        mutations
    }

    /// The records of commits between `first` and `last`.
    fn within(&self, first: u64, last: u64) -> Self {
        let inside = |records: &Vec<ModelRecord>| -> Vec<ModelRecord> {
            records.iter().filter(|record| (first..=last).contains(&record.timestamp)).cloned().collect()
        };
        let all = self.0.iter().map(|(key, records)| (*key, inside(records)));
        Self(all.filter(|(_, records)| !records.is_empty()).collect())
    }

    fn records(&self) -> impl Iterator<Item = (ListId, ItemKey, &ModelRecord)> {
        self.0.iter().flat_map(|((list, item), records)| records.iter().map(|record| (*list, *item, record)))
    }
}

/// Each pair enters and leaves by turns: an entry in the index a commit.
fn index_record(timestamp: u64) -> IndexRecord {
    let operation =
        if (timestamp / 16).is_multiple_of(2) { RecordOperation::Insert } else { RecordOperation::Delete };
    let item = ItemId::Vertex(VertexId(timestamp as u32 % 4));
    IndexRecord { subject: INDEX, value: [(timestamp % 16) as u8].as_slice().into(), item, operation }
}

/// All graphs of an engine, the open one last, and what was committed.
struct Store {
    promises: Arc<Promises>,
    graphs: Vec<MemoryGraph>,
    pending: VecDeque<(u64, PreparedCommit)>,
    model: Model,
    next: u64,
}

impl Store {
    fn new() -> Self {
        let promises = Promises::new();
        let graphs = vec![MemoryGraph::open(CAPACITY, &promises).expect(FITS)];
        Self { promises, graphs, pending: VecDeque::new(), model: Model::default(), next: 3 }
    }

    fn open_graph(&self) -> &MemoryGraph {
        self.graphs.last().expect("there is one from the beginning")
    }

    fn append_pending(&mut self, left: usize) {
        while self.pending.len() > left {
            let (timestamp, prepared) = self.pending.pop_front().expect("more than none");
            drop(self.open_graph().append(Timestamp(timestamp), prepared));
        }
    }

    fn switch(&mut self) {
        let next = MemoryGraph::open(CAPACITY, &self.promises).expect(FITS);
        self.open_graph().freeze();
        self.graphs.push(next);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Commit(actions) | Step::Large(actions) => {
                let timestamp = self.next;
                // Timestamps may have gaps.
                self.next += 1 + timestamp % 2;
                let commit = SortedCommit::new(&self.model.resolve(actions, timestamp)).expect(FITS);
                let index_records = vec![index_record(timestamp)];
                if matches!(step, Step::Commit(_)) {
                    let prepared = self.open_graph().prepare(commit, index_records).expect(FITS);
                    self.pending.push_back((timestamp, prepared));
                    self.append_pending(2);
                } else {
                    self.append_pending(0);
                    let graph = MemoryGraph::of_commit(commit, index_records).expect(FITS);
                    assert_eq!(graph.at(Timestamp::MAX).scan(..).next_list(), None, "nobody sees it yet");
                    graph.set_timestamp(Timestamp(timestamp));
                    self.open_graph().freeze();
                    self.graphs.push(graph);
                    self.graphs.push(MemoryGraph::open(CAPACITY, &self.promises).expect(FITS));
                }
            }
            Step::Drop(actions) => {
                let mut model = Model(self.model.0.clone());
                let commit = SortedCommit::new(&model.resolve(actions, self.next)).expect(FITS);
                drop(self.open_graph().prepare(commit, Vec::new()).expect(FITS));
            }
            Step::Switch => self.switch(),
        }
    }
}

/// Whether a change of this record is a change of the key.
fn concerns(key: &Key, list: ListId, item: ItemKey, record: &ModelRecord) -> bool {
    let counts = matches!(record.operation, RecordOperation::Insert | RecordOperation::Delete);
    let mentions = |key: KeyId| {
        record.operation != RecordOperation::Set || record.payload.as_slice().iter().any(|p| p.0 == key)
    };
    let is_vertex = |vertex| list == ListId::vertex(vertex);
    let is_edge = |edge: &EdgeId| {
        list == ListId::out_list(edge) && item == ItemKey::edge(edge.target, edge.discriminator)
    };
    let of_group = |group| list.vertex.group() == group;
    let of_vertices = list.subject == Subject::VERTICES;
    match key {
        Key::Vertex(vertex) => is_vertex(*vertex) && counts,
        Key::VertexProperty(vertex, key) => is_vertex(*vertex) && mentions(*key),
        Key::VertexRecord(vertex) => is_vertex(*vertex),
        Key::Adjacency(vertex) => list.vertex == *vertex && !of_vertices,
        Key::Edge(edge) => is_edge(edge),
        Key::EdgeProperty(edge, key) => is_edge(edge) && mentions(*key),
        Key::EdgeMember(edge) => is_edge(edge) && counts,
        Key::Members(group) => of_vertices && of_group(*group) && counts,
        Key::Vertices(group) => of_vertices && of_group(*group),
        Key::List(vertex, edge_type, direction) => {
            let is_list = |side: &EdgeSide| list == ListId::edges(*vertex, *edge_type, *side);
            EdgeSide::of(*direction).iter().any(is_list) && counts
        }
        Key::ListProperty(vertex, edge_type, key) => {
            list == ListId::edges(*vertex, *edge_type, EdgeSide::Out) && mentions(*key)
        }
        Key::Between(source, edge_type, target) => {
            list == ListId::edges(*source, *edge_type, EdgeSide::Out) && item.neighbor() == *target && counts
        }
        Key::Edges(group, edge_type, direction) => {
            let is_subject = |side: &EdgeSide| list.subject == Subject::edges(*edge_type, *side);
            EdgeSide::of(*direction).iter().any(is_subject) && of_group(*group)
        }
    }
}

/// Keys of each kind around the vertices, and an edge from each to 0..8.
fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    let property = KeyId(1);
    for vertex in VERTICES.into_iter().chain([7]).map(VertexId) {
        keys.extend([Key::Vertex(vertex), Key::VertexProperty(vertex, property), Key::VertexRecord(vertex)]);
        keys.push(Key::Adjacency(vertex));
        for edge_type in [TypeId(0), TypeId(1), TypeId(2)] {
            keys.push(Key::ListProperty(vertex, edge_type, property));
            keys.extend(DIRECTIONS.map(|direction| Key::List(vertex, edge_type, direction)));
            for target in (0..8).map(VertexId) {
                let edge = EdgeId { source: vertex, edge_type, target, discriminator: (target.0 % 2) as u16 };
                keys.extend([Key::Edge(edge), Key::EdgeProperty(edge, property), Key::EdgeMember(edge)]);
                keys.push(Key::Between(vertex, edge_type, target));
            }
        }
    }
    for group in (0..3).map(GroupId) {
        keys.extend([Key::Members(group), Key::Vertices(group)]);
        for edge_type in [TypeId(0), TypeId(1)] {
            keys.extend(DIRECTIONS.map(|direction| Key::Edges(group, edge_type, direction)));
        }
    }
    keys
}

fn flat(list: ListId, record: &GraphRecord<'_>) -> (ListId, ItemKey, ModelRecord) {
    let GraphRecord { item, timestamp, operation, payload } = *record;
    (list, item, ModelRecord { timestamp: timestamp.0, operation, payload: payload.clone() })
}

type FlatRecords = Vec<(ListId, ItemKey, ModelRecord)>;

fn scanned(graph: &MemoryGraph, at: u64, lists: impl std::ops::RangeBounds<ListId>) -> FlatRecords {
    let mut found = Vec::new();
    let mut scan = graph.at(Timestamp(at)).scan(lists);
    while let Some(list) = scan.next_list() {
        assert!(!list.records.is_empty());
        found.extend(list.records.iter().map(|record| flat(list.id, record)));
    }
    found
}

fn difference<'a>(records: impl Iterator<Item = &'a ModelRecord>) -> i64 {
    records.map(|record| record.operation.difference()).sum()
}

/// Compares all that a graph says of its past at `at` with what its commits until then did.
fn check_at(graph: &MemoryGraph, model: &Model, at: u64) -> Result<(), TestCaseError> {
    let seen = model.within(0, at);
    let visible = graph.at(Timestamp(at));
    let wanted: FlatRecords =
        seen.records().map(|(list, item, record)| (list, item, record.clone())).collect();
    prop_assert_eq!(scanned(graph, at, ..), &wanted[..]);
    let mut cut = ListId::edges(VertexId(4096), TypeId(0), EdgeSide::Out);
    let mut halves = scanned(graph, at, ..cut);
    halves.append(&mut scanned(graph, at, cut..));
    prop_assert_eq!(&halves, &wanted);
    cut.vertex = VertexId(4100);
    prop_assert!(scanned(graph, at, cut..cut).is_empty());

    let mut sums = BTreeMap::<(Subject, GroupId), i64>::new();
    for (list, _, record) in seen.records() {
        *sums.entry((list.subject, list.vertex.group())).or_default() += record.operation.difference();
    }
    for (subject, group, sum) in visible.segment_differences() {
        prop_assert_eq!(sum, sums.remove(&(subject, group)).unwrap_or(0));
        prop_assert_eq!(sum, visible.segment_difference(subject, group));
    }
    prop_assert!(sums.is_empty());

    let lists: BTreeSet<ListId> = model.0.keys().map(|(list, _)| *list).collect();
    for id in lists {
        let list = match visible.list(id) {
            Some(list) => list,
            None => {
                prop_assert!(!seen.0.keys().any(|(list, _)| *list == id));
                continue;
            }
        };
        prop_assert_eq!(list.id(), id);
        let of_list = || seen.0.range((id, ItemKey::VERTEX)..=(id, ItemKey::LAST));
        prop_assert_eq!(list.difference(), difference(of_list().flat_map(|(_, records)| records)));
        prop_assert!(list.newest_first().is_sorted_by_key(|record| std::cmp::Reverse(record.timestamp)));
        prop_assert_eq!(
            list.newest_first().count(),
            of_list().map(|(_, records)| records.len()).sum::<usize>()
        );
        let mut neighbors = BTreeMap::<VertexId, usize>::new();
        for ((_, item), records) in of_list() {
            let found: Vec<_> = list.of_item(*item).map(|record| flat(id, &record).2).collect();
            prop_assert!(found.iter().eq(records.iter().rev()));
            *neighbors.entry(item.neighbor()).or_default() += records.len();
        }
        for (neighbor, count) in neighbors {
            prop_assert_eq!(list.between(neighbor).count(), count);
        }
        prop_assert_eq!(list.of_item(ItemKey::edge(VertexId(77_777_777), 0)).count(), 0);
    }
    for group in (0..3).map(GroupId) {
        let rows: BTreeSet<_> = visible
            .rows(Subject::VERTICES, group)
            .filter(|list| list.newest_first().next().is_some())
            .map(|list| list.id())
            .collect();
        let wanted = seen.0.keys().map(|(list, _)| *list);
        let wanted = wanted.filter(|list| list.subject == Subject::VERTICES && list.vertex.group() == group);
        prop_assert_eq!(rows, wanted.collect::<BTreeSet<_>>());
    }
    Ok(())
}

fn check_newer<'k>(
    graph: &MemoryGraph,
    model: &Model,
    keys: impl Iterator<Item = &'k Key>,
    since: u64,
) -> Result<(), TestCaseError> {
    for key in keys {
        let truth = model
            .records()
            .any(|(list, item, record)| record.timestamp > since && concerns(key, list, item, record));
        prop_assert_eq!(graph.newer(key, Timestamp(since)), truth, "{:?} since {}", key, since);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_graph_answers_at_every_past_timestamp_as_a_naive_map(
        steps in proptest::collection::vec(any_step(), 1..70),
    ) {
        let mut store = Store::new();
        steps.iter().for_each(|step| store.step(step));
        store.append_pending(0);
        let keys = keys();
        let mut records = 0;
        for graph in &store.graphs {
            let (Some(first), Some(last)) = (graph.first(), graph.last()) else {
                prop_assert_eq!(graph.at(Timestamp::MAX).segment_differences(), []);
                continue;
            };
            let model = store.model.within(first.0, last.0);
            records += model.records().count();
            for at in (first.0 - 1..=last.0 + 1).step_by(1 + (last.0 - first.0) as usize / 12).chain([last.0]) {
                check_at(graph, &model, at)?;
                // Each key at every third timestamp.
                let keys = keys.iter().skip(at as usize % 3).step_by(3);
                check_newer(graph, &model, keys, at)?;
            }
            let visible = graph.at(last);
            prop_assert_eq!(visible.index_subjects(), [INDEX]);
            let mut entries = Vec::new();
            let all = (&BytesBound::Start, &BytesBound::End);
            visible.index_entries(INDEX, all, EntryOrder::Ascending, usize::MAX, &mut entries);
            for entry in entries {
                let found = visible.index_entry(INDEX, &entry.value, entry.item);
                prop_assert_eq!(found, Some(entry.operation));
            }
            let (mut visited, mut batch, mut after) = (0, Vec::new(), None::<(Arc<[u8]>, ItemId)>);
            loop {
                batch.clear();
                let from = after.as_ref().map(|(value, item)| (&**value, *item));
                visible.index_records_after(INDEX, from, 7, &mut batch);
                let Some(last) = batch.last() else { break };
                after = Some((Arc::clone(&last.value), last.item));
                for CommittedIndexRecord { value, item, timestamp, operation } in &batch {
                    let record = index_record(timestamp.0);
                    prop_assert_eq!((value, item, operation), (&record.value, &record.item, &record.operation));
                    visited += 1;
                }
            }
            let commits = (first.0..=last.0).filter(|at| {
                let mut next = 3;
                while next < *at { next += 1 + next % 2; }
                next == *at
            });
            prop_assert_eq!(visited, commits.count());
            prop_assert!(graph.size().chunk_bytes > 0);
        }
        prop_assert_eq!(records, store.model.records().count(), "each commit is in one graph");
    }
}

#[test]
fn a_commit_takes_what_it_was_promised_wherever_it_is_appended() {
    let promises = Promises::new();
    let graph = MemoryGraph::open(CAPACITY, &promises).unwrap();
    let edge = |source, target| EdgeId {
        source: VertexId(source),
        edge_type: TypeId(0),
        target: VertexId(target),
        discriminator: 0,
    };
    let commit = |source: u32, targets: std::ops::Range<u32>| {
        let insert =
            |target| Mutation::InsertEdge { edge: edge(source, target), properties: Properties::EMPTY };
        SortedCommit::new(&targets.map(insert).collect::<Vec<_>>()).unwrap()
    };
    // All of them are prepared for a list that is empty, and only the first of them finds it so.
    let prepared: Vec<_> = (0..3000u32)
        .map(|at| graph.prepare(commit(7, at..at + 1), Vec::new()).unwrap())
        .chain([graph.prepare(commit(7, 10_000..15_000), Vec::new()).unwrap()])
        .collect();
    let next = MemoryGraph::open(CAPACITY, &promises).unwrap();
    for (timestamp, prepared) in (1..).zip(prepared) {
        if timestamp == 2000 {
            graph.freeze();
        }
        let into = if timestamp < 2000 { &graph } else { &next };
        drop(into.append(Timestamp(timestamp), prepared));
    }
    let id = ListId::edges(VertexId(7), TypeId(0), EdgeSide::Out);
    let degree = |graph: &MemoryGraph, at| graph.at(Timestamp(at)).list(id).map(|list| list.difference());
    assert_eq!(
        (degree(&graph, 1999), degree(&graph, 1000), degree(&graph, 9000)),
        (Some(1999), Some(1000), Some(1999))
    );
    assert_eq!((degree(&next, 1999), degree(&next, 2000), degree(&next, 3001)), (None, Some(1), Some(6001)));
    let list = next.at(Timestamp(3001)).list(id).unwrap();
    assert!((10_000..15_000).step_by(50).all(|target| list.between(VertexId(target)).count() == 1));
    assert_eq!(list.between(VertexId(1998)).count(), 0);
    assert!(graph.is_frozen() && !next.is_frozen() && next.is_full());
}
