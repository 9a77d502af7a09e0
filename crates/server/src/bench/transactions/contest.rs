//! Contest: the same clients under snapshot isolation and serialisable, in turn on one database.
//!
//! ```text
//! round 1   threads 1: snapshot serialisable   threads 2: snapshot serialisable   ...
//! round 2   threads 1: serialisable snapshot   ...
//! ```
//!
//! Whoever goes second inherits the merges of the first, so the order changes from round to round. A
//! ratio is taken of two runs that follow each other.

use crate::bench::figure::{Figure, Unit};
use evergraph::transaction::TransactionById;
use evergraph::{Database, Isolation};
use evergraph_graph::error::Result;
use std::thread;
use std::time::{Duration, Instant};

/// Threads that are measured.
pub const THREADS: [usize; 3] = [1, 2, 8];

/// What clients did in a run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Run {
    /// Transactions that were done, each counted once.
    pub done: u64,
    /// How often they were begun: those above, and what was refused as a conflict.
    pub attempts: u64,
    /// How long it took.
    pub time: Duration,
}

impl Run {
    /// Transactions a second, retries included in their time.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.done as f64 / self.time.as_secs_f64()
    }

    /// The part of all attempts that was refused, 0 to 1.
    #[must_use]
    pub fn aborted(&self) -> f64 {
        (self.attempts - self.done) as f64 / self.attempts.max(1) as f64
    }
}

/// Runs `body` in a transaction until it commits; its value, and how many attempts that took.
///
/// # Errors
/// As [`Database::transact`].
pub fn transact<T>(
    database: &Database,
    isolation: Isolation,
    mut body: impl FnMut(&mut TransactionById) -> Result<T>,
) -> Result<(T, u64)> {
    let mut attempts = 0;
    let value = database.transact_with(isolation, |transaction| {
        attempts += 1;
        body(transaction.by_id())
    })?;
    Ok((value, attempts))
}

/// Lets every client, on a thread of its own, take steps for `time`. A step is a transaction, and says
/// how many attempts it took.
///
/// # Errors
/// What a step says: the first error ends its client, and the run is none.
pub fn run<C: Send>(
    clients: &mut [C],
    time: Duration,
    step: impl Fn(&mut C) -> Result<u64> + Sync,
) -> Result<Run> {
    let began = Instant::now();
    let end = began + time;
    let counts = thread::scope(|scope| {
        let step = &step;
        let work = |client: &mut C| {
            let mut run = Run::default();
            // One step at least: a thread that gets no core in all that time is measured late.
            loop {
                run.attempts += step(client)?;
                run.done += 1;
                if Instant::now() >= end {
                    return Ok(run);
                }
            }
        };
        let clients: Vec<_> = clients.iter_mut().map(|client| scope.spawn(move || work(client))).collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("a panic was printed by its thread"))
            .collect::<Result<Vec<Run>>>()
    })?;
    let sum = |part: fn(&Run) -> u64| counts.iter().map(part).sum();
    Ok(Run { done: sum(|run| run.done), attempts: sum(|run| run.attempts), time: began.elapsed() })
}

/// The runs of both levels under the same conditions.
#[derive(Clone, Debug)]
pub struct Contest {
    /// Names of programs begin with it.
    name: String,
    /// The conditions, for people.
    title: String,
    threads: usize,
    snapshot: Vec<Run>,
    serializable: Vec<Run>,
}

impl Contest {
    /// Columns of the table that [`Contest::row`] makes rows of.
    pub const COLUMNS: [&'static str; 6] =
        ["", "snapshot, tx/s", "aborted", "serialisable, tx/s", "aborted", "serialisable / snapshot"];

    /// A contest on `threads` threads, `name` for programs and `title` for people.
    #[must_use]
    pub fn new(name: &str, title: &str, threads: usize) -> Self {
        let plural = if threads == 1 { "" } else { "s" };
        Self {
            name: format!("{name}.threads_{threads}"),
            title: format!("{title}, {threads} thread{plural}"),
            threads,
            snapshot: Vec::new(),
            serializable: Vec::new(),
        }
    }

    /// How many threads take part.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// One run of each level, the one first in even rounds, the other in odd ones.
    ///
    /// # Errors
    /// What `run` says.
    pub fn round(&mut self, round: usize, mut run: impl FnMut(Isolation) -> Result<Run>) -> Result<()> {
        let mut order = [Isolation::Snapshot, Isolation::Serializable];
        order.rotate_left(round % 2);
        for isolation in order {
            let runs = match isolation {
                Isolation::Snapshot => &mut self.snapshot,
                _ => &mut self.serializable,
            };
            runs.push(run(isolation)?);
        }
        Ok(())
    }

    /// Rates and aborted shares of both, and the ratio, of at least one round.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        let figure = |what: &str, unit, samples: &[f64]| {
            Figure::new(format!("{}.{what}", self.name), self.title.clone(), unit, samples)
                .with("threads", self.threads)
        };
        let of = |runs: &[Run], part: fn(&Run) -> f64| runs.iter().map(part).collect::<Vec<f64>>();
        let both = self.snapshot.iter().zip(&self.serializable);
        let ratios: Vec<f64> = both.map(|(snapshot, other)| other.rate() / snapshot.rate()).collect();
        vec![
            figure("snapshot", Unit::PerSecond, &of(&self.snapshot, Run::rate)),
            figure("snapshot.aborted", Unit::Share, &of(&self.snapshot, Run::aborted)),
            figure("serializable", Unit::PerSecond, &of(&self.serializable, Run::rate)),
            figure("serializable.aborted", Unit::Share, &of(&self.serializable, Run::aborted)),
            figure("ratio", Unit::Times, &ratios),
        ]
    }

    /// The same as a row of a table.
    #[must_use]
    pub fn row(&self) -> Vec<String> {
        let (mut texts, figures) = (vec![self.title.clone()], self.figures());
        let (ratio, others) = figures.split_last().expect("five figures were made");
        texts.extend(others.iter().map(Figure::value_text));
        texts.push(ratio.range_text());
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attempt_counts_and_what_was_done_counts_once() {
        let mut clients = [0u64, 0];
        let run = run(&mut clients, Duration::from_millis(20), |client| {
            *client += 1;
            Ok(1 + *client % 2)
        })
        .unwrap();
        assert_eq!(run.done, clients.iter().sum::<u64>());
        let odd: u64 = clients.iter().map(|steps| steps.div_ceil(2)).sum();
        assert_eq!(run.attempts, run.done + odd);
        assert!((run.aborted() - 1.0 / 3.0).abs() < 0.1 && run.rate() > 0.0);
        assert_eq!(Run::default().aborted(), 0.0);
    }

    #[test]
    fn levels_change_places_from_round_to_round_and_ratios_are_of_the_same_round() {
        let (mut contest, mut order) = (Contest::new("a.b", "A", 2), Vec::new());
        for round in 0..2 {
            let run = |isolation| {
                order.push(isolation);
                let done = if isolation == Isolation::Snapshot { 100 } else { 50 };
                Ok(Run { done, attempts: 100, time: Duration::from_secs(1) })
            };
            contest.round(round, run).unwrap();
        }
        use Isolation::{Serializable, Snapshot};
        assert_eq!(order, [Snapshot, Serializable, Serializable, Snapshot]);
        assert_eq!(contest.figures()[4].name, "a.b.threads_2.ratio");
        assert_eq!(
            contest.row(),
            ["A, 2 threads", "100/s", "0.00 %", "50/s", "50.00 %", "0.50 x (0.50 x to 0.50 x)"]
        );
    }
}
