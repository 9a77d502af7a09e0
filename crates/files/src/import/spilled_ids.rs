//! Spilled ids: the rows of ids that memory doesn't hold, in a temporary file, found many at a time.
//!
//! ```text
//! push      (key, row) ──by the key's highest 8 bits──> buffer of a partition ──full──> file
//! settle    each partition is read, sorted and written once: equal keys are neighbours
//! find_all  keys by partition; a partition is read whole, each key is searched in it
//!
//! entry     16 bytes     key: 96 bits     row: 32 bits
//! ```
//!
//! The key of a number is itself, its bits mixed by a function that has an inverse. The key of a text is a hash of 96
//! bits with a random key (SipHash-2-4, cut): that two of 2^32 texts share one has a chance below 2^-33, whoever chose
//! them. Finding a few ids reads as much as finding millions, so whoever looks edges' ends up lets them gather first.
//!
//! Memory: `BUFFER_ENTRIES` entries a partition while ids come, then one partition a thread, a 256th of all.
//!
//! Source: the partitioning of the Grace hash join (Kitsuregawa, Tanaka and Moto-oka, 1983).

use crate::import::identity::VACANT;
use crate::import::staging::number_file::NumberFile;
use crate::import::staging::spill::Staging;
use evergraph_graph::error::Result;
use evergraph_graph::split_mix::finish;
use evergraph_graph::value::order_bytes::hash::SipHash128;
use rayon::prelude::*;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Partitions, one for each value of a key's highest byte.
const PARTITIONS: usize = 256;
/// Entries that a partition gathers before they are written: 16 KiB.
const BUFFER_ENTRIES: usize = 1 << 10;

/// The bits of an entry that are its row's, and those that are its key's.
const ROW_BITS: u128 = u32::MAX as u128;
const KEY_BITS: u128 = !ROW_BITS;

/// A key: an entry whose row is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct IdKey(u128);

/// What turns ids into keys.
#[derive(Clone, Debug)]
pub struct IdKeys {
    text_key: (u64, u64),
}

impl Default for IdKeys {
    /// With a random key for texts.
    fn default() -> Self {
        let half = || RandomState::new().hash_one(0u8);
        Self { text_key: (half(), half()) }
    }
}

impl IdKeys {
    /// The key of a number.
    #[must_use]
    #[inline]
    pub fn number(&self, id: u64) -> IdKey {
        // It has an inverse, and the highest bits depend on all.
        IdKey(u128::from(finish(id)) << 64)
    }

    /// The key of a text.
    #[must_use]
    #[inline]
    pub fn text(&self, id: &[u8]) -> IdKey {
        let mut hash = SipHash128::keyed(self.text_key);
        hash.update(id);
        IdKey(u128::from_le_bytes(hash.finish()) & KEY_BITS)
    }
}

impl IdKey {
    fn partition(self) -> usize {
        (self.0 >> 120) as usize
    }
}

/// Rows by ids, in a file.
#[derive(Debug)]
pub struct SpilledIds {
    keys: IdKeys,
    staging: Arc<Staging>,
    file: NumberFile,
    partitions: Vec<Partition>,
    count: u32,
    is_settled: bool,
}

#[derive(Debug, Default)]
struct Partition {
    buffer: Vec<u128>,
    /// Where its entries lie: offset in bytes, and how many.
    stretches: Vec<(u64, usize)>,
}

impl SpilledIds {
    /// None yet, in a file where `staging` has its own.
    ///
    /// # Errors
    /// As [`Staging::create_file`].
    pub fn new(staging: &Arc<Staging>) -> Result<Self> {
        let partitions = (0..PARTITIONS).map(|_| Partition::default()).collect();
        let (file, staging) = (NumberFile::new(staging)?, Arc::clone(staging));
        let keys = IdKeys::default();
        Ok(Self { keys, staging, file, partitions, count: 0, is_settled: false })
    }

    /// How many ids were pushed.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether ids are found, and no more are pushed.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// What turns ids into its keys.
    #[must_use]
    pub fn keys(&self) -> &IdKeys {
        &self.keys
    }

