//! Readers: other processes that read the database while this one writes it.
//!
//! ```text
//! begin      a snapshot begun and dropped, in a reading process; while this one writes, and while nobody does
//! visible    from a commit's return here to the first snapshot there that shows it
//! commits    by one process: alone, beside processes that run a kernel again and again, and alone again
//! kernel     PageRank there beside PageRank here, several times in turn
//! memory     of a reading process that has read all of the graph, files apart
//! ```
//!
//! Each process is this program anew; it is told what to do by lines on its standard input, and replies by lines. What only the first
//! run in a process pays is not measured, of either side: pages of files and of the heap that are touched for the first time, and a
//! writer's first memory for records.

use crate::engine::store::Edge;
use crate::goals::baseline;
use crate::plan::{Work, expect};
use crate::process::own_memory_bytes;
use crate::race::{Race, Sample, order};
use crate::results::{Heading, Median};
use crate::stopwatch::{Spent, Stopwatch};
use crate::workload::mapped::engine::loaded::{create, edge_type, insert, load};
use crate::workload::mapped::{shuffled, split};
use crate::workload::pool::pool;
use evergraph::engines::engine::AnyEngine;
use evergraph::{Database, Durability, EngineKind};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::view::GraphView as _;
use evergraph_measure::figure::Unit;
use evergraph_measure::kernel::{Answer, Kernel};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::env;
use std::fmt::Display;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The argument that makes a process a reader, before the database's path.
const ARGUMENT: &str = "--mapped-reader";
/// Numbers of reading processes beside which commits are measured.
const READERS: [usize; 2] = [1, 4];
/// Between two commits whose visibility is measured.
const PAUSE: Duration = Duration::from_micros(500);
/// Runs of a kernel in each process that a round is the median of: one takes a fifth of a second, which is easily disturbed.
const TURNS: usize = 5;
/// The processes that compute share the processors; one thread each.
const THREADS: usize = 1;

/// What a reader is asked to do.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    /// Begins and drops so many snapshots: seconds for each.
    Begin(u32),
    /// Takes snapshots until one shows this commit: when each was seen first.
    Watch(u64),
    /// Runs PageRank once: seconds, and the sum of the scores.
    Kernel,
    /// Runs PageRank, says so after the first run, and goes on until it is told to stop: how often, then.
    Busy,
    /// Ends that.
    Stop,
    /// Bytes of memory that are its own.
    Memory,
}

/// Measures all of it.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = shuffled(work.plan, work.plan.mapped.degree)?;
    let (warm, rest) = split(&edges);
    let folder = work.folder_for("readers")?;
    let database = create(EngineKind::Mapped, folder.path(), Durability::Sync)?;
    load(&database, 0, work.plan.vertices(), warm)?;
    begins(work, folder.path(), ("begin", "a snapshot in another process"))?;
    visibility(work, &database, folder.path(), rest)?;
    kernels(work, &database, folder.path())?;
    database.close()?;
    begins(work, folder.path(), ("begin_alone", "a snapshot where nobody writes"))?;
    for readers in READERS {
        commits(work, warm, rest, readers)?;
    }
    work.note("readers: processes of their own, one thread each; what is written is synced unless it says otherwise");
    Ok(())
}

fn begins(work: &mut Work<'_>, path: &Path, (name, title): (&str, &str)) -> Result<()> {
    let mut reader = Reader::start(path)?;
    let count = work.plan.questions as u32;
    let samples =
        (0..work.plan.rounds).map(|_| reader.ask(&Request::Begin(count))).collect::<Result<Vec<f64>>>()?;
    let heading = Heading::new(format!("mapped_engine.readers.{name}"), title, Unit::Seconds);
    work.add(&heading, &samples);
    Ok(())
}

