//! Graphs: TinkerPop's graphs as databases in memory, or on clusters of three nodes in this process.
//!
//! A key of which a vertex has several values is of type list for all of its label, as an import makes of them:
//! Gremlin gives each element as a property. Where a file's properties have properties, the schema asks for them. Ids are
//! Evergraph's own.

use crate::jar;
use crate::names::Names;
use crate::served_graph::ServedGraph;
use evergraph::graph::transaction::Transaction as _;
use evergraph::graph::value::collection::{List, Map};
use evergraph::{Database, EngineKind, Error, GraphView, Options, Transaction, Value, VertexId};
use evergraph_formats::element::{Edge, Vertex, VertexProperty};
use evergraph_formats::graphson::stream::{StreamOptions, VertexStream};
use evergraph_tests::cluster::databases::{of_whole_cluster, travelling};
use evergraph_tests::cluster::nodes::{ClusterSetup, PARTITIONS};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tempfile::TempDir;

/// Why what was read from a file can lie within a list or a map.
const NOT_DEEP: &str = "values of a file are less deep than may be";

/// Of each partition of a cluster: most of the graph is on other nodes then.
const COPIES: usize = 1;

/// A graph that scenarios begin with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Given {
    /// Nothing.
    Empty,
    /// Six people and programs.
    Modern,
    /// The same without labels of vertices.
    Classic,
    /// People who moved: several values of one key, with times.
    Crew,
    /// Songs of the Grateful Dead.
    Grateful,
    /// A few loops.
    Sink,
}

impl Given {
    /// The graph called `name` in scenarios.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "empty" => Self::Empty,
            "modern" => Self::Modern,
            "classic" => Self::Classic,
            "crew" => Self::Crew,
            "grateful" => Self::Grateful,
            "sink" => Self::Sink,
            _ => return None,
        })
    }

    fn file(self) -> Option<&'static str> {
        match self {
            Self::Empty => None,
            Self::Modern => Some("tinkerpop-modern"),
            Self::Classic => Some("tinkerpop-classic"),
            Self::Crew => Some("tinkerpop-crew"),
            Self::Grateful => Some("grateful-dead"),
            Self::Sink => Some("tinkerpop-sink"),
        }
    }
}

/// A graph's database, and what its elements are called.
#[derive(Clone)]
pub struct Loaded {
    /// The database.
    pub database: Database,
    /// The names of its elements.
    pub names: Arc<Names>,
    /// Its server, once somebody asked for it.
    served: Arc<OnceLock<Result<ServedGraph, String>>>,
}

impl Loaded {
    /// The graph on a server, which is started the first time.
    ///
    /// # Errors
    /// If it could not be started.
    pub fn served(&self) -> Result<&ServedGraph, Error> {
        let start = || ServedGraph::start(&self.database).map_err(|error| error.to_string());
        self.served.get_or_init(start).as_ref().map_err(Error::invalid)
    }
}

/// All graphs: each was read once, and is loaded once for those who only read.
pub struct Graphs {
    vertices: HashMap<Given, Vec<(Vertex, Vec<Edge>)>>,
    shared: HashMap<Given, Loaded>,
    /// That of every database.
    engine: EngineKind,
    /// Where the files are that `io()` reads.
    files: TempDir,
}

