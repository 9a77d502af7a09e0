//! Naive engine, for tests: every record of every commit in one list, every question answered by replaying it. It also asserts
//! what resolved mutations promise: an insert finds nothing there, a delete something, a deleted vertex has no edges, an edge
//! has both ends. Its files are in `naive_files.rs`.
//!
//! One that keeps indexes is the same, but its views answer look-ups by reading everything, exactly by an ordered index, and by
//! a hash index with one item more, as if its hash met that of the value. It asserts that a commit brings just those changes
//! of every index that is ready which its mutations come to.

use crate::keeps::Keeps;
use crate::naive_files::NaiveFiles;
use crate::naive_topology::NaiveTopology;
use crate::shared_names::SharedNames;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::column::ValueSink;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexId, IndexKind};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::engine::{ChangedSince, Engine, EngineStatistics, FreezeRequest, Key};
use evergraph_storage::index::changes::{IndexChanges, KeptEntry};
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::index::index_item::IndexItem;
use evergraph_storage::sync::{Mutex, RwLock};
use evergraph_storage::view::{GroupBits, IndexAnswer, IndexSize, View};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The properties of a vertex or an edge.
pub type Values = BTreeMap<KeyId, Value>;

/// The graph after some commit.
#[derive(Clone, Default)]
pub struct State {
    pub vertices: BTreeMap<VertexId, Values>,
    pub edges: BTreeMap<EdgeId, Values>,
}

#[derive(Default)]
pub struct History {
    pub groups: Vec<Option<LabelId>>,
    pub commits: Vec<(Timestamp, Vec<Mutation>)>,
    pub newest: Arc<State>,
}

/// See the file's caption.
#[derive(Default)]
pub struct NaiveEngine {
    pub keeps: Keeps,
    pub history: RwLock<History>,
    /// Where its state is stored, if it was opened.
    pub files: Option<NaiveFiles>,
    /// What the next commit does after its writes are resolved, and before it takes the latch.
    before_latch: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// Indexes that commits made ready since it was opened.
    ready: Mutex<BTreeSet<IndexId>>,
    /// What it shares with stores that read it beside the one that writes.
    pub shared: Mutex<SharedNames>,
}

/// Reads a state.
pub struct NaiveView<'a> {
    pub engine: &'a NaiveEngine,
    pub state: &'a State,
    pub timestamp: Timestamp,
}

fn set(values: &mut Values, changes: &Properties) {
    for (key, value) in changes.as_slice() {
        match value {
            Some(value) => values.insert(*key, value.clone()),
            None => values.remove(key),
        };
    }
}

/// The values of a new item.
pub fn fresh(properties: &Properties) -> Values {
    assert!(properties.as_slice().iter().all(|(_, value)| value.is_some()), "a new item removes nothing");
    let mut values = Values::new();
    set(&mut values, properties);
    values
}

impl NaiveEngine {
    /// Calls `hook` once, in the next commit, when its writes are resolved and the latch is free.
    pub fn before_the_next_latch(&self, hook: impl FnOnce() + Send + 'static) {
        *self.before_latch.lock() = Some(Box::new(hook));
    }

    /// Installs a commit; the state before.
    pub fn install(&self, timestamp: Timestamp, mutations: Vec<Mutation>) -> Arc<State> {
        let mut history = self.history.write();
        let mut next = State::clone(&history.newest);
        mutations.iter().for_each(|mutation| next.apply(mutation));
        history.commits.push((timestamp, mutations));
        std::mem::replace(&mut history.newest, Arc::new(next))
    }

