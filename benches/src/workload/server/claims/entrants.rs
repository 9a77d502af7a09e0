//! Entrants: who is asked at which isolation level, each started with a graph of its own for a run.
//!
//! ```text
//! evergraph                  snapshot isolation, durable         evergraph, serializable    the same server, as requests say
//! tinkergraph server         for mixes TinkerTransactionGraph, read committed; nothing is kept on disk
//! janusgraph server          BerkeleyDB, repeatable read (locks)     janusgraph server, serializable
//! neo4j server               read committed (locks)
//! ```

use crate::folder::{copy_folder, make_folder};
use crate::goals::baseline;
use crate::plan::Work;
use crate::server_plan::ServerPeer;
use crate::workload::property_graph::PropertyGraph;
use crate::workload::server::contender::{Contender, Dialect};
use crate::workload::server::peers::{
    GremlinServer, JANUSGRAPH_SERVER, NEO4J_SERVER, TINKERGRAPH_SERVER, rows_of_neo4j, start_neo4j,
};
use crate::workload::server::process::{Serve, ServerProcess};
use crate::workload::server::{Bench, OURS};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::transaction::Isolation;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::TempDir;

const FILL: &str = include_str!("../../../../compare/servers/fill_lines.groovy");
const TINKERGRAPH: &str = include_str!("../../../../compare/servers/tinkergraph_lines.groovy");
const JANUSGRAPH: &str = include_str!("../../../../compare/servers/janusgraph_lines.groovy");

/// The name of JanusGraph's server at its stricter level.
const JANUSGRAPH_SERIALIZABLE: &str = "janusgraph server, serializable";

/// One server at one isolation level.
#[derive(Clone, Copy, Debug)]
pub struct Entrant {
    /// Its name in results.
    pub name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Ours(Isolation),
    Tinkergraph(Purpose),
    Janusgraph(Isolation),
    Neo4j,
}

/// What a server is started for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Reads: each server at its default isolation level, TinkerGraph without transactions.
    Reads,
    /// Reads and writes by several clients: both isolation levels where a server has them.
    Mixes,
}

/// A graph as all entrants load it: a database of ours to copy, and lines of JSON.
pub struct Prepared<'a> {
    graph: &'a PropertyGraph,
    database: PathBuf,
    lines: PathBuf,
    folder: PathBuf,
}

/// An entrant that serves.
pub struct Running {
    /// Its process.
    pub process: ServerProcess,
    /// How it is asked.
    pub contender: Contender,
    /// Its files, which go after the process: of each run they would fill a disk.
    _folder: TempDir,
}

impl Entrant {
    /// Ours first, then those of the plan whose jars are there.
    pub fn all(work: &mut Work<'_>, bench: &Bench<'_>, purpose: Purpose) -> Vec<Self> {
        let mut all = vec![Self { name: OURS, kind: Kind::Ours(Isolation::Snapshot) }];
        if purpose == Purpose::Mixes {
            all.push(Self { name: baseline::SERIALIZABLE, kind: Kind::Ours(Isolation::Serializable) });
        }
        let Some(jars) = &bench.plan.jars else { return all };
        for peer in &bench.plan.peers {
            if !jars.join(folder_of(*peer)).is_dir() {
                work.note(format!("left out: {}, whose jars are not there", folder_of(*peer)));
                continue;
            }
            match peer {
                ServerPeer::Tinkergraph => {
                    all.push(Self { name: TINKERGRAPH_SERVER, kind: Kind::Tinkergraph(purpose) });
                }
                ServerPeer::Janusgraph => {
                    all.push(Self { name: JANUSGRAPH_SERVER, kind: Kind::Janusgraph(Isolation::Snapshot) });
                    if purpose == Purpose::Mixes {
                        let kind = Kind::Janusgraph(Isolation::Serializable);
                        all.push(Self { name: JANUSGRAPH_SERIALIZABLE, kind });
                    }
                }
                ServerPeer::Neo4j => all.push(Self { name: NEO4J_SERVER, kind: Kind::Neo4j }),
            }
        }
        all
    }

    /// Whether it is ours.
    #[must_use]
    pub const fn is_ours(&self) -> bool {
        matches!(self.kind, Kind::Ours(_))
    }

