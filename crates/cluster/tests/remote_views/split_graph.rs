//! Split graph: the same commits in a store of the whole graph, in a store for each partition, and said naively.

use crate::failing_view::FailingView;
use evergraph_cluster::planted::{Bug, with};
use evergraph_cluster::remote::partition_view::PartitionView;
use evergraph_cluster::remote::question::CONTENT_BYTES_MAX;
use evergraph_cluster::remote::remote_snapshot::{GraphMap, RemoteLimits, RemoteSnapshot};
use evergraph_cluster::remote::view_answering::answer_view;
use evergraph_cluster::remote::view_asking::{OwnWork, PartitionAsker};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_cluster::travel::own_graph::OwnGraph;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, GroupId, KeyId, LabelId, PartitionId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::{OwnGroups, PartitionCount};
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::travel::Travels;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::index::directory::{IndexDirectory, Indexed, Indexes};
use evergraph_storage::index::property_index::{Completion as _, PropertyIndex};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{BackgroundStep, OpenOptions, OpenStore};
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::sync::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub const PERSON: LabelId = LabelId(0);
pub const POST: LabelId = LabelId(1);
pub const KNOWS: TypeId = TypeId(0);
/// Read newest first by [`SINCE`].
pub const LIKES: TypeId = TypeId(1);
pub const NAME: KeyId = KeyId(0);
pub const AGE: KeyId = KeyId(1);
pub const SINCE: KeyId = KeyId(2);
pub const TEXT: KeyId = KeyId(3);
pub const KEYS: [KeyId; 4] = [NAME, AGE, SINCE, TEXT];
/// Ages and times are below it.
pub const NUMBERS: i64 = 9;

pub const NAMES: IndexId = IndexId { owner: Owner::Label(PERSON), key: NAME, kind: IndexKind::Hash };
pub const AGES: IndexId = IndexId { owner: Owner::Label(PERSON), key: AGE, kind: IndexKind::Ordered };
pub const TIMES: IndexId = IndexId { owner: Owner::EdgeType(KNOWS), key: SINCE, kind: IndexKind::Ordered };

/// A vertex with many edges on both sides.
pub const HUB: VertexId = VertexId::new(GroupId(0), 0);

pub type Values = BTreeMap<KeyId, Value>;

/// The graph, said naively.
#[derive(Clone, Default)]
pub struct NaiveGraph {
    pub vertices: BTreeMap<VertexId, Values>,
    pub edges: BTreeMap<EdgeId, Values>,
}

fn change(values: &mut Values, properties: &Properties) {
    for (key, value) in properties.as_slice() {
        match value {
            Some(value) => values.insert(*key, value.clone()),
            None => values.remove(key),
        };
    }
}

fn values(properties: &Properties) -> Values {
    let mut values = Values::new();
    change(&mut values, properties);
    values
}

impl NaiveGraph {
    fn apply(&mut self, mutation: &Mutation) {
        match mutation {
            Mutation::InsertVertex { vertex, properties, .. } => {
                self.vertices.insert(*vertex, values(properties));
            }
            Mutation::DeleteVertex { vertex } => {
                self.vertices.remove(vertex);
            }
            Mutation::SetVertexProperties { vertex, properties } => {
                change(self.vertices.get_mut(vertex).unwrap(), properties);
            }
            Mutation::InsertEdge { edge, properties } | Mutation::ReplaceEdge { edge, properties } => {
                self.edges.insert(*edge, values(properties));
            }
            Mutation::DeleteEdge { edge } => {
                self.edges.remove(edge);
            }
            Mutation::SetEdgeProperties { edge, properties } => {
                change(self.edges.get_mut(edge).unwrap(), properties);
            }
            Mutation::Schema(_) | Mutation::LeaveIndex(_) | Mutation::Note(_) => {}
        }
    }

    fn has_edges(&self, vertex: VertexId) -> bool {
        self.edges.keys().any(|edge| edge.source == vertex || edge.target == vertex)
    }
}

