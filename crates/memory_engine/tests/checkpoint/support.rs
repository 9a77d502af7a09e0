//! A database in small: engine, log and checkpoints put together as a store does, beside a model
//! that keeps every state. Of whichever engine `crate::tested` names.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use evergraph_graph::bytes::Reader;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::contract::{CheckpointOutcome, CheckpointSources, OnCheckpointProgress};
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::manifest::{Manifest, StoredGroup};
use evergraph_storage::durable_engine::{DurableEngine, OpenContext};
use evergraph_storage::engine::Engine;
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::frame::payload_crc;
use evergraph_storage::log::options::{Durability, LogOptions};
use evergraph_storage::log::recovery::recover;
use evergraph_storage::log::writer::Log;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::Mutex;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::transaction;
use evergraph_storage::vertex_ids::{GroupState, VertexIds};
use evergraph_storage::view::{PointReads, View};

use crate::tested::Tested;

pub const LABEL: LabelId = LabelId(0);

type EdgeKey = (u32, u16, u32, u16);

/// One state of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    pub vertices: BTreeMap<u32, BTreeMap<u16, Value>>,
    pub edges: BTreeMap<EdgeKey, BTreeMap<u16, Value>>,
}

fn edge_id((source, edge_type, target, discriminator): EdgeKey) -> EdgeId {
    EdgeId { source: VertexId(source), edge_type: TypeId(edge_type), target: VertexId(target), discriminator }
}

fn change(properties: &mut BTreeMap<u16, Value>, changes: &Properties) {
    for (key, value) in changes.as_slice() {
        match value {
            Some(value) => properties.insert(key.0, value.clone()),
            None => properties.remove(&key.0),
        };
    }
}

impl Graph {
    pub fn apply(&mut self, mutations: &[Mutation]) {
        let key = |edge: &EdgeId| (edge.source.0, edge.edge_type.0, edge.target.0, edge.discriminator);
        for mutation in mutations {
            match mutation {
                Mutation::InsertVertex { vertex, properties, .. } => {
                    change(self.vertices.entry(vertex.0).or_default(), properties);
                }
                Mutation::DeleteVertex { vertex } => drop(self.vertices.remove(&vertex.0)),
                Mutation::SetVertexProperties { vertex, properties } => {
                    change(self.vertices.get_mut(&vertex.0).unwrap(), properties);
                }
                Mutation::InsertEdge { edge, properties } | Mutation::ReplaceEdge { edge, properties } => {
                    self.edges.insert(key(edge), BTreeMap::new());
                    change(self.edges.get_mut(&key(edge)).unwrap(), properties);
                }
                Mutation::DeleteEdge { edge } => drop(self.edges.remove(&key(edge))),
                Mutation::SetEdgeProperties { edge, properties } => {
                    change(self.edges.get_mut(&key(edge)).unwrap(), properties);
                }
                Mutation::Schema(_) | Mutation::LeaveIndex(_) | Mutation::Note(_) => {}
            }
        }
    }

    /// A commit that is exact on this state: at most one mutation an item.
    pub fn random_commit(&self, random: &mut SplitMix64) -> Vec<Mutation> {
        let mut below = |bound: usize| (random.next_u64() % bound as u64) as usize;
        let mut mutations = Vec::new();
        let mut written = BTreeSet::new();
        let mut ends = BTreeSet::new();
        let mut edges = BTreeSet::new();
        for _ in 0..1 + below(8) {
            let what = below(12);
            if what < 4 || self.vertices.len() < 3 {
                // Two groups, with rows at the beginning and the end.
                let vertex = [0, 1, 2, 3, 4094, 4095, 4096, 4097, 4099][below(9)];
                if !written.insert(vertex) {
                    continue;
                }
                let is_end = self.edges.keys().any(|edge| edge.0 == vertex || edge.2 == vertex);
                let (id, properties) = (VertexId(vertex), some_properties(&mut below));
                mutations.push(match self.vertices.contains_key(&vertex) {
                    false => {
                        let properties = properties.without_removals();
                        Mutation::InsertVertex { vertex: id, label: LABEL, properties }
                    }
                    true if what < 2 && !is_end && !ends.contains(&vertex) => {
                        Mutation::DeleteVertex { vertex: id }
                    }
                    true => Mutation::SetVertexProperties { vertex: id, properties },
                });
                continue;
            }
            let mut pick = || *self.vertices.keys().nth(below(self.vertices.len())).unwrap();
            let (source, target) = (pick(), pick());
            let key = (source, below(2) as u16, target, (below(6) / 5) as u16);
            // An edge of a vertex that this commit deletes would dangle.
            if written.contains(&source) || written.contains(&target) || !edges.insert(key) {
                continue;
            }
            ends.extend([source, target]);
            let (edge, properties) = (edge_id(key), some_properties(&mut below));
            mutations.push(match (self.edges.contains_key(&key), what) {
                (false, _) => Mutation::InsertEdge { edge, properties: properties.without_removals() },
                (true, 4..7) => Mutation::DeleteEdge { edge },
                (true, 7) => Mutation::ReplaceEdge { edge, properties: properties.without_removals() },
                (true, _) => Mutation::SetEdgeProperties { edge, properties },
            });
        }
        mutations
    }