    /// Adds an id, perhaps once more.
    ///
    /// # Errors
    /// `limit` on a full disk; `io`.
    ///
    /// # Panics
    /// If ids are settled.
    pub fn push(&mut self, key: IdKey, row: u32) -> Result<()> {
        assert!(!self.is_settled, "all vertices come before the edges that name them");
        let at = key.partition();
        let buffer = &mut self.partitions[at].buffer;
        buffer.push(key.0 | u128::from(row));
        self.count += 1;
        if buffer.len() < BUFFER_ENTRIES { Ok(()) } else { self.write(at) }
    }

    #[cold]
    fn write(&mut self, at: usize) -> Result<()> {
        let Partition { buffer, stretches } = &mut self.partitions[at];
        let offset = self.file.append(buffer)?;
        stretches.push((offset, buffer.len()));
        buffer.clear();
        Ok(())
    }

    /// Sorts all ids, so that they can be found. Of an id that came more than once only the row for which `keep` says so
    /// is found; `on_repeated` hears of each other one, with the one that is kept.
    ///
    /// Cost: all entries read and written once; the file is there twice meanwhile.
    ///
    /// # Errors
    /// As [`SpilledIds::push`]; what `on_repeated` says.
    pub fn settle(
        &mut self,
        keep: KeptRow,
        on_repeated: &mut dyn FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        if std::mem::replace(&mut self.is_settled, true) {
            return Ok(());
        }
        let mut sorted = NumberFile::new(&self.staging)?;
        for at in 0..PARTITIONS {
            let mut entries = self.read(at)?;
            entries.par_sort_unstable();
            let mut kept: Vec<u128> = Vec::with_capacity(entries.len());
            for same in entries.chunk_by(|a, b| a >> 32 == b >> 32) {
                let (first, last) = (same[0], same[same.len() - 1]);
                let stays = if keep == KeptRow::First { first } else { last };
                kept.push(stays);
                for other in same.iter().filter(|other| **other != stays) {
                    on_repeated(stays as u32, *other as u32)?;
                }
            }
            let offset = sorted.append(&kept)?;
            self.partitions[at] = Partition { buffer: Vec::new(), stretches: vec![(offset, kept.len())] };
        }
        self.file = sorted;
        Ok(())
    }

    /// The row of each of `keys`, [`VACANT`] where there is none. On all threads of the current pool.
    ///
    /// Cost: reads the partitions that the keys fall into, whole; 20 bytes a key.
    ///
    /// # Errors
    /// `io`.
    ///
    /// # Panics
    /// If ids are not settled, or for more than 2^32 keys.
    pub fn find_all(&self, mut keys: Vec<IdKey>) -> Result<Vec<u32>> {
        assert!(self.is_settled && u32::try_from(keys.len()).is_ok(), "few keys, of ids that are settled");
        // A key has room for its place among the others, so that each lies where it is wanted next.
        (0..).zip(&mut keys).for_each(|(at, key)| key.0 |= at);
        let ends = sort_by_partition(&mut keys);
        let mut partitions = Vec::with_capacity(PARTITIONS);
        let (mut rest, mut start) = (&mut *keys, 0);
        for (partition, end) in ends.into_iter().enumerate() {
            let (wanted, others) = rest.split_at_mut(end - start);
            (rest, start) = (others, end);
            partitions.push((partition, wanted));
        }
        // The row takes the place of the key.
        partitions.into_par_iter().filter(|(_, wanted)| !wanted.is_empty()).try_for_each(
            |(partition, wanted)| -> Result<()> {
                let entries = self.read(partition)?;
                for key in wanted {
                    let (place, at) = (place_of(&entries, key.0 & KEY_BITS), key.0 & ROW_BITS);
                    let found = entries.get(place).filter(|entry| **entry & KEY_BITS == key.0 & KEY_BITS);
                    let row = found.map_or(VACANT, |entry| *entry as u32);
                    key.0 = u128::from(row) << 32 | at;
                }
                Ok(())
            },
        )?;
        let mut rows = vec![VACANT; keys.len()];
        for found in keys {
            rows[(found.0 & ROW_BITS) as usize] = (found.0 >> 32) as u32;
        }
        Ok(rows)
    }

