//! Recovery: how long opening takes by the length of the log, and what checksums take of it.
//!
//! ```text
//! database of vertices   log: 0.25 M edges ── open ×rounds ── 0.5 M ── open ×rounds ── ...
//! ```
//!
//! One database for commits of one edge and one for commits of 1,000, whose logs grow; no checkpoint is
//! made. Checksums are timed by computing them again, of as many bytes in pieces of the same length: a
//! frame's payload and its header, each once when it is written and once when it is read.

use crate::bench::section::Section;
use crate::bench::transactions::plan::Work;
use crate::bench::transactions::told::Told;
use evergraph::generate::random::Random;
use evergraph::{Database, Durability, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::load::{Load, VertexBlock, VertexTable};
use evergraph_graph::transaction::Transaction as _;
use evergraph_measure::figure::{Figure, Unit};
use evergraph_storage::log::frame::{FRAME_HEADER_BYTES, payload_crc};
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::{count, size};
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

const PURPOSE: u64 = 304;
/// Edges between two looks at whether somebody asked to stop.
const EDGES_PER_LOOK: u64 = 10_000;

/// Commits of so many edges.
struct Way {
    edges_per_commit: u64,
    path: PathBuf,
    random: Random,
    lengths: Vec<Length>,
}

/// A log of some length.
#[derive(Default)]
struct Length {
    edges: u64,
    commits: u64,
    payload_bytes: u64,
    frame_bytes: u64,
    /// Seconds that the last of its commits took, and how many they were.
    committing: (f64, u64),
    /// Seconds of each opening.
    seconds: Vec<f64>,
}

/// Measures recovery, then the share of checksums.
///
/// # Errors
/// `cancelled`; `corrupt` if opening doesn't find every commit; what opening and writing meet.
pub fn measure(work: &Work<'_>) -> Result<[Told; 2]> {
    let meter = work.console.meter();
    let mut ways = Vec::new();
    for (stream, edges_per_commit) in [(0, 1), (1, 1000)] {
        let path = work.folder.join(format!("recovery-{edges_per_commit}"));
        let random = Random::new(work.plan.seed, PURPOSE, stream);
        let way = Way { edges_per_commit, path, random, lengths: Vec::new() };
        way.create(work)?;
        ways.push(way);
    }
    for edges in &work.plan.log_edges {
        for way in &mut ways {
            way.grow(*edges, work, &meter)?;
        }
        for _ in 0..work.plan.rounds {
            for way in &mut ways {
                work.tell(
                    &meter,
                    "recovery",
                    *edges as f64 / *work.plan.log_edges.last().unwrap_or(edges) as f64,
                )?;
                way.recover(work)?;
            }
        }
    }
    Ok([recovery(work, &ways), checksums(&ways)])
}

fn recovery(work: &Work<'_>, ways: &[Way]) -> Told {
    let (mut figures, mut rows) = (Vec::new(), Vec::new());
    for (way, length) in ways.iter().flat_map(|way| way.lengths.iter().map(move |length| (way, length))) {
        let title = format!("{} edges, {} a commit", count(length.edges), count(way.edges_per_commit));
        let name = format!("recovery.edges_{}.per_commit_{}", length.edges, way.edges_per_commit);
        let rates: Vec<f64> = length.seconds.iter().map(|seconds| length.edges as f64 / seconds).collect();
        let seconds = Figure::new(format!("{name}.seconds"), title.clone(), Unit::Seconds, &length.seconds)
            .with("commits", length.commits);
        let rate = Figure::new(format!("{name}.rate"), title.clone(), Unit::PerSecond, &rates)
            .with("frame_bytes", length.frame_bytes);
        rows.push(vec![title, size(length.frame_bytes), seconds.range_text(), rate.value_text()]);
        figures.extend([seconds, rate]);
    }
    Told {
        section: Section {
            title: "Recovery: opening a database by the length of its log, random edges".to_owned(),
            figures,
            notes: vec![
                format!("{} vertices without edges lie in the checkpoint; both directions are kept", count(work.plan.nodes.into())),
                "the time is of opening, from the lock to the first snapshot; files are in the system's cache".to_owned(),
                "by itself, a database makes a checkpoint every 32 MiB of commits, and so never gets there".to_owned(),
            ],
        },
        columns: vec!["in the log", "frames", "seconds", "edges/s"],
        rows,
    }
}

/// The share of checksums in committing and in recovering the longest logs.
fn checksums(ways: &[Way]) -> Told {
    let (mut figures, mut rows) = (Vec::new(), Vec::new());
    for (way, length) in ways.iter().filter_map(|way| Some((way, way.lengths.last()?))) {
        let seconds = checksum_seconds(length);
        let commits = length.committing.1.max(1) as f64 / length.commits.max(1) as f64;
        let committing = [seconds * commits / length.committing.0];
        let recovering: Vec<f64> = length.seconds.iter().map(|all| seconds / all).collect();
        let title = format!("{} edges a commit", count(way.edges_per_commit));
        let figure = |what: &str, samples: &[f64]| {
            let name = format!("checksums.per_commit_{}.{what}", way.edges_per_commit);
            Figure::new(name, title.clone(), Unit::Share, samples)
        };
        let (committing, recovering) = (figure("committing", &committing), figure("recovering", &recovering));
        let each = seconds / length.commits.max(1) as f64;
        rows.push(vec![
            title.clone(),
            size(length.payload_bytes / length.commits.max(1)),
            format!("{:.0} ns", each * 1e9),
            committing.value_text(),
            recovering.value_text(),
        ]);
        figures.extend([committing, recovering]);
    }
    Told {
        section: Section {
            title: "Checksums: their share of committing and of recovering".to_owned(),
            figures,
            notes: vec![
                "computed again over as many bytes in pieces of the same length: header and payload"
                    .to_owned(),
                "lies a little to the low side: nothing else wants the processor's cache meanwhile"
                    .to_owned(),
            ],
        },
        columns: vec!["", "payload", "checksums a commit", "of committing", "of recovering"],
        rows,
    }
}

/// Seconds to compute the checksums of a log's frames once.
fn checksum_seconds(length: &Length) -> f64 {
    let payload = (length.payload_bytes / length.commits.max(1)) as usize;
    let bytes = vec![0x5a; FRAME_HEADER_BYTES + payload];
    let began = Instant::now();
    for _ in 0..length.commits {
        let (header, payload) = black_box(&bytes).split_at(FRAME_HEADER_BYTES);
        black_box(payload_crc(header));
        black_box(payload_crc(payload));
    }
    began.elapsed().as_secs_f64()
}

impl Way {
    fn options() -> Options {
        Options { durability: Durability::None, checkpoint_after_bytes: u64::MAX / 4, ..Options::default() }
    }

    /// Makes a database of vertices.
    fn create(&self, work: &Work<'_>) -> Result<()> {
        let database = Database::open_with(&self.path, &Self::options())?;
        let block = VertexBlock::bare(work.plan.nodes as usize);
        let table = VertexTable::new("Vertex", Vec::new(), vec![block]);
        database.load(&Load { vertices: vec![table], edges: Vec::new() }, &|_| (), work.cancel)?;
        database.close()
    }

    /// Commits until there are `edges` in the log.
    fn grow(&mut self, edges: u64, work: &Work<'_>, meter: &Meter) -> Result<()> {
        let database = Database::open_with(&self.path, &Self::options())?;
        let vertices = u64::from(work.plan.nodes);
        let (mut done, commits) = self.lengths.last().map_or((0, 0), |length| (length.edges, length.commits));
        let (began, mut added) = (Instant::now(), 0);
        while done < edges {
            if done.is_multiple_of(EDGES_PER_LOOK) {
                work.tell(meter, "writing a log", done as f64 / edges as f64)?;
            }
            let ends: Vec<[VertexId; 2]> = (0..self.edges_per_commit.min(edges - done))
                .map(|_| [0; 2].map(|_| VertexId(self.random.below(vertices) as u32)))
                .collect();
            database.transact(|tx| {
                let tx = tx.by_id();
                let edge_type = tx.edge_type("EDGE")?;
                ends.iter()
                    .try_for_each(|[source, target]| tx.add_edge(*source, edge_type, *target, &[]).map(drop))
            })?;
            done += ends.len() as u64;
            added += 1;
        }
        let committing = (began.elapsed().as_secs_f64(), added);
        let frame_bytes = database.store().log().frame_bytes();
        database.close()?;
        let commits = commits + added;
        self.lengths.push(Length {
            edges: done,
            commits,
            payload_bytes: frame_bytes.saturating_sub(commits * FRAME_HEADER_BYTES as u64),
            frame_bytes,
            committing,
            seconds: Vec::new(),
        });
        Ok(())
    }

    /// Opens the database, which finds all commits.
    fn recover(&mut self, work: &Work<'_>) -> Result<()> {
        let length = self.lengths.last_mut().expect("the log was written before");
        let began = Instant::now();
        let database = Database::open_with(&self.path, &Self::options())?;
        drop(database.snapshot());
        length.seconds.push(began.elapsed().as_secs_f64());
        let statistics = database.statistics()?;
        if statistics.edges_count() != length.edges
            || statistics.vertices_count() != u64::from(work.plan.nodes)
        {
            let text =
                format!("{} edges were committed, but {} found", length.edges, statistics.edges_count());
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        database.close()
    }
}
