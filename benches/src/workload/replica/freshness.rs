//! Freshness: from the return of a commit at the source until a new snapshot shows it, at several rates; the same of the plain
//! reader, which hears of the very same transactions at the same time.
//!
//! A writer that falls behind its rate is measured at the rate that it had, which the settings of the figures name.

use crate::goals::baseline::PLAIN_READER;
use crate::plan::Work;
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::replica::readers::Reader;
use crate::workload::replica::writer::{Pace, write};
use crate::workload::replica::{Bench, EPOCHS, OURS, PATIENCE};
use evergraph_graph::count::Count;
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;
use std::time::{Duration, Instant};

/// Whoever shows the last transaction within this kept up with the writer.
const KEPT_UP: Duration = Duration::from_millis(100);
/// A rate that is too high is tried again at this part of it.
const SLOWER: f64 = 0.75;
/// How often.
const TRIES_MAX: usize = 12;
/// Nothing is shorter, so that every ratio is a number, seconds.
const TIME_MIN: f64 = 1e-6;
/// Rows of a transaction at the highest rate.
const ROWS_AT_MOST: u32 = 100;

/// Measures freshness at every rate and at the highest one.
///
/// # Errors
/// Those of server and replica; `limit` if a transaction does not arrive.
pub fn measure(work: &mut Work<'_>, bench: &mut Bench) -> Result<()> {
    let replica = bench.follow(EPOCHS)?;
    let (ours, theirs) = (Reader::observe(&bench.database)?, Reader::plain(&bench.server)?);
    bench.catch_up(&[&ours, &theirs])?;
    for rate in bench.plan.rates.clone() {
        let mut runs = Vec::new();
        for _ in 0..bench.plan.rounds {
            runs.push(run(bench, Pace::of_rate(rate), &ours, &theirs)?);
        }
        let title = format!("{} row changes a second", Count(u64::from(rate)));
        add(work, &format!("rate_{rate}"), &title, &runs);
    }
    for (name, rate, title) in [
        ("small_1000", Some(1_000), "1,000 row changes a second, two a transaction"),
        ("small_highest", None, "transactions of two rows, as fast as one writer commits them"),
    ] {
        let mut runs = Vec::new();
        for _ in 0..bench.plan.rounds {
            runs.push(run(bench, Pace::of_small(rate), &ours, &theirs)?);
        }
        add(work, name, title, &runs);
    }
    let runs = highest(bench, &ours, &theirs)?;
    let rates: Vec<f64> = runs.iter().map(|run| run.written_rate).collect();
    let heading =
        Heading::new("replica.freshness.highest_rate", "highest rate that is followed", Unit::PerSecond);
    work.add(&heading, &rates);
    add(work, "highest", "the highest rate", &runs);
    drop((ours, theirs));
    replica.stop()
}

/// Times of the transactions of one run, seconds.
struct Run {
    ours: Times,
    theirs: Times,
    /// Ours less theirs, transaction by transaction.
    later: Times,
    written_rate: f64,
    transaction_rows: u32,
    last: Duration,
}

/// Times, ascending.
struct Times(Vec<f64>);

impl Times {
    fn new(mut times: Vec<f64>) -> Self {
        times.sort_unstable_by(f64::total_cmp);
        Self(times)
    }

    /// The time that this part of all is within.
    fn within(&self, part: f64) -> f64 {
        let at = (self.0.len() as f64 * part).ceil() as usize;
        self.0[at.clamp(1, self.0.len()) - 1]
    }
}

fn run(bench: &mut Bench, pace: Pace, ours: &Reader, theirs: &Reader) -> Result<Run> {
    let run_time = bench.plan.run_time;
    let written = write(&mut bench.connection, &mut bench.changes, pace, |written| written.time < run_time)?;
    let last = written.commits.last().map_or(0, |(number, _)| *number);
    let shown = ours.marks.wait(last, PATIENCE)?;
    theirs.marks.wait(last, PATIENCE)?;
    let last = shown.saturating_duration_since(written.commits.last().map_or(shown, |(_, at)| *at));
    // What was there before the commit returned was there at once.
    let times = |reader: &Reader| -> Vec<f64> {
        let seen = |(number, committed): &(u64, Instant)| {
            let seen = reader.marks.moment(*number)?;
            Some(seen.saturating_duration_since(*committed).as_secs_f64().max(TIME_MIN))
        };
        written.commits.iter().filter_map(seen).collect()
    };
    let later = |(number, _): &(u64, Instant)| {
        let (ours, theirs) = (ours.marks.moment(*number)?, theirs.marks.moment(*number)?);
        let [later, earlier] = [ours.checked_duration_since(theirs), theirs.checked_duration_since(ours)];
        let seconds = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64();
        Some(seconds(later) - seconds(earlier))
    };
    let later = written.commits.iter().filter_map(later).collect();
    Ok(Run {
        ours: Times::new(times(ours)),
        theirs: Times::new(times(theirs)),
        later: Times::new(later),
        written_rate: written.rate(),
        transaction_rows: pace.rows,
        last,
    })
}