    /// All that `view` shows, in both directions.
    pub fn of(view: &impl View) -> Self {
        let mut graph = Self::default();
        let mut reversed = BTreeSet::new();
        let named = |list: Vec<(KeyId, Value)>| list.into_iter().map(|(key, value)| (key.0, value)).collect();
        for group in
            (0..view.group_count()).map(GroupId).filter(|group| view.group_label(*group).unwrap().is_some())
        {
            let live = view.live(group).unwrap();
            let rows: Vec<_> = (0..4096u16).map(|row| VertexId::new(group, row)).collect();
            for (row, vertex) in rows.iter().enumerate() {
                if live[row / 64] >> (row % 64) & 1 == 1 {
                    graph.vertices.insert(vertex.0, named(view.vertex_property_map(*vertex).unwrap()));
                }
            }
            for side in [Direction::Out, Direction::In] {
                for edge_type in view.edge_types(group, side).unwrap() {
                    let mut degrees = vec![0; rows.len()];
                    view.degrees(&rows, edge_type, side, &mut degrees).unwrap();
                    if side == Direction::Out {
                        let count = view.group_edge_count(group, edge_type).unwrap();
                        assert_eq!(degrees.iter().sum::<u64>(), count);
                    }
                    let with_edges = view.rows_with_edges(group, edge_type, side).unwrap();
                    let mut list = Vec::new();
                    for (row, (vertex, degree)) in rows.iter().zip(degrees).enumerate() {
                        if with_edges[row / 64] >> (row % 64) & 1 == 0 {
                            assert_eq!(degree, 0, "{vertex} has no edges");
                            continue;
                        }
                        view.all_neighbors(*vertex, edge_type, side, &mut list).unwrap();
                        assert_eq!(degree, list.len() as u64);
                        for (neighbor, discriminator) in list.drain(..) {
                            if side == Direction::In {
                                reversed.insert((neighbor.0, edge_type.0, vertex.0, discriminator));
                                continue;
                            }
                            let key = (vertex.0, edge_type.0, neighbor.0, discriminator);
                            graph.edges.insert(key, named(view.edge_property_map(edge_id(key)).unwrap()));
                        }
                    }
                }
            }
        }
        let out: BTreeSet<EdgeKey> = graph.edges.keys().copied().collect();
        let differ: Vec<_> = out.symmetric_difference(&reversed).take(9).collect();
        assert!(differ.is_empty(), "edges on one side only: {differ:?}");
        graph
    }
}

fn some_properties(below: &mut impl FnMut(usize) -> usize) -> Properties {
    let count = below(3);
    let mut properties = Vec::new();
    for _ in 0..count {
        let number = below(1000) as i64;
        let value = match below(6) {
            0 => None,
            1 => Some(Value::from(format!("text {number}"))),
            2 => Some(Value::F64(number as f64)),
            _ => Some(Value::I64(number)),
        };
        properties.push((KeyId(below(3) as u16), value));
    }
    Properties::new(properties)
}

