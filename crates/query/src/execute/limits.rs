//! Limits of one query: time, memory, cancellation.
//!
//! ```text
//! who                                     counts                                as long as
//! the pipeline                            every batch that a step makes         it waits before the next step
//! `PendingBatches`, `CountedPortions`     batches that a barrier keeps          it keeps them
//! `GrowingShare`                          items that a step makes row by row    the step is at work on its batch
//! `ResultBudget`                          what one function is about to make    it is asked before, and counted by the above
//! `hold`                                  what a step keeps otherwise           until `free`, or to the end of the query
//! ```
//!
//! So rows, texts and collections are counted where they come to be, and what could be much larger than what it is made of
//! is asked for before: a bulk that becomes rows, a text whose parts are replaced, all pairs of two lists.

use crate::error::StopReason;
use crate::value::combine::Combine;
use crate::value::item::Item;
use crate::value::result_budget::{ResultBudget, over};
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::count::Count;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::wait_limit::{WaitLimit, WaitScope};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Memory is taken from the database's budget in pieces, each as large as all before, from the first
const FIRST_PIECE_BYTES: u64 = 1 << 16;
/// to the largest.
const PIECE_BYTES: u64 = 1 << 20;

/// Batches of all steps that have as many rows as first batches.
const FIRST_BATCHES: u32 = 64;

/// How long a query may take, how much memory, and how many results it may have.
#[derive(Clone, Copy, Debug)]
pub struct QueryLimits {
    /// From its start until its last result is fetched; [`Duration::MAX`] for no limit.
    pub timeout: Duration,
    /// Of what it holds at once beside the graph: rows, texts and collections that it makes, groups, paths, results that
    /// are collected, writes. Without a limit of its own it has that of the database.
    pub memory_bytes: u64,
    /// Results that whoever runs it gets at most; [`u64::MAX`] for no limit. The last of so many still comes.
    pub result_rows: u64,
    /// Bytes of all results that whoever runs it gets, as they lie in memory; [`u64::MAX`] for no limit.
    pub result_bytes: u64,
    /// Rows of a batch, at least one. Answers don't depend on it.
    pub batch_rows: usize,
    /// Rows of its first batches, if these are fewer: whoever fetches few results, or stops soon, has few computed in vain.
    /// Many small batches would cost a query that runs for long up to three times its time.
    pub first_batch_rows: usize,
    /// Threads that a heavy step may run on, of the pool that the query runs in; a short query runs on one.
    pub threads: usize,
}

impl Default for QueryLimits {
    /// A minute, a gibibyte, any results, batches of 1,024 rows, all threads.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            memory_bytes: 1 << 30,
            result_rows: u64::MAX,
            result_bytes: u64::MAX,
            batch_rows: 1024,
            first_batch_rows: usize::MAX,
            threads: usize::MAX,
        }
    }
}

/// Counts the results of a query as they are given to whoever runs it.
#[derive(Clone, Copy, Debug)]
pub struct ResultMeter {
    limits: QueryLimits,
    rows: u64,
    bytes: u64,
}

impl ResultMeter {
    /// Nothing given yet, within `limits`.
    #[must_use]
    pub fn new(limits: QueryLimits) -> Self {
        Self { limits, rows: 0, bytes: 0 }
    }

    /// Counts `times` results that are `item`.
    ///
    /// # Errors
    /// `limit`, naming the limit, if these are too many.
    pub fn count(&mut self, item: &Item, times: u64) -> Result<()> {
        let QueryLimits { result_rows, result_bytes, .. } = self.limits;
        self.rows = self.rows.saturating_add(times);
        if self.rows > result_rows {
            let text = format!(
                "the query has more results than its limit `result_rows` of {}: use limit(), narrow it, or raise the limit",
                Count(result_rows)
            );
            return Err(Error::new(ErrorKind::Limit, text).because(StopReason::ResultRows));
        }
        // The bytes of a result are counted by visiting it.
        if result_bytes < u64::MAX {
            let bytes = (size_of::<Item>() + item.heap_bytes()) as u64;
            self.bytes = self.bytes.saturating_add(bytes.saturating_mul(times));
        }
        if self.bytes > result_bytes {
            let text = format!(
                "the results of the query are larger than its limit `result_bytes` of {}: use limit(), narrow it, or raise \
                 the limit",
                ByteSize(result_bytes)
            );
            return Err(Error::new(ErrorKind::Limit, text).because(StopReason::ResultBytes));
        }
        Ok(())
    }
}

/// The budget that a query takes its memory from.
#[derive(Clone)]
pub enum QueryBudget<'a> {
    /// The budget of somebody else, who keeps it alive.
    Borrowed(&'a dyn Budget),
    /// A budget that the query keeps alive.
    Shared(Arc<dyn Budget>),
}

