//! Script: messages of other nodes, from a seed, and what follows from them if they are applied in one go.
//!
//! Records are of every kind; some conflict, come twice, are too old, or ask for what tables refuse. Writers start again and
//! join, and processes of theirs from before write on; some transactions cannot be read. Other mutations need not fit the
//! graph: the toy partitions keep whatever they are given.

use crate::simulation::tally::tally;
use crate::simulation::written_log::WrittenLog;
use crate::toy_partition::History;
use evergraph_cluster::certification::certifier::CertifierLimits;
use evergraph_cluster::certification::outcome::{Outcome, Refusal};
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::key_hash::graph_salt::{GraphSalt, KeyHash};
use evergraph_cluster::node::checkpoint;
use evergraph_cluster::node::replicated_state::{DecidedMessage, RecordResult, ReplicatedState};
use evergraph_cluster::record::body::{NewName, PlaceChange, PlaceStep, Record, RecordBody, UniqueStep};
use evergraph_cluster::record::message::MessageBuilder;
use evergraph_cluster::record::payload::payloads;
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::{Author, NodeId, RecordId};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_cluster::tables::cluster_tables::{ClusterTables, TableAnswer};
use evergraph_cluster::tables::members::Members;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, PartitionId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::transaction::payload::encode;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const SALT: GraphSalt = GraphSalt(*b"salt of a graph.");
/// Partitions of the graph.
pub const PARTITIONS: u16 = 4;
/// The node that runs; the others write.
pub const NODE: NodeId = NodeId(1);
const WRITERS: [NodeId; 2] = [NodeId(0), NodeId(2)];

pub fn partitions() -> PartitionCount {
    PartitionCount::new(PARTITIONS).unwrap()
}

/// The state that the cluster is created with; the writers have joined.
pub fn first_state() -> ReplicatedState {
    let address = |node: u16| Box::<str>::from(format!("node-{node}:1"));
    let mut members = Members::new((0..3).map(|node| (NodeId(node), address(node))));
    for node in WRITERS {
        members.join(Author { node, incarnation: 0 }, address(node.0)).unwrap();
    }
    let tables = ClusterTables::new(partitions(), members, 2);
    // Generations of about ten messages.
    let limits = CertifierLimits { generation_slots: 150, parts_bytes: 4000 };
    ReplicatedState::new(SALT, limits, tables)
}

tally! {
    /// What happened in a script, by kind.
    pub struct Tally {
        pub commits: u32,
        pub conflicts: u32,
        pub too_old: u32,
        pub doubles: u32,
        pub parts: u32,
        pub given: u32,
        pub named: u32,
        pub indexes: u32,
        pub placed: u32,
        pub joined: u32,
        pub refused_by_tables: u32,
        pub fenced: u32,
        pub malformed: u32,
    }
}

/// Messages, and what follows from them.
pub struct Script {
    pub messages: Vec<Arc<[u8]>>,
    /// The node's checkpoint after all of them.
    pub state: Vec<u8>,
    pub seen: SeenLog,
    pub histories: BTreeMap<PartitionId, History>,
    pub tally: Tally,
}

struct Writer {
    chance: SeededChance,
    log: WrittenLog,
    numbers: BTreeMap<NodeId, u64>,
    /// How often each writer started before.
    incarnations: BTreeMap<NodeId, u32>,
    /// Vertices that may be inserted, and those that were written about.
    free: Vec<VertexId>,
    vertices: Vec<VertexId>,
    edges: u16,
    histories: BTreeMap<PartitionId, History>,
    tally: Tally,
}

impl Script {
    /// So many messages.
    pub fn new(seed: u64, messages: usize) -> Self {
        let mut writer = Writer {
            chance: SeededChance::new(seed),
            log: WrittenLog::new(first_state()),
            numbers: BTreeMap::new(),
            incarnations: BTreeMap::new(),
            free: Vec::new(),
            vertices: Vec::new(),
            edges: 0,
            histories: (0..PARTITIONS).map(|partition| (PartitionId(partition), Vec::new())).collect(),
            tally: Tally::default(),
        };
        (0..messages).for_each(|_| writer.write());
        let Writer { log, histories, tally, .. } = writer;
        let WrittenLog { messages, state, .. } = log;
        Self { messages, state: checkpoint::encode(&state), seen: state.seen(), histories, tally }
    }
}