    /// Holds the changes of indexes that came with the newest commit against what it did.
    fn check_changes(&self, before: &State, mut changes: IndexChanges) {
        let (history, mut ready) = (self.history.read(), self.ready.lock());
        let after: &State = &history.newest;
        for (entries, has, has_not) in [(&changes.leaving, before, after), (&changes.entering, after, before)]
        {
            for KeptEntry { index, value, item } in entries {
                assert_eq!(history.owner(*item), Some(index.owner), "{item:?} belongs to {index:?}");
                assert_eq!(has.value(*item, index.key), Some(value), "{item:?} in {index:?}");
                assert_ne!(has_not.value(*item, index.key), Some(value), "{item:?} in {index:?}");
            }
        }
        let (_, mutations) = history.commits.last().expect("a commit was installed");
        let (mut items, mut made_ready) = (BTreeSet::new(), None);
        for mutation in mutations {
            match mutation {
                Mutation::InsertVertex { vertex, .. }
                | Mutation::DeleteVertex { vertex }
                | Mutation::SetVertexProperties { vertex, .. } => drop(items.insert(vertex.item_id())),
                Mutation::InsertEdge { edge, .. }
                | Mutation::ReplaceEdge { edge, .. }
                | Mutation::DeleteEdge { edge }
                | Mutation::SetEdgeProperties { edge, .. } => drop(items.insert(edge.item_id())),
                Mutation::Schema(SchemaChange::DropIndex(id)) => drop(ready.remove(id)),
                Mutation::Schema(SchemaChange::AddIndex(definition)) => made_ready = Some(definition.id),
                Mutation::Schema(_) | Mutation::LeaveIndex(_) | Mutation::Note(_) => {}
            }
        }
        let mut expected = IndexChanges::NONE;
        for id in &*ready {
            for item in items.iter().filter(|item| history.owner(**item) == Some(id.owner)) {
                let (old, new) = (before.value(*item, id.key), after.value(*item, id.key));
                if old != new {
                    let entry = |value: &Value| KeptEntry { index: *id, value: value.clone(), item: *item };
                    expected.leaving.extend(old.map(entry));
                    expected.entering.extend(new.map(entry));
                }
            }
        }
        for entries in [&mut changes.leaving, &mut changes.entering] {
            entries.retain(|entry| ready.contains(&entry.index));
        }
        for entries in
            [&mut changes.leaving, &mut changes.entering, &mut expected.leaving, &mut expected.entering]
        {
            entries.sort();
        }
        assert_eq!(changes, expected);
        ready.extend(made_ready);
    }
}

impl History {
    /// The label or type that an item belongs to, if it can be there.
    fn owner(&self, item: ItemId) -> Option<Owner> {
        match item {
            ItemId::Vertex(vertex) => {
                self.groups.get(vertex.group().0 as usize).copied().flatten().map(Owner::Label)
            }
            ItemId::Edge(edge) => Some(Owner::EdgeType(edge.edge_type)),
        }
    }
}

impl State {
    pub fn apply(&mut self, mutation: &Mutation) {
        match mutation {
            Mutation::InsertVertex { vertex, properties, .. } => {
                assert!(self.vertices.insert(*vertex, fresh(properties)).is_none(), "{vertex} is new");
            }
            Mutation::DeleteVertex { vertex } => {
                assert!(self.vertices.remove(vertex).is_some(), "{vertex} was there");
                let dangling =
                    self.edges.keys().find(|edge| edge.source == *vertex || edge.target == *vertex);
                assert_eq!(dangling, None, "{vertex} had no edges left");
            }
            Mutation::SetVertexProperties { vertex, properties } => {
                set(self.vertices.get_mut(vertex).expect("a vertex that is set is there"), properties);
            }
            Mutation::InsertEdge { edge, properties } => {
                for end in [edge.source, edge.target] {
                    assert!(self.vertices.contains_key(&end), "{edge} has both ends");
                }
                assert!(self.edges.insert(*edge, fresh(properties)).is_none(), "{edge} is new");
            }
            Mutation::ReplaceEdge { edge, properties } => {
                assert!(self.edges.insert(*edge, fresh(properties)).is_some(), "{edge} was there");
            }
            Mutation::DeleteEdge { edge } => {
                assert!(self.edges.remove(edge).is_some(), "{edge} was there");
            }
            Mutation::SetEdgeProperties { edge, properties } => {
                set(self.edges.get_mut(edge).expect("an edge that is set is there"), properties);
            }
            Mutation::Schema(_) | Mutation::LeaveIndex(_) | Mutation::Note(_) => {}
        }
    }