/// The indexes of a catalogue, as a front has them whose engine keeps their entries.
pub fn indexes(catalogue: &Catalogue) -> IndexDirectory {
    fn kept<I: Indexed>(definition: IndexDefinition) -> Arc<PropertyIndex<I>> {
        let index = PropertyIndex::kept_by_engine(definition, Timestamp::ZERO, 0);
        index.complete(Timestamp::ZERO);
        Arc::new(index)
    }
    let mut indexes = Indexes::default();
    for definition in catalogue.indexes() {
        match definition.id.owner {
            Owner::Label(_) => indexes.add(kept::<VertexId>(definition)),
            Owner::EdgeType(_) => indexes.add(kept::<EdgeId>(definition)),
        }
    }
    IndexDirectory::new(indexes)
}

type Store = OpenStore<MemoryEngine>;

pub struct SplitGraph {
    pub partitions: PartitionCount,
    whole: Store,
    parts: Vec<(OwnGroups, Store)>,
    pub labels: BTreeMap<GroupId, LabelId>,
    pub now: Timestamp,
    pub model: NaiveGraph,
    used: BTreeSet<VertexId>,
}

fn count(partitions: u16) -> PartitionCount {
    PartitionCount::new(partitions).unwrap()
}

fn open(own: OwnGroups) -> Store {
    let options = OpenOptions {
        durability: Durability::None,
        environment: Environment::simulated(7),
        own_groups: Some(own),
        ..OpenOptions::default()
    };
    OpenStore::open(Arc::new(MemoryDirectory::new("part")), &options).unwrap()
}

/// Puts everything into bodies. Nothing older is read from here on.
fn merge(store: &Store, now: Timestamp) {
    store.store().set_horizon(now).unwrap();
    store.store().engine().merge_everything();
}

fn schema() -> Vec<Mutation> {
    let mut changes = Vec::new();
    for (id, name) in [(PERSON, "person"), (POST, "post")] {
        changes.push(SchemaChange::AddLabel { id, name: name.into() });
    }
    for (id, name) in [(KNOWS, "knows"), (LIKES, "likes")] {
        changes.push(SchemaChange::AddEdgeType { id, name: name.into(), simple: false });
    }
    let types = [ValueType::String, ValueType::I64, ValueType::I64, ValueType::Any];
    for ((key, name), value_type) in KEYS.into_iter().zip(["name", "age", "since", "text"]).zip(types) {
        changes.push(SchemaChange::AddKey { id: key, name: name.into() });
        let owners =
            [Owner::Label(PERSON), Owner::Label(POST), Owner::EdgeType(KNOWS), Owner::EdgeType(LIKES)];
        changes.extend(owners.map(|owner| SchemaChange::DefineProperty { owner, key, value_type }));
    }
    changes.push(SchemaChange::OrderNewestFirst { edge_type: LIKES, key: SINCE });
    for id in [NAMES, AGES, TIMES] {
        changes.push(SchemaChange::AddIndex(IndexDefinition { id, unique: false }));
    }
    changes.into_iter().map(Mutation::Schema).collect()
}

fn any_properties(chance: &mut SeededChance, removes: bool) -> Properties {
    let mut all = Vec::new();
    for key in KEYS {
        let number = chance.below(NUMBERS as u64) as i64;
        let value = match key {
            NAME => Value::from(format!("name {}", number % 5)),
            TEXT => Value::from("x".repeat(number as usize * 7)),
            _ => Value::I64(number),
        };
        match chance.below(4) {
            0 => {}
            1 if removes => all.push((key, None)),
            _ => all.push((key, Some(value))),
        }
    }
    if removes && all.is_empty() {
        all.push((AGE, None));
    }
    Properties::new(all)
}

fn any_of<T: Copy>(chance: &mut SeededChance, all: &[T]) -> Option<T> {
    (!all.is_empty()).then(|| all[chance.below(all.len() as u64) as usize])
}

impl SplitGraph {
    /// Names and indexes, and nothing else.
    pub fn new(partitions: u16) -> Self {
        let own = |partition| OwnGroups::new(PartitionId(partition), count(partitions)).unwrap();
        let mut graph = Self {
            partitions: count(partitions),
            whole: open(OwnGroups::new(PartitionId(0), count(1)).unwrap()),
            parts: (0..partitions).map(own).map(|own| (own, open(own))).collect(),
            labels: BTreeMap::new(),
            now: Timestamp(0),
            model: NaiveGraph::default(),
            used: BTreeSet::new(),
        };
        graph.install(&schema());
        // There is nothing yet that belongs into them.
        graph.fill_indexes();
        graph
    }

