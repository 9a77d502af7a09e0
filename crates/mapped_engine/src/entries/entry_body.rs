//! Entry body: all entries of an index at its base, sorted, as they lie in an extent.
//!
//! ```text
//! OFFSET  SIZE   FIELD    (little-endian)
//!      0     8   entries, N
//!      8   8 B   starts: where each 16th entry begins among the bytes; B = N / 16, rounded up
//!          ...   bytes: of each entry its length:1 and itself
//! ```
//!
//! A place in it costs a binary search over the starts and a look at 16 entries. The extent's blocks in which these lie are compared
//! with their checksums first, if they were not before; nothing else is touched. Nothing is trusted: an entry that isn't where it
//! should be is an error of whoever reads it.

use crate::extents::blockwise_payload::{BlockwisePayload, PayloadDamage};
use std::iter::Peekable;

/// Entries from one start to the next.
const BLOCK: u64 = 16;
/// Bytes of the count in front of the starts.
const COUNT_BYTES: usize = 8;

/// Entries of a body, in place.
#[derive(Clone, Copy, Debug)]
pub struct EntryBody<'a> {
    count: u64,
    /// All of it: count, starts, bytes.
    arrays: BlockwisePayload<'a>,
    /// Where the bytes begin.
    bytes_at: usize,
}

impl<'a> EntryBody<'a> {
    /// No entries.
    pub const EMPTY: Self = Self { count: 0, arrays: BlockwisePayload::EMPTY, bytes_at: 0 };

    /// The body in `arrays`, whose checksums were compared. Cost: a look at its first bytes.
    ///
    /// # Errors
    /// If there can be no such body.
    pub fn parse(arrays: &'a [u8]) -> Result<Self, String> {
        Self::in_payload(BlockwisePayload::verified(arrays)).map_err(|damage| damage.to_string())
    }

    /// As [`EntryBody::parse`], of arrays that are compared as they are touched.
    ///
    /// # Errors
    /// If there can be no such body; if its first block is damaged.
    pub fn in_payload(arrays: BlockwisePayload<'a>) -> Result<Self, PayloadDamage> {
        let too_short = || format!("a body of entries expected, found {} bytes", arrays.length());
        let count = word_at(arrays, 0)?.ok_or_else(too_short)?;
        let starts = usize::try_from(count.div_ceil(BLOCK)).ok().and_then(|starts| starts.checked_mul(8));
        let bytes_at = starts.and_then(|starts| starts.checked_add(COUNT_BYTES));
        let bytes_at = bytes_at.filter(|bytes_at| *bytes_at <= arrays.length()).ok_or_else(too_short)?;
        Ok(Self { count, arrays, bytes_at })
    }

