//! Limits of one query: time, memory, the caller's wish to stop.

use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
    /// Threads that a heavy step may run on, of the pool that the query runs in; a short query runs on one.
    pub threads: usize,
}

impl Default for QueryLimits {
    /// A minute, a gibibyte, 1,024 rows, all threads.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            memory_bytes: 1 << 30,
            batch_rows: 1024,
            threads: usize::MAX,
        }
    }
}

/// The limits of a query that runs. Copies count together: each thread of a query has one.
#[derive(Clone)]
pub struct Charge<'a> {
    started: Instant,
    limits: QueryLimits,
    cancel: CancelFlag,
    held: Arc<Held<'a>>,
}

/// The memory of a query.
struct Held<'a> {
    budget: &'a dyn Budget,
    /// What its steps hold. Relaxed: it publishes nothing but itself.
    used_bytes: AtomicU64,
    /// What is reserved for them. Relaxed, and changed only with the lock below.
    reserved_bytes: AtomicU64,
    reserved: Mutex<Vec<Reservation>>,
}

impl<'a> Charge<'a> {
    /// The limits of a query that begins now and takes its memory from `budget`.
    #[must_use]
    pub fn new(limits: QueryLimits, cancel: CancelFlag, budget: &'a dyn Budget) -> Self {
        let held = Held {
            budget,
            used_bytes: AtomicU64::new(0),
            reserved_bytes: AtomicU64::new(0),
            reserved: Mutex::new(Vec::new()),
        };
        Self { started: Instant::now(), limits, cancel, held: Arc::new(held) }
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

    /// What asks long work within a step to stop: the caller, or the end of the time.
    #[must_use]
    pub fn cancel(&self) -> CancelFlag {
        match self.started.checked_add(self.limits.timeout) {
            Some(deadline) => self.cancel.until(deadline),
            None => self.cancel.clone(),
        }
    }

    /// Counts `bytes` that a step is about to hold.
    ///
    /// # Errors
    /// `limit` past the query's memory, or the database's budget.
    pub fn hold(&mut self, bytes: usize) -> Result<()> {
        let bytes = bytes as u64;
        let before = self.held.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        let used = before.saturating_add(bytes);
        if used > self.limits.memory_bytes {
            self.held.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
            let limit = ByteSize(self.limits.memory_bytes);
            let text = format!(
                "the query would hold more than its {limit} of memory: narrow it, use dedup() or limit(), or raise the limit"
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        if used > self.held.reserved_bytes.load(Ordering::Relaxed) {
            self.held.reserve(used)?;
        }
        Ok(())
    }

    /// Takes back what [`Charge::hold`] counted. What was reserved stays for the rest of the query.
    pub fn free(&mut self, bytes: usize) {
        let less = |used: u64| Some(used.saturating_sub(bytes as u64));
        let _ = self.held.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Rows of a batch.
    #[must_use]
    pub fn batch_rows(&self) -> usize {
        self.limits.batch_rows.max(1)
    }

    /// Threads that a heavy step may run on.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.limits.threads.clamp(1, rayon::current_num_threads())
    }
}

impl Held<'_> {
    /// Reserves what is missing until `used` bytes are, in large pieces.
    fn reserve(&self, used: u64) -> Result<()> {
        let mut all = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let reserved = self.reserved_bytes.load(Ordering::Relaxed);
        if used > reserved {
            let piece = (used - reserved).max(PIECE_BYTES);
            all.push(self.budget.reserve("a query", piece)?);
            self.reserved_bytes.store(reserved + piece, Ordering::Relaxed);
        }
        Ok(())
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
        assert!(late.cancel().is_cancelled() && charge.cancel().is_cancelled());
        assert!(!Charge::new(limits, CancelFlag::default(), &Unlimited).cancel().is_cancelled());
    }
}
