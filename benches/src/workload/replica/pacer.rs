//! Pacer: the schedule of a writer that begins a transaction each interval.

use std::thread;
use std::time::{Duration, Instant};

/// A schedule: the first transaction begins at once, each next one an interval after the one before was due.
///
/// Lateness is caught up: a transaction that takes longer than the interval moves none of the later ones, which begin without a
/// pause until the writer is in time again. So as many are written as the rate says, unless the server cannot keep up at all.
pub struct Pacer {
    interval: Duration,
    /// When the transaction that runs was due.
    due: Instant,
}

impl Pacer {
    /// Begins a schedule; the first transaction is due now.
    #[must_use]
    pub fn start(interval: Duration) -> Self {
        Self { interval, due: Instant::now() }
    }

    /// Waits until the next transaction is due; not at all if it is late.
    pub fn wait(&mut self) {
        self.due += self.interval;
        thread::sleep(self.due.saturating_duration_since(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_transaction_moves_none_of_the_later_ones() {
        let interval = Duration::from_millis(100);
        let mut pacer = Pacer::start(interval);
        let began = pacer.due;
        thread::sleep(3 * interval);
        (0..3).for_each(|_| pacer.wait());
        assert_eq!(pacer.due.duration_since(began), 3 * interval);
        assert!(began.elapsed() < 6 * interval, "what is late waits no more");
        pacer.wait();
        assert!(began.elapsed() >= 4 * interval, "the next one is not before its time");
    }
}
