//! Version: what a segment consists of between two switches, in one line of `live`; and the way to the past.
//!
//! ```text
//! word 0      base: the body is exact at it
//!      1, 2   body: where it lies in the array files, and its bytes; 0 bytes: empty
//!      3..6   runs, two lines a word, the oldest first; 0 behind the last
//!      6      tail:32 | hubs:32, lines
//!      7      older: the line of the newest version before it with an older base
//! ```
//!
//! A version doesn't change, but for `older`, which skips what nobody reads any more. Runs and tail hold every record
//! that is newer than the base. Who begins a snapshot finds a version with a base that it sees: the present one, or one
//! behind `older`. Bases fall on the way, which ends a walk through damage.

use crate::run::{RunRecords, merge_sorted_runs};
use crate::shared_record::{PropertyBytes, SharedRecord};
use crate::tail::TailRecords;
use crate::words::{LINE_WORDS, LineNumber, SharedWords};
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::RecordKey;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::ops::RangeInclusive;

/// Runs of a version at most.
pub const RUNS_MAX: usize = 6;
const OLDER: usize = 7;

/// Versions that a walk passes at most; a writer keeps one for each open snapshot, and a few that wait to go.
const WALK_MAX: usize = 1 << 16;

/// Where a body lies in the array files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct BodyPlace {
    /// Its extent.
    pub extent: u64,
    /// Its bytes; none, if the body is empty and has no extent.
    pub bytes: u64,
}

/// What a version says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentVersion {
    /// The commit at which the body is exact.
    pub base: Timestamp,
    /// Where the body lies.
    pub body: BodyPlace,
    /// Lines of the runs, the oldest first; none behind the last.
    pub runs: [LineNumber; RUNS_MAX],
    /// The line of the tail; none if no record came since the last run.
    pub tail: LineNumber,
    /// The line of the table of hubs; none if the segment has none.
    pub hubs: LineNumber,
}

impl SegmentVersion {
    /// The runs that there are, the oldest first.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = LineNumber> + Clone + use<> {
        self.runs.into_iter().filter(|run| !run.is_none())
    }

    /// Stores it into its line, with the version before it; published by a reference that is stored later.
    pub fn store(&self, line: &[AtomicU64; LINE_WORDS], older: LineNumber) {
        let pair = |low: LineNumber, high: LineNumber| u64::from(low.0) | u64::from(high.0) << 32;
        let runs = [0, 2, 4].map(|at: usize| pair(self.runs[at], self.runs[at + 1]));
        let words = [
            self.base.0,
            self.body.extent,
            self.body.bytes,
            runs[0],
            runs[1],
            runs[2],
            pair(self.tail, self.hubs),
            older.0.into(),
        ];
        line.iter().zip(words).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
    }

    /// What `line` says. Whoever calls this found the line by a load that sees what its store published.
    #[must_use]
    pub fn load(line: &[AtomicU64; LINE_WORDS]) -> Self {
        let word = |at: usize| line[at].load(Ordering::Relaxed);
        let low = |word: u64| LineNumber(word as u32);
        let high = |word: u64| LineNumber((word >> 32) as u32);
        let [first, second, third, last] = [3, 4, 5, 6].map(word);
        Self {
            base: Timestamp(word(0)),
            body: BodyPlace { extent: word(1), bytes: word(2) },
            runs: [low(first), high(first), low(second), high(second), low(third), high(third)],
            tail: low(last),
            hubs: high(last),
        }
    }

    /// The version that a snapshot at `timestamp` reads: the one at `line`, or the newest behind it whose base it sees.
    /// `None` if it sees none: the segment came into being later.
    ///
    /// # Errors
    /// `corrupt` if the chain leaves `live`, or doesn't lead back in time.
    pub fn visible(shared: &SharedWords, line: LineNumber, timestamp: Timestamp) -> Result<Option<Self>> {
        let (mut at, mut newer) = (line, None);
        for _ in 0..WALK_MAX {
            let words = shared.line(at)?;
            let base = Timestamp(words[0].load(Ordering::Relaxed));
            if newer.is_some_and(|newer| base >= newer) {
                return Err(
                    shared.damaged(at, format_args!("base {base} before base {}", newer.unwrap_or(base)))
                );
            }
            if base.visible_at(timestamp) {
                return Ok(Some(Self::load(words)));
            }
            newer = Some(base);
            let older = words[OLDER].load(Ordering::Acquire);
            at = match u32::try_from(older) {
                Ok(0) => return Ok(None),
                Ok(older) => LineNumber(older),
                Err(_) => return Err(shared.damaged(at, format_args!("an older version at line {older}"))),
            };
        }
        Err(shared.damaged(line, format_args!("more than {WALK_MAX} versions behind it")))
    }

    /// The records of `keys` that a snapshot at `timestamp` sees, by (key, stamp).
    ///
    /// # Errors
    /// `corrupt` if a run or the tail is damaged.
    pub fn records(
        &self,
        shared: &SharedWords,
        keys: &RangeInclusive<RecordKey>,
        timestamp: Timestamp,
    ) -> Result<Vec<SharedRecord>> {
        let (mut found, mut bytes) = (Vec::new(), PropertyBytes::default());
        for line in self.runs() {
            let run = RunRecords::at(shared, line)?;
            for place in run.places(keys) {
                if run.stamp(place).1.timestamp().visible_at(timestamp) {
                    let record = run.record(place)?;
                    bytes.take(shared, line, &record)?;
                    found.push(record);
                }
            }
        }
        let tail = TailRecords::at(shared, self.tail)?;
        for (at, (key, stamp)) in tail.stamps().enumerate() {
            if keys.contains(&key) && stamp.timestamp().visible_at(timestamp) {
                let record = tail.record(at)?;
                bytes.take(shared, self.tail, &record)?;
                found.push(record);
            }
        }
        merge_sorted_runs(&mut found);
        Ok(found)
    }
}

