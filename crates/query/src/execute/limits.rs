//! Limits of one query: time, memory, the caller's wish to stop.

use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

/// Memory is taken from the database's budget in pieces of so many bytes.
const PIECE_BYTES: u64 = 1 << 20;

/// How long a query may take, and how much memory.
#[derive(Clone, Copy, Debug)]
pub struct QueryLimits {
    /// From its start until its last result is fetched; [`Duration::MAX`] for no limit.
    pub timeout: Duration,
    /// Of what it holds at once beside the graph: rows that wait, groups, paths.
    pub memory_bytes: u64,
    /// Rows of a batch, at least one. Answers don't depend on it.
    pub batch_rows: usize,
}

impl Default for QueryLimits {
    /// A minute, a gibibyte, 1,024 rows.
    fn default() -> Self {
        Self { timeout: Duration::from_secs(60), memory_bytes: 1 << 30, batch_rows: 1024 }
    }
}

/// The limits of a query that runs.
pub struct Charge<'a> {
    started: Instant,
    limits: QueryLimits,
    cancel: CancelFlag,
    budget: &'a dyn Budget,
    used_bytes: u64,
    reserved: Vec<Reservation>,
}

impl<'a> Charge<'a> {
    /// The limits of a query that begins now and takes its memory from `budget`.
    #[must_use]
    pub fn new(limits: QueryLimits, cancel: CancelFlag, budget: &'a dyn Budget) -> Self {
        Self { started: Instant::now(), limits, cancel, budget, used_bytes: 0, reserved: Vec::new() }
    }

    /// Makes the time shorter, if `timeout` is.
    pub fn shorten(&mut self, timeout: Duration) {
        self.limits.timeout = self.limits.timeout.min(timeout);
    }

    /// Goes on unless the time is over or somebody asked to stop.
    ///
    /// # Errors
    /// `limit`, `cancelled`.
    pub fn check(&self) -> Result<()> {
        self.cancel.check()?;
        if self.started.elapsed() <= self.limits.timeout {
            return Ok(());
        }
        let seconds = self.limits.timeout.as_secs_f64();
        let text =
            format!("the query took longer than its timeout of {seconds} s: narrow it, or raise the timeout");
        Err(Error::new(ErrorKind::Limit, text))
    }

    /// Counts `bytes` that a step is about to hold.
    ///
    /// # Errors
    /// `limit` past the query's memory, or the database's budget.
    pub fn hold(&mut self, bytes: usize) -> Result<()> {
        let used = self.used_bytes.saturating_add(bytes as u64);
        if used > self.limits.memory_bytes {
            let limit = ByteSize(self.limits.memory_bytes);
            let text = format!(
                "the query would hold more than its {limit} of memory: narrow it, use dedup() or limit(), or raise the limit"
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let reserved: u64 = self.reserved.iter().map(Reservation::bytes).sum();
        if used > reserved {
            let piece = (used - reserved).max(PIECE_BYTES);
            self.reserved.push(self.budget.reserve("a query", piece)?);
        }
        self.used_bytes = used;
        Ok(())
    }

    /// Takes back what [`Charge::hold`] counted. What was reserved stays for the rest of the query.
    pub fn free(&mut self, bytes: usize) {
        self.used_bytes = self.used_bytes.saturating_sub(bytes as u64);
    }

    /// Rows of a batch.
    #[must_use]
    pub fn batch_rows(&self) -> usize {
        self.limits.batch_rows.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::budget::Unlimited;

    #[test]
    fn memory_time_and_cancelling_are_limits() {
        let limits = QueryLimits { memory_bytes: 100, ..QueryLimits::default() };
        let cancel = CancelFlag::default();
        let mut charge = Charge::new(limits, cancel.clone(), &Unlimited);
        charge.hold(60).unwrap();
        let error = charge.hold(60).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("100 bytes of memory"), "{error}");
        charge.free(60);
        charge.hold(100).unwrap();
        assert!(charge.check().is_ok());
        cancel.cancel();
        assert_eq!(charge.check().unwrap_err().kind(), ErrorKind::Cancelled);
        let mut late = Charge::new(limits, CancelFlag::default(), &Unlimited);
        late.shorten(Duration::ZERO);
        late.shorten(Duration::MAX);
        std::thread::sleep(Duration::from_millis(2));
        assert!(late.check().unwrap_err().to_string().contains("timeout of 0 s"));
    }
}