    /// Starts it with the graph as it was prepared.
    ///
    /// # Errors
    /// `io` if it does not start.
    pub fn start(&self, bench: &Bench<'_>, prepared: &Prepared<'_>) -> Result<Running> {
        let own = tempfile::Builder::new().prefix("run-").tempdir_in(&prepared.folder);
        let own = own.map_err(|error| {
            let text = format!("make a folder in {}: {error}", prepared.folder.display());
            Error::new(ErrorKind::Io, text)
        })?;
        let folder = own.path();
        let began = Instant::now();
        let jars = |peer| {
            let jars = bench.plan.jars.as_deref().unwrap_or(Path::new("")).join(folder_of(peer));
            // A server runs in a folder of its own.
            std::path::absolute(jars)
                .map_err(|error| Error::new(ErrorKind::Io, format!("the folder of jars: {error}")))
        };
        let gremlin = Dialect::Bytecode { source: "g" };
        let (process, contender) = match self.kind {
            Kind::Ours(isolation) => {
                let database = folder.join("graph.eg");
                copy_folder(&prepared.database, &database)?;
                let serve = Serve { program: bench.program, database: &database, options: &[] };
                let (process, _) = serve.start()?;
                let mut contender = Contender::new(self.name, process.address, gremlin);
                contender.isolation = Some(isolation);
                (process, contender)
            }
            Kind::Tinkergraph(purpose) => {
                let class = match purpose {
                    Purpose::Reads => "TinkerGraph",
                    Purpose::Mixes => "TinkerTransactionGraph",
                };
                let server = GremlinServer {
                    name: "tinkergraph",
                    class: "org.apache.tinkerpop.gremlin.server.GremlinServer",
                    plugin: "org.apache.tinkerpop.gremlin.tinkergraph.jsr223.TinkerGraphGremlinPlugin",
                    graphs: &["graph"],
                    properties: &format!(
                        "gremlin.graph=org.apache.tinkerpop.gremlin.tinkergraph.structure.{class}\n\
                         gremlin.tinkergraph.vertexIdManager=LONG\ngremlin.tinkergraph.edgeIdManager=LONG\n"
                    ),
                    script: &prepared.script(TINKERGRAPH),
                    registries: &[],
                };
                let process = server.start(folder, &jars(ServerPeer::Tinkergraph)?)?;
                let contender = Contender::new(self.name, process.address, gremlin);
                (process, contender)
            }
            Kind::Janusgraph(isolation) => {
                let level = match isolation {
                    Isolation::Serializable => "SERIALIZABLE",
                    _ => "REPEATABLE_READ",
                };
                let server = GremlinServer {
                    name: "janusgraph",
                    class: "org.janusgraph.graphdb.server.JanusGraphServer",
                    plugin: "org.janusgraph.graphdb.tinkerpop.plugin.JanusGraphGremlinPlugin",
                    graphs: &["graph"],
                    properties: &format!(
                        "gremlin.graph=org.janusgraph.core.JanusGraphFactory\nstorage.backend=berkeleyje\n\
                         storage.directory={}\nschema.default=none\nstorage.berkeleyje.isolation-level={level}\n",
                        folder.join("store").display()
                    ),
                    script: &prepared.script(JANUSGRAPH),
                    registries: &["org.janusgraph.graphdb.tinkerpop.JanusGraphIoRegistry"],
                };
                let process = server.start(folder, &jars(ServerPeer::Janusgraph)?)?;
                let contender = Contender::new(self.name, process.address, gremlin);
                (process, contender)
            }
            Kind::Neo4j => {
                let process = start_neo4j(folder, &jars(ServerPeer::Neo4j)?)?;
                prepared
                    .graph
                    .load_into_neo4j(|text, parameters| rows_of_neo4j(process.address, text, parameters))?;
                let contender = Contender::new(self.name, process.address, Dialect::Cypher);
                (process, contender)
            }
        };
        if !self.is_ours() {
            eprintln!("{} has the graph after {:.0} s", self.name, began.elapsed().as_secs_f64());
        }
        Ok(Running { process, contender, _folder: own })
    }
}

impl<'a> Prepared<'a> {
    /// Makes a database of `graph` and writes it as lines, in a folder `name`.
    ///
    /// # Errors
    /// Those of loading and writing.
    pub fn new(bench: &Bench<'_>, name: &str, graph: &'a PropertyGraph) -> Result<Self> {
        let folder = std::path::absolute(bench.folder.join(name))
            .map_err(|error| Error::new(ErrorKind::Io, format!("the folder {name}: {error}")))?;
        let (database, lines) = (folder.join("prepared.eg"), folder.join("lines"));
        make_folder(&folder)?;
        graph.make_database(&database)?;
        graph.write_lines(&lines)?;
        Ok(Self { graph, database, lines, folder })
    }

    fn script(&self, script: &str) -> String {
        FILL.replace("FOLDER", &self.lines.display().to_string()) + script
    }
}

const fn folder_of(peer: ServerPeer) -> &'static str {
    match peer {
        ServerPeer::Tinkergraph => "tinkergraph",
        ServerPeer::Janusgraph => "janusgraph",
        ServerPeer::Neo4j => "neo4j",
    }
}
