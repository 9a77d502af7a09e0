//! Entry body: all entries of an index at its base, sorted, as they lie in an extent.
//!
//! ```text
//! OFFSET  SIZE   FIELD    (little-endian)
//!      0     8   entries, N
//!      8   8 B   starts: where each 16th entry begins among the bytes; B = N / 16, rounded up
//!          ...   bytes: of each entry its length:1 and itself
//! ```
//!
//! A place in it costs a binary search over the starts and a look at 16 entries. Nothing is trusted: an entry that isn't where it
//! should be is an error of whoever reads it.

use crate::entries::entry::ENTRY_BYTES_MAX;

/// Entries from one start to the next.
const BLOCK: u64 = 16;

/// Entries of a body, in place.
#[derive(Clone, Copy, Debug)]
pub struct EntryBody<'a> {
    count: u64,
    /// Eight bytes each.
    starts: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> EntryBody<'a> {
    /// No entries.
    pub const EMPTY: Self = Self { count: 0, starts: &[], bytes: &[] };

    /// The body in `arrays`. Cost: a look at its first bytes.
    ///
    /// # Errors
    /// If there can be no such body.
    pub fn parse(arrays: &'a [u8]) -> Result<Self, String> {
        let too_short = || format!("a body of entries expected, found {} bytes", arrays.len());
        let (count, rest) = arrays.split_first_chunk::<8>().ok_or_else(too_short)?;
        let count = u64::from_le_bytes(*count);
        let starts = usize::try_from(count.div_ceil(BLOCK)).ok().and_then(|starts| starts.checked_mul(8));
        let (starts, bytes) =
            starts.and_then(|starts| rest.split_at_checked(starts)).ok_or_else(too_short)?;
        Ok(Self { count, starts, bytes })
    }

    /// How many entries there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes of its entries and their lengths.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Those of one block; `block` has some.
    fn block(&self, block: u64, entries: &mut Vec<&'a [u8]>) -> Result<(), String> {
        let damaged =
            || format!("{} entries expected, and those from {} on cannot be read", self.count, block * BLOCK);
        entries.clear();
        let mut rest = self.rest_at(block).ok_or_else(damaged)?;
        for _ in 0..(self.count - block * BLOCK).min(BLOCK) {
            let (entry, behind) = take_entry(rest).ok_or_else(damaged)?;
            entries.push(entry);
            rest = behind;
        }
        Ok(())
    }

    fn rest_at(&self, block: u64) -> Option<&'a [u8]> {
        let at = usize::try_from(block).ok()?.checked_mul(8)?;
        let start = u64::from_le_bytes(self.starts.get(at..at + 8)?.try_into().ok()?);
        self.bytes.get(usize::try_from(start).ok()?..)
    }

    /// How many entries are less than `bound`.
    ///
    /// # Errors
    /// If entries on the way cannot be read.
    pub fn rank(&self, bound: &[u8]) -> Result<u64, String> {
        let (mut from, mut to) = (0, self.count.div_ceil(BLOCK));
        // The first block that begins at the bound or behind it.
        while from < to {
            let middle = from + (to - from) / 2;
            let first = self.rest_at(middle).and_then(take_entry);
            let (first, _) = first.ok_or_else(|| format!("block {middle} of entries cannot be read"))?;
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
        for block in 0..self.count.div_ceil(BLOCK) {
            self.block(block, &mut entries)?;
            let start = self.rest_at(block).map(|rest| self.bytes.len() - rest.len());
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
        if bytes == self.bytes.len() {
            return Ok(());
        }
        Err(format!("{bytes} bytes of entries expected, found {}", self.bytes.len()))
    }
}

fn take_entry(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(*length))
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
    pub fn new(body: EntryBody<'a>, low: &[u8], high: Option<&[u8]>) -> Result<Self, String> {
        let from = body.rank(low)?;
        let to = high.map_or(Ok(body.count), |high| body.rank(high))?;
        Ok(Self { body, from, to, block: Vec::new(), number: u64::MAX })
    }

    /// The first that is left.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn first(&mut self) -> Result<Option<&'a [u8]>, String> {
        if self.from < self.to { self.entry(self.from).map(Some) } else { Ok(None) }
    }

    /// The last that is left.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn last(&mut self) -> Result<Option<&'a [u8]>, String> {
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

    fn entry(&mut self, rank: u64) -> Result<&'a [u8], String> {
        if self.number != rank / BLOCK {
            // A block that cannot be read leaves nothing that could be taken for another one.
            self.number = u64::MAX;
            self.body.block(rank / BLOCK, &mut self.block)?;
            self.number = rank / BLOCK;
        }
        Ok(self.block[(rank % BLOCK) as usize])
    }
}

