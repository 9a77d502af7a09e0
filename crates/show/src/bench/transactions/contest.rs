//! Contest: the same clients under snapshot isolation and serialisable, in turn on one database.
//!
//! ```text
//! round 1   threads 1: snapshot serialisable   threads 2: snapshot serialisable   ...
//! round 2   threads 1: serialisable snapshot   ...
//! ```
//!
//! Whoever goes second inherits the merges of the first, so the order changes from round to round. A
//! ratio is taken of two runs that follow each other.

use evergraph::Isolation;
use evergraph_graph::error::Result;
use evergraph_measure::clients::Run;
use evergraph_measure::figure::{Figure, Unit};

/// Threads that are measured.
pub const THREADS: [usize; 3] = [1, 2, 8];

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
    use std::time::Duration;

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
