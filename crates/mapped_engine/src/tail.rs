//! Tail: the newest records of one segment, in commit order; at most 64, in a block of `live`.
//!
//! ```text
//! word 0      length: how many records are readable
//! word 1..    records, three words each: key | stamp | line of its properties, or 0
//! ```
//!
//! Concurrency: the holder of the commit latch pushes; any process reads without a lock. A push stores the record's
//! words (Relaxed), then the length (Release); a reader loads the length (Acquire) and looks at no record beyond it.
//! Records don't change once they are readable. Under its timestamp a reader ignores what is newer.
//!
//! Source: as of the memory engine's tails: LiveGraph (VLDB 2020, sections 3 and 4), DGAP (SC 2023, section 3.1.2).
//! Differs from DGAP: a record belongs to a commit, and its length decides what is there, not its first zero.

use crate::shared_record::{PlacedRecord, SharedRecord, properties_at};
use crate::words::{LineNumber, SharedWords};
use evergraph_graph::error::Result;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::{RecordKey, Stamp};
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};

/// The most records that a tail holds.
#[cfg(not(shuttle))]
pub const TAIL_CAPACITY: usize = 64;
/// The most records that a tail holds: few, so that schedules of a few commits fill it.
#[cfg(shuttle)]
pub const TAIL_CAPACITY: usize = 2;
const SMALLEST: usize = if TAIL_CAPACITY < 4 { 1 } else { 4 };
const RECORD_WORDS: usize = 3;

/// The words of a tail for `capacity` records.
#[must_use]
pub fn tail_words(capacity: usize) -> usize {
    1 + capacity * RECORD_WORDS
}

/// How many records the smallest tail holds that has room for `records`; `None` if no tail is so large. Tails grow by
/// fours.
#[must_use]
pub fn tail_capacity(records: usize) -> Option<usize> {
    let mut capacity = SMALLEST;
    while capacity < records {
        if capacity == TAIL_CAPACITY {
            return None;
        }
        capacity = (capacity * 4).min(TAIL_CAPACITY);
    }
    Some(capacity)
}

/// The sizes of tails, ascending.
pub fn tail_capacities() -> impl Iterator<Item = usize> {
    std::iter::successors(tail_capacity(1), |capacity| tail_capacity(capacity + 1))
}

/// Makes `words` an empty tail.
pub fn clear_tail(words: &[AtomicU64]) {
    words[0].store(0, Ordering::Relaxed);
}

/// Appends a record to the `length` that are there; under the latch, where there is room.
pub fn push(words: &[AtomicU64], length: usize, PlacedRecord { key, stamp, properties }: PlacedRecord) {
    let pushed = length as u64 + 1;
    if planted(Bug::LengthBeforeRecord) {
        words[0].store(pushed, Ordering::Release);
    }
    let record = &words[1 + length * RECORD_WORDS..][..RECORD_WORDS];
    record[0].store(key.0, Ordering::Relaxed);
    record[1].store(stamp.0, Ordering::Relaxed);
    record[2].store(properties.0.into(), Ordering::Relaxed);
    let order = if planted(Bug::LengthRelaxed) { Ordering::Relaxed } else { Ordering::Release };
    words[0].store(pushed, order);
}

/// The first `count` records of a tail, as the writer knows that they are there.
pub fn placed<'a>(
    words: &'a [AtomicU64],
    count: usize,
) -> impl DoubleEndedIterator<Item = PlacedRecord> + use<'a> {
    words[1..].chunks_exact(RECORD_WORDS).take(count).map(|record| {
        let [key, stamp, properties] = [0, 1, 2].map(|word: usize| record[word].load(Ordering::Relaxed));
        PlacedRecord { key: RecordKey(key), stamp: Stamp(stamp), properties: LineNumber(properties as u32) }
    })
}

/// The readable records of a tail.
#[derive(Clone, Copy, Debug)]
pub struct TailRecords<'a> {
    shared: &'a SharedWords,
    line: LineNumber,
    /// Three words for each record.
    records: &'a [AtomicU64],
}

impl<'a> TailRecords<'a> {
    /// Those of the tail at `line`, none if there is no tail.
    ///
    /// # Errors
    /// `corrupt` if there can't be a tail.
    pub fn at(shared: &'a SharedWords, line: LineNumber) -> Result<Self> {
        if line.is_none() {
            return Ok(Self { shared, line, records: &[] });
        }
        let length = shared.slice(line, 1)?[0].load(Ordering::Acquire);
        if length > TAIL_CAPACITY as u64 {
            return Err(shared.damaged(line, format_args!("a tail of {length} records")));
        }
        let words = shared.slice(line, tail_words(length as usize))?;
        Ok(Self { shared, line, records: &words[1..] })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.records.len() / RECORD_WORDS
    }