impl QueryBudget<'_> {
    fn get(&self) -> &dyn Budget {
        match self {
            Self::Borrowed(budget) => *budget,
            Self::Shared(budget) => &**budget,
        }
    }
}

/// The limits of a query that runs. Copies count together: each thread of a query has one.
#[derive(Clone)]
pub struct Charge<'a> {
    started: Instant,
    limits: QueryLimits,
    cancel: CancelFlag,
    held: Arc<MemoryUse<'a>>,
}

/// The memory of a query.
struct MemoryUse<'a> {
    budget: QueryBudget<'a>,
    /// What its steps hold. Relaxed: it publishes nothing but itself.
    used_bytes: Arc<AtomicU64>,
    /// What is reserved for them. Relaxed, and changed only with the lock below.
    reserved_bytes: AtomicU64,
    reserved: Mutex<Vec<Reservation>>,
    /// First batches that were begun. Relaxed: a hint.
    first_batches: AtomicU32,
}

impl<'a> Charge<'a> {
    /// The limits of a query that begins now and takes its memory from `budget`.
    #[must_use]
    pub fn new(limits: QueryLimits, cancel: CancelFlag, budget: &'a dyn Budget) -> Self {
        Self::with_budget(limits, cancel, QueryBudget::Borrowed(budget))
    }

    /// The same with a budget that may be shared.
    #[must_use]
    pub fn with_budget(limits: QueryLimits, cancel: CancelFlag, budget: QueryBudget<'a>) -> Self {
        let held = MemoryUse {
            budget,
            used_bytes: Arc::default(),
            reserved_bytes: AtomicU64::new(0),
            reserved: Mutex::new(Vec::new()),
            first_batches: AtomicU32::new(0),
        };
        Self { started: Instant::now(), limits, cancel, held: Arc::new(held) }
    }

    /// The same limits with nothing counted yet: for what is done after the query has ended, within its time.
    #[must_use]
    pub fn renewed(&self) -> Self {
        let charge = Self::with_budget(self.limits, self.cancel.clone(), self.held.budget.clone());
        charge.since(self.started)
    }

    /// The same, for a query that began at `started`.
    #[must_use]
    pub fn since(self, started: Instant) -> Self {
        Self { started, ..self }
    }

    /// Reduces the time to `timeout`, if that is shorter.
    pub fn shorten(&mut self, timeout: Duration) {
        self.limits.timeout = self.limits.timeout.min(timeout);
    }