    /// The entries of a partition.
    fn read(&self, at: usize) -> Result<Vec<u128>> {
        let Partition { buffer, stretches } = &self.partitions[at];
        let count = stretches.iter().map(|(_, count)| count).sum::<usize>() + buffer.len();
        let mut entries = Vec::with_capacity(count);
        stretches
            .iter()
            .try_for_each(|(offset, count)| self.file.read_into(*offset, *count, &mut entries))?;
        entries.extend_from_slice(buffer);
        Ok(entries)
    }
}

/// Brings keys into the order of their partitions, in place; where each partition ends.
///
/// Source: American flag sort (McIlroy, Bostic and McIlroy, "Engineering radix sort", 1993).
fn sort_by_partition(keys: &mut [IdKey]) -> [usize; PARTITIONS] {
    let mut ends = [0; PARTITIONS];
    keys.iter().for_each(|key| ends[key.partition()] += 1);
    let mut next = [0; PARTITIONS];
    let mut start = 0;
    for (next, end) in next.iter_mut().zip(&mut ends) {
        *next = start;
        start += *end;
        *end = start;
    }
    for partition in 0..PARTITIONS {
        while next[partition] < ends[partition] {
            let from = next[partition];
            let home = keys[from].partition();
            keys.swap(from, next[home]);
            next[home] += 1;
        }
    }
    ends
}

/// The place of the first of `entries`, those of a partition in order, that isn't below `key`.
///
/// Keys are spread evenly, so a place follows from the key, and a better one from the distance of what is found there: a
/// search by halves takes ten cache misses more. Entries in any order of keys are found, by steps that double.
///
/// Source: interpolation search (Perl, Itai and Avni, CACM 1978), two steps of it.
fn place_of(entries: &[u128], key: u128) -> usize {
    let Some(last) = entries.len().checked_sub(1) else { return 0 };
    // The 64 bits behind those that say which partition it is, as a share of it.
    let share = |entry: u128| i128::from((entry >> 56) as u64);
    let places = |share: i128| (share * entries.len() as i128) >> 64;
    let first = places(share(key));
    let second = first + places(share(key) - share(entries[first as usize]));
    let near = second.clamp(0, last as i128) as usize;
    let (mut low, mut high, mut step) = (near, near, 1);
    while low > 0 && entries[low - 1] >= key {
        (low, high) = (low.saturating_sub(step), low);
        step *= 2;
    }
    while high < entries.len() && entries[high] < key {
        (low, high) = (high + 1, (high + 1 + step).min(entries.len()));
        step *= 2;
    }
    low + entries[low..high].partition_point(|entry| *entry < key)
}

