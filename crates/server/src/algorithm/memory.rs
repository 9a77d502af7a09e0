//! Memory of one algorithm: a part of its database's, at most so much.

use evergraph_graph::budget::{Budget, OverBudget, Reservation};
use evergraph_graph::error::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A budget within another one.
pub(super) struct AlgorithmMemory<'a> {
    database: &'a dyn Budget,
    limit_bytes: u64,
    /// Relaxed: nothing is published by it.
    used_bytes: Arc<AtomicU64>,
}

impl<'a> AlgorithmMemory<'a> {
    /// At most `limit_bytes` of `database`.
    pub(super) fn new(database: &'a dyn Budget, limit_bytes: u64) -> Self {
        Self { database, limit_bytes, used_bytes: Arc::default() }
    }
}

impl Budget for AlgorithmMemory<'_> {
    fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation> {
        let used_bytes = self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        let used = Arc::clone(&self.used_bytes);
        // Counted out again when it ends, or is refused.
        let own = Reservation::new(bytes, move |bytes| {
            used.fetch_sub(bytes, Ordering::Relaxed);
        });
        if used_bytes.saturating_add(bytes) > self.limit_bytes {
            let (purpose, limit_bytes) = (purpose.to_owned(), self.limit_bytes);
            return Err(OverBudget { purpose, wanted_bytes: bytes, used_bytes, limit_bytes }.into());
        }
        let of_database = self.database.reserve(purpose, bytes)?;
        Ok(Reservation::new(bytes, move |_| drop((own, of_database))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::budget::Unlimited;

    #[test]
    fn memory_is_limited_and_given_back() {
        let memory = AlgorithmMemory::new(&Unlimited, 100);
        let first = memory.reserve("scores", 60).unwrap();
        assert!(memory.reserve("more", 41).is_err());
        let second = memory.reserve("more", 40).unwrap();
        drop(first);
        let third = memory.reserve("scores", 60).unwrap();
        assert_eq!((second.bytes(), third.bytes()), (40, 60));
    }
}
