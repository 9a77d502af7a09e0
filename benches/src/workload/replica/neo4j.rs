//! Neo4j, embedded in a JVM of its own: who bought what without properties, asked by lines of JSON.
//!
//! ```text
//! {"run":"query","text":"MATCH ...","starts":[17,4]}  ──>  {"seconds":0.002,"said":5120,"spent":{...}}
//! ```
//!
//! The worker of `make bench-jvm` is at the other end (`benches/compare/jvm`). A vertex of the edges is the node of that number.

use crate::plan::wrong;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::kernel::{Answer, Kernel};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Its name in races.
pub const NEO4J: &str = "neo4j";
/// Edges of a transaction that nobody times.
const BATCH: usize = 50_000;
/// As `make bench-jvm` starts it: Neo4j's manual asks for one heap size from the start, its configuration for the rest.
const JAVA: [&str; 8] = [
    "-Xms4g",
    "-Xmx4g",
    "-XX:+UseG1GC",
    "-XX:+AlwaysPreTouch",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
];
/// Distinct ends of both hops. Of one `MATCH` alone, a walk would have no edge twice, and nobody would come back to the start.
const ALSO_BOUGHT: &str = "MATCH (c:Vertex)-[:EDGE]->(i) WHERE id(c) = $start MATCH (i)<-[:EDGE]-(other) RETURN count(DISTINCT other)";

/// A store in a JVM, which ends when this is dropped.
pub struct Neo4j {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    folder: PathBuf,
    /// Its version and settings.
    pub settings: String,
}

impl Neo4j {
    /// Whether Maven has built the worker in `built`.
    #[must_use]
    pub fn is_built(built: &Path) -> bool {
        built.join(NEO4J).join("lib").is_dir()
    }

    /// Starts it in `folder` and loads the edges.
    ///
    /// # Errors
    /// `io` if there is no Java, or it fails, with what it says.
    pub fn start(built: &Path, folder: &Path, vertices: u32, edges: &[(u32, u32)]) -> Result<Self> {
        let failed = |error| Error::new(ErrorKind::Io, format!("start Neo4j: {error}"));
        fs::create_dir_all(folder).map_err(failed)?;
        let ends = edges.iter().flat_map(|(source, target)| [*source, *target]);
        fs::write(folder.join("edges.bin"), ends.flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
            .map_err(failed)?;
        fs::write(folder.join("asked.bin"), []).map_err(failed)?;
        let built = built.join(NEO4J);
        let path = format!("{0}/classes:{0}/lib/*", built.display());
        let mut command = Command::new("java");
        command.args(JAVA).args(["-cp", &path, "evergraph.peers.Worker", "Neo4jEngine"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(File::create(folder.join("log")).map_err(failed)?);
        let mut child = command.spawn().map_err(failed)?;
        let (Some(requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are pipes")
        };
        let replies = BufReader::new(replies);
        let mut neo4j = Self { child, requests, replies, folder: folder.to_owned(), settings: String::new() };
        neo4j.settings = neo4j.ask(&json!({"run": "settings"}))?["settings"].to_string();
        neo4j.ask(&json!({"run": "create", "vertices": vertices}))?;
        neo4j.ask(&json!({"run": "insert", "from": 0, "to": edges.len(), "batch": BATCH}))?;
        Ok(neo4j)
    }

    /// How many bought what a customer bought, summed over `customers`; and seconds of one such question.
    ///
    /// # Errors
    /// What it says.
    pub fn also_bought(&mut self, customers: &[u32]) -> Result<(i64, f64)> {
        let reply = self.ask(&json!({"run": "query", "text": ALSO_BOUGHT, "starts": customers}))?;
        let said = reply["said"].as_i64().ok_or_else(|| wrong(NEO4J, "a sum", &reply, "a number"))?;
        Ok((said, seconds(&reply)? / customers.len().max(1) as f64))
    }

    /// Seconds of a kernel over its API.
    ///
    /// # Errors
    /// What it says.
    pub fn run(&mut self, kernel: Kernel) -> Result<f64> {
        seconds(&self.ask(&json!({"run": kernel.name()}))?)
    }

    /// The answer of a kernel.
    ///
    /// # Errors
    /// What it says; `corrupt` for a kernel of which it has none.
    pub fn answer(&mut self, kernel: Kernel) -> Result<Answer> {
        let file = self.folder.join("answer.bin");
        self.ask(&json!({"run": kernel.name(), "answer": file}))?;
        let bytes = fs::read(&file).map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
        match kernel {
            Kernel::PageRank => Ok(Answer::Numbers(numbers(&bytes, f64::from_le_bytes))),
            Kernel::Wcc => Ok(Answer::Labels(numbers(&bytes, u32::from_le_bytes))),
            other => Err(wrong(NEO4J, "a kernel", other, "PageRank or WCC")),
        }
    }

    /// Begins to insert its edges again from the first one on, `count` a transaction, a transaction each `interval`.
    ///
    /// # Errors
    /// What it says.
    pub fn begin_to_write(&mut self, count: usize, interval: Duration) -> Result<()> {
        let interval = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        self.ask(&json!({"run": "write", "batch": count, "interval": interval})).map(drop)
    }

    /// Ends that: how many edges were inserted.
    ///
    /// # Errors
    /// What it says.
    pub fn end_to_write(&mut self) -> Result<i64> {
        Ok(self.ask(&json!({"run": "rest"}))?["said"].as_i64().unwrap_or(0))
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        let mut line = String::new();
        let asked = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        let said = asked.and_then(|()| self.replies.read_line(&mut line)).map_err(|error| error.to_string());
        let reply = said.and_then(|_| serde_json::from_str(&line).map_err(|error| error.to_string()));
        let reply: Value = reply.map_err(|error| self.failed(request, &error))?;
        match reply["error"].as_str() {
            Some(error) => Err(self.failed(request, error)),
            None => Ok(reply),
        }
    }

    fn failed(&self, request: &Value, error: &str) -> Error {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(20)..].join("\n");
        Error::new(ErrorKind::Io, format!("Neo4j, asked {request}: {error}; it said:\n{last}"))
    }
}

impl Drop for Neo4j {
    fn drop(&mut self) {
        // It has nothing that anybody needs.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn seconds(reply: &Value) -> Result<f64> {
    reply["seconds"].as_f64().ok_or_else(|| wrong(NEO4J, "seconds", reply, "a number"))
}

fn numbers<const N: usize, T>(bytes: &[u8], of: impl Fn([u8; N]) -> T) -> Vec<T> {
    let (chunks, _) = bytes.as_chunks::<N>();
    chunks.iter().map(|chunk| of(*chunk)).collect()
}
