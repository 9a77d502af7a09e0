//! Test source: edges as stored bodies and inserted records, for unit tests of freezing, and what freezing them should find; somebody
//! may watch how lists are read.

use crate::edge_body::EdgeBody;
use crate::edge_lists::EdgeLists;
use crate::frozen::freeze_source::{FreezeSegment, FreezeSource, FreezeVisitor, ListChanges};
use crate::frozen::frozen_graph::FrozenGraph;
use crate::frozen::label_lists::{BodyIdentity, LabelLists};
use crate::frozen::stored_lists::StoredLists;
use crate::net::{Effect, Net};
use evergraph_graph::budget::Budget;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::topology::{Piece, PieceBuffer, Projection, Topology as _, Visit, Weight};
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::engine::FreezeRequest;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::record::RecordKey;
use evergraph_storage::sync::atomic::{AtomicUsize, Ordering};
use evergraph_storage::view::GroupBits;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The property of edges.
pub(crate) const WEIGHT: KeyId = KeyId(3);

/// The label of either group of most sources.
pub(crate) const LABELS: [u16; 2] = [0, 1];

/// An edge, the value of its property, and whether it is a record.
#[derive(Clone, Debug)]
pub(crate) struct TestEdge {
    pub(crate) source: u32,
    pub(crate) edge_type: u16,
    pub(crate) target: u32,
    pub(crate) value: Option<Value>,
    pub(crate) is_fresh: bool,
}

impl TestEdge {
    /// A stored edge without a property.
    pub(crate) fn stored(source: u32, edge_type: u16, target: u32) -> Self {
        Self { source, edge_type, target, value: None, is_fresh: false }
    }
}

/// Edges between vertices of groups, which are all alive.
pub(crate) struct TestSource {
    /// The label of each group.
    labels: Vec<LabelId>,
    segments: Vec<TestSegment>,
}

/// The edges of a group, of one type and side.
struct TestSegment {
    group: GroupId,
    side: Direction,
    edge_type: TypeId,
    lists: WatchedLists,
    inserted: Vec<(RecordKey, Option<Value>)>,
}

/// Lists of a body.
#[derive(Clone)]
pub(crate) struct WatchedLists {
    body: Arc<EdgeBody>,
    watch: Option<Arc<ReadWatch>>,
}

/// Counts how often lists are read, and cancels at one of these reads; and how often properties of records are.
#[derive(Default)]
pub(crate) struct ReadWatch {
    pub(crate) flag: CancelFlag,
    reads: AtomicUsize,
    cancelled_by: AtomicUsize,
    property_reads: AtomicUsize,
}

impl ReadWatch {
    /// Counts from here on, and cancels at the read of this number, the first of which is 1.
    pub(crate) fn cancel_at(&self, read: usize) {
        self.reads.store(0, Ordering::Relaxed);
        self.cancelled_by.store(read, Ordering::Relaxed);
    }

    /// Reads of lists since.
    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// Segments of which the properties of records were read.
    pub(crate) fn property_reads(&self) -> usize {
        self.property_reads.load(Ordering::Relaxed)
    }
}

/// The neighbours of each vertex that has some, ascending, with the bits of their weights.
pub(crate) type Neighbors = BTreeMap<u32, Vec<(u32, Option<u64>)>>;

/// Those that a visit of `direction` finds.
pub(crate) fn visited(graph: &FrozenGraph<WatchedLists>, direction: Direction) -> Neighbors {
    let mut found = Neighbors::new();
    let visit = |vertex: u32, piece: Piece<'_>| {
        assert!(piece.neighbors.is_sorted());
        assert!(piece.weights.is_empty() || piece.weights.len() == piece.neighbors.len());
        let weights = piece.weights.iter().map(|weight| Some(weight.to_bits()));
        let pairs = piece.neighbors.iter().copied().zip(weights.chain(std::iter::repeat(None)));
        found.entry(vertex).or_default().extend(pairs);
        Visit::Continue
    };
    graph
        .visit(direction, 0..graph.bound(), &mut PieceBuffer::default(), visit)
        .expect("both sides are there");
    found.retain(|_, list| !list.is_empty());
    found.values_mut().for_each(|list| list.sort_unstable());
    found
}

/// What a visit of `direction` should find in a source of [`LABELS`].
pub(crate) fn expected(edges: &[TestEdge], projection: &Projection, direction: Direction) -> Neighbors {
    let has_label = |vertex: u32| {
        let label = LabelId(LABELS[VertexId(vertex).group().0 as usize]);
        projection.labels.as_ref().is_none_or(|labels| labels.contains(&label))
    };
    let mut lists = Neighbors::new();
    for edge in edges {
        if !has_label(edge.source) || !has_label(edge.target) || !projection.has_type(TypeId(edge.edge_type))
        {
            continue;
        }
        let number =
            |weight: &Weight| edge.value.as_ref().map_or(weight.missing, Value::as_f64).map(f64::to_bits);
        let weight = projection.weight.as_ref().and_then(number);
        if direction != Direction::In {
            lists.entry(edge.source).or_default().push((edge.target, weight));
        }
        if direction != Direction::Out {
            lists.entry(edge.target).or_default().push((edge.source, weight));
        }
    }
    lists.values_mut().for_each(|list| list.sort_unstable());
    lists
}