/// Runs at the highest rate at which the replica keeps up.
fn highest(bench: &mut Bench, ours: &Reader, theirs: &Reader) -> Result<Vec<Run>> {
    let mut pace = Pace { interval: None, rows: ROWS_AT_MOST, ..Pace::of_rate(ROWS_AT_MOST) };
    for _ in 0..TRIES_MAX {
        let mut runs = Vec::new();
        for _ in 0..bench.plan.rounds {
            let run = run(bench, pace, ours, theirs)?;
            let kept_up = run.last <= KEPT_UP;
            runs.push(run);
            if !kept_up {
                break;
            }
        }
        let slowest = runs.last().filter(|run| run.last > KEPT_UP);
        let Some(slowest) = slowest else { return Ok(runs) };
        let rate = slowest.written_rate * SLOWER;
        pace.interval = Some(Duration::from_secs_f64(f64::from(pace.rows) / rate.max(1.0)));
        bench.catch_up(&[ours, theirs])?;
    }
    // The machine is too busy for any rate: the last one stands for what it was.
    Ok(vec![run(bench, pace, ours, theirs)?])
}

fn add(work: &mut Work<'_>, name: &str, title: &str, runs: &[Run]) {
    let rate = runs.iter().map(|run| run.written_rate).sum::<f64>() / runs.len() as f64;
    let rows = runs.first().map_or(0, |run| run.transaction_rows);
    let heading = |part: &str, what: &str| {
        Heading::new(format!("replica.freshness.{part}.{name}"), format!("{title}: {what}"), Unit::Seconds)
            .with("rows written a second", format!("{rate:.0}"))
            .with("rows of a transaction", rows)
    };
    for (part, what, share) in
        [("p50", "half within", 0.5), ("p99", "99 of 100 within", 0.99), ("max", "all within", 1.0)]
    {
        let mut race = Race::new([OURS, PLAIN_READER]);
        for run in runs {
            race.note(&[run.ours.within(share), run.theirs.within(share)]);
        }
        work.add_race(&heading(part, what), &race);
        let later: Vec<f64> = runs.iter().map(|run| run.later.within(share)).collect();
        work.add(&heading(&format!("later.{part}"), &format!("later than the plain reader, {what}")), &later);
    }
}

/// Measures freshness of a transaction of so many rows that the source streams it before its commit. Each reader has the source
/// for itself.
///
/// # Errors
/// As [`measure`].
pub fn measure_large(work: &mut Work<'_>, bench: &mut Bench) -> Result<()> {
    let rows = bench.plan.large_rows;
    let mut race = Race::new([OURS, PLAIN_READER]);
    for round in 0..bench.plan.rounds {
        let mut times = [0.0; 2];
        for place in order(round, times.len()) {
            times[place] = if place == 0 {
                let replica = bench.follow(EPOCHS)?;
                let time = time_of_large(bench, &Reader::observe(&bench.database)?)?;
                replica.stop()?;
                time
            } else {
                time_of_large(bench, &Reader::plain(&bench.server)?)?
            };
        }
        race.note(&times);
    }
    let title = format!("a transaction of {} rows", Count(u64::from(rows)));
    work.add_race(
        &Heading::new(
            "replica.freshness.large",
            format!("{title}, vertices with an edge each"),
            Unit::Seconds,
        )
        .with("rows", rows),
        &race,
    );
    Ok(())
}

fn time_of_large(bench: &mut Bench, reader: &Reader) -> Result<f64> {
    bench.catch_up(&[reader])?;
    let transaction = bench.changes.large(bench.plan.large_rows);
    let committed = bench.run(&transaction)?;
    let seen = reader.marks.wait(transaction.number, PATIENCE)?;
    Ok(seen.saturating_duration_since(committed).as_secs_f64().max(TIME_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_all_times_is_within_the_last_of_them() {
        let times = Times::new((1..=200).rev().map(f64::from).collect());
        assert_eq!([0.5, 0.99, 1.0].map(|part| times.within(part)), [100.0, 198.0, 200.0]);
        assert_eq!(Times::new(vec![7.0]).within(0.5), 7.0);
    }
}