    /// Key and stamp of each, oldest first.
    pub fn stamps(&self) -> impl DoubleEndedIterator<Item = (RecordKey, Stamp)> + use<'a> {
        let records = self.records.chunks_exact(RECORD_WORDS);
        records.map(|record| {
            (RecordKey(record[0].load(Ordering::Relaxed)), Stamp(record[1].load(Ordering::Relaxed)))
        })
    }

    /// The record `number`, oldest first, with its properties.
    ///
    /// # Errors
    /// `corrupt` if its properties don't lie in `live`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn record(&self, number: usize) -> Result<SharedRecord> {
        let record = &self.records[number * RECORD_WORDS..][..RECORD_WORDS];
        let [key, stamp, line] = [0, 1, 2].map(|word: usize| record[word].load(Ordering::Relaxed));
        let Ok(line) = u32::try_from(line).map(LineNumber) else {
            return Err(self.shared.damaged(self.line, format_args!("record {number} names line {line}")));
        };
        let properties = properties_at(self.shared, line)?;
        Ok(SharedRecord { key: RecordKey(key), stamp: Stamp(stamp), properties })
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::shared_record::{properties_words, store_properties};
    use crate::words::RegionSizes;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_storage::record::Operation;

    const AT: LineNumber = LineNumber(64);

    fn shared() -> SharedWords {
        SharedWords::on_heap(RegionSizes::new(10, 12).expect("these sizes are allowed"))
    }

    fn stamp(timestamp: u64) -> Stamp {
        Stamp::new(Timestamp(timestamp), Operation::Insert)
    }

    #[test]
    fn a_tail_holds_its_records_in_order_with_their_properties() {
        let shared = shared();
        let words = shared.slice(AT, tail_words(TAIL_CAPACITY)).unwrap();
        clear_tail(words);
        let bytes: Vec<u8> = (0..21).collect();
        store_properties(shared.slice(LineNumber(128), properties_words(&bytes)).unwrap(), &bytes);
        for number in 0..TAIL_CAPACITY as u64 {
            let properties = if number % 3 == 0 { LineNumber(128) } else { LineNumber::NONE };
            let record = PlacedRecord { key: RecordKey(number * 7), stamp: stamp(number + 1), properties };
            push(words, number as usize, record);
            assert_eq!(TailRecords::at(&shared, AT).unwrap().count() as u64, number + 1);
        }
        let tail = TailRecords::at(&shared, AT).unwrap();
        for (number, found) in tail.stamps().enumerate() {
            assert_eq!(found, (RecordKey(number as u64 * 7), stamp(number as u64 + 1)));
            let record = tail.record(number).unwrap();
            assert_eq!((record.key, record.stamp), found);
            assert_eq!(record.properties, if number % 3 == 0 { bytes.clone() } else { Vec::new() });
        }
        assert_eq!(TailRecords::at(&shared, LineNumber::NONE).unwrap().count(), 0);
    }

    #[test]
    fn tails_grow_by_fours_up_to_the_largest() {
        let capacities: Vec<_> = [1, 4, 5, 16, 17, 64].map(tail_capacity).into_iter().flatten().collect();
        assert_eq!(capacities, [4, 4, 16, 16, 64, 64]);
        assert_eq!(tail_capacity(65), None);
        assert_eq!(tail_capacities().collect::<Vec<_>>(), [4, 16, 64]);
    }

    #[test]
    fn a_damaged_tail_is_an_error_that_names_its_place() {
        let shared = shared();
        let words = shared.slice(AT, tail_words(4)).unwrap();
        let refused = |result: Result<SharedRecord>| {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            error.to_string()
        };
        push(words, 0, PlacedRecord { key: RecordKey(1), stamp: stamp(1), properties: LineNumber::NONE });
        let record = || TailRecords::at(&shared, AT)?.record(0);
        for line in [u64::MAX, u64::from(u32::MAX), 1 << 32] {
            words[3].store(line, Ordering::Relaxed);
            assert!(refused(record()).contains("damaged at byte"));
        }
        words[3].store(128, Ordering::Relaxed);
        for length in [u64::MAX, u64::MAX - 7, 1 << 40, 100_000] {
            shared.line(LineNumber(128)).unwrap()[0].store(length, Ordering::Relaxed);
            assert!(refused(record()).contains("damaged at byte 8192"));
        }
        for length in [65, u64::MAX] {
            words[0].store(length, Ordering::Relaxed);
            assert!(refused(record()).contains("damaged at byte 4096: a tail of"));
        }
        // Its length says more than the region has.
        let last = LineNumber(shared.region_end(AT).unwrap().0 - 1);
        shared.line(last).unwrap()[0].store(64, Ordering::Relaxed);
        assert_eq!(TailRecords::at(&shared, last).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}
