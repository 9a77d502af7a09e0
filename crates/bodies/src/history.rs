//! History: merged records, kept for open writers that ask what changed since they began.
//!
//! ```text
//! parts   [ sorted records ]   [ sorted records ]   [ sorted records ]      oldest first
//!         newest 1200          newest 1450          newest 1490             disjoint in time
//! merge   drops what every open writer sees; appends what it took; joins the last four if they are of one size;
//!         beyond the limit the oldest goes, and is forgotten
//! ```
//!
//! Versions share parts, so that a merge costs what it took however long a writer has been open. Joining keeps
//! parts few: each record is copied as often as a part can grow fourfold.
//!
//! Source: Bentley, Saxe, "Decomposable Searching Problems I" (Journal of Algorithms 1(4), 1980).

use crate::run::Run;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::{RecordKey, RecordRef};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Records of the past that one segment keeps; beyond it the oldest are forgotten, and writers older than those
/// get a conflict.
const RECORDS_MAX: usize = 64 * 1024;

/// Records of a part that was joined, at most: what is forgotten at once is no more, or one merge's.
const PART_MAX: usize = RECORDS_MAX / 8;

/// Parts that are joined at once: two would copy each record twice as often.
const JOINED: usize = 4;

/// Merged records of one segment.
#[derive(Clone, Debug, Default)]
pub struct History {
    parts: Arc<[Part]>,
}

#[derive(Clone, Debug)]
struct Part {
    records: Arc<Run>,
    /// The newest of the records. All are newer than those of earlier parts.
    newest: Timestamp,
}

/// A history that goes on, and what it forgot.
#[derive(Debug)]
pub struct ContinuedHistory {
    /// What writers may ask about.
    pub history: History,
    /// The newest record that was dropped although a writer may ask about it: questions about what is newer than
    /// something older cannot be answered.
    pub forgotten: Option<Timestamp>,
}

impl History {
    /// The history after a merge that took `merged`, sorted by (key, stamp) and newer than all before. What is
    /// visible at `oldest`, to every open writer, goes.
    #[must_use]
    pub fn followed_by(&self, merged: Run, oldest: Timestamp) -> ContinuedHistory {
        let is_asked = |part: &&Part| !part.newest.visible_at(oldest);
        let mut parts: Vec<Part> = self.parts.iter().filter(is_asked).cloned().collect();
        debug_assert!(
            parts.last().is_none_or(|last| merged.stamps().all(|(_, s)| s.timestamp() > last.newest))
        );
        parts.extend(Part::new(merged));
        while let Some(joined) = joined(&parts) {
            parts.truncate(parts.len() - JOINED);
            parts.push(joined);
        }
        let forgotten = forget(&mut parts);
        ContinuedHistory { history: Self { parts: parts.into() }, forgotten }
    }

    /// The records of these keys, in no order.
    #[inline]
    pub fn range<'a>(&'a self, keys: &'a RangeInclusive<RecordKey>) -> impl Iterator<Item = RecordRef<'a>> {
        self.parts.iter().flat_map(|part| part.records.range(keys))
    }

    /// The records of these keys that are newer than `since`, in no order. Cost: two binary searches in each part
    /// that has any so new.
    #[inline]
    pub fn range_after<'a>(
        &'a self,
        keys: &'a RangeInclusive<RecordKey>,
        since: Timestamp,
    ) -> impl Iterator<Item = RecordRef<'a>> {
        let newest_first = self.parts.iter().rev().take_while(move |part| !part.newest.visible_at(since));
        let records = newest_first.flat_map(|part| part.records.range(keys));
        records.filter(move |record| !record.visible_at(since))
    }

    /// The history of one row alone.
    #[must_use]
    pub fn of_row(&self, row: u16) -> Self {
        let of_row = |record: RecordRef<'_>| record.key.row() == row;
        Self {
            parts: self.parts.iter().filter_map(|part| Part::new(part.records.filtered(of_row))).collect(),
        }
    }

    /// Whether no record is kept.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes on the heap, property values included.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let records: usize = self.parts.iter().map(|part| part.records.heap_bytes()).sum();
        records + size_of_val(&self.parts[..])
    }
}

impl Part {
    /// The records with the newest of their timestamps, if there are any.
    fn new(records: Run) -> Option<Self> {
        let newest = records.stamps().map(|(_, stamp)| stamp.timestamp()).max()?;
        Some(Self { records: Arc::new(records), newest })
    }
}

/// The last parts as one, if the oldest of them isn't much larger than the newest, nor all together too large.
fn joined(parts: &[Part]) -> Option<Part> {
    let last = &parts[parts.len().checked_sub(JOINED)?..];
    let (oldest, newest) = (last.first()?, last.last()?);
    let total: usize = last.iter().map(|part| part.records.len()).sum();
    if oldest.records.len() >= 2 * newest.records.len() || total > PART_MAX {
        return None;
    }
    let others = last[1..].iter().flat_map(|part| part.records.iter());
    Some(Part { records: Arc::new(oldest.records.from_parts(others)), newest: newest.newest })
}

