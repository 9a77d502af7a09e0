//! Read buffers: memory for pages that readers of batches hold beside the cache.
//!
//! ```text
//! budget ── reserved once, when the engine opens ──> twice 8 MiB, at most a sixteenth of the limit
//!                                                      ├─ a round of 64 pages
//!                                                      └─ little is left: a shorter round, at least 8 pages
//! ```
//!
//! A round's pages may go from the cache while the round holds them, so they are counted apart. Reserving each round
//! by itself would take pages from a full cache for every batch; so rounds share what was reserved, and are shorter
//! where many readers meet. Beyond it each thread holds 8 pages at most, as many as are read at once.
//!
//! The buffers that pages are read into are kept and used again, up to as many pages more. Allocated and freed
//! between the pages that stay, each would leave a hole that the next one, aligned, doesn't fit into: memory that nobody
//! counts.

use crate::format::file_name::PAGE_BYTES;
use evergraph_graph::budget::{Budget as _, Reservation};
use evergraph_graph::error::Result;
use evergraph_storage::io::page::AlignedBuffer;
use evergraph_storage::io::pool::READERS;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicUsize, Ordering};
use std::fmt;

/// What the memory of rounds is called in a budget.
pub const READ_BUFFERS_PURPOSE: &str = "read buffers";

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
    /// Buffers of a page, to be used again. A leaf among locks.
    idle: Mutex<Vec<AlignedBuffer>>,
    idle_max: usize,
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
        let reserved = budget.reserve(READ_BUFFERS_PURPOSE, 2 * pages * PAGE_BYTES as u64)?;
        let (free, idle) = (AtomicUsize::new(pages as usize), Mutex::default());
        Ok(Self { free, idle, idle_max: pages as usize, reserved })
    }

    /// A buffer for a page, with any content.
    pub(super) fn buffer(&self) -> AlignedBuffer {
        let idle = self.idle.lock().pop();
        idle.unwrap_or_else(|| AlignedBuffer::zeroed(PAGE_BYTES))
    }

    /// Keeps a buffer of a page for the next read, or frees it if enough are kept.
    pub(super) fn give_back(&self, buffer: AlignedBuffer) {
        let mut idle = self.idle.lock();
        if idle.len() < self.idle_max {
            idle.push(buffer);
        }
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
        assert_eq!(budget.used_bytes(), 200 * PAGE_BYTES as u64);
        let (first, second, third) = (buffers.take(64), buffers.take(64), buffers.take(64));
        assert_eq!([&first, &second, &third].map(RoundPages::count), [64, 36, READERS]);
        drop(first);
        assert_eq!(buffers.take(3).count(), 3);
        drop((second, third));
        assert_eq!(buffers.take(1000).count(), 100, "all came back");
        let read: Vec<_> = (0..120).map(|_| buffers.buffer()).collect();
        read.into_iter().for_each(|buffer| buffers.give_back(buffer));
        assert_eq!(buffers.idle.lock().len(), 100, "no more are kept than were reserved");
        drop(buffers);
        assert_eq!(budget.used_bytes(), 0);
        let unlimited = ReadBuffers::reserve(&MemoryBudget::new(u64::MAX)).unwrap();
        assert_eq!(unlimited.take(1000).count(), PAGES_MAX);
    }
}