    /// Fills indexes that were added: they serve what is installed from there on.
    pub fn fill_indexes(&self) {
        self.parts.iter().for_each(|(_, store)| store.step(BackgroundStep::LookAfter));
        self.whole.step(BackgroundStep::LookAfter);
    }

    /// A hub, and what random commits make around it. Some stores are merged in between.
    pub fn random(seed: u64, partitions: u16) -> Self {
        let (mut graph, mut chance) = (Self::new(partitions), SeededChance::new(seed));
        for _ in 0..5 {
            graph.commit(&mut chance, 40);
        }
        graph.connect_hub(&mut chance);
        for _ in 0..5 {
            graph.commit(&mut chance, 40);
            let merged = chance.below(graph.parts.len() as u64) as usize;
            merge(&graph.parts[merged].1, graph.now);
            if chance.happens(OneIn(2)) {
                merge(&graph.whole, graph.now);
            }
        }
        graph
    }

    /// Applies a commit everywhere.
    pub fn install(&mut self, mutations: &[Mutation]) {
        for mutation in mutations {
            if let Mutation::InsertVertex { vertex, label, .. } = mutation {
                self.labels.insert(vertex.group(), *label);
                self.used.insert(*vertex);
            }
            self.model.apply(mutation);
        }
        self.apply(mutations);
    }

    /// The same, of mutations that the model has.
    fn apply(&mut self, mutations: &[Mutation]) {
        self.now = Timestamp(self.now.0 + 5);
        for (_, store) in &self.parts {
            store.store().apply(self.now, mutations).unwrap();
        }
        self.whole.store().apply(self.now, mutations).unwrap();
    }

    fn connect_hub(&mut self, chance: &mut SeededChance) {
        let properties = any_properties(chance, false);
        let hub = Mutation::InsertVertex { vertex: HUB, label: self.label(HUB.group()), properties };
        let mut edges = BTreeMap::new();
        let others = self.model.vertices.keys();
        for (other, edge_type) in others.flat_map(|other| [(*other, KNOWS), (*other, LIKES)]) {
            for (source, target) in [(HUB, other), (other, HUB)] {
                for discriminator in 1000..1000 + chance.below(4) as u16 {
                    let edge = EdgeId { source, edge_type, target, discriminator };
                    edges.insert(edge, any_properties(chance, false));
                }
            }
        }
        let edges = edges.into_iter().map(|(edge, properties)| Mutation::InsertEdge { edge, properties });
        let mutations: Vec<_> = std::iter::once(hub).chain(edges).collect();
        self.install(&mutations);
    }

    fn label(&self, group: GroupId) -> LabelId {
        self.labels.get(&group).copied().unwrap_or(if group.0 % 3 == 1 { POST } else { PERSON })
    }

