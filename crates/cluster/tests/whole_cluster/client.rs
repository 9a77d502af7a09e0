//! Client: transactions through the front of a store, an operation at a time, beside what they should see.
//!
//! Each knows the graph of its snapshot, said naively, and makes its own changes there, too: whatever it reads must be that. When it
//! commits, what it has read or changed must not have changed in between, as far as its level promises.

use crate::first_state::{KNOWS, PERSON, WEIGHT, index};
use crate::graph_node::{AttachedNode, SimulatedNode};
use crate::judge::{Item, Items};
use crate::script::change;
use crate::shown::{Shown, value_of};
use crate::simulated::Simulated;
use crate::world::{WORK_TICKS, World};
use evergraph_cluster::engine::cluster_engine::{ClusterEngine, cluster_store};
use evergraph_cluster::engine::graph_node::GraphNode;
use evergraph_cluster::record::body::RecordBody;
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, VertexId};
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Freshness, Isolation, Transaction as _, TransactionOptions};
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView as _, NeighborBatch, NeighborCursor, VertexCursor};
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::store::{Store, StoreOptions};
use evergraph_storage::transaction::handle::Transaction;
use std::collections::BTreeSet;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

/// How long it waits for the log.
const PATIENCE: Duration = Duration::from_millis(900);
/// Weights are below it.
const WEIGHTS: u64 = 9;
/// Bytes that have no room in a message with anything else.
const LARGE: usize = 70_000;

type ClusterStore = Store<ClusterEngine>;
type ClusterTransaction = Transaction<ClusterEngine>;

/// What is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Read {
    Vertex(VertexId),
    Edges(VertexId, Direction),
    Holders(i64),
    Members,
}

/// What is found, in order.
#[derive(Clone, PartialEq, Debug)]
enum Found {
    Vertex(Option<Vec<(KeyId, Value)>>),
    Edges(Vec<(EdgeId, Vec<(KeyId, Value)>)>),
    Vertices(Vec<VertexId>),
}

struct OpenTransaction {
    transaction: ClusterTransaction,
    /// The graph with its own changes.
    own: Shown,
    has_written: bool,
    /// What it rests on.
    items: Items,
    kept: KeptReads,
}

/// What must be so until a transaction commits.
struct KeptReads {
    since: Timestamp,
    /// Of which history of the log.
    history: usize,
    /// The graph at its snapshot.
    graph: Arc<Shown>,
    is_serializable: bool,
    reads: Vec<Read>,
    /// Weights that it made from others.
    updated: Vec<VertexId>,
}

pub struct Client {
    chance: SeededChance,
    number: u16,
    attached: Option<(Arc<SimulatedNode>, ClusterStore)>,
    open: Option<OpenTransaction>,
    /// Transactions of which it does not know what became of them.
    unknown: Vec<UnknownCommit>,
    /// The newest commit or snapshot that it has seen, and of which history.
    seen: (usize, Timestamp),
    stands_until: Duration,
}

fn found_in(graph: &Shown, read: Read) -> Found {
    match read {
        Read::Vertex(vertex) => {
            Found::Vertex(graph.vertices.get(&vertex).map(|(_, properties)| properties.clone()))
        }
        Read::Edges(vertex, side) => {
            let is_its = |edge: &EdgeId| match side {
                Direction::In => edge.target == vertex,
                _ => edge.source == vertex,
            };
            let edges = graph.out.iter().filter(|(edge, _)| is_its(edge));
            Found::Edges(edges.map(|(edge, properties)| (*edge, properties.clone())).collect())
        }
        Read::Holders(weight) => {
            let holders = graph.holders(PERSON, WEIGHT).into_iter();
            Found::Vertices(holders.filter(|(of, _)| *of == weight).map(|(_, vertex)| vertex).collect())
        }
        Read::Members => Found::Vertices(graph.vertices.keys().copied().collect()),
    }
}

