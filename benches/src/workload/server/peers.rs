//! Peers: servers of others, each in a JVM that ends with the run.
//!
//! ```text
//! tinkergraph   Gremlin Server 3.8, in memory: `g` with an index, `plain` without one
//! janusgraph    JanusGraph's Gremlin Server, on BerkeleyDB
//! neo4j         Neo4j's HTTP server, on its own store
//! ```
//!
//! Maven puts their jars into folders (`benches/compare/servers/pom.xml`). Whose folder is missing is left out by name.

use crate::plan::Work;
use crate::server_plan::ServerPeer;
use crate::workload::server::Bench;
use crate::workload::server::contender::{Contender, Dialect, statement_request};
use crate::workload::server::exchange::{Carrier, Exchange};
use crate::workload::server::process::{ServerProcess, free_address};
use evergraph_graph::error::{Error, ErrorKind, Result};
use serde_json::json;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tungstenite::Bytes;

/// How long a JVM may take to start and to load the graph.
const READY_TIME: Duration = Duration::from_secs(900);
const READY_INTERVAL: Duration = Duration::from_millis(200);
/// Rows of a statement that loads.
const LOADED: usize = 10_000;
/// The limit of each JVM's heap.
pub const HEAP: &str = "-Xmx4g";
/// Of each JVM.
const JAVA: [&str; 6] = [
    HEAP,
    "-XX:+UseG1GC",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
];

const FILL: &str = include_str!("../../../compare/servers/fill.groovy");
const TINKERGRAPH: &str = include_str!("../../../compare/servers/tinkergraph.groovy");
const JANUSGRAPH: &str = include_str!("../../../compare/servers/janusgraph.groovy");
const NEO4J: &str = include_str!("../../../compare/servers/Neo4jServer.java");

/// Names of peers in results.
pub const TINKERGRAPH_SERVER: &str = "tinkergraph server";
const PLAIN_TINKERGRAPH_SERVER: &str = "tinkergraph server, no index";
/// See [`TINKERGRAPH_SERVER`].
pub const JANUSGRAPH_SERVER: &str = "janusgraph server";
/// See [`TINKERGRAPH_SERVER`].
pub const NEO4J_SERVER: &str = "neo4j server";

/// Processes of peers, which end when they are dropped, and how they are asked.
#[derive(Default)]
pub struct Peers {
    _processes: Vec<ServerProcess>,
    /// Each.
    pub contenders: Vec<Contender>,
}

