//! Placed values: what moments say of the partitions of values, beside a naive list of who ever had which value.
//!
//! Records come from a seed: some authors take ids where values belong, some anywhere. Unique indexes are built, dropped and
//! created again, also by transactions that insert vertices; values are changed and removed, vertices deleted. Some
//! transactions conflict, are too old, cannot be read, come in parts or twice. Nodes start again from their checkpoints.

use super::{SharedTables, TablesMoment, TablesPublisher};
use crate::certification::certifier::CertifierLimits;
use crate::certification::outcome::{Outcome, Refusal};
use crate::key_hash::graph_salt::{GraphSalt, KeyHash};
use crate::log::reader::ReadMessage;
use crate::log_position::LogPosition;
use crate::node::apply::AppliedMessage;
use crate::node::checkpoint;
use crate::node::replicated_state::{DecidedMessage, RecordResult, ReplicatedState};
use crate::planted::{Bug, assert_found};
use crate::record::body::{NewName, Record, RecordBody, UniqueStep};
use crate::record::message::{Message, MessageBuilder};
use crate::record::payload::payloads;
use crate::record::transaction_part::TransactionPart;
use crate::record_id::{Author, NodeId};
use crate::remote::remote_snapshot::GraphMap as _;
use crate::seeded::{OneIn, SeededChance};
use crate::tables::cluster_tables::{ClusterTables, TableAnswer};
use crate::tables::index_builds::{BuildStage, IndexBuild};
use crate::tables::members::Members;
use crate::tables::placement_keys::ValuePartitions;
use evergraph_graph::id::{KeyId, LabelId, PartitionId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const SALT: GraphSalt = GraphSalt([7; 16]);
const PARTITIONS: PartitionCount = PartitionCount::new(3).expect("three are possible");
const AUTHOR: Author = Author { node: NodeId(0), incarnation: 0 };
const LABELS: [LabelId; 3] = [LabelId(0), LabelId(1), LabelId(2)];
const KEYS: [KeyId; 2] = [KeyId(0), KeyId(1)];

/// How many kinds of events there are, and how often each must happen.
const KINDS: usize = 16;
const OFTEN: u64 = 30;

/// Some of them are equal, and some only as numbers.
fn all_values() -> Vec<Value> {
    let decimal = |text: &str| Value::Decimal(text.parse().expect("a number"));
    let others = [Value::I32(1), Value::F64(1.0), decimal("1"), decimal("1.00"), Value::String("1".into())];
    (0..8).map(Value::I64).chain(others).collect()
}

/// What is known without the tables of the cluster.
#[derive(Default)]
struct Holders {
    alive: BTreeMap<VertexId, LabelId>,
    /// Labels that had a vertex, ever.
    inhabited: BTreeSet<LabelId>,
    /// The key of the first unique index of a label; `None` if the label had a vertex by then.
    first_unique: BTreeMap<LabelId, Option<KeyId>>,
    /// Who ever got which value, and where.
    held: Vec<(LabelId, KeyId, Value, PartitionId)>,
}

/// What a record does if it happens.
#[derive(Clone)]
enum Effect {
    Nothing,
    Begun(IndexDefinition),
    Ready(IndexDefinition),
    Made(UniqueStep),
    Commits(Vec<Mutation>),
}

/// How often each event happened.
#[derive(Default)]
struct Tally(BTreeMap<&'static str, u64>);

struct World {
    chance: SeededChance,
    /// Whether authors take ids where values belong.
    is_careful: bool,
    state: ReplicatedState,
    publisher: TablesPublisher,
    number: u64,
    free: Vec<VertexId>,
    /// Those about which a record of the message that is being written is.
    busy: BTreeSet<VertexId>,
    holders: Holders,
    messages: Vec<Arc<[u8]>>,
    /// Moments, and how many values had been held by then.
    moments: Vec<(Arc<TablesMoment>, usize)>,
}

impl Tally {
    fn add(&mut self, event: &'static str) {
        *self.0.entry(event).or_default() += 1;
    }

    fn add_commit(&mut self, mutations: &[Mutation]) {
        for mutation in mutations {
            self.add(match mutation {
                Mutation::SetVertexProperties { properties, .. } => match properties.as_slice() {
                    [(_, Some(_))] => "value changed",
                    _ => "value removed",
                },
                Mutation::DeleteVertex { .. } => "vertex deleted",
                Mutation::Schema(SchemaChange::AddIndex(_)) => "index added",
                Mutation::Schema(SchemaChange::DropIndex(_)) => "index dropped",
                _ => continue,
            });
        }
    }

    fn add_result(&mut self, result: RecordResult) {
        self.add(match result {
            RecordResult::Refused(Refusal::Conflict { .. }) => "conflict",
            RecordResult::Refused(Refusal::TooOld { .. }) => "too old",
            RecordResult::Refused(Refusal::Malformed(_)) => "malformed",
            RecordResult::Double(Outcome::Committed(_)) => "double",
            _ => return,
        });
    }

    fn check(&self) {
        let is_often = self.0.len() == KINDS && self.0.values().all(|count| *count >= OFTEN);
        assert!(is_often, "something hardly ever happens: {:?}", self.0);
    }
}

impl Holders {
    fn commit(&mut self, mutations: &[Mutation]) {
        // Changes of the catalogue come first, wherever they are in the record.
        for mutation in mutations {
            if let Mutation::Schema(SchemaChange::AddIndex(index)) = mutation {
                self.add_unique(*index);
            }
        }
        for mutation in mutations {
            let (vertex, properties) = match mutation {
                Mutation::InsertVertex { vertex, label, properties } => {
                    self.inhabited.insert(*label);
                    self.alive.insert(*vertex, *label);
                    (vertex, properties)
                }
                Mutation::SetVertexProperties { vertex, properties } => (vertex, properties),
                Mutation::DeleteVertex { vertex } => {
                    self.alive.remove(vertex);
                    continue;
                }
                _ => continue,
            };
            let (label, partition) = (self.alive[vertex], PARTITIONS.of_group(vertex.group()));
            for (key, value) in properties.as_slice() {
                let held = value.clone().map(|value| (label, *key, value, partition));
                self.held.extend(held);
            }
        }
    }

    fn add_unique(&mut self, index: IndexDefinition) {
        if let Owner::Label(label) = index.id.owner
            && index.unique
        {
            let is_empty = !self.inhabited.contains(&label);
            self.first_unique.entry(label).or_insert(is_empty.then_some(index.id.key));
        }
    }

    /// The key by which all vertices of a label are placed.
    fn key(&self, label: LabelId) -> Option<KeyId> {
        let key = (*self.first_unique.get(&label)?)?;
        let values = ValuePartitions { salt: SALT, count: PARTITIONS };
        let mut of_key = self.held.iter().filter(|(of, by, ..)| (*of, *by) == (label, key));
        of_key.all(|(_, _, value, partition)| values.of(value) == *partition).then_some(key)
    }
}

fn index(label: LabelId, key: KeyId, kind: IndexKind) -> IndexId {
    IndexId { owner: Owner::Label(label), key, kind }
}

impl World {
    fn new(seed: u64) -> Self {
        let mut members = Members::new([(AUTHOR.node, "a:1".into())]);
        members.join(AUTHOR, "a:1".into()).expect("nobody has joined");
        let limits = CertifierLimits { generation_slots: 60, parts_bytes: 4000 };
        let state = ReplicatedState::new(SALT, limits, ClusterTables::new(PARTITIONS, members, 1));
        let publisher = TablesPublisher::new(&state);
        let mut world = Self {
            chance: SeededChance::new(seed),
            is_careful: seed.is_multiple_of(2),
            state,
            publisher,
            number: 0,
            free: Vec::new(),
            busy: BTreeSet::new(),
            holders: Holders::default(),
            messages: Vec::new(),
            moments: Vec::new(),
        };
        let names = ["a", "b", "c"].map(|name| NewName::Label(name.into()));
        let keys = ["k", "l"].map(|name| NewName::Key(name.into()));
        let named = names.into_iter().chain(keys).map(|name| RecordBody::Name { name, touches: Vec::new() });
        let rows = LABELS.into_iter().flat_map(|label| {
            let of = move |partition| RecordBody::Rows { label, partition, touches: Vec::new() };
            (0..PARTITIONS.get()).map(PartitionId).map(of)
        });
        let records: Vec<_> = named.chain(rows).map(|body| (body, Effect::Nothing)).collect();
        world.send(records, &mut Tally::default());
        world
    }

    fn tables(&self) -> &SharedTables {
        self.publisher.tables()
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.chance.happens(OneIn(count))
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.chance.below(from.len() as u64) as usize].clone()
    }

    /// Sends a message of these records, and demands that the tables say what follows from it.
    fn send(&mut self, records: Vec<(RecordBody, Effect)>, tally: &mut Tally) {
        let (mut builder, mut effects) = (MessageBuilder::new(AUTHOR), Vec::new());
        for (body, effect) in records {
            self.number += 1;
            assert!(builder.push(&Record { number: self.number, body }), "some small records have room");
            effects.push(effect);
        }
        let bytes: Arc<[u8]> = builder.finish(&self.state.seen()).into();
        self.messages.push(Arc::clone(&bytes));
        self.apply(bytes, &effects, tally);
    }

    fn apply(&mut self, bytes: Arc<[u8]>, effects: &[Effect], tally: &mut Tally) {
        let message = Message::decode(&bytes).expect("it was just made");
        let position = self.state.seen().position.next();
        let length = bytes.len();
        let decided = self.state.apply(ReadMessage { position, message, bytes });
        let results: Vec<_> = decided.records.iter().map(|record| record.result).collect();
        if results == [RecordResult::PartKept, RecordResult::Committed] {
            tally.add("commit in parts");
        }
        for (place, result) in results.into_iter().enumerate() {
            tally.add_result(result);
            match result {
                RecordResult::Committed | RecordResult::Table(TableAnswer::Index(Ok(()))) => {
                    self.happen(effects.get(place).expect("what comes twice happens once"), tally);
                }
                RecordResult::Table(TableAnswer::Rows(Ok(range))) => {
                    self.free.extend(range.vertices().take(40));
                }
                _ => {}
            }
        }
        let DecidedMessage { seen, author, records, .. } = decided;
        let applied = AppliedMessage { seen, author, records, bytes: length };
        self.publisher.publish(&self.state, [applied].iter());
        self.moments.push((self.tables().newest(), self.holders.held.len()));
    }

    fn happen(&mut self, effect: &Effect, tally: &mut Tally) {
        match effect {
            Effect::Commits(mutations) => {
                self.holders.commit(mutations);
                tally.add_commit(mutations);
            }
            Effect::Begun(index) => self.holders.add_unique(*index),
            Effect::Ready(index) => {
                self.holders.add_unique(*index);
                tally.add("index ready");
            }
            Effect::Made(UniqueStep::Confirm) => tally.add("index unique"),
            Effect::Made(UniqueStep::Enforce) | Effect::Nothing => {}
        }
    }

    /// A message comes twice, mostly a recent one: earlier ones are forgotten, and what they say is too old.
    fn send_again(&mut self, tally: &mut Tally) {
        let count = self.messages.len();
        let recent = if self.one_in(3) { count } else { count.min(5) };
        let back = 1 + self.chance.below(recent as u64) as usize;
        let again = Arc::clone(&self.messages[count - back]);
        self.apply(again, &[], tally);
    }

    /// What happens next.
    fn step(&mut self, tally: &mut Tally) {
        if self.one_in(8) {
            self.send_again(tally);
        } else {
            let records = if self.one_in(5) { self.in_parts() } else { self.records() };
            self.busy.clear();
            self.send(records, tally);
        }
        if self.one_in(10) {
            let bytes = checkpoint::encode(&self.state);
            let again = checkpoint::decode(SALT, &bytes).expect("it was just written");
            assert_eq!(again.tables(), self.state.tables(), "a node that starts again has the same tables");
            self.publisher = TablesPublisher::new(&again);
            self.state = again;
            tally.add("restart");
        }
    }

    fn definition(&mut self) -> IndexDefinition {
        let (label, key) = (self.pick(&LABELS), self.pick(&KEYS));
        let kind = self.pick(&IndexKind::BY_VALUE);
        IndexDefinition { id: index(label, key, kind), unique: !self.one_in(3) }
    }

    fn records(&mut self) -> Vec<(RecordBody, Effect)> {
        let barrier = (RecordBody::Barrier, Effect::Nothing);
        (0..=self.chance.below(2)).filter_map(|_| self.record()).chain([barrier]).collect()
    }

    fn record(&mut self) -> Option<(RecordBody, Effect)> {
        match self.chance.below(12) {
            0 => {
                let index = self.definition();
                Some((RecordBody::CreateIndex { index, touches: Vec::new() }, Effect::Begun(index)))
            }
            1 | 2 => {
                let builds: Vec<_> = self.state.tables().builds().all().cloned().collect();
                let IndexBuild { definition: index, created, stage, .. } =
                    (!builds.is_empty()).then(|| self.pick(&builds))?;
                let touches = Vec::new();
                let step = match stage {
                    BuildStage::Filling => {
                        let ready = RecordBody::IndexReady { index, created, touches };
                        return Some((ready, Effect::Ready(index)));
                    }
                    BuildStage::Filled => UniqueStep::Enforce,
                    BuildStage::Enforced => UniqueStep::Confirm,
                };
                Some((RecordBody::UniqueIndex { index, created, step, touches }, Effect::Made(step)))
            }
            _ => {
                let (part, commits) = self.transaction();
                Some((RecordBody::Transaction { since: self.since(), parts: 0, last: part }, commits))
            }
        }
    }

    /// A transaction that sends all it does ahead, and its record: the only ones of their message.
    fn in_parts(&mut self) -> Vec<(RecordBody, Effect)> {
        let (part, commits) = self.transaction();
        let ahead = RecordBody::Part { of: self.number + 2, place: 0, part };
        let last = TransactionPart::default();
        let last = RecordBody::Transaction { since: self.since(), parts: 1, last };
        vec![(ahead, Effect::Nothing), (last, commits)]
    }

    /// The snapshot of a transaction: now, a little before, rarely long ago.
    fn since(&mut self) -> Timestamp {
        let behind = if self.one_in(9) { 60 } else { self.chance.below(3) };
        let position = self.state.seen().position;
        LogPosition(position.0.saturating_sub(behind)).end()
    }

    fn transaction(&mut self) -> (TransactionPart, Effect) {
        let mut mutations = Vec::new();
        for _ in 0..self.chance.below(4) {
            mutations.extend(self.mutation());
        }
        if self.one_in(8) {
            let index = self.definition();
            let known = self.state.tables().catalogue().index(index.id);
            let change = match known {
                Some(known) => SchemaChange::DropIndex(known.id),
                None => SchemaChange::AddIndex(index),
            };
            mutations.push(Mutation::Schema(change));
        }
        let mut payloads = payloads(&mutations, PARTITIONS).expect("nothing of it belongs nowhere");
        if self.one_in(12)
            && let Some(payload) = payloads.last_mut()
        {
            payload.mutations.pop();
        }
        let hash = |chance: &mut SeededChance| vec![KeyHash(chance.below(12))];
        let (checks, touches) = (hash(&mut self.chance), hash(&mut self.chance));
        let part = TransactionPart { checks, touches, payloads, ..TransactionPart::default() };
        (part, Effect::Commits(mutations))
    }

    fn mutation(&mut self) -> Option<Mutation> {
        let alive: Vec<_> = self.holders.alive.keys().copied().collect();
        let vertex = match self.chance.below(3) {
            0 if !alive.is_empty() => self.pick(&alive),
            _ => return self.insert(),
        };
        if !self.busy.insert(vertex) {
            return None;
        }
        if self.one_in(3) {
            return Some(Mutation::DeleteVertex { vertex });
        }
        let (key, value) = (self.pick(&KEYS), self.pick(&all_values()));
        let (label, value) = (self.holders.alive[&vertex], Some(value).filter(|_| !self.one_in(3)));
        let properties = Properties::new(vec![(key, value)]);
        let belongs = self.tables().newest().partition_for(label, &properties);
        let is_elsewhere = belongs.is_some_and(|belongs| belongs != PARTITIONS.of_group(vertex.group()));
        let is_set = !(is_elsewhere && self.is_careful);
        is_set.then_some(Mutation::SetVertexProperties { vertex, properties })
    }

    fn insert(&mut self) -> Option<Mutation> {
        let moment = self.tables().newest();
        let label = self.pick(&LABELS);
        let changes = KEYS.map(|key| (key, Some(self.pick(&all_values())).filter(|_| !self.one_in(4))));
        let has = changes.into_iter().filter(|(_, value)| value.is_some()).collect();
        let properties = Properties::new(has);
        // Most wait for the first unique index of the label.
        if !self.holders.first_unique.contains_key(&label) && !self.one_in(20) {
            return None;
        }
        let belongs = moment.partition_for(label, &properties).filter(|_| self.is_careful || !self.one_in(5));
        let groups = self.state.tables().groups();
        let at = self.free.iter().position(|vertex| {
            let partition = PARTITIONS.of_group(vertex.group());
            groups.label(vertex.group()) == Some(label) && belongs.is_none_or(|belongs| belongs == partition)
        })?;
        let vertex = self.free.swap_remove(at);
        self.busy.insert(vertex);
        Some(Mutation::InsertVertex { vertex, label, properties })
    }

    fn check(&self) {
        let newest = self.tables().newest();
        for label in LABELS {
            let expected = self.holders.key(label);
            for (key, kind) in KEYS.into_iter().flat_map(|key| IndexKind::BY_VALUE.map(|kind| (key, kind))) {
                for value in all_values() {
                    let found = newest.partition_of_value(index(label, key, kind), &value);
                    let is_placed = expected == Some(key);
                    assert_eq!(found.is_some(), is_placed, "one partition is asked if no other has {value}");
                    let properties = Properties::new(vec![(key, Some(value))]);
                    let belongs = newest.partition_for(label, &properties);
                    assert_eq!(belongs, found, "vertices go where they are sought");
                }
            }
        }
    }

    /// What became of the labels.
    fn count_labels(&self, tally: &mut Tally) {
        for label in LABELS {
            tally.add(match (self.holders.key(label), self.holders.first_unique.get(&label)) {
                (Some(_), _) => "label placed",
                (None, Some(Some(_))) => "label scattered",
                (None, Some(None)) => "label with earlier vertices",
                (None, None) => continue,
            });
        }
    }

    /// Every moment names the partition of all who had a value by then.
    fn check_moments(&self) {
        for (moment, count) in &self.moments {
            for (label, key, value, partition) in &self.holders.held[..*count] {
                for kind in IndexKind::BY_VALUE {
                    let named = moment.partition_of_value(index(*label, *key, kind), value);
                    assert!(named.is_none_or(|named| named == *partition), "{value} is elsewhere, too");
                }
            }
        }
    }
}

#[test]
fn the_partition_of_a_value_is_that_of_all_who_have_it() {
    let mut tally = Tally::default();
    for seed in 0..60 {
        let mut world = World::new(seed);
        for _ in 0..60 {
            world.step(&mut tally);
            world.check();
        }
        world.check_moments();
        world.count_labels(&mut tally);
    }
    tally.check();
}

#[test]
fn planted_bugs_are_found() {
    for bug in [
        Bug::ChangedValueUnlearned,
        Bug::EarlierVerticesForgotten,
        Bug::PlacementKeyReplaced,
        Bug::ScatteringUnpublished,
    ] {
        assert_found(bug, the_partition_of_a_value_is_that_of_all_who_have_it, "one partition is asked");
    }
    let saved = the_partition_of_a_value_is_that_of_all_who_have_it;
    assert_found(Bug::PlacementKeysNotSaved, saved, "has the same tables");
}