impl Writer {
    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.chance.below(from.len() as u64) as usize].clone()
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.chance.happens(OneIn(count))
    }

    /// The next message of the log: a new one, or one that came before.
    fn write(&mut self) {
        let bytes = if self.log.messages.len() > 2 && self.one_in(7) {
            let messages = self.log.messages.clone();
            self.pick(&messages)
        } else {
            self.message()
        };
        let mut decided = self.log.append(bytes);
        self.learn(&mut decided);
    }

    fn message(&mut self) -> Arc<[u8]> {
        let node = self.pick(&WRITERS);
        // A writer may be some messages behind, rarely many.
        let behind = if self.one_in(8) { 40 } else { 4 };
        let behind = self.chance.below(behind) as usize;
        let mut seen = self.log.seen_behind(behind);
        let is_start = self.one_in(12);
        if is_start {
            // Who joins has read everything.
            seen = self.log.seen_behind(0);
        }
        let incarnation = self.incarnations.entry(node).or_default();
        *incarnation += u32::from(is_start);
        let mut author = Author { node, incarnation: *incarnation };
        if !is_start && self.one_in(9) {
            // The process from before the last start.
            author.incarnation = author.incarnation.saturating_sub(1);
        }
        let mut builder = MessageBuilder::new(author);
        if is_start {
            let (number, body) = (self.next_number(node), self.join(node));
            assert!(builder.push(&Record { number, body }));
        }
        for _ in 0..=self.chance.below(3) {
            for body in self.bodies(node, &seen) {
                let number = self.next_number(node);
                assert!(builder.push(&Record { number, body }), "some small records have room");
            }
        }
        builder.finish(&seen).into()
    }

    fn join(&mut self, node: NodeId) -> RecordBody {
        RecordBody::Join { address: format!("node-{}:{}", node.0, self.chance.below(9)).into() }
    }

    fn next_number(&mut self, node: NodeId) -> u64 {
        let number = self.numbers.entry(node).or_default();
        *number += 1;
        *number
    }

    fn hashes(&mut self, most: u64) -> Vec<KeyHash> {
        (0..self.chance.below(most)).map(|_| KeyHash(self.chance.below(40))).collect()
    }

    /// One record, or a part and its transaction.
    fn bodies(&mut self, node: NodeId, seen: &SeenLog) -> Vec<RecordBody> {
        let since = seen.position.end();
        let partition = PartitionId(self.chance.below(u64::from(PARTITIONS)) as u16);
        let touches = self.hashes(2);
        let body = match self.chance.below(14) {
            0 | 1 => RecordBody::Name { name: self.name(), touches },
            2 => RecordBody::Rows { label: LabelId(self.chance.below(2) as u16), partition, touches },
            3 => RecordBody::CreateIndex { index: self.index(), touches },
            4 => self.about_a_build(since, touches),
            5 => self.join(node),
            6 => {
                let step = self.pick(&[PlaceStep::Copy, PlaceStep::Serve, PlaceStep::Drop]);
                RecordBody::Place(PlaceChange { since, partition, node: self.pick(&WRITERS), step })
            }
            7 => {
                let number = self.numbers.get(&node).copied().unwrap_or(0) + self.chance.below(4);
                let incarnation = self.incarnations.get(&node).copied().unwrap_or_default();
                let author = Author { node, incarnation };
                RecordBody::Cancel { of: RecordId { author, number }, since }
            }
            8 => RecordBody::Barrier,
            _ => {
                let part = self.transaction(touches);
                if self.one_in(4) {
                    let of = self.numbers.get(&node).copied().unwrap_or(0) + 2;
                    let last = TransactionPart::default();
                    let ahead = RecordBody::Part { of, place: 0, part };
                    return vec![ahead, RecordBody::Transaction { since, parts: 1, last }];
                }
                RecordBody::Transaction { since, parts: 0, last: part }
            }
        };
        vec![body]
    }

    /// A record of an index that is being built, or was.
    fn about_a_build(&mut self, since: Timestamp, touches: Vec<KeyHash>) -> RecordBody {
        let mut index = self.index();
        let turn = self.log.messages.len();
        let builds = self.log.state.tables().builds();
        let build = builds.get(index.id).or_else(|| builds.all().next());
        let created = build.map_or(since, |build| {
            index = build.definition;
            if turn.is_multiple_of(6) { since } else { build.created }
        });
        match turn % 4 {
            0 => RecordBody::UniqueIndex { index, created, step: UniqueStep::Enforce, touches },
            1 => RecordBody::UniqueIndex { index, created, step: UniqueStep::Confirm, touches },
            _ => RecordBody::IndexReady { index, created, touches },
        }
    }

    fn name(&mut self) -> NewName {
        let names = [
            NewName::Label("Person".into()),
            NewName::Label("Post".into()),
            NewName::Key("name".into()),
            NewName::Key("since".into()),
            NewName::EdgeType("KNOWS".into()),
            NewName::SimpleEdgeType("KNOWS".into()),
            NewName::MetaKey(KeyId(0)),
        ];
        self.pick(&names)
    }

    fn index(&mut self) -> IndexDefinition {
        let kind = self.pick(&IndexKind::BY_VALUE);
        let id = IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(0), kind };
        IndexDefinition { id, unique: kind == IndexKind::Hash }
    }

    fn transaction(&mut self, touches: Vec<KeyHash>) -> TransactionPart {
        let value = self.chance.below(9) as i64;
        let properties = Properties::new(vec![(KeyId(0), Some(Value::I64(value)))]);
        let mut mutations = Vec::new();
        // A new one is changed by no second mutation.
        let known = self.vertices.clone();
        if let Some(vertex) = self.free.pop() {
            let label = self.log.state.tables().groups().label(vertex.group()).unwrap();
            mutations.push(Mutation::InsertVertex { vertex, label, properties: properties.clone() });
            self.vertices.push(vertex);
        }
        if !self.vertices.is_empty() {
            let vertices = self.vertices.clone();
            self.edges += 1;
            let (source, target) = (self.pick(&vertices), self.pick(&vertices));
            let edge = EdgeId { source, edge_type: TypeId(0), target, discriminator: self.edges };
            mutations.push(Mutation::InsertEdge { edge, properties: properties.clone() });
            if !known.is_empty() {
                let vertex = self.pick(&known);
                mutations.push(Mutation::SetVertexProperties { vertex, properties });
            }
        }
        if self.one_in(3) {
            // Two that say the same agree.
            let (owner, key) = (Owner::Label(LabelId(0)), KeyId(0));
            let join = SchemaChange::Join { edge_type: TypeId(0), source: LabelId(0), target: LabelId(0) };
            let defined = SchemaChange::DefineProperty { owner, key, value_type: ValueType::I64 };
            mutations.extend([join, defined].map(Mutation::Schema));
        }
        let checks = self.hashes(2);
        let mut payloads = payloads(&mutations, partitions()).unwrap();
        if self.one_in(12)
            && let Some(payload) = payloads.last_mut()
        {
            // The last mutation ends too soon.
            payload.mutations.pop();
        }
        TransactionPart { checks, touches, payloads, ..TransactionPart::default() }
    }

    fn learn(&mut self, decided: &mut DecidedMessage) {
        for commit in &mut decided.commits {
            for (partition, history) in &mut self.histories {
                let mutations = commit.take_mutations_of(*partition);
                if !mutations.is_empty() {
                    history.push((commit.timestamp, encode(&mutations)));
                }
            }
        }
        for record in &decided.records {
            let tally = &mut self.tally;
            match record.result {
                RecordResult::Committed => tally.commits += 1,
                RecordResult::Refused(Refusal::Conflict { .. }) => tally.conflicts += 1,
                RecordResult::Refused(Refusal::TooOld { .. }) => tally.too_old += 1,
                RecordResult::Refused(Refusal::Fenced) => tally.fenced += 1,
                RecordResult::Refused(Refusal::Malformed(_)) => tally.malformed += 1,
                RecordResult::Double(Outcome::Committed(_)) => tally.doubles += 1,
                RecordResult::PartKept => tally.parts += 1,
                RecordResult::Table(answer) => self.learn_answer(answer),
                _ => {}
            }
        }
    }

    fn learn_answer(&mut self, answer: TableAnswer) {
        let tally = &mut self.tally;
        match answer {
            TableAnswer::Rows(Ok(range)) => {
                tally.given += 1;
                self.free.extend(range.vertices().take(6));
            }
            TableAnswer::Name(Ok(_)) => tally.named += 1,
            TableAnswer::Index(Ok(())) => tally.indexes += 1,
            TableAnswer::Place(Ok(())) => tally.placed += 1,
            TableAnswer::Rows(Err(_))
            | TableAnswer::Name(Err(_))
            | TableAnswer::Index(Err(_))
            | TableAnswer::Place(Err(_))
            | TableAnswer::Member(Err(_)) => tally.refused_by_tables += 1,
            TableAnswer::Member(Ok(())) => tally.joined += 1,
            TableAnswer::Barrier => {}
        }
    }
}
