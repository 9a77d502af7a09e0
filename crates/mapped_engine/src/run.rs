//! Run: records of one segment sorted by key, then time; immutable, in a block of `live`.
//!
//! ```text
//! word 0     records:32 | 1 if any record has properties:32
//! keys       a word each
//! stamps     a word each
//! places     if any record has properties: the line of those of each, or 0, two a word
//! ```
//!
//! A run is stored before a version refers to it, and then never changes. Who reads one checks its length once; keys
//! that don't ascend, which only damage makes, lead to wrong answers and never out of the run.

use crate::shared_record::{PlacedRecord, SharedRecord, properties_at, properties_into};
use crate::words::{LineNumber, SharedWords};
use evergraph_graph::error::Result;
use evergraph_storage::record::{RecordKey, Stamp};
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::ops::{Range, RangeInclusive};

const HAS_PROPERTIES: u64 = 1 << 32;

/// The most words of a run of so many records.
#[must_use]
pub fn run_words(records: usize) -> usize {
    1 + 2 * records + records.div_ceil(2)
}

/// Stores records, sorted by (key, stamp) and fewer than 2^32, as a run into at least as many words as [`run_words`] said.
pub fn store_run(words: &[AtomicU64], records: &[PlacedRecord]) {
    debug_assert!(records.is_sorted_by_key(|record| (record.key, record.stamp)));
    let has_properties = records.iter().any(|record| !record.properties.is_none());
    let count = records.len() as u64;
    words[0].store(if has_properties { count | HAS_PROPERTIES } else { count }, Ordering::Relaxed);
    let (keys, rest) = words[1..].split_at(records.len());
    let (stamps, places) = rest.split_at(records.len());
    for ((record, key), stamp) in records.iter().zip(keys).zip(stamps) {
        key.store(record.key.0, Ordering::Relaxed);
        stamp.store(record.stamp.0, Ordering::Relaxed);
    }
    if has_properties {
        let line = |record: &PlacedRecord| u64::from(record.properties.0);
        for (two, word) in records.chunks(2).zip(places) {
            word.store(line(&two[0]) | two.get(1).map_or(0, line) << 32, Ordering::Relaxed);
        }
    }
}

/// Sorts `records`: sorted runs one after the other, and perhaps a tail, which is in the order of its commits.
///
/// The standard library's stable sort finds the runs and merges them; the unstable one does not look for them.
///
/// Cost: a comparison a record if all of them are in order, and otherwise about as many as the logarithm of the number of runs.
/// Meanwhile memory for half of the records, or for all of them if these are less than 8 MB.
pub fn merge_sorted_runs<T: Ord>(records: &mut [T]) {
    records.sort();
}

/// A run as the writer knows it: with so many records.
#[derive(Clone, Copy, Debug)]
pub struct PlacedRun<'a> {
    keys: &'a [AtomicU64],
    stamps: &'a [AtomicU64],
    /// Empty if no record has properties.
    places: &'a [AtomicU64],
}

impl<'a> PlacedRun<'a> {
    /// The run of `count` records in the writer's own block.
    #[must_use]
    pub fn new(words: &'a [AtomicU64], count: usize) -> Self {
        let has_properties = words[0].load(Ordering::Relaxed) & HAS_PROPERTIES != 0;
        let (keys, rest) = words[1..].split_at(count);
        let (stamps, places) = rest.split_at(count);
        Self { keys, stamps, places: if has_properties { places } else { &[] } }
    }

    /// All records, by key, then time.
    pub fn all(self) -> impl Iterator<Item = PlacedRecord> + use<'a> {
        (0..self.keys.len()).map(move |at| self.record(at))
    }

    /// The records of these keys. Cost: a binary search.
    pub fn range(self, keys: &RangeInclusive<RecordKey>) -> impl Iterator<Item = PlacedRecord> + use<'a> {
        places_of(self.keys, keys).map(move |at| self.record(at))
    }

    fn record(&self, at: usize) -> PlacedRecord {
        PlacedRecord {
            key: RecordKey(self.keys[at].load(Ordering::Relaxed)),
            stamp: Stamp(self.stamps[at].load(Ordering::Relaxed)),
            properties: if self.places.is_empty() { LineNumber::NONE } else { line_of(self.places, at) },
        }
    }
}

