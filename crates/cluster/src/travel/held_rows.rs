//! Held rows: memory of the rows that one query keeps at one node, within its limit, in pieces of the node's budget.

use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind, Result};

/// Memory is taken from the node's budget in pieces of so many bytes.
const PIECE_BYTES: u64 = 1 << 20;

/// The rows that a query keeps, in bytes.
#[derive(Default)]
pub struct HeldRows {
    bytes: u64,
    limit_bytes: u64,
    reserved: Vec<Reservation>,
    reserved_bytes: u64,
}

impl HeldRows {
    /// None yet, of a query that may keep so many bytes.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, ..Self::default() }
    }

    /// Bytes that are kept.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts rows of so many bytes, which are kept from here on.
    ///
    /// # Errors
    /// `limit` past the query's memory, or the node's; then they are not counted.
    pub fn take(&mut self, bytes: u64, budget: &dyn Budget) -> Result<()> {
        let kept = self.bytes.saturating_add(bytes);
        if kept > self.limit_bytes {
            let text = format!(
                "rows of the query that travel between nodes need more than its {} of memory on a node: narrow it, or raise the \
                 limit",
                ByteSize(self.limit_bytes)
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        if kept > self.reserved_bytes {
            let piece = (kept - self.reserved_bytes).max(PIECE_BYTES);
            self.reserved.push(budget.reserve("rows of queries that travel", piece)?);
            self.reserved_bytes += piece;
        }
        self.bytes = kept;
        Ok(())
    }

    /// Rows of so many bytes are kept no more.
    pub fn give_back(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        while let Some(last) = self.reserved.last().map(Reservation::bytes)
            && self.reserved_bytes - last >= self.bytes
        {
            self.reserved.pop();
            self.reserved_bytes -= last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::memory_budget::MemoryBudget;

    const MIB: u64 = 1 << 20;

    #[test]
    fn memory_is_reserved_in_pieces_and_given_back_with_the_rows() {
        let budget = MemoryBudget::new(8 * MIB);
        let mut held = HeldRows::new(100 * MIB);
        held.take(5, &budget).unwrap();
        held.take(MIB - 5, &budget).unwrap();
        assert_eq!((held.bytes(), budget.used_bytes()), (MIB, MIB));
        held.take(5 * MIB, &budget).unwrap();
        held.take(1, &budget).unwrap();
        assert_eq!(budget.used_bytes(), 7 * MIB);
        let over = held.take(3 * MIB, &budget).unwrap_err();
        assert!(
            over.kind() == ErrorKind::Limit && over.to_string().contains("rows of queries that travel"),
            "{over}"
        );
        assert_eq!(
            (held.bytes(), budget.used_bytes()),
            (6 * MIB + 1, 7 * MIB),
            "what is refused is not counted"
        );
        held.give_back(1);
        assert_eq!(budget.used_bytes(), 6 * MIB);
        held.give_back(5 * MIB);
        assert_eq!((held.bytes(), budget.used_bytes()), (MIB, MIB));
        held.give_back(MIB);
        assert_eq!((held.bytes(), budget.used_bytes()), (0, 0));
        held.take(1, &budget).unwrap();
        drop(held);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn a_query_keeps_no_more_than_its_own_memory() {
        let budget = MemoryBudget::new(u64::MAX);
        let mut held = HeldRows::new(10);
        held.take(10, &budget).unwrap();
        let over = held.take(1, &budget).unwrap_err();
        assert!(
            over.kind() == ErrorKind::Limit && over.to_string().contains("10 bytes of memory on a node"),
            "{over}"
        );
    }
}