impl Graphs {
    /// The graphs of the jar, in databases of `engine`: the disk engine with a limit of 64 MiB, those of clusters by one of three
    /// nodes.
    ///
    /// # Errors
    /// If the jar lacks one, or it can't be read or loaded.
    pub fn read(jar: &Path, engine: EngineKind) -> Result<Self, String> {
        let files = tempfile::tempdir().map_err(|error| format!("a folder for files: {error}"))?;
        for (name, bytes) in
            [("json", jar::graph(jar, "tinkerpop-modern")?), ("xml", jar::graphml(jar, "tinkerpop-modern")?)]
        {
            let path = files.path().join(format!("tinkerpop-modern.{name}"));
            std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let mut graphs = Self { vertices: HashMap::new(), shared: HashMap::new(), engine, files };
        for given in [Given::Empty, Given::Modern, Given::Classic, Given::Crew, Given::Grateful, Given::Sink]
        {
            let mut vertices = Vec::new();
            if let Some(file) = given.file() {
                let bytes = jar::graph(jar, file)?;
                for parsed in VertexStream::new(bytes.as_slice(), StreamOptions::default()) {
                    let parsed = parsed.map_err(|error| format!("{file}: {error}"))?;
                    vertices.push((parsed.vertex, parsed.edges));
                }
            }
            graphs.vertices.insert(given, vertices);
            let loaded = graphs.fresh(given).map_err(|error| format!("{given:?}: {error}"))?;
            graphs.shared.insert(given, loaded);
        }
        Ok(graphs)
    }

    /// `text`, in which `data` is the folder where files are.
    #[must_use]
    pub fn with_files(&self, text: &str) -> String {
        text.replace("\"data/", &format!("\"{}/", self.files.path().display()))
    }

    /// The graph that all readers share.
    #[must_use]
    pub fn shared(&self, given: Given) -> Loaded {
        self.shared[&given].clone()
    }

    /// The graph, to be written to.
    ///
    /// # Errors
    /// What writing may meet.
    pub fn fresh(&self, given: Given) -> Result<Loaded, Error> {
        let vertices = &self.vertices[&given];
        let database = self.empty()?;
        // A cluster puts the vertices of a transaction together: these are to be everywhere.
        let parts = if self.engine == EngineKind::Cluster { 2 * usize::from(PARTITIONS) } else { 1 };
        let mut ids: HashMap<&Value, VertexId> = HashMap::new();
        let several = several(vertices);
        for part in vertices.chunks(vertices.len().div_ceil(parts).max(1)) {
            ids.extend(database.transact(|transaction| add_vertices(transaction, part, &several))?);
        }
        database.transact(|transaction| {
            for edge in vertices.iter().flat_map(|(_, edges)| edges) {
                let properties: Vec<(&str, Value)> =
                    edge.properties.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
                transaction.add_edge(ids[&edge.source], &edge.edge_type, ids[&edge.target], &properties)?;
            }
            Ok(())
        })?;
        let names = Arc::new(Names::of(&database.snapshot())?);
        Ok(Loaded { database, names, served: Arc::default() })
    }

    /// A database without anything.
    fn empty(&self) -> Result<Database, Error> {
        if self.engine == EngineKind::Cluster {
            return Ok(of_whole_cluster(&ClusterSetup {
                copies: COPIES,
                stages: travelling(),
                ..ClusterSetup::default()
            }));
        }
        let memory_limit_bytes = if self.engine == EngineKind::Disk { 64 << 20 } else { u64::MAX };
        let options = Options { engine: Some(self.engine), memory_limit_bytes, ..Options::default() };
        Database::in_memory_with(&options)
    }
}

/// Adds vertices, and says which is which. Keys of `several` are lists.
fn add_vertices<'v>(
    transaction: &mut Transaction,
    vertices: &'v [(Vertex, Vec<Edge>)],
    several: &HashSet<(&str, &str)>,
) -> Result<Vec<(&'v Value, VertexId)>, Error> {
    let mut ids = Vec::with_capacity(vertices.len());
    for (vertex, _) in vertices {
        let label = label_of(vertex);
        let value = |key: &str, values: &[VertexProperty]| match values {
            [only] if !several.contains(&(label, key)) => only.value.clone(),
            several => {
                let values = several.iter().map(|property| property.value.clone()).collect();
                Value::List(List::new(values).expect(NOT_DEEP))
            }
        };
        let properties: Vec<(&str, Value)> =
            vertex.properties.iter().map(|(key, values)| (key.as_str(), value(key, values))).collect();
        let id = transaction.add_vertex(label, &properties)?;
        ids.push((&vertex.id, id));
        for (key, values) in &vertex.properties {
            set_meta_properties(transaction, (id, label), key, values)?;
        }
    }
    Ok(ids)
}

/// Writes the meta-properties of the values that a vertex has of a key, if there are any.
fn set_meta_properties(
    transaction: &mut Transaction,
    (vertex, label): (VertexId, &str),
    key: &str,
    values: &[VertexProperty],
) -> Result<(), Error> {
    if values.iter().all(|value| value.properties.is_empty()) {
        return Ok(());
    }
    transaction.declare_meta_properties(label, key)?;
    let writer = transaction.by_id();
    let mut all = Vec::with_capacity(values.len());
    for value in values {
        let mut entries = Vec::with_capacity(value.properties.len());
        for (key, value) in &value.properties {
            writer.key(key)?;
            entries.push((Value::from(key.as_str()), value.clone()));
        }
        all.push(Value::Map(Map::new(entries).expect(NOT_DEEP)));
    }
    let (label, key) = (writer.label(label)?, writer.key(key)?);
    let meta = writer.catalogue().meta_key(label, key).expect("it was declared");
    writer.set_vertex_property(vertex, meta, Some(Value::List(List::new(all).expect(NOT_DEEP))))
}

fn label_of(vertex: &Vertex) -> &str {
    vertex.labels.first().map_or("vertex", String::as_str)
}

/// The keys of which a vertex has several values, with its label.
fn several(vertices: &[(Vertex, Vec<Edge>)]) -> HashSet<(&str, &str)> {
    let several = vertices.iter().flat_map(|(vertex, _)| {
        let several = vertex.properties.iter().filter(|(_, values)| values.len() > 1);
        several.map(|(key, _)| (label_of(vertex), key.as_str()))
    });
    several.collect()
}
