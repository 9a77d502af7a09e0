//! Large transaction: one that has no room in a message is sent in parts, the last of which commits it.
//!
//! ```text
//! checks ranges touches entered payloads  ──cut──>  part 0, part 1, ...   ahead, in any message
//!                                                   last part             in the transaction's record
//! ```
//!
//! Lists are cut between their items, payloads anywhere: a node puts the pieces of each destination together, in the
//! order of the parts. The log may reorder messages that are under way at once, so the record is sent when all parts
//! were acknowledged.

use crate::record::message::RECORD_BYTES_MAX;
use crate::record::payload::{Destination, Payload};
use crate::record::transaction_part::{ENTERED_BYTES, HASH_BYTES, RANGE_BYTES, TransactionPart};
use std::collections::BTreeMap;

/// The most bytes of a transaction, as all of its parts count them; more is a load.
pub const TRANSACTION_BYTES_MAX: usize = 64 << 20;

/// Bytes that a record has beside its part: kind, numbers, snapshot, place.
const RECORD_HEAD_BYTES: usize = 64;

/// The most bytes of a part.
const PART_BYTES_MAX: usize = RECORD_BYTES_MAX - RECORD_HEAD_BYTES;

/// The fewest bytes of a payload that are worth a head of their own.
const PIECE_BYTES_MIN: usize = 64;

/// Cuts a transaction into parts that have room in a message each: one, unless it is large.
#[must_use]
pub fn parts(transaction: TransactionPart) -> Vec<TransactionPart> {
    parts_of_at_most(transaction, PART_BYTES_MAX)
}

fn parts_of_at_most(transaction: TransactionPart, bytes_max: usize) -> Vec<TransactionPart> {
    if transaction.size_bytes() <= bytes_max {
        return vec![transaction];
    }
    let TransactionPart { checks, ranges, touches, entered, payloads } = transaction;
    let mut cutter = Cutter { bytes_max, done: Vec::new(), part: TransactionPart::default() };
    cutter.list(checks, HASH_BYTES, |part| &mut part.checks);
    cutter.list(ranges, RANGE_BYTES, |part| &mut part.ranges);
    cutter.list(touches, HASH_BYTES, |part| &mut part.touches);
    cutter.list(entered, ENTERED_BYTES, |part| &mut part.entered);
    payloads.into_iter().for_each(|payload| cutter.payload(payload));
    let Cutter { mut done, part, .. } = cutter;
    done.push(part);
    done
}

struct Cutter {
    bytes_max: usize,
    done: Vec<TransactionPart>,
    part: TransactionPart,
}

impl Cutter {
    fn room(&self) -> usize {
        self.bytes_max.saturating_sub(self.part.size_bytes())
    }

    fn next(&mut self) {
        self.done.push(std::mem::take(&mut self.part));
    }

    fn list<T>(
        &mut self,
        items: Vec<T>,
        item_bytes: usize,
        of: impl Fn(&mut TransactionPart) -> &mut Vec<T>,
    ) {
        let mut items = items.into_iter();
        while items.len() > 0 {
            let fits = self.room() / item_bytes;
            of(&mut self.part).extend(items.by_ref().take(fits));
            if items.len() > 0 {
                self.next();
            }
        }
    }

    fn payload(&mut self, payload: Payload) {
        let mut rest = payload.mutations.as_slice();
        while !rest.is_empty() {
            // Its head is counted with it.
            let head = Payload { destination: payload.destination, mutations: Vec::new() };
            let with_head = TransactionPart { payloads: vec![head], ..TransactionPart::default() };
            let head_bytes = with_head.size_bytes() - TransactionPart::default().size_bytes();
            let fits = self.room().saturating_sub(head_bytes).min(rest.len());
            if fits < rest.len().min(PIECE_BYTES_MIN) {
                self.next();
                continue;
            }
            let (piece, after) = rest.split_at(fits);
            self.part.payloads.push(Payload { destination: payload.destination, mutations: piece.to_vec() });
            rest = after;
        }
    }
}