fn visibility(work: &mut Work<'_>, database: &Database, path: &Path, edges: &[Edge]) -> Result<()> {
    let edge_type = edge_type(database)?;
    let count = (work.plan.commits / 50).max(50).min(edges.len() / work.plan.rounds);
    let (mut median, mut p99) = (Vec::new(), Vec::new());
    for edges in edges.chunks(count).take(work.plan.rounds) {
        let mut reader = Reader::start(path)?;
        let last = database.snapshot().timestamp().0 + edges.len() as u64;
        reader.say(&Request::Watch(last))?;
        // It replies at once that it looks.
        let _: bool = reader.reply()?;
        let mut returned = Vec::with_capacity(edges.len());
        for (source, target) in edges {
            let mut transaction = database.begin();
            transaction.by_id().add_edge(VertexId(*source), edge_type, VertexId(*target), &[])?;
            let committed = transaction.commit()?;
            returned.push((committed.timestamp.0, now()));
            thread::sleep(PAUSE);
        }
        expect("the database", "one commit a transaction", returned.last().map(|(at, _)| *at), Some(last))?;
        let seen: Vec<(u64, f64)> = reader.reply()?;
        let mut delays: Vec<f64> = returned
            .iter()
            .filter_map(|(commit, returned)| {
                let (_, at) = seen.iter().find(|(shown, _)| shown >= commit)?;
                Some((at - returned).max(0.0))
            })
            .collect();
        expect("a reader", "commits that it saw", delays.len(), edges.len())?;
        delays.sort_by(f64::total_cmp);
        median.push(delays[delays.len() / 2]);
        p99.push(delays[delays.len() * 99 / 100]);
    }
    for (what, title, samples) in [("median", "half of them", &median), ("p99", "99 % of them", &p99)] {
        let title = format!("until commits that returned are visible in another process, {title}");
        let heading = Heading::new(format!("mapped_engine.readers.visible.{what}"), title, Unit::Seconds);
        work.add(&heading.with("commits", count), samples);
    }
    Ok(())
}

fn kernels(work: &mut Work<'_>, database: &Database, path: &Path) -> Result<()> {
    let mut reader = Reader::start(path)?;
    let pool = pool(THREADS)?;
    let mut run = |place: usize| -> Result<f64> {
        let (seconds, sum) = if place == 0 {
            reader.ask::<(f64, f64)>(&Request::Kernel)?
        } else {
            pool.install(|| page_rank(database))?
        };
        expect("PageRank", "scores that add up to 1", (sum - 1.0).abs() < 1e-6, true)?;
        Ok(seconds)
    };
    // The first run of each touches everything.
    (0..2).try_for_each(|place| run(place).map(drop))?;
    let mut race = Race::new(["reading process", baseline::WRITER]);
    for round in 0..work.plan.rounds {
        let mut seconds = [Vec::new(), Vec::new()];
        for turn in 0..TURNS {
            for place in order(round + turn, 2) {
                seconds[place].push(run(place)?);
            }
        }
        race.note(&seconds.map(|runs| Median::of(&runs).median));
    }
    let title = "PageRank, 20 iterations, 1 thread, in another process";
    work.add_race(&Heading::new("mapped_engine.readers.pagerank", title, Unit::Seconds), &race);
    let bytes: f64 = reader.ask(&Request::Memory)?;
    let heading = Heading::new(
        "mapped_engine.readers.memory",
        "memory of a reading process, files and answers apart",
        Unit::Bytes,
    );
    work.add(&heading, &[bytes]);
    Ok(())
}

/// Commits into one graph that grows: first some that are not measured, then as many alone, beside readers and alone. So a round
/// compares those in the middle with the mean of both sides: what changes linearly as the graph grows cancels, and nothing else.
fn commits(work: &mut Work<'_>, warm: &[Edge], rest: &[Edge], readers: usize) -> Result<()> {
    let count = (2 * work.plan.commits).min(rest.len() / 4).max(1);
    let mut race = Race::new(["beside readers", baseline::ALONE]);
    for _ in 0..work.plan.rounds {
        let folder = work.folder_for("commits")?;
        let database = create(EngineKind::Mapped, folder.path(), Durability::None)?;
        load(&database, 0, work.plan.vertices(), warm)?;
        let mut parts = rest.chunks(count);
        let mut next = || -> Result<Spent> {
            let edges = parts.next().unwrap_or_default();
            let watch = Stopwatch::start();
            insert(&database, edges, 1)?;
            Ok(watch.stop())
        };
        next()?;
        let before = next()?;
        let mut others =
            (0..readers).map(|_| Reader::start(folder.path())).collect::<Result<Vec<Reader>>>()?;
        others.iter_mut().try_for_each(|reader| reader.say(&Request::Busy))?;
        for reader in &mut others {
            let _: bool = reader.reply()?;
        }
        let beside = next()?;
        for reader in &mut others {
            let _: u64 = reader.ask(&Request::Stop)?;
        }
        drop(others);
        // What was kept for them is no burden of those that follow.
        if let AnyEngine::Mapped(engine) = &**database.store().engine() {
            engine.graph().reclaim();
        }
        let alone = before + next()?;
        database.close()?;
        let count = count as f64;
        let samples =
            [Sample::timed(count / beside.wall, beside), Sample::timed(2.0 * count / alone.wall, alone)];
        race.note_samples(&samples, 0);
    }
    let plural = if readers == 1 { "" } else { "es" };
    let title =
        format!("transactions of one edge, not synced, beside {readers} process{plural} that run PageRank");
    let name = format!("mapped_engine.readers.commits.beside_{readers}");
    work.add_race(&Heading::new(name, title, Unit::PerSecond), &race);
    Ok(())
}