fn places_of(all: &[AtomicU64], keys: &RangeInclusive<RecordKey>) -> Range<usize> {
    let before = |limit: u64, found: &AtomicU64| found.load(Ordering::Relaxed) < limit;
    let from = all.partition_point(|key| before(keys.start().0, key));
    let rest = &all[from..];
    let Some(limit) = keys.end().0.checked_add(1) else { return from..all.len() };
    // Nearly always none or a few: in steps that double, from the first on.
    let (mut some, mut step) = (0, 1);
    while rest.get(some + step - 1).is_some_and(|key| before(limit, key)) {
        some += step;
        step *= 2;
    }
    let last = rest.len().min(some + step - 1);
    from..from + some + rest[some..last].partition_point(|key| before(limit, key))
}

fn line_of(places: &[AtomicU64], at: usize) -> LineNumber {
    LineNumber((places[at / 2].load(Ordering::Relaxed) >> (32 * (at % 2))) as u32)
}

/// A run where it lies.
#[derive(Clone, Copy, Debug)]
pub struct RunRecords<'a> {
    shared: &'a SharedWords,
    keys: &'a [AtomicU64],
    stamps: &'a [AtomicU64],
    /// Empty if no record has properties.
    places: &'a [AtomicU64],
}

impl<'a> RunRecords<'a> {
    /// The run at `line`.
    ///
    /// # Errors
    /// `corrupt` if there can't be one.
    pub fn at(shared: &'a SharedWords, line: LineNumber) -> Result<Self> {
        let head = shared.slice(line, 1)?[0].load(Ordering::Relaxed);
        let records = head as u32 as usize;
        let places = match head >> 32 {
            0 => 0,
            1 => records.div_ceil(2),
            flags => return Err(shared.damaged(line, format_args!("a run with flags {flags}"))),
        };
        let words = shared.slice(line, 1 + 2 * records + places)?;
        let (keys, rest) = words[1..].split_at(records);
        let (stamps, places) = rest.split_at(records);
        Ok(Self { shared, keys, stamps, places })
    }

    /// Records in the run.
    #[must_use]
    pub fn count(&self) -> usize {
        self.keys.len()
    }

    /// Where the records with these keys are. Cost: a binary search.
    #[must_use]
    pub fn places(&self, keys: &RangeInclusive<RecordKey>) -> Range<usize> {
        places_of(self.keys, keys)
    }

