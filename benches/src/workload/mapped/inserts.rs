//! Inserts: edges a second of one side behind a warm-up, and what an edge writes back.

use crate::engine::store::Edge;
use crate::plan::{Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::mapped::store::{
    COLUMNS, Ending, RawCounts, RawOptions, RawStore, Sides, durable, names,
};
use crate::workload::mapped::{shuffled, split};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::Unit;
use std::thread;

/// Measures every degree and number of writers.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    for degree in work.plan.mapped.degrees.clone() {
        let edges = shuffled(work.plan, degree)?;
        for writers in work.plan.mapped.writers.clone() {
            inserts(work, degree, writers, &edges)?;
        }
    }
    Ok(())
}

/// The name of a store, and what it had written in each round.
pub type CountedRounds = (&'static str, Vec<RawCounts>);

fn inserts(work: &mut Work<'_>, degree: u32, writers: usize, edges: &[Edge]) -> Result<()> {
    let mut race = Race::new(names());
    if writers == 1 {
        race = race.undisturbed();
    }
    let mut counted: Vec<CountedRounds> = names().map(|name| (name, Vec::new())).collect();
    let options = RawOptions::new(work.plan, edges.len(), Sides::Out);
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            let column = &COLUMNS[place];
            let folder = work.folder_for(column.name)?;
            let store = (column.create)(folder.path(), &options)?;
            let (sample, counts) = insert_all(store, column.name, writers, edges)?;
            counted[place].1.push(counts);
            Ok(sample)
        })?;
    }
    let plural = if writers == 1 { "" } else { "s" };
    let title = format!("edges inserted one by one, one side, degree {degree}, {writers} writer{plural}");
    let name = format!("mapped.insert.degree_{degree}.threads_{writers}");
    work.add_race(&Heading::new(name, title, Unit::PerSecond).with("degree", degree), &race);
    if writers == 1 {
        let heading = |name: &str, title: &str, unit| {
            let title = format!("{title}, one side, degree {degree}");
            Heading::new(format!("mapped.{name}.degree_{degree}"), title, unit)
        };
        let is_durable = |name: &str| durable().any(|(column, _)| column.name == name);
        let written: Vec<CountedRounds> =
            counted.iter().filter(|(name, _)| is_durable(name)).cloned().collect();
        let bytes = heading("bytes", "bytes written back an edge", Unit::BytesPerEdge);
        add_counted(work, &bytes, &written, |counts| {
            counts.bytes_written_back as f64 / counts.measured as f64
        });
        add_counted(work, &heading("fences", "fences an edge", Unit::Number), &written, |counts| {
            counts.fences as f64 / counts.measured as f64
        });
        let space = heading("space", "bytes an edge that the store takes", Unit::BytesPerEdge);
        add_counted(work, &space, &counted, |counts| counts.bytes as f64 / counts.edges as f64);
    }
    Ok(())
}

/// Inserts all edges into a new store, those behind the warm-up by so many threads: how many of these a second, and what they
/// wrote.
///
/// # Errors
/// What the store says; `corrupt` if edges are missing.
pub fn insert_all(
    store: Box<dyn RawStore>,
    name: &str,
    writers: usize,
    edges: &[Edge],
) -> Result<(Sample, RawCounts)> {
    let (warm, measured) = split(edges);
    store.insert(warm)?;
    let before = store.counts();
    let watch = Stopwatch::start();
    if writers == 1 {
        store.insert(measured)?;
    } else {
        let some = measured.len().div_ceil(writers);
        thread::scope(|scope| {
            let threads: Vec<_> =
                measured.chunks(some).map(|edges| scope.spawn(|| store.insert(edges))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(panicked())))
        })?;
    }
    let spent = watch.stop();
    let counts = store.counts();
    expect(name, "as many edges as were inserted", counts.edges, edges.len() as u64)?;
    let written = RawCounts {
        measured: measured.len() as u64,
        bytes_written_back: counts.bytes_written_back - before.bytes_written_back,
        fences: counts.fences - before.fences,
        ..counts
    };
    store.end(Ending::Dropped)?;
    Ok((Sample::timed(measured.len() as f64 / spent.wall, spent), written))
}

/// Adds a figure that was counted.
pub fn add_counted(
    work: &mut Work<'_>,
    heading: &Heading,
    counted: &[CountedRounds],
    figure: impl Fn(&RawCounts) -> f64,
) {
    let mut race = Race::new(counted.iter().map(|(name, _)| *name));
    for round in 0..work.plan.rounds {
        race.note(&counted.iter().map(|(_, rounds)| figure(&rounds[round])).collect::<Vec<_>>());
    }
    work.add_race(heading, &race);
}

fn panicked() -> Error {
    Error::new(ErrorKind::Corrupt, "a thread that inserted ended by a panic")
}