/// Which row of an id that came more than once is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeptRow {
    /// The lowest.
    First,
    /// The highest.
    Last,
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::Error;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn spilled() -> SpilledIds {
        SpilledIds::new(&Arc::new(Staging::new(0, std::env::temp_dir()))).unwrap()
    }

    fn all(spilled: &SpilledIds, ids: &[u64]) -> Vec<u32> {
        let keys: Vec<IdKey> = ids.iter().map(|id| spilled.keys().number(*id)).collect();
        spilled.find_all(keys).unwrap()
    }

    proptest! {
        #[test]
        fn rows_and_repeated_ids_agree_with_a_plain_map(
            ids in prop::collection::vec(prop_oneof![0u64..200, any::<u64>()], 0..400),
            is_text in any::<bool>(),
            keep in prop_oneof![Just(KeptRow::First), Just(KeptRow::Last)],
        ) {
            let mut spilled = spilled();
            let key = |spilled: &SpilledIds, id: u64| match is_text {
                true => spilled.keys().text(id.to_string().as_bytes()),
                false => spilled.keys().number(id),
            };
            let mut model: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
            for (row, id) in (0..).zip(&ids) {
                spilled.push(key(&spilled, *id), row).unwrap();
                model.entry(*id).or_default().push(row);
            }
            let kept = |rows: &Vec<u32>| if keep == KeptRow::First { rows[0] } else { rows[rows.len() - 1] };
            let mut repeated: Vec<(u32, u32)> = Vec::new();
            spilled.settle(keep, &mut |kept, other| { repeated.push((kept, other)); Ok(()) }).unwrap();
            repeated.sort_unstable();
            let mut wanted: Vec<(u32, u32)> = model.values().flat_map(|rows| {
                let stays = kept(rows);
                rows.iter().filter(move |row| **row != stays).map(move |row| (stays, *row))
            }).collect();
            wanted.sort_unstable();
            prop_assert_eq!(repeated, wanted);
            let asked: Vec<u64> = (0..220).chain(ids.iter().copied()).chain([u64::MAX, 1 << 63]).collect();
            let keys: Vec<IdKey> = asked.iter().map(|id| key(&spilled, *id)).collect();
            let rows = spilled.find_all(keys).unwrap();
            let wanted: Vec<u32> = asked.iter().map(|id| model.get(id).map_or(VACANT, kept)).collect();
            prop_assert_eq!(rows, wanted);
        }
    }

    proptest! {
        #[test]
        fn keys_come_into_the_order_of_their_partitions(
            keys in prop::collection::vec(prop_oneof![any::<u128>(), any::<u128>().prop_map(|key| key >> 6)], 0..2000),
        ) {
            let mut sorted: Vec<IdKey> = keys.iter().copied().map(IdKey).collect();
            let ends = sort_by_partition(&mut sorted);
            let mut start = 0;
            for (partition, end) in ends.into_iter().enumerate() {
                prop_assert!(sorted[start..end].iter().all(|key| key.partition() == partition));
                start = end;
            }
            prop_assert_eq!(start, keys.len());
            let mut keys: Vec<IdKey> = keys.into_iter().map(IdKey).collect();
            keys.sort_unstable();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, keys);
        }

        #[test]
        fn interpolation_finds_what_a_search_by_halves_finds_however_keys_are_spread(
            keys in prop::collection::vec(prop_oneof![any::<u128>(), any::<u128>().prop_map(|key| key >> 60)], 0..300),
            more in prop::collection::vec(any::<u128>(), 0..20),
        ) {
            let in_partition = |key: &u128| key >> 8 | 7 << 120;
            let mut entries: Vec<u128> = keys.iter().map(in_partition).collect();
            entries.sort_unstable();
            let asked = entries.iter().flat_map(|entry| [entry - 1, *entry, entry + 1]);
            for key in asked.chain(more.iter().map(in_partition)) {
                prop_assert_eq!(place_of(&entries, key), entries.partition_point(|entry| *entry < key));
            }
        }
    }

    #[test]
    fn full_buffers_go_to_the_file_and_come_back() {
        let mut spilled = spilled();
        let count = (PARTITIONS * BUFFER_ENTRIES * 2) as u64;
        for id in 0..count {
            spilled.push(spilled.keys().number(id << 20), (count - id) as u32).unwrap();
        }
        assert!(
            spilled.file.bytes() > 0
                && spilled.partitions.iter().any(|partition| !partition.buffer.is_empty())
        );
        spilled.settle(KeptRow::First, &mut |_, _| unreachable!("each came once")).unwrap();
        assert_eq!(spilled.file.bytes(), count * size_of::<u128>() as u64);
        assert_eq!(
            all(&spilled, &[0, 1, 7 << 20, (count - 1) << 20]),
            [count as u32, VACANT, count as u32 - 7, 1]
        );
    }

    #[test]
    fn an_error_of_who_hears_of_repeated_ids_is_that_of_settling() {
        let mut spilled = spilled();
        (0..2).for_each(|row| spilled.push(spilled.keys().number(7), row).unwrap());
        let error = spilled.settle(KeptRow::First, &mut |_, _| Err(Error::invalid("twice"))).unwrap_err();
        assert_eq!(error.to_string(), "twice");
    }
}
