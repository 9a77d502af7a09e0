//! A database on the disk engine, beside a model that keeps the graph of every commit.

use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, GraphView, NeighborBatch, NeighborCursor, VertexCursor};
use evergraph_storage::checkpoint::contract::CheckpointOutcome;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::collections::BTreeMap;
use std::io::ErrorKind as IoKind;
use std::ops::ControlFlow;
use std::sync::Arc;

pub type Values = Vec<(KeyId, Value)>;

/// A graph as plain maps.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Graph {
    pub vertices: BTreeMap<VertexId, Values>,
    pub edges: BTreeMap<EdgeId, Values>,
}

/// What a view shows, on both sides of each edge.
pub fn dump<V: GraphView>(view: &V) -> Graph {
    let (mut vertices, mut cursor) = (Vec::new(), VertexCursor::default());
    while !cursor.done {
        view.scan_vertices(None, &mut cursor, 50, &mut vertices).unwrap();
    }
    let (mut edges, mut cursor) = (Vec::new(), EdgeCursor::default());
    while !cursor.done {
        view.scan_edges(None, &mut cursor, 50, &mut edges).unwrap();
    }
    let (mut batch, mut cursor) = (NeighborBatch::default(), NeighborCursor::default());
    view.neighbors(&vertices, None, Direction::In, &mut cursor, usize::MAX, &mut batch).unwrap();
    let mut arriving = batch.edges;
    arriving.sort_unstable();
    assert_eq!(arriving, edges, "both sides have the same edges");
    let values = |vertex: &VertexId| view.vertex_property_map(*vertex).unwrap();
    let edge_values = |edge: &EdgeId| view.edge_property_map(*edge).unwrap();
    Graph {
        vertices: vertices.iter().map(|vertex| (*vertex, values(vertex))).collect(),
        edges: edges.iter().map(|edge| (*edge, edge_values(edge))).collect(),
    }
}

pub fn go_on<T>(_: T) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub fn open(directory: Arc<dyn Directory>, durability: Durability) -> Result<OpenStore<DiskEngine>> {
    OpenStore::open(directory, &options(durability))
}

pub fn options(durability: Durability) -> OpenOptions {
    OpenOptions {
        durability,
        environment: Environment::simulated(7),
        memory_limit_bytes: 64 << 20,
        log_file_bytes: 16 << 10,
        ..OpenOptions::default()
    }
}

/// A database and what it must show.
pub struct Database {
    pub open: OpenStore<DiskEngine>,
    random: SplitMix64,
    /// The graph after each commit, whether it was acknowledged or not.
    pub graphs: BTreeMap<Timestamp, Graph>,
    /// The newest acknowledged commit.
    pub acknowledged: Timestamp,
}

impl Database {
    pub fn open(directory: Arc<dyn Directory>, durability: Durability, seed: u64) -> Result<Self> {
        Ok(Self::of(open(directory, durability)?, seed))
    }

    /// The same of a database that is open.
    pub fn of(open: OpenStore<DiskEngine>, seed: u64) -> Self {
        let snapshot = open.store().snapshot();
        let (now, graph) = (snapshot.timestamp(), dump(&snapshot));
        let graphs = BTreeMap::from([(now, graph)]);
        drop(snapshot);
        Self { open, random: SplitMix64::new(seed), graphs, acknowledged: now }
    }

    pub fn newest(&self) -> &Graph {
        self.graphs.values().next_back().expect("there is one from the beginning")
    }