    /// How many entries there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes of its entries and their lengths.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.arrays.length() - self.bytes_at
    }

    /// Those of one block; `block` has some.
    fn block(&self, block: u64, entries: &mut Vec<&'a [u8]>) -> Result<(), PayloadDamage> {
        let damaged =
            || format!("{} entries expected, and those from {} on cannot be read", self.count, block * BLOCK);
        entries.clear();
        let mut at = self.start(block)?.ok_or_else(damaged)?;
        for _ in 0..(self.count - block * BLOCK).min(BLOCK) {
            let entry = self.entry_at(at)?.ok_or_else(damaged)?;
            entries.push(entry);
            at += 1 + entry.len();
        }
        Ok(())
    }

    /// Where among the arrays a block begins, one of those that there are; `None` if it says that it lies elsewhere.
    fn start(&self, block: u64) -> Result<Option<usize>, PayloadDamage> {
        let start = word_at(self.arrays, COUNT_BYTES + 8 * block as usize)?;
        let start = start.and_then(|start| usize::try_from(start).ok());
        Ok(start.and_then(|start| self.bytes_at.checked_add(start)))
    }

    /// The entry at a place among the arrays; `None` if none fits there.
    fn entry_at(&self, at: usize) -> Result<Option<&'a [u8]>, PayloadDamage> {
        let Some(from) = at.checked_add(1) else { return Ok(None) };
        let Some(&[length]) = self.arrays.get(at..from)? else { return Ok(None) };
        let Some(to) = from.checked_add(usize::from(length)) else { return Ok(None) };
        self.arrays.get(from..to)
    }

    /// How many entries are less than `bound`.
    ///
    /// # Errors
    /// If entries on the way cannot be read.
    pub fn rank(&self, bound: &[u8]) -> Result<u64, PayloadDamage> {
        let (mut from, mut to) = (0, self.count.div_ceil(BLOCK));
        // The first block that begins at the bound or behind it.
        while from < to {
            let middle = from + (to - from) / 2;
            let first = match self.start(middle)? {
                Some(start) => self.entry_at(start)?,
                None => None,
            };
            let first = first.ok_or_else(|| format!("block {middle} of entries cannot be read"))?;
            if first < bound { from = middle + 1 } else { to = middle }
        }
        let Some(block) = from.checked_sub(1) else { return Ok(0) };
        let mut entries = Vec::with_capacity(BLOCK as usize);
        self.block(block, &mut entries)?;
        Ok(block * BLOCK + entries.partition_point(|entry| *entry < bound) as u64)
    }

    /// Whether its entries ascend, and its bytes are those of entries alone. Cost: all of them are read.
    ///
    /// # Errors
    /// What is wrong; what `check` says of an entry.
    pub fn check(&self, check: impl Fn(&[u8]) -> Result<(), String>) -> Result<(), String> {
        let (mut entries, mut before, mut bytes): (Vec<&[u8]>, &[u8], usize) = (Vec::new(), &[], 0);
        let text = |damage: PayloadDamage| damage.to_string();
        for block in 0..self.count.div_ceil(BLOCK) {
            self.block(block, &mut entries).map_err(text)?;
            let start = self.start(block).map_err(text)?.map(|start| start - self.bytes_at);
            if start != Some(bytes) {
                return Err(format!("block {block} of entries at byte {bytes} expected, found {start:?}"));
            }
            for entry in &entries {
                check(entry)?;
                if *entry <= before {
                    return Err("entries in ascending order expected".to_owned());
                }
                before = entry;
                bytes += 1 + entry.len();
            }
        }
        if bytes == self.bytes() {
            return Ok(());
        }
        Err(format!("{bytes} bytes of entries expected, found {}", self.bytes()))
    }
}

fn word_at(arrays: BlockwisePayload<'_>, at: usize) -> Result<Option<u64>, PayloadDamage> {
    let word = arrays.get(at..at + 8)?.and_then(|bytes| bytes.first_chunk());
    Ok(word.map(|word| u64::from_le_bytes(*word)))
}

/// Walks entries between two ranks, from either end.
#[derive(Debug)]
pub struct EntryCursor<'a> {
    body: EntryBody<'a>,
    /// Entries that are left.
    from: u64,
    to: u64,
    /// The entries of a block.
    block: Vec<&'a [u8]>,
    number: u64,
}

impl<'a> EntryCursor<'a> {
    /// The entries of `body` that are not less than `low`, and less than `high`.
    ///
    /// # Errors
    /// As [`EntryBody::rank`].
    pub fn new(body: EntryBody<'a>, low: &[u8], high: Option<&[u8]>) -> Result<Self, PayloadDamage> {
        let from = body.rank(low)?;
        let to = high.map_or(Ok(body.count), |high| body.rank(high))?;
        Ok(Self { body, from, to, block: Vec::new(), number: u64::MAX })
    }

