//! Transactions: edges a second behind a warm-up, by transactions of one and of a thousand edges, synced and not.

use crate::edges::Contents;
use crate::engine::evergraph::EvergraphStore;
use crate::engine::store::{Commit, Edge, Store as _};
use crate::plan::Work;
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::mapped::engine::{ENGINES, names};
use crate::workload::mapped::{shuffled, split};
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;

/// Edges of the larger transactions.
const BATCH: usize = 1_000;
/// So many times fewer where each transaction waits for the disk.
const SYNCED_PART: usize = 25;

/// Measures both sizes.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = shuffled(work.plan, work.plan.mapped.degree)?;
    for commit in [Commit::Unsynced, Commit::Durable] {
        let part = if commit == Commit::Durable { SYNCED_PART } else { 1 };
        inserts(work, &edges, commit, 1, work.plan.commits.div_ceil(part))?;
        inserts(work, &edges, commit, BATCH, work.plan.batches.div_ceil(part))?;
    }
    Ok(())
}

fn inserts(work: &mut Work<'_>, edges: &[Edge], commit: Commit, size: usize, count: usize) -> Result<()> {
    let (warm, rest) = split(edges);
    let measured = &rest[..rest.len().min(size * count)];
    let mut loaded = warm.to_vec();
    loaded.sort_unstable();
    let expected = Contents::of(warm.iter().chain(measured));
    let mut race = Race::new(names());
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            let (engine, name) = ENGINES[place];
            let folder = work.folder_for("transactions")?;
            let store = EvergraphStore::open_on(engine, folder.path(), work.plan.vertices(), commit)?;
            store.load(&loaded)?;
            let watch = Stopwatch::start();
            measured.chunks(size).try_for_each(|edges| store.put(edges))?;
            let spent = watch.stop();
            expected.check(name, &store)?;
            Box::new(store).close()?;
            Ok(Sample::timed(measured.len() as f64 / spent.wall, spent))
        })?;
    }
    let (synced, how) = match commit {
        Commit::Unsynced => ("unsynced", "not synced"),
        Commit::Durable => ("durable", "each synced"),
    };
    let plural = if size == 1 { "" } else { "s" };
    let title = format!("edges inserted by transactions of {size} edge{plural}, {how}, one thread");
    work.add_race(
        &Heading::new(format!("mapped_engine.insert.{synced}.edges_{size}"), title, Unit::PerSecond),
        &race,
    );
    Ok(())
}