/// Seconds, and the sum of the scores, of PageRank on a new snapshot.
fn page_rank(database: &Database) -> Result<(f64, f64)> {
    let start = now();
    let lists = Kernel::PageRank.freeze(&database.snapshot(), None)?;
    let answer = Kernel::PageRank.run(&lists, VertexId(0))?;
    let seconds = now() - start;
    let Answer::Numbers(scores) = answer else { return Ok((seconds, 0.0)) };
    Ok((seconds, scores.iter().sum()))
}

/// Seconds by a clock that all processes share.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// A process that reads, as the one that writes sees it.
struct Reader {
    process: Child,
    requests: Option<ChildStdin>,
    replies: Lines<BufReader<ChildStdout>>,
}

impl Reader {
    /// One that has the database at `path` open.
    fn start(path: &Path) -> Result<Self> {
        let program = env::current_exe().map_err(|error| failed(&error))?;
        let mut process = Command::new(program)
            .arg(ARGUMENT)
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error))?;
        let requests = process.stdin.take();
        let replies = BufReader::new(process.stdout.take().expect("it was asked for")).lines();
        let mut reader = Self { process, requests, replies };
        let _: bool = reader.reply()?;
        Ok(reader)
    }

    fn say(&mut self, request: &Request) -> Result<()> {
        let requests = self.requests.as_mut().expect("requests end when it is dropped");
        let line = serde_json::to_string(request).map_err(|error| failed(&error))?;
        writeln!(requests, "{line}").and_then(|()| requests.flush()).map_err(|error| failed(&error))
    }

    fn reply<T: DeserializeOwned>(&mut self) -> Result<T> {
        let line = self.replies.next().ok_or_else(|| failed(&"it ended"))?;
        serde_json::from_str(&line.map_err(|error| failed(&error))?).map_err(|error| failed(&error))
    }

    fn ask<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T> {
        self.say(request)?;
        self.reply()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // It ends by itself when there are no more requests.
        drop(self.requests.take());
        drop(self.process.wait());
    }
}

/// The reading process: does what it is told about the database at `path` until nobody tells it anything.
///
/// # Errors
/// What opening and reading meet; `io` if nobody listens.
pub fn serve(path: &Path) -> Result<()> {
    let pool = pool(THREADS)?;
    let database = Database::open_reader(path)?;
    reply(&true)?;
    let (sender, requests) = mpsc::channel();
    // Not waited for: it ends with its input.
    let read = move || {
        let lines = std::io::stdin().lines().map_while(std::result::Result::ok);
        lines.map_while(|line| sender.send(line).ok()).for_each(drop);
    };
    thread::Builder::new()
        .name("evergraph-requests".to_owned())
        .spawn(read)
        .map_err(|error| failed(&error))?;
    while let Ok(line) = requests.recv() {
        match serde_json::from_str(&line).map_err(|error| failed(&error))? {
            Request::Begin(count) => {
                let start = now();
                (0..count).for_each(|_| drop(std::hint::black_box(database.snapshot())));
                reply(&((now() - start) / f64::from(count)))?;
            }
            Request::Watch(last) => {
                reply(&true)?;
                let mut seen = vec![(Timestamp::ZERO.0, 0.0)];
                while seen[seen.len() - 1].0 < last {
                    let shown = database.snapshot().timestamp().0;
                    if shown > seen[seen.len() - 1].0 {
                        seen.push((shown, now()));
                    }
                }
                reply(&seen)?;
            }
            Request::Kernel => reply(&pool.install(|| page_rank(&database))?)?,
            Request::Busy => {
                pool.install(|| page_rank(&database))?;
                reply(&true)?;
                let mut runs = 1_u64;
                while requests.try_recv() == Err(TryRecvError::Empty) {
                    pool.install(|| page_rank(&database))?;
                    runs += 1;
                }
                reply(&runs)?;
            }
            Request::Stop => return Err(Error::invalid("a reader that is not busy has nothing to stop")),
            Request::Memory => reply(&(own_memory_bytes() as f64))?,
        }
    }
    Ok(())
}

fn reply(reply: &impl Serialize) -> Result<()> {
    let line = serde_json::to_string(reply).map_err(|error| failed(&error))?;
    let mut replies = std::io::stdout();
    writeln!(replies, "{line}").and_then(|()| replies.flush()).map_err(|error| failed(&error))
}

fn failed(error: &dyn Display) -> Error {
    Error::new(ErrorKind::Io, format!("a process that reads: {error}"))
}
