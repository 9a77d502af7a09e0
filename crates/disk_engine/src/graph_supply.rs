//! Graph supply: the memory graph that follows the open one, opened ahead of the latch.
//!
//! ```text
//! open graph half full ──> the next one is opened, by the writer that finds it so; promises cover both
//! open graph full      ──> under the latch: taken, in O(1); without one the open graph goes on growing
//! ```
//!
//! Opening zeroes an eighth of the capacity, which is why nobody does it under the latch.
//!
//! Source: disk-engine, section 4; LSMGraph (SIGMOD 2024), section 3: two memory graphs in turn.

use crate::memory_graph::graph::{MemoryGraph, heap_bytes_of};
use crate::memory_graph::index_entries::IndexRecord;
use crate::memory_graph::promises::Promises;
use crate::memory_graph::reserved_memory::GRAPHS_PURPOSE;
use crate::memory_graph::sorted_commit::SortedCommit;
use evergraph_graph::budget::Budget;
use evergraph_graph::error::Result;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::Mutex;
use std::sync::Arc;

/// The part of the memory budget at which a graph is full.
const CAPACITY_DIVISOR: u64 = 8;
const CAPACITY_MIN: u64 = 16 << 20;
const CAPACITY_MAX: u64 = 256 << 20;
/// Bytes of a record in a graph, with its share of everything: an estimate for reservations ahead.
const RECORD_BYTES: u64 = 64;

/// The bytes at which a graph is full, of an engine with `budget`.
#[must_use]
pub fn graph_capacity(budget: &MemoryBudget) -> u64 {
    (budget.limit_bytes() / CAPACITY_DIVISOR).clamp(CAPACITY_MIN, CAPACITY_MAX)
}

/// Opens graphs of one engine, which share their promises.
///
/// # Concurrency
/// Any thread. The lock of `next` is held for an exchange, under the commit latch, too; that of `opening` while a
/// graph is opened, and never under the latch.
#[derive(Debug)]
pub struct GraphSupply {
    capacity_bytes: u64,
    promises: Arc<Promises>,
    budget: Arc<MemoryBudget>,
    next: Mutex<Option<MemoryGraph>>,
    opening: Mutex<()>,
}

impl GraphSupply {
    /// Of graphs that are full at `capacity_bytes` and reserve from `budget`.
    #[must_use]
    pub fn new(capacity_bytes: u64, budget: Arc<MemoryBudget>) -> Self {
        let (promises, next, opening) = (Promises::new(), Mutex::default(), Mutex::default());
        Self { capacity_bytes, promises, budget, next, opening }
    }

    /// Opens a graph.
    ///
    /// # Errors
    /// `limit` if the budget refuses its hash tables, or writers were promised more than it holds.
    pub fn open(&self) -> Result<MemoryGraph> {
        let ahead = self.budget.reserve(GRAPHS_PURPOSE, self.capacity_bytes / CAPACITY_DIVISOR)?;
        let graph = MemoryGraph::open(self.capacity_bytes, &self.promises)?;
        drop(ahead);
        graph.reserve(&*self.budget)?;
        Ok(graph)
    }

    /// Whether a commit that takes `bytes` is kept out of the open graph: one of more than 128 Ki records, or than fit in
    /// there.
    #[must_use]
    pub fn is_large(&self, commit: &SortedCommit, bytes: u64) -> bool {
        commit.is_large() || bytes > self.capacity_bytes.max(1 << 16)
    }

    /// About what a commit takes in a graph, values and entries of indexes included. Cost: a look at each entry.
    #[must_use]
    pub fn bytes_of(commit: &SortedCommit, index_records: &[IndexRecord]) -> u64 {
        commit.len() as u64 * RECORD_BYTES + heap_bytes_of(commit, index_records)
    }

    /// Opens the next graph if `open` is half full and there is none yet. Nobody waits for another who does. A refusal
    /// is no error: `open` grows on, and the next writer tries again.
    pub fn keep_ready(&self, open: &MemoryGraph) {
        if open.size().total_bytes() >= self.capacity_bytes / 2
            && self.next.lock().is_none()
            && let Some(_one) = self.opening.try_lock()
            && self.next.lock().is_none()
            && let Ok(graph) = self.open()
        {
            *self.next.lock() = Some(graph);
        }
    }

    /// Makes sure that there is a next graph now; a writer may take it at any time.
    ///
    /// # Errors
    /// As [`GraphSupply::open`].
    pub fn make_ready(&self) -> Result<()> {
        self.make_ready_by(Self::open)
    }

    /// The same beyond the limit of the budget: for who flushes the graph before it, which has more memory.
    ///
    /// # Errors
    /// As [`GraphSupply::open`], but for the budget.
    pub fn make_ready_in_place(&self) -> Result<()> {
        self.make_ready_by(|supply| {
            let graph = MemoryGraph::open(supply.capacity_bytes, &supply.promises)?;
            graph.reserve_anyway(&supply.budget);
            Ok(graph)
        })
    }

    fn make_ready_by(&self, open: impl FnOnce(&Self) -> Result<MemoryGraph>) -> Result<()> {
        let _one = self.opening.lock();
        if self.next.lock().is_none() {
            let graph = open(self)?;
            *self.next.lock() = Some(graph);
        }
        Ok(())
    }

    /// Takes the next graph, if there is one. Under the latch, too: O(1).
    #[must_use]
    pub fn take(&self) -> Option<MemoryGraph> {
        self.next.lock().take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;

    #[test]
    fn a_graph_takes_an_eighth_of_the_budget_within_bounds() {
        let capacity = |bytes| graph_capacity(&MemoryBudget::new(bytes));
        assert_eq!([64 << 20, 1 << 30, u64::MAX].map(capacity), [16 << 20, 128 << 20, 256 << 20]);
    }

    #[test]
    fn the_next_graph_is_opened_when_the_open_one_is_half_full_and_taken_once() {
        let budget = Arc::new(MemoryBudget::new(64 << 20));
        let supply = GraphSupply::new(16 << 20, Arc::clone(&budget));
        let open = supply.open().unwrap();
        supply.keep_ready(&open);
        assert!(supply.take().is_none(), "the open graph is empty");
        supply.make_ready().unwrap();
        supply.make_ready().unwrap();
        assert!(supply.take().is_some() && supply.take().is_none());
        let small = GraphSupply::new(0, Arc::clone(&budget));
        let open_small = small.open().unwrap();
        small.keep_ready(&open_small);
        assert!(small.take().is_some(), "a graph without capacity is full from the start");
        assert!(budget.used_bytes() >= open.size().total_bytes());
        drop((open, open_small, small, supply));
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn a_refusal_of_the_budget_is_a_limit() {
        let supply = GraphSupply::new(16 << 20, Arc::new(MemoryBudget::new(1 << 20)));
        assert_eq!(supply.open().unwrap_err().kind(), ErrorKind::Limit);
        assert!(supply.make_ready().is_err() && supply.take().is_none());
    }
}