    /// The first that is left.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn first(&mut self) -> Result<Option<&'a [u8]>, PayloadDamage> {
        if self.from < self.to { self.entry(self.from).map(Some) } else { Ok(None) }
    }

    /// The last that is left.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn last(&mut self) -> Result<Option<&'a [u8]>, PayloadDamage> {
        if self.from < self.to { self.entry(self.to - 1).map(Some) } else { Ok(None) }
    }

    /// Steps over the first.
    pub fn skip_first(&mut self) {
        self.from += 1;
    }

    /// Steps over the last.
    pub fn skip_last(&mut self) {
        self.to -= 1;
    }

    fn entry(&mut self, rank: u64) -> Result<&'a [u8], PayloadDamage> {
        if self.number != rank / BLOCK {
            // A block that cannot be read leaves nothing that could be taken for another one.
            self.number = u64::MAX;
            self.body.block(rank / BLOCK, &mut self.block)?;
            self.number = rank / BLOCK;
        }
        Ok(self.block[(rank % BLOCK) as usize])
    }
}

/// Count and starts of a body whose entries follow: those have to be known before the first entry is written.
#[derive(Debug)]
pub struct EntryStarts {
    count: u64,
    /// Bytes of the entries, with their lengths.
    bytes: u64,
    /// Room for the count; then eight bytes each.
    starts: Vec<u8>,
}

impl EntryStarts {
    /// Those of `entries_max` entries at most: as many take [this memory](EntryStarts::memory_bytes), which is not moved as they
    /// come.
    #[must_use]
    pub fn new(entries_max: u64) -> Self {
        let mut starts = Vec::with_capacity(usize::try_from(Self::memory_bytes(entries_max)).unwrap_or(0));
        starts.extend_from_slice(&[0; COUNT_BYTES]);
        Self { count: 0, bytes: 0, starts }
    }

    /// Another entry, greater than those before.
    pub fn push(&mut self, entry: &[u8]) {
        if self.count.is_multiple_of(BLOCK) {
            self.starts.extend_from_slice(&self.bytes.to_le_bytes());
        }
        self.count += 1;
        self.bytes += 1 + u64::from(length_byte(entry));
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes of all arrays.
    #[must_use]
    pub fn arrays_bytes(&self) -> u64 {
        self.starts.len() as u64 + self.bytes
    }

    /// Bytes that the count and the starts of so many entries take in memory: half a byte an entry.
    #[must_use]
    pub fn memory_bytes(entries: u64) -> u64 {
        COUNT_BYTES as u64 + 8 * entries.div_ceil(BLOCK)
    }

    /// What is in front of the first entry. Each follows behind its [length](length_byte).
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.starts[..COUNT_BYTES].copy_from_slice(&self.count.to_le_bytes());
        self.starts
    }
}

/// The length of an entry.
///
/// # Panics
/// If it is longer than any entry can be.
#[must_use]
pub fn length_byte(entry: &[u8]) -> u8 {
    u8::try_from(entry.len()).expect("an entry has fewer than 256 bytes")
}

/// The entries of a body with changes on top, ascending.
#[derive(Debug)]
pub struct MergedEntries<'e, C: Iterator<Item = (&'e [u8], bool)>> {
    body: EntryCursor<'e>,
    changes: Peekable<C>,
}

impl<'e, C: Iterator<Item = (&'e [u8], bool)>> MergedEntries<'e, C> {
    /// The entries of `body` with `changes`, ascending: whether each is there from now on.
    ///
    /// # Errors
    /// As [`EntryBody::rank`].
    pub fn new(body: EntryBody<'e>, changes: C) -> Result<Self, String> {
        let body = EntryCursor::new(body, &[], None).map_err(|damage| damage.to_string())?;
        Ok(Self { body, changes: changes.peekable() })
    }

    fn next_entry(&mut self) -> Result<Option<&'e [u8]>, PayloadDamage> {
        loop {
            let stored = self.body.first()?;
            let is_stored_next = match (stored, self.changes.peek()) {
                (Some(stored), Some((changed, _))) => stored < *changed,
                (stored, _) => stored.is_some(),
            };
            if let Some(stored) = stored.filter(|_| is_stored_next) {
                self.body.skip_first();
                return Ok(Some(stored));
            }
            let Some((changed, is_there)) = self.changes.next() else { return Ok(None) };
            if stored == Some(changed) {
                self.body.skip_first();
            }
            if is_there {
                return Ok(Some(changed));
            }
        }
    }
}

