//! Answer memory: what the results of one request take that are kept until they can be sent.
//!
//! ```text
//! a write         chunks, until it is committed ──┐
//! Arrow           rows, and the table of them ────┼── together at most the memory of a query, and reserved from the budget
//! GraphBinary     the message ────────────────────┘   of the database beside everything else
//! ```
//!
//! What is given back stays reserved until the answer ends, or until [`AnswerMemory::give_back_spare`]. So a write reserves
//! before its commit what its answer takes afterwards, and no commit is followed by a refusal.

use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory is reserved in pieces, each as large as all before, from the first
const FIRST_PIECE_BYTES: u64 = 1 << 16;
/// to the largest.
const PIECE_BYTES: u64 = 1 << 20;

/// Memory for the kept results of one request.
///
/// Concurrency: one lock, in which the budget's is taken. The request runs on one thread at a time, so nobody waits for it.
pub struct AnswerMemory {
    budget: Arc<dyn Budget>,
    limit_bytes: u64,
    held: Mutex<HeldMemory>,
}

#[derive(Default)]
struct HeldMemory {
    used_bytes: u64,
    reserved_bytes: u64,
    reservations: Vec<Reservation>,
}

/// What results are kept for, and what a client can do about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptPurpose {
    /// Its name among the uses of a database's memory.
    pub name: &'static str,
    /// The results, and why they are kept.
    pub results: &'static str,
    /// What to do if they take too much.
    pub advice: &'static str,
}

/// Bytes of kept results, which are free again when this is dropped.
pub struct KeptBytes {
    memory: Arc<AnswerMemory>,
    purpose: KeptPurpose,
    bytes: u64,
}

impl AnswerMemory {
    /// At most `limit_bytes` of `budget`.
    #[must_use]
    pub fn new(budget: Arc<dyn Budget>, limit_bytes: u64) -> Arc<Self> {
        Arc::new(Self { budget, limit_bytes, held: Mutex::default() })
    }

    /// Bytes that the answer may take.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Bytes that are reserved for it.
    #[must_use]
    pub fn reserved_bytes(&self) -> u64 {
        self.held().reserved_bytes
    }

    /// Nothing yet, for `purpose`.
    #[must_use]
    pub fn keep(self: &Arc<Self>, purpose: KeptPurpose) -> KeptBytes {
        KeptBytes { memory: Arc::clone(self), purpose, bytes: 0 }
    }

    /// Ends reservations that nothing is kept in.
    pub fn give_back_spare(&self) {
        let mut guard = self.held();
        let held = &mut *guard;
        while let Some(bytes) = held.reservations.last().map(Reservation::bytes)
            && held.reserved_bytes - bytes >= held.used_bytes
        {
            held.reserved_bytes -= bytes;
            drop(held.reservations.pop());
        }
    }

    fn take(&self, purpose: KeptPurpose, bytes: u64) -> Result<()> {
        let mut held = self.held();
        let used_bytes = held.used_bytes.saturating_add(bytes);
        if used_bytes > self.limit_bytes {
            return Err(self.too_much(purpose));
        }
        if used_bytes > held.reserved_bytes && !planted(Bug::KeptAnswersUncounted) {
            let reserved_bytes = held.reserved_bytes;
            let piece =
                (used_bytes - reserved_bytes).max(reserved_bytes.clamp(FIRST_PIECE_BYTES, PIECE_BYTES));
            let reservation = self.budget.reserve(purpose.name, piece)?;
            held.reservations.push(reservation);
            held.reserved_bytes += piece;
        }
        held.used_bytes = used_bytes;
        Ok(())
    }

    fn give_back(&self, bytes: u64) {
        self.held().used_bytes -= bytes;
    }

    fn too_much(&self, purpose: KeptPurpose) -> Error {
        let KeptPurpose { results, advice, .. } = purpose;
        let limit = ByteSize(self.limit_bytes);
        let text = format!("{results}, and these take more than the {limit} of memory of a query: {advice}");
        Error::new(ErrorKind::Limit, text)
    }

    fn held(&self) -> MutexGuard<'_, HeldMemory> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptBytes {
    /// Counts `bytes` more.
    ///
    /// # Errors
    /// `limit` if they pass the memory of a query, or what is left of that of the database. Nothing is counted then.
    pub fn add(&mut self, bytes: u64) -> Result<()> {
        self.memory.take(self.purpose, bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Gives all beyond `bytes` back, also to others.
    pub fn shrink_to(&mut self, bytes: u64) {
        let freed = self.bytes.saturating_sub(bytes);
        self.bytes -= freed;
        self.memory.give_back(freed);
        self.memory.give_back_spare();
    }

    /// Bytes that are counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The error that they pass the memory of a query.
    #[must_use]
    pub fn too_much(&self) -> Error {
        self.memory.too_much(self.purpose)
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        self.memory.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::memory_budget::MemoryBudget;

    const ROWS: KeptPurpose = KeptPurpose { name: "rows", results: "rows are kept", advice: "ask for fewer" };

    #[test]
    fn what_is_kept_is_limited_by_the_query_and_by_the_database() {
        let budget = Arc::new(MemoryBudget::new(10 << 20));
        let memory = |limit_bytes| {
            let shared = Arc::clone(&budget);
            AnswerMemory::new(shared, limit_bytes)
        };
        let (mine, other) = (memory(6 << 20), memory(6 << 20));
        let mut rows = mine.keep(ROWS);
        rows.add(5 << 20).unwrap();
        let error = rows.add(2 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        for part in ["rows are kept", "6.0 MiB", "ask for fewer"] {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
        assert_eq!((rows.bytes(), budget.used_bytes()), (5 << 20, 5 << 20));
        let mut others = other.keep(ROWS);
        let error = others.add(6 << 20).unwrap_err();
        assert!(error.kind() == ErrorKind::Limit && error.to_string().contains("memory budget"), "{error}");
        drop((rows, mine));
        assert_eq!(budget.used_bytes(), 0);
        others.add(6 << 20).unwrap();
        let mut small = other.keep(ROWS);
        assert!(small.add(1).is_err(), "both count for one query");
        others.shrink_to(0);
        assert_eq!(other.reserved_bytes(), 0);
        small.add(1).unwrap();
        assert_eq!(budget.used_bytes(), FIRST_PIECE_BYTES);
    }

    #[test]
    fn what_was_given_back_is_there_for_the_same_answer_whatever_others_take() {
        let budget = Arc::new(MemoryBudget::new(8 << 20));
        let shared = Arc::clone(&budget);
        let memory = AnswerMemory::new(shared, u64::MAX);
        let mut trial = memory.keep(ROWS);
        trial.add(4 << 20).unwrap();
        let others = budget.reserve("others", 4 << 20).unwrap();
        drop(trial);
        let mut answer = memory.keep(ROWS);
        answer.add(4 << 20).unwrap();
        assert!(answer.add(1).is_err());
        answer.shrink_to(0);
        assert_eq!(budget.used_bytes(), others.bytes());
    }
}
