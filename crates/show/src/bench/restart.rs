//! Restart: until a database is open, from its checkpoint alone and with a long log behind it.

use crate::bench::plan::Work;
use crate::bench::section::Section;
use evergraph::generate::random::Random;
use evergraph::{Database, Durability, Options};
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_graph::transaction::Transaction as _;
use evergraph_measure::figure::{Figure, Unit};
use evergraph_terminal::number::{count, size};
use std::path::Path;
use std::time::Instant;

const PURPOSE: u64 = 101;
/// Transactions between two looks at the log's size.
const TRANSACTIONS_PER_LOOK: u32 = 1000;

/// Measures opening the database at `path`, which was imported and closed.
///
/// # Errors
/// `cancelled`; what opening and writing meets.
pub fn measure(work: &Work<'_>, path: &Path) -> Result<Section> {
    let meter = work.console.meter();
    // The log stays as it is between the runs.
    let options = Options {
        create: false,
        durability: Durability::None,
        checkpoint_after_bytes: u64::MAX / 4,
        ..Options::default()
    };
    let database = Database::open_with(path, &options)?;
    let edges = database.statistics()?.edges_count();
    database.close()?;
    drop(database);
    let mut checkpoint = Vec::new();
    for round in 0..work.plan.rounds {
        work.round(&meter, "restart", round)?;
        checkpoint.push(open(path, &options)?);
    }
    let (commits, frame_bytes) = write_log(work, path, &options)?;
    let mut log = Vec::new();
    for round in 0..work.plan.rounds {
        work.round(&meter, "restart with a log", round)?;
        log.push(open(path, &options)?);
    }
    let told = format!("checkpoint and {} of log ({} commits)", size(frame_bytes), count(commits));
    Ok(Section {
        title: format!("Restart: {} edges, {}", count(edges), work.plan.graph_name()),
        figures: vec![
            Figure::new("restart.checkpoint", "with a checkpoint alone", Unit::Seconds, &checkpoint)
                .with("edges", edges),
            Figure::new("restart.log", told, Unit::Seconds, &log)
                .with("edges", edges)
                .with("log_frame_bytes", frame_bytes)
                .with("commits", commits),
        ],
        notes: vec![
            "the files are in the system's memory: after a crash of the machine, add the time to read them"
                .to_owned(),
            "a transaction of the log adds one edge; by itself, a database makes a checkpoint every 32 MiB"
                .to_owned(),
        ],
    })
}

/// Seconds until the database is open.
fn open(path: &Path, options: &Options) -> Result<f64> {
    let began = Instant::now();
    let database = Database::open_with(path, options)?;
    let seconds = began.elapsed().as_secs_f64();
    database.close()?;
    Ok(seconds)
}

/// Fills the log with transactions of one edge; how many, and how many bytes of frames they are.
fn write_log(work: &Work<'_>, path: &Path, options: &Options) -> Result<(u64, u64)> {
    let database = Database::open_with(path, options)?;
    let mut random = Random::new(work.plan.seed, PURPOSE, 0);
    let vertices = u64::from(work.plan.vertices());
    let mut commits = 0;
    while database.store().log().frame_bytes() < work.plan.log_bytes {
        work.cancel.check()?;
        for _ in 0..TRANSACTIONS_PER_LOOK {
            let [source, target] = [0; 2].map(|_| VertexId(random.below(vertices) as u32));
            database.transact(|transaction| {
                let transaction = transaction.by_id();
                let edge_type = transaction.edge_type("EDGE")?;
                transaction.add_edge(source, edge_type, target, &[])
            })?;
            commits += 1;
        }
    }
    let frame_bytes = database.store().log().frame_bytes();
    database.close()?;
    Ok((commits, frame_bytes))
}