fn find(transaction: &ClusterTransaction, read: Read) -> Result<Found> {
    Ok(match read {
        Read::Vertex(vertex) => {
            let mut labels = Vec::new();
            transaction.labels(&[vertex], &mut labels)?;
            let properties = labels[0].map(|_| transaction.vertex_property_map(vertex)).transpose()?;
            Found::Vertex(properties)
        }
        Read::Edges(vertex, side) => {
            let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
            while !cursor.done {
                transaction.neighbors(&[vertex], None, side, &mut cursor, 8, &mut batch)?;
            }
            let properties = |edge: EdgeId| Ok((edge, transaction.edge_property_map(edge)?));
            let mut found = batch.edges.into_iter().map(properties).collect::<Result<Vec<_>>>()?;
            found.sort_by_key(|(edge, _)| *edge);
            Found::Edges(found)
        }
        Read::Holders(weight) => {
            let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
            let values = [Value::I64(weight)];
            while !cursor.done {
                transaction.look_up_vertices(PERSON, WEIGHT, &values, &mut cursor, 5, &mut found)?;
            }
            found.items.sort_unstable();
            Found::Vertices(found.items)
        }
        Read::Members => {
            let (mut cursor, mut vertices) = (VertexCursor::default(), Vec::new());
            while !cursor.done {
                transaction.scan_vertices(None, &mut cursor, 16, &mut vertices)?;
            }
            vertices.sort_unstable();
            Found::Vertices(vertices)
        }
    })
}

fn weight(weight: i64) -> Properties {
    Properties::new(vec![(WEIGHT, Some(Value::I64(weight)))])
}

impl OpenTransaction {
    fn rests_on(&mut self, read: Read, found: &Found) {
        match read {
            Read::Vertex(vertex) => drop(self.items.insert(Item::Vertex(vertex))),
            Read::Edges(vertex, _) => {
                let of_group = Item::EdgesOfGroup(vertex.group());
                self.items.extend([Item::Vertex(vertex), Item::Edges(vertex), of_group]);
            }
            Read::Holders(weight) => drop(self.items.insert(Item::Weight(weight))),
            Read::Members => drop(self.items.insert(Item::Members)),
        }
        if let Found::Vertices(vertices) = found {
            self.items.extend(vertices.iter().map(|vertex| Item::Vertex(*vertex)));
        }
    }

    /// Reads, and compares.
    fn read(&mut self, read: Read, simulated: &Simulated) -> Result<Found> {
        let found = find(&self.transaction, read)?;
        let expected = found_in(&self.own, read);
        let mut world = simulated.world.lock();
        world.tally.reads += 1;
        world.tally.look_ups += u64::from(matches!(read, Read::Holders(_)));
        if found != expected {
            world.fail(format!("{read:?} at {} is {found:?}, and not {expected:?}", self.kept.since));
        }
        drop(world);
        self.rests_on(read, &found);
        self.kept.reads.push(read);
        Ok(found)
    }

    fn changed(&mut self, mutation: &Mutation) {
        change(&mut self.own, mutation);
        self.has_written = true;
    }

    fn any_vertex(&self, chance: &mut SeededChance) -> Option<VertexId> {
        let count = self.own.vertices.len() as u64;
        let nth = chance.below(count.max(1)) as usize;
        self.own.vertices.keys().nth(nth).copied()
    }

    fn any_edge(&self, chance: &mut SeededChance) -> Option<EdgeId> {
        let nth = chance.below((self.own.out.len() as u64).max(1)) as usize;
        self.own.out.keys().nth(nth).copied()
    }
}

impl KeptReads {
    /// Whether what it has read and changed was so until `committed`.
    fn check(&self, committed: Timestamp, world: &World) -> std::result::Result<(), String> {
        let before = world.judge().graph_before(committed);
        if self.is_serializable {
            let changed =
                self.reads.iter().find(|read| found_in(&self.graph, **read) != found_in(&before, **read));
            if let Some(read) = changed {
                return Err(format!(
                    "{committed} is not serialisable: {read:?} of {} has changed",
                    self.since
                ));
            }
        }
        let weight_of = |graph: &Shown, vertex: &VertexId| {
            let (_, properties) = graph.vertices.get(vertex)?;
            value_of(properties, WEIGHT)
        };
        let lost =
            self.updated.iter().find(|vertex| weight_of(&self.graph, vertex) != weight_of(&before, vertex));
        lost.map_or(Ok(()), |vertex| Err(format!("{committed} has lost an update of {vertex}")))
    }
}

impl Client {
    pub fn new(number: u16, seed: u64) -> Self {
        Self {
            chance: SeededChance::new(seed.wrapping_mul(100) + u64::from(number)),
            number,
            attached: None,
            open: None,
            unknown: Vec::new(),
            seen: (0, Timestamp::ZERO),
            stands_until: Duration::ZERO,
        }
    }

