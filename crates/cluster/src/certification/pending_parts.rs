//! Pending parts: parts of large transactions that were sent ahead, until their transaction is decided.
//!
//! They are kept whole on every node, since a part says nothing of the partitions that the rest of it goes to, and
//! a checkpoint may lie between a part and its transaction. What they take is limited: a part beyond the limit is
//! dropped, on every node alike, and its transaction is incomplete.
//!
//! A clone shares the parts, and copies the table of them.
//!
//! Parts whose coordinator died wait until the floor passes them. Their bytes count towards the generation, so that it does:
//! nothing that is abandoned keeps later transactions out for long.

use crate::record::large_transaction::TRANSACTION_BYTES_MAX;
use crate::record::transaction_part::TransactionPart;
use crate::record_id::RecordId;
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// What a part takes beside its lists: its place in the table, at worst.
const PART_OVERHEAD_BYTES: usize = 400;

/// Bytes of parts that count as one slot of a generation. A transaction of the largest size takes less than six tenths of
/// a generation of the default size, so that its own parts do not make it too old.
const PART_SLOT_BYTES: usize = 32;

/// The slots of a generation that a part takes, whether it is kept or dropped.
#[must_use]
pub fn part_slots(part: &TransactionPart) -> u64 {
    (PART_OVERHEAD_BYTES + part.size_bytes()).div_ceil(PART_SLOT_BYTES) as u64
}

/// A part that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentPart {
    /// Where in the log it is.
    pub at: Timestamp,
    /// The part.
    pub part: TransactionPart,
}

impl SentPart {
    fn bytes(&self) -> usize {
        PART_OVERHEAD_BYTES + self.part.size_bytes()
    }
}

/// Parts that wait for their transactions.
#[derive(Clone, Debug, Default)]
pub struct PendingParts {
    /// By transaction and place.
    parts: BTreeMap<(RecordId, u16), Arc<SentPart>>,
    /// What the parts of each transaction take of [`TRANSACTION_BYTES_MAX`].
    sizes: BTreeMap<RecordId, usize>,
    bytes: usize,
}

impl PendingParts {
    /// Keeps the part in `place` of the transaction `of`, unless one is there; whether it does. All parts together
    /// take `bytes_max` at most, those of a transaction [`TRANSACTION_BYTES_MAX`].
    pub fn keep(&mut self, of: RecordId, place: u16, sent: SentPart, bytes_max: usize) -> bool {
        let bytes = sent.bytes();
        let size = self.sizes.get(&of).copied().unwrap_or(0) + sent.part.size_bytes();
        let is_too_large = size > TRANSACTION_BYTES_MAX;
        if self.parts.contains_key(&(of, place)) || is_too_large || self.bytes + bytes > bytes_max {
            return false;
        }
        self.parts.insert((of, place), Arc::new(sent));
        self.sizes.insert(of, size);
        self.bytes += bytes;
        true
    }

    /// The parts of `transaction`, which is decided now, by their place: none of them waits any more.
    pub fn take(&mut self, transaction: RecordId) -> Vec<(u16, TransactionPart)> {
        let places: Vec<u16> =
            self.parts.range(places_of(transaction)).map(|((_, place), _)| *place).collect();
        self.sizes.remove(&transaction);
        let mut taken = Vec::with_capacity(places.len());
        for place in places {
            if let Some(sent) = self.parts.remove(&(transaction, place)) {
                self.bytes -= sent.bytes();
                taken.push((place, Arc::unwrap_or_clone(sent).part));
            }
        }
        taken
    }

    /// Drops parts from before `floor`: their transactions began before, and are too old.
    pub fn forget_before(&mut self, floor: Timestamp) {
        self.parts.retain(|_, sent| sent.at >= floor);
        self.bytes = self.parts.values().map(|sent| sent.bytes()).sum();
        self.sizes.clear();
        for ((of, _), sent) in &self.parts {
            *self.sizes.entry(*of).or_default() += sent.part.size_bytes();
        }
    }

    /// Every part that waits, by ascending transaction and place.
    pub fn all(&self) -> impl ExactSizeIterator<Item = (RecordId, u16, &SentPart)> {
        self.parts.iter().map(|((of, place), sent)| (*of, *place, &**sent))
    }
}

fn places_of(transaction: RecordId) -> RangeInclusive<(RecordId, u16)> {
    (transaction, 0)..=(transaction, u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_hash::graph_salt::KeyHash;
    use crate::record_id::{Author, NodeId};

    #[test]
    fn parts_wait_within_their_limit_until_they_are_taken_or_too_old() {
        let id = |number| RecordId { author: Author { node: NodeId(1), incarnation: 1 }, number };
        let part = TransactionPart { checks: vec![KeyHash(1)], ..TransactionPart::default() };
        let sent = |at| SentPart { at: Timestamp(at), part: part.clone() };
        let size = sent(0).bytes();
        let mut parts = PendingParts::default();
        assert!(parts.keep(id(1), 0, sent(5), 2 * size));
        assert!(!parts.keep(id(1), 0, sent(6), 2 * size), "it is there");
        assert!(parts.keep(id(2), 0, sent(7), 2 * size));
        assert!(!parts.keep(id(2), 1, sent(8), 2 * size), "no room");
        assert_eq!((parts.take(id(1)), parts.bytes), (vec![(0, part.clone())], size));
        assert!(parts.take(id(1)).is_empty());
        assert!(parts.keep(id(2), 1, sent(8), 2 * size));
        parts.forget_before(Timestamp(8));
        let left: Vec<_> = parts.all().map(|(of, place, _)| (of, place)).collect();
        assert_eq!((left, parts.bytes), (vec![(id(2), 1)], size));
        let part_bytes = part.size_bytes();
        assert_eq!(parts.sizes, BTreeMap::from([(id(2), part_bytes)]), "the part that went doesn't count");
    }
}