    /// A commit of up to `wishes` changes, each of another vertex or edge.
    pub fn commit(&mut self, chance: &mut SeededChance, wishes: usize) {
        let groups = 3 * u64::from(self.partitions.get()) + 1;
        let mut vertices: BTreeMap<VertexId, Mutation> = BTreeMap::new();
        let mut edges: BTreeMap<EdgeId, Mutation> = BTreeMap::new();
        let (mut deleted, mut touched) = (Vec::new(), BTreeSet::new());
        for _ in 0..wishes {
            let alive: Vec<_> = self.model.vertices.keys().copied().collect();
            let known: Vec<_> = self.model.edges.keys().copied().collect();
            let (vertex, target) = (any_of(chance, &alive), any_of(chance, &alive));
            let edge = any_of(chance, &known).filter(|edge| !edges.contains_key(edge));
            let mutation = match (chance.below(10), vertex, edge) {
                (0..=2, ..) => {
                    let group = GroupId(chance.below(groups) as u32);
                    let row = [0, 63, 64, 4095, chance.below(4096)][chance.below(5) as usize];
                    let vertex = VertexId::new(group, row as u16);
                    if vertex == HUB || !self.used.insert(vertex) {
                        continue;
                    }
                    touched.insert(vertex);
                    let label = self.label(group);
                    self.labels.insert(group, label);
                    Mutation::InsertVertex { vertex, label, properties: any_properties(chance, false) }
                }
                (3, Some(vertex), _) if touched.insert(vertex) => {
                    Mutation::SetVertexProperties { vertex, properties: any_properties(chance, true) }
                }
                (4, Some(vertex), _) if !self.model.has_edges(vertex) && touched.insert(vertex) => {
                    Mutation::DeleteVertex { vertex }
                }
                (5..=7, Some(source), _) => {
                    let Some(target) = target else { continue };
                    let edge_type = if chance.happens(OneIn(2)) { KNOWS } else { LIKES };
                    let discriminator = chance.below(3) as u16;
                    let edge = EdgeId { source, edge_type, target, discriminator };
                    if self.model.edges.contains_key(&edge) || edges.contains_key(&edge) {
                        continue;
                    }
                    Mutation::InsertEdge { edge, properties: any_properties(chance, false) }
                }
                (8, _, Some(edge)) => {
                    let properties = any_properties(chance, true);
                    match chance.happens(OneIn(2)) {
                        true => Mutation::SetEdgeProperties { edge, properties },
                        false => Mutation::ReplaceEdge { edge, properties: properties.without_removals() },
                    }
                }
                (9, _, Some(edge)) => Mutation::DeleteEdge { edge },
                _ => continue,
            };
            self.model.apply(&mutation);
            match &mutation {
                Mutation::InsertVertex { vertex, .. } | Mutation::SetVertexProperties { vertex, .. } => {
                    vertices.insert(*vertex, mutation);
                }
                Mutation::InsertEdge { edge, .. }
                | Mutation::SetEdgeProperties { edge, .. }
                | Mutation::ReplaceEdge { edge, .. }
                | Mutation::DeleteEdge { edge } => {
                    edges.insert(*edge, mutation);
                }
                _ => deleted.push(mutation),
            }
        }
        // In the order of a log: edges go before their ends do.
        let mutations: Vec<_> = vertices.into_values().chain(edges.into_values()).chain(deleted).collect();
        self.apply(&mutations);
    }

    /// The whole graph at a moment.
    pub fn whole_at(&self, at: Timestamp) -> Snapshot<MemoryEngine> {
        self.whole.store().snapshot_at(at).unwrap()
    }

    /// The partitions at a moment, and a remote snapshot that asks them.
    pub fn remote_at(&self, at: Timestamp, limits: RemoteLimits) -> (RemoteSnapshot, Arc<DirectAsker>) {
        self.remote_with(at, limits, None)
    }

    /// The same, where a value is known to be in one partition.
    pub fn remote_with(
        &self,
        at: Timestamp,
        limits: RemoteLimits,
        placed: Option<(Value, PartitionId)>,
    ) -> (RemoteSnapshot, Arc<DirectAsker>) {
        let asker = Arc::new(self.asker_at(at));
        let map = self.map_with(placed);
        (RemoteSnapshot::new(at, map, Arc::clone(&asker) as Arc<dyn PartitionAsker>, limits), asker)
    }

    /// The partitions at a moment, some of which the reader reads where they lie.
    pub fn remote_beside(
        &self,
        at: Timestamp,
        limits: RemoteLimits,
        at_hand: AtHand,
    ) -> (RemoteSnapshot, Arc<DirectAsker>) {
        let asker = Arc::new(DirectAsker { at_hand, ..self.asker_at(at) });
        let map = self.map_with(None);
        (RemoteSnapshot::new(at, map, Arc::clone(&asker) as Arc<dyn PartitionAsker>, limits), asker)
    }

    /// Who answers as of a moment.
    pub fn asker_at(&self, at: Timestamp) -> DirectAsker {
        let snapshot = |store: &Store| Arc::new(store.store().snapshot_at(at).unwrap());
        let snapshots = self.parts.iter().map(|(own, store)| (*own, snapshot(store)));
        let (rounds, messages, looks) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let (at_hand, asked) = (AtHand::default(), Mutex::default());
        DirectAsker { snapshots: snapshots.collect(), at_hand, rounds, messages, looks, asked }
    }

    /// The stores of these partitions at a moment, as one graph.
    pub fn own_at(&self, at: Timestamp, partitions: impl IntoIterator<Item = u16>) -> OwnGraph {
        let store = |partition: u16| {
            let (_, store) = &self.parts[usize::from(partition)];
            (PartitionId(partition), Box::new(store.store().snapshot_at(at).unwrap()) as Box<dyn GraphView>)
        };
        let stores = partitions.into_iter().map(store).collect();
        OwnGraph::new(at, self.map_with(None), self.whole_at(at).catalogue(), stores)
    }

