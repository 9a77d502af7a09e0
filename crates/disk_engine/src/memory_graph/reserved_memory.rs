//! Reserved memory: what a memory graph holds of the memory budget, as long as anybody holds the graph.
//!
//! A graph grows by chunks that writers allocate ahead of the latch; they reserve ahead of it, too, some more at a time
//! than they need, so that most commits look at two numbers. What is reserved ends with the graph, wherever its last
//! reader drops it.
//!
//! Source: disk-engine, section 7 (named memory: graphs, by chunk).

use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::error::Result;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::fmt;

/// What memory graphs are called in a budget.
pub const GRAPHS_PURPOSE: &str = "memory graphs";

/// Reservations of one graph.
///
/// # Concurrency
/// Any thread reserves, ahead of the latch: a cache may have to shrink for it. One at a time does; the others wait and
/// find it done.
#[derive(Default)]
pub(super) struct ReservedMemory {
    held: Mutex<Vec<Reservation>>,
    /// The sum of `held`. Relaxed: who reads too little takes the lock and looks again.
    bytes: AtomicU64,
}

impl ReservedMemory {
    /// Reserves until `bytes` are held, `step` at least if it reserves at all.
    ///
    /// # Errors
    /// `limit`: then nothing more is held.
    pub(super) fn reserve(&self, budget: &dyn Budget, bytes: u64, step: u64) -> Result<()> {
        if bytes <= self.bytes.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut held = self.held.lock();
        let before = self.bytes.load(Ordering::Relaxed);
        let missing = bytes.saturating_sub(before);
        if missing > 0 {
            let more = missing.max(step);
            held.push(budget.reserve(GRAPHS_PURPOSE, more)?);
            self.bytes.store(before + more, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The same, of just `bytes`, beyond the limit if they do not fit.
    pub(super) fn reserve_anyway(&self, budget: &MemoryBudget, bytes: u64) {
        let mut held = self.held.lock();
        let before = self.bytes.load(Ordering::Relaxed);
        if bytes > before {
            held.push(budget.reserve_anyway(GRAPHS_PURPOSE, bytes - before));
            self.bytes.store(bytes, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for ReservedMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ReservedMemory({} bytes)", self.bytes.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_graph_outgrows_is_reserved_in_steps_and_given_back_with_it() {
        let budget = MemoryBudget::new(100);
        let memory = ReservedMemory::default();
        memory.reserve(&budget, 10, 30).unwrap();
        memory.reserve(&budget, 30, 30).unwrap();
        assert_eq!(budget.reservations(), [(GRAPHS_PURPOSE.into(), 30)]);
        memory.reserve(&budget, 90, 30).unwrap();
        assert!(memory.reserve(&budget, 91, 30).is_err());
        assert_eq!(budget.reservations(), [(GRAPHS_PURPOSE.into(), 90)]);
        drop(memory);
        assert_eq!(budget.reservations(), []);
    }
}
