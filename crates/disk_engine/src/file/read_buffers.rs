//! Read buffers: memory for pages that readers of batches hold beside the cache.
//!
//! ```text
//! budget ── reserved once, when the engine opens ──> 8 MiB, at most a thirty-second of the limit
//!                                                      ├─ a round of 64 pages
//!                                                      └─ little is left: a shorter round, at least 8 pages
//! ```
//!
//! A round's pages may go from the cache while the round holds them, so they are counted apart. Reserving each round
//! by itself would take pages from a full cache for every batch; so rounds share what was reserved, and are shorter
//! where many readers meet. Beyond it each thread holds 8 pages at most, as many as are read at once.

use crate::format::file_name::PAGE_BYTES;
use evergraph_graph::budget::{Budget as _, Reservation};
use evergraph_graph::error::Result;
use evergraph_storage::io::pool::READERS;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::atomic::{AtomicUsize, Ordering};
use std::fmt;

/// What the memory of rounds is called in a budget.
pub const READ_BUFFERS_PURPOSE: &str = "page reads";

/// Pages of all rounds together, at most.
const PAGES_MAX: usize = 512;
/// The budget's part that they take at most.
const BUDGET_DIVISOR: u64 = 32;

/// Counts the pages of rounds.
///
/// # Concurrency
/// Any thread; nobody waits.
pub(super) struct ReadBuffers {
    /// Pages that nobody holds. Relaxed: no memory is published through it.
    free: AtomicUsize,
    reserved: Reservation,
}

impl fmt::Debug for ReadBuffers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ReadBuffers({} bytes)", self.reserved.bytes())
    }
}

/// Pages that a round may hold; given back when dropped.
#[derive(Debug)]
pub(super) struct RoundPages<'a> {
    buffers: &'a ReadBuffers,
    taken: usize,
    allowed: usize,
}

impl ReadBuffers {
    /// Reserves them.
    ///
    /// # Errors
    /// `limit` if the budget refuses.
    pub(super) fn reserve(budget: &MemoryBudget) -> Result<Self> {
        let pages = (budget.limit_bytes() / BUDGET_DIVISOR / PAGE_BYTES as u64).min(PAGES_MAX as u64);
        let reserved = budget.reserve(READ_BUFFERS_PURPOSE, pages * PAGE_BYTES as u64)?;
        Ok(Self { free: AtomicUsize::new(pages as usize), reserved })
    }

    /// As many pages as `wanted`, or what is left, or the few that are read at once.
    pub(super) fn take(&self, wanted: usize) -> RoundPages<'_> {
        let part = |free: usize| Some(free - wanted.min(free));
        // The closure never refuses.
        let before = self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, part).unwrap_or(0);
        let taken = wanted.min(before);
        RoundPages { buffers: self, taken, allowed: taken.max(READERS.min(wanted)) }
    }
}

impl RoundPages<'_> {
    /// How many pages may be held.
    pub(super) fn count(&self) -> usize {
        self.allowed
    }
}

impl Drop for RoundPages<'_> {
    fn drop(&mut self) {
        self.buffers.free.fetch_add(self.taken, Ordering::Relaxed);
    }
}

// Outside of schedules locks of shuttle and loom do not work.
#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;

    #[test]
    fn rounds_share_what_was_reserved_and_are_shorter_when_it_is_taken() {
        let budget = MemoryBudget::new(32 * 100 * PAGE_BYTES as u64);
        let buffers = ReadBuffers::reserve(&budget).unwrap();
        assert_eq!(budget.used_bytes(), 100 * PAGE_BYTES as u64);
        let (first, second, third) = (buffers.take(64), buffers.take(64), buffers.take(64));
        assert_eq!([&first, &second, &third].map(RoundPages::count), [64, 36, READERS]);
        drop(first);
        assert_eq!(buffers.take(3).count(), 3);
        drop((second, third));
        assert_eq!(buffers.take(1000).count(), 100, "all came back");
        drop(buffers);
        assert_eq!(budget.used_bytes(), 0);
        let unlimited = ReadBuffers::reserve(&MemoryBudget::new(u64::MAX)).unwrap();
        assert_eq!(unlimited.take(1000).count(), PAGES_MAX);
    }
}
