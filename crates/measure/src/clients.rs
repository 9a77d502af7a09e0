//! Clients: threads that take steps for a given time, each step a transaction.

use evergraph::transaction::TransactionById;
use evergraph::{Database, Isolation};
use evergraph_graph::error::Result;
use std::thread;
use std::time::{Duration, Instant};

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
        assert_eq!(run.aborted(), odd as f64 / run.attempts as f64);
        assert!(run.rate() > 0.0);
        assert_eq!(Run::default().aborted(), 0.0);
    }
}