/// Builds the arrays of a body, entry by entry, where they are going to be.
#[derive(Debug)]
pub struct EntryBodyBuilder {
    count: u64,
    /// Where entries begin, behind room for the starts.
    first: usize,
    arrays: Vec<u8>,
}

impl EntryBodyBuilder {
    /// Room for so many entries, of so many bytes together, with or without their lengths.
    #[must_use]
    pub fn with_room(entries: u64, bytes: usize) -> Self {
        let first = starts_end(entries);
        let mut arrays = Vec::with_capacity(Self::room(entries, bytes));
        arrays.resize(first, 0);
        Self { count: 0, first, arrays }
    }

    /// Bytes that [`EntryBodyBuilder::with_room`] takes.
    #[must_use]
    pub fn room(entries: u64, bytes: usize) -> usize {
        starts_end(entries) + entries as usize + bytes
    }

    /// Adds an entry, greater than those before.
    ///
    /// # Panics
    /// If there are more than there is room for.
    pub fn push(&mut self, entry: &[u8]) {
        debug_assert!(entry.len() <= ENTRY_BYTES_MAX, "a form has so many bytes at most");
        if self.count.is_multiple_of(BLOCK) {
            let (at, start) = (starts_end(self.count), self.arrays.len() - self.first);
            assert!(at < self.first, "there is room for as many entries as come");
            self.arrays[at..at + 8].copy_from_slice(&(start as u64).to_le_bytes());
        }
        self.count += 1;
        self.arrays.push(entry.len() as u8);
        self.arrays.extend_from_slice(entry);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The arrays.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.arrays.drain(starts_end(self.count)..self.first);
        self.arrays[..8].copy_from_slice(&self.count.to_le_bytes());
        self.arrays
    }
}

/// Where the starts of so many entries end.
fn starts_end(entries: u64) -> usize {
    8 + 8 * entries.div_ceil(BLOCK) as usize
}

/// The entries of `body` with `changes`, ascending: whether each is there from now on.
///
/// # Errors
/// If an entry of the body cannot be read.
pub fn merged(body: EntryBody<'_>, changes: &[(&[u8], bool)]) -> Result<EntryBodyBuilder, String> {
    let bytes = changes.iter().map(|(entry, _)| entry.len()).sum::<usize>() + body.bytes();
    let mut built = EntryBodyBuilder::with_room(body.count() + changes.len() as u64, bytes);
    let mut changes = changes.iter().peekable();
    let mut cursor = EntryCursor::new(body, &[], None)?;
    loop {
        let (stored, changed) = (cursor.first()?, changes.peek());
        let is_stored_first = match (stored, changed) {
            (None, None) => return Ok(built),
            (Some(stored), Some((changed, _))) => stored < *changed,
            (stored, _) => stored.is_some(),
        };
        if let Some(stored) = stored.filter(|_| is_stored_first) {
            built.push(stored);
            cursor.skip_first();
            continue;
        }
        let Some((changed, is_there)) = changes.next() else { continue };
        if stored == Some(*changed) {
            cursor.skip_first();
        }
        if *is_there {
            built.push(changed);
        }
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

    fn arrays(entries: &BTreeSet<Vec<u8>>) -> Vec<u8> {
        // More room than is needed.
        let mut built = EntryBodyBuilder::with_room(entries.len() as u64 + 40, 0);
        entries.iter().for_each(|entry| built.push(entry));
        built.finish()
    }

    fn all(body: EntryBody<'_>) -> Vec<Vec<u8>> {
        let mut cursor = EntryCursor::new(body, &[], None).unwrap();
        let mut found = Vec::new();
        while let Some(entry) = cursor.first().unwrap() {
            found.push(entry.to_vec());
            cursor.skip_first();
        }
        found
    }

    proptest! {
        #[test]
        fn a_body_answers_as_a_sorted_set(
            entries in entries(),
            (low, high) in (proptest::collection::vec(0u8..4, 0..7), proptest::collection::vec(0u8..4, 0..7)),
        ) {
            let arrays = arrays(&entries);
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
            let arrays = arrays(&before);
            let listed: Vec<(&[u8], bool)> = changes.iter().map(|(entry, there)| (&entry[..], *there)).collect();
            let built = merged(EntryBody::parse(&arrays).unwrap(), &listed).unwrap();
            let mut expected: BTreeMap<Vec<u8>, bool> = before.into_iter().map(|entry| (entry, true)).collect();
            expected.extend(changes);
            let expected: Vec<Vec<u8>> =
                expected.into_iter().filter(|entry| entry.1).map(|entry| entry.0).collect();
            prop_assert_eq!(built.count(), expected.len() as u64);
            let built = built.finish();
            prop_assert_eq!(all(EntryBody::parse(&built).unwrap()), expected);
        }

        #[test]
        fn no_damage_makes_a_reader_panic(
            entries in entries(),
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        ) {
            let mut arrays = arrays(&entries);
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