    pub fn checkpoint(&self) -> Result<CheckpointOutcome> {
        self.open.checkpoint(&mut |progress| go_on(progress))
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.random.next_u64() % bound as u64) as usize
    }

    fn any<K: Copy, V>(&mut self, of: &BTreeMap<K, V>) -> Option<K> {
        let at = (!of.is_empty()).then(|| self.below(of.len()))?;
        of.keys().nth(at).copied()
    }

    /// Makes `count` commits; whether all were acknowledged.
    pub fn commit_some(&mut self, count: usize) -> bool {
        (0..count).all(|_| self.commit().is_ok())
    }

    /// Commits a few changes.
    fn commit(&mut self) -> Result<()> {
        let mut graph = self.newest().clone();
        let store = self.open.store().clone();
        let mut tx = store.begin();
        let (label, edge_type) = (tx.label("Person")?, tx.edge_type("KNOWS")?);
        let (name, weight) = (tx.key("name")?, tx.key("weight")?);
        for _ in 0..=self.below(4) {
            match self.below(10) {
                0..=2 => {
                    let length = [0, 3, 700][self.below(3)];
                    let values = vec![(name, Value::from("x".repeat(length).as_str()))];
                    graph.vertices.insert(tx.add_vertex(label, &values)?, values);
                }
                3..=5 => {
                    let ends = (self.any(&graph.vertices), self.any(&graph.vertices));
                    let (Some(source), Some(target)) = ends else { continue };
                    let values = vec![(weight, Value::I64(self.below(100) as i64))];
                    let values = if self.below(2) == 0 { Vec::new() } else { values };
                    graph.edges.insert(tx.add_edge(source, edge_type, target, &values)?, values);
                }
                6 => {
                    let Some(vertex) = self.any(&graph.vertices) else { continue };
                    let value = (self.below(3) > 0).then(|| Value::from("y"));
                    tx.set_vertex_property(vertex, name, value.clone())?;
                    graph.vertices.insert(vertex, value.map(|value| (name, value)).into_iter().collect());
                }
                7 => {
                    let Some(edge) = self.any(&graph.edges) else { continue };
                    tx.set_edge_property(edge, weight, Some(Value::I64(-1)))?;
                    graph.edges.insert(edge, vec![(weight, Value::I64(-1))]);
                }
                8 => {
                    let Some(edge) = self.any(&graph.edges) else { continue };
                    tx.delete_edge(edge)?;
                    graph.edges.remove(&edge);
                }
                _ => {
                    let Some(vertex) = self.any(&graph.vertices) else { continue };
                    tx.delete_vertex(vertex)?;
                    graph.vertices.remove(&vertex);
                    graph.edges.retain(|edge, _| edge.source != vertex && edge.target != vertex);
                }
            }
        }
        let published = store.timeline().published();
        let committed = tx.commit().map(|committed| committed.timestamp);
        // A commit that was refused may be in the log all the same.
        let timestamp = *committed.as_ref().unwrap_or(&published.next());
        self.graphs.insert(timestamp, graph);
        self.acknowledged = committed?;
        self.open.store().log().step_preparer();
        Ok(())
    }

    /// Opens an image of this database's files: it shows the graph of one of its commits, from the one at `floor` on.
    pub fn check_image(
        &self,
        image: &Arc<dyn Directory>,
        durability: Durability,
        floor: Timestamp,
        at: &str,
    ) {
        for _ in 0..2 {
            let again = open(Arc::clone(image), durability).unwrap_or_else(|error| panic!("{at}: {error}"));
            let snapshot = again.store().snapshot();
            let found = snapshot.timestamp();
            assert!(found >= floor, "{at}: commits through {floor} were promised, found {found}");
            let (_, wanted) =
                self.graphs.range(..=found).next_back().expect("no image is older than the database");
            assert_eq!(&dump(&snapshot), wanted, "{at}: at {found}");
            drop(snapshot);
            let report = again.check(&mut |_, _, _| go_on(())).unwrap();
            assert!(report.is_healthy(), "{at}: {report:?}");
            again.checkpoint(&mut |progress| go_on(progress)).unwrap_or_else(|error| panic!("{at}: {error}"));
        }
    }
}

/// Does `work` on a new database whose disk lets one change less through each time than the next, and then no more, until
/// it says that all was done; the database shows what it acknowledged after each such power cut. How often it was stopped.
pub fn cut_at_every_operation(seed: u64, work: impl Fn(&mut Database) -> bool) -> usize {
    let mut stopped = 0;
    for changes in 1..10_000 {
        let directory = MemoryDirectory::new("db");
        let failing = FailingDirectory::new(Arc::new(directory.clone()));
        failing.plan(Fault::any_change(IoKind::Other).nth(changes).lasting());
        let Ok(mut database) = Database::open(Arc::new(failing), Durability::Sync, seed) else { continue };
        let is_whole = work(&mut database);
        let image: Arc<dyn Directory> = Arc::new(directory.power_cut());
        let at = format!("operation {changes}");
        database.check_image(&image, Durability::Sync, database.acknowledged, &at);
        if is_whole {
            return stopped;
        }
        stopped += 1;
    }
    panic!("without faults everything is done");
}

/// The engine's files in a directory.
pub fn files(directory: &dyn Directory) -> Vec<String> {
    use evergraph_storage::durable_engine::DurableEngine;
    let mut names: Vec<_> =
        directory.list().unwrap().into_iter().filter(|name| DiskEngine::is_file(name)).collect();
    names.sort_unstable();
    names
}