    /// How the graph is divided, and where a value is known to be.
    pub fn map_with(&self, placed: Option<(Value, PartitionId)>) -> Arc<dyn GraphMap> {
        Arc::new(DirectMap { partitions: self.partitions, labels: self.labels.clone(), placed })
    }
}

/// Answers from snapshots of all partitions, in the thread that asks.
pub struct DirectAsker {
    pub snapshots: Vec<(OwnGroups, Arc<Snapshot<MemoryEngine>>)>,
    at_hand: AtHand,
    rounds: AtomicUsize,
    messages: AtomicUsize,
    looks: AtomicUsize,
    asked: Mutex<Vec<PartitionId>>,
}

/// Which partitions the node of the reader keeps.
#[derive(Default)]
pub struct AtHand {
    pub partitions: BTreeSet<PartitionId>,
    /// Their stores fail, in this way.
    pub failing: Option<FailingView>,
}

impl DirectAsker {
    /// How often it was asked, and how many messages that were; counted anew from here on.
    pub fn counted(&self) -> (usize, usize) {
        (self.rounds.swap(0, Ordering::Relaxed), self.messages.swap(0, Ordering::Relaxed))
    }

    /// Whom messages went to since this was asked last.
    pub fn asked_partitions(&self) -> Vec<PartitionId> {
        std::mem::take(&mut self.asked.lock())
    }

    /// How often a partition was looked for at hand; counted anew from here on.
    pub fn looks(&self) -> usize {
        self.looks.swap(0, Ordering::Relaxed)
    }
}

impl PartitionAsker for DirectAsker {
    fn ask_beside(
        &self,
        messages: Vec<(PartitionId, Vec<u8>)>,
        own_work: OwnWork<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        if messages.is_empty() {
            return own_work(&|| Ok(())).map(|()| Vec::new());
        }
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.messages.fetch_add(messages.len(), Ordering::Relaxed);
        self.asked.lock().extend(messages.iter().map(|(partition, _)| *partition));
        own_work(&|| Ok(()))?;
        let answer = |(partition, bytes): (PartitionId, Vec<u8>)| {
            let (own, snapshot) = &self.snapshots[usize::from(partition.0)];
            assert!(bytes.len() <= CONTENT_BYTES_MAX, "a message has room in a frame");
            let answered = answer_view(&**snapshot, *own, &bytes, CONTENT_BYTES_MAX, &|| Ok(()));
            answered.inspect(|bytes| assert!(bytes.len() <= CONTENT_BYTES_MAX, "an answer has, too"))
        };
        messages.into_iter().map(answer).collect()
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        None
    }

    fn own_view(&self, partition: PartitionId) -> Option<Arc<dyn PartitionView>> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        if !self.at_hand.partitions.contains(&partition) {
            return None;
        }
        match &self.at_hand.failing {
            Some(failing) => Some(Arc::new(failing.clone())),
            None => Some(Arc::clone(&self.snapshots[usize::from(partition.0)].1) as Arc<dyn PartitionView>),
        }
    }

    fn keeps_all(&self) -> bool {
        self.at_hand.partitions.len() == self.snapshots.len()
    }
}

struct DirectMap {
    partitions: PartitionCount,
    labels: BTreeMap<GroupId, LabelId>,
    placed: Option<(Value, PartitionId)>,
}

impl GraphMap for DirectMap {
    fn partitions(&self) -> PartitionCount {
        self.partitions
    }

    fn group_count(&self) -> u32 {
        self.labels.last_key_value().map_or(0, |(last, _)| last.0 + 1)
    }

    fn group_label(&self, group: GroupId) -> Option<LabelId> {
        self.labels.get(&group).copied()
    }

    fn partition_of_value(&self, _: IndexId, value: &Value) -> Option<PartitionId> {
        self.placed.as_ref().filter(|(placed, _)| placed == value).map(|(_, partition)| *partition)
    }
}

/// Demands that a test finds `bug`, by an assertion that says `message`.
pub fn assert_found(bug: Bug, test: fn(), message: &str) {
    let Err(panic) = std::panic::catch_unwind(|| with(bug, test)) else { panic!("{bug:?} is not found") };
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let said = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    assert!(said.contains(message), "{bug:?} is found otherwise: {said}");
}