    /// Returns an error if the time is over or the query was cancelled.
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
        Err(Error::new(ErrorKind::Limit, text).because(StopReason::Timeout))
    }

    /// The flag that stops long work within a step: set by the caller, or at the end of the time.
    #[must_use]
    pub fn cancel(&self) -> CancelFlag {
        match self.started.checked_add(self.limits.timeout) {
            Some(deadline) => self.cancel.until(deadline),
            None => self.cancel.clone(),
        }
    }

    /// Ends waits of this thread with the query, in views whose graph lies on other machines: as long as the scope is there.
    pub fn limit_waits(&self) -> WaitScope {
        WaitLimit::of_thread().and(self.cancel()).enter()
    }

    /// What was done; if a wait was ended, why.
    ///
    /// # Errors
    /// The error of `done`; `limit` in place of `cancelled`, if the query's time is over.
    pub fn explained<T>(&self, done: Result<T>) -> Result<T> {
        match done {
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(self.check().err().unwrap_or(error)),
            done => done,
        }
    }

    /// Counts `bytes` that a step is about to use.
    ///
    /// # Errors
    /// `limit` past the query's memory, or the database's budget.
    pub fn hold(&mut self, bytes: usize) -> Result<()> {
        let bytes = bytes as u64;
        let before = self.held.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        let used = before.saturating_add(bytes);
        // No allocation is larger than that, whatever anybody allows.
        if used > self.limits.memory_bytes || used > isize::MAX as u64 {
            self.held.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(over(self.limits.memory_bytes));
        }
        if used > self.held.reserved_bytes.load(Ordering::Relaxed)
            && let Err(error) = self.held.reserve(used)
        {
            self.held.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(error);
        }
        Ok(())
    }

    /// As [`Charge::hold`], for as long as the holding is there.
    ///
    /// # Errors
    /// As [`Charge::hold`].
    pub fn holding(&mut self, bytes: usize) -> Result<MemoryShare> {
        if bytes == 0 {
            return Ok(MemoryShare::default());
        }
        self.hold(bytes)?;
        Ok(MemoryShare { used: Some(Arc::clone(&self.held.used_bytes)), bytes: bytes as u64 })
    }

    /// How much memory one more result may take.
    #[must_use]
    pub fn room(&self) -> ResultBudget {
        let limit_bytes = self.limits.memory_bytes;
        ResultBudget {
            bytes: limit_bytes.saturating_sub(self.held.used_bytes.load(Ordering::Relaxed)),
            limit_bytes,
        }
    }

    /// What `how` makes of `left` and so many times `right`.
    ///
    /// # Errors
    /// Errors of the operator; `limit` past the query's memory or time; `cancelled`.
    pub fn combined(&self, how: Combine, left: Item, right: Item, times: u64) -> Result<Item> {
        how.of_times(left, right, times, self.room(), &mut || self.check())
    }

    /// Puts `times` of `item` behind `items`, all counted before: they may be far more than there is memory for.
    ///
    /// # Errors
    /// `limit` past the query's memory, or that of the machine.
    pub fn repeat(&mut self, items: &mut Vec<Item>, item: Item, times: u64) -> Result<MemoryShare> {
        let count = usize::try_from(times).unwrap_or(usize::MAX);
        let holding = self.holding(count.saturating_mul(size_of::<Item>() + item.copied_bytes()))?;
        if count > 1 {
            items.try_reserve(count).map_err(|_| over(self.limits.memory_bytes))?;
        }
        items.extend(std::iter::repeat_n(item, count));
        Ok(holding)
    }

    /// Subtracts bytes that [`Charge::hold`] counted. The reservation stays for the rest of the query.
    pub fn free(&mut self, bytes: usize) {
        let less = |used: u64| Some(used.saturating_sub(bytes as u64));
        let _ = self.held.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// The limits that it counts by.
    #[must_use]
    pub fn limits(&self) -> QueryLimits {
        self.limits
    }

    /// Rows of the batch that a step begins.
    #[must_use]
    pub fn batch_rows(&self) -> usize {
        let (rows, first_rows) = (self.limits.batch_rows.max(1), self.limits.first_batch_rows.max(1));
        let begun = &self.held.first_batches;
        if first_rows >= rows || begun.load(Ordering::Relaxed) >= FIRST_BATCHES {
            return rows;
        }
        begun.fetch_add(1, Ordering::Relaxed);
        first_rows
    }

    /// Threads that a heavy step may run on.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.limits.threads.clamp(1, rayon::current_num_threads())
    }
}

impl Budget for Charge<'_> {
    /// What is reserved counts as the query's until the reservation ends; `limit` past its memory.
    fn reserve(&self, _purpose: &str, bytes: u64) -> Result<Reservation> {
        let held = self.clone().holding(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        Ok(Reservation::new(bytes, move |_| drop(held)))
    }
}

/// Memory of a query that is counted as long as this is there.
#[derive(Default)]
pub struct MemoryShare {
    used: Option<Arc<AtomicU64>>,
    bytes: u64,
}

impl MemoryShare {
    /// Bytes that are counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts what `more` does, too, as long as this is there.
    pub fn join(&mut self, mut more: Self) {
        self.bytes += std::mem::take(&mut more.bytes);
        if self.used.is_none() {
            self.used = more.used.take();
        }
    }

