//! Transactions: the stores of all nodes read and write at both levels; the log in order says whether each was right.
//!
//! Several threads work on a few vertices, so that many want the same. The log delays, loses, doubles and reorders what is
//! appended. In the end
//!
//! - what each has read is what its snapshot sees, and what a serialisable one has read is so still just before its commit;
//! - nothing that was changed by what it read was changed in between, at either level;
//! - who was told of a commit has one in the log at that timestamp, and who was told of a conflict has none;
//! - every refusal has a reason, and no edge dangles ([`crate::judge`]).

use crate::cluster::{Cluster, ClusterStore, coordinators, stores};
use crate::judge::Judge;
use crate::reads::read;
use crate::shown::{Shown, value_of};
use evergraph_cluster::engine::cluster_engine::ClusterEngine;
use evergraph_cluster::log::memory::LogFaults;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::planted::{Bug, with};
use evergraph_cluster::record::body::NewName;
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_graph::column::Column;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Freshness, Isolation, Transaction as _, TransactionOptions};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};
use evergraph_storage::sync::Mutex;
use evergraph_storage::transaction::handle::Transaction;
use std::time::Duration;

const PERSON: LabelId = LabelId(0);
const KNOWS: TypeId = TypeId(0);
const WEIGHT: KeyId = KeyId(0);
const TEXT: KeyId = KeyId(1);
/// Threads, as many on each node.
const CLIENTS: usize = 6;
/// Transactions that a client tries.
const TRIES: usize = 50;
/// Vertices to begin with.
const VERTICES: usize = 6;

pub type ClusterTransaction = Transaction<ClusterEngine>;

/// What clients do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    /// They read and change weights.
    Weights,
    /// They change everything.
    All,
}

/// What a transaction was told of a vertex: its weight if it is there, and how many edges go out from it.
type Answer = Option<(Option<i64>, u64)>;

/// What a client remembers of a transaction that did not fail.
struct Run {
    since: Timestamp,
    reads: Vec<(VertexId, Answer)>,
    /// Whether nothing that it read may change before its commit.
    is_serializable: bool,
    /// Weights that it made from others, which no other transaction may have changed in between.
    updated: Vec<(VertexId, Answer)>,
    /// When it committed, if it wrote.
    committed: Option<Timestamp>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    committed: usize,
    read_only: usize,
    conflicts: usize,
    parts: usize,
}

struct Client<'a> {
    stores: &'a [ClusterStore],
    node: usize,
    work: Work,
    chance: SeededChance,
    /// Vertices that anybody has inserted.
    vertices: &'a Mutex<Vec<VertexId>>,
    /// What it has seen.
    seen: Timestamp,
    runs: Vec<Run>,
    conflicts: usize,
}

fn answer_of(graph: &Shown, vertex: VertexId) -> Answer {
    let (_, values) = graph.vertices.get(&vertex)?;
    let degree = graph.out.keys().filter(|edge| edge.source == vertex).count();
    Some((value_of(values, WEIGHT), degree as u64))
}

fn ask(view: &impl GraphView, vertex: VertexId) -> Result<Answer> {
    if !is_there(view, vertex)? {
        return Ok(None);
    }
    let mut weights = Column::new(ValueType::I64);
    view.vertex_properties(&[vertex], WEIGHT, &mut weights)?;
    let weight = weights.get(0).map(|weight| match weight {
        Value::I64(weight) => weight,
        other => panic!("{other:?} is no weight"),
    });
    let mut degrees = Vec::new();
    view.degrees(&[vertex], None, Direction::Out, &mut degrees)?;
    Ok(Some((weight, degrees[0])))
}

fn is_there(view: &impl GraphView, vertex: VertexId) -> Result<bool> {
    let mut labels = Vec::new();
    view.labels(&[vertex], &mut labels)?;
    Ok(labels[0].is_some())
}