    /// Whether it has nothing open.
    pub fn is_idle(&self) -> bool {
        self.open.is_none()
    }

    /// Takes its next step.
    pub fn act(&mut self, simulated: &Arc<Simulated>) {
        let (now, tick) = {
            let world = simulated.world.lock();
            (world.now, world.tick)
        };
        if now < self.stands_until {
            return;
        }
        if self.chance.happens(OneIn(150)) {
            self.stands_until = now + self.chance.up_to(Duration::from_secs(1));
            simulated.world.lock().tally.client_pauses += 1;
            return;
        }
        let is_working = tick < WORK_TICKS;
        let Some(open) = self.open.take() else {
            if is_working {
                self.begin(simulated);
            }
            return;
        };
        if !self.attached.as_ref().is_some_and(|(node, _)| node.runs()) {
            // Its node is gone, and its snapshot with it.
            self.attached = None;
            return;
        }
        let ends = !is_working || open.kept.reads.len() > 7 || self.chance.happens(OneIn(6));
        let ended = if ends { self.end(open, simulated) } else { self.work(open, simulated) };
        if let Err(error) = ended {
            self.failed(&error, simulated);
        }
    }

    /// A transaction has ended with an error.
    fn failed(&mut self, error: &Error, simulated: &Simulated) {
        let mut world = simulated.world.lock();
        world.tally.trace.note(format_args!("{} {error}", self.number));
        match error.kind() {
            ErrorKind::Conflict => world.tally.reads_too_old += 1,
            ErrorKind::Busy | ErrorKind::Io => {
                world.tally.reads_failed += 1;
                if world.is_calm() {
                    world.fail(format!("client {} is told: {error}", self.number));
                }
            }
            _ => world.fail(format!("client {} is told: {error}", self.number)),
        }
    }

    fn attach(&mut self, simulated: &Arc<Simulated>) -> Option<(Arc<SimulatedNode>, ClusterStore)> {
        if let Some((node, store)) = &self.attached
            && node.runs()
            && !self.chance.happens(OneIn(12))
        {
            return Some((Arc::clone(node), store.clone()));
        }
        let nodes = simulated.world.lock().nodes();
        let node = NodeId(self.chance.below(u64::from(nodes)) as u16);
        let node = SimulatedNode::attach(simulated, node, PATIENCE, self.number)?;
        let clock: Arc<dyn Clock> = simulated.world.lock().clock.clone();
        let random = Box::new(SplitMix64::new(self.chance.below(1 << 40)));
        let of_front: Arc<dyn GraphNode> = Arc::new(AttachedNode(Arc::clone(&node)));
        let budget = Arc::new(MemoryBudget::new(u64::MAX));
        let store = cluster_store(of_front, clock, budget, random, StoreOptions::default());
        self.attached = Some((Arc::clone(&node), store.clone()));
        Some((node, store))
    }

    fn begin(&mut self, simulated: &Arc<Simulated>) {
        let Some((node, store)) = self.attach(simulated) else { return };
        if let Some(unknown) = self.unknown.pop() {
            return self.settle(&node, unknown, simulated);
        }
        let (history, acknowledged, is_calm) = {
            let world = simulated.world.lock();
            (world.history(), world.acknowledged, world.is_calm())
        };
        let seen = if self.seen.0 == history { self.seen.1 } else { Timestamp::ZERO };
        let is_serializable = self.chance.happens(OneIn(2));
        let isolation = if is_serializable { Isolation::Serializable } else { Isolation::Snapshot };
        let (freshness, least) = match self.chance.below(6) {
            0 => (Freshness::Fresh, acknowledged),
            1..=3 => (Freshness::After(seen), seen),
            _ => (Freshness::Applied, Timestamp::ZERO),
        };
        let options = TransactionOptions::default().isolation(isolation).freshness(freshness);
        let transaction = store.begin_with(options);
        if let Err(error) = transaction.check_begun() {
            // Nodes that have not joined are busy in calm weather, too.
            if !is_calm {
                self.failed(&error, simulated);
            }
            return;
        }
        let Some(begun) = node.begun() else { return };
        let mut world = simulated.world.lock();
        let since = begun.position.end();
        let Some((of, graph)) = world.graph_at(&begun) else {
            return world.fail(format!("a snapshot at {since} is of no history that there was"));
        };
        if since < least && of == history && history == world.history() {
            return world.fail(format!("a snapshot at {since} does not have {least}: {freshness:?}"));
        }
        match freshness {
            Freshness::Fresh => world.tally.fresh += 1,
            Freshness::After(after) if after > Timestamp::ZERO => world.tally.sessions += 1,
            _ => {}
        }
        drop(world);
        self.saw(of, since);
        let own = Shown::clone(&graph);
        let (reads, updated) = (Vec::new(), Vec::new());
        let kept = KeptReads { since, history: of, graph, is_serializable, reads, updated };
        let items = Items::from([Item::Names]);
        self.open = Some(OpenTransaction { transaction, own, has_written: false, items, kept });
    }