/// The edges of some types, with weights.
pub(crate) fn weighted(missing: Option<f64>, types: Option<Vec<TypeId>>, direction: Direction) -> Projection {
    let weight = Some(Weight { key: WEIGHT, missing });
    Projection { types, weight, ..Projection::all(direction) }
}

/// What is reserved for a purpose, in bytes.
pub(crate) fn reserved_bytes(budget: &MemoryBudget, purpose: &str) -> u64 {
    let reservations = budget.reservations();
    reservations.iter().find(|(found, _)| **found == *purpose).map_or(0, |(_, bytes)| *bytes)
}

/// Freezes a projection, where edges of type 1 have the property, whose values are of `value_type`.
pub(crate) fn frozen(
    source: &TestSource,
    kept: Option<&LabelLists>,
    projection: &Projection,
    value_type: ValueType,
    budget: &MemoryBudget,
) -> Result<FrozenGraph<WatchedLists>> {
    frozen_as(source, kept, projection, &catalogue(&[1], value_type), budget)
}

/// The same, as `catalogue` says.
pub(crate) fn frozen_as(
    source: &TestSource,
    kept: Option<&LabelLists>,
    projection: &Projection,
    catalogue: &Catalogue,
    budget: &MemoryBudget,
) -> Result<FrozenGraph<WatchedLists>> {
    let cancel = source.cancel_flag();
    let budget: Arc<dyn Budget> = Arc::new(budget.clone());
    let request = FreezeRequest { catalogue, projection, budget: &budget, cancel: &cancel };
    FrozenGraph::new(source, kept, &request)
}

/// Labels 0 and 1, and types 0 and 1 between any of them, of which `with_property` have the property.
pub(crate) fn catalogue(with_property: &[u16], value_type: ValueType) -> Catalogue {
    let mut catalogue = Catalogue::default();
    catalogue.apply(&SchemaChange::AddKey { id: WEIGHT, name: "weight".into() });
    for number in 0..2 {
        let (label, edge_type) = (format!("L{number}").into(), format!("T{number}").into());
        catalogue.apply(&SchemaChange::AddLabel { id: LabelId(number), name: label });
        catalogue.apply(&SchemaChange::AddEdgeType { id: TypeId(number), name: edge_type, simple: false });
        for (source, target) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let (source, target) = (LabelId(source), LabelId(target));
            catalogue.apply(&SchemaChange::Join { edge_type: TypeId(number), source, target });
        }
    }
    for edge_type in with_property {
        let owner = Owner::EdgeType(TypeId(*edge_type));
        catalogue.apply(&SchemaChange::DefineProperty { owner, key: WEIGHT, value_type });
    }
    catalogue
}

impl TestSource {
    /// Groups of these labels, and the edges between their vertices. Parallel ones may be there.
    pub(crate) fn new(labels: &[u16], edges: &[TestEdge], watch: Option<&Arc<ReadWatch>>) -> Self {
        // Row, neighbour and discriminator; group, type and whether it is the in side.
        type Lists<'a> = BTreeMap<(u16, u32, u16), &'a TestEdge>;
        type Subject = (u32, u16, bool);
        let mut segments: BTreeMap<Subject, (Lists<'_>, Lists<'_>)> = BTreeMap::new();
        let mut parallel: BTreeMap<(u32, u16, u32), u16> = BTreeMap::new();
        for edge in edges {
            let count = parallel.entry((edge.source, edge.edge_type, edge.target)).or_default();
            for (own, other, is_in) in [(edge.source, edge.target, false), (edge.target, edge.source, true)] {
                let own = VertexId(own);
                let (stored, fresh) = segments.entry((own.group().0, edge.edge_type, is_in)).or_default();
                let lists = if edge.is_fresh { fresh } else { stored };
                lists.insert((own.row(), other, *count), edge);
            }
            *count += 1;
        }
        let segment = |((group, edge_type, is_in), (stored, inserted)): (Subject, (Lists<'_>, Lists<'_>))| {
            let mut degrees = vec![0; GROUP_SIZE as usize];
            stored.keys().for_each(|key| degrees[usize::from(key.0)] += 1);
            let neighbors = stored.keys().map(|key| key.1).collect();
            let discriminators = stored.keys().map(|key| key.2).collect();
            let column = PackedColumn::from_values(stored.values().map(|edge| edge.value.as_ref()));
            let columns = column.filter(|_| !is_in).map(|column| (WEIGHT, Arc::new(column)));
            let body = EdgeBody::new(&degrees, neighbors, discriminators, columns.into_iter().collect());
            let inserted = inserted.into_iter().map(|((row, neighbor, discriminator), edge)| {
                (RecordKey::edge(row, neighbor, discriminator), edge.value.clone().filter(|_| !is_in))
            });
            TestSegment {
                group: GroupId(group),
                side: if is_in { Direction::In } else { Direction::Out },
                edge_type: TypeId(edge_type),
                lists: WatchedLists { body: Arc::new(body), watch: watch.cloned() },
                inserted: inserted.collect(),
            }
        };
        Self {
            labels: labels.iter().copied().map(LabelId).collect(),
            segments: segments.into_iter().map(segment).collect(),
        }
    }