    fn value(&self, item: ItemId, key: KeyId) -> Option<&Value> {
        let values = match item {
            ItemId::Vertex(vertex) => self.vertices.get(&vertex),
            ItemId::Edge(edge) => self.edges.get(&edge),
        };
        values?.get(&key)
    }

    fn side(&self, edge_type: TypeId, side: Direction) -> impl Iterator<Item = (VertexId, VertexId, u16)> {
        let edges = self.edges.keys().filter(move |edge| edge.edge_type == edge_type);
        edges.map(move |edge| match side {
            Direction::Out => (edge.source, edge.target, edge.discriminator),
            _ => (edge.target, edge.source, edge.discriminator),
        })
    }
}

fn touches(mutation: &Mutation, key: &Key) -> bool {
    use Mutation::{
        DeleteEdge, DeleteVertex, InsertEdge, InsertVertex, ReplaceEdge, SetEdgeProperties,
        SetVertexProperties,
    };
    match (key, mutation) {
        (Key::Vertex(id), InsertVertex { vertex, .. } | DeleteVertex { vertex }) => vertex == id,
        (Key::VertexProperty(id, _), InsertVertex { vertex, .. } | DeleteVertex { vertex }) => vertex == id,
        (Key::VertexProperty(id, key), SetVertexProperties { vertex, properties }) => {
            vertex == id && properties.get(*key).is_some()
        }
        (
            Key::VertexRecord(id),
            InsertVertex { vertex, .. } | DeleteVertex { vertex } | SetVertexProperties { vertex, .. },
        ) => vertex == id,
        (Key::Adjacency(id), InsertEdge { edge, .. } | DeleteEdge { edge }) => {
            edge.source == *id || edge.target == *id
        }
        (
            Key::Edge(id),
            InsertEdge { edge, .. }
            | ReplaceEdge { edge, .. }
            | DeleteEdge { edge }
            | SetEdgeProperties { edge, .. },
        ) => edge == id,
        (
            Key::EdgeProperty(id, _),
            InsertEdge { edge, .. } | ReplaceEdge { edge, .. } | DeleteEdge { edge },
        ) => edge == id,
        (Key::EdgeProperty(id, key), SetEdgeProperties { edge, properties }) => {
            edge == id && properties.get(*key).is_some()
        }
        (Key::Members(group), InsertVertex { vertex, .. } | DeleteVertex { vertex }) => {
            vertex.group() == *group
        }
        (
            Key::Vertices(group),
            InsertVertex { vertex, .. } | DeleteVertex { vertex } | SetVertexProperties { vertex, .. },
        ) => vertex.group() == *group,
        (Key::EdgeMember(id), InsertEdge { edge, .. } | DeleteEdge { edge }) => edge == id,
        (Key::List(id, edge_type, side), InsertEdge { edge, .. } | DeleteEdge { edge }) => {
            (end(edge, *side), edge.edge_type) == (*id, *edge_type)
        }
        (
            Key::ListProperty(source, edge_type, _),
            InsertEdge { edge, .. } | ReplaceEdge { edge, .. } | DeleteEdge { edge },
        ) => (edge.source, edge.edge_type) == (*source, *edge_type),
        (Key::ListProperty(source, edge_type, key), SetEdgeProperties { edge, properties }) => {
            (edge.source, edge.edge_type) == (*source, *edge_type) && properties.get(*key).is_some()
        }
        (Key::Between(source, edge_type, target), InsertEdge { edge, .. } | DeleteEdge { edge }) => {
            (edge.source, edge.edge_type, edge.target) == (*source, *edge_type, *target)
        }
        (
            Key::Edges(group, edge_type, side),
            InsertEdge { edge, .. }
            | ReplaceEdge { edge, .. }
            | DeleteEdge { edge }
            | SetEdgeProperties { edge, .. },
        ) => (end(edge, *side).group(), edge.edge_type) == (*group, *edge_type),
        _ => false,
    }
}