impl Client<'_> {
    fn run(mut self) -> (Vec<Run>, usize) {
        for _ in 0..TRIES {
            let tried = self.transaction();
            match tried.map_err(|error| (error.kind(), error)) {
                Ok(run) => {
                    self.seen = run.committed.unwrap_or(run.since);
                    self.runs.push(run);
                }
                Err((ErrorKind::Conflict, _)) => self.conflicts += 1,
                // Where the log ends is not known while it has no leader: nothing was begun.
                Err((_, error)) if error.to_string().contains("the log is unavailable") => {}
                Err((_, error)) => panic!("node {}: {error}: {:?}", self.node, error.causes().last()),
            }
        }
        (self.runs, self.conflicts)
    }

    fn any_vertex(&mut self) -> VertexId {
        let vertices = self.vertices.lock();
        vertices[self.chance.below(vertices.len() as u64) as usize]
    }

    fn transaction(&mut self) -> Result<Run> {
        // A session may go on at another node.
        if self.chance.happens(OneIn(4)) {
            self.node = self.chance.below(self.stores.len() as u64) as usize;
        }
        let freshness = match self.chance.happens(OneIn(5)) {
            true => Freshness::Fresh,
            false => Freshness::After(self.seen),
        };
        let is_serializable = self.chance.happens(OneIn(2));
        let isolation = if is_serializable { Isolation::Serializable } else { Isolation::Snapshot };
        let options = TransactionOptions::default().isolation(isolation).freshness(freshness);
        let mut transaction = self.stores[self.node].begin_with(options);
        let since = transaction.timestamp();
        let (mut reads, mut updated) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let vertex = self.any_vertex();
            reads.push((vertex, ask(&transaction, vertex)?));
        }
        // One that could not begin has not come here.
        assert!(LogPosition::of(since) >= LogPosition::of(self.seen), "a session goes back");
        let (mut inserted, mut has_written) = (Vec::new(), false);
        for _ in 0..self.chance.below(3) {
            let written = match self.work {
                Work::Weights => self.add_weight(&mut transaction, &mut updated),
                Work::All => self.change(&mut transaction, &mut updated, &mut inserted),
            };
            match written {
                Ok(()) => has_written = true,
                // Somebody has deleted it, or this transaction has.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let committed = transaction.commit()?;
        let committed = (committed.timestamp != since).then_some(committed.timestamp);
        assert!(has_written || committed.is_none(), "nothing was written");
        self.vertices.lock().extend(inserted);
        Ok(Run { since, reads, is_serializable, updated, committed })
    }

    /// Adds one to a weight, and asks whether the transaction sees that.
    fn add_weight(
        &mut self,
        transaction: &mut ClusterTransaction,
        updated: &mut Vec<(VertexId, Answer)>,
    ) -> Result<()> {
        let vertex = self.any_vertex();
        if updated.iter().any(|(known, _)| *known == vertex) {
            return Ok(());
        }
        let before = ask(&*transaction, vertex)?;
        let weight = before.and_then(|(weight, _)| weight).unwrap_or_default() + 1;
        transaction.set_vertex_property(vertex, WEIGHT, Some(Value::I64(weight)))?;
        let after = ask(&*transaction, vertex)?;
        assert_eq!(after.map(|(weight, _)| weight), Some(Some(weight)), "own writes are seen");
        updated.push((vertex, before));
        Ok(())
    }

    fn change(
        &mut self,
        transaction: &mut ClusterTransaction,
        updated: &mut Vec<(VertexId, Answer)>,
        inserted: &mut Vec<VertexId>,
    ) -> Result<()> {
        let (vertex, other) = (self.any_vertex(), self.any_vertex());
        match self.chance.below(12) {
            0..=2 => {
                let mut properties = vec![(WEIGHT, Value::I64(0))];
                if self.chance.happens(OneIn(10)) {
                    // It has no room in a message.
                    properties.push((TEXT, "x".repeat(90_000).into()));
                }
                let vertex = transaction.add_vertex(PERSON, &properties)?;
                assert_eq!(ask(&*transaction, vertex)?, Some((Some(0), 0)), "own writes are seen");
                inserted.push(vertex);
                if ask(&*transaction, other)?.is_some() {
                    transaction.add_edge(vertex, KNOWS, other, &[])?;
                }
            }
            3..=6 => {
                transaction.add_edge(vertex, KNOWS, other, &[(WEIGHT, Value::I64(1))])?;
            }
            7 => {
                if let Some(edge) = first_edge(transaction, vertex)? {
                    transaction.set_edge_property(edge, WEIGHT, Some(Value::I64(2)))?;
                }
            }
            8 => {
                if let Some(edge) = first_edge(transaction, vertex)? {
                    transaction.delete_edge(edge)?;
                }
            }
            9 => {
                transaction.delete_vertex(vertex)?;
                // What it made of the weight before is gone with it.
                updated.retain(|(known, _)| *known != vertex);
            }
            _ => self.add_weight(transaction, updated)?,
        }
        Ok(())
    }
}

fn first_edge(transaction: &ClusterTransaction, vertex: VertexId) -> Result<Option<EdgeId>> {
    if !is_there(transaction, vertex)? {
        return Ok(None);
    }
    let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    transaction.neighbors(&[vertex], None, Direction::Out, &mut cursor, 1, &mut batch)?;
    Ok(batch.edges.first().copied())
}

/// Stores of all nodes, with names that all of them know, and some vertices.
fn begin(cluster: &Cluster) -> (Vec<ClusterStore>, Vec<VertexId>, Timestamp) {
    let coordinators = coordinators(cluster, Duration::from_secs(60));
    let names = [
        NewName::Label("Person".into()),
        NewName::EdgeType("KNOWS".into()),
        NewName::Key("weight".into()),
        NewName::Key("text".into()),
    ];
    let first = names.map(|name| coordinators[0].name(name.clone()).map(|id| (name, id)).unwrap());
    for (name, id) in first {
        assert_eq!(coordinators[1].name(name).unwrap(), id, "all who ask get the same");
    }
    let all = stores(cluster, &coordinators);
    let after = Freshness::After(coordinators[0].applied().end());
    let mut transaction = all[2].begin_with(TransactionOptions::default().freshness(after));
    let mut keys = ["weight", "text"].map(|name| transaction.key(name).unwrap());
    keys.sort_unstable();
    assert_eq!((transaction.label("Person").unwrap(), keys), (PERSON, [WEIGHT, TEXT]));
    assert_eq!(transaction.edge_type("KNOWS").unwrap(), KNOWS);
    let weight = [(WEIGHT, Value::I64(0))];
    let vertices = (0..VERTICES).map(|_| transaction.add_vertex(PERSON, &weight).unwrap()).collect();
    let committed = transaction.commit().unwrap();
    (all, vertices, committed.timestamp)
}