/// What a database is, beside the bytes of its directory.
pub struct Database {
    pub engine: Tested,
    pub timeline: Arc<Timeline>,
    pub log: Arc<Log>,
    state: Mutex<State>,
    /// Locked for a moment only, under the latch too; `state` comes before the latch.
    catalogue: Mutex<Arc<Catalogue>>,
}

struct State {
    groups: BTreeMap<u32, StoredGroup>,
    /// The state at opening and after each commit since.
    graphs: BTreeMap<u64, Graph>,
}

/// Log files of a few pages, so that checkpoints have some to prune.
pub fn small_files(durability: Durability) -> LogOptions {
    // Nothing goes on beside the caller: a planned failure meets what the test does next.
    let (first_file_bytes, background) = (2 * 4096, Background::Stepped);
    let options = LogOptions { durability, first_file_bytes, background, ..LogOptions::default() };
    LogOptions { log_file_bytes: 4 * 4096, ..options }
}

fn decode(payload: &[u8]) -> Vec<Mutation> {
    let mut reader = Reader::new(payload);
    let mut mutations = Vec::new();
    while !reader.is_empty() {
        mutations.push(Mutation::decode(&mut reader).unwrap());
    }
    mutations
}

impl State {
    fn note(&mut self, mutations: &[Mutation], catalogue: &Mutex<Arc<Catalogue>>) {
        for mutation in mutations {
            match mutation {
                Mutation::Schema(change) => {
                    let mut catalogue = catalogue.lock();
                    let mut changed = Catalogue::clone(&catalogue);
                    changed.apply(change);
                    *catalogue = Arc::new(changed);
                }
                Mutation::InsertVertex { vertex, label, .. } => {
                    let (id, label) = (vertex.group(), *label);
                    let group = self.groups.entry(id.0).or_insert(StoredGroup { id, label, rows: 0 });
                    group.rows = group.rows.max(vertex.row() + 1);
                }
                _ => {}
            }
        }
    }
}

impl Database {
    /// Opens what is in `directory`, or makes a new database in it.
    pub fn open(directory: Arc<dyn Directory>, durability: Durability) -> Result<Self, CheckpointError> {
        let manifest = match Manifest::read(&*directory, Tested::opens) {
            Err(CheckpointError::NotADatabase { .. }) => {
                let manifest = Manifest::empty(Tested::NEW, Tested::empty_section(Tested::NEW));
                manifest.write(&*directory, || Ok(()))?;
                manifest
            }
            manifest => manifest?,
        };
        let open_log: Arc<OnceLock<Arc<Log>>> = Arc::default();
        let source = Arc::clone(&open_log);
        let through = move || source.get().map_or(Timestamp::MAX, |log| Timestamp(log.durable()));
        let readable = match durability {
            Durability::Sync => Readable::Durable(Arc::new(through)),
            _ => Readable::Published,
        };
        let timeline = Arc::new(Timeline::new(manifest.covered_through, readable));
        let background = Background::Threads;
        let opening = OpenContext {
            directory: &directory,
            manifest: &manifest,
            timeline: &timeline,
            background,
            io_threads: 1,
            compaction_threads: 1,
            budget: &Arc::new(MemoryBudget::new(u64::MAX)),
            live_bytes_max: u64::MAX,
        };
        let engine = Tested::open(&opening)?.engine;
        let catalogue = Mutex::new(Arc::new(manifest.catalogue.clone()));
        let mut state = State {
            groups: manifest.groups.iter().map(|group| (group.id.0, *group)).collect(),
            graphs: BTreeMap::new(),
        };
        let replay = manifest.wanted_log();
        let ids = manifest.groups.iter();
        let ids = ids.map(|group| GroupState { group: group.id, label: group.label, rows: group.rows });
        let ids = VertexIds::import(&ids.collect::<Vec<_>>());
        // Small batches, so that most recoveries have some.
        let mut installing =
            transaction::replay::Replay::new(&engine, &timeline, Catalogue::clone(&catalogue.lock()), ids)
                .in_batches_of(5);
        let recovered = recover(&*directory, replay, |ts, payload| {
            installing.payload(Timestamp(ts), payload).unwrap();
            state.note(&decode(payload), &catalogue);
            Ok::<_, LogError>(())
        })?;
        drop(installing.finish().unwrap());
        assert_eq!(timeline.published().0, recovered.last_ts);
        let log = Log::open(directory, recovered, small_files(durability), Box::new(SplitMix64::new(9)))?;
        let log = Arc::clone(open_log.get_or_init(|| Arc::new(log)));
        let published = timeline.published();
        state.graphs.insert(published.0, graph_at(&engine, published));
        Ok(Self { engine, timeline, log, state: Mutex::new(state), catalogue })
    }

