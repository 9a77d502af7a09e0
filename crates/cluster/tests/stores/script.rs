//! Script: messages of one author, from a seed, and the graph that they come to, said naively.
//!
//! Unlike those of `tests/nodes` its mutations fit the graph, so that real stores take them. Certifier and tables are real,
//! too: of each message one transaction may be refused, the others cannot be.

use crate::shown::Shown;
use crate::simulation::tally::tally;
use crate::simulation::written_log::WrittenLog;
use evergraph_cluster::certification::certifier::CertifierLimits;
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::key_hash::graph_salt::{GraphSalt, KeyHash};
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::replicated_state::{DecidedMessage, RecordResult, ReplicatedState};
use evergraph_cluster::record::body::{NewName, Record, RecordBody};
use evergraph_cluster::record::message::{Message, MessageBuilder};
use evergraph_cluster::record::payload::payloads;
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_cluster::tables::cluster_tables::{ClusterTables, TableAnswer};
use evergraph_cluster::tables::members::Members;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, PartitionId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::{OwnGroups, PartitionCount};
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::value::{Value, ValueType};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub const SALT: GraphSalt = GraphSalt(*b"salt of a graph.");
/// The label whose weights are in an index, once it is ready.
pub const PERSON: LabelId = LabelId(0);
pub const WEIGHT: KeyId = KeyId(0);
/// Weights are below it.
pub const WEIGHTS: i64 = 9;
const PARTITIONS: u16 = 3;
const POST: LabelId = LabelId(1);
const KNOWS: TypeId = TypeId(0);
const AUTHOR: Author = Author { node: NodeId(0), incarnation: 0 };
/// What every transaction touches: one that checks it commits only if none came before.
const ANYTHING: KeyHash = KeyHash(1);
/// The index is created by the first record of this message.
const CREATES_INDEX: LogPosition = LogPosition(3);

pub fn partitions() -> impl Iterator<Item = OwnGroups> {
    (0..PARTITIONS).map(|partition| OwnGroups::new(PartitionId(partition), partition_count()).unwrap())
}

fn partition_count() -> PartitionCount {
    PartitionCount::new(PARTITIONS).unwrap()
}

/// The state that the cluster is created with; the author has joined.
pub fn first_state() -> ReplicatedState {
    let mut members = Members::new([(AUTHOR.node, "node-0:1".into())]);
    members.join(AUTHOR, "node-0:1".into()).unwrap();
    let tables = ClusterTables::new(partition_count(), members, 1);
    ReplicatedState::new(SALT, CertifierLimits::default(), tables)
}

tally! {
    /// What happened in a script, by kind.
    pub struct Tally {
        pub commits: u32,
        pub refused: u32,
        pub doubles: u32,
        /// Edges whose ends lie in different partitions.
        pub divided_edges: u32,
        pub deleted_vertices: u32,
    }
}

/// Messages, and what follows from them.
pub struct Script {
    messages: Vec<Arc<[u8]>>,
    /// The log through each of them, with the beginning.
    pub seen: Vec<SeenLog>,
    /// The graph after each of them, with the empty one.
    graphs: Vec<Shown>,
    pub tally: Tally,
}

impl Script {
    /// So many messages, more than a dozen.
    pub fn new(seed: u64, messages: usize) -> Self {
        let mut writer = Writer {
            chance: SeededChance::new(seed),
            log: WrittenLog::new(first_state()),
            next_number: 1,
            next_discriminator: 0,
            free: Vec::new(),
            sent: BTreeMap::new(),
            graph: Shown::default(),
            graphs: vec![Shown::default()],
            tally: Tally::default(),
        };
        writer.send(vec![
            name(NewName::Label("Person".into())),
            name(NewName::Label("Post".into())),
            name(NewName::EdgeType("KNOWS".into())),
            name(NewName::Key("weight".into())),
        ]);
        let rows = |(label, partition)| RecordBody::Rows {
            label,
            partition: PartitionId(partition),
            touches: Vec::new(),
        };
        writer.send([(PERSON, 0), (PERSON, 1), (PERSON, 2), (POST, 1)].map(rows).into());
        writer.send(vec![RecordBody::CreateIndex { index: index(), touches: Vec::new() }]);
        while writer.log.messages.len() < messages {
            if writer.log.messages.len() == messages / 2 {
                let created = CREATES_INDEX.timestamp(0);
                writer.send(vec![RecordBody::IndexReady { index: index(), created, touches: Vec::new() }]);
            } else if writer.chance.happens(OneIn(8)) {
                let earlier = writer.chance.below(writer.log.messages.len() as u64) as usize;
                writer.append(Arc::clone(&writer.log.messages[earlier]));
            } else {
                writer.send_transactions();
            }
        }
        let Writer { log, graphs, tally, .. } = writer;
        let WrittenLog { messages, seen, .. } = log;
        Self { messages, seen, graphs, tally }
    }

    /// The last message.
    pub fn end(&self) -> LogPosition {
        LogPosition(self.messages.len() as u64)
    }