impl Peers {
    /// Starts those of the plan, and loads the people into each.
    ///
    /// # Errors
    /// `io` if one whose jars are there does not start.
    pub fn start(work: &mut Work<'_>, bench: &Bench<'_>) -> Result<Self> {
        let mut peers = Self::default();
        let Some(jars) = &bench.plan.jars else { return Ok(peers) };
        bench.people.write_lists(bench.folder)?;
        for peer in &bench.plan.peers {
            let (name, start): (_, fn(&Bench<'_>, &Path) -> Result<Started>) = match peer {
                ServerPeer::Tinkergraph => ("tinkergraph", tinkergraph),
                ServerPeer::Janusgraph => ("janusgraph", janusgraph),
                ServerPeer::Neo4j => ("neo4j", neo4j),
            };
            // A server runs in a folder of its own.
            let jars = std::path::absolute(jars.join(name)).map_err(|error| {
                Error::new(ErrorKind::Io, format!("the folder of {name}'s jars: {error}"))
            })?;
            if !jars.is_dir() {
                let text = format!("left out: {name}, whose jars are not in {}", jars.display());
                eprintln!("{text}");
                work.note(text);
                continue;
            }
            eprintln!("{name} starts and loads the people");
            let began = Instant::now();
            let (process, contenders) = start(bench, &jars)?;
            eprintln!("{name} is ready after {:.0} s", began.elapsed().as_secs_f64());
            peers._processes.push(process);
            peers.contenders.extend(contenders);
        }
        Ok(peers)
    }
}

type Started = (ServerProcess, Vec<Contender>);

fn tinkergraph(bench: &Bench<'_>, jars: &Path) -> Result<Started> {
    let properties = "gremlin.graph=org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerGraph\n\
                      gremlin.tinkergraph.vertexIdManager=LONG\n\
                      gremlin.tinkergraph.edgeIdManager=LONG\n";
    let server = GremlinServer {
        name: "tinkergraph",
        class: "org.apache.tinkerpop.gremlin.server.GremlinServer",
        plugin: "org.apache.tinkerpop.gremlin.tinkergraph.jsr223.TinkerGraphGremlinPlugin",
        graphs: &["graph", "plain"],
        properties,
        script: &filling(bench, TINKERGRAPH),
        registries: &[],
    };
    let process = server.start(&bench.folder.join("tinkergraph"), jars)?;
    let address = process.address;
    let contender = |name, source| Contender::new(name, address, Dialect::Bytecode { source });
    let mut indexed = contender(TINKERGRAPH_SERVER, "g");
    indexed.learn_ids(&bench.people)?;
    // Never asked by id: a scan for each would take minutes.
    Ok((process, vec![indexed, contender(PLAIN_TINKERGRAPH_SERVER, "plain")]))
}

fn janusgraph(bench: &Bench<'_>, jars: &Path) -> Result<Started> {
    let store = bench.folder.join("janusgraph-store");
    let properties = format!(
        "gremlin.graph=org.janusgraph.core.JanusGraphFactory\nstorage.backend=berkeleyje\n\
         storage.directory={}\nschema.default=none\n",
        store.display()
    );
    let server = GremlinServer {
        name: "janusgraph",
        class: "org.janusgraph.graphdb.server.JanusGraphServer",
        plugin: "org.janusgraph.graphdb.tinkerpop.plugin.JanusGraphGremlinPlugin",
        graphs: &["graph"],
        properties: &properties,
        script: &filling(bench, JANUSGRAPH),
        registries: &[],
    };
    let process = server.start(&bench.folder.join("janusgraph"), jars)?;
    let dialect = Dialect::Bytecode { source: "g" };
    let mut contender = Contender::new(JANUSGRAPH_SERVER, process.address, dialect);
    contender.learn_ids(&bench.people)?;
    Ok((process, vec![contender]))
}

/// `script` behind the one that loads the people.
fn filling(bench: &Bench<'_>, script: &str) -> String {
    FILL.replace("FOLDER", &bench.folder.display().to_string()) + script
}

/// Gremlin Server with a graph of others.
pub struct GremlinServer<'a> {
    /// Its name in messages.
    pub name: &'static str,
    /// The class that starts it.
    pub class: &'static str,
    /// The plugin of its graph.
    pub plugin: &'static str,
    /// Names of its graphs, which have the same settings.
    pub graphs: &'a [&'static str],
    /// The settings of each graph.
    pub properties: &'a str,
    /// Groovy that runs before it listens.
    pub script: &'a str,
    /// Classes that know how ids of its own are written.
    pub registries: &'a [&'static str],
}

impl GremlinServer<'_> {
    /// Starts it in a folder of its own, and waits until it listens.
    ///
    /// # Errors
    /// `io` if it does not start.
    pub fn start(&self, folder: &Path, jars: &Path) -> Result<ServerProcess> {
        let address = free_address()?;
        let path = |name: &str| folder.join(name).display().to_string();
        let graphs: serde_json::Map<_, _> =
            self.graphs.iter().map(|graph| ((*graph).to_owned(), json!(path("graph.properties")))).collect();
        let server = "org.apache.tinkerpop.gremlin.server";
        let serializer = "org.apache.tinkerpop.gremlin.util.ser.GraphBinaryMessageSerializerV1";
        // JSON is YAML.
        let settings = json!({
            "host": address.ip().to_string(),
            "port": address.port(),
            "evaluationTimeout": 120_000,
            "graphs": graphs,
            "scriptEngines": { "gremlin-groovy": { "plugins": {
                format!("{server}.jsr223.GremlinServerGremlinPlugin"): {},
                self.plugin: {},
                "org.apache.tinkerpop.gremlin.jsr223.ImportGremlinPlugin": {
                    "classImports": ["java.lang.Math"], "methodImports": ["java.lang.Math#*"],
                },
                "org.apache.tinkerpop.gremlin.jsr223.ScriptFileGremlinPlugin": {
                    "files": [path("init.groovy")],
                },
            } } },
            "serializers": [{ "className": serializer, "config": { "ioRegistries": self.registries } }],
            "processors": [
                { "className": format!("{server}.op.session.SessionOpProcessor"),
                  "config": { "sessionTimeout": 28_800_000 } },
                { "className": format!("{server}.op.traversal.TraversalOpProcessor"), "config": {} },
            ],
            "maxContentLength": 10_485_760,
            "resultIterationBatchSize": 64,
        });
        write(folder, "server.yaml", &settings.to_string())?;
        write(folder, "graph.properties", self.properties)?;
        write(folder, "init.groovy", self.script)?;
        let mut command = java(jars);
        command.arg(self.class).arg(folder.join("server.yaml")).current_dir(folder);
        start(self.name, command, address, folder, || TcpStream::connect(address).is_ok())
    }
}