    pub fn published(&self) -> Timestamp {
        self.timeline.published()
    }

    /// The newest state of the model.
    pub fn model(&self) -> Graph {
        self.model_at(self.published())
    }

    /// A state of the model since opening.
    pub fn model_at(&self, timestamp: Timestamp) -> Graph {
        self.state.lock().graphs[&timestamp.0].clone()
    }

    /// The newest state as the engine shows it.
    pub fn graph(&self) -> Graph {
        graph_at(&self.engine, self.published())
    }

    /// Commits without waiting for the disk.
    pub fn append(&self, mutations: &[Mutation]) -> Result<Timestamp, LogError> {
        let mut state = self.state.lock();
        for mutation in mutations {
            if let Mutation::InsertVertex { vertex, label, .. } = mutation {
                self.engine.open_group(vertex.group(), *label);
            }
        }
        let mut payload = Vec::new();
        mutations.iter().for_each(|mutation| mutation.encode(&mut payload));
        let prepared = self.engine.prepare(mutations, &IndexChanges::NONE, Duration::ZERO).unwrap();
        let space = self.log.reserve(payload.len())?;
        let timeline = &self.timeline;
        let mut latch = timeline.latch();
        let timestamp = timeline.published().next();
        let displaced = self.engine.append(timestamp, prepared);
        self.log.append(space, timestamp.0, &payload, payload_crc(&payload));
        state.note(mutations, &self.catalogue);
        let mut graph = state.graphs.last_entry().unwrap().get().clone();
        graph.apply(mutations);
        state.graphs.insert(timestamp.0, graph);
        timeline.publish(timestamp, &mut latch);
        drop(latch);
        drop(displaced);
        Ok(timestamp)
    }

    pub fn name(&self, name: &str) {
        let id = LabelId(self.catalogue().labels().count() as u16);
        self.append(&[Mutation::Schema(SchemaChange::AddLabel { id, name: name.into() })]).unwrap();
    }

    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.lock())
    }

    pub fn checkpoint(&self) -> Result<CheckpointOutcome, CheckpointError> {
        self.checkpoint_with(&mut |_| ControlFlow::Continue(()))
    }

    pub fn checkpoint_with(
        &self,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> Result<CheckpointOutcome, CheckpointError> {
        let sources = CheckpointSources {
            log: &self.log,
            catalogue: &|| self.catalogue(),
            notes: &|_| None,
            groups: &|| self.state.lock().groups.values().copied().collect(),
        };
        self.engine.checkpoint(&sources, progress)
    }
}

// With the empty pins of some engines this passes nothing, which is their affair.
#[allow(clippy::let_unit_value, clippy::unit_arg, reason = "pins of some engines are empty")]
fn graph_at(engine: &Tested, timestamp: Timestamp) -> Graph {
    let pin = engine.pin(timestamp);
    Graph::of(&engine.view(&pin, timestamp))
}

/// The names of a database's files but the log's, which come and go in the background.
#[allow(dead_code, reason = "not every engine's tests ask")]
pub fn files(directory: &MemoryDirectory) -> Vec<String> {
    directory.list().unwrap().into_iter().filter(|name| !name.starts_with("log-")).collect()
}

/// A disk that keeps, loses and tears what was not synced, as the seed says.
pub fn crash(directory: &MemoryDirectory, seed: u64) -> MemoryDirectory {
    let mut random = SplitMix64::new(seed);
    directory.crash(|_| match random.next_u64() % 4 {
        0 | 1 => CrashOutcome::Kept,
        2 => CrashOutcome::Lost,
        _ => CrashOutcome::Torn((random.next_u64() % 512) as usize),
    })
}
