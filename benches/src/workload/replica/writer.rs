//! Writer: one connection that runs transactions of the same kind, at a rate or as fast as it can.

use crate::workload::replica::changes::{ChangeKind, Changes};
use crate::workload::replica::pacer::Pacer;
use crate::workload::replica::source_server::run;
use evergraph_graph::error::Result;
use evergraph_replica::source::postgres::connection::Connection;
use std::time::{Duration, Instant};

/// What a writer does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pace {
    /// What rows it changes.
    pub kind: ChangeKind,
    /// Rows of each transaction, the clock's among them.
    pub rows: u32,
    /// Time between the beginnings of two transactions; `None` for the next one at once.
    pub interval: Option<Duration>,
}

impl Pace {
    /// `rate` rows of a mixture a second: a hundred transactions a second, fewer if they would have less than two rows.
    #[must_use]
    pub fn of_rate(rate: u32) -> Self {
        let transactions = (rate / 2).clamp(1, 100);
        let interval = Duration::from_secs_f64(1.0 / f64::from(transactions));
        Self { kind: ChangeKind::Mixed, rows: rate.div_ceil(transactions).max(2), interval: Some(interval) }
    }

    /// Transactions of two rows, so many rows a second, or as many as one connection commits.
    #[must_use]
    pub fn of_small(rate: Option<u32>) -> Self {
        let interval = rate.map(|rate| Duration::from_secs_f64(2.0 / f64::from(rate.max(1))));
        Self { kind: ChangeKind::Mixed, rows: 2, interval }
    }
}

/// What a writer did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Written {
    /// The clock's number of each transaction, and when its commit returned.
    pub commits: Vec<(u64, Instant)>,
    /// Rows that changed.
    pub rows: u64,
    /// How long that took.
    pub time: Duration,
}

impl Written {
    /// Rows a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rows as f64 / self.time.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Writes for as long as `goes_on` says of what was written; at least one transaction.
///
/// # Errors
/// What the server says.
pub fn write(
    connection: &mut Connection,
    changes: &mut Changes,
    pace: Pace,
    mut goes_on: impl FnMut(&Written) -> bool,
) -> Result<Written> {
    let (mut written, began) = (Written::default(), Instant::now());
    let mut pacer = pace.interval.map(Pacer::start);
    loop {
        let transaction = changes.next(pace.kind, pace.rows);
        run(connection, &transaction.sql)?;
        written.commits.push((transaction.number, Instant::now()));
        written.rows += u64::from(transaction.rows);
        written.time = began.elapsed();
        if !goes_on(&written) {
            return Ok(written);
        }
        if let Some(pacer) = &mut pacer {
            pacer.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_hundred_transactions_a_second_or_fewer_small_ones() {
        let of = |rate| {
            let pace = Pace::of_rate(rate);
            (pace.rows, pace.interval.unwrap().as_millis())
        };
        let small = |rate| Pace::of_small(rate).interval.map(|interval| interval.as_micros());
        assert_eq!([small(Some(1_000)), small(None)], [Some(2_000), None]);
        assert_eq!([of(100), of(1_000), of(10_000), of(1)], [(2, 20), (10, 10), (100, 10), (2, 1000)]);
    }
}