    /// Counts it to the end of the query.
    pub fn forget(mut self) {
        self.used = None;
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        if let Some(used) = &self.used {
            used.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// What a step does row by row, so that it looks at the clock now and then.
#[derive(Default)]
pub struct WorkMeter {
    bytes: usize,
    rows: u32,
}

impl WorkMeter {
    /// The clock is looked at after work on so many bytes,
    const PIECE: usize = 1 << 16;
    /// or after so many rows.
    const ROWS: u32 = 16;

    /// Counts a row, for which something of `bytes` is looked at.
    ///
    /// # Errors
    /// `limit` past the query's time; `cancelled`.
    pub fn add(&mut self, bytes: usize, charge: &Charge<'_>) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.rows += 1;
        if self.bytes < Self::PIECE && self.rows < Self::ROWS {
            return Ok(());
        }
        *self = Self::default();
        charge.check()
    }
}

/// Items that a step makes row by row, counted while it does: what it makes of one batch is then counted as a whole.
#[derive(Default)]
pub struct GrowingShare {
    holding: MemoryShare,
    /// What isn't counted yet.
    pending: usize,
    work: WorkMeter,
}

impl GrowingShare {
    /// So many bytes are counted at once.
    const PIECE: usize = 1 << 16;

    /// Counts an item that was made.
    ///
    /// # Errors
    /// `limit` past the query's memory or time; `cancelled`.
    pub fn add(&mut self, item: &Item, charge: &mut Charge<'_>) -> Result<()> {
        self.add_bytes(size_of::<Item>().saturating_add(item.heap_bytes()), charge)
    }

    /// Counts `bytes`.
    ///
    /// # Errors
    /// As [`GrowingShare::add`].
    pub fn add_bytes(&mut self, bytes: usize, charge: &mut Charge<'_>) -> Result<()> {
        self.work.add(bytes, charge)?;
        self.pending = self.pending.saturating_add(bytes);
        if self.pending >= Self::PIECE {
            self.holding.join(charge.holding(std::mem::take(&mut self.pending))?);
        }
        Ok(())
    }

    /// All of `made`, each counted before the next is made.
    ///
    /// # Errors
    /// As [`GrowingShare::add`], and the first of `made`.
    pub fn all(
        made: impl Iterator<Item = Result<Option<Item>>>,
        charge: &mut Charge<'_>,
    ) -> Result<Vec<Option<Item>>> {
        let (mut growth, mut all) = (Self::default(), Vec::with_capacity(made.size_hint().0));
        for item in made {
            let item = item?;
            match &item {
                Some(item) => growth.add(item, charge)?,
                None => growth.add_bytes(0, charge)?,
            }
            all.push(item);
        }
        Ok(all)
    }
}

impl MemoryUse<'_> {
    /// Reserves what is missing until `used` bytes are, in large pieces.
    fn reserve(&self, used: u64) -> Result<()> {
        let mut all = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let reserved = self.reserved_bytes.load(Ordering::Relaxed);
        if used > reserved {
            let piece = (used - reserved).max(reserved.clamp(FIRST_PIECE_BYTES, PIECE_BYTES));
            all.push(self.budget.get().reserve("a query", piece)?);
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
    fn a_number_of_copies_is_counted_before_they_are_made() {
        let limits = QueryLimits { memory_bytes: 1 << 20, ..QueryLimits::default() };
        let mut charge = Charge::new(limits, CancelFlag::default(), &Unlimited);
        let mut items = Vec::new();
        let held = charge.repeat(&mut items, Item::from(1), 3).unwrap();
        assert_eq!((items.len(), held.bytes()), (3, 72));
        for times in [1 << 20, u64::MAX] {
            assert_eq!(
                charge.repeat(&mut items, Item::from(1), times).err().map(|error| error.kind()),
                Some(ErrorKind::Limit)
            );
        }
        // Nor where there is no limit: no machine has as much.
        let limits = QueryLimits { memory_bytes: u64::MAX, ..limits };
        let mut charge = Charge::new(limits, CancelFlag::default(), &Unlimited);
        for times in [1 << 50, u64::MAX] {
            assert_eq!(
                charge.repeat(&mut items, Item::from(1), times).err().map(|error| error.kind()),
                Some(ErrorKind::Limit)
            );
        }
        assert_eq!(items.len(), 3);
    }

    #[test]
    fn the_first_batches_may_have_fewer_rows_than_others() {
        let rows = |limits| {
            let charge = Charge::new(limits, CancelFlag::default(), &Unlimited);
            // Copies count together.
            (0..100).map(|_| charge.clone().batch_rows()).collect::<Vec<_>>()
        };
        assert_eq!(rows(QueryLimits::default()), [1024; 100]);
        let limits = QueryLimits { batch_rows: 256, first_batch_rows: 64, ..QueryLimits::default() };
        assert_eq!(rows(limits), [[64; 64].as_slice(), &[256; 36]].concat());
        assert_eq!(rows(QueryLimits { first_batch_rows: 1000, ..limits }), [256; 100]);
    }

    #[test]
    fn what_grows_is_counted_as_it_does_and_looks_at_the_clock() {
        let limits = QueryLimits { memory_bytes: 1 << 20, ..QueryLimits::default() };
        let mut charge = Charge::new(limits, CancelFlag::default(), &Unlimited);
        let text = || Ok(Some(Item::from("x".repeat(1 << 14))));
        let all = GrowingShare::all(std::iter::repeat_with(text).take(32), &mut charge).unwrap();
        assert!(all.len() == 32 && charge.room().bytes == 1 << 20);
        let mut made = 0;
        let many = std::iter::repeat_with(|| {
            made += 1;
            text()
        });
        assert_eq!(GrowingShare::all(many.take(1000), &mut charge).unwrap_err().kind(), ErrorKind::Limit);
        assert!(made < 70, "{made}");
        charge.shorten(Duration::ZERO);
        std::thread::sleep(Duration::from_millis(1));
        let error =
            GrowingShare::all(std::iter::repeat_with(|| Ok(None)).take(1000), &mut charge).unwrap_err();
        assert!(error.to_string().contains("timeout"), "{error}");
    }

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
