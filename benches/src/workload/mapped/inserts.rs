//! Inserts: edges a second of one side behind a warm-up, and what an edge writes back.

use crate::engine::store::Edge;
use crate::plan::{Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::mapped::store::{COLUMNS, Ending, LOG_BYTES, RawCounts, RawOptions, Sides, names};
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

fn inserts(work: &mut Work<'_>, degree: u32, writers: usize, edges: &[Edge]) -> Result<()> {
    let (warm, measured) = split(edges);
    let mut race = Race::new(names());
    if writers == 1 {
        race = race.undisturbed();
    }
    let mut written: Vec<Vec<RawCounts>> = COLUMNS.iter().map(|_| Vec::new()).collect();
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            let column = &COLUMNS[place];
            let folder = work.folder_for(column.name)?;
            let store = (column.create)(folder.path(), &options(work, edges.len() as u64))?;
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
                    threads
                        .into_iter()
                        .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(panicked())))
                })?;
            }
            let spent = watch.stop();
            let counts = store.counts();
            expect(column.name, "as many edges as were inserted", counts.edges, edges.len() as u64)?;
            written[place].push(RawCounts {
                bytes_written_back: counts.bytes_written_back - before.bytes_written_back,
                fences: counts.fences - before.fences,
                ..counts
            });
            store.end(Ending::Dropped)?;
            Ok(Sample::timed(measured.len() as f64 / spent.wall, spent))
        })?;
    }
    let plural = if writers == 1 { "" } else { "s" };
    let title = format!("edges inserted one by one, one side, degree {degree}, {writers} writer{plural}");
    let name = format!("mapped.insert.degree_{degree}.threads_{writers}");
    work.add_race(&Heading::new(name, title, Unit::PerSecond).with("degree", degree), &race);
    if writers == 1 {
        let edges = measured.len() as f64;
        add(work, &written, degree, ("bytes", "bytes written back an edge", Unit::BytesPerEdge), |counts| {
            counts.bytes_written_back as f64 / edges
        });
        add(work, &written, degree, ("fences", "fences an edge", Unit::Number), |counts| {
            counts.fences as f64 / edges
        });
        let all = measured.len() as f64 + warm.len() as f64;
        add(
            work,
            &written,
            degree,
            ("space", "bytes an edge that the store takes", Unit::BytesPerEdge),
            |counts| counts.bytes as f64 / all,
        );
    }
    Ok(())
}

/// Adds a figure that was counted.
fn add(
    work: &mut Work<'_>,
    written: &[Vec<RawCounts>],
    degree: u32,
    (name, title, unit): (&str, &str, Unit),
    figure: impl Fn(&RawCounts) -> f64,
) {
    let mut race = Race::new(names());
    for round in 0..work.plan.rounds {
        race.note(&written.iter().map(|rounds| figure(&rounds[round])).collect::<Vec<_>>());
    }
    let heading = Heading::new(
        format!("mapped.{name}.degree_{degree}"),
        format!("{title}, one side, degree {degree}"),
        unit,
    );
    work.add_race(&heading, &race);
}

/// How a store is made for so many edges.
fn options(work: &Work<'_>, edges: u64) -> RawOptions {
    RawOptions {
        vertices: work.plan.vertices(),
        edges,
        sides: Sides::Out,
        log_bytes: LOG_BYTES,
        is_emulated: work.plan.mapped.is_emulated,
    }
}

fn panicked() -> Error {
    Error::new(ErrorKind::Corrupt, "a thread that inserted ended by a panic")
}