/// Drops the oldest records as long as there are too many; the newest dropped.
fn forget(parts: &mut Vec<Part>) -> Option<Timestamp> {
    let mut kept: usize = parts.iter().map(|part| part.records.len()).sum();
    let mut dropped = 0;
    while kept > RECORDS_MAX && dropped + 1 < parts.len() {
        kept -= parts[dropped].records.len();
        dropped += 1;
    }
    let mut forgotten = parts.drain(..dropped).next_back().map(|part| part.newest);
    // One merge took more than fit: half as many are kept, so that the next small one drops none.
    if let [part] = &mut parts[..]
        && part.records.len() > RECORDS_MAX
    {
        let mut times: Vec<Timestamp> = part.records.stamps().map(|(_, stamp)| stamp.timestamp()).collect();
        let cut = times.len() - RECORDS_MAX / 2;
        let (_, newest_dropped, _) = times.select_nth_unstable(cut);
        let newest_dropped = *newest_dropped;
        part.records = Arc::new(part.records.filtered(|record| !record.visible_at(newest_dropped)));
        forgotten = Some(newest_dropped);
        parts.retain(|part| !part.records.is_empty());
    }
    forgotten
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::properties::Properties;
    use evergraph_graph::timestamp::Timestamp as T;
    use evergraph_storage::record::{Operation, Record, Stamp};
    use proptest::prelude::*;

    /// Records of commits `from` and later, one each, in `rows` rows.
    fn run(from: u64, count: u64, rows: u64) -> Run {
        let mut records: Vec<Record> = (from..from + count)
            .map(|at| Record {
                key: RecordKey::edge((at % rows) as u16, at as u32, 0),
                stamp: Stamp::new(T(at), Operation::Insert),
                payload: Properties::EMPTY,
            })
            .collect();
        records.sort_by_key(|record| (record.key, record.stamp));
        Run::from_sorted(records)
    }

    fn times(history: &History, since: T) -> Vec<u64> {
        let all = RecordKey(0)..=RecordKey(u64::MAX);
        let mut times: Vec<u64> = history.range_after(&all, since).map(|r| r.stamp.timestamp().0).collect();
        times.sort_unstable();
        times
    }

    /// Each merge used to copy all that the one before it kept: of 100 merges of 512 records, 2.6 million copies.
    #[test]
    fn a_merge_copies_a_part_of_what_earlier_ones_kept() {
        let (mut history, mut copied) = (History::default(), 0);
        for merge in 0..100 {
            let next = history.followed_by(run(merge * 512 + 1, 512, 16), T::ZERO);
            assert_eq!(next.forgotten, None);
            let is_new =
                |part: &&Part| !history.parts.iter().any(|old| Arc::ptr_eq(&old.records, &part.records));
            copied += next.history.parts.iter().filter(is_new).map(|part| part.records.len()).sum::<usize>();
            history = next.history;
            assert!(history.parts.len() <= 12, "{} parts", history.parts.len());
        }
        assert!(copied < 51_200 * 4, "{copied} records copied");
        assert_eq!(times(&history, T(0)), (1..=51_200).collect::<Vec<_>>());
        assert_eq!(times(&history, T(51_000)), (51_001..=51_200).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_too_much_is_forgotten_from_the_oldest_on() {
        let mut history = History::default();
        let mut forgotten = T::ZERO;
        for merge in 0..200 {
            let next = history.followed_by(run(merge * 1000 + 1, 1000, 16), T::ZERO);
            forgotten = next.forgotten.unwrap_or(forgotten);
            history = next.history;
            let newest = merge * 1000 + 1000;
            if merge % 7 == 0 || merge == 199 {
                assert_eq!(times(&history, T::ZERO), (forgotten.0 + 1..=newest).collect::<Vec<_>>());
            }
            assert!(newest - forgotten.0 <= RECORDS_MAX as u64);
            assert!(
                merge < 80 || newest - forgotten.0 > (RECORDS_MAX - 2 * PART_MAX) as u64,
                "too much forgotten"
            );
        }
    }

    #[test]
    fn one_merge_that_is_too_much_keeps_its_newest_half() {
        let many = 3 * RECORDS_MAX as u64;
        let next = History::default().followed_by(run(1, many, 16), T::ZERO);
        let forgotten = next.forgotten.unwrap();
        assert_eq!(times(&next.history, T::ZERO), (forgotten.0 + 1..=many).collect::<Vec<_>>());
        assert!((many - forgotten.0).abs_diff(RECORDS_MAX as u64 / 2) <= 1);
        // All of one commit: none can be kept, since part of it would be a wrong answer.
        let stamp = Stamp::new(T(9), Operation::Insert);
        let record = |at| Record { key: RecordKey::edge(1, at, 0), stamp, payload: Properties::EMPTY };
        let next = History::default()
            .followed_by(Run::from_sorted((0..=RECORDS_MAX as u32).map(record).collect()), T::ZERO);
        assert!(next.history.is_empty() && next.forgotten == Some(T(9)));
    }

    proptest! {
        #[test]
        fn it_has_all_records_newer_than_the_oldest_writer(
            merges in proptest::collection::vec((1u64..400, 0u64..300), 1..40),
            row in 0u16..5,
        ) {
            let (mut history, mut at, mut oldest) = (History::default(), 1, 0);
            for (count, later) in merges {
                oldest += later;
                let merged = run(at, count, 5).filtered(|record| !record.visible_at(T(oldest)));
                history = history.followed_by(merged, T(oldest)).history;
                at += count;
                let expected: Vec<u64> = (oldest + 1..at).collect();
                prop_assert_eq!(times(&history, T(oldest)), expected.clone());
                let of_row: Vec<u64> = expected.into_iter().filter(|at| at % 5 == u64::from(row)).collect();
                prop_assert_eq!(times(&history.of_row(row), T(oldest)), of_row.clone());
                let keys = RecordKey::whole_row(row);
                let found = history.range(&keys).filter(|record| !record.visible_at(T(oldest))).count();
                prop_assert_eq!(found, of_row.len());
            }
        }
    }
}
