//! Worker: Neo4j in a JVM of its own, asked by lines of JSON.
//!
//! ```text
//! {"run":"query","text":"MATCH ...","starts":[17,4]}         ──>  {"seconds":0.002,"said":5120,"spent":{...},"rows":[]}
//! {"run":"rows","text":"MATCH ...","sets":[{"person":3}]}    ──>  {"seconds":0.001,...,"rows":[[[5,"Jose"],[8,"Chong"]]]}
//! ```
//!
//! The worker of `make bench-jvm` is at the other end (`benches/compare/jvm`). Seconds are the JVM's own: neither the pipes nor JSON
//! are in them. A vertex of the edges is the node of that number.

use crate::plan::{Work, wrong};
use crate::workload::replica::Bench;
use crate::workload::replica::reload::expect_same_vertices;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::kernel::{Answer, Kernel};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Its name in races.
pub const NEO4J: &str = "neo4j";
/// Edges of a transaction that nobody times.
const BATCH: usize = 50_000;
/// Runs of a kernel before those that count: by then the JVM has compiled what is hot.
const WARM_UPS: usize = 3;
/// The writing thread has been at work for so long when a measurement begins.
const HEAD_START: Duration = Duration::from_millis(200);
/// Characters of a request that an error names.
const REQUEST_SHOWN: usize = 300;
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
    /// What its writing thread has inserted or changed so far.
    pub written: i64,
    /// How many of its transactions, the writing thread's included, failed so far because of others and were begun again, as its error
    /// asks: their time counts.
    pub repeated: i64,
}

impl Neo4j {
    /// Where Maven has built the worker; without one, a note says that the `part` has no Neo4j.
    #[must_use]
    pub fn built<'b>(work: &mut Work<'_>, bench: &'b Bench, part: &str) -> Option<&'b Path> {
        let built = bench.plan.jvm.as_deref().filter(|built| built.join(NEO4J).join("lib").is_dir());
        if built.is_none() {
            work.note(format!(
                "{part}: left out: Neo4j, which needs a JDK and Maven (make bench-replica builds it where they are, --replica-jvm names it)"
            ));
        }
        built
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
        let (folder, settings) = (folder.to_owned(), String::new());
        let mut neo4j = Self { child, requests, replies, folder, settings, written: 0, repeated: 0 };
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

    /// Seconds of a kernel over its API; SSSP begins at `source`.
    ///
    /// # Errors
    /// What it says.
    pub fn run(&mut self, kernel: Kernel, source: u32) -> Result<f64> {
        seconds(&self.ask(&json!({"run": kernel.name(), "source": source}))?)
    }

    /// Compares a kernel's answer, vertex by vertex, with that of a static array of the same edges; its JVM is warm afterwards.
    ///
    /// # Errors
    /// What it says; `corrupt` for another answer, and for a kernel that it does not have.
    pub fn compare(&mut self, kernel: Kernel, source: u32, expected: &Answer) -> Result<()> {
        expect_same_vertices(NEO4J, kernel, &self.answer(kernel, source)?, expected)?;
        (1..WARM_UPS).try_for_each(|_| self.run(kernel, source).map(drop))
    }

    fn answer(&mut self, kernel: Kernel, source: u32) -> Result<Answer> {
        let file = self.folder.join("answer.bin");
        self.ask(&json!({"run": kernel.name(), "source": source, "answer": file}))?;
        let bytes = fs::read(&file).map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
        match kernel {
            Kernel::PageRank | Kernel::Sssp => Ok(Answer::Numbers(numbers(&bytes, f64::from_le_bytes))),
            Kernel::Wcc => Ok(Answer::Labels(numbers(&bytes, u32::from_le_bytes))),
            other => Err(wrong(NEO4J, "a kernel", other, "PageRank, SSSP or WCC")),
        }
    }

    /// Runs a statement in Cypher once with each of `sets`, its parameters: the rows of each, lists of a value a column, and the
    /// seconds of all.
    ///
    /// # Errors
    /// What it says.
    pub fn rows(&mut self, text: &str, sets: &[Value]) -> Result<(Vec<Vec<Value>>, f64)> {
        let mut reply = self.ask(&json!({"run": "rows", "text": text, "sets": sets}))?;
        let time = seconds(&reply)?;
        let rows = serde_json::from_value(reply["rows"].take())
            .map_err(|error| wrong(NEO4J, text, error, "rows for each set of parameters"))?;
        Ok((rows, time))
    }

    /// What `measure` gives while a thread of the JVM inserts the edges again from the first one on, `count` a transaction, a
    /// transaction each `interval`.
    ///
    /// # Errors
    /// What it says; those of `measure`.
    pub fn beside_inserts<T>(
        &mut self,
        count: usize,
        interval: Duration,
        measure: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.beside_a_writer(json!({"batch": count}), interval, measure)
    }

    /// What `measure` gives while a thread of the JVM runs a statement with one of `sets` after the other, again and again, each
    /// `interval`; its result is how much it changed.
    ///
    /// # Errors
    /// What it says; those of `measure`.
    pub fn beside_changes<T>(
        &mut self,
        text: &str,
        sets: &[Value],
        interval: Duration,
        measure: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.beside_a_writer(json!({"text": text, "sets": sets}), interval, measure)
    }

    fn beside_a_writer<T>(
        &mut self,
        mut request: Value,
        interval: Duration,
        measure: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        request["run"] = json!("write");
        request["interval"] = json!(u64::try_from(interval.as_millis()).unwrap_or(u64::MAX));
        self.ask(&request)?;
        thread::sleep(HEAD_START);
        let measured = measure(self)?;
        let written = self.ask(&json!({"run": "rest"}))?["said"].as_i64().unwrap_or(0);
        self.written += written;
        match written {
            0 => Err(wrong(NEO4J, "what was written meanwhile", 0, "something")),
            _ => Ok(measured),
        }
    }

    /// Notes how many of its transactions failed while `part` measured it.
    pub fn note_repeated(&self, work: &mut Work<'_>, part: &str) {
        work.note(format!(
            "{part}: {NEO4J}: {} transactions, its writer's included, failed because of another one and were begun again, as the error asks; a measured time has all tries in it",
            self.repeated
        ));
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        // At once: written to the pipe itself, each piece of the text would be a call of the system.
        let (asked, mut line) = (format!("{request}\n"), String::new());
        let asked = self.requests.write_all(asked.as_bytes()).and_then(|()| self.requests.flush());
        let said = asked.and_then(|()| self.replies.read_line(&mut line)).map_err(|error| error.to_string());
        let reply = said.and_then(|_| serde_json::from_str(&line).map_err(|error| error.to_string()));
        let reply: Value = reply.map_err(|error| self.failed(request, &error))?;
        match reply["error"].as_str() {
            Some(error) => Err(self.failed(request, error)),
            None => {
                self.repeated = reply["repeated"].as_i64().unwrap_or(self.repeated);
                Ok(reply)
            }
        }
    }

    fn failed(&self, request: &Value, error: &str) -> Error {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(20)..].join("\n");
        let asked: String = request.to_string().chars().take(REQUEST_SHOWN).collect();
        Error::new(ErrorKind::Io, format!("Neo4j, asked {asked}: {error}; it said:\n{last}"))
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