    /// Key and stamp of the record at `place`.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn stamp(&self, place: usize) -> (RecordKey, Stamp) {
        let load = |words: &[AtomicU64]| words[place].load(Ordering::Relaxed);
        (RecordKey(load(self.keys)), Stamp(load(self.stamps)))
    }

    /// Key and stamp of all records, by key, then time.
    pub fn stamps(&self) -> impl ExactSizeIterator<Item = (RecordKey, Stamp)> + use<'a> {
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let pairs = self.keys.iter().zip(self.stamps);
        pairs.map(move |(key, stamp)| (RecordKey(load(key)), Stamp(load(stamp))))
    }

    /// The record at `place`, with its properties.
    ///
    /// # Errors
    /// `corrupt` if its properties don't lie in `live`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn record(&self, place: usize) -> Result<SharedRecord> {
        let (key, stamp) = self.stamp(place);
        Ok(SharedRecord { key, stamp, properties: properties_at(self.shared, self.line(place))? })
    }

    /// The properties of the record at `place`, at the front of `buffer`; `None` if they are longer than that.
    ///
    /// # Errors
    /// As [`RunRecords::record`].
    ///
    /// # Panics
    /// If there are fewer records.
    pub fn properties_into<'b>(&self, place: usize, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>> {
        properties_into(self.shared, self.line(place), buffer)
    }

    fn line(&self, place: usize) -> LineNumber {
        if self.places.is_empty() { LineNumber::NONE } else { line_of(self.places, place) }
    }

    /// All records.
    ///
    /// # Errors
    /// As [`RunRecords::record`].
    pub fn all(&self) -> Result<Vec<SharedRecord>> {
        (0..self.count()).map(|place| self.record(place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_record::{properties_words, store_properties};
    use crate::words::RegionSizes;
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_storage::record::Operation;
    use proptest::prelude::*;

    const AT: LineNumber = LineNumber(2);

    /// A run of these records at [`AT`], and their properties from line 256 on.
    fn shared(records: &[SharedRecord]) -> (SharedWords, Vec<PlacedRecord>) {
        let shared = SharedWords::on_heap(RegionSizes::new(12, 12).unwrap());
        let mut next = 256;
        let mut place = |record: &SharedRecord| {
            let (words, line) = (properties_words(&record.properties), LineNumber(next));
            let is_bare = record.properties.is_empty();
            if !is_bare {
                store_properties(shared.slice(line, words).unwrap(), &record.properties);
                next += words.div_ceil(8) as u32;
            }
            let properties = if is_bare { LineNumber::NONE } else { line };
            PlacedRecord { key: record.key, stamp: record.stamp, properties }
        };
        let placed: Vec<PlacedRecord> = records.iter().map(&mut place).collect();
        store_run(shared.slice(AT, run_words(records.len())).unwrap(), &placed);
        (shared, placed)
    }

    fn record(key: u64, timestamp: u64, properties: &[u8]) -> SharedRecord {
        let stamp = Stamp::new(Timestamp(timestamp), Operation::Replace);
        SharedRecord { key: RecordKey(key), stamp, properties: properties.to_vec() }
    }

    proptest! {
        #[test]
        fn a_run_answers_as_its_records_do(
            mut records in proptest::collection::vec(
                (0u64..20, 1u64..9, proptest::collection::vec(any::<u8>(), 0..20)), 0..40),
            bare in any::<bool>(),
            (from, to) in (0u64..22, 0u64..22),
        ) {
            records.sort();
            let all: Vec<SharedRecord> = records
                .iter()
                .map(|(key, ts, bytes)| record(*key, *ts, if bare { &[] } else { bytes }))
                .collect();
            let (shared, stored) = shared(&all);
            let run = RunRecords::at(&shared, AT).unwrap();
            prop_assert_eq!(run.count(), all.len());
            let found: Vec<_> = (0..run.count()).map(|place| run.record(place).unwrap()).collect();
            prop_assert_eq!(&found, &all);
            let mut buffer = [0; 12];
            for (place, record) in all.iter().enumerate() {
                let expected = (record.properties.len() <= 12).then_some(&record.properties[..]);
                prop_assert_eq!(run.properties_into(place, &mut buffer).unwrap(), expected);
            }
            let stamps: Vec<_> = all.iter().map(|record| (record.key, record.stamp)).collect();
            prop_assert_eq!(run.stamps().collect::<Vec<_>>(), stamps);
            let words = shared.slice(AT, run_words(all.len())).unwrap();
            prop_assert_eq!(PlacedRun::new(words, all.len()).all().collect::<Vec<_>>(), &stored[..]);
            for keys in [RecordKey(from)..=RecordKey(to), RecordKey(from)..=RecordKey(u64::MAX)] {
                let found: Vec<_> = run.places(&keys).map(|place| run.record(place).unwrap()).collect();
                let wanted: Vec<_> = all.iter().filter(|it| keys.contains(&it.key)).cloned().collect();
                prop_assert_eq!(found, wanted);
                let found: Vec<_> = PlacedRun::new(words, all.len()).range(&keys).collect();
                let wanted: Vec<_> = stored.iter().filter(|it| keys.contains(&it.key)).copied().collect();
                prop_assert_eq!(found, wanted);
            }
        }

        #[test]
        fn a_damaged_run_gives_errors_and_wrong_answers_but_no_panic(
            damage in proptest::collection::vec((0usize..40, any::<u64>()), 1..6),
            keys in (any::<u64>(), any::<u64>()),
        ) {
            let (shared, _) = shared(&(1..9).map(|at| record(at, at, &[7; 5])).collect::<Vec<_>>());
            for (word, value) in damage {
                shared.slice(AT, 40).unwrap()[word].store(value, Ordering::Relaxed);
            }
            if let Ok(run) = RunRecords::at(&shared, AT) {
                let places = run.places(&(RecordKey(keys.0)..=RecordKey(keys.1)));
                for place in places.chain(0..run.count().min(3)) {
                    let _ = run.record(place);
                }
            }
        }
    }

    #[test]
    fn properties_that_lie_outside_are_an_error_that_names_their_place() {
        let (shared, _) = shared(&[record(1, 1, b"abc"), record(2, 2, b"de")]);
        shared.slice(AT, 6).unwrap()[5].store(256 | 1 << 58, Ordering::Relaxed);
        let run = RunRecords::at(&shared, AT).unwrap();
        assert_eq!(run.record(0).unwrap(), record(1, 1, b"abc"));
        let error = run.record(1).unwrap_err();
        assert!(error.to_string().contains("damaged at byte 4294967296"), "{error}");
        shared.slice(AT, 1).unwrap()[0].store(2 | 2 << 32, Ordering::Relaxed);
        let error = RunRecords::at(&shared, AT).unwrap_err();
        assert!(error.to_string().contains("damaged at byte 128: a run with flags 2"), "{error}");
    }
}