/// Lets `line` lead to `older` from now on, past versions that nobody reads. Who is on its way over one of them goes on
/// from there: its line stays until nobody can be.
pub fn skip_to(line: &[AtomicU64; LINE_WORDS], older: LineNumber) {
    line[OLDER].store(older.0.into(), Ordering::Release);
}

/// The keys of all records.
pub const ALL_KEYS: RangeInclusive<RecordKey> = RecordKey(0)..=RecordKey(u64::MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{run_words, store_run};
    use crate::shared_record::{PlacedRecord, properties_words, store_properties};
    use crate::words::RegionSizes;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::timestamp::Timestamp as T;
    use evergraph_storage::record::{Operation, Stamp};
    use proptest::prelude::*;

    fn shared() -> SharedWords {
        SharedWords::on_heap(RegionSizes::new(12, 12).unwrap())
    }

    fn put(shared: &SharedWords, line: u32, base: u64, older: u32) -> SegmentVersion {
        let version = SegmentVersion {
            base: T(base),
            body: BodyPlace { extent: u64::from(line) << 40, bytes: 9 },
            runs: [1, 2, 3, 4, 0, 0].map(LineNumber),
            tail: LineNumber(77),
            hubs: LineNumber(u32::MAX),
        };
        version.store(shared.line(LineNumber(line)).unwrap(), LineNumber(older));
        version
    }

    fn visible(shared: &SharedWords, line: u32, timestamp: u64) -> Result<Option<SegmentVersion>> {
        SegmentVersion::visible(shared, LineNumber(line), T(timestamp))
    }

    #[test]
    fn a_snapshot_reads_the_newest_version_whose_base_it_sees() {
        let shared = shared();
        let versions = [put(&shared, 5, 10, 0), put(&shared, 9, 20, 5), put(&shared, 7, 30, 9)];
        for (timestamp, expected) in [(9, None), (10, Some(0)), (19, Some(0)), (20, Some(1)), (30, Some(2))] {
            let found = visible(&shared, 7, timestamp).unwrap();
            assert_eq!(found, expected.map(|at: usize| versions[at]), "at {timestamp}");
        }
        assert_eq!(versions[0].runs().map(|run| run.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
        skip_to(shared.line(LineNumber(7)).unwrap(), LineNumber(5));
        assert_eq!(visible(&shared, 7, 25).unwrap(), Some(versions[0]));
        assert_eq!(visible(&shared, 9, 25).unwrap(), Some(versions[1]), "who was there goes on");
    }

    #[test]
    fn a_chain_that_does_not_lead_back_in_time_is_an_error() {
        let shared = shared();
        put(&shared, 5, 10, 6);
        put(&shared, 6, 10, 5);
        let error = visible(&shared, 5, 3).unwrap_err();
        assert!(error.to_string().contains("at byte 384: base 10 before base 10"), "{error}");
        put(&shared, 5, 10, 5);
        assert_eq!(visible(&shared, 5, 3).unwrap_err().kind(), ErrorKind::Corrupt);
        shared.line(LineNumber(5)).unwrap()[OLDER].store(1 << 32, Ordering::Relaxed);
        let error = visible(&shared, 5, 3).unwrap_err();
        assert!(error.to_string().contains("an older version at line 4294967296"), "{error}");
    }

    #[test]
    fn records_that_all_name_one_long_block_are_an_error_before_they_fill_the_memory() {
        let shared = shared();
        let (run, block) = (LineNumber(8), LineNumber(256));
        let record = |key| PlacedRecord {
            key: RecordKey(key),
            stamp: Stamp::new(T(3), Operation::Set),
            properties: block,
        };
        let records: Vec<PlacedRecord> = (0..20).map(record).collect();
        store_run(shared.slice(run, run_words(20)).unwrap(), &records);
        store_properties(shared.slice(block, properties_words(&[7; 3000])).unwrap(), &[7; 3000]);
        let runs =
            [run, LineNumber::NONE, LineNumber::NONE, LineNumber::NONE, LineNumber::NONE, LineNumber::NONE];
        let version = SegmentVersion { runs, ..SegmentVersion::default() };
        let some = version.records(&shared, &(RecordKey(0)..=RecordKey(9)), T(9)).unwrap();
        assert_eq!(some.len(), 10, "as many bytes as there can be");
        let error = version.records(&shared, &ALL_KEYS, T(9)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("more than the 32768 bytes that there are"), "{error}");
    }

    proptest! {
        #[test]
        fn no_damage_of_versions_runs_and_tails_makes_a_reader_panic_or_go_on_for_ever(
            damage in proptest::collection::vec((0usize..512, 0u32..64), 64..400),
            start in 1u32..60,
            timestamp in 0u64..70,
        ) {
            // Small numbers everywhere: they refer to each other.
            let shared = shared();
            let words = shared.slice(LineNumber(0), 512).unwrap();
            for (word, value) in damage {
                let value = u64::from(value);
                words[word].store(if value % 5 == 0 { value << 32 | value } else { value }, Ordering::Relaxed);
            }
            if let Ok(Some(version)) = visible(&shared, start, timestamp) {
                let _ = version.records(&shared, &ALL_KEYS, T(timestamp));
            }
        }
    }
}