/// The end of `edge` that its list on `side` belongs to.
pub fn end(edge: &EdgeId, side: Direction) -> VertexId {
    if side == Direction::Out { edge.source } else { edge.target }
}

impl Engine for NaiveEngine {
    type Pin = Arc<State>;
    type View<'a> = NaiveView<'a>;
    type Topology = NaiveTopology;
    type Prepared = (Vec<Mutation>, IndexChanges);
    type Displaced = Arc<State>;

    const KEEPS_INDEXES: bool = true;

    fn keeps_index(&self, _: IndexId) -> bool {
        self.keeps == Keeps::Indexes
    }

    fn pin(&self, timestamp: Timestamp) -> Arc<State> {
        let history = self.history.read();
        if history.commits.last().is_none_or(|(newest, _)| newest.visible_at(timestamp)) {
            return Arc::clone(&history.newest);
        }
        let mut state = State::default();
        let seen = history.commits.iter().filter(|(at, _)| at.visible_at(timestamp));
        seen.flat_map(|(_, mutations)| mutations).for_each(|mutation| state.apply(mutation));
        Arc::new(state)
    }

    fn view<'a>(&'a self, pin: &'a Arc<State>, timestamp: Timestamp) -> NaiveView<'a> {
        NaiveView { engine: self, state: pin, timestamp }
    }

    fn freeze(
        &self,
        pin: &Arc<State>,
        _timestamp: Timestamp,
        request: &FreezeRequest<'_>,
    ) -> Result<NaiveTopology> {
        Ok(NaiveTopology::new(pin, request.projection))
    }

    fn open_group(&self, group: GroupId, label: LabelId) {
        let groups = &mut self.history.write().groups;
        groups.resize(groups.len().max(group.0 as usize + 1), None);
        assert!(groups[group.0 as usize].is_none_or(|known| known == label), "a group keeps its label");
        groups[group.0 as usize] = Some(label);
    }

    fn prepare(&self, mutations: &[Mutation], changes: &IndexChanges, _: Duration) -> Result<Self::Prepared> {
        let hook = self.before_latch.lock().take();
        if let Some(hook) = hook {
            hook();
        }
        Ok((mutations.to_vec(), changes.clone()))
    }

    fn group_count(&self) -> u32 {
        self.history.read().groups.len() as u32
    }

    fn has_group(&self, group: GroupId) -> bool {
        self.history.read().groups.get(group.0 as usize).is_some_and(Option::is_some)
    }

    fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId> {
        let history = self.history.read();
        let added = history.commits.iter().flat_map(|(_, mutations)| mutations);
        let types = added.filter_map(|mutation| match mutation {
            Mutation::InsertEdge { edge, .. } if end(edge, side).group() == group => Some(edge.edge_type),
            _ => None,
        });
        types.collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn newer(&self, key: &Key, since: Timestamp) -> ChangedSince {
        let history = self.history.read();
        let newer = history.commits.iter().rev().take_while(|(at, _)| !at.visible_at(since));
        let yes = newer.flat_map(|(_, mutations)| mutations).any(|mutation| touches(mutation, key));
        if yes { ChangedSince::Yes } else { ChangedSince::No }
    }

    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        let between =
            |edge: &EdgeId| (edge.source, edge.edge_type, edge.target) == (source, edge_type, target);
        let history = self.history.read();
        taken.extend(history.commits.iter().flat_map(|(_, mutations)| mutations).filter_map(|mutation| {
            match mutation {
                Mutation::InsertEdge { edge, .. } if between(edge) => Some(edge.discriminator),
                _ => None,
            }
        }));
        Ok(())
    }