    pub fn message(&self, position: LogPosition) -> ReadMessage {
        let bytes = Arc::clone(&self.messages[position.0 as usize - 1]);
        ReadMessage { position, message: Message::decode(&bytes).unwrap(), bytes }
    }

    /// What a partition shows after a message.
    pub fn part_at(&self, position: LogPosition, own: OwnGroups) -> Shown {
        self.graphs[position.0 as usize].part(own)
    }
}

fn name(name: NewName) -> RecordBody {
    RecordBody::Name { name, touches: Vec::new() }
}

fn index() -> IndexDefinition {
    let id = IndexId { owner: Owner::Label(PERSON), key: WEIGHT, kind: IndexKind::Hash };
    IndexDefinition { id, unique: false }
}

struct Writer {
    chance: SeededChance,
    log: WrittenLog,
    next_number: u64,
    next_discriminator: u16,
    /// Vertices that may be inserted.
    free: Vec<VertexId>,
    /// Transactions by their numbers, until they commit.
    sent: BTreeMap<u64, Vec<Mutation>>,
    graph: Shown,
    graphs: Vec<Shown>,
    tally: Tally,
}

/// What one transaction has changed so far: each vertex and each edge once.
#[derive(Default)]
struct Changed {
    vertices: BTreeSet<VertexId>,
    edges: BTreeSet<EdgeId>,
}

impl Writer {
    fn send(&mut self, bodies: Vec<RecordBody>) {
        let mut builder = MessageBuilder::new(AUTHOR);
        for body in bodies {
            assert!(builder.push(&Record { number: self.next_number, body }), "some small records have room");
            self.next_number += 1;
        }
        self.append(builder.finish(&self.log.seen_behind(0)).into());
    }

    /// The log gets a message, new or not.
    fn append(&mut self, bytes: Arc<[u8]>) {
        let decided = self.log.append(bytes);
        self.learn(&decided);
        self.graphs.push(self.graph.clone());
    }

    fn learn(&mut self, decided: &DecidedMessage) {
        for commit in &decided.commits {
            let Some(mutations) = self.sent.remove(&commit.id.number) else { continue };
            self.tally.commits += 1;
            for mutation in &mutations {
                change(&mut self.graph, mutation);
                match mutation {
                    Mutation::DeleteVertex { .. } => self.tally.deleted_vertices += 1,
                    Mutation::InsertEdge { edge, .. } => {
                        let [source, target] =
                            [edge.source, edge.target].map(|end| partition_count().of_group(end.group()));
                        self.tally.divided_edges += u32::from(source != target);
                    }
                    _ => {}
                }
            }
        }
        for record in &decided.records {
            match record.result {
                RecordResult::Refused(_) => self.tally.refused += 1,
                RecordResult::Double(_) => self.tally.doubles += 1,
                RecordResult::Table(TableAnswer::Rows(Ok(range))) => {
                    self.free.extend(range.vertices().take(12))
                }
                RecordResult::Table(TableAnswer::Index(answer)) => assert_eq!(answer, Ok(())),
                _ => {}
            }
        }
    }

    /// A message of some transactions that commit, and perhaps one that checks what they touch. Or a barrier.
    fn send_transactions(&mut self) {
        let (mut graph, mut bodies) = (self.graph.clone(), Vec::new());
        for _ in 0..self.chance.below(4) {
            let mutations = self.mutations(&mut graph);
            bodies.extend(self.transaction(bodies.len(), (self.log.seen_behind(0), Vec::new()), mutations));
        }
        if self.chance.happens(OneIn(3)) {
            // Nothing is built on it.
            let mutations = self.mutations(&mut graph);
            let behind = self.chance.below(3) as usize;
            let since = self.log.seen_behind(behind);
            bodies.extend(self.transaction(bodies.len(), (since, vec![ANYTHING]), mutations));
        }
        if bodies.is_empty() {
            bodies.push(RecordBody::Barrier);
        }
        self.send(bodies);
    }

    /// The record of a transaction in the next message, behind so many others.
    fn transaction(
        &mut self,
        place: usize,
        (since, checks): (SeenLog, Vec<KeyHash>),
        mutations: Vec<Mutation>,
    ) -> Option<RecordBody> {
        if mutations.is_empty() {
            return None;
        }
        let payloads = payloads(&mutations, partition_count()).unwrap();
        self.sent.insert(self.next_number + place as u64, mutations);
        let last =
            TransactionPart { checks, touches: vec![ANYTHING], payloads, ..TransactionPart::default() };
        Some(RecordBody::Transaction { since: since.position.end(), parts: 0, last })
    }

    /// Changes of `graph`, exact on what it is before them.
    fn mutations(&mut self, graph: &mut Shown) -> Vec<Mutation> {
        let (mut mutations, mut changed) = (Vec::new(), Changed::default());
        for _ in 0..=self.chance.below(4) {
            for mutation in self.wish(graph, &changed) {
                changed.note(&mutation);
                change(graph, &mutation);
                mutations.push(mutation);
            }
        }
        if !mutations.is_empty() && self.chance.happens(OneIn(5)) {
            let owner = Owner::Label(PERSON);
            let defined = SchemaChange::DefineProperty { owner, key: WEIGHT, value_type: ValueType::I64 };
            mutations.insert(0, Mutation::Schema(defined));
        }
        mutations
    }

