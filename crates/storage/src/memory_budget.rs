//! Memory budget: named reservations below one limit in bytes.
//!
//! Kernels, caches and records reserve before they allocate; what would pass the limit is refused
//! with `limit`, and the text says which purpose wanted how much, and how much is in use.

use crate::sync::Mutex;
use evergraph_graph::budget::{Budget, OverBudget, Reservation};
use evergraph_graph::error::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A limit in bytes, shared by everything that reserves from it. Clones share it.
///
/// Concurrency: one lock, held for a map look-up; reservations are few and large.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    limit_bytes: u64,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    total_bytes: u64,
    by_purpose: BTreeMap<Arc<str>, u64>,
}

impl MemoryBudget {
    /// A budget of `limit_bytes`; [`u64::MAX`] never refuses.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, held: Arc::default() }
    }

    /// The limit, in bytes.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Bytes reserved now.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.held.lock().total_bytes
    }

    /// Bytes reserved now for each purpose, by name.
    #[must_use]
    pub fn reservations(&self) -> Vec<(Arc<str>, u64)> {
        let held = self.held.lock();
        held.by_purpose.iter().map(|(purpose, bytes)| (Arc::clone(purpose), *bytes)).collect()
    }
}

impl Budget for MemoryBudget {
    fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation> {
        let mut held = self.held.lock();
        let total = held.total_bytes.checked_add(bytes).filter(|total| *total <= self.limit_bytes);
        let Some(total) = total else {
            let (used_bytes, limit_bytes) = (held.total_bytes, self.limit_bytes);
            let purpose = purpose.to_owned();
            return Err(OverBudget { purpose, wanted_bytes: bytes, used_bytes, limit_bytes }.into());
        };
        if bytes == 0 {
            // Not counted: the first of two to end would take the purpose's entry with it.
            return Ok(Reservation::new(0, |_| {}));
        }
        held.total_bytes = total;
        let purpose: Arc<str> = purpose.into();
        *held.by_purpose.entry(Arc::clone(&purpose)).or_default() += bytes;
        let home = Arc::clone(&self.held);
        Ok(Reservation::new(bytes, move |bytes| home.lock().release(&purpose, bytes)))
    }
}

impl Held {
    fn release(&mut self, purpose: &str, bytes: u64) {
        self.total_bytes -= bytes;
        let left = self.by_purpose.get_mut(purpose).expect("a reservation is counted until it ends");
        *left -= bytes;
        if *left == 0 {
            self.by_purpose.remove(purpose);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;

    #[test]
    fn what_would_pass_the_limit_is_refused_by_name_and_fits_after_a_release() {
        let budget = MemoryBudget::new(100);
        let scores = budget.reserve("pagerank scores", 70).unwrap();
        let error = budget.reserve("queue", 31).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Limit);
        for part in ["queue", "31", "100", "70"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        drop(scores);
        assert!(budget.reserve("queue", 100).is_ok());
        assert_eq!(budget.used_bytes(), 0);
    }

    /// Found by a search for rings in a graph whose edges were all fresh: the weights of its two projections took
    /// nothing, and the second to be dropped panicked.
    #[test]
    fn two_reservations_of_nothing_end_one_after_the_other() {
        let budget = MemoryBudget::new(0);
        let (a, b) = (budget.reserve("weights", 0).unwrap(), budget.reserve("weights", 0).unwrap());
        drop((a, b));
        assert_eq!(budget.reservations(), []);
    }

    #[test]
    fn reservations_are_counted_by_purpose_until_they_end() {
        let budget = MemoryBudget::new(u64::MAX);
        let (a, b) = (budget.reserve("cache", 5).unwrap(), budget.reserve("cache", 7).unwrap());
        assert_eq!(budget.reservations(), [("cache".into(), 12)]);
        drop(a);
        assert_eq!(budget.reservations(), [("cache".into(), 7)]);
        assert!(budget.reserve("too much", u64::MAX).is_err(), "the sum does not wrap around");
        drop(b);
        assert_eq!(budget.reservations(), []);
    }
}
