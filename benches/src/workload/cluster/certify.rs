//! Certify: transactions a second that are decided by one thread, all of which commit.
//!
//! ```text
//! certify   messages that are decoded already, without payloads ──> commit or refusal; the digest of their bytes
//! decide    bytes ──decode──> message ──> commit or refusal ──> payloads, read and checked ──> tables
//! ```
//!
//! The second is what each node of a cluster does for each record, whatever it keeps.

use crate::engine::store::Edge;
use crate::plan::{Plan, Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::{Spent, Stopwatch};
use crate::workload::cluster::Edges;
use crate::workload::cluster::graph_writer::GraphWriter;
use crate::workload::cluster::log_writer::{Messages, read_message};
use evergraph::generate::random::Random;
use evergraph_cluster::certification::outcome::Decision;
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::record::body::RecordBody;
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;
use std::collections::BTreeSet;

/// What readers are drawn for.
const READERS: u64 = 402;
/// Messages that are decoded before so many are decided.
const DECODED_AT_ONCE: usize = 64;
const OURS: &str = "evergraph";

/// What a transaction reads and writes.
struct Shape {
    name: &'static str,
    title: &'static str,
    reads: usize,
    edges: usize,
    /// So many times fewer transactions than of one edge.
    part: usize,
}

const SHAPES: [Shape; 3] = [
    Shape { name: "one", title: "one edge", reads: 0, edges: 1, part: 1 },
    Shape {
        name: "reads_60",
        title: "one edge and 60 lists read, serialisable",
        reads: 60,
        edges: 1,
        part: 8,
    },
    Shape {
        name: "reads_1000",
        title: "25 edges and 1,000 lists read, serialisable",
        reads: 1_000,
        edges: 25,
        part: 64,
    },
];

/// Measures every shape.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>, loaded: &GraphWriter, edges: &Edges) -> Result<()> {
    for shape in &SHAPES {
        let mut writer = loaded.fork();
        let count = write(&mut writer, shape, work.plan, &edges.measured)?;
        let (start, messages) = (loaded.state(), writer.messages());
        let mut races = [(); 2].map(|()| Race::new([OURS]).undisturbed());
        let [certified, decided] = &mut races;
        for round in 0..work.plan.rounds {
            certified.round(round, |_| sample(count, certify(start, messages)?))?;
            decided.round(round, |_| sample(count, decide(start, messages)?))?;
        }
        for (race, name, what) in [
            (certified, "certify", "certified"),
            (decided, "decide", "decoded, certified, payloads read once"),
        ] {
            let title = format!("transactions {what}, of {}, one thread", shape.title);
            let heading = Heading::new(format!("cluster.{name}.{}", shape.name), title, Unit::PerSecond)
                .with("bytes of a record", messages.bytes_count() / count.max(1));
            work.add_race(&heading, race);
        }
    }
    work.note("certify, decide: every transaction commits; the certifier remembers the loaded edges, as far back as it does");
    Ok(())
}

/// Appends transactions of a shape; how many.
fn write(writer: &mut GraphWriter, shape: &Shape, plan: &Plan, edges: &[Edge]) -> Result<usize> {
    let mut random = Random::new(plan.seed, READERS, shape.reads as u64);
    let count = (edges.len() / shape.part).min(edges.len() / shape.edges).max(1);
    let transactions = edges.chunks(shape.edges).take(count);
    let count = transactions.len();
    // Of a small graph half at most: what others of the message touch is not read.
    let reads = shape.reads.min(plan.vertices() as usize / 2);
    for edges in transactions {
        let mut read = BTreeSet::new();
        while read.len() < reads {
            read.extend(writer.list_of(random.below(u64::from(plan.vertices())) as u32));
        }
        writer.insert(edges, &Vec::from_iter(read))?;
    }
    writer.send()?;
    Ok(count)
}

fn sample(count: usize, (committed, spent): (usize, Spent)) -> Result<Sample> {
    expect(OURS, "transactions that commit", committed, count)?;
    Ok(Sample::timed(count as f64 / spent.wall, spent))
}

/// How many commit, by the certifier alone.
fn certify(start: &ReplicatedState, messages: &Messages) -> Result<(usize, Spent)> {
    let mut certifier = start.certifier().clone();
    let (mut committed, mut spent) = (0, Spent::default());
    let mut unread = messages.iter();
    loop {
        let read: Vec<_> = unread.by_ref().take(DECODED_AT_ONCE).collect();
        if read.is_empty() {
            return Ok((committed, spent));
        }
        let read = read.into_iter().map(|(position, bytes)| read_message(position, bytes));
        let mut read = read.collect::<Result<Vec<_>>>()?;
        read.iter_mut().for_each(without_payloads);
        let watch = Stopwatch::start();
        for ReadMessage { position, message, bytes } in read {
            let decided = certifier.apply(position, message, &bytes);
            committed +=
                decided.iter().filter(|record| matches!(record.decision, Decision::Commit(_))).count();
        }
        spent = spent + watch.stop();
    }
}

fn without_payloads(read: &mut ReadMessage) {
    for record in &mut read.message.records {
        if let RecordBody::Transaction { last, .. } = &mut record.body {
            last.payloads = Vec::new();
        }
    }
}

/// How many commit, by all that follows from the log.
fn decide(start: &ReplicatedState, messages: &Messages) -> Result<(usize, Spent)> {
    let mut state = start.clone();
    let mut committed = 0;
    let watch = Stopwatch::start();
    for (position, bytes) in messages.iter() {
        committed += state.apply(read_message(position, bytes)?).commits.len();
    }
    Ok((committed, watch.stop()))
}