/// Starts Neo4j with an empty store in a folder of its own, and waits until it answers.
///
/// # Errors
/// `io` if it does not start.
pub fn start_neo4j(folder: &Path, jars: &Path) -> Result<ServerProcess> {
    let address = free_address()?;
    write(folder, "Neo4jServer.java", NEO4J)?;
    let mut command = java(jars);
    command.arg(folder.join("Neo4jServer.java")).arg(folder.join("store")).arg(address.port().to_string());
    start("neo4j", command, address, folder, || ask_neo4j(address, "RETURN 1", json!({})).is_ok())
}

/// Lets Neo4j run a statement: the body of its answer.
///
/// # Errors
/// `io` if it answers with an error.
pub fn ask_neo4j(address: SocketAddr, text: &str, parameters: serde_json::Value) -> Result<Bytes> {
    let mut exchange = Exchange::connect(address, Carrier::Http)?;
    match exchange.ask(&statement_request(address, text, &parameters))? {
        (200..=204, body) => Ok(body.into_iter().next().unwrap_or_default()),
        (_, body) => Err(Error::new(ErrorKind::Io, format!("neo4j answers {body:?} to {text}"))),
    }
}

/// The rows of a statement's result, each a value a column.
///
/// # Errors
/// Those of [`ask_neo4j`]; `io` for a body that is no JSON.
pub fn rows_of_neo4j(
    address: SocketAddr,
    text: &str,
    parameters: serde_json::Value,
) -> Result<Vec<serde_json::Value>> {
    let body: serde_json::Value = serde_json::from_slice(&ask_neo4j(address, text, parameters)?)
        .map_err(|error| Error::new(ErrorKind::Io, format!("an answer of neo4j's: {error}")))?;
    let rows = body["results"][0]["data"].as_array().into_iter().flatten();
    Ok(rows.map(|row| row["row"].clone()).collect())
}

fn neo4j(bench: &Bench<'_>, jars: &Path) -> Result<Started> {
    let process = start_neo4j(&bench.folder.join("neo4j"), jars)?;
    let address = process.address;
    let ask = |text: &str, parameters| ask_neo4j(address, text, parameters).map(drop);
    ask("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.number IS UNIQUE", json!({}))?;
    let numbers: Vec<u32> = (0..bench.people.count).collect();
    for numbers in numbers.chunks(LOADED) {
        let text = "UNWIND $numbers AS number CREATE (:Person {number: number, name: 'person ' + number})";
        ask(text, json!({ "numbers": numbers }))?;
    }
    for edges in bench.people.edges().chunks(LOADED) {
        let text = "UNWIND $edges AS edge MATCH (p:Person {number: edge[0]}) MATCH (q:Person {number: edge[1]}) \
                    CREATE (p)-[:KNOWS]->(q)";
        ask(text, json!({ "edges": edges }))?;
    }
    let mut contender = Contender::new(NEO4J_SERVER, address, Dialect::Cypher);
    contender.learn_ids(&bench.people)?;
    Ok((process, vec![contender]))
}

fn java(jars: &Path) -> Command {
    let mut command = Command::new("java");
    command.args(JAVA).arg("-cp").arg(jars.join("*"));
    command
}

/// Starts a server, and waits until `is_ready`.
fn start(
    name: &str,
    command: Command,
    address: SocketAddr,
    folder: &Path,
    is_ready: impl Fn() -> bool,
) -> Result<ServerProcess> {
    let mut process = ServerProcess::start(name, command, address, folder)?;
    process.wait_until(is_ready, READY_TIME, READY_INTERVAL)?;
    Ok(process)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
    written.map_err(|error| Error::new(ErrorKind::Io, format!("write {}: {error}", path.display())))
}