    fn saw(&mut self, history: usize, at: Timestamp) {
        let is_later = history > self.seen.0 || (history == self.seen.0 && at > self.seen.1);
        if is_later {
            self.seen = (history, at);
        }
    }

    /// Asks any node what became of a transaction.
    fn settle(&mut self, node: &Arc<SimulatedNode>, unknown: UnknownCommit, simulated: &Simulated) {
        let settled = AttachedNode(Arc::clone(node)).settle(unknown);
        if let Err(error) = settled
            && error.kind() == ErrorKind::Unknown
            && simulated.world.lock().judge().floor() <= unknown.since
        {
            self.unknown.push(unknown);
        }
    }

    fn work(&mut self, mut open: OpenTransaction, simulated: &Arc<Simulated>) -> Result<()> {
        if open.own.vertices.is_empty() && !open.has_written {
            self.name_all(&mut open, simulated)?;
        }
        let done = self.operation(&mut open, simulated);
        done.map(|()| self.open = Some(open))
    }

    /// The first transactions give names, and one creates the index.
    fn name_all(&mut self, open: &mut OpenTransaction, simulated: &Simulated) -> Result<()> {
        let label = open.transaction.label("Person")?;
        let edge_type = open.transaction.edge_type("KNOWS")?;
        let key = open.transaction.key("weight")?;
        if (label, edge_type, key) != (PERSON, KNOWS, WEIGHT) {
            simulated.world.lock().fail("names have other numbers".to_owned());
        }
        if self.number == 0
            && let Some((node, _)) = &self.attached
        {
            // It may be there already.
            AttachedNode(Arc::clone(node))
                .ask(RecordBody::CreateIndex { index: index(), touches: Vec::new() })?;
        }
        Ok(())
    }

    fn operation(&mut self, open: &mut OpenTransaction, simulated: &Simulated) -> Result<()> {
        let chance = &mut self.chance;
        let Some(vertex) = open.any_vertex(chance) else { return self.add_vertex(open) };
        match chance.below(20) {
            0..=2 => drop(open.read(Read::Vertex(vertex), simulated)?),
            3..=5 => {
                let side = if chance.happens(OneIn(2)) { Direction::Out } else { Direction::In };
                open.read(Read::Edges(vertex, side), simulated)?;
            }
            6 | 7 => {
                let weight = chance.below(WEIGHTS) as i64;
                if open.transaction.catalogue().index(index().id).is_some() {
                    open.read(Read::Holders(weight), simulated)?;
                }
            }
            8 => drop(open.read(Read::Members, simulated)?),
            9 | 10 => self.add_vertex(open)?,
            11..=13 => self.add_weight(open, vertex, simulated)?,
            14..=16 => {
                let target = open.any_vertex(chance).unwrap_or(vertex);
                let value = chance.below(WEIGHTS) as i64;
                let properties = [(WEIGHT, Value::I64(value))];
                let edge = open.transaction.add_edge(vertex, KNOWS, target, &properties)?;
                open.items.extend([Item::Vertex(vertex), Item::Vertex(target)]);
                open.items.extend([vertex, target].map(Item::Edges));
                open.items.extend([vertex, target].map(|end| Item::EdgesOfGroup(end.group())));
                open.changed(&Mutation::InsertEdge { edge, properties: weight(value) });
            }
            17 => {
                let Some(edge) = open.any_edge(chance) else { return Ok(()) };
                let value = chance.below(WEIGHTS) as i64;
                open.transaction.set_edge_property(edge, WEIGHT, Some(Value::I64(value)))?;
                open.items.extend([edge.source, edge.target].map(Item::Edges));
                open.changed(&Mutation::SetEdgeProperties { edge, properties: weight(value) });
            }
            18 => {
                let Some(edge) = open.any_edge(chance) else { return Ok(()) };
                open.transaction.delete_edge(edge)?;
                open.items.extend([edge.source, edge.target].map(Item::Edges));
                open.changed(&Mutation::DeleteEdge { edge });
            }
            _ => Self::delete_vertex(open, vertex)?,
        }
        Ok(())
    }