/// Errors are those of entries of the body that cannot be read: nothing is right behind one.
impl<'e, C: Iterator<Item = (&'e [u8], bool)>> Iterator for MergedEntries<'e, C> {
    type Item = Result<&'e [u8], String>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_entry().map_err(|damage| damage.to_string()).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn entries() -> impl Strategy<Value = BTreeSet<Vec<u8>>> {
        proptest::collection::btree_set(proptest::collection::vec(0u8..4, 1..7), 0..120)
    }

    fn arrays<'e>(entries: impl Iterator<Item = &'e Vec<u8>> + Clone) -> Vec<u8> {
        let mut starts = EntryStarts::new(entries.clone().count() as u64);
        entries.clone().for_each(|entry| starts.push(entry));
        let (count, bytes) = (starts.count(), starts.arrays_bytes());
        let mut arrays = starts.finish();
        assert_eq!(arrays.len() as u64, EntryStarts::memory_bytes(count));
        entries.for_each(|entry| {
            arrays.push(length_byte(entry));
            arrays.extend_from_slice(entry);
        });
        assert_eq!(arrays.len() as u64, bytes);
        arrays
    }

    proptest! {
        #[test]
        fn a_body_answers_as_a_sorted_set(
            entries in entries(),
            (low, high) in (proptest::collection::vec(0u8..4, 0..7), proptest::collection::vec(0u8..4, 0..7)),
        ) {
            let arrays = arrays(entries.iter());
            let body = EntryBody::parse(&arrays).unwrap();
            prop_assert_eq!(body.count(), entries.len() as u64);
            prop_assert_eq!(body.check(|_| Ok(())), Ok(()));
            prop_assert_eq!(body.rank(&low).unwrap(), entries.iter().filter(|entry| **entry < low).count() as u64);
            let expected: Vec<&Vec<u8>> = entries.iter().filter(|entry| (&low..&high).contains(entry)).collect();
            let mut cursor = EntryCursor::new(body, &low, Some(&high)).unwrap();
            for entry in &expected {
                prop_assert_eq!(cursor.first().unwrap(), Some(&entry[..]));
                cursor.skip_first();
            }
            prop_assert_eq!(cursor.first().unwrap(), None);
            let mut cursor = EntryCursor::new(body, &low, Some(&high)).unwrap();
            for entry in expected.iter().rev() {
                prop_assert_eq!(cursor.last().unwrap(), Some(&entry[..]));
                cursor.skip_last();
            }
            prop_assert_eq!(cursor.last().unwrap(), None);
        }

        #[test]
        fn a_merge_makes_of_a_body_what_its_changes_say(
            before in entries(),
            changes in proptest::collection::btree_map(proptest::collection::vec(0u8..4, 1..7), any::<bool>(), 0..60),
        ) {
            let arrays = arrays(before.iter());
            let changed = changes.iter().map(|(entry, there)| (&entry[..], *there));
            let merged = MergedEntries::new(EntryBody::parse(&arrays).unwrap(), changed).unwrap();
            let merged: Vec<Vec<u8>> = merged.map(|entry| entry.unwrap().to_vec()).collect();
            let mut expected: BTreeMap<Vec<u8>, bool> = before.into_iter().map(|entry| (entry, true)).collect();
            expected.extend(changes);
            let expected: Vec<Vec<u8>> =
                expected.into_iter().filter(|entry| entry.1).map(|entry| entry.0).collect();
            prop_assert_eq!(merged, expected);
        }

        #[test]
        fn no_damage_makes_a_reader_panic(
            entries in entries(),
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        ) {
            let mut arrays = arrays(entries.iter());
            for (at, byte) in damage {
                let at = at.index(arrays.len());
                arrays[at] = byte;
            }
            if let Ok(body) = EntryBody::parse(&arrays) {
                let _ = body.check(|_| Ok(()));
                let _ = body.rank(&[2]);
                if let Ok(mut cursor) = EntryCursor::new(body, &[1], None) {
                    for _ in 0..3 {
                        let _ = (cursor.first(), cursor.last());
                    }
                }
            }
        }
    }
}