    fn pick<T: Copy>(&mut self, from: impl Iterator<Item = T>) -> Option<T> {
        let all: Vec<T> = from.collect();
        let at = self.chance.below(all.len().max(1) as u64) as usize;
        all.get(at).copied()
    }

    fn weight(&mut self) -> Properties {
        let weight = Value::I64(self.chance.below(WEIGHTS as u64) as i64);
        Properties::new(vec![(WEIGHT, Some(weight))])
    }

    /// A weight, or none any more.
    fn other_weight(&mut self) -> Properties {
        if self.chance.happens(OneIn(4)) { Properties::new(vec![(WEIGHT, None)]) } else { self.weight() }
    }

    fn wish(&mut self, graph: &Shown, changed: &Changed) -> Vec<Mutation> {
        let is_unchanged = |vertex: &VertexId| !changed.vertices.contains(vertex);
        let vertex = self.pick(graph.vertices.keys().copied().filter(is_unchanged));
        let end = self.pick(graph.vertices.keys().copied());
        let edge = self.pick(graph.out.keys().copied().filter(|edge| !changed.edges.contains(edge)));
        let properties = self.weight();
        match (self.chance.below(12), vertex, end, edge) {
            (0..=3, ..) => {
                let at = self.chance.below(self.free.len().max(1) as u64) as usize;
                if at >= self.free.len() {
                    return Vec::new();
                }
                let vertex = self.free.swap_remove(at);
                let label = self.log.state.tables().groups().label(vertex.group()).unwrap();
                vec![Mutation::InsertVertex { vertex, label, properties }]
            }
            (4 | 5, Some(vertex), ..) => {
                vec![Mutation::SetVertexProperties { vertex, properties: self.other_weight() }]
            }
            (6..=8, Some(source), Some(target), _) => {
                self.next_discriminator += 1;
                let discriminator = self.next_discriminator;
                let edge = EdgeId { source, edge_type: KNOWS, target, discriminator };
                vec![Mutation::InsertEdge { edge, properties }]
            }
            (9, .., Some(edge)) => {
                vec![Mutation::SetEdgeProperties { edge, properties: self.other_weight() }]
            }
            (10, .., Some(edge)) => vec![Mutation::DeleteEdge { edge }],
            (11, Some(vertex), ..) => {
                let edges = graph.into.iter().filter(|edge| edge.source == vertex || edge.target == vertex);
                let edges: Vec<EdgeId> = edges.copied().collect();
                if edges.iter().any(|edge| changed.edges.contains(edge)) {
                    return Vec::new();
                }
                let deleted = edges.into_iter().map(|edge| Mutation::DeleteEdge { edge });
                deleted.chain([Mutation::DeleteVertex { vertex }]).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Changed {
    fn note(&mut self, mutation: &Mutation) {
        let is_new = match mutation {
            Mutation::InsertVertex { vertex, .. }
            | Mutation::SetVertexProperties { vertex, .. }
            | Mutation::DeleteVertex { vertex } => self.vertices.insert(*vertex),
            Mutation::InsertEdge { edge, .. }
            | Mutation::SetEdgeProperties { edge, .. }
            | Mutation::DeleteEdge { edge } => self.edges.insert(*edge),
            other => panic!("{other:?} is never made"),
        };
        assert!(is_new, "{mutation:?} is the second change");
    }
}

/// What a mutation does to a whole graph.
pub fn change(graph: &mut Shown, mutation: &Mutation) {
    match mutation {
        Mutation::InsertVertex { vertex, label, properties } => {
            let before = graph.vertices.insert(*vertex, (*label, changed(Vec::new(), properties)));
            assert!(before.is_none(), "{vertex} is inserted twice");
        }
        Mutation::SetVertexProperties { vertex, properties } => {
            let (_, values) = graph.vertices.get_mut(vertex).unwrap();
            *values = changed(std::mem::take(values), properties);
        }
        Mutation::DeleteVertex { vertex } => drop(graph.vertices.remove(vertex).unwrap()),
        Mutation::InsertEdge { edge, properties } => {
            graph.out.insert(*edge, changed(Vec::new(), properties));
            graph.into.insert(*edge);
        }
        Mutation::SetEdgeProperties { edge, properties } => {
            let values = graph.out.get_mut(edge).unwrap();
            *values = changed(std::mem::take(values), properties);
        }
        Mutation::DeleteEdge { edge } => {
            graph.out.remove(edge).unwrap();
            graph.into.remove(edge);
        }
        Mutation::Schema(_) => {}
        other => panic!("{other:?} is never made"),
    }
}

fn changed(mut values: Vec<(KeyId, Value)>, properties: &Properties) -> Vec<(KeyId, Value)> {
    for (key, value) in properties.as_slice() {
        values.retain(|(known, _)| known != key);
        values.extend(value.clone().map(|value| (*key, value)));
    }
    values.sort_by_key(|(key, _)| *key);
    values
}