    fn append(&self, timestamp: Timestamp, (mutations, changes): Self::Prepared) -> Arc<State> {
        let before = self.install(timestamp, mutations);
        match self.keeps {
            Keeps::Indexes => self.check_changes(&before, changes),
            Keeps::NoIndexes => assert_eq!(changes, IndexChanges::NONE, "who keeps no indexes hears of none"),
        }
        before
    }

    fn replay(&self, mutations: &[(Timestamp, Mutation)]) -> Result<()> {
        for commit in mutations.chunk_by(|one, next| one.0 == next.0) {
            self.install(commit[0].0, commit.iter().map(|entry| entry.1.clone()).collect());
        }
        Ok(())
    }

    fn catalogue_changed(&self, timestamp: Timestamp, catalogue: &Arc<Catalogue>) {
        self.shared.lock().catalogue = Some((timestamp, Arc::clone(catalogue)));
    }

    fn readable_grew(&self) {
        self.shared.lock().shows += 1;
    }

    fn shared_catalogue(&self, _pin: &Self::Pin) -> Option<Arc<Catalogue>> {
        self.shared.lock().catalogue.as_ref().map(|(_, catalogue)| Arc::clone(catalogue))
    }

    fn snapshot_ended(&self) {}

    fn statistics(&self) -> EngineStatistics {
        EngineStatistics::default()
    }
}

impl NaiveView<'_> {
    fn label_of(&self, group: GroupId) -> Option<LabelId> {
        self.engine.history.read().groups.get(group.0 as usize).copied().flatten()
    }

    /// Everything that has a value of an index.
    fn entries<I: IndexItem>(&self, index: IndexId) -> Vec<(Value, I)> {
        let history = self.engine.history.read();
        let vertices = self.state.vertices.iter().map(|(vertex, values)| (vertex.item_id(), values));
        let edges = self.state.edges.iter().map(|(edge, values)| (edge.item_id(), values));
        let owned = vertices.chain(edges).filter(|(item, _)| history.owner(*item) == Some(index.owner));
        owned
            .filter_map(|(item, values)| Some((values.get(&index.key)?.clone(), I::from_item_id(item)?)))
            .collect()
    }
}

