//! Duplicates: finds values that several items have, by reading all of them, in a bounded amount of memory.
//!
//! ```text
//! scan   hash of each value ──> the (hash, item) whose hash lies in the present slice of all hashes ──> sorted
//!        too many of them   ──> the slice is halved, and what is in its other half waits for a later scan
//! equal hashes ──> values are read again, and compared
//! ```
//!
//! For an index that is to be unique over many stores: no store has all values. Nothing but items and hashes is kept, 16
//! bytes a vertex and 24 an edge.
//!
//! Cost: a scan of the label or type for each slice, and a read of the items whose hashes meet.

use crate::index::build::Duplicates;
use crate::planted::{Bug, planted};
use crate::snapshot::look_up::{ReadItem, ScanCursor};
use crate::snapshot::reader::Reader;
use crate::view::View;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::Result;
use evergraph_graph::id::KeyId;
use evergraph_graph::value::Value;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bits of the smallest slices.
const BITS_MAX: u32 = 48;

/// Items that are read again at once.
const READ_BATCH: usize = 4096;

/// A part of all hashes: those that end in the same bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct HashSlice {
    bits: u32,
    end: u64,
}

impl HashSlice {
    fn contains(self, hash: u64) -> bool {
        hash & ((1 << self.bits) - 1) == self.end
    }

    /// The first half of it.
    fn half(self) -> Self {
        Self { bits: self.bits + 1, ..self }
    }

    /// What follows when this one is done; `None` if that is all.
    fn next(mut self) -> Option<Self> {
        while self.bits > 0 {
            let last = 1 << (self.bits - 1);
            if self.end & last == 0 {
                return Some(Self { end: self.end | last, ..self });
            }
            // Both halves are done.
            self = Self { bits: self.bits - 1, end: self.end & !last };
        }
        None
    }
}

impl<V: View> Reader<'_, V> {
    /// The values of `key` that several items of `owner` have, as this view shows them, keeping about `hashes_max` hashes at
    /// once. `check` is called before each batch of items, and may fail to stop. `seed` keeps others from choosing values that
    /// collide.
    ///
    /// # Errors
    /// Errors of reading; what `check` says.
    pub(crate) fn duplicates<I: ReadItem>(
        &self,
        (owner, key): (Owner, KeyId),
        (hashes_max, seed): (usize, u64),
        check: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Duplicates<I>> {
        let (mut duplicates, mut hashes) = (Duplicates::default(), Vec::new());
        let mut next = Some(HashSlice::default());
        while let Some(mut slice) = next {
            hashes.clear();
            let mut room = hashes_max;
            let (mut cursor, mut items, mut more) = (ScanCursor::default(), Vec::new(), true);
            while more {
                check()?;
                items.clear();
                more = I::scan(self, owner, &mut cursor, &mut items)?;
                self.view.ahead(I::next_values(&items, key));
                for item in &items {
                    let Some(value) = I::read(*item, self, key)? else { continue };
                    let hash = hash_of(seed, &value);
                    if slice.contains(hash) {
                        hashes.push((hash, *item));
                    }
                }
                if hashes.len() > room && slice.bits < BITS_MAX {
                    slice = slice.half();
                    hashes.retain(|(hash, _)| slice.contains(*hash));
                    // A value that most items have is whole in one half.
                    room = hashes_max.max(2 * hashes.len());
                }
            }
            hashes.sort_unstable();
            for equal in hashes.chunk_by(|(one, _), (other, _)| one == other) {
                if equal.len() > 1 {
                    self.compare(key, equal, &mut duplicates)?;
                }
            }
            next = if planted(Bug::FirstHashesOnly) { None } else { slice.next() };
        }
        Ok(duplicates)
    }

    /// Compares the values of items whose hashes are equal: each with the first item that has the same.
    fn compare<I: ReadItem>(
        &self,
        key: KeyId,
        equal: &[(u64, I)],
        duplicates: &mut Duplicates<I>,
    ) -> Result<()> {
        let mut first: HashMap<Value, I> = HashMap::new();
        for batch in equal.chunks(READ_BATCH) {
            let items: Vec<I> = batch.iter().map(|(_, item)| *item).collect();
            self.view.ahead(I::next_values(&items, key));
            for item in items {
                let Some(value) = I::read(item, self, key)? else { continue };
                match first.get(&value) {
                    Some(holder) => duplicates.find(value, *holder, item),
                    None => drop(first.insert(value, item)),
                }
            }
        }
        Ok(())
    }
}

fn hash_of(seed: u64, value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_have_each_hash_once_however_they_are_halved() {
        let hashes: Vec<u64> = (0..64).map(|end| 0xa5a0 << 6 | end).collect();
        // At which of their turns they are halved, and how often.
        for halved in [&[0, 0, 0][..], &[0, 1, 2, 3], &[0, 1, 1, 1, 1, 4], &[]] {
            let (mut next, mut found, mut turn) = (Some(HashSlice::default()), Vec::new(), 0);
            while let Some(mut slice) = next {
                halved.iter().filter(|at| **at == turn).for_each(|_| slice = slice.half());
                found.extend(hashes.iter().copied().filter(|hash| slice.contains(*hash)));
                (next, turn) = (slice.next(), turn + 1);
            }
            found.sort_unstable();
            assert_eq!(found, hashes, "{halved:?}");
        }
    }
}
