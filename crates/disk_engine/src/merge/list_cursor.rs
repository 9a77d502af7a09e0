//! List cursor: the part of a list that one source brings into a merge, one record a key.
//!
//! ```text
//! slice     3+@5  7+@6  7s@8  7s@9  9+@6  9-@8     next slice   9+@9  12+@5
//! cursor    3+    7+ (Sets of ranks 2, 3)          9+           12+         until 9, or later
//!           3+    7+ (Set of rank 2)                            12+         until 8
//! ```
//!
//! A cursor without stamps is a slice. One with stamps ends where a slice ends and the next one begins with another
//! key: it goes on for as long as records of one key lie in both.

use crate::format::operation::RecordOperation;
use crate::format::tree_key::ItemKey;
use crate::merge::list_source::{ListKey, ListSlice, ListSource};
use crate::merge::merge_error::MergeError;
use crate::merge::merged_run::{LaterSet, Origin};
use crate::merge::net::{InexactPair, Net};
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;

/// Records of one list, from `position` on.
#[derive(Debug, Default)]
pub(super) struct ListCursor {
    keys: Vec<ItemKey>,
    /// Empty if all are Inserts.
    operations: Vec<RecordOperation>,
    /// Whether one has a discriminator.
    has_discriminators: bool,
    /// Empty if they follow `first_rank` one by one.
    ranks: Vec<u64>,
    first_rank: u64,
    /// Ascending by record.
    later_sets: Vec<LaterSet>,
    position: usize,
    /// The first of `later_sets` that is not of a record before `position`.
    next_set: usize,
}

/// The next records of a cursor.
pub(super) struct CursorRecords<'a> {
    pub(super) keys: &'a [ItemKey],
    /// Empty if all are Inserts.
    pub(super) operations: &'a [RecordOperation],
    /// `None` if they follow `first_rank` one by one.
    pub(super) ranks: Option<&'a [u64]>,
    pub(super) first_rank: u64,
    pub(super) has_discriminators: bool,
    pub(super) later_sets: &'a [LaterSet],
    /// What `later_sets` call the first of them.
    pub(super) position: usize,
}