impl View for NaiveView<'_> {
    fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    fn group_count(&self) -> u32 {
        self.engine.group_count()
    }

    fn group_label(&self, group: GroupId) -> Result<Option<LabelId>> {
        Ok(self.label_of(group))
    }

    fn edge_types(&self, group: GroupId, side: Direction) -> Result<Vec<TypeId>> {
        let edges = self.state.edges.keys().filter(|edge| end(edge, side).group() == group);
        Ok(edges.map(|edge| edge.edge_type).collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn live(&self, group: GroupId) -> Result<GroupBits> {
        let mut bits = [0; 64];
        for vertex in self.state.vertices.keys().filter(|vertex| vertex.group() == group) {
            bits[usize::from(vertex.row() / 64)] |= 1 << (vertex.row() % 64);
        }
        Ok(bits)
    }

    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64> {
        Ok(self.state.side(edge_type, Direction::Out).filter(|(of, ..)| of.group() == group).count() as u64)
    }

    fn labels(&self, vertices: &[VertexId], labels: &mut [Option<LabelId>]) -> Result<()> {
        let alive = |vertex: &VertexId| self.state.vertices.contains_key(vertex);
        answer(vertices, labels, |vertex| self.label_of(vertex.group()).filter(|_| alive(vertex)))
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        vertices.iter().for_each(|vertex| values.put(property(self.state.vertices.get(vertex), key)));
        Ok(())
    }

    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        Ok(self.state.vertices.get(&vertex).cloned().unwrap_or_default().into_iter().collect())
    }

    fn neighbors(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        after: Option<(VertexId, u16)>,
        limit: usize,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        let all = self.state.side(edge_type, side).filter(|(of, ..)| *of == vertex);
        let all: BTreeSet<_> = all.map(|(_, neighbor, discriminator)| (neighbor, discriminator)).collect();
        list.extend(all.into_iter().filter(|entry| after.is_none_or(|after| *entry > after)).take(limit));
        Ok(())
    }

    fn degrees(
        &self,
        vertices: &[VertexId],
        edge_type: TypeId,
        side: Direction,
        degrees: &mut [u64],
    ) -> Result<()> {
        let of = |vertex| self.state.side(edge_type, side).filter(move |(of, ..)| of == vertex).count();
        vertices.iter().zip(degrees).for_each(|(vertex, degree)| *degree += of(vertex) as u64);
        Ok(())
    }

    fn has_edges(&self, edges: &[EdgeId], found: &mut [bool]) -> Result<()> {
        answer(edges, found, |edge| self.state.edges.contains_key(edge))
    }

    fn count_edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        edge_type: TypeId,
        counts: &mut [u32],
    ) -> Result<()> {
        let edges = || self.state.side(edge_type, Direction::Out);
        answer(pairs, counts, |pair| {
            edges().filter(|(source, target, _)| (*source, *target) == *pair).count() as u32
        })
    }

    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        edges.iter().for_each(|edge| values.put(property(self.state.edges.get(edge), key)));
        Ok(())
    }

    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        Ok(self.state.edges.get(&edge).cloned().unwrap_or_default().into_iter().collect())
    }

    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        let entries = match index.owner {
            Owner::Label(_) => self.entries::<VertexId>(index).len(),
            Owner::EdgeType(_) => self.entries::<EdgeId>(index).len(),
        };
        (self.engine.keeps == Keeps::Indexes)
            .then_some(IndexSize { entries: entries as u64, ..IndexSize::default() })
    }

    fn candidates<I: IndexItem>(
        &self,
        index: IndexId,
        value: &Value,
        after: Option<I>,
        limit: usize,
        items: &mut Vec<I>,
    ) -> Result<IndexAnswer> {
        if self.engine.keeps == Keeps::NoIndexes {
            return Ok(IndexAnswer::No);
        }
        let is_exact = index.kind == IndexKind::Ordered;
        let entries = self.entries::<I>(index);
        let first = entries.iter().map(|(_, item)| *item).min().filter(|_| !is_exact);
        let holders = entries.iter().filter(|(found, _)| found == value).map(|(_, item)| *item);
        let found: BTreeSet<I> =
            holders.chain(first).filter(|item| after.is_none_or(|after| *item > after)).collect();
        items.extend(found.into_iter().take(limit));
        Ok(if is_exact { IndexAnswer::Exact } else { IndexAnswer::Check })
    }

    fn between<I: IndexItem>(
        &self,
        index: IndexId,
        (after, until): (&EntryBound<I>, &EntryBound<I>),
        descending: bool,
        limit: usize,
        pairs: &mut Vec<(Value, I)>,
    ) -> Result<IndexAnswer> {
        if self.engine.keeps == Keeps::NoIndexes {
            return Ok(IndexAnswer::No);
        }
        let (low, high) = if descending { (until, after) } else { (after, until) };
        let mut found = self.entries::<I>(index);
        found.retain(|(value, item)| {
            low.cmp_entry(value, *item).is_lt() && high.cmp_entry(value, *item).is_gt()
        });
        found.sort();
        if descending {
            found.reverse();
        }
        pairs.extend(found.into_iter().take(limit));
        Ok(IndexAnswer::Exact)
    }
}

/// Answers each item by itself.
fn answer<T, A>(items: &[T], answers: &mut [A], of: impl Fn(&T) -> A) -> Result<()> {
    items.iter().zip(answers).for_each(|(item, answer)| *answer = of(item));
    Ok(())
}

fn property(values: Option<&Values>, key: KeyId) -> Option<Value> {
    values?.get(&key).cloned()
}