/// Plays clients at once, and judges.
///
/// # Errors
/// What is wrong.
fn play(seed: u64, work: Work, bug: Option<Bug>) -> std::result::Result<Tally, String> {
    let faults = LogFaults {
        delay_max: Duration::from_millis(3),
        refused: OneIn(40),
        lost: OneIn(60),
        unanswered: OneIn(60),
        late: OneIn(60),
        doubled: OneIn(20),
        gap: OneIn(20),
        lag: OneIn(5),
        cut: OneIn(80),
    };
    let cluster = Cluster::start(seed, faults);
    let (stores, vertices, seen) = begin(&cluster);
    let vertices = Mutex::new(vertices);
    let (mut runs, mut tally) = (Vec::new(), Tally::default());
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let client = Client {
                    stores: &stores,
                    node: number % stores.len(),
                    work,
                    chance: SeededChance::new(seed * 100 + number as u64),
                    vertices: &vertices,
                    seen,
                    runs: Vec::new(),
                    conflicts: 0,
                };
                scope.spawn(move || match bug {
                    Some(bug) => with(bug, || client.run()),
                    None => client.run(),
                })
            })
            .collect();
        for client in clients {
            let (of_client, conflicts) = client.join().unwrap();
            runs.extend(of_client);
            tally.conflicts += conflicts;
        }
    });
    cluster.check();
    let mut judge = Judge::new();
    judge.read(&cluster.log);
    for run in &runs {
        right(run, &judge)?;
        tally.committed += usize::from(run.committed.is_some());
        tally.read_only += usize::from(run.committed.is_none());
    }
    tally.parts = judge.parts;
    // One more made the first vertices.
    if judge.commits.len() != tally.committed + 1 {
        let commits = judge.commits.len();
        return Err(format!("{commits} transactions committed, and clients know of {tally:?}"));
    }
    let end = judge.state.seen().position;
    cluster.wait_until("a node does not come to the end of the log", || {
        cluster.nodes.iter().all(|node| node.applied() >= end)
    });
    (0..3).for_each(|node| read(&cluster, &mut judge, node));
    Ok(tally)
}

/// Whether a transaction was right.
fn right(run: &Run, judge: &Judge) -> std::result::Result<(), String> {
    let then = judge.graph_at(run.since);
    for (vertex, answer) in &run.reads {
        if answer_of(&then, *vertex) != *answer {
            return Err(format!("{vertex} was read at {} as {answer:?}", run.since));
        }
    }
    let Some(committed) = run.committed else { return Ok(()) };
    if !judge.commits.contains(&committed) {
        return Err(format!("{committed} was acknowledged, and is not in the log"));
    }
    let before = judge.graph_before(committed);
    for (vertex, answer) in run.reads.iter().filter(|_| run.is_serializable) {
        if answer_of(&before, *vertex) != *answer {
            return Err(format!("{committed} is not serialisable: it read {vertex} as {answer:?}"));
        }
    }
    let weight = |answer: Answer| answer.and_then(|(weight, _)| weight);
    for (vertex, answer) in &run.updated {
        if weight(answer_of(&before, *vertex)) != weight(*answer) {
            return Err(format!("{committed} has lost an update of {vertex}"));
        }
    }
    Ok(())
}

#[test]
fn transactions_of_all_nodes_are_right_in_the_order_of_the_log() {
    let mut all = Tally::default();
    for (seed, work) in [(1, Work::All), (2, Work::Weights), (3, Work::All)] {
        let tally = play(seed, work, None).unwrap_or_else(|wrong| panic!("seed {seed}, {work:?}: {wrong}"));
        all.committed += tally.committed;
        all.read_only += tally.read_only;
        all.conflicts += tally.conflicts;
        all.parts += tally.parts;
    }
    assert!(all.committed > 150 && all.read_only > 50 && all.conflicts > 20 && all.parts > 2, "{all:?}");
}

#[test]
fn planted_bugs_of_transactions_are_found() {
    for (bug, message) in
        [(Bug::WritesUnchecked, "has lost an update"), (Bug::ReadsUnchecked, "is not serialisable")]
    {
        match (1..20).find_map(|seed| play(seed, Work::Weights, Some(bug)).err()) {
            Some(wrong) => assert!(wrong.contains(message), "{bug:?} is found otherwise: {wrong}"),
            None => panic!("no run shows {bug:?}"),
        }
    }
}