impl ListCursor {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.position == self.keys.len()
    }

    /// Whether all records are Inserts without discriminators.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.operations.is_empty() && !self.has_discriminators
    }

    /// The key of the next record.
    #[inline]
    pub(super) fn key(&self) -> ItemKey {
        self.keys[self.position]
    }

    /// How many records have keys below `end`, of which the next one is one.
    ///
    /// Cost: logarithmic in the answer.
    pub(super) fn count_below(&self, end: ItemKey) -> usize {
        let keys = &self.keys[self.position..];
        let mut step = 1;
        while step < keys.len() && keys[step] < end {
            step *= 2;
        }
        let known = step / 2;
        known + keys[known..keys.len().min(step)].partition_point(|key| *key < end)
    }

    /// The next `count` records.
    pub(super) fn front(&self, count: usize) -> CursorRecords<'_> {
        let records = self.position..self.position + count;
        let sets = &self.later_sets[self.next_set..];
        CursorRecords {
            keys: &self.keys[records.clone()],
            operations: self.operations.get(records.clone()).unwrap_or_default(),
            has_discriminators: self.has_discriminators,
            ranks: if self.ranks.is_empty() { None } else { Some(&self.ranks[records.clone()]) },
            first_rank: self.first_rank + self.position as u64,
            later_sets: &sets[..sets.partition_point(|set| set.record < records.end)],
            position: self.position,
        }
    }

    /// Goes on behind the next `count` records.
    pub(super) fn skip(&mut self, count: usize) {
        self.position += count;
        let sets = &self.later_sets[self.next_set..];
        self.next_set += sets.iter().take_while(|set| set.record < self.position).count();
    }

    /// Takes the next record into `net`, which becomes the record `record` of the output.
    #[inline]
    pub(super) fn take_into(
        &mut self,
        net: &mut Net,
        source: usize,
        record: usize,
        sets: &mut Vec<LaterSet>,
    ) -> Result<(), InexactPair> {
        let next = self.front(1);
        let rank = next.ranks.map_or(next.first_rank, |ranks| ranks[0]);
        let operation = next.operations.first().copied().unwrap_or(RecordOperation::Insert);
        net.apply(operation, Origin { source, rank }, record, sets)?;
        for set in next.later_sets {
            net.apply(RecordOperation::Set, set.origin, record, sets)?;
        }
        self.skip(1);
        Ok(())
    }

    /// Loads the part of `list` in front of `source`, which is number `number`, and goes on behind it. The cursor is
    /// empty if nothing is left of it.
    ///
    /// # Errors
    /// Those of the source, or if it does not ascend or is not exact.
    pub(super) fn load<S: ListSource>(
        &mut self,
        source: &mut S,
        number: usize,
        list: ListKey,
        until: Timestamp,
    ) -> Result<(), MergeError<S::Error>> {
        self.clear();
        let disordered = || MergeError::Disordered { source: number, subject: list.subject };
        let failed = |error| MergeError::Source { source: number, error };
        let mut reduction =
            Reduction { until, source: number, key: ItemKey::VERTEX, net: Net::new(0), is_open: false };
        let mut last_key = None;
        while let Some(slice) = source.slice().filter(|slice| slice.list == list) {
            let Some(stamps) = slice.stamps else {
                if last_key.is_none() {
                    self.copy(&slice).ok_or_else(disordered)?;
                    source.advance().map_err(failed)?;
                }
                break;
            };
            if last_key.is_some_and(|last| slice.key(0) != last) {
                break;
            }
            for (at, stamp) in stamps.iter().enumerate() {
                let key = slice.key(at);
                if last_key.is_some_and(|last| key < last) {
                    return Err(disordered());
                }
                last_key = Some(key);
                reduction.take(self, &slice, at, *stamp).map_err(|pair| inexact(list, key, pair))?;
            }
            source.advance().map_err(failed)?;
        }
        reduction.close(self);
        Ok(())
    }

    /// Takes a slice without stamps; `None` if it does not ascend.
    fn copy(&mut self, slice: &ListSlice<'_>) -> Option<()> {
        match slice.discriminators {
            [] => self.keys.extend(slice.neighbors.iter().map(|one| ItemKey::edge(VertexId(*one), 0))),
            discriminators => {
                let both = slice.neighbors.iter().zip(discriminators);
                self.keys
                    .extend(both.map(|(one, discriminator)| ItemKey::edge(VertexId(*one), *discriminator)));
            }
        }
        self.operations.extend_from_slice(slice.operations);
        self.has_discriminators = !slice.discriminators.is_empty();
        self.first_rank = slice.first_rank;
        self.keys.is_sorted_by(|left, right| left < right).then_some(())
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.operations.clear();
        self.ranks.clear();
        self.later_sets.clear();
        (self.first_rank, self.position, self.next_set) = (0, 0, 0);
        self.has_discriminators = false;
    }
}

/// Reduces the stamped records of a list to one a key.
struct Reduction {
    until: Timestamp,
    source: usize,
    /// The key whose records are being taken.
    key: ItemKey,
    net: Net,
    is_open: bool,
}

impl Reduction {
    fn take(
        &mut self,
        cursor: &mut ListCursor,
        slice: &ListSlice<'_>,
        at: usize,
        stamp: Timestamp,
    ) -> Result<(), InexactPair> {
        if !stamp.visible_at(self.until) {
            return Ok(());
        }
        let key = slice.key(at);
        if !self.is_open || self.key != key {
            self.close(cursor);
            (self.key, self.net, self.is_open) = (key, Net::new(cursor.later_sets.len()), true);
        }
        let origin = Origin { source: self.source, rank: slice.first_rank + at as u64 };
        self.net.apply(slice.operation(at), origin, cursor.keys.len(), &mut cursor.later_sets)
    }

    /// Appends what the records of the key came to.
    fn close(&mut self, cursor: &mut ListCursor) {
        if let Some(operation) = self.net.operation.take() {
            cursor.keys.push(self.key);
            cursor.has_discriminators |= self.key.discriminator() > 0;
            cursor.operations.push(operation);
            cursor.ranks.push(self.net.base.rank);
        }
        self.is_open = false;
    }
}

/// The error for two records of `key` that exclude each other.
pub(super) fn inexact<E>(list: ListKey, key: ItemKey, pair: InexactPair) -> MergeError<E> {
    MergeError::Inexact {
        subject: list.subject,
        vertex: list.vertex,
        neighbor: key.neighbor(),
        before: Some(pair.before),
        later: pair.later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_below_a_key_are_counted_at_every_distance() {
        let keys = (0..100).map(|key| ItemKey::from_bits(key * 2)).collect();
        let cursor = ListCursor { keys, position: 10, ..ListCursor::default() };
        for end in 21..210 {
            let wanted = (10..100).filter(|key| key * 2 < end).count();
            assert_eq!(cursor.count_below(ItemKey::from_bits(end)), wanted, "{end}");
        }
    }
}