/// The payloads of a transaction whose parts are `parts`, in their order, whole and by ascending destination.
#[must_use]
pub fn assembled(parts: impl Iterator<Item = Vec<Payload>>) -> Vec<Payload> {
    let mut bytes: BTreeMap<Destination, Vec<u8>> = BTreeMap::new();
    for Payload { destination, mutations } in parts.flatten() {
        match bytes.entry(destination) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(mutations);
            }
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut().extend(mutations),
        }
    }
    bytes.into_iter().map(|(destination, mutations)| Payload { destination, mutations }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_hash::graph_salt::KeyHash;
    use crate::key_hash::sort_key::{EnteredKey, RangeCheck, SortKey};
    use crate::log_position::LogPosition;
    use crate::record::body::{Record, RecordBody};
    use evergraph_graph::id::PartitionId;
    use proptest::prelude::*;

    /// A transaction of so many items, all of them different.
    fn transaction(counts: (usize, usize, usize, usize), payloads: &[usize]) -> TransactionPart {
        let hash = |number: usize| KeyHash(number as u64);
        let key = |number: usize| SortKey([number as u8; 16]);
        let payload = |(place, bytes): (usize, &usize)| Payload {
            destination: Destination::Partition(PartitionId(place as u16)),
            mutations: (0..*bytes).map(|byte| (byte + place) as u8).collect(),
        };
        TransactionPart {
            checks: (0..counts.0).map(hash).collect(),
            ranges: (0..counts.1)
                .map(|number| RangeCheck { index: hash(number), low: key(number), high: SortKey::HIGHEST })
                .collect(),
            touches: (0..counts.2).map(hash).collect(),
            entered: (0..counts.3)
                .map(|number| EnteredKey { index: hash(number), key: key(number) })
                .collect(),
            payloads: payloads
                .iter()
                .enumerate()
                .map(payload)
                .filter(|it| !it.mutations.is_empty())
                .collect(),
        }
    }

    fn together(parts: Vec<TransactionPart>) -> TransactionPart {
        let mut whole = TransactionPart::default();
        let mut payloads = Vec::new();
        for part in parts {
            whole.checks.extend(part.checks);
            whole.ranges.extend(part.ranges);
            whole.touches.extend(part.touches);
            whole.entered.extend(part.entered);
            payloads.push(part.payloads);
        }
        whole.payloads = assembled(payloads.into_iter());
        whole
    }

    proptest! {
        #[test]
        fn parts_have_room_and_are_the_whole_together(
            counts in (0..60_usize, 0..20_usize, 0..60_usize, 0..20_usize),
            payloads in proptest::collection::vec(0..2000_usize, 0..4),
        ) {
            let whole = transaction(counts, &payloads);
            let parts = parts_of_at_most(whole.clone(), 400);
            for part in &parts {
                let mut bytes = Vec::new();
                part.encode(&mut bytes);
                prop_assert!(bytes.len() <= part.size_bytes() && part.size_bytes() <= 400);
            }
            prop_assert!(parts.len() <= 2 + whole.size_bytes() / 150, "parts are full, but for the last");
            prop_assert_eq!(together(parts), whole);
        }
    }

    #[test]
    fn a_small_transaction_is_one_part_and_a_large_one_fills_its_records() {
        let small = transaction((3, 0, 8, 0), &[30]);
        assert_eq!(parts(small.clone()), [small]);
        let large = transaction((30_000, 2_000, 30_000, 2_000), &[100_000, 70_000]);
        let cut = parts(large.clone());
        assert!(cut.len() < 14, "{}", cut.len());
        for (place, part) in cut.iter().enumerate() {
            let (number, of, place) = (u64::MAX, u64::MAX, place as u16);
            let ahead = Record { number, body: RecordBody::Part { of, place, part: part.clone() } };
            let since = LogPosition::MAX.end();
            let last = RecordBody::Transaction { since, parts: u16::MAX, last: part.clone() };
            for record in [ahead, Record { number, body: last }] {
                let mut bytes = Vec::new();
                record.encode(&mut bytes);
                assert!(bytes.len() <= RECORD_BYTES_MAX);
            }
        }
        assert_eq!(together(cut), large);
    }
}