    /// Inserts an edge that is parallel to no other, as a record on lists that are there.
    pub(crate) fn insert(&mut self, edge: &TestEdge) {
        let sides = [(edge.source, edge.target, Direction::Out), (edge.target, edge.source, Direction::In)];
        for (own, other, side) in sides {
            let own = VertexId(own);
            let subject = (own.group(), side, TypeId(edge.edge_type));
            let mut segments = self.segments.iter_mut();
            let found = segments.find(|found| (found.group, found.side, found.edge_type) == subject);
            let inserted = &mut found.expect("there are edges of the type in the group").inserted;
            let value = edge.value.clone().filter(|_| side == Direction::Out);
            inserted.push((RecordKey::edge(own.row(), other, 0), value));
            inserted.sort_by_key(|record| record.0);
        }
    }

    /// What somebody who watches cancels.
    fn cancel_flag(&self) -> CancelFlag {
        let watch = self.segments.iter().find_map(|segment| segment.lists.watch.as_ref());
        watch.map(|watch| watch.flag.clone()).unwrap_or_default()
    }
}

impl FreezeSource for TestSource {
    type Lists = WatchedLists;

    fn group_count(&self) -> u32 {
        self.labels.len() as u32
    }

    fn label(&self, group: GroupId) -> Result<Option<LabelId>> {
        Ok(self.labels.get(group.0 as usize).copied())
    }

    fn live(&self, _: GroupId) -> Result<GroupBits> {
        Ok([u64::MAX; 64])
    }

    fn for_each_segment(
        &self,
        group: GroupId,
        side: Direction,
        wanted: &dyn Fn(TypeId) -> bool,
        freeze: &mut FreezeVisitor<'_, WatchedLists>,
    ) -> Result<()> {
        let mut found = self
            .segments
            .iter()
            .filter(|found| found.group == group && found.side == side && wanted(found.edge_type));
        found.try_for_each(|segment| freeze(segment.edge_type, segment))
    }
}

impl FreezeSegment for TestSegment {
    type Lists = WatchedLists;

    fn lists(&self) -> Result<WatchedLists> {
        Ok(self.lists.clone())
    }

    fn changes(&self) -> Result<ListChanges> {
        Ok(ListChanges::Inserted(self.inserted.iter().map(|(key, _)| *key).collect()))
    }

    fn inexact(&self, problem: String) -> Error {
        Error::new(ErrorKind::Corrupt, problem)
    }

    fn with_nets(&self, read: &mut dyn FnMut(&[Net]) -> Result<()>) -> Result<()> {
        if let Some(watch) = &self.lists.watch {
            watch.property_reads.fetch_add(1, Ordering::Relaxed);
        }
        let net = |(key, value): &(RecordKey, Option<Value>)| {
            let properties: Properties =
                value.clone().map(|value| (WEIGHT, Some(value))).into_iter().collect();
            Net { key: *key, effect: Effect::Present(properties), difference: 1 }
        };
        let nets: Vec<Net> = self.inserted.iter().map(net).collect();
        read(&nets)
    }

    fn body(&self, _: &[KeyId]) -> Result<Arc<EdgeBody>> {
        Ok(Arc::clone(&self.lists.body))
    }
}

impl StoredLists for WatchedLists {
    type Column = Arc<PackedColumn>;

    fn of_copy(body: Arc<EdgeBody>) -> Self {
        Self { body, watch: None }
    }

    fn identity(&self) -> BodyIdentity {
        Arc::clone(&self.body) as BodyIdentity
    }

    fn lists(&self) -> Result<EdgeLists<'_>> {
        if let Some(watch) = &self.watch {
            let read = watch.reads.fetch_add(1, Ordering::Relaxed) + 1;
            if read == watch.cancelled_by.load(Ordering::Relaxed) {
                watch.flag.cancel();
            }
        }
        Ok(EdgeBody::lists(&self.body))
    }

    fn column(&self, key: KeyId) -> Result<Option<Arc<PackedColumn>>> {
        Ok(EdgeBody::column(&self.body, key).cloned())
    }
}