    fn add_vertex(&mut self, open: &mut OpenTransaction) -> Result<()> {
        let value = self.chance.below(WEIGHTS) as i64;
        let mut properties = vec![(WEIGHT, Value::I64(value))];
        if self.chance.happens(OneIn(60)) {
            let text = open.transaction.key("text")?;
            properties.push((text, "x".repeat(LARGE).into()));
        }
        let vertex = open.transaction.add_vertex(PERSON, &properties)?;
        let properties = properties.into_iter().map(|(key, value)| (key, Some(value))).collect();
        let properties = Properties::new(properties);
        open.items.insert(Item::Vertex(vertex));
        open.changed(&Mutation::InsertVertex { vertex, label: PERSON, properties });
        Ok(())
    }

    /// Adds one to a weight.
    fn add_weight(
        &mut self,
        open: &mut OpenTransaction,
        vertex: VertexId,
        simulated: &Simulated,
    ) -> Result<()> {
        let Found::Vertex(Some(properties)) = open.read(Read::Vertex(vertex), simulated)? else {
            return Ok(());
        };
        let value = (value_of(&properties[..1], WEIGHT).unwrap_or_default() + 1) % WEIGHTS as i64;
        open.transaction.set_vertex_property(vertex, WEIGHT, Some(Value::I64(value)))?;
        if open.kept.graph.vertices.contains_key(&vertex) {
            open.kept.updated.push(vertex);
        }
        open.changed(&Mutation::SetVertexProperties { vertex, properties: weight(value) });
        Ok(())
    }

    fn delete_vertex(open: &mut OpenTransaction, vertex: VertexId) -> Result<()> {
        // A few are left.
        if open.own.vertices.len() < 6 {
            return Ok(());
        }
        open.transaction.delete_vertex(vertex)?;
        let is_its = |edge: &&EdgeId| edge.source == vertex || edge.target == vertex;
        let edges: BTreeSet<EdgeId> = open.own.into.iter().filter(is_its).copied().collect();
        for edge in edges {
            open.items.extend([edge.source, edge.target].map(Item::Edges));
            open.changed(&Mutation::DeleteEdge { edge });
        }
        open.items.extend([Item::Vertex(vertex), Item::Edges(vertex), Item::EdgesOfGroup(vertex.group())]);
        open.changed(&Mutation::DeleteVertex { vertex });
        open.kept.updated.retain(|known| *known != vertex);
        Ok(())
    }

    fn end(&mut self, open: OpenTransaction, simulated: &Simulated) -> Result<()> {
        if self.chance.happens(OneIn(15)) {
            return Ok(());
        }
        let Some((node, _)) = &self.attached else { return Ok(()) };
        let OpenTransaction { transaction, has_written, items, kept, .. } = open;
        node.rests_on(items);
        let committed = transaction.commit();
        let mut world = simulated.world.lock();
        match committed {
            Ok(committed) if !has_written => {
                world.tally.read_only += 1;
                if committed.timestamp != kept.since {
                    world.fail(format!("nothing is written by {}", committed.timestamp));
                }
            }
            Ok(committed) => {
                world.tally.commits += 1;
                if kept.history == world.history()
                    && let Err(wrong) = kept.check(committed.timestamp, &world)
                {
                    world.fail(wrong);
                }
                drop(world);
                self.saw(kept.history, committed.timestamp);
            }
            Err(error) if error.is_conflict() => world.tally.refused += 1,
            Err(error) if error.kind() == ErrorKind::Unknown => {
                world.tally.unknown += 1;
                drop(world);
                let named = error.source().and_then(|source| source.downcast_ref::<UnknownCommit>());
                self.unknown.extend(named.copied());
            }
            Err(error) => {
                drop(world);
                return Err(error);
            }
        }
        Ok(())
    }
}
